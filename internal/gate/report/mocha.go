package report

import (
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	mochaCount = pattern.Of(`^ {2}(\d+) (passing|failing|pending)(?: \(.+\))?$`)
	mochaTest  = pattern.Of(`^( {2,})(?:([✔✓√-])|(\d+)\)) (.*?)(?: \(\d+ms\))?$`)
	mochaTitle = pattern.Of(`^( {2,})(\S.*)$`)
	mochaBlock = pattern.Of(`^ {2}(\d+)\) (.*)$`)
)

// readMocha reads what mocha's spec reporter prints. Other reporters give
// names to failing tests alone.
func readMocha(c *collector, lines []string) bool {
	counts := map[string]int{}
	end := -1
	for i, line := range lines {
		if m := mochaCount.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			counts[m[2]] = n
			if m[2] == "passing" {
				end = i
			}
		}
	}
	if end < 0 {
		return false
	}
	names := mochaList(c, lines[:end])
	mochaFailures(c, lines[end:], names)
	c.counts(counts["passing"], counts["failing"], counts["pending"])
	return true
}

// mochaList reads the tree of tests and returns the names of the failed ones
// by their number.
func mochaList(c *collector, lines []string) map[string]string {
	names := map[string]string{}
	var titles outline
	for _, line := range lines {
		m := mochaTest.FindStringSubmatch(line)
		if m == nil {
			if t := mochaTitle.FindStringSubmatch(line); t != nil {
				titles.open(len(t[1]), t[2])
			}
			continue
		}
		titles.close(len(m[1]))
		name := titles.path(" > ", m[4])
		switch m[2] {
		case "":
			names[m[3]] = name
			c.add(name, pawl.TestFail, "")
		case "-":
			c.add(name, pawl.TestSkip, "")
		default:
			c.add(name, pawl.TestPass, "")
		}
	}
	return names
}

// mochaFailures reads the numbered blocks at the end. Their head is the test's
// titles, one a line, and ends with a colon.
func mochaFailures(c *collector, lines []string, names map[string]string) {
	var number string
	var head []string
	var out clip
	inHead := false
	flush := func() {
		if number == "" {
			return
		}
		name, ok := names[number]
		if !ok {
			name = strings.Join(head, " > ")
		}
		c.add(name, pawl.TestFail, out.String())
		number, head, out = "", nil, clip{}
	}
	for _, line := range lines {
		if m := mochaBlock.FindStringSubmatch(line); m != nil {
			flush()
			number, inHead = m[1], true
			line = m[2]
		}
		if number == "" {
			continue
		}
		text := strings.TrimSpace(line)
		if !inHead {
			out.write(line + "\n")
			continue
		}
		inHead = text != "" && !strings.HasSuffix(text, ":") && len(head) < maxDepth
		if text != "" {
			head = append(head, strings.TrimSuffix(text, ":"))
		}
	}
	flush()
}
