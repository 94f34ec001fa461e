package sandbox_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/sandbox"
)

// What this process was started with reaches no program that it starts.
func TestInheritedDescriptors(t *testing.T) {
	for name, open := range map[string]func(){
		"confined": func() {
			if _, err := sandbox.New(t.Context(), sandbox.Options{Bubblewrap: "/nowhere/bwrap"}); err == nil {
				t.Error("there is a sandbox without bubblewrap")
			}
		},
		"unconfined": func() { sandbox.NewUnconfined(sandbox.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			fd, err := unix.Dup(1) // as if it were inherited: children get it
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Close(fd) }()
			open()
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d has the flags %#x, %v", fd, flags, err)
			}
		})
	}
}
