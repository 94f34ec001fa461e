package view

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"pawl"
)

// screen is a terminal that understands what a Progress draws: it wraps at its
// width, and obeys a newline, a carriage return, cursor up and clear to the end.
type screen struct {
	tb    testing.TB
	width int
	rows  []string
	row   int
	col   int
}

func (s *screen) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		switch {
		case text[0] == '\n': // as a terminal in its usual mode: also to the first column
			s.row, s.col = s.row+1, 0
			text = text[1:]
		case text[0] == '\r':
			s.col = 0
			text = text[1:]
		case text[0] == '\x1b':
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' }) + 2
			s.control(text[2:end], text[end])
			text = text[end+1:]
		default:
			_, n := utf8.DecodeRuneInString(text)
			s.put(text[:n])
			text = text[n:]
		}
	}
	return len(p), nil
}

func (s *screen) control(parameter string, final byte) {
	switch final {
	case 'A':
		n, err := strconv.Atoi(parameter)
		if err != nil || n > s.row {
			s.tb.Fatalf("cursor up by %q from row %d", parameter, s.row)
		}
		s.row -= n
	case 'J':
		if parameter != "" || s.col != 0 {
			s.tb.Fatalf("clear %q at column %d", parameter, s.col)
		}
		s.rows = s.rows[:min(s.row, len(s.rows))]
	case 'm':
	default:
		s.tb.Fatalf("unknown sequence %q%c", parameter, final)
	}
}

func (s *screen) put(cell string) {
	if s.col >= s.width {
		s.row, s.col = s.row+1, 0
	}
	for len(s.rows) <= s.row {
		s.rows = append(s.rows, "")
	}
	if got := ansi.StringWidth(s.rows[s.row]); got != s.col {
		s.tb.Fatalf("writes at column %d of a row that is %d wide: %q", s.col, got, s.rows[s.row])
	}
	s.rows[s.row] += cell
	s.col += ansi.StringWidth(cell)
}

// resize rewraps what is there, as terminals do.
func (s *screen) resize(width int) {
	old := s.rows
	s.rows, s.row, s.col = nil, 0, 0
	s.width = width
	for i, r := range old {
		if i > 0 {
			s.row, s.col = s.row+1, 0
		}
		for _, c := range r {
			s.put(string(c))
		}
	}
}

// Whatever is drawn, the screen is the log lines, each once and whole, and
// below them the live area, not wider than the terminal.
func TestProgressOnATerminal(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(stories)) {
		widths := []int{20, 80, 200}
		if testing.Short() {
			widths = widths[i%3:][:1]
		}
		for _, width := range widths {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				t.Parallel()
				s := stories[name](t)
				scr := &screen{tb: t, width: width}
				p := NewProgress(New(), ProgressOptions{Out: scr, Live: true, Color: true, Width: func() int { return width }, Least: Normal, Blobs: s.read})
				want := &screen{tb: t, width: width}
				var begun bool
				log := func(l string) {
					if begun {
						want.row, want.col = want.row+1, 0
					}
					begun = true
					fmt.Fprint(want, l)
				}
				for _, e := range s.events {
					mustProgress(t, p.Write(pawl.Update{Event: &e}))
					mustProgress(t, p.Write(pawl.Update{Live: &pawl.Live{Effect: e.Seq, Text: "I think\nthe handler is\x1b[2J missing, so 世界 I add it " + strings.Repeat("now ", 40)}}))
					mustProgress(t, p.Tick(e.Time.Add(3*time.Second)))
					if LevelOf(e) >= Normal {
						log(Line(e, p.Run(), s.read))
						if e.Body.EventKind() == pawl.KindPlanAccepted {
							for _, row := range p.tasks() {
								log(row)
							}
						}
					}
					if got := scr.rows[:min(len(scr.rows), len(want.rows))]; !slices.Equal(got, want.rows) {
						t.Fatalf("after event %d: %s", e.Seq, cmp.Diff(want.rows, got))
					}
					most := 2 + min(1, len(p.Run().OpenQuestions()))
					if p.Run().Plan() != nil {
						most += maxDoings
					}
					if p.Run().inBatches(p.Run().root()) {
						most += maxTodos
					}
					if n := len(scr.rows) - len(want.rows); n > most || n >= 24 {
						t.Fatalf("after event %d the live area has %d rows", e.Seq, n)
					}
				}
				mustProgress(t, p.Close())
				mustProgress(t, p.Close())
				if !slices.Equal(scr.rows, want.rows) {
					t.Fatalf("after the end: %s", cmp.Diff(want.rows, scr.rows))
				}
			})
		}
	}
}

func mustProgress(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A terminal that becomes narrower wraps the live area; it is still taken away whole.
func TestProgressAfterResizing(t *testing.T) {
	s := paused(t)
	scr := &screen{tb: t, width: 200}
	p := NewProgress(New(), ProgressOptions{Out: scr, Live: true, Width: func() int { return scr.width }, Least: Important, Blobs: s.read})
	for i, e := range s.events {
		if i == len(s.events)-1 {
			scr.resize(30)
		}
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	mustProgress(t, p.Note("left the\nrun\x1b[2J"))
	mustProgress(t, p.Close())
	if got := scr.rows[len(scr.rows)-2:]; !slices.Equal(got, []string{"Paused: lunch", "left the run"}) {
		t.Errorf("the last rows are %q of\n%s", got, strings.Join(scr.rows, "\n"))
	}
	for _, r := range scr.rows {
		if strings.Contains(r, "·") {
			t.Errorf("a piece of the live area is left: %q", r)
		}
	}
}

// What is written, byte by byte, at two widths, with and without colour, and to
// something that is no terminal.
func TestProgressGolden(t *testing.T) {
	for name, o := range map[string]ProgressOptions{
		"progress-80":       {Live: true, Color: true, Width: func() int { return 80 }},
		"progress-200":      {Live: true, Color: true, Width: func() int { return 200 }, Least: Important},
		"progress-no-color": {Live: true, Least: Important},
		"progress-plain":    {Least: Important, Clock: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := halted(t)
			var out bytes.Buffer
			o.Out, o.Blobs = &out, s.read
			p := NewProgress(New(), o)
			for _, e := range s.events {
				mustProgress(t, p.Write(pawl.Update{Event: &e}))
				mustProgress(t, p.Tick(e.Time))
			}
			mustProgress(t, p.Close())
			golden(t, name+".txt", []byte(strings.NewReplacer("\x1b", "␛", "\r", "␍").Replace(out.String())))
		})
	}
}

// The same of a run with tasks side by side.
func TestProgressOfTasksGolden(t *testing.T) {
	for name, o := range map[string]ProgressOptions{
		"progress-tasks-80":    {Live: true, Color: true, Width: func() int { return 80 }, Least: Important},
		"progress-tasks-plain": {Least: Important, Clock: true},
	} {
		t.Run(name, func(t *testing.T) {
			goldenProgress(t, name, loomReplanned(t), o)
		})
	}
}

// goldenProgress compares what a story's run shows while it goes on with a file.
func goldenProgress(t *testing.T, name string, s *story, o ProgressOptions) {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.Blobs = &out, s.read
	p := NewProgress(New(), o)
	for _, e := range s.events {
		mustProgress(t, p.Write(pawl.Update{Event: &e}))
	}
	mustProgress(t, p.Close())
	golden(t, name+".txt", []byte(strings.NewReplacer("\x1b", "␛", "\r", "␍").Replace(out.String())))
}

func TestLiveArea(t *testing.T) {
	show := func(s *story, events int, live string, after time.Duration) string {
		p := NewProgress(fold(s.events[:events]), ProgressOptions{Out: &bytes.Buffer{}, Live: true, Blobs: s.read})
		last := s.events[events-1]
		if live != "" {
			mustProgress(t, p.Write(pawl.Update{Live: &pawl.Live{Effect: last.Seq, Text: live}}))
		}
		mustProgress(t, p.Tick(last.Time.Add(after)))
		return strings.Join(p.live, "\n")
	}
	s := escalated(t)
	find := func(verb pawl.Verb, nth int) int {
		for _, e := range s.events {
			if b, ok := e.Body.(*pawl.EffectRequested); ok && b.Effect.Do.Verb() == verb {
				if nth--; nth == 0 {
					return int(e.Seq)
				}
			}
		}
		t.Fatalf("no effect %s", verb)
		return 0
	}
	for _, c := range []struct{ name, got, want string }{
		{"a model call", show(s, find(pawl.VerbCallModel, 2), "Let me see.\nI add a\thandler\x1b[2J\n", 71*time.Second),
			"001-add-login · iteration 1/10 · sonnet · 1m36s · $0.0008/$10.00\n  model call 1 of implement in iteration 1  I add a handler"},
		{"a tool", show(s, find(pawl.VerbCallTool, 1), "", 0),
			"001-add-login · iteration 1/10 · sonnet · 30s · $0.0218/$10.00\n  task/1/implement/turn-1: edit login.go"},
		{"gates", show(s, find(pawl.VerbRunGate, 4), "", 0), // the third of the candidate
			"001-add-login · iteration 1/10 · sonnet · 48s · $0.0260/$10.00\n  gates: tests ✗ types ✓ lint … security ·"},
		{"gates on the base", show(s, find(pawl.VerbRunGate, 1), "", 0),
			"001-add-login · 0s · $0.00/$10.00\n  gates on the base: tests · types · lint … security ·"},
		{"a back-off", show(waiting(t), len(waiting(t).events), "", 12*time.Second),
			"001-add-login · iteration 1/10 · sonnet · 29s · $0.0008/$10.00\n  waiting 18s more: the provider asked for it: rate_limit"},
		{"paused", show(paused(t), len(paused(t).events), "", time.Hour),
			"001-add-login · iteration 1/10 · sonnet · paused · 33s · $0.0218/$10.00\n  model call 2 of implement in iteration 1"},
		{"without costs and limits", show(fromHaiku(t), 14, "", 0), "001-add-login · iteration 1/10 · haiku · 15s\n  …"},
		{"ended", show(s, len(s.events), "", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, c.got, c.want)
		}
	}
}

// Nothing is written when nothing has changed: a terminal does not flicker.
func TestTickWithoutChange(t *testing.T) {
	s := paused(t)
	var out bytes.Buffer
	p := NewProgress(fold(s.events), ProgressOptions{Out: &out, Live: true})
	mustProgress(t, p.Tick(s.now))
	n := out.Len()
	mustProgress(t, p.Tick(s.now))
	if out.Len() != n || n == 0 {
		t.Errorf("%d bytes, then %d", n, out.Len()-n)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestProgressToABrokenPipe(t *testing.T) {
	e := escalated(t).events[0]
	for _, live := range []bool{false, true} {
		p := NewProgress(New(), ProgressOptions{Out: broken{}, Live: live})
		if p.Write(pawl.Update{Event: &e}) == nil {
			t.Error("no error")
		}
	}
}

func TestTerminal(t *testing.T) {
	for _, c := range []struct {
		name        string
		terminal    bool
		env         map[string]string
		live, color bool
	}{
		{"a terminal", true, map[string]string{"TERM": "xterm-256color"}, true, true},
		{"without colour", true, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, true, false},
		{"a dumb one", true, map[string]string{"TERM": "dumb"}, false, false},
		{"an unknown one", true, nil, false, false},
		{"a pipe", false, map[string]string{"TERM": "xterm"}, false, false},
	} {
		live, color := Terminal(c.terminal, func(n string) string { return c.env[n] })
		if live != c.live || color != c.color {
			t.Errorf("%s: live %t, color %t", c.name, live, color)
		}
	}
}
