package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	nodeCount = pattern.Of(`^ℹ (tests|pass|fail|cancelled|skipped|todo) (\d+)$`)
	nodeTest  = pattern.Of(`^( *)([✔✖﹣▶]) (.*?)(?: \([\d.]+ms\))?(?: # (SKIP|TODO).*)?$`)
)

// readNodeSpec reads what the spec reporter of Node's own test runner prints.
func readNodeSpec(c *collector, lines []string) bool {
	counts := map[string]int{}
	end := -1
	for i, line := range lines {
		if m := nodeCount.FindStringSubmatch(line); m != nil {
			if m[1] == "tests" {
				end = i
			}
			n, _ := strconv.Atoi(m[2])
			counts[m[1]] = n
		}
	}
	if _, ok := counts["pass"]; end < 0 || !ok {
		return false
	}
	outputs := nodeTree(lines[:end])
	for _, t := range outputs {
		c.add(t.name, t.status, t.out.String())
	}
	c.counts(counts["pass"], counts["fail"]+counts["cancelled"], counts["skipped"]+counts["todo"])
	return true
}

type nodeResult struct {
	name   string
	status pawl.TestStatus
	out    clip
}

// nodeTree reads the tests, without the suites around them: "▶ sum" opens one
// and a result with the same title closes it.
func nodeTree(lines []string) []*nodeResult {
	var results []*nodeResult
	var titles outline
	var last *nodeResult
	for _, line := range lines {
		m := nodeTest.FindStringSubmatch(line)
		if m == nil {
			if last != nil {
				last.out.write(line + "\n")
			}
			continue
		}
		indent := len(m[1])
		if m[2] == "▶" {
			titles.open(indent, m[3])
			last = nil
			continue
		}
		suite := false
		for i, at := range titles.indents {
			suite = suite || at == indent && titles.titles[i] == m[3]
		}
		titles.close(indent)
		if suite || len(results) >= maxTests+maxFailures {
			continue
		}
		last = &nodeResult{name: titles.path(" > ", strings.TrimSpace(m[3])), status: nodeStatus(m[2], m[4])}
		results = append(results, last)
	}
	return results
}

func nodeStatus(mark, directive string) pawl.TestStatus {
	switch {
	case directive != "" || mark == "﹣":
		return pawl.TestSkip
	case mark == "✖":
		return pawl.TestFail
	}
	return pawl.TestPass
}
