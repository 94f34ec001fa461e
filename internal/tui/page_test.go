package tui

import (
	"os"
	"strings"
	"testing"
)

// The page about the program shows real screens and names every key.
func TestPageIsTrue(t *testing.T) {
	data, err := os.ReadFile("../../docs/tui.md")
	if err != nil {
		t.Fatal(err)
	}
	const fence = "```\n"
	parts := strings.Split(string(data), fence)
	for i, scene := range []string{"tree", "approval"} {
		screen, err := os.ReadFile("testdata/" + scene + "-80x24.golden")
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) > 2*i+1 && *update {
			parts[2*i+1] = string(screen)
		}
		if len(parts) <= 2*i+1 || parts[2*i+1] != string(screen) {
			t.Errorf("the page does not show the screen %s as it is; go test -update rewrites it", scene)
		}
	}
	page := strings.Join(parts, fence)
	if *update {
		if err := os.WriteFile("../../docs/tui.md", []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range helps[:len(helps)-1] {
		for _, k := range h.keys {
			if !strings.Contains(page, "| `"+k.key+"` | "+k.does+" |") {
				t.Errorf("the page does not name | `%s` | %s |", k.key, k.does)
			}
		}
	}
}
