package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/session"
)

// list is a list in the result of a step: a step with for_each runs for each of its
// entries.
type list struct {
	step, output string // both name where it is from
	field        string
	blob         pawl.Hash // the result
	count        int
}

// entry is one entry of a list.
type entry struct {
	blob  pawl.Hash // the result that holds the list
	field string
	n     int // its position in the list, from 1
}

// item is how far a step has come with one entry.
type item struct {
	over   bool
	again  bool // its first session ran out of time
	output pawl.Hash
}

// maxEntries is for how many entries a step runs at most: those that come first.
const maxEntries = 40

// eachFields are the fields of results whose entries a step of the recipe runs for.
func eachFields(r *pawl.Recipe) (out []string) {
	for i := range r.Kinds {
		for _, st := range flowOf(&r.Kinds[i]).steps {
			if _, field, is := strings.Cut(st.ForEach, "."); is && !slices.Contains(out, field) {
				out = append(out, field)
			}
		}
	}
	return out
}

// keepLists takes over which lists a step's result has, in the place of those of its
// last one.
func (l *Loop) keepLists(st *pawl.Step, b *pawl.SessionEnded) {
	if len(l.flow.fields) == 0 {
		return
	}
	l.left.lists = slices.DeleteFunc(slices.Clone(l.left.lists), func(o list) bool { return o.step == st.Name })
	for _, field := range l.flow.fields {
		n, err := strconv.Atoi(b.Facts.Get(field))
		if err == nil && n > 0 && b.Result == pawl.SessionDone && !b.Output.IsZero() {
			l.left.lists = append(l.left.lists, list{st.Name, outputName(st), field, b.Output, min(n, maxEntries)})
		}
	}
	l.left.lists = l.left.lists[max(0, len(l.left.lists)-maxOutputs):]
	if len(l.left.lists) == 0 {
		l.left.lists = nil
	}
}

// dropLists forgets the lists of results that do not outlive the iteration.
func (l *Loop) dropLists() {
	if l.left.lists = slices.DeleteFunc(slices.Clone(l.left.lists), func(o list) bool { return !l.keeps(o.output) }); len(l.left.lists) == 0 {
		l.left.lists = nil
	}
}

// entriesOf are the entries that a step with for_each runs for: those of the loop's
// own results; after a batch, those of what the batch's children handed in.
func (l *Loop) entriesOf(step int) (out []entry) {
	lists := l.left.lists
	if step >= l.flow.before && step < l.flow.after {
		lists = l.gen.handed
	}
	name, field, _ := strings.Cut(l.flow.steps[step].ForEach, ".")
	for _, o := range lists {
		if o.field != field || o.step != name && o.output != name {
			continue
		}
		for n := 1; n <= o.count && len(out) < maxEntries; n++ {
			out = append(out, entry{o.blob, field, n})
		}
	}
	return out
}

// idle reports whether a step has nothing to run for.
func (l *Loop) idle(step int) bool {
	return l.flow.steps[step].ForEach != "" && len(l.entriesOf(step)) == 0
}

// eachEntry runs a step once for every entry, so many at a time. All sessions are
// over before anything else goes on; once one has failed where it must not, no
// further one begins.
func (d *draft) eachEntry(l *Loop, index int) {
	for _, x := range slices.Clone(l.sessions) {
		if d.converse(l, x); d.s.Stopping != nil || l.sessionByN(x.N) == nil {
			return
		}
	}
	st, n := l.flow.steps[index], len(l.entriesOf(index))
	for i := range n {
		begun := slices.ContainsFunc(l.sessions, func(x *session.Session) bool { return x.Item == i+1 })
		over := i < len(l.iter.items) && l.iter.items[i].over
		if len(l.sessions) >= max(st.Parallel, 1) || l.iter.itemFailed != "" && len(l.sessions) > 0 {
			return
		}
		if begun || over {
			continue
		}
		try := 1
		if i < len(l.iter.items) && l.iter.items[i].again {
			try = 2
		}
		b := stepSession(l, index, try)
		b.Item, b.Place.Lens = i+1, fmt.Sprintf("%d of %d", i+1, n)
		d.startSession(l, b)
	}
}

// endItem takes over the end of a step's session for one entry. With the last one
// the step is over: what the sessions left stands in the order of the entries, not
// in that in which they ended.
func (l *Loop) endItem(x *session.Session, b *pawl.SessionEnded) {
	st, n := l.flow.steps[x.Index], len(l.entriesOf(x.Index))
	for len(l.iter.items) < n {
		l.iter.items = append(l.iter.items, item{})
	}
	it := &l.iter.items[x.Item-1]
	switch {
	case b.Result == pawl.SessionTimeout && x.Try == 1 && x.Index < l.flow.main && l.iter.itemFailed == "":
		it.again = true
		return
	case b.Result != pawl.SessionDone && (st.Required || x.Index < l.flow.main):
		l.iter.itemFailed = cmp.Or(l.iter.itemFailed, brief.Cut(fmt.Sprintf("%s, %s: %s", st.Name, x.Place.Lens, b.Reason), 160))
	}
	it.over, it.output = true, b.Output
	left := slices.ContainsFunc(l.iter.items, func(it item) bool { return !it.over })
	if len(l.sessions) > 0 || left && l.iter.itemFailed == "" {
		return
	}
	for _, it := range l.iter.items {
		l.keepOutput(st, it.output)
	}
	result, why := pawl.SessionDone, l.iter.itemFailed
	if why != "" {
		result = pawl.SessionNoResult
	}
	l.iter.items, l.iter.itemFailed = nil, ""
	l.stepOver(x.Index, result, why)
}

// clearItems forgets how far a step has come with its entries.
func (l *Loop) clearItems() { l.iter.items, l.iter.itemFailed = nil, "" }
