package servicetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/engine"
)

// Recall lets the log be asked as the one it stands on.
func (l *log) Recall(ctx context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	return engine.Reader{Log: l.Log}.Recall(ctx, q)
}

// recall: whoever asks is told what the log remembers, and no text is too odd to
// be asked for.
func (s *suite) recall(t *testing.T) {
	b := s.bed(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	texts := []string{"tests live beside the code", "tabs are \u2028 refused"}
	u := pawl.Unit{Run: "007-earlier", Info: &pawl.RunInfo{ID: "007-earlier", Task: 7, Status: pawl.StatusEnded}}
	var want []pawl.MemoryEntry
	for i, text := range texts {
		body := &pawl.MemoryAdded{N: i + 1, Kind: pawl.MemoryLearning, Scope: pawl.ScopeProject, Task: "parser", Text: pawl.HashOf([]byte(text)),
			Place: pawl.Place{Loop: "task", Iteration: 1, Step: "learn"}}
		u.Events = append(u.Events, pawl.Event{Run: u.Run, Seq: pawl.Seq(i + 1), Loop: 1, Time: at, Body: body})
		u.Blobs = append(u.Blobs, pawl.NewBlob([]byte(text)))
		want = append(want, pawl.MemoryEntry{Run: u.Run, N: i + 1, Seq: pawl.Seq(i + 1), Kind: pawl.MemoryLearning, Scope: pawl.ScopeProject,
			Task: "parser", Source: "task/1/learn", Time: at, Text: text})
	}
	if found, err := b.Recall(t.Context(), pawl.MemoryQuery{}); err != nil || len(found) != 0 {
		t.Errorf("of an empty project: %v, %v", found, err)
	}
	if err := b.log.Append(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		q    pawl.MemoryQuery
		want []pawl.MemoryEntry
	}{
		{pawl.MemoryQuery{}, want},
		{pawl.MemoryQuery{Run: "007-earlier", Before: 2}, want[:1]},
		{pawl.MemoryQuery{Run: "008-later"}, nil},
		{pawl.MemoryQuery{Run: "008-later", Project: true, Passed: true, Forgotten: true, Limit: 1}, want[1:]},
		{pawl.MemoryQuery{Kinds: []pawl.MemoryKind{pawl.MemoryDecision}}, nil},
		{pawl.MemoryQuery{Text: "Refused?", Kinds: []pawl.MemoryKind{pawl.MemoryLearning}}, want[1:]},
		{pawl.MemoryQuery{Text: "\"*^( 👍 \x00\xff NEAR beside " + strings.Repeat("x y z ", 1<<18)}, want[:1]},
	} {
		found, err := b.Recall(t.Context(), test.q)
		if err != nil {
			t.Errorf("%.100v: %v", test.q, err)
		}
		if diff := cmp.Diff(append([]pawl.MemoryEntry{}, test.want...), append([]pawl.MemoryEntry{}, found...)); diff != "" {
			t.Errorf("%.100v, -want +found:\n%s", test.q, diff)
		}
	}
	// F-79: what there is not is an error, and not a list of nothing.
	for _, test := range []struct {
		q    pawl.MemoryQuery
		want pawl.Code
	}{
		{pawl.MemoryQuery{Kinds: []pawl.MemoryKind{pawl.MemoryDecision, "decisions"}}, pawl.CodeInvalid},
		{pawl.MemoryQuery{Limit: -1}, pawl.CodeInvalid},
	} {
		if found, err := b.Recall(t.Context(), test.q); pawl.CodeOf(err) != test.want {
			t.Errorf("%+v: %v, %v", test.q, found, err)
		}
	}
	ctx, cancel := contextThatEnded(t)
	defer cancel()
	if _, err := b.Recall(ctx, pawl.MemoryQuery{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
}
