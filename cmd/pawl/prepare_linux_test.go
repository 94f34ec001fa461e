package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/sandbox"
)

// In confined runs the commands that prepare a commit, whoever chose them, cannot reach what
// listens on this machine. What the user names in egress they reach through the proxy alone.
// F-02
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
	port := listener.Addr().(*net.TCPAddr).Port
	visit := fmt.Sprintf(`bash -c 'if exec 3<>/dev/tcp/127.0.0.1/%[1]d; then touch direct; fi'
bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128 && printf "CONNECT canary.test:%[1]d HTTP/1.1\r\nHost: canary.test:%[1]d\r\n\r\n" >&3 && read -r line <&3 && case $line in *200*) touch reached;; *) exit 1;; esac' || touch kept`, port)
	mustWrite(t, filepath.Join(dir, ".pawl/config.yaml"), fmt.Sprintf("prepare: [%q]\n", visit))
	run := func(goal, leaves string, more ...string) {
		t.Helper()
		args := append([]string{"run", goal, "--local", "--recipe", "taskloop", "--model", model, "--require-green", "--gate", "tests=test -e " + leaves + " && ! test -e direct"}, more...)
		if out, err := y.pawl(dir, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", goal, err, out)
		}
	}
	run("Prepare as the repository wants", "kept", "--yes-prepare")
	rule := fmt.Sprintf("canary.test:%d=127.0.0.1", port)
	run("Prepare as the user wants", "reached", "--yes-prepare", "--egress", rule)
	run("Prepare as before", "kept", "--yes-prepare") // what had a way out is not used without it
}
