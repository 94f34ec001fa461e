package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl"
)

// Numbers are read from a report by their paths. Elements of lists are known by what they measured.
func TestReadFigures(t *testing.T) {
	report, err := json.Marshal(Report{
		Machine:    "linux/amd64, 2 CPUs",
		Iterations: []Iteration{{Files: 300, Overhead: 20}, {Files: 13_000, Overhead: 40}},
		Decide:     []Decision{{Shape: "cascade", Mean: 7}},
		Steps:      &Throughput{Steps: []Steps{{Runs: 1, Loops: 500, PerSecond: 2.5}}},
		Delegates:  &Delegates{Agents: []Delegate{{Agent: "1.2.3 (An Agent)", Times: 4}}},
		Run:        &Run{Memory: RunMemory{Rest: Resident{RSS: 5}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readFigures(report)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]float64{
		"iterations[300].overhead_median": 20, "iterations[13000].overhead_median": 40, "decide[cascade].mean_ns": 7,
		"steps.durable_steps[1,500].per_second": 2.5, "delegates.agents[1.2.3 (An Agent)].times": 4, "run.memory.rest.rss_bytes": 5,
	} {
		if v, ok := got[at]; !ok || v != want {
			t.Errorf("%s is %v, %t, want %v", at, v, ok, want)
		}
	}
	if _, err := readFigures([]byte("Usage:")); err == nil {
		t.Error("text that is no report is read")
	}
	if _, err := readFigures([]byte(`{"other": [1, {"x": 2}]}`)); err != nil {
		t.Error(err)
	}
}

// Rounds of two programs are compared figure by figure.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name          string
		older, newer  []figures
		ratio, median float64 // of the figure x; 0 = none
		lists         string  // the figures, then settings, only older, only newer
	}{
		{name: "no round", lists: "|||"},
		{name: "a third", older: []figures{{"x": 30}, {"x": 60}, {"x": 90}}, newer: []figures{{"x": 10}, {"x": 20}, {"x": 30}}, ratio: 1. / 3, median: 1. / 3, lists: "x|||"},
		{name: "one round disturbed", older: []figures{{"x": 10}, {"x": 100}, {"x": 10}}, newer: []figures{{"x": 20}, {"x": 20}, {"x": 30}}, ratio: 2, median: 2, lists: "x|||"},
		{name: "load rises", older: []figures{{"x": 10}, {"x": 20}, {"x": 40}}, newer: []figures{{"x": 40}, {"x": 10}, {"x": 20}}, ratio: 1, median: 0.5, lists: "x|||"},
		{name: "an even number of rounds", older: []figures{{"x": 1}, {"x": 3}}, newer: []figures{{"x": 2}, {"x": 3}}, ratio: 1.25, median: 1.5, lists: "x|||"},
		{name: "nothing left over", older: []figures{{"x": 0}}, newer: []figures{{"x": 1}}, lists: "x|||"},
		{name: "not known", older: []figures{{"x": 5}}, newer: []figures{{"x": -1}}, lists: "x|||"},
		{name: "the same settings", older: []figures{{"a.runs": 5}}, newer: []figures{{"a.runs": 5}}, lists: "|||"},
		{name: "other settings", older: []figures{{"a.runs": 5}}, newer: []figures{{"a.runs": 7}}, lists: "|a.runs||"},
		{name: "in one only", older: []figures{{"o": 1}}, newer: []figures{{"n": 1}}, lists: "||o|n"},
		{name: "not in every round", older: []figures{{"x": 1}, {}}, newer: []figures{{"x": 1}, {"x": 1}}, lists: "|||x"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			got := compare(c.older, c.newer)
			var parts [2][]string
			for i, list := range [][]Figure{got.Figures, got.Settings} {
				for _, f := range list {
					parts[i] = append(parts[i], f.Path)
				}
			}
			lists := strings.Join([]string{strings.Join(parts[0], " "), strings.Join(parts[1], " "), strings.Join(got.OnlyOlder, " "), strings.Join(got.OnlyNewer, " ")}, "|")
			if lists != c.lists {
				t.Errorf("got %q, want %q", lists, c.lists)
			}
			if len(got.Figures) == 0 {
				return
			}
			f := got.Figures[0]
			if (f.Ratio != nil) != (c.ratio != 0) || (f.Ratios != nil) != (c.ratio != 0) {
				t.Fatalf("the ratio is %v, want %v", f.Ratio, c.ratio)
			}
			if f.Ratio != nil && (*f.Ratio != c.ratio || f.Ratios.Median != c.median) {
				t.Errorf("the ratio is %v, the median of the rounds' %v, want %v and %v", *f.Ratio, f.Ratios.Median, c.ratio, c.median)
			}
		})
	}
}

// The table fits a terminal, and shows a median without the ends of its spread.
func TestComparisonText(t *testing.T) {
	long := "delegates.agents[a program with a very long name that goes on and on].first_alone.median_ns"
	was := []figures{{"start.help.median_ns": 9_000_000, "start.help.min_ns": 1, "w.max_ns": 12_345_678_901, long: 5_110_655_692, "rss_bytes": 50 << 20, "a.runs": 3, "gone": 1, "x.per_second": 123_456}}
	is := []figures{{"start.help.median_ns": 4_500_000, "start.help.min_ns": 1, "w.max_ns": 987_654, long: 995_110_655_692, "rss_bytes": 25 << 20, "a.runs": 5, "come": 1, "x.per_second": 1_234_567}}
	c := compare(was, is)
	c.Section, c.Borrowed = "start", true
	text := Comparison{
		Machine: "linux/amd64, 2 CPUs, go1.26.8", Rounds: 1, LoadBefore: []float64{1, 2, 3}, LoadAfter: []float64{4, 5, 6.25},
		Older: Revision{Commit: "0123456789abcdef", Name: "v1"}, Newer: Revision{Commit: "fedcba9876543210", Dirty: true},
		Sections: []Compared{c, {Section: "fold", Skipped: "the older program has no such section of its own"}},
	}.String()
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > tableWidth {
			t.Errorf("too long: %q", line)
		}
	}
	for _, want := range []string{"0123456789ab (v1)", "with changes that are not committed", "load 1 2 3 before, 4 5 6.25 after", "9.00 ms (9.00..9.00)", "0.50 (0.50..0.50)", "50.0 MiB", "a.runs differs: 3 and 5",
		"only the older program has\n    gone", "only the newer program has\n    come", "w.max_ns", "12.3 s", "988 µs", "123 k (123..123)", "1.23 M", "measured it", "fold\n  not compared"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if strings.Contains(text, "help.min_ns") || strings.Contains(text, "!(") {
		t.Error("it shows what it should not")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What cannot be compared is refused before anything is built, and the error says what to do.
func TestCompareRefuses(t *testing.T) {
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "go.mod"), []byte("module other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := commitAll(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	pawls := t.TempDir()
	if err := os.WriteFile(filepath.Join(pawls, "go.mod"), []byte("module pawl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := commitAll(t.Context(), pawls); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		against Against
		path    string // PATH; empty = as it is
		code    pawl.Code
		want    string
	}{
		{"a section that does not exist", Against{Source: pawls, Rev: "HEAD", Sections: []string{"startup"}}, "", pawl.CodeInvalid, `called "startup"`},
		{"a section without times", Against{Source: pawls, Rev: "HEAD", Sections: []string{"evidence"}}, "", pawl.CodeInvalid, "measures no time"},
		{"no repository", Against{Source: t.TempDir(), Rev: "HEAD"}, "", pawl.CodeInvalid, "not in a git repository of Pawl's source"},
		{"another module", Against{Source: elsewhere, Rev: "HEAD"}, "", pawl.CodeInvalid, elsewhere + " is not in a git repository of Pawl's source"},
		{"no such revision", Against{Source: pawls, Rev: "v9"}, "", pawl.CodeInvalid, "has no such revision"},
		{"an option", Against{Source: pawls, Rev: "--all"}, "", pawl.CodeInvalid, "has no such revision"},
		{"no git", Against{Source: pawls, Rev: "HEAD"}, "empty", pawl.CodeUnavailable, "git is not installed"},
		{"no Go", Against{Source: pawls, Rev: "HEAD"}, "git", pawl.CodeUnavailable, "Go is not installed"},
		{"it does not build", Against{Source: pawls, Rev: "HEAD"}, "", pawl.CodeUnavailable, "build"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if c.path != "" {
				t.Setenv("PATH", pathWith(t, c.path))
			}
			c.against.Dir, c.against.Rounds, c.against.Progress = t.TempDir(), 1, func(string) {}
			_, err := Compare(t.Context(), c.against)
			if pawl.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %s with %q", err, c.code, c.want)
			}
			if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Hint == "" {
				t.Errorf("%v does not say what to do", err)
			}
		})
	}
}

// pathWith returns a folder that holds git, or nothing.
func pathWith(t *testing.T, what string) string {
	t.Helper()
	dir := t.TempDir()
	if what == "git" {
		program := strings.TrimSpace(mustOutput(t, "sh", "-c", "command -v git"))
		if err := os.Symlink(program, filepath.Join(dir, "git")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustOutput(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output(t.Context(), "", nil, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An error in JSON is told by its message, and other text as it is.
func TestReason(t *testing.T) {
	for said, want := range map[string]string{
		"pawl: start\n{\"error\":{\"code\":\"internal\",\"hint\":\"\",\"message\":\"it broke\"}}\n": "it broke",
		"x.go:1: undefined: y\n":       "x.go:1: undefined: y",
		"{\"error\":{}}\n":             `{"error":{}}`,
		strings.Repeat("a", 3*maxSaid): strings.Repeat("a", maxSaid),
		"":                             "",
	} {
		if got := reason([]byte(said)); got != want {
			t.Errorf("%.80q: got %.80q, want %.80q", said, got, want)
		}
	}
}

// older and newer are programs that can be asked what they measure, and measure at once: the older one
// lacks most sections.
const (
	older = `#!/bin/sh
case "$1" in
__complete) echo start; echo :4;;
*) echo "older $*" >>"$LINES"; echo '{"start":{"help":{"median_ns":30}}}';;
esac
`
	newer = `#!/bin/sh
case "$1" in
__complete) echo start; echo run; echo fold; echo :4;;
*) echo "newer $*" >>"$LINES"
	case "$3" in
	start) echo '{"start":{"help":{"median_ns":10}}}';;
	run) if [ "$4" = --program ]; then n=8; else n=4; fi; echo '{"run":{"model_call":{"median_ns":'$n'}}}';;
	esac;;
esac
`
)

// Two programs are measured in turn. A section that the older one lacks is measured by the newer one if
// it only starts processes.
func TestCompareInTurn(t *testing.T) {
	dir := t.TempDir()
	lines := filepath.Join(dir, "lines")
	d := &comparing{environ: []string{"LINES=" + lines}, against: Against{
		Dir: dir, Rounds: 2, Times: 7, Sections: []string{"start", "run", "fold"}, Progress: func(string) {},
	}}
	d.olderProgram, d.newerProgram = filepath.Join(dir, "older"), filepath.Join(dir, "newer")
	for name, text := range map[string]string{d.olderProgram: older, d.newerProgram: newer} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // it is a program
			t.Fatal(err)
		}
	}
	if err := d.choose(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := d.measureAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`older bench --json start --times 7
newer bench --json start --times 7
newer bench --json run --program OLDER --times 7
newer bench --json run --times 7
newer bench --json start --times 7
older bench --json start --times 7
newer bench --json run --times 7
newer bench --json run --program OLDER --times 7
`, "OLDER", d.olderProgram)
	if string(said) != want {
		t.Errorf("got\n%s, want\n%s", said, want)
	}
	if len(got) != 3 || got[0].Borrowed || !got[1].Borrowed || got[2].Skipped == "" || ratioOf(got[0], "start.help.median_ns") != 1./3 || ratioOf(got[1], "run.model_call.median_ns") != 0.5 ||
		ratioOf(got[0], processorPath) <= 0 {
		t.Errorf("got %+v", got)
	}
	d.against.Sections = []string{"idle"}
	if err := d.choose(t.Context()); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("a section that the newer program lacks: got %v", err)
	}
}

// ratioOf returns the ratio of a figure; 0 if there is none.
func ratioOf(c Compared, at string) float64 {
	i := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Path == at })
	if i < 0 || c.Figures[i].Ratio == nil {
		return 0
	}
	return *c.Figures[i].Ratio
}

// The processor time of programs is compared only if they had the same to do.
func TestComparedProcessorTime(t *testing.T) {
	for _, c := range []struct {
		older, newer figures
		want         float64
	}{
		{figures{processorPath: 4, "a.runs": 3}, figures{processorPath: 2, "a.runs": 3}, 0.5},
		{figures{processorPath: 4, "a.runs": 3}, figures{processorPath: 2, "a.runs": 5}, 0},
		{figures{processorPath: 4}, figures{processorPath: 2, "x": 1}, 0},
	} {
		m := sectionRounds{older: []figures{c.older}, newer: []figures{c.newer}}
		if got := ratioOf(m.compared(), processorPath); got != c.want {
			t.Errorf("%v and %v: got %v, want %v", c.older, c.newer, got, c.want)
		}
	}
}

// A section that uses code of this program cannot measure another one.
func TestMeasureOther(t *testing.T) {
	_, err := Measure(t.Context(), Options{Dir: t.TempDir(), Program: "pawl", Other: true, Sections: []string{"fold"}, Progress: func(string) {}})
	if pawl.CodeOf(err) != pawl.CodeInvalid || !strings.Contains(err.Error(), "fold") {
		t.Errorf("got %v", err)
	}
}

// The committed source and the working tree are built and measured in turn. What they gave is kept by
// round, and nothing else is left.
func TestCompareBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Pawl twice")
	}
	if _, err := output(t.Context(), ".", nil, "git", "rev-parse", "HEAD"); err != nil {
		t.Skip("this is no repository")
	}
	before := mustOutput(t, "git", "worktree", "list")
	c, err := Compare(t.Context(), Against{
		Dir: t.TempDir(), Source: ".", Rev: "HEAD", Sections: []string{"start"}, Rounds: 2, Progress: func(text string) { t.Log(text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Sections[0]
	if len(c.Sections) != 1 || s.Section != "start" || s.Skipped != "" || s.Borrowed || !slices.Equal(s.First, []string{"older", "newer"}) {
		t.Errorf("got %+v", s)
	}
	if ratioOf(s, "start.help.median_ns") <= 0 || ratioOf(s, processorPath) <= 0 || slices.ContainsFunc(s.Figures, func(f Figure) bool { return len(f.Older.Rounds) != 2 || len(f.Newer.Rounds) != 2 }) {
		t.Errorf("got %+v", s.Figures)
	}
	if after := mustOutput(t, "git", "worktree", "list"); after != before {
		t.Errorf("the worktrees are %s, were %s", after, before)
	}
	t.Log(c.String())
}

// Whoever is interrupted during a build gets the interruption as its error.
func TestCompareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module pawl\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := commitAll(ctx, dir); err != nil {
		t.Fatal(err)
	}
	_, err := Compare(ctx, Against{Dir: t.TempDir(), Source: dir, Rev: "HEAD", Rounds: 1, Progress: func(text string) {
		if strings.HasPrefix(text, "building") {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// An interrupted go build leaves its folder of temporary files. It is one that is removed at the end.
func TestBuildHasItsTemporaryFilesBesideThePrograms(t *testing.T) {
	path, said, to := t.TempDir(), filepath.Join(t.TempDir(), "said"), filepath.Join(t.TempDir(), "older")
	script := fmt.Sprintf("#!/bin/sh\ntest -d \"$GOTMPDIR\" && echo \"$GOTMPDIR\" > %s\nexit 1\n", said)
	if err := os.WriteFile(filepath.Join(path, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	t.Setenv("GOTMPDIR", "")
	if _, err := build(t.Context(), t.TempDir(), to); err == nil {
		t.Fatal("the build did not fail")
	}
	if got, _ := os.ReadFile(said); strings.TrimSpace(string(got)) != to {
		t.Errorf("go has its temporary files in %q, want %s", got, to)
	}
}
