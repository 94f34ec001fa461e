//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
)

const instructed = `
answers:
  - when: {step: assess}
    calls: [{submit_assessment: {files: 1, lines: 1, new_dependencies: 0, type: implementation, risks: [], why: one line}}]
  - when: {step: implement, turn: 1, iteration: 1}
    calls: [{write: {path: AGENTS.md, content: "EDITED by the agent.\n"}}, {write: {path: web/AGENTS.md, content: "EDITED too.\n"}}]
  - when: {step: implement, turn: 1}
    calls: [{write: {path: hello.txt, content: "hello\n"}}]
  - when: {step: implement}
    calls: [{submit_result: {summary: it greets}}]
  - when: {role: proposal}
    calls: [{submit_proposal: {diagnosis: no file, confidence: 90, evidence: [hello.txt], fix_location: hello.txt, fix_approach: write it}}]
  - when: {role: ballot}
    calls: [{submit_ballot: {ranking: [A, B, C, D, E], why: they are alike}}]
  - when: {step: requirements}
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [hello.txt]}], summary: it greets}}]
`

// Every session of every role is shown what the repository tells, as the commit has
// it that the run started from: neither what the user is changing in the checkout nor what
// an agent changes in the worktree.
func TestEveryRoleIsShownTheInstructions(t *testing.T) {
	t.Parallel()
	v := newVictim(t, pawlProgram(t), instructed, map[string]string{"AGENTS.md": "COMMITTED rules.\na-secret-that-was-committed\n", "web/CLAUDE.md": "See @style.md.\n", "web/style.md": "COMMITTED style.\n",
		".pawl/config.yaml": "gates: [{name: tests, kind: tests, command: test -e hello.txt, require_green: true}]\n"},
		"Greet", "--recipe", "taskloop", "--council", "--unsandboxed", "--allow-path", "AGENTS.md", "--allow-path", "web")
	mustWrite(t, filepath.Join(v.repo, "AGENTS.md"), "CHECKOUT, not committed.\n")
	v.env = append(v.env, "SHOP_API_KEY=a-secret-that-was-committed")
	v.finish(t)
	if s := v.state(t); s.Outcome != pawl.OutcomeComplete {
		t.Fatalf("%s: %s\n%s", s.Outcome, s.Reason, v.out.String())
	}
	roles := map[string]int{}
	places := map[pawl.Seq]pawl.Place{}
	for _, e := range v.events(t) {
		switch b := e.Body.(type) {
		case *pawl.RunStarted:
			for _, f := range b.Instructions {
				if text := v.blob(t, f.Blob); strings.Contains(text, "a-secret") {
					t.Errorf("%s is stored as %q", f.Path, text)
				}
			}
		case *pawl.EffectRequested:
			places[b.Effect.ID] = b.Effect.Place
		case *pawl.PromptAssembled:
			place := places[b.Effect]
			roles[place.Role]++
			prompt := v.blob(t, b.Prompt)
			// The change that a session is shown is a candidate's, as its diff says.
			told, _, _ := strings.Cut(prompt, "\n# Task")
			for _, want := range []string{`## "AGENTS.md", for the whole repository`, "```\nCOMMITTED rules.\n[redacted:SHOP_API_KEY]\n```", `## "web/CLAUDE.md", for the files below web`, "```\nCOMMITTED style.\n```"} {
				if !strings.Contains(told, want) {
					t.Errorf("%s in iteration %d is not shown %q:\n%s", place.Role, place.Iteration, want, prompt)
				}
			}
			if b.Bytes < int64(len(prompt)) {
				t.Errorf("the budget counts %d bytes of a prompt of %d", b.Bytes, len(prompt))
			}
			if strings.Contains(told, "EDITED") || strings.Contains(prompt, "CHECKOUT") {
				t.Errorf("%s in iteration %d is shown what is not committed:\n%s", place.Role, place.Iteration, prompt)
			}
		}
	}
	var all []string
	for role := range roles {
		all = append(all, role)
	}
	slices.Sort(all)
	if want := []string{"assess", "ballot", "implementation", "proposal", "requirements-validator"}; !slices.Equal(all, want) || roles["implementation"] < 2 || roles["proposal"] < 2 {
		t.Errorf("there were sessions of %v, want some of %v", roles, want)
	}
}
