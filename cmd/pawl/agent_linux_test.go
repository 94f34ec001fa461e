package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/model/modeltest"
	"pawl/internal/sandbox"
)

// playAgent plays Claude Code: it asks a model server, edits the worktree, and hands in what is owed. A
// first turn that is told to stop half way waits for ever.
func playAgent() int {
	if slices.Contains(os.Args, "--version") {
		fmt.Println("2.1.330 (Claude Code)")
		return 0
	}
	if err := playTurn(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func playTurn() error {
	in := bufio.NewReader(os.Stdin)
	prompt, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	resumes := slices.Contains(os.Args, "--resume")
	if _, err := os.Stat("forgets"); resumes && err == nil {
		return fmt.Errorf("No conversation found with session ID: s") //nolint:staticcheck // Claude Code's own words
	}
	half := strings.Contains(prompt, "half") && !strings.Contains(prompt, "+half")
	fmt.Printf(`{"type":"system","subtype":"init","session_id":"s-%d","model":"fake"}`+"\n", os.Getppid())
	if strings.Contains(prompt, "quota") {
		fmt.Println(`{"type":"result","subtype":"success","is_error":true,"session_id":"s","api_error_status":400,"result":"Credit balance is too low"}`)
		return nil
	}
	if strings.Contains(prompt, probePrompt) {
		return answerProbe(prompt)
	}
	login := filepath.Join(os.Getenv("HOME"), ".claude/.credentials.json")
	if strings.Contains(prompt, "log in") {
		if err := refresh(login); err != nil {
			return err
		}
	} else if !half || resumes {
		// What the model says is not used: the request shows what reaches the server.
		if err := ask("messages", prompt); err != nil {
			return err
		}
	}
	i := slices.Index(os.Args, "--mcp-config")
	if i < 0 {
		return fmt.Errorf("there is no MCP server in %q", os.Args)
	}
	if !strings.Contains(os.Args[i+1], "__relay") {
		return fmt.Errorf("there is no relay in %s", os.Args[i+1])
	}
	if strings.Contains(strings.Join(os.Args, " "), "submit_verdict") {
		if os.WriteFile("hello.txt", nil, 0o644) == nil {
			return fmt.Errorf("a reviewer can write")
		}
		return handIn("submit_verdict", `{"decision":"approve","confidence":90,"summary":"fine","criteria":[{"id":"AC-001","status":"pass","evidence":["hello.txt"]}],"findings":[],"feedback":""}`)
	}
	if half && !resumes {
		if err := os.WriteFile("half.txt", []byte("half\n"), 0o644); err != nil {
			return err
		}
		if strings.Contains(prompt, "forget") {
			if err := os.WriteFile("forgets", nil, 0o644); err != nil {
				return err
			}
		}
		return ask("half", "")
	}
	if strings.Contains(prompt, "heed") {
		if err := heed(in, prompt); err != nil {
			return err
		}
	}
	_, isLogin := os.Stat(login)
	hasToken := strings.HasPrefix(os.Getenv("ANTHROPIC_API_KEY"), "pawl-")
	if env := strings.Join(os.Environ(), "\n"); strings.Contains(env, "sk-real") || hasToken == (isLogin == nil) || os.Getenv("HOME") != "/home/pawl" {
		return fmt.Errorf("the environment is %s", env)
	}
	if err := os.WriteFile("hello.txt", []byte("hello\n"), 0o644); err != nil {
		return err
	}
	return handIn("submit_result", `{"summary": "made it", "decision": "COMPLETE"}`)
}

// answerProbe answers as Claude Code does when it is asked for a word, or when its provider refuses.
func answerProbe(prompt string) error {
	if _, err := os.ReadDir("."); err != nil {
		return err
	}
	if os.WriteFile("made", nil, 0o644) == nil {
		return fmt.Errorf("the folder can be written to")
	}
	said := []string{
		`{"type":"assistant","message":{"id":"m","model":"fake","role":"assistant","content":[{"type":"text","text":"OK."}]},"session_id":"s"}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"OK.","session_id":"s","total_cost_usd":0.0123,"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":5},"modelUsage":{"fake":{"inputTokens":1000,"outputTokens":5,"costUSD":0.0123}}}`,
	}
	if ask("messages", prompt) != nil { // the server refuses
		said = []string{`{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"API Error: 401 invalid x-api-key","session_id":"s","total_cost_usd":0,"usage":{}}`}
	}
	fmt.Println(strings.Join(said, "\n"))
	return nil
}

// heed waits for a message in the middle of the turn, and writes it to a file.
func heed(in *bufio.Reader, prompt string) error {
	replay := func(line string) {
		fmt.Println(strings.TrimSuffix(strings.TrimSpace(line), "}") + `,"isReplay":true}`)
	}
	replay(prompt)
	if err := ask("heed", ""); err != nil {
		return err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	replay(line)
	return os.WriteFile("heard.txt", []byte(line), 0o644)
}

// refresh replaces the tokens of a login, as an agent does whose token has expired.
func refresh(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	next := strings.ReplaceAll(string(data), "token-of-", "token-after-token-of-")
	return os.WriteFile(name, []byte(next), 0o600)
}

// ask sends a request to where the agent finds its model.
func ask(what, text string) error {
	req, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/"+what, strings.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("x-api-key", os.Getenv("ANTHROPIC_API_KEY"))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
		return fmt.Errorf("the model server says %s: %s", res.Status, body)
	}
	return nil
}

// handIn calls one of Pawl's tools and ends the turn.
func handIn(tool, args string) error {
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(os.Args[slices.Index(os.Args, "--mcp-config")+1]), &config); err != nil {
		return err
	}
	server := config.Servers["pawl"]
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "fake", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: exec.Command(server.Command, server.Args...)}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, args := range []string{`{"no": 1}`, args} { // wrong once, then right
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
		if err != nil {
			return err
		}
		if text := res.Content[0].(*mcp.TextContent).Text; res.IsError != strings.HasPrefix(args, `{"no"`) {
			return fmt.Errorf("%s %s: %s", tool, args, text)
		}
	}
	fmt.Println(`{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s","total_cost_usd":0.02,"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":1000,"output_tokens":50},"modelUsage":{"fake":{"inputTokens":1000,"outputTokens":50,"costUSD":0.02}}}`)
	return nil
}

// agentVictim returns a repository with a run of the fake agent, whose model server is served.
func agentVictim(t *testing.T, goal string, serve http.HandlerFunc) *victim {
	t.Helper()
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	v := newVictim(t, pawlProgram(t), "", map[string]string{"README": "x\n"}, goal, "--recipe", "taskloop", "--complexity", "2", "--criteria", "hello.txt exists", "--gate", "tests=test -f hello.txt")
	v.begin = append(v.begin[:len(v.begin)-2], "--model", "claude-code/sonnet")
	folder, err := os.MkdirTemp("", "pawl-agent-") // which rooms can show
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, fakeAgent)
	if out, err := exec.Command("cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	v.env = append(v.env, "PATH="+folder+":"+os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-real-key-of-the-user", "ANTHROPIC_BASE_URL="+server.URL)
	return v
}

// A run whose models are a coding agent: it works in its room, reaches its model through the gateway,
// which adds the key, and hands in its results over MCP.
func TestRunWithAgent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	keys := map[string]int{}
	v := agentVictim(t, "write hello.txt", func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys[req.URL.Path+" "+req.Header.Get("X-Api-Key")]++
	})
	out, err := v.pawl(v.begin...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(keys) != 1 || keys["/v1/messages sk-real-key-of-the-user"] != 2 {
		t.Errorf("the model server got %v", keys)
	}
	var ended pawl.Outcome
	turns := 0
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.ModelReplied:
			turns++
			if b.Agent == nil || b.Agent.Worth != 20_000 || b.Cost != 20_000 || len(b.Calls) != 2 || b.Calls[0].Problem == "" || b.Calls[1].Problem != "" {
				t.Errorf("a turn ended %+v, %+v", b, b.Agent)
			}
		case *pawl.RunEnded:
			ended = b.Outcome
		}
	}
	if turns != 2 || ended != pawl.OutcomeComplete {
		t.Errorf("%d turns; the run ended %s: %s", turns, ended, out)
	}
	if text := v.git(t, "show", "pawl/001-write-hello-txt:hello.txt"); text != "hello" {
		t.Errorf("hello.txt is %q", text)
	}
}

// killDuringTurn kills a run with this goal in the middle of a turn, and resumes it.
func killDuringTurn(t *testing.T, goal string) *victim {
	t.Helper()
	half := make(chan struct{})
	var once sync.Once
	v := agentVictim(t, goal, func(_ http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/half") {
			once.Do(func() { close(half) })
			<-req.Context().Done()
		}
	})
	cmd := exec.Command(v.bin, v.begin...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = v.repo, v.env, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half
	for began := false; !began; { // the event follows the agent's first line
		for _, e := range v.events(t) {
			_, is := e.Body.(*pawl.AgentProgressed)
			began = began || is
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if said, err := v.pawl("resume", "1"); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), said)
	}
	return v
}

// After kill -9 in the middle of a turn, the agent continues its session with what it had written.
func TestKillDuringTurn(t *testing.T) {
	t.Parallel()
	v := killDuringTurn(t, "write half of hello.txt")
	saved := ""
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.WorkspaceInspected:
			saved += b.Salvage
		case *pawl.WorkspaceReset, *pawl.IterationRestarted:
			t.Errorf("event %d: %s", e.Seq, e.Body.EventKind())
		case *pawl.RunEnded:
			if b.Outcome != pawl.OutcomeComplete {
				t.Errorf("the run ended %s: %s", b.Outcome, b.Reason)
			}
		}
	}
	branch := strings.TrimSpace(v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl/"))
	if text := v.git(t, "show", branch+":half.txt"); text != "half" {
		t.Errorf("half.txt is %q", text)
	}
	if saved == "" || v.git(t, "show", saved+":half.txt") != "half" {
		t.Errorf("what was found is kept by %q", saved)
	}
}

// If the agent has lost its session meanwhile, the iteration starts again, and the agent is shown what
// had been written.
func TestKillDuringTurnOfForgetfulAgent(t *testing.T) {
	t.Parallel()
	v := killDuringTurn(t, "write half of hello.txt, and forget")
	var resets, restarts int
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.WorkspaceReset:
			if resets++; b.Diff.IsZero() || v.git(t, "show", b.Salvage+":half.txt") != "half" {
				t.Errorf("the worktree was reset: %+v", b)
			}
		case *pawl.IterationRestarted:
			restarts++
		case *pawl.RunEnded:
			if b.Outcome != pawl.OutcomeComplete {
				t.Errorf("the run ended %s: %s", b.Outcome, b.Reason)
			}
		}
	}
	if resets != 1 || restarts != 1 {
		t.Errorf("%d resets and %d restarts", resets, restarts)
	}
	branch := strings.TrimSpace(v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl/"))
	if files := v.git(t, "ls-tree", "--name-only", branch); files != "README\nhello.txt" {
		t.Errorf("the branch has %q", files)
	}
}

// With a login, the key is not used and the turns cost no money. A login that the agent refreshes is
// written back to the user's file.
func TestRunWithLogin(t *testing.T) {
	t.Parallel()
	v := agentVictim(t, "log in and write hello.txt", func(_ http.ResponseWriter, req *http.Request) {
		t.Errorf("the key is used for %s", req.URL)
	})
	file := filepath.Join(v.home, ".claude", ".credentials.json")
	mustWrite(t, file, `{"claudeAiOauth": {"accessToken": "token-of-the-user-0001", "refreshToken": "token-of-refreshing-01", "accountUuid": "acc"}}`)
	out, err := v.pawl(v.begin...)
	if err != nil || !strings.Contains(out, "claude-code: your login pays, and is in its room") {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if want := "token-after-token-after-token-of-refreshing-01"; err != nil || !strings.Contains(string(text), want) { // two turns
		t.Errorf("the login is %s, %v", text, err)
	}
	for _, e := range v.events(t) {
		if b, ok := e.Body.(*pawl.ModelReplied); ok && (b.Cost != 0 || b.Agent.Worth != 20_000) {
			t.Errorf("a turn costs %s and is worth %s", b.Cost, b.Agent.Worth)
		}
	}
	if all := v.everything(t); strings.Contains(all, "token-of-the-user") {
		t.Error("a token of the login is in what is stored")
	}
}

// When the agent's quota is used up, the tier's next model does the work, and the run says so.
func TestAgentFallsBack(t *testing.T) {
	t.Parallel()
	v := agentVictim(t, "write hello.txt without quota", func(http.ResponseWriter, *http.Request) {})
	server := modeltest.NewServer(modeltest.Chat, writing("hello.txt", "hello"))
	defer server.Close()
	v.env = append(v.env, "OPENAI_BASE_URL="+server.BaseURL)
	v.begin[len(v.begin)-1] = "claude-code/sonnet, openai-chat/m"
	out, err := v.pawl(v.begin...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"models   claude-code/sonnet, else openai-chat/m",
		"Tier haiku uses openai-chat/m in place of claude-code/sonnet for 30m: the account's credit or quota is used up\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in %s", want, out)
		}
	}
	failed, switched := 0, 0
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.EffectFailed:
			failed++
		case *pawl.ModelSwitched:
			switched++
		case *pawl.RunEnded:
			if b.Outcome != pawl.OutcomeComplete {
				t.Errorf("the run ended %s: %s", b.Outcome, b.Reason)
			}
		}
	}
	if failed == 0 || failed != switched {
		t.Errorf("%d turns failed, and %d times another model was used", failed, switched)
	}
	if text := v.git(t, "show", "pawl/001-write-hello-txt-without-quota:hello.txt"); text != "hello" {
		t.Errorf("hello.txt is %q", text)
	}
}

// An agent that is probed answers in a room without a repository, through the gateway that adds the key.
func TestProbeAgent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	refuses, asked := false, 0
	v := agentVictim(t, "unused", func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if req.Header.Get("X-Api-Key") != "sk-real-key-of-the-user" || refuses {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)) // the client may be gone
		}
	})
	out, err := v.pawl("delegates", "claude-code", "--probe")
	for _, want := range []string{
		"pawl: asking for one answer of claude-code (key in $ANTHROPIC_API_KEY); each is stopped at 100000 tokens, with a key at $0.0500, or after 2m0s\n",
		"\nanswer     yes, haiku in ", " s for $0.0123\n",
	} {
		if err != nil || !strings.Contains(out, want) || asked != 1 {
			t.Errorf("%v: asked %d times; there is no %q in\n%s", err, asked, want, out)
		}
	}
	mu.Lock()
	refuses = true
	mu.Unlock()
	out, err = v.pawl("delegates", "claude-code/opus", "--probe", "--json")
	for _, want := range []string{`"answer_model": "opus"`, `"answer_problem": "access is refused (HTTP 401: invalid x-api-key)"`, `"answer_hint": "check the key in $ANTHROPIC_API_KEY"`} {
		if !strings.Contains(out, want) || err == nil {
			t.Errorf("%v: there is no %s in\n%s", err, want, out)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "pawl-ask-*")); len(left) > 0 {
		t.Errorf("there is still %q", left)
	}
}

// A person's info reaches an agent in the middle of its turn, and the command says so.
func TestSignalDuringTurn(t *testing.T) {
	t.Parallel()
	heeds := make(chan struct{}, 1)
	v := agentVictim(t, "heed people and write hello.txt", func(_ http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/heed") {
			heeds <- struct{}{}
		}
	})
	cmd := exec.Command(v.bin, v.begin...)
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = v.repo, v.env, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-heeds
	if said, err := v.pawl("signal", "1", "info", "--to", "status:running", "--text", "mind the cache"); err != nil || !strings.Contains(said, ": claude-code hears it now\n") {
		t.Errorf("%v: %s", err, said)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	heard := 0
	for _, e := range v.events(t) {
		if b, ok := e.Body.(*pawl.ModelReplied); ok {
			heard += b.Agent.Heard
		}
	}
	if heard != 1 {
		t.Errorf("%d infos were heard", heard)
	}
	branch := strings.TrimSpace(v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl/"))
	if text := v.git(t, "show", branch+":heard.txt"); !strings.Contains(text, "mind the cache") {
		t.Errorf("the agent heard %q", text)
	}
	if said, err := v.pawl("show", "1", "--transcript=implement"); err != nil || !strings.Contains(said, "\n    (a person says: mind the cache)\n") {
		t.Errorf("%v: %s", err, said)
	}
}
