package server

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"

	"pawl"
)

// planned is a project whose runs all have the same events, except a run that is damaged.
type planned struct {
	fake
	runs []pawl.RunInfo
}

func (p *planned) Runs(context.Context) ([]pawl.RunInfo, error) { return p.runs, p.err }

func (p *planned) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	if run == "damaged" {
		return (&fake{err: pawl.Errorf(pawl.CodeDamaged, "it is damaged")}).Events(ctx, run, after)
	}
	return p.fake.Events(ctx, run, after)
}

// The waiting plans are those of runs with an open question that are not archived. A
// damaged run does not hide the plans of the others.
func TestPlansThatWait(t *testing.T) {
	b := newDaemonBed(t, nil)
	run := b.mustPlan().Run
	s := &planned{fake: fake{blob: []byte(planText)}}
	for e, err := range b.e.Events(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		s.events = append(s.events, e)
	}
	list := func(infos ...pawl.RunInfo) (got []Plan) {
		t.Helper()
		s.runs = infos
		w := request(s, http.MethodGet, "/v1/plans", "")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("status %d, %s", w.Code, w.Body)
		}
		return got
	}
	waits := pawl.RunInfo{ID: run, Questions: 1}
	if got := list(pawl.RunInfo{ID: "damaged", Questions: 1}, waits, pawl.RunInfo{ID: "archived", Questions: 1, Archived: true}, pawl.RunInfo{ID: "quiet"}); len(got) != 1 || got[0].Run != run {
		t.Errorf("the plans are %+v", got)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("the plans of no runs are %+v", got)
	}
	t.Run("ForAClientThatHasGone", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.runs = []pawl.RunInfo{waits}
		w := httptest.NewRecorder()
		Handler(s).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://pawl/v1/plans", nil))
		if e := refusal(t, w); e.Code != pawl.CodeUnavailable {
			t.Errorf("the answer is %+v", e)
		}
	})
	t.Run("WithoutARunList", func(t *testing.T) {
		w := request(&fake{err: pawl.Errorf(pawl.CodeDamaged, "it is damaged")}, http.MethodGet, "/v1/plans", "")
		if e := refusal(t, w); e.Code != pawl.CodeDamaged {
			t.Errorf("the answer is %+v", e)
		}
	})
}
