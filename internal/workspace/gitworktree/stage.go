package gitworktree

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pawl/internal/git"
)

// What a recording stores goes to a folder of the worktree's own first, and from there
// to the user's repository, object by object. A git that is ended while it adds leaves
// its temporary objects behind: so they are never in the user's repository.

// staged is where a recording's objects go first.
func (w *worktree) staged() string { return filepath.Join(w.desk, "objects") }

// recording is repo for what a recording stores.
func (w *worktree) recording(index string) git.Repo {
	r := w.repo(index)
	r.Store = w.staged()
	return r
}

// stage makes the folder for new objects, which borrows all others.
func (w *worktree) stage() error {
	return writeIfOther(filepath.Join(w.staged(), "info", "alternates"), w.s.engine.Store+"\n")
}

// settle moves the objects to the user's repository, and removes what a git that was
// ended has left.
func (w *worktree) settle() error {
	folders, err := os.ReadDir(w.staged())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store objects: %w", err)
	}
	for _, folder := range folders {
		from := filepath.Join(w.staged(), folder.Name())
		if len(folder.Name()) == 2 { // the first two digits of a hash
			err = w.settleFolder(from, filepath.Join(w.s.engine.Store, folder.Name()))
		} else if folder.Name() != "info" {
			err = os.RemoveAll(from)
		}
		if err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
	}
	return nil
}

func (w *worktree) settleFolder(from, to string) error {
	objects, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := makeLike(to, w.s.engine.Store); err != nil {
		return err
	}
	for _, o := range objects {
		at := filepath.Join(from, o.Name())
		if len(o.Name()) < 38 { // temporary
			err = os.Remove(at)
		} else {
			err = moveFile(at, filepath.Join(to, o.Name()))
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// makeLike makes a folder that is shared as another one is.
func makeLike(folder, like string) error {
	if err := os.Mkdir(folder, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	return os.Chmod(folder, info.Mode()&(fs.ModePerm|fs.ModeSetgid))
}

// moveFile moves a file, to another file system as well. There is never half a file.
func moveFile(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), "tmp_obj_*") // which git removes in time, and so do we
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // gone already when all went well
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(info.Mode())
	}
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), to); err != nil {
		return err
	}
	return os.Remove(from)
}

// staging stores the objects of a recording that is made in this process: first as temporary
// files, which one flush makes durable, and then in the user's repository.
type staging struct {
	w    *worktree
	made []string        // hashes, in order
	new  map[string]bool // the same
	last *os.File        // the file that was written last, open
}

// temporary is where an object is until it is durable.
func (p *staging) temporary(hash string) string {
	return filepath.Join(p.w.staged(), "direct-"+hash)
}

// loose is where an object is in the user's repository.
func (p *staging) loose(hash string) string {
	return filepath.Join(p.w.s.engine.Store, hash[:2], hash[2:])
}

// has reports whether an object was put, or is in the user's repository as a file of its own.
func (p *staging) has(hash string) bool { return p.new[hash] || exists(p.loose(hash)) }

// Put implements [index.Store].
func (p *staging) Put(o git.Object) error {
	if p.new[o.Hash] {
		return nil
	}
	now := time.Now()
	if os.Chtimes(p.loose(o.Hash), now, now) == nil { // so that no git gc removes it soon
		return nil
	}
	data, err := o.Loose()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.w.staged(), 0o755); err != nil {
		return err
	}
	path := p.temporary(o.Hash)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = writeOut(f)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	p.close()
	p.last = f
	if p.new == nil {
		p.new = map[string]bool{}
	}
	p.new[o.Hash], p.made = true, append(p.made, o.Hash)
	return nil
}

// settle makes the objects durable and moves them to the user's repository.
func (p *staging) settle() error {
	if p.last != nil {
		if err := p.last.Sync(); err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
	}
	for _, hash := range p.made {
		to := p.loose(hash)
		err := makeLike(filepath.Dir(to), p.w.s.engine.Store)
		if err == nil {
			err = moveFile(p.temporary(hash), to)
		}
		if err != nil {
			return fmt.Errorf("store objects: %w", err)
		}
	}
	return p.w.settle() // what a process left that was killed
}

// close closes the file that is open.
func (p *staging) close() {
	if p.last != nil {
		_ = p.last.Close()
		p.last = nil
	}
}

// storeObject stores an object in the user's repository, durably.
func (s *Workspaces) storeObject(o git.Object) error {
	to := filepath.Join(s.engine.Store, o.Hash[:2], o.Hash[2:])
	now := time.Now()
	if os.Chtimes(to, now, now) == nil {
		return nil
	}
	data, err := o.Loose()
	if err == nil {
		err = makeLike(filepath.Dir(to), s.engine.Store)
	}
	if err != nil {
		return err
	}
	// Git removes such a file in time, and so do we.
	f, err := os.OpenFile(filepath.Join(filepath.Dir(to), "tmp_obj_"+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
