package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/driver/local"
	"pawl/internal/recipe"
)

// Config is what an engine is made of. All but Now and Logger are needed.
type Config struct {
	Log       pawl.Log
	Performer driver.Performer
	// Inspect looks at the user's repository; Numbers is the highest task number it shows.
	Inspect func(context.Context) (pawl.Repository, error)
	Numbers func(context.Context) (int, error)
	// Sandbox says what confines commands.
	Sandbox pawl.Sandbox
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
	e := &Engine{Reader: Reader{Log: c.Log}, c: c}
	e.driver = &local.Driver{
		Log: c.Log, Performer: c.Performer, Now: c.Now, Logger: c.Logger,
		Observe: func(run pawl.RunID, _ []pawl.Event, _ pawl.RunInfo) { e.hub.wake(run) },
		Live:    e.hub.live,
		Left:    func(run pawl.RunID, _ error) { e.hub.wake(run) },
	}
	return e
}

// Close ends driving as a crash would: what is under way is recorded as it is,
// and the next process that takes a run over goes on from there.
func (e *Engine) Close() { e.driver.Close() }

// Start implements [pawl.Service].
func (e *Engine) Start(ctx context.Context, req pawl.StartRequest) (pawl.RunInfo, error) {
	if err := e.check(req); err != nil {
		return pawl.RunInfo{}, err
	}
	repo, err := e.c.Inspect(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	e.starting.Lock()
	defer e.starting.Unlock()
	number, err := e.number(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	id := pawl.RunID(fmt.Sprintf("%03d-%s", number, slug(req.Goal)))
	started, blobs, err := e.freeze(req, repo, id, number)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	if err := e.driver.Start(ctx, id, started, blobs); err != nil {
		return pawl.RunInfo{}, fmt.Errorf("start run %s: %w", id, err)
	}
	return e.info(ctx, id)
}

func (e *Engine) check(req pawl.StartRequest) error {
	if strings.TrimSpace(req.Goal) == "" {
		return pawl.Errorf(pawl.CodeInvalid, "the goal is empty").WithHint(`say what should be there when it is done: pawl run "add a --json flag to list"`)
	}
	if err := recipe.Validate(req.Recipe); err != nil {
		return err
	}
	if err := recipe.Runnable(req.Recipe); err != nil {
		return err
	}
	for i, m := range req.Settings.Models {
		if m.Provider == "" || m.Name == "" && m.Provider != "script" || m.MaxOutput <= 0 {
			return pawl.Errorf(pawl.CodeInvalid, "no model for tier %d (%s)", i+1, req.Recipe.Tier(i+1)).WithHint("name one: --model anthropic/claude-sonnet-4-5")
		}
	}
	if !e.c.Sandbox.Confined() && !req.Unsandboxed {
		return pawl.Errorf(pawl.CodeUnavailable, "commands cannot be confined here: %s", e.c.Sandbox.Describe()).
			WithHint("install bubblewrap, or accept that commands run with your rights: --unsandboxed")
	}
	return nil
}

// number is the next task number: above every run, branch and task folder there is.
func (e *Engine) number(ctx context.Context) (int, error) {
	n, err := e.c.Numbers(ctx)
	if err != nil {
		return 0, err
	}
	runs, err := e.c.Log.Runs(ctx)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		n = max(n, r.Task)
	}
	return n + 1, nil
}

// freeze makes the first event: everything later decisions depend on, by value or by blob.
func (e *Engine) freeze(req pawl.StartRequest, repo pawl.Repository, id pawl.RunID, number int) (*pawl.RunStarted, []pawl.Blob, error) {
	var blobs []pawl.Blob
	keep := func(text []byte) pawl.Hash {
		if len(text) == 0 {
			return pawl.Hash{}
		}
		b := pawl.NewBlob(text)
		blobs = append(blobs, b)
		return b.Hash
	}
	criteria := req.Criteria
	if len(criteria) == 0 {
		criteria = []pawl.Criterion{{ID: "AC-001", Text: "The goal is met: " + strings.TrimSpace(req.Goal)}}
	}
	criteriaJSON, err := json.Marshal(criteria)
	if err != nil {
		return nil, nil, fmt.Errorf("encode criteria: %w", err)
	}
	recipeJSON, err := json.Marshal(req.Recipe)
	if err != nil {
		return nil, nil, fmt.Errorf("encode recipe: %w", err)
	}
	settingsJSON, err := json.Marshal(req.Settings)
	if err != nil {
		return nil, nil, fmt.Errorf("encode settings: %w", err)
	}
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, nil, fmt.Errorf("draw a seed: %w", err)
	}
	started := &pawl.RunStarted{
		Task: number, Title: title(req.Goal), Goal: keep([]byte(req.Goal)), Criteria: keep(criteriaJSON), Count: len(criteria),
		Base: repo.Head, Branch: "pawl/" + string(id), Seed: binary.LittleEndian.Uint64(seed[:]) >> 1,
		Sandbox: e.c.Sandbox.Describe(), Confined: e.c.Sandbox.Confined(), Notes: repo.Notes, Version: e.c.Version,
		Script: keep([]byte(req.Script)), Recipe: recipeJSON, Settings: settingsJSON,
	}
	for _, name := range slices.Sorted(maps.Keys(req.Prompts)) {
		started.Prompts = append(started.Prompts, pawl.Input{Name: name, Blob: keep([]byte(req.Prompts[name]))})
	}
	return started, blobs, nil
}

// Steer implements [pawl.Service]. A run that nobody drives is taken over with
// the command; resuming one that was interrupted is taking it over.
func (e *Engine) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	if s.Verb != pawl.SteerResume || e.driver.Driven(run) {
		return e.driver.Steer(ctx, run, s)
	}
	state, err := local.Fold(ctx, e.c.Log, run)
	if err != nil {
		return err
	}
	if state.Status != pawl.StatusRunning && state.Status != pawl.StatusStopping {
		return e.driver.Steer(ctx, run, s)
	}
	if s.Limits != nil {
		return e.driver.Adopt(ctx, run, pawl.Steering{Verb: pawl.SteerLimits, Limits: s.Limits})
	}
	return e.driver.Adopt(ctx, run)
}

// Driven reports whether a run is at work, or paused, in this process.
func (e *Engine) Driven(run pawl.RunID) bool { return e.driver.Driven(run) }

// Watch implements [pawl.Service].
func (e *Engine) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		w := e.hub.watch(run)
		defer e.hub.leave(run, w)
		for {
			driven := e.driver.Driven(run) // asked before reading: what ends it is then read too
			for ev, err := range e.c.Log.Events(ctx, run, after) {
				if err != nil {
					yield(pawl.Update{}, err)
					return
				}
				after = ev.Seq
				if !yield(pawl.Update{Event: &ev}, nil) {
					return
				}
			}
			if !driven {
				return
			}
			select {
			case <-ctx.Done():
				yield(pawl.Update{}, ctx.Err())
				return
			case <-w.woken:
			case l := <-w.live:
				if !yield(pawl.Update{Live: &l}, nil) {
					return
				}
			}
		}
	}
}

// title is the goal's first line, short enough for lists.
func title(goal string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(goal), "\n")
	return shorten(strings.TrimSpace(line), 120)
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// slug names a task by the first words of its goal: lower-case letters and
// digits joined by dashes, at most 40 bytes; "task" when there are none.
func slug(goal string) string {
	var words []string
	size := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(title(goal)), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if size+len(w) > 40 || len(words) == 6 {
			break
		}
		words = append(words, w)
		size += len(w) + 1
	}
	if len(words) == 0 {
		return "task"
	}
	return strings.Join(words, "-")
}
