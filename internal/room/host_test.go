package room

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutCredentials(t *testing.T) {
	for list, want := range map[string]string{
		"":                              "",
		"https://proxy.golang.org":      "https://proxy.golang.org",
		"https://u:p@host/x,direct":     "https://host/x,direct",
		"https://token@host|off":        "https://host|off",
		"direct":                        "direct",
		"u:p@host,direct":               "direct",
		"https://a,https://u:p@b/c":     "https://a,https://b/c",
		"https://u:p%zz@host/x":         "",
		"https://a|https://u:p%zz@host": "https://a",
	} {
		if got := withoutCredentials(list); got != want {
			t.Errorf("withoutCredentials(%q) = %q, want %q", list, got, want)
		}
	}
}

// Where a user's Go client finds checksums is passed on, and the credentials for it are not.
func TestChecksumDatabaseWithoutCredentials(t *testing.T) {
	for value, want := range map[string]string{
		"off": "off", "sum.golang.org": "sum.golang.org", "sum.corp+033de0ae+Ac4z https://sums.corp/db": "sum.corp+033de0ae+Ac4z https://sums.corp/db",
		"sum.corp+033de0ae+Ac4z https://u:p@sums.corp/db": "sum.corp+033de0ae+Ac4z https://sums.corp/db",
	} {
		h := NewHost([]string{"GOSUMDB=" + value}, t.TempDir())
		if got := h.variables(places{}, true, true); !slices.Contains(got, "GOSUMDB="+want) {
			t.Errorf("of GOSUMDB=%s a room has %q", value, got)
		}
	}
}

func TestLastOfEach(t *testing.T) {
	got := lastOfEach([]string{"A=1", "B=2", "A=3", "C=", "B=x=y"})
	if diff := cmp.Diff([]string{"A=3", "B=x=y", "C="}, got); diff != "" {
		t.Errorf("variables differ (-want +got):\n%s", diff)
	}
}

func TestMountsInOrder(t *testing.T) {
	got := inOrder([]Mount{
		{Path: "/opt", Source: "/opt"}, {Path: "/opt/work/.git", Source: "/git"}, {Path: "/opt/work", Source: "/a"},
		{Path: "/opt/work", Source: "/b"}, {Path: "/", Size: 1}, {Path: "/opt-other", Source: "/c"},
	})
	var lines []string
	for _, m := range got {
		lines = append(lines, m.Path+" "+m.Source)
	}
	want := []string{"/ ", "/opt /opt", "/opt-other /c", "/opt/work /b", "/opt/work/.git /git"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("mounts differ (-want +got):\n%s", diff)
	}
}

func TestPrograms(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home")
	for _, folder := range []string{
		"go/bin", "go/pkg/tool", "plain/bin", "venv/bin", "home/.local/bin", "home/.local/lib/python3.11",
		"home/.ssh/bin", "home/.config/composer/bin", "home/.pyenv/shims", "home/.pyenv/bin", "home/go/bin", "home/.claude/local",
		"node/bin", "node/lib/node_modules",
	} {
		if err := os.MkdirAll(filepath.Join(base, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "venv/pyvenv.cfg"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// A link, as version managers leave it, and one into what must stay hidden.
	if err := os.Symlink(filepath.Join(base, "node"), filepath.Join(base, "current")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(base, "harmless")); err != nil {
		t.Fatal(err)
	}
	entries := []string{
		"go/bin", "plain/bin", "venv/bin", "current/bin", "harmless/bin", "harmless", "home", "home/.local/bin", "home/.ssh/bin",
		"home/.config/composer/bin", "home/.pyenv/shims", "home/.pyenv/bin", "home/go/bin", "home/.claude/local", "nowhere",
	}
	path := "relative/bin::."
	for _, e := range entries {
		path += ":" + filepath.Join(base, e)
	}
	h := NewHost([]string{"PATH=" + path, "HOME=" + home}, "")
	var got []string
	for _, folder := range h.programs() {
		got = append(got, strings.TrimPrefix(folder, base+"/"))
	}
	want := []string{"current", "go", "home/.local/bin", "home/.local/lib", "home/.pyenv", "home/go/bin", "plain/bin", "venv"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs differ (-want +got):\n%s", diff)
	}
}
