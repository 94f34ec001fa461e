package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/view"
)

// world is what a daemon serves, in memory: projects with runs whose events a test
// writes. It refuses what an engine would refuse about answers.
type world struct {
	mu    sync.Mutex
	more  *sync.Cond
	runs  map[key]*told
	order []key
	said  []pawl.Steering // commands, in the order they came
	gone  error           // the daemon is not there
	now   time.Time
	here  string // the project that the program is begun in
	empty string // a project without runs; empty = there is none

	noProject error // it refuses every project
}

// told is a run of a world.
type told struct {
	events []pawl.Event
	live   []pawl.Live
	blobs  map[pawl.Hash][]byte
}

func newWorld() *world {
	w := &world{runs: map[key]*told{}, now: start}
	w.more = sync.NewCond(&w.mu)
	return w
}

var start = time.Date(2025, 1, 30, 10, 0, 0, 0, time.UTC)

func (w *world) open(context.Context) (pawl.Projects, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone != nil {
		return nil, "", w.gone
	}
	return w, w.here, nil
}

// Open implements [pawl.Projects].
func (w *world) Open(context.Context, string) (pawl.ProjectInfo, error) {
	return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeState, "a test's world opens nothing")
}

// Projects implements [pawl.Projects].
func (w *world) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone != nil {
		return nil, w.gone
	}
	var out []pawl.ProjectInfo
	for _, k := range w.order {
		if !slices.ContainsFunc(out, func(p pawl.ProjectInfo) bool { return p.ID == k.project }) {
			out = append(out, pawl.ProjectInfo{ID: k.project, Root: "/home/ada/" + k.project})
		}
	}
	if w.empty != "" {
		out = append(out, pawl.ProjectInfo{ID: w.empty, Root: "/home/ada/" + w.empty})
	}
	return out, nil
}

// Project implements [pawl.Projects].
func (w *world) Project(_ context.Context, id string) (pawl.Service, error) {
	if w.noProject != nil {
		return nil, w.noProject
	}
	return &service{world: w, id: id}, nil
}

// Load implements [pawl.Projects].
func (w *world) Load(context.Context) (pawl.Load, error) {
	return pawl.Load{Pools: []pawl.PoolLoad{{Name: "machine", Slots: 8, Used: 3, Waiting: 1},
		{Name: "account:anthropic", Slots: 10, Used: 2, Accounts: []pawl.AccountLoad{{Account: "api.anthropic.com with key 3f2a91", Until: w.now.Add(3 * time.Minute), Why: "429: try again later"}}}}}, nil
}

// service is a project of a world.
type service struct {
	pawl.Service // what no screen asks for
	world        *world
	id           string
}

func (s *service) run(id pawl.RunID) *told { return s.world.runs[key{s.id, id}] }

// Runs implements [pawl.Service].
func (s *service) Runs(context.Context) ([]pawl.RunInfo, error) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	var out []pawl.RunInfo
	for _, k := range s.world.order {
		if k.project == s.id {
			out = append(out, view.Info(s.world.runs[k].events))
		}
	}
	return out, nil
}

// Events implements [pawl.Service].
func (s *service) Events(_ context.Context, id pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		s.world.mu.Lock()
		events := slices.Clone(s.run(id).events)
		s.world.mu.Unlock()
		for _, e := range events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

// Watch implements [pawl.Service].
func (s *service) Watch(ctx context.Context, id pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	w := s.world
	return func(yield func(pawl.Update, error) bool) {
		stop := context.AfterFunc(ctx, func() { w.mu.Lock(); w.more.Broadcast(); w.mu.Unlock() })
		defer stop()
		heard := 0
		for {
			w.mu.Lock()
			r := s.run(id)
			for int(after) >= len(r.events) && heard >= len(r.live) && ctx.Err() == nil && w.gone == nil {
				w.more.Wait()
			}
			events, live, gone := slices.Clone(r.events[after:]), slices.Clone(r.live[heard:]), w.gone
			w.mu.Unlock()
			if ctx.Err() != nil {
				return
			}
			if gone != nil {
				yield(pawl.Update{}, gone)
				return
			}
			for i := range events {
				after = events[i].Seq
				if !yield(pawl.Update{Event: &events[i]}, nil) {
					return
				}
				if events[i].Body.EventKind() == pawl.KindRunEnded {
					return
				}
			}
			for i := range live {
				heard++
				if !yield(pawl.Update{Live: &live[i]}, nil) {
					return
				}
			}
		}
	}
}

// Blob implements [pawl.Service].
func (s *service) Blob(_ context.Context, id pawl.RunID, h pawl.Hash) ([]byte, error) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if data, ok := s.run(id).blobs[h]; ok {
		return data, nil
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "no blob %s", h.Short())
}

// Steer implements [pawl.Service]: it answers questions, and remembers the rest.
func (s *service) Steer(_ context.Context, id pawl.RunID, st pawl.Steering) error {
	w := s.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, st)
	defer w.more.Broadcast()
	if st.Verb != pawl.SteerAnswer {
		return nil
	}
	r := s.run(id)
	fold, _ := view.Fold(s.all(r))
	q := fold.Question(st.Answer.Question)
	switch {
	case q == nil:
		return pawl.Errorf(pawl.CodeNotFound, "run %s has no question %d", id, st.Answer.Question)
	case q.Answered != nil:
		return pawl.Errorf(pawl.CodeConflict, "question %d was answered already: %s by %s", q.N, q.Answered.Choice, q.Answered.By)
	case q.About != st.Answer.About:
		return pawl.Errorf(pawl.CodeConflict, "the question is about %s", q.About.Short())
	}
	r.events = append(r.events, pawl.Event{Run: id, Seq: pawl.Seq(len(r.events) + 1), Time: w.now,
		Body: &pawl.QuestionAnswered{N: q.N, Choice: st.Answer.Choice, Text: st.Answer.Text, By: st.Answer.By}})
	return nil
}

func (s *service) all(r *told) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range r.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// story writes the events of one run of a world, in the order a kernel decides them.
type story struct {
	tb testing.TB
	w  *world
	k  key
	r  *told
	// said is written into titles, replies, outputs: what a model says.
	said string
	n    map[pawl.LoopRef]int
}

// loopr is the recipe of a tree in short.
var loopr = pawl.Recipe{
	Name: "loopr", Start: "plan", Tiers: []string{"haiku", "sonnet", "opus"},
	Kinds: []pawl.LoopKind{
		{Name: "plan", Iterations: 50, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "plan.md", Output: "create_plan"}},
			Approval: &pawl.Approval{By: "human"}, Children: &pawl.Children{From: "draft", Kind: "spec", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "spec", Iterations: 30, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "spec.md", Output: "create_spec"}},
			Children: &pawl.Children{From: "draft", Kind: "phase", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "phase", Iterations: 20, Steps: []pawl.Step{{Name: "draft", Role: "planner", Prompt: "phase.md", Output: "create_phase"}},
			Children: &pawl.Children{From: "draft", Kind: "code", Order: "score", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "code", Iterations: 100, Steps: []pawl.Step{{Name: "implement", Role: "developer", Prompt: "code.md"}}, Gates: []pawl.Stage{{Name: "tests", Commands: []string{"tests"}}}},
	},
}

// login is the plan of the stories.
var login = artifact.Plan{
	Title: "Login with a password", Overview: "Users get accounts and can log in. Sessions live in the database, so that a restart logs nobody out.",
	Phases: []string{"Accounts first: everything else stands on them", "Then sessions and the endpoints, side by side"},
	Specs: []artifact.PlanSpec{
		{Name: "accounts", Title: "Accounts", Description: "A table of users with hashed passwords, and what changes them."},
		{Name: "sessions", Title: "Sessions", Description: "Cookies, their expiry, and a table that outlives a restart.", Dependencies: []string{"accounts"}},
		{Name: "endpoints", Title: "Endpoints", Description: "POST /login and /logout, with limits on tries.", Dependencies: []string{"accounts"}},
	},
	SuccessCriteria: []string{"a user can log in", "a wrong password is refused"},
	Risks:           []string{"old clients send the password in the query"},
}

// begin starts a run of loopr in a world.
func (w *world) begin(tb testing.TB, project, id, title string) *story {
	k := key{project, pawl.RunID(id)}
	s := &story{tb: tb, w: w, k: k, r: &told{blobs: map[pawl.Hash][]byte{}}, n: map[pawl.LoopRef]int{}}
	w.mu.Lock()
	w.runs[k] = s.r
	w.order = append(w.order, k)
	w.mu.Unlock()
	set := pawl.Settings{Limits: pawl.Limits{Money: 10 * pawl.Dollars, Tokens: 5_000_000, Time: 8 * time.Hour, Iterations: 10}, HaltOn: []pawl.HaltCondition{pawl.HaltIterations}}
	task, err := strconv.Atoi(number(k.run))
	if err != nil {
		tb.Fatal(err)
	}
	s.add(0, &pawl.RunStarted{Task: task, Title: title, Goal: s.blob(title), Base: "ba5e1fbeefcafe", Branch: "pawl/" + id, Confined: true, Sandbox: "bubblewrap",
		Version: "1.0.0", Recipe: s.json(loopr), Settings: s.json(set)})
	s.add(1, &pawl.LoopStarted{ID: "1738231200000-a1b2", Kind: "plan"})
	return s
}

func (s *story) json(v any) pawl.JSON {
	b, err := json.Marshal(v)
	if err != nil {
		s.tb.Fatal(err)
	}
	return b
}

func (s *story) blob(text string) pawl.Hash {
	h := pawl.HashOf([]byte(text))
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.r.blobs[h] = []byte(text)
	return h
}

func (s *story) wait(d time.Duration) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.now = s.w.now.Add(d)
}

func (s *story) add(loop pawl.LoopRef, body pawl.Body) pawl.Seq {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	seq := pawl.Seq(len(s.r.events) + 1)
	if b, ok := body.(*pawl.EffectRequested); ok {
		b.Effect.ID, b.Effect.Loop = seq, loop
	}
	s.r.events = append(s.r.events, pawl.Event{Run: s.k.run, Seq: seq, Loop: loop, Time: s.w.now, Body: body})
	s.w.more.Broadcast()
	return seq
}

func (s *story) ask(loop pawl.LoopRef, session int, place pawl.Place, do pawl.Do) pawl.Seq {
	return s.add(loop, &pawl.EffectRequested{Effect: pawl.Effect{Session: session, Class: pawl.CrashRepeat, Place: place, Do: do}})
}

// live is a piece of live text about an effect.
func (s *story) live(effect pawl.Seq, text string) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.r.live = append(s.r.live, pawl.Live{Effect: effect, Text: text})
	s.w.more.Broadcast()
}

// try begins an iteration.
func (s *story) try(loop pawl.LoopRef, n, limit, tier int) {
	s.add(loop, &pawl.IterationStarted{N: n, Max: limit, Tier: tier, From: "ba5e1fbeefcafe"})
}

// session is a session that says something, calls a tool and leaves a result.
func (s *story) session(loop pawl.LoopRef, kind, task, step string, tier int, says, result string) pawl.Hash {
	s.n[loop]++
	n := s.n[loop]
	place := pawl.Place{Loop: kind, Task: task, Iteration: 1, Step: step, Tier: tier}
	s.add(loop, &pawl.SessionStarted{Session: n, Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
	id := s.ask(loop, n, place, &pawl.AssemblePrompt{Template: step + ".md"})
	s.add(loop, &pawl.PromptAssembled{Effect: id, System: s.blob("You are careful."), Bytes: 412,
		Prompt: s.blob("# Task\n\nWork on " + kind + " " + task + ".\n\n## Acceptance criteria\n\n- AC-001 a user can log in\n- AC-002 a wrong password is refused\n" + s.said)})
	place.Turn = 1
	call := s.ask(loop, n, place, &pawl.CallModel{Tier: tier, MaxOutput: 8192, Try: 1, Reserved: 9000})
	s.wait(4 * time.Second)
	args := s.blob(string(s.json(map[string]string{"path": "internal/login/login.go" + s.said})))
	s.add(loop, &pawl.ModelReplied{Effect: call, Message: s.blob("{}"), Text: s.blob(says + s.said), Model: "claude-sonnet-4-5", Usage: pawl.Usage{Input: 2400, Output: 310},
		Cost: 11_850, Calls: []pawl.ToolUse{{Tool: "edit", Args: args}}})
	tool := s.ask(loop, n, place, &pawl.CallTool{Tool: "edit", Args: args})
	s.add(loop, &pawl.ToolReturned{Effect: tool, Output: s.blob("ok"), Bytes: 2})
	out := s.blob(result)
	s.add(loop, &pawl.SessionEnded{Session: n, Result: pawl.SessionDone, Output: out})
	return out
}

// accept makes a list the loop's plan.
func (s *story) accept(loop pawl.LoopRef, version int, list pawl.Hash, specs ...pawl.TaskSpec) {
	id := s.ask(loop, 0, pawl.Place{Loop: "plan", Step: "draft"}, &pawl.ReadTasks{List: list})
	part := &pawl.TasksListed{}
	for _, t := range specs {
		part.Entries = append(part.Entries, pawl.TaskEntry{ID: t.ID, Title: t.Title + s.said, Spec: s.blob(string(s.json(t))), DependsOn: t.DependsOn})
	}
	s.add(loop, part)
	s.add(loop, &pawl.TasksRead{Effect: id, Count: len(specs)})
	s.add(loop, &pawl.PlanAccepted{Version: version, Count: len(specs), List: list})
}

// spawn lets a loop have children that wait for their turn.
func (s *story) spawn(parent, first pawl.LoopRef, kind string, generation int, specs ...pawl.TaskSpec) {
	for i, t := range specs {
		ref := first + pawl.LoopRef(i)
		s.add(ref, &pawl.LoopStarted{ID: fmt.Sprintf("17382312%05d-%04x", ref, int(ref)*4099), Kind: kind, Parent: parent, Task: t.ID, Entry: i + 1, Version: 1,
			Branch: "pawl/loop-" + t.ID, Pending: true, ParentIteration: 1, ParentGeneration: generation})
	}
}

func (s *story) admit(loop pawl.LoopRef) {
	s.add(loop, &pawl.LoopAdmitted{Score: 60, Base: "ba5e1fbeefcafe"})
}

// planned brings a run to where its plan awaits approval, as its question number n.
func (s *story) planned(n int) pawl.Hash {
	s.try(1, n, 50, 3)
	doc := login
	doc.Title += s.said
	doc.Overview += s.said
	doc.Specs = slices.Clone(doc.Specs)
	doc.Specs[0].Description += s.said
	if n > 1 {
		doc.Title += ", again"
	}
	list := s.session(1, "plan", "", "draft", 3, "Accounts are what everything stands on.", string(s.json(doc)))
	s.accept(1, n, list, login.Tasks("")...)
	s.add(1, &pawl.QuestionAsked{N: n, Kind: pawl.AskPlan, Text: "May these 3 specs be worked on?" + s.said, Choices: []string{"approve", "iterate", "reject"}, About: list})
	return list
}

var phases = []pawl.TaskSpec{{ID: "table", Title: "A table of users"}, {ID: "hashing", Title: "Hashing of passwords", DependsOn: []string{"table"}}, {ID: "changes", Title: "Changing a password", DependsOn: []string{"hashing"}}}

// grown is a run at work: specs, phases and a code loop that failed once.
func (s *story) grown() {
	s.planned(1)
	s.wait(time.Minute)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "approve", By: "grace"})
	s.spawn(1, 2, "spec", 1, login.Tasks("")...)
	s.admit(2)
	s.try(2, 1, 30, 3)
	list := s.session(2, "spec", "accounts", "draft", 3, "Three phases will do.", `{"title":"Accounts"}`)
	s.accept(2, 1, list, phases...)
	s.spawn(2, 5, "phase", 1, phases...)
	s.admit(5)
	s.try(5, 1, 20, 2)
	list = s.session(5, "phase", "table", "draft", 2, "One table.", `{"title":"A table of users"}`)
	one := pawl.TaskSpec{ID: "table", Title: "A table of users", ValidationCommand: "go test ./users"}
	s.accept(5, 1, list, one)
	s.spawn(5, 8, "code", 1, one)
	s.admit(8)
	s.try(8, 1, 100, 1)
	s.session(8, "code", "table", "implement", 1, "I add the migration and the store.", `{"summary":"made"}`)
	place := pawl.Place{Loop: "code", Task: "table", Iteration: 1, Step: "tests"}
	id := s.ask(8, 0, place, &pawl.Commit{Branch: "pawl/loop-table"})
	s.add(8, &pawl.Committed{Effect: id, Commit: "c0ffee0123456789", Tree: "t1", Files: 2, Total: 2})
	report := pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "1 of 14 tests fails: TestEmailIsUnique", Tests: []pawl.TestResult{{Name: "users.TestEmailIsUnique", Status: pawl.TestFail,
		Output: "    users_test.go:41: two users have ada@example.org" + s.said}}, Output: "--- FAIL: TestEmailIsUnique (0.01s)\nFAIL\texample.org/users\t0.412s\n" + s.said}
	id = s.ask(8, 0, place, &pawl.RunGate{Gate: "tests", Commit: "c0ffee0123456789"})
	s.wait(3 * time.Second)
	s.add(8, &pawl.GateJudged{Effect: id, Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Reason: report.Reason + s.said, Passed: 13, Total: 14, Evidence: s.blob(string(s.json(report)))})
	s.add(8, &pawl.IterationEnded{N: 1, Tier: 1, Quality: pawl.VerdictFail, Decision: pawl.DecideIterate, Reason: report.Reason, Errors: []string{"TestEmailIsUnique: two users have ada@example.org" + s.said},
		Commit: "c0ffee0123456789", Cost: 11_850, Tokens: 2710})
	s.add(8, &pawl.MemoryAdded{N: 1, Kind: pawl.MemoryLearning, Scope: pawl.ScopeProject, Task: "table", Text: s.blob("Migrations are numbered by hand: look at the last one first." + s.said)})
	s.add(8, &pawl.SignalSent{N: 1, Signal: pawl.SignalInfo, Reason: "emails are unique without case" + s.said, By: "ada"})
	s.add(8, &pawl.SignalAcknowledged{N: 1})
	s.try(8, 2, 100, 2)
}

// speaks lets the code loop be in the middle of a reply.
func (s *story) speaks() pawl.Seq {
	s.n[8]++
	place := pawl.Place{Loop: "code", Task: "table", Iteration: 2, Step: "implement", Tier: 2, Turn: 1}
	s.add(8, &pawl.SessionStarted{Session: s.n[8], Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
	id := s.ask(8, s.n[8], place, &pawl.CallModel{Tier: 2, MaxOutput: 8192, Try: 1})
	s.live(id, "The index must be on lower(email). I change\nthe migration and the query"+s.said)
	return id
}

// calls lets the code loop call a model, with a reservation.
func (s *story) calls(try int) pawl.Seq {
	place := pawl.Place{Loop: "code", Task: "table", Iteration: 2, Step: "implement", Tier: 2, Turn: 1}
	if try == 1 {
		s.n[8]++
		s.add(8, &pawl.SessionStarted{Session: s.n[8], Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
	}
	return s.ask(8, s.n[8], place, &pawl.CallModel{Tier: 2, Try: try, Reserved: 1_580_000, ReservedTokens: 30_000})
}

// clarifies asks what only a person knows.
func (s *story) clarifies(n int) {
	about := s.blob(string(s.json(map[string]any{"questions": []string{"Are emails compared without case?" + s.said, "How long does a session live?"}})))
	s.add(1, &pawl.QuestionAsked{N: n, Kind: pawl.AskClarify, Text: "The planner asks what only you know.", Choices: []string{"answer", "cancel"}, About: about})
}

// finds passes the gates with a candidate in which two things are found, one of which the review
// accepts and one of which a person is asked about.
func (s *story) finds() {
	s.try(1, 1, 10, 1)
	place := pawl.Place{Loop: "plan", Iteration: 1, Step: "tests"}
	id := s.ask(1, 0, place, &pawl.Commit{Branch: "pawl/001-rounding"})
	s.add(1, &pawl.Committed{Effect: id, Commit: "c0ffee0123456789", Tree: "t1", Files: 3, Total: 3})
	s.add(1, &pawl.GateJudged{Gate: "tests", Kind: pawl.GateTests, Verdict: pawl.VerdictPass, Reason: "all tests pass", Passed: 14, Total: 14})
	look := &pawl.Examine{Commit: "c0ffee0123456789", Base: "ba5e1fbeefcafe"}
	id = s.ask(1, 0, place, look)
	s.add(1, &pawl.Examined{Effect: id, Runs: []pawl.FurtherRun{{On: pawl.TreeExpected, Gates: []string{"tests"}, Reason: "the candidate changed round_test.go"}}})
	id = s.ask(1, 0, place, &pawl.RunGate{Gate: "tests", Commit: "a1b2c3d4", On: pawl.TreeExpected})
	s.wait(3 * time.Second)
	s.add(1, &pawl.GateJudged{Effect: id, Gate: "tests", Kind: pawl.GateTests, On: pawl.TreeExpected, Verdict: pawl.VerdictFail, Reason: "1 of 14 tests fails", Passed: 13, Total: 14, Duration: 3 * time.Second})
	found := []pawl.Finding{
		{Kind: pawl.FindExpectation, Path: "round_test.go", Tests: []string{"calc.TestRound"}, Print: 1, Text: "it passes with its own expectation and fails with the base's" + s.said,
			Detail: "@@ -7,2 +7,2 @@\n func TestRound(t *testing.T) {\n-\tif got := Round(2.5); got != 2 {\n+\tif got := Round(2.5); got != 3 {\n" + s.said},
		{Kind: pawl.FindPolicy, Path: ".github/workflows/ci.yml", Print: 2, Text: "it configures what runs for everybody", Detail: "-run: make test\n+run: make test || true\n"}}
	about := s.blob(string(s.json(pawl.EvidenceReport{Findings: found})))
	id = s.ask(1, 0, place, &pawl.Examine{Commit: look.Commit, Base: look.Base, Further: []pawl.GateEvidence{{Gate: "tests", On: pawl.TreeExpected}}})
	for i, f := range found {
		f.ID, f.Detail = pawl.FindingID(i+1), ""
		s.add(1, &pawl.FindingRaised{Finding: f, Evidence: about})
	}
	s.add(1, &pawl.RemarkMade{Text: "it renames TestSum to TestTotal" + s.said})
	s.add(1, &pawl.Examined{Effect: id, Findings: []string{"F-1", "F-2"}, Evidence: about, Paths: []pawl.ClassCount{{Class: pawl.ClassCode, Count: 1}, {Class: pawl.ClassTest, Count: 1}, {Class: pawl.ClassPolicy, Count: 1}}})
	s.add(1, &pawl.FindingAnswered{ID: "F-1", Accepted: true, Quote: "round half up" + s.said, Gate: "requirements"})
	s.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskFinding, Text: "1 finding: F-2 policy .github/workflows/ci.yml. Is this intended?" + s.said, Choices: []string{"accept", "reject"},
		Means: []string{"the work passes with it", "the attempt fails, and the next one is told why"}, About: about})
}

// ends ends the run.
func (s *story) ends(o pawl.Outcome, reason string) {
	s.add(1, &pawl.LoopEnded{Outcome: o, Reason: reason})
	s.add(0, &pawl.RunEnded{Outcome: o, Reason: reason, Head: "c0ffee0123456789"})
}
