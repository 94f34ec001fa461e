package pawl

import (
	"encoding/json"
	"reflect"
)

// StartRequest asks for a run: by which recipe, what for, and with which flags of pawl run.
// Whoever has the project makes a [RunSpec] of it (internal/start), with the configuration of the
// repository and of the user. It can say nothing that the command line cannot say.
type StartRequest struct {
	// Goal is what should be there when the run is done. It may be left out where Tasks or Task
	// say it. With Task it says what the task is continued for.
	Goal string `json:"goal,omitempty" doc:"what should be there when the run is done; it may be missing where tasks or task say it"`
	// Recipe is the name of a recipe; empty = the one that Task was worked on with, else the
	// configured one.
	Recipe string `json:"recipe,omitempty" doc:"the name of a recipe; missing: the one that task was worked on with, or else the configured one"`
	// Flags are those of pawl run that are given.
	Flags StartFlags `json:"flags,omitzero"`
	// Task continues a task that was worked on before, here or in another clone: its full id,
	// NNN-slug. Empty = a new one.
	Task string `json:"task,omitempty" doc:"the full id, NNN-slug, of a task that is continued; missing: a new one"`
	// Tasks is a list of tasks as a file of pawl run --tasks has it.
	Tasks JSON `json:"tasks,omitempty" doc:"a list of tasks: a tasks.json, a prd.json, or a list of objects with id and title"`
	// Merge asks for a run without an agent that judges a merge into HEAD; nil = the run does work.
	// Then only Goal, Dir and AllowPrepare count besides: everything else is as in the run that it
	// names.
	Merge *MergeRequest `json:"merge,omitempty" doc:"judge the merge of a run's work into HEAD, by that run's gates and without an agent; only goal, dir and allow_prepare go with it"`
	// Dir is a folder of the work tree whose HEAD the run starts from and whose configuration
	// holds. Relative names of files are relative to it. Empty = the work tree that the project
	// was reached from.
	Dir string `json:"dir,omitempty" doc:"a folder of the work tree that the run starts from, absolute; missing: the one that the project was opened by"`
	// Unattended says that nobody is there to answer while the run begins; see [Settings].
	Unattended bool `json:"unattended,omitempty" doc:"nobody is there to answer while the run begins: a gate whose program is missing then ends it"`
	// AllowPrepare is the hash of commands of the repository that the user allows, for this run
	// and later ones of the project; see [Settings.PrepareHash]. Zero = none that were not
	// allowed before.
	AllowPrepare Hash `json:"allow_prepare,omitzero" doc:"the hash of the repository's prepare commands that are allowed, now and later"`
}

// MergeRequest says what is merged into HEAD, and whose gates judge the merge.
type MergeRequest struct {
	Run RunID `json:"run" doc:"the run whose settings and gates count"`
	// Commit is what is merged, usually the head of the run's branch.
	Commit CommitHash `json:"commit" doc:"the commit that is merged, such as the head of the run's branch"`
}

// StartFlags are the flags of pawl run that decide about the run. A field's name is the flag's, with
// _ for -, and its doc is the flag's help, in which word stands for the value. key is the setting
// that a flag sets. What is nil is not given: the configuration decides.
type StartFlags struct {
	Criteria          []string  `json:"criteria,omitempty" word:"SENTENCE" doc:"an acceptance criterion, a SENTENCE; may be repeated"`
	Gate              []string  `json:"gate,omitempty" word:"KIND=COMMAND" doc:"a gate KIND=COMMAND or NAME:KIND=COMMAND, where KIND is tests, types, lint, security or format; it replaces the configured gate of that name; may be repeated"`
	Model             []string  `json:"model,omitempty" key:"model" word:"PROVIDER/NAME" doc:"PROVIDER/NAME or script:FILE for all tiers, or fast=…, medium=… or large=… for one"`
	MaxIterations     *int      `json:"max_iterations,omitempty" key:"limits.iterations" word:"N" doc:"make at most N attempts"`
	Budget            *Quantity `json:"budget,omitempty" key:"limits.money_usd" word:"USD" doc:"spend at most this much, in USD"`
	MaxTokens         *Quantity `json:"max_tokens,omitempty" key:"limits.tokens" word:"N" doc:"use at most N tokens"`
	MaxTime           *Quantity `json:"max_time,omitempty" key:"limits.time_minutes" word:"TIME" doc:"work for at most this TIME: minutes, or 90m, 8h"`
	MaxMemory         *Quantity `json:"max_memory,omitempty" key:"limits.room.memory" word:"SIZE" doc:"let the commands in a room use at most this SIZE of memory, such as 4GiB, or 80% of the machine's"`
	MaxDisk           *Quantity `json:"max_disk,omitempty" key:"limits.room.disk" word:"SIZE" doc:"let the commands in a room write at most this SIZE to disk, such as 50GiB"`
	MaxProcesses      *Quantity `json:"max_processes,omitempty" key:"limits.room.processes" word:"N" doc:"let the commands in a room have at most N processes"`
	Complexity        *int      `json:"complexity,omitempty" key:"complexity" word:"0-14" doc:"how hard the task is, 0-14; by default a model assesses it"`
	Council           *bool     `json:"council,omitempty" key:"council" doc:"call a council after the first failed attempt"`
	Agent             *string   `json:"agent,omitempty" key:"agent" word:"NAME" doc:"work as the specialist NAME"`
	Scope             []string  `json:"scope,omitempty" word:"SENTENCE" doc:"a SENTENCE that limits what may be changed; may be repeated"`
	Context           []string  `json:"context,omitempty" word:"NAME=VALUE" doc:"something that whoever works on the goal should know, as NAME=VALUE; may be repeated"`
	Metadata          []string  `json:"metadata,omitempty" word:"NAME=VALUE" doc:"something that is kept with the run for other programs, as NAME=VALUE, and shown to no model; may be repeated"`
	NoFinalReview     bool      `json:"no_final_review,omitempty" doc:"leave out the recipe's review of the whole at the end; its final command gates stay"`
	RequireGreen      bool      `json:"require_green,omitempty" doc:"gates must pass completely, even where they fail on the base"`
	Green             []string  `json:"green,omitempty" word:"TEST" doc:"a TEST (or GATE=TEST) that must pass in the end, even if it fails now or does not exist yet; may be repeated"`
	NotGreen          []string  `json:"not_green,omitempty" word:"TEST" doc:"a TEST (or GATE=TEST) that fails now and is not what the goal is about; may be repeated"`
	Approval          *string   `json:"approval,omitempty" key:"approval.mode" word:"MODE" doc:"who approves tasks and merges: a MODE auto, manual or confidence_threshold"`
	ApprovalThreshold *int      `json:"approval_threshold,omitempty" key:"approval.threshold" word:"PERCENT" doc:"the lowest confidence that needs no person, in PERCENT"`
	Parallel          *int      `json:"parallel,omitempty" key:"parallel" word:"N" doc:"work on N tasks at once"`
	ReplanEvery       *Quantity `json:"replan_every,omitempty" key:"replan_every" word:"N" doc:"plan again after every N passed tasks; 0 means never"`
	Callback          *string   `json:"callback,omitempty" key:"callback.url" word:"URL" doc:"a URL that is told how the run ended"`
	CallbackPrivate   *bool     `json:"callback_private,omitempty" key:"callback.allow_private" doc:"allow a callback on this machine or in a private network"`
	Announce          *string   `json:"announce,omitempty" key:"announce.command" word:"COMMAND" doc:"a shell COMMAND that gets every question of the run as JSON"`
	AnnounceURL       *string   `json:"announce_url,omitempty" key:"announce.url" word:"URL" doc:"a URL that gets every question of the run"`
	AnnouncePrivate   *bool     `json:"announce_private,omitempty" key:"announce.allow_private" doc:"allow an announce URL on this machine or in a private network"`
	Egress            []string  `json:"egress,omitempty" word:"RULE" doc:"let prepare reach what this RULE names: HOST:PORT or HOST:PORT=ADDRESS; may be repeated"`
	Unsandboxed       bool      `json:"unsandboxed,omitempty" doc:"if commands cannot be confined, run them with your own rights; otherwise no effect"`
	AllowMissingGate  []string  `json:"allow_missing_gate,omitempty" word:"NAME" doc:"leave out the gate NAME if its program is not installed; may be repeated"`
	Evidence          *string   `json:"evidence,omitempty" key:"evidence.mode" word:"MODE" doc:"who answers for changes of what gates look at: a MODE strict (you), review (the reviewer) or off"`
	HeldOut           *string   `json:"held_out,omitempty" word:"DIR" doc:"judge the result by the checks in DIR too, which the agent never sees: DIR/*.sh with DIR/overlay, or a Harbor task"`
	HeldOutFeedback   *string   `json:"held_out_feedback,omitempty" word:"WHAT" doc:"WHAT the agent reads about held-out checks that fail: none (only that they do), names (which, by default) or full (their output too)"`
	AllowPath         []string  `json:"allow_path,omitempty" word:"PATH" doc:"let the work change this PATH, although it acts elsewhere than in the gates (CI, editors, hooks, installs, images, shells, agents), such as .github; may be repeated"`
}

// Quantity is an amount as people write it, such as 2.50, 90m or 4GiB. In JSON it may be a number, too.
type Quantity string

// UnmarshalJSON reads a text or a number.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var n json.Number // which takes a text that is a number, too
	if err := json.Unmarshal(data, &n); err == nil {
		*q = Quantity(n)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		// As an error of this type it gets the field's name from the decoder.
		return &json.UnmarshalTypeError{Value: string(data), Type: reflect.TypeFor[Quantity]()}
	}
	*q = Quantity(text)
	return nil
}

// StartPreview is what a [StartRequest] would start.
type StartPreview struct {
	Goal     string        `json:"goal"`
	Recipe   RecipeOrigin  `json:"recipe"`
	Task     string        `json:"task,omitempty"` // the one that is continued
	Criteria []Criterion   `json:"criteria" nullable:"false"`
	Gates    []GatePreview `json:"gates" nullable:"false"`
	// Models are those of tiers 1, 2 and 3, as PROVIDER/NAME. A tier with fallbacks has them after its
	// own model, with commas between.
	Models []string `json:"models" nullable:"false"`
	Limits Limits   `json:"limits"`
	// Prepare are the commands that prepare a checkout, PrepareFrom says whose they are, and
	// PrepareHash identifies them; see [StartRequest].
	Prepare     []string `json:"prepare" nullable:"false"`
	PrepareFrom Origin   `json:"prepare_from,omitempty"`
	PrepareHash Hash     `json:"prepare_hash,omitzero"`
	// NeedsConsent reports that nobody has allowed the commands: without AllowPrepare the run is
	// not started.
	NeedsConsent bool `json:"needs_consent"`
	// Egress are the rules of what these commands reach.
	Egress      []string `json:"egress" nullable:"false"`
	Unsandboxed bool     `json:"unsandboxed"` // commands may run unconfined where no sandbox works
	// Warnings say what the user may not have meant, Notes what they should know.
	Warnings []string `json:"warnings" nullable:"false"`
	Notes    []string `json:"notes" nullable:"false"`
}

// GatePreview is a command gate of a run that would be started.
type GatePreview struct {
	Name    string   `json:"name"`
	Kind    GateKind `json:"kind"`
	Command string   `json:"command"`
	// NeverRun says why the recipe never runs it on what was made; empty = it does.
	NeverRun string `json:"never_run,omitempty"`
}

// RunSpec is a run as it is started: everything that it will depend on, resolved.
type RunSpec struct {
	Goal     string
	Criteria []Criterion
	Recipe   Recipe
	// Origin says where the recipe comes from.
	Origin RecipeOrigin
	// Prompts are the recipe's templates by file name; frozen as blobs.
	Prompts  map[string]string
	Settings Settings
	// Dir, AllowPrepare and Task are as in [StartRequest].
	Dir          string
	AllowPrepare Hash
	Task         string
	// Unsandboxed allows commands to run unconfined where no sandbox works.
	Unsandboxed bool
	// Tasks is a JSON list of TaskSpec, when the user gave one.
	Tasks JSON
	// Merge is a commit that is merged into the HEAD the run starts from. The run's branch begins
	// with that merge, which its recipe judges. Empty = the branch begins at HEAD.
	Merge CommitHash
	// Script is the content of the scripted model's file, when a tier uses it.
	Script string
	// HeldOut are the held-out checks as the run keeps them; empty = there are none.
	HeldOut []byte
	// Warnings and Notes are as in [StartPreview].
	Warnings, Notes []string
}
