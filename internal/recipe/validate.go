package recipe

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pawl"
	"pawl/internal/strictyaml"
)

// Validate checks what a recipe must hold beyond its form: that every name it
// uses exists, that scores are covered, that limits rise.
func Validate(r pawl.Recipe) error { return validate(&r, nil) }

// validate reports each problem where it was written.
func validate(r *pawl.Recipe, where strictyaml.Where) error {
	c := checker{where: where}
	c.recipe(r)
	return c.problems.Err()
}

type checker struct {
	where    strictyaml.Where
	problems strictyaml.Problems
}

func (c *checker) bad(path, format string, args ...any) {
	c.problems.Add(c.where.Find(path), path, format, args...)
}

// known checks that a word is one of a few.
func (c *checker) known(path, what, word string, known []string) {
	if slices.Contains(known, word) {
		return
	}
	if near := strictyaml.Nearest(word, known); near != "" {
		c.bad(path, "there is no %s %q (did you mean %s?); known here: %s", what, word, near, strings.Join(known, ", "))
		return
	}
	if len(known) == 0 {
		known = []string{"none"}
	}
	c.bad(path, "there is no %s %q; known here: %s", what, word, strings.Join(known, ", "))
}

func (c *checker) between(path string, n, least, most int) {
	if n < least || n > most {
		c.bad(path, "want a whole number from %d to %d, got %d", least, most, n)
	}
}

func (c *checker) recipe(r *pawl.Recipe) {
	if !strictyaml.IsName(r.Name) {
		c.bad("", "%q cannot be the name of a recipe: want lower-case letters, digits, - and _", r.Name)
	}
	if n := len(r.Tiers); n != 0 && n != 3 {
		c.bad("tiers", "want the names of tiers 1, 2 and 3, got %d", n)
	}
	for i, name := range r.Tiers {
		if slices.Contains(r.Tiers[:i], name) {
			c.bad(at("tiers", i), "two tiers are called %q", name)
		}
	}
	var kinds []string
	for i := range r.Kinds {
		kinds = append(kinds, r.Kinds[i].Name)
	}
	switch {
	case len(kinds) == 0:
		c.bad("kinds", "a recipe needs at least one kind of loop")
		return
	case r.Start == "":
		c.bad("start", "is missing: which kind is the root loop? known here: %s", strings.Join(kinds, ", "))
	default:
		c.known("start", "kind", r.Start, kinds)
	}
	for i := range r.Kinds {
		child := slices.ContainsFunc(r.Kinds, func(k pawl.LoopKind) bool { return k.Children != nil && k.Children.Kind == kinds[i] })
		c.kind(&r.Kinds[i], kinds, child)
	}
	c.tree(r)
}

// tree checks that every kind is reached from the start, and none from itself.
func (c *checker) tree(r *pawl.Recipe) {
	seen := map[string]bool{}
	for name := r.Start; ; {
		k := r.Kind(name)
		if k == nil || k.Children == nil {
			seen[name] = true
			break
		}
		if seen[name] {
			c.bad("kinds."+name+".children.kind", "%s is among its own descendants, which would never end", name)
			return
		}
		seen[name] = true
		name = k.Children.Kind
	}
	for i := range r.Kinds {
		if name := r.Kinds[i].Name; !seen[name] && r.Kind(r.Start) != nil {
			c.bad("kinds."+name, "no loop is ever of this kind: it is neither the start nor anyone's children")
		}
	}
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// kindChecker checks one kind.
type kindChecker struct {
	*checker
	kind  *pawl.LoopKind
	path  string
	names map[string]string // of steps and gates, with the path of each
	steps []*pawl.Step      // that come before what is being looked at
	main  int               // how many of them a gate can lead back to
	child bool              // some kind's children are of this kind
	// judged reports that what is being looked at comes after a verdict.
	judged bool
	// around reports that it stands before or after a batch, after that it stands after one.
	around, after bool
}

func (c *checker) kind(k *pawl.LoopKind, kinds []string, child bool) {
	kc := &kindChecker{checker: c, kind: k, path: "kinds." + k.Name, names: map[string]string{}, child: child}
	if len(k.Steps) == 0 {
		kc.bad(kc.path+".steps", "a kind needs at least one step")
	}
	kc.stepList(kc.path+".steps", k.Steps, false)
	kc.main = len(kc.steps)
	kc.complexity()
	kc.stages(kc.path+".gates", k.Gates)
	if k.Approval != nil {
		kc.known(kc.path+".approval.by", "way to approve", k.Approval.By, approvals)
		kc.between(kc.path+".approval.threshold", k.Approval.Threshold, 0, 100)
		if k.Children == nil {
			kc.bad(kc.path+".approval", "there is nothing to approve: the kind has no children")
		}
	}
	if k.Children != nil {
		kc.children(kc.path+".children", k.Children, kinds)
	}
	if len(k.FinalGates) > 0 && k.Children == nil {
		kc.bad(kc.path+".final_gates", "final gates judge what children did, and the kind has none; use gates")
	}
	kc.stages(kc.path+".final_gates", k.FinalGates)
	for i := range k.FinalSteps {
		if k.FinalSteps[i].Repeat != nil {
			kc.bad(at(kc.path+".final_steps", i)+".repeat", "a group that repeats cannot come last; put it into steps")
		}
	}
	kc.stepList(kc.path+".final_steps", k.FinalSteps, false)
	kc.ladder(kc.path+".ladder", &k.Ladder)
	kc.between(kc.path+".iterations", k.Iterations, 0, 1000)
	kc.extract(kc.path+".extract", k.Extract)
}

// name checks that a step or gate is the only one of its name.
func (c *kindChecker) name(path, name string) {
	if !strictyaml.IsName(name) {
		c.bad(path+".name", "want a name of lower-case letters, digits, - and _, got %q", name)
		return
	}
	if name == "start" {
		c.bad(path+".name", "start is where a gate's route begins and cannot be a step or gate")
	}
	if first, again := c.names[name]; again {
		c.bad(path+".name", "%s is already the name of %s", name, first)
		return
	}
	c.names[name] = path
}

func names(steps []*pawl.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Name)
	}
	return out
}

func (c *kindChecker) stepNames() []string { return names(c.steps) }

// step is the step of this name that comes before, or nil.
func (c *kindChecker) step(name string) *pawl.Step {
	for _, s := range c.steps {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (c *kindChecker) stepList(path string, steps []pawl.Step, inGroup bool) {
	for i := range steps {
		c.oneStep(at(path, i), &steps[i], inGroup)
		c.steps = append(c.steps, &steps[i])
	}
}

func (c *kindChecker) oneStep(path string, s *pawl.Step, inGroup bool) {
	c.name(path, s.Name)
	c.when(path+".when", s.When)
	if s.Repeat != nil {
		c.group(path, s, inGroup)
		return
	}
	if s.Prompt == "" {
		c.bad(path+".prompt", "a step needs a prompt or a repeat")
	}
	c.toolList(path+".tools", s.Tools)
	c.between(path+".tier", s.Tier, 0, 3)
	c.between(path+".turns", s.Turns, 0, 200)
	if s.Timeout < 0 {
		c.bad(path+".timeout_ms", "is negative")
	}
	if s.Tier != 0 && s.TierFrom != "" {
		c.bad(path+".tier_from", "the step has a tier already")
	}
	if s.Output != "" {
		c.known(path+".output", "output", s.Output, outputs)
	}
	if s.Required && s.Output == "" {
		c.bad(path+".required", "the step has no output that could be required")
	}
	if s.TierFrom != "" {
		c.known(path+".tier_from", "field with a tier", s.TierFrom, tierFields)
		c.ownTask(path + ".tier_from")
	}
	c.limits(path+".limits", s)
	c.check(path+".check", s)
	if s.Parallel != 0 && s.ForEach == "" {
		c.bad(path+".parallel", "only a step with for_each runs several times")
	}
	if s.ForEach != "" {
		c.forEach(path, s)
	}
	if s.Questions && !slices.Contains(asking, s.Output) {
		c.bad(path+".questions", "questions are part of what is handed in: the output must be one of %s", strings.Join(asking, ", "))
	}
	if c.around {
		c.changesNothing(path, s, "what is written around a batch is part of nobody's work")
	}
	if m := s.Memory; m != nil {
		c.known(path+".memory.select", "selection", m.Select, []string{"all", "relevant"})
		c.between(path+".memory.max_tokens", m.MaxTokens, 1, 100_000)
	}
}

// ownTask reports what only a loop that is someone's child has.
func (c *kindChecker) ownTask(path string) {
	if !c.child {
		c.bad(path, "the kind is nobody's children: it has no entry in a parent's list")
	}
}

func (c *kindChecker) limits(path string, s *pawl.Step) {
	for i, l := range s.Limits {
		c.between(at(path, i)+".max", l.Max, 1, maxCalls)
		switch first := slices.IndexFunc(s.Limits, func(o pawl.ToolLimit) bool { return o.Tool == l.Tool }); {
		case !slices.Contains(s.Tools, l.Tool):
			c.known(at(path, i)+".tool", "tool of this step", l.Tool, s.Tools)
		case first < i:
			c.bad(at(path, i)+".tool", "%s has a limit already", l.Tool)
		}
	}
}

func (c *kindChecker) check(path string, s *pawl.Step) {
	if s.Check == nil {
		return
	}
	c.known(path+".name", "check of a decision", s.Check.Name, signs)
	if s.Check.Demands == "" {
		c.bad(path+".demands", "is missing: which decision?")
	}
	if !s.Required {
		c.bad(path, "without required: true there need not be a decision to look at")
	}
}

// extract is a session that looks back at an iteration and changes nothing.
func (c *kindChecker) extract(path string, s *pawl.Step) {
	if s == nil {
		return
	}
	if s.Repeat != nil || s.ForEach != "" || s.Questions || s.First || s.Check != nil {
		c.bad(path, "extract is one session: no repeat, for_each, questions, first or check")
		return
	}
	c.judged = true
	c.oneStep(path, s, false)
	if s.Output != "learnings" {
		c.bad(path+".output", "what is worth remembering is handed in as learnings")
	}
	c.changesNothing(path, s, "the iteration has been judged: nothing may change any more")
}

// forEach checks a step that runs for each entry of a list in an earlier result,
// several at a time in one worktree.
func (c *kindChecker) forEach(path string, s *pawl.Step) {
	name, field, _ := strings.Cut(s.ForEach, ".")
	output := "result" // of the children
	if from := c.step(name); from != nil {
		output = from.Output
	} else if !c.after || name != "result" {
		known := c.stepNames()
		if c.after {
			known = append(known, "result")
		}
		c.known(path+".for_each", "earlier step", name, known)
		return
	}
	if output == "" {
		c.bad(path+".for_each", "step %s has no output to take entries from", name)
		return
	}
	c.known(path+".for_each", "list in the output "+output, field, entries[output])
	if s.Questions {
		c.bad(path+".questions", "a step that runs for each entry of a list cannot ask")
	}
	c.changesNothing(path, s, "sessions that run side by side in one worktree would change it under each other")
}

// changesNothing reports tools that a step must not have, and why.
func (c *kindChecker) changesNothing(path string, s *pawl.Step, why string) {
	for i, tool := range s.Tools {
		if slices.Contains(changing, tool) {
			c.bad(at(path+".tools", i), "%s", why)
		}
	}
}

func (c *kindChecker) toolList(path string, list []string) {
	for i, tool := range list {
		c.known(at(path, i), "tool", tool, tools)
	}
}

func (c *kindChecker) group(path string, s *pawl.Step, inGroup bool) {
	r := s.Repeat
	if inGroup {
		c.bad(path+".repeat", "a group that repeats cannot hold another one")
		return
	}
	alone := pawl.Step{Name: s.Name, When: s.When, Repeat: s.Repeat}
	if !reflect.DeepEqual(*s, alone) {
		c.bad(path, "a group that repeats has a name, when and repeat only; the rest belongs to its steps")
	}
	c.between(path+".repeat.max", r.Max, 1, 100)
	if len(r.Until) == 0 {
		c.bad(path+".repeat.until", "is empty: which decision ends the group?")
	}
	c.known(path+".repeat.on_max", "way to go on", r.OnMax, []string{"continue", "fail", "ask"})
	if len(r.Steps) == 0 {
		c.bad(path+".repeat.steps", "the group has no steps")
	}
	c.stepList(path+".repeat.steps", r.Steps, true)
}

func (c *kindChecker) when(path string, w *pawl.When) {
	if w == nil {
		return
	}
	if reflect.DeepEqual(*w, pawl.When{}) {
		c.bad(path, "says nothing: give decision, tier, verification or scaffold")
	}
	if len(w.Verification) > 0 {
		c.ownTask(path + ".verification")
	}
	if w.Scaffold != nil {
		c.ownTask(path + ".scaffold")
	}
	for i, tier := range w.Verification {
		c.between(at(path+".verification", i), tier, 1, 3)
	}
	if len(w.Verdict) > 0 && !c.judged {
		c.bad(path+".verdict", "there is no verdict yet: only extract comes after it")
	}
	for i, v := range w.Verdict {
		c.known(at(path+".verdict", i), "verdict of an iteration", string(v), []string{"pass", "fail"})
	}
	for i, tier := range w.Tier {
		c.between(at(path+".tier", i), tier, 1, 3)
	}
}

func (c *kindChecker) complexity() {
	b, path := c.kind.Complexity, c.path+".complexity"
	if b == nil {
		return
	}
	if c.child {
		c.bad(path, "a child's first tier comes from its task: give a step tier_from: model_tier instead")
	}
	switch s := c.step(b.From); {
	case s == nil:
		c.known(path+".from", "step", b.From, c.stepNames())
	case s.Output != "assessment" || !s.First:
		c.bad(path+".from", "step %s must have first: true and output: assessment", b.From)
	}
	c.between(path+".unknown", b.Unknown, 0, maxScore)
	if len(b.Tiers) == 0 {
		c.bad(path+".bands", "has no bands")
		return
	}
	last := pawl.Band{Max: -1, Tier: 1}
	for i, band := range b.Tiers {
		here := at(path+".bands", i)
		c.between(here+".tier", band.Tier, 1, 3)
		switch {
		case band.Max <= last.Max:
			c.bad(here+".max", "scores must rise: %d comes after %d", band.Max, last.Max)
		case band.Tier < last.Tier:
			c.bad(here+".tier", "a harder task would start on a lower tier: %d comes after %d", band.Tier, last.Tier)
		}
		last = band
		if rungs := c.kind.Ladder.Rungs; len(rungs) > 0 && !slices.ContainsFunc(rungs, func(r pawl.Rung) bool { return r.Tier == band.Tier }) {
			c.bad(here+".tier", "the ladder has no rung for tier %d", band.Tier)
		}
	}
	if last.Max != maxScore {
		c.bad(at(path+".bands", len(b.Tiers)-1)+".max", "the last band must reach score %d, it ends at %d", maxScore, last.Max)
	}
}

func (c *kindChecker) stages(path string, stages []pawl.Stage) {
	for i := range stages {
		c.stage(at(path, i), &stages[i])
	}
}

func (c *kindChecker) stage(path string, s *pawl.Stage) {
	c.name(path, s.Name)
	c.when(path+".when", s.When)
	given := 0
	for _, set := range []bool{len(s.Commands) > 0, s.Review != nil, s.Builtin != "", s.Human} {
		if set {
			given++
		}
	}
	if given != 1 {
		c.bad(path, "a gate needs exactly one of commands, review, builtin and human; it has %d", given)
	}
	for i, kind := range s.Commands {
		if kind != "*" {
			c.known(at(path+".commands", i), "kind of command gate", kind, append([]string{"all"}, gateKinds...))
		} else if len(s.Commands) > 1 {
			c.bad(at(path+".commands", i), "all stands for every kind and must be alone")
		}
	}
	if s.Builtin != "" {
		c.known(path+".builtin", "check", s.Builtin, checks)
	}
	if s.Review != nil {
		c.review(path+".review", s.Review, "verdict")
	}
	if s.Timeout < 0 {
		c.bad(path+".timeout_ms", "is negative")
	}
	for _, v := range []pawl.Verdict{pawl.VerdictRevise, pawl.VerdictRetry} {
		if _, ok := s.On[v]; ok && len(s.Commands) > 0 {
			c.bad(path+".on."+string(v), "commands say fail; a review, a person or a check can say %s", v)
		}
	}
	for _, v := range []pawl.Verdict{pawl.VerdictFail, pawl.VerdictHalt, pawl.VerdictPass, pawl.VerdictRetry, pawl.VerdictRevise, pawl.VerdictSkip} {
		if r, ok := s.On[v]; ok {
			c.route(path+".on."+string(v), v, r)
		}
	}
}

func (c *kindChecker) route(path string, v pawl.Verdict, r pawl.Route) {
	if !slices.Contains(verdicts, v) {
		c.bad(path, "only revise, retry and fail lead somewhere")
	}
	if back := append([]string{"start"}, names(c.steps[:c.main])...); !slices.Contains(back, r.From) {
		c.known(path+".from", "earlier step", r.From, back)
	}
	c.between(path+".max", r.Max, 1, 100)
	c.known(path+".then", "way to go on", r.Then, []string{"fail", "ask"})
}

func (c *kindChecker) review(path string, r *pawl.Review, output string) {
	if r.Role == "" {
		c.bad(path+".role", "is missing")
	}
	if r.Prompt == "" {
		c.bad(path+".prompt", "is missing")
	}
	c.toolList(path+".tools", r.Tools)
	c.between(path+".tier", r.Tier, 1, 3)
	c.between(path+".turns", r.Turns, 0, 200)
	c.between(path+".votes", r.Votes, 0, 9)
	c.known(path+".output", "output of this review", r.Output, []string{output})
}

func (c *kindChecker) ladder(path string, l *pawl.Ladder) {
	last := 0
	for i, r := range l.Rungs {
		here := at(path+".rungs", i)
		c.between(here+".tier", r.Tier, 1, 3)
		c.between(here+".failures", r.Failures, 1, 100)
		if r.Tier <= last {
			c.bad(here+".tier", "tiers must rise: %d comes after %d", r.Tier, last)
		}
		last = r.Tier
	}
	if l.Stuck != 0 {
		c.between(path+".stuck", l.Stuck, 2, 10)
	}
	if l.Council != nil {
		c.council(path+".council", l.Council)
	}
	if l.Then != "" {
		c.known(path+".then", "way to go on", l.Then, []string{"blocked", "fail", "replan", "ask"})
	}
	if l.Then == "replan" && !c.child {
		c.bad(path+".then", "the kind is nobody's children: there is no parent that could plan anew")
	}
}

func (c *kindChecker) council(path string, v *pawl.Council) {
	c.between(path+".tier", v.Tier, 1, 3)
	c.between(path+".attempts", v.Attempts, 1, 100)
	c.between(path+".turns", v.Turns, 0, 200)
	c.toolList(path+".tools", v.Tools)
	if v.Propose == "" || v.Ballot == "" {
		c.bad(path, "a council needs the prompts propose and ballot")
	}
	if n := len(v.Lenses); n < 2 || n > 9 {
		c.bad(path+".lenses", "a council has 2 to 9 members, not %d", n)
	}
	for i, l := range v.Lenses {
		for _, other := range v.Lenses[:i] {
			if other.Name == l.Name {
				c.bad(at(path+".lenses", i)+".name", "two members are called %q", l.Name)
			}
		}
	}
}

func (c *kindChecker) children(path string, ch *pawl.Children, kinds []string) {
	switch s := c.step(ch.From); {
	case s == nil:
		c.known(path+".from", "step", ch.From, c.stepNames())
	case !slices.Contains(lists, s.Output):
		c.bad(path+".from", "step %s does not list children: its output must be one of %s", ch.From, strings.Join(lists, ", "))
	}
	c.known(path+".kind", "kind", ch.Kind, kinds)
	c.known(path+".order", "order", ch.Order, orders)
	c.between(path+".parallel", ch.Parallel, 1, 64)
	c.between(path+".limit", ch.Limit, 0, 1000)
	if ch.Batch != "" {
		c.known(path+".batch", "way to batch", ch.Batch, batches)
	}
	if ch.OnFailure != "" {
		c.known(path+".on_failure", "way to go on", ch.OnFailure, []string{"continue", "block", "stop"})
	}
	c.when(path+".when", ch.When)
	c.batches(path, ch)
	if r := ch.Replan; r != nil {
		for i, on := range r.On {
			c.known(at(path+".replan.on", i), "cause", on, []string{"failure", "discovery"})
		}
		c.between(path+".replan.every", r.Every, 0, 1000)
		c.between(path+".replan.max_versions", r.MaxVersions, 1, 100)
		if r.Prompt == "" {
			c.bad(path+".replan.prompt", "is missing")
		}
	}
}

// batches checks what judges children in batches.
func (c *kindChecker) batches(path string, ch *pawl.Children) {
	judged := ch.Review != nil || len(ch.BeforeBatch)+len(ch.AfterBatch)+len(ch.Monitor) > 0 || ch.Checkpoint || ch.ScaffoldFirst
	if judged && ch.Batch == "rolling" {
		c.bad(path+".batch", "batches that are judged as a whole must end: want barrier")
	}
	c.around = true
	for _, list := range []struct {
		path  string
		steps []pawl.Step
	}{{path + ".before_batch", ch.BeforeBatch}, {path + ".after_batch", ch.AfterBatch}} {
		for i := range list.steps {
			if list.steps[i].Repeat != nil {
				c.bad(at(list.path, i)+".repeat", "a group that repeats cannot stand around a batch; put it into steps")
			}
		}
	}
	c.stepList(path+".before_batch", ch.BeforeBatch, false)
	if ch.Review != nil {
		c.review(path+".review", ch.Review, "batch")
		if ch.Review.Votes > 1 {
			c.bad(path+".review.votes", "a batch is judged by one reviewer")
		}
		for i, tool := range ch.Review.Tools {
			if slices.Contains(writing, tool) {
				c.bad(at(path+".review.tools", i), "a reviewer must not change what it judges")
			}
		}
	}
	c.after = true
	c.stepList(path+".after_batch", ch.AfterBatch, false)
	c.around, c.after = false, false
	c.monitor(path, ch)
}

// monitor checks that there is what each recovery needs.
func (c *kindChecker) monitor(path string, ch *pawl.Children) {
	c.between(path+".recoveries", ch.Recoveries, 0, 10)
	if ch.Recoveries > 0 && len(ch.Monitor) == 0 {
		c.bad(path+".recoveries", "there is no monitor that could lead to any")
	}
	missing := map[string]string{}
	if len(ch.BeforeBatch) == 0 {
		missing[string(pawl.RecoverGather)] = "nothing is gathered: there are no steps before_batch"
	}
	if ch.Replan == nil {
		missing[string(pawl.RecoverRevise)] = "nothing makes the plan anew: there is no replan"
	}
	if !ch.Checkpoint {
		missing[string(pawl.RecoverRollback)] = "there is nothing to go back to: checkpoint is not true"
	}
	for _, status := range sortedKeys(ch.Monitor) {
		c.known(path+".monitor", "health", status, health)
		if len(ch.Monitor[status]) == 0 {
			c.bad(path+".monitor."+status, "leads to nothing: give at least one of %s", strings.Join(recoveries, ", "))
		}
		for i, to := range ch.Monitor[status] {
			here := at(path+".monitor."+status, i)
			c.known(here, "recovery", to, recoveries)
			if what := missing[to]; what != "" {
				c.bad(here, "%s", what)
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
