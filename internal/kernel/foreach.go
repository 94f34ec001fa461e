package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/session"
)

// entriesOf are the entries that a step with for_each runs for: those of the loop's
// own results; after a batch, those of what the batch's children handed in.
func (l *Loop) entriesOf(step int) []flow.Entry {
	lists := l.left.Lists
	if step >= l.flow.Before && step < l.flow.After {
		lists = l.gen.handed
	}
	return l.flow.EntriesOf(step, lists)
}

// idle reports whether a step has nothing to run for.
func (l *Loop) idle(step int) bool {
	return l.flow.Steps[step].ForEach != "" && len(l.entriesOf(step)) == 0
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
	st, n := l.flow.Steps[index], len(l.entriesOf(index))
	for i := range n {
		begun := slices.ContainsFunc(l.sessions, func(x *session.Session) bool { return x.Item == i+1 })
		over := i < len(l.iter.items) && l.iter.items[i].Over
		if len(l.sessions) >= max(st.Parallel, 1) || l.iter.itemFailed != "" && len(l.sessions) > 0 {
			return
		}
		if begun || over {
			continue
		}
		try := 1
		if i < len(l.iter.items) && l.iter.items[i].Again {
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
	st, n := l.flow.Steps[x.Index], len(l.entriesOf(x.Index))
	for len(l.iter.items) < n {
		l.iter.items = append(l.iter.items, flow.Item{})
	}
	it := &l.iter.items[x.Item-1]
	switch {
	case b.Result == pawl.SessionTimeout && x.Try == 1 && x.Index < l.flow.Main && l.iter.itemFailed == "":
		it.Again = true
		return
	case b.Result != pawl.SessionDone && (st.Required || x.Index < l.flow.Main):
		l.iter.itemFailed = cmp.Or(l.iter.itemFailed, brief.Cut(fmt.Sprintf("%s, %s: %s", st.Name, x.Place.Lens, b.Reason), 160))
	}
	it.Over, it.Output = true, b.Output
	left := slices.ContainsFunc(l.iter.items, func(it flow.Item) bool { return !it.Over })
	if len(l.sessions) > 0 || left && l.iter.itemFailed == "" {
		return
	}
	for _, it := range l.iter.items {
		l.left.KeepOutput(st, it.Output)
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
