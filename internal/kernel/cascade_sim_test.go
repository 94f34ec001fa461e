package kernel

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/verdict"
)

// foundInCascades are runs that once showed a defect, besides those that are simulated
// anyway: the callback of a run that a signal ends; a loop that ends while one above it ends those
// below; a question of a loop whose worktree
// breaks; the time that loops below one have to end, which is nothing in flight.
var foundInCascades = []uint64{571, 585, 1201, 1340, 2435, 2552}

// TestCascadeSimulation drives trees of four levels, each of which stands on an artifact of
// the one above, through random worlds, as TestSimulation does: with gates that fail,
// conflicts, providers' limits, and persons who approve, ask for another iteration, reject,
// answer late, and tell loops to stop, pause, continue or rebase, or give them information.
// The run's wood checks every event.
func TestCascadeSimulation(t *testing.T) { cascaded.test(t) }

var cascaded = simulation{env: "PAWL_CASCADE_SEED", seeds: 300, short: 20, found: foundInCascades, simulate: simulateCascade, complete: (*census).completeCascades}

func (c *census) completeCascades(t *testing.T) {
	if t.Failed() || testing.Short() {
		return
	}
	for _, k := range []pawl.Kind{pawl.KindSignalSent, pawl.KindSignalAcknowledged, pawl.KindLoopAdmitted, pawl.KindGenerationStarted, pawl.KindInvalidated,
		pawl.KindArchived, pawl.KindTaskRetried, pawl.KindQuestionAnswered} {
		if c.kinds[k] < 10 {
			t.Errorf("%s happened %d times in %d events", k, c.kinds[k], c.events)
		}
	}
	for _, o := range []pawl.Outcome{pawl.OutcomeComplete, pawl.OutcomeUnverified, pawl.OutcomeHalted, pawl.OutcomeCancelled, pawl.OutcomeFailed} {
		if c.outcomes[o] < 5 {
			t.Errorf("%d runs ended %s", c.outcomes[o], o)
		}
	}
	t.Logf("%d events; runs ended %v; %d loops let in, %d generations, %d signals, %d retried", c.events, c.outcomes,
		c.kinds[pawl.KindLoopAdmitted], c.kinds[pawl.KindGenerationStarted], c.kinds[pawl.KindSignalSent], c.kinds[pawl.KindTaskRetried])
}

func simulateCascade(t testing.TB, seed uint64) *world {
	w := newWorld(t)
	c := newChance(w, 1<<33+seed)
	c.rare = 2 + c.IntN(30)
	w.compares = 1 + 15*c.IntN(2)
	r, set := c.cascadeRecipe(), c.treeSettings()
	set.Approval, set.Limits.Iterations = "", c.IntN(2)*(1+c.IntN(6))
	c.plant()
	w.start(r, set)
	for range 100 + c.IntN(2500) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	c.wood.over()
	return w
}

// cascadeRecipe is the tests' recipe of four levels, varied.
func (c *chance) cascadeRecipe() *pawl.Recipe {
	r := levels()
	if c.IntN(3) == 0 {
		r.Kinds[0].Approval = nil
	}
	r.Loops = c.IntN(3) * c.IntN(5)
	for i := range r.Kinds {
		k := &r.Kinds[i]
		k.Iterations, k.Concurrent = 1+c.IntN(4), c.IntN(3)*c.IntN(4)
		if k.Children != nil {
			k.Children.Parallel = 1 + c.IntN(5)
			k.Children.Order = pick(c, "list", "score", "score", "priority")
			k.Steps[0].Turns = 3 + c.IntN(4)
			k.Steps[0].Questions = c.IntN(8) == 0
		}
		if c.IntN(4) == 0 && i > 0 {
			k.FinalGates = []pawl.Stage{{Name: "all-" + k.Name, Commands: []string{"*"}}}
		}
		if c.IntN(4) == 0 {
			k.Gates = append(k.Gates, pawl.Stage{Name: "judge-" + k.Name, Review: &pawl.Review{Role: "judge", Prompt: "j.md", Tier: 2, Output: "verdict", Turns: 3}})
		}
	}
	r.Kinds[3].Steps[0].Turns = 3 + c.IntN(4)
	return r
}

// artifact is what a level hands in: 1 to 4 specs, 3 or 4 phases, one piece of code, and
// sometimes what cannot be one.
func (c *chance) artifact(f *pawl.Effect) pawl.Hash {
	l := c.w.state.Loop(f.Loop)
	n := map[string]int{"plan": 1 + c.IntN(4), "spec": 3 + c.IntN(2), "phase": 1}[l.Kind.Name]
	if c.in(6) {
		n++
	}
	var out []pawl.TaskEntry
	for i := range n {
		e := pawl.TaskEntry{ID: fmt.Sprintf("%s%d", l.Kind.Children.Kind, i+1), Title: "Work", Spec: blobOf(fmt.Sprint(l.Ref, i)), Priority: c.IntN(3), Validated: c.IntN(3) == 0}
		for j := range i {
			if c.IntN(3*i) == 0 {
				e.DependsOn = append(e.DependsOn, out[j].ID)
			}
		}
		out = append(out, e)
	}
	return c.w.listed(fmt.Sprint("artifact", f.ID), c.spoil(out))
}

// tellsLoops tells loops something, rightly or not, or answers a question.
func (c *chance) tellsLoops() {
	s := c.w.state
	l := s.loops[c.IntN(len(s.loops))]
	switch c.IntN(8) {
	case 0:
		c.person()
	case 1:
		c.decides()
	case 2:
		c.command(pawl.Steering{Verb: pawl.SteerArchive, Loop: pick(c, "", l.ID, "nobody")})
	default:
		kind := pick(c, pawl.SignalInfo, pawl.SignalPause, pawl.SignalResume, pawl.SignalResume, pawl.SignalRebase, pawl.SignalError, pawl.SignalInvalidate, "shout")
		if c.IntN(80) == 0 {
			kind = pawl.SignalStop
		}
		to := pick(c, l.ID, l.ID, "descendants:"+l.ID, "children:"+l.ID, "type:"+l.Kind.Name, "status:"+string(l.status()), "nobody", "all:x")
		if kind == pawl.SignalPause && c.IntN(3) > 0 {
			to = l.ID
		}
		c.command(pawl.Steering{Verb: pawl.SteerSignal, By: "kim", Reason: pick(c, "", "because"), Signal: &pawl.Signaling{Signal: kind, To: to, Text: pick(c, "", "look at it")}})
	}
}

// decides answers an open question, mostly in favour of what is asked about.
func (c *chance) decides() bool {
	q := c.w.openQuestion()
	if q == nil || q.overdue && c.w.state.Status != pawl.StatusEnded {
		return false
	}
	choice := q.choices[0]
	if c.IntN(3) == 0 {
		choice = q.choices[c.IntN(len(q.choices)-c.IntN(2))]
	}
	c.w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.n, Choice: choice, About: q.about, Text: pick(c, "as you like", "no"), By: "kim"}}})
	return true
}

// release lets every loop go on that a signal holds, and reports whether one did.
func (c *chance) release() bool {
	for _, l := range c.w.state.loops {
		if l.inbox.Held && l.Phase != PhaseDone {
			c.w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalResume, To: l.ID}}})
			return true
		}
	}
	return false
}

// tree is what the books of a wood know of one loop.
type tree struct {
	*pawl.LoopStarted
	ref        pawl.LoopRef
	admitted   bool
	ended      pawl.Outcome // empty = it has not
	stopped    bool
	invalid    bool
	generation int
	iteration  int
	branch     string
	born       time.Time
	approved   bool             // of its present artifact
	asked      int              // the number of the question about it
	list       []pawl.TaskEntry // its present artifact
	version    int
	spawned    int                  // children of it
	passed     map[int]pawl.LoopRef // by entry
	merged     bool
	work       pawl.CommitHash // what was merged
	red        string          // the gate that objects to the merge commit; empty = none does
}

// wood keeps books of a run's tree of loops, from the log.
type wood struct {
	w        *world
	trees    []*tree
	branches map[string]bool // every branch that a loop had
	ids      map[string]bool
	signals  []signed
	listing  map[pawl.LoopRef][]pawl.TaskEntry
	next     pawl.LoopRef // the parent whose children are coming to exist; 0 = none
	left     int          // and how many more must come
	stopping bool
	ended    bool
}

// signed is a signal that was sent.
type signed struct {
	loop pawl.LoopRef
	kind pawl.SignalKind
	seen bool
}

// plant gives the run a wood, which checks its events.
func (c *chance) plant() {
	c.wood = &wood{w: c.w, branches: map[string]bool{}, ids: map[string]bool{}, listing: map[pawl.LoopRef][]pawl.TaskEntry{}}
	c.keepBooks()
}

func (g *wood) fail(e pawl.Event, format string, args ...any) {
	g.w.t.Helper()
	g.w.t.Fatalf("event %d (%s of loop %d): %s", e.Seq, e.Body.EventKind(), e.Loop, fmt.Sprintf(format, args...))
}

func (g *wood) at(ref pawl.LoopRef) *tree { return g.trees[ref-1] }

// live reports whether a loop has begun and not ended.
func (t *tree) live() bool { return t.admitted && t.ended == "" }

// below goes over those that stand below a loop.
func (g *wood) below(ref pawl.LoopRef, yield func(*tree)) {
	for _, t := range g.trees {
		for at := t; at.Parent != 0; at = g.at(at.Parent) {
			if at.Parent == ref {
				yield(t)
				break
			}
		}
	}
}

func (g *wood) saw(e pawl.Event) {
	if e.Loop == 0 {
		g.sawRun(e)
		return
	}
	if b, ok := e.Body.(*pawl.LoopStarted); ok {
		g.begun(e, b)
		return
	}
	t := g.at(e.Loop)
	if g.left > 0 {
		g.fail(e, "%d more children of loop %d must exist first", g.left, g.next)
	}
	if _, filed := e.Body.(*pawl.Archived); t.invalid && !filed {
		g.fail(e, "it was invalidated")
	}
	if _, what := e.Body.(*pawl.Invalidated); t.ended != "" && !t.invalid && !what && e.Body.EventKind() != pawl.KindArchived {
		g.fail(e, "it has ended")
	}
	g.sawLoop(e, t)
}

func (g *wood) sawRun(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStopping:
		g.stopping = true
	case *pawl.RunEnded:
		g.stopping, g.ended = false, true
		if b.Question > 0 {
			return
		}
		for _, t := range g.trees {
			if t.ended == "" {
				g.fail(e, "loop %d has not ended", t.ref)
			}
		}
	case *pawl.RunResumed:
		g.ended = false
		if b.From != "" {
			for _, l := range g.w.state.loops {
				if t := g.at(l.Ref); l.Phase != PhaseDone && t.ended != "" {
					if p := l.Parent; p != 0 && (!t.stopped || t.invalid || g.at(p).ended != "" || t.ParentGeneration != g.at(p).generation) {
						g.fail(e, "loop %d goes on, which ended %s", l.Ref, t.ended)
					}
					t.ended, t.stopped = "", false
				}
			}
		}
	}
}

// begun checks that children exist all at once, of the parent's present artifact, which
// was approved if it must be., R-B25
func (g *wood) begun(e pawl.Event, b *pawl.LoopStarted) {
	if g.ids[b.ID] || g.branches[b.Branch] {
		g.fail(e, "its id %s or branch %s was another loop's", b.ID, b.Branch)
	}
	g.ids[b.ID], g.branches[b.Branch] = true, true
	t := &tree{LoopStarted: b, ref: e.Loop, admitted: !b.Pending, generation: 1, branch: b.Branch, born: e.Time, passed: map[int]pawl.LoopRef{}}
	g.trees = append(g.trees, t)
	if b.Parent == 0 {
		t.branch = g.w.state.Started.WorkRef()
		return
	}
	p := g.at(b.Parent)
	kind := g.w.state.Recipe.Kind(p.Kind)
	switch {
	case !b.Pending || b.Base != "" || g.w.state.Loop(e.Loop).HasWorkspace:
		g.fail(e, "it does not wait for its turn")
	case kind.Approval != nil && !p.approved:
		g.fail(e, "nobody approved what it stands on")
	case !p.live() || b.ParentIteration != p.iteration || b.ParentGeneration != p.generation || b.Version != p.version || p.list[b.Entry-1].ID != b.Task:
		g.fail(e, "it stands on iteration %d of generation %d, and that is %d of %d", b.ParentIteration, b.ParentGeneration, p.iteration, p.generation)
	case g.left > 0 && g.next != b.Parent:
		g.fail(e, "%d more children of loop %d must exist first", g.left, g.next)
	}
	for _, o := range g.trees[:e.Loop-1] {
		if o.Parent == b.Parent && o.ended == "" && (o.ParentGeneration != b.ParentGeneration || o.Entry == b.Entry) {
			g.fail(e, "loop %d of generation %d, entry %d, has not ended", o.ref, o.ParentGeneration, o.Entry)
		}
	}
	if p.spawned == 0 {
		g.next, g.left = b.Parent, len(p.list)
	}
	p.spawned++
	g.left = max(g.left-1, 0)
}

func (g *wood) sawLoop(e pawl.Event, t *tree) {
	switch b := e.Body.(type) {
	case *pawl.TasksListed:
		g.listing[e.Loop] = append(g.listing[e.Loop], b.Entries...)
	case *pawl.EffectRequested:
		g.requests(e, t, &b.Effect)
	case *pawl.PlanAccepted:
		n := len(g.listing[e.Loop])
		t.list, t.version, t.approved, t.spawned = slices.Clone(g.listing[e.Loop][n-b.Count:]), b.Version, false, 0
		clear(t.passed)
		g.below(e.Loop, func(o *tree) {
			if o.ended == "" {
				g.fail(e, "loop %d, which stands on the artifact before, has not ended", o.ref)
			}
		})
	case *pawl.QuestionAsked:
		if b.Kind == pawl.AskPlan {
			t.asked = b.N
		}
	case *pawl.QuestionAnswered:
		if b.N == t.asked {
			t.approved = b.Choice == choiceApprove
		}
	case *pawl.LoopAdmitted:
		g.letIn(e, t, b)
	case *pawl.IterationStarted:
		t.iteration = b.N
	case *pawl.SignalSent:
		g.signals = append(g.signals, signed{loop: e.Loop, kind: b.Signal})
		if b.N != len(g.signals) {
			g.fail(e, "signal %d is the %d.", b.N, len(g.signals))
		}
	case *pawl.SignalAcknowledged:
		if b.N < 1 || b.N > len(g.signals) || g.signals[b.N-1].loop != e.Loop || g.signals[b.N-1].seen {
			g.fail(e, "signal %d is not its own, or acknowledged", b.N)
		}
		kind := g.signals[b.N-1].kind
		g.signals[b.N-1].seen = true
		resumed := slices.ContainsFunc(g.signals, func(o signed) bool { return o.loop == e.Loop && o.kind == pawl.SignalResume && !o.seen })
		holds := kind == pawl.SignalStop || kind == pawl.SignalInvalidate || kind == pawl.SignalPause && !resumed
		if l := g.w.state.Loop(e.Loop); holds && slices.ContainsFunc(l.open, func(f *pawl.Effect) bool { return !mustFinish(f) && !isTeardownWait(f) }) {
			g.fail(e, "it is held or ends, and has %d effects in flight", len(l.open))
		}
	case *pawl.BranchAdvanced:
		t.merged = true
	case *pawl.MergeQueued:
		t.work, t.red = b.Commit, ""
	case *pawl.GateJudged:
		if b.Kind != "" && b.On == "" && !verdict.Passes(b.Verdict) {
			t.red = b.Gate
		}
	case *pawl.Merged: // it is judged anew
		t.red = ""
	case *pawl.GenerationStarted:
		g.anew(e, t, b)
	case *pawl.Invalidated:
		if t.ended == "" || t.invalid {
			g.fail(e, "it has not ended, or was invalidated before")
		}
		t.invalid = true
	case *pawl.LoopEnded:
		g.finished(e, t, b)
	}
}

// requests checks that nothing is done to the branch of a loop that has ended. R-58
func (g *wood) requests(e pawl.Event, t *tree, f *pawl.Effect) {
	if !t.live() {
		g.fail(e, "it wants %s, and does not run", f.Do.Verb())
	}
	if do, ok := f.Do.(*pawl.AdvanceBranch); ok {
		if t.red != "" {
			g.fail(e, "it moves %s, and %s objects", do.Branch, t.red)
		}
		if p := g.at(t.Parent); do.Branch != p.branch || !p.live() || t.ParentGeneration != p.generation {
			g.fail(e, "it moves %s, and its parent has %s", do.Branch, p.branch)
		}
	}
}

// anew checks the start of a new generation: every loop below has ended and is invalidated,
// and the branch is a new one, except that the root can keep its own. R-23 R-54 R-59
func (g *wood) anew(e pawl.Event, t *tree, b *pawl.GenerationStarted) {
	g.below(e.Loop, func(o *tree) {
		if o.ended == "" || !o.invalid {
			g.fail(e, "loop %d ended %q, invalid %t", o.ref, o.ended, o.invalid)
		}
	})
	if b.N != t.generation+1 || b.Branch == t.branch && e.Loop != 1 || b.Branch != t.branch && g.branches[b.Branch] {
		g.fail(e, "generation %d follows %d, branch %s %s", b.N, t.generation, b.Branch, t.branch)
	}
	g.branches[b.Branch] = true
	if b.Branch != t.branch {
		t.work = "" // what was made before stays on the branch before
	}
	t.generation, t.branch, t.approved, t.spawned = b.N, b.Branch, false, 0
	clear(t.passed)
}

func (g *wood) finished(e pawl.Event, t *tree, b *pawl.LoopEnded) {
	t.ended, t.stopped = b.Outcome, b.Stopped
	for i, sg := range g.signals {
		if sg.loop == e.Loop && !sg.seen { // R-B09
			g.fail(e, "it has not acknowledged signal %d", i+1)
		}
	}
	g.below(e.Loop, func(o *tree) {
		if o.ended == "" {
			g.fail(e, "loop %d below it has not ended", o.ref)
		}
	})
	if b.Outcome.Succeeded() {
		g.keeps(e, t)
	}
	if p := t.Parent; p != 0 && b.Outcome.Succeeded() {
		if !t.merged && t.work != "" {
			g.fail(e, "its work is not merged")
		}
		g.at(p).passed[t.Entry] = t.ref
	}
}

// keeps checks that a loop that succeeded has all that its children made.
func (g *wood) keeps(e pawl.Event, t *tree) {
	if len(t.passed) < len(t.list) && g.w.state.Recipe.Kind(t.Kind).Children != nil {
		g.fail(e, "%d of %d children passed", len(t.passed), len(t.list))
	}
	head := g.w.state.Loop(t.ref).Head
	for _, ref := range t.passed {
		if o := g.at(ref); o.merged {
			for work := range g.w.trees[o.work].work {
				if !g.w.trees[head].work[work] {
					g.fail(e, "%s of loop %d is not in %s", work, ref, head)
				}
			}
		}
	}
}

// ready reports whether a loop that waits could be let in, places aside: all it depends
// on has passed, and it is the first by its parent's order, unless scores decide.
func (g *wood) ready(t *tree) bool {
	if t.Parent == 0 {
		return false
	}
	p, l := g.at(t.Parent), g.w.state.Loop(t.Parent)
	if t.admitted || t.ended != "" || l.Phase != PhaseGates || !l.gen.planned || l.person.question != nil || l.inbox.Held || l.isEnding() {
		return false
	}
	if o := g.w.state.Loop(t.ref); o.inbox.Held || o.isEnding() {
		return false
	}
	free := func(i int) bool {
		return !slices.ContainsFunc(p.list[i].DependsOn, func(id string) bool {
			j := slices.IndexFunc(p.list, func(o pawl.TaskEntry) bool { return o.ID == id })
			return p.passed[j+1] == 0
		})
	}
	if !free(t.Entry - 1) {
		return false
	}
	order := g.w.state.Recipe.Kind(p.Kind).Children.Order
	for _, o := range g.trees {
		if o.Parent != t.Parent || o.admitted || o.ended != "" || o == t || !free(o.Entry-1) || order == "score" {
			continue
		}
		a, b := p.list[o.Entry-1].Priority, p.list[t.Entry-1].Priority
		if a == 0 {
			a = 99
		}
		if b == 0 {
			b = 99
		}
		if order == "list" && o.Entry < t.Entry || order == "priority" && (a < b || a == b && o.Entry < t.Entry) {
			return false
		}
	}
	return true
}

// places says which limit keeps a ready loop waiting; empty = none does. The extra
// loops are at work besides.
func (g *wood) places(t *tree, extra int) string {
	s := g.w.state
	kind, parent := s.Recipe.Kind(t.Kind), s.Recipe.Kind(g.at(t.Parent).Kind)
	beside, alike, all := extra, extra, extra
	for _, o := range g.trees {
		if o.Parent == t.Parent && o.live() {
			beside++
		}
		l := s.Loop(o.ref)
		kids := slices.ContainsFunc(g.trees, func(k *tree) bool { return k.Parent == o.ref && k.ended == "" })
		if o.live() && l.person.question == nil && !l.inbox.Held && !(kids && l.gen.planned) {
			all++
			if o.Kind == t.Kind {
				alike++
			}
		}
	}
	limit := s.Recipe.Loops
	if limit == 0 {
		limit = pawl.DefaultLoops
	}
	if s.Settings.Parallel > 0 {
		limit = min(limit, s.Settings.Parallel)
	}
	switch {
	case beside >= max(parent.Children.Parallel, 1):
		return fmt.Sprintf("%d beside it", beside)
	case kind.Concurrent > 0 && alike >= kind.Concurrent:
		return fmt.Sprintf("%d of its kind", alike)
	case all >= limit:
		return fmt.Sprintf("%d in the run", all)
	}
	return ""
}

// score is a waiting loop's, the obvious way.
func (g *wood) score(t *tree, at time.Time) int {
	n := g.w.state.Recipe.Kind(t.Kind).Priority
	for o := t; o.Parent != 0; o = g.at(o.Parent) {
		n += 10
	}
	n += min(int(at.Sub(t.born).Minutes()), 50)
	tries := 0
	p := g.w.state.Loop(t.Parent)
	if p.gen.plan != nil {
		tries = int(p.gen.plan.At(t.Entry - 1).Tries)
	}
	return n - min(5*tries, 30)
}

// letIn checks that a loop that is let in may be, and that no other one goes before it.
func (g *wood) letIn(e pawl.Event, t *tree, b *pawl.LoopAdmitted) {
	s := g.w.state
	if t.admitted || t.ended != "" || s.Status != pawl.StatusRunning || s.Stopping != nil {
		g.fail(e, "it does not wait")
	}
	if !g.ready(t) {
		g.fail(e, "it is not its turn")
	}
	if b.Base != s.onto(s.Loop(t.Parent)).Head || b.Score != g.score(t, e.Time) {
		g.fail(e, "it begins at %s with %d points, and should at %s with %d", b.Base, b.Score, s.onto(s.Loop(t.Parent)).Head, g.score(t, e.Time))
	}
	if why := g.places(t, 0); why != "" {
		g.fail(e, "it has no place: %s", why)
	}
	for _, o := range g.trees {
		if o != t && g.ready(o) && g.places(o, 0) == "" {
			if n := g.score(o, e.Time); n > b.Score || n == b.Score && o.ref < t.ref {
				g.fail(e, "loop %d has %d points, and it has %d", o.ref, n, b.Score)
			}
		}
	}
	t.admitted = true
}

// settled checks what holds whenever a driver looks: nobody waits who could run, the
// counts are those of the books, and loops stay small.
func (g *wood) settled() {
	s := g.w.state
	if g.left > 0 {
		g.w.t.Fatalf("event %d: %d children of loop %d do not exist", s.Seq, g.left, g.next)
	}
	if s.Status == pawl.StatusRunning && s.Stopping == nil {
		for _, t := range g.trees {
			if g.ready(t) && g.places(t, 0) == "" {
				g.w.t.Fatalf("event %d: loop %d waits and could run: %s", s.Seq, t.ref, describe(s))
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
	if s.Status == pawl.StatusEnded && !s.isSuspended() && (len(Pending(s)) > 0 || s.live > 0 || s.openQuestions > 0 || len(s.queue) > 0 || slices.Max(s.busy) > 0) {
		g.w.t.Fatalf("event %d: the run has ended with %d effects, %d loops and %d questions; %v wait, %v at work", s.Seq, len(Pending(s)), s.live, s.openQuestions, s.queue, s.busy)
	}
}

// over checks what is left when all is over.
func (g *wood) over() {
	for i, sg := range g.signals {
		if !sg.seen {
			g.w.t.Fatalf("signal %d of loop %d was never acknowledged", i+1, sg.loop)
		}
	}
}

// cascadesAt continues simulated runs, or forks of them, from the middle of their logs. The
// children of an artifact are appended together, so only a fork can begin among them.
func cascadesAt(t *testing.T, distance int, forks bool, goOn func(c *chance)) {
	seed, n := uint64(0), 0
	defer sayWhere(t, &cascaded, &seed, &n)
	for ; seed < 6; seed++ {
		full := cascaded.seeded(t, seed)
		c, log := calm(full, seed, (*chance).plant), full.log
		if forks { // a fork's branches have other names than those in the books
			c.w.watch, c.w.look, log = nil, nil, forked(log)
		}
		due := false
		for n = range c.w.replay(log) {
			due = due || n >= 3 && isTried(n, seed, distance)
			if !due || !forks && n < len(log) && log[n].Body.EventKind() == pawl.KindLoopStarted {
				continue
			}
			due = false
			c := c.clone()
			goOn(c)
		}
	}
}

// Whatever is in the log of a tree when a driver dies, the next one brings it to its end:
// also after a part of what was decided at once.
func TestCascadeCrashAfterAnyEvent(t *testing.T) {
	t.Parallel()
	cascadesAt(t, 16, false, func(c *chance) {
		c.w.inherit()
		c.w.crash(0)
		c.calmDown()
	})
}

// A fork of a tree begins its loops anew, and asks anew about a plan.
func TestCascadeForkAnywhere(t *testing.T) {
	t.Parallel()
	cascadesAt(t, 30, true, func(c *chance) {
		fork(t, c.w)
		c.calmDown()
		asks, approved := c.w.state.Recipe.Kinds[0].Approval != nil, false
		for _, e := range c.w.log {
			switch b := e.Body.(type) {
			case *pawl.Forked, *pawl.PlanAccepted:
				approved = approved && e.Loop > 1
			case *pawl.QuestionAnswered:
				approved = approved || e.Loop == 1 && b.Choice == choiceApprove
			case *pawl.LoopStarted:
				if b.Parent == 1 && asks && !approved {
					t.Fatalf("event %d: nobody approved what loop %d stands on", e.Seq, e.Loop)
				}
			}
		}
	})
}
