package view

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pawl"
)

// story builds the events of a run by hand, in the order in which a kernel
// decides them.
type story struct {
	tb     testing.TB
	events []pawl.Event
	blobs  map[pawl.Hash][]byte
	now    time.Time
	*thread
	threads map[pawl.LoopRef]*thread
}

// thread is where one loop of a story is.
type thread struct {
	ref        pawl.LoopRef
	kind, task string
	n          int // the present iteration
	tier       int
	session    int
	head       pawl.CommitHash
	cost       pawl.Micros // of the present iteration
	tokens     int64
}

// in goes on with the story of another loop.
func (s *story) in(ref pawl.LoopRef) { s.thread = s.threads[ref] }

func (s *story) read(h pawl.Hash) ([]byte, error) {
	if b, ok := s.blobs[h]; ok {
		return b, nil
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "no blob %s", h.Short())
}

func (s *story) blob(content string) pawl.Hash {
	h := pawl.HashOf([]byte(content))
	s.blobs[h] = []byte(content)
	return h
}

func (s *story) json(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		s.tb.Fatal(err)
	}
	return string(b)
}

// wait lets time pass before the next event.
func (s *story) wait(d time.Duration) { s.now = s.now.Add(d) }

func (s *story) add(loop pawl.LoopRef, body pawl.Body) pawl.Seq {
	seq := pawl.Seq(len(s.events) + 1)
	if b, ok := body.(*pawl.EffectRequested); ok {
		b.Effect.ID, b.Effect.Loop = seq, loop
	}
	s.events = append(s.events, pawl.Event{Run: "001-add-login", Seq: seq, Loop: loop, Time: s.now, Body: body})
	return seq
}

func (s *story) ask(session int, place pawl.Place, do pawl.Do) pawl.Seq {
	return s.add(s.ref, &pawl.EffectRequested{Effect: pawl.Effect{Session: session, Class: pawl.CrashRepeat, Place: place, Do: do}})
}

var taskloop = pawl.Recipe{
	Name: "taskloop", Agent: "orchestration:task-loop", Tiers: []string{"haiku", "sonnet", "opus"}, Start: "task",
	Kinds: []pawl.LoopKind{{
		Name: "task",
		Complexity: &pawl.Bands{From: "assess", Unknown: 4, Tiers: []pawl.Band{
			{Max: 4, Tier: 1, Name: "simple"}, {Max: 8, Tier: 2, Name: "moderate"}, {Max: 14, Tier: 3, Name: "complex"}}},
		Steps: []pawl.Step{{Name: "assess", Role: "assessor", First: true}, {Name: "implement", Role: "developer"}},
		Gates: []pawl.Stage{{Name: "quality", Commands: []string{"*"}}, {Name: "requirements", Review: &pawl.Review{Role: "validator", Tier: 2, Output: "verdict"}}},
		Ladder: pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 2}, {Tier: 2, Failures: 2}, {Tier: 3, Failures: 3}}, Stuck: 3,
			Council: &pawl.Council{Tier: 3, Attempts: 1, Lenses: []pawl.Lens{{Name: "root-cause"}, {Name: "skeptic"}}}},
		Iterations: 10,
	}},
}

func settings() pawl.Settings {
	return pawl.Settings{
		Limits: pawl.DefaultLimits,
		Models: [3]pawl.ModelChoice{{Provider: "anthropic", Name: "claude-haiku-4-5"}, {Provider: "anthropic", Name: "claude-sonnet-4-5"}, {Provider: "anthropic", Name: "claude-opus-4-5"}},
		Gates: []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}, {Name: "types", Kind: pawl.GateTypes},
			{Name: "lint", Kind: pawl.GateLint}, {Name: "security", Kind: pawl.GateSecurity}},
		Retry:  pawl.DefaultRetry,
		HaltOn: []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget},
	}
}

// begin starts the run: worktree, gates on the base, complexity.
func begin(tb testing.TB, score, tier int, change func(*pawl.Settings, *pawl.RunStarted)) *story {
	root := &thread{ref: 1, kind: "task", head: "base5e1fbeefcafe"}
	s := &story{tb: tb, blobs: map[pawl.Hash][]byte{}, now: time.Date(2025, 1, 30, 10, 0, 0, 0, time.UTC), thread: root, threads: map[pawl.LoopRef]*thread{1: root}}
	set := settings()
	started := &pawl.RunStarted{Task: 1, Title: "Add login", Goal: s.blob("Add login\n\nWith a password."), Base: s.head, Branch: "pawl/001-add-login",
		Criteria: s.blob(`[{"id":"AC-001","text":"A user can log in"},{"id":"AC-002","text":"A wrong password is refused"}]`), Count: 5,
		Sandbox: "bubblewrap, no network", Confined: true, Version: "1.0.0"}
	if change != nil {
		change(&set, started)
	}
	started.Recipe, started.Settings = pawl.JSON(s.json(taskloop)), pawl.JSON(s.json(set))
	s.add(0, started)
	s.add(s.ref, &pawl.LoopStarted{ID: "20250130-100000-1a2b", Kind: "task"})
	open := s.ask(0, pawl.Place{Loop: "task", Step: "open"}, &pawl.OpenWorkspace{Name: "001-add-login", Branch: started.Branch, Base: s.head})
	s.add(s.ref, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree0"})
	s.base("lint", pawl.VerdictFail, "3 findings")
	x := s.start(pawl.ForStep, pawl.Place{Loop: "task", Step: "assess", Role: "assessor", Tier: 1}, 0, 1)
	s.turn(x, "It touches three files.", 800, 1_200)
	s.done(x, pawl.SessionDone, "")
	s.add(s.ref, &pawl.ComplexityScored{Score: score, Tier: tier, Why: "files 3 → 1"})
	s.tier = tier
	return s
}

func (s *story) base(gate string, v pawl.Verdict, reason string) {
	id := s.ask(0, pawl.Place{Loop: "task", Step: gate}, &pawl.RunGate{Gate: gate, Commit: "base", OnBase: true})
	s.add(s.ref, &pawl.GateJudged{Effect: id, Gate: gate, Kind: pawl.GateKind(gate), Verdict: v, Reason: reason, OnBase: true, Medium: 3})
}

// start begins a session and assembles its prompt.
func (s *story) start(purpose pawl.SessionPurpose, place pawl.Place, index, try int) *pawl.SessionStarted {
	s.session++
	b := &pawl.SessionStarted{Session: s.session, Purpose: purpose, Place: place, Index: index, Turns: 20, Try: try}
	s.add(s.ref, b)
	id := s.ask(s.session, place, &pawl.AssemblePrompt{Template: place.Step + ".md"})
	s.add(s.ref, &pawl.PromptAssembled{Effect: id, System: s.blob("You are careful."), Prompt: s.blob("Do " + place.String()), Bytes: 4_096})
	return b
}

func at(b *pawl.SessionStarted, turn int) pawl.Place {
	p := b.Place
	p.Turn = turn
	return p
}

// turn is one model call with its reply and its tool calls.
func (s *story) turn(x *pawl.SessionStarted, text string, cost pawl.Micros, tokens int64, calls ...string) {
	s.wait(10 * time.Second)
	place := at(x, 1)
	id := s.ask(x.Session, place, &pawl.CallModel{Tier: x.Place.Tier, Try: 1})
	s.wait(5 * time.Second)
	reply := &pawl.ModelReplied{Effect: id, Text: s.blob(text), Stop: pawl.StopEnd, Model: taskloop.Tier(x.Place.Tier) + "-model",
		Usage: pawl.Usage{Input: tokens - 100, Output: 100}, Cost: cost}
	var args []pawl.Hash
	for _, c := range calls {
		h := s.blob(fmt.Sprintf(`{"path":%q,"old":"a","new":"b"}`, c))
		args = append(args, h)
		reply.Calls = append(reply.Calls, pawl.ToolUse{Tool: "edit", Args: h, Class: pawl.CrashProbe})
	}
	s.add(s.ref, reply)
	s.cost, s.tokens = s.cost+cost, s.tokens+tokens
	for i, h := range args {
		id := s.ask(x.Session, place, &pawl.CallTool{Tool: "edit", Args: h, Call: i})
		s.add(s.ref, &pawl.ToolReturned{Effect: id, Output: s.blob("ok"), Bytes: 2, Tree: "tree1"})
	}
}

func (s *story) done(x *pawl.SessionStarted, r pawl.SessionResult, reason string) {
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: r, Reason: reason})
}

// says ends a session with a result.
func (s *story) says(x *pawl.SessionStarted, r pawl.SessionResult, output string) {
	s.add(s.ref, &pawl.SessionEnded{Session: x.Session, Result: r, Output: s.blob(output)})
}

func (s *story) iterate(tier int, reason string) {
	s.n++
	s.tier, s.cost, s.tokens = tier, 0, 0
	s.add(s.ref, &pawl.IterationStarted{N: s.n, Max: 10, Tier: tier, Reason: reason, From: s.head})
}

func (s *story) place(step, role string, tier int) pawl.Place {
	return pawl.Place{Loop: s.kind, Task: s.task, Iteration: s.n, Attempt: 1, Step: step, Role: role, Tier: tier}
}

func (s *story) implementing() *pawl.SessionStarted {
	return s.start(pawl.ForStep, s.place("implement", "developer", s.tier), 1, 1)
}

// implement is a whole implementation session with a commit of so many files.
func (s *story) implement(files int) {
	x := s.implementing()
	s.turn(x, "I add the handler.", 21_000, 9_000, "login.go")
	s.turn(x, "Done.", 4_200, 2_231)
	s.done(x, pawl.SessionDone, "")
	s.commit(files)
}

func (s *story) commit(files int) {
	id := s.ask(0, s.place("commit", "", s.tier), &pawl.Commit{Branch: "pawl/001-add-login", Parent: s.head})
	s.head = pawl.CommitHash(fmt.Sprintf("c0ffee%02d00112233", s.n))
	s.add(s.ref, &pawl.Committed{Effect: id, Commit: s.head, Tree: "tree2", Files: files, Total: files, FileSet: 7})
}

// gate lets a command gate judge.
func (s *story) gate(b pawl.GateJudged) {
	s.wait(time.Second)
	id := s.ask(0, s.place(b.Gate, "", s.tier), &pawl.RunGate{Gate: b.Gate, Commit: s.head})
	b.Effect = id
	if b.Kind == "" {
		b.Kind = pawl.GateKind(b.Gate)
	}
	s.add(s.ref, &b)
}

// tests judges with the test gate, whose report is the evidence.
func (s *story) tests(passed, total int, failing ...string) {
	report := pawl.GateReport{Verdict: pawl.VerdictPass}
	b := pawl.GateJudged{Gate: "tests", Verdict: pawl.VerdictPass, Reason: "all tests pass", Passed: passed, Total: total}
	for _, f := range failing {
		report.Tests = append(report.Tests, pawl.TestResult{Name: f, Status: pawl.TestFail})
	}
	if len(failing) > 0 {
		b.Verdict, b.Reason = pawl.VerdictFail, fmt.Sprintf("%d of %d tests fail", len(failing), total)
		b.Failing = 42
	}
	b.Evidence = s.blob(s.json(report))
	s.gate(b)
}

// clean lets the other command gates pass.
func (s *story) clean() {
	s.gate(pawl.GateJudged{Gate: "types", Verdict: pawl.VerdictPass, Reason: "no errors"})
	s.gate(pawl.GateJudged{Gate: "lint", Verdict: pawl.VerdictPass, Reason: "no findings"})
	s.gate(pawl.GateJudged{Gate: "security", Verdict: pawl.VerdictPass, Reason: "no findings"})
}

// review is the requirements review.
func (s *story) review(v pawl.Verdict, met int, reason string) {
	x := s.start(pawl.ForReview, s.place("requirements", "validator", 2), 1, 1)
	s.turn(x, "I looked at everything.", 6_000, 1_200)
	s.done(x, pawl.SessionDone, "")
	s.add(s.ref, &pawl.GateJudged{Gate: "requirements", Verdict: v, Reason: reason, Passed: met, Total: 5, Evidence: s.blob(`{"criteria":[]}`)})
}

func (s *story) end(b pawl.IterationEnded) {
	b.N, b.Tier, b.Cost, b.Tokens, b.Commit = s.n, s.tier, s.cost, s.tokens, s.head
	s.add(s.ref, &b)
}

// close closes the worktree and ends loop and run.
func (s *story) close(o pawl.Outcome, reason string) {
	id := s.ask(0, s.place("close", "", s.tier), &pawl.CloseWorkspace{Salvage: "refs/pawl/salvage/001-add-login/9-close"})
	s.add(s.ref, &pawl.WorkspaceClosed{Effect: id})
	s.add(s.ref, &pawl.LoopEnded{Outcome: o, Reason: reason})
	s.add(0, &pawl.RunEnded{Outcome: o, Reason: reason, Head: s.head})
}

// fail is an iteration in which tests and requirements fail.
func (s *story) fail(d pawl.Decision, reason string, errors ...string) {
	s.tests(10, 12, "auth.TestLogin", "auth.TestLogout")
	s.clean()
	s.review(pawl.VerdictFail, 3, "AC-002 is not met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Requirements: pawl.VerdictFail, Decision: d, Reason: reason, Errors: errors})
}

// pass is the end of an iteration in which everything passes.
func (s *story) pass() {
	s.tests(12, 12)
	s.clean()
	s.review(pawl.VerdictPass, 5, "every criterion is met")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete,
		Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
}

// stories are the runs that every projection is tried on.
var stories = map[string]func(testing.TB) *story{
	"escalated": escalated, "from-haiku": fromHaiku, "halted": halted, "overruled": overruled, "council": councilled, "cancelled": cancelled,
	"paused": paused, "recovered": recovered, "budget": budget, "no-model": noModel, "incomplete": incomplete,
	"unverified": unverified, "waiting": waiting, "resumed": resumed, "restarted": restarted,
	"pandora-done": pandoraDone, "pandora-blocked": pandoraBlocked, "loom-parallel": loomParallel, "loom-replanned": loomReplanned,
	"loom-cancelled": loomCancelled,
	"coherence-done": coherenceDone, "coherence-back": coherenceBack, "coherence-stopped": coherenceStopped,
	"coherence-asks": coherenceAsks, "coherence-forked": coherenceForked,
	"evidence-reviewing": evidenceReviewing, "evidence-answered": evidenceAnswered, "evidence-refused": evidenceRefused, "evidence-listed": evidenceListed,
	"evidence-asks": evidenceAsks, "evidence-rejected": evidenceRejected, "evidence-off": evidenceOff, "evidence-hostile": evidenceHostile,
	"evidence-flaky": evidenceFlaky,
}

// escalated is the example of the Task Loop's document: sonnet fails twice,
// opus completes.
func escalated(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	s.implement(3)
	s.fail(pawl.DecideIterate, "Test failure in auth module", "Test failure in auth module")
	s.iterate(2, "")
	s.implement(1)
	s.fail(pawl.DecideEscalate, "2 consecutive failures", "Same test still failing")
	s.add(s.ref, &pawl.Escalated{From: 2, To: 3, Reason: "2 consecutive failures", Iteration: 3})
	s.iterate(3, "2 consecutive failures")
	s.implement(2)
	s.pass()
	return s
}

func fromHaiku(tb testing.TB) *story {
	s := begin(tb, 2, 1, func(set *pawl.Settings, _ *pawl.RunStarted) { set.NoCost, set.Agent = true, "frontend:developer" })
	s.iterate(1, "")
	s.implement(3)
	s.fail(pawl.DecideIterate, "tests: 2 of 12 tests fail", "tests: 2 of 12 tests fail")
	s.iterate(1, "")
	s.implement(0)
	s.add(s.ref, &pawl.GatesReused{From: 1})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Requirements: pawl.VerdictFail, Decision: pawl.DecideEscalate,
		Reason: "2 consecutive failures", Errors: []string{"tests: 2 of 12 tests fail"}})
	s.add(s.ref, &pawl.Escalated{From: 1, To: 2, Reason: "2 consecutive failures", Iteration: 3})
	s.iterate(2, "2 consecutive failures")
	s.implementing()
	return s
}

// halted has a critical finding: requirements do not run.
func halted(tb testing.TB) *story {
	s := begin(tb, 3, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.tests(12, 12)
	s.gate(pawl.GateJudged{Gate: "types", Verdict: pawl.VerdictFail, Reason: "timed out after 2m", Partial: true, High: 2})
	s.gate(pawl.GateJudged{Gate: "lint", Verdict: pawl.VerdictPass, RedAtBase: true, Reason: "3 findings, all on the base too", Medium: 3})
	s.gate(pawl.GateJudged{Gate: "security", Verdict: pawl.VerdictHalt, Reason: "a key in login.go", Critical: 1, Low: 2, Evidence: s.blob(s.json(pawl.GateReport{
		Verdict: pawl.VerdictHalt, Diagnostics: []pawl.Diagnostic{{Severity: pawl.SeverityCritical, File: "login.go", Line: 7, Message: "hard-coded key"}}}))})
	const why = "security halts: a key in login.go"
	s.end(pawl.IterationEnded{Quality: pawl.VerdictHalt, Decision: pawl.DecideHalt, Reason: why, Outcome: pawl.OutcomeHalted,
		Errors: []string{"security: a key in login.go", "types: timed out after 2m"}})
	s.close(pawl.OutcomeHalted, why)
	return s
}

func councilled(tb testing.TB) *story {
	s := begin(tb, 12, 3, nil)
	s.iterate(3, "")
	s.implement(1)
	s.fail(pawl.DecideCouncil, "stuck: the same tests fail in 3 attempts", "tests: 2 of 12 tests fail")
	s.add(s.ref, &pawl.CouncilCalled{Members: 2, Reason: "stuck: the same tests fail in 3 attempts", Stuck: true})
	for _, purpose := range []pawl.SessionPurpose{pawl.ForProposal, pawl.ForBallot} {
		for i, lens := range []string{"root-cause", "skeptic"} {
			place := s.place("council", string(purpose), 3)
			place.Lens = lens
			x := s.start(purpose, place, i, 1)
			s.turn(x, "It is the clock.", 50_000, 4_000)
			s.done(x, pawl.SessionDone, "")
		}
	}
	s.add(s.ref, &pawl.CouncilDecided{Winner: "B", Lens: "skeptic", Proposal: s.blob("mock the clock"), Confidence: 80, Rounds: "A1 B1"})
	s.iterate(3, "")
	s.implement(1)
	s.fail(pawl.DecideHalt, "the ladder is used up: the attempt after the council failed too", "tests: 2 of 12 tests fail")
	s.events[len(s.events)-1].Body.(*pawl.IterationEnded).Outcome = pawl.OutcomeBlocked
	s.close(pawl.OutcomeBlocked, "the ladder is used up: the attempt after the council failed too")
	return s
}

func cancelled(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	s.turn(x, "I look around.", 21_000, 9_000)
	call := s.ask(x.Session, at(x, 2), &pawl.CallModel{Tier: 2, Try: 1, Reserved: 90_000, ReservedTokens: 30_000})
	s.wait(3 * time.Second)
	s.add(0, &pawl.CancelRequested{Running: pawl.DrainNow, Reason: "wrong branch"})
	s.add(0, &pawl.RunStopping{Outcome: pawl.OutcomeCancelled, Reason: "wrong branch"})
	s.add(s.ref, &pawl.EffectWithdrawn{Effect: call, Reason: "the run is cancelled", Charged: 90_000, ChargedTokens: 30_000})
	s.done(x, pawl.SessionAbandoned, "wrong branch")
	s.close(pawl.OutcomeCancelled, "wrong branch")
	s.add(0, &pawl.AnswerIgnored{Effect: call, What: "model_replied"})
	return s
}

func paused(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	s.turn(x, "I look around.", 21_000, 9_000)
	s.ask(x.Session, at(x, 2), &pawl.CallModel{Tier: 2, Try: 1})
	s.wait(3 * time.Second)
	s.add(0, &pawl.RunPaused{Reason: "lunch"})
	return s
}

// recovered lost a model call when its process died.
func recovered(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	call := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 1, Reserved: 90_000, ReservedTokens: 30_000})
	s.wait(5 * time.Hour)
	s.add(0, &pawl.Recovered{Pid: 77})
	s.add(s.ref, &pawl.EffectLost{Effect: call, Charged: 90_000, ChargedTokens: 30_000})
	s.ask(0, s.place("inspect", "", 2), &pawl.InspectWorkspace{})
	return s
}

// budget runs out of money before a call.
func budget(tb testing.TB) *story {
	s := begin(tb, 6, 2, func(set *pawl.Settings, _ *pawl.RunStarted) { set.Limits.Money = 500_000 })
	s.iterate(2, "")
	x := s.implementing()
	s.turn(x, "I look around.", 400_000, 90_000)
	s.add(0, &pawl.BudgetWarned{Limit: pawl.LimitMoney, Max: 500_000, Value: 400_800})
	s.add(0, &pawl.LimitReached{Scope: "run", Limit: pawl.LimitMoney, Max: 500_000, Value: 810_800})
	const why = "budget exceeded: the limit on money is $0.50, and $0.81 were wanted"
	s.add(0, &pawl.RunStopping{Outcome: pawl.OutcomeHalted, Reason: why})
	s.done(x, pawl.SessionAbandoned, why)
	s.close(pawl.OutcomeHalted, why)
	return s
}

func noModel(tb testing.TB) *story {
	s := waiting(tb)
	s.add(s.ref, &pawl.WaitEnded{Effect: s.events[len(s.events)-1].Seq})
	x := &pawl.SessionStarted{Session: s.session, Place: s.place("implement", "developer", 2)}
	id := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 2})
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "overloaded", Message: "HTTP 529"}})
	s.add(s.ref, &pawl.LimitReached{Scope: "task/1/implement", Limit: pawl.LimitRetries, Max: 2, Value: 2})
	const why = "no model: 2 calls failed, the last one with overloaded: HTTP 529"
	s.add(0, &pawl.RunStopping{Outcome: pawl.OutcomeHalted, Reason: why})
	s.done(x, pawl.SessionAbandoned, why)
	s.close(pawl.OutcomeHalted, why)
	return s
}

// incomplete reaches the limit on iterations with a step that failed.
func incomplete(tb testing.TB) *story {
	s := begin(tb, 6, 2, func(set *pawl.Settings, _ *pawl.RunStarted) { set.Limits.Iterations = 1 })
	s.iterate(2, "")
	x := s.implementing()
	s.turn(x, "I look around.", 21_000, 9_000, "a.go")
	s.add(s.ref, &pawl.LimitReached{Scope: "task/1/implement", Limit: pawl.LimitTurns, Max: 1, Value: 1})
	s.done(x, pawl.SessionTurns, "it used all 1 turns")
	s.commit(1)
	s.tests(10, 12, "a", "b", "c", "d", "e", "f", "g")
	const why = "max iterations reached: 1 of 1"
	s.add(s.ref, &pawl.LimitReached{Scope: "task", Limit: pawl.LimitIterations, Max: 1, Value: 1})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: why, Outcome: pawl.OutcomeIncomplete,
		Errors: []string{"implement: it used all 1 turns", "tests: 7 of 12 tests fail"}})
	s.close(pawl.OutcomeIncomplete, why)
	return s
}

// unverified has no command gate, no sandbox and no limits.
func unverified(tb testing.TB) *story {
	s := begin(tb, 6, 2, func(set *pawl.Settings, b *pawl.RunStarted) {
		set.Limits, set.Gates, set.HaltOn = pawl.Limits{}, nil, nil
		b.Confined, b.Notes = false, []string{"Uncommitted changes are not part of the run."}
	})
	s.iterate(2, "")
	s.events[len(s.events)-1].Body.(*pawl.IterationStarted).Max = 0
	s.implement(1)
	s.review(pawl.VerdictPass, 5, "every criterion is met")
	const why = "nothing failed, but no command gate passed either"
	s.end(pawl.IterationEnded{Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete, Reason: why, Outcome: pawl.OutcomeUnverified})
	s.close(pawl.OutcomeUnverified, why)
	return s
}

// waiting is in a back-off.
func waiting(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	id := s.ask(x.Session, at(x, 1), &pawl.CallModel{Tier: 2, Try: 1})
	s.wait(2 * time.Second)
	s.add(s.ref, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "rate_limit", Message: "HTTP 429: slow down", Wait: 30 * time.Second}})
	s.ask(x.Session, x.Place, &pawl.Wait{For: 30 * time.Second, Reason: "the provider asked for it: rate_limit"})
	return s
}

// overruled was halted by the requirements review, which a person overruled: no step of the second
// iteration runs.
func overruled(tb testing.TB) *story {
	s := begin(tb, 3, 1, nil)
	s.iterate(1, "")
	s.implement(1)
	s.tests(12, 12)
	s.clean()
	s.review(pawl.VerdictHalt, 4, "a key in login.go")
	const why, consent = "requirements halts: a key in login.go", "the key is made up, for a test"
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictHalt, Decision: pawl.DecideHalt, Reason: why,
		Outcome: pawl.OutcomeHalted, Errors: []string{"requirements: a key in login.go"}})
	s.close(pawl.OutcomeHalted, why)
	s.wait(time.Hour)
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeHalted, Reason: consent})
	s.add(s.ref, &pawl.GateOverruled{Gate: "requirements", Iteration: 1, Commit: s.head, Tree: "tree2",
		Evidence: s.blob(`{"criteria":[]}`), Reason: consent, By: "ann"})
	open := s.ask(0, s.place("open", "", 1), &pawl.OpenWorkspace{Name: "001-add-login", Branch: "pawl/001-add-login", Base: "base5e1fbeefcafe"})
	s.add(s.ref, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree2"})
	s.n++
	s.cost, s.tokens = 0, 0
	s.add(s.ref, &pawl.IterationStarted{N: s.n, Max: 11, Tier: 1, From: s.head, Reason: "ann overruled the halt of requirements", Rejudges: true})
	s.add(s.ref, &pawl.Committed{Commit: s.head, Tree: "tree2", Files: 1, Total: 1, FileSet: 7})
	s.add(s.ref, &pawl.GatesReused{From: 1})
	s.add(s.ref, &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictPass, Reason: "overruled by ann: " + consent, By: "ann"})
	s.end(pawl.IterationEnded{Quality: pawl.VerdictPass, Requirements: pawl.VerdictPass, Decision: pawl.DecideComplete,
		Reason: "every gate passed", Outcome: pawl.OutcomeComplete})
	s.close(pawl.OutcomeComplete, "every gate passed")
	return s
}

// resumed was halted at its budget and goes on with more, at its iteration's beginning.
func resumed(tb testing.TB) *story {
	s := budget(tb)
	s.wait(24 * time.Hour)
	more := pawl.DefaultLimits
	s.add(0, &pawl.LimitsChanged{Limits: more})
	s.add(0, &pawl.RunResumed{From: pawl.OutcomeHalted})
	open := s.ask(0, s.place("open", "", 2), &pawl.OpenWorkspace{Name: "001-add-login", Branch: "pawl/001-add-login", Base: "base5e1fbeefcafe"})
	s.add(s.ref, &pawl.WorkspaceOpened{Effect: open, Head: s.head, Tree: "tree0"})
	s.add(s.ref, &pawl.IterationRestarted{Attempt: 2, Reason: "the run was resumed"})
	s.implement(2)
	s.pass()
	return s
}

// restarted found another worktree than recorded after a crash, with one tool interrupted.
func restarted(tb testing.TB) *story {
	s := begin(tb, 6, 2, nil)
	s.iterate(2, "")
	x := s.implementing()
	s.turn(x, "I run the tests.", 21_000, 9_000)
	tool := s.ask(x.Session, at(x, 1), &pawl.CallTool{Tool: "shell", Args: s.blob(`{"command":"go test ./...\nrm -rf x"}`)})
	s.add(0, &pawl.Recovered{Pid: 78})
	s.add(s.ref, &pawl.ToolReturned{Effect: tool, IsError: true, Interrupted: true})
	look := s.ask(0, s.place("inspect", "", 2), &pawl.InspectWorkspace{})
	s.add(s.ref, &pawl.WorkspaceInspected{Effect: look, Tree: "other"})
	reset := s.ask(0, s.place("reset", "", 2), &pawl.ResetWorkspace{Commit: s.head, Salvage: "refs/pawl/salvage/001-add-login/40-reset"})
	s.add(s.ref, &pawl.WorkspaceReset{Effect: reset, Head: s.head, Tree: "tree0", Salvage: "refs/pawl/salvage/001-add-login/40-reset"})
	s.add(s.ref, &pawl.IterationRestarted{Attempt: 2, Reason: "the worktree was not as recorded"})
	s.add(s.ref, &pawl.SessionStarted{Session: s.session + 1, Purpose: pawl.ForStep, Place: x.Place, Index: 1, Turns: 20, Try: 2, Timeout: 10 * time.Minute})
	s.add(s.ref, &pawl.NoteAdded{Session: s.session + 1, Text: "You have not handed in your result."})
	s.add(s.ref, &pawl.NoteAdded{Session: s.session + 1, Call: 1, Text: "there is no tool \"x\" here", IsError: true})
	return s
}
