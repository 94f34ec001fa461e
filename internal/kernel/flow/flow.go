// Package flow holds the order of a loop's steps, the position of an iteration in that order, and
// what finished steps leave for later ones.
package flow

import (
	"slices"

	"pawl"
)

// Flow lists all steps of a kind in the order in which they run. Sessions name their step by its
// position in this list. A flow does not change after its Fields and Criteria are set.
type Flow struct {
	// Steps holds the steps of an iteration, where the steps of a group take the place of the
	// group; then the steps before a batch of children, those after it, and the final steps.
	Steps []*pawl.Step
	// Main, Before and After are the positions at which the steps of an iteration, before a
	// batch and after a batch end. The final steps end with the list.
	Main, Before, After int
	groups              []Group
	// Fields are the fields of results over whose entries steps run; see [Fields]. [Of] leaves
	// them empty, because they are those of the whole recipe.
	Fields []string
	// Criteria reports that the user gave criteria. [Of] leaves it false.
	Criteria bool
}

// Group is a recipe's step that repeats other steps: those from position from up to, but not
// including, To.
type Group struct {
	*pawl.Step
	from, To int
}

// Of returns the flow of a kind, without its Fields. The steps are those of k, not copies.
func Of(k *pawl.LoopKind) *Flow {
	f := &Flow{}
	for i := range k.Steps {
		st := &k.Steps[i]
		if st.Repeat == nil {
			f.Steps = append(f.Steps, st)
			continue
		}
		from := len(f.Steps)
		for j := range st.Repeat.Steps {
			f.Steps = append(f.Steps, &st.Repeat.Steps[j])
		}
		f.groups = append(f.groups, Group{st, from, len(f.Steps)})
	}
	f.Main = len(f.Steps)
	if c := k.Children; c != nil {
		f.add(c.BeforeBatch)
		f.Before = len(f.Steps)
		f.add(c.AfterBatch)
	}
	f.Before, f.After = max(f.Before, f.Main), len(f.Steps)
	f.add(k.FinalSteps)
	return f
}

// add appends steps to the flow.
func (f *Flow) add(steps []pawl.Step) {
	for i := range steps {
		f.Steps = append(f.Steps, &steps[i])
	}
}

// AroundBatch reports whether the step at a position runs before or after a batch of children.
func (f *Flow) AroundBatch(step int) bool { return step >= f.Main && step < f.After }

// Group returns the group that the step at a position belongs to, or nil.
func (f *Flow) Group(step int) *Group {
	for i := range f.groups {
		if g := &f.groups[i]; step >= g.from && step < g.To {
			return g
		}
	}
	return nil
}

// Find returns the position of the iteration's step with this name, or of the first step of the
// group with this name. It returns -1 if there is neither.
func (f *Flow) Find(name string) int {
	for _, g := range f.groups {
		if g.Name == name {
			return g.from
		}
	}
	return slices.IndexFunc(f.Steps[:f.Main], func(st *pawl.Step) bool { return st.Name == name })
}

// Cursor is the position of an iteration in a flow.
type Cursor struct {
	Step      int  // the position of the present step in [Flow.Steps]
	Try       int  // the try of the present step, from 1; Forward leaves it as it is
	Round     int  // the round of its group, from 1; 0 = it is in no group, or has not entered it
	Exhausted bool // the rounds of its group are used up
}

// Forward moves to the next step that runs, beginning with the present one, and reports whether
// the iteration has none left. Runs reports whether the step at a position runs in this
// iteration. Skips reports whether a group with this condition is left out.
//
// Behind the last step of a group, Forward returns to its first step for the next round. When
// all rounds are used up it stays there, sets Exhausted and returns false: the caller decides
// what follows.
func (c *Cursor) Forward(f *Flow, runs func(step int) bool, skips func(*pawl.When) bool) (over bool) {
	for {
		if g := f.Group(c.Step - 1); g != nil && c.Round > 0 && c.Step == g.To {
			if c.Round >= g.Repeat.Max {
				c.Exhausted = true
				return false
			}
			c.Round, c.Step = c.Round+1, g.from
		}
		if c.Step >= f.Main {
			c.Round = 0
			return true
		}
		if g := f.Group(c.Step); g != nil && c.Round == 0 {
			if skips(g.When) {
				c.Step = g.To
				continue
			}
			c.Round = 1
		}
		if runs(c.Step) {
			return false
		}
		c.Step++
	}
}
