package kernel

import (
	"cmp"
	"fmt"
	"slices"

	"pawl"
)

// check returns why a run with this recipe and these settings must not start, or nil. Package
// recipe has already checked the recipe by itself. What is left are conflicts between recipe and
// settings, and values with which a decision would fail.
func check(r *pawl.Recipe, s *pawl.Settings) error {
	if r.Kind(r.Start) == nil {
		return fmt.Errorf("recipe %s starts with the kind %q, which it does not have", r.Name, r.Start)
	}
	for _, k := range r.Kinds {
		if c := k.Children; c != nil && r.Kind(c.Kind) == nil {
			return fmt.Errorf("the children of kind %s are of kind %q, which recipe %s does not have", k.Name, c.Kind, r.Name)
		}
	}
	for i, m := range s.Models {
		for _, m := range append([]pawl.ModelChoice{m}, s.Fallbacks[i]...) {
			if m.MaxOutput <= 0 {
				return fmt.Errorf("model %s of tier %d has no output limit", cmp.Or(m.Name, "(none)"), i+1)
			}
		}
	}
	if s.Retry.Tries < 1 {
		return fmt.Errorf("retry.tries is %d: want at least 1", s.Retry.Tries)
	}
	if err := checkApproval(r, s); err != nil {
		return err
	}
	return checkGates(r, s)
}

// checkApproval checks that no setting overrides a recipe in which a failed child restarts its
// parent: only such a recipe itself says where a person approves. The setting "human" is allowed
// if the recipe asks anywhere.
func checkApproval(r *pawl.Recipe, s *pawl.Settings) error {
	restarts, asks := false, false
	for _, k := range r.Kinds {
		if k.Children.RestartsParent() {
			restarts, asks = true, asks || k.Approval != nil
		}
	}
	if restarts && s.Approval != "" && !(asks && s.Approval == "human") {
		return fmt.Errorf("the approval is set to %q: recipe %s says itself where a person is asked, and its plan is never approved automatically", s.Approval, r.Name)
	}
	return nil
}

// maxGateName bounds the bytes of a gate's name, which is part of many events.
const maxGateName = 60

func checkGates(r *pawl.Recipe, s *pawl.Settings) error {
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
