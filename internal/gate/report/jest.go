package report

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	jestTests  = pattern.Of(`^Tests: +((?:\d+ [a-z]+, )*)(\d+) total$`)
	jestCount  = pattern.Of(`(\d+) (failed|passed|skipped|todo)`)
	jestFile   = pattern.Of(`^(PASS|FAIL) +(?:[^\s/\\.]+ +)?(\S+\.\w+)(?: \([\d.]+ m?s\))?$`)
	jestTest   = pattern.Of(`^( +)([✓✕○✎√×]) (?:skipped |todo )?(.*?)(?: \([\d.]+ m?s\))?$`)
	jestTitle  = pattern.Of(`^( {2,})(\S.*)$`)
	jestHeader = pattern.Of(`^ {2}● (.+)$`)
)

// readJest reads what jest prints. With several files and without --verbose a
// file that passes is one result, because its tests have no names.
func readJest(c *collector, lines []string) bool {
	found := false
	var passed, failed, skipped int
	for _, line := range lines {
		if m := jestTests.FindStringSubmatch(line); m != nil {
			found = true
			passed, failed, skipped = jestCounts(m[1])
		}
		found = found || strings.HasPrefix(line, "No tests found, exiting with code ") || strings.HasPrefix(line, "Test Suites: ")
	}
	if !found {
		return false
	}
	j := &jestReader{c: c}
	for _, line := range lines {
		j.line(line)
	}
	j.endFile()
	c.counts(passed, failed, skipped)
	return true
}

func jestCounts(text string) (passed, failed, skipped int) {
	for _, m := range jestCount.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		switch m[2] {
		case "passed":
			passed += n
		case "failed":
			failed += n
		default:
			skipped += n
		}
	}
	return passed, failed, skipped
}

type jestReader struct {
	c       *collector
	file    string
	passes  bool // the file passed
	named   bool // tests of it had names
	listing bool // between the file's line and the first blank one: the tests
	titles  outline
	header  string // the failure that is being told
	out     clip
}

func (j *jestReader) line(line string) {
	if m := jestFile.FindStringSubmatch(line); m != nil {
		j.endFile()
		j.file, j.passes, j.named, j.listing = m[2], m[1] == "PASS", false, true
		return
	}
	if j.file == "" {
		return
	}
	if m := jestHeader.FindStringSubmatch(line); m != nil {
		j.endFailure()
		j.header = m[1]
		return
	}
	if strings.HasPrefix(line, "Test Suites: ") || strings.HasPrefix(line, "Summary of all failing tests") {
		j.endFile()
		return
	}
	switch {
	case j.header != "":
		j.out.write(line + "\n")
	case strings.TrimSpace(line) == "":
		j.listing = false
	case j.listing:
		j.listed(line)
	}
}

func (j *jestReader) listed(line string) {
	m := jestTest.FindStringSubmatch(line)
	if m == nil {
		if t := jestTitle.FindStringSubmatch(line); t != nil {
			j.titles.open(len(t[1]), t[2])
		}
		return
	}
	j.titles.close(len(m[1]))
	name := j.file + " > " + j.titles.path(" › ", m[3])
	j.named = true
	switch m[2] {
	case "✓", "√":
		j.c.add(name, pawl.TestPass, "")
	case "✕", "×":
		j.c.add(name, pawl.TestFail, "")
	default:
		j.c.add(name, pawl.TestSkip, "")
	}
}

func (j *jestReader) endFailure() {
	switch j.header {
	case "", "Console":
	case "Test suite failed to run":
		j.c.whole(j.file, suiteFailed, j.out.String())
	default:
		j.c.add(j.file+" > "+j.header, pawl.TestFail, j.out.String())
	}
	j.header, j.out = "", clip{}
}

func (j *jestReader) endFile() {
	j.endFailure()
	if j.file != "" && j.passes && !j.named {
		j.c.add(j.file, pawl.TestPass, "")
	}
	j.file = ""
	j.titles.reset()
}

// jestReport is what jest --json and vitest --reporter=json print.
type jestReport struct {
	Total   *int `json:"numTotalTests"`
	Results []struct {
		Name       string `json:"name"`
		Status     string `json:"status"`
		Message    string `json:"message"`
		Assertions []struct {
			FullName string   `json:"fullName"`
			Title    string   `json:"title"`
			Around   []string `json:"ancestorTitles"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

func readJestJSON(c *collector, text []byte) bool {
	if !bytes.Contains(text, []byte(`"numTotalTests"`)) {
		return false
	}
	found := false
	for _, doc := range jsonDocuments(text) {
		var r jestReport
		if json.Unmarshal(doc, &r) != nil || r.Total == nil {
			continue
		}
		found = true
		for _, file := range r.Results {
			if len(file.Assertions) == 0 && file.Status == "failed" {
				c.whole(file.Name, suiteFailed, file.Message)
			}
			for _, t := range file.Assertions {
				status := pawl.TestSkip
				switch t.Status {
				case "passed":
					status = pawl.TestPass
				case "failed":
					status = pawl.TestFail
				}
				title := t.FullName
				switch c.runner {
				case RunnerJest:
					title = strings.Join(append(t.Around, t.Title), " › ")
				case RunnerVitest:
					title = strings.Join(append(t.Around, t.Title), " > ")
				}
				c.add(file.Name+" > "+title, status, strings.Join(t.Messages, "\n"))
			}
		}
	}
	return found
}
