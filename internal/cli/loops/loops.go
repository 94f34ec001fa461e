// Package loops is pawl loops: the tree of a run's loops.
package loops

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

type options struct {
	status, kind, children string
	stale, all, signals    bool
}

// New is the command. now is the clock that ages are told by.
func New(app *cli.App, now func() time.Time) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "loops [RUN]",
		Short: "List the loops of a run as a tree",
		Long: `Loops shows the loops of a run: the root, what was spawned from its artifact,
and so on. A loop is pending (waiting for its turn), running, paused, rebasing
(taking over what a sibling merged), complete (its own work passed), failed, or
invalidated (its parent started over). Iterations count from 1; GEN says how
often a loop has started over. --all includes loops of earlier generations. TIME
is from when a loop came to be to its end, or until now. COST is what a loop and
the loops below it have spent. There is a column HELD if calls in progress have
reserved something, and LOST if the cost of a call is unknown.

--status, --type, --children-of and --stale select loops; a loop is stale if its
parent has replaced the artifact it was spawned from. --signals lists the
signals between loops instead.

With --json it is a list of records, as they are in loops.jsonl: id,
loop_type, parent_id, input_artifact, output_artifacts, prompt_path,
validation_command, max_iterations, worktree, status, iteration (from 0),
progress, context, created_at and updated_at (milliseconds), run, approval,
generation, task, title, index, spawned, archived, money (spent, held and lost,
with the loops below it), cost and tokens (spent and lost together), lost,
lost_tokens, tier, branch, score, questions, reason. Paths are relative to the
project's state folder.
Signals have id, signal_type, source_loop, target_loop, target_selector,
reason, payload, created_at, acknowledged_at.

` + cli.ExitCodes,
		Example: "  pawl loops 7\n  pawl loops 7 --status running\n  pawl loops 7 --children-of auth --json | jq -r '.[].id'\n  pawl loops 7 --signals",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, info, r, err := app.ReadRun(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			at := now()
			if r.Outcome != "" || info.Status == cli.StatusInterrupted {
				at = r.Updated // nobody works on it
			}
			if o.signals {
				err = o.showSignals(cmd.Context(), app, s, r)
			} else {
				err = o.show(cmd.Context(), app, s, r, at)
			}
			app.WarnInterrupted(info)
			return err
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	f.StringVar(&o.status, "status", "", "only loops with this `STATUS`, such as running")
	f.StringVar(&o.kind, "type", "", "only loops of this `TYPE`, such as code")
	f.StringVar(&o.children, "children-of", "", "only loops spawned from a `LOOP`, given by its id or task")
	f.BoolVar(&o.stale, "stale", false, "only loops whose parent has replaced what they were spawned from")
	f.BoolVar(&o.all, "all", false, "include archived loops and those of earlier generations")
	f.BoolVar(&o.signals, "signals", false, "list the signals between loops instead")
	return c
}

// chosen are the records that are asked for; every one of them when nothing is.
func (o *options) chosen(r *view.Run) ([]*view.Record, error) {
	rs := &r.Records
	if o.status != "" && !slices.Contains(pawl.LoopStatuses(), pawl.LoopStatus(o.status)) {
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is no status %q: want pending, running, paused, rebasing, complete, failed or invalidated", plain.Line(o.status, 40))
	}
	if o.kind != "" && r.Recipe.Kind(o.kind) == nil {
		var known []string
		for _, k := range r.Recipe.Kinds {
			known = append(known, k.Name)
		}
		return nil, pawl.Errorf(pawl.CodeInvalid, "the recipe %s has no loops of type %q: want one of %s", plain.Line(r.Recipe.Name, 40), plain.Line(o.kind, 40), plain.Line(strings.Join(known, ", "), 200))
	}
	var parent *view.Record
	if o.children != "" {
		var err error
		if parent, err = rs.Find(o.children); err != nil {
			return nil, err
		}
	}
	out := []*view.Record{}
	for _, rec := range rs.Loops {
		switch {
		case o.status != "" && string(rec.Status) != o.status, o.kind != "" && rec.LoopType != o.kind,
			parent != nil && rec.Parent != parent.Ref, o.stale && !rs.Stale(rec):
			continue
		}
		out = append(out, rec)
	}
	return out, nil
}

func (o *options) filtered() bool {
	return o.status != "" || o.kind != "" || o.children != "" || o.stale
}

func (o *options) show(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run, at time.Time) error {
	chosen, err := o.chosen(r)
	if err != nil {
		return err
	}
	if app.JSON {
		out := []view.Record{}
		for _, rec := range chosen {
			if !o.all && !o.filtered() && (rec.Archived || rec.Status == pawl.LoopInvalidated) {
				continue
			}
			out = append(out, r.Records.Full(rec, cli.Blobs(ctx, s, r.ID)))
		}
		return app.Encode(out)
	}
	opt := view.TreeOptions{All: o.all, Now: at}
	if app.Terminal {
		opt.Width = app.Width()
	}
	if o.filtered() {
		if len(chosen) == 0 {
			app.Notef("no loop of run %s is like that", r.ID)
			return nil
		}
		opt.Only = chosen
	}
	app.Printf("%s", view.TreeText(r, opt))
	for _, q := range r.OpenQuestions() {
		app.Notef("run %s waits for you: %s", r.ID, r.HowToAnswer(q))
	}
	return nil
}

func (o *options) showSignals(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	if app.JSON {
		out := []view.SignalRecord{}
		for _, sig := range r.Records.Signals {
			out = append(out, r.Records.FullSignal(sig, cli.Blobs(ctx, s, r.ID)))
		}
		return app.Encode(out)
	}
	if len(r.Records.Signals) == 0 {
		app.Notef("no signal was sent in run %s", r.ID)
		return nil
	}
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	app.Printf("%s", view.SignalsText(r, width))
	return nil
}
