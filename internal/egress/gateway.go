package egress

import (
	"bytes"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"pawl"
)

// gateway is the part of a proxy that forwards requests to the server of a model provider, and puts
// the key where a request has the token.
type gateway struct {
	proxy   *Proxy
	token   string
	key     func(ctx context.Context) (string, error)
	told    func(pawl.GatewayAnswer)
	base    *url.URL // its path has no slash at the end
	port    uint16
	forward *httputil.ReverseProxy
}

// newGateway returns the gateway of a proxy.
func newGateway(p *Proxy, o pawl.Gateway, quiet *log.Logger) (*gateway, error) {
	bad := func(reason string) (*gateway, error) {
		return nil, pawl.Errorf(pawl.CodeInvalid, "the gateway's address %s", reason)
	}
	base, err := url.Parse(o.Address)
	switch {
	case err != nil: // the text is left out, because it may hold a password
		return bad("is not a URL")
	case base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return bad("must begin with http://HOST or https://HOST")
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return bad("must not have a user, a query or a fragment")
	case o.Token == "" || o.Key == nil:
		return nil, pawl.Errorf(pawl.CodeInvalid, "a gateway needs a token and a key")
	}
	path, err := cleanPath(base.EscapedPath())
	if err != nil {
		return bad("has a path that is not valid: " + err.Error())
	}
	setPath(base, strings.TrimRight(path, "/"))
	_, port, err := net.SplitHostPort(authority(base))
	number, failed := strconv.ParseUint(port, 10, 16)
	if err != nil || failed != nil || number == 0 {
		return bad("has a port that is not valid")
	}
	g := &gateway{proxy: p, token: o.Token, key: o.Key, told: o.Answered, base: base, port: uint16(number)}
	if g.told == nil {
		g.told = func(pawl.GatewayAnswer) {}
	}
	g.forward = &httputil.ReverseProxy{
		Rewrite: g.rewrite, ModifyResponse: g.inspect, ErrorHandler: g.broken, ErrorLog: quiet,
		FlushInterval: -1,
		// There is no timeout for the response's header: models think for minutes.
		Transport: &http.Transport{
			DialContext: dialRoute, Proxy: routeProxy, OnProxyConnectResponse: checkConnect,
			// Traffic is counted per connection, so each request has one of its own.
			DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: int64(p.limits.HeaderBytes), TLSHandshakeTimeout: p.limits.Dial,
		},
	}
	return g, nil
}

// forGateway reports whether a request is sent to this proxy as if it were the server.
func forGateway(req *http.Request) bool {
	if req.Method == http.MethodConnect || !strings.HasPrefix(req.RequestURI, "/") {
		return false
	}
	host := req.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, ok := literal(strings.Trim(host, "[]"))
	return ok && address.IsLoopback()
}

type keyOf struct{}

// answer forwards a request that presents the token, and refuses any other.
func (g *gateway) answer(w http.ResponseWriter, req *http.Request) {
	if _, ok := g.replaceToken(req.Header.Clone(), req.URL.RawQuery, ""); !ok {
		g.refuse(w, http.StatusUnauthorized, "authentication_error", "the request does not have this session's token as its key", "")
		return
	}
	switch {
	case len(req.Header.Values("Upgrade")) > 0:
		g.refuse(w, http.StatusNotImplemented, "invalid_request_error", "the gateway does not support WebSocket or any other upgrade", "")
		return
	case req.Method == http.MethodTrace: // the response would contain the key
		g.refuse(w, http.StatusMethodNotAllowed, "invalid_request_error", "the gateway does not support TRACE", "")
		return
	}
	if _, err := cleanPath(req.URL.EscapedPath()); err != nil {
		g.refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error(), "")
		return
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(g.proxy.ctx, cancel)()
	key, err := g.key(ctx)
	if err == nil && key == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		g.refuse(w, http.StatusServiceUnavailable, "api_error", "Pawl cannot get the key for "+g.base.Host, err.Error())
		return
	}
	to, err := g.route(ctx)
	if err != nil {
		g.told(pawl.GatewayAnswer{Err: err})
		g.refuse(w, http.StatusBadGateway, "api_error", err.Error(), "")
		return
	}
	ctx = context.WithValue(context.WithValue(ctx, routeOf{}, to), keyOf{}, key)
	g.forward.ServeHTTP(finalWriter{w}, req.WithContext(ctx))
}

// route returns how to reach the provider's server. Its address is the user's choice, so it may be
// private.
func (g *gateway) route(ctx context.Context) (*route, error) {
	to := &route{proxy: g.proxy, host: g.base.Hostname(), port: g.port}
	if address, ok := literal(to.host); ok {
		to.host = address.String()
	}
	upstream, err := g.proxy.upstream(&url.URL{Scheme: g.base.Scheme, Host: to.name()})
	if err != nil {
		return nil, errors.New("the user's proxy has no valid address")
	}
	if to.upstream = upstream; upstream != nil {
		return to, nil
	}
	if address, ok := literal(to.host); ok {
		to.addresses = append(to.addresses, address)
		return to, nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.proxy.limits.Dial)
	defer cancel()
	if to.addresses, err = g.proxy.resolver.LookupNetIP(ctx, "ip", to.host); err != nil || len(to.addresses) == 0 {
		return nil, fmt.Errorf("%s %s: %s", to.name(), Unresolved, resolveReason(err))
	}
	for i, a := range to.addresses {
		to.addresses[i] = a.Unmap()
	}
	return to, nil
}

// rewrite directs a request to the provider's server and puts the key into it.
func (g *gateway) rewrite(r *httputil.ProxyRequest) {
	key, _ := r.In.Context().Value(keyOf{}).(string)
	path, _ := cleanPath(r.In.URL.EscapedPath()) // answer has checked it
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = g.base.Scheme, g.base.Host, g.base.Host
	setPath(r.Out.URL, g.base.EscapedPath()+path)
	r.Out.URL.RawQuery, _ = g.replaceToken(r.Out.Header, r.Out.URL.RawQuery, key)
	r.Out.Header.Del("Cookie")
	r.Out.Header.Del("Accept-Encoding") // errors are read here
}

// replaceToken puts the key in place of the token in a request's header and raw query, and removes
// other credentials. It returns the new query and reports whether the token was there.
func (g *gateway) replaceToken(header http.Header, query, key string) (newQuery string, found bool) {
	for _, place := range []struct{ name, scheme string }{{"X-Api-Key", ""}, {"Authorization", "Bearer"}, {"X-Goog-Api-Key", ""}} {
		values := header.Values(place.name)
		header.Del(place.name)
		for _, v := range values {
			prefix := ""
			if place.scheme != "" {
				scheme, rest, _ := strings.Cut(v, " ")
				if !strings.EqualFold(scheme, place.scheme) {
					continue
				}
				prefix, v = place.scheme+" ", strings.TrimSpace(rest)
			}
			if g.isToken(v) {
				header.Add(place.name, prefix+key)
				found = true
			}
		}
	}
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, _ = url.QueryUnescape(name)
		if name != "key" {
			kept = append(kept, part)
			continue
		}
		if value, err := url.QueryUnescape(value); err == nil && g.isToken(value) {
			kept = append(kept, "key="+url.QueryEscape(key))
			found = true
		}
	}
	return strings.Join(kept, "&"), found
}

func (g *gateway) isToken(s string) bool {
	return subtle.ConstantTimeCompare([]byte(s), []byte(g.token)) == 1
}

// inspect removes what must not reach a room from a response.
func (g *gateway) inspect(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the server switches to another protocol")
	}
	if err := g.redirect(res); err != nil {
		return err
	}
	key, _ := res.Request.Context().Value(keyOf{}).(string)
	for name, values := range res.Header {
		if name == "Set-Cookie" || name == "Set-Cookie2" || contains(name+"\n"+strings.Join(values, "\n"), key) {
			delete(res.Header, name)
		}
	}
	res.Trailer = nil
	res.Body = untrailed{res.Body, res}
	return g.tell(res)
}

// maxErrorBody is how much of an error's body is read before the room gets it, in bytes.
const maxErrorBody = 64 << 10

// tell reports a response to whoever wants to know what the server answers.
func (g *gateway) tell(res *http.Response) error {
	a := pawl.GatewayAnswer{Status: res.StatusCode, Header: res.Header.Clone()}
	if res.StatusCode >= http.StatusBadRequest {
		var err error
		if a.Body, err = io.ReadAll(io.LimitReader(res.Body, maxErrorBody)); err != nil {
			return err
		}
		res.Body = restored{io.MultiReader(bytes.NewReader(a.Body), res.Body), res.Body}
	}
	g.told(a)
	return nil
}

// restored is a body whose beginning was read.
type restored struct {
	io.Reader
	io.Closer
}

// redirect makes the address of a redirect one of this gateway. It is an error if it leads elsewhere.
func (g *gateway) redirect(res *http.Response) error {
	location := res.Header.Get("Location")
	if res.StatusCode/100 != 3 || location == "" {
		return nil
	}
	elsewhere := errors.New("the server redirects to another address")
	to, err := res.Request.URL.Parse(location)
	if err != nil || to.Scheme != g.base.Scheme || !strings.EqualFold(authority(to), authority(g.base)) {
		return elsewhere
	}
	rest, below := strings.CutPrefix(to.EscapedPath(), g.base.EscapedPath())
	if !below || rest != "" && rest[0] != '/' || strings.HasPrefix(rest, "//") {
		return elsewhere
	}
	if rest == "" {
		rest = "/"
	}
	if to.RawQuery != "" {
		rest += "?" + to.RawQuery
	}
	res.Header.Set("Location", rest)
	return nil
}

// broken answers a request that the provider's server did not answer, or not in a way that can be
// passed on.
func (g *gateway) broken(w http.ResponseWriter, req *http.Request, err error) {
	if req.Context().Err() != nil { // the client is gone
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	g.told(pawl.GatewayAnswer{Err: err})
	reason := dialReason(err).Error()
	// An error about a malformed response can quote it.
	if key, _ := req.Context().Value(keyOf{}).(string); contains(reason, key) {
		reason = "the response is not valid"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		reason = "its certificate is not valid: " + reason
	}
	g.refuse(w, http.StatusBadGateway, "api_error", "no response from "+g.base.Host+": "+reason, "")
}

// refuse answers a request that is not forwarded, in the form of the providers' errors. The record
// has the detail, which commands must not see.
func (g *gateway) refuse(w http.ResponseWriter, status int, kind, message, detail string) {
	reason := message
	if detail != "" {
		reason += ": " + detail
	}
	host := net.JoinHostPort(g.base.Hostname(), strconv.Itoa(int(g.port)))
	g.proxy.note(&refused{status: status, host: host, reason: reason})
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Type, body.Error.Message = kind, "pawl gateway: "+clean(message, maxReason)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// checkConnect reports that the user's proxy does not open a tunnel.
func checkConnect(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the user's proxy answers %d", res.StatusCode)
	}
	return nil
}

// cleanPath returns an escaped path that begins with a slash and has no "." or "..". It returns an
// error if a server that decodes the path in another way could find one.
func cleanPath(escaped string) (string, error) {
	var kept []string
	dots := false // the last segment was one
	for segment := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
		text, err := url.PathUnescape(segment)
		if err != nil {
			return "", errors.New("the path is not escaped correctly")
		}
		if dots = text == "." || text == ".."; !dots {
			for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '/' || c == '\\' }) {
				if name, _, _ := strings.Cut(part, ";"); name == ".." {
					return "", errors.New(`the path contains ".." in an escaped form`)
				}
			}
			kept = append(kept, segment)
		}
		if text == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
	}
	path := "/" + strings.Join(kept, "/")
	if dots && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	return path, nil
}

// setPath sets the path of a URL to one that is escaped.
func setPath(u *url.URL, escaped string) {
	u.Path, _ = url.PathUnescape(escaped)
	u.RawPath = escaped
}

// contains reports whether a text contains the key, also in another case or escaped.
func contains(text, key string) bool {
	if key == "" {
		return false
	}
	text = strings.ToLower(text)
	for _, form := range []string{key, url.QueryEscape(key), url.PathEscape(key)} {
		if strings.Contains(text, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

// finalWriter leaves out informational responses, whose headers nobody has inspected.
type finalWriter struct{ http.ResponseWriter }

func (w finalWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap lets an [http.ResponseController] flush.
func (w finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// untrailed is the body of a response that leaves out the trailer, which nobody has inspected.
type untrailed struct {
	io.ReadCloser
	res *http.Response
}

func (b untrailed) Close() error {
	err := b.ReadCloser.Close()
	b.res.Trailer = nil
	return err
}
