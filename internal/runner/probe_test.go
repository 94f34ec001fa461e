package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// What recovery makes of a call.
const (
	done        = "done"        // it was made, and is not made again
	redo        = "redo"        // it is made now
	conflict    = "conflict"    // the worktree is to be restored
	interrupted = "interrupted" // the model is told to look
)

// writeCase is a call that a crash cut off.
type writeCase struct {
	tool    string
	args    map[string]any
	path    string // that it writes; empty when it is refused
	content string // afterwards
	before  string // what recovery makes of it when it was not begun
	after   string // and when it was made
}

var (
	probed = map[string]string{
		"a.txt": "one\ntwo\none\n", "run.sh": "#!/bin/sh\necho hello\n", "lib/b.txt": "b\n", ".gitignore": "*.log\nbuild/\n",
	}
	writeCases = map[string]writeCase{
		"WriteNew":       {"write", map[string]any{"path": "new.txt", "content": "new\n"}, "new.txt", "new\n", redo, done},
		"WriteEmpty":     {"write", map[string]any{"path": "empty.txt", "content": ""}, "empty.txt", "", redo, done},
		"WriteNewFolder": {"write", map[string]any{"path": "x/y/z.txt", "content": "z"}, "x/y/z.txt", "z", redo, done},
		"WriteUnclean":   {"write", map[string]any{"path": "./lib//../lib/c.txt", "content": "c"}, "lib/c.txt", "c", redo, done},
		"Overwrite":      {"write", map[string]any{"path": "a.txt", "content": "whole\n"}, "a.txt", "whole\n", redo, done},
		"OverwriteEqual": {"write", map[string]any{"path": "a.txt", "content": "one\ntwo\none\n"}, "a.txt", "one\ntwo\none\n", redo, redo},
		"Executable":     {"write", map[string]any{"path": "run.sh", "content": "#!/bin/sh\n"}, "run.sh", "#!/bin/sh\n", redo, done},
		"Edit":           {"edit", map[string]any{"path": "a.txt", "old": "two", "new": "2"}, "a.txt", "one\n2\none\n", redo, done},
		"EditAll":        {"edit", map[string]any{"path": "a.txt", "old": "one", "new": "1", "all": true}, "a.txt", "1\ntwo\n1\n", redo, done},
		"EditTwiceSame":  {"edit", map[string]any{"path": "a.txt", "old": "two", "new": "two two"}, "a.txt", "one\ntwo two\none\n", redo, done},
		"EditExecutable": {"edit", map[string]any{"path": "run.sh", "old": "hello", "new": "bye"}, "run.sh", "#!/bin/sh\necho bye\n", redo, done},
		"EditAmbiguous":  {"edit", map[string]any{"path": "a.txt", "old": "one", "new": "1"}, "", "", redo, redo},
		"EditNoMatch":    {"edit", map[string]any{"path": "a.txt", "old": "three", "new": "3"}, "", "", redo, redo},
		"EditMissing":    {"edit", map[string]any{"path": "gone.txt", "old": "a", "new": "b"}, "", "", redo, redo},
		"EditFolder":     {"edit", map[string]any{"path": "lib", "old": "a", "new": "b"}, "", "", redo, redo},
		"BadPath":        {"write", map[string]any{"path": "../out.txt", "content": "x"}, "", "", redo, redo},
		"GitPath":        {"write", map[string]any{"path": ".git/config", "content": "x"}, "", "", redo, redo},
		"ParentIsFile":   {"write", map[string]any{"path": "a.txt/b", "content": "x"}, "", "", redo, redo},
		"PlaceIsFolder":  {"write", map[string]any{"path": "lib", "content": "x"}, "", "", redo, redo},
		"BadArguments":   {"write", map[string]any{"file": "x"}, "", "", redo, redo},
		// No tree has an ignored file. Writing it once more does no harm; editing it might.
		"IgnoredNew":  {"write", map[string]any{"path": "new.log", "content": "x"}, "new.log", "x", redo, redo},
		"Ignored":     {"write", map[string]any{"path": "build/out.txt", "content": "x"}, "build/out.txt", "x", redo, redo},
		"EditIgnored": {"edit", map[string]any{"path": "build/out.txt", "old": "old", "new": "old, old"}, "build/out.txt", "old, old\n", interrupted, interrupted},
	}
)

// probing is a worktree with a call in flight.
type probing struct {
	*world
	writeCase
	before pawl.TreeHash
}

// MustProbed makes the world that calls of these tests are made in.
func MustProbed(tb testing.TB) *world {
	tb.Helper()
	w := MustWorld(tb, probed)
	w.MustOpen(tb)
	return w
}

// newProbing puts the worktree as it was before the call.
func newProbing(t *testing.T, w *world, c writeCase) *probing {
	t.Helper()
	p := &probing{world: w, writeCase: c}
	must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: w.base, Salvage: fmt.Sprintf("refs/pawl/salvage/%d", w.seq)})
	if err := os.RemoveAll(p.dir("new.log")); err != nil { // a reset keeps what is ignored
		t.Fatal(err)
	}
	MustWrite(t, p.dir("build", "out.txt"), "old\n")
	if err := os.Chmod(p.dir("run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.before = must[*pawl.WorkspaceInspected](t, p.world, &pawl.InspectWorkspace{}).Tree
	return p
}

// make makes the call as the process did that died, and returns what it said.
func (p *probing) make(t *testing.T) pawl.ToolResult {
	t.Helper()
	temp, err := p.r.Temp(runID)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(p.args)
	if err != nil {
		t.Fatal(err)
	}
	tl, _ := p.r.Tools.Lookup(p.tool)
	res, err := tl.Call(context.Background(), pawl.ToolEnv{Dir: p.dir(), Temp: temp}, args)
	if err != nil || res.IsError != (p.path == "") {
		t.Fatalf("%s %s: %+v, %v", p.tool, args, res, err)
	}
	return res
}

// recover performs the call as the next process does, and says what it made of it.
func (p *probing) recover(t *testing.T) string {
	t.Helper()
	call := p.call(t, p.tool, p.args)
	call.Before = p.before
	now := must[*pawl.WorkspaceInspected](t, p.world, &pawl.InspectWorkspace{}).Tree
	got := must[*pawl.ToolReturned](t, p.world, call, again)
	after := must[*pawl.WorkspaceInspected](t, p.world, &pawl.InspectWorkspace{}).Tree
	if got.Tree != after {
		t.Errorf("the answer says the tree is %s, it is %s", got.Tree, after)
	}
	switch {
	case got.Conflict:
		if !got.IsError || after != now {
			t.Errorf("a conflict %+v changed the tree from %s to %s", got, now, after)
		}
		return conflict
	case got.Interrupted:
		if !got.IsError || !got.Output.IsZero() || after != now {
			t.Errorf("%+v changed the tree from %s to %s", got, now, after)
		}
		return interrupted
	}
	text := p.MustBlob(t, got.Output)
	if got.IsError != (p.path == "") {
		t.Errorf("the answer is %q, an error: %v", text, got.IsError)
	}
	if strings.Contains(text, ": done, ") {
		return done
	}
	return redo
}

// holds checks what the call leaves in the end.
func (p *probing) holds(t *testing.T) {
	t.Helper()
	if p.path == "" {
		return
	}
	if got := MustRead(t, p.dir(p.path)); got != p.content {
		t.Errorf("%s holds %q, want %q", p.path, got, p.content)
	}
	info, err := os.Stat(p.dir("run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh has the mode %v, %v", info.Mode(), err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	w := MustProbed(t)
	foreign := func(t *testing.T, name string, made bool) {
		t.Helper()
		if testing.Short() && !slices.Contains([]string{"WriteNew", "Edit", "GitPath", "EditIgnored"}, name) {
			t.Skip("every call has the same conflict; with -short four calls are tested, make test-all tests all")
		}
		p := newProbing(t, w, writeCases[name])
		if made {
			p.make(t)
		}
		MustWrite(t, p.dir("foreign.txt"), "not ours\n")
		if got := p.recover(t); got != conflict {
			t.Errorf("recovery returned %s, want a conflict", got)
		}
	}
	for name, c := range writeCases {
		t.Run(name, func(t *testing.T) {
			t.Run("CrashBefore", func(t *testing.T) {
				p := newProbing(t, w, c)
				if got := p.recover(t); got != c.before {
					t.Errorf("recovery returned %s, want %s", got, c.before)
				}
				if c.before == redo {
					p.holds(t)
				}
			})
			t.Run("CrashAfter", func(t *testing.T) {
				p := newProbing(t, w, c)
				p.make(t)
				if got := p.recover(t); got != c.after {
					t.Errorf("recovery returned %s, want %s", got, c.after)
				}
				p.holds(t)
			})
			t.Run("ForeignChange", func(t *testing.T) { foreign(t, name, false) })
			t.Run("MadeAndForeignChange", func(t *testing.T) { foreign(t, name, true) })
		})
	}
}

// A foreign change of the very file the call was to change.
func TestProbeOfTheSameFile(t *testing.T) {
	w := MustProbed(t)
	for name, content := range map[string]string{"Other": "something else\n", "Half": "one\n2", "Empty": ""} {
		t.Run(name, func(t *testing.T) {
			p := newProbing(t, w, writeCases["Edit"])
			MustWrite(t, p.dir("a.txt"), content)
			if got := p.recover(t); got != conflict {
				t.Errorf("recovery returned %s, want a conflict", got)
			}
		})
	}
	t.Run("OtherMode", func(t *testing.T) {
		p := newProbing(t, w, writeCases["Edit"])
		p.make(t)
		if err := os.Chmod(p.dir("a.txt"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := p.recover(t); got != conflict {
			t.Errorf("recovery returned %s, want a conflict", got)
		}
	})
	t.Run("Link", func(t *testing.T) { // a link that a command made in the file's place
		p := newProbing(t, w, writeCases["Edit"])
		if err := os.Remove(p.dir("a.txt")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("lib/b.txt", p.dir("a.txt")); err != nil {
			t.Fatal(err)
		}
		if got := p.recover(t); got != conflict {
			t.Errorf("recovery returned %s, want a conflict", got)
		}
	})
}

// A call through a link that the tree has is refused, as it was.
func TestProbeOfALink(t *testing.T) {
	w := MustProbed(t)
	for _, c := range []writeCase{
		{tool: "write", args: map[string]any{"path": "link", "content": "x"}},
		{tool: "edit", args: map[string]any{"path": "link", "old": "b", "new": "c"}},
		{tool: "write", args: map[string]any{"path": "linked/c.txt", "content": "x"}},
		{tool: "edit", args: map[string]any{"path": "linked/b.txt", "old": "b", "new": "c"}},
	} {
		p := newProbing(t, w, c)
		for link, target := range map[string]string{"link": "a.txt", "linked": "lib"} {
			if err := os.Symlink(target, p.dir(link)); err != nil {
				t.Fatal(err)
			}
		}
		p.before = must[*pawl.WorkspaceInspected](t, p.world, &pawl.InspectWorkspace{}).Tree
		if got := p.recover(t); got != redo {
			t.Errorf("%v: recovery returned %s, want redo", c.args, got)
		}
		MustWrite(t, p.dir("foreign.txt"), "not ours\n")
		if got := p.recover(t); got != conflict {
			t.Errorf("%v: recovery returned %s, want a conflict", c.args, got)
		}
	}
}

// Only what may have been under way is looked at: a call that is made for the
// first time is made.
func TestNoProbe(t *testing.T) {
	p := newProbing(t, MustProbed(t), writeCases["Edit"])
	call := p.call(t, "edit", p.args)
	call.Before = "0000000000000000000000000000000000000000"
	if got := must[*pawl.ToolReturned](t, p.world, call); got.IsError || got.Conflict {
		t.Errorf("got %+v", got)
	}
	p.holds(t)
	// Reads are simply made again, and have no tree.
	read := must[*pawl.ToolReturned](t, p.world, p.call(t, "read", map[string]any{"path": "a.txt"}), again)
	if read.IsError || read.Tree != "" || !strings.Contains(p.MustBlob(t, read.Output), "2") {
		t.Errorf("read gave %+v", read)
	}
}

// Trouble while looking is the machine's, and says nothing about the call.
func TestProbeInTrouble(t *testing.T) {
	p := newProbing(t, MustProbed(t), writeCases["Edit"])
	p.make(t)
	call := p.call(t, "edit", p.args)
	call.Before = "1234567812345678123456781234567812345678" // a tree that is gone
	if f := p.fails(t, call, again); f.Code != pawl.FailMachine || !strings.Contains(f.Message, "look at the worktree") {
		t.Errorf("failed with %+v", f)
	}
	p.r.Spaces = &spaces{Workspaces: p.r.Spaces, tree: func() (pawl.Recording, error) {
		return pawl.Recording{}, pawl.Errorf(pawl.CodeUnavailable, "no space left")
	}}
	call.Before = p.before
	if f := p.fails(t, call, again); f.Code != pawl.FailMachine || !strings.Contains(f.Message, "no space left") {
		t.Errorf("failed with %+v", f)
	}
	// The same after a call that was made: what it left is not known.
	if f := p.fails(t, p.call(t, "write", map[string]any{"path": "x", "content": "y"})); f.Code != pawl.FailMachine || !strings.Contains(f.Message, "record the worktree after write") {
		t.Errorf("failed with %+v", f)
	}
}

// Where git changes line ends on the way, a call that names none of them is
// recognised; one that does is taken for a conflict, which loses no more than an attempt.
func TestProbeWithLineEnds(t *testing.T) {
	w := MustWorld(t, map[string]string{".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\none\n"})
	w.MustOpen(t)
	if got := MustRead(t, w.dir("a.txt")); got != "one\r\ntwo\r\none\r\n" {
		t.Fatalf("the worktree has %q", got)
	}
	for _, test := range []struct{ old, new, want string }{{"two", "2", done}, {"2\r\none", "2\r\n1", conflict}} {
		p := &probing{world: w, writeCase: writeCase{tool: "edit", args: map[string]any{"path": "a.txt", "old": test.old, "new": test.new}, path: "a.txt"}}
		p.before = must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{}).Tree
		p.make(t)
		if got := p.recover(t); got != test.want {
			t.Errorf("recovery of %q returned %s, want %s", test.old, got, test.want)
		}
	}
}
