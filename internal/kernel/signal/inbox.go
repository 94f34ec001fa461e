// Package signal holds the signals that people and other loops sent to a loop, until the loop has
// acknowledged them.
package signal

import (
	"cmp"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Inbox holds the signals that were sent to a loop. The zero value is an empty inbox.
type Inbox struct {
	Signals []Signal // not acknowledged yet
	Infos   []info   // texts for its next prompts, oldest first
	Held    bool     // a signal holds it: it begins nothing

	turn   pawl.Seq // the last turn of a coding agent that an info was sent to
	handed int      // how many infos were sent to that turn
}

// Signal is a signal that a loop has not acknowledged.
type Signal struct {
	N       int
	Kind    pawl.SignalKind
	Source  pawl.LoopRef // 0 = a person
	Reason  string       // at most maxSignalReason bytes
	Payload pawl.Hash
}

// Bounds of an inbox, so that the loop's state and its prompts stay small.
const (
	maxSignalReason = 120  // bytes of a reason that the state keeps
	maxInfo         = 1000 // bytes of an info
	maxInfos        = 3    // infos that an inbox keeps: the last ones
)

// MaxUnseen bounds the signals of persons that a loop has not acknowledged.
const MaxUnseen = 4

// info is a text for the next prompt.
type info struct {
	text pawl.Hash
	told bool // a prompt of this iteration contained it, or an agent heard it
	// turn is the turn of a coding agent that it was sent to, and nth which of that turn's infos it is,
	// from 1; zero = none.
	turn pawl.Seq
	nth  int
}

// Unseen returns the first signal of these kinds that was not acknowledged, or nil.
func (in *Inbox) Unseen(kinds ...pawl.SignalKind) *Signal {
	for i := range in.Signals {
		if slices.Contains(kinds, in.Signals[i].Kind) {
			return &in.Signals[i]
		}
	}
	return nil
}

// Ended returns the first signal by which a loop above ends this one, or nil.
func (in *Inbox) Ended() *Signal {
	for i := range in.Signals {
		if g := &in.Signals[i]; g.Ends() {
			return g
		}
	}
	return nil
}

// Ends reports whether a loop above ends this one by the signal.
func (g *Signal) Ends() bool {
	return g.Kind == pawl.SignalInvalidate || g.Kind == pawl.SignalStop && g.Source != 0
}

// Take adds a signal, which stays until it is acknowledged. The text of an info stays until a
// prompt has contained it, but only the last infos are kept.
func (in *Inbox) Take(b *pawl.SignalSent) *Signal {
	g := Signal{N: b.N, Kind: b.Signal, Source: b.Source}
	switch b.Signal {
	case pawl.SignalStop:
		g.Reason = brief.Cut(b.Reason, maxSignalReason)
		if b.Source == 0 {
			g.Reason = brief.Cut(strings.TrimSuffix("cancelled by "+cmp.Or(b.By, "a person")+": "+b.Reason, ": "), maxSignalReason)
		}
	case pawl.SignalInvalidate:
		g.Reason = brief.Cut(b.Reason, maxSignalReason)
	case pawl.SignalInfo:
		i := info{text: b.Payload, turn: b.Turn}
		if b.Turn != 0 {
			if b.Turn != in.turn {
				in.turn, in.handed = b.Turn, 0
			}
			in.handed++
			i.nth = in.handed
		}
		in.Infos = append(slices.Clone(in.Infos[max(0, len(in.Infos)-maxInfos+1):]), i)
	case pawl.SignalError:
		g.Payload = b.Payload
	}
	in.Signals = append(slices.Clone(in.Signals), g)
	return &in.Signals[len(in.Signals)-1]
}

// See removes the acknowledged signal with this number and returns it, or nil if there is none.
func (in *Inbox) See(n int) *Signal {
	i := slices.IndexFunc(in.Signals, func(g Signal) bool { return g.N == n })
	if i < 0 {
		return nil
	}
	g := in.Signals[i]
	in.Signals = slices.Delete(slices.Clone(in.Signals), i, i+1)
	if len(in.Signals) == 0 {
		in.Signals = nil
	}
	return &g
}

// Check returns an error for a signal that a person cannot send.
func Check(g *pawl.Signaling) error {
	switch {
	case g == nil:
		return pawl.Errorf(pawl.CodeInvalid, "no signal given")
	case g.Signal == pawl.SignalError || g.Signal == pawl.SignalInvalidate:
		return pawl.Errorf(pawl.CodeInvalid, "the signal %s is between loops only: want stop, pause, resume, rebase or info", g.Signal)
	case !slices.Contains([]pawl.SignalKind{pawl.SignalStop, pawl.SignalPause, pawl.SignalResume, pawl.SignalRebase, pawl.SignalInfo}, g.Signal):
		return pawl.Errorf(pawl.CodeInvalid, "unknown signal %q: want stop, pause, resume, rebase or info", g.Signal)
	case g.Signal == pawl.SignalInfo && (strings.TrimSpace(g.Text) == "" || len(g.Text) > maxInfo):
		return pawl.Errorf(pawl.CodeInvalid, "an info of %d bytes: want a text of 1 to %d", len(g.Text), maxInfo)
	}
	return nil
}

// Hints returns the infos that people sent, as feedback for a prompt.
func (in *Inbox) Hints() (out []pawl.Feedback) {
	for _, i := range in.Infos {
		out = append(out, pawl.Feedback{From: "a person", Verdict: pawl.VerdictRevise, Evidence: i.text})
	}
	return out
}

// Tell records that a prompt contains the infos.
func (in *Inbox) Tell() {
	in.Infos = slices.Clone(in.Infos)
	for i := range in.Infos {
		in.Infos[i].told = true
	}
}

// Hear records that a coding agent has received the first n infos that were sent to its turn.
func (in *Inbox) Hear(turn pawl.Seq, n int) {
	in.Infos = slices.Clone(in.Infos)
	for i := range in.Infos {
		x := &in.Infos[i]
		x.told = x.told || x.turn == turn && x.nth <= n
	}
}

// ForgetTold removes the infos that a prompt contained, or that an agent heard.
func (in *Inbox) ForgetTold() {
	in.Infos = slices.DeleteFunc(slices.Clone(in.Infos), func(i info) bool { return i.told })
}
