package report

import (
	"bytes"
	"cmp"

	"pawl"
)

// Runner is a test runner whose report names tests in a way of its own. In a report that is
// read as one of it they get the names that its printed text has.
type Runner string

// The runners.
const (
	RunnerPytest Runner = "pytest"
	RunnerNode   Runner = "node --test"
	RunnerJest   Runner = "jest"
	RunnerVitest Runner = "vitest"
)

// Source is what a command left to be read.
type Source struct {
	Format pawl.ReportFormat // the zero value means auto
	Kind   pawl.GateKind
	// Stdout is standard output alone; Output both streams, perhaps cut.
	Stdout, Output []byte
	// OutputCut reports that Output lacks something.
	OutputCut bool
	// Files are the report files the command wrote, when the gate names some;
	// then nothing else is read.
	Files [][]byte
	// Runner wrote the files; empty = it is not known.
	Runner Runner
	// Roots are the absolute paths the checkout is known by, without a slash at
	// the end. They are taken out of names.
	Roots []string
	// ExitOK reports that the command ended with 0.
	ExitOK bool
}

// reader reads one format and reports whether the text is in it. It must not
// record anything when it is not. One of data and lines is set.
type reader struct {
	format pawl.ReportFormat
	tool   string
	data   func(c *collector, text []byte) bool
	lines  func(c *collector, lines []string) bool
	// stdout reports that all of it is on standard output, which is then read first.
	stdout bool
}

// document is a text to be read, perhaps by many readers.
type document struct {
	text []byte
	list []string // its lines, once they were needed
}

func (d *document) lines() []string {
	if d.list == nil {
		d.list = splitLines(Plain(string(d.text)))
	}
	return d.list
}

var (
	goTestReader = reader{format: pawl.ReportGoTest, tool: "go test", data: readGoTest}
	junitReader  = reader{format: pawl.ReportJUnit, tool: "JUnit", data: readJUnit}
	tapReader    = reader{format: pawl.ReportTAP, tool: "TAP", lines: readTAP}
	sarifReader  = reader{format: pawl.ReportSARIF, tool: "SARIF", data: readSARIF}
)

// readers lists the formats that auto tries, in this order, for a kind of gate.
func readers(kind pawl.GateKind) []reader {
	text := func(tool string, read func(*collector, []string) bool) reader {
		return reader{format: pawl.ReportAuto, tool: tool, lines: read}
	}
	data := func(tool string, read func(*collector, []byte) bool) reader {
		return reader{format: pawl.ReportAuto, tool: tool, data: read}
	}
	switch kind {
	case pawl.GateTests:
		return []reader{
			goTestReader, junitReader, data("jest", readJestJSON),
			text("go test", readGoText), text("pytest", readPytest), text("unittest", readUnittest),
			// Cargo's own messages on standard error come in the middle of such lines.
			{format: pawl.ReportAuto, tool: "cargo test", lines: readCargo, stdout: true}, text("jest", readJest), text("vitest", readVitest),
			text("mocha", readMocha), text("node --test", readNodeSpec),
			// After the runners above, whose tests may print such lines.
			tapReader, text("a test runner", readCounts),
		}
	case pawl.GateSecurity:
		return []reader{
			sarifReader, data("npm audit", readNPMAudit), data("govulncheck", readGovulncheck),
			text("govulncheck", readGovulncheckText),
		}
	default:
		return []reader{sarifReader, text("a linter", readCompiler)}
	}
}

// Read reads what a command left. It always returns a reading: when nothing
// is recognised its Format is [pawl.ReportExit], and when a format was asked
// for by name and is not there, Damage says so.
func Read(src Source) Reading {
	if src.Format == pawl.ReportExit {
		return Reading{Format: pawl.ReportExit}
	}
	candidates := readers(src.Kind)
	switch src.Format {
	case pawl.ReportGoTest:
		candidates = []reader{goTestReader}
	case pawl.ReportJUnit:
		candidates = []reader{junitReader}
	case pawl.ReportTAP:
		candidates = []reader{tapReader}
	case pawl.ReportSARIF:
		candidates = []reader{sarifReader}
	}
	switch src.Runner {
	case RunnerPytest:
		candidates = []reader{junitReader}
	case RunnerNode:
		candidates = []reader{tapReader}
	case RunnerJest, RunnerVitest:
		candidates = []reader{{format: pawl.ReportAuto, data: readJestJSON}}
	}
	for i := range candidates {
		candidates[i].tool = cmp.Or(string(src.Runner), candidates[i].tool)
	}
	var r Reading
	if src.Files != nil {
		r = readFiles(src, candidates)
	} else {
		r = readStreams(src, candidates)
	}
	if !r.Recognised() && src.Format != "" && src.Format != pawl.ReportAuto {
		r.Format = src.Format
		r.Damage = "no " + describe(src.Format) + " was found on standard output"
		if src.Files != nil {
			r.Damage = "the report file holds no " + describe(src.Format)
		}
	}
	return r
}

func describe(f pawl.ReportFormat) string {
	switch f {
	case pawl.ReportGoTest:
		return `result of "go test -json"`
	case pawl.ReportJUnit:
		return "JUnit XML"
	case pawl.ReportTAP:
		return "Test Anything Protocol"
	case pawl.ReportSARIF:
		return "SARIF 2.1 log"
	}
	return string(f) + " report"
}

// readStreams tries structured formats on standard output first, where tools
// put them, and the text of tools on both streams together, because some
// summaries are printed to standard error.
func readStreams(src Source, candidates []reader) Reading {
	stdout, output := &document{text: src.Stdout}, &document{text: src.Output}
	same := bytes.Equal(src.Stdout, src.Output)
	for _, cand := range candidates {
		documents := []*document{stdout, output}
		if cand.format == pawl.ReportAuto && cand.lines != nil && !cand.stdout && !src.OutputCut {
			documents = []*document{output, stdout}
		}
		if same {
			documents = documents[:1]
		}
		for _, d := range documents {
			c := newCollector(src.Roots, src.ExitOK)
			if c.byLevel = src.Kind != pawl.GateSecurity; cand.try(c, d) {
				return c.finish(cand.format, cand.toolName(c))
			}
		}
	}
	return Reading{Format: pawl.ReportExit}
}

// readFiles reads all files in the format of the first that is recognised.
func readFiles(src Source, candidates []reader) Reading {
	for _, cand := range candidates {
		c := newCollector(src.Roots, src.ExitOK)
		c.byLevel = src.Kind != pawl.GateSecurity
		c.number = cand.format == pawl.ReportJUnit || cand.format == pawl.ReportTAP
		c.runner = src.Runner
		found := 0
		for _, file := range src.Files {
			if cand.try(c, &document{text: file}) {
				found++
			}
		}
		if found == 0 {
			continue
		}
		if found < len(src.Files) {
			c.damage("%d of %d report files cannot be read as %s", len(src.Files)-found, len(src.Files), cand.toolName(c))
		}
		return c.finish(cand.format, cand.toolName(c))
	}
	return Reading{Format: pawl.ReportExit}
}

func (r reader) try(c *collector, d *document) bool {
	if r.lines != nil {
		return r.lines(c, d.lines())
	}
	return r.data(c, bytes.TrimPrefix(d.text, []byte("\xef\xbb\xbf")))
}

func (r reader) toolName(c *collector) string {
	if c.tool != "" {
		return c.tool
	}
	return r.tool
}
