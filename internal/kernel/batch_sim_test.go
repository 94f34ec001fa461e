package kernel

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/verdict"
)

// foundInBatches are runs that once showed a defect, besides those that are simulated
// anyway: reports on what a rollback did away with; a stop while the branch moves;
// scaffolds that others are put before; a flaky gate that another one overtakes; a way
// back while the plan is asked about; work that is late for the last batch.
var foundInBatches = []uint64{611, 635, 642, 677, 686, 691, 924, 1013, 1065, 1279, 1393, 1467, 1554, 1938, 2100, 2259, 3624}

// TestBatchSimulation drives runs whose batches are judged as a whole through random worlds,
// as TestTreeSimulation does: with reviews that approve, change, forget and name unknown
// tasks, red and flaky candidates, blocked tasks, trees that return, and people who go back to
// checkpoints and go on in spite of the monitor. The run's field checks batches, branches and
// checkpoints after every event.
func TestBatchSimulation(t *testing.T) { judged.test(t) }

var judged = simulation{env: "PAWL_BATCH_SEED", seeds: 500, short: 20, found: foundInBatches, simulate: simulateBatches, complete: (*census).completeBatches}

func (c *census) completeBatches(t *testing.T) {
	if t.Failed() || testing.Short() {
		return
	}
	for k := pawl.Kind(1); k < 100; k++ {
		if batchKind(k) && k != pawl.KindForked && c.kinds[k] < 10 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeIncomplete, pawl.OutcomeBlocked,
		pawl.OutcomeHalted, pawl.OutcomeCancelled, pawl.OutcomeFailed} {
		if c.outcomes[o] < 5 {
			t.Errorf("%d runs ended %s", c.outcomes[o], o)
		}
	}
	counts := ""
	for k := pawl.Kind(1); k < 100; k++ {
		if batchKind(k) {
			counts += fmt.Sprintf(" %s %d", k, c.kinds[k])
		}
	}
	t.Logf("%d events; runs ended %v;%s", c.events, c.outcomes, counts)
}

func simulateBatches(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, 1<<32+seed)
	c.rare = 1 + c.IntN(8)
	w.compares = 1 + 15*c.IntN(2)
	c.tasks = 1 + c.IntN(12)
	r, set := c.batchRecipe(), c.treeSettings()
	c.sow()
	w.startWith(r, set, c.given())
	for range 100 + c.IntN(100+50*c.tasks) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	return w
}

// sow gives the run a field, which checks its events.
func (c *chance) sow() {
	c.field = &field{grove: &grove{w: c.w}, happened: map[pawl.Seq]bool{}}
	c.grove = c.field.grove
	c.keepBooks()
}

// batchRecipe is a recipe whose batches are judged as a whole, varied.
func (c *chance) batchRecipe() *pawl.Recipe {
	r := treeLoop()
	r.Records = c.IntN(2) == 0
	root, task := &r.Kinds[0], &r.Kinds[1]
	ch := root.Children
	ch.Order, ch.Parallel, ch.Group = pick(c, "list", "list", "priority", "score"), 1+c.IntN(8), pick(c, 12, 24)
	if c.IntN(8) == 0 { // more than one batch may have
		ch.Parallel = 20
		c.tasks += 12
	}
	ch.OnFailure = pick(c, "", "block", "block", pawl.FailStop)
	ch.Limit = c.IntN(5) / 4 * (c.tasks + c.IntN(8))
	ch.ScaffoldFirst, ch.Checkpoint = c.IntN(2) == 0, c.IntN(4) > 0
	if c.IntN(4) > 0 {
		ch.Judge = &pawl.Review{Role: "reviewer", Prompt: "b.md", Tier: 3, Output: "batch", Turns: 2 + c.IntN(4)}
	}
	if c.IntN(2) == 0 {
		ch.BeforeBatch = []pawl.Step{{Name: "refresh", Output: "context", Required: true, Turns: 2 + c.IntN(4), Questions: c.IntN(3) == 0}}
	}
	if c.IntN(2) == 0 {
		ch.AfterBatch = []pawl.Step{{Name: "record", Output: "decision", ForEach: "result.decisions", Parallel: c.IntN(4), Append: true, Required: true, Turns: 3}}
	}
	if c.IntN(3) == 0 {
		ch.AfterBatch = append(ch.AfterBatch, pawl.Step{Name: "tell", Output: "note", Turns: 3, Questions: c.IntN(3) == 0})
	}
	if c.IntN(3) > 0 {
		ch.Replan = &pawl.Replan{On: pick(c, []string{"failure"}, []string{"discovery"}, nil, nil), Every: c.IntN(4) / 3 * c.IntN(5),
			MaxVersions: 1 + c.IntN(5), Prompt: "replan.md"}
	}
	if c.IntN(5) > 0 {
		c.monitors(ch)
	}
	ch.Checkpoint = ch.Checkpoint || ch.Judge == nil && len(ch.BeforeBatch)+len(ch.AfterBatch)+len(ch.Monitor) == 0 && !ch.ScaffoldFirst
	root.Ladder.Then = pick(c, "blocked", "fail", "ask")
	root.Steps[0].Questions = c.IntN(4) == 0
	if c.IntN(3) == 0 {
		root.FinalGates = []pawl.Stage{{Name: "all", Commands: []string{"*"}}}
	}
	if c.IntN(4) == 0 {
		root.FinalSteps = []pawl.Step{{Name: "close", Prompt: "close.md", Output: "report", Tier: 1, Turns: 3}}
	}
	if c.IntN(4) == 0 {
		root.Approval = &pawl.Approval{By: pick(c, "human", "auto", "manual", "confidence_threshold"), Threshold: c.IntN(100)}
	}
	c.batchTask(task)
	return r
}

// monitors chooses what each health leads to, in any order.
func (c *chance) monitors(ch *pawl.Children) {
	ch.Monitor, ch.Recoveries = map[string][]string{}, c.IntN(4)
	known := []string{string(pawl.RecoverGather), string(pawl.RecoverAsk)}
	if ch.Replan != nil {
		known = append(known, string(pawl.RecoverRevise))
	}
	if ch.Checkpoint {
		known = append(known, string(pawl.RecoverRollback), string(pawl.RecoverRollback))
	}
	for _, h := range []pawl.Health{pawl.HealthBlocked, pawl.HealthFlipFlop, pawl.HealthRegressing, pawl.HealthStalled} {
		for range c.IntN(4) {
			ch.Monitor[string(h)] = append(ch.Monitor[string(h)], pick(c, known...))
		}
	}
	ch.Monitor[string(pawl.HealthStalled)] = append(ch.Monitor[string(pawl.HealthStalled)], pick(c, known...))
}

func (c *chance) batchTask(task *pawl.LoopKind) {
	task.Iterations, task.Ladder.Council = 1+c.IntN(5), nil
	task.Ladder.Then = pick(c, "fail", "blocked", "replan", "ask")
	work := &task.Steps[0]
	work.Turns, work.Timeout, work.Questions = 2+c.IntN(6), 0, c.IntN(6) == 0
	if c.IntN(3) == 0 {
		yes, no := true, false
		lay := *work
		lay.Name, lay.When, work.When = "scaffold", &pawl.When{Scaffold: &yes}, &pawl.When{Scaffold: &no}
		task.Steps = []pawl.Step{lay, *work}
	}
	if c.IntN(4) == 0 {
		task.Gates = append(task.Gates, pawl.Stage{Name: "review", Review: &pawl.Review{Role: "validator", Prompt: "r.md", Tier: 2, Output: "verdict", Turns: 3}})
	}
	if c.IntN(8) == 0 {
		task.Gates = append(task.Gates, pawl.Stage{Name: "person", Human: true})
	}
	if c.IntN(6) == 0 {
		task.Gates = task.Gates[1:] // only what judges the whole does
	}
}

// batchUse adds to a result what is known of judged batches only.
func (c *chance) batchUse(f *pawl.Effect, output string, use *pawl.ToolUse) {
	fact := func(name, value string) { use.Facts = append(use.Facts, pawl.Fact{Name: name, Value: value}) }
	l := c.w.state.Loop(f.Loop)
	switch {
	case output == "batch":
		c.reviewOf(l, use)
	case output == "decision" || output == "context":
		if c.in(2) {
			fact("decision-text", pick(c, blobOf("we take it").String(), "no hash"))
		}
		if output == "context" && c.in(3) {
			fact("questions", fmt.Sprint(c.IntN(3)))
		}
	case output == "result" && l.Parent != 0 && c.in(6):
		fact("decision", "BLOCKED")
		fact("blocker_type", pick(c, "dependency", "dependency", "dependency", "external", "fundamental", "nonsense"))
		fact("blocker", "no key")
		fact("blocked_by", c.field.tasks[c.IntN(len(c.field.tasks))].ID)
	}
}

// reviewOf is what a reviewer of a batch hands in, which need not make sense.
func (c *chance) reviewOf(l *Loop, use *pawl.ToolUse) {
	fact := func(name, value string) { use.Facts = append(use.Facts, pawl.Fact{Name: name, Value: value}) }
	for _, e := range c.field.tasks {
		b := c.field.round
		if i := c.field.find(e.ID); b == nil || !slices.ContainsFunc(b.chain, func(k ring) bool { return k.task == i }) && !c.in(20) || c.in(20) {
			continue // it forgets one, or judges what nobody asked for
		}
		switch {
		case c.in(4):
			fact("changes", e.ID)
			if !c.in(5) {
				fact("because", pick(c, blobOf("change it").String(), "no hash"))
			}
		default:
			fact("approved", e.ID)
		}
	}
	if c.in(20) {
		fact("approved", "nobody")
	}
	if c.in(20) && len(use.Facts) > 0 {
		fact("changes", use.Facts[0].Value)
	}
	if c.in(6) {
		fact("anti-pattern", blobOf("never again").String())
	}
}

// batchGate varies what a command gate says: its tests, which of them broke, and
// when it is asked once more.
func (c *chance) batchGate(f *pawl.Effect, b *pawl.GateJudged) {
	do := f.Do.(*pawl.RunGate)
	b.Total = 20
	b.Passed = 20
	if c.in(3) {
		b.Passed = 10 + c.IntN(10)
	}
	if c.in(4) {
		b.Broke = []string{fmt.Sprint("test", c.IntN(4))}
	}
	if c.in(15) {
		b.Evidence = pawl.Hash{}
	}
	if !do.Doubt.IsZero() && c.IntN(2) == 0 {
		b.Verdict, b.Flaky = pawl.VerdictPass, []string{"test1"}
	}
}

// batchWork lets trees and changes return.
func (c *chance) batchWork(f *pawl.Effect, b *pawl.Committed) {
	if c.in(3) && b.Total > 0 && f.Loop != 1 {
		b.Tree = pawl.TreeHash(fmt.Sprintf("T%d-%d", f.Loop, c.IntN(3)))
	}
	if c.in(2) {
		b.Hunks = []uint64{uint64(1 + c.IntN(4)), uint64(1 + c.IntN(4))}
	}
	if c.in(40) {
		b.Kept = 1
	}
}

// boss gives a command about batches, rightly or not.
func (c *chance) boss() {
	switch c.IntN(4) {
	case 0, 1:
		c.command(pawl.Steering{Verb: pawl.SteerContinue, Reason: pick(c, "", "I know better"), By: "kim"})
	case 2:
		c.command(pawl.Steering{Verb: pawl.SteerRollback, Reason: "it was better then", By: "kim"})
	default:
		c.command(pawl.Steering{Verb: pawl.SteerRollback, Checkpoint: 1 + c.IntN(c.field.marks+1)})
	}
}

// field keeps its own books of a run's batches, naively and from the log alone, and
// compares them with what the kernel does.
type field struct {
	*grove

	head     pawl.CommitHash // of the run's branch
	from     map[pawl.Seq]*pawl.Effect
	asked    map[pawl.LoopRef]bool // loops that wait for a person
	leftOut  map[string]bool       // tasks that failed because a person left them out
	stopped  bool                  // a person stopped the work
	calling  bool                  // the plan is made anew
	back     *pawl.RollbackCalled  // under way
	restored bool
	rolled   int // rollbacks in this input, and anti-patterns of rollbacks
	antis    int
	cut      bool // the log was cut between the two

	rounds int
	round  *round         // the one under way; nil = none is
	late   *round         // the one that a way back has cut off
	passed map[string]int // in which round a task passed, by id

	health     pawl.Health
	recovering map[pawl.Health]int
	checks     []milestone
	marks      int
	last       monitor.Rate
	memories   int
	learned    int

	heard map[string]int // how often a gate has spoken of a commit

	happened map[pawl.Seq]bool // effects that were performed before a driver died

	reports map[pawl.CommitHash]map[string]*pawl.GateJudged // the last one, of commits of the run's branch and candidates
}

// milestone is a checkpoint by the log.
type milestone struct {
	pawl.Checkpoint
	rate    monitor.Rate         // of the batch before it
	reports map[string]pawl.Hash // on its commit, by gate
}

// round is a batch by the log.
type round struct {
	*pawl.BatchStarted
	verdicts map[int]pawl.Verdict
	sealed   map[int]bool // who is in the candidate; nil = that is not settled
	chain    []ring
	shown    []ring // what the review has judged
	moved    bool
}

// ring is a link of a candidate.
type ring struct {
	task   int
	commit pawl.CommitHash
}

func (r *round) tip() pawl.CommitHash {
	if len(r.chain) == 0 {
		return ""
	}
	return r.chain[len(r.chain)-1].commit
}

func (r *round) at(task int) int {
	return slices.IndexFunc(r.chain, func(k ring) bool { return k.task == task })
}

// saw takes an event into the books. It has been applied.
func (g *field) saw(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		g.begin()
	case *pawl.TasksListed:
		g.listing = append(g.listing, b.Entries...)
	case *pawl.TasksRead:
		g.read, g.listing = g.listing[max(0, len(g.listing)-b.Count):], nil
	case *pawl.PlanAccepted:
		g.accepted(e, b)
		g.calling, g.stopped = false, false
	case *pawl.PlanRefused:
		g.calling = false
	case *pawl.ReplanCalled:
		g.calling = true
	case *pawl.TasksBlocked:
		g.blocked(e, b)
	case *pawl.TasksSkipped:
		for _, i := range b.Tasks {
			if g.status[i] != pawl.TaskPending {
				g.fail(e, "%s is %s", g.tasks[i].ID, g.status[i])
			}
			g.status[i] = pawl.TaskSkipped
		}
	case *pawl.LoopStarted:
		if b.Parent != 0 {
			g.spawned(e, b)
		}
	case *pawl.LoopEnded:
		g.done(e, b)
	case *pawl.RunResumed:
		g.again(b)
	case *pawl.MemoryAdded:
		g.remembered(e, b)
	default:
		g.sawBatch(e)
		g.sawQuestion(e)
		g.sawBranch(e)
	}
	g.compare(e)
	if l := g.w.state.Loop(1); l != nil && g.head != "" && l.Head != g.head {
		g.fail(e, "the head is %s, and by the log %s", l.Head, g.head)
	}
}

func (g *field) begin() {
	g.c = g.w.state.Recipe.Kinds[0].Children
	g.kids, g.results, g.passed = map[pawl.LoopRef]int{}, map[string]pawl.CommitHash{}, map[string]int{}
	g.merged, g.queued, g.changes = map[pawl.LoopRef]pawl.CommitHash{}, map[pawl.LoopRef]pawl.CommitHash{}, map[pawl.LoopRef]bool{}
	g.leftOut = map[string]bool{}
	g.from, g.asked, g.recovering = map[pawl.Seq]*pawl.Effect{}, map[pawl.LoopRef]bool{}, map[pawl.Health]int{}
	g.reports, g.heard = map[pawl.CommitHash]map[string]*pawl.GateJudged{}, map[string]int{}
}

// restoring reports whether the way back that was called for last has begun: there is
// no way around it any more.
func (g *field) restoring() bool {
	for _, e := range slices.Backward(g.w.log) {
		switch b := e.Body.(type) {
		case *pawl.RollbackCalled:
			return false
		case *pawl.EffectRequested:
			if b.Effect.Do.Verb() == pawl.VerbRestore {
				return true
			}
		}
	}
	return false
}

func (g *field) sawBatch(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.BatchStarted:
		g.opened(e, b)
	case *pawl.TaskJudged:
		g.judged(e, b)
	case *pawl.BatchEnded:
		g.closed(e, b)
	case *pawl.HealthJudged:
		if e.Loop == 1 {
			g.diagnosed(e, b)
		}
	case *pawl.HealthOverridden:
		g.health = pawl.HealthProgressing
		if g.back != nil && g.back.By == "" && !g.restoring() {
			g.back = nil
		}
	case *pawl.RollbackCalled:
		if g.back != nil || !slices.ContainsFunc(g.checks, func(k milestone) bool { return k.N == b.To }) {
			g.fail(e, "it goes back to %d", b.To)
		}
		g.back, g.restored, g.round, g.late, g.calling = b, false, nil, g.round, false
	case *pawl.RolledBack:
		g.wentBack(e, b)
	case *pawl.TaskHeld:
		g.tasks = slices.Clone(g.tasks)
		t := &g.tasks[b.Task]
		t.DependsOn = append(slices.Clone(t.DependsOn), g.tasks[b.Behind].ID)
		if !sane(g.tasks) {
			g.fail(e, "%s waits for itself", t.ID)
		}
	case *pawl.CheckpointMarked:
		g.marked(e, g.from[b.Effect].Do.(*pawl.MarkCheckpoint).Checkpoint)
	case *pawl.LimitReached:
		if b.Limit == pawl.LimitTasks {
			g.excuse, g.capped = "limit", int(b.Max)
		}
	case *pawl.RunStopping:
		g.excuse = "stopping"
	case *pawl.IterationEnded:
		if e.Loop == 1 && b.Decision != pawl.DecideComplete {
			g.excuse = b.Reason
		}
		delete(g.queued, e.Loop)
	case *pawl.IterationStarted:
		if e.Loop == 1 && g.version > 0 {
			g.revised++
		}
		g.working(e)
	case *pawl.Rerouted:
		if e.Loop == 1 {
			g.revised++
		}
		delete(g.queued, e.Loop)
	case *pawl.IterationRestarted:
		delete(g.queued, e.Loop)
	}
}

func (g *field) sawQuestion(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.QuestionAsked:
		g.asked[e.Loop] = true
		g.stopped = g.stopped && e.Loop != 1
	case *pawl.QuestionWithdrawn:
		g.asked[e.Loop] = false
	case *pawl.QuestionAnswered:
		if b.Choice == choiceOneMore {
			g.revised++
		}
		g.asked[e.Loop] = false
		g.stopped = e.Loop == 1 && b.Choice == choiceStop && g.kindOf(b.N) == pawl.AskHealth
	}
}

func (g *field) kindOf(question int) (kind pawl.QuestionKind) {
	for _, e := range g.w.log {
		if b, ok := e.Body.(*pawl.QuestionAsked); ok && b.N == question {
			kind = b.Kind
		}
	}
	return kind
}

// sawBranch follows the run's branch: it moves by a merge that was judged, by going
// back, by records and, before there are batches, by commits of its own; always
// from where it is. V-38, V-B04
func (g *field) sawBranch(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		g.requested(e, b)
	case *pawl.WorkspaceOpened:
		if e.Loop == 1 {
			if g.head != "" && g.head != b.Head {
				g.fail(e, "it is opened at %s and was at %s", b.Head, g.head)
			}
			g.head = b.Head
		}
	case *pawl.Committed:
		g.changes[e.Loop] = b.Total > 0
		if e.Loop == 1 && b.Effect != 0 {
			if g.round != nil || len(g.kids) > 0 {
				g.fail(e, "it commits on its own with children at work")
			}
			g.moves(e, g.from[b.Effect].Do.(*pawl.Commit).Parent, b.Commit)
		}
	case *pawl.MergeQueued:
		g.queued[e.Loop] = b.Commit
	case *pawl.Merged:
		if do := g.from[b.Effect].Do.(*pawl.Merge); e.Loop == 1 && b.Conflicts == 0 && g.round != nil {
			g.linked(e, do, b)
		}
	case *pawl.SessionEnded:
		if e.Loop == 1 && g.round != nil {
			g.round.shown = slices.Clone(g.round.chain)
		}
	case *pawl.GateJudged:
		g.reported(e, b)
	case *pawl.BranchAdvanced:
		do := g.from[b.Effect].Do.(*pawl.AdvanceBranch)
		g.advanced(e, do)
		g.moves(e, do.From, b.Commit)
	case *pawl.Restored:
		do := g.from[b.Effect].Do.(*pawl.Restore)
		if g.back == nil || len(g.kids) > 0 {
			g.fail(e, "nobody called for it, or children are at work")
		}
		g.restored = true
		g.moves(e, do.From, b.Commit)
	case *pawl.Recorded:
		if g.round != nil && !g.round.moved && g.excuse != "stopping" {
			g.fail(e, "records are written within a batch")
		}
		g.moves(e, g.from[b.Effect].Do.(*pawl.WriteRecords).From, b.Commit)
	}
}

func (g *field) moves(e pawl.Event, from, to pawl.CommitHash) {
	if from != g.head {
		g.fail(e, "it moves the branch from %s, which is at %s", from, g.head)
	}
	g.head = to
}

// requested checks what effects on the run's branch and worktree are about.
func (g *field) requested(e pawl.Event, b *pawl.EffectRequested) {
	f := b.Effect
	g.from[e.Seq] = &f
	if e.Loop != 1 {
		return
	}
	switch do := f.Do.(type) {
	case *pawl.ResetWorkspace:
		if !do.Detached && do.Commit != g.head {
			g.fail(e, "it sets the branch from %s to %s", g.head, do.Commit)
		}
		if do.Detached && (g.round == nil || do.Commit != g.round.tip()) {
			g.fail(e, "it shows %s, which is no candidate", do.Commit)
		}
	case *pawl.Merge:
		if g.round != nil && g.round.sealed == nil {
			g.round.sealed = map[int]bool{}
			for ref := range g.queued {
				g.round.sealed[g.kids[ref]] = true
			}
		}
	case *pawl.AssemblePrompt:
		if x := g.w.state.Loop(1).sessionByN(f.Session); x.Purpose == pawl.ForBatch {
			if tip := g.round.tip(); do.Commit != tip || g.w.folder.head != tip && g.w.folder.head != "" || do.Base != g.head || !g.greenAll(tip) {
				g.fail(e, "the review is shown %s and sees %s, and the candidate is %s", do.Commit, g.w.folder.head, tip)
			}
		}
	case *pawl.RunGate:
		g.before(e, do)
	}
}

// before checks that a candidate's tests are compared with those of the last good
// checkpoint, or else of the base. V-47
func (g *field) before(e pawl.Event, do *pawl.RunGate) {
	if g.round == nil || do.OnBase {
		return
	}
	i := g.w.state.gateIndex(do.Gate)
	want := g.w.state.Loop(1).base[i].evidence
	for _, k := range g.checks {
		if k.Good {
			want = k.reports[do.Gate]
		}
	}
	if want.IsZero() { // the checkpoint is a commit of the harness on what was judged
		return
	}
	if do.Before != want && !(len(g.checks) >= monitor.MaxProofs && do.Before == g.w.state.Loop(1).base[i].evidence) {
		g.fail(e, "%s is compared with %s, and the last good checkpoint has %s", do.Gate, do.Before.Short(), want.Short())
	}
}

// reported keeps what the gates say of candidates: the last word of each on a commit.
func (g *field) reported(e pawl.Event, b *pawl.GateJudged) {
	if e.Loop != 1 || b.Kind == "" || b.OnBase {
		return
	}
	var commit pawl.CommitHash
	if b.Effect != 0 {
		commit = g.from[b.Effect].Do.(*pawl.RunGate).Commit
	} else { // it could not run
		newest := pawl.Seq(0)
		for id, f := range g.from {
			if do, ok := f.Do.(*pawl.RunGate); ok && do.Gate == b.Gate && f.Loop == 1 && id > newest {
				newest, commit = id, do.Commit
			}
		}
	}
	if g.reports[commit] == nil {
		g.reports[commit] = map[string]*pawl.GateJudged{}
	}
	g.reports[commit][b.Gate] = b
	g.heard[fmt.Sprint(commit, b.Gate)]++
}

// greenAll reports whether every gate that judges candidates lets exactly this
// commit through: a test that was red and was asked again, by what it said then.
func (g *field) greenAll(c pawl.CommitHash) bool {
	r := g.w.state.Recipe
	for i, spec := range g.w.state.Settings.Gates {
		if g.w.state.isLeftOut(i) {
			continue
		}
		for _, st := range slices.Concat(r.Kind(g.c.Kind).Gates, r.Kind(g.c.Kind).FinalGates, r.Kinds[0].FinalGates) {
			if slices.Contains(st.Commands, "*") || slices.Contains(st.Commands, string(spec.Kind)) {
				if j := g.reports[c][spec.Name]; j == nil || !verdict.Passes(j.Verdict) {
					return false
				}
			}
		}
	}
	return true
}

// linked takes over a link of the candidate: on the head or the link before it, what
// a task of the batch has queued, in list order.
func (g *field) linked(e pawl.Event, do *pawl.Merge, b *pawl.Merged) {
	r := g.round
	task := -1
	for ref, c := range g.queued {
		if c == do.Theirs {
			task = g.kids[ref]
		}
	}
	for len(r.chain) > 0 && r.tip() != do.Ours { // it is made on fewer of them
		r.chain = r.chain[:len(r.chain)-1]
	}
	if task < 0 && g.excuse == "stopping" { // its loop is gone
		return
	}
	switch n := len(r.chain); {
	case n == 0 && do.Ours != g.head:
		g.fail(e, "a candidate on %s, and the head is %s", do.Ours, g.head)
	case task < 0 || !slices.Contains(r.Tasks, task) || !r.sealed[task]:
		g.fail(e, "%s is not of a task of the candidate", do.Theirs)
	case r.verdicts[task] != "" && r.verdicts[task] != pawl.VerdictPass:
		g.fail(e, "%s was rejected", g.tasks[task].ID)
	}
	r.chain = append(r.chain, ring{task, b.Commit})
}

// advanced checks what gets into the run's branch: only what was approved and not
// rejected since, in list order, as a whole let through by every gate. V-38, V-39, V-B04, V-B10
func (g *field) advanced(e pawl.Event, do *pawl.AdvanceBranch) {
	r := g.round
	if g.back != nil && !g.restored { // it was under way when the way back was called for
		r = g.late
	}
	if e.Loop != 1 || r == nil || r.moved || do.To != r.tip() {
		g.fail(e, "the branch moves to %s, and the candidate is another one", do.To)
	}
	if !g.greenAll(do.To) {
		g.fail(e, "%s is the head, and its gates did not let it through: %v", do.To, g.reports[do.To])
	}
	for i, k := range r.chain {
		if r.verdicts[k.task] != pawl.VerdictPass {
			g.fail(e, "%s gets into the branch and is %q", g.tasks[k.task].ID, r.verdicts[k.task])
		}
		if i > 0 && r.chain[i-1].task >= k.task {
			g.fail(e, "%s is merged out of order", g.tasks[k.task].ID)
		}
		for ref, of := range g.kids {
			if of == k.task {
				g.merged[ref] = g.queued[ref]
			}
		}
	}
	for task, v := range r.verdicts {
		if v == pawl.VerdictPass && r.at(task) < 0 {
			g.fail(e, "%s is approved and left out", g.tasks[task].ID)
		}
	}
	r.moved = true
}

// scaffolds reports whether a task that lays the ground for others is open.
func (g *field) scaffolds() bool {
	for i, s := range g.status {
		if g.tasks[i].Scaffold && (s == pawl.TaskPending || s == pawl.TaskRunning) {
			return true
		}
	}
	return false
}

// grounds reports whether nothing keeps a task from its turn: no task that lays the
// ground is open but itself and those that need it. V-72
func (g *field) grounds(i int) bool {
	if !g.c.ScaffoldFirst || !g.scaffolds() {
		return true
	}
	for j, t := range g.tasks {
		open := g.status[j] == pawl.TaskPending || g.status[j] == pawl.TaskRunning
		if t.Scaffold && open && (j == i || g.behind(j, func(k int) bool { return k == i })) {
			return true
		}
	}
	return false
}

// could lists the tasks that could be in the next batch: those whose loops go again,
// and those that are ready; none that waits for a person. V-34, V-72
func (g *field) could() (again, ready []int, ground bool) {
	ground = g.c.ScaffoldFirst && g.scaffolds()
	all := []int(nil)
	for ref, i := range g.kids {
		if !g.asked[ref] {
			all = append(all, i)
		}
	}
	for _, i := range all {
		if g.grounds(i) {
			again = append(again, i)
		}
	}
	for i := range g.tasks {
		if g.ready(i) && g.grounds(i) {
			ready = append(ready, i)
		}
	}
	if limit := g.w.state.childLimit(g.w.state.Loop(1)); len(again) == 0 && len(ready) > 0 && limit > 0 && g.started >= limit {
		return all, ready, false // no more ground is laid
	}
	return again, ready, ground
}

// opened checks who is in a batch. V-29, V-34, V-36
func (g *field) opened(e pawl.Event, b *pawl.BatchStarted) {
	root := g.w.state.Loop(1)
	if b.N != g.rounds+1 || g.round != nil || g.back != nil || g.calling || g.asked[1] || g.w.state.Status != pawl.StatusRunning {
		g.fail(e, "batch %d follows batch %d", b.N, g.rounds)
	}
	again, ready, ground := g.could()
	fresh := 0
	for k, i := range b.Tasks {
		if k > 0 && b.Tasks[k-1] >= i {
			g.fail(e, "its tasks are not in list order: %v", b.Tasks)
		}
		if g.status[i] == pawl.TaskPending {
			fresh++
		}
		if !slices.Contains(again, i) && !slices.Contains(ready, i) {
			g.fail(e, "%s is %s and cannot be in it; %v and %v can", g.tasks[i].ID, g.status[i], again, ready)
		}
	}
	limit, places := g.w.state.childLimit(root), min(g.c.Group, g.w.state.parallel(root))
	want := min(places, len(again)+len(ready))
	capped := limit > 0 && g.started+fresh >= limit && fresh < len(ready)
	if n := len(b.Tasks); n == 0 || n > want || n < want && !capped {
		g.fail(e, "%d tasks, and %d of %v and %v could be in it", n, want, again, ready)
	}
	if limit > 0 && g.started+fresh > max(limit, g.started) {
		g.fail(e, "%d of %d tasks are started", g.started+fresh, limit)
	}
	if b.Scaffold != ground {
		g.fail(e, "that it lays the ground is %t", b.Scaffold)
	}
	g.rounds = b.N
	g.round = &round{BatchStarted: b, verdicts: map[int]pawl.Verdict{}}
}

// spawned checks that a task's loop starts in its batch, from the head.
func (g *field) spawned(e pawl.Event, b *pawl.LoopStarted) {
	i := b.Entry - 1
	switch {
	case g.round == nil || !slices.Contains(g.round.Tasks, i) || g.round.moved || g.round.sealed != nil:
		g.fail(e, "%s is in no batch that works", b.Task)
	case !g.ready(i) || g.tasks[i].ID != b.Task || b.Version != g.version || b.Base != g.head:
		g.fail(e, "%s is %s and starts from %s", b.Task, g.status[i], b.Base)
	}
	for _, id := range g.tasks[i].DependsOn {
		if c := g.results[id]; c != "" && !g.w.trees[b.Base].work[string(c)] {
			g.fail(e, "%s starts from %s, which does not have %s of %s", b.Task, b.Base, c, id)
		}
	}
	g.started++
	g.kids[e.Loop], g.status[i] = i, pawl.TaskRunning
	delete(g.merged, e.Loop)
	delete(g.queued, e.Loop)
}

// working checks that an attempt begins in a batch, and not after its verdict. V-36
func (g *field) working(e pawl.Event) {
	i, kid := g.kids[e.Loop]
	if r := g.round; kid && (r == nil || !slices.Contains(r.Tasks, i) || r.moved || r.verdicts[i] != "" || g.fenced(i)) {
		g.fail(e, "%s works, and is in no batch", g.tasks[i].ID)
	}
}

// fenced reports whether a task that runs has to leave off.
func (g *field) fenced(i int) bool {
	return g.back != nil && !g.restored || g.calling && g.round == nil || g.stopped ||
		slices.ContainsFunc(g.tasks[i].DependsOn, func(id string) bool { return g.status[g.find(id)] != pawl.TaskPassed })
}

// judged checks what a batch makes of a task. V-38, V-79
func (g *field) judged(e pawl.Event, b *pawl.TaskJudged) {
	r := g.round
	if r == nil || b.Batch != r.N || !slices.Contains(r.Tasks, b.Task) || r.moved {
		g.fail(e, "task %d is not in the batch", b.Task)
	}
	before := r.verdicts[b.Task]
	r.verdicts[b.Task] = b.Verdict
	of := r.chain
	if b.By == "review" { // one rejected does not take those after it out of what was judged
		of = r.shown
	}
	at := slices.IndexFunc(of, func(k ring) bool { return k.task == b.Task })
	if b.Verdict == pawl.VerdictPass {
		if before != "" || at < 0 || !g.greenAll(of[len(of)-1].commit) || (b.By == "review") != (g.c.Judge != nil) {
			g.fail(e, "%s says pass to %s, which was %q, at %d of %v", b.By, g.tasks[b.Task].ID, before, at, of)
		}
		return
	}
	defer r.cut(b.Task)
	switch {
	case b.By == "merge":
		if at >= 0 {
			g.fail(e, "%s is in the candidate and conflicts", g.tasks[b.Task].ID)
		}
		return
	case at < 0:
		g.fail(e, "%s is not in the candidate", g.tasks[b.Task].ID)
	case b.By != "review":
		g.blamed(e, at)
	case before != "":
		g.fail(e, "%s was %s", g.tasks[b.Task].ID, before)
	}
}

// cut takes a task, and what is made on it, out of the chain.
func (r *round) cut(task int) {
	if at := r.at(task); at >= 0 {
		r.chain = r.chain[:at:at]
	}
}

// blamed checks that the link that is left out is the first that makes the candidate red.
func (g *field) blamed(e pawl.Event, at int) {
	chain := g.round.chain
	for _, k := range chain[:at] {
		if !g.greenAll(k.commit) {
			g.fail(e, "link %d is left out, and %s of %v is red or was not looked at", at, k.commit, chain)
		}
	}
	red := func(c pawl.CommitHash) bool {
		found := false
		for _, j := range g.reports[c] {
			if verdict.Passes(j.Verdict) {
				continue
			}
			found = true
			if flaky := j.Kind == pawl.GateTests && !j.Partial && !j.Evidence.IsZero(); flaky && g.heard[fmt.Sprint(c, j.Gate)] < 2 {
				g.fail(e, "%s was not asked once more about %s", j.Gate, c)
			}
		}
		return found
	}
	if !red(chain[at].commit) {
		g.fail(e, "link %d is left out, and is not red: %v", at, chain)
	}
}

// closed checks how a batch came out. V-39
func (g *field) closed(e pawl.Event, b *pawl.BatchEnded) {
	r := g.round
	if r == nil || b.N != r.N {
		g.fail(e, "batch %d is not active", b.N)
	}
	attempted, approved := 0, 0
	for _, i := range r.Tasks {
		waits := g.status[i] == pawl.TaskPending || g.status[i] == pawl.TaskFailed && g.leftOut[g.tasks[i].ID]
		for ref, of := range g.kids {
			if of == i && (g.asked[ref] || g.queued[ref] != "") && r.verdicts[i] == "" {
				waits = true
			}
		}
		switch passed := g.status[i] == pawl.TaskPassed; {
		case passed != (r.moved && r.verdicts[i] == pawl.VerdictPass):
			g.fail(e, "%s is %s, and its verdict is %q", g.tasks[i].ID, g.status[i], r.verdicts[i])
		case passed:
			approved++
			attempted++
		case !waits:
			attempted++
		}
	}
	if b.Approved != approved || b.Attempted != attempted {
		g.fail(e, "%d of %d were approved", approved, attempted)
	}
	g.last, g.round = monitor.Rate{Approved: approved, Attempted: attempted}, nil
}

// done takes over that a task's loop has ended, or the run's.
func (g *field) done(e pawl.Event, b *pawl.LoopEnded) {
	if e.Loop == 1 {
		g.ending(e, b)
		return
	}
	i, live := g.kids[e.Loop]
	if !live {
		g.fail(e, "it was not at work")
	}
	delete(g.kids, e.Loop)
	delete(g.queued, e.Loop)
	in := g.merged[e.Loop] != ""
	switch succeeded := b.Outcome.Succeeded(); {
	case in && g.back != nil && !g.restored: // what it made is undone
		g.status[i] = pawl.TaskPending
	case in != succeeded && g.back == nil:
		g.fail(e, "%s is %s, and that it is merged is %t", g.tasks[i].ID, b.Outcome, in)
	case in:
		g.status[i], g.passed[g.tasks[i].ID] = pawl.TaskPassed, g.rounds
		g.results[g.tasks[i].ID] = ""
		if g.changes[e.Loop] {
			g.results[g.tasks[i].ID] = g.merged[e.Loop]
		}
	case b.Stopped && b.Outcome.Resumable(): // it goes on when the run does
	case g.fenced(i):
		g.status[i] = pawl.TaskPending
	case b.Stopped && g.w.state.Loop(e.Loop).Iteration == 0: // it never worked
		g.status[i] = pawl.TaskSkipped
	default:
		g.status[i] = pawl.TaskFailed
		g.leftOut[g.tasks[i].ID] = b.Outcome == pawl.OutcomeCancelled
	}
}

// ending checks what is left when the run's loop has ended.
func (g *field) ending(e pawl.Event, b *pawl.LoopEnded) {
	if len(g.kids) > 0 || g.asked[1] {
		g.fail(e, "%d are at work", len(g.kids))
	}
	g.stopped = false
	if b.Stopped || g.version == 0 || g.excuse == "stopping" {
		return
	}
	for i, t := range g.tasks {
		if g.ready(i) && g.excuse == "" {
			g.fail(e, "%s can run, and no event says why it does not", t.ID)
		}
	}
	if g.round != nil || g.back != nil {
		g.fail(e, "a batch is under way, or a way back")
	}
}

func (g *field) again(b *pawl.RunResumed) {
	g.resumed(b)
	if r := g.round; r != nil && !r.moved && b.From != "" {
		g.round = &round{BatchStarted: r.BatchStarted, verdicts: map[int]pawl.Verdict{}}
	}
}

// diagnosed checks what a health leads to: no health leads to its recoveries more
// often than it may, since the last good checkpoint, without a person. V-53, V-B16
func (g *field) diagnosed(e pawl.Event, b *pawl.HealthJudged) {
	g.health = b.Health
	if b.Try == 0 {
		if b.Health == pawl.HealthProgressing && len(b.Recoveries) > 0 || b.Health != pawl.HealthProgressing && (g.round == nil || b.Health != pawl.HealthBlocked) {
			g.fail(e, "%s leads to %v", b.Health, b.Recoveries)
		}
		return
	}
	g.recovering[b.Health]++
	most := g.c.Recoveries
	if most == 0 {
		most = 2
	}
	asks := slices.Equal(b.Recoveries, []pawl.Recovery{pawl.RecoverAsk})
	if b.Try != g.recovering[b.Health] || b.Max != most || b.Try > most && !asks {
		g.fail(e, "it is the recovery %d of %d from %s: %+v", g.recovering[b.Health], most, b.Health, b)
	}
	var want []pawl.Recovery
	for _, r := range g.c.Monitor[string(b.Health)] {
		want = append(want, pawl.Recovery(r))
	}
	if !asks && !reflect.DeepEqual(want, b.Recoveries) {
		g.fail(e, "%s leads to %v", b.Health, b.Recoveries)
	}
}

// marked checks a checkpoint: its number, and that a good one is good. V-49, V-B10
func (g *field) marked(e pawl.Event, k pawl.Checkpoint) {
	var good monitor.Rate // of the last good one that it has not gone back behind
	for _, o := range g.checks {
		if o.Good {
			good = o.rate
		}
	}
	healthy := g.health == "" || g.health == pawl.HealthProgressing
	if k.N != g.marks+1 || k.Commit != g.head || k.Batch != g.rounds || g.round != nil || g.last.Approved == 0 ||
		k.Good != (healthy && !g.last.Below(good)) {
		g.fail(e, "checkpoint %+v of %s with the health %s and a rate of %v after %v", k, g.head, g.health, g.last, good)
	}
	g.marks = k.N
	if k.Good {
		g.recovering = map[pawl.Health]int{}
	}
	of := map[string]pawl.Hash{}
	for gate, j := range g.reports[k.Commit] {
		of[gate] = j.Evidence
	}
	g.checks = append(g.checks, milestone{k, g.last, of})
}

// wentBack checks that code and tasks are those of the checkpoint. V-47, V-50
func (g *field) wentBack(e pawl.Event, b *pawl.RolledBack) {
	i := slices.IndexFunc(g.checks, func(k milestone) bool { return k.N == b.To })
	if g.back == nil || !g.restored || b.To != g.back.To || b.Commit != g.head || i < 0 {
		g.fail(e, "nobody called for it")
	}
	k := g.checks[i]
	if g.w.treeAt(g.head) != g.w.treeAt(k.Commit) || !maps.Equal(g.w.trees[g.head].work, g.w.trees[k.Commit].work) {
		g.fail(e, "%s is not as %s", g.head, k.Commit)
	}
	var reopen []int
	for i, t := range g.tasks {
		if g.status[i] == pawl.TaskPassed && g.passed[t.ID] > k.Batch {
			reopen = append(reopen, i)
			g.status[i] = pawl.TaskPending
			delete(g.passed, t.ID)
			delete(g.results, t.ID)
		}
	}
	if !slices.Equal(reopen, b.Reopen) {
		g.fail(e, "%v were approved later", reopen)
	}
	g.back, g.restored, g.checks = nil, false, g.checks[:i+1]
	g.rolled++
}

// remembered checks the numbers of what is remembered. V-51, V-B05
func (g *field) remembered(e pawl.Event, b *pawl.MemoryAdded) {
	if g.memories++; b.N != g.memories {
		g.fail(e, "entry %d is entry %d", b.N, g.memories)
	}
	want := 0
	if g.w.state.Recipe.Records && (b.Kind == pawl.MemoryDecision || b.Kind == pawl.MemoryLearning || b.Kind == pawl.MemoryAntiPattern) {
		g.learned++
		want = g.learned
	}
	if b.Learning != want {
		g.fail(e, "learning %d is learning %d", b.Learning, want)
	}
	if b.Kind == pawl.MemoryAntiPattern && b.Place.Step == "rollback" {
		g.antis++
	}
}

// settled checks what holds whenever a driver looks.
func (g *field) settled() {
	s := g.w.state
	if g.rolled != g.antis && !(g.cut && s.Status == pawl.StatusRunning) {
		g.w.t.Fatalf("event %d: %d ways back led to %d anti-patterns", s.Seq, g.rolled, g.antis)
	}
	if g.rolled == g.antis {
		g.rolled, g.antis, g.cut = 0, 0, false
	}
	for i, t := range g.tasks { // what has passed is in the head
		if c := g.results[t.ID]; g.status[i] == pawl.TaskPassed && c != "" && !g.w.trees[g.head].work[string(c)] && g.back == nil {
			g.w.t.Fatalf("event %d: %s has passed, and the head %s does not have %s", s.Seq, t.ID, g.head, c)
		}
	}
	root := s.Loop(1)
	if g.w.inputs%16 == 0 {
		g.small()
	}
	idle := root != nil && root.Phase == PhaseGates && s.Status == pawl.StatusRunning && s.Stopping == nil && root.gen.planned && !g.asked[1] &&
		g.round == nil && g.back == nil && !g.calling && !g.stopped && len(root.open) == 0 && len(root.sessions) == 0
	if limit := s.childLimit(root); idle {
		if again, ready, _ := g.could(); len(again)+len(ready) > 0 && !(len(again) == 0 && limit > 0 && g.started >= limit && g.capped == limit) {
			g.w.t.Fatalf("event %d: no batch is under way, and %v and %v could be in one", s.Seq, again, ready)
		}
	}
	if s.Status == pawl.StatusEnded && !s.isSuspended() && (len(Pending(s)) > 0 || s.live > 0 || s.openQuestions > 0) {
		g.w.t.Fatalf("event %d: the run has ended with %d effects, %d loops and %d questions", s.Seq, len(Pending(s)), s.live, s.openQuestions)
	}
}

// small checks that loops stay small.
func (g *field) small() {
	for _, l := range g.w.state.loops {
		c := *l
		c.task, c.gen = nil, nil // bounds of their own
		if n := sizeOf(&c); n > 5120 || l.Phase == PhaseDone && n > 300 && !l.stopped && l.Parent != 0 {
			g.w.t.Fatalf("event %d: loop %d in phase %s has %d bytes: %+v", g.w.state.Seq, l.Ref, l.Phase, n, c)
		}
	}
}

// Whatever is in the log of a run whose batches are judged when a driver dies, the
// next one brings the run to its end.
func TestBatchCrashAfterAnyEvent(t *testing.T) {
	t.Parallel()
	seed, n := uint64(1), 0
	defer sayWhere(t, &judged, &seed, &n)
	for ; seed < 9; seed++ {
		full := judged.seeded(t, seed)
		c := calm(full, 1<<32+seed, (*chance).sow)
		for n = range c.w.replay(full.log) {
			if n < 3 || !isTried(n, seed, 2) {
				continue
			}
			c := c.clone()
			_, c.field.cut = full.log[n-1].Body.(*pawl.RolledBack)
			c.w.inherit()
			c.w.crash(0)
			c.calmDown()
		}
	}
}
