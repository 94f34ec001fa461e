package sqlite

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

// tracedCalls lists the system calls that a [tracedDisk] models. unsupportedCalls lists
// others that change files; the test fails if the log makes one of them.
const (
	tracedCalls = "openat,open,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,write,pwrite64,fsync,fdatasync,ftruncate,close"

	unsupportedCalls = "creat,truncate,fallocate,writev,pwritev,pwritev2,link,linkat,symlink,symlinkat,copy_file_range,sendfile,splice,dup,dup2,dup3"
)

// sysCall is one traced call. Calls of different threads may overlap.
type sysCall struct {
	name   string
	args   []string
	result int64

	node *node // the node that the call syncs, up to mark
	mark int
}

// tracedDisk rebuilds the state of a disk from a trace of system calls.
type tracedDisk struct {
	*crashDisk
	below   string // only files below this folder are modelled
	open    map[int64]*handle
	running map[string]*sysCall // unfinished calls, by thread
	told    [childRuns]int      // the acknowledged events of each run
}

type handle struct {
	node *node
	at   int64
}

// mustTrace runs the child under strace and returns the lines of the trace.
func mustTrace(t *testing.T, dir string, rounds string) iter.Seq[string] {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	if out, err := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace=fsync", "true").CombinedOutput(); err != nil {
		t.Skipf("cannot run strace, so the syncs of SQLite are not tested: %v\n%s", err, out)
	}
	child := exec.Command("strace", "-f", "-qq", "-xx", "-s", "10000000", "-o", trace,
		"-e", "signal=none", "-e", "trace="+tracedCalls+","+unsupportedCalls, os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, childRounds+"="+rounds)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-1000):])
	}
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return func(yield func(string) bool) {
		lines := bufio.NewReaderSize(f, 1<<20)
		for {
			line, err := lines.ReadString('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// parse parses a line of the trace and reports whether the call begins and whether it
// ends on this line.
func (h *tracedDisk) parse(line string) (s *sysCall, begins, ends bool, err error) {
	thread, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	if after, ok := strings.CutPrefix(rest, "<... "); ok {
		s = h.running[thread]
		delete(h.running, thread)
		if s == nil {
			return nil, false, false, fmt.Errorf("the thread has no unfinished call")
		}
		_, rest, _ = strings.Cut(after, "resumed>")
	} else {
		name, args, ok := strings.Cut(rest, "(")
		if !ok {
			return nil, false, false, fmt.Errorf("not a system call")
		}
		s, begins, rest = &sysCall{name: name}, true, args
		if args, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
			s.args = split(args)
			h.running[thread] = s
			return s, true, false, nil
		}
	}
	args, rest, _ := strings.Cut(rest, ")") // no argument contains a parenthesis
	s.args = append(s.args, split(args)...)
	result, _, _ := strings.Cut(strings.TrimLeft(rest, " ="), " ")
	if result == "?" { // the process exited during the call
		return s, begins, false, nil
	}
	s.result, err = strconv.ParseInt(result, 0, 64)
	return s, begins, true, err
}

// split splits a list of arguments. Strings are in hex, so they contain no separators.
func split(args string) []string {
	return strings.FieldsFunc(args, func(r rune) bool { return r == ',' || r == ' ' })
}

// text decodes a string argument.
func text(arg string) []byte {
	arg = strings.ReplaceAll(strings.Trim(arg, `"`), `\x`, "")
	data, err := hex.DecodeString(arg)
	if err != nil {
		panic(fmt.Sprintf("%.100q is not a string argument: %v", arg, err))
	}
	return data
}

// number parses a numeric argument.
func number(arg string) int64 {
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// begin handles the start of a call.
func (h *tracedDisk) begin(s *sysCall) {
	switch s.name {
	case "fsync", "fdatasync":
		if f := h.open[number(s.args[0])]; f != nil {
			s.node, s.mark = f.node, f.node.beginSync()
		}
	case "close":
		delete(h.open, number(s.args[0]))
	case "write":
		if number(s.args[0]) == 1 { // the child reports that Append has returned
			var run, seq int
			if _, err := fmt.Sscan(string(text(s.args[1])), &run, &seq); err == nil {
				h.told[run] = seq
			}
		}
	}
}

// end handles the end of a call and reports whether it changed anything.
func (h *tracedDisk) end(s *sysCall) (changed bool, err error) {
	if s.result < 0 {
		return false, nil
	}
	switch s.name {
	case "openat", "open":
		flags := slices.IndexFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, "O_") })
		return h.opened(h.paths(s)[0], s.args[flags], s.result)
	case "mkdirat", "mkdir", "unlink", "unlinkat", "rmdir":
		name := h.paths(s)[0]
		if !strings.HasPrefix(name, h.below) {
			return false, nil
		}
		if strings.HasPrefix(s.name, "mkdir") {
			h.set(name, newFolder())
		} else {
			h.set(name, nil)
		}
		return true, nil
	case "rename", "renameat", "renameat2":
		names := h.paths(s)
		if !strings.HasPrefix(names[0], h.below) {
			return false, nil
		}
		n := h.find(names[0])
		h.set(names[0], nil)
		h.set(names[1], n)
		return true, nil
	case "fsync", "fdatasync":
		if s.node != nil {
			s.node.endSync(s.mark)
		}
		return s.node != nil, nil
	case "write", "pwrite64", "ftruncate":
		return h.written(s), nil
	case "close":
		return false, nil
	}
	if f := h.open[number(s.args[0])]; f != nil || slices.ContainsFunc(h.paths(s), func(p string) bool { return strings.HasPrefix(p, h.below) }) {
		return false, fmt.Errorf("the log made the call %s", s.name)
	}
	return false, nil
}

// paths returns the string arguments of a call.
func (h *tracedDisk) paths(s *sysCall) (paths []string) {
	for _, arg := range s.args {
		if strings.HasPrefix(arg, `"`) {
			paths = append(paths, string(text(arg)))
		}
	}
	return paths
}

// opened handles a successful open and reports whether it created the file.
func (h *tracedDisk) opened(name, flags string, fd int64) (changed bool, err error) {
	n := h.find(name)
	if !strings.HasPrefix(name, h.below) && (n == nil || !n.isFolder()) {
		return false, nil
	}
	if n == nil {
		if !strings.Contains(flags, "O_CREAT") {
			return false, fmt.Errorf("%s is opened but was never created", name)
		}
		n, changed = &node{}, true
		h.set(name, n)
	}
	if strings.Contains(flags, "O_TRUNC") || strings.Contains(flags, "O_APPEND") {
		return false, fmt.Errorf("%s is opened with %s", name, flags)
	}
	h.open[fd] = &handle{node: n}
	return changed, nil
}

// written handles a write or truncation and reports whether it changed a modelled file.
func (h *tracedDisk) written(s *sysCall) bool {
	f := h.open[number(s.args[0])]
	if f == nil {
		return false
	}
	switch s.name {
	case "ftruncate":
		f.node.change(edit{at: number(s.args[1]), truncate: true})
	case "pwrite64":
		f.node.change(edit{at: number(s.args[3]), data: text(s.args[1])[:s.result]})
	case "write":
		f.node.change(edit{at: f.at, data: text(s.args[1])[:s.result]})
		f.at += s.result
	}
	return true
}

// Every acknowledged event survives a power cut at any time, whichever unsynced writes
// survive with it, and no run has gaps or is taken for damaged. The disk is rebuilt from the system calls of a
// process that appends units. F-16 F-62
func TestPowerCutOfTheDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode: it opens many logs; make test-all runs it")
	}
	base := t.TempDir()
	dir := filepath.Join(base, "state", "log")
	trace := mustTrace(t, dir, "3 3 3 3 3 30")
	h := &tracedDisk{crashDisk: newCrashDisk(), below: base, open: map[int64]*handle{}, running: map[string]*sysCall{}}
	h.mkdirAll(base, true)
	random := rand.New(rand.NewPCG(1, uint64(2+testsize.Turn())))
	calls, crashes := 0, 0
	look := func(when string) {
		// Cut the power after every call at first, and less often as the log grows.
		if calls++; random.IntN(1+calls/testsize.Of(1, 4, 20)) == 0 {
			crashes++
			h.wantTold(t, dir, random, fmt.Sprintf("%s, call %d", when, calls))
		}
	}
	for line := range trace {
		s, begins, ends, err := h.parse(line)
		if err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		if begins {
			h.begin(s)
		}
		if ends && s.node != nil { // the last moment before the changes are durable
			look("before " + s.name)
		}
		if ends {
			changed, err := h.end(s)
			if err != nil {
				t.Fatalf("%v: %.200s", err, line)
			}
			if changed {
				look(s.name)
			}
		}
	}
	for i, events := range h.told {
		if events != 3*45 {
			t.Fatalf("run %d: %d events were acknowledged, want 45 units of three", i, events)
		}
	}
	h.wantTold(t, dir, random, "the end")
	t.Logf("cut the power at %d of %d points", crashes, calls)
}

// wantTold checks the log after each of two power cuts: one that loses every unsynced
// change, and one with random outcomes.
func (h *tracedDisk) wantTold(t *testing.T, dir string, random *rand.Rand, when string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the power was cut at %s", when)
		}
	}()
	for _, choice := range []func(outcome) outcome{
		func(outcome) outcome { return dropped },
		func(of outcome) outcome { return outcome(random.IntN(int(of))) },
	} {
		to := filepath.Join(t.TempDir(), "log")
		h.crash(choice).mustRestore(t, dir, to)
		log, err := Open(to)
		if err != nil {
			t.Fatal(err)
		}
		wantTold(t, log, h.told)
		for _, r := range storetest.MustRuns(t, log) {
			if r.Status == pawl.StatusQuarantined { // F-16: a slot is never ahead of the log
				t.Errorf("run %s: %s", r.ID, r.Reason)
			}
		}
		storetest.MustAppend(t, log, storetest.Unit("900-later", 0, 1, storetest.Noise(1, 70_000)))
		mustClose(t, log)
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
}
