// Package lines speaks Loopr's protocol on a connection: one JSON object a line, a
// request with an id, a method and params, an answer with the id and a result or an
// error, and pushed events that have no id.
//
//	→ {"id":1,"method":"connect","params":{"version":"1","dir":"/home/ada/shop"}}
//	← {"id":1,"result":{"session_id":"…","state":{"loops":[…],"plans":[…]}}}
//	← {"event":"plan.awaiting_approval","data":{"id":"…","content":"…","specs":[…]}}
//	→ {"id":2,"method":"plan.approve","params":{"id":"…"}}
//	← {"id":2,"result":{"specs_spawned":3}}
//
// It is a thin adapter: every method is a call of a [pawl.Service], every event a
// message of a [message.Feed]. An answer about a plan is bound to what this connection
// was shown last: who has not seen a plan cannot approve it.
package lines

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"pawl"
	"pawl/internal/message"
)

// Limits of a connection.
const (
	// MaxLine is how long a request may be, in bytes.
	MaxLine = 1 << 20
	// WriteTimeout is how long a line may stay unread before the connection is closed.
	WriteTimeout = 5 * time.Second
)

// The codes of errors.
const (
	codeParse        = -32700
	codeRequest      = -32600
	codeMethod       = -32601
	codeParams       = -32602
	codeInternal     = -32603
	codeNotFound     = 1001
	codeInvalidState = 1002
	codeUnauthorized = 1003
	codeFolder       = 1004 // a folder is not there, or in no repository
	codeKey          = 1005 // a model's provider needs a key that is not there
	codeVersion      = 1006 // nobody here speaks the version of the protocol
)

// versions are those of the protocol that are spoken.
var versions = []string{"1"}

// Config is what connections are served with.
type Config struct {
	Projects pawl.Projects
	Feed     *message.Feed
	// PlanRecipe is the name of the recipe of what loop.create_plan begins, unless the request
	// names another one.
	PlanRecipe string
	// Types are types of loops that exist whatever has run so far. Those of the recipes of runs exist, too.
	Types []string
	// Equip returns a context with variables, "NAME=value", that a client has handed over for a run that it starts
	// or resumes, such as the keys of providers. Nil takes none.
	Equip   func(ctx context.Context, environ []string) context.Context
	Version string
}

// Serve speaks on a connection until it is closed or ctx ends, and closes it.
func Serve(ctx context.Context, conn net.Conn, c Config) {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{c: c, conn: conn, shown: map[string]pawl.Hash{}, cancel: cancel}
	defer conn.Close()
	context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }) // whoever waits for a request stops
	s.read(ctx)
	cancel()
	s.wg.Wait()
}

// session is one connection.
type session struct {
	c      Config
	conn   net.Conn
	cancel context.CancelFunc
	wg     sync.WaitGroup

	id  string // empty = it has not connected
	dir string // the repository that new plans are for
	// project is the one it is about; empty = all.
	project string
	// environ is what the client has handed over for the runs that it starts and resumes; nil = nothing.
	environ []string

	writing sync.Mutex // one line at a time
	mu      sync.Mutex // guards shown: pushed events come from another goroutine
	shown   map[string]pawl.Hash
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result,omitempty"`
	Error  *failure        `json:"error,omitempty"`
}

// failure is an error as it is sent.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// more is what else there is to say of an error.
type more struct {
	Hint  string `json:"hint,omitempty"`
	Field string `json:"field,omitempty"` // of the params, which is wrong
	// Versions are those of the protocol that are known, where another one was wanted.
	Versions []string `json:"versions,omitempty"`
}

func (f *failure) Error() string { return f.Message }

func fail(code int, format string, args ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

// failureOf is an error in the protocol's codes.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	f := &failure{Code: codeInternal, Message: err.Error()}
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		if e.Hint != "" || e.Field != "" {
			f.Data = more{Hint: e.Hint, Field: e.Field}
		}
		switch e.Code {
		case pawl.CodeNotFound:
			f.Code = codeNotFound
		case pawl.CodeState, pawl.CodeConflict, pawl.CodeConsent:
			f.Code = codeInvalidState
		case pawl.CodeInvalid:
			f.Code = codeParams
		case pawl.CodeFolder:
			f.Code = codeFolder
		case pawl.CodeKey:
			f.Code = codeKey
		}
	}
	return f
}

// read answers requests, one after the other.
func (s *session) read(ctx context.Context) {
	in := bufio.NewReaderSize(s.conn, 4096)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, errLong):
			s.send(response{ID: null, Error: fail(codeRequest, "a request has more than %d bytes", MaxLine)})
			return
		case err != nil:
			return
		case len(line) == 0:
			continue
		}
		answer, last := s.answer(ctx, line)
		if s.send(answer); last {
			return
		}
	}
}

var (
	null    = json.RawMessage("null")
	errLong = errors.New("a line is too long")
)

// readLine is the next line without its end. A last line without one counts.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > MaxLine {
			return nil, errLong
		}
		line = append(line, part...)
		switch {
		case err == nil || errors.Is(err, io.EOF) && len(line) > 0:
			return trim(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func trim(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}

// answer obeys one request. last reports that the client wants no more.
func (s *session) answer(ctx context.Context, line []byte) (r response, last bool) {
	var req request
	if err := json.Unmarshal(line, &req); err != nil {
		code := codeRequest // it is JSON, but no request
		if !json.Valid(line) {
			code = codeParse
		}
		return response{ID: null, Error: fail(code, "the request cannot be read: %v", err)}, false
	}
	if len(req.ID) == 0 || string(req.ID) == "null" || req.ID[0] == '{' || req.ID[0] == '[' || req.Method == "" {
		return response{ID: null, Error: fail(codeRequest, `a request has an "id", a "method" and "params"`)}, false
	}
	result, err := s.call(ctx, req)
	if err != nil {
		return response{ID: req.ID, Error: failureOf(err)}, false
	}
	return response{ID: req.ID, Result: result}, req.Method == "disconnect"
}

// send writes a line. A client that does not read it in time is left.
func (s *session) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		line = fmt.Appendf(nil, `{"id":null,"error":{"code":%d,"message":"an answer cannot be encoded"}}`, codeInternal)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(WriteTimeout))
	if _, err := s.conn.Write(append(line, '\n')); err != nil {
		s.cancel()
	}
}
