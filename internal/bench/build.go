package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl"
	"pawl/internal/process"
)

// Revision is a state of Pawl's source that was built.
type Revision struct {
	Commit pawl.CommitHash `json:"commit"`
	Name   string          `json:"name,omitempty"`  // what it was asked for as; empty = the working tree
	Dirty  bool            `json:"dirty,omitempty"` // the working tree differs from the commit
}

// String implements [fmt.Stringer].
func (r Revision) String() string {
	switch {
	case r.Name != "":
		return fmt.Sprintf("%.12s (%s)", r.Commit, r.Name)
	case r.Dirty:
		return fmt.Sprintf("the working tree at %.12s, with changes that are not committed", r.Commit)
	}
	return fmt.Sprintf("the working tree at %.12s", r.Commit)
}

// endGrace is how long a program that is built or measured has to end and to remove its files when it is
// interrupted.
const endGrace = 20 * time.Second

// checkout is a working tree with Pawl's source.
type checkout struct{ root string }

// moduleLine is the first line of Pawl's go.mod.
const moduleLine = "module pawl"

// findSource finds the working tree of Pawl's source that a folder is in.
func findSource(ctx context.Context, dir string) (checkout, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return checkout{}, pawl.Errorf(pawl.CodeUnavailable, "git is not installed").WithHint("install git and make sure it is in PATH")
	}
	root, err := checkout{dir}.git(ctx, nil, "rev-parse", "--show-toplevel")
	if err == nil {
		var text []byte
		text, err = os.ReadFile(filepath.Join(root, "go.mod"))
		first, _, _ := strings.Cut(string(text), "\n")
		if err == nil && strings.TrimSpace(first) == moduleLine {
			return checkout{root}, nil
		}
	}
	if ctx.Err() != nil {
		return checkout{}, ctx.Err()
	}
	if at, err := filepath.Abs(dir); err == nil {
		dir = at
	}
	return checkout{}, pawl.Errorf(pawl.CodeInvalid, "--against builds Pawl, and %s is not in a git repository of Pawl's source", dir).
		WithHint("clone Pawl's repository and run the command in it")
}

// revision returns the commit that a name means.
func (s checkout) revision(ctx context.Context, name string) (Revision, error) {
	commit, err := s.git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	switch {
	case ctx.Err() != nil:
		return Revision{}, ctx.Err()
	case err != nil:
		return Revision{}, pawl.Errorf(pawl.CodeInvalid, "--against %s: the repository at %s has no such revision", name, s.root).
			WithHint("give a commit, a tag or a branch; git -C %s log --oneline lists commits", s.root)
	}
	return Revision{Commit: pawl.CommitHash(commit), Name: name}, nil
}

// present returns the revision of the working tree.
func (s checkout) present(ctx context.Context) (Revision, error) {
	commit, err := s.git(ctx, nil, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return Revision{}, err
	}
	changes, err := s.git(ctx, []string{"GIT_OPTIONAL_LOCKS=0"}, "status", "--porcelain")
	return Revision{Commit: pawl.CommitHash(commit), Dirty: changes != ""}, err
}

// export writes the files of a commit into a folder. The repository stays as it is: the index that git
// needs for it is a file of its own.
func (s checkout) export(ctx context.Context, commit pawl.CommitHash, dir string) error {
	index := []string{"GIT_INDEX_FILE=" + dir + ".index"}
	if _, err := s.git(ctx, index, "read-tree", string(commit)); err != nil {
		return err
	}
	_, err := s.git(ctx, index, "checkout-index", "--all", "--quiet", "--prefix="+dir+"/")
	return err
}

// git runs git in the working tree and returns what it printed.
func (s checkout) git(ctx context.Context, environ []string, args ...string) (string, error) {
	return output(ctx, s.root, environ, "git", args...)
}

// maxSaid bounds what an error quotes of a program's messages, in bytes. The last ones matter.
const maxSaid = 4000

// output runs a program to its end and returns what it printed.
func output(ctx context.Context, dir string, environ []string, name string, args ...string) (string, error) {
	text, _, err := outputAndTime(ctx, dir, environ, name, args...)
	return text, err
}

// outputAndTime runs a program to its end and returns what it printed, and the processor time that it and
// the processes below it used.
func outputAndTime(ctx context.Context, dir string, environ []string, name string, args ...string) (string, time.Duration, error) {
	cmd := process.Command(ctx, endGrace, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environ...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := process.Run(cmd); err != nil {
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		return "", 0, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, reason(said.Bytes()))
	}
	return strings.TrimSpace(out.String()), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// reason returns why a program failed, from what it printed: the message of an error in JSON, or else the end
// of the text.
func reason(said []byte) string {
	text := strings.TrimSpace(string(said))
	var last struct{ Error struct{ Message string } }
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if err := json.Unmarshal([]byte(line), &last); err == nil && last.Error.Message != "" {
		return last.Error.Message
	}
	return text[max(0, len(text)-maxSaid):]
}

// programs are Pawl's programs. One looks for the other in its own folder.
func programs() []string { return []string{"pawl-helper", "pawl"} }

// build builds Pawl's programs from the source in one folder into another one, as make build does, and
// returns pawl. Both revisions are built with these flags, without their version and their commit.
func build(ctx context.Context, from, to string) (program string, err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for what is built: %w", err)
	}
	environ := []string{"CGO_ENABLED=0", "GOTMPDIR=" + to} // go leaves temporary files there when it is interrupted
	for _, name := range programs() {
		program = filepath.Join(to, name)
		linked := program + ".linked"
		if _, err := output(ctx, from, environ, "go",
			"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", linked, "./cmd/"+name); err != nil {
			return "", err
		}
		if err := rewrite(linked, program); err != nil {
			return "", err
		}
	}
	return program, nil
}

// rewrite copies a program to a new file, as an installation does, and removes the one that the linker made.
// The linker writes its file in no certain order, and the size of the pages in which the system caches the
// file depends on that order. Two files with the same content therefore differed by 10 % in how long the
// program takes to start.
func rewrite(linked, program string) error {
	data, err := os.ReadFile(linked)
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil { //nolint:gosec // it is a program
		return fmt.Errorf("write what was built: %w", err)
	}
	if err := os.Remove(linked); err != nil {
		return fmt.Errorf("remove what was built: %w", err)
	}
	return nil
}

// goVersion returns the version of Go that builds what is in the working tree.
func (s checkout) goVersion(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", pawl.Errorf(pawl.CodeUnavailable, "--against builds Pawl, and Go is not installed").
			WithHint("install Go as %s says and make sure it is in PATH", filepath.Join(s.root, "go.mod"))
	}
	return output(ctx, s.root, nil, "go", "env", "GOVERSION")
}

// pair is two revisions of Pawl and their programs.
type pair struct {
	older, newer               Revision
	olderProgram, newerProgram string
	goVersion                  string
}

// buildPair builds a revision and the working tree in folders below dir.
func buildPair(ctx context.Context, s checkout, rev, dir string, progress func(string)) (p pair, err error) {
	if p.older, err = s.revision(ctx, rev); err != nil {
		return p, err
	}
	if p.newer, err = s.present(ctx); err != nil {
		return p, err
	}
	if p.goVersion, err = s.goVersion(ctx); err != nil {
		return p, err
	}
	files := filepath.Join(dir, "source")
	progress(fmt.Sprintf("building %s", p.older))
	if err := s.export(ctx, p.older.Commit, files); err != nil {
		return p, err
	}
	if p.olderProgram, err = build(ctx, files, filepath.Join(dir, "older")); err != nil {
		return p, unbuilt(ctx, p.older, err, "check out that revision and run make build to see what it needs, or compare with another one")
	}
	progress(fmt.Sprintf("building %s", p.newer))
	if p.newerProgram, err = build(ctx, s.root, filepath.Join(dir, "newer")); err != nil {
		return p, unbuilt(ctx, p.newer, err, "make the working tree build (make build) and try again")
	}
	return p, nil
}

// unbuilt returns the error that a revision could not be built, with a hint.
func unbuilt(ctx context.Context, r Revision, err error, hint string) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return err
	}
	return pawl.Errorf(pawl.CodeUnavailable, "build %s: %w", r, err).WithHint("%s", hint)
}
