package claude_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/delegate/claude"
	"pawl/internal/delegate/delegatetest"
)

// Lines of version 2.1.330, without the fields that are not used.
const (
	initLine = `{"type":"system","subtype":"init","cwd":"/work","session_id":"5e55","tools":["Bash","Edit"],"mcp_servers":[{"name":"pawl","status":"failed"}],"model":"claude-sonnet-4-5","permissionMode":"bypassPermissions","claude_code_version":"2.1.330"}`
	retry    = `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":500,"error_status":529,"error":"overloaded","session_id":"5e55"}`
	start    = `{"type":"stream_event","event":{"message":{"content":[],"id":"msg_1","model":"claude-sonnet-4-5","role":"assistant","usage":{"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"input_tokens":1000,"output_tokens":1}},"type":"message_start"},"session_id":"5e55","parent_tool_use_id":null}`
	delta    = `{"type":"stream_event","event":{"delta":{"text":"I will ","type":"text_delta"},"index":0,"type":"content_block_delta"},"session_id":"5e55"}`
	edit     = `{"type":"assistant","message":{"content":[{"thinking":"Hm.","type":"thinking"},{"text":"I will edit it.","type":"text"},{"id":"call_1","input":{"file_path":"/work/a.go","old_string":"a","new_string":"b"},"name":"Edit","type":"tool_use"},{"id":"call_2","input":{"command":"go test ./..."},"name":"Bash","type":"tool_use"}],"id":"msg_1","model":"claude-sonnet-4-5","role":"assistant"},"parent_tool_use_id":null,"session_id":"5e55"}`
	stop     = `{"type":"stream_event","event":{"delta":{"stop_reason":"tool_use"},"type":"message_delta","usage":{"output_tokens":50}},"session_id":"5e55"}` + "\n" + `{"type":"stream_event","event":{"type":"message_stop"},"session_id":"5e55"}`
	returned = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"call_1","type":"tool_result","content":"edited"},{"tool_use_id":"call_2","type":"tool_result","is_error":true,"content":[{"type":"text","text":"FAIL"},{"type":"text","text":" 1"}]}]},"parent_tool_use_id":null,"session_id":"5e55"}`
	limited  = `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour","resetsAt":1790000000},"session_id":"5e55"}`
	said     = `{"type":"assistant","message":{"content":[{"text":"It is done.","type":"text"}],"id":"msg_2","model":"claude-sonnet-4-5","role":"assistant"},"parent_tool_use_id":null,"session_id":"5e55"}`
	result   = `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"It is done.","stop_reason":"end_turn","session_id":"5e55","total_cost_usd":0.0175,"modelUsage":{"claude-sonnet-4-5":{"inputTokens":2000,"outputTokens":100,"cacheReadInputTokens":600,"cacheCreationInputTokens":40,"costUSD":0.0075},"claude-haiku-4-5":{"inputTokens":500,"outputTokens":5,"costUSD":0.01}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"call_3","tool_input":{}}],"api_error_status":null}`
)

// failed returns the last line of a failed turn.
func failed(fields string) string {
	return `{"type":"result","session_id":"5e55","total_cost_usd":0,` + fields + `}`
}

// play returns an agent that reads a message, prints it as Claude Code does, and then prints lines.
func play(lines ...string) func() {
	return func() {
		in := bufio.NewScanner(os.Stdin)
		in.Scan()
		fmt.Println(replay(in.Text()))
		for _, l := range lines {
			fmt.Println(l)
		}
		in.Scan() // until the input ends
	}
}

func replay(line string) string {
	return strings.TrimSuffix(line, "}") + `,"session_id":"5e55","isReplay":true}`
}

func TestMain(m *testing.M) {
	os.Exit(delegatetest.Main(m, map[string]func(){
		"works": play(initLine, retry, start, delta, edit, stop, returned, limited, start, said, stop, result),
		"echo": func() { // it replies with its arguments and environment
			raw, _ := json.Marshal(append(os.Args[3:], os.Environ()...))
			text, _ := json.Marshal(string(raw))
			play(`{"type":"assistant","message":{"content":[{"type":"text","text":`+string(text)+`}]}}`, result)()
		},
		"throttled": play(initLine, start, failed(`"subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":429,"result":"API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}"`)),
		"used up": play(initLine, fmt.Sprintf(`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":%d},"session_id":"5e55"}`, time.Now().Add(2*time.Hour).Unix()),
			failed(`"subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit · resets 3am (UTC)"`)),
		"allowed again": play(initLine, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"},"session_id":"5e55"}`, `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"},"session_id":"5e55"}`,
			failed(`"subtype":"success","is_error":true,"api_error_status":429,"result":"slow down"`)),
		"used up, too long": play(initLine, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"},"session_id":"5e55"}`,
			failed(`"subtype":"success","is_error":true,"api_error_status":400,"result":"Prompt is too long"`)),
		"used up till then": play(initLine, `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1600000000},"session_id":"5e55"}`,
			failed(`"subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your session limit"`)),
		"asks another": play(initLine, `{"type":"assistant","message":{"content":[]},"parent_tool_use_id":"call_1","session_id":"5e56"}`, said, result),
		"too long":     play(initLine, failed(`"subtype":"success","is_error":true,"api_error_status":400,"result":"Prompt is too long"`)),
		"no model":     play(initLine, failed(`"subtype":"success","is_error":true,"api_error_status":404,"result":"There's an issue with the selected model (nope). It may not exist or you may not have access to it."`)),
		"broke":        play(initLine, failed(`"subtype":"error_max_budget_usd","is_error":true,"errors":["Reached maximum budget ($2)"]`)),
		"turns":        play(initLine, failed(`"subtype":"error_max_turns","is_error":true`)),
		"refuses":      play(initLine, failed(`"subtype":"success","is_error":false,"stop_reason":"refusal","result":""`)),
		"forgot":       func() { fmt.Fprintln(os.Stderr, "No conversation found with session ID: 5e55"); os.Exit(1) },
		"stranger":     func() { fmt.Fprintln(os.Stderr, "Invalid API key · Please run /login"); os.Exit(1) },
		"crashes": func() {
			fmt.Println(initLine)
			fmt.Println(start)
			os.Exit(7)
		},
		"listens": func() { // it reads a second message only after its first result
			in := bufio.NewScanner(os.Stdin)
			in.Scan()
			fmt.Println(replay(in.Text()))
			fmt.Println(initLine)
			in.Scan()
			fmt.Println(result)
			fmt.Println(replay(in.Text()))
			fmt.Println(said)
			fmt.Println(strings.Replace(result, "It is done", "Both are done", 1))
			in.Scan()
		},
	}))
}

func turn(t *testing.T, agent string, change func(*claude.Agent, *pawl.AgentTurn)) (pawl.AgentReply, []pawl.AgentUpdate, error) {
	t.Helper()
	a := &claude.Agent{Argv: delegatetest.Play(t, agent)}
	return delegatetest.Turn(t, a, func(in *pawl.AgentTurn) {
		if change != nil {
			change(a, in)
		}
	})
}

func TestTurn(t *testing.T) {
	reply, told, err := turn(t, "works", func(_ *claude.Agent, in *pawl.AgentTurn) {
		in.Used, in.Spent = pawl.Usage{Input: 500, Output: 5}, 10_000
	})
	if err != nil {
		t.Fatal(err)
	}
	usage := func(input, output int64) pawl.AgentUpdate {
		return pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: pawl.Usage{Input: input, CacheRead: input * 3 / 10, CacheWrite: input / 50, Output: output}}
	}
	want := []pawl.AgentUpdate{
		{Kind: pawl.UpdateSession, Text: "5e55"},
		{Kind: pawl.UpdateNote, Text: "the MCP server pawl did not start"},
		{Kind: pawl.UpdateNote, Text: "it calls its model again: 529 overloaded"},
		usage(1000, 1),
		{Kind: pawl.UpdateThought, Text: "Hm."},
		{Kind: pawl.UpdateText, Text: "I will edit it."},
		{Kind: pawl.UpdateCall, Call: "call_1", Tool: "Edit", Does: pawl.DoesEdit, Title: "/work/a.go", Args: json.RawMessage(`{"file_path":"/work/a.go","old_string":"a","new_string":"b"}`), Diffs: []pawl.AgentDiff{{Path: "/work/a.go", Old: "a", New: "b"}}},
		{Kind: pawl.UpdateCall, Call: "call_2", Tool: "Bash", Does: pawl.DoesExecute, Title: "go test ./...", Args: json.RawMessage(`{"command":"go test ./..."}`)},
		usage(1000, 50),
		{Kind: pawl.UpdateResult, Call: "call_1", Text: "edited"},
		{Kind: pawl.UpdateResult, Call: "call_2", Text: "FAIL 1", Failed: true},
		{Kind: pawl.UpdateNote, Text: "the plan's five hour limit: allowed warning"},
		usage(2000, 51),
		{Kind: pawl.UpdateText, Text: "It is done."},
		usage(2000, 100),
		{Kind: pawl.UpdatePermission, Call: "call_3", Tool: "Bash", Failed: true},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	// The last line has the totals of the session for all models.
	if diff := cmp.Diff(pawl.AgentReply{
		Text: "It is done.", Stop: pawl.AgentEnded, Session: "5e55", Model: "claude-sonnet-4-5", Version: "2.1.330",
		Usage: pawl.Usage{Input: 2000, CacheRead: 600, CacheWrite: 40, Output: 100}, Cost: 7500, Priced: true,
	}, reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// Permissions and tools depend on the access and on whether the room confines commands.
func TestOptions(t *testing.T) {
	for _, row := range []struct {
		name     string
		access   pawl.AgentAccess
		confined bool
		has      [][]string
		lacks    []string
	}{
		{"writes", pawl.AgentWrites, true, [][]string{{"--permission-mode", "bypassPermissions"}, {"--tools", "Bash,Read,Glob,Grep,Edit,Write,NotebookEdit,TodoWrite"}}, []string{"--settings"}},
		{"reads", pawl.AgentReads, true, [][]string{{"--permission-mode", "bypassPermissions"}, {"--tools", "Bash,Read,Glob,Grep"}}, []string{"--settings"}},
		{"writes, unconfined", pawl.AgentWrites, false, [][]string{{"--permission-mode", "acceptEdits"}, {"--settings", `{"sandbox":{"enabled":true,"failIfUnavailable":true,"autoAllowBashIfSandboxed":true,"allowUnsandboxedCommands":false}}`}}, []string{"--allow-dangerously-skip-permissions"}},
		{"reads, unconfined", pawl.AgentReads, false, [][]string{{"--permission-mode", "dontAsk"}, {"--tools", "Read,Glob,Grep"}}, []string{"--allow-dangerously-skip-permissions"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			reply, _, err := turn(t, "echo", func(a *claude.Agent, in *pawl.AgentTurn) {
				a.Argv, a.Env = append(a.Argv, "--first"), []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1"}
				in.Access, in.Confined, in.Model, in.Session, in.System = row.access, row.confined, "sonnet", "5e55", "You are in a loop."
				in.Limits.Money = 2_500_000
				in.Servers = []pawl.AgentServer{{Name: "pawl", Argv: []string{"/bin/relay", "it"}, Tools: []string{"submit_result", "remember"}}}
			})
			if err != nil {
				t.Fatal(err)
			}
			var args []string
			if err := json.Unmarshal([]byte(reply.Text), &args); err != nil {
				t.Fatal(err)
			}
			for _, want := range append([][]string{
				{"--first", "-p", "--output-format", "stream-json"}, {"--setting-sources", "", "--strict-mcp-config"}, {"--model", "sonnet"}, {"--resume", "5e55"},
				{"--append-system-prompt", "You are in a loop."}, {"--max-budget-usd", "2.500000"}, {"--permission-prompts", "none"},
				{"--mcp-config", `{"mcpServers":{"pawl":{"type":"stdio","command":"/bin/relay","args":["it"]}}}`, "--allowedTools", "mcp__pawl__submit_result,mcp__pawl__remember"},
				{"DISABLE_TELEMETRY=1"}, {"ANTHROPIC_BASE_URL=http://127.0.0.1:1"},
			}, row.has...) {
				if !contains(args, want) {
					t.Errorf("it is not started with %q: %q", want, args)
				}
			}
			for _, not := range row.lacks {
				if slices.Contains(args, not) {
					t.Errorf("it is started with %s", not)
				}
			}
		})
	}
}

// contains reports whether list contains words as consecutive elements.
func contains(list, words []string) bool {
	for i := range list {
		if i+len(words) <= len(list) && slices.Equal(list[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		agent  string
		kind   pawl.ModelErrorKind
		status int
		says   string
		unsent bool
		used   pawl.Usage
	}{
		{"throttled", pawl.ModelRateLimit, 429, "slow down", false, pawl.Usage{Input: 1000, CacheRead: 300, CacheWrite: 20, Output: 1}},
		{"too long", pawl.ModelContextLong, 400, "Prompt is too long", false, pawl.Usage{}},
		{"no model", pawl.ModelUnknown, 404, "the selected model (nope)", false, pawl.Usage{}},
		{"forgot", pawl.ModelNoSession, 0, "No conversation found", true, pawl.Usage{}},
		{"stranger", pawl.ModelAuth, 0, "Please run /login", true, pawl.Usage{}},
		{"crashes", pawl.ModelNetwork, 0, "claude ended too early, with exit code 7", false, pawl.Usage{Input: 1000, CacheRead: 300, CacheWrite: 20, Output: 1}},
	} {
		t.Run(row.agent, func(t *testing.T) {
			_, _, err := turn(t, row.agent, nil)
			e, ok := errors.AsType[*pawl.ModelError](err)
			if !ok || e.Kind != row.kind || e.Status != row.status || !strings.Contains(e.Message, row.says) || e.Unsent != row.unsent || e.Used != row.used {
				t.Errorf("got %+v (%v)", e, err)
			}
		})
	}
}

// A limit of the user's plan is a quota, with the time until it is lifted. It does not explain other
// failures.
func TestPlanUsedUp(t *testing.T) {
	for agent, want := range map[string]pawl.ModelError{
		"used up": {Kind: pawl.ModelQuota, Wait: 2 * time.Hour}, "used up till then": {Kind: pawl.ModelQuota},
		"allowed again": {Kind: pawl.ModelRateLimit}, "used up, too long": {Kind: pawl.ModelContextLong},
	} {
		_, _, err := turn(t, agent, nil)
		failure, ok := errors.AsType[*pawl.ModelError](err)
		if !ok || failure.Kind != want.Kind || failure.Wait.Round(time.Minute) != want.Wait {
			t.Errorf("%s: the error is %+v", agent, err)
		}
	}
}

// A subagent's session is not the agent's.
func TestSubagent(t *testing.T) {
	reply, told, err := turn(t, "asks another", nil)
	if err != nil || reply.Session != "5e55" {
		t.Errorf("got %+v, %v", reply, err)
	}
	for _, u := range told {
		if u.Kind == pawl.UpdateSession && u.Text != "5e55" {
			t.Errorf("it told of the session %s", u.Text)
		}
	}
}

func TestStops(t *testing.T) {
	for agent, want := range map[string]pawl.AgentStop{"broke": pawl.AgentCapped, "turns": pawl.AgentTurns, "refuses": pawl.AgentRefused} {
		if reply, _, err := turn(t, agent, nil); err != nil || reply.Stop != want {
			t.Errorf("%s: got %+v, %v", agent, reply, err)
		}
	}
}

// A turn does not end before the agent has received a message that was sent during it.
func TestInfo(t *testing.T) {
	info := make(chan string, 1)
	info <- "use tabs"
	reply, told, err := turn(t, "listens", func(_ *claude.Agent, in *pawl.AgentTurn) { in.Info = info })
	if err != nil || reply.Heard != 1 || len(told) == 0 || reply.Text != "It is done." {
		t.Errorf("got %+v, %v", reply, err)
	}
}
