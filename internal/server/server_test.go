package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a service whose answers are given.
type fake struct {
	err    error // of everything but what is set below
	events []pawl.Event
	broken error // after the events
	watch  func(ctx context.Context, run pawl.RunID, after pawl.Seq, yield func(pawl.Update, error) bool)
	blob   []byte
	query  pawl.MemoryQuery
	found  []pawl.MemoryEntry
	asked  string // what was asked last
}

func (f *fake) Start(_ context.Context, req pawl.StartRequest) (pawl.RunInfo, error) {
	f.asked = "start " + req.Goal
	return pawl.RunInfo{ID: "001-a"}, f.err
}

func (f *fake) Preview(_ context.Context, req pawl.StartRequest) (pawl.StartPreview, error) {
	f.asked = "preview " + req.Goal
	return pawl.StartPreview{Goal: req.Goal}, f.err
}

func (f *fake) Steer(_ context.Context, run pawl.RunID, s pawl.Steering) error {
	f.asked = fmt.Sprintf("%s %q", s.Verb, run)
	return f.err
}

func (f *fake) Fork(_ context.Context, run pawl.RunID, at pawl.Seq) (pawl.RunInfo, error) {
	f.asked = fmt.Sprintf("fork %q at %d", run, at)
	return pawl.RunInfo{ID: "001-a-r2"}, f.err
}

func (f *fake) Runs(context.Context) ([]pawl.RunInfo, error) { return nil, f.err }

func (f *fake) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		if f.err != nil {
			yield(pawl.Event{}, f.err)
			return
		}
		for _, e := range f.events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
		if f.broken != nil {
			yield(pawl.Event{}, f.broken)
		}
	}
}

func (f *fake) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) { f.watch(ctx, run, after, yield) }
}

func (f *fake) Recall(_ context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	f.query = q
	return f.found, f.err
}

func (f *fake) Blob(context.Context, pawl.RunID, pawl.Hash) ([]byte, error) { return f.blob, f.err }

// pauses are events 1 to n.
func pauses(n int) (out []pawl.Event) {
	for i := range n {
		out = append(out, pause(pawl.Seq(i+1), ""))
	}
	return out
}

func pause(seq pawl.Seq, reason string) pawl.Event {
	return pawl.Event{Run: "001-a", Seq: seq, Time: time.Unix(int64(seq), 0).UTC(), Body: &pawl.RunPaused{Reason: reason}}
}

// request sends one request to the handler; headers are "Name: value".
func request(s pawl.Service, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if r.Host == "example.com" { // httptest's word for none
		r.Host = "pawl"
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	Handler(s).ServeHTTP(w, r)
	return w
}

// refusal is the error a request was answered with, checked to be problem details.
func refusal(tb testing.TB, w *httptest.ResponseRecorder) pawl.Error {
	tb.Helper()
	var p Problem
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		tb.Errorf("status %d with content type %q", w.Code, got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code == "" || p.Detail == "" || p.Status != w.Code || p.Title != http.StatusText(w.Code) {
		tb.Errorf("status %d with %q: %v", w.Code, w.Body, err)
	}
	return pawl.Error{Code: p.Code, Message: p.Detail, Hint: p.Hint}
}

// TRUST rows 24, 25, 27, 28
func TestRefuses(t *testing.T) {
	const steer, runs = "/v1/runs/001-a/steer", "/v1/runs"
	for _, test := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
	}{
		{"UnknownPath", "GET", "/v2/runs", "", nil, 404},
		{"Root", "GET", "/", "", nil, 404},
		{"WayUp", "GET", "/v1/runs/001-a/../../runs", "", nil, 404},
		{"WayUpOfACommand", "POST", "/v1/runs/../recall", "{}", nil, 404},
		{"EmptyPart", "GET", "/v1//runs", "", nil, 404},
		{"PathWithMore", "GET", "/v1/runs/001-a/blobs/00/11", "", nil, 404},
		{"WrongMethod", "DELETE", runs, "", nil, 405},
		{"GetOfACommand", "GET", steer, "", nil, 405},
		{"PostToAStream", "POST", "/v1/runs/001-a/watch", "", nil, 405},
		{"OtherHost", "GET", runs, "", []string{"Host: evil.test"}, 421},
		{"RebindingName", "GET", runs, "", []string{"Host: 127.0.0.1.nip.test"}, 421},
		{"NoHost", "GET", runs, "", []string{"Host: "}, 421},
		{"OtherHostInTheAddress", "GET", "http://evil.test/v1/runs", "", nil, 421},
		{"OtherOrigin", "POST", steer, `{"verb":"cancel"}`, []string{"Origin: https://evil.test"}, 403},
		{"NullOrigin", "POST", steer, `{"verb":"cancel"}`, []string{"Origin: null"}, 403},
		{"CrossSite", "POST", steer, `{"verb":"cancel"}`, []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"SameSite", "POST", runs, `{"goal":"x"}`, []string{"Sec-Fetch-Site: same-site"}, 403},
		{"GetOfAQuestion", "GET", "/v1/recall", "", nil, 405},
		{"UnknownFieldOfAQuestion", "POST", "/v1/recall", `{"sql":"x"}`, nil, 400},
		{"UnknownFieldOfAFork", "POST", "/v1/runs/001-a/fork", `{"at":1,"to":"002-b"}`, nil, 400},
		{"ForkBeforeEverything", "POST", "/v1/runs/001-a/fork", `{"at":-1}`, nil, 400},
		{"CrossSiteFork", "POST", "/v1/runs/001-a/fork", `{"at":1}`, []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"NoJSON", "POST", steer, `verb=cancel`, nil, 400},
		{"NoBody", "POST", steer, ``, nil, 400},
		{"UnknownField", "POST", steer, `{"verb":"cancel","force":true}`, nil, 400},
		{"UnknownFieldDeepInside", "POST", runs, `{"goal":"x","settings":{"limits":{"monney":1}}}`, nil, 400},
		{"WrongType", "POST", runs, `{"goal":7}`, nil, 400},
		{"TwoObjects", "POST", steer, `{"verb":"cancel"}{"verb":"resume"}`, nil, 400},
		{"DeepNesting", "POST", steer, strings.Repeat(`{"limits":`, 20_000), nil, 400},
		{"LargeBody", "POST", runs, `{"goal":"` + strings.Repeat("x", MaxRequest) + `"}`, nil, 413},
		{"LargeTail", "POST", runs, `{"goal":"x"}` + strings.Repeat(" ", MaxRequest), nil, 413},
		{"LimitOfNothing", "GET", runs + "?limit=few", "", nil, 400},
		{"LimitBelowNothing", "GET", runs + "?limit=-1", "", nil, 400},
		{"AfterNothing", "GET", "/v1/runs/001-a/events?after=x", "", nil, 400},
		{"AfterLess", "GET", "/v1/runs/001-a/watch?after=-1", "", nil, 400},
		{"LastEventID", "GET", "/v1/runs/001-a/watch", "", []string{"Last-Event-ID: live"}, 400},
		{"ShortHash", "GET", "/v1/runs/001-a/blobs/00ff", "", nil, 400},
		{"NoHash", "GET", "/v1/runs/001-a/blobs/" + strings.Repeat("x", 64), "", nil, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fake{}
			w := request(f, test.method, test.target, test.body, test.headers...)
			if w.Code != test.status {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			refusal(t, w)
			if f.asked != "" {
				t.Errorf("it reached the service: %s", f.asked)
			}
			if test.status == 405 && w.Header().Get("Allow") == "" {
				t.Error("it does not say which methods there are")
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Run("NoRunsAreAnEmptyList", func(t *testing.T) {
		if w := request(&fake{}, "GET", "/v1/runs", "", "Host: localhost"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "[]" {
			t.Errorf("status %d, %s", w.Code, w.Body)
		}
	})
	t.Run("TheNewestRuns", func(t *testing.T) {
		for query, want := range map[string]int{"": 5, "?limit=0": 5, "?limit=2": 2, "?limit=9": 5} {
			var got []pawl.RunInfo
			w := request(runs(5), "GET", "/v1/runs"+query, "")
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != want || got[want-1].Task != 4 {
				t.Errorf("%q: %s", query, w.Body)
			}
		}
	})
	t.Run("OwnOrigin", func(t *testing.T) {
		f := &fake{}
		w := request(f, "POST", "/v1/runs/001-a/steer", `{"verb":"pause"} `, "Sec-Fetch-Site: same-origin")
		if w.Code != 200 || f.asked != `pause "001-a"` {
			t.Errorf("status %d, asked %q", w.Code, f.asked)
		}
	})
	t.Run("Fork", func(t *testing.T) {
		f := &fake{}
		w := request(f, "POST", "/v1/runs/001-a/fork", `{"at":12}`)
		if w.Code != 200 || f.asked != `fork "001-a" at 12` || !strings.Contains(w.Body.String(), `"id":"001-a-r2"`) {
			t.Errorf("status %d, asked %q: %s", w.Code, f.asked, w.Body)
		}
	})
	t.Run("OddNamesOfRuns", func(t *testing.T) {
		for escaped, run := range map[string]string{"a%20b%2Fc": "a b/c", "%2e%2e%2fetc": "../etc", "%00": "\x00", `a%5cb`: `a\b`} {
			f := &fake{}
			request(f, "POST", "/v1/runs/"+escaped+"/steer", `{"verb":"pause"}`)
			if want := fmt.Sprintf("pause %q", run); f.asked != want {
				t.Errorf("%s: asked %q, want %q", escaped, f.asked, want)
			}
		}
	})
	t.Run("Recall", func(t *testing.T) {
		f := &fake{}
		w := request(f, "POST", "/v1/recall", `{"text":"\"*\" NEAR","run":"001-a","limit":3}`)
		if w.Code != 200 || strings.TrimSpace(w.Body.String()) != "[]" || f.query.Text != `"*" NEAR` || f.query.Run != "001-a" || f.query.Limit != 3 {
			t.Errorf("status %d, %s, asked %+v", w.Code, w.Body, f.query)
		}
	})
	t.Run("Blob", func(t *testing.T) {
		data := bytes.Repeat([]byte("0123456789\x00\xff"), 100_000)
		w := request(&fake{blob: data}, "GET", "/v1/runs/001-a/blobs/"+pawl.HashOf(data).String(), "")
		if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), data) || w.Header().Get("Content-Type") != "application/octet-stream" {
			t.Errorf("status %d, %d bytes of %s", w.Code, w.Body.Len(), w.Header().Get("Content-Type"))
		}
	})
}

func TestErrorsKeepTheirCodesAndHints(t *testing.T) {
	for code, status := range map[pawl.Code]int{
		pawl.CodeInvalid: 400, pawl.CodeNotFound: 404, pawl.CodeConflict: 409, pawl.CodeState: 409, pawl.CodeConsent: 403,
		pawl.CodeUnavailable: 503, pawl.CodeStopped: 503, pawl.CodeDamaged: 500, pawl.CodeInternal: 500,
	} {
		f := &fake{err: fmt.Errorf("start run 001-a: %w", pawl.Errorf(code, "it <cannot> be").WithHint("do %q", "this"))}
		for _, target := range []string{"GET /v1/runs", "POST /v1/runs", "POST /v1/runs/001-a/steer", "POST /v1/recall", "GET /v1/runs/001-a/events",
			"GET /v1/runs/001-a/watch", "GET /v1/runs/001-a/blobs/" + strings.Repeat("0", 64)} {
			method, path, _ := strings.Cut(target, " ")
			w := request(f, method, path, "{}")
			if want := (pawl.Error{Code: code, Message: "start run 001-a: it <cannot> be", Hint: `do "this"`}); w.Code != status || refusal(t, w) != want {
				t.Errorf("%s, %s: status %d, %s", target, code, w.Code, w.Body)
			}
		}
	}
	t.Run("WithoutACode", func(t *testing.T) {
		w := request(&fake{err: errors.New("a surprise")}, "GET", "/v1/runs", "")
		if e := refusal(t, w); w.Code != 500 || e.Code != pawl.CodeInternal || e.Message != "a surprise" {
			t.Errorf("status %d, %+v", w.Code, e)
		}
	})
	t.Run("WhileTheServerCloses", func(t *testing.T) {
		w := request(&fake{err: fmt.Errorf("read: %w", context.Canceled)}, "GET", "/v1/runs", "")
		if e := refusal(t, w); w.Code != 503 || e.Code != pawl.CodeUnavailable {
			t.Errorf("status %d, %+v", w.Code, e)
		}
	})
}

func TestEvents(t *testing.T) {
	read := func(t *testing.T, f *fake, target string, headers ...string) []string {
		t.Helper()
		w := request(f, "GET", target, "", headers...)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("status %d, %s", w.Code, w.Header().Get("Content-Type"))
		}
		return strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	}
	t.Run("OneALine", func(t *testing.T) {
		got := read(t, &fake{events: pauses(3)}, "/v1/runs/001-a/events?after=1")
		if len(got) != 2 || !strings.Contains(got[0], `"seq":2`) || !strings.Contains(got[1], `"kind":"run_paused"`) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("None", func(t *testing.T) {
		if got := read(t, &fake{events: pauses(3)}, "/v1/runs/001-a/events?after=3"); len(got) != 1 || got[0] != "" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("TheHeaderWinsOverTheAddress", func(t *testing.T) {
		if got := read(t, &fake{events: pauses(9)}, "/v1/runs/001-a/events?after=1", "Last-Event-ID: 7"); len(got) != 2 {
			t.Errorf("got %q", got)
		}
	})
	t.Run("TheLastLineSaysWhyThereAreNoMore", func(t *testing.T) {
		got := read(t, &fake{events: pauses(2), broken: pawl.Errorf(pawl.CodeDamaged, "event 3 is damaged").WithHint("keep a copy")}, "/v1/runs/001-a/events")
		if want := `{"error":{"title":"Internal Server Error","status":500,"detail":"event 3 is damaged","code":"damaged","hint":"keep a copy"}}`; len(got) != 3 || got[2] != want {
			t.Errorf("got %q", got)
		}
	})
	t.Run("Large", func(t *testing.T) {
		text := strings.Repeat("line\nline ", 200_000)
		got := read(t, &fake{events: []pawl.Event{pause(1, text)}}, "/v1/runs/001-a/events")
		var e pawl.Event
		if err := json.Unmarshal([]byte(got[0]), &e); err != nil || len(got) != 1 || e.Body.(*pawl.RunPaused).Reason != text {
			t.Errorf("%d lines, the first of %d bytes: %v", len(got), len(got[0]), err)
		}
	})
}
