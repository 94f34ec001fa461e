package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"pawl"
)

// Limits on what a provider may send.
const (
	MaxReply     = 64 << 20 // bytes of one streamed reply
	MaxErrorBody = 64 << 10 // bytes read of an HTTP error's body
)

var (
	errSilent   = errors.New("the provider went silent")
	errTooLarge = fmt.Errorf("the reply is larger than %d MiB", MaxReply>>20)
)

// Exchange is one request to a provider and its reply. It ends the request
// when nothing moves for the idle limit: no byte of the request is taken, no
// header comes, no byte of the reply comes. Time in which nobody reads the
// reply does not count. Use [Open]; an Exchange serves one request.
type Exchange struct {
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	key    string
	sent   bool   // the request left for the network
	host   string // where it is for

	// dialled and connected report whether a connection was looked for, and was there.
	dialled, connected atomic.Bool
}

// Open begins an exchange for one model call. The request must be made with
// the returned context, which ends when the provider is silent for idle (zero
// means [pawl.DefaultModelIdle]), when ctx ends, or at [Exchange.Close]. key
// is kept out of every error.
func Open(ctx context.Context, idle time.Duration, key string) (context.Context, *Exchange) {
	if idle <= 0 {
		idle = pawl.DefaultModelIdle
	}
	x := &Exchange{caller: ctx, idle: idle, key: key}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { x.dialled.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { x.connected.Store(true) },
	})
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.timer = time.AfterFunc(idle, func() { x.cancel(errSilent) })
	return x.ctx, x
}

// Close ends the exchange and frees what it holds.
func (x *Exchange) Close() {
	x.timer.Stop()
	x.cancel(nil)
}

// Do sends the request with next and watches the reply. An answer that is not
// an event stream is a *pawl.ModelError. It has the shape both SDKs want of a
// middleware.
func (x *Exchange) Do(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := x.Send(req, next)
	if err != nil {
		return nil, err
	}
	// Servers that name no type, or a broken one, get the benefit of the doubt.
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && kind != "text/event-stream" {
		res.Body.Close()
		e := x.Error(pawl.ModelNetwork, fmt.Sprintf("the server answered with %s instead of an event stream", kind))
		e.Free = kind == "text/html" // a page of whoever is in between; other answers may be replies
		return nil, e
	}
	return res, nil
}

// Send is like Do for an answer of any type.
func (x *Exchange) Send(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	x.sent, x.host = true, req.URL.Host
	if req.Body != nil {
		if err := stableFirst(req); err != nil {
			return nil, err
		}
		req.Body = &upload{ReadCloser: req.Body, x: x}
	}
	x.timer.Reset(x.idle)
	res, err := next(req)
	x.timer.Stop()
	if err != nil {
		return nil, err
	}
	res.Body = &download{body: res.Body, x: x, left: MaxReply}
	if err := x.refuse(res); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// refuse returns the error of an HTTP error answer; nil for any other.
func (x *Exchange) refuse(res *http.Response) error {
	if res.StatusCode < 200 || res.StatusCode > 299 {
		body, err := io.ReadAll(io.LimitReader(res.Body, MaxErrorBody))
		if err != nil && x.ctx.Err() != nil {
			return err
		}
		return x.Failure(res.StatusCode, res.Header, body)
	}
	return nil
}

// Failure is the typed error for an HTTP error answer, or for an error inside a
// stream, which has status 0 and no header.
func (x *Exchange) Failure(status int, header http.Header, body []byte) *pawl.ModelError {
	e := classify(status, header, body, time.Now())
	e.Message = Clean(e.Message, x.key)
	return e
}

// Err is what ended a call, typed: the error of the context the exchange was
// opened with when that has ended, a *pawl.ModelError otherwise.
func (x *Exchange) Err(err error) error {
	if ended := x.caller.Err(); ended != nil {
		return ended
	}
	if errors.Is(context.Cause(x.ctx), errSilent) {
		e := x.Error(pawl.ModelTimeout, fmt.Sprintf("nothing came for %s", pawl.Span(x.idle)))
		e.Unsent = x.unconnected()
		return e
	}
	if typed, ok := errors.AsType[*pawl.ModelError](err); ok {
		return typed
	}
	if !x.sent {
		return x.Error(pawl.ModelBadRequest, "the request cannot be made: "+err.Error())
	}
	e := x.Error(pawl.ModelNetwork, reason(err))
	e.Unsent = x.unconnected()
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		e.Unsent = true
		if why := absent(dial, x.host); why != "" {
			e.Kind, e.Message = pawl.ModelNoServer, why
		}
	}
	return e
}

// unconnected reports that there never was a connection to send the request on: no address, no
// server, no proxy or no TLS with it.
func (x *Exchange) unconnected() bool { return x.dialled.Load() && !x.connected.Load() }

// absent says that there certainly is no server at a host that was dialled; empty when
// one may come back by itself. On this machine it is the user who starts a server, and a
// name without a dot that nothing resolves is one of this machine's that is not set up. A
// server elsewhere that refuses connections may be restarting.
func absent(dial *net.OpError, host string) string {
	if name, ok := errors.AsType[*net.DNSError](dial.Err); ok {
		if name.IsNotFound && !strings.Contains(strings.TrimSuffix(name.Name, "."), ".") {
			return fmt.Sprintf("there is no host %q", name.Name)
		}
		return ""
	}
	to, ok := dial.Addr.(*net.TCPAddr)
	if !ok || !to.IP.IsLoopback() {
		return ""
	}
	// A machine without IPv6 has no ::1, which localhost is looked for at first.
	noIPv6 := to.IP.To4() == nil && errors.Is(dial.Err, syscall.EADDRNOTAVAIL)
	if noIPv6 || errors.Is(dial.Err, syscall.ECONNREFUSED) {
		return "nothing listens at " + host
	}
	return ""
}

// Partial is an error that ended a call after its stream had begun, with what the reply had used
// as far as it came: what the provider told, and for what it did not tell an estimate from the
// request and from the size in bytes of what has arrived. final reports that it told all. Of a
// stream in which nothing came nobody knows what it cost, nor of one that fell silent: the model
// may have gone on thinking.
func Partial(err error, req pawl.ModelRequest, told pawl.Usage, final bool, arrived int) error {
	e, ok := errors.AsType[*pawl.ModelError](err)
	if !ok || e.Kind == pawl.ModelTimeout || told.Total() <= 0 && arrived == 0 {
		return err
	}
	cut := *e
	cut.Used = pawl.Usage{Input: max(0, told.Input), CacheRead: max(0, told.CacheRead), CacheWrite: max(0, told.CacheWrite), Output: max(0, told.Output)}
	if final && cut.Used.Total() > 0 {
		return &cut
	}
	guess := Estimate(req, pawl.Message{})
	if cut.Used.Total() == cut.Used.Output {
		cut.Used.Input = guess.Input
	}
	cut.Used.Output, cut.Estimated = max(cut.Used.Output, int64(arrived+3)/4), true
	return &cut
}

// Cut is the error of a stream that ended before the reply did.
func (x *Exchange) Cut() error {
	return x.Err(errors.New("the stream ended before the reply did"))
}

// Error is a typed error whose message is cleaned.
func (x *Exchange) Error(kind pawl.ModelErrorKind, message string) *pawl.ModelError {
	return &pawl.ModelError{Kind: kind, Message: Clean(message, x.key)}
}

// reason says what went wrong on the way without the request's address.
func reason(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "the stream holds malformed JSON: " + syntax.Error()
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was cut"
	}
	return err.Error()
}

// upload is a request's body; each read shows that the connection moves.
type upload struct {
	io.ReadCloser
	x *Exchange
}

func (u *upload) Read(p []byte) (int, error) {
	u.x.timer.Reset(u.x.idle)
	return u.ReadCloser.Read(p)
}

// download is a reply's body: the clock runs while somebody waits for bytes.
type download struct {
	body io.ReadCloser
	x    *Exchange
	left int64
}

func (d *download) Read(p []byte) (int, error) {
	if d.left <= 0 {
		return 0, errTooLarge
	}
	d.x.timer.Reset(d.x.idle)
	n, err := d.body.Read(p[:min(int64(len(p)), d.left)])
	d.x.timer.Stop()
	d.left -= int64(n)
	return n, err
}

func (d *download) Close() error { return d.body.Close() }

// HTTPClient is the client an adapter sends with: base, or one with a
// connection pool of its own when base is nil. It follows no redirect, because
// a redirect would carry the key to an address nobody configured.
func HTTPClient(base *http.Client) *http.Client {
	client := &http.Client{}
	if base != nil {
		*client = *base
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		client.Transport = t.Clone()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// CheckBaseURL returns a [pawl.ModelBadRequest] when base cannot be the
// address of a server; the empty string is fine and means the provider's own.
func CheckBaseURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	shown := base
	if err == nil {
		shown = u.Redacted()
	}
	return &pawl.ModelError{
		Kind:    pawl.ModelBadRequest,
		Message: Clean(fmt.Sprintf("the base URL %q is not an address such as http://localhost:11434/v1", strings.TrimSpace(shown)), ""),
	}
}
