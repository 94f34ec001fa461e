package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/run"
	"pawl/internal/driver/drivertest"
)

// preparing is a project whose repository wants to run commands before its gates.
func preparing(t *testing.T, commands string) (b *bed, root string) {
	t.Helper()
	b, _ = again(t, &drivertest.World{Calls: 1})
	root = b.app.Getenv("HOME")
	mustPrepare(t, root, commands)
	return b, root
}

func mustPrepare(tb testing.TB, root, commands string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Join(root, ".pawl"), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".pawl", "config.yaml"), []byte("prepare: "+commands+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// types lets a person type lines at a terminal.
func (b *bed) types(lines string) {
	b.app.Terminal, b.app.Interactive, b.app.In = true, true, strings.NewReader(lines)
}

// A person is shown what the repository wants to run before its gates, and asked once for
// the same commands.
func TestRunAsksAboutPrepare(t *testing.T) {
	const question = "[y/N]"
	b, root := preparing(t, `["make deps", "printf 'a\tb'\ntrue"]`)
	for _, answer := range []string{"", "n\n", "\n", "maybe\ny\n"} {
		b.types(answer)
		err := b.execute(t, run.New(b.app), "Write it")
		if code := b.app.Report(err); pawl.CodeOf(err) != pawl.CodeConsent || code != cli.ExitState || strings.Count(b.out.String(), question) != 1 {
			t.Errorf("after %q: %v, exit code %d\n%s", answer, err, code, b.out.String())
		}
	}
	b.mustRuns(t)
	for _, want := range []string{"\n  \"make deps\"\n", `  "printf 'a\tb'\ntrue"` + "\n", "without a network"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("%q is not shown:\n%s", want, b.out.String())
		}
	}
	b.types("n\n")
	err := b.execute(t, run.New(b.app), "Write it", "--unsandboxed")
	if pawl.CodeOf(err) != pawl.CodeConsent || !strings.Contains(b.out.String(), "with your own rights") || strings.Contains(b.out.String(), "a room of their own") {
		t.Errorf("with --unsandboxed: %v\n%s", err, b.out.String())
	}
	b.types("y\n")
	if err := b.execute(t, run.New(b.app), "Write it"); err != nil || !strings.Contains(b.out.String(), question) {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if !strings.Contains(b.out.String(), `  prepare  the repository's commands, without a network: "make deps", `) {
		t.Errorf("it is not introduced:\n%s", b.out.String())
	}
	b.types("")
	if err := b.execute(t, run.New(b.app), "Write more"); err != nil || strings.Contains(b.out.String(), question) {
		t.Errorf("the second time: %v\n%s", err, b.out.String())
	}
	mustPrepare(t, root, `["make deps && make more"]`)
	if err := b.execute(t, run.New(b.app), "Write even more"); pawl.CodeOf(err) != pawl.CodeConsent || !strings.Contains(b.out.String(), question) {
		t.Errorf("after a change: %v\n%s", err, b.out.String())
	}
}

// Where nobody can be asked, the run is refused unless --yes-prepare allows it.
func TestRunWithoutATerminalRefusesPrepare(t *testing.T) {
	b, _ := preparing(t, `["make deps"]`)
	for name, change := range map[string]func(){
		"NoTerminal":  func() { b.app.Terminal = false },
		"NoInput":     func() { b.app.Interactive = false },
		"ForPrograms": func() { b.app.JSON = true },
	} {
		t.Run(name, func(t *testing.T) {
			b.types("y\n")
			change()
			defer func() { b.app.JSON = false }()
			err := b.execute(t, run.New(b.app), "Write it")
			if pawl.CodeOf(err) != pawl.CodeConsent || b.out.Len() > 0 {
				t.Errorf("%v\n%s", err, b.out.String())
			}
			code := b.app.Report(err)
			hash := (&pawl.Settings{Prepare: []string{"make deps"}}).PrepareHash()
			for _, want := range []string{"make deps", hash.String(), "--yes-prepare"} {
				if code != cli.ExitState || !strings.Contains(b.err.String(), want) {
					t.Errorf("exit code %d, and it does not say %q:\n%s", code, want, b.err.String())
				}
			}
		})
	}
	b.app.Terminal = false
	for _, args := range [][]string{{"Write it", "--yes-prepare"}, {"Write more"}} {
		if err := b.execute(t, run.New(b.app), args...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	b.mustRuns(t, "001-write-it complete", "002-write-more complete")
}

// A person who was asked which task is meant can still be asked about the commands.
func TestRunAsksTwice(t *testing.T) {
	b, r := again(t, &drivertest.World{Calls: 1}, "Auth: a login page", "Auth: tokens are refreshed")
	mustPrepare(t, b.app.Getenv("HOME"), `["make deps"]`)
	b.types("n\ny\n")
	if err := b.execute(t, run.New(b.app), "continue the auth task"); err != nil {
		t.Fatalf("%v\n%s", err, b.out.String())
	}
	if len(r.asked) != 2 || !r.asked[0].AllowPrepare.IsZero() || r.asked[1].AllowPrepare != r.asked[1].Settings.PrepareHash() {
		t.Errorf("started with %+v", r.asked)
	}
}

// Consent is to what was shown, not to what the file says a moment later.
func TestRunAsksAboutWhatItShows(t *testing.T) {
	b, root := preparing(t, `["make deps"]`)
	b.types("")
	b.app.In = &typist{decide: func() string {
		mustPrepare(t, root, `["make something else"]`)
		return "y\n"
	}}
	err := b.execute(t, run.New(b.app), "Write it")
	if pawl.CodeOf(err) != pawl.CodeConsent || !strings.Contains(err.Error(), "make something else") {
		t.Errorf("got %v", err)
	}
	b.mustRuns(t)
}
