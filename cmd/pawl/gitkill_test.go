//go:build unix

package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/testsize"
)

// numbered lets the victim's program call git through a script that numbers the calls
// that make or move something, and can kill the program before or after one of them. Processes that
// stay for further calls are not numbered: how many there are depends on what happens at once.
func (v *victim) numbered(t *testing.T) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(v.home, "bin")
	mustWrite(t, filepath.Join(dir, "git"), fmt.Sprintf(`#!/bin/sh
case " $* " in
*" --stdin "*) exec %[2]s "$@" ;;
*" merge-tree "*|*" commit-tree "*|*" update-ref "*) ;;
*) exec %[2]s "$@" ;;
esac
PATH=/usr/bin:/bin:$PATH
echo "$$ $*" >>%[1]s/calls
n=$(grep -n "^$$ " %[1]s/calls | tail -n 1)
n=${n%%%%:*}
before=0 after=0
if test -e %[1]s/before; then read before <%[1]s/before; fi
if test -e %[1]s/after; then read after <%[1]s/after; fi
if test "$n" = "$before"; then kill -9 $PPID; exit 137; fi
%[2]s "$@"
rc=$?
if test "$n" = "$after"; then kill -9 $PPID; fi
exit $rc
`, dir, real))
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	v.env = append(v.env, "PATH="+dir+":"+os.Getenv("PATH"))
}

// calls are those that were numbered so far.
func (v *victim) calls(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(v.home, "bin", "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// A run in batches whose process dies before or after any call of git of a merge, a
// checkpoint or a rollback, leaving a lock behind, goes on and ends the same: no
// commit is lost, and the user's checkout is as it was. V-49 V-50 V-B12
func TestKilledAtCallsOfGit(t *testing.T) {
	if testing.Short() {
		t.Skip("each kill needs a whole run; make test-all runs them, and TestBatchesKilledAnywhereEndTheSame kills at random moments")
	}
	t.Parallel()
	bin := pawlProgram(t)
	victim := func(t *testing.T) *victim {
		v := newVictim(t, bin, listScript(), map[string]string{"README": "lists\n"}, "Five lists", "--recipe", "coherence", "--parallel", "2", "--unsandboxed",
			"--gate", "tests=test -e README")
		v.numbered(t)
		return v
	}
	undisturbed := victim(t)
	undisturbed.finish(t)
	want := undisturbed.batchEnding(t)
	calls := undisturbed.calls(t)
	for at := 1; at <= len(calls); at++ {
		for i, when := range []string{"before", "after"} {
			if !testsize.Case(2*at+i, 0) {
				continue
			}
			t.Run(fmt.Sprint(when, " ", at), func(t *testing.T) {
				t.Parallel()
				v := victim(t)
				marker := filepath.Join(v.home, "bin", when)
				mustWrite(t, marker, fmt.Sprintln(at))
				v.killAfter(t, math.MaxInt, 0) // the wrapped git kills it
				if err := os.Remove(marker); err != nil {
					t.Fatal(err)
				}
				if v.ended(t) {
					t.Fatalf("it ended before its call %d", at)
				}
				mustWrite(t, filepath.Join(v.repo, ".git", "refs", "heads", v.runBranch(t)+".lock"), "")
				v.finish(t)
				if got := v.batchEnding(t); got != want {
					t.Errorf("killed %s call %d, %s:\n got %s\nwant %s", when, at, calls[at-1], got, want)
				}
				v.nothingLost(t)
			})
		}
	}
}
