package kernel

import (
	"slices"

	"pawl"
)

// flow is a kind's steps in one list: the iteration's, those of its groups among
// the others; those before a batch of its children; those after one; the final
// ones. Sessions name their step by its position here.
type flow struct {
	steps []*pawl.Step
	// main, before and after are where the steps of each sort end and those of the
	// next begin; the final ones end with the list.
	main, before, after int
	groups              []group
	fields              []string // of results, whose entries a step of the recipe runs for
}

// group is a run of steps that repeats.
type group struct {
	*pawl.Step
	from, to int
}

func flowOf(k *pawl.LoopKind) *flow {
	f := &flow{}
	for i := range k.Steps {
		st := &k.Steps[i]
		if st.Repeat == nil {
			f.steps = append(f.steps, st)
			continue
		}
		from := len(f.steps)
		for j := range st.Repeat.Steps {
			f.steps = append(f.steps, &st.Repeat.Steps[j])
		}
		f.groups = append(f.groups, group{st, from, len(f.steps)})
	}
	f.main = len(f.steps)
	if c := k.Children; c != nil {
		f.add(c.BeforeBatch)
		f.before = len(f.steps)
		f.add(c.AfterBatch)
	}
	f.before, f.after = max(f.before, f.main), len(f.steps)
	f.add(k.FinalSteps)
	return f
}

// add puts steps at the end of the flow.
func (f *flow) add(steps []pawl.Step) {
	for i := range steps {
		f.steps = append(f.steps, &steps[i])
	}
}

// aroundBatch reports whether a step is one of those before or after a batch.
func (f *flow) aroundBatch(step int) bool { return step >= f.main && step < f.after }

// group is the one a step belongs to, or nil.
func (f *flow) group(step int) *group {
	for i := range f.groups {
		if g := &f.groups[i]; step >= g.from && step < g.to {
			return g
		}
	}
	return nil
}

// find is the position of the step, or of the group's first, of this name; -1 = there is none.
func (f *flow) find(name string) int {
	for _, g := range f.groups {
		if g.Name == name {
			return g.from
		}
	}
	return slices.IndexFunc(f.steps[:f.main], func(st *pawl.Step) bool { return st.Name == name })
}

// stepsLeft reports whether one of the flow's steps from one position to another has
// still its turn, the first done of them being over.
func (l *Loop) stepsLeft(from, to, done int) bool {
	for i := from + done; i < to; i++ {
		if !l.skips(l.flow.steps[i].When) && !l.idle(i) {
			return true
		}
	}
	return false
}

// endAround takes over the end of a step before or after a batch. One that left no
// result does not stop the batch: what there was before stands.
func (l *Loop) endAround(step int) {
	if step >= l.flow.before {
		l.gen.after = step + 1 - l.flow.before
	} else {
		l.gen.before = step + 1 - l.flow.main
	}
}

// beginAround lets the steps around a batch begin: none is over.
func (l *Loop) beginAround() {
	l.gen.before, l.gen.after, l.gen.handed, l.iter.unclear = 0, 0, nil, nil
	l.iter.inquiries = slices.DeleteFunc(slices.Clone(l.iter.inquiries), func(r route) bool { return l.flow.aroundBatch(r.step) })
	l.clearItems()
}

// flow is that of a loop's kind.
func (s *State) flow(k *pawl.LoopKind) *flow {
	for i := range s.Recipe.Kinds {
		if &s.Recipe.Kinds[i] == k {
			return s.flows[i]
		}
	}
	return nil
}

// atStep moves the loop to a step, into its group's first round.
func (l *Loop) atStep(i int) {
	l.iter.step, l.iter.try, l.iter.round = i, 1, 0
	l.iter.exhausted, l.iter.unclear = false, nil
	l.clearItems()
	l.skipSteps()
}

// skipSteps moves to the next step that runs in this iteration; past the last
// one the work is committed. A group is entered again until its rounds are used
// up: what follows then is decided.
func (l *Loop) skipSteps() {
	for {
		if g := l.flow.group(l.iter.step - 1); g != nil && l.iter.round > 0 && l.iter.step == g.to {
			if l.iter.round >= g.Repeat.Max {
				l.iter.exhausted = true
				return
			}
			l.iter.round, l.iter.step = l.iter.round+1, g.from
			continue
		}
		if l.iter.step >= l.flow.main {
			l.iter.round, l.Phase = 0, PhaseCommit
			return
		}
		if g := l.flow.group(l.iter.step); g != nil && l.iter.round == 0 {
			if l.skips(g.When) {
				l.iter.step = g.to
				continue
			}
			l.iter.round = 1
		}
		if l.runs(l.iter.step) {
			return
		}
		l.iter.step++
	}
}

// runs reports whether a step runs in this iteration.
func (l *Loop) runs(i int) bool {
	st := l.flow.steps[i]
	switch {
	case l.assesses(i), st.First && l.Iteration > 1, l.skips(st.When), l.idle(i):
		return false
	}
	return !(l.isGiven() && l.Kind.Children != nil && l.Kind.Children.From == st.Name)
}

// passStep moves on from a step that is done. A group ends with the first of its
// steps that makes one of its decisions.
func (l *Loop) passStep() {
	g := l.flow.group(l.iter.step)
	if g != nil && slices.Contains(g.Repeat.Until, l.left.decision) {
		l.atStep(g.to)
		return
	}
	l.iter.step, l.iter.try = l.iter.step+1, 1
	l.skipSteps()
}

// skips reports whether a condition keeps something from happening now.
func (l *Loop) skips(w *pawl.When) bool {
	return w != nil && (len(w.Tier) > 0 && !slices.Contains(w.Tier, l.Tier) ||
		w.Scaffold != nil && *w.Scaffold != l.task.Scaffold ||
		len(w.Verification) > 0 && !slices.Contains(w.Verification, max(l.task.Verify, 1)) ||
		len(w.Decision) > 0 && !slices.Contains(w.Decision, l.left.decision))
}

// stage is a gate of the kind: its gates first, then the final ones.
func (l *Loop) stage(i int) *pawl.Stage {
	if n := len(l.Kind.Gates); i >= n {
		return &l.Kind.FinalGates[i-n]
	}
	return &l.Kind.Gates[i]
}

func (l *Loop) stages() int { return len(l.Kind.Gates) + len(l.Kind.FinalGates) }
