package git

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
)

// Packing says which objects go into a pack.
type Packing struct {
	// Want are commits, tags and trees: what they reach goes in.
	Want []string
	// Have are commits: what they reach stays out.
	Have []string
	// Shallow are commits whose parents are not followed.
	Shallow []string
}

// Pack copies objects into a new pack in Store, which finds them through its
// alternates. Deltas are reused and none are searched for. Nothing is written when
// there is nothing to copy.
func (r Repo) Pack(ctx context.Context, p Packing) error {
	var b strings.Builder
	for _, commit := range p.Shallow {
		b.WriteString("--shallow " + commit + "\n")
	}
	for _, name := range p.Want {
		b.WriteString(name + "\n")
	}
	for _, commit := range p.Have {
		b.WriteString("^" + commit + "\n")
	}
	_, err := r.run(ctx, strings.NewReader(b.String()), nil, "pack-objects", "-q", "--revs", "--non-empty",
		"--delta-base-offset", "--window=0", filepath.Join(r.Store, "pack", "pack"))
	return err
}

// Reachable lists a commit and its ancestors, newest first and at most limit of
// them, without those of the commits in not.
func (r Repo) Reachable(ctx context.Context, commit string, limit int, not ...string) ([]string, error) {
	args := []string{"rev-list", "--max-count=" + strconv.Itoa(limit), commit}
	if len(not) > 0 {
		args = append(append(args, "--not"), not...)
	}
	out, err := r.output(ctx, nil, args...)
	return strings.Fields(string(out)), err
}

// Tag is a tag.
type Tag struct {
	Ref    string // its full name
	Hash   string // of the tag object, or of the commit when there is none
	Commit string // what it points to
}

// Tags lists the tags that point to a commit or one of its ancestors.
func (r Repo) Tags(ctx context.Context, commit string) ([]Tag, error) {
	out, err := r.output(ctx, nil, "for-each-ref", "--merged="+commit, "--format=%(refname) %(objectname) %(*objectname)", "refs/tags/")
	if err != nil {
		return nil, err
	}
	var tags []Tag
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		tags = append(tags, Tag{Ref: fields[0], Hash: fields[1], Commit: fields[len(fields)-1]})
	}
	return tags, nil
}
