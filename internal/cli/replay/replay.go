// Package replay is pawl replay: prove that everything shown of a run follows
// from its log.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/view"
)

// Refold is a run's line as the kernel makes it from these events.
type Refold func(events []pawl.Event) (pawl.RunInfo, error)

// Result is what a replay found.
type Result struct {
	Run         pawl.RunID   `json:"run"`
	Events      int          `json:"events"`
	Projections []Projection `json:"projections"`
}

// Projection is one thing that follows from the log, compared between replays.
type Projection struct {
	Name  string    `json:"name"`
	Bytes int       `json:"bytes"`
	Hash  pawl.Hash `json:"sha256"`
	// Difference is empty where all replays agree, else the first one.
	Difference string `json:"difference,omitempty"`
}

// New is the command.
func New(app *cli.App, refold Refold) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay [RUN]",
		Short: "Fold a run's log again and compare everything derived from it",
		Long: `Replay reads a run's log twice, folds it each time with the kernel and with the
views, and compares the results byte for byte: the events, the run's entry in
lists as it is stored and as the kernel and the views compute it, the state
file, every report, show, why and the lines of the log. It also reads every blob
that the events name. A difference means that stored data is damaged or that a
projection is wrong. Without RUN it checks the latest run.

` + cli.ExitCodes,
		Example: "  pawl replay\n  pawl replay 7 --json | jq -r '.projections[].sha256'",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, info, err := app.OpenRun(ctx, cli.Read, args, nil)
			if err != nil {
				return err
			}
			defer s.Close()
			result, err := compare(ctx, s, info, refold)
			if err != nil {
				return err
			}
			return result.show(app)
		},
	}
	cli.RunArgs(c, app, false)
	return c
}

// compare folds the log twice. A run at work has new events the second time:
// those beyond what the first reading saw are left out.
func compare(ctx context.Context, s *cli.Session, stored pawl.RunInfo, refold Refold) (*Result, error) {
	if err := cli.Examine(ctx, s, stored.ID); err != nil {
		return nil, err
	}
	first, err := read(ctx, s, stored.ID, 0)
	if err != nil {
		return nil, err
	}
	second, err := read(ctx, s, stored.ID, len(first))
	if err != nil {
		return nil, err
	}
	blobs := cli.Blobs(ctx, s, stored.ID)
	a, err := project(first, blobs, refold)
	if err != nil {
		return nil, err
	}
	b, err := project(second, blobs, refold)
	if err != nil {
		return nil, err
	}
	result := &Result{Run: stored.ID, Events: len(first)}
	for i, d := range a {
		p := Projection{Name: d.Name, Bytes: len(d.Data), Hash: pawl.HashOf(d.Data)}
		if i >= len(b) || b[i].Name != d.Name {
			p.Difference = "the second replay does not have it"
		} else {
			p.Difference = difference(d.Data, b[i].Data)
		}
		result.Projections = append(result.Projections, p)
	}
	line, err := lines(first, stored, refold)
	if err != nil {
		return nil, err
	}
	result.Projections = append(result.Projections, line)
	return result, nil
}

// read reads a run's events, at most so many when most is not zero.
func read(ctx context.Context, s *cli.Session, run pawl.RunID, most int) ([]pawl.Event, error) {
	var out []pawl.Event
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if len(out) == most {
			break
		}
	}
	if len(out) == 0 {
		return nil, pawl.Errorf(pawl.CodeDamaged, "run %s has no events", run)
	}
	return out, nil
}

// project makes everything that follows from events.
func project(events []pawl.Event, blobs view.Blobs, refold Refold) ([]cli.Document, error) {
	r := view.New()
	var log, all bytes.Buffer
	for _, e := range events {
		r.Apply(e)
		fmt.Fprintf(&log, "%d %s\n", e.Seq, view.Line(e, r, blobs))
		data, err := json.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("encode event %d: %w", e.Seq, err)
		}
		all.Write(append(data, '\n'))
	}
	kernel, err := refold(events)
	if err != nil {
		return nil, fmt.Errorf("fold run %s: %w", r.ID, err)
	}
	kernelLine, err := json.Marshal(kernel)
	if err != nil {
		return nil, fmt.Errorf("encode the line of run %s: %w", r.ID, err)
	}
	show, err := view.ShowJSON(r, blobs)
	if err != nil {
		return nil, err
	}
	documents, err := cli.Documents(r, blobs)
	if err != nil {
		return nil, err
	}
	out := []cli.Document{{Name: "events", Data: all.Bytes()}, {Name: "kernel's line", Data: kernelLine}, {Name: "log lines", Data: log.Bytes()}}
	out = append(out, documents...)
	return append(out, cli.Document{Name: "show", Data: []byte(view.Show(r, blobs))}, cli.Document{Name: "show --json", Data: show},
		cli.Document{Name: "why", Data: []byte(view.WhyText(r))}), nil
}

// lines compares the run's line as the kernel and as the views make it, and as
// it is stored. The stored one is of the event its number names: it is replaced
// when something in it changes that lists are sorted or read by.
func lines(events []pawl.Event, stored pawl.RunInfo, refold Refold) (Projection, error) {
	kernel, err := refold(events)
	if err != nil {
		return Projection{}, err
	}
	ours := view.Info(events)
	p := Projection{Name: "line: kernel, view, store"}
	a, err := json.Marshal(kernel)
	if err != nil {
		return p, fmt.Errorf("encode the run's line: %w", err)
	}
	b, err := json.Marshal(ours)
	if err != nil {
		return p, fmt.Errorf("encode the run's line: %w", err)
	}
	p.Bytes, p.Hash = len(a), pawl.HashOf(a)
	if p.Difference = difference(a, b); p.Difference != "" {
		p.Difference = "kernel and view: " + p.Difference
		return p, nil
	}
	at := slices.IndexFunc(events, func(e pawl.Event) bool { return e.Seq == stored.Seq })
	if at < 0 || stored.Status == pawl.StatusQuarantined {
		return p, nil // it was made after we read, or says what no event says
	}
	then := view.Info(events[:at+1])
	if stored.Status == cli.StatusInterrupted && (then.Status == pawl.StatusRunning || then.Status == pawl.StatusStopping) {
		stored.Status = then.Status // nobody drives it: that is not in the log
	}
	if stored.Money == nil { // an earlier version stored it
		then.Money = nil
	}
	if a, err = json.Marshal(then); err == nil {
		b, err = json.Marshal(stored)
	}
	if err != nil {
		return p, fmt.Errorf("encode the run's line: %w", err)
	}
	if d := difference(a, b); d != "" {
		p.Difference = "view and store: " + d
	}
	return p, nil
}

// difference shows the first place where two texts differ; empty when they do not.
func difference(a, b []byte) string {
	if bytes.Equal(a, b) {
		return ""
	}
	at, line := 0, 1
	for at < len(a) && at < len(b) && a[at] == b[at] {
		if a[at] == '\n' {
			line++
		}
		at++
	}
	around := func(s []byte) []byte { return s[max(0, at-20):min(len(s), at+40)] }
	return fmt.Sprintf("at byte %d, line %d: %q and %q", at, line, around(a), around(b))
}

func (r *Result) show(app *cli.App) error {
	differs := 0
	for _, p := range r.Projections {
		if p.Difference != "" {
			differs++
		}
	}
	if app.JSON {
		if err := app.Encode(r); err != nil {
			return err
		}
	} else {
		app.Printf("Run %s, %d events, folded twice\n", r.Run, r.Events)
		for _, p := range r.Projections {
			if p.Difference != "" {
				app.Printf("  DIFFERS  %s: %s\n", p.Name, p.Difference)
				continue
			}
			app.Printf("  OK       %-26s %8d bytes  %s\n", p.Name, p.Bytes, p.Hash.Short())
		}
	}
	if differs > 0 {
		return pawl.Errorf(pawl.CodeDamaged, "%d of %d projections of run %s differ", differs, len(r.Projections), r.Run)
	}
	return nil
}
