package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Errors for other platforms, in a package and in its tests, are reported once. Files for Linux only
// are accepted there.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.org/m\n\ngo 1.26\n",
		"m.go":                "package m\n\nimport \"os\"\n\nvar _ = os.Args\n\nfunc both() {}\n",
		"m_linux.go":          "package m\n\nimport \"syscall\"\n\nfunc only() { both(); _ = syscall.Getppid() }\n",
		"m_windows.go":        "package m\n\nimport \"syscall\"\n\nfunc only() int { return syscall.Kill }\n",
		"p/p.go":              "package p\n",
		"p/p_darwin_test.go":  "package p\n\nfunc test() { undefined() }\n",
		"p/e_windows_test.go": "package p_test\n\nvar _ int = \"\"\n",
		"tagged/t.go":         "//go:build never\n\npackage tagged\n\nvar x int = \"\"\n",
		"tagged/always.go":    "package tagged\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(&out, dir, []string{"linux/arm64"}); err != nil {
		t.Errorf("linux/arm64: %v", err)
	}
	err := run(&out, dir, []string{"windows/amd64", "darwin/arm64"})
	if err == nil {
		t.Fatal("nothing was found")
	}
	for _, want := range []string{
		"windows/amd64: " + filepath.Join(dir, "m_windows.go") + ":5:34: undefined: syscall.Kill",
		"windows/amd64: " + filepath.Join(dir, "p/e_windows_test.go") + ":3:13: cannot use",
		"darwin/arm64: " + filepath.Join(dir, "p/p_darwin_test.go") + ":3:15: undefined: undefined",
	} {
		if n := strings.Count(err.Error(), want); n != 1 {
			t.Errorf("%q is there %d times:\n%v", want, n, err)
		}
	}
	if want := "types for linux/arm64\ntypes for windows/amd64\ntypes for darwin/arm64\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
}

func TestRunRefuses(t *testing.T) {
	for name, c := range map[string]struct{ dir, platform, want string }{
		"NoSlash":         {".", "darwin", "write GOOS/GOARCH"},
		"UnknownPlatform": {".", "darwin/vax", "darwin/vax: "},
		"NoPackage":       {t.TempDir(), "darwin/arm64", "darwin/arm64: "},
	} {
		if err := run(&strings.Builder{}, c.dir, []string{c.platform}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}
