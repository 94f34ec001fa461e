package helper

import "testing"

func TestParseStat(t *testing.T) {
	for text, want := range map[string]relation{
		"12 (sh) S 3 12 4 0 -1":       {12, 3, 12},
		"12 (a) b (c)) R 3 9 4 0 -1":  {12, 3, 9},
		"12 (\n) S 1 2 3) Z 7 8 9 10": {12, 7, 8},
	} {
		if got, ok := parseStat(text); !ok || got != want {
			t.Errorf("parseStat(%q) = %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "12", "12 (sh", "12 (sh) S", "x (sh) S 1 2 3"} {
		if got, ok := parseStat(text); ok {
			t.Errorf("parseStat(%q) = %v, want nothing", text, got)
		}
	}
}
