package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
)

// Rooms is what it costs to confine a command and to open a room.
type Rooms struct {
	// Skipped says why nothing was measured; empty if something was.
	Skipped string `json:"skipped,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
	Helper  string `json:"helper,omitempty"` // the program around commands
	Times   int    `json:"times"`
	// Shell, Bubblewrap and Command are the same command, measured in turn: alone, in a
	// plain bwrap --unshare-all, and in an agent's room that is open.
	Shell      Percentiles `json:"shell"`
	Bubblewrap Percentiles `json:"bubblewrap"`
	Command    Percentiles `json:"command"`
	Ratio      float64     `json:"command_over_bubblewrap"` // of the medians
	// Gate is the time to open a gate's room over a checkout, run one command in it and
	// close it.
	Gate  Percentiles `json:"gate"`
	Trees Trees       `json:"trees"`
}

// Trees is what a loop's worktree costs, and what one of git's own does.
type Trees struct {
	Files int `json:"files"` // in the repository
	Times int `json:"times"`
	// Open is the time to open a worktree and its room and to run a first command there:
	// Worktree is the part for the worktree, Room the rest. OpenDisk is how many bytes of
	// disk that took.
	Open     Percentiles `json:"open"`
	Worktree Percentiles `json:"open_worktree"`
	Room     Percentiles `json:"open_room"`
	OpenDisk int64       `json:"open_disk_bytes"`
	// First and FirstDisk are Open and OpenDisk of the first worktree of a commit, which may
	// write files that all later ones share.
	First     time.Duration `json:"open_first_ns"`
	FirstDisk int64         `json:"open_first_disk_bytes"`
	// Git is the time that git worktree add takes, and GitDisk how many bytes of disk.
	Git     Percentiles `json:"git"`
	GitDisk int64       `json:"git_disk_bytes"`
	// Git's time and disk, divided by those of Open and Room.
	TimeRatio float64 `json:"git_over_open"`
	RoomRatio float64 `json:"git_over_open_room"`
	DiskRatio float64 `json:"git_over_open_disk"`
}

// Percentiles are the 10th, 50th and 90th percentile of measured times.
type Percentiles struct {
	P10    time.Duration `json:"p10_ns"`
	Median time.Duration `json:"median_ns"`
	P90    time.Duration `json:"p90_ns"`
}

func percentiles(times []time.Duration) Percentiles {
	slices.Sort(times)
	n := len(times)
	return Percentiles{times[n/10], times[n/2], times[n*9/10]}
}

// String implements [fmt.Stringer].
func (p Percentiles) String() string {
	return fmt.Sprintf("%s (p10 %s, p90 %s)", ms(p.Median), ms(p.P10), ms(p.P90))
}

// MeasureRooms runs a command the given number of times in each way, taking turns, and
// opens worktrees and rooms over a repository with the given number of files.
func MeasureRooms(ctx context.Context, o Options, times, files, opens int) (r Rooms, err error) {
	r.Times = times
	box, err := sandbox.Probe(ctx)
	if pawl.CodeOf(err) == pawl.CodeUnavailable {
		r.Skipped = err.Error()
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Sandbox, r.Helper = box.Describe(), box.Helper()
	dir, err := os.MkdirTemp(o.Dir, "rooms-")
	if err != nil {
		return r, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	s, err := newSite(ctx, box, dir, files)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.rooms.Close()); s.spaces.Rest() }()
	agent, err := s.first(ctx, &r.Trees)
	if err != nil {
		return r, err
	}
	if err := s.commands(ctx, agent, &r); err != nil {
		return r, err
	}
	o.Progress("rooms of gates")
	if r.Gate, err = s.gates(ctx, times); err != nil {
		return r, err
	}
	o.Progress(fmt.Sprintf("worktrees of %d files, beside git's own", files))
	err = s.trees(ctx, opens, &r.Trees)
	return r, err
}

// site is a repository with worktrees and rooms.
type site struct {
	dir, repo, state string
	head             pawl.CommitHash
	files            int
	spaces           *gitworktree.Workspaces
	rooms            *room.Rooms
}

func newSite(ctx context.Context, box *sandbox.Box, dir string, files int) (*site, error) {
	s := &site{dir: dir, repo: filepath.Join(dir, "repo"), state: filepath.Join(dir, "state"), files: files}
	if err := layRepository(ctx, s.repo, files, fileSize); err != nil {
		return nil, err
	}
	found, err := gitworktree.Inspect(ctx, nil, s.repo)
	if err != nil {
		return nil, err
	}
	s.head = found.Head
	s.spaces, err = gitworktree.New(ctx, gitworktree.Options{
		Repository: found, State: s.state, Owner: box.Owner, Trees: func() pawl.Trees { return s.rooms },
	})
	if err != nil {
		return nil, err
	}
	host := room.NewHost(nil, "")
	s.rooms = room.New(room.Options{
		State: s.state, Enforcer: box, Visible: s.spaces.Visible, Host: func(context.Context) room.Host { return host },
	})
	return s, nil
}

// benchLine is the command that is measured: a shell that does nothing.
const benchLine = "true"

// commands measures how long the command takes in each way.
func (s *site) commands(ctx context.Context, agent pawl.Room, r *Rooms) error {
	bwrap := []string{"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"}
	shell := []string{"/bin/sh", "-c", benchLine}
	ways := []struct {
		to *Percentiles
		do func() error
	}{
		{&r.Shell, func() error { return execute(ctx, shell) }},
		{&r.Bubblewrap, func() error { return execute(ctx, slices.Concat(bwrap, shell)) }},
		{&r.Command, func() error { return confined(ctx, agent) }},
	}
	for _, way := range ways { // caches are cold at first
		if err := way.do(); err != nil {
			return err
		}
	}
	took := make([][]time.Duration, len(ways))
	for range r.Times {
		for i, way := range ways {
			from := time.Now()
			if err := way.do(); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(from))
		}
	}
	for i, way := range ways {
		*way.to = percentiles(took[i])
	}
	r.Ratio = float64(r.Command.Median) / float64(r.Bubblewrap.Median)
	return nil
}

// gates measures how long it takes to open, use and close a gate's room over a checkout.
func (s *site) gates(ctx context.Context, times int) (p Percentiles, err error) {
	tree, release, err := s.spaces.Checkout(ctx, s.head)
	if err != nil {
		return p, err
	}
	defer release()
	var took []time.Duration
	for range times {
		from := time.Now()
		gate, err := s.rooms.Gate(ctx, pawl.GateRoom{Run: benchRun, Commit: s.head, Tree: tree})
		if err != nil {
			return p, err
		}
		if err := errors.Join(confined(ctx, gate), gate.Close()); err != nil {
			return p, err
		}
		took = append(took, time.Since(from))
	}
	return percentiles(took), nil
}

// fileSize is the size of a file in bytes: the mean of moby/moby, a repository of 13,000
// files and 143 MB.
const fileSize = 11_000

// benchRun is the run that all rooms belong to.
const benchRun = "001-bench"

// open opens a loop's worktree and room, and runs a first command in it.
func (s *site) open(ctx context.Context, name string) (worktree time.Duration, opened pawl.Room, err error) {
	from := time.Now()
	_, err = s.spaces.Open(ctx, pawl.WorkspaceSpec{Name: name, Branch: "pawl/" + name, Base: s.head})
	if err != nil {
		return 0, nil, err
	}
	worktree = time.Since(from)
	at, err := s.spaces.Locate(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	opened, err = s.rooms.Agent(ctx, pawl.AgentRoom{Run: benchRun, Name: name, Tree: at.Dir})
	if err != nil {
		return 0, nil, err
	}
	return worktree, opened, confined(ctx, opened)
}

// first opens the first worktree of the commit.
func (s *site) first(ctx context.Context, t *Trees) (pawl.Room, error) {
	before, err := used(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	from := time.Now()
	_, opened, err := s.open(ctx, "first")
	if err != nil {
		return nil, err
	}
	t.First = time.Since(from)
	after, err := used(ctx, s.dir)
	t.FirstDisk = after - before
	return opened, err
}

// trees measures further worktrees, taking turns with git's own. All of them stay.
func (s *site) trees(ctx context.Context, times int, t *Trees) error {
	t.Files, t.Times = s.files, times
	var opened, made, furnished, git []time.Duration
	for i := range times {
		before, err := used(ctx, s.dir)
		if err != nil {
			return err
		}
		from := time.Now()
		worktree, _, err := s.open(ctx, fmt.Sprintf("tree-%d", i))
		if err != nil {
			return err
		}
		took := time.Since(from)
		opened, made, furnished = append(opened, took), append(made, worktree), append(furnished, took-worktree)
		between, err := used(ctx, s.dir)
		if err != nil {
			return err
		}
		from = time.Now()
		path := filepath.Join(s.dir, fmt.Sprintf("git-%d", i))
		if err := execute(ctx, []string{"git", "-C", s.repo, "worktree", "add", "--quiet", "--detach", path, string(s.head)}); err != nil {
			return err
		}
		git = append(git, time.Since(from))
		after, err := used(ctx, s.dir)
		if err != nil {
			return err
		}
		t.OpenDisk, t.GitDisk = between-before, after-between
	}
	t.Open, t.Worktree, t.Room, t.Git = percentiles(opened), percentiles(made), percentiles(furnished), percentiles(git)
	t.RoomRatio = float64(t.Git.Median) / float64(t.Room.Median)
	t.TimeRatio = float64(t.Git.Median) / float64(t.Open.Median)
	t.DiskRatio = float64(t.GitDisk) / float64(cmp.Or(t.OpenDisk, 1))
	return nil
}

// execute runs one of the machine's programs to its end.
func execute(ctx context.Context, argv []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", argv[0], err, out)
	}
	return nil
}

// confined runs the command in a room.
func confined(ctx context.Context, r pawl.Room) error {
	result, err := r.Run(ctx, pawl.Command{Shell: benchLine})
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("exit code %d: %s", result.ExitCode, result.Output)
	}
	return err
}

// used returns how many bytes a folder takes on disk. A file with several names counts
// once.
func used(ctx context.Context, dir string) (int64, error) {
	out, err := exec.CommandContext(ctx, "du", "-sk", dir).Output()
	if err != nil && len(out) == 0 { // what vanishes meanwhile is no matter
		return 0, fmt.Errorf("du %s: %w", dir, err)
	}
	var kb int64
	if _, err := fmt.Sscan(string(out), &kb); err != nil {
		return 0, fmt.Errorf("du %s: %w", dir, err)
	}
	return kb << 10, nil
}
