package modeltest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"pawl"
)

// Handler is a stand-in for a provider. It keeps nothing between requests but
// what [Handler.Received] tells, so that many conversations can share it. The
// fields must not change while it serves.
type Handler struct {
	// Wire is the protocol that the server speaks. Empty means all protocols, each at its own path,
	// for clients of other makers: their requests are read, but not checked.
	Wire Wire
	// Answer says what to reply. It is called concurrently.
	Answer func(pawl.ModelRequest) Reply
	// Key is the API key requests must carry; empty means that none is asked for.
	Key string
	// Models are the models the server says it has; nil means that it cannot say.
	Models []string

	mu       sync.Mutex
	received []Received
	closing  chan struct{} // closed when hanging replies must end; nil means never
}

// Received is one request as it came.
type Received struct {
	Header http.Header
	Body   []byte
	// Request is what Body means; Problem is why it means nothing.
	Request pawl.ModelRequest
	Problem error
}

// Received returns the requests so far, in order of arrival.
func (h *Handler) Received() []Received {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Received(nil), h.received...)
}

// Forget returns the requests since it was last called, in order of arrival.
func (h *Handler) Forget() []Received {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.received
	h.received = nil
	return out
}

// event is one server-sent event.
type event struct {
	name  string // empty in protocols that do not name events
	data  string
	point Point // the place that is reached when it has been sent
	last  bool  // after it only the end of the reply is missing
}

func (e event) reaches(p Point) bool {
	return p != "" && (e.point == p || e.last && p == AtLast)
}

// protocol is what differs between the wires.
type protocol struct {
	path   string                   // of requests; "…" stands for the name of the model
	key    func(http.Header) string // the key a request carries
	decode func(body []byte, foreign bool) (pawl.ModelRequest, error)
	render func(req pawl.ModelRequest, r Reply) []event
	// problem is an error body; kind is the provider's word for it.
	problem func(kind, message string) string
	errors  event // an overloaded server's error event
}

func (w Wire) protocol() protocol {
	switch w {
	case Anthropic:
		return anthropicProtocol()
	case Responses:
		return responsesProtocol()
	case Gemini:
		return geminiProtocol()
	}
	return chatProtocol()
}

// protocol returns the protocol for requests to a path.
func (h *Handler) protocol(path string) protocol {
	if h.Wire != "" {
		return h.Wire.protocol()
	}
	for _, w := range []Wire{Anthropic, Responses, Gemini} {
		if p := w.protocol(); p.serves(path) {
			return p
		}
	}
	return Chat.protocol()
}

// modelIn returns the model that a path names, or "" if the protocol has the model in the body.
func (p protocol) modelIn(path string) string {
	before, after, _ := strings.Cut(p.path, "…")
	return strings.TrimSuffix(strings.TrimPrefix(path, before), after)
}

// serves reports whether model calls of the protocol are sent to a path.
func (p protocol) serves(path string) bool {
	before, after, any := strings.Cut(p.path, "…")
	return path == p.path || any && strings.HasPrefix(path, before) && strings.HasSuffix(path, after)
}

// inform answers which models there are, or that the key is valid.
func (h *Handler) inform(w http.ResponseWriter, r *http.Request, p protocol) {
	if h.Key != "" && p.key(r.Header) != h.Key {
		answer(w, http.StatusUnauthorized, nil, p.problem("authentication_error", "invalid key "+p.key(r.Header)))
		return
	}
	if strings.HasSuffix(r.URL.Path, "/key") {
		answer(w, http.StatusOK, nil, `{"data":{"label":"a key"}}`)
		return
	}
	if h.Models == nil {
		answer(w, http.StatusNotFound, nil, p.problem("not_found_error", "there is nothing at "+r.URL.Path))
		return
	}
	data := []map[string]string{}
	for _, name := range h.Models {
		data = append(data, map[string]string{"id": name, "object": "model"})
	}
	answer(w, http.StatusOK, nil, mustJSON(map[string]any{"object": "list", "data": data}))
}

// ServeHTTP answers one request. One that calls no model is not kept.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := h.protocol(r.URL.Path)
	if r.Method == http.MethodGet && (r.URL.Path == "/v1/models" || r.URL.Path == "/v1/key") {
		h.inform(w, r, p)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the client went away
	}
	got := Received{Header: r.Header.Clone(), Body: body}
	switch {
	case r.Method != http.MethodPost || !p.serves(r.URL.Path):
		got.Problem = fmt.Errorf("%s %s is not POST %s", r.Method, r.URL.Path, p.path)
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		got.Problem = errors.New("the content type is not application/json")
	default:
		got.Request, got.Problem = p.decode(body, h.Wire == "")
		if got.Request.Model == "" { // it is in the path
			got.Request.Model = p.modelIn(r.URL.Path)
		}
	}
	h.mu.Lock()
	h.received = append(h.received, got)
	h.mu.Unlock()

	switch {
	case h.Key != "" && p.key(r.Header) != h.Key:
		answer(w, http.StatusUnauthorized, nil, p.problem("authentication_error", "invalid key "+p.key(r.Header)))
	case got.Problem != nil:
		answer(w, http.StatusBadRequest, nil, p.problem("invalid_request_error", got.Problem.Error()))
	default:
		h.reply(w, r, p, got.Request)
	}
}

func answer(w http.ResponseWriter, status int, header http.Header, body string) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "<") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	for name, values := range header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

const page = "<!DOCTYPE html>\n<html><body><h1>Service Unavailable</h1></body></html>\n"

func (h *Handler) reply(w http.ResponseWriter, r *http.Request, p protocol, req pawl.ModelRequest) {
	reply := h.Answer(req)
	s := &stream{w: w, r: r, pace: reply.Pace, closing: h.closing}
	fault := reply.Fault
	switch {
	case fault.Kind == FaultStatus:
		body := fault.Body
		if body == "" {
			body = p.problem("overloaded_error", "Overloaded")
		}
		answer(w, fault.Status, fault.Header, body)
		return
	case fault.Kind == FaultHTML && fault.At == AtHeaders:
		answer(w, http.StatusOK, nil, page)
		return
	case fault.Kind != FaultNone && fault.At == AtHeaders:
		s.strike(p, fault)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	s.flush()
	if fault.Kind != FaultNone && fault.At == AtStart {
		s.strike(p, fault)
		return
	}
	for _, e := range p.render(req, reply) {
		if !s.send(e) {
			return
		}
		if fault.Kind != FaultNone && e.reaches(fault.At) {
			s.strike(p, fault)
			return
		}
	}
}

// stream writes one event stream.
type stream struct {
	w       http.ResponseWriter
	r       *http.Request
	pace    time.Duration
	closing chan struct{}
}

// send writes an event; false when nobody reads any more.
func (s *stream) send(e event) bool {
	text := "data: " + e.data + "\n\n"
	if e.name != "" {
		text = "event: " + e.name + "\n" + text
	}
	return s.write(text)
}

func (s *stream) write(text string) bool {
	if s.pace == 0 {
		_, err := io.WriteString(s.w, text)
		s.flush()
		return err == nil
	}
	const drop = 32 // bytes
	for len(text) > 0 {
		n := min(drop, len(text))
		if _, err := io.WriteString(s.w, text[:n]); err != nil {
			return false
		}
		s.flush()
		text = text[n:]
		if !s.wait(time.After(s.pace)) {
			return false
		}
	}
	return true
}

func (s *stream) flush() {
	// A writer that cannot flush delivers everything at the end, which no caller relies on.
	_ = http.NewResponseController(s.w).Flush()
}

// wait waits for c; false when the client or the server ended first.
func (s *stream) wait(c <-chan time.Time) bool {
	select {
	case <-c:
		return true
	case <-s.r.Context().Done():
	case <-s.closing:
	}
	return false
}

// strike does what goes wrong. Nothing follows it.
func (s *stream) strike(p protocol, f Fault) {
	switch f.Kind {
	case FaultCut:
		panic(http.ErrAbortHandler) // closes the connection without an end
	case FaultHang:
		s.wait(nil)
	case FaultGarbage:
		s.send(event{name: "content_block_delta", data: `{"type":"content_block_delta","delta":{"te`})
	case FaultHTML:
		s.write(page)
	case FaultError:
		e := p.errors
		if f.Body != "" {
			e.data = f.Body
		}
		s.send(e)
	}
}

// Server is a Handler behind a real connection.
type Server struct {
	*Handler
	// BaseURL is what an adapter is configured with.
	BaseURL string
	server  *httptest.Server
}

// NewServer starts a server on a free local port.
func NewServer(w Wire, answer func(pawl.ModelRequest) Reply) *Server {
	h := &Handler{Wire: w, Answer: answer, closing: make(chan struct{})}
	s := &Server{Handler: h, server: httptest.NewServer(h)}
	s.BaseURL = s.server.URL
	if w != Anthropic { // its clients add the version themselves
		s.BaseURL += "/v1"
	}
	return s
}

// Close ends replies that hang and stops the server.
func (s *Server) Close() {
	close(s.closing)
	s.server.CloseClientConnections()
	s.server.Close()
}
