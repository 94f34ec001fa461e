package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// Listed reads what the command of [Suite.List] printed on standard output. The names are
// those that reports have; each is there once, in the order of the list.
func (s *Suite) Listed(output []byte) ([]string, error) {
	l := &lister{seen: map[string]bool{}}
	switch s.Runner {
	case GoTest:
		selects, err := s.goSelects()
		if err != nil {
			return nil, err
		}
		l.goEvents(output, selects)
	case Pytest:
		l.lines(output, pytestListed)
	case CargoTest:
		l.lines(output, cargoListed)
	case Vitest:
		l.lines(output, vitestListed)
	default:
		return nil, errors.New(string(s.Runner) + " has no list of its tests")
	}
	return l.names, nil
}

type lister struct {
	names []string
	seen  map[string]bool
}

func (l *lister) add(name string) {
	name = report.Name(name)
	if name != "" && !l.seen[name] && len(l.names) < maxListed {
		l.seen[name] = true
		l.names = append(l.names, name)
	}
}

func (l *lister) lines(output []byte, name func(line string) string) {
	for _, line := range strings.Split(report.Plain(string(output)), "\n") {
		if len(line) <= maxListName {
			l.add(name(line))
		}
	}
}

func (l *lister) goEvents(output []byte, selects func(string) bool) {
	for _, line := range bytes.Split(output, []byte("\n")) {
		var e struct{ Action, Package, Test, Output string }
		if len(line) > maxListName || !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil {
			continue
		}
		// What belongs to a test is no list: one ran.
		if function := strings.TrimSpace(e.Output); e.Action == "output" && e.Package != "" && e.Test == "" && goFunction.MatchString(function) && selects(function) {
			l.add(e.Package + "." + function)
		}
	}
}

var (
	cargoList = pattern.Of(`^(.+?)(?: - should panic)?: test$`)
	cargoLine = pattern.Of(` \(line \d+\)`)
	pytestID  = pattern.Of(`^\S.*\.\w+::\S`)
	vitestID  = pattern.Of(`^\S+\.\w+ > \S`)
)

func pytestListed(line string) string {
	if line = strings.TrimRight(line, " "); pytestID.MatchString(line) {
		return line
	}
	return ""
}

func cargoListed(line string) string {
	if m := cargoList.FindStringSubmatch(line); m != nil {
		return cargoLine.ReplaceAllString(m[1], "")
	}
	return ""
}

func vitestListed(line string) string {
	if line = strings.TrimSpace(line); vitestID.MatchString(line) {
		return line
	}
	return ""
}

// Compare compares the runner's list with the tests of a report: unlisted are those that are
// in the report alone, unreported those that are in the list alone. Subtests, parameters and
// the tests of one name count as one. Some runners list no test that is skipped.
func (s *Suite) Compare(listed []string, tests []pawl.TestResult) (unlisted, unreported []string) {
	inList, inReport := map[string]bool{}, map[string]bool{}
	for _, name := range listed {
		inList[s.key(name)] = true
	}
	told := map[string]bool{}
	for _, t := range tests {
		if report.IsWhole(t.Name) {
			continue
		}
		name := topOf(t.Name)
		if s.Runner == GoTest {
			if _, function := report.Split(name); !goFunction.MatchString(function) {
				continue // a benchmark, or a package that stands for its tests
			}
		}
		key := s.key(t.Name)
		if inReport[key] = true; !inList[key] && !told[key] && t.Status != pawl.TestSkip {
			told[key] = true
			unlisted = append(unlisted, s.shown(t.Name))
		}
	}
	for _, name := range listed {
		if key := s.key(name); !inReport[key] && !told[key] {
			told[key] = true
			unreported = append(unreported, s.shown(name))
		}
	}
	return unlisted, unreported
}

// shown is the name of the test that counts for a name.
func (s *Suite) shown(name string) string {
	switch s.Runner {
	case GoTest:
		return topOf(name)
	case Pytest:
		head, _, _ := strings.Cut(name, "[")
		return head
	}
	return unnumber(name)
}

// key is what names of one test have in common, in the list and in the report. Pytest has two
// ways to name one.
func (s *Suite) key(name string) string {
	name = s.shown(name)
	if s.Runner != Pytest {
		return name
	}
	file, local, found := strings.Cut(name, "::")
	if !found {
		return name
	}
	return strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".") + "." + strings.ReplaceAll(local, "::", ".")
}
