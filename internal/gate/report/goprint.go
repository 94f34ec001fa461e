package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// GoPrinter makes of the events of go test -json what go test prints for people. With Verbose
// unset, of tests that pass nothing is printed. Lines that are no events are printed as they
// are. It must be closed, and is for one goroutine.
type GoPrinter struct {
	Verbose bool
	// Print receives the text in pieces.
	Print func([]byte)

	line     []byte // what has come of a line
	held     map[string]map[string]*clip
	heldSize int
}

const (
	maxEventLine = 1 << 20 // bytes of a line; the rest of a longer one is left out
	maxHeld      = 10_000  // tests whose output is held until they end
)

// Write takes a part of the stream.
func (p *GoPrinter) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		data = rest
		if room := maxEventLine - len(p.line); room > 0 {
			p.line = append(p.line, part[:min(room, len(part))]...)
		}
		if whole {
			p.take(p.line)
			p.line = p.line[:0]
		}
	}
	return n, nil
}

// Close prints what was held.
func (p *GoPrinter) Close() error {
	if len(p.line) > 0 {
		p.take(p.line)
	}
	for _, pkg := range slices.Sorted(maps.Keys(p.held)) {
		for _, test := range slices.Sorted(maps.Keys(p.held[pkg])) {
			p.release(pkg, test, true)
		}
	}
	p.line, p.held = nil, nil
	return nil
}

func (p *GoPrinter) take(line []byte) {
	var e goEvent
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || !e.known() {
		p.Print(append(bytes.Clone(line), '\n'))
		return
	}
	switch {
	case e.Action == "build-output" || e.Action == "output" && p.Verbose:
		p.Print([]byte(e.Output))
	case p.Verbose:
	case e.Action == "output":
		p.hold(&e)
	case e.Action == "fail" || e.Action == "pass" || e.Action == "skip":
		p.release(e.Package, e.Test, e.Action == "fail")
	}
}

// hold keeps the output of a test, or of a package, until it is known how it ended.
func (p *GoPrinter) hold(e *goEvent) {
	if e.Test == "" && (strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "?   \t") || strings.HasPrefix(e.Output, "FAIL\t")) {
		p.release(e.Package, "", strings.HasPrefix(e.Output, "FAIL\t"))
		p.Print([]byte(e.Output))
		return
	}
	if isGoFraming(e.Output) {
		return
	}
	out := p.held[e.Package][e.Test]
	if out == nil {
		if p.heldSize >= maxHeld {
			return
		}
		if p.held == nil {
			p.held = map[string]map[string]*clip{}
		}
		if p.held[e.Package] == nil {
			p.held[e.Package] = map[string]*clip{}
		}
		out = &clip{}
		p.held[e.Package][e.Test] = out
		p.heldSize++
	}
	out.write(e.Output)
}

func isGoFraming(line string) bool {
	for _, prefix := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func (p *GoPrinter) release(pkg, test string, show bool) {
	out := p.held[pkg][test]
	if out == nil {
		return
	}
	delete(p.held[pkg], test)
	if len(p.held[pkg]) == 0 {
		delete(p.held, pkg)
	}
	p.heldSize--
	if show {
		p.Print([]byte(out.String()))
	}
}
