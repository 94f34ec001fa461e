package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/sandbox"
)

// marks counts the marks that this process has made.
var marks atomic.Int64

// newMark returns a number of seconds to sleep that is on no other process's command line.
func newMark() string { return fmt.Sprintf("3600.%d%06d", os.Getpid(), marks.Add(1)) }

// marked lists the processes whose command line has the mark, and the holders of
// rooms: those whose program is in the folder.
func marked(mark, dir string) []int {
	entries, _ := os.ReadDir("/proc")
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		program, _ := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if bytes.Contains(line, []byte(mark)) || strings.HasPrefix(program, dir+"/") {
			out = append(out, pid)
		}
	}
	return out
}

// newRoomVictim returns a victim whose commands run in rooms. Each command leaves behind a
// process in a session of its own that would sleep for an hour, and has the mark.
func newRoomVictim(t *testing.T, mark, script, gate string, flags ...string) *victim {
	t.Helper()
	leave := "setsid sleep " + mark + " >/dev/null 2>&1 & "
	script = strings.ReplaceAll(script, `command: "`, `command: "`+leave)
	v := newVictim(t, pawlProgram(t), script, map[string]string{"README": "a repository\n"},
		append([]string{"make the files", "--recipe", "taskloop", "--require-green", "--gate", "tests=" + leave + gate}, flags...)...)
	v.inRooms = func() []int { return marked(mark, v.home) }
	bin := filepath.Join(v.home, "pawl")
	if err := os.Link(v.bin, bin); err != nil {
		program, err := os.ReadFile(v.bin)
		if err == nil {
			err = os.WriteFile(bin, program, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	v.bin = bin
	return v
}

// noLocks checks that no lock is left in the user's repository, other than those below some folders of it.
func (v *victim) noLocks(t *testing.T, except ...string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(v.repo, ".git"), func(path string, _ fs.DirEntry, err error) error {
		below := func(folder string) bool { return strings.HasPrefix(path, filepath.Join(v.repo, ".git", folder)+"/") }
		if strings.HasSuffix(path, ".lock") && !slices.ContainsFunc(except, below) {
			t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A run whose commands run in rooms is killed at any moment: no process of its rooms is left, nor a
// lock on what is the user's, and once resumed it ends as it would have. F-03
func TestKilledWithRoomsEndsTheSame(t *testing.T) {
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	t.Parallel()
	var open atomic.Int64
	killAnywhere(t, 1, 60, killing{
		victim: func(t *testing.T) *victim { return newRoomVictim(t, newMark(), killScript, killGate) },
		ending: (*victim).ending,
		killed: func(t *testing.T, v *victim) {
			// A git that is ended between making a lock and noting that it has, leaves it. On Pawl's own
			// branches the next process removes it.
			v.noLocks(t, "refs/heads/pawl", "refs/pawl")
			for _, e := range v.pending(t) {
				switch e.Do.(type) {
				case *pawl.CallTool, *pawl.RunGate:
					open.Add(1)
				}
			}
		},
		sound: func(v *victim, t *testing.T) {
			v.nothingLost(t)
			v.noLocks(t)
			left, err := filepath.Glob(filepath.Join(v.home, "state", "pawl", "*", "rooms", "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("of the rooms is left: %v, %v", left, err)
			}
		},
	})
	t.Cleanup(func() {
		if open.Load() == 0 && !testing.Short() {
			t.Error("no kill hit a tool's call or a gate")
		}
	})
}

// A holder that dies under a command costs that command and nothing else: an agent's room is put together
// again with what was written in it, a gate has not passed, and the run comes to its end.
func TestHolderKilledInARun(t *testing.T) {
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	t.Parallel()
	script := func(first string) string {
		return `
answers:
  - when: {step: assess}
    calls: [{submit_assessment: {files: 1, lines: 5, new_dependencies: 0, type: implementation, risks: [], why: small}}]
  - when: {step: implement, iteration: 1, turn: 1}
    calls:
      - run: {command: "` + first + `"}
  - when: {step: implement, iteration: 1, turn: 2}
    calls:
      - run: {command: "cat ~/one >two.txt"}
  - when: {step: implement, iteration: 2, turn: 1}
    calls:
      - run: {command: "rm -f slow"}
  - when: {step: implement}
    calls: [{submit_result: {summary: done}}]
  - when: {step: requirements}
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [README]}], summary: fine}}]
`
	}
	const write = "echo 1 >one.txt; echo 1 >~/one; "
	for name, test := range map[string]struct{ script, gate string }{
		"Agent": {script(write + "exec sleep 3000"), "test -e one.txt && test -e two.txt"},
		"Gate":  {script(write + "touch slow"), "test -e one.txt && test -e two.txt && { test ! -e slow || exec sleep 3000; }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newRoomVictim(t, newMark(), test.script, test.gate)
			cmd := v.command()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			v.started = true
			hangs := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
			defer hangs.Stop()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			kills, err := 0, error(nil)
			for running := true; running; {
				for _, pid := range sleepers(cmd.Process.Pid, v.bin) {
					kills++
					_ = syscall.Kill(pid, syscall.SIGKILL) // one that has ended is as good
				}
				select {
				case err = <-ended:
					running = false
				case <-time.After(5 * time.Millisecond): // there is no event for a process that is not ours
				}
			}
			if err != nil {
				t.Errorf("%v\n%s", err, v.out.String())
			}
			if kills == 0 {
				t.Errorf("no holder was killed\n%s", v.out.String())
			}
			v.nothingRuns(t)
			v.nothingLost(t)
			if got := v.git(t, "show", v.runBranch(t)+":two.txt"); got != "1" {
				t.Errorf("two.txt holds %q", got)
			}
		})
	}
}

// sleepers returns the holders below a process in whose rooms a command sleeps.
func sleepers(root int, program string) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); string(line) != "sleep\x003000\x00" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if pid = above(pid, program, root); pid != 0 && !slices.Contains(out, pid) {
			out = append(out, pid)
		}
	}
	return out
}

// above returns the nearest process above another one that runs the program and is below the
// root; 0 if there is none.
func above(pid int, program string, root int) int {
	for pid > 1 && pid != root {
		if is, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && is == program {
			return pid
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0
		}
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return 0
		}
	}
	return 0
}
