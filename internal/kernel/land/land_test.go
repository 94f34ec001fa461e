package land

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/verdict"
)

// batchOf returns a batch with a member that is not in the candidate and n members behind it
// that are linked, so that positions in the chain and in the batch differ. The task of the member
// at position i is 10+i, and its merge commit is "c" with i.
func batchOf(n int) *Batch {
	b := &Batch{N: 1}
	for i := range n + 1 {
		b.Members = append(b.Members, Member{Task: 10 + i, In: i > 0})
	}
	for i := 1; i <= n; i++ {
		b.Link(i, merged(i))
	}
	return b
}

func commit(member int) pawl.CommitHash { return pawl.CommitHash(fmt.Sprint("c", member)) }

func merged(member int) *pawl.Merged { return &pawl.Merged{Commit: commit(member)} }

// chain returns the positions of the members in the chain.
func (b *Batch) chain() (out []int) {
	for _, k := range b.Chain {
		out = append(out, k.Member)
	}
	return out
}

func tests(gate string, v pawl.Verdict) *pawl.GateJudged {
	return &pawl.GateJudged{Gate: gate, Kind: pawl.GateTests, Verdict: v}
}

// judge lets one gate judge every subject of the batch, red from the first one that holds the
// member at position bad, until the batch has come to a conclusion. It returns the subjects.
func judge(b *Batch, bad int) (subjects []pawl.CommitHash) {
	for {
		subjects = append(subjects, b.Subject())
		r := tests("unit", pawl.VerdictPass)
		last := slices.IndexFunc(b.Chain, func(k link) bool { return k.Made.Commit == b.Subject() })
		if slices.Contains(b.chain()[:last+1], bad) {
			r.Verdict, r.Reason = pawl.VerdictFail, "red at "+string(b.Subject())
		}
		b.Said(r)
		if !b.Conclude([]string{"unit"}) {
			return subjects
		}
	}
}

func TestConcludeGreen(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		b := batchOf(n)
		if got, want := judge(b, -1), []pawl.CommitHash{commit(n)}; !cmp.Equal(got, want) {
			t.Errorf("of %d: the subjects are %v, want %v", n, got, want)
		}
		if !b.Green || b.Culprit != nil || len(b.Results) != 1 {
			t.Errorf("of %d: green is %t, the culprit is %v, the results are %v", n, b.Green, b.Culprit, b.Results)
		}
	}
}

// The whole chain is judged first, then its prefixes from the first link on. If all of them are
// green, only the whole chain is red, and its own verdict is held against the last member.
func TestConcludeFindsTheCulprit(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		for bad := 1; bad <= n; bad++ {
			t.Run(fmt.Sprintf("%d of %d", bad, n), func(t *testing.T) {
				b := batchOf(n)
				want := []pawl.CommitHash{commit(n)}
				for i := 1; i <= min(bad, n-1); i++ {
					want = append(want, commit(i))
				}
				if got := judge(b, bad); !cmp.Equal(got, want) {
					t.Errorf("the subjects are %v, want %v", got, want)
				}
				if b.Green || b.Culprit == nil || b.Culprit.Member != bad || b.Culprit.By.Reason != "red at "+string(commit(bad)) {
					t.Errorf("green is %t, the culprit is %+v", b.Green, b.Culprit)
				}
			})
		}
	}
}

// With several gates, the first that is red in the order of the settings counts. A prefix may be
// red for another gate than the whole chain.
func TestConcludeWithSeveralGates(t *testing.T) {
	gates := []string{"lint", "unit", "race"}
	say := func(b *Batch, red ...string) bool {
		for _, g := range []string{"race", "unit", "lint"} {
			v := pawl.VerdictPass
			if slices.Contains(red, g) {
				v = pawl.VerdictFail
			}
			b.Said(tests(g, v))
		}
		return b.Conclude(gates)
	}
	b := batchOf(3)
	if !say(b, "race") || b.Subject() != commit(1) || say(b, "race", "unit") || b.Culprit == nil || b.Culprit.Member != 1 || b.Culprit.By.Gate != "unit" {
		t.Errorf("red for another gate: the culprit is %+v", b.Culprit)
	}
	b = batchOf(2)
	if !say(b, "unit", "race") || say(b) || b.Culprit == nil || b.Culprit.Member != 2 || b.Culprit.By.Gate != "unit" {
		t.Errorf("only the whole chain is red: the culprit is %+v", b.Culprit)
	}
	b = batchOf(1)
	b.Said(tests("unit", pawl.VerdictSkip))
	if b.Conclude([]string{"unit"}) || !b.Green {
		t.Error("a gate that was skipped makes the chain red")
	}
	b = batchOf(0)
	if b.Conclude(nil) || b.Green || b.Culprit != nil {
		t.Error("an empty chain has a conclusion")
	}
}

// What was said of one subject does not count for another one.
func TestNewSubjectDropsResults(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Batch) bool
		want   bool
	}{
		{"a link", func(b *Batch) bool { return b.Link(0, merged(0)) }, true},
		{"a conflict", func(b *Batch) bool { return b.Link(0, &pawl.Merged{Commit: commit(0), Conflicts: 1}) }, false},
		{"a prefix", func(b *Batch) bool { return b.Conclude([]string{"unit"}) }, true},
		{"a rejected member", func(b *Batch) bool { return b.Judged(11, pawl.VerdictRevise) }, true},
		{"a rejected member outside the chain", func(b *Batch) bool { return b.Judged(10, pawl.VerdictRevise) }, false},
		{"an approved member", func(b *Batch) bool { return b.Judged(11, pawl.VerdictPass) }, false},
	} {
		b := batchOf(2)
		b.Green = true
		b.Said(tests("unit", pawl.VerdictFail))
		b.Doubt("unit")
		if got := row.change(b); got != row.want {
			t.Errorf("%s: there is a new subject: %t", row.name, got)
		}
		if dropped := b.Result("unit") == nil && b.Doubt("unit") && !b.Green; dropped != row.want {
			t.Errorf("%s: what was said is dropped: %t", row.name, dropped)
		}
	}
}

func TestLink(t *testing.T) {
	b := batchOf(1)
	clash := &pawl.Merged{Commit: "x", Conflicts: 2}
	b.Members = append(b.Members, Member{Task: 12})
	if b.Link(2, clash) || b.Clash != clash || b.Clashed != 2 || !cmp.Equal(b.chain(), []int{1}) {
		t.Errorf("a conflict: %+v", b)
	}
	made := &pawl.Merged{Effect: 7, Commit: "c0", Tree: "t0", Changes: []uint64{1, 2}, Unresolved: 3}
	if !b.Link(0, made) || !cmp.Equal(b.chain(), []int{1, 0}) || b.Subject() != "c0" {
		t.Errorf("the chain is %v", b.chain())
	}
	if want := (&pawl.Merged{Commit: "c0", Tree: "t0", Changes: []uint64{1, 2}}); !cmp.Equal(b.Chain[1].Made, want) {
		t.Errorf("it keeps %+v", b.Chain[1].Made)
	}
}

func TestNextAndSeal(t *testing.T) {
	b := &Batch{Members: []Member{{Task: 10}, {Task: 11}, {Task: 12}, {Task: 13}}}
	waiting := map[int]bool{11: true, 13: true}
	waits := func(m *Member) bool { return waiting[m.Task] }
	if got := b.Next(waits); got != 1 {
		t.Errorf("member %d is next, want 1", got)
	}
	b.Seal(waits)
	waiting[10] = true
	b.Seal(waits)
	for i, want := range []bool{false, true, false, true} {
		if b.Members[i].In != want {
			t.Errorf("member %d is in the candidate: %t", i, !want)
		}
	}
	if !b.Sealed || b.Next(waits) != 0 {
		t.Errorf("member %d is next, want 0", b.Next(waits))
	}
	b.Link(0, merged(0))
	b.Link(1, merged(1))
	if got := b.Next(waits); got != 3 {
		t.Errorf("member %d is next, want 3", got)
	}
	b.Link(3, merged(3))
	if got := b.Next(waits); got != -1 {
		t.Errorf("member %d is next, want none", got)
	}
}

// A member that is rejected cuts the chain before its link; those behind it are linked anew.
func TestJudgedCutsTheChain(t *testing.T) {
	all := func(m *Member) bool { return m.Task > 10 && !m.Rejected() }
	for _, row := range []struct {
		task  int
		v     pawl.Verdict
		chain []int
		next  int
	}{
		{11, pawl.VerdictRevise, nil, 2},
		{12, pawl.VerdictRevise, []int{1}, 3},
		{12, pawl.VerdictFail, []int{1}, 3},
		{13, pawl.VerdictRevise, []int{1, 2}, -1},
		{12, pawl.VerdictPass, []int{1, 2, 3}, -1},
		{10, pawl.VerdictRevise, []int{1, 2, 3}, -1},
	} {
		b := batchOf(3)
		changed := b.Judged(row.task, row.v)
		if !cmp.Equal(b.chain(), row.chain) || changed != (len(row.chain) < 3) || b.Next(all) != row.next {
			t.Errorf("%d judged %s: changed is %t, the chain is %v, member %d is next", row.task, row.v, changed, b.chain(), b.Next(all))
		}
		if b.Member(row.task).Verdict != row.v {
			t.Errorf("the verdict on %d is %s", row.task, b.Member(row.task).Verdict)
		}
	}
	b := batchOf(3)
	c := b.Clone()
	c.Judged(12, pawl.VerdictRevise)
	c.Link(3, &pawl.Merged{Commit: "anew"})
	if b.Chain[1].Made.Commit != commit(2) {
		t.Error("the chain of the original has changed")
	}
}

// A verdict settles the clash or the culprit that led to it, and ends the search for the culprit.
func TestJudgedSettles(t *testing.T) {
	b := batchOf(3)
	b.Link(0, &pawl.Merged{Conflicts: 1})
	if b.Judged(12, pawl.VerdictPass); b.Clash == nil {
		t.Error("an approval settles the clash")
	}
	if b.Judged(10, pawl.VerdictRevise); b.Clash != nil {
		t.Error("the clash is not settled")
	}
	b = batchOf(3)
	judge(b, 2)
	if b.Culprit == nil || b.prefix == 0 {
		t.Fatalf("the culprit is %v of a prefix of %d", b.Culprit, b.prefix)
	}
	if b.Judged(12, pawl.VerdictRevise); b.Culprit != nil || b.tip != nil || b.Subject() != commit(1) {
		t.Errorf("the culprit is %v, the subject %s", b.Culprit, b.Subject())
	}
	b.Link(3, merged(3))
	if b.Subject() != commit(3) {
		t.Errorf("the subject is %s", b.Subject())
	}
	c := batchOf(3)
	c.Said(tests("unit", pawl.VerdictFail))
	if !c.Conclude([]string{"unit"}) || c.Subject() != commit(1) {
		t.Fatalf("the subject is %s", c.Subject())
	}
	if c.Judged(10, pawl.VerdictRevise); c.Subject() != commit(3) {
		t.Errorf("without a member outside the chain, the subject is %s", c.Subject())
	}
	if judge(b, -1); !b.Green {
		t.Error("without the culprit the chain is not green")
	}
}

// A test gate that fails with a full report is asked once more, and then believed.
func TestDoubts(t *testing.T) {
	evidence := pawl.HashOf([]byte("report"))
	red := pawl.GateJudged{Gate: "unit", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Evidence: evidence}
	for _, row := range []struct {
		name   string
		change func(*pawl.GateJudged)
		want   bool
	}{
		{"red", func(*pawl.GateJudged) {}, true},
		{"halted", func(r *pawl.GateJudged) { r.Verdict = pawl.VerdictHalt }, true},
		{"green", func(r *pawl.GateJudged) { r.Verdict = pawl.VerdictPass }, false},
		{"skipped", func(r *pawl.GateJudged) { r.Verdict = pawl.VerdictSkip }, false},
		{"another kind", func(r *pawl.GateJudged) { r.Kind = pawl.GateSecurity }, false},
		{"cut short", func(r *pawl.GateJudged) { r.Partial = true }, false},
		{"without a report", func(r *pawl.GateJudged) { r.Evidence = pawl.Hash{} }, false},
	} {
		r := red
		if row.change(&r); batchOf(1).Doubts(&r) != row.want {
			t.Errorf("%s: it is doubted: %t", row.name, !row.want)
		}
	}
	b := batchOf(2)
	if !b.Doubt("unit") {
		t.Error("the first doubt is not the first")
	}
	if b.Doubt("unit") || len(b.doubted) != 1 || b.Doubts(&red) {
		t.Error("the gate is doubted twice")
	}
	other := red
	if other.Gate = "race"; !b.Doubts(&other) {
		t.Error("one gate is believed because another one was doubted")
	}
	b.Said(&red)
	if !b.Conclude([]string{"unit"}) || !b.Doubts(&red) {
		t.Error("the gate is not doubted on another subject")
	}
}

// A gate's last word replaces its earlier one and stands last.
func TestSaid(t *testing.T) {
	b := batchOf(1)
	long := strings.Repeat("x", verdict.MaxReason+1)
	first := &pawl.GateJudged{Gate: "unit", Verdict: pawl.VerdictFail, Reason: long, Broke: []string{"a"}, Mended: []string{"b"}, Flaky: []string{"c"}}
	b.Said(first)
	b.Said(tests("lint", pawl.VerdictPass))
	want := []pawl.GateJudged{
		{Gate: "unit", Verdict: pawl.VerdictFail, Reason: brief.Cut(long, verdict.MaxReason), Broke: []string{"a"}},
		*tests("lint", pawl.VerdictPass)}
	if diff := cmp.Diff(want, b.Results); diff != "" {
		t.Errorf("the results differ:\n%s", diff)
	}
	if first.Reason != long || first.Mended == nil || first.Flaky == nil {
		t.Error("it changes what it is given")
	}
	b.Said(tests("unit", pawl.VerdictPass))
	if len(b.Results) != 2 || b.Results[1].Gate != "unit" || b.Result("unit").Verdict != pawl.VerdictPass || b.Result("race") != nil {
		t.Errorf("the results are %v", b.Results)
	}
}

func TestUndecided(t *testing.T) {
	b := batchOf(0)
	b.Members = append(b.Members, Member{Task: 11}, Member{Task: 12}, Member{Task: 13})
	for _, i := range []int{3, 0, 2} {
		b.Link(i, merged(i))
	}
	if got := b.Undecided(); !cmp.Equal(got, []int{3, 0, 2}) {
		t.Errorf("undecided are %v", got)
	}
	if b.Judged(10, pawl.VerdictPass); !cmp.Equal(b.Undecided(), []int{3, 2}) {
		t.Errorf("undecided are %v", b.Undecided())
	}
}

func id(task int) string { return fmt.Sprint("t", task) }

func TestUnjudged(t *testing.T) {
	b := batchOf(3)
	b.Judged(11, pawl.VerdictPass)
	long := strings.Repeat("x", 61)
	for _, row := range []struct{ facts, want string }{
		{"approved=t12 approved=t13", ""},
		{"changes=t13 approved=t12", ""},
		{"changes=t12 changes=t13 why=t99", ""},
		{"", "There is no verdict on t12. The subtasks of this batch are t12, t13: one verdict each."},
		{"approved=t12 why=t13", "There is no verdict on t13. The subtasks of this batch are t12, t13: one verdict each."},
		{"approved=t12 approved=t13 changes=t14 why=t15", ""}, // F-68
		{"approved=t11 approved=t12 approved=t13", ""},
		{"approved=t13 approved=t10", "There is no verdict on t12, and the verdict on t10 is not of this batch. The subtasks of this batch are t12, t13: one verdict each."},
		{"changes=" + long, "There is no verdict on t12, and the verdict on " + long[:57] + "… is not of this batch. The subtasks of this batch are t12, t13: one verdict each."},
	} {
		var f pawl.Facts
		for _, w := range strings.Fields(row.facts) {
			name, value, _ := strings.Cut(w, "=")
			f = append(f, pawl.Fact{Name: name, Value: value})
		}
		if got := b.Unjudged(f, []string{"t12", "t13"}); got != row.want {
			t.Errorf("%q: got %q, want %q", row.facts, got, row.want)
		}
	}
}

// F-68
func TestOfBatch(t *testing.T) {
	facts := pawl.Facts{{Name: "changes", Value: "t9"}, {Name: "why", Value: "a"}, {Name: "because", Value: "b"}, {Name: "approved", Value: "t1"},
		{Name: "changes", Value: "t2"}, {Name: "why", Value: "c"}, {Name: "approved", Value: "t8"}, {Name: "anti-pattern", Value: "d"}}
	want := pawl.Facts{{Name: "approved", Value: "t1"}, {Name: "changes", Value: "t2"}, {Name: "why", Value: "c"}, {Name: "anti-pattern", Value: "d"},
		{Name: "surplus", Value: "verdict on t9"}, {Name: "surplus", Value: "verdict on t8"}}
	if diff := cmp.Diff(want, OfBatch(facts, []string{"t1", "t2"})); diff != "" {
		t.Errorf("want and got differ (-want +got):\n%s", diff)
	}
}

func TestNamed(t *testing.T) {
	b := batchOf(2)
	b.Judged(11, pawl.VerdictPass)
	for name, want := range map[string]int{"t10": -1, "t11": -1, "t12": 2, "t13": -1} {
		if got := b.Named(name, id); got != want {
			t.Errorf("%s is member %d, want %d", name, got, want)
		}
	}
}

// Where the best lands, any member may be picked, and exactly one is. Reviews are counted from the
// start when the one that was picked is sent back.
func TestBest(t *testing.T) {
	b := &Batch{Land: pawl.LandBest, Members: []Member{{Task: 10}, {Task: 11}, {Task: 12}}, Reviews: 1}
	if got := b.Named("t11", id); got != 1 || b.Picked() {
		t.Errorf("t11 is member %d", got)
	}
	for facts, wrong := range map[string]bool{"approved=t10 changes=t11": false, "changes=t10 changes=t11": true, "approved=t10 approved=t11": true, "approved=t10 changes=t11 approved=t9": false} {
		var f pawl.Facts
		for _, w := range strings.Fields(facts) {
			name, value, _ := strings.Cut(w, "=")
			f = append(f, pawl.Fact{Name: name, Value: value})
		}
		if got := b.Unjudged(f, []string{"t10", "t11"}); (got != "") != wrong {
			t.Errorf("%q: got %q", facts, got)
		}
	}
	if b.Judged(11, pawl.VerdictPass); !b.Picked() || b.Reviews != 1 {
		t.Errorf("t11 is picked: %+v", b)
	}
	b.Link(1, merged(1))
	if !b.Judged(11, pawl.VerdictRevise) || b.Picked() || b.Reviews != 0 {
		t.Errorf("t11 is sent back: %+v", b)
	}
	b = batchOf(2)
	b.Reviews = 1
	if b.Judged(11, pawl.VerdictRevise); b.Reviews != 1 {
		t.Error("the reviews of a batch that lands what passes are counted anew")
	}
}

func TestMember(t *testing.T) {
	b := batchOf(2)
	if m := b.Member(12); m != &b.Members[2] || b.Member(13) != nil || (*Batch)(nil).Member(12) != nil {
		t.Errorf("task 12 is member %+v", m)
	}
	if !b.Open(12) || b.Open(13) {
		t.Error("a member without a verdict is not open, or another task is")
	}
	for v, rejected := range map[pawl.Verdict]bool{"": false, pawl.VerdictPass: false, pawl.VerdictRevise: true, pawl.VerdictFail: true} {
		m := b.Member(12)
		if m.Verdict = v; m.Rejected() != rejected || b.Open(12) != (v == "") {
			t.Errorf("with the verdict %q it is rejected: %t, open: %t", v, m.Rejected(), b.Open(12))
		}
	}
}

// Two objections are the same if the same judge says the same words. F-91
func TestObjection(t *testing.T) {
	one, two := pawl.HashOf([]byte("one")), pawl.HashOf([]byte("two"))
	differs := func(at int) (a, b uint64) { // by two long reasons
		head, tail := strings.Repeat("x", at), strings.Repeat("x", 400)
		return Objection("unit", head+"a"+tail, one, 0), Objection("unit", head+"b"+tail, one, 0)
	}
	lastSeen, lastSeen2 := differs(296)
	unseen, unseen2 := differs(297)
	for _, row := range []struct {
		name string
		a, b uint64
		same bool
	}{
		{"other words of a review", Objection(ByReview, "r", one, 1), Objection(ByReview, "r", one, 2), false},
		{"another reason and evidence of a review with the same words", Objection(ByReview, "r", one, 1), Objection(ByReview, "s", two, 1), true},
		{"another evidence of a review without words", Objection(ByReview, "r", one, 0), Objection(ByReview, "r", two, 0), false},
		{"another reason of a review with evidence", Objection(ByReview, "r", one, 0), Objection(ByReview, "s", one, 0), true},
		{"another reason of a review without evidence", Objection(ByReview, "r", pawl.Hash{}, 0), Objection(ByReview, "s", pawl.Hash{}, 0), false},
		{"another evidence of a gate", Objection("unit", "r", one, 0), Objection("unit", "r", two, 0), true},
		{"another reason of a gate", Objection("unit", "r", one, 0), Objection("unit", "s", one, 0), false},
		{"another number", Objection("unit", "2 of 3 tests fail: TestA", one, 0), Objection("unit", "1 of 4 tests fail: TestA", one, 0), true},
		{"another gate", Objection("unit", "r", one, 0), Objection("lint", "r", one, 0), false},
		{"a gate and a review", Objection(ByReview, "r", pawl.Hash{}, 0), Objection("unit", "r", pawl.Hash{}, 0), false},
		{"the first 300 bytes of a long reason", lastSeen, lastSeen2, false},
		{"the rest of a long reason", unseen, unseen2, true},
	} {
		if got := row.a == row.b; got != row.same || row.a == 0 {
			t.Errorf("%s: the objections are the same: %t", row.name, got)
		}
	}
}

func TestNote(t *testing.T) {
	m := &Member{Facts: monitor.Task{Task: 3, Passing: 9, Failed: 9}}
	results := []*pawl.GateJudged{
		{Gate: "unit", Kind: pawl.GateTests, Passed: 3, Total: 5, Failing: 77},
		{Gate: "race", Kind: pawl.GateTests, Passed: 2, Total: 1},
		{Gate: "review", Passed: 50, Total: 60},
	}
	hunks := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	m.Note(results, &pawl.Committed{Tree: "tree", Hunks: hunks}, 42)
	want := monitor.Task{Task: 3, Error: 42, Failing: verdict.FailingTests(results), Failed: 2, Passing: 5, Tree: brief.Fingerprint("tree"), Hunks: hunks[:8]}
	if diff := cmp.Diff(want, m.Facts); diff != "" {
		t.Errorf("the facts differ:\n%s", diff)
	}
	m.Note(nil, nil, 0)
	want.Error, want.Failing, want.Failed, want.Passing = 0, 0, 0, -1
	if diff := cmp.Diff(want, m.Facts); diff != "" {
		t.Errorf("without results and a commit, the facts differ:\n%s", diff)
	}
}

// A gate that was cut short, or could not run, says nothing of how many tests pass.
func TestNoteOfAGateThatWasCutShort(t *testing.T) {
	full := &pawl.GateJudged{Gate: "unit", Kind: pawl.GateTests, Passed: 3, Total: 5}
	cut := &pawl.GateJudged{Gate: "race", Kind: pawl.GateTests, Verdict: pawl.VerdictFail, Passed: 1, Total: 9, Partial: true}
	skipped := &pawl.GateJudged{Gate: "race", Kind: pawl.GateTests, Verdict: pawl.VerdictSkip}
	lint := &pawl.GateJudged{Gate: "lint", Kind: pawl.GateLint, Partial: true}
	for _, row := range []struct {
		name            string
		results         []*pawl.GateJudged
		passing, failed int
	}{
		{"cut short", []*pawl.GateJudged{full, cut}, -1, 0},
		{"cut short, and first", []*pawl.GateJudged{cut, full}, -1, 0},
		{"skipped", []*pawl.GateJudged{skipped, full}, 3, 2},
		{"only skipped", []*pawl.GateJudged{skipped}, -1, 0},
		{"another gate was cut short", []*pawl.GateJudged{full, lint}, 3, 2},
	} {
		m := &Member{}
		if m.Note(row.results, nil, 0); m.Facts.Passing != row.passing || m.Facts.Failed != row.failed {
			t.Errorf("%s: %d pass and %d fail, want %d and %d", row.name, m.Facts.Passing, m.Facts.Failed, row.passing, row.failed)
		}
	}
}

func TestClone(t *testing.T) {
	if (*Batch)(nil).Clone() != nil || (*Entry)(nil).Clone() != nil {
		t.Error("nothing has a clone")
	}
	b := batchOf(2)
	b.Said(tests("unit", pawl.VerdictFail))
	b.Doubt("unit")
	c := b.Clone()
	c.Members[1].Verdict = pawl.VerdictPass
	c.Chain[0].Member = 9
	c.Results[0].Verdict = pawl.VerdictPass
	c.doubted[0] = "other"
	if b.Members[1].Verdict != "" || b.Chain[0].Member != 1 || b.Results[0].Verdict != pawl.VerdictFail || b.doubted[0] != "unit" {
		t.Errorf("the original has changed: %+v", b)
	}
	m := Enter(7, 3, true)
	n := m.Clone()
	n.Done, n.Alone.Members[0].Task = true, 9
	if n.Since != 7 || m.Done || m.Alone.Members[0].Task != 3 {
		t.Errorf("the clone is %+v, and the original %+v", n, m)
	}
	if m.IsDone() || (*Entry)(nil).IsDone() || !n.IsDone() {
		t.Error("a merge is done when the branch has moved")
	}
	if o := Enter(7, 3, false); o.Alone != nil || o.Clone().Since != 7 {
		t.Errorf("who lands with others has a landing of its own: %+v", o)
	}
}

// A chain is made anew when the branch has moved under it.
func TestStale(t *testing.T) {
	b := Enter(1, 0, true).Alone
	if b.IsStale("a") || b.Tip("a") != "a" || b.First() != 0 {
		t.Errorf("without a chain: %+v", b)
	}
	b.Begin("a")
	b.Link(0, merged(0))
	if b.IsStale("a") || b.Tip("a") != "c0" || !b.IsStale("b") || b.Tip("b") != "b" {
		t.Errorf("the chain is on a: stale on a %t, on b %t", b.IsStale("a"), b.IsStale("b"))
	}
	b.Green = true
	b.Begin("b")
	if len(b.Chain) > 0 || b.Green || b.IsStale("b") {
		t.Errorf("begun on b: %+v", b)
	}
	b.Link(0, &pawl.Merged{Conflicts: 1})
	if b.IsStale("b") || !b.IsStale("c") || b.First() != 0 {
		t.Errorf("a clash on b: %+v", b)
	}
	if b.Begin("c"); b.Clash != nil {
		t.Error("begun anew, the clash is still there")
	}
}
