//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
)

// oddFiles are commands that make files that git cannot or must not hold, and a list that
// it can.
const oddFiles = `echo a >a.txt
printf x >'.git '
printf x >'git~1'
printf x >"$(printf '.g\342\200\214it')"
mkdir odd
printf x >"$(printf 'odd/two\nlines')"
printf x >"$(printf 'odd/\033[31mred')"
printf x >"$(printf 'odd/\377\376')"
mkdir "$(printf 'odd/folder\376')"
printf x >"$(printf 'odd/folder\376/in')"
printf x >"odd/-rf"
echo '*.wide working-tree-encoding=UTF-16' >.gitattributes
printf xyz >odd.wide
mkfifo pipe
mkdir nested; cd nested; git init -q; printf x >inner; cd ..`

const manyFiles = `mkdir many; cd many; seq 1 100000 | xargs touch`

// An agent's commands leave a huge sparse file, very many files and odd names: the next prompt
// names them with reasons, and once they are gone the run is complete, with what git can hold.
// F-03 F-10
func TestRunWithOddFiles(t *testing.T) {
	for name, flags := range map[string][]string{"Rooms": nil, "Unsandboxed": {"--unsandboxed"}} {
		t.Run(name, func(t *testing.T) {
			if _, err := sandbox.Probe(t.Context()); name == "Rooms" && err != nil {
				t.Skipf("commands cannot be confined here: %v", err)
			}
			if runtime.GOOS != "linux" {
				t.Skip("other systems refuse some of the names")
			}
			t.Parallel()
			calls := []string{runCall(t, "truncate -s 200G big"), runCall(t, "truncate -s 9G sparse"), runCall(t, oddFiles)}
			if !testing.Short() {
				calls = append(calls, runCall(t, manyFiles))
			}
			script := attempts(calls, []string{runCall(t, "rm -rf many")},
				[]string{runCall(t, `rm -rf big sparse .g*it git~1 '.git ' pipe nested odd.wide .gitattributes`)})
			v := newVictim(t, pawlProgram(t), script,
				map[string]string{"README": "a list\n"}, append([]string{"A list", "--recipe", "taskloop", "--require-green", "--gate", "tests=test -e a.txt"}, flags...)...)
			v.finish(t)
			var reports []string
			var met []pawl.Resource
			outcome := pawl.Outcome("")
			for _, e := range v.events(t) {
				switch b := e.Body.(type) {
				case *pawl.ToolReturned:
					for _, m := range b.Met {
						met = append(met, m.Resource)
					}
				case *pawl.Committed:
					if len(b.LeftOut) > 0 {
						reports = append(reports, v.blob(t, b.Report))
					}
				case *pawl.RunEnded:
					outcome = b.Outcome
				}
			}
			if outcome != pawl.OutcomeComplete {
				t.Errorf("it ended %s\n%s", outcome, v.out.String())
			}
			// 200 GB are too much where commands are confined, which they are if they can be.
			if _, err := sandbox.Probe(t.Context()); err == nil && !slices.Contains(met, pawl.ResourceFileSize) {
				t.Errorf("the model was told of these limits alone: %v", met)
			}
			if len(reports) != 2 || !testing.Short() && !strings.Contains(reports[0], "many has 100,000 new files") {
				t.Errorf("after commits it was told %q", reports)
			}
			show := exec.Command(v.bin, "show", "1", "--prompt=implement") // the last one
			show.Dir, show.Env = v.repo, v.env
			prompt, err := show.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, prompt)
			}
			for _, line := range []string{
				"- sparse has 9.6 GB, more than the 50 MB a file may have", "- odd.wide is not encoded as working-tree-encoding in .gitattributes says",
				"- git~1 has a name that git refuses", `- ".git " has a name that git refuses`, `- ".g\u200cit" has a name that git refuses`,
			} {
				if !strings.Contains(string(prompt), line) {
					t.Errorf("the next prompt lacks %q:\n%s", line, prompt)
				}
			}
			tree := strings.Split(v.git(t, "ls-tree", "-r", "-z", "--name-only", v.runBranch(t)), "\x00")
			want := []string{"README", "a.txt", "odd/\x1b[31mred", "odd/-rf", "odd/folder\xfe/in", "odd/two\nlines", "odd/\xff\xfe", ""}
			if !slices.Equal(tree, want) {
				t.Errorf("the branch has %q, want %q", tree, want)
			}
			v.nothingLost(t)
		})
	}
}

// attempts returns a script of the recipe taskloop whose iterations begin with these calls.
// Each then hands in its result, which passes its review.
func attempts(iterations ...[]string) string {
	var script strings.Builder
	script.WriteString(`
answers:
  - when: {step: assess}
    calls: [{submit_assessment: {files: 1, lines: 1, new_dependencies: 0, type: implementation, risks: [], why: one line}}]
`)
	for i, calls := range iterations {
		fmt.Fprintf(&script, "  - when: {step: implement, iteration: %d, turn: 1}\n    calls: [%s]\n", i+1, strings.Join(calls, ", "))
	}
	script.WriteString(`  - when: {step: implement}
    calls: [{submit_result: {summary: done}}]
  - when: {step: requirements}
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [README, notes.txt, package.json, go.mod, pyproject.toml, Cargo.toml, requirements.txt]}], summary: fine}}]
`)
	return script.String()
}

// runCall returns, in YAML, a model's call of the tool run.
func runCall(tb testing.TB, shell string) string {
	tb.Helper()
	args, err := json.Marshal(map[string]any{"command": shell, "timeout_ms": 600_000}) // JSON is YAML
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("{run: %s}", args)
}
