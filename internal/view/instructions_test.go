package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pawl"
)

// A run's page, its report and its JSON name the files in which the repository tells
// those who work on it how, and what of them is not shown.
func TestInstructionsAreNamed(t *testing.T) {
	text := pawl.HashOf([]byte("x"))
	files := []pawl.InstructionFile{
		{Path: "AGENTS.md", Bytes: 900, Blob: text}, {Path: "web/AGENTS.md", Folder: "web", Bytes: 90_000, Cut: 31_990, Blob: text},
		{Path: "api/AGENTS.md", Folder: "api", Bytes: 700, Cut: 600, Blob: text}, {Path: "a\x1b[2Jb\nc/CLAUDE.md", Folder: "a\x1b[2Jb\nc", Bytes: 40_000},
	}
	const want = "AGENTS.md, web/AGENTS.md (cut to 32 kB), api/AGENTS.md (cut to 600 bytes), ab c/CLAUDE.md (not shown), 4950 more"
	s := begin(t, 6, 2, func(_ *pawl.Settings, b *pawl.RunStarted) { b.Instructions, b.MoreInstructions = files, 4950 })
	s.iterate(2, "")
	r := fold(s.events)
	if page := Show(r, s.read); !strings.Contains(page, "\n  Instructions  "+want+"\n") {
		t.Errorf("the page says\n%s", page)
	}
	report, err := CompletionReport(r, s.read)
	if err != nil || !strings.Contains(report, "\nInstructions: "+want+"\n") {
		t.Errorf("the report says, %v\n%s", err, report)
	}
	data, err := ShowJSON(r, s.read)
	if err != nil {
		t.Fatal(err)
	}
	var got Summary
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	const summary = "[{AGENTS.md  900 900 T} {web/AGENTS.md web 90000 31990 T} {api/AGENTS.md api 700 600 T} {ab c/CLAUDE.md ab c 40000 0 }]"
	list := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(got.Instructions), text.String(), "T"), pawl.Hash{}.String(), "")
	if list != summary || got.MoreInstructions != 4950 {
		t.Errorf("as JSON: %s and %d more, want %s", list, got.MoreInstructions, summary)
	}

	r.Start.Instructions, r.Start.MoreInstructions = nil, 0
	for range 12 {
		r.Start.Instructions = append(r.Start.Instructions, files[0])
	}
	if got := r.Instructions(); strings.Count(got, "AGENTS.md") != 10 || !strings.HasSuffix(got, ", 2 more") {
		t.Errorf("twelve are named as %s", got)
	}
	r.Start.Instructions = nil
	if report, err := CompletionReport(r, s.read); err != nil || strings.Contains(report+Show(r, s.read), "nstructions") || Summarize(r, s.read).Instructions != nil {
		t.Errorf("a run without instructions names some, %v", err)
	}
}
