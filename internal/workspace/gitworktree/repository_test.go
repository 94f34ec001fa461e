package gitworktree_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/workspace/gitworktree"
	"pawl/internal/workspace/workspacetest"
)

// repository is a user's repository in a temporary folder, with a home of its own.
type repository struct {
	limits     pawl.RecordingLimits
	root, home string
	state      string // of Pawl
	log        *bytes.Buffer
	odd        bool             // open must inspect the repository, because the test has changed what it finds
	known      *pawl.Repository // the result of inspecting the repository when it was first opened
	joined     bool             // worktrees are joined from layers
	byGit      bool             // git makes all recordings
	rooms      *room.Rooms      // which join them
}

// newRepository makes a repository with one commit that has the files.
func newRepository(tb testing.TB, files map[string]string, options ...string) *repository {
	tb.Helper()
	r := repositoryIn(tb.TempDir())
	r.joined = os.Getenv(joinedVariable) != ""
	if files == nil {
		r.init(tb, options...)
		return r
	}
	r.copy(tb, fmt.Sprintf("%q %q", files, options), func(r *repository) {
		r.begin(tb, files, options...)
		r.open(tb, nil) // creates the state folder, which is copied too
	})
	return r
}

// copy fills the folders from the template with this key. The first time, prepare makes the template, whose
// folders do not exist before.
func (r *repository) copy(tb testing.TB, key string, prepare func(r *repository)) {
	tb.Helper()
	if err := os.CopyFS(r.top(), os.DirFS(templates.of(tb, key, prepare))); err != nil {
		tb.Fatal(err)
	}
}

// repositoryIn returns a repository whose folders are below top and do not exist yet.
func repositoryIn(top string) *repository {
	return &repository{
		root: filepath.Join(top, "project"), home: filepath.Join(top, "home"), state: filepath.Join(top, "state"), log: &bytes.Buffer{},
	}
}

// init creates the folders and an empty git repository.
func (r *repository) init(tb testing.TB, options ...string) {
	tb.Helper()
	for _, dir := range []string{r.root, r.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	workspacetest.MustWrite(tb, r.home, ".gitconfig", "[user]\nname = User\nemail = user@example.com\n[gc]\nauto = 0\n[maintenance]\nauto = false\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n")
	r.git(tb, append([]string{"init", "-q", "--template="}, options...)...)
}

// begin makes the repository one with a commit that has the files.
func (r *repository) begin(tb testing.TB, files map[string]string, options ...string) {
	tb.Helper()
	r.init(tb, options...)
	for path, content := range files {
		workspacetest.MustWrite(tb, r.root, path, content)
	}
	r.git(tb, "add", "-Af", ".")
	r.git(tb, "commit", "-q", "--allow-empty", "-m", "Base")
}

// templates holds repositories to copy, which is cheaper than creating each with git.
var templates templateCache

type templateCache struct {
	mu  sync.Mutex
	dir string
	by  map[string]string // the folder of a template by its key
}

// of returns the folder of a template.
func (c *templateCache) of(tb testing.TB, key string, prepare func(r *repository)) string {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if top, ok := c.by[key]; ok {
		return top
	}
	if c.by == nil {
		var err error
		if c.dir, err = os.MkdirTemp("", "templates"); err != nil {
			tb.Fatal(err)
		}
		c.by = map[string]string{}
	}
	top := filepath.Join(c.dir, strconv.Itoa(len(c.by)))
	if err := os.Mkdir(top, 0o755); err != nil {
		tb.Fatal(err)
	}
	prepare(repositoryIn(top))
	c.by[key] = top
	return top
}

func (c *templateCache) remove() {
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// sample skips two thirds of the rows of a table in short mode. n is the row's index.
func sample(t *testing.T, n int) {
	t.Helper()
	if testing.Short() && n%3 != 0 {
		t.Skip("skipped in short mode, which runs every third case")
	}
}

// base returns the commit at the head of the user's branch.
func (r *repository) base(tb rapid.TB) pawl.CommitHash {
	tb.Helper()
	return r.resolve(tb, "refs/heads/main")
}

// top is the folder that all of it is in.
func (r *repository) top() string { return filepath.Dir(r.root) }

// commits are all that a ref reaches.
func (r *repository) commits(tb testing.TB) map[string]bool {
	tb.Helper()
	commits := map[string]bool{}
	for commit := range strings.Lines(r.git(tb, "rev-list", "--all") + "\n") {
		commits[strings.TrimSpace(commit)] = true
	}
	return commits
}

// git runs git as the user would, in their folder.
func (r *repository) git(tb rapid.TB, args ...string) string {
	tb.Helper()
	return r.gitIn(tb, r.root, args...)
}

func (r *repository) gitIn(tb rapid.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if at := strings.Index(dir, r.state); at > 0 { // in what is joined
		return r.gitJoined(tb, cmd, dir[at:])
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-05-17T09:00:00Z", "GIT_COMMITTER_DATE=2026-05-17T09:00:00Z"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// gitJoined runs git in a folder of what is joined.
func (r *repository) gitJoined(tb rapid.TB, cmd *exec.Cmd, dir string) string {
	tb.Helper()
	folder, _, _ := strings.Cut(dir, "/tree/")
	lower, err := os.ReadFile(filepath.Join(folder, "lower"))
	if err != nil {
		tb.Fatal(err)
	}
	joined, err := r.rooms.Join(context.Background(), folder, filepath.Join(r.state, "trees", strings.TrimSpace(string(lower)), "lower"), pawl.PreparedFor{})
	if err != nil {
		tb.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &problems
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
	if err := joined.Run(context.Background(), cmd, time.Second); err != nil {
		tb.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, problems.Bytes())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// inspect inspects the repository as the user, seen from a folder of theirs.
func (r *repository) inspect(tb testing.TB, dir string) (pawl.Repository, error) {
	tb.Helper()
	tb.Setenv("HOME", r.home)
	tb.Setenv("XDG_CONFIG_HOME", "")
	return gitworktree.Inspect(context.Background(), nil, dir)
}

func (r *repository) mustInspect(tb testing.TB) pawl.Repository {
	tb.Helper()
	found, err := r.inspect(tb, r.root)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// open returns a new Workspaces over the state. A nil command means git as it is.
func (r *repository) open(tb testing.TB, command *git.Command) *gitworktree.Workspaces {
	tb.Helper()
	if r.known == nil {
		found := pawl.Repository{Root: r.root, GitDir: filepath.Join(r.root, ".git"), Head: r.base(tb), Branch: "main"}
		if r.odd {
			found = r.mustInspect(tb)
		}
		r.known = &found
	}
	if command == nil {
		command = mustFind(tb)
	}
	w, err := gitworktree.New(context.Background(), gitworktree.Options{
		Repository: *r.known,
		State:      r.state,
		Git:        command,
		Log:        slog.New(slog.NewTextHandler(r.log, nil)),
		Now:        func() time.Time { return time.Unix(1_790_000_000, 0) },
		Trees:      r.trees(tb),
		Limits:     func(context.Context) pawl.RecordingLimits { return r.limits },
		ByGit:      r.byGit,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Rest)
	return w
}

// trees joins worktrees if the repository's are to be joined. All Workspaces of a
// repository have the same, as all of a process do.
func (r *repository) trees(tb testing.TB) func() pawl.Trees {
	tb.Helper()
	if !r.joined && r.rooms == nil {
		return nil
	}
	if r.rooms == nil {
		box, err := findBox()
		if err != nil {
			tb.Skipf("layers cannot be joined here: %v", err)
		}
		state, err := filepath.EvalSymlinks(r.top())
		if err != nil {
			tb.Fatal(err)
		}
		r.rooms = room.New(room.Options{State: filepath.Join(state, filepath.Base(r.state)), Enforcer: box})
		if err := os.MkdirAll(r.state, 0o700); err != nil {
			tb.Fatal(err)
		}
		if !r.rooms.Joins(r.state) {
			tb.Skip("layers cannot be joined here: overlayfs does not work in the folder of temporary files")
		}
		tb.Cleanup(func() { r.died(tb) })
	}
	return func() pawl.Trees { return r.rooms }
}

// quarantine is where what is moved out of the run's worktree goes first.
func (r *repository) quarantine() string {
	if r.joined {
		return filepath.Join(r.state, "layered", runName, "upper", "aside")
	}
	return filepath.Join(r.state, "quarantine")
}

// died ends what a process that dies has joined.
func (r *repository) died(tb testing.TB) {
	tb.Helper()
	if r.rooms == nil {
		return
	}
	if err := r.rooms.Close(); err != nil {
		tb.Error(err)
	}
}

var findBox = sync.OnceValues(func() (*sandbox.Box, error) { return sandbox.Probe(context.Background()) })

var findGit = sync.OnceValues(func() (*git.Command, error) { return git.Find(context.Background()) })

// mustFind returns a copy of the git command, which it looks for only once.
func mustFind(tb testing.TB) *git.Command {
	tb.Helper()
	found, err := findGit()
	if err != nil {
		tb.Fatal(err)
	}
	command := *found
	return &command
}

// fixture is the repository as the suite wants it.
func (r *repository) fixture(tb testing.TB) workspacetest.Fixture {
	tb.Helper()
	w := r.open(tb, nil)
	return workspacetest.Fixture{
		Workspaces: w,
		Base:       r.known.Head,
		Restart:    func(tb testing.TB) pawl.Workspaces { return r.open(tb, nil) },
		Resolve:    r.resolve,
		Move:       func(tb rapid.TB, ref string, to pawl.CommitHash) { r.git(tb, "update-ref", ref, string(to)) },
		Watch:      r.watch,
	}
}

// watch returns a Workspaces that calls before right before each git command, with
// whether the command moves a ref.
func (r *repository) watch(tb testing.TB, before func(moves bool)) pawl.Workspaces {
	tb.Helper()
	command := mustFind(tb)
	w := r.open(tb, command)
	command.Exec = func(cmd *exec.Cmd, run func(*exec.Cmd) error) error {
		before(cmd.Args[1] == "update-ref")
		return run(cmd)
	}
	return w
}

func (r *repository) resolve(tb rapid.TB, ref string) pawl.CommitHash {
	tb.Helper()
	// Git need not be asked about a ref that has a file of its own.
	if hash, err := os.ReadFile(filepath.Join(r.root, ".git", ref)); err == nil && !bytes.Contains(hash, []byte(":")) {
		return pawl.CommitHash(bytes.TrimSpace(hash))
	}
	return pawl.CommitHash(r.git(tb, "for-each-ref", "--format=%(objectname)", ref))
}

// users is everything of the repository that is the user's: their files, and
// what is in the git folder but for objects, our own refs and their reflogs.
func (r *repository) users(tb testing.TB) string {
	tb.Helper()
	var lines []string
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.root, path)
		for _, ours := range []string{".git/objects", "objects", "refs/heads/pawl", "refs/pawl"} {
			if rel == ours || strings.HasSuffix(rel, "/"+ours) {
				return fs.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			content, err = os.ReadFile(path)
		}
		lines = append(lines, fmt.Sprintf("%s %s %x", rel, info.Mode(), sha256.Sum256(content)))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
