package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"pawl"
)

// errDraining is why nothing begins any more.
var errDraining = errors.New("the driver is coming to its end")

// Drain lets what is under way finish: no effect is begun any more, no run is added,
// and Drain returns when none is in flight, or when ctx ends. What is decided
// meanwhile is durable; what it asks for is begun by whoever takes the run over.
// Timers are not waited for. Close comes next.
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

// depart counts an effect that is begun; false means that it must not be.
func (d *Driver) depart(f *pawl.Effect) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drained != nil {
		return false
	}
	if f.Do.Verb() != pawl.VerbWait {
		d.flying++
	}
	return true
}

// arrive counts an effect whose answer is durable, or is not wanted any more.
func (d *Driver) arrive(f *pawl.Effect) {
	if f.Do.Verb() == pawl.VerbWait {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
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
