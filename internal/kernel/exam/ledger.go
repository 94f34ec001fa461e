package exam

import (
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Ledger holds the findings of a run and their answers. A change copies its entries, so that copies
// of it can be kept.
type Ledger struct {
	n       int // raised so far
	entries []Entry
}

// maxEntries bounds the findings that are kept. The oldest is forgotten, and raised again if it is
// still there.
const maxEntries = 256

// maxPath bounds the bytes that are kept of a path.
const maxPath = 80

// Entry is a finding of a run, by its content.
type Entry struct {
	ID    string
	Kind  pawl.FindingKind
	Path  string // cut
	Print uint64
	Loop  pawl.LoopRef // in whose candidate it was first
	Tests []uint64     // fingerprints of the tests' names, as the event has them

	Answered bool
	Accepted bool
	Person   bool // a person answered, and nobody else is asked any more
	Told     bool // it was feedback to an attempt
	// Why says why it was not accepted, if somebody said it.
	Why string
}

// Next returns the ID of the next finding.
func (g *Ledger) Next() string { return pawl.FindingID(g.n + 1) }

// Raise records the next finding, in the candidate of a loop.
func (g *Ledger) Raise(of pawl.LoopRef, f *pawl.Finding) {
	g.n++
	kept := g.entries[max(0, len(g.entries)-maxEntries+1):]
	g.entries = append(slices.Clone(kept), Entry{ID: f.ID, Kind: f.Kind, Path: brief.Cut(f.Path, maxPath), Print: f.Print, Loop: of, Tests: testsOf(f)})
}

func testsOf(f *pawl.Finding) []uint64 {
	var all []uint64
	for _, name := range f.Tests {
		all = append(all, brief.Fingerprint(name))
	}
	return all
}

// Parts returns the ids of the findings that a finding consists of: those of its kind and path in candidates of
// other loops, if all of them are accepted and together they are about all of its tests. It returns nil
// otherwise, and for a finding about no test.
func (g *Ledger) Parts(of pawl.LoopRef, f *pawl.Finding) []string {
	var ids []string
	covered := map[uint64]bool{}
	for _, e := range g.entries {
		if e.Kind != f.Kind || e.Path != brief.Cut(f.Path, maxPath) || e.Loop == of {
			continue
		}
		if !e.Accepted {
			return nil
		}
		ids = append(ids, e.ID)
		for _, t := range e.Tests {
			covered[t] = true
		}
	}
	if len(f.Tests) == 0 || slices.ContainsFunc(testsOf(f), func(t uint64) bool { return !covered[t] }) {
		return nil
	}
	return ids
}

// Answer records the answer to a finding.
func (g *Ledger) Answer(b *pawl.FindingAnswered) {
	g.change(b.ID, func(e *Entry) { e.Answered, e.Accepted, e.Person, e.Why = true, b.Accepted, b.Gate == "", b.Why })
}

// Told records that a finding was feedback to an attempt.
func (g *Ledger) Told(id string) { g.change(id, func(e *Entry) { e.Told = true }) }

func (g *Ledger) change(id string, to func(*Entry)) {
	if i := slices.IndexFunc(g.entries, func(e Entry) bool { return e.ID == id }); i >= 0 {
		g.entries = slices.Clone(g.entries)
		to(&g.entries[i])
	}
}

// Find returns the ID of the finding with this content; empty if it is not kept.
func (g *Ledger) Find(content uint64) string {
	if i := slices.IndexFunc(g.entries, func(e Entry) bool { return e.Print == content }); i >= 0 {
		return g.entries[i].ID
	}
	return ""
}

// Of returns the findings with these IDs that are kept.
func (g *Ledger) Of(ids []string) []Entry {
	return slices.DeleteFunc(slices.Clone(g.entries), func(e Entry) bool { return !slices.Contains(ids, e.ID) })
}
