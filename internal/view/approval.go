package view

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/plain"
)

// PlanPreview is a plan as a person decides on it. Its texts are safe to print. Fields
// are added, never renamed.
type PlanPreview struct {
	Run        pawl.RunID         `json:"run"`
	ID         string             `json:"id"` // of the loop
	Status     pawl.LoopStatus    `json:"status"`
	Approval   pawl.ApprovalState `json:"approval"`
	By         string             `json:"by,omitempty"` // who decided
	Title      string             `json:"title"`
	Iterations int                `json:"iterations"`
	Max        int                `json:"max_iterations"`
	Generation int                `json:"generation"`
	Overview   string             `json:"overview,omitempty"`
	Phases     []string           `json:"phases"`
	Specs      []PlanEntry        `json:"specs"`
	// Content is the whole plan as Markdown.
	Content string `json:"content"`
	// About is the hash that an answer names; Question the number of the question it
	// answers, 0 = none is open.
	About    pawl.Hash `json:"about"`
	Question int       `json:"question,omitempty"`
}

// PlanEntry is what a plan makes a loop of.
type PlanEntry struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Dependencies []string `json:"dependencies"`
}

// asksForPlan reports a kind of loop whose plan a person may be asked about.
func (r *Record) asksForPlan() bool {
	return len(r.plans) > 0 || r.kind != nil && (r.kind.Approval != nil || r.Parent == 0 && r.kind.Children != nil)
}

// PlanLoop finds the loop whose plan is meant: the one of that name, or the one that
// waits for a person, or the root.
func (rs *Records) PlanLoop(name string) (*Record, error) {
	if name != "" {
		return rs.Find(name)
	}
	if all := rs.Awaiting(); len(all) > 0 {
		return all[0], nil
	}
	if len(rs.Loops) == 0 {
		return nil, pawl.Errorf(pawl.CodeState, "run %s has no loop yet", rs.Run)
	}
	return rs.Loops[0], nil
}

// PlanQuestion returns the open question about a loop's plan. A loop that has no plan to
// decide on, and one that nobody is asked about, are told apart.
func (r *Run) PlanQuestion(rec *Record) (*Question, error) {
	if !rec.asksForPlan() {
		return nil, pawl.Errorf(pawl.CodeInvalid, "Loop %s is not a Plan", rec.ID).WithHint("it is a %s; pawl loops %s shows them all", plain.Line(rec.LoopType, 40), r.ID)
	}
	for _, n := range rec.plans {
		if q := r.Question(n); q != nil && q.Open() {
			return q, nil
		}
	}
	was := ""
	if rec.Approval != pawl.ApprovalNone {
		was = map[pawl.ApprovalState]string{pawl.ApprovalApproved: "approved", pawl.ApprovalRejected: "rejected",
			pawl.ApprovalIterating: "sent back with feedback"}[rec.Approval]
		if who := r.decidedBy(rec); who != "" {
			was += " by " + who
		}
	}
	err := pawl.Errorf(pawl.CodeState, "Plan %s was %s already", rec.ID, was)
	switch {
	case rec.Status != pawl.LoopComplete && was != "":
		err = pawl.Errorf(pawl.CodeState, "Plan %s not in Complete state: it is %s, and was %s", rec.ID, rec.Status, was)
	case rec.Status != pawl.LoopComplete:
		err = pawl.Errorf(pawl.CodeState, "Plan %s not in Complete state: it is %s", rec.ID, rec.Status)
	case was == "":
		err = pawl.Errorf(pawl.CodeState, "Plan %s awaits no approval", rec.ID)
	}
	return nil, err.WithHint("pawl plan show %s", r.ID)
}

// decidedBy is who decided about a loop's plan last; empty = nobody did, or nobody knows.
func (r *Run) decidedBy(rec *Record) string {
	if len(rec.plans) == 0 {
		return ""
	}
	if q := r.Question(rec.plans[len(rec.plans)-1]); q != nil && q.Answered != nil {
		return plain.Line(q.Answered.By, 60)
	}
	return ""
}

// PlanChoice returns a question's word for approve, iterate or reject; some recipes call
// the second revise.
func PlanChoice(q *Question, choice string) string {
	if choice != choiceIterate {
		return choice
	}
	for _, c := range q.Choices {
		if c == choiceRevise {
			return c
		}
	}
	return choice
}

// PlanPreview reads a loop's plan: the one a person is asked about, or was, else the
// one in force. It has what the loop's record alone does not say: who decided, and the
// tasks of a list that is no artifact.
func (r *Run) PlanPreview(rec *Record, blobs Blobs) (PlanPreview, error) {
	if !rec.asksForPlan() {
		_, err := r.PlanQuestion(rec)
		return PlanPreview{}, err
	}
	p, err := rec.PlanPreview(blobs)
	if err != nil {
		return PlanPreview{}, err
	}
	p.Title = cmp.Or(p.Title, plain.Line(r.Start.Title, 0))
	if q, err := r.PlanQuestion(rec); err == nil {
		p.Question = q.N
	} else {
		p.By = r.decidedBy(rec)
	}
	if len(p.Specs) > 0 {
		return p, nil
	}
	for _, e := range r.Records.entries[rec.Ref] {
		spec := pawl.TaskSpec{ID: e.ID, Title: e.Title}
		blobs.into(e.Spec, &spec)
		p.Specs = append(p.Specs, planEntry(e.ID, spec.Title, spec.Description, e.DependsOn))
	}
	return p, nil
}

func planEntry(name, title, description string, after []string) PlanEntry {
	return PlanEntry{plain.Line(name, 0), plain.Line(title, 0), plain.Text(description), append([]string{}, lines(after)...)}
}

// PlanPreview returns what a loop's record and the plan itself say of it; By is empty. A
// loop that never had a plan is [pawl.CodeState].
func (r *Record) PlanPreview(blobs Blobs) (PlanPreview, error) {
	about := r.About
	if about.IsZero() {
		about = r.List
	}
	if about.IsZero() {
		return PlanPreview{}, pawl.Errorf(pawl.CodeState, "Plan has no output artifact: loop %s is at iteration %d", r.ID, r.Shown()).WithHint("pawl logs -f %s", r.Run)
	}
	data := blobs.bytes(about)
	if data == nil {
		return PlanPreview{}, pawl.Errorf(pawl.CodeDamaged, "the plan of loop %s, %s, cannot be read", r.ID, about.Short())
	}
	p := PlanPreview{Run: r.Run, ID: plain.Line(r.ID, 0), Status: r.Status, Approval: r.Approval, Iterations: r.Shown(), Max: r.MaxIterations,
		Generation: r.Generation, Phases: []string{}, Specs: []PlanEntry{}, About: about}
	if r.Approval == pawl.ApprovalAwaiting && len(r.Questions) > 0 {
		p.Question = r.Questions[0]
	}
	p.Content = plain.Text(string(data)) // a list of tasks of another recipe
	kind := artifact.Detect(data)
	if kind == "" {
		return p, nil
	}
	made, err := artifact.Read(kind, data)
	if err != nil {
		return PlanPreview{}, pawl.Errorf(pawl.CodeDamaged, "the plan of loop %s, %s, cannot be read: %w", r.ID, about.Short(), err)
	}
	p.Title, p.Content = artifact.Title(made), made.Markdown()
	if plan, ok := made.(*artifact.Plan); ok {
		p.Overview, p.Phases = plain.Text(plan.Overview), lines(plan.Outline())
	}
	for _, t := range made.Tasks(r.Task) {
		p.Specs = append(p.Specs, planEntry(t.ID, t.Title, t.Description, t.DependsOn))
	}
	return p, nil
}

// PlanHeading returns what stands above a plan.
func PlanHeading(a pawl.ApprovalState) string {
	return map[pawl.ApprovalState]string{pawl.ApprovalAwaiting: "PLAN AWAITING APPROVAL", pawl.ApprovalNone: "PLAN", pawl.ApprovalApproved: "PLAN APPROVED",
		pawl.ApprovalRejected: "PLAN REJECTED", pawl.ApprovalIterating: "PLAN SENT BACK"}[a]
}

// Approval returns where the approval stands that a question about a plan asks for.
func (q *Question) Approval() pawl.ApprovalState {
	switch {
	case q.Withdrawn != nil:
		return pawl.ApprovalNone
	case q.Answered == nil:
		return pawl.ApprovalAwaiting
	case q.Answered.Choice == choiceIterate:
		return pawl.ApprovalIterating
	case q.denied():
		return pawl.ApprovalRejected
	}
	return pawl.ApprovalApproved
}

// PlanText returns a plan for people, as it waits for their approval or as it was decided
// on, no wider than width where that is not zero.
func PlanText(p PlanPreview, width int) string {
	var t text
	t.line("%s", PlanHeading(p.Approval)+by(p.By))
	t.line("")
	t.line("  Plan:       %s", p.Title)
	t.line("  Loop ID:    %s", p.ID)
	t.line("  Iterations: %s", of(p.Iterations, p.Max))
	if p.Generation > 1 {
		t.line("  Generation: %d", p.Generation)
	}
	if p.Overview != "" {
		t.line("")
		t.line("Overview")
		t.wrapped("  ", "  ", p.Overview, width)
	}
	if len(p.Phases) > 0 {
		t.line("")
		t.line("Phases")
		for i, phase := range p.Phases {
			t.wrapped(fmt.Sprintf("  %d. ", i+1), "     ", phase, width)
		}
	}
	t.line("")
	t.line("Specs to Create (%d)", len(p.Specs))
	for _, s := range p.Specs {
		after := ""
		if len(s.Dependencies) > 0 {
			after = " (after " + strings.Join(s.Dependencies, ", ") + ")"
		}
		t.wrapped("  "+s.Name+": ", "    ", cmp.Or(s.Description, s.Title)+after, width)
	}
	return t.String()
}
