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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	box    *Box
	d      *room.Description
	joined *room.Description // has only what is joined; nil in a room that was opened as a whole
	limits pawl.RoomLimits   // see limitsOf

	mu     sync.Mutex // guards what follows, d and limits; held while the holder is started
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
	h, err := r.open(ctx, true)
	if err != nil {
		return pawl.CommandResult{}, err
	}
	out := newCapture(&cmd)
	input, endInput, err := openInput(cmd.Input)
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	defer endInput()
	before := h.met() // the command may meet its limits as soon as it is started
	p, err := h.command(r, cmd, input, out)
	if err != nil {
		return pawl.CommandResult{}, fmt.Errorf("run command: %w", err)
	}
	result, err := runToEnd(ctx, p, cmd, out, h.disk)
	for i := range result.Met {
		switch m := &result.Met[i]; m.Resource {
		case pawl.ResourceFileSize:
			m.Max = r.limits.FileSize
		case pawl.ResourceCPU:
			m.Max = int64(r.limits.CPU / time.Second)
		}
	}
	after := h.met()
	if after.Processes > before.Processes {
		result.Met = append(result.Met, pawl.ResourceMet{Resource: pawl.ResourceProcesses, Max: r.limits.Processes})
	}
	if after.Memory > before.Memory {
		result.Met = append(result.Met, pawl.ResourceMet{Resource: pawl.ResourceMemory, Max: r.limits.Memory})
		if err != nil && ctx.Err() == nil && !h.alive() {
			// Files in the room's memory count as well, so the kernel may have found no
			// process larger than the holder.
			result.ExitCode, err = -1, nil
		}
	}
	return result, err
}

// Reach implements [room.Opened].
func (r *heldRoom) Reach(path string) (string, error) {
	h, err := r.open(context.Background(), true)
	if err != nil {
		return "", err
	}
	return filepath.Join(h.root(), stage, helper.Root, path), nil
}

// Furnish implements [room.Held].
func (r *heldRoom) Furnish(d *room.Description) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.d, r.limits = d, limitsOf(d)
}

// Unfurnish implements [room.Held]. The holder of a whole room ends, and another is started when
// it is needed.
func (r *heldRoom) Unfurnish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder != nil && r.holder.furnished {
		r.holder.close()
		r.holder = nil
	}
	r.d, r.limits, r.disk = r.joined, pawl.RoomLimits{}, nil
}

// limitsOf returns the limits of a room with all of them set, and that of memory in bytes.
func limitsOf(d *room.Description) pawl.RoomLimits {
	limits := d.Limits.Filled()
	limits.Memory = limits.MemoryOf(machineMemory())
	return limits
}

// ReachJoined implements [room.Held].
func (r *heldRoom) ReachJoined() (string, error) {
	h, err := r.open(context.Background(), false)
	if err != nil {
		return "", err
	}
	return filepath.Join(h.root(), r.joined.Joined.Path), nil
}

// Exec implements [room.Held].
func (r *heldRoom) Exec(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	h, err := r.open(ctx, false)
	if err != nil {
		return err
	}
	return h.exec(ctx, cmd, grace)
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

// open returns the room's holder. Unless furnished is set, it may have nothing but what is
// joined.
func (r *heldRoom) open(ctx context.Context, furnished bool) (*holder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, pawl.Errorf(pawl.CodeState, "the room %s is closed", r.d.Name)
	}
	if r.holder != nil && !r.holder.alive() {
		_, err := r.holder.enclosure()
		told := r.holder.told.Load()
		r.holder.close()
		r.holder = nil
		if err != nil && !told { // which is why it ended
			return nil, r.refused(err)
		}
	}
	furnished = furnished || r.d.Joined == nil
	if r.disk == nil && furnished {
		r.disk = watchDisk(r.d.OnDisk(), r.limits)
	}
	var err error
	switch {
	case r.holder == nil && furnished:
		r.holder, err = r.box.hold(ctx, r.box.composition(r.d), &r.limits, r.d.Serve)
	case r.holder == nil:
		r.holder, err = r.box.hold(ctx, &helper.Room{Stage: stage, Joined: asMounted(r.d.Joined)}, nil, r.d.Serve)
	case furnished && !r.holder.furnished:
		if err = errors.Join(r.holder.limit(&r.limits), r.holder.furnish(ctx, r.box.composition(r.d), r.d.Serve)); err != nil {
			r.holder.close()
			r.holder = nil
		}
	}
	if err != nil {
		return nil, r.refused(err)
	}
	r.holder.furnished = r.holder.furnished || furnished
	if r.holder.disk == nil { // or commands that run are reading it
		r.holder.disk = r.disk
	}
	return r.holder, nil
}

// refused is the error of a room that could not be opened.
func (r *heldRoom) refused(err error) error {
	return pawl.Errorf(pawl.CodeUnavailable, "open the room %s: %w", r.d.Name, err)
}

// composition is a room as its holder puts it together.
func (b *Box) composition(d *room.Description) *helper.Room {
	out := &helper.Room{
		Stage: stage, Bwrap: b.bwrap, Links: d.Links, Files: d.Files, UID: b.uid, GID: b.uid, Listen: d.ProxyPort,
	}
	for i := range d.Mounts {
		out.Mounts = append(out.Mounts, *asMounted(&d.Mounts[i]))
	}
	if d.Joined != nil {
		out.Joined = asMounted(d.Joined)
	}
	return out
}

// asMounted describes a mount to a holder.
func asMounted(m *room.Mount) *helper.Mount {
	to := &helper.Mount{Path: m.Path, Source: m.Source, ReadOnly: m.ReadOnly, Size: m.Size, Inodes: m.Inodes}
	for _, l := range m.Lower {
		to.Lower = append(to.Lower, l.Dir())
	}
	if len(m.Lower) > 0 && !m.Upper.IsZero() {
		to.Upper, to.Work = m.Upper.Files(), m.Upper.Work()
	}
	return to
}

// holder is a holder as its starter has it.
type holder struct {
	box  *Box
	cmd  *exec.Cmd
	disk *diskWatch
	// enclosed is closed when the holder has been put into its control group, group, which is nil where
	// there are none, or when that failed. Use [holder.enclosure].
	enclosed chan struct{}
	group    *cgroup.Group
	groupErr error
	told     atomic.Bool // a caller has had groupErr: the next attempt starts anew
	// furnished reports that the whole room is there, not only what is joined. The room's
	// mutex guards it.
	furnished bool
	socket    *net.UnixConn
	errors    *bounded
	gone      chan struct{} // closed when it has ended

	mu        sync.Mutex         // guards what follows
	serve     func(net.Listener) // see [room.Description]
	next      uint64
	processes map[uint64]*process
	isGone    bool
}

// holdLimit is how long a holder may take to put its room together.
const holdLimit = time.Minute

// hold starts a holder and waits until its room is there. Without limits its
// processes are not limited, and its control group may follow: moving a process into one takes the
// kernel up to 20 ms. The listener that the room asks for goes to serve.
func (b *Box) hold(ctx context.Context, r *helper.Room, limits *pawl.RoomLimits, serve func(net.Listener)) (*holder, error) {
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
	h := &holder{box: b, socket: conn.(*net.UnixConn), serve: serve, errors: &bounded{limit: 4096}, gone: make(chan struct{}), processes: make(map[uint64]*process),
		enclosed: make(chan struct{})}
	h.cmd = exec.CommandContext(context.WithoutCancel(ctx), b.program)
	h.cmd.Args = []string{b.name, helper.HoldWord}
	h.cmd.Env = []string{}
	h.cmd.Dir = "/"
	h.cmd.Stderr = h.errors
	h.cmd.ExtraFiles = []*os.File{theirs, description}
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		h.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		h.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err = h.cmd.Start()
	theirs.Close() // so that the socket ends with the holder
	if err != nil {
		_ = h.socket.Close()
		if errors.Is(err, unix.ENOSPC) { // which reads as if the disk were full
			err = errors.New("no more namespaces are allowed (sysctl user.max_user_namespaces)")
		}
		return nil, fmt.Errorf("start a namespace: %w", err)
	}
	ready := make(chan helper.Answer, 1)
	go h.listen(ready)
	go h.enclose(limits)
	timer := time.NewTimer(holdLimit)
	defer timer.Stop()
	select {
	case answer, ok := <-ready:
		switch {
		case answer.Error != "":
			err = errors.New(answer.Error)
		case !ok: // perhaps because it could not be put into a control group
			if _, err = h.enclosure(); err == nil {
				err = gone()
			}
		case limits != nil:
			_, err = h.enclosure()
		}
		if err == nil {
			return h, nil
		}
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

// furnish completes the room of a holder that has only what is joined. The listener that the room
// asks for goes to serve.
func (h *holder) furnish(ctx context.Context, r *helper.Room, serve func(net.Listener)) error {
	h.mu.Lock()
	h.serve = serve
	h.mu.Unlock()
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	description, err := memoryFile("pawl-room", content)
	if err != nil {
		return err
	}
	defer description.Close()
	p := &process{holder: h, done: make(chan struct{})}
	if err := h.ask(p, helper.Request{Furnish: true}, []*os.File{description}); err != nil {
		return err
	}
	timer := time.NewTimer(holdLimit)
	defer timer.Stop()
	select {
	case <-p.done:
		if p.answer.Error != "" {
			return errors.New(p.answer.Error)
		}
		return p.err
	case <-timer.C:
		return fmt.Errorf("it was not put together within %s", holdLimit)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// root is the path by which this process reaches the root of the holder's mounts.
func (h *holder) root() string {
	return filepath.Join("/proc", strconv.Itoa(h.cmd.Process.Pid), "root")
}

// met counts how often the room has met the limits of its control group.
func (h *holder) met() cgroup.Met {
	group, _ := h.enclosure()
	if group == nil {
		return cgroup.Met{}
	}
	met, _ := group.Met() // a group that is gone has met nothing more
	return met
}

// alive reports whether the holder is running. One that could not be put into its control group is not: it
// has been killed.
func (h *holder) alive() bool {
	select {
	case <-h.enclosed:
		if h.groupErr != nil {
			return false
		}
	default:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isGone {
		return false
	}
	// listen may not have heard yet of one that was killed a moment ago.
	var ended unix.Siginfo
	err := unix.Waitid(unix.P_PID, h.cmd.Process.Pid, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && ended.Signo == 0
}

// close ends the holder and with it everything in its namespace, and waits for that.
func (h *holder) close() {
	_ = h.cmd.Process.Kill() // one that has ended is as good
	<-h.gone
	if group, _ := h.enclosure(); group != nil {
		_ = group.Close() // what stays is removed by the next process
	}
}

// listen receives answers until the holder ends. The first one goes to ready.
func (h *holder) listen(ready chan<- helper.Answer) {
	packet, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	var way net.Listener
	for first := true; ; first = false {
		n, controls, _, _, err := h.socket.ReadMsgUnix(packet, rights)
		var answer helper.Answer
		if err != nil || n == 0 || json.Unmarshal(packet[:n], &answer) != nil {
			break
		}
		if controls > 0 && way == nil {
			if way, err = received(rights[:controls]); err != nil {
				answer.Error = err.Error()
			} else {
				h.mu.Lock()
				serve := h.serve
				h.mu.Unlock()
				go serve(way)
			}
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
	<-h.enclosed     // until it is waited for, no other process can have its number
	_ = h.cmd.Wait() // the error says that it was killed
	if way != nil {
		_ = way.Close()
	}
	close(ready)
	h.mu.Lock()
	h.isGone = true
	left := h.processes
	h.processes = nil
	h.mu.Unlock()
	_ = h.socket.Close()
	for _, p := range left {
		p.finish(helper.Answer{}, gone())
	}
	close(h.gone)
}

// received returns the listener that came with a packet.
func received(rights []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("receive the room's listener: %d messages, %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("receive the room's listener: %d descriptors, %w", len(fds), err)
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close() // the listener has a duplicate
	return net.FileListener(f)
}

// command starts a command in the room. Bubblewrap's options go through a descriptor,
// so that they are not in the process list and have no length limit, and bwrap
// itself starts with an empty environment: a variable of the command cannot act on it.
func (h *holder) command(r *heldRoom, cmd pawl.Command, input *os.File, out *capture) (*process, error) {
	options := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--new-session", "--cap-drop", "ALL", "--json-status-fd", "3",
		"--uid", strconv.Itoa(room.UID), "--gid", strconv.Itoa(room.GID), "--hostname", "pawl",
		"--dev-bind", filepath.Join(stage, helper.Root), "/", "--proc", "/proc",
	}
	for _, v := range r.d.Variables(cmd.Env) {
		name, value, _ := strings.Cut(v, "=")
		options = append(options, "--setenv", name, value)
	}
	options = append(options, "--chdir", r.d.Dir)
	file, err := memoryFile("bwrap-options", []byte(strings.Join(options, "\x00")+"\x00"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	argv := append([]string{filepath.Join(stage, helper.Bwrap), "--args", "4", "--", helper.Enter, helper.EnterWord}, h.box.confinement(&r.limits, r.d.Own).Args(shell(cmd)...)...)
	p, err := h.start(helper.Start{Argv: argv, Env: []string{}, Dir: "/", Room: true}, input, stream{out, true}, stream{out, false}, file)
	if err != nil {
		return nil, err
	}
	p.out = out
	return p, nil
}

// start starts a process in the holder's namespaces. Without input it reads nothing. A command
// of a room, which is given more files, is told by the one after them where to say why it could
// not be started.
func (h *holder) start(s helper.Start, input *os.File, stdout, stderr io.Writer, more ...*os.File) (p *process, err error) {
	if _, err := h.enclosure(); err != nil { // only what starts later is in the group
		h.told.Store(true)
		return nil, err
	}
	content, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	description, err := memoryFile("pawl-start", content)
	if err != nil {
		return nil, err
	}
	defer description.Close()
	switch {
	case input == nil:
		if input, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
		defer input.Close()
	case s.Room && h.box.uid != 0: // who opens /dev/stdin needs rights to the pipe
		if err := input.Chown(h.box.uid, h.box.uid); err != nil {
			return nil, err
		}
	}
	p = &process{holder: h, done: make(chan struct{}), refused: bounded{limit: 4096}, drain: drainDelay}
	if !s.Room {
		p.drain = programDrainDelay
	}
	to := []io.Writer{stdout, stderr}
	if s.Room {
		to = append(to, &p.refused)
	}
	writers, err := p.outputs.pipes(to...)
	if err != nil {
		return nil, err
	}
	defer closeAll(writers)
	if s.Room && h.box.uid != 0 { // who opens /dev/stderr needs rights to the pipe
		if err := errors.Join(writers[0].Chown(h.box.uid, h.box.uid), writers[1].Chown(h.box.uid, h.box.uid)); err != nil {
			p.outputs.end(0)
			return nil, err
		}
	}
	if err := h.ask(p, helper.Request{}, slices.Concat([]*os.File{description, input, writers[0], writers[1]}, more, writers[2:])); err != nil {
		p.outputs.end(0)
		return nil, err
	}
	return p, nil
}

// ask sends a request whose answer p receives.
func (h *holder) ask(p *process, req helper.Request, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isGone {
		return gone()
	}
	h.next++
	req.ID = h.next
	p.id = req.ID
	h.processes[p.id] = p
	if err := h.send(req, fds); err != nil {
		delete(h.processes, p.id)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) { // nobody has seen its end yet
			return gone()
		}
		return fmt.Errorf("ask the holder: %w", err)
	}
	return nil
}

// gone is the error of a request to a holder that has ended.
func gone() error {
	return pawl.Errorf(pawl.CodeUnavailable, "the process that holds the room ended")
}

// programDrainDelay is [drainDelay] for a program of ours. It is longer because none of
// its output may be lost.
const programDrainDelay = time.Minute

// exec runs a program of ours in the holder's namespaces to its end; see [pawl.Joined].
func (h *holder) exec(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var from io.ReadCloser
	if cmd.Stdin != nil {
		from = io.NopCloser(cmd.Stdin)
	}
	input, endInput, err := openInput(from)
	if err != nil {
		return err
	}
	defer endInput()
	argv := append([]string{cmd.Path}, cmd.Args[1:]...)
	p, err := h.start(helper.Start{Argv: argv, Env: cmd.Env, Dir: cmd.Dir}, input, orNowhere(cmd.Stdout), orNowhere(cmd.Stderr))
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if _, err := end(p, grace); err != nil {
			return err
		}
	}
	switch {
	case p.err != nil:
		return p.err
	case p.answer.Error != "":
		return errors.New(p.answer.Error)
	case p.outputs.cut.Load():
		return fmt.Errorf("its output did not end within %s", programDrainDelay)
	case !p.answer.Finished || p.answer.Code != 0:
		return &pawl.ExitError{Code: exitCode(p.answer.Code, p.answer.Finished), Signaled: !p.answer.Finished}
	}
	return ctx.Err()
}

func orNowhere(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
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

// confinement is what a command is confined to within its room. It may also write to own, folders that
// the room has besides those of every room.
func (b *Box) confinement(limits *pawl.RoomLimits, own []string) confine.Spec {
	spec := confine.Spec{
		ReadWrite: append(room.Writable(), own...),
		Profile:   b.profile,
		Limits:    confine.Limits{FileSize: uint64(limits.FileSize), CPU: uint64(limits.CPU / time.Second)},
		Accept:    b.missing,
		Report:    5,
	}
	if b.groups == nil {
		spec.Limits.Processes, spec.Limits.Data = uint64(limits.Processes), uint64(limits.Memory)
	}
	return spec
}

// enclose puts the holder into a control group of its own, where there are groups. One that cannot be put
// into a group ends.
func (h *holder) enclose(limits *pawl.RoomLimits) {
	defer close(h.enclosed)
	if h.box.groups == nil {
		return
	}
	group, err := h.box.groups.New(fmt.Sprintf("room-%d", holders.Add(1)), groupLimits(limits))
	if err == nil {
		if err = group.Add(h.cmd.Process.Pid); err == nil {
			h.group = group
			return
		}
		err = errors.Join(err, group.Close())
	}
	h.groupErr = pawl.Errorf(pawl.CodeUnavailable, "%w", err)
	_ = h.cmd.Process.Kill()
}

// enclosure waits until the holder is in its control group and returns that, nil where there are none.
func (h *holder) enclosure() (*cgroup.Group, error) {
	<-h.enclosed
	return h.group, h.groupErr
}

// limit limits what the holder's processes use together.
func (h *holder) limit(limits *pawl.RoomLimits) error {
	group, err := h.enclosure()
	if group == nil {
		return err
	}
	return group.Limit(groupLimits(limits))
}

// groupLimits returns the limits that a control group enforces.
func groupLimits(limits *pawl.RoomLimits) cgroup.Limits {
	if limits == nil {
		return cgroup.Limits{}
	}
	return cgroup.Limits{Processes: limits.Processes, Memory: limits.Memory}
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
	outputs outputs
	drain   time.Duration // how long to wait for more output after its end
	done    chan struct{} // closed when answer and err are set and its output is read
	answer  helper.Answer
	err     error
}

// finish records how the process ended, once its output has been read.
func (p *process) finish(answer helper.Answer, err error) {
	go func() {
		p.outputs.end(p.drain)
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
