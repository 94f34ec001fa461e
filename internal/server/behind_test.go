package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pawl"
)

// F-61: a watcher that falls behind the ring goes on after the last event that it got.
func TestReaderLeftBehindKeepsItsPlace(t *testing.T) {
	r := newRing(0)
	for i := range pawl.Seq(3) {
		r.put(entry{i + 1, []byte("x")})
	}
	pushed := false
	rec := &pushing{ResponseRecorder: httptest.NewRecorder()}
	rec.push = func() {
		if !pushed {
			pushed = true
			for i := range pawl.Seq(RingEntries + 10) {
				r.put(entry{i + 4, []byte("x")})
			}
		}
	}
	s := &stream{w: rec, c: http.NewResponseController(rec)}
	have := pawl.Seq(0)
	if behind := s.follow(context.Background(), r, &have); !behind || have != 3 {
		t.Errorf("behind %v, have %d, want 3 after %q", behind, have, strings.TrimSpace(rec.Body.String()))
	}
}

// pushing is a response that puts entries into the ring while the first ones are written.
type pushing struct {
	*httptest.ResponseRecorder
	push func()
}

func (p *pushing) Write(b []byte) (int, error) {
	n, err := p.ResponseRecorder.Write(b)
	if string(b) == "xxx" {
		p.push()
	}
	return n, err
}
