package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// steps reads steps as "a b", and groups with their rounds as "g2(b,c)".
func steps(text string) (out []pawl.Step) {
	for _, w := range strings.Fields(text) {
		name, rest, isGroup := strings.Cut(w, "(")
		st := pawl.Step{Name: name}
		if isGroup {
			st.Repeat = &pawl.Repeat{Max: int(name[1] - '0')}
			st.Name = name[:1]
			for _, inner := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
				st.Repeat.Steps = append(st.Repeat.Steps, pawl.Step{Name: inner})
			}
		}
		out = append(out, st)
	}
	return out
}

// walk goes through an iteration as a loop does, and returns the steps that run, each with its
// round. A group whose rounds are used up is left.
func walk(f *Flow, runs func(step int) bool, skips func(*pawl.When) bool) string {
	var out []string
	for c := (Cursor{Try: 1}); len(out) < 50; {
		if c.Forward(f, runs, skips) {
			if c.Round != 0 || c.Step < f.Main {
				out = append(out, fmt.Sprintf("over in round %d at step %d", c.Round, c.Step))
			}
			return strings.Join(out, " ")
		}
		if c.Exhausted {
			out = append(out, fmt.Sprintf("exhausted at %d", c.Step))
			if c.Forward(f, runs, skips) || !c.Exhausted {
				out = append(out, "which did not last")
			}
			c = Cursor{Step: c.Step, Try: 1}
			continue
		}
		out = append(out, fmt.Sprint(f.Steps[c.Step].Name, c.Round))
		c.Step++
	}
	return strings.Join(out, " ")
}

func TestForward(t *testing.T) {
	for _, row := range []struct {
		steps string
		idle  string // steps that do not run
		skips string // groups whose condition does not hold
		want  string
	}{
		{"a b", "", "", "a0 b0"},
		{"a b c", "b", "", "a0 c0"},
		{"a b", "a b", "", ""},
		{"", "", "", ""},
		{"a g2(b,c) d", "", "", "a0 b1 c1 b2 c2 exhausted at 3 d0"},
		{"g1(b) d", "", "", "b1 exhausted at 1 d0"},
		{"a g3(b)", "", "", "a0 b1 b2 b3 exhausted at 2"},
		{"g2(a,b) h1(c,d)", "", "", "a1 b1 a2 b2 exhausted at 2 c1 d1 exhausted at 4"},
		{"a g2(b,c) d", "b", "", "a0 c1 c2 exhausted at 3 d0"},
		{"a g2(b,c) d", "c", "", "a0 b1 b2 exhausted at 3 d0"},
		{"a g2(b,c) d", "", "g", "a0 d0"},
		{"g2(a) h1(b)", "", "g", "b1 exhausted at 2"},
		{"g2(a) h1(b)", "", "h", "a1 a2 exhausted at 1"},
		{"g2(a) h1(b)", "", "g h", ""},
		{"a g2(b,c) d", "b c", "", "a0 exhausted at 3 d0"},
		{"g2(a) h2(b)", "", "", "a1 a2 exhausted at 1 b1 b2 exhausted at 2"}, // a second round of h is not the end of g
		{"g1(a) h3(b,c) d", "b", "", "a1 exhausted at 1 c1 c2 c3 exhausted at 3 d0"},
		{"g2(a) h2(b)", "b", "", "a1 a2 exhausted at 1 exhausted at 2"},
	} {
		k := &pawl.LoopKind{Steps: steps(row.steps), FinalSteps: steps("final"), Children: &pawl.Children{BeforeBatch: steps("before")}}
		skipped := map[*pawl.When]bool{}
		for i := range k.Steps {
			if k.Steps[i].Repeat != nil && strings.Contains(row.skips, k.Steps[i].Name) {
				k.Steps[i].When = &pawl.When{Tier: []int{1}}
				skipped[k.Steps[i].When] = true
			}
		}
		f := Of(k)
		runs := func(step int) bool { return !strings.Contains(row.idle, f.Steps[step].Name) }
		got := walk(f, runs, func(w *pawl.When) bool { return skipped[w] })
		if got != row.want {
			t.Errorf("%s without %q and %q: got %q, want %q", row.steps, row.idle, row.skips, got, row.want)
		}
	}
}

// The condition of a group is asked when it is entered. It does not end a group between rounds.
func TestForwardAsksAGroupOnce(t *testing.T) {
	f := Of(&pawl.LoopKind{Steps: steps("a g3(b,c)")})
	asked := 0
	got := walk(f, func(int) bool { return true }, func(*pawl.When) bool { asked++; return asked > 1 })
	if want := "a0 b1 c1 b2 c2 b3 c3 exhausted at 3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

// An iteration whose cursor stands behind its steps is over, and in no group.
func TestForwardIsOver(t *testing.T) {
	f := Of(&pawl.LoopKind{Steps: steps("a"), FinalSteps: steps("b c")})
	for _, c := range []Cursor{{Step: 1}, {Step: 2}, {Step: 2, Round: 3}} {
		if over := c.Forward(f, func(int) bool { return true }, func(*pawl.When) bool { return false }); !over || c.Round != 0 {
			t.Errorf("over is %t, the cursor is %+v", over, c)
		}
	}
}

func TestPositions(t *testing.T) {
	f := Of(&pawl.LoopKind{Steps: steps("a g2(b,c) d"), FinalSteps: steps("h"),
		Children: &pawl.Children{BeforeBatch: steps("e f"), AfterBatch: steps("i")}})
	for name, want := range map[string]int{"a": 0, "g": 1, "b": 1, "c": 2, "d": 3, "e": -1, "i": -1, "h": -1, "z": -1} {
		if got := f.Find(name); got != want {
			t.Errorf("%s is at %d, want %d", name, got, want)
		}
	}
	groups, around := "", ""
	for i := range f.Steps {
		if g := f.Group(i); g != nil && g.Name == "g" && g.from == 1 && g.To == 3 {
			groups += f.Steps[i].Name
		}
		if f.AroundBatch(i) {
			around += f.Steps[i].Name
		}
	}
	if groups != "bc" || around != "efi" || f.Group(-1) != nil {
		t.Errorf("in the group are %q, around a batch %q", groups, around)
	}
}

func TestFields(t *testing.T) {
	each := func(forEach ...string) (out []pawl.Step) {
		for _, e := range forEach {
			out = append(out, pawl.Step{ForEach: e})
		}
		return out
	}
	r := &pawl.Recipe{Kinds: []pawl.LoopKind{
		{Steps: append(each("plan.questions", ""), pawl.Step{Repeat: &pawl.Repeat{Steps: each("plan.risks", "other.questions")}})},
		{FinalSteps: each("plan.files", "nothing")},
	}}
	if got, want := Fields(r), []string{"questions", "risks", "files"}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
