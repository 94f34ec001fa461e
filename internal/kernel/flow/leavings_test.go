package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func blob(n int) pawl.Hash { return pawl.Hash{byte(n)} }

// names returns the outputs as "name" with the first byte of the blob.
func names(r *Leavings) string {
	var out []string
	for _, in := range r.Outputs {
		out = append(out, fmt.Sprint(in.Name, in.Blob[0]))
	}
	return strings.Join(out, " ")
}

// keepAll keeps one output after the other, numbered from 1. A name in capitals is that of a step
// that appends, and "-" stands for a step that leaves nothing.
func keepAll(r *Leavings, text string) {
	for i, name := range strings.Fields(text) {
		st := &pawl.Step{Name: name, Append: name != strings.ToLower(name)}
		output := blob(i + 1)
		if name == "-" {
			output = pawl.Hash{}
		}
		r.KeepOutput(st, output)
	}
}

func TestKeepOutput(t *testing.T) {
	for _, row := range []struct{ steps, want string }{
		{"a b a", "b2 a3"},
		{"a - b", "a1 b3"},
		{"A b A", "A1 b2 A3"},
		{"a b c d e f g h", "a1 b2 c3 d4 e5 f6 g7 h8"},
		{"a b c d e f g h i", "b2 c3 d4 e5 f6 g7 h8 i9"},
		{"a b c d e f g h a", "b2 c3 d4 e5 f6 g7 h8 a9"},
		{"a b X c d X e f X", "a1 b2 c4 d5 X6 e7 f8 X9"}, // its own oldest goes first
		{"a b c d e f g h X", "b2 c3 d4 e5 f6 g7 h8 X9"}, // it has none, so the oldest of all goes
		{"X X X X X X X X X X", "X3 X4 X5 X6 X7 X8 X9 X10"},
		{"X b c d e f g h i", "b2 c3 d4 e5 f6 g7 h8 i9"},
	} {
		r := &Leavings{}
		if keepAll(r, row.steps); names(r) != row.want {
			t.Errorf("%s: got %s, want %s", row.steps, names(r), row.want)
		}
	}
	r := &Leavings{}
	r.KeepOutput(&pawl.Step{Name: "plan-it", Output: "plan"}, blob(1))
	r.KeepOutput(&pawl.Step{Name: "plan-again", Output: "plan"}, blob(2))
	if got := names(r); got != "plan2" {
		t.Errorf("got %s", got)
	}
}

// ended returns the end of a session whose result has the lists of these lengths.
func ended(output int, lengths string) *pawl.SessionEnded {
	b := &pawl.SessionEnded{Result: pawl.SessionDone, Output: blob(output)}
	for _, w := range strings.Fields(lengths) {
		name, value, _ := strings.Cut(w, "=")
		b.Facts = append(b.Facts, pawl.Fact{Name: name, Value: value})
	}
	return b
}

func lists(r *Leavings) string {
	var out []string
	for _, o := range r.Lists {
		out = append(out, fmt.Sprintf("%s/%s.%s=%d@%d", o.step, o.output, o.field, o.count, o.blob[0]))
	}
	return strings.Join(out, " ")
}

func TestKeepLists(t *testing.T) {
	plan, scan := &pawl.Step{Name: "plan", Output: "tasks"}, &pawl.Step{Name: "scan"}
	failed, empty := ended(3, "files=2"), ended(0, "files=2")
	failed.Result = pawl.SessionTurns
	for _, row := range []struct {
		name   string
		fields string
		step   *pawl.Step
		end    *pawl.SessionEnded
		want   string
	}{
		{"two lists", "files risks", scan, ended(3, "risks=1 files=2"), "plan/tasks.files=4@1 scan/scan.files=2@3 scan/scan.risks=1@3"},
		{"in place of its earlier lists", "files risks", plan, ended(3, "risks=1"), "plan/tasks.risks=1@3"},
		{"a field that no step runs over", "files", scan, ended(3, "risks=1"), "plan/tasks.files=4@1"},
		{"no field", "", plan, ended(3, "files=1"), "plan/tasks.files=4@1"},
		{"an empty list", "files", plan, ended(3, "files=0"), ""},
		{"no number", "files", plan, ended(3, "files=many"), ""},
		{"below nothing", "files", plan, ended(3, "files=-1"), ""},
		{"too long a list", "files", plan, ended(3, "files=41"), "plan/tasks.files=40@3"},
		{"a session that failed", "files", plan, failed, ""},
		{"no output", "files", plan, empty, ""},
	} {
		r := &Leavings{}
		r.KeepLists(&Flow{Fields: []string{"files"}}, plan, ended(1, "files=4"))
		before := r.Lists
		r.KeepLists(&Flow{Fields: strings.Fields(row.fields)}, row.step, row.end)
		if got := lists(r); got != row.want || row.want == "" && r.Lists != nil {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
		if before[0].count != 4 || before[0].field != "files" {
			t.Errorf("%s: the lists before have changed", row.name)
		}
	}
	r := &Leavings{}
	for i := range maxOutputs + 2 {
		r.KeepLists(&Flow{Fields: []string{"files"}}, &pawl.Step{Name: fmt.Sprint("s", i)}, ended(1, "files=1"))
	}
	if len(r.Lists) != maxOutputs || r.Lists[0].step != "s2" {
		t.Errorf("%d lists are kept: %s", len(r.Lists), lists(r))
	}
}

func TestDrop(t *testing.T) {
	r := &Leavings{Decision: "PASS", RunFailed: true, RunHidden: true}
	keepAll(r, "a b c")
	f := &Flow{Fields: []string{"files"}}
	r.KeepLists(f, &pawl.Step{Name: "s", Output: "b"}, ended(1, "files=1"))
	r.KeepLists(f, &pawl.Step{Name: "b", Output: "c"}, ended(2, "files=1"))
	all := r.Lists
	r.Drop(func(output string) bool { return output == "b" })
	if names(r) != "b2" || lists(r) != "s/b.files=1@1" || r.Decision != "" || r.RunFailed || r.RunHidden {
		t.Errorf("what is left is %+v", r)
	}
	if len(all) != 2 || all[1].step != "b" {
		t.Error("the lists before have changed")
	}
	if r.Drop(func(string) bool { return false }); len(r.Outputs) != 0 || r.Lists != nil {
		t.Errorf("what is left is %+v", r)
	}
}

func TestEntriesOf(t *testing.T) {
	f := Of(&pawl.LoopKind{Steps: []pawl.Step{{Name: "plan"}, {ForEach: "plan.files"}, {ForEach: "tasks.files"}, {ForEach: "plan.risks"}, {ForEach: "other.files"}}})
	have := []List{
		{step: "plan", output: "tasks", field: "files", blob: blob(1), count: 2},
		{step: "plan", output: "tasks", field: "risks", blob: blob(1), count: 1},
		{step: "again", output: "plan", field: "files", blob: blob(2), count: 1},
	}
	one, two := []Entry{{blob(1), "files", 1}, {blob(1), "files", 2}}, Entry{blob(2), "files", 1}
	for step, want := range [][]Entry{nil, append(one, two), one, {{blob(1), "risks", 1}}, nil} {
		if got := f.EntriesOf(step, have); !cmp.Equal(got, want) {
			t.Errorf("of step %d: got %v, want %v", step, got, want)
		}
	}
	many := []List{{step: "plan", field: "files", blob: blob(1), count: 30}, {step: "plan", field: "files", blob: blob(2), count: 30}}
	if got := f.EntriesOf(1, many); len(got) != maxEntries || got[maxEntries-1] != (Entry{blob(2), "files", 10}) {
		t.Errorf("%d entries, the last is %v", len(got), got[len(got)-1])
	}
}
