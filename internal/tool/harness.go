package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"pawl"
)

//go:embed remember.md
var rememberText string

//go:embed blackboard.md
var blackboardText string

// Remember writes down what later work should know. The harness answers it from
// the run's state, so there is only its spec.
type Remember struct{ answered }

// Spec implements [pawl.Tool].
func (Remember) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "remember", Description: strings.TrimSpace(rememberText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "kind": {"type": "string", "enum": ["decision", "learning", "discovery", "error", "artifact", "anti-pattern"]},
    "text": {"type": "string", "minLength": 1},
    "scope": {"type": "string", "enum": ["run", "project"], "description": "For whom it is: this run, or later runs of the project too. Default: learnings and anti-patterns for the project, the rest for the run."}
  },
  "required": ["kind", "text"],
  "additionalProperties": false
}`)}
}

// Blackboard is what tasks that run side by side share. The harness answers it
// from the run's state, so there is only its spec.
type Blackboard struct{ answered }

// Spec implements [pawl.Tool].
func (Blackboard) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "blackboard", Description: strings.TrimSpace(blackboardText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "op": {"type": "string", "enum": ["get", "set", "list"]},
    "key": {"type": "string", "description": "With get and set."},
    "value": {"type": "string", "description": "With set."}
  },
  "required": ["op"],
  "additionalProperties": false
}`)}
}

// answered is a tool whose calls the harness answers itself.
type answered struct{}

// Class implements [pawl.Tool]: there is nothing to recover.
func (answered) Class() pawl.CrashClass { return 0 }

// Call implements [pawl.Tool].
func (answered) Call(context.Context, pawl.ToolEnv, json.RawMessage) (pawl.ToolResult, error) {
	return pawl.ToolResult{}, pawl.Errorf(pawl.CodeInvalid, "the harness answers this tool itself: it is never called")
}
