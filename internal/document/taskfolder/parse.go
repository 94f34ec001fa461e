package taskfolder

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// Status is where a task stands, as the header of its plan.md says.
type Status string

// The statuses.
const (
	Draft              Status = "DRAFT"
	Approved           Status = "APPROVED"
	InProgress         Status = "IN_PROGRESS"
	Complete           Status = "COMPLETE"
	NeedsClarification Status = "NEEDS_CLARIFICATION"
)

// Folder is what a task's folder says.
type Folder struct {
	ID       string // NNN-slug
	Status   Status // empty when plan.md says none that there is
	Goal     string
	Criteria []pawl.Criterion
	Tasks    []pawl.TaskSpec // Done is set where the work was approved
	Health   pawl.Health     // empty = nothing was said of it
	// Learnings is the highest number among the learnings; zero = there are none.
	Learnings int
	// Answered are the decisions that people answered, as texts of the memory, in the order of their numbers.
	Answered []string
	// Problem says why plan.json cannot be read; empty = it can, or is not there.
	Problem string
}

// Parse reads a task's folder; files are by their paths in it. The status is what
// the header of plan.md says, wherever in it, not its first line.
func Parse(id string, files map[string][]byte) Folder {
	f := Folder{ID: id}
	if s := Status(header(files[filePlan], "Status")); slices.Contains([]Status{Draft, Approved, InProgress, Complete, NeedsClarification}, s) {
		f.Status = s
	}
	f.Health = health(header(files[fileState], "Status"))
	if data := files[fileList]; data != nil {
		var l list
		if err := json.Unmarshal(data, &l); err != nil {
			f.Problem = "plan.json cannot be read: " + err.Error()
		} else {
			f.Goal, f.Criteria, f.Tasks = plain.Text(l.Goal), l.Criteria, l.Tasks
		}
	}
	if f.Goal == "" {
		f.Goal = section(files[filePlan], "Goal")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		n := number(name)
		f.Learnings = max(f.Learnings, n)
		if n > 0 {
			if text := answered(string(files[name])); text != "" {
				f.Answered = append(f.Answered, text)
			}
		}
	}
	return f
}

// answered returns the decision in a file as a text of the memory if a person answered it, else "".
func answered(file string) string {
	head, _, _ := strings.Cut(plain.Text(file), "\n")
	_, title, ok := strings.Cut(head, ": ")
	says := recordOf(file)
	if !ok || !strings.HasPrefix(head, "# Decision ") || !strings.HasPrefix(says.text["Context"], pawl.AskedOf) {
		return ""
	}
	out := line(title, maxTitle)
	for _, s := range sections {
		text := plain.Text(says.text[s.name])
		if s.name == alternatives {
			text = strings.ReplaceAll(text, "**", "") // their names are in bold
		}
		if text != "" {
			out += "\n\n**" + s.name + ":** " + text
		}
	}
	return cut(out, maxAnswered) + "\n"
}

// maxAnswered bounds the bytes of an answer that is read from a file.
const maxAnswered = 3000

// ParseAll reads the folders of all tasks, by id; files are by their paths in
// [pawl.TasksFolder]. What is no task's folder is left out.
func ParseAll(files map[string][]byte) []Folder {
	byTask := map[string]map[string][]byte{}
	for name, data := range files {
		id, rest, ok := strings.Cut(name, "/")
		if !ok || !pawl.RunID(id).Valid() {
			continue
		}
		if byTask[id] == nil {
			byTask[id] = map[string][]byte{}
		}
		byTask[id][rest] = data
	}
	var out []Folder
	for id, files := range byTask {
		out = append(out, Parse(id, files))
	}
	slices.SortFunc(out, func(a, b Folder) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// header is the value of a line such as "**Status:** DRAFT" before the first
// section of a file.
func header(file []byte, name string) string {
	for l := range strings.Lines(string(file)) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "## ") {
			break
		}
		for _, form := range []string{"**" + name + ":**", "**" + name + "**:"} {
			if value, ok := strings.CutPrefix(l, form); ok {
				return strings.TrimSpace(value)
			}
		}
	}
	return ""
}

// section is the text below a heading, on one line.
func section(file []byte, name string) string {
	var out []string
	in := false
	for l := range strings.Lines(string(file)) {
		if strings.HasPrefix(l, "## ") {
			in = strings.TrimSpace(l) == "## "+name
			continue
		}
		if in {
			out = append(out, l)
		}
	}
	return plain.Line(strings.Join(out, ""), 2000)
}

// health is what a file calls it: OSCILLATING is an older word for FLIP-FLOPPING.
func health(word string) pawl.Health {
	h := pawl.Health(word)
	if h == "OSCILLATING" {
		return pawl.HealthFlipFlop
	}
	if slices.Contains([]pawl.Health{pawl.HealthBlocked, pawl.HealthFlipFlop, pawl.HealthRegressing, pawl.HealthStalled, pawl.HealthProgressing}, h) {
		return h
	}
	return ""
}
