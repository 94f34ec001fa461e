package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/process"
)

// conversation is a git process that answers requests until it is ended. While it waits for a
// request, nothing of this program waits for it.
type conversation struct {
	requests *os.File
	pipe     *os.File
	answers  *bufio.Reader // of pipe
	over     chan struct{} // closed when the process is to end
	ended    chan error    // receives how it ended, after that
}

// start starts a conversation that ends with ctx. It calls release when it has ended.
func (r Repo) start(ctx context.Context, release func(), args ...string) (_ *conversation, err error) {
	var open []*os.File
	pipe := func() (read, write *os.File) {
		if err == nil {
			read, write, err = os.Pipe()
			open = append(open, read, write)
		}
		return read, write
	}
	in, requests := pipe()
	answers, out := pipe()
	var said *os.File
	if err == nil {
		said, err = temporary()
	}
	if err != nil {
		for _, f := range open {
			_ = f.Close()
		}
		release()
		return nil, err
	}
	cmd := r.prepare(ctx, args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, said
	c := &conversation{requests, answers, bufio.NewReader(answers), make(chan struct{}), make(chan error, 1)}
	given := func() { _, _ = in.Close(), out.Close() } // so that the end of the process is seen
	run := func(cmd *exec.Cmd) error { return process.Serve(cmd, given, c.over) }
	go func() {
		defer release()
		err := r.Command.exec(cmd, run)
		given() // ends a reading that waits
		c.ended <- r.failure(ctx, args, err, firstOf(said))
	}()
	return c, nil
}

// temporary returns a file that has no name.
func temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "pawl-git-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// firstOf returns the first 4 kB of a file, which it closes.
func firstOf(f *os.File) string {
	defer f.Close()
	text := make([]byte, 4096)
	n, _ := f.ReadAt(text, 0)
	return string(text[:n])
}

// lives reports whether the process can answer: one that has ended has closed its answers.
func (c *conversation) lives() bool { return c.answers.Buffered() == 0 && !process.HasMore(c.pipe) }

// end ends the process and returns how it went.
func (c *conversation) end() error {
	_ = c.requests.Close()
	_ = c.pipe.Close() // after a broken answer git may still be writing
	close(c.over)
	return <-c.ended
}

// Resident answers calls about a repository through git processes that stay for the next
// call, one for each kind of call, as long as they are used. Several calls at once have
// processes of their own. Use it from any goroutine.
type Resident struct {
	repo Repo
	rest time.Duration

	mu   sync.Mutex
	idle map[string]*resting // by the arguments of the process
	// listed is what Files returned last, kept for as long as a process waits.
	listed *listing
}

// resting is a process that waits for the next call.
type resting struct {
	*conversation
	kill  context.CancelCauseFunc
	timer *time.Timer
}

// Resident returns the repository with processes that end when they have not been used for
// that long.
func (r Repo) Resident(rest time.Duration) *Resident {
	return &Resident{repo: r, rest: rest, idle: map[string]*resting{}}
}

// Close ends the processes that wait. The resident can be used again.
func (k *Resident) Close() error {
	k.mu.Lock()
	idle := k.idle
	k.idle = map[string]*resting{}
	k.mu.Unlock()
	var errs []error
	for _, p := range idle {
		p.timer.Stop()
		errs = append(errs, p.end())
	}
	return errors.Join(errs...)
}

// take returns a process that waits, or starts one.
func (k *Resident) take(args []string) (*resting, error) {
	key := strings.Join(args, "\x00")
	k.mu.Lock()
	p := k.idle[key]
	delete(k.idle, key)
	k.mu.Unlock()
	if p != nil {
		p.timer.Stop()
		if p.lives() {
			return p, nil
		}
		_ = p.end() // somebody killed it
	}
	ctx, kill := context.WithCancelCause(context.Background())
	c, err := k.repo.start(ctx, func() { kill(nil) }, args...)
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return &resting{conversation: c, kill: kill}, nil
}

// put lets a process wait for the next call, unless another one does.
func (k *Resident) put(args []string, p *resting) {
	key := strings.Join(args, "\x00")
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle[key] != nil {
		go func() { _ = p.end() }()
		return
	}
	k.idle[key] = p
	p.timer = time.AfterFunc(k.rest, func() {
		k.mu.Lock()
		mine := k.idle[key] == p
		if mine {
			delete(k.idle, key)
		}
		k.mu.Unlock()
		if mine {
			_ = p.end()
		}
	})
}

// with lends a process to a call, which reports whether it can be used again. It is ended if
// not, and if ctx ends meanwhile.
func (k *Resident) with(ctx context.Context, args []string, use func(*conversation) (again bool, err error)) error {
	ctx, cancel := k.repo.Command.within(ctx)
	defer cancel()
	p, err := k.take(args)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.kill(context.Cause(ctx)) })
	again, err := use(p.conversation)
	if stop() && again {
		k.put(args, p)
		return err
	}
	ending := p.end()
	if again || err == nil { // it was answered
		return err
	}
	if _, ours := errors.AsType[*pawl.Error](err); ours || ending == nil {
		return err
	}
	return ending
}

// Objects lends a reader of objects.
func (k *Resident) Objects(ctx context.Context, read func(*Objects) error) error {
	return k.with(ctx, []string{"cat-file", "--batch"}, func(c *conversation) (bool, error) {
		o := &Objects{c, k.repo.Command.limit(), nil}
		err := read(o)
		if o.broken != nil {
			return false, o.broken
		}
		return true, err
	})
}

// Files is as [Repo.Files], without a process for the tree that was listed last. Other callers
// may have the same list: it must not be changed.
func (k *Resident) Files(ctx context.Context, tree string) ([]Entry, error) {
	k.mu.Lock()
	l := k.listed
	k.mu.Unlock()
	if l != nil && l.tree == tree {
		return l.files, nil
	}
	files, err := k.repo.Files(ctx, tree)
	if err != nil {
		return nil, err
	}
	l = &listing{tree, files}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.listed = l
	time.AfterFunc(k.rest, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.listed == l {
			k.listed = nil
		}
	})
	return files, nil
}

// listing is a tree and its files.
type listing struct {
	tree  string
	files []Entry
}

// MoveRef is as [Repo.MoveRef], without a reason of its own in the reflog.
func (k *Resident) MoveRef(ctx context.Context, ref, to, old string) error {
	if old == "" {
		old = strings.Repeat("0", len(to))
	}
	return k.with(ctx, []string{"update-ref", "-m", "pawl", "--stdin", "-z"}, func(c *conversation) (again bool, err error) {
		if _, err := fmt.Fprintf(c.requests, "start\x00update %s\x00%s\x00%s\x00commit\x00", ref, to, old); err != nil {
			return false, err
		}
		for _, want := range []string{"start: ok\n", "commit: ok\n"} {
			if got, err := c.answers.ReadString('\n'); err != nil || got != want {
				return false, errors.Join(err, fmt.Errorf("git update-ref answered %q", got))
			}
		}
		return true, nil
	})
}
