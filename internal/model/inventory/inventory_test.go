package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/inventory"
	"pawl/internal/model/modeltest"
	"pawl/internal/model/openai"
)

const key = "sk-test-0123456789abcdef"

// local is a server as a user runs one, at an address.
func local(base string) inventory.Server {
	return inventory.Server{BaseURL: base, BaseURLKey: "providers.ollama.base_url", Local: true, Start: "ollama serve", Fetch: "ollama pull NAME"}
}

// serve starts a server that has these models.
func serve(t *testing.T, wire modeltest.Wire, models ...string) *modeltest.Server {
	s := modeltest.NewServer(wire, func(pawl.ModelRequest) modeltest.Reply { return modeltest.Text("hello") })
	t.Cleanup(s.Close)
	s.Models = models
	return s
}

// answering starts a server that answers everything alike.
func answering(t *testing.T, status int, kind, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// closed is an address at which nothing listens.
func closed(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String() + "/v1"
}

// Every protocol's list is read, with the key, and no model is called.
func TestModels(t *testing.T) {
	want := []string{"qwen3:8b", "anthropic/claude-x"}
	for _, wire := range []modeltest.Wire{modeltest.Anthropic, modeltest.Responses, modeltest.Chat} {
		server := serve(t, wire, want...)
		server.Key = key
		s := inventory.Server{BaseURL: server.BaseURL, Anthropic: wire == modeltest.Anthropic, Key: key}
		got, err := s.Models(t.Context())
		if err != nil {
			t.Errorf("%s: %v", wire, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", wire, d)
		}
		if n := len(server.Received()); n > 0 {
			t.Errorf("%s: %d model calls", wire, n)
		}
	}
	got, err := local(answering(t, 200, "application/json", `{"object":"list","data":null}`)).Models(t.Context())
	if err != nil || len(got) > 0 {
		t.Errorf("a server that has no model yet: %v, %v", got, err)
	}
}

// Where everyone can get the list of models, the key is looked at by itself.
func TestKeyOfAPublicList(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/key" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"data":[{"id":"a"}]}`)
	}))
	defer server.Close()
	s := inventory.Server{BaseURL: server.URL + "/v1", KeyPath: "key", KeyEnv: "OPENROUTER_API_KEY", Key: key}
	if found, problem := s.Check(t.Context(), []string{"a"}); problem != nil {
		t.Errorf("%q, %+v", found, problem)
	}
	s.Key = "sk-wrong-0123456789"
	if _, problem := s.Check(t.Context(), []string{"a"}); problem == nil || !strings.Contains(problem.Text, "refuses the key in OPENROUTER_API_KEY") {
		t.Errorf("%+v", problem)
	}
}

// What is wrong with a server is told apart, and what is certain from what may pass. F-28
func TestCheck(t *testing.T) {
	host := func(base string) string { return strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/v1") }
	ollama, empty, compatible := serve(t, modeltest.Chat, "llama3.2:latest", "qwen3:8b"), serve(t, modeltest.Chat, []string{}...), serve(t, modeltest.Chat, "a", "b-2026-01-31")
	empty.Models = []string{}
	guarded := serve(t, modeltest.Chat, "qwen3:8b")
	guarded.Key = key
	with := func(s inventory.Server, change func(*inventory.Server)) inventory.Server { change(&s); return s }
	keyed := func(k string) func(*inventory.Server) {
		return func(s *inventory.Server) { s.Key, s.KeyEnv = k, "VLLM_KEY" }
	}
	other := func(s *inventory.Server) { s.Local, s.Start, s.Fetch = false, "", "" }
	dead, page := closed(t), answering(t, 200, "text/html", "<!DOCTYPE html><p>Welcome")
	lost, busy := answering(t, 404, "application/json", `{"error":"no such path"}`), answering(t, 503, "text/plain", "later")
	for _, c := range []struct {
		name     string
		server   inventory.Server
		models   []string
		found    string
		severity inventory.Severity
		text     string
		fix      string
	}{
		{name: "Fine", server: local(ollama.BaseURL), models: []string{"qwen3:8b", "llama3.2"}, found: host(ollama.BaseURL) + " answers, needs no key and has qwen3:8b and llama3.2"},
		{name: "FineWithKey", server: with(local(guarded.BaseURL), keyed(key)), models: []string{"qwen3:8b"}, found: host(guarded.BaseURL) + " answers, accepts the key and has qwen3:8b"},
		{name: "Snapshot", server: with(local(compatible.BaseURL), other), models: []string{"b"}, found: host(compatible.BaseURL) + " answers, needs no key and has b"},
		{name: "Dead", server: local(dead), models: []string{"x"}, severity: inventory.Broken,
			text: "nothing listens at " + host(dead), fix: "start it with `ollama serve`, or say where it is: providers.ollama.base_url"},
		{name: "DeadOfUnknownKind", server: with(local(dead), other), models: []string{"x"}, severity: inventory.Broken,
			text: "nothing listens at " + host(dead), fix: "is the address right? providers.ollama.base_url says " + dead},
		{name: "StartedWithItsModel", server: with(local(dead), func(s *inventory.Server) { s.Start = "vllm serve NAME" }), models: []string{"Qwen/Qwen3-8B"}, severity: inventory.Broken,
			text: "nothing listens at " + host(dead), fix: "start it with `vllm serve Qwen/Qwen3-8B`, or say where it is: providers.ollama.base_url"},
		{name: "NoSuchModel", server: local(ollama.BaseURL), models: []string{"qwen3:8b", "mistral"}, severity: inventory.Broken,
			text: host(ollama.BaseURL) + " has no model mistral; it lists llama3.2:latest and qwen3:8b", fix: "get it with `ollama pull mistral`, or choose one that it lists"},
		{name: "NoModelAtAll", server: local(empty.BaseURL), models: []string{"mistral"}, severity: inventory.Broken,
			text: host(empty.BaseURL) + " has no model mistral; it lists none", fix: "get it with `ollama pull mistral`, or choose one that it lists"},
		{name: "NotListed", server: with(local(compatible.BaseURL), other), models: []string{"c"}, severity: inventory.Unclear,
			text: host(compatible.BaseURL) + " has no model c; it lists a and b-2026-01-31", fix: "choose one that it lists"},
		{name: "NoKey", server: local(guarded.BaseURL), models: []string{"qwen3:8b"}, severity: inventory.Broken,
			text: host(guarded.BaseURL) + " wants a key and is given none (HTTP 401: invalid key)", fix: "providers.ollama.key_env names the variable that holds a key for " + host(guarded.BaseURL)},
		{name: "WrongKey", server: with(local(guarded.BaseURL), keyed("sk-wrong-0123456789")), models: []string{"qwen3:8b"}, severity: inventory.Broken,
			text: host(guarded.BaseURL) + " answers and refuses the key in VLLM_KEY (HTTP 401: invalid key [key])", fix: "set VLLM_KEY to a key that is valid at " + host(guarded.BaseURL)},
		{name: "KeyPath", server: with(local(lost), func(s *inventory.Server) { s.KeyPath = "key" }), models: []string{"x"}, severity: inventory.Broken,
			text: host(lost) + " is not a model server: HTTP 404: no such path", fix: "is the address right? providers.ollama.base_url says " + lost},
		{name: "Page", server: local(page), models: []string{"x"}, severity: inventory.Broken,
			text: host(page) + " is not a model server: it answers with text/html that is not a list of models", fix: "is the address right? providers.ollama.base_url says " + page},
		{name: "NoList", server: with(local(lost), other), models: []string{"x"}, severity: inventory.Unclear,
			text: host(lost) + " answers and has no list of models: HTTP 404: no such path", fix: "is the address right? providers.ollama.base_url says " + lost},
		{name: "OtherJSON", server: local(answering(t, 200, "application/json", `{"models":[]}`)), models: []string{"x"}, severity: inventory.Broken, text: "it answers with something that is not a list of models"},
		{name: "Busy", server: local(busy), models: []string{"x"}, severity: inventory.Passing,
			text: host(busy) + " cannot be asked now: HTTP 503: later", fix: "is the address right? providers.ollama.base_url says " + busy},
		{name: "NoAddress", server: local("localhost"), models: []string{"x"}, severity: inventory.Broken, text: "is not an address such as"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, problem := c.server.Check(t.Context(), c.models)
			if c.text == "" {
				if problem != nil || found != c.found {
					t.Errorf("found %q, problem %+v", found, problem)
				}
				return
			}
			if problem == nil || problem.Severity != c.severity || !strings.Contains(problem.Text, c.text) || c.fix != "" && problem.Fix != c.fix {
				t.Errorf("problem %+v, want severity %d\n%s\n%s", problem, c.severity, c.text, c.fix)
			}
			if problem != nil && strings.Contains(problem.Text, "0123456789") {
				t.Errorf("the key is shown: %s", problem.Text)
			}
		})
	}
}

// A server that takes connections and says nothing, or not the end, is not waited for. F-28
func TestSilentServer(t *testing.T) {
	for name, begin := range map[string]string{"Nothing": "", "TheBeginning": `{"object":"list","data":[`} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if begin != "" {
					fmt.Fprint(w, begin)
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}))
			defer server.Close()
			s := local(server.URL)
			s.Limit = 50 * time.Millisecond
			_, problem := s.Check(t.Context(), []string{"x"})
			if problem == nil || problem.Severity != inventory.Passing || !strings.Contains(problem.Text, "cannot be asked now: it gives no answer within 50ms") {
				t.Errorf("%+v", problem)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Models(ended); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller who has left is told %v", err)
			}
		})
	}
}

// A list of many names is cut, and a redirect is not followed: it would carry the key away.
func TestUntrustedLists(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "\x1b[2Jh"}
	server := serve(t, modeltest.Chat, names...)
	_, problem := local(server.BaseURL).Check(t.Context(), []string{"x"})
	if problem == nil || !strings.HasSuffix(problem.Text, "it lists a, b, c, d, e and 3 more") {
		t.Errorf("%+v", problem)
	}
	got, err := local(server.BaseURL).Models(t.Context())
	if err != nil || !slices.Contains(got, "[2Jh") {
		t.Errorf("%q, %v", got, err)
	}
	away := httptest.NewServer(http.RedirectHandler(server.BaseURL+"/models", http.StatusTemporaryRedirect))
	defer away.Close()
	if got, err := local(away.URL).Models(t.Context()); err == nil {
		t.Errorf("the redirect was followed: %v", got)
	}
}

// The errors of model calls say what to do about the server. F-28
func TestExplain(t *testing.T) {
	ask := pawl.ModelRequest{Model: "mistral", MaxOutput: 100, Messages: []pawl.Message{
		{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "hello"}}},
	}}
	chat := func(s inventory.Server) pawl.Model {
		return s.Explain(openai.NewChat(openai.Config{BaseURL: s.BaseURL}))
	}
	t.Run("NoServer", func(t *testing.T) {
		dead := closed(t)
		_, err := chat(local(dead)).Call(t.Context(), ask, nil)
		e, ok := errors.AsType[*pawl.ModelError](err)
		want := "nothing listens at " + strings.TrimSuffix(strings.TrimPrefix(dead, "http://"), "/v1")
		if !ok || e.Kind != pawl.ModelNoServer || e.Kind.Retryable() || !e.Unsent || e.Message != want || e.Fix != "start it with `ollama serve`" {
			t.Errorf("%+v, want %s", e, want)
		}
	})
	notFound := func(pawl.ModelRequest) modeltest.Reply {
		return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: 404, Body: `{"error":{"message":"model not found, try pulling it first"}}`}}
	}
	for name, c := range map[string]struct {
		models    []string
		says, fix string
	}{
		"NoSuchModel": {[]string{"qwen3:8b"}, "has no model mistral; it lists qwen3:8b", "get it with `ollama pull mistral`, or choose one that it lists"},
		"OtherCause":  {[]string{"mistral:latest"}, "model not found, try pulling it first", ""},
		"NoList":      {nil, "model not found, try pulling it first", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.NewServer(modeltest.Chat, notFound)
			defer server.Close()
			server.Models = c.models
			_, err := chat(local(server.BaseURL)).Call(t.Context(), ask, nil)
			e, ok := errors.AsType[*pawl.ModelError](err)
			if !ok || e.Kind != pawl.ModelUnknown || e.Status != 404 || !strings.HasSuffix(e.Message, c.says) || e.Fix != c.fix {
				t.Errorf("%+v, want %s", e, c.says)
			}
		})
	}
	t.Run("RefusedKey", func(t *testing.T) { // F-49
		server := serve(t, modeltest.Anthropic)
		server.Key = "sk-right"
		host := strings.TrimPrefix(server.BaseURL, "http://")
		for _, c := range []struct{ env, from, says, fix string }{
			{"ANTHROPIC_API_KEY", "", "refuses the key in ANTHROPIC_API_KEY: ", "set ANTHROPIC_API_KEY to a key that is valid at " + host},
			{"", "the file /keys/a", "refuses the key that the file /keys/a has: ", "replace the key that the file /keys/a has with one that is valid at " + host},
			{"", "", "refuses the key: ", "providers.anthropic.key_env names the variable that holds a key for " + host},
		} {
			s := inventory.Server{BaseURL: server.BaseURL, BaseURLKey: "providers.anthropic.base_url", Anthropic: true, Key: "sk-wrong", KeyEnv: c.env, KeyFrom: c.from}
			_, err := s.Explain(anthropic.New(anthropic.Config{BaseURL: s.BaseURL, APIKey: s.Key})).Call(t.Context(), ask, nil)
			if e, ok := errors.AsType[*pawl.ModelError](err); !ok || e.Kind != pawl.ModelAuth || !strings.HasPrefix(e.Message, host+" "+c.says) || e.Fix != c.fix {
				t.Errorf("%+v, want %s… and %s", e, c.says, c.fix)
			}
		}
	})
	t.Run("NothingIsWrong", func(t *testing.T) {
		server := serve(t, modeltest.Anthropic)
		s := inventory.Server{BaseURL: server.BaseURL, Anthropic: true, Key: key}
		reply, err := s.Explain(anthropic.New(anthropic.Config{BaseURL: s.BaseURL, APIKey: key})).Call(t.Context(), ask, nil)
		if err != nil || reply.Message.Blocks[0].Text != "hello" {
			t.Errorf("%+v, %v", reply, err)
		}
	})
}
