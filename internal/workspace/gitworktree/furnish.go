package gitworktree

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/git"
)

// What was prepared for a worktree's commit, such as node_modules, is below its files where
// they are joined, and else copied among them. No git of ours or of a command records it: its
// paths are excluded as those in .gitignore are.

// furniturePath returns the file that notes what was put into the worktree.
func (w *worktree) furniturePath() string { return filepath.Join(w.desk, furnitureName) }

const furnitureName = "furniture.json"

// excludePath returns the file with the patterns that exclude it.
func (w *worktree) excludePath() string { return filepath.Join(w.desk, "exclude") }

// readFurniture reads what an earlier process put into the worktree.
func (w *worktree) readFurniture() {
	if content, err := os.ReadFile(w.furniturePath()); err == nil {
		_ = json.Unmarshal(content, &w.furniture) // written whole, by us alone
	}
}

// Furnish puts what was prepared into the named worktree, in place of what an earlier call put
// there.
func (s *Workspaces) Furnish(ctx context.Context, name string, prepared pawl.Furniture) error {
	w, unlock, err := s.enter(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	return explain("furnish worktree "+name, w.furnish(ctx, prepared))
}

func (w *worktree) furnish(ctx context.Context, prepared pawl.Furniture) error {
	if w.s.trees() == nil {
		return pawl.Errorf(pawl.CodeUnavailable, "nothing can be prepared where there are no rooms")
	}
	at := w.files
	if w.lower != "" {
		at = filepath.Join(w.folder, upperName, filesName)
	}
	if prepared.PreparedFor == w.furniture.PreparedFor && !w.meddled(at) {
		return nil
	}
	if err := w.part(); err != nil {
		return err
	}
	// Until all is there, what was and what will be is excluded.
	both := pawl.Furniture{Paths: slices.Concat(w.furniture.Paths, prepared.Paths)}
	if err := w.noteFurniture(both); err != nil {
		return err
	}
	if err := removeBelow(at, both.Paths); err != nil {
		return err
	}
	if w.lower == "" && prepared.Key != "" {
		if err := w.s.trees().Copy(ctx, at, prepared.PreparedFor); err != nil {
			return err
		}
	}
	if err := w.noteFurniture(prepared); err != nil {
		return err
	}
	if err := w.join(ctx); err != nil {
		return err
	}
	if w.furniture.PreparedFor != prepared.PreparedFor {
		return pawl.Errorf(pawl.CodeNotFound, "what was prepared under %s no longer exists", prepared.Key)
	}
	return w.writeView(w.view().Base)
}

// meddled reports whether commands wrote to what was put into the worktree. Of a worktree that
// is not joined it only says whether something is gone.
func (w *worktree) meddled(at string) bool {
	return slices.ContainsFunc(w.furniture.Paths, func(path string) bool {
		return exists(filepath.Join(at, filepath.FromSlash(path))) == (w.lower != "")
	})
}

// noteFurniture makes a note of what is in the worktree besides its own files, and excludes it.
func (w *worktree) noteFurniture(f pawl.Furniture) error {
	content, err := json.Marshal(f)
	if err == nil {
		err = replaceFile(w.excludePath(), []byte(excluded(f.Paths)), true)
	}
	if err == nil {
		err = writeFile(w.furniturePath(), content)
	}
	if err == nil {
		w.furniture = f
	}
	return err
}

// removeBelow removes paths below a folder that an agent wrote to. It does not leave the
// folder, wherever links lead.
func removeBelow(folder string, paths []string) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, path := range paths {
		name := filepath.FromSlash(path)
		if !unlinked(root, filepath.Dir(name)) { // went with the folder it was in
			continue
		}
		err := root.RemoveAll(name)
		if errors.Is(err, os.ErrPermission) { // an agent may have made folders unwritable
			openUp(filepath.Join(folder, name))
			err = root.RemoveAll(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlinked reports whether a path is a folder that no link leads to.
func unlinked(root *os.Root, path string) bool {
	for ; path != "."; path = filepath.Dir(path) {
		if info, err := root.Lstat(path); err != nil && !errors.Is(err, os.ErrPermission) || err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}

// excluded returns patterns that exclude exactly the given paths.
func excluded(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		b.WriteString("/" + literal.Replace(path) + "\n")
	}
	return b.String()
}

// literal makes a path a pattern that excludes nothing else.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)

// excluding makes a repository exclude what was put into the worktree.
func (w *worktree) excluding(r git.Repo) git.Repo {
	if len(w.furniture.Paths) > 0 {
		r.Config = append(slices.Clip(r.Config), git.Setting{Key: "core.excludesFile", Value: w.excludePath()})
	}
	return r
}

// Furnished returns the keys of what was put into worktrees.
func (s *Workspaces) Furnished() []string {
	notes, _ := filepath.Glob(filepath.Join(escapeGlob(s.desks()), "*", furnitureName)) // the pattern is good
	var keys []string
	for _, path := range notes {
		var f pawl.Furniture
		if content, err := os.ReadFile(path); err == nil && json.Unmarshal(content, &f) == nil && f.Key != "" {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Snapshot makes a commit of a recorded tree, on no branch.
func (s *Workspaces) Snapshot(ctx context.Context, tree pawl.TreeHash) (pawl.CommitHash, error) {
	if err := checkHashes(tree); err != nil {
		return "", err
	}
	commit, err := s.writeCommit(ctx, pawl.Identity{}, string(tree), nil, "A snapshot of a worktree\n", time.Unix(0, 0))
	return pawl.CommitHash(commit), explain("make a commit of tree "+string(tree), err)
}

// Objects returns the files of a commit whose paths match, with their object ids.
func (s *Workspaces) Objects(ctx context.Context, commit pawl.CommitHash, match func(path string) bool) (map[string]string, error) {
	if err := checkHashes(commit); err != nil {
		return nil, err
	}
	entries, err := s.engine.Files(ctx, string(commit))
	if err != nil {
		return nil, explain("list the files of "+string(commit), s.lacking(ctx, err, commit))
	}
	found := map[string]string{}
	for _, e := range entries {
		if match(e.Name) {
			found[e.Name] = e.Hash
		}
	}
	return found, nil
}
