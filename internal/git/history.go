package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteCommit stores a commit and returns its hash. The same arguments give the
// same hash. A message must not hold NUL.
func (r Repo) WriteCommit(ctx context.Context, tree string, parents []string, message string, at time.Time) (string, error) {
	args := []string{"commit-tree"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	return r.dated(at).line(ctx, strings.NewReader(message), append(args, tree)...)
}

// By returns the repository with another author and committer of new commits.
func (r Repo) By(name, email string) Repo {
	command := *r.Command
	command.Name, command.Email = name, email
	r.Command = &command
	return r
}

// dated is the repository with a fixed time for new commits.
func (r Repo) dated(at time.Time) Repo {
	date := fmt.Sprintf("@%d +0000", at.Unix())
	r.dates = []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	return r
}

// MoveRef moves a ref from one commit to another, atomically; it fails when
// the ref is not at old. An empty old means that the ref must not exist yet.
func (r Repo) MoveRef(ctx context.Context, ref, to, old, reason string) error {
	if old == "" {
		old = strings.Repeat("0", len(to))
	}
	return r.do(ctx, "update-ref", "-m", reason, "--end-of-options", ref, to, old)
}

// DeleteRef deletes a ref, atomically; it fails when the ref is not at old.
func (r Repo) DeleteRef(ctx context.Context, ref, old string) error {
	return r.do(ctx, "update-ref", "--no-deref", "-d", "--end-of-options", ref, old)
}

// Refs lists the full names of the refs below a prefix, which ends in a slash.
func (r Repo) Refs(ctx context.Context, prefix string) ([]string, error) {
	out, err := r.output(ctx, nil, "for-each-ref", "--format=%(refname)", prefix)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

// IsAncestor reports whether all of a's history is in b's.
func (r Repo) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	err := r.do(ctx, "merge-base", "--is-ancestor", a, b)
	if e, ok := errors.AsType[*Error](err); ok && e.Exit == 1 {
		return false, nil
	}
	return err == nil, err
}

// ObjectFormat is the name of the repository's hash: sha1 or sha256.
func (r Repo) ObjectFormat(ctx context.Context) (string, error) {
	return r.line(ctx, nil, "rev-parse", "--show-object-format")
}

// Create makes an empty bare repository in Dir, or leaves the one there is.
func (r Repo) Create(ctx context.Context, objectFormat string) error {
	dir := r.Dir
	r.Dir, r.folder = "", "/"
	return r.do(ctx, "init", "-q", "--bare", "--template=", "--object-format="+objectFormat, "--end-of-options", dir)
}

// diff is the call that compares two trees; it runs no other program and
// leaves no submodule out.
func diff(options ...string) []string {
	return append([]string{"diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"}, options...)
}

// Patch is the difference between two commits or trees as git prints it.
func (r Repo) Patch(ctx context.Context, from, to string) ([]byte, error) {
	return r.output(ctx, nil, diff("-p", "-M", from, to)...)
}

// WholePatch is Patch with all lines of the changed files.
func (r Repo) WholePatch(ctx context.Context, from, to string) ([]byte, error) {
	const all = 1 << 30 // lines before and after a change
	return r.output(ctx, nil, diff(fmt.Sprintf("-U%d", all), "-M", from, to)...)
}

// Git runs any other call, for what the user's own repository is asked once.
func (r Repo) Git(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return r.output(ctx, stdin, args...)
}
