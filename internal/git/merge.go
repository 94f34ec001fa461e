package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrUnrelated means that two commits have no history in common.
var ErrUnrelated = errors.New("no history in common")

// Merging is what merging two commits gives.
type Merging struct {
	// Tree is the result. Files in conflict hold markers with the two commits'
	// hashes as labels.
	Tree     string
	Clean    bool
	Paths    []string  // in conflict, sorted by bytes; a conflict may have none
	Messages []Message // what git has to say; nothing about a clean merge
}

// Message is what git says about a step of a merge, in English.
type Message struct {
	Paths []string
	Kind  string // such as "Auto-merging" or "CONFLICT (modify/delete)"
	Text  string // with the two commits' hashes and plain paths
}

// MergeTree merges two commits without an index and a worktree, so that no
// attributes are read and no file's own way to be merged is known.
func (r Repo) MergeTree(ctx context.Context, ours, theirs string) (Merging, error) {
	r.WorkTree, r.Index = "", ""
	args := []string{"merge-tree", "--write-tree", "-z", ours, theirs}
	out, err := r.output(ctx, nil, args...)
	e, failed := errors.AsType[*Error](err)
	switch {
	case failed && e.Exit == 1 && len(out) > 0: // there are conflicts
		err = nil
	case failed && strings.Contains(e.Stderr, "unrelated histories"):
		err = fmt.Errorf("%s and %s: %w", ours, theirs, ErrUnrelated)
	}
	if err != nil {
		return Merging{}, err
	}
	m, ok := readMerging(out)
	if !ok {
		return Merging{}, fmt.Errorf("git merge-tree answered %.100q", out)
	}
	m.Clean = !failed
	return m, nil
}

// readMerging takes the output of merge-tree apart: the tree; the entries of
// files in conflict, up to an empty one; messages.
func readMerging(out []byte) (Merging, bool) {
	parts := strings.Split(string(bytes.TrimSuffix(out, []byte{0})), "\x00")
	m := Merging{Tree: parts[0]}
	rest := parts[1:]
	for len(rest) > 0 && rest[0] != "" {
		_, path, _ := strings.Cut(rest[0], "\t")
		m.Paths = append(m.Paths, path)
		rest = rest[1:]
	}
	slices.Sort(m.Paths)
	m.Paths = slices.Compact(m.Paths)
	for len(rest) > 2 { // a single part behind the messages is advice about submodules
		n, err := strconv.Atoi(rest[1])
		if err != nil || n < 0 || len(rest) < n+4 {
			return m, false
		}
		m.Messages = append(m.Messages, Message{Paths: rest[2 : n+2], Kind: rest[n+2], Text: rest[n+3]})
		rest = rest[n+3:]
	}
	return m, len(m.Tree) >= 40
}

// WriteFiles stores files of the worktree as blobs, byte by byte, and returns
// their hashes. A name must not hold a newline.
func (r Repo) WriteFiles(ctx context.Context, names []string) ([]string, error) {
	stdin := strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := r.output(ctx, stdin, "hash-object", "-w", "--no-filters", "--stdin-paths")
	hashes := strings.Fields(string(out))
	if err == nil && len(hashes) != len(names) {
		err = fmt.Errorf("git hash-object answered %d hashes for %d files", len(hashes), len(names))
	}
	return hashes, err
}

// Enter puts entries into the index, one after the other, in place of what is there: of a
// folder for a file, and of a file for a folder. An entry with [ModeNone] removes the one at
// its path, which need not be there, and nothing below it; its hash has only zeros.
func (r Repo) Enter(ctx context.Context, entries []Entry) error {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s %s\t%s\x00", e.Mode, e.Hash, e.Name)
	}
	_, err := r.run(ctx, strings.NewReader(b.String()), nil, "update-index", "-z", "--index-info")
	return err
}
