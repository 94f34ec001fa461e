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
	if ch.Batch != "" {
		c.known(path+".batch", "way to batch", ch.Batch, batches)
	}
	if ch.OnFailure != "" {
		c.known(path+".on_failure", "way to go on", ch.OnFailure, []string{"continue", "block", "stop"})
	}
	c.when(path+".when", ch.When)
	c.batches(path, ch)
	c.cascade(path, ch)
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

// cascade checks that nothing else says what becomes of children that stand on an
// artifact: they fail with it and begin anew with it.
func (c *kindChecker) cascade(path string, ch *pawl.Children) {
	if !ch.Cascade {
		return
	}
	for _, key := range []struct {
		name  string
		given bool
		why   string
	}{
		{"limit", ch.Limit > 0, "every child has to pass"},
		{"on_failure", ch.OnFailure != "", "a child that fails for good fails the parent's iteration"},
		{"replan", ch.Replan != nil, "the parent begins anew instead, and its next artifact lists other children"},
		{"batch", ch.Batch != "", "each child is merged by itself"},
		{"review", ch.Review != nil, "there are no batches"},
		{"before_batch", len(ch.BeforeBatch) > 0, "there are no batches"},
		{"after_batch", len(ch.AfterBatch) > 0, "there are no batches"},
		{"monitor", len(ch.Monitor) > 0, "there are no batches"},
		{"checkpoint", ch.Checkpoint, "there are no batches"},
		{"scaffold_first", ch.ScaffoldFirst, "what comes first is said by dependencies"},
	} {
		if key.given {
			c.bad(path+"."+key.name, "does not go with cascade: %s", key.why)
		}
	}
}

// batches checks what judges children in batches.
func (c *kindChecker) batches(path string, ch *pawl.Children) {
	judged := ch.Review != nil || len(ch.BeforeBatch)+len(ch.AfterBatch)+len(ch.Monitor) > 0 || ch.Checkpoint || ch.ScaffoldFirst
	if judged && ch.Batch == "rolling" {
		c.bad(path+".batch", "batches that are judged as a whole must end: want barrier")
	}
	c.around = true
	for _, list := range []struct {
		path  string
		steps []pawl.Step
	}{{path + ".before_batch", ch.BeforeBatch}, {path + ".after_batch", ch.AfterBatch}} {
		for i := range list.steps {
			if list.steps[i].Repeat != nil {
				c.bad(at(list.path, i)+".repeat", "a group that repeats cannot stand around a batch; put it into steps")
			}
		}
	}
	c.stepList(path+".before_batch", ch.BeforeBatch, false)
	if ch.Review != nil {
		c.review(path+".review", ch.Review, "batch")
		if ch.Review.Votes > 1 {
			c.bad(path+".review.votes", "a batch is judged by one reviewer")
		}
		for i, tool := range ch.Review.Tools {
			if slices.Contains(writing, tool) {
				c.bad(at(path+".review.tools", i), "a reviewer must not change what it judges")
			}
		}
	}
	c.after = true
	c.stepList(path+".after_batch", ch.AfterBatch, false)
	c.around, c.after = false, false
	c.monitor(path, ch)
}

// monitor checks that there is what each recovery needs.
func (c *kindChecker) monitor(path string, ch *pawl.Children) {
	c.between(path+".recoveries", ch.Recoveries, 0, 10)
	if ch.Recoveries > 0 && len(ch.Monitor) == 0 {
		c.bad(path+".recoveries", "there is no monitor that could lead to any")
	}
	missing := map[string]string{}
	if len(ch.BeforeBatch) == 0 {
		missing[string(pawl.RecoverGather)] = "nothing is gathered: there are no steps before_batch"
	}
	if ch.Replan == nil {
		missing[string(pawl.RecoverRevise)] = "nothing makes the plan anew: there is no replan"
	}
	if !ch.Checkpoint {
		missing[string(pawl.RecoverRollback)] = "there is nothing to go back to: checkpoint is not true"
	}
	for _, status := range slices.Sorted(maps.Keys(ch.Monitor)) {
		c.known(path+".monitor", "health", status, health)
		if len(ch.Monitor[status]) == 0 {
			c.bad(path+".monitor."+status, "leads to nothing: give at least one of %s", strings.Join(recoveries, ", "))
		}
		for i, to := range ch.Monitor[status] {
			here := at(path+".monitor."+status, i)
			c.known(here, "recovery", to, recoveries)
			if what := missing[to]; what != "" {
				c.bad(here, "%s", what)
			}
		}
	}
}
