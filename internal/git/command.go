// Package git runs the git command; no other package does.
//
// A [Repo] says in so many words which repository, worktree, index and object
// store a call is about. Nothing is discovered (except by [Command.Discover],
// for the user's own folder), no variable of this process is inherited, and
// no configuration file besides the one in the named git folder is read. The
// settings that decide whether git runs other programs (hooks, fsmonitor,
// filters from attribute files, external diffs) or talks to the network are
// given with every call and win over that file.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/process"
)

// MinVersion is the oldest git this package is used and tested with.
const MinVersion = "2.39"

// DefaultLimit bounds the output of one call in bytes.
const DefaultLimit = 256 << 20

// DefaultTimeout bounds one call.
const DefaultTimeout = 10 * time.Minute

// grace is how long git has to remove its lock files and temporary objects when it is
// ended.
const grace = 5 * time.Second

// ErrTimeout means that a call reached its time limit and was ended.
var ErrTimeout = errors.New("the time limit of a git call")

// Command is the git program and what every call shares.
type Command struct {
	// Path is the program's absolute path.
	Path string
	// Name and Email are author and committer of commits and reflog entries.
	// Empty means "Pawl" and "pawl@localhost".
	Name, Email string
	// Limit bounds what one call may print, in bytes; zero means [DefaultLimit].
	Limit int64
	// Timeout bounds one call; zero means [DefaultTimeout]. A caller's context may end
	// it sooner.
	Timeout time.Duration
	// Exec is called with every prepared command and a function that runs it to its end;
	// nil means that it is just run. Tests put faults here.
	Exec func(cmd *exec.Cmd, run func(*exec.Cmd) error) error
}

// Look looks git up in PATH.
func Look() (*Command, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "git is not installed").
			WithHint("install git %s or newer and make sure it is in PATH", MinVersion)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	return &Command{Path: path}, nil
}

// Find looks git up in PATH and checks its version.
func Find(ctx context.Context) (*Command, error) {
	c, err := Look()
	if err != nil {
		return nil, err
	}
	path := c.Path
	program, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	if known, ok := found.Load(path); ok && same(known.(os.FileInfo), program) {
		return c, nil
	}
	out, err := Repo{Command: c}.output(ctx, nil, "version")
	if err != nil {
		return nil, err
	}
	if version := strings.TrimPrefix(strings.TrimSpace(string(out)), "git version "); !atLeast(version, MinVersion) {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "git %s at %s is too old", version, path).
			WithHint("install git %s or newer", MinVersion)
	}
	found.Store(path, program)
	return c, nil
}

// found has the programs that were found to be new enough, as they were then, by their paths.
var found sync.Map

// same reports whether a program is as it was.
func same(was, is os.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// atLeast compares the first two numbers of dotted versions.
func atLeast(version, least string) bool {
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range 2 {
		if len(have) <= i {
			return false
		}
		h, err := strconv.Atoi(have[i])
		if err != nil {
			return false
		}
		if w, _ := strconv.Atoi(want[i]); h != w {
			return h > w
		}
	}
	return true
}

// Setting is one configuration setting, such as core.bare and true.
type Setting struct{ Key, Value string }

// Repo names everything a call is about. The zero value of a field leaves it
// out. A Repo is a value: copy it and change fields to aim elsewhere.
type Repo struct {
	Command *Command
	// Dir is the git folder, absolute.
	Dir string
	// WorkTree is the folder whose files are read and written, absolute.
	WorkTree string
	// Index is the index file, absolute. One call at a time may use it.
	Index string
	// Store is where new objects go, absolute; its alternates are followed.
	Store string
	// Config are further settings that win over all files.
	Config []Setting
	// Run runs a command where WorkTree is visible, if it is not to this process; nil means
	// that it is. See [pawl.Joined].
	Run func(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error

	personal []string // the variables that find the user's own configuration
	folder   string   // where discovery starts when Dir is empty
	dates    []string // the variables that date new commits
}

// Discover is the repository that git finds from a folder, with the user's own
// configuration in force but without hooks and fsmonitor. It is for the user's
// own checkout alone: in a folder that somebody else could write, discovery
// runs what they left there.
func (c *Command) Discover(folder string) Repo {
	var personal []string
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if value, ok := os.LookupEnv(name); ok {
			personal = append(personal, name+"="+value)
		}
	}
	return Repo{Command: c, folder: folder, personal: personal}
}

// settings win over every configuration file.
func (r Repo) settings() []Setting {
	always := []Setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.untrackedCache", "false"},
		{"core.splitIndex", "false"},
		{"core.fsync", "committed,reference"}, // what is reported must be durable
		{"core.fsyncMethod", "batch"},         // one flush for all the objects of an add
		{"core.protectHFS", "true"},
		{"core.protectNTFS", "true"},
		{"submodule.recurse", "false"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"advice.addEmbeddedRepo", "false"},
	}
	if r.Dir != "" {
		always = append(always, []Setting{
			{"safe.bareRepository", "explicit"},
			{"core.attributesFile", "/dev/null"},
			{"core.excludesFile", "/dev/null"},
			{"core.autocrlf", "false"},
			{"core.safecrlf", "false"},
			{"core.sparseCheckout", "false"},
			{"checkout.workers", "0"},                    // as many as there are cores,
			{"checkout.thresholdForParallelism", "1000"}, // when there is much to write
		}...)
	}
	return append(always, r.Config...)
}

// identity returns the author and committer of commits.
func (c *Command) identity() (name, email string) {
	return cmp.Or(c.Name, "Pawl"), cmp.Or(c.Email, "pawl@localhost")
}

// environment is the whole environment of a call.
func (r Repo) environment() []string {
	name, email := r.Command.identity()
	env := []string{
		"PATH=" + filepath.Dir(r.Command.Path) + ":/usr/bin:/bin",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", // no such protocol: nothing is fetched, ever
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + email,
	}
	if r.personal == nil {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/")
	}
	env = append(append(env, r.personal...), r.dates...)
	for _, v := range []struct{ name, value string }{
		{"GIT_DIR", r.Dir},
		{"GIT_WORK_TREE", r.WorkTree},
		{"GIT_INDEX_FILE", r.Index},
		{"GIT_OBJECT_DIRECTORY", r.Store},
	} {
		if v.value != "" {
			env = append(env, v.name+"="+v.value)
		}
	}
	settings := r.settings()
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	return env
}

// prepare makes the command of a call. When ctx ends, or we do, git is asked to stop,
// so that it removes its lock files.
func (r Repo) prepare(ctx context.Context, args []string) *exec.Cmd {
	cmd := process.Command(ctx, grace, r.Command.Path, args...)
	cmd.Env = r.environment()
	switch {
	case r.WorkTree != "":
		cmd.Dir = r.WorkTree
	case r.Dir != "":
		cmd.Dir = r.Dir
	default:
		cmd.Dir = r.folder
	}
	return cmd
}

func (c *Command) limit() int64 {
	if c.Limit > 0 {
		return c.Limit
	}
	return DefaultLimit
}

func (c *Command) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

// within bounds the time of a call.
func (c *Command) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout(), ErrTimeout)
}

func (r Repo) exec(ctx context.Context, cmd *exec.Cmd) error {
	run := process.Run
	if r.Run != nil {
		run = func(cmd *exec.Cmd) error { return r.Run(ctx, cmd, grace) }
	}
	return r.Command.exec(cmd, run)
}

func (c *Command) exec(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
	if c.Exec != nil {
		return c.Exec(cmd, run)
	}
	return run(cmd)
}

// do runs one call that neither reads nor prints.
func (r Repo) do(ctx context.Context, args ...string) error {
	_, err := r.run(ctx, nil, nil, args...)
	return err
}

// run runs one call to its end and returns its warnings.
func (r Repo) run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) (string, error) {
	ctx, cancel := r.Command.within(ctx)
	defer cancel()
	cmd := r.prepare(ctx, args)
	stderr := &bounded{limit: 4096, cut: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err := r.exec(ctx, cmd)
	if _, signaled := exitOf(err); signaled && r.Index != "" {
		_ = os.Remove(r.Index + ".lock") // nobody else uses the index, and its owner is dead
	}
	err = r.failure(ctx, args, err, stderr.buf.String())
	return stderr.buf.String(), err
}

// exitOf returns the exit code of a command that failed, -1 if it has none, and whether a
// signal ended it, which may have kept it from removing its lock files.
func exitOf(err error) (code int, signaled bool) {
	if exit, ok := errors.AsType[*pawl.ExitError](err); ok {
		return exit.Code, exit.Signaled
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return -1, false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return exit.ExitCode(), ok && status.Signaled()
}

// output runs one call and returns what it printed.
func (r Repo) output(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	out := &bounded{limit: r.Command.limit()}
	_, err := r.run(ctx, stdin, out, args...)
	if out.refused {
		err = pawl.Errorf(pawl.CodeState, "git %s printed more than %d bytes", args[0], out.limit)
	}
	return out.buf.Bytes(), err
}

// line runs one call and returns what it printed without the final newline.
func (r Repo) line(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	out, err := r.output(ctx, stdin, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// failure turns how a command ended into an error, nil when it ended well.
func (r Repo) failure(ctx context.Context, args []string, err error, stderr string) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, ErrTimeout) {
		return &pawl.Error{
			Code:    pawl.CodeUnavailable,
			Message: fmt.Sprintf("git %s took longer than its limit of %s and was ended", args[0], pawl.Span(r.Command.timeout())),
			Hint:    "look whether the disk is slow or the repository is unusually large",
			Err:     cause,
		}
	} else if cause != nil {
		return fmt.Errorf("git %s: %w", args[0], cause)
	}
	e := &Error{Args: args, Stderr: strings.TrimSpace(stderr), Err: err}
	e.Exit, e.Signaled = exitOf(err)
	return e
}

// Error is a git call that failed.
type Error struct {
	Args []string
	// Exit is git's exit code; -1 when a signal ended it or it did not start,
	// and 0 when only its warnings told of the failure.
	Exit int
	// Signaled reports that a signal ended it: its lock files are still there.
	Signaled bool
	Stderr   string // in English, cut to 4 kB
	Err      error
}

func (e *Error) Error() string {
	reason := e.Stderr
	if reason == "" {
		reason = e.Err.Error()
	}
	return fmt.Sprintf("git %s: %s", e.Args[0], reason)
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is ENOSPC or EDQUOT and git gave it as the reason.
func (e *Error) Is(target error) bool {
	said := strings.ToLower(e.Stderr)
	if target == syscall.ENOSPC && strings.Contains(said, "out of diskspace") { // git's own words where a file was cut
		return true
	}
	return (target == syscall.ENOSPC || target == syscall.EDQUOT) && strings.Contains(said, target.Error())
}

// bounded is a buffer that refuses, or with cut drops, what is beyond its limit.
type bounded struct {
	buf     bytes.Buffer
	limit   int64
	cut     bool
	refused bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - int64(b.buf.Len())
	if int64(len(p)) <= room {
		return b.buf.Write(p)
	}
	if !b.cut {
		b.refused = true
		return 0, io.ErrShortWrite
	}
	b.buf.Write(p[:room])
	return len(p), nil
}
