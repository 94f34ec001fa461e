package cli_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/view"
)

// What is shown of a fork is what the kernel says of it, wherever it begins.
func TestForkIsShownAsItIs(t *testing.T) {
	for name, world := range map[string]*drivertest.World{"Complete": {Calls: 1}, "Blocked": failing()} {
		b := newBed(t, world)
		run := b.mustStart(t, "do it")
		b.mustEnd(t, run)
		runs, err := b.engine.Runs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := runs[0].Seq
		for at := pawl.Seq(2); at <= last; at = max(at+1, min(at+11, last)) {
			info, err := b.engine.Fork(t.Context(), run, at)
			if err != nil {
				t.Fatalf("%s, at event %d: %v", name, at, err)
			}
			b.mustEnd(t, info.ID)
			var events []pawl.Event
			for e, err := range b.engine.Events(t.Context(), info.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
			}
			for n := int(at) + 1; n <= len(events); n++ {
				kernel, err := refold(events[:n])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(kernel, view.Info(events[:n])); diff != "" {
					t.Fatalf("%s, forked at event %d, after event %d (%T): -kernel +view\n%s", name, at, n, events[n-1].Body, diff)
				}
			}
		}
	}
}
