package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/document/loom"
	"pawl/internal/document/loopfolder"
	"pawl/internal/document/pandora"
	"pawl/internal/tasks"
	"pawl/internal/view"
)

// Document is a file that is made of a run: one of its projections.
type Document struct {
	Name string // of the file, such as "state.yaml"
	Data []byte
}

// LiveDocuments returns what a recipe's documents show at each event, as the recipe's report says.
func LiveDocuments(blobs view.Blobs) func(e pawl.Event, r *view.Run) string {
	return func(e pawl.Event, r *view.Run) string {
		switch r.Recipe.Report.Live {
		case pawl.LiveIterations:
			if b, ok := e.Body.(*pawl.IterationEnded); ok && e.Loop == 1 {
				return iterationFrame(r, b.N, blobs)
			}
		case pawl.LiveTasks:
			return pandora.Live(e, r, blobs)
		}
		return ""
	}
}

// ShownDocuments returns what a recipe's documents show of a run as it is now, as the recipe's report says.
func ShownDocuments(r *view.Run, blobs view.Blobs) (out []string) {
	switch r.Recipe.Report.Live {
	case pawl.LiveIterations:
		for n := range r.Info().Iteration {
			if frame := iterationFrame(r, n+1, blobs); frame != "" {
				out = append(out, frame)
			}
		}
	case pawl.LiveTasks:
		for _, document := range []func(*view.Run, view.Blobs) (string, error){pandora.PlanDocument, pandora.Trace, pandora.CompletionMessage} {
			if text, err := document(r, blobs); err == nil { // else there is no list of tasks
				out = append(out, text)
			}
		}
	}
	return out
}

// iterationFrame returns the report of an iteration; empty if there is none.
func iterationFrame(r *view.Run, n int, blobs view.Blobs) string {
	report, err := view.IterationReport(r, n, blobs)
	if err != nil {
		return ""
	}
	return report
}

// The documents a run can be asked for.
const (
	StateDocument  = "state.yaml"
	ReportDocument = "report.txt"
	AnswerDocument = "answer.md"  // what the run says at its end
	TasksDocument  = "tasks.json" // the list of tasks, as Pandora keeps it
	TaskDocument   = "task.json"  // the run in Loom's words
	// The records of its loops, and the signals between them, as Loopr keeps them: a
	// JSON document a line.
	LoopsDocument   = "loops.jsonl"
	SignalsDocument = "signals.jsonl"
)

// IsState reports a document that says where a run stands, for programs; the
// others are reports, for people.
func IsState(name string) bool {
	return name == StateDocument || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl")
}

const (
	prdDocument       = "prd.json"    // the list of tasks, as Ralph keeps it
	resultDocument    = "result.json" // how it ended, as Pandora says it
	learningsDocument = "learnings.json"
)

// taskState is a list of tasks as files are made of it.
func taskState(f pandora.TaskFile) tasks.State {
	s := tasks.State{Created: f.Created, Query: f.Query, MaxIterations: f.Limit, Iteration: f.Begun}
	for _, t := range f.Tasks {
		s.Tasks = append(s.Tasks, tasks.Task{Spec: t.TaskSpec, Status: t.Status, Cause: t.Cause, Reason: t.Reason})
	}
	return s
}

// Documents are the files of a run: the Task Loop's state file, a report on each
// iteration, the report on the whole run, and its answer once it has one; of a run with a list of
// tasks also those of Pandora and Loom.
func Documents(r *view.Run, blobs view.Blobs) ([]Document, error) {
	state, err := view.StateYAML(r, blobs)
	if err != nil {
		return nil, err
	}
	out := []Document{{StateDocument, state}}
	if len(r.Loops) == 0 {
		return out, nil
	}
	loops, err := loopfolder.Loops(&r.Records, blobs)
	if err != nil {
		return nil, err
	}
	signals, err := loopfolder.Signals(&r.Records, blobs)
	if err != nil {
		return nil, err
	}
	out = append(out, Document{LoopsDocument, loops}, Document{SignalsDocument, signals})
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
	if answer := view.AnswerOf(r, blobs); answer != nil {
		out = append(out, Document{AnswerDocument, []byte(answer.Text + "\n")})
	}
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
	}{{"plan.md", pandora.PlanDocument}, {"validation.md", pandora.ValidationDocument}, {"completion.md", pandora.CompletionMessage}, {"trace.txt", pandora.Trace}} {
		text, err := d.make(r, blobs)
		if err != nil {
			return nil, err
		}
		out = append(out, Document{d.name, []byte(text)})
	}
	file, err := pandora.TasksFile(r, blobs)
	if err != nil {
		return nil, err
	}
	state := taskState(file)
	out = append(out, Document{TasksDocument, tasks.TasksJSON(state)},
		Document{prdDocument, tasks.PRDJSON(tasks.PRD{Project: string(r.ID), Branch: r.Start.Branch, Description: file.Query, Tasks: state.Tasks})})
	if r.Outcome != "" {
		out = append(out, Document{resultDocument, tasks.ResultJSON(r.Outcome, state.Tasks)})
	}
	task, err := loom.JSON(r, blobs)
	if err != nil {
		return nil, err
	}
	learnings, err := json.MarshalIndent(pandora.Learnings(r, blobs), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write what run %s learned: %w", r.ID, err)
	}
	return append(out, Document{TaskDocument, task}, Document{learningsDocument, append(learnings, '\n')}), nil
}
