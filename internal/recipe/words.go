package recipe

import "pawl"

// The words of the language that stand for something outside of it.

// tools are the tools a step may be given. The last two are answered by the
// harness itself.
var tools = []string{"read", "write", "edit", "list", "glob", "grep", "run", "update_dependencies", "remember", "blackboard"}

// writing are the tools that are made to change a worktree; others can: see [pawl.ChangesFiles].
var writing = []string{"write", "edit"}

// outputs are the structured results a step may end with: see [pawl.SubmitTool].
var outputs = []string{
	"assessment", "result", "verdict", "tasks", "plan", "next", "summary", "learnings", "context", "decision", "review", "report",
	"create_plan", "create_spec", "create_phase",
}

// entries are the lists in a result that a step can run for each of.
var entries = map[string][]string{"plan": {"decisions"}, "result": {"decisions"}}

// decisions are the words that a result can decide by output. A verdict is none: it is a gate's.
var decisions = map[string][]string{
	"tasks": {"PANDORA_LOOP", "EXECUTE", "COMPLETE"}, "next": {"EXECUTE", "COMPLETE"}, "review": {"APPROVED", "NEEDS_REVISION"},
	"plan": {"NEEDS_CLARIFICATION"}, "result": {"BLOCKED"},
}

// asking are the outputs that can hold questions.
var asking = []string{"plan", "review"}

// lists are the outputs that children can be spawned from.
var lists = []string{"plan", "tasks", "create_plan", "create_spec", "create_phase"}

// checks are what the harness can judge itself, without a command or a model.
var checks = []string{
	"actionable",         // every entry of the submitted list can be worked on and checked
	"tool_results",       // every tool call succeeded, files it should have left are there and parse
	"well_formed",        // the submitted plan, spec or phase holds what it must, as many as it must
	"validation_command", // the command that the loop's own task names succeeds
}

// signs are the checks of a step that the harness makes before it believes a decision.
var signs = []string{"many_steps"}

// tierFields are the fields of a task that say a tier.
var tierFields = []string{"model_tier"}

const (
	decisionPattern = `^[A-Z][A-Z_]{0,31}$`
	aDecision       = "a decision in capitals such as EXECUTE"
)

// maxCalls is the most a limit on a tool's calls may be.
const maxCalls = 1000

var (
	verdicts   = []pawl.Verdict{pawl.VerdictRevise, pawl.VerdictRetry, pawl.VerdictFail}
	orders     = []string{"list", "priority", "score"}
	admissions = []string{string(pawl.AdmitReady), string(pawl.AdmitEager)}
	landings   = []string{string(pawl.LandApproved), string(pawl.LandAll), string(pawl.LandBest)}
	failures   = []string{string(pawl.FailContinue), string(pawl.FailBlock), string(pawl.FailStop), string(pawl.FailRestartParent)}
	health     = []string{"STALLED", "BLOCKED", "REGRESSING", "FLIP-FLOPPING"}
	recoveries = []string{"gather", "revise", "rollback", "ask"}
	// Those of the attempts of a kind without children.
	ownHealth     = []string{"REGRESSING", "FLIP-FLOPPING"}
	ownRecoveries = []string{string(pawl.RecoverRollback), string(pawl.RecoverEscalate)}

	monitorRules = []string{string(pawl.RulesSeed)}
	drains       = []string{string(pawl.DrainFinish), string(pawl.DrainBoundary), string(pawl.DrainNow)}
	approvals    = []string{"human", "auto", "manual", "confidence_threshold"}
	gateKinds    = []string{"tests", "types", "lint", "security", "format"}
)

// Bounds of trees.
const (
	maxLoops    = 500  // side by side in a run
	maxPriority = 1000 // what a kind has to begin with
	maxGroup    = 64   // members of a group
)

// maxScore is the hardest a task can look.
const maxScore = 14
