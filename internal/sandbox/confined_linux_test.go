package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
)

func TestConfinedWrites(t *testing.T) {
	box := MustConfined(t)
	outside := t.TempDir()
	home := t.TempDir()
	t.Setenv("HOME", home)
	tests := []struct {
		name, path string
		want       string // written, refused, or private: written and gone with the command
	}{
		{"Dir", "$PWD/x", "written"},
		{"DeepInDir", "$PWD/sub/x", "written"},
		{"HomeOfRoom", "$HOME/x", "private"},
		{"BesideDir", "$PWD/../x", "refused"},
		{"SharedTemp", "/tmp/pawl-sandbox-test", "private"},
		{"SharedMemory", "/dev/shm/pawl-sandbox-test", "private"},
		{"Outside", outside + "/x", "refused"},
		{"Home", home + "/x", "refused"},
		{"Root", "/x", "refused"},
		{"Etc", "/etc/x", "refused"},
		{"Usr", "/usr/x", "refused"},
		{"Passwd", "/etc/passwd", "refused"},
		{"KernelSettings", "/proc/sys/kernel/core_pattern", "refused"},
		{"Git", "$PWD/.git/x", "refused"},
		{"GitConfig", "$PWD/.git/config", "refused"},
	}
	folder := MustFolder(t, box)
	dir := filepath.Join(folder, "dir")
	MustMkdir(t, filepath.Join(dir, ".git"))
	MustWrite(t, filepath.Join(dir, ".git", "config"), "[core]\n")
	for _, path := range []string{".git", ".git/config"} { // it is the mount that protects them
		MustGive(t, box, filepath.Join(dir, path))
	}
	rooms := newRooms(box, folder)
	defer rooms.Close()
	r := MustAgent(t, rooms, dir)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := MustRun(t, r, pawl.Command{Shell: fmt.Sprintf(`mkdir -p sub; : >> "%s"`, test.path)})
			path := os.Expand(test.path, func(name string) string { return map[string]string{"PWD": dir, "HOME": "/home/pawl"}[name] })
			got := "refused"
			if result.ExitCode == 0 {
				got = "private"
				if _, err := os.Stat(path); err == nil {
					got = "written"
				}
			}
			if got != test.want {
				t.Errorf("writing %s: %s, want %s: %s", path, got, test.want, result.Output)
			}
		})
	}
}

// A room has the devices that programs expect and terminals of its own, and no other
// device can be opened anywhere in it.
func TestConfinedDevices(t *testing.T) {
	r := MustRoom(t, MustConfined(t))
	for _, test := range []struct{ name, shell, want string }{
		{"List", "echo $(ls /dev)", "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"},
		{"Use", "head -c 3 /dev/zero | tee /dev/null | wc -c", "3"},
		{"OwnTerminals", "exec 3<>/dev/ptmx && echo $(ls /dev/pts)", "0 ptmx"},
		{"NoTerminal", "(exec 3<>/dev/tty) || echo none", "none"},
		{"Make", "(: > /dev/new) || echo refused", "refused"},
		{"Remove", "rm -f /dev/null || echo refused", "refused"},
		{"MemoryOfOneCommand", "echo $(ls -A /dev/shm); : > /dev/shm/x", ""},
		{"MemoryOfTheNext", "echo $(ls -A /dev/shm)", "x"}, // it is the room's, as the temporary folder is
		{"MountsWithDevices", `awk '$6 !~ /nodev/ && $5 !~ "^/dev/" {print $5}' /proc/self/mountinfo`, ""},
		{"MountsWithOwners", `awk '$6 !~ /nosuid/ {print $5}' /proc/self/mountinfo`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := MustRun(t, r, pawl.Command{Shell: test.shell})
			if got := strings.TrimSpace(string(result.Stdout)); got != test.want {
				t.Errorf("%s: %q, want %q", test.shell, got, test.want)
			}
		})
	}
}

func TestConfinedGitFile(t *testing.T) {
	box := MustConfined(t)
	for name, shell := range map[string]string{
		"Write":  "echo 'gitdir: /elsewhere' > .git",
		"Remove": "rm -f .git && test ! -e .git",
		"Move":   "mv .git git",
		"Cover":  "echo x > other && mv -f other .git",
	} {
		t.Run(name, func(t *testing.T) {
			folder := MustFolder(t, box)
			file := filepath.Join(folder, "dir", ".git")
			MustWrite(t, file, "gitdir: /somewhere\n")
			MustGive(t, box, file)
			rooms := newRooms(box, folder)
			defer rooms.Close()
			if result := MustRun(t, MustAgent(t, rooms, filepath.Join(folder, "dir")), pawl.Command{Shell: shell}); result.ExitCode == 0 {
				t.Errorf("%s succeeded", shell)
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "gitdir: /somewhere\n" {
				t.Errorf(".git is now %q, %v", text, err)
			}
		})
	}
	t.Run("Link", func(t *testing.T) {
		folder := MustFolder(t, box)
		dir := filepath.Join(folder, "dir")
		if err := os.Symlink("elsewhere", filepath.Join(dir, ".git")); err != nil {
			t.Fatal(err)
		}
		rooms := newRooms(box, folder)
		defer rooms.Close()
		if _, err := rooms.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: dir}); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("error %v, want one about the link", err)
		}
	})
}

func TestConfinedSees(t *testing.T) {
	box := MustConfined(t)
	visible, hidden := t.TempDir(), t.TempDir()
	MustWrite(t, filepath.Join(visible, "file"), "x")
	MustWrite(t, filepath.Join(hidden, "file"), "x")
	folder := MustFolder(t, box)
	rooms := newRooms(box, folder, visible)
	defer rooms.Close()
	cmd := pawl.Command{Shell: fmt.Sprintf("test -e %[1]s/file && ! touch %[1]s/new && test ! -e %[2]s", visible, hidden)}
	if result := MustRun(t, MustAgent(t, rooms, filepath.Join(folder, "dir")), cmd); result.ExitCode != 0 {
		t.Errorf("got %+v with output %s", result, result.Output)
	}
}

// The user's home is out of sight but for toolchains, and keys in every case.
func TestConfinedHome(t *testing.T) {
	home := t.TempDir()
	for _, file := range []string{".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".git-credentials",
		".cargo/credentials.toml", ".cargo/bin/tool", ".rustup/settings.toml", "project/.env", "go/pkg/mod/cache/x", "bin/tool"} {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		MustWrite(t, path, "#!/bin/sh\necho secret\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	box := MustConfined(t)
	folder := MustFolder(t, box)
	host := room.NewHost([]string{"PATH=" + home + "/bin:" + home + "/.cargo/bin:" + home + "/.ssh:" + home + ":/usr/bin:/bin"}, home)
	rooms := room.New(room.Options{
		State: filepath.Join(folder, "state"), Enforcer: box, Visible: func(string) []string { return nil },
		Host: func(context.Context) room.Host { return host },
	})
	defer rooms.Close()
	result := MustRun(t, MustAgent(t, rooms, filepath.Join(folder, "dir")),
		pawl.Command{Shell: "find " + home + " -type f | sort; env | grep -E '^(RUSTUP_HOME|GOMODCACHE)=' | sort"})
	want := strings.ReplaceAll(`~/.cargo/bin/tool
~/.rustup/settings.toml
~/bin/tool
~/go/pkg/mod/cache/x
GOMODCACHE=~/go/pkg/mod
RUSTUP_HOME=~/.rustup
`, "~", home)
	if got := string(result.Output); got != want {
		t.Errorf("a command sees\n%s, want\n%s", got, want)
	}
}

func TestConfinedLoopbackWorks(t *testing.T) {
	box := MustConfined(t)
	result := MustRun(t, MustRoom(t, box), pawl.Command{Shell: "cat /proc/net/dev | grep -c :"})
	if strings.TrimSpace(string(result.Output)) != "1" {
		t.Errorf("there are %s interfaces, want loopback alone", result.Output)
	}
}

func TestConfinedProcesses(t *testing.T) {
	box := MustConfined(t)
	result := MustRun(t, MustRoom(t, box), pawl.Command{Shell: "echo /proc/[0-9]*; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status"})
	if strings.Contains(string(result.Output), fmt.Sprintf("/proc/%d", os.Getpid())) && os.Getpid() > 100 {
		t.Errorf("processes outside are seen: %s", result.Output)
	}
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(result.Output), want) {
			t.Errorf("%q is missing: %s", want, result.Output)
		}
	}
}

func TestConfinedGo(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library")
	}
	box := MustConfined(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not on PATH")
	}
	folder := MustFolder(t, box)
	dir := filepath.Join(folder, "dir")
	MustWrite(t, filepath.Join(dir, "go.mod"), "module hello\n\ngo 1.21\n")
	MustWrite(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	MustWrite(t, filepath.Join(dir, ".git"), "gitdir: /not/visible\n") // go build must not stumble over it
	rooms := newRooms(box, folder)
	defer rooms.Close()
	cmd := pawl.Command{Shell: "go version && go build -o $HOME/hello . && $HOME/hello"}
	if result := MustRun(t, MustAgent(t, rooms, dir), cmd); result.ExitCode != 0 || !strings.HasSuffix(string(result.Output), "\nhello\n") {
		t.Errorf("got %+v with output %s", result, result.Output)
	}
}

func TestProbeErrors(t *testing.T) {
	t.Run("NotInstalled", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := sandbox.Probe(t.Context())
		checkUnavailable(t, err, "not installed", "apt install bubblewrap")
	})
	t.Run("NamespacesRefused", func(t *testing.T) {
		MustNamespace(t)
		fake := filepath.Join(t.TempDir(), "bwrap")
		MustWrite(t, fake, "#!/bin/sh\n[ \"$1\" = --version ] && echo 'bubblewrap 9' && exit\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
		if err := os.Chmod(fake, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := sandbox.New(t.Context(), sandbox.Options{Bubblewrap: fake})
		checkUnavailable(t, err, "No permissions to create new namespace", "kernel.unprivileged_userns_clone")
	})
	t.Run("DoesNotConfine", func(t *testing.T) {
		MustNamespace(t)
		fake := filepath.Join(t.TempDir(), "bwrap")
		MustWrite(t, fake, "#!/bin/sh\n[ \"$1\" = --version ] && echo 'bubblewrap 9' && exit\necho '{\"child-pid\": 0, \"exit-code\": 8}' >&3\n")
		if err := os.Chmod(fake, 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := sandbox.New(t.Context(), sandbox.Options{Bubblewrap: fake})
		checkUnavailable(t, err, "does not confine", "--unsandboxed")
	})
	t.Run("ContextEnded", func(t *testing.T) {
		MustConfined(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sandbox.Probe(ctx); err == nil {
			t.Error("no error")
		}
	})
}

// MustNamespace skips where no process can have namespaces of its own: there bubblewrap
// is never started.
func MustNamespace(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	if err := cmd.Run(); err != nil {
		tb.Skipf("no process can have namespaces of its own here: %v", err)
	}
}

func checkUnavailable(t *testing.T, err error, message, hint string) {
	t.Helper()
	problem, ok := errors.AsType[*pawl.Error](err)
	if !ok || problem.Code != pawl.CodeUnavailable {
		t.Fatalf("error %v, want an unavailable one", err)
	}
	if !strings.Contains(problem.Message, message) {
		t.Errorf("message %q does not say %q", problem.Message, message)
	}
	if !strings.Contains(problem.Hint, hint) || !strings.Contains(problem.Hint, "--unsandboxed") {
		t.Errorf("hint %q does not say %q and --unsandboxed", problem.Hint, hint)
	}
}

func TestDescribe(t *testing.T) {
	if box := sandbox.Unconfined(); box.Confined() || !strings.HasPrefix(box.Describe(), "none: ") {
		t.Errorf("unconfined: %v, %s", box.Confined(), box.Describe())
	}
	box := MustConfined(t)
	if !box.Confined() || !strings.HasPrefix(box.Describe(), "bubblewrap ") {
		t.Errorf("confined: %v, %s", box.Confined(), box.Describe())
	}
	if root := os.Geteuid() == 0; root != strings.Contains(box.Describe(), "commands run as user") {
		t.Errorf("Pawl runs as root: %v, described as %s", root, box.Describe())
	}
}

// MustCheckout makes a clean checkout in the state folder of newRooms.
func MustCheckout(tb testing.TB, box *sandbox.Box, folder string) string {
	tb.Helper()
	tree := filepath.Join(folder, "state", "checkouts", "c0")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		tb.Fatal(err)
	}
	MustGive(tb, box, tree)
	return tree
}

// MustWrite writes a file.
func MustWrite(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// MustBash is the path of bash, which can connect without a further program.
func MustBash(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		tb.Skip("bash is not installed")
	}
	return path
}
