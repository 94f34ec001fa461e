package main

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
)

// prepareScript changes the lock file, and damages what was prepared.
const prepareScript = `
answers:
  - when: {step: assess}
    calls: [{submit_assessment: {files: 1, lines: 5, new_dependencies: 0, type: implementation, risks: [], why: small}}]
  - when: {step: implement, iteration: 1, turn: 1}
    calls: [{run: {command: "sh test.sh && echo 1 > one.txt && rm -r node_modules/a"}}]
  - when: {step: implement, iteration: 2, turn: 1}
    calls: [{run: {command: "sh test.sh && echo two > package-lock.json && echo 2 > two.txt"}}]
  - when: {step: implement, iteration: 3, turn: 1}
    calls: [{run: {command: "sh test.sh && cat node_modules/a/lock > three.txt"}}]
  - when: {step: implement}
    calls: [{submit_result: {summary: done}}]
  - when: {step: requirements}
    calls: [{submit_verdict: {criteria: [{id: AC-001, status: pass, evidence: [README]}], summary: fine}}]
`

// A run that is killed while its dependencies are prepared, or put into its worktree, ends as
// it would have: an agent and a gate have all of them or none is asked. Of what was prepared
// only the whole layer of the base is left. F-22
func TestKilledWhilePreparing(t *testing.T) {
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	t.Parallel()
	var preparing atomic.Int64
	killAnywhere(t, 1, 40, killing{
		victim: func(t *testing.T) *victim {
			mark := newMark()
			v := newRoomVictim(t, mark, prepareScript, "sh test.sh && cat three.txt && grep two three.txt")
			for name, content := range map[string]string{
				"package.json": "{}\n", "package-lock.json": "one\n", "web/README": "w\n",
				"deps.sh": `mkdir -p node_modules/a node_modules/b web/node_modules && cp package-lock.json node_modules/a/lock || exit 1
i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; cp package-lock.json node_modules/b/lock && cp package-lock.json web/node_modules/lock
`,
				"test.sh": `for f in node_modules/a node_modules/b web/node_modules; do cmp package-lock.json $f/lock || exit 1; done` + "\n",
			} {
				mustWrite(t, filepath.Join(v.repo, name), content)
			}
			v.git(t, "add", ".")
			v.git(t, "commit", "-q", "-m", "second")
			v.env = append(v.env, "PAWL_PREPARE=setsid sleep "+mark+" >/dev/null 2>&1 & sh deps.sh")
			return v
		},
		ending: (*victim).ending,
		killed: func(t *testing.T, v *victim) {
			for _, e := range v.pending(t) {
				if _, is := e.Do.(*pawl.Prepare); is {
					preparing.Add(1)
				}
			}
		},
		sound: func(v *victim, t *testing.T) {
			v.nothingLost(t)
			// Where the kill came between the run's end and the cleaning, the next process cleans.
			if out, err := v.pawl("cache", "prune"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			state := filepath.Join(v.home, "state", "pawl", "*")
			for _, left := range []string{"rooms/*/*", "layers/runs/*", "layered/*"} {
				if found, err := filepath.Glob(filepath.Join(state, left)); err != nil || len(found) > 0 {
					t.Errorf("left over are %v, %v", found, err)
				}
			}
			layers, err := filepath.Glob(filepath.Join(state, "layers/prepared/*"))
			if err != nil || len(layers) != 1 {
				t.Fatalf("the layers are %v, %v", layers, err)
			}
			for _, file := range []string{"manifest.json", "work/files/node_modules/b/lock", "work/files/web/node_modules/lock"} {
				if _, err := os.Stat(filepath.Join(layers[0], file)); err != nil {
					t.Error(err)
				}
			}
		},
	})
	t.Cleanup(func() {
		if preparing.Load() == 0 && !testing.Short() {
			t.Error("no kill hit a preparation")
		}
	})
}
