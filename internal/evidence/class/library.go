package class

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// A script may load another one, as with `. lib/assert.sh`. A library that compares for the script judges; one
// whose functions the script looks at is judged, and is code like any other subject.

// libraries are the scripts that gates and tests load.
type libraries struct {
	loaded  map[string]bool     // by path: whether a script that a gate names loads it, and not only tests
	defines map[string][]string // the functions of those that were read
	asserts map[string]bool     // those that were read and compare what they are given
	starts  map[string]bool     // those that were read and run programs of the tree
	calls   map[string]look     // the commands that scripts give, and how it is looked at what they print
}

func newLibraries() libraries {
	return libraries{loaded: map[string]bool{}, defines: map[string][]string{}, asserts: map[string]bool{}, starts: map[string]bool{}, calls: map[string]look{}}
}

// loaders are the commands by which a script loads another one; load is that of bats.
var loaders = []string{".", "source", "load"}

// load records that a script at a place loads a file.
func (u *uses) load(at place, w string, byGate bool) {
	if w = clean(w); w == "" || strings.ContainsAny(w, "*?[ \x00") {
		return
	}
	u.looksAt(at, w)
	for _, folder := range []string{at.folder, ""} {
		if full := path.Join(folder, w); !strings.HasPrefix(full, "..") && (folder == at.folder || at.script) {
			u.loadFile(full, byGate)
		}
	}
}

func (u *uses) loadFile(name string, byGate bool) {
	gate, known := u.loaded[name]
	if known && (gate || !byGate) || !known && len(u.loaded) >= maxNames {
		return
	}
	u.loaded[name] = byGate
	u.changed = true
	if u.files[name] == unused && !known {
		u.order = append(u.order, name)
	}
}

// call records that a script gives a command.
func (u *uses) call(c *shellCommand, how look) {
	name := c.called()
	if name == "run" && len(c.words) > 1 { // bats keeps what the command prints
		name, how = c.words[1], lookedClosely
	}
	if c.captured {
		how = lookedClosely
	}
	if old, known := u.calls[name]; name != "" && (known || len(u.calls) < maxNames) {
		u.calls[name] = max(old, how)
	}
}

var (
	shellFunction = pattern.Of(`(?m)(?:^|[;&{}])[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))`)
	// asserting matches the names of functions that only judge.
	asserting = pattern.Of(`(?i)^(?:assert|expect|should|refute|not_?ok$|ok$|(?:is|check|must)_?(?:eq|equal|equals|same|like|output)|eq$|equals?$|run_?tests?$|test_?(?:ok|fail|pass|case|done|eq))`)
	// comparing matches where a shell compares two values that it was given.
	comparing = pattern.Of(`(?:\[\[?|\btest)[ \t]+!?[ \t]*"?\$\{?\w+\}?"?[ \t]*(?:=|==|!=|-eq|-ne)[ \t]*"?\$\{?\w+\}?"?(?:[ \t]*\]|[ \t;&|]|$)|\b(?:diff|cmp)\b`)
	// verdict matches the words of whoever compares for a test.
	verdict = pattern.Of(`(?i)\b(?:not ok|fail(?:ed|ures?|s)?|pass(?:ed|es)?|expected|want(?:ed)?)\b`)
	// libraryName matches the names, in lower case, of libraries for tests.
	libraryName = pattern.Of(`(?:^|[._-])(?:asserts?|assertions?|expect|expectations|harness|shunit2?|tap|unit|bats|test[._-]?(?:lib|helpers?|utils?|common)|testing)(?:$|[._-])`)
)

// readLibrary takes the content of a library into account.
func (u *uses) readLibrary(name, text string) {
	if _, known := u.defines[name]; known || len(u.defines) >= maxNames {
		return
	}
	functions := []string{}
	for _, m := range shellFunction.FindAllStringSubmatch(text, maxNames) {
		functions = append(functions, m[1]+m[2])
	}
	u.defines[name] = functions
	u.starts[name] = slices.ContainsFunc(readShell(text), func(c shellCommand) bool {
		first := c.called()
		return slices.Contains(interpreters, first) && !slices.Contains(loaders, first) || strings.HasPrefix(first, "./")
	})
	u.asserts[name] = comparing.MatchString(text) && verdict.MatchString(text)
}

// isLibrary reports whether gates or tests load a file with what they judge by.
func (u *uses) isLibrary(name string) bool {
	byGate, loaded := u.loaded[name]
	if !loaded || u.isSubject(name) {
		return false
	}
	asserts, called := false, false
	for _, f := range u.defines[name] {
		switch is := asserting.MatchString(f); {
		case is && u.calls[f] == lookedClosely:
			return false // it is an assertion that is tested
		case is:
			asserts = true
		case u.calls[f] != notLooked:
			called = true
		}
	}
	p := split(name)
	stem := strings.ToLower(strings.TrimSuffix(p.base, p.ext))
	switch {
	case asserts:
		return true
	case libraryName.MatchString(stem) || callsItselfJudge(name):
		return !called || p.inTools()
	case called: // what runs the program that is judged is not judged itself
		return byGate && u.starts[name] && !p.inProduct()
	}
	return u.asserts[name] || byGate && !p.inProduct()
}

// IsLoaded reports whether gates or tests load a file as a library that they judge by.
func (c *Classes) IsLoaded(name string) bool {
	return c.uses.files[name] == unused && c.uses.isLibrary(name)
}

// MayLoad reports whether a file may be a script of a shell, by its name.
func MayLoad(name string) bool {
	return slices.Contains([]string{".sh", ".bash", ".zsh", ".ksh", ".bats", ".t", ""}, path.Ext(name))
}

// FollowTest takes the content of a test into account that a gate finds by itself: if it is a script of a shell,
// the libraries that it loads. What it runs is what it tests.
func (c *Classes) FollowTest(name string, data []byte) {
	text := string(data[:min(len(data), maxFollowed)])
	p := split(name)
	if !isShell(p, text) {
		return
	}
	at := place{folder: strings.TrimSuffix(path.Dir(name), "/"), script: true}
	if at.folder == "." {
		at.folder = ""
	}
	for _, cmd := range readShell(text) {
		at.looked = cmd.looked
		c.uses.call(&cmd, cmd.looked)
		i := slices.IndexFunc(cmd.words, func(w string) bool { return !slices.Contains(wrappers, w) })
		if i < 0 || i+1 >= len(cmd.words) || !slices.Contains(loaders, cmd.words[i]) {
			continue
		}
		c.uses.load(at, cmd.words[i+1], false)
		if cmd.words[i] == "load" {
			c.uses.load(at, cmd.words[i+1]+".bash", false)
			c.uses.load(at, cmd.words[i+1]+".sh", false)
		}
	}
}
