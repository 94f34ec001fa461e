package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"pawl"
)

// Consent is for the same commands in the same repository, and survives the process.
func TestPrepareConsent(t *testing.T) {
	home := t.TempDir()
	p := mustAt(t, home, "/src/app/.git")
	commands := pawl.Settings{Prepare: []string{"make deps"}}
	changed := pawl.Settings{Prepare: []string{"make deps; curl evil.example"}}
	check := func(gitDir string, s pawl.Settings, want bool) {
		t.Helper()
		got, err := mustAt(t, home, gitDir).PrepareAllowed(s.PrepareHash())
		if err != nil || got != want {
			t.Errorf("%q in %s are allowed: %t, %v, want %t", s.Prepare, gitDir, got, err, want)
		}
	}
	check("/src/app/.git", commands, false)
	for range 2 { // it can be said again
		if err := p.AllowPrepare(commands.PrepareHash(), commands.Prepare); err != nil {
			t.Fatal(err)
		}
	}
	check("/src/app/.git", commands, true)
	check("/src/app/.git", changed, false)
	check("/src/other/.git", commands, false)

	files, err := filepath.Glob(filepath.Join(p.Dir, "allowed", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v, want one", files, err)
	}
	if file, dir := permissions(t, files[0]), permissions(t, filepath.Dir(files[0])); file != 0o600 || dir != 0o700 {
		t.Errorf("permissions %o in a folder with %o, want 600 in 700", file, dir)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "{\n  \"prepare\": [\n    \"make deps\"\n  ]\n}\n" {
		t.Errorf("the file says %s, %v", text, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	check("/src/app/.git", commands, false)
}

// Where it cannot be known, commands are not allowed.
func TestPrepareConsentUnknown(t *testing.T) {
	p := mustAt(t, t.TempDir(), "/src/app/.git")
	mustWrite(t, filepath.Join(p.Dir, "allowed"), "")
	hash := (&pawl.Settings{Prepare: []string{"make"}}).PrepareHash()
	if got, err := p.PrepareAllowed(hash); got || err == nil {
		t.Errorf("allowed: %t, %v, want an error", got, err)
	}
	if err := p.AllowPrepare(hash, []string{"make"}); err == nil {
		t.Error("what cannot be remembered counts as allowed")
	}
}
