package evidence

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/evidence/class"
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
	s.settle(r)
	var out []Run
	if run, ok := s.expectedRun(r); ok {
		out = append(out, run)
	}
	if run, ok := s.revertedRun(r); ok {
		out = append(out, run)
	}
	return out
}

// keepSubjects lets files of which it is not known whether they judge or are judged be code if what is compared
// with changed too, or if else no code of the candidate would be left: the base would judge itself.
func (s *Survey) keepSubjects() {
	if s.leavesCode() && len(s.touched(s.isCompared, pawl.ClassGateInput, pawl.ClassSupport)) == 0 {
		return
	}
	for i := range s.c.Files {
		if f := &s.c.Files[i]; slices.Equal(s.parts[f.Path], []pawl.PathClass{pawl.ClassGateInput}) && s.classes.MayBeSubject(f.Path) {
			s.parts[f.Path] = []pawl.PathClass{pawl.ClassCode}
		}
	}
}

// isCompared reports whether a file is data that only the gates, or tests, read.
func (s *Survey) isCompared(f *pawl.FileChange) bool {
	if !hadIt(f) || isProgram(f.Path, f.Old) || class.IsMakefile(f.Path) {
		return false
	}
	unnamed := s.unnamed.Of(f.Path)
	return unnamed == pawl.ClassCode || unnamed == pawl.ClassDocs || unnamed == pawl.ClassSupport
}

// leavesCode reports whether any of the candidate's own code is left where what the base expects is put over it.
func (s *Survey) leavesCode() bool {
	return len(s.touched(nil, pawl.ClassCode, pawl.ClassVendored, pawl.ClassDependency)) > 0
}

// expectedRun returns the run of the test gates, and of all gates if their inputs changed, with what
// the base expects over the candidate's code. There is none if that is the base with nothing taken from it.
func (s *Survey) expectedRun(r *Reports) (Run, bool) {
	changed, gates := s.expecting(r)
	run := Run{On: pawl.TreeExpected, Gates: gates}
	if len(gates) == 0 || s.isBase() && s.onlyAdds() && !slices.ContainsFunc(gates, func(g string) bool { return r.Base[g] == nil || r.Base[g].Partial }) {
		return run, false
	}
	run.Files = s.withoutStandIns(s.compose(expected...))
	run.Fresh = len(s.c.Prepare) > 0 && len(s.touched(nil, pawl.ClassGateInput)) > 0
	run.Reason = s.whyExpected(changed)
	return run, true
}

// whyExpected says why gates are asked with what the base expects. What was added is named where nothing changed.
func (s *Survey) whyExpected(changed []string) string {
	switch named := s.touched(hadIt, expected...); {
	case len(named) > 0:
		return fmt.Sprintf("%s changed: do the gates pass with the base's version too?", listed(named))
	case len(changed) == 1:
		return changed[0] + " was added: do the gates pass without it?"
	}
	return listed(changed) + " were added: do the gates pass without them?"
}

// expecting returns what changed of what the base expects, and the gates whose verdict may depend on it.
func (s *Survey) expecting(r *Reports) (changed, gates []string) {
	changed = append(s.touched(hadIt, expected...), s.addedFiles()...)
	inputs := s.touched(nil, pawl.ClassGateInput)
	if len(changed) == 0 {
		return nil, nil
	}
	for _, g := range s.c.Gates {
		if base := r.Base[g.Name]; base != nil && base.Lacks == lacksTests {
			continue // nothing was expected
		}
		if r.Own[g.Name] != nil && (g.Kind == pawl.GateTests || len(inputs) > 0) {
			gates = append(gates, g.Name)
		}
	}
	return changed, gates
}

// lacksTests is what a gate says that a repository lacks in which it finds no test.
const lacksTests = "tests"

// isBase reports whether the candidate with what the base expects is the base, as far as gates can see.
func (s *Survey) isBase() bool { return !s.leavesCode() && len(s.touched(nil, pawl.ClassPolicy)) == 0 }

// onlyAdds reports whether the candidate changed nothing of what the base expects, and may have added to it.
func (s *Survey) onlyAdds() bool { return len(s.touched(hadIt, expected...)) == 0 }

// withBase returns reports in which the base's are also those of the candidate with what the base expects, if
// there is no difference.
func (s *Survey) withBase(r *Reports) *Reports {
	_, gates := s.expecting(r)
	if !s.isBase() || !s.onlyAdds() || len(gates) == 0 || r.On[pawl.TreeExpected] != nil {
		return r
	}
	out := *r
	out.On = maps.Clone(r.On)
	if out.On == nil {
		out.On = map[pawl.Tree]map[string]*pawl.GateReport{}
	}
	there := map[string]*pawl.GateReport{}
	for _, g := range gates {
		if base := r.Base[g]; base != nil && !base.Partial {
			there[g] = base
		}
	}
	out.On[pawl.TreeExpected] = there
	return &out
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
