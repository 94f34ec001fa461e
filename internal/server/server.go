// Package server offers a pawl.Service over HTTP and JSON.
//
//	GET  /v1/runs                          the runs
//	POST /v1/runs                          start one
//	POST /v1/runs/{run}/steer              give it a command
//	POST /v1/runs/{run}/fork               start a run that has its first events in common with it
//	GET  /v1/runs/{run}/events?after=N     its events so far, one JSON object per line
//	GET  /v1/runs/{run}/watch?after=N      events and live text as server-sent events
//	GET  /v1/runs/{run}/blobs/{hash}       a text by its hash
//	POST /v1/recall                        what is remembered, by a pawl.MemoryQuery
//
// An event's id in the watch stream is its number, so a reader that was cut off
// asks for what comes after the last one it saw; live text has no id. A stream
// that has told everything ends with the event "end", one that cannot go on with
// "error"; one that just stops was cut off. Events by line end with a line that
// has an "error" and nothing else when they cannot go on.
//
// Errors are a JSON pawl.Error with the status its code maps to, and keep their
// code and hint on the way. Whoever does not read what it asked for is cut off
// after [WriteTimeout] and holds up nobody else.
//
// The socket is for its user alone: nobody else can enter its folder or open it,
// and a web page cannot make a browser use it for one, which would show in the
// request's Host or Origin.
package server

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Limits of the server.
const (
	// WriteTimeout is how long a reader may leave a piece of an answer unread.
	WriteTimeout = 5 * time.Second
	// MaxRequest is the largest request body, in bytes.
	MaxRequest = 4 << 20
	// KeepAlive is how often a watch stream says that it is alive.
	KeepAlive = 15 * time.Second
)

// hosts are what requests over the socket may name as their host: the client's
// own word, and what people write.
var hosts = [...]string{"pawl", "localhost"}

// Handler serves the service.
func Handler(s pawl.Service) http.Handler {
	h := &handler{s}
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]http.HandlerFunc{
		"/v1/runs":                    {http.MethodGet: h.runs, http.MethodPost: h.start},
		"/v1/runs/{run}/steer":        {http.MethodPost: h.steer},
		"/v1/runs/{run}/fork":         {http.MethodPost: h.fork},
		"/v1/runs/{run}/events":       {http.MethodGet: h.events},
		"/v1/runs/{run}/watch":        {http.MethodGet: h.watch},
		"/v1/runs/{run}/blobs/{hash}": {http.MethodGet: h.blob},
		"/v1/recall":                  {http.MethodPost: h.recall},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if do := methods[r.Method]; do != nil {
				do(w, r)
				return
			}
			w.Header().Set("Allow", allowed(methods))
			refuse(w, http.StatusMethodNotAllowed, pawl.Errorf(pawl.CodeInvalid, "%s does not take %s", r.URL.Path, r.Method))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, pawl.Errorf(pawl.CodeNotFound, "there is no %s", r.URL.Path))
	})
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, pawl.Errorf(pawl.CodeInvalid, "the request comes from another site"))
	}))
	return paced(onlyHere(origin.Handler(mux)))
}

func allowed(methods map[string]http.HandlerFunc) string {
	var names []string
	for m := range methods {
		names = append(names, m)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// onlyHere refuses requests for another host: a name that a web page had pointed here.
func onlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(hosts[:], r.Host) {
			refuse(w, http.StatusMisdirectedRequest, pawl.Errorf(pawl.CodeInvalid, "this is not %q", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
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

func (h *handler) fork(w http.ResponseWriter, r *http.Request) {
	var at struct {
		At pawl.Seq `json:"at"` // the last event they have in common
	}
	if err := read(w, r, &at); err != nil {
		answer(w, nil, err)
		return
	}
	info, err := h.s.Fork(r.Context(), run(r), at.At)
	answer(w, info, err)
}

func (h *handler) recall(w http.ResponseWriter, r *http.Request) {
	var q pawl.MemoryQuery
	if err := read(w, r, &q); err != nil {
		answer(w, nil, err)
		return
	}
	found, err := h.s.Recall(r.Context(), q)
	if found == nil {
		found = []pawl.MemoryEntry{}
	}
	answer(w, found, err)
}

func run(r *http.Request) pawl.RunID { return pawl.RunID(r.PathValue("run")) }

// after is the number of the last event the reader has. A reader that was cut
// off asks for the same address again, and says in the header how far it came.
func after(r *http.Request) (pawl.Seq, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, pawl.Errorf(pawl.CodeInvalid, "after %q: want an event's number", text)
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
	begin := func() { w.Header().Set("Content-Type", "application/x-ndjson") }
	begun := false
	for e, err := range h.s.Events(r.Context(), run(r), from) {
		switch {
		case err != nil && !begun:
			answer(w, nil, err)
			return
		case err != nil:
			_ = out.Encode(failure{public(err)}) // a reader that has gone need not know
			return
		case !begun:
			begin()
			begun = true
		}
		if out.Encode(e) != nil {
			return // the reader has gone, or does not read
		}
	}
	if !begun {
		begin()
	}
}

// failure is what the last line of events says that cannot go on.
type failure struct {
	Error *pawl.Error `json:"error"`
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
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a reader that has gone misses its end
}
