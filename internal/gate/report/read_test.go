package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
)

// TestRecorded reads what tools really printed. A new situation is a new block
// in a file of testdata; -rewrite fills in what is read from it.
func TestRecorded(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			src := Source{Format: pawl.ReportAuto, Kind: pawl.GateKind(d.Cmd), Roots: []string{"/home/dev/shop"}}
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "format":
					src.Format = pawl.ReportFormat(arg.Vals[0])
				case "exit-ok":
					src.ExitOK = true
				default:
					t.Fatalf("unknown argument %s", arg.Key)
				}
			}
			src.Stdout = []byte(d.Input)
			src.Output = src.Stdout
			return show(Read(src), slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == "output" }))
		})
	})
}

// What a tool prints on standard error may come in the middle of a line of standard output.
func TestCargoBetweenItsOwnMessages(t *testing.T) {
	const stdout = "running 1 test\ntest hello ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
	mixed := strings.Replace(stdout, "... ok", "...    Doc-tests shop\nok", 1)
	for _, cut := range []bool{false, true} {
		r := Read(Source{Kind: pawl.GateTests, Format: pawl.ReportAuto, Stdout: []byte(stdout), Output: []byte(mixed), OutputCut: cut, ExitOK: true})
		if got := show(r, false); got != "auto (cargo test): 1 passed, 0 failed, 0 skipped\npass hello\n" {
			t.Errorf("cut %t: it reads\n%s", cut, got)
		}
	}
}

func show(r Reading, output bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %d passed, %d failed, %d skipped\n", r.Format, r.Tool, r.Passed, r.Failed, r.Skipped)
	for _, t := range r.Tests {
		fmt.Fprintf(&b, "%s %s\n", t.Status, t.Name)
		if line := gist(t.Output); line != "" {
			fmt.Fprintf(&b, "     | %s\n", line)
		}
	}
	for _, f := range r.Diagnostics {
		fmt.Fprintf(&b, "%s %s:%d %s (%s)\n", f.Severity, f.File, f.Line, f.Message, f.Rule)
	}
	if len(r.Unfinished) > 0 {
		fmt.Fprintf(&b, "unfinished: %s\n", strings.Join(r.Unfinished, ", "))
	}
	if len(r.Broken) > 0 {
		fmt.Fprintf(&b, "broken: %s\n", strings.Join(r.Broken, ", "))
	}
	if r.Damage != "" {
		fmt.Fprintf(&b, "damage: %s\n", r.Damage)
	}
	return b.String()
}

// gist is the first lines of a test's output, on one line.
func gist(output string) string {
	var parts []string
	for _, line := range strings.Split(output, "\n") {
		if line = strings.TrimSpace(line); line != "" && len(parts) < 3 {
			parts = append(parts, cut(line, 60))
		}
	}
	return strings.Join(parts, " / ")
}
