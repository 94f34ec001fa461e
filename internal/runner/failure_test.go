package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/git"
	"pawl/internal/runner"
	"pawl/internal/store/mem"
)

// Every failure has the code that says what the kernel may do about it.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want pawl.Failure
	}{
		"RateLimit": {&pawl.ModelError{Kind: pawl.ModelRateLimit, Wait: 7 * time.Second, Status: 429, Message: "slow down"},
			pawl.Failure{Code: "rate_limit", Wait: 7 * time.Second, Message: "HTTP 429: slow down"}},
		"NoServer": {&pawl.ModelError{Kind: pawl.ModelNoServer, Unsent: true, Message: "nothing listens"},
			pawl.Failure{Code: "no_server", Unsent: true, Message: "nothing listens"}},
		"Auth":         {&pawl.ModelError{Kind: pawl.ModelAuth}, pawl.Failure{Code: "auth", Message: "model: auth"}},
		"WrappedModel": {fmt.Errorf("ask: %w", &pawl.ModelError{Kind: pawl.ModelRefused}), pawl.Failure{Code: "refused", Message: "ask: model: refused"}},
		"Page":         {&pawl.ModelError{Kind: pawl.ModelNetwork, Free: true, Message: "a page"}, pawl.Failure{Code: "network", Free: true, Message: "a page"}}, // F-38
		"Cut": {&pawl.ModelError{Kind: pawl.ModelNetwork, Used: pawl.Usage{Input: 9, Output: 2}, Estimated: true, Message: "cut"},
			pawl.Failure{Code: "network", Used: pawl.Usage{Input: 9, Output: 2}, Estimated: true, Message: "cut"}}, // F-38
		"NegativeWait": {&pawl.ModelError{Kind: pawl.ModelOverloaded, Wait: -time.Second}, pawl.Failure{Code: "overloaded", Message: "model: overloaded"}},
		"NoKind":       {&pawl.ModelError{Message: "?"}, pawl.Failure{Code: pawl.FailMachine, Message: "model: : ?"}},
		"Conflict":     {pawl.Errorf(pawl.CodeConflict, "the branch moved"), pawl.Failure{Code: pawl.FailConflict, Message: "the branch moved"}},
		"Wrapped":      {fmt.Errorf("open: %w", pawl.Errorf(pawl.CodeConflict, "the branch moved")), pawl.Failure{Code: pawl.FailConflict, Message: "open: the branch moved"}},
		"Invalid":      {pawl.Errorf(pawl.CodeInvalid, "no such branch"), pawl.Failure{Code: pawl.FailDefect, Message: "no such branch"}},
		"Damaged":      {pawl.Errorf(pawl.CodeDamaged, "blob 12"), pawl.Failure{Code: pawl.FailDefect, Message: "blob 12"}},
		"Unavailable":  {pawl.Errorf(pawl.CodeUnavailable, "no space left").WithHint("free some"), pawl.Failure{Code: pawl.FailMachine, Message: "no space left; free some"}},
		"FullDisk":     {fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), pawl.Failure{Code: pawl.FailSpace, Message: "write: write x: no space left on device"}}, // F-18
		"Quota":        {fmt.Errorf("write: %w", syscall.EDQUOT), pawl.Failure{Code: pawl.FailSpace, Message: "write: disk quota exceeded"}},
		"CutByGit":     {&git.Error{Args: []string{"add"}, Stderr: "fatal: sha1 file 'index.lock' write error. Out of diskspace"}, pawl.Failure{Code: pawl.FailSpace, Message: "git add: fatal: sha1 file 'index.lock' write error. Out of diskspace"}},
		"FullForGit":   {&git.Error{Args: []string{"add"}, Stderr: "fatal: write error: No space left on device"}, pawl.Failure{Code: pawl.FailSpace, Message: "git add: fatal: write error: No space left on device"}},
		"OtherForGit":  {&git.Error{Args: []string{"add"}, Stderr: "fatal: bad revision"}, pawl.Failure{Code: pawl.FailMachine, Message: "git add: fatal: bad revision"}},
		"Disk":         {errors.New("input/output error"), pawl.Failure{Code: pawl.FailMachine, Message: "input/output error"}},
		// A time limit inside a part is not the effect's own.
		"InnerDeadline": {fmt.Errorf("git: %w", context.DeadlineExceeded), pawl.Failure{Code: pawl.FailMachine, Message: "git: context deadline exceeded"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{r: &runner.Runner{Spaces: &spaces{open: func() (pawl.WorkspaceState, error) { return pawl.WorkspaceState{}, test.err }}}, log: mem.New()}
			if got := w.fails(t, &pawl.OpenWorkspace{}); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// A model call that fails on this machine before it is sent costs nothing. One whose reply cannot
// be kept costs what the reply used. F-38
func TestCallsThatFailHere(t *testing.T) {
	w := MustWorld(t, nil)
	gone := pawl.HashOf([]byte("gone"))
	ask := w.asks(t, replies(pawl.StopEnd, say("x")))
	if got := w.fails(t, &pawl.CallModel{Tier: 1, System: gone, Tools: ask.Tools}); !got.Unsent {
		t.Errorf("a call without its system prompt: %+v", got)
	}
	w.r.Model = func(context.Context, driver.Job, pawl.ModelChoice) (pawl.Model, error) {
		return nil, errors.New("no key")
	}
	if got := w.fails(t, ask); !got.Unsent || got.Code != pawl.FailMachine {
		t.Errorf("a call without a model: %+v", got)
	}
}

// F-11: what the user should read about a worktree is in the answer.
func TestNoteOfAWorktree(t *testing.T) {
	const note = "Commands see only the latest 500 commits."
	w := &world{r: &runner.Runner{Spaces: &spaces{open: func() (pawl.WorkspaceState, error) { return pawl.WorkspaceState{Note: note}, nil }}}, log: mem.New()}
	if opened := must[*pawl.WorkspaceOpened](t, w, &pawl.OpenWorkspace{}); opened.Note != note {
		t.Errorf("opened %+v", opened)
	}
}

func TestTimeoutAndWithdrawal(t *testing.T) {
	opens := func(ctx context.Context) *world {
		return &world{r: &runner.Runner{Spaces: &spaces{open: func() (pawl.WorkspaceState, error) {
			<-ctx.Done()
			return pawl.WorkspaceState{}, fmt.Errorf("git was killed: %w", ctx.Err())
		}}}, log: mem.New()}
	}
	t.Run("Timeout", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		f, ok := opens(ctx).runIn(ctx, t, &pawl.OpenWorkspace{}).(*pawl.EffectFailed)
		if !ok || f.Failure.Code != pawl.FailTimeout {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("Withdrawn", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f, ok := opens(ctx).runIn(ctx, t, &pawl.OpenWorkspace{}).(*pawl.EffectFailed)
		if !ok || f.Failure.Code != pawl.FailMachine {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("DeadlineWinsOverWhatTheModelMakesOfIt", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		w := &world{r: &runner.Runner{}, log: mem.New()}
		w.job.Settings = &pawl.Settings{}
		call := &pawl.CallModel{Tier: 1, MaxOutput: 1}
		w.r.Model = func(context.Context, driver.Job, pawl.ModelChoice) (pawl.Model, error) {
			return modelFunc(func(ctx context.Context, _ pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
				<-ctx.Done()
				return pawl.ModelReply{}, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: "the stream was cut"}
			}), nil
		}
		f, ok := w.runIn(ctx, t, call).(*pawl.EffectFailed)
		if !ok || f.Failure.Code != pawl.FailTimeout {
			t.Errorf("got %+v", f)
		}
	})
}

// A failure has what the user can do about it, cut and without secrets; whatever a model sends is
// heard, though it is not shown. F-49
func TestFailureOfAModel(t *testing.T) {
	const secret = "sk-secret-0123456789"
	w := MustWorld(t, nil)
	w.r.Redact = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(secret), []byte("[key]")) }
	heard := 0
	w.job.Heard = func() { heard++ }
	ask := w.asks(t, modelFunc(func(_ context.Context, _ pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
		sink(pawl.ModelDelta{})
		sink(pawl.ModelDelta{Reasoning: "hm"})
		sink(pawl.ModelDelta{Text: "I do it."})
		return pawl.ModelReply{}, &pawl.ModelError{Kind: pawl.ModelAuth, Status: 401, Message: "no", Fix: "replace " + secret + " " + strings.Repeat("x", 300)}
	}))
	f := w.fails(t, ask)
	if f.Text() != "access is refused (HTTP 401: no)" || !strings.HasPrefix(f.Fix, "replace [key] xxx") || len(f.Fix) > 200 {
		t.Errorf("got %q, fix %q", f.Text(), f.Fix)
	}
	if heard != 3 || !slices.Equal(w.said, []string{"I do it."}) {
		t.Errorf("heard %d times, shown %q", heard, w.said)
	}
}

func TestFailureIsShort(t *testing.T) {
	for name, text := range map[string]string{
		"Long":    strings.Repeat("é", 1000),
		"NotUTF8": "\xff\xfe broken \x80",
		"Both":    strings.Repeat("\xff", 1000),
	} {
		t.Run(name, func(t *testing.T) { // the bounds are checked of every failure
			w := &world{r: &runner.Runner{Spaces: &spaces{open: func() (pawl.WorkspaceState, error) { return pawl.WorkspaceState{}, errors.New(text) }}}, log: mem.New()}
			w.fails(t, &pawl.OpenWorkspace{})
		})
	}
}

// What no retry can mend is a defect.
func TestDefects(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	gone := pawl.HashOf([]byte("gone"))
	ask := w.asks(t, replies(pawl.StopEnd, say("x")))
	for name, test := range map[string]struct {
		do   pawl.Do
		says string
	}{
		"UnknownTool":  {w.call(t, "fly", "{}"), `there is no tool "fly"`},
		"ArgsGone":     {&pawl.CallTool{Tool: "read", Args: gone}, "read the arguments"},
		"UnknownGate":  {&pawl.RunGate{Gate: "tests", Commit: w.base}, `the run has no gate "tests"`},
		"Tier":         {&pawl.CallModel{Tier: 4}, "tier 4"},
		"TierZero":     {&pawl.CallModel{}, "tier 0"},
		"SystemGone":   {&pawl.CallModel{Tier: 1, System: gone, Tools: ask.Tools}, "read the system prompt"},
		"ToolsGone":    {&pawl.CallModel{Tier: 1, Tools: gone}, "read the tools"},
		"ToolsBroken":  {&pawl.CallModel{Tier: 1, Tools: w.MustKeep(t, "[{")}, "read the tools"},
		"BadBranch":    {&pawl.OpenWorkspace{Name: "x", Branch: "main", Base: w.base}, "main"},
		"BadWorkspace": {&pawl.OpenWorkspace{Name: "../x", Branch: branch, Base: w.base}, "../x"},
	} {
		t.Run(name, func(t *testing.T) {
			if f := w.fails(t, test.do); f.Code != pawl.FailDefect || !strings.Contains(f.Message, test.says) {
				t.Errorf("failed with %+v, want a defect that says %q", f, test.says)
			}
		})
	}
}

// The branch was moved by somebody else: that is a conflict, with the way out.
func TestConflict(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	w.git(t, "commit", "-q", "--allow-empty", "-m", "foreign")
	w.git(t, "update-ref", "refs/heads/"+branch, "HEAD")
	f := w.fails(t, &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Time: time.Unix(1, 0)})
	if f.Code != pawl.FailConflict || !strings.Contains(f.Message, "somebody else moved it; git log") {
		t.Errorf("failed with %+v", f)
	}
}
