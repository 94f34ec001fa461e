package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"pawl"
)

// openInput returns the end of a pipe from which a command can read what from delivers. The reader
// is nil if from is. The caller must call end when the command has ended; it closes from.
func openInput(from io.ReadCloser) (reader *os.File, end func(), err error) {
	if from == nil {
		return nil, func() {}, nil
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		_ = from.Close()
		return nil, nil, err
	}
	var fed sync.WaitGroup
	fed.Go(func() {
		_, _ = io.Copy(writer, from) // a command need not read all of it
		_ = writer.Close()
	})
	return reader, func() {
		_ = reader.Close() // fails a write that waits for the command
		_ = from.Close()   // ends a read that waits for more
		fed.Wait()
	}, nil
}

// running is a command that runs.
type running interface {
	// exited is closed when nothing of the command is left.
	exited() <-chan struct{}
	// terminate asks the command's process group to end. It returns false when there
	// is none, also after the time a command that is just being set up gets.
	terminate(within time.Duration) bool
	// kill ends everything that the command started.
	kill()
	// result says how it ended: finished reports that it ended by itself. The error
	// says why it could not be started.
	result() (code int, finished bool, err error)
}

// runToEnd waits until nothing of a command is left, and ends it when its time is
// over or ctx ends. What there was then comes with the context's error.
func runToEnd(ctx context.Context, p running, cmd pawl.Command, out *capture, w *diskWatch) (pawl.CommandResult, error) {
	began := time.Now()
	timeout := time.NewTimer(cmd.Timeout)
	defer timeout.Stop()
	disk := make(chan pawl.ResourceMet, 1)
	if w != nil {
		done := make(chan struct{})
		defer close(done)
		go w.run(done, func(met pawl.ResourceMet) { disk <- met })
	}
	var timedOut bool
	var ctxErr, endErr error
	var met []pawl.ResourceMet
	select {
	case <-p.exited():
	case m := <-disk:
		met = append(met, m)
		_, endErr = end(p, 0)
	case <-timeout.C:
		timedOut, endErr = end(p, cmd.Grace)
	case <-ctx.Done():
		var ended bool
		if ended, endErr = end(p, cmd.Grace); ended {
			ctxErr = ctx.Err()
		}
	}
	result := pawl.CommandResult{TimedOut: timedOut, Met: met, Duration: time.Since(began)}
	result.Output, result.Stdout, result.Dropped = out.result()
	if endErr != nil {
		result.ExitCode = -1
		return result, fmt.Errorf("run command: %w", errors.Join(ctxErr, endErr))
	}
	code, finished, err := p.result()
	result.ExitCode = exitCode(code, finished)
	if resource := signalled[code-128]; finished && resource != "" {
		result.Met = append(result.Met, pawl.ResourceMet{Resource: resource})
	}
	result.Missing = result.ExitCode == 127
	if ctxErr != nil {
		return result, fmt.Errorf("run command: %w", ctxErr)
	}
	if err != nil && !timedOut && len(met) == 0 {
		return result, fmt.Errorf("run command: %w", err)
	}
	return result, nil
}

// drainDelay is how long to wait for more output after a command has ended. It
// only matters when a process outside the tree was handed the pipe.
const drainDelay = time.Second

// signalled maps the signals that end a process at a limit to what is limited: SIGXCPU
// and SIGXFSZ, which have the same numbers on all systems that have them.
var signalled = map[int]pawl.Resource{24: pawl.ResourceCPU, 25: pawl.ResourceFileSize}

// killLimit is how long the end of a killed tree may take before Run gives up.
const killLimit = 10 * time.Second

// end ends the whole tree: TERM to the command's process group, and after the
// grace, or when the command has not begun, KILL to everything. It returns false
// when the command had ended by itself before.
func end(p running, grace time.Duration) (bool, error) {
	if exits(p, 0) {
		return false, nil
	}
	if p.terminate(grace) && exits(p, grace) {
		return true, nil
	}
	p.kill()
	if exits(p, killLimit) {
		return true, nil
	}
	return true, fmt.Errorf("the command and what it started could not be ended within %s", killLimit)
}

// exits waits for the end, for a while.
func exits(p running, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited():
		return true
	case <-timer.C:
		return false
	}
}

// exitCode is -1 for a command that a signal ended. Shells and bubblewrap tell
// so by a code of 128 and the signal's number, which is therefore read alike
// whether confined or not.
func exitCode(code int, finished bool) int {
	if !finished || code > 128 && code <= 128+64 {
		return -1
	}
	return code
}

// bounded keeps the first bytes of what is written to it.
type bounded struct {
	mu    sync.Mutex
	limit int
	text  bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p[:min(len(p), b.limit-b.text.Len())])
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
