//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/project"
)

// A tree is driven by the daemon that its first client has started: the client goes,
// another one approves, the daemon is ended in the middle, and the next one goes on with
// it by itself. R-03 R-51 R-52 R-78
func TestLooprInTheDaemon(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	begun, dir := y.fifo("begun"), y.repo("parts")
	mustWrite(t, filepath.Join(dir, ".pawl/recipes/small.yaml"), smallLoopr)
	script := y.script("loopr.yaml", strings.Replace(looprScript(), `calls: [{write: {path: a2.txt, content: "made\n"}}]`,
		`calls: [{run: {command: "echo begun > WORK/begun; head -1 WORK/go; echo made > a2.txt"}}]`, 1))
	if err := syscall.Mkfifo(filepath.Join(y.home, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"add .", "commit -q -m recipe"} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir, cmd.Env = dir, y.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}

	client := y.start(y.pawl(dir, "run", "Two parts", "--recipe", "small", "--unsandboxed", "--gate", "tests=test -e README", "--model", script))
	client.wait("Question 1")
	client.signal(os.Interrupt)
	_ = client.end()

	// Another client finds what is to be decided, and decides.
	if out := y.must(dir, "inbox"); !strings.Contains(out, "pawl plan approve 001-two-parts") {
		t.Errorf("the inbox says %s", out)
	}
	about := regexp.MustCompile(`--about (\S+)`).FindStringSubmatch(y.must(dir, "plan", "show"))
	if about == nil {
		t.Fatal(y.must(dir, "plan", "show"))
	}
	if out := y.must(dir, "plan", "approve", "1", "--about", about[1]); !strings.Contains(out, "is approved: 2 specs spawned") {
		t.Errorf("it says %s", out)
	}
	hear(t, begun, 1, nil)
	top := y.must(dir, "top", "--once")
	if !strings.Contains(top, "001-two-parts") {
		t.Errorf("it says %s", top)
	}

	// The daemon is ended while loops are at work.
	daemon := y.status()
	if daemon == nil {
		t.Fatal("there is no daemon")
	}
	if err := syscall.Kill(daemon.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	y.say("go")                                               // the active effects finish
	for held, late := true, time.Now().Add(deadline); held; { // there is no event for a process that is not ours
		<-time.After(5 * time.Millisecond)
		if time.Now().After(late) {
			t.Fatalf("the daemon (process %d) has not ended after %s", daemon.PID, deadline)
		}
		var err error
		if _, held, err = project.HomeAt(filepath.Join(y.home, "state")).Holder(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	y.noOrphans()

	// To look at it changes nothing; the next daemon goes on with it by itself.
	if out := y.must(dir, "list"); !strings.Contains(out, "interrupted") {
		t.Errorf("it says %s", out)
	}
	y.must(dir, "serve", "--background")
	for late := time.Now().Add(deadline); ; { // F-66: logs -f follows a run only while a process drives it
		daemon := y.status()
		if daemon != nil && len(daemon.Projects) == 1 && !daemon.Projects[0].Closed && y.outcomes(dir)[0] != "interrupted " {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("the next daemon has not continued the run after %s: %+v", deadline, daemon)
		}
		<-time.After(5 * time.Millisecond) // there is no event for a process that is not ours
	}
	if out := y.must(dir, "logs", "1", "-f"); !strings.Contains(out, "COMPLETE: every gate passed") {
		t.Errorf("it says\n%s", out)
	}
	if got := y.outcomes(dir); len(got) != 1 || got[0] != "ended complete" {
		t.Errorf("the runs are %q", got)
	}
	if out := y.must(dir, "loops", "1"); !regexp.MustCompile(`beta +spec +complete +2/30 +2 `).MatchString(out) {
		t.Errorf("it says\n%s", out)
	}
	y.must(dir, "replay", "1")
	y.must(dir, "serve", "stop")
	y.noOrphans()
}
