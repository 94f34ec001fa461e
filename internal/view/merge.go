package view

import (
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// mergedWhat says what a branch was moved for.
func (r *Run) mergedWhat(l *Loop) string {
	if x := l.underWay(); x != nil {
		return fmt.Sprintf("has what batch %d approved", x.N)
	}
	if l.Task == "" {
		return "is the branch's new head"
	}
	return "merged " + l.Task
}

// paths lists the first of a blob's lines: ": a.go, b.go".
func (t teller) paths(h pawl.Hash) string {
	const most = 3
	var all []string
	for path := range strings.Lines(string(t.blobs.bytes(h))) {
		all = append(all, plain.Line(path, 0))
	}
	if len(all) == 0 {
		return ""
	}
	s := ": " + strings.Join(all[:min(len(all), most)], ", ")
	if len(all) > most {
		s += ", …"
	}
	return s
}

// applyMerge folds the events of the merge queue; f is the effect that the event answers, or nil.
func (r *Run) applyMerge(l *Loop, e pawl.Event, f *pawl.Effect) {
	switch b := e.Body.(type) {
	case *pawl.Merged:
		if b.Conflicts > 0 && l.trying() && l.underWay() == nil {
			r.problem(e, "%sits work conflicts with what was merged in the meantime, in %s", r.lead(l), count(b.Conflicts, "path"))
		}
	case *pawl.BranchAdvanced:
		l.land()
		if do, ok := doOf[*pawl.AdvanceBranch](f); ok && do.Branch == r.Start.WorkRef() {
			r.Head = b.Commit
			r.moved = mark(e, "commit %s %s", short(b.Commit), r.mergedWhat(l))
		}
	}
}

func (t teller) tellMerge() string {
	switch b := t.e.Body.(type) {
	case *pawl.MergeQueued:
		return fmt.Sprintf("waits for its turn to be merged: commit %s, confidence %d%%", short(b.Commit), b.Confidence)
	case *pawl.Merged:
		switch {
		case b.Conflicts > 0 && !t.l.trying():
			return fmt.Sprintf("the next attempt begins with what conflicts, in %s%s", count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Conflicts > 0 && t.l.underWay() != nil:
			return fmt.Sprintf("CONFLICT in the batch, in %s%s · one task of it goes again", count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Conflicts > 0:
			return fmt.Sprintf("CONFLICT with what was merged in the meantime, in %s%s · the next attempt is told what conflicts",
				count(b.Conflicts, "path"), t.paths(b.Paths))
		case b.Unresolved > 0:
			return fmt.Sprintf("conflict markers are left in %s", count(b.Unresolved, "file"))
		}
		return "merges cleanly: " + short(b.Commit)
	case *pawl.BranchAdvanced:
		return "merged: the branch is at " + short(b.Commit)
	case *pawl.ConflictsProbed:
		if len(b.With) == 0 {
			return "no conflict with the siblings' work so far"
		}
		var with []string
		for _, ref := range b.With {
			if l := t.r.loop(ref); l != nil {
				with = append(with, l.Task)
			}
		}
		return "its work conflicts with that of " + strings.Join(with, ", ") + ", which is not merged yet; both are told"
	}
	return ""
}

func (k *Look) lookMerge(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.MergeQueued, *pawl.BranchAdvanced:
		k.Level = Normal
	case *pawl.Merged:
		if k.Level = Detail; b.Conflicts != 0 || b.Unresolved != 0 {
			k.Level = Important
		}
		if b.Conflicts+b.Unresolved > 0 {
			k.Tone = ToneWarning
		}
	case *pawl.ConflictsProbed:
		if len(b.With) == 0 {
			k.Level = Detail
		}
	}
}
