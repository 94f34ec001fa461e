package start

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/heldout"
)

// heldOutCommand stands where other gates have their command. It tells nothing of the checks.
const heldOutCommand = "held-out checks"

// holdOut reads the held-out checks of the request, and adds the gate that runs them. A folder whose
// content commands could see is refused.
func (s *starting) holdOut(context.Context) error {
	set, flags := &s.spec.Settings, &s.req.Flags
	if slices.ContainsFunc(set.Gates, func(g pawl.GateSpec) bool { return g.Name == pawl.HeldOutGate }) {
		return pawl.Errorf(pawl.CodeInvalid, "a gate is called %s, which is the name of the gate that runs held-out checks", pawl.HeldOutGate).WithHint("give it another name")
	}
	if flags.HeldOut == nil {
		if flags.HeldOutFeedback != nil {
			return wrong("held-out-feedback", "%q: there are no held-out checks", *flags.HeldOutFeedback).WithHint("name a folder of such: --held-out DIR")
		}
		return nil
	}
	if flags.HeldOutFeedback != nil {
		set.HeldOutFeedback = pawl.HeldOutFeedback(*flags.HeldOutFeedback)
	}
	set.HeldOutFeedback = cmp.Or(set.HeldOutFeedback, pawl.HeldOutNames)
	if !slices.Contains([]pawl.HeldOutFeedback{pawl.HeldOutNone, pawl.HeldOutNames, pawl.HeldOutFull}, set.HeldOutFeedback) {
		return wrong("held-out-feedback", "%q: want none, names or full", set.HeldOutFeedback)
	}
	dir, err := s.heldOutFolder(*flags.HeldOut)
	if err != nil {
		return err
	}
	checks, err := heldout.Read(dir)
	if err != nil {
		return wrong("held-out", "%w", err)
	}
	if s.spec.HeldOut, err = checks.Encode(); err != nil {
		return err
	}
	set.Gates = append(set.Gates, pawl.GateSpec{Name: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Command: heldOutCommand, Timeout: checks.Timeout})
	s.note("the result is judged by held-out checks too: " + checks.String() + "; of those that fail the agent is told " + set.HeldOutFeedback.Told())
	return nil
}

// heldOutFolder returns the folder of held-out checks without symbolic links in its path.
func (s *starting) heldOutFolder(name string) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", wrong("held-out", "%q: want a folder", name)
	}
	dir := name
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cmp.Or(s.req.Dir, s.Root), dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", wrong("held-out", "%q: %w", name, err)
	}
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return "", wrong("held-out", "%q: %w", name, err)
	}
	switch {
	case isBelow(real, root):
		return "", wrong("held-out", "%q: it is in the repository, where the agent sees it: want a folder outside of %s", name, root)
	case isBelow(root, real):
		return "", wrong("held-out", "%q: the repository is in it: want a folder that holds the checks alone", name)
	case s.Seen != nil && s.Seen(real):
		return "", wrong("held-out", "%q: commands in rooms see %s: want a folder that they do not see, such as one in your home", name, real)
	}
	return real, nil
}

// isBelow reports whether a path is a folder or in it.
func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
