//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"pawl/internal/model/modeltest"
	"pawl/internal/pattern"
)

// Blocks of code in the documents are fenced. The second word behind the fence, which
// readers of the rendered page do not see, names the block:
//
//	```console first-run
//
// A story in testdata/docs begins with "page FILE" and takes the page's blocks by their
// names: "run NAME [CODE…]" runs the commands of a block and compares what it shows,
// "shows NAME FILE" looks for a block without commands in stdout, stderr or a file, and
// "writes NAME [FILE]" writes a block to a file, by default to that of its name.
// What no story can take has a comment above it that says why:
//
//	<!-- not run: it needs a key -->
//
// PAWL_UPDATE_STORIES=1 writes into the documents what commands print now, except in
// blocks with a line "…".

// block is a fenced block of a document.
type block struct {
	language, name string
	at             string // FILE:LINE of its fence
	lines          []string
	line           int    // the number of its first line, from 0
	notRun         string // why no story takes it
}

var (
	fence  = pattern.Of("^( *)```+ *([a-z]*) *(.*?) *$")
	notRun = pattern.Of(`^ *<!-- not run: (.*) -->$`)
)

// readBlocks returns the blocks of a document. It returns an error for indented blocks,
// which cannot have a name.
func readBlocks(file, text string) ([]block, error) {
	var all []block
	var open *block
	var problems []error
	indent, why, blank := "", "", true
	for i, line := range strings.Split(text, "\n") {
		switch m := fence.FindStringSubmatch(line); {
		case open != nil && m != nil && m[2] == "":
			all = append(all, *open)
			open, why = nil, ""
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
		case m != nil:
			indent = m[1]
			open = &block{language: m[2], name: m[3], at: fmt.Sprintf("%s:%d", file, i+1), line: i + 1, notRun: why}
		case notRun.MatchString(line):
			why = notRun.FindStringSubmatch(line)[1]
		case blank && strings.HasPrefix(line, "    "):
			problems = append(problems, fmt.Errorf("%s:%d: an indented block: fence it, so that it can have a name", file, i+1))
		case line != "":
			why = ""
		}
		blank = line == ""
	}
	if open != nil {
		problems = append(problems, fmt.Errorf("%s: the block is not closed", open.at))
	}
	return all, errors.Join(problems...)
}

// documents are the files whose blocks are tested, relative to this folder.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// taken returns the names of the blocks that a story takes from its page.
func taken(script string) (page string, names []string) {
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		for len(words) > 0 && strings.HasPrefix(words[0], "[") {
			words = words[1:]
		}
		switch {
		case len(words) < 2:
		case words[0] == "page":
			page = words[1]
		case words[0] == "run" || words[0] == "shows" || words[0] == "writes":
			names = append(names, words[1])
		}
	}
	return page, names
}

// A story takes every block of code in the documents, or a comment says why none
// does. F-48
func TestDocumentsAreRun(t *testing.T) {
	run := map[string]bool{}
	stories, err := filepath.Glob("testdata/docs/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stories {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page, names := taken(string(archive.Comment))
		for _, n := range names {
			run[page+" "+n] = true
		}
	}
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := readBlocks(file, string(text))
		if err != nil {
			t.Error(err)
		}
		for _, p := range untested(blocks, func(name string) bool { return run[file+" "+name] }) {
			t.Error(p)
		}
	}
}

var (
	makeTarget  = pattern.Of("(?m)^([a-z-]+):")
	namedTarget = pattern.Of("(?m)(?:^|`)make ([a-z-]+)")
)

// The make targets that documents and .ci/run name are in the Makefile, and the README says how to see a demo and how
// to run the tests. Decisions may name targets of their day. F-85
func TestDocumentsNameTargets(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(read("../../Makefile"), -1) {
		targets[m[1]] = true
	}
	for _, file := range append(documents(t), "../../ARCHITECTURE.md", "../../.ci/run") {
		if strings.Contains(file, "/decisions/") {
			continue
		}
		text := strings.ReplaceAll(read(file), "\nstep ", "\nmake ")
		named := map[string]bool{}
		for _, m := range namedTarget.FindAllStringSubmatch(text, -1) {
			if named[m[1]] = true; !targets[m[1]] {
				t.Errorf("%s names make %s, which is not a target of the Makefile", file, m[1])
			}
		}
		for base, wanted := range map[string][]string{"README.md": {"demo", "test", "install"}, "run": {"test", "deep", "test-agents"}} {
			for _, target := range wanted {
				if filepath.Base(file) == base && !named[target] {
					t.Errorf("%s does not name make %s", file, target)
				}
			}
		}
	}
}

// untested returns what is wrong with the blocks of a document, given those that stories
// take.
func untested(blocks []block, run func(name string) bool) []error {
	var problems []error
	seen := map[string]bool{}
	for _, b := range blocks {
		switch {
		case b.name != "" && seen[b.name]:
			problems = append(problems, fmt.Errorf("%s: there are two blocks %q", b.at, b.name))
		case b.name != "" && run(b.name) && b.notRun != "":
			problems = append(problems, fmt.Errorf("%s: a story takes the block, and a comment says that none does", b.at))
		case b.notRun == "" && (b.name == "" || !run(b.name)):
			problems = append(problems, fmt.Errorf("%s: no story in testdata/docs takes the block %q, and no comment <!-- not run: REASON --> says why", b.at, b.name))
		}
		seen[b.name] = true
	}
	return problems
}

func TestUntested(t *testing.T) {
	const page = "Text.\n\n```console one\n$ true\n```\n\n- item\n  ```sh two\n  ls -l\n    x\n  ```\n\n<!-- not run: it needs a key -->\n\n```\nx\n```\n\n```yaml\na: 1\n```\n"
	blocks, err := readBlocks("p.md", page)
	if err != nil || len(blocks) != 4 {
		t.Fatalf("there are %d blocks, %v: %+v", len(blocks), err, blocks)
	}
	if b := blocks[1]; b.language != "sh" || b.name != "two" || b.at != "p.md:8" || !slices.Equal(b.lines, []string{"ls -l", "  x"}) {
		t.Errorf("the second block is %+v", b)
	}
	says := func(text string, run ...string) string {
		t.Helper()
		blocks, err := readBlocks("p.md", text)
		return fmt.Sprint(err, untested(blocks, func(name string) bool { return slices.Contains(run, name) }))
	}
	for name, c := range map[string]struct{ got, want string }{
		"Unnamed":         {says(page, "one", "two"), `<nil> [p.md:19: no story in testdata/docs takes the block "", and no comment <!-- not run: REASON --> says why]`},
		"NotTaken":        {says("```console one\n$ true\n```\n"), `p.md:1: no story in testdata/docs takes the block "one"`},
		"Marked":          {says("<!-- not run: why -->\n```console one\n$ true\n```\n"), `<nil> []`},
		"MarkHoldsForOne": {says("<!-- not run: why -->\nText.\n```console one\n$ true\n```\n"), `p.md:3: no story`},
		"Twice":           {says("```x one\n```\n```x one\n```\n", "one"), `p.md:3: there are two blocks "one"`},
		"Both":            {says("<!-- not run: why -->\n```x one\n```\n", "one"), `p.md:2: a story takes the block, and a comment says that none does`},
		"Indented":        {says("Text.\n\n    $ true\n    $ true\n"), `p.md:3: an indented block`},
		"Open":            {says("```x one\n$ true\n", "one"), `p.md:1: the block is not closed`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
}

// TestDocuments runs the blocks of the documents as the stories in testdata/docs say, with
// the real program.
func TestDocuments(t *testing.T) {
	t.Parallel()
	params := storyParams(t, filepath.Join("testdata", "docs"))
	settle, built := params.Setup, builtGo(t)
	params.Setup = func(env *testscript.Env) error {
		if err := settle(env); err != nil {
			return err
		}
		env.Setenv("BUILTGO", built)
		// Pages show what Ada sees, who has set nothing.
		env.Setenv("HOME", env.WorkDir+"/home/ada")
		env.Setenv("XDG_STATE_HOME", "")
		env.Setenv("XDG_CONFIG_HOME", "")
		env.Values[pageKey{}] = &page{}
		return os.MkdirAll(env.WorkDir+"/home/ada", 0o755)
	}
	for name, do := range map[string]func(*testscript.TestScript, bool, []string){
		"page": openPage, "run": runBlock, "shows": showsBlock, "writes": writeBlock, "models": serveModels,
	} {
		params.Cmds[name] = do
	}
	testscript.Run(t, params)
}

// builtGo returns a folder with a go command that uses the machine's build cache. Gates have a cache of
// their own, which begins empty, so each would compile the standard library.
func builtGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("go")
	if err != nil {
		return dir // the stories are skipped
	}
	cache, err := goCache()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\nGOCACHE='%s' exec '%s' \"$@\"\n", cache, program)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// page is the document that a story is about.
type page struct {
	file   string
	blocks []block
}

type pageKey struct{}

// openPage FILE names the document, relative to this folder.
func openPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	text, err := os.ReadFile(args[0])
	ts.Check(err)
	p := ts.Value(pageKey{}).(*page)
	p.file = args[0]
	p.blocks, err = readBlocks(args[0], string(text))
	ts.Check(err)
}

func findBlock(ts *testscript.TestScript, name string) block {
	p := ts.Value(pageKey{}).(*page)
	for _, b := range p.blocks {
		if b.name == name {
			return b
		}
	}
	ts.Fatalf("%s has no block %q", p.file, name)
	return block{}
}

// runBlock NAME [CODE…] runs the commands of a block one after another in one shell and
// compares what they print with what the block shows. The codes are those that the first
// commands must end with; the others must end with 0.
func runBlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: run NAME [CODE…]")
	}
	b := findBlock(ts, args[0])
	commands, err := b.commands()
	ts.Check(err)
	if len(commands) == 0 {
		ts.Fatalf("%s: the block has no command", b.at)
	}
	outputs, codes := runCommands(ts, commands)
	for i, c := range commands {
		want := "0"
		if i+1 < len(args) {
			want = args[i+1]
		}
		if i >= len(codes) {
			ts.Fatalf("%s: the shell ended before %s", b.at, c.text)
		}
		out := outputs[i]
		if codes[i] != want {
			ts.Fatalf("%s: %s\nexit code %s, want %s\n%s", b.at, c.text, codes[i], want, out)
		}
		if b.language != "console" {
			continue // it shows no output
		}
		if err := compareShown(ts, c.shown, out); err != nil {
			if updateBlock(ts, b.name, i, out) {
				continue
			}
			ts.Fatalf("%s: %s\n%v\nIt printed:\n%s", b.at, c.text, err, out)
		}
	}
}

// shownCommand is a command of a block and the lines shown below it.
type shownCommand struct {
	text  string
	shown []string
	line  int // the index in the block of the first line shown
}

// commands returns the commands of a block: of a console, those behind a dollar; of a
// script, each line.
func (b *block) commands() ([]shownCommand, error) {
	var all []shownCommand
	for i, line := range b.lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if b.language != "console" {
			command, isCommand = line, line != ""
		}
		switch {
		case len(all) > 0 && strings.HasSuffix(all[len(all)-1].text, "\\"):
			last := &all[len(all)-1]
			last.text += "\n" + line
			last.line++
		case isCommand:
			all = append(all, shownCommand{text: command, line: i + 1})
		case len(all) == 0 && line != "":
			return nil, fmt.Errorf("%s: the block shows output before its first command", b.at)
		case len(all) > 0:
			all[len(all)-1].shown = append(all[len(all)-1].shown, line)
		}
	}
	return all, nil
}

// ended matches what the shell prints after each command: its exit code.
var ended = pattern.Of("\x1e([0-9]+)\x1e\n")

// runCommands runs commands in one shell and returns what each printed and its exit code.
// The shell begins with the file .profile of the story, if there is one.
func runCommands(ts *testscript.TestScript, commands []shownCommand) (outputs, codes []string) {
	var b strings.Builder
	b.WriteString("exec 2>&1\n[ ! -e \"$WORK/.profile\" ] || . \"$WORK/.profile\"\n")
	for _, c := range commands {
		b.WriteString(c.text + "\nprintf '\\036%d\\036\\n' $?\n")
	}
	ts.Check(ts.Exec("sh", "-c", b.String()))
	out := ts.ReadFile("stdout")
	for {
		at := ended.FindStringSubmatchIndex(out)
		if at == nil {
			return outputs, codes
		}
		outputs, codes = append(outputs, out[:at[0]]), append(codes, out[at[2]:at[3]])
		out = out[at[1]:]
	}
}

// showsBlock NAME FILE looks for a block that has no command.
func showsBlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shows NAME stdout|stderr|FILE")
	}
	b := findBlock(ts, args[0])
	out := ts.ReadFile(args[1])
	if err := compareShown(ts, slices.Concat([]string{passedOver}, b.lines, []string{passedOver}), out); err != nil {
		ts.Fatalf("%s: %v\n%s has:\n%s", b.at, err, args[1], out)
	}
}

// writeBlock NAME [FILE] writes a block to a file, by default that of its name.
func writeBlock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: writes NAME [FILE]")
	}
	b := findBlock(ts, args[0])
	file := ts.MkAbs(args[len(args)-1])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	ts.Check(os.WriteFile(file, []byte(strings.Join(b.lines, "\n")+"\n"), 0o644))
}

// passedOver is a line, or a part of one, that stands for whatever the program prints there.
const passedOver = "…"

// compareShown returns an error that names the first line of those shown that the program
// does not print. Times, amounts of time, hashes, ports, counts of tokens and the width of
// columns are not compared.
func compareShown(ts *testscript.TestScript, shown []string, out string) error {
	printed := normal(ts, out)
	fits := func(lines []string, end string) bool {
		var b strings.Builder
		for _, line := range lines {
			if line = strings.TrimSuffix(normal(ts, line), "\n"); line == passedOver {
				b.WriteString(`(?:.*\n)*?`)
				continue
			}
			b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), passedOver, `.*`) + `\n`)
		}
		return regexp.MustCompile(`\A` + b.String() + end).MatchString(printed)
	}
	for len(shown) > 0 && shown[len(shown)-1] == "" {
		shown = shown[:len(shown)-1]
	}
	for n := range shown {
		if !fits(shown[:n+1], "") {
			return fmt.Errorf("it does not print, where the document shows it: %s", shown[n])
		}
	}
	if !fits(shown, `\z`) {
		return errors.New("it prints more than the document shows")
	}
	return nil
}

var (
	// Only gates that take a second or more say how long they took.
	judged     = pattern.Of(`\b(PASS|FAIL|SKIP)( \(\d+/\d+\))? in 0s`)
	counted    = pattern.Of(`\b\d{1,3}(,\d{3})+\b`)
	port       = pattern.Of(`\b127\.0\.0\.1:\d+`)
	measured   = pattern.Of(`\b\d+\.\d+ ([kMG])B\b`)
	processID  = pattern.Of(`(process |"pid":)\d+`)
	wideSpace  = pattern.Of(` {2,}`)
	afterLines = pattern.Of(` +\n`)
)

// normal returns the text without what differs from run to run. It ends each line, the
// last one too.
func normal(ts *testscript.TestScript, text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, ts.Getenv("WORK"), ""), "\n")
	if text != "" {
		text += "\n"
	}
	text = withoutUnstable(text)
	text = judged.ReplaceAllString(text, "$1$2")
	text = counted.ReplaceAllString(text, "N")
	text = port.ReplaceAllString(text, "127.0.0.1:PORT")
	text = measured.ReplaceAllString(text, "N ${1}B")
	text = processID.ReplaceAllString(text, "${1}N")
	text = wideSpace.ReplaceAllString(text, "  ")
	return afterLines.ReplaceAllString(text, "\n")
}

// updating is held while a document is written.
var updating sync.Mutex

// updateBlock writes into the document what a command of a block printed. It reports
// whether it did: it must have been asked for, and a block that passes something over is
// left to a person.
func updateBlock(ts *testscript.TestScript, name string, command int, out string) bool {
	if os.Getenv("PAWL_UPDATE_STORIES") == "" {
		return false
	}
	updating.Lock()
	defer updating.Unlock()
	file := ts.Value(pageKey{}).(*page).file
	text, err := os.ReadFile(file)
	ts.Check(err)
	blocks, err := readBlocks(file, string(text))
	ts.Check(err)
	b := blocks[slices.IndexFunc(blocks, func(b block) bool { return b.name == name })]
	commands, err := b.commands()
	ts.Check(err)
	first, shown := commands[command].line, commands[command].shown
	if strings.Contains(strings.Join(shown, ""), passedOver) {
		return false
	}
	last := first + len(shown)
	for last > first && b.lines[last-1] == "" { // before the next command
		last--
	}
	lines := strings.Split(string(text), "\n")
	printed := strings.Split(strings.TrimRight(strings.ReplaceAll(out, ts.Getenv("WORK"), ""), "\n"), "\n")
	lines = slices.Replace(lines, b.line+first, b.line+last, printed...)
	ts.Check(os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644))
	ts.Logf("%s: wrote what the program prints now", b.at)
	return true
}

// serveModels PROVIDER MODEL… serves models with Chat Completions, as a local server does, at
// the provider's address for the rest of the story. They write hello.txt.
func serveModels(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: models PROVIDER MODEL…")
	}
	server := httptest.NewServer(&modeltest.Handler{Wire: modeltest.Chat, Models: args[1:], Answer: writing("hello.txt", "hello")})
	ts.Defer(server.Close)
	ts.Setenv("PAWL_PROVIDERS_"+strings.ToUpper(strings.ReplaceAll(args[0], "-", "_"))+"_BASE_URL", server.URL+"/v1")
}
