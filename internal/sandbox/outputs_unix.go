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
	from   []*os.File
	copies sync.WaitGroup
	cut    atomic.Bool // set if a pipe was still open when end stopped reading it
}

// pipes returns the ends of new pipes to which a process can print, one for each writer, and copies what is
// printed. The caller must close them once the process has them, and call end.
func (o *outputs) pipes(to ...io.Writer) (theirs []*os.File, err error) {
	for _, w := range to {
		reader, writer, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			o.end(0)
			return nil, err
		}
		theirs = append(theirs, writer)
		o.from = append(o.from, reader)
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

// end waits until all output has been copied. It is called when the process has ended, or was not started.
// If another process was handed a pipe, end waits for its output no longer than the delay.
func (o *outputs) end(delay time.Duration) {
	for _, f := range o.from {
		_ = f.SetReadDeadline(time.Now().Add(delay))
	}
	o.copies.Wait()
}

// lateLimit is how many bytes are read from a pipe after its deadline, so that a process that prints
// endlessly cannot keep the reader. By default, it is also the most that a pipe holds on Linux; see pipe(7).
const lateLimit = 1 << 20

// untilDeadline reads a pipe to its end. After the deadline it reads what is left in the pipe, without
// waiting for more: on a busy machine the deadline may pass before output is read that was there in time.
type untilDeadline struct {
	file *os.File
	late int // bytes that were read after the deadline
}

// Read implements [io.Reader]. After the deadline, the error is [os.ErrDeadlineExceeded] if the pipe is
// empty but still open.
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
