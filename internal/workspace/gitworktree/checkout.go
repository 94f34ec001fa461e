package gitworktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"pawl"
)

// checkout is a clean checkout that is being made, or held.
type checkout struct {
	holders int
	ready   chan struct{} // closed when it is made, or was not
	err     error
}

// Checkout makes a clean, detached checkout of a commit for gates. The same
// commit gives the same folder while it is held; release lets it go. It is a
// worktree as git knows it, so that git status, git diff and git describe work
// in it where what [Workspaces.Visible] names can be read. What gates write there
// is seen by whoever holds it, and nobody after them.
func (s *Workspaces) Checkout(ctx context.Context, commit pawl.CommitHash) (dir string, release func(), err error) {
	if _, err := s.commit(ctx, commit); err != nil {
		return "", nil, err
	}
	name := string(commit)
	for {
		s.mu.Lock()
		c, found := s.checkouts[name]
		if !found {
			c = &checkout{ready: make(chan struct{})}
			s.checkouts[name] = c
		}
		c.holders++
		s.mu.Unlock()
		if !found {
			c.err = s.makeCheckout(ctx, name)
			close(c.ready)
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
			s.letGo(name, c)
			return "", nil, context.Cause(ctx)
		}
		if c.err == nil {
			return s.checkoutDir(name), sync.OnceFunc(func() { s.letGo(name, c) }), nil
		}
		s.letGo(name, c)
		if !found || ctx.Err() != nil {
			return "", nil, explain("check out "+name, c.err)
		}
		// Whoever made it did not finish; perhaps their time was over, not ours.
	}
}

func (s *Workspaces) checkoutDir(commit string) string {
	return filepath.Join(s.state, "checkouts", commit)
}

// makeCheckout makes the folder of a checkout, after what a dead process may
// have left of it.
func (s *Workspaces) makeCheckout(ctx context.Context, commit string) error {
	if err := s.removeCheckout(commit)(); err != nil {
		return err
	}
	dir, entry := s.checkoutDir(commit), s.checkoutEntry(commit)
	for _, folder := range []string{dir, entry} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	repo := s.engine
	repo.WorkTree, repo.Index = dir, filepath.Join(entry, "index")
	if err := repo.CheckOut(ctx, commit); err != nil {
		return err
	}
	return errors.Join(
		s.pointer(ctx, dir, entry),
		writeIfOther(filepath.Join(entry, "gitdir"), filepath.Join(dir, ".git")+"\n"),
		writeIfOther(filepath.Join(entry, "commondir"), "../..\n"),
		writeIfOther(filepath.Join(entry, "HEAD"), commit+"\n"),
	)
}

// checkoutEntry is the checkout's entry in the repository that worktrees point
// to. No worktree's name has an @ in front.
func (s *Workspaces) checkoutEntry(commit string) string {
	return filepath.Join(s.shown(), "worktrees", "@"+commit)
}

// letGo counts a holder out and removes the checkout after the last.
func (s *Workspaces) letGo(commit string, c *checkout) {
	s.mu.Lock()
	if c.holders--; c.holders > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.checkouts, commit)
	remove := s.removeCheckout(commit)
	s.mu.Unlock()
	if err := remove(); err != nil {
		s.log.Warn("a checkout could not be removed", "commit", commit, "error", err)
	}
}

// removeCheckout takes a checkout and its entry away, if they are there, so that
// the place is free at once. The function it returns deletes what was taken away,
// which may be much, and reports how both went.
func (s *Workspaces) removeCheckout(commit string) (remove func() error) {
	err := removeAll(s.checkoutEntry(commit))
	moved := ""
	if err == nil && exists(s.checkoutDir(commit)) {
		moved, err = moveAway(s.checkoutDir(commit), filepath.Join(s.state, "trash"), commit)
	}
	return func() error {
		if moved == "" {
			return err
		}
		return removeAll(filepath.Dir(moved))
	}
}
