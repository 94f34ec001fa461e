package tui

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
)

// last is the last command the world was given.
func (w *world) last() pawl.Steering {
	if len(w.said) == 0 {
		return pawl.Steering{}
	}
	return w.said[len(w.said)-1]
}

// A plan is shown with what R-50 names, and answered by a key: the answer is for what
// was shown. R-50
func TestPlanIsApprovedRejectedIterated(t *testing.T) {
	for _, c := range []struct {
		keys, text   string
		choice, want string
	}{
		{"A", "", "approve", ""},
		{"R", "too large", "reject", "too large"},
		{"R", "", "reject", ""},
		{"I", "think of logout", "iterate", "think of logout"},
	} {
		t.Run(c.choice, func(t *testing.T) {
			w := newWorld()
			s := w.begin(t, "shop", "001-add-login", "Add login")
			about := s.planned(1)
			d := drive(t, w, 80, 40, pen{})
			d.press("a")
			d.shows("PLAN AWAITING APPROVAL", "Plan:       Login with a password", "Loop ID:    1738231200000-a1b2", "Iterations: 1", "Overview", "Users get accounts",
				"Phases", "1. Accounts first", "Specs to Create (3)", "accounts: A table of users", "[A] Approve", "[R] Reject", "[I] Iterate with feedback")
			d.press("a", "r", "i", "enter") // that a key is held decides nothing
			if len(w.said) != 0 || d.m.input != nil {
				t.Fatalf("something was answered by itself: %+v", w.said)
			}
			d.press(c.keys)
			if c.keys != "A" {
				d.write(c.text)
				d.press("enter")
			}
			want := pawl.Reply{Question: 1, Choice: c.choice, Text: c.want, By: "ada", About: about}
			if got := w.last(); got.Verb != pawl.SteerAnswer || got.Answer == nil || *got.Answer != want {
				t.Fatalf("it was answered %+v, want %+v", got.Answer, want)
			}
			d.look()
			d.shows("Answered: " + c.choice + " by ada")
			// F-79: what was decided does not wait any more.
			d.shows(map[string]string{"approve": "PLAN APPROVED", "reject": "PLAN REJECTED", "iterate": "PLAN SENT BACK"}[c.choice])
			if strings.Contains(d.screen(), "AWAITING") {
				t.Errorf("it waits for what was decided:\n%s", d.screen())
			}
		})
	}
}

// Feedback is not empty, has 1000 bytes at most, may have lines, and can be left.
func TestFeedbackIsWritten(t *testing.T) {
	w := awaits(t)
	d := drive(t, w, 80, 24, pen{})
	d.press("a", "I", "enter")
	d.shows("say what is to be better")
	d.write("one tooo")
	d.press("ctrl+w")
	d.write("two")
	d.press("ctrl+j")
	d.write("lines" + strings.Repeat("é", maxWords))
	d.shows("no room for more")
	d.press("esc")
	if len(w.said) != 0 {
		t.Fatalf("what was left is sent: %+v", w.said)
	}
	d.press("I")
	d.write("one")
	d.press("ctrl+j")
	d.write("two")
	d.press("enter")
	if got := w.last().Answer; got == nil || got.Text != "one\ntwo" {
		t.Errorf("sent is %+v", got)
	}
}

// Of two who decide the first one wins; the other is told, and sees what became of the
// plan. R-53
func TestSecondAnswerIsTold(t *testing.T) {
	w := awaits(t)
	d, e := drive(t, w, 80, 24, pen{}), drive(t, w, 80, 24, pen{})
	d.m.by = "grace"
	d.press("a")
	e.press("a")
	d.press("A")
	e.press("R")
	e.write("no")
	e.press("enter")
	e.shows("question 1 was answered already: approve by grace")
	e.look()
	e.shows("Answered already: approve by grace")
	n := len(w.said)
	e.press("A")
	if len(w.said) != n {
		t.Error("what is answered is answered again")
	}
}

// A plan that was iterated comes back as another question, which a screen that is
// opened later shows too. R-39 R-52
func TestIteratedPlanComesBack(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login")
	s.planned(1)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "iterate", Text: "more", By: "ada"})
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 3, Decision: pawl.DecideIterate, Reason: "a person wants another iteration"})
	s.planned(2)
	d := drive(t, w, 80, 24, pen{})
	d.press("a")
	d.shows("Plan:       Login with a password, again", "Iterations: 2")
	d.press("A")
	if got := w.last().Answer; got == nil || got.Question != 2 {
		t.Errorf("answered is %+v", got)
	}
}

// Questions of other kinds are answered by a choice, with words where they are needed.
func TestOtherQuestions(t *testing.T) {
	w := asks(t)
	d := drive(t, w, 80, 24, pen{})
	d.press("a", "1", "enter")
	d.shows("say it in words")
	d.write("without case; a week")
	d.press("enter")
	if got := w.last().Answer; got == nil || got.Choice != "answer" || got.Text != "without case; a week" || got.About.IsZero() {
		t.Errorf("answered is %+v", got)
	}
}

// What a question is about must have been on the screen before it is agreed to.
func TestNobodyAgreesToWhatIsNotShown(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login")
	s.try(1, 1, 50, 3)
	s.add(1, &pawl.QuestionAsked{N: 1, Kind: pawl.AskPlan, Text: "May these be worked on?", Choices: []string{"approve", "reject"}, About: pawl.HashOf([]byte("nobody has it"))})
	d := drive(t, w, 80, 24, pen{})
	d.press("a", "1", "A", "enter")
	if d.m.input != nil || len(w.said) != 0 {
		t.Errorf("it is answered: %+v", w.said)
	}
	d.shows("cannot be read")
}

// Keys steer the chosen run, or signal the chosen loop; what ends something asks first.
func TestKeysSteer(t *testing.T) {
	loop := []string{"down", "down", "down", "down"} // the code loop
	id := "1738231200008-8018"
	for _, c := range []struct {
		keys []string
		text string
		want *pawl.Steering // nil = nothing
	}{
		{[]string{"p"}, "", &pawl.Steering{Verb: pawl.SteerPause, Reason: "asked for by ada"}},
		{[]string{"r"}, "", &pawl.Steering{Verb: pawl.SteerResume}},
		{[]string{"c"}, "", nil},
		{[]string{"c", "n"}, "", nil},
		{[]string{"c", "y"}, "", &pawl.Steering{Verb: pawl.SteerCancel, Reason: "asked for by ada"}},
		{[]string{"X", "y"}, "", &pawl.Steering{Verb: pawl.SteerArchive, By: "ada"}},
		{append(loop, "p"), "", signalled(pawl.SignalPause, id, "")},
		{append(loop, "r"), "", signalled(pawl.SignalResume, id, "")},
		{append(loop, "c", "n"), "", nil},
		{append(loop, "c", "y"), "", signalled(pawl.SignalStop, id, "")},
		{append(loop, "s", "b"), "", signalled(pawl.SignalRebase, id, "")},
		{append(loop, "s", "s"), "", nil},
		{append(loop, "s", "s", "y"), "", signalled(pawl.SignalStop, id, "")},
		{append(loop, "s", "P"), "", signalled(pawl.SignalPause, "descendants:"+id, "")},
		{append(loop, "s", "i"), "look at the index", signalled(pawl.SignalInfo, id, "look at the index")},
		{append(loop, "X", "y"), "", &pawl.Steering{Verb: pawl.SteerArchive, Loop: id, By: "ada"}},
		{[]string{"R"}, "", nil}, // there is no checkpoint
	} {
		t.Run(strings.Join(c.keys, " "), func(t *testing.T) {
			w := busy(t)
			d := drive(t, w, 80, 24, pen{})
			d.press(c.keys...)
			if c.text != "" {
				d.write(c.text)
				d.press("enter")
			}
			if c.want == nil {
				if len(w.said) != 0 {
					t.Fatalf("it was steered: %+v", w.said)
				}
				return
			}
			if got := w.last(); !reflect.DeepEqual(got, *c.want) {
				t.Errorf("the command is %+v %+v, want %+v %+v", got, got.Signal, *c.want, c.want.Signal)
			}
		})
	}
}

func signalled(kind pawl.SignalKind, to, text string) *pawl.Steering {
	return &pawl.Steering{Verb: pawl.SteerSignal, By: "ada", Signal: &pawl.Signaling{Signal: kind, To: to, Text: text}}
}

// Who writes an info is told before and after whether the loop's coding agent hears it now.
func TestInfoSaysWhoHears(t *testing.T) {
	for hears, want := range map[bool]string{true: "claude-code hears it now", false: "claude-code hears it at its next session"} {
		w := newWorld()
		s := w.begin(t, "shop", "001-login", "Add login")
		s.r.events[0].Body.(*pawl.RunStarted).Settings = s.json(pawl.Settings{Models: [3]pawl.ModelChoice{{Provider: "claude-code", Agent: true, Hears: hears}}})
		s.try(1, 1, 50, 1)
		s.n[1]++
		place := pawl.Place{Loop: "plan", Iteration: 1, Step: "draft", Tier: 1, Turn: 1}
		s.add(1, &pawl.SessionStarted{Session: s.n[1], Purpose: pawl.ForStep, Place: place, Turns: 20, Try: 1})
		s.ask(1, s.n[1], place, &pawl.CallModel{Tier: 1, Try: 1, Agent: &pawl.AgentCall{Before: "t"}})
		d := drive(t, w, 100, 24, pen{})
		d.press("s", "i")
		d.shows(want)
		d.write("mind the cache")
		d.press("enter")
		d.shows("sent: " + want)
	}
}

// A rollback is to a checkpoint that is chosen, and asks first.
func TestRollbackAsksFirst(t *testing.T) {
	w := busy(t)
	s := &story{tb: t, w: w, k: w.order[1], r: w.runs[w.order[1]]}
	id := s.ask(1, 0, pawl.Place{Step: "checkpoint"}, &pawl.MarkCheckpoint{Checkpoint: pawl.Checkpoint{N: 1, Label: "batch-1", Commit: "c0ffee0123456789"}})
	s.add(1, &pawl.CheckpointMarked{Effect: id})
	d := drive(t, w, 80, 24, pen{})
	d.press("R")
	d.shows("Roll back to a checkpoint", "1 after batch 1")
	d.press("1")
	if len(w.said) != 0 {
		t.Fatalf("it did not ask: %+v", w.said)
	}
	d.press("y")
	if got := w.last(); got.Verb != pawl.SteerRollback || got.Checkpoint != 1 || got.By != "ada" {
		t.Errorf("the command is %+v", got)
	}
}

// A daemon that goes away is said to be away; what is shown stays, and goes on where it
// stopped when there is one again, nothing lost and nothing twice. R-52
func TestDaemonGoesAndComesBack(t *testing.T) {
	w := busy(t)
	d := drive(t, w, 80, 24, pen{})
	before := len(d.m.run().log)
	w.gone = pawl.Errorf(pawl.CodeUnavailable, "no daemon listens")
	d.look()
	d.shows("no daemon, try 1: no daemon listens", "spec accounts", "The index must be on lower(email)")
	d.send(tickMsg{})
	d.shows("try 2")
	s := &story{tb: t, w: w, k: d.m.tree.at.key, r: w.runs[d.m.tree.at.key], n: map[pawl.LoopRef]int{}}
	s.add(0, &pawl.RunPaused{Reason: "lunch"})
	w.gone = nil
	d.send(tickMsg{})
	d.shows("the daemon is back", "Paused: lunch")
	if got := len(d.m.run().log); got != before+1 {
		t.Errorf("the log has %d lines, want %d", got, before+1)
	}
}

// What becomes of the daemon is said as soon as a watcher hears of it, without waiting for
// the list. F-30
func TestWatcherHearsWhatBecameOfTheDaemon(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		says string
	}{
		{"Died", pawl.Errorf(pawl.CodeUnavailable, "the daemon, process 7, died"), "no daemon: the daemon, process 7, died"},
		{"Stopped", pawl.Errorf(pawl.CodeStopped, "the daemon was stopped"), "the daemon was stopped; pawl serve --background starts an"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := busy(t)
			d := drive(t, w, 100, 24, pen{})
			d.send(tickMsg{})
			s := d.m.run()
			d.send(watchMsg{w: s.watch, done: true, err: c.err})
			d.shows(c.says)
			w.gone = c.err
			d.send(tickMsg{})
			d.shows(strings.TrimPrefix(c.says, "no daemon"))
			w.gone = nil
			d.send(tickMsg{})
			d.shows("the daemon is back")
		})
	}
	t.Run("OnlyTheRun", func(t *testing.T) { // a run that is refused at once says nothing of the daemon
		d := drive(t, busy(t), 100, 24, pen{})
		d.send(tickMsg{})
		s := d.m.run()
		d.m.watch(s)
		d.send(watchMsg{w: s.watch, done: true, err: pawl.Errorf(pawl.CodeUnavailable, "its folder has moved")})
		if d.m.lost != nil {
			t.Errorf("the daemon counts as lost: %v", d.m.lost)
		}
	})
}

// The first contact may come later.
func TestDaemonComesLater(t *testing.T) {
	w := busy(t)
	w.gone = pawl.Errorf(pawl.CodeUnavailable, "no daemon listens")
	d := drive(t, w, 80, 24, pen{})
	d.shows("The runs cannot be read")
	w.gone = nil
	d.send(tickMsg{})
	d.shows("002 Add login")
}

// A project that the daemon refuses is asked for again.
func TestProjectIsRefusedOnce(t *testing.T) {
	w := busy(t)
	w.noProject = pawl.Errorf(pawl.CodeNotFound, "its folder has moved")
	d := drive(t, w, 80, 24, pen{})
	w.noProject = nil
	d.send(tickMsg{})
	d.shows("002 Add login")
}

// What is kept of a run does not grow without end: its log, what is said live, blobs,
// runs that are watched.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-long", "A long run")
	s.try(1, 1, 50, 1)
	for i := range maxLog * 3 / 2 {
		s.add(1, &pawl.NotePosted{Key: fmt.Sprint(i), Value: "v"})
	}
	d := drive(t, w, 80, 24, pen{})
	if n := len(d.m.run().log); n > maxLog+maxLog/10 || n < maxLog {
		t.Errorf("%d lines are kept", n)
	}
	d.press("tab", "g")
	d.shows("… what was before: pawl logs 001-long")
	id := s.ask(1, 1, pawl.Place{}, &pawl.CallModel{})
	for range 100 {
		s.live(id, strings.Repeat("word ", 200)+"\n")
	}
	d.look()
	if n := len(d.m.run().heard[1].text); n > maxHeard {
		t.Errorf("%d bytes of what is said are kept", n)
	}
	c := newCache()
	for i := range 100 {
		c.put(pawl.HashOf([]byte{byte(i)}), make([]byte, maxBlob))
	}
	if c.size > maxBlobs || len(c.blobs) != len(c.order) {
		t.Errorf("%d bytes of blobs are kept, %d of %d", c.size, len(c.blobs), len(c.order))
	}
	for i := range 2 * maxShown {
		w.begin(t, "shop", fmt.Sprintf("%03d-other", i+2), "Another")
	}
	d.look()
	d.press("tab")
	for range 2*maxShown + 5 {
		d.press("k")
	}
	if n := len(d.m.shown); n > maxShown {
		t.Errorf("%d runs are watched", n)
	}
}

// The log follows its end until somebody scrolls up, and again when they are back there.
func TestLogFollows(t *testing.T) {
	w := busy(t)
	d := drive(t, w, 80, 24, pen{})
	s := &story{tb: t, w: w, k: d.m.tree.at.key, r: w.runs[d.m.tree.at.key]}
	more := func(text string) {
		s.add(8, &pawl.SignalSent{N: 2, Signal: pawl.SignalInfo, Reason: text, By: "ada"})
		d.look()
	}
	more("the first word")
	d.shows("the first word")
	d.press("tab", "up", "up", "up", "up", "up", "up")
	more("the second word")
	if strings.Contains(d.screen(), "the second word") {
		t.Error("the log moves under somebody who reads it")
	}
	d.press("G")
	d.shows("the second word")
	more("the third word")
	d.shows("the third word")
}

// Searching goes round, and says where it is; filtering leaves what fits.
func TestSearchAndFilter(t *testing.T) {
	w := busy(t)
	s := &story{tb: t, w: w, k: w.order[1], r: w.runs[w.order[1]]}
	for n := range 3 {
		s.add(8, &pawl.SignalSent{N: n + 2, Signal: pawl.SignalInfo, Reason: "a needle", By: "ada"})
	}
	d := drive(t, w, 200, 60, pen{})
	d.press("tab", "g", "/")
	d.write("Needle")
	d.press("enter")
	d.shows("/Needle 1 of 3")
	d.press("n", "n")
	d.shows("3 of 3")
	d.press("n")
	d.shows("1 of 3")
	d.press("N")
	d.shows("3 of 3")
	d.press("esc")
	if strings.Contains(d.screen(), "/Needle") {
		t.Error("the search is still on")
	}
	d.press("tab", "/")
	d.write("hash")
	d.press("enter")
	d.shows("phase hashing", "002 Add login")
	if strings.Contains(d.screen(), "spec sessions") {
		t.Error("what does not fit is shown")
	}
	d.press("esc")
	d.shows("spec sessions")
}

// Loops are opened and closed, those that do not count any more are shown when asked for.
func TestTreeOpensAndCloses(t *testing.T) {
	w := busy(t)
	d := drive(t, w, 200, 60, pen{})
	s := &story{tb: t, w: w, k: d.m.tree.at.key, r: w.runs[d.m.tree.at.key], n: map[pawl.LoopRef]int{}}
	d.press("down", "down", "left")
	if strings.Contains(d.screen(), "phase table") {
		t.Error("the spec is not closed")
	}
	d.press("right")
	d.shows("phase table")
	for _, ref := range []pawl.LoopRef{5, 6, 7, 8} {
		s.add(ref, &pawl.Invalidated{By: 2, Generation: 1, Reason: "its parent began anew"})
		s.add(ref, &pawl.Archived{})
	}
	s.add(2, &pawl.GenerationStarted{N: 2, Reason: "its child failed", Branch: "pawl/loop-accounts.g2", Base: "ba5e1fbeefcafe"})
	s.try(2, 2, 30, 3)
	d.look()
	d.shows("spec accounts (generation 2)")
	if strings.Contains(d.screen(), "phase table") {
		t.Error("an archived loop is shown")
	}
	d.press("x")
	d.shows("⊘ invalidated")
}

// A run that an address names is chosen at the beginning.
func TestBeginsAtARun(t *testing.T) {
	w := busy(t)
	for _, want := range []string{"001-typo", "1", "001", "001-t"} {
		d := drive(t, w, 80, 24, pen{})
		d.m.want = want
		d.send(tickMsg{})
		if d.m.tree.at.run != "001-typo" {
			t.Errorf("by %s %s is chosen", want, d.m.tree.at.run)
		}
	}
}

// In a repository the screen begins at a run of that repository, also where another one has
// the same name and a run of the same number that is newer. F-21
func TestBeginsInTheRepositoryItIsStartedIn(t *testing.T) {
	w := newWorld()
	for _, project := range []string{"a/shop", "b/shop"} { // the last one is the newest
		for _, id := range []string{"001-typo", "002-login", "003-search"} {
			w.begin(t, project, id, "Something")
			w.now = w.now.Add(time.Minute)
		}
	}
	w.begin(t, "b/shop", "004-more", "Something")
	for _, c := range []struct {
		here, want string
		at         key
		says       string
	}{
		{"a/shop", "", key{"a/shop", "003-search"}, "a/shop"},
		{"b/shop", "", key{"b/shop", "004-more"}, "b/shop"},
		{"a/shop", "2", key{"a/shop", "002-login"}, "a/shop"},
		{"b/shop", "2", key{"b/shop", "002-login"}, "b/shop"},
		{"b/shop", "001-t", key{"b/shop", "001-typo"}, "b/shop"},
		{"a/shop", "4", key{"a/shop", "003-search"}, "there is no run 4 in a/shop"},
		{"", "4", key{"b/shop", "004-more"}, "b/shop"},
		{"", "2", key{"b/shop", "004-more"}, "2 may be any of a/shop 002-login, b/shop 002-login"},
	} {
		t.Run(c.here+" "+c.want, func(t *testing.T) {
			w.here = c.here
			d := driveAt(t, w, 160, 24, pen{}, c.want)
			if got := d.m.tree.at.key; got != c.at {
				t.Errorf("it begins at %v, want %v", got, c.at)
			}
			d.shows(c.says)
		})
	}
	t.Run("NoRunsYet", func(t *testing.T) {
		w.here, w.empty = "c/shop", "c/shop"
		d := drive(t, w, 160, 24, pen{})
		if got := d.m.tree.at.key; got != (key{project: "c/shop"}) {
			t.Errorf("it begins at %v", got)
		}
	})
}

// The number of a task with several runs means none of them alone, and an id that is one means no other.
// F-21 F-96
func TestNamed(t *testing.T) {
	runs := []pawl.RunInfo{{ID: "007-fix", Task: 7}, {ID: "007-fix-r2", Task: 7}, {ID: "070-other", Task: 70}}
	for want, found := range map[string][]pawl.RunID{
		"7": {"007-fix", "007-fix-r2"}, "007-r2": {"007-fix-r2"}, "7-r1": {"007-fix"}, "007-fix": {"007-fix"}, "007-f": {"007-fix", "007-fix-r2"}, "070-": {"070-other"}, "8": nil, "x": nil,
	} {
		if got := named(runs, want); !slices.Equal(got, found) {
			t.Errorf("%s: %v, want %v", want, got, found)
		}
	}
}

// Ages are coarse, so that little is drawn anew.
func TestAge(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{{0, "<1m"}, {59 * time.Second, "<1m"}, {time.Minute, "1m"}, {61 * time.Minute, "1h01"}, {11 * time.Hour, "11h"}, {49 * time.Hour, "2d"}} {
		if got := coarse(c.d); got != c.want {
			t.Errorf("%s is %q, want %q", c.d, got, c.want)
		}
	}
}

// q leaves; esc and q leave a screen first.
func TestQuit(t *testing.T) {
	d := drive(t, busy(t), 80, 24, pen{})
	d.press("b", "q")
	if d.quit || d.m.screen != screenMain {
		t.Fatal("q on a screen does not lead back")
	}
	d.press("q")
	if !d.quit {
		t.Error("q does not quit")
	}
}

// The halt of a review is overruled for a reason, by whoever sits at the screen; of a run that nothing
// has halted there is none to overrule. D-62
func TestOverrule(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.try(1, 1, 10, 1)
	s.add(1, &pawl.GateJudged{Gate: "requirements", Verdict: pawl.VerdictHalt, Reason: "there is a key in login.go"})
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 1, Requirements: pawl.VerdictHalt, Decision: pawl.DecideHalt, Outcome: pawl.OutcomeHalted, Reason: "requirements halts"})
	d := drive(t, w, 100, 24, pen{})
	d.press("o")
	if d.shows("no review has halted the run"); len(w.said) != 0 {
		t.Fatalf("it was steered: %+v", w.said)
	}
	s.ends(pawl.OutcomeHalted, "requirements halts: there is a key in login.go")
	d = drive(t, w, 100, 24, pen{})
	d.press("o")
	d.shows("Overrule the halt of requirements")
	d.shows("there is a key in login.go")
	d.press("enter")
	if d.shows("say why"); len(w.said) != 0 {
		t.Fatalf("it was steered without a reason: %+v", w.said)
	}
	d.write("it is made up")
	d.press("enter")
	want := pawl.Steering{Verb: pawl.SteerOverride, Gate: "requirements", Reason: "it is made up", By: "ada", Terminal: true}
	if got := w.last(); !reflect.DeepEqual(got, want) {
		t.Errorf("the command is %+v, want %+v", got, want)
	}
}
