package report

import (
	"bytes"
	"encoding/json"
	"strings"

	"pawl"
)

// goEvent is one line of go test -json, see "go doc test2json" and "go help
// buildjson".
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build events
	FailedBuild string // the ImportPath of the build that kept a package from running
}

func (e *goEvent) known() bool {
	switch e.Action {
	case "start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "attr", "artifacts":
		return e.Package != ""
	case "build-output", "build-fail":
		return e.ImportPath != ""
	}
	return false
}

// goTest is a test that has begun, or a package (with an empty test).
type goTest struct {
	out     clip
	running bool // begun, and not paused for being parallel
}

// goPackage is what is known of a package until its end.
type goPackage struct {
	out      clip
	open     map[string]*goTest
	failed   bool // a test of it failed
	panicked bool
	ended    bool
}

// goReader follows the events of many packages that run at once.
type goReader struct {
	c        *collector
	packages map[string]*goPackage
	order    []string
	builds   map[string]*clip
	tracked  int
}

// maxTracked is how many packages, builds and unfinished tests are followed at
// a time; a hostile stream could otherwise start millions.
const maxTracked = 50_000

// readGoTest reads the events of go test -json. Lines between that are no
// events, such as a compiler's, are passed over.
func readGoTest(c *collector, text []byte) bool {
	g := &goReader{c: c, packages: map[string]*goPackage{}, builds: map[string]*clip{}}
	found := false
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var e goEvent
		if json.Unmarshal(line, &e) != nil || !e.known() {
			continue
		}
		found = true
		g.event(&e)
	}
	for _, name := range g.order {
		if p := g.packages[name]; !p.ended {
			g.cutShort(name, p)
		}
	}
	return found
}

func (g *goReader) event(e *goEvent) {
	switch e.Action {
	case "build-output":
		if b := g.builds[e.ImportPath]; b != nil {
			b.write(e.Output)
		} else if g.track() {
			b := &clip{}
			b.write(e.Output)
			g.builds[e.ImportPath] = b
		}
		return
	case "build-fail":
		return
	}
	p := g.pkg(e.Package)
	if p == nil {
		g.untracked(e)
		return
	}
	if e.Test == "" {
		g.packageEvent(p, e)
	} else {
		g.testEvent(p, e)
	}
}

func (g *goReader) track() bool {
	g.tracked++
	return g.tracked <= maxTracked
}

func (g *goReader) pkg(name string) *goPackage {
	p := g.packages[name]
	if p == nil && g.track() {
		p = &goPackage{open: map[string]*goTest{}}
		g.packages[name] = p
		g.order = append(g.order, name)
	}
	return p
}

// untracked keeps the results of packages beyond the limit.
func (g *goReader) untracked(e *goEvent) {
	switch e.Action {
	case "pass", "fail", "skip":
		if e.Test != "" {
			g.c.add(e.Package+"."+e.Test, pawl.TestStatus(e.Action), "")
		} else if e.Action == "fail" {
			g.c.whole(e.Package, packageFailed, "")
		}
	}
}

func (g *goReader) testEvent(p *goPackage, e *goEvent) {
	t := p.open[e.Test]
	if t == nil && e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		if !g.track() {
			return
		}
		t = &goTest{}
		p.open[e.Test] = t
	}
	switch e.Action {
	case "run", "cont":
		t.running = true
	case "pause":
		t.running = false
	case "output":
		p.panicked = p.panicked || isGoCrash(e.Output)
		t.out.write(e.Output)
	case "pass", "fail", "skip":
		output := ""
		if t != nil {
			output = t.out.String()
			delete(p.open, e.Test)
			g.tracked--
		}
		p.failed = p.failed || e.Action == "fail"
		g.c.add(e.Package+"."+e.Test, pawl.TestStatus(e.Action), output)
	}
}

func isGoCrash(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") ||
		strings.HasPrefix(line, "runtime: goroutine stack exceeds ")
}

func (g *goReader) packageEvent(p *goPackage, e *goEvent) {
	switch e.Action {
	case "output":
		p.panicked = p.panicked || isGoCrash(e.Output)
		p.out.write(e.Output)
	case "pass", "skip":
		p.ended = true
	case "fail":
		p.ended = true
		g.packageFailed(p, e)
	}
}

// packageFailed finds out why: a failed test, a build, tests that never ended
// (os.Exit, a panic, the test binary's own timeout), or something outside of
// all tests.
func (g *goReader) packageFailed(p *goPackage, e *goEvent) {
	out := p.out.String()
	switch {
	case e.FailedBuild != "" || strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
		what := buildFailed
		if strings.Contains(out, "[setup failed]") {
			what = setupFailed
		}
		g.c.whole(e.Package, what, g.builds[e.FailedBuild].String()+out)
		return
	case !p.failed && g.unfinished(e.Package, p):
		g.c.breaks(e.Package)
		return
	case !p.failed:
		g.c.whole(e.Package, packageFailed, out)
		return
	}
	if p.panicked || len(p.open) > 0 {
		g.c.breaks(e.Package)
	}
}

// unfinished records the tests that were running and reports whether there were any.
func (g *goReader) unfinished(pkg string, p *goPackage) bool {
	any := false
	for test, t := range p.open {
		if t.running {
			any = true
			g.c.unfinished(pkg+"."+test, t.out.String())
		}
	}
	return any
}

// cutShort is for a package whose end never came: the command was killed.
func (g *goReader) cutShort(name string, p *goPackage) {
	g.unfinished(name, p)
	g.c.breaks(name)
}
