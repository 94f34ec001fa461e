// Package runner performs one effect: it asks a model, calls a tool, judges with
// a gate, moves a workspace, and answers with the fact that follows. It knows
// nothing about runs beyond what a job tells it, keeps nothing between calls
// but which commits are being prepared, and may be called from many goroutines.
//
// Facts are made small here, at the edge: what decisions need of a text becomes
// a few words, a count or a fingerprint in the answer, the text itself a blob.
// Whatever a model, a tool or a gate says, the answer's event stays below two
// kilobytes.
//
// It is also the one place where text becomes durable, so known secrets are
// taken out of it here: of blobs, and of the words in answers. That comes before
// anything is cut or counted, so that no half of a secret stays and a hash is
// always that of the text that is stored.
package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/evidence"
	"pawl/internal/kernel/brief"
)

// Runner performs effects with what it is given. All fields but Delegate, ServeTools, Redact,
// Callback, Announce, Project, Inputs, Gist, Toolchain, Updates and Lacks are needed.
type Runner struct {
	// Model returns the model that a run has chosen.
	Model func(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (pawl.Model, error)
	// Delegate returns the coding agent that a run has chosen; nil = no run has any.
	Delegate func(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (Delegate, error)
	// ServeTools offers tools to a coding agent that connects to l, until ctx ends or l is closed. It
	// is needed if Delegate is.
	ServeTools func(ctx context.Context, l net.Listener, tools []pawl.ToolSpec, call ToolCall) error
	// Tools are the tools a model may call.
	Tools Tools
	// Submits are the structured results a session may hand in.
	Submits Submits
	// Prompts writes what a session begins with.
	Prompts Prompts
	Gate    pawl.Gate
	// Spaces keeps the worktrees, Rooms are where their commands run.
	Spaces pawl.Workspaces
	Rooms  pawl.Rooms
	// Temp returns a folder for the files that a run's tools are writing.
	Temp func(run pawl.RunID) (string, error)
	// Redact takes secrets out of a text; nil leaves it as it is.
	Redact func([]byte) []byte
	// Undecided returns where the end of a text begins that may turn out to be a part of a
	// secret when more of it comes; nil = nothing of it may.
	Undecided func([]byte) int
	// Callback posts a JSON body to an address, once, and returns the HTTP status; a
	// receiver knows a delivery that it is told again by its name. nil = nobody can be told.
	Callback func(ctx context.Context, to pawl.Callback, delivery string, body []byte) (status int, err error)
	// Announce tells a command, an address or both of a question, once: they are given
	// the same JSON body, the command also what is in env. It returns the HTTP status,
	// zero when no address answered. nil = nobody can be told.
	Announce func(ctx context.Context, to pawl.Announcing, delivery string, body []byte, env []string) (status int, err error)
	// Project names the project to whom a question is announced; empty = it is not named.
	Project string

	// Inputs reports whether a file decides what the commands of prepare do, such as a lock
	// file; Toolchain names programs that do. What the commands name themselves does so, too.
	// nil = nothing else does.
	Inputs func(path string) bool
	// Gist returns the lines of an output that tell most of what went wrong, at most n; nil =
	// nothing of it is told.
	Gist      func(output string, n int) []string
	Toolchain []string
	// Updates lists how the lock files of a checkout are brought up to date; nil = they
	// cannot be.
	Updates func(fs.FS) []pawl.LockUpdate
	// Secrets returns the secrets in a file; nil = none are looked for.
	Secrets func(path string, text []byte) []evidence.Secret
	// Lacks says how much space a disk has and needs; empty = enough. nil = there is always
	// enough.
	Lacks func() string

	preparing preparations
}

// Tools are the tools a runner can call.
type Tools interface {
	Lookup(name string) (pawl.Tool, bool)
	// Check says what is wrong with a call's arguments; empty = nothing.
	Check(spec pawl.ToolSpec, args json.RawMessage) string
	// Prune returns a result's arguments without fields that the spec does not have, and the paths
	// of these. What can mean only one thing it has in the form that the spec asks for; read says what
	// was read as what.
	Prune(spec pawl.ToolSpec, args json.RawMessage) (pruned json.RawMessage, surplus, read []string)
}

// Submits are the structured results sessions hand in.
type Submits interface {
	// Spec is the tool that hands in the result of this name.
	Spec(name string) (pawl.ToolSpec, bool)
	// Facts are what decisions need of a result, or what is wrong with it.
	Facts(name string, args json.RawMessage, about pawl.Submission) (facts pawl.Facts, problem string)
}

// Trimmer is a [Submits] that can cut a result to the size it may have.
type Trimmer interface {
	// Trim is a result that Facts finds wrong as it would be taken: ok is false when
	// it is not only too long. Facts finds nothing wrong with what is returned.
	Trim(name string, args json.RawMessage) (trimmed json.RawMessage, ok bool)
}

// Prompts writes what a session begins with, byte for byte the same for the
// same request.
type Prompts interface {
	Assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt) (Prompt, error)
}

// Prompt is what a session begins with.
type Prompt struct {
	System, User string
	Cut          []string // what was left out to fit
	Reminder     string   // repeats the task after tool calls; empty = the request wants none
}

// Perform implements [driver.Performer].
func (r *Runner) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	a := &answer{redact: r.Redact}
	shown := &live{show: job.Live, redact: r.Redact, undecided: r.Undecided}
	defer shown.end()
	job.Live = shown.say
	body, err := r.perform(ctx, job, a)
	if err == nil {
		err = r.doubt(body)
	}
	if err != nil {
		a.blobs = nil
		failed := &pawl.EffectFailed{Effect: job.Effect.ID, Failure: a.failure(ctx, err)}
		failed.Transcript, _ = a.text(a.transcript)
		return failed, a.blobs
	}
	return body, a.blobs
}

// doubt returns an error if commands failed while a disk lacked space: what they say about the
// code cannot be trusted.
func (r *Runner) doubt(body pawl.Answer) error {
	failed := false
	switch b := body.(type) {
	case *pawl.GateJudged:
		failed = b.Verdict != pawl.VerdictPass && b.Verdict != pawl.VerdictSkip
	case *pawl.Prepared:
		failed = b.Failed != ""
	}
	if !failed || r.Lacks == nil {
		return nil
	}
	if why := r.Lacks(); why != "" {
		return fmt.Errorf("its commands failed while %s: %w", why, syscall.ENOSPC)
	}
	return nil
}

func (r *Runner) perform(ctx context.Context, job driver.Job, a *answer) (pawl.Answer, error) {
	id := job.Effect.ID
	switch do := job.Effect.Do.(type) {
	case *pawl.OpenWorkspace:
		st, err := r.Spaces.Open(ctx, pawl.WorkspaceSpec{Name: do.Name, Branch: do.Branch, Base: do.Base, Result: do.Result, Known: do.Known, Time: do.Time})
		return &pawl.WorkspaceOpened{Effect: id, Head: st.Head, Tree: st.Tree, Salvage: st.Salvage, Note: st.Note, Result: st.Result}, err
	case *pawl.AssemblePrompt:
		return r.assemble(ctx, job, do, a)
	case *pawl.CallModel:
		return r.callModel(ctx, job, do, a)
	case *pawl.CallTool:
		return r.callTool(ctx, job, do, a)
	case *pawl.RunGate:
		return r.runGate(ctx, job, do, a)
	case *pawl.Prepare:
		return r.prepare(ctx, job, do, a)
	case *pawl.Examine:
		return r.examine(ctx, job, do, a)
	case *pawl.WeighGoals:
		return r.weighGoals(ctx, job, do, a)
	case *pawl.Commit:
		return r.commit(ctx, job, do, a)
	case *pawl.InspectWorkspace:
		if do.Salvage != "" {
			found, saved, err := r.Spaces.Keep(ctx, job.Workspace, do.Salvage)
			return &pawl.WorkspaceInspected{Effect: id, Tree: found.Tree, Salvage: saved}, err
		}
		found, err := r.Spaces.Tree(ctx, job.Workspace)
		return &pawl.WorkspaceInspected{Effect: id, Tree: found.Tree}, err
	case *pawl.ResetWorkspace:
		reset := r.Spaces.Reset
		if do.Detached {
			reset = r.Spaces.Show
		}
		var diff pawl.Hash
		if do.Diff {
			var err error
			if diff, err = r.removed(ctx, job, do.Commit, a); err != nil {
				return nil, err
			}
		}
		st, err := reset(ctx, job.Workspace, do.Commit, do.Salvage)
		return &pawl.WorkspaceReset{Effect: id, Head: st.Head, Tree: st.Tree, Salvage: st.Salvage, Diff: diff}, err
	case *pawl.CloseWorkspace:
		if err := r.Rooms.Leave(job.Run, job.Workspace); err != nil {
			return nil, err
		}
		saved, err := r.Spaces.Close(ctx, job.Workspace, do.Salvage)
		return &pawl.WorkspaceClosed{Effect: id, Salvage: saved}, err
	case *pawl.ReadTasks:
		return r.readTasks(ctx, job, do, a)
	case *pawl.Merge:
		return r.merge(ctx, job, do, a)
	case *pawl.AdvanceBranch:
		return &pawl.BranchAdvanced{Effect: id, Commit: do.To}, r.Spaces.Advance(ctx, do.Branch, do.From, do.To)
	case *pawl.ProbeConflicts:
		return r.probeConflicts(ctx, job, do, a)
	case *pawl.Notify:
		return r.notify(ctx, job, do)
	case *pawl.MarkCheckpoint:
		return &pawl.CheckpointMarked{Effect: id}, r.Spaces.Mark(ctx, do.Ref, do.Commit)
	case *pawl.Restore:
		return r.restore(ctx, job, do, a)
	case *pawl.WriteRecords:
		return r.writeRecords(ctx, job, do, a)
	case *pawl.Publish:
		return r.publish(ctx, job, do, a)
	case *pawl.Announce:
		return r.announce(ctx, job, do)
	case *pawl.Wait:
		return &pawl.WaitEnded{Effect: id}, wait(ctx, do.For)
	}
	return nil, pawl.Errorf(pawl.CodeInvalid, "an effect this runner does not know: %T", job.Effect.Do)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *Runner) assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt, a *answer) (pawl.Answer, error) {
	specs, err := r.specs(do)
	if err != nil {
		return nil, err
	}
	p, err := r.Prompts.Assemble(ctx, job, do)
	if err != nil {
		return nil, err
	}
	tools, err := a.document(specs)
	if err != nil {
		return nil, fmt.Errorf("encode the tools: %w", err)
	}
	system, systemBytes := a.text(p.System)
	user, userBytes := a.text(p.User)
	b := &pawl.PromptAssembled{
		Effect: job.Effect.ID, System: system, Prompt: user, Tools: tools.Hash(),
		Bytes: systemBytes + userBytes + int64(len(tools.Data())), Cut: a.cutNames(p.Cut),
	}
	if p.Reminder != "" {
		b.Reminder, b.ReminderBytes = a.text(p.Reminder)
	}
	return b, nil
}

// maxCut is how many texts are named that were cut out of a prompt.
const maxCut = 12

func (a *answer) cutNames(names []string) []string {
	var out []string
	for i, name := range names {
		if i == maxCut {
			return append(out, fmt.Sprintf("%d more", len(names)-maxCut))
		}
		out = append(out, brief.Cut(a.clean(name), 64))
	}
	return out
}

// specs are the tools of a session, the one that hands in its result last.
func (r *Runner) specs(do *pawl.AssemblePrompt) ([]pawl.ToolSpec, error) {
	specs := []pawl.ToolSpec{}
	for _, name := range do.Tools {
		t, ok := r.Tools.Lookup(name)
		if !ok {
			return nil, pawl.Errorf(pawl.CodeInvalid, "the recipe gives a session the tool %q, which there is not", name)
		}
		specs = append(specs, t.Spec())
	}
	if do.Output != "" {
		spec, ok := r.Submits.Spec(do.Output)
		if !ok {
			return nil, pawl.Errorf(pawl.CodeInvalid, "the recipe wants the result %q, which there is not", do.Output)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

func (r *Runner) commit(ctx context.Context, job driver.Job, do *pawl.Commit, a *answer) (pawl.Answer, error) {
	info, err := r.Spaces.Commit(ctx, pawl.CommitSpec{
		Name: job.Workspace, Branch: do.Branch, Parent: do.Parent, Base: do.Base, Message: do.Message,
		ID: commitID(job), Time: do.Time,
	})
	if err != nil {
		return nil, err
	}
	paths, _ := a.text(pathLines(info.Total))
	var report pawl.Blob
	if len(info.LeftOut) > 0 {
		if report, err = a.document(lacking(info.LeftOut)); err != nil {
			return nil, fmt.Errorf("encode what was left out: %w", err)
		}
	}
	return &pawl.Committed{
		Effect: job.Effect.ID, Commit: info.Commit, Tree: info.Tree, Files: len(info.Files), Total: len(info.Total),
		FileSet: fingerprint(info.Files), Paths: paths, PatchID: info.PatchID, Hunks: info.Hunks, Kept: info.Kept,
		LeftOut: met(info.LeftOut), Report: report.Hash(), Added: info.Added, Removed: info.Removed,
	}, nil
}

// commitID identifies the commit that an effect asks for. Effects that repeat it ask for the same
// one.
func commitID(job driver.Job) string {
	return fmt.Sprintf("%s/%d", job.Run, cmp.Or(job.Effect.First, job.Effect.ID))
}

// read reads a blob of the run. One that is not there is as bad as one that
// cannot be read: trying again does not help.
func read(ctx context.Context, job driver.Job, what string, h pawl.Hash) ([]byte, error) {
	data, err := job.Blob(ctx, h)
	switch {
	case err == nil:
		return data, nil
	case pawl.CodeOf(err) == pawl.CodeNotFound:
		return nil, pawl.Errorf(pawl.CodeDamaged, "read %s: %w", what, err)
	}
	return nil, fmt.Errorf("read %s: %w", what, err)
}

// decode reads a blob that is a JSON document.
func decode(ctx context.Context, job driver.Job, what string, h pawl.Hash, into any) error {
	data, err := read(ctx, job, what, h)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return pawl.Errorf(pawl.CodeDamaged, "read %s: %w", what, err)
	}
	return nil
}

// maxRemoved bounds the diff of what a reset removes, in bytes.
const maxRemoved = 256 << 10

// removed keeps the diff of a worktree against the commit that it is about to be reset to, and returns
// its hash; zero = there is no difference.
func (r *Runner) removed(ctx context.Context, job driver.Job, to pawl.CommitHash, a *answer) (pawl.Hash, error) {
	found, err := r.Spaces.Tree(ctx, job.Workspace)
	if err != nil {
		return pawl.Hash{}, fmt.Errorf("look at what the reset removes: %w", err)
	}
	commit, err := r.Spaces.Snapshot(ctx, found.Tree)
	if err != nil {
		return pawl.Hash{}, fmt.Errorf("keep what the reset removes: %w", err)
	}
	diff, err := r.Spaces.Diff(ctx, to, commit)
	if err != nil {
		return pawl.Hash{}, fmt.Errorf("compare what the reset removes: %w", err)
	}
	hash, _ := a.text(brief.Cut(string(diff), maxRemoved))
	return hash, nil
}
