package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// manager is a stand-in for systemctl: start begins what the unit says, with its variables
// and a shell's rules for words, which agree with systemd's for these, and returns when a run
// goes on.
const manager = `#!/bin/sh
test "$2" = start || exit 0
unit="$XDG_CONFIG_HOME/systemd/user/$3"
export $(/usr/bin/sed -n 's/^Environment="\(.*\)"$/\1/p' "$unit")
sh -c "exec $(/usr/bin/sed -n 's/^ExecStart=//p' "$unit")" < /dev/null > "$HOME/unit.out" 2>&1 &
until /usr/bin/grep -qs 'is running' "$HOME/state/pawl/daemon.log"; do /usr/bin/sleep 0.05; done
`

// After a reboot the service takes up what was interrupted, when nobody has asked for anything. F-29
func TestServiceGoesOnAfterAReboot(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	tools := filepath.Join(y.home, "tools")
	mustWrite(t, filepath.Join(tools, "systemctl"), manager)
	if err := os.Chmod(filepath.Join(tools, "systemctl"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, begun := y.serve(), y.fifo("begun")
	dir := y.repo("repo")
	c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", waitScript))
	hear(t, begun, 1, d)
	plain := y.env
	y.env = append(slices.Clone(plain), plain[0]+":"+tools, "OPENAI_API_KEY=sk-secret")
	if out := y.must(y.home, "serve", "--install"); !strings.Contains(out, "a daemon is running and stays") || !strings.Contains(out, "loginctl enable-linger") {
		t.Errorf("while a daemon serves:\n%s", out)
	}
	for _, p := range []*process{c, d} {
		p.signal(syscall.SIGKILL)
		_ = p.end()
	}
	mustWrite(t, filepath.Join(y.home, "go"), "")

	out := y.must(y.home, "serve", "--install")
	file := filepath.Join(y.home, "config", "systemd", "user", "pawl.service")
	if !strings.Contains(out, "installed "+file) || !strings.Contains(out, "the daemon is started") {
		t.Errorf("%s", out)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "secret") || !strings.Contains(string(text), `"XDG_STATE_HOME=`) {
		t.Errorf("%v\n%s", err, text)
	}
	y.env = plain
	y.must(dir, "logs", "-f") // it starts no daemon
	if got := y.outcomes(dir); len(got) != 1 || got[0] != "ended complete" {
		t.Errorf("%q", got)
	}
	y.env = append(slices.Clone(plain), "PATH="+tools)
	if out := y.must(y.home, "serve", "--uninstall"); !strings.Contains(out, "removed "+file) {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it is still installed")
	}
	if out := y.must(y.home, "serve", "--uninstall"); !strings.Contains(out, "no service is installed") {
		t.Errorf("%s", out)
	}
}
