package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/session"
)

// extract runs a session that takes from a judged attempt what is worth remembering, and reports
// whether it is in progress. Its failure does not fail the work.
func (d *draft) extract(l *Loop) bool {
	st := l.Kind.Extract
	if st == nil || l.cand.Extracted {
		return false
	}
	attempt := pawl.VerdictFail
	if l.judgement().Pass() {
		attempt = pawl.VerdictPass
	}
	switch {
	case l.skips(st.When) || st.When != nil && len(st.When.Verdict) > 0 && !slices.Contains(st.When.Verdict, attempt):
		return false
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
		return true
	}
	place := l.place(st.Name)
	place.Role = st.Role
	if st.Tier > 0 {
		place.Tier = st.Tier
	}
	d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForExtract, Place: place, Turns: st.Turns, Cap: st.Cap, Timeout: st.Timeout})
	return true
}

// extracted remembers what a session took from an attempt. Each fact is an entry: its name is the
// kind, its value the hash of the text.
func (d *draft) extracted(l *Loop, x *session.Session, f pawl.Facts) {
	failed := !l.judgement().Pass()
	for _, fact := range f {
		d.remember(l, x, pawl.MemoryKind(fact.Name), "", fact.Value, failed)
	}
}

// remember adds an entry to the memory, and reports whether it did. It does not if there is no such
// kind, or if text is not a hash.
func (d *draft) remember(l *Loop, x *session.Session, kind pawl.MemoryKind, scope pawl.MemoryScope, text string, failed bool) bool {
	h, ok := hashOf(text)
	if !ok || !slices.Contains(pawl.MemoryKinds, kind) {
		return false
	}
	place := x.Place
	place.Turn = x.Turn()
	d.learn(l, pawl.MemoryAdded{Kind: kind, Scope: scope, Place: place, Text: h, Failed: failed})
	return true
}

// learn adds an entry to the memory, with its number and the loop's task. An entry without a scope
// gets that of its kind.
func (d *draft) learn(l *Loop, b pawl.MemoryAdded) {
	b.N, b.Task = d.s.memories+1, l.task.ID
	if b.Scope != pawl.ScopeProject && b.Scope != pawl.ScopeRun {
		b.Scope = pawl.ScopeRun
		switch b.Kind {
		case pawl.MemoryLearning, pawl.MemoryAntiPattern, pawl.MemoryInstruction:
			b.Scope = pawl.ScopeProject
		}
	}
	if d.s.isLearning(b.Kind) {
		b.Learning = d.s.Started.Learnings + d.s.learned.numbered + 1
	}
	d.emit(l.Ref, &b)
}

// isLearning reports whether an entry of this kind is one of the task's learnings, which are
// numbered across all its runs.
func (s *State) isLearning(k pawl.MemoryKind) bool {
	return s.Recipe.Records && (k == pawl.MemoryDecision || k == pawl.MemoryLearning || k == pawl.MemoryAntiPattern)
}

// rememberNotes remembers what an ended session wrote down for later ones: the decisions of a step,
// or what a review of a batch says must not be tried again.
func (d *draft) rememberNotes(l *Loop, x *session.Session, f pawl.Facts) {
	name, kind := "decision-text", pawl.MemoryDecision
	if x.Purpose == pawl.ForBatch {
		name, kind = "anti-pattern", pawl.MemoryAntiPattern
	}
	if x.Purpose == pawl.ForStep || x.Purpose == pawl.ForBatch {
		for _, text := range f.All(name) {
			if h, ok := hashOf(text); ok && !slices.Contains(d.s.learned.recent, h) { // not said before
				d.remember(l, x, kind, "", text, false)
			}
		}
	}
}

// maxRecentLearnings bounds how many of the last learnings a new one is compared with.
const maxRecentLearnings = 64

// applyMemoryAdded records an entry of the memory. A discovery may change the plan that the loop is
// part of.
func (s *State) applyMemoryAdded(l *Loop, b *pawl.MemoryAdded) error {
	if b.N != s.memories+1 {
		return fmt.Errorf("entry %d follows entry %d", b.N, s.memories)
	}
	if b.Learning != 0 {
		if want := s.Started.Learnings + s.learned.numbered + 1; b.Learning != want {
			return fmt.Errorf("learning %d stands where learning %d is next", b.Learning, want)
		}
		s.learned.numbered++
		s.learned.recent = append(slices.Clone(s.learned.recent[max(0, len(s.learned.recent)-maxRecentLearnings+1):]), b.Text)
	}
	s.memories = b.N
	if root := s.Loop(1); b.Said != "" && b.Learning != 0 {
		root.unrecorded = true
	}
	if l.gen.plan != nil && b.Text == l.gen.Unlearned {
		l.gen.Unlearned = pawl.Hash{}
	}
	if p := s.Loop(l.Parent); b.Kind == pawl.MemoryDiscovery && p != nil && p.gen.plan != nil {
		p.gen.plan.Found++
	}
	return nil
}

// forget keeps an entry of the memory out of all later prompts.
func (d *draft) forget(in *pawl.Steering) error {
	if in.Memory < 1 || in.Memory > d.s.memories {
		return pawl.Errorf(pawl.CodeNotFound, "run %s has no memory entry %d: it has %d", d.s.Run, in.Memory, d.s.memories)
	}
	d.emit(0, &pawl.MemoryForgotten{N: in.Memory, Reason: brief.Cut(in.Reason, 300)})
	return nil
}

// harness answers a tool call that needs only the run's state.
func (d *draft) harness(l *Loop, x *session.Session, use *pawl.ToolUse) (text string, isError bool) {
	switch use.Tool {
	case "remember":
		if !d.remember(l, x, pawl.MemoryKind(use.Facts.Get("kind")), pawl.MemoryScope(use.Facts.Get("scope")), use.Facts.Get("text"), false) {
			return "there is nothing to remember", true
		}
		return fmt.Sprintf("Remembered as entry %d.", d.s.memories), false
	case "blackboard":
		return d.blackboard(l, use.Facts)
	}
	return fmt.Sprintf("the harness has no tool %q", brief.Cut(use.Tool, 60)), true
}

// maxBoard bounds the entries of a blackboard.
const maxBoard = 64

// blackboard answers a call to the blackboard, on which the children of one loop share short texts
// by key while they work.
func (d *draft) blackboard(l *Loop, f pawl.Facts) (text string, isError bool) {
	key := f.Get("key")
	board := d.s.board(l)
	i := slices.IndexFunc(board, func(n pawl.NotePosted) bool { return n.Key == key })
	switch op := f.Get("op"); {
	case op == "list" && len(board) == 0:
		return "The blackboard is empty.", false
	case op == "list":
		var keys []string
		for _, n := range board {
			keys = append(keys, n.Key)
		}
		return brief.Cut("Keys: "+strings.Join(keys, ", "), 400), false
	case op == "get" && i < 0:
		return "There is nothing at " + key + ".", false
	case op == "get":
		return brief.Cut(board[i].Value, 400), false
	case op != "set" || key == "":
		return "want op get, set or list, and a key", true
	case i < 0 && len(board) >= maxBoard:
		return fmt.Sprintf("the blackboard is full: it holds %d entries", maxBoard), true
	}
	d.emit(l.Ref, &pawl.NotePosted{Key: brief.Cut(key, 60), Value: brief.Cut(f.Get("value"), 300)})
	return "Noted.", false
}

// board returns the blackboard that a loop writes to: its parent's, or its own if it has no parent.
func (s *State) board(l *Loop) []pawl.NotePosted {
	if p := s.Loop(l.Parent); p != nil {
		return p.gen.board
	}
	return l.gen.board
}

func (s *State) post(l *Loop, b *pawl.NotePosted) {
	if p := s.Loop(l.Parent); p != nil {
		l = p
	}
	board := slices.Clone(l.gen.board)
	if i := slices.IndexFunc(board, func(n pawl.NotePosted) bool { return n.Key == b.Key }); i >= 0 {
		board[i] = *b
	} else {
		board = append(board, *b)
	}
	l.gen.board = board
}
