package loopfolder

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/view"
)

const run pawl.RunID = "001-add-login"

// story is a run's events, made by hand.
type story struct {
	tb     testing.TB
	events []pawl.Event
	blobs  map[pawl.Hash][]byte
}

func (s *story) add(loop pawl.LoopRef, body pawl.Body) pawl.Seq {
	seq := pawl.Seq(len(s.events) + 1)
	s.events = append(s.events, pawl.Event{Run: run, Seq: seq, Loop: loop, Time: time.UnixMilli(1738300800123).UTC().Add(time.Duration(seq) * time.Second), Body: body})
	return seq
}

func (s *story) blob(text string) pawl.Hash {
	h := pawl.HashOf([]byte(text))
	s.blobs[h] = []byte(text)
	return h
}

func (s *story) read(h pawl.Hash) ([]byte, error) {
	if b, ok := s.blobs[h]; ok {
		return b, nil
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "no blob %s", h.Short())
}

func (s *story) all(yield func(pawl.Event, error) bool) {
	for _, e := range s.events {
		if !yield(e, nil) {
			return
		}
	}
}

// step is a session that calls a tool and hands something in.
func (s *story) step(loop pawl.LoopRef, n int, kind, output string) {
	place := pawl.Place{Loop: kind, Iteration: 1, Step: "draft"}
	s.add(loop, &pawl.SessionStarted{Session: n, Purpose: pawl.ForStep, Place: place, Try: 1})
	ask := s.add(loop, &pawl.EffectRequested{Effect: pawl.Effect{Session: n, Place: place, Do: &pawl.AssemblePrompt{Template: kind + ".md"}}})
	s.add(loop, &pawl.PromptAssembled{Effect: ask, System: s.blob("You are careful."), Prompt: s.blob(fmt.Sprintf("Write a %s, session %d.", kind, n))})
	ask = s.add(loop, &pawl.EffectRequested{Effect: pawl.Effect{Session: n, Place: place, Do: &pawl.CallModel{Try: 1}}})
	s.add(loop, &pawl.ModelReplied{Effect: ask, Model: "sonnet", Text: s.blob("I look \x1b[31mfirst."), Calls: []pawl.ToolUse{{Tool: "run", Args: s.blob(`{"command":"ls"}`)}}, Usage: pawl.Usage{Output: 7}})
	ask = s.add(loop, &pawl.EffectRequested{Effect: pawl.Effect{Session: n, Place: place, Do: &pawl.CallTool{Tool: "run", Args: s.blob(`{"command":"ls"}`)}}})
	s.add(loop, &pawl.ToolReturned{Effect: ask, Output: s.blob("main.go\n"), Bytes: 8, IsError: n%2 == 0})
	s.add(loop, &pawl.SessionEnded{Session: n, Result: pawl.SessionDone, Output: s.blob(output)})
}

const aPlan = `{"title":"Login","overview":"A login.","specs":[{"name":"auth","title":"Who is it","description":"Login with a password."}]}`

// grown is a run whose plan failed once, was accepted, had one spec and began anew.
func grown(tb testing.TB) *story {
	s := &story{tb: tb, blobs: map[pawl.Hash][]byte{}}
	recipe, err := json.Marshal(pawl.Recipe{Name: "loopr", Start: "plan", Kinds: []pawl.LoopKind{
		{Name: "plan", Steps: []pawl.Step{{Name: "draft", Prompt: "plan.md", Output: "create_plan"}}, Children: &pawl.Children{From: "draft", Kind: "spec", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
		{Name: "spec", Steps: []pawl.Step{{Name: "draft", Prompt: "spec.md", Output: "create_spec"}}, Children: &pawl.Children{From: "draft", Kind: "phase", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	s.add(0, &pawl.RunStarted{Task: 1, Title: "Add login", Goal: s.blob("Add login"), Recipe: recipe, Settings: pawl.JSON("{}")})
	s.add(1, &pawl.LoopStarted{ID: "1738300800123-a1b2", Kind: "plan"})
	s.add(1, &pawl.IterationStarted{N: 1, Max: 50, Tier: 2})
	s.step(1, 1, "plan", `{"title":"not yet a plan"}`)
	s.add(1, &pawl.GateJudged{Gate: "plan-review", Verdict: pawl.VerdictFail, Reason: "no specs", Evidence: s.blob("There is nothing to work on.")})
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 2, Decision: pawl.DecideIterate, Reason: "the review failed", Errors: []string{"no specs"}})
	s.add(1, &pawl.IterationStarted{N: 2, Max: 50, Tier: 2})
	s.step(1, 2, "plan", aPlan)
	s.add(1, &pawl.TasksListed{Entries: []pawl.TaskEntry{{ID: "auth", Title: "Who is it", Spec: s.blob(`{"id":"auth"}`)}}})
	s.add(1, &pawl.TasksRead{Count: 1})
	s.add(1, &pawl.PlanAccepted{Version: 1, Count: 1, List: s.blob(aPlan)})
	s.add(2, &pawl.LoopStarted{ID: "1738300900123-c3d4", Kind: "spec", Parent: 1, Task: "auth", Entry: 1, Pending: true, ParentIteration: 2, ParentGeneration: 1})
	s.add(2, &pawl.LoopAdmitted{Score: 60})
	s.add(2, &pawl.IterationStarted{N: 1, Max: 30, Tier: 2})
	s.step(2, 1, "spec", `{}`)
	s.add(1, &pawl.IterationEnded{N: 2, Tier: 2, Decision: pawl.DecideIterate, Reason: "auth failed"})
	s.add(2, &pawl.LoopEnded{Outcome: pawl.OutcomeInvalid, Reason: "its parent began anew"})
	s.add(2, &pawl.Invalidated{By: 1, Generation: 1, Reason: "its parent began anew"})
	s.add(2, &pawl.Archived{Reason: "its parent began anew"})
	s.add(1, &pawl.GenerationStarted{N: 2, Reason: "auth failed", Branch: "pawl/001-add-login.g2"})
	s.add(1, &pawl.IterationStarted{N: 3, Max: 50, Tier: 2})
	return s
}

// files are all files below a folder with what they say, links with where they lead.
func files(tb testing.TB, dir string) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil || d.IsDir():
			return err
		case d.Type() == fs.ModeSymlink:
			to, err := os.Readlink(path)
			out[name] = "→ " + to
			return err
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Each loop's folder has the files of its iterations.
func TestFolders(t *testing.T) {
	s, dir := grown(t), t.TempDir()
	if err := Rebuild(dir, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	const plan, spec = "loops/1738300800123-a1b2/", "archive/1738300900123-c3d4/"
	for name, want := range map[string]string{
		plan + "current":                            "→ iterations/003",
		plan + "iterations/001/validation.log":      "plan-review: FAIL: no specs\n    There is nothing to work on.\niterate: the review failed\n- no specs\n",
		plan + "iterations/001/prompt.md":           "<!-- session 1: plan/1/draft -->\n\nYou are careful.\n\n<!-- prompt -->\n\nWrite a plan, session 1.\n\n",
		plan + "iterations/001/artifacts/plan.json": `{"title":"not yet a plan"}`,
		plan + "iterations/002/artifacts/plan.json": aPlan,
		plan + "stdout.log":                         "==> 2025-01-31T05:20:10Z iteration 001 run {\"command\":\"ls\"}\nmain.go\n",
		plan + "stderr.log":                         "==> 2025-01-31T05:20:21Z iteration 002 run {\"command\":\"ls\"}\nmain.go\n",
		spec + "current":                            "→ iterations/001",
		spec + "iterations/001/artifacts/spec.json": "{}",
		plan + "iterations/002/artifacts/plan.md":   "*",
		plan + "iterations/002/conversation.jsonl":  "*",
		spec + "iterations/001/conversation.jsonl":  "*",
		spec + "loop.json":                          "*", // R-57 R-67 R-B24
		"loops/.written/001-add-login.json":         fmt.Sprintf("{\"seq\":%d}\n", len(s.events)),
	} {
		text, there := got[name]
		if !there || want != "*" && text != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	if md := got[plan+"iterations/002/artifacts/plan.md"]; !strings.HasPrefix(md, "# Plan: Login\n") {
		t.Errorf("plan.md is %q", md)
	}
	if _, there := got[plan+"iterations/001/artifacts/plan.md"]; there {
		t.Error("what is no plan has a plan.md")
	}
	said := strings.Split(got[plan+"iterations/002/conversation.jsonl"], "\n")
	if len(said) != 4 || !strings.Contains(said[0], `"role":"assistant","model":"sonnet","text":"I look first."`) || !strings.Contains(said[0], `"tool":"run"`) || !strings.Contains(said[1], `"text":"main.go\n"`) {
		t.Errorf("the conversation is %q", said)
	}
	for name := range got {
		if strings.HasPrefix(name, "loops/1738300900123-c3d4/") || strings.HasSuffix(name, unfinished) {
			t.Errorf("%s is there", name)
		}
	}
	var rec view.Record
	if err := json.Unmarshal([]byte(got[spec+"loop.json"]), &rec); err != nil || rec.Status != pawl.LoopInvalidated || rec.InputArtifact != plan+"iterations/002/artifacts/plan.md" {
		t.Errorf("the record is %+v, %v", rec, err)
	}
	if _, there := got[rec.InputArtifact]; !there { // R-B31
		t.Errorf("%s is not there", rec.InputArtifact)
	}
}

// Wherever the process dies, the next writer leaves the same files behind, and does
// not write those again that are there. R-62
func TestAfterACrash(t *testing.T) {
	s := grown(t)
	whole := t.TempDir()
	if err := Rebuild(whole, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	want := files(t, whole)
	for at := 0; at < len(s.events); at += 3 {
		dir := t.TempDir()
		w, err := Open(dir, run, s.read)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(s.events[:at]...); err != nil {
			t.Fatal(err)
		} // and dies
		w, err = Open(dir, run, s.read)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(s.events...); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, files(t, dir)); diff != "" {
			t.Fatalf("dead before event %d: %s", at+1, diff)
		}
	}

	w, err := Open(whole, run, func(h pawl.Hash) ([]byte, error) {
		t.Errorf("blob %s is read again", h.Short())
		return s.read(h)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(s.events...); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
}

// No id leads out of the folder, and no loop of another run is written over.
func TestIDsAreNamesOnly(t *testing.T) {
	for _, id := range []string{"../../evil", "a/b", "", ".written", "..", "x\x00y", strings.Repeat("a", 200)} {
		s, dir := grown(t), t.TempDir()
		state := filepath.Join(dir, "state")
		if err := os.Mkdir(state, 0o700); err != nil {
			t.Fatal(err)
		}
		s.events[1].Body = &pawl.LoopStarted{ID: id, Kind: "plan"}
		if err := Rebuild(state, run, s.all, s.read); err == nil {
			t.Errorf("id %q: no error", id)
		}
		for name := range files(t, dir) {
			if !strings.HasPrefix(name, "state/loops/.written/") && !strings.HasPrefix(name, "state/archive/1738300900123-c3d4/") {
				t.Errorf("id %q: %s is there", id, name)
			}
		}
	}
	s, dir := grown(t), t.TempDir()
	other := filepath.Join(dir, "loops", "1738300800123-a1b2")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "loop.json"), []byte(`{"run":"002-other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rebuild(dir, run, s.all, s.read); err == nil || len(files(t, other)) != 1 {
		t.Errorf("another run's folder: error %v, %d files", err, len(files(t, other)))
	}
	linked, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(linked, "archive")); err != nil {
		t.Fatal(err)
	}
	if err := Rebuild(linked, run, s.all, s.read); err == nil || len(files(t, outside)) != 0 {
		t.Errorf("a link out of the folder is followed: %v", err)
	}
}

// What is too much is cut, and says so.
func TestSizes(t *testing.T) {
	s, dir := grown(t), t.TempDir()
	long := strings.Repeat("x", MaxText+1)
	var ask pawl.Seq
	for range 2 * MaxAggregate / MaxText {
		ask = s.add(1, &pawl.EffectRequested{Effect: pawl.Effect{Do: &pawl.CallTool{Tool: "run"}}})
		s.add(1, &pawl.ToolReturned{Effect: ask, Output: s.blob(long), Bytes: int64(len(long))})
	}
	if err := Rebuild(dir, run, s.all, s.read); err != nil {
		t.Fatal(err)
	}
	out := files(t, dir)["loops/1738300800123-a1b2/stdout.log"]
	if len(out) > MaxAggregate+MaxText || !strings.HasPrefix(out, "[what was before is left out") || !strings.Contains(out, "[the rest is left out]") {
		t.Errorf("stdout.log has %d bytes and begins with %.80s", len(out), out)
	}
}
