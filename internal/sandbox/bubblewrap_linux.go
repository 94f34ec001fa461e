package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/confine"
	"pawl/internal/sandbox/helper"
)

// probeTimeout is how long the probe may take; it takes some 20 ms.
const probeTimeout = 10 * time.Second

// New is [Probe] with options.
func New(ctx context.Context, opts Options) (*Box, error) {
	helper.CloseInherited()
	b := &Box{overlays: !opts.NoOverlay, joins: make(map[string]bool)}
	path := opts.Bubblewrap
	if path == "" {
		found, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: bubblewrap (bwrap) is not installed").
				WithHint("install it (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap), or pass --unsandboxed to run commands without a sandbox")
		}
		path = found
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find bubblewrap: %w", err)
	}
	version := exec.CommandContext(ctx, path, "--version")
	version.Env = []string{}
	text, err := version.Output()
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s --version: %w", path, err).
			WithHint("install bubblewrap again, or pass --unsandboxed to run commands without a sandbox")
	}
	b.bwrap, b.version = path, strings.TrimSpace(string(text))
	b.chooseProgram(ctx, opts)
	if opts.Wide {
		b.profile = confine.Wide
	}
	if os.Geteuid() == 0 {
		if b.uid, err = chooseUID(opts.UID); err != nil {
			return nil, err
		}
	}
	// Without a filter of system calls too much of the kernel is open.
	b.missing = confine.Missing(confine.Spec{Profile: b.profile})
	if slices.Contains(b.missing, confine.Seccomp) {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: this kernel or processor has no filter of system calls (seccomp)").
			WithHint("pass --unsandboxed to run commands without a sandbox")
	}
	if groups := cgroup.Probe(); len(groups.Missing(cgroup.Limits{Processes: 1, Memory: 1})) == 0 {
		b.groups = groups
		if _, err := groups.RemoveLeftovers(); err != nil {
			return nil, fmt.Errorf("remove the control groups of a process that died: %w", err)
		}
	}
	if err := b.probe(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// installedHelper is the small program beside this one, if it fits this one.
func installedHelper(ctx context.Context) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	program := filepath.Join(filepath.Dir(self), "pawl-helper")
	if _, err := os.Stat(program); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, helper.ProtocolWord)
	cmd.Env = []string{}
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != helper.Protocol {
		return ""
	}
	return program
}

// chooseUID returns the user id that commands run as. One that has an account is refused:
// whatever got out of a room would have that account's rights.
func chooseUID(wanted int) (int, error) {
	if wanted == 0 {
		return freeUID(), nil
	}
	if account, err := user.LookupId(strconv.Itoa(wanted)); err == nil {
		return 0, pawl.Errorf(pawl.CodeInvalid, "sandbox.uid: %d is the user id of the account %s, whose rights commands would have", wanted, account.Username).
			WithHint("set sandbox.uid to a user id without an account, or leave it out")
	}
	return wanted, nil
}

// freeUID is the first user id from DefaultUID on that no account has.
func freeUID() int {
	uid := DefaultUID
	for range 1000 {
		if _, err := user.LookupId(strconv.Itoa(uid)); err != nil {
			break
		}
		uid++
	}
	return uid
}

// probe runs a command that must work inside and must not see a file outside:
// user namespaces may be refused, and a kernel in a container can be anything.
func (b *Box) probe(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "pawl-probe-")
	if err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	dir, outside := filepath.Join(folder, "dir"), filepath.Join(folder, "outside")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(outside, nil, 0o600)); err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	if err := b.give(dir); err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	opened, err := b.Open(room.Probing(dir))
	if err != nil {
		return err
	}
	result, err := opened.Run(ctx, pawl.Command{
		Shell: `test -e "$OUTSIDE" && exit 8; : > inside && exit 7`, Env: []string{"OUTSIDE=" + outside}, Timeout: probeTimeout,
	})
	err = errors.Join(err, opened.Close())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("probe the sandbox: %w", ctx.Err())
	case err != nil:
		return pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s is installed but does not work here: %w", b.version, err).
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
	for _, sign := range []string{"namespace", "uid map", "RTM_NEWADDR", "peration not permitted", "ermission denied"} {
		if strings.Contains(message, sign) {
			return "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1 and a user.max_user_namespaces above 0; on Ubuntu 24.04 and later " +
				"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for pawl and bwrap; in a container, its seccomp profile must allow them), " + instead
		}
	}
	return "see the message, " + instead
}
