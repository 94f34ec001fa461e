package sandbox_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
)

// leaveEverywhere leaves a marker in every folder and changes every file that the
// command can write to, however it came to be writable, and prints them. It walks all that is
// mounted but /proc and what is mounted read-only, where access(2) calls no file and no folder
// writable. What access(2) calls writable is tried, as more than file modes keeps commands
// from writing.
const leaveEverywhere = `while read -r _ _ _ _ at options _; do
	case $at,$options, in /proc,*|*,ro,*) continue; esac
	find "$at" -xdev \( -type d -o -type f \) -writable -print 2>/dev/null
done </proc/self/mountinfo | while IFS= read -r place; do
	if test -c "$place"; then continue; fi # find takes a device that is mounted for a file
	if test -d "$place"; then to=$place/marker-of-a-room; else to=$place; fi
	(echo left-in-a-file >>"$to") 2>/dev/null && echo "$place"
done
true`

// lookEverywhere prints the places that have markers. It leaves out the folders of programs
// and libraries: a room that could write to those has said so.
const lookEverywhere = `grep -rls left-in-a-file /work /home /cache /tmp /dev/shm /run /var /etc 2>/dev/null
find / -xdev -name marker-of-a-room 2>/dev/null
true`

// F-01: a marker that a room leaves in any place that can be written to, found by walking the
// room from inside, is seen in no other room, while the first is open and after it.
func TestMarkersAnywhereStayInTheirRoom(t *testing.T) {
	confinedMechanisms(t, func(t *testing.T, box *sandbox.Box) {
		e := MustEstate(t, box)
		var own []string
		for _, folder := range room.Writable() {
			own = append(own, folder+"/")
		}
		for _, tree := range []string{e.dir, e.spec.Tree} {
			MustWrite(t, filepath.Join(tree, "file"), "source\n")
			MustGive(t, box, filepath.Join(tree, "file"))
		}
		e.base(t, `mkdir -p "$GOCACHE/00"; echo entry >"$GOCACHE/00/entry"`)
		prepare := func(t *testing.T) pawl.PrepareRoom {
			p, err := e.Prepare(t.Context(), pawl.PrepareSpec{Run: e.spec.Run, Commit: e.spec.Commit, Tree: e.spec.Tree, Key: key(1)})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		open := map[string]func(t *testing.T) pawl.Room{
			"a gate": func(t *testing.T) pawl.Room {
				r, err := e.Gate(t.Context(), e.spec)
				if err != nil {
					t.Fatal(err)
				}
				return r
			},
			"a preparation": func(t *testing.T) pawl.Room { return prepare(t) },
			"an agent": func(t *testing.T) pawl.Room {
				folder := MustFolder(t, box)
				r, err := e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: filepath.Join(folder, "dir")})
				if err != nil {
					t.Fatal(err)
				}
				return r
			},
		}
		for name, from := range open {
			r := from(t)
			result := MustRun(t, r, pawl.Command{Shell: leaveEverywhere, Timeout: cheatLimit})
			places := strings.Fields(string(result.Output))
			t.Logf("%s writes to %v", name, places)
			for _, folder := range own {
				if !slices.Contains(places, strings.TrimSuffix(folder, "/")) {
					t.Errorf("%s cannot write to %s, which it has for that", name, folder)
				}
			}
			for _, place := range places {
				if !slices.ContainsFunc(own, func(folder string) bool { return strings.HasPrefix(place+"/", folder) }) {
					t.Errorf("%s writes to %s", name, place)
				}
			}
			look := func(when string) {
				for other, to := range open {
					if other == name && name == "an agent" {
						continue // the same room
					}
					r := to(t)
					if found := MustRun(t, r, pawl.Command{Shell: lookEverywhere, Timeout: cheatLimit}); len(found.Output) > 0 {
						t.Errorf("%s sees what %s left in %s, %s", other, name, found.Output, when)
					}
					closeRoom(t, e, r, other)
				}
				base, err := e.Base(t.Context(), e.spec)
				if found := e.says(t, base, err, lookEverywhere); found != "" {
					t.Errorf("the base sees what %s left in %s, %s", name, found, when)
				}
			}
			look("while it is open")
			closeRoom(t, e, r, name)
			look("after it")
		}
	})
}

// closeRoom closes a room; an agent's is left.
func closeRoom(t *testing.T, e *estate, r pawl.Room, name string) {
	t.Helper()
	err := r.Close()
	if name == "an agent" {
		err = e.Leave("001", "001")
	}
	if err != nil {
		t.Error(err)
	}
}
