package view

import (
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// State is a word for where a run or a loop stands, with all that faces add to it.
type State struct {
	// Word is the status or outcome, as --json has it.
	Word string
	// Sign stands before the word, Tone says in which colour both are.
	Sign string
	Tone Tone
	// Exit is the exit code of a command that followed a run to this state; -1 means that it
	// does not leave with it.
	Exit int
	// Meaning explains the word in a sentence.
	Meaning string
}

// stateTable has the outcomes first. docs/outcomes.md lists them all.
var stateTable = []State{
	{string(pawl.OutcomeComplete), "✓", ToneGood, 0, "Every gate passed, and something shows that the work was done: what, is said. Gates that failed on the base and still fail are named."},
	{string(pawl.OutcomeUnverified), "~", ToneWarning, 10, "Nothing failed, but nothing shows that the goal is reached either: read the diff before you merge it."},
	{string(pawl.OutcomeIncomplete), "✗", ToneWarning, 11, "The limit of iterations or tasks was reached; with a higher limit it continues."},
	{string(pawl.OutcomeBlocked), "✗", ToneBad, 12, "Every tier and the council have failed, or what is left depends on what failed."},
	{string(pawl.OutcomeHalted), "!", ToneBad, 13, "It was stopped by something it cannot fix: the budget, a model, the machine, a critical finding, or a question that nobody answered in time."},
	{string(pawl.OutcomeCancelled), "⊘", ToneQuiet, 14, "A person cancelled it."},
	{string(pawl.OutcomeFailed), "✗", ToneBad, 15, "Pawl itself failed, or the recipe ends it so."},
	{string(pawl.OutcomeRefused), "✗", ToneBad, 5, "Something that it needs is not installed; nothing was started."},
	{string(pawl.OutcomeInvalid), "⊘", ToneQuiet, -1, "Of a loop: its parent started over, so it no longer counts."},

	{string(pawl.StatusRunning), "●", ToneActive, -1, "It is active, or waits for something that ends by itself."},
	{string(pawl.StatusPaused), "‖", ToneWarning, 16, "Nothing new starts until it is resumed."},
	{string(pawl.StatusStopping), "‖", ToneWarning, -1, "It ends when the calls and commands in progress have finished."},
	{"interrupted", "‖", ToneWarning, -1, "Its process ended while it was active; no process works on it now."},
	{string(pawl.StatusQuarantined), "✗", ToneBad, -1, "Its stored data is damaged, so it is not run."},
	{string(pawl.StatusEnded), "·", TonePlain, -1, "It has ended; how is not known."},
	{string(pawl.LoopPending), "○", ToneQuiet, -1, "Of a loop: it has not started yet."},
	{string(pawl.LoopRebasing), "↻", ToneWarning, -1, "Of a loop: it takes in what a sibling merged."},
}

// States lists the words for runs and loops, the outcomes first.
func States() []State { return slices.Clone(stateTable) }

// StateOf returns what faces add to a status or outcome. An unknown word has a dot for its sign and
// no exit code.
func StateOf[S ~string](word S) State {
	i := slices.IndexFunc(stateTable, func(s State) bool { return s.Word == string(word) })
	if i < 0 {
		return State{Word: plain.Line(string(word), 40), Sign: "·", Exit: -1}
	}
	return stateTable[i]
}

// Headline returns the word as reports and the last line of a log have it: "COMPLETE".
func (s State) Headline() string { return strings.ToUpper(s.Word) }

// String returns the word behind its sign: "✓ complete".
func (s State) String() string { return s.Sign + " " + s.Word }

// StateOfRun returns the state of a run by its line in a list: its outcome when it has one, unless its
// stored data is damaged, which nobody may take for a good end.
func StateOfRun(info pawl.RunInfo) State {
	if info.Outcome != "" && info.Status != pawl.StatusQuarantined {
		return StateOf(info.Outcome)
	}
	return StateOf(info.Status)
}

// Addition is what may stand behind the word of a good end.
type Addition struct {
	// Words are what is said; N and GATES stand for what differs.
	Words   string
	Meaning string
}

// The additions. docs/outcomes.md lists them, too.
var (
	redAddition     = Addition{"red at base: GATES", "These gates passed only because they are no worse than on the base."}
	planAddition    = Addition{"refused plan carried out", "Its review did not approve the plan, and a person let it pass. The report has what was objected."}
	goalAddition    = Addition{"red: TESTS", "These tests failed on the base and still fail, and are likely to be what the goal is about: see [using.md](using.md#when-a-run-is-done)."}
	findingAddition = Addition{"N findings nobody accepted", "Its changes of tests, gate inputs and the like may be why the gates passed: see [evidence.md](evidence.md). `pawl show` lists them."}
)

// Additions lists what may stand behind the word of a good end, in their order.
func Additions() []Addition {
	return []Addition{planAddition, redAddition, goalAddition, findingAddition}
}

// LeftOpen returns the words that stand behind a good end when something was left open: ", red at
// base: lint, tests, 2 findings nobody accepted". It is empty when nothing was.
func LeftOpen(info pawl.RunInfo) string {
	return refusedPlan(info.RefusedPlan) + StillRed(info.RedAtBase) + RedGoals(info.RedGoals) + Unaccepted(info.Findings)
}

// refusedPlan returns the words that stand beside a good end of a plan that its review had refused: "" of any
// other.
func refusedPlan(is bool) string {
	if !is {
		return ""
	}
	return ", " + planAddition.Words
}

// StillRed returns the words that stand beside a good end when gates let it pass only because they
// are no worse than at the base: ", red at base: lint, tests". It is empty when there are none.
func StillRed(gates string) string {
	if gates == "" {
		return ""
	}
	return ", " + strings.Replace(redAddition.Words, "GATES", plain.Line(gates, 200), 1)
}

// Unaccepted returns the words that stand beside a good end with n findings that nobody accepted. It
// is empty for none.
func Unaccepted(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + strings.Replace(findingAddition.Words, "N findings", count(n, "finding"), 1)
}

// headline returns how the run ended in capitals, with what was left open.
func (r *Run) headline() string { return StateOf(r.Outcome).Headline() + r.leftOpen() }

// leftOpen returns the words behind the run's good end.
func (r *Run) leftOpen() string {
	return refusedPlan(r.refusedPlan) + StillRed(r.stillRed()) + RedGoals(strings.Join(r.unsaidGoals(), ", ")) + Unaccepted(r.findingsLeft)
}

// endTone returns the tone of an end: a good one with findings that nobody accepted, or of a plan that was
// refused, is a warning.
func endTone(b *pawl.RunEnded) Tone {
	if t := StateOf(b.Outcome).Tone; t != ToneGood || b.Findings == 0 && !b.RefusedPlan {
		return t
	}
	return ToneWarning
}

// stillRed names the gates that let the run end well though they are red, with commas between.
func (r *Run) stillRed() string { return strings.Join(r.leftRed, ", ") }
