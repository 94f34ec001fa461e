package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"pawl"
	"pawl/internal/server/field"
)

// Problem is an error as it goes over the wire: problem details (RFC 9457) with
// the code and the hint of a [pawl.Error] as further members. Every answer that is
// no success has one, and so have streams that end with an error.
type Problem struct {
	Title  string    `json:"title"`  // of the status
	Status int       `json:"status"` // the HTTP status, also where it is told within a stream
	Detail string    `json:"detail"` // the error's message
	Code   pawl.Code `json:"code" doc:"invalid: what was given is wrong; not_found; conflict; state: not possible now; consent: the user has to allow it first; folder: it is not there, or in no repository, or in another one; key: a model's provider needs a key that is not there; unavailable; stopped; damaged; internal. Later versions may have more."`
	Hint   string    `json:"hint,omitempty" doc:"what to do next"`
	About  pawl.Hash `json:"about,omitzero" doc:"the hash of what has to be agreed to first, for consent"`
	Field  string    `json:"field,omitempty" doc:"the field of the request that is wrong, such as flags.budget"`
}

const problemType = "application/problem+json"

// problem is the error as it goes over the wire.
func problem(err error) Problem {
	e := public(err)
	status := Status(e.Code)
	if s, ok := errors.AsType[*statusError](err); ok {
		status = s.status
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		status = http.StatusRequestEntityTooLarge
	}
	return Problem{Title: http.StatusText(status), Status: status, Detail: e.Message, Code: e.Code, Hint: e.Hint, About: e.About, Field: e.Field}
}

// statusError is an error that has a status of its own.
type statusError struct {
	err    *pawl.Error
	status int
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

// withStatus gives an error another status than its code's.
func withStatus(status int, e *pawl.Error) error { return &statusError{e, status} }

// body reads a request's body, for which [paced] has set a time.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequest))
	if err != nil {
		w.Header().Set("Connection", "close") // what is left of it is not waited for
		return nil, unreadable(err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // answering may take longer
	return data, nil
}

// parse reads one JSON object and nothing else.
func parse(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		switch _, more := dec.Token(); {
		case more == nil:
			err = errors.New("something follows the JSON object")
		case !errors.Is(more, io.EOF):
			err = more
		}
	}
	if err == nil {
		return nil
	}
	if wrong := field.Wrong(v, data); wrong != nil {
		return wrong
	}
	return unreadable(err)
}

func unreadable(err error) error {
	return pawl.Errorf(pawl.CodeInvalid, "the request: %w", err).
		WithHint("if another version of pawl sent it, use that of the process that has the project")
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that has gone needs no answer
}

func refuse(w http.ResponseWriter, err error) {
	p := problem(err)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// public is the error as others may see it.
func public(err error) *pawl.Error {
	e, ok := errors.AsType[*pawl.Error](err)
	switch {
	case ok:
		return &pawl.Error{Code: e.Code, Message: err.Error(), Hint: e.Hint, About: e.About, Field: e.Field}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &pawl.Error{Code: pawl.CodeUnavailable, Message: "the process that has the project is ending", Hint: "try again"}
	}
	return &pawl.Error{Code: pawl.CodeInternal, Message: err.Error()}
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
	case pawl.CodeConsent:
		return http.StatusForbidden
	case pawl.CodeFolder:
		return http.StatusUnprocessableEntity
	case pawl.CodeUnavailable, pawl.CodeStopped, pawl.CodeKey:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// paced gives everything that is written a time by which it must have been read, and
// the body of a request one by which it must have come, whether it is read or not.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, c: http.NewResponseController(w)}
		if r.ContentLength != 0 {
			_ = p.c.SetReadDeadline(time.Now().Add(BodyTimeout))
		}
		next.ServeHTTP(p, r)
		p.extend() // for what is still to be flushed
	})
}

type pacedWriter struct {
	http.ResponseWriter
	c        *http.ResponseController
	extended time.Time
}

// extend cannot fail where it matters: the connections of a server have deadlines.
// One that was set a moment ago is left as it is.
func (p *pacedWriter) extend() {
	if now := time.Now(); now.Sub(p.extended) > WriteTimeout/50 {
		p.extended = now
		_ = p.c.SetWriteDeadline(now.Add(WriteTimeout))
	}
}

// piece is how much may be written within one deadline: a reader that is only
// slow gets there.
const piece = 64 << 10

func (p *pacedWriter) Write(data []byte) (n int, err error) {
	for {
		p.extend()
		m, err := p.ResponseWriter.Write(data[:min(piece, len(data))])
		n, data = n+m, data[m:]
		if err != nil || len(data) == 0 {
			return n, err
		}
	}
}

// Unwrap lets a [http.ResponseController] reach the connection.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
