package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// wanted are the controllers that limit something, and the one that stops a
// group while it is killed.
var wanted = []string{"pids", "memory", "cpu", "freezer"}

// Probe finds out what this process may use.
func Probe() *Host {
	owner, err := ownerName()
	if err != nil {
		return &Host{why: err.Error()}
	}
	own, err1 := os.ReadFile("/proc/self/cgroup")
	mounts, err2 := os.ReadFile("/proc/self/mountinfo")
	if err := errors.Join(err1, err2); err != nil {
		return &Host{why: err.Error()}
	}
	kernel := folders{
		mkdir: func(path string) error { return os.Mkdir(path, 0o755) },
		rmdir: unix.Rmdir,
	}
	return probe(string(own), string(mounts), owner, kernel)
}

// probe reads what /proc/self/cgroup and /proc/self/mountinfo say.
func probe(own, mounts, owner string, f folders) *Host {
	h := &Host{owner: owner, folders: f}
	places := placesOf(own, mounts)
	if len(places) == 0 {
		h.why = "no control groups are mounted"
		return h
	}
	refused := errors.New("no controller is usable")
	for _, place := range places {
		use, err := h.usable(place)
		if err != nil {
			refused = err
			continue
		}
		h.hierarchies = append(h.hierarchies, use)
	}
	h.why = refused.Error()
	// What can stop a group kills it before the others are asked to.
	first := slices.IndexFunc(h.hierarchies, func(use hierarchy) bool { return use.version == 2 || use.controls("freezer") })
	if first > 0 {
		h.hierarchies[0], h.hierarchies[first] = h.hierarchies[first], h.hierarchies[0]
	}
	return h
}

// place is the group that this process is in, in one hierarchy.
type place struct {
	version     int
	root        string   // the hierarchy's topmost folder that is mounted
	folder      string   // of the group
	controllers []string // of those that are wanted, what version 1 has here
}

// placesOf lists the hierarchies that are mounted, version 2 first.
func placesOf(own, mounts string) []place {
	var places []place
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // number, controllers, group
		if len(parts) != 3 {
			continue
		}
		names := strings.Split(parts[1], ",")
		p := place{version: 1, controllers: slices.DeleteFunc(slices.Clone(names), func(c string) bool { return !slices.Contains(wanted, c) })}
		if parts[1] == "" {
			p.version = 2
		} else if len(p.controllers) == 0 {
			continue
		}
		var ok bool
		if p.root, p.folder, ok = mounted(mounts, p.version, names[0], parts[2]); ok {
			places = append(places, p)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return b.version - a.version })
	return places
}

// mounted finds the folder of a group. A line of mountinfo is
//
//	36 35 98:0 /root /mount/point options [fields] - type source super-options
//
// where root is the part of the hierarchy that is mounted.
func mounted(mounts string, version int, controller, group string) (top, folder string, ok bool) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, types := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(types) < 3 {
			continue
		}
		switch {
		case version == 2 && types[0] == "cgroup2":
		case version == 1 && types[0] == "cgroup" && slices.Contains(strings.Split(types[2], ","), controller):
		default:
			continue
		}
		below, err := filepath.Rel(fields[3], group)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") || strings.HasPrefix(group, "/..") {
			continue // the group is not in what is mounted, or not in our namespace
		}
		return fields[4], filepath.Join(fields[4], below), true
	}
	return "", "", false
}

// usable is where groups can be made in a hierarchy, shown by making one.
func (h *Host) usable(p place) (hierarchy, error) {
	if p.version == 1 {
		use := hierarchy{version: 1, folder: p.folder}
		for _, controller := range p.controllers {
			// Version 2 can stop and kill a group without a controller.
			if !h.controls(controller) && !(controller == "freezer" && h.has(2)) {
				use.controllers = append(use.controllers, controller)
			}
		}
		if len(use.controllers) == 0 {
			return use, fmt.Errorf("version 2 has all that is needed")
		}
		return use, h.tryOut(use.folder)
	}
	own := hierarchy{version: 2, folder: p.folder}
	for _, controller := range wanted {
		// Refused if the group has processes and is not the root, or has no such controller.
		_ = write(filepath.Join(own.folder, "cgroup.subtree_control"), "+"+controller)
	}
	own.controllers = delegated(own.folder)
	failure := h.tryOut(own.folder)
	if failure == nil && len(own.controllers) > 0 || p.folder == p.root {
		return own, failure
	}
	beside := hierarchy{version: 2, folder: filepath.Dir(p.folder), controllers: delegated(filepath.Dir(p.folder))}
	if len(beside.controllers) > 0 && unix.Access(filepath.Join(beside.folder, "cgroup.procs"), unix.W_OK) == nil && h.tryOut(beside.folder) == nil {
		return beside, nil
	}
	return own, failure
}

// delegated lists the controllers that groups in a folder of version 2 have.
func delegated(folder string) []string {
	text, err := os.ReadFile(filepath.Join(folder, "cgroup.subtree_control"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(c string) bool { return !slices.Contains(wanted, c) })
}

// tryOut makes a group and removes it.
func (h *Host) tryOut(folder string) error {
	path := filepath.Join(folder, h.owner+"probe")
	if err := h.folders.mkdir(path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := h.folders.rmdir(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // it is there already, or gone, when two goroutines probe at once
	}
	return nil
}
