// Package merge is pawl merge: a run's work in the branch that the user is on.
package merge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/pattern"
	"pawl/internal/plain"
	"pawl/internal/start"
	"pawl/internal/view"
)

// Git runs the user's own git in a folder, with their configuration, environment and terminal, and
// returns what it prints.
type Git func(ctx context.Context, dir string, args ...string) (string, error)

type options struct {
	squash  bool
	verbose bool
}

// New is the command.
func New(app *cli.App, git Git) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "merge [RUN]",
		Short: "Merge a run's work into the branch you are on",
		Long: `Merge brings the work of a run that passed into the branch that is checked out
here. This is the only command that changes your checkout, which must have no
uncommitted changes. Without RUN it merges the latest run that worked on a goal;
a run that judged a merge is not one.

If your branch is still where the run started, it moves forward to the run's
branch, which the gates have judged. If your branch has moved, the two are
merged, a run without an agent has the same gates judge the merge, and your
branch moves to the merge only if they pass. With --squash your branch gets one
commit with the same files.

If your git signs commits (commit.gpgsign), merge makes a commit of its own and
signs it here, where you can be asked for a passphrase. Nothing is signed during
a run.

` + cli.RunExitCodes,
		Example: "  pawl merge\n  pawl merge 7 --squash",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.execute(cmd.Context(), app, &here{git, app.Dir}, args)
		},
	}
	cli.RunArgs(c, app, false)
	c.Flags().BoolVar(&o.squash, "squash", false, "merge the work as one commit")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show every event of the run that judges the merge")
	return c
}

func (o *options) execute(ctx context.Context, app *cli.App, checkout *here, args []string) error {
	var err error
	if len(args) == 0 {
		if args, err = latest(ctx, app); err != nil {
			return err
		}
	}
	s, _, r, err := app.ReadRun(ctx, args)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if checkout.dir, err = filepath.Abs(checkout.dir); err != nil {
		return fmt.Errorf("find the folder to work in: %w", err)
	}
	m, err := checkout.plan(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case checkout.holds(ctx, "diff-tree", "--quiet", string(r.Start.Base), m.work):
		return o.say(app, r, m, m.target, "changes no files, so there is nothing to merge")
	case m.there:
		return o.say(app, r, m, m.target, "was merged before")
	}
	if m.tree == "" {
		if m.tree, m.judge, err = o.judge(ctx, app, checkout.dir, r, m); err != nil {
			return errors.Join(o.refused(app, r, m), err)
		}
	}
	if o.squash && checkout.holds(ctx, "diff-tree", "--quiet", m.target, m.tree) {
		return o.say(app, r, m, m.target, "changes nothing in it, so there is nothing to commit")
	}
	made, how, err := o.commit(ctx, checkout, r, m)
	if err != nil {
		return err
	}
	return o.say(app, r, m, made, how)
}

// latest returns the latest run that did not judge a merge: after pawl merge that is the run
// that was merged, not the one that judged the merge. It is empty when there is none.
func latest(ctx context.Context, app *cli.App) ([]string, error) {
	var runs []pawl.RunInfo
	s, err := app.With(ctx, cli.Read, func(s *cli.Session) (err error) {
		runs, err = s.Runs(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	for _, r := range slices.Backward(runs) {
		if r.Recipe != start.MergeRecipe {
			return []string{string(r.ID)}, nil
		}
	}
	return nil, nil
}

func (o *options) say(app *cli.App, r *view.Run, m merge, at, how string) error {
	if app.JSON {
		return app.Encode(map[string]any{"run": r.ID, "branch": m.branch, "from": m.target, "commit": at, "how": how, "judged_by": m.judge})
	}
	app.Printf("%s is at %.10s: the work of run %s %s.\n", plain.Line(m.branch, 0), at, r.ID, how)
	if r.Outcome == pawl.OutcomeUnverified && at != m.target {
		app.Notef("the run ended unverified: read what it changed")
	}
	return nil
}

// refused says that the branch was not moved, when the run that judges the merge did not pass.
func (o *options) refused(app *cli.App, r *view.Run, m merge) error {
	switch {
	case m.judge == "": // it was not begun, and the error says why
		return nil
	case app.JSON:
		return o.say(app, r, m, m.target, "is not merged")
	}
	app.Printf("%s is as it was: run %s, which judges the merge, has not passed. git merge %s takes the work anyway.\n",
		plain.Line(m.branch, 0), m.judge, plain.Line(r.Start.Branch, 0))
	return nil
}

// merge is what is to be merged, and into what.
type merge struct {
	branch string     // that is checked out
	target string     // its commit
	work   string     // the head of the run's branch
	ahead  bool       // target is part of work
	there  bool       // work is part of target
	tree   string     // the files of the result, which gates have judged; empty = they have to
	judge  pawl.RunID // the run that judged it; empty = the run itself
}

// here is the checkout that is merged into.
type here struct {
	git Git
	dir string
}

func (h *here) line(ctx context.Context, args ...string) (string, error) {
	out, err := h.git(ctx, h.dir, args...)
	return strings.TrimSpace(out), err
}

// holds reports whether a git command that answers by its exit code says yes.
func (h *here) holds(ctx context.Context, args ...string) bool {
	_, err := h.git(ctx, h.dir, args...)
	return err == nil
}

// plan finds out what is to be done, and refuses what cannot be.
func (h *here) plan(ctx context.Context, r *view.Run) (m merge, err error) {
	if !r.Outcome.Succeeded() {
		return m, pawl.Errorf(pawl.CodeState, "run %s %s: only work that has passed is merged", r.ID, state(r)).
			WithHint("pawl why %s says what is missing; git merge %s takes what its branch has anyway", r.ID, plain.Line(r.Start.Branch, 0))
	}
	if m.branch, err = h.line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); err != nil || m.branch == "" {
		return m, pawl.Errorf(pawl.CodeState, "no branch is checked out in %s", h.dir).WithHint("git switch main, or another branch, and again")
	}
	if m.branch == r.Start.Branch {
		return m, pawl.Errorf(pawl.CodeState, "%s is the run's own branch", m.branch).WithHint("git switch main, or another branch, and again")
	}
	if m.work, err = h.line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+r.Start.Branch+"^{commit}"); err != nil {
		return m, pawl.Errorf(pawl.CodeNotFound, "branch %s is gone", plain.Line(r.Start.Branch, 0)).
			WithHint("git merge %.12s takes the commit that passed, without another look at it", r.BranchHead())
	}
	if m.target, err = h.line(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return m, fmt.Errorf("find the commit that is checked out: %w", err)
	}
	changed, err := h.git(ctx, h.dir, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
	if err != nil {
		return m, fmt.Errorf("look at the checkout: %w", err)
	}
	if files := strings.Split(strings.TrimSpace(changed), "\n"); files[0] != "" {
		return m, pawl.Errorf(pawl.CodeState, "%s has changes that are not committed: %s", h.dir, plain.Line(strings.Join(files, ", "), 200)).
			WithHint("commit them, or git stash, and again")
	}
	m.there = h.holds(ctx, "merge-base", "--is-ancestor", m.work, m.target) || m.work == string(r.BranchHead()) && h.hasTrailer(ctx, r)
	m.ahead = h.holds(ctx, "merge-base", "--is-ancestor", m.target, m.work)
	if m.ahead && m.work == string(r.BranchHead()) {
		m.tree, err = h.line(ctx, "rev-parse", m.work+"^{tree}")
	}
	return m, err
}

// hasTrailer reports whether a commit that is checked out names the run, as one that was made with --squash does.
func (h *here) hasTrailer(ctx context.Context, r *view.Run) bool {
	out, err := h.line(ctx, "rev-list", "--max-count=1", "--extended-regexp", "--grep=^Pawl-Run: "+regexp.QuoteMeta(string(r.ID))+"$", string(r.Start.Base)+"..HEAD")
	return err == nil && out != ""
}

// Into returns the branch checked out in dir if the work of a run is in it; "" if it is not, or nobody knows.
func Into(ctx context.Context, git Git, dir string, r *view.Run) string {
	h := &here{git, dir}
	branch, err := h.line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil || branch == r.Start.Branch || r.BranchHead() == "" || r.BranchHead() == r.Start.Base {
		return ""
	}
	if h.holds(ctx, "merge-base", "--is-ancestor", string(r.BranchHead()), "HEAD") || h.hasTrailer(ctx, r) {
		return branch
	}
	return ""
}

// state says how a run stands.
func state(r *view.Run) string {
	if r.Outcome != "" {
		return "ended " + string(r.Outcome)
	}
	return "is " + string(r.Status)
}

// judge has a run without an agent judge the merge, with the gates that the run had, and returns a
// commit with its files, and that run.
func (o *options) judge(ctx context.Context, app *cli.App, dir string, r *view.Run, m merge) (files string, by pawl.RunID, err error) {
	req := pawl.StartRequest{
		Goal: fmt.Sprintf("Merge %s into %s", r.Start.Branch, m.branch), Dir: dir,
		Merge: &pawl.MergeRequest{Run: r.ID, Commit: pawl.CommitHash(m.work)},
	}
	var info pawl.RunInfo
	s, err := app.With(ctx, cli.Steer, func(s *cli.Session) (err error) {
		info, err = s.Start(ctx, req)
		return err
	})
	if err != nil {
		return "", "", err
	}
	defer func() { _ = s.Close() }()
	follow := cli.FollowOptions{Least: view.Important}
	if o.verbose {
		follow.Least = view.Detail
	}
	switch {
	case app.JSON: // the result alone is printed
		follow.Show = func(pawl.Event, *view.Run) error { return nil }
	case m.ahead:
		app.Printf("%s has commits that run %s did not make. Run %s judges it with them.\n", plain.Line(r.Start.Branch, 0), r.ID, info.ID)
	default:
		app.Printf("%s has moved since run %s began. Run %s judges the merge of both.\n", plain.Line(m.branch, 0), r.ID, info.ID)
	}
	if err := app.Attend(ctx, s, info.ID, follow); err != nil && !errors.Is(err, cli.StateExit(view.StateOf(pawl.OutcomeUnverified))) { // no gate, as in the run
		return "", info.ID, err
	}
	judged, err := cli.Fold(ctx, s, info.ID)
	if err != nil {
		return "", "", err
	}
	return string(judged.Head), info.ID, nil
}

// commit moves the branch to the work, or to a commit of the judged files.
func (o *options) commit(ctx context.Context, h *here, r *view.Run, m merge) (at, how string, err error) {
	signs, _ := h.line(ctx, "config", "--type=bool", "--get", "commit.gpgsign")
	to, how := m.work, "is merged by a fast-forward"
	if o.squash || signs == "true" || !m.ahead {
		args := []string{"commit-tree", m.tree + "^{tree}", "-p", m.target}
		message := fmt.Sprintf("Merge %s: %s", r.Start.Branch, r.Start.Title)
		switch {
		case o.squash:
			how = "is merged as one commit"
			if message, err = h.squashed(ctx, r, m); err != nil {
				return "", "", err
			}
		default:
			how = "is merged by a merge commit"
			args = append(args, "-p", m.work)
		}
		if signs == "true" {
			args = append(args, "-S")
		}
		if to, err = h.line(ctx, append(args, "-m", message)...); err != nil {
			return "", "", pawl.Errorf(pawl.CodeState, "git could not make the commit: %w", err).WithHint("%s is as it was", m.branch)
		}
	}
	if _, err := h.git(ctx, h.dir, "merge", "--ff-only", "--quiet", to); err != nil {
		return "", "", pawl.Errorf(pawl.CodeState, "git could not move %s: %w", plain.Line(m.branch, 0), err).WithHint("%s is as it was", plain.Line(m.branch, 0))
	}
	return to, how, nil
}

// squashed returns the message of the one commit that has all the work: that of the run's commit, or
// the run's title and those of its tasks.
func (h *here) squashed(ctx context.Context, r *view.Run, m merge) (string, error) {
	if r.Start.Attempts == "" { // its branch has attempts
		return r.Start.Title + "\n\nPawl-Run: " + string(r.ID), nil
	}
	out, err := h.line(ctx, "log", "--reverse", "--format=%B%x00", m.target+".."+m.work)
	if err != nil {
		return "", fmt.Errorf("read the messages of %s: %w", r.Start.Branch, err)
	}
	all := strings.Split(strings.TrimRight(out, "\x00\n"), "\x00")
	for i, text := range all {
		all[i] = strings.TrimSpace(effect.ReplaceAllString(text, ""))
	}
	if first, _, _ := strings.Cut(all[0], "\n"); len(all) > 1 && first != r.Start.Title {
		all = slices.Insert(all, 0, r.Start.Title)
	}
	return strings.Join(all, "\n\n"), nil
}

// effect is the trailer by which a run finds a commit of its own again.
var effect = pattern.Of(`(?m)^Pawl-Effect: .*\n?`)
