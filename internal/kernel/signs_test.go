package kernel

import "testing"

// Signs are words that name an order or a scope, and lists of more than three steps.
func TestSignsOneByOne(t *testing.T) {
	for _, row := range []struct {
		goal string
		want int
	}{
		{"Fix the typo in the title", 0},
		{"First read the file, then change it", 1},
		{"then this, and finally that", 1},
		{"Do it, then stop", 0},
		{"Implement the login", 1},
		{"the implementation is wrong", 0},
		{"Build a complete shop", 1},
		{"- a\n- b\n- c", 0},
		{"- a\n- b\n- c\n- d", 1},
		{"1. a\n2) b\n* c\n  • d\n", 1},
		{"3.5 is a number\n2024 was a year", 0},
		// F-87
		{"Create database, then API, then frontend", 1},
		{"Add authentication with sessions, tokens, roles and a log", 1},
		{"Add authentication with sessions, tokens, roles, and a log", 1},
		{"Add sessions, tokens and roles", 0},
		{"The parser, which is old, breaks, as I said, on long lines and on empty ones that nobody has ever seen before", 0},
		{"Mend it, please", 0},
		{"Implement it: first this, finally that\n1. a\n2. b\n3. c\n4. d", 3},
	} {
		if got := Signs(row.goal); len(got) != row.want {
			t.Errorf("%q has %q, want %d", row.goal, got, row.want)
		}
	}
}
