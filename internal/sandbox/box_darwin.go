package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/room"
)

// seatbeltPath is the program that starts others under a profile. Apple calls it
// deprecated; browsers and build tools go on using it.
const seatbeltPath = "/usr/bin/sandbox-exec"

// Box enforces rooms with a Seatbelt profile for each command, or without one.
type Box struct{ confined bool }

// NewUnconfined is [Unconfined] with options, of which none matters here.
func NewUnconfined(Options) *Box { return &Box{} }

// New is [Probe] with options, of which none matters here.
func New(ctx context.Context, _ Options) (*Box, error) {
	if _, err := os.Stat(seatbeltPath); err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %w", err).
			WithHint("pass --unsandboxed to run commands without a sandbox")
	}
	b := &Box{confined: true}
	if err := b.probe(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// probe runs a command that must work under a profile and must not write outside.
func (b *Box) probe(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "pawl-probe-")
	if err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	dir := filepath.Join(folder, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("probe the sandbox: %w", err)
	}
	r := &profiledRoom{b, &room.Description{Name: "probe", Dir: dir, Writable: []string{dir}, Environ: []string{"PATH=/usr/bin:/bin"}}}
	result, err := r.Run(ctx, pawl.Command{Shell: `: > ../outside && exit 8; : > inside && exit 7`, Timeout: 10 * time.Second})
	if err == nil && result.ExitCode != 7 {
		err = fmt.Errorf("exit code %d: %s", result.ExitCode, result.Output)
	}
	if err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "no sandbox: %s does not work here: %w", seatbeltPath, err).
			WithHint("pass --unsandboxed to run commands without a sandbox")
	}
	return nil
}

// Confined implements [room.Enforcer].
func (b *Box) Confined() bool { return b.confined }

// Helper says in one line which program stands around commands.
func (b *Box) Helper() string { return "pawl itself" }

// Mounts implements [room.Enforcer].
func (b *Box) Mounts() bool { return false }

// Owner implements [room.Enforcer].
func (b *Box) Owner() pawl.Owner { return pawl.Owner{} }

// Relay implements [room.Enforcer].
func (b *Box) Relay() ([]string, error) { return relayBy("") }

// Describe implements [room.Enforcer].
func (b *Box) Describe() string {
	if !b.confined {
		return unconfined
	}
	return "Seatbelt: reads programs and the room's own folders, writes only to these, no network but loopback; nothing limits memory, processes or disk space"
}

// Overlay implements [room.Enforcer]. There is none on macOS.
func (b *Box) Overlay(string) bool { return false }

// Open implements [room.Enforcer].
func (b *Box) Open(d *room.Description) (room.Opened, error) { return &profiledRoom{b, d}, nil }

// profiledRoom is a room whose commands run in the folders where they are.
type profiledRoom struct {
	box *Box
	d   *room.Description
}

// Run implements [room.Opened].
func (r *profiledRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if err := check(&cmd); err != nil {
		return pawl.CommandResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	argv := shell(cmd)
	if r.box.confined {
		argv = append([]string{seatbeltPath, "-p", seatbelt(r.d)}, argv...)
	}
	out := newCapture(&cmd)
	input, endInput, err := openInput(cmd.Input)
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	defer endInput()
	g := &processGroup{cmd: exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...), ended: make(chan struct{})}
	g.cmd.Dir, g.cmd.Env = r.d.Dir, r.d.Variables(cmd.Env)
	if input != nil {
		g.cmd.Stdin = input
	}
	theirs, err := g.outputs.pipes(stream{out, true}, stream{out, false})
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	g.cmd.Stdout, g.cmd.Stderr = theirs[0], theirs[1]
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = g.cmd.Start()
	closeAll(theirs)
	if err != nil {
		g.outputs.end(0)
		return pawl.CommandResult{}, pawl.Errorf(pawl.CodeUnavailable, "run command: %w", err)
	}
	go g.wait()
	return runToEnd(ctx, g, cmd, out, nil)
}

// Reach implements [room.Opened].
func (r *profiledRoom) Reach(path string) (string, error) { return path, nil }

// Close implements [room.Opened].
func (r *profiledRoom) Close() error { return nil }

// processGroup is a command and what it started, as far as that stayed in its process
// group. It implements [running].
type processGroup struct {
	cmd     *exec.Cmd
	outputs outputs
	ended   chan struct{}

	mu  sync.Mutex // guards err
	err error
}

func (g *processGroup) wait() {
	err := g.cmd.Wait()
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	g.outputs.end(drainDelay)
	g.mu.Lock()
	g.err = err
	g.mu.Unlock()
	close(g.ended)
}

func (g *processGroup) exited() <-chan struct{} { return g.ended }

func (g *processGroup) terminate(time.Duration) bool {
	return syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) == nil
}

func (g *processGroup) kill() { _ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }

func (g *processGroup) result() (code int, finished bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := errors.AsType[*exec.ExitError](g.err); g.err != nil && !ok {
		return 0, false, g.err
	}
	code = g.cmd.ProcessState.ExitCode()
	return code, code >= 0, nil
}

// Join implements [room.Enforcer].
func (b *Box) Join(*room.Description) (room.Held, error) { return nil, errors.ErrUnsupported }
