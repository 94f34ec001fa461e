package recipe

import (
	"maps"
	"slices"
	"strings"

	"pawl"
)

func (c *kindChecker) children(path string, ch *pawl.Children, kinds []string) {
	switch s := c.step(ch.From); {
	case s == nil:
		c.known(path+".from", "step", ch.From, c.stepNames())
	case !slices.Contains(lists, s.Output):
		c.bad(path+".from", "step %s does not list children: its output must be one of %s", ch.From, strings.Join(lists, ", "))
	}
	c.known(path+".kind", "kind", ch.Kind, kinds)
	c.known(path+".order", "order", ch.Order, orders)
	c.between(path+".parallel", ch.Parallel, 1, 64)
	c.between(path+".limit", ch.Limit, 0, 1000)
	c.home(path, ch)
	c.when(path+".when", ch.When)
	c.groups(path, ch)
	if r := ch.Replan; r != nil {
		for i, on := range r.On {
			c.known(at(path+".replan.on", i), "cause", on, []string{"failure", "discovery"})
		}
		c.between(path+".replan.every", r.Every, 0, 1000)
		c.between(path+".replan.max_versions", r.MaxVersions, 1, 100)
		if r.Prompt == "" {
			c.bad(path+".replan.prompt", "is missing")
		}
	}
}

// home checks how children begin and how they come home: the words, and which of them do not go
// together.
func (c *kindChecker) home(path string, ch *pawl.Children) {
	for _, word := range []struct {
		key, what, word string
		known           []string
	}{
		{"admit", "way to begin", string(ch.Admit), admissions},
		{"land", "way to land", string(ch.Land), landings},
		{"on_failure", "way to continue", string(ch.OnFailure), failures},
	} {
		if word.word != "" {
			c.known(path+"."+word.key, word.what, word.word, word.known)
		}
	}
	if ch.Group != pawl.GroupAll {
		c.between(path+".group", ch.Group, 0, maxGroup)
	}
	alone, restarts, best := !ch.Groups(), ch.RestartsParent(), ch.Land == pawl.LandBest
	const noGroup = "each child lands by itself: say how many land together, such as group: 12"
	for _, rule := range []struct {
		key     string
		refused bool
		why     string
	}{
		{"judge", alone && ch.Judge != nil, noGroup + ", or let a review among its gates judge it"},
		{"land", alone && ch.Land != "", noGroup},
		{"before_batch", alone && len(ch.BeforeBatch) > 0, noGroup},
		{"after_batch", alone && len(ch.AfterBatch) > 0, noGroup},
		{"monitor", alone && len(ch.Monitor) > 0, noGroup},
		{"checkpoint", alone && ch.Checkpoint, noGroup},
		{"scaffold_first", alone && ch.ScaffoldFirst, noGroup},
		{"land", best && ch.Judge == nil, "best needs someone who picks it: give judge"},
		{"on_failure", best && (restarts || ch.OnFailure == pawl.FailStop), string(ch.OnFailure) + " does not combine with land: best, where a child may fail as long as another one is picked: want continue or block"},
		{"limit", ch.Limit > 0 && restarts, "does not combine with on_failure: restart_parent: every child on the list has to pass"},
		{"replan", ch.Replan != nil && restarts, "does not combine with on_failure: restart_parent: the parent starts over, and its next artifact lists other children"},
		{"replan", ch.Replan != nil && ch.IsEager() && !restarts, "does not combine with admit: eager: all children exist already when the list is made again; want admit: ready"},
	} {
		if rule.refused {
			c.bad(path+"."+rule.key, "%s", rule.why)
		}
	}
	if a := c.kind.Approval; restarts && a != nil && a.By != "human" {
		c.bad(c.path+".approval.by", "%s does not combine with on_failure: restart_parent: a person approves what children stand on, or there is no approval", a.By)
	}
}

// groups checks what stands around a group, and what judges it.
func (c *kindChecker) groups(path string, ch *pawl.Children) {
	c.around = true
	for _, list := range []struct {
		path  string
		steps []pawl.Step
	}{{path + ".before_batch", ch.BeforeBatch}, {path + ".after_batch", ch.AfterBatch}} {
		for i := range list.steps {
			if list.steps[i].Repeat != nil {
				c.bad(at(list.path, i)+".repeat", "a group that repeats cannot stand around a group; put it into steps")
			}
		}
	}
	c.stepList(path+".before_batch", ch.BeforeBatch, false)
	if ch.Judge != nil {
		c.review(path+".judge", ch.Judge, "batch")
		if ch.Judge.Votes > 1 {
			c.bad(path+".judge.votes", "a group is judged by one reviewer")
		}
		for i, tool := range ch.Judge.Tools {
			if slices.Contains(writing, tool) {
				c.bad(at(path+".judge.tools", i), "a reviewer must not change what it judges")
			}
		}
	}
	c.after = true
	c.stepList(path+".after_batch", ch.AfterBatch, false)
	c.around, c.after = false, false
	c.monitor(path, ch)
}

// monitor checks what the monitor looks at and that there is what each recovery needs.
func (c *kindChecker) monitor(path string, ch *pawl.Children) {
	missing := map[string]string{}
	if len(ch.BeforeBatch) == 0 {
		missing[string(pawl.RecoverGather)] = "nothing is gathered: there are no steps before_batch"
	}
	if ch.Replan == nil {
		missing[string(pawl.RecoverRevise)] = "nothing can plan again: there is no replan"
	}
	if !ch.Checkpoint {
		missing[string(pawl.RecoverRollback)] = "there is nothing to go back to: checkpoint is not true"
	}
	c.leads(path, ch.Monitor, ch.Recoveries, health, recoveries, missing)
	switch {
	case ch.MonitorRules == pawl.RulesTuned:
	case len(ch.Monitor) == 0:
		c.bad(path+".monitor.rules", "nothing follows from a health here, so they have no effect: say what does, such as `STALLED: [gather]`")
	default:
		c.known(path+".monitor.rules", "rules", string(ch.MonitorRules), monitorRules)
	}
}

// ownMonitor is [kindChecker.monitor] for the attempts of a kind without children.
func (c *kindChecker) ownMonitor(k *pawl.LoopKind) {
	if len(k.Monitor) > 0 && k.Children != nil {
		c.bad(c.path+".monitor", "it looks at attempts, and those of a kind with children are not the work: want children.monitor")
		return
	}
	missing := map[string]string{}
	if len(k.Ladder.Rungs) < 2 {
		missing[string(pawl.RecoverEscalate)] = "there is no stronger tier: the ladder has no second rung"
	}
	if !slices.ContainsFunc(k.Gates, func(st pawl.Stage) bool { return len(st.Commands) > 0 }) {
		missing[string(pawl.RecoverRollback)] = "there is nothing to go back to: no gate runs commands"
	}
	c.leads(c.path, k.Monitor, k.Recoveries, ownHealth, ownRecoveries, missing)
}

// leads checks which recoveries each health leads to, of those that are known. Missing says why one
// of them cannot be done.
func (c *kindChecker) leads(path string, monitor map[string][]string, most int, health, recoveries []string, missing map[string]string) {
	c.between(path+".recoveries", most, 0, 10)
	if most > 0 && len(monitor) == 0 {
		c.bad(path+".recoveries", "there is no monitor that could lead to any")
	}
	for _, status := range slices.Sorted(maps.Keys(monitor)) {
		c.known(path+".monitor", "health", status, health)
		if len(monitor[status]) == 0 {
			c.bad(path+".monitor."+status, "leads to nothing: give at least one of %s", strings.Join(recoveries, ", "))
		}
		for i, to := range monitor[status] {
			here := at(path+".monitor."+status, i)
			c.known(here, "recovery", to, recoveries)
			if what := missing[to]; what != "" {
				c.bad(here, "%s", what)
			}
		}
	}
}
