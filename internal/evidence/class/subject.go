package class

import (
	"path"
	"strings"

	"pawl/internal/pattern"
)

// A gate may run the program that it judges: it gives it input, and looks at what it prints. Such a program,
// a subject, is code; one that only ends well or not is what judges.

// look says how it is looked at what a command prints.
type look int

const (
	notLooked     look = iota
	looked             // it is written to a file, put into a variable or given to another program
	lookedClosely      // the command is given input, or what it prints is compared
)

// subjects are the programs that gates look at.
type subjects struct {
	looks  map[string]look // of programs, and of scripts and targets by their prefixes
	judges map[string]bool // of files that were read: whether they run tests or compare files
	read   map[string]bool // files that programs from elsewhere make an output of that is compared
}

// Prefixes of parts of manifests and makefiles among the subjects. No file is called like this.
const (
	scriptPart = "script\x00"
	targetPart = "target\x00"
)

func newSubjects() subjects {
	return subjects{looks: map[string]look{}, judges: map[string]bool{}, read: map[string]bool{}}
}

// isSubject reports whether a gate looks at what a program prints, and the program is not known as one that
// judges. A judge, too, may write to a file.
func (s *subjects) isSubject(name string) bool {
	judge, read := s.judges[name]
	switch s.looks[name] {
	case lookedClosely:
		return !callsItselfJudge(name)
	case looked:
		return read && !judge && !callsItselfJudge(name)
	}
	return false
}

// MayBeSubject reports whether a gate looks at what a file makes a program print, even if the file seems to
// judge or to be data.
func (c *Classes) MayBeSubject(name string) bool {
	return c.uses.looks[name] != notLooked || c.uses.read[name]
}

// IsUsed reports whether gates run a file or read it as their configuration, by the commands and files that are
// known.
func (c *Classes) IsUsed(name string) bool { return c.uses.of(name) != unused }

// mayLookAt records that a gate compares what a program from elsewhere makes of a file.
func (u *uses) mayLookAt(at place, w string) {
	if w = clean(w); w != "" && len(u.read) < maxNames {
		u.read[path.Join(at.folder, w)] = true
		if at.script {
			u.read[path.Clean(w)] = true
		}
	}
}

// looksAt records how a gate looks at a program.
func (u *uses) looksAt(at place, w string) {
	if w = clean(w); w == "" || at.looked == notLooked {
		return
	}
	u.looksAtPart(at, path.Join(at.folder, w))
	if at.script && at.folder != "" {
		u.looksAtPart(at, path.Clean(w))
	}
}

func (u *uses) looksAtPart(at place, name string) {
	if old, known := u.looks[name]; old < at.looked && (known || len(u.looks) < maxNames) {
		u.looks[name] = at.looked
		u.changed = true
	}
}

// part returns how a gate looks at what a script of a manifest, or a target of a makefile, prints.
func (s *subjects) part(prefix, name string) look {
	if judgeName.MatchString(strings.ToLower(name)) {
		return notLooked
	}
	return s.looks[prefix+name]
}

// judgeName matches the names, in lower case, of programs and scripts that judge.
var judgeName = pattern.Of(`(?:^|[._:-])(?:run)?[._-]?(?:tests?|checks?|checker|verify|validate|lint|linter|ci|specs?|selftest|smoke|judge|grade|grader|compare|expect)(?:$|[._:-])`)

// callsItselfJudge reports whether a program is one that judges, by its path.
func callsItselfJudge(name string) bool {
	p := split(name)
	return p.inTools() && !p.has(len(p.lower)-1, "bin") || judgeName.MatchString(strings.ToLower(strings.TrimSuffix(p.base, p.ext)))
}

// judging matches what only programs do that judge: they compare files or run tests.
var judging = pattern.Of(`(?m)(?:^|[|;&(\s])(?:diff|cmp|comm) -?[\w"'$./<-]|\b(?:pytest|unittest|filecmp|shellcheck|golangci-lint|eslint)\b|\b(?:go|cargo|npm|yarn|pnpm|make|node --) ?(?:run )?test\b`)

// onlyParses are the options by which interpreters look at a program without running it.
var onlyParses = map[string][]string{
	"sh": {"-n"}, "bash": {"-n"}, "dash": {"-n"}, "zsh": {"-n"}, "ksh": {"-n"}, "node": {"--check", "-c"}, "nodejs": {"--check", "-c"},
	"perl": {"-c"}, "ruby": {"-c", "-wc"}, "php": {"-l"},
}

// printers only print what they are given: a program after one in a pipe is given input.
var printers = []string{"echo", "printf", "cat", "seq", "yes"}

// passers print what they read: what comes after one in a pipe sees what came before it.
var passers = []string{"tee", "cat", "ts", "head", "tail", "less", "nl"}

// comparers look at what they read.
var comparers = []string{"diff", "cmp", "comm", "sdiff", "colordiff", "git", "grep", "egrep", "fgrep", "rg", "sha256sum", "sha1sum", "md5sum", "cksum"}

// capturing matches what programs call that take what a command prints.
var capturing = pattern.Of(`\b(?:check_output|capture_output|getoutput|Popen|popen\w*|execSync|execFileSync|spawnSync|exec|capture[23]e?|qx|stdout)\b`)
