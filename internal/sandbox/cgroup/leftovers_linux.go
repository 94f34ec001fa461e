package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownerName is how the names of this process's groups begin: pawl-, the pid
// namespace, the pid, and when the process started, which tells it from a later one
// with its pid.
func ownerName() (string, error) {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	_, namespace, _ = strings.Cut(strings.TrimSuffix(namespace, "]"), "[")
	pid := os.Getpid()
	started, err := startTime(pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("pawl-%s-%d-%s-", namespace, pid, started), nil
}

var errEnded = errors.New("the process has ended")

// startTime is when a process started, in ticks since the machine did.
func startTime(pid int) (string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// The name, in brackets, may hold anything. The start is field 22, the state field 3.
	end := strings.LastIndex(string(text), ") ")
	if end < 0 {
		return "", fmt.Errorf("process %d has no name", pid)
	}
	const from, state = 22, 3
	fields := strings.Fields(string(text)[end+2:])
	if len(fields) <= from-state || fields[0] == "Z" {
		return "", errEnded
	}
	return fields[from-state], nil
}

// RemoveLeftovers kills and removes the groups whose makers have died, and says
// how many there were. It leaves alone what other users or other pid namespaces made.
func (h *Host) RemoveLeftovers() (int, error) {
	removed := map[string]bool{}
	var errs error
	for _, use := range h.hierarchies {
		entries, err := os.ReadDir(use.folder)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		for _, entry := range entries {
			if !entry.IsDir() || !h.orphaned(entry.Name()) {
				continue
			}
			part := use
			part.folder = filepath.Join(use.folder, entry.Name())
			err := part.remove(h.folders)
			if errors.Is(err, os.ErrPermission) { // another user's
				continue
			}
			if err != nil {
				errs = errors.Join(errs, err)
				continue
			}
			removed[entry.Name()] = true
		}
	}
	if errs != nil {
		errs = fmt.Errorf("remove left-over control groups: %w", errs)
	}
	return len(removed), errs
}

// orphaned reports whether a name is that of a group whose maker would be seen
// from here and is not alive.
func (h *Host) orphaned(name string) bool {
	parts := strings.SplitN(name, "-", 5)
	own := strings.SplitN(h.owner, "-", 5)
	if len(parts) != 5 || parts[0] != own[0] || parts[1] != own[1] {
		return false
	}
	pid, err := strconv.Atoi(parts[2])
	if err != nil || pid < 1 {
		return false
	}
	started, err := startTime(pid)
	if err != nil {
		// Any other error says nothing about the process.
		return errors.Is(err, errEnded) || errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
	}
	return started != parts[3]
}
