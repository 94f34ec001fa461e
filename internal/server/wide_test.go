package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/message"
)

// atWork is a service with one active run.
type atWork struct{ pawl.Service }

func (atWork) Runs(context.Context) ([]pawl.RunInfo, error) {
	return []pawl.RunInfo{{ID: "001-a", Status: pawl.StatusRunning, Updated: time.Now()}}, nil
}

// A reader of the wide stream that falls behind the feed gets every event exactly once.
func TestWideReaderThatFallsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = message.FeedEntries + 500
		s := &ticking{more: make(chan struct{})}
		p, stop := mustServe(t, atWork{s})
		defer stop()
		r := &wideReader{*mustWatch(t, p, "/v1/events")}
		defer r.close()
		for range events {
			s.tick()
		}
		synctest.Wait()
		for seq := range events {
			if _, _, data := r.event(); !strings.Contains(data, fmt.Sprintf(`"seq":%d,`, seq+1)) {
				t.Fatalf("got %.80q, want event %d", data, seq+1)
			}
		}
	})
}

// A silent wide stream sends a sign of life every 15 seconds. The server cuts off a
// reader that does not read, and notices at once when a reader disconnects.
func TestSilentWideStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		p, stop := mustServe(t, atWork{&fake{watch: until(ended)}})
		defer stop()
		begin := time.Now()
		r := mustWatch(t, p, "/v1/events")
		for n := range time.Duration(2) {
			r.mustNext(": alive")
			if got := time.Since(begin); got != (n+1)*15*time.Second {
				t.Errorf("the sign of life came after %s", got)
			}
		}
		if got := (<-ended).Sub(begin); got != 50*time.Second {
			t.Errorf("a reader that does not read was served for %s", got)
		}
		r.close()
		begin = time.Now()
		mustWatch(t, p, "/v1/events").close()
		if got := (<-ended).Sub(begin); got != 0 {
			t.Errorf("a reader that disconnected was served for %s", got)
		}
	})
}

// When the server closes, a wide stream stops without a last message, as a watch does.
func TestWideStreamOfClosingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := mustServe(t, atWork{&fake{watch: until(make(chan time.Time, 1))}})
		r := mustWatch(t, p, "/v1/events")
		defer r.close()
		last := make(chan string, 1)
		go func() { last <- r.next() }()
		stop()
		if got := <-last; got != io.ErrUnexpectedEOF.Error() && got != io.EOF.Error() {
			t.Errorf("the stream ends with %q", got)
		}
	})
}

// unlisted is a daemon whose projects can be listed only a number of times.
type unlisted struct {
	one
	lists int // how often they can still be listed
}

func (u *unlisted) Projects(ctx context.Context) ([]pawl.ProjectInfo, error) {
	if u.lists--; u.lists < 0 {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the projects cannot be listed")
	}
	return u.one.Projects(ctx)
}

// An error that ends the wide stream is its last message.
func TestWideStreamEndsWithAnError(t *testing.T) {
	for lists := range 2 {
		d := Daemon{Projects: &unlisted{one: one{&fake{}}, lists: lists}}
		h := newHandler(nil, &d, message.NewFeed(d.Projects))
		w := httptest.NewRecorder()
		h.face(faceSocket, socketHosts).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://pawl/v1/events", nil))
		if got := w.Body.String(); !strings.HasPrefix(got, ": pawl\n\nevent: stream.error\n") || !strings.Contains(got, "the projects cannot be listed") || strings.Count(got, "event:") != 1 {
			t.Errorf("with projects that can be listed %d times, the stream is %q", lists, got)
		}
	}
}

// neighbours is a daemon with several projects, some of which cannot be read.
type neighbours struct {
	one
	closed pawl.Service // the service of the closed project
}

func (n neighbours) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "gone"}, {ID: "torn"}, {ID: "attic", Closed: true}, {ID: "shop"}}, nil
}

func (n neighbours) Project(_ context.Context, id string) (pawl.Service, error) {
	switch id {
	case "torn":
		return &fake{err: errors.New("it is torn")}, nil
	case "attic":
		return n.closed, nil
	case "shop":
		return n.Service, nil
	}
	return nil, errors.New("it was closed")
}

// wideOf returns the wide stream of a reader that is interested in one project, or in
// all of them if project is empty.
func wideOf(t *testing.T, projects pawl.Projects, project string, at wideCursor) *wideStream {
	t.Helper()
	h := newHandler(nil, &Daemon{Projects: projects}, nil)
	w := httptest.NewRecorder()
	return &wideStream{h: h, at: at, out: &stream{w: w, c: http.NewResponseController(w)},
		c: &call{Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", nil), project: project}}
}

// A cursor is completed with the runs that changed since its time, each up to its last
// event before that time. Projects and runs that cannot be read are left out.
func TestCompleteCursor(t *testing.T) {
	since := time.Unix(3, 0)
	m := runs(4)
	m.events = pauses(5) // one event each second
	for i, updated := range []int64{2, 3, 4, 5} {
		m.runs[i].Updated = time.Unix(updated, 0)
	}
	attic := runs(1)
	attic.events = pauses(2)
	for _, test := range []struct {
		name, project string
		fresh         bool
		want          message.Cursor
	}{
		{"All", "", false, message.Cursor{runKey("shop", m.runs[2].ID): 3, runKey("shop", m.runs[3].ID): 1, runKey("attic", attic.runs[0].ID): 2}},
		{"OneProject", "shop", false, message.Cursor{runKey("shop", m.runs[2].ID): 3, runKey("shop", m.runs[3].ID): 1}},
		{"AFreshReaderSkipsClosedProjects", "", true, message.Cursor{runKey("shop", m.runs[2].ID): 3, runKey("shop", m.runs[3].ID): 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wideOf(t, neighbours{one{m}, attic}, test.project, wideCursor{Seen: message.Cursor{runKey("shop", m.runs[3].ID): 1}, Since: since})
			s.fresh = test.fresh
			if err := s.complete(t.Context()); err != nil || !maps.Equal(s.at.Seen, test.want) || s.fresh {
				t.Errorf("the cursor is %v, %v", s.at.Seen, err)
			}
		})
	}
	t.Run("DamagedRun", func(t *testing.T) {
		torn := runs(1)
		torn.err = errors.New("it is torn")
		s := wideOf(t, neighbours{one{torn}, attic}, "shop", wideCursor{Seen: message.Cursor{}, Since: since})
		if err := s.complete(t.Context()); err != nil || len(s.at.Seen) > 0 {
			t.Errorf("the cursor is %v, %v", s.at.Seen, err)
		}
	})
}

// The messages of one event share its number. A reader gets only those that it lacks.
func TestMessagesOfOneEvent(t *testing.T) {
	const run = "001-a"
	key := runKey("shop", run)
	all := []message.Message{
		{Project: "shop", Run: run, Seq: 1, Event: "a", Last: true},
		{Project: "shop", Run: run, Seq: 2, Event: "b"},
		{Project: "shop", Run: run, Seq: 2, Event: "c"},
		{Project: "shop", Run: run, Seq: 2, Event: "d", Last: true},
		{Project: "barn", Run: run, Seq: 2, Event: "e"},
		{Project: "barn", Run: run, Seq: 2, Event: "f", Last: true},
	}
	for _, test := range []struct {
		at   wideCursor
		want string
		left message.Cursor
	}{
		{wideCursor{Seen: message.Cursor{}}, "abcdef", message.Cursor{key: 2, runKey("barn", run): 2}},
		{wideCursor{Seen: message.Cursor{key: 1}}, "bcdef", message.Cursor{key: 2, runKey("barn", run): 2}},
		{wideCursor{Seen: message.Cursor{key: 1}, In: key, Part: 1}, "cdef", message.Cursor{key: 2, runKey("barn", run): 2}},
		{wideCursor{Seen: message.Cursor{key: 1}, In: key, Part: 2}, "def", message.Cursor{key: 2, runKey("barn", run): 2}},
		{wideCursor{Seen: message.Cursor{key: 2}}, "ef", message.Cursor{key: 2, runKey("barn", run): 2}},
		{wideCursor{Seen: message.Cursor{key: 3}}, "ef", message.Cursor{key: 3, runKey("barn", run): 2}},
	} {
		s := wideOf(t, one{&fake{}}, "", test.at)
		got := ""
		for _, m := range all {
			w := httptest.NewRecorder()
			s.out = &stream{w: w, c: http.NewResponseController(w), begun: true}
			if err := s.tell(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(w.Body.String(), "event: "), "\n")
			got += name
		}
		if got != test.want || !maps.Equal(s.at.Seen, test.left) || s.at.In != "" || s.at.Part != 0 {
			t.Errorf("the reader got %q, want %q, and is at %+v", got, test.want, s.at)
		}
	}
}

// A long cursor is shortened, but not with every message.
func TestCursorIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runs(400)
		old := time.Now()
		s := wideOf(t, neighbours{one: one{m}}, "", wideCursor{Seen: message.Cursor{}, Since: old})
		tell := func(seq pawl.Seq) int {
			for i := range m.runs {
				m.runs[i].Updated = old
				s.at.Seen[runKey("shop", m.runs[i].ID)] = 7
			}
			m.events = []pawl.Event{{Run: "999-z", Seq: seq, Time: time.Now(), Body: &pawl.RunPaused{}}}
			if err := s.tell(t.Context(), message.Message{Project: "shop", Run: "999-z", Seq: seq, Last: true}); err != nil {
				t.Fatal(err)
			}
			return len(s.at.Seen)
		}
		time.Sleep(time.Minute)                      //nolint:forbidigo // fake time
		for i, want := range []int{1, 401, 401, 1} { // the message's own run counts too
			if got := tell(pawl.Seq(i + 1)); got != want {
				t.Errorf("after message %d the cursor has %d runs, want %d", i+1, got, want)
			}
			time.Sleep(WideMargin / 2) //nolint:forbidigo // fake time
		}
		m.runs = m.runs[:10]
		s.at.Seen = message.Cursor{}
		time.Sleep(time.Minute) //nolint:forbidigo // fake time
		if got := tell(9); got != 11 {
			t.Errorf("a short cursor has %d runs, want 11", got)
		}
	})
}

// Shortening a cursor removes the runs that ended some time ago, including those of
// closed projects. It keeps a run whose project cannot be read.
func TestShortenLeavesProjects(t *testing.T) {
	now := time.Now()
	m, attic := runs(1), runs(1)
	m.runs[0].Updated, attic.runs[0].Updated = now.Add(-time.Hour), now.Add(-time.Hour)
	m.events = []pawl.Event{{Run: "x", Seq: 8, Time: now, Body: &pawl.RunPaused{}}}
	seen := func() message.Cursor {
		return message.Cursor{runKey("shop", m.runs[0].ID): 1, runKey("attic", attic.runs[0].ID): 1, runKey("torn", "001-x"): 1}
	}
	s := wideOf(t, neighbours{one{m}, attic}, "", wideCursor{Seen: seen(), Since: now.Add(-time.Minute)})
	s.shorten(t.Context(), message.Message{Project: "shop", Run: "x", Seq: 8})
	if want := (message.Cursor{runKey("torn", "001-x"): 1}); !maps.Equal(s.at.Seen, want) || !s.at.Since.Equal(now.Add(-10*time.Second)) {
		t.Errorf("the cursor is %+v", s.at)
	}
	for name, at := range map[string]struct {
		project string
		since   time.Time
	}{
		"AnEventNobodyFinds":     {"gone", now.Add(-time.Minute)},
		"AnEventThatIsDamaged":   {"torn", now.Add(-time.Minute)},
		"NothingNewer":           {"shop", now},
		"NothingNewerByASecond":  {"shop", now.Add(-WideMargin)},
		"NothingElseIsForgotten": {"shop", now.Add(time.Hour)},
	} {
		s := wideOf(t, neighbours{one{m}, attic}, "", wideCursor{Seen: seen(), Since: at.since})
		s.shorten(t.Context(), message.Message{Project: at.project, Run: "x", Seq: 8})
		if !maps.Equal(s.at.Seen, seen()) || !s.at.Since.Equal(at.since) {
			t.Errorf("%s: the cursor is %+v", name, s.at)
		}
	}
}

func TestCursorsThatWereNotGivenOut(t *testing.T) {
	for _, text := range []string{"", `{"seen":null}`, `{"seen":7}`, "7"} {
		w := request(&fake{}, http.MethodGet, "/v1/events?after="+base64.RawURLEncoding.EncodeToString([]byte(text))+"x", "")
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: status %d", text, w.Code)
		}
		if text == "" {
			continue
		}
		w = request(&fake{}, http.MethodGet, "/v1/events", "", "Last-Event-ID: "+base64.RawURLEncoding.EncodeToString([]byte(text)))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%q: status %d", text, w.Code)
		}
	}
}

// A process that serves one project has no others.
func TestSoleProject(t *testing.T) {
	m := runs(1)
	p := sole{m}
	all, err := p.Projects(t.Context())
	if err != nil || !reflect.DeepEqual(all, []pawl.ProjectInfo{{}}) {
		t.Errorf("the projects are %+v, %v", all, err)
	}
	if s, err := p.Project(t.Context(), ""); err != nil || s != pawl.Service(m) {
		t.Errorf("the project is %v, %v", s, err)
	}
	if _, err := p.Open(t.Context(), "/elsewhere"); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("opening another project: %v", err)
	}
	if load, err := p.Load(t.Context()); err != nil || load.At.IsZero() {
		t.Errorf("the load is %+v, %v", load, err)
	}
}
