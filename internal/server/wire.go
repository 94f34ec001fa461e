package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"pawl"
)

// read reads a request's body, one JSON object and nothing else.
func read(w http.ResponseWriter, r *http.Request, v any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxRequest))
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
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "the request: %w", err).
			WithHint("if another version of pawl sent it, use that of the process that has the project")
	}
	return nil
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		e := public(err)
		status := Status(e.Code)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, e)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a reader that has gone needs no answer
}

func refuse(w http.ResponseWriter, status int, e *pawl.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e)
}

// public is the error as it goes over the wire.
func public(err error) *pawl.Error {
	e, ok := errors.AsType[*pawl.Error](err)
	switch {
	case ok:
		return &pawl.Error{Code: e.Code, Message: err.Error(), Hint: e.Hint}
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
	case pawl.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// paced gives everything that is written a time by which it must have been read.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{w, http.NewResponseController(w)}
		next.ServeHTTP(p, r)
		p.extend() // for what is still to be flushed
	})
}

type pacedWriter struct {
	http.ResponseWriter
	c *http.ResponseController
}

// extend cannot fail where it matters: the connections of a server have deadlines.
func (p *pacedWriter) extend() { _ = p.c.SetWriteDeadline(time.Now().Add(WriteTimeout)) }

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
