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
		"Plan":     {pawl.AskPlan, `{"subtasks":[{"id":"1","title":"Lay the ground"},{"id":"2","title":"Build"}]}`, nil, "a plan of 2 tasks: 1 Lay the ground, 2 Build"},
		"Health":   {pawl.AskHealth, `{"questions":["old?"],"subtasks":[{"id":"1","title":"x"}]}`, nil, "a plan of 1 task: 1 x"},
		"Blocked":  {pawl.AskBlocked, `{"summary":"it needs a key","blocker":"no key"}`, nil, "it needs a key"},
		"Text":     {pawl.AskMerge, "the diff\nand more", nil, "the diff"},
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
