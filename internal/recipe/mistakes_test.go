package recipe_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/recipe"
)

// good is a recipe the mistakes below are made in.
const good = `description: A test.
start: task
kinds:
  task:
    iterations: 10
    complexity:
      from: assess
      unknown: 5
      bands:
        - {max: 4, tier: 1}
        - {max: 14, tier: 2}
    steps:
      - name: assess
        first: true
        output: assessment
      - name: work
        tools: [read, write]
        output: result
    gates:
      - name: quality
        commands: [all]
      - name: review
        review: {role: reviewer, tier: 2}
        on:
          retry: {from: start, max: 1, then: fail}
    ladder:
      rungs:
        - {tier: 1, failures: 2}
        - {tier: 2, failures: 3}
      stuck: 3
      council:
        tier: 2
        attempts: 1
        lenses:
          - {name: one, focus: First.}
          - {name: two, focus: Second.}
`

// monitored is good with a monitor of its attempts.
const monitored = good + `    monitor: {REGRESSING: [rollback], FLIP-FLOPPING: [escalate]}
    recoveries: 3
`

// planning is what the next two recipes begin with: a kind with children.
const planning = `start: plan
kinds:
  plan:
    steps:
      - {name: plan, output: plan, required: true, check: {name: many_steps, demands: SPLIT}}
      - name: talk
        repeat:
          max: 4
          until: [SPLIT]
          on_max: ask
          steps:
            - {name: ask, output: decision}
            - {name: note, for_each: plan.decisions}
    children:
      from: plan
      kind: leaf
      order: list
      parallel: 2
      group: 2
      monitor: {STALLED: [ask]}
      replan: {on: [failure], max_versions: 3}
`

// parent is a recipe with children that say nothing only they can say.
const parent = planning + `  leaf:
    steps:
      - {name: work}
`

// tree says all that only recipes with children can say.
const tree = planning + `  leaf:
    steps:
      - name: work
        tools: [read, run]
        tier_from: model_tier
        limits:
          - {tool: run, max: 3}
    gates:
      - name: look
        human: true
        when: {verification: [2, 3]}
    extract:
      name: learn
      output: learnings
      tools: [read]
      when: {verdict: [pass], tier: [1]}
    ladder: {then: replan}
`

// batched is a recipe whose children are judged in batches.
const batched = `start: plan
records: true
kinds:
  plan:
    steps:
      - {name: plan, output: plan, questions: true}
      - {name: decide, for_each: plan.decisions, output: decision, tools: [read]}
    children:
      from: plan
      kind: leaf
      order: list
      parallel: 2
      group: 2
      before_batch:
        - {name: look, output: context}
      judge: {role: judge, tier: 3, tools: [read, run]}
      after_batch:
        - {name: record, for_each: result.decisions, output: decision}
      scaffold_first: true
      checkpoint: true
      monitor: {STALLED: [gather, revise], REGRESSING: [rollback], BLOCKED: [ask]}
      recoveries: 3
      replan: {on: [], max_versions: 3}
    final_gates:
      - name: judged
        review: {role: judge, tier: 3}
        on:
          retry: {from: plan, max: 1, then: fail}
  leaf:
    steps:
      - {name: lay, when: {scaffold: true}}
      - {name: work, when: {scaffold: false}}
`

func TestGoodRecipes(t *testing.T) {
	for _, text := range []string{good, parent, tree, batched} {
		if _, err := recipe.Parse("x", []byte(text)); err != nil {
			t.Error(err)
		}
	}
}

// Each mistake changes one place of a good recipe; the message says what is
// wrong there.
func TestMistakes(t *testing.T) {
	for _, m := range []struct {
		name, in, old, new string
		want               string
		semantic           bool // the published schema cannot know
	}{
		// Form.
		{name: "unknown key", in: good, old: "start: task", new: "strat: task",
			want: "x.yaml:2:1: strat: unknown key (did you mean start?); known here: extends, description, cancel, on_error, agent, report, deviations, records, commits, evidence, loops, tiers, start, kinds"},
		{name: "unknown key in a step", in: good, old: "first: true", new: "fist: true",
			want: "x.yaml:14:9: kinds.task.steps[0].fist: unknown key (did you mean first?); known here: name, role, prompt, tools, limits, tier, tier_from, output, required, check, turns, session_limit, turn_cap, reminder, timeout_ms, time_cap, first, when, append, keep, for_each, parallel, questions, memory, repeat"},
		{name: "key twice", in: good, old: "iterations: 10", new: "iterations: 10\n    iterations: 11",
			want: "x.yaml:6:5: kinds.task.iterations: is here twice; it is also on line 5"},
		{name: "no value", in: good, old: "iterations: 10", new: "iterations:",
			want: "x.yaml:5:16: kinds.task.iterations: has no value"},
		{name: "text for a number", in: good, old: "iterations: 10", new: "iterations: many",
			want: `x.yaml:5:17: kinds.task.iterations: want a whole number from 1 to 1000, got "many"`},
		{name: "quoted number", in: good, old: "iterations: 10", new: `iterations: "10"`,
			want: `x.yaml:5:17: kinds.task.iterations: want a whole number from 1 to 1000, got "10"`},
		{name: "no iterations", in: good, old: "iterations: 10", new: "iterations: 0",
			want: "x.yaml:5:17: kinds.task.iterations: want a whole number from 1 to 1000, got 0"},
		{name: "fraction", in: good, old: "iterations: 10", new: "iterations: 1.5",
			want: "x.yaml:5:17: kinds.task.iterations: want a whole number from 1 to 1000, got 1.5"},
		{name: "number for text", in: good, old: "name: work", new: "name: 7",
			want: "x.yaml:16:15: kinds.task.steps[1].name: want a name of lower-case letters, digits, - and _, got 7; put it in quotes"},
		{name: "name with a blank", in: good, old: "name: work", new: "name: do it",
			want: `x.yaml:16:15: kinds.task.steps[1].name: want a name of lower-case letters, digits, - and _, got "do it"`},
		{name: "step without a name", in: good, old: "name: work", new: "role: worker",
			want: "x.yaml:16:9: kinds.task.steps[1].name: is missing"},
		{name: "yes for true", in: good, old: "first: true", new: "first: yes",
			want: `x.yaml:14:16: kinds.task.steps[0].first: want true or false, got "yes"`},
		{name: "word for a list", in: good, old: "tools: [read, write]", new: "tools: read",
			want: `x.yaml:17:16: kinds.task.steps[1].tools: want a list, got "read"`},
		{name: "unknown tool", in: good, old: "[read, write]", new: "[read, wirte]",
			want: `x.yaml:17:23: kinds.task.steps[1].tools[1]: want one of read, write, edit, list, glob, grep, run, update_dependencies, remember, blackboard, got "wirte" (did you mean write?)`},
		{name: "tool twice", in: good, old: "[read, write]", new: "[read, read]",
			want: "x.yaml:17:23: kinds.task.steps[1].tools[1]: read is in the list twice"},
		{name: "unknown output", in: good, old: "output: result", new: "output: results",
			want: `x.yaml:18:17: kinds.task.steps[1].output: want one of assessment, result, verdict, tasks, plan, next, summary, learnings, context, decision, review, report, create_plan, create_spec, create_phase, got "results" (did you mean result?)`},
		{name: "tier 4", in: good, old: "review: {role: reviewer, tier: 2}", new: "review: {role: reviewer, tier: 4}",
			want: "x.yaml:23:40: kinds.task.gates[1].review.tier: want a whole number from 1 to 3, got 4"},
		{name: "score over 14", in: good, old: "{max: 14, tier: 2}", new: "{max: 15, tier: 2}",
			want: "x.yaml:11:17: kinds.task.complexity.bands[1].max: want a whole number from 0 to 14, got 15"},
		{name: "template elsewhere", in: good, old: "output: result", new: "prompt: ../../secret.md",
			want: `x.yaml:18:17: kinds.task.steps[1].prompt: want a file name such as plan.md, got "../../secret.md"`},
		{name: "unknown route", in: good, old: "retry: {from", new: "halt: {from",
			want: "x.yaml:25:11: kinds.task.gates[1].on.halt: unknown key; known here: revise, retry, fail"},
		{name: "alias", in: good, old: "[read, write]", new: "[*read]",
			want: "x.yaml:17:17: aliases (*name) are not allowed; put text that begins with * in quotes"},
		{name: "anchor", in: good, old: "iterations: 10", new: "iterations: &n 10", semantic: true,
			want: "x.yaml:5:17: anchors (&name) are not allowed; put text that begins with & in quotes"},
		{name: "tag", in: good, old: "iterations: 10", new: "iterations: !!int 10", semantic: true,
			want: "x.yaml:5:17: tags (!name) are not allowed; put text that begins with ! in quotes"},
		{name: "not YAML", in: good, old: "[read, write]", new: "[read, write",
			want: "x.yaml:18:9: this is not YAML: ',' or ']' must be specified"},
		{name: "unknown base", in: good, old: "description: A test.", new: "extends: taskloops", semantic: true,
			want: "x.yaml:1:10: extends: there is no recipe taskloops"},

		// Meaning.
		{name: "unknown start", in: good, old: "start: task", new: "start: taks", semantic: true,
			want: `x.yaml:2:8: start: there is no kind "taks" (did you mean task?); known here: task`},
		{name: "no start", in: good, old: "start: task\n", new: "", semantic: true,
			want: "x.yaml:1:1: start: is missing: which kind is the root loop? known here: task"},
		{name: "two steps of one name", in: good, old: "name: work", new: "name: assess", semantic: true,
			want: "x.yaml:16:15: kinds.task.steps[1].name: assess is already the name of kinds.task.steps[0]"},
		{name: "gate named as a step", in: good, old: "name: quality", new: "name: work", semantic: true,
			want: "x.yaml:20:15: kinds.task.gates[0].name: work is already the name of kinds.task.steps[1]"},
		{name: "unknown assessing step", in: good, old: "from: assess", new: "from: asses", semantic: true,
			want: `x.yaml:7:13: kinds.task.complexity.from: there is no step "asses" (did you mean assess?); known here: assess, work`},
		{name: "assessing step in every iteration", in: good, old: "first: true", new: "first: false", semantic: true,
			want: "x.yaml:7:13: kinds.task.complexity.from: step assess must have first: true and output: assessment"},
		{name: "bands fall", in: good, old: "{max: 14, tier: 2}", new: "{max: 3, tier: 2}", semantic: true,
			want: "x.yaml:11:17: kinds.task.complexity.bands[1].max: scores must rise: 3 comes after 4\n" +
				"x.yaml:11:17: kinds.task.complexity.bands[1].max: the last band must reach score 14, it ends at 3"},
		{name: "bands leave a gap", in: good, old: "max: 14", new: "max: 12", semantic: true,
			want: "x.yaml:11:17: kinds.task.complexity.bands[1].max: the last band must reach score 14, it ends at 12"},
		{name: "band without a rung", in: good, old: "{max: 14, tier: 2}", new: "{max: 14, tier: 3}", semantic: true,
			want: "x.yaml:11:27: kinds.task.complexity.bands[1].tier: the ladder has no rung for tier 3"},
		{name: "rungs fall", in: good, old: "{tier: 2, failures: 3}", new: "{tier: 1, failures: 3}", semantic: true,
			want: "x.yaml:11:27: kinds.task.complexity.bands[1].tier: the ladder has no rung for tier 2\n" +
				"x.yaml:29:18: kinds.task.ladder.rungs[1].tier: tiers must rise: 1 comes after 1"},
		{name: "gate of two kinds", in: good, old: "commands: [all]", new: "commands: [all]\n        human: true", semantic: true,
			want: "x.yaml:20:9: kinds.task.gates[0]: a gate needs exactly one of commands, review, builtin and human; it has 2"},
		{name: "gate of no kind", in: good, old: "commands: [all]", new: "timeout_ms: 1", semantic: true,
			want: "x.yaml:20:9: kinds.task.gates[0]: a gate needs exactly one of commands, review, builtin and human; it has 0"},
		{name: "route to nowhere", in: good, old: "from: start", new: "from: stat", semantic: true,
			want: `x.yaml:25:25: kinds.task.gates[1].on.retry.from: there is no earlier step "stat" (did you mean start?); known here: start, assess, work`},
		{name: "council of one", in: good, old: "          - {name: two, focus: Second.}\n", new: "", semantic: true,
			want: "x.yaml:34:9: kinds.task.ladder.council.lenses: a council has 2 to 9 members, not 1"},
		{name: "two members of one name", in: good, old: "name: two", new: "name: one", semantic: true,
			want: `x.yaml:36:20: kinds.task.ladder.council.lenses[1].name: two members are called "one"`},
		{name: "approval of nothing", in: good, old: "iterations: 10", new: "approval: {by: human}", semantic: true,
			want: "x.yaml:5:5: kinds.task.approval: there is nothing to approve: the kind has no children"},
		{name: "unused kind", in: parent, old: "start: plan", new: "start: leaf", semantic: true,
			want: "x.yaml:3:3: kinds.plan: no loop is ever of this kind: it is not the start, and no kind has it as children"},
		{name: "kinds in a circle", in: parent, old: "kind: leaf", new: "kind: plan", semantic: true,
			want: "x.yaml:16:13: kinds.plan.children.kind: plan is among its own descendants, which would never end"},
		{name: "unknown kind of children", in: parent, old: "kind: leaf", new: "kind: leave", semantic: true,
			want: "x.yaml:16:13: kinds.plan.children.kind: there is no kind \"leave\" (did you mean leaf?); known here: plan, leaf\n" +
				"x.yaml:22:3: kinds.leaf: no loop is ever of this kind: it is not the start, and no kind has it as children"},
		{name: "children of a step without a list", in: parent, old: "from: plan", new: "from: ask", semantic: true,
			want: "x.yaml:15:13: kinds.plan.children.from: step ask does not list children: its output must be one of plan, tasks, create_plan, create_spec, create_phase"},
		{name: "entries of a later step", in: parent, old: "for_each: plan.decisions", new: "for_each: late.decisions", semantic: true,
			want: `x.yaml:13:38: kinds.plan.steps[1].repeat.steps[1].for_each: there is no earlier step "late"; known here: plan, ask`},
		{name: "group with a prompt", in: parent, old: "- name: talk", new: "- name: talk\n        tier: 1", semantic: true,
			want: "x.yaml:6:9: kinds.plan.steps[1]: a group that repeats has a name, when and repeat only; the rest belongs to its steps"},
		{name: "no rounds", in: parent, old: "max: 4", new: "max: 0",
			want: "x.yaml:8:16: kinds.plan.steps[1].repeat.max: want a whole number from 1 to 100, got 0"},
		{name: "unknown health", in: parent, old: "STALLED", new: "OSCILLATING",
			want: "x.yaml:20:17: kinds.plan.children.monitor.OSCILLATING: unknown key; known here: STALLED, BLOCKED, REGRESSING, FLIP-FLOPPING, rules"},
		{name: "rules for nothing", in: parent, old: "monitor: {STALLED: [ask]}", new: "monitor: {rules: seed}", semantic: true,
			want: "x.yaml:20:24: kinds.plan.children.monitor.rules: nothing follows from a health here, so they have no effect: say what does, such as `STALLED: [gather]`"},
		{name: "unknown rules", in: parent, old: "STALLED:", new: "rules: strict, STALLED:",
			want: `x.yaml:20:24: kinds.plan.children.monitor.rules: want one of seed, got "strict"`},
		{name: "limit on a tool it has not", in: tree, old: "{tool: run", new: "{tool: write", semantic: true,
			want: `x.yaml:28:20: kinds.leaf.steps[0].limits[0].tool: there is no tool of this step "write"; known here: read, run`},
		{name: "limit on an unknown tool", in: tree, old: "{tool: run", new: "{tool: browse",
			want: `x.yaml:28:20: kinds.leaf.steps[0].limits[0].tool: want one of read, write, edit, list, glob, grep, run, update_dependencies, remember, blackboard, got "browse"`},
		{name: "limit twice", in: tree, old: "          - {tool: run, max: 3}", new: "          - {tool: run, max: 3}\n          - {tool: run, max: 4}", semantic: true,
			want: "x.yaml:29:20: kinds.leaf.steps[0].limits[1].tool: run has a limit already"},
		{name: "limit of none", in: tree, old: "{tool: run, max: 3}", new: "{tool: run, max: 0}",
			want: "x.yaml:28:30: kinds.leaf.steps[0].limits[0].max: want a whole number from 1 to 1000, got 0"},
		{name: "unknown check of a decision", in: tree, old: "many_steps", new: "many_words",
			want: `x.yaml:5:66: kinds.plan.steps[0].check.name: want one of many_steps, got "many_words"`},
		{name: "check that demands nothing", in: tree, old: ", demands: SPLIT", new: "",
			want: "x.yaml:5:60: kinds.plan.steps[0].check.demands: is missing"},
		{name: "check that demands a sentence", in: tree, old: "demands: SPLIT", new: "demands: split it",
			want: `x.yaml:5:87: kinds.plan.steps[0].check.demands: want a decision in capitals such as EXECUTE, got "split it"`},
		{name: "check of what need not be decided", in: tree, old: "required: true, ", new: "", semantic: true,
			want: "x.yaml:5:36: kinds.plan.steps[0].check: without required: true there need not be a decision to look at"},
		{name: "tier from nowhere", in: tree, old: "tier_from: model_tier", new: "tier_from: tier",
			want: `x.yaml:26:20: kinds.leaf.steps[0].tier_from: want one of model_tier, got "tier"`},
		{name: "tier from a list of nobody", in: tree, old: "{name: ask, output", new: "{name: ask, tier_from: model_tier, output", semantic: true,
			want: "x.yaml:12:38: kinds.plan.steps[1].repeat.steps[0].tier_from: no kind has this one as children, so it has no entry in a parent's list"},
		{name: "verification of nobody's children", in: tree, old: "{name: ask, output", new: "{name: ask, when: {verification: [1]}, output", semantic: true,
			want: "x.yaml:12:34: kinds.plan.steps[1].repeat.steps[0].when.verification: no kind has this one as children, so it has no entry in a parent's list"},
		{name: "unknown verification", in: tree, old: "[2, 3]", new: "[2, 4]",
			want: "x.yaml:32:34: kinds.leaf.gates[0].when.verification[1]: want a whole number from 1 to 3, got 4"},
		{name: "verdict before there is one", in: tree, old: "{verification: [2, 3]}", new: "{verdict: [pass]}", semantic: true,
			want: "x.yaml:32:16: kinds.leaf.gates[0].when.verdict: there is no verdict yet: only extract comes after it"},
		{name: "verdict of nobody", in: tree, old: "verdict: [pass]", new: "verdict: [halt]",
			want: `x.yaml:37:24: kinds.leaf.extract.when.verdict[0]: want one of pass, fail, got "halt"`},
		{name: "extract that hands in something else", in: tree, old: "output: learnings", new: "output: summary", semantic: true,
			want: "x.yaml:35:15: kinds.leaf.extract.output: what is worth remembering is handed in as learnings"},
		{name: "extract that changes something", in: tree, old: "tools: [read]", new: "tools: [read, edit]", semantic: true,
			want: "x.yaml:36:21: kinds.leaf.extract.tools[1]: the iteration has been judged: nothing may change any more"},
		{name: "extract that repeats", in: tree, old: "output: learnings", new: "for_each: work.x", semantic: true,
			want: "x.yaml:33:5: kinds.leaf.extract: extract is one session: no repeat, for_each, questions, first or check"},
		{name: "extract of a step's name", in: tree, old: "name: learn", new: "name: work", semantic: true,
			want: "x.yaml:34:13: kinds.leaf.extract.name: work is already the name of kinds.leaf.steps[0]"},
		{name: "no parent to plan anew", in: good, old: "stuck: 3", new: "then: replan", semantic: true,
			want: "x.yaml:30:13: kinds.task.ladder.then: no kind has this one as children, so there is no parent to plan again"},
		{name: "threshold over everything", in: tree, old: "    children:", new: "    approval: {by: auto, threshold: 101}\n    children:",
			want: "x.yaml:14:37: kinds.plan.approval.threshold: want a whole number from 1 to 100, got 101"},
		{name: "prompt that is no file", in: tree, old: "max_versions: 3", new: "max_versions: 3, prompt: again",
			want: `x.yaml:21:56: kinds.plan.children.replan.prompt: want a file name such as plan.md, got "again"`},
		{name: "complexity of a child", in: tree, old: "    ladder: {then: replan}", new: "    complexity: {from: work, bands: [{max: 14, tier: 1}]}", semantic: true,
			want: "x.yaml:38:5: kinds.leaf.complexity: a child's first tier comes from its task: give a step tier_from: model_tier instead\n" +
				"x.yaml:38:24: kinds.leaf.complexity.from: step work must have first: true and output: assessment"},
		{name: "group that comes last", in: tree, old: "    children:", new: "    final_steps:\n      - {name: end, repeat: {max: 2, until: [SPLIT], on_max: fail, steps: [{name: last}]}}\n    children:", semantic: true,
			want: "x.yaml:15:21: kinds.plan.final_steps[0].repeat: a group that repeats cannot come last; put it into steps"},
		{name: "name of a final step", in: tree, old: "    children:", new: "    final_steps:\n      - {name: ask}\n    children:", semantic: true,
			want: "x.yaml:15:16: kinds.plan.final_steps[0].name: ask is already the name of kinds.plan.steps[1].repeat.steps[0]"},
		{name: "scaffold of nobody", in: batched, old: "questions: true}", new: "questions: true, when: {scaffold: true}}", semantic: true,
			want: "x.yaml:6:70: kinds.plan.steps[0].when.scaffold: no kind has this one as children, so it has no entry in a parent's list"},
		{name: "scaffold of a list", in: batched, old: "{scaffold: false}", new: "{scaffold: [1]}",
			want: "x.yaml:32:39: kinds.leaf.steps[1].when.scaffold: want true or false, got a list"},
		{name: "when that says nothing", in: batched, old: "{scaffold: false}", new: "{}", semantic: true,
			want: "x.yaml:32:22: kinds.leaf.steps[1].when: says nothing: give decision, tier, verification, scaffold, output or criteria"},
		{name: "questions without a place", in: batched, old: "{name: look, output: context}", new: "{name: look, output: context, questions: true}", semantic: true,
			want: "x.yaml:15:52: kinds.plan.children.before_batch[0].questions: questions are part of what is handed in: the output must be one of plan, review"},
		{name: "many that ask", in: batched, old: "for_each: plan.decisions, output: decision", new: "for_each: plan.decisions, questions: true, output: review", semantic: true,
			want: "x.yaml:7:61: kinds.plan.steps[1].questions: a step that runs for each entry of a list cannot ask"},
		{name: "many that write", in: batched, old: "tools: [read]}", new: "tools: [edit]}", semantic: true,
			want: "x.yaml:7:76: kinds.plan.steps[1].tools[0]: sessions that run at once in one worktree would change it under each other"},
		{name: "entries of no list", in: batched, old: "plan.decisions", new: "plan.risks", semantic: true,
			want: `x.yaml:7:34: kinds.plan.steps[1].for_each: there is no list in the output plan "risks"; known here: decisions`},
		{name: "entries of an output without lists", in: batched, old: "result.decisions", new: "look.decisions", semantic: true,
			want: `x.yaml:18:36: kinds.plan.children.after_batch[0].for_each: there is no list in the output context "decisions"; known here: none`},
		{name: "results of children before there are any", in: batched, old: "{name: look, output: context}", new: "{name: look, for_each: result.decisions}", semantic: true,
			want: `x.yaml:15:34: kinds.plan.children.before_batch[0].for_each: there is no earlier step "result"; known here: plan, decide`},
		{name: "results of nobody", in: batched, old: "result.decisions", new: "results.decisions", semantic: true,
			want: `x.yaml:18:36: kinds.plan.children.after_batch[0].for_each: there is no earlier step "results" (did you mean result?); known here: plan, decide, look, result`},
		{name: "work around a batch", in: batched, old: "output: context}", new: "tools: [run]}", semantic: true,
			want: "x.yaml:15:32: kinds.plan.children.before_batch[0].tools[0]: what is written around a batch is part of nobody's work"},
		{name: "group around a batch", in: batched, old: "{name: look, output: context}", new: "{name: look, repeat: {max: 2, until: [NEEDS_CLARIFICATION], on_max: fail, steps: [{name: again}]}}", semantic: true,
			want: "x.yaml:15:24: kinds.plan.children.before_batch[0].repeat: a group that repeats cannot stand around a group; put it into steps"},
		{name: "reviewer that writes", in: batched, old: "tools: [read, run]", new: "tools: [read, write]", semantic: true,
			want: "x.yaml:16:51: kinds.plan.children.judge.tools[1]: a reviewer must not change what it judges"},
		{name: "votes on a batch", in: batched, old: "tools: [read, run]", new: "votes: 3", semantic: true,
			want: "x.yaml:16:44: kinds.plan.children.judge.votes: a group is judged by one reviewer"},
		{name: "verdict on a batch", in: batched, old: "tools: [read, run]", new: "output: verdict", semantic: true,
			want: `x.yaml:16:45: kinds.plan.children.judge.output: there is no output of this review "verdict"; known here: batch`},
		{name: "batch for a gate", in: batched, old: "review: {role: judge, tier: 3}", new: "review: {role: judge, tier: 3, output: batch}", semantic: true,
			want: `x.yaml:26:48: kinds.plan.final_gates[0].review.output: there is no output of this review "batch"; known here: verdict`},
		{name: "back to a step around a batch", in: batched, old: "retry: {from: plan,", new: "retry: {from: look,", semantic: true,
			want: `x.yaml:28:25: kinds.plan.final_gates[0].on.retry.from: there is no earlier step "look"; known here: start, plan, decide`},
		{name: "nothing to gather with", in: batched, old: "      before_batch:\n        - {name: look, output: context}\n", new: "", semantic: true,
			want: "x.yaml:19:27: kinds.plan.children.monitor.STALLED[0]: nothing is gathered: there are no steps before_batch"},
		{name: "nothing to revise with", in: batched, old: "      replan: {on: [], max_versions: 3}\n", new: "", semantic: true,
			want: "x.yaml:21:35: kinds.plan.children.monitor.STALLED[1]: nothing can plan again: there is no replan"},
		{name: "nothing to go back to", in: batched, old: "checkpoint: true", new: "checkpoint: false", semantic: true,
			want: "x.yaml:21:57: kinds.plan.children.monitor.REGRESSING[0]: there is nothing to go back to: checkpoint is not true"},
		{name: "health that leads nowhere", in: batched, old: "BLOCKED: [ask]", new: "BLOCKED: []", semantic: true,
			want: "x.yaml:21:68: kinds.plan.children.monitor.BLOCKED: leads to nothing: give at least one of gather, revise, rollback, ask"},
		{name: "recoveries of no monitor", in: batched, old: "      monitor: {STALLED: [gather, revise], REGRESSING: [rollback], BLOCKED: [ask]}\n", new: "", semantic: true,
			want: "x.yaml:21:19: kinds.plan.children.recoveries: there is no monitor that could lead to any"},
		{name: "too many recoveries", in: batched, old: "recoveries: 3", new: "recoveries: 11",
			want: "x.yaml:22:19: kinds.plan.children.recoveries: want a whole number from 1 to 10, got 11"},
		{name: "another health of attempts", in: monitored, old: "FLIP-FLOPPING", new: "STALLED",
			want: "x.yaml:37:39: kinds.task.monitor.STALLED: unknown key; known here: REGRESSING, FLIP-FLOPPING"},
		{name: "health of attempts that leads nowhere", in: monitored, old: "[rollback]", new: "[]", semantic: true,
			want: "x.yaml:37:15: kinds.task.monitor.REGRESSING: leads to nothing: give at least one of rollback, escalate"},
		{name: "no stronger tier", in: monitored, old: "        - {tier: 2, failures: 3}\n", new: "", semantic: true,
			want: "x.yaml:11:27: kinds.task.complexity.bands[1].tier: the ladder has no rung for tier 2\n" +
				"x.yaml:36:55: kinds.task.monitor.FLIP-FLOPPING[0]: there is no stronger tier: the ladder has no second rung"},
		{name: "no state to go back to", in: monitored, old: "      - name: quality\n        commands: [all]\n", new: "", semantic: true,
			want: "x.yaml:35:28: kinds.task.monitor.REGRESSING[0]: there is nothing to go back to: no gate runs commands"},
		{name: "recoveries of attempts without a monitor", in: monitored, old: "    monitor: {REGRESSING: [rollback], FLIP-FLOPPING: [escalate]}\n", new: "", semantic: true,
			want: "x.yaml:37:17: kinds.task.recoveries: there is no monitor that could lead to any"},
		{name: "attempts of a kind with children", in: parent, old: "    children:\n", new: "    monitor: {REGRESSING: [rollback]}\n    children:\n", semantic: true,
			want: "x.yaml:14:5: kinds.plan.monitor: it looks at attempts, and those of a kind with children are not the work: want children.monitor"},
		{name: "no versions", in: parent, old: ", max_versions: 3", new: "", semantic: true,
			want: "x.yaml:21:16: kinds.plan.children.replan.max_versions: is missing"},
	} {
		t.Run(m.name, func(t *testing.T) {
			if strings.Count(m.in, m.old) != 1 {
				t.Fatalf("%q is not once in the recipe", m.old)
			}
			text := strings.Replace(m.in, m.old, m.new, 1)
			_, err := recipe.Parse("x", []byte(text))
			if err == nil {
				t.Fatal("it was accepted")
			}
			if diff := cmp.Diff(m.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if code := pawl.CodeOf(err); code != pawl.CodeInvalid {
				t.Errorf("code %s, want invalid", code)
			}
			if refused := schemaError(t, text) != nil; refused == m.semantic {
				t.Errorf("the schema refuses it: %v, want %v", refused, !m.semantic)
			}
		})
	}
}

// Several mistakes are reported together, in the order of the file, ten at most.
func TestManyMistakes(t *testing.T) {
	var b strings.Builder
	b.WriteString("start: task\nkinds:\n  task:\n    steps:\n")
	for range 12 {
		b.WriteString("      - {name: BAD}\n")
	}
	_, err := recipe.Parse("x", []byte(b.String()))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 11 || !strings.HasPrefix(lines[0], "x.yaml:5:16: ") || lines[10] != "and 2 more" {
		t.Errorf("got %q", lines)
	}
}

// A recipe that did not come from YAML is checked as well.
func TestValidateWithoutYAML(t *testing.T) {
	r, err := recipe.Load("taskloop")
	if err != nil {
		t.Fatal(err)
	}
	r.Kinds[0].Steps[1].Tools = []string{"telnet"}
	r.Kinds[0].Ladder.Rungs[0].Failures = 0
	want := `kinds.task.steps[1].tools[0]: there is no tool "telnet"; known here: read, write, edit, list, glob, grep, run, update_dependencies, remember, blackboard` + "\n" +
		"kinds.task.ladder.rungs[0].failures: want a whole number from 1 to 100, got 0"
	if err := recipe.Validate(r); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
