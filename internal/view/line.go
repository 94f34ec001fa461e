package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Level says how much an event matters to someone who follows a run.
type Level int

// The levels, least first.
const (
	Detail    Level = iota // bookkeeping: for looking into Pawl itself
	Normal                 // what agents do: calls, replies, tools
	Important              // what the run comes to: iterations, verdicts, decisions, trouble
)

// LevelOf is the level of an event's line.
func LevelOf(e pawl.Event) Level {
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		switch {
		case b.Pending: // a line for each would hide the plan it comes from
			return Normal
		case b.Task != "":
			return Important
		}
		return Detail
	case *pawl.SignalSent, *pawl.SignalAcknowledged, *pawl.LoopAdmitted, *pawl.Invalidated, *pawl.Archived:
		return cascadeLevel(e)
	case *pawl.WorkspaceInspected, *pawl.WorkspaceClosed, *pawl.WaitEnded, *pawl.PromptAssembled,
		*pawl.AnswerIgnored, *pawl.TasksListed, *pawl.TasksRead, *pawl.Restored:
		return Detail
	case *pawl.LoopEnded:
		if e.Loop == 1 { // the run's end says it
			return Detail
		}
	case *pawl.IterationStarted:
		if b.N == 1 && e.Loop > 1 { // its loop has just started
			return Normal
		}
	case *pawl.LimitReached:
		if b.Limit == pawl.LimitLoops { // others are at work
			return Normal
		}
	case *pawl.TasksBlocked:
		if len(b.Tasks) == 0 {
			return Detail
		}
	case *pawl.Merged:
		if b.Conflicts == 0 && b.Unresolved == 0 {
			return Detail
		}
	case *pawl.ConflictsProbed:
		if len(b.With) == 0 {
			return Detail
		}
	case *pawl.Notified:
		if b.Status == 0 || b.Status >= 200 && b.Status < 300 {
			return Normal
		}
	case *pawl.EffectRequested:
		switch b.Effect.Do.(type) {
		case *pawl.Wait:
			return Important
		case *pawl.CallTool:
			return Normal
		}
		return Detail
	case *pawl.NoteAdded:
		if b.IsError {
			return Normal
		}
		return Detail
	case *pawl.ToolReturned:
		if b.IsError || b.Interrupted {
			return Normal
		}
		return Detail
	case *pawl.GateJudged:
		if b.OnBase && (b.Verdict == pawl.VerdictPass || b.Verdict == pawl.VerdictSkip) {
			return Normal
		}
	case *pawl.Prepared:
		if b.Reused {
			return Detail
		}
	case *pawl.SessionEnded:
		if b.Result == pawl.SessionDone {
			return Normal
		}
	case *pawl.WorkspaceOpened:
		if b.Note == "" {
			return Normal
		}
	case *pawl.WorkspaceReset:
		if b.Salvage == "" {
			return Normal
		}
	case *pawl.RunStarted, *pawl.ModelReplied, *pawl.SessionStarted, *pawl.GatesReused, *pawl.EffectWithdrawn,
		*pawl.MergeQueued, *pawl.BranchAdvanced, *pawl.NotePosted, *pawl.MemoryAdded, *pawl.MemoryForgotten,
		*pawl.Recorded:
		return Normal
	}
	return Important
}

// Line is an event as one line of a log, without its time. What happens in a
// loop with a task of its own is told behind the task's id. The run has had the
// event applied.
func Line(e pawl.Event, r *Run, blobs Blobs) string {
	t := teller{e, r, r.loop(e.Loop), blobs}
	return plain.Line(r.lead(t.l)+t.tell(), 0)
}

func (t teller) tell() string {
	switch t.e.Body.(type) {
	case *pawl.EffectRequested, *pawl.EffectFailed, *pawl.EffectLost, *pawl.EffectWithdrawn, *pawl.AnswerIgnored:
		return t.effect()
	case *pawl.TasksRead, *pawl.Merged, *pawl.BranchAdvanced, *pawl.ConflictsProbed, *pawl.Notified:
		return t.merging()
	case *pawl.CheckpointMarked, *pawl.Restored, *pawl.Recorded:
		return t.branches()
	case pawl.Answer:
		return t.answer()
	case *pawl.BatchStarted, *pawl.TaskJudged, *pawl.BatchEnded, *pawl.HealthJudged, *pawl.HealthOverridden, *pawl.RollbackCalled,
		*pawl.RolledBack, *pawl.TaskHeld, *pawl.Forked:
		return t.batch()
	case *pawl.QuestionAsked, *pawl.QuestionAnswered, *pawl.QuestionWithdrawn, *pawl.MemoryAdded, *pawl.MemoryForgotten, *pawl.NotePosted:
		return t.shared()
	case *pawl.TasksListed, *pawl.PlanAccepted, *pawl.PlanRefused, *pawl.ReplanCalled, *pawl.TasksBlocked, *pawl.TasksSkipped,
		*pawl.Rerouted, *pawl.RoundsEnded, *pawl.MergeQueued:
		return t.tree()
	case *pawl.SignalSent, *pawl.SignalAcknowledged, *pawl.LoopAdmitted, *pawl.GenerationStarted, *pawl.Invalidated, *pawl.Archived, *pawl.TaskRetried:
		return t.cascade()
	}
	if t.e.Loop == 0 {
		return t.run()
	}
	return t.loop()
}

// teller puts one event into words.
type teller struct {
	e     pawl.Event
	r     *Run
	l     *Loop // the event's loop, or nil
	blobs Blobs
}

func (t teller) run() string {
	r := t.r
	switch b := t.e.Body.(type) {
	case *pawl.RunStarted:
		sandbox, _, _ := strings.Cut(r.sandbox(), ":")
		s := fmt.Sprintf("%s: %s (recipe %s, branch %s, sandbox: %s)", t.e.Run, b.Title, r.Recipe.Name, b.Branch, sandbox)
		return strings.Join(append([]string{s}, b.Notes...), " · ")
	case *pawl.RunPaused:
		return "Paused" + because(b.Reason)
	case *pawl.RunResumed:
		if b.From == "" {
			return "Resumed" + because(b.Reason)
		}
		return fmt.Sprintf("Resumed after %s%s", b.From, because(b.Reason))
	case *pawl.AccountChanged:
		return fmt.Sprintf("%s is called at %s from now on, not at %s: the run was resumed or forked where that is its account",
			b.To.Provider, b.To, b.From)
	case *pawl.ClockJumped:
		if b.By < 0 {
			return fmt.Sprintf("The clock was set back by %s", span(-b.By))
		}
		return fmt.Sprintf("The clock jumped %s ahead, or the machine slept: that is no time of the run", span(b.By))
	case *pawl.CancelRequested:
		how := map[pawl.Draining]string{pawl.DrainFinish: "the iteration ends first", pawl.DrainNow: "at once"}[b.Running]
		if how == "" {
			how = "what is in flight ends first"
		}
		return fmt.Sprintf("Cancelling, %s%s", how, because(b.Reason))
	case *pawl.RunStopping:
		return fmt.Sprintf("Stopping as %s%s", b.Outcome, because(b.Reason))
	case *pawl.LimitsChanged:
		return "Limits changed: " + limitsText(b.Limits)
	case *pawl.LimitReached:
		return capital(limitText(b))
	case *pawl.BudgetWarned:
		return fmt.Sprintf("Warning: four fifths of the limit on %s are used: %s of %s", b.Limit, Amount(b.Limit, b.Value), Amount(b.Limit, b.Max))
	case *pawl.Recovered:
		if f := r.Fork; f != nil && t.e.Seq == f.Seq+1 {
			return "What was under way at that event starts again"
		}
		return "Recovered: the process that drove the run had died; this one goes on"
	case *pawl.RunEnded:
		return fmt.Sprintf("%s: %s (%s)", strings.ToUpper(string(b.Outcome)), b.Reason, r.spent())
	}
	return t.e.Body.EventKind().String()
}

func limitsText(l pawl.Limits) string {
	var parts []string
	add := func(name pawl.LimitName, v int64) {
		text := "none"
		if v > 0 {
			text = Amount(name, v)
		}
		parts = append(parts, string(name)+" "+text)
	}
	add(pawl.LimitMoney, int64(l.Money))
	add(pawl.LimitTokens, l.Tokens)
	add(pawl.LimitTime, int64(l.Time))
	add(pawl.LimitIterations, int64(l.Iterations))
	return strings.Join(parts, ", ")
}

func (t teller) loop() string {
	r := t.r
	switch b := t.e.Body.(type) {
	case *pawl.LoopStarted:
		return t.loopStarted(b)
	case *pawl.ComplexityScored:
		return fmt.Sprintf("Complexity %d/14: starts on %s (%s)", b.Score, r.Recipe.Tier(b.Tier), b.Why)
	case *pawl.IterationStarted: // D-29
		return fmt.Sprintf("Starting iteration %s (%s)%s", of(b.N, b.Max), r.Recipe.Tier(b.Tier), because(b.Reason))
	case *pawl.IterationRestarted:
		return fmt.Sprintf("The iteration starts again, attempt %d%s", b.Attempt, because(b.Reason))
	case *pawl.SessionStarted:
		return t.sessionStarted(b)
	case *pawl.NoteAdded:
		if b.Call > 0 {
			return fmt.Sprintf("%s: call %d answered: %s", t.place(b.Session), b.Call, b.Text)
		}
		return fmt.Sprintf("%s: note: %s", t.place(b.Session), b.Text)
	case *pawl.SessionEnded:
		return t.sessionEnded(b)
	case *pawl.GatesReused:
		return fmt.Sprintf("the same tree as in iteration %d: its verdicts stand", b.From)
	case *pawl.IterationEnded:
		return t.iterationEnded(b)
	case *pawl.Escalated:
		return fmt.Sprintf("Escalation: implementation upgraded %s → %s · Reason: %s · Iteration: %d", r.Recipe.Tier(b.From), r.Recipe.Tier(b.To), b.Reason, b.Iteration)
	case *pawl.CouncilCalled:
		return fmt.Sprintf("Council: %s convene · Reason: %s", count(b.Members, "member"), b.Reason)
	case *pawl.CouncilDecided:
		if b.Winner == "" {
			return "Council: nobody made a proposal"
		}
		return fmt.Sprintf("Council: proposal %s by %s wins, %d%% sure (%s)", b.Winner, b.Lens, b.Confidence, b.Rounds)
	case *pawl.LimitReached:
		return capital(limitText(b))
	case *pawl.GateLeftOut:
		return leftOutText(b)
	case *pawl.LoopEnded:
		return t.loopEnded(b)
	}
	return t.e.Body.EventKind().String()
}

func (t teller) iterationEnded(b *pawl.IterationEnded) string {
	spent := Spending{Cost: b.Cost, Tokens: b.Tokens}
	if t.l != nil {
		if it := t.l.iteration(b.N); it != nil {
			spent = it.Spent
		}
	}
	return fmt.Sprintf("iteration %d: %s · quality %s, requirements %s · %s · Reason: %s", b.N, t.r.spending(spent),
		either(b.Quality), either(b.Requirements), strings.ToUpper(string(b.Decision)), b.Reason)
}

func (t teller) sessionStarted(b *pawl.SessionStarted) string {
	s := fmt.Sprintf("%s (%s): up to %s", b.Place.String(), t.r.Recipe.Tier(b.Place.Tier), count(b.Turns, "turn"))
	if b.Timeout > 0 {
		s += ", " + span(b.Timeout)
	}
	switch {
	case b.Item > 0 && b.Purpose == pawl.ForBatch:
		s += fmt.Sprintf(", of batch %d", b.Item)
	case b.Item > 0:
		s += fmt.Sprintf(", entry %d", b.Item)
	}
	if b.Try > 1 {
		s += fmt.Sprintf(", try %d", b.Try)
	}
	return s
}

func (t teller) sessionEnded(b *pawl.SessionEnded) string {
	s := fmt.Sprintf("%s: %s%s", t.place(b.Session), b.Result, because(b.Reason))
	if x := t.session(b.Session); x != nil {
		s += " · " + t.r.spending(x.Spent)
	}
	return s
}

func (t teller) session(n int) *Session {
	if t.l == nil {
		return nil
	}
	return t.l.sessions[n]
}

// place is where a session is, or its number.
func (t teller) place(n int) string {
	if x := t.session(n); x != nil {
		return x.Place.String()
	}
	return fmt.Sprintf("session %d", n)
}

func (t teller) effect() string {
	switch b := t.e.Body.(type) {
	case *pawl.EffectRequested:
		switch do := b.Effect.Do.(type) {
		case *pawl.CallTool:
			return fmt.Sprintf("%s: %s", b.Effect.Place.String(), toolCall(do.Tool, t.blobs.bytes(do.Args)))
		case *pawl.Wait:
			return fmt.Sprintf("Waiting %s%s%s", span(do.For), accountText(do), because(do.Reason))
		}
		return effectName(&b.Effect)
	case *pawl.EffectFailed:
		return t.last("an effect failed: "+b.Failure.Message) + charged(b)
	case *pawl.EffectLost:
		return t.last("an effect was lost") + lost(b.Charged)
	case *pawl.EffectWithdrawn:
		return fmt.Sprintf("%s withdrawn%s%s", t.asked(b.Effect), because(b.Reason), lost(b.Charged))
	case *pawl.AnswerIgnored:
		return fmt.Sprintf("an answer (%s) to effect %d came too late and changes nothing", b.What, b.Effect)
	}
	return t.e.Body.EventKind().String()
}

// last is the problem that this event caused: the fold knows which effect it was.
func (t teller) last(otherwise string) string {
	for _, p := range slices.Backward(t.r.Problems) {
		if p.Seq == t.e.Seq {
			return p.Text
		}
	}
	return otherwise
}

// charged says what a call that failed was charged; empty when that is nothing.
func charged(b *pawl.EffectFailed) string {
	switch {
	case b.Lost() || b.Charged == 0:
		return lost(b.Charged)
	case b.Failure.Estimated:
		return fmt.Sprintf(" (%s spent, as estimated)", b.Charged)
	}
	return fmt.Sprintf(" (%s spent)", b.Charged)
}

// lost says what a call was charged whose cost nobody knows.
func lost(m pawl.Micros) string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s lost)", m)
}

func (t teller) answer() string {
	switch b := t.e.Body.(type) {
	case *pawl.WorkspaceOpened:
		s := fmt.Sprintf("worktree open at %s%s", short(b.Head), saved(b.Salvage))
		if b.Note != "" {
			s += " · " + b.Note
		}
		return s
	case *pawl.PromptAssembled:
		s := "prompt assembled: " + count(int(b.Bytes), "byte")
		if len(b.Cut) > 0 {
			s += ", left out to fit: " + strings.Join(b.Cut, ", ")
		}
		return s
	case *pawl.ModelReplied:
		return t.reply(b)
	case *pawl.ToolReturned:
		return t.returned(b)
	case *pawl.GateJudged:
		return judgedText(b)
	case *pawl.Prepared:
		return preparedText(b)
	case *pawl.Committed:
		return fmt.Sprintf("Commit %s: %s changed, %s against the base%s", short(b.Commit), count(b.Files, "file"), count(b.Total, "file"), leftOut(b.LeftOut))
	case *pawl.WorkspaceInspected:
		return "looked at the worktree"
	case *pawl.WorkspaceReset:
		if do, ok := doOf[*pawl.ResetWorkspace](t.r.closed); ok && do.Detached {
			return fmt.Sprintf("worktree shows %s%s", short(do.Commit), saved(b.Salvage))
		}
		return fmt.Sprintf("worktree reset to %s%s", short(b.Head), saved(b.Salvage))
	case *pawl.WorkspaceClosed:
		return "worktree closed" + saved(b.Salvage)
	case *pawl.WaitEnded:
		return "the wait is over"
	}
	return t.e.Body.EventKind().String()
}

// leftOut says how many files a recording left out, and by which limits.
func leftOut(limits []pawl.LimitMet) string {
	var s string
	for _, m := range limits {
		s += fmt.Sprintf(", %s left out: ", count(m.Files, "file"))
		switch m.Limit {
		case pawl.LimitGitName:
			s += "git refuses the name"
		case pawl.LimitGitContent:
			s += "git cannot store the content"
		case pawl.LimitFile:
			s += "more than " + count(int(m.Max), "byte")
		case pawl.LimitNewFiles:
			s += "more than " + count(int(m.Max), "new file")
		case pawl.LimitNewBytes:
			s += "more than " + count(int(m.Max), "byte") + " of new content"
		default:
			s += "limit " + string(m.Limit)
		}
		if setting := m.Limit.Setting(); setting != "" {
			s += " (" + setting + ")"
		}
	}
	return s
}

// saved says where uncommitted work is kept.
func saved(ref string) string {
	if ref == "" {
		return ""
	}
	return ", what it held is saved in " + ref
}

func (t teller) reply(b *pawl.ModelReplied) string {
	s := b.Model + " replied"
	if text := plain.Line(t.blobs.text(b.Text), 100); text != "" {
		s += ": " + text
	}
	if len(b.Calls) > 0 {
		s += " · calls"
		for _, c := range b.Calls {
			s += " " + c.Tool
		}
	}
	s += fmt.Sprintf(" · %s", count(int(b.Usage.Total()), "token"))
	if !t.r.Settings.NoCost {
		s += ", " + b.Cost.String()
	}
	return s
}

func (t teller) returned(b *pawl.ToolReturned) string {
	tool := t.asked(b.Effect)
	switch {
	case b.Interrupted:
		return tool + ": interrupted when the process died"
	case len(b.LeftOut) > 0:
		return tool + ": the worktree holds what cannot be recorded" + leftOut(b.LeftOut)
	case len(b.Met) > 0:
		return tool + ": " + b.Met[0].String()
	case b.IsError:
		return tool + ": error: " + plain.Line(t.blobs.text(b.Output), 160)
	}
	return tool + ": " + count(int(b.Bytes), "byte")
}

// asked names the effect that this event ended.
func (t teller) asked(id pawl.Seq) string {
	f := t.r.closed
	if f == nil || f.ID != id {
		return fmt.Sprintf("effect %d", id)
	}
	return effectName(f)
}

func judgedText(b *pawl.GateJudged) string {
	s := fmt.Sprintf("Gate %s: %s", b.Gate, strings.ToUpper(string(b.Verdict)))
	switch {
	case b.OnBase && b.Partial: // it proves nothing, so it is no failure
		return fmt.Sprintf("Gate %s on the base: NO VERDICT, so nothing is excused by it%s", b.Gate, because(b.Reason))
	case b.OnBase:
		s = fmt.Sprintf("Gate %s on the base: %s", b.Gate, strings.ToUpper(string(b.Verdict)))
	}
	if b.Total > 0 {
		s += fmt.Sprintf(" (%d/%d)", b.Passed, b.Total)
	}
	s += tookLong(b.Duration)
	if b.RedAtBase {
		s += ", red at base and not worse"
	}
	if b.Partial {
		s += ", partial"
	}
	s += because(b.Reason)
	if b.OnBase && b.Lacks != "" {
		s += " · " + lacking(b)
	}
	return s
}

// tookLong returns how long a gate's command ran; empty for less than a second.
func tookLong(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return " in " + span(d)
}

// lacking returns what a gate needs that the base does not have.
func lacking(b *pawl.GateJudged) string {
	return fmt.Sprintf("gate %s needs %s, which the repository does not have yet; the run goes on, as its goal may be to add it", b.Gate, b.Lacks)
}

// leftOutText returns why a gate is not part of the run.
func leftOutText(b *pawl.GateLeftOut) string {
	by := "allowed beforehand"
	if b.By != "" {
		by = "allowed by " + b.By
	}
	return fmt.Sprintf("Gate %s is left out of this run: %s is not installed (%s)", b.Gate, b.Missing, by)
}

// mainArguments are the names under which tools take what they are about, the
// most telling first.
var mainArguments = [...]string{"path", "file", "command", "pattern", "query", "url", "name"}

// toolCall is a tool's name with the argument that tells most: "edit main.go".
func toolCall(tool string, args []byte) string {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return tool
	}
	for _, name := range mainArguments {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + " " + plain.Line(s, 100)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if s, ok := in[name].(string); ok && s != "" {
			return tool + " " + plain.Line(s, 100)
		}
	}
	return tool
}
