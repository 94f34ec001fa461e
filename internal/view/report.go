package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/plain"
)

// rule frames a report.
var rule = strings.Repeat("═", 63)

// IterationReport returns the Task Loop's report on one iteration of the root loop.
// What is not known, because it has not run or did not have to, is "-". What the
// iteration cost is below the frame.
func IterationReport(r *Run, n int, blobs Blobs) (string, error) {
	l := r.root()
	if l == nil {
		return "", errNotStarted(r)
	}
	it := l.iteration(n)
	if it == nil {
		return "", pawl.Errorf(pawl.CodeNotFound, "run %s has no iteration %d", plain.Line(string(r.ID), 0), n).
			WithHint("its last one is %d", r.Info().Iteration)
	}
	var t text
	t.title("%s - Iteration %s", r.Recipe.Heading(), of(it.N, it.Max))
	t.line("[Task] %s: %s", r.taskID(), r.Start.Title)
	t.line("[Model] %s (complexity: %s/14)", r.TierOf(l, it.Tier), score(l))
	t.line("")
	agent, state := r.implementation(l, it)
	t.line("[Implementation]")
	t.line("  Agent: %s", agent)
	t.line("  Status: %s", state)
	t.line("  Files: %d modified", it.Files)
	t.line("")
	t.line("[Quality Gates]")
	tests := together(it.Gates, pawl.GateTests)
	t.line("  Tests:     %s", tests.word(true))
	t.line("  Types:     %s", together(it.Gates, pawl.GateTypes).word(false))
	t.line("  Lint:      %s", together(it.Gates, pawl.GateLint, pawl.GateFormat).word(false))
	t.line("  Security:  %s", together(it.Gates, pawl.GateSecurity).word(false))
	if slices.ContainsFunc(it.Gates, func(g *Gate) bool { return g.Kind == pawl.GateHeldOut }) {
		t.line("  Held-out:  %s", together(it.Gates, pawl.GateHeldOut).word(true))
	}
	t.line("")
	t.line("[Requirements]")
	reviews := together(it.Gates, "")
	t.line("  Status: %s", verdict(reviews.verdict))
	t.line("  Criteria: %s", r.criteria(reviews))
	t.line("")
	r.iterationEvidence(&t, it, blobs)
	t.line("[Decision]")
	decision, reason := decided(it)
	t.line("  %s", decision)
	t.line("  Reason: %s", reason)
	t.line("")
	t.line("%s", rule)
	t.line("")
	t.line("Spent:   %s", r.spendingOf(it))
	return t.String(), nil
}

// score returns the loop's complexity; "-" when it is not known.
func score(l *Loop) string {
	if l.Score < 0 {
		return "-"
	}
	return fmt.Sprint(l.Score)
}

// implementation is who did the iteration's work and how that ended.
func (r *Run) implementation(l *Loop, it *Iteration) (agent, state string) {
	all := r.implementations(l, it)
	if len(all) == 0 {
		return "-", "-"
	}
	last := all[len(all)-1]
	if agent = r.Settings.Agent; agent == "" {
		agent = last.Place.Role
	}
	switch {
	case last.End == nil:
		return agent, "in progress"
	case last.End.Result == pawl.SessionDone:
		return agent, "completed"
	}
	return agent, "failed"
}

// decided returns an iteration's decision in the report's words. Calling a council
// is the last rung of escalation.
func decided(it *Iteration) (decision, reason string) {
	if it.End == nil {
		return "-", "-"
	}
	if it.End.Decision == pawl.DecideCouncil {
		return "ESCALATE", "a council convenes: " + it.End.Reason
	}
	return strings.ToUpper((*Loop)(nil).Decision(it.End)), it.End.Reason
}

// tally is what several gates of a kind said together.
type tally struct {
	verdict       pawl.Verdict // empty when none ran
	passed, total int
	// Diagnostics by severity.
	critical, high, medium, low int
	partial, redAtBase          bool
	goals                       string   // how many goal tests pass, if not all do
	person                      bool     // a person let it pass
	findings                    int      // that nobody accepted, for which reviews failed
	skipped                     []string // the gates among them that did not run
}

// together adds up the gates of these kinds; the kind "" is that of reviews.
func together(gates []*Gate, kinds ...pawl.GateKind) tally {
	var t tally
	for _, g := range gates {
		in := false
		for _, k := range kinds {
			in = in || g.Kind == k
		}
		switch {
		case !in || g.isEvidence():
			continue
		case g.Verdict == pawl.VerdictSkip:
			t.skipped = append(t.skipped, g.Gate)
			continue
		}
		if t.verdict == "" || (g.red() && t.verdict != pawl.VerdictHalt) {
			t.verdict = g.Verdict
		}
		if g.judge != pawl.JudgeGoal { // its tests are the gates'
			t.passed, t.total = t.passed+g.Passed, t.total+g.Total
		} else if g.red() {
			t.goals = fmt.Sprintf("%d/%d goal tests", g.Passed, g.Total)
		}
		t.critical, t.high, t.medium, t.low = t.critical+g.Critical, t.high+g.High, t.medium+g.Medium, t.low+g.Low
		t.partial, t.redAtBase = t.partial || g.Partial, t.redAtBase || g.RedAtBase
		t.findings += len(g.Findings)
		t.person = t.person || g.By != "" && !g.red()
	}
	return t
}

// word returns the tally as a report writes it: "PASS (12/12)", with its counts when
// there are any.
func (t tally) word(counts bool) string {
	s := verdict(t.verdict)
	if counts && t.total > 0 {
		s += fmt.Sprintf(" (%d/%d)", t.passed, t.total)
	}
	if t.partial {
		s += ", partial"
	}
	if t.redAtBase {
		s += ", red at base"
	}
	if counts && t.goals != "" {
		s += ", " + t.goals
	}
	return s + t.notRun()
}

// notRun names the gates that were skipped: ", lint skipped".
func (t tally) notRun() string {
	if len(t.skipped) == 0 {
		return ""
	}
	return ", " + strings.Join(t.skipped, " and ") + " skipped"
}

// errors returns the number of errors that linters and compilers found. Warnings, which are graded
// medium, are allowed and counted apart.
func (t tally) errors() string {
	n := t.critical + t.high
	s := t.found(n)
	if t.verdict != "" && t.medium > 0 {
		s += ", and " + count(t.medium, "warning")
		if n == 0 && t.verdict != pawl.VerdictPass {
			s += " (FAIL)"
		}
	}
	return s + t.notRun()
}

// issues returns the number of security findings, of which low ones are allowed and counted apart.
func (t tally) issues() string {
	s := t.found(t.critical + t.high + t.medium)
	if t.verdict != "" && t.low > 0 {
		s += fmt.Sprintf(", and %d low", t.low)
	}
	return s + t.notRun()
}

// found returns a number of findings, "-" when no gate ran. A gate that is read by its exit code alone
// counts nothing.
func (t tally) found(n int) string {
	counted := t.critical+t.high+t.medium+t.low > 0
	switch {
	case t.verdict == "":
		return "-"
	case !counted && t.verdict != pawl.VerdictPass:
		return "unknown (FAIL)"
	case !counted && t.redAtBase:
		return "unknown (red at base)"
	}
	return fmt.Sprint(n)
}

// criteria returns how many are met: "4/5".
func (r *Run) criteria(t tally) string {
	switch {
	case t.total > 0:
		return fmt.Sprintf("%d/%d", t.passed, t.total)
	case t.verdict == pawl.VerdictPass:
		return fmt.Sprintf("%d/%d", r.Start.Count, r.Start.Count)
	}
	return fmt.Sprintf("-/%d", r.Start.Count)
}

// CompletionReport returns the Task Loop's report on the whole run. A run that did
// not complete has the same report with its status and reason, and what is red.
// Below the frame stands what the user does next and what the run took.
func CompletionReport(r *Run, blobs Blobs) (string, error) {
	l := r.root()
	if l == nil {
		return "", errNotStarted(r)
	}
	if l.Plan() != nil {
		return r.treeReport(l, blobs), nil
	}
	title, state := r.ending()
	var t text
	t.title("%s - %s", r.Recipe.Heading(), title)
	t.line("Task: %s", r.taskID())
	t.line("Status: %s", state)
	t.line("Iterations: %d", r.Info().Iteration)
	t.line("Final Model: %s", r.tier(cmp.Or(r.Recipe.Kind(l.Kind).WorkTier(l.Tier), l.Tier)))
	if r.Outcome != pawl.OutcomeComplete && r.Reason != "" {
		t.line("Reason: %s", r.Reason)
	}
	t.line("")
	gates := l.judged()
	r.summary(&t, l)
	t.line("[Model Usage]")
	r.usage(&t, l)
	t.line("")
	t.line("[Escalations]")
	for _, e := range l.Escalations {
		t.line("  %s → %s (iteration %d): %s", r.Recipe.Tier(e.From), r.Recipe.Tier(e.To), e.Iteration, e.Reason)
	}
	if len(l.Escalations) == 0 {
		t.line("  none")
	}
	t.line("")
	reportCouncils(&t, l, blobs)
	r.reportOverruled(&t)
	r.reportGoals(&t)
	r.reportEvidence(&t, blobs)
	if r.Outcome != pawl.OutcomeComplete {
		red(&t, "[Red]", gates, blobs)
	}
	r.footer(&t, blobs)
	return t.String(), nil
}

// reportOverruled names the halts of reviews that persons overruled. D-62
func (r *Run) reportOverruled(t *text) {
	all := r.overruled()
	if len(all) == 0 {
		return
	}
	t.line("[Overruled]")
	for _, o := range all {
		t.line("  %s", o.text())
	}
	t.line("")
}

// ending returns how the run ended: in the report's title, and as its status.
func (r *Run) ending() (title, state string) {
	if r.Outcome == "" {
		return "IN PROGRESS", StateOf(r.Status).Headline()
	}
	return StateOf(r.Outcome).Headline(), r.headline()
}

// Verdicts returns those on the newest iteration of a loop that has any, in the order in
// which the gates are configured, with reviews after them.
func (r *Run) Verdicts(l *Loop) []*Gate { return r.inOrder(l.judged()) }

// judged returns the gates of the newest iteration that has any, or of the one that the branch is back
// at.
func (l *Loop) judged() []*Gate {
	if it := l.backAt(); it != nil {
		return it.Gates
	}
	for i := len(l.Iterations) - 1; i >= 0; i-- {
		if g := l.Iterations[i].Gates; len(g) > 0 {
			return g
		}
	}
	return nil
}

// summary says what the gates of a loop and its reviews say together. Checks of the harness are neither, nor are
// reviews of a plan.
func (r *Run) summary(t *text, l *Loop) {
	isReview := r.IsReview
	if l.Plan() != nil {
		isReview = r.isFinalReview
	}
	gates := slices.DeleteFunc(slices.Clone(l.judged()), func(g *Gate) bool { return g.Kind == "" && !isReview(l, g) })
	yes := func(v tally) string {
		switch {
		case v.verdict == "":
			return "-"
		case v.verdict != pawl.VerdictPass && v.findings > 0 && v.passed == v.total:
			return "NO, " + count(v.findings, "finding") + " nobody accepted"
		case v.verdict != pawl.VerdictPass && v.partial && v.total == 0:
			return "unknown (no verdict)"
		case v.verdict != pawl.VerdictPass:
			return "NO"
		case v.redAtBase:
			return "NO, but not worse than the base"
		case v.person:
			return "YES, as a person decided"
		}
		return "YES"
	}
	t.line("[Quality Summary]")
	t.line("  All tests passing: %s", yes(together(gates, pawl.GateTests)))
	t.line("  Type errors: %s", together(gates, pawl.GateTypes).errors())
	t.line("  Lint errors: %s", together(gates, pawl.GateLint, pawl.GateFormat).errors())
	t.line("  Security issues: %s", together(gates, pawl.GateSecurity).issues())
	t.line("")
	reviews := together(gates, "")
	t.line("[Requirements]")
	t.line("  All criteria met: %s (%s)", yes(reviews), r.criteria(reviews))
	t.line("")
}

// usage counts how often a model of each tier was called upon to do the work, whatever number of turns that
// took. Those of assessments, reviews and councils are in the cost. D-49 D-B09
func (r *Run) usage(t *text, l *Loop) {
	const tiers = 3
	var calls [tiers + 1]int
	width := 0
	for tier := 1; tier <= tiers; tier++ {
		width = max(width, len(capital(r.tier(tier))))
	}
	for _, it := range l.Iterations {
		for _, s := range r.implementations(l, it) {
			if tier := s.Place.Tier; tier >= 1 && tier <= tiers && s.Spent.Calls > 0 {
				calls[tier]++
			}
		}
	}
	for tier := 1; tier <= tiers; tier++ {
		t.line("  %-*s %s", width+1, capital(r.tier(tier))+":", count(calls[tier], "call"))
	}
}

// capital returns a word with a capital first letter.
func capital(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[n:]
}

// red lists the gates that do not pass, each with the first of its objections,
// below a heading; nothing where all pass.
func red(t *text, heading string, gates []*Gate, blobs Blobs) {
	begun := false
	for _, g := range gates {
		if !g.red() {
			continue
		}
		if !begun {
			t.line("%s", heading)
			begun = true
		}
		t.line("  %s: %s", g.Gate, g.Told())
		for _, o := range objections(blobs.bytes(g.Whole())) {
			t.line("    %s", o)
		}
	}
	if begun {
		t.line("")
	}
}

// delivered says which attempt the branch is as after, if that is not the last one.
func (r *Run) delivered() string {
	back := r.root().lastRollback()
	if back == nil || back.Ending == "" || back.Done == nil || back.Done.Commit != r.Head {
		return ""
	}
	return ", as after " + r.root().checkpointName(back.To) + ", the best verified state"
}

// laterAttempts says where the attempts after the one that the branch is as after are, or what was
// not delivered.
func (r *Run) laterAttempts(t *text) {
	l := r.root()
	back := l.lastRollback()
	if back == nil || back.Ending == "" {
		return
	}
	if back.Done == nil {
		t.line("Best:    %s; git could not bring the branch back to it, which a resumed run does first", l.checkpointName(back.To))
		return
	}
	best := l.iteration(back.To)
	var last *Iteration
	for _, it := range l.Iterations {
		if it.N > back.To && it.Commit != nil {
			last = it
		}
	}
	if best == nil || best.Commit == nil || last == nil {
		return
	}
	later := l.checkpointName(last.N)
	if back.To+1 < last.N {
		later = fmt.Sprintf("attempts %d to %d", back.To+1, last.N)
	}
	t.line("Later:   %s: git log %s..%s", later, short(best.Commit.Commit), short(last.Commit.Commit))
}

// footer closes the frame and says what the run says at its end, what it took, and last what the
// user does next.
func (r *Run) footer(t *text, blobs Blobs) {
	t.line("%s", rule)
	t.section(func(t *text) bool { return r.answer(t, blobs) })
	t.line("")
	if r.hasLanded() || r.Head == r.Start.Base { // there are no attempts
		t.line("Branch:  %s at %s%s", r.Start.Branch, short(r.BranchHead()), r.delivered())
	} else {
		landed := "with what has landed"
		if r.BranchHead() == r.Start.Base {
			landed = "where nothing has landed"
		}
		t.line("Branch:  %s at %s, %s", r.Start.Branch, short(r.BranchHead()), landed)
		t.line("Work:    %s at %s%s", r.Start.Attempts, short(r.Head), r.delivered())
	}
	r.laterAttempts(t)
	t.line("Sandbox: %s", r.sandbox())
	if prepare := r.Prepare(); prepare != "" {
		t.line("Prepare: %s", prepare)
		if ran := r.Preparations.String(); ran != "" {
			t.line("         %s", ran)
		}
	}
	if told := r.Instructions(); told != "" {
		t.line("Instructions: %s", told)
	}
	red, unknown := r.redAtBase()
	for _, g := range red {
		t.line("Red at base: %s: %s%s", g.Gate, g.Reason, r.nowThat(g))
	}
	if about := r.aboutRed(); about != "" {
		t.line("Red:     %s", about)
	}
	for _, g := range unknown {
		t.line("No verdict at base: %s: %s", g.Gate, g.Reason)
	}
	for i := range r.LeftOut {
		t.line("Left out: %s", leftOutText(&r.LeftOut[i]))
	}
	if times := r.gateTimes(); times != "" {
		t.line("Gates:   %s", times)
	}
	r.footEvidence(t)
	t.line("Spent:   %s", r.spent())
	switch r.Outcome {
	case pawl.OutcomeComplete, pawl.OutcomeUnverified:
		if !r.hasCommits() && r.Start.Begin == "" {
			t.line("Merge:   nothing to merge: it changed no files")
			break
		}
		if r.MergedInto != "" {
			t.line("Merged:  %s has the work", r.MergedInto)
			break
		}
		if r.Outcome == pawl.OutcomeUnverified {
			t.line("Review:  git diff %s...%s (read it: the run is unverified)", short(r.Start.Base), r.Start.Branch)
		}
		if r.Start.Begin == "" { // otherwise it has judged a merge, which pawl merge finishes
			t.line("Merge:   pawl merge %s", string(r.ID))
		}
	default:
		if r.hasCommits() {
			t.line("Look:    git diff %s...%s", short(r.Start.Base), r.Start.WorkRef())
		}
		if fix := r.fix(); fix != "" {
			t.line("Fix:     %s", fix)
		}
		switch {
		case r.Outcome == pawl.OutcomeHalted && len(r.OpenQuestions()) > 0:
			t.line("Answer:  %s", r.next())
		case r.Outcome.Resumable():
			label := "Resume:"
			if r.OnlyJudgesAgain() {
				label = "Next:"
			}
			t.line("%-7s  %s", label, r.next())
		}
		if how := r.howToOverrule(); how != "" {
			t.line("Or:      %s", how)
		}
	}
}

// nowThat says what has become of a gate that was red at the base, where the result was judged by it: "" otherwise.
func (r *Run) nowThat(base *Gate) string {
	for _, g := range r.Verdicts(r.root()) {
		switch {
		case g.Gate != base.Gate || g.judge != base.judge:
		case g.RedAtBase:
			return "; in the result: " + g.Reason
		case g.Verdict == pawl.VerdictPass:
			return "; green in the result"
		}
	}
	return ""
}

// gateTimes returns how long the gates' commands ran last and on the base; empty when no time
// is known.
func (r *Run) gateTimes() string {
	times := func(gates []*Gate) string {
		var out []string
		for _, g := range gates {
			switch least := 100 * time.Millisecond; {
			case g.Duration >= least:
				out = append(out, g.Gate+" "+pawl.Span(g.Duration))
			case g.Duration > 0:
				out = append(out, g.Gate+" <"+pawl.Span(least))
			}
		}
		return strings.Join(out, ", ")
	}
	var parts []string
	if l := r.root(); l != nil {
		if last := times(r.Verdicts(l)); last != "" {
			parts = append(parts, last)
		}
	}
	if base := times(r.inOrder(r.Base)); base != "" {
		parts = append(parts, "on the base "+base)
	}
	return strings.Join(parts, "; ")
}

// text is a text under way, line by line. Every line is made safe.
type text struct{ strings.Builder }

func (t *text) title(format string, args ...any) {
	t.line("%s", rule)
	t.line(" "+format, args...)
	t.line("%s", rule)
	t.line("")
}

// section adds what write writes behind an empty line; nothing if write returns false.
func (t *text) section(write func(*text) bool) {
	var below text
	if write(&below) {
		t.WriteString("\n" + below.String())
	}
}

// line adds one line. Its indentation is the format's; what is formatted in
// cannot add lines or columns of its own.
func (t *text) line(format string, args ...any) {
	t.WriteString(plain.Sprintf(format, args...) + "\n")
}
