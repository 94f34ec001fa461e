package wire_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

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
