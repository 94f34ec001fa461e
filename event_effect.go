package pawl

import "time"

// The events of effects: what was requested, and what the world said. A runner answers an effect
// with the [Answer] that the effect's comment names, and the kernel appends it as it came, with what
// it decides filled in.

// EffectRequested says that an effect is wanted from now on; its ID is this
// event's number.
type EffectRequested struct {
	Effect Effect `json:"effect"`
}

// EventKind implements [Body].
func (*EffectRequested) EventKind() Kind { return KindEffectRequested }

func (b *EffectRequested) fields(c *coder) {
	sub(c, 1, b.Effect.fields)
}

// EffectFailed answers an effect that gave no fact.
type EffectFailed struct {
	Effect  Seq     `json:"effect"`
	Failure Failure `json:"failure"`
	// Charged is what a failed model call is taken to have cost: what it had used, if that
	// is known, else its reservation, unless it certainly cost nothing.
	Charged       Micros `json:"charged,omitempty"`
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
	// Waited is as in [ModelReplied].
	Waited time.Duration `json:"waited,omitempty"`
	// Transcript is what a coding agent did in a turn that failed, as in [AgentTurned].
	Transcript Hash `json:"transcript,omitzero"`
}

// EventKind implements [Body].
func (*EffectFailed) EventKind() Kind { return KindEffectFailed }

func (b *EffectFailed) fields(c *coder) {
	num(c, 1, &b.Effect)
	sub(c, 2, b.Failure.fields)
	num(c, 3, &b.Charged)
	num(c, 4, &b.ChargedTokens)
	num(c, 5, &b.Waited)
	sum(c, 6, &b.Transcript)
}

// Answers implements [Answer].
func (b *EffectFailed) Answers() Seq { return b.Effect }

// Lost reports that nobody knows what the call that failed has cost, so that it was charged its
// reservation.
func (b *EffectFailed) Lost() bool { return b.Failure.Used == Usage{} }

// EffectLost says that a crash took an effect with it that is not run again
// under its id. A model call is paid for at its reservation.
type EffectLost struct {
	Effect        Seq    `json:"effect"`
	Charged       Micros `json:"charged,omitempty"`
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
}

// EventKind implements [Body].
func (*EffectLost) EventKind() Kind { return KindEffectLost }

func (b *EffectLost) fields(c *coder) {
	num(c, 1, &b.Effect)
	num(c, 2, &b.Charged)
	num(c, 3, &b.ChargedTokens)
}

// EffectWithdrawn says that an effect is not wanted any more.
type EffectWithdrawn struct {
	Effect        Seq    `json:"effect"`
	Reason        string `json:"reason"`
	Charged       Micros `json:"charged,omitempty"` // of a model call: its reservation
	ChargedTokens int64  `json:"charged_tokens,omitempty"`
}

// EventKind implements [Body].
func (*EffectWithdrawn) EventKind() Kind { return KindEffectWithdrawn }

func (b *EffectWithdrawn) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.Reason)
	num(c, 3, &b.Charged)
	num(c, 4, &b.ChargedTokens)
}

// AnswerIgnored records an answer that matched no open request: a duplicate, or
// one that came after the effect was withdrawn or lost. It changes nothing.
type AnswerIgnored struct {
	Effect Seq    `json:"effect"`
	What   string `json:"what"` // the kind of answer
	// Transcript is what a coding agent did in a turn that was withdrawn, as in [AgentTurned].
	Transcript Hash `json:"transcript,omitzero"`
}

// EventKind implements [Body].
func (*AnswerIgnored) EventKind() Kind { return KindAnswerIgnored }

func (b *AnswerIgnored) fields(c *coder) {
	num(c, 1, &b.Effect)
	str(c, 2, &b.What)
	sum(c, 3, &b.Transcript)
}

// WaitEnded answers [Wait].
type WaitEnded struct {
	Effect Seq `json:"effect"`
}

// EventKind implements [Body].
func (*WaitEnded) EventKind() Kind { return KindWaitEnded }

func (b *WaitEnded) fields(c *coder) {
	num(c, 1, &b.Effect)
}

// Answers implements [Answer].
func (b *WaitEnded) Answers() Seq { return b.Effect }

// Answer is an event body that answers an effect.
type Answer interface {
	Body
	// Answers is the effect it answers.
	Answers() Seq
}
