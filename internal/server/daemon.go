package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"

	"pawl"
	"pawl/internal/message"
)

// Daemon is what a daemon serves, and what it does when it is asked to.
type Daemon struct {
	Projects pawl.Projects
	// About says which process this is. Its Address is filled in here.
	About func() pawl.DaemonInfo
	// Handover makes room for a newer daemon: it begins to end this one and returns
	// when that is certain to happen; the requests under way are still answered. Nil =
	// it is refused.
	Handover func(ctx context.Context) error
	// Around, unless it is nil, is put around what answers requests over the socket: it
	// may take something out of their headers. Requests over TCP do not pass it.
	Around func(http.Handler) http.Handler
	// Feed tells what happens to all runs; whoever opens projects notifies it. Nil = one
	// is made that is told only of what comes in here.
	Feed *message.Feed
	// Lines serves a connection whose first byte is "{", until it is over or ctx ends,
	// and closes it; nil = such connections are closed. It must bear being called for
	// many connections at once.
	Lines func(ctx context.Context, conn net.Conn)
	// TCP is where browsers are listened for: an address of this machine alone, with
	// port 0 for any. Empty = nowhere.
	TCP string
	// Token is the file with the token that every request over TCP needs. It is made
	// when it is not there.
	Token string
	// Log is told which limits were reached and who was refused; nil = nobody is.
	Log *slog.Logger

	tcp *tcp // nil = TCP is not listened for
}

// tcp is where a daemon listens for browsers.
type tcp struct {
	listener net.Listener
	access   *access
}

// listenTCP listens at an address of this machine alone.
func listenTCP(ctx context.Context, address, token string) (*tcp, error) {
	host, _, _ := net.SplitHostPort(address) // on an error, host is empty
	if !net.ParseIP(host).IsLoopback() {
		return nil, pawl.Errorf(pawl.CodeInvalid, "%q is not an address that only this machine can reach", address).WithHint("give 127.0.0.1:PORT; port 0 takes any")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "listen: %w", err)
	}
	a, err := openAccess(token, l.Addr())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &tcp{l, a}, nil
}

func (t *tcp) face(h *handler) *served {
	_, port, _ := net.SplitHostPort(t.listener.Addr().String()) // it listens there
	return &served{t.listener, paced(onlyHere(tcpHosts(port), t.access.only(h.routes(faceTCP))))}
}

// link is an address that begins a session of a browser.
func (h *handler) link() (Link, error) {
	if h.d.tcp == nil {
		return Link{}, pawl.Errorf(pawl.CodeUnavailable, "this daemon does not listen for browsers").WithHint("pawl serve --listen 127.0.0.1:0")
	}
	return h.d.tcp.access.link(), nil
}

func (h *handler) about() pawl.DaemonInfo {
	info := h.d.About()
	if h.d.tcp != nil {
		info.Address = h.d.tcp.listener.Addr().String()
	}
	return info
}

func (h *handler) project(ctx context.Context, id string) (pawl.ProjectInfo, error) {
	all, err := h.d.Projects.Projects(ctx)
	for _, p := range all {
		if p.ID == id {
			return p, nil
		}
	}
	if err == nil {
		err = pawl.Errorf(pawl.CodeNotFound, "no project %q is open", id).WithHint("open it by a folder of its repository")
	}
	return pawl.ProjectInfo{}, err
}

func (h *handler) open(ctx context.Context, in OpenRequest) (pawl.ProjectInfo, error) {
	if !filepath.IsAbs(in.Dir) {
		return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeFolder, "dir %q: want the absolute path of a folder in a repository", in.Dir).WithField("dir").WithHint("such as /home/ada/shop")
	}
	return h.d.Projects.Open(ctx, in.Dir)
}

func (h *handler) handover(ctx context.Context) error {
	if h.d.Handover == nil {
		return pawl.Errorf(pawl.CodeUnavailable, "this process does not make room for another")
	}
	return h.d.Handover(ctx)
}

// ServeDaemon serves a daemon on a unix socket, and on TCP when it is to, until ctx
// ends, as [Serve] does. Where the cause of ctx has [pawl.CodeStopped], streams end with
// it instead of just stopping. ready is called when clients can connect.
func ServeDaemon(ctx context.Context, socket string, d Daemon, ready func()) error {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Feed == nil {
		d.Feed = message.NewFeed(d.Projects)
	}
	h := newHandler(nil, &d, d.Feed)
	h.once.full = func() { d.Log.Warn("an idempotency key was forgotten before its time", "limit", MaxKeys) }
	l, err := listen(ctx, socket)
	if err != nil {
		return err
	}
	if d.TCP != "" {
		if d.tcp, err = listenTCP(ctx, d.TCP, d.Token); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	socketFace := h.face(faceSocket, socketHosts)
	if d.Around != nil {
		socketFace = d.Around(socketFace)
	}
	faces := []*served{{listener: newFork(ctx, ownUser{l, d.Log}, d.Lines), handler: socketFace}}
	if d.tcp != nil {
		faces = append(faces, d.tcp.face(h))
	}
	ready()
	return serve(ctx, faces...)
}
