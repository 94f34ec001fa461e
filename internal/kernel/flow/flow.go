package flow

import (
	"slices"

	"pawl"
)

// Flow is a kind's steps in one list: the iteration's, those of its groups among
// the others; those before a batch of its children; those after one; the final
// ones. Sessions name their step by its position here.
type Flow struct {
	Steps []*pawl.Step
	// Main, before and after are where the steps of each sort end and those of the
	// next begin; the final ones end with the list.
	Main, Before, After int
	groups              []group
	Fields              []string // of results, whose entries a step of the recipe runs for
}

// group is a run of steps that repeats.
type group struct {
	*pawl.Step
	from, To int
}

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
		f.groups = append(f.groups, group{st, from, len(f.Steps)})
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

// add puts steps at the end of the flow.
func (f *Flow) add(steps []pawl.Step) {
	for i := range steps {
		f.Steps = append(f.Steps, &steps[i])
	}
}

// AroundBatch reports whether a step is one of those before or after a batch.
func (f *Flow) AroundBatch(step int) bool { return step >= f.Main && step < f.After }

// Group is the one a step belongs to, or nil.
func (f *Flow) Group(step int) *group {
	for i := range f.groups {
		if g := &f.groups[i]; step >= g.from && step < g.To {
			return g
		}
	}
	return nil
}

// Find is the position of the step, or of the group's first, of this name; -1 = there is none.
func (f *Flow) Find(name string) int {
	for _, g := range f.groups {
		if g.Name == name {
			return g.from
		}
	}
	return slices.IndexFunc(f.Steps[:f.Main], func(st *pawl.Step) bool { return st.Name == name })
}

// Cursor is where an iteration is in its steps.
type Cursor struct {
	Step      int  // position of the present step in the flow
	Try       int  // of the present step
	Round     int  // of the present step's group; 0 = it is in none
	Exhausted bool // the group's rounds are used up
}

// Forward moves to the next step that runs in this iteration, and reports whether there is
// none left. A group is entered again until its rounds are used up: what follows then is
// decided. What runs, and which conditions skip a group, is given to it.
func (c *Cursor) Forward(f *Flow, runs func(step int) bool, skips func(*pawl.When) bool) (over bool) {
	for {
		if g := f.Group(c.Step - 1); g != nil && c.Round > 0 && c.Step == g.To {
			if c.Round >= g.Repeat.Max {
				c.Exhausted = true
				return false
			}
			c.Round, c.Step = c.Round+1, g.from
			continue
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
