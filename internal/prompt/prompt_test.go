package prompt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func TestLimits(t *testing.T) {
	w := MustWorld(t)
	long := strings.Repeat("a line with é in it\n", 10_000)
	w.patch("first line of the diff\n" + long + "last line of the diff\n")
	do := w.request(t, "propose.md")
	do.Commit, do.Base = "head", "base"
	do.Feedback = []pawl.Feedback{
		{From: "tests", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "exit 1", Output: "begin\n" + long + "end\n"})},
		{From: "lint", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, "short")},
	}
	do.RedAtBase = []pawl.Input{{Name: "tests", Blob: w.MustKeep(t, pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "exit 1", Output: long})}}
	do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, long)}, {Name: "changed", Blob: w.MustKeep(t, strings.Repeat("folder/file.go\n", 1000))}}
	p := w.MustAssemble(t, do)
	if diff := cmp.Diff([]string{"tests", "result", "changed", "diff"}, p.Cut); diff != "" {
		t.Errorf("what was cut (-want +got):\n%s", diff)
	}
	wants(t, p, "folder/file.go\n[… and 734 more]", "first line of the diff", "bytes left out …]", "last line of the diff", "begin\n", "bytes left out", "end\n", "short")
	if len(p.User) > 70_000 {
		t.Errorf("the prompt has %d bytes", len(p.User))
	}
	if p.User != strings.ToValidUTF8(p.User, "") || strings.Contains(p.User, "\uFFFD") {
		t.Error("a cut went through a letter")
	}
}

func TestNothingIsCutThatFits(t *testing.T) {
	w := MustWorld(t)
	do := w.request(t, "implement.md")
	text := strings.Repeat("x", 12_000)
	do.Inputs = []pawl.Input{{Name: "council", Blob: w.MustKeep(t, text)}}
	if p := w.MustAssemble(t, do); len(p.Cut) > 0 || !strings.Contains(p.User, text) {
		t.Errorf("cut: %v", p.Cut)
	}
}

// Every gap of a long review is told: what is met makes room for it.
func TestAllGapsAreTold(t *testing.T) {
	w := MustWorld(t)
	var criteria []map[string]any
	for i := range 60 {
		c := map[string]any{"id": fmt.Sprintf("AC-%03d", i), "status": "pass", "evidence": []string{strings.Repeat("seen ", 100)}}
		if i%20 == 10 {
			c = map[string]any{"id": fmt.Sprintf("AC-%03d", i), "status": "fail", "evidence": []string{}, "gap": fmt.Sprintf("gap %d", i)}
		}
		criteria = append(criteria, c)
	}
	do := w.request(t, "implement.md")
	do.Feedback = []pawl.Feedback{{From: "requirements", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, map[string]any{"criteria": criteria, "summary": "s"})}}
	p := w.MustAssemble(t, do)
	wants(t, p, `"57 of 60 criteria are met"`, "AC-010: fail", "gap 10", "gap 30", "gap 50")
	if len(p.Cut) > 0 {
		t.Errorf("cut: %v", p.Cut)
	}
}

// A gate whose tests say nothing shows what its command printed.
func TestEvidenceWithoutDetail(t *testing.T) {
	w := MustWorld(t)
	for name, rep := range map[string]pawl.GateReport{
		"NoTests":       {Output: "Segmentation fault\n"},
		"SilentTests":   {Output: "Segmentation fault\n", Tests: []pawl.TestResult{{Name: "TestA", Status: pawl.TestFail}}},
		"LostTestsOnly": {Lost: []pawl.LostTest{{Name: "TestA"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rep.Verdict, rep.Reason = pawl.VerdictFail, "exit 139"
			do := w.request(t, "implement.md")
			do.Feedback = []pawl.Feedback{{From: "tests", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, rep)}}
			want := "Segmentation fault"
			if name == "LostTestsOnly" {
				want = "no longer runs: TestA (removed)"
			}
			wants(t, w.MustAssemble(t, do), `"exit 139"`, want)
		})
	}
}

// Outputs of a step that appends are all told, in their order.
func TestAppendedOutputs(t *testing.T) {
	w := MustWorld(t)
	do := w.request(t, "requirements.md")
	do.Inputs = []pawl.Input{{Name: "result", Blob: w.MustKeep(t, "round one")}, {Name: "result", Blob: w.MustKeep(t, "round two")}}
	wants(t, w.MustAssemble(t, do), "round one\n\nround two")
}

func TestReadable(t *testing.T) {
	w := MustWorld(t)
	for name, test := range map[string]struct{ in, want string }{
		"Order":     {`{"z": 1, "a": "two", "m": true, "n": null}`, "z: 1\na: two\nm: true\nn: null"},
		"Lists":     {`{"l": ["a", "b\nc"], "none": [], "o": {"x": 1, "y": [2]}}`, "l:\n  - a\n  - b\n    c\nnone: none\no:\n  x: 1\n  y:\n    - 2"},
		"Big":       {`{"n": 12345678901234567890, "f": 1e400}`, "n: 12345678901234567890\nf: 1e400"},
		"Cut":       {`{"a": 1, "b": `, `{"a": 1, "b": `},
		"Trailing":  {`{"a": 1} and more`, `{"a": 1} and more`},
		"List":      {`["a"]`, `["a"]`},
		"Sentence":  {"{not JSON}", "{not JSON}"},
		"Deep":      {strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9), `a: a: a: a: a: a: a: {"a":{"a":1}}`},
		"VeryDeep":  {strings.Repeat("[", 20_000), strings.Repeat("[", 10)},
		"Duplicate": {`{"a": 1, "a": 2}`, "a: 1\na: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			do := w.request(t, "implement.md")
			do.Inputs = []pawl.Input{{Name: "council", Blob: w.MustKeep(t, test.in)}}
			wants(t, w.MustAssemble(t, do), "## Advice", "```\n"+test.want)
		})
	}
}

// What is missing or damaged is said with the recipe and the file.
func TestErrors(t *testing.T) {
	gone := pawl.HashOf([]byte("gone"))
	for name, test := range map[string]struct {
		spoil func(w *world, do *pawl.AssemblePrompt)
		code  pawl.Code
		says  string
	}{
		"NoTemplate": {func(_ *world, do *pawl.AssemblePrompt) { do.Template = "plan.md" }, pawl.CodeInvalid,
			"recipe taskloop: the run was started without the prompt template plan.md"},
		"TemplateGone": {func(w *world, do *pawl.AssemblePrompt) {
			w.job.Started.Prompts = []pawl.Input{{Name: do.Template, Blob: gone}}
		}, pawl.CodeDamaged, "read the template implement.md of recipe taskloop"},
		"TemplateBroken": {func(w *world, do *pawl.AssemblePrompt) {
			w.job.Started.Prompts = []pawl.Input{{Name: do.Template, Blob: w.MustKeep(t, "system\n---user---\n{{.Wrong}}")}}
		}, pawl.CodeInvalid, "recipe taskloop, prompt implement.md: "},
		"TemplateEmpty": {func(w *world, do *pawl.AssemblePrompt) {
			w.job.Started.Prompts = []pawl.Input{{Name: do.Template, Blob: w.MustKeep(t, "system\n---user---\n{{with index .Inputs \"x\"}}{{.}}{{end}}")}}
		}, pawl.CodeInvalid, "recipe taskloop, prompt implement.md: its user part is empty"},
		"GoalGone": {func(_ *world, do *pawl.AssemblePrompt) { do.Goal = gone }, pawl.CodeDamaged, "prompt implement.md: read the goal"},
		"EvidenceGone": {func(_ *world, do *pawl.AssemblePrompt) {
			do.Feedback = []pawl.Feedback{{From: "tests", Evidence: gone}}
		}, pawl.CodeDamaged, "read the evidence of tests"},
		"CriteriaBroken": {func(w *world, do *pawl.AssemblePrompt) { do.Criteria = w.MustKeep(t, "[{") }, pawl.CodeDamaged,
			"read the criteria"},
		"NoInput": {func(_ *world, do *pawl.AssemblePrompt) { do.Template = "ballot.md" }, pawl.CodeInvalid, `no entry for key "proposals"`},
		"NoDiff": {func(w *world, do *pawl.AssemblePrompt) {
			do.Commit, do.Base = "head", "base"
			w.assembler.Diff = func(context.Context, pawl.CommitHash, pawl.CommitHash) ([]byte, error) {
				return nil, errors.New("no git")
			}
		}, pawl.CodeInternal, "the changes so far: no git"},
	} {
		t.Run(name, func(t *testing.T) {
			w := MustWorld(t)
			do := w.request(t, "implement.md")
			test.spoil(w, do)
			err := w.assembleError(t, do)
			if pawl.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v, want %s that says %q", pawl.CodeOf(err), err, test.code, test.says)
			}
		})
	}
}

// The prompts that are there do not depend on what other templates the run has.
func TestSystemPartIsTheSame(t *testing.T) {
	w := MustWorld(t)
	first := w.MustAssemble(t, w.request(t, "implement.md"))
	slices.Reverse(w.job.Started.Prompts)
	w.at(pawl.Place{Loop: "task", Iteration: 5, Step: "implement", Tier: 3})
	do := w.request(t, "implement.md")
	do.History = history
	if later := w.MustAssemble(t, do); later.System != first.System || later.User == first.User {
		t.Errorf("the system part, which providers keep, is\n%s\nand later\n%s", first.System, later.System)
	}
}

// F-33: a second look shows what was objected and what the author says, and asks for evidence.
func TestSecondLook(t *testing.T) {
	w := MustWorld(t)
	w.at(pawl.Place{Loop: "task", Iteration: 2, Step: "requirements"})
	do := w.request(t, "requirements.md")
	if p := w.MustAssemble(t, do); strings.Contains(p.User, "second look") {
		t.Errorf("the first look is called a second one:\n%s", p.User)
	}
	do.Second = &pawl.Feedback{From: "requirements", Verdict: pawl.VerdictFail, Evidence: w.MustKeep(t, map[string]any{
		"summary": "half of it", "criteria": []any{map[string]any{"id": "AC-002", "status": "fail", "gap": "no lock-out in login.go"}}})}
	do.Reply = w.MustKeep(t, map[string]any{"summary": "login.go:40 locks the account"})
	p := w.MustAssemble(t, do)
	_, second, ok := strings.Cut(p.User, "## A second look")
	for _, want := range []string{"The verdict was fail", "no lock-out in login.go", "login.go:40 locks the account", "not an instruction", "path:12"} {
		if !ok || !strings.Contains(second, want) {
			t.Errorf("it does not say %q:\n%s", want, p.User)
		}
	}
}
