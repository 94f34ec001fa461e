package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
)

// patience bounds how long tests wait for another goroutine to send something. A test
// that waits in vain fails with a message instead of hanging.
const patience = 2 * time.Minute

// mustDial connects to an address and sets a deadline for the whole connection.
func mustDial(tb testing.TB, network, address string) net.Conn {
	tb.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		tb.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// say writes to a connection without waiting for the other end to read.
func say(conn net.Conn, text string) {
	go func() { _, _ = io.WriteString(conn, text) }()
}

// mustPipe returns the client's end of a new connection to the pipes' listener.
func mustPipe(t *testing.T, p *pipes) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// full is a listener of a process that has too many files open for some time.
type full struct {
	*pipes
	times int   // how often Accept fails because of that
	err   error // returned by Accept afterwards, if set
}

func (f *full) Accept() (net.Conn, error) {
	if f.times--; f.times >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.pipes.Accept()
}

// Too many open files do not stop the listener. It tries again after a pause and
// accepts the next connection as soon as it can.
func TestTooManyFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := newPipes(), time.Now()
		f := newFork(t.Context(), &full{pipes: p, times: 20}, nil)
		defer f.Close()
		conn := mustPipe(t, p)
		defer conn.Close()
		if took := time.Since(begin); took != time.Second {
			t.Errorf("20 attempts took %s, want a second", took)
		}
		say(conn, "G")
		if got, err := f.Accept(); err != nil {
			t.Errorf("a listener that can accept again: %v", err)
		} else {
			_ = got.Close()
		}
	})
	t.Run("UntilItIsClosed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFork(t.Context(), &full{pipes: newPipes(), times: 1_000_000}, nil)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestFork(t *testing.T) {
	test := func(name string, do func(t *testing.T, p *pipes, f *lineFork)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				f := newFork(t.Context(), p, nil)
				defer f.Close()
				do(t, p, f)
			})
		})
	}
	isOver := func(t *testing.T, conn net.Conn) {
		t.Helper()
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("a connection that should be closed received %d bytes, %v", n, err)
		}
	}
	test("ConnectionsClosedBeforeTheFirstByteAreDropped", func(t *testing.T, p *pipes, f *lineFork) {
		_ = mustPipe(t, p).Close()
		synctest.Wait()
		conn := mustPipe(t, p)
		defer conn.Close()
		say(conn, "GET")
		got, err := f.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		if text, err := bufio.NewReader(got).Peek(3); err != nil || string(text) != "GET" {
			t.Errorf("the accepted connection says %q, %v", text, err)
		}
	})
	test("LineConnectionsAreClosedWithoutAHandler", func(t *testing.T, p *pipes, _ *lineFork) {
		conn := mustPipe(t, p)
		defer conn.Close()
		say(conn, "{")
		isOver(t, conn)
	})
	test("CloseDropsConnectionsThatNobodyAccepted", func(t *testing.T, p *pipes, f *lineFork) {
		silent, waits := mustPipe(t, p), mustPipe(t, p)
		defer silent.Close()
		defer waits.Close()
		say(waits, "G")
		synctest.Wait()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		isOver(t, silent)
		isOver(t, waits)
		if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	})
	t.Run("ListenerErrorsAreReturned", func(t *testing.T) {
		broken := errors.New("the listener is broken")
		f := newFork(t.Context(), &full{err: broken, pipes: newPipes()}, nil)
		if _, err := f.Accept(); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		f = newFork(t.Context(), stuck{newPipes(), broken}, nil)
		if err := f.Close(); !errors.Is(err, broken) {
			t.Errorf("Close: %v", err)
		}
	})
}

// stuck is a listener whose Close returns an error.
type stuck struct {
	*pipes
	err error
}

func (s stuck) Close() error { return errors.Join(s.pipes.Close(), s.err) }

// A connection returns the byte that was already read before the others.
func TestLookedConnection(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	say(far, "bcd")
	in := bufio.NewReader(&looked{Conn: near, first: []byte("a")})
	if text, err := in.Peek(4); err != nil || string(text) != "abcd" {
		t.Errorf("read %q, %v", text, err)
	}
}

// A daemon needs only its projects and a description of itself. If it cannot listen at
// its TCP address, it returns an error and leaves no socket.
func TestServeDaemon(t *testing.T) {
	d := Daemon{Projects: one{&fake{}}, About: func() pawl.DaemonInfo { return pawl.DaemonInfo{} }}
	socket := filepath.Join(mustTemp(t), "s", "daemon.sock")
	serving := func(d Daemon, do func(ctx context.Context)) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		return ServeDaemon(ctx, socket, d, func() {
			do(ctx)
			cancel()
		})
	}
	t.Run("WithDefaults", func(t *testing.T) {
		ready, done := make(chan struct{}), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- ServeDaemon(ctx, socket, d, func() { close(ready) }) }()
		select {
		case <-ready:
		case err := <-done:
			cancel()
			t.Fatal(err)
		}
		mustRead(t, mustDial(t, "unix", socket), "/v1/events").close()
		resp := raw(t, "unix", socket, "POST /v1/handover HTTP/1.1\r\nHost: pawl\r\nContent-Length: 2\r\n\r\n{}")
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("handover without a successor: %s", resp.Status)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for name, change := range map[string]func(d *Daemon){
		"OtherMachinesMayConnect": func(d *Daemon) { d.TCP = "0.0.0.0:0" },
		"NoPort":                  func(d *Daemon) { d.TCP = "127.0.0.1" },
		"NoToken":                 func(d *Daemon) { d.TCP, d.Token = "127.0.0.1:0", filepath.Join(t.TempDir(), "no", "token") },
		"PortInUse": func(d *Daemon) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			d.TCP = l.Addr().String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := d
			change(&d)
			if err := serving(d, func(context.Context) {}); err == nil {
				t.Error("the daemon serves")
			}
			if _, err := os.Lstat(socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket exists: %v", err)
			}
		})
	}
	t.Run("SomethingElseInItsPlace", func(t *testing.T) {
		if err := os.WriteFile(socket, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := serving(d, func(context.Context) {}); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

// A server that closes gives the requests in progress a moment to finish.
func TestClosingServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		p, stop := mustServe(t, &slowRuns{asked: asked})
		conn := mustPipe(t, p)
		defer conn.Close()
		say(conn, "GET /v1/runs HTTP/1.1\r\nHost: pawl\r\nConnection: close\r\n\r\n")
		answer := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(conn)
			answer <- string(text)
		}()
		<-asked
		stop()
		if got := <-answer; !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Errorf("the answer is %q", got)
		}
	})
}

// slowRuns is a service that needs most of a closing server's patience to list its runs.
type slowRuns struct {
	fake
	asked chan struct{}
}

func (s *slowRuns) Runs(context.Context) ([]pawl.RunInfo, error) {
	close(s.asked)
	time.Sleep(400 * time.Millisecond) //nolint:forbidigo // fake time
	return nil, nil
}
