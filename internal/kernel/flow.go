package kernel

import (
	"slices"

	"pawl"
	"pawl/internal/kernel/flow"
)

// stepsLeft reports whether any of flow.Steps[from:to] has yet to run. The first done of them are
// over.
func (l *Loop) stepsLeft(from, to, done int) bool {
	for i := from + done; i < to; i++ {
		if !l.skips(l.flow.Steps[i].When) && !l.hasNoEntries(i) {
			return true
		}
	}
	return false
}

// endAround records that a step before or after a batch has ended. A step that left no result does
// not stop the batch: earlier results stay in force.
func (l *Loop) endAround(step int) {
	if step >= l.flow.Before {
		l.gen.afterDone = step + 1 - l.flow.Before
	} else {
		l.gen.beforeDone = step + 1 - l.flow.Main
	}
}

// beginAround resets the steps around a batch: none of them has run.
func (l *Loop) beginAround() {
	l.gen.beforeDone, l.gen.afterDone, l.gen.childLists, l.iter.unclear = 0, 0, nil, nil
	l.iter.questionRoundsByStep = slices.DeleteFunc(slices.Clone(l.iter.questionRoundsByStep), func(r route) bool { return l.flow.AroundBatch(r.step) })
	l.clearItems()
}

// flow returns the flow of a loop kind, or nil if the recipe does not have the kind.
func (s *State) flow(k *pawl.LoopKind) *flow.Flow {
	for i := range s.Recipe.Kinds {
		if &s.Recipe.Kinds[i] == k {
			return s.flows[i]
		}
	}
	return nil
}

// moveToStep moves the loop to a step, in the first round of its group, or to the next step that
// runs.
func (l *Loop) moveToStep(i int) {
	l.iter.Cursor, l.iter.unclear = flow.Cursor{Step: i, Try: 1}, nil
	l.clearItems()
	l.skipSteps()
}

// skipSteps moves to the next step that runs in this iteration. If none is left, the work is
// committed.
func (l *Loop) skipSteps() {
	if l.iter.Forward(l.flow, l.runs, l.skips) {
		l.Phase = PhaseCommit
	}
}

// runs reports whether a step runs in this iteration.
func (l *Loop) runs(i int) bool {
	st := l.flow.Steps[i]
	switch {
	case l.isAssessingStep(i), st.First && l.Iteration > 1, l.skips(st.When), l.hasNoEntries(i):
		return false
	}
	return !(l.isGiven() && l.Kind.Children != nil && l.Kind.Children.From == st.Name)
}

// passStep moves past a step that is done. If the last decision is one that ends the step's group,
// it leaves the group.
func (l *Loop) passStep() {
	g := l.flow.Group(l.iter.Step)
	if g != nil && slices.Contains(g.Repeat.Until, l.left.Decision) {
		l.moveToStep(g.To)
		return
	}
	l.iter.Step, l.iter.Try = l.iter.Step+1, 1
	l.skipSteps()
}

// skips reports whether a condition does not hold now. A nil condition always holds.
func (l *Loop) skips(w *pawl.When) bool {
	return w != nil && (len(w.Tier) > 0 && !slices.Contains(w.Tier, l.Tier) ||
		w.Scaffold != nil && *w.Scaffold != l.task.Scaffold ||
		len(w.Verification) > 0 && !slices.Contains(w.Verification, max(l.task.Verify, 1)) ||
		len(w.Output) > 0 && !slices.ContainsFunc(l.left.Outputs, func(in pawl.Input) bool { return slices.Contains(w.Output, in.Name) }) ||
		w.Criteria != nil && *w.Criteria != l.flow.Criteria ||
		len(w.Decision) > 0 && !slices.Contains(w.Decision, l.left.Decision))
}

// stage returns the gate stage at a position: the kind's gates come first, then its final gates.
func (l *Loop) stage(i int) *pawl.Stage {
	if n := len(l.Kind.Gates); i >= n {
		return &l.Kind.FinalGates[i-n]
	}
	return &l.Kind.Gates[i]
}

func (l *Loop) stages() int { return len(l.Kind.Gates) + len(l.Kind.FinalGates) }
