package recipe

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Runnable says whether this version's kernel runs the recipe: nil, or an error
// that names what it would need.
func Runnable(r pawl.Recipe) error {
	var missing []string
	for _, need := range needs(&r) {
		if !slices.Contains(missing, need) {
			missing = append(missing, need)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	const most = 4 // it is enough to know that it is not a matter of one word
	if more := len(missing) - most + 1; more > 1 {
		missing = append(missing[:most-1], fmt.Sprintf("%d more parts of the language", more))
	}
	return pawl.Errorf(pawl.CodeInvalid, "recipe %s needs %s, which this version does not run yet", r.Name, and(missing)).
		WithHint("it can be shown with: pawl recipes show %s", r.Name)
}

// and joins words as a sentence does.
func and(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// needs are the parts of the language a recipe uses that the kernel does not
// run, in the order they are met.
func needs(r *pawl.Recipe) (out []string) {
	add := func(used bool, what string) {
		if used {
			out = append(out, what)
		}
	}
	for i := range r.Kinds {
		k := &r.Kinds[i]
		add(k.Children != nil, "children")
		add(k.Approval != nil, "approval")
		add(len(k.FinalGates) > 0, "final gates")
		add(len(k.FinalSteps) > 0, "final steps")
		for j := range k.Steps {
			out = append(out, stepNeeds(&k.Steps[j])...)
		}
		for j := range k.Gates {
			out = append(out, gateNeeds(&k.Gates[j])...)
		}
		add(k.Ladder.Then == "replan", "a ladder that ends in replan")
		add(k.Ladder.Then == "ask", "a ladder that ends in a question")
	}
	return out
}

func stepNeeds(s *pawl.Step) (out []string) {
	add := func(used bool, what string) {
		if used {
			out = append(out, what)
		}
	}
	if s.Repeat != nil {
		return []string{"repeat"}
	}
	add(s.ForEach != "", "for_each")
	add(s.Questions, "questions")
	add(s.Memory != nil, "memory")
	add(s.TierFrom != "", "tier_from")
	add(s.When != nil && len(s.When.Decision) > 0, "when: decision")
	add(s.Output != "" && !slices.Contains(runOutputs, s.Output), "the output "+s.Output)
	for _, tool := range s.Tools {
		add(!slices.Contains(runTools, tool), "the tool "+tool)
	}
	return out
}

func gateNeeds(s *pawl.Stage) (out []string) {
	add := func(used bool, what string) {
		if used {
			out = append(out, what)
		}
	}
	add(s.Builtin != "", "builtin checks")
	add(s.Human, "gates that ask a person")
	add(len(s.On) > 0, "routes of verdicts (on)")
	add(s.When != nil && len(s.When.Decision) > 0, "when: decision")
	if r := s.Review; r != nil {
		add(r.Votes > 1, "votes")
		add(!slices.Contains(runOutputs, r.Output), "the output "+r.Output)
		for _, tool := range r.Tools {
			add(!slices.Contains(runTools, tool), "the tool "+tool)
		}
	}
	return out
}
