package gitworktree

import (
	"context"
	"fmt"

	"pawl"
	"pawl/internal/git"
)

// Changes returns the files that differ between two commits, sorted by path, with their
// contents as far as [pawl.MaxChangedFile] and [pawl.MaxChangedBytes] allow; these are
// counted in the order of the answer, Old before New. What is in .pawl/tasks is left out.
func (s *Workspaces) Changes(ctx context.Context, from, to pawl.CommitHash) ([]pawl.FileChange, error) {
	if err := checkHashes(from, to); err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("compare the files of %s with those of %s", from, to)
	var changes []pawl.FileChange
	err := s.reading(ctx, func(objects *git.Objects) error {
		files, err := objects.FileDifferences(string(from), string(to), tasks)
		c := contents{objects: objects, left: pawl.MaxChangedBytes, read: map[string]git.Object{}}
		for _, f := range files {
			old, err := c.state(f.Old)
			if err != nil {
				return fmt.Errorf("%q of %s: %w", f.Path, from, err)
			}
			now, err := c.state(f.New)
			if err != nil {
				return fmt.Errorf("%q of %s: %w", f.Path, to, err)
			}
			changes = append(changes, pawl.FileChange{Path: f.Path, Old: old, New: now})
		}
		return err
	})
	if err != nil {
		return nil, explain(doing, s.lacking(ctx, err, from, to))
	}
	return changes, nil
}

// contents reads files, each content once, until there is no room left for more.
type contents struct {
	objects *git.Objects
	left    int64 // bytes
	read    map[string]git.Object
}

func (c *contents) state(e git.Entry) (pawl.FileState, error) {
	kind := kindOf(e.Mode)
	switch kind {
	case "":
		return pawl.FileState{}, nil
	case pawl.FileSubmodule:
		return pawl.FileState{Kind: kind, Object: e.Hash}, nil
	}
	object, found := c.read[e.Hash]
	if !found {
		var err error
		if object, err = c.objects.GetSmall(e.Hash, min(pawl.MaxChangedFile, c.left)); err != nil {
			return pawl.FileState{}, err
		}
		c.read[e.Hash] = object
		c.left -= int64(len(object.Data))
	}
	return pawl.FileState{Kind: kind, Object: e.Hash, Size: object.Size, Data: object.Data}, nil
}

// kindOf returns the kind of an entry's file; it is empty when there is none.
func kindOf(mode string) pawl.FileKind {
	switch mode {
	case "", git.ModeNone, git.ModeTree:
		return ""
	case git.ModeExecutable:
		return pawl.FileExecutable
	case git.ModeSymlink:
		return pawl.FileSymlink
	case git.ModeSubmodule:
		return pawl.FileSubmodule
	}
	return pawl.FileRegular
}
