//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
	"pawl/internal/store/sqlite"
	"pawl/internal/testsize"
)

// killsEachRun is how many times one run is killed, unless the tests run with -short.
const killsEachRun = 5

// killScript plays a task that fails twice, escalates and passes, with a call of
// every crash class. A call the kill interrupted is made again.
const killScript = `
answers:
  - when: {step: assess}
    delay_ms: 4
    calls: [{submit_assessment: {files: 1, lines: 5, new_dependencies: 0, type: implementation, risks: [], why: small}}]
  - when: {step: implement, iteration: 1, turn: 1}
    delay_ms: 4
    calls:
      - list: {path: .}
      - write: {path: one.txt, content: "1\n"}
      - write: {path: deep/two.txt, content: "2\n"}
  - when: {step: implement, iteration: 1, turn: 2}
    delay_ms: 4
    calls: [{run: {command: "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; echo made > made.txt"}}]
  - when: {step: implement, iteration: 2, turn: 1}
    calls: [{edit: {path: one.txt, old: "1", new: "one"}}]
  - when: {step: implement, iteration: 2, turn: 2}
    calls: [{run: {command: "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; cat one.txt"}}, {grep: {pattern: one}}]
  - when: {step: implement, iteration: 3, turn: 1}
    calls: [{write: {path: want.txt, content: "yes\n"}}]
  - when: {step: implement}
    calls: [{submit_result: {summary: done}}]
  - when: {step: requirements}
    delay_ms: 4
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [README]}], summary: fine}}]
`

const killGate = `echo 1..2; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; test -f one.txt && echo "ok 1 one" || echo "not ok 1 one"; test -f want.txt && echo "ok 2 want" || { echo "not ok 2 want"; exit 1; }`

// A run that is killed at any moment and resumed ends in the same tree, with the
// same outcome and the same verdict of every iteration; nothing is lost, no
// process is left over.
func TestKilledAnywhereEndsTheSame(t *testing.T) {
	t.Parallel()
	const runs = 50
	var mu sync.Mutex // guards the counts
	classes, inside, done := map[pawl.CrashClass]int{}, 0, 0
	t.Run("runs", func(t *testing.T) {
		k := subjectOf("taskloop").killing()
		k.killed = func(t *testing.T, v *victim) {
			pending := v.pending(t)
			mu.Lock()
			defer mu.Unlock()
			done++
			if len(pending) > 0 {
				inside++
			}
			for _, f := range pending {
				classes[f.Class]++
			}
		}
		killAnywhere(t, 1, runs, k)
	})
	t.Logf("%d kills, %d inside an effect, by class %v", done, inside, classes)
	if testing.Short() || t.Failed() {
		return
	}
	n := testsize.Cases(1, runs) * killsEachRun / 2 // some runs end before killsEachRun kills
	if done < n {
		t.Errorf("only %d kills, want %d", done, n)
	}
	if inside < n/4 {
		t.Errorf("%d of the kills were inside an effect, want %d at least", inside, n/4)
	}
	if testsize.Of(true, true, false) {
		return // few kills may miss the rare classes
	}
	for c := pawl.CrashRepeat; c <= pawl.CrashOnce; c++ {
		if classes[c] == 0 {
			t.Errorf("no kill hit an effect of class %s", c)
		}
	}
}

// killing is a kind of run that is killed at any moment.
type killing struct {
	victim func(*testing.T) *victim
	// ending is what must not depend on kills.
	ending func(*victim, *testing.T) string
	killed func(*testing.T, *victim) // after each kill; nil looks at nothing
	sound  func(*victim, *testing.T) // checks a run that has ended
	// undisturbed returns a run that is not killed; nil lets a victim come to its end.
	undisturbed func(*testing.T) *reference
}

// killAnywhere lets one run come to its end undisturbed, then others side by
// side that are killed at random moments and resumed: they must end the same.
// A soak kills all of them; with -short, only the first short are killed.
func killAnywhere(t *testing.T, short, all int, k killing) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("PAWL_KILL_SEED"); s != "" {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = v
	}
	t.Logf("repeat with PAWL_KILL_SEED=%d", seed)
	var r *reference
	if k.undisturbed != nil {
		r = k.undisturbed(t)
	} else {
		r = finished(t, k.victim(t), k.ending, k.sound)
	}
	for i := range all {
		if !testsize.Case(i, short) {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, uint64(i)))
			v := k.victim(t)
			for range testsize.Of(2, killsEachRun, killsEachRun) {
				if v.ended(t) {
					break
				}
				// Kills are placed by events, so that a slow machine kills as often. The delay of
				// up to two mean event intervals spreads the kills between events.
				v.killAfter(t, rnd.IntN(2*r.events/killsEachRun), time.Duration(rnd.Int64N(2*int64(r.lasts)/int64(r.events))))
				if k.killed != nil {
					k.killed(t, v)
				}
			}
			v.finish(t)
			if got := k.ending(v, t); got != r.want {
				t.Errorf("after being killed:\n got %s\nwant %s\nlog:\n%s", got, r.want, v.out.String())
			}
			k.sound(v, t)
		})
	}
}

// victim is a repository with one run that is killed and resumed.
type victim struct {
	bin, home, repo string
	env             []string
	begin           []string // the arguments that start the run
	started         bool
	out             bytes.Buffer
	took            time.Duration
	seqs            []pawl.Seq // of the log after each kill
	told            pawl.Seq   // the last event that a command has printed
	// inRooms lists processes in rooms, where folders have other names; it may be nil.
	inRooms func() []int
}

// newVictim makes a repository of files, for a run that the script speaks in.
func newVictim(t *testing.T, bin, script string, files map[string]string, run ...string) *victim {
	t.Helper()
	return newVictimIn(t, bin, t.TempDir(), script, files, run...)
}

// newVictimIn makes the repository in an existing home.
func newVictimIn(t *testing.T, bin, home, script string, files map[string]string, run ...string) *victim {
	t.Helper()
	v := victimIn(bin, home)
	for name, content := range files {
		mustWrite(t, filepath.Join(v.repo, name), content)
	}
	mustWrite(t, filepath.Join(v.home, "script.yaml"), script)
	v.begin = append(append([]string{"run"}, run...), "--model", "script:"+filepath.Join(v.home, "script.yaml"))
	v.git(t, "init", "-q", "-b", "main")
	v.git(t, "add", ".")
	v.git(t, "commit", "-q", "-m", "first")
	return v
}

// victimIn returns a victim whose home, with its repository and its state, is the folder.
func victimIn(bin, home string) *victim {
	v := &victim{bin: bin, home: home, repo: filepath.Join(home, "repo")}
	v.env = append(os.Environ(), "PAWL_LOCAL=1", "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", noRaceWait)
	return v
}

func (v *victim) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = v.repo, v.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// pawl runs another command in the victim's repository. If the command does not end in time, it is
// made to print the stacks of its goroutines.
func (v *victim) pawl(args ...string) (string, error) {
	const limit = 15 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, v.bin, args...)
	cmd.Dir, cmd.Env = v.repo, append(slices.Clone(v.env), "GOTRACEBACK=all")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("pawl %s did not end within %s: %w", strings.Join(args, " "), limit, err)
	}
	return string(out), err
}

// command returns the command that starts the run or resumes it.
func (v *victim) command(flags ...string) *exec.Cmd {
	args := []string{"resume", "1"}
	if !v.started {
		args = v.begin
	}
	cmd := exec.Command(v.bin, append(slices.Clone(args), flags...)...)
	cmd.Dir, cmd.Env = v.repo, v.env
	cmd.Stdout, cmd.Stderr = &v.out, &v.out
	return cmd
}

// killAfter lets the run append a number of further events and then work for d, and kills
// it with SIGKILL. The run may end or die earlier.
func (v *victim) killAfter(t *testing.T, events int, d time.Duration) {
	t.Helper()
	v.strikeAfter(t, v.command("--json"), events, d, func(p *os.Process) { _ = p.Kill() })
}

// strikeAfter lets a command, which prints the run's events as JSON, append a number of further
// events and then work for d, and does something to it. It returns when the command has ended,
// which it may do earlier.
func (v *victim) strikeAfter(t *testing.T, cmd *exec.Cmd, events int, d time.Duration, strike func(*os.Process)) {
	t.Helper()
	var from pawl.Seq
	if s := v.state(t); s != nil {
		from = s.Seq
	}
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(deadline, func() {
		t.Errorf("%v has not ended after %s", cmd.Args, deadline)
		killTree(cmd.Process.Pid)
	})
	defer hangs.Stop()
	var timer *time.Timer
	begin := func() { timer = time.AfterFunc(d, func() { strike(cmd.Process) }) }
	if events == 0 {
		begin()
	}
	for in := json.NewDecoder(out); ; {
		var e struct{ Seq pawl.Seq }
		if in.Decode(&e) != nil {
			break
		}
		v.told = max(v.told, e.Seq)
		if timer == nil && e.Seq >= from+pawl.Seq(events) {
			begin()
		}
	}
	_ = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	v.started = v.started || v.hasRun(t)
	v.nothingRuns(t)
}

// killTree kills a process and all that descend from it. strace, killed alone, would let what it
// traces go on.
func killTree(pid int) {
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for child := range strings.FieldsSeq(string(out)) {
		if n, err := strconv.Atoi(child); err == nil {
			killTree(n)
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// finish lets the run go on to its end.
func (v *victim) finish(t *testing.T) {
	t.Helper()
	from := time.Now()
	if !v.started || !v.ended(t) {
		if err := v.command().Run(); err != nil {
			t.Fatalf("%v\n%s", err, v.out.String())
		}
		v.started = true
	} else { // killed after its last event: the next process cleans up, and finds nothing to resume
		_ = v.command().Run()
	}
	v.took = time.Since(from)
	v.nothingRuns(t)
}

func (v *victim) log(t *testing.T) *sqlite.Log {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(v.home, "state", "pawl", "*", "pawl.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return nil
	}
	l, err := sqlite.OpenReadOnly(filepath.Dir(found[0]))
	if pawl.CodeOf(err) == pawl.CodeNotFound {
		return nil // killed while it was made
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// state folds the run as the log has it; nil when there is none yet.
func (v *victim) state(t *testing.T) *kernel.State {
	t.Helper()
	l := v.log(t)
	if l == nil {
		return nil
	}
	defer l.Close()
	runs, err := l.Runs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return nil
	}
	s, err := local.Fold(context.Background(), l, runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (v *victim) hasRun(t *testing.T) bool { return v.state(t) != nil }

func (v *victim) ended(t *testing.T) bool {
	s := v.state(t)
	return s != nil && s.Status == pawl.StatusEnded
}

func (v *victim) pending(t *testing.T) []*pawl.Effect {
	s := v.state(t)
	if s == nil {
		return nil
	}
	if n := len(v.seqs); n > 0 && s.Seq < v.seqs[n-1] {
		t.Errorf("the log had %d events and now has %d", v.seqs[n-1], s.Seq)
	}
	v.seqs = append(v.seqs, s.Seq)
	return kernel.Pending(s)
}

// ending is what must not depend on kills: the tree, the outcome and the verdicts.
func (v *victim) ending(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.IterationEnded:
			fmt.Fprintf(&out, "%d tier %d quality %s requirements %s %s; ", b.N, b.Tier, b.Quality, b.Requirements, b.Decision)
		case *pawl.RunEnded:
			fmt.Fprintf(&out, "%s; ", b.Outcome)
		}
	}
	branch := v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl/")
	fmt.Fprintf(&out, "tree %s", v.git(t, "rev-parse", branch+"^{tree}"))
	return out.String()
}

// nothingLost checks that the user's checkout is as it was and that the
// repository is sound.
func (v *victim) nothingLost(t *testing.T) {
	t.Helper()
	if out := v.git(t, "status", "--porcelain"); out != "" {
		t.Errorf("the user's checkout has changed:\n%s", out)
	}
	if head := v.git(t, "symbolic-ref", "HEAD"); head != "refs/heads/main" {
		t.Errorf("HEAD is %s", head)
	}
	v.git(t, "fsck", "--connectivity-only", "--no-dangling")
}

// nothingRuns waits until no process works in the victim's folders any more.
func (v *victim) nothingRuns(t *testing.T) {
	t.Helper()
	late := time.Now().Add(deadline)
	for {
		left := processesIn(v.home)
		if v.inRooms != nil {
			left = append(left, v.inRooms()...)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(late) {
			for _, pid := range left {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				t.Errorf("process %d still runs after %s: %s", pid, deadline, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			t.FailNow()
		}
		<-time.After(5 * time.Millisecond) // there is no event for a process that is not ours
	}
}

// processesIn lists the processes whose working folder is below dir.
func processesIn(dir string) []int {
	var out []int
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
			out = append(out, pid)
		}
	}
	return out
}
