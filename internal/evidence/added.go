package evidence

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence/class"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// What a gate finds by its name need not have changed to be another file: one that was added may be read before
// it, or where nothing was before.

// findAdded notes the added files that gates would run, load or read because of what the base's files say.
func (s *Survey) findAdded() {
	if s.c.Contents == nil {
		return
	}
	texts, direct := s.gateTexts(), class.New(nil, commands(s.c))
	programs, asked := programsIn(texts), programsIn(commands(s.c))
	var data []string
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if hadIt(f) || s.has(f.Path, pawl.ClassTest, pawl.ClassSupport, pawl.ClassGateInput) {
			continue
		}
		as := standIn{path: f.Path}
		switch name, ext := path.Base(f.Path), path.Ext(f.Path); {
		case slices.Contains(mainMakefiles, name) && s.otherMakefile(f.Path) == "":
			continue // there was none, and gates need it
		case s.classes.IsUsed(f.Path):
			as.gate, as.direct, as.why = true, direct.IsUsed(f.Path), "what gates run names it"
			if other := s.otherMakefile(f.Path); other != "" {
				as.firm, as.why = true, fmt.Sprintf("make finds it beside or before %s", other)
			}
		case path.Base(path.Dir(f.Path)) == ".bin", ext == "" && (programs[name] || slices.Contains(tools, name)):
			as.gate, as.why = true, "it is called like a program that gates run"
			as.firm, as.direct = !programs[name] || slices.Contains(tools, name), asked[name]
		case s.takesPlaceOf(f.Path, &as):
		case f.Path == "__init__.py":
			as.why = "tests below are loaded after it"
		case ext != "" && !isProgram(f.Path, f.New) && f.New.Data != nil && len(data) < maxNamed && s.has(f.Path, pawl.ClassCode, pawl.ClassDocs):
			data = append(data, f.Path)
			continue
		default:
			continue
		}
		s.standIns = append(s.standIns, as)
	}
	for _, p := range s.namedInTests(data) {
		s.standIns = append(s.standIns, standIn{path: p, why: "tests that the base has too name it"})
	}
}

// takesPlaceOf reports whether an added file is found in place of a module that is installed, and says so.
func (s *Survey) takesPlaceOf(p string, as *standIn) bool {
	module, known := s.shadows(p)
	if module != "" {
		as.firm, as.why = known, fmt.Sprintf("it is found in place of the module %s that is installed", module)
	}
	return module != ""
}

// gateTexts returns the commands of gates and the files that they run, as the base has them.
func (s *Survey) gateTexts() []string {
	texts := commands(s.c)
	for _, name := range s.classes.Named() {
		if data := s.c.Read(name, true); data != nil && s.classes.IsUsed(name) {
			texts = append(texts, string(data))
		}
	}
	return texts
}

var programWord = pattern.Of(`[A-Za-z][\w.+-]*`)

// programsIn returns the words in shell texts that may be programs. A word too many costs a run at most.
func programsIn(texts []string) map[string]bool {
	out := map[string]bool{}
	for _, text := range texts {
		for _, word := range programWord.FindAllString(text, maxWords) {
			out[word] = true
		}
	}
	return out
}

// maxWords bounds the words of a text that may be programs.
const maxWords = 20000

// tools are programs that tests and scripts run most.
var tools = strings.Fields("awk bash cat cmp cp curl date diff env git go grep head jq make mktemp node npm npx perl pip printf pytest python python3 ruby sed sh sort tail test tr true uniq wc xargs cargo rustc cc gcc")

// mainMakefiles are read where no file is named.
var mainMakefiles = []string{"Makefile", "makefile", "GNUmakefile"}

// otherMakefile returns a makefile of the base beside an added one; empty = there is none.
func (s *Survey) otherMakefile(p string) string {
	if path.Ext(p) == ".mk" || !class.IsMakefile(p) {
		return ""
	}
	for _, other := range s.c.Paths() {
		if path.Dir(other) == path.Dir(p) && class.IsMakefile(other) && path.Ext(other) != ".mk" {
			return other
		}
	}
	return ""
}

// namedInTests returns those of the added files of data that tests of the base name, or gates where they compare
// files, and that no code names.
func (s *Survey) namedInTests(data []string) []string {
	if len(data) == 0 {
		return nil
	}
	inTests := s.search(data, s.holdsTests, testsOf(s))
	for _, p := range s.inGates(data) {
		if inTests == nil {
			inTests = map[string]bool{}
		}
		inTests[p] = true
	}
	data = slices.DeleteFunc(data, func(p string) bool { return !inTests[p] })
	inCode := s.search(data, s.isCode, codeOf)
	return slices.DeleteFunc(data, func(p string) bool { return inCode[p] })
}

// missing matches the lines in which programs say that something is not there.
var missing = pattern.Of(`(?i)no such file|not found|no module named|(?:cannot|can't|could not|couldn't|unable to|failed to) (?:find|locate|open|stat|read|load|import|access|resolve)|enoent|does not exist|no rule to make|\bno \S+ found`)

// settle decides about added files by what gates said of the base: what they missed there is what was asked
// for, and the candidate's. All others that they would run or read are left out with the base's expectations.
func (s *Survey) settle(r *Reports) {
	if s.settled {
		return
	}
	s.settled = true
	s.standIns = slices.DeleteFunc(s.standIns, func(in standIn) bool {
		if !in.firm && (s.isMissed(in.path, r) || in.gate && len(r.Base) == 0 || isRed(r) && (in.direct || s.isOfCommand(in.path))) {
			return true
		}
		if in.gate {
			s.parts[in.path] = []pawl.PathClass{pawl.ClassGateInput}
		}
		return in.gate
	})
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if hadIt(f) {
			continue
		}
		asked := isRed(r) && s.isOfCommand(f.Path) && !s.has(f.Path, pawl.ClassTest)
		if asked || slices.Equal(s.parts[f.Path], []pawl.PathClass{pawl.ClassSupport}) && s.isMissed(f.Path, r) {
			s.parts[f.Path] = []pawl.PathClass{pawl.ClassCode}
		}
	}
	s.listPaths()
}

// isOfCommand reports whether a gate's own command names a file, which says so without a word if it is missing.
func (s *Survey) isOfCommand(p string) bool {
	return slices.ContainsFunc(commands(s.c), func(text string) bool { return namesFile(text, path.Base(p)) })
}

// isRed reports whether a gate failed on the base.
func isRed(r *Reports) bool {
	for _, base := range r.Base {
		if base.Verdict != pawl.VerdictPass {
			return true
		}
	}
	return false
}

// isMissed reports whether a gate failed on the base because it has no such file.
func (s *Survey) isMissed(p string, r *Reports) bool {
	for _, base := range r.Base {
		if base.Verdict == pawl.VerdictPass {
			continue
		}
		texts := []string{base.Output, base.Error, base.Reason, base.Lacks}
		for _, t := range base.Tests {
			texts = append(texts, t.Output)
		}
		for line := range strings.Lines(strings.Join(texts, "\n")) {
			if missing.MatchString(line) && (namesFile(line, path.Base(p)) || namesWord(line, moduleName(p))) {
				return true
			}
		}
	}
	return false
}

// namesWord reports whether a text has a word that is not a part of a longer one.
func namesWord(text, word string) bool {
	return len(word) > 2 && contains(text, word, func(before, after string) bool {
		return (before == "" || !isWord(before[len(before)-1])) && (after == "" || !isWord(after[0]))
	})
}

// addedFiles returns the files of which the base has none and that are left out with its expectations.
func (s *Survey) addedFiles() []string {
	files := s.touched(func(f *pawl.FileChange) bool { return !hadIt(f) }, expected...)
	for _, in := range s.standIns {
		if !slices.Contains(files, in.path) {
			files = append(files, in.path)
		}
	}
	return files
}

// leftOut returns those of the added files that a gate says it misses where they are left out.
func (s *Survey) leftOut(output string) []string {
	var out []string
	for _, l := range s.leftNames() {
		for line := range strings.Lines(output) {
			if trouble.MatchString(line) && !asserting.MatchString(line) && l.isIn(line) {
				out = append(out, l.path)
				break
			}
		}
	}
	return out
}

// leftName is what an added file that is left out may be called where it is missed. Names that files of the base
// have too are empty.
type leftName struct{ path, file, module, dir string }

func (l *leftName) isIn(line string) bool {
	return namesFile(line, l.file) || l.module != "" && namesWord(line, l.module) || l.dir != "" && strings.Contains(line, "/"+l.dir)
}

func (s *Survey) leftNames() []leftName {
	if s.left != nil || s.c.Paths == nil {
		return s.left
	}
	modules, folders := map[string]bool{}, map[string]bool{}
	for _, p := range s.c.Paths() {
		modules[moduleName(p)], folders[path.Dir(p)] = true, true
	}
	s.left = []leftName{}
	for _, p := range s.addedFiles() {
		l := leftName{path: p, file: path.Base(p)}
		if m := moduleName(p); !modules[m] {
			l.module = m
		}
		if dir := path.Dir(p); path.Ext(p) == ".go" && !folders[dir] {
			l.dir = dir
		}
		s.left = append(s.left, l)
	}
	return s.left
}

// steps matches what is written to have other code do something else.
var steps = pattern.Of(`\b(?:monkeypatch|patch|setattr|sys\.(?:modules|path|exit)|builtins|__builtins__|prototype|mock|mocks|globalThis|global|environ|TestMain|os\.Exit|_exit|ctor|alias|PATH|exec|exit|trap|process)\b|\bfunc init\(|\brequire\.cache\b|^\w+\(\)`)

// suspects returns the added files that may be why a test of the base passes.
func (w *weighing) suspects(test string) []string {
	files := w.addedFiles()
	if i := slices.IndexFunc(files, func(p string) bool { return path.Ext(p) == ".go" }); i >= 0 && len(w.standIns) == 0 {
		if place, _ := report.Split(test); place != "" { // no package of Go uses tests of another one
			files = slices.DeleteFunc(files, func(p string) bool {
				return strings.HasSuffix(p, "_test.go") && !slices.Contains(w.placedWith(test, []string{p}), p)
			})
		}
	}
	var acting []string
	for i := range w.c.Files {
		if f := &w.c.Files[i]; slices.Contains(files, f.Path) && steps.Match(f.New.Data) {
			acting = append(acting, f.Path)
		}
	}
	if len(acting) > 0 {
		files = acting
	}
	return files[:min(len(files), maxSuspects)]
}

// maxSuspects bounds the added files that are found because of one test.
const maxSuspects = 6

// installed are the modules of Python's standard library, and those that run tests.
const installed = "pytest pluggy iniconfig hypothesis mock nose nose2 numpy pandas requests attr attrs freezegun tomli typing_extensions " +
	"abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 cProfile calendar " +
	"cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg " +
	"crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler " +
	"fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac " +
	"html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox " +
	"mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode " +
	"operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats " +
	"pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select " +
	"selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat " +
	"statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios textwrap this " +
	"threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest " +
	"urllib uu uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo"
