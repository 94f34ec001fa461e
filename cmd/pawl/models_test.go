//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/model/modeltest"
)

// localServer is a model server of this machine that can be ended and started again at
// its address.
type localServer struct {
	modeltest.Handler
	address string

	mu       sync.Mutex
	listener net.Listener
	server   *http.Server
}

func newLocalServer(t *testing.T, models ...string) *localServer {
	s := &localServer{address: "127.0.0.1:0", Handler: modeltest.Handler{Wire: modeltest.Chat, Models: models}}
	s.start(t)
	t.Cleanup(func() { s.stop(); s.server.Close() })
	return s
}

func (s *localServer) start(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.address, s.listener = listener.Addr().String(), listener
	s.server = &http.Server{Handler: &s.Handler, ReadHeaderTimeout: time.Minute}
	s.server.SetKeepAlivesEnabled(false) // every request connects anew
	go func() { _ = s.server.Serve(listener) }()
}

// stop lets nobody connect any more. Requests that have begun are answered.
func (s *localServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.Close()
}

// at are variables that lead to servers at these addresses, and to no other local one.
func at(ollama, lmstudio, vllm string) []string {
	return []string{"OLLAMA_HOST=" + ollama, "PAWL_PROVIDERS_LMSTUDIO_BASE_URL=http://" + lmstudio + "/v1", "PAWL_PROVIDERS_VLLM_BASE_URL=http://" + vllm + "/v1"}
}

// nobody is an address at which nothing listens.
func nobody(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// A local server that is not there, or lacks the model, is said before a run begins, with
// what to do, and by the doctor. One that answers is proposed where nothing else works. F-28
func TestLocalServerBeforeARun(t *testing.T) {
	t.Parallel()
	server := newLocalServer(t, "nomic-embed-text:latest", "qwen3:8b")
	dead := nobody(t)
	v := newVictim(t, pawlProgram(t), killScript, map[string]string{"go.mod": "module x\n"})
	v.env = slices.DeleteFunc(v.env, func(kv string) bool {
		return strings.HasPrefix(kv, "ANTHROPIC_") || strings.HasPrefix(kv, "PAWL_MODEL")
	})
	v.env = append(v.env, at(server.address, dead, dead)...)
	pawl := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command(v.bin, args...)
		cmd.Dir, cmd.Env = v.repo, v.env
		out, err := cmd.CombinedOutput()
		code := 0
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			code = e.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Errorf("pawl %v: exit code %d, want %d\n%s", args, code, want, out)
		}
		return string(out)
	}
	says := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("it does not say %q:\n%s", want, text)
			}
		}
	}
	run := []string{"run", "say hello", "--unsandboxed", "--gate", "tests=true", "--model"}
	says(pawl(5, append(run, "lmstudio/qwen/qwen3-8b")...),
		"pawl: lmstudio/qwen/qwen3-8b cannot be called: nothing listens at "+dead+"\n", "→ start it with `lms server start`, or say where it is: providers.lmstudio.base_url")
	says(pawl(5, append(run, "ollama/mistral")...),
		"pawl: ollama/mistral cannot be called: "+server.address+" has no model mistral; it lists nomic-embed-text:latest and qwen3:8b\n", "→ get it with `ollama pull mistral`")
	says(pawl(5, append(run, "ollama/qwen3:8b", "--model", "large=vllm/big")...), "vllm/big cannot be called: nothing listens at "+dead, "`vllm serve big`")
	if out := pawl(0, "list"); strings.Contains(out, "say-hello") {
		t.Errorf("a run has begun:\n%s", out)
	}
	if n := len(server.Received()); n > 0 {
		t.Errorf("%d model calls", n)
	}

	says(pawl(5, "doctor"), "ANTHROPIC_API_KEY is not set", "; a local server answers: export PAWL_MODEL=ollama/qwen3:8b\n")
	says(pawl(0, "init", "--yes"), "ANTHROPIC_API_KEY is not set, and a model server on this machine answers.", "\n  export PAWL_MODEL=ollama/qwen3:8b\n")
	v.env = append(v.env, "PAWL_MODEL=ollama/qwen3:8b")
	says(pawl(0, "config", "explain"), "ollama/qwen3:8b, $0.00 in and $0.00 out per million tokens\n", "http://"+server.address+"/v1, no key")
	checks := []struct{ Name, State, Detail string }{}
	doctor := exec.Command(v.bin, "doctor", "--json")
	doctor.Dir, doctor.Env = v.repo, v.env
	out, _ := doctor.Output() // other checks may fail here
	if err := json.Unmarshal(out, &checks); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "ollama/qwen3:8b: " + server.address + " answers, needs no key and has qwen3:8b"
	if !slices.ContainsFunc(checks, func(c struct{ Name, State, Detail string }) bool {
		return c.Name == "models" && c.State == "ok" && c.Detail == want
	}) {
		t.Errorf("no check says %q:\n%s", want, out)
	}
}

// A local server that is down is a warning if another model of its tier can be called, wherever in the
// list it stands, at the start and when the run is resumed.
func TestLocalServerOfAFallbackIsDown(t *testing.T) {
	t.Parallel()
	server, dead := newLocalServer(t, "qwen3:8b"), nobody(t)
	server.Answer = writing("hello.txt", "hello")
	v := newVictim(t, pawlProgram(t), killScript, map[string]string{"README": "a repository\n"})
	v.env = append(v.env, at(server.address, dead, dead)...)
	run := []string{"run", "say hello", "--recipe", "taskloop", "--complexity", "2", "--criteria", "hello.txt exists", "--unsandboxed", "--gate", "tests=test -f hello.txt", "--model"}
	warning := "pawl: warning: lmstudio/big cannot be called: nothing listens at " + dead + "; another model of its tier takes its place (start it with `lms server start`"
	for models, switched := range map[string]bool{"lmstudio/big, ollama/qwen3:8b": true, "ollama/qwen3:8b, lmstudio/big": false} {
		out, err := v.pawl(append(run, models)...)
		if err != nil || strings.Count(out, warning) != 1 {
			t.Errorf("%s: %v: want one %q in %s", models, err, warning, out)
		}
		if got := strings.Contains(out, "uses ollama/qwen3:8b in place of lmstudio/big"); got != switched {
			t.Errorf("%s: another model was used: %t: %s", models, got, out)
		}
	}
	out, err := v.pawl(append(run, "ollama/qwen3:8b, lmstudio/big", "--model", "large=lmstudio/big, vllm/big")...)
	if err == nil || !strings.Contains(out, "pawl: lmstudio/big cannot be called: nothing listens at "+dead+"\n") {
		t.Errorf("a tier without a model that can be called: %v: %s", err, out)
	}
}

// A local server that dies ends the run at once, with what to start. Resumed, it goes on
// with the provider it was started with. F-28
func TestLocalServerDiesInARun(t *testing.T) {
	t.Parallel()
	server := newLocalServer(t, "qwen3:8b")
	e := &engineer{}
	e.calls.Store(3) // after what goes wrong at first
	die := sync.OnceFunc(server.stop)
	server.Answer = func(req pawl.ModelRequest) modeltest.Reply {
		die()
		return e.answer(req)
	}
	v := newVictim(t, pawlProgram(t), killScript, map[string]string{"README": "a repository\n"})
	dead := nobody(t)
	v.env = append(v.env, at(server.address, dead, dead)...)
	command := func(args ...string) (string, int) {
		cmd := exec.Command(v.bin, args...)
		cmd.Dir, cmd.Env = v.repo, v.env
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := command("run", "say hello in hello.txt", "--recipe", "taskloop", "--unsandboxed", "--model", "ollama/qwen3:8b",
		"--gate", "tests=grep -q hello hello.txt", "--criteria", "hello.txt says hello")
	why := "no server answers (nothing listens at " + server.address + ")"
	if next := "Fix:     start it with `ollama serve`\nResume:  pawl resume 001-say-hello-in-hello-txt\n"; code != 13 || !strings.Contains(out, why) || !strings.HasSuffix(out, next) || strings.Contains(out, "tried again") {
		t.Errorf("exit code %d, want 13 and %q\n%s", code, why, out)
	}
	for _, face := range []string{"why", "show", "logs"} {
		if text, code := command(face); code != 0 || !strings.Contains(text, why) {
			t.Errorf("pawl %s: exit code %d\n%s", face, code, text)
		}
	}
	if text, code := command("list"); code != 0 || !strings.Contains(text, "halted") {
		t.Errorf("pawl list: exit code %d\n%s", code, text)
	}
	if text, code := command("resume", "1"); code != 5 || !strings.Contains(text, "ollama/qwen3:8b cannot be called: nothing listens at "+server.address) {
		t.Errorf("resume without the server: exit code %d\n%s", code, text)
	}
	server.start(t)
	if text, code := command("resume", "1"); code != 0 {
		t.Errorf("resume: exit code %d\n%s", code, text)
	}
	if got := v.git(t, "show", "pawl/001-say-hello-in-hello-txt:hello.txt"); got != "hello" {
		t.Errorf("the branch has %q", got)
	}
	text, code := command("export", "1", "--json")
	if code != 0 || strings.Contains(text, "openai-chat") {
		t.Errorf("export: exit code %d\n%s", code, text)
	}
	for _, r := range server.Received() {
		if r.Problem != nil || r.Request.Model != "qwen3:8b" || r.Header.Get("Authorization") != "" {
			t.Errorf("%v, model %q, %v", r.Problem, r.Request.Model, r.Header)
		}
	}
}

// The daemon asks the server that the user's shell means, not its own, and tells the shell
// what is wrong. F-28
func TestDaemonAsksLocalServers(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	server, dead := newLocalServer(t, "qwen3:8b"), nobody(t)
	server.Answer = steady
	y.env = append(y.env, at(dead, dead, dead)...)
	d, dir := y.serve(), y.repo("repo")
	run := func(host string) (string, error) {
		cmd := y.pawl(dir, "run", "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--model", "ollama/qwen3:8b")
		cmd.Env = append(cmd.Env, "OLLAMA_HOST="+host)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	gone := nobody(t)
	out, err := run(gone)
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 5 ||
		!strings.Contains(out, "ollama/qwen3:8b cannot be called: nothing listens at "+gone) || !strings.Contains(out, "`ollama serve`") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run(server.address); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, d.text())
	}
}

// Every provider is called at its own address unless the user names another. F-28
func TestChatAddress(t *testing.T) {
	for provider, want := range map[string][2]string{
		"openai-chat": {"", "http://127.0.0.1:1/v1"}, // empty: OpenAI itself
		"openrouter":  {"https://openrouter.ai/api/v1", "http://127.0.0.1:1/v1"},
		"ollama":      {"http://127.0.0.1:11434/v1", "http://127.0.0.1:1/v1"},
		"lmstudio":    {"http://127.0.0.1:1234/v1", "http://127.0.0.1:1/v1"},
		"vllm":        {"http://127.0.0.1:8000/v1", "http://127.0.0.1:1/v1"},
	} {
		set := "PAWL_PROVIDERS_" + strings.ToUpper(strings.ReplaceAll(provider, "-", "_")) + "_BASE_URL=http://127.0.0.1:1/v1"
		for i, env := range [][]string{nil, {set}} {
			cfg, err := config.Load(config.Sources{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			if got := chatAddress(cfg.Provider(provider)); got != want[i] {
				t.Errorf("%s with %v is at %q, want %q", provider, env, got, want[i])
			}
		}
	}
}

// Only what answers like a model server is found, and only what can be typed is proposed.
func TestLocalModels(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "a web application", http.StatusNotFound) }))
	defer page.Close()
	ollama, vllm := newLocalServer(t, "mxbai-embed-large", "qwen3:8b"), newLocalServer(t, "x; rm -rf .", "$(id)", "Qwen/Qwen3-8B")
	app := &cli.App{Environ: append(at(ollama.address, page.Listener.Addr().String(), vllm.address), "XDG_CONFIG_HOME="+filepath.Join(t.TempDir(), "none"))}
	want := []string{"ollama/qwen3:8b", "vllm/Qwen/Qwen3-8B"}
	if d := cmp.Diff(want, localModels(t.Context(), app)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := localModels(ended, app); len(got) > 0 {
		t.Errorf("found %v for a caller who has left", got)
	}
}
