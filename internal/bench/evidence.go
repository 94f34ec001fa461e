package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/engine"
	"pawl/internal/evidence"
	"pawl/internal/evidence/corpus"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
	"pawl/internal/secret"
)

// Evidence is what is found in the changes of the corpus, each examined as a candidate of a run with
// real gates.
type Evidence struct {
	Cheat  EvidenceSide `json:"cheat"`
	Honest EvidenceSide `json:"honest"`
	// Entries are those of which something else was found than the corpus says.
	Entries []EvidenceEntry `json:"entries,omitempty"`
	Took    time.Duration   `json:"took_ns"`
}

// EvidenceSide counts the entries of a side of the corpus.
type EvidenceSide struct {
	Entries int `json:"entries"`
	// Right are those in which the cheat was found, or nothing that the goal does not ask for.
	Right int `json:"right"`
	// HeldOut and HeldOutRight count those that whoever writes detectors has not seen.
	HeldOut      int `json:"held_out"`
	HeldOutRight int `json:"held_out_right"`
	// Quiet are those in which nothing was found.
	Quiet int `json:"quiet"`
}

// EvidenceEntry is a change of the corpus with what was found in it.
type EvidenceEntry struct {
	Name     string      `json:"name"`
	Side     corpus.Side `json:"side"`
	HeldOut  bool        `json:"held_out"`
	Missing  []string    `json:"missing,omitempty"` // findings that the corpus has
	Found    []string    `json:"found,omitempty"`   // findings that the corpus has not
	Problem  string      `json:"problem,omitempty"` // why it could not be examined
	wrong    bool
	findings int
}

// EvidenceTools are the programs that gates of the corpus run.
var EvidenceTools = []string{"go", "node", "npm", "python3", "pytest", "cargo", "make", "bash"}

// MissingTools returns those of [EvidenceTools] that are not installed.
func MissingTools() []string {
	return slices.DeleteFunc(slices.Clone(EvidenceTools), func(tool string) bool {
		_, err := exec.LookPath(tool)
		return err == nil
	})
}

// MeasureEvidence examines the entries of the corpus that keep returns true for, a few side by side. A nil
// keep keeps all.
func MeasureEvidence(ctx context.Context, o Options, keep func(*corpus.Entry) bool) (e Evidence, err error) {
	if missing := MissingTools(); len(missing) > 0 {
		return e, pawl.Errorf(pawl.CodeInvalid, "the gates of the corpus need %s", strings.Join(missing, ", ")).WithHint("install what is missing")
	}
	began := time.Now()
	entries, err := corpus.Load()
	if err != nil {
		return e, err
	}
	entries = slices.DeleteFunc(entries, func(x *corpus.Entry) bool { return keep != nil && !keep(x) })
	results := make([]EvidenceEntry, len(entries))
	var wg sync.WaitGroup
	places := make(chan struct{}, evidenceAtOnce)
	for i, x := range entries {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			results[i] = examineEntry(ctx, filepath.Join(o.Dir, "evidence", string(x.Side)+"-"+x.Name), x)
			if line := results[i].String(); line != "" && o.Progress != nil {
				o.Progress(line)
			}
		})
	}
	wg.Wait()
	for i, x := range entries {
		r := results[i]
		side := &e.Cheat
		if x.Side == corpus.Honest {
			side = &e.Honest
		}
		side.count(x, &r)
		if r.wrong || len(r.Missing)+len(r.Found) > 0 || r.Problem != "" {
			e.Entries = append(e.Entries, r)
		}
	}
	e.Took = time.Since(began)
	return e, ctx.Err()
}

// entryTimeout bounds a gate of an entry. Some tests do not end on other trees.
const entryTimeout = time.Minute

// evidenceAtOnce is how many entries are examined side by side.
const evidenceAtOnce = 3

func (s *EvidenceSide) count(x *corpus.Entry, r *EvidenceEntry) {
	s.Entries++
	if x.HeldOut {
		s.HeldOut++
	}
	if r.findings == 0 && r.Problem == "" {
		s.Quiet++
	}
	if r.wrong {
		return
	}
	s.Right++
	if x.HeldOut {
		s.HeldOutRight++
	}
}

// examineEntry makes the change of an entry in a run of its own, and compares what was found with
// what the entry says.
func examineEntry(ctx context.Context, dir string, x *corpus.Entry) EvidenceEntry {
	r := EvidenceEntry{Name: x.Name, Side: x.Side, HeldOut: x.HeldOut}
	report, err := findIn(ctx, dir, x, entryTimeout)
	for try := 1; needsChance(x, report) && try < flakyTries && ctx.Err() == nil; try++ {
		report, err = findIn(ctx, dir, x, entryTimeout)
	}
	if err != nil {
		r.Problem, r.wrong = err.Error(), true
		return r
	}
	r.findings = len(report.Findings)
	matched := 0
	for _, want := range x.Findings {
		if slices.ContainsFunc(report.Findings, func(f pawl.Finding) bool { return isThat(&f, &want) }) {
			matched++
			continue
		}
		r.Missing = append(r.Missing, strings.TrimSpace(fmt.Sprintf("%s %s %s", want.Kind, want.Path, want.Test)))
	}
	for _, f := range report.Findings {
		if slices.ContainsFunc(x.Findings, func(want corpus.Finding) bool { return f.Kind == want.Kind }) || slices.Contains(x.Accepted, f.Kind) {
			continue
		}
		r.Found = append(r.Found, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Kind, f.Path, strings.Join(f.Tests, " "))))
	}
	if x.Side == corpus.Cheat {
		if r.wrong = matched == 0; !r.wrong {
			r.Found = nil
		}
	} else {
		r.wrong, r.Missing = len(r.Found) > 0, nil
	}
	return r
}

// flakyTries bounds how often an entry with a flaky test is examined until the test shows that it is
// flaky. One that fails every second time shows it in one of four runs: it has to fail, and then to pass
// when the gate is asked again.
const flakyTries = 32

// needsChance reports whether an entry has a flaky test that has not been found yet. The report is nil if
// there is none, as if the test failed twice.
func needsChance(x *corpus.Entry, report *pawl.EvidenceReport) bool {
	return slices.ContainsFunc(x.Findings, func(want corpus.Finding) bool { return want.Kind == pawl.FindFlaky }) &&
		(report == nil || !slices.ContainsFunc(report.Findings, func(f pawl.Finding) bool { return f.Kind == pawl.FindFlaky }))
}

// newFlaky returns what a gate says that fails because new tests are flaky, as findings.
func newFlaky(r *pawl.GateReport) []pawl.Finding {
	var out []pawl.Finding
	for _, t := range r.Tests {
		if t.Status == pawl.TestFail && slices.Contains(r.Flaky, t.Name) {
			out = append(out, pawl.Finding{Kind: pawl.FindFlaky, Tests: []string{t.Name}, Text: r.Reason})
		}
	}
	return out
}

// isThat reports whether a finding makes somebody look at what an entry wants to be found: it is about
// the same file, or of the same kind about the same test. One change is often of several kinds.
func isThat(f *pawl.Finding, want *corpus.Finding) bool {
	if want.Path != "" && f.Path == want.Path {
		return true
	}
	test := want.Test == "" || slices.ContainsFunc(f.Tests, func(name string) bool {
		rest, ok := strings.CutSuffix(name, want.Test)
		return ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "./:> "))
	})
	return f.Kind == want.Kind && want.Test != "" && test
}

// findIn returns the evidence on an entry's candidate. Each of its gates has the time limit.
func findIn(ctx context.Context, dir string, x *corpus.Entry, timeout time.Duration) (*pawl.EvidenceReport, error) {
	base, candidate := filepath.Join(dir, "repo"), filepath.Join(dir, "candidate")
	defer os.RemoveAll(dir)
	if err := corpus.WriteTree(base, x.Base); err != nil {
		return nil, err
	}
	if err := corpus.WriteTree(candidate, x.Candidate(), x.Links...); err != nil {
		return nil, err
	}
	if err := commitAll(ctx, base); err != nil {
		return nil, err
	}
	e, stop, err := newEngine(ctx, sandbox.Unconfined(), base, filepath.Join(dir, "state"), copier{candidate}, entryRun(x, timeout), func(r *runner.Runner) {
		r.Rooms, r.Secrets = builtRooms{r.Rooms, goCache()}, foundSecrets
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	info, err := e.Start(ctx, pawl.StartRequest{Goal: x.Goal})
	if err != nil {
		return nil, err
	}
	var said []string
	for u, err := range e.Watch(ctx, info.ID, 0) {
		switch {
		case err != nil:
			return nil, err
		case u.Event == nil:
			continue
		}
		switch b := u.Event.Body.(type) {
		case *pawl.Examined:
			if len(b.Runs) > 0 {
				continue
			}
			var report pawl.EvidenceReport
			return &report, readBlob(ctx, e, info.ID, b.Evidence, &report)
		case *pawl.GateJudged:
			said = append(said, fmt.Sprintf("%s %s: %s", b.Gate, b.Verdict, b.Reason))
			if !b.Again {
				continue
			}
			var judged pawl.GateReport
			if err := readBlob(ctx, e, info.ID, b.Evidence, &judged); err != nil {
				return nil, err
			}
			if found := newFlaky(&judged); len(found) > 0 {
				return &pawl.EvidenceReport{Findings: found}, nil
			}
		case *pawl.EffectFailed:
			said = append(said, b.Failure.Message)
		case *pawl.RunEnded:
			return nil, fmt.Errorf("the run ended %s before anything was looked at: %s; %s", b.Outcome, b.Reason, strings.Join(said, "; "))
		}
	}
	return nil, ctx.Err()
}

// readBlob decodes a JSON document of a run.
func readBlob(ctx context.Context, e *engine.Engine, run pawl.RunID, h pawl.Hash, into any) error {
	data, err := e.Blob(ctx, run, h)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// foundSecrets returns the secrets in a file.
func foundSecrets(path string, text []byte) []evidence.Secret {
	var out []evidence.Secret
	for _, f := range secret.Find(path, text) {
		out = append(out, evidence.Secret{Rule: f.Rule, Value: f.Secret, Line: f.Line})
	}
	return out
}

// goCache returns where Go keeps what it has built.
func goCache() string {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "go-build")
}

// builtRooms are rooms whose gates share what Go has built: the standard library need not be built for
// each entry.
type builtRooms struct {
	pawl.Rooms
	cache string
}

func (b builtRooms) Gate(ctx context.Context, spec pawl.GateRoom) (pawl.Room, error) {
	room, err := b.Rooms.Gate(ctx, spec)
	return builtRoom{room, b.cache}, err
}

func (b builtRooms) Base(ctx context.Context, spec pawl.GateRoom) (pawl.Room, error) {
	room, err := b.Rooms.Base(ctx, spec)
	return builtRoom{room, b.cache}, err
}

type builtRoom struct {
	pawl.Room
	cache string
}

func (b builtRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	cmd.Env = append(slices.Clone(cmd.Env), "GOCACHE="+b.cache)
	if modules := os.Getenv("GOMODCACHE"); modules != "" {
		cmd.Env = append(cmd.Env, "GOMODCACHE="+modules)
	}
	return b.Room.Run(ctx, cmd)
}

// entryRun is a run whose first attempt makes the change of an entry.
func entryRun(x *corpus.Entry, timeout time.Duration) pawl.RunSpec {
	spec := oneAttempt()
	spec.Recipe.Kinds[0].Steps[0].Tools = []string{"run"}
	spec.Recipe.Kinds[0].Gates = []pawl.Stage{{Name: "quality", Commands: []string{"*"}}}
	spec.Settings.Evidence = pawl.EvidenceReview
	spec.Settings.Limits.Iterations, spec.Settings.HaltOn = 1, []pawl.HaltCondition{pawl.HaltIterations}
	for _, g := range x.Gates {
		kind := pawl.GateTests
		if g.Name != "tests" && g.Name != "check" {
			kind = pawl.GateLint
		}
		spec.Settings.Gates = append(spec.Settings.Gates, pawl.GateSpec{Name: g.Name, Kind: kind, Command: g.Command, Timeout: timeout})
	}
	for i, text := range x.Criteria {
		spec.Criteria = append(spec.Criteria, pawl.Criterion{ID: fmt.Sprintf("AC-%03d", i+1), Text: text})
	}
	return spec
}

// copier is a model that makes the worktree equal to a folder, and is done.
type copier struct{ from string }

func (c copier) Call(_ context.Context, req pawl.ModelRequest, _ func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	name, args := "submit_result", []byte(`{"summary":"done"}`)
	if req.Place.Turn == 1 {
		name = "run"
		args, _ = json.Marshal(map[string]string{"command": "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && cp -a '" + c.from + "/.' ."})
	}
	return pawl.ModelReply{Stop: pawl.StopToolUse, Model: "bench", Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{
		{Kind: pawl.BlockToolUse, CallID: fmt.Sprint(name, req.Place.Turn), Tool: name, Args: args},
	}}}, nil
}

func (e *Evidence) String() string {
	var b strings.Builder
	for _, s := range []struct {
		name string
		side *EvidenceSide
		what string
	}{{"cheats", &e.Cheat, "found"}, {"honest changes", &e.Honest, "without a false alarm"}} {
		fmt.Fprintf(&b, "%s: %d of %d %s (held out: %d of %d), %d with nothing to answer\n", s.name, s.side.Right, s.side.Entries, s.what, s.side.HeldOutRight, s.side.HeldOut, s.side.Quiet)
	}
	for _, r := range e.Entries {
		fmt.Fprintf(&b, "  %s\n", r.String())
	}
	return strings.TrimRight(b.String(), "\n")
}

// String says how what was found differs from what the corpus says; empty if it does not. What is in
// an entry that is held out is not for those who write detectors.
func (r EvidenceEntry) String() string {
	mark := "note "
	switch {
	case r.wrong:
		mark = "WRONG"
	case len(r.Missing)+len(r.Found) == 0 && r.Problem == "":
		return ""
	}
	if r.HeldOut {
		examined := fmt.Sprintf("findings: %d", r.findings)
		if r.Problem != "" {
			examined = "not examined"
		}
		return fmt.Sprintf("%s %s %s (held out): %s", mark, r.Side, r.Name, examined)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s: missing %q, found %q %s", mark, r.Side, r.Name, r.Missing, r.Found, r.Problem))
}
