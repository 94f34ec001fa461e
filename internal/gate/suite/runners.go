package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// ResultsName is the name of the file, in the room's folder for temporary files, in which a
// runner leaves its results.
const ResultsName = "pawl-results"

// results is that file as a word of a shell line in double quotes.
const results = "${TMPDIR:-/tmp}/" + ResultsName

// Channel is how the results of a suite come from its runner.
type Channel struct {
	// Command is what to run: it has the results and prints what the gate's own command prints.
	Command string
	// Stands names the script whose line is run in place of the gate's command, and Line is that
	// line; empty = the command itself is run.
	Stands, Line string
	// Format is what the results are in, Runner how their tests are named.
	Format pawl.ReportFormat
	Runner report.Runner
	// Fetch prints the file of results when it is run in the same room afterwards; empty = the
	// results are the command's standard output.
	Fetch string
}

// fetch prints the results if they are a file that is no link.
const fetch = `f="` + results + `"; if [ -f "$f" ] && [ ! -L "$f" ]; then cat "$f"; fi`

// clear removes what has the name of the file of results.
const clear = `rm -rf "` + results + `"`

// Channel returns how to have the results from the runner. The error says why that cannot be.
func (s *Suite) Channel() (Channel, error) {
	c := Channel{Format: pawl.ReportJUnit, Fetch: fetch}
	to := s.export(clear)
	args, _ := beforeDashes(s.args())
	var err error
	switch s.Runner {
	case GoTest:
		c.Format, c.Fetch = pawl.ReportGoTest, ""
		to, err = s.goJSON()
	case GoTestSum:
		if hasFlag(args, "jsonfile", "watch") {
			return c, errors.New("it has a file of results of its own")
		}
		c.Format = pawl.ReportGoTest
		to, err = to.edit(slices.Insert(slices.Clone(s.args()), 0, word{raw: `"--jsonfile=` + results + `"`}))
	case Pytest:
		if hasFlag(args, "junitxml", "junit-xml") || s.mentions("junit") || s.sets("PYTEST_ADDOPTS") {
			return c, errors.New("it has options of its own for JUnit")
		}
		c.Runner = report.RunnerPytest
		to = to.export(`export PYTEST_ADDOPTS="${PYTEST_ADDOPTS-} -o junit_family=xunit1 --junitxml='` + results + `'"`)
	case NodeTest:
		if hasFlag(s.words, "test-reporter", "test-reporter-destination", "watch", "no-test") || s.sets("NODE_OPTIONS") {
			return c, errors.New("it has a reporter of its own")
		}
		c.Format, c.Runner = pawl.ReportTAP, report.RunnerNode
		to = to.export(nodeReporters)
	case Jest:
		if hasFlag(args, "json", "outputFile", "watch", "watchAll", "testResultsProcessor") {
			return c, errors.New("it has options of its own for results")
		}
		c.Format, c.Runner = pawl.ReportAuto, report.RunnerJest
		to, err = to.append("--json", word{raw: `"--outputFile=` + results + `"`})
	case Vitest:
		if err := s.vitestReporters(args); err != nil {
			return c, err
		}
		c.Format, c.Runner = pawl.ReportAuto, report.RunnerVitest
		to, err = to.append("--reporter=default", literal("--reporter=json"), word{raw: `"--outputFile.json=` + results + `"`})
	default:
		return c, fmt.Errorf("%s tells its results in no other way than by printing them", s.Runner)
	}
	if err != nil {
		return c, err
	}
	if c.Command = to.Line(); to.edited && to.indirect != "" {
		c.Stands, c.Line = to.indirect, to.runnerLine()
	}
	return c, nil
}

// append adds arguments in front of "--".
func (s *Suite) append(first string, more ...word) (*Suite, error) {
	own, rest := beforeDashes(s.args())
	return s.edit(slices.Concat(own, []word{literal(first)}, more, rest))
}

// nodeReporters has node write TAP beside what it prints, where it knows how to. Before version
// 23 it prints TAP too unless it writes to a terminal. TAP has the failures of tests around
// others, which node's JUnit does not.
const nodeReporters = `pawl_reporters="--test-reporter=tap --test-reporter-destination=\"` + results + `\""
pawl_printer=$(NODE_OPTIONS="${NODE_OPTIONS-} $pawl_reporters" node -p 'parseInt(process.versions.node) < 23 ? "tap" : "spec"' 2>/dev/null) &&
export NODE_OPTIONS="${NODE_OPTIONS-} --test-reporter=$pawl_printer --test-reporter-destination=stdout $pawl_reporters"`

var vitestConfigs = []string{"vitest.config", "vite.config", "vitest.workspace", "vitest.projects"}

// vitestReporters returns an error where vitest's own configuration says how it reports.
func (s *Suite) vitestReporters(args []word) error {
	if hasFlag(args, "reporter", "outputFile", "watch", "w", "config", "c", "ui") || len(args) > 0 && (args[0].value == "watch" || args[0].value == "dev") {
		return errors.New("it has options of its own for results")
	}
	for _, name := range configs(vitestConfigs...) {
		has, err := s.configured(name, reporting)
		if err != nil {
			return err
		}
		if has {
			return fmt.Errorf("%s says how it reports", name)
		}
	}
	return nil
}

var reporting = pattern.Of(`reporter|outputFile`)

// List returns the command that lists the runner's tests and runs none. The error says why
// there is none.
func (s *Suite) List() (string, error) {
	var to *Suite
	var err error
	args := s.args()
	switch s.Runner {
	case GoTest:
		to, err = s.goWith(literals("-json", "-list=."))
	case Pytest:
		own, rest := beforeDashes(args)
		own = slices.DeleteFunc(slices.Clone(own), func(w word) bool { return verbosity(w) })
		to, err = s.edit(slices.Concat(own, literals("--collect-only", "--verbosity=-1"), rest))
	case CargoTest:
		own, rest := beforeDashes(args)
		if len(rest) == 0 {
			rest = literals("--")
		}
		to, err = s.edit(slices.Concat(own, rest, literals("--list")))
	case Vitest:
		if len(args) > 0 && args[0].value == "run" {
			args = args[1:]
		}
		to, err = s.edit(slices.Concat(literals("list"), slices.DeleteFunc(slices.Clone(args), func(w word) bool { return flagName(w) == "run" })))
	case Jest:
		return "", errors.New("jest lists files, not tests")
	default:
		return "", fmt.Errorf("%s has no list of its tests", s.Runner)
	}
	if err != nil {
		return "", err
	}
	return to.Line(), nil
}

// verbosity reports whether an argument of pytest changes how much it prints.
func verbosity(w word) bool {
	rest, found := strings.CutPrefix(w.value, "-")
	if found && rest != "" && strings.Trim(rest, "qv") == "" {
		return true
	}
	return slices.Contains([]string{"quiet", "verbose", "verbosity"}, flagName(w))
}

// stops returns an error if the suite ends at a failure: which tests it would have run else is
// not known.
func (s *Suite) stops() error {
	flags := map[Runner][]string{
		GoTest: {"failfast"}, Pytest: {"x", "exitfirst", "maxfail"}, Unittest: {"f", "failfast"}, Jest: {"b", "bail"}, Vitest: {"bail"}, Mocha: {"b", "bail"},
	}[s.Runner]
	own, _ := beforeDashes(s.args())
	stops := hasFlag(own, flags...) || s.Runner == GoTest && hasFlag(s.args(), "test.failfast") || s.Runner == CargoTest && !hasFlag(own, "no-fail-fast")
	for _, name := range map[Runner][]string{
		Pytest: {"pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}, Jest: append(configs("jest.config"), "package.json"),
		Vitest: configs(vitestConfigs...), Mocha: append(configs(".mocharc"), ".mocharc.yml", ".mocharc.yaml", ".mocharc.jsonc", "package.json"),
	}[s.Runner] {
		words := stopping
		if s.Runner == Pytest {
			words = stoppingPytest
		}
		has, err := s.configured(name, words)
		if err != nil {
			return err
		}
		stops = stops || has
	}
	if stops {
		return fmt.Errorf("%s ends at the first failure", s.Runner)
	}
	return nil
}

var (
	stopping       = pattern.Of(`\bbail\b`)
	stoppingPytest = pattern.Of(`--exitfirst|--maxfail|(?m)^\s*addopts.*\s['"]?-\w*x`)
)

// configured reports whether a file of configuration where the suite runs says something.
func (s *Suite) configured(name string, what *pattern.Pattern) (bool, error) {
	name = path.Join(s.dir, name)
	if _, err := fs.Stat(s.tree, name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	data, err := reader{tree: s.tree}.file(name)
	return what.MatchString(string(data)), err
}

// configs are the names that a file of configuration in JavaScript may have.
func configs(names ...string) []string {
	var all []string
	for _, name := range names {
		for _, ext := range []string{".js", ".ts", ".mjs", ".mts", ".cjs", ".cts", ".json"} {
			all = append(all, name+ext)
		}
	}
	return all
}

// Only returns a suite that runs these tests, named as reports name them, and as few others as
// the runner can be told: of Go's subtests the whole test, of several with one name all. The
// error says why that cannot be.
func (s *Suite) Only(names []string) (*Suite, error) {
	size := 0
	for _, name := range names {
		size += len(name)
		if report.IsWhole(name) {
			return nil, fmt.Errorf("%s is no test", name)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xFFFD }) {
			return nil, fmt.Errorf("the name %q cannot be given to a program", name)
		}
	}
	if len(names) == 0 || len(names) > maxNames || size > maxSelected {
		return nil, fmt.Errorf("%d tests are to be selected: want 1 to %d, with names of at most %d bytes together", len(names), maxNames, maxSelected)
	}
	if err := s.stops(); err != nil {
		return nil, err
	}
	switch s.Runner {
	case GoTest:
		return s.onlyGo(names)
	case Pytest:
		return s.onlyPytest(names)
	case Unittest:
		return s.onlyUnittest(names)
	case CargoTest:
		return s.onlyCargo(names)
	case NodeTest:
		return s.onlyNode(names)
	case Jest, Vitest, Mocha:
		return s.onlyTitles(names)
	}
	return nil, fmt.Errorf("%s cannot be told which tests to run", s.Runner)
}

// pytestValues are pytest's options that take the next word as their value.
var pytestValues = []string{"-k", "-m", "-n", "-c", "-o", "-p", "-W", "-r", "--maxfail", "--tb", "--rootdir", "--color", "--durations", "--ignore", "--deselect", "--timeout", "--cov", "--confcutdir", "--basetemp", "--dist", "--junitxml"}

func (s *Suite) onlyPytest(names []string) (*Suite, error) {
	own, _ := beforeDashes(s.args())
	var args []word
	for i := 0; i < len(own); i++ {
		w := own[i]
		isFlag := strings.HasPrefix(w.value, "-")
		if !isFlag {
			continue // what is tested
		}
		args = append(args, w)
		if slices.Contains(pytestValues, w.value) && i+1 < len(own) {
			i++
			args = append(args, own[i])
		} else if i+1 < len(own) && !strings.HasPrefix(own[i+1].value, "-") && !strings.Contains(w.value, "=") && len(w.value) > 2 && !verbosity(w) {
			return nil, fmt.Errorf("whether %s belongs to %s is not known", own[i+1].raw, w.raw)
		}
	}
	if !hasFlag(args, "rootdir") {
		args = append(args, literal("--rootdir=."))
	}
	for _, name := range names {
		if file, _, ok := strings.Cut(name, "::"); !ok || !strings.HasSuffix(file, ".py") || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
			return nil, fmt.Errorf("%q is no node id", name)
		}
		args = append(args, literal(name))
	}
	return s.edit(args)
}

func (s *Suite) onlyUnittest(names []string) (*Suite, error) {
	if hasFlag(s.args(), "k") {
		return nil, errors.New("it selects tests itself")
	}
	args := append(slices.Clone(s.args()), literal("-v"))
	for _, name := range names {
		if strings.ContainsAny(name, "*?[] ") || !strings.Contains(name, ".") {
			return nil, fmt.Errorf("%q is no name that can be selected", name)
		}
		args = append(args, literals("-k", "*"+name)...)
	}
	return s.edit(args)
}

var cargoName = pattern.Of(`^[\pL_][\pL\pN_]*(::[\pL_][\pL\pN_]*)*$`)

func (s *Suite) onlyCargo(names []string) (*Suite, error) {
	own, rest := beforeDashes(s.args())
	if len(rest) == 0 {
		rest = literals("--")
	}
	if !hasFlag(rest, "exact") {
		rest = slices.Concat(rest, literals("--exact"))
	}
	if !hasFlag(own, "no-fail-fast") {
		own = slices.Concat(own, literals("--no-fail-fast"))
	}
	for _, name := range unnumbered(names) {
		if !cargoName.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a test function", name)
		}
		rest = append(rest, literal(name))
	}
	return s.edit(slices.Concat(own, rest))
}

// unnumbered takes the numbers from the names of tests of which there are several, as reports
// have them, and returns each name once.
func unnumbered(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, unnumber(name))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func unnumber(name string) string {
	if i := strings.LastIndex(name, " #"); i > 0 && len(name) > i+2 && strings.Trim(name[i+2:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

func (s *Suite) onlyNode(names []string) (*Suite, error) {
	if hasFlag(s.args(), "test-name-pattern", "test-skip-pattern") {
		return nil, errors.New("it selects tests itself")
	}
	titles := map[string]bool{}
	for _, name := range unnumbered(names) {
		// A title may have a slash in it, so every way to part the name is one.
		parts := strings.Split(name, "/")
		if len(parts) > maxNameParts {
			return nil, fmt.Errorf("the name %q has too many parts", name)
		}
		for i := range parts {
			for j := i + 1; j <= len(parts); j++ {
				titles[strings.Join(parts[i:j], "/")] = true
			}
		}
	}
	var args []word
	for _, title := range sorted(titles) {
		args = append(args, literal("--test-name-pattern=/^"+jsPattern(title)+"$/"))
	}
	return s.edit(slices.Concat(args, s.args()))
}

func sorted(set map[string]bool) []string {
	var all []string
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// jsPattern is a regular expression of JavaScript that matches s alone.
func jsPattern(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// onlyTitles selects by the titles of a test and those around it, which these runners join
// with spaces.
func (s *Suite) onlyTitles(names []string) (*Suite, error) {
	flag, sep := "-t", " > "
	switch s.Runner {
	case Mocha:
		flag = "-g"
	case Jest:
		sep = " › "
	}
	if hasFlag(s.args(), "t", "testNamePattern", "g", "grep", "f", "fgrep") {
		return nil, errors.New("it selects tests itself")
	}
	titles := map[string]bool{}
	for _, name := range unnumbered(names) {
		if s.Runner != Mocha {
			var inFile bool
			if _, name, inFile = strings.Cut(name, " > "); !inFile {
				return nil, fmt.Errorf("%q has no title", name)
			}
		}
		titles[jsPattern(strings.ReplaceAll(name, sep, " "))] = true
	}
	return s.append(flag, literal("^("+strings.Join(sorted(titles), "|")+")$"))
}
