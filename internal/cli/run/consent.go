package run

import (
	"context"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
)

// askPrepare shows the prepare commands of the repository and asks whether they may
// run. Without a yes it fails.
func (o *options) askPrepare(ctx context.Context, app *cli.App) error {
	app.Printf("This repository wants to run these commands to put its dependencies in place:\n\n")
	for _, command := range o.shown.Prepare {
		app.Printf("  %s\n", strconv.Quote(command)) // one line each, with nothing hidden
	}
	where := "They run in a room of their own, without a network."
	if rules := o.shown.Egress; len(rules) > 0 {
		where = "They run in a room of their own. Through the egress proxy they reach " + plain.Line(strings.Join(rules, ", "), 0) +
			", and nothing else.\nKeys of ssh and credentials of private registries are not passed to them."
	}
	if o.shown.Unsandboxed {
		where = "They run with your own rights where they cannot be confined (--unsandboxed)."
	}
	app.Printf("\n%s Allow them, now and in later runs? [y/N] ", where)
	line, _ := app.ReadAnswer(ctx) // no answer is no consent
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if word := strings.ToLower(line); word != "y" && word != "yes" {
		return pawl.Errorf(pawl.CodeConsent, "nothing was started: the repository's prepare commands are not allowed").
			WithHint("set prepare in %s to run your own commands instead, or to [] for none", app.UserConfig())
	}
	o.req.AllowPrepare = o.shown.PrepareHash
	return nil
}
