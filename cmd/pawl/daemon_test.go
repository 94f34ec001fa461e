//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/cli"
	servecmd "pawl/internal/cli/serve"
	"pawl/internal/model/modeltest"
)

// yard is a user's home with repositories in it, and a daemon or none.
type yard struct {
	t         *testing.T
	bin, home string
	env       []string
}

func newYard(t *testing.T, bin string) *yard {
	t.Helper()
	home := t.TempDir()
	y := &yard{t: t, bin: bin, home: home, env: []string{
		"PATH=" + toolFolder(t, tools...), "HOME=" + home,
		"XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@localhost", noRaceWait,
	}}
	t.Cleanup(func() {
		_ = y.pawl(home, "serve", "stop").Run()
		if log, err := os.ReadFile(filepath.Join(home, "state", "pawl", "daemon.log")); err == nil && t.Failed() {
			t.Logf("log of background daemons:\n%s", log)
		}
	})
	return y
}

// repo makes a repository with one commit.
func (y *yard) repo(name string) string {
	y.t.Helper()
	dir := filepath.Join(y.home, name)
	mustWrite(y.t, filepath.Join(dir, "README"), name+"\n")
	for _, line := range []string{"init -q -b main", "add .", "commit -q -m first"} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir, cmd.Env = dir, y.env
		if out, err := cmd.CombinedOutput(); err != nil {
			y.t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
	return dir
}

func (y *yard) pawl(dir string, args ...string) *exec.Cmd { return y.pawlOf(y.bin, dir, args...) }

func (y *yard) pawlOf(bin, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(bin, args...)
	cmd.Dir, cmd.Env = dir, y.env
	return cmd
}

// must runs a command that must end well.
func (y *yard) must(dir string, args ...string) string {
	y.t.Helper()
	out, err := y.pawl(dir, args...).CombinedOutput()
	if err != nil {
		y.t.Fatalf("pawl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (y *yard) script(name, text string) string {
	file := filepath.Join(y.home, name)
	mustWrite(y.t, file, strings.ReplaceAll(text, "WORK/", y.home+"/"))
	return "script:" + file
}

// begin starts a run with a client of its own, which is not waited for.
func (y *yard) begin(dir string, args ...string) *process {
	y.t.Helper()
	return y.start(y.pawl(dir, append([]string{"run", "do it", "--recipe", "taskloop", "--unsandboxed"}, args...)...))
}

// process is a program whose output a test can wait for. The output is logged if the test
// fails.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	mu     sync.Mutex
	said   bytes.Buffer
	more   chan struct{} // closed and replaced when there is more output
	silent chan struct{} // closed when there can be no more output
	ended  chan struct{}
	err    error
}

func (y *yard) start(cmd *exec.Cmd) *process {
	y.t.Helper()
	p := &process{t: y.t, cmd: cmd, more: make(chan struct{}), silent: make(chan struct{}), ended: make(chan struct{})}
	out, in, err := os.Pipe()
	if err != nil {
		y.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	_ = in.Close()
	go func() { // what a daemon that it starts says goes elsewhere
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			p.mu.Lock()
			p.said.WriteString(line)
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
			if err != nil {
				_ = out.Close()
				close(p.silent)
				return
			}
		}
	}()
	go func() { p.err = cmd.Wait(); close(p.ended) }()
	y.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.ended
		if y.t.Failed() {
			y.t.Logf("output of %v:\n%s", cmd.Args, p.text())
		}
	})
	return p
}

// deadline bounds every wait of a test. It is so long that even a slow machine reaches it
// only if something hangs. F-66
const deadline = 5 * time.Minute

// wait waits until the output matches a pattern.
func (p *process) wait(pattern string) {
	p.t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(deadline)
	for silent := false; ; {
		p.mu.Lock()
		found, more := re.MatchString(p.said.String()), p.more
		p.mu.Unlock()
		switch {
		case found:
			return
		case silent:
			p.t.Fatalf("%v ended, and its output does not match %q", p.cmd.Args, pattern)
		}
		select {
		case <-more:
		case <-p.silent:
			silent = true
		case <-late:
			p.t.Fatalf("the output of %v does not match %q after %s", p.cmd.Args, pattern, deadline)
		}
	}
}

// end waits until it has ended and all that it said has been read.
func (p *process) end() error {
	p.t.Helper()
	late := time.After(deadline)
	for _, done := range []chan struct{}{p.ended, p.silent} {
		select {
		case <-done:
		case <-late:
			p.t.Fatalf("%v has not ended after %s", p.cmd.Args, deadline)
		}
	}
	return p.err
}

// exitCode is the exit code of a command that has ended.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// serve starts a daemon in the foreground.
func (y *yard) serve(args ...string) *process {
	y.t.Helper()
	p := y.start(y.pawl(y.home, append([]string{"serve"}, args...)...))
	p.wait(`serves as process \d+`)
	return p
}

// status is what the daemon says of itself; nil when there is none.
func (y *yard) status() *servecmd.Status {
	y.t.Helper()
	cmd := y.pawl(y.home, "serve", "status", "--json")
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() == 3 {
		return nil
	}
	if err != nil {
		y.t.Fatalf("pawl serve status: %v", err)
	}
	var s servecmd.Status
	if err := json.Unmarshal(out, &s); err != nil {
		y.t.Fatal(err)
	}
	return &s
}

// fifo makes a pipe that commands of runs write to.
func (y *yard) fifo(name string) *bufio.Reader {
	y.t.Helper()
	path := filepath.Join(y.home, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		y.t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { _ = f.Close() })
	return bufio.NewReader(f)
}

// hear waits for n lines, one from each command that begins. It fails the test if the
// process needed ends first; nil means no process is needed.
func hear(t *testing.T, from *bufio.Reader, n int, needed *process) {
	t.Helper()
	var ended chan struct{}
	if needed != nil {
		ended = needed.ended
	}
	heard, late := make(chan error), time.After(deadline)
	go func() {
		for range n {
			_, err := from.ReadString('\n')
			heard <- err
		}
	}()
	for i := range n {
		select {
		case err := <-heard:
			if err != nil {
				t.Fatal(err)
			}
		case <-ended:
			t.Fatalf("%v ended after %d of %d commands had begun", needed.cmd.Args, i, n)
		case <-late:
			t.Fatalf("%d of %d commands have begun after %s", i, n, deadline)
		}
	}
}

// noOrphans waits until nothing works in the yard any more.
func (y *yard) noOrphans() { (&victim{home: filepath.Join(y.home, "state")}).nothingRuns(y.t) }

// outcomes are those of all runs of a repository.
func (y *yard) outcomes(dir string) (out []string) {
	y.t.Helper()
	var runs []pawl.RunInfo
	if err := json.Unmarshal([]byte(y.must(dir, "list", "--json")), &runs); err != nil {
		y.t.Fatal(err)
	}
	for _, r := range runs {
		out = append(out, string(r.Status)+" "+string(r.Outcome))
	}
	return out
}

const (
	// quickScript does what is asked at once; waitScript in a command that waits for a file.
	quickScript = `
answers:
  - when: {step: assess}
    calls: [{submit_assessment: {files: 1, lines: 1, new_dependencies: 0, type: implementation, risks: [], why: one line}}]
  - when: {step: implement, turn: 1}
    calls: [{write: {path: want.txt, content: "yes\n"}}]
  - when: {step: implement}
    calls: [{submit_result: {summary: done}}]
  - when: {step: requirements}
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [README]}], summary: fine}}]
`
	waitCommand = "test -e WORK/go || { echo begun > WORK/begun; sleep 4321; }; echo yes > want.txt"
)

var waitScript = strings.Replace(quickScript, `write: {path: want.txt, content: "yes\n"}`, `run: {command: "`+waitCommand+`"}`, 1)

func TestDaemon(t *testing.T) {
	t.Parallel()
	bin := pawlProgram(t)
	tell := func(name string, story func(t *testing.T, y *yard)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t, newYard(t, bin))
		})
	}

	tell("TheSecondOneNamesTheFirst", func(t *testing.T, y *yard) {
		first := y.serve()
		second := y.start(y.pawl(y.home, "serve"))
		_ = second.end()
		if code := second.cmd.ProcessState.ExitCode(); code != 4 {
			t.Errorf("exit code %d", code)
		}
		second.wait(fmt.Sprintf(`process %d serves the projects already`, first.cmd.Process.Pid))
		info, err := os.Stat(y.status().Socket)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket: %v, %v", info, err)
		}
	})

	tell("AStaleSocketIsReplaced", func(t *testing.T, y *yard) {
		first := y.serve()
		socket := y.status().Socket
		first.signal(syscall.SIGKILL)
		_ = first.end()
		if _, err := os.Lstat(socket); err != nil {
			t.Fatalf("there is no stale socket: %v", err)
		}
		second := y.serve()
		if s := y.status(); s == nil || s.PID != second.cmd.Process.Pid {
			t.Errorf("%+v", s)
		}
	})

	tell("ClientsStartOneOnDemand", func(t *testing.T, y *yard) {
		model := y.script("s.yaml", quickScript)
		var clients []*process
		for i := range 4 {
			clients = append(clients, y.begin(y.repo(fmt.Sprint("repo", i)), "--gate", "tests=true", "--model", model))
		}
		for _, c := range clients {
			if err := c.end(); err != nil {
				t.Errorf("%v\n%s", err, c.text())
			}
		}
		log, err := os.ReadFile(filepath.Join(y.home, "state", "pawl", "daemon.log"))
		if err != nil || strings.Count(string(log), "serves as process") != 1 {
			t.Errorf("%v\n%s", err, log)
		}
		if s := y.status(); s == nil || len(s.Projects) != 4 {
			t.Errorf("%+v", s)
		}
		y.must(y.home, "serve", "stop")
		if s := y.status(); s != nil {
			t.Errorf("after its end: %+v", s)
		}
	})

	tell("ARunOutlivesItsClient", func(t *testing.T, y *yard) {
		begun, dir := y.fifo("begun"), y.repo("repo")
		c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", strings.Replace(waitScript, "sleep 4321", "head -n 1 WORK/word", 1)))
		word := y.fifo("word")
		hear(t, begun, 1, c)
		c.signal(syscall.SIGKILL)
		_ = c.end()
		f := y.start(y.pawl(dir, "logs", "-f"))
		f.wait("Starting iteration 1")
		f.signal(syscall.SIGINT)
		_ = f.end()
		f.wait(`left run 001-do-it, which continues in the daemon\. Follow it again: pawl logs -f 001-do-it`)
		follower := y.start(y.pawl(dir, "logs", "-f"))
		follower.wait("Starting iteration 1")
		y.say("word")
		_ = word
		if err := follower.end(); err != nil {
			t.Errorf("%v\n%s", err, follower.text())
		}
		if got := y.outcomes(dir); len(got) != 1 || got[0] != "ended complete" {
			t.Errorf("%q", got)
		}
	})

	tell("PrunesTheCacheOfWhatRuns", func(t *testing.T, y *yard) {
		begun, dir := y.fifo("begun"), y.repo("repo")
		c := y.begin(dir, "--gate", `tests=mkdir -p "$GOCACHE" && echo x > "$GOCACHE/compiled"`, "--model", y.script("s.yaml", waitScript))
		hear(t, begun, 1, c)
		if got := y.must(dir, "cache"); !regexp.MustCompile(`(?m)^1 .* yes$`).MatchString(got) || !regexp.MustCompile(`(?m)^001-do-it +\d`).MatchString(got) {
			t.Errorf("while a run is at work it lists\n%s", got)
		}
		if got := y.must(dir, "cache", "prune", "--all"); !strings.Contains(got, "No layer was removed.") || !strings.Contains(got, "because open rooms use them") {
			t.Errorf("while a run is at work it says\n%s", got)
		}
		y.must(dir, "cancel", "1", "--now")
		_ = c.end()
		if got := y.must(dir, "cache"); !regexp.MustCompile(`(?m)^1 .* no$`).MatchString(got) || strings.Contains(got, "ROOM") {
			t.Errorf("after the run it lists\n%s", got)
		}
		if got := y.must(dir, "cache", "prune", "--all"); !strings.HasPrefix(got, "Removed 1 layer: ") {
			t.Errorf("after the run it says\n%s", got)
		}
		if left, _ := filepath.Glob(filepath.Join(y.home, "state", "pawl", "*", "cache", "*", "upper")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		y.must(y.home, "serve", "stop")
		if got := y.must(dir, "cache"); got != "The trusted cache is empty; it may take 10 GB.\n" {
			t.Errorf("without a daemon it lists\n%s", got)
		}
	})

	tell("KilledItGoesOnByItself", func(t *testing.T, y *yard) {
		d, begun, model := y.serve(), y.fifo("begun"), y.script("s.yaml", waitScript)
		var dirs []string
		var clients []*process
		for i := range 3 {
			dirs = append(dirs, y.repo(fmt.Sprint("repo", i)))
			clients = append(clients, y.begin(dirs[i], "--gate", "tests=true", "--model", model))
		}
		hear(t, begun, 3, d)
		for _, c := range clients {
			c.signal(syscall.SIGKILL) // or they would start another one
			_ = c.end()
		}
		d.signal(syscall.SIGKILL)
		_ = d.end()
		y.noOrphans()
		mustWrite(t, filepath.Join(y.home, "go"), "")
		d = y.serve()
		for _, dir := range dirs {
			d.wait(`run 001-do-it of ` + dir + ` ended complete`)
		}
	})

	tell("LocalIsRefusedWhileItHasTheProject", func(t *testing.T, y *yard) { // F-19
		d, begun, _ := y.serve(), y.fifo("begun"), y.fifo("word")
		dir, model := y.repo("repo"), y.script("s.yaml", strings.Replace(waitScript, "sleep 4321", "head -n 1 WORK/word", 1))
		c := y.begin(dir, "--gate", "tests=true", "--model", model)
		hear(t, begun, 1, d)
		refusal := fmt.Sprintf(`pawl: the daemon has this project \(process %d, since \d{4}-.*\n  → pawl serve stop ends the daemon`, d.cmd.Process.Pid)
		for _, command := range [][]string{
			{"run", "another", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--model", model}, {"pause", "1"}, {"cancel", "1"}, {"top", "--once"},
		} {
			local := y.pawl(dir, append(command, "--local")...)
			byVariable := y.pawl(dir, command...)
			byVariable.Env = append(byVariable.Env, "PAWL_LOCAL=1")
			for _, cmd := range []*exec.Cmd{local, byVariable} {
				out, err := cmd.CombinedOutput()
				if err == nil || cmd.ProcessState.ExitCode() != cli.ExitState || !regexp.MustCompile(refusal).Match(out) {
					t.Errorf("pawl %v: %v\n%s", cmd.Args[1:], err, out)
				}
			}
		}
		if out := y.must(dir, "list", "--local"); !strings.Contains(out, "running") || strings.Contains(out, "002") {
			t.Errorf("%s", out)
		}
		if out := y.must(dir, "logs", "-f", "--local"); !strings.Contains(out, "leave out --local to follow it") {
			t.Errorf("%s", out)
		}
		y.say("word")
		if err := c.end(); err != nil {
			t.Errorf("%v\n%s", err, c.text())
		}
	})

	tell("KilledItIsReplacedByWhoAttends", func(t *testing.T, y *yard) {
		d, begun := y.serve(), y.fifo("begun")
		dir := y.repo("repo")
		c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", waitScript))
		hear(t, begun, 1, d)
		looks := y.start(y.pawl(dir, "events", "-f"))
		looks.wait(`tool_called|effect_requested`)
		mustWrite(t, filepath.Join(y.home, "go"), "")
		d.signal(syscall.SIGKILL)
		if err := c.end(); err != nil {
			t.Errorf("%v\n%s", err, c.text())
		}
		// F-30
		c.wait(`the daemon, process \d+, died`)
		c.wait(`the process that drove run 001-do-it has ended; the run continues in the daemon`)
		if err := looks.end(); err != nil {
			t.Errorf("%v\n%s", err, looks.text())
		}
		looks.wait(`run_ended`)
		once(t, looks.text())
	})

	tell("WhoLooksFollowsIntoADaemonThatHasJustBegun", func(t *testing.T, y *yard) { // F-29
		d, begun := y.serve(), y.fifo("begun")
		dir := y.repo("repo")
		c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", waitScript))
		hear(t, begun, 1, d)
		c.signal(syscall.SIGKILL)
		d.signal(syscall.SIGKILL)
		_, _ = c.end(), d.end()
		mustWrite(t, filepath.Join(y.home, "go"), "")
		y.serve()
		looks := y.start(y.pawl(dir, "logs", "-f")) // the run may not have been taken over yet
		if err := looks.end(); err != nil {
			t.Error(err)
		}
		looks.wait(`COMPLETE`)
	})

	tell("WhoFollowsHearsThatItIsStopped", func(t *testing.T, y *yard) { // F-30
		d, begun, _ := y.serve(), y.fifo("begun"), y.fifo("word")
		dir := y.repo("repo")
		c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", strings.Replace(waitScript, "sleep 4321", "head -n 1 WORK/word", 1)))
		hear(t, begun, 1, d)
		looks := y.start(y.pawl(dir, "logs", "-f"))
		looks.wait(`Starting iteration 1`)
		d.signal(syscall.SIGTERM)
		for _, p := range []*process{c, looks} {
			_ = p.end()
			p.wait(`the daemon was stopped: calls and commands in progress have 10s to finish, the rest continues in the next daemon`)
			p.wait(`pawl resume 001-do-it`)
			if code := p.cmd.ProcessState.ExitCode(); code != cli.ExitStopped {
				t.Errorf("exit code %d\n%s", code, p.text())
			}
		}
		y.say("word") // the daemon waits for it
		_ = d.end()
	})

	tell("ItEndsWithoutItsFolder", func(t *testing.T, y *yard) { // F-29
		d := y.serve()
		state := filepath.Join(y.home, "state", "pawl")
		if err := os.Rename(state, state+".old"); err != nil {
			t.Fatal(err)
		}
		other := y.serve()
		if err := d.end(); err != nil {
			t.Errorf("%v\n%s", err, d.text())
		}
		d.wait(`ending: its state folder was removed or replaced`)
		if s := y.status(); s == nil || s.PID != other.cmd.Process.Pid {
			t.Errorf("the other one: %+v", s)
		}
	})

	tell("ADamagedProjectCostsNoOther", func(t *testing.T, y *yard) {
		model := y.script("s.yaml", quickScript)
		good, bad := y.repo("good"), y.repo("bad")
		for _, dir := range []string{good, bad} {
			if c := y.begin(dir, "--gate", "tests=true", "--model", model); c.end() != nil {
				t.Fatal(c.text())
			}
		}
		s := y.status()
		y.must(y.home, "serve", "stop")
		for _, p := range s.Projects {
			if p.Root == bad {
				mustWrite(t, filepath.Join(y.home, "state", "pawl", p.ID, "pawl.db"), strings.Repeat("no database ", 1000))
			}
		}
		d := y.serve()
		d.wait(`bad cannot be opened, the others are served: `)
		if c := y.begin(good, "--gate", "tests=true", "--model", model); c.end() != nil {
			t.Error(c.text())
		}
		if out, err := y.pawl(bad, "run", "x", "--unsandboxed", "--model", model).CombinedOutput(); err == nil {
			t.Errorf("%s", out)
		}
		for _, p := range y.status().Projects {
			if (p.Problem != "") != (p.Root == bad) {
				t.Errorf("%+v", p)
			}
		}
	})

	tell("ItClosesWhatNobodyUses", func(t *testing.T, y *yard) {
		d := y.serve("--idle-project", "50ms")
		if c := y.begin(y.repo("repo"), "--gate", "tests=true", "--model", y.script("s.yaml", quickScript)); c.end() != nil {
			t.Error(c.text())
		}
		d.wait(`closed .*/repo`)
	})

	// F-66: the daemon has a run to continue. However short its idle time is, it must not end
	// before the test lets the run finish.
	tell("ItEndsWhenNobodyNeedsIt", func(t *testing.T, y *yard) {
		d, begun, dir := y.serve(), y.fifo("begun"), y.repo("repo")
		y.fifo("word")
		c := y.begin(dir, "--gate", "tests=true", "--model", y.script("s.yaml", strings.Replace(waitScript, "sleep 4321", "head -n 1 WORK/word", 1)))
		hear(t, begun, 1, d)
		c.signal(syscall.SIGKILL) // the client would start another daemon
		_ = c.end()
		d.signal(syscall.SIGKILL)
		_ = d.end()
		y.noOrphans()
		d = y.serve("--on-demand", "--idle", "1ms", "--idle-project", "1h")
		hear(t, begun, 1, d)
		y.say("word")
		if err := d.end(); err != nil {
			t.Error(err)
		}
		d.wait(`ending: nobody needs it`)
		if got := y.outcomes(dir); len(got) != 1 || got[0] != "ended complete" {
			t.Errorf("%q", got)
		}
	})

	// R-35 R-36: gates of two repositories share the machine's one place for them, and
	// whoever waits has begun nothing.
	tell("TwoRepositoriesShareTheMachine", func(t *testing.T, y *yard) {
		y.env = append(y.env, "PAWL_MACHINE_HEAVY=2")
		y.serve()
		begun, model := y.fifo("begun"), y.script("s.yaml", quickScript)
		y.fifo("word-one")
		y.fifo("word-two")
		gate := func(word string) string {
			return strings.ReplaceAll("tests=test -e WORK/go || { echo begun >WORK/begun; head -n 1 WORK/"+word+"; }", "WORK", y.home)
		}
		first := y.begin(y.repo("one"), "--gate", gate("word-one"), "--model", model)
		hear(t, begun, 1, first)
		second := y.begin(y.repo("two"), "--gate", gate("word-two"), "--model", model) // no repository has all heavy places
		hear(t, begun, 1, second)
		third := y.begin(y.repo("three"), "--gate", gate("word-one"), "--model", model)
		for waiting, late := false, time.Now().Add(deadline); !waiting; {
			var top pawl.Load
			if err := json.Unmarshal([]byte(y.must(y.home, "top", "--json")), &top); err != nil {
				t.Fatal(err)
			}
			for _, p := range top.Pools {
				if p.Name == "lane:heavy" && (p.Slots != 2 || p.Used != 2) {
					t.Fatalf("%+v", p)
				}
				waiting = waiting || p.Name == "lane:heavy" && p.Waiting == 1
			}
			if time.Now().After(late) {
				t.Fatalf("no gate waits for the heavy lane after %s: %+v", deadline, top)
			}
		}
		mustWrite(t, filepath.Join(y.home, "go"), "")
		y.say("word-one")
		y.say("word-two")
		for _, c := range []*process{first, second, third} {
			if err := c.end(); err != nil {
				t.Errorf("%v\n%s", err, c.text())
			}
		}
	})

	tell("AProjectOfAnotherProcessIsReadOnly", func(t *testing.T, y *yard) {
		begun, dir := y.fifo("begun"), y.repo("repo")
		local := y.start(y.pawl(dir, "run", "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--local", "--model",
			y.script("s.yaml", waitScript)))
		hear(t, begun, 1, local)
		d := y.serve()
		d.wait(fmt.Sprintf(`repo is with process %d`, local.cmd.Process.Pid))
		if p := y.status().Projects; len(p) != 1 || p[0].Holder != local.cmd.Process.Pid {
			t.Errorf("%+v", p)
		}
		if out := y.must(dir, "list"); !strings.Contains(out, "running") {
			t.Errorf("%s", out)
		}
		local.signal(syscall.SIGINT)
		local.wait("stopping run")
		local.signal(syscall.SIGINT)
		_ = local.end()
		y.noOrphans()
		// Who left it did so on purpose: it goes on when it is to.
		if out := y.must(dir, "list"); !regexp.MustCompile(`paused|interrupted`).MatchString(out) {
			t.Errorf("%s", out)
		}
		mustWrite(t, filepath.Join(y.home, "go"), "")
		if out := y.must(dir, "resume", "1"); !strings.Contains(out, "continues in the daemon") {
			t.Errorf("%s", out)
		}
		d.wait(`run 001-do-it of .*/repo ended complete`)
	})
}

// say writes a word into a pipe that a command reads.
func (y *yard) say(name string) {
	y.t.Helper()
	f, err := os.OpenFile(filepath.Join(y.home, name), os.O_WRONLY, 0)
	if err != nil {
		y.t.Fatal(err)
	}
	_, _ = io.WriteString(f, "go\n")
	_ = f.Close()
}

// A daemon with eight runs that hang in model calls, tool calls and gates is told to
// end: it does in time, nothing is left over, and nothing is lost.
func TestDaemonEndsInTime(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	begun := y.fifo("begun")
	held, asked := make(chan struct{}), make(chan struct{}, 100)
	letGo := sync.OnceFunc(func() { close(held) })
	server := modeltest.NewServer(modeltest.Chat, func(req pawl.ModelRequest) modeltest.Reply {
		asked <- struct{}{}
		<-held
		return steady(req)
	})
	defer server.Close()
	defer letGo()
	y.env = append(y.env, "OPENAI_BASE_URL="+server.BaseURL, "PAWL_MACHINE_HEAVY=8") // gates hang side by side
	d, dir := y.serve(), y.repo("repo")
	other := y.repo("other")
	quick, wait := y.script("quick.yaml", quickScript), y.script("wait.yaml", waitScript)
	gate := "tests=" + strings.ReplaceAll("test ! -e want.txt || test -e WORK/go || { echo begun > WORK/begun; sleep 4321; }", "WORK/", y.home+"/")
	var clients []*process
	for i := range 8 {
		at := []string{dir, other}[i%2]
		switch {
		case i < 3:
			clients = append(clients, y.begin(at, "--gate", "tests=true", "--model", "openai-chat/local"))
		case i < 6:
			clients = append(clients, y.begin(at, "--gate", "tests=true", "--model", wait))
		default:
			clients = append(clients, y.begin(at, "--gate", gate, "--model", quick))
		}
	}
	for range 3 {
		select {
		case <-asked:
		case <-time.After(deadline):
			t.Fatal("no model was asked")
		}
	}
	hear(t, begun, 5, d)
	told := time.Now()
	d.signal(syscall.SIGTERM)
	if err := d.end(); err != nil { // the hanging calls would never end by themselves
		t.Errorf("%v\n%s", err, d.text())
	}
	t.Logf("the daemon took %s to end", time.Since(told))
	d.wait(`what did not finish in 10s was ended`)
	for _, c := range clients {
		_ = c.end()
		c.wait(`the daemon was stopped: calls and commands in progress have 10s to finish`)
		c.wait(`pawl resume 00\d-do-it`)
		if code := c.cmd.ProcessState.ExitCode(); code != cli.ExitStopped {
			t.Errorf("exit code %d", code)
		}
	}
	y.noOrphans()
	for _, at := range []string{dir, other} {
		for _, got := range y.outcomes(at) {
			if got != "interrupted " {
				t.Errorf("a run is %s", got)
			}
		}
	}
	letGo()
	mustWrite(t, filepath.Join(y.home, "go"), "")
	d = y.serve()
	for i := range 8 {
		d.wait(fmt.Sprintf(`run 00%d-do-it of %s ended complete`, i/2+1, []string{dir, other}[i%2]))
	}
}

// once fails where the events that were printed do not each come once and in order.
func once(t *testing.T, text string) {
	t.Helper()
	want := 1
	for _, m := range regexp.MustCompile(`(?m)^ *(\d+)  \d\d:`).FindAllStringSubmatch(text, -1) {
		if m[1] != strconv.Itoa(want) {
			t.Fatalf("event %s comes where %d should\n%s", m[1], want, text)
		}
		want++
	}
}

// steady is a model that does what is asked.
func steady(req pawl.ModelRequest) modeltest.Reply { return writing("want.txt", "yes")(req) }

// writing returns a model that writes one line to a file and finds that good.
func writing(path, line string) func(pawl.ModelRequest) modeltest.Reply {
	return func(req pawl.ModelRequest) modeltest.Reply {
		tools, turn := asked(req)
		switch {
		case tools["submit_assessment"]:
			return call("submit_assessment", `{"files":1,"lines":1,"new_dependencies":0,"type":"documentation","risks":[],"why":"one line"}`)
		case tools["submit_verdict"]:
			return call("submit_verdict", fmt.Sprintf(`{"criteria":[{"id":"AC-001","status":"pass","evidence":["%s:1"]}],"summary":"fine"}`, path))
		case turn > 0:
			return call("submit_result", `{"summary":"written"}`)
		}
		return call("write", fmt.Sprintf(`{"path":%q,"content":"%s\n"}`, path, line))
	}
}

// A newer pawl takes over from an older daemon: the run that is at work goes on in the
// same process, with the key that only the shell had which started it. After a crash
// the key is gone: the run waits until somebody brings it again.
func TestDaemonHandsOver(t *testing.T) {
	t.Parallel()
	older, err := exec.LookPath(olderPawl)
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(filepath.Dir(older), newerPawl)
	y := newYard(t, older)
	const key = "sk-test-0123456789abcdef"
	asked, held := make(chan struct{}, 100), make(chan struct{})
	server := modeltest.NewServer(modeltest.Anthropic, func(req pawl.ModelRequest) modeltest.Reply {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-held
		return steady(req)
	})
	server.Key = key
	defer server.Close()
	letGo := sync.OnceFunc(func() { close(held) })
	defer letGo()
	d, dir := y.serve(), y.repo("repo")
	mustWrite(t, filepath.Join(y.home, "config", "pawl", "config.yaml"), "providers: {anthropic: {base_url: "+server.BaseURL+"}}\n")
	with := func(cmd *exec.Cmd) *exec.Cmd { cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY="+key); return cmd }
	client := y.start(with(y.pawl(dir, "run", "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--model", "anthropic/claude-test")))
	select {
	case <-asked:
	case <-time.After(deadline):
		t.Fatal(client.text())
	}
	quick := y.script("s.yaml", quickScript)
	other := y.start(y.pawlOf(newer, y.repo("other"), "run", "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--model", quick))
	other.wait(`pawl v1\.10\.0 takes over from the daemon, which is pawl v1\.2\.0`)
	d.wait(`continuing as ` + newer)
	d.wait(`pawl v1\.10\.0 serves as process ` + strconv.Itoa(d.cmd.Process.Pid))
	if err := other.end(); err != nil {
		t.Errorf("%v\n%s", err, other.text())
	}
	select { // asked again, with the key
	case <-asked:
	case <-time.After(deadline):
		t.Fatal(d.text())
	}
	if out := y.must(dir, "list"); !strings.Contains(out, "running") { // an older client uses it as it is
		t.Errorf("%s", out)
	}
	if s := y.status(); s.Version != "v1.10.0" {
		t.Errorf("%+v", s)
	}

	client.signal(syscall.SIGKILL) // it ends by itself when its daemon is gone
	_ = client.end()
	d.signal(syscall.SIGKILL)
	_ = d.end()
	letGo()
	y.bin = newer
	d = y.serve()
	d.wait(`run 001-do-it of .*/repo stays interrupted: there is no key for anthropic/claude-test: ANTHROPIC_API_KEY is not set`)
	for _, args := range [][]string{{"list"}, {"show", "1"}, {"why", "1"}, {"serve", "status"}} { // F-29
		if out := y.must(dir, args...); !strings.Contains(out, "ANTHROPIC_API_KEY is not set") {
			t.Errorf("%s does not say what the run needs:\n%s", args, out)
		}
	}
	if out, err := y.pawl(dir, "resume", "1").CombinedOutput(); err == nil || !strings.Contains(string(out), "pawl resume 001-do-it from a shell that has it") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := with(y.pawl(dir, "resume", "1")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out := y.must(dir, "serve", "status"); strings.Contains(out, "ANTHROPIC_API_KEY") {
		t.Errorf("the run goes on, and still needs something:\n%s", out)
	}
	for _, r := range server.Received() {
		if r.Problem != nil {
			t.Errorf("a request the protocol does not know: %v", r.Problem)
		}
	}
	noSecretIn(t, y.home, key)
	if strings.Contains(d.text(), key) {
		t.Error("the daemon said the key")
	}
}

// F-29: a daemon that somebody starts in the background has the keys of its shell.
func TestBackgroundHasItsShellsKeys(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	const key = "sk-test-0123456789abcdef"
	asked, held := make(chan struct{}, 100), make(chan struct{})
	server := modeltest.NewServer(modeltest.Anthropic, func(req pawl.ModelRequest) modeltest.Reply {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-held
		return steady(req)
	})
	server.Key = key
	defer server.Close()
	letGo := sync.OnceFunc(func() { close(held) })
	defer letGo()
	mustWrite(t, filepath.Join(y.home, "config", "pawl", "config.yaml"), "providers: {anthropic: {base_url: "+server.BaseURL+"}}\n")
	with := func(cmd *exec.Cmd) *exec.Cmd { cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY="+key); return cmd }
	d, dir := y.serve(), y.repo("repo")
	client := y.start(with(y.pawl(dir, "run", "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true", "--model", "anthropic/claude-test")))
	select {
	case <-asked:
	case <-time.After(deadline):
		t.Fatal(client.text())
	}
	client.signal(syscall.SIGKILL)
	_ = client.end()
	d.signal(syscall.SIGKILL)
	_ = d.end()
	letGo()
	if out, err := with(y.pawl(dir, "serve", "--background")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	defer y.must(dir, "serve", "stop")
	for late := time.Now().Add(deadline); !strings.Contains(y.must(dir, "list"), "complete"); { // it goes on by itself
		if time.Now().After(late) {
			t.Fatal(y.must(dir, "list"))
		}
	}
	noSecretIn(t, y.home, key)
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		version, build, theirs, built string
		want                          bool
	}{
		{"v1.10.0", "a", "v1.9.9", "b", true},
		{"v1.9.9", "b", "v1.10.0", "a", false},
		{"1.2.3", "b", "v1.2.3", "a", false},
		{"dev", "2026-01-02", "dev", "2026-01-01", true},
		{"dev", "2026-01-01", "v1.0.0", "2026-01-02", false},
		{"dev", "", "dev", "2026-01-01", false},
		{"dev", "2026-01-02", "dev", "", false},
	} {
		if got := newer(c.version, c.build, pawl.DaemonInfo{Version: c.theirs, Build: c.built}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
