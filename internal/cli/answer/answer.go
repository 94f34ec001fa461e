// Package answer is pawl answer: the questions runs wait with, and the answers.
package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/plain"
	"pawl/internal/view"
)

type options struct{ text, about string }

// New is the command.
func New(app *cli.App) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "answer [RUN [N [CHOICE]]]",
		Short: "Show the questions that runs ask, or answer one",
		Long: `Answer without CHOICE shows open questions and what they are about: those of all
runs, those of RUN, or question N of RUN. With CHOICE it answers question N. The
first answer counts; a later one gets an error that names the first.

An answer applies to what the question was about when it was shown. It carries
the hash of that, and is refused if it has changed since. --about gives the hash
that was shown, or its beginning, for a program that answers later. The plan of
a tree of loops is approved by its hash only: pawl plan approve shows the plan
and asks.

A question that an agent asks (clarify) is answered in words with --text; CHOICE
may be left out. pawl inbox lists all questions and what led to them.

The command returns at once if another process drives the run. An interrupted
run continues here.

` + cli.RunExitCodes,
		Example: "  pawl answer\n  pawl answer 7 2\n  pawl answer 7 2 approve\n  pawl answer 7 2 revise --text \"keep the old API for a release\"\n  pawl answer 7 3 --text \"prices are in cents\"",
		Args:    cli.Args(0, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 3 || len(args) == 2 && o.text != "" {
				return o.give(cmd.Context(), app, args)
			}
			if o.text != "" || o.about != "" {
				return pawl.Errorf(pawl.CodeInvalid, "--text and --about belong to an answer, and there is no CHOICE").WithHint("pawl answer RUN N CHOICE")
			}
			return list(cmd.Context(), app, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), app, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
	}
	c.Flags().StringVar(&o.text, "text", "", "a `TEXT` of at most 1000 bytes to go with the answer")
	c.Flags().StringVar(&o.about, "about", "", "the `HASH` of what the question is about, as it was shown")
	return c
}

// number reads a question's number.
func number(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 {
		return 0, pawl.Errorf(pawl.CodeInvalid, "%q is not a question's number: want 1 or more", plain.Line(arg, 40)).WithHint("pawl answer shows the open questions")
	}
	return n, nil
}

// give answers a question.
func (o *options) give(ctx context.Context, app *cli.App, args []string) error {
	n, err := number(args[1])
	if err != nil {
		return err
	}
	const most = 1000
	if len(o.text) > most {
		return pawl.Errorf(pawl.CodeInvalid, "--text has %d bytes: want at most %d", len(o.text), most)
	}
	reply := pawl.Reply{Question: n, Text: o.text, By: app.User()}
	s, info, from, err := app.SteerFrom(ctx, args[:1], func(_ pawl.RunInfo, r *view.Run) (_ pawl.Steering, err error) {
		q := r.Question(n)
		if q != nil && q.Withdrawn != nil {
			return pawl.Steering{}, open(r, n)
		}
		if reply.Choice, err = o.choice(r, q, args[2:]); err != nil {
			return pawl.Steering{}, err
		}
		if reply.Choice == "approve" && o.about == "" && q.OfTree() {
			return pawl.Steering{}, pawl.Errorf(pawl.CodeInvalid, "an approval of this plan names it: give --about HASH, as it was shown").
				WithHint("pawl plan approve %s shows it and asks", r.ID)
		}
		reply.About, err = o.hash(q)
		return pawl.Steering{Verb: pawl.SteerAnswer, Answer: &reply}, err
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return app.Steered(ctx, s, from, "Question %d of run %s is answered: %s", n, info.ID, plain.Line(reply.Choice, 60))
}

// choice is what is chosen. A question that asks for what only a person knows is
// answered in words; where its first choice is to give them, the words say so.
func (o *options) choice(r *view.Run, q *view.Question, given []string) (string, error) {
	asks := q != nil && q.Kind == pawl.AskClarify && len(q.Choices) > 0
	switch {
	case len(given) == 0 && asks:
		return q.Choices[0], nil
	case len(given) == 0:
		return "", pawl.Errorf(pawl.CodeInvalid, "--text belongs to an answer, and there is no CHOICE").WithHint("pawl answer RUN N CHOICE")
	case asks && q.Open() && given[0] == q.Choices[0] && strings.TrimSpace(o.text) == "":
		return "", pawl.Errorf(pawl.CodeInvalid, "question %d asks for what only you know: say it with --text", q.N).
			WithHint(`pawl answer %s %d --text "…"`, r.ID, q.N)
	}
	return given[0], nil
}

// hash is what the answer is about: what the question is about now, or what the
// user was shown.
func (o *options) hash(q *view.Question) (pawl.Hash, error) {
	var now pawl.Hash
	if q != nil {
		now = q.About
	}
	const least = 8
	if o.about == "" || len(o.about) >= least && strings.HasPrefix(now.String(), strings.ToLower(o.about)) {
		return now, nil
	}
	var given pawl.Hash
	if err := given.UnmarshalText([]byte(o.about)); err != nil {
		if len(o.about) < least {
			return given, pawl.Errorf(pawl.CodeInvalid, "--about %q: want at least %d digits of the hash", plain.Line(o.about, 80), least)
		}
		return given, pawl.Errorf(pawl.CodeConflict, "the question is about %s, not about %s", now.Short(), plain.Line(o.about, 80)).
			WithHint("look at it again: pawl answer RUN N")
	}
	return given, nil
}

// asked is an open question for other programs.
type asked struct {
	Run pawl.RunID `json:"run"`
	view.QuestionRow
	view.Gist
	// Context is what led to it, one line each.
	Context []string `json:"context,omitempty"`
	// Shown is what it is about, as text.
	Shown string `json:"shown,omitempty"`
}

// list shows the open questions: of all runs, of one, or one of them.
func list(ctx context.Context, app *cli.App, args []string) error {
	var all []asked
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) (err error) {
		all, err = collect(ctx, app, s, args)
		return err
	})
	if err != nil {
		return err
	}
	defer s.Close()
	if app.JSON {
		return app.Encode(all)
	}
	if len(all) == 0 {
		app.Notef("nothing waits for an answer")
		return nil
	}
	for i, q := range all {
		if i > 0 {
			app.Printf("\n")
		}
		show(app, q)
	}
	return nil
}

func collect(ctx context.Context, app *cli.App, s *cli.Session, args []string) ([]asked, error) {
	runs, err := app.Asking(ctx, s, args)
	if err != nil {
		return nil, err
	}
	n := 0
	if len(args) > 1 {
		if n, err = number(args[1]); err != nil {
			return nil, err
		}
	}
	out := []asked{}
	for _, r := range runs {
		if n > 0 {
			if err := open(r, n); err != nil {
				return nil, err
			}
		}
		for _, q := range r.OpenQuestions() {
			if n > 0 && q.N != n {
				continue
			}
			shown, err := about(ctx, s, r.ID, q.About)
			if err != nil {
				return nil, err
			}
			out = append(out, asked{Run: r.ID, QuestionRow: r.QuestionRow(q), Gist: r.Gist(q, cli.Blobs(ctx, s, r.ID)), Context: r.Context(q, cli.Blobs(ctx, s, r.ID)), Shown: shown})
		}
	}
	return out, nil
}

// open says what became of a question that does not wait for an answer.
func open(r *view.Run, n int) error {
	switch q := r.Question(n); {
	case q == nil:
		return pawl.Errorf(pawl.CodeNotFound, "run %s has no question %d", r.ID, n).WithHint("pawl answer %s shows those that are open", r.ID)
	case q.Answered != nil:
		by := ""
		if q.Answered.By != "" {
			by = ", by " + q.Answered.By
		}
		return pawl.Errorf(pawl.CodeConflict, "question %d of run %s was answered already: %s", n, r.ID, plain.Line(q.Answered.Choice+by, 120))
	case q.Withdrawn != nil:
		return pawl.Errorf(pawl.CodeConflict, "question %d of run %s was withdrawn: %s", n, r.ID, plain.Line(q.Withdrawn.Reason, 200))
	}
	return nil
}

// about is what a question is about as text: JSON is indented.
func about(ctx context.Context, s *cli.Session, run pawl.RunID, h pawl.Hash) (string, error) {
	if h.IsZero() {
		return "", nil
	}
	data, err := s.Blob(ctx, run, h)
	if err != nil {
		return "", fmt.Errorf("read what a question of run %s is about: %w", run, err)
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") == nil {
		data = b.Bytes()
	}
	return plain.Text(string(data)), nil
}

func show(app *cli.App, q asked) {
	task := ""
	if q.Task != "" {
		task = " about task " + q.Task
	}
	app.Printf("Run %s, question %d (%s)%s: %s\n", q.Run, q.N, q.Kind, task, q.Text)
	for _, c := range q.Context {
		app.Printf("  · %s\n", c)
	}
	shown := strings.Split(strings.TrimRight(q.Shown, "\n"), "\n")
	switch asks := q.Lines(); {
	case len(q.Findings) > 0:
		shown = strings.Split(strings.TrimRight(view.FindingsText(q.Findings), "\n"), "\n")
	case len(asks) > 0 && len(q.Tasks) == 0:
		shown = asks // and all around it says nothing that an answer needs
	}
	if q.Shown != "" {
		app.Printf("\n    %s\n\n  about   %s\n", strings.Join(shown, "\n    "), q.About.Short())
	}
	app.Printf("  choices %s\n", strings.Join(q.Choices, ", "))
	for i, means := range q.Means {
		if means != "" {
			app.Printf("          %s: %s\n", q.Choices[i], means)
		}
	}
	answer := q.Answer
	if q.Kind == pawl.AskClarify {
		answer += ` --text "…"`
	}
	app.Printf("  answer  %s\n", answer)
}

// complete offers runs that ask, their open questions, and the choices.
func complete(ctx context.Context, app *cli.App, args []string) []string {
	s, err := app.Open(ctx, cli.Read)
	if err != nil {
		return nil
	}
	defer s.Close()
	var first []string
	if len(args) > 0 {
		first = args[:1]
	}
	all, err := collect(ctx, app, s, first)
	if err != nil {
		return nil
	}
	var out []string
	for _, q := range all {
		switch {
		case len(args) == 0 && !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, string(q.Run)+"\t") }):
			out = append(out, string(q.Run)+"\t"+plain.Line(q.Text, 60))
		case len(args) == 1:
			out = append(out, fmt.Sprintf("%d\t%s", q.N, plain.Line(q.Text, 60)))
		case len(args) == 2 && strconv.Itoa(q.N) == args[1]:
			out = append(out, q.Choices...)
		}
	}
	return out
}
