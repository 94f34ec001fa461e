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

// entriesOf returns the entries that a step with for_each runs for. A step after a batch takes them
// from what the batch's children handed in, any other step from the loop's own results.
func (l *Loop) entriesOf(step int) []flow.Entry {
	lists := l.left.Lists
	if step >= l.flow.Before && step < l.flow.After {
		lists = l.gen.childLists
	}
	return l.flow.EntriesOf(step, lists)
}

// hasNoEntries reports whether a step has for_each and no entries to run for.
func (l *Loop) hasNoEntries(step int) bool {
	return l.flow.Steps[step].ForEach != "" && len(l.entriesOf(step)) == 0
}

// eachEntry runs a step once for each entry, in as many sessions at a time as the step allows. The
// loop continues when all sessions have ended. Once an entry has failed that must not fail, no
// further session starts.
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

// endItem records that a step's session for one entry has ended. The step is over with the last of
// them. Its outputs are kept in the order of the entries, not in the order in which the sessions
// ended.
func (l *Loop) endItem(x *session.Session, b *pawl.SessionEnded) {
	st, n := l.flow.Steps[x.Index], len(l.entriesOf(x.Index))
	for len(l.iter.items) < n {
		l.iter.items = append(l.iter.items, flow.Item{})
	}
	it := &l.iter.items[x.Item-1]
	switch {
	case l.needsTime(x, b) && l.iter.itemFailed == "":
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

// clearItems drops the progress of a step over its entries.
func (l *Loop) clearItems() { l.iter.items, l.iter.itemFailed = nil, "" }
