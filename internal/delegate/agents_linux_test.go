package delegate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/delegate/acp"
	"pawl/internal/delegate/claude"
	"pawl/internal/delegate/codex"
	"pawl/internal/delegate/delegatetest"
	"pawl/internal/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(delegatetest.Main(m, nil)) }

// has reports whether a request offers a tool.
func has(req pawl.ModelRequest, tool string) bool {
	return slices.ContainsFunc(req.Tools, func(s pawl.ToolSpec) bool { return s.Name == tool })
}

// results returns the results of tool calls in a request.
func results(req pawl.ModelRequest) (out []pawl.Block) {
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			if b.Kind == pawl.BlockToolResult {
				out = append(out, b)
			}
		}
	}
	return out
}

func call(tool string, args map[string]any) modeltest.Reply {
	raw, _ := json.Marshal(args)
	return modeltest.Reply{Usage: pawl.Usage{Input: 1000, Output: 50}, Blocks: []pawl.Block{{Kind: pawl.BlockToolUse, CallID: "call_1", Tool: tool, Args: raw}}}
}

// write returns a call that writes a file with a tool that the agent offers.
func write(req pawl.ModelRequest, dir, name, content string) modeltest.Reply {
	path := filepath.Join(dir, name)
	switch {
	case has(req, "exec_command"):
		return call("exec_command", map[string]any{"cmd": fmt.Sprintf("printf '%%s' '%s' > %s", content, name)})
	case has(req, "Write"):
		return call("Write", map[string]any{"file_path": path, "content": content})
	case has(req, "write"):
		return call("write", map[string]any{"filePath": path, "content": content})
	}
	return call("write_file", map[string]any{"file_path": path, "content": content})
}

// installed are the agents to test. Model is the model to ask for; empty means the agent's own choice.
var installed = map[string]struct {
	model string
	make  func(t *testing.T, bin, url string) pawl.Agent
}{
	"claude": {"claude-sonnet-4-5", func(_ *testing.T, bin, url string) pawl.Agent {
		return &claude.Agent{Argv: []string{bin}, Env: []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-ant-dummy", "IS_SANDBOX=1"}}
	}},
	"codex": {"gpt-5.1-codex", func(_ *testing.T, bin, url string) pawl.Agent {
		return &codex.Agent{Argv: []string{bin}, Env: []string{"MOCK_KEY=sk-dummy"}, Settings: []string{
			"model_provider=mock", fmt.Sprintf(`model_providers.mock={name="mock",base_url="%s/v1",env_key="MOCK_KEY",wire_api="responses",supports_websockets=false}`, url),
		}}
	}},
	"opencode": {"", func(t *testing.T, bin, url string) pawl.Agent {
		config := filepath.Join(t.TempDir(), "opencode.json")
		text := fmt.Sprintf(`{"autoupdate":false,"share":"disabled","enabled_providers":["mock"],"model":"mock/m1",`+
			`"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"mock","options":{"baseURL":"%s/v1","apiKey":"sk-dummy"},"models":{"m1":{"name":"m1"}}}}}`, url)
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return &acp.Agent{Argv: []string{bin, "acp"}, Env: []string{
			"OPENCODE_CONFIG=" + config, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_PURE=1", "npm_config_registry=" + url + "/npm",
		}}
	}},
	"gemini": {"", func(_ *testing.T, bin, url string) pawl.Agent {
		return &acp.Agent{Argv: []string{bin, "--acp", "--skip-trust", "-m", "gemini-2.5-flash"}, Login: "gemini-api-key", Env: []string{
			"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "NO_BROWSER=1",
		}}
	}},
	"qwen": {"", func(_ *testing.T, bin, url string) pawl.Agent {
		return &acp.Agent{Argv: []string{bin, "--acp", "--auth-type", "openai", "-m", "m1"}, Login: "openai", Env: []string{
			"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=m1",
		}}
	}},
}

// TestAgents runs real agents against a local model server. PAWL_AGENTS is the folder with their
// programs.
func TestAgents(t *testing.T) {
	programs := os.Getenv("PAWL_AGENTS")
	if programs == "" {
		t.Skip("PAWL_AGENTS does not say where agents are installed")
	}
	for name, a := range installed {
		t.Run(name, func(t *testing.T) {
			r := delegatetest.Room(t)
			server := modeltest.NewServer("", func(req pawl.ModelRequest) modeltest.Reply {
				if len(req.Tools) > 0 && len(results(req)) == 0 {
					return write(req, r.Dir(), "hello.txt", "hi")
				}
				reply := modeltest.Text("It is done.")
				reply.Usage = pawl.Usage{Input: 1000, Output: 50}
				return reply
			})
			defer server.Close()
			agent := a.make(t, filepath.Join(programs, name), strings.TrimSuffix(server.BaseURL, "/v1"))
			var told delegatetest.Updates
			reply, err := agent.Turn(t.Context(), r, pawl.AgentTurn{
				Model: a.model, System: "You are in a loop.", Prompt: "Write hello.txt", Access: pawl.AgentWrites, Confined: true,
				Limits: pawl.AgentLimits{Silence: time.Minute, ToolTime: time.Minute},
			}, told.Tell)
			if err != nil || reply.Text != "It is done." || reply.Stop != pawl.AgentEnded || reply.Session == "" {
				t.Errorf("got %+v, %v", reply, err)
			}
			for _, x := range server.Received() {
				if x.Problem != nil && len(x.Body) > 0 {
					t.Errorf("a request means nothing: %v: %.1000s", x.Problem, x.Body)
				}
			}
			if text, err := os.ReadFile(filepath.Join(r.Dir(), "hello.txt")); err != nil || string(text) != "hi" {
				t.Errorf("hello.txt: %q, %v; it told %+v", text, err, told.All())
			}
		})
	}
}
