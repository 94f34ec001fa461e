// Package instructions reads what a repository tells whoever works on it: AGENTS.md
// and CLAUDE.md in any folder, the rules of other tools, and what these import. They
// are read from a commit, never from a folder that somebody may be writing in, and
// they are data: cleaned, and bounded in number and size.
package instructions

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/plain"
)

// The limits on what is shown, in bytes and in files.
const (
	maxFile  = 32_000 // of one file
	maxAll   = 64_000 // of all of them together
	minText  = 500    // what is left of maxAll is not worth a start that is shorter
	margin   = 4096   // is read beyond maxFile, so that no part of a secret is left where a text is cut
	maxFiles = 50
	maxPath  = 500 // bytes; files with longer paths are counted and not listed
	maxDepth = 5   // of imports within imports
	maxLinks = 16
	maxLink  = 4096 // of a symbolic link's target
)

// Read returns the instructions in a commit: those that hold everywhere first, then
// those of folders, outer ones before inner ones, and each file before what it imports.
// Texts pass through redact, which may be nil.
func Read(ctx context.Context, repo *git.Resident, commit pawl.CommitHash, redact func([]byte) []byte) (pawl.Instructions, error) {
	files, err := repo.Files(ctx, string(commit))
	if err != nil {
		return pawl.Instructions{}, err
	}
	found := candidates(files)
	if len(found) == 0 {
		return pawl.Instructions{}, nil
	}
	r := &reader{redact: redact, left: maxAll, listed: map[string]bool{}, trees: map[string][]git.Entry{}, texts: map[pawl.Hash]bool{}}
	err = repo.Objects(ctx, func(objects *git.Objects) error {
		c, err := objects.Commit(string(commit))
		if err != nil {
			return err
		}
		r.objects, r.root = objects, c.Tree
		for _, f := range found {
			if err := r.add(f.path, f.folder, 0); err != nil {
				return fmt.Errorf("read %q: %w", f.path, err)
			}
		}
		return nil
	})
	if err != nil {
		return pawl.Instructions{}, err
	}
	return r.out, nil
}

// candidate is a file that tells something by its name.
type candidate struct {
	path, folder string
	kind         int // the place of its kind among those of one folder
}

func candidates(files []git.Entry) []candidate {
	var out []candidate
	for _, f := range files {
		if c, ok := recognize(f.Name); ok {
			out = append(out, c)
		}
	}
	depth := func(folder string) int {
		if folder == "" {
			return 0
		}
		return 1 + strings.Count(folder, "/")
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(depth(a.folder)-depth(b.folder), cmp.Compare(a.folder, b.folder), a.kind-b.kind, cmp.Compare(a.path, b.path))
	})
	return out
}

// recognize tells whether a file has instructions by its path, and for which folder.
// What was copied into the repository from other projects speaks of those.
func recognize(name string) (candidate, bool) {
	folder, base := path.Split(name)
	folder = strings.TrimSuffix(folder, "/")
	for part := range strings.SplitSeq(folder, "/") {
		if part == "node_modules" || part == "vendor" {
			return candidate{}, false
		}
	}
	above, isRule := "", false
	if i := strings.LastIndex("/"+folder+"/", "/.cursor/rules/"); i >= 0 {
		above, isRule = strings.TrimPrefix(("/" + folder)[:i], "/"), path.Ext(base) == ".mdc" || path.Ext(base) == ".md"
	}
	switch {
	case isRule:
		return candidate{name, above, 4}, true
	case base == "AGENTS.md":
		return candidate{name, folder, 0}, true
	case base == "CLAUDE.md":
		return candidate{name, strings.Trim(strings.TrimSuffix("/"+folder, "/.claude"), "/"), 1}, true
	case name == ".github/copilot-instructions.md":
		return candidate{name, "", 2}, true
	case name == ".cursorrules":
		return candidate{name, "", 3}, true
	}
	return candidate{}, false
}

type reader struct {
	objects *git.Objects
	redact  func([]byte) []byte
	root    string // the commit's tree
	trees   map[string][]git.Entry

	out    pawl.Instructions
	listed map[string]bool // the paths in out
	texts  map[pawl.Hash]bool
	left   int // how many bytes may still be shown
}

// add lists a file, and then what it imports.
func (r *reader) add(name, folder string, depth int) error {
	if r.listed[name] {
		return nil
	}
	r.listed[name] = true
	if len(r.out.Files) == maxFiles || len(name) > maxPath {
		r.out.More++
		return nil
	}
	file := pawl.InstructionFile{Path: name, Folder: folder}
	real, entry, err := r.find(name)
	if err != nil {
		return err
	}
	if entry.Mode == "" {
		r.out.Files = append(r.out.Files, file)
		return nil
	}
	object, err := r.objects.GetStart(entry.Hash, maxFile+margin)
	if err != nil {
		return err
	}
	file.Bytes = object.Size
	isText := !bytes.ContainsRune(object.Data, 0)
	text := ""
	if isText {
		text = r.clean(object.Data)
	}
	if isText && text == "" {
		return nil // it says nothing
	}
	whole := len(text)
	text = start(text, maxFile)
	known := r.texts[pawl.HashOf([]byte(text))]
	if !known {
		text = start(text, r.left)
	}
	if text == "" {
		r.out.Files = append(r.out.Files, file)
		return nil
	}
	if len(text) < whole || object.Size > int64(len(object.Data)) {
		file.Cut = int64(len(text))
	}
	blob := pawl.NewBlob([]byte(text))
	file.Blob = blob.Hash()
	r.out.Files = append(r.out.Files, file)
	if !known {
		r.texts[blob.Hash()] = true
		r.out.Texts = append(r.out.Texts, blob)
		r.left -= len(text)
	}
	if depth == maxDepth {
		return nil
	}
	for _, to := range imports(text) {
		if err := r.follow(path.Join(path.Dir(real), to), folder, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// follow lists an imported file. What looks like an import and leads to no file of the
// commit is none.
func (r *reader) follow(name, folder string, depth int) error {
	real, entry, err := r.find(name)
	if err != nil || entry.Mode == "" {
		return err
	}
	return r.add(real, folder, depth)
}

// clean returns a text as it is shown; empty if nothing is left of it.
func (r *reader) clean(data []byte) string {
	if r.redact != nil {
		data = r.redact(data)
	}
	text := strings.TrimSpace(plain.Text(string(data)))
	if text == "" {
		return ""
	}
	return text + "\n"
}

// start returns the beginning of a text that fits, in whole lines if possible. It returns
// nothing if only a little of the text would fit.
func start(text string, most int) string {
	switch {
	case len(text) <= most:
		return text
	case most < minText:
		return ""
	}
	text = strings.ToValidUTF8(text[:most], "")
	if i := strings.LastIndexByte(text, '\n'); i >= len(text)/2 {
		return text[:i+1]
	}
	return text
}

// find returns a regular file of the commit and its path without symbolic links; an
// entry without a mode if there is none, or if the way to it leads out of the repository.
func (r *reader) find(name string) (string, git.Entry, error) {
	for range maxLinks {
		name = path.Clean(name)
		real, entry, rest, err := r.walk(name)
		if err != nil || entry.Mode != git.ModeSymlink {
			if entry.Mode != git.ModeFile && entry.Mode != git.ModeExecutable || rest != "" {
				entry = git.Entry{}
			}
			return real, entry, err
		}
		target, err := r.objects.GetSmall(entry.Hash, maxLink)
		if err != nil {
			return "", git.Entry{}, err
		}
		to := string(target.Data)
		if to == "" || path.IsAbs(to) {
			break
		}
		name = path.Join(path.Dir(real), to, rest)
	}
	return "", git.Entry{}, nil
}

// walk goes down from the commit's tree as far as there are folders: to the entry at
// real, which has the path rest below it.
func (r *reader) walk(name string) (real string, entry git.Entry, rest string, err error) {
	tree := r.root
	for rest = name; ; {
		part, below, more := strings.Cut(rest, "/")
		entries, err := r.tree(tree)
		if err != nil {
			return "", git.Entry{}, "", err
		}
		i := slices.IndexFunc(entries, func(e git.Entry) bool { return e.Name == part })
		if i < 0 {
			return "", git.Entry{}, "", nil
		}
		real, entry, rest = path.Join(real, part), entries[i], below
		if entry.Mode != git.ModeTree || !more {
			return real, entry, rest, nil
		}
		tree = entry.Hash
	}
}

func (r *reader) tree(hash string) ([]git.Entry, error) {
	if known, ok := r.trees[hash]; ok {
		return known, nil
	}
	entries, err := r.objects.Tree(hash)
	if err == nil {
		r.trees[hash] = entries
	}
	return entries, err
}

// imports returns the paths that a text names as @path outside of code, in order.
func imports(text string) []string {
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) {
				fence = ""
			}
			continue
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = line[:3]
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue // a span of code
			}
			for _, word := range strings.Fields(part) {
				name, ok := strings.CutPrefix(word, "@")
				if name = strings.TrimRight(name, ".,;:!?)\"'"); ok && name != "" && !path.IsAbs(name) && name[0] != '~' {
					out = append(out, name)
				}
			}
		}
	}
	return out
}
