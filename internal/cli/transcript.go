package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl"
	"pawl/internal/view"
)

const linesFlag = "lines"

// LinesFlag adds the flag that says how much of each text of a transcript is shown, beside the
// flag that shows it.
func LinesFlag(f *pflag.FlagSet, lines *int, with string) {
	f.IntVar(lines, linesFlag, view.TranscriptLines, fmt.Sprintf("with --%s: show `N` lines of each text; 0 shows all", with))
}

// CheckLines refuses that flag without the one it belongs to, and a number of lines that is none.
func CheckLines(c *cobra.Command, with string) error {
	f := c.Flags()
	switch n, err := f.GetInt(linesFlag); {
	case err != nil:
		return err
	case n < 0:
		return pawl.Errorf(pawl.CodeInvalid, "--%s %d: want a number of lines, or 0 for all", linesFlag, n)
	case f.Changed(linesFlag) && !f.Changed(with):
		return pawl.Errorf(pawl.CodeInvalid, "--%s is about what --%s shows", linesFlag, with).WithHint("add --%s", with)
	}
	return nil
}

// TranscriptOptions show so many lines of each text.
func TranscriptOptions(lines int) *view.TranscriptOptions {
	return &view.TranscriptOptions{Lines: lines, More: "--" + linesFlag + " 0 shows all"}
}
