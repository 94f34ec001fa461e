package pawl

import (
	"crypto/sha256"
	"testing"
)

func TestPrepareHash(t *testing.T) {
	s := Settings{Prepare: []string{"npm ci && make <all>", "make deps"}}
	want := Hash(sha256.Sum256([]byte(`["npm ci && make <all>","make deps"]`)))
	if got := s.PrepareHash(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, other := range [][]string{nil, {}, {"make deps", "npm ci && make <all>"}, {"npm ci && make <all> make deps"}, {"npm ci && make <all>", "make deps "},
		{"npm ci && make <all>", "make deps", ""}} {
		if (&Settings{Prepare: other}).PrepareHash() == want {
			t.Errorf("%q has the same hash", other)
		}
	}
}
