package class

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// maxFollowed is how many bytes of a file [Classes.Follow] looks at.
const maxFollowed = 256 << 10

// Follows reports whether the content of a file may name further gate inputs, so that it is
// to be given to [Classes.Follow].
func (c *Classes) Follows(name string) bool {
	if _, loaded := c.uses.loaded[name]; loaded || c.uses.of(name) != unused || c.uses.isBuilt(name) {
		return true
	}
	switch path.Base(name) {
	case "package.json", "composer.json":
		return len(c.uses.scripts) > 0 && c.Of(name) == pawl.ClassDependency
	case "pyproject.toml", "setup.cfg":
		return c.Of(name) == pawl.ClassDependency
	}
	class := c.Of(name)
	return class == pawl.ClassGateInput || class == pawl.ClassSupport && c.names.setUp.matches(split(name))
}

// Follow takes the content of a file that is a gate input into account: the files that a script,
// a makefile or a configuration names are gate inputs too, or set-up files. It reports whether it
// learned a new name; it has to be called with all files that [Classes.Follows] picks until it
// no longer does.
func (c *Classes) Follow(name string, data []byte) (more bool) {
	if !c.Follows(name) {
		return false
	}
	u := &c.uses
	u.changed = false
	text := string(data[:min(len(data), maxFollowed)])
	_, isLoaded := u.loaded[name]
	if isLoaded {
		u.readLibrary(name, text)
	}
	if u.isBuilt(name) && u.files[name] == unused {
		u.readSource(name, text)
		return u.changed
	}
	if (u.files[name] == usedRun || isLoaded) && !u.judges[name] {
		u.judges[name] = judging.MatchString(text)
		if u.isSubject(name) {
			return false // it runs nothing for the gates
		}
	}
	if isLoaded && u.of(name) == unused {
		return u.changed
	}
	p := split(name)
	at := place{folder: strings.TrimSuffix(path.Dir(name), "/"), script: true, loaded: isLoaded}
	if at.folder == "." {
		at.folder = ""
	}
	switch {
	case p.base == "package.json" || p.base == "composer.json":
		u.manifest(data, at)
	case u.files[name] == usedMakefile || slices.Contains(makefiles, p.base) || p.ext == ".mk":
		at.script = p.ext == ".mk" // one that is included is read where make runs
		u.makefile(text, at)
	case isShell(p, text):
		u.shell(text, at)
	case compiled().isSource(p):
		u.source(text, at, p)
	case p.base == "tox.ini" || strings.HasPrefix(p.base, "Taskfile"):
		for line := range strings.Lines(text) {
			u.shell(taskLine.ReplaceAllString(line, ""), at)
		}
		u.settings(text, at)
	default:
		u.settings(text, at)
	}
	return u.changed
}

func isShell(p splitPath, text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "#!") {
		return strings.HasSuffix(strings.TrimRight(strings.Fields(line + " x")[0], " "), "sh") || shebangShell.MatchString(line)
	}
	switch p.ext {
	case ".sh", ".bash", ".zsh", ".ksh", ".bats":
		return true
	case "":
		return !strings.HasPrefix(p.base, ".")
	}
	return strings.EqualFold(p.base, "justfile") || p.base == ".justfile" || p.base == ".envrc"
}

// taskLine is what stands before a command in a tox.ini or Taskfile.
var taskLine = pattern.Of(`^\s*(?:-\s+)?(?:(?:cmd|sh|commands\w*)\s*[:=])?\s*['"]?`)

var shebangShell = pattern.Of(`\b(ba|da|z|k)?sh\b`)

// manifest takes the scripts of a package.json or composer.json that gates run into account, and
// the set-up files of test runners.
func (u *uses) manifest(data []byte, at place) {
	var m map[string]json.RawMessage
	if json.Unmarshal(trimBOM(data), &m) != nil {
		return
	}
	var scripts map[string]json.RawMessage
	_ = json.Unmarshal(m["scripts"], &scripts)
	names := make([]string, 0, len(scripts))
	for name := range scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	at.script = false
	done := map[string]bool{}
	for again := true; again; {
		before := len(u.scripts)
		for _, name := range names {
			if done[name] || !u.wants(name) {
				continue
			}
			done[name] = true
			u.add(u.scripts, name)
			at.looked = u.part(scriptPart, name)
			var lines []string
			var line string
			if json.Unmarshal(scripts[name], &line) == nil {
				lines = []string{line}
			} else {
				_ = json.Unmarshal(scripts[name], &lines)
			}
			for _, line := range lines {
				if other, ok := strings.CutPrefix(line, "@"); ok && !strings.ContainsAny(other, " ") {
					u.add(u.scripts, other)
				}
				u.shell(strings.TrimPrefix(line, "@"), at)
			}
		}
		again = len(u.scripts) > before
	}
	for key, value := range m {
		if isRunnerKey(key) {
			u.settings(string(value), at)
		}
	}
}

func isRunnerKey(key string) bool {
	return slices.Contains([]string{"jest", "mocha", "ava", "tap", "c8", "nyc", "vitest", "jasmine", "eslintConfig", "babel"}, key)
}

// wants reports whether gates run a script of this name, or the one that it comes before or after.
func (u *uses) wants(name string) bool {
	for _, n := range []string{name, strings.TrimPrefix(name, "pre"), strings.TrimPrefix(name, "post")} {
		if u.scripts[n] {
			return true
		}
	}
	for s := range u.scripts {
		if strings.Contains(s, "*") {
			if ok, _ := path.Match(strings.ReplaceAll(s, "**", "*"), name); ok {
				return true
			}
		}
	}
	return false
}

var (
	makeVariable = pattern.Of(`^(?:export\s+)?([\w.]+)\s*(?:[:?+]{0,3}=)\s*(.*)$`)
	makeRule     = pattern.Of(`^([^\s#:=][^:=#]*?)\s*::?(?:\s+|$)(.*)$`)
	makeUse      = pattern.Of(`\$[({]([\w.]+)[)}]`)
	makeInclude  = pattern.Of(`^\s*[-s]?include\s+(.*)$`)
)

type makeTarget struct{ needs, recipe []string }

// makefile takes the recipes of the targets that gates make into account.
func (u *uses) makefile(text string, at place) {
	variables := map[string]string{"MAKE": "make", "CURDIR": ".", "SHELL": "sh", "CC": "cc", "CXX": "c++"}
	targets, first := map[string]*makeTarget{}, ""
	var open []*makeTarget
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			for _, t := range open {
				t.recipe = append(t.recipe, strings.TrimLeft(recipe, "@-+ "))
			}
			continue
		}
		if m := makeInclude.FindStringSubmatch(line); m != nil {
			for _, f := range strings.Fields(expandMake(m[1], variables)) {
				if f = strings.TrimRight(f, ")"); !strings.HasPrefix(f, "$(") {
					u.file(at, clean(f), usedMakefile)
				}
			}
		} else if m := makeVariable.FindStringSubmatch(line); m != nil {
			variables[m[1]] = m[2]
		} else if m := makeRule.FindStringSubmatch(line); m != nil {
			open = nil
			needs, recipe, _ := strings.Cut(m[2], ";")
			for _, name := range strings.Fields(expandMake(m[1], variables)) {
				if targets[name] == nil {
					targets[name] = &makeTarget{}
				}
				t := targets[name]
				open = append(open, t)
				t.needs = append(t.needs, strings.Fields(needs)...)
				if recipe != "" {
					t.recipe = append(t.recipe, recipe)
				}
				if first == "" && !strings.HasPrefix(name, ".") {
					first = name
				}
			}
		}
	}
	if goal := variables[".DEFAULT_GOAL"]; goal != "" {
		first = strings.TrimSpace(goal)
	}
	done := map[string]bool{}
	var run func(name string)
	run = func(name string) {
		t := targets[name]
		if done[name] || t == nil {
			return
		}
		done[name] = true
		here := at
		here.looked = u.part(targetPart, name)
		needs := strings.Fields(expandMake(strings.Join(t.needs, " "), variables))
		for _, line := range t.recipe {
			u.shell(expandMake(automatic(line, name, needs), variables), here)
		}
		if len(t.recipe) == 0 { // by a rule that make knows
			u.build(at, name, needs)
		}
		for _, need := range needs {
			if targets[need] != nil {
				run(need)
			} else {
				u.operand(at, need, false, "")
			}
		}
	}
	for again := true; again; {
		before := len(u.targets)
		for name := range targets {
			if u.targets[name] || u.targets[""] && name == first || strings.Contains(name, "%") {
				run(name)
			}
		}
		again = len(u.targets) > before
	}
}

// automatic replaces what make sets for a target in a line of its recipe.
func automatic(line, target string, needs []string) string {
	if strings.Contains(target, "%") || !strings.Contains(line, "$") {
		return line
	}
	first := ""
	if len(needs) > 0 {
		first = needs[0]
	}
	all := strings.Join(needs, " ")
	if len(all)+len(target) > maxAutomatic {
		return line
	}
	return strings.NewReplacer("$$", "$$", "$@", target, "$(@)", target, "$<", first, "$(<)", first, "$^", all, "$(^)", all, "$+", all).Replace(line)
}

// maxAutomatic bounds the names of a target and of what it needs.
const maxAutomatic = 2 << 10

// maxMakeLine is how long a line of a makefile becomes by its variables at most.
const maxMakeLine = 16 << 10

// expandMake replaces the variables of a line, to a depth of five.
func expandMake(line string, variables map[string]string) string {
	for range 5 {
		size := len(line)
		next := makeUse.ReplaceAllStringFunc(line, func(use string) string {
			value := variables[use[2:len(use)-1]]
			if size += len(value); size > maxMakeLine {
				return ""
			}
			return value
		})
		if next == line {
			break
		}
		line = next
	}
	return strings.ReplaceAll(line, "$$", "$")
}

var (
	quoted     = pattern.Of("\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|`[^`\n]{1,400}`")
	imported   = pattern.Of(`(?m)(?:\brequire(?:_relative)?\b\s*\(?|\bfrom\b|\bimport\b\s*\(?)\s*["'](\.{0,2}[\w./-]+)["']`)
	pyImported = pattern.Of(`(?m)^\s*(?:from\s+\.*([\w.]*)\s+import\s+(\w+)|import\s+([\w.]+))`)
)

var (
	// lists matches what programs call that list a folder, starts what they call that run what is in it.
	lists  = pattern.Of(`\b(?:i?glob|listdir|iterdir|scandir|walk|readdir\w*|Dir)\b`)
	starts = pattern.Of(`\b(?:run_path|import_module|spec_from_file_location|exec\w*|subprocess|spawn\w*|fork|require|load|system)\b`)
	// optionalModule matches the import of a module of Python that need not be there.
	optionalModule = pattern.Of(`(?m)^[ \t]*try:[ \t]*\r?\n\s*(?:import|from)[ \t]+([A-Za-z_][\w.]*)`)
)

// setVariable matches a line of a program that sets a variable.
var setVariable = pattern.Of(`^\s*(?:(?:const|let|var|my)\s+)?\$?([A-Za-z_]\w*)\s*=`)

// listedFolders returns the texts in a program that stand where it lists a folder, or in a variable that stands
// there.
func listedFolders(text string) []string {
	var listing strings.Builder
	for line := range strings.Lines(text) {
		if lists.MatchString(line) {
			listing.WriteString(line)
		}
	}
	var out []string
	for line := range strings.Lines(text) {
		if m := setVariable.FindStringSubmatch(line); !lists.MatchString(line) && (m == nil || !strings.Contains(listing.String(), m[1])) {
			continue
		}
		for _, q := range quoted.FindAllString(line, -1) {
			out = append(out, q[1:len(q)-1])
		}
	}
	return out
}

// folder records that all files of a folder may be run. One that by its name holds what is built is
// what the gate is about.
func (u *uses) folder(at place, name string) {
	name = clean(strings.TrimPrefix(name, "./"))
	if name == "" || strings.ContainsAny(name, "*?[ \x00.") {
		return
	}
	if p := split(name + "/x"); p.inProduct() {
		return
	}
	u.file(at, name+"/*", usedRun)
}

// source takes the texts of a script into account, and what one in a folder of scripts imports
// from there.
func (u *uses) source(text string, at place, p splitPath) {
	inText := at
	inText.text = true
	if capturing.MatchString(text) {
		inText.looked = looked
	}
	for _, q := range quoted.FindAllString(text, -1) {
		u.shell(q[1:len(q)-1], inText)
	}
	u.settings(text, at)
	if starts.MatchString(text) {
		for _, q := range listedFolders(text) {
			u.folder(at, q)
		}
	}
	for _, m := range optionalModule.FindAllStringSubmatch(text, -1) {
		u.file(at, strings.ReplaceAll(m[1], ".", "/")+".py", usedRun)
	}
	if !p.inTools() {
		return
	}
	here, ext := at, p.ext
	here.script = false
	if ext == ".py" {
		for _, m := range pyImported.FindAllStringSubmatch(text, -1) {
			for _, module := range []string{m[1], m[1] + "." + m[2], m[2], m[3]} {
				if module = strings.ReplaceAll(strings.Trim(module, "."), ".", "/"); module != "" && !standardPython(module) {
					u.file(here, module+".py", usedRun)
				}
			}
		}
		return
	}
	for _, m := range imported.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(m[1], "./") || ext == ".rb" {
			u.resolve(here, m[1], usedRun)
		}
	}
}

// standardPython reports whether a module is among those of Python that scripts use most, so
// that the list of names stays short.
func standardPython(module string) bool {
	return slices.Contains([]string{"os", "sys", "re", "json", "subprocess", "pathlib", "argparse", "shutil", "time", "typing"}, module)
}

// setUpKey matches the settings of test runners that name files to load before tests, and what
// configurations extend.
var setUpKey = pattern.Of(`(?m)["']?\b(setupFiles|setupFilesAfterEnv|setupFile|setupNodeEvents|globalSetup|globalTeardown|supportFile|require|requires|import|preload|bootstrap|testEnvironment|helpers|extends)\b["']?\s*[:=](\s*(?:\[[^\]]*\]|"[^"\n]*"|'[^'\n]*')|(?:[ \t]*\n\s*-\s+[^\n]+)+|[ \t]*[\w@./<>-]+)`)

// listed are the words of a value: quoted, or one per line of YAML, or alone.
var listed = pattern.Of(`"([^"\n]*)"|'([^'\n]*)'|-\s+([^\s"'\n]+)|^\s*([\w@./<>-]+)$`)

// lineOption matches the options of test runners in files such as .rspec and pytest.ini.
var lineOption = pattern.Of(`(?m)(?:^|\s)(--require|-r|-p|--import|--bootstrap|--config|--rcfile)[ =]+([\w./-]+)`)

// settings takes a configuration file into account.
func (u *uses) settings(text string, at place) {
	at.script = true
	for _, m := range setUpKey.FindAllStringSubmatch(text, -1) {
		how := usedSetUp
		if m[1] == "extends" {
			how = usedRun
		}
		for _, v := range listed.FindAllStringSubmatch(m[2], -1) {
			if name := v[1] + v[2] + v[3] + v[4]; isRelative(name) {
				u.resolve(at, name, how)
			}
		}
	}
	for _, m := range lineOption.FindAllStringSubmatch(text, -1) {
		switch name := m[2]; {
		case m[1] == "-p" && !strings.ContainsAny(name, "/"): // a module of Python
			if strings.Contains(name, ".") {
				u.file(at, strings.ReplaceAll(name, ".", "/")+".py", usedSetUp)
			} else {
				u.file(at, name+".py", usedSetUp)
			}
		case m[1] == "--config" || m[1] == "--rcfile":
			u.operand(at, name, false, "")
		case isRelative(name):
			u.resolve(at, name, usedSetUp)
		}
	}
}
