package exchange

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl"
	"pawl/internal/model/wire"
)

// Bounds of an exchange.
const (
	waiting  = 64              // lines that wait to be read before the agent waits
	maxTail  = 8 << 10         // bytes of the agent's standard error that are kept
	leave    = 5 * time.Second // for a program to end after its input has ended
	grace    = 3 * time.Second // between TERM and KILL
	forever  = 100 * time.Hour // the turn's own limits end it much earlier
	maxNotes = 20              // lines that are no JSON, or too long, that are told
)

// Program is what runs in the room.
type Program struct {
	Argv []string
	Env  []string // further variables, NAME=value
}

// Ended is how the program ended.
type Ended struct {
	// Capped reports that the turn's limit on money or tokens ended it.
	Capped bool
	Code   int    // its exit code; -1 = a signal ended it
	Errors string // the end of what it printed on standard error
}

// signsOfLogin are words of agents that have no credentials, or wrong ones. They are lower case.
var signsOfLogin = []string{"log in", "login", "logged in", "sign in", "api key", "api_key", "credential", "authenticat", "unauthorized"}

// Failure types why a program ended before it had done what it should.
func (e Ended) Failure(program string) *pawl.ModelError {
	if e.Errors == "" {
		return &pawl.ModelError{Kind: pawl.ModelNetwork, Message: fmt.Sprintf("%s ended too early, with exit code %d", program, e.Code)}
	}
	told := wire.Told(0, e.Errors)
	text := strings.ToLower(e.Errors)
	switch {
	case told.Kind != pawl.ModelOverloaded: // which is what nobody has heard of
	case slices.ContainsFunc(signsOfLogin, func(sign string) bool { return strings.Contains(text, sign) }):
		told.Kind, told.Unsent = pawl.ModelAuth, true
	default:
		told.Kind = pawl.ModelNetwork
	}
	return told
}

// WithUsage adds to a failure of a turn what that had used until then. Estimated reports that the
// agent did not tell all of it.
func WithUsage(err error, used pawl.Usage, estimated bool) error {
	if e, ok := errors.AsType[*pawl.ModelError](err); ok && !e.Unsent {
		e.Used, e.Estimated = used, estimated
	}
	return err
}

// Exchange is a conversation with a program. Line must be called from one goroutine at a time; the
// other methods may be called from any.
type Exchange struct {
	ctx    context.Context
	tell   func(pawl.AgentUpdate)
	watch  *watch
	lines  chan []byte
	over   chan struct{} // closed when speak has returned
	input  *io.PipeWriter
	noted  atomic.Int32
	sendMu sync.Mutex // held while a line is sent
	tellMu sync.Mutex // held while an update is told
	silent bool       // nothing is told any more; guarded by tellMu
}

// Run runs a program in a room and calls speak, which converses with it. When speak has returned
// the program's input ends; it is given a few seconds to end by itself, and no process of it is
// left when Run returns. The context of the exchange ends when a limit is reached.
//
// The error is the first that says why: that of a limit on silence, a *[pawl.ModelError], the
// context's, or that of speak. A program that is not there is a ModelError too. A limit on money
// or tokens is no error.
func Run(ctx context.Context, room pawl.Room, p Program, limits pawl.AgentLimits, tell func(pawl.AgentUpdate), speak func(*Exchange) error) (Ended, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read, write := io.Pipe()
	x := &Exchange{ctx: ctx, tell: tell, watch: newWatch(limits, cancel), lines: make(chan []byte, waiting), over: make(chan struct{}), input: write}
	defer x.watch.stop()
	split := &splitter{line: x.receive, long: x.tooLong}
	program, quit := context.WithCancel(ctx)
	defer quit()
	ended := make(chan end, 1)
	go func() {
		result, err := room.Run(program, pawl.Command{
			Argv: p.Argv, Env: p.Env, Timeout: forever, Grace: grace, Keep: maxTail, Input: read, Stdout: split,
		})
		split.close()
		close(x.lines)
		ended <- end{result: result, err: err}
	}()
	err := speak(x)
	x.finish()
	timer := time.NewTimer(leave)
	defer timer.Stop()
	var e end
	select {
	case e = <-ended:
	case <-ctx.Done():
		quit()
		e = <-ended
		e.ended = true
	case <-timer.C:
		quit()
		e = <-ended
		e.ended = true
	}
	return x.outcome(outer, e, err, p.Argv[0])
}

// end is how a program ended.
type end struct {
	result pawl.CommandResult
	err    error
	ended  bool // by us
}

// finish ends what can be said and heard, and lets the program end.
func (x *Exchange) finish() {
	x.tellMu.Lock()
	x.silent = true
	x.tellMu.Unlock()
	close(x.over)
	x.EndInput()
	go x.discard()
}

// outcome decides what an exchange comes to.
func (x *Exchange) outcome(outer context.Context, e end, spoke error, program string) (Ended, error) {
	out := Ended{Code: e.result.ExitCode, Errors: string(bytes.TrimSpace(e.result.Output))}
	cause := context.Cause(x.ctx)
	limit, isLimit := errors.AsType[*pawl.ModelError](cause)
	switch {
	case outer.Err() != nil:
		return out, outer.Err()
	case errors.Is(cause, errCapped):
		out.Capped = true
		return out, nil
	case isLimit:
		return out, limit
	case e.result.Missing && spoke != nil:
		return out, &pawl.ModelError{Kind: pawl.ModelNoServer, Unsent: true, Message: fmt.Sprintf("%s is not there in the room", program)}
	case spoke != nil:
		return out, spoke
	case e.err != nil && !e.ended:
		return out, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: e.err.Error()}
	}
	return out, nil
}

// receive takes a line of the program's. It waits while others wait to be read.
func (x *Exchange) receive(line []byte) {
	x.watch.heard()
	select {
	case x.lines <- line:
	case <-x.ctx.Done():
	}
}

func (x *Exchange) tooLong(size int) {
	x.watch.heard()
	x.note(fmt.Sprintf("a line of %d bytes was left out", size))
}

// note tells of something odd. After a number of such notes no more are told.
func (x *Exchange) note(text string) {
	if x.noted.Add(1) <= maxNotes {
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: text})
	}
}

// discard reads what nobody wants, so that the program is not kept from ending.
func (x *Exchange) discard() {
	for range x.lines {
	}
}

// Line returns the program's next line that is a JSON object; false when there are no more, or when
// the exchange is over.
func (x *Exchange) Line() (json.RawMessage, bool) {
	for {
		select {
		case <-x.over: // also if there is more
			return nil, false
		default:
		}
		select {
		case line, ok := <-x.lines:
			switch {
			case !ok:
				return nil, false
			case line[0] == '{' && json.Valid(line):
				return line, true
			}
			x.note("it printed: " + string(line[:min(len(line), 200)]))
		case <-x.over:
			return nil, false
		case <-x.ctx.Done():
			return nil, false
		}
	}
}

// Send sends one message.
func (x *Exchange) Send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("say something to the agent: %w", err)
	}
	return x.Say(string(line) + "\n")
}

// Say writes a text to the program's standard input as it is.
func (x *Exchange) Say(text string) error {
	x.sendMu.Lock()
	defer x.sendMu.Unlock()
	if _, err := io.WriteString(x.input, text); err != nil {
		return fmt.Errorf("say something to the agent: %w", cmp.Or(context.Cause(x.ctx), err))
	}
	return nil
}

// EndInput ends the program's standard input.
func (x *Exchange) EndInput() { _ = x.input.Close() } // which has no error

// Tell passes an update on.
func (x *Exchange) Tell(u pawl.AgentUpdate) {
	x.watch.saw(&u)
	x.tellMu.Lock()
	defer x.tellMu.Unlock()
	if !x.silent {
		x.tell(u)
	}
}

// Done is closed when the exchange is over.
func (x *Exchange) Done() <-chan struct{} { return x.ctx.Done() }
