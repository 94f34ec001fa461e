package server

import (
	"net"
	"net/http"

	"pawl"
)

// socketHosts are what requests over a socket may name as their host: the client's
// own word, and what people write.
func socketHosts(host string) bool { return host == "pawl" || host == "localhost" }

// tcpHosts are what requests to a port of this machine may name as their host.
func tcpHosts(port string) func(host string) bool {
	return func(host string) bool {
		name, p, err := net.SplitHostPort(host)
		return err == nil && p == port && (name == "127.0.0.1" || name == "::1" || name == "localhost")
	}
}

// onlyHere refuses requests for another host, which is a name that a web page had
// pointed here, and requests that a page of another site made, reading ones too.
func onlyHere(here func(host string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !here(r.Host):
			refuse(w, withStatus(http.StatusMisdirectedRequest, pawl.Errorf(pawl.CodeInvalid, "this is not %q", r.Host)))
		case !ownOrigin(r):
			refuse(w, withStatus(http.StatusForbidden, pawl.Errorf(pawl.CodeInvalid, "the request comes from another site")))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownOrigin reports whether a request was made by no page, or by one from here.
// [http.CrossOriginProtection] would let another site's reading requests pass.
func ownOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	for _, o := range origins {
		if o != "http://"+r.Host {
			return false
		}
	}
	return true
}
