package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/view"
)

// todoRows are what is to do in the chosen run.
func (m *Model) todoRows(int) []row {
	s := m.run()
	if s == nil || !s.read {
		return []row{say(dim, "reading…")}
	}
	list := view.Todos(s.run)
	if list.Version == 0 {
		return []row{say(dim, "the run has no list of tasks yet")}
	}
	out := []row{{{string(list.Run), bold}, {fmt.Sprintf("  %d completed, %d in progress, %d not started", list.Completed, list.InProgress, list.NotStarted), dim}}, {}}
	for _, t := range list.Todos {
		sign, i := "○", normal
		switch t.State {
		case view.TodoCompleted:
			sign, i = "✓", green
		case view.TodoInProgress:
			sign, i = "●", cyan
		}
		r := row{{sign + " ", i}, {fmt.Sprintf("%3d. [%s] ", t.N, t.State), i}, {t.Text, normal}}
		if t.Note != "" {
			r = append(r, span{" · " + t.Note, yellow})
		}
		out = append(out, r)
	}
	return out
}

// bar is how much of a limit is used, in so many columns.
func bar(used, limit int64, width int) (string, ink) {
	if limit <= 0 {
		return strings.Repeat(" ", width), normal
	}
	n := int(min(int64(width), used*int64(width)/limit))
	i := green
	switch {
	case used >= limit:
		i = red
	case used*5 >= limit*4: // where the run itself warns
		i = yellow
	}
	return strings.Repeat("█", n) + strings.Repeat("░", width-n), i
}

// budgetRows are what the chosen run has used of its limits, by whom, and what all
// runs together have.
func (m *Model) budgetRows(width int) []row {
	var out []row
	if s := m.run(); s != nil && s.read {
		out = append(out, m.spentRows(s, width)...)
		out = append(out, row{})
		out = append(out, m.loopSums(s, width)...)
		out = append(out, row{})
	}
	var sum pawl.Money
	live, all := 0, 0
	for _, p := range m.projects {
		for _, r := range p.runs {
			sum.Add(r.Figures())
			all++
			if r.Status == pawl.StatusRunning {
				live++
			}
		}
	}
	out = append(out, row{{"All runs", bold}, {fmt.Sprintf("  %d, %d active · %s%s · %s%s tokens", all, live,
		sum.Spent, view.Beside(pawl.Micros.String, sum.Held, sum.Lost), grouped(sum.SpentTokens), view.Beside(grouped, sum.HeldTokens, sum.LostTokens)), normal}})
	return append(out, m.loadRows()...)
}

func (m *Model) spentRows(s *shown, width int) []row {
	r := s.run
	wide := max(8, min(40, width-46))
	out := []row{{{string(r.ID), bold}, {"  " + r.Start.Title, normal}}, {}}
	line := func(name, used, more, limit string, n, top int64) {
		b, i := bar(n, top, wide)
		of := "no limit"
		if top > 0 {
			of = fmt.Sprintf("of %s, %d%%", limit, n*100/top)
		}
		out = append(out, row{{fmt.Sprintf("  %-11s", name), dim}, {pad(used, 12) + " ", bold}, {b, i}, {" " + of, normal}})
		if more != "" {
			out = append(out, row{{pad("", 13), dim}, {strings.TrimPrefix(more, " "), normal}})
		}
	}
	sum := r.Money()
	if !r.Settings.NoCost {
		line("money", sum.Spent.String(), view.Beside(pawl.Micros.String, sum.Held, sum.Lost), r.Limits.Money.String(),
			int64(sum.Spent+sum.Held+sum.Lost), int64(r.Limits.Money))
	}
	line("tokens", grouped(sum.SpentTokens), view.Beside(grouped, sum.HeldTokens, sum.LostTokens), grouped(r.Limits.Tokens),
		sum.SpentTokens+sum.HeldTokens+sum.LostTokens, r.Limits.Tokens)
	alive := r.AliveAt(m.now).Truncate(time.Minute)
	line("time", span2(alive), "", span2(r.Limits.Time), int64(alive), int64(r.Limits.Time))
	if it := newest(s.root()); it != nil {
		line("iterations", itoa(it.N), "", itoa(it.Max), int64(it.N), int64(it.Max))
	}
	return out
}

// loopSums are what each loop has spent, holds and has lost, the dearest first.
func (m *Model) loopSums(s *shown, width int) []row {
	if len(s.run.Records.Loops) < 2 {
		return nil
	}
	const shownLoops = 12
	loops := slices.DeleteFunc(slices.Clone(s.run.Records.Loops[1:]), func(r *view.Record) bool { return r.Money == (pawl.Money{}) })
	slices.SortStableFunc(loops, func(a, b *view.Record) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Tokens, a.Tokens))
	})
	out := []row{row{{"By loop", bold}, {"  with what is below it", dim}}}
	for i, rec := range loops {
		if i == shownLoops {
			out = append(out, say(dim, fmt.Sprintf("  and %d others", len(loops)-shownLoops)))
			break
		}
		b, _ := bar(rec.Tokens, max(1, s.run.Tokens), 10)
		sum, spent, more := rec.Money, "", ""
		if !s.run.Settings.NoCost {
			spent, more = sum.Spent.String(), view.Beside(pawl.Micros.String, sum.Held, sum.Lost)
		}
		out = append(out, m.pen.ends(row{{pad(spent, 12) + "  ", normal}, {b + " ", dim}, {rec.LoopType + " " + rec.Name(), normal}},
			say(dim, grouped(sum.SpentTokens)+" tokens"), width))
		if tokens := view.Beside(grouped, sum.HeldTokens, sum.LostTokens); more+tokens != "" {
			out = append(out, m.pen.ends(row{{pad("", 4), dim}, {more, normal}}, say(dim, strings.TrimPrefix(tokens, " ")+" tokens"), width))
		}
	}
	return out
}

// loadRows are what the places of the machine are used for.
func (m *Model) loadRows() []row {
	if m.load == nil || len(m.load.Pools) == 0 {
		return nil
	}
	out := []row{{}, say(bold, "Machine")}
	for _, p := range m.load.Pools {
		b, i := bar(int64(p.Used), int64(p.Slots), 10)
		r := row{{fmt.Sprintf("  %-20s ", p.Name), normal}, {b, i}, {fmt.Sprintf(" %d of %d", p.Used, p.Slots), normal}}
		if p.Waiting > 0 {
			r = append(r, span{fmt.Sprintf(", %d wait", p.Waiting), yellow})
		}
		for _, a := range p.Accounts {
			if a.Until.After(m.now) {
				r = append(r, span{fmt.Sprintf(", opens in %s (%s): %s", coarse(a.Until.Sub(m.now)), a.Account, a.Why), yellow})
			}
		}
		out = append(out, r)
	}
	return out
}

// grouped is a number with commas.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// span2 is a duration of hours and minutes.
func span2(d time.Duration) string {
	s := strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	if s == "" {
		return "<1m"
	}
	return strings.TrimSuffix(s, "0m")
}
