package runner_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// preparing is a world with one gate that passes, and prepare commands.
func preparing(t *testing.T, lines ...string) *world {
	t.Helper()
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Report: pawl.ReportExit, Command: "test -f prepared && cat prepared"},
		pawl.GateSpec{Name: "lint", Kind: pawl.GateLint, Report: pawl.ReportExit, Command: "test -f prepared"})
	w.job.Settings.Prepare = lines
	return w
}

func TestPrepare(t *testing.T) {
	for name, test := range map[string]struct {
		lines   []string
		verdict pawl.Verdict
		says    string
	}{
		"Fine":      {[]string{"echo $PAWL_TASK_ID > prepared", "test -d \"$PAWL_PROJECT_ROOT\" && echo more >> prepared"}, pawl.VerdictPass, ""},
		"Fails":     {[]string{"echo starting >&2; echo no such package >&2; exit 7", "touch prepared"}, pawl.VerdictFail, `prepare "echo starting >&2; echo no such package >&2; exit 7" failed (exit 7)`},
		"Missing":   {[]string{"no-such-program-here install"}, pawl.VerdictFail, `prepare "no-such-program-here install": the program is not installed (exit 127)`},
		"NotEnough": {[]string{"true"}, pawl.VerdictFail, "exit 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := preparing(t, test.lines...)
			w.r.Gist = func(output string, n int) []string { return strings.Split(strings.TrimSpace(output), "\n")[:n] }
			if p := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}); (p.Said == "starting no such package") != (name == "Fails") {
				t.Errorf("prepared %+v", p)
			}
			b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
			if b.Verdict != test.verdict || !strings.Contains(b.Reason, test.says) || b.Partial {
				t.Errorf("judged %+v", b)
			}
			if name != "Fails" {
				return
			}
			if rep := w.report(t, b); rep.ExitCode != 7 || !strings.Contains(rep.Output, "no such package") || b.Error == 0 {
				t.Errorf("the evidence is %+v", rep)
			}
			if again := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base}); again.Error != b.Error {
				t.Error("the second time it fails differently")
			}
		})
	}
	t.Run("TimesOut", func(t *testing.T) {
		t.Parallel()
		// F-66: on a slow machine the time may run out before the command begins. The test then
		// tries again with a longer limit.
		for limit := time.Second / 4; ; limit *= 2 {
			w := preparing(t, "echo begun; read x < /dev/zero; sleep 4321")
			w.job.Settings.PrepareTimeout = limit
			b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base})
			if !strings.Contains(b.Failed, "timed out") || !strings.Contains(b.Failed, "prepare_timeout_ms") {
				t.Fatalf("prepared %+v with a limit of %s", b, limit)
			}
			if strings.Contains(w.MustBlob(t, b.Evidence), "begun\\n") {
				return
			}
			if limit > 5*time.Minute {
				t.Fatalf("the command has not begun within %s", limit)
			}
		}
	})
}

// What prepares a commit has a time of its own, which all commands share, and the gate has all
// of its own.
func TestPrepareAsksFor(t *testing.T) {
	w := preparing(t, "one", "two")
	w.job.Settings.PrepareTimeout, w.job.Settings.PrepareEnviron = time.Minute, []string{"npm_config_registry=https://npm.test"}
	var asked []pawl.Command
	w.play(func(_ context.Context, cmd pawl.Command, _ []string) (pawl.CommandResult, error) {
		asked = append(asked, cmd)
		return pawl.CommandResult{Output: []byte("fine")}, nil
	})
	b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base})
	if len(asked) != 2 || asked[0].Shell != "one" || asked[1].Shell != "two" || b.Failed != "" || b.Reused {
		t.Fatalf("asked for %+v, and %+v", asked, b)
	}
	last := time.Minute + 1
	for _, cmd := range asked {
		if cmd.Timeout >= last || cmd.Timeout <= 0 || !slices.Contains(cmd.Env, "PAWL_TASK_ID="+runID) || !slices.Contains(cmd.Env, "npm_config_registry=https://npm.test") || cmd.Progress == nil {
			t.Errorf("asked for %+v", cmd)
		}
		last = cmd.Timeout
	}
	if got := w.MustBlob(t, b.Evidence); !strings.Contains(got, `"output":"$ one\nfine\n$ two\nfine\n"`) {
		t.Errorf("the evidence is %s", got)
	}
	var gate pawl.GateRequest
	w.r.Gate = gateFunc(func(_ context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
		gate = req
		return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
	})
	w.job.Settings.Gates[0].Timeout = time.Hour
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, Prepared: b.Key})
	if gate.Timeout != 0 || gate.Spec.Timeout != time.Hour || len(asked) != 2 {
		t.Errorf("without a limit the gate has %s and its spec %s, after %d commands", gate.Timeout, gate.Spec.Timeout, len(asked))
	}
	twice := func(j *driver.Job) { j.Effect.Timeout = 2 * time.Hour } // as for a base that is judged again
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true, Prepared: b.Key}, twice)
	if gate.Spec.Timeout <= time.Hour {
		t.Errorf("with a limit of 2h the gate has %s", gate.Spec.Timeout)
	}
}

// F-02: the commands reach what the settings name, whoever chose them, and nothing in a
// run that was started before there were such rules.
func TestPrepareEgress(t *testing.T) {
	for name, rules := range map[string][]string{"Named": {"npm.test:443"}, "NotRecorded": nil} {
		t.Run(name, func(t *testing.T) {
			w := preparing(t, "one")
			w.job.Settings.Egress = rules
			ran := 0
			w.play(func(_ context.Context, cmd pawl.Command, egress []string) (pawl.CommandResult, error) {
				if ran++; cmd.Shell != "one" || !slices.Equal(egress, rules) {
					t.Errorf("%q reaches %q, want %q", cmd.Shell, egress, rules)
				}
				return pawl.CommandResult{}, nil
			})
			w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
				return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
			})
			must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
			if ran != 1 {
				t.Errorf("%d commands were run, want 1", ran)
			}
		})
	}
}

// What several need at once is prepared once, and afterwards not again, also not for another
// commit that has the same inputs. Another lock file, command or program is prepared for anew.
func TestPrepareOnce(t *testing.T) {
	w := preparing(t, "prepare")
	w.r.Inputs = func(path string) bool { return path == "lock" }
	w.MustOpen(t)
	var mu sync.Mutex
	ran := 0
	both := make(chan struct{})
	w.play(func(context.Context, pawl.Command, []string) (pawl.CommandResult, error) {
		<-both
		mu.Lock()
		defer mu.Unlock()
		ran++
		return pawl.CommandResult{}, nil
	})
	ready := make(chan struct{}, 2)
	real := w.r.Spaces
	w.r.Spaces = &listings{Workspaces: real, listed: func() { ready <- struct{}{} }}
	var group sync.WaitGroup
	keys := make([]string, 2)
	for i := range keys {
		group.Go(func() { keys[i] = must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}).Key })
	}
	<-ready
	<-ready
	close(both)
	group.Wait()
	w.r.Spaces = real
	if ran != 1 || keys[0] != keys[1] || len(keys[0]) != 32 {
		t.Fatalf("prepared %d times under %q", ran, keys)
	}
	MustWrite(t, w.dir("unrelated"), "1")
	same := w.MustCandidate(t)
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: same}); !b.Reused || b.Key != keys[0] || ran != 1 || !b.Evidence.IsZero() {
		t.Errorf("with the same lock file: %+v after %d times", b, ran)
	}
	MustWrite(t, w.dir("lock"), "2")
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.MustCandidate(t)}); b.Reused || b.Key == keys[0] || ran != 2 {
		t.Errorf("with another lock file: %+v after %d times", b, ran)
	}
	w.job.Settings.Prepare = []string{"prepare it"}
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}); b.Reused || b.Key == keys[0] || ran != 3 {
		t.Errorf("with another command: %+v after %d times", b, ran)
	}
	w.r.Toolchain = []string{"sh"}
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}); b.Reused || ran != 4 {
		t.Errorf("with another toolchain: %+v after %d times", b, ran)
	}
}

// What two runs need at the same time is prepared for each: what a candidate's files prepare is
// no other run's.
func TestPrepareOncePerRun(t *testing.T) {
	w := preparing(t, "prepare")
	begun, both := make(chan struct{}, 2), make(chan struct{})
	w.play(func(ctx context.Context, _ pawl.Command, _ []string) (pawl.CommandResult, error) {
		begun <- struct{}{}
		<-both
		return pawl.CommandResult{}, nil
	})
	ready := make(chan struct{}, 2)
	w.r.Spaces = &listings{Workspaces: w.r.Spaces, listed: func() { ready <- struct{}{} }}
	var group sync.WaitGroup
	for _, run := range []pawl.RunID{"001", "002"} {
		group.Go(func() {
			b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}, func(j *driver.Job) { j.Run = run })
			if _, known, err := w.r.Rooms.Prepared(run, b.Key, false); b.Reused || !known || err != nil {
				t.Errorf("run %s: prepared %+v, and it is there: %t, %v", run, b, known, err)
			}
		})
	}
	<-ready
	<-ready
	close(both)
	group.Wait()
	if len(begun) != 2 {
		t.Errorf("prepared %d times", len(begun))
	}
}

// listings tells when the files of a commit were listed.
type listings struct {
	pawl.Workspaces
	listed func()
}

func (c *listings) Objects(ctx context.Context, commit pawl.CommitHash, match func(string) bool) (map[string]string, error) {
	defer c.listed()
	return c.Workspaces.Objects(ctx, commit, match)
}

// F-22: what was prepared is in the worktree and in the checkout of a gate. What a candidate's
// own files prepare does not serve another run.
func TestPrepareFurnishes(t *testing.T) {
	w := preparing(t, "mkdir -p deps && cp lock deps/ && echo changed > README && echo cached > \"$XDG_CACHE_HOME\"-x")
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Report: pawl.ReportExit,
		Command: "cat deps/lock README && cat \"$XDG_CACHE_HOME\"-x"})
	w.r.Inputs = func(path string) bool { return path == "lock" }
	w.MustOpen(t)
	MustWrite(t, w.dir("lock"), "one")
	first := w.MustCandidate(t)
	b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: first, Furnish: true})
	if got := MustRead(t, w.dir("deps", "lock")); got != "one" || MustRead(t, w.dir("README")) != "A project.\n" {
		t.Errorf("the worktree has %q", got)
	}
	tree := must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{}).Tree
	MustWrite(t, w.dir("deps", "more"), "by an agent")
	if after := must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{}).Tree; after != tree {
		t.Error("what was prepared is recorded")
	}
	g := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: first, Prepared: b.Key})
	if rep := w.report(t, g); rep.Output != "oneA project.\ncached\n" {
		t.Errorf("the gate sees %q", rep.Output)
	}
	MustWrite(t, w.dir("lock"), "two")
	MustWrite(t, w.dir("file"), "x")
	second := w.MustCandidate(t)
	must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: second, Furnish: true})
	if got := MustRead(t, w.dir("deps", "lock")); got != "two" {
		t.Errorf("the worktree has %q", got)
	}
	if _, err := os.Stat(w.dir("deps", "more")); err == nil {
		t.Error("what an agent left among what was prepared is still there")
	}
	MustWrite(t, w.dir("file"), "y")
	if err := os.Remove(w.dir("lock")); err != nil {
		t.Fatal(err)
	}
	third := w.MustCandidate(t)
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: third, Furnish: true}); b.Failed == "" || MustRead(t, w.dir("deps", "lock")) != "two" {
		t.Errorf("after %+v the worktree has %q", b, MustRead(t, w.dir("deps", "lock")))
	}
	w.job.Run = "002"
	if b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: first}); b.Reused {
		t.Error("another run has what was prepared for a candidate")
	}
}

// What was prepared for a candidate is not used for the commit that the run starts from, though
// their keys are the same: the base is prepared for itself, and its gates can run.
func TestPrepareBase(t *testing.T) {
	w := preparing(t, "cat READ* > prepared")
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Report: pawl.ReportExit, Command: "cat prepared"})
	w.job.Started.BaseTrusted = true
	w.MustOpen(t)
	MustWrite(t, w.dir("README"), "By a model.\n")
	candidate := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.MustCandidate(t)})
	base := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base})
	if base.Key != candidate.Key || base.Reused {
		t.Fatalf("the base is prepared as %+v, the candidate as %+v", base, candidate)
	}
	b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base, OnBase: true, Prepared: base.Key})
	if rep := w.report(t, b); b.Verdict != pawl.VerdictPass || rep.Output != "A project.\n" {
		t.Errorf("judged %+v: %q", b, rep.Output)
	}
}

// watched are rooms that say what they were asked to prepare. Their proxies were in contact
// with the given hosts.
type watched struct {
	pawl.Rooms
	confined bool
	contacts []pawl.Contact
	specs    []pawl.PrepareSpec
}

func (r *watched) Confined() bool { return r.confined }

func (r *watched) Prepare(ctx context.Context, spec pawl.PrepareSpec) (pawl.PrepareRoom, error) {
	r.specs = append(r.specs, spec)
	room, err := r.Rooms.Prepare(ctx, spec)
	return watchedRoom{room, r.contacts}, err
}

type watchedRoom struct {
	pawl.PrepareRoom
	contacts []pawl.Contact
}

func (r watchedRoom) Contacts() []pawl.Contact { return r.contacts }

// Only what is prepared for the commit that a run starts from serves other runs, and only where
// no model has written that commit. That of a candidate has it below. The limits of the
// settings hold for both.
func TestPrepareTrusts(t *testing.T) {
	w := preparing(t, "true")
	w.r.Inputs = func(path string) bool { return path == "lock" }
	rooms := &watched{Rooms: w.r.Rooms, confined: true}
	w.r.Rooms = rooms
	w.job.Settings.Room = pawl.RoomLimits{Processes: 77}
	w.MustOpen(t)
	MustWrite(t, w.dir("lock"), "1")
	candidate := w.MustCandidate(t)
	for _, row := range []struct {
		why           string
		trusts        bool
		commit        pawl.CommitHash
		trusted, base bool // what is asked of the rooms; base = that of the base is below
	}{
		{"the base of a fork", false, w.base, false, false},
		{"a candidate of a fork", false, candidate, false, false},
		{"the base", true, w.base, true, false},
		{"a candidate", true, candidate, false, true},
	} {
		w.job.Run, w.job.Started.BaseTrusted, rooms.specs = pawl.RunID("002-"+row.why), row.trusts, nil
		base := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base}).Key
		if row.commit != w.base {
			rooms.specs = nil
			must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: row.commit})
		}
		below := ""
		if row.base {
			below = base
		}
		if len(rooms.specs) != 1 || rooms.specs[0].Trusted != row.trusted || rooms.specs[0].Below != below || rooms.specs[0].Limits.Processes != 77 {
			t.Errorf("%s is prepared by %+v, want trusted: %t, below: %q", row.why, rooms.specs, row.trusted, below)
		}
	}
}

// The key differs with everything that changes what the commands leave: what they reach, their
// variables, the files they name or that make reads, and where they are confined.
func TestPrepareKey(t *testing.T) {
	w := preparing(t, "true")
	rooms := &watched{Rooms: w.r.Rooms, confined: true}
	w.r.Rooms = rooms
	w.play(func(context.Context, pawl.Command, []string) (pawl.CommandResult, error) {
		return pawl.CommandResult{}, nil
	})
	w.MustOpen(t)
	commit, seen := w.base, map[string]string{}
	set := w.job.Settings
	write := func(name string) func() {
		return func() {
			MustWrite(t, w.dir(name), name+string(commit))
			commit = w.MustCandidate(t)
		}
	}
	for _, row := range []struct {
		why    string
		change func()
		same   bool
	}{
		{"at first", func() {}, false},
		{"another file", write("README"), true},
		{"another makefile", write("tools/Makefile"), true},
		{"what is reached", func() { set.Egress = []string{"npm.test:443"} }, false},
		{"variables", func() { set.PrepareEnviron = []string{"npm_config_registry=https://npm.test"} }, false},
		{"no confinement", func() { rooms.confined = false }, false},
		{"a script", func() { set.Prepare = []string{"sh ./tools/setup.sh --all"} }, false},
		{"the script's text", write("tools/setup.sh"), false},
		{"a script that only ends like it", write("tools/mysetup.sh"), true},
		{"make", func() { set.Prepare = []string{"cd tools && make deps"} }, false},
		{"the makefile's text", write("tools/Makefile"), false},
		{"a makefile that it includes", write("tools/deps.mk"), false},
	} {
		row.change()
		key := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: commit}).Key
		before, known := seen[key]
		if known != row.same {
			t.Errorf("%s: the key %s is known: %t (%s)", row.why, key, known, before)
		}
		seen[key] = row.why
	}
}

// F-02: with whom the commands were in contact is in the event and in what they are shown to
// have printed. A refusal is a part of the reason when they fail.
func TestPrepareContacts(t *testing.T) {
	contacts := []pawl.Contact{
		{Host: "npm.test:443", Requests: 3, Sent: 10, Received: 100}, {Host: "cdn.test:443", Requests: 1, Received: 11},
		{Host: "evil.test:443", Requests: 2, Refused: "evil.test:443 is not named"},
	}
	for _, command := range []string{"true", "exit 3"} {
		w := preparing(t, command)
		w.r.Rooms = &watched{Rooms: w.r.Rooms, contacts: contacts}
		b := must[*pawl.Prepared](t, w, &pawl.Prepare{Commit: w.base})
		if b.Requests != 4 || b.Received != 111 || b.Refused != 2 || !slices.Equal(b.Hosts, []string{"npm.test:443", "cdn.test:443"}) || !slices.Equal(b.RefusedHosts, []string{"evil.test:443"}) {
			t.Errorf("%s: prepared %+v", command, b)
		}
		if failed := command != "true"; strings.Contains(b.Failed, "failed (exit 3); the egress proxy refused a request: evil.test:443 is not named") != failed {
			t.Errorf("%s: it failed by %q", command, b.Failed)
		}
		for _, line := range []string{"egress: npm.test:443: 3 requests, 10 bytes sent, 100 received", "egress: evil.test:443: 2 requests refused: evil.test:443 is not named"} {
			if text := w.MustBlob(t, b.Evidence); !strings.Contains(text, line) {
				t.Errorf("%s: no %q in %s", command, line, text)
			}
		}
	}
}

// A preparation that breaks off is begun anew by who waited for it.
func TestPrepareAfterABreak(t *testing.T) {
	w := preparing(t, "prepare")
	var mu sync.Mutex
	ran := 0
	both := make(chan struct{})
	w.play(func(context.Context, pawl.Command, []string) (pawl.CommandResult, error) {
		<-both
		mu.Lock()
		defer mu.Unlock()
		if ran++; ran == 1 {
			return pawl.CommandResult{}, errors.New("the room is gone")
		}
		return pawl.CommandResult{}, nil
	})
	ready := make(chan struct{}, 2)
	w.r.Spaces = &listings{Workspaces: w.r.Spaces, listed: func() { ready <- struct{}{} }}
	var group sync.WaitGroup
	answers := make([]pawl.Answer, 2)
	for i := range answers {
		group.Go(func() { answers[i] = w.run(t, &pawl.Prepare{Commit: w.base}) })
	}
	<-ready
	<-ready
	close(both)
	group.Wait()
	failed := 0
	for _, a := range answers {
		if _, is := a.(*pawl.EffectFailed); is {
			failed++
		}
	}
	if failed != 1 || ran != 2 {
		t.Errorf("%d of 2 failed after %d tries", failed, ran)
	}
}

// An agent edits a manifest, and only the lock files that the update changed come back; what
// is prepared of them is in the worktree.
func TestUpdateDependencies(t *testing.T) {
	w := preparing(t, "mkdir -p deps && cp web/lock deps/")
	w.r.Inputs = func(path string) bool { return strings.HasSuffix(path, "lock") }
	update := func(command string) {
		w.r.Updates = func(fs.FS) []pawl.LockUpdate {
			return []pawl.LockUpdate{{Folder: "web", Ecosystem: "npm", Command: command, Files: []string{"lock"}}, {Folder: "api", Command: "false"}}
		}
	}
	w.MustOpen(t)
	call := func(args map[string]any) (*pawl.ToolReturned, string) {
		t.Helper()
		b := must[*pawl.ToolReturned](t, w, w.call(t, "update_dependencies", args))
		return b, w.MustBlob(t, b.Output)
	}
	MustWrite(t, w.dir("web", "manifest"), "left 2")
	update(`mkdir "$(printf 'web/odd\376')"; cd web && cp manifest lock && echo changed > manifest && mkdir -p node_modules/x && cp lock node_modules/x/ && ln -s /etc/passwd more`)
	b, text := call(map[string]any{"folder": "web/"})
	if b.IsError || b.Prepared == "" || !strings.Contains(text, "changed: web/lock\n") || !strings.Contains(text, "the dependencies are in place") {
		t.Fatalf("it answers %+v\n%s", b, text)
	}
	for _, file := range []string{"web/lock", "deps/lock", "web/manifest"} {
		if got := MustRead(t, w.dir(file)); got != "left 2" {
			t.Errorf("%s is %q", file, got)
		}
	}
	for _, file := range []string{"web/more", "web/node_modules"} {
		if _, err := os.Lstat(w.dir(file)); err == nil {
			t.Errorf("%s came back", file)
		}
	}
	if b, text := call(map[string]any{"folder": "web"}); b.IsError || !strings.Contains(text, "no lock file changed") {
		t.Errorf("once more it answers %+v\n%s", b, text)
	}
	MustWrite(t, w.dir("web", "manifest"), "left 3")
	update("cp web/manifest web/lock")
	if b, text := call(nil); !b.IsError || !strings.Contains(text, "$ false\n") {
		t.Errorf("of every folder it updates %+v\n%s", b, text)
	}
	if b, text := call(map[string]any{"folder": "web"}); b.IsError || MustRead(t, w.dir("deps", "lock")) != "left 3" {
		t.Errorf("with another lock file it answers %+v\n%s", b, text)
	}
	update("echo no such version; exit 3")
	if b, text := call(map[string]any{"folder": "web"}); !b.IsError || !strings.Contains(text, "exit code 3\nno such version") || b.Prepared != "" {
		t.Errorf("of an update that fails it says %+v\n%s", b, text)
	}
	if b, text := call(map[string]any{"folder": "docs"}); !b.IsError || !strings.Contains(text, "there are in web, api") {
		t.Errorf("of a folder without one it says %+v\n%s", b, text)
	}
	MustWrite(t, w.dir("tools", "requirements.txt"), "left==2\n") // what has no lock file is prepared all the same
	if b, text := call(map[string]any{"folder": "tools"}); b.IsError || b.Prepared == "" || !strings.Contains(text, "the dependencies are in place") {
		t.Errorf("of a folder with a manifest alone it says %+v\n%s", b, text)
	}
	update("echo 3 > web/lock")
	w.job.Settings.Prepare = []string{"echo gone; exit 4"}
	if b, text := call(map[string]any{"folder": "web"}); !b.IsError || !strings.Contains(text, "failed (exit 4)") || b.Prepared != "" || MustRead(t, w.dir("web", "lock")) != "3\n" {
		t.Errorf("when it cannot be prepared it says %+v\n%s", b, text)
	}
	w.job.Settings.Prepare = nil
	if b, text := call(nil); !b.IsError || !strings.Contains(text, "no commands that prepare") {
		t.Errorf("without prepare it says %+v\n%s", b, text)
	}
}

// What stands where an update wrote a lock file, and is no file, is left to the agent: it is told
// what that is, and what came back before. So it is told that time ran out, and that the
// commands removed the folder.
func TestUpdateDependenciesInTheWay(t *testing.T) {
	w := preparing(t, "true")
	w.MustOpen(t)
	outside := t.TempDir()
	MustWrite(t, w.dir("folder", "lock", "x"), "x")
	MustWrite(t, w.dir("file"), "x")
	MustWrite(t, w.dir("inside", "other"), "x")
	MustWrite(t, w.dir("inside", "a.lock"), "old")
	MustLink(t, "other", w.dir("inside", "lock"))
	MustWrite(t, w.dir("out", "a.lock"), "old")
	MustLink(t, outside, w.dir("out", "lock"))
	MustWrite(t, w.dir("gone", "x"), "x")
	update := func(folder, command string) (*pawl.ToolReturned, string) {
		t.Helper()
		w.r.Updates = func(fs.FS) []pawl.LockUpdate {
			return []pawl.LockUpdate{{Folder: folder, Command: command, Files: []string{"lock", "*.lock"}}}
		}
		b := must[*pawl.ToolReturned](t, w, w.call(t, "update_dependencies", nil))
		return b, w.MustBlob(t, b.Output)
	}
	for folder, want := range map[string]string{
		"folder": "folder/lock is a folder", "file": "file is a file, not a folder",
		"inside": "inside/lock is a symbolic link to other", "out": "out/lock is a symbolic link to " + outside,
	} {
		b, text := update(folder, "rm -rf "+folder+" && mkdir "+folder+" && echo new | tee "+folder+"/a.lock > "+folder+"/lock")
		for _, want := range []string{want, "exit code 0\n", "could not be put into the worktree", "remove what is there"} {
			if !b.IsError || b.Prepared != "" || !strings.Contains(text, want) {
				t.Errorf("%s: it answers %+v, want %q:\n%s", folder, b, want, text)
			}
		}
		before := "changed: " + folder + "/a.lock\n" // in the order of their names
		if isFolder := folder != "file"; strings.Contains(text, before) != isFolder || isFolder && MustRead(t, w.dir(folder, "a.lock")) != "new\n" {
			t.Errorf("%s: of the other lock file it says\n%s", folder, text)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("the folder outside has %v, %v", left, err)
	}
	if b, text := update("gone", "echo x > gone/x && ln -s x gone/a.lock && ln -s /etc/passwd gone/lock"); b.IsError || !strings.Contains(text, "no lock file changed") {
		t.Errorf("of links that the commands made it says %+v\n%s", b, text)
	}
	for command, want := range map[string]string{
		"dd if=/dev/zero of=gone/lock bs=1 count=0 seek=40000000": `the lock file "gone/lock" has 40 MB, want at most 33.5 MB; no lock file came back` + "\n",
		"for i in $(seq 201); do echo x > gone/$i.lock; done":     "more than 200 lock files changed; no lock file came back\n",
	} {
		if b, text := update("gone", command); !b.IsError || b.Prepared != "" || !strings.HasSuffix(text, want) {
			t.Errorf("after %s it says %+v\n%s", command, b, text)
		}
	}
	if b, text := update("gone", "rm -r gone"); b.IsError || !strings.Contains(text, "no lock file changed") {
		t.Errorf("of a folder that the commands removed it says %+v\n%s", b, text)
	}
	w.r.Rooms = &watched{Rooms: w.r.Rooms, contacts: []pawl.Contact{{Host: "evil.test:443", Requests: 1, Refused: "evil.test:443 is not named"}}}
	w.job.Settings.PrepareTimeout, w.job.Settings.PrepareEnviron = 3*time.Minute, []string{"npm_config_registry=https://npm.test"}
	w.play(func(_ context.Context, cmd pawl.Command, _ []string) (pawl.CommandResult, error) {
		if !slices.Equal(cmd.Env, w.job.Settings.PrepareEnviron) {
			t.Errorf("an update has the variables %q", cmd.Env)
		}
		return pawl.CommandResult{TimedOut: true, Output: []byte("so far\n")}, nil
	})
	if b, text := update("gone", "npm install"); !b.IsError || text != "$ npm install\nit timed out: all commands together have 3m\nso far\nthe egress proxy refused a request: evil.test:443 is not named\n" {
		t.Errorf("of an update that takes too long it says %+v\n%s", b, text)
	}
}
