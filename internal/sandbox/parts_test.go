package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What is kept never exceeds the limit, is the head and the tail of what came,
// and is valid UTF-8, however the output was cut into pieces.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(1, 60).Draw(t, "keep")
		pieces := rapid.SliceOf(rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40),
			rapid.Map(rapid.StringN(0, 20, 40), func(s string) []byte { return []byte(s) }),
		)).Draw(t, "pieces")
		c := newCapture(keep, nil)
		for _, p := range pieces {
			stream{c, true}.Write(p)
			if held := len(c.head) + len(c.tail); held > keep/2+2*(keep-keep/2) {
				t.Fatalf("%d bytes are held for a limit of %d", held, keep)
			}
		}
		all := bytes.Join(pieces, nil)
		output, stdout, dropped := c.result()
		if !utf8.Valid(output) {
			t.Fatalf("output %q is not valid UTF-8", output)
		}
		if !bytes.Equal(stdout, all) {
			t.Fatalf("standard output is %q, want %q", stdout, all)
		}
		if len(all) <= keep {
			if want := replaceInvalid(bytes.Clone(all)); dropped != 0 || !bytes.Equal(output, want) {
				t.Fatalf("output %q, dropped %d, want all of %q", output, dropped, want)
			}
			return
		}
		head, tail, ok := bytes.Cut(output, fmt.Appendf(nil, "\n[… %d bytes cut …]\n", dropped))
		if !ok || len(head)+len(tail)+int(dropped) != len(all) || len(head)+len(tail) > keep {
			t.Fatalf("output %q does not account for %d bytes with a limit of %d", output, len(all), keep)
		}
		if len(head)+len(tail) < keep-2*(utf8.UTFMax-1) {
			t.Fatalf("output %q keeps less than a limit of %d allows", output, keep)
		}
		want := append(bytes.Clone(all[:len(head)]), all[len(all)-len(tail):]...)
		if !bytes.Equal(replaceInvalid(append(bytes.Clone(head), tail...)), append(replaceInvalid(want[:len(head)]), replaceInvalid(want[len(head):])...)) {
			t.Fatalf("output %q is not head and tail of %q", output, all)
		}
	})
}

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

func TestLastOfEach(t *testing.T) {
	got := lastOfEach([]string{"A=1", "B=2", "A=3", "C=", "B=x=y"})
	if diff := cmp.Diff([]string{"A=3", "B=x=y", "C="}, got); diff != "" {
		t.Errorf("variables differ (-want +got):\n%s", diff)
	}
}

func TestMountsInOrder(t *testing.T) {
	got := inOrder([]mount{
		{"/opt", "--ro-bind", "/opt"},
		{"/opt/work/.git", "--ro-bind", "/opt/work/.git"},
		{"/opt/work", "--ro-bind", "/opt/work"},
		{"/opt/work", "--bind", "/opt/work"},
		{dest: "/", option: "--tmpfs"},
		{"/opt-other", "--ro-bind", "/opt-other"},
	})
	want := []string{"--tmpfs /", "--ro-bind /opt", "--ro-bind /opt-other", "--bind /opt/work", "--ro-bind /opt/work/.git"}
	var lines []string
	for _, m := range got {
		lines = append(lines, m.option+" "+m.dest)
	}
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
	h := newHost(Options{Environ: []string{"PATH=" + path, "HOME=" + home}})
	var got []string
	for _, folder := range h.programs() {
		got = append(got, strings.TrimPrefix(folder, base+"/"))
	}
	want := []string{"current", "go", "home/.local/bin", "home/.local/lib", "home/.pyenv", "home/go/bin", "plain/bin", "venv"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs differ (-want +got):\n%s", diff)
	}
}

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
