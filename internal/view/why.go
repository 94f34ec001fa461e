package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// LinkKind says what a [Link] of a chain is.
type LinkKind string

// The kinds of link.
const (
	LinkState   LinkKind = "state"   // what the run is now, and the reason it gives
	LinkBecause LinkKind = "because" // what led to the link before it
	LinkWaits   LinkKind = "waits"   // what the run waits for
	LinkMoney   LinkKind = "money"   // what is spent, held and lost, where that is not all spent
	LinkChanged LinkKind = "changed" // the last commit that changed something
	LinkNext    LinkKind = "next"    // what the user can do
)

// Link is one link of the chain that explains a run's present state, with the
// events that say so.
type Link struct {
	Kind   LinkKind   `json:"kind"`
	Text   string     `json:"text"`
	Events []pawl.Seq `json:"events,omitempty"`
}

// Why explains the run's present state: first what it is, then what led to it
// or what it waits for, nearest cause first, then the last commit that changed
// something, and what the user can do.
func Why(r *Run) []Link {
	var c chain
	switch r.Status {
	case pawl.StatusQuarantined:
		c.add(LinkState, fmt.Sprintf("quarantined: %s", r.Reason))
		c.add(LinkBecause, fmt.Sprintf("its events can be read up to number %d", r.Seq), r.Seq)
	case pawl.StatusEnded:
		c.mark(LinkState, r.stops.ended)
		r.whyEnded(&c)
	case pawl.StatusStopping:
		c.mark(LinkState, r.stops.stopping, "stopping, as ")
		r.whyStopping(&c)
		r.waits(&c)
	case pawl.StatusPaused:
		c.mark(LinkState, r.stops.paused)
		r.waits(&c)
		if l := r.root(); l != nil && l.goingBack() != nil {
			c.add(LinkBecause, l.backText(l.goingBack()), l.goingBack().Seq)
		}
	case pawl.StatusRunning:
		r.whyRunning(&c)
		if r.interrupted() {
			c[0].Text = "interrupted, " + r.undriven() + ": " + strings.TrimPrefix(c[0].Text, "running: ")
		}
	default:
		c.add(LinkState, "no event of it is there")
		return c
	}
	r.whySwitched(&c)
	r.whyCascade(&c)
	if f := r.Fork; f != nil {
		c.add(LinkBecause, fmt.Sprintf("it was forked from %s at event %d", f.Of, f.At), f.Seq)
	}
	if m := r.Money(); m.HeldTokens > 0 || m.LostTokens > 0 {
		c.add(LinkMoney, r.spent())
	}
	c.mark(LinkChanged, r.moved)
	c.add(LinkNext, r.nextStep())
	if how := r.howToOverrule(); how != "" {
		c.add(LinkNext, how)
	}
	return c
}

// whySwitched says which tiers use a fallback, or did so when the run ended before its work was done.
func (r *Run) whySwitched(c *chain) {
	if r.Status == pawl.StatusEnded && r.Outcome.Succeeded() {
		return
	}
	for _, x := range r.Switched() {
		c.mark(LinkBecause, x.mark)
	}
}

// WhyText returns the chain for people.
func WhyText(r *Run) string {
	var b strings.Builder
	next := "Next: "
	for _, l := range Why(r) {
		lead := map[LinkKind]string{
			LinkState: string(r.ID) + " is ", LinkBecause: "  ← ", LinkWaits: "  … waits ",
			LinkMoney: "Spent: ", LinkChanged: "Last change: ", LinkNext: next,
		}[l.Kind]
		if l.Kind == LinkNext {
			next = "Or:   "
		}
		b.WriteString(plain.Text(lead) + l.Text)
		if len(l.Events) > 0 {
			b.WriteString(" (" + numbers(l.Events) + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// numbers lists events: "event 7", "events 7, 9".
func numbers(events []pawl.Seq) string {
	s := make([]string, len(events))
	for i, n := range events {
		s[i] = fmt.Sprint(n)
	}
	if len(s) == 1 {
		return "event " + s[0]
	}
	return "events " + strings.Join(s, ", ")
}

// chain is a chain under way.
type chain []Link

func (c *chain) add(k LinkKind, text string, events ...pawl.Seq) {
	*c = append(*c, Link{k, plain.Line(text, 0), events})
}

// mark adds a mark, if there is one, with a lead before its text.
func (c *chain) mark(k LinkKind, m Mark, lead ...string) {
	if m.Seq > 0 {
		c.add(k, strings.Join(lead, "")+m.Text, m.Seq)
	}
}

// whyEnded says what led to the end: the harness stopped the run, or its loop
// came to its own end.
func (r *Run) whyEnded(c *chain) {
	if stopping := r.stops.stopping; stopping.Seq > 0 {
		if stopping.Text == r.stops.ended.Text { // as it does, unless closing the worktree failed
			(*c)[0].Events = append((*c)[0].Events, stopping.Seq)
		} else {
			c.mark(LinkBecause, stopping, "the run was to end ")
		}
		r.whyStopping(c)
		r.whyTasks(c, r.root())
		return
	}
	l := r.root()
	if l == nil {
		return
	}
	if n := len(l.Councils); n > 0 && l.Councils[n-1].Decided != nil && l.Councils[n-1].Decided.Winner == "" {
		c.add(LinkBecause, "the council after iteration "+fmt.Sprint(l.Councils[n-1].After)+" made no proposal", l.Councils[n-1].Seq)
	}
	r.whyTasks(c, l)
	it := l.last()
	if it == nil || it.End == nil {
		return
	}
	text := fmt.Sprintf("iteration %d%s ended with the decision %s", it.N, r.on(l, it), it.End.Decision)
	if it.End.Reason != r.Reason {
		text += because(it.End.Reason)
	}
	c.add(LinkBecause, text, it.EndSeq)
	if r.Outcome == pawl.OutcomeIncomplete {
		c.mark(LinkBecause, r.stops.limit)
	}
	r.whyGates(c, it)
	r.whyLeft(c)
	for _, council := range l.Councils {
		if d := council.Decided; r.Outcome == pawl.OutcomeBlocked && d != nil {
			c.add(LinkBecause, fmt.Sprintf("the council after iteration %d had advised proposal %s by %s", council.After, d.Winner, d.Lens), council.Seq)
		}
	}
}

// whyGates names the gates that decided an iteration, and what else failed in it.
func (r *Run) whyGates(c *chain, it *Iteration) {
	var passed, stand []string
	var events []pawl.Seq
	failed := false
	for _, s := range it.Sessions {
		if it.End != nil && it.End.Outcome.Succeeded() { // what ended early was judged anyway
			break
		}
		if s.Purpose == pawl.ForStep && s.End != nil && s.End.Result != pawl.SessionDone && s.End.Result != pawl.SessionAbandoned {
			c.add(LinkBecause, fmt.Sprintf("%s ended with %s%s", s.Place.Words(), s.End.Result, because(s.End.Reason)), s.Seq)
			failed = true
		}
	}
	gates := slices.Clone(it.Gates)
	slices.SortStableFunc(gates, func(a, b *Gate) int { return rank(a) - rank(b) })
	for _, g := range gates {
		if g.red() {
			c.add(LinkBecause, fmt.Sprintf("gate %s: %s: %s", g.Gate, verdictWord(&g.GateJudged), g.Told()), g.Seq)
			r.whyFindings(c, g)
			failed = true
		} else if g.Verdict == pawl.VerdictPass {
			events = append(events, g.Seq)
			switch {
			case g.From > 0:
				stand = append(stand, g.Gate)
			case g.RedAtBase:
				passed = append(passed, g.Gate+" (red at base)")
			case g.Second:
				passed = append(passed, g.Gate+" (a second look)")
			default:
				passed = append(passed, g.Gate)
			}
		}
	}
	var text []string
	if len(passed) > 0 {
		text = append(text, "passed: "+strings.Join(passed, ", "))
	}
	if len(stand) > 0 {
		text = append(text, "passed before on the same tree: "+strings.Join(stand, ", "))
	}
	if !failed && len(text) > 0 {
		c.add(LinkBecause, strings.Join(text, "; "), events...)
	}
}

// rank puts the gates that halt before those that fail.
func rank(g *Gate) int {
	if g.Verdict == pawl.VerdictHalt {
		return 0
	}
	return 1
}

// whyStopping says why the run is ended from outside its loop.
func (r *Run) whyStopping(c *chain) {
	if r.stops.cancel.Seq > 0 {
		c.mark(LinkBecause, r.stops.cancel)
		return
	}
	c.mark(LinkBecause, r.stops.limit)
	c.mark(LinkBecause, r.stops.wanted)
	if r.stops.limited != "" && r.stops.limited != pawl.LimitRetries {
		return
	}
	if r.endedBy() != nil { // it is the reason that stands there already
		(*c)[0].Events = append((*c)[0].Events, r.stops.failure.Seq)
		return
	}
	c.mark(LinkBecause, r.stops.failure)
}

// whyRunning says where the run is and what it waits for.
func (r *Run) whyRunning(c *chain) {
	l := r.root()
	if l == nil || l.last() == nil {
		c.add(LinkState, "running: before its first iteration", r.since)
		r.waits(c)
		return
	}
	it := l.last()
	where := fmt.Sprintf("running: iteration %s%s", of(it.N, it.Max), r.on(l, it))
	seq := it.Seq
	if n := len(l.Councils); it.End != nil && n > 0 && l.Councils[n-1].Decided == nil {
		where, seq = fmt.Sprintf("running: a council of %d after iteration %d", l.Councils[n-1].Members, it.N), l.Councils[n-1].Seq
	}
	if p := l.Plan(); p != nil {
		where += ", " + p.summary()
	}
	c.add(LinkState, where, seq)
	r.waits(c)
	r.waitsForAnswers(c, l)
	r.whyTasks(c, l)
	for _, e := range l.Escalations {
		if e.Iteration == it.N {
			c.add(LinkBecause, fmt.Sprintf("tier %s after %s: %s", r.Recipe.Tier(e.To), r.Recipe.Tier(e.From), e.Reason), e.Seq)
		}
	}
	if before := l.iteration(it.N - 1); it.N > 1 && before != nil && before.End != nil {
		how := "failed" + because(strings.Join(before.End.Errors, "; "))
		if before.End.Mends {
			how = "passed, and the run continues" + because(before.End.Reason)
		}
		c.add(LinkBecause, fmt.Sprintf("iteration %d%s %s", before.N, r.on(l, before), how), before.EndSeq)
		for _, g := range before.Gates {
			r.whyFindings(c, g)
		}
	}
}

// whyOverruled says that a check of the recipe decided something else than an agent.
func (r *Run) whyOverruled(c *chain, l *Loop) {
	it := l.last()
	if it == nil {
		return
	}
	for _, s := range it.Sessions {
		if s.End == nil || s.End.Facts.Get(factOverruled) == "" {
			continue
		}
		c.add(LinkBecause, fmt.Sprintf("%s decided %s, and the harness decides %s: %s", s.Place.Step, s.End.Facts.Get(factOverruled), s.End.Facts.Get("decision"),
			strings.Join(r.Start.Signs, "; ")), s.EndSeq)
	}
}

// whyTasks says which tasks failed and why, what they block, and why the plan
// was made anew.
func (r *Run) whyTasks(c *chain, l *Loop) {
	if l == nil {
		return
	}
	r.whyOverruled(c, l)
	r.whyHealth(c, l)
	p := l.Plan()
	if p == nil {
		return
	}
	r.whyBatches(c, l)
	for _, t := range p.Tasks {
		if t.Status != pawl.TaskFailed {
			continue
		}
		c.add(LinkBecause, fmt.Sprintf("task %s failed after %s%s", t.ID, count(t.Attempts(), "attempt"), because(t.Reason)), t.Seq)
		if child := t.Loop(); child != nil && child.last() != nil {
			r.whyGates(c, child.last())
		}
	}
	for _, cause := range p.causes() {
		c.add(LinkBecause, fmt.Sprintf("blocked by %s, which cannot pass: %s", cause.id, some(cause.tasks)), cause.seq)
	}
	for _, t := range p.Tasks {
		if t.Status == pawl.TaskSkipped {
			c.add(LinkBecause, fmt.Sprintf("%s and others of its kind were skipped%s", t.ID, because(t.Reason)), t.Seq)
			break
		}
	}
	if p.Cause != nil {
		c.add(LinkBecause, fmt.Sprintf("plan %d was made because of %s%s", p.Version, p.Cause.Cause, because(p.Cause.Reason)), p.Seq)
	}
}

// cause is a task that cannot pass, with those it blocks.
type cause struct {
	id    string
	tasks []string
	seq   pawl.Seq
}

func (p *Plan) causes() []cause {
	var out []cause
	for _, t := range p.Tasks {
		if t.Status != pawl.TaskBlocked {
			continue
		}
		i := slices.IndexFunc(out, func(c cause) bool { return c.id == t.Cause })
		if i < 0 {
			i = len(out)
			out = append(out, cause{id: t.Cause, seq: t.Seq})
		}
		out[i].tasks = append(out[i].tasks, t.ID)
	}
	return out
}

// waits names the effects under way. A wait is explained by what failed before it.
func (r *Run) waits(c *chain) {
	if w := r.waiting[0]; w != nil {
		c.add(LinkWaits, fmt.Sprintf("until its log can be written, since %s: %s", Clock(w.Since), plain.Line(w.Why, 500)))
	}
	failed := false
	for _, p := range r.open {
		text := fmt.Sprintf("for %s, since %s", effectName(p.Effect), Clock(p.at))
		if w := r.waiting[p.ID]; w != nil && w.Pool == pawl.PoolModel {
			text += fmt.Sprintf("; %s has sent nothing for %s", w.Model, pawl.Span(w.For.Truncate(time.Second)))
		} else if w != nil {
			text += fmt.Sprintf(", which has waited %s for %s", pawl.Span(w.For), placeText(w))
		}
		if do, ok := p.Do.(*pawl.Wait); ok {
			text, failed = fmt.Sprintf("%s until %s%s%s", pawl.Span(do.For), ClockFrom(p.at.Add(do.For), p.at), accountText(do), because(do.Reason)), true
		}
		if n := len(*c) - 1; n >= 0 && (*c)[n].Kind == LinkWaits && (*c)[n].Text == line("%s", text) { // sessions side by side wait for the same
			(*c)[n].Events = append((*c)[n].Events, p.ID)
			continue
		}
		c.add(LinkWaits, text, p.ID)
	}
	if failed {
		c.mark(LinkBecause, r.stops.failure)
	}
	questions := r.OpenQuestions()
	for _, q := range questions {
		c.add(LinkWaits, fmt.Sprintf("for your answer to question %d (%s), since %s: %s%s", q.N, q.Kind, Clock(q.Asked), r.lead(q.Loop), q.Text), q.Seq)
	}
	if len(r.open)+len(questions) == 0 && r.Status == pawl.StatusRunning {
		c.add(LinkWaits, "for a process that drives it", r.Seq)
	}
	if r.stops.recovered.Seq > 0 {
		c.mark(LinkBecause, r.stops.recovered)
	}
}

// begun counts the tasks that were begun, each try counted.
func (r *Run) begun() int {
	n := 0
	for _, l := range r.Loops {
		if l.Parent == 1 && l.Task != "" {
			n++
		}
	}
	return n
}

// Clock returns a time of day in the time zone of this machine.
func Clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// ClockFrom returns a time as [Clock] does, with the date if it is on another day than now.
func ClockFrom(t, now time.Time) string {
	t = t.Local()
	year, month, day := now.Local().Date()
	if y, m, d := t.Date(); y != year || m != month || d != day {
		return t.Format(time.DateTime)
	}
	return Clock(t)
}

// next returns what the user can do now.
func (r *Run) next() string {
	id, branch := plain.Line(string(r.ID), 0), plain.Line(r.Start.WorkRef(), 0)
	switch r.Status {
	case pawl.StatusQuarantined:
		return "git log " + branch + " (its commits are there; the run itself is not driven any more)"
	case pawl.StatusPaused:
		if open := r.OpenQuestions(); len(open) > 0 {
			return line("pawl resume %s, then %s", id, r.howToAnswer(&open[0].QuestionAsked))
		}
		return "pawl resume " + id
	case pawl.StatusEnded:
		if open := r.OpenQuestions(); r.Outcome == pawl.OutcomeHalted && len(open) > 0 {
			return line("%s", r.howToAnswer(&open[0].QuestionAsked))
		}
	default:
		if open := r.OpenQuestions(); len(open) > 0 {
			return line("%s", r.howToAnswer(&open[0].QuestionAsked))
		}
		if r.interrupted() {
			return "pawl resume " + id
		}
		return "pawl logs -f " + id
	}
	switch {
	case r.MergedInto != "":
		return line("nothing: %s has the work (pawl rm %s deletes the run)", r.MergedInto, id)
	case !r.Outcome.Resumable() && !r.hasCommits():
		return "pawl rm " + id + " (it changed no files)"
	case r.Outcome == pawl.OutcomeComplete && r.Start.Begin == "":
		return "pawl merge " + id
	case !r.Outcome.Resumable():
		return fmt.Sprintf("git diff %s...%s", short(r.Start.Base), branch)
	case r.stops.limited == pawl.LimitTasks:
		return fmt.Sprintf("pawl resume %s --max-iterations %d", id, r.begun()+5)
	case r.stops.limited == pawl.LimitIterations && r.Plan() == nil:
		return fmt.Sprintf("pawl resume %s --max-iterations %d", id, r.Info().Iteration+5)
	case r.OnlyJudgesAgain():
		return line("%s", r.continuation())
	case r.stops.limited == pawl.LimitMoney:
		return fmt.Sprintf("pawl resume %s --budget N (above %s)", id, r.Limits.Money)
	case r.stops.limited == pawl.LimitTokens:
		return fmt.Sprintf("pawl resume %s --max-tokens N (above %d)", id, r.Limits.Tokens)
	case r.stops.limited == pawl.LimitTime:
		return fmt.Sprintf("pawl resume %s --max-time D (above %s)", id, pawl.Span(r.Limits.Time))
	}
	return "pawl resume " + id
}

// OnlyJudgesAgain reports whether the run, if it is resumed, would only judge the same commit once more: every task
// has passed, the whole has not, and its recipe makes no other plan for that.
func (r *Run) OnlyJudgesAgain() bool {
	switch r.Outcome {
	case pawl.OutcomeIncomplete, pawl.OutcomeBlocked, pawl.OutcomeFailed:
	default:
		return false
	}
	p, l := r.Plan(), r.root()
	if p == nil || len(p.Tasks) == 0 || l.last() == nil || l.last().End == nil {
		return false
	}
	passed := !slices.ContainsFunc(p.Tasks, func(t *Task) bool { return t.Status != pawl.TaskPassed && t.Status != pawl.TaskDropped })
	k := r.Recipe.Kind(l.Kind)
	return passed && k != nil && k.Children != nil && k.Children.Replan == nil
}

// continuation returns the command that starts a further run of the same task from where its work is.
func (r *Run) continuation() string {
	task, _ := r.ID.Task()
	cmd := fmt.Sprintf("pawl run \"continue %s\" --recipe %s", task, r.Recipe.Name)
	for _, g := range r.Settings.Gates {
		if g.RequireGreen && !strings.Contains(cmd, "--require-green") {
			cmd += " --require-green"
		}
		for _, test := range g.Green {
			cmd += " --green " + plain.Word(plain.Line(g.Name+"="+test, 0))
		}
	}
	return cmd
}

// undriven says why nobody drives an interrupted run.
func (r *Run) undriven() string {
	if r.Needs != "" {
		return plain.Line(r.Needs, 0)
	}
	return "no process drives it"
}

// interrupted reports a run that is under way by its log, but that nobody drives.
func (r *Run) interrupted() bool {
	return r.Undriven && (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping)
}
