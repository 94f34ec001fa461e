package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pawl/internal/plain"
)

// Runner is a test runner.
type Runner string

// The runners.
const (
	GoTest       Runner = "go test"
	GoTestSum    Runner = "gotestsum"
	Pytest       Runner = "pytest"
	Unittest     Runner = "unittest"
	NodeTest     Runner = "node --test"
	Jest         Runner = "jest"
	Vitest       Runner = "vitest"
	Mocha        Runner = "mocha"
	CargoTest    Runner = "cargo test"
	CargoNext    Runner = "cargo nextest"
	maxNesting          = 5       // scripts that run scripts
	maxReadFile         = 1 << 20 // bytes of a Makefile, a package.json or a runner's configuration
	maxNames            = 200     // tests that one command selects
	maxSelected         = 60_000  // bytes of their names
	maxListed           = 50_000  // tests of a list that are read
	maxListName         = 2_000   // bytes of a line of a list
	maxNameParts        = 6       // parts of the name of a test within others
)

// Suite is a test runner with the arguments that a command gives it. Its methods return
// changed copies.
type Suite struct {
	Runner Runner
	// given is the command that was read, and indirect reports that the runner is not in it but
	// in a script that it runs.
	given    string
	indirect string // such as "make test"; empty = it is in given
	before   string // what the line has in front of the runner's words
	words    []word
	at       int // of the runner's first own argument among words
	redirect string
	inner    bool   // the line is one that "sh -c" is given
	dir      string // where the line runs, relative to the root of the tree
	hooks    string // of the script, such as "pretest": run by given alone
	tree     fs.FS
	exports  []string // commands in front of it all
	edited   bool     // words are not those of given
}

// Read finds out which test runner a command runs. The tree is the root of the checkout in
// which it is run. The error says why that is not known.
func Read(tree fs.FS, command string) (*Suite, error) {
	r := reader{tree: tree}
	s, err := r.line(command, ".", 0)
	if err != nil {
		return nil, err
	}
	s.given, s.tree = command, tree
	return s, nil
}

type reader struct{ tree fs.FS }

var (
	errNoRunner = errors.New("it runs no test runner that is known")
	errTwo      = errors.New("it runs more than one test runner")
)

// line reads a line of shell that is run in dir.
func (r reader) line(line, dir string, depth int) (*Suite, error) {
	if depth > maxNesting {
		return nil, errors.New("its scripts run each other")
	}
	commands, err := split(line)
	if err != nil {
		return nil, err
	}
	if len(commands) == 0 {
		return nil, errNoRunner
	}
	last := len(commands) - 1
	for _, c := range commands[:last] {
		if dir, err = r.enter(c, dir, depth); err != nil {
			return nil, err
		}
	}
	c := commands[last]
	s, err := r.command(c.words, dir, depth)
	if err != nil {
		return nil, err
	}
	if rest := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line[c.to:]), ";")); rest != c.redirect {
		return nil, fmt.Errorf("it ends in %q", rest)
	}
	s.before = line[:c.from] + s.before
	s.redirect = cmp.Or(c.redirect, s.redirect)
	return s, nil
}

// enter reads a command in front of the runner's and returns where what follows it runs.
func (r reader) enter(c simple, dir string, depth int) (string, error) {
	for i, w := range c.words {
		if assigned(w) == "PATH" && (i == 0 || c.words[0].value == "export") {
			return "", errors.New("it sets PATH")
		}
	}
	switch c.words[0].value {
	case "cd":
		if len(c.words) != 2 || !c.words[1].known || !fs.ValidPath(path.Join(dir, c.words[1].value)) {
			return "", errors.New("it changes to a folder that only the shell knows, or outside of the checkout")
		}
		return path.Join(dir, c.words[1].value), nil
	case "pushd", "popd":
		return "", fmt.Errorf("it uses %q", c.words[0].value)
	}
	if _, err := r.command(c.words, dir, depth); err == nil {
		return "", errTwo
	}
	return dir, nil
}

// command reads a simple command.
func (r reader) command(words []word, dir string, depth int) (*Suite, error) {
	i, err := program(words)
	if err != nil {
		return nil, err
	}
	name, rest := words[i].value, words[i+1:]
	script := r.script
	switch name {
	case "sh", "bash", "dash":
		if len(rest) != 2 || rest[0].value != "-c" || !rest[1].known {
			return nil, errors.New("what its shell runs is not known")
		}
		s, err := r.line(rest[1].value, dir, depth+1)
		if err != nil {
			return nil, err
		}
		if i > 0 || s.indirect != "" {
			return nil, errors.New("what its shell runs is not known")
		}
		s.inner = true
		return s, nil
	case "make", "gmake":
		script = r.makeTarget
		fallthrough
	case "npm", "pnpm", "yarn":
		s, err := script(name, rest, dir, depth)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s, s.carry(words[:i])
		}
	}
	s := &Suite{words: words, dir: dir}
	if s.Runner, s.at = runner(words, i); s.Runner == "" {
		return nil, errNoRunner
	}
	return s, nil
}

// carry takes over what is in front of the program that runs a script.
func (s *Suite) carry(words []word) error {
	var raw []string
	for _, w := range words {
		if assigned(w) == "" {
			return fmt.Errorf("%s runs %s", w.value, s.indirect)
		}
		raw = append(raw, w.raw)
	}
	if len(raw) > 0 {
		s.before = "export " + strings.Join(raw, " ") + "; " + s.before
	}
	return nil
}

// program returns the index of the program that a simple command starts in the end, behind
// assignments and programs such as env and npx.
func program(words []word) (int, error) {
	i := 0
	for i < len(words) {
		if name := assigned(words[i]); name != "" {
			if name == "PATH" {
				return 0, errors.New("it sets PATH")
			}
			i++
			continue
		}
		if !words[i].known {
			return 0, errors.New("its program is known to the shell alone")
		}
		n := wrapper(words[i:])
		if n == 0 {
			return i, nil
		}
		i += n
	}
	return 0, errNoRunner
}

// wrapper returns how many words a program takes that starts the one behind it; 0 = it starts
// none.
func wrapper(words []word) int {
	value := func(i int) string {
		if i < len(words) {
			return words[i].value
		}
		return ""
	}
	flags := func(from int, allowed ...string) int {
		for from < len(words) && slices.Contains(allowed, words[from].value) {
			from++
		}
		return from
	}
	switch value(0) {
	case "env", "exec", "command", "time":
		return 1
	case "nice":
		if value(1) == "-n" {
			return 3
		}
		return 1
	case "timeout":
		return 2
	case "npx":
		return flags(1, "--no-install", "--no", "--yes", "-y", "--")
	case "uv", "poetry", "pipenv", "pdm", "hatch":
		if value(1) == "run" {
			return flags(2, "--frozen", "--locked", "--offline", "--no-sync", "--")
		}
	case "pnpm", "yarn", "npm":
		if value(1) == "exec" {
			return flags(2, "--")
		}
	}
	return 0
}

// tools are the folders in which systems, and of a tree package managers, put programs.
var tools = []string{"/usr/bin/", "/usr/local/bin/", "/bin/", "/opt/homebrew/bin/", "node_modules/.bin/", "./node_modules/.bin/", ".venv/bin/", "./.venv/bin/", "venv/bin/", "./venv/bin/"}

// runner returns the runner that words[i] and those behind it start, and the index of its
// first own argument; empty = none that is known.
func runner(words []word, i int) (Runner, int) {
	name := words[i].value
	for _, folder := range tools {
		name = strings.TrimPrefix(name, folder)
	}
	value := func(at int) string {
		if at < len(words) && words[at].known {
			return words[at].value
		}
		return ""
	}
	isPython := name == "python" || name == "python3" || strings.HasPrefix(name, "python3.") && !strings.Contains(name, "/")
	switch {
	case name == "go":
		at := i + 1
		if value(at) == "-C" {
			at += 2
		}
		if value(at) == "test" {
			return GoTest, at + 1
		}
	case name == "gotestsum":
		return GoTestSum, i + 1
	case name == "pytest" || name == "py.test":
		return Pytest, i + 1
	case isPython && value(i+1) == "-m" && value(i+2) == "pytest":
		return Pytest, i + 3
	case isPython && value(i+1) == "-m" && value(i+2) == "unittest":
		return Unittest, i + 3
	case name == "node":
		for at := i + 1; strings.HasPrefix(value(at), "-"); at++ {
			if value(at) == "--test" {
				return NodeTest, at + 1
			}
		}
	case name == "jest" || name == "vitest" || name == "mocha":
		return map[string]Runner{"jest": Jest, "vitest": Vitest, "mocha": Mocha}[name], i + 1
	case name == "cargo":
		at := i + 1
		if strings.HasPrefix(value(at), "+") {
			at++
		}
		if value(at) == "test" || value(at) == "t" {
			return CargoTest, at + 1
		}
		if value(at) == "nextest" && value(at+1) == "run" {
			return CargoNext, at + 2
		}
	}
	return "", 0
}

// Line is the command.
func (s *Suite) Line() string {
	line := s.given
	if s.edited {
		line = s.before + s.runnerLine()
		if s.inner {
			line = "sh -c " + plain.Word(line)
		}
	}
	if len(s.exports) > 0 {
		line = strings.Join(s.exports, "\n") + "\n" + line
	}
	return line
}

func (s *Suite) runnerLine() string {
	parts := make([]string, 0, len(s.words)+1)
	for _, w := range s.words {
		parts = append(parts, w.raw)
	}
	if s.redirect != "" {
		parts = append(parts, s.redirect)
	}
	return strings.Join(parts, " ")
}

// args are the runner's own arguments.
func (s *Suite) args() []word { return s.words[s.at:] }

// edit returns a copy with other arguments. A script that is run together with others cannot
// be: only the command that was read runs them.
func (s *Suite) edit(args []word) (*Suite, error) {
	if s.hooks != "" {
		return nil, fmt.Errorf("%s runs %s too", s.indirect, s.hooks)
	}
	c := *s
	c.words = append(slices.Clone(s.words[:s.at]), args...)
	c.edited = true
	return &c, nil
}

func (s *Suite) export(lines ...string) *Suite {
	c := *s
	c.exports = append(slices.Clone(s.exports), lines...)
	return &c
}

// sets reports whether the command itself sets a variable in front of the runner.
func (s *Suite) sets(name string) bool {
	return strings.Contains(s.before, name+"=") || slices.ContainsFunc(s.words[:s.at], func(w word) bool { return assigned(w) == name })
}

// mentions reports whether an argument has a text in it.
func (s *Suite) mentions(text string) bool {
	return slices.ContainsFunc(s.args(), func(w word) bool { return strings.Contains(w.value, text) })
}

// flagName is the name of a flag without dashes and value; empty = the word is no flag.
func flagName(w word) string {
	name, _, _ := strings.Cut(w.value, "=")
	if !strings.HasPrefix(name, "-") || name == "-" || name == "--" {
		return ""
	}
	return strings.TrimLeft(name, "-")
}

func hasFlag(args []word, names ...string) bool {
	return slices.ContainsFunc(args, func(w word) bool { return slices.Contains(names, flagName(w)) })
}

// beforeDashes parts arguments at "--".
func beforeDashes(args []word) (own, rest []word) {
	if i := slices.IndexFunc(args, func(w word) bool { return w.value == "--" }); i >= 0 {
		return args[:i], args[i:]
	}
	return args, nil
}

func literals(list ...string) []word {
	words := make([]word, len(list))
	for i, s := range list {
		words[i] = literal(s)
	}
	return words
}
