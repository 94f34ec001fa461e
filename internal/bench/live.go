package bench

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"pawl"
	"pawl/internal/document/loopfolder"
	"pawl/internal/engine"
	"pawl/internal/project"
	"pawl/internal/sandbox"
	"pawl/internal/store/sqlite"
	"pawl/internal/workspace/gitworktree"
)

// readsEach is how many files each turn of the runs under way reads, turnsEach how
// many turns each of their attempts has.
const (
	readsEach = 8
	turnsEach = 30
)

// layProject makes a repository and its state folder, as the user has them.
func (u *user) layProject(ctx context.Context, name string, files int) (project.Project, error) {
	repo := filepath.Join(u.dir, name)
	if err := layRepository(ctx, repo, files, 0); err != nil {
		return project.Project{}, err
	}
	found, err := gitworktree.Inspect(ctx, nil, repo)
	if err != nil {
		return project.Project{}, err
	}
	return project.At(u.state(), found)
}

// interrupt leaves runs in a project as a process leaves them that dies: each has so
// many events, and a model call that is not answered.
func interrupt(ctx context.Context, p project.Project, runs, events int) error {
	r := &reader{until: events, waiting: make(chan pawl.RunID, runs), seen: map[pawl.RunID]int{}}
	e, closeAll, err := newEngine(ctx, sandbox.Unconfined(), p.Repo.Root, p.Dir, r, readersRun())
	if err != nil {
		return err
	}
	if err := makeRuns(ctx, e, r, runs); err != nil {
		closeAll()
		return fmt.Errorf("make runs of %d events: %w", events, err)
	}
	closeAll()
	return keepFolders(ctx, p)
}

// keepFolders writes the folders of loops, which a daemon would have written meanwhile.
func keepFolders(ctx context.Context, p project.Project) error {
	log, err := sqlite.Open(p.Dir)
	if err != nil {
		return err
	}
	defer log.Close()
	all, err := log.Runs(ctx)
	if err != nil {
		return err
	}
	k := loopfolder.Keep(p.Dir, log, slog.New(slog.DiscardHandler))
	for _, r := range all {
		k.Notice(r.ID, false)
	}
	k.Close(ctx)
	return nil
}

// makeRuns starts runs and returns when all of them wait for the reader.
func makeRuns(ctx context.Context, e *engine.Engine, r *reader, runs int) error {
	watching, stop := context.WithCancel(ctx)
	var left sync.WaitGroup
	defer left.Wait()
	defer stop()
	errs := make(chan error, runs)
	for i := range runs {
		info, err := e.Start(ctx, pawl.StartRequest{Goal: fmt.Sprintf("bench goal %d", i+1)})
		if err != nil {
			return err
		}
		left.Go(func() {
			for u, err := range e.Watch(watching, info.ID, 0) {
				if err != nil {
					errs <- err
					return
				}
				if u.Event != nil {
					r.saw(info.ID, int(u.Event.Seq))
				}
			}
			errs <- fmt.Errorf("run %s came to rest", info.ID)
		})
	}
	for waiting := map[pawl.RunID]bool{}; len(waiting) < runs; {
		select {
		case id := <-r.waiting:
			waiting[id] = true
		case err := <-errs:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// readersRun is a run whose attempts read files until their turns are used up, and fail.
func readersRun() pawl.RunSpec {
	m := pawl.ModelChoice{Provider: "openai-chat", Name: "bench", MaxOutput: 4000}
	settings := pawl.Settings{Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100, NoStuckDetection: true}
	return pawl.RunSpec{
		Unsandboxed: true, Settings: settings,
		Recipe: pawl.Recipe{Name: "bench", Start: "task", Kinds: []pawl.LoopKind{{
			Name: "task", Steps: []pawl.Step{{Name: "implement", Role: "implementation", Prompt: "p.md",
				Tools: []string{"read", "run"}, Output: "result", Required: true, Turns: turnsEach, NoReminder: true}},
			Ladder: pawl.Ladder{Rungs: []pawl.Rung{{Tier: 1, Failures: 100}}},
		}}},
		Prompts: map[string]string{"p.md": "Work.\n---user---\n{{.Goal}}\n"},
	}
}

// reader is a model that lets files be read until its run has enough events. Then it
// does not answer any more.
type reader struct {
	until   int
	waiting chan pawl.RunID

	mu   sync.Mutex // guards seen
	seen map[pawl.RunID]int
}

func (r *reader) saw(run pawl.RunID, events int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[run] = events
}

// Call implements [pawl.Model].
func (r *reader) Call(ctx context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	run := req.Place.Run
	r.mu.Lock()
	enough := r.seen[run] >= r.until
	r.mu.Unlock()
	if enough {
		r.waiting <- run
		<-ctx.Done()
		return pawl.ModelReply{}, ctx.Err()
	}
	var blocks []pawl.Block
	for i := range readsEach {
		blocks = append(blocks, pawl.Block{Kind: pawl.BlockToolUse, CallID: fmt.Sprintf("c%d-%d", req.Place.Turn, i), Tool: "read",
			Args: fmt.Appendf(nil, `{"path":%q}`, fileName(req.Place.Turn*readsEach+i))})
	}
	return pawl.ModelReply{Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: blocks}, Stop: pawl.StopToolUse, Model: "bench"}, nil
}

// liveFiles is how many files the repositories of runs under way have.
const liveFiles = 300

func fileName(i int) string {
	i %= liveFiles
	return fmt.Sprintf("pkg%03d/file%02d.txt", i/50, i%50)
}

// text is about 900 bytes of text that does not compress well.
func text() string { return hex.EncodeToString(noise()[:450]) }
