package view

import (
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// maxHeldOutLines bounds the lines that are shown of what a held-out check printed.
const maxHeldOutLines = 12

// showHeldOut adds which held-out checks fail, and the end of what they printed: of the verdict's
// reason the agent is told as much, and that may be little.
func (r *Run) showHeldOut(t *text, l *Loop, blobs Blobs) {
	for _, g := range r.Verdicts(l) {
		if g.Kind != pawl.GateHeldOut || !g.red() {
			continue
		}
		var rep pawl.GateReport
		blobs.into(g.Whole(), &rep)
		if rep.Failed == 0 {
			continue
		}
		t.line("")
		t.line("Held-out checks that fail (the agent is told %s)", r.Settings.HeldOutFeedback.Told())
		for _, test := range rep.Tests {
			if test.Status != pawl.TestFail {
				continue
			}
			why, out, _ := strings.Cut(plain.Text(test.Output), "\n")
			t.line("  %s: %s", plain.Line(test.Name, 0), why)
			lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
			for _, s := range lines[max(0, len(lines)-maxHeldOutLines):] {
				if s != "" {
					t.line("    %s", s)
				}
			}
		}
	}
}
