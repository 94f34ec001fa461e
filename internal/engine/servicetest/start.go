package servicetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

func (s *suite) start(t *testing.T) {
	t.Run("ResolvesTheWholeRequest", s.startResolves)
	t.Run("Preview", s.startPreview)
	t.Run("FreezesWhatWasAskedFor", s.startFreezes)
	t.Run("RefusesWhatCannotRun", s.startRefuses)
	t.Run("Unconfined", s.startUnconfined)
	t.Run("PrepareOfTheRepository", s.startPrepare)
	t.Run("PrepareOfTheUser", s.startOwnPrepare)
	t.Run("RepositoryThatCannotBeRead", s.startInspect)
	t.Run("InstructionsOfTheRepository", s.startInstructions)
	t.Run("Numbers", s.startNumbers)
	t.Run("ManyAtOnceHaveNumbersOfTheirOwn", s.startMany)
	t.Run("ThatCannotBeStoredLeavesNoRun", s.startUnstored)
	t.Run("GivenUpLeavesNoRun", s.startGivenUp)
}

// F-51: what resolves a request sees all of it.
func (s *suite) startResolves(t *testing.T) {
	b := s.bed(t)
	q := func(text string) *pawl.Quantity { return new(pawl.Quantity(text)) }
	req := b.asking(request("do it"))
	req.Task, req.Tasks, req.Dir, req.Unattended, req.AllowPrepare = "001-do-it", pawl.JSON(`[{"id":"a"}]`), "/shop", true, pawl.HashOf(nil)
	req.Flags = pawl.StartFlags{
		Criteria: []string{"a"}, Gate: []string{"tests=<b>"}, Model: []string{"c"}, MaxIterations: new(0), Budget: q("2.50"), MaxTokens: q("7"), MaxTime: q("90m"),
		MaxMemory: q("80%"), MaxDisk: q("1GiB"), MaxProcesses: q("9"), Complexity: new(0), Council: new(false), Agent: new(""), Scope: []string{"d"}, Context: []string{"ticket=7"}, Metadata: []string{"by=ci"}, NoFinalReview: true, RequireGreen: true,
		Green: []string{"e"}, Approval: new("auto"), ApprovalThreshold: new(80), Parallel: new(2), ReplanEvery: q("0"), Callback: new(""), CallbackPrivate: new(true),
		Announce: new("f"), AnnounceURL: new("g"), AnnouncePrivate: new(false), Egress: []string{"h"}, Unsandboxed: true, AllowMissingGate: []string{"i"},
	}
	for name, ask := range map[string]func() error{
		"Start":   func() error { _, err := b.Start(t.Context(), req); return err },
		"Preview": func() error { _, err := b.Preview(t.Context(), req); return err },
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(&req, b.resolved.Swap(nil)); diff != "" {
			t.Errorf("%s resolves, -asked +seen:\n%s", name, diff)
		}
	}
	for name, ask := range map[string]func() error{
		"Start":   func() error { _, err := b.Start(t.Context(), pawl.StartRequest{Recipe: "nobody"}); return err },
		"Preview": func() error { _, err := b.Preview(t.Context(), pawl.StartRequest{Recipe: "nobody"}); return err },
	} {
		err := ask()
		b.mustBe(err, pawl.CodeNotFound, true)
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.Field != "recipe" {
			t.Errorf("%s: the field is not named: %+v", name, e)
		}
	}
}

// A preview says what would be started, with the errors of a start, and starts nothing.
func (s *suite) startPreview(t *testing.T) {
	b := s.bed(t)
	spec := request("do it")
	spec.Origin = pawl.RecipeOrigin{Name: "small", Files: []string{".pawl/recipes/small.yaml"}, Replaces: []string{"small"}}
	spec.Warnings, spec.Notes, spec.Unsandboxed = []string{"mind the gap"}, []string{"one", "two"}, true
	spec.Settings.Gates = append(spec.Settings.Gates, pawl.GateSpec{Name: "fast", Kind: pawl.GateFormat, Command: "gofmt"})
	spec.Settings.Limits.Iterations, spec.Recipe.Kinds[0].Iterations = 0, 7
	spec.Recipe.Kinds[0].Gates = []pawl.Stage{{Name: "quality", Commands: []string{"tests", "lint"}}}
	spec.Settings.Prepare, spec.Settings.Egress = []string{"make deps"}, []string{"example.com:443"}
	got, err := b.Preview(t.Context(), b.asking(spec))
	if err != nil {
		t.Fatal(err)
	}
	want := pawl.StartPreview{
		Goal: "do it", Recipe: spec.Origin, Criteria: []pawl.Criterion{{ID: "AC-001", Text: "The goal is met: do it"}},
		Gates: []pawl.GatePreview{{Name: "tests", Kind: pawl.GateTests}, {Name: "lint", Kind: pawl.GateLint},
			{Name: "fast", Kind: pawl.GateFormat, Command: "gofmt", NeverRun: "it is of kind format, and the recipe small runs only command gates of kind lint and tests"}},
		Models: []string{"none/none", "none/none", "none/none"}, Limits: pawl.DefaultLimits, Prepare: []string{"make deps"}, PrepareFrom: pawl.FromRepository,
		PrepareHash: spec.Settings.PrepareHash(), NeedsConsent: true, Egress: []string{"example.com:443"}, Unsandboxed: true,
		Warnings: []string{"mind the gap"}, Notes: []string{"one", "two"},
	}
	want.Limits.Iterations = spec.Recipe.Kinds[0].Iterations
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	spec.AllowPrepare = got.PrepareHash
	if got, err = b.Preview(t.Context(), b.asking(spec)); err != nil || got.NeedsConsent {
		t.Errorf("with consent: %+v, %v", got, err)
	}
	spec.AllowPrepare = pawl.Hash{}
	if got, err = b.Preview(t.Context(), b.asking(spec)); err != nil || !got.NeedsConsent {
		t.Errorf("a preview gives consent: %+v, %v", got, err)
	}
	spec.Settings.Limits.Money = -1
	_, err = b.Preview(t.Context(), b.asking(spec))
	b.mustBe(err, pawl.CodeInvalid, false)
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
	spec.Settings.Limits.Money, spec.AllowPrepare = 1, spec.Settings.PrepareHash()
	info, err := b.begin(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(info.ID)
	first := b.mustEvents(info.ID, 0)[0].Body.(*pawl.RunStarted)
	if !slices.Equal(first.RecipeFiles, spec.Origin.Files) || !slices.Equal(first.RecipeReplaces, spec.Origin.Replaces) || // F-12
		!slices.Equal(first.Notes, []string{"mind the gap", "one", "two", "a note"}) {
		t.Errorf("the first event is %+v", first)
	}
}

func (s *suite) startFreezes(t *testing.T) {
	b := s.bed(t)
	req := request("Add a --json flag to list\n\nIt prints what the table shows.")
	req.Criteria = []pawl.Criterion{{ID: "AC-001", Text: "it parses"}, {ID: "AC-002", Text: "<it> says \"all\""}}
	req.Script = "answers: []\n"
	info, err := b.begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if info.ID != "001-add-a-json-flag-to" || info.Branch != "pawl/001-add-a-json-flag-to" || info.Task != 1 ||
		info.Title != "Add a --json flag to list" || info.Recipe != "small" || info.Max != 10 || info.Started.IsZero() {
		t.Errorf("the run's line is %+v", info)
	}
	b.mustRest(info.ID)
	first, ok := b.mustEvents(info.ID, 0)[0].Body.(*pawl.RunStarted)
	if !ok {
		t.Fatal("the first event does not start the run")
	}
	if first.Base != "base" || !first.Confined || first.Sandbox != "a box without walls" || first.Version != "test" ||
		first.Count != 2 || !slices.Equal(first.Notes, []string{"a note"}) || first.Seed == 0 {
		t.Errorf("the first event is %+v", first)
	}
	for text, hash := range map[string]pawl.Hash{
		req.Goal: first.Goal, req.Script: first.Script, req.Prompts["p"]: first.Prompts[0].Blob,
		mustJSON(t, req.Criteria): first.Criteria,
	} {
		if data, err := b.Blob(t.Context(), info.ID, hash); err != nil || string(data) != text {
			t.Errorf("blob %s is %q, %v; want %q", hash.Short(), data, err, text)
		}
	}
	if diff := cmp.Diff(mustJSON(t, req.Recipe)+mustJSON(t, req.Settings), string(first.Recipe)+string(first.Settings)); diff != "" {
		t.Errorf("recipe and settings, -asked +frozen:\n%s", diff)
	}
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

func (s *suite) startRefuses(t *testing.T) {
	b := s.bed(t)
	for name, spoil := range map[string]func(*pawl.RunSpec){
		"EmptyGoal": func(r *pawl.RunSpec) { r.Goal = "" },
		"BlankGoal": func(r *pawl.RunSpec) { r.Goal = " \n\t" },
		"NoModel":   func(r *pawl.RunSpec) { r.Settings.Models[1] = pawl.ModelChoice{} },
	} {
		req := request("do it")
		spoil(&req)
		_, err := b.begin(t.Context(), req)
		t.Run(name, func(t *testing.T) { (&bed{t: t}).mustBe(err, pawl.CodeInvalid, true) })
	}
	for name, spoil := range map[string]func(*pawl.RunSpec){
		"RecipeWithoutKinds":      func(r *pawl.RunSpec) { r.Recipe.Kinds = nil },
		"RecipeWithUnknownOutput": func(r *pawl.RunSpec) { r.Recipe.Kinds[0].Steps[0].Output = "spec" },
		"NegativeLimit":           func(r *pawl.RunSpec) { r.Settings.Limits.Money = -1 },
		"TooFewProcesses":         func(r *pawl.RunSpec) { r.Settings.Room.Processes = 1 },
		"NegativeDisk":            func(r *pawl.RunSpec) { r.Settings.Room.Disk = -1 },
		"NegativeRecording":       func(r *pawl.RunSpec) { r.Settings.Recording.MaxFile = -1 },
	} {
		req := request("do it")
		spoil(&req)
		_, err := b.begin(t.Context(), req)
		t.Run(name, func(t *testing.T) { (&bed{t: t}).mustBe(err, pawl.CodeInvalid, false) })
	}
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
	if info := b.mustStart("do it"); info.Task != 1 {
		t.Errorf("the first run has number %d", info.Task)
	}
}

func (s *suite) startUnconfined(t *testing.T) {
	b := s.bed(t)
	b.confined = false
	req := request("do it")
	_, err := b.begin(t.Context(), req)
	b.mustBe(err, pawl.CodeUnavailable, true)
	if err != nil && !strings.Contains(err.Error(), "a box without walls") {
		t.Errorf("it does not say what confines nothing: %v", err)
	}
	req.Unsandboxed = true
	info, err := b.begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(info.ID)
	if first := b.mustEvents(info.ID, 0)[0].Body.(*pawl.RunStarted); first.Confined {
		t.Error("the run says that it is confined")
	}
}

// Commands that the repository chose to prepare checkouts are run only if the user has
// allowed these very commands, and their run says whose they are.
func (s *suite) startPrepare(t *testing.T) {
	b := s.bed(t)
	asking := func(allow bool, commands ...string) (pawl.RunInfo, error) {
		req := request("do it")
		req.Settings.Prepare, req.Settings.PrepareFrom = commands, pawl.FromRepository
		if allow {
			req.AllowPrepare = req.Settings.PrepareHash()
		}
		return b.begin(t.Context(), req)
	}
	refused := func(commands ...string) {
		t.Helper()
		_, err := asking(false, commands...)
		b.mustBe(err, pawl.CodeConsent, true)
		hash := (&pawl.Settings{Prepare: commands}).PrepareHash()
		if e, ok := errors.AsType[*pawl.Error](err); !ok || e.About != hash {
			t.Errorf("it is not about %s: %+v", hash, err)
		}
		for _, want := range append([]string{hash.String()}, commands...) {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("it does not say %s: %v", want, err)
			}
		}
	}
	refused("make deps", "make more")
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
	for _, allow := range []bool{true, false, true} { // once is enough
		info, err := asking(allow, "make deps", "make more")
		if err != nil {
			t.Fatal(err)
		}
		b.mustRest(info.ID)
		if got := b.frozen(info.ID); !slices.Equal(got.Prepare, []string{"make deps", "make more"}) || got.PrepareFrom != pawl.FromRepository {
			t.Errorf("it prepares with %q from %q", got.Prepare, got.PrepareFrom)
		}
	}
	refused("make deps")
	refused("make more", "make deps")
	_, err := asking(true, strings.Repeat("true; ", 2000))
	b.mustBe(err, pawl.CodeInvalid, true)

	t.Run("NobodySaysWhose", func(t *testing.T) {
		req := request("do it")
		req.Settings.Prepare = []string{"make it"}
		_, err := b.begin(t.Context(), req)
		(&bed{t: t}).mustBe(err, pawl.CodeConsent, true)
		req.AllowPrepare = (&pawl.Settings{Prepare: []string{"make something else"}}).PrepareHash()
		_, err = b.begin(t.Context(), req)
		(&bed{t: t}).mustBe(err, pawl.CodeConsent, true)
		req.AllowPrepare = req.Settings.PrepareHash()
		info, err := b.begin(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		b.mustRest(info.ID)
		if got := b.frozen(info.ID); got.PrepareFrom != pawl.FromRepository {
			t.Errorf("the commands are from %q", got.PrepareFrom)
		}
	})
	t.Run("NotKnown", func(t *testing.T) {
		b.consent.fail(errors.New("the disk is gone"))
		for _, allow := range []bool{false, true} {
			if _, err := asking(allow, "make deps", "make more"); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
				t.Errorf("allowed now: %t, got %v", allow, err)
			}
		}
		b.consent.fail(nil)
	})
	t.Run("ResumedAndForked", func(t *testing.T) { // what was frozen counts
		begun, letGo := b.holding(pawl.VerbCallModel)
		info, err := asking(false, "make deps", "make more")
		if err != nil {
			t.Fatal(err)
		}
		receive(t, begun, "effect")
		b.mustSteer(info.ID, pawl.Steering{Verb: pawl.SteerPause})
		b.consent.forget()
		b.mustSteer(info.ID, pawl.Steering{Verb: pawl.SteerResume})
		letGo()
		whole := b.mustRest(info.ID)
		if whole.Outcome != pawl.OutcomeComplete {
			t.Errorf("it ended %s: %s", whole.Outcome, whole.Reason)
		}
		fork, err := b.Fork(t.Context(), info.ID, whole.Seq-1)
		if err != nil {
			t.Fatal(err)
		}
		b.mustRest(fork.ID)
		if got := b.frozen(fork.ID); got.PrepareFrom != pawl.FromRepository {
			t.Errorf("the commands are from %q", got.PrepareFrom)
		}
	})
}

// Users are not asked about commands of their own.
func (s *suite) startOwnPrepare(t *testing.T) {
	b := s.bed(t)
	req := request("do it")
	req.Settings.Prepare, req.Settings.PrepareFrom = []string{"npm ci"}, pawl.FromUser
	info, err := b.begin(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(info.ID)
	if got := b.frozen(info.ID); got.PrepareFrom != pawl.FromUser || len(got.Prepare) != 1 {
		t.Errorf("it prepares with %q from %q", got.Prepare, got.PrepareFrom)
	}
	req.Settings.PrepareFrom = "me"
	_, err = b.begin(t.Context(), req)
	b.mustBe(err, pawl.CodeInvalid, false)
	req.Settings.Prepare, req.Settings.PrepareFrom = nil, pawl.FromRepository
	if info, err = b.begin(t.Context(), req); err != nil {
		t.Fatalf("without commands: %v", err)
	}
	b.mustRest(info.ID)
}

// frozen returns the settings of a run's first event.
func (b *bed) frozen(run pawl.RunID) (s pawl.Settings) {
	b.t.Helper()
	if err := json.Unmarshal(b.mustEvents(run, 0)[0].Body.(*pawl.RunStarted).Settings, &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (s *suite) startInspect(t *testing.T) {
	b := s.bed(t)
	b.inspect = pawl.Errorf(pawl.CodeState, "the repository has no commit").WithHint("make one: git commit")
	_, err := b.begin(t.Context(), request("do it"))
	b.mustBe(err, pawl.CodeState, true)
}

// What the repository tells is read once, from the commit that the run starts from,
// and frozen.
func (s *suite) startInstructions(t *testing.T) {
	b := s.bed(t)
	text := pawl.NewBlob([]byte("Use tabs.\n"))
	b.told = pawl.Instructions{Texts: []pawl.Blob{text}, More: 7, Files: []pawl.InstructionFile{
		{Path: "AGENTS.md", Bytes: 10, Blob: text.Hash()}, {Path: "web/AGENTS.md", Folder: "web", Bytes: 99, Cut: 10, Blob: text.Hash()}, {Path: "CLAUDE.md"}}}
	frozen := func(run pawl.RunID) *pawl.RunStarted {
		t.Helper()
		first := b.mustEvents(run, 0)[0].Body.(*pawl.RunStarted)
		if data, err := b.Blob(t.Context(), run, text.Hash()); err != nil || !bytes.Equal(data, text.Data()) {
			t.Errorf("the text of run %s is %q, %v", run, data, err)
		}
		if diff := cmp.Diff(b.told.Files, first.Instructions); diff != "" || first.MoreInstructions != 7 {
			t.Errorf("run %s has %d more; the files, -want +got:\n%s", run, first.MoreInstructions, diff)
		}
		return first
	}
	info := b.mustStart("do it")
	whole := b.mustRest(info.ID)
	frozen(info.ID)
	fork, err := b.Fork(t.Context(), info.ID, whole.Seq-1)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(fork.ID)
	frozen(fork.ID)
	again, err := b.begin(t.Context(), again(known))
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(again.ID)
	if first := frozen(again.ID); first.Base != "known" || !slices.Equal(b.asked, []pawl.CommitHash{"base", "known"}) {
		t.Errorf("the instructions are those of the commits %q, and the last run started from %s", b.asked, first.Base)
	}

	off := request("do it")
	off.Settings.NoInstructions = true
	info, err = b.begin(t.Context(), off)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(info.ID)
	if first := b.mustEvents(info.ID, 0)[0].Body.(*pawl.RunStarted); len(first.Instructions) > 0 || first.MoreInstructions > 0 || len(b.asked) != 2 {
		t.Errorf("turned off, it has %+v", first.Instructions)
	}

	runs := len(b.mustRuns())
	b.untold = pawl.Errorf(pawl.CodeDamaged, "the tree is damaged")
	_, err = b.begin(t.Context(), request("do it"))
	b.mustBe(err, pawl.CodeDamaged, false)
	if got := len(b.mustRuns()); got != runs || !strings.Contains(err.Error(), "read the repository's instructions in commit base: ") {
		t.Errorf("there are %d runs, want %d: %v", got, runs, err)
	}
}

// V-11, V-12
func (s *suite) startNumbers(t *testing.T) {
	b := s.bed(t)
	for _, step := range []struct {
		shown int64 // by branches and task folders
		want  pawl.RunID
	}{{0, "001-do-it"}, {1, "002-do-it"}, {41, "042-do-it"}, {7, "043-do-it"}, {1233, "1234-do-it"}} {
		b.numbers.Store(step.shown)
		info := b.mustStart("Do it!")
		if info.ID != step.want || info.Branch != "pawl/"+string(step.want) {
			t.Errorf("with number %d in use the run is %s on %s, want %s", step.shown, info.ID, info.Branch, step.want)
		}
		b.mustRest(info.ID)
	}
}

func (s *suite) startMany(t *testing.T) {
	const many = 20
	b := s.bed(t)
	begun, letGo := b.holding(pawl.VerbCallModel)
	infos := make([]pawl.RunInfo, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			var err error
			if infos[i], err = b.begin(t.Context(), request("the same")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, info := range infos {
		if info.Task < 1 || info.Task > many || seen[info.Task] {
			t.Errorf("run %s has the number %d", info.ID, info.Task)
		}
		seen[info.Task] = true
	}
	for range many {
		receive(t, begun, "effect") // the runs are active at the same time
	}
	letGo()
	for _, info := range infos {
		if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeComplete {
			t.Errorf("run %s ended %s: %s", info.ID, got.Outcome, got.Reason)
		}
	}
}

func (s *suite) startUnstored(t *testing.T) {
	for _, code := range []pawl.Code{pawl.CodeUnavailable, pawl.CodeInternal} {
		t.Run(string(code), func(t *testing.T) {
			b := s.bed(t)
			b.log.fail(pawl.Errorf(code, "no space left").WithHint("free disk space"))
			_, err := b.begin(t.Context(), request("do it"))
			b.mustBe(err, code, true)
			if runs := b.mustRuns(); len(runs) > 0 {
				t.Errorf("there are runs: %+v", runs)
			}
			b.mustBe(b.Steer(t.Context(), "001-do-it", pawl.Steering{Verb: pawl.SteerCancel}), pawl.CodeNotFound, false)
			b.log.fail(nil)
			info := b.mustStart("do it")
			if info.ID != "001-do-it" {
				t.Errorf("the next run is %s", info.ID)
			}
			if got := b.mustRest(info.ID); got.Outcome != pawl.OutcomeComplete {
				t.Errorf("it ended %s", got.Outcome)
			}
		})
	}
}

func (s *suite) startGivenUp(t *testing.T) {
	b := s.bed(t)
	ctx, cancel := contextThatEnded(t)
	defer cancel()
	b.inspect = ctx.Err()
	if _, err := b.begin(ctx, request("do it")); err == nil {
		t.Error("a request that was given up started a run")
	}
	if runs := b.mustRuns(); len(runs) > 0 {
		t.Errorf("there are runs: %+v", runs)
	}
}
