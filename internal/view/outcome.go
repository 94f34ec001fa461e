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
	{string(pawl.OutcomeComplete), "✓", ToneGood, 0, "Every gate passed, at least one of them a command. It names gates that are still red as at the base."},
	{string(pawl.OutcomeUnverified), "~", ToneWarning, 10, "Nothing failed, but no command gate passed either: read the difference before you merge it."},
	{string(pawl.OutcomeIncomplete), "✗", ToneWarning, 11, "The limit on iterations or tasks was reached; a higher one lets it continue."},
	{string(pawl.OutcomeBlocked), "✗", ToneBad, 12, "Every tier and the council tried, or what is left depends on what failed."},
	{string(pawl.OutcomeHalted), "!", ToneBad, 13, "Something stopped it that it cannot mend itself: the budget, a model, the machine, a critical finding."},
	{string(pawl.OutcomeCancelled), "⊘", ToneQuiet, 14, "A person ended it."},
	{string(pawl.OutcomeFailed), "✗", ToneBad, 15, "Pawl itself failed, or the recipe lets it fail here."},
	{string(pawl.OutcomeRefused), "✗", ToneBad, 5, "Something that it needs is not installed; nothing was begun."},
	{string(pawl.OutcomeInvalid), "⊘", ToneQuiet, -1, "Of a loop: its parent began anew, so it no longer counts."},

	{string(pawl.StatusRunning), "●", ToneActive, -1, "It is at work, or waits for something that ends by itself."},
	{string(pawl.StatusPaused), "‖", ToneWarning, 16, "Nothing new is begun until it is resumed."},
	{string(pawl.StatusStopping), "‖", ToneWarning, -1, "It ends as soon as what is under way has finished."},
	{"interrupted", "‖", ToneWarning, -1, "It was at work when its process ended, and no process drives it."},
	{string(pawl.StatusQuarantined), "✗", ToneBad, -1, "What is stored of it is damaged, so nothing of it is run."},
	{string(pawl.StatusEnded), "·", TonePlain, -1, "It has ended, and nobody knows how."},
	{string(pawl.LoopPending), "○", ToneQuiet, -1, "Of a loop: it waits for its turn."},
	{string(pawl.LoopRebasing), "↻", ToneWarning, -1, "Of a loop: it takes over what a sibling merged."},
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

// StateOfRun returns the state of a run by its line in a list: its outcome when it has one.
func StateOfRun(info pawl.RunInfo) State {
	if info.Outcome != "" {
		return StateOf(info.Outcome)
	}
	return StateOf(info.Status)
}

// StillRed returns the words that stand beside a good end when gates let it pass only because they
// are no worse than at the base: ", red at base: lint, tests". It is empty when there are none.
func StillRed(gates string) string {
	if gates == "" {
		return ""
	}
	return ", red at base: " + plain.Line(gates, 200)
}

// headline returns how the run ended in capitals, with the gates that are still red.
func (r *Run) headline() string { return StateOf(r.Outcome).Headline() + StillRed(r.stillRed()) }

// stillRed names the gates that let the run end well though they are red, with commas between.
func (r *Run) stillRed() string { return strings.Join(r.leftRed, ", ") }
