package callback

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"pawl"
)

// The headers of a delivery, besides the content type.
const (
	// HeaderDelivery names the delivery. It is the same at every try, so that a
	// receiver can tell what it has been told already.
	HeaderDelivery = "Pawl-Delivery"
	// HeaderTimestamp is when the message was sent, in seconds since 1970.
	HeaderTimestamp = "Pawl-Timestamp"
	// HeaderSignature is [Sign] of the timestamp and the body.
	HeaderSignature = "Pawl-Signature"
)

// limit is how long one try may take. [SIB] Spec 08
const limit = 10 * time.Second

// Sender sends messages. The zero value signs nothing.
type Sender struct {
	// Secret is the key of signatures; empty means that there are none.
	Secret string

	roots        *x509.CertPool // nil: the system's
	limit        time.Duration  // zero: limit
	commandLimit time.Duration  // zero: commandLimit
}

// Sign is a signature: "v1=" and the hex form of HMAC-SHA-256, under the secret, of
// the timestamp as it stands in the header, a full stop, and the body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(timestamp + ".")) // a hash takes everything
	_, _ = mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Send posts a JSON body and returns the HTTP status, zero when there was none. A
// status of 2xx is success. What another try may mend (no connection, no answer in
// time, 408, 425, 429, 5xx) is [pawl.CodeUnavailable]; what none can (an address
// that is refused, another status) is [pawl.CodeInvalid]. No error tells more of
// the address than its host: the rest may be meant for the receiver alone.
func (s *Sender) Send(ctx context.Context, to pawl.Callback, delivery string, body []byte) (int, error) {
	u, err := parse(to)
	if err != nil {
		return 0, err
	}
	within := s.limit
	if within == 0 {
		within = limit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errLate)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return 0, pawl.Errorf(pawl.CodeInvalid, "the callback's address cannot be used")
	}
	s.label(req, delivery, body)
	resp, err := s.client(to).Do(req)
	if err != nil {
		return 0, unsent(ctx, u, within, err)
	}
	_ = resp.Body.Close() // what it says is nobody's business
	return resp.StatusCode, judge(u, resp.StatusCode)
}

// errLate says that a try took too long, as opposed to being withdrawn.
var errLate = errors.New("late")

// parse accepts the addresses that may be dialled at all.
func parse(to pawl.Callback) (*url.URL, error) {
	u, err := url.Parse(to.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, pawl.Errorf(pawl.CodeInvalid, "the callback's address is not one of http or https")
	case u.Port() != "" && !isPort(u.Port()): // settings of earlier versions may have one
		return nil, pawl.Errorf(pawl.CodeInvalid, "the callback's address has port %s: want a number from 1 to 65535", u.Port())
	case u.User != nil:
		return nil, pawl.Errorf(pawl.CodeInvalid, "the callback's address holds a name or password, which is not allowed")
	case u.Scheme == "http" && !to.AllowPrivate:
		return nil, pawl.Errorf(pawl.CodeInvalid, "the callback to %s is not https", u.Hostname()).
			WithHint("http is for private networks: callback.allow_private")
	}
	return u, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func (s *Sender) label(req *http.Request, delivery string, body []byte) {
	now := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pawl")
	req.Header.Set(HeaderDelivery, delivery)
	req.Header.Set(HeaderTimestamp, now)
	if s.Secret != "" {
		req.Header.Set(HeaderSignature, Sign(s.Secret, now, body))
	}
}

// client makes one connection and leaves none behind.
func (s *Sender) client(to pawl.Callback) *http.Client {
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if to.AllowPrivate {
			return nil
		}
		return public(address)
	}}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots},
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// public refuses to dial, as [net.Dialer.Control] asks, what is not public.
func public(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(at.Addr()) {
		return pawl.Errorf(pawl.CodeInvalid, "the callback's host is at %s, which is not a public address", address).
			WithHint("if that is meant: callback.allow_private")
	}
	return nil
}

// unsent says why there is no answer, without the address the client puts into it.
func unsent(ctx context.Context, u *url.URL, within time.Duration, err error) error {
	if refused, ok := errors.AsType[*pawl.Error](err); ok {
		return refused
	}
	if errors.Is(context.Cause(ctx), errLate) {
		return pawl.Errorf(pawl.CodeUnavailable, "the callback to %s was not answered within %s", u.Hostname(), pawl.Span(within))
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return pawl.Errorf(pawl.CodeUnavailable, "the callback to %s: %w", u.Hostname(), err)
}

func judge(u *url.URL, status int) error {
	code := pawl.CodeInvalid
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		code = pawl.CodeUnavailable
	case status >= 300 && status < 400:
		return pawl.Errorf(code, "the callback to %s was answered with a redirect (HTTP %d), which is not followed", u.Hostname(), status).
			WithHint("give the address it leads to")
	}
	return pawl.Errorf(code, "the callback to %s was answered with HTTP %d", u.Hostname(), status)
}
