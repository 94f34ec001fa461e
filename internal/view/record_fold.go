package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// recordState is what a record's status follows from.
type recordState struct {
	kind     *pawl.LoopKind // nil when the recipe has none of it
	pending  bool           // it waits for its admission
	accepted bool           // the artifact of its present iteration is
	end      *pawl.LoopEnded
	invalid  bool
	paused   bool     // a signal holds it
	limited  pawl.Seq // the model call's wait for a provider's limit; 0 = none
	rebasing bool
	tier     int
	spec     pawl.Hash // a JSON TaskSpec
	validate bool      // the spec names a validation command
	step     string    // the one whose artifact children are spawned from; empty = none
	file     string    // of its artifacts
	making   []int     // the sessions of that step
	said     []remark
	gates    []objection // of the iteration under way
	plans    []int       // the questions about its plan
	shelved  bool        // it, not the run, is archived
	// Why it is paused by a signal, by a provider's limit, and invalidated.
	held, waits, gone string
	was               pawl.ApprovalState // before the event
	moved             bool               // its paths lead to the archive
}

// remark is a section of a loop's progress.
type remark struct {
	head  string
	text  string
	rule  bool // a line stands above it
	n     int  // the iteration it is about, from 1
	gates []objection
}

// objection is what a gate, or a loop below, said against an iteration.
type objection struct {
	from     string
	reason   string
	evidence pawl.Hash
}

// recordsState is what the fold knows of the run.
type recordsState struct {
	recipe   pawl.Recipe
	settings pawl.Settings
	goal     pawl.Hash
	paused   bool
	reason   string
	listed   map[pawl.LoopRef][]pawl.TaskEntry // of a list that is being read
	entries  map[pawl.LoopRef][]pawl.TaskEntry // of the plan in force
	doing    map[pawl.Seq]doing                // model calls, waits and rebases under way
	limited  map[pawl.LoopRef]string           // a provider's limit let the last model call not through
	asked    map[int]*Record                   // by the numbers of the questions that are open
}

// doing is an effect under way that a status may follow from.
type doing struct {
	loop pawl.LoopRef
	verb pawl.Verb
	held pawl.Money // what a call has reserved
}

// rebaseStep is the place of the effects that bring a loop onto its parent's head.
const rebaseStep = "rebase"

// Add folds the next event, and says which loops have another status or approval now.
func (rs *Records) Add(e pawl.Event) []Change {
	if rs.doing == nil {
		rs.Run, rs.doing, rs.limited = e.Run, map[pawl.Seq]doing{}, map[pawl.LoopRef]string{}
		rs.listed, rs.entries = map[pawl.LoopRef][]pawl.TaskEntry{}, map[pawl.LoopRef][]pawl.TaskEntry{}
		rs.asked = map[int]*Record{}
	}
	if b, ok := e.Body.(*pawl.LoopStarted); ok {
		rs.begin(e, b)
	}
	var out []Change
	switch e.Body.(type) {
	case *pawl.QuestionAnswered, *pawl.QuestionWithdrawn: // a user's answer is the run's event
		if r := rs.question(e); r != nil {
			r.UpdatedAt = millis(e.Time)
			out = rs.settle(r, out)
		}
	default:
		r := rs.Loop(e.Loop)
		if r == nil {
			return rs.ofRun(e)
		}
		r.UpdatedAt = millis(e.Time)
		rs.ofLoop(r, e)
		out = rs.settle(r, out)
	}
	return out
}

// ofRun folds what is said of the run as a whole.
func (rs *Records) ofRun(e pawl.Event) (out []Change) {
	switch b := e.Body.(type) {
	case *pawl.RunStarted:
		rs.goal = b.Goal
		_ = json.Unmarshal(b.Recipe, &rs.recipe) // what cannot be read says nothing
		_ = json.Unmarshal(b.Settings, &rs.settings)
	case *pawl.RunPaused:
		rs.paused, rs.reason = true, b.Reason
	case *pawl.RunResumed:
		rs.paused, rs.reason, rs.Archived = false, "", false
		for _, r := range rs.Loops {
			if r.end != nil && (r.Parent == 0 || r.end.Stopped) {
				r.end = nil
				if r.Approval == pawl.ApprovalRejected {
					r.accepted = false
				}
			}
		}
	case *pawl.RunEnded:
		rs.paused = false
	case *pawl.Archived:
		rs.Archived = true
	case *pawl.Forked:
		rs.forked()
	default:
		return nil
	}
	for _, r := range rs.Loops {
		out = rs.settle(r, out)
	}
	return out
}

// forked takes over that the run is a fork: what was under way, asked and spent is the
// other run's, and nothing is approved. Children at work do not go on.
func (rs *Records) forked() {
	rs.paused, rs.reason, rs.Archived = false, "", false
	clear(rs.doing)
	clear(rs.limited)
	clear(rs.asked)
	for _, r := range rs.Loops {
		r.Cost, r.Tokens, r.Lost, r.LostTokens, r.Money = 0, 0, 0, 0, pawl.Money{}
		r.Questions, r.Approval = nil, pawl.ApprovalNone
		r.paused, r.limited, r.rebasing = false, 0, false
		switch {
		case r.Parent == 0:
			r.end = nil
		case r.end == nil && !r.invalid:
			r.end = &pawl.LoopEnded{Outcome: pawl.OutcomeCancelled, Reason: "the run was forked", Stopped: true}
		}
	}
}

// begin makes the record of a loop.
func (rs *Records) begin(e pawl.Event, b *pawl.LoopStarted) {
	r := &Record{ID: b.ID, LoopType: b.Kind, OutputArtifacts: []string{}, Run: rs.Run, Ref: e.Loop, Parent: b.Parent,
		Approval: pawl.ApprovalNone, Generation: 1, Task: b.Task, Index: b.Entry, Branch: b.Branch, CreatedAt: millis(e.Time),
		ParentIteration: b.ParentIteration, ParentGeneration: b.ParentGeneration}
	r.kind, r.pending = rs.recipe.Kind(b.Kind), b.Pending
	if r.Parent >= r.Ref { // it would be above itself
		r.Parent = 0
	}
	if p := rs.Loop(r.Parent); p != nil {
		r.ParentID, r.Depth = p.ID, p.Depth+1
		p.Spawned++
		if list := rs.entries[p.Ref]; b.Entry >= 1 && b.Entry <= len(list) {
			entry := list[b.Entry-1]
			r.Title, r.spec, r.validate = entry.Title, entry.Spec, entry.Validated
		}
	}
	if r.kind != nil {
		r.MaxIterations = r.kind.Iterations
		st := begins(r.kind)
		r.PromptPath = st.Prompt
		if c := r.kind.Children; c != nil && c.From == st.Name {
			r.step, r.file = st.Name, fileOf(&st)
		}
	}
	rs.Loops = append(rs.Loops, r)
}

// begins returns the step whose artifact children are spawned from, or the last one where
// there are none.
func begins(k *pawl.LoopKind) (out pawl.Step) {
	var walk func([]pawl.Step) bool
	walk = func(all []pawl.Step) bool {
		for _, st := range all {
			if st.Repeat != nil {
				if walk(st.Repeat.Steps) {
					return true
				}
				continue
			}
			out = st
			if k.Children != nil && k.Children.From == st.Name {
				return true
			}
		}
		return false
	}
	walk(k.Steps)
	return out
}

// fileOf returns the name of the file of a step's result.
func fileOf(st *pawl.Step) string {
	if kind, ok := strings.CutPrefix(st.Output, "create_"); ok {
		return plain.Line(kind, 40) + ".md"
	}
	return plain.Line(cmp.Or(st.Output, st.Name), 40) + ".json"
}

// ofLoop folds what is said of a loop.
func (rs *Records) ofLoop(r *Record, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		rs.request(r, e.Seq, &b.Effect)
	case *pawl.EffectFailed:
		rs.failed(r, b)
		if b.Lost() {
			rs.charge(r, lostCall(b.Charged, b.ChargedTokens))
		} else {
			rs.charge(r, Spending{Cost: b.Charged, Tokens: b.ChargedTokens})
		}
	case *pawl.EffectLost:
		rs.over(r, b.Effect)
		rs.charge(r, lostCall(b.Charged, b.ChargedTokens))
	case *pawl.EffectWithdrawn:
		rs.over(r, b.Effect)
		rs.charge(r, lostCall(b.Charged, b.ChargedTokens))
	case *pawl.ModelReplied:
		rs.over(r, b.Effect)
		rs.charge(r, Spending{Cost: b.Cost, Tokens: b.Usage.Total()})
	case *pawl.GateJudged:
		r.judge(b)
	case *pawl.TasksRead:
		list := rs.listed[r.Ref]
		rs.listed[r.Ref] = list[max(0, len(list)-max(0, b.Count)):] // what was read before is no plan any more
	case pawl.Answer:
		rs.over(r, b.Answers())
	case *pawl.TasksListed:
		rs.listed[r.Ref] = append(rs.listed[r.Ref], b.Entries...)
	case *pawl.PlanRefused:
		delete(rs.listed, r.Ref)
	case *pawl.PlanAccepted:
		rs.entries[r.Ref] = rs.listed[r.Ref]
		delete(rs.listed, r.Ref)
		r.List, r.Spawned = b.List, 0
		r.accepted = r.kind != nil && r.kind.Children.IsEager()
	case *pawl.QuestionAsked:
		rs.ask(r, b)
	case *pawl.LoopAdmitted:
		r.pending, r.Score = false, b.Score
	case *pawl.GenerationStarted:
		r.Generation, r.Branch, r.accepted = b.N, b.Branch, false
		if r.Approval == pawl.ApprovalApproved {
			r.Approval = pawl.ApprovalNone
		}
	case *pawl.SignalSent:
		rs.signal(r, e, b)
	case *pawl.SignalAcknowledged:
		rs.acknowledge(r, e, b)
	case *pawl.Invalidated:
		r.invalid, r.gone = true, b.Reason
	case *pawl.Archived:
		r.shelved = true
	default:
		rs.iterate(r, e)
	}
}

// iterate folds the course of a loop's iterations.
func (rs *Records) iterate(r *Record, e pawl.Event) {
	switch b := e.Body.(type) {
	case *pawl.ComplexityScored:
		r.tier = b.Tier
	case *pawl.Escalated:
		r.tier = b.To
	case *pawl.IterationStarted:
		r.Iteration, r.MaxIterations, r.tier = b.N-1, b.Max, b.Tier
		r.end, r.pending, r.accepted, r.rebasing, r.gates = nil, false, false, false, nil
		if r.Approval == pawl.ApprovalApproved {
			r.Approval = pawl.ApprovalNone
		}
	case *pawl.IterationRestarted:
		r.gates = nil
	case *pawl.SessionStarted:
		r.rebasing = false
		if b.Purpose == pawl.ForStep && r.step != "" && b.Place.Step == r.step {
			r.making = append(r.making, b.Session)
		}
	case *pawl.SessionEnded:
		r.handedIn(b)
	case *pawl.IterationEnded:
		r.closeIteration(b)
	case *pawl.LoopEnded:
		r.end, r.gone = b, b.Reason
		r.invalid = r.invalid || b.Outcome == pawl.OutcomeInvalid
	}
}

// handedIn notes that a session left the artifact that children are spawned from.
func (r *Record) handedIn(b *pawl.SessionEnded) {
	i := slices.Index(r.making, b.Session)
	if i < 0 {
		return
	}
	r.making = slices.Delete(r.making, i, i+1)
	if b.Result != pawl.SessionDone || b.Output.IsZero() {
		return
	}
	n := r.Shown()
	if k := len(r.Artifacts); k > 0 && r.Artifacts[k-1].Iteration == n {
		r.Artifacts[k-1].Blob = b.Output
		return
	}
	r.Artifacts = append(r.Artifacts, HandedIn{n, b.Output})
}

// judge keeps what a gate has against the iteration under way.
func (r *Record) judge(b *pawl.GateJudged) {
	if b.OnBase || b.On != "" {
		return
	}
	r.gates = slices.DeleteFunc(r.gates, func(o objection) bool { return o.from == b.Gate })
	if b.Verdict != pawl.VerdictPass && b.Verdict != pawl.VerdictSkip {
		r.gates = append(r.gates, objection{b.Gate, b.Reason, b.Evidence})
	}
}

// closeIteration says of an iteration that did not pass why. What a person said of it
// says that already.
func (r *Record) closeIteration(b *pawl.IterationEnded) {
	if b.Decision == pawl.DecideComplete {
		return
	}
	r.accepted = false
	if b.Decision != pawl.DecideHalt && b.Outcome == "" {
		r.Iteration = b.N
	}
	for _, s := range r.said {
		if s.n == b.N {
			return
		}
	}
	text := b.Reason
	for _, line := range b.Errors {
		if line != b.Reason {
			text += "\n- " + line
		}
	}
	r.said = append(r.said, remark{head: fmt.Sprintf("## Iteration %d Failed", b.N), text: text, rule: true, n: b.N, gates: r.gates})
	r.gates = nil
}

// ask notes that a loop waits for a person.
func (rs *Records) ask(r *Record, b *pawl.QuestionAsked) {
	rs.asked[b.N] = r
	r.Questions = append(r.Questions, b.N)
	if b.Kind == pawl.AskPlan {
		r.Approval, r.About = pawl.ApprovalAwaiting, b.About
		r.plans = append(r.plans, b.N)
		r.accepted = r.accepted || r.kind != nil && r.kind.Children.IsEager() // one that was rejected, too
	}
}

// question folds what became of a question, and says whose it was.
func (rs *Records) question(e pawl.Event) *Record {
	n := 0
	answer, answered := e.Body.(*pawl.QuestionAnswered)
	if answered {
		n = answer.N
	} else if b, ok := e.Body.(*pawl.QuestionWithdrawn); ok {
		n = b.N
	}
	r := rs.asked[n]
	if r == nil {
		return nil
	}
	delete(rs.asked, n)
	r.Questions = slices.DeleteFunc(r.Questions, func(q int) bool { return q == n })
	switch ofPlan := slices.Contains(r.plans, n); {
	case !ofPlan:
	case answered:
		r.decided(answer)
	case r.Approval == pawl.ApprovalAwaiting:
		r.Approval = pawl.ApprovalNone
	}
	return r
}

// The choices of a question about a plan; Loom's word for iterate is revise.
const (
	choiceApprove = "approve"
	choiceIterate = "iterate"
	choiceRevise  = "revise"
	choiceReject  = "reject"
)

// decided folds what a person made of a plan.
func (r *Record) decided(b *pawl.QuestionAnswered) {
	n := r.Shown()
	switch b.Choice {
	case choiceApprove:
		r.Approval = pawl.ApprovalApproved
	case choiceIterate, choiceRevise:
		r.Approval, r.accepted = pawl.ApprovalIterating, false
		r.said = append(r.said, remark{head: fmt.Sprintf("## User Feedback (Iteration %d)", n), text: b.Text, rule: true, n: n})
		if b.Choice == choiceIterate {
			r.Iteration = n
		}
	case choiceReject:
		r.Approval = pawl.ApprovalRejected
		text := b.Text
		if text == "" {
			text = "No reason provided"
		}
		r.said = append(r.said, remark{head: "## User Rejected", text: text, n: n})
	}
}

// request notes the effects that a status follows from.
func (rs *Records) request(r *Record, seq pawl.Seq, f *pawl.Effect) {
	switch do := f.Do.(type) {
	case *pawl.OpenWorkspace:
		r.Worktree = "worktrees/" + plain.Line(do.Name, 200)
		if r.Branch == "" {
			r.Branch = do.Branch
		}
	case *pawl.CallModel:
		call := doing{r.Ref, pawl.VerbCallModel, reservation(f)}
		rs.doing[seq] = call
		rs.figure(r, call.held)
		delete(rs.limited, r.Ref)
	case *pawl.Wait:
		if why, ok := rs.limited[r.Ref]; ok {
			rs.doing[seq] = doing{loop: r.Ref, verb: pawl.VerbWait}
			r.limited, r.waits = seq, why
			delete(rs.limited, r.Ref)
		}
	case *pawl.Merge:
		if f.Place.Step == rebaseStep {
			r.rebasing = true
		}
	case *pawl.ResetWorkspace:
		if f.Place.Step == rebaseStep {
			rs.doing[seq] = doing{loop: r.Ref, verb: pawl.VerbResetWorkspace}
			r.rebasing = true
		}
	}
}

// over notes that an effect is not under way any more.
func (rs *Records) over(r *Record, id pawl.Seq) {
	f, ok := rs.doing[id]
	if !ok {
		return
	}
	delete(rs.doing, id)
	rs.release(f)
	switch f.verb {
	case pawl.VerbResetWorkspace:
		r.rebasing = false
	case pawl.VerbWait:
		if r.limited == id {
			r.limited, r.waits = 0, ""
		}
	}
}

// failed notes a model call that a provider's limit let not through: the wait that
// follows is for that.
func (rs *Records) failed(r *Record, b *pawl.EffectFailed) {
	f := rs.doing[b.Effect]
	delete(rs.doing, b.Effect)
	rs.release(f)
	if f.verb == pawl.VerbCallModel && b.Failure.Limited() {
		rs.limited[r.Ref] = b.Failure.Message
		if b.Failure.Wait > 0 {
			rs.limited[r.Ref] = fmt.Sprintf("for %s: %s", b.Failure.Wait.Round(time.Second), b.Failure.Message)
		}
	}
}

// charge counts what a loop cost, for itself and those above it.
func (rs *Records) charge(r *Record, s Spending) {
	if s.Cost == 0 && s.Tokens == 0 {
		return
	}
	for p := r; p != nil; p = rs.Loop(p.Parent) {
		p.Cost += s.Cost
		p.Tokens += s.Tokens
		p.Lost += s.Lost
		p.LostTokens += s.LostTokens
	}
	rs.figure(r, s.money())
}

// release takes back what a call held, once it is over.
func (rs *Records) release(f doing) {
	rs.figure(rs.Loop(f.loop), pawl.Money{Held: -f.held.Held, HeldTokens: -f.held.HeldTokens})
}

// figure adds to the figures of a loop and of those above it.
func (rs *Records) figure(r *Record, m pawl.Money) {
	for p := r; p != nil; p = rs.Loop(p.Parent) {
		p.Money.Add(m)
	}
}

// signal keeps a signal as a record.
func (rs *Records) signal(r *Record, e pawl.Event, b *pawl.SignalSent) {
	s := &SignalRecord{ID: fmt.Sprintf("sig-%d-%04x", millis(e.Time), b.N), SignalType: b.Signal, TargetLoop: r.ID, TargetSelector: b.Selector,
		Reason: b.Reason, CreatedAt: millis(e.Time), Run: rs.Run, By: b.By, N: b.N, Target: r.Ref, payload: b.Payload}
	if from := rs.Loop(b.Source); from != nil {
		s.SourceLoop = from.ID
		if b.Signal == pawl.SignalError {
			r.gates = append(r.gates, objection{from.Name(), b.Reason, b.Payload})
		}
	}
	rs.Signals = append(rs.Signals, s)
}

// acknowledge folds that a loop has seen a signal.
func (rs *Records) acknowledge(r *Record, e pawl.Event, b *pawl.SignalAcknowledged) {
	s := rs.signalN(b.N)
	if s == nil {
		return
	}
	s.AcknowledgedAt, s.Expired = millis(e.Time), b.Expired
	switch s.SignalType {
	case pawl.SignalPause:
		r.paused, r.held = true, s.Reason
	case pawl.SignalResume, pawl.SignalStop, pawl.SignalInvalidate:
		r.paused, r.held = false, ""
	}
}

// settle derives what follows from all that, and notes whether it is another status
// or approval than before.
func (rs *Records) settle(r *Record, out []Change) []Change {
	from, approval := r.Status, r.was
	r.Status, r.Reason = rs.status(r)
	r.was, r.Archived = r.Approval, r.shelved || rs.Archived
	if n := r.kind.WorkTier(r.tier); r.tier > 0 && n > 0 {
		r.Tier = rs.recipe.Tier(n)
	}
	if away := r.away(); away != r.moved || from == "" {
		r.moved = away
		r.paths(rs)
		for _, c := range rs.Children(r) {
			c.paths(rs)
		}
	} else if len(r.OutputArtifacts) != len(r.Artifacts) {
		r.paths(rs)
	}
	if from != r.Status || approval != r.Approval {
		out = append(out, Change{r, from, approval})
	}
	return out
}

// status returns where a loop stands, and why, where that needs to be said.
func (rs *Records) status(r *Record) (pawl.LoopStatus, string) {
	switch {
	case r.invalid:
		return pawl.LoopInvalidated, r.gone
	case r.end != nil && r.end.Outcome.Succeeded():
		return pawl.LoopComplete, ""
	case r.end != nil && r.pending && r.end.Stopped && r.end.Outcome.Resumable():
		return pawl.LoopPending, ""
	case r.end != nil:
		return pawl.LoopFailed, r.end.Reason
	case r.paused:
		return pawl.LoopPaused, r.held
	case r.accepted && r.Approval == pawl.ApprovalAwaiting:
		return pawl.LoopComplete, "a person is asked about its plan"
	case r.accepted:
		return pawl.LoopComplete, ""
	case r.pending:
		return pawl.LoopPending, ""
	case rs.paused:
		return pawl.LoopPaused, rs.reason
	case r.limited != 0:
		return pawl.LoopPaused, r.waits
	case r.rebasing:
		return pawl.LoopRebasing, "a sibling's work was merged"
	}
	return pawl.LoopRunning, ""
}

// paths names the loop's files where they are now.
func (r *Record) paths(rs *Records) {
	r.OutputArtifacts = []string{}
	for _, a := range slices.Backward(r.Artifacts) {
		r.OutputArtifacts = append(r.OutputArtifacts, r.artifactPath(a.Iteration))
	}
	if p := rs.Loop(r.Parent); p != nil && p.file != "" && r.ParentIteration > 0 {
		r.InputArtifact = p.artifactPath(r.ParentIteration)
	}
}
