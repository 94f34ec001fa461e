package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"pawl"
)

// Limits bound what one room's clients can ask of the proxy. A field that is zero means
// its default.
type Limits struct {
	Connections int           // at once; further ones wait
	HeaderBytes int           // of a request or an answer
	Dial        time.Duration // to resolve a name and connect to one of its addresses
	Idle        time.Duration // without a byte either way
}

// DefaultLimits are those of a proxy when nothing else is set.
var DefaultLimits = Limits{Connections: 256, HeaderBytes: 64 << 10, Dial: 30 * time.Second, Idle: 5 * time.Minute}

// Resolver finds the addresses of names. A [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options say what a proxy lets through and how.
type Options struct {
	Rules []string // see [Parse]
	// Resolver is nil for that of this machine.
	Resolver Resolver
	// Environ are the variables of whoever started the run. HTTPS_PROXY, HTTP_PROXY and
	// NO_PROXY in it say which proxy of theirs requests go through.
	Environ []string
	// Refused is called when requests to a host are refused for the first time for a reason.
	// It must not block; it may be nil.
	Refused func(pawl.Contact)
	Limits  Limits
	// Gateway, if not nil, answers requests that are sent to this proxy as if it were the server:
	// with a path alone, and with a loopback address as Host. No rule applies to it.
	Gateway *pawl.Gateway
}

// Proxy is the egress proxy of one room.
type Proxy struct {
	rules    []Rule
	resolver Resolver
	upstream func(*url.URL) (*url.URL, error)
	limits   Limits
	dial     func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	own      func() []netip.Prefix
	server   *http.Server
	plain    *httputil.ReverseProxy
	gateway  *gateway // nil if there is none
	record   *record
	refused  func(pawl.Contact)

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed, and requests.Add
	closed bool
	// requests are those that are being answered.
	requests sync.WaitGroup
}

// New makes a proxy.
func New(o Options) (*Proxy, error) {
	rules, err := ParseAll(o.Rules)
	if err != nil {
		return nil, err
	}
	upstream, err := upstreamOf(o.Environ)
	if err != nil {
		return nil, err
	}
	d := DefaultLimits
	p := &Proxy{rules: rules, resolver: o.Resolver, upstream: upstream, own: ownNetworks, record: newRecord(), refused: o.Refused}
	if p.resolver == nil {
		p.resolver = net.DefaultResolver
	}
	p.limits = Limits{
		Connections: cmp.Or(o.Limits.Connections, d.Connections), HeaderBytes: cmp.Or(o.Limits.HeaderBytes, d.HeaderBytes),
		Dial: cmp.Or(o.Limits.Dial, d.Dial), Idle: cmp.Or(o.Limits.Idle, d.Idle),
	}
	p.dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "tcp", to.String())
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	quiet := log.New(io.Discard, "", 0) // whatever a client sends wrong is told to the client
	p.server = &http.Server{
		Handler: http.HandlerFunc(p.answer), ErrorLog: quiet, MaxHeaderBytes: p.limits.HeaderBytes,
		ReadHeaderTimeout: p.limits.Idle, IdleTimeout: p.limits.Idle,
		DisableGeneralOptionsHandler: true,
	}
	p.plain = &httputil.ReverseProxy{
		Rewrite:  func(*httputil.ProxyRequest) {}, // the request is as it must be
		ErrorLog: quiet,
		Transport: &http.Transport{
			DialContext: dialRoute, Proxy: routeProxy,
			// One connection for each request, to the address that was judged for it.
			DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: int64(p.limits.HeaderBytes), ResponseHeaderTimeout: p.limits.Idle,
			TLSHandshakeTimeout: p.limits.Dial,
		},
		ErrorHandler: p.broken,
	}
	if o.Gateway != nil {
		if p.gateway, err = newGateway(p, *o.Gateway, quiet); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// upstreamOf returns a function that selects the user's own proxy for an address.
func upstreamOf(environ []string) (func(*url.URL) (*url.URL, error), error) {
	vars := make(map[string]string, len(environ))
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	config := httpproxy.Config{
		HTTPProxy:  cmp.Or(vars["HTTP_PROXY"], vars["http_proxy"]),
		HTTPSProxy: cmp.Or(vars["HTTPS_PROXY"], vars["https_proxy"]),
		NoProxy:    cmp.Or(vars["NO_PROXY"], vars["no_proxy"]),
	}
	for _, v := range []struct{ name, value string }{{"HTTP_PROXY", config.HTTPProxy}, {"HTTPS_PROXY", config.HTTPSProxy}} {
		address := v.value
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		// Its text is left out, as it may hold a password.
		if u, err := url.Parse(address); v.value != "" && (err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https") {
			return nil, pawl.Errorf(pawl.CodeInvalid, "%s is not the address of a proxy: want http://HOST:PORT or https://HOST:PORT", v.name)
		} else if v.value != "" {
			if err := CheckURL(u); err != nil {
				return nil, pawl.Errorf(pawl.CodeInvalid, "%s is not the address of a proxy: %w", v.name, err)
			}
		}
	}
	return config.ProxyFunc(), nil
}

// Serve answers the clients of a listener until that or the proxy is closed.
func (p *Proxy) Serve(l net.Listener) error {
	err := p.server.Serve(limitListener(l, p.limits.Connections))
	if errors.Is(err, net.ErrClosed) || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Traffic returns the hosts that clients were in contact with so far. It has at most a hundred
// entries.
func (p *Proxy) Traffic() []pawl.Contact { return p.record.list() }

// Close ends all connections. Traffic does not change afterwards.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	err := p.server.Close()
	p.requests.Wait()
	if errors.Is(err, net.ErrClosed) { // whoever made the listener may have closed it just now
		return nil
	}
	return err
}

// begin reports whether another request may be answered.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.requests.Add(1)
	}
	return !p.closed
}

// refused is an answer to a client that does not get where it wants to.
type refused struct {
	status int
	host   string
	reason string // one line
	barred bool   // see [pawl.Contact]
}

func (r *refused) Error() string { return r.reason }

// answer answers one request.
func (p *Proxy) answer(w http.ResponseWriter, req *http.Request) {
	if !p.begin() {
		return
	}
	defer p.requests.Done()
	if p.gateway != nil && forGateway(req) {
		p.gateway.answer(w, req)
		return
	}
	host, port, err := target(req)
	if err != nil {
		p.refuse(w, req, &refused{status: http.StatusBadRequest, host: clean(req.RequestURI, maxHost), reason: err.Error()})
		return
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	to, err := p.judge(ctx, req.Method == http.MethodConnect, host, port)
	if err != nil {
		p.refuse(w, req, err)
		return
	}
	if req.Method == http.MethodConnect {
		p.tunnel(ctx, w, req, to)
		return
	}
	p.forward(ctx, w, req, to)
}

// target returns the host and port that a request is for. It goes by the request line alone,
// whatever the headers say.
func target(req *http.Request) (host string, port uint16, err error) {
	authority := req.RequestURI
	if req.Method != http.MethodConnect {
		switch {
		case req.URL.Host == "" || strings.HasPrefix(req.RequestURI, "/") || req.RequestURI == "*":
			return "", 0, errors.New("this is a proxy: want CONNECT HOST:PORT, or a request with an address that begins with http://")
		case req.URL.Scheme != "http":
			return "", 0, fmt.Errorf("the scheme %q is not served: want http://, or CONNECT HOST:PORT", clean(req.URL.Scheme, 20))
		case req.URL.User != nil:
			return "", 0, errors.New("a user in the address is not passed on: leave it out")
		}
		if authority = req.URL.Host; req.URL.Port() == "" {
			authority = strings.TrimSuffix(authority, ":") + ":80"
		}
	}
	if host, port, err = splitTarget(authority); err != nil {
		return "", 0, err
	}
	if _, ok := literal(host); ok {
		return host, port, nil
	}
	return host, port, checkName(host)
}

// route is how a request reaches its host.
type route struct {
	proxy *Proxy
	host  string // as the client named it
	port  uint16
	// addresses are those that were judged. Through an upstream proxy there may be none.
	addresses []netip.Addr
	upstream  *url.URL // nil = directly
	entry     *entry   // of the record, once a connection is there
	// idle bounds the time without a byte either way; 0 means that there is no bound.
	idle time.Duration
}

func (r *route) name() string { return net.JoinHostPort(r.host, strconv.Itoa(int(r.port))) }

// refused returns the answer to a client whose request is not sent on this route.
func (r *route) refused(status int, reason string) *refused {
	return &refused{status: status, host: r.name(), reason: r.name() + " " + reason}
}

// judge decides whether clients may reach a host, and at which addresses.
func (p *Proxy) judge(ctx context.Context, tunnel bool, host string, port uint16) (*route, error) {
	to := &route{proxy: p, host: host, port: port, idle: p.limits.Idle}
	bad := func(status int, format string, args ...any) (*route, error) {
		return nil, to.refused(status, fmt.Sprintf(format, args...))
	}
	barred := func(format string, args ...any) (*route, error) {
		r := to.refused(http.StatusForbidden, fmt.Sprintf(format, args...))
		r.barred = true
		return nil, r
	}
	address, isAddress := literal(host)
	if isAddress {
		to.host = address.String()
	}
	var named []netip.Prefix // where the name may be
	var public, found bool
	for _, r := range p.rules {
		if !r.names(to.host, port) {
			continue
		}
		found = true
		switch {
		case !r.stands.IsValid():
			public = true
		case r.stands.IsSingleIP():
			to.addresses = append(to.addresses, r.stands.Addr())
		default:
			named = append(named, r.stands)
		}
	}
	switch {
	case !found:
		return bad(http.StatusForbidden, "is not named: the user can allow it with the egress rule %s", to.name())
	case len(to.addresses) > 0:
		return to, nil
	}
	scheme := "http"
	if tunnel {
		scheme = "https"
	}
	upstream, err := p.upstream(&url.URL{Scheme: scheme, Host: to.name()})
	if err != nil {
		return bad(http.StatusBadGateway, "cannot be reached: the proxy of whoever started the run has no valid address")
	}
	ctx, cancel := context.WithTimeout(ctx, p.limits.Dial)
	defer cancel()
	addresses, err := p.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		if upstream != nil && public {
			to.upstream = upstream
			return to, nil
		}
		return bad(http.StatusBadGateway, Unresolved+": %s", resolveReason(err))
	}
	own := p.own()
	for _, a := range addresses {
		a = a.Unmap()
		inside := false
		for _, n := range named {
			inside = inside || n.Contains(a)
		}
		kind := refusal(a, own)
		switch {
		case inside || public && kind == "":
			to.addresses = append(to.addresses, a)
		case kind == "":
			return barred("resolves to %s, which no rule about it names: the user can allow it with the egress rule %s=%s", a, to.name(), a)
		default:
			return barred("resolves to %s, %s: the user can allow it with the egress rule %s=%s", a, kind, to.name(), a)
		}
	}
	if public && len(named) == 0 {
		to.upstream = upstream
	}
	return to, nil
}

func resolveReason(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return e.Err
	}
	return "it has no address"
}

// connect connects to the host, or to the proxy on the way to it.
func (r *route) connect(ctx context.Context) (net.Conn, error) {
	p := r.proxy
	ctx, cancel := context.WithTimeout(ctx, p.limits.Dial)
	defer cancel()
	var conn net.Conn
	var err error
	if r.upstream != nil {
		var dialer net.Dialer
		if conn, err = dialer.DialContext(ctx, "tcp", authority(r.upstream)); err != nil {
			return nil, errors.New("the proxy of whoever started the run cannot be reached")
		}
	} else {
		for _, a := range r.addresses {
			if conn, err = p.dial(ctx, netip.AddrPortFrom(a, r.port)); err == nil {
				break
			}
		}
		if err != nil {
			return nil, dialReason(err)
		}
	}
	r.entry = p.record.reach(r.name())
	return counted{conn, r.entry, r.idle}, nil
}

// dialReason returns why a host cannot be reached, without its addresses.
func dialReason(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err
	}
	return err
}

// authority returns the host and port of a proxy.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// tunnel connects a client with its host. Nothing of what they say is looked at: a name
// in TLS that is another one is sent to this host all the same.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, req *http.Request, to *route) {
	server, err := to.connect(ctx)
	if err == nil && to.upstream != nil {
		server, err = to.through(ctx, server)
	}
	if err != nil {
		p.refuse(w, req, to.refused(http.StatusBadGateway, "cannot be reached: "+err.Error()))
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // it is gone
	}
	defer client.Close()
	// The request's own context ends when the client has said all, and it may still wait for
	// the answer.
	defer context.AfterFunc(p.ctx, func() { client.Close(); server.Close() })()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	alive := func() { // either way; reading from the host sees to its own connection
		end := time.Now().Add(p.limits.Idle)
		_ = client.SetDeadline(end)
		_ = server.SetDeadline(end)
	}
	var both sync.WaitGroup
	both.Go(func() { relay(server, buffered.Reader, client, alive) })
	both.Go(func() { relay(client, server, server, alive) })
	both.Wait()
}

// relay copies one direction of a tunnel to its end. What breaks ends both.
func relay(to net.Conn, from io.Reader, source net.Conn, alive func()) {
	buffer := make([]byte, 32<<10)
	for {
		alive()
		n, err := from.Read(buffer)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				_ = source.Close()
				_ = to.Close()
				return
			}
		}
		if err == io.EOF {
			_ = closeWrite(to)
			return
		}
		if err != nil {
			_ = source.Close()
			_ = to.Close()
			return
		}
	}
}

// through asks the upstream proxy for a tunnel.
func (r *route) through(ctx context.Context, conn net.Conn) (net.Conn, error) {
	p := r.proxy
	_ = conn.SetDeadline(time.Now().Add(p.limits.Dial))
	if r.upstream.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: r.upstream.Hostname(), MinVersion: tls.VersionTLS12})
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, errors.New("the certificate of the proxy of whoever started the run is not valid")
		}
		conn = secure
	}
	request := "CONNECT " + r.name() + " HTTP/1.1\r\nHost: " + r.name() + "\r\n"
	if u := r.upstream.User; u != nil {
		password, _ := u.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)) + "\r\n"
	}
	_, err := io.WriteString(conn, request+"\r\n")
	reader := bufio.NewReader(io.LimitReader(conn, int64(p.limits.HeaderBytes)))
	var res *http.Response
	if err == nil {
		res, err = http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // the answer to CONNECT has none
	}
	switch {
	case err != nil:
		_ = conn.Close()
		return nil, errors.New("the proxy of whoever started the run does not answer")
	case res.StatusCode != http.StatusOK:
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy of whoever started the run answers %d", res.StatusCode)
	}
	_ = conn.SetDeadline(time.Time{})
	early, _ := reader.Peek(reader.Buffered()) // they are there
	return begun{conn, io.MultiReader(strings.NewReader(string(early)), conn)}, nil
}

// begun is a connection of which something was read ahead.
type begun struct {
	net.Conn
	from io.Reader
}

func (b begun) Read(p []byte) (int, error) { return b.from.Read(p) }

// CloseWrite tells the host that no more comes.
func (b begun) CloseWrite() error { return closeWrite(b.Conn) }

type routeOf struct{}

// dialRoute and routeProxy take a request the way that was found for it.
func dialRoute(ctx context.Context, _, _ string) (net.Conn, error) {
	return ctx.Value(routeOf{}).(*route).connect(ctx)
}

func routeProxy(req *http.Request) (*url.URL, error) {
	return req.Context().Value(routeOf{}).(*route).upstream, nil
}

// forward sends a request that is not encrypted on to its host. [httputil.ReverseProxy]
// leaves out what is between client and proxy alone, Proxy-Authorization among it.
func (p *Proxy) forward(ctx context.Context, w http.ResponseWriter, req *http.Request, to *route) {
	out := req.Clone(context.WithValue(ctx, routeOf{}, to))
	out.URL.Host = to.name()
	if out.Host = to.name(); to.port == 80 {
		out.Host = strings.TrimSuffix(out.Host, ":80")
	}
	out.Header.Del("Upgrade") // what follows would be no request that can be judged
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	p.plain.ServeHTTP(w, out)
}

// broken answers a request whose host did not.
func (p *Proxy) broken(w http.ResponseWriter, req *http.Request, err error) {
	to := req.Context().Value(routeOf{}).(*route)
	if e, ok := errors.AsType[*net.OpError](err); ok {
		err = e.Err
	}
	p.refuse(w, req, to.refused(http.StatusBadGateway, "cannot be reached: "+err.Error()))
}

// note records a refusal, and makes its reason fit for a line.
func (p *Proxy) note(r *refused) {
	r.reason = clean(r.reason, maxReason)
	if c, first := p.record.refuse(r.host, r.reason, r.barred); first && p.refused != nil {
		p.refused(c)
	}
}

// lingers bounds how long a client that was refused may take to read that and to end its
// request.
const lingers = 2 * time.Second

// refuse tells a client why it does not get where it wants to. Many clients show the
// text of the status line alone, so the reason is there as well.
func (p *Proxy) refuse(w http.ResponseWriter, req *http.Request, err error) {
	r, ok := errors.AsType[*refused](err)
	if !ok {
		r = &refused{status: http.StatusBadGateway, host: clean(req.RequestURI, maxHost), reason: err.Error()}
	}
	p.note(r)
	body := "pawl egress: " + r.reason + "\n"
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, strings.TrimSuffix(body, "\n"), r.status)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(p.ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(min(p.limits.Dial, lingers)))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		r.status, r.reason, len(body), body)
	_ = closeWrite(conn)
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 64<<10)) // or an answer to what it still sends could overtake this one
}
