package helper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors that a holder is started with.
const (
	socketFD = 3 // packets of [Request] and [Answer]
	roomFD   = 4 // the JSON of a [Room]
)

// maxFDs is how many descriptors may come with one packet.
const maxFDs = 8

// Hold is the holder of a room; see the package comment.
func Hold() int {
	CloseInherited()
	h := &holder{children: make(map[int]*child), byID: make(map[uint64]*child), started: make(chan struct{}, 1)}
	if err := h.open(); err != nil {
		h.tell(Answer{Error: err.Error()})
		return 1
	}
	h.there(0)
	go h.reap()
	if err := h.serve(); err != nil {
		fmt.Fprintf(os.Stderr, "hold: %v\n", err)
		return 1
	}
	return 0
}

// holder serves the requests for one room.
type holder struct {
	room Room

	// mu guards the maps. It is held while a child is started, so that its end is
	// not seen before it is known.
	mu       sync.Mutex
	children map[int]*child
	byID     map[uint64]*child
	started  chan struct{} // has room for one: a child was started
}

// child is a process that the holder started.
type child struct {
	id   uint64
	pid  int
	room bool
	end  chan syscall.WaitStatus // has room for its end

	mu     sync.Mutex
	inner  int // the first process of its own PID namespace, by descriptor; -1 = not known, or none
	leader int // the same by number, which is also its process group's
	code   *int
	asked  unix.Signal // what it is to be sent as soon as inner is known; 0 = nothing
}

// open reads what room it is and puts it together.
func (h *holder) open() error {
	if err := h.read(roomFD); err != nil {
		return err
	}
	if err := h.room.prepare(); err != nil || len(h.room.Mounts) == 0 {
		return err
	}
	return h.room.compose()
}

func (h *holder) read(fd int) error {
	content, err := readAll(fd)
	if err == nil {
		err = json.Unmarshal(content, &h.room)
	}
	if err != nil {
		return fmt.Errorf("read the room: %w", err)
	}
	return nil
}

// furnish puts the room together and says whether it could.
func (h *holder) furnish(id uint64, fds []int) {
	err := errors.New("furnish: no description, or a room already")
	if len(fds) == 1 && len(h.room.Mounts) == 0 {
		if err = h.read(fds[0]); err == nil {
			err = h.room.compose()
		}
	}
	if err != nil {
		h.tell(Answer{ID: id, Error: err.Error()})
		return
	}
	h.there(id)
}

// there tells that the room is there, and hands over the listener that it asks for.
func (h *holder) there(id uint64) {
	if h.room.Listen == 0 {
		h.tell(Answer{ID: id})
		return
	}
	fd, err := listen(h.room.Listen)
	if err != nil {
		h.tell(Answer{ID: id, Error: err.Error()})
		return
	}
	h.tell(Answer{ID: id}, fd)
	_ = unix.Close(fd)
}

// serve answers requests until Pawl is gone.
func (h *holder) serve() error {
	packet := make([]byte, 4096)
	control := make([]byte, unix.CmsgSpace(4*maxFDs))
	for {
		n, fds, err := receive(packet, control)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		case n == 0:
			return nil
		}
		var req Request
		if err := json.Unmarshal(packet[:n], &req); err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		switch {
		case req.Signal != "":
			h.signal(req)
		case req.Furnish:
			h.furnish(req.ID, fds)
		default:
			h.start(req.ID, fds)
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}
}

// receive receives one packet with its descriptors.
func receive(packet, control []byte) (n int, fds []int, err error) {
	n, controls, flags, _, err := unix.Recvmsg(socketFD, packet, control, unix.MSG_CMSG_CLOEXEC)
	if err != nil || controls == 0 {
		return n, nil, err
	}
	if flags&(unix.MSG_CTRUNC|unix.MSG_TRUNC) != 0 {
		return n, nil, errors.New("a packet that is too long")
	}
	messages, err := unix.ParseSocketControlMessage(control[:controls])
	for i := range messages {
		var more []int
		if more, err = unix.ParseUnixRights(&messages[i]); err != nil {
			break
		}
		fds = append(fds, more...)
	}
	return n, fds, err
}

// tell sends an answer. When Pawl is gone that fails, and the next request says so.
func (h *holder) tell(a Answer, fds ...int) {
	packet, _ := json.Marshal(a) // it has no value that could not be encoded
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_ = unix.Sendmsg(socketFD, packet, rights, nil, unix.MSG_NOSIGNAL)
}

// start starts a process and says so when it could not.
func (h *holder) start(id uint64, fds []int) {
	if err := h.tryStart(id, fds); err != nil {
		h.tell(Answer{ID: id, Error: err.Error()})
	}
}

func (h *holder) tryStart(id uint64, fds []int) error {
	if len(fds) < 1 {
		return errors.New("start: no description")
	}
	content, err := readAll(fds[0])
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	var s Start
	if err := json.Unmarshal(content, &s); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if len(s.Argv) == 0 {
		return errors.New("start: no program")
	}
	files := make([]uintptr, 0, len(fds)+1)
	for _, fd := range fds[1:] {
		files = append(files, uintptr(fd))
	}
	var status *os.File
	// A room's command gets its session from bubblewrap. A second one would delay it: where
	// the scheduler groups processes by session, a new group has to wait its turn.
	attr := &syscall.SysProcAttr{Setsid: !s.Room}
	if s.Room {
		reader, writer, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("start: %w", err)
		}
		defer writer.Close()
		status = reader
		files = append(files[:3:3], append([]uintptr{writer.Fd()}, files[3:]...)...)
		if h.room.UID != 0 {
			attr.Credential = &syscall.Credential{Uid: uint32(h.room.UID), Gid: uint32(h.room.GID)}
		}
	}
	c := &child{id: id, room: s.Room, inner: -1, end: make(chan syscall.WaitStatus, 1)}
	h.mu.Lock()
	c.pid, err = syscall.ForkExec(s.Argv[0], s.Argv, &syscall.ProcAttr{Env: s.Env, Dir: s.Dir, Files: files, Sys: attr})
	if err == nil {
		h.children[c.pid], h.byID[id] = c, c
	}
	h.mu.Unlock()
	if err != nil {
		if status != nil {
			status.Close()
		}
		return fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	go h.await(c, status)
	select {
	case h.started <- struct{}{}:
	default:
	}
	return nil
}

// maxDescription bounds what a room or a process is described by, in bytes.
const maxDescription = 16 << 20

// readAll reads a file in memory from its start, whatever its offset.
func readAll(fd int) ([]byte, error) {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, err
	}
	if info.Size > maxDescription {
		return nil, fmt.Errorf("it has %d bytes: want at most %d", info.Size, maxDescription)
	}
	content := make([]byte, info.Size)
	for at := 0; at < len(content); {
		n, err := unix.Pread(fd, content[at:], int64(at))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		at += n
	}
	return content, nil
}

// await waits for the end of a child and tells it.
func (h *holder) await(c *child, status *os.File) {
	if status != nil {
		c.read(status)
	}
	ended := <-c.end
	c.endAll()
	answer := Answer{ID: c.id}
	c.mu.Lock()
	answer.Began = c.leader > 1
	switch {
	case c.room && c.code != nil:
		answer.Code, answer.Finished = *c.code, true
	case c.room:
	case ended.Signaled():
		answer.Code = 128 + int(ended.Signal())
	default:
		answer.Code, answer.Finished = ended.ExitStatus(), true
	}
	c.mu.Unlock()
	h.mu.Lock()
	delete(h.byID, c.id)
	h.mu.Unlock()
	h.tell(answer)
}

// read reads what bwrap tells on descriptor 3 until nobody has it any more.
func (c *child) read(status *os.File) {
	defer status.Close()
	decoder := json.NewDecoder(status)
	for {
		var line struct {
			Child int  `json:"child-pid"`
			Code  *int `json:"exit-code"`
		}
		if decoder.Decode(&line) != nil {
			return
		}
		c.mu.Lock()
		if line.Child > 1 {
			c.leader = line.Child
			if fd, err := unix.PidfdOpen(line.Child, 0); err == nil {
				c.inner = fd
			}
			c.send(c.asked)
		}
		if line.Code != nil {
			c.code = line.Code
		}
		c.mu.Unlock()
	}
}

// reap waits for every child; orphans of its namespace become a holder's children too.
func (h *holder) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.ECHILD { //nolint:errorlint // an Errno is what Wait4 returns
			<-h.started
		}
		if err != nil {
			continue
		}
		h.mu.Lock()
		c := h.children[pid]
		delete(h.children, pid)
		h.mu.Unlock()
		if c != nil {
			c.end <- status
		}
	}
}

// signal ends a process. One that has ended already is no matter.
func (h *holder) signal(req Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.byID[req.ID]
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	signal := unix.SIGKILL
	if req.Signal == "TERM" {
		signal = unix.SIGTERM
	}
	switch {
	case !c.room:
		c.asked = signal
		_ = unix.Kill(-c.pid, signal) // the whole process group
	case c.leader > 1:
		c.send(signal)
	default:
		c.asked = signal
	}
}

// send sends a signal into a room's command: to its process group, or if it is to end
// at once to the first process of its namespace, with which all others end.
func (c *child) send(signal unix.Signal) {
	switch signal {
	case unix.SIGTERM:
		_ = unix.Kill(-c.leader, signal)
	case unix.SIGKILL:
		_ = unix.PidfdSendSignal(c.inner, signal, nil, 0)
	}
}

// endAll ends what a room's command left behind when it ended, or a program that was asked
// to end: a shell's child that has just been forked may miss the request. The first process
// of a command's namespace has ended only when all others have.
func (c *child) endAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.room && c.asked != 0 {
		_ = unix.Kill(-c.pid, unix.SIGKILL) // a group that is gone is as good
	}
	if c.inner < 0 {
		return
	}
	_ = unix.PidfdSendSignal(c.inner, unix.SIGKILL, nil, 0) // one that has ended is as good
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.inner), Events: unix.POLLIN}}, -1)
		if n == 1 || err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Close(c.inner)
	c.inner = -1
}

// CloseInherited marks every descriptor but 0, 1 and 2 to be closed in the
// programs this process starts. Go does so with what it opens, but not with what
// the process was started with; descriptors meant for a child are passed one by one and
// not touched by this.
func CloseInherited() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // no /proc: then no command can be run here either
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscanf(e.Name(), "%d", &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
