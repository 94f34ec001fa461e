package kernel

// Defects there were in runs with children: each test failed before its own was mended.

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"pawl"
)

type teller struct {
	t *testing.T
	s *story
	x strings.Builder
}

// do gives a story's command: its line, and lines about the world below.
func (r *teller) do(text string) string {
	r.t.Helper()
	line, input, _ := strings.Cut(strings.TrimSpace(text), "\n")
	cmd, args, err := datadriven.ParseLine(line)
	if err != nil {
		r.t.Fatal(err)
	}
	out := r.s.command(r.t, &datadriven.TestData{Pos: "review", Cmd: cmd, CmdArgs: args, Input: input})
	r.x.WriteString(out)
	return out
}

func tell(t *testing.T) *teller { return &teller{t: t, s: &story{}} }

func (r *teller) last(is func(pawl.Event) bool) pawl.Seq {
	n := pawl.Seq(0)
	for _, e := range r.s.w.log {
		if is(e) {
			n = e.Seq
		}
	}
	return n
}

// The final gates judged m45; the branch's last commit is m101, which no gate has
// seen as a whole, and the run is complete.
func TestFinalGatesAreStaleAfterReplan(t *testing.T) {
	r := tell(t)
	r.do("run recipe=loom gates=tests every=0 until=58\nlist: one\nlist again: one, two after one\nroot final-validation: submits decision=pass takes 60s")
	out := r.do("replan because=more\nroot replan: submits list=again")
	merged := r.last(func(e pawl.Event) bool { return e.Body.EventKind() == (&pawl.BranchAdvanced{}).EventKind() })
	judged := r.last(func(e pawl.Event) bool {
		b, ok := e.Body.(*pawl.GateJudged)
		return ok && e.Loop == 1 && b.Gate == "tests" && !b.OnBase
	})
	if judged < merged {
		t.Errorf("the final gates judged at event %d, the last merge is event %d:\n%s", judged, merged, out)
	}
}

// Who plans anew reads the repository as it was before any task was merged.
func TestReplanReadsTheOldTree(t *testing.T) {
	r := tell(t)
	r.do("run recipe=loom gates=tests every=1 until=22\nlist: one, two\nlist again: one, two")
	r.s.w.watch = func(e pawl.Event) {
		if b, ok := e.Body.(*pawl.SessionStarted); ok && b.Purpose == pawl.ForReplan {
			if root := r.s.w.state.Loop(1); r.s.w.folder.head != root.Head {
				t.Errorf("event %d: a new plan is made in a worktree at %s, the branch is at %s", e.Seq, r.s.w.folder.head, root.Head)
			}
		}
	}
	r.do("go")
}

// Nothing has failed, and the run stops for a person: the 15th passed task of any
// Loom plan with the defaults, or the fifth discovery.
func TestScheduleAsksAtTheLimit(t *testing.T) {
	for _, more := range []string{"every=3", "every=0\nextract: submits discovery=something"} {
		r := tell(t)
		head, rest, _ := strings.Cut(more, "\n")
		list := "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r"
		r.do("run recipe=loom gates=tests " + head + "\nlist: " + list + "\nlist again: " + list + "\n" + rest)
		if r.s.w.openQuestion() != nil {
			t.Errorf("%s: nothing failed, and the run waits for a person with %d tasks to do", more, r.s.w.state.Loop(1).gen.plan.Count[pawl.TaskPending])
		}
	}
}

// A user's cancel waits for the user.
func TestCancelFinishWaitsForAPerson(t *testing.T) {
	r := tell(t)
	r.do("run recipe=loom gates=tests approval=confidence_threshold threshold=100\nlist: one, two\ntask one iteration 1 tests: fail X x1")
	r.do("cancel")
	if r.s.w.state.Status != pawl.StatusEnded {
		t.Errorf("the run is %s with nothing under way:\n%s", r.s.w.state.Status, r.x.String())
	}
}

// Two rebases in a row that both conflict: the paths of the first are forgotten.
func TestTwoRebases(t *testing.T) {
	r := tell(t)
	r.do(`run recipe=loom gates=tests parallel=3 every=0 until=20
list: one, two, three
task one executor: submits takes 10s
task two executor: submits takes 20s
task three iteration 1 executor: submits takes 15s
task three merge: conflict x1
task three rebase: conflict takes 30s`)
	before := r.s.w.happens
	var left, looked []pawl.Hash
	r.s.w.happens = func(f *pawl.Effect) (pawl.Answer, time.Duration) {
		a, takes := before(f)
		if b, ok := a.(*pawl.Merged); ok && b.Conflicts > 0 {
			b.Paths = blobOf(fmt.Sprint("paths of ", f.ID))
			if f.Place.Step == "rebase" {
				left = append(left, b.Paths)
			}
		}
		if do, ok := f.Do.(*pawl.Merge); ok && !do.Suspect.IsZero() {
			looked = append(looked, do.Suspect)
		}
		return a, takes
	}
	r.do("go")
	if len(left) == 0 {
		t.Fatalf("%d rebases conflicted: %s", len(left), r.x.String())
	}
	for _, h := range left {
		if !slices.Contains(looked, h) {
			t.Errorf("%d rebases left markers, and %d lists of paths were looked at", len(left), len(looked))
			break
		}
	}
}

// A scheduled new plan waits for a child that waits for a person, while others could run.
func TestScheduleWaitsForAPerson(t *testing.T) {
	r := tell(t)
	r.do("run recipe=loom gates=tests every=1 parallel=2\nlist: one verify=3, two, three, four\nlist again: one verify=3, two, three, four\ntask one voting: submits decision=pass x1\ntask one voting: submits decision=retry")
	if p := r.s.w.state.Loop(1).gen.plan; p.Next() >= 0 && len(p.Kids) < 2 {
		t.Errorf("a place is free, %s is ready, and the run waits: %s", p.Entries[p.Next()].ID, p.Calling)
	}
}

// pawl run --recipe pandora --approval manual asks nobody.
func TestApprovalOfPandora(t *testing.T) {
	r := tell(t)
	r.do("run recipe=pandora gates=tests approval=manual\nlist: one, two")
	if r.s.w.state.questions == 0 {
		t.Errorf("the user wants to approve each task, and the run is %s", r.s.w.state.Outcome)
	}
}

// A plan is asked for in a run that has judged already: the command says yes and nothing follows.
func TestReplanWhileClosing(t *testing.T) {
	r := tell(t)
	r.do("run recipe=loom gates=tests every=0 until=73\nlist: one\nlist again: one, two after one\nroot close: takes 60s")
	if out := r.do("replan because=more"); !strings.Contains(out, "refused") && len(r.s.w.state.Loop(1).gen.plan.Entries) < 2 {
		t.Errorf("accepted, and nothing is planned:\n%s", out)
	}
}
