package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"pawl"
	"pawl/internal/view"
)

// rule divides what the person writes from what they write about.
const rule = "# ---- What stands below this line is not sent. ----"

// write lets the person write the feedback in their editor, with the plan below it.
func (d *decision) write(ctx context.Context, p view.PlanPreview) error {
	editor := cmp.Or(d.app.Getenv("VISUAL"), d.app.Getenv("EDITOR"))
	if editor == "" {
		return pawl.Errorf(pawl.CodeInvalid, "say what should be different: there is no $EDITOR to write it in").WithHint(`pawl plan iterate %s "…"`, p.Run)
	}
	f, err := os.CreateTemp("", "pawl-feedback-*.md")
	if err != nil {
		return fmt.Errorf("make a file for the feedback: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintf(f, "\n%s\n\n%s", rule, p.Content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write a file for the feedback: %w", err)
	}
	c := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", f.Name()) // the variable may have arguments
	c.Stdin, c.Stdout, c.Stderr, c.Env = d.app.In, d.app.Out, d.app.Err, d.app.Environ
	if err := c.Run(); err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "the editor %q failed: %w", editor, err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return fmt.Errorf("read the feedback: %w", err)
	}
	d.words, _, _ = strings.Cut(string(data), rule)
	if d.words = strings.TrimSpace(d.words); d.words == "" {
		return pawl.Errorf(pawl.CodeState, "nothing was written; the plan still waits").WithHint("pawl plan show %s", p.Run)
	}
	return nil
}
