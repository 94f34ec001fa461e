package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"pawl"
	"pawl/internal/gate/report"
	"pawl/internal/gate/suite"
)

// attempt is one run of a gate's command, whole or for some of its tests, and how its results
// are had.
type attempt struct {
	req     pawl.GateRequest
	suite   *suite.Suite   // nil: the runner is not known
	unknown error          // why not
	line    string         // the command where there is no channel
	channel *suite.Channel // nil: results are read from what is printed
	files   *fileWatch     // nil: the gate names no file of results
	ended   time.Time      // when the time for all of it ends
	rerun   []string       // the tests that alone were run
	notes   []string
	said    []string // those of the notes that belong to the reason
	root    *os.Root
}

// newAttempt finds out how to run the gate's command.
func newAttempt(req pawl.GateRequest, tree string) *attempt {
	a := &attempt{req: req, line: req.Spec.Command, files: watchFiles(tree, req.Spec.File)}
	if req.Spec.Kind != pawl.GateTests {
		return a
	}
	if a.root, a.unknown = os.OpenRoot(tree); a.unknown != nil {
		return a
	}
	if a.suite, a.unknown = suite.Read(a.root.FS(), req.Spec.Command); a.unknown == nil {
		a.unknown = a.open(a.suite)
	}
	if base := req.Base; base != nil && base.Channel != "" && a.unknown != nil {
		a.say("the results are read from what was printed and not from %s as on the base: %v", base.Channel, a.unknown)
	}
	return a
}

// runner is the runner that gave the results; empty = they were read from what was printed.
func (a *attempt) runner() string {
	if a.channel == nil {
		return ""
	}
	return string(a.suite.Runner)
}

func (a *attempt) close() {
	if a.root != nil {
		_ = a.root.Close()
	}
}

// open makes the runner of a suite give its results, unless the gate says where they are. Two
// reports are compared by names of tests, so that what was read from the text of the command
// before is read from there again.
func (a *attempt) open(s *suite.Suite) error {
	a.channel = nil
	spec := &a.req.Spec
	if spec.File != "" || spec.Report != "" && spec.Report != pawl.ReportAuto {
		return nil
	}
	for _, before := range []*pawl.GateReport{a.req.Base, a.req.Doubt} {
		if before != nil && before.Channel == "" && before.Passed+before.Failed > 0 {
			return nil
		}
	}
	c, err := s.Channel()
	if err == nil {
		a.channel = &c
	}
	return err
}

func (a *attempt) note(format string, args ...any) {
	a.notes = append(a.notes, cutText(fmt.Sprintf(format, args...), maxReason))
}

// say adds a note that belongs to the reason.
func (a *attempt) say(format string, args ...any) {
	a.note(format, args...)
	a.said = append(a.said, a.notes[len(a.notes)-1])
}

// left is the time that is left, a little at least. It begins with the first command.
func (a *attempt) left() time.Duration {
	if a.ended.IsZero() {
		a.ended = time.Now().Add(timeout(a.req))
		return timeout(a.req)
	}
	return max(time.Until(a.ended), time.Second)
}

// run runs the command and reads its results.
func (a *attempt) run(ctx context.Context) (pawl.CommandResult, report.Reading, error) {
	if a.channel == nil {
		res, err := a.command(ctx, a.line, a.left(), a.req.Progress)
		if err != nil {
			return res, report.Reading{}, err
		}
		return res, read(a.req, res, a.files), nil
	}
	printer := &printer{to: a.req.Progress, channel: a.channel, verbose: a.suite.GoVerbose(), raw: a.suite.GoEvents()}
	res, err := a.command(ctx, a.channel.Command, a.left(), printer.progress())
	if err != nil {
		return res, report.Reading{}, err
	}
	reading, err := a.results(ctx, res)
	if err != nil {
		return res, reading, err
	}
	if reading.Recognised() && reading.Damage == "" {
		if a.channel.Stands != "" {
			a.note("%s was run as: %s", a.channel.Stands, a.channel.Line)
		}
		res.Output = printer.text(res)
		return res, reading, nil
	}
	return a.fallBack(ctx, res, reading.Damage)
}

// fallBack is for a runner that gave no results: what was printed is read. Where nothing was
// either, the command may not bear what was added to it, and is run as it is; on the base
// only, which says what is done for candidates.
func (a *attempt) fallBack(ctx context.Context, res pawl.CommandResult, damage string) (pawl.CommandResult, report.Reading, error) {
	reading := read(a.req, res, nil)
	known := a.req.Base != nil && a.req.Base.Channel != ""
	if reading.Ran() == 0 && res.ExitCode != 0 && !res.TimedOut && !res.Missing && !known {
		took := res.Duration
		var err error
		if res, err = a.command(ctx, a.line, a.left(), a.req.Progress); err != nil {
			return res, reading, err
		}
		res.Duration += took
		if reading = read(a.req, res, nil); reading.Ran() > 0 {
			a.note("%s gave no results of its own, so the command was run again as it is", a.suite.Runner)
		}
	} else if reading.Ran() > 0 && !res.TimedOut {
		why := "it gave none"
		if damage != "" && a.channel.Fetch != "" {
			why = damage
		}
		a.say("the results are read from what was printed and not from %s: %s", a.suite.Runner, why)
	}
	a.channel = nil
	return res, reading, nil
}

func (a *attempt) command(ctx context.Context, line string, limit time.Duration, progress func([]byte)) (pawl.CommandResult, error) {
	res, err := a.req.Room.Run(ctx, pawl.Command{Shell: line, Env: a.req.Env, Timeout: limit, Progress: progress})
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if err != nil {
		return res, fmt.Errorf("run gate %s: %w", a.req.Spec.Name, err)
	}
	return res, nil
}

// fetchTime bounds how long it takes to read a file of results.
const fetchTime = 30 * time.Second

// maxStdout is how many bytes of standard output a room keeps; see [pawl.CommandResult].
const maxStdout = 16 << 20

// results reads what the runner gave.
func (a *attempt) results(ctx context.Context, res pawl.CommandResult) (report.Reading, error) {
	src := report.Source{Format: a.channel.Format, Kind: pawl.GateTests, Stdout: res.Stdout, Output: res.Output, Runner: a.channel.Runner,
		OutputCut: res.Dropped > 0, Roots: roots(a.req.Room.Dir()), ExitOK: res.ExitCode == 0 && !res.TimedOut}
	if a.channel.Fetch != "" {
		file, err := a.command(ctx, a.channel.Fetch, fetchTime, nil)
		if err != nil {
			return report.Reading{}, err
		}
		if src.Files = [][]byte{file.Stdout}; len(bytes.TrimSpace(file.Stdout)) == 0 {
			return report.Reading{Format: pawl.ReportExit}, nil
		}
	}
	r := report.Read(src)
	if a.channel.Fetch == "" && len(res.Stdout) >= maxStdout {
		r.LeftOut++ // what came after it
	}
	if len(r.Tests) == 0 && r.Damage != "" {
		r.Format = pawl.ReportExit
	}
	return r, nil
}

// printer makes what a command printed into what the gate's own command prints.
type printer struct {
	to      func([]byte)
	channel *suite.Channel
	verbose bool // go test was asked to print all
	raw     bool // or events
	live    *report.GoPrinter
}

func (p *printer) events() bool { return p.channel.Fetch == "" && !p.raw }

func (p *printer) progress() func([]byte) {
	if p.to == nil || !p.events() {
		return p.to
	}
	p.live = &report.GoPrinter{Verbose: p.verbose, Print: p.to}
	return func(data []byte) { _, _ = p.live.Write(data) }
}

// text is the whole output, cut as rooms cut it.
func (p *printer) text(res pawl.CommandResult) []byte {
	var text bytes.Buffer
	if !p.events() {
		for _, line := range bytes.SplitAfter(res.Output, []byte("\n")) {
			if !bytes.Contains(line, []byte(suite.ResultsName)) {
				text.Write(line)
			}
		}
		return text.Bytes()
	}
	to := &report.GoPrinter{Verbose: p.verbose, Print: func(b []byte) { text.Write(b) }}
	if res.Dropped > 0 {
		// Of the events some are missing in Output. What is no event came from standard error.
		for _, line := range bytes.SplitAfter(res.Output, []byte("\n")) {
			if !bytes.Contains(line, []byte(`"Action":`)) {
				text.Write(line)
			}
		}
		_, _ = to.Write(res.Stdout)
	} else {
		_, _ = to.Write(res.Output)
	}
	_ = to.Close()
	return middleOut(text.Bytes(), pawl.DefaultOutputLimit)
}

// middleOut keeps n bytes of a text, half from its head and half from its tail.
func middleOut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	head, tail := text[:n/2], text[len(text)-n/2:]
	return []byte(strings.ToValidUTF8(fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(text)-len(head)-len(tail), tail), ""))
}

// list compares the tests of a report with the runner's own list. What differs is in the reason
// and changes no verdict; that there is no list is a note.
func (a *attempt) list(ctx context.Context, r *pawl.GateReport) error {
	if !a.req.List || r.Verdict != pawl.VerdictPass || a.req.Spec.Kind != pawl.GateTests || r.Passed+r.Failed == 0 {
		return nil
	}
	if a.suite == nil {
		a.note("the runner's list of its tests is not known: %v", a.unknown)
		return nil
	}
	line, err := a.suite.List()
	switch {
	case err == nil && !(r.Complete && (a.suite.Runner == suite.CargoTest || r.Channel != "" || r.Format != pawl.ReportAuto)):
		err = fmt.Errorf("the results do not name all tests")
	case err == nil && time.Until(a.ended) < time.Second:
		err = fmt.Errorf("no time is left")
	}
	if err != nil {
		a.note("the tests are not compared with the runner's list: %v", err)
		return nil
	}
	res, err := a.command(ctx, line, a.left(), nil)
	if err != nil {
		return err
	}
	r.Duration += res.Duration
	listed, err := a.suite.Listed(res.Stdout)
	switch {
	case err != nil:
	case res.TimedOut:
		err = fmt.Errorf("listing them timed out")
	case res.ExitCode != 0:
		err = fmt.Errorf("listing them failed (exit %d)", res.ExitCode)
	}
	if err != nil {
		a.note("the tests are not compared with the runner's list: %v", err)
		return nil
	}
	r.Listed = len(listed)
	r.Unlisted, r.Unreported = a.suite.Compare(listed, r.Tests)
	if n := len(r.Unlisted); n > 0 {
		r.Reason += fmt.Sprintf("; %s with a result %s not in the list of %s: %s", count(n, "test"), isAre(n), a.suite.Runner, nameList(r.Unlisted, n))
	}
	if n := len(r.Unreported); n > 0 {
		r.Reason += fmt.Sprintf("; %s in the list of %s %s no result: %s", count(n, "test"), a.suite.Runner, hasHave(n), nameList(r.Unreported, n))
	}
	r.Unlisted, r.Unreported = bounded(r.Unlisted), bounded(r.Unreported)
	return nil
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func hasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
