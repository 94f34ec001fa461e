// Package cgroup limits a group of processes with the kernel's control groups,
// version 2, version 1 or both, whichever this process may use. Both is usual on
// machines with the hybrid layout, where the controllers are in version 1 and
// version 2 has only what it can do without them: to kill a group at once.
//
// [Probe] finds out what there is by making a group and removing it. Nothing is
// weakened silently: [Host.Missing] says which of the limits cannot be enforced,
// and [Host.New] refuses to make a group without them.
//
// # Where groups are made
//
// Groups are made below the group that this process is in. In version 2 a group
// that has processes cannot give controllers to groups below it, unless it is the
// root of all. Then they are made beside it, in its parent, if that belongs to us: so it
// is in a session that systemd manages.
//
// # Leftovers
//
// The name of a group says which process made it: the pid, when that process started,
// and the pid namespace that the pid is from. [Host.RemoveLeftovers] kills and
// removes the groups of those that are dead.
package cgroup

import (
	"fmt"
	"strings"
)

// Limits are limits of a whole group; 0 is none.
type Limits struct {
	Processes int64   // processes and threads that exist at once
	Memory    int64   // bytes, with the page cache and sized file systems in memory
	CPU       float64 // processors' worth of time
}

// Met counts how often a group met its limits since it was made.
type Met struct {
	Processes int64 // a process or thread was refused
	Memory    int64 // a process was killed for want of memory
	CPU       int64 // periods of a tenth of a second in which the group had to wait
}

// named are the limits by the controller that enforces them.
func (l Limits) named() []namedLimit {
	return []namedLimit{
		{"pids", "processes", l.Processes > 0},
		{"memory", "memory", l.Memory > 0},
		{"cpu", "CPU time", l.CPU > 0},
	}
}

type namedLimit struct {
	controller, name string
	asked            bool
}

// Describe says in one line what is used.
func (h *Host) Describe() string {
	if len(h.hierarchies) == 0 {
		return "none: " + h.why
	}
	var parts []string
	for version := 2; version > 0; version-- {
		var can []string
		for _, hierarchy := range h.hierarchies {
			if hierarchy.version == version {
				can = append(can, hierarchy.controllers...)
			}
		}
		if h.has(version) {
			if version == 2 {
				can = append(can, "kill")
			}
			parts = append(parts, fmt.Sprintf("v%d (%s)", version, strings.Join(can, ", ")))
		}
	}
	return "cgroup " + strings.Join(parts, " and ")
}

// Missing names the limits that cannot be enforced here.
func (h *Host) Missing(l Limits) []string {
	var missing []string
	for _, limit := range l.named() {
		if limit.asked && !h.controls(limit.controller) {
			missing = append(missing, limit.name)
		}
	}
	return missing
}

func (h *Host) has(version int) bool {
	for _, hierarchy := range h.hierarchies {
		if hierarchy.version == version {
			return true
		}
	}
	return false
}

func (h *Host) controls(controller string) bool {
	for _, hierarchy := range h.hierarchies {
		if hierarchy.controls(controller) {
			return true
		}
	}
	return false
}

// Host is what this process may use of control groups.
type Host struct {
	hierarchies []hierarchy
	why         string // why there are none
	owner       string // how the names of this process's groups begin
	folders     folders
}

// hierarchy is a folder in which groups can be made.
type hierarchy struct {
	version     int
	folder      string
	controllers []string // those that groups in it have
}

func (p hierarchy) controls(controller string) bool {
	for _, c := range p.controllers {
		if c == controller {
			return true
		}
	}
	return false
}

// folders makes and removes groups. The kernel fills a new folder with files and
// lets a folder be removed that has them; a test must do both.
type folders struct {
	mkdir func(path string) error
	rmdir func(path string) error
}
