package abuse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Box runs a command and waits for it. The command must be able to execute
// Place.Program and to write to Place.Work. The environment is in addition to what
// the box has.
type Box interface {
	Run(ctx context.Context, argv []string, dir string, env []string) (exitCode int, output string, err error)
}

// Mover is a Box whose commands see the worktree elsewhere.
type Mover interface {
	// WorkInside is where they see it.
	WorkInside() string
}

// Row is one abuse.
type Row struct {
	Number int
	Name   string
	// StoppedBy names the mechanisms that stop it, the first of them by itself.
	StoppedBy string
	// Root marks what only root could do, even without a sandbox.
	Root bool

	alone    bool // it disturbs the rows that run in the same process
	terminal bool // the box's command has a terminal, if the box can give it one
	// inside makes the attempt in the box. It returns nil if the attempt got through.
	inside func(p Place) error
	// outside, if it is there, judges the world after the command has ended, whatever
	// inside returned. It returns nil if the attempt got through.
	outside func(s *Stage) error
}

// Outcome is what became of a row.
type Outcome struct {
	Row
	Escaped bool
	Detail  string
}

// Table is the outcomes of a run, by number.
type Table []Outcome

// Escaped lists the numbers of the rows that got through.
func (t Table) Escaped() []int {
	var numbers []int
	for _, o := range t {
		if o.Escaped {
			numbers = append(numbers, o.Number)
		}
	}
	return numbers
}

func (t Table) String() string {
	var out strings.Builder
	for _, o := range t {
		verdict := "held   "
		if o.Escaped {
			verdict = "ESCAPED"
		}
		fmt.Fprintf(&out, "%2d %s %-42s %s\n", o.Number, verdict, o.Name, o.Detail)
	}
	return out.String()
}

const (
	// Word is the first argument of a program that must call [Main] with those after it.
	Word = "__abuse"
	// placeVariable is how Main is told what it attacks. It is not an argument, so
	// that the stage's names are on no command line but the daemon's.
	placeVariable = "PAWL_ABUSE_PLACE"
	// verdictMark begins each line that Main prints.
	verdictMark = "abuse-row "
	// runLimit bounds one command; attemptLimit one attempt in it.
	runLimit     = 2 * time.Minute
	attemptLimit = 20 * time.Second
)

// Rows returns the rows with these numbers, or all.
func Rows(numbers ...int) []Row {
	all := slices.Concat(fileRows(), processRows(), gitRows(), networkRows(), kernelRows(), limitRows())
	slices.SortFunc(all, func(a, b Row) int { return a.Number - b.Number })
	if len(numbers) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(r Row) bool { return !slices.Contains(numbers, r.Number) })
}

// Run makes the attempts in the box and returns what became of them. Rows that
// disturb nothing share one command.
func Run(tb testing.TB, box Box, s *Stage, rows []Row) Table {
	tb.Helper()
	control := Row{Name: "control", inside: func(p Place) error { return os.WriteFile(p.Work+"/control", []byte("x"), 0o600) },
		outside: func(s *Stage) error { return os.Remove(s.Work + "/control") }}
	if o := s.run(tb, box, []Row{control})[0]; !o.Escaped {
		tb.Fatalf("no command works in the box, so it shows nothing: %s", o.Detail)
	}
	var table Table
	var together []Row
	for _, row := range rows {
		if row.alone || row.terminal {
			table = append(table, s.run(tb, box, []Row{row})...)
		} else {
			together = append(together, row)
		}
	}
	table = append(table, s.run(tb, box, together)...)
	slices.SortFunc(table, func(a, b Outcome) int { return a.Number - b.Number })
	return table
}

// run makes the attempts in one command, and those that it did not come to in
// commands of their own.
func (s *Stage) run(tb testing.TB, box Box, rows []Row) Table {
	tb.Helper()
	if len(rows) == 0 {
		return nil
	}
	if rows[0].terminal {
		s.openTerminal(tb)
		defer s.closeTerminal()
	}
	var numbers []string
	for _, row := range rows {
		numbers = append(numbers, strconv.Itoa(row.Number))
	}
	p := s.Place
	if m, ok := box.(Mover); ok {
		p.Work = m.WorkInside()
	}
	place, err := json.Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tb.Context(), runLimit)
	defer cancel()
	code, output, err := box.Run(ctx, []string{s.Program, Word, strings.Join(numbers, ",")}, p.Work, []string{placeVariable + "=" + string(place)})
	if err != nil {
		tb.Fatalf("run rows %s: %v: %s", numbers, err, output)
	}
	said := verdicts(output)
	var table Table
	for _, row := range rows {
		o := Outcome{Row: row}
		verdict, judged := said[row.Number]
		if !judged && len(rows) > 1 {
			table = append(table, s.run(tb, box, []Row{row})...)
			continue
		}
		if !judged {
			verdict = fmt.Sprintf("ended with code %d: %.200s", code, strings.TrimSpace(output))
		}
		o.Escaped, o.Detail = verdict == "", verdict
		if row.outside != nil {
			err := row.outside(s)
			o.Escaped = err == nil
			if err != nil && o.Detail == "" {
				o.Detail = err.Error()
			}
		}
		table = append(table, o)
	}
	return table
}

// verdicts reads what Main printed: for each number why it was held, or nothing.
func verdicts(output string) map[int]string {
	said := map[int]string{}
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), verdictMark)
		number, why, cut := strings.Cut(rest, ":")
		if n, err := strconv.Atoi(number); ok && cut && err == nil {
			said[n] = strings.TrimSpace(why)
		}
	}
	return said
}

// Main makes the attempts that args names, inside a box. It also plays the
// processes that the rows and the stage need.
func Main(args []string) int {
	switch args[0] {
	case "daemon":
		return daemon(args[1])
	case "linger":
		<-time.After(time.Minute)
		return 0
	case "wait":
		return waitAndExec(args[1:])
	case "without":
		return without(args[1], args[2:])
	case "0":
		fmt.Printf("%s0: %v\n", verdictMark, os.WriteFile("control", []byte("x"), 0o600))
		return 0
	}
	var p Place
	if err := json.Unmarshal([]byte(os.Getenv(placeVariable)), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	var numbers []int
	for _, text := range strings.Split(args[0], ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		numbers = append(numbers, n)
	}
	for _, row := range Rows(numbers...) {
		why := ""
		if err := attempt(row, p); err != nil {
			why = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Printf("%s%d: %s\n", verdictMark, row.Number, why)
	}
	return 0
}

func attempt(row Row, p Place) error {
	done := make(chan error, 1)
	go func() { done <- row.inside(p) }()
	select {
	case err := <-done:
		return err
	case <-time.After(attemptLimit):
		return errors.New("the attempt did not end")
	}
}
