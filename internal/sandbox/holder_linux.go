package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/confine"
	"pawl/internal/sandbox/helper"
)

// stage is where holders put rooms together, in mount namespaces of their own. The
// folder is on every machine, and neither our git nor bubblewrap needs what is in it.
const stage = "/sys"

// heldRoom is a confined room. Its holder is started by the first command, and
// again when it died: what was written is in the room's folders.
type heldRoom struct {
	box *Box
	d   *room.Description

	mu     sync.Mutex // guards what follows; held while the holder is started
	holder *holder
	disk   *diskWatch // from the first holder on
	closed bool
}

// Run implements [room.Opened].
func (r *heldRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	if err := check(&cmd); err != nil {
		return pawl.CommandResult{}, err
	}
	if err := ctx.Err(); err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	h, err := r.open(ctx)
	if err != nil {
		return pawl.CommandResult{}, err
	}
	out := newCapture(cmd.Keep, cmd.Progress)
	p, err := h.command(r.d, cmd, out)
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	before := h.met()
	result, err := runToEnd(ctx, p, cmd, out, h.disk)
	for i := range result.Met {
		if result.Met[i].Resource == pawl.ResourceFileSize {
			result.Met[i].Max = r.box.limits.FileSize
		}
	}
	after := h.met()
	if after.Processes > before.Processes {
		result.Met = append(result.Met, pawl.ResourceMet{Resource: pawl.ResourceProcesses, Max: r.box.limits.Processes})
	}
	if after.Memory > before.Memory {
		result.Met = append(result.Met, pawl.ResourceMet{Resource: pawl.ResourceMemory, Max: r.box.limits.Memory})
	}
	return result, err
}

// Reach implements [room.Opened].
func (r *heldRoom) Reach(path string) (string, error) {
	h, err := r.open(context.Background())
	if err != nil {
		return "", err
	}
	return filepath.Join(h.root(), path), nil
}

// Close implements [room.Opened].
func (r *heldRoom) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.holder != nil {
		r.holder.close()
	}
	return nil
}

// open returns the room's holder.
func (r *heldRoom) open(ctx context.Context) (*holder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return nil, pawl.Errorf(pawl.CodeState, "the room %s is closed", r.d.Name)
	case r.holder != nil && r.holder.alive():
		return r.holder, nil
	case r.holder != nil:
		r.holder.close()
	}
	var err error
	if r.disk == nil {
		r.disk = watchDisk(r.d.OnDisk(), r.box.limits)
	}
	r.holder, err = r.box.hold(ctx, r.box.composition(r.d))
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "open the room %s: %w", r.d.Name, err)
	}
	r.holder.disk = r.disk
	return r.holder, nil
}

// composition is a room as its holder puts it together.
func (b *Box) composition(d *room.Description) *helper.Room {
	out := &helper.Room{
		Stage: stage, Bwrap: b.bwrap, Links: d.Links, Files: d.Files, UID: b.uid, GID: b.uid, Network: d.Network,
	}
	for i := range d.Mounts {
		m := &d.Mounts[i]
		to := helper.Mount{Path: m.Path, Source: m.Source, ReadOnly: m.ReadOnly, Size: m.Size, Inodes: m.Inodes}
		for _, l := range m.Lower {
			to.Lower = append(to.Lower, l.Dir())
		}
		if len(m.Lower) > 0 && !m.Upper.IsZero() {
			to.Upper, to.Work = m.Upper.Files(), m.Upper.Work()
		}
		out.Mounts = append(out.Mounts, to)
	}
	return out
}

// holder is a holder as its starter has it.
type holder struct {
	box    *Box
	cmd    *exec.Cmd
	group  *cgroup.Group // nil where there are no control groups
	disk   *diskWatch
	socket *net.UnixConn
	errors *bounded
	gone   chan struct{} // closed when it has ended

	mu        sync.Mutex // guards what follows
	next      uint64
	processes map[uint64]*process
	isGone    bool
}

// holdLimit is how long a holder may take to put its room together.
const holdLimit = time.Minute

// hold starts a holder and waits until its room is there.
func (b *Box) hold(ctx context.Context, r *helper.Room) (*holder, error) {
	content, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	description, err := memoryFile("pawl-room", content)
	if err != nil {
		return nil, err
	}
	defer description.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "holder")
	ours := os.NewFile(uintptr(pair[0]), "holder")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		theirs.Close()
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	h := &holder{box: b, socket: conn.(*net.UnixConn), errors: &bounded{limit: 4096}, gone: make(chan struct{}), processes: make(map[uint64]*process)}
	h.cmd = exec.CommandContext(context.WithoutCancel(ctx), b.program)
	h.cmd.Args = []string{b.name, helper.HoldWord}
	h.cmd.Env = []string{}
	h.cmd.Dir = "/"
	h.cmd.Stderr = h.errors
	h.cmd.ExtraFiles = []*os.File{theirs, description}
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if !r.Network {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	if os.Geteuid() != 0 {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		h.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		h.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err = h.cmd.Start()
	theirs.Close() // so that the socket ends with the holder
	if err != nil {
		_ = h.socket.Close()
		return nil, fmt.Errorf("start a namespace: %w", err)
	}
	ready := make(chan helper.Answer, 1)
	go h.listen(ready)
	// It starts no command before it was told to, so all of them are in the group.
	if h.group, err = b.limit(h.cmd.Process.Pid); err != nil {
		h.close()
		return nil, err
	}
	timer := time.NewTimer(holdLimit)
	defer timer.Stop()
	select {
	case answer, ok := <-ready:
		if ok && answer.Error == "" {
			return h, nil
		}
		err = errors.New(answer.Error)
	case <-timer.C:
		err = fmt.Errorf("it was not put together within %s", holdLimit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.close()
	if text := strings.TrimSpace(h.errors.String()); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return nil, err
}

// root is the path by which this process reaches the room's root.
func (h *holder) root() string {
	return filepath.Join("/proc", strconv.Itoa(h.cmd.Process.Pid), "root", stage, helper.Root)
}

// met counts how often the room has met the limits of its control group.
func (h *holder) met() cgroup.Met {
	if h.group == nil {
		return cgroup.Met{}
	}
	met, _ := h.group.Met() // a group that is gone has met nothing more
	return met
}

// alive reports whether the holder has not ended.
func (h *holder) alive() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.isGone
}

// close ends the holder and with it everything in its namespace, and waits for that.
func (h *holder) close() {
	_ = h.cmd.Process.Kill() // one that has ended is as good
	<-h.gone
	if h.group != nil {
		_ = h.group.Close() // what stays is removed by the next process
	}
}

// listen receives answers until the holder ends. The first one goes to ready.
func (h *holder) listen(ready chan<- helper.Answer) {
	packet := make([]byte, 64<<10)
	for first := true; ; first = false {
		n, err := h.socket.Read(packet)
		var answer helper.Answer
		if err != nil || n == 0 || json.Unmarshal(packet[:n], &answer) != nil {
			break
		}
		if first {
			ready <- answer
			continue
		}
		h.mu.Lock()
		p := h.processes[answer.ID]
		delete(h.processes, answer.ID)
		h.mu.Unlock()
		if p != nil {
			p.finish(answer, nil)
		}
	}
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait() // the error says that it was killed
	close(ready)
	h.mu.Lock()
	h.isGone = true
	left := h.processes
	h.processes = nil
	h.mu.Unlock()
	_ = h.socket.Close()
	for _, p := range left {
		p.finish(helper.Answer{}, pawl.Errorf(pawl.CodeUnavailable, "the process that holds the room ended"))
	}
	close(h.gone)
}

// command starts a command in the room. Bubblewrap's options go through a descriptor,
// so that they are not in the process list and have no length limit, and bwrap
// itself starts with an empty environment: a variable of the command cannot act on it.
func (h *holder) command(d *room.Description, cmd pawl.Command, out *capture) (*process, error) {
	options := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--new-session", "--cap-drop", "ALL", "--json-status-fd", "3",
		"--uid", strconv.Itoa(room.UID), "--gid", strconv.Itoa(room.GID), "--hostname", "pawl",
		"--bind", filepath.Join(stage, helper.Root), "/",
		"--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--tmpfs", "/dev/shm",
	}
	for _, v := range d.Variables(cmd.Env) {
		name, value, _ := strings.Cut(v, "=")
		options = append(options, "--setenv", name, value)
	}
	options = append(options, "--chdir", d.Dir)
	file, err := memoryFile("bwrap-options", []byte(strings.Join(options, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	argv := append([]string{filepath.Join(stage, helper.Bwrap), "--args", "4", "--", helper.Enter, helper.EnterWord}, h.box.confinement(cmd).Args(shell(cmd)...)...)
	p, err := h.start(helper.Start{Argv: argv, Env: []string{}, Dir: "/", Room: true}, nil, stream{out, true}, stream{out, false}, file, writer)
	if err != nil {
		reader.Close()
		return nil, err
	}
	p.out = out
	p.copy(reader, &p.refused)
	return p, nil
}

// start starts a process in the holder's namespaces. Without input it reads nothing.
func (h *holder) start(s helper.Start, input *os.File, stdout, stderr io.Writer, more ...*os.File) (p *process, err error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	description, err := memoryFile("pawl-start", content)
	if err != nil {
		return nil, err
	}
	defer description.Close()
	if input == nil {
		if input, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
		defer input.Close()
	}
	p = &process{holder: h, done: make(chan struct{}), refused: bounded{limit: 4096}}
	var writers []*os.File
	defer func() {
		for _, w := range writers {
			w.Close()
		}
	}()
	for _, to := range []io.Writer{stdout, stderr} {
		reader, writer, err := os.Pipe()
		if err != nil {
			p.abandon()
			return nil, err
		}
		writers = append(writers, writer)
		p.copy(reader, to)
	}
	files := append([]*os.File{description, input, writers[0], writers[1]}, more...)
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	h.mu.Lock()
	if h.isGone {
		h.mu.Unlock()
		p.abandon()
		return nil, pawl.Errorf(pawl.CodeUnavailable, "the process that holds the room ended")
	}
	h.next++
	p.id = h.next
	h.processes[p.id] = p
	err = h.send(helper.Request{ID: p.id}, fds)
	if err != nil {
		delete(h.processes, p.id)
	}
	h.mu.Unlock()
	if err != nil {
		p.abandon()
		return nil, fmt.Errorf("ask the holder: %w", err)
	}
	return p, nil
}

// sendLimit is how long a holder may take to receive a request.
const sendLimit = 10 * time.Second

// send sends a request.
func (h *holder) send(req helper.Request, fds []int) error {
	packet, err := json.Marshal(req)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if err := h.socket.SetWriteDeadline(time.Now().Add(sendLimit)); err != nil {
		return err
	}
	_, _, err = h.socket.WriteMsgUnix(packet, rights, nil)
	return err
}

// confinement is what a command is confined to within its room.
func (b *Box) confinement(pawl.Command) confine.Spec {
	spec := confine.Spec{
		ReadWrite: append(room.Writable(), "/dev/shm"),
		Limits:    confine.Limits{FileSize: uint64(b.limits.FileSize)},
		Accept:    b.missing,
		Report:    5,
	}
	if b.groups == nil {
		spec.Limits.Processes, spec.Limits.Data = uint64(b.limits.Processes), uint64(b.limits.Memory)
	}
	return spec
}

// limit puts a holder into a group of its own with the limits of a room.
func (b *Box) limit(pid int) (*cgroup.Group, error) {
	if b.groups == nil {
		return nil, nil
	}
	group, err := b.groups.New(fmt.Sprintf("room-%d", b.holders.Add(1)), b.groupLimits())
	if err != nil {
		return nil, err
	}
	if err := group.Add(pid); err != nil {
		return nil, errors.Join(err, group.Close())
	}
	return group, nil
}

// groupLimits are the limits of a room that a control group enforces.
func (b *Box) groupLimits() cgroup.Limits {
	return cgroup.Limits{Processes: b.limits.Processes, Memory: b.limits.Memory}
}

// signal asks the holder to end a process.
func (h *holder) signal(id uint64, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isGone {
		_ = h.send(helper.Request{ID: id, Signal: name}, nil) // a holder that ends has ended it
	}
}

// process is a process that a holder started. It implements [running].
type process struct {
	holder *holder
	id     uint64
	out    *capture // of a command
	// refused is why a command could not be confined, or executed once it was.
	refused bounded
	copies  sync.WaitGroup
	mu      sync.Mutex // guards readers
	reads   []*os.File
	done    chan struct{} // closed when answer and err are set and its output is read
	answer  helper.Answer
	err     error
}

// copy copies what the process prints until nobody can print any more.
func (p *process) copy(from *os.File, to io.Writer) {
	p.mu.Lock()
	p.reads = append(p.reads, from)
	p.mu.Unlock()
	p.copies.Go(func() {
		defer from.Close()
		_, _ = io.Copy(to, from) // what could be read is there
	})
}

// abandon gives up a process that was not started.
func (p *process) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.reads {
		_ = f.SetReadDeadline(time.Now())
	}
}

// finish takes over how the process ended. What it printed is read first; a while
// later than its end only, as a process elsewhere may have been handed the pipe.
func (p *process) finish(answer helper.Answer, err error) {
	go func() {
		p.mu.Lock()
		for _, f := range p.reads {
			_ = f.SetReadDeadline(time.Now().Add(drainDelay))
		}
		p.mu.Unlock()
		p.copies.Wait()
		p.answer, p.err = answer, err
		close(p.done)
	}()
}

func (p *process) exited() <-chan struct{} { return p.done }

func (p *process) terminate(time.Duration) bool { p.holder.signal(p.id, "TERM"); return true }

func (p *process) kill() { p.holder.signal(p.id, "KILL") }

func (p *process) result() (code int, finished bool, err error) {
	if p.answer.Error != "" {
		return 0, false, pawl.Errorf(pawl.CodeUnavailable, "it could not be started: %s", p.answer.Error)
	}
	if text := p.refused.String(); text != "" && p.answer.Code == confine.ExitRefused {
		return 0, false, pawl.Errorf(pawl.CodeUnavailable, "it could not be confined: %s", strings.TrimSpace(text))
	}
	if p.err == nil && !p.answer.Finished && !p.answer.Began {
		output, _, _ := p.out.result()
		return 0, false, pawl.Errorf(pawl.CodeUnavailable, "it could not be started: %s", bytes.TrimSpace(output))
	}
	return p.answer.Code, p.answer.Finished, p.err
}
