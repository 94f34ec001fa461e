package kernel

import (
	"runtime"
	"testing"
	"weak"

	"pawl"
	"pawl/internal/kernel/plan"
)

// An ended loop keeps nothing of its plan and its sessions alive, though a draft copied it in one
// allocation with them.
func TestEndedLoopKeepsNothingAlive(t *testing.T) {
	l := newLoop(2, &pawl.LoopKind{})
	l.Parent = 1
	l.gen.plan, l.gen.Health = &plan.Plan{}, pawl.HealthStalled
	l.iter.blocked = &blocker{}
	l = l.clone()
	p, b := weak.Make(l.gen.plan), weak.Make(l.iter.blocked)
	l.dropDetails()
	l.dropDetails() // it may be invalidated after that
	runtime.GC()
	if p.Value() != nil || b.Value() != nil {
		t.Errorf("the plan is kept: %v, what blocks the task: %v", p.Value() != nil, b.Value() != nil)
	}
	if l.iter != nil || l.gen.n != 1 || l.gen.Health != pawl.HealthStalled {
		t.Errorf("what the tree needs is gone: %+v", l.gen)
	}
	runtime.KeepAlive(l)
}
