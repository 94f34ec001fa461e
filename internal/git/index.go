package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
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
	return r.add(ctx, "-A", except)
}

// AddKnown is AddAll of the files that the index has.
func (r Repo) AddKnown(ctx context.Context, except ...string) error {
	return r.add(ctx, "-u", except)
}

func (r Repo) add(ctx context.Context, what string, except []string) error {
	args := []string{"add", what, "--no-warn-embedded-repo", "--pathspec-from-file=-", "--pathspec-file-nul"}
	warnings, err := r.run(ctx, strings.NewReader(strings.Join(but(except), "\x00")), nil, args...)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 && strings.Contains(e.Stderr, "are ignored by one of your .gitignore files") {
		err = nil // a path of except is ignored, which git takes for one to be added; it has added all else
	}
	if err == nil && strings.Contains(warnings, "could not open directory") {
		err = &Error{Args: args, Stderr: warnings, Err: os.ErrPermission}
	}
	return err
}

// AddPresent is AddAll without removing from the index what the worktree lacks.
func (r Repo) AddPresent(ctx context.Context) error {
	return r.do(ctx, "add", "--ignore-removal", "--", ".")
}

// Refresh updates the times in the index of files whose content has not changed.
func (r Repo) Refresh(ctx context.Context) error {
	return r.do(ctx, "update-index", "-q", "--refresh")
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
	return readEntries(out), nil
}

// Files lists the files of a commit or tree.
func (r Repo) Files(ctx context.Context, tree string) ([]Entry, error) {
	out, err := r.output(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	return readEntries(out), nil
}

// readEntries reads what ls-files and ls-tree print: the mode, the hash and one more word,
// before a tab and the path. They differ in the order of the last two.
func readEntries(out []byte) []Entry {
	var entries []Entry
	for _, line := range split(out) {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 {
			continue
		}
		hash := fields[1]
		if len(fields[2]) > len(hash) {
			hash = fields[2]
		}
		entries = append(entries, Entry{Mode: fields[0], Hash: hash, Name: path})
	}
	return entries
}

// but is the pathspec of everything but what is below some paths.
func but(except []string) []string {
	paths := []string{"."}
	for _, path := range except {
		paths = append(paths, ":(top,exclude,literal)"+path)
	}
	return paths
}

// Unrecorded lists what is in the worktree and neither in the index nor ignored:
// files, and the folders of nested repositories with a slash at the end. There are
// more when it returns most of them. Paths below one of except are not looked at.
func (r Repo) Unrecorded(ctx context.Context, most int, except ...string) ([]string, error) {
	out := &parts{most: most}
	_, err := r.run(ctx, nil, out, append([]string{"ls-files", "--others", "--exclude-standard", "-z", "--"}, but(except)...)...)
	if len(out.list) == most {
		err = nil // it was not read to its end
	}
	return out.list, err
}

// Touched lists the paths of the index whose files may have changed since, by all but
// their content. Paths below one of except are left out.
func (r Repo) Touched(ctx context.Context, except ...string) ([]string, error) {
	out, err := r.output(ctx, nil, append([]string{"diff-files", "--name-only", "--ignore-submodules=all", "-z", "--"}, but(except)...)...)
	return split(out), err
}

// Sizes returns the sizes of the index's files at some paths. A path that has none is
// left out.
func (r Repo) Sizes(ctx context.Context, paths []string) (map[string]int64, error) {
	sizes := map[string]int64{}
	for some := range slices.Chunk(paths, 100) { // so that the call's arguments are not too long
		out, err := r.output(ctx, nil, append([]string{"--literal-pathspecs", "ls-files", "--stage", "-z", "--"}, some...)...)
		if err != nil {
			return nil, err
		}
		entries := readEntries(out)
		var hashes strings.Builder
		for _, e := range entries {
			hashes.WriteString(e.Hash + "\n")
		}
		out, err = r.output(ctx, strings.NewReader(hashes.String()), "cat-file", "--batch-check=%(objectsize)")
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(out), "\n")
		for i, e := range entries {
			if size, err := strconv.ParseInt(lines[i], 10, 64); err == nil { // or the object is missing
				sizes[e.Name] = size
			}
		}
	}
	return sizes, nil
}

// Added counts the paths of the index that a commit does not have.
func (r Repo) Added(ctx context.Context, commit string) (int, error) {
	out, err := r.output(ctx, nil, "diff-index", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "--ignore-submodules=all", "-z", commit, "--")
	return bytes.Count(out, []byte{0}), err
}

// parts keeps the first parts of what git ends with NUL each.
type parts struct {
	most int
	list []string
	half []byte // of the next
}

func (p *parts) Write(data []byte) (int, error) {
	n := len(data)
	for len(p.list) < p.most {
		part, rest, ended := bytes.Cut(data, []byte{0})
		p.half = append(p.half, part...)
		if !ended {
			return n, nil
		}
		p.list = append(p.list, string(p.half))
		p.half, data = p.half[:0], rest
	}
	return 0, io.ErrShortWrite
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

// Ignored returns those of some paths of the worktree that a .gitignore file or the repository
// excludes, whether the index has them or not.
func (r Repo) Ignored(ctx context.Context, paths []string) ([]string, error) {
	var in strings.Builder
	for _, path := range paths {
		in.WriteString("./" + path + "\x00") // so that none is read as a pattern
	}
	out, err := r.output(ctx, strings.NewReader(in.String()), "check-ignore", "--no-index", "-z", "--stdin")
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 { // none
		err = nil
	}
	ignored := split(out)
	for i, path := range ignored {
		ignored[i] = strings.TrimPrefix(path, "./")
	}
	return ignored, err
}
