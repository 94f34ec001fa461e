package confine

import (
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Verdicts of the filter.
var (
	allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	kill  = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
)

func refuse(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// Where struct seccomp_data has what the filter looks at. Of an argument it is
// the low half: the kernel takes all of those that are looked at as 32 bits, or,
// for clone's flags, has none that matter here in the high half.
var (
	loadNumber = bpf.LoadAbsolute{Off: 0, Size: 4}
	loadArch   = bpf.LoadAbsolute{Off: 4, Size: 4}
)

func loadArg(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: 16 + 8*n, Size: 4} }

func hasSeccomp() bool {
	if auditArch == 0 {
		return false
	}
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// filterOf is the filter for a Spec. Every part either falls through with the
// system call's number loaded, or returns.
func filterOf(spec Spec) []bpf.Instruction {
	var f []bpf.Instruction
	// Numbers mean something else on other architectures, 32-bit x86 among them.
	f = append(f, loadArch, bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, kill, loadNumber)
	if x32 != 0 {
		// A tracer sets the number -1 to skip a call.
		f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: ^uint32(0), SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1}, kill)
	}
	for _, d := range denied(spec.Profile) {
		f = on(f, d.nr, refuse(d.errno))
	}
	f = on(f, unix.SYS_CLONE, whenBits(0, namespaceFlags, unix.EPERM)...)
	f = on(f, unix.SYS_IOCTL, whenOneOf(1, ^uint32(0), deniedIoctls, unix.EPERM)...)
	f = on(f, unix.SYS_MKNODAT, whenOneOf(2, unix.S_IFMT, deviceModes, unix.EPERM)...)
	if sysMknod != 0 {
		f = on(f, sysMknod, whenOneOf(1, unix.S_IFMT, deviceModes, unix.EPERM)...)
	}
	f = on(f, unix.SYS_SOCKET, allowSockets(sockets(spec))...)
	// Pairs of sockets exist in this family and in some that are denied.
	f = on(f, unix.SYS_SOCKETPAIR, allowSockets([]socketRule{localSockets})...)
	return append(f, allow)
}

// on adds what to do for one system call, which must end with a verdict.
func on(f []bpf.Instruction, nr uint32, do ...bpf.Instruction) []bpf.Instruction {
	f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(do))})
	return append(f, do...)
}

// whenBits refuses a call if an argument has one of the bits.
func whenBits(arg, bits uint32, errno unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{loadArg(arg), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipFalse: 1}, refuse(errno), allow}
}

// whenOneOf refuses a call if an argument, below the mask, has one of the values.
func whenOneOf(arg, mask uint32, values []uint32, errno unix.Errno) []bpf.Instruction {
	f := []bpf.Instruction{loadArg(arg), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask}}
	for _, value := range values {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1}, refuse(errno))
	}
	return append(f, allow)
}

// socketKind is the part of a socket's type that is not flags.
const socketKind = 0xf

// allowSockets allows the given kinds and refuses others as a kernel does that
// does not have them: programs know that answer.
func allowSockets(rules []socketRule) []bpf.Instruction {
	var f []bpf.Instruction
	for _, rule := range rules {
		var do []bpf.Instruction
		if len(rule.kinds) > 0 {
			do = append(do, loadArg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: socketKind})
			do = append(do, unlessOneOf(rule.kinds, refuse(unix.ESOCKTNOSUPPORT))...)
		}
		if len(rule.protocols) > 0 {
			do = append(do, loadArg(2))
			do = append(do, unlessOneOf(rule.protocols, refuse(unix.EPROTONOSUPPORT))...)
		}
		do = append(do, allow)
		f = append(f, loadArg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: rule.family, SkipFalse: uint8(len(do))})
		f = append(f, do...)
	}
	return append(f, refuse(unix.EAFNOSUPPORT))
}

// unlessOneOf gives a verdict unless the loaded value is one of the values.
func unlessOneOf(values []uint32, verdict bpf.Instruction) []bpf.Instruction {
	var f []bpf.Instruction
	for i, value := range values {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipTrue: uint8(len(values) - i)})
	}
	return append(f, verdict)
}

func assemble(program []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}

func applySeccomp(filter []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
