package engine

import (
	"context"
	"strings"

	"pawl"
	"pawl/internal/recipe"
)

// Preview implements [pawl.Service].
func (e *Engine) Preview(ctx context.Context, req pawl.StartRequest) (pawl.StartPreview, error) {
	spec, err := e.resolve(ctx, req)
	if err != nil {
		return pawl.StartPreview{}, err
	}
	s := &spec.Settings
	out := pawl.StartPreview{
		Goal: spec.Goal, Recipe: spec.Origin, Task: spec.Task, Criteria: criteria(spec), Gates: []pawl.GatePreview{}, Models: []string{}, Limits: s.Limits,
		Prepare: append([]string{}, s.Prepare...), PrepareFrom: s.PrepareFrom, Egress: append([]string{}, s.Egress...), Unsandboxed: spec.Unsandboxed,
		Warnings: append([]string{}, spec.Warnings...), Notes: append([]string{}, spec.Notes...),
	}
	for _, g := range s.Gates {
		out.Gates = append(out.Gates, pawl.GatePreview{Name: g.Name, Kind: g.Kind, Command: g.Command, NeverRun: recipe.NeverRun(&spec.Recipe, g.Kind)})
	}
	for i := range s.Models {
		out.Models = append(out.Models, strings.Join(s.Tier(i+1), ", "))
	}
	if len(s.Prepare) > 0 {
		out.PrepareHash = s.PrepareHash()
	}
	if root := spec.Recipe.Kind(spec.Recipe.Start); out.Limits.Iterations == 0 && root.Children == nil {
		out.Limits.Iterations = root.Iterations
	}
	allowed, err := e.allowed(&spec)
	out.NeedsConsent = !allowed
	return out, err
}
