package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"testing"

	"pawl"
	logs "pawl/internal/recorded"
	"pawl/internal/view"
)

// past is a project with one run, which a log has.
type past struct {
	fake
	log *logs.Log
}

func (p *past) run() pawl.RunID { return p.log.Events[0].Run }

func (p *past) Runs(context.Context) ([]pawl.RunInfo, error) {
	return []pawl.RunInfo{view.Info(p.log.Events)}, nil
}

func (p *past) Events(_ context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		if run != p.run() {
			yield(pawl.Event{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %q", run))
			return
		}
		for _, e := range p.log.Events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (p *past) Blob(_ context.Context, _ pawl.RunID, h pawl.Hash) ([]byte, error) {
	return p.log.Blob(h)
}

// A run has its answer. F-37
func TestAnswerOfARun(t *testing.T) {
	s := &past{log: logs.Read(t, "pandora-5")}
	w := request(s, http.MethodGet, "/v1/runs/"+string(s.run()), "")
	var got view.Summary
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	if got.ID != s.run() || got.Outcome != pawl.OutcomeComplete || got.Answer == nil || got.Answer.Parts[0].Text != "The shop is a folder with a README." {
		t.Errorf("the run is %s %s with the answer %+v", got.ID, got.Outcome, got.Answer)
	}
	if w := request(s, http.MethodGet, "/v1/runs/nobody", ""); w.Code != http.StatusNotFound {
		t.Errorf("a run that there is not: status %d", w.Code)
	}
}

// The transcript of a run is told entry by entry: of all sessions, or of those that are named, after
// an event. F-46
func TestTranscriptOverHTTP(t *testing.T) {
	s := &past{log: logs.Read(t, "pandora-5")}
	read := func(query string) (out []view.TranscriptEntry) {
		t.Helper()
		w := request(s, http.MethodGet, "/v1/runs/"+string(s.run())+"/transcript"+query, "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" {
			t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		for line := range bytes.Lines(w.Body.Bytes()) {
			var e view.TranscriptEntry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
		return out
	}
	all := read("")
	if len(all) == 0 || !slices.IsSortedFunc(all, func(a, b view.TranscriptEntry) int { return int(a.Event) - int(b.Event) }) {
		t.Fatalf("the transcript is %+v", all)
	}
	answer := read("?step=answer")
	if len(answer) < 3 || answer[0].Role != view.RolePrompt || answer[1].Role != view.RoleAssistant || string(answer[1].Calls[0].Args) != `{"summary":"The shop is a folder with a README."}` {
		t.Errorf("the step's transcript is %+v", answer)
	}
	if later := read("?step=answer&after=" + fmt.Sprint(answer[0].Event)); len(later) != len(answer)-1 || later[0].Event != answer[1].Event {
		t.Errorf("after its prompt it is %+v", later)
	}
	if none := read("?after=100000"); none != nil {
		t.Errorf("after the last event there is %+v", none)
	}
	for query, status := range map[string]int{"?step=nothing": http.StatusNotFound, "?after=x": http.StatusBadRequest} {
		if w := request(s, http.MethodGet, "/v1/runs/"+string(s.run())+"/transcript"+query, ""); w.Code != status {
			t.Errorf("%s: status %d, want %d", query, w.Code, status)
		}
	}
	if w := request(s, http.MethodGet, "/v1/runs/nobody/transcript", ""); w.Code != http.StatusNotFound {
		t.Errorf("of a run that there is not: status %d", w.Code)
	}
}
