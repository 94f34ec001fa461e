package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/git/index"
)

// tasks is where the harness keeps its own notes in a worktree. No recorded
// tree holds it; commits do.
const tasks = pawl.TasksFolder

// Options say which repository the worktrees are of.
type Options struct {
	// Repository is the user's, as [Inspect] found it.
	Repository pawl.Repository
	// State is the project's state folder, absolute; it is made when missing.
	State string
	// Git is the git program; nil means the one in PATH.
	Git *git.Command
	// Log receives what was put right: lock files removed, nested repositories
	// moved aside. Nil drops it.
	Log *slog.Logger
	// Owner is who the files of worktrees belong to; nil means this process's user.
	Owner func() pawl.Owner
	// Trees joins worktrees from layers; nil means that each is a folder with all its
	// files, as where layers cannot be joined.
	Trees func() pawl.Trees
	// ByGit leaves all recordings to git, which are otherwise made in this process where
	// that is possible. The results are the same; git takes longer.
	ByGit bool
	// Now dates salvage commits; nil means [time.Now].
	Now func() time.Time
	// Limits are the limits on recordings of the run that ctx belongs to; nil means the
	// defaults.
	Limits func(ctx context.Context) pawl.RecordingLimits
}

// Workspaces implements [pawl.Workspaces]. One process at a time may use a state
// folder; within it any number of goroutines may.
type Workspaces struct {
	repository pawl.Repository
	state      string
	log        *slog.Logger
	now        func() time.Time
	owner      func() pawl.Owner
	trees      func() pawl.Trees
	started    time.Time     // lock files older than this are of a dead process
	patience   time.Duration // with younger ones
	limits     func(context.Context) pawl.RecordingLimits

	user     git.Repo      // the user's repository: refs
	engine   git.Repo      // our own: everything else
	resident *git.Resident // the user's: refs and all objects
	byGit    index.Reason  // why git records all worktrees; empty if that is not necessary

	stores *stores // what commands see

	opening   sync.Mutex // held while a worktree is added
	mu        sync.Mutex // of what follows
	worktrees map[string]*worktree
	checkouts map[string]*checkout

	recordings Recordings
}

// New prepares the state folder. It changes nothing in the user's repository.
func New(ctx context.Context, o Options) (*Workspaces, error) {
	command := o.Git
	if command == nil {
		var err error
		if command, err = git.Find(ctx); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	// Names in /proc, which tell who holds a lock file, have no symbolic links.
	state, err := filepath.EvalSymlinks(o.State)
	if err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	if o.Repository.GitDir, err = filepath.EvalSymlinks(o.Repository.GitDir); err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	s := &Workspaces{
		repository: o.Repository,
		state:      state,
		log:        o.Log,
		now:        o.Now,
		owner:      o.Owner,
		trees:      o.Trees,
		started:    time.Now(),
		patience:   lockPatience,
		user:       git.Repo{Command: command, Dir: o.Repository.GitDir},
		engine: git.Repo{
			Command: command,
			Dir:     filepath.Join(state, "engine", "git"),
			Store:   filepath.Join(o.Repository.GitDir, "objects"),
		},
		limits:    o.Limits,
		worktrees: map[string]*worktree{},
		checkouts: map[string]*checkout{},
	}
	s.resident = s.user.Resident(restAfter)
	s.stores = newStores(s)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.limits == nil {
		s.limits = func(context.Context) pawl.RecordingLimits { return pawl.RecordingLimits{} }
	}
	if s.owner == nil {
		s.owner = func() pawl.Owner { return pawl.Owner{} }
	}
	if s.trees == nil {
		s.trees = func() pawl.Trees { return nil }
	}
	if runtime.GOOS == "darwin" {
		s.engine.Config = []git.Setting{{Key: "core.ignoreCase", Value: "true"}, {Key: "core.precomposeUnicode", Value: "true"}}
	}
	for _, step := range []func(context.Context) error{s.prepare, s.takeOver} {
		if err := step(ctx); err != nil {
			return nil, explain("prepare "+state, err)
		}
	}
	if s.byGit = s.leavesToGit(); o.ByGit {
		s.byGit = index.ReasonSystem
	}
	return s, nil
}

// restAfter is how long a git process waits for the next call.
const restAfter = 5 * time.Second

// Rest ends the git processes that wait for calls, and logs how worktrees were recorded. The
// next call starts them again.
func (s *Workspaces) Rest() {
	if r := s.Recordings(); r.Here > 0 || len(r.ByGit) > 0 {
		s.log.Info("worktrees were recorded", "in_this_process", r.Here, "by_git", r.ByGit)
	}
	if err := s.resident.Close(); err != nil { // somebody killed one
		s.log.Debug("a git process that waited for calls did not end well", "because", err)
	}
}

// Reader reads the user's repository.
func (s *Workspaces) Reader() *git.Resident { return s.resident }

// Recordings says how worktrees were recorded by this Workspaces.
type Recordings struct {
	// Here counts the recordings that were made in this process, ByGit those that were left
	// to git, by why.
	Here  int                  `json:"here"`
	ByGit map[index.Reason]int `json:"by_git,omitempty"`
}

// Recordings returns how worktrees were recorded until now.
func (s *Workspaces) Recordings() Recordings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Recordings{s.recordings.Here, maps.Clone(s.recordings.ByGit)}
}

// recorded counts a recording and returns how many there were like it; no reason means that
// it was made in this process.
func (s *Workspaces) recorded(why index.Reason) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why == "" {
		s.recordings.Here++
		return s.recordings.Here
	}
	if s.recordings.ByGit == nil {
		s.recordings.ByGit = map[index.Reason]int{}
	}
	s.recordings.ByGit[why]++
	return s.recordings.ByGit[why]
}

// prepare makes our own repository and lets it borrow the user's objects.
func (s *Workspaces) prepare(ctx context.Context) error {
	dir := s.engine.Dir
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		format, err := s.user.ObjectFormat(ctx)
		if err != nil {
			return err
		}
		if err := (git.Repo{Command: s.user.Command, Dir: dir}).Create(ctx, format); err != nil {
			return err
		}
	}
	if err := writeIfOther(filepath.Join(dir, "objects", "info", "alternates"), s.engine.Store+"\n"); err != nil {
		return err
	}
	// A shallow repository ends where this file says; what the user excludes here
	// besides .gitignore is excluded in worktrees too.
	for _, file := range []string{"shallow", "info/exclude"} {
		if err := copyIfAny(filepath.Join(s.user.Dir, file), filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	return s.groupWritable(ctx)
}

// groupWritable makes new objects as shared as the user's repository is.
func (s *Workspaces) groupWritable(ctx context.Context) error {
	out, err := s.user.Git(ctx, nil, "config", "--local", "--default", "", "--get", "core.sharedRepository")
	if err != nil {
		return err
	}
	if shared := strings.TrimSpace(string(out)); shared != "" {
		s.engine.Config = append(s.engine.Config, git.Setting{Key: "core.sharedRepository", Value: shared})
	}
	return nil
}

// shown is the folder of the git folders that worktrees point to.
func (s *Workspaces) shown() string { return filepath.Join(s.state, "git", "worktrees") }

// plainOf is where the named worktree is kept when it is not joined.
func (s *Workspaces) plainOf(name string) string {
	return filepath.Join(s.state, "worktrees", key(name))
}

// Recover removes what a process that died left behind and nobody needs: clean
// checkouts, half-deleted worktrees, temporary files and objects, stale locks of
// worktrees' indexes, object stores that were never finished or have not been used for long.
// Worktrees are left alone; they are put right when they are opened. It is called before
// everything else.
func (s *Workspaces) Recover(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, folder := range []string{"trash", "tmp"} {
		errs = append(errs, removeAll(filepath.Join(s.state, folder)))
	}
	errs = append(errs, s.removeStaleLocks(ctx), s.sweep(ctx))
	left, err := os.ReadDir(filepath.Join(s.state, "checkouts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, entry := range left {
		if s.checkouts[entry.Name()] == nil {
			errs = append(errs, s.removeCheckout(entry.Name())())
			s.log.WarnContext(ctx, "removed a checkout that a dead process left", "commit", entry.Name())
		}
	}
	errs = append(errs, s.stores.prune(), s.pruneTrees())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up %s: %w", s.state, err)
	}
	return nil
}

// Numbers returns the highest task number in use: of the branches pawl/NNN-… and
// of the folders .pawl/tasks/NNN-… in the commit of the user's HEAD. Zero means that
// there is none.
func (s *Workspaces) Numbers(ctx context.Context) (int, error) {
	names, err := s.user.Refs(ctx, "refs/heads/pawl/")
	if err != nil {
		return 0, explain("list the branches", err)
	}
	head, err := s.ref(ctx, "HEAD")
	if err == nil && head.Hash != "" {
		var entries []git.Entry
		entries, err = s.folder(ctx, head.Tree, tasks)
		for _, e := range entries {
			names = append(names, e.Name)
		}
	}
	if err != nil {
		return 0, err
	}
	highest := 0
	number := regexp.MustCompile(`^(?:refs/heads/pawl/)?([0-9]{1,9})-`)
	for _, name := range names {
		if m := number.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[1])
			highest = max(highest, n)
		}
	}
	return highest, nil
}

// Diff is the patch between two commits, as git prints it.
func (s *Workspaces) Diff(ctx context.Context, from, to pawl.CommitHash) ([]byte, error) {
	if err := checkHashes(from, to); err != nil {
		return nil, err
	}
	patch, err := s.engine.Patch(ctx, string(from), string(to))
	if err != nil {
		return nil, explain(fmt.Sprintf("compare %s with %s", from, to), s.lacking(ctx, err, from, to))
	}
	return patch, nil
}

// lacking returns the error of a call of git, or a better one if one of the commits that
// the call is about is missing.
func (s *Workspaces) lacking(ctx context.Context, err error, commits ...pawl.CommitHash) error {
	if err == nil || pawl.CodeOf(err) != pawl.CodeInternal {
		return err
	}
	for _, commit := range commits {
		if _, missing := s.commit(ctx, commit); missing != nil {
			return missing
		}
	}
	return err
}

// key is a worktree's name as one path element.
func key(name string) string { return strings.ReplaceAll(name, "/", "@") }

// checkName refuses names that are no path elements or that git would not take
// for a worktree.
func checkName(name string) error {
	if strings.ContainsRune(name, '@') || checkRef("refs/"+name) != nil {
		return pawl.Errorf(pawl.CodeInvalid, "%q cannot be the name of a worktree", name).
			WithHint("use letters, digits, '-', '_', '.' and '/'")
	}
	return nil
}

// checkRef refuses what git would not take as the full name of a ref.
func checkRef(ref string) error {
	bad := strings.ContainsAny(ref, " ~^:?*[\\\x7f") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.ContainsFunc(ref, func(r rune) bool { return r < ' ' })
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || part == "" || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return pawl.Errorf(pawl.CodeInvalid, "%q cannot be the name of a ref", ref)
	}
	return nil
}

// checkBranch refuses branches that are not below pawl/ and refs that are not below
// [pawl.AttemptsFolder].
func checkBranch(branch string) error {
	if !ours(branch) && !strings.HasPrefix(branch, pawl.AttemptsFolder) {
		return pawl.Errorf(pawl.CodeInvalid, "branch %q is not below pawl/, and no other branch is ever moved", branch)
	}
	return checkRef(refOf(branch))
}

// refOf returns the full name of a branch, or of a ref that is worked on as if it were one.
func refOf(branch string) string {
	if strings.HasPrefix(branch, "refs/") {
		return branch
	}
	return "refs/heads/" + branch
}

// checkKept refuses refs for what is to be kept but those below refs/pawl/.
func checkKept(ref string) error {
	if !strings.HasPrefix(ref, "refs/pawl/") {
		return pawl.Errorf(pawl.CodeInvalid, "ref %q is not below refs/pawl/, and no other ref is made", ref)
	}
	return checkRef(ref)
}

// checkHashes refuses everything that is not a whole object id in hex.
func checkHashes[H ~string](hashes ...H) error {
	for _, h := range hashes {
		if len(h) != 40 && len(h) != 64 || strings.Trim(string(h), "0123456789abcdef") != "" {
			return pawl.Errorf(pawl.CodeInvalid, "%q is not a git object id", h)
		}
	}
	return nil
}

// explain says what we were doing, and gives the troubles of a machine their code.
func explain(doing string, err error) error {
	if _, ok := errors.AsType[*pawl.Error](err); ok || err == nil {
		return err
	}
	text := err.Error()
	for _, trouble := range []struct{ sign, hint string }{
		{"No space left on device", "free some space; the work so far is safe"},
		{"no space left on device", "free some space; the work so far is safe"},
		{"Out of diskspace", "free some space; the work so far is safe"}, // git, where a file was cut
		{"Disk quota exceeded", "free some space; the work so far is safe"},
		{"Read-only file system", "make it writable"},
		{"insufficient permission", "check who owns the repository's objects and refs"},
		{"Permission denied", "check who owns the files"},
	} {
		if strings.Contains(text, trouble.sign) {
			return pawl.Errorf(pawl.CodeUnavailable, "%s: %w", doing, err).WithHint("%s", trouble.hint)
		}
	}
	return fmt.Errorf("%s: %w", doing, err)
}
