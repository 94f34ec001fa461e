package tui

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// scenes are states of the program that are kept as screens.
var scenes = []struct {
	name  string
	world func(*testing.T) *world
	do    func(*driven)
}{
	{"tree", busy, func(*driven) {}},
	{"loop", busy, func(d *driven) { d.press("down", "down", "down", "down") }},
	{"approval", awaits, func(d *driven) { d.press("a") }},
	{"feedback", awaits, func(d *driven) { d.press("a", "I"); d.write("logout is missing") }},
	{"answered-already", awaits, func(d *driven) {
		d.press("a")
		d.w.runs[d.m.ask.key].events = append(d.w.runs[d.m.ask.key].events, pawl.Event{Run: d.m.ask.run, Seq: d.m.run().run.Seq + 1, Time: d.w.now,
			Body: &pawl.QuestionAnswered{N: 1, Choice: "reject", Text: "too large", By: "grace"}})
		d.look()
	}},
	{"question", asks, func(d *driven) { d.press("a") }},
	{"findings", finds, func(d *driven) { d.press("4", "tab", "z") }},
	{"finding-asked", finds, func(d *driven) { d.press("a") }},
	{"inbox", both, func(d *driven) { d.press("i") }},
	{"todo", busy, func(d *driven) { d.press("t") }},
	{"budget", busy, func(d *driven) { d.press("b") }},
	{"log", busy, func(d *driven) { d.press("G", "v", "tab", "z") }},
	{"diff", busy, func(d *driven) { d.press("down", "down", "down", "down", "2", "tab", "z") }},
	{"prompt", busy, func(d *driven) { d.press("down", "down", "down", "down", "3") }},
	{"gates", busy, func(d *driven) { d.press("down", "down", "down", "down", "4", "tab", "z") }},
	{"attempts", busy, func(d *driven) { d.press("down", "down", "down", "down", "5") }},
	{"money", dear, func(d *driven) { d.press("down", "down", "down", "down", "5") }},
	{"decisions", busy, func(d *driven) { d.press("6", "tab", "z") }},
	{"turns", busy, func(d *driven) { d.press("down", "down", "down", "down", "7", "tab", "z") }}, // F-46
	{"search", busy, func(d *driven) { d.press("tab", "/"); d.write("accounts"); d.press("enter", "n") }},
	{"filter", both, func(d *driven) { d.press("/"); d.write("search") }},
	{"signals", busy, func(d *driven) { d.press("down", "down", "down", "down", "s") }},
	{"confirm", busy, func(d *driven) { d.press("c") }},
	{"help", busy, func(d *driven) { d.press("?") }},
	{"empty", func(*testing.T) *world { return newWorld() }, func(*driven) {}},
	{"disconnected", busy, func(d *driven) {
		d.w.gone = pawl.Errorf(pawl.CodeUnavailable, "no daemon listens on /run/user/1000/pawl/daemon.sock")
		d.look()
	}},
	{"no-daemon", func(*testing.T) *world {
		w := newWorld()
		w.gone = pawl.Errorf(pawl.CodeUnavailable, "no daemon listens on /run/user/1000/pawl/daemon.sock").WithHint("pawl serve")
		return w
	}, func(*driven) {}},
}

// busy is a world with a tree at work.
func busy(t *testing.T) *world {
	w := newWorld()
	old := w.begin(t, "shop", "001-typo", "Mend the typo on the front page")
	old.try(1, 1, 50, 1)
	old.ends(pawl.OutcomeComplete, "all gates passed")
	s := w.begin(t, "shop", "002-add-login", "Add login with a password")
	s.grown()
	s.speaks()
	s.wait(90 * time.Second)
	return w
}

// dear is the same at work, after a call whose cost nobody knows and during the next. F-38
func dear(t *testing.T) *world {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.grown()
	id := s.calls(1)
	s.wait(time.Minute)
	s.add(8, &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: "timeout"}, Charged: 1_580_000, ChargedTokens: 30_000})
	s.calls(2)
	s.wait(30 * time.Second)
	return w
}

// awaits is a world whose plan awaits approval.
func awaits(t *testing.T) *world {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.planned(1)
	s.wait(3 * time.Minute)
	return w
}

// asks is a world in which a planner asks what only a person knows.
func asks(t *testing.T) *world {
	w := newWorld()
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.try(1, 1, 50, 3)
	s.clarifies(1)
	s.wait(2 * time.Hour)
	return w
}

// finds is a world in which a candidate has findings.
func finds(t *testing.T) *world {
	w := newWorld()
	old := w.begin(t, "shop", "001-typo", "Mend the typo on the front page")
	old.try(1, 1, 50, 1)
	old.ends(pawl.OutcomeComplete, "all gates passed")
	old.r.events[len(old.r.events)-1].Body.(*pawl.RunEnded).Findings = 2
	s := w.begin(t, "shop", "002-rounding", "Round half up")
	s.finds()
	s.wait(time.Minute)
	return w
}

// both is a world of two projects, in which several runs wait for somebody.
func both(t *testing.T) *world {
	w := newWorld()
	a := w.begin(t, "blog", "001-feed", "An Atom feed")
	a.try(1, 1, 50, 3)
	a.clarifies(1)
	a.wait(50 * time.Hour)
	s := w.begin(t, "shop", "001-add-login", "Add login with a password")
	s.planned(1)
	x := w.begin(t, "shop", "002-search", "Search in the shop")
	x.try(1, 2, 50, 2)
	s.wait(20 * time.Minute)
	return w
}

// screens are the sizes and kinds of terminal that scenes are kept for.
var screens = []struct {
	name          string
	width, height int
	pen           pen
}{
	{"80x24", 80, 24, pen{}},
	{"80x24-color", 80, 24, pen{color: true}},
	{"200x60", 200, 60, pen{}},
	{"200x60-color", 200, 60, pen{color: true}},
}

// What is drawn in each state, at both sizes, with colours and without. R-50
func TestGoldenScreens(t *testing.T) {
	for _, sc := range scenes {
		for _, on := range screens {
			t.Run(sc.name+"/"+on.name, func(t *testing.T) {
				d := drive(t, sc.world(t), on.width, on.height, on.pen)
				sc.do(d)
				got := d.screen()
				d.fits(on.width, on.height)
				if on.pen.color {
					got = strings.ReplaceAll(got, "\x1b", "␛")
				} else if strings.Contains(got, "\x1b") {
					t.Error("there are colours where none are wanted")
				}
				keep(t, filepath.Join("testdata", sc.name+"-"+on.name+".golden"), got)
			})
		}
	}
}

// keep compares with a golden file, or writes it.
func keep(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -update rewrites it. It is now\n%s", file, got)
	}
}

// fits checks that what is drawn has exactly the screen's size.
func (d *driven) fits(width, height int) {
	d.tb.Helper()
	lines := strings.Split(d.m.View().Content, "\n")
	if len(lines) != height {
		d.tb.Errorf("%d lines are drawn, want %d", len(lines), height)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n != width {
			d.tb.Errorf("line %d is %d wide, want %d: %q", i, n, width, l)
		}
	}
}

// Every scene fits every size there is, however small, and says so where it cannot.
func TestAnySizeFits(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			d := drive(t, sc.world(t), 80, 24, pen{})
			sc.do(d)
			for _, width := range []int{1, 20, 39, 40, 41, 60, 79, 119, 120, 150} {
				for _, height := range []int{1, 9, 10, 11, 15, 40} {
					d.m.width, d.m.height = width, height
					d.m.settle()
					d.fits(width, height)
				}
			}
		})
	}
	d := drive(t, busy(t), 30, 8, pen{})
	keep(t, filepath.Join("testdata", "small-30x8.golden"), d.screen())
}

// A terminal whose locale is not UTF-8 is sent ASCII alone.
func TestASCII(t *testing.T) {
	for _, sc := range scenes {
		d := drive(t, sc.world(t), 80, 24, pen{ascii: true})
		sc.do(d)
		d.fits(80, 24)
		for _, r := range d.screen() {
			if r > '~' {
				t.Fatalf("%s: %q is drawn:\n%s", sc.name, r, d.screen())
			}
		}
		if sc.name == "tree" {
			keep(t, filepath.Join("testdata", "tree-80x24-ascii.golden"), d.screen())
		}
	}
}
