package runner_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/callback"
	"pawl/internal/runner"
	"pawl/internal/store/mem"
)

// receiver is a real server that keeps what it is told, and answers with a status.
type receiver struct {
	status int
	ids    []string
	bodies []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var doc json.RawMessage
	_ = json.NewDecoder(req.Body).Decode(&doc)
	r.ids, r.bodies = append(r.ids, req.Header.Get(callback.HeaderDelivery)), append(r.bodies, string(doc))
	w.WriteHeader(r.status)
}

// told is a run whose callback is a server on this machine.
func told(t *testing.T, status int) (*world, *receiver) {
	t.Helper()
	to := &receiver{status: status}
	srv := httptest.NewServer(to)
	t.Cleanup(srv.Close)
	w := &world{r: &runner.Runner{Callback: new(callback.Sender).Send}, log: mem.New()}
	w.job.Run = runID
	w.job.Started = &pawl.RunStarted{Task: 1, Title: "Add a login", Branch: branch}
	w.job.Recipe = &pawl.Recipe{Name: "loom"}
	w.job.Settings = &pawl.Settings{Callback: &pawl.Callback{URL: srv.URL, AllowPrivate: true}}
	return w, to
}

func ends(o pawl.Outcome) *pawl.Notify {
	return &pawl.Notify{Outcome: o, Reason: "all gates passed", Head: "abc123", Try: 1, Cost: 31_200, Tokens: 4711, Time: time.Unix(1_700_000_000, 0)}
}

// L-29
func TestNotify(t *testing.T) {
	w, to := told(t, http.StatusNoContent)
	do := ends(pawl.OutcomeComplete)
	if n := must[*pawl.Notified](t, w, do); n.Status != http.StatusNoContent {
		t.Errorf("got %+v", n)
	}
	const want = `{"event":"task_completed","delivery":"DELIVERY","run":"001-add-login","task":1,"title":"Add a login","recipe":"loom",` +
		`"outcome":"complete","reason":"all gates passed","branch":"pawl/001-add-login","head":"abc123","cost":31200,"tokens":4711,"time":"2023-11-14T22:13:20Z"}`
	if d := cmp.Diff(strings.Replace(want, "DELIVERY", to.ids[0], 1), to.bodies[0]); d != "" {
		t.Error(d)
	}
	do.Try = 2 // another effect
	must[*pawl.Notified](t, w, do)
	if to.ids[0] == "" || to.ids[1] != to.ids[0] || to.bodies[1] != to.bodies[0] {
		t.Errorf("two tries are %q", to.bodies)
	}
	do.Time = do.Time.Add(time.Second) // the run went on and ended again
	must[*pawl.Notified](t, w, do)
	if to.ids[2] == to.ids[0] {
		t.Error("the second end looks like a try to tell the first")
	}
	w.job.Settings.NoCost = true
	do.Findings = 2
	must[*pawl.Notified](t, w, do)
	if strings.Contains(to.bodies[3], "cost") || !strings.Contains(to.bodies[3], `"findings":2,`) {
		t.Errorf("got %s", to.bodies[3])
	}
}

func TestNotifyNamesTheEnd(t *testing.T) {
	w, to := told(t, http.StatusOK)
	for o, want := range map[pawl.Outcome]string{
		pawl.OutcomeComplete: "task_completed", pawl.OutcomeUnverified: "task_completed", pawl.OutcomeCancelled: "task_cancelled",
		pawl.OutcomeIncomplete: "task_failed", pawl.OutcomeBlocked: "task_failed", pawl.OutcomeHalted: "task_failed", pawl.OutcomeFailed: "task_failed",
	} {
		must[*pawl.Notified](t, w, ends(o))
		var got struct{ Event, Outcome string }
		if err := json.Unmarshal([]byte(to.bodies[len(to.bodies)-1]), &got); err != nil || got.Event != want || got.Outcome != string(o) {
			t.Errorf("%s: %+v, %v", o, got, err)
		}
	}
}

// No known secret leaves in what is told.
func TestNotifyKeepsSecrets(t *testing.T) {
	w, to := told(t, http.StatusOK)
	w.r.Redact = func(doc []byte) []byte { return []byte(strings.ReplaceAll(string(doc), `hush"hush`, "[redacted]")) }
	w.job.Started.Title = `use hush"hush`
	do := ends(pawl.OutcomeFailed)
	do.Reason = `hush"hush is wrong` + "\xff"
	must[*pawl.Notified](t, w, do)
	if body := to.bodies[0]; strings.Contains(body, "hush") || !strings.Contains(body, "use [redacted]") || !json.Valid([]byte(body)) {
		t.Errorf("got %s", body)
	}
}

// What may be tried again fails as the machine does, what may not as a setting: the address is the
// user's, and no fault of ours. F-123
func TestNotifyFails(t *testing.T) {
	for status, want := range map[int]pawl.FailureCode{503: pawl.FailMachine, 429: pawl.FailMachine, 404: pawl.FailSetting, 302: pawl.FailSetting} {
		w, _ := told(t, status)
		if f := w.fails(t, ends(pawl.OutcomeComplete)); f.Code != want {
			t.Errorf("%d: got %+v", status, f)
		}
	}
	t.Run("Refused", func(t *testing.T) {
		w, to := told(t, http.StatusOK)
		w.job.Settings.Callback.URL = strings.Replace(w.job.Settings.Callback.URL, "http:", "https:", 1)
		w.job.Settings.Callback.AllowPrivate = false
		f := w.fails(t, ends(pawl.OutcomeComplete))
		if f.Code != pawl.FailSetting || !strings.Contains(f.Message, "not a public address; if that is meant: callback.allow_private") || len(to.bodies) != 0 {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("Timeout", func(t *testing.T) {
		w, _ := told(t, http.StatusOK)
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		if f, ok := w.runIn(ctx, t, ends(pawl.OutcomeComplete)).(*pawl.EffectFailed); !ok || f.Failure.Code != pawl.FailTimeout {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("NobodyToTell", func(t *testing.T) {
		w, _ := told(t, http.StatusOK)
		w.r.Callback = nil
		if f := w.fails(t, ends(pawl.OutcomeComplete)); f.Code != pawl.FailDefect {
			t.Errorf("got %+v", f)
		}
		w, _ = told(t, http.StatusOK)
		w.job.Settings.Callback = nil
		if f := w.fails(t, ends(pawl.OutcomeComplete)); f.Code != pawl.FailDefect {
			t.Errorf("got %+v", f)
		}
	})
}
