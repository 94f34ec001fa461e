package gitworktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

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
	if err != nil {
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
