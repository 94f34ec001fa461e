// Package runner performs one effect: it asks a model, calls a tool, judges with
// a gate, moves a workspace, and answers with the fact that follows. It knows
// nothing about runs beyond what a job tells it, keeps nothing between calls
// but caches, and may be called from many goroutines.
//
// Facts are made small here, at the edge: what decisions need of a text becomes
// a few words, a count or a fingerprint in the answer, the text itself a blob.
// It is also the one place where text becomes durable, so known secrets are
// taken out of it here.
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"pawl"
	"pawl/internal/driver"
)

// Runner performs effects with what it is given. All fields but Redact and
// Logger are needed.
type Runner struct {
	// Model returns the model that answers for a tier of the run.
	Model func(ctx context.Context, job driver.Job, tier int) (pawl.Model, error)
	// Tools are the tools a model may call.
	Tools Tools
	// Submits are the structured results a session may hand in.
	Submits Submits
	// Prompts writes what a session begins with.
	Prompts Prompts
	Gate    pawl.Gate
	// Spaces keeps the worktrees, Sandbox runs their commands.
	Spaces  pawl.Workspaces
	Sandbox pawl.Sandbox
	// Temp returns a folder for a run's temporary files and caches.
	Temp func(run pawl.RunID) (string, error)
	// Redact takes known secrets out of a text; nil leaves it as it is.
	Redact func([]byte) []byte
}

// Tools are the tools a runner can call.
type Tools interface {
	Lookup(name string) (pawl.Tool, bool)
	// Check says what is wrong with a call's arguments; empty = nothing.
	Check(spec pawl.ToolSpec, args json.RawMessage) string
}

// Submits are the structured results sessions hand in.
type Submits interface {
	// Spec is the tool that hands in the result of this name.
	Spec(name string) (pawl.ToolSpec, bool)
	// Facts are what decisions need of a result, or what is wrong with it.
	Facts(name string, args json.RawMessage, criteria []pawl.Criterion) (facts pawl.Facts, problem string)
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
}

// Perform implements [driver.Performer].
func (r *Runner) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	a := &answer{redact: r.Redact}
	body, err := r.perform(ctx, job, a)
	if err != nil {
		return &pawl.EffectFailed{Effect: job.Effect.ID, Failure: failure(ctx, err)}, nil
	}
	return body, a.blobs
}

func (r *Runner) perform(ctx context.Context, job driver.Job, a *answer) (pawl.Answer, error) {
	id := job.Effect.ID
	switch do := job.Effect.Do.(type) {
	case *pawl.OpenWorkspace:
		st, err := r.Spaces.Open(ctx, pawl.WorkspaceSpec{Name: do.Name, Branch: do.Branch, Base: do.Base})
		return &pawl.WorkspaceOpened{Effect: id, Head: st.Head, Tree: st.Tree, Salvage: st.Salvage}, err
	case *pawl.AssemblePrompt:
		return r.assemble(ctx, job, do, a)
	case *pawl.CallModel:
		return r.callModel(ctx, job, do, a)
	case *pawl.CallTool:
		return r.callTool(ctx, job, do, a)
	case *pawl.RunGate:
		return r.runGate(ctx, job, do, a)
	case *pawl.Commit:
		return r.commit(ctx, job, do, a)
	case *pawl.InspectWorkspace:
		tree, err := r.Spaces.Tree(ctx, job.Workspace)
		return &pawl.WorkspaceInspected{Effect: id, Tree: tree}, err
	case *pawl.ResetWorkspace:
		st, err := r.Spaces.Reset(ctx, job.Workspace, do.Commit, do.Salvage)
		return &pawl.WorkspaceReset{Effect: id, Head: st.Head, Tree: st.Tree, Salvage: st.Salvage}, err
	case *pawl.CloseWorkspace:
		saved, err := r.Spaces.Close(ctx, job.Workspace, do.Salvage)
		return &pawl.WorkspaceClosed{Effect: id, Salvage: saved}, err
	}
	return nil, fmt.Errorf("an effect this runner does not know: %s", job.Effect.Do.Verb())
}

func (r *Runner) assemble(ctx context.Context, job driver.Job, do *pawl.AssemblePrompt, a *answer) (pawl.Answer, error) {
	specs, err := r.specs(do)
	if err != nil {
		return nil, err
	}
	tools, err := json.Marshal(specs)
	if err != nil {
		return nil, fmt.Errorf("encode tools: %w", err)
	}
	p, err := r.Prompts.Assemble(ctx, job, do)
	if err != nil {
		return nil, err
	}
	return &pawl.PromptAssembled{
		Effect: job.Effect.ID, System: a.text(p.System), Prompt: a.text(p.User), Tools: a.blob(tools),
		Bytes: int64(len(p.System) + len(p.User) + len(tools)), Cut: p.Cut,
	}, nil
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
		ID: fmt.Sprintf("%s/%d", job.Run, job.Effect.ID), Time: do.Time,
	})
	if err != nil {
		return nil, err
	}
	var paths []byte
	for _, p := range info.Total {
		paths = append(append(paths, p...), '\n')
	}
	return &pawl.Committed{
		Effect: job.Effect.ID, Commit: info.Commit, Tree: info.Tree, Files: len(info.Files), Total: len(info.Total),
		FileSet: fingerprint(info.Files), Paths: a.blob(paths), PatchID: info.PatchID,
	}, nil
}

// answer collects the blobs of one answer.
type answer struct {
	redact func([]byte) []byte
	blobs  []pawl.Blob
}

// blob keeps data and returns its hash; no data is no blob.
func (a *answer) blob(data []byte) pawl.Hash {
	if len(data) == 0 {
		return pawl.Hash{}
	}
	if a.redact != nil {
		data = a.redact(data)
	}
	b := pawl.NewBlob(data)
	a.blobs = append(a.blobs, b)
	return b.Hash
}

func (a *answer) text(s string) pawl.Hash { return a.blob([]byte(s)) }

// fingerprint identifies a set of words whatever their order; 0 = the empty set.
func fingerprint(words []string) uint64 {
	if len(words) == 0 {
		return 0
	}
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	h := fnv.New64a()
	for _, w := range slices.Compact(sorted) {
		_, _ = h.Write([]byte(w))
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64() | 1
}

// failure classes an error for the kernel.
func failure(ctx context.Context, err error) pawl.Failure {
	f := pawl.Failure{Code: pawl.FailMachine, Message: short(err.Error(), 300)}
	var model *pawl.ModelError
	switch {
	case errors.As(err, &model):
		f.Code, f.Wait = pawl.FailureCode(model.Kind), model.Wait
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Code = pawl.FailTimeout
	case pawl.CodeOf(err) == pawl.CodeConflict:
		f.Code = pawl.FailConflict
	case pawl.CodeOf(err) == pawl.CodeInvalid:
		f.Code = pawl.FailDefect
	}
	return f
}

// short cuts s to at most n bytes at a rune's boundary.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
