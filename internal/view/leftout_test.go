package view

import (
	"strings"
	"testing"

	"pawl"
)

// A line about a commit or a call says how much was left out, and by which limit. F-10
func TestLeftOutLines(t *testing.T) {
	for want, met := range map[string][]pawl.LimitMet{
		"": nil,
		", 1 file left out: git refuses the name": {{Limit: pawl.LimitGitName, Files: 1}},
		", 2 files left out: git cannot store the content, 1 file left out: more than 50,000,000 bytes (recording.max_file)": {
			{Limit: pawl.LimitGitContent, Files: 2}, {Limit: pawl.LimitFile, Max: 50_000_000, Files: 1},
		},
		", 60,000 files left out: more than 50,000 new files (recording.max_new_files)":              {{Limit: pawl.LimitNewFiles, Max: 50_000, Files: 60_000}},
		", 3 files left out: more than 1,000,000,000 bytes of new content (recording.max_new_bytes)": {{Limit: pawl.LimitNewBytes, Max: 1_000_000_000, Files: 3}},
		", 1 file left out: limit of_a_later_version":                                                {{Limit: "of_a_later_version", Files: 1}},
	} {
		r := New()
		commit := Line(pawl.Event{Loop: 1, Body: &pawl.Committed{Commit: "c1", Files: 1, Total: 1, LeftOut: met}}, r, nil)
		if !strings.HasSuffix(commit, "against the base"+want) {
			t.Errorf("the commit's line is %q, want %q at its end", commit, want)
		}
		call := Line(pawl.Event{Loop: 1, Body: &pawl.ToolReturned{Effect: 3, IsError: true, LeftOut: met}}, r, nil)
		if met != nil && !strings.HasSuffix(call, "the worktree holds what cannot be recorded"+want) {
			t.Errorf("the call's line is %q, want %q at its end", call, want)
		}
	}
}
