package recipe

import (
	"slices"

	"pawl"
)

func (c *kindChecker) stages(path string, stages []pawl.Stage) {
	for i := range stages {
		c.stage(at(path, i), &stages[i])
	}
}

func (c *kindChecker) stage(path string, s *pawl.Stage) {
	c.name(path, s.Name)
	c.when(path+".when", s.When)
	given := 0
	for _, set := range []bool{len(s.Commands) > 0, s.Review != nil, s.Builtin != "", s.Human} {
		if set {
			given++
		}
	}
	if given != 1 {
		c.bad(path, "a gate needs exactly one of commands, review, builtin and human; it has %d", given)
	}
	for i, kind := range s.Commands {
		if kind != "*" {
			c.known(at(path+".commands", i), "kind of command gate", kind, append([]string{"all"}, gateKinds...))
		} else if len(s.Commands) > 1 {
			c.bad(at(path+".commands", i), "all stands for every kind and must be alone")
		}
	}
	if s.Builtin != "" {
		c.known(path+".builtin", "check", s.Builtin, checks)
		c.builtin(path+".builtin", s.Builtin)
	}
	if s.Review != nil {
		c.review(path+".review", s.Review, "verdict")
	}
	if s.Timeout < 0 {
		c.bad(path+".timeout_ms", "is negative")
	}
	for _, v := range []pawl.Verdict{pawl.VerdictRevise, pawl.VerdictRetry} {
		if _, ok := s.On[v]; ok && len(s.Commands) > 0 {
			c.bad(path+".on."+string(v), "commands say fail; a review, a person or a check can say %s", v)
		}
	}
	for _, v := range []pawl.Verdict{pawl.VerdictFail, pawl.VerdictHalt, pawl.VerdictPass, pawl.VerdictRetry, pawl.VerdictRevise, pawl.VerdictSkip} {
		if r, ok := s.On[v]; ok {
			c.route(path+".on."+string(v), v, r)
		}
	}
}

// builtin checks that there is what a check of the harness looks at.
func (c *kindChecker) builtin(path, check string) {
	artifact := func(s *pawl.Step) bool { return pawl.IsArtifact(s.Output) }
	switch {
	case check == "validation_command":
		c.ownTask(path)
	case check == "well_formed" && c.kind.Children == nil:
		c.bad(path, "looks at the artifact that children come from, and the kind has none")
	case check == "well_formed" && !slices.ContainsFunc(c.steps, artifact):
		c.bad(path, "no step hands in a plan, a spec or a phase: want one with output create_plan, create_spec or create_phase")
	}
}

func (c *kindChecker) route(path string, v pawl.Verdict, r pawl.Route) {
	if !slices.Contains(verdicts, v) {
		c.bad(path, "only revise, retry and fail lead somewhere")
	}
	if back := append([]string{"start"}, names(c.steps[:c.main])...); !slices.Contains(back, r.From) {
		c.known(path+".from", "earlier step", r.From, back)
	}
	c.between(path+".max", r.Max, 1, 100)
	c.known(path+".then", "way to continue", r.Then, []string{"fail", "ask"})
}

func (c *kindChecker) review(path string, r *pawl.Review, output string) {
	if r.Role == "" {
		c.bad(path+".role", "is missing")
	}
	if r.Prompt == "" {
		c.bad(path+".prompt", "is missing")
	}
	c.toolList(path+".tools", r.Tools)
	c.between(path+".tier", r.Tier, 1, 3)
	c.between(path+".turns", r.Turns, 0, 200)
	c.cap(path+".session_limit", r.Cap)
	c.between(path+".votes", r.Votes, 0, 9)
	c.memory(path+".memory", r.Memory)
	c.known(path+".output", "output of this review", r.Output, []string{output})
}

func (c *kindChecker) ladder(path string, l *pawl.Ladder) {
	last := 0
	for i, r := range l.Rungs {
		here := at(path+".rungs", i)
		c.between(here+".tier", r.Tier, 1, 3)
		c.between(here+".failures", r.Failures, 1, 100)
		if r.Tier <= last {
			c.bad(here+".tier", "tiers must rise: %d comes after %d", r.Tier, last)
		}
		last = r.Tier
	}
	if l.Stuck != 0 {
		c.between(path+".stuck", l.Stuck, 2, pawl.MaxStuck)
	}
	if l.Council != nil {
		c.council(path+".council", l.Council)
	}
	if l.Then != "" {
		c.known(path+".then", "way to continue", l.Then, []string{"blocked", "fail", "replan", "ask"})
	}
	if l.Then == "replan" && !c.child {
		c.bad(path+".then", "no kind has this one as children, so there is no parent to plan again")
	}
}

func (c *kindChecker) council(path string, v *pawl.Council) {
	c.between(path+".tier", v.Tier, 1, 3)
	c.between(path+".attempts", v.Attempts, 1, 100)
	c.between(path+".turns", v.Turns, 0, 200)
	c.cap(path+".session_limit", v.Cap)
	c.toolList(path+".tools", v.Tools)
	if v.Propose == "" || v.Ballot == "" {
		c.bad(path, "a council needs the prompts propose and ballot")
	}
	if n := len(v.Lenses); n < 2 || n > 9 {
		c.bad(path+".lenses", "a council has 2 to 9 members, not %d", n)
	}
	for i, l := range v.Lenses {
		for _, other := range v.Lenses[:i] {
			if other.Name == l.Name {
				c.bad(at(path+".lenses", i)+".name", "two members are called %q", l.Name)
			}
		}
	}
}
