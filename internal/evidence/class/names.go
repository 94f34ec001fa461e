package class

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pawl/internal/pattern"
)

// Limits of what is learned from commands and scripts, which a model may have written.
const (
	maxNames     = 5000 // names of files, scripts and targets
	maxGlobs     = 200  // patterns for files
	maxExpansion = 4096 // bytes of an expansion in a shell line
	maxShells    = 10   // shell lines within shell lines
)

// use says how gates use a file.
type use int

const (
	unused use = iota
	usedRun
	usedMakefile
	usedSetUp // loaded before tests
	usedTest  // the source of a program that judges
)

// uses are what the commands of gates and the scripts that they run name.
type uses struct {
	files   map[string]use
	order   []string // of files, as they were named
	globs   []string
	scripts map[string]bool // of package.json and composer.json; may be patterns
	targets map[string]bool // of makefiles; "" is the first one
	subjects
	libraries
	handed
	builds
	changed bool
}

// place is where a command runs.
type place struct {
	folder string // of the tree; empty is the root
	script bool   // it is in a script, whose names may also be relative to the root
	text   bool   // it is a text in a program, which may be no command
	loaded bool   // it is in a script that another one loads
	depth  int    // of shell lines within shell lines
	looked look   // how it is looked at what all commands there print
}

func newUses() uses {
	return uses{files: map[string]use{}, scripts: map[string]bool{}, targets: map[string]bool{},
		subjects: newSubjects(), libraries: newLibraries(), handed: newHanded(), builds: newBuilds()}
}

func (u *uses) of(name string) use {
	if use, ok := u.files[name]; ok && !(use == usedRun && u.isSubject(name)) {
		return use
	} else if ok {
		return unused
	}
	switch {
	case u.isLibrary(name):
		return usedRun
	case u.isCheck(name):
		return usedTest
	}
	if slices.ContainsFunc(u.globs, func(g string) bool { return doublestar.MatchUnvalidated(g, name) }) {
		return usedRun
	}
	return unused
}

// Named returns the names that the commands, and the files given to [Classes.Follow], have for
// files that they run or read, in the order in which they were found. Not all have to exist.
func (c *Classes) Named() []string { return slices.Clone(c.uses.order) }

// file adds a name, as written at a place.
func (u *uses) file(at place, name string, how use) {
	u.fileAt(at.folder, name, how)
	if at.script && at.folder != "" {
		u.fileAt("", name, how)
	}
}

func (u *uses) fileAt(folder, name string, how use) {
	full := path.Join(folder, name)
	if full == "." || full == ".." || strings.HasPrefix(full, "../") || strings.HasPrefix(full, "/") {
		return
	}
	if strings.ContainsAny(full, "*?[") {
		if len(u.globs) < maxGlobs && strings.Count(full, "*") <= 6 && doublestar.ValidatePattern(full) && strings.Trim(full, "*/.") != "" && !slices.Contains(u.globs, full) {
			u.globs = append(u.globs, full)
			u.changed = true
		}
		return
	}
	if old := u.files[full]; old < how && (old != unused || len(u.files) < maxNames) {
		if old == unused {
			u.order = append(u.order, full)
		}
		u.files[full] = how
		u.changed = true
	}
}

func (u *uses) add(set map[string]bool, name string) {
	if !set[name] && len(set) < maxNames {
		set[name] = true
		u.changed = true
	}
}

// runners are programs that read a file whose name is not in the command.
var runners = map[string][]string{
	"just":       {"justfile", "Justfile", ".justfile"},
	"task":       {"Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml"},
	"rake":       {"Rakefile"},
	"mage":       {"magefile.go", "magefiles/*.go"},
	"invoke":     {"tasks.py"},
	"inv":        {"tasks.py"},
	"doit":       {"dodo.py"},
	"ant":        {"build.xml"},
	"cmake":      {"CMakeLists.txt", "CMakePresets.json", "**/CMakeLists.txt"},
	"ctest":      {"CMakeLists.txt", "CTestConfig.cmake", "**/CMakeLists.txt"},
	"meson":      {"meson.build", "**/meson.build"},
	"bazel":      {"WORKSPACE", "MODULE.bazel", ".bazelrc", "**/BUILD", "**/BUILD.bazel"},
	"earthly":    {"Earthfile"},
	"dagger":     {"dagger.json"},
	"pre-commit": {".pre-commit-config.yaml"},
	"lefthook":   {"lefthook.yml"},
	"pawl":       {".pawl/**"},
}

// scriptRunners run scripts of package.json or composer.json by name.
var scriptRunners = []string{"npm", "pnpm", "yarn", "bun", "npm-run-all", "npm-run-all2", "run-s", "run-p", "turbo", "nx", "lerna", "wsrun", "concurrently", "composer"}

// installScripts run when packages are installed.
var installScripts = []string{"preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare", "dependencies",
	"pnpm:devPreinstall", "pre-install-cmd", "post-install-cmd", "pre-autoload-dump", "post-autoload-dump", "post-root-package-install"}

// interpreters run the file that is their first word.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "source", ".", "python", "python2", "python3", "pypy3", "node", "nodejs", "tsx", "ts-node",
	"ruby", "perl", "php", "lua", "pwsh", "powershell", "Rscript", "julia", "elixir", "groovy"}

// wrappers run the program that is their first word, or are words of the shell before a program.
var wrappers = []string{"exec", "eval", "command", "builtin", "env", "nice", "ionice", "timeout", "time", "nohup", "setsid", "stdbuf", "xargs", "sudo", "xvfb-run", "faketime", "strace",
	"unbuffer", "chronic", "npx", "bunx", "pnpx", "poetry", "pipenv", "pdm", "hatch", "uv", "uvx", "bundle", "dotenv", "cross-env", "coverage", "c8", "nyc", "deno", "run", "rtx", "mise", "nix",
	"if", "then", "else", "elif", "while", "until", "do", "!", "{", "set"}

// readers are given files that they look at and do not run: what a gate greps is what it judges, and not
// what it judges by. Programs that compare files are none of them.
var readers = []string{"shellcheck", "shfmt", "cat", "cp", "rm", "chmod", "echo", "ls", "test", "[", "grep", "egrep", "fgrep", "rg", "head", "tail", "wc",
	"sed", "awk", "jq", "stat", "find", "sort", "uniq", "cut", "tr", "printf", "mv", "mkdir", "touch",
	"pip", "pip3", "pip-compile", "pip-sync"}

// filters run a program that their option -f names the file of.
var filters = []string{"awk", "gawk", "mawk", "nawk", "busybox", "sed", "gsed", "jq", "gojq"}

// filterOptions are the forms of that option.
var filterOptions = []string{"-f", "--file", "--from-file"}

// setUpOptions name a file that is loaded before tests.
var setUpOptions = []string{"--require", "--import", "--loader", "--experimental-loader", "--preload", "--bootstrap", "--setupFiles", "--setupFilesAfterEnv",
	"--globalSetup", "--test-global-setup", "--helper", "--file"}

// requirers are programs whose option -r names a file to load before the tests. The option of other
// programs means something else: pip reads requirements from the file, and grep searches a folder.
var requirers = []string{"node", "nodejs", "tsx", "ts-node", "mocha", "ts-mocha", "electron-mocha", "mochapack", "jasmine", "tape", "nyc", "c8", "cucumber", "cucumber-js",
	"ruby", "rspec", "rake"}

var assignment = pattern.Of(`^[A-Za-z_]\w*\+?=`)

// runsVariable matches shell texts that run what they have found.
var runsVariable = pattern.Of(`(?m)(?:^|[\s;&|(])(?:\.|source|sh|bash|dash|zsh|python3?|node|perl|ruby)(?:[ \t]+-[eux]+)*[ \t]+(?:"?(?:\./)?\$\{?\w|\{\})|` +
	`\bxargs\b[^\n;|]*\b(?:sh|bash|python3?|node|perl|ruby)[ \t]*(?:$|[;&|)'"])|\bdo[ \t]*"?(?:\./)?\$\{?\w`)

// shell takes the commands of a shell text into account.
func (u *uses) shell(text string, at place) {
	if at.depth++; at.depth > maxShells {
		return
	}
	home := at
	folders := []string{at.folder} // by the depth of subshells
	runsAny := runsVariable.MatchString(text)
	calls := u.calls
	if !at.loaded {
		calls = nil
	}
	commands := readLoaded(text, calls)
	for i, c := range commands {
		for len(folders) <= c.depth {
			folders = append(folders, folders[len(folders)-1])
		}
		folders = folders[:c.depth+1]
		at.folder = folders[c.depth]
		if words := c.words; len(words) >= 2 && words[0] == "cd" {
			if folder := path.Join(home.folder, clean(words[1])); !strings.HasPrefix(folder, "..") {
				folders[c.depth] = folder
			}
			continue
		}
		here := at
		here.looked = max(at.looked, c.looked)
		if !at.loaded {
			u.call(&c, here.looked)
		}
		u.hands(here, commands, i)
		u.compiles(here, c.words)
		if name := c.program(); name == "run-parts" || runsAny && (name == "find" || name == "ls") {
			for _, w := range c.words {
				if !strings.HasPrefix(w, "-") && w != name {
					u.folder(here, w)
				}
			}
		}
		u.command(c.words, here)
	}
}

// command takes one command into account.
func (u *uses) command(words []string, at place) {
	const (
		atProgram = iota // the next word is a program
		atScript         // the next word is a file for an interpreter
		atOperand
	)
	state, program, own := atProgram, "", false // own: the program is a file of the tree
	for i := 0; i < len(words); i++ {
		w, rest := words[i], words[i+1:]
		switch name := path.Base(w); {
		case w == ">" || w == ">>": // what a command writes
			i++
		case state == atScript && slices.Contains(onlyParses[program], w):
			at.looked = lookedClosely
		case strings.HasPrefix(w, "-") && w != "-":
			var taken int
			if taken = u.option(at, w, rest, program); taken < 0 { // a module is run
				state, taken, program = atOperand, 1, rest[0]
			}
			i += taken
		case state != atScript && assignment.MatchString(w):
			_, value, _ := strings.Cut(w, "=")
			u.operand(at, value, false, program)
		case strings.ContainsAny(w, " \t\n"): // sh -c '…'
			u.shell(w, at)
			state = atOperand
		case state == atProgram && (isNumber(w) || slices.Contains(wrappers, w)):
			program = w
		case state == atProgram && slices.Contains(interpreters, name):
			state, program = atScript, name
		case state == atProgram && !u.program(at, name, rest) && looksLikeFile(w) || state == atScript:
			if program == "." || program == "source" {
				u.load(at, w, true)
				state = atOperand
				break
			}
			run := !at.text || len(words) > 1 || strings.HasPrefix(w, "./") || path.Ext(w) == ".sh"
			u.runsBuilt(at, w, len(rest) > 0)
			if own = true; run && !(at.text && isData(w)) {
				u.looksAt(at, w)
			}
			u.operand(at, w, run, program)
			if state == atProgram {
				program = name
			}
			state = atOperand
		case state == atProgram:
			state, program = atOperand, name
			if name == "go" && len(rest) > 1 && rest[0] == "run" {
				u.goRun(at, rest[1])
			}
		case slices.Contains(readers, program):
		default:
			if at.looked == lookedClosely && !own && !slices.Contains(comparers, program) && !slices.Contains(closers, program) {
				u.mayLookAt(at, w)
			}
			u.operand(at, w, strings.HasPrefix(w, "./") || path.Ext(w) == ".sh" || program == "bun", program)
		}
	}
}

// program takes a program that reads files of its own into account, and reports whether it does.
func (u *uses) program(at place, name string, args []string) bool {
	if name == "make" || name == "gmake" {
		u.make(at, args)
		return true
	}
	if files := runners[name]; files != nil {
		for _, f := range files {
			u.file(at, f, usedRun)
		}
		return true
	}
	if slices.Contains(scriptRunners, name) {
		for _, s := range installScripts {
			u.add(u.scripts, s)
		}
		for _, w := range args {
			w = strings.TrimPrefix(w, "npm:")
			switch w {
			case "t", "tst":
				w = "test"
			}
			if w != "" && !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, " /\x00") {
				u.add(u.scripts, w)
				u.looksAtPart(at, scriptPart+w)
			}
		}
		u.file(at, map[bool]string{true: "composer.json", false: "package.json"}[name == "composer"], usedRun)
		return true
	}
	return false
}

// makefiles are read by make without -f.
var makefiles = []string{"Makefile", "makefile", "GNUmakefile"}

// IsMakefile reports whether make reads a file, by its name.
func IsMakefile(name string) bool {
	return slices.Contains(makefiles, path.Base(name)) || path.Ext(name) == ".mk"
}

// make takes the arguments of make into account.
func (u *uses) make(at place, args []string) {
	folder, file, targets := "", "", 0
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case (w == "-C" || w == "-f") && i+1 < len(args):
			i++
			if w == "-f" {
				file = clean(args[i])
			} else {
				folder = clean(args[i])
			}
		case strings.HasPrefix(w, "-") || assignment.MatchString(w) || w == "":
		default:
			targets++
			u.add(u.targets, w)
			u.looksAtPart(at, targetPart+w)
		}
	}
	if targets == 0 {
		u.add(u.targets, "")
	}
	if file != "" {
		u.file(at, path.Join(folder, file), usedMakefile)
		return
	}
	for _, f := range makefiles {
		u.file(at, path.Join(folder, f), usedMakefile)
	}
}

// option takes an option into account, and returns how many further words belong to it, or -1
// when it is a module that is run.
func (u *uses) option(at place, w string, rest []string, program string) int {
	key, value, joined := strings.Cut(w, "=")
	if !joined && len(rest) > 0 {
		value = rest[0]
	}
	taken := btoi(!joined && len(rest) > 0)
	switch {
	case slices.Contains(setUpOptions, key), key == "-r" && (slices.Contains(requirers, program) || slices.Contains(scriptRunners, program)):
		if isRelative(value) {
			u.resolve(at, value, usedSetUp)
		}
		return taken
	case slices.Contains(filterOptions, key) && slices.Contains(filters, program):
		u.looksAt(at, value)
		u.operand(at, value, true, program)
		return taken
	case key == "--run" && program == "node":
		u.add(u.scripts, value)
		u.file(at, "package.json", usedRun)
		return taken
	case key == "-m" && taken > 0 && (strings.HasPrefix(program, "py") || program == "coverage" || program == "run"):
		u.module(at, value)
		return -1
	case joined:
		u.operand(at, value, false, program)
	}
	return 0
}

// module takes python -m NAME into account.
func (u *uses) module(at place, name string) {
	first, _, _ := strings.Cut(name, ".")
	if slices.Contains(toolFolders, first) {
		file := strings.ReplaceAll(name, ".", "/")
		u.file(at, file+".py", usedRun)
		u.file(at, file+"/__main__.py", usedRun)
	}
}

func (u *uses) goRun(at place, dir string) {
	if at.looked != notLooked {
		return // the program is what is looked at
	}
	if p := split(path.Join(at.folder, clean(dir), "main.go")); !p.inProduct() && len(p.folders) > 0 {
		u.file(at, path.Join(clean(dir), "*.go"), usedRun)
	}
}

// operand takes a word that may be a file's name into account. Source files that a command reads,
// such as those that a linter is given, are not what it runs.
func (u *uses) operand(at place, w string, run bool, program string) {
	w = clean(w)
	if w == "" || strings.HasSuffix(w, "...") || !run && !looksLikeFile(w) || strings.Contains(w, "://") || strings.ContainsAny(w, " ,;\"'<>|") {
		return
	}
	p := split(path.Join(at.folder, w))
	switch {
	case slices.Contains(scriptRunners, program) && !strings.Contains(w, "/"):
		return
	case compiled().isSource(p) && (p.inProduct() || !run && !p.inTools()):
		return
	}
	u.file(at, w, usedRun)
}

// clean removes what stands before the part of a word that is a file's name.
func clean(w string) string {
	if i := strings.LastIndexByte(w, 0); i >= 0 { // "$root"/ci/run
		w = strings.TrimLeft(w[i+1:], "/")
	}
	for _, before := range []string{"@", "file:", "<rootDir>/", "path:"} {
		w = strings.TrimPrefix(w, before)
	}
	w, _, _ = strings.Cut(w, "::") // pytest's ids of tests
	if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") {
		return ""
	}
	return strings.TrimSuffix(w, "/")
}

// looksLikeFile reports whether a word has a slash or an extension.
func looksLikeFile(w string) bool {
	ext := path.Ext(w)
	return strings.Contains(w, "/") || len(ext) > 1 && len(ext) <= 12 && !isNumber(ext[1:]) || strings.HasPrefix(w, ".") && len(w) > 2
}

// isData reports whether a file's name has an extension that sources do not have.
func isData(w string) bool { return path.Ext(w) != "" && !compiled().isSource(split(w)) }

// isNumber reports whether a word is a number, with or without a unit of time.
func isNumber(w string) bool {
	return w != "" && w[0] >= '0' && w[0] <= '9' && strings.Trim(strings.TrimRight(w, "smhd"), "0123456789.") == ""
}

func isRelative(w string) bool {
	w = clean(w)
	return strings.HasPrefix(w, ".") || looksLikeFile(w) && !strings.HasPrefix(w, "@")
}

// resolve adds a module's name, with the extensions that it may be without.
func (u *uses) resolve(at place, name string, how use) {
	name = clean(name)
	if name == "" {
		return
	}
	u.file(at, name, how)
	if path.Ext(name) == "" || path.Ext(name) == ".setup" {
		for _, ext := range []string{".js", ".ts", ".mjs", ".cjs", ".json", ".rb", ".py"} {
			u.file(at, name+ext, how)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
