package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"pawl"
)

// watch tells a watcher what happens to a run: first what is in the log, then what is
// put into the ring that all its watchers share. A watcher that the ring has left
// behind reads the log again. When the server closes, the stream ends with the reason
// where there is one for readers (see [stopped]), else it just stops.
func (h *handler) watch(w http.ResponseWriter, c *call) {
	have, err := after(c.Request)
	if err != nil {
		refuse(w, err)
		return
	}
	s := &stream{w: w, c: http.NewResponseController(w)}
	claimed := have
	if have, err = s.catchUp(c, have); err != nil {
		return
	}
	start := have
	if have == claimed && !logged(c, have) {
		start = 0 // the feed also serves readers that have fewer events
	}
	f, leave := h.feeds.join(watched{c.project, c.run()}, c.s, start)
	defer leave()
	for s.follow(c.Context(), f.ring, &have) {
		gone := f.lastGone()
		if have, err = s.catchUp(c, have); err != nil {
			return
		}
		if have < gone { // reading the log again would find the same
			err := pawl.Errorf(pawl.CodeDamaged, "the log of run %s lacks event %d, which its watchers were already sent", c.run(), gone)
			_ = s.write(sse("error", "", problem(err)))
			return
		}
	}
}

// logged reports whether the run's log has an event with this number.
func logged(c *call, seq pawl.Seq) bool {
	if seq == 0 {
		return true
	}
	for _, err := range c.s.Events(c.Context(), c.run(), seq-1) {
		return err == nil // only the first event after seq-1 matters
	}
	return false
}

// stream is an answer of server-sent events.
type stream struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	begun bool
	buf   []byte // what is written next, kept to be used again
}

// sse is one server-sent event; an id may be empty.
func sse(kind, id string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // our own types can be encoded
		kind, id, data = "error", "", []byte(`{"title":"Internal Server Error","status":500,"detail":"an update cannot be encoded","code":"internal"}`)
	}
	out := make([]byte, 0, len(kind)+len(id)+len(data)+24)
	out = append(append(append(out, "event: "...), kind...), '\n')
	if id != "" {
		out = append(append(append(out, "id: "...), id...), '\n')
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}

func eventMessage(e *pawl.Event) []byte {
	return sse("event", strconv.FormatUint(uint64(e.Seq), 10), e)
}

// catchUp writes the events of the log after one and returns the last there is. Before
// anything is written, an error is told with a status, as for every request; later
// as the last event. The log is not held open while a reader is waited for.
func (s *stream) catchUp(c *call, have pawl.Seq) (pawl.Seq, error) {
	for full := true; full; {
		s.buf, full = s.buf[:0], false
		for e, err := range c.s.Events(c.Context(), c.run(), have) {
			switch {
			case err != nil && !s.begun && len(s.buf) == 0:
				refuse(s.w, cmp.Or(stopped(c.Context()), err))
				return have, err
			case err != nil:
				s.buf = append(s.buf, sse("error", "", problem(cmp.Or(stopped(c.Context()), err)))...)
				_ = s.write(s.buf)
				return have, err
			}
			have = e.Seq
			s.buf = append(s.buf, eventMessage(&e)...)
			if full = len(s.buf) >= piece; full {
				break
			}
		}
		if err := s.write(s.buf); err != nil {
			return have, err
		}
	}
	return have, nil
}

// stopped is why the server closes, where the cause of its context says so for readers:
// an error with [pawl.CodeStopped]. Otherwise it is nil.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); pawl.CodeOf(cause) == pawl.CodeStopped {
		return cause
	}
	return nil
}

// follow writes what comes to a ring until there is no more or nobody reads it. It
// returns true when the reader has to catch up from the log: what it has is in have.
func (s *stream) follow(ctx context.Context, r *ring, have *pawl.Seq) (behind bool) {
	cursor, ok := r.seek(*have)
	if !ok {
		return true
	}
	at := place{cursor, *have}
	alive := time.NewTicker(KeepAlive)
	defer alive.Stop()
	for {
		text, to, more, over, behind := r.read(at, s.buf[:0])
		if behind {
			return true
		}
		if at = to; len(text) > 0 {
			s.buf = text
			if s.write(text) != nil {
				return false
			}
			*have = at.have
			continue
		}
		if over {
			last := r.last // nothing changes it any more
			if why := stopped(ctx); why != nil {
				last = sse("error", "", problem(why))
			}
			_ = s.write(last)
			return false
		}
		select {
		case <-more:
		case <-alive.C:
			if s.write([]byte(": alive\n\n")) != nil {
				return false
			}
		case <-ctx.Done():
			if why := stopped(ctx); why != nil {
				_ = s.write(sse("error", "", problem(why)))
			}
			return false
		}
	}
}

// write sends text at once, with the head of the answer before the first.
func (s *stream) write(text []byte) error {
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
		if _, err := s.w.Write([]byte(": pawl\n\n")); err != nil {
			return err
		}
	} else if len(text) == 0 {
		return nil
	}
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.c.Flush()
}
