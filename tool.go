package pawl

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// ToolSpec is what a model is told about a tool.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Tool is something a model can call in its worktree. The built-in ones are in
// internal/tool, one file each beside the .md file that describes it to the model.
type Tool interface {
	Spec() ToolSpec
	// Class says what recovery does with a call that was requested and not answered.
	Class() CrashClass
	// Call runs the tool. What the model did wrong (a missing file, bad
	// arguments, a failing command) is a ToolResult with IsError; an error
	// means that the tool itself could not work, or ctx ended.
	Call(ctx context.Context, env ToolEnv, args json.RawMessage) (ToolResult, error)
}

// ChangesFiles reports whether a tool of this name can change the worktree.
func ChangesFiles(name string) bool { return name == "write" || name == "edit" || name == "run" }

// ToolEnv is the world a tool call may touch.
type ToolEnv struct {
	// Dir is the worktree's absolute path. No tool reads or writes outside it.
	Dir string
	// Room opens the room that commands run in; the worktree is its work tree.
	Room func(ctx context.Context) (Room, error)
	// Temp is a folder that commands do not see, on the worktree's file system if
	// possible: a new file is written there before it is moved into the worktree.
	Temp string
	// Owner is who files and folders that a tool makes in the worktree belong to.
	Owner Owner
	// Prepared are the files and folders of the worktree that were put into it, such as
	// node_modules, relative to it, with slashes.
	Prepared []string
	// Dependencies changes those of the worktree; nil where nothing prepares them.
	Dependencies Dependencies
	// Progress receives output while a command runs; it may be nil and may drop.
	Progress func([]byte)
	// Redact takes secrets out of a text that only a part will be shown of, and keeps its
	// lines; nil leaves it as it is. What a tool returns needs none: whoever called it does that.
	Redact func([]byte) []byte
}

// Dependencies changes what the worktree's project depends on. Implemented in
// internal/runner.
type Dependencies interface {
	// Update runs the commands that bring lock files up to date with the manifests in the
	// worktree: those of a folder, or with an empty one of all. The worktree stays as it is.
	Update(ctx context.Context, folder string) (LockFiles, error)
	// Prepare prepares the worktree's present content and puts what that leaves into it.
	Prepare(ctx context.Context) (Refurnished, error)
}

// LockUpdate is how the lock files of one folder are brought up to date.
type LockUpdate struct {
	Folder    string `json:"folder"`    // slash-separated; "." is the root
	Ecosystem string `json:"ecosystem"` // such as "npm"
	Command   string `json:"command"`   // a shell line, run at the root of the repository
	// Files are the base names of the files that the command changes, in the folder or
	// below it; patterns of [path.Match].
	Files []string `json:"files"`
}

// LockFiles is what [Dependencies.Update] gave.
type LockFiles struct {
	// Files are those that changed, by their paths in the worktree, with slashes.
	Files  map[string][]byte
	Text   string // what ran and how it ended
	Failed bool
}

// Refurnished is what [Dependencies.Prepare] gave.
type Refurnished struct {
	Key    string // see [Prepared]; empty when it failed
	Text   string
	Failed bool
}

// ToolResult is what a tool answers.
type ToolResult struct {
	Text    string
	IsError bool
	// Met are the limits of its room that a command met.
	Met []ResourceMet
	// Prepared is as in [ToolReturned].
	Prepared string
	// Wrote names the files the tool wrote, relative to the worktree, when it
	// knows them. The tree hash tells what really changed.
	Wrote []string
}

// Replayer is implemented by tools of class [CrashProbe]: after a crash it
// tells from content alone whether the call had already happened.
type Replayer interface {
	// Effect returns the file a call with these arguments changes and its content
	// afterwards, given the content before (nil when the file did not exist).
	// ok is false when the call changes nothing (bad arguments, no match).
	Effect(args json.RawMessage, before func(path string) []byte) (path string, after []byte, ok bool)
}

// Artifacts are the structured results that loops are spawned from. Each is handed in
// with the tool of its own name; internal/artifact says what they hold.
var artifacts = [...]string{"create_plan", "create_spec", "create_phase"}

// IsArtifact reports whether a structured result is a plan, a spec or a phase.
func IsArtifact(result string) bool { return slices.Contains(artifacts[:], result) }

// submitPrefix is what the names of the tools begin with that hand in other results.
const submitPrefix = "submit_"

// SubmitTool returns the name of the tool that hands in the structured result of this name.
func SubmitTool(result string) string {
	if IsArtifact(result) {
		return result
	}
	return submitPrefix + result
}

// SubmittedBy returns the name of the structured result that a tool hands in; false when
// it hands in none.
func SubmittedBy(tool string) (result string, ok bool) {
	if IsArtifact(tool) {
		return tool, true
	}
	return strings.CutPrefix(tool, submitPrefix)
}
