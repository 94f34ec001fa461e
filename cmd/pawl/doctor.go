package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/doctor"
	"pawl/internal/config"
	"pawl/internal/credential"
	"pawl/internal/egress"
	"pawl/internal/git"
	"pawl/internal/model/inventory"
	"pawl/internal/project"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/store/sqlite"
	"pawl/internal/workspace/gitworktree"
)

// doctorWait is how long doctor waits for the addresses of a name.
const doctorWait = 5 * time.Second

// probes are how pawl doctor looks at this machine.
func probes(app *cli.App) doctor.Probes {
	least := func() pawl.Bytes {
		cfg := machineConfig(app)
		return cfg.MinFree()
	}
	box := sync.OnceValues(func() (*sandbox.Box, error) {
		cfg := machineConfig(app)
		return sandbox.New(context.Background(), sandboxOptions(cfg.Sandbox()))
	})
	return doctor.Probes{
		Git:     probeGit,
		Inspect: func(ctx context.Context) (pawl.Repository, error) { return gitworktree.Inspect(ctx, nil, app.Dir) },
		Project: func(repo pawl.Repository) (project.Project, error) { return project.At(app.StateHome, repo) },
		Sandbox: func(context.Context) (string, error) {
			box, err := box()
			if err != nil {
				return "", err
			}
			return box.Describe() + "; started by " + box.Helper(), nil
		},
		Layers: func(_ context.Context, dir string) string {
			box, err := box()
			if err != nil {
				return ""
			}
			return room.Mechanism(box, dir)
		},
		Program: room.NewHost(nil, "").Program,
		Egress: func(ctx context.Context, rules []string) ([]string, error) {
			if box, _ := box(); box == nil || !box.Confined() { // there is no proxy then
				return nil, nil
			}
			return egress.Check(ctx, egress.Options{Rules: rules, Environ: app.Environ, Limits: egress.Limits{Dial: doctorWait}})
		},
		FileSystem: fileSystem,
		Lacks:      func(p project.Project) string { return lacksSpace(least(), p) },
		Store:      checkStore,
		Refs:       refs,
		Models: func(ctx context.Context, p config.Provider, names []string) doctor.Check {
			var reader credential.Reader
			key, err := reader.Key(ctx, p.Key(), app.Environ)
			if err != nil {
				return doctor.Check{State: doctor.Failed, Detail: err.Error(), Fix: "pawl config shows where the key should come from"}
			}
			server := modelServer(p)
			server.Key = key
			found, problem := server.Check(ctx, names)
			if problem == nil {
				return doctor.Check{State: doctor.OK, Detail: found}
			}
			state := doctor.Failed
			if problem.Severity == inventory.Unclear {
				state = doctor.Warning
			}
			return doctor.Check{State: state, Detail: problem.Text, Fix: problem.Fix}
		},
		LocalModels: func(ctx context.Context) []string { return localModels(ctx, app) },
	}
}

func probeGit(ctx context.Context) (string, error) {
	command, err := git.Find(ctx)
	if err != nil {
		return "", err
	}
	out, err := git.Repo{Command: command, Dir: "/"}.Git(ctx, nil, "version")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)) + " at " + command.Path + ", " + git.MinVersion + " or newer is needed", nil
}

// checkStore checks the whole log: its pages as SQLite does, and every event and blob. Damaged
// runs are quarantined, and the reason says what is damaged.
func checkStore(ctx context.Context, p project.Project) (found doctor.Stored, err error) {
	log, err := sqlite.OpenReadOnly(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return found, pawl.Errorf(pawl.CodeNotFound, "there is no log yet")
	}
	keep := "keep a copy of " + p.Dir + "; branches and commits are not affected. To start over, move the folder away"
	if pawl.CodeOf(err) == pawl.CodeDamaged && err != nil {
		return found, pawl.Errorf(pawl.CodeDamaged, "%w", err).WithHint("%s", keep)
	}
	if err != nil {
		return found, err
	}
	defer log.Close()
	damaged := log.Problems()
	switch err := log.CheckFile(ctx); {
	case pawl.CodeOf(err) == pawl.CodeDamaged:
		damaged = append(damaged, err.Error())
	case err != nil:
		return found, err
	}
	runs, err := log.Runs(ctx)
	if err != nil {
		return found, err
	}
	for i := range runs {
		switch err := log.Examine(ctx, runs[i].ID); {
		case pawl.CodeOf(err) == pawl.CodeDamaged:
			runs[i].Status, runs[i].Reason = pawl.StatusQuarantined, err.Error()
		case err != nil:
			return found, err
		}
	}
	found = doctor.Stored{Runs: runs, Read: true}
	if err := unslotted(log, &found); err != nil {
		return found, err
	}
	if damaged != nil {
		return found, pawl.Errorf(pawl.CodeDamaged, "%s", strings.Join(damaged, "; ")).WithHint("%s", keep)
	}
	return found, nil
}

// unslotted adds a warning for every run whose end cannot be checked.
func unslotted(log *sqlite.Log, found *doctor.Stored) error {
	runs, file, err := log.Unslotted()
	runs = slices.DeleteFunc(runs, func(id pawl.RunID) bool { // it began meanwhile
		return !slices.ContainsFunc(found.Runs, func(r pawl.RunInfo) bool { return r.ID == id })
	})
	if err != nil || len(runs) == 0 {
		return err
	}
	if !file { // an old copy of the log is used, or an older Pawl made it
		found.Note = "pawl.slots is not there, so the ends of the runs cannot be checked; it is made when a run is next started or resumed"
		return nil
	}
	const most = 5
	for i, id := range runs {
		if i == most {
			found.Warnings = append(found.Warnings, fmt.Sprintf("nor can those of %d more runs", len(runs)-i))
			break
		}
		found.Warnings = append(found.Warnings, fmt.Sprintf("the end of run %s cannot be checked: pawl.slots has no record of it", id))
	}
	return nil
}
