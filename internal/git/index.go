package git

import (
	"bytes"
	"context"
	"os"
	"strings"
)

// The calls here read and write the index named by the Repo, and its worktree.

// ReadTree makes the index equal to a commit's or tree's files and leaves the worktree.
func (r Repo) ReadTree(ctx context.Context, tree string) error {
	return r.do(ctx, "read-tree", "--reset", "--end-of-options", tree)
}

// CheckOut makes the index equal to a commit or tree and rewrites every file of
// the worktree that differs; untracked files stay unless they are in the way.
func (r Repo) CheckOut(ctx context.Context, tree string) error {
	return r.do(ctx, "read-tree", "--reset", "-u", "--end-of-options", tree)
}

// Clean removes the files of the worktree that are neither in the index nor
// ignored, nested repositories included.
func (r Repo) Clean(ctx context.Context) error {
	return r.do(ctx, "clean", "-ffdq")
}

// AddAll brings the index up to the worktree's files, those that .gitignore
// names left out. Paths below one of except are not looked at. A folder that
// cannot be read is an error.
func (r Repo) AddAll(ctx context.Context, except ...string) error {
	args := []string{"add", "-A", "--no-warn-embedded-repo", "--", "."}
	for _, path := range except {
		args = append(args, ":(top,exclude,literal)"+path)
	}
	warnings, err := r.run(ctx, nil, nil, args...)
	if err == nil && strings.Contains(warnings, "could not open directory") {
		err = &Error{Args: args, Stderr: warnings, Err: os.ErrPermission}
	}
	return err
}

// AddPresent is AddAll without removing from the index what the worktree lacks.
func (r Repo) AddPresent(ctx context.Context) error {
	return r.do(ctx, "add", "--ignore-removal", "--", ".")
}

// Forget removes paths from the index, with everything below them, and leaves
// the worktree. Paths that are not there are no error.
func (r Repo) Forget(ctx context.Context, paths ...string) error {
	stdin := strings.NewReader(strings.Join(paths, "\x00"))
	_, err := r.run(ctx, stdin, nil, "--literal-pathspecs", "rm", "-rfq", "--cached", "--ignore-unmatch",
		"--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// Graft puts a tree's files into the index as a folder, which must not be there yet.
func (r Repo) Graft(ctx context.Context, folder, tree string) error {
	return r.do(ctx, "read-tree", "--prefix="+folder+"/", "--end-of-options", tree)
}

// WriteTree stores the index as a tree and returns its hash.
func (r Repo) WriteTree(ctx context.Context) (string, error) {
	return r.line(ctx, nil, "write-tree")
}

// List returns the index's entries in its order.
func (r Repo) List(ctx context.Context) ([]Entry, error) {
	out, err := r.output(ctx, nil, "ls-files", "--stage", "-z")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, line := range split(out) {
		about, path, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(about); len(fields) == 3 {
			entries = append(entries, Entry{Mode: fields[0], Hash: fields[1], Name: path})
		}
	}
	return entries, nil
}

// Unrecorded lists what is in the worktree and neither in the index nor ignored:
// files, and the folders of nested repositories with a slash at the end.
func (r Repo) Unrecorded(ctx context.Context) ([]string, error) {
	out, err := r.output(ctx, nil, "ls-files", "--others", "--exclude-standard", "-z")
	return split(out), err
}

// split takes apart what git ended with NUL each.
func split(out []byte) []string {
	var parts []string
	for part := range bytes.SplitSeq(out, []byte{0}) {
		if len(part) > 0 {
			parts = append(parts, string(part))
		}
	}
	return parts
}
