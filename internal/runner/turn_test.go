package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
	"pawl/internal/delegate/toolserver"
	"pawl/internal/driver"
	"pawl/internal/runner"
)

// agentFunc is a coding agent that is a function.
type agentFunc func(ctx context.Context, in agentTurn) (pawl.AgentReply, error)

// agentTurn is what an agent has for a turn.
type agentTurn struct {
	pawl.AgentTurn
	room pawl.Room
	tell func(pawl.AgentUpdate)
	tb   testing.TB
}

// delegates makes every tier of the world's run the agent.
func (w *world) delegates(tb testing.TB, agent agentFunc) {
	tb.Helper()
	w.r.ServeTools = func(ctx context.Context, l net.Listener, tools []pawl.ToolSpec, call runner.ToolCall) error {
		return (&toolserver.Server{Tools: tools, Call: call}).Serve(ctx, l)
	}
	w.r.Delegate = func(context.Context, driver.Job, pawl.ModelChoice) (runner.Delegate, error) {
		return runner.Delegate{
			Room: pawl.DelegateSpec{Agent: "fake"}, Model: "m",
			In: func(pawl.DelegateRoom) pawl.Agent { return inProcess{tb, agent} },
		}, nil
	}
}

type inProcess struct {
	tb  testing.TB
	fun agentFunc
}

// Turn implements [pawl.Agent].
func (p inProcess) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	return p.fun(ctx, agentTurn{turn, room, tell, p.tb})
}

// sh runs a command in the agent's room.
func (in agentTurn) sh(ctx context.Context, line string) {
	in.tb.Helper()
	if res, err := in.room.Run(ctx, pawl.Command{Shell: line}); err != nil || res.ExitCode != 0 {
		in.tb.Errorf("%s: %v %+v", line, err, res)
	}
}

// connect connects to our MCP server as an agent does: over a relay in the room.
func (in agentTurn) connect(ctx context.Context) (session *mcp.ClientSession, end func()) {
	in.tb.Helper()
	fromAgent, toRelay := io.Pipe()
	fromRelay, toAgent := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if res, err := in.room.Run(ctx, pawl.Command{Argv: in.Servers[0].Argv, Input: fromAgent, Stdout: toAgent}); err != nil {
			in.tb.Errorf("relay: %v %+v", err, res)
		}
		_ = toAgent.Close()
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromRelay, Writer: toRelay}, nil)
	if err != nil {
		in.tb.Fatal(err)
	}
	return session, func() {
		_ = session.Close() // the relay may have ended
		_ = toRelay.Close()
		wg.Wait()
	}
}

// call calls one of our tools and returns the answer.
func (in agentTurn) call(ctx context.Context, session *mcp.ClientSession, tool, args string) (text string, isError bool) {
	in.tb.Helper()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		in.tb.Errorf("%s: %v", tool, err)
		return "", true
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// turns asks for a turn with these tools; session is the agent's, empty for a new one.
func (w *world) turns(tb testing.TB, session string, from int, before pawl.TreeHash, tools ...string) *pawl.CallModel {
	tb.Helper()
	ask := w.asks(tb, replies(pawl.StopEnd, say("unused")), tools...)
	ask.Agent = &pawl.AgentCall{Session: session, From: from, Before: before}
	return ask
}

// A turn has the agent's edits as a tree, its updates as a transcript, and its calls of our tools.
func TestTurn(t *testing.T) {
	w := MustWorld(t, map[string]string{"a.txt": "a\n"})
	before := w.MustOpen(t)
	w.secret = "hunter2-and-more"
	w.r.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), w.secret, "[secret]")) }
	var began []string
	var answers []string
	w.delegates(t, func(ctx context.Context, in agentTurn) (pawl.AgentReply, error) {
		if in.Access != pawl.AgentWrites || in.Confined || in.Model != "m" || in.System != "" || in.Prompt != "Do it." || in.Limits.Money != 7 || in.Limits.Silence != pawl.DefaultSessionLimits.Silence {
			in.tb.Errorf("the turn is %+v", in.AgentTurn)
		}
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateSession, Text: "s1"})
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateUsage})
		for n := range int64(3) { // less than a step of the reservation, so only the first is told
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateUsage, Usage: pawl.Usage{Input: 10 + n}})
		}
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Partial: true, Text: "I wri"})
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "I write " + w.secret})
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "1", Tool: "Bash", Does: pawl.DoesExecute, Title: "echo"})
		in.sh(ctx, "echo b > b.txt")
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "1", Failed: true})
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "2", Tool: "Read", Does: pawl.DoesRead})
		in.tell(pawl.AgentUpdate{Kind: pawl.UpdateResult, Call: "2"})
		session, end := in.connect(ctx)
		defer end()
		list, err := session.ListTools(ctx, nil)
		if err != nil || len(list.Tools) != 2 {
			in.tb.Errorf("tools: %+v, %v", list, err)
		}
		for _, c := range [][2]string{{"submit_result", `{"summary": 7}`}, {"remember", `{"kind": "learning", "text": "b is new"}`}, {"submit_result", `{"summary": "made b", "decision": "COMPLETE"}`}} {
			text, _ := in.call(ctx, session, c[0], c[1])
			answers = append(answers, text)
		}
		return pawl.AgentReply{Text: "Done.", Stop: pawl.AgentEnded, Session: "s1", Model: "fake-1", Usage: pawl.Usage{Input: 10, Output: 5}, Cost: 300, Priced: true, Version: "9"}, nil
	})
	ask := w.turns(t, "", 0, before, "write", "run", "remember", "result")
	ask.Reserved = 7
	got := must[*pawl.ModelReplied](t, w, ask, transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")}), func(j *driver.Job) {
		j.Progressed = func(b *pawl.AgentProgressed) {
			began = append(began, fmt.Sprintf("%s used %d", b.Session, b.Used.Total()))
		}
	})
	if diff := cmp.Diff([]string{"s1 used 0", "s1 used 10"}, began); diff != "" {
		t.Error(diff)
	}
	if len(answers) != 3 || !strings.Contains(answers[0], "summary") || answers[1] != "Noted." || !strings.HasPrefix(answers[2], "Received.") {
		t.Errorf("the agent heard %q", answers)
	}
	if w.MustBlob(t, got.Text) != "Done." || got.Model != "fake-1" || got.Stop != pawl.StopEnd || got.Usage.Total() != 15 || len(got.Calls) != 3 {
		t.Errorf("got %+v", got)
	}
	for i, c := range got.Calls {
		if !c.Told || (c.Problem != "") != (i == 0) || c.Submit != (i != 1) || c.Harness != (i == 1) {
			t.Errorf("call %d is %+v", i, c)
		}
	}
	a := got.Agent
	if a.Stop != pawl.AgentEnded || a.Session != "s1" || a.Tree == before || a.Changed || a.Worth != 300 || a.Version != "9" || a.Tools != 2 || a.Failed != 1 || a.Commands != 1 || !a.CommandFailed {
		t.Errorf("the turn ended %+v", a)
	}
	want := `{"kind":"text","text":"I write [secret]"}
{"kind":"call","call":"1","tool":"Bash","does":"execute","title":"echo"}
{"kind":"result","call":"1","failed":true}
{"kind":"call","call":"2","tool":"Read","does":"read"}
{"kind":"result","call":"2"}
`
	if diff := cmp.Diff(want, w.MustBlob(t, a.Transcript)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
	if live := strings.Join(w.said, ""); !strings.Contains(live, "I wri") || !strings.Contains(live, "[Bash echo]") {
		t.Errorf("people saw %q", live)
	}
}

// quiet returns an agent that only says a text, and keeps the prompts it was given.
func quiet(text string, prompts *[]string) agentFunc {
	return func(_ context.Context, in agentTurn) (pawl.AgentReply, error) {
		*prompts = append(*prompts, in.Prompt)
		return pawl.AgentReply{Text: text, Stop: pawl.AgentEnded, Session: "s1"}, nil
	}
}

// An agent is told what it does not know of the transcript: everything in a new session, and what came
// since then in a session that continues.
func TestTurnPrompts(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	var prompts []string
	w.delegates(t, quiet("Done.", &prompts))
	items := []pawl.Item{
		{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")},
		{Kind: pawl.ItemAssistant, Blob: w.MustKeep(t, pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{say("I did."), use("own_1", "blackboard", `{}`)}})},
		{Kind: pawl.ItemResult, Text: "nothing on it"},
		{Kind: pawl.ItemNote, Text: "Call submit_result now."},
	}
	for _, row := range []struct {
		session     string
		from, items int
		want        string
	}{
		{"", 0, 1, "Do it."},
		{"", 0, 4, "Do it.\n\n--- What you said ---\n\nI did.\n\n(You called blackboard with {}.)\n\n--- What you were told then ---\n\n" +
			"The result of your call of blackboard: nothing on it\n\nCall submit_result now.\n\n--- Now ---\n\n" +
			"The session before this one is gone. The work tree has what was done in it. Continue from there."},
		{"s1", 1, 1, "You were interrupted. Continue from where you stopped."},
		{"s1", 2, 4, "The result of your call of blackboard: nothing on it\n\nCall submit_result now."},
		{"s1", 3, 4, "Call submit_result now."},
		{"s1", 4, 4, "You were interrupted. Continue from where you stopped."},
	} {
		prompts = nil
		must[*pawl.ModelReplied](t, w, w.turns(t, row.session, row.from, before, "write"), transcript(items[:row.items]...))
		if diff := cmp.Diff([]string{row.want}, prompts); diff != "" {
			t.Errorf("session %q from %d of %d (-want +got):\n%s", row.session, row.from, row.items, diff)
		}
	}
}

// The last message is the result if nothing was handed in and it can be read as one.
func TestTurnFallback(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	prompt := transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")})
	const result = `{"summary": "s", "decision": "COMPLETE"}`
	for text, want := range map[string]int{
		result: 1, "Done:\n\n```json\n" + result + "\n```": 1, "```\n" + result + "\n```\n": 1,
		"": 0, "Done.": 0, "Done: " + result: 0, `{"summary": 1}`: 0, "```json\n{\n```": 0, "```": 0,
	} {
		var prompts []string
		w.delegates(t, quiet(text, &prompts))
		got := must[*pawl.ModelReplied](t, w, w.turns(t, "", 0, before, "read", "result"), prompt)
		if len(got.Calls) != want || want == 1 && (!got.Calls[0].Submit || got.Calls[0].Problem != "") {
			t.Errorf("%q: calls %+v", text, got.Calls)
		}
	}
}

// A role that can only read gets no change into the candidate, and what it changed is reported.
func TestTurnReads(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	w.delegates(t, func(ctx context.Context, in agentTurn) (pawl.AgentReply, error) {
		if in.Access != pawl.AgentReads || len(in.Servers) != 0 {
			in.tb.Errorf("the turn is %+v", in.AgentTurn)
		}
		in.sh(ctx, "echo b > b.txt") // this room does not confine it
		return pawl.AgentReply{Stop: pawl.AgentEnded, Session: strings.Repeat("s", 201)}, nil
	})
	prompt := transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Look.")})
	got := must[*pawl.ModelReplied](t, w, w.turns(t, "", 0, before, "read", "grep"), prompt)
	if !got.Agent.Changed || got.Agent.Tree == before || got.Agent.Session != "" {
		t.Errorf("got %+v", got.Agent)
	}
}

// A turn that fails says what is known of its cost.
func TestTurnFails(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	prompt := transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")})
	used := pawl.Usage{Input: 3}
	for name, row := range map[string]struct {
		reply pawl.AgentReply
		err   error
		want  pawl.Failure
	}{
		"Quota":   {pawl.AgentReply{}, &pawl.ModelError{Kind: pawl.ModelQuota, Wait: 9, Message: "used up", Used: used}, pawl.Failure{Code: "quota", Wait: 9, Message: "used up", Used: used}},
		"Session": {pawl.AgentReply{}, &pawl.ModelError{Kind: pawl.ModelNoSession, Unsent: true, Message: "gone"}, pawl.Failure{Code: "no_session", Message: "gone", Unsent: true}},
		"Refused": {pawl.AgentReply{Stop: pawl.AgentRefused, Text: "I will not", Usage: used}, nil, pawl.Failure{Code: "refused", Message: "I will not", Used: used}},
	} {
		w.delegates(t, func(context.Context, agentTurn) (pawl.AgentReply, error) { return row.reply, row.err })
		if diff := cmp.Diff(row.want, w.fails(t, w.turns(t, "", 0, before, "write"), prompt)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	w.r.Delegate = nil
	if f := w.fails(t, w.turns(t, "", 0, before, "write"), prompt); f.Code != pawl.FailDefect || !f.Unsent {
		t.Errorf("without agents: %+v", f)
	}
}

// What an agent did in a turn that failed is kept, with a text that was cut off and without secrets.
func TestFailedTurnKeepsTranscript(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	w.secret = "hunter2-and-more"
	w.r.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), w.secret, "[secret]")) }
	prompt := transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")})
	const want = `{"kind":"thought","text":"about [secret]"}
{"kind":"call","call":"1","tool":"Bash","title":"sleep"}
{"kind":"text","text":"I sle"}
`
	for name, end := range map[string]func(cancel func()) (pawl.AgentReply, error){
		"Silence": func(func()) (pawl.AgentReply, error) {
			return pawl.AgentReply{}, &pawl.ModelError{Kind: pawl.ModelTimeout, Message: "silent"}
		},
		"Refused": func(func()) (pawl.AgentReply, error) { return pawl.AgentReply{Stop: pawl.AgentRefused}, nil },
		"Cancelled": func(cancel func()) (pawl.AgentReply, error) {
			cancel()
			return pawl.AgentReply{}, context.Canceled
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		w.delegates(t, func(_ context.Context, in agentTurn) (pawl.AgentReply, error) {
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: "about " + w.secret, Partial: true})
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateThought, Text: "about " + w.secret})
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateCall, Call: "1", Tool: "Bash", Title: "sleep"})
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "I ", Partial: true})
			in.tell(pawl.AgentUpdate{Kind: pawl.UpdateText, Text: "sle", Partial: true})
			return end(cancel)
		})
		got, ok := w.runIn(ctx, t, w.turns(t, "", 0, before, "write"), prompt).(*pawl.EffectFailed)
		if !ok {
			t.Fatalf("%s: the turn did not fail", name)
		}
		if diff := cmp.Diff(want, w.MustBlob(t, got.Transcript)); diff != "" {
			t.Errorf("%s: transcript (-want +got):\n%s", name, diff)
		}
		cancel()
	}
}

// What people say during a turn reaches the agent and is in the transcript, and the answer has how much
// of it the agent heard.
func TestTurnHears(t *testing.T) {
	w := MustWorld(t, nil)
	before := w.MustOpen(t)
	w.delegates(t, func(_ context.Context, in agentTurn) (pawl.AgentReply, error) {
		heard := <-in.Info
		return pawl.AgentReply{Text: "You say " + heard, Stop: pawl.AgentEnded, Heard: 1}, nil
	})
	infos := make(chan string, 2)
	infos <- "mind the cache"
	prompt := transcript(pawl.Item{Kind: pawl.ItemUser, Blob: w.MustKeep(t, "Do it.")})
	got := must[*pawl.ModelReplied](t, w, w.turns(t, "", 0, before, "write"), prompt, func(j *driver.Job) { j.Infos = infos })
	if text := w.MustBlob(t, got.Text); text != "You say mind the cache" || got.Agent.Heard != 1 {
		t.Errorf("the agent says %q, and heard %d", text, got.Agent.Heard)
	}
	if log := w.MustBlob(t, got.Agent.Transcript); !strings.Contains(log, `{"kind":"note","text":"a person says: mind the cache"}`) {
		t.Errorf("the transcript is %s", log)
	}
}

// countedRooms are rooms of which it is given what goes out of them.
type countedRooms struct {
	pawl.Rooms
	traffic *[]pawl.Contact
	all     bool
}

func (r countedRooms) Delegate(ctx context.Context, spec pawl.DelegateSpec) (pawl.DelegateRoom, error) {
	x, err := r.Rooms.Delegate(ctx, spec)
	return countedRoom{x, r}, err
}

type countedRoom struct {
	pawl.DelegateRoom
	of countedRooms
}

func (r countedRoom) Traffic() ([]pawl.Contact, bool) { return slices.Clone(*r.of.traffic), r.of.all }

// A turn that failed is charged what its agent tells that it used, else at most what went out of its room and came back:
// nothing if nothing did, whatever it failed with. F-127
func TestFailedTurnsCostWhatPassed(t *testing.T) {
	earlier := pawl.Contact{Host: "models", Requests: 1, Sent: 3000, Received: 300}
	for name, row := range map[string]struct {
		err     error
		passed  []pawl.Contact
		unknown bool // whether the room has another way out
		late    bool // its time is up
		free    bool
		used    pawl.Usage
	}{
		"no call":           {err: &pawl.ModelError{Kind: pawl.ModelTimeout}, free: true},
		"no call, and late": {late: true, free: true},
		"a refused one":     {err: &pawl.ModelError{Kind: pawl.ModelTimeout}, passed: []pawl.Contact{{Host: "elsewhere", Sent: 9, Refused: "no rule"}}, free: true},
		"some":              {err: &pawl.ModelError{Kind: pawl.ModelNetwork}, passed: []pawl.Contact{{Host: "models", Sent: 600, Received: 90}}, used: pawl.Usage{Input: 200, Output: 30}},
		"some, and late":    {late: true, passed: []pawl.Contact{{Host: "models", Sent: 600, Received: 90}}, used: pawl.Usage{Input: 200, Output: 30}},
		"told":              {err: &pawl.ModelError{Kind: pawl.ModelNetwork, Used: pawl.Usage{Input: 5}}, passed: []pawl.Contact{{Host: "models", Sent: 600}}, used: pawl.Usage{Input: 5}},
		"refused by it":     {err: &pawl.ModelError{Kind: pawl.ModelRateLimit}, passed: []pawl.Contact{{Host: "models", Sent: 600}}},
		"nobody knows":      {err: &pawl.ModelError{Kind: pawl.ModelNetwork}, unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := MustWorld(t, nil)
			before := w.MustOpen(t)
			traffic := []pawl.Contact{earlier}
			w.r.Rooms = countedRooms{w.r.Rooms, &traffic, !row.unknown}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.late {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			w.delegates(t, func(ctx context.Context, _ agentTurn) (pawl.AgentReply, error) {
				traffic = append(traffic, row.passed...)
				if row.late {
					<-ctx.Done()
					return pawl.AgentReply{}, ctx.Err()
				}
				return pawl.AgentReply{}, row.err
			})
			f, ok := w.runIn(ctx, t, w.turns(t, "", 0, before)).(*pawl.EffectFailed)
			if !ok || f.Failure.Free != row.free || f.Failure.Used != row.used || row.late != (f.Failure.Code == pawl.FailTimeout) {
				t.Errorf("got %+v", f)
			}
		})
	}
}
