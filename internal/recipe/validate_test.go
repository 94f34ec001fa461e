package recipe_test

import (
	"fmt"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/recipe"
)

func mustParse(tb testing.TB, text string) pawl.Recipe {
	tb.Helper()
	r, err := recipe.Parse("x", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// A recipe that was not read from a file can have mistakes that no file can express.
func TestMistakesInValues(t *testing.T) {
	for want, m := range map[string]struct {
		in     string
		change func(r *pawl.Recipe, k *pawl.LoopKind) // k is the first kind
	}{
		`"A b" cannot be the name of a recipe: want lower-case letters, digits, - and _`: {good, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Name = "A b" }},
		"tiers: want the names of tiers 1, 2 and 3, got 2":                               {good, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Tiers = []string{"a", "b"} }},
		`tiers[2]: two tiers are called "a"`:                                             {good, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Tiers = []string{"a", "b", "a"} }},
		"kinds: a recipe needs at least one kind of loop":                                {good, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds = nil }},
		"start: is missing: which kind is the root loop? known here: task":               {good, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Start = "" }},
		"kinds.leaf.steps: a kind needs at least one step, or a gate":                    {parent, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds[1].Steps = nil }},
		"kinds.plan.steps[0].prompt: a step needs a prompt or a repeat":                  {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[0].Prompt = "" }},
		"kinds.plan.steps[0].timeout_ms: is negative":                                    {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[0].Timeout = -1 }},
		"kinds.plan.steps[0].parallel: only a step with for_each runs several times":     {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[0].Parallel = 2 }},
		"kinds.plan.steps[1].repeat.until: is empty: which decision ends the group?":     {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[1].Repeat.Until = nil }},
		"kinds.plan.steps[1].repeat.steps: the group has no steps":                       {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[1].Repeat.Steps = nil }},
		"kinds.plan.steps[1].repeat.on_max: there is no way to continue \"stop\"; known here: continue, fail, ask": {parent,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Steps[1].Repeat.OnMax = "stop" }},
		"kinds.plan.steps[1].repeat.steps[0].repeat: a group that repeats cannot hold another one": {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Steps[1].Repeat.Steps[0] = pawl.Step{Name: "ask", Repeat: &pawl.Repeat{}}
		}},
		"kinds.leaf.final_gates: final gates judge what children did, and the kind has none; use gates": {parent, func(r *pawl.Recipe, _ *pawl.LoopKind) {
			r.Kinds[1].FinalGates = []pawl.Stage{{Name: "last", Human: true}}
		}},
		`kinds.leaf.steps[0].name: want a name of lower-case letters, digits, - and _, got "Do it"`:   {parent, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds[1].Steps[0].Name = "Do it" }},
		"kinds.leaf.steps[0].name: start is where a gate's route begins and cannot be a step or gate": {parent, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds[1].Steps[0].Name = "start" }},
		"kinds.leaf.steps[0].tier_from: the step has a tier already":                                  {tree, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds[1].Steps[0].Tier = 2 }},
		"kinds.leaf.steps[0].required: the step has no output that could be required":                 {parent, func(r *pawl.Recipe, _ *pawl.LoopKind) { r.Kinds[1].Steps[0].Required = true }},
		"kinds.plan.steps[0].check.demands: is missing: which decision?": {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Steps[0].Check.Demands, k.Steps[1].Repeat.Until = "", []string{"NEEDS_CLARIFICATION"}
		}},
		"kinds.plan.steps[1].repeat.steps[1].for_each: step note has no output to take entries from": {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			group := k.Steps[1].Repeat
			group.Steps = append([]pawl.Step{{Name: "note", Prompt: "note.md"}}, pawl.Step{Name: "each", Prompt: "each.md", ForEach: "note.decisions"})
		}},
		"kinds.task.complexity.bands[1].tier: a harder task would start on a lower tier: 1 comes after 2": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Complexity.Tiers[0].Tier, k.Complexity.Tiers[1].Tier = 2, 1
		}},
		"kinds.task.complexity.bands[1].max: scores must rise: 4 comes after 4": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Complexity.Tiers = []pawl.Band{{Max: 4, Tier: 1}, {Max: 4, Tier: 2}, {Max: 14, Tier: 2}}
		}},
		`kinds.plan.children.from: there is no step "work"; known here: plan, ask, note, talk`: {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.From = "work" }},
		`kinds.task.gates[0].commands[0]: there is no kind of command gate "smell"; known here: all, tests, types, lint, security, format`: {good,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Gates[0].Commands = []string{"smell"} }},
		"kinds.plan.children.replan.prompt: is missing": {parent, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.Replan.Prompt = "" }},
		"kinds.plan.children.admit: there is no way to begin \"late\"; known here: ready, eager": {parent,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.Admit = "late" }},
		"kinds.plan.children.land: there is no way to land \"some\"; known here: approved, all, best": {parent,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.Land = "some" }},
		"kinds.plan.children.on_failure: there is no way to continue \"panic\"; known here: continue, block, stop, restart_parent": {parent,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.OnFailure = "panic" }},
		"kinds.plan.children.monitor.BLOCKED[0]: there is no recovery \"sleep\"; known here: gather, revise, rollback, ask": {batched,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Children.Monitor["BLOCKED"] = []string{"sleep"} }},
		"kinds.task.monitor.REGRESSING[0]: there is no recovery \"gather\"; known here: rollback, escalate": {monitored,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Monitor["REGRESSING"] = []string{"gather"} }},
		"kinds.task.monitor: there is no health \"STALLED\"; known here: REGRESSING, FLIP-FLOPPING": {monitored,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Monitor["STALLED"] = []string{"rollback"} }},
		"kinds.task.complexity.bands: has no bands":     {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Complexity.Tiers = nil }},
		"kinds.task.gates[0].timeout_ms: is negative":   {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Gates[0].Timeout = -1 }},
		"kinds.task.gates[1].review.role: is missing":   {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Gates[1].Review.Role = "" }},
		"kinds.task.gates[1].review.prompt: is missing": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Gates[1].Review.Prompt = "" }},
		"kinds.task.gates[1].on.skip: only revise, retry and fail lead somewhere": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Gates[1].On[pawl.VerdictSkip] = pawl.Route{From: "start", Max: 1, Then: "fail"}
		}},
		"kinds.task.gates[0].on.retry: commands say fail; a review, a person or a check can say retry": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Gates[0].On = map[pawl.Verdict]pawl.Route{pawl.VerdictRetry: {From: "start", Max: 1, Then: "fail"}}
		}},
		"kinds.task.gates[0].commands[1]: all stands for every kind and must be alone": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Gates[0].Commands = []string{"lint", "*"} }},
		"kinds.task.ladder.council: a council needs the prompts propose and ballot":    {good, func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Ladder.Council.Ballot = "" }},
		"kinds.task.ladder.council.lenses: a council has 2 to 9 members, not 10": {good, func(_ *pawl.Recipe, k *pawl.LoopKind) {
			k.Ladder.Council.Lenses = nil
			for i := range 10 {
				k.Ladder.Council.Lenses = append(k.Ladder.Council.Lenses, pawl.Lens{Name: fmt.Sprint("member ", i), Focus: "All."})
			}
		}},
		"kinds.task.ladder.then: there is no way to continue \"panic\"; known here: blocked, fail, replan, ask": {good,
			func(_ *pawl.Recipe, k *pawl.LoopKind) { k.Ladder.Then = "panic" }},
	} {
		r := mustParse(t, m.in)
		m.change(&r, &r.Kinds[0])
		if err := recipe.Validate(r); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// The minimum and the maximum of each number are accepted, and nothing beyond them.
func TestBoundsOfNumbers(t *testing.T) {
	for name, n := range map[string]struct {
		in          string
		least, most int
		set         func(r *pawl.Recipe, k *pawl.LoopKind, n int)
	}{
		"loops":                 {good, 0, 500, func(r *pawl.Recipe, _ *pawl.LoopKind, n int) { r.Loops = n }},
		"iterations":            {good, 0, 1000, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Iterations = n }},
		"priority":              {good, 0, 1000, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Priority = n }},
		"concurrent":            {good, 0, 500, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Concurrent = n }},
		"unknown":               {good, 0, 14, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Complexity.Unknown = n }},
		"turns":                 {good, 0, 200, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Steps[1].Turns = n }},
		"tier of a step":        {good, 0, 3, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Steps[1].Tier = n }},
		"tier of a review":      {good, 1, 3, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Gates[1].Review.Tier = n }},
		"turns of a review":     {good, 0, 200, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Gates[1].Review.Turns = n }},
		"tokens of a session":   {good, 0, 1e12, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Steps[1].Cap.Tokens = int64(n) }},
		"money of a review":     {good, 0, 1e12, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Gates[1].Review.Cap.Money = pawl.Micros(n) }},
		"money of a council":    {good, 0, 1e12, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Council.Cap.Money = pawl.Micros(n) }},
		"votes":                 {good, 0, 9, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Gates[1].Review.Votes = n }},
		"failures":              {good, 1, 100, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Rungs[0].Failures = n }},
		"tier of a council":     {good, 1, 3, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Council.Tier = n }},
		"attempts after it":     {good, 1, 100, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Council.Attempts = n }},
		"turns in it":           {good, 0, 200, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Council.Turns = n }},
		"rounds":                {parent, 1, 100, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Steps[1].Repeat.Max = n }},
		"parallel":              {parent, 1, 64, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Parallel = n }},
		"group":                 {parent, 2, 64, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Group = n }},
		"limit":                 {parent, 0, 1000, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Limit = n }},
		"every":                 {parent, 0, 1000, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Replan.Every = n }},
		"versions":              {parent, 1, 100, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Replan.MaxVersions = n }},
		"calls of a tool":       {tree, 1, 1000, func(r *pawl.Recipe, _ *pawl.LoopKind, n int) { r.Kinds[1].Steps[0].Limits[0].Max = n }},
		"tier in when":          {tree, 1, 3, func(r *pawl.Recipe, _ *pawl.LoopKind, n int) { r.Kinds[1].Extract.When.Tier[0] = n }},
		"verification in when":  {tree, 1, 3, func(r *pawl.Recipe, _ *pawl.LoopKind, n int) { r.Kinds[1].Gates[0].When.Verification[0] = n }},
		"recoveries of its own": {monitored, 0, 10, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Recoveries = n }},
		"recoveries":            {batched, 0, 10, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Recoveries = n }},
		"votes on a batch":      {batched, 0, 1, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Children.Judge.Votes = n }},
		"attempts of a route": {good, 1, 100, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) {
			k.Gates[1].On[pawl.VerdictRetry] = pawl.Route{From: "start", Max: n, Then: "fail"}
		}},
		"members of a council": {good, 2, 9, func(_ *pawl.Recipe, k *pawl.LoopKind, n int) {
			k.Ladder.Council.Lenses = nil
			for i := range n {
				k.Ladder.Council.Lenses = append(k.Ladder.Council.Lenses, pawl.Lens{Name: fmt.Sprint(i), Focus: "All."})
			}
		}},
		"failures that are alike": {good, 2, pawl.MaxStuck, // F-42
			func(_ *pawl.Recipe, k *pawl.LoopKind, n int) { k.Ladder.Stuck = n }},
	} {
		for _, value := range []int{n.least - 1, n.least, n.most, n.most + 1} {
			r := mustParse(t, n.in)
			n.set(&r, &r.Kinds[0], value)
			if err := recipe.Validate(r); (err == nil) != (value >= n.least && value <= n.most) {
				t.Errorf("%s of %d: %v", name, value, err)
			}
		}
	}
}

// What concerns a group needs one: a child that lands by itself has none.
func TestKeysOfGroups(t *testing.T) {
	const alone = "each child lands by itself: say how many land together, such as group: 12"
	step := []pawl.Step{{Name: "beside", Prompt: "beside.md"}}
	for key, ch := range map[string]pawl.Children{
		"before_batch":   {BeforeBatch: step},
		"after_batch":    {AfterBatch: step},
		"monitor":        {Monitor: map[string][]string{"BLOCKED": {"ask"}}},
		"checkpoint":     {Checkpoint: true},
		"scaffold_first": {ScaffoldFirst: true},
		"land":           {Land: pawl.LandAll},
		"judge":          {Judge: &pawl.Review{Role: "judge", Prompt: "review.md", Tier: 1, Output: "batch"}},
		"nothing":        {},
	} {
		for _, group := range []int{0, 1, 2, pawl.GroupAll} {
			r := mustParse(t, parent)
			of := r.Kinds[0].Children
			ch.From, ch.Kind, ch.Order, ch.Parallel, ch.Replan, ch.Group = of.From, of.Kind, of.Order, of.Parallel, of.Replan, group
			r.Kinds[0].Children = &ch
			err := recipe.Validate(r)
			if ch.Groups() || key == "nothing" {
				if err != nil {
					t.Errorf("%s in a group of %d: %v", key, group, err)
				}
			} else if err == nil || !strings.HasPrefix(err.Error(), "kinds.plan.children."+key+": "+alone) {
				t.Errorf("%s without a group: %v", key, err)
			}
		}
	}
}

// What does not go together is refused whatever else is said of the children, and nothing more is.
func TestKeysThatDoNotGoTogether(t *testing.T) {
	judge := &pawl.Review{Role: "judge", Prompt: "review.md", Tier: 1, Output: "batch"}
	for name, row := range map[string]struct {
		change func(*pawl.LoopKind)
		want   string // empty = it is accepted
	}{
		"a limit where the parent starts over": {func(k *pawl.LoopKind) {
			k.Children.OnFailure, k.Children.Replan, k.Children.Limit = pawl.FailRestartParent, nil, 1
		}, "kinds.plan.children.limit: does not combine with on_failure: restart_parent: every child on the list has to pass"},
		"a limit": {func(k *pawl.LoopKind) { k.Children.OnFailure, k.Children.Limit = pawl.FailBlock, 1 }, ""},
		"nobody approves where the parent starts over": {func(k *pawl.LoopKind) {
			k.Children.OnFailure, k.Children.Replan, k.Approval = pawl.FailRestartParent, nil, &pawl.Approval{By: "auto"}
		}, "kinds.plan.approval.by: auto does not combine with on_failure: restart_parent: a person approves what children stand on, or there is no approval"},
		"nobody approves": {func(k *pawl.LoopKind) { k.Approval = &pawl.Approval{By: "auto"} }, ""},
		"the best, and stop": {func(k *pawl.LoopKind) {
			k.Children.Judge, k.Children.Land, k.Children.OnFailure = judge, pawl.LandBest, pawl.FailStop
		}, "kinds.plan.children.on_failure: stop does not combine with land: best, where a child may fail as long as another one is picked: want continue or block"},
		"the best, and continue": {func(k *pawl.LoopKind) {
			k.Children.Judge, k.Children.Land, k.Children.OnFailure = judge, pawl.LandBest, pawl.FailContinue
		}, ""},
		"one recovery of no monitor": {func(k *pawl.LoopKind) { k.Children.Monitor, k.Children.Recoveries = nil, 1 },
			"kinds.plan.children.recoveries: there is no monitor that could lead to any"},
		"last steps that write": {func(k *pawl.LoopKind) {
			k.Children.AfterBatch = []pawl.Step{{Name: "beside", Prompt: "beside.md"}}
			k.FinalSteps = []pawl.Step{{Name: "last", Prompt: "last.md", Tools: []string{"write"}}}
		}, ""},
	} {
		r := mustParse(t, parent)
		row.change(&r.Kinds[0])
		got := ""
		if err := recipe.Validate(r); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}

// The first band may consist of the score 0 alone.
func TestBandOfOneScore(t *testing.T) {
	r := mustParse(t, good)
	r.Kinds[0].Complexity.Tiers[0].Max = 0
	if err := recipe.Validate(r); err != nil {
		t.Error(err)
	}
}
