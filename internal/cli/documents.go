package cli

import (
	"encoding/json"
	"fmt"

	"pawl/internal/view"
)

// Document is a file that is made of a run: one of its projections.
type Document struct {
	Name string // of the file, such as "state.yaml"
	Data []byte
}

// The documents a run can be asked for.
const (
	StateDocument  = "state.yaml"
	ReportDocument = "report.txt"
	TasksDocument  = "tasks.json" // the list of tasks, as Pandora keeps it
	TaskDocument   = "task.json"  // the run in Loom's words
)

// IsState reports a document that says where a run stands, for programs; the
// others are reports, for people.
func IsState(name string) bool {
	return name == StateDocument || name == TasksDocument || name == TaskDocument || name == learningsDocument
}

const learningsDocument = "learnings.json"

// Documents are the files of a run: the Task Loop's state file, a report on each
// iteration, and the report on the whole run; of a run with a list of tasks also
// those of Pandora and Loom.
func Documents(r *view.Run, blobs view.Blobs) ([]Document, error) {
	state, err := view.StateYAML(r, blobs)
	if err != nil {
		return nil, err
	}
	out := []Document{{StateDocument, state}}
	if len(r.Loops) == 0 {
		return out, nil
	}
	for _, it := range r.Loops[0].Iterations {
		report, err := view.IterationReport(r, it.N, blobs)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{fmt.Sprintf("iteration-%03d.txt", it.N), []byte(report)})
	}
	report, err := view.CompletionReport(r, blobs)
	if err != nil {
		return nil, err
	}
	out = append(out, Document{ReportDocument, []byte(report)})
	if r.Plan() == nil {
		return out, nil
	}
	return treeDocuments(out, r, blobs)
}

// treeDocuments adds the files of a run with a list of tasks.
func treeDocuments(out []Document, r *view.Run, blobs view.Blobs) ([]Document, error) {
	for _, d := range []struct {
		name string
		make func(*view.Run, view.Blobs) (string, error)
	}{{"plan.md", view.PlanDocument}, {"validation.md", view.ValidationDocument}, {"completion.md", view.CompletionMessage}, {"trace.txt", view.Trace}} {
		text, err := d.make(r, blobs)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{d.name, []byte(text)})
	}
	file, err := view.TasksFile(r, blobs)
	if err != nil {
		return nil, err
	}
	list, err := tasksJSON(file)
	if err != nil {
		return nil, err
	}
	loom, err := view.LoomJSON(r, blobs)
	if err != nil {
		return nil, err
	}
	learnings, err := json.MarshalIndent(view.Learnings(r, blobs), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write what run %s learned: %w", r.ID, err)
	}
	return append(out, Document{TasksDocument, list}, Document{TaskDocument, loom}, Document{learningsDocument, append(learnings, '\n')}), nil
}
