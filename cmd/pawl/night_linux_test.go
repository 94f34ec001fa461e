package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/daemon"
	"pawl/internal/model/modeltest"
	"pawl/internal/project"
)

// The night's providers. Each call takes callTime.
const (
	callTime    = 4*time.Minute + 30*time.Second
	readsBefore = 16 // calls that look around in each attempt
	quotaAfter  = 50 // calls of one account
	quotaTime   = 2 * time.Hour

	fast = "-fast" // ends the names of models of the first tier
)

// provider is a server whose key may change while it serves.
type provider struct {
	handler atomic.Pointer[modeltest.Handler]
	url     string
	calls   atomic.Int64
}

func newProvider(t *testing.T, wire modeltest.Wire, model, key string, limited bool) *provider {
	p := &provider{}
	p.rotate(wire, model, key, limited)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.handler.Load().ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

// rotate gives the provider another key.
func (p *provider) rotate(wire modeltest.Wire, model, key string, limited bool) {
	p.handler.Store(&modeltest.Handler{Wire: wire, Models: []string{model, model + fast}, Key: key, Answer: func(req pawl.ModelRequest) modeltest.Reply {
		if p.calls.Add(1) == quotaAfter && limited {
			return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: http.StatusTooManyRequests,
				Header: http.Header{"Retry-After": {fmt.Sprint(int(quotaTime.Seconds()))}}}}
		}
		return nightAnswer(req)
	}})
}

// nightAnswer answers as thorough models would, of which the fast one writes what is wrong.
func nightAnswer(req pawl.ModelRequest) modeltest.Reply {
	tools, turn := asked(req)
	content := "hello"
	if strings.HasSuffix(req.Model, fast) {
		content = fmt.Sprint("goodbye, said ", strings.Count(req.Messages[0].Blocks[0].Text, "attempt"))
	}
	switch {
	case tools["submit_assessment"]:
		return call("submit_assessment", `{"files":1,"lines":1,"new_dependencies":0,"type":"documentation","risks":[],"why":"one line"}`)
	case tools["submit_verdict"]:
		return call("submit_verdict", `{"criteria":[{"id":"AC-001","status":"pass","evidence":["hello.txt:1"]}],"summary":"it says hello"}`)
	case turn < readsBefore:
		return call("read", fmt.Sprintf(`{"path":"notes.txt","offset":%d,"limit":1}`, turn+1))
	case turn == readsBefore:
		return call("write", fmt.Sprintf(`{"path":"hello.txt","content":"%s\n"}`, content))
	}
	return call("submit_result", `{"summary":"written"}`)
}

// sent is when a request was sent to an address, by the clock of the night, and what was said.
type sent struct {
	at     time.Time
	host   string
	status int
}

// slowly delays each request by callTime. Each has a connection of its own, because an idle one
// would stop the clock of a bubble.
type slowly struct {
	base *http.Transport

	mu  sync.Mutex
	all []sent
}

// RoundTrip implements [http.RoundTripper].
func (s *slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	t := time.NewTimer(callTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	resp, err := s.base.RoundTrip(r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, sent{time.Now(), r.URL.Host, resp.StatusCode})
	}
	return resp, err
}

// check checks that nothing was sent to an account while it was closed, by any of its runs, and
// that the key that was replaced was refused once.
func (s *slowly) check(t *testing.T, limited, rotated *provider) {
	var closed time.Time
	refused := 0
	for _, r := range s.all {
		of := func(p *provider) bool { return strings.HasSuffix(p.url, r.host) }
		switch {
		case of(limited) && r.status == http.StatusTooManyRequests:
			closed = r.at
		case of(limited) && !closed.IsZero() && r.at.Sub(closed) < quotaTime && r.at.Sub(closed) > callTime:
			t.Errorf("a request was sent at %s, and the account is closed from %s on", r.at.Format(time.TimeOnly), closed.Format(time.TimeOnly))
		case of(rotated) && r.status == http.StatusUnauthorized:
			refused++
		}
	}
	if closed.IsZero() || refused != 1 {
		t.Errorf("the account was closed %v, and the replaced key refused %d times", closed, refused)
	}
}

// repository is where one of the night's runs is at work.
type repository struct{ dir, model string }

// night is a machine on which four projects are left alone.
type night struct {
	t       *testing.T
	home    string
	environ []string
	repos   []repository
	serving *serving
	ended   context.CancelFunc
	said    bytes.Buffer // what the daemon says
	told    strings.Builder
}

// boot starts the daemon, as after a reboot.
func (n *night) boot() {
	ctx, cancel := context.WithCancel(n.t.Context())
	app := &cli.App{Out: &n.said, Environ: n.environ, Dir: n.home, StateHome: filepath.Join(n.home, "state"), Version: "test"}
	n.serving = &serving{app: app, home: project.HomeAt(app.StateHome), end: func(error) {}}
	if err := n.serving.home.Make(); err != nil {
		n.t.Fatal(err)
	}
	if err := n.serving.speak(); err != nil {
		n.t.Fatal(err)
	}
	n.ended = cancel
	n.serving.assemble(ctx)
	n.serving.boot(ctx)
}

// powerFails ends the daemon with what is under way.
func (n *night) powerFails() {
	n.ended()
	now, cancel := context.WithCancel(n.t.Context())
	cancel()
	if err := n.serving.daemon.End(now); err != nil {
		n.t.Error(err)
	}
}

// shell returns a command line in a repository, and what it prints.
func (n *night) shell(in repository) (*cli.App, *bytes.Buffer) {
	out := &bytes.Buffer{}
	app := &cli.App{Out: out, Err: out, Environ: append(slices.Clone(n.environ), "PAWL_MODELS_FAST="+in.model+fast, "PAWL_MODELS_MEDIUM="+in.model, "PAWL_MODELS_LARGE="+in.model), Dir: in.dir, StateHome: n.serving.app.StateHome, Version: "test"}
	app.Open = func(ctx context.Context, _ cli.Access) (*cli.Session, error) {
		p, err := find(ctx, app, cli.Steer)
		if err != nil {
			return nil, err
		}
		s, err := n.serving.daemon.Project(ctx, filepath.Base(p.Dir))
		return &cli.Session{Service: s, Project: p, Remote: true, Daemon: true, Close: func() error { return nil }}, err
	}
	return app, out
}

// start starts a run.
func (n *night) start(in repository) {
	n.t.Helper()
	app, _ := n.shell(in)
	ctx := daemon.WithEnviron(n.t.Context(), app.Environ)
	if _, err := n.serving.daemon.Open(ctx, in.dir); err != nil {
		n.t.Fatal(err)
	}
	s, err := app.Open(ctx, cli.Steer)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := s.Start(ctx, pawl.StartRequest{Goal: "Say hello", Recipe: "pawl", Dir: in.dir, Unattended: true}); err != nil {
		n.t.Fatal(err)
	}
}

// look records what pawl list shows in each repository.
func (n *night) look() {
	fmt.Fprintf(&n.told, "== %s\n", time.Now().Format("15:04"))
	for _, in := range n.repos {
		app, out := n.shell(in)
		root := newRoot(app)
		root.SetArgs([]string{"list"})
		if err := root.ExecuteContext(n.t.Context()); err != nil {
			n.t.Errorf("list: %v", err)
		}
		fmt.Fprintf(&n.told, "%s$ pawl list\n%s", filepath.Base(in.dir), out)
	}
}

// At night four projects work on: a provider lets nothing through for two hours, another one's
// key is replaced, a disk is full for an hour, the machine is started anew. All complete, and
// testdata/night.txt has what a user sees each hour.
// F-14 F-15 F-18 F-20 F-29
func TestNight(t *testing.T) { // not parallel: it sets variables, and how requests are sent
	home := t.TempDir()
	tools := toolFolder(t, "git", "sh", "cat", "grep", "sleep")
	t.Setenv("PATH", tools)
	t.Setenv("HOME", home)

	docs := filepath.Join(home, "docs")
	if err := os.Mkdir(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", docs, "tmpfs", 0, "size=160m,mode=0700"); err != nil {
		t.Skipf("a disk that becomes full cannot be had here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(docs, syscall.MNT_DETACH) })
	chat := newProvider(t, modeltest.Chat, "chat-model", "sk-chat-0123456789", true)
	anthropic := newProvider(t, modeltest.Anthropic, "claude-model", "sk-old-0123456789", false)
	responses := newProvider(t, modeltest.Responses, "gpt-model", "sk-resp-0123456789", false)
	for name, key := range map[string]string{"chat": "sk-chat-0123456789", "anthropic": "sk-old-0123456789", "responses": "sk-resp-0123456789"} {
		mustWrite(t, filepath.Join(home, name+".key"), key+"\n")
	}
	mustWrite(t, filepath.Join(home, "config", "pawl", "config.yaml"), fmt.Sprintf(`
providers:
  openai-chat: {base_url: "%s/v1", key_file: %s/chat.key}
  anthropic: {base_url: "%s", key_command: cat %s/anthropic.key}
  openai: {base_url: "%s/v1", key_file: %s/responses.key}
limits: {time_minutes: 1440, money_usd: 100}
timeouts_ms: {assess: 86400000, implement: 86400000, requirements: 86400000}
sandbox: "off"
`, chat.url, home, anthropic.url, home, responses.url, home))
	n := &night{t: t, home: home, environ: []string{
		"HOME=" + home, "PATH=" + tools, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
	}}
	for _, r := range []repository{{"shop", "openai-chat/chat-model"}, {"cart", "openai-chat/chat-model"}, {"tools", "anthropic/claude-model"}, {"docs", "openai/gpt-model"}} {
		dir := filepath.Join(home, r.dir)
		n.repos = append(n.repos, repository{dir, r.model})
		mustWrite(t, filepath.Join(dir, "notes.txt"), strings.Repeat("a line\n", readsBefore+1))
		mustWrite(t, filepath.Join(dir, ".pawl", "config.yaml"),
			"criteria: [hello.txt says hello]\ngates: [{name: tests, kind: tests, command: grep -q hello hello.txt, report: exit}]\n")
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "-q", "-m", "first"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = dir, n.environ
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
	}
	wires := &slowly{base: &http.Transport{DisableKeepAlives: true}}
	transport := http.DefaultTransport
	http.DefaultTransport = wires
	t.Cleanup(func() { http.DefaultTransport = transport })
	// Lists show local times. No zone changes its offset in a night of January.
	evening := time.Date(time.Now().Year()+1, time.January, 15, 22, 0, 0, 0, time.Local)

	synctest.Test(t, func(t *testing.T) {
		n.t = t
		defer func() { n.powerFails() }()
		at := func(after time.Duration) {
			<-time.After(time.Until(evening.Add(after)))
			synctest.Wait()
		}
		filler := filepath.Join(docs, "filler")
		type happening struct {
			after time.Duration
			what  func()
		}
		all := []happening{
			{0, n.boot},
			{time.Minute, func() { n.start(n.repos[0]) }},
			{3 * time.Minute, func() { n.start(n.repos[1]) }},
			{4 * time.Minute, func() { n.start(n.repos[2]) }},
			{5 * time.Minute, func() { n.start(n.repos[3]) }},
			{90 * time.Minute, func() {
				anthropic.rotate(modeltest.Anthropic, "claude-model", "sk-new-0123456789", false)
				mustWrite(t, filepath.Join(home, "anthropic.key"), "sk-new-0123456789\n")
			}},
			{150 * time.Minute, func() { _ = os.WriteFile(filler, make([]byte, 120_000_000), 0o600) }},
			{210 * time.Minute, func() { _ = os.Remove(filler) }},
			{315 * time.Minute, n.powerFails},
			{320 * time.Minute, n.boot},
		}
		for hour := range 8 {
			all = append(all, happening{time.Duration(hour+1) * time.Hour, n.look})
		}
		slices.SortStableFunc(all, func(a, b happening) int { return int(a.after - b.after) })
		for _, h := range all {
			at(h.after)
			h.what()
		}
	})

	wires.check(t, chat, anthropic)
	for _, in := range n.repos {
		cmd := exec.Command("git", "show", "pawl/001-say-hello:hello.txt")
		cmd.Dir, cmd.Env = in.dir, n.environ
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "hello\n" {
			t.Errorf("the branch of %s has %q, %v", in.dir, out, err)
		}
	}
	ports := regexp.MustCompile(`127\.0\.0\.1:\d+( with key [0-9a-f]+)?`)
	got := ports.ReplaceAllString(strings.ReplaceAll(n.told.String(), home, "HOME"), "ADDRESS")
	golden := filepath.Join("testdata", "night.txt")
	if os.Getenv("PAWL_UPDATE_STORIES") != "" {
		mustWrite(t, golden, got)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("got:\n%s\nwant:\n%s\nthe daemon said:\n%s", got, want, n.said.String())
	}
}
