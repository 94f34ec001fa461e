package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
	"pawl/internal/cli/man"
)

// Every command has a man page that says what its help does, and groff reads them all.
func TestManPages(t *testing.T) {
	root, dir := newRoot(&cli.App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}), filepath.Join(t.TempDir(), "man1")
	if err := man.Write(root, "v1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		pages++
		for _, want := range []string{".TH ", "Pawl v1.2.3", "Exit codes:", ".SH EXAMPLE", "--json"} {
			if !bytes.Contains(page, []byte(want)) {
				t.Errorf("the page of %s has no %q", c.CommandPath(), want)
			}
		}
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(root)
	if files, err := os.ReadDir(dir); err != nil || len(files) < pages || pages < 50 {
		t.Errorf("%d pages in %d files, %v", pages, len(files), err)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	out, err := exec.Command(groff, "-Kutf8", "-man", "-z", "-ww", filepath.Join(dir, "pawl.1"), filepath.Join(dir, "pawl-run.1"), filepath.Join(dir, "pawl-rm.1")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
