package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel"
)

// Decision is what the kernel needs for one answer in a run with many loops at work:
// to decide, to apply what follows and to look what is pending in the loop.
type Decision struct {
	Shape  string        `json:"shape"` // of the run
	Loops  int           `json:"loops"` // at work
	Events int           `json:"events"`
	Mean   time.Duration `json:"mean_ns"`
	P50    time.Duration `json:"p50_ns"`
	P99    time.Duration `json:"p99_ns"`
}

// MeasureDecide drives a run in memory: so many tasks of a list, or, where cascade is
// set, a tree of three levels in which as many loops are at work at the bottom.
func MeasureDecide(ctx context.Context, loops, steps int, cascade bool) (Decision, error) {
	out := Decision{Shape: "list", Loops: loops}
	started, err := endless(loops)
	tasks := loops
	if cascade {
		out.Shape = "cascade"
		tasks = fanOut
		started, err = endlessTree(loops)
	}
	if err != nil {
		return out, err
	}
	c := &crowd{chatter: chatter{tasks: tasks}}
	if err := c.take(kernel.Input{Start: &kernel.Start{Run: "001-bench", Started: started}}); err != nil {
		return out, err
	}
	for !c.crowded(loops) {
		if err := c.step(ctx, 0); err != nil {
			return out, err
		}
	}
	before := c.events
	var took []time.Duration
	var sum time.Duration
	c.timed = func(d time.Duration) { took, sum = append(took, d), sum+d }
	for i := range steps {
		if err := c.step(ctx, i); err != nil {
			return out, err
		}
	}
	slices.Sort(took)
	out.Events = c.events - before
	out.Mean, out.P50, out.P99 = sum/time.Duration(len(took)), took[len(took)/2], took[len(took)*99/100]
	return out, nil
}

// crowd is a run that is driven in memory, by answers of a chatter.
type crowd struct {
	chatter
	state  kernel.State
	events int
	timed  func(time.Duration) // told what each step took; nil = nobody is
}

// crowded reports that so many loops have something in flight.
func (c *crowd) crowded(loops int) bool {
	at := map[pawl.LoopRef]bool{}
	for _, f := range kernel.Pending(&c.state) {
		at[f.Loop] = true
	}
	return len(at) >= loops
}

// step answers one of the pending effects.
func (c *crowd) step(ctx context.Context, i int) error {
	pending := kernel.Pending(&c.state)
	if len(pending) == 0 {
		return fmt.Errorf("the bench's run came to rest after %d events", c.events)
	}
	f := pending[(i*7919)%len(pending)]
	a, _ := c.Perform(ctx, driver.Job{Effect: f})
	from := time.Now()
	if err := c.take(kernel.Input{Answer: a}); err != nil {
		return err
	}
	for _, o := range kernel.PendingOf(&c.state, f.Loop) {
		_ = o.ID
	}
	if c.timed != nil {
		c.timed(time.Since(from))
	}
	return ctx.Err()
}

func (c *crowd) take(in kernel.Input) error {
	in.At = time.Unix(1_700_000_000, int64(c.events)*int64(time.Microsecond)).UTC()
	events, err := kernel.Decide(&c.state, in)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := kernel.Apply(&c.state, e); err != nil {
			return err
		}
	}
	c.events += len(events)
	return nil
}

// fanOut is how many children each loop of the tree has.
const fanOut = 8

// endlessTree is a run with a tree: its attempts at the bottom all fail, so that the
// next one begins. Nobody is asked.
func endlessTree(loops int) (*pawl.RunStarted, error) {
	started, err := endless(loops)
	if err != nil {
		return nil, err
	}
	var r pawl.Recipe
	if err := json.Unmarshal(started.Recipe, &r); err != nil {
		return nil, fmt.Errorf("decode the recipe: %w", err)
	}
	level := func(name, below string) pawl.LoopKind {
		return pawl.LoopKind{Name: name, Steps: []pawl.Step{{Name: "plan", Prompt: "p", Output: "plan"}}, Concurrent: loops, Priority: 50,
			Children: &pawl.Children{From: "plan", Kind: below, Order: "score", Parallel: loops, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}}
	}
	task := r.Kinds[0]
	task.Concurrent, task.Priority = loops, 100
	r.Start, r.Loops = "list", 4*loops
	r.Kinds = []pawl.LoopKind{task, level("list", "spec"), level("spec", "phase"), level("phase", "task")}
	if started.Recipe, err = json.Marshal(r); err != nil {
		return nil, fmt.Errorf("encode the recipe: %w", err)
	}
	return started, nil
}
