package kernel

import (
	"pawl"
	"pawl/internal/kernel/ladder"
)

// runAssessment scores the complexity: as the user set it, or with the recipe's assessing step.
func (d *draft) runAssessment(l *Loop) {
	bands := l.Kind.Complexity
	if c := d.s.Settings.Complexity; c != nil {
		n := min(max(*c, 0), ladder.MaxScore)
		d.emit(l.Ref, &pawl.ComplexityScored{Score: n, Tier: ladder.TierFor(bands, n), Why: "given by the user"})
		return
	}
	if len(l.sessions) > 0 {
		d.converse(l, l.sessions[0])
		return
	}
	d.startStep(l, l.flow.Find(bands.From), 1)
}

// scoreAssessment scores the result of the assessing session. Without a result it uses the
// recipe's score for an unknown complexity.
func (d *draft) scoreAssessment(l *Loop, r pawl.SessionResult, f pawl.Facts) {
	bands := l.Kind.Complexity
	n, why := bands.Unknown, "the assessment ended with "+string(r)
	if r == pawl.SessionDone && len(f) > 0 {
		n, why = ladder.Score(f)
	}
	d.emit(l.Ref, &pawl.ComplexityScored{Score: n, Tier: ladder.TierFor(bands, n), Why: why})
}
