package brief

import "testing"

func TestCut(t *testing.T) {
	for _, row := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abcde", 5, "abcde"},
		{"abcdef", 5, "ab…"},
		{"abcd", 3, "…"},
		{"aäöü", 6, "aä…"},
		{"äöüä", 6, "ä…"}, // the bound is within a rune
		{"€uro", 5, "…"},
	} {
		if got := Cut(row.s, row.n); got != row.want || len(got) > max(row.n, 0) {
			t.Errorf("%q at %d: got %q, want %q", row.s, row.n, got, row.want)
		}
	}
}

func TestFingerprints(t *testing.T) {
	a, b := Fingerprint("a"), Fingerprint("b")
	if Fingerprint("") != 0 || a&1 == 0 || b&1 == 0 || a == b || a != Fingerprint("a") {
		t.Errorf("a has %x, b %x", a, b)
	}
	if Mix() != 0 || Mix(0, 0) != 0 {
		t.Error("nothing has a fingerprint")
	}
	for _, parts := range [][]uint64{{a}, {0, a}, {a, 0}, {a, b}, {b, a}} {
		if Mix(parts...)&1 == 0 {
			t.Errorf("%x mix to %x", parts, Mix(parts...))
		}
	}
	if Mix(a, b) == Mix(b, a) || Mix(a, 0) == Mix(0, a) {
		t.Error("the order of the parts does not matter")
	}
	if got := Fingerprint("hello"); got != 0xa430d84680aabd0b { // FNV-1a, as others compute it
		t.Errorf("hello has %x", got)
	}
}
