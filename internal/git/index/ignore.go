package index

import (
	"context"
	"crypto/sha256"
	"errors"

	"pawl/internal/git"
)

// maxVerdicts bounds how many verdicts about unknown paths are remembered.
const maxVerdicts = 50_000

// verdict is git's about an unknown path.
type verdict struct {
	ignored bool
	rules   [16]byte // the hash of the rules that it was made by
}

// decide finds out which unknown paths are ignored, from the top to the bottom: what is in an
// ignored folder is not looked at.
func (l *look) decide(ctx context.Context) error {
	// Of what is apart the commit may have something that is ignored.
	if _, err := l.notIgnored(ctx, l.beside); err != nil {
		return err
	}
	level, files := l.unknown, 0
	l.unknown = nil
	for len(level) > 0 {
		if files += len(level); files > l.o.MaxUnknown {
			return &Unsupported{Reason: ReasonLimit, Path: level[0].path}
		}
		kept, err := l.notIgnored(ctx, level)
		if err != nil {
			return err
		}
		level = nil
		for _, c := range kept {
			if c.info.kind != kindFolder {
				l.unknown = append(l.unknown, c)
				continue
			}
			below, err := l.inside(ctx, c.path)
			if err != nil {
				return err
			}
			level = append(level, below...)
		}
	}
	return nil
}

// inside lists what is in an unknown folder.
func (l *look) inside(ctx context.Context, at string) ([]candidate, error) {
	d, err := l.top.enterAll(at)
	if err != nil {
		return nil, unreadable(at, err)
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return nil, unreadable(at, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	before := l.unknown
	l.unknown = nil
	for _, n := range names {
		if err := l.entry(ctx, d, n, join(at, n), nil, nil); err != nil {
			return nil, err
		}
	}
	found := l.unknown
	l.unknown = before
	return found, nil
}

// notIgnored returns those of the paths that are not ignored. It asks git about those that it
// has not told about under the same rules.
func (l *look) notIgnored(ctx context.Context, paths []candidate) ([]candidate, error) {
	if l.rules.Len() == 0 {
		return paths, nil
	}
	sum := sha256.Sum256([]byte(l.rules.String()))
	rules := [16]byte(sum[:])
	told := map[string]bool{}
	var ask []string
	for _, c := range paths {
		if v, known := l.x.verdicts[c.key()]; known && v.rules == rules {
			told[c.path] = v.ignored
		} else {
			ask = append(ask, c.path)
		}
	}
	if len(ask) > 0 {
		ignored, err := l.o.Ignored(ctx, ask)
		if e, ok := errors.AsType[*git.Error](err); ok && e.Exit > 0 { // a link may have taken the place of a folder
			return nil, unreadable("", err)
		}
		if err != nil {
			return nil, err
		}
		for _, at := range ignored {
			told[at] = true
		}
	}
	if len(l.x.verdicts) > maxVerdicts {
		clear(l.x.verdicts)
	}
	var kept []candidate
	for _, c := range paths {
		if !told[c.path] {
			kept = append(kept, c)
		} else if _, apart := cutFolder(c.path, l.o.Apart); apart { // the commit may have it
			return nil, &Unsupported{Reason: ReasonIgnored, Path: c.path}
		}
		if !l.unsettled {
			l.x.verdicts[c.key()] = verdict{told[c.path], rules}
		}
	}
	return kept, nil
}

// key is the path by which a verdict is remembered: a pattern may be for folders alone.
func (c candidate) key() string {
	if c.info.kind == kindFolder {
		return c.path + "/"
	}
	return c.path
}
