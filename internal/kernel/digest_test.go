package kernel

import (
	"fmt"
	"strings"
	"time"

	"pawl"
)

// digest is an event in one line for a reader of stories; empty when it is of
// no interest to one who does not want to see everything.
func (s *story) digest(e pawl.Event) string {
	if b, ok := e.Body.(*pawl.SessionStarted); ok {
		at := seat{e.Loop, b.Session}
		s.sessions[at], s.isStep[at] = strings.TrimSpace(b.Place.Step+" "+b.Place.Lens), b.Purpose == pawl.ForStep
	}
	if text := s.treeHeadline(e); text != "" {
		return text
	}
	if b, ok := e.Body.(*pawl.SessionEnded); ok && (b.Result != pawl.SessionDone || s.all) {
		return fmt.Sprintf("%s ends: %s%s", s.sessions[seat{e.Loop, b.Session}], b.Result, because(b.Reason))
	}
	if text := headline(e.Body); text != "" {
		return text
	}
	if s.all {
		return "  " + s.detail(e)
	}
	return ""
}

// headline tells the events that make up the story.
func headline(body pawl.Body) string {
	switch b := body.(type) {
	case *pawl.RunStarted:
		return "the run starts: " + b.Title
	case *pawl.RunPaused:
		return "paused" + because(b.Reason)
	case *pawl.Forked:
		return fmt.Sprintf("the run is a fork from %s on: %d events and %s are the other run's alone", b.Commit, b.Lost, b.Cost)
	case *pawl.RunResumed:
		return strings.TrimSpace("resumed "+string(b.From)) + because(b.Reason)
	case *pawl.CancelRequested:
		return "the user cancels: " + string(b.Running)
	case *pawl.LimitsChanged:
		return fmt.Sprintf("limits are now %s, %d tokens, %s, %d iterations", b.Limits.Money, b.Limits.Tokens, b.Limits.Time, b.Limits.Iterations)
	case *pawl.LimitReached:
		limit, value := b.Amounts()
		return fmt.Sprintf("limit reached: %s of %s: %s of %s", b.Limit, b.Scope, value, limit)
	case *pawl.BudgetWarned:
		return fmt.Sprintf("warning: %s of %s are spent", b.Limit.Amount(b.Value), b.Limit.Amount(b.Max))
	case *pawl.Recovered:
		return "another driver takes over"
	case *pawl.RunStopping:
		return fmt.Sprintf("the run stops: %s%s", b.Outcome, because(b.Reason))
	case *pawl.RunEnded:
		return fmt.Sprintf("the run has ended: %s%s", b.Outcome, because(b.Reason))
	case *pawl.EffectFailed:
		return fmt.Sprintf("effect %d failed: %s%s%s", b.Effect, b.Failure.Code, wait(b.Failure.Wait), charged(b.Charged))
	case *pawl.EffectLost:
		return fmt.Sprintf("effect %d was lost%s", b.Effect, charged(b.Charged))
	case *pawl.EffectWithdrawn:
		return fmt.Sprintf("effect %d is withdrawn%s%s", b.Effect, charged(b.Charged), because(b.Reason))
	case *pawl.AnswerIgnored:
		return fmt.Sprintf("ignored: %s of effect %d", b.What, b.Effect)
	}
	return loopHeadline(body)
}

func loopHeadline(body pawl.Body) string {
	switch b := body.(type) {
	case *pawl.ComplexityScored:
		return fmt.Sprintf("complexity %d of 14: tier %d (%s)", b.Score, b.Tier, b.Why)
	case *pawl.IterationStarted:
		text := fmt.Sprintf("── iteration %d/%d on tier %d from %s%s", b.N, b.Max, b.Tier, b.From, because(b.Reason))
		if b.Rejudges {
			text += "; no step runs"
		}
		return text
	case *pawl.IterationRestarted:
		return fmt.Sprintf("the steps start again as attempt %d%s", b.Attempt, because(b.Reason))
	case *pawl.GatesReused:
		s := fmt.Sprintf("the same tree as in iteration %d: the verdicts of %s stand", b.From, strings.Join(b.Gates, ", "))
		if len(b.Anew) > 0 {
			s += "; " + strings.Join(b.Anew, ", ") + " judges it anew"
		}
		return s
	case *pawl.GateJudged:
		return judgedLine(b)
	case *pawl.Examined:
		return fmt.Sprintf("examined: %d runs to make, findings %v", len(b.Runs), b.Findings)
	case *pawl.GoalsWeighed:
		return fmt.Sprintf("%d goal tests, %d weak; red: %d, and %d weak: %v; again: %v, unsure: %t", b.Count, b.Weak, b.Red, b.RedWeak, b.Failing, b.Again, b.Unsure)
	case *pawl.FindingRaised:
		return fmt.Sprintf("%s is found: %s in %s: %s", b.Finding.ID, b.Finding.Kind, b.Finding.Path, b.Finding.Text)
	case *pawl.FindingAnswered:
		return fmt.Sprintf("%s is accepted: %t, by %s%s%s%s", b.ID, b.Accepted, b.Gate, b.By, because(b.Quote), because(b.Why))
	case *pawl.RemarkMade:
		return "remark: " + b.Text
	case *pawl.GateOverruled:
		return fmt.Sprintf("%s overrules the halt of %s in iteration %d on %s: %s", b.By, b.Gate, b.Iteration, b.Commit, b.Reason)
	case *pawl.Prepared:
		return strings.TrimSuffix(fmt.Sprintf("prepared under %s: %s", b.Key, b.Failed), ": ")
	case *pawl.GateLeftOut:
		return strings.TrimSuffix(fmt.Sprintf("%s is left out: %s is missing, allowed by %s", b.Gate, b.Missing, b.By), ", allowed by ")
	case *pawl.IterationEnded:
		return fmt.Sprintf("quality %s, requirements %s → %s%s", orNone(b.Quality), orNone(b.Requirements), strings.ToUpper(string(b.Decision)), because(b.Reason))
	case *pawl.Escalated:
		return fmt.Sprintf("tier %d → %d from iteration %d%s", b.From, b.To, b.Iteration, because(b.Reason))
	case *pawl.CouncilCalled:
		return fmt.Sprintf("a council of %d is called%s", b.Members, because(b.Reason))
	case *pawl.CouncilDecided:
		return fmt.Sprintf("the council decides: %s by %s (%s)", orNone(pawl.Verdict(b.Winner)), b.Lens, b.Rounds)
	case *pawl.ToolReturned:
		switch {
		case b.Interrupted:
			return fmt.Sprintf("call %d was interrupted", b.Effect)
		case b.Conflict:
			return fmt.Sprintf("call %d found a worktree it does not know", b.Effect)
		}
	case *pawl.WorkspaceInspected:
		return "the worktree holds " + string(b.Tree)
	case *pawl.WorkspaceReset:
		return fmt.Sprintf("the worktree is set back to %s; what it held is at %s", b.Head, b.Salvage)
	}
	return ""
}

func judgedLine(b *pawl.GateJudged) string {
	text := b.Gate + ": " + string(b.Verdict)
	if b.OnBase {
		text = "on the base, " + text
	}
	if b.On != "" {
		text = "on the " + string(b.On) + " tree, " + text
	}
	if b.Partial {
		text += " (partial)"
	}
	if b.Again && !b.OnBase {
		text += " (again)"
	}
	if b.Verdict != pawl.VerdictPass || strings.HasPrefix(b.Reason, "overruled") {
		text += because(b.Reason)
	}
	if b.Judge != pawl.JudgeEvidence && !strings.Contains(b.Reason, "nobody accepted") {
		for _, f := range b.Findings {
			text += ", with " + f.ID
		}
	}
	return text
}

// detail tells the rest.
func (s *story) detail(e pawl.Event) string {
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		return "? " + asked(&b.Effect)
	case *pawl.SessionStarted:
		text := fmt.Sprintf("%s begins on tier %d with at most %d turns", s.sessions[seat{e.Loop, b.Session}], b.Place.Tier, b.Turns)
		if b.Timeout > 0 {
			text += fmt.Sprintf(" and %s", b.Timeout)
		}
		if b.Item > 0 {
			text += fmt.Sprintf(", entry %d", b.Item)
		}
		if b.Try > 1 {
			text += fmt.Sprintf(", try %d", b.Try)
		}
		return text
	case *pawl.NoteAdded:
		if b.Call > 0 {
			return fmt.Sprintf("harness to call %d: %s", b.Call-1, b.Text)
		}
		if !b.Blob.IsZero() {
			return fmt.Sprintf("harness: [the task, whole]%s", b.Text)
		}
		return "harness: " + b.Text
	case *pawl.ModelReplied:
		return fmt.Sprintf("! effect %d: the model stops with %s and %s, for %s", b.Effect, b.Stop, calls(b.Calls), b.Cost)
	case *pawl.LoopStarted:
		return fmt.Sprintf("loop %d starts: %s", e.Loop, b.ID)
	case *pawl.LoopEnded:
		return fmt.Sprintf("loop %d has ended: %s", e.Loop, b.Outcome)
	case pawl.Answer:
		return fmt.Sprintf("! effect %d: %s", b.Answers(), b.EventKind())
	}
	return e.Body.EventKind().String()
}

func calls(in []pawl.ToolUse) string {
	if len(in) == 0 {
		return "no call"
	}
	var names []string
	for _, c := range in {
		names = append(names, c.Tool)
	}
	return "calls of " + strings.Join(names, ", ")
}

// asked is an effect in short.
func asked(f *pawl.Effect) string {
	text := f.Do.Verb().String()
	switch do := f.Do.(type) {
	case *pawl.CallModel:
		text += fmt.Sprintf(" %s (tier %d, %d items, up to %d tokens, reserved %s, try %d)", f.Place, do.Tier, do.Items, do.MaxOutput, do.Reserved, do.Try)
	case *pawl.CallTool:
		text += " " + do.Tool
	case *pawl.RunGate:
		text += fmt.Sprintf(" %s on %s", do.Gate, do.Commit)
	case *pawl.Prepare:
		text += " " + string(do.Commit)
		if do.Furnish {
			text += " for the worktree"
		}
	case *pawl.AssemblePrompt:
		text += strings.TrimRight(" "+f.Place.Step+" "+f.Place.Lens, " ") + told(do)
	case *pawl.Wait:
		text += fmt.Sprintf(" %s: %s", do.For.Round(100*time.Millisecond), do.Reason)
	case *pawl.ResetWorkspace:
		text += " to " + string(do.Commit)
	}
	if f.Timeout > 0 {
		text += fmt.Sprintf(" [%s]", f.Timeout)
	}
	return text
}

// told is what a prompt tells besides the task.
func told(do *pawl.AssemblePrompt) string {
	var parts []string
	for _, f := range do.Feedback {
		parts = append(parts, f.From+" "+string(f.Verdict))
	}
	for _, in := range do.Inputs {
		parts = append(parts, in.Name)
	}
	for _, in := range do.RedAtBase {
		parts = append(parts, "red at base: "+in.Name)
	}
	parts = append(parts, do.History...)
	if do.Tried {
		parts = append(parts, "what was tried: "+do.Cause)
	}
	parts = append(parts, toldOfPlan(do)...)
	if len(parts) == 0 {
		return ""
	}
	return " with " + strings.Join(parts, "; ")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func wait(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(", wait %s", d)
}

func charged(m pawl.Micros) string {
	if m == 0 {
		return ""
	}
	return ", charged " + m.String()
}

func orNone(v pawl.Verdict) string {
	if v == "" {
		return "-"
	}
	return string(v)
}
