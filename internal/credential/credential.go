// Package credential reads the keys of providers from where their users keep them: a variable,
// a file, the output of a command, or the keyring of the desktop. A key stays in memory.
//
// Only a user's own settings say where keys are: commands are run with the user's rights,
// outside of any room.
package credential

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
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/process"
)

const (
	// grace is what a command gets to end when its time is over.
	grace = time.Second
	// maxKey is how many bytes a key may have. That of a cloud's service has some thousands.
	maxKey = 16 << 10
	// maxSaid is how much is shown of what a failed command said, in bytes.
	maxSaid = 200
)

// Reader reads keys and remembers those that are stored elsewhere than in the environment, so
// that a person is not asked for each run. The zero Reader is ready to use.
type Reader struct {
	// Timeout is how long a source may take. Zero means [config.KeyTime].
	Timeout time.Duration

	mu   sync.Mutex // guards keys
	keys map[place]*entry
}

// place is where a key is found: a file below ~/ is another one for another home.
type place struct {
	config.KeySource
	home string
}

type entry struct {
	mu  sync.Mutex // one asks at a time, the others wait for what it is told
	key string
}

// Key returns the key that a source has in an environment; empty when it has none. An error
// names the source and says why it could not be read.
func (r *Reader) Key(ctx context.Context, s config.KeySource, environ []string) (string, error) {
	return r.key(ctx, s, environ, "")
}

// Again returns the key of a source anew, after a provider refused the one that was read. It is
// the same one when nothing has changed.
func (r *Reader) Again(ctx context.Context, s config.KeySource, environ []string, refused string) (string, error) {
	return r.key(ctx, s, environ, refused)
}

// key returns what is remembered, unless it was refused.
func (r *Reader) key(ctx context.Context, s config.KeySource, environ []string, refused string) (string, error) {
	if !s.Stored() {
		return strings.TrimSpace(config.Variable(environ, s.Env)), nil
	}
	at := place{s, config.Variable(environ, "HOME")}
	r.mu.Lock()
	if r.keys == nil {
		r.keys = make(map[place]*entry)
	}
	e := r.keys[at]
	if e == nil {
		e = &entry{}
		r.keys[at] = e
	}
	r.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.key != "" && e.key != refused {
		return e.key, nil
	}
	timeout := cmp.Or(r.Timeout, config.KeyTime)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no key came within %s", pawl.Span(timeout)))
	defer cancel()
	key, err := read(ctx, at, environ)
	if err != nil {
		return "", pawl.Errorf(pawl.CodeUnavailable, "%s gives no key: %w", s, err)
	}
	e.key = key
	return key, nil
}

// read asks a source that stores its key.
func read(ctx context.Context, at place, environ []string) (key string, err error) {
	switch {
	case at.File != "":
		key, err = fromFile(at)
	case at.Command != "":
		key, err = fromCommand(ctx, at, environ)
	default:
		key, err = fromKeyring(ctx, at.Keyring)
	}
	if err != nil {
		return "", err
	}
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", errors.New("it is empty")
	case len(key) > maxKey:
		return "", fmt.Errorf("it has more than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("want the key alone, one word of ASCII characters")
	}
	return key, nil
}

func fromFile(at place) (string, error) {
	name := at.File
	if rest, below := strings.CutPrefix(name, "~/"); below {
		if at.home == "" {
			return "", errors.New("HOME is not set")
		}
		name = filepath.Join(at.home, rest)
	}
	info, err := os.Stat(name) // before it is opened: a pipe would keep us waiting
	if err != nil {
		return "", reason(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKey+2))
	return string(data), err
}

// reason is an error of a file without its name, which is said already.
func reason(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

func fromCommand(ctx context.Context, at place, environ []string) (string, error) {
	var out, said capped
	cmd := process.Command(ctx, grace, "/bin/sh", "-c", at.Command)
	cmd.Env, cmd.Dir = environ, cmp.Or(at.home, "/")
	cmd.Stdout, cmd.Stderr = &out, &said
	err := process.Run(cmd)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		why := exit.String()
		// What it printed may be a key; what it said is for people.
		if line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); line != "" {
			why += ": " + line[:min(len(line), maxSaid)]
		}
		return "", errors.New(why)
	}
	return out.String(), err
}

// capped keeps the beginning of an output.
type capped struct{ bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	c.Buffer.Write(p[:min(len(p), max(0, maxKey+2-c.Len()))])
	return len(p), nil
}

func fromKeyring(ctx context.Context, entry string) (string, error) {
	service, account, _ := strings.Cut(entry, "/")
	type found struct {
		key string
		err error
	}
	got := make(chan found, 1)
	go func() { // it ends when the keyring answers, which may be when a person does
		key, err := keyring.Get(service, account)
		got <- found{key, err}
	}()
	select {
	case f := <-got:
		switch {
		case errors.Is(f.err, keyring.ErrNotFound):
			return "", errors.New("it does not exist")
		case f.err != nil:
			return "", fmt.Errorf("the keyring cannot be used: %w", f.err)
		}
		return f.key, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
