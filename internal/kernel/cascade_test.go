package kernel

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/signal"
)

// playLevels runs a plan of two specs, of which A is made anew because the code of one
// of its phases fails, while that of another one is still at work. Nobody is asked.
func playLevels(t *testing.T, upto func(*world) bool, lines ...string) *world {
	t.Helper()
	return scriptLevels(t, upto, lines...).w
}

func scriptLevels(t *testing.T, upto func(*world) bool, lines ...string) *script {
	t.Helper()
	w := newWorld(t)
	s := &script{w: w}
	w.happens = s.happens
	for _, line := range append(lines, "list: A, B", "list a: a1, a2", "list again: a3", "list b: b1",
		"list c1: code-a1", "list c2: code-a2", "list c3: code-a3", "list cb: code-b",
		"task A iteration 1 spec: submits list=a", "task A spec: submits list=again", "task B spec: submits list=b",
		"task a1 phase: submits list=c1", "task a2 phase: submits list=c2", "task a3 phase: submits list=c3", "task b1 phase: submits list=cb",
		"task code-a1 tests: fail TestA", "task code-a2 code turn 1: calls write", "task code-a2 code turn 2: calls read takes 10m") {
		if strings.HasPrefix(line, "list") {
			s.list(t, line)
		} else {
			s.rules = append(s.rules, parseRule(t, line))
		}
	}
	r, set := levels(), settings()
	r.Kinds[0].Approval, r.Kinds[1].Children.Parallel, r.Kinds[2].Iterations, r.Kinds[3].Iterations = nil, 2, 1, 1
	set.Limits.Iterations, set.Gates = 0, []pawl.GateSpec{gate("tests")}
	w.start(r, set)
	for !upto(w) && w.land() {
		continue
	}
	return s
}

// task is the newest loop of a task.
func (w *world) task(id string) *Loop {
	for _, l := range slices.Backward(w.state.Loops()) {
		if l.task.ID == id {
			return l
		}
	}
	w.t.Fatalf("no loop of %s", id)
	return nil
}

func ended(w *world) bool { return w.state.Status == pawl.StatusEnded }

func has[B pawl.Body](w *world) bool { return len(all[B](w)) > 0 }

// What a loop has made is on its branch when it does not count any more, and its
// branch and that of the parent's generation before are kept. R-58 R-B16
func TestInvalidatedWorkIsKept(t *testing.T) {
	w := playLevels(t, ended)
	l, a := w.task("code-a2"), w.task("A")
	if !l.isInvalidated || !l.archived || l.HasWorkspace || l.Outcome != pawl.OutcomeInvalid {
		t.Errorf("code-a2 is %s %s, with a worktree: %t", l.Phase, l.Outcome, l.HasWorkspace)
	}
	if c := w.branches[l.branch]; !w.trees[c].work[string(c)] {
		t.Errorf("the branch %s is at %s, which has no work of code-a2", l.branch, c)
	}
	if a.gen.n != 2 || !strings.HasSuffix(a.branch, "-g2") || w.branches[strings.TrimSuffix(a.branch, "-g2")] == "" {
		t.Errorf("A is generation %d on %s, of the branches %v", a.gen.n, a.branch, w.branches)
	}
	if w.state.Outcome != pawl.OutcomeComplete {
		t.Errorf("the run ended %s: %s", w.state.Outcome, w.state.Reason)
	}
	if n := len(all[*pawl.Invalidated](w)); n != 4 { // a1, a2 and their code, and nothing of B
		t.Errorf("%d loops do not count any more", n)
	}
}

// What a level is told of its attempt decides: it goes on with the next iteration, it
// passes and its children come to be, or it fails with the reason; and whatever has
// ended has no worktree any more. R-30 R-31 R-32 R-33
func TestHowALevelGoesOn(t *testing.T) {
	w := playLevels(t, ended, "task B iteration 1 spec: submits list=none")
	b := w.task("B")
	if b.Iteration != 2 || b.Outcome != pawl.OutcomeComplete || w.task("b1").Parent != b.Ref {
		t.Errorf("B: iteration %d, %s, with b1 below %d", b.Iteration, b.Outcome, w.task("b1").Parent)
	}
	for _, e := range w.log {
		if l, ok := e.Body.(*pawl.LoopStarted); ok && l.Task == "b1" && l.ParentIteration != 2 {
			t.Errorf("b1 is of iteration %d, which did not pass", l.ParentIteration)
		}
	}
	if l := w.task("code-a1"); l.Outcome != pawl.OutcomeFailed && l.Outcome != pawl.OutcomeIncomplete || !strings.Contains(l.Reason, "TestA") {
		t.Errorf("code-a1 ended %s: %s", l.Outcome, l.Reason)
	}
	for _, l := range w.state.Loops() {
		if l.Phase != PhaseDone || l.HasWorkspace {
			t.Errorf("loop %d is %s, with a worktree: %t", l.Ref, l.Phase, l.HasWorkspace)
		}
	}
}

// A crash at any moment while a loop begins anew, and a driver that takes over at once,
// lead to the same end: signals are state. R-61
func TestSignalsOutliveCrashes(t *testing.T) {
	t.Parallel()
	s := scriptLevels(t, has[*pawl.SignalSent])
	for n := 0; !ended(s.w); n++ {
		w := s.clone().w
		s.w.land()
		if !isTried(n, 0, 1) {
			continue
		}
		w.crash(time.Second)
		for w.land() {
			continue
		}
		if w.state.Outcome != pawl.OutcomeComplete || w.task("A").gen.n != 2 {
			t.Fatalf("after a crash %d steps after the first signal the run is %s %s, A generation %d", n, w.state.Status, w.state.Outcome, w.task("A").gen.n)
		}
	}
}

// After a crash a loop that begins anew waits for those below it, and not for the rest of
// the time that they had. R-61
func TestACrashCostsNoTimeOfSignals(t *testing.T) {
	t.Parallel()
	s := scriptLevels(t, has[*pawl.SignalSent], "task code-a2 code turn 2: calls read takes 5s")
	for n := 0; !ended(s.w); n++ {
		w := s.clone().w
		s.w.land()
		if !isTried(n, 0, 1) {
			continue
		}
		w.crash(time.Second)
		for w.land() {
			continue
		}
		if has[*pawl.WaitEnded](w) {
			t.Fatalf("a crash %d steps after the first signal lets it wait for %s", n, signalTime)
		}
	}
}

// Signals of persons are decided on the state they are given in, and told all at once. R-B22
func TestSignalsAreRefused(t *testing.T) {
	w := playLevels(t, func(w *world) bool { return has[*pawl.SignalSent](w) })
	tell := func(kind pawl.SignalKind, to, text string) error {
		return w.steer(pawl.Steering{Verb: pawl.SteerSignal, By: "ann", Signal: &pawl.Signaling{Signal: kind, To: to, Text: text}})
	}
	for _, row := range []struct {
		kind     pawl.SignalKind
		to, text string
		want     pawl.Code
	}{
		{"", "type:code", "", pawl.CodeInvalid},
		{pawl.SignalError, "type:code", "", pawl.CodeInvalid},
		{pawl.SignalPause, "", "", pawl.CodeNotFound},
		{pawl.SignalPause, "family:code", "", pawl.CodeInvalid},
		{pawl.SignalPause, "status:rebasing", "", pawl.CodeNotFound},
		{pawl.SignalPause, "status:failed", "", pawl.CodeState},
		{pawl.SignalInfo, "type:code", strings.Repeat("x", 1001), pawl.CodeInvalid},
	} {
		if err := tell(row.kind, row.to, row.text); pawl.CodeOf(err) != row.want {
			t.Errorf("%s to %q: %v", row.kind, row.to, err)
		}
	}
	if err := w.steer(pawl.Steering{Verb: pawl.SteerSignal}); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("no signal: %v", err)
	}
	for range signal.MaxUnseen {
		if err := tell(pawl.SignalPause, w.task("code-b").ID, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := tell(pawl.SignalPause, "type:code", ""); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("a signal too many: %v", err)
	}
	if err := w.steer(pawl.Steering{Verb: pawl.SteerArchive}); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("a run at work is archived: %v", err)
	}
	if err := w.steer(pawl.Steering{Verb: pawl.SteerArchive, Loop: w.task("code-b").ID}); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("a loop at work is archived: %v", err)
	}
}

// A signal is acknowledged once. The acknowledgement removes it from the state and keeps other
// signals. A second acknowledgement of it is an error. F-63
func TestSignalsAreAcknowledgedOnce(t *testing.T) {
	for _, kind := range []pawl.SignalKind{pawl.SignalStop, pawl.SignalPause, pawl.SignalResume, pawl.SignalInfo, pawl.SignalRebase, pawl.SignalError, pawl.SignalInvalidate} {
		top, l := newLoop(1, &pawl.LoopKind{}), newLoop(2, &pawl.LoopKind{})
		top.exit.clearing, l.Parent = &teardown{}, 1
		s := &State{loops: []*Loop{top, l}}
		for range 2 {
			if err := s.signaled(l, &pawl.SignalSent{N: s.signals + 1, Signal: kind, Source: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.acknowledged(l, &pawl.SignalAcknowledged{N: 1}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if len(l.inbox.Signals) != 1 || l.inbox.Signals[0].N != 2 {
			t.Errorf("%s: after the first acknowledgement the pending signals are %+v", kind, l.inbox.Signals)
		}
		if err := s.acknowledged(l, &pawl.SignalAcknowledged{N: 1}); err == nil {
			t.Errorf("%s: a signal is acknowledged twice without an error", kind)
		}
		if err := s.acknowledged(l, &pawl.SignalAcknowledged{N: 2}); err != nil || l.inbox.Signals != nil {
			t.Errorf("%s: acknowledging the second signal: error %v, pending signals %+v", kind, err, l.inbox.Signals)
		}
	}
}

// Every signal of a run is acknowledged once in its log, by the loop that it was sent to. F-63
func TestEachSignalIsAcknowledged(t *testing.T) {
	w := playLevels(t, ended)
	sentTo, seen := map[int]pawl.LoopRef{}, map[int]int{}
	for _, e := range w.log {
		switch b := e.Body.(type) {
		case *pawl.SignalSent:
			sentTo[b.N] = e.Loop
		case *pawl.SignalAcknowledged:
			if seen[b.N]++; sentTo[b.N] != e.Loop {
				t.Errorf("event %d: loop %d acknowledges signal %d, which was sent to loop %d", e.Seq, e.Loop, b.N, sentTo[b.N])
			}
		}
	}
	for n := range sentTo {
		if seen[n] != 1 {
			t.Errorf("signal %d is acknowledged %d times", n, seen[n])
		}
	}
	if len(sentTo) < 4 {
		t.Errorf("%d signals were sent, want at least 4", len(sentTo))
	}
}

// An archived run says so in its line, until it goes on.
func TestArchivedRunsSaySo(t *testing.T) {
	w := playLevels(t, func(w *world) bool { return has[*pawl.SignalSent](w) })
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalStop, To: w.state.Loop(1).ID}}})
	for w.land() {
		continue
	}
	if w.state.Outcome != pawl.OutcomeCancelled {
		t.Fatalf("the run ended %s", w.state.Outcome)
	}
	w.mustTake(Input{Steer: &pawl.Steering{Verb: pawl.SteerArchive, By: "ann"}})
	if !Info(w.state).Archived {
		t.Error("the run is not archived")
	}
	if err := w.steer(pawl.Steering{Verb: pawl.SteerArchive}); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("it is archived twice: %v", err)
	}
}

// What a child failed by is there to be read by its parent, and by those above that
// fail because of it. R-B22
func TestEvidenceGoesUp(t *testing.T) {
	w := playLevels(t, ended)
	a := w.task("A")
	var found pawl.Hash
	for _, b := range all[*pawl.GateJudged](w) {
		if b.Verdict == pawl.VerdictFail {
			found = b.Evidence
		}
	}
	errors := 0
	for _, b := range all[*pawl.SignalSent](w) {
		if b.Signal != pawl.SignalError {
			continue
		}
		if errors++; b.Source == 0 || b.Payload != found {
			t.Errorf("signal %d is from loop %d with %s, want what the gate found", b.N, b.Source, b.Payload)
		}
	}
	read := false
	for _, b := range all[*pawl.EffectRequested](w) {
		if do, ok := b.Effect.Do.(*pawl.AssemblePrompt); ok && b.Effect.Place.Task == a.task.ID && b.Effect.Place.Iteration == 2 {
			read = read || slices.ContainsFunc(do.Feedback, func(f pawl.Feedback) bool { return f.Evidence == found })
		}
	}
	if errors != 2 || !read {
		t.Errorf("%d errors were sent; A can read what was found: %t", errors, read)
	}
}
