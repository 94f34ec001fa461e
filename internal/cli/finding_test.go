package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli/answer"
	"pawl/internal/cli/diff"
	"pawl/internal/cli/inbox"
	"pawl/internal/project"
)

// foundBed is a run whose candidate has a policy path that a person is asked about.
func foundBed(t *testing.T) (*bed, *planned) {
	b, p := plannedBed(t)
	found := pawl.Finding{Kind: pawl.FindPolicy, Path: ".github/ci.yml", Text: "it configures what runs for everybody\x1b[2J", Print: 1, Detail: "-run: make test\n+run: true\u202e\n"}
	report, err := json.Marshal(pawl.EvidenceReport{Base: "ba5e", Commit: "c0ffee", Findings: []pawl.Finding{found},
		Paths: []pawl.ChangedPath{{Path: ".github/ci.yml", Class: pawl.ClassPolicy}, {Path: "parse.go", Class: pawl.ClassCode}}})
	if err != nil {
		t.Fatal(err)
	}
	h := pawl.HashOf(report)
	p.blobs[h] = report
	p.events[0].Body.(*pawl.RunStarted).Base = "ba5e"
	p.add(1, &pawl.Committed{Commit: "c0ffee", Tree: "t1", Files: 2})
	found.ID, found.Detail = "F-1", ""
	p.add(1, &pawl.FindingRaised{Finding: found, Evidence: h})
	p.add(1, &pawl.Examined{Findings: []string{"F-1"}, Evidence: h, Paths: []pawl.ClassCount{{Class: pawl.ClassPolicy, Count: 1}, {Class: pawl.ClassCode, Count: 1}}})
	p.add(1, &pawl.QuestionAsked{N: 2, Kind: pawl.AskFinding, Text: "1 finding: F-1 policy .github/ci.yml. Is this intended?", Choices: []string{"accept", "reject"},
		Means: []string{"the work passes with it", "the attempt fails, and the next one is told why"}, About: h})
	return b, p
}

// A question about findings is shown with what each has to look at, and answered as any other.
func TestFindingAsked(t *testing.T) {
	b, p := foundBed(t)
	if err := b.execute(t, answer.New(b.app), "7", "2"); err != nil {
		t.Fatal(err)
	}
	const want = `Run 007-parser, question 2 (finding): 1 finding: F-1 policy .github/ci.yml. Is this intended?

    F-1 policy path .github/ci.yml: it configures what runs for everybody
        -run: make test
        +run: true

`
	if got := b.out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "\n  choices accept, reject\n          accept: the work passes with it\n          reject: ") ||
		!strings.HasSuffix(got, "\n  answer  pawl answer 007-parser 2 CHOICE\n") {
		t.Errorf("got\n%s", got)
	}
	if err := b.execute(t, inbox.New(b.app, clock), "7"); err != nil {
		t.Fatal(err)
	}
	if want := "\n  found   F-1 policy path .github/ci.yml: it configures what runs for everybody\n"; !strings.Contains(b.out.String(), want) {
		t.Errorf("no %q in\n%s", want, b.out.String())
	}
	if err := b.execute(t, answer.New(b.app), "7", "2", "reject", "--text", "keep CI as it is"); err != nil {
		t.Fatal(err)
	}
	about := p.events[len(p.events)-1].Body.(*pawl.QuestionAsked).About
	if got := p.steered[0].Answer; got.Question != 2 || got.Choice != "reject" || got.Text != "keep CI as it is" || got.About != about {
		t.Errorf("got %+v", got)
	}
}

// Of a commit that was examined, diff says what each path is to the gates, beside the patch that can
// be applied as it is.
func TestDiffClasses(t *testing.T) {
	b, _ := foundBed(t)
	compare := func(_ context.Context, _ project.Project, from, to pawl.CommitHash, _ int, _ bool) ([]byte, int, error) {
		return []byte("the difference of " + from + " and " + to + "\n"), 0, nil
	}
	for args, want := range map[string]string{
		"7":        "the difference of ba5e and c0ffee\n",
		"7 --stat": "the difference of ba5e and c0ffee\n\nCLASS   PATH\ncode    parse.go\npolicy  .github/ci.yml\n",
	} {
		if err := b.execute(t, diff.New(b.app, compare), strings.Fields(args)...); err != nil {
			t.Fatal(err)
		}
		if got := b.out.String(); got != want {
			t.Errorf("%s: got\n%swant\n%s", args, got, want)
		}
	}
	b.app.JSON = true
	if err := b.execute(t, diff.New(b.app, compare), "7"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Paths []pawl.ChangedPath `json:"paths"`
	}
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || len(got.Paths) != 2 || got.Paths[1] != (pawl.ChangedPath{Path: ".github/ci.yml", Class: pawl.ClassPolicy}) {
		t.Errorf("%v: %s", err, b.out.String())
	}
}
