package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
)

// probeTimeout is how long the probe may take; it takes some 10 ms.
const probeTimeout = 10 * time.Second

// Probe returns a sandbox in which bubblewrap confines commands. The error says
// exactly why that is not possible here and what to do; it is for the caller to
// decide whether to go on with [Unconfined]. There is no silent fallback.
func Probe(ctx context.Context) (pawl.Sandbox, error) { return New(ctx, Options{}) }

// New is [Probe] with options.
func New(ctx context.Context, opts Options) (pawl.Sandbox, error) {
	closeInherited()
	b := newBox(opts)
	b.bwrap = opts.Bubblewrap
	if b.bwrap == "" {
		found, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: bubblewrap (bwrap) is not installed").
				WithHint("install it (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap), or pass --unsandboxed to run commands without a sandbox")
		}
		b.bwrap = found
	}
	version := exec.CommandContext(ctx, b.bwrap, "--version")
	version.Env = []string{}
	text, err := version.Output()
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s --version: %w", b.bwrap, err).
			WithHint("install bubblewrap again, or pass --unsandboxed to run commands without a sandbox")
	}
	b.version = strings.TrimSpace(string(text))
	if err := b.probe(ctx); err != nil {
		return nil, err
	}
	return &b, nil
}

// probe runs a command that must work inside and must not see a file outside:
// user namespaces may be refused, and a kernel in a container can be anything.
func (b *box) probe(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "pawl-probe-")
	if err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	dir, temp := filepath.Join(folder, "dir"), filepath.Join(folder, "temp")
	outside := filepath.Join(folder, "outside")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(temp, 0o700), os.WriteFile(outside, nil, 0o600)); err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	result, err := b.Run(ctx, pawl.Command{
		Shell:   `test -e "$OUTSIDE" && exit 8; : > inside && exit 7`,
		Env:     []string{"OUTSIDE=" + outside},
		Dir:     dir,
		Temp:    temp,
		Timeout: probeTimeout,
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("probe the sandbox: %w", ctx.Err())
	case err != nil:
		return pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s is there and does not work here: %w", b.version, err).
			WithHint("%s", namespaceHint(err.Error()))
	case result.ExitCode != 7:
		return pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s is there and does not confine here: exit code %d, %s",
			b.version, result.ExitCode, strings.TrimSpace(string(result.Output))).
			WithHint("pass --unsandboxed to run commands without a sandbox")
	}
	return nil
}

// namespaceHint says what to do about the usual reasons why bubblewrap cannot work.
func namespaceHint(message string) string {
	const instead = "or pass --unsandboxed to run commands without a sandbox"
	for _, sign := range []string{"namespace", "uid map", "RTM_NEWADDR", "Operation not permitted", "Permission denied"} {
		if strings.Contains(message, sign) {
			return "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu 24.04 and later " +
				"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap; in a container, its seccomp profile must allow them), " + instead
		}
	}
	return "see the message, " + instead
}

// bubblewrapped is the owner of a confined command. Its options go through a
// descriptor, so that they are not in the process list and have no length
// limit, and bwrap itself starts with an empty environment: a variable of the
// command cannot act on bwrap.
func (b *box) bubblewrapped(cmd pawl.Command) (*owner, error) {
	mounts, err := b.mounts(cmd)
	if err != nil {
		return nil, err
	}
	options := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--json-status-fd", "3",
	}
	if cmd.Network {
		options = append(options, "--share-net")
	}
	for _, m := range mounts {
		options = append(options, m.args()...)
	}
	for _, v := range b.host.commandEnviron(cmd) {
		name, value, _ := strings.Cut(v, "=")
		options = append(options, "--setenv", name, value)
	}
	options = append(options, "--remount-ro", "/", "--chdir", cmd.Dir)
	file, err := memoryFile("bwrap-options", strings.Join(options, "\x00")+"\x00")
	if err != nil {
		return nil, fmt.Errorf("run command: %w", err)
	}
	return &owner{
		program: b.program,
		argv:    append([]string{b.name, SuperviseWord, superviseBwrap, b.bwrap, "--args", "4", "--"}, shell(cmd)...),
		env:     []string{supervisedMark + "=1"},
		dir:     "/",
		files:   []*os.File{file},
	}, nil
}

// memoryFile is a file without a name, at its start.
func memoryFile(name, content string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.WriteAt([]byte(content), 0); err != nil {
		file.Close()
		return nil, fmt.Errorf("write a file in memory: %w", err)
	}
	return file, nil
}
