package runner

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/driver"
)

// resultVerdict is the result whose evidence is looked up.
const resultVerdict = "verdict"

// maxTestFiles bounds the bytes of the files in which names of tests are looked for.
const maxTestFiles = 64 << 20

// sources are what a session may cite as evidence. They are read when they are first asked
// for; err is the first error of that.
type sources struct {
	ctx context.Context
	job driver.Job
	r   *Runner
	err error

	// shown is what the session began with. commits are the candidate, or what stands for it,
	// and the base.
	shown   *pawl.AssemblePrompt
	commits []pawl.CommitHash
	reports []pawl.Hash // of gates on them

	files     []map[string]string // of each of the commits: object ids by path
	paths     []string
	lines     map[string]int // of the files that were asked for
	tests     []string
	testFiles [][]byte // the content of the files with tests; nil = they are not read yet
	texts     map[string]string
}

var _ pawl.Sources = (*sources)(nil)

// sourcesOf finds out from the run's events what the session of the job was shown, and which
// reports of gates there are.
func (r *Runner) sourcesOf(ctx context.Context, job driver.Job) (*sources, error) {
	s := &sources{ctx: ctx, job: job, r: r, lines: map[string]int{}}
	known, on := map[string]pawl.Hash{}, map[string]pawl.Hash{} // by gate: the last report, and that on the candidate
	base := map[string]pawl.Hash{}
	working := false
	for e, err := range job.Events(ctx) {
		if err != nil {
			return nil, fmt.Errorf("what evidence may cite: %w", err)
		}
		if b, ok := e.Body.(*pawl.GateJudged); ok && b.OnBase && !b.Evidence.IsZero() {
			base[b.Gate] = b.Evidence
			continue
		}
		if e.Loop != job.Effect.Loop {
			continue
		}
		switch b := e.Body.(type) {
		case *pawl.SessionStarted:
			if b.Session == job.Effect.Session {
				working = b.Purpose == pawl.ForStep
			}
		case *pawl.EffectRequested:
			if do, ok := b.Effect.Do.(*pawl.AssemblePrompt); ok && b.Effect.Session == job.Effect.Session {
				s.shown = do
			}
		case *pawl.GateJudged:
			if b.Kind != "" && b.On == "" && !b.Evidence.IsZero() {
				known[b.Gate], on[b.Gate] = b.Evidence, b.Evidence
			}
		case *pawl.Committed:
			clear(on)
		case *pawl.GatesReused:
			for gate, report := range known {
				if len(b.Gates) == 0 || slices.Contains(b.Gates, gate) {
					on[gate] = report
				}
			}
		}
	}
	if s.shown == nil {
		return nil, pawl.Errorf(pawl.CodeDamaged, "no event says what session %d began with", job.Effect.Session)
	}
	s.commits = []pawl.CommitHash{s.shown.Commit, s.shown.Base}
	if working { // what the step has changed so far is in no commit yet
		now, err := r.Spaces.Tree(ctx, job.Workspace)
		if err == nil {
			s.commits[0], err = r.Spaces.Snapshot(ctx, now.Tree)
		}
		if err != nil {
			return nil, fmt.Errorf("what evidence may cite: %w", err)
		}
	}
	s.commits = slices.DeleteFunc(slices.Compact(s.commits), func(c pawl.CommitHash) bool { return c == "" })
	for _, reports := range []map[string]pawl.Hash{on, base} {
		for _, gate := range slices.Sorted(maps.Keys(reports)) {
			s.reports = append(s.reports, reports[gate])
		}
	}
	return s, nil
}

// asked returns what the session was asked for, and the ids of the findings that it is to
// answer.
func (s *sources) asked() (goal, findings []string, err error) {
	if !s.shown.Goal.IsZero() {
		text, err := read(s.ctx, s.job, "the goal", s.shown.Goal)
		if err != nil {
			return nil, nil, err
		}
		goal = append(goal, string(text))
	}
	if !s.job.Task.IsZero() {
		var task pawl.TaskSpec
		if err := decode(s.ctx, s.job, "the task", s.job.Task, &task); err != nil {
			return nil, nil, err
		}
		goal = append(goal, task.Title, task.Description)
	}
	for _, f := range s.shown.Findings {
		findings = append(findings, f.ID)
	}
	return goal, findings, nil
}

func (s *sources) fail(err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("look up evidence: %w", err)
	}
}

// Paths implements [pawl.Sources].
func (s *sources) Paths() []string {
	if s.files != nil {
		return s.paths
	}
	all := map[string]bool{}
	for _, commit := range s.commits {
		files, err := s.r.Spaces.Objects(s.ctx, commit, func(string) bool { return true })
		s.fail(err)
		s.files = append(s.files, files)
		for path := range files {
			all[path] = true
		}
	}
	s.paths = slices.Sorted(maps.Keys(all))
	return s.paths
}

// contents calls see with the files of each of the commits that match, but not twice with
// the same file, until it returns false for that commit.
func (s *sources) contents(match func(path string) bool, see func(content []byte) bool) {
	s.Paths()
	for i, commit := range s.commits {
		var paths []string
		for path, id := range s.files[i] {
			if match(path) && (i == 0 || s.files[0][path] != id) {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		if len(paths) > 0 {
			s.fail(s.r.Spaces.Contents(s.ctx, commit, paths, func(_ string, content []byte) bool { return see(content) }))
		}
	}
}

// Lines implements [pawl.Sources]. What is no file, or is too large to be read, has any line.
func (s *sources) Lines(path string) int {
	if n, known := s.lines[path]; known {
		return n
	}
	most, read := 0, false
	s.contents(func(p string) bool { return p == path }, func(content []byte) bool {
		n := bytes.Count(content, []byte("\n"))
		if len(content) > 0 && !bytes.HasSuffix(content, []byte("\n")) {
			n++
		}
		most, read = max(most, n), true
		return true
	})
	if !read {
		most = math.MaxInt
	}
	s.lines[path] = most
	return most
}

// Tests implements [pawl.Sources].
func (s *sources) Tests() []string {
	if s.tests != nil {
		return s.tests
	}
	s.tests = []string{}
	for _, h := range s.reports {
		var report pawl.GateReport
		s.fail(decode(s.ctx, s.job, "the report of a gate", h, &report))
		for _, t := range report.Tests {
			s.tests = append(s.tests, t.Name)
		}
	}
	slices.Sort(s.tests)
	s.tests = slices.Compact(s.tests)
	return s.tests
}

// InTests implements [pawl.Sources].
func (s *sources) InTests(text string) bool {
	if s.testFiles == nil {
		s.testFiles = [][]byte{}
		size := 0
		s.contents(mayHoldTests, func(content []byte) bool {
			size += len(content)
			s.testFiles = append(s.testFiles, content)
			return size < maxTestFiles
		})
	}
	whole := regexp.MustCompile(`(?:^|[^\pL\pN_])` + regexp.QuoteMeta(text) + `(?:$|[^\pL\pN_])`)
	return slices.ContainsFunc(s.testFiles, func(content []byte) bool {
		return bytes.Contains(content, []byte(text)) && whole.Match(content)
	})
}

// mayHoldTests reports whether a file may have tests in it, by its path. Rust has them beside
// the code.
func mayHoldTests(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "test") || strings.Contains(lower, "spec") || path.Ext(lower) == ".rs"
}

// Documents implements [pawl.Sources]. They are the work where a plan or a part of it is
// handed in, and where no file is changed. What the harness has put beside them is none.
func (s *sources) Documents() map[string]string {
	if s.texts != nil {
		return s.texts
	}
	s.texts = map[string]string{}
	for _, in := range s.shown.Inputs {
		if s.isWork(in.Name) {
			text, err := read(s.ctx, s.job, in.Name, in.Blob)
			s.fail(err)
			s.texts[in.Name] += string(text)
		}
	}
	return s.texts
}

func (s *sources) isWork(name string) bool {
	switch {
	case pawl.IsArtifact(name):
		return true
	case name == "changed", name == "council", strings.HasPrefix(name, "proposal "), name == "signal", name == "context":
		return false
	}
	s.Paths()
	return len(s.files) < 2 || maps.Equal(s.files[0], s.files[1]) // nothing is changed
}
