package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// A command that cannot do its work lacks one of two things. A program is missing on the
// machine: no work on the repository can make the gate pass. Or the repository has no such
// script, manifest or tests yet: that may be what the work is to add.

// readMissing finds out from the output whether something was not found that the exit code does
// not tell of.
func (j *judgement) readMissing() {
	output := string(j.res.Output)
	if behindMake(j.res.ExitCode, output) {
		j.res.ExitCode, j.res.Missing = exitNotFound, true
	}
	if j.part = missingPart(output); j.part != "" {
		j.res.Missing = true
	}
}

// missing judges a command whose program was not found. An optional gate is skipped then,
// unless it ran on the base: the candidate has removed the command.
func (j *judgement) missing() outcome {
	word := missingProgram(string(j.res.Output), j.req.Spec.Command)
	base := j.req.Base
	ran := base != nil && base.Verdict != pawl.VerdictSkip && !notFoundThere(base)
	reason := fmt.Sprintf("%s is not installed (exit %d)", word, j.res.ExitCode)
	switch own, there := j.own(word); {
	case j.part != "":
		j.program, reason = j.part, fmt.Sprintf("%s is not installed (exit %d)", j.part, j.res.ExitCode)
	case own && there:
		reason = fmt.Sprintf("%s could not be started (exit %d): what its first line names may not be installed", word, j.res.ExitCode)
	case own:
		j.lacks, reason = word, fmt.Sprintf("the repository has no %s (exit %d)", word, j.res.ExitCode)
	default:
		j.program = word
	}
	switch {
	case ran && j.req.Spec.Optional:
		return fails("%s, though the gate ran on the base", reason)
	case j.req.Spec.Optional:
		return outcome{verdict: pawl.VerdictSkip, reason: reason}
	}
	return fails("%s", reason)
}

// parts are the messages of programs that are there and lack a part that the command needs:
// a subcommand, a module of the machine's own Python, a toolchain. Subcommands and modules are
// those of tools that are installed, as others may be the repository's own.
var parts = []struct {
	message *pattern.Pattern
	part    string // %s is what the message names
}{
	{pattern.Of("(?m)^error: no such (?:sub)?command: [`'\"](nextest|clippy|fmt|audit|deny|hack|llvm-cov|tarpaulin|machete|udeps|make|semver-checks|miri|insta)[`'\"]"), "cargo-%s"},
	{pattern.Of(`(?m)^error: '(cargo-\w+|rustfmt|clippy-driver)(?:\.exe)?' is not installed for the (?:custom )?toolchain`), "%s"},
	{pattern.Of(`rustup could not choose a version of (\w+) to run`), "%s of rustup"},
	{pattern.Of(`(?m)^error: toolchain '([^']+)' is not installed`), "%s of rustup"},
	{pattern.Of(`(?m)^(?:/usr/|/opt/|\S*/\.pyenv/)\S*python[\d.]*: No module named (pytest|mypy|ruff|black|isort|flake8|pylint|pyright|bandit|tox|nox|coverage|build|pip|venv|virtualenv|poetry|pipenv)$`), "%s of python3"},
}

// missingPart returns what a program that is there lacks, as the output tells; empty when it
// does not.
func missingPart(output string) string {
	text := report.Plain(output)
	for _, p := range parts {
		if m := p.message.FindStringSubmatch(text); m != nil {
			return fmt.Sprintf(p.part, cutText(m[1], maxQuote))
		}
	}
	return ""
}

// makeError is how make says that a command failed.
var makeError = pattern.Of(`(?m)^g?make(?:\[\d+\])?: \*\*\* \[.+\] Error (\d+)$`)

// makeExit is the exit code of make when a command has failed, whatever the command's was.
const makeExit = 2

// behindMake reports whether make failed because it, or a shell of it, did not find a program,
// and for no other reason.
func behindMake(code int, output string) bool {
	if code != makeExit {
		return false
	}
	found := false
	for _, m := range makeError.FindAllStringSubmatch(report.Plain(output), -1) {
		switch m[1] {
		case strconv.Itoa(exitNotFound):
			found = true
		case strconv.Itoa(makeExit): // of a make below
		default:
			return false
		}
	}
	return found && notFoundIn(output) != ""
}

// own reports whether a word that was not found as a program means a file of the repository,
// and whether that file is there.
func (j *judgement) own(word string) (own, there bool) {
	name := word
	for _, root := range roots(j.req.Room.Dir()) {
		if rel, ok := strings.CutPrefix(word, root+"/"); ok {
			name, own = rel, true
		}
	}
	if !filepath.IsLocal(name) {
		return own, false
	}
	if tree, err := j.req.Room.Tree(); err == nil {
		if root, err := os.OpenRoot(tree); err == nil {
			info, err := root.Lstat(name)
			there = err == nil && !info.IsDir()
			_ = root.Close()
		}
	}
	return own || there || strings.Contains(name, "/") || isScript(name, j.req.Spec.Command), there
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// isScript reports whether a command gives a word to a shell as the script to run.
func isScript(word, command string) bool {
	words := strings.Fields(command)
	for i := 1; i < len(words); i++ {
		if strings.HasPrefix(words[i], "-") {
			continue
		}
		before := i - 1
		for before > 0 && strings.HasPrefix(words[before], "-") {
			before--
		}
		if words[i] == word && slices.Contains(shells, filepath.Base(words[before])) {
			return true
		}
	}
	return false
}

var notFound = []*pattern.Pattern{
	pattern.Of(`(?m)^.*?([^\s:'"‘’]+)['’]?: (?:command )?not found\s*$`),
	pattern.Of(`(?m)exec: "([^"]+)": (?:executable file not found|no such file)`),
	pattern.Of(`(?m)^.*?([^\s:'"‘’]+)['’]?: No such file or directory\s*$`),
}

// missingProgram returns the program that the shell or another program did not find; the first
// word of the command when the output does not tell.
func missingProgram(output, command string) string {
	if name := notFoundIn(output); name != "" {
		return name
	}
	for _, word := range strings.Fields(command) {
		if !strings.Contains(word, "=") {
			return cutText(word, maxQuote)
		}
	}
	return "the command"
}

// notFoundIn returns the program that was not found last as the output tells; empty when it
// does not.
func notFoundIn(output string) string {
	for _, pattern := range notFound {
		if all := pattern.FindAllStringSubmatch(report.Plain(output), -1); len(all) > 0 {
			return cutText(all[len(all)-1][1], maxQuote)
		}
	}
	return ""
}

// wants are the messages of tools that say what of the repository they lack. A %s stands
// for what the message names.
var wants = []struct {
	message *pattern.Pattern
	lacks   string
}{
	{pattern.Of(`(?m)^make(?:\[\d+\])?: \*\*\* No rule to make target ['` + "`" + `]([^']+)'\.`), "the make target %s"},
	{pattern.Of(`(?m)^make(?:\[\d+\])?: \*\*\* No targets specified and no makefile found`), "a makefile"},
	{pattern.Of(`(?m)[Mm]issing script: "?([^\s"]+)"?`), "the script %s in package.json"},       // npm, pnpm
	{pattern.Of(`(?m)^error Command "([^"]+)" not found`), "the script %s in package.json"},     // yarn 1
	{pattern.Of(`(?m)Couldn't find a script named "([^"]+)"`), "the script %s in package.json"}, // yarn 2 and later
	{pattern.Of(`(?m)^error: Script not found "([^"]+)"`), "the script %s in package.json"},     // bun
	{pattern.Of(`(?m)^Error: no test specified`), "the script test in package.json"},            // what npm init writes
	{pattern.Of(`(?m)(?:ENOENT|Could not read|No|find a) .*package\.json`), "package.json"},     // npm, pnpm, yarn
	{pattern.Of(`(?m)^npm (?:error|ERR!) path .*/package\.json$`), "package.json"},              // npm
	{pattern.Of(`(?m)go\.mod file not found|cannot find main module|does not contain main module`), "go.mod"},
	{pattern.Of("(?m)could not find `Cargo.toml` in"), "Cargo.toml"},
	{pattern.Of(`(?m)Could not locate Gemfile`), "a Gemfile"},
	{pattern.Of(`(?m)can't open file '(?:/work/)?([^']+)': \[Errno 2\]`), "%s"},           // python
	{pattern.Of(`(?m)^(?:sh|dash): \d+: (?:\.: )?cannot open (\S+): No such file`), "%s"}, // dash
	{pattern.Of(`(?m)^no packages to (?:test|vet)$`), "Go packages"},
	{pattern.Of(`(?mi)^=* ?no tests ran|^No tests? (?:files )?found|^Error: No test files found|^No tests executed`), "tests"},
}

// lacking returns what a failed command misses in the repository; empty when the output does
// not tell.
func lacking(output string) string {
	text := report.Plain(output)
	for _, w := range wants {
		if m := w.message.FindStringSubmatch(text); m != nil {
			if len(m) > 1 {
				return fmt.Sprintf(w.lacks, cutText(m[1], maxQuote))
			}
			return w.lacks
		}
	}
	return ""
}
