package flow

import (
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// Leavings holds what the finished steps of a loop have left for later steps. A step replaces
// what it left before, and [Leavings.Drop] forgets what does not outlive an iteration.
type Leavings struct {
	Outputs   []pawl.Input // for prompts, oldest first
	Lists     []List       // for steps with for_each, oldest first
	Decision  string       // the last decision that a step submitted; empty = none
	RunFailed bool         // the last command that a session of the iteration ran failed
	Slow      []string     // steps that ran out of time, which have twice as much from then on
	RunHidden bool         // it may have failed: the coding agent does not show all of its calls
}

// OutputName returns the name under which later prompts find the output of a step.
func OutputName(st *pawl.Step) string {
	if st.Output != "" {
		return st.Output
	}
	return st.Name
}

// IsSlow reports whether a step has run out of time.
func (r *Leavings) IsSlow(st *pawl.Step) bool { return slices.Contains(r.Slow, st.Name) }

// RanOut records that a step has run out of time.
func (r *Leavings) RanOut(st *pawl.Step) {
	if !r.IsSlow(st) {
		r.Slow = append(slices.Clip(r.Slow), st.Name)
	}
}

// maxOutputs bounds how many outputs, and how many lists, a loop keeps.
const maxOutputs = 8

// KeepOutput adds the output of a step, unless it is zero. It takes the place of the step's
// earlier output, or stands behind it if the step appends. If there are too many outputs, one is
// dropped: the oldest of this step if it appends and has others, and else the oldest of all.
func (r *Leavings) KeepOutput(st *pawl.Step, output pawl.Hash) {
	if output.IsZero() {
		return
	}
	name := OutputName(st)
	is := func(in pawl.Input) bool { return in.Name == name }
	if !st.Append {
		r.Outputs = slices.DeleteFunc(r.Outputs, is)
	}
	if r.Outputs = append(r.Outputs, pawl.Input{Name: name, Blob: output}); len(r.Outputs) > maxOutputs {
		i := 0
		if st.Append {
			i = slices.IndexFunc(r.Outputs, is)
		}
		if i == len(r.Outputs)-1 {
			i = 0
		}
		r.Outputs = slices.Delete(r.Outputs, i, i+1)
	}
}

// List is a list in the result of a step. A step with for_each runs once for each entry.
type List struct {
	step, output string // the step it is from and the name of its output; a for_each names either
	field        string
	blob         pawl.Hash // the result that holds the list
	count        int       // entries, at most maxEntries
}

// Entry is one entry of a [List].
type Entry struct {
	Blob  pawl.Hash // the result that holds the list
	Field string    // the field of the result that is the list
	N     int       // its position in the list, from 1
}

// Item is the progress of a step with for_each on one entry.
type Item struct {
	Over   bool      // its last session has ended
	Again  bool      // its first session ran out of time
	Output pawl.Hash // the output of its last session; zero = none
}

// maxEntries bounds over how many entries a step runs: the first ones.
const maxEntries = 40

// Fields returns the fields of results over whose entries a step of the recipe runs, each once,
// in the order of the recipe.
func Fields(r *pawl.Recipe) (out []string) {
	for i := range r.Kinds {
		for _, st := range Of(&r.Kinds[i]).Steps {
			if _, field, is := strings.Cut(st.ForEach, "."); is && !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
	}
	return out
}

// KeepLists records the lists in the result of a step's session, in place of those in its
// earlier result. A fact with the name of one of the flow's Fields gives the length of that
// list. A session that is not done, or that has no output, leaves no lists. Only the last lists
// are kept, as many as outputs.
func (r *Leavings) KeepLists(f *Flow, st *pawl.Step, b *pawl.SessionEnded) {
	if len(f.Fields) == 0 {
		return
	}
	r.Lists = slices.DeleteFunc(slices.Clone(r.Lists), func(o List) bool { return o.step == st.Name })
	for _, field := range f.Fields {
		n, err := strconv.Atoi(b.Facts.Get(field))
		if err == nil && n > 0 && b.Result == pawl.SessionDone && !b.Output.IsZero() {
			r.Lists = append(r.Lists, List{st.Name, OutputName(st), field, b.Output, min(n, maxEntries)})
		}
	}
	r.Lists = r.Lists[max(0, len(r.Lists)-maxOutputs):]
	if len(r.Lists) == 0 {
		r.Lists = nil
	}
}

// Drop forgets what does not outlive an iteration: the decision, whether a command failed, and
// all outputs and lists except those of outputs that keeps reports true for.
func (r *Leavings) Drop(keeps func(output string) bool) {
	r.Outputs = slices.DeleteFunc(r.Outputs, func(in pawl.Input) bool { return !keeps(in.Name) })
	if r.Lists = slices.DeleteFunc(slices.Clone(r.Lists), func(o List) bool { return !keeps(o.output) }); len(r.Lists) == 0 {
		r.Lists = nil
	}
	r.Decision, r.RunFailed, r.RunHidden = "", false, false
}

// EntriesOf returns the entries over which the step with for_each at a position runs, in the
// order of the lists. Its for_each is NAME.FIELD, where NAME is a step or its output.
func (f *Flow) EntriesOf(step int, lists []List) (out []Entry) {
	name, field, _ := strings.Cut(f.Steps[step].ForEach, ".")
	for _, o := range lists {
		if o.field != field || o.step != name && o.output != name {
			continue
		}
		for n := 1; n <= o.count && len(out) < maxEntries; n++ {
			out = append(out, Entry{o.blob, field, n})
		}
	}
	return out
}
