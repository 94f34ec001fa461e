package message

import (
	"slices"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// Run is the fold of one run. Its zero value is before the first event; Blobs may be
// nil, then no message has texts that are blobs.
type Run struct {
	Project string
	Records view.Records
	Blobs   view.Blobs

	line   RunLine
	doing  map[pawl.Seq]pawl.Do    // tool calls, gates and merges under way
	newest map[pawl.LoopRef]string // the artifact that was told of last
	listed map[pawl.LoopRef]int    // how many loops its plan leads to
	spawns map[pawl.LoopRef]bool   // its plan was approved, and not all of them are there yet
	said   string                  // what the person wrote who answered with this event
	out    []Message
}

// Add folds the next event and gives the messages it leads to, in order.
func (r *Run) Add(e pawl.Event) []Message {
	if r.doing == nil {
		r.doing, r.newest = map[pawl.Seq]pawl.Do{}, map[pawl.LoopRef]string{}
		r.listed, r.spawns = map[pawl.LoopRef]int{}, map[pawl.LoopRef]bool{}
	}
	r.out, r.said = nil, ""
	switch b := e.Body.(type) {
	case *pawl.QuestionAnswered:
		r.said = plain.Text(b.Text)
	case *pawl.PlanAccepted:
		r.listed[e.Loop] = b.Count
	}
	changes := r.Records.Add(e)
	r.line.Run = e.Run
	r.ofRun(e)
	for _, c := range changes {
		r.changed(c)
	}
	if l := r.Records.Loop(e.Loop); l != nil {
		r.ofLoop(l, e)
		if r.touches(e) || len(changes) > 0 {
			r.tell(LoopUpdated, snapshot(l))
		}
		r.handedIn(l)
	}
	for i := range r.out {
		m := &r.out[i]
		m.Project, m.Run, m.Seq, m.Last = r.Project, e.Run, e.Seq, i == len(r.out)-1
	}
	return r.out
}

func (r *Run) tell(event string, data any) {
	r.out = append(r.out, Message{Event: event, Data: data})
}

// snapshot is a record as it is now.
func snapshot(l *view.Record) view.Record {
	c := *l
	c.Questions = slices.Clone(l.Questions)
	return c
}

// touches reports an event after which a loop's record is another one.
func (r *Run) touches(e pawl.Event) bool {
	switch e.Body.(type) {
	case *pawl.IterationStarted, *pawl.IterationEnded, *pawl.GenerationStarted, *pawl.QuestionAsked, *pawl.Archived,
		*pawl.LoopAdmitted, *pawl.WorkspaceOpened, *pawl.PlanAccepted, *pawl.Escalated:
		return true
	}
	return false
}

// ofRun tells what an event says of the run as a whole.
func (r *Run) ofRun(e pawl.Event) {
	status := func(s pawl.RunStatus, o pawl.Outcome, reason string) {
		r.line.Status, r.line.Outcome, r.line.Reason, r.line.Findings = s, o, plain.Line(reason, 0), 0
		if b, ok := e.Body.(*pawl.RunEnded); ok {
			r.line.Findings = b.Findings
		}
		r.tell(RunUpdated, r.line)
	}
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		r.line.Title = plain.Line(b.Title, 0)
		status(pawl.StatusRunning, "", "")
	case *pawl.RunPaused:
		status(pawl.StatusPaused, "", b.Reason)
	case *pawl.RunResumed:
		status(pawl.StatusRunning, "", b.Reason)
	case *pawl.RunStopping:
		status(pawl.StatusStopping, b.Outcome, b.Reason)
		if b.Outcome == pawl.OutcomeHalted || b.Outcome == pawl.OutcomeFailed || b.Outcome == pawl.OutcomeRefused {
			r.tell(Error, Problem{e.Run, plain.Line(b.Reason, 0)})
		}
	case *pawl.RunEnded:
		status(pawl.StatusEnded, b.Outcome, b.Reason)
		r.metrics()
	case *pawl.Recovered:
		for _, l := range r.Records.Loops {
			if !l.Ended() && l.Status != pawl.LoopPending {
				r.tell(LoopRecovered, Recovered{l.ID, l.Run, l.Status, l.Status})
			}
		}
	}
}

// changed tells that a loop has another status or approval.
func (r *Run) changed(c view.Change) {
	l := c.Record
	id, run := loopOf(l)
	now := Status{id, run, c.From, l.Status, plain.Line(l.Reason, 0)}
	if c.From != l.Status {
		if c.From == "" {
			r.tell(LoopCreated, snapshot(l))
		} else {
			r.tell(LoopStatusChange, now)
		}
		switch {
		case l.Status == pawl.LoopRunning && (c.From == "" || c.From == pawl.LoopPending):
			r.tell(LoopStarted, now)
		case l.Status == pawl.LoopComplete:
			r.tell(LoopComplete, now)
		case l.Status == pawl.LoopFailed:
			r.tell(LoopFailed, now)
		case l.Status == pawl.LoopInvalidated:
			r.tell(LoopInvalidated, now)
		}
		if c.From == "" {
			r.spawned(l)
		}
	}
	if c.FromApproval != l.Approval {
		r.decided(l)
	}
}

// decided tells what a person is asked about a plan, or made of it. That it is
// approved is told when the last of its loops has begun to be.
func (r *Run) decided(l *view.Record) {
	id, run := loopOf(l)
	switch l.Approval {
	case pawl.ApprovalAwaiting:
		p := Plan{ID: id, Run: run, Preview: Preview{About: l.About, Approval: l.Approval, Specs: []SpecInfo{}}}
		if r.Blobs != nil {
			if full, err := PreviewOf(l, r.Blobs); err == nil {
				p.Preview = full
			}
		}
		r.tell(PlanAwaiting, p)
	case pawl.ApprovalApproved:
		r.spawns[l.Ref] = true
	case pawl.ApprovalRejected:
		r.tell(PlanRejected, Rejected{id, run, r.said})
	}
}

// spawned tells that an approved plan has led to all its loops, with the last of
// them: they come in one append.
func (r *Run) spawned(l *view.Record) {
	p := r.Records.Loop(l.Parent)
	if p == nil || !r.spawns[p.Ref] || p.Spawned < r.listed[p.Ref] {
		return
	}
	delete(r.spawns, p.Ref)
	r.tell(PlanApproved, Approved{p.ID, p.Run, p.Spawned})
}

// ofLoop tells what happened in a loop.
func (r *Run) ofLoop(l *view.Record, e pawl.Event) {
	id, run := loopOf(l)
	switch b := e.Body.(type) {
	case *pawl.IterationStarted:
		r.tell(LoopIteration, Iteration{ID: id, Run: run, Iteration: b.N, Status: l.Status})
	case *pawl.IterationEnded:
		r.tell(LoopIterationEnd, Iteration{ID: id, Run: run, Iteration: b.N, Status: l.Status, Decision: b.Decision, Reason: plain.Line(b.Reason, 0)})
		r.metrics()
	case *pawl.SignalSent:
		if s := r.signal(b.N); s != nil {
			r.tell(SignalSent, *s)
		}
	case *pawl.SignalAcknowledged:
		if s := r.signal(b.N); s != nil {
			r.tell(SignalAcked, *s)
		}
	case *pawl.EffectRequested:
		r.requested(l, e.Seq, b.Effect.Do)
	case pawl.Answer:
		r.answered(l, b)
	}
}

func (r *Run) signal(n int) *view.SignalRecord {
	for _, s := range slices.Backward(r.Records.Signals) {
		if s.N == n {
			return s
		}
	}
	return nil
}

// requested tells that a tool, a gate or a merge begins.
func (r *Run) requested(l *view.Record, seq pawl.Seq, do pawl.Do) {
	id, run := loopOf(l)
	switch do := do.(type) {
	case *pawl.CallTool:
		r.tell(ToolStarted, Work{ID: id, Run: run, Name: plain.Line(do.Tool, 0)})
	case *pawl.RunGate:
		if do.On != "" { // it does not judge the work
			return
		}
		r.tell(ValidationStarted, Work{ID: id, Run: run, Name: plain.Line(do.Gate, 0)})
	case *pawl.Merge:
		if !do.Suspect.IsZero() { // it only looks for markers
			return
		}
		r.tell(MergeStarted, Work{ID: id, Run: run})
	case *pawl.AdvanceBranch:
	default:
		return
	}
	r.doing[seq] = do
}

// answered tells how a tool, a gate or a merge ended.
func (r *Run) answered(l *view.Record, b pawl.Answer) {
	do, known := r.doing[b.Answers()]
	delete(r.doing, b.Answers())
	id, run := loopOf(l)
	w := Work{ID: id, Run: run}
	switch do := do.(type) {
	case *pawl.CallTool:
		w.Name = plain.Line(do.Tool, 0)
	case *pawl.RunGate:
		w.Name = plain.Line(do.Gate, 0)
	}
	switch b := b.(type) {
	case *pawl.ToolReturned:
		w.IsError = b.IsError
		r.tell(ToolCompleted, w)
	case *pawl.GateJudged:
		if b.On != "" {
			return
		}
		w.Name, w.Verdict, w.Reason = plain.Line(b.Gate, 0), b.Verdict, plain.Line(b.Reason, 0)
		r.tell(ValidationDone, w)
	case *pawl.Merged:
		if known && b.Conflicts > 0 {
			r.tell(MergeConflict, w)
		}
	case *pawl.BranchAdvanced:
		if known {
			r.tell(MergeCompleted, w)
		}
	case *pawl.EffectFailed:
		if known {
			w.IsError, w.Reason = true, plain.Line(b.Failure.Message, 0)
			switch do := do.(type) {
			case *pawl.CallTool:
				r.tell(ToolCompleted, w)
			case *pawl.RunGate:
				if do.On == "" {
					r.tell(ValidationDone, w)
				}
			}
		}
	}
}

// handedIn tells of an artifact that was not told of yet.
func (r *Run) handedIn(l *view.Record) {
	if len(l.OutputArtifacts) == 0 || r.newest[l.Ref] == l.OutputArtifacts[0] {
		return
	}
	r.newest[l.Ref] = l.OutputArtifacts[0]
	if l.Status != pawl.LoopInvalidated { // then it has only moved to the archive
		r.tell(LoopArtifact, Artifact{l.ID, l.Run, l.OutputArtifacts[0]})
	}
}

// metrics tells what the run has used.
func (r *Run) metrics() {
	m := Metrics{Run: r.line.Run, Loops: map[pawl.LoopStatus]int{}}
	for _, l := range r.Records.Loops {
		m.Loops[l.Status]++
		if l.Parent == 0 {
			m.Cost, m.Tokens, m.Lost, m.LostTokens = l.Cost, l.Tokens, l.Lost, l.LostTokens
		}
	}
	r.tell(MetricsUpdate, m)
}
