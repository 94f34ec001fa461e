package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pawl"
)

// Serve listens on a unix socket only this user can open, until ctx ends. Then
// streams stop, what is being answered is given [shutdownGrace], and nothing of
// the server is left when Serve returns, the socket included. A socket that an
// earlier process left behind is replaced: whoever calls this holds the project's
// lock. around, unless it is nil, is put around what answers requests, as [Daemon.Around] is.
// ready is called when clients can connect.
func Serve(ctx context.Context, socket string, s pawl.Service, around func(http.Handler) http.Handler, ready func()) error {
	l, err := listen(ctx, socket)
	if err != nil {
		return err
	}
	h := Handler(s)
	if around != nil {
		h = around(h)
	}
	ready()
	return serve(ctx, &served{listener: ownUser{l, slog.New(slog.DiscardHandler)}, handler: h})
}

func listen(ctx context.Context, socket string) (net.Listener, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := checkFolder(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	if err := removeOld(socket); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	err = os.Chmod(socket, 0o600)
	made, statErr := os.Lstat(socket)
	if err = errors.Join(err, statErr); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), l.Close())
	}
	return &placed{l, socket, made}, nil
}

// placed is a listener that removes its socket when it is closed, and no other one that has
// its place by then.
type placed struct {
	net.Listener
	socket string
	made   os.FileInfo
}

// Close implements [net.Listener].
func (p *placed) Close() error {
	if u, ok := p.Listener.(*net.UnixListener); ok {
		there, err := os.Lstat(p.socket)
		u.SetUnlinkOnClose(err == nil && os.SameFile(p.made, there))
	}
	return p.Listener.Close()
}

// checkFolder makes the socket's folder, or checks that nobody but the user can
// have put anything there: it may be below a folder that everybody can write to.
func checkFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the socket's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at the socket's folder: %w", err)
	}
	switch {
	case !info.IsDir():
		return insecure(dir, "is not a folder").WithHint("remove it")
	case !ours(info):
		return insecure(dir, "belongs to another user"+owner(info)).WithHint("set XDG_STATE_HOME to a shorter path, so that the socket is there")
	case info.Mode().Perm()&0o077 != 0:
		return insecure(dir, "can be entered by others").WithHint("chmod 700 %s", dir)
	}
	return nil
}

func insecure(dir, why string) *pawl.Error {
	return pawl.Errorf(pawl.CodeUnavailable, "%s, where the socket would be, %s", dir, why)
}

// removeOld removes the socket of a process that died; nothing else is removed.
func removeOld(socket string) error {
	info, err := os.Lstat(socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return pawl.Errorf(pawl.CodeUnavailable, "%s is not a socket, and the daemon's socket belongs there", socket).WithHint("move it away")
	}
	if err == nil {
		err = os.Remove(socket)
	}
	if err != nil {
		return fmt.Errorf("remove the old socket: %w", err)
	}
	return nil
}

// shutdownGrace is how long requests under way get to end when the server closes.
const shutdownGrace = 500 * time.Millisecond

// served is a listener with what answers its requests.
type served struct {
	listener net.Listener
	handler  http.Handler
}

// serve serves until ctx ends or a listener breaks. Nothing of it is left then.
func serve(ctx context.Context, faces ...*served) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(faces))
	for _, f := range faces {
		go func() {
			defer cancel() // one that broke ends the others
			failed <- f.serve(ctx)
		}()
	}
	var err error
	for range faces {
		err = errors.Join(err, <-failed)
	}
	return err
}

func (f *served) serve(ctx context.Context) error {
	var conns sync.WaitGroup
	srv := &http.Server{
		Handler: f.handler, ReadHeaderTimeout: HeaderTimeout, MaxHeaderBytes: MaxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				conns.Add(1)
			case http.StateClosed:
				conns.Done()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // what a stranger sends is no news of ours
	}
	var failed error
	over := make(chan struct{})
	go func() {
		defer close(over)
		failed = srv.Serve(f.listener)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
	asked := ctx.Err() != nil
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // those that did not end in time are cut off
	}
	<-over
	conns.Wait()
	if asked {
		return nil
	}
	return fmt.Errorf("serve: %w", failed)
}
