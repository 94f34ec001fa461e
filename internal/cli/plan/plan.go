// Package plan is pawl plan: the plan a run's loops are spawned from, and what a person
// decides about it.
package plan

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// New is the command.
func New(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the plan of a run, or decide on it",
		Long: `Plan shows what a run is going to do and takes your decision about it. Nothing
is spawned from a plan before a person approves it. The run waits for that as
long as it takes, even if nobody follows it.

  approve   create the loops of the plan
  iterate   have the plan made again with your feedback; you decide on it again
  reject    end the run as failed

The first decision counts; a later one gets an error that names the first. An
approval is for the plan that was shown, by its hash; if the plan has changed
since, it is shown again.

` + cli.ExitCodes,
		Example: "  pawl plan show 7\n  pawl plan approve 7\n  pawl plan iterate 7 \"think of logout too\"\n  pawl plan reject 7 --reason \"not now\"",
		Args:    cli.NoCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newShow(app), newApprove(app), newIterate(app), newReject(app))
	return c
}

// What a person decides.
const (
	approve = "approve"
	iterate = "iterate"
	reject  = "reject"
)

// maxWords is how long a reason or a feedback may be, in bytes.
const maxWords = 1000

func loopArg(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

func newShow(app *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "show [RUN [LOOP]]",
		Aliases: []string{"preview"},
		Short:   "Show a plan",
		Long: `Show prints the plan that waits for a person, or the one that was decided on:
its title, the loop and its iterations, what it is about, its phases, and the
specs that are spawned when it is approved; then the hash that names it, and how
to decide. LOOP is a loop's id or task; without it, the loop that waits, or the
root. With --json it is an object: run, id, status, approval, by, title,
iterations, max_iterations, generation, overview, phases, specs (name, title,
description, dependencies), content (the whole plan as Markdown), about (the
hash), question.

` + cli.ExitCodes,
		Example: "  pawl plan show\n  pawl plan show 7 --json | jq -r .content",
		Args:    cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, _, r, err := app.ReadRun(cmd.Context(), args)
			if err != nil {
				return err
			}
			defer s.Close()
			p, err := preview(cmd.Context(), s, r, loopArg(args))
			if err != nil {
				return err
			}
			if app.JSON {
				return app.Encode(p)
			}
			show(app, p)
			return nil
		},
		ValidArgsFunction: completions(app),
	}
	return c
}

// preview reads the plan that is meant.
func preview(ctx context.Context, s *cli.Session, r *view.Run, loop string) (view.PlanPreview, error) {
	rec, err := r.Records.PlanLoop(loop)
	if err != nil {
		return view.PlanPreview{}, err
	}
	return r.PlanPreview(rec, cli.Blobs(ctx, s, r.ID))
}

// show prints a plan with how to decide about it.
func show(app *cli.App, p view.PlanPreview) {
	width := 0
	if app.Terminal {
		width = app.Width()
	}
	app.Printf("%s", view.PlanText(p, width))
	if p.Question == 0 {
		return
	}
	which := string(p.Run)
	app.Printf("\n  about   %s\n  approve pawl plan approve %s --about %s\n  iterate pawl plan iterate %s \"what should be different\"\n  reject  pawl plan reject %s --reason \"why\"\n",
		p.About.Short(), which, p.About.Short(), which, which)
}

func newApprove(app *cli.App) *cobra.Command {
	var about string
	c := &cobra.Command{
		Use:   "approve [RUN [LOOP]]",
		Short: "Approve a plan and create its loops",
		Long: `Approve approves a plan and creates its loops. On a terminal it shows the plan
and asks. Elsewhere --about gives the hash that pawl plan show printed, or its
beginning, because nobody can approve what was not shown to them. No answer is
no approval. The first decision counts.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl plan approve 7\n  pawl plan approve 7 --about 3f1c09aa2b41",
		Args:    cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := decision{app: app, loop: loopArg(args), choice: approve, about: about}
			return d.take(cmd.Context(), args)
		},
		ValidArgsFunction: completions(app),
	}
	c.Flags().StringVar(&about, "about", "", "the `HASH` of the plan that was shown")
	return c
}

func newReject(app *cli.App) *cobra.Command {
	var reason, about string
	c := &cobra.Command{
		Use:   "reject [RUN [LOOP]]",
		Short: "Reject a plan and end the run as failed",
		Long: `Reject ends a run whose plan you do not want. Its branch stays. The first
decision counts.

` + cli.ExitCodes,
		Example: "  pawl plan reject 7 --reason \"we buy this instead\"",
		Args:    cli.Args(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := decision{app: app, loop: loopArg(args), choice: reject, words: reason, about: about}
			return d.take(cmd.Context(), args)
		},
		ValidArgsFunction: completions(app),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, a `SENTENCE` for the log")
	c.Flags().StringVar(&about, "about", "", "the `HASH` of the plan that was shown; by default the plan as it is now")
	return c
}

func newIterate(app *cli.App) *cobra.Command {
	var feedback, about string
	c := &cobra.Command{
		Use:   "iterate [RUN [LOOP] [FEEDBACK]]",
		Short: "Have a plan made again with your feedback",
		Long: `Iterate has a plan made again. The next iteration is given your feedback, and
its plan comes back to you, even at the limit on iterations. FEEDBACK follows
RUN or LOOP if it has more than one word; otherwise give it with --feedback,
where - is standard input, or write it in $EDITOR on a terminal. It has at most
1000 bytes. The first decision counts.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl plan iterate 7 \"think of logout too\"\n  pawl plan iterate 7 --feedback - < review.txt\n  EDITOR=vi pawl plan iterate 7",
		Args:    cli.Args(0, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := decision{app: app, choice: iterate, about: about, words: feedback}
			if n := len(args); n == 3 || n == 2 && strings.ContainsAny(strings.TrimSpace(args[1]), " \n\t") {
				if feedback != "" {
					return pawl.Errorf(pawl.CodeInvalid, "the feedback is given twice: as an argument and with --feedback")
				}
				d.words, args = args[n-1], args[:n-1]
			}
			d.loop = loopArg(args)
			if d.words == "-" {
				if err := d.read(app.In); err != nil {
					return err
				}
			}
			return d.take(cmd.Context(), args)
		},
		ValidArgsFunction: completions(app),
	}
	c.Flags().StringVar(&feedback, "feedback", "", "a `TEXT` that says what should be different; - is standard input")
	c.Flags().StringVar(&about, "about", "", "the `HASH` of the plan that was shown; by default the plan as it is now")
	return c
}

// decision is what a person wants of a plan.
type decision struct {
	app          *cli.App
	loop, choice string
	words        string
	about        string
}

// read takes the words from a file.
func (d *decision) read(from io.Reader) error {
	if from == nil {
		return pawl.Errorf(pawl.CodeInvalid, "there is no standard input to read the feedback from")
	}
	data, err := io.ReadAll(io.LimitReader(from, maxWords+1))
	if err != nil {
		return pawl.Errorf(pawl.CodeInvalid, "read the feedback: %w", err)
	}
	d.words = string(data)
	return nil
}

// take makes the decision known, once it is sure what it is about.
func (d *decision) take(ctx context.Context, args []string) error {
	seen, err := d.seen(ctx, args)
	if err != nil {
		return err
	}
	if d.words = strings.TrimSpace(d.words); len(d.words) > maxWords {
		return pawl.Errorf(pawl.CodeInvalid, "your feedback has %d bytes: want at most %d", len(d.words), maxWords)
	}
	var rec *view.Record
	s, info, from, err := d.app.SteerFrom(ctx, args[:min(len(args), 1)], func(_ pawl.RunInfo, r *view.Run) (_ pawl.Steering, err error) {
		if rec, err = r.Records.PlanLoop(d.loop); err != nil {
			return pawl.Steering{}, err
		}
		q, err := r.PlanQuestion(rec)
		if err != nil {
			return pawl.Steering{}, err
		}
		about, err := d.hash(q, seen)
		return pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: q.N, Choice: view.PlanChoice(q, d.choice), Text: d.words, By: d.app.User(), About: about}}, err
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	switch d.choice {
	case approve:
		n, kind := spawned(ctx, s, info.ID, rec)
		if n != 1 {
			kind += "s"
		}
		return d.app.Steered(ctx, s, from, "Plan %s of run %s is approved: %d %s spawned", rec.ID, info.ID, n, plain.Line(kind, 40))
	case iterate:
		return d.app.Steered(ctx, s, from, "Plan %s of run %s goes into another iteration", rec.ID, info.ID)
	}
	return d.app.Steered(ctx, s, from, "Plan %s of run %s is rejected", rec.ID, info.ID)
}

// spawned counts the loops that a plan has led to.
func spawned(ctx context.Context, s *cli.Session, run pawl.RunID, of *view.Record) (int, string) {
	r, err := cli.Fold(ctx, s, run)
	if err != nil {
		return 0, ""
	}
	rec, kind := r.Records.Loop(of.Ref), ""
	if k := r.Recipe.Kind(rec.LoopType); k != nil && k.Children != nil {
		kind = k.Children.Kind
	}
	return rec.Spawned, kind
}

// hash is the plan that the decision is about. An approval is of what was shown.
func (d *decision) hash(q *view.Question, seen pawl.Hash) (pawl.Hash, error) {
	switch {
	case d.about != "":
		if err := names(d.about, q.About); err != nil {
			return pawl.Hash{}, err.WithHint("look at it again: pawl plan show")
		}
		return q.About, nil
	case d.choice != approve:
		return q.About, nil
	case seen != q.About:
		return pawl.Hash{}, pawl.Errorf(pawl.CodeConflict, "the plan has changed since it was shown: it was %s and is %s", seen.Short(), q.About.Short()).WithHint("look at it again: pawl plan show")
	}
	return seen, nil
}

// names reports whether a text is a hash or its beginning.
func names(text string, h pawl.Hash) *pawl.Error {
	const least = 8
	if len(text) < least {
		return pawl.Errorf(pawl.CodeInvalid, "--about %q: want at least %d digits of the hash", plain.Line(text, 80), least)
	}
	if !strings.HasPrefix(h.String(), strings.ToLower(text)) {
		return pawl.Errorf(pawl.CodeConflict, "the plan is %s, not %s", h.Short(), plain.Line(text, 80))
	}
	return nil
}

// seen lets the person see the plan before they approve it, and asks for what is
// missing. Where nobody can be asked, the hash of what they were shown must be given.
func (d *decision) seen(ctx context.Context, args []string) (pawl.Hash, error) {
	asks := d.app.Interactive && d.app.Terminal && !d.app.JSON
	switch {
	case d.choice == approve && d.about != "" || d.choice == reject || d.choice == iterate && d.words != "":
		return pawl.Hash{}, nil
	case !asks && d.choice == approve:
		return pawl.Hash{}, pawl.Errorf(pawl.CodeInvalid, "an approval names the plan that was shown, and here nobody can be asked").
			WithHint("pawl plan show, then pawl plan approve RUN --about HASH")
	case !asks:
		return pawl.Hash{}, pawl.Errorf(pawl.CodeInvalid, "say what should be different").WithHint(`pawl plan iterate RUN "…", or --feedback -`)
	}
	s, _, r, err := d.app.ReadRun(ctx, args)
	if err != nil {
		return pawl.Hash{}, err
	}
	defer s.Close()
	rec, err := r.Records.PlanLoop(d.loop)
	if err != nil {
		return pawl.Hash{}, err
	}
	if _, err := r.PlanQuestion(rec); err != nil {
		return pawl.Hash{}, err
	}
	p, err := r.PlanPreview(rec, cli.Blobs(ctx, s, r.ID))
	if err != nil {
		return pawl.Hash{}, err
	}
	if d.choice == iterate {
		return pawl.Hash{}, d.write(ctx, p)
	}
	d.app.Printf("%s\n  about %s\n\nApprove this plan? [y/N] ", view.PlanText(p, d.app.Width()), p.About.Short())
	line, _ := d.app.ReadAnswer(ctx) // no answer is no approval
	if ctx.Err() != nil {
		return pawl.Hash{}, ctx.Err()
	}
	if word := strings.ToLower(line); word != "y" && word != "yes" {
		return pawl.Hash{}, pawl.Errorf(pawl.CodeState, "nothing is approved; the plan still waits").WithHint("pawl plan show %s", r.ID)
	}
	return p.About, nil
}

// completions offers the runs that wait for a decision about their plan.
func completions(app *cli.App) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
	}
}
