package command

import (
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

var (
	telling = pattern.Of(`(?i)error|fail|panic|exception|fatal|cannot|undefined|not found|expected|assert|want|got |mismatch|unexpected|timed out|refused|denied|no such|invalid|missing|unable`)
	dull    = pattern.Of(`^\s*(?:=== |--- |ok\s+\t|FAIL\t|(?:FAIL|PASS)$|exit status \d|npm \S+ |make(?:\[\d+\])?: |goroutine \d|at |File "|\[signal |[=\-_~^*.⎯\s]*$)`)
	// ofRunner are dull lines that say why npm or make itself failed.
	ofRunner = pattern.Of(`^(?:npm (?:error|ERR!) |make(?:\[\d+\])?: \*\*\* )`)
)

// Gist returns at most n lines of an output that tell most of what went wrong: the first ones
// that speak of an error, or else the last ones. What npm and make print themselves is left
// out unless there is nothing else.
func Gist(output string, n int) []string {
	if len(output) > 2*maxRaw {
		output = output[:maxRaw] + "\n" + output[len(output)-maxRaw:]
	}
	var first, last, runners []string
	for _, line := range strings.Split(report.Plain(output), "\n") {
		if dull.MatchString(line) {
			if ofRunner.MatchString(line) && len(runners) < n {
				runners = append(runners, strings.TrimSpace(strings.Map(printable, line)))
			}
			continue
		}
		line = strings.TrimSpace(strings.Map(printable, line))
		if telling.MatchString(line) && len(first) < n {
			first = append(first, line)
		}
		last = append(last, line)
		if len(last) > n {
			last = last[1:]
		}
	}
	switch {
	case len(first) > 0:
		return first
	case len(last) > 0:
		return last
	}
	return runners
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// errorText is the normalised error of a failure, the same for two attempts
// that fail alike.
func (j *judgement) errorText(r *pawl.GateReport, own outcome) string {
	switch {
	case j.res.Missing:
		return Normalise(own.reason)
	case j.res.TimedOut:
		return Normalise("timed out\n" + failureText(r, leaves(j.reading.Unfinished)))
	case j.reading.Damage != "":
		return Normalise(j.reading.Damage + "\n" + strings.Join(Gist(r.Output, 6), "\n"))
	}
	if names := leaves(allFailing(r.Tests)); len(names) > 0 {
		return Normalise(failureText(r, names))
	}
	if failing := j.failing(); len(failing) > 0 {
		return findingsText(failing)
	}
	if lines := Gist(r.Output, 8); j.res.ExitCode > 0 && len(lines) > 0 {
		if text := Normalise(strings.Join(lines, "\n")); text != "" {
			return text
		}
	}
	return Normalise(own.reason)
}

// allFailing are the names of all failures, wholes included.
func allFailing(tests []pawl.TestResult) []string {
	var names []string
	for _, t := range tests {
		if t.Status == pawl.TestFail {
			names = append(names, t.Name)
		}
	}
	return names
}

// failureText tells the named tests and what each says. The names come first,
// so that the text differs when the set of tests does.
func failureText(r *pawl.GateReport, names []string) string {
	var b strings.Builder
	const most = 10
	for _, name := range names[:min(len(names), most)] {
		b.WriteString(name + "\n")
	}
	outputs := map[string]string{}
	for _, t := range r.Tests {
		outputs[t.Name] = t.Output
	}
	for _, name := range names[:min(len(names), most)] {
		lines := Gist(outputs[name], 3)
		// What a panic in a subtest prints is put down to the test around it.
		for parent := report.Parent(name); len(lines) == 0 && parent != ""; parent = report.Parent(parent) {
			lines = Gist(outputs[parent], 3)
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func findingsText(findings []pawl.Diagnostic) string {
	var b strings.Builder
	for _, f := range findings[:min(len(findings), 10)] {
		b.WriteString(strings.TrimSpace(f.File+" "+f.Rule+" "+f.Message) + "\n")
	}
	return Normalise(b.String())
}
