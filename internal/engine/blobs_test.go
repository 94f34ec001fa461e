package engine

import (
	"slices"
	"testing"
	"time"

	"pawl"
	"pawl/internal/store/mem"
)

// A fork has the texts that facts name by their hashes, not only those of fields.
func TestBlobsOfEvents(t *testing.T) {
	log := mem.New()
	output, fact, list := pawl.NewBlob([]byte("a verdict")), pawl.NewBlob([]byte("why")), pawl.NewBlob([]byte("an answer"))
	events := []pawl.Event{
		{Run: "001-a", Seq: 1, Time: time.Unix(1, 0).UTC(), Body: &pawl.SessionEnded{Session: 1, Output: output.Hash(),
			Facts: pawl.Facts{{Name: "changes", Value: "1.1"}, {Name: "because", Value: fact.Hash().String()}, {Name: "because", Value: pawl.HashOf([]byte("of no blob")).String()}}}},
		{Run: "001-a", Seq: 2, Time: time.Unix(2, 0).UTC(), Body: &pawl.EffectRequested{Effect: pawl.Effect{ID: 2,
			Do: &pawl.AssemblePrompt{Inputs: []pawl.Input{{Name: "review", Blob: output.Hash()}}, Answers: []pawl.Hash{list.Hash()}}}}},
	}
	if err := log.Append(t.Context(), pawl.Unit{Run: "001-a", Events: events, Blobs: []pawl.Blob{output, fact, list}}); err != nil {
		t.Fatal(err)
	}
	got, err := (&Engine{c: Config{Log: log}}).blobs(t.Context(), "001-a", events)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, b := range got {
		texts = append(texts, string(b.Data()))
	}
	if want := []string{"a verdict", "why", "an answer"}; !slices.Equal(texts, want) {
		t.Errorf("the blobs are %q, want %q", texts, want)
	}
}
