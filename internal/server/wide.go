package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/message"
)

// The wide stream tells what happens to all runs, of a project or of all of them, in
// the names of [message]. Its cursor is opaque: it says of each run how far the
// reader has come, and from when on it has everything of the others.

const (
	// WideCursor is how large the cursor of a wide stream may become, in bytes, before
	// runs that have come to rest are left out of it.
	WideCursor = 8 << 10
	// WideMargin is how long it may take until a message of a new event is told: what
	// is left out of a cursor was at rest before that.
	WideMargin = 10 * time.Second
)

// WideMessage is the data of a message of the wide stream; its name is the SSE
// event's.
type WideMessage struct {
	Project string     `json:"project"` // empty in a process that has one project
	Run     pawl.RunID `json:"run"`
	Seq     pawl.Seq   `json:"seq"` // of the event that led to it
	Data    any        `json:"data"`
}

// wideCursor is how far a reader of the wide stream has come.
type wideCursor struct {
	Seen message.Cursor `json:"seen"` // the last event of each run that it has all messages of
	// Since is from when on there is anything to tell of runs that are not in Seen.
	Since time.Time `json:"since"`
	// Part is how many messages of the event after that the reader has, of the run In.
	In   string `json:"in,omitempty"`
	Part int    `json:"part,omitempty"`
}

func (c wideCursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseCursor reads the cursor of a request; without one the reader begins now.
func parseCursor(r *http.Request) (wideCursor, error) {
	c := wideCursor{Seen: message.Cursor{}, Since: time.Now()}
	if !resumes(r) {
		return c, nil
	}
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || c.Seen == nil {
		return c, pawl.Errorf(pawl.CodeInvalid, "the cursor is not known here").WithHint("start without a cursor")
	}
	return c, nil
}

// resumes reports a request with a cursor.
func resumes(r *http.Request) bool {
	return r.Header.Get("Last-Event-ID") != "" || r.URL.Query().Get("after") != ""
}

func runKey(project string, run pawl.RunID) string { return project + "/" + string(run) }

// wide tells what happens to all runs.
func (h *handler) wide(w http.ResponseWriter, c *call) {
	at, err := parseCursor(c.Request)
	if err != nil {
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithCancel(c.Context())
	s := &wideStream{h: h, c: c, out: &stream{w: w, c: http.NewResponseController(w)}, at: at, fresh: !resumes(c.Request)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel() // who does not read need not be followed for
		s.keepAlive(ctx)
	}()
	defer func() { cancel(); <-done }()
	for {
		switch err := s.follow(ctx); {
		case errors.Is(err, message.ErrBehind):
		case err != nil && ctx.Err() == nil:
			_ = s.write(sse("stream.error", "", problem(err)))
			return
		case stopped(ctx) != nil:
			_ = s.write(sse("stream.error", "", problem(stopped(ctx))))
			return
		default:
			return
		}
	}
}

// wideStream is what one reader of the wide stream is told.
type wideStream struct {
	h   *handler
	c   *call
	mu  sync.Mutex // guards out
	out *stream

	at        wideCursor
	fresh     bool // nothing has been told, and nothing has happened that is to be
	last      message.Message
	n         int       // messages of last's event so far
	shortened time.Time // when the cursor was last made shorter
}

func (s *wideStream) write(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.write(text)
}

func (s *wideStream) keepAlive(ctx context.Context) {
	tick := time.NewTicker(KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.write([]byte(": alive\n\n")) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// follow tells messages until the reader has gone, or the feed has left it behind.
func (s *wideStream) follow(ctx context.Context) error {
	if err := s.complete(ctx); err != nil {
		return err
	}
	var begun error
	for m, err := range s.h.feed.Subscribe(ctx, maps.Clone(s.at.Seen), func() { begun = s.write(nil) }) {
		if err := cmp.Or(err, begun); err != nil {
			return err
		}
		if s.c.project != "" && m.Project != s.c.project {
			continue
		}
		if s.tell(ctx, m) != nil {
			return nil
		}
	}
	return nil
}

// tell writes a message, unless the reader has it.
func (s *wideStream) tell(ctx context.Context, m message.Message) error {
	key := runKey(m.Project, m.Run)
	if m.Seq <= s.at.Seen[key] {
		return nil
	}
	if s.last.Seq != m.Seq || runKey(s.last.Project, s.last.Run) != key {
		s.n = 0
	}
	s.last = m
	if s.n++; s.at.In == key && s.n <= s.at.Part {
		return nil
	}
	s.at.In, s.at.Part = key, s.n
	if m.Last {
		s.at.In, s.at.Part = "", 0
		s.at.Seen.See(m)
	}
	id := s.at.String()
	if len(id) > WideCursor && time.Since(s.shortened) > WideMargin {
		s.shorten(ctx, m)
		id = s.at.String()
	}
	return s.write(sse(m.Event, id, WideMessage{m.Project, m.Run, m.Seq, m.Data}))
}

// runs are those that the stream is about. Projects that are closed are not opened for
// it, except those that closed says yes to.
func (s *wideStream) runs(ctx context.Context, closed func(project string) bool, each func(key string, p pawl.Service, info pawl.RunInfo) error) error {
	projects := s.h.projects()
	all, err := projects.Projects(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if s.c.project != "" && p.ID != s.c.project || p.Closed && !closed(p.ID) {
			continue
		}
		service, err := projects.Project(ctx, p.ID)
		if err != nil {
			continue // it was closed in the meantime
		}
		infos, err := service.Runs(ctx)
		if err != nil {
			continue // it cannot be read: its own commands say so
		}
		for _, info := range infos {
			if err := each(runKey(p.ID, info.ID), service, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// complete adds the runs to the cursor that something has happened to since, so that
// the feed tells of it.
func (s *wideStream) complete(ctx context.Context) error {
	fresh := s.fresh
	s.fresh = false
	happened := func(string) bool { return !fresh } // and it was closed since
	return s.runs(ctx, happened, func(key string, p pawl.Service, info pawl.RunInfo) error {
		if _, ok := s.at.Seen[key]; ok || !info.Updated.After(s.at.Since) {
			return nil
		}
		seen := pawl.Seq(0)
		for e, err := range p.Events(ctx, info.ID, 0) {
			if err != nil {
				return nil // it is damaged: its own commands say so
			}
			if e.Time.After(s.at.Since) {
				break
			}
			seen = e.Seq
		}
		s.at.Seen[key] = seen
		return nil
	})
}

// shorten leaves runs out of the cursor that were at rest some time before what is
// told now. What happens to them later is told from then on.
func (s *wideStream) shorten(ctx context.Context, m message.Message) {
	s.shortened = time.Now()
	since := s.at.Since
	if p, err := s.h.projects().Project(ctx, m.Project); err == nil {
		for e, err := range p.Events(ctx, m.Run, m.Seq-1) {
			if err == nil {
				since = e.Time.Add(-WideMargin)
			}
			break
		}
	}
	if !since.After(s.at.Since) {
		return
	}
	named := func(project string) bool {
		for key := range s.at.Seen {
			if strings.HasPrefix(key, project+"/") {
				return true
			}
		}
		return false
	}
	err := s.runs(ctx, named, func(key string, _ pawl.Service, info pawl.RunInfo) error {
		if info.Status == pawl.StatusEnded && !info.Updated.After(since) {
			delete(s.at.Seen, key)
		}
		return nil
	})
	if err == nil {
		s.at.Since = since
	}
}

// sole is the one project of a process as [pawl.Projects].
type sole struct{ s pawl.Service }

// Open implements [pawl.Projects].
func (p sole) Open(context.Context, string) (pawl.ProjectInfo, error) {
	return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeUnavailable, "this process has one project and opens no other")
}

// Projects implements [pawl.Projects].
func (p sole) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{}}, nil
}

// Project implements [pawl.Projects].
func (p sole) Project(context.Context, string) (pawl.Service, error) { return p.s, nil }

// Load implements [pawl.Projects].
func (p sole) Load(context.Context) (pawl.Load, error) { return pawl.Load{At: time.Now()}, nil }
