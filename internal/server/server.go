// Package server offers a pawl.Service over HTTP and JSON.
//
//	GET  /v1/runs                          the runs
//	POST /v1/runs                          start one
//	POST /v1/runs/{run}/steer              give it a command
//	GET  /v1/runs/{run}/events?after=N     its events so far, one JSON object per line
//	GET  /v1/runs/{run}/watch?after=N      events and live text as server-sent events
//	GET  /v1/runs/{run}/blobs/{hash}       a text by its hash
//
// An event's id in the watch stream is its number, so a reader that was cut off
// asks for what comes after the last one it saw; live text has no id. Errors are
// a JSON pawl.Error with the status its code maps to, and keep their code and
// hint on the way. A watcher that does not read for [WriteTimeout] is cut off.
package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pawl"
)

// Limits of the server.
const (
	// WriteTimeout is how long one write to a watcher may take.
	WriteTimeout = 5 * time.Second
	// MaxRequest is the largest request body, in bytes.
	MaxRequest = 4 << 20
	// KeepAlive is how often a silent watch stream says that it is alive.
	KeepAlive = 15 * time.Second
)

// Handler serves the service.
func Handler(s pawl.Service) http.Handler {
	h := &handler{s}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/runs", h.runs)
	mux.HandleFunc("POST /v1/runs", h.start)
	mux.HandleFunc("POST /v1/runs/{run}/steer", h.steer)
	mux.HandleFunc("GET /v1/runs/{run}/events", h.events)
	mux.HandleFunc("GET /v1/runs/{run}/watch", h.watch)
	mux.HandleFunc("GET /v1/runs/{run}/blobs/{hash}", h.blob)
	return http.NewCrossOriginProtection().Handler(mux)
}

// Serve listens on a unix socket only this user can open, until ctx ends. A
// socket that an earlier process left behind is replaced: whoever calls this
// holds the project's lock. ready is called when clients can connect.
func Serve(ctx context.Context, socket string, s pawl.Service, ready func()) error {
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 != 0 {
		return pawl.Errorf(pawl.CodeUnavailable, "others can enter %s, where the socket would be", dir).WithHint("chmod 700 %s", dir)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return errors.Join(fmt.Errorf("protect the socket: %w", err), l.Close())
	}
	srv := &http.Server{
		Handler: Handler(s), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	ready()
	if err := srv.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

type handler struct{ s pawl.Service }

func (h *handler) runs(w http.ResponseWriter, r *http.Request) {
	runs, err := h.s.Runs(r.Context())
	if runs == nil {
		runs = []pawl.RunInfo{}
	}
	answer(w, runs, err)
}

func (h *handler) start(w http.ResponseWriter, r *http.Request) {
	var req pawl.StartRequest
	if err := read(w, r, &req); err != nil {
		answer(w, nil, err)
		return
	}
	info, err := h.s.Start(r.Context(), req)
	answer(w, info, err)
}

func (h *handler) steer(w http.ResponseWriter, r *http.Request) {
	var s pawl.Steering
	if err := read(w, r, &s); err != nil {
		answer(w, nil, err)
		return
	}
	answer(w, struct{}{}, h.s.Steer(r.Context(), run(r), s))
}

func run(r *http.Request) pawl.RunID { return pawl.RunID(r.PathValue("run")) }

func after(r *http.Request) (pawl.Seq, error) {
	text := r.Header.Get("Last-Event-ID")
	if q := r.URL.Query().Get("after"); q != "" {
		text = q
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, pawl.Errorf(pawl.CodeInvalid, "after=%q: want an event's number", text)
	}
	return pawl.Seq(n), nil
}

func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	from, err := after(r)
	if err != nil {
		answer(w, nil, err)
		return
	}
	out := json.NewEncoder(w)
	begun := false
	for e, err := range h.s.Events(r.Context(), run(r), from) {
		if err != nil {
			if !begun {
				answer(w, nil, err)
			} else {
				_ = out.Encode(failure{public(err)}) // the last line says why there are no more
			}
			return
		}
		if !begun {
			w.Header().Set("Content-Type", "application/x-ndjson")
			begun = true
		}
		if out.Encode(e) != nil {
			return // the reader has gone
		}
	}
	if !begun {
		w.Header().Set("Content-Type", "application/x-ndjson")
	}
}

// failure is what the last line of a stream that broke says.
type failure struct {
	Error *pawl.Error `json:"error"`
}

func (h *handler) watch(w http.ResponseWriter, r *http.Request) {
	from, err := after(r)
	if err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &stream{w: w, c: http.NewResponseController(w)}
	if out.write(": pawl\n\n") != nil {
		return
	}
	for u, err := range alive(r.Context(), h.s.Watch(r.Context(), run(r), from)) {
		switch {
		case err != nil:
			_ = out.event("error", 0, public(err))
			return
		case u.Event != nil:
			err = out.event("event", u.Event.Seq, u.Event)
		case u.Live != nil:
			err = out.event("live", 0, u.Live)
		default:
			err = out.write(": alive\n\n")
		}
		if err != nil {
			return // the reader has gone, or does not read
		}
	}
	_ = out.event("end", 0, struct{}{})
}

// alive passes a sequence on and puts an empty update wherever it is silent for
// [KeepAlive], so that a reader that has gone is noticed.
func alive(ctx context.Context, in iter.Seq2[pawl.Update, error]) iter.Seq2[pawl.Update, error] {
	type item struct {
		u   pawl.Update
		err error
	}
	return func(yield func(pawl.Update, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		items := make(chan item)
		go func() {
			defer close(items)
			for u, err := range in {
				select {
				case items <- item{u, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() { // nothing of the sequence outlives this call
			cancel()
			for range items { //nolint:revive // drain until the goroutine has closed it
			}
		}()
		tick := time.NewTicker(KeepAlive)
		defer tick.Stop()
		for {
			select {
			case it, ok := <-items:
				if !ok || !yield(it.u, it.err) {
					return
				}
			case <-tick.C:
				if !yield(pawl.Update{}, nil) {
					return
				}
			}
		}
	}
}

// stream writes server-sent events, each flushed, each with a deadline.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
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
	if err := s.c.SetWriteDeadline(time.Now().Add(WriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.c.Flush()
}

func (h *handler) blob(w http.ResponseWriter, r *http.Request) {
	var hash pawl.Hash
	raw, err := hex.DecodeString(r.PathValue("hash"))
	if err != nil || len(raw) != len(hash) {
		answer(w, nil, pawl.Errorf(pawl.CodeInvalid, "%q is no blob's hash", r.PathValue("hash")))
		return
	}
	copy(hash[:], raw)
	data, err := h.s.Blob(r.Context(), run(r), hash)
	if err != nil {
		answer(w, nil, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
}

func read(w http.ResponseWriter, r *http.Request, v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxRequest))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "the request: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		e := public(err)
		w.WriteHeader(Status(e.Code))
		v = e
	}
	_ = json.NewEncoder(w).Encode(v) // a reader that has gone needs no answer
}

// public is the error as it goes over the wire.
func public(err error) *pawl.Error {
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok {
		return &pawl.Error{Code: pawl.CodeInternal, Message: err.Error()}
	}
	c := *e
	c.Message = err.Error()
	return &c
}

// Status is the HTTP status of a code.
func Status(c pawl.Code) int {
	switch c {
	case pawl.CodeInvalid:
		return http.StatusBadRequest
	case pawl.CodeNotFound:
		return http.StatusNotFound
	case pawl.CodeConflict, pawl.CodeState:
		return http.StatusConflict
	case pawl.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
