package recipe

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// NeverRun says why the recipe never runs a command gate of this kind on what a loop made; empty if
// it does, or may.
func NeverRun(r *pawl.Recipe, kind pawl.GateKind) string {
	kinds := commandKinds(r)
	switch {
	case kind == pawl.GateHeldOut && r.Kind(r.Start).HeldOutStage() < 0:
		return fmt.Sprintf("the first loop of the recipe %s runs no command gates on the finished work in all circumstances", r.Name)
	case kind == pawl.GateHeldOut:
		return ""
	case slices.Contains(kinds, "*"), slices.Contains(kinds, string(kind)):
		return ""
	case len(kinds) == 0:
		return Runs(r)
	}
	return fmt.Sprintf("it is of kind %s, and %s", kind, Runs(r))
}

// Runs says which command gates the recipe runs on what a loop made.
func Runs(r *pawl.Recipe) string {
	switch kinds := commandKinds(r); {
	case len(kinds) == 0:
		return fmt.Sprintf("the recipe %s runs no command gates", r.Name)
	case kinds[0] == "*":
		return fmt.Sprintf("the recipe %s runs all command gates", r.Name)
	default:
		return fmt.Sprintf("the recipe %s runs only command gates of kind %s", r.Name, strings.Join(kinds, " and "))
	}
}

// Judges reports whether there would be a gate at all on what a loop made: a review, a check, a
// person, or one of these command gates.
func Judges(r *pawl.Recipe, gates []pawl.GateSpec) bool {
	if slices.ContainsFunc(gates, func(g pawl.GateSpec) bool { return NeverRun(r, g.Kind) == "" }) {
		return true
	}
	return slices.ContainsFunc(stagesOf(r), func(s pawl.Stage) bool { return len(s.Commands) == 0 })
}

// Judged is when a model or a person judges the finished work of a recipe's first loop.
type Judged int

// When the finished work is judged.
const (
	JudgedNever   Judged = iota // never
	JudgedUnsplit               // only if the loop does it without a list of tasks
	JudgedAlways                // always
)

// JudgesCriteria reports when a model or a person judges the finished work of the root loop.
func JudgesCriteria(r *pawl.Recipe) Judged {
	k := r.Kind(r.Start)
	judges := func(s pawl.Stage) bool { return s.Review != nil || s.Human }
	switch {
	case slices.ContainsFunc(k.FinalGates, judges), k.Children == nil && slices.ContainsFunc(k.Gates, judges):
		return JudgedAlways
	case k.Children != nil && k.Children.When != nil && slices.ContainsFunc(k.Gates, judges):
		return JudgedUnsplit
	}
	return JudgedNever
}

// commandKinds are the kinds of command gates that the recipe runs, * for all, sorted.
func commandKinds(r *pawl.Recipe) []string {
	var out []string
	for _, s := range stagesOf(r) {
		out = append(out, s.Commands...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stagesOf are the gates of the root loop and of all loops below it.
func stagesOf(r *pawl.Recipe) (out []pawl.Stage) {
	seen := map[string]bool{}
	for k := r.Kind(r.Start); k != nil && !seen[k.Name]; {
		seen[k.Name] = true
		out = append(out, slices.Concat(k.Gates, k.FinalGates)...)
		if k.Children == nil {
			break
		}
		k = r.Kind(k.Children.Kind)
	}
	return out
}
