package lines

import (
	"context"
	"encoding/json"
	"strings"

	"pawl"
	"pawl/internal/message"
)

// The answers to the question about a plan.
const (
	approve = "approve"
	reject  = "reject"
	iterate = "iterate"
)

// approve takes the hash of the plan that the client means besides its id. Without one
// it is the plan that was sent last, which the client need not have read yet.
func (s *session) approve(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		one
		About pawl.Hash `json:"about"`
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	at, err := s.decide(ctx, in.ID, approve, "", in.About)
	if err != nil {
		return nil, err
	}
	rs, err := fold(ctx, at.service, at.info.ID)
	if err != nil {
		return nil, err
	}
	return map[string]int{"specs_spawned": rs.ByID(in.ID).Spawned}, nil
}

func (s *session) reject(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		ID     string `json:"id"`
		Reason string `json:"reason"`
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	_, err := s.decide(ctx, in.ID, reject, in.Reason, pawl.Hash{})
	return struct{}{}, err
}

func (s *session) iterate(ctx context.Context, raw json.RawMessage) (any, error) {
	var in struct {
		ID       string `json:"id"`
		Feedback string `json:"feedback"`
	}
	if err := params(raw, &in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Feedback) == "" {
		return nil, fail(codeParams, `want "feedback": what should be different`)
	}
	_, err := s.decide(ctx, in.ID, iterate, in.Feedback, pawl.Hash{})
	return struct{}{}, err
}

// decide answers the question about a plan with what this connection was shown of it,
// or with the hash that the client names itself.
func (s *session) decide(ctx context.Context, id, choice, text string, about pawl.Hash) (found, error) {
	at, err := s.loop(ctx, id)
	if err != nil {
		return at, err
	}
	if err := undecided(at); err != nil {
		return at, err
	}
	if about.IsZero() {
		s.mu.Lock()
		about = s.shown[id]
		s.mu.Unlock()
	}
	if about.IsZero() {
		return at, fail(codeInvalidState, "Plan %s was not shown to this connection: see it with plan.get_preview", id)
	}
	p, err := message.PreviewOf(at.loop, at.blobs)
	if err != nil {
		return at, err
	}
	return at, at.service.Steer(ctx, at.info.ID, pawl.Steering{Verb: pawl.SteerAnswer,
		Answer: &pawl.Reply{Question: p.Question, Choice: choice, Text: text, By: s.id, About: about}})
}

// undecided refuses an answer about what is no plan that waits for one.
func undecided(at found) error {
	l := at.loop
	switch {
	case !l.Plans():
		return fail(codeInvalidState, "Loop %s is not a Plan", l.ID)
	case l.Status != pawl.LoopComplete:
		return fail(codeInvalidState, "Plan %s not in Complete state", l.ID)
	case l.Approval != pawl.ApprovalAwaiting:
		return fail(codeInvalidState, "Plan %s is %s already", l.ID, l.Approval)
	}
	return nil
}

func (s *session) preview(ctx context.Context, raw json.RawMessage) (any, error) {
	at, err := s.one(ctx, raw)
	if err != nil {
		return nil, err
	}
	p, err := message.PreviewOf(at.loop, at.blobs)
	if err != nil {
		return nil, err
	}
	s.show(at.loop.ID, p.About)
	return p, nil
}
