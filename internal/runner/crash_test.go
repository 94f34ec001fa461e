package runner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/driver/local"
	"pawl/internal/runner"
	"pawl/internal/store/mem"
)

// dying is a runner whose process dies in the first tool call, either before the call
// begins or after it was made.
type dying struct {
	*runner.Runner
	made    bool          // the process dies after the call
	reached chan struct{} // closed when the process dies
}

func (d *dying) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	if job.Effect.Do.Verb() != pawl.VerbCallTool {
		return d.Runner.Perform(ctx, job)
	}
	if d.made {
		d.Runner.Perform(ctx, job)
	}
	close(d.reached)
	<-ctx.Done()
	return nil, nil
}

// F-62: after a crash during a write the runner checks whether the write was made. If it was,
// the runner does not repeat it; if not, the runner makes it.
func TestCrashInAWrite(t *testing.T) {
	calls := map[string]struct{ tool, args, path, want string }{
		"Write": {"write", `{"path": "new.txt", "content": "new\n"}`, "new.txt", "new"},
		"Edit":  {"edit", `{"path": "a.txt", "old": "two", "new": "two two"}`, "a.txt", "one\ntwo two\none"},
	}
	for name, call := range calls {
		for moment, made := range map[string]bool{"NotBegun": false, "Made": true} {
			t.Run(name+moment, func(t *testing.T) {
				w := MustWorld(t, probed)
				w.r.Prompts = promptsFunc(func() (runner.Prompt, error) { return runner.Prompt{User: "Work."}, nil })
				w.asks(t, replies(pawl.StopToolUse, use("1", call.tool, call.args)))
				log := mem.New()
				first := &dying{w.r, made, make(chan struct{})}
				before := newDriver(t, log, first)
				if err := before.Start(t.Context(), "001-small", writing(w.base), nil); err != nil {
					t.Fatal(err)
				}
				await(t, first.reached, "tool call")
				before.Close()

				w.asks(t, replies(pawl.StopEnd, say("That is all.")))
				left := make(chan error, 1)
				after := newDriver(t, log, w.r)
				after.Left = func(_ pawl.RunID, err error) { left <- err }
				if err := after.Adopt(t.Context(), "001-small"); err != nil {
					t.Fatal(err)
				}
				if err := await(t, left, "end of the run"); err != nil {
					t.Fatal(err)
				}
				returned, text := theCall(t, log)
				if returned.IsError || returned.Conflict || strings.Contains(text, ": done, ") != made {
					t.Errorf("the call returned %+v with output %q", returned, text)
				}
				if got := w.git(t, "show", "pawl/001-small:"+call.path); got != call.want {
					t.Errorf("%s contains %q, want %q", call.path, got, call.want)
				}
			})
		}
	}
}

// writing returns the start of a run that has one step, which writes files, and no gates.
func writing(base pawl.CommitHash) *pawl.RunStarted {
	started, recipe := drivertest.Started(), drivertest.Recipe()
	kind := &recipe.Kinds[0]
	kind.Steps[0].Tools, kind.Steps[0].Output = []string{"write", "edit"}, ""
	kind.Gates = nil
	data, err := json.Marshal(recipe)
	if err != nil {
		panic(err)
	}
	started.Recipe, started.Base = data, base
	return started
}

func newDriver(t *testing.T, log pawl.Log, p driver.Performer) *local.Driver {
	d := &local.Driver{Log: log, Performer: p}
	t.Cleanup(d.Close)
	return d
}

// await returns the next value of a channel. It fails the test after two minutes.
func await[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(2 * time.Minute):
		t.Fatalf("there is no %s", what)
	}
	return v
}

// theCall returns the answer to the run's only tool call, and the call's output.
func theCall(t *testing.T, log pawl.Log) (*pawl.ToolReturned, string) {
	t.Helper()
	var calls []*pawl.ToolReturned
	for e, err := range log.Events(t.Context(), "001-small", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(*pawl.ToolReturned); ok {
			calls = append(calls, b)
		}
	}
	if len(calls) != 1 {
		t.Fatalf("%d tool calls returned, want 1", len(calls))
	}
	text, err := log.Blob(t.Context(), "001-small", calls[0].Output)
	if err != nil {
		t.Fatal(err)
	}
	return calls[0], string(text)
}

// A commit that an effect made before it failed is what the effect that repeats it finds. Without
// knowing that, the other effect would find its branch moved.
func TestCommitThatWasMadeBefore(t *testing.T) {
	w := MustWorld(t, map[string]string{"main.go": "package main\n"})
	w.MustOpen(t)
	MustWrite(t, w.dir("main.go"), "package main // changed\n")
	do := &pawl.Commit{Branch: branch, Parent: w.head(t), Base: w.base, Message: "attempt", Time: time.Unix(1000, 0)}
	made := must[*pawl.Committed](t, w, do)
	repeated := must[*pawl.Committed](t, w, do, func(j *driver.Job) { j.Effect.First = made.Effect })
	if repeated.Commit != made.Commit || repeated.Tree != made.Tree || repeated.Effect == made.Effect {
		t.Errorf("made %+v, repeated %+v", made, repeated)
	}
	if failure := w.fails(t, do); failure.Code != pawl.FailConflict {
		t.Errorf("an effect that repeats none: %+v", failure)
	}
}
