package man

import "testing"

func TestFence(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"One.\nTwo.\n":                      "One.\nTwo.\n",
		"Kinds:\n  a  x\n  b  y\n\nMore.\n": "Kinds:\n```\n  a  x\n  b  y\n```\n\nMore.\n",
		"Codes:\n  0 done":                  "Codes:\n```\n  0 done\n```\n",
	} {
		if got := fence(text); got != want {
			t.Errorf("fence(%q) = %q, want %q", text, got, want)
		}
	}
}
