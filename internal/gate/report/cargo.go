package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	cargoResult  = pattern.Of(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b`)
	cargoSummary = pattern.Of(`^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoOutput  = pattern.Of(`^---- (.+?) (?:stdout|stderr) ----$`)
	cargoLine    = pattern.Of(` \(line \d+\)`)
)

// readCargo reads what Rust's test harness prints. Tests of several binaries
// may have one name; they are numbered.
func readCargo(c *collector, lines []string) bool {
	sum := [3]int{}
	found := false
	for _, line := range lines {
		if m := cargoSummary.FindStringSubmatch(line); m != nil {
			found = true
			for i := range sum {
				n, _ := strconv.Atoi(m[i+1])
				sum[i] += n
			}
		}
	}
	if !found {
		return false
	}
	outputs := cargoOutputs(lines)
	failed := map[string]int{}
	c.number = true
	for _, line := range lines {
		m := cargoResult.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		// A documentation test is named after its line, which moves.
		name := cargoLine.ReplaceAllString(m[1], "")
		switch m[2] {
		case "ok":
			c.add(name, pawl.TestPass, "")
		case "FAILED":
			c.add(name, pawl.TestFail, outputs[m[1]].String())
			failed[m[1]]++
		default:
			c.add(name, pawl.TestSkip, "")
		}
	}
	for _, full := range cargoFailures(lines) { // with --quiet nothing but this names tests
		if failed[full]--; failed[full] < 0 {
			c.add(cargoLine.ReplaceAllString(full, ""), pawl.TestFail, outputs[full].String())
		}
	}
	c.counts(sum[0], sum[1], sum[2])
	return true
}

// cargoFailures returns the names of tests in the lists of those that failed.
func cargoFailures(lines []string) []string {
	var names []string
	listed := false
	for _, line := range lines {
		name, indented := strings.CutPrefix(line, "    ")
		switch {
		case line == "failures:":
			listed = true
		case listed && indented && name != "" && !strings.HasPrefix(name, " ") && len(names) < maxFailures:
			names = append(names, name)
		default:
			listed = false
		}
	}
	return names
}

func cargoOutputs(lines []string) map[string]*clip {
	outputs := map[string]*clip{}
	var current *clip
	for _, line := range lines {
		if m := cargoOutput.FindStringSubmatch(line); m != nil && len(outputs) < maxFailures {
			if outputs[m[1]] == nil {
				outputs[m[1]] = &clip{}
			}
			current = outputs[m[1]]
			continue
		}
		if line == "failures:" || strings.HasPrefix(line, "test result: ") {
			current = nil
		}
		if current != nil {
			current.write(line + "\n")
		}
	}
	return outputs
}
