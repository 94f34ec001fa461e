// Package show is pawl show: one run on one screen, its report, or what a model
// was sent.
package show

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

type options struct {
	prompt, part   string
	transcript     string
	lines          int
	report, answer bool
	raw            bool
}

// What --prompt and --transcript mean without a step.
const (
	newest = "newest"
	all    = "all"
)

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

With --prompt it prints what a session was sent at its start: the newest
session, or the one whose place ends in STEP, such as implement, 2/implement,
council/skeptic or parser/1/executor for a task, or the newest session of a task
by its id, or the one called session-N or event-N. A prefix loop-N/ looks in
that loop only. With --part system, prompt or tools it prints only that part,
and with --raw byte for byte.

With --transcript it prints what was said and done, session by session and turn
by turn: the prompt, the model's text, each tool call with its arguments and its
output, the tokens and the cost: of all sessions, or of those that STEP names as
above, or by a loop's id; an iteration is task/2 or parser/2. Of a turn of a
coding agent it prints all that the agent said and did, also if the turn failed.
Of each text it shows the first and the last lines, --lines of them, and counts
the others; with --json the texts are whole. pawl logs --full -f shows the same
as it happens, or for a coding agent at the end of each turn.

With --answer it prints what the run says at its end, whole and nothing else:
the answer or the summary that a step wrote last.

` + cli.ExitCodes,
		Example: `  pawl show
  pawl show 7 --report
  pawl show 7 --prompt=2/implement
  pawl show 7 --prompt=implement --part prompt > prompt.md
  pawl show 7 --transcript=2/implement
  pawl show 7 --answer`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckLines(cmd, "transcript"); err != nil {
				return err
			}
			ctx := cmd.Context()
			s, info, r, err := app.ReadRun(ctx, args)
			if err != nil {
				return misplaced(cmd, err)
			}
			defer s.Close()
			switch {
			case cmd.Flags().Changed("transcript"):
				return o.showTranscript(ctx, app, s, r)
			case o.answer:
				return showAnswer(ctx, app, s, r)
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
	f.StringVar(&o.part, "part", "", "print only this `PART` of it: system, prompt or tools")
	f.StringVar(&o.transcript, "transcript", all, "print what was said and done in all sessions, or in those of =`STEP`")
	f.Lookup("transcript").NoOptDefVal = all
	f.Lookup("transcript").DefValue = ""
	cli.LinesFlag(f, &o.lines, "transcript")
	cli.RawFlag(c, &o.raw)
	f.BoolVar(&o.report, "report", false, "print the report on the whole run")
	f.BoolVar(&o.answer, "answer", false, "print what the run says at its end")
	for i, one := range []string{"prompt", "transcript", "report", "answer"} {
		for _, other := range []string{"prompt", "transcript", "report", "answer"}[i+1:] {
			c.MarkFlagsMutuallyExclusive(one, other)
		}
		if i > 0 {
			c.MarkFlagsMutuallyExclusive("part", one)
		}
	}
	_ = c.RegisterFlagCompletionFunc("part", cobra.FixedCompletions([]string{"system", "prompt", "tools"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// misplaced hints at how a step is written where one was taken for a run.
func misplaced(cmd *cobra.Command, err error) error {
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok || e.Code != pawl.CodeNotFound || cmd.Flags().NArg() == 0 {
		return err
	}
	for _, name := range []string{"prompt", "transcript"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == f.NoOptDefVal {
			return e.WithHint("pawl list shows the runs; a step is written --%s=%s", name, plain.Line(cmd.Flags().Arg(0), 60))
		}
	}
	return err
}

func showRun(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run, info pawl.RunInfo) error {
	blobs := cli.Blobs(ctx, s, r.ID)
	if !app.JSON {
		app.Printf("%s", view.Show(r, blobs, cli.ShownDocuments(r, blobs)...))
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
		return app.Encode(struct {
			Run     pawl.RunID   `json:"run"`
			Outcome pawl.Outcome `json:"outcome"`
			Report  string       `json:"report"`
			Answer  *view.Answer `json:"answer,omitempty"`
		}{r.ID, r.Outcome, report, view.AnswerOf(r, cli.Blobs(ctx, s, r.ID))})
	}
	app.Printf("%s", report)
	return nil
}

func showAnswer(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	answer := view.AnswerOf(r, cli.Blobs(ctx, s, r.ID))
	switch {
	case answer == nil && r.Outcome == "":
		return pawl.Errorf(pawl.CodeNotFound, "run %s has not ended, so it has no answer yet", r.ID).WithHint("pawl show %s --transcript shows what was said so far", r.ID)
	case answer == nil:
		return pawl.Errorf(pawl.CodeNotFound, "run %s ended without an answer: no session wrote one", r.ID).WithHint("pawl why %s says why it ended", r.ID)
	case app.JSON:
		return app.Encode(answer)
	}
	app.Printf("%s\n", answer.Text)
	return nil
}

func (o *options) showTranscript(ctx context.Context, app *cli.App, s *cli.Session, r *view.Run) error {
	selector := o.transcript
	if selector == all {
		selector = ""
	}
	t, err := view.Transcribe(r, selector, cli.Blobs(ctx, s, r.ID))
	if err != nil {
		return err
	}
	if app.JSON {
		return app.Encode(struct {
			Run     pawl.RunID             `json:"run"`
			Entries []view.TranscriptEntry `json:"entries"`
		}{r.ID, slices.AppendSeq([]view.TranscriptEntry{}, t.BySession)})
	}
	_, color := app.Screen()
	return t.Write(app.Out, color, *cli.TranscriptOptions(o.lines))
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
		app.Print([]byte(text), o.raw)
		return nil
	}
	app.Printf("=== %s, session %d, event %d\n", sent.Place, sent.Session, sent.Event)
	for _, cut := range sent.Cut {
		app.Printf("=== left out to fit: %s\n", cut)
	}
	for _, name := range names {
		app.Printf("=== %s, %d bytes\n", name, len(texts[name]))
		app.Print([]byte(texts[name]), o.raw)
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
