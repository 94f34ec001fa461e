package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/local"
	"pawl/internal/kernel"
	"pawl/internal/recipe"
)

// Config is what an engine is made of. All but Known, Pin, Merge, Instructions, Answered, Redact, Clean, Remains, Places, Told, Now and Logger are needed.
type Config struct {
	Log       pawl.Log
	Performer driver.Performer
	// Resolve makes of a request all that its run will depend on (internal/start), and refuses
	// what the run would only fail on later.
	Resolve func(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error)
	// Inspect looks at the user's repository, from a work tree of it; empty = the one
	// the project was reached from. Numbers is the highest task number it shows.
	Inspect func(ctx context.Context, dir string) (pawl.Repository, error)
	Numbers func(context.Context) (int, error)
	// Known says what the repository has of a task. Pin keeps a commit by a ref below
	// refs/pawl/. Both may be nil: then it has nothing, and nothing is kept.
	Known func(ctx context.Context, task string) (Known, error)
	Pin   func(ctx context.Context, ref string, commit pawl.CommitHash) error
	// Merge makes a commit of two, outside any worktree; nil means that nothing can be merged.
	Merge func(ctx context.Context, spec pawl.MergeSpec) (pawl.MergeInfo, error)
	// Instructions are what the repository tells whoever works on it, as a commit has
	// them; nil means that it tells nothing.
	Instructions func(ctx context.Context, commit pawl.CommitHash) (pawl.Instructions, error)
	// Answered returns what people answered in earlier runs, as the folders of tasks in the repository have
	// it; nil means that they have nothing. Redact takes secrets out of what people say; nil leaves it.
	Answered func(ctx context.Context) ([]string, error)
	Redact   func(text []byte) []byte
	// Sandbox says what confines commands.
	Sandbox interface {
		Confined() bool
		Describe() string
	}
	// Consent remembers what the user allowed the repository.
	Consent Consent
	// Clean removes what only a run at work needs, such as its caches. It is
	// called when a run has ended, before anything else can begin in it, and by
	// New for every run at rest: an earlier process may have died before it could.
	Clean func(run pawl.RunID) error
	// Remains removes what there is of deleted runs beside the log; without it no run can be
	// deleted.
	Remains Remains
	// Places say when an effect may be performed; nil means at once.
	Places driver.Places
	// Accounts returns the accounts that whoever starts, resumes or forks a run has with the
	// providers of its models; none = the run goes on with those it has. The run is empty for
	// one that is started or forked. It may be nil.
	Accounts func(ctx context.Context, run pawl.RunID, models []pawl.ModelChoice) ([]pawl.Account, error)
	// Timeouts returns the time limits of gates as the settings of whoever resumes a run have them;
	// nil = nothing is known of them.
	Timeouts func(ctx context.Context, run pawl.RunID) []pawl.GateTimeout
	// Accepted is told that a run was started, taken over or steered, before anything that
	// follows from it is begun. The context is that of whoever asked. It must not block,
	// and may be nil.
	Accepted func(ctx context.Context, run pawl.RunID)
	// Told is told a run's line after each of its events; it must not block.
	Told func(pawl.RunInfo)
	// Ahead has runs folded that are going to be adopted; nil has none. Whoever began it ends it.
	Ahead   *Ahead
	Version string
	Now     func() time.Time
	Logger  *slog.Logger
}

// Engine drives the runs of one project. It implements [pawl.Service].
type Engine struct {
	Reader
	c      Config
	driver *local.Driver
	hub    hub

	starting sync.Mutex // task numbers are given one at a time
}

var _ pawl.Service = (*Engine)(nil)

// New makes an engine over a log that this process may write. No run is taken
// over before it is steered.
func New(c Config) *Engine {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{Reader: Reader{Log: c.Log}, c: c}
	keeper, _ := c.Log.(pawl.Keeper)
	e.driver = &local.Driver{
		Log: startingLog{c.Log}, Keeper: keeper, Performer: c.Performer, Places: c.Places, Now: c.Now, Logger: c.Logger,
		Observe: e.observe, Accepted: c.Accepted,
		Live: e.hub.live, Seen: e.hub.seen,
		Left: func(run pawl.RunID, _ error) { e.hub.wake(run) },
	}
	e.cleanAll()
	return e
}

// Runs implements [pawl.Service].
func (e *Engine) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return pawl.NewestRuns(ctx, e, 0) }

// NewestLines implements [pawl.LineLister]. Runs that are driven are listed as they are now,
// with what they have spent and hold, and what they wait for.
func (e *Engine) NewestLines(ctx context.Context, most int) ([]pawl.RunLine, error) {
	lines, err := e.Reader.NewestLines(ctx, most)
	for i, stored := range lines {
		id := stored.Info.ID
		if line := e.driver.Line(id); line != nil && stored.Info.Status != pawl.StatusQuarantined && line.Seq > stored.Info.Seq {
			lines[i] = pawl.RunLine{Info: line}
		}
		if w := e.driver.Waiting(id); w != nil || lines[i].Info.Waiting != nil {
			lines[i] = lines[i].With(func(info *pawl.RunInfo) { info.Waiting = w })
		}
	}
	return lines, err
}

// Money returns what a run that is driven has spent, holds and has lost; nil when none is.
func (e *Engine) Money(run pawl.RunID) *pawl.Money {
	if line := e.driver.Line(run); line != nil {
		return line.Money
	}
	return nil
}

// Close ends driving as a crash would: what is under way is recorded as it is,
// and the next process that takes a run over goes on from there. Watchers read
// what is stored to its end and are then done.
func (e *Engine) Close() { e.driver.Close() }

// Drain lets what is under way finish, until ctx ends; nothing is begun any more,
// and what would begin something is refused. Close comes next: what has not
// finished by then is interrupted.
func (e *Engine) Drain(ctx context.Context) { e.driver.Drain(ctx) }

// Adopt lets a run go on that was interrupted, as if nothing had happened, unless may
// refuses it for its settings; may may be nil. One that is driven, that
// waits to be resumed or that has ended is left alone.
func (e *Engine) Adopt(ctx context.Context, run pawl.RunID, may func(*pawl.Settings) error) error {
	info, err := e.info(ctx, run)
	if err != nil {
		return err
	}
	if e.Driven(run) {
		return nil
	}
	ahead := e.c.Ahead.take(run)
	if ahead.err != nil { // by now the run may be quarantined for it
		return ahead.err
	}
	if info.Status != pawl.StatusRunning && info.Status != pawl.StatusStopping {
		return nil
	}
	state := ahead.state
	if state == nil || local.Follow(ctx, e.c.Log, run, state) != nil {
		if state, err = local.Fold(ctx, e.c.Log, run); err != nil {
			return err
		}
	}
	if may != nil {
		if err := may(state.Settings); err != nil {
			return err
		}
	}
	if err := e.confines(run, state.Started); err != nil {
		return err.WithHint(endUnconfined, run)
	}
	err = e.driver.AdoptFolded(ctx, run, state)
	if pawl.CodeOf(err) == pawl.CodeConflict && e.Driven(run) {
		return nil // somebody was faster
	}
	return err
}

func (e *Engine) observe(run pawl.RunID, _ []pawl.Event, info pawl.RunInfo) {
	e.hub.wake(run)
	if e.c.Told != nil {
		e.c.Told(info)
	}
	if atRest(info) {
		e.clean(run) // nobody can resume the run before this returns
	}
}

func atRest(info pawl.RunInfo) bool {
	return info.Status == pawl.StatusEnded || info.Status == pawl.StatusQuarantined
}

func (e *Engine) cleanAll() {
	runs, err := e.c.Log.Runs(context.Background())
	if err != nil {
		e.c.Logger.Warn("what runs at rest have left was not removed", "error", err)
	}
	for _, r := range runs {
		if atRest(r) {
			e.clean(r.ID)
		}
	}
}

func (e *Engine) clean(run pawl.RunID) {
	if e.c.Clean == nil {
		return
	}
	if err := e.c.Clean(run); err != nil {
		e.c.Logger.Warn("cleaning up after a run; it is tried again at the next start", "run", run, "error", err)
	}
}

// Start implements [pawl.Service]. Once a run has its number, a ctx that ends
// does not matter any more.
func (e *Engine) Start(ctx context.Context, req pawl.StartRequest) (pawl.RunInfo, error) {
	looking, done := e.look(ctx, req)
	defer done()
	spec, err := e.resolve(ctx, req)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if err := e.settleAccounts(ctx, &spec.Settings); err != nil {
		return pawl.RunInfo{}, err
	}
	repo, err := looking.inspected(ctx, spec.Dir)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if err := e.consent(&spec); err != nil { // last, as it may ask a person
		return pawl.RunInfo{}, err
	}
	e.starting.Lock()
	defer e.starting.Unlock()
	at, err := e.place(ctx, spec, looking.numbers)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	told, err := e.instructions(ctx, &spec.Settings, cmp.Or(at.known.Base, repo.Head))
	if err != nil {
		return pawl.RunInfo{}, err
	}
	begin, err := e.merge(ctx, spec, repo)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	ctx = context.WithoutCancel(ctx) // or the next run would have the number of one on its way
	id := at.id
	started, blobs, err := e.freeze(spec, repo, at, told)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	decided, err := e.decided(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if len(decided.Data()) > 0 {
		started.Answered, blobs = decided.Hash(), append(blobs, decided)
	}
	started.Begin = begin
	if err := e.driver.Start(ctx, id, started, blobs); err != nil {
		e.awaitLeft(id)
		if refused, ok := errors.AsType[*notStarted](err); ok {
			err = refused.why
		}
		return pawl.RunInfo{}, fmt.Errorf("start run %s: %w", id, err)
	}
	return e.info(ctx, id)
}

// resolve returns the spec of a request, or why it cannot be started.
func (e *Engine) resolve(ctx context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	spec, err := e.c.Resolve(ctx, req)
	if err == nil {
		err = e.check(spec)
	}
	if err == nil {
		err = settlePrepare(&spec.Settings)
	}
	return spec, err
}

// settleAccounts makes the accounts with a run's providers those of whoever starts it: what a
// request says of them is not used.
func (e *Engine) settleAccounts(ctx context.Context, s *pawl.Settings) error {
	var have []pawl.Account
	if e.c.Accounts != nil {
		var err error
		if have, err = e.c.Accounts(ctx, "", s.AllModels()); err != nil {
			return err
		}
	}
	for _, m := range s.AllModels() {
		to := pawl.Account{Provider: m.Provider}
		for _, a := range have {
			if a.Provider == m.Provider {
				to = a
			}
		}
		s.SetAccount(to)
	}
	return nil
}

// accounts are those of whoever resumes a run, or forks it when run is empty.
func (e *Engine) accounts(ctx context.Context, run pawl.RunID, began *pawl.RunStarted) ([]pawl.Account, error) {
	if e.c.Accounts == nil {
		return nil, nil
	}
	var settings pawl.Settings
	if err := json.Unmarshal(began.Settings, &settings); err != nil {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the settings of run %s: %w", run, err)
	}
	return e.c.Accounts(ctx, run, settings.AllModels())
}

// instructions reads what the commit that a run starts from tells those who work on it.
func (e *Engine) instructions(ctx context.Context, s *pawl.Settings, base pawl.CommitHash) (pawl.Instructions, error) {
	if e.c.Instructions == nil || s.NoInstructions {
		return pawl.Instructions{}, nil
	}
	told, err := e.c.Instructions(ctx, base)
	if err != nil {
		err = fmt.Errorf("read the repository's instructions in commit %.12s: %w", base, err)
	}
	return told, err
}

// merge makes the merge that the run is to judge; empty = it judges none.
func (e *Engine) merge(ctx context.Context, spec pawl.RunSpec, repo pawl.Repository) (pawl.CommitHash, error) {
	switch {
	case spec.Merge == "":
		return "", nil
	case e.c.Merge == nil:
		return "", pawl.Errorf(pawl.CodeUnavailable, "nothing can be merged here")
	}
	made, err := e.c.Merge(ctx, pawl.MergeSpec{Ours: repo.Head, Theirs: spec.Merge, OursLabel: cmp.Or(repo.Branch, "HEAD"), TheirsLabel: "the run's work",
		Message: spec.Goal, Time: e.now()})
	if err == nil && len(made.Conflicts) > 0 {
		err = pawl.Errorf(pawl.CodeConflict, "the work conflicts with %s in %s", cmp.Or(repo.Branch, "HEAD"), strings.Join(made.Conflicts, ", ")).
			WithHint("git merge %.12s lets you resolve it yourself", spec.Merge)
	}
	return made.Commit, err
}

// place is where the run that a request asks for belongs. numbers is as in [Config].
func (e *Engine) place(ctx context.Context, spec pawl.RunSpec, numbers func(context.Context) (int, error)) (place, error) {
	if spec.Task != "" {
		return e.nextRun(ctx, spec.Task)
	}
	return e.newTask(ctx, spec.Goal, numbers)
}

// awaitLeft returns when the driver has let go of a run that failed: nobody can
// steer what is not there.
func (e *Engine) awaitLeft(run pawl.RunID) {
	w := e.hub.watch(run)
	defer e.hub.leave(run, w)
	for e.driver.Driven(run) {
		<-w.woken
	}
}

// startingLog is the log as the driver has it. A driver waits for a store that
// has no space, which is right for a run that is under way; one that cannot be
// stored at all is not begun.
type startingLog struct{ pawl.Log }

func (l startingLog) Append(ctx context.Context, u pawl.Unit) error {
	err := l.Log.Append(ctx, u)
	if err != nil && u.After == 0 {
		return &notStarted{err}
	}
	return err
}

// notStarted hides its cause's code from the driver.
type notStarted struct{ why error }

func (n *notStarted) Error() string { return n.why.Error() }

func (e *Engine) check(spec pawl.RunSpec) error {
	if strings.TrimSpace(spec.Goal) == "" {
		return pawl.Errorf(pawl.CodeInvalid, "the goal is empty").WithField("goal").WithHint(`say what should be there when it is done: pawl run "add a --json flag to list"`)
	}
	for _, err := range []error{checkLimits(spec.Settings.Limits), spec.Settings.Room.Check(), spec.Settings.Recording.Check()} {
		if err != nil {
			return err
		}
	}
	if err := recipe.Validate(spec.Recipe); err != nil {
		return err
	}
	if root := spec.Recipe.Kind(spec.Recipe.Start); len(spec.Tasks) > 0 && root.Children == nil {
		return pawl.Errorf(pawl.CodeInvalid, "the recipe %s works on no list of tasks", spec.Recipe.Name).WithField("tasks").WithHint("one that does: --recipe pandora")
	}
	for i := range spec.Settings.Models {
		none := func(m pawl.ModelChoice) bool {
			return m.Provider == "" || m.Name == "" && m.Provider != "script" || m.MaxOutput <= 0
		}
		if none(spec.Settings.Models[i]) || slices.ContainsFunc(spec.Settings.Fallbacks[i], none) {
			return pawl.Errorf(pawl.CodeInvalid, "no model for tier %d (%s)", i+1, spec.Recipe.Tier(i+1)).WithHint("name one: --model anthropic/claude-sonnet-4-5")
		}
	}
	if !e.c.Sandbox.Confined() && !spec.Unsandboxed {
		return pawl.Errorf(pawl.CodeUnavailable, "commands cannot be confined here: %s", e.c.Sandbox.Describe()).
			WithHint("install bubblewrap, or accept that commands run with your rights: --unsandboxed")
	}
	return nil
}

// number is the next task number: above every run, deleted ones included, and every branch
// and task folder there is, which numbers finds. The line of a damaged run may not tell its number; its id does.
func (e *Engine) number(ctx context.Context, numbers func(context.Context) (int, error)) (int, error) {
	n, err := numbers(ctx)
	if err != nil {
		return 0, err
	}
	runs, err := e.c.Log.Runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		n = max(n, r.Task, numberOf(r.ID))
	}
	gone, _, _, err := e.taken(ctx, "")
	return max(n, gone) + 1, err
}

// freeze makes the first event: everything later decisions depend on, by value or by blob.
func (e *Engine) freeze(spec pawl.RunSpec, repo pawl.Repository, at place, told pawl.Instructions) (*pawl.RunStarted, []pawl.Blob, error) {
	blobs := slices.Clone(told.Texts)
	keep := func(text []byte) pawl.Hash {
		if len(text) == 0 {
			return pawl.Hash{}
		}
		b := pawl.NewBlob(text)
		blobs = append(blobs, b)
		return b.Hash()
	}
	given := criteria(spec)
	criteriaJSON, err := json.Marshal(given)
	if err != nil {
		return nil, nil, fmt.Errorf("encode criteria: %w", err)
	}
	recipeJSON, err := json.Marshal(spec.Recipe)
	if err != nil {
		return nil, nil, fmt.Errorf("encode recipe: %w", err)
	}
	settingsJSON, err := json.Marshal(spec.Settings)
	if err != nil {
		return nil, nil, fmt.Errorf("encode settings: %w", err)
	}
	seed, err := draw()
	if err != nil {
		return nil, nil, err
	}
	started := &pawl.RunStarted{
		Task: at.number, Title: title(spec.Goal), Goal: keep([]byte(spec.Goal)), Criteria: keep(criteriaJSON), Count: len(given), CriteriaGiven: len(spec.Criteria) > 0,
		Base: cmp.Or(at.known.Base, repo.Head), BaseTrusted: repo.Trusted && cmp.Or(at.known.Base, repo.Head) == repo.Head, Branch: branch(at.id), Seed: seed, Learnings: at.known.Learnings,
		Sandbox: e.c.Sandbox.Describe(), Confined: e.c.Sandbox.Confined(), Notes: slices.Concat(spec.Warnings, spec.Notes, repo.Notes), Version: e.c.Version,
		Script: keep([]byte(spec.Script)), HeldOut: keep(spec.HeldOut), Recipe: recipeJSON, Settings: settingsJSON,
		Tasks: keep(spec.Tasks), Signs: kernel.Signs(spec.Goal),
		Instructions: told.Files, MoreInstructions: told.More,
		RecipeFiles: spec.Origin.Files, RecipeReplaces: spec.Origin.Replaces,
	}
	if spec.Recipe.Commits == pawl.CommitsTask {
		started.Attempts, started.Author = attempts(at.id), repo.Author
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Prompts)) {
		started.Prompts = append(started.Prompts, pawl.Input{Name: name, Blob: keep([]byte(spec.Prompts[name]))})
	}
	return started, blobs, nil
}

// criteria are what a run is judged by: what was given, or that its goal is met.
func criteria(spec pawl.RunSpec) []pawl.Criterion {
	if len(spec.Criteria) > 0 {
		return spec.Criteria
	}
	return []pawl.Criterion{{ID: "AC-001", Text: pawl.GoalIsMet + strings.TrimSpace(spec.Goal)}}
}

// branch is where a run's commits are.
func branch(id pawl.RunID) string { return "pawl/" + string(id) }

// attempts is where a run's attempts are made that are not on its branch.
func attempts(id pawl.RunID) string { return pawl.AttemptsFolder + string(id) }

// draw is a run's seed, a number that is not negative where numbers have signs.
func draw() (uint64, error) {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(seed[:]) >> 1, nil
}
