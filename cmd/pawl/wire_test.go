//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/model/modeltest"
)

// providers are the protocols with the flags and variables that lead pawl to a
// server that speaks them.
var providers = []struct {
	wire      modeltest.Wire
	model     string
	base, key string
}{
	{modeltest.Anthropic, "anthropic/claude-test", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
	{modeltest.Responses, "openai/gpt-test", "OPENAI_BASE_URL", "OPENAI_API_KEY"},
	{modeltest.Chat, "openai-chat/local-test", "OPENAI_BASE_URL", "OPENAI_API_KEY"},
	{modeltest.Chat, "ollama/qwen3:8b", "OLLAMA_HOST", "NOBODY_ASKS_FOR_THIS"},
	{modeltest.Chat, "openrouter/anthropic/claude-test:beta", "PAWL_PROVIDERS_OPENROUTER_BASE_URL", "OPENROUTER_API_KEY"},
}

// A run through each vendor's SDK against a server that speaks the protocol: a
// rate limit and a cut stream on the way, a failing attempt, feedback, success.
func TestRunOverTheWire(t *testing.T) {
	t.Parallel()
	bin := pawlProgram(t)
	for _, p := range providers {
		provider, name, _ := strings.Cut(p.model, "/")
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			e := &engineer{}
			server := modeltest.NewServer(p.wire, e.answer)
			server.Models = []string{"another", name}
			defer server.Close()
			const key = "sk-test-0123456789abcdef"
			base := server.BaseURL
			if provider == "ollama" {
				base = strings.TrimSuffix(base, "/v1") // as Ollama has it
			} else {
				server.Key = key
			}
			v := newVictim(t, bin, killScript, map[string]string{"README": "a repository\n"})
			v.env = append(v.env, p.base+"="+base, p.key+"="+key)
			cmd := exec.Command(bin, "run", "say hello in hello.txt", "--recipe", "taskloop", "--unsandboxed", "--model", p.model,
				"--require-green", "--gate", `tests=grep -q hello hello.txt && echo "ok 1" && echo 1..1`, "--criteria", "hello.txt says hello")
			cmd.Dir, cmd.Env = v.repo, v.env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := v.git(t, "show", "pawl/001-say-hello-in-hello-txt:hello.txt"); got != "hello" {
				t.Errorf("the branch has %q", got)
			}
			for _, r := range server.Received() {
				if r.Problem != nil {
					t.Errorf("a request the protocol does not know: %v\n%s", r.Problem, r.Body)
				}
				if r.Request.Model != name {
					t.Errorf("the model %q is asked for, want %q", r.Request.Model, name)
				}
			}
			if e.missed.Load() { // R-28 R-36: from the call to the command in the worktree, and back to the model
				t.Error("a model was not told what its command printed")
			}
			noSecretIn(t, v.home, key)
		})
	}
}

// engineer answers as a model would: it assesses, writes what is wrong first and
// right after feedback, and reviews.
type engineer struct {
	calls  atomic.Int32
	missed atomic.Bool // a request lacked what its command had printed
}

func (e *engineer) answer(req pawl.ModelRequest) modeltest.Reply {
	switch e.calls.Add(1) {
	case 1:
		return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: http.StatusTooManyRequests,
			Header: http.Header{"Retry-After": {"1"}}}}
	case 3:
		r := call("write", `{"path":"hello.txt","content":"lost"}`)
		r.Fault = modeltest.Fault{Kind: modeltest.FaultCut, At: modeltest.AtArguments}
		return r
	}
	tools, turn := asked(req)
	switch {
	case tools["submit_assessment"]:
		return call("submit_assessment", `{"files":1,"lines":1,"new_dependencies":0,"type":"documentation","risks":[],"why":"one line"}`)
	case tools["submit_verdict"]:
		return call("submit_verdict", `{"criteria":[{"id":"AC-001","status":"pass","evidence":["hello.txt:1"]}],"summary":"it says hello"}`)
	case turn == 1:
		return call("run", `{"command":"sed s/o/0/ hello.txt"}`)
	case turn > 1:
		if last := req.Messages[len(req.Messages)-1].Blocks; !strings.Contains(last[0].Text, "hell0") && !strings.Contains(last[0].Text, "g0odbye") {
			e.missed.Store(true)
		}
		return call("submit_result", `{"summary":"written"}`)
	case strings.Contains(req.Messages[0].Blocks[0].Text, "Why the last attempt failed"):
		return call("write", `{"path":"hello.txt","content":"hello\n"}`)
	}
	return call("write", `{"path":"hello.txt","content":"goodbye\n"}`)
}

// asked returns the names of the tools that a request offers, and how often the model has
// answered in its session.
func asked(req pawl.ModelRequest) (tools map[string]bool, turn int) {
	tools = map[string]bool{}
	for _, s := range req.Tools {
		tools[s.Name] = true
	}
	for _, m := range req.Messages {
		if m.Role == pawl.RoleAssistant {
			turn++
		}
	}
	return tools, turn
}

func call(tool, args string) modeltest.Reply {
	return modeltest.Reply{
		Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "I do it."}, {Kind: pawl.BlockToolUse, CallID: "call_" + tool, Tool: tool, Args: json.RawMessage(args)}},
		Usage:  pawl.Usage{Input: 100, Output: 20},
	}
}

// noSecretIn checks that a key is in no file below a folder.
func noSecretIn(t *testing.T, dir, key string) {
	t.Helper()
	out, err := exec.Command("grep", "-rlF", "--", key, filepath.Join(dir, "state"), filepath.Join(dir, "repo")).Output()
	if err == nil {
		t.Errorf("the key is in %s", out)
	}
}
