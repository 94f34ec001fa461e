package project_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// Where nothing can be stored, the error says where, why and what to do. F-18
func TestUnwritable(t *testing.T) {
	at := func(err error) error {
		return fmt.Errorf("describe the project: %w", &fs.PathError{Op: "open", Path: "/s/pawl/p/project.json.1234", Err: err})
	}
	const elsewhere = "or set XDG_STATE_HOME to "
	for _, test := range []struct {
		err        error
		says, hint string
	}{
		{at(syscall.EROFS), "nothing can be stored in /s/pawl/p: read-only file system", "mount the file system for writing, " + elsewhere + "a folder on another one"},
		{at(syscall.EACCES), "nothing can be stored in /s/pawl/p: permission denied", "check the owner and mode of the folder, " + elsewhere + "another one"},
		{at(syscall.ENOSPC), "nothing can be stored in /s/pawl/p: no space left on device", "free disk space; nothing that was stored is lost"},
		{&net.OpError{Op: "listen", Net: "unix", Err: os.NewSyscallError("bind", syscall.EACCES)}, "nothing can be stored: listen unix: bind: permission denied", "check the owner and mode of the folder, " + elsewhere + "another one"},
		{errors.Join(at(syscall.EACCES), at(syscall.EROFS)), "nothing can be stored in /s/pawl/p: permission denied", "mount the file system for writing, " + elsewhere + "a folder on another one"},
	} {
		got, ok := errors.AsType[*pawl.Error](project.Unwritable(test.err))
		if !ok || got.Code != pawl.CodeUnavailable || got.Error() != test.says || got.Hint != test.hint {
			t.Errorf("%v: got %v, want %s\n%s", test.err, got, test.says, test.hint)
		}
	}
	for _, err := range []error{nil, errors.New("something else"), pawl.Errorf(pawl.CodeConflict, "held: %w", syscall.EACCES)} {
		if got := project.Unwritable(err); got != err { //nolint:errorlint // the same one
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
