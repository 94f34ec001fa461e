// Package loom makes the document by which Loom describes a task: the goal, the plan in
// force, its subtasks and what came of each. It is made of any run, the same bytes at
// every replay.
package loom

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// Task is a run in Loom's words: the task, its plan, the subtasks and what
// came of them. Its texts are safe to print.
type Task struct {
	ID        string            `json:"id"`
	Goal      string            `json:"goal"`
	Context   map[string]string `json:"context"`
	Workspace string            `json:"workspace_path,omitempty"` // the run's branch: its worktree is gone when the run has ended
	Status    string            `json:"status"`                   // planning, executing, verifying, completed, failed or cancelled
	Plan      *Plan             `json:"plan"`
	Created   time.Time         `json:"created_at"`
	Updated   time.Time         `json:"updated_at"`
	Approval  string            `json:"approval_mode"` // auto, manual or confidence_threshold
	Callback  string            `json:"callback_url,omitempty"`
	Metadata  map[string]string `json:"metadata"`
	// Progress counts the subtasks.
	Progress view.TaskProgress `json:"progress"`
}

// Plan is the plan in force.
type Plan struct {
	Version   int        `json:"version"`
	Subtasks  []Subtask  `json:"subtasks"`
	Created   time.Time  `json:"created_at"` // of the first version
	Replanned *time.Time `json:"replanned_at"`
}

// Subtask is an entry of a [Plan].
type Subtask struct {
	ID           string   `json:"id"`
	Description  string   `json:"description"`
	Status       string   `json:"status"` // pending, running, completed, failed, skipped or blocked
	DependsOn    []string `json:"depends_on"`
	ModelTier    int      `json:"model_tier"` // what the plan asks for; the result says which model it was
	Verification int      `json:"verification_tier"`
	Critical     bool     `json:"is_critical_path"`
	Result       *Result  `json:"result"`
	RetryCount   int      `json:"retry_count"`
	MaxRetries   int      `json:"max_retries"`
	Cause        string   `json:"blocked_by,omitempty"`
}

// Result is what came of a subtask.
type Result struct {
	Status       string       `json:"status"` // success, failed or partial
	Summary      string       `json:"summary"`
	Artifacts    []string     `json:"artifacts"`
	ToolCalls    []Call       `json:"tool_calls"`
	Verification Verification `json:"verification"`
	Seconds      float64      `json:"duration_seconds"`
	Tokens       int64        `json:"tokens_used"` // of the executor, in all attempts together
	Model        string       `json:"model_used"`
}

// Verification is how a subtask's work was judged at last.
type Verification struct {
	Passed bool     `json:"passed"`
	Tier   int      `json:"tier"`
	Gates  []string `json:"gates"` // each with its verdict and reason
}

// Call is the record of a tool call.
type Call struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result string          `json:"result"`
	Error  bool            `json:"error,omitempty"`
	Time   time.Time       `json:"timestamp"`
}

// New makes the document of a run.
func New(r *view.Run, blobs view.Blobs) (Task, error) {
	if len(r.Loops) == 0 {
		return Task{}, pawl.Errorf(pawl.CodeNotFound, "run %s has not begun a loop, so there is nothing to report", plain.Line(string(r.ID), 0))
	}
	l, branch := r.Loops[0], plain.Line(r.Start.Branch, 0)
	t := Task{ID: plain.Line(l.ID, 0), Goal: blobs.Text(r.Start.Goal), Status: status(r, l), Created: r.Began.UTC(), Updated: r.Updated.UTC(),
		Workspace: branch, Approval: approvalMode(r, l),
		Context: map[string]string{"base": plain.Line(string(r.Start.Base), 0), "branch": branch, "head": plain.Line(string(r.Head), 0)},
		Metadata: map[string]string{"run": plain.Line(string(r.ID), 0), "recipe": plain.Line(r.Recipe.Name, 0), "title": plain.Line(r.Start.Title, 0),
			"outcome": plain.Line(string(r.Outcome), 0), "reason": plain.Line(r.Reason, 0)}}
	for _, x := range []struct {
		given []string
		to    map[string]string
	}{{r.Settings.Context, t.Context}, {r.Settings.Metadata, t.Metadata}} {
		for _, kv := range x.given {
			if name, value, ok := strings.Cut(kv, "="); ok && x.to[name] == "" {
				x.to[plain.Line(name, 0)] = plain.Line(value, 0)
			}
		}
	}
	if len(r.Settings.Scope) > 0 {
		t.Context["constraints"] = plain.Line(strings.Join(r.Settings.Scope, "; "), 0)
	}
	if r.Settings.Callback != nil {
		t.Callback = plain.Line(r.Settings.Callback.URL, 0)
	}
	p := l.Plan()
	if p == nil {
		return t, nil
	}
	t.Progress = p.Progress()
	t.Plan = &Plan{Version: p.Version, Subtasks: []Subtask{}, Created: l.Plans[0].Began.UTC()}
	if p.Version > 1 {
		at := p.Began.UTC()
		t.Plan.Replanned = &at
	}
	for _, x := range p.Tasks {
		t.Plan.Subtasks = append(t.Plan.Subtasks, subtask(r, l, x, blobs))
	}
	return t, nil
}

// status is where the run is: it verifies once nothing is to be worked on, and no person is asked how to continue.
func status(r *view.Run, l *view.Loop) string {
	switch {
	case r.Outcome.Succeeded():
		return "completed"
	case r.Outcome == pawl.OutcomeCancelled:
		return "cancelled"
	case r.Outcome != "":
		return "failed"
	case l.Plan() == nil:
		return "planning"
	case l.Plan().Count(pawl.TaskPending)+l.Plan().Count(pawl.TaskRunning) == 0 && len(r.OpenQuestions()) == 0:
		return "verifying"
	}
	return "executing"
}

func approvalMode(r *view.Run, l *view.Loop) string {
	mode := r.Settings.Approval
	if k := r.Recipe.Kind(l.Kind); mode == "" && k != nil && k.Approval != nil {
		mode = k.Approval.By
	}
	switch mode {
	case "":
		return "auto"
	case "human":
		return "manual"
	}
	return plain.Line(mode, 0)
}

func subtask(r *view.Run, root *view.Loop, x *view.Task, blobs view.Blobs) Subtask {
	spec := x.Spec(blobs)
	s := Subtask{ID: plain.Line(x.ID, 0), Description: plain.Text(spec.Description), Status: x.Status.String(), DependsOn: append([]string{}, spec.DependsOn...),
		ModelTier: max(1, x.TaskEntry.Tier), Verification: max(1, x.Verify), Critical: x.Critical, RetryCount: retries(x),
		MaxRetries: maxRetries(r, root, x), Cause: plain.Line(x.Cause, 0)}
	if s.Description == "" {
		s.Description = cmp.Or(spec.Title, plain.Line(x.Title, 0))
	}
	switch {
	case x.Status == pawl.TaskPassed:
		s.Status = "completed"
	case x.IsStopped(): // it is pending until the run is resumed
		s.Status = pawl.TaskPending.String()
	}
	if x.Loop() != nil && (x.Status == pawl.TaskPassed || x.Status == pawl.TaskFailed) {
		s.Result = result(r, x, blobs)
	}
	return s
}

// retries is how often a failed attempt at a task was made again. The first attempt of a new plan is none.
func retries(x *view.Task) int {
	n := 0
	for _, l := range x.Loops {
		n += max(0, len(l.Iterations)-1)
	}
	return n
}

// maxRetries is how often a failed attempt at a task may be made again.
func maxRetries(r *view.Run, root *view.Loop, x *view.Task) int {
	const most = 10 // attempts that a list may ask for
	if x.Retries > 0 {
		return min(x.Retries, most) - 1
	}
	k := r.Recipe.Kind(root.Kind)
	if k == nil || k.Children == nil {
		return 0
	}
	if child := r.Recipe.Kind(k.Children.Kind); child != nil {
		return max(0, child.Iterations-1)
	}
	return 0
}

// maxSummary is how much of what was said becomes a result's summary, in characters.
const maxSummary = 200

func result(r *view.Run, x *view.Task, blobs view.Blobs) *Result {
	l := x.Loop()
	out := &Result{Status: "failed", Artifacts: []string{}, ToolCalls: []Call{}, Tokens: tokens(x), Seconds: x.Took(r.Updated).Seconds()}
	if x.Status == pawl.TaskPassed {
		out.Status = "success"
	}
	out.Verification = Verification{Passed: x.Status == pawl.TaskPassed, Tier: max(1, x.Verify), Gates: []string{}}
	for _, g := range r.Verdicts(l) {
		text := g.Gate + ": " + string(g.Verdict)
		if g.Reason != "" {
			text += ": " + g.Reason
		}
		out.Verification.Gates = append(out.Verification.Gates, plain.Line(text, 0))
		red := g.Verdict != pawl.VerdictPass && g.Verdict != pawl.VerdictSkip
		if red && g.Passed > 0 && g.Passed < g.Total {
			out.Status = "partial"
		}
	}
	if len(l.Iterations) == 0 {
		out.Summary = plain.Line(x.Reason, 0)
		return out
	}
	it := l.Iterations[len(l.Iterations)-1]
	if it.Commit != nil {
		for path := range strings.Lines(string(blobs.Bytes(it.Commit.Paths))) {
			out.Artifacts = append(out.Artifacts, plain.Line(path, 0))
		}
	}
	for _, s := range it.Sessions {
		if s.Purpose != pawl.ForStep {
			continue
		}
		out.Model = plain.Line(s.Model, 0)
		if text := s.Summary(blobs, maxSummary); text != "" {
			out.Summary = text
		}
	}
	for _, s := range l.Sessions() {
		for _, x := range s.Said {
			if x.Role == view.RoleTool && x.Tool != "" {
				out.ToolCalls = append(out.ToolCalls, Call{Tool: plain.Line(x.Tool, 0), Args: blobs.JSON(x.Args), Result: blobs.Text(x.Text), Error: x.IsError, Time: x.Time.UTC()})
			}
		}
	}
	if out.Summary == "" {
		out.Summary = plain.Line(x.Reason, 0)
	}
	return out
}

// tokens is how many the sessions that worked on a task used, those that judged it apart.
func tokens(x *view.Task) (n int64) {
	for _, l := range x.Loops {
		for _, s := range l.Sessions() {
			if s.Purpose == pawl.ForStep {
				n += s.Spent.Tokens
			}
		}
	}
	return n
}

// JSON is the document as indented JSON.
func JSON(r *view.Run, blobs view.Blobs) ([]byte, error) {
	t, err := New(r, blobs)
	if err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write run %s as a task: %w", r.ID, err)
	}
	return append(out, '\n'), nil
}
