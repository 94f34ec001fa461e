package server

import (
	"encoding/json"
	"net/http"
	"slices"

	"pawl"
	"pawl/internal/view"
)

// readRun is a run as pawl show --json has it.
func readRun(_ *handler, c *call) (view.Summary, error) {
	runs, err := c.s.Runs(c.Context())
	if err != nil {
		return view.Summary{}, err
	}
	i := slices.IndexFunc(runs, func(r pawl.RunInfo) bool { return r.ID == c.run() })
	if i < 0 {
		return view.Summary{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %q", c.run())
	}
	r, err := view.Fold(c.s.Events(c.Context(), c.run(), 0))
	if err != nil && r.Seq == 0 { // of one that is damaged, what can be read
		return view.Summary{}, err
	}
	out := view.Summarize(r, blobs(c, c.run()))
	out.Status, out.Waiting, out.Needs = runs[i].Status, runs[i].Waiting, runs[i].Needs
	return out, nil
}

// transcript writes what was said in sessions of a run, in the order of the events.
func (h *handler) transcript(w http.ResponseWriter, c *call) {
	from, err := after(c.Request)
	if err != nil {
		refuse(w, err)
		return
	}
	r, err := view.Fold(c.s.Events(c.Context(), c.run(), 0))
	if err != nil && r.Seq == 0 {
		refuse(w, err)
		return
	}
	t, err := view.Transcribe(r, c.URL.Query().Get("step"), blobs(c, c.run()))
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for e := range t.ByEvent(from) {
		if out.Encode(e) != nil {
			return // the reader has gone, or does not read
		}
	}
}
