//go:build unix

package process

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// endInterval is how often a group that is ending is looked at.
const endInterval = 5 * time.Millisecond

// end asks a process group to end and kills what is left of it after the grace. While
// a member is alive no other group can have the number.
func end(leader *os.Process, grace time.Duration) error {
	group := -leader.Pid
	if err := unix.Kill(group, unix.SIGTERM); err != nil {
		return gone(err)
	}
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	look := time.NewTicker(endInterval)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if unix.Kill(group, 0) != nil { // on Darwin a group of zombies is an error as well
				return nil
			}
		case <-deadline.C:
			return gone(unix.Kill(group, unix.SIGKILL))
		}
	}
}

// gone says that there is nobody left to signal in the words of [os.Process.Signal].
func gone(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// closeInherited makes the descriptors that this process was started with end at the
// next exec. Go opens all others so.
var closeInherited = sync.OnceFunc(func() {
	if closeRange() {
		return
	}
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // there is no such folder, and nothing to go by
	}
	for _, entry := range open {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
})

// HasMore reports whether reading a pipe would not wait: something was written, or all who can
// write to it have closed it.
func HasMore(pipe *os.File) bool {
	more := false
	conn, err := pipe.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor
			more = n > 0
		})
	}
	return err != nil || more
}
