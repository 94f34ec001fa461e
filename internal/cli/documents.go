package cli

import (
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
)

// Documents are the files of the Task Loop: the state file, a report on each
// iteration, and the report on the whole run.
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
	return append(out, Document{ReportDocument, []byte(report)}), nil
}
