package codex_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/delegate/codex"
	"pawl/internal/delegate/delegatetest"
)

// Lines of version 0.169.0.
const (
	started  = `{"type":"thread.started","thread_id":"0199-a"}` + "\n" + `{"type":"turn.started"}`
	warning  = `{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for x not found."}}`
	thought  = `{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"Hm."}}`
	command  = `{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/sh -lc 'go test'","aggregated_output":"","exit_code":null,"status":"in_progress"}}`
	failed   = `{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/sh -lc 'go test'","aggregated_output":"FAIL\n","exit_code":1,"status":"failed"}}`
	change   = `{"type":"item.started","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.go","kind":"update"},{"path":"b.go","kind":"add"}],"status":"in_progress"}}`
	changed  = `{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.go","kind":"update"},{"path":"b.go","kind":"add"}],"status":"completed"}}`
	submit   = `{"type":"item.started","item":{"id":"item_4","type":"mcp_tool_call","server":"pawl","tool":"submit_result","arguments":{"summary":"done"},"result":null,"error":null,"status":"in_progress"}}`
	accepted = `{"type":"item.completed","item":{"id":"item_4","type":"mcp_tool_call","server":"pawl","tool":"submit_result","arguments":{"summary":"done"},"result":{"content":[{"type":"text","text":"Accepted."}],"structured_content":null},"error":null,"status":"completed"}}`
	declined = `{"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"pawl","tool":"remember","arguments":{},"result":null,"error":{"message":"user cancelled MCP tool call"},"status":"failed"}}`
	todo     = `{"type":"item.updated","item":{"id":"item_6","type":"todo_list","items":[{"text":"mend it","completed":true},{"text":"test it","completed":false}]}}`
	again    = `{"type":"error","message":"Reconnecting... 1/5"}`
	said     = `{"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":"It is done."}}`
	ended    = `{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":600,"cache_write_input_tokens":100,"output_tokens":100,"reasoning_output_tokens":30}}`
)

func play(lines ...string) func() {
	return func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		for _, l := range lines {
			fmt.Println(l)
		}
	}
}

func fails(message string) func() {
	raw, _ := json.Marshal(message)
	return func() {
		play(started, `{"type":"error","message":`+string(raw)+`}`, `{"type":"turn.failed","error":{"message":`+string(raw)+`}}`)()
		os.Exit(1)
	}
}

func TestMain(m *testing.M) {
	os.Exit(delegatetest.Main(m, map[string]func(){
		"works": play(started, warning, thought, command, failed, change, changed, submit, accepted, declined, todo, again, said, ended),
		"echo": func() {
			prompt, _ := io.ReadAll(os.Stdin)
			raw, _ := json.Marshal(append(os.Args[3:], append(os.Environ(), string(prompt))...))
			text, _ := json.Marshal(string(raw))
			play(started, `{"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":`+string(text)+`}}`, ended)()
		},
		"throttled": fails(`unexpected status 429 Too Many Requests: {"error":{"message":"slow down","type":"rate_limit_error"}}, url: http://127.0.0.1/v1/responses`),
		"stranger":  fails(`unexpected status 401 Unauthorized: Missing bearer`),
		"too long":  fails(`Codex ran out of room in the model's context window. Start a new thread.`),
		"out":       fails(`You exceeded your current quota: {"error":{"code":"insufficient_quota","message":"Quota exceeded."}}`),
		"stumbles":  fails(`the helper ended with exit status 127: no such file`),
		"resumes":   play(said, ended),
		"cut":       func() { play(started, again)(); os.Exit(1) },
		"forgot": func() {
			fmt.Fprintln(os.Stderr, "Error: thread/resume failed: no rollout found for thread id 0199-a")
			os.Exit(1)
		},
		"broken": func() { fmt.Fprintln(os.Stderr, "error: unexpected argument '--json' found"); os.Exit(2) },
	}))
}

func turn(t *testing.T, agent string, change func(*codex.Agent, *pawl.AgentTurn)) (pawl.AgentReply, []pawl.AgentUpdate, error) {
	t.Helper()
	a := &codex.Agent{Argv: delegatetest.Play(t, agent)}
	return delegatetest.Turn(t, a, func(in *pawl.AgentTurn) {
		if change != nil {
			change(a, in)
		}
	})
}

func TestTurn(t *testing.T) {
	reply, told, err := turn(t, "works", func(_ *codex.Agent, in *pawl.AgentTurn) {
		in.Used = pawl.Usage{Input: 300, CacheRead: 100, Output: 40}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []pawl.AgentUpdate{
		{Kind: pawl.UpdateSession, Text: "0199-a"},
		{Kind: pawl.UpdateNote, Text: "Model metadata for x not found."},
		{Kind: pawl.UpdateThought, Text: "Hm."},
		{Kind: pawl.UpdateCall, Call: "item_2", Tool: "command_execution", Does: pawl.DoesExecute, Title: "/bin/sh -lc 'go test'"},
		{Kind: pawl.UpdateResult, Call: "item_2", Text: "FAIL\n", Failed: true},
		{Kind: pawl.UpdateCall, Call: "item_3", Tool: "file_change", Does: pawl.DoesEdit, Title: "update a.go, add b.go"},
		{Kind: pawl.UpdateResult, Call: "item_3", Text: "update a.go, add b.go"},
		{Kind: pawl.UpdateCall, Call: "item_4", Tool: "submit_result", Does: pawl.DoesOther, Title: "pawl submit_result", Args: json.RawMessage(`{"summary":"done"}`)},
		{Kind: pawl.UpdateResult, Call: "item_4", Text: "Accepted."},
		{Kind: pawl.UpdateResult, Call: "item_5", Text: "user cancelled MCP tool call", Failed: true},
		{Kind: pawl.UpdatePlan, Plan: []pawl.AgentPlanEntry{{Text: "mend it", Status: "completed"}, {Text: "test it", Status: "pending"}}},
		{Kind: pawl.UpdateNote, Text: "Reconnecting... 1/5"},
		{Kind: pawl.UpdateText, Text: "It is done."},
		{Kind: pawl.UpdateUsage, Usage: pawl.Usage{Input: 1000, CacheRead: 500, CacheWrite: 100, Output: 60}},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(pawl.AgentReply{
		Text: "It is done.", Stop: pawl.AgentEnded, Session: "0199-a", Usage: pawl.Usage{Input: 1000, CacheRead: 500, CacheWrite: 100, Output: 60},
	}, reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// Sandbox and approvals depend on the access and on whether the room confines commands.
func TestOptions(t *testing.T) {
	for _, row := range []struct {
		name     string
		access   pawl.AgentAccess
		confined bool
		has      []string
	}{
		{"writes", pawl.AgentWrites, true, []string{"--dangerously-bypass-approvals-and-sandbox"}},
		{"reads", pawl.AgentReads, true, []string{"--dangerously-bypass-approvals-and-sandbox"}},
		{"writes, unconfined", pawl.AgentWrites, false, []string{`sandbox_mode="workspace-write"`, `approval_policy="never"`}},
		{"reads, unconfined", pawl.AgentReads, false, []string{`sandbox_mode="read-only"`, `approval_policy="never"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			reply, _, err := turn(t, "echo", func(a *codex.Agent, in *pawl.AgentTurn) {
				a.Argv, a.Env, a.Settings = append(a.Argv, "--first"), []string{"MOCK_KEY=k"}, []string{"model_provider=mock"}
				in.Access, in.Confined, in.Model, in.System = row.access, row.confined, "gpt", "You are in a \"loop\".\nReally\x7f."
				in.Servers = []pawl.AgentServer{{Name: "pawl", Argv: []string{"/bin/relay", "it"}}}
			})
			if err != nil {
				t.Fatal(err)
			}
			var args []string
			if err := json.Unmarshal([]byte(reply.Text), &args); err != nil {
				t.Fatal(err)
			}
			if args[0] != "--first" || args[1] != "exec" || args[2] != "--json" || args[len(args)-1] != "mend it" {
				t.Errorf("it is started with %q", args)
			}
			for _, want := range append([]string{
				"gpt", "--ignore-user-config", "features.hooks=false", "project_doc_max_bytes=0", "features.unbounded_connection_retries=false", "model_provider=mock", "MOCK_KEY=k", "-",
				`developer_instructions="You are in a \"loop\".\nReally\u007f."`, `mcp_servers.pawl.command="/bin/relay"`, `mcp_servers.pawl.args=["it"]`, `mcp_servers.pawl.default_tools_approval_mode="approve"`,
			}, row.has...) {
				if !slices.Contains(args, want) {
					t.Errorf("it is not started with %s: %q", want, args)
				}
			}
			if !row.confined && slices.Contains(args, "--dangerously-bypass-approvals-and-sandbox") {
				t.Error("its own sandbox is off")
			}
		})
	}
	reply, _, err := turn(t, "echo", func(_ *codex.Agent, in *pawl.AgentTurn) { in.Session = "0199-a" })
	if err != nil || !strings.HasPrefix(reply.Text, `["exec","resume","--json"`) || !strings.Contains(reply.Text, `"0199-a","-"`) {
		t.Errorf("got %+v, %v", reply, err)
	}
	if reply, _, err := turn(t, "resumes", func(_ *codex.Agent, in *pawl.AgentTurn) { in.Session = "0199-b" }); err != nil || reply.Session != "0199-b" {
		t.Errorf("a session that is continued: got %+v, %v", reply, err)
	}
}

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		agent  string
		kind   pawl.ModelErrorKind
		status int
		says   string
		unsent bool
	}{
		{"throttled", pawl.ModelRateLimit, 429, "slow down", false},
		{"stranger", pawl.ModelAuth, 401, "401 Unauthorized", false},
		{"too long", pawl.ModelContextLong, 0, "context window", false},
		{"out", pawl.ModelQuota, 0, "exceeded your current quota", false},
		{"stumbles", pawl.ModelOverloaded, 0, "exit status 127", false},
		{"cut", pawl.ModelOverloaded, 0, "Reconnecting", false},
		{"forgot", pawl.ModelNoSession, 0, "no rollout found", true},
		{"broken", pawl.ModelNoStart, 0, "unexpected argument", false},
	} {
		t.Run(row.agent, func(t *testing.T) {
			_, _, err := turn(t, row.agent, nil)
			e, ok := errors.AsType[*pawl.ModelError](err)
			if !ok || e.Kind != row.kind || e.Status != row.status || !strings.Contains(e.Message, row.says) || e.Unsent != row.unsent {
				t.Errorf("got %+v (%v)", e, err)
			}
		})
	}
}
