package ladder

import (
	"strings"
	"testing"

	"pawl"
)

func factsOf(words string) pawl.Facts {
	var out pawl.Facts
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		out = append(out, pawl.Fact{Name: name, Value: value})
	}
	return out
}

func TestScore(t *testing.T) { // D-12
	for _, row := range []struct {
		facts string
		want  int
	}{
		{"", 0},
		{"files=1 lines=49 new_dependencies=0 type=documentation", 0},
		{"files=2", 1}, {"files=3", 1}, {"files=4", 2}, {"files=6", 2}, {"files=7", 3}, {"files=7000", 3},
		{"lines=49", 0}, {"lines=50", 1}, {"lines=149", 1}, {"lines=150", 2}, {"lines=299", 2}, {"lines=300", 3},
		{"new_dependencies=1", 1}, {"new_dependencies=2", 1}, {"new_dependencies=3", 2},
		{"type=test", 1}, {"type=implementation", 2}, {"type=architecture", 3}, {"type=poetry", 0},
		{"risk=security_sensitive", 1}, {"risk=security_sensitive risk=external_integration risk=breaking_change", 3},
		{"files=9 lines=900 new_dependencies=9 type=architecture risk=a risk=b risk=c", 14},
		{"files=9 lines=900 new_dependencies=9 type=architecture risk=a risk=b risk=c risk=d risk=e", 14},
		{"files=many lines=-5", 0},
	} {
		if got, why := Score(factsOf(row.facts)); got != row.want {
			t.Errorf("%q scores %d (%s), want %d", row.facts, got, why, row.want)
		}
	}
}

func TestTierOfScore(t *testing.T) { // D-13 D-14 D-15 D-B14
	bands := &pawl.Bands{From: "assess", Unknown: 5, Tiers: []pawl.Band{
		{Max: 4, Tier: 1, Name: "simple"}, {Max: 8, Tier: 2, Name: "moderate"}, {Max: 14, Tier: 3, Name: "complex"}}}
	for score, want := range []int{1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3} {
		if got := TierFor(bands, score); got != want {
			t.Errorf("a score of %d starts on tier %d, want %d", score, got, want)
		}
	}
}
