package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/store"
)

// Learn is an event that adds an entry to the memory of a run.
func Learn(n int, kind pawl.MemoryKind, scope pawl.MemoryScope, text string) *pawl.MemoryAdded {
	return &pawl.MemoryAdded{N: n, Kind: kind, Scope: scope, Text: pawl.HashOf([]byte(text)),
		Place: pawl.Place{Loop: "subtask", Iteration: 1, Step: "executor", Turn: 3}}
}

// Told is a unit of a run with these bodies, whose loop is 1, and these texts.
func Told(run pawl.RunID, after pawl.Seq, texts []string, bodies ...pawl.Body) pawl.Unit {
	u := pawl.Unit{Run: run, After: after}
	for i, b := range bodies {
		seq := after + 1 + pawl.Seq(i)
		u.Events = append(u.Events, pawl.Event{Run: run, Seq: seq, Loop: 1, Time: start.Add(time.Duration(seq) * time.Second), Body: b})
	}
	for _, t := range texts {
		u.Blobs = append(u.Blobs, pawl.NewBlob([]byte(t)))
	}
	return u
}

// MustRecall asks the log's memory.
func MustRecall(t testing.TB, log pawl.Log, q pawl.MemoryQuery) []pawl.MemoryEntry {
	t.Helper()
	found, err := log.(pawl.Memories).Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("recall %.200q: %v", fmt.Sprint(q), err)
	}
	return found
}

// Names are the entries as "run/n".
func Names(entries []pawl.MemoryEntry) string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s/%d", e.Run, e.N))
	}
	return strings.Join(out, " ")
}

// memory tests that a log remembers.
func (s suite) memory(t *testing.T) {
	t.Run("an entry says what its event says", s.memoryEntry)
	t.Run("queries select", s.memoryQueries)
	t.Run("a text is found by its words", s.memoryWords)
	t.Run("a text is never a query", s.memoryHostile)
	t.Run("what failed is marked", s.memoryFailed)
	t.Run("a text may come before its entry, not after", s.memoryTexts)
	t.Run("a unit that is refused leaves nothing", s.memoryRefused)
	t.Run("a closed log and a cancelled query say so", s.memoryClosed)
	t.Run("any sequence of units is remembered as by a plain list", s.memoryModel)
}

func (s suite) memoryEntry(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	added := Learn(1, pawl.MemoryLearning, pawl.ScopeProject, "tests live beside the code")
	added.Task, added.Place.Task, added.Learning = "parser", "parser", 3
	MustAppend(t, log, Told("001-a", 0, []string{"tests live beside the code"}, &pawl.RunPaused{}, added))
	want := []pawl.MemoryEntry{{
		Run: "001-a", N: 1, Seq: 2, Kind: pawl.MemoryLearning, Scope: pawl.ScopeProject, Task: "parser",
		Source: "subtask:parser/1/executor/turn-3", Time: start.Add(2 * time.Second), Text: "tests live beside the code", Learning: 3,
	}}
	if diff := cmp.Diff(want, MustRecall(t, log, pawl.MemoryQuery{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// P-81: another process, later, still knows it.
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.reopened(t, dir)
	MustAppend(t, log, Told("001-a", 2, nil, &pawl.MemoryForgotten{N: 1, Reason: "wrong"}))
	if got := MustRecall(t, log, pawl.MemoryQuery{}); len(got) != 0 {
		t.Errorf("what was forgotten is found: %+v", got)
	}
	want[0].Forgotten = true
	if diff := cmp.Diff(want, MustRecall(t, log, pawl.MemoryQuery{Forgotten: true})); diff != "" {
		t.Errorf("forgotten (-want +got):\n%s", diff)
	}
}

func (s suite) memoryQueries(t *testing.T) {
	log := s.fresh(t)
	texts := []string{"alpha", "beta", "gamma", "delta"}
	failed := Learn(3, pawl.MemoryError, pawl.ScopeProject, "gamma")
	failed.Failed = true
	MustAppend(t, log, Told("001-a", 0, texts, Learn(1, pawl.MemoryLearning, pawl.ScopeProject, "alpha"),
		Learn(2, pawl.MemoryDecision, pawl.ScopeRun, "beta"), failed))
	MustAppend(t, log, Told("002-b", 0, texts, Learn(1, pawl.MemoryLearning, pawl.ScopeProject, "delta")))
	MustAppend(t, log, Told("001-a", 3, texts, Learn(4, pawl.MemoryDiscovery, pawl.ScopeRun, "alpha"), &pawl.MemoryForgotten{N: 1}))
	for _, test := range []struct {
		q    pawl.MemoryQuery
		want string
	}{
		{pawl.MemoryQuery{}, "001-a/2 001-a/3 002-b/1 001-a/4"},
		{pawl.MemoryQuery{Forgotten: true}, "001-a/1 001-a/2 001-a/3 002-b/1 001-a/4"},
		{pawl.MemoryQuery{Limit: 2}, "002-b/1 001-a/4"}, // the newest, oldest first
		{pawl.MemoryQuery{Limit: -1}, "001-a/2 001-a/3 002-b/1 001-a/4"},
		{pawl.MemoryQuery{Run: "001-a"}, "001-a/2 001-a/3 001-a/4"},
		{pawl.MemoryQuery{Run: "002-b"}, "002-b/1"},
		{pawl.MemoryQuery{Run: "002-b", Project: true}, "001-a/3 002-b/1"},
		{pawl.MemoryQuery{Run: "003-c"}, ""},
		{pawl.MemoryQuery{Run: "003-c", Project: true}, "001-a/3 002-b/1"},
		{pawl.MemoryQuery{Run: "001-a", Before: 3}, "001-a/2"},
		{pawl.MemoryQuery{Run: "001-a", Project: true, Before: 1}, "002-b/1"},
		{pawl.MemoryQuery{Before: 1}, "001-a/2 001-a/3 002-b/1 001-a/4"},
		{pawl.MemoryQuery{Passed: true}, "001-a/2 002-b/1 001-a/4"},
		{pawl.MemoryQuery{Kinds: []pawl.MemoryKind{pawl.MemoryLearning, pawl.MemoryError}}, "001-a/3 002-b/1"},
		{pawl.MemoryQuery{Kinds: []pawl.MemoryKind{"' OR 1=1 --"}}, ""},
		{pawl.MemoryQuery{Text: "alpha"}, "001-a/4"},
		{pawl.MemoryQuery{Text: "alpha", Forgotten: true}, "001-a/4 001-a/1"},
		{pawl.MemoryQuery{Text: "alpha beta delta", Run: "002-b", Project: true}, "002-b/1"},
		{pawl.MemoryQuery{Text: "gamma", Passed: true}, ""},
	} {
		if got := Names(MustRecall(t, log, test.q)); got != test.want {
			t.Errorf("%+v: %s, want %s", test.q, got, test.want)
		}
	}
	for i := range 250 {
		MustAppend(t, log, Told("004-d", pawl.Seq(i), []string{"many"}, Learn(i+1, pawl.MemoryLearning, pawl.ScopeRun, "many")))
	}
	if got := MustRecall(t, log, pawl.MemoryQuery{Run: "004-d"}); len(got) != 200 || got[0].N != 51 || got[199].N != 250 {
		t.Errorf("without a limit: %d entries, from %d", len(got), got[0].N)
	}
}

func (s suite) memoryWords(t *testing.T) {
	log := s.fresh(t)
	texts := []string{
		"The parser refuses tabs in indentation.", "Run the linter before the tests.", "Tests of the parser need a grammar file.",
		"über Straßen und Größe", "日本語 テスト", "snake_case_name and path/to/file.go", "The parser refuses tabs in indentation",
	}
	var bodies []pawl.Body
	for i, text := range texts {
		bodies = append(bodies, Learn(i+1, pawl.MemoryLearning, pawl.ScopeProject, text))
	}
	MustAppend(t, log, Told("001-a", 0, texts, bodies...))
	for text, want := range map[string]string{
		"grammar":                   "001-a/3",
		"GRAMMAR!":                  "001-a/3",
		"parser, grammar":           "001-a/3 001-a/7 001-a/1", // more words first, of equals the newest
		"tabs":                      "001-a/7 001-a/1",
		"is there no linter known?": "001-a/2",
		"Größe":                     "001-a/4",
		"テスト":                       "001-a/5",
		"case":                      "001-a/6",
		"file.go":                   "001-a/6 001-a/3",
		"gram":                      "",
		"nothing of this":           "001-a/3",
		"?!":                        "",
		" ":                         "",
	} {
		if got := Names(MustRecall(t, log, pawl.MemoryQuery{Text: text})); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := Names(MustRecall(t, log, pawl.MemoryQuery{Text: "parser grammar", Limit: 1})); got != "001-a/3" {
		t.Errorf("the best match is %s", got)
	}
}

func (s suite) memoryHostile(t *testing.T) {
	log := s.fresh(t)
	MustAppend(t, log, Told("001-a", 0, []string{"near the end"}, Learn(1, pawl.MemoryLearning, pawl.ScopeProject, "near the end")))
	for _, text := range []string{
		`"`, `""`, `'`, `near" OR "x`, `end" NOT "near`, `NEAR(near end)`, "NEAR/2", "near*", "^near", "text:near", "{text}: near", "-near", "near AND nothing",
		"NOT near", "(near", "near)", "OR", "+", "near\x00end", "\xff\xfe near", "👍", "👩‍👩‍👧 near", "\u202enear", "; DROP TABLE memory; --", "%", "near_",
		strings.Repeat("near ", 200_000), strings.Repeat("x", 1<<20), strings.Repeat("\"", 1<<20), strings.Repeat("(", 100_000) + "near",
		strings.Repeat("a b c d ", 1<<17), string(Noise(1, 1<<20)), "near" + strings.Repeat("\u0301", 1000),
	} {
		got := MustRecall(t, log, pawl.MemoryQuery{Text: text})
		if want := strings.Contains(text, "near ") && len(text) < 100; want && len(got) != 1 {
			t.Errorf("%q finds %d entries", text, len(got))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		MustRecall(t, log, pawl.MemoryQuery{Text: rapid.String().Draw(rt, "text"), Run: pawl.RunID(rapid.String().Draw(rt, "run"))})
	})

	// Nor does an entry break anything.
	texts := []string{"", "\x00", string(Noise(2, 5000)), "\x1b[2J", strings.Repeat("long ", 100_000), strings.Repeat("é", 100_000)}
	for i, text := range texts {
		MustAppend(t, log, Told("001-a", pawl.Seq(i+1), []string{text}, Learn(i+2, "strange\"kind", "no scope", text)))
	}
	got := MustRecall(t, log, pawl.MemoryQuery{})
	if len(got) != len(texts)+1 {
		t.Fatalf("%d entries", len(got))
	}
	for _, e := range got {
		if len(e.Text) > store.MaxText+len("…") || strings.ToValidUTF8(e.Text, "") != e.Text {
			t.Errorf("entry %d has %d bytes, or bytes that are no text", e.N, len(e.Text))
		}
	}
}

func (s suite) memoryFailed(t *testing.T) {
	log := s.fresh(t)
	learn := func(n, iteration int) *pawl.MemoryAdded {
		b := Learn(n, pawl.MemoryLearning, pawl.ScopeProject, "x")
		b.Place.Iteration = iteration
		return b
	}
	other := Told("001-a", 4, nil, learn(5, 1))
	other.Events[0].Loop = 2
	MustAppend(t, log, Told("001-a", 0, []string{"x"}, learn(1, 1), learn(2, 2), learn(3, 3), learn(4, 1)))
	MustAppend(t, log, other)
	MustAppend(t, log, Told("002-b", 0, []string{"x"}, learn(1, 1)))
	MustAppend(t, log, Told("001-a", 5, nil, &pawl.IterationEnded{N: 1, Decision: pawl.DecideIterate}))
	MustAppend(t, log, Told("001-a", 6, nil, &pawl.IterationEnded{N: 2, Decision: pawl.DecideComplete}))
	MustAppend(t, log, Told("001-a", 7, nil, &pawl.IterationEnded{N: 3, Decision: pawl.DecideHalt}, learn(6, 3)))
	if got, want := Names(MustRecall(t, log, pawl.MemoryQuery{Passed: true})), "001-a/2 001-a/5 002-b/1 001-a/6"; got != want {
		t.Errorf("passed are %s, want %s", got, want)
	}
	failed := 0
	for _, e := range MustRecall(t, log, pawl.MemoryQuery{}) {
		if e.Failed {
			failed++
		}
	}
	if failed != 3 {
		t.Errorf("%d entries are marked, want 3", failed)
	}
}

func (s suite) memoryTexts(t *testing.T) {
	dir := t.TempDir()
	log := s.open(t, dir)
	large := strings.Repeat("a line of a large text\n", 10_000)
	MustAppend(t, log, Told("001-a", 0, []string{"before", large}, &pawl.RunPaused{}))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	log = s.reopened(t, dir)
	MustAppend(t, log, Told("001-a", 1, []string{"same"}, Learn(1, pawl.MemoryLearning, pawl.ScopeRun, "before"),
		Learn(2, pawl.MemoryLearning, pawl.ScopeRun, "never"), Learn(3, pawl.MemoryLearning, pawl.ScopeRun, "same"),
		Learn(4, pawl.MemoryLearning, pawl.ScopeRun, large)))
	MustAppend(t, log, Told("001-a", 5, []string{"never"}, &pawl.RunPaused{}))
	if got := Names(MustRecall(t, log, pawl.MemoryQuery{})); got != "001-a/1 001-a/3 001-a/4" {
		t.Errorf("found %s", got)
	}
}

func (s suite) memoryRefused(t *testing.T) {
	log := s.fresh(t)
	WantCode(t, log.Append(t.Context(), Told("001-a", 3, []string{"x"}, Learn(1, pawl.MemoryLearning, pawl.ScopeRun, "x"))), pawl.CodeConflict)
	if got := MustRecall(t, log, pawl.MemoryQuery{}); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
}

func (s suite) memoryClosed(t *testing.T) {
	log := s.open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.(pawl.Memories).Recall(ctx, pawl.MemoryQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := log.(pawl.Memories).Recall(t.Context(), pawl.MemoryQuery{})
	WantCode(t, err, pawl.CodeUnavailable)
}

// Memories is what a plain list remembers of units.
type Memories struct {
	entries []pawl.MemoryEntry
	loops   []pawl.LoopRef
	places  []int
	blobs   map[pawl.RunID]map[string]bool
	last    map[pawl.RunID]pawl.Seq
}

var memoryTexts = []string{"red fox", "lazy dog", "red dog", "quick brown fox", "日本", ""}

// Append appends the next unit of a run at random, most of it about the memory.
func (m *Memories) Append(t testing.TB, rt *rapid.T, log pawl.Log) {
	run := rapid.SampledFrom([]pawl.RunID{"001-run", "002-run", "003-run"}).Draw(rt, "run")
	u := m.draw(rt, run)
	MustAppend(t, log, u)
	m.last[run] += pawl.Seq(len(u.Events))
}

func (m *Memories) draw(rt *rapid.T, run pawl.RunID) pawl.Unit {
	if m.blobs == nil {
		m.blobs, m.last = map[pawl.RunID]map[string]bool{}, map[pawl.RunID]pawl.Seq{}
	}
	if m.blobs[run] == nil {
		m.blobs[run] = map[string]bool{}
	}
	var bodies []pawl.Body
	n := rapid.IntRange(1, 5)
	texts := rapid.SliceOfN(rapid.SampledFrom(memoryTexts), 0, 3).Draw(rt, "texts")
	for range rapid.IntRange(1, 6).Draw(rt, "events") {
		var b pawl.Body = &pawl.RunPaused{Reason: "x"}
		switch rapid.IntRange(0, 5).Draw(rt, "body") {
		case 0, 1, 2:
			added := Learn(n.Draw(rt, "n"), rapid.SampledFrom(pawl.MemoryKinds).Draw(rt, "kind"),
				rapid.SampledFrom([]pawl.MemoryScope{pawl.ScopeRun, pawl.ScopeProject}).Draw(rt, "scope"),
				rapid.SampledFrom(memoryTexts).Draw(rt, "text"))
			added.Failed, added.Place.Iteration = rapid.Bool().Draw(rt, "failed"), n.Draw(rt, "iteration")
			b = added
		case 3:
			b = &pawl.MemoryForgotten{N: n.Draw(rt, "forget")}
		case 4:
			b = &pawl.IterationEnded{N: n.Draw(rt, "ended"), Decision: rapid.SampledFrom([]pawl.Decision{pawl.DecideComplete, pawl.DecideIterate}).Draw(rt, "decision")}
		}
		bodies = append(bodies, b)
	}
	u := Told(run, m.last[run], texts, bodies...)
	for i := range u.Events {
		u.Events[i].Loop = pawl.LoopRef(rapid.IntRange(1, 2).Draw(rt, "loop"))
	}
	for _, t := range texts {
		m.blobs[run][t] = true
	}
	for _, e := range u.Events {
		m.apply(e)
	}
	return u
}

func (m *Memories) apply(e pawl.Event) {
	mark := func(of func(i int) bool, set func(*pawl.MemoryEntry)) {
		for i := range m.entries {
			if m.entries[i].Run == e.Run && of(i) {
				set(&m.entries[i])
			}
		}
	}
	switch b := e.Body.(type) {
	case *pawl.MemoryAdded:
		for text := range m.blobs[e.Run] {
			if pawl.HashOf([]byte(text)) == b.Text {
				m.entries = append(m.entries, pawl.MemoryEntry{Run: e.Run, N: b.N, Seq: e.Seq, Kind: b.Kind, Scope: b.Scope,
					Source: b.Place.String(), Time: e.Time, Text: text, Failed: b.Failed})
				m.loops, m.places = append(m.loops, e.Loop), append(m.places, b.Place.Iteration)
			}
		}
	case *pawl.MemoryForgotten:
		mark(func(i int) bool { return m.entries[i].N == b.N }, func(x *pawl.MemoryEntry) { x.Forgotten = true })
	case *pawl.IterationEnded:
		if b.Decision != pawl.DecideComplete {
			mark(func(i int) bool { return m.loops[i] == e.Loop && m.places[i] == b.N }, func(x *pawl.MemoryEntry) { x.Failed = true })
		}
	}
}

// Check asks the log something at random and compares.
func (m *Memories) Check(t testing.TB, rt *rapid.T, log pawl.Log) {
	q := pawl.MemoryQuery{
		Run:     rapid.SampledFrom([]pawl.RunID{"", "001-run", "002-run", "009-run"}).Draw(rt, "of"),
		Project: rapid.Bool().Draw(rt, "project"), Before: pawl.Seq(rapid.IntRange(0, 20).Draw(rt, "before")),
		Kinds:  rapid.SliceOfN(rapid.SampledFrom(pawl.MemoryKinds), 0, 3).Draw(rt, "kinds"),
		Passed: rapid.Bool().Draw(rt, "passed"), Forgotten: rapid.Bool().Draw(rt, "forgotten"),
		Limit: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(rt, "limit"),
	}
	var want []pawl.MemoryEntry
	for i := range m.entries {
		if store.Selects(q, &m.entries[i]) {
			want = append(want, m.entries[i])
		}
	}
	want = want[max(0, len(want)-store.Limit(q)):]
	if diff := cmp.Diff(append([]pawl.MemoryEntry{}, want...), append([]pawl.MemoryEntry{}, MustRecall(t, log, q)...)); diff != "" {
		rt.Fatalf("%+v (-want +got):\n%s", q, diff)
	}
	// By its words: the same entries in whatever order.
	q.Text, q.Limit = rapid.SampledFrom([]string{"fox", "red", "the DOG", "日本", "nobody"}).Draw(rt, "text"), 0
	words, count := store.Words(q.Text), 0
	for i := range m.entries {
		if store.Selects(q, &m.entries[i]) && shares(m.entries[i].Text, words) {
			count++
		}
	}
	got := MustRecall(t, log, q)
	for _, e := range got {
		if !shares(e.Text, words) {
			rt.Fatalf("%q was found for %q", e.Text, q.Text)
		}
	}
	if len(got) != min(count, store.Limit(q)) {
		rt.Fatalf("%d entries were found for %q, want %d", len(got), q.Text, count)
	}
}

func shares(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(" "+text+" ", " "+w+" ") {
			return true
		}
	}
	return false
}

func (s suite) memoryModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		log := s.open(t, t.TempDir())
		defer func() { _ = log.Close() }()
		var m Memories
		for range rapid.IntRange(1, 8).Draw(rt, "units") {
			m.Append(t, rt, log)
		}
		for range 3 {
			m.Check(t, rt, log)
		}
	})
}
