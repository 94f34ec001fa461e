package sandbox_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
)

// BenchmarkCommand runs a shell that does nothing: alone, in a plain bubblewrap, and in
// an agent's room that is open. pawl bench rooms measures them in turn.
func BenchmarkCommand(b *testing.B) {
	MustConfined(b)
	program := filepath.Join(b.TempDir(), "pawl-helper")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "pawl/cmd/pawl-helper").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	box, err := sandbox.New(b.Context(), sandbox.Options{Program: program})
	if err != nil {
		b.Fatal(err)
	}
	for name, argv := range map[string][]string{
		"Alone":      {"/bin/sh", "-c", "true"},
		"Bubblewrap": {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/sh", "-c", "true"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
	b.Run("Room", func(b *testing.B) {
		r := MustRoom(b, box)
		MustRun(b, r, pawl.Command{Shell: "true"}) // opens it
		for b.Loop() {
			MustRun(b, r, pawl.Command{Shell: "true"})
		}
	})
}
