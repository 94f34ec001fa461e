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
		{"aááá", 5, "a…"},
		{"\x80\x80\x80\x80\x80", 4, "…"}, // no rune begins here
	} {
		if got := Cut(row.s, row.n); got != row.want || len(got) > max(row.n, 0) {
			t.Errorf("%q at %d: got %q, want %q", row.s, row.n, got, row.want)
		}
	}
}

func TestWords(t *testing.T) { // F-91
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"a.go:12: no test", "A.go:140: No  test!", true},
		{"2 of 3 fail", "1 of 3 fail", true},
		{"no test", "no tests", false},
		{"no test", "no guest", false},
		{"12", "13", false},
		{"Test1 fails", "Test2 fails", false},
		{"", "", true},
		{"Größe fehlt", "größe FEHLT", true},
		{"a b", "ab", false},
	} {
		if got := Words(row.a) == Words(row.b); got != row.same {
			t.Errorf("%q and %q are alike: %t", row.a, row.b, got)
		}
	}
	if Words("") != 0 || Words("1") == 0 {
		t.Error("only the empty text has no fingerprint")
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
	// These are in logs, so they never change: FNV-1a with the lowest bit set.
	if got := Fingerprint("hello"); got != 0xa430d84680aabd0b {
		t.Errorf("hello has %x", got)
	}
	if got := Mix(1, 0x1ff); got != 0x9e4cccd2ddda55e1 {
		t.Errorf("1 and 1ff mix to %x", got)
	}
	for n := range uint64(64) {
		if Mix(n+1)&1 == 0 || Fingerprint(string(rune('a'+n)))&1 == 0 {
			t.Errorf("a fingerprint of %d is even", n)
		}
	}
}

// F-79: a text that agents wrote as a sentence is joined to others as a part of one.
func TestClause(t *testing.T) {
	for text, want := range map[string]string{
		"A deploy token.":              "a deploy token",
		"It needs a deploy token..":    "it needs a deploy token",
		"The key of Stripe. Ask Anna.": "the key of Stripe. Ask Anna",
		"Stripe's key":                 "Stripe's key",
		"AWS access.":                  "AWS access",
		"I cannot reach it.":           "I cannot reach it",
		" Access to the registry ":     "access to the registry",
		"Ada's word":                   "Ada's word",
		"Someone has to decide.":       "someone has to decide",
		"":                             "",
		"...":                          "",
	} {
		if got := Clause(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The first letter of a text is a capital, whatever it is written in.
func TestCapital(t *testing.T) {
	for text, want := range map[string]string{"": "", "gate lint": "Gate lint", "élan": "Élan", "日本": "日本", "\xff": "\xff", "Done": "Done"} {
		if got := Capital(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
