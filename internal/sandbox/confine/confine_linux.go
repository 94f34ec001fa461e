package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Missing lists the features that spec asks for and this kernel does not have.
func Missing(spec Spec) []Feature {
	missing := missingLandlock(spec, ABI())
	if !hasSeccomp() {
		missing = append(missing, Seccomp)
	}
	return missing
}

// Main confines this process and becomes the command in args, which [Spec.Args]
// made. It returns only if it could not, with the process's exit code, after it
// has written the reason to the Spec's Report, or else to standard error. The
// exit codes for a command that cannot be executed are those of shells.
func Main(args []string) int {
	spec, argv, err := Parse(args)
	code := ExitRefused
	if err == nil {
		err = Apply(spec)
	}
	if err == nil {
		err = execute(argv)
		code = exitNotFound
		if !errors.Is(err, unix.ENOENT) {
			code = exitNotExecutable
		}
	}
	message := fmt.Appendf(nil, "confine: %v\n", err)
	if spec.Report == 0 {
		spec.Report = 2
	}
	_, _ = unix.Write(spec.Report, message) // there is nobody else to tell
	return code
}

// Apply confines the calling thread, and with it whatever this thread executes
// next. The caller must do that soon and do little else before. If a feature is
// missing that the Spec does not accept, it changes nothing and returns an error.
func Apply(spec Spec) error {
	runtime.LockOSThread()
	missing := Missing(spec)
	for _, feature := range missing {
		if !slices.Contains(spec.Accept, feature) {
			return fmt.Errorf("this kernel does not have %s", feature)
		}
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up gaining rights: %w", err)
	}
	if !slices.Contains(missing, Landlock) {
		if err := applyLandlock(spec, ABI()); err != nil {
			return fmt.Errorf("apply Landlock: %w", err)
		}
	}
	var filter []unix.SockFilter
	if !slices.Contains(missing, Seccomp) {
		var err error
		if filter, err = assemble(filterOf(spec)); err != nil {
			return fmt.Errorf("make the seccomp filter: %w", err)
		}
	}
	if err := limit(spec.Limits); err != nil {
		return err
	}
	if filter != nil {
		if err := applySeccomp(filter); err != nil {
			return fmt.Errorf("apply seccomp: %w", err)
		}
	}
	return nil
}

// closeOnExec marks all descriptors but 0, 1 and 2.
func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Before Linux 5.11 they have to be found one by one.
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// limit sets the resource limits. A limit that is above what this process may
// have stays where it is, which is lower.
func limit(l Limits) error {
	for _, set := range []struct {
		name     string
		resource int
		value    uint64
		always   bool
	}{
		{"core size", unix.RLIMIT_CORE, 0, true},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize, false},
		{"open files", unix.RLIMIT_NOFILE, l.OpenFiles, false},
		{"CPU time", unix.RLIMIT_CPU, l.CPU, false},
		{"memory", unix.RLIMIT_DATA, l.Data, false},
		{"processes", unix.RLIMIT_NPROC, l.Processes, false},
	} {
		if set.value == 0 && !set.always {
			continue
		}
		var now unix.Rlimit
		if err := unix.Getrlimit(set.resource, &now); err != nil {
			return fmt.Errorf("read the limit on %s: %w", set.name, err)
		}
		value := min(set.value, now.Max)
		limit := unix.Rlimit{Cur: value, Max: value}
		if set.resource == unix.RLIMIT_CPU {
			// At the hard limit the kernel kills the process. A second before, it sends
			// SIGXCPU, which says why the process ended.
			limit.Max = min(set.value+1, now.Max)
		}
		if err := unix.Setrlimit(set.resource, &limit); err != nil {
			return fmt.Errorf("limit %s: %w", set.name, err)
		}
	}
	return nil
}

// execute becomes the command, found as shells find it, and returns only on failure.
func execute(argv []string) error {
	environ := os.Environ()
	paths := []string{argv[0]}
	if !strings.Contains(argv[0], "/") {
		paths = paths[:0]
		for _, folder := range strings.Split(os.Getenv("PATH"), ":") {
			paths = append(paths, folder+"/"+argv[0])
		}
	}
	failure := error(unix.ENOENT)
	for _, path := range paths {
		err := unix.Exec(path, argv, environ)
		if errors.Is(err, unix.ENOEXEC) { // a script without a first line that names its interpreter
			err = unix.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), environ)
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			failure = err // a program that was found and cannot be executed says more than the folders without it
		}
	}
	return fmt.Errorf("execute %s: %w", argv[0], failure)
}
