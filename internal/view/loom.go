package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// LoomTask is a run in Loom's words: the task, its plan, the subtasks and what
// came of them. Its texts are safe to print.
type LoomTask struct {
	ID        string            `json:"id"`
	Goal      string            `json:"goal"`
	Context   map[string]string `json:"context"`
	Workspace string            `json:"workspace_path,omitempty"` // the run's branch: its worktree is gone when the run has ended
	Status    string            `json:"status"`                   // planning, executing, verifying, completed, failed or cancelled
	Plan      *LoomPlan         `json:"plan"`
	Created   time.Time         `json:"created_at"`
	Updated   time.Time         `json:"updated_at"`
	Approval  string            `json:"approval_mode"` // auto, manual or confidence_threshold
	Callback  string            `json:"callback_url,omitempty"`
	Metadata  map[string]string `json:"metadata"`
	// Progress counts the subtasks.
	Progress TaskProgress `json:"progress"`
}

// LoomPlan is the plan in force.
type LoomPlan struct {
	Version   int           `json:"version"`
	Subtasks  []LoomSubtask `json:"subtasks"`
	Created   time.Time     `json:"created_at"` // of the first version
	Replanned *time.Time    `json:"replanned_at"`
}

// LoomSubtask is an entry of a [LoomPlan].
type LoomSubtask struct {
	ID           string      `json:"id"`
	Description  string      `json:"description"`
	Status       string      `json:"status"` // pending, running, completed, failed, skipped or blocked
	DependsOn    []string    `json:"depends_on"`
	ModelTier    int         `json:"model_tier"`
	Verification int         `json:"verification_tier"`
	Critical     bool        `json:"is_critical_path"`
	Result       *LoomResult `json:"result"`
	RetryCount   int         `json:"retry_count"`
	MaxRetries   int         `json:"max_retries"`
	Cause        string      `json:"blocked_by,omitempty"`
}

// LoomResult is what came of a subtask.
type LoomResult struct {
	Status       string           `json:"status"` // success, failed or partial
	Summary      string           `json:"summary"`
	Artifacts    []string         `json:"artifacts"`
	ToolCalls    []LoomCall       `json:"tool_calls"`
	Verification LoomVerification `json:"verification"`
	Seconds      float64          `json:"duration_seconds"`
	Tokens       int64            `json:"tokens_used"` // of all attempts together
	Model        string           `json:"model_used"`
}

// LoomVerification is how a subtask's work was judged at last.
type LoomVerification struct {
	Passed bool     `json:"passed"`
	Tier   int      `json:"tier"`
	Gates  []string `json:"gates"` // each with its verdict and reason
}

// LoomCall is the record of a tool call.
type LoomCall struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result string          `json:"result"`
	Error  bool            `json:"error,omitempty"`
	Time   time.Time       `json:"timestamp"`
}

// Loom is the run in Loom's words.
func Loom(r *Run, blobs Blobs) (LoomTask, error) {
	l := r.root()
	if l == nil {
		return LoomTask{}, errNotStarted(r)
	}
	t := LoomTask{ID: plain.Line(l.ID, 0), Goal: blobs.text(r.Start.Goal), Status: r.loomStatus(l), Created: r.Began.UTC(), Updated: r.Updated.UTC(),
		Workspace: r.branch(), Approval: r.approvalMode(l),
		Context: map[string]string{"base": string(commit(r.Start.Base)), "branch": r.branch(), "head": string(commit(r.Head))},
		Metadata: map[string]string{"run": plain.Line(string(r.ID), 0), "recipe": plain.Line(r.Recipe.Name, 0), "title": plain.Line(r.Start.Title, 0),
			"outcome": plain.Line(string(r.Outcome), 0), "reason": plain.Line(r.Reason, 0)}}
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
	t.Plan = &LoomPlan{Version: p.Version, Subtasks: []LoomSubtask{}, Created: l.Plans[0].Began.UTC()}
	if p.Version > 1 {
		at := p.Began.UTC()
		t.Plan.Replanned = &at
	}
	for _, x := range p.Tasks {
		t.Plan.Subtasks = append(t.Plan.Subtasks, r.loomSubtask(l, x, blobs))
	}
	return t, nil
}

// loomStatus is where the run is: it verifies once nothing is to be worked on.
func (r *Run) loomStatus(l *Loop) string {
	switch {
	case r.Outcome.Succeeded():
		return "completed"
	case r.Outcome == pawl.OutcomeCancelled:
		return "cancelled"
	case r.Outcome != "":
		return "failed"
	case l.Plan() == nil:
		return "planning"
	case l.Plan().Count(pawl.TaskPending)+l.Plan().Count(pawl.TaskRunning) == 0:
		return "verifying"
	}
	return "executing"
}

func (r *Run) approvalMode(l *Loop) string {
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

func (r *Run) loomSubtask(root *Loop, x *Task, blobs Blobs) LoomSubtask {
	spec := x.spec(blobs)
	s := LoomSubtask{ID: plain.Line(x.ID, 0), Description: plain.Text(spec.Description), Status: x.Status.String(), DependsOn: append([]string{}, lines(x.DependsOn)...),
		ModelTier: max(1, x.Tier()), Verification: max(1, x.Verify), Critical: x.Critical, RetryCount: max(0, x.Attempts()-1),
		MaxRetries: r.maxRetries(root, x), Cause: plain.Line(x.Cause, 0)}
	if s.Description == "" {
		s.Description = x.titled(spec)
	}
	if x.Status == pawl.TaskPassed {
		s.Status = "completed"
	}
	if x.Loop() != nil && (x.Status == pawl.TaskPassed || x.Status == pawl.TaskFailed) {
		s.Result = r.loomResult(x, blobs)
	}
	return s
}

// maxRetries is how often a failed attempt at a task may be made again.
func (r *Run) maxRetries(root *Loop, x *Task) int {
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

func (r *Run) loomResult(x *Task, blobs Blobs) *LoomResult {
	l := x.Loop()
	out := &LoomResult{Status: "failed", Artifacts: []string{}, ToolCalls: []LoomCall{}, Tokens: x.Spent().Tokens, Seconds: x.Took(r.Updated).Seconds()}
	if x.Status == pawl.TaskPassed {
		out.Status = "success"
	}
	out.Verification = LoomVerification{Passed: x.Status == pawl.TaskPassed, Tier: max(1, x.Verify), Gates: []string{}}
	for _, g := range r.inOrder(l.judged()) {
		out.Verification.Gates = append(out.Verification.Gates, line("%s: %s%s", g.Gate, g.Verdict, because(g.Reason)))
		if g.red() && g.Passed > 0 && g.Passed < g.Total {
			out.Status = "partial"
		}
	}
	it := l.last()
	if it == nil {
		out.Summary = plain.Line(x.Reason, 0)
		return out
	}
	if it.Commit != nil {
		for path := range strings.Lines(string(blobs.bytes(it.Commit.Paths))) {
			out.Artifacts = append(out.Artifacts, plain.Line(path, 0))
		}
	}
	for _, s := range it.Sessions {
		if s.Purpose != pawl.ForStep {
			continue
		}
		out.Model = plain.Line(s.Model, 0)
		if text := s.left(blobs, maxSummary); text != "" {
			out.Summary = text
		}
	}
	for _, s := range l.inOrder() {
		for _, c := range s.Calls {
			out.ToolCalls = append(out.ToolCalls, LoomCall{Tool: plain.Line(c.Tool, 0), Args: arguments(blobs.bytes(c.Args)), Result: blobs.text(c.Output), Error: c.IsError, Time: c.Time.UTC()})
		}
	}
	if out.Summary == "" {
		out.Summary = plain.Line(x.Reason, 0)
	}
	return out
}

// inOrder are the loop's sessions, oldest first.
func (l *Loop) inOrder() []*Session {
	var out []*Session
	for _, s := range l.sessions {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Session) int { return int(a.Seq) - int(b.Seq) })
	return out
}

// arguments are a tool call's arguments, as JSON in any case.
func arguments(data []byte) json.RawMessage {
	var v any
	if json.Unmarshal(data, &v) != nil {
		v = string(data)
	}
	out, err := json.Marshal(clean(v))
	if err != nil {
		return json.RawMessage("null") // what was JSON is JSON
	}
	return out
}

// clean makes the texts of a JSON value safe.
func clean(v any) any {
	switch v := v.(type) {
	case string:
		return plain.Text(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[plain.Line(k, 0)] = clean(x)
		}
		return out
	}
	return v
}

// LoomJSON is the [LoomTask] as an indented JSON document.
func LoomJSON(r *Run, blobs Blobs) ([]byte, error) {
	t, err := Loom(r, blobs)
	if err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write run %s as a task: %w", r.ID, err)
	}
	return append(out, '\n'), nil
}
