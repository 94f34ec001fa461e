package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/abuse/cheat"
	"pawl/internal/testsize"
)

// toolchains returns the variables by which programs in the user's home are found from
// another home.
func toolchains() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var env []string
	for name, folder := range map[string]string{"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "VOLTA_HOME": ".volta"} {
		if dir := filepath.Join(home, folder); os.Getenv(name) == "" {
			if _, err := os.Stat(dir); err == nil {
				env = append(env, name+"="+dir)
			}
		}
	}
	return env
}

// F-01: in a whole run, an agent that leaves everything it can for its gate still fails
// it, and passes once it has mended the project.
func TestRunWithCheats(t *testing.T) {
	if _, err := sandbox.Probe(t.Context()); err != nil {
		t.Skipf("commands cannot be confined here: %v", err)
	}
	for i, eco := range cheat.Ecosystems() {
		t.Run(eco.Name, func(t *testing.T) {
			if eco.Name != "Leftovers" && !testsize.Case(i, 0) {
				t.Skip("it compiles and fetches; it has a turn of its own")
			}
			if out, err := exec.Command("sh", "-c", eco.Needs).CombinedOutput(); err != nil {
				t.Skipf("the tools of %s are not there: %v: %s", eco.Name, err, out)
			}
			t.Parallel()
			var calls []string
			for _, c := range eco.Cheats {
				calls = append(calls, runCall(t, c.Shell))
			}
			calls = append(calls, runCall(t, "echo an attempt >notes.txt"))
			v := newVictim(t, pawlProgram(t), attempts(calls, []string{runCall(t, eco.Mend)}), eco.Files, "make the answer right", "--evidence", "off", "--recipe", "taskloop", "--require-green", "--gate", "tests="+eco.Gate)
			v.env = append(v.env, toolchains()...)
			v.finish(t)
			var judged []string
			for _, e := range v.events(t) {
				switch b := e.Body.(type) {
				case *pawl.GateJudged:
					if b.Gate != "tests" {
						continue
					}
					judged = append(judged, fmt.Sprintf("%s on base: %v", b.Verdict, b.OnBase))
					if text := v.blob(t, b.Evidence); b.Verdict == pawl.VerdictFail && !strings.Contains(text, eco.Says) {
						t.Errorf("the gate fails without %q:\n%s", eco.Says, text)
					}
				case *pawl.RunEnded:
					judged = append(judged, string(b.Outcome))
				}
			}
			want := "fail on base: true, fail on base: false, pass on base: false, complete"
			if got := strings.Join(judged, ", "); got != want {
				t.Errorf("got %s\nwant %s\n%s", got, want, v.out.String())
			}
			v.nothingLost(t)
		})
	}
}
