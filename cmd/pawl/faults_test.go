//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/model/modeltest"
	"pawl/internal/pattern"
	"pawl/internal/testsize"
)

// faultsEachRun is how many faults a run meets, unless one of them is named as damage.
const faultsEachRun = 4

// trial is a run that meets faults.
type trial struct {
	*victim
	undisturbed *reference
	t           *testing.T
	rnd         *rand.Rand
	lacked      string // what a run says that ends otherwise for want of it
}

// moment is how many more events a run appends before a fault, and how long it works then.
func (x *trial) moment() (events int, d time.Duration) {
	return x.rnd.IntN(2 * x.undisturbed.events / faultsEachRun), time.Duration(x.rnd.Int64N(2 * int64(x.undisturbed.lasts) / int64(x.undisturbed.events)))
}

// fate is what became of a run that met a fault.
type fate string

const (
	none   fate = ""        // there was nothing that it could happen to yet
	goesOn fate = "goes on" // it has to end as one that met no fault
	same   fate = "ended"   // as one that met no fault
	told   fate = "told"    // it ended otherwise, for want of what the fault took, and says so
	named  fate = "named"   // doctor names what is damaged, and exits with the code for damage
)

// fault is something that happens to a run.
type fault struct {
	kind string
	// strike makes it happen. No process of the run is left when it returns.
	strike func(x *trial) fate
	// lacks says why this machine cannot try it; empty = it can.
	lacks func() string
	// first limits it to a run's first fault, since it replaces how the run is started.
	first bool
	// recipes it can happen to; nil = all.
	recipes []string
}

func nothing() string { return "" }

// faults are all kinds, each as often as it stands here.
func faults(skewed func() (string, error)) []fault {
	strace := func() string {
		if _, err := exec.LookPath("strace"); err != nil {
			return "strace is not installed"
		}
		if out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-e", "inject=fsync:error=EIO:when=9999", "true").CombinedOutput(); err != nil {
			return "strace cannot trace here: " + strings.TrimSpace(string(out))
		}
		return ""
	}
	strace = sync.OnceValue(strace)
	mounts := sync.OnceValue(func() string {
		dir, err := os.MkdirTemp("", "faults")
		if err == nil {
			defer os.Remove(dir)
			if err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err == nil {
				err = syscall.Unmount(dir, 0)
			}
		}
		if err != nil {
			return fmt.Sprintf("file systems cannot be mounted here: %v", err)
		}
		return ""
	})
	clocks := sync.OnceValue(func() string {
		if _, err := skewed(); err != nil {
			return err.Error()
		}
		return ""
	})
	out := []fault{
		{kind: "kill -9", strike: func(x *trial) fate { return x.signalled(syscall.SIGKILL) }, lacks: nothing},
		{kind: "SIGTERM", strike: func(x *trial) fate { return x.signalled(syscall.SIGTERM) }, lacks: nothing},
		{kind: "repository moved", strike: (*trial).moved, lacks: nothing},
		{kind: "repository removed, a copy is left", strike: (*trial).replaced, lacks: nothing},
		{kind: "full disk", strike: (*trial).fullDisk, lacks: mounts, first: true},
		{kind: "read-only disk", strike: (*trial).readOnly, lacks: mounts, first: true},
		{kind: "provider, scripted", strike: (*trial).refused, lacks: nothing},
	}
	for _, e := range []string{"ENOSPC", "EIO", "EROFS"} {
		out = append(out, fault{kind: e + " on writing", strike: func(x *trial) fate { return x.failing(e, "pwrite64", "fsync", "fdatasync", "ftruncate") }, lacks: strace})
	}
	for _, f := range []struct{ what, pattern string }{{"database", "pawl.db"}, {"WAL", "pawl.db-wal"}, {"blobs", "blobs/*/*"}, {"slots", "pawl.slots"}} {
		out = append(out,
			fault{kind: "bit flip, " + f.what, strike: func(x *trial) fate { return x.damaged(f.pattern, flip) }, lacks: nothing},
			fault{kind: "truncated, " + f.what, strike: func(x *trial) fate { return x.damaged(f.pattern, truncate) }, lacks: nothing})
	}
	for _, hours := range []int{1, 24 * 400} {
		for _, sign := range []int{1, -1} {
			out = append(out, fault{kind: fmt.Sprintf("clock jumps %+d h", sign*hours), lacks: clocks, first: true,
				strike: func(x *trial) fate { return x.jumped(skewed, time.Duration(sign*hours)*time.Hour) }})
		}
	}
	for _, k := range []modeltest.FaultKind{modeltest.FaultStatus, modeltest.FaultCut, modeltest.FaultEnd, modeltest.FaultGarbage, modeltest.FaultHTML, modeltest.FaultError} {
		out = append(out, fault{kind: "provider, " + string(k), strike: func(x *trial) fate { return x.overTheWire(k) }, lacks: nothing, first: true, recipes: []string{"pawl", "taskloop"}})
	}
	return out
}

// row counts what became of the runs that met one kind of fault.
type row struct{ tried, same, named, told int }

// A run that meets any fault ends as one that met none, or what is damaged is named; nothing
// is lost in silence. make faults tries every kind of fault with runs of every recipe, a soak 100
// of these pairs.
//
// PAWL_FAULTS sets the number of faults, PAWL_FAULTS_SEED repeats a campaign, and
// PAWL_FAULTS_TABLE names a file for the table. make faults sets them.
// F-16 F-18
func TestFaults(t *testing.T) {
	t.Parallel()
	var numbers []int // of the runs
	for i := range 100 {
		if testsize.Case(i, 1) {
			numbers = append(numbers, i)
		}
	}
	n := len(numbers)
	seed := uint64(time.Now().UnixNano())
	for name, to := range map[string]func(uint64){"PAWL_FAULTS": func(v uint64) { n = int(v) }, "PAWL_FAULTS_SEED": func(v uint64) { seed = v }} {
		if s := os.Getenv(name); s != "" {
			v, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			to(v)
		}
	}
	t.Logf("repeat with PAWL_FAULTS_SEED=%d PAWL_FAULTS=%d", seed, n)
	whole := os.Getenv("PAWL_FAULTS") != ""
	if whole {
		numbers = numbers[:0]
		for i := range n {
			numbers = append(numbers, i)
		}
	}
	dir := t.TempDir()
	all := faults(sync.OnceValues(func() (string, error) {
		if !whole {
			return "", errors.New("only make faults builds a pawl with another clock")
		}
		return skewedPawl(dir)
	}))
	var mu sync.Mutex // guards the counts
	table, byRecipe, tried := map[string]*row{}, map[string]int{}, 0
	for _, f := range all {
		table[f.kind] = &row{}
	}
	kinds := subjects()
	undisturbed := make([]*reference, len(kinds))
	if !t.Run("undisturbed", func(t *testing.T) {
		for i, s := range kinds {
			t.Run(s.recipe, func(t *testing.T) {
				t.Parallel()
				undisturbed[i] = s.undisturbed(t)
			})
		}
	}) {
		return
	}
	done := func() bool { mu.Lock(); defer mu.Unlock(); return tried >= n }
	t.Run("runs", func(t *testing.T) {
		for _, i := range numbers {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				if whole && done() {
					return
				}
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				x := &trial{undisturbed: undisturbed[(i+i/len(all))%len(kinds)], t: t, rnd: rnd}
				x.victim = x.undisturbed.victim(t)
				for met := range faultsEachRun {
					f := x.draw(all, i+met*7, met == 0)
					if met == 0 && !f.first && x.undisturbed.begin != nil {
						x.undisturbed.begin(x.victim, t)
					}
					if met > 0 && x.mayHaveEnded() {
						break
					}
					became := f.strike(x)
					if became == none && !t.Failed() {
						continue
					}
					mu.Lock()
					tried++
					byRecipe[x.undisturbed.recipe]++
					r := table[f.kind]
					r.tried++
					mu.Unlock()
					if t.Failed() {
						t.Logf("after %s; what the run said:\n%s", f.kind, x.out.String())
						return
					}
					if became == goesOn && (met == faultsEachRun-1 || x.mayHaveEnded() || f.first) {
						became = x.finishes(f.kind)
					}
					mu.Lock()
					switch became {
					case goesOn, same:
						r.same++
					case named:
						r.named++
					case told:
						r.told++
					}
					mu.Unlock()
					if became != goesOn || f.first || t.Failed() {
						return
					}
				}
				x.finishes("these faults")
			})
		}
	})
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tTRIED\tENDED THE SAME\tNAMED\tTOLD\t")
	for _, f := range all {
		if why := f.lacks(); why != "" {
			fmt.Fprintf(w, "%s\tnot tried: %s\n", f.kind, why)
			continue
		}
		r := table[f.kind]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", f.kind, r.tried, r.same, r.named, r.told)
	}
	w.Flush()
	fmt.Fprintf(&text, "%d faults, seed %d, by recipe:", tried, seed)
	for _, name := range slices.Sorted(maps.Keys(byRecipe)) {
		fmt.Fprintf(&text, " %s %d", name, byRecipe[name])
	}
	t.Logf("\n%s", text.String())
	if name := os.Getenv("PAWL_FAULTS_TABLE"); name != "" {
		mustWrite(t, name, text.String()+"\n")
	}
	if !t.Failed() && tried < n {
		t.Errorf("only %d faults, want %d", tried, n)
	}
}

// draw is the next kind from a place in the list on that this run can meet here.
func (x *trial) draw(all []fault, from int, first bool) fault {
	for n := from; ; n++ {
		f := all[n%len(all)]
		if f.lacks() == "" && (first || !f.first) && (f.recipes == nil || slices.Contains(f.recipes, x.undisturbed.recipe)) {
			return f
		}
	}
}

// mayHaveEnded reports whether the run has ended; what cannot be read has not.
func (x *trial) mayHaveEnded() bool { return x.started && x.ended(x.t) }

// finishes lets the run come to its end, which must be that of one without faults, unless it
// says that it lacked what the fault took from it.
func (x *trial) finishes(after string) fate {
	x.t.Helper()
	if x.lacked == "" {
		x.finish(x.t)
	} else {
		_ = x.command().Run() // its exit code is that of how it ended
		x.nothingRuns(x.t)
	}
	became := goesOn
	if got := x.undisturbed.ending(x.victim, x.t); got != x.undisturbed.want {
		if report, _ := x.pawl("logs", "1", "--verbose"); x.lacked != "" && strings.Contains(report, x.lacked) {
			x.nothingLost(x.t)
			return told
		}
		x.t.Errorf("after %s:\n got %s\nwant %s\nlog:\n%s", after, got, x.undisturbed.want, x.out.String())
	}
	x.nothingLost(x.t)
	return became
}

// signalled sends a signal to the run at any moment.
func (x *trial) signalled(s syscall.Signal) fate {
	events, d := x.moment()
	x.strikeAfter(x.t, x.command("--json"), events, d, func(p *os.Process) { _ = p.Signal(s) })
	return goesOn
}

// faultLasts bounds how long calls of the system fail before the run is killed.
const faultLasts = 30 * time.Second

// failing lets calls of the system on the run's log fail with an error, some in a row.
func (x *trial) failing(errno string, calls ...string) fate {
	at, most := 1+x.rnd.IntN(2*x.undisturbed.events/faultsEachRun), 1+x.rnd.IntN(20)
	call := calls[x.rnd.IntN(len(calls))]
	cmd := x.command("--json")
	args := []string{"strace", "-f", "--seccomp-bpf", "-q", "-o", "/dev/null", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d..%d", call, errno, at, at+most)}
	dir := x.project()
	for _, name := range []string{"pawl.db", "pawl.db-wal"} {
		args = append(args, "-P", filepath.Join(dir, name))
	}
	// strace counts the calls of each thread, so that they may fail for as long as a run of many threads is patient.
	ctx, cancel := context.WithTimeout(x.t.Context(), faultLasts)
	defer cancel()
	traced := exec.CommandContext(ctx, args[0], append(args[1:], cmd.Args...)...)
	traced.Cancel = func() error { killTree(traced.Process.Pid); return nil }
	traced.Dir, traced.Env, traced.Stderr = cmd.Dir, cmd.Env, cmd.Stderr
	events, d := x.moment()
	x.strikeAfter(x.t, traced, events+x.undisturbed.events/faultsEachRun, d, func(p *os.Process) { killTree(p.Pid) })
	return goesOn
}

// project is the folder of what the run's project stores, which need not be there yet.
func (x *trial) project() string {
	x.t.Helper()
	found, err := filepath.Glob(filepath.Join(x.home, "state", "pawl", "*", "pawl.db"))
	if err == nil && len(found) == 1 {
		return filepath.Dir(found[0])
	}
	out, err := x.pawl("list", "--json")
	if err != nil {
		x.t.Fatalf("%v\n%s", err, out)
	}
	found, _ = filepath.Glob(filepath.Join(x.home, "state", "pawl", "*"))
	if len(found) == 1 {
		return found[0]
	}
	return filepath.Join(x.home, "state", "pawl", "none")
}

// mounted gives the run a file system of its own for what it stores, and returns what ends it.
func (x *trial) mounted(options string) (dir string, end func()) {
	x.t.Helper()
	dir = filepath.Join(x.home, "state")
	if err := errors.Join(os.MkdirAll(dir, 0o700), syscall.Mount("tmpfs", dir, "tmpfs", 0, options)); err != nil {
		x.t.Fatal(err)
	}
	end = sync.OnceFunc(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	x.t.Cleanup(end)
	return dir, end
}

// fullDisk lets the disk that the run stores on become full while it works, and has room again.
func (x *trial) fullDisk() fate {
	dir, _ := x.mounted("size=160m,mode=0700")
	if x.undisturbed.begin != nil {
		x.undisturbed.begin(x.victim, x.t)
	}
	events, d := x.moment()
	filler := filepath.Join(dir, "filler")
	x.strikeAfter(x.t, x.command("--json"), events, d, func(p *os.Process) {
		_ = exec.Command("sh", "-c", `cat /dev/zero > "$0"`, filler).Run()
		time.AfterFunc(time.Duration(1+x.rnd.IntN(2000))*time.Millisecond, func() { _ = os.Remove(filler) }) // the disk is full for a while
	})
	x.lacked = "no space left"
	if err := os.Remove(filler); err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.t.Error(err)
	}
	return goesOn
}

// readOnly lets the disk be read-only when the run is to go on.
func (x *trial) readOnly() fate {
	dir, _ := x.mounted("size=160m,mode=0700")
	if x.undisturbed.begin != nil {
		x.undisturbed.begin(x.victim, x.t)
	}
	x.signalled(syscall.SIGKILL)
	begin := time.Now()
	err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	for errors.Is(err, syscall.EBUSY) && time.Since(begin) < deadline { // what was killed with the run may still have a file open
		<-time.After(10 * time.Millisecond)
		err = syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	if err != nil {
		x.t.Fatal(err)
	}
	if !x.mayHaveEnded() {
		before := x.out.Len()
		err := x.command().Run()
		if said := x.out.String()[before:]; err == nil {
			x.t.Errorf("a run goes on where nothing can be stored:\n%s", said)
		} else if !strings.Contains(said, "read-only") || !strings.Contains(said, "→") {
			x.t.Errorf("it is not told that the disk is read-only, or what to do:\n%s", said)
		}
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		x.t.Fatal(err)
	}
	return goesOn
}

// elsewhere is another place for the repository, which is in the way of nothing.
func (x *trial) elsewhere() (to string) {
	x.t.Helper()
	dir, err := os.MkdirTemp(x.home, "elsewhere")
	if err != nil {
		x.t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Base(x.repo))
}

// moved moves the repository while the run is interrupted.
func (x *trial) moved() fate {
	x.t.Helper()
	x.signalled(syscall.SIGKILL)
	to := x.elsewhere()
	if err := os.Rename(x.repo, to); err != nil {
		x.t.Fatal(err)
	}
	x.repo = to
	if out, err := x.pawl("list"); err != nil || x.started && !strings.Contains(out, "001-") {
		x.t.Errorf("%v\n%s", err, out)
	}
	return goesOn
}

// replaced puts a copy in place of the repository while the run is interrupted, which gets the
// run when somebody says so.
func (x *trial) replaced() fate {
	x.t.Helper()
	x.signalled(syscall.SIGKILL)
	if !x.hasRun(x.t) {
		return none
	}
	to := x.elsewhere()
	if out, err := exec.Command("cp", "-a", x.repo, to).CombinedOutput(); err != nil {
		x.t.Fatalf("%v\n%s", err, out)
	}
	if err := os.RemoveAll(x.repo); err != nil {
		x.t.Fatal(err)
	}
	x.repo = to
	if out, err := x.pawl("list"); exitCode(err) != cli.ExitState || !strings.Contains(out, "pawl attach takes the runs over") {
		x.t.Errorf("a copy is not told of the runs: %v\n%s", err, out)
	}
	if out, err := x.pawl("attach"); err != nil || !strings.Contains(out, "has 1 run now") {
		x.t.Errorf("%v\n%s", err, out)
	}
	return goesOn
}

// flip changes a bit of a file.
func flip(rnd *rand.Rand, data []byte) []byte {
	data[rnd.IntN(len(data))] ^= 1 << rnd.IntN(8)
	return data
}

// truncate cuts off the end of a file.
func truncate(rnd *rand.Rand, data []byte) []byte { return data[:rnd.IntN(len(data))] }

// damaged damages a file of what is stored while the run is interrupted. doctor names the
// damage, or it does no harm.
func (x *trial) damaged(pattern string, damage func(*rand.Rand, []byte) []byte) fate {
	x.t.Helper()
	x.signalled(syscall.SIGKILL)
	found, err := filepath.Glob(filepath.Join(x.project(), pattern))
	if err != nil {
		x.t.Fatal(err)
	}
	if len(found) == 0 || !x.started {
		return none
	}
	told := x.told
	name := found[x.rnd.IntN(len(found))]
	data, err := os.ReadFile(name)
	if err != nil {
		x.t.Fatal(err)
	}
	if len(data) == 0 {
		return none
	}
	if err := os.WriteFile(name, damage(x.rnd, data), 0o600); err != nil {
		x.t.Fatal(err)
	}
	if x.isNamed() {
		return named
	}
	if s := x.state(x.t); s == nil || s.Seq < told {
		x.t.Errorf("%s is damaged: %d events had been told of, and now there are %v", filepath.Base(name), told, s)
		return goesOn
	}
	if !x.mayHaveEnded() {
		if err := x.command().Run(); err != nil {
			if x.isNamed() {
				return named
			}
			x.t.Errorf("%s is damaged, and doctor does not say so: %v\n%s", name, err, x.out.String())
		}
	}
	return goesOn
}

// isNamed reports whether doctor says that something is damaged. It names the run, and so do
// all who are asked for it.
func (x *trial) isNamed() bool {
	x.t.Helper()
	out, err := x.pawl("doctor")
	if code := exitCode(err); code != cli.ExitDamaged {
		return false
	}
	if !strings.Contains(out, "001-") && !strings.Contains(out, "pawl.db") {
		x.t.Errorf("doctor does not name what is damaged:\n%s", out)
	}
	if _, err := x.pawl("show", "1"); err == nil {
		if again, _ := x.pawl("list"); strings.Contains(again, "complete") && !x.mayHaveEnded() {
			x.t.Errorf("a damaged run is listed as complete:\n%s", again)
		}
	}
	return true
}

// steps matches the names of steps in a script.
var steps = pattern.Of(`step: \[?([a-z-]+)`)

// refused lets the first calls of a step fail as providers let them.
func (x *trial) refused() fate {
	x.t.Helper()
	all := steps.FindAllStringSubmatch(x.undisturbed.script, -1)
	step := all[x.rnd.IntN(len(all))][1]
	kind := []string{"{kind: overloaded, times: 1}", "{kind: rate_limit, wait_ms: 30, times: 2}", "{kind: network, times: 1}",
		"{kind: timeout, times: 1}", "{kind: quota, wait_ms: 30, times: 1}"}[x.rnd.IntN(5)]
	answer := fmt.Sprintf("answers:\n  - when: {step: %s, turn: 1}\n    error: %s\n", step, kind)
	mustWrite(x.t, filepath.Join(x.home, "script.yaml"), strings.Replace(x.undisturbed.script, "answers:\n", answer, 1))
	events, d := x.moment()
	x.strikeAfter(x.t, x.command("--json"), events, d, func(p *os.Process) { _ = p.Kill() })
	return goesOn
}

// overTheWire lets a provider that speaks a real protocol answer some calls wrongly.
func (x *trial) overTheWire(kind modeltest.FaultKind) fate {
	x.t.Helper()
	p := providers[x.rnd.IntN(3)]
	points := []modeltest.Point{modeltest.AtHeaders, modeltest.AtStart, modeltest.AtText, modeltest.AtArguments, modeltest.AtLast}
	first, count, statuses := x.rnd.Int32N(8), 1+x.rnd.Int32N(2), []int{500, 502, 503, 529, 429}
	at, status := points[x.rnd.IntN(len(points))], statuses[x.rnd.IntN(len(statuses))]
	run := func(faulty bool) string {
		e := &engineer{}
		e.calls.Store(10) // past the faults of its own
		server := modeltest.NewServer(p.wire, func(req pawl.ModelRequest) modeltest.Reply {
			r := e.answer(req)
			if n := e.calls.Load() - 11; faulty && n >= first && n < first+count {
				r.Fault = modeltest.Fault{Kind: kind, At: at, Status: status, Header: http.Header{"Retry-After": {"0"}}}
			}
			return r
		})
		defer server.Close()
		_, name, _ := strings.Cut(p.model, "/")
		server.Models = []string{name}
		v := newVictim(x.t, x.bin, x.undisturbed.script, map[string]string{"README": "a repository\n"})
		v.env = append(v.env, p.base+"="+server.BaseURL, p.key+"=sk-test-0123456789abcdef")
		v.begin = []string{"run", "say hello in hello.txt", "--recipe", x.undisturbed.recipe, "--unsandboxed", "--model", p.model,
			"--require-green", "--gate", `tests=grep -q hello hello.txt && echo "ok 1" && echo 1..1`, "--criteria", "hello.txt says hello"}
		v.finish(x.t)
		x.out.WriteString(v.out.String())
		return v.ending(x.t)
	}
	if got, want := run(true), run(false); got != want {
		x.t.Errorf("%s at %q of calls %d to %d over %s:\n got %s\nwant %s\n%s", kind, at, first, first+count-1, p.wire, got, want, x.out.String())
	}
	return same
}

// jumped lets the clock jump while the run is at work.
func (x *trial) jumped(skewed func() (string, error), by time.Duration) fate {
	x.t.Helper()
	bin, err := skewed()
	if err != nil {
		x.t.Fatal(err)
	}
	x.bin = bin
	if x.undisturbed.begin != nil {
		x.undisturbed.begin(x.victim, x.t)
	}
	clock := filepath.Join(x.home, "clock")
	mustWrite(x.t, clock, "0")
	x.env = append(x.env, "PAWL_TEST_CLOCK="+clock)
	events, _ := x.moment()
	x.strikeAfter(x.t, x.command("--json"), events, 0, func(p *os.Process) {
		mustWrite(x.t, clock, strconv.FormatInt(int64(by), 10))
		_ = p.Signal(syscall.SIGUSR2)
	})
	return goesOn
}

// skewedPawl builds a pawl whose clock is off by what a file says, read at its start and
// whenever SIGUSR2 comes. Nothing of pawl itself is changed for it.
func skewedPawl(dir string) (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("the clock cannot be replaced: %w", err)
	}
	clock := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(clock)
	if err != nil {
		return "", fmt.Errorf("the clock cannot be replaced: %w", err)
	}
	const read = "\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(source), read) {
		return "", errors.New("the clock cannot be replaced: this Go reads it in another way")
	}
	// A jump changes the time of day and not the monotonic clock, as on a real machine.
	changed := strings.ReplaceAll(string(source), read, read+"\tif by := Skew.by; by != 0 {\n\t\tsec += by / 1e9\n\t}\n") +
		"\n// Skew is how far the clock is off, in nanoseconds.\nvar Skew struct{ by int64 }\n\n// SetSkew changes it.\nfunc SetSkew(by int64) { Skew.by = by }\n"
	const hook = `package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func init() {
	name := os.Getenv("PAWL_TEST_CLOCK")
	if name == "" {
		return
	}
	read := func() {
		data, _ := os.ReadFile(name)
		by, _ := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		time.SetSkew(by)
	}
	read()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	go func() {
		for range c {
			read()
		}
	}()
}
`
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	replace := map[string]string{clock: filepath.Join(dir, "time.go"), filepath.Join(here, "zz_clock.go"): filepath.Join(dir, "zz_clock.go")}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	for name, content := range map[string]string{"time.go": changed, "zz_clock.go": hook, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(dir, "pawl-skewed")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("a pawl with another clock cannot be built: %w: %s", err, out)
	}
	return bin, nil
}
