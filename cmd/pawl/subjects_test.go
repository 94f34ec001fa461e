//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// subject is a kind of run that is killed or meets faults. How it ends does not depend on the machine.
type subject struct {
	recipe string
	files  map[string]string
	script string
	args   []string
	begin  func(*victim, *testing.T)        // starts the run; nil = the first command does
	ending func(*victim, *testing.T) string // what must not depend on kills and faults
	sound  func(*victim, *testing.T)        // checks a run that has ended

	once sync.Mutex // held while there is the undisturbed run to make
	ref  *reference
}

// subjects has a kind of run for each recipe.
var subjects = sync.OnceValue(func() []*subject {
	quality := []string{"--require-green", "--gate", "tests=" + killGate}
	return []*subject{
		{recipe: "pawl", files: map[string]string{"README": "files\n"}, script: strings.Replace(killScript, "cat one.txt", bigOutput, 1),
			args: append([]string{"make the files"}, quality...), ending: (*victim).ending, sound: (*victim).nothingLost},
		{recipe: "taskloop", files: map[string]string{"README": "files\n"}, script: killScript,
			args: append([]string{"make the files"}, quality...), ending: (*victim).ending, sound: (*victim).nothingLost},
		{recipe: "pandora", files: map[string]string{"README": "a shop\n"}, script: partsScript,
			args: []string{"Implement cart, till and order", "--gate", "tests=test -e README"}, ending: (*victim).treeEnding, sound: (*victim).nothingLost},
		{recipe: "loom", files: shop, script: shopScript(resolves),
			args: []string{"List a cart and a till", "--parallel", "3", "--gate", "tests=" + fine}, ending: (*victim).treeEnding, sound: (*victim).treeSound},
		{recipe: "coherence", files: map[string]string{"README": "lists\n"}, script: listScript(),
			args: []string{"Five lists", "--parallel", "2", "--gate", "tests=test -e README"}, ending: (*victim).batchEnding, sound: (*victim).batchSound},
		{recipe: "loopr", files: map[string]string{"README": "parts\n", ".pawl/recipes/small.yaml": smallLoopr}, script: looprScript(),
			args: []string{"Two parts", "--gate", "tests=test -e README"}, begin: (*victim).approved, ending: (*victim).looprEnding, sound: (*victim).looprSound},
	}
})

// subjectOf returns the kind of run of a recipe.
func subjectOf(recipe string) *subject {
	all := subjects()
	return all[slices.IndexFunc(all, func(s *subject) bool { return s.recipe == recipe })]
}

// bigOutput prints what is stored as a file of its own.
const bigOutput = "head -c 50000 /dev/urandom | od -An -v -tx1; cat one.txt"

// partsScript plays Pandora on three tasks, of which the first is sent back once.
const partsScript = `
answers:
  - when: {step: plan}
    calls:
      - submit_tasks:
          decision: PANDORA_LOOP
          intent: edit
          mode: code
          reasoning: Three parts, of which the last needs the first.
          tasks:
            - {id: TASK-001, title: Add a cart, description: Write cart.txt, acceptance_criteria: [cart.txt is there], priority: 1, depends_on: []}
            - {id: TASK-002, title: Add a till, description: Write till.txt, acceptance_criteria: [till.txt is there], priority: 2, depends_on: []}
            - {id: TASK-003, title: Add an order, description: Write order.txt, acceptance_criteria: [order.txt is there], priority: 3, depends_on: [TASK-001]}
  - when: {step: decide, round: 1}
    calls: [{submit_next: {decision: EXECUTE, instructions: Write the file., reasoning: It is not there.}}]
  - when: {step: decide}
    calls: [{submit_next: {decision: COMPLETE, instructions: It is there.}}]
  - when: {step: execute, task: TASK-001, turn: 1}
    delay_ms: 4
    calls: [{read: {path: cart.txt}}]
  - when: {step: execute, task: TASK-001, turn: 2, last: error}
    calls: [{write: {path: cart.txt, content: "made\n"}}]
  - when: {step: execute, task: TASK-001, turn: 2}
    calls: [{write: {path: checked.txt, content: "made\n"}}]
  - when: {step: execute, task: TASK-002, turn: 1}
    calls: [{write: {path: till.txt, content: "made\n"}}]
  - when: {step: execute, task: TASK-003, turn: 1}
    calls: [{write: {path: order.txt, content: "made of a cart\n"}}]
  - when: {step: execute}
    calls: [{submit_result: {summary: It was written.}}]
  - when: {step: synthesis}
    calls: [{submit_summary: {summary: The file is there.}}]
  - when: {step: validation, task: TASK-001, turn: 1}
    calls: [{read: {path: checked.txt}}]
  - when: {step: validation, task: TASK-001, last: error}
    calls: [{submit_verdict: {decision: retry, criteria: [{id: AC-001, status: fail, evidence: [], gap: nobody checked it}], summary: Not checked., feedback: Check the cart.}}]
  - when: {step: validation}
    calls: [{submit_verdict: {decision: approve, criteria: [{id: AC-001, status: pass, evidence: [README]}], summary: Good., confidence: 90}}]
  - when: {step: learn}
    calls: [{submit_learnings: {entries: [{kind: learning, text: Parts are text files.}]}}]
  - when: {step: close}
    calls: [{submit_summary: {summary: All three are there.}}]
`

// victim makes a repository for a run of the kind.
func (s *subject) victim(t *testing.T) *victim {
	t.Helper()
	return s.victimAt(t, t.TempDir())
}

// victimAt makes the repository in a home.
func (s *subject) victimAt(t *testing.T, home string) *victim {
	t.Helper()
	recipe := s.recipe
	if recipe == "loopr" {
		recipe = "small"
	}
	return newVictimIn(t, pawlProgram(t), home, s.script, s.files, append(slices.Clone(s.args), "--recipe", recipe, "--unsandboxed")...)
}

// begun makes the repository in a home and starts the run, if its first command does not.
func (s *subject) begun(t *testing.T, home string) *victim {
	t.Helper()
	v := s.victimAt(t, home)
	if s.begin != nil {
		s.begin(v, t)
	}
	return v
}

// killing lets runs of the kind be killed.
func (s *subject) killing() killing {
	return killing{
		victim: func(t *testing.T) *victim { return s.begun(t, t.TempDir()) },
		ending: s.ending, sound: s.sound, undisturbed: s.undisturbed,
	}
}

// reference is a run that was not killed and met no fault.
type reference struct {
	*subject
	ended  *victim
	want   string // its ending
	events int
	lasts  time.Duration
}

// undisturbed returns a run of the kind that was not killed and met no fault. Tests share it. Its files
// are there until all tests have ended.
func (s *subject) undisturbed(t *testing.T) *reference {
	t.Helper()
	s.once.Lock()
	defer s.once.Unlock()
	if s.ref == nil {
		home, err := os.MkdirTemp(filepath.Dir(pawlProgram(t)), s.recipe) // testscript removes the folder
		if err != nil {
			t.Fatal(err)
		}
		s.ref = finished(t, s.begun(t, home), s.ending, s.sound)
		s.ref.subject = s
	}
	return s.ref
}

// taken is undisturbed for a test that changes the run: no other test shares it from now on.
func (s *subject) taken(t *testing.T) *reference {
	t.Helper()
	r := s.undisturbed(t)
	s.once.Lock()
	defer s.once.Unlock()
	if s.ref == r {
		s.ref = nil
	}
	return r
}

// finished lets a run come to its end, which must be sound.
func finished(t *testing.T, v *victim, ending func(*victim, *testing.T) string, sound func(*victim, *testing.T)) *reference {
	t.Helper()
	v.finish(t)
	r := &reference{ended: v, want: ending(v, t), events: len(v.events(t)), lasts: v.took}
	t.Logf("undisturbed, %d events in %s: %s", r.events, r.lasts.Round(time.Millisecond), r.want)
	sound(v, t)
	return r
}
