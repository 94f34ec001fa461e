package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// CallsForAnother says what calls for a new plan: the user; a task that failed for good and is
// not critical, for the reason that its loop tells; or, as long as tasks are waiting to run and
// mayWait, a discovery, or every so many tasks that passed since the plan was made (0 = never).
// Empty = nothing does.
func (p *Plan) CallsForAnother(r *pawl.Replan, every int, mayWait bool, reasonOf func(pawl.LoopRef) string) (cause pawl.ReplanCause, reason string) {
	waiting := p.Count[pawl.TaskPending] > 0 && mayWait
	switch {
	case p.Asked:
		return pawl.ReplanUser, cmp.Or(p.Why, "the user asked for it")
	case p.Settled || p.Critical() != "":
		return "", ""
	case len(p.Dead) > p.Excused && slices.Contains(r.On, string(pawl.ReplanFailure)):
		i := p.Dead[p.Excused]
		return pawl.ReplanFailure, fmt.Sprintf("the task %s failed%s", p.Entries[i].ID, strings.TrimSuffix(": "+reasonOf(p.At(i).Loop), ": "))
	case p.Found > 0 && waiting && slices.Contains(r.On, string(pawl.ReplanDiscovery)):
		return pawl.ReplanDiscovery, fmt.Sprintf("%d discoveries since the plan was made", p.Found)
	case every > 0 && p.Since >= every && waiting:
		return pawl.ReplanSchedule, fmt.Sprintf("%d tasks passed since the plan was made", p.Since)
	}
	return "", ""
}

// Call records that the plan is being made anew.
func (p *Plan) Call(cause pawl.ReplanCause, why string) {
	p.Calling, p.Why, p.Asked = cause, why, false
}

// CallOff records that it is not.
func (p *Plan) CallOff() { p.Call("", "") }

// Settle records that it is not made anew any more.
func (p *Plan) Settle() { p.Settled, p.Asked, p.Found, p.Since = true, false, 0, 0 }

// Stay records that the plan stays as it is: what called for another one is dealt with.
func (p *Plan) Stay() {
	p.Calling, p.Asked, p.Found, p.Since, p.Excused = "", false, 0, 0, len(p.Dead)
}

// AskFor lets the user want another plan.
func (p *Plan) AskFor(why string) { p.Asked, p.Why = true, why }
