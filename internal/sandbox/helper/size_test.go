package helper

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Packages that a program initializes delay its start. The helper, which is started for
// every command, has none of Pawl's but its own, neither the network nor what looks up
// users. // F-13
func TestHelperIsSmall(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "pawl/cmd/pawl-helper")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	own := []string{"pawl/cmd/pawl-helper", "pawl/internal/sandbox/confine", "pawl/internal/sandbox/helper"}
	for _, path := range strings.Fields(string(out)) {
		switch {
		case strings.HasPrefix(path, "pawl") && !slices.Contains(own, path),
			path == "net", path == "os/user", path == "regexp", strings.HasPrefix(path, "crypto/"):
			t.Errorf("the helper has package %s", path)
		}
	}
	if !slices.Contains(strings.Fields(string(out)), own[2]) {
		t.Errorf("the helper has only %s", out)
	}
}
