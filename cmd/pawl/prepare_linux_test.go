package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/sandbox"
)

// In confined runs the commands that a repository chose to prepare checkouts cannot reach
// what listens on this machine, even when the user allowed them. The user's own can.
func TestPrepareReaches(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	y := newYard(t, pawlProgram(t))
	y.env[0] = "PATH=" + toolFolder(t, append(tools, "bash", "bwrap")...)
	if _, err := os.Stat(filepath.Join(y.env[0][len("PATH="):], "bash")); err != nil {
		t.Skip("bash is not installed")
	}
	dir, model := y.repo("shop"), y.script("s.yaml", quickScript)
	visit := fmt.Sprintf("if bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'; then touch reached; else touch kept; fi", listener.Addr().(*net.TCPAddr).Port)
	mustWrite(t, filepath.Join(dir, ".pawl/config.yaml"), fmt.Sprintf("prepare: [%q]\n", visit))
	run := func(goal, leaves string, more ...string) {
		t.Helper()
		args := append([]string{"run", goal, "--local", "--recipe", "taskloop", "--model", model, "--require-green", "--gate", "tests=test -e " + leaves}, more...)
		if out, err := y.pawl(dir, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", goal, err, out)
		}
	}
	run("Prepare as the repository wants", "kept", "--yes-prepare")
	y.env = append(y.env, "PAWL_PREPARE="+visit)
	run("Prepare as the user wants", "reached")
}
