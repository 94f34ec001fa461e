package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pawl"
)

func (h *handler) watch(w http.ResponseWriter, r *call) {
	from, err := after(r.Request)
	if err != nil {
		refuse(w, err)
		return
	}
	// Whether the run can be read is told with a status, as for every request.
	for _, err := range r.s.Events(r.Context(), r.run(), from) {
		if err != nil {
			refuse(w, err)
			return
		}
		break
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithCancel(r.Context())
	out := &stream{w: w, c: http.NewResponseController(w)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel() // a reader that does not read need not be watched for
		out.keepAlive(ctx)
	}()
	defer func() { cancel(); <-done }()
	h.tell(ctx, out, r, from)
}

// tell writes what a watcher sees, to the end or until nobody reads it. When the
// server closes, the stream just stops.
func (h *handler) tell(ctx context.Context, out *stream, c *call, from pawl.Seq) {
	if out.write(": pawl\n\n") != nil {
		return
	}
	for u, err := range c.s.Watch(ctx, c.run(), from) {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			_ = out.event("error", 0, problem(err))
			return
		case u.Event != nil:
			err = out.event("event", u.Event.Seq, u.Event)
		case u.Live != nil:
			err = out.event("live", 0, u.Live)
		}
		if err != nil {
			return
		}
	}
	_ = out.event("end", 0, struct{}{})
}

// stream writes server-sent events, each at once.
type stream struct {
	mu sync.Mutex // one event at a time
	w  http.ResponseWriter
	c  *http.ResponseController
}

func (s *stream) event(kind string, id pawl.Seq, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	text := "event: " + kind + "\n"
	if id != 0 {
		text += fmt.Sprintf("id: %d\n", id)
	}
	return s.write(text + "data: " + string(data) + "\n\n")
}

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.c.Flush()
}

// keepAlive writes a comment now and then until ctx ends, and returns when
// nobody reads it.
func (s *stream) keepAlive(ctx context.Context) {
	tick := time.NewTicker(KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.write(": alive\n\n") != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
