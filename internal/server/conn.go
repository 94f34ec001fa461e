package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ownUser is a listener for the processes of this user alone: others, root among
// them, are closed at once. Root has its own daemon and its own state; what it does
// with another user's is to be done as that user.
type ownUser struct {
	net.Listener
	log *slog.Logger
}

func (l ownUser) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		over, isUnix := conn.(*net.UnixConn)
		if !isUnix {
			return conn, nil // in this process
		}
		uid, err := peer(over)
		if err == nil && uid == os.Geteuid() {
			return conn, nil
		}
		l.log.Warn("another user was refused", "uid", uid, "err", err)
		_ = conn.Close()
	}
}

// lineFork is a listener for HTTP that hands connections over whose first byte is
// "{". It waits for that byte, [HeaderTimeout] at most, beside the other connections.
type lineFork struct {
	net.Listener
	lines  func(ctx context.Context, conn net.Conn)
	ctx    context.Context
	cancel context.CancelFunc
	http   chan net.Conn
	failed chan error
	all    sync.WaitGroup
}

// acceptAgain is how long a listener waits when the process has too many files open.
const acceptAgain = 50 * time.Millisecond

func newFork(ctx context.Context, l net.Listener, lines func(context.Context, net.Conn)) *lineFork {
	if lines == nil {
		lines = func(_ context.Context, conn net.Conn) { _ = conn.Close() }
	}
	f := &lineFork{Listener: l, lines: lines, http: make(chan net.Conn), failed: make(chan error, 1)}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx)) // the server closes it when ctx ends
	f.all.Go(f.accept)
	return f
}

func (f *lineFork) accept() {
	for {
		conn, err := f.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			select { // there will be room again when others have gone
			case <-time.After(acceptAgain):
				continue
			case <-f.ctx.Done():
			}
		}
		if err != nil {
			f.failed <- err
			return
		}
		f.all.Go(func() { f.look(conn) })
	}
}

// look sees what a connection speaks.
func (f *lineFork) look(conn net.Conn) {
	stop := context.AfterFunc(f.ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	_ = conn.SetReadDeadline(time.Now().Add(HeaderTimeout))
	first := make([]byte, 1)
	_, err := conn.Read(first)
	if !stop() || err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	conn = &looked{Conn: conn, first: first}
	if first[0] == '{' {
		defer conn.Close()
		f.lines(f.ctx, conn)
		return
	}
	select {
	case f.http <- conn:
	case <-f.ctx.Done():
		_ = conn.Close()
	}
}

// Accept gives the next connection that speaks HTTP.
func (f *lineFork) Accept() (net.Conn, error) {
	select {
	case conn := <-f.http:
		return conn, nil
	case err := <-f.failed:
		f.failed <- err
		return nil, err
	case <-f.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close ends the listener and waits for the connections it has handed over.
func (f *lineFork) Close() error {
	f.cancel()
	err := f.Listener.Close()
	f.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// looked is a connection whose first byte was read.
type looked struct {
	net.Conn
	first []byte
}

func (c *looked) Read(data []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(data, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(data)
}
