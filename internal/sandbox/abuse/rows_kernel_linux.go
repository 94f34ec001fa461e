package abuse

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// opened closes a descriptor that a system call gave, and passes its error on.
func opened(fd uintptr, err error) error {
	if err == nil {
		unix.Close(int(fd))
	}
	return err
}

func kernelRows() []Row {
	return []Row{
		{Number: 38, Name: "use io_uring", StoppedBy: "seccomp",
			inside: func(Place) error {
				var params [120]byte
				return opened(call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params))))
			}},
		{Number: 39, Name: "make a user namespace", StoppedBy: "seccomp",
			inside: func(Place) error {
				cmd := exec.Command("/bin/true")
				cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
				return cmd.Run()
			}},
		{Number: 40, Name: "mount a file system", StoppedBy: "dropped capabilities, seccomp", Root: true, alone: true,
			inside: func(p Place) error {
				if err := os.MkdirAll(p.Work+"/mnt", 0o700); err != nil {
					return err
				}
				return errors.Join(unix.Mount("none", p.Work+"/mnt", "tmpfs", 0, "size=4k"), unix.Unmount(p.Work+"/mnt", unix.MNT_DETACH))
			}},
		{Number: 41, Name: "unmount /proc", StoppedBy: "dropped capabilities, seccomp", Root: true, alone: true,
			inside: func(Place) error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
		{Number: 53, Name: "make and open a disk's device file", StoppedBy: "uid drop, dropped capabilities, seccomp", Root: true,
			inside: openDisk},
		{Number: 54, Name: "open a secret by its file handle", StoppedBy: "uid drop, dropped capabilities, seccomp", Root: true,
			inside: func(p Place) error {
				if len(p.Handle) == 0 {
					return errors.New("the file system has no handles")
				}
				dir, err := unix.Open(p.Work, unix.O_RDONLY|unix.O_DIRECTORY, 0)
				if err != nil {
					return err
				}
				defer unix.Close(dir)
				fd, err := unix.OpenByHandleAt(dir, unix.NewFileHandle(p.HandleType, p.Handle), unix.O_RDONLY)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				text := make([]byte, len(secret))
				_, err = unix.Read(fd, text)
				return errors.Join(err, same(text))
			}},
		{Number: 55, Name: "open /proc/sys/kernel/core_pattern to write", StoppedBy: "uid drop, Landlock", Root: true,
			inside: func(Place) error { return openToWrite("/proc/sys/kernel/core_pattern") }},
		{Number: 56, Name: "leave the control group", StoppedBy: "minimal root, Landlock", Root: true,
			inside: func(Place) error {
				files, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
				for _, file := range append(files, "/sys/fs/cgroup/cgroup.procs") {
					if openToWrite(file) == nil {
						return nil
					}
				}
				return errors.New("there is no control group to go to")
			}},
		{Number: 57, Name: "set the clock", StoppedBy: "dropped capabilities, seccomp", Root: true,
			inside: func(Place) error { // to tick as it does
				var now unix.Timex
				if _, err := unix.Adjtimex(&now); err != nil {
					return err
				}
				const tick = 0x4000
				_, err := unix.Adjtimex(&unix.Timex{Modes: tick, Tick: now.Tick})
				return err
			}},
		{Number: 61, Name: "keep something in a keyring", StoppedBy: "seccomp",
			inside: func(Place) error {
				_, err := unix.AddKey("user", "abuse", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
				return err
			}},
		{Number: 63, Name: "use bpf()", StoppedBy: "seccomp, dropped capabilities",
			inside: func(Place) error {
				// An array of one element: type, size of key, size of value, entries.
				var attr [128]byte
				for i, value := range []uint32{2, 4, 8, 1} {
					order.PutUint32(attr[4*i:], value)
				}
				return opened(call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
			}},
		{Number: 66, Name: "start a sandbox in the sandbox", StoppedBy: "seccomp, Landlock",
			inside: func(Place) error {
				return exec.Command("bwrap", "--unshare-user", "--ro-bind", "/", "/", "true").Run()
			}},
		{Number: 69, Name: "learn where its control group is", StoppedBy: "cgroup namespace",
			inside: func(Place) error {
				text, err := os.ReadFile("/proc/self/cgroup")
				if err != nil {
					return err
				}
				for line := range strings.Lines(string(text)) {
					if parts := strings.SplitN(strings.TrimSpace(line), ":", 3); len(parts) == 3 && parts[2] != "/" {
						return nil
					}
				}
				return errors.New("it is the root, as it seems")
			}},
	}
}

// openDisk makes device files for the disks that the machine has and opens one to read.
func openDisk(p Place) error {
	text, err := os.ReadFile("/proc/partitions")
	if err != nil {
		return err
	}
	err = errors.New("the machine has no disk")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] == "major" {
			continue
		}
		path := p.Work + "/disk"
		if err = unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(parse(fields[0]), parse(fields[1])))); err != nil {
			return err
		}
		var file *os.File
		file, err = os.Open(path)
		os.Remove(path)
		if err == nil {
			return file.Close()
		}
	}
	return err
}
