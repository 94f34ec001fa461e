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
	release func()        // lets its store go
	ready   chan struct{} // closed when it is made, or was not
	err     error
}

// Checkout makes a clean, detached checkout of a commit for gates. The same
// commit gives the same folder while it is held; release lets it go. It is a
// repository, so that git status, git diff and git describe work in it where
// what [Workspaces.Visible] names can be read, and nothing above it is found.
// What gates write there is seen by whoever holds it, and by nobody after them.
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
			c.release, c.err = s.makeCheckout(ctx, name)
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
func (s *Workspaces) makeCheckout(ctx context.Context, commit string) (release func(), err error) {
	if err := s.removeCheckout(commit)(); err != nil {
		return nil, err
	}
	base, release, err := s.stores.near(ctx, commit)
	if err == nil {
		err = s.checkOut(ctx, commit, base)
	}
	return release, err
}

// checkOut writes the files of a checkout. Its git folder is in it: a .git file would
// do for git, but the go command takes none and looks on in the folders above.
func (s *Workspaces) checkOut(ctx context.Context, commit, base string) error {
	dir := s.checkoutDir(commit)
	entry := filepath.Join(dir, ".git")
	if err := os.MkdirAll(entry, 0o755); err != nil {
		return err
	}
	repo := s.engine
	repo.WorkTree, repo.Index = dir, filepath.Join(entry, "index")
	err := repo.CheckOut(ctx, commit)
	if err == nil {
		err = s.writeView(entry, base, "")
	}
	if err == nil {
		err = s.supply(ctx, entry, &view{Base: base, Tip: base}, commit, nil)
	}
	if err == nil {
		err = s.showTags(ctx, entry, base, commit)
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(entry, "HEAD"), []byte(commit+"\n"), 0o644)); err != nil {
		return err
	}
	return giveAll(dir, s.owner())
}

// letGo counts a holder out and removes the checkout after the last.
func (s *Workspaces) letGo(commit string, c *checkout) {
	s.mu.Lock()
	if c.holders--; c.holders > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.checkouts, commit)
	if c.release != nil {
		c.release()
	}
	remove := s.removeCheckout(commit)
	s.mu.Unlock()
	if err := remove(); err != nil {
		s.log.Warn("a checkout could not be removed", "commit", commit, "error", err)
	}
}

// removeCheckout takes a checkout away, if it is there, so that the place is free
// at once. The function it returns deletes what was taken away, which may be
// much, and reports how both went.
func (s *Workspaces) removeCheckout(commit string) (remove func() error) {
	if !exists(s.checkoutDir(commit)) {
		return func() error { return nil }
	}
	moved, err := moveAway(s.checkoutDir(commit), filepath.Join(s.state, "trash"), commit)
	return func() error {
		if err != nil {
			return err
		}
		return removeAll(filepath.Dir(moved))
	}
}
