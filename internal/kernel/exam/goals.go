package exam

import (
	"slices"

	"pawl"
)

// Goals are the goal tests of a loop. The zero value is none.
type Goals struct {
	List   pawl.Hash   // a JSON list of GoalTest; zero = none
	Count  int         // how many there are
	Weak   int         // how many of these are weak
	Landed []pawl.Hash // the lists of loops below, whose work is in this one's
	Known  bool        // those that the goal names are known
	Waived bool        // the loop ends although weak ones are red
	Left   string      // which weak ones it ends with; empty = it does not

	Picking Request // of those that are known before the work starts
	// Assessment is the result of the session that assessed the request, as long as the tests that it
	// picks are not among the goal tests; zero = it picks none, or they are.
	Assessment pawl.Hash
}

// Weighed records which goal tests there are.
func (g *Goals) Weighed(b *pawl.GoalsWeighed) {
	g.List, g.Count, g.Weak, g.Known = b.Goals, b.Count, b.Weak, true
}

// Strong returns how many are not weak.
func (g *Goals) Strong() int { return g.Count - g.Weak }

// Land adds the goal tests of a loop below, whose work has landed, with those of loops below that.
func (g *Goals) Land(of *Goals) {
	for _, list := range of.Lists() {
		if !slices.Contains(g.Landed, list) {
			g.Landed = append(slices.Clip(g.Landed), list)
		}
	}
}

// Lists returns the lists of goal tests that are known, the loop's own first.
func (g *Goals) Lists() []pawl.Hash {
	var out []pawl.Hash
	if !g.List.IsZero() {
		out = append(out, g.List)
	}
	return append(out, g.Landed...)
}

// Weighing is how far it is known which goal tests a candidate has red. The zero value is that of one
// that nothing is known of.
type Weighing struct {
	Request
	Runs     Runs // the gates that judge the candidate once more
	Looked   bool // it was weighed once
	Over     bool // everything is known
	Examined bool // it was weighed with what was found in the candidate

	Count, Red, RedWeak int
	Failing             []string // the first of those that are red
	Unsure              bool
}

// Clone returns a copy that shares nothing that changes; of nil, nil.
func (w *Weighing) Clone() *Weighing {
	if w == nil {
		return nil
	}
	c := *w
	c.Runs = slices.Clone(w.Runs)
	return &c
}

// Fail records why a look, or a run of a gate, gave no answer.
func (w *Weighing) Fail(id pawl.Seq, why *pawl.Failure) {
	w.Request.Fail(id, why)
	w.Runs.Fail(id, why)
}

// Weighed records what a look at a commit led to: gates that have to run once more and have not, or all that
// there is to know.
func (w *Weighing) Weighed(b *pawl.GoalsWeighed, commit pawl.CommitHash) {
	w.Effect, w.Tries = 0, 0
	w.Looked, w.Over = true, true
	for _, gate := range b.Again {
		if !slices.ContainsFunc(w.Runs, func(r Run) bool { return r.Gate == gate }) {
			w.Over = false
			w.Runs = append(w.Runs, Run{FurtherRun: pawl.FurtherRun{On: pawl.TreeAgain, Commit: commit}, Gate: gate})
		}
	}
	if !w.Over {
		return
	}
	w.Unsure = b.Unsure
	w.Count, w.Red, w.RedWeak, w.Failing = b.Count, b.Red, b.RedWeak, b.Failing
}

// Green returns how many goal tests the candidate has green.
func (w *Weighing) Green() int {
	if w == nil || !w.Over {
		return 0
	}
	return w.Count - w.Red - w.RedWeak
}
