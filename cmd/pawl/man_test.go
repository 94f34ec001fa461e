package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pawl/internal/cli"
)

// Every command has a man page that says what its help does, and groff reads them all.
func TestManPages(t *testing.T) {
	var out bytes.Buffer
	root, dir := newRoot(&cli.App{Out: &out, Err: &bytes.Buffer{}, Version: "v1.2.3"}), filepath.Join(t.TempDir(), "man1")
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
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
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < pages || pages < 50 {
		t.Errorf("%d pages in %d files, %v", pages, len(files), err)
	}
	if want := fmt.Sprintf("Wrote %d man pages into %s.\n", len(files), dir); out.String() != want { // F-118
		t.Errorf("pawl man printed %q, want %q", out.String(), want)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	said, err := exec.Command(groff, "-Kutf8", "-man", "-z", "-ww", filepath.Join(dir, "pawl.1"), filepath.Join(dir, "pawl-run.1"), filepath.Join(dir, "pawl-rm.1")).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("groff: %v\n%s", err, said)
	}
}
