// Package server offers a [pawl.Service], or those of a daemon, over HTTP and JSON.
//
// What can be asked is the list in [operations]; the OpenAPI description is made of
// it by the tests ([OpenAPI], docs/openapi.json), and docs/api.md shows it in use. A process that
// has one project serves it under /v1, a daemon each of its projects under
// /v1/projects/{project}.
//
// An event's id in a watch stream is its number, so a reader that was cut off asks
// for what comes after the last one it saw; live text has no id. A stream that has
// told everything ends with the event "end", one that cannot go on with "error"; one
// that just stops was cut off. Events by line end with a line that has an "error"
// and nothing else when they cannot go on.
//
// Errors are a JSON [Problem] with the status its code maps to, and keep their code
// and hint on the way. Whoever does not read what it asked for is cut off after
// [WriteTimeout] and holds up nobody else: all watchers of a run read what one
// goroutine put into a ring, each from where it is (ring.go), and one that is too far
// behind reads the log.
//
// The socket is for its user alone: nobody else can enter its folder or open it,
// the user of whoever connects is asked of the kernel, and a web page cannot make a
// browser use it for one, which would show in the request's Host or Origin. Over TCP
// every request needs the token as well (guard.go).
package server

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"pawl"
	"pawl/internal/message"
)

// Limits of the server.
const (
	// WriteTimeout is how long a reader may leave a piece of an answer unread.
	WriteTimeout = 5 * time.Second
	// HeaderTimeout is how long a request's first byte and its header may take.
	HeaderTimeout = 5 * time.Second
	// BodyTimeout is how long the body of a request may take.
	BodyTimeout = 10 * time.Second
	// MaxRequest is the largest request body, in bytes.
	MaxRequest = 4 << 20
	// MaxHeader is the largest header of a request, in bytes.
	MaxHeader = 64 << 10
	// KeepAlive is how often a watch stream says that it is alive.
	KeepAlive = 15 * time.Second
)

// Handler serves the service of one project.
func Handler(s pawl.Service) http.Handler {
	return newHandler(s, nil, message.NewFeed(sole{s})).face(faceProject, socketHosts)
}

func newHandler(alone pawl.Service, d *Daemon, feed *message.Feed) *handler {
	return &handler{alone: alone, d: d, feed: feed}
}

// projects are those that are served.
func (h *handler) projects() pawl.Projects {
	if h.d == nil {
		return sole{h.alone}
	}
	return h.d.Projects
}

// changed says that something may have happened to a run.
func (h *handler) changed(c *call, run pawl.RunID, err error) {
	if err == nil {
		h.feed.Notify(c.project, run)
	}
}

// handler answers requests.
type handler struct {
	alone pawl.Service // of a process that has one project
	d     *Daemon      // of a daemon
	once  once
	feeds feeds
	feed  *message.Feed
}

// face is the handler of requests that come from a face.
func (h *handler) face(f face, here func(host string) bool) http.Handler {
	return paced(onlyHere(here, h.routes(f)))
}

func afterParams() []param {
	return []param{
		{"query", "after", "the number of the last event the reader has; 0 or nothing: all events"},
		{"header", "Last-Event-ID", "the same, and wins: what a reader that was cut off sends"},
	}
}

func wideParams() []param {
	return []param{
		{"query", "after", "a cursor, the id of the last message the reader has; nothing: from now on"},
		{"header", "Last-Event-ID", "the same, and wins: what a reader that was cut off sends"},
	}
}

// operations are what the API can be asked.
func operations() []operation {
	return slices.Concat(runOperations(), loopOperations(), daemonOperations())
}

// runOperations are those of the runs of a project.
func runOperations() []operation {
	const run = "/runs/{run}"
	return []operation{
		operation{method: http.MethodGet, path: "/runs", id: "listRuns", summary: "The project's runs, oldest first",
			out: reflect.TypeFor[[]pawl.RunInfo](), do: listRuns}.with(param{"query", "limit", "how many of the newest; 0 or nothing: all"}),
		takes("/runs", "startRun", "Start a run", func(h *handler, c *call, in pawl.StartRequest) (pawl.RunInfo, error) {
			info, err := c.s.Start(c.Context(), in)
			h.changed(c, info.ID, err)
			return info, err
		}).changing(http.StatusConflict, http.StatusServiceUnavailable),
		takes("/runs/preview", "previewRun", "What a request would start; nothing is started", func(_ *handler, c *call, in pawl.StartRequest) (pawl.StartPreview, error) {
			return c.s.Preview(c.Context(), in)
		}).failing(http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable),
		takes(run+"/steer", "steerRun", "Give a run a command", func(h *handler, c *call, in pawl.Steering) (Done, error) {
			// Whoever has the token may be a program, so that a person at a terminal is believed
			// over the socket alone.
			in.Terminal = in.Terminal && c.face != faceTCP
			err := c.s.Steer(c.Context(), c.run(), in)
			h.changed(c, c.run(), err)
			return Done{}, err
		}).changing(403, 409),
		takes(run+"/fork", "forkRun", "Start a run that has its first events in common with this one", func(h *handler, c *call, in forkAt) (pawl.RunInfo, error) {
			info, err := c.s.Fork(c.Context(), c.run(), in.At)
			h.changed(c, info.ID, err)
			return info, err
		}).changing(409),
		asks(http.MethodGet, run, "readRun", "A run with its iterations, verdicts and tasks, and what it says at its end", readRun),
		streams(run+"/transcript", "readTranscript", "What was said and done in the run's sessions so far, one JSON object a line", "application/x-ndjson", (*handler).transcript).
			with(param{"query", "step", "a task, an iteration, a step or a loop, as pawl show --transcript takes it; nothing: all sessions"},
				param{"query", "after", "the number of the last event the reader has; 0 or nothing: all entries"}),
		streams(run+"/events", "listEvents", "The run's events so far, one JSON object a line", "application/x-ndjson", (*handler).events).with(afterParams()...),
		streams(run+"/watch", "watchRun", "Events and live text as server-sent events", "text/event-stream", (*handler).watch).with(afterParams()...),
		streams(run+"/blobs/{hash}", "readBlob", "A text by its hash", "application/octet-stream", (*handler).blob),
		takes("/recall", "recall", "What is remembered", func(h *handler, c *call, in pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
			return c.s.Recall(c.Context(), in)
		}),
		asks(http.MethodGet, "/cache", "listCache", "What the project's rooms keep on disk", func(h *handler, c *call) (pawl.CacheInfo, error) {
			return pawl.ListCache(c.Context(), c.s)
		}),
		takes("/cache/prune", "pruneCache", "Remove the oldest layers of the trusted cache", func(h *handler, c *call, in pawl.PruneRequest) (pawl.PruneResult, error) {
			return pawl.PruneCache(c.Context(), c.s, in)
		}).changing(http.StatusConflict),
		takes(run+"/delete", "deleteRun", "Delete a run that has ended", func(h *handler, c *call, in pawl.DeleteRequest) (pawl.Deletion, error) {
			return pawl.DeleteRun(c.Context(), c.s, c.run(), in)
		}).changing(http.StatusConflict),
		asks(http.MethodGet, "/deleted", "listDeleted", "The runs that were deleted, the oldest deletion first", func(h *handler, c *call) ([]pawl.Tombstone, error) {
			return pawl.DeletedRuns(c.Context(), c.s)
		}),
		asks(http.MethodGet, "/garbage", "listGarbage", "What of the project's state nobody needs, and what its removal frees", func(h *handler, c *call) (pawl.Garbage, error) {
			return pawl.FindGarbage(c.Context(), c.s)
		}),
		takes("/garbage/collect", "collectGarbage", "Remove what nobody needs", func(h *handler, c *call, _ Done) (pawl.Garbage, error) {
			return pawl.CollectGarbage(c.Context(), c.s)
		}).changing(http.StatusConflict),

		streams("/events", "watchProject", "What happens to all runs of the project, as server-sent events", "text/event-stream", (*handler).wide).with(wideParams()...),
	}
}

// listRuns answers with the JSON of the runs' lines. Most of it is stored already.
func listRuns(_ *handler, w http.ResponseWriter, c *call) {
	most := 0
	if text := c.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			refuse(w, pawl.Errorf(pawl.CodeInvalid, "limit %q: want a number of runs", text))
			return
		}
		most = n
	}
	lines, err := pawl.NewestLines(c.Context(), c.s, most)
	for i := range lines {
		if err == nil && lines[i].JSON == nil {
			lines[i].JSON, err = json.Marshal(lines[i].Info)
		}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, piece)
	_ = out.WriteByte('[')
	for i, l := range lines {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.Write(l.JSON)
	}
	_, _ = out.WriteString("]\n")
	_ = out.Flush() // a reader that has gone needs no answer
}

// daemonOperations are those of a daemon.
func daemonOperations() []operation {
	return []operation{
		streams("/events", "watchAll", "What happens to all runs of all projects, as server-sent events", "text/event-stream", (*handler).wide).with(wideParams()...).in1(ofDaemon),
		asks(http.MethodGet, "/daemon", "about", "Which process this is", func(h *handler, c *call) (pawl.DaemonInfo, error) {
			return h.about(), nil
		}).in1(ofDaemon),
		asks(http.MethodGet, "/projects", "listProjects", "The projects that are open", func(h *handler, c *call) ([]pawl.ProjectInfo, error) {
			return h.d.Projects.Projects(c.Context())
		}).in1(ofDaemon),
		takes("/projects", "openProject", "Open the project of the repository that a folder is in", func(h *handler, c *call, in OpenRequest) (pawl.ProjectInfo, error) {
			return h.open(c.Context(), in)
		}).in1(ofDaemon).changing(409),
		asks(http.MethodGet, "/projects/{project}", "readProject", "One project that is open", func(h *handler, c *call) (pawl.ProjectInfo, error) {
			return h.project(c.Context(), c.project)
		}).in1(ofDaemon),
		streams("/openapi.json", "describe", "This description", "application/json", func(h *handler, w http.ResponseWriter, _ *call) {
			h.describe(w)
		}).in1(ofAll),
		asks(http.MethodGet, "/load", "load", "What the places of the machine are used for", func(h *handler, c *call) (pawl.Load, error) {
			return h.d.Projects.Load(c.Context())
		}).in1(ofDaemon),
		takes("/session", "linkSession", "A link that begins a session of a browser, once", func(h *handler, c *call, _ Done) (Link, error) {
			return h.link()
		}).in1(ofDaemon),
		streams("/session", "beginSession", "Begin a session of a browser", "", func(h *handler, w http.ResponseWriter, c *call) {
			h.d.tcp.access.begin(w, c.Request)
		}).with(param{"query", "code", "of the link"}).in1(ofBrowser),
		takes("/handover", "handover", "Make room for a newer daemon: end cleanly and let go of every project", func(h *handler, c *call, _ Done) (Done, error) {
			return Done{}, h.handover(c.Context())
		}).in1(ofSocket).changing(),
	}
}

// forkAt says where a run is forked.
type forkAt struct {
	At pawl.Seq `json:"at"` // the last event they have in common
}

// OpenRequest asks for a project.
type OpenRequest struct {
	Dir string `json:"dir" doc:"a folder within the repository, absolute"`
}

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

func (h *handler) events(w http.ResponseWriter, c *call) {
	from, err := after(c.Request)
	if err != nil {
		refuse(w, err)
		return
	}
	out := json.NewEncoder(w)
	begin := func() { w.Header().Set("Content-Type", "application/x-ndjson") }
	begun := false
	for e, err := range c.s.Events(c.Context(), c.run(), from) {
		switch {
		case err != nil && !begun:
			refuse(w, err)
			return
		case err != nil:
			_ = out.Encode(failure{problem(err)}) // a reader that has gone need not know
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
	Error Problem `json:"error"`
}

func (h *handler) blob(w http.ResponseWriter, c *call) {
	var hash pawl.Hash
	raw, err := hex.DecodeString(c.PathValue("hash"))
	if err != nil || len(raw) != len(hash) {
		refuse(w, pawl.Errorf(pawl.CodeInvalid, "%q is not a blob's hash", c.PathValue("hash")))
		return
	}
	copy(hash[:], raw)
	data, err := c.s.Blob(c.Context(), c.run(), hash)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // a reader that has gone misses its end
}
