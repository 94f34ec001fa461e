package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/project"
	"pawl/internal/recipe"
)

func (e *examination) git() {
	found, err := e.probes.Git(e.ctx)
	if err != nil {
		e.fail("git", err, "")
		return
	}
	e.ok("git", found)
}

func (e *examination) repository() {
	repo, err := e.probes.Inspect(e.ctx)
	if err != nil {
		e.fail("repository", err, "")
		return
	}
	e.repo = &repo
	detail := fmt.Sprintf("%s at %.12s", repo.Root, repo.Head)
	if len(repo.Notes) > 0 {
		e.warn("repository", detail+". "+strings.Join(repo.Notes, " "), "")
		return
	}
	e.ok("repository", detail)
}

func (e *examination) sandbox() {
	found, err := e.probes.Sandbox(e.ctx)
	if err == nil {
		e.ok("sandbox", found)
		return
	}
	if cfg, bad := e.settings(); bad == nil && cfg.Unsandboxed {
		e.warn("sandbox", err.Error()+"; the setting sandbox is off, so commands run with your rights", "")
		return
	}
	e.fail("sandbox", err, "without one, runs need --unsandboxed: commands then have your rights")
}

// settings reads all layers of settings.
func (e *examination) settings() (config.Config, error) {
	src := config.Sources{UserFile: e.app.UserConfig(), Env: e.app.Environ, Program: e.app.Program}
	if e.repo != nil {
		src.Repo = os.DirFS(e.repo.Root)
	}
	return config.Load(src)
}

// stateFolder tries to write where the log and the worktrees are. A folder that can only be read
// fails the check, and the checks that follow still read it.
func (e *examination) stateFolder() {
	const name, fix = "state folder", "make it writable, or set XDG_STATE_HOME to a folder that is"
	if e.repo == nil {
		e.skip(name, "a repository")
		return
	}
	p, err := e.probes.Project(*e.repo)
	if p.Dir != "" && (err == nil || isFolder(p.Dir)) {
		e.project = &p
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(p.Dir, "doctor-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && p.Dir != "" { // it names the file that was tried
		err = fmt.Errorf("%s cannot be written: %w", p.Dir, path.Err)
	}
	if err != nil {
		e.fail(name, err, fix)
		return
	}
	kind, remote, err := e.probes.FileSystem(p.Dir)
	low := e.low(p)
	switch {
	case err != nil:
		e.warn(name, fmt.Sprintf("%s is writable; its file system is not known: %v", p.Dir, err), "")
	case remote:
		e.fail(name, fmt.Errorf("%s is on %s, where locks and fsync cannot be relied on", p.Dir, kind), "set XDG_STATE_HOME to a folder on a local disk")
	case low != nil:
		e.fail(name, low, "")
	default:
		found := fmt.Sprintf("%s is writable, on %s", p.Dir, kind)
		if how := e.probes.Layers(e.ctx, p.Dir); how != "" {
			found += "; rooms join layers by " + how
		}
		e.ok(name, found)
	}
}

// low returns an error if runs of a project wait for disk space.
func (e *examination) low(p project.Project) error {
	why := e.probes.Lacks(p)
	if why == "" {
		return nil
	}
	return pawl.Errorf(pawl.CodeUnavailable, "%s: runs wait until there is more", why).
		WithHint("free disk space there; runs that wait for it continue by themselves")
}

func (e *examination) store() {
	if e.project == nil {
		e.skip("store", "a state folder")
		return
	}
	found, err := e.probes.Store(e.ctx, *e.project)
	none := pawl.CodeOf(err) == pawl.CodeNotFound
	e.runs, e.unread, e.unsound = found.Runs, err != nil && !none && !found.Read, err != nil && !none
	copied := "keep a copy of " + e.project.Dir + "; branches and commits are not affected"
	damaged := 0
	for _, r := range found.Runs {
		if r.Status == pawl.StatusQuarantined {
			damaged++
		}
	}
	switch {
	case none:
		e.ok("store", "there is none yet")
	case err != nil:
		e.fail("store", err, copied)
	case damaged > 0:
		e.fail("store", pawl.Errorf(pawl.CodeDamaged, "damaged runs: %d of %d", damaged, len(found.Runs)), copied)
	case found.Warnings == nil:
		e.ok("store", strings.TrimSuffix(fmt.Sprintf("sound; runs: %d; %s", len(found.Runs), found.Note), "; "))
		return
	}
	if found.Warnings != nil {
		e.warn("store", strings.Join(found.Warnings, "; "),
			"pawl makes the records again when a run is next started or resumed; look at the last events first: pawl logs RUN")
	}
	if found.Note != "" {
		e.add(Check{Name: "store", State: OK, Detail: found.Note})
	}
}

// owner asks the process that has the project, if there is one.
func (e *examination) owner() {
	if e.project == nil {
		e.skip("owner", "a state folder")
		return
	}
	h, held, err := e.project.Holder(e.ctx)
	if err != nil {
		e.fail("owner", err, "")
		return
	}
	if !held {
		e.ok("owner", "no process has the project")
		return
	}
	about := fmt.Sprintf("process %d, pawl %s, since %s", h.Pid, h.Version, h.Started.UTC().Format(time.RFC3339))
	s, err := e.app.Open(e.ctx, cli.Read)
	if err != nil {
		e.fail("owner", fmt.Errorf("%s, does not answer: %w", about, err), fmt.Sprintf("if it hangs, end it (kill %d) and continue: pawl resume RUN", h.Pid))
		return
	}
	defer s.Close()
	if h.Version != e.app.Version {
		e.warn("owner", about+", answers; it is another version than this one", "let its runs end, then restart it")
		return
	}
	e.ok("owner", about+", answers")
}

// stopped lists the runs that need their user.
func (e *examination) stopped() {
	const name = "runs"
	if e.project == nil {
		e.skip(name, "a state folder")
		return
	}
	var damaged, interrupted []string
	known := map[pawl.RunID]bool{} // that are damaged
	add := func(r pawl.RunInfo) {
		if r.Status == pawl.StatusQuarantined && !known[r.ID] {
			known[r.ID] = true
			damaged = append(damaged, string(r.ID)+": "+r.Reason)
		}
	}
	for _, r := range e.runs {
		add(r)
	}
	s, err := e.app.Open(e.ctx, cli.Read) // it knows what is driven
	if err == nil {
		runs, rerr := s.Runs(e.ctx)
		for _, r := range runs {
			if known[r.ID] {
				e.tell(s, r)
			}
			if r.Status == cli.StatusInterrupted {
				interrupted = append(interrupted, string(r.ID))
			}
			add(r)
		}
		err = errors.Join(rerr, s.Close())
	}
	if len(damaged) > 0 {
		fix := "their commits are on their branches"
		if !e.unsound {
			fix += "; start again with pawl run"
		}
		e.fail(name, pawl.Errorf(pawl.CodeDamaged, "damaged: %s", strings.Join(damaged, "; ")), fix)
	}
	if len(interrupted) > 0 {
		e.warn(name, "interrupted: "+strings.Join(interrupted, ", "), "pawl resume RUN, or pawl cancel RUN")
	}
	switch {
	case err != nil && !e.unread: // else it is said already
		e.fail(name, err, "")
	case damaged != nil || interrupted != nil:
	case e.unread:
		e.skip(name, "a store that can be read")
	case e.unsound:
		e.warn(name, "what was found of them can be read, and none is interrupted", "")
	default:
		e.ok(name, "none is damaged or interrupted")
	}
}

// tell makes the daemon read a run that was found damaged, so that it quarantines the run too.
func (e *examination) tell(s *cli.Session, r pawl.RunInfo) {
	if s.Remote && r.Status == pawl.StatusEnded {
		_ = cli.Examine(e.ctx, s, r.ID)
	}
}

// worktrees looks for those that no run will use any more.
func (e *examination) worktrees() {
	const name = "worktrees"
	if e.project == nil {
		e.skip(name, "a state folder")
		return
	}
	if e.unread { // or those of all runs would seem to be left over
		e.skip(name, "the runs")
		return
	}
	var left []string
	all := 0
	for _, kind := range []string{"worktrees", "layered"} {
		entries, err := os.ReadDir(filepath.Join(e.project.Dir, kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.fail(name, err, "")
			return
		}
		for _, entry := range entries {
			all++
			open := slices.ContainsFunc(e.runs, func(r pawl.RunInfo) bool {
				return r.Status != pawl.StatusEnded && (string(r.ID) == entry.Name() || strings.HasPrefix(entry.Name(), string(r.ID)+"-"))
			})
			if !open {
				left = append(left, filepath.Join(kind, entry.Name()))
			}
		}
	}
	if len(left) > 0 {
		e.warn(name, "left over: "+strings.Join(left, ", "), "pawl gc shows them, and pawl gc --apply removes them; what is not committed in them is kept")
		return
	}
	e.ok(name, fmt.Sprintf("%d in use, none left over", all))
}

func (e *examination) salvage() {
	const name, prefix = "salvage", "refs/pawl/salvage/"
	if e.repo == nil {
		e.skip(name, "a repository")
		return
	}
	refs, err := e.probes.Refs(e.ctx, project.Project{Repo: *e.repo}, prefix)
	switch {
	case err != nil:
		e.fail(name, err, "")
	case len(refs) == 0:
		e.ok(name, "nothing was set aside")
	default:
		e.warn(name, fmt.Sprintf("refs that keep work set aside: %d, the last one %s", len(refs), refs[len(refs)-1]),
			"git log -p REF shows it; git update-ref -d REF lets it go; those of deleted runs go with pawl gc when their time has come")
	}
}

// configuration looks at what the settings say.
func (e *examination) configuration() {
	cfg, err := e.settings()
	if err != nil {
		e.fail("configuration", err, "")
		e.skip("cache", "a configuration")
		e.skip("limits", "a configuration")
		e.skip("gates", "a configuration")
		e.skip("prepare", "a configuration")
		e.skip("models", "a configuration")
		return
	}
	var own []string
	for _, v := range cfg.Explain() {
		if v.Origin != "default" {
			own = append(own, fmt.Sprintf("%s (%s)", v.Key, v.Origin))
		}
	}
	detail := "nothing but defaults"
	if len(own) > 0 {
		detail = "set: " + strings.Join(own, ", ")
	}
	if len(cfg.Notes) > 0 {
		e.warn("configuration", detail+". "+strings.Join(cfg.Notes, ". "), "")
	} else {
		e.ok("configuration", detail)
	}
	e.ok("cache", fmt.Sprintf("at most %s of disk for each project; pawl cache lists it", pawl.Bytes(cfg.CacheSize())))
	e.limits(&cfg)
	e.gates(&cfg)
	e.models(&cfg)
}

// limits shows the limits of a run started here.
func (e *examination) limits(cfg *config.Config) {
	of := func(section string) string {
		var parts []string
		for _, v := range cfg.Explain() {
			if name, ok := strings.CutPrefix(v.Key, section); ok {
				parts = append(parts, name+" "+v.Value)
			}
		}
		return strings.Join(parts, ", ")
	}
	e.ok("limits", "of a room: "+of("limits.room.")+"; of a recording: "+of("recording."))
}

// models asks the servers of the chosen models. Nothing that is asked costs anything.
func (e *examination) models(cfg *config.Config) {
	settings, err := cfg.Settings()
	if err != nil {
		e.fail("models", err, "")
		return
	}
	for provider, names := range config.ByProvider(settings.AllModels()) {
		p := cfg.Provider(provider)
		if d, ok := cfg.Delegate(provider); ok {
			e.agent(&d, names)
			continue
		}
		if provider == "script" {
			e.ok("models", "answers come from "+cfg.Script)
			continue
		}
		c := Check{State: Failed, Detail: p.KeyEnv + " is not set", Fix: "export " + p.KeyEnv + "=…, or choose other models: PAWL_MODEL=PROVIDER/NAME"}
		if !p.NeedsKey() || p.Key().Stored() || e.app.Getenv(p.KeyEnv) != "" {
			c = e.probes.Models(e.ctx, p, names)
		}
		c.Name, c.Detail = "models", provider+"/"+strings.Join(names, ", "+provider+"/")+": "+c.Detail
		if c.State == Failed {
			for _, found := range e.probes.LocalModels(e.ctx) {
				c.Fix += "; a local server answers: export PAWL_MODEL=" + found
			}
		}
		e.add(c)
	}
}

// agent checks whether a coding agent is installed and what pays for it. It does not run it.
func (e *examination) agent(d *config.Delegate, names []string) {
	c := Check{Name: "models", State: Failed}
	program := e.app.Program(d.Command[0])
	purse, err := d.Purse(e.app.Getenv("HOME"), e.app.Getenv)
	switch {
	case program == "":
		c.Detail, c.Fix = d.Command[0]+" is not on PATH", "install "+d.Title+", or choose other models: PAWL_MODEL=PROVIDER/NAME"
	case err != nil:
		c.Detail = err.Error()
		if why, ok := errors.AsType[*pawl.Error](err); ok {
			c.Fix = why.Hint
		}
	default:
		c.State, c.Detail = OK, program+" is installed; purse: "+purse.String()
	}
	c.Detail = d.Name + "/" + strings.Join(names, ", "+d.Name+"/") + ": " + c.Detail
	e.add(c)
}

func (e *examination) recipes() {
	var own fs.FS
	if e.repo != nil {
		if dir := filepath.Join(e.repo.Root, ".pawl", "recipes"); isFolder(dir) {
			own = os.DirFS(dir)
		}
	}
	names := recipe.Names(own)
	for _, name := range names {
		if _, err := recipe.Prompts(name, own); err != nil {
			e.fail("recipes", err, "")
			return
		}
	}
	e.ok("recipes", strings.Join(names, ", "))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
