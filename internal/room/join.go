package room

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
)

// joined implements [pawl.Joined]. There is one for each folder: an upper folder may be
// mounted only once, so a room over the same files takes over the process that holds them.
type joined struct {
	dir    string
	mount  *Mount
	opened Held
}

// treePath is where joined layers are shown in their folder.
func treePath(dir string) string { return filepath.Join(dir, "tree") }

// Joins implements [pawl.Trees].
func (r *Rooms) Joins(dir string) bool {
	return r.o.Enforcer.Mounts() && r.o.Enforcer.Overlay(dir)
}

// Join implements [pawl.Trees].
func (r *Rooms) Join(_ context.Context, dir, lower string, prepared pawl.PreparedFor) (pawl.Joined, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.joined[dir]; j != nil {
		return j, nil
	}
	below, err := r.checkout(lower)
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", dir, err)
	}
	layers := []Layer{below}
	if prepared.Key != "" {
		p, err := r.preparedLayer(prepared.Run, prepared.Key, false)
		if err != nil {
			return nil, fmt.Errorf("join %s: %w", dir, err)
		}
		if p == nil {
			return nil, pawl.Errorf(pawl.CodeNotFound, "what was prepared under %s no longer exists", prepared.Key)
		}
		layers = append(layers, p.tree())
	}
	if !r.Joins(r.o.State) {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "%s cannot be joined with %s: overlayfs does not work here", dir, lower).
			WithHint("its files were made with overlayfs, which needs the sandbox: make that work again (see pawl doctor)")
	}
	upper := Upper{dir}
	for _, path := range []string{treePath(dir), upper.Files(), upper.Work()} {
		if err := r.mkdir(path); err != nil {
			return nil, err
		}
	}
	j := &joined{dir: dir, mount: &Mount{Path: treePath(dir), Lower: layers, Upper: upper}}
	d := &Description{Name: strings.TrimPrefix(dir, r.o.State+"/"), Joined: j.mount}
	if j.opened, err = r.o.Enforcer.Join(d); err != nil {
		return nil, err
	}
	r.joined[dir] = j
	return j, nil
}

// Copy implements [pawl.Trees].
func (r *Rooms) Copy(_ context.Context, dir string, prepared pawl.PreparedFor) error {
	p, release, err := r.usePrepared(prepared.Run, prepared.Key, false)
	if err != nil {
		return err
	}
	defer release()
	if err := r.copyInto(dir, p.work().dir); err != nil {
		return fmt.Errorf("copy what was prepared: %w", err)
	}
	return nil
}

// Part implements [pawl.Trees].
func (r *Rooms) Part(dir string) error {
	r.mu.Lock()
	j := r.joined[dir]
	delete(r.joined, dir)
	r.mu.Unlock()
	if j == nil {
		return nil
	}
	return j.opened.Close()
}

// Reach implements [pawl.Joined].
func (j *joined) Reach() (string, error) { return j.opened.ReachJoined() }

// Run implements [pawl.Joined].
func (j *joined) Run(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	return j.opened.Exec(ctx, cmd, grace)
}

// reach returns the path by which this process reaches a path in what is joined.
func (j *joined) reach(path string) (string, error) {
	at, err := j.Reach()
	return at + strings.TrimPrefix(path, j.mount.Path), err
}

// joinedAt returns what is joined at a path or above it; nil if nothing is. The caller
// holds the mutex.
func (r *Rooms) joinedAt(path string) *joined {
	for _, j := range r.joined {
		if contains(j.mount.Path, path) {
			return j
		}
	}
	return nil
}
