package gitworktree

import (
	"bytes"
	"cmp"
	"context"
	"hash/fnv"
	"slices"

	"pawl"
	"pawl/internal/git"
)

// Bounds of the fingerprints of a change.
const (
	maxPairs = 8
	// maxDiff is how many bytes the difference may have, told in both directions, to
	// be taken apart. What is more counts by whole files.
	maxDiff = 2 << 20
)

// pair is the fingerprint of what went and that of what came.
type pair struct{ went, came uint64 }

func (p pair) reversed() pair { return pair{p.came, p.went} }

// key is the same for a pair and for the one that undoes it.
func (p pair) key() uint64 { return 31*min(p.went, p.came) + max(p.went, p.came) }

// change is what differs between two trees. Hunks are pairs of fingerprints; added and removed count
// lines, and are 0 if there is too much to look at.
type change struct {
	hunks          []uint64
	added, removed int
}

// change returns what differs between two trees; .pawl is left out.
func (s *Workspaces) change(ctx context.Context, from, to string) (c change, err error) {
	if from == to {
		return c, nil
	}
	diffs, complete, err := s.resident.Differences(ctx, from, to, pawl.KeptFolder, maxDiff)
	if err == nil && !complete {
		diffs, err = s.byFiles(ctx, from, to)
	}
	if err != nil {
		return c, err
	}
	var pairs []pair
	for _, d := range diffs {
		pairs = append(pairs, pairOf(d))
		if complete {
			c.added, c.removed = c.added+len(d.Came), c.removed+len(d.Went)
		}
	}
	c.hunks = chosen(pairs)
	return c, nil
}

// byFiles are the differences of two trees by whole files: of each its mode and its hash.
func (s *Workspaces) byFiles(ctx context.Context, from, to string) ([]git.Difference, error) {
	var files []git.FileDifference
	err := s.reading(ctx, func(objects *git.Objects) (err error) {
		files, err = objects.FileDifferences(from, to, pawl.KeptFolder)
		return err
	})
	var diffs []git.Difference
	for _, f := range files {
		lines := func(e git.Entry) [][]byte { return [][]byte{[]byte(e.Mode), []byte(e.Hash)} }
		diffs = append(diffs, git.Difference{Path: f.Path, Went: lines(f.Old), Came: lines(f.New)})
	}
	return diffs, err
}

func pairOf(d git.Difference) pair {
	return pair{fingerprint(d.Path, d.Went), fingerprint(d.Path, d.Came)}
}

// fingerprint is that of lines of a file, whatever space is at their ends. It is
// never zero.
func fingerprint(path string, lines [][]byte) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(path + "\x00"))
	for _, line := range lines {
		_, _ = sum.Write(bytes.TrimRight(line, " \t\r\n\f\v"))
		_, _ = sum.Write([]byte{'\n'})
	}
	return max(1, sum.Sum64())
}

// chosen are the pairs that stand for a change, one after the other. A pair that
// undoes another one of the same change, as in a line that moved, counts as little
// as the other.
func chosen(pairs []pair) []uint64 {
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.key(), b.key()), cmp.Compare(a.went, b.went), cmp.Compare(a.came, b.came))
	})
	pairs = slices.Compact(pairs)
	var out []uint64
	for i, p := range pairs {
		undone := i > 0 && pairs[i-1] == p.reversed() || i+1 < len(pairs) && pairs[i+1] == p.reversed() // they have one key
		if len(out) < 2*maxPairs && p.went != p.came && !undone {
			out = append(out, p.went, p.came)
		}
	}
	return out
}
