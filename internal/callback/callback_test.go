package callback

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pawl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is a real server on this machine and a callback that may reach it.
func local(t *testing.T, h http.HandlerFunc) pawl.Callback {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return pawl.Callback{URL: srv.URL + "/hook?for=me", AllowPrivate: true}
}

func send(t *testing.T, s *Sender, to pawl.Callback) (int, error) {
	t.Helper()
	return s.Send(t.Context(), to, "001-x/abc", []byte(`{"event":"task_completed"}`))
}

// L-29
func TestSend(t *testing.T) {
	for name, secret := range map[string]string{"Signed": "s3cret", "Unsigned": ""} {
		t.Run(name, func(t *testing.T) {
			var got *http.Request
			var body []byte
			to := local(t, func(w http.ResponseWriter, r *http.Request) {
				got = r
				body, _ = io.ReadAll(r.Body)
				w.WriteHeader(http.StatusAccepted)
			})
			status, err := send(t, &Sender{Secret: secret}, to)
			if status != http.StatusAccepted || err != nil {
				t.Fatalf("%d, %v", status, err)
			}
			if got.Method != http.MethodPost || got.URL.String() != "/hook?for=me" || string(body) != `{"event":"task_completed"}` {
				t.Errorf("%s %s %s", got.Method, got.URL, body)
			}
			at := got.Header.Get(HeaderTimestamp)
			want := ""
			if secret != "" {
				want = Sign(secret, at, body)
			}
			for header, want := range map[string]string{"Content-Type": "application/json", HeaderDelivery: "001-x/abc", HeaderSignature: want} {
				if got := got.Header.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			if len(at) != 10 {
				t.Errorf("the timestamp is %q", at)
			}
		})
	}
}

// The signature is what any other program computes: here
// printf '1700000000.{}' | openssl dgst -sha256 -hmac s3cret
func TestSign(t *testing.T) {
	const want = "v1=97926816e98fbb41ccb1673225ff29a2f35369099990e1b1561651e7bd097ebf"
	if got := Sign("s3cret", "1700000000", []byte("{}")); got != want {
		t.Errorf("got %s", got)
	}
}

func TestStatus(t *testing.T) {
	for status, want := range map[int]pawl.Code{
		200: "", 204: "", 301: pawl.CodeInvalid, 307: pawl.CodeInvalid, 304: pawl.CodeInvalid, 400: pawl.CodeInvalid, 401: pawl.CodeInvalid,
		404: pawl.CodeInvalid, 410: pawl.CodeInvalid, 408: pawl.CodeUnavailable, 425: pawl.CodeUnavailable, 429: pawl.CodeUnavailable,
		500: pawl.CodeUnavailable, 503: pawl.CodeUnavailable,
	} {
		calls := 0
		to := local(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		got, err := send(t, &Sender{}, to)
		if got != status || calls != 1 || (err == nil) != (want == "") || err != nil && pawl.CodeOf(err) != want {
			t.Errorf("%d: got %d, %v (%s) after %d calls", status, got, err, pawl.CodeOf(err), calls)
		}
	}
}

// What a receiver says is not read, however much of it there is.
func TestEndlessAnswer(t *testing.T) {
	to := local(t, func(w http.ResponseWriter, r *http.Request) {
		line := bytes.Repeat([]byte("x"), 1<<16)
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	if status, err := send(t, &Sender{}, to); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

func TestEndlessHeader(t *testing.T) {
	to := local(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<17)) })
	if _, err := send(t, &Sender{}, to); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestNoAnswer(t *testing.T) {
	silent := func(t *testing.T) pawl.Callback {
		end := make(chan struct{})
		to := local(t, func(http.ResponseWriter, *http.Request) { <-end })
		t.Cleanup(func() { close(end) }) // before the server is closed
		return to
	}
	t.Run("Late", func(t *testing.T) {
		_, err := send(t, &Sender{limit: time.Millisecond}, silent(t))
		if pawl.CodeOf(err) != pawl.CodeUnavailable || err.Error() != "the callback to 127.0.0.1 was not answered within 1ms" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("Withdrawn", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := (&Sender{}).Send(ctx, silent(t), "d", nil)
		if pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.HasSuffix(err.Error(), "context canceled") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("NobodyListens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = send(t, &Sender{}, pawl.Callback{URL: "http://" + address + "/token-in-path", AllowPrivate: true})
		if pawl.CodeOf(err) != pawl.CodeUnavailable || strings.Contains(err.Error(), "token") {
			t.Errorf("got %v", err)
		}
	})
}

// Without being allowed to, nothing is sent to this machine, by whatever name.
func TestRefused(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was told") }))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	s := &Sender{roots: roots}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]"} {
		status, err := send(t, s, pawl.Callback{URL: "https://" + host + ":" + u.Port()})
		if status != 0 || pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: %d, %v", host, status, err)
		}
	}
	for address, allow := range map[string]bool{
		"http://203.0.113.7/": false, "https://me:pw@hooks.example/": true, "ftp://hooks.example/": true, "hooks.example": true,
		"": true, "https://": true, "https://:443/": true, "https://hooks.example:65536/": true, "https://hooks.example:0/": true, // F-123
		"file:///etc/passwd": true, "https://%zz": true,
	} {
		status, err := send(t, s, pawl.Callback{URL: address, AllowPrivate: allow})
		if status != 0 || pawl.CodeOf(err) != pawl.CodeInvalid || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %d, %v", address, status, err)
		}
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	to := pawl.Callback{URL: srv.URL, AllowPrivate: true}
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	if status, err := send(t, &Sender{roots: roots}, to); status != http.StatusOK || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if status, err := send(t, &Sender{}, to); status != 0 || err == nil {
		t.Errorf("a stranger's certificate is accepted: %d, %v", status, err)
	}
}

// A proxy would dial in our place, and dial what it likes.
func TestNoProxy(t *testing.T) {
	if tr, ok := new(Sender).client(pawl.Callback{}).Transport.(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("a proxy may be used")
	}
}

func TestPublic(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "192.88.98.255", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1",
		"2606:4700:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
	for _, a := range []string{"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd12::1", "ff02::1", "ff0e::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::1",
		"2001::1", "2001:0:53aa:64c::1", "2001:db8::1", "100::1", "3fff::1", "5f00::1"} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is dialled", a)
		}
	}
	if err := public("not an address"); err == nil {
		t.Error("what cannot be read is dialled")
	}
}
