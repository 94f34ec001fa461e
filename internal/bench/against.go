package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// DefaultRounds is how many times each program is measured by default when two are compared.
const DefaultRounds = 5

// Against says what is compared.
type Against struct {
	Dir      string // where both programs are built and measured
	Source   string // a folder in the working tree of Pawl's source
	Rev      string // the revision that the working tree is compared with
	Sections []string
	Rounds   int // at least 1
	Times    int // of the section rooms; 0 = as many as each program runs by default
	Progress func(string)
}

// Compare builds a revision of Pawl and the working tree and measures both in turn.
func Compare(ctx context.Context, a Against) (c Comparison, err error) {
	if err := known(a.Sections); err != nil {
		return c, err
	}
	for _, s := range sections() {
		if s.asked && slices.Contains(a.Sections, s.name) {
			return c, pawl.Errorf(pawl.CodeInvalid, "the section %s measures no time, so there is nothing to compare", s.name).WithHint("name other sections")
		}
	}
	s, err := findSource(ctx, a.Source)
	if err != nil {
		return c, err
	}
	p, err := buildPair(ctx, s, a.Rev, a.Dir, a.Progress)
	if err != nil {
		return c, err
	}
	temp := filepath.Join(a.Dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return c, fmt.Errorf("make a folder: %w", err)
	}
	d := &comparing{pair: p, against: a, environ: []string{"TMPDIR=" + temp}}
	if err := d.choose(ctx); err != nil {
		return c, err
	}
	c = Comparison{
		Machine: fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), p.goVersion), At: time.Now().UTC(),
		Older: p.older, Newer: p.newer, Rounds: a.Rounds, LoadBefore: loadAverages(),
	}
	c.Sections, err = d.measureAll(ctx)
	c.LoadAfter = loadAverages()
	return c, err
}

// comparing is two programs that are measured in turn.
type comparing struct {
	pair
	against Against
	environ []string
	chosen  []*sectionRounds
}

// sectionRounds is a section with what both programs gave so far.
type sectionRounds struct {
	section, skipped string
	borrowed         bool
	first            []string
	older, newer     []figures
}

// choose decides how each section is measured.
func (d *comparing) choose(ctx context.Context) error {
	older, err := d.sections(ctx, d.olderProgram)
	if err != nil {
		return err
	}
	newer, err := d.sections(ctx, d.newerProgram)
	if err != nil {
		return err
	}
	for _, s := range sections() {
		if !s.wanted(d.against.Sections) {
			continue
		}
		if !slices.Contains(newer, s.name) {
			return pawl.Errorf(pawl.CodeInvalid, "this pawl can measure %s, which %s cannot", s.name, d.newer).
				WithHint("build pawl from the working tree and run that, or name other sections")
		}
		m := &sectionRounds{section: s.name}
		if !slices.Contains(older, s.name) {
			m.borrowed = s.processes
			if !s.processes {
				m.skipped = "the older program has no such section of its own"
			}
		}
		d.chosen = append(d.chosen, m)
	}
	return nil
}

// sections returns the sections of a program, which its completion of arguments lists.
func (d *comparing) sections(ctx context.Context, program string) ([]string, error) {
	out, err := output(ctx, d.against.Dir, d.environ, program, "__complete", "bench", "")
	return strings.Fields(out), err
}

// measureAll measures all rounds.
func (d *comparing) measureAll(ctx context.Context) (out []Compared, err error) {
	for round := range d.against.Rounds {
		for _, m := range d.chosen {
			if err := d.round(ctx, m, round); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range d.chosen {
		out = append(out, m.compared())
	}
	return out, nil
}

// round measures a section once with each program. Which comes first changes from round to round.
func (d *comparing) round(ctx context.Context, m *sectionRounds, round int) error {
	if m.skipped != "" {
		return nil
	}
	older := func() error {
		program, args := d.olderProgram, []string{}
		if m.borrowed {
			program, args = d.newerProgram, []string{"--program", d.olderProgram}
		}
		return d.measure(ctx, m, round, "older", &m.older, program, args...)
	}
	newer := func() error { return d.measure(ctx, m, round, "newer", &m.newer, d.newerProgram) }
	first, second, name := older, newer, "older"
	if round%2 == 1 {
		first, second, name = newer, older, "newer"
	}
	m.first = append(m.first, name)
	if err := first(); err != nil {
		return err
	}
	return second()
}

// measure runs a program's own bench of a section and keeps the numbers.
func (d *comparing) measure(ctx context.Context, m *sectionRounds, round int, which string, to *[]figures, program string, args ...string) error {
	d.against.Progress(fmt.Sprintf("%s: round %d of %d, the %s program", m.section, round+1, d.against.Rounds, which))
	args = append([]string{"bench", "--json", m.section}, args...)
	if d.against.Times > 0 {
		args = append(args, "--times", strconv.Itoa(d.against.Times))
	}
	out, used, err := outputAndTime(ctx, d.against.Dir, d.environ, program, args...)
	if err != nil {
		return fmt.Errorf("measure %s with the %s program: %w", m.section, which, err)
	}
	f, err := readFigures([]byte(out))
	if err != nil {
		return fmt.Errorf("measure %s with the %s program: %w", m.section, which, err)
	}
	f[processorPath] = float64(used)
	*to = append(*to, f)
	return nil
}

// processorPath is the path of the processor time that a program and the processes below it used to measure a
// section, what comes before and after the measurement included. A busy machine disturbs it less than
// other times.
const processorPath = "processor_time_ns"

// compared returns what came of a section.
func (m *sectionRounds) compared() Compared {
	c := compare(m.older, m.newer)
	if len(c.Settings) > 0 || len(c.OnlyOlder) > 0 || len(c.OnlyNewer) > 0 { // they had not the same to do
		c.Figures = slices.DeleteFunc(c.Figures, func(f Figure) bool { return f.Path == processorPath })
	}
	c.Section, c.Skipped, c.Borrowed, c.First = m.section, m.skipped, m.borrowed, m.first
	return c
}

// loadAverages returns the machine's load averages over 1, 5 and 15 minutes; nil = they are not known.
func loadAverages() (out []float64) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(data))
	for _, text := range fields[:min(3, len(fields))] {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil
		}
		out = append(out, v)
	}
	return out
}
