package artifact

import (
	"fmt"
	"strings"

	"pawl"
)

// onlyTask is the id of a phase's one child when the phase has none itself.
const onlyTask = "code"

// Tasks implements [Artifact]: one spec loop a spec.
func (p *Plan) Tasks(string) []pawl.TaskSpec {
	out := make([]pawl.TaskSpec, 0, len(p.Specs))
	for _, s := range p.Specs {
		out = append(out, pawl.TaskSpec{ID: s.Name, Title: s.Title, Description: s.Description, DependsOn: s.Dependencies})
	}
	return out
}

// Tasks implements [Artifact]: one phase loop a phase. A phase that does not say what
// it depends on follows the one before it.
func (s *Spec) Tasks(string) []pawl.TaskSpec {
	out := make([]pawl.TaskSpec, 0, len(s.Phases))
	for i, p := range s.Phases {
		depends := p.DependsOn
		if depends == nil && i > 0 {
			depends = []string{s.Phases[i-1].Name}
		}
		out = append(out, pawl.TaskSpec{ID: p.Name, Title: p.Title, Description: p.Description, DependsOn: depends})
	}
	return out
}

// Tasks implements [Artifact]: exactly one code loop.
func (p *Phase) Tasks(own string) []pawl.TaskSpec {
	if own == "" {
		own = onlyTask
	}
	return []pawl.TaskSpec{{
		ID: own, Title: p.Title, Description: p.description(), Criteria: p.SuccessCriteria,
		ValidationCommand: strings.TrimSpace(p.ValidationCommand), Notes: p.Notes,
	}}
}

// description is the whole of the work: the code loop is told nothing else of it.
func (p *Phase) description() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nSpecific work:\n", strings.TrimSpace(p.Task))
	for i, w := range p.Work {
		fmt.Fprintf(&b, "%d. %s %s: %s\n", i+1, w.Action, w.File, strings.TrimSpace(w.Description))
	}
	return b.String()
}
