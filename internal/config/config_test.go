package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/recipe"
)

// repo is a repository with these files.
func repo(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func MustLoad(tb testing.TB, src config.Sources) config.Config {
	tb.Helper()
	c, err := config.Load(src)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func MustSettings(tb testing.TB, src config.Sources) pawl.Settings {
	tb.Helper()
	c := MustLoad(tb, src)
	s, err := c.Settings()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func MustWrite(tb testing.TB, text string) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

// With nothing said, everything is explicit.
func TestDefaults(t *testing.T) {
	got := MustSettings(t, config.Sources{UserFile: filepath.Join(t.TempDir(), "none.yaml"), Repo: repo()})
	const d = pawl.Dollars
	want := pawl.Settings{
		Limits:    pawl.Limits{Money: 10 * d, Tokens: 5_000_000, Time: 8 * time.Hour},
		Session:   pawl.SessionLimits{Money: 2 * d, Tokens: 2_000_000, Time: 45 * time.Minute, Silence: 5 * time.Minute, ToolTime: 15 * time.Minute},
		Room:      pawl.RoomLimits{Processes: 4096, MemoryPercent: 80, FileSize: 10 << 30, Disk: 20 << 30, Files: 2_000_000},
		Recording: pawl.RecordingLimits{MaxFile: 50_000_000, MaxNewFiles: 50_000, MaxNewBytes: 1_000_000_000},
		Models: [3]pawl.ModelChoice{
			{Provider: "anthropic", Name: "claude-haiku-5-5", MaxOutput: 16000, Price: pawl.Price{Input: d / 2, Output: 5 * d / 2, CacheRead: d / 20, CacheWrite: 625_000}}, // D-13
			{Provider: "anthropic", Name: "claude-sonnet-5-5", MaxOutput: 16000, Price: pawl.Price{Input: 2 * d, Output: 10 * d, CacheRead: d / 10, CacheWrite: 5 * d / 2}}, // D-14
			{Provider: "anthropic", Name: "claude-opus-5-5", MaxOutput: 16000, Price: pawl.Price{Input: 4 * d, Output: 20 * d, CacheRead: d / 5, CacheWrite: 5 * d}},        // D-15
		},
		Retry:          pawl.DefaultRetry,
		FallbackAfter:  30 * time.Minute,
		AnswerTime:     24 * time.Hour,
		PrepareTimeout: pawl.DefaultPrepareTime,
		HaltOn:         []pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltIterations, pawl.HaltBudget}, // D-58
		OutputFloor:    1024,
		Evidence:       pawl.EvidenceReview,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	c := MustLoad(t, config.Sources{})
	if c.Recipe != recipe.Default || c.Unsandboxed || c.Script != "" || len(c.Notes) != 0 {
		t.Errorf("got %+v", c)
	}
	for _, v := range c.Explain() {
		if v.Origin != "default" {
			t.Errorf("%s comes from %s", v.Key, v.Origin)
		}
	}
}

// Each layer is stronger than the one before, key by key, and every value knows
// where it comes from.
// A repository makes evidence stricter than the user's own file says, never looser. Variables and flags are
// of the moment, and decide.
func TestEvidenceOfLayers(t *testing.T) {
	for _, tt := range []struct{ repo, user, flag, want, from string }{
		{"", "", "", "review", "default"},
		{"strict", "review", "", "strict", ".pawl/config.yaml:1:11"},
		{"strict", "off", "", "strict", ".pawl/config.yaml:1:11"},
		{"review", "strict", "", "strict", "USER:1:11"},
		{"review", "off", "", "review", ".pawl/config.yaml:1:11"},
		{"", "off", "", "off", "USER:1:11"},
		{"strict", "", "off", "off", "--evidence"},
	} {
		src := config.Sources{}
		files := []string{}
		if tt.repo != "" {
			files = append(files, ".pawl/config.yaml", "evidence: "+tt.repo+"\n")
		}
		src.Repo = repo(files...)
		if tt.user != "" {
			src.UserFile = MustWrite(t, "evidence: "+tt.user+"\n")
		}
		if tt.flag != "" {
			src.Flags = []config.Flag{{Name: "--evidence", Key: "evidence", Value: tt.flag}}
		}
		c := MustLoad(t, src)
		for _, v := range c.Explain() {
			if from := strings.Replace(v.Origin, src.UserFile, "USER", 1); v.Key == "evidence" && (v.Value != tt.want || !strings.HasSuffix(from, tt.from)) {
				t.Errorf("repository %q, user %q, flag %q: %s from %s, want %s from %s", tt.repo, tt.user, tt.flag, v.Value, from, tt.want, tt.from)
			}
		}
	}
}

func TestLayers(t *testing.T) {
	user := MustWrite(t, "limits:\n  tokens: 3000\n  time_minutes: 30\n  iterations: 4\nmodels:\n  medium: openai/gpt-6.1-sol\n")
	src := config.Sources{
		Repo: repo(
			".devteam/task-loop-config.yaml", "task_loop:\n  max_iterations: 2\n  escalation_threshold: 3\n  timeouts:\n    requirements: 90\n",
			".pawl/config.yaml", "recipe: taskloop\nlimits:\n  money_usd: 1.50\n  tokens: 1000\n  time_minutes: 10\n  iterations: 3\ngates:\n  - {name: unit, kind: tests, command: go test ./...}\n"),
		UserFile: user,
		Env: []string{"PAWL_LIMITS_TIME_MINUTES=45", "PAWL_LIMITS_ITERATIONS=5", "PAWL_STUCK_DETECTION=false", "PAWL_RECIPE=", "HOME=/root",
			"PAWL_HALT_ON=budget_exceeded,security_critical", "PAWL_TIMEOUTS_MS_IMPLEMENT=1000", "PAWL_MODEL=large=openai/gpt-6-astra"},
		Flags: []config.Flag{{Name: "--max-iterations", Key: "limits.iterations", Value: "6"}, {Name: "--model", Key: "model", Value: "fast=openai/gpt-6-luna"}},
	}
	c := MustLoad(t, src)
	got := map[string]string{}
	for _, v := range c.Explain() {
		got[v.Key] = v.Value + " | " + strings.Replace(v.Origin, user, "USER", 1)
	}
	for key, want := range map[string]string{
		"recipe":                   "taskloop | .pawl/config.yaml:1:9",
		"limits.money_usd":         "1.50 | .pawl/config.yaml:3:14",
		"limits.tokens":            "3000 | USER:2:11",
		"limits.time_minutes":      "45 | $PAWL_LIMITS_TIME_MINUTES",
		"limits.iterations":        "6 | --max-iterations",
		"escalation_threshold":     "3 | .devteam/task-loop-config.yaml:3:25",
		"timeouts_ms.requirements": "90000 | .devteam/task-loop-config.yaml:5:19",
		"timeouts_ms.implement":    "1000 | $PAWL_TIMEOUTS_MS_IMPLEMENT",
		"stuck_detection":          "false | $PAWL_STUCK_DETECTION",
		"cost_tracking":            "true | default",
		"halt_on":                  "budget_exceeded, security_critical | $PAWL_HALT_ON",
		"gates[0]":                 "unit (tests): go test ./... | .pawl/config.yaml:8:6",
		"models.fast":              "openai/gpt-6-luna, $0.10 in and $0.50 out per million tokens | --model",
		"models.medium":            "openai/gpt-6.1-sol, $2.00 in and $10.00 out per million tokens | USER:6:11",
		"models.large":             "openai/gpt-6-astra, $10.00 in and $50.00 out per million tokens | $PAWL_MODEL",
		"retry.tries":              "3 | default",
		"providers.anthropic":      "https://api.anthropic.com, key in $ANTHROPIC_API_KEY | default",
		"providers.ollama":         "http://127.0.0.1:11434/v1, no key | default",
	} {
		if got[key] != want {
			t.Errorf("%s: got %s, want %s", key, got[key], want)
		}
	}
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	want := pawl.Limits{Money: 1_500_000, Tokens: 3000, Time: 45 * time.Minute, Iterations: 6}
	if diff := cmp.Diff(want, s.Limits); diff != "" {
		t.Error(diff)
	}
	if !s.NoStuckDetection || len(s.HaltOn) != 2 || len(s.Gates) != 1 {
		t.Errorf("got %+v", s)
	}
}

// What concerns loops with children, and who is told of a run's end.
func TestTreeSettings(t *testing.T) {
	user := MustWrite(t, "approval: {threshold: 60}\nparallel: 5\ncallback:\n  url: http://hooks:8080/pawl\n  allow_private: true\n")
	c := MustLoad(t, config.Sources{
		Repo:     repo(config.RepoFile, "approval: {mode: auto, threshold: 10}\nparallel: 2\nreplan_every: 5\n"), // stronger layers replace what it may not say
		UserFile: user,
		Env:      []string{"PAWL_APPROVAL_MODE=confidence_threshold", "PAWL_REPLAN_EVERY=0", "PAWL_CALLBACK_SECRET=hush"},
		Flags: []config.Flag{{Name: "--approval", Key: "approval.mode", Value: "manual"}, {Name: "--approval-threshold", Key: "approval.threshold", Value: "70"},
			{Name: "--parallel", Key: "parallel", Value: "3"}},
	})
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	if s.Approval != "manual" || s.ApprovalThreshold != 70 || s.Parallel != 3 || s.ReplanEvery == nil || *s.ReplanEvery != 0 {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff(&pawl.Callback{URL: "http://hooks:8080/pawl", AllowPrivate: true}, s.Callback); diff != "" {
		t.Error(diff)
	}
	got := map[string]string{}
	for _, v := range c.Explain() {
		got[v.Key] = v.Value + " | " + strings.Replace(v.Origin, user, "USER", 1)
		if strings.Contains(v.Value, "hush") {
			t.Errorf("%s tells the secret", v.Key)
		}
	}
	for key, want := range map[string]string{
		"approval.mode":          "manual | --approval",
		"approval.threshold":     "70 | --approval-threshold",
		"parallel":               "3 | --parallel",
		"replan_every":           "never | $PAWL_REPLAN_EVERY",
		"callback.url":           "http://hooks:8080/pawl | USER:4:8",
		"callback.allow_private": "true | USER:5:18",
	} {
		if got[key] != want {
			t.Errorf("%s: got %s, want %s", key, got[key], want)
		}
	}
	s = MustSettings(t, config.Sources{Flags: []config.Flag{{Name: "--callback", Key: "callback.url", Value: "http://10.1.2.3/x"},
		{Name: "--callback-private", Key: "callback.allow_private", Value: "true"}}})
	if diff := cmp.Diff(&pawl.Callback{URL: "http://10.1.2.3/x", AllowPrivate: true}, s.Callback); diff != "" {
		t.Error(diff)
	}
}

// V-77: what a run asks reaches a person by the command and the address of their
// own settings.
func TestAnnounce(t *testing.T) {
	user := MustWrite(t, "announce: {command: notify-send pawl}\n")
	s := MustSettings(t, config.Sources{UserFile: user, Env: []string{"PAWL_ANNOUNCE_URL=http://127.0.0.1:9/x", "PAWL_ANNOUNCE_ALLOW_PRIVATE=true"}})
	want := &pawl.Announcing{Command: "notify-send pawl", Callback: &pawl.Callback{URL: "http://127.0.0.1:9/x", AllowPrivate: true}}
	if diff := cmp.Diff(want, s.Announce); diff != "" {
		t.Error(diff)
	}
	s = MustSettings(t, config.Sources{UserFile: user, Flags: []config.Flag{{Name: "--announce", Key: "announce.command", Value: "mine"}}})
	if diff := cmp.Diff(&pawl.Announcing{Command: "mine"}, s.Announce); diff != "" {
		t.Error(diff)
	}
	if s = MustSettings(t, config.Sources{}); s.Announce != nil {
		t.Errorf("somebody is told: %+v", s.Announce)
	}
}

// The task loop's own file is read as its document shows it.
func TestTaskLoopFile(t *testing.T) {
	const file = `task_loop:
  max_iterations: 7
  escalation_threshold: 4
  stuck_detection: false
  cost_tracking: false

  timeouts:
    implementation: 600  # 10 minutes
    quality_gates: 240
    requirements: 30

  halt_conditions:
    - security_critical
    - budget_exceeded
`
	for _, name := range []string{config.TaskLoopFile, config.RepoFile} {
		t.Run(name, func(t *testing.T) {
			c := MustLoad(t, config.Sources{Repo: repo(name, file)})
			s, err := c.Settings()
			if err != nil {
				t.Fatal(err)
			}
			if s.Limits.Iterations != 7 || !s.NoStuckDetection || !s.NoCost { // D-51 D-53 D-54
				t.Errorf("got %+v", s)
			}
			if diff := cmp.Diff([]pawl.HaltCondition{pawl.HaltSecurity, pawl.HaltBudget}, s.HaltOn); diff != "" { // D-58
				t.Error(diff)
			}
			r, err := recipe.Load("taskloop")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Apply(&r); err != nil {
				t.Fatal(err)
			}
			k := r.Kinds[0]
			if k.Iterations != 7 || k.Ladder.Stuck != 0 || k.Steps[1].Timeout != 10*time.Minute ||
				k.Gates[0].Timeout != 4*time.Minute || k.Gates[1].Timeout != 30*time.Second { // D-55 D-56 D-57
				t.Errorf("got %+v", k)
			}
			if diff := cmp.Diff([]pawl.Rung{{Tier: 1, Failures: 4}, {Tier: 2, Failures: 4}, {Tier: 3, Failures: 4}}, k.Ladder.Rungs); diff != "" { // D-52
				t.Error(diff)
			}
			if err := recipe.Validate(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// D-B15: the other shape of that file is passed over, with a note.
func TestOtherShape(t *testing.T) {
	c := MustLoad(t, config.Sources{Repo: repo(config.TaskLoopFile,
		"loop_settings:\n  max_iterations: 25\nmodel_escalation: {enabled: true}\ntask_loop:\n  max_iterations: 8\n  eco_mode: false\n")})
	want := []string{
		".devteam/task-loop-config.yaml:6:3: eco_mode is not a setting of Pawl and was passed over",
		".devteam/task-loop-config.yaml:1:1: loop_settings is not a setting of Pawl and was passed over",
		".devteam/task-loop-config.yaml:3:1: model_escalation is not a setting of Pawl and was passed over",
	}
	if diff := cmp.Diff(want, c.Notes); diff != "" {
		t.Error(diff)
	}
	if s, err := c.Settings(); err != nil || s.Limits.Iterations != 8 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestApply(t *testing.T) {
	load := func(pairs ...string) (pawl.Recipe, error) {
		r, err := recipe.Load("taskloop")
		if err != nil {
			t.Fatal(err)
		}
		var env []string
		env = append(env, pairs...)
		c := MustLoad(t, config.Sources{Env: env})
		return r, c.Apply(&r)
	}
	t.Run("nothing said", func(t *testing.T) {
		got, err := load()
		want, _ := recipe.Load("taskloop")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("the last rung keeps its own patience", func(t *testing.T) { // D-18 D-B01
		got, err := load("PAWL_ESCALATION_THRESHOLD=1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]pawl.Rung{{Tier: 1, Failures: 1}, {Tier: 2, Failures: 1}, {Tier: 3, Failures: 3}}, got.Kinds[0].Ladder.Rungs); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a time for nothing", func(t *testing.T) {
		_, err := load("PAWL_TIMEOUTS_MS_IMPLEMENTS=5")
		want := "$PAWL_TIMEOUTS_MS_IMPLEMENTS: timeouts_ms.implements: recipe taskloop has no step or gate implements (did you mean implement?); it has assess, implement, quality, requirements"
		if err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a time for what takes learnings from an attempt", func(t *testing.T) {
		r, err := recipe.Load("loom")
		if err != nil {
			t.Fatal(err)
		}
		c := MustLoad(t, config.Sources{Env: []string{"PAWL_TIMEOUTS_MS_EXTRACT=5000"}})
		if err := c.Apply(&r); err != nil {
			t.Fatal(err)
		}
		if got := r.Kind("subtask").Extract.Timeout; got != 5*time.Second {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a recipe without a limit gets the default", func(t *testing.T) {
		c := MustLoad(t, config.Sources{})
		r := pawl.Recipe{Start: "a", Kinds: []pawl.LoopKind{{Name: "a"}}}
		if err := c.Apply(&r); err != nil || r.Kinds[0].Iterations != 10 {
			t.Errorf("got %d, %v", r.Kinds[0].Iterations, err)
		}
	})
	t.Run("where the root loop has children the limit is on them", func(t *testing.T) {
		for _, test := range []struct {
			env                 []string
			limit, iterations   int // of the recipe
			wantLimit, wantIter int
		}{
			{nil, 50, 1, 50, 1},
			{[]string{"PAWL_LIMITS_ITERATIONS=7"}, 50, 1, 7, 1},
			{[]string{"PAWL_LIMITS_ITERATIONS=700"}, 50, 1, 700, 1},
			{[]string{"PAWL_TASK_LOOP_MAX_ITERATIONS=7"}, 0, 3, 7, 3},
			{nil, 0, 0, 0, 10},
		} {
			c := MustLoad(t, config.Sources{Env: test.env})
			r := pawl.Recipe{Start: "a", Kinds: []pawl.LoopKind{{Name: "a", Iterations: test.iterations, Children: &pawl.Children{Kind: "b", Limit: test.limit}}, {Name: "b", Iterations: 4}}}
			if err := c.Apply(&r); err != nil {
				t.Fatal(err)
			}
			if k := r.Kinds[0]; k.Children.Limit != test.wantLimit || k.Iterations != test.wantIter || r.Kinds[1].Iterations != 4 {
				t.Errorf("%v: limit %d, iterations %d", test.env, k.Children.Limit, k.Iterations)
			}
		}
	})
	t.Run("a root that begins anew with its children has its iterations limited", func(t *testing.T) {
		c := MustLoad(t, config.Sources{Env: []string{"PAWL_LIMITS_ITERATIONS=7"}})
		r := pawl.Recipe{Start: "a", Kinds: []pawl.LoopKind{{Name: "a", Iterations: 50, Children: &pawl.Children{Kind: "b", Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent}}, {Name: "b"}}}
		if err := c.Apply(&r); err != nil {
			t.Fatal(err)
		}
		if k := r.Kinds[0]; k.Iterations != 7 || k.Children.Limit != 0 {
			t.Errorf("iterations %d, limit on children %d", k.Iterations, k.Children.Limit)
		}
	})
	t.Run("a recipe's own limit stays", func(t *testing.T) {
		c := MustLoad(t, config.Sources{})
		r := pawl.Recipe{Start: "a", Kinds: []pawl.LoopKind{{Name: "a", Iterations: 25}}}
		if err := c.Apply(&r); err != nil || r.Kinds[0].Iterations != 25 {
			t.Errorf("got %d, %v", r.Kinds[0].Iterations, err)
		}
	})
}

func TestModels(t *testing.T) {
	const d = pawl.Dollars
	dear := pawl.Price{Input: 30 * d, Output: 180 * d, CacheRead: 30 * d, CacheWrite: 30 * d}
	flag := func(values ...string) config.Sources {
		var src config.Sources
		for _, v := range values {
			src.Flags = append(src.Flags, config.Flag{Name: "--model", Key: "model", Value: v})
		}
		return src
	}
	t.Run("one for all tiers", func(t *testing.T) {
		s := MustSettings(t, flag("anthropic/claude-opus-4-5-20251101"))
		for _, m := range s.Models {
			if m.Name != "claude-opus-4-5-20251101" || m.Price.Input != 5*d || m.PriceGuess || m.MaxOutput != 16000 {
				t.Errorf("got %+v", m)
			}
		}
	})
	t.Run("unknown ones count as the dearest", func(t *testing.T) {
		s := MustSettings(t, flag("openai-chat/meta/llama-9", "fast=openai-chat/gpt-6.1-terra"))
		if m := s.Models[2]; m.Name != "meta/llama-9" || m.Price != dear || !m.PriceGuess || m.MaxOutput != 8192 {
			t.Errorf("got %+v", m)
		}
		if m := s.Models[0]; m.Price.Input != d || m.PriceGuess {
			t.Errorf("got %+v", m)
		}
	})
	t.Run("names are not cut short", func(t *testing.T) {
		for _, name := range []string{"gpt-5-minimal", "gpt-5-", "claude-opus-4-5-thinking", "GPT-5"} {
			if m := MustSettings(t, flag("openai/"+name)).Models[0]; !m.PriceGuess {
				t.Errorf("%s is taken for a known model", name)
			}
		}
	})
	t.Run("the scripted one is free", func(t *testing.T) {
		c := MustLoad(t, flag("script:testdata/answers.yaml"))
		s, err := c.Settings()
		if err != nil {
			t.Fatal(err)
		}
		if m := s.Models[1]; c.Script != "testdata/answers.yaml" || m.Provider != "script" || m.Price != (pawl.Price{}) || m.PriceGuess {
			t.Errorf("got %q, %+v", c.Script, m)
		}
	})
	t.Run("with a price of one's own", func(t *testing.T) {
		user := MustWrite(t, `models:
  fast: {provider: openai-chat, name: local, max_output: 4096, price: {input: 0.2, output: 1}}
  medium: {max_output: 2048}
  large: {provider: script, price: {input: 1, output: 2, cache_read: 0, cache_write: 0}}
providers:
  openai-chat: {base_url: "http://localhost:11434/v1", key_env: LOCAL_KEY}
  script: {file: a.yaml}
`)
		c := MustLoad(t, config.Sources{UserFile: user})
		s, err := c.Settings()
		if err != nil {
			t.Fatal(err)
		}
		want := [3]pawl.ModelChoice{
			{Provider: "openai-chat", Name: "local", MaxOutput: 4096, Price: pawl.Price{Input: d / 5, Output: d, CacheRead: d / 5, CacheWrite: d / 4}},
			{Provider: "anthropic", Name: "claude-sonnet-5-5", MaxOutput: 2048, Price: pawl.Price{Input: 2 * d, Output: 10 * d, CacheRead: d / 10, CacheWrite: 5 * d / 2}},
			{Provider: "script", Name: "script", MaxOutput: 16000, Price: pawl.Price{Input: d, Output: 2 * d}},
		}
		if diff := cmp.Diff(want, s.Models); diff != "" {
			t.Error(diff)
		}
		if p := c.Provider("openai-chat"); p.BaseURL != "http://localhost:11434/v1" || p.KeyEnv != "LOCAL_KEY" {
			t.Errorf("got %+v", p)
		}
		// A stronger layer that names another model does not keep the weaker one's price.
		c = MustLoad(t, config.Sources{UserFile: user, Env: []string{"PAWL_MODELS_FAST=openai-chat/other"}})
		if s, err = c.Settings(); err != nil || !s.Models[0].PriceGuess || s.Models[0].MaxOutput != 8192 {
			t.Errorf("got %+v, %v", s.Models[0], err)
		}
	})
}

// A list for a tier is its model and its fallbacks. A later layer that names a model replaces all of them.
func TestFallbacks(t *testing.T) {
	const list = "models:\n  large:\n    - claude-code/opus\n    - {provider: anthropic, name: claude-opus-5-5, max_output: 2000}\n    - openai/gpt-5\n"
	for _, c := range []struct {
		name, user string
		env        []string
		flags      []config.Flag
		want       string // of tier 3, with the limits of output
		fast       string
	}{
		{"none", "", nil, nil, "anthropic/claude-opus-5-5 16000", "anthropic/claude-haiku-5-5"},
		{"list", list, nil, nil, "claude-code/opus 32000, anthropic/claude-opus-5-5 2000, openai/gpt-5 16000", "anthropic/claude-haiku-5-5"},
		{"list of one", "models: {large: [openai/gpt-5]}\n", nil, nil, "openai/gpt-5 16000", "anthropic/claude-haiku-5-5"},
		{"variable over list", list, []string{"PAWL_MODELS_LARGE=openai/a, ollama/b"}, nil, "openai/a 8192, ollama/b 8192", "anthropic/claude-haiku-5-5"},
		{"variable for a part", list, []string{"PAWL_MODELS_LARGE=openai/a,ollama/b", "PAWL_MODELS_LARGE_MAX_OUTPUT=3000"}, nil, "openai/a 3000, ollama/b 8192", "anthropic/claude-haiku-5-5"},
		{"one over list", list, []string{"PAWL_MODELS_LARGE=openai/a"}, nil, "openai/a 8192", "anthropic/claude-haiku-5-5"},
		{"mapping over list", list, []string{"PAWL_MODELS_LARGE_PROVIDER=openai", "PAWL_MODELS_LARGE_NAME=a"}, nil, "openai/a 8192", "anthropic/claude-haiku-5-5"},
		{"part over list", list, []string{"PAWL_MODELS_LARGE_MAX_OUTPUT=3000"}, nil, "claude-code/opus 3000, anthropic/claude-opus-5-5 2000, openai/gpt-5 16000", "anthropic/claude-haiku-5-5"},
		{"flag for a tier", list, nil, []config.Flag{{Name: "--model", Key: "model", Value: "large=openai/a,codex/b"}}, "openai/a 8192, codex/b 32000", "anthropic/claude-haiku-5-5"},
		{"flag for all", list, nil, []config.Flag{{Name: "--model", Key: "model", Value: "openai/a,codex/b"}}, "openai/a 8192, codex/b 32000", "openai/a, codex/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := config.Sources{Env: c.env, Flags: c.flags}
			if c.user != "" {
				src.UserFile = MustWrite(t, c.user)
			}
			s := MustSettings(t, src)
			var got []string
			for i := range s.Tier(3) {
				got = append(got, fmt.Sprintf("%s %d", s.Tier(3)[i], s.Model(3, i).MaxOutput))
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("tier 3 has %s, want %s", got, c.want)
			}
			loaded := MustLoad(t, src)
			for _, v := range loaded.Explain() {
				if len(got) > 1 && strings.HasPrefix(v.Key, "models.large") && v.Origin == "default" {
					t.Errorf("%s comes from nowhere", v.Key)
				}
			}
			if got := strings.Join(s.Tier(1), ", "); got != c.fast {
				t.Errorf("tier 1 has %s, want %s", got, c.fast)
			}
			if n := len(s.AllModels()); n != len(s.Tier(1))+len(s.Tier(2))+len(s.Tier(3)) {
				t.Errorf("there are %d models", n)
			}
		})
	}
}

func TestComplexity(t *testing.T) { // D-12 D-B14: 0 is a score
	for _, n := range []string{"0", "14"} {
		s := MustSettings(t, config.Sources{Flags: []config.Flag{{Name: "--complexity", Key: "complexity", Value: n}}})
		if s.Complexity == nil || (*s.Complexity == 0) != (n == "0") {
			t.Errorf("%s: got %v", n, s.Complexity)
		}
	}
}

// One's own file may be a link, a repository's may not.
func TestLinks(t *testing.T) {
	user := MustWrite(t, "recipe: taskloop")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".pawl"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, ".pawl", "config.yaml")
	if err := os.Symlink(user, link); err != nil {
		t.Skip("symbolic links cannot be made here: ", err)
	}
	if c := MustLoad(t, config.Sources{UserFile: link}); c.Recipe != "taskloop" {
		t.Errorf("got %s", c.Recipe)
	}
	_, err := config.Load(config.Sources{Repo: os.DirFS(dir)})
	if want := "read .pawl/config.yaml: .pawl/config.yaml is a symbolic link, which is not followed here"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestVendorVariables(t *testing.T) {
	c, err := config.Load(config.Sources{Env: []string{
		"OPENAI_BASE_URL=http://localhost:1/v1", "ANTHROPIC_BASE_URL=http://localhost:2", "PAWL_PROVIDERS_OPENAI_BASE_URL=http://localhost:3/v1",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for provider, want := range map[string]string{
		"anthropic": "http://localhost:2", "openai-chat": "http://localhost:1/v1", "openai": "http://localhost:3/v1",
	} {
		if got := c.Provider(provider).BaseURL; got != want {
			t.Errorf("%s is at %q, want %q", provider, got, want)
		}
	}
}

// How much is done at once is the user's to say, and explained.
func TestMachine(t *testing.T) {
	user := MustWrite(t, "machine: {places: 40, accounts: {anthropic: 20}, heavy: 3}\n")
	c := MustLoad(t, config.Sources{UserFile: user, Env: []string{"PAWL_MACHINE_HEAVY=6", "PAWL_MACHINE_ACCOUNTS_OPENAI_CHAT=2"}})
	got := c.Machine()
	want := config.Machine{Machine: 40, Calls: 10, Accounts: map[string]int{"anthropic": 20, "openai-chat": 2}, NoNet: 10, Net: 5, Heavy: 6}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	origins := map[string]string{}
	for _, v := range c.Explain() {
		origins[v.Key] = v.Value + " | " + strings.Replace(v.Origin, user, "USER", 1)
	}
	for key, want := range map[string]string{
		"machine.places":               "40 | USER:1:19",
		"machine.calls":                "10 | default",
		"machine.accounts.anthropic":   "20 | USER:1:45",
		"machine.accounts.openai-chat": "2 | $PAWL_MACHINE_ACCOUNTS_OPENAI_CHAT",
		"machine.heavy":                "6 | $PAWL_MACHINE_HEAVY",
	} {
		if origins[key] != want {
			t.Errorf("%s is %s, want %s", key, origins[key], want)
		}
	}
}

// The user says how much space a disk has to have for a run to go on. F-18
func TestMinFree(t *testing.T) {
	user := MustWrite(t, "machine: {min_free: 1GB}\n")
	for name, test := range map[string]struct {
		src  config.Sources
		want pawl.Bytes
	}{
		"Default":  {config.Sources{}, 64_000_000},
		"File":     {config.Sources{UserFile: user}, 1_000_000_000},
		"Variable": {config.Sources{UserFile: user, Env: []string{"PAWL_MACHINE_MIN_FREE=0MB"}}, 0},
	} {
		c := MustLoad(t, test.src)
		if c.MinFree() != test.want {
			t.Errorf("%s: %s, want %s", name, c.MinFree(), test.want)
		}
	}
}

// The user says how much disk a cache may take.
func TestCacheSize(t *testing.T) {
	user := MustWrite(t, "cache: {size: 2GB}\n")
	for name, test := range map[string]struct {
		src    config.Sources
		size   int64
		shown  string
		origin string
	}{
		"Default":  {config.Sources{}, 10_000_000_000, "10GB", "default"},
		"File":     {config.Sources{UserFile: user}, 2_000_000_000, "2GB", user + ":1:15"},
		"Variable": {config.Sources{UserFile: user, Env: []string{"PAWL_CACHE_SIZE=1500MB"}}, 1_500_000_000, "1500MB", "$PAWL_CACHE_SIZE"},
		"Least":    {config.Sources{Flags: []config.Flag{{Name: "--size", Key: "cache.size", Value: "1MB"}}}, 1_000_000, "1MB", "--size"},
	} {
		c := MustLoad(t, test.src)
		if c.CacheSize() != test.size {
			t.Errorf("%s: %d bytes, want %d", name, c.CacheSize(), test.size)
		}
		for _, v := range c.Explain() {
			if v.Key == "cache.size" && (v.Value != test.shown || v.Origin != test.origin) {
				t.Errorf("%s: it is %s from %s, want %s from %s", name, v.Value, v.Origin, test.shown, test.origin)
			}
		}
	}
}

// The limits of an agent's session come from all layers. A repository may lower them.
func TestSessionLimits(t *testing.T) {
	lower := repo(config.RepoFile, "limits: {session: {money_usd: 0.50, silence_ms: 60000}}\n")
	user := MustWrite(t, "limits: {session: {tokens: 5000000, time_minutes: 90}}\n")
	c := MustLoad(t, config.Sources{Repo: lower, UserFile: user, Env: []string{"PAWL_LIMITS_SESSION_TOOL_TIME_MS=3600000"}})
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	want := pawl.SessionLimits{Money: 500_000, Tokens: 5_000_000, Time: 90 * time.Minute, Silence: time.Minute, ToolTime: time.Hour}
	if diff := cmp.Diff(want, s.Session); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got := map[string]string{}
	for _, v := range c.Explain() {
		got[v.Key] = v.Value + " | " + strings.Replace(v.Origin, user, "USER", 1)
	}
	for key, want := range map[string]string{
		"limits.session.money_usd":    "0.50 | .pawl/config.yaml:1:31",
		"limits.session.tokens":       "5000000 | USER:1:28",
		"limits.session.time_minutes": "90 | USER:1:51",
		"limits.session.silence_ms":   "60000 | .pawl/config.yaml:1:49",
		"limits.session.tool_time_ms": "3600000 | $PAWL_LIMITS_SESSION_TOOL_TIME_MS",
	} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
}

// The limits of rooms and recordings come from all layers. A repository may lower them.
func TestRoomLimits(t *testing.T) {
	lower := repo(config.RepoFile, "limits: {room: {processes: 100, memory: 4GiB, file_size: 1GiB, cpu_seconds: 60}}\nrecording: {max_file: 5MB, max_new_files: 10}\n")
	user := MustWrite(t, "limits: {room: {processes: 9000, disk: 100GiB, files: 5000000}}\nrecording: {max_new_bytes: 5GB}\n")
	c := MustLoad(t, config.Sources{Repo: lower, UserFile: user, Env: []string{"PAWL_LIMITS_ROOM_FILE_SIZE=30GiB"},
		Flags: []config.Flag{{Name: "--max-disk", Key: "limits.room.disk", Value: "200GiB"}}})
	s, err := c.Settings()
	if err != nil {
		t.Fatal(err)
	}
	// A size that the repository gives is no way around the share of the machine.
	room := pawl.RoomLimits{Processes: 9000, Memory: 4 << 30, MemoryPercent: 80, FileSize: 30 << 30, Disk: 200 << 30, Files: 5_000_000, CPU: time.Minute}
	if diff := cmp.Diff(room, s.Room); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	recording := pawl.RecordingLimits{MaxFile: 5_000_000, MaxNewFiles: 10, MaxNewBytes: 5_000_000_000}
	if diff := cmp.Diff(recording, s.Recording); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got := map[string]string{}
	for _, v := range c.Explain() {
		got[v.Key] = v.Value + " | " + strings.Replace(v.Origin, user, "USER", 1)
	}
	for key, want := range map[string]string{
		"limits.room.processes":   "9000 | USER:1:28",
		"limits.room.memory":      "4GiB, at most 80% | .pawl/config.yaml:1:41",
		"limits.room.file_size":   "30GiB | $PAWL_LIMITS_ROOM_FILE_SIZE",
		"limits.room.disk":        "200GiB | --max-disk",
		"limits.room.files":       "5000000 | USER:1:55",
		"limits.room.cpu_seconds": "60 | .pawl/config.yaml:1:77",
		"recording.max_file":      "5MB | .pawl/config.yaml:2:23",
		"recording.max_new_files": "10 | .pawl/config.yaml:2:43",
		"recording.max_new_bytes": "5GB | USER:2:28",
	} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
	// The user's own size may be more than the default share, and a share replaces it.
	for memory, want := range map[string]pawl.RoomLimits{"64GiB": {Memory: 64 << 30}, "95%": {MemoryPercent: 95}} {
		s := MustSettings(t, config.Sources{Repo: lower, Env: []string{"PAWL_LIMITS_ROOM_MEMORY=" + memory}})
		if s.Room.Memory != want.Memory || s.Room.MemoryPercent != want.MemoryPercent {
			t.Errorf("memory: %s gives %+v", memory, s.Room)
		}
	}
}

// The sandbox is a word or a mapping. The user says who commands run as and which system
// calls they may make.
func TestSandbox(t *testing.T) {
	user := MustWrite(t, "sandbox: {mode: off, uid: 70000, profile: wide}\n")
	for name, test := range map[string]struct {
		src         config.Sources
		unsandboxed bool
		want        config.Sandbox
		origin      string
	}{
		"Default": {config.Sources{}, false, config.Sandbox{Profile: "default"}, "default"},
		"Mapping": {config.Sources{UserFile: user}, true, config.Sandbox{UID: 70000, Profile: "wide"}, user + ":1:17"},
		"Word":    {config.Sources{UserFile: user, Env: []string{"PAWL_SANDBOX=on"}}, false, config.Sandbox{UID: 70000, Profile: "wide"}, "$PAWL_SANDBOX"},
		"Variables": {config.Sources{Env: []string{"PAWL_SANDBOX_UID=65000", "PAWL_SANDBOX=off", "PAWL_SANDBOX_PROFILE=wide"}}, true,
			config.Sandbox{UID: 65000, Profile: "wide"}, "$PAWL_SANDBOX"},
		"Repository": {config.Sources{Repo: repo(config.RepoFile, "sandbox: on\n")}, false, config.Sandbox{Profile: "default"}, ".pawl/config.yaml:1:10"},
	} {
		c := MustLoad(t, test.src)
		if c.Unsandboxed != test.unsandboxed || c.Sandbox() != test.want {
			t.Errorf("%s: unsandboxed %v, %+v", name, c.Unsandboxed, c.Sandbox())
		}
		for _, v := range c.Explain() {
			if v.Key == "sandbox" && v.Origin != test.origin {
				t.Errorf("%s: it comes from %s, want %s", name, v.Origin, test.origin)
			}
		}
	}
}

// The repository's instructions are shown unless somebody turns them off; who is stronger
// decides.
func TestInstructions(t *testing.T) {
	off := repo(config.RepoFile, "instructions: off\n")
	for name, test := range map[string]struct {
		src config.Sources
		off bool
	}{
		"Default":    {config.Sources{}, false},
		"Repository": {config.Sources{Repo: off}, true},
		"User":       {config.Sources{Env: []string{"PAWL_INSTRUCTIONS=off"}}, true},
		"Both":       {config.Sources{Repo: off, Env: []string{"PAWL_INSTRUCTIONS=on"}}, false},
	} {
		c := MustLoad(t, test.src)
		if s, err := c.Settings(); err != nil || s.NoInstructions != test.off {
			t.Errorf("%s: turned off %t, %v; want %t", name, s.NoInstructions, err, test.off)
		}
	}
	if _, err := config.Load(config.Sources{Repo: repo(config.RepoFile, "instructions: some\n")}); err == nil || !strings.Contains(err.Error(), "want one of on, off") {
		t.Errorf("the error is %v", err)
	}
}

// PAWL_LOCAL=0 asks for nothing.
func TestIsLocal(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true, "yes": true} {
		if got := config.IsLocal(value); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
}
