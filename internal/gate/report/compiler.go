package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// The lines in which compilers and linters say where something is wrong.
var (
	// path:line[:column][:] [error|warning…[code]:] message; gcc, go, mypy, ruff, golangci-lint, shellcheck -f gcc …
	colonFinding = pattern.Of(`^(?:vet: )?((?:[A-Za-z]:)?[^\s:()"'<>|]+[^:()"'<>|]{0,200}?):(\d{1,7})(?::\d{1,7})?(?:-\d+)?(?::\d+)?(?::| -)\s+(.+)$`)
	// path(line,column): error CODE: message; tsc, msbuild
	parenFinding = pattern.Of(`^([^\s():"']+[^():"']{0,200})\((\d{1,7})(?:,\d{1,7})*\)\s?: (.+)$`)
	// error[CODE]: message, then --> path:line:column; rustc, clippy, ruff
	arrowHeader   = pattern.Of(`^(error|warning|note|[A-Z]{1,5}\d{2,5})\b(?:\[([^\]]{1,80})\])?:? (.+)$`)
	arrowLocation = pattern.Of(`^\s*--> ([^:]{1,300}):(\d{1,7}):\d+$`)
	// a path alone, then indented "line:column  error  message  rule"; eslint and stylelint
	stylishRow = pattern.Of(`^\s+(\d{1,7}):\d{1,7}\s+(error|warning)\s+(.+?)(?:\s{2,}(\S+))?$`)
	pathLine   = pattern.Of(`^(?:/|\./|[A-Za-z]:\\)?[\w@.\-+/\\ ]{1,300}\.\w{1,8}$`)

	levelWord = pattern.Of(`^(?i:(fatal error|error|warning|note|info|hint|help|style))(?:\[([^\]]{1,80})\])?(?:\s+([A-Z]{1,5}\d{1,6}))?\s*:\s*(.*)$`)
	ruleTail  = pattern.Of(`^(.*\S)\s+[\[(](-?[A-Za-z][\w\-./+=,]{1,60})[\])]$`)
	ruleHead  = pattern.Of(`^([A-Z]{1,4}\d{2,5})(?: \[\*\])?:? (.+)$`)
)

// readCompiler reads the findings of compilers, type checkers and linters from
// the lines they print. A finding without a level is an error when the command
// failed, and a warning when it did not: then the tool itself let it pass.
func readCompiler(c *collector, lines []string) bool {
	p := &compilerReader{c: c}
	for _, line := range lines {
		if len(line) > 2000 {
			continue
		}
		p.line(line)
	}
	return len(c.reading.Diagnostics) > 0
}

type compilerReader struct {
	c       *collector
	header  []string // the arrowHeader that waits for its location
	stylish string   // the path that eslint's rows belong to
}

func (p *compilerReader) line(line string) {
	if m := stylishRow.FindStringSubmatch(line); m != nil && p.stylish != "" {
		p.find(p.stylish, m[1], m[2], m[4], m[3])
		return
	}
	if m := arrowLocation.FindStringSubmatch(line); m != nil {
		if p.header != nil {
			p.located(m[1], m[2])
		}
		p.header = nil
		return
	}
	if strings.TrimSpace(line) == "" {
		p.stylish, p.header = "", nil
		return
	}
	if m := arrowHeader.FindStringSubmatch(line); m != nil {
		p.header = m
		return
	}
	if pathLine.MatchString(line) {
		p.stylish = line
		return
	}
	for _, form := range []*pattern.Pattern{colonFinding, parenFinding} {
		if m := form.FindStringSubmatch(line); m != nil && plausiblePath(m[1]) {
			level, rule, message := levelOf(m[3])
			p.find(m[1], m[2], level, rule, message)
			return
		}
	}
}

// located records what the header before an arrow said.
func (p *compilerReader) located(file, line string) {
	level, rule, message := p.header[1], p.header[2], p.header[3]
	if level != "error" && level != "warning" && level != "note" {
		level, rule = "", level
	}
	p.find(file, line, level, rule, message)
}

var extension = pattern.Of(`\.[A-Za-z]\w*$`)

// plausiblePath keeps times ("12:30:01: …"), addresses and sentences from being
// taken for places.
func plausiblePath(path string) bool {
	return (extension.MatchString(path) || strings.ContainsAny(path, "/\\")) &&
		!strings.Contains(path, "://") && strings.Count(path, " ") < 4
}

// levelOf parts "error[CODE]: message [rule]".
func levelOf(text string) (level, rule, message string) {
	message = text
	if m := levelWord.FindStringSubmatch(text); m != nil {
		level, rule, message = strings.ToLower(m[1]), m[2]+m[3], m[4]
	}
	if m := ruleHead.FindStringSubmatch(message); m != nil && rule == "" {
		rule, message = m[1], m[2]
	}
	if m := ruleTail.FindStringSubmatch(message); m != nil && rule == "" {
		message, rule = m[1], m[2]
	}
	return level, rule, message
}

func (p *compilerReader) find(file, line, level, rule, message string) {
	f := pawl.Diagnostic{Rule: rule, File: strings.TrimPrefix(file, "./"), Message: message, Severity: pawl.SeverityHigh}
	f.Line, _ = strconv.Atoi(line)
	switch level {
	case "error", "fatal error":
	case "warning", "style":
		f.Severity = pawl.SeverityMedium
	case "note", "info", "hint", "help":
		return // belongs to the finding before it
	default:
		if p.c.exitOK {
			f.Severity = pawl.SeverityMedium
		}
	}
	p.c.find(f)
}
