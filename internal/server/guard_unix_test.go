//go:build unix

package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl"
)

// Another user is refused even where the modes would let them in. Root is another user.
func TestOtherUser(t *testing.T) {
	const other = 12345
	if socket := os.Getenv("PAWL_TEST_SOCKET"); socket != "" { // in the other user's process
		conn, err := net.Dial("unix", socket)
		if err != nil {
			fmt.Println("no connection:", err)
			return
		}
		_, _ = io.WriteString(conn, "GET /v1/daemon HTTP/1.1\r\nHost: pawl\r\n\r\n")
		answer, _ := io.ReadAll(io.LimitReader(conn, 12))
		fmt.Printf("answer: %q\n", answer)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	b := newDaemonBed(t, nil)
	program := filepath.Join(mustTemp(t), "test")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(program), filepath.Dir(filepath.Dir(b.socket)), filepath.Dir(b.socket), b.socket} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.run=^TestOtherUser$")
	cmd.Env = []string{"PAWL_TEST_SOCKET=" + b.socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `answer: ""`) {
		t.Errorf("it was told %s: %v", out, err)
	}
	var about pawl.DaemonInfo
	b.mustAsk(http.MethodGet, "/v1/daemon", "", &about)
}
