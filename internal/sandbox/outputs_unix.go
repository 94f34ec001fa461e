//go:build unix

package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// outputs copies what a process prints. The zero value is ready to use.
type outputs struct {
	copies sync.WaitGroup
	cut    atomic.Bool // more might have come

	mu   sync.Mutex // guards from
	from []*os.File
}

// pipes returns the ends of new pipes to which a process can print, one for each writer, and copies what is
// printed. The caller must close them once the process has them.
func (o *outputs) pipes(to ...io.Writer) (theirs []*os.File, err error) {
	for _, w := range to {
		reader, writer, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			o.end(0)
			return nil, err
		}
		theirs = append(theirs, writer)
		o.mu.Lock()
		o.from = append(o.from, reader)
		o.mu.Unlock()
		o.copies.Go(func() {
			defer reader.Close()
			if _, err := io.Copy(w, &untilDeadline{file: reader}); errors.Is(err, os.ErrDeadlineExceeded) {
				o.cut.Store(true)
			}
		})
	}
	return theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// end waits until everything has been copied, when the process has ended. A process elsewhere may have
// been handed a pipe: what it prints later than after the delay is not waited for.
func (o *outputs) end(delay time.Duration) {
	o.mu.Lock()
	for _, f := range o.from {
		_ = f.SetReadDeadline(time.Now().Add(delay))
	}
	o.mu.Unlock()
	o.copies.Wait()
}

// lateLimit is how many bytes are read from a pipe after its deadline, so that a writer without end does
// not keep a reader. Linux lets a pipe hold no more than that unless root allows it; see pipe(7).
const lateLimit = 1 << 20

// untilDeadline reads a pipe until there is no more to come. After the deadline it still reads what the
// pipe holds, but does not wait for more: on a busy machine the deadline can pass before what was printed
// long ago is read.
type untilDeadline struct {
	file *os.File
	late int // bytes that were read after the deadline
}

// Read implements [io.Reader]. The error is [os.ErrDeadlineExceeded] when more might come.
func (r *untilDeadline) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if r.late >= lateLimit {
		return 0, err
	}
	conn, connErr := r.file.SyscallConn()
	if connErr != nil {
		return 0, connErr
	}
	var readErr error
	if err := conn.Control(func(fd uintptr) { // unlike its Read, it has no deadline
		for readErr = unix.EINTR; errors.Is(readErr, unix.EINTR); {
			n, readErr = unix.Read(int(fd), p)
		}
	}); err != nil {
		return 0, err
	}
	switch {
	case errors.Is(readErr, unix.EAGAIN):
		return 0, err
	case readErr != nil:
		return 0, &os.PathError{Op: "read", Path: r.file.Name(), Err: readErr}
	case n == 0:
		return 0, io.EOF
	}
	r.late += n
	return n, nil
}
