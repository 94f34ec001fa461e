package confine

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// x32 is set in the numbers of the x32 ABI, which share the architecture's audit
	// value: every number in the table would have a second one.
	x32 = 0x40000000
	// sysMknod is the call that mknodat replaced.
	sysMknod = unix.SYS_MKNOD
)

// deniedHere are calls of this architecture alone: access to the ports of the machine's devices.
var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM}
