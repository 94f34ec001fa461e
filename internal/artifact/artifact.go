// Package artifact holds what loops of a tree are spawned from: a plan lists specs, a
// spec lists phases, a phase says what one code loop does and which command shows that
// it is done. It reads them as a model handed them in, says what is wrong with them,
// renders them for people, and makes tasks of them.
//
// The JSON document as it was handed in is the artifact: approvals name its hash, and
// children are spawned from it and never from Markdown.
package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl"
)

// Kind says what an artifact is.
type Kind string

// The kinds. The result that a session hands one in with is called create_ and its kind.
const (
	KindPlan  Kind = "plan"
	KindSpec  Kind = "spec"
	KindPhase Kind = "phase"
)

// Bounds of an artifact.
const (
	MaxSpecs   = 10 // of a plan
	MinPhases  = 3  // of a spec
	MaxPhases  = 7
	MaxWork    = 20      // pieces of work of a phase
	MaxBytes   = 1 << 18 // of a whole document
	MaxCommand = 2000    // bytes of a validation command

	maxTitle    = 200  // bytes
	maxText     = 8000 // bytes of an overview, a description or a task
	maxItem     = 1000 // bytes of an entry of a list of texts
	maxItems    = 20   // entries of such a list
	maxPath     = 400  // bytes of a file's path
	maxProblems = 6    // that are told at once
)

// Artifact is a plan, a spec or a phase that has been read and is well formed.
type Artifact interface {
	Kind() Kind
	// Markdown is the document for people: plan.md, spec.md or phase.md. Nothing a
	// text of it says can begin, end or hide one of its sections, or reach a terminal.
	Markdown() string
	// Tasks are what the children are spawned from, in order. own is the id of the
	// loop's own task: the one child of a phase is called as the phase is.
	Tasks(own string) []pawl.TaskSpec

	title() string
	check(*problems)
}

// Plan divides a request into specs. create_plan hands it in.
type Plan struct {
	Title    string `json:"title"`
	Overview string `json:"overview"`
	// Phases tell the order of the work in a few words each, for people; empty = the
	// specs' titles do.
	Phases          []string   `json:"phases,omitempty"`
	Specs           []PlanSpec `json:"specs"`
	SuccessCriteria []string   `json:"success_criteria,omitempty"`
	NonGoals        []string   `json:"non_goals,omitempty"`
	Risks           []string   `json:"risks,omitempty"`
}

// PlanSpec is a spec as its plan names it: the contract of the loop that writes it.
type PlanSpec struct {
	Name        string `json:"name"` // a task's id
	Title       string `json:"title"`
	Description string `json:"description"`
	// Dependencies are the names of specs whose work this one builds upon.
	Dependencies []string `json:"dependencies,omitempty"`
}

// Spec divides one spec of a plan into phases. create_spec hands it in.
type Spec struct {
	Title           string      `json:"title"`
	ParentPlan      string      `json:"parent_plan"` // the plan's title
	Overview        string      `json:"overview"`
	Phases          []SpecPhase `json:"phases"`
	SuccessCriteria []string    `json:"success_criteria,omitempty"`
	Risks           []string    `json:"risks,omitempty"`
}

// SpecPhase is a phase as its spec names it.
type SpecPhase struct {
	Name        string `json:"name"` // a task's id
	Title       string `json:"title"`
	Description string `json:"description"`
	// DependsOn are the names of phases whose work this one builds upon; nil = it
	// follows the phase before it, empty = it may begin at once.
	DependsOn []string `json:"depends_on,omitempty"`
}

// Phase is the work of one code loop. create_phase hands it in.
type Phase struct {
	Title           string   `json:"title"`
	Task            string   `json:"task"` // what is to be done, as a whole
	Work            []Work   `json:"tasks"`
	SuccessCriteria []string `json:"success_criteria"`
	// ValidationCommand is a shell line that succeeds when the work is done.
	ValidationCommand string `json:"validation_command"`
	Notes             string `json:"notes,omitempty"`
}

// Work is one piece of a phase's work: what happens to a file.
type Work struct {
	Description string `json:"description"`
	File        string `json:"file"` // relative to the repository
	Action      Action `json:"action"`
}

// Action says what happens to a file.
type Action string

// The actions.
const (
	ActionCreate Action = "create"
	ActionModify Action = "modify"
	ActionDelete Action = "delete"
)

// Kind implements [Artifact].
func (*Plan) Kind() Kind { return KindPlan }

// Kind implements [Artifact].
func (*Spec) Kind() Kind { return KindSpec }

// Kind implements [Artifact].
func (*Phase) Kind() Kind { return KindPhase }

func (p *Plan) title() string  { return p.Title }
func (s *Spec) title() string  { return s.Title }
func (p *Phase) title() string { return p.Title }

// Title is an artifact's, on one line and without what a terminal would obey.
func Title(a Artifact) string { return oneLine(a.title()) }

// Result is the name of the structured result that hands in an artifact of this kind.
func (k Kind) Result() string { return "create_" + string(k) }

// File is the name of the document that people read.
func (k Kind) File() string { return string(k) + ".md" }

// Detect says which kind of artifact a JSON document means to be; empty = none. It
// looks at the one field no other kind has, and at nothing else.
func Detect(data []byte) Kind {
	var fields struct {
		Specs   json.RawMessage `json:"specs"`
		Phases  json.RawMessage `json:"phases"`
		Command json.RawMessage `json:"validation_command"`
	}
	if len(data) > MaxBytes || json.Unmarshal(data, &fields) != nil {
		return ""
	}
	switch {
	case fields.Specs != nil:
		return KindPlan
	case fields.Phases != nil:
		return KindSpec
	case fields.Command != nil:
		return KindPhase
	}
	return ""
}

// Read reads an artifact of a kind and says what is wrong with it, in words for
// whoever wrote it: each problem names its field.
func Read(kind Kind, data []byte) (Artifact, error) {
	var a Artifact
	switch kind {
	case KindPlan:
		a = &Plan{}
	case KindSpec:
		a = &Spec{}
	case KindPhase:
		a = &Phase{}
	default:
		return nil, pawl.Errorf(pawl.CodeInvalid, "there is no artifact of the kind %s: want plan, spec or phase", kind)
	}
	if len(data) > MaxBytes {
		return nil, pawl.Errorf(pawl.CodeInvalid, "the %s has %d bytes: want at most %d", kind, len(data), MaxBytes)
	}
	if err := strictly(data, a); err != nil {
		return nil, pawl.Errorf(pawl.CodeInvalid, "the %s does not fit: %w", kind, err)
	}
	var p problems
	a.check(&p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return a, nil
}

// strictly reads a JSON document that has no unknown fields and nothing after it.
func strictly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if dec.More() {
		return fmt.Errorf("there is more text after its end")
	}
	return nil
}
