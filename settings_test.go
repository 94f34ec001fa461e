package pawl

import (
	"crypto/sha256"
	"testing"
)

// A change of an account does not reach copies of the settings, such as those of effects in flight.
func TestSetAccount(t *testing.T) {
	m := ModelChoice{Provider: "openai", Address: "https://old"}
	s := Settings{Models: [3]ModelChoice{m}, Fallbacks: [3][]ModelChoice{{m, {Provider: "ollama"}}}}
	before := s
	to := Account{Provider: "openai", Address: "https://new", Key: "k"}
	s.SetAccount(to)
	if s.Models[0].Account() != to || s.Fallbacks[0][0].Account() != to || s.Fallbacks[0][1].Address != "" {
		t.Errorf("the models are %+v and %+v", s.Models[0], s.Fallbacks[0])
	}
	if before.Models[0] != m || before.Fallbacks[0][0] != m {
		t.Errorf("the models of the copy are %+v and %+v", before.Models[0], before.Fallbacks[0])
	}
}

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
