package kernel

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/flow"
	"pawl/internal/kernel/ladder"
)

// check says why a run with this recipe and these settings must not start: the
// recipe asks for something this kernel would pass over, or a decision would
// lack what it needs. What passes here can be decided to its end.
func check(r *pawl.Recipe, s *pawl.Settings) error {
	if r.Kind(r.Start) == nil {
		return fmt.Errorf("recipe %s starts with the kind %q, which it does not have", r.Name, r.Start)
	}
	if err := checkSettings(r, s); err != nil {
		return err
	}
	if err := checkConsent(r, s); err != nil {
		return err
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		for _, err := range []error{checkKind(k), checkSteps(k), checkGates(k), checkLadder(&k.Ladder), checkChildren(r, k)} {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkConsent checks that nobody but a person approves the plan of a tree: neither the
// recipe nor what the user set beforehand.
func checkConsent(r *pawl.Recipe, s *pawl.Settings) error {
	asks := false
	for _, k := range r.Kinds {
		if a := k.Approval; a != nil && k.Children != nil && k.Children.Cascade {
			asks = true
			if a.By != "human" {
				return fmt.Errorf("kind %s has an approval by %q, and its children cascade: a person approves the artifact they stand on, or there is no approval", k.Name, a.By)
			}
		}
	}
	if cascading(r) && s.Approval != "" && !(asks && s.Approval == "human") {
		return fmt.Errorf("the approval is set to %q: recipe %s says itself where a person is asked, and its plan is never approved automatically", s.Approval, r.Name)
	}
	return nil
}

func checkKind(k *pawl.LoopKind) error {
	if a := k.Approval; a != nil && (k.Children == nil || !slices.Contains([]string{"human", "auto", "manual", "confidence_threshold"}, a.By)) {
		return fmt.Errorf("kind %s has an approval by %q of children: want human, auto, manual or confidence_threshold, and children", k.Name, a.By)
	}
	if b := k.Complexity; b != nil {
		if !slices.ContainsFunc(k.Steps, func(st pawl.Step) bool { return st.Name == b.From }) {
			return fmt.Errorf("the complexity of kind %s comes from the step %q, which it does not have", k.Name, b.From)
		}
		for _, band := range b.Tiers {
			if !ladder.IsTier(band.Tier) {
				return fmt.Errorf("kind %s has a band of tier %d: want 1 to %d", k.Name, band.Tier, ladder.Top)
			}
		}
	}
	return nil
}

func checkSteps(k *pawl.LoopKind) error {
	for i := range k.Steps {
		g := k.Steps[i].Repeat
		switch {
		case g == nil:
			if err := checkStep(&k.Steps[i]); err != nil {
				return err
			}
			continue
		case len(g.Steps) == 0 || g.Max < 1 || len(g.Until) == 0:
			return fmt.Errorf("group %s: want steps, a number of rounds and the decisions that end it", k.Steps[i].Name)
		case !slices.Contains([]string{"continue", "fail", "ask"}, g.OnMax):
			return fmt.Errorf("group %s: want continue, fail or ask when its rounds are used up, not %q", k.Steps[i].Name, g.OnMax)
		}
		for j := range g.Steps {
			if g.Steps[j].Repeat != nil {
				return fmt.Errorf("group %s holds another one, which is not run", k.Steps[i].Name)
			}
			if err := checkStep(&g.Steps[j]); err != nil {
				return err
			}
		}
	}
	others := slices.Clone(k.FinalSteps)
	if c := k.Children; c != nil {
		others = slices.Concat(c.BeforeBatch, c.AfterBatch, others)
	}
	if k.Extract != nil {
		others = append(others, *k.Extract)
	}
	for i := range others {
		if others[i].Repeat != nil {
			return fmt.Errorf("step %s is a group, which can only be among the steps of an iteration", others[i].Name)
		}
		if err := checkStep(&others[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkStep(st *pawl.Step) error {
	switch {
	case st.Questions && st.ForEach != "":
		return fmt.Errorf("step %s has for_each and questions: its sessions cannot wait for a person side by side", st.Name)
	case st.ForEach != "" && !isList(st.ForEach) || st.Parallel < 0:
		return fmt.Errorf("step %s runs for each of %q, %d at a time: want NAME.FIELD, and a number", st.Name, st.ForEach, st.Parallel)
	case st.TierFrom != "" && st.TierFrom != "model_tier":
		return fmt.Errorf("step %s takes its tier from %q: want model_tier", st.Name, st.TierFrom)
	case st.Check != nil && st.Check.Name != "many_steps":
		return fmt.Errorf("step %s has the check %q: want many_steps", st.Name, st.Check.Name)
	case st.Tier != 0 && !ladder.IsTier(st.Tier):
		return fmt.Errorf("step %s has tier %d: want 1 to %d, or 0 for the loop's", st.Name, st.Tier, ladder.Top)
	}
	return nil
}

// isList reports whether a text names a list in a result: NAME.FIELD.
func isList(s string) bool {
	name, field, _ := strings.Cut(s, ".")
	return name != "" && field != ""
}

func checkGates(k *pawl.LoopKind) error {
	for i := range len(k.Gates) + len(k.FinalGates) {
		st := stageAt(k, i)
		if err := checkStage(st); err != nil {
			return err
		}
		if st.Builtin == wellFormed && k.Children == nil {
			return fmt.Errorf("gate %s looks at the artifact that children are spawned from, and kind %s has none", st.Name, k.Name)
		}
		for _, v := range []pawl.Verdict{pawl.VerdictRevise, pawl.VerdictRetry, pawl.VerdictFail} {
			if way, ok := st.On[v]; ok && (way.Max < 1 || way.From != "start" && flow.Of(k).Find(way.From) < 0) {
				return fmt.Errorf("gate %s: %s leads to %q at most %d times: want a step of the kind, and a number", st.Name, v, way.From, way.Max)
			}
		}
	}
	return nil
}

func stageAt(k *pawl.LoopKind, i int) *pawl.Stage {
	if n := len(k.Gates); i >= n {
		return &k.FinalGates[i-n]
	}
	return &k.Gates[i]
}

func checkStage(st *pawl.Stage) error {
	rv := st.Review
	given := 0
	for _, is := range []bool{rv != nil, len(st.Commands) > 0, st.Builtin != "", st.Human} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("gate %s: want one of commands, a review, a check of the harness and a person", st.Name)
	case st.Builtin != "" && !slices.Contains([]string{"actionable", "tool_results", wellFormed, validationCommand}, st.Builtin):
		return fmt.Errorf("gate %s is the check %q, which is not run yet", st.Name, st.Builtin)
	case rv != nil && (!ladder.IsTier(rv.Tier) || rv.Output == "" || rv.Votes > maxVotes):
		return fmt.Errorf("review %s: want a tier of 1 to %d, an output, and at most %d votes", st.Name, ladder.Top, maxVotes)
	}
	return nil
}

// maxVotes is how many reviewers may judge one candidate.
const maxVotes = 9

func checkChildren(r *pawl.Recipe, k *pawl.LoopKind) error {
	c := k.Children
	if c == nil {
		return nil
	}
	child := r.Kind(c.Kind)
	switch {
	case child == nil || child == k:
		return fmt.Errorf("the children of kind %s are of kind %q, which must be another one of the recipe", k.Name, c.Kind)
	case child.Complexity != nil:
		return fmt.Errorf("kind %s has a complexity: a child's tier comes from its task", child.Name)
	case flow.Of(k).Find(c.From) < 0:
		return fmt.Errorf("the children of kind %s come from the step %q, which it does not have", k.Name, c.From)
	case c.Replan != nil && c.Replan.MaxVersions < 1:
		return fmt.Errorf("the plan of kind %s may have %d versions: want at least 1", k.Name, c.Replan.MaxVersions)
	case c.Review != nil && (!ladder.IsTier(c.Review.Tier) || c.Review.Output == "" || c.Review.Votes > 1):
		return fmt.Errorf("kind %s has a review of batches: want a tier of 1 to %d, an output and no votes", k.Name, ladder.Top)
	case judgesBatches(k) && c.Batch == "rolling":
		return fmt.Errorf("the batches of kind %s are judged as a whole, and cannot be rolling", k.Name)
	}
	if c.Cascade && (c.OnFailure != "" || c.Replan != nil || c.Batch != "" || judgesBatches(k)) {
		return fmt.Errorf("the children of kind %s cascade: on_failure, replan and batches do not go with it", k.Name)
	}
	if err := checkDepth(r, k); err != nil {
		return err
	}
	return checkMonitor(k)
}

// checkDepth checks what stands below a kind: kinds in a row, none of them twice, and
// no batches that are judged as a whole unless there is nothing above or below.
func checkDepth(r *pawl.Recipe, k *pawl.LoopKind) error {
	row := []string{k.Name}
	for at := k; at.Children != nil; {
		child := r.Kind(at.Children.Kind)
		if child == nil {
			return nil // said elsewhere
		}
		if slices.Contains(row, child.Name) {
			return fmt.Errorf("the children of kind %s are of kind %s, which stands above it: a tree of loops must come to an end", at.Name, child.Name)
		}
		if child.Children != nil && (judgesBatches(at) || judgesBatches(child)) {
			return fmt.Errorf("kind %s is a child and has children: batches that are judged as a whole go with neither", child.Name)
		}
		row = append(row, child.Name)
		at = child
	}
	return nil
}

// checkMonitor checks what the health of batches leads to.
func checkMonitor(k *pawl.LoopKind) error {
	c := k.Children
	for _, h := range []pawl.Health{pawl.HealthBlocked, pawl.HealthFlipFlop, pawl.HealthRegressing, pawl.HealthStalled} {
		for _, r := range c.Monitor[string(h)] {
			switch pawl.Recovery(r) {
			case pawl.RecoverGather, pawl.RecoverAsk:
			case pawl.RecoverRevise:
				if c.Replan == nil {
					return fmt.Errorf("%s of kind %s leads to revise, and there is no way to make the plan anew", h, k.Name)
				}
			case pawl.RecoverRollback:
				if !c.Checkpoint {
					return fmt.Errorf("%s of kind %s leads to rollback, and there are no checkpoints", h, k.Name)
				}
			default:
				return fmt.Errorf("%s of kind %s leads to %q: want gather, revise, rollback or ask", h, k.Name, r)
			}
		}
	}
	return nil
}

func checkLadder(lad *pawl.Ladder) error {
	if !slices.Contains([]string{"", "blocked", "fail", "replan", "ask"}, lad.Then) {
		return fmt.Errorf("a ladder that ends in %q is not run yet", lad.Then)
	}
	if lad.Stuck == 1 || lad.Stuck > ladder.Kept {
		return fmt.Errorf("the ladder's stuck is %d: want 2 to %d attempts, or 0 for no detection", lad.Stuck, ladder.Kept)
	}
	below := 0
	for _, r := range lad.Rungs {
		if !ladder.IsTier(r.Tier) || r.Tier <= below {
			return fmt.Errorf("the ladder's rungs: want rising tiers of 1 to %d", ladder.Top)
		}
		below = r.Tier
	}
	if c := lad.Council; c != nil && (!ladder.IsTier(c.Tier) || len(c.Lenses) == 0 || len(c.Lenses) > 'Z'-'A'+1) {
		return fmt.Errorf("the council: want a tier of 1 to %d and 1 to 26 lenses", ladder.Top)
	}
	return nil
}

// maxGateName bounds a gate's name, which stands in many events.
const maxGateName = 60

func checkSettings(r *pawl.Recipe, s *pawl.Settings) error {
	for i, m := range s.Models {
		if m.MaxOutput <= 0 {
			return fmt.Errorf("the model of tier %d has no output limit", i+1)
		}
	}
	if s.Retry.Tries < 1 {
		return fmt.Errorf("retry.tries is %d: want at least 1", s.Retry.Tries)
	}
	for i, g := range s.Gates {
		same := func(o pawl.GateSpec) bool { return o.Name == g.Name }
		stage := func(k pawl.LoopKind) bool {
			return slices.ContainsFunc(slices.Concat(k.Gates, k.FinalGates), func(st pawl.Stage) bool { return len(st.Commands) == 0 && st.Name == g.Name })
		}
		if g.Kind == "" {
			return fmt.Errorf("gate %q has no kind", g.Name)
		}
		if g.Name == "" || len(g.Name) > maxGateName || slices.ContainsFunc(s.Gates[:i], same) || slices.ContainsFunc(r.Kinds, stage) {
			return fmt.Errorf("gate %q: want a name of 1 to %d bytes that no other gate or review has", g.Name, maxGateName)
		}
	}
	return nil
}
