package governor

import (
	"context"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
)

// Governor shares out the places of a machine. The zero value is not ready; see [New].
type Governor struct {
	clock func() time.Time

	mu    sync.Mutex // guards desk and timer
	desk  *desk
	timer *time.Timer // goes off when an account opens; nil = none has been closed yet
}

// New is a governor with so many places, all free. Now is its clock; nil means time.Now.
func New(l Limits, now func() time.Time) *Governor {
	if now == nil {
		now = time.Now
	}
	return &Governor{clock: now, desk: newDesk(l, now())}
}

// Places are the governor's places as the driver of a project's runs takes them.
func (g *Governor) Places(project string) driver.Places { return places{g, project} }

// Load says what the places are used for.
func (g *Governor) Load() (l pawl.Load) {
	g.do(func(now time.Time) { l = g.desk.load(now) })
	return l
}

// do does something at the desk, tells those who got their places, and sets the timer.
func (g *Governor) do(what func(now time.Time)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	what(now)
	for _, t := range g.desk.moved {
		close(t.ready)
	}
	clear(g.desk.moved)
	g.desk.moved = g.desk.moved[:0]
	switch at := g.desk.opens(); {
	case at.IsZero():
		if g.timer != nil {
			g.timer.Stop()
		}
	case g.timer == nil:
		g.timer = time.AfterFunc(at.Sub(now), g.tick)
	default:
		g.timer.Reset(at.Sub(now))
	}
}

func (g *Governor) tick() { g.do(g.desk.tick) }

// places implements [driver.Places] for a project.
type places struct {
	g       *Governor
	project string
}

// Take implements [driver.Places].
func (p places) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	n := needs(job)
	if n.pool == "" {
		return func(pawl.Answer) {}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var t *ticket
	p.g.do(func(now time.Time) { t = p.g.desk.take(now, key{p.project, job.Run}, job.Effect.ID, n) })
	give := func(a pawl.Answer) { p.g.do(func(now time.Time) { p.g.desk.give(now, t, a) }) }
	select {
	case <-t.ready:
	case <-ctx.Done():
		give(nil)
		return nil, ctx.Err()
	}
	if t.err != nil {
		return nil, t.err
	}
	return give, nil
}

// Waits implements [driver.Places].
func (p places) Waits(job driver.Job) (l pawl.PoolLoad, waits bool) {
	p.g.do(func(now time.Time) { l, waits = p.g.desk.waits(now, key{p.project, job.Run}, job.Effect.ID) })
	return l, waits
}

// Wanted implements [driver.Places].
func (p places) Wanted() { p.g.do(func(now time.Time) { p.g.desk.retry(now) }) }
