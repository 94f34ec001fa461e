package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
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
	"testing"

	"pawl"
)

const (
	testToken = "session-token"
	testKey   = "sk-real/Key+1"
)

func theKey(context.Context) (string, error) { return testKey, nil }

// gatewayTo starts a proxy with a gateway and returns its base URL. Fields of o.Gateway that are not
// set get a value for tests.
func gatewayTo(t *testing.T, address string, o Options) (*Proxy, string) {
	t.Helper()
	if o.Gateway == nil {
		o.Gateway = &pawl.Gateway{Key: theKey}
	}
	o.Gateway.Address, o.Gateway.Token = address, testToken
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return p, "http://" + l.Addr().String()
}

// provider is a server that answers as the test says and keeps the requests.
type provider struct {
	*httptest.Server
	mu   sync.Mutex // guards seen
	seen []*http.Request
}

func newProvider(t *testing.T, answer http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r)
		p.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// requests returns the requests since the last call.
func (p *provider) requests() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.seen
	p.seen = nil
	return out
}

// client follows no redirects and has no proxy.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// send sends a request with header lines "Name: value" and returns the response with its body.
func send(t *testing.T, method, address string, lines ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		req.Header.Add(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestGatewayReplacesTheToken(t *testing.T) {
	server := newProvider(t, nil)
	_, gateway := gatewayTo(t, server.URL+"/prefix/", Options{})
	for _, test := range []struct {
		name  string
		query string
		lines []string
		want  map[string]string // of the headers for keys
		asks  string            // path and query that the server receives
	}{
		{"APIKey", "", []string{"X-Api-Key: " + testToken}, map[string]string{"X-Api-Key": testKey}, "/prefix/v1/messages"},
		{"Bearer", "?beta=true", []string{"Authorization: Bearer " + testToken}, map[string]string{"Authorization": "Bearer " + testKey}, "/prefix/v1/messages?beta=true"},
		{"LowerCaseBearer", "", []string{"authorization: bearer " + testToken}, map[string]string{"Authorization": "Bearer " + testKey}, "/prefix/v1/messages"},
		{"Google", "", []string{"x-goog-api-key: " + testToken}, map[string]string{"X-Goog-Api-Key": testKey}, "/prefix/v1/messages"},
		{"Query", "?alt=sse&key=" + testToken + "&x=%2F", nil, nil, "/prefix/v1/messages?alt=sse&key=" + url.QueryEscape(testKey) + "&x=%2F"},
		{"Several", "", []string{"X-Api-Key: " + testToken, "Authorization: Bearer " + testToken}, map[string]string{"X-Api-Key": testKey, "Authorization": "Bearer " + testKey}, "/prefix/v1/messages"},
		{"OthersAreRemoved", "?key=other", []string{"X-Api-Key: " + testToken, "X-Api-Key: other", "Authorization: Basic b3RoZXI=", "X-Goog-Api-Key: other", "Cookie: a=b"},
			map[string]string{"X-Api-Key": testKey}, "/prefix/v1/messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			res, body := send(t, http.MethodPost, gateway+"/v1/messages"+test.query, append(test.lines, "X-Kept: 1")...)
			seen := server.requests()
			if res.StatusCode != http.StatusOK || len(seen) != 1 {
				t.Fatalf("%d requests were forwarded; the client receives %s: %s", len(seen), res.Status, body)
			}
			r := seen[0]
			if r.RequestURI != test.asks || r.Host != server.Listener.Addr().String() || r.Header.Get("X-Kept") != "1" {
				t.Errorf("the server receives %s for %s with %v, want %s", r.RequestURI, r.Host, r.Header, test.asks)
			}
			for _, name := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key", "Cookie", "X-Forwarded-For", "Forwarded"} {
				if got := strings.Join(r.Header.Values(name), "|"); got != test.want[name] {
					t.Errorf("the server receives %s: %q, want %q", name, got, test.want[name])
				}
			}
		})
	}
}

func TestGatewayRefuses(t *testing.T) {
	server := newProvider(t, nil)
	p, gateway := gatewayTo(t, server.URL, Options{})
	has := "X-Api-Key: " + testToken
	for _, test := range []struct {
		name, method, path string
		lines              []string
		status             int
		kind               string
	}{
		{"NoToken", "POST", "/v1/messages", nil, 401, "authentication_error"},
		{"WrongToken", "POST", "/v1/messages", []string{"X-Api-Key: session-tokem"}, 401, "authentication_error"},
		{"LongerToken", "POST", "/v1/messages", []string{has + "x"}, 401, "authentication_error"},
		{"EmptyToken", "POST", "/v1/messages?key=", []string{"X-Api-Key: ", "Authorization: Bearer "}, 401, "authentication_error"},
		{"TokenInBasic", "POST", "/v1/messages", []string{"Authorization: Basic " + testToken}, 401, "authentication_error"},
		{"TokenBehindASemicolon", "POST", "/v1/messages?a=1;key=" + testToken, nil, 401, "authentication_error"},
		{"WebSocket", "GET", "/v1/realtime", []string{has, "Connection: Upgrade", "Upgrade: websocket"}, 501, "invalid_request_error"},
		{"Trace", "TRACE", "/v1/messages", []string{has}, 405, "invalid_request_error"},
		{"EscapedSlashes", "GET", "/v1%2f..%2f..%2fadmin", []string{has}, 400, "invalid_request_error"},
		{"Backslashes", "GET", "/v1/..%5c..%5cadmin", []string{has}, 400, "invalid_request_error"},
		{"PathParameter", "GET", "/v1/..;/admin", []string{has}, 400, "invalid_request_error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			res, body := send(t, test.method, gateway+test.path, test.lines...)
			var e struct {
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || res.StatusCode != test.status || e.Error.Type != test.kind || e.Error.Message == "" || res.Header.Get("Content-Type") != "application/json" {
				t.Errorf("the client receives %s %v: %s, want %d %s", res.Status, res.Header, body, test.status, test.kind)
			}
			if n := len(server.requests()); n != 0 {
				t.Errorf("%d requests were forwarded", n)
			}
		})
	}
	if list := p.Traffic(); len(list) != 4 || list[0].Host != server.Listener.Addr().String() || list[0].Refused == "" {
		t.Errorf("the record has %+v", list)
	}
}

func TestGatewayWithoutAKey(t *testing.T) {
	server := newProvider(t, nil)
	for name, key := range map[string]func(context.Context) (string, error){
		"Error": func(context.Context) (string, error) { return testKey, errors.New("the keyring is locked") },
		"Empty": func(context.Context) (string, error) { return "", nil },
	} {
		t.Run(name, func(t *testing.T) {
			var told []pawl.Contact
			_, gateway := gatewayTo(t, server.URL, Options{Gateway: &pawl.Gateway{Key: key}, Refused: func(c pawl.Contact) { told = append(told, c) }})
			res, body := send(t, http.MethodPost, gateway+"/v1/messages", "X-Api-Key: "+testToken)
			if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "api_error") || strings.Contains(body, "keyring") || len(server.requests()) != 0 {
				t.Errorf("the client receives %s: %s", res.Status, body)
			}
			if len(told) != 1 || name == "Error" && !strings.HasSuffix(told[0].Refused, "the keyring is locked") {
				t.Errorf("told %+v", told)
			}
		})
	}
}

// Requests in another form, and those that are not for a loopback address, are judged by the rules.
func TestGatewayIsNoWayAroundTheRules(t *testing.T) {
	server := newProvider(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") })
	address := server.Listener.Addr().String()
	_, gateway := gatewayTo(t, server.URL, Options{})
	w := &world{address: strings.TrimPrefix(gateway, "http://")}
	key := "X-Api-Key: " + testToken + "\r\nConnection: close\r\n\r\n"
	for request, want := range map[string]string{
		connectTo(address): "HTTP/1.1 403 " + address + " is not named",
		"GET http://" + address + "/ HTTP/1.1\r\nHost: 127.0.0.1\r\n" + key:             "HTTP/1.1 403 " + address + " is not named",
		"GET http://" + w.address + "/v1 HTTP/1.1\r\nHost: " + w.address + "\r\n" + key: "HTTP/1.1 403 " + w.address + " is not named",
		"GET /v1 HTTP/1.1\r\nHost: evil.test\r\n" + key:                                 "HTTP/1.1 400 this is a proxy",
		"GET /v1 HTTP/1.1\r\nHost: 127.0.0.1.evil.test\r\n" + key:                       "HTTP/1.1 400 this is a proxy",
		"GET /v1 HTTP/1.1\r\nHost: 10.0.0.1:3128\r\n" + key:                             "HTTP/1.1 400 this is a proxy",
		"GET /v1 HTTP/1.0\r\n" + key:                                                    "HTTP/1.1 400 this is a proxy",
		"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n" + key:                               "HTTP/1.1 400 this is a proxy",
	} {
		if answer := w.ask(t, request); !strings.HasPrefix(answer, want) {
			t.Errorf("%q is answered %q, want %q", request, answer, want)
		}
	}
	if n := len(server.requests()); n != 0 {
		t.Errorf("%d requests were forwarded", n)
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:80", "[::1]:3128"} {
		if answer := w.ask(t, "GET /v1 HTTP/1.1\r\nHost: "+host+"\r\n"+key); !strings.HasSuffix(answer, "reached") {
			t.Errorf("with the host %s the answer is %q", host, answer)
		}
	}
	_, gateway = gatewayTo(t, server.URL, Options{Rules: []string{address}})
	w.address = strings.TrimPrefix(gateway, "http://")
	if answer := w.ask(t, connectTo(address)); !strings.HasSuffix(answer, "reached") {
		t.Errorf("a tunnel that a rule allows is answered %q", answer)
	}
}

func TestGatewayStreams(t *testing.T) {
	next := make(chan string)
	server := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for event := range next {
			fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	_, gateway := gatewayTo(t, server.URL, Options{})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway+"/v1/messages", strings.NewReader("{}"))
	req.Header.Set("X-Api-Key", testToken)
	res, err := client.Do(req) // the header arrives before the first event
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	reader := bufio.NewReader(res.Body)
	for _, event := range []string{"one", "two"} {
		next <- event
		line, err := reader.ReadString('\n')
		if _, blank := reader.ReadString('\n'); err != nil || blank != nil || line != "data: "+event+"\n" {
			t.Fatalf("the client receives %q, %v, %v", line, err, blank)
		}
	}
	close(next)
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("at the end the client receives %q, %v", rest, err)
	}
}

// The server receives the beginning of a body before the client has sent its end.
func TestGatewayDoesNotBufferRequests(t *testing.T) {
	first := make(chan string)
	server := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		buffer := make([]byte, 5)
		_, _ = io.ReadFull(r.Body, buffer)
		first <- string(buffer)
		rest, _ := io.ReadAll(r.Body)
		_, _ = w.Write(rest)
	})
	_, gateway := gatewayTo(t, server.URL, Options{})
	body, writer := io.Pipe()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, gateway+"/v1/messages", body)
	req.Header.Set("X-Api-Key", testToken)
	go func() {
		_, _ = io.WriteString(writer, "begin")
		if got := <-first; got != "begin" {
			t.Errorf("the server receives %q", got)
		}
		_, _ = io.WriteString(writer, "end")
		writer.Close()
	}()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "end" {
		t.Errorf("the client receives %q, %v", rest, err)
	}
}

func TestGatewayCancels(t *testing.T) {
	ended := make(chan struct{})
	server := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	})
	for _, end := range []string{"Client", "Proxy"} {
		t.Run(end, func(t *testing.T) {
			ended = make(chan struct{})
			p, gateway := gatewayTo(t, server.URL, Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, gateway+"/v1/messages", strings.NewReader("{}"))
			req.Header.Set("X-Api-Key", testToken)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if end == "Client" {
				cancel()
			} else if err := p.Close(); err != nil {
				t.Error(err)
			}
			<-ended
		})
	}
}

func TestGatewayRedirects(t *testing.T) {
	server := newProvider(t, nil)
	for location, want := range map[string]string{
		"/prefix/v2/x?y=1":                "/v2/x?y=1",
		server.URL + "/prefix/v2":         "/v2",
		server.URL + "/prefix":            "/",
		"v2":                              "/v1/v2",
		"https://evil.test/prefix/":       "",
		"//evil.test/prefix/":             "",
		"/elsewhere":                      "",
		"/prefixed/x":                     "",
		"/prefix/../elsewhere":            "",
		server.URL + "/prefix//evil.test": "",
		"http://127.0.0.1:1/prefix/":      "",
		"http://%zz/":                     "",
	} {
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		_, gateway := gatewayTo(t, server.URL+"/prefix", Options{})
		res, body := send(t, http.MethodGet, gateway+"/v1/x", "X-Api-Key: "+testToken)
		status := http.StatusTemporaryRedirect
		if want == "" {
			status = http.StatusBadGateway
		}
		if res.StatusCode != status || res.Header.Get("Location") != want {
			t.Errorf("a redirect to %s is answered %s to %q: %s, want %d to %q", location, res.Status, res.Header.Get("Location"), body, status, want)
		}
	}
}

// A server that sends back what it received does not disclose the key in a header, a trailer or an
// informational response, and sets no cookie.
func TestGatewayHidesTheKey(t *testing.T) {
	server := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Early", r.Header.Get("X-Api-Key"))
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("X-Early")
		for name, values := range r.Header {
			w.Header()["X-Echo-"+name] = values
		}
		w.Header().Set("X-Query", r.URL.RawQuery)
		w.Header().Set("X-Escaped", url.PathEscape(testKey))
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("Request-Id", "r1")
		w.Header().Set("Trailer", "X-Announced")
		fmt.Fprint(w, "body")
		w.Header().Set("X-Announced", testKey)
		w.Header().Set(http.TrailerPrefix+"X-Late", testKey)
	})
	_, gateway := gatewayTo(t, server.URL, Options{})
	w := &world{address: strings.TrimPrefix(gateway, "http://")}
	answer := w.ask(t, "GET /v1?key="+testToken+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+testToken+"\r\nX-Api-Key: "+testToken+"\r\nConnection: close\r\n\r\n")
	for _, bad := range []string{"sk-real", "Set-Cookie", "103", "X-Early", "X-Late", "X-Announced"} {
		if strings.Contains(answer, bad) {
			t.Errorf("the client receives %q in %q", bad, answer)
		}
	}
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.Contains(answer, "Request-Id: r1") || !strings.Contains(answer, "body") {
		t.Errorf("the client receives %q", answer)
	}
	seen := server.requests()
	if len(seen) != 1 || seen[0].Header.Get("X-Api-Key") != testKey || seen[0].URL.Query().Get("key") != testKey {
		t.Errorf("the server receives %+v", seen)
	}
}

// What is no valid response is not quoted, and a switch of protocols is not passed on.
func TestGatewayInvalidResponses(t *testing.T) {
	for _, line := range []string{testKey + " 200 OK\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, line)
		}()
		_, gateway := gatewayTo(t, "http://"+l.Addr().String(), Options{})
		res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken)
		if res.StatusCode != http.StatusBadGateway || strings.Contains(body, "sk-real") || !strings.Contains(body, "no response from") {
			t.Errorf("for %q the client receives %s: %s", line, res.Status, body)
		}
		l.Close()
	}
}

func TestGatewayPaths(t *testing.T) {
	server := newProvider(t, nil)
	_, gateway := gatewayTo(t, server.URL+"/a/b", Options{})
	w := &world{address: strings.TrimPrefix(gateway, "http://")}
	for path, want := range map[string]string{
		"/":                      "/a/b/",
		"/../../admin":           "/a/b/admin",
		"/v1/../../../admin":     "/a/b/admin",
		"/v1/%2e%2e/%2E./admin":  "/a/b/admin",
		"/v1/./x/":               "/a/b/v1/x/",
		"/v1/x/..":               "/a/b/v1/",
		"/..":                    "/a/b/",
		"//evil.test/x":          "/a/b//evil.test/x",
		"/models/a%2Fb:generate": "/a/b/models/a%2Fb:generate",
		"/models/a..b/...":       "/a/b/models/a..b/...",
	} {
		answer := w.ask(t, "GET "+path+"?q=../.. HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: "+testToken+"\r\nConnection: close\r\n\r\n")
		if seen := server.requests(); len(seen) != 1 || seen[0].RequestURI != want+"?q=../.." {
			t.Errorf("for %s the server receives %+v, want %s: %s", path, seen, want, answer)
		}
	}
}

// A provider with a private address is reached without a rule, and what goes there is counted.
func TestGatewayTraffic(t *testing.T) {
	server := newProvider(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1000)) })
	p, gateway := gatewayTo(t, "http://models.corp:8090", Options{Resolver: &names{known: map[string][]string{"models.corp": {"10.0.0.5"}}}})
	var dialled []string
	p.dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		dialled = append(dialled, to.String())
		var d net.Dialer
		return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	for range 2 {
		if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusOK || len(body) != 1000 {
			t.Fatalf("the client receives %s: %s", res.Status, body)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if list := p.Traffic(); len(list) != 1 || list[0].Host != "models.corp:8090" || list[0].Requests != 2 || list[0].Sent < 100 || list[0].Received < 2000 || list[0].Refused != "" {
		t.Errorf("the record has %+v", list)
	}
	if !slices.Equal(dialled, []string{"10.0.0.5:8090", "10.0.0.5:8090"}) {
		t.Errorf("dialled %q", dialled)
	}
	for _, r := range server.requests() {
		if r.Host != "models.corp:8090" {
			t.Errorf("the server receives a request for %s", r.Host)
		}
	}
}

// The server's certificate is verified.
func TestGatewayVerifiesCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secure") }))
	server.Config.ErrorLog = newQuiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	p, gateway := gatewayTo(t, server.URL, Options{})
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "its certificate is not valid") {
		t.Errorf("without its authority the client receives %s: %s", res.Status, body)
	}
	p.gateway.forward.Transport.(*http.Transport).TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	p.gateway.forward.Transport.(*http.Transport).TLSClientConfig.NextProtos = nil
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusOK || body != "secure" {
		t.Errorf("with its authority the client receives %s: %s", res.Status, body)
	}
}

func TestGatewayUpstream(t *testing.T) {
	address, seen := upstream(t)
	environ := []string{"HTTPS_PROXY=http://me:hush@" + address, "HTTP_PROXY=http://me:hush@" + address, "NO_PROXY=direct.test"}
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:hush"))
	_, gateway := gatewayTo(t, "http://api.test/base", Options{Environ: environ, Resolver: &names{}})
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusOK || body != "upstream" {
		t.Errorf("the client receives %s: %s", res.Status, body)
	}
	_, gateway = gatewayTo(t, "https://api.test", Options{Environ: environ, Resolver: &names{}})
	// Behind this tunnel there is no TLS.
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusBadGateway || strings.Contains(body, "hush") {
		t.Errorf("the client receives %s: %s", res.Status, body)
	}
	want := []string{"GET http://api.test/base/v1 " + credentials, "CONNECT api.test:443 " + credentials}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("the user's proxy received %q, want %q", got, want)
	}
	_, gateway = gatewayTo(t, "https://direct.test", Options{Environ: environ, Resolver: &names{}})
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, Unresolved) || len(seen()) != 0 {
		t.Errorf("the client receives %s: %s", res.Status, body)
	}
	refusing := newProvider(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
	_, gateway = gatewayTo(t, "https://api.test", Options{Environ: []string{"HTTPS_PROXY=" + refusing.URL}, Resolver: &names{}})
	if res, body := send(t, http.MethodGet, gateway+"/v1", "X-Api-Key: "+testToken); res.StatusCode != http.StatusBadGateway || !strings.Contains(body, "the user's proxy answers 407") {
		t.Errorf("the client receives %s: %s", res.Status, body)
	}
}

func TestNewGateway(t *testing.T) {
	for _, g := range []pawl.Gateway{
		{Address: "", Token: "t", Key: theKey}, {Address: "api.test", Token: "t", Key: theKey}, {Address: "ftp://api.test", Token: "t", Key: theKey},
		{Address: "https://", Token: "t", Key: theKey}, {Address: "https://me:hush@api.test", Token: "t", Key: theKey},
		{Address: "https://api.test?x=1", Token: "t", Key: theKey}, {Address: "https://api.test/#x", Token: "t", Key: theKey},
		{Address: "https://api.test:0", Token: "t", Key: theKey}, {Address: "https://hush%zz", Token: "t", Key: theKey},
		{Address: "https://api.test/%2f../x", Token: "t", Key: theKey},
		{Address: "https://api.test", Key: theKey}, {Address: "https://api.test", Token: "t"},
	} {
		if _, err := New(Options{Gateway: &g}); pawl.CodeOf(err) != pawl.CodeInvalid || strings.Contains(err.Error(), "hush") {
			t.Errorf("%+v: error %v", g, err)
		}
	}
}

func newQuiet() *log.Logger { return log.New(io.Discard, "", 0) }

// Whoever opened the gateway is told of each answer. The room gets an error whole, however much of it was
// read.
func TestGatewayTellsOfAnswers(t *testing.T) {
	body := strings.Repeat("long ", maxErrorBody)
	provider := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/fine" {
			_, _ = io.WriteString(w, "fine")
			return
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, body)
	})
	told := make(chan pawl.GatewayAnswer, 1)
	_, base := gatewayTo(t, provider.URL, Options{Gateway: &pawl.Gateway{Key: theKey, Answered: func(a pawl.GatewayAnswer) { told <- a }}})
	get := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", testToken)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	if got, a := get("/fine"), <-told; got != "fine" || a.Status != http.StatusOK || a.Body != nil {
		t.Errorf("got %q, told %+v", got, a)
	}
	got, a := get("/limited"), <-told
	if got != body || a.Status != http.StatusTooManyRequests || string(a.Body) != body[:maxErrorBody] || a.Header["Retry-After"][0] != "7" {
		t.Errorf("got %d bytes, told %d %v and %d bytes", len(got), a.Status, a.Header, len(a.Body))
	}
	provider.Close()
	get("/gone")
	if a := <-told; a.Err == nil || a.Status != 0 {
		t.Errorf("told %+v of a server that is gone", a)
	}
}
