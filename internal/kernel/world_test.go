package kernel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// world is everything outside the kernel for one run: the clock, the worktrees
// and branches, the models, tools and gates, and a driver that performs what is
// pending. Time is virtual: the world moves from one finished effect to the next.
type world struct {
	t       testing.TB
	now     time.Time
	off     time.Duration // what the clock that events are told by shows beyond now
	jumped  time.Duration // the part of it that no input has told of
	state   *State
	log     []pawl.Event
	stored  []pawl.Event // the log after encoding and decoding
	flights []flight
	// shadow is a second fold of the log, independent of state.
	shadow *State
	ledger ledger
	// happens says what performing an effect gives, and how long it takes.
	happens func(f *pawl.Effect) (pawl.Answer, time.Duration)

	folder                                   // the root's worktree
	folders  map[pawl.LoopRef]*folder        // those of its children
	branches map[string]pawl.CommitHash      // where each is
	trees    map[pawl.CommitHash]commitModel // of every commit that was made
	commits  map[pawl.Seq]*pawl.Committed    // by the first effect that asked for it, so that one made again is the same
	lists    map[pawl.Hash][]pawl.TaskEntry  // what a list of tasks reads as
	compares int                             // inputs between two comparisons of the whole state with the log's; 0 = wholeEvery
	inputs   int
	touched  []pawl.LoopRef   // loops of the last input's events
	watch    func(pawl.Event) // sees every event once it is applied; nil = nobody does
	look     func()           // sees the state after every input; nil = nobody does

	prepared map[pawl.CommitHash]*pawl.Prepared // how commits were, last
	perTask  bool                               // the run's branch gets one commit per task
	long     bool                               // hashes of git are as long as they are
	taken    map[pawl.CommitHash]bool           // what a person added to the run's branch, and its work has
	launched map[pawl.Seq]bool                  // effects that were performed, or begun
}

// folder is a loop's worktree.
type folder struct {
	tree      pawl.TreeHash
	head      pawl.CommitHash
	closed    bool
	furnished string // the key of what was prepared that it has
}

// commitModel is a commit: its tree, and the work that is in it. The work of two
// commits together is that of their merge.
type commitModel struct {
	tree pawl.TreeHash
	work map[string]bool
}

// folderOf is a loop's worktree.
func (w *world) folderOf(ref pawl.LoopRef) *folder {
	if ref <= 1 {
		return &w.folder
	}
	if w.folders[ref] == nil {
		w.folders[ref] = &folder{}
	}
	return w.folders[ref]
}

// flight is an effect that is being performed.
type flight struct {
	effect *pawl.Effect
	lands  time.Time
	answer pawl.Answer
}

var worldBegin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newWorld(t testing.TB) *world {
	w := &world{t: t, now: worldBegin, state: &State{}, shadow: &State{}, commits: map[pawl.Seq]*pawl.Committed{}, launched: map[pawl.Seq]bool{},
		folders: map[pawl.LoopRef]*folder{}, branches: map[string]pawl.CommitHash{}, trees: map[pawl.CommitHash]commitModel{},
		lists: map[pawl.Hash][]pawl.TaskEntry{}, prepared: map[pawl.CommitHash]*pawl.Prepared{}}
	w.ledger.t = t
	return w
}

// maxEvent is how many bytes an event may have, the first one excepted.
const maxEvent = 2048

const worldRun pawl.RunID = "001-add-login"

func (w *world) start(recipe *pawl.Recipe, settings *pawl.Settings) {
	w.t.Helper()
	w.startWith(recipe, settings, pawl.Hash{})
}

// startWith starts a run with a list of tasks.
func (w *world) startWith(recipe *pawl.Recipe, settings *pawl.Settings, tasks pawl.Hash) {
	w.t.Helper()
	if w.perTask {
		recipe.Commits = pawl.CommitsTask
	}
	first := started(w.t, recipe, settings)
	first.Tasks = tasks
	if w.long {
		first.Base = pawl.CommitHash(w.name("c", 0))
	}
	w.mustTake(Input{Start: &Start{Run: worldRun, Started: first}})
}

func started(t testing.TB, recipe *pawl.Recipe, settings *pawl.Settings) *pawl.RunStarted {
	first := &pawl.RunStarted{
		Task: 1, Title: "Add login", Goal: blobOf("goal"), Criteria: blobOf("criteria"), Count: 2,
		Base: "c0", Branch: "pawl/001-add-login", Seed: 7, Sandbox: "none", Version: "test",
		Recipe: mustJSON(t, recipe), Settings: mustJSON(t, settings),
	}
	if recipe.Commits == pawl.CommitsTask {
		first.Attempts, first.Author = pawl.AttemptsFolder+string(worldRun), pawl.Identity{Name: "Ada", Email: "ada@example.org"}
	}
	return first
}

func mustJSON(t testing.TB, v any) pawl.JSON {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func blobOf(name string) pawl.Hash { return pawl.HashOf([]byte(name)) }

// maxInputs is more than any run here takes, so that a run which never ends fails its test
// instead of hanging it.
const maxInputs = 50_000

// jump sets the clock that events are told by. What has to pass in the world passes as before.
func (w *world) jump(by time.Duration) { w.off, w.jumped = w.off+by, w.jumped+by }

// take gives the run an input, as a driver does: decide, append, apply.
func (w *world) take(in Input) error {
	in.At, in.Jumped = w.now.Add(w.off), w.jumped
	events, err := Decide(w.state, in)
	if w.inputs++; w.inputs > maxInputs {
		w.t.Fatalf("after %d inputs the run has not ended", maxInputs)
	}
	if !w.isAsLogged(events) {
		w.t.Helper()
		w.t.Fatalf("after event %d the state is not what the log says, or deciding %s changed it:\n%s", w.state.Seq, inputName(in), w.differs())
	}
	if err != nil {
		if len(events) > 0 {
			w.t.Fatalf("%s was refused with events", inputName(in))
		}
		return err
	}
	w.jumped = 0
	for _, e := range events {
		w.append(e)
	}
	w.settled()
	return nil
}

// wholeEvery is the number of inputs between two comparisons of the whole state. Comparing it
// at every input took most of the tests' time. Loops that events touch are compared at every
// input.
const wholeEvery = 16

// isWhole reports whether everything is checked at the present input.
func (w *world) isWhole() bool { return w.inputs%cmp.Or(w.compares, wholeEvery) == 0 }

// isAsLogged reports whether the state equals the fold of the log after a decision: no loop
// has a second copy that could differ from the log. R-B27
func (w *world) isAsLogged(decided []pawl.Event) bool {
	touched := w.touched
	w.touched = nil
	for _, e := range decided {
		if l := w.state.Loop(e.Loop); l != nil {
			touched = append(touched, l.Ref, l.Parent)
		}
		w.touched = append(w.touched, e.Loop)
	}
	if w.isWhole() {
		return equal(w.state, w.shadow)
	}
	a, b := *w.state, *w.shadow
	a.loops, a.open, b.loops, b.open = nil, nil, nil, nil
	slices.Sort(touched)
	return equal(&a, &b) && !slices.ContainsFunc(slices.Compact(touched), func(ref pawl.LoopRef) bool {
		return ref != 0 && !equal(w.state.Loop(ref), w.shadow.Loop(ref))
	})
}

func (w *world) mustTake(in Input) {
	if err := w.take(in); err != nil {
		w.t.Helper()
		w.t.Fatalf("%s: %v", inputName(in), err)
	}
}

func inputName(in Input) string {
	switch {
	case in.Start != nil:
		return "start"
	case in.Answer != nil:
		return fmt.Sprintf("%s of effect %d", in.Answer.EventKind(), in.Answer.Answers())
	case in.Recover != nil:
		return "recover"
	case in.Steer != nil:
		return string(in.Steer.Verb)
	case in.Turn != nil:
		return "agent_progressed"
	case in.Fork != nil:
		return "fork"
	}
	return "nothing"
}

// append makes an event part of the log and of both states.
func (w *world) append(e pawl.Event) {
	data := pawl.AppendEvent(nil, e)
	if len(data) > maxEvent && e.Seq > 1 {
		w.t.Fatalf("event %d has %d bytes: %s", e.Seq, len(data), mustJSON(w.t, e))
	}
	stored, err := pawl.DecodeEvent(e.Run, e.Seq, data)
	if err != nil {
		w.t.Fatalf("event %d cannot be read back: %v", e.Seq, err)
	}
	if !equal(&stored, &e) {
		w.t.Fatalf("event %d is read back as another:\n%s\n%s", e.Seq, mustJSON(w.t, e), mustJSON(w.t, stored))
	}
	w.ledger.before(w.state, e)
	if b, ok := e.Body.(*pawl.Prepared); ok {
		do := w.state.Find(b.Effect).Do.(*pawl.Prepare)
		if w.prepared[do.Commit] = b; do.Furnish && b.Failed == "" {
			w.folderOf(e.Loop).furnished = b.Key // of a log that is replayed
		}
	}
	if err := Apply(w.state, e); err != nil {
		w.t.Fatal(err)
	}
	if err := Apply(w.shadow, e); err != nil {
		w.t.Fatal(err)
	}
	if e.Seq == 1 { // compared once; shared from here on, so that comparing is quick
		if !reflect.DeepEqual(w.state, w.shadow) {
			w.t.Fatal("the first event is folded differently")
		}
		w.shadow.Started, w.shadow.Recipe, w.shadow.Settings = w.state.Started, w.state.Recipe, w.state.Settings // also by its loops
		w.shadow.flows = w.state.flows
	}
	if isTried(int(e.Seq), 0, snapshotDistance) {
		w.shadow = w.restored(w.shadow)
	}
	w.log, w.stored = append(w.log, e), append(w.stored, stored)
	w.ledger.after(w.state, stored)
	if w.watch != nil {
		w.watch(e)
	}
}

// settled does what a driver does once events are durable: what is pending is
// under way, and nothing else.
func (w *world) settled() {
	w.checkPublished()
	w.ledger.settled(w.state, w.isWhole())
	if w.look != nil {
		w.look()
	}
	pending := Pending(w.state)
	w.flights = slices.DeleteFunc(w.flights, func(f flight) bool {
		_, ok := findEffect(pending, f.effect.ID)
		return !ok
	})
	for _, f := range pending {
		if !slices.ContainsFunc(w.flights, func(o flight) bool { return o.effect.ID == f.ID }) {
			w.launch(f)
		}
	}
}

// launch begins to perform an effect. A wait lasts as long as it says; what
// takes longer than its time is answered with a timeout.
func (w *world) launch(f *pawl.Effect) {
	if l := w.state.Loop(f.Loop); f.Do.Verb() == pawl.VerbCallModel && l.working() && l.worktree.Tree != w.folderOf(f.Loop).tree {
		w.t.Fatalf("effect %d goes on with a worktree of %s, and it holds %s", f.ID, l.worktree.Tree, w.folderOf(f.Loop).tree)
	}
	if l := w.state.Loop(f.Loop); f.Do.Verb() == pawl.VerbCallModel && !l.working() && l.sessionByN(f.Session).Purpose == pawl.ForStep {
		if at := w.branches[w.state.branch(l)]; w.folderOf(f.Loop).head != at && l.Phase == PhaseGates {
			w.t.Fatalf("effect %d tells of %s, and the branch is at %s", f.ID, w.folderOf(f.Loop).head, at)
		}
	}
	if once := f.Class == pawl.CrashOnce || f.Class == pawl.CrashCharge; once && w.launched[f.ID] {
		w.t.Fatalf("effect %d of class %s is performed twice", f.ID, f.Class)
	}
	w.checkPrepared(f)
	w.launched[f.ID] = true
	answer, takes := w.happens(f)
	if f.Timeout > 0 && takes > f.Timeout {
		takes = f.Timeout
		answer = failed(f, pawl.FailTimeout, "it took longer than "+f.Timeout.String())
	}
	w.flights = append(w.flights, flight{f, w.now.Add(takes), answer})
}

// checkPrepared checks that a gate judges a commit that was prepared, and that an
// implementation begins with what was prepared for the head it begins with.
func (w *world) checkPrepared(f *pawl.Effect) {
	if len(w.state.Settings.Prepare) == 0 {
		return
	}
	l := w.state.Loop(f.Loop)
	switch do := f.Do.(type) {
	case *pawl.RunGate:
		if b := w.prepared[do.Commit]; b == nil || b.Failed != "" || b.Key != do.Prepared {
			w.t.Fatalf("effect %d judges %s with what was prepared under %q: %+v", f.ID, do.Commit, do.Prepared, b)
		}
	case *pawl.CallModel:
		if l.Phase == PhaseSteps && l.worktree.Furnished != "" && l.worktree.Furnished != w.folderOf(f.Loop).furnished {
			w.t.Fatalf("effect %d goes on with a worktree that has %q, and it is said to have %q", f.ID, w.folderOf(f.Loop).furnished, l.worktree.Furnished)
		}
	}
}

func failed(f *pawl.Effect, code pawl.FailureCode, message string) *pawl.EffectFailed {
	return &pawl.EffectFailed{Effect: f.ID, Failure: pawl.Failure{Code: code, Message: message}}
}

// next is the flight that lands first; -1 when nothing is under way.
func (w *world) next() int {
	first := -1
	for i, f := range w.flights {
		if first < 0 || f.lands.Before(w.flights[first].lands) {
			first = i
		}
	}
	return first
}

// land finishes the flight that lands first and reports whether there was one.
func (w *world) land() bool {
	i := w.next()
	if i < 0 {
		return false
	}
	f := w.flights[i]
	w.flights = slices.Delete(w.flights, i, i+1)
	if f.lands.After(w.now) {
		w.now = f.lands
	}
	w.mustTake(Input{Answer: w.touch(f)})
	return true
}

// touch lets an effect change the world at the moment it is over.
func (w *world) touch(f flight) pawl.Answer {
	at := w.folderOf(f.effect.Loop)
	if at.closed {
		switch f.answer.(type) {
		case *pawl.WorkspaceInspected, *pawl.WorkspaceReset, *pawl.Committed:
			w.t.Fatalf("effect %d, %s, is on a worktree that is closed", f.effect.ID, f.effect.Do.Verb())
		}
	}
	switch b := f.answer.(type) {
	case *pawl.EffectFailed:
		if f.effect.Class == pawl.CrashOnce { // it failed, and left something
			at.tree = pawl.TreeHash(fmt.Sprintf("tree-%d-failed", f.effect.ID))
		}
		if isTurn(f.effect) && !b.Failure.Unsent && f.effect.ID%3 != 0 && w.state.Loop(f.effect.Loop).working() {
			at.tree = pawl.TreeHash(fmt.Sprintf("tree-%d-half", f.effect.ID))
		}
	case *pawl.ModelReplied:
		if b.Agent != nil {
			w.turn(f.effect, b.Agent, at)
		}
	case *pawl.ToolReturned:
		if f.effect.Class != pawl.CrashRepeat && !b.Conflict && !b.IsError {
			at.tree = pawl.TreeHash(w.name("tree-", f.effect.ID))
		}
		if f.effect.Class != pawl.CrashRepeat {
			b.Tree = at.tree
		}
	case *pawl.WorkspaceOpened:
		do := f.effect.Do.(*pawl.OpenWorkspace)
		if w.branches[do.Branch] == "" {
			w.branches[do.Branch] = do.Base
		}
		if do.Result != "" {
			b.Result = w.openResult(f.effect, do)
		}
		*at = folder{tree: w.treeAt(w.branches[do.Branch]), head: w.branches[do.Branch]}
		b.Head, b.Tree = at.head, at.tree
	case *pawl.Prepared:
		if do := f.effect.Do.(*pawl.Prepare); do.Furnish && b.Failed == "" {
			if at.closed || at.head != do.Commit {
				w.t.Fatalf("effect %d furnishes a worktree at %s for %s", f.effect.ID, at.head, do.Commit)
			}
			at.furnished = b.Key
		}
	case *pawl.WorkspaceClosed:
		at.closed = true
	case *pawl.Committed:
		return w.commit(f.effect, b)
	case *pawl.WorkspaceInspected:
		b.Tree = at.tree
	case *pawl.WorkspaceReset:
		do := f.effect.Do.(*pawl.ResetWorkspace)
		*at = folder{tree: w.treeAt(do.Commit), head: do.Commit, furnished: at.furnished}
		if !do.Detached {
			w.branches[w.state.branch(w.state.Loop(f.effect.Loop))] = do.Commit
		}
		b.Head, b.Tree = at.head, at.tree
	case *pawl.Merged:
		w.merge(f.effect, b)
	case *pawl.Restored:
		do := f.effect.Do.(*pawl.Restore)
		w.keepsOthers(f.effect.Loop, do)
		b.Commit, b.Tree = w.harnessCommit(f.effect, do.Branch, do.From, do.To), w.treeAt(do.To)
	case *pawl.Recorded:
		do := f.effect.Do.(*pawl.WriteRecords)
		b.Commit = w.harnessCommit(f.effect, do.Branch, do.From, do.From)
	case *pawl.Published:
		b.Commit = w.publish(f.effect, f.effect.Do.(*pawl.Publish))
	case *pawl.BranchAdvanced:
		do := f.effect.Do.(*pawl.AdvanceBranch)
		if now := w.branches[do.Branch]; now != do.From && now != do.To {
			w.t.Fatalf("effect %d moves %s from %s to %s, and it is at %s", f.effect.ID, do.Branch, do.From, do.To, now)
		}
		w.branches[do.Branch], b.Commit = do.To, do.To
	}
	return f.answer
}

// keepsOthers checks that a child which goes back keeps the work of others that it stands on.
func (w *world) keepsOthers(ref pawl.LoopRef, do *pawl.Restore) {
	if l := w.state.Loop(ref); l.ratchets() {
		for work := range w.trees[l.Base].work {
			if !w.trees[do.To].work[work] {
				w.t.Fatalf("loop %d goes back to %s, which lacks %s of its base %s", ref, do.To, work, l.Base)
			}
		}
	}
}

// harnessCommit makes a commit on a branch that has the tree of another one.
func (w *world) harnessCommit(f *pawl.Effect, branch string, from, like pawl.CommitHash) pawl.CommitHash {
	c := pawl.CommitHash(w.name("h", cmp.Or(f.First, f.ID)))
	if now := w.branches[branch]; now != from && now != c {
		w.t.Fatalf("effect %d commits on %s, and %s is at %s", f.ID, from, branch, now)
	}
	w.branches[branch] = c
	w.trees[c] = commitModel{w.treeAt(like), maps.Clone(w.trees[like].work)}
	return c
}

// openResult finds the run's branch, or makes it, and merges what a person has added to it into
// the branch of the worktree.
func (w *world) openResult(f *pawl.Effect, do *pawl.OpenWorkspace) pawl.CommitHash {
	now := w.branches[do.Result]
	switch {
	case now == "":
		w.branches[do.Result] = do.Known
		return do.Known
	case now == do.Known || w.taken[now]:
		return now
	}
	if w.taken == nil {
		w.taken = map[pawl.CommitHash]bool{}
	}
	w.taken[now] = true
	head := pawl.CommitHash(w.name("t", f.ID))
	w.trees[head] = commitModel{treeOf(head), maps.Clone(w.trees[w.branches[do.Branch]].work)}
	w.branches[do.Branch] = head
	return now
}

// publish makes a commit on the run's branch that has the tree of another one. Nothing else moves
// that branch, except a person.
func (w *world) publish(f *pawl.Effect, do *pawl.Publish) pawl.CommitHash {
	if do.Branch == w.state.Started.WorkRef() {
		w.t.Fatalf("effect %d publishes on %s, where the attempts are", f.ID, do.Branch)
	}
	if now := w.branches[do.Branch]; now == do.From && w.treeAt(now) == w.treeAt(do.Of) {
		return now
	}
	return w.harnessCommit(f, do.Branch, do.From, do.Of)
}

// checkPublished checks that the run's branch has what the run has reached, if it succeeded.
func (w *world) checkPublished() {
	s := w.state
	if s.Started == nil || !s.publishes() || s.Status != pawl.StatusEnded || !s.Outcome.Succeeded() || s.Recipe.Records {
		return
	}
	if has, want := w.treeAt(w.branches[s.Started.Branch]), w.treeAt(s.Loop(1).Head); has != want {
		w.t.Fatalf("the run ended %s, its branch has %s, and the work is %s", s.Outcome, has, want)
	}
}

// merge makes a commit of two: made again it is the same. Its tree is that of the
// one side where the other has nothing of its own.
func (w *world) merge(f *pawl.Effect, b *pawl.Merged) {
	do := f.Do.(*pawl.Merge)
	ours, theirs := w.trees[do.Ours].work, w.trees[do.Theirs].work
	work := maps.Clone(theirs)
	if work == nil {
		work = map[string]bool{}
	}
	maps.Copy(work, ours)
	b.Commit = pawl.CommitHash(w.name("m", f.ID))
	switch b.Tree = treeOf(b.Commit); {
	case b.Conflicts > 0:
	case len(work) == len(theirs):
		b.Tree = w.treeAt(do.Theirs)
	case len(work) == len(ours):
		b.Tree = w.treeAt(do.Ours)
	}
	w.trees[b.Commit] = commitModel{b.Tree, work}
}

func (w *world) treeAt(c pawl.CommitHash) pawl.TreeHash {
	if m, ok := w.trees[c]; ok {
		return m.tree
	}
	return treeOf(c)
}

// name is a hash of git's for an effect: short, for the stories, or as long as they are.
func (w *world) name(prefix string, id pawl.Seq) string {
	name := fmt.Sprint(prefix, id)
	if w.long {
		name += strings.Repeat("0", 40-len(name))
	}
	return name
}

func treeOf(c pawl.CommitHash) pawl.TreeHash { return pawl.TreeHash("tree-of-" + c) }

// commit makes a commit whose tree is the one asked for, or else what the worktree holds.
func (w *world) commit(f *pawl.Effect, b *pawl.Committed) *pawl.Committed {
	first := cmp.Or(f.First, f.ID)
	c, at, do := *b, w.folderOf(f.Loop), f.Do.(*pawl.Commit)
	if made := w.commits[first]; made != nil {
		if now := w.branches[do.Branch]; now != made.Commit || at.tree != made.Tree {
			w.t.Fatalf("effect %d takes %s, made by %d, for its commit, and %s is at %s and the worktree holds %s", f.ID, made.Commit, first, do.Branch, now, at.tree)
		}
		again := *made
		again.Effect = f.ID
		return &again
	}
	if now := w.branches[do.Branch]; now != do.Parent && now != "" {
		w.t.Fatalf("effect %d commits on %s, and %s is at %s", f.ID, do.Parent, do.Branch, now)
	}
	c.Commit = pawl.CommitHash(w.name("c", f.ID))
	if c.Tree == "" {
		c.Tree = treeOf(c.Commit)
	}
	*at = folder{tree: c.Tree, head: c.Commit, furnished: at.furnished}
	w.branches[do.Branch] = c.Commit
	work := maps.Clone(w.trees[do.Parent].work)
	if work == nil {
		work = map[string]bool{}
	}
	if c.Total > 0 {
		work[string(c.Commit)] = true
	}
	w.trees[c.Commit] = commitModel{c.Tree, work}
	w.commits[first] = &c
	return &c
}

// crash lets the driver die with everything under way, and another take over later.
func (w *world) crash(down time.Duration) {
	w.t.Helper()
	w.flights = nil
	w.now = w.now.Add(down)
	w.mustTake(Input{Recover: &Recover{Pid: 1}})
}

func (w *world) steer(s pawl.Steering) error {
	return w.take(Input{Steer: &s})
}

// differs says where the two states differ.
func (w *world) differs() string {
	return fmt.Sprintf("state:  %s\nshadow: %s", describe(w.state), describe(w.shadow))
}

func describe(s *State) string {
	out := fmt.Sprintf("%+v", *s)
	for _, l := range s.loops {
		out += fmt.Sprintf("\n  %+v", *l)
		for _, x := range l.sessions {
			out += fmt.Sprintf("\n    %+v", *x)
		}
	}
	return out
}

// turn lets a coding agent's turn change the worktree, if it is of a step. Any other that changes it
// does what it must not.
func (w *world) turn(f *pawl.Effect, b *pawl.AgentTurned, at *folder) {
	l := w.state.Loop(f.Loop)
	x := l.sessionByN(f.Session)
	writes := l.working() && x != nil && x.Purpose == pawl.ForStep
	if writes && f.ID%4 != 0 || b.Changed {
		at.tree = pawl.TreeHash(w.name("tree-", f.ID))
	}
	b.Tree = at.tree
}
