package gitworktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/pattern"
	"pawl/internal/project"
)

// Remains is what the repository and the state folder have of one run.
type Remains struct {
	Run      pawl.RunID
	Branches []Ref // below refs/heads/pawl/: its own, and those of its loops
	Refs     []Ref // below refs/pawl/, without those that follow
	Salvage  []Ref // below refs/pawl/salvage/: they keep what was set aside
	// Worktrees are the names of its worktrees.
	Worktrees []string
	// Foreign are the commits on its branches that it did not make and that no other branch,
	// tag or remote has. Only [Workspaces.Look] fills it in.
	Foreign []pawl.ForeignCommit
}

// Ref is a ref of the user's repository.
type Ref struct {
	Name   string // in full
	Commit pawl.CommitHash
}

// Made says which commits a run has made.
type Made struct {
	Commits map[pawl.CommitHash]bool
	// Partial reports that the run's log could not be read whole. Then a commit that says
	// in its message that a run made it counts as one of them.
	Partial bool
}

// Remains finds what the repository and the state folder have of runs, by the runs' names.
func (s *Workspaces) Remains(ctx context.Context) (map[pawl.RunID]*Remains, error) {
	all := map[pawl.RunID]*Remains{}
	of := func(run pawl.RunID) *Remains {
		if all[run] == nil {
			all[run] = &Remains{Run: run}
		}
		return all[run]
	}
	out, err := s.user.Git(ctx, nil, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/pawl/", "refs/pawl/")
	if err != nil {
		return nil, explain("list the refs of runs", err)
	}
	for line := range strings.Lines(string(out)) {
		name, commit, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		run, kind := runOf(name)
		ref := Ref{name, pawl.CommitHash(commit)}
		switch {
		case run == "":
		case kind == "":
			of(run).Branches = append(of(run).Branches, ref)
		case kind == "salvage":
			of(run).Salvage = append(of(run).Salvage, ref)
		default:
			of(run).Refs = append(of(run).Refs, ref)
		}
	}
	names, err := s.worktreeNames()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if run := s.runOfWorktree(name); run != "" {
			of(run).Worktrees = append(of(run).Worktrees, name)
		}
	}
	return all, nil
}

// runOf returns the run that a ref is of, and the kind of a ref below refs/pawl/; empty for
// a branch. The run is empty for a ref that is of none.
func runOf(ref string) (run pawl.RunID, kind string) {
	if branch, ok := strings.CutPrefix(ref, "refs/heads/pawl/"); ok {
		return runOfBranch(branch), ""
	}
	kind, rest, _ := strings.Cut(strings.TrimPrefix(ref, "refs/pawl/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	return runOfBranch(name), kind
}

// runOfBranch returns the run of a branch below pawl/, or of a ref of attempts: what is behind
// two dashes names one of its loops. No run's name has two in a row.
func runOfBranch(branch string) pawl.RunID {
	name, _, _ := strings.Cut(branch, "--")
	if run := pawl.RunID(name); run.Valid() {
		return run
	}
	return ""
}

// worktreeNames are the names of all worktrees of which there is anything.
func (s *Workspaces) worktreeNames() ([]string, error) {
	found := map[string]bool{}
	for _, folder := range []string{s.desks(), filepath.Join(s.state, "worktrees"), s.layered()} {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("list the worktrees: %w", err)
		}
		for _, e := range entries {
			found[strings.ReplaceAll(e.Name(), "@", "/")] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// ofLoop matches what follows the run's name in the name of the worktree of one of its loops.
var ofLoop = pattern.Of(`-[0-9]{13}-[0-9a-f]{4}$`)

// runOfWorktree returns the run that a worktree is of; empty = none.
func (s *Workspaces) runOfWorktree(name string) pawl.RunID {
	w := worktree{s: s, name: name, desk: filepath.Join(s.desks(), key(name))}
	if known, err := w.read(); known && err == nil {
		run, _ := runOf(refOf(w.note.Branch))
		return run
	}
	return runOfBranch(ofLoop.ReplaceAllString(name, ""))
}

// Look finds what there is of a run and whether it can be removed: it fails with
// [pawl.CodeState] when one of its branches is checked out, or when there are foreign
// commits on them and force is not set. It changes nothing.
func (s *Workspaces) Look(ctx context.Context, run pawl.RunID, made Made, force bool) (Remains, error) {
	all, err := s.Remains(ctx)
	if err != nil {
		return Remains{}, err
	}
	found := all[run]
	if found == nil {
		return Remains{Run: run}, nil
	}
	for _, b := range found.Branches {
		branch := strings.TrimPrefix(b.Name, "refs/heads/")
		if where := s.checkedOut(branch); where != "" {
			return *found, pawl.Errorf(pawl.CodeState, "branch %s of run %s is checked out in %s: git does not delete such a branch", branch, run, where).
				WithHint("switch to another branch there (git switch -), then try again")
		}
	}
	if err := s.findForeign(ctx, found, made); err != nil {
		return *found, err
	}
	if n := len(found.Foreign); n > 0 && !force {
		return *found, foreignCommits(run, found.Foreign)
	}
	return *found, nil
}

// foreignCommits is the error for commits that would be lost with a run that did not make
// them.
func foreignCommits(run pawl.RunID, all []pawl.ForeignCommit) error {
	const shown = 3
	var names []string
	for _, c := range all[:min(shown, len(all))] {
		names = append(names, fmt.Sprintf("%.10s %q", c.Commit, c.Subject))
	}
	more := ""
	if n := len(all) - shown; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	what := "a commit that it did not make and that is nowhere else"
	if len(all) > 1 {
		what = fmt.Sprintf("%d commits that it did not make and that are nowhere else", len(all))
	}
	return pawl.Errorf(pawl.CodeState, "the branches of run %s have %s: %s%s", run, what, strings.Join(names, ", "), more).
		WithHint("keep them with git branch NAME %.10s, or delete them too: --force", all[0].Commit)
}

// findForeign finds the commits that only the branches of a run have, and those among them
// that the run did not make.
func (s *Workspaces) findForeign(ctx context.Context, r *Remains, made Made) error {
	if len(r.Branches) == 0 {
		return nil
	}
	const begin, end = "\x01", "\x02" // no message has them: git ends a message at NUL, and plain drops controls
	out, err := s.alone(ctx, r.Run, r.Branches, nil, "--no-commit-header", "--format="+begin+"%H%n%B"+end)
	if err != nil {
		return explain("look for commits that run "+string(r.Run)+" did not make", err)
	}
	for text := range strings.SplitSeq(string(out), begin) {
		hash, message, ok := strings.Cut(text, "\n")
		if !ok || checkHashes(hash) != nil {
			continue
		}
		message, _, _ = strings.Cut(message, end)
		if made.Commits[pawl.CommitHash(hash)] || made.Partial && saysOurs(message) {
			continue
		}
		subject, _, _ := strings.Cut(message, "\n")
		r.Foreign = append(r.Foreign, pawl.ForeignCommit{Commit: pawl.CommitHash(hash), Subject: plain(subject, "")})
	}
	return nil
}

// alone lists the commits that only refs of a run have, and those in but not: no branch of
// another name, tag or remote.
func (s *Workspaces) alone(ctx context.Context, run pawl.RunID, refs, but []Ref, options ...string) ([]byte, error) {
	args := append([]string{"rev-list"}, options...)
	for _, ref := range refs {
		args = append(args, string(ref.Commit))
	}
	args = append(args, "--not", "--exclude=pawl/"+string(run), "--exclude=pawl/"+string(run)+"--*", "--branches", "--tags", "--remotes")
	for _, ref := range but {
		args = append(args, string(ref.Commit))
	}
	return s.user.Git(ctx, nil, args...)
}

// keepAlone keeps, by salvage refs, the commits of some refs of a run that would be lost with
// them, without those that the refs in kept have. It returns those that it kept now as well.
func (s *Workspaces) keepAlone(ctx context.Context, run pawl.RunID, refs, kept []Ref) ([]Ref, error) {
	if len(refs) == 0 {
		return kept, nil
	}
	out, err := s.alone(ctx, run, refs, kept)
	if err != nil {
		return kept, explain("look for commits that only run "+string(run)+" has", err)
	}
	lost := map[string]bool{}
	for hash := range strings.Lines(string(out)) {
		lost[strings.TrimSpace(hash)] = true
	}
	for _, ref := range refs {
		if !lost[string(ref.Commit)] {
			continue
		}
		head, err := s.commit(ctx, ref.Commit)
		if err == nil {
			_, err = s.keep(ctx, keptName(run, ref.Name), head, head.Tree)
		}
		if err != nil {
			return kept, explain("keep the commits of "+ref.Name, err)
		}
		kept = append(kept, ref)
	}
	return kept, nil
}

// keptBefore returns the salvage refs that an earlier call of keepAlone made for a branch or
// for attempts.
func keptBefore(run pawl.RunID, salvage []Ref) []Ref {
	return slices.DeleteFunc(slices.Clone(salvage), func(r Ref) bool {
		name := strings.TrimPrefix(r.Name, salvages+string(run)+"/")
		return !strings.HasPrefix(name, "branch") && !strings.HasPrefix(name, "attempts")
	})
}

// keptName returns the ref that keeps what a ref of a run has: branch--2-parser,
// attempts or checkpoints-loop-2-1.
func keptName(run pawl.RunID, ref string) string {
	_, kind := runOf(ref)
	_, rest, _ := strings.Cut(ref, "/"+string(run))
	return salvages + string(run) + "/" + cmp.Or(kind, "branch") + strings.ReplaceAll(rest, "/", "-")
}

// saysOurs reports whether the last line of a commit's message is one of ours.
func saysOurs(message string) bool {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	last := lines[len(lines)-1]
	return strings.HasPrefix(last, trailer) || strings.HasPrefix(last, mergeTrailer)
}

// salvages is where refs keep what was set aside.
const salvages = "refs/pawl/salvage/"

// SalvageOf is the ref that keeps what a run's worktree holds when it is removed outside of
// the run.
func SalvageOf(run pawl.RunID, name string) string {
	if run == "" {
		return salvages + "unknown/" + name
	}
	return salvages + string(run) + "/worktree" + strings.TrimPrefix(name, string(run))
}

// Remove removes what there is of a run but its salvage refs, as far as [Workspaces.Look]
// allows. What its worktrees held, and commits that nothing else has, are kept by refs below
// refs/pawl/salvage/RUN/ first; the answer's Salvage has these and those from before.
// Called again after a crash, it removes what is left.
func (s *Workspaces) Remove(ctx context.Context, run pawl.RunID, made Made, force bool) (Remains, error) {
	found, err := s.Look(ctx, run, made, force)
	if err != nil {
		return found, err
	}
	for _, name := range found.Worktrees {
		if _, err := s.Close(ctx, name, SalvageOf(run, name)); err != nil {
			return found, err
		}
	}
	// Checkpoints are mostly of commits that branches and attempts have, or had before a crash.
	kept, err := s.keepAlone(ctx, run, slices.Concat(found.Branches, ofKind("attempts", found.Refs)), nil)
	if err == nil {
		_, err = s.keepAlone(ctx, run, found.Refs, slices.Concat(kept, keptBefore(run, found.Salvage)))
	}
	if err != nil {
		return found, err
	}
	for _, ref := range slices.Concat(found.Branches, found.Refs) {
		if err := s.deleteRef(ctx, ref); err != nil {
			return found, err
		}
	}
	all, err := s.Remains(ctx)
	if err == nil && all[run] != nil {
		found.Salvage = all[run].Salvage
	}
	return found, err
}

// Erase removes the salvage refs of a run, and what its worktrees held that git cannot
// keep. Nothing can bring these back, but the user's git, until it collects its own garbage.
func (s *Workspaces) Erase(ctx context.Context, run pawl.RunID) error {
	all, err := s.Remains(ctx)
	if err != nil || all[run] == nil {
		return errors.Join(err, s.eraseQuarantine(run))
	}
	for _, ref := range all[run].Salvage {
		if err := s.deleteRef(ctx, ref); err != nil {
			return err
		}
	}
	return s.eraseQuarantine(run)
}

// ofKind returns the refs of one kind.
func ofKind(kind string, refs []Ref) []Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool { _, k := runOf(r.Name); return k != kind })
}

// aside matches the name of a folder in quarantine: that of a worktree and a number.
var aside = pattern.Of(`^(.+)-[0-9]+$`)

// quarantineOf are the folders with what was moved out of a run's worktrees.
func (s *Workspaces) quarantineOf(run pawl.RunID) ([]string, error) {
	entries, err := os.ReadDir(s.quarantined())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for what was moved aside: %w", err)
	}
	var all []string
	for _, e := range entries {
		m := aside.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		if name := strings.ReplaceAll(m[1], "@", "/"); ofLoop.ReplaceAllString(name, "") == string(run) {
			all = append(all, filepath.Join(s.quarantined(), e.Name()))
		}
	}
	return all, nil
}

func (s *Workspaces) eraseQuarantine(run pawl.RunID) error {
	folders, err := s.quarantineOf(run)
	for _, folder := range folders {
		err = errors.Join(err, removeAll(folder))
	}
	return err
}

// MeasureAside returns how many bytes on disk what was moved out of a run's worktrees takes.
// It counts down the files that it may look at, and reports whether there were more.
func (s *Workspaces) MeasureAside(ctx context.Context, run pawl.RunID, files *int) (size int64, partial bool, err error) {
	folders, err := s.quarantineOf(run)
	for _, folder := range folders {
		n, more := project.Measure(ctx, folder, files)
		size, partial = size+n, partial || more
	}
	return size, partial, err
}

// MeasureWorktree is MeasureAside for what a worktree takes beyond the files that it shares
// with others.
func (s *Workspaces) MeasureWorktree(ctx context.Context, name string, files *int) (size int64, partial bool) {
	for _, folder := range []string{s.plainOf(name), s.layeredOf(name), filepath.Join(s.desks(), key(name)), filepath.Join(s.shown(), key(name))} {
		n, more := project.Measure(ctx, folder, files)
		size, partial = size+n, partial || more
	}
	return size, partial
}

// deleteRef deletes a ref of ours unless it has moved.
func (s *Workspaces) deleteRef(ctx context.Context, ref Ref) error {
	if !strings.HasPrefix(ref.Name, "refs/pawl/") && !strings.HasPrefix(ref.Name, "refs/heads/pawl/") {
		return pawl.Errorf(pawl.CodeInvalid, "ref %q is not ours, and is not deleted", ref.Name)
	}
	locks := []string{filepath.Join(s.user.Dir, filepath.FromSlash(ref.Name)+".lock"), filepath.Join(s.user.Dir, "packed-refs.lock")}
	for _, lock := range locks {
		if err := s.clearLock(ctx, lock); err != nil {
			return err
		}
	}
	err := s.user.DeleteRef(ctx, ref.Name, string(ref.Commit))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*git.Error](err); ok && e.Signaled {
		for _, lock := range locks {
			s.dropLock(ctx, lock) // the process that made it is dead
		}
	}
	if now, e := s.ref(ctx, ref.Name); e == nil && now.Hash != string(ref.Commit) {
		if now.Hash == "" {
			return nil
		}
		return pawl.Errorf(pawl.CodeConflict, "%s is at %s, not at %s: somebody else has just moved it", ref.Name, now.Hash, ref.Commit).WithHint("try again")
	}
	return explain("delete "+ref.Name, err)
}
