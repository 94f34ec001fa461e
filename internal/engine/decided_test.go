package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/store/mem"
)

// remembering is a log with a memory.
type remembering struct {
	*mem.Log
	entries []pawl.MemoryEntry
}

func (r remembering) Recall(context.Context, pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	return r.entries, nil
}

func record(asked, choice string) string {
	return asked + "\n\n**Context:** " + pawl.AskedOf + ": " + asked + "\n\n**Choice:** " + choice + "\n\n**Depends On:** none\n"
}

// A run is told from its beginning what people answered before: here, by the memory, and elsewhere, by the
// folders of tasks. What an agent decided, what was forgotten, and what is known twice is left out. F-72
func TestRunsAreToldWhatWasAnswered(t *testing.T) {
	entry := func(n int, source, text string) pawl.MemoryEntry {
		return pawl.MemoryEntry{Run: "001-a", N: n, Kind: pawl.MemoryDecision, Scope: pawl.ScopeProject, Source: source, Text: text, Time: time.Unix(int64(n), 0)}
	}
	forgotten := entry(3, "task/1/person", record("Which limit?", "none"))
	forgotten.Forgotten = true
	log := remembering{mem.New(), []pawl.MemoryEntry{
		entry(1, "task/1/person", record("Which database?", "SQLite")), entry(2, "task/1/decide/turn-1", record("Which words?", "mine")), forgotten}}
	e := &Engine{Reader: Reader{Log: log}, c: Config{Log: log, Answered: func(context.Context) ([]string, error) {
		return []string{record("Which port?", "8080"), record("Which  database?", "SQLite"), record("Which limit?", "none")}, nil
	}}}
	blob, err := e.decided(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	if err := json.Unmarshal(blob.Data(), &all); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all, "|"); len(all) != 2 || !strings.HasPrefix(all[0], "Which port?") || !strings.HasPrefix(all[1], "Which database?") {
		t.Errorf("it is told %q", got)
	}
	e.c.Answered = nil
	log.entries = nil
	e.c.Log = log
	if blob, err := e.decided(t.Context()); err != nil || len(blob.Data()) > 0 {
		t.Errorf("of nothing it is told %q, %v", blob.Data(), err)
	}
	many := remembering{Log: mem.New()}
	for n := range 100 {
		many.entries = append(many.entries, entry(n+1, "task/1/person", record(strings.Repeat("x", n+1), strings.Repeat("long ", 300))))
	}
	e.c.Log = many
	if blob, err := e.decided(t.Context()); err != nil || len(blob.Data()) > maxDecidedBytes+2000 || len(blob.Data()) < 1000 {
		t.Errorf("of many it is told %d bytes, %v", len(blob.Data()), err)
	}
}

// A person's words have no secrets when they become durable, and an answer has what it answers. F-72
func TestAnswersAreCleaned(t *testing.T) {
	log := mem.New()
	about := pawl.NewBlob([]byte(`{"questions": ["Which database?", "` + strings.Repeat("ü", 300) + `"]}`))
	unit := pawl.Unit{Run: "001-a", Blobs: []pawl.Blob{about}, Events: []pawl.Event{{Run: "001-a", Seq: 1, Time: time.Unix(1, 0), Body: &pawl.RunPaused{}}}}
	if err := log.Append(t.Context(), unit); err != nil {
		t.Fatal(err)
	}
	e := &Engine{c: Config{Log: log, Redact: func(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "hush", "[redacted]")) }}}
	given := pawl.Steering{Verb: pawl.SteerAnswer, Reason: "hush", Answer: &pawl.Reply{Question: 1, Text: "the key is hush", About: about.Hash(), Asked: "made up"}}
	got := e.answers(t.Context(), "001-a", given)
	if got.Reason != "[redacted]" || got.Answer.Text != "the key is [redacted]" || !strings.HasPrefix(got.Answer.Asked, "Which database?\nü") || len(got.Answer.Asked) > 430 {
		t.Errorf("%+v", got.Answer)
	}
	if given.Answer.Text != "the key is hush" {
		t.Error("the caller's command has changed")
	}
	given.Answer.About = pawl.Hash{}
	if got := e.answers(t.Context(), "001-a", given); got.Answer.Asked != "" {
		t.Errorf("asked is %q", got.Answer.Asked)
	}
}
