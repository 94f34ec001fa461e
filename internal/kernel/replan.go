package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
	"pawl/internal/kernel/brief"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
	"pawl/internal/kernel/monitor"
	"pawl/internal/kernel/plan"
)

// readPlan requests a reading of the list of tasks that the iteration's planner handed in or the
// user gave. Without a list, the plan is refused.
func (d *draft) readPlan(l *Loop) {
	list := l.list()
	switch {
	case len(l.open) > 0:
	case list.IsZero():
		d.emit(l.Ref, &pawl.PlanRefused{Reason: fmt.Sprintf("the step %s left no list of tasks", l.Kind.Children.From)})
	default:
		d.readTasks(l, list)
	}
}

func (d *draft) readTasks(l *Loop, list pawl.Hash) {
	d.requestEffect(l, pawl.Effect{Class: pawl.CrashRepeat, Place: l.place("tasks"), Timeout: promptTimeout,
		Do: &pawl.ReadTasks{List: list, Goal: d.s.Started.Goal, Criteria: d.s.Started.Criteria, Given: l.isGiven()}})
}

// list returns the list of tasks of this iteration; zero = there is none.
func (l *Loop) list() pawl.Hash {
	if l.isGiven() {
		return l.givenList
	}
	from := l.flow.Find(l.Kind.Children.From)
	if from < 0 {
		return pawl.Hash{}
	}
	name := flow.OutputName(l.flow.Steps[from])
	for _, in := range slices.Backward(l.left.Outputs) {
		if in.Name == name {
			return in.Blob
		}
	}
	return pawl.Hash{}
}

// judgePlan accepts a list that was read as the loop's plan, or refuses it.
func (d *draft) judgePlan(l *Loop) {
	if why := l.judgeList(); why != "" {
		d.emit(l.Ref, &pawl.PlanRefused{Reason: brief.Cut(why, 300), List: l.gen.read.List})
		return
	}
	b := &pawl.PlanAccepted{Version: l.gen.plans + 1, Count: len(l.gen.read.Entries), List: l.gen.read.List}
	if l.gen.plan != nil {
		b.Version, b.Changed = l.gen.plan.Version+1, l.gen.plan.Changes(l.gen.read.Graph)
	}
	d.emit(l.Ref, b)
}

// judgeList returns why a list that was read cannot be the loop's plan, or "" if it can.
func (l *Loop) judgeList() (why string) {
	r, limit := l.gen.read, l.Kind.Children.Limit
	switch {
	case l.Kind.Children.IsEager() && r.Problem == "" && limit > 0 && len(r.Entries) > limit:
		return fmt.Sprintf("it lists %d, and %d at most may be worked on", len(r.Entries), limit)
	case l.Kind.Children.RestartsParent(): // nothing of the last plan is kept
		return r.Refusal(nil)
	}
	return r.Refusal(l.gen.plan)
}

// replan makes a new version of the plan if something calls for it, and reports whether that is in
// progress: no task starts before it is done.
func (d *draft) replan(l *Loop) bool {
	p := l.gen.plan
	if p.Calling == "" && !d.callReplan(l) {
		return l.person.question != nil
	}
	if l = d.s.Loop(l.Ref); l.person.question != nil {
		return true
	}
	switch {
	case len(l.gen.plan.Kids) > 0: // children at work finish first
	case len(l.open) > 0 && len(l.sessions) == 0:
	case len(l.sessions) > 0:
		d.converse(l, l.sessions[0])
	case !l.gen.relist.IsZero():
		d.readTasks(l, l.gen.relist)
	default:
		if d.syncHead(l) { // the planner reads what the tasks have made so far
			d.startReplan(l)
		}
	}
	return true
}

// callReplan calls for a new version of the plan if there is a cause, and reports whether it did.
// If the plan may have no more versions, it stays as it is; after a failure a person is asked
// instead.
func (d *draft) callReplan(l *Loop) bool {
	cause, reason := d.s.replanCause(l)
	if cause == "" {
		return false
	}
	if limit := l.maxPlans(); l.gen.plan.Version >= limit {
		d.emit(l.Ref, &pawl.LimitReached{Scope: l.Kind.Name, Limit: pawl.LimitPlans, Max: int64(limit), Value: int64(l.gen.plan.Version + 1)})
		if cause != pawl.ReplanFailure { // there is no failure for a person to decide about
			d.emit(l.Ref, &pawl.PlanRefused{Reason: fmt.Sprintf("the limit of plan versions (%d) is reached, so it stays as it is: %s", limit, reason)})
			return false
		}
		d.askOneMore(l, fmt.Sprintf("%s, and the plan has been made %s, which is the limit. What now?", reason, times(limit)))
		return false
	}
	d.emit(l.Ref, &pawl.ReplanCalled{Cause: cause, Reason: brief.Cut(reason, 300)})
	return true
}

// maxPlans returns how many versions the loop's plan may have. It must have a plan, and its recipe
// must have it made anew.
func (l *Loop) maxPlans() int { return l.Kind.Children.Replan.MaxVersions + l.gen.plan.Granted }

// choiceOneMore is the answer that allows one more version of a plan.
const choiceOneMore = "one-more-plan"

// askOneMore asks a person what to do after a failure if the plan may have no more versions. To
// continue is a choice only if a task is left that the failure does not keep from being worked on.
func (d *draft) askOneMore(l *Loop, text string) {
	options := []option{{choiceOneMore, "one more plan is made than the limit allows, " + withWords}}
	if l.gen.plan.Remains() && l.Kind.Children.OnFailure != pawl.FailStop {
		options = append(options, option{choiceContinue, "the plan stays as it is: failed tasks stay failed, and tasks that do not depend on them continue"})
	}
	options = append(options, option{choiceStop, l.stopsPlan()})
	d.ask(l, pawl.AskReplan, brief.Capital(text), l.gen.plan.List, options...)
}

// replanCause returns what calls for a new plan, or "" if nothing does.
func (s *State) replanCause(l *Loop) (cause pawl.ReplanCause, reason string) {
	p, r := l.gen.plan, l.Kind.Children.Replan
	if r == nil {
		return "", ""
	}
	every := r.Every
	if s.Settings.ReplanEvery != nil {
		every = *s.Settings.ReplanEvery
	}
	asks := slices.ContainsFunc(p.Kids, func(ref pawl.LoopRef) bool { return s.Loop(ref).person.question != nil })
	// A person may take long to answer, and the others continue meanwhile.
	return p.CallsForAnother(r, every, !asks, func(ref pawl.LoopRef) string { return s.Loop(ref).Reason })
}

// startReplan starts the session that makes a new version of the plan. Its prompt says the goal,
// how the tasks stand and what was discovered, but nothing of an earlier conversation.
func (d *draft) startReplan(l *Loop) {
	i := l.flow.Find(l.Kind.Children.From)
	st := l.flow.Steps[i]
	place := l.place("replan")
	place.Role, place.Tier = st.Role, cmp.Or(st.Tier, ladder.Top)
	d.startSession(l, pawl.SessionStarted{Purpose: pawl.ForReplan, Place: place, Index: i, Turns: st.Turns, Cap: st.Cap, Timeout: st.Timeout})
}

// endReplan records what the session handed in. After a session that failed, the plan stays as it
// is: endSession refuses the new one.
func (l *Loop) endReplan(b *pawl.SessionEnded) {
	if b.Result == pawl.SessionDone {
		l.gen.relist = b.Output
	}
}

// acceptPlan makes the list that was read the loop's plan.
func (s *State) acceptPlan(l *Loop, b *pawl.PlanAccepted) error {
	if l.gen.read == nil || l.gen.read.Graph == nil {
		return fmt.Errorf("no list was read that can be a plan")
	}
	g := l.gen.read.Graph
	if l.gen.plan == nil {
		l.gen.plan = plan.New(g, b.Version, b.List)
		for i := range l.base {
			l.gen.Latest = append(l.gen.Latest, l.base[i].evidence)
		}
		l.gen.Proofs = []monitor.Proof{{Reports: l.gen.Latest}}
	} else if l.Kind.Children.RestartsParent() { // nothing of the last plan is kept
		l.gen.plan, l.gen.Course = plan.New(g, b.Version, b.List), monitor.Course{Marks: l.gen.Marks}
	} else {
		l.gen.plan = l.gen.plan.Successor(g, b.List)
	}
	l.gen.plan.TakeDone()
	l.gen.rejected = false
	l.gen.read, l.gen.listed, l.gen.relist, l.gen.planned = nil, nil, pawl.Hash{}, true
	l.person.approved, l.person.reply, l.unrecorded = false, nil, true
	return nil
}

// refusePlan keeps the plan as it is. If there is none, the iteration's steps have failed.
func (l *Loop) refusePlan(b *pawl.PlanRefused) {
	l.gen.read, l.gen.listed, l.gen.relist = nil, nil, pawl.Hash{}
	if p := l.gen.plan; p != nil && (l.gen.planned || p.Calling != "") {
		p.Stay()
		return
	}
	l.iter.stepFailed = brief.Cut("the plan was refused: "+b.Reason, 300)
	l.gen.refused = true
}
