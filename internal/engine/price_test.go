package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// caching is a world whose model uses everything that was reserved for a call and writes
// the whole input to a cache.
type caching struct{ drivertest.World }

func (c *caching) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	answer, blobs := c.World.Perform(ctx, job)
	if b, ok := answer.(*pawl.ModelReplied); ok {
		do := job.Effect.Do.(*pawl.CallModel)
		b.Usage = pawl.Usage{CacheWrite: do.ReservedTokens - int64(do.MaxOutput), Output: int64(do.MaxOutput)}
	}
	return answer, blobs
}

// F-63: a run reserves and pays the prices of the configuration. If a model charges more for
// a cache write than for input, a call that writes the whole input to the cache costs
// exactly what was reserved for it.
func TestPricesOfTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := config.Load(config.Sources{Flags: []config.Flag{{Name: "--model", Key: "model", Value: "anthropic/claude-haiku-5-5"}}})
		if err != nil {
			t.Fatal(err)
		}
		req := spec()
		if req.Settings, err = c.Settings(); err != nil {
			t.Fatal(err)
		}
		price := req.Settings.Models[0].Price
		if price.CacheWrite <= price.Input {
			t.Fatalf("the test needs a model whose cache writes cost more than input: %+v", price)
		}
		log := mem.New()
		e := engine.New(engineConfig(log, &caching{}))
		t.Cleanup(e.Close)
		started, err := start(t.Context(), e, req)
		if err != nil {
			t.Fatal(err)
		}
		run := started.ID
		info := mustWatch(t, e, run)
		requested := map[pawl.Seq]*pawl.CallModel{}
		var paid pawl.Micros
		for ev, err := range log.Events(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := ev.Body.(type) {
			case *pawl.EffectRequested:
				if do, ok := b.Effect.Do.(*pawl.CallModel); ok {
					requested[ev.Seq] = do
				}
			case *pawl.ModelReplied:
				do := requested[b.Effect]
				if want := price.Cost(b.Usage); b.Cost != want || do.Reserved != want {
					t.Errorf("call %d costs %d with %d reserved, want %d for both", b.Effect, b.Cost, do.Reserved, want)
				}
				paid += b.Cost
			}
		}
		if len(requested) == 0 || info.Cost != paid || paid == 0 {
			t.Errorf("%d calls cost %d, and the run's line says %d", len(requested), paid, info.Cost)
		}
	})
}
