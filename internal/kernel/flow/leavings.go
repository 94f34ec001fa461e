package flow

import (
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// Leavings is what the steps of a loop have left: until they leave something else, or as
// long as the recipe says.
type Leavings struct {
	Outputs   []pawl.Input
	Lists     []List // in the results of steps, for those that run for each of their entries
	Decision  string // of the last step that submitted one
	RunFailed bool   // the last command of the iteration's sessions did
}

// OutputName is the name under which later prompts find what a step leaves.
func OutputName(st *pawl.Step) string {
	if st.Output != "" {
		return st.Output
	}
	return st.Name
}

// maxOutputs is how many outputs of steps a loop keeps.
const maxOutputs = 8

// KeepOutput lets later prompts find what a step left. Where there is too much, the
// oldest of a step that collects its results goes first.
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

// List is a list in the result of a step: a step with for_each runs for each of its
// entries.
type List struct {
	step, output string // both name where it is from
	field        string
	blob         pawl.Hash // the result
	count        int
}

// Entry is one entry of a list.
type Entry struct {
	Blob  pawl.Hash // the result that holds the list
	Field string
	N     int // its position in the list, from 1
}

// Item is how far a step has come with one entry.
type Item struct {
	Over   bool
	Again  bool // its first session ran out of time
	Output pawl.Hash
}

// maxEntries is for how many entries a step runs at most: those that come first.
const maxEntries = 40

// eachFields are the fields of results whose entries a step of the recipe runs for.
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

// KeepLists takes over which lists a step's result has, in the place of those of its
// last one.
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

// Drop forgets what does not outlive the iteration.
func (r *Leavings) Drop(keeps func(output string) bool) {
	r.Outputs = slices.DeleteFunc(r.Outputs, func(in pawl.Input) bool { return !keeps(in.Name) })
	if r.Lists = slices.DeleteFunc(slices.Clone(r.Lists), func(o List) bool { return !keeps(o.output) }); len(r.Lists) == 0 {
		r.Lists = nil
	}
	r.Decision, r.RunFailed = "", false
}

// EntriesOf are the entries of lists that a step with for_each runs for.
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
