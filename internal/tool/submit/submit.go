// Package submit holds the structured results that sessions hand in: a JSON
// Schema and a description for the model each, and the Go types they decode to.
// A result is handed in by a call of the tool submit_NAME, a plan, a spec or a phase
// by one of its own name (see [pawl.SubmitTool]); the kernel answers it, so there is
// nothing here that runs.
package submit

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/artifact"
)

//go:embed *.json *.md
var files embed.FS

// Names are the results there are.
func Names() []string {
	return []string{"assessment", "ballot", "batch", "context", "create_phase", "create_plan", "create_spec", "decision", "learnings", "next", "plan", "proposal", "report", "result",
		"review", "summary", "tasks", "verdict"}
}

// Spec is the tool that hands in the result of this name; false when there is no
// such result. The name may also be that of the tool.
func Spec(name string) (pawl.ToolSpec, bool) {
	name = result(name)
	schema, err := files.ReadFile(name + ".json")
	if err != nil {
		return pawl.ToolSpec{}, false
	}
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		return pawl.ToolSpec{}, false
	}
	return pawl.ToolSpec{Name: pawl.SubmitTool(name), Description: strings.TrimSpace(string(text)), Schema: schema}, true
}

// result is the name of a result, given as it is or as that of its tool.
func result(name string) string {
	if found, ok := pawl.SubmittedBy(name); ok {
		return found
	}
	return name
}

// Results are all results. It has what the runner needs of them.
type Results struct{}

// Spec is [Spec].
func (Results) Spec(name string) (pawl.ToolSpec, bool) { return Spec(name) }

// Facts are what decisions need of a result, or what is wrong with it beyond its
// schema, in words for the model. about is what it is checked against.
//
//   - assessment: files, lines, new_dependencies, type, and a risk for each; how many
//     goal tests it picks, if any
//   - ballot: a rank for each proposal, best first
//   - batch: for each task approved or changes, its id; after the latter why, in
//     short, and because, a text; then a text for each anti-pattern
//   - context: nothing
//   - create_phase, create_plan, create_spec: count, how many loops are spawned from it
//   - decision: decision-text, the text
//   - learnings: for each entry its text, by the name of its kind
//   - next: decision (EXECUTE or COMPLETE)
//   - plan: count, how many questions and decisions there are, if any, and with
//     questions decision (NEEDS_CLARIFICATION)
//   - proposal: confidence
//   - report: nothing
//   - result: status (done or blocked) and reason, as far as they are given; if it
//     is blocked by its decision (BLOCKED), blocker_type, blocker and blocked_by;
//     how many decisions there are, if any
//   - review: decision (APPROVED or NEEDS_REVISION), how many questions, if any
//   - summary: nothing
//   - tasks: decision (PANDORA_LOOP, EXECUTE or COMPLETE), count, reason
//   - verdict: decision (pass, fail, halt, retry or revise), reason, met, total,
//     confidence if it is given, an unmet for the id of each criterion that is not
//     met, and a loose for each that is met by evidence without a line or a test;
//     for each answer to a finding accepted or refused, its id, followed by quote or
//     why, if it is given; unanswered for each other finding
//
// Of all results, surplus for what is ignored: what nobody asked for, or what is there
// twice.
func (Results) Facts(name string, args json.RawMessage, about pawl.Submission) (facts pawl.Facts, problem string) {
	switch result(name) {
	case "assessment":
		return factsOf(args, func(a Assessment) (pawl.Facts, error) { return a.facts(about) })
	case "ballot":
		return factsOf[Ballot](args, Ballot.facts)
	case "batch":
		return factsOf[Batch](args, Batch.facts)
	case "context":
		return factsOf[Context](args, Context.facts)
	case artifact.KindPlan.Result():
		return artifactFacts(artifact.KindPlan, args)
	case artifact.KindSpec.Result():
		return artifactFacts(artifact.KindSpec, args)
	case artifact.KindPhase.Result():
		return artifactFacts(artifact.KindPhase, args)
	case "decision":
		return factsOf[Decision](args, Decision.facts)
	case "learnings":
		return factsOf[Learnings](args, Learnings.facts)
	case "next":
		return factsOf[Next](args, Next.facts)
	case "plan":
		return factsOf[Plan](args, Plan.facts)
	case "proposal":
		return factsOf[Proposal](args, Proposal.facts)
	case "report":
		return factsOf[Report](args, Report.facts)
	case "result":
		return factsOf[Result](args, Result.facts)
	case "review":
		return factsOf[Review](args, Review.facts)
	case "summary":
		return factsOf[Summary](args, Summary.facts)
	case "tasks":
		return factsOf[Tasks](args, Tasks.facts)
	case "verdict":
		return factsOf(args, func(v Verdict) (pawl.Facts, error) { return v.facts(about) })
	}
	return nil, fmt.Sprintf("there is no result %q", name)
}

func factsOf[T any](args json.RawMessage, facts func(T) (pawl.Facts, error)) (pawl.Facts, string) {
	decoded, err := Decode[T](args)
	if err != nil {
		return nil, err.Error()
	}
	found, err := facts(decoded)
	if err != nil {
		return nil, err.Error()
	}
	return found, ""
}

func artifactFacts(kind artifact.Kind, args json.RawMessage) (pawl.Facts, string) {
	a, err := artifact.Read(kind, args)
	if err != nil {
		return nil, err.Error()
	}
	return counts("count", len(a.Tasks(""))), ""
}

// Decode reads a result; unknown fields are an error.
func Decode[T any](args json.RawMessage) (T, error) {
	var into T
	decoder := json.NewDecoder(strings.NewReader(string(args)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil {
		return into, fmt.Errorf("the result does not fit: %w", err)
	}
	return into, nil
}

// surplus is a fact that says what of a result is ignored.
func surplus(what string) pawl.Fact {
	return pawl.Fact{Name: pawl.FactSurplus, Value: short(what, maxSurplus)}
}

// maxSurplus bounds the bytes that a fact has of what is ignored.
const maxSurplus = 60

// counts is a fact that says how many there are; none when there are none.
func counts(name string, n int) pawl.Facts {
	if n == 0 {
		return nil
	}
	return pawl.Facts{{Name: name, Value: strconv.Itoa(n)}}
}

func oneLine(text string) string {
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "\uFFFD")
}

// short cuts a text to at most n bytes on one line.
func short(text string, n int) string {
	text = oneLine(text)
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}
