package evidence

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Run is a tree that gates have to judge before everything is known.
type Run struct {
	On    pawl.Tree
	Gates []string
	// Files make the tree of the candidate's.
	Files  []pawl.ComposedFile
	Fresh  bool
	Reason string
}

// Reports are what gates said, by their names.
type Reports struct {
	Own, Base map[string]*pawl.GateReport
	On        map[pawl.Tree]map[string]*pawl.GateReport
}

// Runs returns the trees that gates have to judge once more.
func (s *Survey) Runs(r *Reports) []Run {
	var out []Run
	if run, ok := s.expectedRun(r); ok {
		out = append(out, run)
	}
	if run, ok := s.revertedRun(r); ok {
		out = append(out, run)
	}
	return out
}

// expectedRun returns the run of the test gates, and of all gates if their inputs changed, with what
// the base expects over the candidate's code.
func (s *Survey) expectedRun(r *Reports) (Run, bool) {
	changed := s.touched(hadIt, expected...)
	for _, in := range s.standIns {
		changed = append(changed, in.path)
	}
	inputs := s.touched(nil, pawl.ClassGateInput)
	if len(changed)+len(inputs) == 0 {
		return Run{}, false
	}
	run := Run{On: pawl.TreeExpected, Files: s.withoutStandIns(s.compose(expected...)), Fresh: len(s.c.Prepare) > 0 && len(inputs) > 0}
	for _, g := range s.c.Gates {
		if r.Own[g.Name] != nil && (g.Kind == pawl.GateTests || len(inputs) > 0) {
			run.Gates = append(run.Gates, g.Name)
		}
	}
	if len(changed) == 0 {
		changed = inputs
	}
	run.Reason = fmt.Sprintf("%s changed: do the gates pass with the base's version too?", listed(changed))
	return run, len(run.Gates) > 0
}

// withoutStandIns adds to how a tree is made that it has no file that is found in place of another.
func (s *Survey) withoutStandIns(files []pawl.ComposedFile) []pawl.ComposedFile {
	for _, in := range s.standIns {
		if !slices.ContainsFunc(files, func(f pawl.ComposedFile) bool { return f.Path == in.path }) {
			files = append(files, pawl.ComposedFile{Path: in.path, Remove: true})
		}
	}
	return files
}

// revertedRun returns the run of the test gates with the candidate's new tests over the base's code.
func (s *Survey) revertedRun(r *Reports) (Run, bool) {
	code := s.touched(nil, pawl.ClassCode)
	run := Run{On: pawl.TreeReverted}
	for _, g := range s.c.Gates {
		if own := r.Own[g.Name]; own != nil && g.Kind == pawl.GateTests && len(s.newTests(own, r.Base[g.Name]))+len(s.changedTests(own, r.Base[g.Name])) > 0 {
			run.Gates = append(run.Gates, g.Name)
		}
	}
	switch {
	case len(run.Gates) == 0:
		return run, false
	case len(code) == 0:
		return run, false
	}
	run.Files = s.compose(pawl.ClassCode)
	run.Reason = fmt.Sprintf("%s changed and tests are new or changed: do they fail without the change?", listed(code))
	return run, true
}

// compose returns how the candidate's tree is changed to have the parts of these classes as the base
// has them.
func (s *Survey) compose(classes ...pawl.PathClass) []pawl.ComposedFile {
	var out []pawl.ComposedFile
	for i := range s.c.Files {
		f := &s.c.Files[i]
		parts := s.parts[f.Path]
		if !slices.ContainsFunc(parts, func(c pawl.PathClass) bool { return slices.Contains(classes, c) }) {
			continue
		}
		if !slices.ContainsFunc(parts, func(c pawl.PathClass) bool { return !slices.Contains(classes, c) }) {
			out = append(out, pawl.ComposedFile{Path: f.Path, From: s.c.Base})
			continue
		}
		switch data, there := s.classes.Mix(f.Path, f.Old.Data, f.New.Data, classes); {
		case there && data == nil:
			out = append(out, pawl.ComposedFile{Path: f.Path, Data: []byte{}})
		case there:
			out = append(out, pawl.ComposedFile{Path: f.Path, Data: data})
		default:
			out = append(out, pawl.ComposedFile{Path: f.Path, Remove: true})
		}
	}
	return out
}

// counted says how many things there are.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// listed names a few paths.
func listed(paths []string) string {
	const most = 3
	if n := len(paths) - most; n > 0 {
		return strings.Join(paths[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(paths, ", ")
}

// BaseSupport returns how the candidate's tree is changed to have the test support and the gate inputs
// of its base.
func (s *Survey) BaseSupport() []pawl.ComposedFile {
	return s.compose(pawl.ClassSupport, pawl.ClassGateInput)
}
