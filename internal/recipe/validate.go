package recipe

import (
	"cmp"
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
	c.between("loops", r.Loops, 0, maxLoops)
	for i, name := range r.Tiers {
		if slices.Contains(r.Tiers[:i], name) {
			c.bad(at("tiers", i), "two tiers are called %q", name)
		}
	}
	if r.Records && r.Commits == pawl.CommitsTask {
		c.bad("commits", "want attempt where records are true: the records are commits of their own on the run's branch")
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
		parent := slices.IndexFunc(r.Kinds, func(k pawl.LoopKind) bool { return k.Children != nil && k.Children.Kind == kinds[i] })
		if parent >= 0 && r.Kinds[i].Ladder.Then == "replan" {
			c.replans("kinds."+kinds[i]+".ladder.then", &r.Kinds[parent])
		}
		c.kind(&r.Kinds[i], kinds, parent >= 0)
	}
	c.tree(r)
}

// replans checks that a parent can make its plan anew when a child's ladder says so.
func (c *checker) replans(path string, parent *pawl.LoopKind) {
	switch ch := parent.Children; {
	case ch.RestartsParent():
		c.bad(path, "replan does not combine with on_failure: restart_parent of %s, which starts over instead; want fail", parent.Name)
	case ch.Replan == nil:
		c.bad(path, "the parent %s cannot plan again: give it children.replan; or want fail", parent.Name)
	}
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
			c.bad("kinds."+name, "no loop is ever of this kind: it is not the start, and no kind has it as children")
		}
	}
}

func at(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// kindChecker checks one kind.
type kindChecker struct {
	*checker
	kind   *pawl.LoopKind
	path   string
	names  map[string]string // of steps and gates, with the path of each
	steps  []*pawl.Step      // that come before what is being looked at
	main   int               // how many of them a gate can lead back to
	child  bool              // some kind's children are of this kind
	rounds []pawl.Step       // of the group that is being looked at
	// judged reports that what is being looked at comes after a verdict.
	judged bool
	// around reports that it stands before or after a batch, after that it stands after one.
	around, after bool
}

func (c *checker) kind(k *pawl.LoopKind, kinds []string, child bool) {
	kc := &kindChecker{checker: c, kind: k, path: "kinds." + k.Name, names: map[string]string{}, child: child}
	if len(k.Steps) == 0 && len(k.Gates) == 0 {
		kc.bad(kc.path+".steps", "a kind needs at least one step, or a gate")
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
	kc.between(kc.path+".priority", k.Priority, 0, maxPriority)
	kc.between(kc.path+".concurrent", k.Concurrent, 0, maxLoops)
	kc.extract(kc.path+".extract", k.Extract)
	kc.ownMonitor(k)
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

// outputs are the names of the results that the steps before hand in.
func (c *kindChecker) outputs() []string {
	var out []string
	for _, s := range c.steps {
		if name := cmp.Or(s.Output, s.Name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

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
	if s.Repeat != nil {
		c.group(path, s, inGroup)
		return
	}
	c.when(path+".when", s.When)
	if s.Prompt == "" {
		c.bad(path+".prompt", "a step needs a prompt or a repeat")
	}
	c.toolList(path+".tools", s.Tools)
	c.between(path+".tier", s.Tier, 0, 3)
	c.between(path+".turns", s.Turns, 0, 200)
	c.cap(path+".session_limit", s.Cap)
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
	c.memory(path+".memory", s.Memory)
}

func (c *kindChecker) memory(path string, m *pawl.Memory) {
	if m != nil {
		c.known(path+".select", "selection", m.Select, []string{"all", "relevant"})
		c.between(path+".max_tokens", m.MaxTokens, 1, 100_000)
	}
}

// ownTask reports what only a loop that is someone's child has.
func (c *kindChecker) ownTask(path string) {
	if !c.child {
		c.bad(path, "no kind has this one as children, so it has no entry in a parent's list")
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
	if slices.Contains(s.Check.Over, s.Check.Demands) {
		c.bad(path+".over", "%s is what the check demands", s.Check.Demands)
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
	c.changesNothing(path, s, "sessions that run at once in one worktree would change it under each other")
}

// changesNothing reports tools that a step must not have, and why.
func (c *kindChecker) changesNothing(path string, s *pawl.Step, why string) {
	for i, tool := range s.Tools {
		if pawl.ChangesFiles(tool) {
			c.bad(at(path+".tools", i), "%s", why)
		}
	}
}

func (c *kindChecker) toolList(path string, list []string) {
	for i, tool := range list {
		c.known(at(path, i), "tool", tool, tools)
	}
}

// cap checks what a session of a coding agent may use.
func (c *kindChecker) cap(path string, l pawl.SessionCap) {
	if l.Money < 0 || l.Money > maxSessionDollars*pawl.Dollars {
		c.bad(path+".money_usd", "is %s, and must be from 0 to %d dollars", l.Money, maxSessionDollars)
	}
	c.between(path+".tokens", int(l.Tokens), 0, maxSessionTokens)
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
	c.when(path+".when", s.When)
	c.rounds = r.Steps
	defer func() { c.rounds = nil }()
	c.decides(path+".repeat.until", r.Until)
	c.between(path+".repeat.max", r.Max, 1, 100)
	if len(r.Until) == 0 {
		c.bad(path+".repeat.until", "is empty: which decision ends the group?")
	}
	c.known(path+".repeat.on_max", "way to continue", r.OnMax, []string{"continue", "fail", "ask"})
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
		c.bad(path, "says nothing: give decision, tier, verification, scaffold, output or criteria")
	}
	c.decides(path+".decision", w.Decision)
	for i, name := range w.Output {
		c.known(at(path+".output", i), "result of a step", name, c.outputs())
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

// decides checks that each of some decisions can be made: by what a step before hands in, or one of
// the same group in the round before, or by the check of such a step.
func (c *kindChecker) decides(path string, words []string) {
	var known []string
	add := func(s *pawl.Step) {
		known = append(known, decisions[s.Output]...)
		if s.Check != nil && s.Check.Demands != "" {
			known = append(known, s.Check.Demands)
		}
	}
	for _, s := range c.steps {
		add(s)
	}
	for i := range c.rounds {
		add(&c.rounds[i])
	}
	slices.Sort(known)
	for i, word := range words {
		c.known(at(path, i), "decision of a step before", word, slices.Compact(known))
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
