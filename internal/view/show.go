package view

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/plain"
)

// Summary is a run for other programs. Its texts are safe to print. Fields are
// added, never renamed; what is not known is left out.
type Summary struct {
	pawl.RunInfo
	Goal string `json:"goal,omitempty"`
	// RecipeFiles are the files of the repository that the recipe is made of, RecipeReplaces the
	// built-in recipes in whose place such a file stands.
	RecipeFiles    []string         `json:"recipe_files,omitempty"`
	RecipeReplaces []string         `json:"recipe_replaces,omitempty"`
	Criteria       []pawl.Criterion `json:"criteria,omitempty"`
	Base           pawl.CommitHash  `json:"base"`
	Head           pawl.CommitHash  `json:"head,omitempty"` // of the branch
	// Attempts is the ref that attempts are made on, and AttemptsHead where it is; empty = they are
	// made on the branch.
	Attempts     string          `json:"attempts,omitempty"`
	AttemptsHead pawl.CommitHash `json:"attempts_head,omitempty"`
	Sandbox      string          `json:"sandbox"`
	Confined     bool            `json:"confined"`
	Prepare      *SummaryPrepare `json:"prepare,omitempty"`
	// Instructions are what the repository tells those who work on it.
	Instructions     []SummaryInstruction `json:"instructions,omitempty"`
	MoreInstructions int                  `json:"more_instructions,omitempty"` // files that are not listed
	Notes            []string             `json:"notes,omitempty"`
	Complexity       *int                 `json:"complexity,omitempty"` // 0 to 14
	Alive            time.Duration        `json:"alive"`                // nanoseconds a driver had the run
	Limits           pawl.Limits          `json:"limits"`
	Iterations       []SummaryIteration   `json:"iterations"`
	BackAt           int                  `json:"back_at,omitempty"` // the iteration that the branch is as after; 0 = it is the last one
	// Gates are the newest verdicts, BaseGates those on the base commit.
	Gates     []SummaryGate `json:"gates"`
	BaseGates []SummaryGate `json:"base_gates"`
	// LeftOut are the gates that are not part of the run.
	LeftOut []pawl.GateLeftOut `json:"left_out_gates,omitempty"`
	// Overruled are the halts of reviews that persons overruled.
	Overruled   []OverrulingRow  `json:"overruled,omitempty"`
	Escalations []pawl.Escalated `json:"escalations"`
	// Switched are the tiers that use another of their models than their first, or did so at the end.
	Switched []SwitchRow  `json:"switched,omitempty"`
	Problems []ProblemRow `json:"problems"`
	// Tasks is the list of tasks, of a run that has one.
	TaskList *TaskList `json:"task_list,omitempty"`
	// Todos is the same list as what is to do.
	Todos *TodoList `json:"todo_list,omitempty"`
	// Asked are all its questions, in the order they were asked.
	Asked     []AskedRow    `json:"question_list,omitempty"`
	Decisions []DecisionRow `json:"decisions,omitempty"`
	Fork      *ForkRow      `json:"fork,omitempty"`
	// What became of batches, of a run whose tasks are judged in such. Recoveries
	// counts how often its health led to something besides a question.
	Batches     []BatchRow      `json:"batches,omitempty"`
	Healths     []HealthRow     `json:"health_history,omitempty"`
	Checkpoints *CheckpointList `json:"checkpoint_list,omitempty"`
	Recoveries  int             `json:"recoveries,omitempty"`
	SummaryEvidence
	// Answer is what the run says at its end; missing until then.
	Answer *Answer `json:"answer,omitempty"`
	Why    []Link  `json:"why"`
	// Fix says what to mend before Next, such as a key that the provider refuses; empty = nothing.
	Fix  string `json:"fix,omitempty"`
	Next string `json:"next"` // a command the user may want
}

// SummaryIteration is an iteration in a [Summary].
type SummaryIteration struct {
	N       int             `json:"n"`
	Tier    string          `json:"tier"`
	Attempt int             `json:"attempt"`
	Files   int             `json:"files"`
	Commit  pawl.CommitHash `json:"commit,omitempty"`
	// Findings are those that its candidate has, Paths counts its changed paths by class.
	Findings     []string          `json:"findings,omitempty"`
	Paths        []pawl.ClassCount `json:"paths,omitempty"`
	Quality      pawl.Verdict      `json:"quality,omitempty"`
	Requirements pawl.Verdict      `json:"requirements,omitempty"`
	Decision     pawl.Decision     `json:"decision,omitempty"` // empty while it is under way
	Reason       string            `json:"reason,omitempty"`
	Errors       []string          `json:"errors,omitempty"`
	Calls        int               `json:"calls"`
	Cost         pawl.Micros       `json:"cost"` // what it was charged
	Tokens       int64             `json:"tokens"`
	Lost         pawl.Micros       `json:"lost,omitempty"` // the part whose cost nobody knows
	LostTokens   int64             `json:"lost_tokens,omitempty"`
	Money        pawl.Money        `json:"money"`
	Began        time.Time         `json:"began"`
	Ended        time.Time         `json:"ended,omitzero"`
}

// SummaryPrepare is what makes checkouts ready before their gates, in a [Summary].
type SummaryPrepare struct {
	Commands []string    `json:"commands"`
	From     pawl.Origin `json:"from,omitempty"`   // missing in runs that did not record it
	Network  bool        `json:"network"`          // they reach more than their room
	Egress   []string    `json:"egress,omitempty"` // the rules of their egress proxy
	Preparations
}

// SummaryInstruction is a file in which the repository tells those who work on it how, in
// a [Summary].
type SummaryInstruction struct {
	Path   string `json:"path"`
	Folder string `json:"folder,omitempty"` // it holds for the files below it; missing = for all
	Bytes  int64  `json:"bytes"`
	Shown  int64  `json:"shown"` // how many of its bytes agents are shown
	// Text is the blob with what they are shown.
	Text pawl.Hash `json:"text,omitzero"`
}

// SummaryGate is a verdict in a [Summary].
type SummaryGate struct {
	Gate      string        `json:"gate"`
	Kind      pawl.GateKind `json:"kind,omitempty"` // empty for a review
	Verdict   pawl.Verdict  `json:"verdict"`
	Reason    string        `json:"reason"`
	Passed    int           `json:"passed"`
	Total     int           `json:"total"`
	RedAtBase bool          `json:"red_at_base,omitempty"`
	Partial   bool          `json:"partial,omitempty"`
	From      int           `json:"from,omitempty"`        // the iteration that judged the same tree; missing = the newest
	Second    bool          `json:"second_look,omitempty"` // the review judged the same tree before
	Duration  time.Duration `json:"duration,omitempty"`    // nanoseconds its command ran; missing in older runs
	Event     pawl.Seq      `json:"event"`
	Evidence  pawl.Hash     `json:"evidence,omitzero"`
	// Full is the whole report where Evidence is only what agents may see of it: that of held-out
	// checks.
	Full pawl.Hash `json:"full,omitzero"`
}

// Summarize makes the summary of a run.
func Summarize(r *Run, blobs Blobs) Summary {
	s := Summary{
		RunInfo: r.Info(), RecipeFiles: lines(r.Start.RecipeFiles), RecipeReplaces: lines(r.Start.RecipeReplaces), Goal: blobs.text(r.Start.Goal), Criteria: r.criterionList(blobs),
		Base: commit(r.Start.Base), Head: commit(r.BranchHead()), Sandbox: r.sandbox(), Confined: r.Start.Confined, Prepare: r.prepare(), Notes: lines(r.Notes),
		Instructions: r.instructions(), MoreInstructions: r.Start.MoreInstructions,
		Alive: r.Alive, Decisions: r.decisions(blobs), Fork: r.Fork.row(), Limits: r.Limits, Iterations: []SummaryIteration{},
		Gates: []SummaryGate{}, BaseGates: summarizeGates(r.Base), LeftOut: r.LeftOut, Overruled: r.overruled(), Escalations: []pawl.Escalated{},
		Problems: append([]ProblemRow{}, r.Problems...), Switched: r.Switched(), Answer: AnswerOf(r, blobs), Why: Why(r), Fix: r.fix(), Next: r.next(), SummaryEvidence: r.summarizeEvidence(),
	}
	if r.Start.Attempts != "" {
		s.Attempts, s.AttemptsHead = plain.Line(r.Start.Attempts, 0), commit(r.Head)
	}
	if r.Plan() != nil {
		list := Tasks(r, r.Updated)
		todos := Todos(r)
		s.TaskList, s.Todos = &list, &todos
	}
	for _, q := range r.Questions {
		s.Asked = append(s.Asked, r.askedRow(q, blobs))
	}
	for _, text := range []*string{&s.Title, &s.Recipe, &s.Reason, &s.Branch, &s.Tier} {
		*text = plain.Line(*text, 0)
	}
	l := r.root()
	if l == nil {
		return s
	}
	if l.Score >= 0 {
		s.Complexity = &l.Score
	}
	for _, it := range l.Iterations {
		s.Iterations = append(s.Iterations, r.summarizeIteration(l, it))
	}
	if it := l.backAt(); it != nil {
		s.BackAt = it.N
	}
	s.Gates = summarizeGates(r.Verdicts(l))
	r.summarizeBatches(&s, l)
	for _, e := range l.Escalations {
		e.Escalated.Reason = plain.Line(e.Reason, 0)
		s.Escalations = append(s.Escalations, e.Escalated)
	}
	return s
}

func (r *Run) summarizeIteration(l *Loop, it *Iteration) SummaryIteration {
	s := SummaryIteration{N: it.N, Tier: r.TierOf(l, it.Tier), Attempt: it.Attempt, Files: it.Files,
		Calls: it.Spent.Calls, Cost: it.Spent.Cost, Tokens: it.Spent.Tokens, Lost: it.Spent.Lost, LostTokens: it.Spent.LostTokens, Money: r.MoneyOf(it), Began: it.Began, Ended: it.Ended}
	if it.Commit != nil {
		s.Commit = commit(it.Commit.Commit)
	}
	if x := it.Exam; x != nil {
		s.Findings, s.Paths = lines(x.Findings), classRows(x.Paths)
	}
	if b := it.End; b != nil {
		s.Quality, s.Requirements, s.Decision = b.Quality, b.Requirements, b.Decision
		s.Reason, s.Errors = plain.Line(b.Reason, 0), lines(b.Errors)
	}
	return s
}

func summarizeGates(gates []*Gate) []SummaryGate {
	out := []SummaryGate{}
	for _, g := range gates {
		out = append(out, SummaryGate{Gate: plain.Line(g.Gate, 0), Kind: g.Kind, Verdict: g.Verdict, Reason: plain.Line(g.Reason, 0),
			Passed: g.Passed, Total: g.Total, RedAtBase: g.RedAtBase, Partial: g.Partial, From: g.From, Second: g.Second, Duration: g.Duration, Event: g.Seq, Evidence: g.Evidence, Full: g.Full})
	}
	return out
}

func commit(c pawl.CommitHash) pawl.CommitHash { return pawl.CommitHash(plain.Line(string(c), 0)) }

func lines(all []string) []string {
	var out []string
	for _, s := range all {
		out = append(out, plain.Line(s, 0))
	}
	return out
}

// criterionList reads the task's acceptance criteria.
func (r *Run) criterionList(blobs Blobs) []pawl.Criterion {
	var out []pawl.Criterion
	if json.Unmarshal(blobs.bytes(r.Start.Criteria), &out) != nil {
		return nil
	}
	for i := range out {
		out[i].ID, out[i].Text = plain.Line(out[i].ID, 0), plain.Line(out[i].Text, 0)
	}
	return out
}

// inOrder sorts verdicts as the gates are configured, reviews after them.
func (r *Run) inOrder(gates []*Gate) []*Gate {
	rank := func(g *Gate) int {
		i := slices.IndexFunc(r.Settings.Gates, func(s pawl.GateSpec) bool { return s.Name == g.Gate })
		if i < 0 {
			return len(r.Settings.Gates)
		}
		return i
	}
	out := slices.Clone(gates)
	slices.SortStableFunc(out, func(a, b *Gate) int { return rank(a) - rank(b) })
	return out
}

// ShowJSON returns the [Summary] as an indented JSON document.
func ShowJSON(r *Run, blobs Blobs) ([]byte, error) {
	out, err := json.MarshalIndent(Summarize(r, blobs), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("show run %s: %w", r.ID, err)
	}
	return append(out, '\n'), nil
}

// Show returns a run on one screen.
// Documents are what else its recipe shows of a run, in safe lines.
func Show(r *Run, blobs Blobs, documents ...string) string {
	var t text
	t.line("%s  %s", string(r.ID), r.Start.Title)
	t.line("")
	state := StateOfRun(r.Info()).String() + r.leftOpen()
	if r.interrupted() {
		state = StateOf("interrupted").String() + ": " + r.undriven()
	}
	t.line("  Status     %s%s", state, because(r.Reason))
	if w := r.Waiting(); w != nil {
		t.line("  Waiting    %s", WaitingText(w))
	}
	t.line("  Recipe     %s, started %s", r.RecipeText(), r.Began.Local().Format(time.DateTime))
	t.line("  Branch     %s at %s, from %s", r.Start.Branch, short(r.BranchHead()), short(r.Start.Base))
	if r.Start.Attempts != "" {
		t.line("  Attempts   %s at %s", r.Start.Attempts, short(r.Head))
	}
	if f := r.Fork; f != nil {
		t.line("  Forked     from %s at event %d, which had spent %s, %s", string(f.Of), f.At, r.money(f.Cost), count(int(f.Tokens), "token"))
	}
	t.line("  Sandbox    %s", r.sandbox())
	if prepare := r.Prepare(); prepare != "" {
		t.line("  Prepare    %s", prepare)
		if ran := r.Preparations.String(); ran != "" {
			t.line("             %s", ran)
		}
	}
	if told := r.Instructions(); told != "" {
		t.line("  Instructions  %s", told)
	}
	if paths := r.changedPaths(); paths != "" {
		t.line("  Changed    %s (paths by class)", paths)
	}
	if mode := r.evidenceMode(); mode != "" {
		t.line("  Evidence   %s", mode)
	}
	r.showGoals(&t)
	t.line("  Models     %s", r.models())
	for _, purse := range r.Purses() {
		t.line("  Agent      %s", purse)
	}
	if r.Status != pawl.StatusEnded {
		for _, x := range r.Switched() {
			t.line("  Fallback   %s", x.text(r.Updated))
		}
	}
	if l := r.root(); l != nil && l.Score >= 0 {
		t.line("  Complexity %d/14, %s (%s)", l.Score, r.band(l), l.ScoreWhy)
	}
	t.line("  Spent      %s", r.spent())
	for _, n := range r.Notes {
		t.line("  Note       %s", n)
	}
	t.section(func(t *text) bool { return r.answer(t, blobs) })
	if criteria := r.criterionList(blobs); len(criteria) > 0 {
		t.line("")
		t.line("Criteria")
		for _, c := range criteria {
			t.line("  %s  %s", c.ID, c.Text)
		}
	}
	if l := r.root(); l != nil {
		r.showLoop(&t, l, blobs)
		r.showBatches(&t, l, blobs)
		r.showTree(&t, l)
		r.showHeldOut(&t, l, blobs)
	}
	r.showEvidence(&t, blobs)
	if all := r.decisions(blobs); len(all) > 0 {
		t.line("")
		t.line("Decisions")
		for _, d := range all {
			t.line("  %s", d.text())
		}
	}
	if all := r.overruled(); len(all) > 0 {
		t.line("")
		t.line("Overruled")
		for _, o := range all {
			t.line("  %s (event %d)", o.text(), o.Event)
		}
	}
	r.showQuestions(&t, blobs)
	if problems := r.unsaidProblems(); len(problems) > 0 {
		t.line("")
		t.line("Problems")
		for i := range problems {
			t.line("  %s  %s", Clock(problems[i].Time), problems[i].text())
		}
	}
	for _, doc := range documents {
		t.line("")
		t.WriteString(doc)
	}
	t.line("")
	t.line("Next: %s", r.nextStep())
	if how := r.howToOverrule(); how != "" {
		t.line("Or:   %s", how)
	}
	return t.String()
}

// TierModels names the models of a tier, in the order in which they are called.
func (r *Run) TierModels(tier int) string {
	return plain.Line(strings.Join(r.Settings.Tier(tier), ", else "), 300)
}

// models returns the models of the tiers.
func (r *Run) models() string {
	var out []string
	for i, m := range r.Settings.Models {
		if m.Name != "" {
			out = append(out, r.Recipe.Tier(i+1)+" = "+r.TierModels(i+1))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

// Purses says of each coding agent what pays for its turns, and whether that is in its room.
func (r *Run) Purses() []string {
	var out []string
	for _, m := range r.Settings.AllModels() {
		if !m.Agent {
			continue
		}
		text := m.Provider + ": a key pays, which is kept out of its room"
		switch login := m.Address == ""; {
		case login && !r.Start.Confined:
			text = m.Provider + ": your login pays"
		case login:
			text = m.Provider + ": your login pays, and is in its room, which reaches only its provider"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func (r *Run) showLoop(t *text, l *Loop, blobs Blobs) {
	if len(l.Iterations) > 0 {
		t.line("")
		r.showIterations(t, l)
	}
	if gates := r.Verdicts(l); len(gates) > 0 {
		t.line("")
		t.line("Gates")
		showGates(t, gates)
	}
	red, unknown := r.redAtBase()
	if len(red) > 0 {
		t.line("")
		t.line("Red at base")
		showGates(t, red)
	}
	if len(unknown) > 0 {
		t.line("")
		t.line("No verdict at base: it excuses no failure")
		showGates(t, unknown)
	}
	if len(r.LeftOut) > 0 {
		t.line("")
		t.line("Left out")
		for i := range r.LeftOut {
			t.line("  %s", leftOutText(&r.LeftOut[i]))
		}
	}
	for _, c := range l.Councils {
		t.line("")
		t.line("Council after iteration %d: %s", c.After, c.Reason)
		for _, line := range c.told(blobs) {
			t.line("  %s", line)
		}
	}
	if it := l.last(); it != nil && it.End != nil {
		decision, reason := decided(it)
		t.line("")
		t.line("Decision: %s: %s", decision, reason)
	}
}

func (r *Run) showIterations(t *text, l *Loop) {
	rows := [][]string{{"ITERATION", "TIER", "FILES", "QUALITY", "REQUIREMENTS", "CALLS", "TOKENS", "COST", "HELD", "LOST", "DECISION"}}
	row := func(name, tier, files, quality, requirements, decision string, calls int, m pawl.Money) {
		rows = append(rows, []string{name, tier, files, quality, requirements, fmt.Sprint(calls), pawl.Thousands(m.SpentTokens), r.money(m.Spent), r.someMoney(m.Held), r.someMoney(m.Lost), decision})
	}
	var other Spending
	for _, s := range l.Before {
		other.add(s.Spent)
	}
	for _, c := range l.Councils {
		for _, s := range c.Sessions {
			other.add(s.Spent)
		}
	}
	for _, it := range l.Iterations {
		quality, requirements, decision := "-", "-", r.unended()
		if it.End != nil {
			quality, requirements = judged(it.End.Quality), judged(it.End.Requirements)
			decision = l.Decision(it.End)
			if it == l.bestIteration() && it != l.lastEnded() {
				decision += ", best verified"
			}
		}
		row(of(it.N, it.Max), r.TierOf(l, it.Tier), fmt.Sprint(it.Files), quality, requirements, decision, it.Spent.Calls, r.MoneyOf(it))
	}
	held := r.held(func(p pending) bool { s := r.sessionOf(p); return s != nil && s.loop == l.Ref && s.iteration == nil })
	if other.Calls+other.Failed > 0 || held != (pawl.Money{}) {
		money := other.money()
		money.Add(held)
		row("other", "-", "-", "-", "-", "-", other.Calls, money)
	}
	withoutUnused(rows, 8, 9)
	t.table(rows)
}

// judged returns the verdict of an iteration in a table.
func judged(v pawl.Verdict) string {
	if v == pawl.VerdictHalt {
		return "HALT"
	}
	return verdict(v)
}

// unended returns what there is to say of an iteration without an end.
func (r *Run) unended() string {
	if r.Status == pawl.StatusEnded {
		return "cut off"
	}
	return "active"
}

// money returns an amount, or "-" where reports leave money out.
func (r *Run) money(m pawl.Micros) string {
	if r.Settings.NoCost {
		return "-"
	}
	return m.String()
}

// someMoney returns the same, and "-" for none.
func (r *Run) someMoney(m pawl.Micros) string {
	if m == 0 {
		return "-"
	}
	return r.money(m)
}

// withoutUnused removes those of the columns, given in ascending order, that have nothing but "-"
// below the head.
func withoutUnused(rows [][]string, columns ...int) {
	for _, c := range slices.Backward(columns) {
		if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[c] != "-" }) {
			continue
		}
		for i := range rows {
			rows[i] = slices.Delete(rows[i], c, c+1)
		}
	}
}

func showGates(t *text, gates []*Gate) {
	var rows [][]string
	for _, g := range gates {
		counts := ""
		if g.Total > 0 && !g.isEvidence() {
			counts = fmt.Sprintf("%d/%d", g.Passed, g.Total)
		}
		counts = strings.TrimPrefix(counts+tookLong(g.Duration), " ")
		rows = append(rows, []string{"  " + plain.Line(g.Gate, 40), verdictWord(&g.GateJudged), counts, g.Told()})
	}
	t.table(rows)
}

// table writes rows in columns as wide as their widest cell. Cells are safe already.
func (t *text) table(rows [][]string) {
	for _, row := range Columns(rows, 0) {
		t.WriteString(row + "\n")
	}
}
