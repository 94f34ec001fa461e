// Package project is the layout of a project's state folder and the lock on it.
//
//	$XDG_STATE_HOME/pawl/
//	    daemon.lock     held by the one process that serves all projects; says which one
//	    daemon.sock     where it serves (daemon.lock names it)
//	    daemon.log      what it did, when it has no terminal; daemon.log.1 is the one before
//
//	$XDG_STATE_HOME/pawl/<hash of the place of the repository's git folder at first>/
//	    project.json    which repository this is the state of
//	    writer.lock     held by the one process that may write; says which one
//	    pawl.sock       where a process serves that has this project alone (writer.lock names it)
//	    pawl.db, blobs/ the log
//	    git/, worktrees/, checkouts/, tmp/   what internal/workspace keeps
//	    homes/<run>/    files that a run's tools are writing
//	    allowed/        what the user allowed the repository, one file a decision
//	    rooms/, layers/ what commands write, and what was prepared: see internal/room
//	    cache/          the trusted cache, by layers
//
// Only the user can enter the folders. What another user owns there, and a way to them that
// leads over another user's link, is refused.
package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"pawl"
)

// ErrOutside means that a folder is in no repository.
var ErrOutside = errors.New("it is in no repository")

// Project is a repository and its state folder.
type Project struct {
	Repo pawl.Repository
	Dir  string // the state folder

	identity string // what the repository is known by; empty = by its place
	inode    uint64 // of the git folder; 0 = not known
}

// ID is what the project is called where there are many: the name of its state folder.
func (p Project) ID() string { return filepath.Base(p.Dir) }

// At is the project of a repository, with its state below stateHome
// ($XDG_STATE_HOME). The folder is made when it is not there. A repository that was moved is
// found again, and none gets the runs of another one: see [Home.Attach].
func At(stateHome string, repo pawl.Repository) (Project, error) {
	home := HomeAt(stateHome)
	if err := home.Check(); err != nil {
		return Project{}, err
	}
	p, err := home.find(repo)
	if err != nil {
		return p, err
	}
	if err := private(p.Dir); err != nil {
		return p, unmade(err)
	}
	if err := p.describe(); err != nil {
		return p, Unwritable(fmt.Errorf("describe the project: %w", err))
	}
	return p, nil
}

// private makes a folder that only the user can enter, or makes it so. It refuses what
// another user may have put there.
func private(dir string) error {
	if err := checkFolder(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// description is project.json: for people, whom the folder's name does not tell whose
// state it is, and for whoever looks at all projects there are.
type description struct {
	GitDir string `json:"git_dir"`
	// Root is the work tree it was reached from last; empty in a file of an older Pawl.
	Root string `json:"root,omitempty"`
	// Identity is what the repository has in its git folder, and Inode the number of that
	// folder: with both, it was moved and not copied. Zero when they are not known.
	Identity string `json:"identity,omitempty"`
	Inode    uint64 `json:"inode,omitempty"`
}

// describe writes project.json, and gives a repository that has none an identity.
func (p *Project) describe() error {
	if i := identify(p.Repo.GitDir); !i.unknown {
		p.identity = i.id
	}
	p.inode = inode(p.Repo.GitDir)
	about, err := json.MarshalIndent(description{p.Repo.GitDir, p.Repo.Root, p.identity, p.inode}, "", "  ")
	if err != nil {
		return err
	}
	about = append(about, '\n')
	name := filepath.Join(p.Dir, "project.json")
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, about) {
		return nil
	}
	return Replace(name, about)
}

// Replace gives a file a new content at once: nobody sees half of it.
func Replace(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Temp is a folder for the files that a run's tools are writing; it is made when it is
// not there.
func (p Project) Temp(run pawl.RunID) (string, error) {
	if !filepath.IsLocal(string(run)) {
		return "", pawl.Errorf(pawl.CodeInvalid, "%q is not a run's id", run)
	}
	dir := filepath.Join(p.homes(), string(run))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a temporary folder: %w", err)
	}
	return dir, nil
}

func (p Project) homes() string { return filepath.Join(p.Dir, "homes") }

// RemoveTemp removes what [Project.Temp] made, if it did.
func (p Project) RemoveTemp(run pawl.RunID) error {
	return removeIn(p.homes(), string(run))
}

// RemoveAll removes a folder of the state folder, if it is there. Commands may have
// left anything in it: nothing outside is touched, wherever links lead, and folders
// without permissions go too.
func RemoveAll(dir string) error { return removeIn(filepath.Dir(dir), filepath.Base(dir)) }

// removeIn removes what is called name in a folder. A name that leads out of the
// folder is refused.
func removeIn(folder, name string) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s in %s: %w", name, folder, err)
	}
	defer root.Close()
	err = root.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		openUp(root, name)
		err = root.RemoveAll(name)
	}
	if err != nil {
		return fmt.Errorf("remove %s in %s: %w", name, folder, err)
	}
	return nil
}

// OpenUp makes everything below a folder readable for its owner, and folders writable, as far
// as it can.
func OpenUp(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	openUp(root, ".")
	return nil
}

// openUp is [OpenUp] for what is called name in a folder.
func openUp(root *os.Root, name string) {
	open := func(path string, info fs.FileInfo) error {
		switch mode := info.Mode(); {
		case mode.IsDir() && mode&0o700 != 0o700:
			_ = root.Chmod(path, mode|0o700)
		case mode.IsRegular() && mode&0o400 == 0:
			_ = root.Chmod(path, mode|0o400)
		}
		return nil
	}
	if info, err := root.Lstat(name); err == nil {
		_ = open(name, info)
		_ = Walk(root, name, open)
	}
}

// Walk calls visit for everything below a folder, a folder before what is in it. It follows
// no link. [fs.WalkDir] over root.FS() fails at a folder whose name is not UTF-8.
func Walk(root *os.Root, folder string, visit func(path string, info fs.FileInfo) error) error {
	f, err := root.Open(folder)
	if err != nil {
		return err
	}
	entries, err := f.Readdir(-1)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, info := range entries {
		path := filepath.Join(folder, info.Name())
		if err := visit(path, info); err != nil {
			return err
		}
		if info.IsDir() {
			if err := Walk(root, path, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Socket is where a process serves that has this project alone.
func (p Project) Socket() string { return socketAt(p.Dir, "pawl.sock", filepath.Base(p.Dir)) }

// socketAt is a socket in a folder. A unix socket's path has room for about a
// hundred bytes: where the folder's is longer, the socket is below /tmp, under
// another name, in a folder only this user can enter.
func socketAt(dir, name, short string) string {
	if path := filepath.Join(dir, name); len(path) < maxSocketPath {
		return path
	}
	return filepath.Join("/tmp", "pawl-"+strconv.Itoa(os.Getuid()), short+".sock")
}

// CheckSocket refuses a socket that another user may have made: what is sent to it has keys
// in it.
func CheckSocket(path string) error {
	if err := checkOwner(filepath.Dir(path)); err != nil {
		return err
	}
	return checkOwner(path)
}

// maxSocketPath is what every system has room for: 104 bytes are the least.
const maxSocketPath = 100
