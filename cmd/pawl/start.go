package main

import (
	"context"
	"errors"
	"path/filepath"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/heldout"
	"pawl/internal/model/script"
	"pawl/internal/project"
	"pawl/internal/room"
	"pawl/internal/start"
	"pawl/internal/workspace/gitworktree"
)

// resolver makes specs of requests for the runs of a project, with the environment of whoever asks. What
// a run would only fail on at its first model call is refused here.
func (m *machine) resolver(p project.Project, earlier pawl.Service) func(context.Context, pawl.StartRequest) (pawl.RunSpec, error) {
	return func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
		root, err := m.workTree(ctx, p, req.Dir)
		if err != nil {
			return pawl.RunSpec{}, err
		}
		environ := m.environs.settings(ctx)
		spec, err := start.Resolver{
			Root: root, Environ: environ, Program: (&cli.App{Environ: environ}).Program, Earlier: earlier,
			Folders: func(ctx context.Context) ([]start.Folder, error) { return folders(ctx, root, p) },
			Seen:    func(dir string) bool { return m.seen(ctx, p, dir) },
		}.Resolve(ctx, req)
		if err != nil {
			return pawl.RunSpec{}, err
		}
		err = m.admit(ctx, &spec)
		return spec, err
	}
}

// seen reports whether commands in rooms of a project see something of a folder of the machine.
func (m *machine) seen(ctx context.Context, p project.Project, dir string) bool {
	for _, own := range []string{p.Repo.Root, p.Repo.GitDir, p.Dir} {
		if rel, err := filepath.Rel(own, dir); own != "" && err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return room.NewHost(m.environs.asked(ctx, runOf{}), "").Shows(dir)
}

// timeouts returns the time limits that gates have in the settings of whoever asks.
func (m *machine) timeouts(p project.Project) func(context.Context, pawl.RunID) []pawl.GateTimeout {
	return func(ctx context.Context, _ pawl.RunID) []pawl.GateTimeout {
		return start.Resolver{Root: p.Repo.Root, Environ: m.environs.settings(ctx)}.GateTimeouts(ctx)
	}
}

// workTree is the root of the work tree of a project that a folder is in; that of the project if the
// folder is empty. A folder of another repository is refused: the project is all that was asked about.
func (m *machine) workTree(ctx context.Context, p project.Project, dir string) (string, error) {
	if dir == "" {
		return p.Repo.Root, nil
	}
	if !filepath.IsAbs(dir) {
		return "", pawl.Errorf(pawl.CodeFolder, "dir %q: want the absolute path of a folder", dir).WithField("dir")
	}
	repo, err := m.locator.find(ctx, dir)
	if err == nil && repo.GitDir != p.Repo.GitDir {
		err = pawl.Errorf(pawl.CodeFolder, "%s is of another repository than %s", dir, p.Repo.Root)
	}
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		return "", e.WithField("dir")
	}
	return repo.Root, err
}

// repositoryAt finds the repository of a folder, whichever kind it is of.
func repositoryAt(ctx context.Context, dir string) (pawl.Repository, error) {
	repo, err := locate(ctx, dir)
	if err == nil || pawl.CodeOf(err) == pawl.CodeFolder {
		return repo, err
	}
	return gitworktree.Inspect(ctx, nil, dir) // which says what is wrong with it, or that it is bare
}

// admit refuses a run whose commands cannot be confined, or whose models cannot be called.
func (m *machine) admit(ctx context.Context, spec *pawl.RunSpec) error {
	if m.unconfined != nil && !spec.Unsandboxed {
		err := pawl.Errorf(pawl.CodeUnavailable, "commands cannot be confined here: %w", m.unconfined)
		hint := "install bubblewrap, or accept that commands run with your rights: --unsandboxed"
		if why, ok := errors.AsType[*pawl.Error](m.unconfined); ok && why.Hint != "" {
			hint = why.Hint
		}
		return err.WithHint("%s", hint)
	}
	if len(spec.HeldOut) > 0 {
		if err := m.admitHeldOut(spec); err != nil {
			return err
		}
	}
	app := &cli.App{Environ: m.environs.asked(ctx, runOf{})}
	if err := m.models.supplied(ctx, app, spec.Settings.AllModels()); err != nil {
		return err
	}
	warnings, err := m.models.answering(ctx, app, &spec.Settings)
	if err != nil {
		return err
	}
	spec.Warnings = append(spec.Warnings, warnings...)
	if spec.Script != "" {
		if _, err := script.Parse("the scripted model's file", []byte(spec.Script)); err != nil {
			return pawl.Errorf(pawl.CodeInvalid, "%w", err)
		}
	}
	return nil
}

// admitHeldOut refuses held-out checks that rooms on this machine cannot run, and warns where nothing
// hides them.
func (m *machine) admitHeldOut(spec *pawl.RunSpec) error {
	checks, err := heldout.Decode(spec.HeldOut)
	if err != nil {
		return err
	}
	if checks.IsHarbor() && !m.box.Mounts() {
		return pawl.Errorf(pawl.CodeUnavailable, "--held-out: the tests of a Harbor task are shown at /tests, and rooms on this machine show everything where it is (%s)", m.box.Describe()).
			WithField("flags.held_out").WithHint("use scripts *.sh, or install bubblewrap")
	}
	if m.unconfined != nil {
		spec.Warnings = append(spec.Warnings, "commands are not confined here: the agent can read the folder of the held-out checks")
	}
	return nil
}
