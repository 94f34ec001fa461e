package engine_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
)

// oneGate gives no gate a place before it is freed, and everything else at once.
type oneGate struct {
	free chan struct{}
	mu   sync.Mutex
	has  map[pawl.Seq]bool
}

func (p *oneGate) Take(ctx context.Context, job driver.Job) (func(pawl.Answer), error) {
	if job.Effect.Do.Verb() == pawl.VerbRunGate {
		select {
		case <-p.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.has[job.Effect.ID] = true
	return func(pawl.Answer) {}, nil
}

func (p *oneGate) Waits(job driver.Job) (pawl.PoolLoad, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return pawl.PoolLoad{Name: "lane:heavy", Slots: 1, Used: 1, Waiting: 1}, !p.has[job.Effect.ID]
}

func (*oneGate) Wanted() {}

// That an effect waits for its places is said after two seconds, again and again, in the
// run's line and to who watches, and so is its end; none of it is in the log. F-24
func TestWaitingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := &oneGate{free: make(chan struct{}), has: map[pawl.Seq]bool{}}
		c := engineConfig(mem.New(), &drivertest.World{})
		c.Places = places
		e := engine.New(c)
		t.Cleanup(e.Close)
		run := mustStart(t, e)
		var mu sync.Mutex
		var all []pawl.Waiting
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for u, err := range e.Watch(t.Context(), run, 0) {
				if err != nil {
					return
				}
				if u.Live != nil && u.Live.Waiting != nil {
					mu.Lock()
					all = append(all, *u.Live.Waiting)
					mu.Unlock()
				}
			}
		}()
		var heard []pawl.Waiting // so far
		waiting := func() *pawl.Waiting {
			synctest.Wait()
			mu.Lock()
			heard = slices.Clone(all)
			mu.Unlock()
			runs, err := e.Runs(t.Context())
			newest, also := pawl.NewestRuns(t.Context(), e, 1) // as pawl list and the API read them: F-15
			if err != nil || also != nil || len(runs) != 1 || !reflect.DeepEqual(runs, newest) {
				t.Fatalf("runs %+v, %v; newest %+v, %v", runs, err, newest, also)
			}
			return runs[0].Waiting
		}
		elapse := func(d time.Duration) { <-time.After(d) }
		elapse(1900 * time.Millisecond)
		if w := waiting(); w != nil || len(heard) > 0 {
			t.Errorf("after 1.9 s it is said that %+v waits, and %d times to who watches", w, len(heard))
		}
		elapse(200 * time.Millisecond)
		w := waiting()
		if w == nil || w.Name != "gate tests" || w.Pool != "lane:heavy" || w.Slots != 1 || w.For != 2100*time.Millisecond || w.Others != 0 || w.Over {
			t.Fatalf("after 2.1 s the run's line has %+v", w)
		}
		elapse(2 * time.Second)
		if w := waiting(); w == nil || w.For != 4100*time.Millisecond || len(heard) != 2 || heard[1].For != 4*time.Second || heard[1].Pool != "lane:heavy" {
			t.Errorf("after 4.1 s the run's line has %+v, and who watches heard %+v", w, heard)
		}
		close(places.free)
		if w := waiting(); w != nil {
			t.Errorf("it has its place, and the run's line has %+v", w)
		}
		<-ended
		waiting()
		if n := len(heard); n != 3 || !heard[2].Over || heard[2].Effect != w.Effect || heard[2].For != 4100*time.Millisecond {
			t.Errorf("who watches heard %+v", heard)
		}
	})
}

// A run that is driven is listed with what its calls hold now, though its stored line is of an
// earlier event, and with the number of the event it is of. F-38
func TestRunsAreListedAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		calls := 0
		c := engineConfig(mem.New(), &drivertest.World{Before: func(ctx context.Context, job driver.Job) {
			if job.Effect.Do.Verb() != pawl.VerbCallModel {
				return
			}
			if calls++; calls == 1 {
				select {
				case <-answer:
				case <-ctx.Done():
				}
			}
		}})
		e := engine.New(c)
		t.Cleanup(e.Close)
		mustStart(t, e)
		listed := func() (pawl.RunInfo, pawl.RunInfo) {
			t.Helper()
			synctest.Wait()
			now, err := e.Runs(t.Context())
			stored, also := c.Log.Runs(t.Context())
			if err != nil || also != nil || len(now) != 1 || len(stored) != 1 {
				t.Fatalf("%+v, %v; %+v, %v", now, err, stored, also)
			}
			return now[0], stored[0]
		}
		now, stored := listed()
		if m := now.Figures(); m.HeldTokens == 0 || m.SpentTokens != 0 || now.Seq <= stored.Seq || stored.Figures().HeldTokens != 0 {
			t.Errorf("during a call it is listed with %+v at event %d, and stored with %+v at event %d", m, now.Seq, stored.Figures(), stored.Seq)
		}
		close(answer)
		<-time.After(time.Hour)
		now, stored = listed()
		if m := now.Figures(); m.HeldTokens != 0 || m.SpentTokens == 0 || !reflect.DeepEqual(now, stored) || now.Status != pawl.StatusEnded {
			t.Errorf("at its end it is listed as %+v, and stored as %+v", now, stored)
		}
	})
}

// usedUp performs effects as the world does, but for the first model call: its account has a
// quota that is used up for 40 seconds.
type usedUp struct {
	drivertest.World
	calls int
}

func (p *usedUp) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	if job.Effect.Do.Verb() == pawl.VerbCallModel {
		if p.calls++; p.calls == 1 {
			return &pawl.EffectFailed{Effect: job.Effect.ID, Failure: pawl.Failure{Code: pawl.FailureCode(pawl.ModelQuota), Message: "all used", Wait: 40 * time.Second}}, nil
		}
	}
	return p.World.Perform(ctx, job)
}

// A run whose provider tells when its account opens again waits until then, and its line and
// who watches it are told which account that is, until when, and why. F-15, F-44
func TestClosedAccountIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		e := engine.New(engineConfig(mem.New(), &usedUp{}))
		t.Cleanup(e.Close)
		run := mustStart(t, e)
		heard, ended := hearWaiting(t, e, run)
		<-time.After(10 * time.Second)
		runs, err := e.Runs(t.Context())
		if err != nil || len(runs) != 1 || runs[0].Waiting == nil {
			t.Fatalf("after ten seconds: %+v, %v", runs, err)
		}
		if w := runs[0].Waiting; w.Account != "none" || w.Pool != "account:none" || !w.Until.Equal(begin.Add(40*time.Second)) || w.Why != "all used" || !strings.HasPrefix(w.Name, "a model call of ") {
			t.Errorf("the run's line has %+v", w)
		}
		<-ended
		synctest.Wait()
		if took := time.Since(begin); took != 40*time.Second {
			t.Errorf("the run took %s, want 40s", took)
		}
		if all, n := *heard, len(*heard); n == 0 || all[0].Account != "none" || !all[0].Until.Equal(begin.Add(40*time.Second)) || !all[n-1].Over || all[n-1].Account != "none" {
			t.Errorf("who watches heard %+v", all)
		}
		runs, err = e.Runs(t.Context())
		if err != nil || runs[0].Outcome != pawl.OutcomeComplete || runs[0].Waiting != nil {
			t.Errorf("at its end: %+v, %v", runs, err)
		}
	})
}

// hearWaiting watches a run until it ends and collects what is said of effects that wait. It may be read
// once ended is closed.
func hearWaiting(t *testing.T, e *engine.Engine, run pawl.RunID) (heard *[]pawl.Waiting, ended <-chan struct{}) {
	t.Helper()
	heard = new([]pawl.Waiting)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for u, err := range e.Watch(t.Context(), run, 0) {
			if err != nil {
				return
			}
			if u.Live != nil && u.Live.Waiting != nil {
				*heard = append(*heard, *u.Live.Waiting)
			}
		}
	}()
	return heard, done
}

// A model that sends nothing for 20 seconds is named in the run's line and to who watches, again
// and again; what it sends then ends that, whether it is shown or not. How the call ends is told by
// its event alone. F-49
func TestSilentModelIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := engineConfig(mem.New(), &drivertest.World{Before: func(_ context.Context, job driver.Job) {
			if job.Effect.Do.Verb() != pawl.VerbCallModel {
				return
			}
			if calls++; calls == 1 {
				<-time.After(15 * time.Second)
				job.Heard()
				<-time.After(25 * time.Second)
				job.Heard()
				<-time.After(29 * time.Second)
			}
		}})
		e := engine.New(c)
		t.Cleanup(e.Close)
		begin := time.Now()
		run := mustStart(t, e)
		heard, ended := hearWaiting(t, e, run)
		listed := func(at time.Duration) *pawl.Waiting {
			<-time.After(time.Until(begin.Add(at)))
			synctest.Wait()
			runs, err := e.Runs(t.Context())
			if err != nil || len(runs) != 1 {
				t.Fatalf("%+v, %v", runs, err)
			}
			return runs[0].Waiting
		}
		for _, at := range []time.Duration{19 * time.Second, 34 * time.Second, 41 * time.Second, 59 * time.Second} {
			if w := listed(at); w != nil {
				t.Errorf("after %s the run's line has %+v", at, w)
			}
			if at != 34*time.Second {
				continue
			}
			if w := listed(36 * time.Second); w == nil || w.Pool != pawl.PoolModel || w.Model == "" || !strings.HasPrefix(w.Name, "model call 1 of ") || w.For != 21*time.Second || w.Over {
				t.Errorf("after 36s the run's line has %+v", w)
			}
		}
		<-ended
		synctest.Wait()
		var got []string
		for _, w := range *heard {
			got = append(got, fmt.Sprint(w.For, w.Over))
		}
		if want := []string{"20s false", "22s false", "24s false", "25s true", "20s false", "22s false", "24s false", "26s false", "28s false"}; !slices.Equal(got, want) {
			t.Errorf("who watches heard %q, want %q", got, want)
		}
	})
}
