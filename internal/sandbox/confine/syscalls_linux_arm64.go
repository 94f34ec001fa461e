package confine

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32       = 0
	sysMknod  = 0
)

var deniedHere []uint32
