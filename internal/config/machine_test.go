package config

import "testing"

// What is done at once is right for the smallest machine and for a large one.
func TestDefaultMachine(t *testing.T) {
	for _, m := range []struct{ processors, places, heavy int }{{1, 16, 2}, {2, 16, 2}, {4, 16, 3}, {8, 32, 5}, {64, 256, 33}} {
		got := defaultMachine(m.processors)
		if got.Machine != m.places || got.Heavy != m.heavy || got.Calls != 10 || got.NoNet != 10 || got.Net != 5 {
			t.Errorf("%d processors: %+v", m.processors, got)
		}
	}
}
