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
		for _, stage := range slices.Concat(k.Gates, k.FinalGates) {
			add(stage.Builtin != "" && !slices.Contains(runChecks, stage.Builtin), "the check "+stage.Builtin)
		}
	}
	Walk(r, func(s *pawl.Step) {
		add(s.Output != "" && !slices.Contains(runOutputs, s.Output), "the output "+s.Output)
	}, func(*pawl.Review) {})
	return out
}
