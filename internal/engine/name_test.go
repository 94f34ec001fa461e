package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl"
)

// V-11, V-13
func TestNames(t *testing.T) {
	long := strings.Repeat("ä", 100)
	for _, test := range []struct{ goal, title, slug string }{
		{"Add login", "Add login", "add-login"},
		{"\n\n  Add login \t\nwith a password", "Add login", "add-login"},
		{"Fix: `pawl list --json` (again!)", "Fix: `pawl list --json` (again!)", "fix-pawl-list-json-again"},
		{"don't break the user’s build", "don't break the user’s build", "dont-break-the-users-build"},
		{"one two three four five six seven", "one two three four five six seven", "one-two-three-four-five"},
		{"internationalisation documentation please", "internationalisation documentation please", "internationalisation"},
		{"Donaudampfschifffahrtsgesellschaftskapitän grüßen", "Donaudampfschifffahrtsgesellschaftskapitän grüßen", "donaudampfschifffahrtsgesellscha"},
		{"Größe der Schriftart ändern", "Größe der Schriftart ändern", "groesse-der-schriftart-aendern"},
		{"ajouter un café à l'été", "ajouter un café à l'été", "ajouter-un-cafe-a-lete"},
		{"添加 login 页面", "添加 login 页面", "login"},
		{"添加登录页面", "添加登录页面", "task"},
		{"Cafe\u0301 menu", "Cafe\u0301 menu", "menu"},
		{"../../etc/passwd", "../../etc/passwd", "etc-passwd"},
		{"-rf /", "-rf /", "rf"},
		{"!!! ???", "!!! ???", "task"},
		{"release v1.2.0", "release v1.2.0", "release-v1-2-0"},
		{"port to r2", "port to r2", "port-to"}, // it would look like a later run of the task
		{"r2", "r2", "r2"},
		{"r2 r3", "r2 r3", "r2"},
		{"switch r0 and r1", "switch r0 and r1", "switch-r0-and-r1"},
		{"bad \xff bytes", "bad \uFFFD bytes", "bad-bytes"},
		{long, long[:116] + "…", "aeaeaeaeaeaeaeaeaeaeaeaeaeaeaeae"},
		{strings.Repeat("x", 120), strings.Repeat("x", 120), strings.Repeat("x", 32)},
		{strings.Repeat("x", 121), strings.Repeat("x", 117) + "…", strings.Repeat("x", 32)},
	} {
		if got := title(test.goal); got != test.title {
			t.Errorf("title of %q: %q, want %q", test.goal, got, test.title)
		}
		if got := slug(test.goal); got != test.slug {
			t.Errorf("slug of %q: %q, want %q", test.goal, got, test.slug)
		}
	}
}

// Whatever the goal is, the slug is a part of a branch's name that can be typed,
// and the title one line of text.
func TestNamesOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goal := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zäß'/ .\-\x00-\x20]{0,200}`)).Draw(t, "goal")
		s := slug(goal)
		if len(s) == 0 || len(s) > slugSize || strings.Count(s, "-") >= slugWords || s[0] == '-' || s[len(s)-1] == '-' ||
			strings.Contains(s, "--") || later(s) || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("slug %q", s)
		}
		if got := title(goal); len(got) > titleSize || !utf8.ValidString(got) || strings.Contains(got, "\n") {
			t.Errorf("title %q", got)
		}
	})
}

func later(slug string) bool {
	_, n := pawl.RunID("001-" + slug).Task()
	return n > 1
}
