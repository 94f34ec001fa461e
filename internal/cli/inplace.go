package cli

import (
	"bufio"
	"context"
	"io"
	"strings"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// A plan that waits for a person is shown to whoever follows its run on a terminal,
// and decided on there. What approves or rejects it names it by the beginning of its
// hash: no line that was typed for something else does.

// typing are the lines that a person types while a run is followed. They are read
// from when the first is wanted, by one reader, however often following begins again.
type typing struct {
	out  chan string
	over bool          // the input has ended
	done chan struct{} // nobody follows any more
}

// lines begins to read.
func (t *typing) lines(in io.Reader) <-chan string {
	if t.out == nil {
		t.out = make(chan string)
		go func() { // ends with the input, with the line after done, or with the process
			defer close(t.out)
			for r := bufio.NewReader(io.LimitReader(in, 1<<20)); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				select {
				case t.out <- line:
				case <-t.done:
					return
				}
			}
		}()
	}
	return t.out
}

// ReadAnswer reads the line that is typed in answer to a question, and nothing after it.
// Ctrl-C ends the wait with the error of ctx.
func (a *App) ReadAnswer(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	typed := make(chan read, 1)
	go func() { // ends with the line, with the input, or with the process
		line, err := readLine(a.In)
		typed <- read{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-typed:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads a line byte by byte, so that it consumes nothing after it.
func readLine(in io.Reader) (string, error) {
	const most = 1 << 20 // bytes
	var line []byte
	for b := make([]byte, 1); len(line) < most; {
		if _, err := io.ReadFull(in, b); err != nil {
			return string(line), err
		}
		if b[0] == '\n' {
			break
		}
		line = append(line, b[0])
	}
	return string(line), nil
}

// asking is whether and what a follower asks in place.
type asking struct {
	typed *typing // nil where nobody is asked
	in    io.Reader
	shown view.PlanPreview // what is decided on; no question when nothing is
	later int              // a question the person does not want to answer now
}

func newAsking(a *App, o FollowOptions) *asking {
	if o.typed == nil || a.JSON || !a.Interactive || !a.Terminal || a.In == nil || o.Show != nil {
		return &asking{}
	}
	return &asking{typed: o.typed, in: a.In}
}

func (k *asking) open() bool { return k.shown.Question > 0 }

// lines is what is typed. Once something was asked, what is typed while nothing is
// asked is taken too, and is for nothing.
func (k *asking) lines() <-chan string {
	if k.typed == nil || k.typed.over || !k.open() && k.typed.out == nil {
		return nil
	}
	return k.typed.lines(k.in)
}

// digits is the beginning of the hash of what was shown, as an answer names it.
func (k *asking) digits() string { return k.shown.About.String()[:4] }

// choices are what can be typed.
func (k *asking) choices() string {
	return strings.ReplaceAll(`  a HASH         approve it and create its loops
  i TEXT         have it made again, with your feedback
  r HASH [TEXT]  reject it and end the run as failed
  Enter          decide later
> `, "HASH", k.digits())
}

// askInPlace shows a plan that waits for a person, and takes the question back when
// somebody else has answered it.
func (f *follower) askInPlace(ctx context.Context) error {
	k, r := f.asking, f.progress.Run()
	if k.typed == nil || k.typed.over {
		return nil
	}
	all := r.Records.Awaiting()
	if len(all) == 0 {
		k.shown = view.PlanPreview{}
		return nil
	}
	if k.open() || len(all[0].Questions) == 0 || all[0].Questions[0] == k.later || r.Status != pawl.StatusRunning {
		return nil
	}
	p, err := r.PlanPreview(all[0], Blobs(ctx, f.s, f.run))
	switch {
	case err != nil: // it can be decided on elsewhere
		f.note("the plan cannot be shown here: %v", err)
		k.later = all[0].Questions[0]
		return nil
	case p.Question == 0 || p.Question == k.later: // the log says that it waits
		return nil
	}
	k.shown = p
	if err := f.progress.Close(); err != nil {
		return err
	}
	f.app.Printf("\n%s\n%s", view.PlanText(p, f.app.Width()), k.choices())
	return nil
}

// answer takes what was typed about the plan that was shown.
func (f *follower) answer(ctx context.Context, line string) error {
	k := f.asking
	if !k.open() {
		return nil
	}
	p := k.shown
	if strings.TrimSpace(line) == "" {
		k.later, k.shown = p.Question, view.PlanPreview{}
		f.note("the plan still waits. Decide later: pawl plan show %s", f.run)
		return nil
	}
	choice, text := k.read(line)
	if choice == "" {
		f.app.Printf("%s", k.choices())
		return nil
	}
	q := f.progress.Run().Question(p.Question)
	if q == nil {
		return nil
	}
	err := f.s.Steer(ctx, f.run, pawl.Steering{Verb: pawl.SteerAnswer,
		Answer: &pawl.Reply{Question: p.Question, Choice: view.PlanChoice(q, choice), Text: text, By: f.app.User(), About: p.About}})
	switch pawl.CodeOf(err) {
	case pawl.CodeConflict, pawl.CodeState, pawl.CodeNotFound: // somebody else was first
		f.note("%s", plain.Line(err.Error(), 0))
		err = nil
	}
	k.later, k.shown = p.Question, view.PlanPreview{}
	return err
}

// read is what a line chooses, and what it says besides; no choice when it chooses
// nothing.
func (k *asking) read(line string) (choice, text string) {
	const most = 1000
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	hash, more, _ := strings.Cut(strings.TrimSpace(rest), " ")
	rest, more = strings.TrimSpace(rest), strings.TrimSpace(more)
	named := len(hash) >= len(k.digits()) && strings.HasPrefix(k.shown.About.String(), strings.ToLower(hash))
	switch {
	case len(rest) > most:
	case word == "a" && named && more == "":
		return "approve", ""
	case word == "r" && named:
		return "reject", more
	case word == "i" && rest != "":
		return "iterate", rest
	}
	return "", ""
}
