package recipe_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// rendered returns the user's part of a rendered prompt.
func rendered(tb testing.TB, text string, data recipe.PromptData) string {
	tb.Helper()
	_, user := MustRender(tb, "s\n---user---\n"+text, data)
	return user
}

// Each memory appears in the lists of its kind and in no other.
func TestRenderMemory(t *testing.T) {
	entries := []recipe.Memory{
		{Kind: pawl.MemoryLearning, Task: "a", Text: "learned", Learning: 3},
		{Kind: pawl.MemoryLearning, Task: "a", Text: "learned-in-vain", Failed: true},
		{Kind: pawl.MemoryLearning, Text: "learned-by-the-root"},
		{Kind: pawl.MemoryDiscovery, Text: "discovery"},
		{Kind: pawl.MemoryError, Text: "error"},
		{Kind: pawl.MemoryDecision, Text: "decision", Learning: 12},
		{Kind: pawl.MemoryAntiPattern, Text: "anti-pattern"},
		{Kind: pawl.MemoryInstruction, Text: "instruction"},
	}
	for list, want := range map[string]string{
		"Memory":       "learned learned-in-vain learned-by-the-root discovery error decision anti-pattern",
		"Learnings":    "learned",
		"Discoveries":  "discovery",
		"Errors":       "error",
		"Decisions":    "decision",
		"AntiPatterns": "anti-pattern",
		"Instructions": "instruction",
		"Other":        "learned learned-in-vain learned-by-the-root discovery error",
	} {
		got := rendered(t, "{{range ."+list+"}}{{.Text}} {{end}}", recipe.PromptData{Memory: entries})
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: got %q, want %q", list, got, want)
		}
	}
	if got := rendered(t, "{{range .Memory}}[{{.Number}}]{{end}}", recipe.PromptData{Memory: entries}); got != "[003][][][][][012][]\n" {
		t.Errorf("got numbers %q", got)
	}
}

// Feedback from a person is separate from objections, and feedback on an iteration is separate
// from messages to a running loop.
func TestRenderFeedback(t *testing.T) {
	data := recipe.PromptData{Feedback: []recipe.Feedback{
		{From: "tests", Verdict: "fail", Summary: "one fails", Evidence: "FAIL"},
		{From: "review", Verdict: "revise", Points: []string{"a gap", "a typo"}},
		{From: "lint", Verdict: "fail"},
		{From: "ann", Summary: "shorter", Person: true, Said: 2},
		{From: "bob", Evidence: "hello", Person: true},
	}}
	for text, want := range map[string]string{
		"{{range .Feedback}}{{.From}} {{end}}":               "tests review lint ann bob",
		"{{range .Objections}}{{.From}}: {{.Text}}; {{end}}": `tests: "one fails"; review: "a gap"; review: "a typo"; lint: fail;`,
		"{{range .Reports}}{{.From}} {{end}}":                "tests",
		"{{range .UserFeedback}}{{.N}} {{.Text}}{{end}}":     "2 ```\nshorter\n```",
		"{{range .Told}}{{.}}{{end}}":                        "```\nhello\n```",
	} {
		if got := strings.TrimSpace(rendered(t, text, data)); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// Attempts are listed once there are two. Attempts without a record are marked as unknown.
func TestRenderAttempts(t *testing.T) {
	const known = "attempt 1: it failed, attempt 2: so did this, attempt 3: and this"
	for _, c := range []struct {
		iteration     int
		history, want string
	}{
		{2, "attempt 1: it failed", ""},
		{3, "attempt 1: it failed, attempt 2: so did this", `Iteration 1 "it failed"; Iteration 2 "so did this";`},
		{4, known, `Iteration 1 "it failed"; Iteration 2 "so did this"; Iteration 3 "and this";`},
		{3, known, `Iteration 1 "it failed"; Iteration 2 "so did this";`},
		{3, "", `Iterations 1 to 2 "they are not known here";`},
		{3, "attempt 2: so did this", `Iteration 1 "it is not known here"; Iteration 2 "so did this";`},
		{3, "attempt 1: it failed", `Iteration 1 "it failed"; Iteration 2 "it is not known here";`},
		{6, "attempt 1: it failed, attempt 4: again", `Iteration 1 "it failed"; Iterations 2 to 3 "they are not known here"; Iteration 4 again; Iteration 5 "it is not known here";`},
		{3, "attempt 2: so did this, attempt 1: it failed, what is this", `Iteration 1 "it is not known here"; Iteration 2 "so did this";`},
	} {
		var history []string
		if c.history != "" {
			history = strings.Split(c.history, ", ")
		}
		got := rendered(t, "{{range .Attempts}}{{.Iterations}} {{.Text}}; {{end}}", recipe.PromptData{Iteration: c.iteration, History: history})
		if got = strings.TrimSpace(got); got != c.want {
			t.Errorf("iteration %d after %q:\n got %s\nwant %s", c.iteration, c.history, got, c.want)
		}
	}
}

// A fence is longer than any run of backticks in the text it holds.
func TestRenderFenceLength(t *testing.T) {
	for text, want := range map[string]string{
		"plain":       "```\nplain\n```",
		"``":          "```\n``\n```",
		"```":         "````\n```\n````",
		"a```b````c":  "`````\na```b````c\n`````",
		"`` ``` `":    "````\n`` ``` `\n````",
		"lines\n\n\n": "```\nlines\n```",
	} {
		if diff := cmp.Diff(want+"\n", rendered(t, "{{.Inputs.x}}", recipe.PromptData{Inputs: map[string]string{"x": text}})); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}

// A line is cut at 300 bytes, but never within a character.
func TestRenderLineLength(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x ", 150):             `"` + strings.Repeat("x ", 150) + `"`,
		strings.Repeat("x ", 150) + "y":       `"` + strings.Repeat("x ", 150) + `…"`,
		strings.Repeat("x", 299) + "ä" + "yz": `"` + strings.Repeat("x", 299) + `…"`,
		"a-word":                              "a-word",
	} {
		if got := strings.TrimSpace(rendered(t, "{{.Cause}}", recipe.PromptData{Cause: text})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Criteria are numbered. The user's are shown as written, and a task's are escaped.
func TestRenderCriteria(t *testing.T) {
	const text = "{{range .Criteria}}{{.N}} {{.ID}}: {{.Text}}\n{{end}}"
	data := recipe.PromptData{Criteria: []pawl.Criterion{{ID: "AC-001", Text: "# it\nworks"}, {ID: "AC-002", Text: "a | b"}}}
	if got := rendered(t, text, data); got != "1 AC-001: # it\nworks\n2 AC-002: a | b\n" {
		t.Errorf("the user's criteria: got %q", got)
	}
	data.Task = &pawl.TaskSpec{ID: "T"}
	if got := rendered(t, text, data); got != "1 AC-001: \\# it works\n2 AC-002: a \\| b\n" {
		t.Errorf("a task's criteria: got %q", got)
	}
}
