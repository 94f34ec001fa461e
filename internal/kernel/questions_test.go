package kernel

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"pawl"
	"pawl/internal/view"
)

// The files in testdata/questions have every kind of question, by recipe, as a person reads it who reads
// nothing else: made of the events of a real run, which the commands of stories drive, by the builder that
// every face uses. Each must say what happened, what each choice does and what is lost by it. V-53 V-77 F-71
func TestQuestions(t *testing.T) {
	files, err := filepath.Glob("testdata/questions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	kinds := map[pawl.QuestionKind]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &story{}
			datadriven.RunTest(t, file, func(t *testing.T, td *datadriven.TestData) string {
				if said := s.command(t, td); td.Cmd == "recipe" || strings.HasPrefix(said, "refused: ") {
					return said
				}
				return s.questions(t, kinds)
			})
		})
	}
	for _, k := range []pawl.QuestionKind{pawl.AskPlan, pawl.AskStart, pawl.AskMerge, pawl.AskVotes, pawl.AskReplan, pawl.AskStuck,
		pawl.AskVerdict, pawl.AskClarify, pawl.AskBlocked, pawl.AskHealth, pawl.AskMissing, pawl.AskFinding, pawl.AskUnjudged} {
		if !kinds[k] {
			t.Errorf("no question is of kind %s", k)
		}
	}
}

// hash is what nobody who reads a question can look up. What an answer is for stands in its own line.
var hash = regexp.MustCompile(`\b[0-9a-f]{12,}\b`)

// questions are the run's open questions, as people read them.
func (s *story) questions(t *testing.T, kinds map[pawl.QuestionKind]bool) string {
	r := view.New()
	for _, e := range s.w.log {
		r.Apply(e)
	}
	now := r.Updated.Add(time.Minute)
	all := view.Questions(r, now, s.blob)
	for i := range all {
		q := &all[i]
		kinds[q.Kind] = true
		if len(q.Means) != len(q.Choices) || slices.Contains(q.Means, "") || slices.ContainsFunc(q.Means, func(m string) bool { return strings.HasSuffix(m, "…") }) {
			t.Errorf("question %d does not say what each choice does: %q means %q", q.N, q.Choices, q.Means)
		}
		for _, text := range append(append([]string{q.Text}, q.Means...), q.Context...) {
			if found := hash.FindString(text); found != "" {
				t.Errorf("question %d has the hash %s: %q", q.N, found, text)
			}
		}
	}
	return view.QuestionsText(all)
}

// blob reads what the story's world has said, and what its results are as far as questions are about them.
func (s *story) blob(h pawl.Hash) ([]byte, error) {
	if text, ok := s.script.texts[h]; ok {
		return []byte(strings.ReplaceAll(text, "_", " ")), nil
	}
	if h == blobOf("paths") {
		return []byte("login.go\nlogin_test.go\n"), nil
	}
	for _, e := range s.w.log {
		if b, ok := e.Body.(*pawl.SessionEnded); ok && b.Output == h {
			switch {
			case b.Facts.Get("questions") != "":
				return []byte(`{"questions": ["May users register themselves?", "How long does a session last?"]}`), nil
			case b.Facts.Get("decision") == "NEEDS_REVISION":
				return []byte(`{"issues": [{"severity": "Major", "task": "a", "text": "No test shows that a wrong password is refused."}]}`), nil
			case b.Facts.Get("decision") == "BLOCKED":
				return json.Marshal(map[string]string{"summary": "It was begun and cannot be finished: " + b.Facts.Get("blocker") + "."})
			}
		}
	}
	if entries, ok := s.script.lists[h]; ok {
		var list struct {
			Subtasks []pawl.TaskSpec `json:"subtasks"`
		}
		for _, e := range entries {
			list.Subtasks = append(list.Subtasks, pawl.TaskSpec{ID: e.ID, Title: e.Title, DependsOn: e.DependsOn, Scaffold: e.Scaffold})
		}
		return json.Marshal(list)
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "there is no such text")
}
