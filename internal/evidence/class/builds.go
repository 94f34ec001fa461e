package class

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// A gate may build a program and run it. If it looks at what the program prints, the program is judged; if only
// its exit code counts, the source that has the checks is a test, and what is built together with it is code.

// builds are the programs that gates build and run.
type builds struct {
	built map[string][]build // by the paths of sources
	ran   map[string]ran     // by the names of programs
	holds map[string]checks  // what is in sources
}

// checks says what is in a source.
type checks struct{ main, values bool }

type build struct {
	program string
	sources int
}

type ran struct {
	looked look
	given  bool // arguments
}

func newBuilds() builds {
	return builds{built: map[string][]build{}, ran: map[string]ran{}, holds: map[string]checks{}}
}

// compilers make a program of their operands, which their option -o names.
var compilers = []string{"cc", "gcc", "clang", "tcc", "c99", "c++", "g++", "clang++", "rustc", "gfortran", "gdc", "ldc2", "ghc"}

// objectSources are the extensions of what an object may be compiled from.
var objectSources = []string{".c", ".cc", ".cpp", ".cxx", ".m"}

// compiles records that a command compiles a program.
func (u *uses) compiles(at place, words []string) {
	i := slices.IndexFunc(words, func(w string) bool { return !slices.Contains(wrappers, w) && !assignment.MatchString(w) })
	if i < 0 || !slices.Contains(compilers, path.Base(words[i])) {
		return
	}
	program := "a.out"
	var sources []string
	for i++; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-o" && i+1 < len(words):
			i++
			program = words[i]
		case w == ">" || w == ">>":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			sources = append(sources, w)
		}
	}
	u.build(at, program, sources)
}

// build records that a program is made of sources, or of objects that are compiled from them.
func (u *uses) build(at place, program string, sources []string) {
	b := build{program: called(program), sources: len(sources)}
	for _, w := range sources {
		if w = clean(w); w == "" {
			continue
		}
		stem, isObject := strings.CutSuffix(w, ".o")
		for _, ext := range objectSources {
			if isObject {
				u.sourceOf(at, stem+ext, b)
			}
		}
		if compiled().isSource(split(w)) {
			u.sourceOf(at, w, b)
		}
	}
}

// sourceOf adds a source of a program.
func (u *uses) sourceOf(at place, name string, b build) {
	folders := []string{at.folder}
	if at.script && at.folder != "" {
		folders = append(folders, "")
	}
	for _, folder := range folders {
		full := path.Join(folder, name)
		if strings.HasPrefix(full, "..") || slices.Contains(u.built[full], b) || len(u.built) >= maxNames {
			continue
		}
		if u.built[full] == nil {
			u.order = append(u.order, full)
		}
		u.built[full] = append(u.built[full], b)
		u.changed = true
	}
}

// runsBuilt records that a program is run, which may be one that is built.
func (u *uses) runsBuilt(at place, w string, given bool) {
	name := called(w)
	old, known := u.ran[name]
	if known || len(u.ran) < maxNames {
		u.ran[name] = ran{max(old.looked, at.looked), old.given || given}
	}
}

// called returns the name of a program without folders: where it is built is no part of the tree.
func called(w string) string { return path.Base(strings.Trim(w, "\x00")) }

// isBuilt reports whether gates build a program of a source.
func (u *uses) isBuilt(name string) bool { return len(u.built[name]) > 0 }

var (
	mainFunction = pattern.Of(`\bmain\s*\(`)
	// checksValues matches what programs call that check something and say so by how they end.
	checksValues = pattern.Of(`(?m)\b(?:static_)?assert(?:_eq|_ne)?!?\s*\(|\b(?:CHECK|EXPECT|ASSERT|REQUIRE|VERIFY|TEST)(?:_[A-Z]+)*\s*\(|\bFAIL|\bnot ok\b`)
	// includesSource matches the inclusion of another source as a whole.
	includesSource = pattern.Of(`(?m)^[ \t]*#[ \t]*include[ \t]+"[^"\n]+\.(?:c|cc|cpp|cxx|m)"`)
)

// readSource takes the content of a source into account of which a program is built.
func (u *uses) readSource(name, text string) {
	u.holds[name] = checks{main: mainFunction.MatchString(text), values: checksValues.MatchString(text)}
	if includesSource.MatchString(text) {
		for i := range u.built[name] {
			u.built[name][i].sources = max(u.built[name][i].sources, 2)
		}
	}
}

// isCheck reports whether a source has the checks of a program of which only the exit code counts. What is built of
// nothing else checks itself.
func (u *uses) isCheck(name string) bool {
	for _, b := range u.built[name] {
		r, runs := u.ran[b.program]
		if !runs || r.looked != notLooked || b.sources < 2 {
			continue
		}
		has := u.holds[name]
		if callsItselfJudge(name) && (has.main || has.values) || has.main && has.values && !r.given {
			return true
		}
	}
	return false
}
