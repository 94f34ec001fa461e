package acp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/delegate/acp"
	"pawl/internal/delegate/delegatetest"
)

func TestMain(m *testing.M) {
	agents := map[string]func(){}
	for name, prompt := range prompts {
		agents[name] = func() { (&fake{prompt: prompt, in: bufio.NewReader(os.Stdin)}).serve() }
	}
	agents["hangs"] = func() { <-time.After(time.Hour) }
	agents["leaves"] = func() { fmt.Fprintln(os.Stderr, "no credentials are configured"); os.Exit(41) }
	agents["future"] = func() { (&fake{version: 2, in: bufio.NewReader(os.Stdin)}).serve() }
	agents["login"] = func() { (&fake{login: true, prompt: prompts["talks"], in: bufio.NewReader(os.Stdin)}).serve() }
	os.Exit(delegatetest.Main(m, agents))
}

// fake is an agent that also sends what the protocol does not have.
type fake struct {
	version int
	login   bool // it wants the user to log in first
	prompt  func(f *fake, id json.RawMessage)
	in      *bufio.Reader
	said    string // the prompt
	seen    []string
}

type packet struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func (f *fake) read() packet {
	line, err := f.in.ReadString('\n')
	if err != nil {
		os.Exit(0)
	}
	var p packet
	if err := json.Unmarshal([]byte(line), &p); err != nil {
		fmt.Fprintln(os.Stderr, "the client sends no JSON")
		os.Exit(9)
	}
	return p
}

func answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func refuse(id json.RawMessage, text string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", id, text)
}

func update(text string) {
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`+"\n", text)
}

// ask asks the client something and returns what it answers.
func (f *fake) ask(method, params string) packet {
	fmt.Printf(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":%s}`+"\n", method, params)
	return f.read()
}

func say(text string) {
	raw, _ := json.Marshal(text)
	update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, raw))
}

func (f *fake) serve() {
	for {
		p := f.read()
		f.seen = append(f.seen, p.Method+" "+string(p.Params))
		switch p.Method {
		case "initialize":
			answer(p.ID, fmt.Sprintf(`{"protocolVersion":%d,"agentInfo":{"name":"fake","version":"1.2.3"},"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"key","name":"a key"}]}`, max(f.version, 1)))
		case "session/new", "session/load":
			if f.login {
				refuse(p.ID, `{"code":-32000,"message":"Authentication required"}`)
				continue
			}
			say("what an older session said")
			answer(p.ID, `{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"free"}]},"models":{"currentModelId":"m0","availableModels":[{"modelId":"m0"},{"modelId":"m1"}]}}`)
		case "authenticate":
			f.login = false
			answer(p.ID, `{}`)
		case "session/set_mode":
			answer(p.ID, `{}`)
		case "session/set_model":
			if strings.Contains(string(p.Params), `"m1"`) {
				answer(p.ID, `{}`)
			} else {
				refuse(p.ID, `{"code":-32602,"message":"Invalid params","data":{"details":"there is no such model"}}`)
			}
		case "session/prompt":
			f.said = string(p.Params)
			f.prompt(f, p.ID)
		}
	}
}

const ended = `{"stopReason":"end_turn","usage":{"inputTokens":1000,"outputTokens":40,"thoughtTokens":10,"cachedReadTokens":500}}`

// prompts are the fake agents, by what they do with a prompt.
var prompts = map[string]func(f *fake, id json.RawMessage){
	"talks": func(f *fake, id json.RawMessage) {
		update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm"}}`)
		update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"m."}}`)
		say("I write ")
		say("it.")
		update(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Write a.txt","kind":"edit","status":"pending","rawInput":{"path":"a.txt"}}`)
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[{"type":"diff","path":"a.txt","oldText":null,"newText":"a"}]}`)
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"a.txt","oldText":null,"newText":"a"},{"type":"content","content":{"type":"text","text":"written"}}]}`)
		update(`{"sessionUpdate":"plan","entries":[{"content":"write it","priority":"high","status":"completed"},{"content":"say so","priority":"low","status":"pending"}]}`)
		update(`{"sessionUpdate":"usage_update","used":1000,"size":200000,"cost":{"amount":0.25,"currency":"USD"}}`)
		say("Done: " + strings.Join(f.seen, " | ") + " | " + f.said)
		answer(id, ended)
	},
	"asks": func(f *fake, id json.RawMessage) {
		for _, kind := range []string{"read", "edit", "execute", "fetch", "other", "", "a new one"} {
			p := f.ask("session/request_permission", fmt.Sprintf(`{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"do it","kind":%q},"options":[{"optionId":"y","name":"yes","kind":"allow_once"},{"optionId":"n","name":"no","kind":"reject_once"}]}`, kind))
			say(kind + " " + string(p.Result) + "\n")
		}
		update(`{"sessionUpdate":"tool_call","toolCallId":"c4","title":"Read b.txt","kind":"read","status":"pending"}`)
		p := f.ask("session/request_permission", `{"toolCall":{"toolCallId":"c4"},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}`)
		say("known " + string(p.Result) + "\n")
		p = f.ask("session/request_permission", `{"toolCall":{"toolCallId":"c2","title":"pawl_submit_result","kind":"other"},"options":[{"optionId":"always","kind":"allow_always"}]}`)
		say("ours " + string(p.Result) + "\n")
		p = f.ask("session/request_permission", `{"toolCall":{"toolCallId":"c3","title":"delete all","kind":"edit"},"options":[]}`)
		say("no options " + string(p.Result) + "\n")
		p = f.ask("fs/read_text_file", `{"path":"/etc/passwd"}`)
		say("file " + string(p.Error))
		answer(id, ended)
	},
	"odd": func(f *fake, id json.RawMessage) {
		fmt.Println("(node:1) Warning: something is deprecated")
		fmt.Println(`{"jsonrpc":"2.0","method":"_auth/status_update","params":{"x":1}}`)
		fmt.Println(`{"jsonrpc":"2.0","id":77,"result":{"nobody":"asked"}}`)
		fmt.Println(`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"nor for this"}}`)
		update(`{"sessionUpdate":"session_info_update","title":"a title"}`)
		update(`{"sessionUpdate":"of_next_year","content":[1,2,3]}`)
		update(`{"sessionUpdate":"tool_call_update","toolCallId":"c9","status":"completed","rawOutput":{"output":"a result without a call"}}`)
		update(`{"sessionUpdate":"tool_call","toolCallId":"c8","title":"never ends","rawInput":{"a":1}}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":7}`)
		fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":"` + strings.Repeat("x", 20<<20) + `"}}}`)
		say("still here")
		answer(id, ended)
		answer(id, `{"stopReason":"refusal"}`)
		answer(id, `{"stopReason":"refusal"}`)
	},
	"flood": func(f *fake, id json.RawMessage) {
		for range 100_000 {
			say("x")
		}
		answer(id, ended)
	},
	"never": func(f *fake, _ json.RawMessage) { say("I think") },
	"dies": func(*fake, json.RawMessage) {
		say("I think")
		fmt.Fprintln(os.Stderr, "Segmentation fault")
		os.Exit(139)
	},
	"limited": func(_ *fake, id json.RawMessage) {
		refuse(id, `{"code":-32603,"message":"Internal error","data":{"details":"API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}"}}`)
	},
	"too long": func(_ *fake, id json.RawMessage) {
		refuse(id, `{"code":400,"message":"prompt is too long: 210000 tokens > 200000 maximum"}`)
	},
	"out": func(_ *fake, id json.RawMessage) {
		refuse(id, `{"code":429,"message":"You exceeded your current quota, insufficient credits"}`)
	},
	"counts": func(_ *fake, id json.RawMessage) {
		for range 2 {
			update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":1000,"outputTokens":50,"cachedReadTokens":300}}}`)
		}
		update(`{"sessionUpdate":"usage_update","used":1000,"size":200000,"cost":{"amount":9,"currency":"EUR"}}`)
		answer(id, `{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1}}`)
	},
	"sums": func(_ *fake, id json.RawMessage) {
		answer(id, `{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":2000,"output_tokens":100}}}}`)
	},
	"refuses": func(_ *fake, id json.RawMessage) { answer(id, `{"stopReason":"refusal"}`) },
	"stops":   func(_ *fake, id json.RawMessage) { answer(id, `{"stopReason":"max_turn_requests"}`) },
	"spends": func(_ *fake, id json.RawMessage) {
		update(`{"sessionUpdate":"usage_update","used":1000,"size":200000,"cost":{"amount":2.25,"currency":"USD"}}`)
		say("more")
	},
}

func turn(t *testing.T, agent string, change func(*acp.Agent, *pawl.AgentTurn)) (pawl.AgentReply, []pawl.AgentUpdate, error) {
	t.Helper()
	a := &acp.Agent{Argv: delegatetest.Play(t, agent)}
	return delegatetest.Turn(t, a, func(in *pawl.AgentTurn) {
		if change != nil {
			change(a, in)
		}
	})
}

func TestTurn(t *testing.T) {
	reply, told, err := turn(t, "talks", func(a *acp.Agent, in *pawl.AgentTurn) {
		a.Meta, a.Modes = json.RawMessage(`{"x":{"y":1}}`), map[pawl.AgentAccess]string{pawl.AgentWrites: "free", pawl.AgentReads: "ask"}
		in.System, in.Model, in.Servers = "You are in a loop.", "m1", []pawl.AgentServer{{Name: "pawl", Argv: []string{"/bin/relay", "it"}}}
		in.Spent = 100_000
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"mcpServers":[{"args":["it"],"command":"/bin/relay","env":[],"name":"pawl"}]`, `"_meta":{"x":{"y":1}}`, `session/set_model {"modelId":"m1","sessionId":"s1"}`,
		`session/set_mode {"modeId":"free","sessionId":"s1"}`, `"text":"You are in a loop.\n\nmend it"`, `"readTextFile":false`,
	} {
		if !strings.Contains(reply.Text, want) {
			t.Errorf("it was not told %s:\n%s", want, reply.Text)
		}
	}
	last := told[len(told)-1]
	want := []pawl.AgentUpdate{
		{Kind: pawl.UpdateSession, Text: "s1"},
		{Kind: pawl.UpdateThought, Text: "Hmm."},
		{Kind: pawl.UpdateText, Text: "I write it."},
		{Kind: pawl.UpdateCall, Call: "c1", Tool: "Write a.txt", Does: pawl.DoesEdit, Title: "Write a.txt", Args: json.RawMessage(`{"path":"a.txt"}`)},
		{Kind: pawl.UpdateResult, Call: "c1", Text: "written", Diffs: []pawl.AgentDiff{{Path: "a.txt", New: "a"}}},
		{Kind: pawl.UpdatePlan, Plan: []pawl.AgentPlanEntry{{Text: "write it", Status: "completed"}, {Text: "say so", Status: "pending"}}},
		{Kind: pawl.UpdateUsage, Cost: 150_000},
		{Kind: pawl.UpdateText, Text: reply.Text},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if last.Text != reply.Text {
		t.Errorf("the last update is %+v", last)
	}
	reply.Text = ""
	if diff := cmp.Diff(pawl.AgentReply{
		Stop: pawl.AgentEnded, Session: "s1", Model: "m0", Version: "1.2.3", Cost: 150_000, Priced: true,
		Usage: pawl.Usage{Input: 1000, CacheRead: 500, Output: 50},
	}, reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// A session is continued with session/load. Its replayed messages are not reported, and the system
// prompt is not sent again.
func TestContinues(t *testing.T) {
	reply, told, err := turn(t, "talks", func(_ *acp.Agent, in *pawl.AgentTurn) { in.System, in.Session = "You are in a loop.", "s1" })
	if err != nil || !strings.Contains(reply.Text, `session/load`) || strings.Contains(reply.Text, "You are in a loop.") || reply.Session != "s1" {
		t.Errorf("got %+v, %v", reply, err)
	}
	for _, u := range told {
		if strings.Contains(u.Text, "what an older session said") {
			t.Errorf("it told %+v", u)
		}
	}
}

func TestLogin(t *testing.T) {
	if reply, _, err := turn(t, "login", func(a *acp.Agent, _ *pawl.AgentTurn) { a.Login = "key" }); err != nil || !strings.Contains(reply.Text, `authenticate {"methodId":"key"}`) {
		t.Errorf("got %+v, %v", reply, err)
	}
	_, _, err := turn(t, "login", func(a *acp.Agent, _ *pawl.AgentTurn) { a.Login = "oauth" })
	wantError(t, err, pawl.ModelAuth, "Authentication required", true)
}

// Permission depends on the access and on whether the room confines commands.
func TestPermissions(t *testing.T) {
	const yes, no = `{"outcome":{"optionId":"y","outcome":"selected"}}`, `{"outcome":{"optionId":"n","outcome":"selected"}}`
	for _, row := range []struct {
		name     string
		access   pawl.AgentAccess
		confined bool
		want     string // read edit execute fetch other none unknown
	}{
		{"writes", pawl.AgentWrites, true, "yyyyyyy"},
		{"reads", pawl.AgentReads, true, "ynyyyyy"},
		{"writes, unconfined", pawl.AgentWrites, false, "yyynnnn"},
		{"reads, unconfined", pawl.AgentReads, false, "ynnnnnn"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reply, told, err := turn(t, "asks", func(_ *acp.Agent, in *pawl.AgentTurn) {
				in.Access, in.Confined, in.Servers = row.access, row.confined, []pawl.AgentServer{{Name: "pawl", Argv: []string{"relay"}, Tools: []string{"submit_result"}}}
			})
			if err != nil {
				t.Fatal(err)
			}
			var want strings.Builder
			for i, kind := range []string{"read", "edit", "execute", "fetch", "other", "", "a new one"} {
				want.WriteString(kind + " " + map[byte]string{'y': yes, 'n': no}[row.want[i]] + "\n")
			}
			want.WriteString("known " + yes + "\n") // a read, as its call said
			want.WriteString(`ours {"outcome":{"optionId":"always","outcome":"selected"}}` + "\n")
			want.WriteString(`no options {"outcome":{"outcome":"cancelled"}}` + "\n")
			want.WriteString(`file {"code":-32601,"message":"there is no method \"fs/read_text_file\" here"}`)
			if diff := cmp.Diff(want.String(), strings.Join(texts(told), "")); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			var refused string
			for _, u := range told {
				if u.Kind == pawl.UpdatePermission && u.Call == "c1" {
					refused += map[bool]string{true: "n", false: "y"}[u.Failed]
				}
			}
			if refused != row.want {
				t.Errorf("told of %s, want %s", refused, row.want)
			}
			_ = reply
		})
	}
}

func texts(told []pawl.AgentUpdate) (out []string) {
	for _, u := range told {
		if u.Kind == pawl.UpdateText {
			out = append(out, u.Text)
		}
	}
	return out
}

// Messages that are not in the protocol do no harm.
func TestOddAgent(t *testing.T) {
	reply, told, err := turn(t, "odd", nil)
	if err != nil || reply.Stop != pawl.AgentEnded || reply.Text != "still here" {
		t.Fatalf("got %+v, %v", reply, err)
	}
	want := []pawl.AgentUpdate{
		{Kind: pawl.UpdateSession, Text: "s1"},
		{Kind: pawl.UpdateNote, Text: "it printed: (node:1) Warning: something is deprecated"},
		{Kind: pawl.UpdateCall, Call: "c9", Does: pawl.DoesOther},
		{Kind: pawl.UpdateResult, Call: "c9", Text: "a result without a call"},
		{Kind: pawl.UpdateCall, Call: "c8", Tool: "never ends", Does: pawl.DoesOther, Title: "never ends", Args: json.RawMessage(`{"a":1}`)},
		{Kind: pawl.UpdateNote, Text: "a line of 20971636 bytes was left out"},
		{Kind: pawl.UpdateText, Text: "still here"},
		{Kind: pawl.UpdateResult, Call: "c8", Failed: true},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

// Agents report the usage of a turn in three ways. A cost counts if it is in dollars.
func TestUsage(t *testing.T) {
	for agent, want := range map[string]pawl.Usage{
		"talks": {Input: 1000, CacheRead: 500, Output: 50}, "counts": {Input: 2000, CacheRead: 600, Output: 100}, "sums": {Input: 2000, Output: 100},
	} {
		if reply, _, err := turn(t, agent, nil); err != nil || reply.Usage != want || reply.Priced != (agent == "talks") {
			t.Errorf("%s: got %+v, %v", agent, reply, err)
		}
	}
}

func TestManyUpdates(t *testing.T) {
	reply, _, err := turn(t, "flood", nil)
	if err != nil || len(reply.Text) != 100_000 {
		t.Errorf("got %d bytes of text, %v", len(reply.Text), err)
	}
}

func wantError(t *testing.T, err error, kind pawl.ModelErrorKind, says string, unsent bool) {
	t.Helper()
	e, ok := errors.AsType[*pawl.ModelError](err)
	if !ok || e.Kind != kind || !strings.Contains(e.Message, says) || e.Unsent != unsent {
		t.Errorf("got %+v (%v), want %s that says %q", e, err, kind, says)
	}
}

func TestFailures(t *testing.T) {
	short := func(_ *acp.Agent, in *pawl.AgentTurn) {
		in.Limits.Silence, in.Limits.ToolTime = 500*time.Millisecond, 500*time.Millisecond
	}
	model := func(name string) func(*acp.Agent, *pawl.AgentTurn) {
		return func(_ *acp.Agent, in *pawl.AgentTurn) { in.Model = name }
	}
	for _, row := range []struct {
		agent  string
		change func(*acp.Agent, *pawl.AgentTurn)
		kind   pawl.ModelErrorKind
		says   string
		unsent bool
	}{
		{"hangs", short, pawl.ModelTimeout, "the agent did not start: it sent nothing for 0.5s", false},
		{"leaves", nil, pawl.ModelAuth, "no credentials are configured", true},
		{"future", nil, pawl.ModelBadRequest, "version 2 of the Agent Client Protocol", true},
		{"never", short, pawl.ModelTimeout, "the agent sent nothing for 0.5s", false},
		{"dies", nil, pawl.ModelNetwork, "Segmentation fault", false},
		{"limited", nil, pawl.ModelRateLimit, "slow down", false},
		{"too long", nil, pawl.ModelContextLong, "prompt is too long", false},
		{"out", nil, pawl.ModelQuota, "exceeded your current quota", false},
		{"talks", model("m9"), pawl.ModelUnknown, "there is no such model", true},
	} {
		t.Run(row.agent, func(t *testing.T) {
			_, _, err := turn(t, row.agent, row.change)
			wantError(t, err, row.kind, row.says, row.unsent)
		})
	}
}

func TestStops(t *testing.T) {
	for agent, want := range map[string]pawl.AgentStop{"refuses": pawl.AgentRefused, "stops": pawl.AgentTurns, "spends": pawl.AgentCapped} {
		reply, _, err := turn(t, agent, func(_ *acp.Agent, in *pawl.AgentTurn) { in.Limits.Money = 2 * pawl.Dollars })
		if err != nil || reply.Stop != want {
			t.Errorf("%s: got %+v, %v", agent, reply, err)
		}
	}
}
