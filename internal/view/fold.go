package view

import (
	"encoding/json"
	"slices"
	"time"

	"pawl"
)

// keptProblems is how many problems a run shows.
const keptProblems = 20

// Apply folds one event. Events are applied in order, each once. An event that
// makes no sense here, such as one about a loop nobody started, changes nothing
// but the header: projections of a damaged run are better than none.
func (r *Run) Apply(e pawl.Event) {
	delete(r.waiting, 0) // its log has been written
	r.pass(e)
	r.Records.Add(e)
	l := r.loop(e.Loop)
	switch b := e.Body.(type) {
	case *pawl.LimitsChanged:
		r.said(b.Max)
	case *pawl.RunResumed:
		r.said(b.Max)
	case *pawl.Forked:
		r.said(b.Max)
	case *pawl.IterationEnded:
		r.said(b.Max)
	}
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		f := b.Effect
		f.ID, f.Loop = e.Seq, e.Loop
		r.open = append(r.open, pending{&f, e.Time})
	case *pawl.LoopStarted:
		r.startLoop(e, b)
	case *pawl.EffectLost:
		f := r.close(b.Effect)
		r.stops.failure = r.problem(e, "%s was lost when the process died", effectName(f))
		r.charge(l, f, lostCall(b.Charged, b.ChargedTokens))
	case *pawl.EffectWithdrawn:
		r.charge(l, r.close(b.Effect), lostCall(b.Charged, b.ChargedTokens))
	case *pawl.EffectFailed:
		f := r.close(b.Effect)
		r.stops.failure = r.problem(e, "%s failed: %s: %s", effectName(f), string(b.Failure.Code), b.Failure.Message)
		cost := Spending{Failed: 1, Cost: b.Charged, Tokens: b.ChargedTokens}
		if b.Lost() {
			cost = lostCall(b.Charged, b.ChargedTokens)
		}
		r.charge(l, f, cost)
	case pawl.Answer:
		r.answer(l, e, r.close(b.Answers()))
	default:
		switch {
		case r.applyAnywhere(e):
		case l == nil:
			r.applyRun(e)
		case r.applyTree(l, e):
		default:
			r.applyLoop(l, e)
		}
	}
}

// pass lets the time of an event pass.
func (r *Run) pass(e pawl.Event) {
	if r.Seq == 0 {
		r.ID, r.Began, r.Updated = e.Run, e.Time, e.Time
	}
	switch e.Body.(type) {
	case *pawl.RunStarted, *pawl.Recovered, *pawl.RunResumed: // nobody had the run before
	default:
		if d := e.Time.Sub(r.Updated); d > 0 && r.Status != pawl.StatusPaused && r.Status != pawl.StatusEnded && !r.waitsForPeople() {
			r.Alive += d
		}
	}
	r.Seq = e.Seq
	if e.Time.After(r.Updated) {
		r.Updated = e.Time
	}
}

// waitsForPeople reports whether nothing but answers is waited for: such time
// does not count.
func (r *Run) waitsForPeople() bool { return len(r.open) == 0 && len(r.OpenQuestions()) > 0 }

// AliveAt is how long a driver has had the run at a time after its last event.
func (r *Run) AliveAt(now time.Time) time.Duration {
	if r.Status != pawl.StatusRunning && r.Status != pawl.StatusStopping || r.waitsForPeople() {
		return r.Alive
	}
	return r.Alive + max(0, now.Sub(r.Updated))
}

func (r *Run) applyRun(e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		r.start(e, b)
	case *pawl.RunPaused:
		r.Status, r.Reason = pawl.StatusPaused, b.Reason
		r.stops.paused = mark(e, "paused%s", because(b.Reason))
	case *pawl.RunResumed:
		r.Status, r.Outcome, r.Reason = pawl.StatusRunning, "", ""
		r.stops, r.since = stops{}, e.Seq
		for _, l := range r.Loops {
			if l.Parent == 0 || l.End != nil && l.End.Stopped {
				if b.From != "" && l.End != nil {
					r.retry(l, e)
				}
				r.reopen(l, e)
			}
		}
	case *pawl.CancelRequested:
		r.stops.cancel = mark(e, "a user asked to cancel%s", because(b.Reason))
	case *pawl.RunStopping:
		r.Status, r.Reason = pawl.StatusStopping, b.Reason
		r.stops.stopping = mark(e, "%s: %s", string(b.Outcome), b.Reason)
	case *pawl.RunEnded:
		r.Status, r.Outcome, r.Reason = pawl.StatusEnded, b.Outcome, b.Reason
		if b.Head != "" {
			r.Head = b.Head
		}
		r.stops.ended = mark(e, "%s: %s", string(b.Outcome), b.Reason)
	case *pawl.LimitsChanged:
		r.Limits = b.Limits
	case *pawl.LimitReached:
		r.limit(e, b)
	case *pawl.Recovered:
		r.stops.recovered = r.problem(e, "the process that drove the run had died; another one took it over")
	}
}

// start reads what is frozen in the first event.
func (r *Run) start(e pawl.Event, b *pawl.RunStarted) {
	r.Start, r.Status, r.since = *b, pawl.StatusRunning, e.Seq
	r.Notes = slices.Clone(b.Notes)
	if err := json.Unmarshal(b.Recipe, &r.Recipe); err != nil {
		r.problem(e, "its recipe cannot be read: %v", err)
	}
	if err := json.Unmarshal(b.Settings, &r.Settings); err != nil {
		r.problem(e, "its settings cannot be read: %v", err)
	}
	r.Limits = r.Settings.Limits
	r.moved = mark(e, "none yet: the run started and has committed nothing")
}

// limit keeps a limit and, for one on the run's money or tokens, what wanted
// more. The limits of one session stop the session, those of a child the child,
// not the run.
func (r *Run) limit(e pawl.Event, b *pawl.LimitReached) {
	if b.Limit == pawl.LimitLoops { // others are at work: nothing went wrong
		return
	}
	m := r.problem(e, "%s", limitText(b))
	ofSession := b.Limit == pawl.LimitTurns || b.Limit == pawl.LimitCalls || (b.Limit == pawl.LimitTime && b.Scope != "run")
	if l := r.loop(e.Loop); ofSession || b.Limit == pawl.LimitSignal || l != nil && l.Parent > 0 && b.Scope != "run" && b.Limit != pawl.LimitRetries {
		return
	}
	r.stops.limit, r.stops.limited, r.stops.wanted = m, b.Limit, Mark{}
	spent := map[pawl.LimitName]int64{pawl.LimitMoney: int64(r.Cost), pawl.LimitTokens: r.Tokens}
	had, counted := spent[b.Limit]
	lost := map[pawl.LimitName]int64{pawl.LimitMoney: int64(r.lost.Lost), pawl.LimitTokens: r.lost.LostTokens}[b.Limit]
	if !counted || b.Scope != "run" || b.Value <= had {
		return
	}
	for _, l := range r.Loops {
		if s := l.sessionOf(); s != nil {
			place := s.Place
			place.Turn = s.Turn + 1
			with := Amount(b.Limit, had-lost) + " spent"
			if lost > 0 {
				with += " and " + Amount(b.Limit, lost) + " lost"
			}
			r.stops.wanted = Mark{s.Seq, s.Began, line("model call %s wanted up to %s of %s, with %s",
				place.String(), Amount(b.Limit, b.Value-had), b.Limit, with)}
		}
	}
}

func (r *Run) applyLoop(l *Loop, e pawl.Event) {
	it := l.last()
	switch e.Body.(type) { // a recovery explains nothing once work has begun again
	case *pawl.IterationStarted, *pawl.SessionStarted, *pawl.IterationEnded:
		r.stops.recovered = Mark{}
	}
	switch b := e.Body.(type) {
	case *pawl.ComplexityScored:
		l.Score, l.ScoreWhy, l.Tier = b.Score, b.Why, b.Tier
	case *pawl.IterationStarted:
		r.reopen(l, e)
		l.Tier = b.Tier
		l.Iterations = append(l.Iterations, &Iteration{IterationStarted: *b, Seq: e.Seq, Began: e.Time, Attempt: 1})
	case *pawl.IterationRestarted:
		if it != nil {
			it.restart(b)
		}
	case *pawl.SessionStarted:
		l.startSession(e, b)
	case *pawl.SessionEnded:
		if s := l.sessions[b.Session]; s != nil {
			s.End = b
		}
	case *pawl.GatesReused:
		if from := l.iteration(b.From); it != nil && from != nil {
			it.Gates = slices.DeleteFunc(slices.Clone(from.Gates), func(g *Gate) bool { return !g.stands() })
		}
	case *pawl.IterationEnded:
		if it := l.iteration(b.N); it != nil {
			it.End, it.EndSeq, it.Ended = b, e.Seq, e.Time
			if b.Conflict {
				l.Conflicts++
			}
			it.Spent.Cost, it.Spent.Tokens = b.Cost, b.Tokens
		}
	case *pawl.Escalated:
		l.Tier = b.To
		l.Escalations = append(l.Escalations, Escalation{*b, e.Seq})
	case *pawl.CouncilCalled:
		c := &Council{CouncilCalled: *b, Seq: e.Seq}
		if it != nil {
			c.After = it.N
		}
		l.Councils = append(l.Councils, c)
	case *pawl.CouncilDecided:
		if n := len(l.Councils); n > 0 {
			l.Councils[n-1].Decided = b
		}
	case *pawl.LimitReached:
		r.limit(e, b)
	case *pawl.GateLeftOut:
		r.LeftOut = append(r.LeftOut, *b)
	}
}

// restart begins the iteration anew: what was judged and who was at work does
// not count any more.
func (it *Iteration) restart(b *pawl.IterationRestarted) {
	it.Attempt, it.Gates = b.Attempt, nil
	for _, s := range it.Sessions {
		if s.End == nil {
			s.End = &pawl.SessionEnded{Session: s.Session, Result: pawl.SessionAbandoned, Reason: b.Reason}
		}
	}
}

func (l *Loop) startSession(e pawl.Event, b *pawl.SessionStarted) {
	s := &Session{SessionStarted: *b, Seq: e.Seq, Began: e.Time, loop: l.Ref}
	l.sessions[b.Session] = s
	it := l.last()
	switch council := b.Purpose == pawl.ForProposal || b.Purpose == pawl.ForBallot; {
	case council && len(l.Councils) > 0:
		c := l.Councils[len(l.Councils)-1]
		c.Sessions = append(c.Sessions, s)
	case it == nil:
		l.Before = append(l.Before, s)
	default:
		s.iteration = it
		it.Sessions = append(it.Sessions, s)
	}
}

// answer folds the answer of an effect; f is nil when nobody asked.
func (r *Run) answer(l *Loop, e pawl.Event, f *pawl.Effect) {
	if l == nil {
		return
	}
	it := l.last()
	switch b := e.Body.(type) {
	case *pawl.WorkspaceOpened:
		if r.Head == "" && l.Branch == "" {
			r.Head = b.Head
		}
		if b.Note != "" && !slices.Contains(r.Notes, b.Note) {
			r.Notes = append(r.Notes, b.Note)
		}
	case *pawl.PromptAssembled:
		if s := l.session(f); s != nil {
			s.Prompt, s.PromptSeq = b, e.Seq
		}
	case *pawl.ModelReplied:
		if s := l.session(f); s != nil {
			s.Turn++
			s.Model = b.Model
		}
		r.charge(l, f, Spending{Calls: 1, Cost: b.Cost, Tokens: b.Usage.Total()})
	case *pawl.ToolReturned:
		if do, ok := doOf[*pawl.CallTool](f); ok && l.session(f) != nil {
			s := l.session(f)
			s.Calls = append(s.Calls, Call{do.Tool, do.Args, b.Output, b.IsError, e.Time})
		}
	case *pawl.TasksRead:
		l.listed = l.listed[max(0, len(l.listed)-max(0, b.Count)):] // what was read before is no plan any more
	case *pawl.Merged, *pawl.BranchAdvanced:
		r.merged(l, e, f)
	case *pawl.CheckpointMarked, *pawl.Restored, *pawl.Recorded:
		r.kept(l, e, f)
	case *pawl.GateJudged:
		g := &Gate{*b, e.Seq, r.Recipe.JudgeOf(b)}
		switch {
		case b.OnBase:
			r.Base = record(r.Base, g)
			if b.Lacks != "" {
				r.Notes = append(r.Notes, lacking(b))
			}
		case it != nil:
			it.Gates = record(it.Gates, g)
		}
	case *pawl.Prepared:
		r.Preparations.add(b)
	case *pawl.Committed:
		if l.Branch == "" || l.Branch == r.Start.Branch {
			r.Head = b.Commit
		}
		if it != nil {
			it.Commit, it.Files = b, max(it.Files, b.Files)
		}
		if b.Files > 0 {
			r.moved = mark(e, "%scommit %s changed %s", r.lead(l), short(b.Commit), count(b.Files, "file"))
		}
	}
}

// record adds a verdict in place of an earlier one of the same gate.
func record(all []*Gate, g *Gate) []*Gate {
	if i := slices.IndexFunc(all, func(o *Gate) bool { return o.Gate == g.Gate && o.judge == g.judge }); i >= 0 {
		all[i] = g
		return all
	}
	return append(all, g)
}

// session is the session an effect belongs to, or nil.
func (l *Loop) session(f *pawl.Effect) *Session {
	if f == nil {
		return nil
	}
	return l.sessions[f.Session]
}

// close takes an effect from those under way; nil when it is not one of them.
func (r *Run) close(id pawl.Seq) *pawl.Effect {
	i := slices.IndexFunc(r.open, func(p pending) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	f := r.open[i].Effect
	r.closed = f
	r.open = slices.Delete(r.open, i, i+1)
	return f
}

// charge counts what an effect cost. Only model calls cost anything.
func (r *Run) charge(l *Loop, f *pawl.Effect, s Spending) {
	r.Cost += s.Cost
	r.Tokens += s.Tokens
	r.lost.add(s)
	if f == nil || l == nil || f.Do.Verb() != pawl.VerbCallModel {
		return
	}
	for p := l; p != nil; p = r.loop(p.Parent) {
		p.Spent.add(s)
	}
	x := l.session(f)
	if x == nil {
		return
	}
	x.Spent.add(s)
	if x.iteration != nil && x.iteration.End == nil {
		x.iteration.Spent.add(s)
	}
}

// mark points at an event.
func mark(e pawl.Event, format string, args ...any) Mark {
	return Mark{e.Seq, e.Time, line(format, args...)}
}

// problem is a mark that is also kept among the run's problems.
func (r *Run) problem(e pawl.Event, format string, args ...any) Mark {
	m := mark(e, format, args...)
	if r.Problems = append(r.Problems, m); len(r.Problems) > keptProblems {
		r.Problems = slices.Delete(r.Problems, 0, 1)
	}
	return m
}
