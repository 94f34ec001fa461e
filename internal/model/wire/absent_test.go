package wire_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/model/wire"
)

// A server of this machine that is not there is told apart from one elsewhere, from a
// proxy and from a name that may be resolved in a minute. F-28
func TestAbsent(t *testing.T) {
	refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	address := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 11434} }
	missing := func(name string) error { return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true} }
	for name, tt := range map[string]struct {
		err    *net.OpError
		kind   pawl.ModelErrorKind
		unsent bool
		says   string
	}{
		"Loopback":       {&net.OpError{Op: "dial", Net: "tcp", Addr: address("127.0.0.1"), Err: refused}, pawl.ModelNoServer, true, "nothing listens at localhost:11434"},
		"LoopbackOfIPv6": {&net.OpError{Op: "dial", Net: "tcp", Addr: address("::1"), Err: refused}, pawl.ModelNoServer, true, "nothing listens at localhost:11434"},
		"NoIPv6": {&net.OpError{Op: "dial", Net: "tcp", Addr: address("::1"), Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)},
			pawl.ModelNoServer, true, "nothing listens at localhost:11434"},
		"NoPortIsLeft":   {&net.OpError{Op: "dial", Net: "tcp", Addr: address("127.0.0.1"), Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}, pawl.ModelNetwork, true, ""},
		"Elsewhere":      {&net.OpError{Op: "dial", Net: "tcp", Addr: address("203.0.113.5"), Err: refused}, pawl.ModelNetwork, true, ""},
		"PrivateNetwork": {&net.OpError{Op: "dial", Net: "tcp", Addr: address("192.168.1.5"), Err: refused}, pawl.ModelNetwork, true, ""},
		"Proxy":          {&net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Addr: address("127.0.0.1"), Err: refused}}, pawl.ModelNetwork, false, ""},
		"LocalName":      {&net.OpError{Op: "dial", Net: "tcp", Err: missing("gpu")}, pawl.ModelNoServer, true, `there is no host "gpu"`},
		"NameElsewhere":  {&net.OpError{Op: "dial", Net: "tcp", Err: missing("api.example.com")}, pawl.ModelNetwork, true, ""},
		"NoResolver":     {&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "gpu", IsTemporary: true}}, pawl.ModelNetwork, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, x := wire.Open(t.Context(), 0, "")
			defer x.Close()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost:11434/v1/chat/completions", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Do(req, func(*http.Request) (*http.Response, error) {
				return nil, &url.Error{Op: "Post", URL: req.URL.String(), Err: tt.err}
			})
			typed, ok := errors.AsType[*pawl.ModelError](x.Err(err))
			if !ok || typed.Kind != tt.kind || typed.Unsent != tt.unsent || tt.says != "" && typed.Message != tt.says {
				t.Errorf("got %+v, want %s, unsent %t, %q", typed, tt.kind, tt.unsent, tt.says)
			}
		})
	}
}

// What fails before there is a connection to send the request on has cost nothing: a dial that
// hangs, and a server that is not trusted. What fails after may have. F-38
func TestUnsent(t *testing.T) {
	const quiet, patient = 50 * time.Millisecond, time.Minute
	call := func(t *testing.T, idle time.Duration, client *http.Client, address string) *pawl.ModelError {
		t.Helper()
		ctx, x := wire.Open(t.Context(), idle, "")
		defer x.Close()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Do(req, client.Do)
		typed, ok := errors.AsType[*pawl.ModelError](x.Err(err))
		if !ok {
			t.Fatalf("got %v", err)
		}
		return typed
	}
	t.Run("NotTrusted", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		if e := call(t, patient, &http.Client{Transport: &http.Transport{}}, s.URL); e.Kind != pawl.ModelNetwork || !e.Unsent {
			t.Errorf("got %+v, want a network error, unsent", e)
		}
	})
	t.Run("HangingDial", func(t *testing.T) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if e := call(t, quiet, &http.Client{Transport: &http.Transport{DialContext: dial}}, "http://model.test"); e.Kind != pawl.ModelTimeout || !e.Unsent {
			t.Errorf("got %+v, want a timeout, unsent", e)
		}
	})
	t.Run("NoAnswer", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer s.Close()
		if e := call(t, quiet, s.Client(), s.URL); e.Kind != pawl.ModelTimeout || e.Unsent {
			t.Errorf("got %+v, want a timeout of a request that was sent", e)
		}
	})
	t.Run("Page", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Log in first.</html>") }))
		defer s.Close()
		if e := call(t, patient, s.Client(), s.URL); e.Kind != pawl.ModelNetwork || e.Unsent || !e.Free {
			t.Errorf("got %+v, want a network error that is free", e)
		}
	})
	t.Run("WholeReply", func(t *testing.T) { // of a server that does not stream
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"I did it."}}]}`)
		}))
		defer s.Close()
		if e := call(t, patient, s.Client(), s.URL); e.Kind != pawl.ModelNetwork || e.Unsent || e.Free {
			t.Errorf("got %+v, want a network error that may have cost something", e)
		}
	})
}
