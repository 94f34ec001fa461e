package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Comparison is what two revisions of Pawl needed for the same work, measured in turn.
type Comparison struct {
	Machine string    `json:"machine"`
	At      time.Time `json:"at"`
	Older   Revision  `json:"older"`
	Newer   Revision  `json:"newer"`
	Rounds  int       `json:"rounds"`
	// LoadBefore and LoadAfter are the machine's load averages; nil = not known on this system.
	LoadBefore []float64  `json:"load_before,omitempty"`
	LoadAfter  []float64  `json:"load_after,omitempty"`
	Sections   []Compared `json:"sections"`
}

// Compared is a section in both revisions.
type Compared struct {
	Section string `json:"section"`
	// Skipped says why it was not compared; empty if it was.
	Skipped string `json:"skipped,omitempty"`
	// Borrowed says that the older program lacks the section, so that the newer one measured it.
	Borrowed bool     `json:"borrowed,omitempty"`
	First    []string `json:"first,omitempty"` // which program was measured first, by round
	Figures  []Figure `json:"figures,omitempty"`
	// Settings are numbers that say how much was measured and that differ.
	Settings []Figure `json:"settings,omitempty"`
	// OnlyOlder and OnlyNewer are the figures that only one program gave in every round.
	OnlyOlder []string `json:"only_older,omitempty"`
	OnlyNewer []string `json:"only_newer,omitempty"`
}

// Figure is one number of both programs.
type Figure struct {
	Path  string `json:"path"`
	Older Values `json:"older"`
	Newer Values `json:"newer"`
	// Ratio is the newer median divided by the older one, and Ratios are those of the rounds; nil if one
	// of the numbers is not above 0.
	Ratio  *float64 `json:"ratio,omitempty"`
	Ratios *Values  `json:"ratios,omitempty"`
}

// Values are numbers of several rounds.
type Values struct {
	Rounds []float64 `json:"rounds"` // in their order
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
}

// valuesOf returns the numbers of rounds, of which there is at least one, with their median.
func valuesOf(rounds []float64) Values {
	sorted := slices.Sorted(slices.Values(rounds))
	n := len(sorted)
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return Values{Rounds: rounds, Median: median, Min: sorted[0], Max: sorted[n-1]}
}

// figures are the numbers of one report, by path.
type figures map[string]float64

// labels are the members by which the elements of a list in a report are known, by the list's name. The
// elements of other lists are known by their index.
func labels(list string) []string {
	switch list {
	case "iterations":
		return []string{"files"}
	case "decide":
		return []string{"shape"}
	case "durable_steps":
		return []string{"runs", "loops"}
	case "agents":
		return []string{"agent"}
	}
	return nil
}

// readFigures returns the numbers of a report in JSON.
func readFigures(report []byte) (figures, error) {
	var all map[string]any
	if err := json.Unmarshal(report, &all); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	out := figures{}
	out.add("", all)
	return out, nil
}

// add adds the numbers in a value at a path.
func (f figures) add(at string, value any) {
	switch v := value.(type) {
	case float64:
		f[at] = v
	case map[string]any:
		for name, member := range v {
			f.add(strings.TrimPrefix(at+"."+name, "."), member)
		}
	case []any:
		for i, element := range v {
			f.add(fmt.Sprintf("%s[%s]", at, label(leaf(at), element, i)), element)
		}
	}
}

// label returns what an element of a list is known by.
func label(list string, element any, index int) string {
	members, is := element.(map[string]any)
	var known []string
	for _, name := range labels(list) {
		if value, ok := members[name]; is && ok {
			known = append(known, fmt.Sprint(value))
		}
	}
	if len(known) == 0 {
		return strconv.Itoa(index)
	}
	return strings.Join(known, ",")
}

// leaf returns the last name in a path.
func leaf(at string) string { return at[strings.LastIndexByte(at, '.')+1:] }

// isSetting reports whether a number says how much was measured.
func isSetting(at string) bool {
	return slices.Contains([]string{"files", "runs", "live_runs", "times", "projects", "loops", "events", "events_each", "rounds", "watchers", "stalled"}, leaf(at))
}

// compare compares the numbers of two programs in the same rounds.
func compare(older, newer []figures) (c Compared) {
	paths := map[string]bool{}
	for _, round := range slices.Concat(older, newer) {
		for at := range round {
			paths[at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(paths)) {
		was, inOlder := rounds(older, at)
		is, inNewer := rounds(newer, at)
		switch {
		case inOlder && inNewer && isSetting(at):
			if f := figure(at, was, is); f.Older.Min != f.Newer.Max || f.Older.Max != f.Newer.Min {
				c.Settings = append(c.Settings, f)
			}
		case inOlder && inNewer:
			c.Figures = append(c.Figures, figure(at, was, is))
		case inOlder:
			c.OnlyOlder = append(c.OnlyOlder, at)
		case inNewer:
			c.OnlyNewer = append(c.OnlyNewer, at)
		}
	}
	return c
}

// rounds returns the number at a path in each round; ok is false if a round has none.
func rounds(of []figures, at string) (out []float64, ok bool) {
	for _, round := range of {
		v, ok := round[at]
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, len(out) > 0
}

// figure compares the numbers at a path.
func figure(at string, older, newer []float64) Figure {
	f := Figure{Path: at, Older: valuesOf(older), Newer: valuesOf(newer)}
	if f.Older.Min <= 0 || f.Newer.Min <= 0 {
		return f
	}
	var ratios []float64
	for i := range min(len(older), len(newer)) {
		ratios = append(ratios, newer[i]/older[i])
	}
	all := valuesOf(ratios)
	f.Ratio, f.Ratios = new(f.Newer.Median/f.Older.Median), &all
	return f
}

// tableWidth is how wide the table may be.
const tableWidth = 80

// String is the comparison as a table. It leaves out the ends of spreads, which the rounds replace.
func (c Comparison) String() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("older: %s\nnewer: %s", c.Older, c.Newer)
	p("%s, %s, %s", c.Machine, c.At.Format(time.DateOnly), counted(c.Rounds, "round"))
	if len(c.LoadBefore) > 0 {
		p("load %s before, %s after", loadText(c.LoadBefore), loadText(c.LoadAfter))
	}
	p("\nMedians of the rounds, and from the lowest to the highest. The ratio is newer to\nolder: of the medians, and the median of the ratios of each round.")
	for _, s := range c.Sections {
		s.print(p)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c Compared) print(p printer) {
	p("\n%s", c.Section)
	if c.Skipped != "" {
		p("  not compared: %s", c.Skipped)
		return
	}
	if c.Borrowed {
		p("  the older program has no such section: the newer one measured it")
	}
	p("    %-22s %-22s %5s  %s", "older", "newer", "ratio", "by round")
	medians := map[string]bool{}
	for _, f := range c.Figures {
		medians[parent(f.Path)] = medians[parent(f.Path)] || isMedian(f.Path)
	}
	for _, f := range c.Figures {
		if isEnd(f.Path) && medians[parent(f.Path)] {
			continue
		}
		p("  %s", shortened(f.Path, tableWidth-2))
		p("    %s", f.line())
	}
	for _, f := range c.Settings {
		p("  %s", shortened(fmt.Sprintf("%s differs: %g and %g", f.Path, f.Older.Median, f.Newer.Median), tableWidth-2))
	}
	listed(p, "only the older program has", c.OnlyOlder)
	listed(p, "only the newer program has", c.OnlyNewer)
}

// parent returns a path without its last name.
func parent(at string) string { return strings.TrimSuffix(at, leaf(at)) }

// isMedian reports whether a number is the median of others in the same program.
func isMedian(at string) bool { return strings.Contains(leaf(at), "median") }

// isEnd reports whether a number is an end of the spread around such a median.
func isEnd(at string) bool {
	return slices.Contains([]string{"min_ns", "max_ns", "p10_ns", "p90_ns", "Min", "Max", "overhead_p10", "overhead_p90"}, leaf(at))
}

// listed prints what only one program has.
func listed(p printer, what string, paths []string) {
	if len(paths) == 0 {
		return
	}
	p("  %s", what)
	for _, at := range paths {
		p("    %s", shortened(at, tableWidth-4))
	}
}

// shortened cuts out the middle of a line that is too long.
func shortened(line string, most int) string {
	r := []rune(line)
	if len(r) <= most {
		return line
	}
	head := most / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}

// line returns the numbers of a figure.
func (f Figure) line() string {
	if f.Ratio == nil {
		return fmt.Sprintf("%-22s %-22s %5s", f.Older.text(f.Path), f.Newer.text(f.Path), "-")
	}
	return fmt.Sprintf("%-22s %-22s %5s  %s", f.Older.text(f.Path), f.Newer.text(f.Path), digits(*f.Ratio), f.Ratios.scaled(1, ""))
}

// text returns the median in a unit that suits it and the path, and both ends in the same unit.
func (v Values) text(at string) string {
	for _, u := range unitsOf(at) {
		if v.Median >= u.size {
			return v.scaled(u.size, u.name)
		}
	}
	return v.scaled(1, "")
}

// unit is what numbers are counted in.
type unit struct {
	size float64
	name string
}

// unitsOf returns the units of the number at a path, the greatest first.
func unitsOf(at string) []unit {
	switch {
	case isTime(at):
		return []unit{{float64(time.Second), " s"}, {float64(time.Millisecond), " ms"}, {float64(time.Microsecond), " µs"}, {1, " ns"}}
	case strings.Contains(leaf(at), "bytes"):
		return []unit{{1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
	}
	return []unit{{1e6, " M"}, {1e3, " k"}}
}

// isTime reports whether a number is a time in nanoseconds.
func isTime(at string) bool {
	name := leaf(at)
	return strings.HasSuffix(name, "_ns") || isMedian(at) || name == "Min" || name == "Max" || strings.HasPrefix(name, "overhead_")
}

// scaled returns the median and both ends in a unit.
func (v Values) scaled(unit float64, name string) string {
	return fmt.Sprintf("%s%s (%s..%s)", digits(v.Median/unit), name, digits(v.Min/unit), digits(v.Max/unit))
}

// digits returns a number with about three significant digits.
func digits(v float64) string {
	size, places := max(v, -v), 2
	if size < 0.1 && size > 0 {
		places = 3
	}
	for ; size >= 10 && places > 0; size /= 10 {
		places--
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// loadText returns load averages.
func loadText(load []float64) string {
	var out []string
	for _, v := range load {
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return strings.Join(out, " ")
}

// counted returns a number of things, in words.
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
