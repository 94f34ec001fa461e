package view

import (
	"encoding/json"
	"fmt"

	"pawl"
)

// maxObjections is how many objections of one gate a report lists.
const maxObjections = 5

// objections returns the single failures in a gate's evidence, and how many more
// there are. Evidence that is not a command gate's has none.
func objections(evidence []byte) []string {
	var g pawl.GateReport
	if len(evidence) == 0 || json.Unmarshal(evidence, &g) != nil || g.Verdict == "" { // a review's has none
		return nil
	}
	var all []string
	for _, t := range g.Tests {
		if t.Status == pawl.TestFail {
			all = append(all, t.Name)
		}
	}
	for _, f := range g.Diagnostics {
		at := f.File
		if f.Line > 0 {
			at = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if at != "" {
			at += ": "
		}
		all = append(all, fmt.Sprintf("%s%s (%s)", at, f.Message, f.Severity))
	}
	for _, lost := range g.Lost {
		all = append(all, lost.String())
	}
	if len(all) > maxObjections {
		more := len(all) - maxObjections
		all = append(all[:maxObjections:maxObjections], fmt.Sprintf("and %d more", more))
	}
	return all
}
