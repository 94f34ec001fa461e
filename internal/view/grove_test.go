package view

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/tools/txtar"

	"pawl"
)

// cascade is the deep cascade of Loopr's document in short: a plan of two specs, whose
// first makes phases, one of which a code loop cannot pass; the spec begins anew.
func cascade(tb testing.TB) *story {
	s := planted(tb)
	list := s.hands(`{"title":"Login","overview":"A login.","specs":[{"name":"auth","title":"Who is it","description":"Login with a password."},{"name":"api","title":"What may they","description":"The endpoints.","dependencies":["auth"]}]}`)
	s.accepts(1, list, specs...)
	s.asksForPlan(1, list)
	s.wait(time.Minute)
	s.add(0, &pawl.QuestionAnswered{N: 1, Choice: "approve", By: "ada"})
	s.spawns(2, "spec", 1, 1, "auth", "api")
	s.add(2, &pawl.LoopAdmitted{Score: 60, Base: "base5e1fbeefcafe"})
	s.in(2)
	s.tries(1)
	s.accepts(1, s.hands(`{"title":"Who is it"}`), pawl.TaskSpec{ID: "table", Title: "A table of users"}, pawl.TaskSpec{ID: "form", Title: "A form", DependsOn: []string{"table"}})
	s.spawns(4, "phase", 1, 1, "table", "form")
	s.add(4, &pawl.LoopAdmitted{Score: 80, Waited: "a place among 20 phases"})
	s.in(4)
	s.tries(1)
	s.accepts(1, s.hands(`{"title":"A table of users"}`), pawl.TaskSpec{ID: "table", Title: "A table of users", ValidationCommand: "go test ./users"})
	s.spawns(6, "code", 1, 1, "table")
	s.add(6, &pawl.LoopAdmitted{Score: 100})
	s.in(6)
	s.tries(1)
	s.wait(30 * time.Second)
	return s
}

// anew lets the spec begin anew after its code loop failed for good.
func (s *story) anew() {
	s.add(6, &pawl.LoopEnded{Outcome: pawl.OutcomeIncomplete, Reason: "the limit on iterations was reached"})
	s.add(4, &pawl.SignalSent{N: 1, Signal: pawl.SignalError, Source: 6, Reason: "it cannot pass", Payload: s.blob("no such table")})
	s.add(4, &pawl.SignalAcknowledged{N: 1})
	s.add(4, &pawl.LoopEnded{Outcome: pawl.OutcomeFailed, Reason: "its code failed"})
	s.add(2, &pawl.SignalSent{N: 2, Signal: pawl.SignalError, Source: 4, Reason: "its code failed"})
	s.add(2, &pawl.SignalAcknowledged{N: 2})
	s.add(2, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "phase table failed"})
	for _, ref := range []pawl.LoopRef{4, 5, 6} {
		s.add(ref, &pawl.Invalidated{By: 2, Generation: 1, Reason: "its parent began anew"})
		s.add(ref, &pawl.Archived{Reason: "its parent began anew"})
	}
	s.add(2, &pawl.GenerationStarted{N: 2, Reason: "phase table failed", Branch: "pawl/loop-auth.g2", Base: "base5e1fbeefcafe"})
	s.in(2)
	s.tries(2)
	s.accepts(2, s.hands(`{"title":"Who is it, again"}`), pawl.TaskSpec{ID: "table", Title: "A table of people"}, pawl.TaskSpec{ID: "form", Title: "A form"})
	s.spawns(7, "phase", 2, 2, "table", "form")
	s.add(7, &pawl.LoopAdmitted{Score: 80})
	s.wait(5 * time.Second)
	s.add(3, &pawl.SignalSent{N: 3, Signal: pawl.SignalPause, Selector: "type:spec", Reason: "lunch", By: "ada"})
	s.add(3, &pawl.SignalAcknowledged{N: 3})
}

func (s *story) fold() *Run {
	r := New()
	for _, e := range s.events {
		r.Apply(e)
	}
	return r
}

// TestTreeOfLoops shows the tree of a run at two moments, narrow and wide, its log, and
// the reason why the run is where it is.
func TestTreeOfLoops(t *testing.T) {
	s := cascade(t)
	var files txtar.Archive
	add := func(name, text string) {
		files.Files = append(files.Files, txtar.File{Name: name, Data: []byte(strings.TrimRight(text, "\n") + "\n")})
	}
	show := func(when string) {
		r := s.fold()
		add(when+", 80 columns", TreeText(r, TreeOptions{Width: 80, Now: s.now}))
		add(when+", wide", TreeText(r, TreeOptions{Width: 140, Now: s.now}))
		for _, line := range strings.Split(TreeText(r, TreeOptions{Width: 80, Now: s.now}), "\n") {
			if ansi.StringWidth(line) > 80 {
				t.Errorf("wider than the screen: %s", line)
			}
		}
	}
	show("at work") // R-18 R-80
	s.anew()
	show("begun anew") // R-54 R-59
	r := s.fold()
	add("with those that do not count", TreeText(r, TreeOptions{All: true, Now: s.now})) // R-81 R-B24
	add("why", WhyText(r))
	log := ""
	r = New()
	for _, e := range s.events {
		r.Apply(e)
		if LevelOf(e) > Detail {
			log += Line(e, r, s.read) + "\n"
		}
	}
	add("log", log)
	const golden = "testdata/cascade.txtar"
	if *update {
		if err := os.WriteFile(golden, txtar.Format(&files), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(txtar.Format(&files)); got != string(want) {
		t.Errorf("%s differs; go test -update rewrites it. It is now\n%s", golden, got)
	}
}

// What waits for a person is seen in the line of the run, in what to do next, and in
// the tree. R-50 R-52 R-B26
func TestAwaitingApprovalIsSeen(t *testing.T) {
	s := planted(t)
	list := s.hands(`{"title":"Login"}`)
	s.accepts(1, list, specs...)
	s.asksForPlan(1, list)
	r := s.fold()
	if info := r.Info(); info.Questions != 1 {
		t.Errorf("its line says %+v", info)
	}
	const next = "pawl plan approve 001-add-login (shows it first; or iterate, reject)"
	if got := r.next(); got != next {
		t.Errorf("next is %q, want %q", got, next)
	}
	if got := TreeText(r, TreeOptions{Now: s.now}); !strings.Contains(got, "complete") || !strings.Contains(got, "AWAITS APPROVAL") {
		t.Errorf("the tree is\n%s", got)
	}
	if got := Show(r, s.read); !strings.Contains(got, next) {
		t.Errorf("it is shown as\n%s", got)
	}
}
