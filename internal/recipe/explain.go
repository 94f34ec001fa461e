package recipe

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// Explain is the recipe as an outline for people: what happens, in order.
func Explain(r pawl.Recipe) string {
	e := explainer{r: &r}
	e.line(0, "%s", r.Name)
	if r.Description != "" {
		for line := range strings.SplitSeq(r.Description, "\n") {
			e.line(1, "%s", line)
		}
	}
	if r.Agent != "" {
		e.line(1, "agent: %s", r.Agent)
	}
	if r.OnError != "" {
		e.line(1, "when a model or the machine fails permanently: %s", r.OnError)
	}
	if r.Cancel != "" {
		e.line(1, "when cancelled: %s", r.Cancel)
	}
	if r.Records {
		e.line(1, "records: the task's folder is committed to the run's branch")
	}
	if r.Commits != "" {
		e.line(1, "commits on the run's branch: one per %s", r.Commits)
	}
	e.line(1, "tiers: %s, %s, %s", r.Tier(1), r.Tier(2), r.Tier(3))
	if tree := treeOf(&r); len(tree) > 1 {
		e.line(1, "tree: %s, at most %s active at once", strings.Join(tree, " → "), count(cmp.Or(r.Loops, pawl.DefaultLoops), "loop", "loops"))
	}
	if r.Report != (pawl.ReportStyle{}) {
		e.line(1, "%s", parts("reports headed "+r.Heading(), map[pawl.LiveReport]string{pawl.LiveIterations: "logs show the report of each iteration", pawl.LiveTasks: "logs show decision, rounds, learnings and the table of tasks"}[r.Report.Live]))
	}
	for i := range r.Kinds {
		e.kind(&r.Kinds[i])
	}
	for i, d := range r.Deviations {
		if i == 0 {
			e.line(1, "otherwise than the document it follows:")
		}
		e.line(2, "%s", d)
	}
	return e.b.String()
}

// treeOf are the kinds from the root down as far as children stand on what they were
// spawned from.
func treeOf(r *pawl.Recipe) []string {
	var out []string
	for k := r.Kind(r.Start); k != nil && len(out) <= len(r.Kinds); k = r.Kind(k.Children.Kind) {
		out = append(out, k.Name)
		if k.Children == nil || !k.Children.IsEager() {
			break
		}
	}
	return out
}

type explainer struct {
	r *pawl.Recipe
	b strings.Builder
}

func (e *explainer) line(depth int, format string, args ...any) {
	e.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&e.b, format, args...)
	e.b.WriteByte('\n')
}

// parts joins what is not empty.
func parts(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), ", ")
}

func given(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func limit(d time.Duration) string { return given(d > 0, "at most "+d.String()) }

// sessionCap says what a session of a coding agent may use.
func sessionCap(c pawl.SessionCap) string {
	var out []string
	if c.Money > 0 {
		out = append(out, c.Money.String())
	}
	if c.Tokens > 0 {
		out = append(out, strconv.FormatInt(c.Tokens, 10)+" tokens")
	}
	return given(len(out) > 0, "at most "+strings.Join(out, " and ")+" for a coding agent")
}

func (e *explainer) kind(k *pawl.LoopKind) {
	e.line(0, "\n%s (%s)", k.Name, parts(
		given(k.Name == e.r.Start, "the root loop"),
		given(k.Iterations > 0, "at most "+count(k.Iterations, "iteration", "iterations")),
		given(k.Iterations == 0, "no limit on iterations of its own"),
		given(k.Concurrent > 0, fmt.Sprintf("at most %d active at once", k.Concurrent)),
		given(k.Priority > 0, fmt.Sprintf("priority %d", k.Priority)),
	))
	if b := k.Complexity; b != nil {
		e.line(1, "starts on: %s", e.bands(b))
	}
	e.steps(1, "steps", k.Steps)
	e.stages("gates", k.Gates)
	if k.Approval != nil {
		e.line(1, "approval: %s", map[string]string{"human": "by a person", "auto": "none needed", "manual": "by a person, for every child",
			"confidence_threshold": fmt.Sprintf("by a person when confidence is below %d%%", cmp.Or(k.Approval.Threshold, pawl.DefaultThreshold))}[k.Approval.By])
	}
	if k.Children != nil {
		e.children(k)
	}
	e.stages("final gates", k.FinalGates)
	e.steps(1, "final steps", k.FinalSteps)
	if k.Extract != nil {
		e.line(1, "after each verdict: %s", e.session(k.Extract))
	}
	for _, status := range health {
		if to := k.Monitor[status]; len(to) > 0 {
			e.line(1, "attempts that are %s: %s, at most %s", status, strings.Join(to, ", then "), count(cmp.Or(k.Recoveries, pawl.DefaultRecoveries), "time", "times"))
		}
	}
	e.ladder(&k.Ladder)
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func (e *explainer) bands(b *pawl.Bands) string {
	var out []string
	least := 0
	for _, band := range b.Tiers {
		name := given(band.Name != "", band.Name+" ")
		out = append(out, fmt.Sprintf("%s(%d–%d) → %s", name, least, band.Max, e.r.Tier(band.Tier)))
		least = band.Max + 1
	}
	return fmt.Sprintf("%s, scored by %s; unknown counts as %d", strings.Join(out, ", "), b.From, b.Unknown)
}

func (e *explainer) steps(depth int, title string, steps []pawl.Step) {
	if len(steps) == 0 {
		return
	}
	e.line(depth, "%s:", title)
	for i := range steps {
		e.step(depth+1, i+1, &steps[i])
	}
}

func (e *explainer) step(depth, n int, s *pawl.Step) {
	if r := s.Repeat; r != nil {
		then := map[string]string{"continue": "continue", "fail": "the iteration fails", "ask": "ask a person"}[r.OnMax]
		e.line(depth, "%d. %s: %s", n, s.Name, parts(
			fmt.Sprintf("at most %s until %s", count(r.Max, "round", "rounds"), strings.Join(r.Until, " or ")),
			"then "+then, when(e.r, s.When)))
		for i := range r.Steps {
			e.step(depth+1, i+1, &r.Steps[i])
		}
		return
	}
	e.line(depth, "%d. %s", n, e.session(s))
}

// session is a step on one line.
func (e *explainer) session(s *pawl.Step) string {
	tier := "the loop's tier"
	switch {
	case s.Tier > 0:
		tier = e.r.Tier(s.Tier)
	case s.TierFrom != "":
		tier = "the loop's tier, which starts at the entry's " + s.TierFrom
	}
	return s.Name + ": " + parts(
		given(s.Role != s.Name, s.Role), "on "+tier,
		given(s.First, "in the first iteration only"), when(e.r, s.When),
		given(s.ForEach != "", fmt.Sprintf("for each of %s, %d at a time", s.ForEach, max(1, s.Parallel))),
		given(len(s.Tools) > 0, "tools "+strings.Join(s.Tools, " ")), limits(s.Limits),
		submits(s), check(s.Check), given(s.Append, "collected over rounds"), given(s.Keep, "kept over iterations"),
		given(s.Questions, "may ask a person"),
		given(s.Memory != nil, memory(s.Memory)),
		fmt.Sprintf("%d turns", orDefault(s.Turns)), given(s.TurnCap == pawl.TurnCapJudge, "judged by the gates when they are used up"), limit(s.Timeout), given(s.TimeCap == pawl.TurnCapJudge, "judged when twice the time is used up"), sessionCap(s.Cap))
}

func limits(list []pawl.ToolLimit) string {
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%s at most %s", l.Tool, count(l.Max, "time", "times")))
	}
	return strings.Join(out, ", ")
}

func check(c *pawl.Check) string {
	if c == nil {
		return ""
	}
	over := ""
	if len(c.Over) > 0 {
		over = " and not " + strings.Join(c.Over, " or ")
	}
	return fmt.Sprintf("which must decide %s%s if the harness sees %s", c.Demands, over, strings.ReplaceAll(c.Name, "_", " "))
}

func orDefault(turns int) int {
	if turns == 0 {
		return 20
	}
	return turns
}

func memory(m *pawl.Memory) string {
	if m == nil {
		return ""
	}
	return m.Select + " memory"
}

func submits(s *pawl.Step) string {
	switch {
	case s.Required:
		return "must submit " + s.Output
	case s.Output != "":
		return "submits " + s.Output
	}
	return ""
}

func when(r *pawl.Recipe, w *pawl.When) string {
	if w == nil {
		return ""
	}
	var tiers []string
	for _, n := range w.Tier {
		tiers = append(tiers, r.Tier(n))
	}
	var verification, verdicts []string
	for _, n := range w.Verification {
		verification = append(verification, strconv.Itoa(n))
	}
	for _, v := range w.Verdict {
		verdicts = append(verdicts, string(v))
	}
	return parts(given(len(w.Decision) > 0, "only after "+strings.Join(w.Decision, " or ")),
		given(len(tiers) > 0, "only on "+strings.Join(tiers, " or ")),
		given(len(verification) > 0, "only if the task's verification tier is "+strings.Join(verification, " or ")),
		given(w.Scaffold != nil && *w.Scaffold, "only if the task is a scaffold"),
		given(w.Scaffold != nil && !*w.Scaffold, "only if the task is not a scaffold"),
		given(len(w.Output) > 0, "only after "+strings.Join(w.Output, " or ")+" was handed in"),
		given(w.Criteria != nil && *w.Criteria, "only if criteria were given"),
		given(w.Criteria != nil && !*w.Criteria, "only if no criteria were given"),
		given(len(verdicts) > 0, "only on "+strings.Join(verdicts, " or ")))
}

func (e *explainer) stages(title string, stages []pawl.Stage) {
	if len(stages) == 0 {
		return
	}
	e.line(1, "%s:", title)
	for i, s := range stages {
		var what string
		switch {
		case s.Review != nil:
			what = e.review(s.Review)
		case s.Builtin != "":
			what = "checked by the harness: " + strings.ReplaceAll(s.Builtin, "_", " ")
		case s.Human:
			what = "a person decides"
		case slices.Contains(s.Commands, "*"):
			what = "all command gates, in parallel"
		default:
			what = "command gates in parallel: " + strings.Join(s.Commands, " ")
		}
		var routes []string
		for _, v := range verdicts {
			if r, ok := s.On[v]; ok {
				routes = append(routes, fmt.Sprintf("%s goes back to %s at most %s, then %s", v, r.From, count(r.Max, "time", "times"), r.Then))
			}
		}
		e.line(2, "%d. %s: %s", i+1, s.Name, parts(what, when(e.r, s.When), limit(s.Timeout), strings.Join(routes, ", ")))
	}
}

func (e *explainer) review(r *pawl.Review) string {
	return parts("review by "+r.Role+" on "+e.r.Tier(r.Tier), given(r.Votes > 1, fmt.Sprintf("%d votes", r.Votes)),
		given(r.Memory != nil, memory(r.Memory)),
		given(len(r.Tools) > 0, "tools "+strings.Join(r.Tools, " ")))
}

func (e *explainer) children(k *pawl.LoopKind) {
	c := k.Children
	e.line(1, "children: %s", parts(
		c.Kind+" loops from "+c.From, "by "+c.Order, fmt.Sprintf("%d at a time", c.Parallel),
		given(c.Limit > 0, fmt.Sprintf("at most %d", c.Limit)),
		given(c.Groups(), groupText(c)), given(c.ScaffoldFirst, "scaffold first"), given(c.Checkpoint, "a checkpoint after each group"),
		when(e.r, c.When)))
	if c.IsEager() {
		e.line(2, "once it is accepted: all of them exist and wait for their turn")
	}
	if c.RestartsParent() {
		e.line(2, "a child that failed: tried again if the machine caused it, otherwise the %s starts over and is told why", k.Name)
		e.line(2, "when the %s starts over: they and all below them no longer count, their branches stay, its next %s gives others", k.Name, c.From)
	}
	e.steps(2, "before each group", c.BeforeBatch)
	if c.Judge != nil {
		e.line(2, "each group: %s", e.review(c.Judge))
	}
	e.steps(2, "after each group", c.AfterBatch)
	for _, status := range health {
		if to := c.Monitor[status]; len(to) > 0 {
			e.line(2, "%s: %s", status, strings.Join(to, ", then "))
		}
	}
	if c.MonitorRules == pawl.RulesSeed {
		e.line(2, "a pass rate that falls twice in a row is REGRESSING, whatever else improves")
	}
	if len(c.Monitor) > 0 {
		e.line(2, "after %s from one health: ask a person", count(cmp.Or(c.Recoveries, pawl.DefaultRecoveries), "recovery", "recoveries"))
	}
	if r := c.Replan; r != nil {
		e.line(2, "planned again: %s", parts(given(len(r.On)+r.Every == 0, "when a monitor or a ladder causes it"), given(len(r.On) > 0, "on "+strings.Join(r.On, " or ")),
			given(r.Every > 0, fmt.Sprintf("every %d completed", r.Every)), fmt.Sprintf("up to version %d", r.MaxVersions)))
	}
	if then := map[pawl.OnFailure]string{pawl.FailContinue: "the others continue, and so does what depends on it", pawl.FailBlock: "what depends on it is blocked", pawl.FailStop: "the rest is not run"}[c.OnFailure]; then != "" {
		e.line(2, "a child that failed: %s", then)
	}
}

// groupText says how many children land together, and which of them.
func groupText(c *pawl.Children) string {
	size := fmt.Sprintf("at most %d", c.Group)
	switch at := max(1, c.Parallel); {
	case c.Group == pawl.GroupAll:
		size = "all that are ready"
	case at < c.Group && c.Land != pawl.LandAll && c.Land != pawl.LandBest: // a group is as large as its places
		size = fmt.Sprintf("at most %d, as many as are worked on at a time (%d where parallel is higher)", at, c.Group)
	}
	return "in groups of " + size + map[pawl.Landing]string{pawl.LandAll: " that land as a whole or not at all", pawl.LandBest: " of which the best lands"}[c.Land]
}

func (e *explainer) ladder(l *pawl.Ladder) {
	var rungs []string
	for _, r := range l.Rungs {
		rungs = append(rungs, fmt.Sprintf("%s on %s", count(r.Failures, "failure", "failures"), e.r.Tier(r.Tier)))
	}
	then := orElse(l.Then, "blocked")
	if c := l.Council; c != nil {
		var names []string
		for _, lens := range c.Lenses {
			names = append(names, lens.Name)
		}
		rungs = append(rungs, fmt.Sprintf("a council of %d on %s (%s)", len(names), e.r.Tier(c.Tier), strings.Join(names, ", ")),
			count(c.Attempts, "more iteration", "more iterations"))
	}
	if len(rungs) > 0 {
		e.line(1, "after failures: %s, then %s", strings.Join(rungs, ", then "), then)
	}
	if l.Stuck > 0 {
		e.line(1, "stuck: %d failures in a row that are alike", l.Stuck)
	}
}
