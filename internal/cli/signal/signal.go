// Package signal is pawl signal: tell loops of a run something.
package signal

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// kinds are the signals of persons, and what each does.
var kinds = []pawl.SignalKind{pawl.SignalStop, pawl.SignalPause, pawl.SignalResume, pawl.SignalRebase, pawl.SignalInfo}

type options struct{ to, text string }

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "signal RUN KIND",
		Short: "Send a signal to loops: stop, pause, resume, rebase, info",
		Long: `Signal sends a signal to loops of a tree:

  stop     end, as cancelled; an active loop ends with its iteration, and is
           complete if that iteration passes
  pause    start nothing after this iteration
  resume   continue
  rebase   take over the parent's head before the next iteration
  info     a text, --text: a coding agent that can hear in the middle of a turn
           receives it now, others in their next prompt; the command says which

--to says which loops: a loop's id, the end of its path (auth, or tokens/code of
auth/tokens/code), or a selector: descendants:LOOP, children:LOOP, type:KIND
(such as type:code) or status:STATUS (such as status:running). Each of these
loops gets a signal of its own and acknowledges it at the end of its iteration;
pawl loops RUN --signals shows that. A selector that selects no loop is refused.
For the whole run use pawl pause and pawl cancel.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl signal 7 pause --to auth\n  pawl signal 7 stop --to descendants:auth\n  pawl signal 7 info --to type:code --text \"the API is v2 now\"",
		Args:    cli.Args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.send(cmd.Context(), app, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return app.CompleteRuns(cmd.Context(), func(r pawl.RunInfo) string { return cli.State(r) + ", " + plain.Line(r.Title, 60) })
			case 1:
				var out []string
				for _, k := range kinds {
					out = append(out, string(k))
				}
				return out, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "which loops: a loop's id or task, or a `SELECTOR` such as children:auth")
	c.Flags().StringVar(&o.text, "text", "", "the `TEXT` of an info, or a reason, of at most 1000 bytes")
	return c
}

func (o *options) send(ctx context.Context, app *cli.App, args []string) error {
	kind := pawl.SignalKind(args[1])
	const most = 1000
	switch {
	case !slices.Contains(kinds, kind):
		return pawl.Errorf(pawl.CodeInvalid, "there is no signal %q: want stop, pause, resume, rebase or info", plain.Line(args[1], 40))
	case o.to == "":
		return pawl.Errorf(pawl.CodeInvalid, "--to says which loops are meant, and is not given").WithHint("pawl signal RUN %s --to LOOP; for the whole run: pawl pause, pawl resume, pawl cancel", kind)
	case kind == pawl.SignalInfo && strings.TrimSpace(o.text) == "":
		return pawl.Errorf(pawl.CodeInvalid, "an info says something: give it with --text")
	case len(o.text) > most:
		return pawl.Errorf(pawl.CodeInvalid, "--text has %d bytes: want at most %d", len(o.text), most)
	}
	s, info, from, err := app.SteerFrom(ctx, args[:1], func(_ pawl.RunInfo, r *view.Run) (pawl.Steering, error) {
		to, err := Selector(&r.Records, o.to)
		in := pawl.Steering{Verb: pawl.SteerSignal, By: app.User(), Signal: &pawl.Signaling{Signal: kind, To: to}}
		if kind == pawl.SignalInfo {
			in.Signal.Text = o.text
		} else {
			in.Reason = o.text
		}
		return in, err
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	names, hear := told(ctx, s, from)
	if hear != "" {
		return app.Steered(ctx, s, from, "Run %s: %s is sent to %s. %s", info.ID, kind, names, hear)
	}
	return app.Steered(ctx, s, from, "Run %s: %s is sent to %s", info.ID, kind, names)
}

// Selector is what a person calls loops in the words of the contract: ids in place of
// tasks.
func Selector(rs *view.Records, to string) (string, error) {
	word, of, selects := strings.Cut(to, ":")
	switch {
	case !selects:
		rec, err := rs.Find(to)
		if err != nil {
			return "", err
		}
		return rec.ID, nil
	case word == "descendants" || word == "children":
		rec, err := rs.Find(of)
		if err != nil {
			return "", err
		}
		return word + ":" + rec.ID, nil
	case word == "type" || word == "status":
		return to, nil
	}
	return "", pawl.Errorf(pawl.CodeInvalid, "%q selects nothing: want a loop's id or task, descendants:LOOP, children:LOOP, type:KIND or status:STATUS", plain.Line(to, 60))
}

// told names the loops that have got a signal since a run was read, and says which coding agents hear
// it when: "Loop auth: claude-code hears it now". Hear is empty if no agent is making a turn.
func told(ctx context.Context, s *cli.Session, from *view.Run) (loops, hear string) {
	r, err := cli.Fold(ctx, s, from.ID)
	if err != nil {
		return "them", ""
	}
	var names, agents []string
	for _, sig := range r.Records.Signals[min(len(from.Records.Signals), len(r.Records.Signals)):] {
		if rec := r.Records.Loop(sig.Target); rec != nil && sig.SourceLoop == "" && len(names) < 12 {
			names = append(names, r.Records.Path(rec))
			if text := sig.Hears(); text != "" {
				agents = append(agents, "Loop "+r.Records.Path(rec)+": "+text)
			}
		}
	}
	if len(names) == 0 {
		return "them", ""
	}
	return strings.Join(names, ", "), strings.Join(agents, "; ")
}
