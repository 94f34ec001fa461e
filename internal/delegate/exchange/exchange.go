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
	waiting  = 64              // lines that are buffered before the agent has to wait
	maxTail  = 8 << 10         // bytes of the agent's standard error that are kept
	leave    = 5 * time.Second // from the end of the input until the program is ended
	grace    = 3 * time.Second // between TERM and KILL
	forever  = 100 * time.Hour // the limits of the turn end it much earlier
	maxNotes = 20              // notes about lines that are not JSON, or too long
)

// Program is a program to run in a room.
type Program struct {
	Argv []string
	Env  []string // further variables, NAME=value
}

// Ended describes how a program ended.
type Ended struct {
	// Capped reports whether the program was ended because of the limit on money or tokens.
	Capped bool
	Code   int    // the exit code; -1 if a signal ended the program
	Errors string // the end of its standard error
	// Silent reports that the program ended by itself and has not printed a line.
	Silent bool
}

// signsOfLogin are phrases, in lower case, that agents print if they have no valid credentials.
var signsOfLogin = []string{"log in", "login", "logged in", "sign in", "api key", "api_key", "credential", "authenticat", "unauthorized"}

// Failure returns the error for a program that ended before its turn was over. One that ended before it said
// anything, as it does when it does not know one of its options, would do so again.
func (e Ended) Failure(program string) *pawl.ModelError {
	starts := !e.Silent || e.Code < 0
	if e.Errors == "" && !starts {
		return e.noStart(program, fmt.Sprintf("it ended with exit code %d and no word", e.Code))
	}
	if e.Errors == "" {
		return &pawl.ModelError{Kind: pawl.ModelNetwork, Message: fmt.Sprintf("%s ended too early, with exit code %d", program, e.Code)}
	}
	told := wire.Told(0, e.Errors)
	text := strings.ToLower(e.Errors)
	switch {
	case told.Kind != pawl.ModelOverloaded: // the kind of unknown problems
	case slices.ContainsFunc(signsOfLogin, func(sign string) bool { return strings.Contains(text, sign) }):
		told.Kind, told.Unsent = pawl.ModelAuth, true
	case !starts:
		return e.noStart(program, told.Message)
	default:
		told.Kind = pawl.ModelNetwork
	}
	return told
}

// noStart returns the error for a program that does not start.
func (e Ended) noStart(program, why string) *pawl.ModelError {
	return &pawl.ModelError{Kind: pawl.ModelNoStart, Message: program + ": " + why,
		Fix: "start " + program + " by hand, and look at its command and args in your settings (delegates)"}
}

// WithUsage adds to a [pawl.ModelError] what the failed turn has used. Estimated says that it may have
// used more. WithUsage returns other errors, and those of turns that cost nothing, unchanged.
func WithUsage(err error, used pawl.Usage, estimated bool) error {
	if e, ok := errors.AsType[*pawl.ModelError](err); ok && !e.Unsent {
		e.Used, e.Estimated = used, estimated
	}
	return err
}

// Exchange is a conversation with a program. Its methods may be called concurrently, except Line.
type Exchange struct {
	ctx    context.Context
	tell   func(pawl.AgentUpdate)
	watch  *watch
	lines  chan received
	over   chan struct{} // closed after speak has returned
	input  *io.PipeWriter
	noted  atomic.Int32
	sendMu sync.Mutex // held while a line is sent
	tellMu sync.Mutex // held while an update is told
	silent bool       // no more updates are passed on; guarded by tellMu
}

// Run runs a program in a room and calls speak, which exchanges messages with it. When speak returns,
// Run closes the program's standard input, gives the program a few seconds to end, and then ends it.
// No process of it is left when Run returns, and tell is no longer called.
//
// The error is that of ctx, if it has ended; a *[pawl.ModelError], if the program was silent for too
// long or does not exist; or that of speak. Reaching the limit on money or tokens is not an error.
func Run(ctx context.Context, room pawl.Room, p Program, limits pawl.AgentLimits, tell func(pawl.AgentUpdate), speak func(*Exchange) error) (Ended, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	read, write := io.Pipe()
	x := &Exchange{ctx: ctx, tell: tell, watch: newWatch(limits, cancel), lines: make(chan received, waiting), over: make(chan struct{}), input: write}
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
	ended  bool // Run ended it
}

// finish stops updates and lines, and closes the program's input.
func (x *Exchange) finish() {
	x.tellMu.Lock()
	x.silent = true
	x.tellMu.Unlock()
	close(x.over)
	x.EndInput()
	go x.discard()
}

// outcome returns the result of Run.
func (x *Exchange) outcome(outer context.Context, e end, spoke error, program string) (Ended, error) {
	out := Ended{Code: e.result.ExitCode, Errors: string(bytes.TrimSpace(e.result.Output)), Silent: !e.ended && x.watch.isSilent()}
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
		return out, &pawl.ModelError{Kind: pawl.ModelNoStart, Unsent: true, Message: fmt.Sprintf("there is no program %s in the room", program)}
	case spoke != nil:
		return out, spoke
	case e.err != nil && !e.ended:
		return out, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: e.err.Error()}
	}
	return out, nil
}

// received is a line of output, or the size of one that was too long.
type received struct {
	line    []byte
	tooLong int // bytes
}

// receive buffers a line. It blocks while the buffer is full.
func (x *Exchange) receive(line []byte) { x.buffer(received{line: line}) }

func (x *Exchange) tooLong(size int) { x.buffer(received{tooLong: size}) }

func (x *Exchange) buffer(r received) {
	x.watch.heard()
	select {
	case x.lines <- r:
	case <-x.ctx.Done():
	}
}

// note sends a note about unexpected output, up to maxNotes times.
func (x *Exchange) note(text string) {
	if x.noted.Add(1) <= maxNotes {
		x.Tell(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: text})
	}
}

// discard reads the remaining lines, so that the program does not block on its output.
func (x *Exchange) discard() {
	for range x.lines {
	}
}

// Line returns the program's next line that is a JSON object. It returns false if there is none, or if
// the exchange is over.
func (x *Exchange) Line() (json.RawMessage, bool) {
	for {
		select {
		case <-x.over: // even if lines are buffered
			return nil, false
		default:
		}
		select {
		case r, ok := <-x.lines:
			switch {
			case !ok:
				return nil, false
			case r.tooLong > 0:
				x.note(fmt.Sprintf("a line of %d bytes was left out", r.tooLong))
			case r.line[0] == '{' && json.Valid(r.line):
				return r.line, true
			default:
				x.note("it printed: " + string(r.line[:min(len(r.line), 200)]))
			}
		case <-x.over:
			return nil, false
		case <-x.ctx.Done():
			return nil, false
		}
	}
}

// Send writes a message as a line of JSON.
func (x *Exchange) Send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("write to the agent: %w", err)
	}
	return x.Say(string(line) + "\n")
}

// Say writes text to the program's standard input.
func (x *Exchange) Say(text string) error {
	x.sendMu.Lock()
	defer x.sendMu.Unlock()
	if _, err := io.WriteString(x.input, text); err != nil {
		return fmt.Errorf("write to the agent: %w", cmp.Or(context.Cause(x.ctx), err))
	}
	return nil
}

// EndInput closes the program's standard input.
func (x *Exchange) EndInput() { _ = x.input.Close() } // it never fails

// Tell passes an update to the caller of Run. It does nothing after speak has returned.
func (x *Exchange) Tell(u pawl.AgentUpdate) {
	x.watch.saw(&u)
	x.tellMu.Lock()
	defer x.tellMu.Unlock()
	if !x.silent {
		x.tell(u)
	}
}

// Done is closed when a limit is reached, the context ends, or Run returns.
func (x *Exchange) Done() <-chan struct{} { return x.ctx.Done() }
