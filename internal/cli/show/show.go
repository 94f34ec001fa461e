// Package show is pawl show: one run on one screen, its report, or what a model
// was sent.
package show

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

type options struct {
	prompt, part string
	report       bool
}

// newest is what --prompt means without a step.
const newest = "newest"

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show a run, its report, or what a step was sent",
		Long: `Show prints one run: its state, its criteria, every iteration with what it cost,
the verdicts, the problems, and what you can do next; for a run with a list of
tasks also each task, attempt by attempt, and the versions of the plan. Without
RUN it shows the latest run.

With --prompt it prints what a session was sent at its start: the newest session,
or the one whose place ends in STEP, such as implement, 2/implement,
council/skeptic or parser/1/executor for a task, or the newest session of a task
by its id, or the one called session-N or event-N. A prefix loop-N/ looks in that
loop only. With --part system, prompt or tools it prints only that part, byte for
byte.

` + cli.ExitCodes,
		Example: `  pawl show
  pawl show 7 --report
  pawl show 7 --prompt=2/implement
  pawl show 7 --prompt=implement --part prompt > prompt.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, r, err := app.ReadRun(ctx, args)
			if err != nil {
				return err
			}
			defer s.Close()
			switch {
			case cmd.Flags().Changed("prompt") || o.part != "":
				return o.showPrompt(ctx, app, s, r)
			case o.report:
				return showReport(ctx, app, s, r)
			}
			return showRun(ctx, app, s, r, info)
		},
	}
	cli.RunArgs(c, app, false)
	f := c.Flags()
	f.StringVar(&o.prompt, "prompt", newest, "print what the newest session was sent, or the session of =`STEP`")
	f.Lookup("prompt").NoOptDefVal = newest
	f.Lookup("prompt").DefValue = ""
	f.StringVar(&o.part, "part", "", "print only this `PART` of it, byte for byte: system, prompt or tools")
	f.BoolVar(&o.report, "report", false, "print the report on the whole run")
	c.MarkFlagsMutuallyExclusive("prompt", "report")
	c.MarkFlagsMutuallyExclusive("part", "report")
	_ = c.RegisterFlagCompletionFunc("part", cobra.FixedCompletions([]string{"system", "prompt", "tools"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func showRun(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run, info pawl.RunInfo) error {
	blobs := cli.Blobs(ctx, s, r.ID)
	if !app.JSON {
		app.Printf("%s", view.Show(r, blobs))
		app.WarnInterrupted(info)
		return nil
	}
	summary := view.Summarize(r, blobs)
	summary.Status, summary.Waiting = info.Status, info.Waiting
	return app.Encode(summary)
}

func showReport(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	report, err := view.CompletionReport(r, cli.Blobs(ctx, s, r.ID))
	if err != nil {
		return err
	}
	if app.JSON {
		return app.Encode(map[string]any{"run": r.ID, "outcome": r.Outcome, "report": report})
	}
	app.Printf("%s", report)
	return nil
}

func (o *options) showPrompt(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	selector := o.prompt
	if selector == newest {
		selector = ""
	}
	sent, err := view.Prompt(r, selector)
	if err != nil {
		return err
	}
	texts, names := map[string]string{}, []string{}
	for _, p := range sent.Parts {
		data, err := s.Blob(ctx, r.ID, p.Blob)
		if err != nil {
			return err
		}
		texts[p.Name], names = string(data), append(names, p.Name)
	}
	switch text, ok := texts[o.part]; {
	case o.part != "" && !ok:
		return pawl.Errorf(pawl.CodeNotFound, "%s was sent no part %q", sent.Place, o.part).WithHint("there are: %s", strings.Join(names, ", "))
	case app.JSON:
		return encode(app, sent, texts)
	case o.part != "":
		app.Print([]byte(text))
		return nil
	}
	app.Printf("=== %s, session %d, event %d\n", sent.Place, sent.Session, sent.Event)
	for _, cut := range sent.Cut {
		app.Printf("=== left out to fit: %s\n", cut)
	}
	for _, name := range names {
		app.Printf("=== %s, %d bytes\n", name, len(texts[name]))
		app.Print([]byte(texts[name]))
		if !strings.HasSuffix(texts[name], "\n") {
			app.Printf("\n")
		}
	}
	return nil
}

// encode writes a prompt as JSON, the tools as the list they are.
func encode(app *cli.App, sent view.Sent, texts map[string]string) error {
	doc := struct {
		view.Sent
		System string          `json:"system,omitempty"`
		Prompt string          `json:"prompt,omitempty"`
		Tools  json.RawMessage `json:"tools,omitempty"`
	}{Sent: sent, System: texts["system"], Prompt: texts["prompt"]}
	if tools := []byte(texts["tools"]); json.Valid(tools) {
		doc.Tools = tools
	}
	return app.Encode(doc)
}
