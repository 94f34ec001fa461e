package recipe

import (
	"time"

	"pawl"
	"pawl/internal/strictyaml"
)

// file is a recipe's file: a recipe, and what it starts from.
type file struct {
	extends string
	recipe  pawl.Recipe
}

const hour = 3_600_000 // milliseconds

func (f *file) fields(m *strictyaml.Map) {
	r := &f.recipe
	m.Key("extends", "The recipe that this one builds on. What is given here replaces what that one says: mappings are merged, lists are replaced.").Name(&f.extends)
	m.Key("description", "What the recipe is for, in a sentence or two.").Text(&r.Description)
	m.Key("cancel", "What a cancelled run still does: finish its iterations, continue to a boundary, or stop now; by default boundary.").Word((*string)(&r.Cancel), drains...)
	m.Key("on_error", "How a run ends if a model or the machine fails permanently; by default halted.").Word((*string)(&r.OnError), string(pawl.OutcomeHalted), string(pawl.OutcomeFailed))
	m.Key("agent", "The id under which reports name the loop.").Match(&r.Agent, `^[a-z0-9][a-z0-9:_-]{0,63}$`, "an id of lower-case letters, digits, :, - and _")
	m.Key("report", "How people see the recipe's runs.").Map(func(m *strictyaml.Map) {
		m.Key("heading", "What reports are headed with; by default the recipe's name and LOOP.").Match(&r.Report.Heading, `^[A-Z0-9][A-Z0-9 -]{0,39}$`, "capital letters, digits and blanks")
		m.Key("live", "What logs show besides their lines: the report of each iteration of the root loop (`iterations`), or the plan's decision, each task's rounds and learnings, and the table of tasks at the end (`tasks`); by default `none`.").Word((*string)(&r.Report.Live), string(pawl.LiveNone), string(pawl.LiveIterations), string(pawl.LiveTasks))
	})
	m.Key("deviations", "What the recipe does otherwise than the document it follows, and why, a sentence each.").Texts(&r.Deviations)
	if len(r.Deviations) == 0 {
		r.Deviations = nil // an empty list takes back what a base declares
	}
	m.Key("records", "Whether the task's folder, `.pawl/tasks/NNN-slug`, is committed to the run's branch at every checkpoint and at the end.").Bool(&r.Records)
	m.Key("commits", "What makes commits on the run's branch: every attempt, or a task that has landed. With task, attempts are made below `refs/pawl/attempts/`, and the branch gets one commit per task, in the name of the user. By default attempt.").Word((*string)(&r.Commits), string(pawl.CommitsAttempt), string(pawl.CommitsTask))
	m.Key("evidence", "The least strict mode of evidence that runs of the recipe may have; by default the settings decide.").Word((*string)(&r.Evidence), string(pawl.EvidenceStrict), string(pawl.EvidenceReview))
	m.Key("loops", "How many loops of a tree may be active at once, not counting those that wait for their children or a person; by default 50.").Int(&r.Loops, 1, maxLoops)
	m.Key("tiers", "What reports call tiers 1, 2 and 3; by default fast, medium, large.").Texts(&r.Tiers)
	m.Key("start", "The kind of the root loop.").Name(&r.Start)
	strictyaml.Named(m.Key("kinds", "The kinds of loop, by name."), "kind", &r.Kinds, func(k *pawl.LoopKind) *string { return &k.Name }, readKind)
}

func readKind(m *strictyaml.Map, k *pawl.LoopKind) {
	strictyaml.Sub(m.Key("complexity", "Chooses the first tier by how hard the task looks."), "complexity", &k.Complexity, readBands)
	strictyaml.List(m.Key("steps", "The agent sessions of one iteration, in order."), "step", &k.Steps, readStep)
	strictyaml.List(m.Key("gates", "What judges an iteration, in order."), "gate", &k.Gates, readStage)
	strictyaml.Sub(m.Key("approval", "Who must approve before children are spawned."), "approval", &k.Approval, readApproval)
	strictyaml.Sub(m.Key("children", "The loops this one spawns when its gates have passed."), "children", &k.Children, readChildren)
	strictyaml.List(m.Key("final_gates", "What judges the work when all children have ended."), "gate", &k.FinalGates, readStage)
	strictyaml.List(m.Key("final_steps", "The last steps, such as a report."), "step", &k.FinalSteps, readStep)
	m.Key("ladder", "What happens after failed iterations.").Map(func(m *strictyaml.Map) { readLadder(m, &k.Ladder) })
	readMonitor(m.Key("monitor", "For a kind without children: what follows if its attempts are FLIP-FLOPPING or REGRESSING. By default this is reported, and nothing follows."), &k.Monitor, ownHealth, ownRecoveries, nil)
	m.Key("proof", "What follows from an attempt that passes and that nothing shows the goal of: feedback tells it so, once, and another attempt follows; end, the default, ends the loop, unverified.").Word((*string)(&k.Proof), string(pawl.ProofFeedback), string(pawl.ProofEnd))
	m.Key("unjudged", "What follows if a gate gives no verdict on an attempt, such as when its time is up, and gave none on the base: again runs it once more with twice the time and then asks a person, and costs no attempt; once runs it once more, then the attempt has failed; fail, the default, fails the attempt.").Word((*string)(&k.Unjudged), string(pawl.UnjudgedAgain), string(pawl.UnjudgedOnce), string(pawl.UnjudgedFail))
	m.Key("recoveries", "How often one health of the attempts may lead there; by default 2.").Int(&k.Recoveries, 1, 10)
	m.Key("iterations", "The limit on iterations; by default the kind has none of its own.").Int(&k.Iterations, 1, 1000)
	m.Key("priority", "The starting score of a loop of this kind if children are ordered by score; by default 0.").Int(&k.Priority, 0, maxPriority)
	m.Key("concurrent", "How many loops of this kind may be active at once in a run, anywhere in the tree; by default the kind has no limit of its own.").Int(&k.Concurrent, 1, maxLoops)
	strictyaml.Sub(m.Key("extract", "A session after each judged iteration that hands in what is worth remembering. Its failure never fails the work."), "step", &k.Extract, readStep)
}

func readBands(m *strictyaml.Map, b *pawl.Bands) {
	m.Key("from", "The step whose assessment gives the score, 0 to 14. It runs once, before the first iteration.").Name(&b.From)
	m.Key("unknown", "The score if there is no assessment.").Int(&b.Unknown, 0, maxScore)
	strictyaml.List(m.Key("bands", "Which scores start on which tier, rising, the last up to 14."), "band", &b.Tiers, func(m *strictyaml.Map, b *pawl.Band) {
		m.Need("max", "The highest score of the band.").Int(&b.Max, 0, maxScore)
		m.Need("tier", "The tier its tasks start on.").Int(&b.Tier, 1, 3)
		m.Key("name", "What reports call it.").Name(&b.Name)
	})
}

func readStep(m *strictyaml.Map, s *pawl.Step) {
	m.Need("name", "The step's name, unique in its kind.").Name(&s.Name)
	m.Key("role", "Who the agent is; by default the step's name.").Name(&s.Role)
	prompt(m.Key("prompt", "The file of the prompt template; by default the step's name and `.md`."), &s.Prompt)
	m.Key("tools", "The tools the agent may call.").Words(&s.Tools, tools...)
	strictyaml.List(m.Key("limits", "How often single tools may be called in the session; calls beyond the limit get an error."), "limit", &s.Limits, func(m *strictyaml.Map, l *pawl.ToolLimit) {
		m.Need("tool", "One of the step's tools.").Word(&l.Tool, tools...)
		m.Need("max", "How many calls.").Int(&l.Max, 1, maxCalls)
	})
	m.Key("tier", "A fixed tier; by default the loop's, which the ladder raises.").Int(&s.Tier, 1, 3)
	m.Key("tier_from", "The field of the loop's own entry in its parent's list that the loop's first tier comes from.").Word(&s.TierFrom, tierFields...)
	m.Key("output", "The structured result that the agent hands in with the tool `submit_` and this name; for `create_plan`, `create_spec` and `create_phase`, with the tool of that name.").Word(&s.Output, outputs...)
	m.Key("required", "Whether the session fails without that result; otherwise its last text takes its place.").Bool(&s.Required)
	strictyaml.Sub(m.Key("check", "What the harness checks itself, and the decision that it then demands."), "check", &s.Check, func(m *strictyaml.Map, c *pawl.Check) {
		m.Need("name", "many_steps: does the goal look like more than one task?").Word(&c.Name, signs...)
		m.Need("demands", "The decision. An agent that decides otherwise is asked again and shown the signs; then the check decides.").Match(&c.Demands, decisionPattern, aDecision)
		m.Key("over", "The decisions that it overrules; by default all others.").Texts(&c.Over)
	})
	m.Key("turns", "The limit on model calls; by default 20.").Int(&s.Turns, 1, 200)
	readCap(m, &s.Cap)
	m.Key("turn_cap", "What follows when that limit is reached: the attempt fails, or the gates judge what was made; by default `fail`.").Word((*string)(&s.TurnCap), "fail", "judge")
	var reminder = !s.NoReminder
	m.Key("reminder", "Whether the agent is reminded of its task, with goal and description whole, after each batch of tool results; by default yes.").Bool(&reminder)
	s.NoReminder = !reminder
	m.Key("timeout_ms", "The time limit of the whole session. A step that runs out of time runs once more with twice the time, which stays for the rest of the loop.").Time(&s.Timeout, time.Millisecond, 24*hour)
	m.Key("time_cap", "What follows when that is not enough either: the attempt fails, or, if anything differs from the base, the gates and reviews judge what was made; by default `fail`.").Word((*string)(&s.TimeCap), "fail", "judge")
	m.Key("first", "Whether the step runs only in the first iteration.").Bool(&s.First)
	strictyaml.Sub(m.Key("when", "When the step runs; by default always."), "when", &s.When, readWhen)
	m.Key("append", "Whether outputs of earlier rounds and retries are kept with it.").Bool(&s.Append)
	m.Key("keep", "Whether the output outlives the iteration.").Bool(&s.Keep)
	m.Key("for_each", "Runs the step once per entry of an earlier step's list, written STEP.FIELD; in `after_batch`, `result.FIELD` means the lists of all the group's children.").Match(&s.ForEach, `^[a-z0-9_-]+\.[a-z0-9_]+$`, "STEP.FIELD")
	m.Key("parallel", "How many of these run at once; by default 1.").Int(&s.Parallel, 1, 64)
	m.Key("questions", "Whether the agent may hand in questions: the loop then waits for a person, and the step runs again with the answers, 3 times at most.").Bool(&s.Questions)
	strictyaml.Sub(m.Key("memory", "What the agent is shown of the run's memory."), "memory", &s.Memory, readMemory)
	strictyaml.Sub(m.Key("repeat", "Makes the step a group that repeats; it then has only a name, `when` and `repeat`."), "repeat", &s.Repeat, readRepeat)
	if s.Role == "" && s.Repeat == nil {
		s.Role = s.Name
	}
	if s.Prompt == "" && s.Repeat == nil && s.Name != "" {
		s.Prompt = s.Name + ".md"
	}
}

// readCap reads what a session of a coding agent may use.
func readCap(m *strictyaml.Map, c *pawl.SessionCap) {
	m.Key("session_limit", "What a session may use if a coding agent holds it, at list prices; by default what the setting `limits.session` says.").Map(func(m *strictyaml.Map) {
		money := m.Key("money_usd", "Dollars, more than 0.")
		money.Dollars(&c.Money, maxSessionDollars)
		if money.Given() && c.Money == 0 {
			m.Problem("money_usd", "want more than 0 dollars")
		}
		tokens := int(c.Tokens)
		m.Key("tokens", "Tokens, including those read from a cache.").Int(&tokens, 1, maxSessionTokens)
		c.Tokens = int64(tokens)
	})
}

// What a recipe may let a session use at most.
const (
	maxSessionDollars = 1_000_000
	maxSessionTokens  = 1_000_000_000_000
)

func prompt(f *strictyaml.Field, v *string) {
	f.Match(v, `^[a-z0-9][a-z0-9_-]{0,63}\.md$`, "a file name such as plan.md")
}

func readRepeat(m *strictyaml.Map, r *pawl.Repeat) {
	m.Need("max", "How many rounds at most.").Int(&r.Max, 1, 100)
	m.Need("until", "The decisions that end it, tested after every step of the group.").Texts(&r.Until)
	m.Need("on_max", "What follows when the last round ends without one of them.").Word(&r.OnMax, "continue", "fail", "ask")
	strictyaml.List(m.Need("steps", "The steps of a round, in order."), "step", &r.Steps, readStep)
}

func readWhen(m *strictyaml.Map, w *pawl.When) {
	m.Key("decision", "Only after one of these decisions of the step before.").Texts(&w.Decision)
	m.Key("tier", "Only while the loop is on one of these tiers.").Ints(&w.Tier, 1, 3)
	m.Key("verification", "Only when the loop's own entry in its parent's list asks for one of these verification tiers: 1 by checks of the harness, 2 by a second model too, 3 by several.").Ints(&w.Verification, 1, 3)
	scaffold, is := m.Key("scaffold", "Only when the loop's own entry in its parent's list is marked as scaffold, or only when it is not."), new(bool)
	if scaffold.Bool(is); scaffold.Given() {
		w.Scaffold = is
	}
	m.Key("output", "Only after a step of the loop has handed in one of these results, by its name.").Texts(&w.Output)
	criteria, given := m.Key("criteria", "Only when the user gave criteria, or only when the user gave none."), new(bool)
	if criteria.Bool(given); criteria.Given() {
		w.Criteria = given
	}
	var verdict []string
	m.Key("verdict", "Only in `extract`: only if the iteration passed, or failed.").Words(&verdict, "pass", "fail")
	if verdict != nil {
		w.Verdict = nil
	}
	for _, v := range verdict {
		w.Verdict = append(w.Verdict, pawl.Verdict(v))
	}
}

func readStage(m *strictyaml.Map, s *pawl.Stage) {
	m.Need("name", "The gate's name, unique in its kind.").Name(&s.Name)
	m.Key("commands", "Runs the configured command gates of these kinds in parallel; `all` means every one.").Words(&s.Commands, append([]string{"all"}, gateKinds...)...)
	for i, c := range s.Commands {
		if c == "all" {
			s.Commands[i] = "*"
		}
	}
	strictyaml.Sub(m.Key("review", "A model judges the candidate."), "review", &s.Review, readReview("verdict"))
	if s.Review != nil && s.Review.Prompt == "" && s.Name != "" {
		s.Review.Prompt = s.Name + ".md"
	}
	m.Key("builtin", "A check that the harness makes itself.").Word(&s.Builtin, checks...)
	m.Key("human", "Asks a person.").Bool(&s.Human)
	m.Key("timeout_ms", "The time limit of each gate that has none of its own; by default a multiple of what the gate took on the base.").Time(&s.Timeout, time.Millisecond, 24*hour)
	strictyaml.Sub(m.Key("when", "When the gate judges; by default always."), "when", &s.When, readWhen)
	m.Key("on", "Where a review's verdict other than pass and fail leads.").Map(func(m *strictyaml.Map) {
		for _, v := range verdicts {
			route(m.Key(string(v), "Where "+string(v)+" leads."), v, s)
		}
	})
}

func route(f *strictyaml.Field, v pawl.Verdict, s *pawl.Stage) {
	var r *pawl.Route
	strictyaml.Sub(f, "route", &r, func(m *strictyaml.Map, r *pawl.Route) {
		m.Need("from", "The step to go back to, or `start`.").Name(&r.From)
		m.Need("max", "How often.").Int(&r.Max, 1, 100)
		m.Need("then", "What follows after that.").Word(&r.Then, "fail", "ask")
	})
	if r != nil {
		if s.On == nil {
			s.On = map[pawl.Verdict]pawl.Route{}
		}
		s.On[v] = *r
	}
}

// readReview reads a review that hands in this output when nothing else is said.
func readMemory(m *strictyaml.Map, v *pawl.Memory) {
	m.Need("select", "All entries, or those that concern the loop.").Word(&v.Select, "all", "relevant")
	m.Need("max_tokens", "The most tokens that they may take.").Int(&v.MaxTokens, 1, 100_000)
}

func readReview(output string) func(*strictyaml.Map, *pawl.Review) {
	return func(m *strictyaml.Map, r *pawl.Review) {
		r.Output = output
		reviewFields(m, r)
	}
}

func reviewFields(m *strictyaml.Map, r *pawl.Review) {
	m.Need("role", "Who the reviewer is.").Name(&r.Role)
	prompt(m.Key("prompt", "The file of the prompt template; by default the gate's name and `.md`, and `review.md` for a group."), &r.Prompt)
	m.Key("tools", "The tools the reviewer may call.").Words(&r.Tools, tools...)
	m.Need("tier", "The reviewer's tier.").Int(&r.Tier, 1, 3)
	m.Key("output", "What the reviewer hands in: `verdict` for the review of a gate, `batch` for the judge of a group. It may be left out.").Word(&r.Output, "verdict", "batch")
	m.Key("turns", "The limit on model calls; by default 20.").Int(&r.Turns, 1, 200)
	readCap(m, &r.Cap)
	m.Key("votes", "How many reviewers judge independently: if they agree, that decides; otherwise a person is asked. By default 1.").Int(&r.Votes, 1, 9)
	strictyaml.Sub(m.Key("memory", "What the reviewer is shown of the run's memory."), "memory", &r.Memory, readMemory)
	r.Unfilled = pawl.Unfilled(orElse(string(r.Unfilled), string(pawl.UnfilledAsk)))
	m.Key("unfilled", "What follows if no reviewer hands in a result, each one a tier stronger than the one before: a person is asked, or it counts as a failure of the work; by default `ask`.").Word((*string)(&r.Unfilled), "ask", "fail")
}

func readLadder(m *strictyaml.Map, l *pawl.Ladder) {
	strictyaml.List(m.Key("rungs", "How many consecutive failures each tier may have, by rising tier."), "rung", &l.Rungs, func(m *strictyaml.Map, r *pawl.Rung) {
		m.Need("tier", "The tier.").Int(&r.Tier, 1, 3)
		m.Need("failures", "The failures before the next rung.").Int(&r.Failures, 1, 100)
	})
	m.Key("stuck", "How many similar failures in a row mean that the loop is stuck; by default Pawl does not look for this.").Int(&l.Stuck, 2, pawl.MaxStuck)
	strictyaml.Sub(m.Key("council", "Convenes after the last rung."), "council", &l.Council, readCouncil)
	m.Key("then", "What follows when all of this is used up; by default `blocked`.").Word(&l.Then, "blocked", "fail", "replan", "ask")
}

func readCouncil(m *strictyaml.Map, c *pawl.Council) {
	strictyaml.List(m.Need("lenses", "The members, each with a point of view."), "lens", &c.Lenses, func(m *strictyaml.Map, l *pawl.Lens) {
		m.Need("name", "The member's name.").Text(&l.Name)
		m.Need("focus", "What it looks at, in a sentence.").Text(&l.Focus)
	})
	m.Need("tier", "The members' tier.").Int(&c.Tier, 1, 3)
	m.Key("tools", "The tools a member may call while it makes its proposal.").Words(&c.Tools, tools...)
	c.Propose, c.Ballot = orElse(c.Propose, "propose.md"), orElse(c.Ballot, "ballot.md")
	prompt(m.Key("propose", "The prompt template of a proposal; by default `propose.md`."), &c.Propose)
	prompt(m.Key("ballot", "The prompt template of a ballot; by default `ballot.md`."), &c.Ballot)
	m.Key("turns", "The limit on a session's model calls; by default 20.").Int(&c.Turns, 1, 200)
	readCap(m, &c.Cap)
	m.Key("timeout_ms", "The time limit of a session.").Time(&c.Timeout, time.Millisecond, 24*hour)
	m.Need("attempts", "How many iterations follow a council before the ladder's `then`.").Int(&c.Attempts, 1, 100)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func readApproval(m *strictyaml.Map, a *pawl.Approval) {
	m.Need("by", "Who approves: a person; nobody; a person for every child; a person if confidence is low.").Word(&a.By, approvals...)
	m.Key("threshold", "The lowest confidence, in percent, that needs no person; by default 80.").Int(&a.Threshold, 1, 100)
}

func readChildren(m *strictyaml.Map, c *pawl.Children) {
	m.Need("from", "The step whose output lists the children.").Name(&c.From)
	m.Need("kind", "Their kind.").Name(&c.Kind)
	m.Need("order", "Which of the children that can run goes first.").Word(&c.Order, orders...)
	m.Need("parallel", "How many run at once.").Int(&c.Parallel, 1, 64)
	m.Key("limit", "How many run at most; by default all.").Int(&c.Limit, 1, 1000)
	strictyaml.Sub(m.Key("when", "When children are spawned; by default always."), "when", &c.When, readWhen)
	readHome(m, c)
	strictyaml.List(m.Key("before_batch", "Steps before each group is worked on, in the parent."), "step", &c.BeforeBatch, readStep)
	strictyaml.List(m.Key("after_batch", "Steps after each group, in the parent."), "step", &c.AfterBatch, readStep)
	m.Key("scaffold_first", "Whether entries marked as scaffold run before all others.").Bool(&c.ScaffoldFirst)
	m.Key("checkpoint", "Whether each group of which something was approved leaves a checkpoint, a state that the run can go back to.").Bool(&c.Checkpoint)
	readMonitor(m.Key("monitor", "What each health of the groups except PROGRESSING leads to. By default there is no monitor."), &c.Monitor, health, recoveries, func(m *strictyaml.Map) {
		m.Key("rules", "`seed`: a pass rate that falls twice in a row is REGRESSING, whatever else improves. By default it is not if the branch gains tests or what was sent back comes nearer.").Word((*string)(&c.MonitorRules), monitorRules...)
	})
	m.Key("recoveries", "How often one health may lead there before a person is asked, counted since the last good checkpoint; by default 2.").Int(&c.Recoveries, 1, 10)
	strictyaml.Sub(m.Key("replan", "When the list is made again."), "replan", &c.Replan, func(m *strictyaml.Map, r *pawl.Replan) {
		m.Key("on", "What causes it; an empty list if only a monitor or a ladder does.").Words(&r.On, "failure", "discovery")
		m.Key("every", "After how many completed children it is made again in any case; by default never.").Int(&r.Every, 1, 1000)
		m.Need("max_versions", "The highest version of the list; beyond it a person is asked.").Int(&r.MaxVersions, 1, 100)
		r.Prompt = orElse(r.Prompt, "replan.md")
		prompt(m.Key("prompt", "The file of the prompt template; by default `replan.md`."), &r.Prompt)
		m.Key("bare", "Whether the prompt shows what its template shows and nothing else: neither the run's id nor the repository's instructions.").Bool(&r.Bare)
	})
}

// readMonitor reads what each health leads to, and what else there is; more may be nil.
func readMonitor(f *strictyaml.Field, v *map[string][]string, health, recoveries []string, more func(*strictyaml.Map)) {
	f.Map(func(m *strictyaml.Map) {
		for _, status := range health {
			var to []string
			m.Key(status, "What "+status+" leads to, in order.").Words(&to, recoveries...)
			if to != nil {
				if *v == nil {
					*v = map[string][]string{}
				}
				(*v)[status] = to
			}
		}
		if more != nil {
			more(m)
		}
	})
}

// readHome reads how children begin and how their work comes home.
func readHome(m *strictyaml.Map, c *pawl.Children) {
	c.Admit = pawl.Admission(orElse(string(c.Admit), string(pawl.AdmitReady)))
	m.Key("admit", "When a child is created: when it can start (`ready`), or together with all others when their list is accepted, to wait for its turn (`eager`); by default `ready`.").Word((*string)(&c.Admit), admissions...)
	m.Key("group", "How many land together and are judged as a whole: 1, each by itself; at most N, and with `land: approved` never more than run at once; `all` that are ready. A group does not wait for more to be ready. By default 1.").IntOr(&c.Group, 1, maxGroup, "all", pawl.GroupAll)
	strictyaml.Sub(m.Key("judge", "Judges a whole group, each member by itself; with `land: best` it picks one."), "judge", &c.Judge, readReview("batch"))
	if c.Judge != nil && c.Judge.Prompt == "" {
		c.Judge.Prompt = "review.md"
	}
	m.Key("land", "Which members of a group land: those that pass (`approved`), all or none (`all`), or the one that the judge picks, and the others are dropped (`best`). By default `approved`.").Word((*string)(&c.Land), landings...)
	m.Key("on_failure", "What follows when a child has finally failed: those that depend on it are blocked (`block`), they are worked on anyway (`continue`), nothing more starts (`stop`), or the parent's iteration fails, and when the parent starts over, its children and all below them no longer count (`restart_parent`). By default `block`.").Word((*string)(&c.OnFailure), failures...)
	m.Gone("cascade", "say admit: eager and on_failure: restart_parent")
	m.Gone("batch", "say group: 1 for rolling, and the size of a group for barrier, such as group: 12")
	m.Gone("review", "say judge: with the same mapping, and group: with how many it judges at once, such as 12")
}
