package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/project"
)

// replay reports events that the kernel cannot fold.
func TestRefoldReportsDamage(t *testing.T) {
	events := []pawl.Event{{Run: "001-x", Seq: 1, Body: &pawl.RunStarted{Recipe: pawl.JSON("{}"), Settings: pawl.JSON("{}")}}, {Run: "001-x", Seq: 3, Body: &pawl.RunPaused{}}}
	if _, err := refold(events[:1]); err != nil {
		t.Fatal(err)
	}
	if _, err := refold(events); pawl.CodeOf(err) != pawl.CodeDamaged {
		t.Errorf("a missing event: %v, want %s", err, pawl.CodeDamaged)
	}
}

// A project whose repository has been removed is not opened.
func TestOpenWithoutRepository(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	_, err := (&machine{}).open(t.Context(), project.Project{Dir: t.TempDir(), Repo: pawl.Repository{GitDir: gone}}, nil, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "find the repository") {
		t.Errorf("got %v", err)
	}
}

// A daemon that cannot make its state folder says which variable decides where it is.
func TestServeWithoutStateFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	mustWrite(t, file, "")
	err := serveProjects(t.Context(), &cli.App{StateHome: file}, servecmd.Options{})
	if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Code != pawl.CodeUnavailable || !strings.Contains(e.Hint, "XDG_STATE_HOME") {
		t.Errorf("got %v", err)
	}
}

func mustWrite(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
