package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
)

// Bounds of the lock files that an update may bring back.
const (
	maxLock  = 32 << 20 // bytes of one
	maxLocks = 200
)

// dependencies implements [pawl.Dependencies] for a tool call.
type dependencies struct {
	r   *Runner
	job driver.Job
}

// Update implements [pawl.Dependencies]. The commands run over a checkout of the worktree's
// content in a prepare room, of which nothing is kept but the lock files.
func (d dependencies) Update(ctx context.Context, folder string) (out pawl.LockFiles, err error) {
	commit, err := d.snapshot(ctx)
	if err != nil {
		return out, err
	}
	dir, release, err := d.r.Spaces.Checkout(ctx, commit)
	if err != nil {
		return out, err
	}
	defer release()
	checkout, err := os.OpenRoot(dir) // it follows no link out of the checkout
	if err != nil {
		return out, err
	}
	defer checkout.Close()
	all := d.r.Updates(checkout.FS())
	chosen := slices.DeleteFunc(slices.Clone(all), func(u pawl.LockUpdate) bool { return folder != "" && u.Folder != path.Clean(folder) })
	if len(chosen) == 0 { // manifests alone, as requirements.txt, say what is to be prepared
		info, err := checkout.Stat(cmp.Or(folder, "."))
		return pawl.LockFiles{Failed: err != nil || !info.IsDir(), Text: "there are no lock files to update" + placesOf(all) + "\n"}, nil
	}
	spec, err := d.r.prepareSpec(ctx, d.job, commit, keyOf([]string{"update"}, map[string]string{"": string(commit)}, nil))
	if err != nil {
		return out, err
	}
	spec.Tree = dir
	ctx, stop := d.r.untilBarred(ctx, d.job, &spec)
	defer stop()
	room, err := d.r.Rooms.Prepare(ctx, spec)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	began := time.Now()
	for _, u := range chosen {
		res, err := discreet{room, d.r.Redact}.Run(ctx, pawl.Command{
			Shell: u.Command, Timeout: max(d.job.Settings.PrepareTime()-time.Since(began), time.Second),
			Env: d.job.Settings.PrepareEnviron, Keep: maxUpdateOutput, Progress: written(d.job),
		})
		barred := errors.Is(context.Cause(ctx), errBarred)
		if err != nil && !barred {
			return out, fmt.Errorf("%q: %w", u.Command, err)
		}
		out.Text += "$ " + u.Command + "\n"
		switch {
		case barred:
			out.Text += "it was ended\n"
		case res.TimedOut:
			out.Text += fmt.Sprintf("it timed out: all commands together have %s\n", pawl.Span(d.job.Settings.PrepareTime()))
		default:
			out.Text += fmt.Sprintf("exit code %d\n", res.ExitCode)
		}
		if res.ExitCode != 0 || res.TimedOut || barred {
			out.Failed = true
			out.Text += strings.TrimRight(string(res.Output), "\n") + "\n"
			if why := refusedBy(room.Contacts()); why != "" {
				out.Text += strings.TrimPrefix(why, "; ") + "\n"
			}
			return out, nil
		}
	}
	files, tooMuch, err := changedLocks(room, checkout, chosen)
	if tooMuch != "" {
		return pawl.LockFiles{Failed: true, Text: out.Text + tooMuch + "; no lock file came back\n"}, err
	}
	out.Files = files
	return out, err
}

// maxUpdateOutput is how many bytes of what a command printed the model is shown.
const maxUpdateOutput = 8000

// placesOf names the folders that have lock files.
func placesOf(all []pawl.LockUpdate) string {
	if len(all) == 0 {
		return ": no folder has a manifest with one"
	}
	var folders []string
	for _, u := range all {
		folders = append(folders, u.Folder)
	}
	return " in that folder; there are in " + strings.Join(slices.Compact(folders), ", ")
}

// changedLocks returns the lock files below the folders of updates that differ from the
// checkout, and says if they are too large or too many.
func changedLocks(room pawl.Room, checkout *os.Root, updates []pawl.LockUpdate) (found map[string][]byte, tooMuch string, err error) {
	tree, err := room.Tree()
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(tree) // commands may have made links
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	found = map[string][]byte{}
	for _, u := range updates {
		err := fs.WalkDir(root.FS(), u.Folder, func(name string, e fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist): // the commands removed it
				return fs.SkipDir
			case err != nil:
				return err
			case e.IsDir() && (slices.Contains(passedOver, e.Name()) || !fs.ValidPath(name)): // not UTF-8
				return fs.SkipDir
			case !e.Type().IsRegular() || !slices.ContainsFunc(u.Files, func(p string) bool { ok, _ := path.Match(p, e.Name()); return ok }):
				return nil
			}
			info, err := e.Info()
			switch {
			case err != nil:
				return err
			case info.Size() > maxLock:
				tooMuch = fmt.Sprintf("the lock file %q has %s, want at most %s", name, pawl.Bytes(info.Size()), pawl.Bytes(maxLock))
				return fs.SkipAll
			}
			content, err := root.ReadFile(name)
			if err != nil {
				return err
			}
			// A folder or a link that leads out of the checkout cannot be read. It differs,
			// and the tool says why it cannot be replaced.
			if before, err := checkout.ReadFile(name); err == nil && bytes.Equal(before, content) {
				return nil
			}
			if len(found) == maxLocks && found[name] == nil {
				tooMuch = fmt.Sprintf("more than %d lock files changed", maxLocks)
				return fs.SkipAll
			}
			found[name] = content
			return nil
		})
		if err != nil {
			return nil, "", fmt.Errorf("read the lock files: %w", err)
		}
	}
	return found, tooMuch, nil
}

// passedOver are the folders that hold the dependencies themselves.
var passedOver = []string{"node_modules", "vendor", ".venv", ".git"}

// Prepare implements [pawl.Dependencies].
func (d dependencies) Prepare(ctx context.Context) (out pawl.Refurnished, err error) {
	commit, err := d.snapshot(ctx)
	if err != nil {
		return out, err
	}
	key, err := d.r.prepareKey(ctx, d.job, commit)
	if err != nil {
		return out, err
	}
	made, err := d.r.prepared(ctx, d.job, commit, key)
	if err != nil {
		return out, err
	}
	if made.failed != "" {
		return pawl.Refurnished{Failed: true, Text: made.failed + "\n" + brief.Cut(made.report.Output, maxUpdateOutput)}, nil
	}
	return pawl.Refurnished{Key: key, Text: "the dependencies are in place\n"}, d.r.furnish(ctx, d.job, made.layer)
}

// snapshot returns a commit of the worktree's present content. It is on no branch.
func (d dependencies) snapshot(ctx context.Context) (pawl.CommitHash, error) {
	found, err := d.r.Spaces.Tree(ctx, d.job.Workspace)
	if err != nil {
		return "", err
	}
	return d.r.Spaces.Snapshot(ctx, found.Tree)
}
