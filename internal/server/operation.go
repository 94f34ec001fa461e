package server

import (
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	"pawl"
)

// operation is one thing the API can be asked. What is served and what OpenAPI
// says both come from it.
type operation struct {
	method, path string // the path below /v1, or below a project's part of it
	id           string // its name in OpenAPI
	summary      string
	of           scope
	params       []param      // besides those in the path
	in, out      reflect.Type // nil = no body, or one that media says
	media        string       // of the answer; empty = JSON
	codes        []int        // statuses of errors besides those that every operation has
	changes      bool         // it takes an Idempotency-Key
	do           func(h *handler, w http.ResponseWriter, c *call)
}

// scope says where an operation is served.
type scope int

const (
	ofProject scope = iota // under each project of a daemon, or alone under /v1 by a process that has one project
	ofDaemon               // by a daemon
	ofSocket               // by a daemon, and never over TCP
	ofBrowser              // by a daemon, over TCP alone
	ofAll                  // by everyone, under /v1
)

// param is a parameter in the query or a header.
type param struct{ in, name, text string }

// Done is a body that has nothing to say.
type Done struct{}

// call is a request that is being answered.
type call struct {
	*http.Request
	project string       // its id; empty in a process that has one project
	face    face         // where it comes from
	s       pawl.Service // of the project; nil where an operation is of no project
	body    []byte       // of what changes something: it was read already
}

func (c *call) run() pawl.RunID { return pawl.RunID(c.PathValue("run")) }

// asks is an operation that is answered at once with JSON.
func asks[Out any](method, path, id, summary string, do func(h *handler, c *call) (Out, error)) operation {
	return operation{method: method, path: path, id: id, summary: summary, out: reflect.TypeFor[Out](),
		do: func(h *handler, w http.ResponseWriter, c *call) {
			out, err := do(h, c)
			answer(w, listed(out), err)
		}}
}

// takes is an operation that has a JSON object as its body.
func takes[In, Out any](path, id, summary string, do func(h *handler, c *call, in In) (Out, error)) operation {
	o := asks(http.MethodPost, path, id, summary, func(h *handler, c *call) (out Out, err error) {
		var in In
		if err := parse(c.body, &in); err != nil {
			return out, err
		}
		return do(h, c, in)
	})
	o.in = reflect.TypeFor[In]()
	return o
}

// listed makes a list of nothing one that is empty, and not null.
func listed[T any](v T) any {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice && r.IsNil() {
		return reflect.MakeSlice(r.Type(), 0, 0).Interface()
	}
	return v
}

// streams is an operation whose answer is told as it comes.
func streams(path, id, summary, media string, do func(h *handler, w http.ResponseWriter, c *call)) operation {
	return operation{method: http.MethodGet, path: path, id: id, summary: summary, media: media, do: do}
}

// changing marks operations that change something.
func (o operation) changing(codes ...int) operation {
	o.changes, o.codes = true, append(o.codes, codes...)
	return o
}

// failing adds statuses of errors.
func (o operation) failing(codes ...int) operation {
	o.codes = append(o.codes, codes...)
	return o
}

func (o operation) in1(of scope) operation {
	o.of = of
	return o
}

func (o operation) with(p ...param) operation {
	o.params = append(o.params, p...)
	return o
}

// address is where an operation is served.
func (o operation) address(daemon bool) string {
	if o.of == ofProject && daemon {
		return "/v1/projects/{project}" + o.path
	}
	return "/v1" + o.path
}

// face is where requests come from.
type face int

const (
	faceProject face = iota // the socket of a process that has one project
	faceSocket              // the socket of a daemon
	faceTCP                 // its address for browsers
)

// served reports whether an operation is served at a face.
func (o operation) served(f face) bool {
	switch o.of {
	case ofDaemon:
		return f != faceProject
	case ofSocket:
		return f == faceSocket
	case ofBrowser:
		return f == faceTCP
	}
	return true
}

// routes is the multiplexer of a face.
func (h *handler) routes(f face) http.Handler {
	paths := map[string]map[string]operation{}
	for _, o := range operations() {
		if !o.served(f) {
			continue
		}
		at := o.address(f != faceProject)
		if paths[at] == nil {
			paths[at] = map[string]operation{}
		}
		paths[at][o.method] = o
	}
	mux := http.NewServeMux()
	for at, methods := range paths {
		mux.HandleFunc(at, func(w http.ResponseWriter, r *http.Request) {
			if o, ok := methods[r.Method]; ok {
				h.perform(f, o, w, r)
				return
			}
			w.Header().Set("Allow", allowed(methods))
			refuse(w, withStatus(http.StatusMethodNotAllowed, pawl.Errorf(pawl.CodeInvalid, "%s does not take %s", r.URL.Path, r.Method)))
		})
	}
	nothing := func(w http.ResponseWriter, r *http.Request) {
		refuse(w, pawl.Errorf(pawl.CodeNotFound, "there is no %s", r.URL.Path))
	}
	mux.HandleFunc("/", nothing)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.EscapedPath(); path.Clean(p) != p { // the multiplexer would lead to another operation
			nothing(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func allowed(methods map[string]operation) string {
	var names []string
	for m := range methods {
		names = append(names, m)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// perform answers a request that comes from a face.
func (h *handler) perform(f face, o operation, w http.ResponseWriter, r *http.Request) {
	c := &call{Request: r, project: r.PathValue("project"), face: f, s: h.alone}
	var err error
	if o.in != nil || o.changes {
		if c.body, err = body(w, r); err != nil {
			refuse(w, err)
			return
		}
	}
	if o.of == ofProject && h.d != nil {
		if c.s, err = h.d.Projects.Project(r.Context(), c.project); err != nil {
			refuse(w, err)
			return
		}
	}
	if key := r.Header.Get(keyHeader); o.changes && key != "" {
		h.once.do(w, c, key, func(w http.ResponseWriter) { o.do(h, w, c) })
		return
	}
	o.do(h, w, c)
}
