package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
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
		"Fails":     {[]string{"echo starting; echo no such package >&2; exit 7", "touch prepared"}, pawl.VerdictFail, `prepare "echo starting; echo no such package >&2; exit 7" failed (exit 7)`},
		"Missing":   {[]string{"no-such-program-here install"}, pawl.VerdictFail, `prepare "no-such-program-here install": the program is not installed (exit 127)`},
		"NotEnough": {[]string{"true"}, pawl.VerdictFail, "exit 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := preparing(t, test.lines...)
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
			b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base}, timeout(limit))
			if b.Verdict != pawl.VerdictFail || !b.Partial || !strings.Contains(b.Reason, "timed out") {
				t.Fatalf("judged %+v with a limit of %s", b, limit)
			}
			if strings.Contains(w.report(t, b).Output, "begun") {
				return
			}
			if limit > 5*time.Minute {
				t.Fatalf("the command has not begun within %s", limit)
			}
		}
	})
}

// What prepares a checkout and the gate together have the effect's time.
func TestPrepareAsksFor(t *testing.T) {
	w := preparing(t, "one", "two")
	w.job.Settings.Gates[0].Timeout = time.Hour
	var asked []pawl.Command
	w.play(func(_ context.Context, cmd pawl.Command, _ bool) (pawl.CommandResult, error) {
		asked = append(asked, cmd)
		return pawl.CommandResult{Output: []byte("fine")}, nil
	})
	var gate pawl.GateRequest
	w.r.Gate = gateFunc(func(_ context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
		gate = req
		return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
	})
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base}, timeout(time.Minute))
	if len(asked) != 2 || asked[0].Shell != "one" || asked[1].Shell != "two" {
		t.Fatalf("asked for %+v", asked)
	}
	last := time.Minute + 1
	for _, cmd := range asked {
		if cmd.Timeout >= last || cmd.Timeout <= 0 || !slices.Contains(cmd.Env, "PAWL_TASK_ID="+runID) || cmd.Progress == nil {
			t.Errorf("asked for %+v", cmd)
		}
		last = cmd.Timeout
	}
	if gate.Timeout >= last || gate.Spec.Timeout != gate.Timeout {
		t.Errorf("the gate has %s and its spec %s after %s", gate.Timeout, gate.Spec.Timeout, last)
	}
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
	if gate.Timeout != 0 || gate.Spec.Timeout != time.Hour {
		t.Errorf("without a limit the gate has %s and its spec %s", gate.Timeout, gate.Spec.Timeout)
	}
}

// The user's own commands have the network and a repository's do not. Runs of earlier
// versions, which did not record whose the commands are, keep it.
func TestPrepareNetwork(t *testing.T) {
	for from, want := range map[pawl.Origin]bool{pawl.FromUser: true, pawl.FromRepository: false, "": true} {
		t.Run(string(from), func(t *testing.T) {
			w := preparing(t, "one")
			w.job.Settings.PrepareFrom = from
			ran := 0
			w.play(func(_ context.Context, cmd pawl.Command, network bool) (pawl.CommandResult, error) {
				if ran++; cmd.Shell != "one" || network != want {
					t.Errorf("%q has the network: %t, want %t", cmd.Shell, network, want)
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

// Gates side by side share a checkout, which is prepared once; the next
// checkout is clean again and prepared again.
func TestPrepareOnce(t *testing.T) {
	w := preparing(t, "prepare")
	var mu sync.Mutex
	prepared := 0
	both := make(chan struct{}) // closed when the second gate is about to be prepared, too
	w.play(func(context.Context, pawl.Command, bool) (pawl.CommandResult, error) {
		<-both
		mu.Lock()
		defer mu.Unlock()
		prepared++
		return pawl.CommandResult{}, nil
	})
	judging := make(chan struct{}, 2)
	w.r.Gate = gateFunc(func(ctx context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
		mu.Lock()
		n := prepared
		mu.Unlock()
		judging <- struct{}{}
		for len(judging) < 2 { // hold the checkout until both judge
			select {
			case <-ctx.Done():
				return pawl.GateReport{}, ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return pawl.GateReport{Verdict: pawl.VerdictPass, Reason: fmt.Sprintf("prepared %d times", n)}, nil
	})
	ready := make(chan struct{}, 2)
	w.r.Spaces = &checkouts{Workspaces: w.r.Spaces, made: func() { ready <- struct{}{} }}
	var group sync.WaitGroup
	for _, name := range []string{"tests", "lint"} {
		group.Go(func() {
			b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: name, Commit: w.base})
			if b.Reason != "prepared 1 times" {
				t.Errorf("%s: %s", name, b.Reason)
			}
		})
	}
	<-ready
	<-ready
	close(both)
	group.Wait()

	<-judging // so that the next one, which is alone, need not wait
	must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
	if prepared != 2 {
		t.Errorf("the checkout was prepared %d times", prepared)
	}
}

// checkouts tells when one was made.
type checkouts struct {
	pawl.Workspaces
	made func()
}

func (c *checkouts) Checkout(ctx context.Context, commit pawl.CommitHash) (string, func(), error) {
	dir, release, err := c.Workspaces.Checkout(ctx, commit)
	c.made()
	return dir, release, err
}

// A gate that was withdrawn while it prepared the checkout leaves it to the
// other one to prepare it.
func TestPrepareWithdrawn(t *testing.T) {
	w := preparing(t, "prepare")
	w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
		return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
	})
	begun, runs := make(chan struct{}), 0
	var mu sync.Mutex
	w.play(func(ctx context.Context, _ pawl.Command, _ bool) (pawl.CommandResult, error) {
		mu.Lock()
		runs++
		first := runs == 1
		mu.Unlock()
		if !first {
			return pawl.CommandResult{}, nil
		}
		close(begun)
		<-ctx.Done()
		return pawl.CommandResult{}, ctx.Err()
	})
	ctx, withdraw := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if f, ok := w.runIn(ctx, t, &pawl.RunGate{Gate: "tests", Commit: w.base}).(*pawl.EffectFailed); !ok {
			t.Errorf("the one that was withdrawn gave %+v", f)
		}
	})
	<-begun
	ready := make(chan struct{}, 1)
	w.r.Spaces = &checkouts{Workspaces: w.r.Spaces, made: func() { ready <- struct{}{} }}
	group.Go(func() {
		if b := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "lint", Commit: w.base}); b.Verdict != pawl.VerdictPass {
			t.Errorf("the other one gave %+v", b)
		}
	})
	<-ready
	withdraw(errors.New("the run was cancelled"))
	group.Wait()
	if runs != 2 {
		t.Errorf("prepared %d times", runs)
	}
}
