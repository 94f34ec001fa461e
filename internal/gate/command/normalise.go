package command

import (
	"strings"
	"unicode/utf8"

	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// Limits of normalising: how much is read, and how long the result may be.
const (
	maxNormalised = 400
	maxRaw        = 32_000
)

// Normalise reduces the text of a failure to what stays the same when the same
// thing fails again, in another checkout and at another time: terminal
// escapes, absolute paths, line numbers, addresses, times, durations, ids,
// ports, hashes and counts are taken out, stack traces are reduced to the first
// frame of the program itself, and blank and decorative lines are dropped. The
// result has at most 400 bytes and is empty when nothing remains. What an
// assertion compared is kept, so that different failures stay different.
func Normalise(text string) string {
	if len(text) > 2*maxRaw {
		text = text[:maxRaw] + "\n" + text[len(text)-maxRaw:]
	}
	n := &normaliser{}
	for _, line := range strings.Split(report.Plain(text), "\n") {
		n.line(line)
	}
	return cutText(strings.Join(n.lines, "\n"), maxNormalised)
}

type normaliser struct {
	lines []string
	size  int
	trace bool // within a goroutine's stack
	frame bool // its first frame of the program was kept
}

// Lines that say nothing about what failed.
var noise = pattern.Of(`^(?:` + strings.Join([]string{
	`[=\-_~^*+.⎯─│|\s]+`,                              // rules and markers
	`=== (?:RUN|PAUSE|CONT|NAME)\b.*`, `--- PASS: .*`, // go test
	`exit status \d+`, `ok\s+\t.*`, `(?:FAIL|PASS)`, `FAIL\t\S+\t.*`,
	`\s*running tests:`,
	`(?:Time|Duration|Start at|Seed|Snapshots):? .*`, `Finished in .*`, `Ran all test suites.*`,
	`\s+at .+`,              // stack frames of JavaScript, Java and Rust
	`\s+\d+: [\w<>:{}$ .]+`, // backtraces of Rust
	"note: run with `RUST_BACKTRACE.*", `stack backtrace:`, `note: Some details are omitted.*`,
	`npm \S+ .*(?:A complete log of this run|[/\\]_logs[/\\]).*`, `> \S+@\S+ \S+`,
}, `|`) + `)$`)

var (
	goroutineLine = pattern.Of(`^goroutine \d+ .*\[.*\]:$`)
	goFrame       = pattern.Of(`^([\w.\-/*()\[\]·…]+?)\((?:0x|\.\.\.|\{|\)|".*).*$`)
	goFrameFile   = pattern.Of(`^\t\S+\.(?:go|s):\d+`)
	pythonFrame   = pattern.Of(`^\s+File "[^"]+", line \d+, in (\S+)$`)
)

func (n *normaliser) line(line string) {
	if n.size > 4*maxNormalised {
		return
	}
	if goroutineLine.MatchString(line) {
		n.trace = true
		return
	}
	if n.trace {
		if strings.TrimSpace(line) == "" {
			n.trace = false
		}
		if line = n.programFrame(line); line == "" {
			return
		}
	}
	if noise.MatchString(line) || strings.TrimSpace(line) == "" {
		return
	}
	line = strings.Join(strings.Fields(mask(line)), " ")
	if line == "" || len(n.lines) > 0 && n.lines[len(n.lines)-1] == line {
		return
	}
	n.lines = append(n.lines, line)
	n.size += len(line)
}

// programFrame keeps the function of the first frame, in all traces, that is
// not Go's own. Lines that are no frame end the trace.
func (n *normaliser) programFrame(line string) string {
	if goFrameFile.MatchString(line) || strings.HasPrefix(line, "created by ") {
		return ""
	}
	m := goFrame.FindStringSubmatch(line)
	if m == nil {
		n.trace = false
		return line
	}
	for _, own := range []string{"runtime.", "testing.", "panic", "reflect.", "main.main", "sync.", "time."} {
		if strings.HasPrefix(m[1], own) {
			return ""
		}
	}
	if n.frame {
		return ""
	}
	n.frame = true
	return "in " + m[1]
}

// maskRule replaces what is volatile. Rules apply in order.
type maskRule struct {
	pattern *pattern.Pattern
	with    string
}

var maskRules = []maskRule{
	{pattern.Of(`^[IWEF]\d{4} [\d:.]+\s+\d+ `), ""}, // glog
	{pattern.Of(`file://`), ""},
	{pattern.Of(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
	{pattern.Of(`\b\d{4}[-/]\d{2}[-/]\d{2}(?:[T _]\d{2}:\d{2}(?::\d{2})?(?:[.,]\d+)?)?(?: ?(?:Z\b|[+-]\d{2}:?\d{2}\b|UTC\b))?(?: m=[+-][\d.]+)?`), "<time>"},
	{pattern.Of(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}|\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)(?:,? \d{4})?\b`), "<time>"},
	{pattern.Of(`\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b(?: ?(?:AM|PM|UTC|GMT)\b)?`), "<time>"},
	{pattern.Of(`<time>(?:[ ,T]*<time>)+(?: \d{4})?`), "<time>"},
}

// After the paths are masked.
var lateRules = []maskRule{
	{pattern.Of(`\b0x[0-9a-fA-F]+\b\??`), "0x#"},
	{pattern.Of(`@[0-9a-f]{5,8}\b`), "@#"}, // Java's object ids
	{pattern.Of(`(?i)\b(goroutine|pid|process|thread|tid|worker|seed|shuffle|port|fd)\b([ =:#]{1,3})\d+`), "$1$2#"},
	{pattern.Of(`(thread '[^']*') \(\d+\)`), "$1"},
	{pattern.Of(`(\.[A-Za-z]\w{0,9}|Makefile|Dockerfile):\d+(?:[:,]\d+)?(?:-\d+)?`), "$1"},
	{pattern.Of(`(\.[A-Za-z]\w{0,9})\(\d+(?:,\d+)*\)`), "$1"},
	{pattern.Of(`(?i)\b(line|lines|column|col|position|offset|char|character) \d+`), "$1 #"},
	{pattern.Of(`^\s*>?\s*\d*\s?[|│]`), "|"},
	{pattern.Of(`^\s+\d+:\d+\s+`), ""}, // eslint
	{pattern.Of(`(localhost|\b\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\]|://[\w.\-]+|(?:^|\s)):\d{2,5}\b`), "$1:#"},
	{pattern.Of(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ns|µs|μs|us|ms|s|m|h)\b`), "<time>"},
	{pattern.Of(`(?i)\b\d+(?:\.\d+)? ?(?:milliseconds?|msecs?|seconds?|secs?|minutes?|mins?|hours?|ms|s)\b`), "<time>"},
	{pattern.Of(`(?i)\b\d+ (passed|failed|passing|failing|pending|skipped|todo|test|suite|error|warning|problem|failure|assertion|example|total|ignored|measured|filtered out|file|issue|package|xfailed|xpassed|deselected|run|skip)s?\b`), "# $1"},
	{pattern.Of(`\b([Rr]an|[Ff]ound|[Cc]ollected) \d+\b`), "$1 #"},
	{pattern.Of(`\b(Tests run|Failures|Errors|Skipped|Tests|Assertions|Total|Passed|Failed|Files): *\d+`), "$1: #"},
	{pattern.Of(`\b\d+(?:\.\d+)? ?%`), "#%"},
	{pattern.Of(`\b\d+(?:\.\d+)? ?(?:[kKMGT]i?B)\b`), "<size>"},
	{pattern.Of(`\btmp[._\-]?[A-Za-z0-9_]{6,}`), "<tmp>"},
	{pattern.Of(`\b\d{9,}\b`), "#"},
}

var (
	hexWord = pattern.Of(`(?i)\b[0-9a-f]{7,64}\b`)
	// A path begins the line or stands behind what cannot be part of a path or address.
	unixPath    = pattern.Of("(^|[\\s\"'`(=<\\[{,|;])(/[^\\s\"'`:()<>\\[\\]{},;|]+)")
	windowsPath = pattern.Of(`\b[A-Za-z]:[\\/][^\s"'` + "`" + `:*?<>|()]+`)
	fileName    = pattern.Of(`\.[A-Za-z]\w{0,9}$`)
	digits      = pattern.Of(`\d+`)
)

func mask(line string) string {
	if m := pythonFrame.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], "<") {
		return ""
	}
	for _, r := range maskRules {
		line = r.pattern.ReplaceAllString(line, r.with)
	}
	line = unixPath.ReplaceAllStringFunc(line, func(s string) string {
		at := strings.IndexByte(s, '/')
		return s[:at] + maskPath(s[at:])
	})
	line = windowsPath.ReplaceAllStringFunc(line, func(s string) string {
		return maskPath(strings.ReplaceAll(s[2:], `\`, "/"))
	})
	line = hexWord.ReplaceAllStringFunc(line, func(s string) string {
		if strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefABCDEF") {
			return "<hash>"
		}
		return s
	})
	for _, r := range lateRules {
		line = r.pattern.ReplaceAllString(line, r.with)
	}
	return line
}

// The folders in which checkouts, homes and temporary files are.
var machineRoots = map[string]bool{
	"home": true, "root": true, "Users": true, "tmp": true, "var": true, "private": true, "usr": true, "opt": true,
	"mnt": true, "srv": true, "build": true, "builds": true, "workspace": true, "github": true, "nix": true,
	"run": true, "data": true, "proc": true,
}

// maskPath keeps of an absolute path the file's name. A path that names
// neither a file nor a place on the machine, such as a web route, is kept.
func maskPath(path string) string {
	path = strings.TrimRight(path, "/.")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	base := parts[len(parts)-1]
	root := parts[0]
	temporary := root == "tmp" || root == "var" || root == "private" || root == "run"
	switch {
	case len(parts) == 1:
		return path
	case temporary && len(parts) == 2:
		return "<tmp>" + fileName.FindString(base)
	case fileName.MatchString(base):
		return base
	case machineRoots[root] || len(root) == 1:
		return digits.ReplaceAllString(base, "#")
	}
	return path
}

// cutText shortens a text to at most n bytes, at a character's boundary.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}
