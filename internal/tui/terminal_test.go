//go:build unix

package tui

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"pawl"
)

// terminal is a terminal that the whole program runs in.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	vt     vt10x.Terminal

	mu   sync.Mutex // guards raw, gone and vt
	more *sync.Cond
	raw  strings.Builder
	gone bool
	done chan error // of the program
}

// newTerminal begins the program on a world, in a terminal of this size.
func newTerminal(t *testing.T, w *world, width, height uint16, color bool) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: height, Cols: width}); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, slave: slave, vt: vt10x.New(vt10x.WithSize(int(width), int(height))), done: make(chan error, 1)}
	x.more = sync.NewCond(&x.mu)
	go x.listen()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		x.done <- Run(ctx, Options{Open: w.open, In: slave, Out: slave, Environ: []string{"TERM=xterm-256color", "SSH_TTY=/dev/pts/7"}, Color: color, By: "ada",
			Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }})
	}()
	t.Cleanup(func() {
		cancel()
		_ = slave.Close()
		_ = master.Close()
	})
	return x
}

// listen draws what the program writes.
func (x *terminal) listen() {
	buf := make([]byte, 32<<10)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.raw.Write(buf[:n])
		_, _ = x.vt.Write(buf[:n])
		x.gone = err != nil
		x.more.Broadcast()
		x.mu.Unlock()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EIO) {
				x.t.Errorf("read the terminal: %v", err)
			}
			return
		}
	}
}

// sees waits until the screen shows all of these.
func (x *terminal) sees(want ...string) {
	x.t.Helper()
	late := time.AfterFunc(5*time.Minute, func() { // fails with a message instead of hanging
		x.mu.Lock()
		defer x.mu.Unlock()
		x.gone = true
		x.more.Broadcast()
	})
	defer late.Stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		screen := x.vt.String()
		if !slices.ContainsFunc(want, func(s string) bool { return !strings.Contains(screen, s) }) {
			return
		}
		if x.gone {
			x.t.Fatalf("the screen does not show %q:\n%s", want, screen)
		}
		x.more.Wait()
	}
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the program's end, and is all it has written.
func (x *terminal) ends() string {
	x.t.Helper()
	if err := <-x.done; err != nil {
		x.t.Fatal(err)
	}
	const last = "the program is gone"
	if _, err := x.slave.WriteString(last); err != nil { // what came before has been read when this has
		x.t.Fatal(err)
	}
	x.sees(last)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

func (x *terminal) modes() term.State {
	x.t.Helper()
	m, err := term.GetState(int(x.slave.Fd()))
	if err != nil {
		x.t.Fatal(err)
	}
	return *m
}

// The whole program in a terminal: a plan is opened, sent back with feedback, comes back
// and is approved; q leaves the terminal as it was. R-50 R-52
func TestProgram(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.planned(1)
	x := newTerminal(t, w, 80, 24, true)
	before := x.modes()
	x.sees("001 Add login", "AWAITS APPROVAL", "? all keys")
	x.types("a")
	x.sees("PLAN AWAITING APPROVAL", "Specs to Create (3)", "[I] Iterate")
	x.types("I")
	x.sees("Iterate with feedback  what")
	x.types("logout is missing")
	x.sees("logout is missing")
	x.types("\r")
	x.sees("Answered: iterate by ada: logout is missing")
	s.add(1, &pawl.IterationEnded{N: 1, Tier: 3, Decision: pawl.DecideIterate, Reason: "a person wants another iteration"})
	about := s.planned(2)
	x.types("\x1b") // back
	x.sees("iteration 1:", "AWAITS APPROVAL")
	x.types("a")
	x.sees("Login with a password, again")
	x.types("A")
	x.sees("Answered: approve by ada")
	w.mu.Lock()
	if got := w.last().Answer; got == nil || got.Choice != "approve" || got.About != about || len(w.said) != 2 {
		t.Errorf("answered is %+v", w.said)
	}
	w.mu.Unlock()
	x.types("q")
	x.sees("Question 2 answered: approve by ada", "? all keys") // the tree again
	x.types("q")
	raw := x.ends()
	if x.modes() != before {
		t.Error("the terminal's modes are not what they were")
	}
	for _, want := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l"} {
		if !strings.Contains(raw, want) {
			t.Errorf("%q is not sent at the end", want)
		}
	}
	for _, question := range []string{"\x1b[c", "\x1b[6n", "\x1b[>q", "$p", "]11;?"} { // over ssh nothing is asked
		if strings.Contains(raw, question) {
			t.Errorf("the terminal is asked %q", question)
		}
	}
}

// A terminal that becomes larger or smaller is drawn anew.
func TestResize(t *testing.T) {
	x := newTerminal(t, busy(t), 80, 24, false)
	x.sees("spec accounts")
	for _, size := range []pty.Winsize{{Rows: 60, Cols: 200}, {Rows: 8, Cols: 30}, {Rows: 24, Cols: 80}} {
		x.mu.Lock()
		x.vt.Resize(int(size.Cols), int(size.Rows))
		x.mu.Unlock()
		if err := pty.Setsize(x.master, &size); err != nil {
			t.Fatal(err)
		}
		// bubbletea listens to SIGWINCH, which the terminal sends to its own session only
		if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		if size.Cols == 30 {
			x.sees("pawl needs 40")
		} else {
			x.sees("spec accounts", "? all keys")
		}
	}
	x.types("q")
	x.ends()
}

// attacks are what internal/plain is attacked with, read from its tests.
func attacks(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../plain/plain_test.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "attacks" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			if lit, ok := e.(*ast.CompositeLit).Elts[1].(*ast.BasicLit); ok {
				in, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, in)
			}
		}
		return false
	})
	if len(out) < 30 {
		t.Fatalf("only %d attacks are found", len(out))
	}
	return out
}

// hostile is a world in which everything that others say ends in this.
func hostile(t *testing.T, said string) *world {
	w := newWorld()
	s := w.begin(t, "shop", "001-hostile", "Hostile"+said)
	s.said = said
	s.grown()
	s.speaks()
	s.clarifies(2)
	x := w.begin(t, "shop", "002-hostile", "Plan"+said)
	x.said = said
	x.planned(1)
	y := w.begin(t, "shop", "003-hostile", "Findings"+said)
	y.said = said
	y.finds()
	return w
}

// tour is a way through everything there is to see.
var tour = [][]string{{}, {"down", "down", "down", "down"}, {"2"}, {"3"}, {"4"}, {"5"}, {"6"}, {"1", "v"}, {"x"}, {"tab", "z"}, {"3"}, {"4"}, {"6"}, {"z", "tab"}, {"i"}, {"enter"}, {"I", "esc", "esc"},
	{"down", "enter"}, {"esc", "esc"}, {"t"}, {"esc"}, {"b"}, {"esc"}, {"s"}, {"esc"}, {"g", "a"}, {"esc"}, {"?"}, {"esc"}}

// Whatever others say, alone and wherever it is drawn, nothing but text is. R-50
func TestNothingHostileIsDrawn(t *testing.T) {
	every := 1
	if testing.Short() {
		every = 4
	}
	for i, said := range attacks(t) {
		if i%every != 0 {
			continue
		}
		for _, run := range []string{"001-hostile", "002-hostile", "003-hostile"} {
			d := drive(t, hostile(t, said), 120, 40, pen{})
			d.m.want = run
			d.send(tickMsg{})
			for _, keys := range tour {
				d.press(keys...)
				for _, r := range d.m.View().Content {
					if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || !unicode.IsPrint(r) && r != utf8.RuneError) {
						t.Fatalf("%q is drawn as %U after %v:\n%q", said, r, keys, d.screen())
					}
				}
				d.fits(120, 40)
			}
		}
	}
}

// ours are the control sequences that the program sends by itself: moving, erasing,
// scrolling, colours of ours, and the modes it sets and takes back.
var ours = regexp.MustCompile(`^\x1b\[([0-9;]*[HABCDGdJKXLMSTPr@b]|\?5W|(0|1|2|3[1236]|7|1;33|)m|[0-9;]*m|\?(25|1049|2004|2026)[hl]|>4(;[0-9])?m|[<>=][0-9;]*u|\?u|\?(2026|2027)\$p|[0-9]* q)$`)

var sequences = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|[^\[])`)

// Everything there is to attack a terminal with, in one run in a real terminal: what
// reaches it is text and the program's own sequences. Title, clipboard and modes are
// what they were.
func TestNothingHostileReachesTheTerminal(t *testing.T) {
	x := newTerminal(t, hostile(t, strings.Join(attacks(t), "\n")), 120, 40, true)
	x.sees("002 Plan", "? all keys")
	x.types("i")
	x.sees("pawl · inbox", "question 2 (clarify)")
	x.types("\r")
	x.sees("pawl · question")
	x.types("\x1b[B") // keys of the terminal's own
	x.types("q")
	x.sees("pawl · inbox")
	x.types("q")
	x.sees("RUN OR LOOP")
	for _, key := range []string{"3", "4", "5", "6", "7", "1"} {
		x.types(key)
		x.sees("[" + key + " " + tabNames[key[0]-'1'] + "]")
	}
	x.types("jjjjjjjj\r")
	for _, key := range []string{"2", "3", "4", "5", "6", "7", "1"} {
		x.types(key)
		x.sees("[" + key + " " + tabNames[key[0]-'1'] + "]")
	}
	x.types("a")
	x.sees("pawl · question")
	x.types("q")
	x.sees("RUN OR LOOP")
	x.types("q")
	raw := x.ends()
	if title := x.vt.Title(); title != "" {
		t.Errorf("the title is %q", title)
	}
	for _, seq := range sequences.FindAllString(raw, -1) {
		if !ours.MatchString(seq) && seq != "\x1b(" {
			t.Errorf("%q reaches the terminal", seq)
		}
	}
	text := sequences.ReplaceAllString(raw, "")
	for _, r := range text {
		if r != '\n' && r != '\r' && r != '\b' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%U reaches the terminal", r)
		}
	}
	if strings.Contains(text, "owned") || strings.Contains(text, "cm0gLXJmIH4=") {
		t.Error("a title or the clipboard reaches the terminal as text")
	}
}

// What does not change is not sent again, so that it can be used over a slow line: the
// clock alone sends nothing.
func TestLittleIsSent(t *testing.T) {
	w := busy(t)
	x := newTerminal(t, w, 80, 24, false)
	x.sees("The index must be", "? all keys")
	s := &story{tb: t, w: w, k: w.order[1], r: w.runs[w.order[1]]}
	x.mu.Lock()
	before := x.raw.Len()
	x.mu.Unlock()
	s.add(8, &pawl.SignalSent{N: 2, Signal: pawl.SignalInfo, Reason: "one more line", By: "ada"})
	x.sees("one more line")
	x.types("q")
	x.mu.Lock()
	sent := x.raw.Len() - before
	x.mu.Unlock()
	if screen := 80 * 24; sent > screen {
		t.Errorf("%d bytes are sent for one line; the whole screen has %d", sent, screen)
	}
	x.ends()
}
