package kernel

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// The requirements of the Task Loop as far as the kernel decides them. Those on
// the ladder, stuck detection and complexity are the tables beside these tests;
// most others are also told by a story in testdata.

// play drives a run to its end in a world of which the lines speak.
func play(t *testing.T, change func(*pawl.Recipe, *pawl.Settings), lines ...string) *world {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	for _, line := range lines {
		s.rules = append(s.rules, parseRule(t, line))
	}
	r, set := taskLoop(), settings()
	set.Gates = []pawl.GateSpec{gate("tests"), gate("lint"), gate("types"), gate("security")}
	if change != nil {
		change(r, set)
	}
	w.start(r, set)
	for w.land() {
		continue
	}
	if w.state.Status != pawl.StatusEnded {
		t.Fatalf("the run is %s", w.state.Status)
	}
	return w
}

// all are the bodies of one type, in order.
func all[B pawl.Body](w *world) (out []B) {
	for _, e := range w.log {
		if b, ok := e.Body.(B); ok {
			out = append(out, b)
		}
	}
	return out
}

// requests are the requests of one kind of effect.
func requests[D pawl.Do](w *world) (out []*pawl.Effect) {
	for _, r := range all[*pawl.EffectRequested](w) {
		if _, ok := r.Effect.Do.(D); ok {
			out = append(out, &r.Effect)
		}
	}
	return out
}

// prompts are the prompts of a step or gate.
func prompts(w *world, step string) (out []*pawl.AssemblePrompt) {
	for _, f := range requests[*pawl.AssemblePrompt](w) {
		if f.Place.Step == step {
			out = append(out, f.Do.(*pawl.AssemblePrompt))
		}
	}
	return out
}

func easy(_ *pawl.Recipe, set *pawl.Settings) {
	n := 2
	set.Complexity = &n
}

// D-04: the loop calls the implementer, the gates and the validator, and decides.
func TestOrderOfAnIteration(t *testing.T) {
	w := play(t, easy)
	var order []string
	for _, r := range all[*pawl.EffectRequested](w) {
		if r.Effect.Place.Iteration == 1 {
			order = append(order, r.Effect.Do.Verb().String()+" "+r.Effect.Place.Step)
		}
	}
	want := []string{
		"assemble_prompt implement", "call_model implement", "commit commit", // D-06
		"run_gate tests", "run_gate lint", "run_gate types", "run_gate security", // D-07
		"assemble_prompt requirements", "call_model requirements", // D-08
		"close_workspace close",
	}
	if !slices.Equal(order, want) {
		t.Errorf("got %q", order)
	}
	if w.state.Outcome != pawl.OutcomeComplete { // D-09 D-10
		t.Errorf("the run ended %s", w.state.Outcome)
	}
}

// D-11 D-32: each failure leads back to the first step, on the tier that complexity
// and failures select.
func TestTiersOfIterations(t *testing.T) {
	for _, row := range []struct {
		complexity int
		tiers      []int // of the implementation's calls
	}{
		{2, []int{1, 1, 2, 2, 3, 3, 3, 3}}, // D-16 D-17
		{6, []int{2, 2, 3, 3, 3, 3}},
		{12, []int{3, 3, 3, 3}},
	} {
		lines := []string{}
		for i := range 10 {
			lines = append(lines, fmt.Sprintf("iteration %d tests: fail Test%d", i+1, i))
		}
		w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) { set.Complexity = &row.complexity }, lines...)
		var tiers []int
		for _, f := range requests[*pawl.CallModel](w) {
			if f.Place.Step == "implement" {
				tiers = append(tiers, f.Do.(*pawl.CallModel).Tier)
			}
		}
		if !slices.Equal(tiers, row.tiers) {
			t.Errorf("complexity %d: got %v, want %v", row.complexity, tiers, row.tiers)
		}
		for i, b := range all[*pawl.IterationStarted](w) {
			if b.N != i+1 || b.Max != 10 || b.Tier != row.tiers[i] { // D-29 D-30
				t.Errorf("iteration %d/%d starts on tier %d as number %d", b.N, b.Max, b.Tier, i+1)
			}
		}
		if n := len(all[*pawl.CouncilCalled](w)); n != 1 || w.state.Outcome != pawl.OutcomeBlocked { // D-18 D-B13
			t.Errorf("complexity %d: %d councils, and the run ended %s", row.complexity, n, w.state.Outcome)
		}
	}
}

// D-12 D-B14: a score of 0, and one that is out of range, are scores.
func TestComplexityGivenByTheUser(t *testing.T) {
	for given, want := range map[int]pawl.ComplexityScored{
		0: {Score: 0, Tier: 1}, 8: {Score: 8, Tier: 2}, 14: {Score: 14, Tier: 3}, 99: {Score: 14, Tier: 3}, -1: {Score: 0, Tier: 1},
	} {
		w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) { set.Complexity = &given })
		if got := all[*pawl.ComplexityScored](w)[0]; got.Score != want.Score || got.Tier != want.Tier {
			t.Errorf("%d: scored %d for tier %d", given, got.Score, got.Tier)
		}
	}
}

// D-12: without an assessment the recipe says what to take.
func TestComplexityUnknown(t *testing.T) {
	w := play(t, nil, "assess: says")
	if got := all[*pawl.ComplexityScored](w)[0]; got.Score != 5 || got.Tier != 2 {
		t.Errorf("scored %d for tier %d", got.Score, got.Tier)
	}
}

// D-28: files, status, failing tests and error of an iteration are in its result.
func TestIterationResult(t *testing.T) {
	w := play(t, easy, "iteration 1 tests: fail TestLogin error=boom", "iteration 1 commit: files login.go")
	ended := all[*pawl.IterationEnded](w)
	if b := ended[0]; b.Files == 0 || b.Tests == 0 || b.Error == 0 || b.Quality != pawl.VerdictFail || b.Decision != pawl.DecideIterate ||
		len(b.Errors) != 1 || !strings.Contains(b.Errors[0], "TestLogin") {
		t.Errorf("a failed iteration: %+v", b)
	}
	if b := ended[1]; b.Tests != 0 || b.Error != 0 || b.Quality != pawl.VerdictPass || b.Requirements != pawl.VerdictPass || len(b.Errors) != 0 {
		t.Errorf("a good one: %+v", b)
	}
}

// D-31: no iteration begins when a halt condition holds.
func TestNoIterationAfterALimit(t *testing.T) {
	w := play(t, func(r *pawl.Recipe, set *pawl.Settings) {
		easy(r, set)
		set.Limits.Time = time.Second
	})
	if n := len(all[*pawl.IterationStarted](w)); n != 0 || w.state.Outcome != pawl.OutcomeHalted {
		t.Errorf("%d iterations, and the run ended %s", n, w.state.Outcome)
	}
}

// D-33 D-34 D-39 D-B08: the implementer is told task, criteria and every
// objection to the last attempt, that of the requirements too.
func TestWhatTheImplementerIsTold(t *testing.T) {
	w := play(t, nil, "iteration 1 tests: fail TestLogin", "iteration 1 requirements: submits decision=fail unmet=AC-1 met=1 total=2",
		"iteration 2 lint: fail")
	p := prompts(w, "implement")
	if len(p) != 3 || len(p[0].Feedback) != 0 {
		t.Fatalf("%d prompts, the first with %d objections", len(p), len(p[0].Feedback))
	}
	var from []string
	for _, f := range p[1].Feedback {
		from = append(from, f.From)
		if f.Evidence.IsZero() {
			t.Errorf("the objection of %s has no evidence", f.From)
		}
	}
	if !slices.Equal(from, []string{"tests", "requirements"}) || len(p[2].Feedback) != 1 || p[2].Feedback[0].From != "lint" {
		t.Errorf("the second is told of %v, the third of %v", from, p[2].Feedback)
	}
	if p[1].Goal.IsZero() || p[1].Criteria.IsZero() || p[1].Output != "result" || len(p[1].Tools) == 0 || p[1].Template != "implement.md" {
		t.Errorf("the prompt lacks something: %+v", p[1])
	}
	if p[1].Inputs[0].Name != "assessment" || len(p[2].History) != 2 {
		t.Errorf("inputs %v, history %v", p[1].Inputs, p[2].History)
	}
}

// D-35: gates judge the candidate's commit and receive its base. They are commands and call no
// model.
func TestWhatTheGatesAreTold(t *testing.T) {
	w := play(t, easy)
	candidate := all[*pawl.Committed](w)[0].Commit
	judged := 0
	for _, f := range requests[*pawl.RunGate](w) {
		do := f.Do.(*pawl.RunGate)
		switch {
		case do.OnBase && (do.Commit != "c0" || f.Place.Iteration != 0):
			t.Errorf("on the base: %+v", do)
		case !do.OnBase && (do.Commit != candidate || do.Start != "c0" || do.Base.IsZero() || f.Timeout != 2*time.Minute):
			t.Errorf("on the candidate: %+v within %s", do, f.Timeout)
		}
		judged++
	}
	if judged != 8 {
		t.Errorf("%d gates ran, want 4 on the base and 4 on the candidate", judged)
	}
	for _, f := range requests[*pawl.CallModel](w) {
		if slices.Contains([]string{"tests", "lint", "types", "security"}, f.Place.Step) {
			t.Errorf("a model is called for the verdict of %s", f.Place.Step)
		}
	}
}

// D-36: the requirements are validated on the medium tier, with the criteria and
// what the implementer says.
func TestWhatTheValidatorIsTold(t *testing.T) {
	w := play(t, easy)
	p := prompts(w, "requirements")[0]
	var names []string
	for _, in := range p.Inputs {
		names = append(names, in.Name)
	}
	if p.Criteria.IsZero() || p.Output != "verdict" || !slices.Equal(names, []string{"result", "changed"}) || len(p.Feedback) != 0 {
		t.Errorf("%+v", p)
	}
	for _, f := range requests[*pawl.CallModel](w) {
		if f.Place.Step == "requirements" && (f.Do.(*pawl.CallModel).Tier != 2 || f.Place.Role != "validator") {
			t.Errorf("%+v", f.Place)
		}
	}
}

// F-09: what a verdict lacks that passes is said in one note, once, and fits into it.
func TestWhatThePassLacks(t *testing.T) {
	ids := func(name string, n int) string {
		var facts []string
		for i := range n {
			facts = append(facts, fmt.Sprintf("%s=X-%02d", name, i+1))
		}
		return strings.Join(facts, " ")
	}
	refused := func(lines ...string) (texts []string) {
		for _, n := range all[*pawl.NoteAdded](play(t, easy, append(lines, "iteration 1 commit: tree T1", "iteration 2 commit: tree T1")...)) {
			if n.IsError {
				texts = append(texts, n.Text)
			}
		}
		return texts
	}
	const one = "Findings that you do not answer are not accepted: X-01. Answer each in findings, with a quote of the words that ask for it, or with how to undo it. Then hand in your result once more."
	if got := refused("requirements: submits decision=pass met=2 total=2 " + ids("unanswered", 1)); !slices.Equal(got, []string{one}) {
		t.Errorf("it says %q", got)
	}
	got := refused("iteration 1 requirements: submits decision=fail unmet=AC-001 met=1 total=2 reason=half", "requirements: submits decision=pass met=2 total=2 "+ids("loose", 20)+" "+ids("unanswered", 20))
	if len(got) == 0 || !strings.HasPrefix(got[0], "This tree did not pass before. ") || strings.Count(got[0], ": X-01, X-02, X-03, X-04, X-05, X-0…. ") != 2 ||
		!strings.HasSuffix(got[0], "how to undo it. Then hand in your result once more.") {
		t.Errorf("at the second look it says %q", got)
	}
}

// D-40 D-41 D-42: every member is told what failed and what changed, and the
// winner's proposal reaches the next attempt.
func TestCouncil(t *testing.T) {
	w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) { set.Council = true }, "iteration 1 tests: fail TestLogin",
		"ballot: submits rank=C rank=A rank=B", "proposal matcher: submits confidence=90")
	members, voters := 0, 0
	for _, p := range prompts(w, "council") {
		if len(p.Feedback) != 1 || len(p.History) != 1 || p.Commit == p.Base {
			t.Errorf("%s: feedback %v, history %v, changes from %s to %s", p.Template, p.Feedback, p.History, p.Base, p.Commit)
		}
		changed := slices.ContainsFunc(p.Inputs, func(in pawl.Input) bool { return in.Name == "changed" })
		switch p.Output {
		case "proposal":
			members++
			if p.Focus == "" || !changed {
				t.Errorf("a proposal without focus or changes: %+v", p)
			}
		case "ballot":
			if voters++; len(p.Inputs) != 5 || len(p.Tools) != 0 {
				t.Errorf("a ballot on %d proposals", len(p.Inputs))
			}
		}
	}
	decided := all[*pawl.CouncilDecided](w)[0]
	if members != 5 || voters != 5 || decided.Lens != "matcher" || decided.Winner != "C" || decided.Confidence != 90 {
		t.Errorf("%d proposals, %d ballots, decided %+v", members, voters, decided)
	}
	advised := prompts(w, "implement")[1]
	if in := advised.Inputs[len(advised.Inputs)-1]; in.Name != "council" || in.Blob != decided.Proposal {
		t.Errorf("the next attempt is told %v", advised.Inputs)
	}
}

// A reviewer's objections are told apart by their words and not only by the criteria that are unmet: a run
// without criteria has one. F-91
func TestObjectionsDifferByTheirWords(t *testing.T) {
	const fails = " requirements: submits decision=fail unmet=GOAL met=0 total=1 reason="
	w := play(t, nil, "iteration 1"+fails+"no_test_at_line_12", "iteration 2"+fails+"no_test_at_line_40", "iteration 3"+fails+"wrong_name", "iteration 4"+fails+"wrong_name")
	var errors []uint64
	for _, b := range all[*pawl.IterationEnded](w) {
		errors = append(errors, b.Error)
	}
	if len(errors) != 5 || errors[0] == 0 || errors[0] != errors[1] || errors[1] == errors[2] || errors[2] != errors[3] || errors[4] != 0 {
		t.Errorf("the errors are %x", errors)
	}
}

// A council that the user asks for comes early, once, and costs the ladder nothing: if the attempt after it
// fails too, the ladder goes on where it was, with a council at its end. The tier never falls. F-94 C8
func TestCouncilOnDemand(t *testing.T) {
	for _, row := range []struct {
		why, tiers string
		script     []string
		councils   []int // where the ladder goes on after each
	}{
		{"it advises", "1 1 1 2 2 3 3 3 3", nil, []int{1, 0}},
		{"it has no proposal", "1 1 2 2 3 3 3 3", []string{"iteration 1 proposal: error refused"}, []int{1, 0}},
	} {
		t.Run(row.why, func(t *testing.T) {
			var script []string
			for i := range 10 {
				script = append(script, fmt.Sprintf("iteration %d tests: fail Test%c", i+1, 'A'+i))
			}
			w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) { set.Council = true }, append(script, row.script...)...)
			var tiers []string
			for _, b := range all[*pawl.IterationStarted](w) {
				tiers = append(tiers, fmt.Sprint(b.Tier))
			}
			var councils []int
			for _, b := range all[*pawl.CouncilCalled](w) {
				councils = append(councils, b.Resume)
			}
			if got := strings.Join(tiers, " "); got != row.tiers || !slices.Equal(councils, row.councils) || w.state.Outcome != pawl.OutcomeBlocked {
				t.Errorf("attempts on %s, want %s; councils resume at %v, want %v; it ended %s", got, row.tiers, councils, row.councils, w.state.Outcome)
			}
		})
	}
}

// D-29 D-30 D-51: a limit on iterations that the user set holds though reaching the recipe's is no halt condition.
func TestIterationsThatTheUserLimits(t *testing.T) {
	for _, row := range []struct{ set, max, attempts int }{{3, 3, 3}, {0, -1, 8}} {
		w := play(t, func(_ *pawl.Recipe, set *pawl.Settings) {
			set.Limits.Iterations, set.HaltOn = row.set, []pawl.HaltCondition{pawl.HaltSecurity}
		}, "tests: fail TestA")
		began := all[*pawl.IterationStarted](w)
		if len(began) != row.attempts || pawl.SayMax(began[0].Max) != row.max {
			t.Errorf("limit %d: %d attempts were made of %d", row.set, len(began), began[0].Max)
		}
	}
}

// D-37 D-62 D-B02: a critical finding halts, and the requirements are not looked at.
func TestSecurityHalts(t *testing.T) {
	w := play(t, easy, "security: finds critical G101")
	if w.state.Outcome != pawl.OutcomeHalted || len(prompts(w, "requirements")) != 0 || len(all[*pawl.GateJudged](w)) != 8 {
		t.Errorf("the run ended %s after %d verdicts", w.state.Outcome, len(all[*pawl.GateJudged](w)))
	}
}

// D-59 D-B11: once again, with twice the time.
func TestImplementationTimeout(t *testing.T) {
	w := play(t, easy, "iteration 1 implement: hangs")
	var times []time.Duration
	for _, b := range all[*pawl.SessionStarted](w) {
		if b.Place.Step == "implement" && b.Place.Iteration == 1 {
			times = append(times, b.Timeout)
		}
	}
	if !slices.Equal(times, []time.Duration{5 * time.Minute, 10 * time.Minute}) {
		t.Errorf("sessions of %v", times)
	}
	if b := all[*pawl.IterationEnded](w)[0]; b.Decision != pawl.DecideIterate || b.Requirements != "" || !strings.Contains(b.Errors[0], "timed out") {
		t.Errorf("%+v", b)
	}
}

// D-60 D-B12: a gate that is cut short fails, and says that there is more.
func TestGateTimeout(t *testing.T) {
	for _, how := range []string{"hangs", "fail partial"} {
		w := play(t, easy, "iteration 1 tests: "+how)
		i := slices.IndexFunc(all[*pawl.GateJudged](w), func(b *pawl.GateJudged) bool { return b.Partial })
		if i < 0 || all[*pawl.GateJudged](w)[i].Verdict != pawl.VerdictFail || all[*pawl.IterationEnded](w)[0].Quality != pawl.VerdictFail {
			t.Errorf("%s: %s", how, mustJSON(t, all[*pawl.GateJudged](w)))
		}
	}
}

// D-63 D-B06: exactly so many iterations run.
func TestMaxIterations(t *testing.T) {
	lines := []string{"commit: files"}
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("iteration %d tests: fail Test%d", i+1, i))
	}
	w := play(t, func(r *pawl.Recipe, set *pawl.Settings) {
		easy(r, set)
		r.Kinds[0].Ladder.Rungs[0].Failures = 100
	}, lines...)
	reached := all[*pawl.LimitReached](w)
	if n := len(all[*pawl.IterationStarted](w)); n != 10 || w.state.Outcome != pawl.OutcomeIncomplete || len(reached) != 1 ||
		*reached[0] != (pawl.LimitReached{Scope: "task", Limit: pawl.LimitIterations, Max: 10, Value: 10}) {
		t.Errorf("%d iterations, %s, %+v", n, w.state.Outcome, reached)
	}
}

// D-B05: a success between failures resets nothing, as it ends the loop; another
// tier and a council do.
func TestFailuresAreCountedPerTier(t *testing.T) {
	w := play(t, easy, "iteration 1 tests: fail TestA", "iteration 2 tests: fail TestB", "iteration 3 tests: fail TestC")
	var decisions []pawl.Decision
	for _, b := range all[*pawl.IterationEnded](w) {
		decisions = append(decisions, b.Decision)
	}
	if want := []pawl.Decision{pawl.DecideIterate, pawl.DecideEscalate, pawl.DecideIterate, pawl.DecideComplete}; !reflect.DeepEqual(decisions, want) {
		t.Errorf("got %v, want %v", decisions, want)
	}
}

// D-45: an escalation names the first iteration that runs on the new tier.
func TestEscalationRecord(t *testing.T) {
	w := play(t, easy, "iteration 1 tests: fail TestA", "iteration 2 tests: fail TestB")
	if got := *all[*pawl.Escalated](w)[0]; got != (pawl.Escalated{From: 1, To: 2, Reason: "2 consecutive failures", Iteration: 3}) {
		t.Errorf("%+v", got)
	}
}

// D-B10: the budget warns at four fifths, once, and halts before it is passed.
func TestBudget(t *testing.T) {
	w := play(t, func(r *pawl.Recipe, set *pawl.Settings) {
		easy(r, set)
		set.Limits.Money = 60_000
	}, "implement: calls read")
	warned := all[*pawl.BudgetWarned](w)
	if len(warned) != 1 || warned[0].Value*5 < warned[0].Max*4 || w.state.Outcome != pawl.OutcomeHalted || w.state.Spent.Money > 60_000 {
		t.Errorf("warned %+v, ended %s, spent %s", warned, w.state.Outcome, w.state.Spent.Money)
	}
}

// D-58: a condition that is not configured does not halt, and the recipe's limit on iterations is none.
func TestHaltConditionsAreConfigured(t *testing.T) {
	w := play(t, func(r *pawl.Recipe, set *pawl.Settings) {
		easy(r, set)
		r.Kinds[0].Iterations = 1
		set.HaltOn, set.Limits = nil, pawl.Limits{Money: 1, Tokens: 1, Time: 1}
	}, "iteration 1 security: finds critical G101")
	if n := len(all[*pawl.IterationStarted](w)); n != 2 || w.state.Outcome != pawl.OutcomeComplete {
		t.Errorf("%d iterations, and the run ended %s", n, w.state.Outcome)
	}
}
