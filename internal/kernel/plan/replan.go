package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// CallsForAnother returns what calls for a new plan, or "": the user; a task that failed for good, with
// the reason that reasonOf returns for its loop; or, if tasks are pending and mayWait is true, a discovery
// or that another every tasks have passed, counted over all versions. An every of 0 means never.
func (p *Plan) CallsForAnother(r *pawl.Replan, every int, mayWait bool, reasonOf func(pawl.LoopRef) string) (cause pawl.ReplanCause, reason string) {
	waiting, passed := p.Count[pawl.TaskPending] > 0 && mayWait, p.Count[pawl.TaskPassed]
	switch {
	case p.Asked:
		return pawl.ReplanUser, cmp.Or(p.Why, "the user asked for it")
	case p.Settled:
		return "", ""
	case len(p.Dead) > p.Excused && slices.Contains(r.On, string(pawl.ReplanFailure)):
		i := p.Dead[p.Excused]
		return pawl.ReplanFailure, strings.TrimSuffix(fmt.Sprintf("task %s failed (%s)", p.Entries[i].ID, strings.TrimRight(reasonOf(p.At(i).Loop), ". ")), " ()")
	case p.Found > 0 && waiting && slices.Contains(r.On, string(pawl.ReplanDiscovery)):
		return pawl.ReplanDiscovery, counted(p.Found, "discovery", "discoveries") + " since the plan was made"
	case every > 0 && waiting && passed/every > max(0, passed-p.Since)/every:
		return pawl.ReplanSchedule, fmt.Sprintf("%d of %d tasks have passed", passed, len(p.Entries))
	}
	return "", ""
}

// counted returns a number with the name of what is counted: "1 task", "3 tasks".
func counted(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Call records that the plan is being made anew.
func (p *Plan) Call(cause pawl.ReplanCause, why string) {
	p.Calling, p.Why, p.Asked = cause, why, false
}

// CallOff records that the plan is no longer being made anew.
func (p *Plan) CallOff() { p.Call("", "") }

// Settle records that the plan is not made anew any more, unless the user asks for it.
func (p *Plan) Settle() { p.Settled, p.Asked, p.Found, p.Since = true, false, 0, 0 }

// Stay records that the plan stays as it is, and forgets what called for another one.
func (p *Plan) Stay() {
	p.Calling, p.Asked, p.Found, p.Since, p.Excused = "", false, 0, 0, len(p.Dead)
}

// AskFor records that the user wants another plan, and why.
func (p *Plan) AskFor(why string) { p.Asked, p.Why = true, why }
