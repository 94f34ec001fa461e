package confine_test

import (
	"golang.org/x/sys/unix"
)

// refusedCall is a system call with arguments that do no harm even without a
// filter, and the answer it gets in the default profile.
type refusedCall struct {
	name string
	nr   uintptr
	want unix.Errno
	wide bool // allowed in the wide profile
	args [6]uintptr
}

const bad = ^uintptr(0)

var (
	bads = [6]uintptr{bad, bad, bad, bad, bad, bad}
	// key names no System V object. A call that looks for one must not make one.
	key = [6]uintptr{0x5ca1ab1e}
)

// refusedCalls is the list of TRUST.md's filter once more, by name, so that a
// line lost from the table is noticed.
var refusedCalls = []refusedCall{
	{"io_uring_setup", unix.SYS_IO_URING_SETUP, unix.ENOSYS, false, bads},
	{"io_uring_enter", unix.SYS_IO_URING_ENTER, unix.ENOSYS, false, bads},
	{"io_uring_register", unix.SYS_IO_URING_REGISTER, unix.ENOSYS, false, bads},
	{"clone3", unix.SYS_CLONE3, unix.ENOSYS, false, bads},
	{"unshare", unix.SYS_UNSHARE, unix.EPERM, false, bads},
	{"setns", unix.SYS_SETNS, unix.EPERM, false, bads},
	{"mount", unix.SYS_MOUNT, unix.EPERM, false, bads},
	{"umount2", unix.SYS_UMOUNT2, unix.EPERM, false, bads},
	{"pivot_root", unix.SYS_PIVOT_ROOT, unix.EPERM, false, bads},
	{"chroot", unix.SYS_CHROOT, unix.EPERM, false, bads},
	{"move_mount", unix.SYS_MOVE_MOUNT, unix.EPERM, false, bads},
	{"open_tree", unix.SYS_OPEN_TREE, unix.EPERM, false, bads},
	{"open_tree_attr", unix.SYS_OPEN_TREE_ATTR, unix.EPERM, false, bads},
	{"fsopen", unix.SYS_FSOPEN, unix.EPERM, false, bads},
	{"fsconfig", unix.SYS_FSCONFIG, unix.EPERM, false, bads},
	{"fsmount", unix.SYS_FSMOUNT, unix.EPERM, false, bads},
	{"fspick", unix.SYS_FSPICK, unix.EPERM, false, bads},
	{"mount_setattr", unix.SYS_MOUNT_SETATTR, unix.EPERM, false, bads},
	{"open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, unix.EPERM, false, bads},
	{"name_to_handle_at", unix.SYS_NAME_TO_HANDLE_AT, unix.EPERM, false, bads},
	{"pidfd_getfd", unix.SYS_PIDFD_GETFD, unix.EPERM, false, bads},
	{"kcmp", unix.SYS_KCMP, unix.EPERM, false, bads},
	{"ptrace", unix.SYS_PTRACE, unix.EPERM, true, bads},
	{"process_vm_readv", unix.SYS_PROCESS_VM_READV, unix.EPERM, true, bads},
	{"process_vm_writev", unix.SYS_PROCESS_VM_WRITEV, unix.EPERM, true, bads},
	{"shmget", unix.SYS_SHMGET, unix.EPERM, true, key},
	{"shmat", unix.SYS_SHMAT, unix.EPERM, true, bads},
	{"shmctl", unix.SYS_SHMCTL, unix.EPERM, true, bads},
	{"shmdt", unix.SYS_SHMDT, unix.EPERM, true, bads},
	{"semget", unix.SYS_SEMGET, unix.EPERM, false, key},
	{"semop", unix.SYS_SEMOP, unix.EPERM, false, bads},
	{"semtimedop", unix.SYS_SEMTIMEDOP, unix.EPERM, false, bads},
	{"semctl", unix.SYS_SEMCTL, unix.EPERM, false, bads},
	{"msgget", unix.SYS_MSGGET, unix.EPERM, false, key},
	{"msgsnd", unix.SYS_MSGSND, unix.EPERM, false, bads},
	{"msgrcv", unix.SYS_MSGRCV, unix.EPERM, false, bads},
	{"msgctl", unix.SYS_MSGCTL, unix.EPERM, false, bads},
	{"keyctl", unix.SYS_KEYCTL, unix.EPERM, false, bads},
	{"add_key", unix.SYS_ADD_KEY, unix.EPERM, false, bads},
	{"request_key", unix.SYS_REQUEST_KEY, unix.EPERM, false, bads},
	{"bpf", unix.SYS_BPF, unix.EPERM, false, bads},
	{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, unix.EPERM, false, bads},
	{"userfaultfd", unix.SYS_USERFAULTFD, unix.EPERM, false, bads},
	{"fanotify_init", unix.SYS_FANOTIFY_INIT, unix.EPERM, false, bads},
	{"fanotify_mark", unix.SYS_FANOTIFY_MARK, unix.EPERM, false, bads},
	{"kexec_load", unix.SYS_KEXEC_LOAD, unix.EPERM, false, bads},
	{"kexec_file_load", unix.SYS_KEXEC_FILE_LOAD, unix.EPERM, false, bads},
	{"init_module", unix.SYS_INIT_MODULE, unix.EPERM, false, bads},
	{"finit_module", unix.SYS_FINIT_MODULE, unix.EPERM, false, bads},
	{"delete_module", unix.SYS_DELETE_MODULE, unix.EPERM, false, bads},
	{"reboot", unix.SYS_REBOOT, unix.EPERM, false, bads},
	{"swapon", unix.SYS_SWAPON, unix.EPERM, false, bads},
	{"swapoff", unix.SYS_SWAPOFF, unix.EPERM, false, bads},
	{"settimeofday", unix.SYS_SETTIMEOFDAY, unix.EPERM, false, bads},
	{"clock_settime", unix.SYS_CLOCK_SETTIME, unix.EPERM, false, bads},
	{"clock_adjtime", unix.SYS_CLOCK_ADJTIME, unix.EPERM, false, bads},
	{"adjtimex", unix.SYS_ADJTIMEX, unix.EPERM, false, bads},
	{"acct", unix.SYS_ACCT, unix.EPERM, false, bads},
	{"quotactl", unix.SYS_QUOTACTL, unix.EPERM, false, bads},
	{"quotactl_fd", unix.SYS_QUOTACTL_FD, unix.EPERM, false, bads},
	{"sethostname", unix.SYS_SETHOSTNAME, unix.EPERM, false, bads},
	{"setdomainname", unix.SYS_SETDOMAINNAME, unix.EPERM, false, bads},
	{"syslog", unix.SYS_SYSLOG, unix.EPERM, false, bads},
	{"vhangup", unix.SYS_VHANGUP, unix.EPERM, false, [6]uintptr{}},
	// With arguments that the filter looks into.
	{"clone of a user namespace", unix.SYS_CLONE, unix.EPERM, false, [6]uintptr{unix.CLONE_NEWUSER | unix.CLONE_FS}},
	{"clone of a mount namespace", unix.SYS_CLONE, unix.EPERM, false, [6]uintptr{unix.CLONE_NEWNS | unix.CLONE_FS}},
	{"ioctl TIOCSTI", unix.SYS_IOCTL, unix.EPERM, false, [6]uintptr{0, unix.TIOCSTI, bad}},
	{"ioctl TIOCLINUX", unix.SYS_IOCTL, unix.EPERM, false, [6]uintptr{0, unix.TIOCLINUX, bad}},
	{"ioctl TIOCSTI with high bits", unix.SYS_IOCTL, unix.EPERM, false, [6]uintptr{0, unix.TIOCSTI | 1<<40&bad, bad}},
	{"mknodat of a disk", unix.SYS_MKNODAT, unix.EPERM, false, [6]uintptr{bad, bad, unix.S_IFBLK | 0o600}},
	{"mknodat of a character device", unix.SYS_MKNODAT, unix.EPERM, false, [6]uintptr{bad, bad, unix.S_IFCHR | 0o600}},
}
