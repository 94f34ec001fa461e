package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/model/wire"
)

// source is a reply's body whose pieces come after pauses. A negative pause
// never ends, but for its context.
type source struct {
	ctx    context.Context
	pauses []time.Duration
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.pauses) == 0 {
		return 0, io.EOF
	}
	pause := s.pauses[0]
	s.pauses = s.pauses[1:]
	if err := sleep(s.ctx, pause); err != nil {
		return 0, err
	}
	return copy(p, "x"), nil
}

func (s *source) Close() error { return nil }

func sleep(ctx context.Context, d time.Duration) error {
	var c <-chan time.Time
	if d >= 0 {
		c = time.After(d)
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// roundTrip is one exchange under an idle limit of a minute: connecting takes
// header, and the reply's pieces come after pauses, each followed by a consumer
// that takes consume.
func roundTrip(ctx context.Context, header, consume time.Duration, pauses ...time.Duration) error {
	watched, x := wire.Open(ctx, time.Minute, "")
	defer x.Close()
	req, err := http.NewRequestWithContext(watched, http.MethodPost, "http://model.test", nil)
	if err != nil {
		return err
	}
	res, err := x.Do(req, func(*http.Request) (*http.Response, error) {
		if err := sleep(watched, header); err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: 200, Body: &source{ctx: watched, pauses: pauses}}, nil
	})
	if err != nil {
		return x.Err(err)
	}
	for {
		_, err := res.Body.Read(make([]byte, 8))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return x.Err(err)
		}
		time.Sleep(consume) //nolint:forbidigo // time is faked here
	}
}

func TestSilence(t *testing.T) {
	const never = -1
	tests := []struct {
		name            string
		header, consume time.Duration
		pauses          []time.Duration
		fails           time.Duration // when the silence must end the call; zero means never
	}{
		{name: "no headers", header: never, fails: time.Minute},
		{name: "headers and nothing else", pauses: []time.Duration{never}, fails: time.Minute},
		{name: "silence after some bytes", header: 30 * time.Second, pauses: []time.Duration{50 * time.Second, 50 * time.Second, never}, fails: 190 * time.Second},
		{name: "slow all along", header: 59 * time.Second, pauses: []time.Duration{59 * time.Second, 59 * time.Second, 59 * time.Second, 59 * time.Second}},
		{name: "a slow reader", consume: 10 * time.Minute, pauses: []time.Duration{time.Second, time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := roundTrip(t.Context(), tt.header, tt.consume, tt.pauses...)
				if tt.fails == 0 {
					if err != nil {
						t.Errorf("the exchange failed: %v", err)
					}
					return
				}
				typed, ok := err.(*pawl.ModelError)
				if !ok || typed.Kind != pawl.ModelTimeout {
					t.Errorf("the exchange ended with %v, want a timeout", err)
				}
				if took := time.Since(start); took != tt.fails {
					t.Errorf("it took %v, want %v", took, tt.fails)
				}
			})
		})
	}
}

func TestCallersContextWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if err := roundTrip(ctx, 0, 0, 50*time.Second, 50*time.Second); err != context.DeadlineExceeded {
			t.Errorf("the exchange ended with %v, want the caller's deadline", err)
		}
	})
}

// A large request over a slow line is not silence.
func TestUploadKeepsTheExchangeAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watched, x := wire.Open(t.Context(), time.Minute, "")
		defer x.Close()
		req, err := http.NewRequestWithContext(watched, http.MethodPost, "http://model.test", strings.NewReader(strings.Repeat("x", 10)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := x.Do(req, func(req *http.Request) (*http.Response, error) {
			for {
				if _, err := req.Body.Read(make([]byte, 1)); err == io.EOF {
					return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
				}
				if err := sleep(watched, 50*time.Second); err != nil {
					return nil, err
				}
			}
		})
		if err != nil {
			t.Fatalf("the exchange failed: %v", x.Err(err))
		}
		res.Body.Close()
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

func TestReplyIsBounded(t *testing.T) {
	respond := func(status int) (int64, error) {
		watched, x := wire.Open(t.Context(), 0, "")
		defer x.Close()
		req, err := http.NewRequestWithContext(watched, http.MethodPost, "http://model.test", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := x.Do(req, func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: endless{}}, nil
		})
		if err != nil {
			return 0, x.Err(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		return n, x.Err(err)
	}
	n, err := respond(200)
	if typed, ok := err.(*pawl.ModelError); !ok || typed.Kind != pawl.ModelNetwork || n != wire.MaxReply {
		t.Errorf("an endless reply gave %d bytes and %v, want %d and a network error", n, err, wire.MaxReply)
	}
	_, err = respond(500)
	if typed, ok := err.(*pawl.ModelError); !ok || typed.Kind != pawl.ModelOverloaded || len(typed.Message) > 300 {
		t.Errorf("an endless error body gave %v", err)
	}
}

func TestErrorsBeforeTheRequestIsSent(t *testing.T) {
	_, x := wire.Open(t.Context(), 0, "0123456789")
	defer x.Close()
	err := x.Err(errors.New("bad parameter 0123456789"))
	if typed, ok := err.(*pawl.ModelError); !ok || typed.Kind != pawl.ModelBadRequest || strings.Contains(err.Error(), "0123456789") {
		t.Errorf("Err returned %v, want a bad request without the key", err)
	}
}

func TestHTTPClientFollowsNoRedirect(t *testing.T) {
	original := &http.Client{Timeout: time.Hour}
	client := wire.HTTPClient(original)
	if client == original || client.Timeout != time.Hour || original.CheckRedirect != nil {
		t.Error("the client must be a copy that keeps what was set")
	}
	if err := client.CheckRedirect(nil, nil); err != http.ErrUseLastResponse {
		t.Errorf("a redirect is answered with %v", err)
	}
}
