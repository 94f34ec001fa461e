//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/testsize"
)

// A deletion that is killed before or after any change of a ref, leaving a lock behind, is
// finished by the next one, and no commit is lost. F-31
func TestKilledWhileDeleting(t *testing.T) {
	t.Parallel()
	v := subjectOf("coherence").taken(t).ended // tests that have it already look at its ending only
	v.numbered(t)
	step := testsize.Of(2, 1, 1) // between kills
	const run = "001-five-lists"
	before := strings.Fields(v.git(t, "rev-list", "--glob=refs/heads/pawl", "--glob=refs/pawl"))
	branches := len(strings.Fields(v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl")))
	checkout := v.git(t, "status", "--porcelain=v2", "--branch")
	bin := filepath.Join(v.home, "bin")
	kills, changes := 0, 0
	for ; ; kills++ {
		when := []string{"before", "after"}[kills%2]
		mustWrite(t, filepath.Join(bin, "calls"), "")
		at := step * (1 + kills%3) // only one that comes after a change gets on
		mustWrite(t, filepath.Join(bin, when), fmt.Sprintln(at))
		out, err := v.pawl("rm", run)
		if rerr := os.Remove(filepath.Join(bin, when)); rerr != nil {
			t.Fatal(rerr)
		}
		if err == nil {
			changes += len(v.calls(t))
			break
		}
		changes += at - 1 + kills%2
		if !strings.Contains(err.Error(), "signal: killed") || kills > 200 {
			t.Fatalf("after %d kills: %v\n%s", kills, err, out)
		}
		if list, err := v.pawl("list", "--json"); err != nil || strings.Contains(list, run) {
			t.Fatalf("after %d kills it is listed: %v\n%s", kills+1, err, list)
		}
		if out, err := v.pawl("resume", run); err == nil || !strings.Contains(out, "was deleted on") {
			t.Fatalf("after %d kills it can be resumed: %v\n%s", kills+1, err, out)
		}
		mustWrite(t, filepath.Join(v.repo, ".git", "packed-refs.lock"), "")
	}
	if kills < 3 || changes < branches {
		t.Errorf("it was killed %d times in %d changes, and had %d branches", kills, changes, branches)
	}
	if left := v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl", "refs/pawl/checkpoints"); left != "" {
		t.Errorf("left: %s", left)
	}
	after := map[string]bool{}
	for _, commit := range strings.Fields(v.git(t, "rev-list", "--glob=refs/pawl/salvage/"+run)) {
		after[commit] = true
	}
	for _, commit := range before {
		if !after[commit] {
			t.Errorf("commit %s is lost", commit)
		}
	}
	if now := v.git(t, "status", "--porcelain=v2", "--branch"); now != checkout {
		t.Errorf("the checkout changed from\n%s\nto\n%s", checkout, now)
	}
	if out, err := v.pawl("show", run); err != nil || !strings.Contains(out, "Five lists") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := v.pawl("rm", run, "--now"); err != nil || !strings.Contains(out, "Nothing is kept.") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := v.git(t, "for-each-ref", "refs/heads/pawl", "refs/pawl"); left != "" {
		t.Errorf("left: %s", left)
	}
}
