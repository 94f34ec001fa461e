package kernel

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// chance answers effects at random, from a seed: every reply and every failure
// the world may come up with, each often enough to meet the others.
type chance struct {
	*rand.Rand
	seed  uint64
	w     *world
	calm  bool // nothing fails any more
	rare  int  // how much rarer than usual things go wrong; 0 = as usual
	moves bool // the branch moves while no worktree is open

	more *rand.Rand // of what was added since the seeds of TestTreeSimulation were found; nil = nothing is

	grove *grove // of a run with children
	field *field // of one whose batches are judged as a whole
	wood  *wood  // of one whose children stand on artifacts
	mix   *mixed // of one whose children come home in any way
	tasks int    // how many its first plan has
}

func newChance(w *world, seed uint64) *chance {
	c := &chance{seed: seed, w: w}
	w.perTask = seed%3 == 0 && !slices.Contains(found, seed)
	c.begin()
	return c
}

// begin seeds the random numbers and makes c answer the world's effects.
func (c *chance) begin() {
	c.Rand, c.more, c.w.happens = rand.New(rand.NewPCG(c.seed, 1)), nil, c.happens
	if !slices.Contains(found, c.seed) {
		c.more = rand.New(rand.NewPCG(c.seed, 2))
	}
}

// keepBooks passes the world's events to the books of its run, if it has any.
func (c *chance) keepBooks() {
	switch w := c.w; {
	case c.mix != nil:
		w.watch = c.mix.saw
	case c.wood != nil:
		w.watch, w.look = c.wood.saw, c.wood.settled
	case c.field != nil:
		w.watch, w.look = c.field.saw, c.field.settled
	case c.grove != nil:
		w.watch, w.look = c.grove.saw, c.grove.settled
	}
}

// calm returns a world that can replay the log of another one and in which nothing fails.
func calm(of *world, seed uint64, books func(*chance)) *chance {
	c := newChance(newWorld(of.t), seed)
	c.w.lists, c.w.trees = maps.Clone(of.lists), maps.Clone(of.trees)
	c.calm, c.tasks = true, 4
	books(c)
	return c
}

// clone copies a world and its books, so that a test can continue the run in more than one way
// from here. The copy's random numbers start from the beginning.
func (c *chance) clone() *chance {
	n := copyOf(c)
	n.begin()
	if n.w.watch != nil {
		n.keepBooks()
	}
	return n
}

// in reports true once in n times, and never when all is calm.
func (c *chance) in(n int) bool { return !c.calm && c.IntN(n*max(c.rare, 1)) == 0 }

func pick[T any](c *chance, from ...T) T { return from[c.IntN(len(from))] }

func (c *chance) happens(f *pawl.Effect) (pawl.Answer, time.Duration) {
	takes := time.Duration(c.IntN(60)) * time.Second
	if c.in(40) {
		takes = 2 * time.Hour
	}
	switch do := f.Do.(type) {
	case *pawl.Wait:
		return &pawl.WaitEnded{Effect: f.ID}, do.For
	case *pawl.AssemblePrompt:
		if c.in(30) {
			return failed(f, pick(c, pawl.FailMachine, pawl.FailMachine, pawl.FailMachine, pawl.FailDefect), "no prompt"), takes
		}
		return prompted(f, int64(c.IntN(30_000))), time.Second
	case *pawl.CallModel:
		return c.model(f), takes
	case *pawl.CallTool:
		return c.tool(f, do), takes
	case *pawl.RunGate:
		if c.in(15) {
			return failed(f, pawl.FailMachine, "no sandbox"), takes
		}
		return c.gate(f), takes
	case *pawl.Prepare:
		return c.prepare(f, do), takes
	case *pawl.Examine:
		return c.examine(f, do), takes
	case *pawl.WeighGoals:
		return c.weigh(f, do), takes
	}
	if c.field != nil && c.field.happened[f.ID] { // to look whether it has happened is enough
		takes = time.Second
	} else if c.in(25) {
		return failed(f, pick(c, pawl.FailMachine, pawl.FailMachine, pawl.FailMachine, pawl.FailMachine, pawl.FailConflict), "git says no"), takes
	}
	if a := c.tree(f); a != nil {
		return a, takes
	}
	return c.worktree(f), takes
}

// prompted is a prompt of a size, with the reminder that it is asked for.
func prompted(f *pawl.Effect, size int64) *pawl.PromptAssembled {
	b := &pawl.PromptAssembled{Effect: f.ID, System: blobOf("system"), Prompt: blobOf("prompt"), Tools: blobOf("tools"), Bytes: size}
	if do := f.Do.(*pawl.AssemblePrompt); do.Remind {
		b.Reminder, b.ReminderBytes = blobOf("reminder of "+do.Task.String()), 500
	}
	return b
}

// prepare prepares a commit: every third has dependencies of its own.
func (c *chance) prepare(f *pawl.Effect, do *pawl.Prepare) pawl.Answer {
	if c.in(15) {
		return failed(f, pick(c, pawl.FailMachine, pawl.FailTimeout), "no registry")
	}
	b := &pawl.Prepared{Effect: f.ID, Key: "key", Duration: time.Second}
	if sum := brief.Fingerprint(string(do.Commit)); sum%3 == 0 {
		b.Key = fmt.Sprint("key-", sum)
		if sum%2 == 0 && do.Commit != "c0" {
			b.Failed, b.Evidence = "prepare failed", blobOf("prepare")
		}
	}
	return b
}

// examine looks at a candidate: every third wants gates to run once more, and every other has
// findings, which other candidates have too. What it says depends on the commit alone.
func (c *chance) examine(f *pawl.Effect, do *pawl.Examine) pawl.Answer {
	sum := brief.Fingerprint(string(do.Commit))
	if sum%11 == 0 && !c.calm {
		return failed(f, pick(c, pawl.FailMachine, pawl.FailTimeout), "no git")
	}
	b := &pawl.Examined{Effect: f.ID, Evidence: blobOf("evidence of " + string(do.Commit)), Added: int(sum / 5 % 4 / 3)}
	if len(do.Further) == 0 && len(do.Reports) > 0 && sum%3 == 0 && !do.Static {
		b.Runs = []pawl.FurtherRun{{On: pawl.TreeExpected, Commit: do.Commit + "x", Gates: []string{do.Reports[0].Gate}, Fresh: sum%2 == 0, Reason: "tests changed"},
			{On: pawl.TreeReverted, Commit: do.Commit + "r", Gates: []string{do.Reports[len(do.Reports)-1].Gate}, Reason: "new tests"}}
		return b
	}
	if sum%2 == 0 {
		for i := range sum / 2 % 4 {
			kind := pawl.FindingKinds[int(sum/8+i)%len(pawl.FindingKinds)]
			b.Found = append(b.Found, pawl.Finding{Kind: kind, Path: fmt.Sprintf("%s%d.go", kind, sum%3), Tests: []string{"TestA", "TestB"}, Text: "it changed", Detail: "- 1", Print: 1 + (sum/8+i)%17})
		}
		b.Remarks = []string{"only worth knowing"}
	}
	return b
}

// weigh finds goal tests: every other candidate has some red, every third mended some that have to stay
// green. What it says depends on the commit alone.
func (c *chance) weigh(f *pawl.Effect, do *pawl.WeighGoals) pawl.Answer {
	sum := brief.Fingerprint("goals of " + string(do.Commit))
	if sum%11 == 0 && !c.calm {
		return failed(f, pick(c, pawl.FailMachine, pawl.FailTimeout), "no git")
	}
	b := &pawl.GoalsWeighed{Effect: f.ID, Commit: do.Commit, Count: 4, Weak: 2, Goals: blobOf("goals")}
	switch {
	case do.Commit == "":
		b.Picked = []pawl.GoalTest{{Gate: "tests", Name: "TestA", Why: pawl.GoalAsked}}
		return b
	case len(do.Again) == 0 && len(do.Reports) > 0 && sum%3 == 0:
		b.Again = []string{do.Reports[0].Gate}
		return b
	}
	if !c.calm {
		b.Red, b.RedWeak = int(sum/3%4)/3, int(sum/16%3)/2*int(1+sum/64%2)
	}
	for i := range b.Red + b.RedWeak {
		b.Failing = append(b.Failing, fmt.Sprint("Test", i))
	}
	b.Unsure = sum%5 == 0 && do.Evidence.IsZero()
	return b
}

// answerFindings has a reviewer answer for every other finding.
func (c *chance) answerFindings(l *Loop, use *pawl.ToolUse) {
	for i, e := range c.w.state.reviewable(l) {
		switch {
		case (uint64(i)+c.seed)%3 == 0:
			use.Facts = append(use.Facts, pawl.Fact{Name: "accepted", Value: e.ID}, pawl.Fact{Name: "quote", Value: "change it"})
		case (uint64(i)+c.seed)%3 == 1:
			use.Facts = append(use.Facts, pawl.Fact{Name: "refused", Value: e.ID}, pawl.Fact{Name: "why", Value: "nobody asks for it"})
		}
	}
}

func (c *chance) worktree(f *pawl.Effect) pawl.Answer {
	switch do := f.Do.(type) {
	case *pawl.OpenWorkspace:
		return &pawl.WorkspaceOpened{Effect: f.ID}
	case *pawl.Publish:
		return &pawl.Published{Effect: f.ID}
	case *pawl.InspectWorkspace:
		return &pawl.WorkspaceInspected{Effect: f.ID}
	case *pawl.ResetWorkspace:
		b := &pawl.WorkspaceReset{Effect: f.ID, Salvage: do.Salvage}
		if do.Diff {
			b.Diff = blobOf("what was removed")
		}
		return b
	case *pawl.CloseWorkspace:
		return &pawl.WorkspaceClosed{Effect: f.ID}
	}
	b := &pawl.Committed{Effect: f.ID, Files: 1, Total: 1, FileSet: brief.Fingerprint(fmt.Sprint(c.IntN(4))), Paths: blobOf("paths")}
	if c.grove == nil && c.wood == nil && c.mix == nil && c.in(3) {
		b.Tree = pawl.TreeHash(fmt.Sprint("T", c.IntN(3)))
	}
	if do := f.Do.(*pawl.Commit); (c.grove != nil || c.wood != nil || c.mix != nil) && do.Parent == do.Base && c.in(8) { // there was nothing to do
		b.Files, b.Total, b.FileSet, b.Paths, b.Tree = 0, 0, 0, pawl.Hash{}, c.w.treeAt(do.Parent)
	}
	if c.field != nil {
		c.batchWork(f, b)
	}
	return b
}

func (c *chance) tool(f *pawl.Effect, do *pawl.CallTool) pawl.Answer {
	if c.in(20) {
		return failed(f, pick(c, pawl.FailMachine, pawl.FailDefect), "no tool")
	}
	return &pawl.ToolReturned{Effect: f.ID, Output: blobOf(do.Tool), Bytes: int64(c.IntN(5000)), IsError: c.in(4),
		Conflict: f.Class == pawl.CrashProbe && c.in(60)}
}

func (c *chance) gate(f *pawl.Effect) pawl.Answer {
	b := &pawl.GateJudged{Effect: f.ID, Verdict: pawl.VerdictPass, Reason: "fine", Evidence: blobOf(fmt.Sprint("evidence", f.ID))}
	if do, ok := f.Do.(*pawl.RunGate); ok {
		b.Again = !do.Doubt.IsZero()
		if !do.OnBase && c.seed%7 > 0 {
			b.Kept = 3
		}
	}
	b.WasGreen = c.seed%3 == 0
	if c.field != nil {
		defer c.batchGate(f, b)
	}
	if !c.in(2) {
		return b
	}
	b.Verdict = pick(c, pawl.VerdictFail, pawl.VerdictFail, pawl.VerdictFail, pawl.VerdictFail, pawl.VerdictSkip, pawl.VerdictRevise, pawl.VerdictPass)
	b.Failing, b.Found, b.Error = uint64(c.IntN(3)), uint64(c.IntN(3)), uint64(c.IntN(3))
	b.Partial, b.RedAtBase, b.Reason = c.in(5), c.in(5), strings.Repeat("why ", c.IntN(100))
	b.Duration = time.Duration(c.seed%40) * time.Minute
	if c.seed%5 == 1 { // nothing is drawn for it, so that other runs stay as they are
		b.Missing = "program"
	}
	if c.in(20) {
		b.Verdict, b.Critical = pawl.VerdictHalt, 1
	}
	return b
}

func (c *chance) model(f *pawl.Effect) pawl.Answer {
	if c.in(12) {
		out := failed(f, pawl.FailureCode(pick(c, pawl.ModelRateLimit, pawl.ModelOverloaded, pawl.ModelNetwork, pawl.ModelTimeout,
			pawl.ModelOverloaded, pawl.ModelRefused, pawl.ModelContextLong, pick(c, pawl.ModelAuth, pawl.ModelNoServer, pawl.ModelQuota, pawl.ModelOverloaded))), "no")
		out.Failure.Wait = time.Duration(c.IntN(2)*c.IntN(100)) * time.Second
		switch c.IntN(4) {
		case 0:
			out.Failure.Unsent = true
		case 1:
			out.Failure.Free = true
		case 2:
			out.Failure.Used, out.Failure.Estimated = pawl.Usage{Input: int64(1 + c.IntN(8000)), Output: int64(c.IntN(100))}, c.IntN(2) == 0
		}
		return out
	}
	do := f.Do.(*pawl.CallModel)
	b := &pawl.ModelReplied{Effect: f.ID, Message: blobOf(fmt.Sprint("m", f.ID)), Bytes: int64(c.IntN(3000)), Stop: pawl.StopToolUse, Model: "m",
		Usage: pawl.Usage{Input: int64(c.IntN(8000)), CacheRead: int64(c.IntN(1000)), Output: int64(c.IntN(do.MaxOutput + 1))}}
	if c.in(20) {
		b.Stop = pawl.StopMaxOutput
	}
	switch n := c.IntN(10); {
	case c.calm || n < 5:
		b.Calls = []pawl.ToolUse{c.submit(f)}
	case n < 9:
		for range 1 + c.IntN(5) {
			b.Calls = append(b.Calls, c.use(f))
		}
	default:
		b.Text, b.Stop = blobOf("text"), pick(c, pawl.StopEnd, pawl.StopMaxOutput)
	}
	return b
}

func (c *chance) use(f *pawl.Effect) pawl.ToolUse {
	if c.grove != nil && c.IntN(4) == 0 {
		return c.harnessUse(f)
	}
	use := pawl.ToolUse{Tool: "tool", Args: blobOf("args"), Class: pick(c, pawl.CrashRepeat, pawl.CrashRepeat, pawl.CrashProbe, pawl.CrashOnce, 0)}
	if c.in(10) {
		return c.submit(f)
	}
	if c.in(10) {
		use.Problem = strings.Repeat("bad ", 1+c.IntN(200))
	}
	return use
}

func (c *chance) submit(f *pawl.Effect) pawl.ToolUse {
	l := c.w.state.Loop(f.Loop)
	output, _ := (&draft{}).owed(l, l.sessionByN(f.Session))
	use := pawl.ToolUse{Tool: "submit_" + output, Submit: true, Args: blobOf(fmt.Sprint("args", f.ID))}
	fact := func(name, value string) { use.Facts = append(use.Facts, pawl.Fact{Name: name, Value: value}) }
	switch {
	case c.in(8):
		use.Problem = "does not fit"
		if c.more != nil && c.more.IntN(2) == 0 {
			use.Trimmed = blobOf("trimmed")
		}
	case output == "plan" && c.mix != nil:
		use.Args = c.mixList(f)
	case output == "batch" && c.mix != nil:
		c.mixReview(l, &use)
	case output == "plan" && c.wood != nil:
		use.Args = c.artifact(f)
		c.lists(&use)
	case output == "plan":
		use.Args = c.planFor(f)
		c.lists(&use)
	case output == "result", output == "note":
		c.lists(&use)
	case output == "next":
		fact("decision", pick(c, "EXECUTE", "EXECUTE", "COMPLETE"))
	case output == "learnings":
		fact(string(pick(c, pawl.MemoryKinds...)), blobOf("learned").String())
	case output == "verdict" && c.grove != nil && c.in(4):
		fact("decision", pick(c, "revise", "retry", "fail", "halt"))
		fact("confidence", fmt.Sprint(c.IntN(100)))
	case output == "assessment":
		fact("files", fmt.Sprint(c.IntN(12)))
		fact("lines", fmt.Sprint(c.IntN(500)))
		fact("type", pick(c, "test", "architecture", "nonsense"))
		if f.ID%2 == 0 {
			fact(pawl.FactGoalTests, "1")
		}
	case output == "verdict" && c.in(3):
		fact("decision", pick(c, "fail", "halt", "pass", ""))
		fact("unmet", pick(c, "AC-1", "AC-2"))
	case output == "verdict":
		fact("decision", "pass")
	case output == proposalOutput:
		fact("confidence", fmt.Sprint(c.IntN(120)-10))
	case output == ballotOutput:
		for range c.IntN(6) {
			fact("rank", pick(c, "A", "B", "C", "D", "E", "Z", ""))
		}
	}
	if output == "verdict" && use.Problem == "" {
		c.answerFindings(l, &use)
	}
	if c.field != nil && use.Problem == "" {
		c.batchUse(f, output, &use)
	}
	return use
}

// lists lets a result have a list that a step runs for, and questions.
func (c *chance) lists(use *pawl.ToolUse) {
	if c.more == nil {
		return
	}
	if c.more.IntN(4) > 0 {
		use.Facts = append(use.Facts, pawl.Fact{Name: "decisions", Value: fmt.Sprint(c.more.IntN(6))})
	}
	for range c.more.IntN(3) {
		use.Facts = append(use.Facts, pawl.Fact{Name: "decision-text", Value: blobOf("we take it").String()})
	}
	if c.more.IntN(2) > 0 {
		use.Facts = append(use.Facts, pawl.Fact{Name: "questions", Value: fmt.Sprint(c.more.IntN(4))})
	}
}

// forEach adds a step that runs for each entry of an earlier one's list, now and then.
func (c *chance) forEach(k *pawl.LoopKind, of string) {
	if c.more == nil || c.more.IntN(3) > 0 {
		return
	}
	k.Steps = append(k.Steps, pawl.Step{Name: "record", Output: "note", ForEach: of + ".decisions", Parallel: c.more.IntN(4), Append: true, Required: true,
		Turns: 1 + c.more.IntN(4), Timeout: time.Duration(c.more.IntN(3)) * 2 * time.Minute})
}

// recipe is the tests' recipe, varied.
func (c *chance) recipe() *pawl.Recipe {
	r := taskLoop()
	k := &r.Kinds[0]
	if c.in(2) {
		k.Complexity, k.Steps = nil, k.Steps[1:]
	}
	last := &k.Steps[len(k.Steps)-1]
	last.Turns, last.Required, last.NoReminder = 1+c.IntN(6), c.in(2), c.in(4)
	last.Timeout = time.Duration(c.IntN(3)) * 2 * time.Minute
	c.forEach(k, "result")
	if c.in(3) {
		k.Steps = append(k.Steps, pawl.Step{Name: "polish", Output: "result", Append: true, Keep: c.in(2), Tier: c.IntN(4), When: &pawl.When{Tier: []int{1, 3}}})
	}
	if c.in(4) {
		k.Gates = k.Gates[:1]
	}
	if c.in(4) {
		k.Gates = append(k.Gates, pawl.Stage{Name: "again", Commands: []string{"tests"}, When: &pawl.When{Tier: []int{2, 3}}})
	}
	for i := range k.Ladder.Rungs {
		k.Ladder.Rungs[i].Failures = c.IntN(4)
	}
	k.Ladder.Stuck, k.Ladder.Council.Attempts, k.Ladder.Then = pick(c, 0, 2, 3, 3), c.IntN(3), pick(c, "", "blocked", "fail")
	k.Ladder.Council.Lenses = k.Ladder.Council.Lenses[:1+c.IntN(5)]
	if c.in(4) {
		k.Ladder.Council = nil
	}
	return r
}

func (c *chance) settings() *pawl.Settings {
	s := settings()
	for _, name := range []string{"tests", "types", "lint", "security"} {
		if c.in(2) {
			g := gate(name)
			g.Optional = c.in(4)
			s.Gates = append(s.Gates, g)
		}
	}
	s.Limits = c.limits()
	s.Retry.Tries, s.Retry.Pauses = 1+c.IntN(3), c.IntN(2)
	s.HaltOn = slices.DeleteFunc(s.HaltOn, func(h pawl.HaltCondition) bool { return h != pawl.HaltIterations && c.in(4) })
	s.NoStuckDetection, s.Council, s.OutputFloor = c.in(5), c.in(8), c.IntN(3000)
	if c.in(3) {
		n := c.IntN(15)
		s.Complexity = &n
	}
	if c.seed%3 == 1 && c.more != nil {
		s.Prepare = []string{"npm ci"}
	}
	s.Unattended = c.seed%3 == 1
	if c.more != nil {
		s.Evidence = []pawl.EvidenceMode{"", pawl.EvidenceReview, pawl.EvidenceStrict, pawl.EvidenceReview, pawl.EvidenceOff}[c.seed%5]
	}
	if c.seed%2 == 1 {
		s.AllowMissingGates = []string{"tests", "lint"}
	}
	return s
}

func (c *chance) limits() pawl.Limits {
	l := pawl.Limits{Iterations: 1 + c.IntN(8)}
	if c.in(2) {
		l.Money = pawl.Micros(50_000 + c.IntN(2_000_000))
	}
	if c.in(3) {
		l.Tokens = int64(5_000 + c.IntN(300_000))
	}
	if c.in(4) {
		l.Time = time.Duration(1+c.IntN(90)) * time.Minute
	}
	return l
}
