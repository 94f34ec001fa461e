package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
)

// names is a resolver that knows what tests tell it.
type names struct {
	mu    sync.Mutex
	known map[string][]string // answers to one question each; the last one stays
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.known[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.known[host] = answers[1:]
	}
	var out []netip.Addr
	for a := range strings.FieldsSeq(answers[0]) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// public is an address that names of tests resolve to. Nothing is sent there.
const public = "93.184.215.14"

// world is a proxy whose connections all lead to one server, whatever address they are for.
type world struct {
	*Proxy
	address string // where it listens
	canary  *httptest.Server
	visits  atomic.Int32 // of the server
	mu      sync.Mutex   // guards what follows
	dialled []string
	seen    []*http.Request
	told    []pawl.Contact // of refusals
}

func newWorld(tb testing.TB, known map[string][]string, environ []string, rules ...string) *world {
	tb.Helper()
	w := &world{}
	w.canary = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.visits.Add(1)
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		if r.URL.Path == "/away" {
			http.Redirect(rw, r, "http://10.0.0.5/secret", http.StatusFound)
			return
		}
		fmt.Fprintf(rw, "canary for %s", r.Host)
	}))
	tb.Cleanup(w.canary.Close)
	var err error
	if w.Proxy, err = New(Options{Rules: rules, Environ: environ, Resolver: &names{known: known}, Refused: w.hear}); err != nil {
		tb.Fatal(err)
	}
	w.own = func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("8.8.4.0/24")} }
	w.dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		w.mu.Lock()
		w.dialled = append(w.dialled, to.String())
		w.mu.Unlock()
		var d net.Dialer
		return d.DialContext(ctx, "tcp", w.canary.Listener.Addr().String())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w.address = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.Serve(l) }()
	tb.Cleanup(func() {
		if err := errors.Join(w.Close(), <-served); err != nil {
			tb.Error(err)
		}
	})
	return w
}

func (w *world) hear(c pawl.Contact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, c)
}

// MustConnect connects to the proxy.
func (w *world) MustConnect(tb testing.TB) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return conn
}

// ask sends the text of a request. In a tunnel it sends another one to the host. It
// returns all that comes back.
func (w *world) ask(tb testing.TB, text string) string {
	tb.Helper()
	conn := w.MustConnect(tb)
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		tb.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	status, err := reader.ReadString('\n')
	if err != nil {
		return fmt.Sprintf("%s(%v)", status, err)
	}
	if strings.HasPrefix(status, "HTTP/1.1 200 Connection established") {
		if _, err := io.WriteString(conn, "GET /inner HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n"); err != nil {
			tb.Fatal(err)
		}
	}
	rest, _ := io.ReadAll(reader)
	return status + string(rest)
}

func connectTo(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

func get(address, host string) string {
	return "GET " + address + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

// attempt is a request that must reach nothing. With the rule allow, the request control
// reaches the server: only the proxy's judgement is in the way.
type attempt struct{ name, request, allow, control string }

// attempts are by rules for npm.test on ports 80 and 443, target.test on 443 and *.wild.test
// on both.
func attempts() []attempt {
	var list []attempt
	for _, a := range []string{
		"127.0.0.1", "127.8.8.8", "10.0.0.5", "172.16.0.1", "172.31.255.254", "192.168.1.1", "100.64.0.1", "169.254.1.1",
		"169.254.169.254", "168.63.129.16", "192.0.0.192", "0.0.0.0", "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.9", "8.8.4.4", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:7f00:1",
		"64:ff9b::7f00:1", "64:ff9b:1::1", "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2002:7f00:1::",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "3fff::1", "100::1",
	} {
		list = append(list, attempt{"a name for " + a, connectTo("target.test:443"), "target.test:443=" + a, ""})
	}
	for _, a := range []string{"127.0.0.1:443", "[::1]:443", "[::ffff:127.0.0.1]:443", "[64:ff9b::7f00:1]:443", "169.254.169.254:443"} {
		list = append(list, attempt{"the address " + a, connectTo(a), a, ""})
	}
	for _, n := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "0x7f.0.0.0x1"} {
		list = append(list, attempt{"the number " + n, connectTo(n + ":443"), "127.0.0.1:443", connectTo("127.0.0.1:443")})
	}
	named := func(name, request, rule string) { list = append(list, attempt{name, request, rule, ""}) }
	like := func(name, request, control string) { list = append(list, attempt{name, request, "", control}) }
	named("some addresses private", connectTo("mixed.test:443"), "mixed.test:443=10.0.0.0/8")
	named("a name that is not named", connectTo("evil.test:443"), "evil.test:443")
	named("the same in plain", get("http://evil.test/", "evil.test"), "evil.test:80")
	named("a Host that is named", get("http://evil.test/", "npm.test"), "evil.test:80")
	named("another label before", connectTo("evil-wild.test:443"), "evil-wild.test:443")
	named("the domain of a wildcard", connectTo("wild.test:443"), "wild.test:443")
	named("two labels for a wildcard", connectTo("a.b.wild.test:443"), "a.b.wild.test:443")
	named("a domain that begins like it", connectTo("x.wild.test.evil.test:443"), "x.wild.test.evil.test:443")
	named("a homograph", connectTo("xn--nm-fmc.test:443"), "xn--nm-fmc.test:443")
	named("another port", connectTo("npm.test:22"), "npm.test:22")
	named("the other scheme's port", connectTo("target.test:80"), "target.test:80=127.0.0.1")
	named("a user that looks like a host", get("http://npm.test@evil.test/", "npm.test"), "evil.test:80")
	list[len(list)-1].control = get("http://evil.test/", "npm.test")
	named("a user with a port", get("http://npm.test:80@evil.test/", "npm.test"), "evil.test:80")
	list[len(list)-1].control = get("http://evil.test/", "npm.test")
	named("a fragment that looks like a user", get("http://evil.test#@npm.test/", "npm.test"), "evil.test:80")
	list[len(list)-1].control = get("http://evil.test/", "npm.test")
	for name, target := range map[string]string{
		"a port too large by 65536": "npm.test:65979", "a port with a zero": "npm.test:0443", "a port with a sign": "npm.test:+443",
		"a port with a letter": "npm.test:443x", "no port": "npm.test", "an empty port": "npm.test:", "two ports": "npm.test:443:443",
		"a user in CONNECT": "npm.test:443@evil.test:443", "a user in CONNECT for a named host": "evil.test@npm.test:443",
		"a NUL": "npm.test%00.evil.test:443", "an encoded dot": "npm.test%2eevil.test:443", "a zone": "[fe80::1%25eth0]:443",
		"a letter that is not ASCII": "nрm.test:443", "a path": "npm.test:443/../evil.test:443", "a scheme in CONNECT": "https://npm.test:443",
	} {
		like(name, connectTo(target), connectTo("npm.test:443"))
	}
	for name, request := range map[string]string{
		"a relative address":       get("/", "npm.test"),
		"a backslash":              get(`http://evil.test\@npm.test/`, "npm.test"),
		"https without CONNECT":    get("https://npm.test/", "npm.test"),
		"another scheme":           get("ftp://npm.test/", "npm.test"),
		"a line break in the name": get("http://npm.test%0d%0aHost:%20evil.test/", "npm.test"),
		"a bare line break":        "CONNECT npm.test\n:443 HTTP/1.1\r\nHost: npm.test\r\n\r\n",
		"a carriage return":        "CONNECT npm.test\r:443 HTTP/1.1\r\nHost: npm.test\r\n\r\n",
		"a space in the target":    "CONNECT npm.test:443 evil.test:443 HTTP/1.1\r\nHost: npm.test\r\n\r\n",
		"two hosts":                "GET http://evil.test/ HTTP/1.1\r\nHost: npm.test\r\nHost: evil.test\r\n\r\n",
		"every path":               "OPTIONS * HTTP/1.1\r\nHost: npm.test\r\n\r\n",
		"SOCKS":                    "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb\r\n\r\n",
	} {
		like(name, request, get("http://npm.test/", "npm.test"))
	}
	return list
}

// F-02: of the requests for what must not be reached none gets through, and each would if
// it were not judged.
func TestNothingElseIsReached(t *testing.T) {
	list := attempts()
	if len(list) < 60 {
		t.Errorf("%d requests are tried, want at least 60", len(list))
	}
	rules := []string{"npm.test:443", "npm.test:80", "target.test:443", "*.wild.test:443", "*.wild.test:80", "mixed.test:443"}
	through := 0
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			address := public
			if rule, stands, mapped := strings.Cut(a.allow, "="); mapped && rule == "target.test:443" {
				address = stands
			}
			known := map[string][]string{
				"npm.test": {public}, "evil.test": {public}, "target.test": {address}, "mixed.test": {public + " 10.0.0.5"},
				"2130706433": {"127.0.0.1"}, "0x7f000001": {"127.0.0.1"}, "0177.0.0.1": {"127.0.0.1"}, "127.1": {"127.0.0.1"},
				"0x7f.1": {"127.0.0.1"}, "0x7f.0.0.0x1": {"127.0.0.1"},
				"evil-wild.test": {public}, "wild.test": {public}, "a.b.wild.test": {public}, "x.wild.test.evil.test": {public}, "xn--nm-fmc.test": {public},
			}
			w := newWorld(t, known, nil, rules...)
			answer := w.ask(t, a.request)
			if n := w.visits.Load(); n != 0 || len(w.dialled) != 0 {
				through++
				t.Errorf("it reached %q: %s", w.dialled, answer)
			}
			status, _, _ := strings.Cut(answer, "\r\n")
			if !strings.HasPrefix(status, "HTTP/1.1 4") {
				t.Errorf("the client is told %q, want a status of 4xx", answer)
			}
			control, allowed := a.control, rules
			if control == "" {
				control = a.request
			}
			if a.allow != "" {
				allowed = append(allowed[:len(allowed):len(allowed)], a.allow)
			}
			w = newWorld(t, known, nil, allowed...)
			if answer := w.ask(t, control); w.visits.Load() != 1 {
				t.Errorf("without the judgement it is not reached either: %s", answer)
			}
		})
	}
	t.Logf("%d requests, %d through", len(list), through)
}

// What is refused names the rule that would allow it.
func TestRefusalsNameTheRule(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.corp": {"10.0.0.5"}, "cdn.corp": {public}}, nil, "npm.corp:443", "cdn.corp:443=10.0.0.0/8")
	for request, want := range map[string]string{
		connectTo("evil.test:443"):                     "HTTP/1.1 403 evil.test:443 is not named: the user can allow it with the egress rule evil.test:443\r\n",
		get("http://evil.test/x", "y"):                 "pawl egress: evil.test:80 is not named: the user can allow it with the egress rule evil.test:80\n",
		connectTo("npm.corp:443"):                      "npm.corp:443 resolves to 10.0.0.5, a private address: the user can allow it with the egress rule npm.corp:443=10.0.0.5\r\n",
		connectTo("cdn.corp:443"):                      "which no rule about it names: the user can allow it with the egress rule cdn.corp:443=" + public,
		get("http://u:p@npm.corp/", "npm.corp"):        "HTTP/1.1 400 a user in the address is not passed on: leave it out\r\n",
		get("/package", "npm.corp"):                    "HTTP/1.1 400 this is a proxy: want CONNECT HOST:PORT",
		connectTo("[::ffff:169.254.169.254]:80"):       "HTTP/1.1 403 169.254.169.254:80 is not named",
		"CONNECT npm.corp HTTP/1.1\r\nHost: x\r\n\r\n": `"npm.corp" has no port`,
	} {
		if answer := w.ask(t, request); !strings.Contains(answer, want) {
			t.Errorf("%q is told %q, want %q", request, answer, want)
		}
	}
}

// What is named and would be refused is known without a request.
func TestCheck(t *testing.T) {
	known := &names{known: map[string][]string{"npm.corp": {"10.0.0.5"}, "cdn.corp": {"10.0.0.6"}, "pypi.org": {public}}}
	got, err := Check(t.Context(), Options{Resolver: known, Rules: []string{"npm.corp:443", "cdn.corp:443=10.0.0.0/8", "pypi.org:443", "gone.test:80", "*.wild.test:443", "127.0.0.1:1"}})
	want := []string{
		"gone.test:80 cannot be resolved: no such host",
		"npm.corp:443 resolves to 10.0.0.5, a private address: the user can allow it with the egress rule npm.corp:443=10.0.0.5",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// Each refusal is told once, and whether a rule names the host that is refused.
func TestRefused(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.corp": {"10.0.0.5"}, "cdn.corp": {public}}, nil, "npm.corp:443", "cdn.corp:443=10.0.0.0/8", "gone.corp:443")
	for range 2 {
		for _, host := range []string{"evil.test:443", "npm.corp:443", "npm.corp:80", "cdn.corp:443", "gone.corp:443"} {
			w.ask(t, connectTo(host))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, c := range w.told {
		told = append(told, fmt.Sprintf("%s %d %t", c.Host, c.Requests, c.Barred))
	}
	if want := []string{"evil.test:443 1 false", "npm.corp:443 1 true", "npm.corp:80 1 false", "cdn.corp:443 1 true", "gone.corp:443 1 false"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	for _, c := range w.Traffic() {
		if c.Requests != 2 || c.Barred != slices.Contains(told, c.Host+" 1 true") {
			t.Errorf("the record has %+v", c)
		}
	}
}

// What is named is reached, at the address that was judged, under the name of the request
// line, without what is between client and proxy alone.
func TestNamedIsReached(t *testing.T) {
	known := map[string][]string{"npm.test": {public}, "x.wild.test": {"2606:4700::1"}, "range.test": {"10.1.2.3"}, "nat64.test": {"64:ff9b::5db8:d70e"}}
	w := newWorld(t, known, nil, "npm.test:443", "npm.test:80", "npm.test:8080", "*.wild.test:443", "corp.test:4873=127.0.0.1", "range.test:443=10.0.0.0/8", "nat64.test:443", "bücher.test:443="+public)
	for request, address := range map[string]string{
		connectTo("npm.test:443"):                  public + ":443",
		connectTo("NPM.Test.:443"):                 public + ":443",
		connectTo("x.wild.test:443"):               "[2606:4700::1]:443",
		connectTo("corp.test:4873"):                "127.0.0.1:4873",
		connectTo("nat64.test:443"):                "[64:ff9b::5db8:d70e]:443", // a public address
		connectTo("range.test:443"):                "10.1.2.3:443",
		connectTo("xn--bcher-kva.test:443"):        public + ":443",
		get("http://npm.test/a?b=c", "npm.test"):   public + ":80",
		get("http://npm.test:8080/", "other.test"): public + ":8080",
	} {
		w.dialled = nil
		if answer := w.ask(t, request); !strings.HasPrefix(answer, "HTTP/1.1 200") || !strings.Contains(answer, "canary for") {
			t.Errorf("%q is answered %q", request, answer)
		}
		if len(w.dialled) != 1 || w.dialled[0] != address {
			t.Errorf("%q reached %q, want %q", request, w.dialled, address)
		}
	}
	w.seen = nil
	w.ask(t, "POST http://npm.test/p HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: close\r\n"+
		"Connection: close, X-Hop, Upgrade\r\nX-Hop: 1\r\nUpgrade: websocket\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nhi")
	if len(w.seen) != 1 || w.seen[0].Host != "npm.test" || w.seen[0].Header.Get("X-Kept") != "1" || w.seen[0].Method != "POST" || w.seen[0].RequestURI != "/p" {
		t.Fatalf("the host received %+v", w.seen)
	}
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Hop", "Upgrade", "X-Forwarded-For"} {
		if v := w.seen[0].Header.Get(name); v != "" {
			t.Errorf("the host received %s: %s", name, v)
		}
	}
}

// A name that resolves to something else for each question leads to what was judged, or
// to nothing.
func TestRebinding(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.test": {public, "127.0.0.1"}}, nil, "npm.test:443")
	if answer := w.ask(t, connectTo("npm.test:443")); !strings.Contains(answer, "canary") || len(w.dialled) != 1 || w.dialled[0] != public+":443" {
		t.Errorf("the first request reached %q: %s", w.dialled, answer)
	}
	if answer := w.ask(t, connectTo("npm.test:443")); w.visits.Load() != 1 || len(w.dialled) != 1 || !strings.Contains(answer, "a loopback address") {
		t.Errorf("the second request reached %q: %s", w.dialled, answer)
	}
}

// A redirect is another request, and judged as such.
func TestRedirects(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.test": {public}}, nil, "npm.test:80")
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.address}), DisableKeepAlives: true}}
	res, err := client.Get("http://npm.test/away")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "10.0.0.5:80 is not named") || w.visits.Load() != 1 {
		t.Errorf("after %d visits the client has %s: %s", w.visits.Load(), res.Status, body)
	}
}

// A name in TLS that is not that of the tunnel reaches the host of the tunnel all the same.
func TestNameInTLS(t *testing.T) {
	var asked string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		asked = h.ServerName
		return nil, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	w := newWorld(t, map[string][]string{"npm.test": {public}, "evil.test": {public}}, nil, "npm.test:443")
	w.dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		w.dialled = append(w.dialled, to.String())
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	conn := w.MustConnect(t)
	if _, err := io.WriteString(conn, connectTo("npm.test:443")); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, int64(len("HTTP/1.1 200 Connection established\r\n\r\n")))), &http.Request{Method: "CONNECT"}); err != nil || res.StatusCode != 200 {
		t.Fatalf("no tunnel: %v, %v", res, err)
	}
	secure := tls.Client(conn, &tls.Config{ServerName: "evil.test", RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	err := secure.Handshake()
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("the client believes that it reached evil.test: %v", err)
	}
	if asked != "evil.test" || len(w.dialled) != 1 || w.dialled[0] != public+":443" {
		t.Errorf("the name %q reached %q", asked, w.dialled)
	}
	for _, c := range w.Traffic() {
		if c.Host != "npm.test:443" {
			t.Errorf("the record has %+v", c)
		}
	}
}

// upstream is a proxy that the user has.
func upstream(t *testing.T) (address string, seen func() []string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		lines = append(lines, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if r.Method != http.MethodConnect {
			fmt.Fprint(w, "upstream")
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nupstream")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := lines
		lines = nil
		return out
	}
}

// Requests go through the user's own proxy, with its credentials, which nobody in the room
// sees. It is no way around the judgement.
func TestUpstream(t *testing.T) {
	address, seen := upstream(t)
	environ := []string{"HTTPS_PROXY=http://me:hush@" + address, "http_proxy=http://me:hush@" + address, "NO_PROXY=direct.test"}
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:hush"))
	known := map[string][]string{"npm.test": {public}, "private.test": {"10.0.0.5"}, "direct.test": {public}, "inside.test": {"10.1.2.3"}}
	w := newWorld(t, known, environ, "npm.test:443", "npm.test:80", "outside.test:443", "private.test:443", "direct.test:443", "corp.test:443=10.0.0.7", "range.test:443=10.0.0.0/8", "inside.test:443=10.0.0.0/8")
	for _, test := range []struct{ name, request, via, dialled, answer string }{
		{"Tunnel", connectTo("npm.test:443"), "CONNECT npm.test:443 " + credentials, "", "upstream"},
		{"Plain", get("http://npm.test/p", "x"), "GET http://npm.test/p " + credentials, "", "upstream"},
		{"KnownThereAlone", connectTo("outside.test:443"), "CONNECT outside.test:443 " + credentials, "", "upstream"},
		{"Private", connectTo("private.test:443"), "", "", "a private address"},
		{"NotNamed", connectTo("evil.test:443"), "", "", "is not named"},
		{"NotInAnyRange", connectTo("range.test:443"), "", "", "cannot be resolved"},
		{"InRange", connectTo("inside.test:443"), "", "10.1.2.3:443", "canary"},
		{"NoProxy", connectTo("direct.test:443"), "", public + ":443", "canary"},
		{"Mapped", connectTo("corp.test:443"), "", "10.0.0.7:443", "canary"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.dialled = nil
			answer := w.ask(t, test.request)
			if !strings.Contains(answer, test.answer) || strings.Contains(answer, "hush") || strings.Contains(answer, address) {
				t.Errorf("the client is told %q, want %q", answer, test.answer)
			}
			if via := strings.Join(seen(), "\n"); via != test.via {
				t.Errorf("the user's proxy was asked for %q, want %q", via, test.via)
			}
			if got := strings.Join(w.dialled, "\n"); got != test.dialled {
				t.Errorf("dialled %q, want %q", got, test.dialled)
			}
		})
	}
	t.Run("Unavailable", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		w := newWorld(t, known, []string{"HTTPS_PROXY=me:hush@" + l.Addr().String()}, "npm.test:443")
		if answer := w.ask(t, connectTo("npm.test:443")); !strings.HasPrefix(answer, "HTTP/1.1 502 ") || strings.Contains(answer, "hush") || len(w.dialled) != 0 {
			t.Errorf("dialled %q, told %s", w.dialled, answer)
		}
	})
	t.Run("NotOne", func(t *testing.T) {
		for _, v := range []string{"HTTPS_PROXY=socks5://me:hush@proxy.test:1080", "https_proxy=http://me:hush@%zz", "HTTP_PROXY=http://me:hush@:1/", "HTTP_PROXY=http://me:hush@proxy.test:65536" /* F-123 */} {
			_, err := New(Options{Environ: []string{v}})
			if pawl.CodeOf(err) != pawl.CodeInvalid || strings.Contains(err.Error(), "hush") || !strings.HasPrefix(strings.ToUpper(v), err.Error()[:8]) {
				t.Errorf("%s: error %v", v, err)
			}
		}
	})
}

// The record counts requests and bytes, and is bounded whatever a room asks for.
func TestTraffic(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.test": {public}}, nil, "npm.test:80")
	for range 2 {
		w.ask(t, get("http://npm.test/p", "x"))
	}
	const refusals = 300
	for i := range refusals {
		w.ask(t, connectTo(fmt.Sprintf("a%d.evil.test:443", i)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list := w.Traffic()
	if len(list) > 100 || len(list) < 3 {
		t.Fatalf("%d entries, want at most 100", len(list))
	}
	if c := list[0]; c.Host != "npm.test:80" || c.Requests != 2 || c.Refused != "" || c.Sent < 40 || c.Received < 40 {
		t.Errorf("the first entry is %+v", c)
	}
	var requests int64
	var rest *pawl.Contact
	for i, c := range list[1:] {
		requests += c.Requests
		if c.Refused == "" {
			t.Errorf("%s was reached", c.Host)
		}
		if c.Host == others {
			rest = &list[i+1]
		}
	}
	if requests != refusals || rest == nil || rest.Requests != refusals-maxRefused {
		t.Errorf("%d requests were refused, want %d, and of the rest there is %+v", requests, refusals, rest)
	}
}

// The addresses of this machine, and those of the networks it is in, are no public ones.
func TestOwnNetworks(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil || len(addresses) == 0 {
		t.Skipf("this machine has no addresses: %v", err)
	}
	own := ownNetworks()
	for _, a := range addresses {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if ip = ip.Unmap(); !slices.ContainsFunc(own, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			t.Errorf("%s is none of %v", ip, own)
		}
	}
}

// tunnelTo opens a tunnel to a server that does with its connection what it likes.
func tunnelTo(t *testing.T, limits Limits, serve func(net.Conn)) (net.Conn, *bufio.Reader) {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	server, clients := listen(), listen()
	var both sync.WaitGroup
	both.Go(func() {
		if conn, err := server.Accept(); err == nil {
			defer conn.Close()
			serve(conn)
		}
	})
	p, err := New(Options{Rules: []string{server.Addr().String()}, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	both.Go(func() {
		if err := p.Serve(clients); err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", clients.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		both.Wait()
	})
	if _, err := io.WriteString(conn, connectTo(server.Addr().String())); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if res, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("no tunnel: %+v, %v", res, err)
	}
	return conn, reader
}

// A client that has said all still receives the answer.
func TestHalfClosed(t *testing.T) {
	conn, reader := tunnelTo(t, Limits{}, func(server net.Conn) {
		all, _ := io.ReadAll(server)
		_, _ = fmt.Fprintf(server, "received %s", all)
	})
	_, _ = io.WriteString(conn, "all")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(reader); err != nil || string(answer) != "received all" {
		t.Errorf("the client receives %q, %v", answer, err)
	}
}

// A host that has said all still receives the rest of what the client says.
func TestHalfClosedByTheHost(t *testing.T) {
	received := make(chan string, 1)
	conn, reader := tunnelTo(t, Limits{}, func(server net.Conn) {
		_ = server.(*net.TCPConn).CloseWrite()
		all, _ := io.ReadAll(server)
		received <- string(all)
	})
	if answer, err := io.ReadAll(reader); err != nil || len(answer) > 0 {
		t.Errorf("the client receives %q, %v", answer, err)
	}
	_, _ = io.WriteString(conn, "the rest")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := <-received; got != "the rest" {
		t.Errorf("the host receives %q", got)
	}
}

// A client whose request is refused before it has been sent reads the whole refusal.
func TestRefusalOfALongRequest(t *testing.T) {
	w := newWorld(t, nil, nil, "npm.test:443")
	body := strings.Repeat("x", 50<<10)
	for range 20 {
		conn := w.MustConnect(t)
		if _, err := fmt.Fprintf(conn, "POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "with the egress rule evil.test:80\n") {
			t.Fatalf("the client is told %q, %v", answer, err)
		}
		conn.Close()
	}
}

// pipes is a listener for one client.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error { close(p.conns); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A tunnel in which nobody says anything ends after a while.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Options{Rules: []string{"npm.test:443=10.0.0.5"}})
		if err != nil {
			t.Fatal(err)
		}
		host, server := net.Pipe()
		p.dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return server, nil }
		client, accepted := net.Pipe()
		l := pipes{make(chan net.Conn, 1)}
		l.conns <- accepted
		served := make(chan error, 1)
		go func() { served <- p.Serve(l) }()
		if _, err := io.WriteString(client, connectTo("npm.test:443")); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(client)
		if res, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect}); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("no tunnel: %+v, %v", res, err)
		}
		began := time.Now()
		answer, err := io.ReadAll(reader)
		if took := time.Since(began); len(answer) > 0 || err != nil || took != DefaultLimits.Idle {
			t.Errorf("the client receives %q, %v after %s", answer, err, took)
		}
		if err := errors.Join(host.Close(), client.Close(), p.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
}

// What the host says first is not lost if it comes with the answer of the user's proxy.
func TestUpstreamWithTheHostsGreeting(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n220 greetings")
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, map[string][]string{"npm.test": {public}}, []string{"HTTPS_PROXY=" + server.URL}, "npm.test:443")
	if answer := w.ask(t, connectTo("npm.test:443")); !strings.HasSuffix(answer, "\r\n\r\n220 greetings") {
		t.Errorf("the client receives %q", answer)
	}
}

// Clients beyond the limit wait until another one has ended.
func TestConnectionLimit(t *testing.T) {
	conn, _ := tunnelTo(t, Limits{Connections: 1}, func(server net.Conn) { _, _ = io.Copy(io.Discard, server) })
	waiting, err := net.Dial("tcp", conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	if _, err := io.WriteString(waiting, connectTo("evil.test:443")); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(waiting).ReadString('\n')
		answered <- line
	}()
	select {
	case line := <-answered:
		t.Errorf("beyond the limit a client is answered %q", line)
	case <-time.After(50 * time.Millisecond):
		conn.Close()
		if line := <-answered; !strings.HasPrefix(line, "HTTP/1.1 403 ") {
			t.Errorf("afterwards it is answered %q", line)
		}
	}
}

// Close ends tunnels.
func TestClose(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.test": {public}}, nil, "npm.test:443")
	conn := w.MustConnect(t)
	if _, err := io.WriteString(conn, connectTo("npm.test:443")); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("no tunnel: %q, %v", line, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, reader); errors.Is(err, net.ErrClosed) {
		t.Errorf("the tunnel was ended by the client: %v", err)
	}
}

// A request whose header is too long is refused.
func TestHeaderLimit(t *testing.T) {
	w := newWorld(t, map[string][]string{"npm.test": {public}}, nil, "npm.test:80")
	long := string(bytes.Repeat([]byte("x"), 2*DefaultLimits.HeaderBytes))
	answer := w.ask(t, "GET http://npm.test/ HTTP/1.1\r\nHost: npm.test\r\nX: "+long+"\r\n\r\n")
	if w.visits.Load() != 0 || strings.HasPrefix(answer, "HTTP/1.1 2") {
		t.Errorf("%d visits: %.200s", w.visits.Load(), answer)
	}
}

func TestParse(t *testing.T) {
	for _, rule := range []string{
		"registry.npmjs.org:443", "NPM.test.:80", "*.npm.test:443", "npm.corp:443=10.0.0.5", "npm.corp:443=[fd00::1]", "npm.corp:443=fd00::1",
		"npm.corp:443=10.0.0.0/8", "npm.corp:443=fd00::/8", "127.0.0.1:4873", "[::1]:4873", "localhost:80=127.0.0.1", "bücher.test:443",
	} {
		if _, err := Parse(rule); err != nil {
			t.Errorf("%v", err)
		}
	}
	for rule, want := range map[string]string{
		"":                          "has no port",
		"npm.test":                  "has no port",
		":443":                      "has no host",
		"npm.test:":                 "is not a port",
		"npm.test:0":                "is not a port",
		"npm.test:65536":            "is not a port",
		"npm.test:https":            "is not a port",
		"https://npm.test:443":      "a scheme, a path or a user has no place in it",
		"npm.test:443/path":         "a scheme, a path or a user has no place in it",
		"me@npm.test:443":           "a scheme, a path or a user has no place in it",
		"*:443":                     "is not a host name",
		"*.com:443":                 "one label below a domain",
		"a.*.test:443":              "is not a host name",
		"npm*.test:443":             "is not a host name",
		"::1:443":                   "needs brackets",
		"[npm.test]:443":            "is not an IPv6 address in brackets",
		"2130706433:443":            "is a number",
		"127.1:443":                 "is a number",
		"npm.corp:443=":             "is not an address",
		"npm.corp:443=10.0.0.5:443": "the port is that of the rule",
		"npm.corp:443=other.test":   "is not an address",
		"a:443=::ffff:10.0.0.0/104": "is not an address",
		"10.0.0.5:443=10.0.0.6":     "an address stands for itself",
		"*.10.0.0.5:443":            "an address has no wildcard",
		"fe80::1%eth0:443":          "needs brackets",
		"npm..test:443":             "is not a host name",
	} {
		_, err := Parse(rule)
		if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("egress rule %q: ", rule)) {
			t.Errorf("%q: error %v, want %s", rule, err, want)
		}
	}
}

// The listener belongs to a room. When that closes it, and Serve has not seen it yet, closing
// the proxy is no failure.
func TestCloseAfterTheListener(t *testing.T) {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &closedListener{accepting: make(chan struct{}), told: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	<-l.accepting
	if err := p.Close(); err != nil {
		t.Errorf("closing it fails: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serving fails: %v", err)
	}
}

// closedListener is a listener that is closed, of which Accept hears late.
type closedListener struct {
	accepting, told chan struct{}
}

func (l *closedListener) Accept() (net.Conn, error) {
	close(l.accepting)
	<-l.told
	return nil, net.ErrClosed
}

func (l *closedListener) Close() error {
	close(l.told)
	return &net.OpError{Op: "close", Net: "tcp", Err: net.ErrClosed}
}

func (l *closedListener) Addr() net.Addr { return &net.TCPAddr{} }
