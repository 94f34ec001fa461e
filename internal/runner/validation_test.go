package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pawl"
)

// validate asks for a task's own command on a commit.
func (w *world) validate(tb testing.TB, command string) *pawl.RunGate {
	tb.Helper()
	return &pawl.RunGate{Gate: "validation", Commit: w.base, Task: w.MustKeep(tb, pawl.TaskSpec{ID: "t", Title: "T", ValidationCommand: command})}
}

// a task's own command judges by its exit code, on a clean checkout; all that it
// printed is evidence, not only its errors.
func TestValidationCommand(t *testing.T) {
	w := MustWorld(t, map[string]string{"there": "x\n"})
	w.MustOpen(t)
	MustWrite(t, w.dir("dirt"), "not committed\n")
	for name, test := range map[string]struct {
		command string
		verdict pawl.Verdict
		reason  string
		output  []string
	}{
		"Passes":    {"test -e there && ! test -e dirt && echo fine", pawl.VerdictPass, "exit 0", []string{"fine"}},
		"Fails":     {"echo said; echo why >&2; exit 3", pawl.VerdictFail, "exit 3: ", []string{"said", "why"}},
		"NoProgram": {"no-such-program-here", pawl.VerdictFail, "not installed", nil},
		"NoReport":  {`echo '1..1'; echo 'not ok 1 a'`, pawl.VerdictPass, "exit 0", []string{"not ok 1 a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := must[*pawl.GateJudged](t, w, w.validate(t, test.command))
			if got.Verdict != test.verdict || !strings.Contains(got.Reason, test.reason) || got.Kind != pawl.GateValidation || got.Gate != "validation" {
				t.Errorf("judged %+v", got)
			}
			for _, text := range test.output {
				if rep := w.report(t, got); !strings.Contains(rep.Output, text) {
					t.Errorf("the evidence lacks %q: %+v", text, rep)
				}
			}
		})
	}
}

// What the base fails alike excuses no task's own command.
func TestValidationIsNotExcused(t *testing.T) {
	w := MustWorld(t, nil)
	red := must[*pawl.GateJudged](t, w, w.validate(t, "echo broken; exit 1"))
	do := w.validate(t, "echo broken; exit 1")
	do.Base = red.Evidence
	if got := must[*pawl.GateJudged](t, w, do); got.Verdict != pawl.VerdictFail || got.RedAtBase {
		t.Errorf("judged %+v", got)
	}
}

// A command that is none, or too long, is a failure that says so; nothing is run.
func TestValidationThatIsNotRun(t *testing.T) {
	w := MustWorld(t, nil)
	w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
		t.Error("it is run")
		return pawl.GateReport{}, nil
	})
	for command, says := range map[string]string{
		"": "has no validation command", " \n": "has no validation command", "true \x00": "holds a zero byte",
		"true " + strings.Repeat("x", 2000): "has 2005 bytes: want at most 2000",
	} {
		got := must[*pawl.GateJudged](t, w, w.validate(t, command))
		if got.Verdict != pawl.VerdictFail || !strings.Contains(got.Reason, says) || w.report(t, got).Reason != got.Reason {
			t.Errorf("%.20q is judged %+v", command, got)
		}
	}
	if f := w.fails(t, &pawl.RunGate{Gate: "validation", Commit: w.base, Task: pawl.HashOf([]byte("gone"))}); f.Code != pawl.FailDefect {
		t.Errorf("a task that is gone: %+v", f)
	}
}

// It runs through the run's one gate, and so in its sandbox, with a bound on its time.
func TestValidationIsBounded(t *testing.T) {
	w := MustWorld(t, nil)
	var asked []pawl.GateRequest
	w.r.Gate = gateFunc(func(_ context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
		asked = append(asked, req)
		return pawl.GateReport{Verdict: pawl.VerdictPass}, nil
	})
	must[*pawl.GateJudged](t, w, w.validate(t, "true"))
	must[*pawl.GateJudged](t, w, w.validate(t, "true"), timeout(time.Minute))
	for i, most := range []time.Duration{10 * time.Minute, time.Minute} {
		if r := asked[i]; r.Timeout <= most-10*time.Second || r.Timeout > most || r.Spec.Report != pawl.ReportExit || r.Spec.Optional || !r.Spec.RequireGreen {
			t.Errorf("asked for %+v", r)
		}
	}
}
