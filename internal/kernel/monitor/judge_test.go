package monitor

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl"
)

// V-44: nothing has happened, so nothing is wrong.
func TestNoBatch(t *testing.T) {
	if v := tuned(nil); v.Health != pawl.HealthProgressing || v.Reason == "" {
		t.Errorf("%+v", v)
	}
}

// V-46, V-B09: what is needed is told, however much it is, also in the first batch.
func TestBlockedTellsWhatIsNeeded(t *testing.T) {
	v := tuned([]Batch{{N: 1, Tasks: []Task{
		{Task: 0, Result: Approved}, {Task: 1, Result: Blocked, Blocker: "needs the staging key"}, {Task: 4, Result: Blocked}}}})
	if want := "blocked in batch 1: task 2 needs the staging key; task 5"; v.Health != pawl.HealthBlocked || v.Reason != want {
		t.Errorf("%+v, want %q", v, want)
	}
	for _, long := range []string{strings.Repeat("ä", 400) + "\xff", "a" + strings.Repeat("ä", 400)} {
		v := tuned([]Batch{{N: 1, Tasks: []Task{{Result: Blocked, Blocker: long}}}})
		if len(v.Reason) > ReasonMax || !utf8.ValidString(v.Reason) {
			t.Errorf("%d bytes: %q", len(v.Reason), v.Reason)
		}
	}
}

// V-45, V-47, V-48: a verdict names the batches, tasks and tests that speak for it.
func TestReasonsNameTheirEvidence(t *testing.T) {
	for name, want := range map[string]string{
		"three-failures":               "in batches 1 to 3 nothing was approved, no new test passes and no list of failures is shorter",
		"three-stroke":                 "in batches 4 to 8 nothing was approved, and none came nearer than those before",
		"same-error-without-tests":     "task 1 met the same objections in batches 1 to 3, and no new test passes",
		"stuck-for-long-beside-others": "task 1 came no nearer in batches 1 to 5 than it had been",
		"rate-falls-to-nothing":        "fewer tasks were approved from batch to batch: 4 of 4 in batch 1, 2 of 4 in batch 2, 0 of 4 in batch 3",
		"broken-and-left":              fmt.Sprintf("test %x passed at the last good checkpoint and fails after batches 2, 3", print64("login")),
		"tree-again-same-error":        "task 1 handed in the same work in batch 3 as in batch 1, after other work in between, and it is refused for the same reason",
		"change-done-undone-done":      "task 1 makes a change again in batch 4 that it had made and undone",
		"test-breaks-again":            fmt.Sprintf("test %x broke, was fixed and is broken again in batch 3", print64("login")),
		"tasks-undo-each-other":        "batch 3 makes a change of the branch again that a batch before it had undone",
		"branch-in-turn":               "after batch 4 the branch is as it was after batch 2, and it goes back and forth between two states",
		"waiting-all":                  "no task of batch 4 was attempted: all of them wait",
	} {
		all := parse(t, "testdata/tune.txt")
		i := slices.IndexFunc(all, func(h history) bool { return h.name == name })
		if v := tuned(all[i].batches); v.Reason != want {
			t.Errorf("%s: %q, want %q", name, v.Reason, want)
		}
	}
}

// What is older than the window does not speak any more; waiting does not fill it.
func TestWindow(t *testing.T) {
	h := []Batch{{N: 1, Attempted: 1, Approved: 1, Passing: -1, Tree: 1, Hunks: []uint64{7, 8}}}
	for n := 2; n <= 12; n++ {
		h = append(h, Batch{N: n, Attempted: 1, Approved: 1, Passing: -1, Tree: uint64(n), Hunks: []uint64{uint64(100 * n), uint64(100*n + 1)}})
	}
	h[10].Hunks, h[11].Hunks = []uint64{8, 7}, []uint64{7, 8}
	if v := tuned(h); v.Health != pawl.HealthProgressing {
		t.Errorf("a change made %d batches ago: %+v", len(h)-1, v)
	}
	waiting := Batch{Tasks: []Task{{Result: Waiting}}}
	h = append(append(h[:1:1], slices.Repeat([]Batch{waiting}, Window)...), h[10:]...)
	if v := tuned(h); v.Health != pawl.HealthFlipFlop {
		t.Errorf("a change made two batches ago, with waiting between: %+v", v)
	}
}

// V-B06: two drops are three batches, whatever their size, and an equal rate is none.
func TestDrops(t *testing.T) {
	for _, c := range []struct {
		rates string
		want  pawl.Health
	}{
		{"3/3 2/3 1/3", pawl.HealthRegressing},
		{"9/9 2/3 1/2", pawl.HealthRegressing},
		{"3/3 2/3", pawl.HealthProgressing},
		{"3/3 2/3 4/6", pawl.HealthProgressing},
		{"3/3 1/3 2/3", pawl.HealthProgressing},
		{"4/4 4/4 1/4", pawl.HealthProgressing},
		{"1/1 2/3 1/3", pawl.HealthProgressing},
		{"3/3 2/3 0/1", ""}, // F-89: nothing was approved, and one batch is no pattern
		{"3/3 0/1 2/3 1/3", pawl.HealthProgressing},
		{"3/3 0/0 2/3 0/0 1/3", pawl.HealthRegressing},
	} {
		var h []Batch
		for i, r := range strings.Fields(c.rates) {
			b := Batch{N: i + 1, Passing: -1}
			approved, attempted, _ := strings.Cut(r, "/")
			b.Approved, b.Attempted = number(approved), number(attempted)
			h = append(h, b)
		}
		if v := tuned(h); v.Health != c.want {
			t.Errorf("%s: %s (%s), want %s", c.rates, v.Health, v.Reason, c.want)
		}
	}
}

// Whatever it is shown, the monitor says one of five things or nothing, the same each time, with
// a reason of bounded length, and leaves what it was shown as it was.
func FuzzJudge(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		shown, kept := wild(seed, int(size%16)), wild(seed, int(size%16))
		v := tuned(shown)
		checkReason(t, v)
		if v.Health != "" && !slices.Contains(healths(), v.Health) {
			t.Errorf("health %q", v.Health)
		}
		if again := tuned(slices.Clone(shown)); again != v {
			t.Errorf("%+v, then %+v", v, again)
		}
		if !reflect.DeepEqual(shown, kept) {
			t.Error("it changed what it was shown")
		}
	})
}

func TestWildHistories(t *testing.T) {
	for seed := range uint64(20_000) {
		shown := wild(seed, int(seed%16))
		v := tuned(shown)
		if checkReason(t, v); tuned(shown) != v || !reflect.DeepEqual(shown, wild(seed, int(seed%16))) {
			t.Fatalf("seed %d: not the same again", seed)
		}
	}
}

// wild is a history that makes no sense: few values, so that they meet often.
func wild(seed uint64, n int) []Batch {
	r := rand.New(rand.NewPCG(seed, 1))
	few := func() (out []uint64) {
		for range r.IntN(5) {
			out = append(out, uint64(r.IntN(4)))
		}
		return out
	}
	var out []Batch
	for i := range n {
		b := Batch{N: i, Attempted: r.IntN(5) - 1, Approved: r.IntN(4) - 1, Passing: r.IntN(5) - 2, Tree: uint64(r.IntN(3)), Broke: few(), Hunks: few()}
		for range r.IntN(5) {
			result := Result(r.IntN(6))
			if result == Blocked && r.IntN(10) > 0 {
				result = Rejected
			}
			b.Tasks = append(b.Tasks, Task{Task: r.IntN(3) - 1, Result: result, Error: uint64(r.IntN(3)), Failing: uint64(r.IntN(3)),
				Failed: r.IntN(4) - 1, Passing: r.IntN(5) - 2, Tree: uint64(r.IntN(3)), Hunks: few(), Blocker: strings.Repeat("é", r.IntN(300))})
		}
		out = append(out, b)
	}
	return out
}

// BenchmarkJudge judges a full window of full batches in which nothing is to be
// accused, so that every pattern is looked for to the end.
func BenchmarkJudge(b *testing.B) {
	w := newWorld(1)
	w.width, w.easy, w.waits, w.breaks, w.leaks = 12, .5, 0, 0, 0
	var h []Batch
	for len(h) < Window {
		if next := w.work(); len(next.Tasks) == 12 {
			h = append(h, next)
		}
	}
	if v := tuned(h); v.Health != pawl.HealthProgressing {
		b.Fatalf("%+v", v)
	}
	b.ReportAllocs()
	for b.Loop() {
		tuned(h)
	}
}
