package runner_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/prompt"
	"pawl/internal/runner"
)

// Every effect on a worktree gives its fact, with real worktrees.
func TestWorktrees(t *testing.T) {
	w := MustWorld(t, map[string]string{"old.txt": "old\n"})
	opened := must[*pawl.WorkspaceOpened](t, w, &pawl.OpenWorkspace{Name: runID, Branch: branch, Base: w.base})
	if opened.Head != w.base || opened.Tree == "" || opened.Salvage != "" {
		t.Errorf("opened %+v", opened)
	}
	MustWrite(t, w.dir("new\nname.txt"), "1\n")
	MustWrite(t, w.dir("lib", "a.go"), "package lib\n")
	if err := os.Remove(w.dir("old.txt")); err != nil {
		t.Fatal(err)
	}
	inspected := must[*pawl.WorkspaceInspected](t, w, &pawl.InspectWorkspace{})
	if inspected.Tree == opened.Tree {
		t.Error("the tree does not show what was written")
	}
	commit := &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Message: "attempt 1", Time: time.Unix(1000, 0)}
	done := must[*pawl.Committed](t, w, commit)
	if done.Tree != inspected.Tree || done.Files != 3 || done.Total != 3 || done.FileSet == 0 || done.PatchID == "" {
		t.Errorf("committed %+v", done)
	}
	if diff := cmp.Diff("lib/a.go\n\"new\\nname.txt\"\nold.txt\n", w.MustBlob(t, done.Paths)); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}

	empty := must[*pawl.Committed](t, w, &pawl.Commit{Branch: branch, Parent: done.Commit, Base: w.base, Message: "attempt 2", Time: time.Unix(2000, 0)})
	if empty.Files != 0 || empty.FileSet != 0 || empty.Total != 3 || empty.PatchID != done.PatchID {
		t.Errorf("nothing was changed, and committed was %+v", empty)
	}
	MustWrite(t, w.dir("rest.txt"), "not committed")
	reset := must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: done.Commit, Salvage: "refs/pawl/salvage/0", Diff: true})
	if diff := w.MustBlob(t, reset.Diff); !strings.Contains(diff, "+not committed\n") || strings.Contains(diff, "lib/a.go") {
		t.Errorf("what the reset removes is %q", diff)
	}
	reset = must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: done.Commit, Salvage: "refs/pawl/salvage/0", Diff: true})
	if !reset.Diff.IsZero() {
		t.Errorf("a reset that removes nothing has the diff %q", w.MustBlob(t, reset.Diff))
	}
	MustWrite(t, w.dir("rest.txt"), "not committed")
	reset = must[*pawl.WorkspaceReset](t, w, &pawl.ResetWorkspace{Commit: w.base, Salvage: "refs/pawl/salvage/1"})
	if reset.Head != w.base || reset.Tree != opened.Tree || reset.Salvage != "refs/pawl/salvage/1" || !reset.Diff.IsZero() {
		t.Errorf("reset %+v", reset)
	}
	dir := w.dir()
	if closed := must[*pawl.WorkspaceClosed](t, w, &pawl.CloseWorkspace{Salvage: "refs/pawl/salvage/2"}); closed.Salvage != "" {
		t.Errorf("closed %+v", closed)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
}

// An effect that a crash cut off is performed again and gives the same fact.
func TestCommitAgain(t *testing.T) {
	w := MustWorld(t, nil)
	w.MustOpen(t)
	MustWrite(t, w.dir("a.txt"), "a\n")
	commit := &pawl.Commit{Branch: branch, Parent: w.base, Base: w.base, Message: "attempt", Time: time.Unix(1000, 0)}
	var first, second *pawl.Committed
	sameID := func(j *driver.Job) { j.Effect.ID = 77 }
	first = must[*pawl.Committed](t, w, commit, sameID)
	second = must[*pawl.Committed](t, w, commit, sameID, again)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second time (-first +second):\n%s", diff)
	}
}

func TestWait(t *testing.T) {
	w := MustWorld(t, nil)
	must[*pawl.WaitEnded](t, w, &pawl.Wait{For: time.Microsecond})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, ok := w.runIn(ctx, t, &pawl.Wait{For: time.Hour}).(*pawl.EffectFailed); !ok || f.Failure.Code == pawl.FailTimeout {
		t.Errorf("a wait that was withdrawn gave %+v", f)
	}
}

// promptsFunc are prompts.
type promptsFunc func() (runner.Prompt, error)

func (f promptsFunc) Assemble(context.Context, driver.Job, *pawl.AssemblePrompt) (runner.Prompt, error) {
	return f()
}

func TestAssemble(t *testing.T) {
	w := MustWorld(t, nil)
	w.r.Prompts = &prompt.Assembler{Diff: w.r.Spaces.Diff}
	w.job.Started.Prompts = []pawl.Input{{Name: "implement.md", Blob: w.MustKeep(t, "You work.\n---user---\nDo: {{.Goal}}\n")}}
	do := &pawl.AssemblePrompt{Template: "implement.md", Tools: []string{"write", "read"}, Output: "result", Goal: w.MustKeep(t, "add a login"), Criteria: w.job.Started.Criteria}
	got := must[*pawl.PromptAssembled](t, w, do)
	system, user, tools := w.MustBlob(t, got.System), w.MustBlob(t, got.Prompt), w.MustBlob(t, got.Tools)
	if system != "You work.\n" || user != "Task id: 001-add-login\n\nDo: add a login\n" {
		t.Errorf("got %q and %q", system, user)
	}
	if got.Bytes != int64(len(system)+len(user)+len(tools)) {
		t.Errorf("Bytes is %d", got.Bytes)
	}
	do.Remind, do.Task = true, w.MustKeep(t, pawl.TaskSpec{ID: "a", Description: "add the form"}) // L-54
	asked := must[*pawl.PromptAssembled](t, w, do)
	if text := w.MustBlob(t, asked.Reminder); !strings.Contains(text, "\nContinue working on: add the form\n") || asked.ReminderBytes != int64(len(text)) {
		t.Errorf("the reminder has %d bytes: %q", asked.ReminderBytes, text)
	}
	if !got.Reminder.IsZero() || got.ReminderBytes != 0 {
		t.Error("there is a reminder that nobody asked for")
	}
	for rest, names := tools, []string{`"name":"write"`, `"name":"read"`, `"name":"submit_result"`}; len(names) > 0; names = names[1:] {
		var found bool
		if _, rest, found = strings.Cut(rest, names[0]); !found {
			t.Errorf("%s is not in the tools, or not in their order: %s", names[0], tools)
		}
	}

	t.Run("NoTools", func(t *testing.T) {
		got := must[*pawl.PromptAssembled](t, w, &pawl.AssemblePrompt{Template: "implement.md", Goal: do.Goal, Criteria: do.Criteria})
		if tools := w.MustBlob(t, got.Tools); tools != "[]" {
			t.Errorf("the tools are %s", tools)
		}
	})
	for name, broken := range map[string]struct {
		do   pawl.AssemblePrompt
		says string
	}{
		"UnknownTool":     {pawl.AssemblePrompt{Template: "implement.md", Tools: []string{"fly"}}, `the tool "fly"`},
		"UnknownResult":   {pawl.AssemblePrompt{Template: "implement.md", Output: "poem"}, `the result "poem"`},
		"UnknownTemplate": {pawl.AssemblePrompt{Template: "plan.md"}, "recipe taskloop: the run was started without the prompt template plan.md"},
	} {
		t.Run(name, func(t *testing.T) {
			if f := w.fails(t, &broken.do); f.Code != pawl.FailDefect || !strings.Contains(f.Message, broken.says) {
				t.Errorf("failed with %+v, want a defect that says %q", f, broken.says)
			}
		})
	}
	t.Run("MuchWasCut", func(t *testing.T) {
		var names []string
		for range 200 {
			names = append(names, strings.Repeat("long", 500))
		}
		w.r.Prompts = promptsFunc(func() (runner.Prompt, error) { return runner.Prompt{User: "x", Cut: names}, nil })
		got := must[*pawl.PromptAssembled](t, w, do)
		if n := len(got.Cut); n != 13 || got.Cut[12] != "188 more" {
			t.Errorf("cut are %d: %v", n, got.Cut)
		}
	})
}
