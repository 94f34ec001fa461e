package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/git/index"
)

// A worktree is recorded in this process where package index can do it, and else by git,
// which is always right and starts five processes. Both begin with the worktree's index
// file; what this process knows beyond it is kept in memory and written to it when somebody
// else reads it.

// memory is what this process knows of a worktree's index.
type memory struct {
	index *index.Index
	file  fs.FileInfo // of the index file that it was read from or written to
	newer bool        // it knows more than the file
	// trees are the entries of trees of the commit that the worktree lies on.
	commit string
	trees  map[string][]git.Entry
}

// leavesToGit returns why git has to record all worktrees of the repository; empty if package
// index knows how to treat it.
func (s *Workspaces) leavesToGit() index.Reason {
	config := strings.ToLower(readPlain(filepath.Join(s.engine.Dir, "config")))
	isSet := func(key string) bool {
		return slices.ContainsFunc(s.engine.Config, func(c git.Setting) bool { return c.Key == key })
	}
	switch {
	case strings.Contains(config, "objectformat"):
		return index.ReasonFormat
	case isSet("core.sharedRepository"):
		return index.ReasonShared
	case !strings.Contains(config, "filemode = true"), strings.Contains(config, "symlinks = false"), len(s.engine.Config) > 0:
		return index.ReasonSystem
	}
	return ""
}

// recordDirectly records the worktree in this process, with .pawl/tasks as well if all is
// set. If only is not empty, nothing else than this path has changed since the last call.
func (w *worktree) recordDirectly(ctx context.Context, all bool, only string) (r, full record, err error) {
	if w.s.byGit != "" {
		return r, full, &index.Unsupported{Reason: w.s.byGit}
	}
	m, err := w.recall()
	if err != nil {
		return r, full, err
	}
	w.memory = nil // until all is well
	began, err := w.now()
	if err != nil {
		return r, full, err
	}
	rules, err := w.rules()
	if err != nil {
		return r, full, err
	}
	put := &staging{w: w}
	defer put.close()
	found, err := m.index.Update(ctx, w.files, put, index.Options{
		Began: began, Apart: tasks, WithApart: all, Only: only, Rules: rules,
		Refused:    func(path string) bool { return pawl.RefusedName(path) != "" },
		Ignored:    w.repo(w.index()).Ignored,
		MaxFile:    min(w.limits.MaxFile, maxDirect),
		MaxBytes:   min(w.limits.MaxNewBytes, 4*maxDirect),
		MaxUnknown: min(w.limits.MaxNewFiles, maxOmitted),
	})
	if err == nil {
		err = w.compare(ctx, m, put)
	}
	if err == nil {
		err = put.settle()
	}
	if err == nil {
		err = w.reached()
	}
	if err != nil {
		return r, full, err
	}
	_ = w.s.recorded("")
	m.newer = true
	w.memory, w.listed = m, m.index.Len()
	if found.Outdated {
		if _, err := w.remember(false); err != nil {
			w.memory = nil
			return r, full, err
		}
	}
	return record{tree: found.Hash, index: w.index()}, record{tree: found.Full, index: w.index()}, nil
}

// maxDirect bounds the bytes of a file that is read into memory.
const maxDirect = 32 << 20

// recall returns what is known of the worktree's index. It reads the file if somebody else
// wrote it.
func (w *worktree) recall() (*memory, error) {
	info, err := os.Stat(w.index())
	if err != nil {
		return nil, &index.Unsupported{Reason: index.ReasonVersion, Err: err}
	}
	if m := w.memory; m != nil && os.SameFile(m.file, info) && m.file.ModTime().Equal(info.ModTime()) && m.file.Size() == info.Size() {
		return m, nil
	}
	data, err := os.ReadFile(w.index())
	if err != nil {
		return nil, &index.Unsupported{Reason: index.ReasonVersion, Err: err}
	}
	x, err := index.Read(data, info.ModTime())
	if err != nil {
		return nil, err
	}
	return &memory{index: x, file: info}, nil
}

// now returns the time by the clock of the file system.
func (w *worktree) now() (time.Time, error) {
	path := filepath.Join(w.desk, "now")
	if err := os.WriteFile(path, []byte{'x'}, 0o600); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// rules returns the patterns that exclude paths besides the .gitignore files; empty if there
// are none.
func (w *worktree) rules() (string, error) {
	var rules strings.Builder
	files := []string{filepath.Join(w.s.engine.Dir, "info", "exclude")}
	if len(w.furniture.Paths) > 0 {
		files = append(files, w.excludePath())
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "#") {
				rules.WriteString(line + "\n")
			}
		}
	}
	return rules.String(), nil
}

// compare makes sure that everything that the worktree's commit lacks is in the repository,
// and that it is not too much.
func (w *worktree) compare(ctx context.Context, m *memory, put *staging) error {
	var elsewhere []string // objects that are no files of their own, but may be in packs
	err := w.s.reading(ctx, func(objects *git.Objects) error {
		if m.commit != w.at() {
			m.commit, m.trees = w.at(), map[string][]git.Entry{}
		}
		commit, err := objects.Commit(w.at())
		if err != nil {
			return &index.Unsupported{Reason: index.ReasonMissing, Err: err}
		}
		added, err := m.index.Compare(commit.Tree, func(tree string) ([]git.Entry, error) {
			entries, known := m.trees[tree]
			if !known {
				if entries, err = objects.Tree(tree); err != nil {
					return nil, err
				}
				m.trees[tree] = entries
			}
			return entries, nil
		}, func(hash string) {
			if !put.has(hash) {
				elsewhere = append(elsewhere, hash)
			}
		})
		if errors.Is(err, git.ErrMissing) {
			return &index.Unsupported{Reason: index.ReasonMissing, Err: err}
		}
		if err == nil && added > w.limits.MaxNewFiles {
			return &index.Unsupported{Reason: index.ReasonLimit}
		}
		return err
	})
	if err != nil || len(elsewhere) == 0 {
		return err
	}
	// A git process that stays may still read packs that are gone.
	missing, err := w.s.user.Missing(ctx, elsewhere)
	if err == nil && len(missing) > 0 {
		err = &index.Unsupported{Reason: index.ReasonMissing, Err: fmt.Errorf("object %s: %w", missing[0], git.ErrMissing)}
	}
	return explain("look for objects", err)
}

// remember writes what this process knows to the worktree's index file, for git, and returns
// the path of an index that has .pawl/tasks as well if all is set.
func (w *worktree) remember(all bool) (string, error) {
	m := w.memory
	if m == nil {
		return w.index(), nil
	}
	if m.newer {
		if err := w.writeIndex(w.index(), m.index.Encode(false, tasks)); err != nil {
			return "", err
		}
		info, err := os.Stat(w.index())
		if err != nil {
			return "", err
		}
		m.file, m.newer = info, false
	}
	if !all || !m.index.HasApart() {
		return w.index(), nil
	}
	return w.full(), w.writeIndex(w.full(), m.index.Encode(true, tasks))
}

// writeIndex writes an index file, which a power cut may take.
func (w *worktree) writeIndex(path string, content []byte) error {
	return explain("write the index of worktree "+w.name, replaceFile(path, content, false))
}
