package view

import (
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/plain"
)

func TestGist(t *testing.T) { // V-77
	many := `{"questions":[` + strings.Repeat(`"why?",`, 40) + `"` + strings.Repeat("long ", 400) + `"]}`
	for name, c := range map[string]struct {
		kind  pawl.QuestionKind
		about string
		asks  []string
		brief string
	}{
		"Clarify":  {pawl.AskClarify, `{"questions":["Which case?","Which colour?"],"status":"NEEDS_CLARIFICATION","subtasks":[]}`, []string{"1. Which case?", "2. Which colour?"}, ""},
		"Escapes":  {pawl.AskClarify, `{"questions":["a\u001b[31m\nb"]}`, []string{"a b"}, ""},
		"Many":     {pawl.AskClarify, many, Gist{Asks: slices.Repeat([]string{"why?"}, 10)}.Lines(), ""},
		"Plan":     {pawl.AskPlan, `{"subtasks":[{"id":"1","title":"Lay the ground","scaffold":true},{"id":"2","title":"Build","depends_on":["1"]}]}`, []string{"1: Lay the ground (scaffold)", "2: Build, after 1"}, ""},
		"Health":   {pawl.AskHealth, `{"questions":["old?"],"subtasks":[{"id":"1","title":"x"}]}`, nil, "a plan of 1 task: 1 (x)"},
		"Blocked":  {pawl.AskBlocked, `{"summary":"it needs a key","blocker":"no key"}`, nil, "it needs a key"},
		"Text":     {pawl.AskStuck, "the diff\nand more", nil, "the diff"},
		"Paths":    {pawl.AskMerge, "a.go\nb.go", nil, ""},
		"Not JSON": {pawl.AskPlan, `{"subtasks":`, nil, ""},
		"A list":   {pawl.AskPlan, `[1]`, nil, ""},
		"Nothing":  {pawl.AskPlan, ``, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := Blobs(func(pawl.Hash) ([]byte, error) { return []byte(c.about), nil })
			got := blobs.Gist(&pawl.QuestionAsked{Kind: c.kind, About: pawl.HashOf([]byte(c.about))})
			if !slices.Equal(got.Lines(), c.asks) || got.Brief != c.brief {
				t.Errorf("got %q, %q", got.Lines(), got.Brief)
			}
			for _, s := range append(got.Asks, got.Brief) {
				if s != plain.Line(s, maxAsk) {
					t.Errorf("not a safe, bounded line: %q", s)
				}
			}
		})
	}
	if got := Blobs(nil).Gist(&pawl.QuestionAsked{}); got.Asks != nil || got.Brief != "" {
		t.Errorf("without blobs: %+v", got)
	}
}

// A run that nobody drives is not said to be at work, and what is to be done about
// it is said.
func TestUndriven(t *testing.T) {
	s := coherenceBack(t)
	r := fold(s.events[:len(s.events)/2])
	if r.Status != pawl.StatusRunning || len(r.OpenQuestions()) > 0 {
		t.Fatalf("the story is %s by then", r.Status)
	}
	if got := WhyText(r); !strings.Contains(got, " is running: ") || !strings.Contains(got, "Next: pawl logs -f ") {
		t.Error(got)
	}
	r.Undriven = true
	if got := WhyText(r); !strings.Contains(got, " is interrupted, no process drives it: ") || !strings.Contains(got, "Next: pawl resume ") {
		t.Error(got)
	}
	if got := Show(r, s.read); !strings.Contains(got, "interrupted: no process drives it\n") {
		t.Error(got)
	}
}

// Why a branch went back stands once.
func TestWhyBackOnce(t *testing.T) {
	s := coherenceBack(t)
	l := fold(s.events).root()
	h := &HealthVerdict{HealthJudged: pawl.HealthJudged{Batch: 3, Health: pawl.HealthRegressing, Reason: "fewer are approved"}, Seq: 5}
	l.Healths = []*HealthVerdict{h}
	l.Rollbacks = []*Rollback{{RollbackCalled: pawl.RollbackCalled{To: 1, Reason: "REGRESSING: fewer are approved"}, Seq: 6}}
	if got := l.backText(l.Rollbacks[0]); strings.Count(got, "REGRESSING") != 1 || !l.followed(h) {
		t.Error(got)
	}
	l.Rollbacks[0].Reason, l.Rollbacks[0].By = "the wrong shelf", "ada"
	if got := l.backText(l.Rollbacks[0]); !strings.HasPrefix(got, "ada is going back to") || l.followed(h) {
		t.Error(got)
	}
}
