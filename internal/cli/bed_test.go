package cli_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a project in memory whose effects are answered by rule, and the world
// of commands that work on it.
type bed struct {
	app      *cli.App
	engine   *engine.Engine
	log      pawl.Log
	resolve  func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) // of the engine
	home     project.Project                                                        // remembers what was allowed
	out, err bytes.Buffer
	signals  chan os.Signal
	left     chan int // the codes the process would have ended with
	opened   []cli.Access
}

type box struct{}

func (box) Confined() bool   { return true }
func (box) Describe() string { return "a box" }

func newBed(t *testing.T, world driver.Performer) *bed {
	b := &bed{log: mem.New(), signals: make(chan os.Signal, 2), left: make(chan int, 2)}
	b.home.Dir = t.TempDir()
	b.resolve = small
	b.engine = newEngine(t, b.log, world, b.home, func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) { return b.resolve(ctx, req) })
	b.app = &cli.App{
		Out: &b.out, Err: &b.err, Dir: "here", Environ: []string{"TERM=dumb"},
		Open: func(_ context.Context, a cli.Access) (*cli.Session, error) {
			b.opened = append(b.opened, a)
			return b.session(), nil
		},
		Root:       func(context.Context) string { return "" },
		Interrupts: func() (<-chan os.Signal, func()) { return b.signals, func() {} },
		Leave:      func(code int) { b.left <- code },
	}
	return b
}

// small is a small run for the goal of a request; it ignores the rest of the request.
func small(_ context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	return pawl.RunSpec{
		Goal: req.Goal, Recipe: drivertest.Recipe(), Settings: pawl.Settings{
			Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100,
			HaltOn: []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget},
			Gates:  []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests}},
		},
	}, nil
}

func newEngine(t *testing.T, log pawl.Log, world driver.Performer, consent engine.Consent, resolve func(context.Context, pawl.StartRequest) (pawl.RunSpec, error)) *engine.Engine {
	e := engine.New(engine.Config{
		Resolve: resolve, Log: log, Performer: world, Sandbox: box{}, Consent: consent, Version: "test",
		Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
		Numbers: func(context.Context) (int, error) { return 0, nil },
	})
	t.Cleanup(e.Close)
	return e
}

// session is the project as its owner has it.
func (b *bed) session() *cli.Session {
	return &cli.Session{Service: b.engine, Owner: true, Driven: b.engine.Driven, Close: func() error { return nil }}
}

// reader is the project as somebody has it who finds no owner.
func (b *bed) reader() *cli.Session {
	return &cli.Session{Service: engine.Reader{Log: b.log}, Close: func() error { return nil }}
}

func (b *bed) mustStart(tb testing.TB, goal string) pawl.RunID {
	tb.Helper()
	resolve := b.resolve
	b.resolve = small
	defer func() { b.resolve = resolve }()
	info, err := b.engine.Start(context.Background(), pawl.StartRequest{Goal: goal})
	if err != nil {
		tb.Fatal(err)
	}
	return info.ID
}

// mustEnd waits until nobody drives the run any more.
func (b *bed) mustEnd(tb testing.TB, run pawl.RunID) {
	tb.Helper()
	for _, err := range b.engine.Watch(context.Background(), run, 0) {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// finished is a bed with a run that has ended well.
func finished(t *testing.T) (*bed, pawl.RunID) {
	b := newBed(t, &drivertest.World{Calls: 1})
	run := b.mustStart(t, "do it")
	b.mustEnd(t, run)
	return b, run
}

// execute runs a command as the program does, and returns its error.
func (b *bed) execute(t *testing.T, c *cobra.Command, args ...string) error {
	t.Helper()
	b.out.Reset()
	b.err.Reset()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&b.out)
	c.SetErr(&b.err)
	return c.ExecuteContext(t.Context())
}

// held is a world in which every tool call of a run waits for a word.
type held struct {
	*drivertest.World
	begun chan pawl.RunID
	letGo chan struct{}
}

func holdTools() *held {
	h := &held{World: &drivertest.World{Calls: 1}, begun: make(chan pawl.RunID, 16), letGo: make(chan struct{})}
	h.Before = func(ctx context.Context, job driver.Job) {
		if job.Effect.Do.Verb() != pawl.VerbCallTool {
			return
		}
		h.begun <- job.Run
		select {
		case <-h.letGo:
		case <-ctx.Done():
		}
	}
	return h
}
