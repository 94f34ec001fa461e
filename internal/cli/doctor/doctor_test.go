package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/project"
)

const key = "sk-very-secret-12345678"

// patient is a machine on which all is well, and how a test makes it ill.
type patient struct {
	app    *cli.App
	probes Probes
	out    bytes.Buffer
	state  string
	runs   []pawl.RunInfo
}

type listed struct {
	pawl.Service
	runs []pawl.RunInfo
}

func (l listed) Runs(context.Context) ([]pawl.RunInfo, error) { return l.runs, nil }

func healthy(t *testing.T) *patient {
	p := &patient{state: t.TempDir()}
	root := t.TempDir()
	addFile(root, ".pawl/config.yaml", "gates:\n  - {name: tests, kind: tests, command: make test}\n")
	p.app = &cli.App{Out: &p.out, Err: &p.out, Environ: []string{"ANTHROPIC_API_KEY=" + key}, Dir: root, Version: "1",
		Open: func(context.Context, cli.Access) (*cli.Session, error) {
			return &cli.Session{Service: listed{runs: p.runs}, Close: func() error { return nil }}, nil
		}}
	p.probes = Probes{
		Git: func(context.Context) (string, error) { return "git version 2.39.5", nil },
		Inspect: func(context.Context) (pawl.Repository, error) {
			return pawl.Repository{Root: root, GitDir: root + "/.git", Head: "cafe"}, nil
		},
		Project: func(r pawl.Repository) (project.Project, error) {
			return project.Project{Repo: r, Dir: p.state}, nil
		},
		Sandbox:    func(context.Context) (string, error) { return "bubblewrap", nil },
		Program:    func(name string) string { return "/usr/bin/" + name },
		Egress:     func(context.Context, []string) ([]string, error) { return nil, nil },
		Layers:     func(context.Context, string) string { return "overlayfs" },
		FileSystem: func(string) (string, bool, error) { return "ext4", false, nil },
		Lacks:      func(project.Project) string { return "" },
		Store:      func(context.Context, project.Project) (Stored, error) { return Stored{Runs: p.runs, Read: true}, nil },
		Refs:       func(context.Context, project.Project, string) ([]string, error) { return nil, nil },
		Models: func(_ context.Context, p config.Provider, names []string) Check {
			return Check{State: OK, Detail: p.Address() + " has " + strings.Join(names, " and ")}
		},
		LocalModels: func(context.Context) []string { return nil },
	}
	return p
}

// examine returns the checks by their names, and the exit code.
func (p *patient) examine(t *testing.T) (map[string]Check, int) {
	t.Helper()
	p.app.JSON = true
	p.out.Reset()
	c := New(p.app, p.probes)
	c.SetArgs(nil)
	c.SilenceErrors, c.SilenceUsage = true, true
	code := p.app.Report(c.ExecuteContext(t.Context()))
	if strings.Contains(p.out.String(), key) {
		t.Errorf("the key is shown:\n%s", p.out.String())
	}
	var list []Check
	if err := json.Unmarshal(p.out.Bytes(), &list); err != nil {
		t.Fatalf("%v\n%s", err, p.out.String())
	}
	out := map[string]Check{}
	for _, c := range list {
		out[c.Name] = c
	}
	return out, code
}

func TestDoctor(t *testing.T) {
	t.Run("AllIsWell", func(t *testing.T) {
		checks, code := healthy(t).examine(t)
		if code != 0 || len(checks) != 16 {
			t.Errorf("exit code %d, %d checks", code, len(checks))
		}
		for name, c := range checks {
			if c.State != OK || c.Detail == "" || c.Fix != "" {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if got := checks["cache"].Detail; got != "at most 10 GB of disk for each project; pawl cache lists it" {
			t.Errorf("the cache: %s", got)
		}
	})
	broken := pawl.Errorf(pawl.CodeUnavailable, "broken").WithHint("mend it")
	for _, c := range []struct {
		name  string
		make  func(p *patient)
		check string
		state State
		fix   string
	}{
		{"NoGit", func(p *patient) {
			p.probes.Git = func(context.Context) (string, error) { return "", broken }
		}, "git", Failed, "mend it"},
		{"NoRepository", func(p *patient) {
			p.probes.Inspect = func(context.Context) (pawl.Repository, error) { return pawl.Repository{}, broken }
		}, "repository", Failed, "mend it"},
		{"RepositoryWithNotes", func(p *patient) {
			p.probes.Inspect = func(context.Context) (pawl.Repository, error) {
				return pawl.Repository{Root: t.TempDir(), Notes: []string{"It is shallow."}}, nil
			}
		}, "repository", Warning, ""},
		{"NoSandbox", func(p *patient) {
			p.probes.Sandbox = func(context.Context) (string, error) { return "", errors.New("none") }
		}, "sandbox", Failed, "--unsandboxed"},
		{"SandboxIsOff", func(p *patient) {
			p.probes.Sandbox = func(context.Context) (string, error) { return "", errors.New("none") }
			p.app.Environ = append(p.app.Environ, "PAWL_SANDBOX=off")
		}, "sandbox", Warning, ""},
		{"StateIsNotWritable", func(p *patient) { p.state = filepath.Join(p.state, "gone") }, "state folder", Failed, "XDG_STATE_HOME"},
		{"StateIsRemote", func(p *patient) {
			p.probes.FileSystem = func(string) (string, bool, error) { return "NFS", true, nil }
		}, "state folder", Failed, "local disk"},
		{"HolderIsUnknown", func(p *patient) { // a link to itself
			if err := os.Symlink("writer.lock", filepath.Join(p.state, "writer.lock")); err != nil {
				panic(err)
			}
		}, "owner", Failed, ""},
		{"NoStoreYet", func(p *patient) {
			p.probes.Store = func(context.Context, project.Project) (Stored, error) {
				return Stored{}, pawl.Errorf(pawl.CodeNotFound, "none")
			}
		}, "store", OK, ""},
		{"DamagedStore", func(p *patient) {
			p.probes.Store = func(context.Context, project.Project) (Stored, error) { return Stored{}, errors.New("malformed") }
		}, "store", Failed, "keep a copy"},
		{"QuarantinedRun", func(p *patient) {
			p.runs = []pawl.RunInfo{{ID: "001-x", Status: pawl.StatusQuarantined, Reason: "event 7"}}
		}, "runs", Failed, "commits"},
		{"FullDisk", func(p *patient) { // F-18
			p.probes.Lacks = func(p project.Project) string { return p.Dir + " has 12 kB free" }
		}, "state folder", Failed, "12 kB free: runs wait until there is more"},
		{"InterruptedRun", func(p *patient) { p.runs = []pawl.RunInfo{{ID: "001-x", Status: cli.StatusInterrupted}} }, "runs", Warning, "pawl resume"},
		{"WorktreeLeftOver", func(p *patient) {
			p.runs = []pawl.RunInfo{{ID: "001-x", Status: pawl.StatusEnded}, {ID: "002-y", Status: pawl.StatusRunning}}
			mkdir(p.state, "worktrees", "001-x")
			mkdir(p.state, "layered", "002-y")
			mkdir(p.state, "layered", "002-y-1795290788201-8be2") // of one of its loops
		}, "worktrees", Warning, "left over: worktrees/001-x\npawl gc"},
		{"Salvage", func(p *patient) {
			p.probes.Refs = func(context.Context, project.Project, string) ([]string, error) {
				return []string{"refs/pawl/salvage/x"}, nil
			}
		}, "salvage", Warning, "git log -p"},
		{"BadSetting", func(p *patient) { p.app.Environ = append(p.app.Environ, "PAWL_LIMITS_TOKENS=many") }, "configuration", Failed, ""},
		{"Limits", func(p *patient) {
			p.app.Environ = append(p.app.Environ, "PAWL_LIMITS_ROOM_MEMORY=4GiB", "PAWL_RECORDING_MAX_FILE=5MB")
		}, "limits", OK, ""},
		{"NoGates", func(p *patient) { addFile(p.app.Dir, config.RepoFile, "criteria: [it works]\n") }, "gates", Warning, "--gate"},
		{"GatesAreFound", func(p *patient) { // F-28
			addFile(p.app.Dir, config.RepoFile, "")
			addFile(p.app.Dir, "web/package.json", `{"scripts": {"test": "mocha"}}`)
		}, "gates", Warning, "pawl init"},
		{"ProgramOfGateIsMissing", func(p *patient) {
			p.probes.Program = func(name string) string { return strings.TrimPrefix(name, "make") }
		}, "gates", Warning, "PATH"},
		{"PrepareIsMissing", func(p *patient) { // F-22
			addFile(p.app.Dir, "package.json", `{"dependencies": {"left-pad": "1"}}`)
			addFile(p.app.Dir, "package-lock.json", "{}")
		}, "prepare", Warning, ": npm ci"},
		{"PrepareIsEmpty", func(p *patient) {
			addFile(p.app.Dir, "package.json", `{"dependencies": {"left-pad": "1"}}`)
			addFile(p.app.Dir, config.RepoFile, "prepare: []\n")
		}, "prepare", OK, ""},
		{"RegistryIsNotKnown", func(p *patient) {
			addFile(p.app.Dir, config.RepoFile, "prepare: [npm ci]\n")
			p.probes.Egress = func(context.Context, []string) ([]string, error) {
				return []string{"registry.npmjs.org:443 cannot be resolved: no such host"}, nil
			}
		}, "prepare", Warning, "name server"},
		{"RegistryRefused", func(p *patient) {
			addFile(p.app.Dir, config.RepoFile, "prepare: [npm ci]\n")
			addFile(p.app.Dir, "package.json", `{"dependencies": {"left-pad": "1"}}`)
			addFile(p.app.Dir, "package-lock.json", "{}")
			p.probes.Egress = func(_ context.Context, rules []string) ([]string, error) {
				return []string{fmt.Sprintf("%q is refused", rules)}, nil
			}
		}, "prepare", Warning, `npm ci: ["registry.npmjs.org:443"] is refused`},
		{"ProgramOfPrepareIsMissing", func(p *patient) {
			addFile(p.app.Dir, config.RepoFile, "prepare: [npm ci]\n")
			p.probes.Program = func(string) string { return "" }
		}, "prepare", Warning, "PATH"},
		{"DamagedSlots", func(p *patient) { // F-16
			p.probes.Store = func(context.Context, project.Project) (Stored, error) {
				return Stored{Runs: []pawl.RunInfo{{ID: "001-x", Status: pawl.StatusEnded}}, Read: true}, pawl.Errorf(pawl.CodeDamaged, "the record of run 001-x is damaged")
			}
		}, "store", Failed, "001-x"},
		{"UnreadableStore", func(p *patient) { // F-18: a full disk, say
			mkdir(p.state, "worktrees", "001-x")
			p.probes.Store = func(context.Context, project.Project) (Stored, error) {
				return Stored{}, pawl.Errorf(pawl.CodeUnavailable, "no space").WithHint("free disk space")
			}
		}, "store", Failed, "free disk space"},
		{"NoSlots", func(p *patient) { // F-16
			p.probes.Store = func(context.Context, project.Project) (Stored, error) {
				return Stored{Runs: p.runs, Read: true, Note: "pawl.slots is not there"}, nil
			}
		}, "store", OK, "sound; runs: 0; pawl.slots is not there"},
		{"NoSlotOfARun", func(p *patient) { // F-16
			p.probes.Store = func(context.Context, project.Project) (Stored, error) {
				return Stored{Runs: p.runs, Read: true, Warnings: []string{"the end of run 001-x cannot be checked"}}, nil
			}
		}, "store", Warning, "run 001-x"},
		{"NoKey", func(p *patient) { p.app.Environ = nil }, "models", Failed, "ANTHROPIC_API_KEY"},
		{"OwnRecipe", func(p *patient) { addRecipe(p, "extends: taskloop\n") }, "recipes", OK, ""},
		{"BadRecipe", func(p *patient) { addRecipe(p, "kindz: {}") }, "recipes", Failed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := healthy(t)
			c.make(p)
			checks, code := p.examine(t)
			got := checks[c.check]
			if got.State != c.state || !strings.Contains(got.Detail+"\n"+got.Fix, c.fix) {
				t.Errorf("%+v", got)
			}
			want := map[State]int{Failed: cli.ExitUnavailable}[c.state]
			if got.Damaged {
				want = cli.ExitDamaged
			}
			if code != want || got.Damaged != (c.name == "QuarantinedRun" || c.name == "DamagedSlots") {
				t.Errorf("exit code %d, want %d; %+v", code, want, got)
			}
			if left := checks["worktrees"]; c.name == "UnreadableStore" && left.State != Skipped {
				t.Errorf("worktrees of runs that are not known: %+v", left)
			}
			if c.name == "StateIsNotWritable" && strings.Contains(got.Detail, "doctor-") {
				t.Errorf("it names a file of ours: %s", got.Detail)
			}
			if c.check == "store" && c.state == Failed && checks["runs"].State == OK { // F-16
				t.Errorf("the store is %+v, and the runs are %+v", got, checks["runs"])
			}
			if c.name == "QuarantinedRun" && (checks["store"].State != Failed || !strings.HasPrefix(got.Detail, "damaged: 001-x: event 7")) { // F-18
				t.Errorf("the runs are %+v, and the store is %+v", got, checks["store"])
			}
			if c.name == "Limits" && got.Detail != "of a room: processes 4096, memory 4GiB, file_size 10GiB, disk 20GiB, files 2000000, cpu_seconds none; "+
				"of a recording: max_file 5MB, max_new_files 50000, max_new_bytes 1GB" {
				t.Errorf("limits: %s", got.Detail)
			}
			if c.check == "repository" && c.state == Failed && checks["store"].State != Skipped {
				t.Errorf("the store: %+v", checks["store"])
			}
		})
	}
}

// The servers of the models are asked, each about its own, and not without the key that
// they want. A local server that answers is proposed in place of one that fails. F-28
func TestModels(t *testing.T) {
	p := healthy(t)
	p.app.Environ = append(p.app.Environ, "PAWL_MODEL=fast=ollama/qwen3:8b,large=openrouter/anthropic/claude-x")
	p.probes.Models = func(_ context.Context, p config.Provider, names []string) Check {
		state := map[string]State{"anthropic": Warning, "ollama": Failed}[p.Name]
		return Check{State: state, Detail: "asked for " + strings.Join(names, ", "), Fix: "do something"}
	}
	p.probes.LocalModels = func(context.Context) []string { return []string{"lmstudio/a/b"} }
	p.app.JSON = true
	c := New(p.app, p.probes)
	c.SetArgs(nil)
	c.SilenceErrors, c.SilenceUsage = true, true
	if code := p.app.Report(c.ExecuteContext(t.Context())); code != cli.ExitUnavailable {
		t.Errorf("exit code %d", code)
	}
	var all, got []Check
	if err := json.Unmarshal(p.out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == "models" {
			got = append(got, c)
		}
	}
	want := []Check{
		{"models", Failed, "ollama/qwen3:8b: asked for qwen3:8b", "do something; a local server answers: export PAWL_MODEL=lmstudio/a/b", false},
		{"models", Warning, "anthropic/claude-sonnet-5-5: asked for claude-sonnet-5-5", "do something", false},
		{"models", Failed, "openrouter/anthropic/claude-x: OPENROUTER_API_KEY is not set",
			"export OPENROUTER_API_KEY=…, or choose other models: PAWL_MODEL=PROVIDER/NAME; a local server answers: export PAWL_MODEL=lmstudio/a/b", false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// addRecipe gives the repository a recipe of its own.
func addRecipe(p *patient, text string) {
	dir := filepath.Join(p.app.Dir, ".pawl", "recipes")
	mkdir(dir)
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(text), 0o644); err != nil {
		panic(err)
	}
}

// addFile writes a file of the repository.
func addFile(root, name, text string) {
	mkdir(filepath.Dir(filepath.Join(root, name)))
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		panic(err)
	}
}

// Of a shell line only what is surely a program is looked for.
func TestPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"npm run test":                       "npm",
		"cd web && NODE_ENV=test npm ci":     "npm",
		".venv/bin/python -m pytest":         "",
		"./gradlew --no-daemon test":         "",
		"'my program' | tee \"a;b\"; exit 1": "tee",
		`files=$(gofmt -l .) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`: "gofmt",
		`modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs go vet`:                    "go xargs",
		"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt":                                 "python3",
		"for f in a b; do cc $f; done": "cc",
		"":                             "",
	} {
		if got := strings.Join(programs(line), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func mkdir(parts ...string) {
	if err := os.MkdirAll(filepath.Join(parts...), 0o755); err != nil {
		panic(err)
	}
}

// On a terminal long details are wrapped beside the names.
func TestOnATerminal(t *testing.T) {
	p := healthy(t)
	p.app.Terminal, p.app.Columns = true, func() int { return 60 }
	p.probes.Sandbox = func(context.Context) (string, error) { return "", errors.New(strings.Repeat("many words ", 20)) }
	c := New(p.app, p.probes)
	c.SetArgs(nil)
	c.SilenceErrors, c.SilenceUsage = true, true
	if code := p.app.Report(c.ExecuteContext(t.Context())); code != cli.ExitUnavailable {
		t.Errorf("exit code %d", code)
	}
	for line := range strings.Lines(p.out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 60 && !strings.Contains(line, "/") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// A store in a folder that can only be read is checked too. F-18
func TestStateOnlyRead(t *testing.T) {
	p := healthy(t)
	p.probes.Project = func(r pawl.Repository) (project.Project, error) {
		return project.Project{Repo: r, Dir: p.state}, fmt.Errorf("describe the project: %w",
			&os.PathError{Op: "open", Path: p.state + "/project.json.77", Err: syscall.EROFS})
	}
	p.runs = []pawl.RunInfo{{ID: "001-x", Status: cli.StatusInterrupted}}
	checks, code := p.examine(t)
	if got, want := checks["state folder"].Detail, p.state+" cannot be written: read-only file system"; got != want || code != cli.ExitUnavailable {
		t.Errorf("exit code %d, %s", code, got)
	}
	for name, want := range map[string]State{"store": OK, "owner": OK, "runs": Warning, "worktrees": OK, "salvage": OK} {
		if got := checks[name]; got.State != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	p.probes.Project = func(pawl.Repository) (project.Project, error) { return project.Project{}, errors.New("no") }
	if checks, _ = p.examine(t); checks["salvage"].State != OK {
		t.Errorf("there is a repository: %+v", checks["salvage"])
	}
}

// The process that has the project is told of a run that was found damaged. F-18
func TestOwnerIsTold(t *testing.T) {
	p := healthy(t)
	p.runs = []pawl.RunInfo{{ID: "001-x", Status: pawl.StatusQuarantined, Reason: "a blob"}}
	owner := &reading{listed: listed{runs: []pawl.RunInfo{{ID: "001-x", Status: pawl.StatusEnded}, {ID: "002-y", Status: pawl.StatusEnded}}}}
	p.app.Open = func(context.Context, cli.Access) (*cli.Session, error) {
		return &cli.Session{Service: owner, Remote: true, Close: func() error { return nil }}, nil
	}
	if _, code := p.examine(t); code != cli.ExitDamaged || len(owner.read) != 1 || owner.read[0] != "001-x" {
		t.Errorf("exit code %d, it was asked for %q", code, owner.read)
	}
}

// reading keeps which runs were read.
type reading struct {
	listed
	read []pawl.RunID
}

func (r *reading) Events(_ context.Context, run pawl.RunID, _ pawl.Seq) iter.Seq2[pawl.Event, error] {
	r.read = append(r.read, run)
	return func(func(pawl.Event, error) bool) {}
}
