package land

import (
	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/monitor"
)

// maxHunks bounds the fingerprints of changes that are kept of a batch. They come in pairs, in
// an order that is the same for a change and its undoing.
const maxHunks = 32

// Facts returns what the monitor is shown of the batch when it ends. Before are the batches before
// it: if this one moved nothing, the tests are as the last of them left them. Tree is that of the
// branch's head, and result returns how a member's part ended.
func (b *Batch) Facts(ended *pawl.BatchEnded, before []monitor.Batch, tree pawl.TreeHash, result func(*Member) monitor.Result) monitor.Batch {
	out := monitor.Batch{N: b.N, Attempted: ended.Attempted, Approved: ended.Approved, Passing: -1, Tree: brief.Fingerprint(string(tree))}
	if n := len(before); n > 0 {
		out.Passing, out.Broke = before[n-1].Passing, before[n-1].Broke
	}
	for i := range b.Members {
		m := &b.Members[i]
		f := m.Facts
		f.Result = result(m)
		out.Tasks = append(out.Tasks, f)
	}
	if !b.Moved {
		return out
	}
	out.Passing, out.Broke = -1, nil
	for i := range b.Results {
		r := &b.Results[i]
		if r.Kind != pawl.GateTests {
			continue
		}
		out.Passing = max(out.Passing, 0) + r.Passed
		for _, name := range r.Broke {
			out.Broke = append(out.Broke, brief.Fingerprint(name))
		}
	}
	for _, k := range b.Chain {
		out.Hunks = append(out.Hunks, k.Made.Changes...)
	}
	out.Hunks = out.Hunks[:min(len(out.Hunks), maxHunks)]
	return out
}

// Broken returns the names of the tests that are broken on the branch after the batch: those that
// the gates report, or before, the names after the last batch, if this one moved nothing.
func (b *Batch) Broken(before []string) (out []string) {
	if !b.Moved {
		return before
	}
	for i := range b.Results {
		out = append(out, b.Results[i].Broke...)
	}
	return out
}

// Again returns the batch without a candidate and without verdicts, for a run that is resumed. A
// batch whose work is in the branch, or nil, is returned as it is.
func (b *Batch) Again() *Batch {
	if b == nil || b.Moved {
		return b
	}
	again := &Batch{N: b.N, Scaffold: b.Scaffold, Land: b.Land}
	for _, m := range b.Members {
		m.Verdict = ""
		again.Members = append(again.Members, m)
	}
	return again
}
