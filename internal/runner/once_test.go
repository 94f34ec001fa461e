package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"pawl"
)

// When a preparation comes to no end, one of those who wait begins anew, and all
// of them have what that gave.
func TestOnceBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p preparations
		broken, end, anew := errors.New("withdrawn"), make(chan struct{}), make(chan struct{})
		go func() {
			if _, err := p.once(t.Context(), "key", func() (preparation, error) { <-end; return preparation{}, broken }); !errors.Is(err, broken) {
				t.Errorf("the first has %v", err)
			}
		}()
		synctest.Wait()
		runs := make(chan struct{}, 5)
		for range 5 {
			go func() {
				made, err := p.once(t.Context(), "key", func() (preparation, error) {
					runs <- struct{}{}
					<-anew
					return preparation{report: &pawl.GateReport{Reason: "anew"}}, nil
				})
				if err != nil || made.report == nil || made.report.Reason != "anew" {
					t.Errorf("one who waited has %+v, %v", made, err)
				}
			}()
		}
		synctest.Wait()
		close(end)
		synctest.Wait()
		close(anew)
		synctest.Wait()
		if len(runs) != 1 || len(p.keys) != 0 {
			t.Errorf("it was begun anew %d times, and %d keys are remembered", len(runs), len(p.keys))
		}
	})
}

// Who waits for another one's preparation stops waiting when it is withdrawn. Others wait on.
func TestOnceWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p preparations
		end := make(chan struct{})
		go func() {
			if _, err := p.once(t.Context(), "key", func() (preparation, error) { <-end; return preparation{}, nil }); err != nil {
				t.Errorf("the first has %v", err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, err := p.once(ctx, "key", nil); !errors.Is(err, context.Canceled) {
				t.Errorf("who was withdrawn has %v", err)
			}
		}()
		go func() {
			if _, err := p.once(t.Context(), "key", nil); err != nil {
				t.Errorf("who was not has %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(end)
		synctest.Wait()
		if len(p.keys) != 0 {
			t.Errorf("%d keys are remembered", len(p.keys))
		}
	})
}
