package sandbox_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/abuse/cheat"
	"pawl/internal/testsize"
)

// cheatLimit bounds a command that compiles or fetches, on a busy machine.
const cheatLimit = 5 * time.Minute

// judged runs a gate's command in a room of its own, after a prelude, and returns its result.
func (e *estate) judged(tb testing.TB, prelude string, eco *cheat.Ecosystem) (passed bool, output string) {
	tb.Helper()
	r, err := e.Gate(tb.Context(), e.spec)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	return judge(tb, r, prelude, eco)
}

func judge(tb testing.TB, r pawl.Room, prelude string, eco *cheat.Ecosystem) (passed bool, output string) {
	tb.Helper()
	shell := eco.Gate
	if prelude != "" {
		shell = "(" + prelude + "\n); cd /work\n" + shell
	}
	result := MustRun(tb, r, pawl.Command{Shell: shell, Timeout: cheatLimit})
	return result.ExitCode == 0, string(result.Output)
}

// MustProject writes an ecosystem's repository into the estate, and has a base room judge
// it, which fills the trusted cache. It skips where the tools are not there.
func (e *estate) MustProject(tb testing.TB, box *sandbox.Box, eco *cheat.Ecosystem) {
	tb.Helper()
	r, err := e.Gate(tb.Context(), e.spec)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	if result := MustRun(tb, r, pawl.Command{Shell: eco.Needs, Timeout: cheatLimit}); result.ExitCode != 0 {
		tb.Skipf("the tools of %s are not there: %s", eco.Name, result.Output)
	}
	for _, tree := range []string{e.dir, e.spec.Tree} {
		for name, content := range eco.Files {
			path := filepath.Join(tree, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				tb.Fatal(err)
			}
			MustWrite(tb, path, content)
		}
		if err := filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			MustGive(tb, box, path)
			return err
		}); err != nil {
			tb.Fatal(err)
		}
	}
	base, err := e.Base(tb.Context(), e.spec)
	if err != nil {
		tb.Fatal(err)
	}
	passed, output := judge(tb, base, "", eco)
	if err := base.Close(); err != nil {
		tb.Fatal(err)
	}
	if passed || !strings.Contains(output, eco.Says) {
		tb.Fatalf("on the base the gate passed: %v, want a failure with %q:\n%s", passed, eco.Says, output)
	}
}

// F-01: whatever an agent leaves for a gate, in files, caches or processes, the gate
// fails as it did on the base. The agent's command still runs when the gate does.
func TestCheatsDoNotReachGates(t *testing.T) {
	ecosystems := cheat.Ecosystems()
	for i, eco := range ecosystems {
		t.Run(eco.Name, func(t *testing.T) {
			confinedMechanisms(t, func(t *testing.T, box *sandbox.Box) {
				if strings.HasSuffix(t.Name(), "/Copies") {
					skipSlow(t, len(ecosystems)+i, &eco)
				} else {
					skipSlow(t, i, &eco)
				}
				e := MustEstate(t, box)
				preferSystem(t, &eco)
				e.MustProject(t, box, &eco)
				agent, err := e.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: e.dir})
				if err != nil {
					t.Fatal(err)
				}
				defer whileItRuns(t, agent, &eco)()
				passed, output := e.judged(t, "", &eco)
				if passed || !strings.Contains(output, eco.Says) {
					t.Errorf("the gate passed: %v, want a failure with %q:\n%s", passed, eco.Says, output)
				}
				// Nor does a base room have them below it.
				base, err := e.Base(t.Context(), e.spec)
				if err != nil {
					t.Fatal(err)
				}
				defer base.Close()
				if passed, output := judge(t, base, "", &eco); passed || !strings.Contains(output, eco.Says) {
					t.Errorf("the base's gate passed: %v, want a failure with %q:\n%s", passed, eco.Says, output)
				}
			})
		})
	}
}

// whileItRuns runs all cheats in one command that goes on until the returned function
// is called.
func whileItRuns(t *testing.T, agent pawl.Room, eco *cheat.Ecosystem) (end func()) {
	t.Helper()
	var shell strings.Builder
	for _, c := range eco.Cheats {
		shell.WriteString("(" + c.Shell + "\n)\n")
	}
	shell.WriteString("echo all is left; exec sleep 3600")
	ctx, cancel := context.WithCancel(t.Context())
	left, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		result, err := agent.Run(ctx, pawl.Command{Shell: shell.String(), Timeout: time.Hour, Progress: onLine("all is left", func() { close(left) })})
		if err == nil {
			err = errors.New(string(result.Output))
		}
		ended <- err
	}()
	select {
	case <-left:
	case err := <-ended:
		t.Fatalf("the agent's command ended: %v", err)
	}
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the agent's command ended before the gate: %v", err)
		}
	}
}

// preferSystem puts the system's programs first on the PATH where they suffice. Those of a version
// manager start others to find out which one is meant.
func preferSystem(t *testing.T, eco *cheat.Ecosystem) {
	t.Helper()
	if eco.Name == "Leftovers" {
		t.Setenv("PATH", "/usr/bin:/bin:"+os.Getenv("PATH"))
	}
}

// skipSlow skips ecosystems that compile or fetch, unless i is one of this turn's cases.
func skipSlow(t *testing.T, i int, eco *cheat.Ecosystem) {
	t.Helper()
	if eco.Name != "Leftovers" && !testsize.Case(i, 0) {
		t.Skip("it compiles or fetches; it has a turn of its own")
	}
}

// Each cheat works: in the gate's own room it makes the gate pass.
func TestCheatsWorkInAGatesOwnRoom(t *testing.T) {
	box := MustConfined(t)
	total := 0
	for i, eco := range cheat.Ecosystems() {
		total += len(eco.Cheats)
		t.Run(eco.Name, func(t *testing.T) {
			skipSlow(t, i, &eco)
			e := MustEstate(t, box)
			preferSystem(t, &eco)
			e.MustProject(t, box, &eco)
			for _, c := range eco.Cheats {
				t.Run(c.Name, func(t *testing.T) {
					if passed, output := e.judged(t, c.Shell, &eco); !passed {
						t.Errorf("the gate fails, so this cheat shows nothing:\n%s", output)
					}
				})
			}
		})
	}
	if total < 12 {
		t.Errorf("there are %d cheats, want 12 at least", total)
	}
}
