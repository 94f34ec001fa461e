package kernel

import (
	"fmt"
	"slices"
	"testing"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// found are runs that once showed a defect, besides those that are simulated anyway:
// what is kept of a finished loop; a list that is refused for ever; a worktree that
// breaks after the merge; limits that are raised while the final steps run.
var found = []uint64{781, 1107, 1277, 1678, 1715, 2102, 2666, 3734}

// TestTreeSimulation drives runs with children through random worlds, as
// TestSimulation does: with random plans, conflicts, discoveries, lists that are
// no plan, questions that people answer late or twice. What must hold of tasks
// and branches at every event is checked by the run's grove.
func TestTreeSimulation(t *testing.T) { trees.test(t) }

var trees = simulation{env: "PAWL_TREE_SEED", seeds: 700, short: 20, found: found, simulate: simulateTree, complete: (*census).completeTree}

func (c *census) completeTree(t *testing.T) {
	if t.Failed() || testing.Short() {
		return
	}
	for k := pawl.Kind(1); k < 100; k++ {
		if treeKind(k) && c.kinds[k] < 10 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeUnverified, pawl.OutcomeIncomplete, pawl.OutcomeBlocked,
		pawl.OutcomeHalted, pawl.OutcomeCancelled, pawl.OutcomeFailed} {
		if c.outcomes[o] < 5 {
			t.Errorf("%d runs ended %s", c.outcomes[o], o)
		}
	}
	for _, answer := range []string{"plan_limit one-more-plan", "plan_limit continue", "plan_limit stop", "stuck continue", "stuck fail", "resumed with another plan", "overruled", "passed overruled"} {
		if c.answers[answer] == 0 {
			t.Errorf("%s never happened", answer)
		}
	}
	t.Logf("%d events; runs ended %v; sessions ended %v; persons answered %v", c.events, c.outcomes, c.ends, c.answers)
}

// treeKind reports whether only runs with children, or with groups of steps, have
// events of this kind.
func treeKind(k pawl.Kind) bool {
	return k >= pawl.KindTasksRead && k <= pawl.KindNotified || k >= pawl.KindTasksListed && k <= pawl.KindMemoryForgotten
}

// batchKind reports whether only runs whose batches are judged as a whole, or that
// were forked, have events of this kind.
func batchKind(k pawl.Kind) bool {
	return k >= pawl.KindCheckpointMarked && k <= pawl.KindRecorded || k >= pawl.KindBatchStarted && k <= pawl.KindForked
}

func simulateTree(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, seed)
	c.rare = 1 + c.IntN(6)
	n := 1 + c.IntN(8)
	if seed%20 == 0 {
		n, c.rare = 20+c.IntN(181), 12
		w.compares = 40
	}
	c.tasks = n
	r, set := c.treeRecipe(), c.treeSettings()
	c.grow()
	w.startWith(r, set, c.given())
	for range 50 + c.IntN(100+20*n) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	return w
}

// grow gives the run a grove, which checks its events.
func (c *chance) grow() {
	c.grove = &grove{w: c.w}
	c.keepBooks()
}

// treeRecipe is the tests' recipe with children, varied.
func (c *chance) treeRecipe() *pawl.Recipe {
	r := treeLoop()
	root, task := &r.Kinds[0], &r.Kinds[1]
	ch := root.Children
	ch.Order, ch.Parallel = pick(c, "list", "priority", "score"), 1+c.IntN(8)
	ch.Group = pick(c, 0, 1, 1)
	ch.OnFailure = pick(c, "", "block", "block", pawl.FailStop)
	ch.Limit = c.IntN(2) * (c.tasks + c.IntN(8))
	if c.IntN(3) > 0 {
		ch.Replan = &pawl.Replan{On: pick(c, []string{"failure"}, []string{"discovery"}, []string{"failure", "discovery"}, nil), Every: c.IntN(5),
			MaxVersions: 1 + c.IntN(5), Prompt: "replan.md"}
	}
	c.forEach(root, "plan")
	if c.more != nil {
		r.Records = c.more.IntN(2) == 0
		root.Steps[0].Questions, task.Steps[0].Questions = c.more.IntN(3) == 0, c.more.IntN(5) == 0
	}
	root.Ladder.Then = pick(c, "blocked", "fail")
	if c.IntN(3) == 0 {
		root.Gates = append(root.Gates, pawl.Stage{Name: "actionable", Builtin: "actionable", On: map[pawl.Verdict]pawl.Route{
			"revise": {From: "plan", Max: 2, Then: pick(c, "fail", "ask")}}})
	}
	if c.IntN(3) == 0 {
		root.FinalGates = []pawl.Stage{{Name: "all", Commands: []string{"*"}}}
	}
	if c.IntN(3) == 0 {
		root.FinalSteps = []pawl.Step{{Name: "close", Prompt: "close.md", Output: "summary", Tier: 1, Turns: 3}}
	}
	if c.IntN(3) == 0 {
		root.Approval = &pawl.Approval{By: pick(c, "human", "auto", "manual", "confidence_threshold"), Threshold: c.IntN(100)}
	}
	task.Iterations, task.Ladder.Council = 1+c.IntN(3), nil
	task.Ladder.Then = pick(c, "fail", "blocked", "replan", "ask")
	work := &task.Steps[0]
	work.Turns, work.Timeout = 2+c.IntN(6), 0
	if c.IntN(3) == 0 {
		work.TierFrom = "model_tier"
	}
	if c.IntN(3) == 0 {
		task.Steps = []pawl.Step{{Name: "work", Repeat: &pawl.Repeat{Max: 1 + c.IntN(3), Until: []string{"COMPLETE"}, OnMax: pick(c, "continue", "fail", "ask"),
			Steps: []pawl.Step{{Name: "decide", Prompt: "next.md", Output: "next", Required: true, Turns: 3},
				{Name: "execute", Prompt: "do.md", Output: "result", Append: true, Turns: 3, When: &pawl.When{Decision: []string{"EXECUTE"}}}}}}}
	}
	if c.IntN(2) == 0 {
		review := pawl.Stage{Name: "review", Review: &pawl.Review{Role: "validator", Prompt: "r.md", Tier: 2, Output: "verdict", Votes: c.IntN(4), Turns: 3}}
		if c.IntN(2) == 0 {
			first := "implement"
			if task.Steps[0].Repeat != nil {
				first = "work"
			}
			review.On = map[pawl.Verdict]pawl.Route{"revise": {From: first, Max: 1 + c.IntN(2), Then: pick(c, "fail", "ask")}, "retry": {From: "start", Max: 1, Then: "fail"}}
		}
		task.Gates = append(task.Gates, review)
	}
	if c.IntN(6) == 0 {
		task.Gates = append(task.Gates, pawl.Stage{Name: "person", Human: true})
	}
	if c.IntN(4) == 0 {
		task.Gates = append(task.Gates, pawl.Stage{Name: "last", Builtin: "tool_results"})
	}
	if c.IntN(3) == 0 {
		task.Extract = &pawl.Step{Name: "learn", Prompt: "learn.md", Output: "learnings", Turns: 2, Tier: 1}
	}
	return r
}

func (c *chance) treeSettings() *pawl.Settings {
	s := settings()
	for _, name := range []string{"tests", "lint"} {
		if c.IntN(3) > 0 {
			s.Gates = append(s.Gates, gate(name))
		}
	}
	s.Limits = c.limits()
	s.Retry.Tries, s.Retry.Pauses = 2+c.IntN(3), c.IntN(2)
	s.HaltOn = slices.DeleteFunc(s.HaltOn, func(pawl.HaltCondition) bool { return c.IntN(6) == 0 })
	if c.IntN(8) == 0 {
		s.Approval, s.ApprovalThreshold = pick(c, "auto", "manual", "confidence_threshold"), c.IntN(100)
	}
	if c.IntN(4) == 0 {
		s.Parallel = 1 + c.IntN(8)
	}
	if c.IntN(4) == 0 {
		n := c.IntN(4)
		s.ReplanEvery = &n
	}
	if c.IntN(3) == 0 {
		s.Callback = &pawl.Callback{URL: "https://example.com/done"}
	}
	if c.more != nil && c.more.IntN(2) == 0 {
		s.Announce = &pawl.Announcing{Command: "notify-send"}
	} else if c.more != nil {
		s.AnswerTime = pawl.DefaultAnswerTime
	}
	return s
}

// given is the list of tasks of the user, or zero.
func (c *chance) given() pawl.Hash {
	if c.IntN(3) > 0 {
		return pawl.Hash{}
	}
	list := c.list()
	for i := range list {
		list[i].Done = c.in(10)
	}
	return c.w.listed("given", list)
}

// listed lets a list of tasks be read under a hash.
func (w *world) listed(name string, list []pawl.TaskEntry) pawl.Hash {
	h := blobOf(name)
	w.lists[h] = list
	return h
}

// list is a new list of tasks, and sometimes one that cannot be a plan.
func (c *chance) list() []pawl.TaskEntry {
	var out []pawl.TaskEntry
	dense := 1 + c.IntN(6)
	for i := range c.tasks {
		e := c.task(fmt.Sprintf("T%d", i+1))
		for j := range i {
			if c.IntN(i*dense) == 0 && len(e.DependsOn) < 6 {
				e.DependsOn = append(e.DependsOn, out[j].ID)
			}
		}
		out = append(out, e)
	}
	c.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return c.spoil(out)
}

func (c *chance) task(id string) pawl.TaskEntry {
	e := pawl.TaskEntry{ID: id, Title: "Task " + id, Spec: blobOf(id), Priority: c.IntN(4), Tier: c.IntN(4), Verify: c.IntN(4), Critical: c.IntN(12) == 0}
	if c.IntN(4) == 0 {
		e.Retries = 1 + c.IntN(3)
	}
	if c.in(20) {
		e.Incomplete = "it has no criteria"
	}
	if c.field != nil {
		e.Scaffold = c.IntN(4) == 0
	}
	return e
}

// spoil makes a list one that cannot be a plan, now and then.
func (c *chance) spoil(list []pawl.TaskEntry) []pawl.TaskEntry {
	if !c.in(8) || len(list) == 0 {
		return list
	}
	a, b := &list[c.IntN(len(list))], &list[c.IntN(len(list))]
	switch c.IntN(5) {
	case 0:
		a.DependsOn = append(a.DependsOn, "nobody")
	case 1:
		a.DependsOn = append(a.DependsOn, a.ID)
	case 2:
		a.DependsOn, b.DependsOn = append(a.DependsOn, b.ID), append(b.DependsOn, a.ID)
	case 3:
		return append(list, *a)
	default:
		return nil
	}
	return list
}

// planFor is what a planner hands in: a new list, or the present one changed.
func (c *chance) planFor(f *pawl.Effect) pawl.Hash {
	list := c.list()
	if g := c.grove; g.version > 0 {
		list = nil
		gone := map[string]bool{}
		for i, e := range g.tasks {
			if drop := c.IntN(6) == 0; drop && (g.status[i] != pawl.TaskPassed || c.in(6)) {
				gone[e.ID] = true
				continue
			}
			list = append(list, e)
		}
		for i := range list {
			list[i].DependsOn = slices.DeleteFunc(slices.Clone(list[i].DependsOn), func(id string) bool { return gone[id] })
			if len(list[i].DependsOn) == 0 {
				list[i].DependsOn = nil
			}
		}
		for i := range c.IntN(3) {
			e := c.task(fmt.Sprintf("N%d-%d", f.ID, i))
			if len(list) > 0 && c.IntN(2) == 0 {
				e.DependsOn = []string{list[c.IntN(len(list))].ID}
			}
			list = append(list, e)
		}
		list = c.spoil(list)
	}
	return c.w.listed(fmt.Sprint("list", f.ID), list)
}

// tree answers the effects of runs with children; nil = it is none of them.
func (c *chance) tree(f *pawl.Effect) pawl.Answer {
	switch do := f.Do.(type) {
	case *pawl.ReadTasks:
		b := &pawl.TasksRead{Effect: f.ID, Entries: c.w.lists[do.List]}
		if c.in(12) {
			b.Entries, b.Problem = nil, "line 3: it is not a list"
		}
		return b
	case *pawl.Merge:
		b := &pawl.Merged{Effect: f.ID}
		switch {
		case !do.Suspect.IsZero() && c.in(3):
			b.Unresolved = 1
		case do.Suspect.IsZero() && c.in(4):
			b.Conflicts, b.Hunks, b.Paths = 1+c.IntN(2), blobOf("hunks"), blobOf("conflicts")
		}
		return b
	case *pawl.AdvanceBranch:
		return &pawl.BranchAdvanced{Effect: f.ID}
	case *pawl.ProbeConflicts:
		b := &pawl.ConflictsProbed{Effect: f.ID}
		for _, o := range do.Others {
			if c.in(3) {
				b.With, b.Hunks = append(b.With, o.Loop), blobOf("hunks")
			}
		}
		return b
	case *pawl.Notify, *pawl.Announce:
		return &pawl.Notified{Effect: f.ID, Status: 200}
	case *pawl.MarkCheckpoint:
		return &pawl.CheckpointMarked{Effect: f.ID}
	case *pawl.Restore:
		return &pawl.Restored{Effect: f.ID, Text: blobOf(do.Reason)}
	case *pawl.WriteRecords:
		return &pawl.Recorded{Effect: f.ID}
	}
	return nil
}

// harnessUse is a call that the harness answers.
func (c *chance) harnessUse(f *pawl.Effect) pawl.ToolUse {
	text := blobOf(fmt.Sprint("text", f.ID)).String()
	if c.in(10) {
		text = "no hash"
	}
	use := pawl.ToolUse{Tool: "remember", Harness: true, Args: blobOf("args"), Facts: pawl.Facts{{Name: "kind", Value: string(pick(c, pawl.MemoryKinds...))}, {Name: "text", Value: text}}}
	if c.IntN(2) == 0 {
		use.Tool = "blackboard"
		use.Facts = pawl.Facts{{Name: "op", Value: pick(c, "set", "get", "list", "")}, {Name: "key", Value: fmt.Sprint("key", c.IntN(70))}, {Name: "value", Value: fmt.Sprint(f.ID)}}
	}
	return use
}

// person answers a question, rightly or not, or asks for something.
func (c *chance) person() {
	w := c.w
	if c.field != nil && c.IntN(4) == 0 {
		c.boss()
		return
	}
	switch c.IntN(5) {
	case 0:
		c.command(pawl.Steering{Verb: pawl.SteerReplan, Reason: pick(c, "", "it is all wrong")})
	case 1:
		c.command(pawl.Steering{Verb: pawl.SteerForget, Memory: c.IntN(4)})
	default:
		in := &pawl.Reply{Question: 1 + c.IntN(w.state.questions+1), Choice: pick(c, choiceApprove, "continue", "nonsense"), By: "kim"}
		if c.more != nil && c.more.IntN(3) > 0 {
			in.Text = "the second one"
		}
		if q := w.openQuestion(); q != nil && c.IntN(4) > 0 {
			in.Question, in.Choice, in.About = q.n, pick(c, q.choices...), q.about
			if c.IntN(6) == 0 {
				in.About = blobOf("another")
			}
		}
		c.command(pawl.Steering{Verb: pawl.SteerAnswer, Answer: in})
	}
}

func (w *world) openQuestion() *question {
	for _, l := range w.state.loops {
		if l.person.question != nil {
			return l.person.question
		}
	}
	return nil
}

// consent answers every open question, so that all goes on.
func (c *chance) consent() bool {
	q := c.w.openQuestion()
	if q == nil || q.overdue && c.w.state.Status != pawl.StatusEnded {
		return false
	}
	c.w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.n, Choice: pick(c, q.choices...), About: q.about, Text: "as you like"}}})
	return true
}

// command gives a command that may be refused, and then changes nothing.
func (c *chance) command(s pawl.Steering) error {
	before := len(c.w.log)
	err := c.w.steer(s)
	if err != nil && (pawl.CodeOf(err) == pawl.CodeInternal || len(c.w.log) != before) {
		c.w.t.Fatalf("%s is refused with %d events: %v", s.Verb, len(c.w.log)-before, err)
	}
	return err
}

// grove keeps its own books of a run's tasks, naively and from the log alone, and
// compares them with what the kernel does.
type grove struct {
	w *world
	c *pawl.Children

	listing, read []pawl.TaskEntry
	tasks         []pawl.TaskEntry
	status        []pawl.TaskStatus
	results       map[string]pawl.CommitHash // what of a passed task must be in the head; empty = it changed nothing
	version       int
	revised       int // versions that are made by the steps: in a further iteration, or sent back to them
	started       int
	kids          map[pawl.LoopRef]int // live, and which task each works on
	queue         []pawl.LoopRef
	merged        map[pawl.LoopRef]pawl.CommitHash
	queued        map[pawl.LoopRef]pawl.CommitHash
	changes       map[pawl.LoopRef]bool        // its last candidate changes something
	judging       map[pawl.Seq]pawl.CommitHash // what command gates look at
	green         map[pawl.CommitHash][]string // the gates that let it pass
	through       map[pawl.LoopRef]bool        // a child's last attempt has decided that it passed
	rootEnds      bool                         // the root's last attempt has decided its outcome
	excuse        string                       // why work may be left
	capped        int                          // the limit on children that was reached last
}

func (g *grove) fail(e pawl.Event, format string, args ...any) {
	g.w.t.Helper()
	g.w.t.Fatalf("event %d (%s of loop %d): %s", e.Seq, e.Body.EventKind(), e.Loop, fmt.Sprintf(format, args...))
}

// saw takes an event into the books. It has been applied.
func (g *grove) saw(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		g.c = g.w.state.Recipe.Kinds[0].Children
		g.through = map[pawl.LoopRef]bool{}
		g.judging, g.green = map[pawl.Seq]pawl.CommitHash{}, map[pawl.CommitHash][]string{}
		g.kids, g.merged, g.queued, g.results, g.changes = map[pawl.LoopRef]int{}, map[pawl.LoopRef]pawl.CommitHash{}, map[pawl.LoopRef]pawl.CommitHash{}, map[string]pawl.CommitHash{}, map[pawl.LoopRef]bool{}
	case *pawl.TasksListed:
		g.listing = append(g.listing, b.Entries...)
	case *pawl.TasksRead:
		g.read, g.listing = g.listing[max(0, len(g.listing)-b.Count):], nil // a fork may begin in the middle of a list
	case *pawl.PlanAccepted:
		g.accepted(e, b)
	case *pawl.LoopStarted:
		if b.Parent != 0 {
			g.begun(e, b)
		}
	case *pawl.LoopEnded:
		g.ended(e, b)
	case *pawl.TasksBlocked:
		g.blocked(e, b)
	case *pawl.TasksSkipped:
		for _, i := range b.Tasks {
			if g.status[i] != pawl.TaskPending {
				g.fail(e, "%s is %s", g.tasks[i].ID, g.status[i])
			}
			g.status[i] = pawl.TaskSkipped
		}
	case *pawl.QuestionAnswered:
		if b.Choice == choiceOneMore {
			g.revised++
		}
	case *pawl.RunResumed:
		g.resumed(b)
	case *pawl.Forked:
		g.forked()
	default:
		g.sawMerge(e)
	}
	g.compare(e)
}

func (g *grove) sawMerge(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.Committed:
		g.changes[e.Loop] = b.Total > 0
	case *pawl.MergeQueued:
		g.queue = append(g.queue, e.Loop)
		g.queued[e.Loop] = b.Commit
	case *pawl.EffectRequested:
		if do, ok := b.Effect.Do.(*pawl.RunGate); ok {
			g.judging[e.Seq] = do.Commit
		}
	case *pawl.GateJudged:
		if c := g.judging[b.Effect]; verdict.Passes(b.Verdict) && b.Effect != 0 {
			g.green[c] = append(g.green[c], b.Gate)
		}
	case *pawl.BranchAdvanced:
		g.proven(e, b)
		if len(g.queue) == 0 || g.queue[0] != e.Loop { // in the order of the queue
			g.fail(e, "the queue is %v", g.queue)
		}
		g.merged[e.Loop] = g.queued[e.Loop]
		g.leave(e.Loop)
	case *pawl.IterationEnded, *pawl.IterationRestarted:
		g.leave(e.Loop)
		if b, ok := b.(*pawl.IterationEnded); ok && e.Loop == 1 {
			g.rootEnds = b.Outcome != ""
		} else if ok && b.Outcome.Succeeded() {
			g.through[e.Loop] = true
		}
		if b, ok := b.(*pawl.IterationEnded); ok && e.Loop == 1 && b.Decision != pawl.DecideComplete {
			g.excuse = b.Reason
		}
	case *pawl.Rerouted:
		g.leave(e.Loop)
		if e.Loop == 1 {
			g.revised++
		}
	case *pawl.IterationStarted:
		if e.Loop == 1 && g.version > 0 {
			g.revised++
		}
	case *pawl.LimitReached:
		if b.Limit == pawl.LimitTasks {
			g.excuse, g.capped = "limit", int(b.Max)
		}
	case *pawl.RunStopping:
		g.excuse, g.rootEnds = "stopping", true
	}
}

// proven checks that a merge commit whose tree no candidate had was judged by every
// command before it became the branch's head.
func (g *grove) proven(e pawl.Event, b *pawl.BranchAdvanced) {
	if tree := g.w.treeAt(b.Commit); tree == g.w.treeAt(g.queued[e.Loop]) {
		return
	}
	for i, spec := range g.w.state.Settings.Gates {
		if !g.w.state.isLeftOut(i) && !slices.Contains(g.green[b.Commit], spec.Name) {
			g.fail(e, "%s is the head, and %s did not judge it", b.Commit, spec.Name)
		}
	}
}

func (g *grove) leave(ref pawl.LoopRef) {
	g.queue = slices.DeleteFunc(g.queue, func(r pawl.LoopRef) bool { return r == ref })
}

// accepted checks that a plan can be one, and that it keeps what has passed. L-B11, P-B17
func (g *grove) accepted(e pawl.Event, b *pawl.PlanAccepted) {
	if len(g.kids) > 0 || b.Version != g.version+1 || b.Count != len(g.read) {
		g.fail(e, "version %d of %d tasks follows version %d, %d were read, %d are at work", b.Version, b.Count, g.version, len(g.read), len(g.kids))
	}
	if r := g.c.Replan; g.version > 0 && (r == nil && g.revised == 0 || r != nil && b.Version > r.MaxVersions+g.revised) {
		g.fail(e, "version %d is more than there may be", b.Version)
	}
	if !sane(g.read) {
		g.fail(e, "it is no plan: %s", mustJSON(g.w.t, g.read))
	}
	status := make([]pawl.TaskStatus, len(g.read))
	at := func(id string) int {
		return slices.IndexFunc(g.read, func(t pawl.TaskEntry) bool { return t.ID == id })
	}
	for i, t := range g.tasks {
		if g.status[i] == pawl.TaskPassed {
			if at(t.ID) < 0 {
				g.fail(e, "%s has passed and is gone", t.ID)
			}
			status[at(t.ID)] = pawl.TaskPassed
		}
	}
	for i, t := range g.read {
		if t.Done {
			status[i] = pawl.TaskPassed
		}
	}
	g.tasks, g.status, g.version = g.read, status, b.Version
}

// sane reports whether a list can be a plan: the obvious way.
func sane(list []pawl.TaskEntry) bool {
	at := map[string]int{}
	for i, t := range list {
		if _, twice := at[t.ID]; twice {
			return false
		}
		at[t.ID] = i
	}
	done := map[string]bool{}
	for range list { // in each round every task is done that waits for nobody
		for _, t := range list {
			if !slices.ContainsFunc(t.DependsOn, func(id string) bool { return !done[id] }) {
				done[t.ID] = true
			}
		}
	}
	return len(list) > 0 && len(done) == len(list)
}

// ready reports whether a task can run: it is pending, and all it depends on has
// passed. P-65, P-66, P-67, L-72
func (g *grove) ready(i int) bool {
	return g.status[i] == pawl.TaskPending && !slices.ContainsFunc(g.tasks[i].DependsOn, func(id string) bool { return g.status[g.find(id)] != pawl.TaskPassed })
}

func (g *grove) find(id string) int {
	return slices.IndexFunc(g.tasks, func(t pawl.TaskEntry) bool { return t.ID == id })
}

// first is the task that goes next; -1 = none. P-69, P-70, L-73
func (g *grove) first() int {
	best := -1
	for i := range g.tasks {
		if g.ready(i) && (best < 0 || g.before(i, best)) {
			best = i
		}
	}
	return best
}

// before reports whether a task goes before one that is earlier in the list.
func (g *grove) before(i, j int) bool {
	priority := func(i int) int {
		if p := g.tasks[i].Priority; p > 0 {
			return p
		}
		return 99
	}
	switch g.c.Order {
	case "priority":
		return priority(i) < priority(j)
	case "score":
		a, b := g.chain(g.tasks[i].ID, map[string]int{}), g.chain(g.tasks[j].ID, map[string]int{})
		return a > b || a == b && priority(i) < priority(j)
	}
	return false
}

// chain counts the tasks on the longest way from a task to one nobody waits for.
func (g *grove) chain(id string, known map[string]int) int {
	if n, ok := known[id]; ok {
		return n
	}
	n := 0
	for _, t := range g.tasks {
		if slices.Contains(t.DependsOn, id) {
			n = max(n, g.chain(t.ID, known))
		}
	}
	known[id] = n + 1
	return n + 1
}

// begun checks that a task may start: it is the one that goes first, there is a
// place for it, and what it depends on is in what it starts from.
func (g *grove) begun(e pawl.Event, b *pawl.LoopStarted) {
	s, root := g.w.state, g.w.state.Loop(1)
	i := b.Entry - 1
	if want := g.first(); i != want || g.tasks[i].ID != b.Task || b.Version != g.version {
		g.fail(e, "%s starts, and the first is %d of %s", b.Task, want+1, mustJSON(g.w.t, g.tasks))
	}
	if len(g.kids) >= s.parallel(root) || s.Status != pawl.StatusRunning || root.person.question != nil || root.gen.plan.Calling != "" {
		g.fail(e, "%d are at work, and it must wait", len(g.kids))
	}
	if g.started++; s.childLimit(root) > 0 && g.started > s.childLimit(root) {
		g.fail(e, "%d of %d may be started", g.started, s.childLimit(root))
	}
	for _, id := range g.tasks[i].DependsOn {
		if c := g.results[id]; c != "" && !g.w.trees[b.Base].work[string(c)] {
			g.fail(e, "%s starts from %s, which does not have %s of %s", b.Task, b.Base, c, id)
		}
	}
	g.kids[e.Loop], g.status[i] = i, pawl.TaskRunning
	delete(g.merged, e.Loop)
}

func (g *grove) ended(e pawl.Event, b *pawl.LoopEnded) {
	if e.Loop == 1 {
		g.over(e, b)
		return
	}
	i, live := g.kids[e.Loop]
	if !live {
		g.fail(e, "it was not at work")
	}
	delete(g.kids, e.Loop)
	g.leave(e.Loop)
	switch {
	case b.Stopped && b.Outcome.Resumable(): // it goes on when the run does
	case b.Stopped && g.w.state.Loop(e.Loop).Iteration == 0: // it never worked
		g.status[i] = pawl.TaskSkipped
	case b.Outcome == pawl.OutcomeComplete || b.Outcome == pawl.OutcomeUnverified:
		g.status[i] = pawl.TaskPassed
		if g.merged[e.Loop] == "" && g.changes[e.Loop] {
			g.fail(e, "%s has passed and is not merged", g.tasks[i].ID)
		}
		g.results[g.tasks[i].ID] = g.merged[e.Loop]
	default:
		g.status[i] = pawl.TaskFailed
	}
	if g.merged[e.Loop] != "" && g.status[i] != pawl.TaskPassed {
		g.fail(e, "%s is merged and %s", g.tasks[i].ID, g.status[i])
	}
}

// blocked checks that what is blocked depends on what failed. P-B01
func (g *grove) blocked(e pawl.Event, b *pawl.TasksBlocked) {
	cause := g.find(b.Cause)
	if g.status[cause] != pawl.TaskFailed {
		g.fail(e, "the cause %s is %s", b.Cause, g.status[cause])
	}
	for _, i := range b.Tasks {
		if g.status[i] != pawl.TaskPending || !g.behind(i, func(j int) bool { return j == cause }) {
			g.fail(e, "%s is %s", g.tasks[i].ID, g.status[i])
		}
		g.status[i] = pawl.TaskBlocked
	}
}

// behind reports whether a task depends, directly or not, on one that is so.
func (g *grove) behind(i int, is func(int) bool) bool {
	seen := make([]bool, len(g.tasks))
	var walk func(int) bool
	walk = func(i int) bool {
		for _, id := range g.tasks[i].DependsOn {
			j := g.find(id)
			if is(j) {
				return true
			}
			if !seen[j] {
				seen[j] = true
				if walk(j) {
					return true
				}
			}
		}
		return false
	}
	return walk(i)
}

func (g *grove) resumed(b *pawl.RunResumed) {
	if b.From == "" {
		return
	}
	g.excuse, g.rootEnds = "", false
	for i, st := range g.status {
		if st == pawl.TaskFailed || st == pawl.TaskBlocked || st == pawl.TaskSkipped {
			g.status[i] = pawl.TaskPending
		}
	}
	for _, l := range g.w.state.loops[1:] {
		if l.Phase != PhaseDone {
			g.kids[l.Ref] = l.slot.entry
		}
	}
}

// forked takes over that nothing is at work any more: a task whose work is merged has
// passed, another one is to be done. After the root's end it is as when it is resumed.
func (g *grove) forked() {
	for i, st := range g.status {
		if st == pawl.TaskRunning {
			g.status[i] = pawl.TaskPending
			g.started--
		}
	}
	for ref, i := range g.kids {
		if g.merged[ref] != "" || g.through[ref] {
			g.status[i], g.results[g.tasks[i].ID] = pawl.TaskPassed, g.merged[ref]
			g.started++
		}
	}
	g.kids, g.queue, g.excuse = map[pawl.LoopRef]int{}, nil, ""
	if g.rootEnds {
		g.resumed(&pawl.RunResumed{From: pawl.OutcomeHalted})
	}
	g.rootEnds = false
}

// over checks what is left when the root has ended.
func (g *grove) over(e pawl.Event, b *pawl.LoopEnded) {
	g.rootEnds = true
	if len(g.kids) > 0 {
		g.fail(e, "%d are at work", len(g.kids))
	}
	head := g.w.state.Loop(1).Head
	for i, t := range g.tasks { // every task that passed is in the final head
		if c := g.results[t.ID]; g.status[i] == pawl.TaskPassed && c != "" && !g.w.trees[head].work[string(c)] {
			g.fail(e, "%s has passed, and the head %s does not have %s", t.ID, head, c)
		}
	}
	if b.Stopped || g.version == 0 || g.excuse == "stopping" {
		return
	}
	if i := g.first(); i >= 0 && g.excuse == "" {
		g.fail(e, "%s can run, and no event says why it does not", g.tasks[i].ID)
	}
	for i := range g.tasks { // blocked is the closure of what failed
		doomed := g.behind(i, func(j int) bool { return g.status[j] == pawl.TaskFailed })
		if g.status[i] == pawl.TaskBlocked && !doomed || g.status[i] == pawl.TaskPending && doomed && g.excuse == "" {
			g.fail(e, "%s is %s: %v", g.tasks[i].ID, g.status[i], g.status)
		}
	}
}

// compare checks that the kernel's plan is that of the books.
func (g *grove) compare(e pawl.Event) {
	root := g.w.state.Loop(1)
	if root == nil || root.gen.plan == nil {
		return
	}
	p := root.gen.plan
	if p.Version != g.version || len(p.Entries) != len(g.tasks) || p.Started != g.started || len(p.Kids) != len(g.kids) {
		g.fail(e, "the plan is version %d of %d tasks, %d started, %d at work, and by the log %d, %d, %d, %d", p.Version, len(p.Entries), p.Started, len(p.Kids),
			g.version, len(g.tasks), g.started, len(g.kids))
	}
	for i := range g.tasks {
		if p.At(i).Status != g.status[i] {
			g.fail(e, "%s is %s, and by the log %s", g.tasks[i].ID, p.At(i).Status, g.status[i])
		}
	}
}

// settled checks what holds whenever a driver looks: no place is idle while a task
// is ready, one merge is made at a time, and loops stay small.
func (g *grove) settled() {
	s := g.w.state
	root := s.Loop(1)
	merging := 0
	for _, f := range Pending(s) {
		if v := f.Do.Verb(); v == pawl.VerbAdvanceBranch || v == pawl.VerbMerge && f.Place.Step == "merge" {
			if merging++; merging > 1 || len(g.queue) == 0 || g.queue[0] != f.Loop {
				g.w.t.Fatalf("event %d: loop %d merges, and the queue is %v", s.Seq, f.Loop, g.queue)
			}
		}
	}
	if g.w.inputs%16 == 0 {
		for _, l := range s.loops {
			c := *l
			c.task, c.gen = nil, nil // bounds of their own
			if n := sizeOf(&c); n > 5120 || l.Phase == PhaseDone && n > 300 && !l.stopped && l.Parent != 0 {
				g.w.t.Fatalf("event %d: loop %d in phase %s has %d bytes: %+v", s.Seq, l.Ref, l.Phase, n, c)
			}
		}
	}
	idle := root != nil && root.Phase == PhaseGates && s.Status == pawl.StatusRunning && s.Stopping == nil && root.gen.planned && root.person.question == nil &&
		root.gen.plan.Calling == "" && len(root.open) == 0 && len(root.sessions) == 0
	if idle && (len(g.kids) == 0 || len(g.kids) < s.parallel(root)) {
		limit := s.childLimit(root)
		if i := g.first(); i >= 0 && !(limit > 0 && g.started >= limit && g.capped == limit) {
			g.w.t.Fatalf("event %d: %d of %d places are taken, and %s could run", s.Seq, len(g.kids), s.parallel(root), g.tasks[i].ID)
		}
	}
	if s.Status == pawl.StatusEnded && !s.isSuspended() && (len(Pending(s)) > 0 || s.live > 0 || s.openQuestions > 0) {
		g.w.t.Fatalf("event %d: the run has ended with %d effects, %d loops and %d questions", s.Seq, len(Pending(s)), s.live, s.openQuestions)
	}
}

// maxCalm is after how many steps in which nothing fails a run must have ended.
const maxCalm = 40_000

// Whatever is in the log of a run with children when a driver dies, the next one
// brings the run to its end.
func TestTreeCrashAfterAnyEvent(t *testing.T) {
	t.Parallel()
	seed, n := uint64(1), 0
	defer sayWhere(t, &trees, &seed, &n)
	for ; seed < 12; seed++ {
		full := trees.seeded(t, seed)
		c := calm(full, seed, (*chance).grow)
		for n = range c.w.replay(full.log) {
			if n < 3 || !isTried(n, seed, 1) {
				continue
			}
			c := c.clone()
			c.w.inherit()
			c.w.crash(0)
			c.calmDown()
		}
	}
}
