package report

import (
	"sort"
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	goResult  = pattern.Of(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(\d[\d.]*s\)$`)
	goMarker  = pattern.Of(`^=== (?:RUN|CONT|NAME|PAUSE)\s+(\S*)$`)
	goRunning = pattern.Of(`^\t\t((?:Test|Example|Fuzz|Benchmark)\S*) \([\d.hms]+\)$`)
	goPassed  = pattern.Of(`^ok  \t(\S+)\t(.*)$`)
	goFailed  = pattern.Of(`^FAIL\t(\S+)(?:\t[\d.]+s| \[(build|setup) failed\])$`)
	goNoTests = pattern.Of(`^\?   \t(\S+)\t\[no test files\]$|^\t(\S+)\t\tcoverage: `)
	goBuild   = pattern.Of(`^# (\S+)(?: \[\S+\])?$`)
)

// readGoText reads what go test prints for people, with or without -v. Without
// it a package that passes is one result, because its tests have no names.
func readGoText(c *collector, lines []string) bool {
	g := &goTextReader{c: c, builds: map[string]*clip{}}
	for _, line := range lines {
		g.line(line)
	}
	if g.ended == 0 {
		return false
	}
	g.flush("")
	return true
}

// goTextReader gathers results until the line of their package comes.
type goTextReader struct {
	c        *collector
	results  map[string]*goTextResult
	current  *clip // the output of the test that printed last
	out      clip  // what belongs to no test
	running  []string
	panicked bool
	builds   map[string]*clip
	build    *clip // the build whose messages are being read
	ended    int   // package lines seen
}

type goTextResult struct {
	status pawl.TestStatus // empty while the test runs
	out    clip
}

func (g *goTextReader) result(name string) *goTextResult {
	if g.results == nil {
		g.results = map[string]*goTextResult{}
	}
	r := g.results[name]
	if r == nil {
		r = &goTextResult{}
		if len(g.results) < maxTests+maxFailures {
			g.results[name] = r
		}
	}
	return r
}

func (g *goTextReader) line(line string) {
	if m := goResult.FindStringSubmatch(line); m != nil {
		r := g.result(m[2])
		r.status = pawl.TestStatus(strings.ToLower(m[1]))
		g.current, g.build = &r.out, nil
		return
	}
	if m := goMarker.FindStringSubmatch(line); m != nil {
		g.current, g.build = nil, nil
		if m[1] != "" {
			g.current = &g.result(m[1]).out
		}
		return
	}
	if g.packageLine(line) {
		return
	}
	if m := goBuild.FindStringSubmatch(line); m != nil {
		g.build = &clip{}
		g.builds[m[1]] = g.build
	}
	if g.build != nil {
		g.build.write(line + "\n")
		return
	}
	if m := goRunning.FindStringSubmatch(line); m != nil && g.panicked {
		g.running = append(g.running, m[1])
	}
	g.panicked = g.panicked || isGoCrash(line)
	if g.current != nil {
		g.current.write(line + "\n")
	} else {
		g.out.write(line + "\n")
	}
}

// packageLine ends a package.
func (g *goTextReader) packageLine(line string) bool {
	if m := goPassed.FindStringSubmatch(line); m != nil {
		named := len(g.results) > 0
		g.flush(m[1])
		if !named && !strings.Contains(m[2], "[no tests to run]") {
			g.c.add(m[1], pawl.TestPass, "")
		}
	} else if m := goFailed.FindStringSubmatch(line); m != nil {
		g.failed(m[1], m[2])
	} else if goNoTests.MatchString(line) {
		g.flush("")
	} else {
		return false
	}
	g.ended++
	g.build = nil
	return true
}

func (g *goTextReader) failed(pkg, what string) {
	if what != "" {
		g.c.whole(pkg, what+" failed", g.builds[pkg].String())
		return
	}
	failed := false
	for _, r := range g.results {
		failed = failed || r.status == pawl.TestFail
	}
	if !failed && len(g.running) > 0 {
		for _, test := range g.running {
			g.result(test).status = pawl.TestFail
			g.c.unfinished(pkg+"."+test, g.out.String())
		}
		failed = true
	}
	if g.panicked {
		g.c.breaks(pkg)
	}
	out := g.out.String()
	g.flush(pkg)
	if !failed {
		g.c.whole(pkg, packageFailed, out)
	}
}

// flush records the results gathered for a package. Tests that never ended are
// left out: their package failed and says why.
func (g *goTextReader) flush(pkg string) {
	names := make([]string, 0, len(g.results))
	for name := range g.results {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		r := g.results[name]
		full := name
		if pkg != "" {
			full = pkg + "." + name
		}
		if r.status != "" {
			g.c.add(full, r.status, r.out.String())
		}
	}
	g.results, g.current, g.running = nil, nil, nil
	g.out, g.panicked = clip{}, false
}
