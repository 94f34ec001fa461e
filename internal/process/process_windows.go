package process

import (
	"os"
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func end(leader *os.Process, _ time.Duration) error { return leader.Kill() }

// closeInherited does nothing: a child inherits only the handles it is given.
func closeInherited() {}

// HasMore reports false: whether a pipe has more is not known here without reading it.
func HasMore(*os.File) bool { return false }
