package kernel

import (
	"fmt"
	"slices"

	"pawl"
)

// check says why a run with this recipe and these settings must not start: the
// recipe asks for something this kernel would pass over, or a decision would
// lack what it needs. What passes here can be decided to its end.
func check(r *pawl.Recipe, s *pawl.Settings) error {
	k := r.Kind(r.Start)
	if k == nil {
		return fmt.Errorf("recipe %s starts with the kind %q, which it does not have", r.Name, r.Start)
	}
	for _, err := range []error{checkKind(k), checkSteps(k), checkGates(k), checkLadder(&k.Ladder), checkSettings(k, s)} {
		if err != nil {
			return err
		}
	}
	return nil
}

func isTier(n int) bool { return n >= 1 && n <= topTier }

func checkKind(k *pawl.LoopKind) error {
	if k.Approval != nil || k.Children != nil || len(k.FinalGates)+len(k.FinalSteps) > 0 {
		return fmt.Errorf("kind %s has approval, children, final gates, final steps or retries, which are not run yet", k.Name)
	}
	if b := k.Complexity; b != nil {
		if !slices.ContainsFunc(k.Steps, func(st pawl.Step) bool { return st.Name == b.From }) {
			return fmt.Errorf("the complexity of kind %s comes from the step %q, which it does not have", k.Name, b.From)
		}
		for _, band := range b.Tiers {
			if !isTier(band.Tier) {
				return fmt.Errorf("kind %s has a band of tier %d: want 1 to %d", k.Name, band.Tier, topTier)
			}
		}
	}
	return nil
}

func checkSteps(k *pawl.LoopKind) error {
	for i := range k.Steps {
		st := &k.Steps[i]
		switch {
		case st.Repeat != nil || st.ForEach != "" || st.Questions || st.Memory != nil || st.TierFrom != "" || decides(st.When):
			return fmt.Errorf("step %s has repeat, for_each, questions, memory, tier_from or a decision, which are not run yet", st.Name)
		case st.Tier != 0 && !isTier(st.Tier):
			return fmt.Errorf("step %s has tier %d: want 1 to %d, or 0 for the loop's", st.Name, st.Tier, topTier)
		}
	}
	return nil
}

func decides(w *pawl.When) bool { return w != nil && len(w.Decision) > 0 }

func checkGates(k *pawl.LoopKind) error {
	for i := range k.Gates {
		st := &k.Gates[i]
		rv := st.Review
		switch {
		case st.Builtin != "" || st.Human || len(st.On) > 0 || decides(st.When):
			return fmt.Errorf("gate %s is a builtin check, asks a person, or has routes or a decision, which are not run yet", st.Name)
		case (rv != nil) == (len(st.Commands) > 0):
			return fmt.Errorf("gate %s: want either commands or a review", st.Name)
		case rv != nil && (!isTier(rv.Tier) || rv.Output == "" || rv.Votes > 1):
			return fmt.Errorf("review %s: want a tier of 1 to %d, an output, and no votes", st.Name, topTier)
		}
	}
	return nil
}

func checkLadder(lad *pawl.Ladder) error {
	if !slices.Contains([]string{"", "blocked", "fail"}, lad.Then) {
		return fmt.Errorf("a ladder that ends in %q is not run yet", lad.Then)
	}
	if lad.Stuck == 1 || lad.Stuck > kept {
		return fmt.Errorf("the ladder's stuck is %d: want 2 to %d attempts, or 0 for no detection", lad.Stuck, kept)
	}
	below := 0
	for _, r := range lad.Rungs {
		if !isTier(r.Tier) || r.Tier <= below {
			return fmt.Errorf("the ladder's rungs: want rising tiers of 1 to %d", topTier)
		}
		below = r.Tier
	}
	if c := lad.Council; c != nil && (!isTier(c.Tier) || len(c.Lenses) == 0 || len(c.Lenses) > 'Z'-'A'+1) {
		return fmt.Errorf("the council: want a tier of 1 to %d and 1 to 26 lenses", topTier)
	}
	return nil
}

// maxGateName bounds a gate's name, which stands in many events.
const maxGateName = 60

func checkSettings(k *pawl.LoopKind, s *pawl.Settings) error {
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
		review := func(st pawl.Stage) bool { return st.Review != nil && st.Name == g.Name }
		if g.Kind == "" {
			return fmt.Errorf("gate %q has no kind", g.Name)
		}
		if g.Name == "" || len(g.Name) > maxGateName || slices.ContainsFunc(s.Gates[:i], same) || slices.ContainsFunc(k.Gates, review) {
			return fmt.Errorf("gate %q: want a name of 1 to %d bytes that no other gate or review has", g.Name, maxGateName)
		}
	}
	return nil
}
