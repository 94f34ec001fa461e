package client

import (
	"context"
	"maps"
	"net/http"
	"time"

	"pawl"
)

// TakeOver is how long streams that were cut off wait for a newer daemon to take the
// place of the one that has gone.
const TakeOver = 15 * time.Second

// Daemon is a connection to the daemon of a user. It implements [pawl.Projects].
type Daemon struct {
	c Client
	// Gone is asked while a stream that was cut off cannot be continued, again and again.
	// An error says that no daemon is there and none is about to come: the stream ends with
	// it at once. Nil = streams wait for [TakeOver]. It is set before the first call.
	Gone func(ctx context.Context) error
}

var _ pawl.Projects = (*Daemon)(nil)

// NewDaemon makes a client of a daemon's socket. It connects with the first call.
func NewDaemon(socket string) *Daemon { return &Daemon{c: Client{http: over(socket), at: "/v1"}} }

// Send lets a header go with every request from now on. It is called before the first.
func (d *Daemon) Send(header http.Header) { d.c.Send(header) }

// headed sends a header with every request.
type headed struct {
	http.RoundTripper
	header http.Header
}

// RoundTrip implements [http.RoundTripper].
func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, h.header)
	return h.RoundTripper.RoundTrip(r)
}

// CloseIdleConnections lets a client close them.
func (h headed) CloseIdleConnections() {
	(&http.Client{Transport: h.RoundTripper}).CloseIdleConnections()
}

// Close lets go of idle connections.
func (d *Daemon) Close() { d.c.Close() }

// About says which process it is.
func (d *Daemon) About(ctx context.Context) (info pawl.DaemonInfo, err error) {
	err = d.c.call(ctx, http.MethodGet, "/v1/daemon", nil, &info)
	return info, err
}

// Handover asks it to make room for a newer daemon.
func (d *Daemon) Handover(ctx context.Context) error {
	return d.c.call(ctx, http.MethodPost, "/v1/handover", struct{}{}, &struct{}{})
}

// Open implements [pawl.Projects].
func (d *Daemon) Open(ctx context.Context, dir string) (info pawl.ProjectInfo, err error) {
	err = d.c.call(ctx, http.MethodPost, "/v1/projects", map[string]string{"dir": dir}, &info)
	return info, err
}

// Projects implements [pawl.Projects].
func (d *Daemon) Projects(ctx context.Context) (all []pawl.ProjectInfo, err error) {
	err = d.c.call(ctx, http.MethodGet, "/v1/projects", nil, &all)
	return all, err
}

// Project implements [pawl.Projects].
func (d *Daemon) Project(ctx context.Context, id string) (pawl.Service, error) {
	var info pawl.ProjectInfo
	at := "/v1/projects/" + part(id)
	if err := d.c.call(ctx, http.MethodGet, at, nil, &info); err != nil {
		return nil, err
	}
	return &Client{http: d.c.http, at: at, patience: TakeOver, gone: d.Gone}, nil
}

// Load implements [pawl.Projects].
func (d *Daemon) Load(ctx context.Context) (load pawl.Load, err error) {
	err = d.c.call(ctx, http.MethodGet, "/v1/load", nil, &load)
	return load, err
}
