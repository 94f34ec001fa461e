package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)

var busy = pawl.Load{
	At: at,
	Pools: []pawl.PoolLoad{
		{Name: "machine", Slots: 16, Used: 4, Waiting: 43},
		{Name: "account:anthropic", Slots: 10, Waiting: 40, Accounts: []pawl.AccountLoad{{Account: "api.anthropic.com with key 3f2a91", Until: at.Add(4*time.Minute + 12*time.Second), Why: "This request would exceed your\nrate limit of \x1b[31m50 requests a minute"}}},
		{Name: "lane:heavy", Slots: 1, Used: 1, Waiting: 3},
		{Name: "lane:net", Slots: 5},
		{Name: "lane:no-net", Slots: 10, Used: 3},
	},
	Runs: []pawl.RunLoad{
		{Project: "shop-1", Run: "001-add-a-login-form-with-a-password", Running: 3, Waiting: 40, Used: 70*time.Minute + 3*time.Second, Share: 51, For: "account:anthropic"},
		{Project: "till-2", Run: "012-数据库-migration", Running: 1, Waiting: 3, Used: 61 * time.Second, Share: 49, For: "lane:heavy"},
		{Project: "gone-3", Run: "002-x", Used: 400 * time.Hour},
	},
}

// projects are the projects of a daemon, as far as top asks.
type projects struct {
	load  pawl.Load
	err   error
	asked chan struct{}
	runs  int // how often runs were listed
}

func (p *projects) Open(context.Context, string) (pawl.ProjectInfo, error) {
	return pawl.ProjectInfo{}, errors.New("not asked for")
}

func (p *projects) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "shop-1", Root: "/home/a/shop"}, {ID: "till-2", Root: "/home/a/till"}}, nil
}

func (p *projects) Project(_ context.Context, id string) (pawl.Service, error) {
	if id == "gone-3" {
		return nil, pawl.Errorf(pawl.CodeNotFound, "no such project")
	}
	return service{p: p, id: id}, nil
}

func (p *projects) Load(context.Context) (pawl.Load, error) {
	if p.asked != nil {
		p.asked <- struct{}{}
	}
	return p.load, p.err
}

type service struct {
	pawl.Service
	p  *projects
	id string
}

func (s service) Runs(context.Context) ([]pawl.RunInfo, error) {
	s.p.runs++
	if s.id == "shop-1" {
		return []pawl.RunInfo{{ID: busy.Runs[0].Run, Title: "Add a login form\x07 with a password"}}, nil
	}
	return nil, errors.New("the project went away")
}

func run(t *testing.T, app *cli.App, p *projects, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app.Out, app.Err = &out, &out
	closed := 0
	c := New(app, func(context.Context) (pawl.Projects, func() error, error) {
		return p, func() error { closed++; return nil }, nil
	})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	if closed != 1 {
		t.Errorf("closed %d times", closed)
	}
	return out.String(), err
}

func Test80Columns(t *testing.T) {
	got, err := run(t, &cli.App{Terminal: true, Environ: []string{"TERM=dumb"}}, &projects{load: busy})
	if err != nil {
		t.Fatal(err)
	}
	want := `POOL               USED  WAIT
machine            4/16  43
account:anthropic  0/10  40    opens in 4m12s (api.anthropic.com with key 3f2a9…
lane:heavy         1/1   3
lane:net           0/5   -
lane:no-net        3/10  -

RUN               PROJECT  HAS  SHARE  USED   WAITS FOR             TITLE
001-add-a-login…  shop     3    51%    1h10m  40 account:anthropic  Add a login…
012-数据库-migr…  till     1    49%    1m01s  3 lane:heavy
002-x             gone-3   -    0%     16d
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What runs spent, hold and have lost is a column each, where some run has any. F-38
func TestMoney(t *testing.T) {
	load := pawl.Load{At: at, Pools: busy.Pools[:1], Runs: slices.Clone(busy.Runs)}
	load.Runs[0].Money = &pawl.Money{Spent: 1_230_000, Held: 41_000}
	got := strings.Join(picture(seen{Load: load}, nil, 0)[3:], "\n")
	want := `RUN                                   HAS  SHARE  USED   WAITS FOR             SPENT  HELD     TITLE
001-add-a-login-form-with-a-password  3    51%    1h10m  40 account:anthropic  $1.23  $0.0410
012-数据库-migration                  1    49%    1m01s  3 lane:heavy          -      -
002-x                                 -    0%     16d                          -      -`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	load.Runs[1].Money = &pawl.Money{Lost: 250_000}
	if got := picture(seen{Load: load}, nil, 0)[5]; !strings.Contains(got, "-      -        $0.25") {
		t.Errorf("got %q", got)
	}
}

func TestFitsTheTerminal(t *testing.T) {
	titles := map[place]string{{"shop-1", busy.Runs[0].Run}: strings.Repeat("wörd \x1b[2J", 30)}
	for width := 1; width <= 200; width++ {
		for _, line := range picture(seen{Load: busy}, titles, width) {
			if got := ansi.StringWidth(line); got > width {
				t.Errorf("%d columns in a terminal of %d: %q", got, width, line)
			}
			if strings.ContainsAny(line, "\x1b\n\x07") {
				t.Errorf("a line obeys others: %q", line)
			}
		}
	}
}

func TestNothingToDo(t *testing.T) {
	got, err := run(t, &cli.App{}, &projects{load: pawl.Load{At: at, Pools: []pawl.PoolLoad{{Name: "machine", Slots: 16}}}})
	if want := "POOL     USED  WAIT\nmachine  0/16  -\n\nNo run has a place or waits for one.\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestJSON(t *testing.T) {
	got, err := run(t, &cli.App{JSON: true, Terminal: true, Environ: []string{"TERM=xterm"}}, &projects{load: busy})
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal([]byte(got), &s); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(busy, s.Load); d != "" || len(s.Projects) != 2 {
		t.Errorf("%s %v", d, s.Projects)
	}
}

func TestUnreachable(t *testing.T) {
	_, err := run(t, &cli.App{}, &projects{err: pawl.Errorf(pawl.CodeUnavailable, "nobody serves")})
	if pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

// On a terminal it draws anew every second, looks titles up once, and gives the screen back.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		p := &projects{load: busy, asked: make(chan struct{})}
		app := &cli.App{Out: &out, Terminal: true, Environ: []string{"TERM=xterm"}, Rows: func() int { return 9 }}
		w := &watch{app: app, projects: p, titles: map[place]string{}}
		ended := make(chan error)
		begin := time.Now()
		go func() { ended <- w.live(ctx) }()
		for range 3 {
			<-p.asked
		}
		if took := time.Since(begin); took != 2*every {
			t.Errorf("three pictures in %s", took)
		}
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		got := out.String()
		if !strings.HasPrefix(got, enter+home+"POOL") || !strings.HasSuffix(got, bottom+leave) || strings.Count(got, home) != 3 {
			t.Errorf("got %q", got)
		}
		if !strings.Contains(got, "… 4 more") || strings.Contains(got, "001-add") {
			t.Errorf("it is not cut to the screen: %q", got)
		}
		if p.runs != 2 {
			t.Errorf("runs were listed %d times", p.runs)
		}
	})
}
