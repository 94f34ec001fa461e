package recipe

import "pawl"

// The words of the language that stand for something outside of it.

// tools are the tools a step may be given. The last two are answered by the
// harness itself.
var tools = []string{"read", "write", "edit", "list", "glob", "grep", "run", "remember", "blackboard"}

// runTools are those a session of this version can call.
var runTools = tools[:7]

// outputs are the structured results a step may end with: each is handed in
// with the tool submit_NAME.
var outputs = []string{
	"assessment", "result", "verdict", // what this version knows
	"decisions", "plan", "review", "report", "spec", "phase", "summary", "tasks",
}

var runOutputs = outputs[:3]

// lists are the outputs that children can be spawned from.
var lists = []string{"plan", "spec", "phase", "tasks"}

// checks are what the harness can judge itself, without a command or a model.
var checks = []string{
	"actionable",         // every entry of the submitted list can be worked on and checked
	"well_formed",        // the submitted artifact has the sections and the counts it must have
	"tool_results",       // every tool call succeeded, files it should have left are there and parse
	"validation_command", // the command the artifact names succeeds
}

var (
	verdicts   = []pawl.Verdict{pawl.VerdictRevise, pawl.VerdictRetry}
	orders     = []string{"list", "priority", "score"}
	batches    = []string{"barrier", "rolling"}
	health     = []string{"STALLED", "BLOCKED", "REGRESSING", "FLIP-FLOPPING"}
	recoveries = []string{"gather", "revise", "rollback", "ask"}
	approvals  = []string{"human", "auto", "manual", "confidence_threshold"}
	gateKinds  = []string{"tests", "types", "lint", "security", "format"}
)

// maxScore is the hardest a task can look.
const maxScore = 14
