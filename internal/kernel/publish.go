package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/land"
)

// result is what the run's branch has of the work, where attempts are made on a ref of their own:
// see [pawl.CommitsTask]. The zero result means that the branch is at the run's base.
type result struct {
	head pawl.CommitHash // of the branch, as far as is known; empty = it has not been made
	of   pawl.CommitHash // the root's commit whose tree it has; empty = that of the base
	due  []landed        // what it does not have yet, in the order in which it landed
}

// landed is work that the root's own branch has, for one commit on the run's branch.
type landed struct {
	commit pawl.CommitHash // the root's commit that has it, with all that landed before
	title  string
	task   string    // its id; empty = the run's own
	spec   pawl.Hash // the task; zero = the run's goal
}

// publishes reports whether the run's branch gets one commit for each task that has landed.
func (s *State) publishes() bool { return s.Started.Attempts != "" }

// ResultHead returns the head of the run's branch, as far as is known; empty = it has not been made.
func (s *State) ResultHead() pawl.CommitHash {
	if s.publishes() {
		return s.result.head
	}
	return s.head()
}

// landedIn records that children have landed in a loop, one with each link of the chain.
func (s *State) landedIn(p *Loop, carrier *Loop, b *land.Batch) {
	if p.Parent != 0 || !s.publishes() {
		return
	}
	for _, link := range b.Chain {
		k := s.member(carrier, p, &b.Members[link.Member])
		s.due(landed{commit: link.Made.Commit, title: k.task.Title, task: k.task.ID, spec: k.task.Spec})
	}
}

// wentBackTo records that the root's branch went back, if there is work of children in the run's.
func (s *State) wentBackTo(l *Loop, b *pawl.Restored, label string) {
	if l.Parent == 0 && s.publishes() && l.Kind.Children != nil {
		s.due(landed{commit: b.Commit, title: "Go back to " + label})
	}
}

func (s *State) due(w landed) { s.result.due = append(slices.Clip(s.result.due), w) }

// publishDue brings what has landed into the run's branch, one commit after the other, and reports
// whether all of it is there, or the branch not made yet.
func (d *draft) publishDue(l *Loop) bool {
	if l.Parent != 0 || len(d.s.result.due) == 0 || !l.HasWorkspace {
		return true
	}
	d.publish(l, d.s.result.due[0])
	return false
}

// publishWork brings the root's own work, which has passed, into the run's branch, and reports
// whether it is there.
func (d *draft) publishWork(l *Loop) bool {
	if l.Parent != 0 || !d.s.publishes() || d.s.result.of == l.Head {
		return true
	}
	d.publish(l, landed{commit: l.Head, title: d.s.Started.Title})
	return false
}

func (d *draft) publish(l *Loop, w landed) {
	if len(l.open) > 0 {
		return
	}
	d.onWorktree(l, "publish", pawl.CrashProbe, &pawl.Publish{
		Branch: d.s.Started.Branch, From: d.s.known(l), Of: w.commit,
		Title: brief.Cut(w.title, 120), TaskID: w.task, Task: w.spec, Author: d.s.Started.Author, Time: d.at,
	})
}

// known returns where the run's branch is, as far as is known.
func (s *State) known(root *Loop) pawl.CommitHash { return cmp.Or(s.result.head, root.Base) }

// published records that the run's branch has the tree of a commit.
func (s *State) published(do *pawl.Publish, b *pawl.Published) error {
	if !s.publishes() {
		return fmt.Errorf("nothing is published on branch %s", do.Branch)
	}
	r := &s.result
	r.head, r.of = b.Commit, do.Of
	if len(r.due) > 0 && r.due[0].commit == do.Of {
		r.due = r.due[1:]
	}
	return nil
}

// resultFound records where the run's branch was when the root's worktree was opened.
func (s *State) resultFound(l *Loop, b *pawl.WorkspaceOpened) {
	if l.Parent == 0 && b.Result != "" {
		s.result.head = b.Result
	}
}
