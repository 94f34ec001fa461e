// Package answers follows what a provider answers to the model calls of a coding agent, as the gateway
// of the agent's room sees it. Agents tell little of a failed call, each in its own words, and some call
// again without end. So the answer itself says what kind of failure it was, and ends the turn if
// further calls are useless.
package answers

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"pawl"
	"pawl/internal/delegate/exchange"
	"pawl/internal/model/wire"
)

// Bounds of what an agent may do about failures by itself before its turn is ended.
const (
	maxFailures = 6           // of calls in a row
	maxWait     = time.Minute // that a provider asks for
)

// Watch follows the answers during one turn. Its methods may be called concurrently.
type Watch struct {
	Host string // the provider's server, for messages

	mu       sync.Mutex // guards what follows
	end      context.CancelFunc
	last     *pawl.ModelError // how the last call failed; nil if it did not
	failures int              // in a row
	answered bool             // a call succeeded
}

// Answered takes in an answer.
func (w *Watch) Answered(a pawl.GatewayAnswer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case a.Err != nil:
		w.last = wire.Unanswered(a.Err, w.Host)
	case a.Status < http.StatusBadRequest:
		w.last, w.failures, w.answered = nil, 0, true
		return
	default:
		w.last = wire.Answer(a.Status, a.Header, a.Body, "")
	}
	w.failures++
	useless := w.failures >= maxFailures || w.last.Wait > maxWait || w.last.Kind == pawl.ModelQuota || w.last.Kind == pawl.ModelNoServer
	if useless && w.end != nil {
		w.end()
	}
}

// failure returns the error for a turn that ended with an error, given what it used.
func (w *Watch) failure(err error, used pawl.Usage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := errors.AsType[*pawl.ModelError](err); w.last == nil || ok && (e.Kind == pawl.ModelNoSession || e.Kind == pawl.ModelNoStart) {
		return err
	}
	typed := *w.last
	typed.Unsent = typed.Unsent && !w.answered
	return exchange.WithUsage(&typed, used, true)
}

// Agent is an agent whose turns a [Watch] follows.
type Agent struct {
	pawl.Agent
	Watch *Watch
	Done  func() // called after the turn
}

// Turn implements [pawl.Agent].
func (a *Agent) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	within, end := context.WithCancel(ctx)
	defer end()
	defer a.Done()
	a.Watch.mu.Lock()
	a.Watch.end = end
	a.Watch.mu.Unlock()
	reply, err := a.Agent.Turn(within, room, turn, tell)
	if err == nil || ctx.Err() != nil {
		return reply, err
	}
	return reply, a.Watch.failure(err, reply.Usage)
}
