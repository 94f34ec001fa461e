package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// The calls of a reply in the order in which they run. A line of a row has the acts that follow
// when the calls numbered in the line before have returned.
func TestOrderOfCalls(t *testing.T) {
	const unknown, bad = `: there is no tool "fly" here`, ": path is missing"
	for _, row := range []struct {
		calls string
		steps []string // "acts" or "calls that return > acts"
	}{
		{"read grep read", []string{"call 0, call 1, call 2", "1 >", "2 >", "0 > speak"}},
		{"write write", []string{"call 0", "0 > call 1", "1 > speak"}},
		{"run run", []string{"call 0", "0 > call 1", "1 > speak"}},
		{"write read", []string{"call 0", "0 > call 1", "1 > speak"}},
		{"read write read", []string{"call 0", "0 > call 1", "1 > call 2", "2 > speak"}},
		{"read read write", []string{"call 0, call 1", "1 >", "0 > call 2", "2 > speak"}},
		{"read read run read read", []string{"call 0, call 1", "0 1 > call 2", "2 > call 3, call 4", "4 3 > speak"}},
		{"board", []string{"harness 0, speak"}},
		{"board board write", []string{"harness 0, harness 1, call 2", "2 > speak"}},
		{"read board read", []string{"call 0", "0 > harness 1, call 2", "2 > speak"}},
		{"read memory read", []string{"call 0", "0 > harness 1, call 2", "2 > speak"}},
		{"write board", []string{"call 0", "0 > harness 1, speak"}},
		{"unknown read", []string{"error 0" + unknown + ", call 1", "1 > speak"}},
		{"read bad read", []string{"call 0, error 1" + bad + ", call 2", "2 0 > speak"}},
		{"write bad", []string{"call 0", "0 > error 1" + bad + ", speak"}},
		{"bad write", []string{"error 0" + bad + ", call 1", "1 > speak"}},
		{"read submit", []string{"call 0, note 1: Accepted.", "0 > end done"}},
		{"submit write", []string{"note 0: Accepted., call 1", "1 > end done"}},
	} {
		t.Run(row.calls, func(t *testing.T) {
			k := prompted(t, pawl.SessionStarted{})
			k.spec.Output = "report"
			k.expect("speak")
			k.reply(row.calls)
			for _, step := range row.steps {
				returned, acts, found := strings.Cut(step, ">")
				if !found {
					returned, acts = "", step
				}
				for _, w := range strings.Fields(returned) {
					k.returns(int(w[0] - '0'))
				}
				var want []string
				if acts = strings.TrimSpace(acts); acts != "" {
					want = strings.Split(acts, ", ")
				}
				k.expect(want...)
			}
		})
	}
}

// A tool call gets its class, and no more time than the session has left.
func TestCallTool(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	k.reply("run")
	if n, _ := k.next(); n.Class != pawl.CrashOnce || n.Timeout != 15*time.Minute || !n.ToCall {
		t.Errorf("got %+v", n)
	}
	for _, row := range []struct{ timeout, passed, limit, want time.Duration }{
		{0, 0, time.Hour, time.Hour},
		{time.Minute, 0, time.Hour, time.Minute},
		{time.Minute, 50 * time.Second, time.Hour, 10 * time.Second},
		{time.Minute, 50 * time.Second, time.Second, time.Second},
		{time.Minute, time.Minute, time.Hour, time.Millisecond},
		{time.Minute, time.Hour, time.Hour, time.Millisecond},
	} {
		x := Start(&pawl.SessionStarted{Timeout: row.timeout}, time.Hour)
		if got := x.Remaining(row.limit, time.Hour+row.passed); got != row.want {
			t.Errorf("of %s after %s: got %s, want %s", row.timeout, row.passed, got, row.want)
		}
	}
}

// One reminder follows the calls of each reply, none a reply that was cut, and the last turns are
// announced once.
func TestReminders(t *testing.T) {
	const reminder = "note: Reminder: the task is still: tidy. When it is done, call submit_report."
	k := prompted(t, pawl.SessionStarted{Turns: 5})
	k.spec.NoReminder, k.spec.Output = false, "report"
	k.expect("speak")
	k.reply("read read")
	k.expect("call 0", "call 1")
	k.returns(0)
	k.expect()
	k.returns(1)
	k.expect(reminder, "speak")
	k.reply("board")
	k.expect("harness 0", reminder+" 3 turns are left.", "speak")
	k.replied(pawl.StopMaxOutput, "read")
	k.expect("error 0: "+textCutCall, "speak")
	k.reply("bad")
	k.expect("error 0: path is missing", reminder, "speak")
	k.replied(pawl.StopEnd, "")
	k.expect("end done")

	k = prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	k.reply("board")
	k.expect("harness 0", "speak") // the recipe wants none
}

// A session that owes a result is asked for it three times.
func TestNags(t *testing.T) {
	const nag = "note: You have not handed in your result. Call submit_report now, with what you have."
	for _, row := range []struct {
		name     string
		output   string
		required bool
		want     string
	}{
		{"no result", "", false, "end done"},
		{"no result, required", "", true, "end done"},
		{"a result that may be missing", "report", false, "end done"},
		{"a result that is owed", "report", true, nag},
	} {
		k := prompted(t, pawl.SessionStarted{})
		k.spec.Output, k.spec.Required = row.output, row.required
		k.expect("speak")
		k.replied(pawl.StopEnd, "")
		if n, got := k.next(); got != row.want || n.Act == End && n.Output != text(1) {
			t.Errorf("%s: got %q with the output %v", row.name, got, n.Output)
		}
	}
	k := prompted(t, pawl.SessionStarted{})
	k.spec.Output, k.spec.Required = "report", true
	k.spec.NoReminder = false // which is for calls only
	k.expect("speak")
	for range maxNags {
		k.replied(pawl.StopEnd, "")
		k.expect(nag, "speak")
	}
	k.replied(pawl.StopMaxOutput, "")
	k.expect("note: "+textCutText, "speak") // which does not count
	k.replied(pawl.StopEnd, "")
	if n := k.expect("end no_result: it ended 4 times without calling submit_report"); n.Output != text(5) {
		t.Errorf("the output is %v", n.Output)
	}
}

// A reply that was cut is continued, whatever the session owes.
func TestCutReplies(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	for range maxNags + 2 {
		k.replied(pawl.StopMaxOutput, "")
		k.expect("note: "+textCutText, "speak")
	}
	k.replied(pawl.StopMaxOutput, "write submit")
	k.expect("error 0: "+textCutCall, "error 1: "+textCutCall, "speak")
	k.replied(pawl.StopEnd, "")
	k.expect("end done")
}

func TestInvalidResults(t *testing.T) {
	const wrong = "error 0: summary is missing"
	k := prompted(t, pawl.SessionStarted{})
	k.spec.Output = "report"
	k.expect("speak")
	for range maxInvalid - 1 {
		k.reply("wrong")
		k.expect(wrong, "speak")
	}
	k.reply("wrong")
	if n := k.expect(wrong, "end no_result: 3 calls of submit_report were refused: summary is missing"); n.Output != text(3) {
		t.Errorf("the output is %v", n.Output)
	}

	k = prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	k.reply("wrong")
	k.expect(wrong, "speak")
	k.reply("submit")
	n := k.expect("note 0: Accepted.", "end done")
	if use := uses["submit"]; n.Output != use.Args || !cmp.Equal(n.Facts, use.Facts) || !cmp.Equal(k.x.Result(), &use) {
		t.Errorf("got %+v of %+v", n, k.x.Result())
	}
}

// The harness may object to a result that fits its schema. It is told whether it has done so.
func TestObjections(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	var asked []string
	k.spec.Objection = func(f pawl.Facts, insisted bool) string {
		asked = append(asked, fmt.Sprint(f.Get("decision"), insisted))
		if insisted {
			return ""
		}
		return "look again"
	}
	for _, calls := range []string{"wrong submit", "submit wrong"} {
		k.x, asked = prompted(t, pawl.SessionStarted{}).x, nil
		k.expect("speak")
		for _, call := range strings.Fields(calls) {
			refused := "error 0: look again"
			if call == "wrong" {
				refused = "error 0: summary is missing"
			}
			k.reply(call)
			k.expect(refused, "speak")
		}
		k.reply("submit")
		k.expect("note 0: Accepted.", "end done")
		if want := []string{"PASSfalse", "PASStrue"}; !cmp.Equal(asked, want) {
			t.Errorf("%s: it was asked %v, want %v", calls, asked, want)
		}
	}
}

// A result that is only too long is refused twice and then accepted as the harness cuts it.
func TestTrimmedResults(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	k.spec.Objection = func(pawl.Facts, bool) string { return "never" }
	k.expect("speak")
	for range maxInvalid - 1 {
		k.reply("long")
		k.expect("error 0: too long", "speak")
	}
	k.reply("long")
	n := k.expect("[task/1/code: size 501 of 500] note 0: "+textTrimmed, "end done")
	if use := uses["long"]; n.Output != use.Trimmed || !cmp.Equal(n.Facts, use.Facts) {
		t.Errorf("got %+v", n)
	}
	for calls, want := range map[string][]string{
		"wrong":    {"error 0: summary is missing", "end no_result: 3 calls of submit_report were refused: summary is missing"}, // it cannot be cut
		"odd fits": {"error 0: too long", "note 1: Accepted.", "end done"},                                                      // it need not be cut
	} {
		k = prompted(t, pawl.SessionStarted{})
		k.spec.Output = "report"
		k.expect("speak")
		for range maxInvalid - 1 {
			k.reply("long")
			k.expect("error 0: too long", "speak")
		}
		k.reply(calls)
		k.expect(want...)
	}
}

func TestTurnCap(t *testing.T) {
	const end = "[task/1/code: turns 2 of 2] end turn_cap: it used all 2 turns"
	for _, row := range []struct {
		name  string
		stop  pawl.StopReason
		calls string
		want  []string
	}{
		{"after calls", pawl.StopToolUse, "bad", []string{"error 0: path is missing", end}},
		{"after a reply that was cut", pawl.StopMaxOutput, "", []string{end}},
		{"instead of asking for the result", pawl.StopEnd, "", []string{end}},
		{"with the result", pawl.StopToolUse, "submit", []string{"note 0: Accepted.", "end done"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := prompted(t, pawl.SessionStarted{Turns: 2})
			k.spec.Output, k.spec.Required = "report", true
			k.expect("speak")
			k.reply("board")
			k.expect("harness 0", "speak")
			k.replied(row.stop, row.calls)
			n := k.expect(row.want...)
			if n.Result == pawl.SessionTurns && n.Output != text(2) {
				t.Errorf("the output is %v", n.Output)
			}
		})
	}
}

// Calls of one tool are counted over the whole session, also those that the harness answers.
func TestToolLimits(t *testing.T) {
	const no = "] error 2: not run: read may be called 2 times in a session, and was"
	k := prompted(t, pawl.SessionStarted{})
	k.spec.Limits = []pawl.ToolLimit{{Tool: "board", Max: 1}, {Tool: "read", Max: 2}}
	k.expect("speak")
	k.reply("read read read grep grep grep")
	k.expect("call 0", "call 1", "[task/1/code/read: calls 3 of 2"+no, "call 3", "call 4", "call 5")
	k.returns(0, 1, 3, 4, 5)
	k.expect("speak")
	k.reply("board board read")
	k.expect("harness 0", "[task/1/code/board: calls 2 of 1] error 1: not run: board may be called 1 times in a session, and was",
		"[task/1/code/read: calls 3 of 2"+no, "speak")
	k.reply("bad bad") // which do not count
	k.expect("error 0: path is missing", "error 1: path is missing", "speak")
}

func TestTimeouts(t *testing.T) {
	const end = "[task/1/code: time 60000000000 of 60000000000] end timeout: timed out after 1m"
	late := func(k *talk, by time.Duration) { k.alive = time.Hour + time.Minute + by }
	for _, row := range []struct {
		name   string
		then   func(k *talk)
		want   []string // when the time is up, and just before
		before []string
	}{
		{"before the first reply", func(*talk) {}, []string{end}, []string{"speak"}},
		{"before a call", func(k *talk) { k.expect("speak"); k.reply("read") }, []string{end}, []string{"call 0"}},
		{"between calls", func(k *talk) { k.expect("speak"); k.reply("write write"); k.expect("call 0"); k.returns(0) }, []string{end}, []string{"call 1"}},
		{"while a call is in flight", func(k *talk) { k.expect("speak"); k.reply("write"); k.expect("call 0") }, nil, nil},
		{"before an answer of the harness", func(k *talk) { k.expect("speak"); k.reply("board") }, []string{"harness 0", end}, []string{"harness 0", "speak"}},
		{"after the calls", func(k *talk) { k.expect("speak"); k.reply("read"); k.expect("call 0"); k.returns(0) }, []string{end}, []string{"speak"}},
		{"with the result", func(k *talk) { k.expect("speak"); k.reply("submit") },
			[]string{"note 0: Accepted.", "end done"}, []string{"note 0: Accepted.", "end done"}},
		{"after a failure", func(k *talk) { k.expect("speak"); k.fails(&pawl.Failure{Code: "network"}) },
			[]string{end}, []string{"wait 6s: back-off 1 of 1: network"}},
		{"after an effect that took too long", func(k *talk) { k.expect("speak"); k.fails(&pawl.Failure{Code: pawl.FailTimeout}) },
			[]string{end}, []string{"wait 6s: back-off 1 of 1: effect_timeout"}},
		{"after a refusal", func(k *talk) { k.expect("speak"); k.fails(&pawl.Failure{Code: "refused", Message: "no"}) },
			[]string{"end failed: the model refuses to answer (no)"}, []string{"end failed: the model refuses to answer (no)"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := prompted(t, pawl.SessionStarted{Timeout: time.Minute})
			row.then(k)
			late(k, 0)
			k.expect(row.want...)
			k = prompted(t, pawl.SessionStarted{Timeout: time.Minute})
			row.then(k)
			late(k, -1)
			k.expect(row.before...)
		})
	}
	k := prompted(t, pawl.SessionStarted{Timeout: time.Minute})
	late(k, time.Second)
	k.expect("[task/1/code: time 61000000000 of 60000000000] end timeout: timed out after 1m")

	// Time that is not the session's moves its end.
	k = prompted(t, pawl.SessionStarted{Timeout: time.Minute})
	k.x.Extend(time.Second)
	late(k, time.Second-1)
	k.expect("speak")
	k.fails(&pawl.Failure{Code: "network"})
	k.expect("wait 6s: back-off 1 of 1: network")
	k.x.Closed()
	k.x.Rested(6 * time.Second)
	late(k, 7*time.Second)
	k.expect("[task/1/code: time 60000000000 of 60000000000] end timeout: timed out after 1m")

	k = prompted(t, pawl.SessionStarted{}) // which has no end
	k.x.Extend(time.Second)
	late(k, 1000*time.Hour)
	k.expect("speak")
}

// What follows a failure, for a session that the work needs and for one that it can do without.
func TestFailures(t *testing.T) {
	const place = "code in iteration 1: "
	for _, row := range []struct {
		why            pawl.Failure
		want, optional string
	}{
		{pawl.Failure{Code: "network"}, "wait 6s: back-off 1 of 1: network", ""},
		{pawl.Failure{Code: "overloaded"}, "wait 6s: back-off 1 of 1: overloaded", ""},
		{pawl.Failure{Code: "rate_limit", Wait: time.Hour}, "wait 1h0m0s: the provider asked for it: rate_limit", ""},
		{pawl.Failure{Code: "quota", Wait: time.Hour}, "wait 1h0m0s: the provider asked for it: quota", ""},
		{pawl.Failure{Code: pawl.FailMachine}, "wait 6s: back-off 1 of 1: machine", ""},
		{pawl.Failure{Code: pawl.FailTimeout}, "wait 6s: back-off 1 of 1: effect_timeout", ""},
		{pawl.Failure{Code: "refused", Message: "no"}, "end failed: the model refuses to answer (no)", ""},
		{pawl.Failure{Code: "context_too_long", Message: "9 of 8"}, "end failed: the prompt is too long for the model (9 of 8)", ""},
		{pawl.Failure{Code: "quota", Message: "no credit"}, "give up: " + place + "the account's credit or quota is used up (no credit)", "end failed: the account's credit or quota is used up (no credit)"},
		{pawl.Failure{Code: "auth", Message: "no key"}, "give up: " + place + "access is refused (no key)", "end failed: access is refused (no key)"},
		{pawl.Failure{Code: pawl.FailDefect, Message: "a bug"}, "give up: " + place + "pawl has a defect (a bug)", "end failed: pawl has a defect (a bug)"},
		{pawl.Failure{Code: "auth", Message: strings.Repeat("x", 300)}, "give up: " + place + "access is refused (" + strings.Repeat("x", 300) + ")", "end failed: access is refused (" + strings.Repeat("x", 178) + "…"},
	} {
		for _, optional := range []bool{false, true} {
			k := prompted(t, pawl.SessionStarted{})
			k.spec.Optional = optional
			k.expect("speak")
			k.fails(&row.why)
			want := row.want
			if optional && row.optional != "" {
				want = row.optional
			}
			if k.expect(want); k.x.Failed() != nil && *k.x.Failed() != row.why {
				t.Errorf("it failed by %+v", k.x.Failed())
			}
		}
	}
}

// A model call that takes too long goes to the tier's next model instead of a pause, but a prompt that
// cannot be made does not. The next model is told as text what there is besides the prompt.
func TestSwitch(t *testing.T) {
	late := &pawl.Failure{Code: pawl.FailTimeout}
	k := begin(t, pawl.SessionStarted{})
	k.spec.Patience, k.spec.Retry.Tries = time.Hour, 1
	k.expect("assemble")
	k.fails(late)
	if n, text := k.next(); n.Act != GiveUp {
		t.Errorf("without a prompt: %s", text)
	}

	k = prompted(t, pawl.SessionStarted{})
	k.spec.Patience, k.spec.Retry.Tries = time.Hour, 1
	k.expect("speak")
	k.fails(late)
	if n, text := k.next(); n.Act != Switch {
		t.Errorf("after a call that took too long: %s", text)
	}
	k.x.SwitchTo(1)
	if do := k.x.CallModel(1); do.Foreign != 0 || do.Try != 1 {
		t.Errorf("before the first reply the call is %+v", do)
	}
	k.expect("speak")
	k.reply("read")
	k.expect("call 0")
	k.returns(0)
	k.expect("speak")
	k.fails(late)
	k.x.SwitchTo(2)
	if do := k.x.CallModel(2); do.Foreign != 3 || do.Items != 3 {
		t.Errorf("after a reply the call is %+v", do)
	}
}

// Tries and pauses are used up, then the run ends, or only a session that the work can do without.
func TestRetries(t *testing.T) {
	why := &pawl.Failure{Code: "network", Message: "down"}
	for _, optional := range []bool{false, true} {
		k := begin(t, pawl.SessionStarted{})
		k.spec.Optional = optional
		k.spec.Retry.Pauses, k.spec.Retry.Pause = 1, time.Minute
		again := "assemble"
		end := "[task/1/code: retries 4 of 4] give up: no prompt for code in iteration 1 after 4 tries: the connection failed (down)"
		for range 2 { // of the prompt, then of the first reply
			k.expect(again)
			for _, wait := range []string{"wait 6s: back-off 1 of 1: network", "wait 1m0s: pause 1 of 1: network", "wait 6s: back-off 1 of 1: network"} {
				k.fails(why)
				n := k.expect(wait)
				k.x.Closed()
				k.x.Rested(n.For)
				k.expect(again)
			}
			c := *k
			c.x = k.x.Clone()
			c.fails(why)
			if optional {
				end = "end failed: the connection failed (down)"
			}
			c.expect(end)
			if again == "assemble" {
				k.x.Closed()
				k.x.Prompt(&pawl.PromptAssembled{})
			}
			again, end = "speak", "[task/1/code: retries 4 of 4] give up: no model for code in iteration 1 after 4 tries: the connection failed (down)"
		}
		k.reply("board")
		k.expect("harness 0", "speak")
		k.fails(why)
		k.expect("wait 6s: back-off 1 of 1: network") // each reply has all tries
	}
}

// A new dispatch forgets the failure of the last one, and a new failure the last back-off.
func TestDispatch(t *testing.T) {
	why, other := &pawl.Failure{Code: "network"}, &pawl.Failure{Code: "auth"}
	for _, row := range []struct {
		name   string
		then   func(*Session) error
		failed *pawl.Failure
	}{
		{"a prompt", func(x *Session) error { return x.Request(&pawl.Effect{Do: &pawl.AssemblePrompt{}}) }, nil},
		{"a model call", func(x *Session) error { x.prompted = true; return x.Request(&pawl.Effect{Do: &pawl.CallModel{}}) }, nil},
		{"the prompt is there", func(x *Session) error { x.Prompt(&pawl.PromptAssembled{}); return nil }, nil},
		{"a failure", func(x *Session) error { x.Fail(other, pawl.Hash{}); return nil }, other},
	} {
		x := &Session{failed: why, waited: true, dispatches: 1}
		if err := row.then(x); err != nil || x.Failed() != row.failed || x.waited {
			t.Errorf("%s: it failed by %+v, waited is %t (%v)", row.name, x.Failed(), x.waited, err)
		}
	}
}

// Texts of the harness are cut, so that events stay small.
func TestTextsAreShort(t *testing.T) {
	x := &Session{}
	long := strings.Repeat("x", 500)
	for name, row := range map[string]struct {
		text string
		want int
	}{
		"a problem":       {refusal(long).Text, 400},
		"an unknown tool": {func() string { n, _ := x.reply(&call{use: pawl.ToolUse{Tool: long}}); return n.Text }(), len(`there is no tool "" here`) + 60},
		"a goal":          {x.remind(&Spec{Goal: long, Task: &pawl.TaskEntry{}}).Text, len("Reminder: the task is still: .") + 120},
	} {
		if len(row.text) != row.want {
			t.Errorf("%s: %d bytes, want %d", name, len(row.text), row.want)
		}
	}
	got := x.remind(&Spec{Goal: long, Task: &pawl.TaskEntry{ID: "t", Title: long}}).Text
	want := strings.Repeat("x", 57) + "…\n"
	for _, head := range []string{"Goal: ", "Current subtask: t — ", "Continue working on: "} {
		if !strings.Contains(got, head+want) {
			t.Errorf("%s is not followed by 60 bytes: %s", head, got)
		}
	}
}

// A model call numbers its try. One whose end nobody knows does not count.
func TestLost(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	for _, row := range []struct {
		then func()
		want int
	}{
		{func() {}, 1},
		{func() { k.expect("speak"); k.x.Closed(); k.x.Lost() }, 1},
		{func() { k.expect("speak"); k.fails(&pawl.Failure{Code: "network"}) }, 2},
		{func() {
			k.expect("wait 6s: back-off 1 of 1: network")
			k.x.Closed()
			k.x.Rested(1)
			k.expect("speak")
			k.reply("board")
		}, 1},
	} {
		if row.then(); k.x.CallModel(0).Try != row.want {
			t.Errorf("the try is %d, want %d", k.x.CallModel(0).Try, row.want)
		}
	}
}

// The transcript has the prompt, the replies with their results in the order of the calls, and
// the notes. Its size grows with each.
func TestTranscript(t *testing.T) {
	k := begin(t, pawl.SessionStarted{})
	k.expect("assemble")
	k.x.Closed()
	k.x.Prompt(&pawl.PromptAssembled{System: pawl.Hash{7}, Tools: pawl.Hash{8}, Prompt: pawl.Hash{9}, Bytes: 100})
	k.spec.NoReminder = false
	k.expect("speak")
	k.reply("read bad read")
	k.expect("call 0", "error 1: path is missing", "call 2")
	k.returns(2, 0)
	k.expect("note: Reminder: the task is still: tidy.", "speak")
	reminder, problem := "Reminder: the task is still: tidy.", "path is missing"
	want := []pawl.Item{
		{Kind: pawl.ItemUser, Blob: pawl.Hash{9}},
		{Kind: pawl.ItemAssistant},
		{Kind: pawl.ItemResult, Call: 0, Blob: pawl.Hash{1}},
		{Kind: pawl.ItemResult, Call: 1, Text: problem, IsError: true},
		{Kind: pawl.ItemResult, Call: 2, Blob: pawl.Hash{3}},
		{Kind: pawl.ItemNote, Text: reminder},
	}
	if diff := cmp.Diff(want, k.x.items); diff != "" {
		t.Errorf("the transcript differs:\n%s", diff)
	}
	if size := int64(100 + 10 + 2*(5+40) + len(problem) + 40 + len(reminder)); k.x.Bytes() != size || k.x.Turn() != 1 {
		t.Errorf("%d bytes after %d turns, want %d", k.x.Bytes(), k.x.Turn(), size)
	}
	k.x.Closed()
	f := &pawl.Effect{Do: k.x.CallModel(0)}
	if err := k.x.Request(f); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, f.Transcript); diff != "" {
		t.Errorf("what the call sends differs:\n%s", diff)
	}
	if want := (&pawl.CallModel{System: pawl.Hash{7}, Tools: pawl.Hash{8}, Items: 6, Try: 2}); !cmp.Equal(f.Do, pawl.Do(want), cmp.AllowUnexported(pawl.CallModel{})) {
		t.Errorf("the request is %+v, want %+v", f.Do, want)
	}
	k.replied(pawl.StopEnd, "")
	if f.Transcript = append(f.Transcript, pawl.Item{}); k.x.items[6].Kind != pawl.ItemAssistant {
		t.Error("a request shares the end of the transcript")
	}
	if got := Interrupted(pawl.Item{Blob: pawl.Hash{1}, IsError: true}); got != (pawl.Item{Blob: pawl.Hash{1}, IsError: true, Text: textInterrupted}) {
		t.Errorf("an interrupted call has the result %+v", got)
	}
}

// A reminder that came with the prompt repeats the task instead of a few words, and counts with its
// whole size. L-54 F-39
func TestWholeReminder(t *testing.T) {
	k := begin(t, pawl.SessionStarted{Turns: 5})
	k.spec.Task = &pawl.TaskEntry{ID: "a", Title: "only the beginning of"}
	k.spec.Output, k.spec.NoReminder = "result", false
	k.expect("assemble")
	k.x.Closed()
	k.x.Prompt(&pawl.PromptAssembled{Prompt: pawl.Hash{9}, Bytes: 100, Reminder: pawl.Hash{4}, ReminderBytes: 7000})
	k.expect("speak")
	k.reply("read")
	k.expect("call 0")
	k.returns(0)
	before := k.x.Bytes()
	n := k.x.Next(&k.spec, k.alive)
	if want := (Next{Act: Note, Blob: pawl.Hash{4}, Text: " When it is done, call submit_result."}); !cmp.Equal(n, want) {
		t.Fatalf("got %+v, want %+v", n, want)
	}
	for _, blob := range []pawl.Hash{{5}, {9}} {
		if err := k.x.Note(&pawl.NoteAdded{Blob: blob}, k.alive); err == nil {
			t.Errorf("a note has the text %s, which is not the reminder", blob.Short())
		}
	}
	if err := k.x.Note(&pawl.NoteAdded{Blob: n.Blob, Text: n.Text}, k.alive); err != nil {
		t.Fatal(err)
	}
	if got, want := k.x.Bytes()-before, int64(7000+len(n.Text)); got != want {
		t.Errorf("the transcript has grown by %d bytes, want %d", got, want)
	}
	if got, want := k.x.items[len(k.x.items)-1], (pawl.Item{Kind: pawl.ItemNote, Blob: pawl.Hash{4}, Text: n.Text}); got != want {
		t.Errorf("the transcript ends with %+v, want %+v", got, want)
	}
	k.expect("speak")
}

// What does not follow is refused.
func TestRefuses(t *testing.T) {
	request := func(do pawl.Do) func(*talk) error {
		return func(k *talk) error { return k.x.Request(&pawl.Effect{ID: 9, Do: do}) }
	}
	note := func(call int) func(*talk) error {
		return func(k *talk) error { return k.x.Note(&pawl.NoteAdded{Call: call, Text: "x"}, k.alive) }
	}
	begun := func(*talk) {}
	ready := func(k *talk) { k.x.Prompt(&pawl.PromptAssembled{}) }
	asked := func(k *talk) { ready(k); k.expect("speak") }
	called := func(k *talk) { asked(k); k.reply("read read write") }
	calling := func(k *talk) { called(k); k.expect("call 0", "call 1") }
	returned := func(k *talk) { calling(k); k.returns(0) }
	for _, row := range []struct {
		name   string
		before func(*talk)
		then   func(*talk) error
		want   string // "" = it is taken
	}{
		{"a prompt", begun, request(&pawl.AssemblePrompt{}), ""},
		{"a prompt beside one", func(k *talk) { k.expect("assemble") }, request(&pawl.AssemblePrompt{}), "session 1 has its prompt"},
		{"a second prompt", ready, request(&pawl.AssemblePrompt{}), "session 1 has its prompt"},
		{"a model call without a prompt", begun, request(&pawl.CallModel{}), "a call of tier 0 with 0 of 0 items"},
		{"a model call", ready, request(&pawl.CallModel{Items: 1}), ""},
		{"a model call with fewer items", ready, request(&pawl.CallModel{Items: 0}), ""},
		{"a model call with too many items", ready, request(&pawl.CallModel{Items: 2}), "a call of tier 0 with 2 of 1 items"},
		{"a model call with too few items", ready, request(&pawl.CallModel{Items: -1, Tier: 2}), "a call of tier 2 with -1 of 1 items"},
		{"a model call beside one", asked, request(&pawl.CallModel{}), "a call of tier 0 with 0 of 1 items"},
		{"a model call before the calls", called, request(&pawl.CallModel{}), "a call of tier 0 with 0 of 5 items"},
		{"a call", called, request(&pawl.CallTool{Call: 2}), ""},
		{"a call before the first", called, request(&pawl.CallTool{Call: -1}), "call -1 of 3"},
		{"a call behind the last", called, request(&pawl.CallTool{Call: 3}), "call 3 of 3"},
		{"a call in flight", calling, request(&pawl.CallTool{Call: 1}), "call 1 of 3"},
		{"a call that has returned", returned, request(&pawl.CallTool{Call: 0}), "call 0 of 3"},
		{"a call that the harness has answered", func(k *talk) { called(k); _ = note(3)(k) }, request(&pawl.CallTool{Call: 2}), "call 2 of 3"},
		{"a sentence", ready, note(0), ""},
		{"an answer", called, note(3), ""},
		{"an answer before the first call", called, note(-1), "session 1 has no call -1"},
		{"an answer behind the last call", called, note(4), "session 1 has no call 4"},
		{"a second answer", returned, note(1), "call 1 is answered"},
		{"an answer without calls", ready, note(1), "session 1 has no call 1"},
	} {
		k := begin(t, pawl.SessionStarted{})
		row.before(k)
		before := k.x.Clone()
		err := row.then(k)
		if got := fmt.Sprint(err); err == nil && row.want != "" || err != nil && got != row.want {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
		same := cmp.Equal(before, k.x, cmp.AllowUnexported(Session{}, call{}, toolCount{}, agent{}, progress{}))
		if same != (row.want != "") {
			t.Errorf("%s: the session is as before: %t", row.name, same)
		}
	}
}

// Arguments of a call are kept by its effect, and no more by the session.
func TestRequestedCall(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	k.x.Closed()
	k.x.Reply(&pawl.ModelReplied{Calls: []pawl.ToolUse{{Tool: "read", Class: pawl.CrashRepeat, Args: pawl.Hash{1}}}})
	if k.x.Use(0).Args != (pawl.Hash{1}) {
		t.Error("a call has no arguments")
	}
	k.expect("call 0")
	if !k.x.Use(0).Args.IsZero() || k.x.Use(0).Tool != "read" {
		t.Errorf("the session keeps %+v", k.x.Use(0))
	}
	if k.x.Result() != nil {
		t.Error("it has a result")
	}
}

func TestClone(t *testing.T) {
	k := prompted(t, pawl.SessionStarted{})
	k.expect("speak")
	k.reply("read")
	k.expect("call 0")
	c := k.x.Clone()
	k.returns(0)
	k.x.used[0].n = 9
	if c.calls[0].answered || c.items[2].Blob != (pawl.Hash{}) || c.used[0].n != 1 || c.open != 1 {
		t.Errorf("the clone has changed: %+v", c)
	}
	if slices.ContainsFunc(c.calls, func(c call) bool { return c.answered }) {
		t.Error("the clone's call is answered")
	}
}
