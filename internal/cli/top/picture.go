package top

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// gap is the space between columns.
const gap = 2

// picture is the load in lines; no line is wider than width unless that is zero.
func picture(s seen, titles map[place]string, width int) []string {
	lines := pools(s.Load, width)
	lines = append(lines, "")
	if len(s.Runs) == 0 {
		return append(lines, "No run has a place or waits for one.")
	}
	return append(lines, runs(s, titles, width)...)
}

func pools(l pawl.Load, width int) []string {
	rows := [][]string{{"POOL", "USED", "WAIT", ""}}
	for _, p := range l.Pools {
		rows = append(rows, []string{plain.Line(p.Name, 30), fmt.Sprintf("%d/%d", p.Used, p.Slots), count(p.Waiting), closed(p, l.At)})
	}
	return table(rows, nil, width)
}

// closed says which accounts are closed, until when, and why.
func closed(p pawl.PoolLoad, now time.Time) string {
	var out []string
	for _, a := range p.Accounts {
		s := "opens in " + span(a.Until.Sub(now)) + " (" + plain.Line(a.Account, 0) + ")"
		if why := plain.Line(a.Why, 0); why != "" {
			s += ": " + why
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// runs is a line for each run. The name of its project is there when there are several.
func runs(s seen, titles map[place]string, width int) []string {
	roots := map[string]string{}
	for _, p := range s.Projects {
		roots[p.ID] = filepath.Base(p.Root)
	}
	rows := [][]string{{"RUN", "PROJECT", "HAS", "SHARE", "USED", "WAITS FOR", "SPENT", "HELD", "LOST", "TITLE"}}
	var all pawl.Money
	for _, r := range s.Runs {
		var m pawl.Money
		if r.Money != nil {
			m = *r.Money
		}
		all.Add(m)
		project := roots[r.Project]
		if project == "" {
			project = r.Project
		}
		waits := ""
		if r.Waiting > 0 {
			waits = fmt.Sprintf("%d %s", r.Waiting, plain.Line(r.For, 20))
		}
		rows = append(rows, []string{plain.Line(string(r.Run), 0), plain.Line(project, 20), count(r.Running),
			fmt.Sprintf("%d%%", r.Share), span(r.Used), waits, some(m.Spent), some(m.Held), some(m.Lost), plain.Line(titles[place{r.Project, r.Run}], 0)})
	}
	for i, sum := range []pawl.Micros{all.Lost, all.Held, all.Spent} { // what nobody has is no column
		for j := range rows {
			if at := 8 - i; sum == 0 {
				rows[j] = slices.Delete(rows[j], at, at+1)
			}
		}
	}
	shrink := []int{len(rows[0]) - 1, 0, 1}
	if len(roots) < 2 {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
		shrink = []int{len(rows[0]) - 1, 0}
	}
	return table(rows, shrink, width)
}

// some is an amount, or a dash for none.
func some(m pawl.Micros) string {
	if m == 0 {
		return "-"
	}
	return m.String()
}

// least is what a column keeps when others need its room.
const least = 12

// table puts rows into columns. Where they are too wide, those in shrink give way, the
// first one first, down to their least; what is too wide still is cut.
func table(rows [][]string, shrink []int, width int) []string {
	widths := make([]int, len(rows[0]))
	sum := gap * (len(widths) - 1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
		sum += widths[i]
	}
	for _, i := range shrink {
		if over := sum - width; width > 0 && over > 0 && widths[i] > least {
			cut := min(over, widths[i]-least)
			widths[i], sum = widths[i]-cut, sum-cut
		}
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			cell = ansi.Truncate(cell, widths[i], "…")
			b.WriteString(cell + strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(cell))+gap))
		}
		line := strings.TrimRight(b.String(), " ")
		if width > 0 {
			line = ansi.Truncate(line, width, "…")
		}
		out = append(out, line)
	}
	return out
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// span is a time in its two largest units.
func span(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second)/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d/time.Minute), int(d%time.Minute/time.Second))
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}
