package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// errDraining is why nothing begins any more.
var errDraining = errors.New("the driver is coming to its end")

// Drain lets what is under way finish: no effect is begun any more, no run is added,
// and Drain returns when none is in flight, or when ctx ends. What is decided
// meanwhile is durable; what it asks for is begun by whoever takes the run over.
// Timers are not waited for, nor effects that wait for places. Close comes next.
func (d *Driver) Drain(ctx context.Context) {
	d.mu.Lock()
	if d.drained == nil {
		d.drained = make(chan struct{})
		if d.flying == 0 {
			close(d.drained)
		}
	}
	drained := d.drained
	d.mu.Unlock()
	select {
	case <-drained:
	case <-ctx.Done():
	}
}

// flight is an effect that waits for its places, or is performed.
type flight struct {
	cancel context.CancelFunc
	counts bool // it is not a timer
	// infos delivers what people tell a coding agent during its turn; nil = nothing can be delivered.
	// It belongs to the run's goroutine.
	infos chan string
	// begun says that it is performed, over that its answer is durable, or not wanted
	// any more. The driver's mu guards them.
	begun, over bool
}

// depart counts an effect that is begun; false means that it must not be.
func (d *Driver) depart(f *flight) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drained != nil || f.over {
		return false
	}
	f.begun = true
	if f.counts {
		d.flying++
	}
	return true
}

// arrive counts an effect whose answer is durable, or is not wanted any more. It marks the
// effect as over before it cancels it: one that gets its places because it is cancelled
// must not begin.
func (d *Driver) arrive(f *flight) {
	defer f.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	f.over = true
	d.landed(f)
}

// land stops counting an effect that is no longer performed and may depart again.
func (d *Driver) land(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.landed(f)
}

// landed is land for a caller that holds d.mu.
func (d *Driver) landed(f *flight) {
	if !f.begun || !f.counts {
		return
	}
	f.begun = false
	if d.flying--; d.flying == 0 && d.drained != nil {
		close(d.drained)
	}
}

// survive keeps a defect in deciding one run from ending the process, and with it
// all others: the run stops until it is adopted again.
func (r *run) survive() {
	if p := recover(); p != nil {
		r.d.logger().Error("deciding panicked; the run is quarantined", "run", r.id, "panic", p, "stack", string(debug.Stack()))
		r.cancel(fmt.Errorf("deciding panicked: %v", p))
	}
}
