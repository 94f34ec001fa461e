package confine

import (
	"slices"

	"golang.org/x/sys/unix"
)

// denial is a system call that the filter refuses, and how.
type denial struct {
	nr    uint32
	errno unix.Errno
}

// denied lists the system calls that are refused whatever their arguments. All
// others are allowed, apart from those that [filterOf] looks into.
//
// Most of these need a capability that a command does not have. They are here all
// the same: a filter is what holds when another layer has a hole, and most
// holes that let a program out of a namespace were in calls like these.
func denied(profile Profile) []denial {
	var list []denial
	deny := func(errno unix.Errno, numbers ...uint32) {
		for _, nr := range numbers {
			list = append(list, denial{nr, errno})
		}
	}

	// io_uring makes system calls that no filter sees. Programs that use it fall
	// back when the kernel does not have it.
	deny(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)

	// clone3 has its flags in memory, where a filter cannot look. The C library
	// falls back to clone.
	deny(unix.ENOSYS, unix.SYS_CLONE3)

	// A namespace of its own would give the command all capabilities in it, and
	// with them most of the kernel to attack; setns enters one that exists.
	deny(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_SETNS)

	// Mounts could cover or uncover what the sandbox set up.
	deny(unix.EPERM, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR)

	// A file handle names a file without a path: no mount or Landlock rule is asked.
	deny(unix.EPERM, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT)

	// Descriptors of other processes, and the order of the kernel's addresses.
	deny(unix.EPERM, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP)

	// Memory and registers of other processes.
	if profile != Wide {
		deny(unix.EPERM, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV)
	}

	// System V IPC belongs to no process and no folder: segments, semaphores and
	// queues outlive the command, in the machine's memory if the IPC namespace is shared.
	if profile != Wide {
		deny(unix.EPERM, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT)
	}
	deny(unix.EPERM, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL)

	// Keyrings are not confined by namespaces: a session's keys are visible to every
	// process that descends from it.
	deny(unix.EPERM, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY)

	// Programs that run in the kernel, and its measurements: both have been the way to
	// many a privilege escalation.
	deny(unix.EPERM, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN)

	// userfaultfd lets a program stop the kernel in the middle of a copy, which makes
	// races in it easy to win.
	deny(unix.EPERM, unix.SYS_USERFAULTFD)

	// fanotify sees accesses of all processes on a mount.
	deny(unix.EPERM, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK)

	// Another kernel, or other code in this one.
	deny(unix.EPERM, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
		unix.SYS_DELETE_MODULE, unix.SYS_REBOOT)

	// Settings of the whole machine: swap, clocks, accounting, quotas, its name. A clock
	// that is set moves every deadline on the machine; adjtimex is among them, though
	// without a capability it only reads, because nothing that builds or tests needs it.
	deny(unix.EPERM, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME)

	// The kernel's messages hold addresses and names of the machine.
	deny(unix.EPERM, unix.SYS_SYSLOG)

	// Hanging up ends the session of whoever sits at the terminal.
	deny(unix.EPERM, unix.SYS_VHANGUP)

	deny(unix.EPERM, deniedHere...)
	return list
}

// ioctls that put characters into a terminal's input, as if a person had typed
// them: the shell that Pawl was started from would execute them.
var deniedIoctls = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// namespaceFlags are those of clone that make a namespace.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// deviceModes are the kinds of files that mknod must not make: an own device
// file would open any disk. FIFOs are made with the same call.
var deviceModes = []uint32{unix.S_IFBLK, unix.S_IFCHR}

// socketRule is a kind of socket that is allowed; all others are denied.
//
// Among these are AF_VSOCK, the channel to the hypervisor, which no network
// namespace confines; AF_NETLINK, which reaches much of the kernel's network code;
// AF_PACKET and raw sockets, which see and forge others' traffic; AF_ALG and other
// families that are rarely used and often mended; and MPTCP, which Landlock does not
// know. Without AF_NETLINK a program cannot list the network's interfaces (getifaddrs
// fails); to resolve, listen and connect works.
type socketRule struct {
	family    uint32
	kinds     []uint32 // SOCK_STREAM and so on; empty allows all
	protocols []uint32 // empty allows all
}

var (
	localSockets    = socketRule{family: unix.AF_UNIX}
	internetSockets = []socketRule{
		{unix.AF_INET, []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM}, []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP}},
		{unix.AF_INET6, []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM}, []uint32{0, unix.IPPROTO_TCP, unix.IPPROTO_UDP}},
	}
)

func sockets(spec Spec) []socketRule {
	if spec.NoNetwork {
		return []socketRule{localSockets}
	}
	return append(slices.Clone(internetSockets), localSockets)
}
