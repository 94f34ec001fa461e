package view

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// The packages that make documents of a run test them on the stories with a list of tasks,
// which they read with recorded.Story.
func TestStoriesAreRecorded(t *testing.T) {
	for name, tell := range stories {
		if s := tell(t); fold(s.events).Plan() != nil {
			golden(t, filepath.Join("..", "..", "recorded", "testdata", "stories", name+".jsonl"), s.log())
		}
	}
	golden(t, filepath.Join("..", "..", "recorded", "testdata", "stories", "loom-failed.jsonl"), loomFailed(t).log())
}

// log is the story as package recorded reads it: its blobs, then its events.
func (s *story) log() []byte {
	var b bytes.Buffer
	line := func(name string, v any) {
		data, err := json.Marshal(map[string]any{name: v})
		if err != nil {
			s.tb.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	for _, h := range slices.SortedFunc(maps.Keys(s.blobs), func(a, b pawl.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		line("blob", s.blobs[h])
	}
	for _, e := range s.events {
		line("event", e)
	}
	return b.Bytes()
}

// loomFailed has one subtask, whose tests fail for good.
func loomFailed(tb testing.TB) *story {
	s := grow(tb, loom, "Write a parser", settings())
	s.plan(1, pawl.ForStep, "", "", parser[0])
	s.spawn(2, "install-deps", 1, 1)
	s.work("execute", "executor", strings.Repeat("long ", 100))
	s.candidate("go.mod")
	s.tests(0, 3, "A", "B", "C")
	s.end(pawl.IterationEnded{Quality: pawl.VerdictFail, Decision: pawl.DecideHalt, Reason: "tests fail", Outcome: pawl.OutcomeIncomplete})
	s.finish(pawl.OutcomeIncomplete, "tests fail")
	return s
}
