package kernel

import (
	"strings"

	"pawl"
)

// Info returns the run's line in lists. It is zero before the run's first event.
func Info(s *State) pawl.RunInfo {
	if s.Seq == 0 {
		return pawl.RunInfo{}
	}
	info := pawl.RunInfo{
		ID: s.Run, Task: s.Started.Task, Title: s.Started.Title, Recipe: s.Recipe.Name, Branch: s.Started.Branch,
		Status: s.Status, Outcome: s.Outcome, Reason: s.Reason,
		Cost: s.Spent.Money, Tokens: s.Spent.Tokens, Started: s.began, Updated: s.Last, Seq: s.Seq,
	}
	spent := s.Spent.Sub(s.Lost)
	info.Money = &pawl.Money{
		Spent: spent.Money, SpentTokens: spent.Tokens, Held: s.Reserved.Money, HeldTokens: s.Reserved.Tokens, Lost: s.Lost.Money, LostTokens: s.Lost.Tokens,
	}
	info.Questions, info.Archived = s.openQuestions, s.archived
	if s.Outcome.Succeeded() {
		info.RedAtBase, info.Findings = strings.Join(s.leftOpen.red, ", "), s.leftOpen.findings
		info.RedGoals, info.Proof, info.RefusedPlan = strings.Join(s.leftOpen.failing, ", "), s.leftOpen.proof, s.leftOpen.plan
	}
	if s.Stopping != nil {
		info.Reason = s.Stopping.Reason
	}
	if root := s.Loop(1); root != nil {
		info.Iteration, info.Max = root.Iteration, s.maxIterations(root)
		if p := root.gen.plan; p != nil {
			info.Tasks, info.Passed = len(p.Entries), p.Count[pawl.TaskPassed]
		}
		if info.Health = root.gen.Health; info.Health == pawl.HealthProgressing && s.asksBlocked() {
			info.Health = pawl.HealthBlocked
		}
		if n := root.Kind.WorkTier(root.Tier); root.Tier > 0 && n > 0 {
			info.Tier = s.Recipe.Tier(n)
		}
	}
	return info
}

// asksBlocked reports whether a person is asked about a task of the root loop that is blocked.
func (s *State) asksBlocked() bool {
	if s.openQuestions == 0 {
		return false
	}
	for l := range s.each {
		if l.Parent == 1 && l.person.question != nil && l.person.question.kind == pawl.AskBlocked {
			return true
		}
	}
	return false
}
