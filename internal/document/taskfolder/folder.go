package taskfolder

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// The files of a folder.
const (
	fileContext = "context.md"
	filePlan    = "plan.md"
	fileList    = "plan.json"
	fileState   = "loop-state.md"
	fileReport  = "report.md"
	learnings   = "learnings"
)

// Path is the folder of the task that a run works on, as a path in the repository.
func Path(run pawl.RunID) string {
	id, _ := run.Task()
	return pawl.TasksFolder + "/" + id
}

// Source is what a folder is made of.
type Source struct {
	Run pawl.RunID
	// Loop is whose list of tasks it is; zero means the root's.
	Loop   pawl.LoopRef
	Events iter.Seq2[pawl.Event, error]
	Blob   func(pawl.Hash) ([]byte, error)
	// There are the files that the folder holds already, by their paths in it. What
	// is not made anew stays: the learnings of earlier runs, and what others put there.
	There map[string][]byte
}

// maxFiles is how many files a folder may have, below the 2000 that can be committed;
// further learnings are in the memory alone.
const maxFiles = 1900

// Render makes a folder's files, by their paths in it.
func Render(src Source) (map[string][]byte, error) {
	s := newStory(src.Loop)
	for e, err := range src.Events {
		if err != nil {
			return nil, err
		}
		s.take(e)
	}
	if s.started == nil {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the run has no beginning")
	}
	r := renderer{story: s, src: src}
	r.id, _ = src.Run.Task()
	files := maps.Clone(src.There)
	if files == nil {
		files = map[string][]byte{}
	}
	delete(files, fileReport) // of an earlier run
	r.read()
	own := map[string]string{fileContext: r.contextFile(), fileState: r.stateFile()}
	if len(r.tasks) > 0 || files[fileList] == nil {
		own[filePlan], own[fileList] = r.planFile(), r.listFile()
	}
	if _, done := s.results[resultReport]; done {
		own[fileReport] = r.reportFile()
	}
	for name, text := range own {
		files[name] = []byte(text)
	}
	r.learningFiles(files)
	makeRoom(files, src.There)
	return files, r.err
}

// makeRoom drops what was there below a name that a file has now.
func makeRoom(files, there map[string][]byte) {
	for name := range there {
		for above := path.Dir(name); above != "."; above = path.Dir(above) {
			if _, isFile := files[above]; isFile {
				delete(files, name)
			}
		}
	}
}

// renderer writes files. The first error that reading a blob gives is kept.
type renderer struct {
	*story
	src Source
	id  string
	err error

	goal     string
	criteria []pawl.Criterion
	plan     planResult
	tasks    []pawl.TaskSpec
}

// planResult is what a plan says besides its tasks.
type planResult struct {
	Goal      string          `json:"goal"`
	Context   string          `json:"context"`
	Risks     []string        `json:"risks"`
	Questions []string        `json:"questions"`
	Tasks     []pawl.TaskSpec `json:"tasks"`
	Subtasks  []pawl.TaskSpec `json:"subtasks"`
	Decisions []struct {
		Title string `json:"title"`
	} `json:"decisions"`
}

// read reads what several files need.
func (r *renderer) read() {
	r.goal = r.text(r.started.Goal)
	r.decode(r.started.Criteria, &r.criteria)
	r.decode(r.results[resultPlan].blob, &r.plan)
	if r.version == 0 {
		r.tasks = append(r.plan.Subtasks, r.plan.Tasks...)
		for i := range r.tasks {
			r.tasks[i].Done = false
		}
		return
	}
	for _, e := range r.entries {
		t := pawl.TaskSpec{ID: e.ID, Title: e.Title, DependsOn: e.DependsOn, Scaffold: e.Scaffold}
		r.decode(e.Spec, &t)
		t.Done = r.state[e.ID] == pawl.TaskPassed
		r.tasks = append(r.tasks, t)
	}
}

// text reads a blob; the zero Hash has no text.
func (r *renderer) text(h pawl.Hash) string {
	if h.IsZero() || r.err != nil {
		return ""
	}
	data, err := r.src.Blob(h)
	r.err = err
	return string(data)
}

// decode reads a blob that is a JSON document. A result that does not fit, as one
// of an older version may not, says nothing.
func (r *renderer) decode(h pawl.Hash, into any) {
	if text := r.text(h); text != "" {
		_ = json.Unmarshal([]byte(text), into) //nolint:errcheck // see above
	}
}

func (r *renderer) title() string { return line(r.started.Title, 120) }

// Bounds of plan.json, in bytes.
const (
	maxList = 900 << 10 // of it; a file that is committed may have 1 MiB
	maxText = 64 << 10  // of each text in it
)

// listFile is the list as another clone goes on with it: where a text is too long
// for a file, it is cut.
func (r *renderer) listFile() string {
	list := list{Goal: cut(plain.Text(r.goal), maxText), Criteria: r.criteria, Tasks: r.tasks}
	for most := maxText; ; most /= 8 {
		data, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			r.err = err
		}
		if err != nil || len(data) < maxList || most == 0 {
			return string(data) + "\n"
		}
		for i := range list.Tasks {
			t := &list.Tasks[i]
			t.Description, t.Notes = cut(t.Description, most), cut(t.Notes, most)
		}
	}
}

// list is plan.json.
type list struct {
	Goal     string           `json:"goal"`
	Criteria []pawl.Criterion `json:"criteria,omitempty"`
	Tasks    []pawl.TaskSpec  `json:"tasks"`
}

func cut(text string, bytes int) string {
	if len(text) > bytes {
		text = strings.ToValidUTF8(text[:bytes], "")
	}
	return text
}

// planFile is the plan for people.
func (r *renderer) planFile() string {
	var p page
	p.say("# Plan: "+r.title(), "", fmt.Sprintf("**Iteration:** %d", max(r.drafts, r.version, 1)), "**Status:** "+string(r.status()))
	goal := r.plan.Goal
	if goal == "" {
		goal = r.goal
	}
	p.section("Goal", paragraphs(goal, 2000))
	p.section("Context", paragraphs(r.plan.Context, 2000))
	var tasks, graph strings.Builder
	for i := range r.tasks {
		tasks.WriteString(r.taskLine(&r.tasks[i]) + "\n")
		if needs := r.tasks[i].DependsOn; len(needs) > 0 {
			graph.WriteString("- " + ids(needs) + " → " + cell(r.tasks[i].ID, 60) + "\n")
		}
	}
	p.section("Tasks", orNone(tasks.String()))
	p.section("Dependency Graph", orNone(graph.String()))
	p.section("Risks", orNone(bullets(r.plan.Risks, 300)))
	if r.version > 0 { // the questions are answered
		r.plan.Questions = nil
	}
	p.section("Open Questions", orNone(bullets(r.plan.Questions, 500)))
	p.section("Decisions Made", orNone(r.decisionList()))
	return p.String()
}

// taskLine is a task with its box, which only work that was approved gets ticked.
func (r *renderer) taskLine(t *pawl.TaskSpec) string {
	box := " "
	if t.Done {
		box = "x"
	}
	var says []string
	var criteria []string
	for _, c := range t.Criteria {
		criteria = append(criteria, cell(c, 200))
	}
	if len(criteria) > 0 {
		says = append(says, "Acceptance: "+plain.Line(strings.Join(criteria, "; "), 800))
	}
	if len(t.DependsOn) > 0 {
		says = append(says, "depends_on: "+ids(t.DependsOn))
	}
	if t.Scaffold {
		says = append(says, "scaffold: true")
	}
	switch state := r.state[t.ID]; state {
	case pawl.TaskFailed, pawl.TaskBlocked, pawl.TaskSkipped, pawl.TaskDropped:
		says = append(says, "state: "+state.String())
	}
	out := fmt.Sprintf("- [%s] **%s** %s", box, cell(t.ID, 60), cell(taskTitle(t), 120))
	if len(says) > 0 {
		out += " — " + strings.Join(says, " | ")
	}
	return out
}

func taskTitle(t *pawl.TaskSpec) string {
	if t.Title != "" {
		return t.Title
	}
	return t.Description
}

func ids(list []string) string {
	var out []string
	for _, id := range list {
		out = append(out, cell(id, 60))
	}
	return strings.Join(out, ", ")
}

// reportFile is the last account, and what the events say of it.
func (r *renderer) reportFile() string {
	var said struct {
		Goal              string   `json:"goal"`
		Completed         []string `json:"completed"`
		Verification      string   `json:"verification"`
		DecisionAdherence string   `json:"decision_adherence"`
		Summary           string   `json:"summary"`
	}
	r.decode(r.results[resultReport].blob, &said)
	var p page
	p.say("# Report: "+r.title(), "", "**Status:** "+string(r.status()))
	p.section("Goal", orNone(paragraphs(said.Goal, 4000)))
	p.section("Completed", orNone(bullets(said.Completed, 400)))
	p.section("Verification", orNone(paragraphs(said.Verification, 4000)))
	p.section("Decision Adherence", orNone(paragraphs(said.DecisionAdherence, 4000)))
	p.section("Summary", orNone(paragraphs(said.Summary, 8000)))
	p.section("Outcome", r.outcome())
	return p.String()
}

func (r *renderer) outcome() string {
	var b strings.Builder
	fmt.Fprintf(&b, "- Tasks: %d of %d done\n- Batches: %d\n- Rollbacks: %d\n", r.count(pawl.TaskPassed), len(r.entries), len(r.batches), r.rollbacks)
	if p := r.passed; p != nil {
		fmt.Fprintf(&b, "- The plan was refused by its review and let pass by %s%s\n", cell(p.By, 60), cell(strings.TrimSuffix(": "+p.Reason, ": "), 300))
	}
	for _, g := range r.gates {
		fmt.Fprintf(&b, "- Gate %s: %s", cell(g.Gate, 60), g.Verdict)
		if g.Total > 0 {
			fmt.Fprintf(&b, ", %d of %d tests pass", g.Passed, g.Total)
		}
		b.WriteString("\n")
	}
	return b.String()
}
