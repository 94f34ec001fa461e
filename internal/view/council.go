package view

import (
	"fmt"

	"pawl"
)

// loopCouncils is the councils that were called for a loop.
type loopCouncils struct {
	Councils []*Council
}

// Council is one that convened.
type Council struct {
	pawl.CouncilCalled
	Seq      pawl.Seq
	After    int                  // the iteration it followed
	Decided  *pawl.CouncilDecided // nil until it has
	Sessions []*Session
}

// applyCouncil folds the events of councils.
func (r *Run) applyCouncil(l *Loop, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.CouncilCalled:
		c := &Council{CouncilCalled: *b, Seq: e.Seq}
		if it := l.last(); it != nil {
			c.After = it.N
		}
		l.Councils = append(l.Councils, c)
	case *pawl.CouncilDecided:
		if n := len(l.Councils); n > 0 {
			l.Councils[n-1].Decided = b
		}
	}
}

func (t teller) tellCouncil() string {
	switch b := t.e.Body.(type) {
	case *pawl.CouncilCalled:
		return fmt.Sprintf("Council: %s convene · Reason: %s", count(b.Members, "member"), b.Reason)
	case *pawl.CouncilDecided:
		if b.Winner == "" {
			return "Council: nobody made a proposal"
		}
		return fmt.Sprintf("Council: proposal %s by %s wins, %d%% sure (%s)", b.Winner, b.Lens, b.Confidence, b.Rounds)
	}
	return ""
}

func (k *Look) lookCouncil(e pawl.Event) {
	if _, ok := e.Body.(*pawl.CouncilCalled); ok {
		k.Tone = ToneWarning
	}
}
