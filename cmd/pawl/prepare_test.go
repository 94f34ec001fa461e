//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Commands that a repository wants to run before its gates need consent, however the
// daemon is asked for a run. The daemon remembers it.
func TestPrepareInTheDaemon(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	dir, model := y.repo("shop"), y.script("s.yaml", quickScript)
	mustWrite(t, filepath.Join(y.home, "config", "pawl", "config.yaml"),
		strings.ReplaceAll("sandbox: off\nmodels: {fast: MODEL, medium: MODEL, large: MODEL}\n", "MODEL", model))
	mustWrite(t, filepath.Join(dir, ".pawl/config.yaml"), "prepare: [touch ready]\n")
	y.serve()
	args := []string{"--gate", "tests=test -e ready"}

	refused := y.begin(dir, args...)
	_ = refused.end()
	if code := refused.cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(refused.text(), `run before its gates: "touch ready"`) {
		t.Errorf("exit code %d\n%s", code, refused.text())
	}

	conn, err := net.Dial("unix", y.status().Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for i, request := range []string{`"connect","params":{"version":"1","dir":"` + dir + `"}`, `"loop.create_plan","params":{"description":"Add a till"}`} {
		if _, err := fmt.Fprintf(conn, `{"id":%d,"method":%s}`+"\n", i, request); err != nil {
			t.Fatal(err)
		}
		answer, err := in.ReadString('\n')
		if want := `"code":1002`; err != nil || strings.Contains(answer, want) != (i == 1) || i == 1 && !strings.Contains(answer, "touch ready") {
			t.Errorf("%s is answered with %s, %v", request, answer, err)
		}
	}

	for _, more := range [][]string{{"--yes-prepare"}, nil} {
		client := y.begin(dir, append(more, args...)...)
		if err := client.end(); err != nil {
			t.Errorf("with %q: %v\n%s", more, err, client.text())
		}
	}
	if got := y.outcomes(dir); len(got) != 2 {
		t.Errorf("the runs are %q, want two", got)
	}
}
