package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/model/wire"
)

// Script is a model that answers from a file. It is safe for concurrent use.
type Script struct {
	name    string
	answers []answer

	mu     sync.Mutex
	failed map[dispatch]int // errors given by answers that limit them
}

var _ pawl.Model = (*Script)(nil)

// answer is one thing the model says.
type answer struct {
	line    int // in the file
	when    when
	say     string
	calls   []toolCall
	stop    pawl.StopReason
	usage   *pawl.Usage
	delay   time.Duration
	failure *pawl.ModelError
	times   int // how many dispatches fail; zero means all
}

type toolCall struct {
	tool string
	args json.RawMessage
}

// dispatch is an answer to a turn, however often it is asked for.
type dispatch struct {
	answer int
	place  pawl.Place
	turn   int
}

// Call answers from the request alone; see the package comment. A request that
// no answer fits is a [pawl.ModelBadRequest] that says where it stands.
func (s *Script) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	if err := ctx.Err(); err != nil {
		return pawl.ModelReply{}, err
	}
	at := newScene(req)
	a, fails := s.find(at)
	if a == nil {
		message := fmt.Sprintf("%s has no answer for %s; %s", s.name, at, nearest(s.answers, at))
		return pawl.ModelReply{}, &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: wire.Clean(message, "")}
	}
	if err := pause(ctx, a.delay); err != nil {
		return pawl.ModelReply{}, err
	}
	if fails {
		failure := *a.failure
		return pawl.ModelReply{}, &failure
	}
	if sink != nil {
		a.stream(sink)
	}
	return a.reply(req, at), nil
}

// find returns the answer to a scene, nil when none fits, and whether it fails
// this time. An interrupted turn is first offered to the answers that ask for it.
func (s *Script) find(at scene) (a *answer, fails bool) {
	if at.interrupted {
		asked := at
		asked.last = lastInterrupted
		a, fails = s.first(asked, func(a *answer) bool { return len(a.when.Last) > 0 })
	}
	if a == nil {
		a, fails = s.first(at, func(*answer) bool { return true })
	}
	return a, fails
}

func (s *Script) first(at scene, eligible func(*answer) bool) (*answer, bool) {
	for i := range s.answers {
		a := &s.answers[i]
		if !eligible(a) || len(a.when.differs(at)) > 0 {
			continue
		}
		if a.failure == nil {
			return a, false
		}
		if a.times == 0 || s.failsAgain(dispatch{i, at.place, at.turn}, a.times) {
			return a, true
		}
		if a.say != "" || len(a.calls) > 0 {
			return a, false
		}
	}
	return nil, false
}

// failsAgain counts one more error of a dispatch, unless it had all of its own.
func (s *Script) failsAgain(d dispatch, times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed[d] >= times {
		return false
	}
	s.failed[d]++
	return true
}

// stream shows the answer as a model would: the text in lines, then the calls.
func (a *answer) stream(sink func(pawl.ModelDelta)) {
	for line := range strings.SplitAfterSeq(a.say, "\n") {
		if line != "" {
			sink(pawl.ModelDelta{Text: line})
		}
	}
	for _, c := range a.calls {
		sink(pawl.ModelDelta{Tool: c.tool})
	}
}

// reply is the answer. Its calls' ids name the reply's place in the whole
// transcript, so that an answer that is repeated gets new ones.
func (a *answer) reply(req pawl.ModelRequest, at scene) pawl.ModelReply {
	message := pawl.Message{Role: pawl.RoleAssistant}
	if a.say != "" {
		message.Blocks = append(message.Blocks, pawl.Block{Kind: pawl.BlockText, Text: a.say})
	}
	for i, c := range a.calls {
		message.Blocks = append(message.Blocks, pawl.Block{
			Kind:   pawl.BlockToolUse,
			CallID: fmt.Sprintf("call-%d-%d", at.replies+1, i+1),
			Tool:   c.tool,
			Args:   c.args,
		})
	}
	reply := pawl.ModelReply{Message: message, Stop: a.stop, Model: req.Model}
	if reply.Stop == "" {
		reply.Stop = wire.Stop(pawl.StopEnd, message.Blocks)
	}
	if a.usage != nil {
		reply.Usage = *a.usage
	} else {
		reply.Usage = wire.Estimate(req, message)
	}
	return reply
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
