package artifact_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/artifact"
)

var update = flag.Bool("update", false, "write the documents to testdata")

// R-10 R-11 R-12: the documents of the three kinds, with the sections they must have.
func TestMarkdown(t *testing.T) {
	for kind, text := range map[artifact.Kind]string{
		artifact.KindPlan: plan, artifact.KindSpec: spec,
		artifact.KindPhase: change(phase, "Mind the `locks`.\n\n```sql\n-- ## not a section\n```", "notes"),
	} {
		got := MustRead(t, kind, text).Markdown()
		file := filepath.Join("testdata", kind.File())
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got), go test -update rewrites it:\n%s", file, diff)
		}
	}
}

// headings are the lines that a reader of Markdown takes for a heading's.
func headings(text string) (out []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case regexp.MustCompile(`^ {0,3}#{1,6}([ \t]|$)`).MatchString(line):
			out = append(out, line)
		case i > 0 && lines[i-1] != "" && regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`).MatchString(line):
			out = append(out, lines[i-1])
		}
	}
	return out
}

// hostile draws texts that would like to be more of a document than their place.
func hostile() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"text", "\n", "\n\n", "\r", "\r\n", "\u2028", "\u0085", "\v", "## Success Criteria", "\n## Phases\n", "\n  ### x: y\n", "Title\n===\n", "Title\n---\n",
		"```\n", "\n~~~~\n", "<!--", "\n<script>\n", "\n<h2>Risks</h2>\n", "- ", "> ", "`", "\t", "    ", "\x1b[2J", "\u202e", "\\",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return "a" + strings.Join(rapid.SliceOfN(part, 0, 10).Draw(t, "parts"), "")
	})
}

// Whatever the texts of an artifact say, its sections are ours, none is hidden, and
// nothing in it is obeyed by a terminal.
func TestNoTextForgesASection(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string { return hostile().Draw(rt, name) }
		line := func(name string) string { return strings.ReplaceAll(text(name), "\n", " ") }
		list := func(name string) []string { return []string{text(name), text(name)} }
		docs := map[artifact.Kind]struct {
			doc  any
			want []string
		}{
			artifact.KindPlan: {artifact.Plan{Title: text("title"), Overview: text("overview"), Phases: list("phases"), SuccessCriteria: list("criteria"), NonGoals: list("non-goals"),
				Risks: list("risks"), Specs: []artifact.PlanSpec{{Name: "one", Title: text("spec"), Description: text("description")}}},
				[]string{"# Plan", "## Overview", "## Phases", "## Specs", "### one", "## Success Criteria", "## Non-Goals", "## Risks"}},
			artifact.KindSpec: {artifact.Spec{Title: text("title"), ParentPlan: text("plan"), Overview: text("overview"), Risks: list("risks"), Phases: []artifact.SpecPhase{
				{Name: "a", Title: text("phase"), Description: text("description")}, {Name: "b", Title: "b", Description: text("description")}, {Name: "c", Title: "c", Description: "c"}}},
				[]string{"# Spec", "## Parent Plan", "## Overview", "## Phases", "### a", "### b", "### c", "## Success Criteria", "## Risks"}},
			artifact.KindPhase: {artifact.Phase{Title: text("title"), Task: text("task"), Notes: text("notes"), SuccessCriteria: list("criteria"), ValidationCommand: "true `" + regexp.MustCompile(`[^a-z#<\x60 -]`).ReplaceAllString(line("command"), ""),
				Work: []artifact.Work{{Description: text("work"), File: "a`b.go", Action: artifact.ActionCreate}}},
				[]string{"# Phase", "## Task", "## Specific Work", "## Success Criteria", "## Validation", "## Notes"}},
		}
		for _, kind := range []artifact.Kind{artifact.KindPlan, artifact.KindSpec, artifact.KindPhase} {
			data, err := json.Marshal(docs[kind].doc)
			if err != nil {
				rt.Fatal(err)
			}
			a, err := artifact.Read(kind, data)
			if err != nil {
				rt.Fatal(err)
			}
			md := a.Markdown()
			got := headings(md)
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], ":")
			}
			if !slices.Equal(got, docs[kind].want) {
				rt.Fatalf("the headings are %q, want %q, in\n%s", got, docs[kind].want, md)
			}
			if regexp.MustCompile("(?m)^ {0,3}(```|~~~|<)").MatchString(md) {
				rt.Fatalf("a text begins a block that can hide sections:\n%s", md)
			}
			if strings.ContainsAny(md, "\x1b\u202e\r\u2028\u0085\v") || strings.ContainsAny(artifact.Title(a), "\n\x1b") {
				rt.Fatalf("a terminal would obey it: %q", md)
			}
		}
	})
}
