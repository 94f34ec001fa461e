package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
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

// checkStore looks the whole log over: SQLite its pages, we every event and every blob. Runs
// that have damaged events are marked; damage that takes no run is an error beside the runs.
func checkStore(ctx context.Context, p project.Project) ([]pawl.RunInfo, error) {
	log, err := sqlite.OpenReadOnly(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, pawl.Errorf(pawl.CodeNotFound, "there is no log yet")
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := quickCheck(ctx, filepath.Join(p.Dir, "pawl.db")); err != nil {
		return nil, err
	}
	runs, err := log.Runs(ctx)
	if err != nil {
		return nil, err
	}
	damaged := log.Problems()
	for i := range runs {
		for _, err := range log.Events(ctx, runs[i].ID, 0) {
			if pawl.CodeOf(err) == pawl.CodeDamaged && err != nil {
				runs[i].Status, runs[i].Reason = pawl.StatusQuarantined, err.Error()
			} else if err != nil {
				return nil, err
			}
		}
		if runs[i].Status == pawl.StatusQuarantined {
			continue
		}
		switch err := log.VerifyBlobs(ctx, runs[i].ID); {
		case pawl.CodeOf(err) == pawl.CodeDamaged:
			damaged = append(damaged, err.Error())
		case err != nil:
			return nil, err
		}
	}
	if damaged != nil {
		return runs, pawl.Errorf(pawl.CodeDamaged, "%s", strings.Join(damaged, "; "))
	}
	return runs, nil
}

func quickCheck(ctx context.Context, file string) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(),
		RawQuery: "mode=ro&_pragma=busy_timeout(5000)"}).String())
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	defer db.Close()
	var first string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&first); err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if first != "ok" {
		return pawl.Errorf(pawl.CodeDamaged, "the database is damaged: %s", first)
	}
	return nil
}
