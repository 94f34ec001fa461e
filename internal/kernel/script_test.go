package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/kernel/brief"
)

// A story's world does what the story's lines say, each of the form
//
//	WHERE: WHAT [takes DURATION] [xCOUNT]
//
// and otherwise what it does when all goes well: gates pass, sessions submit
// their result with the first reply, reviews pass, proposals are ranked A B C ….
// The first line that fits an effect, and is not used up, wins.
//
// WHERE is [base | iteration N] [attempt N] SUBJECT [turn N]. A subject is a
// gate's name, a session's step (implement, requirements, proposal analyst,
// ballot analyst), a tool's name, prompt, wait, or what happens to a worktree
// (open, commit, inspect, reset, close).
//
// WHAT is, for a gate: pass, skip, halt, fail [TEST…] [error=TEXT], finds SEVERITY
// RULE; any of them with was=green, broke=TEST+TEST, mended=TEST+TEST, took=DURATION, missing=PROGRAM, lacks=FILE. For a model's turn: calls TOOL…, submits [NAME=VALUE…], submits badly or long, says,
// any of them with the word cut (at the output limit), or error KIND [wait=DURATION].
// For prepare: key=KEY, fails. For a commit: files NAME…, tree NAME, patch NAME, kept (it touches what the harness keeps), lacks (files
// are left out). For a tool: conflict, edits nothing.
// For evidence: [runs ON:GATE…] [remark=TEXT] [finds KIND:PATH[#TEST+TEST]…]; the gates that run for it are the
// subjects expected GATE and reverted GATE.
// For anything: breaks [CODE], hangs.
type rule struct {
	line      string
	iteration int // -1 = any
	attempt   int
	task      string // empty = any; - = the root
	round     int
	subject   string
	turn      int
	what      []string
	takes     time.Duration
	left      int // -1 = no end
}

func parseRule(t testing.TB, line string) rule {
	where, what, ok := strings.Cut(line, ":")
	if !ok {
		t.Fatalf("%q is not WHERE: WHAT", line)
	}
	r := rule{line: line, iteration: -1, left: -1}
	words := strings.Fields(where)
	for i := 0; i < len(words); i++ {
		number := func() int {
			i++
			return atoi(t, words[i])
		}
		switch words[i] {
		case "base":
			r.iteration = 0
		case "iteration":
			r.iteration = number()
		case "attempt":
			r.attempt = number()
		case "turn":
			r.turn = number()
		case "round":
			r.round = number()
		case "root":
			r.task = "-"
		case "task":
			i++
			r.task = words[i]
		default:
			r.subject = strings.TrimSpace(r.subject + " " + words[i])
		}
	}
	words = strings.Fields(what)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "takes":
			i++
			r.takes = duration(t, words[i])
		case len(words[i]) > 1 && words[i][0] == 'x' && strings.Trim(words[i][1:], "0123456789") == "":
			r.left = atoi(t, words[i][1:])
		default:
			r.what = append(r.what, words[i])
		}
	}
	return r
}

func atoi(t testing.TB, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t testing.TB, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// script answers effects by rules.
type script struct {
	w     *world
	rules []rule

	lists      map[pawl.Hash][]pawl.TaskEntry
	unreadable map[pawl.Hash]string // lists that cannot be read, and why
	texts      map[pawl.Hash]string // what is remembered
}

// clone copies a script and its world, as chance.clone does.
func (s *script) clone() *script {
	n := copyOf(s)
	n.w.happens = n.happens
	return n
}

// subjects are the names under which rules may speak of an effect.
func subjects(f *pawl.Effect) []string {
	p := f.Place
	switch do := f.Do.(type) {
	case *pawl.CallTool:
		return []string{do.Tool}
	case *pawl.AssemblePrompt:
		return []string{"prompt", p.Step + " prompt"}
	case *pawl.Wait:
		return []string{"wait"}
	case *pawl.AdvanceBranch:
		return []string{"advance"}
	case *pawl.RunGate:
		if do.On != "" {
			return []string{string(do.On) + " " + p.Step}
		}
		if !do.Doubt.IsZero() {
			return []string{"doubted " + p.Step}
		}
		if strings.HasPrefix(string(do.Commit), "m") && p.Task == "" {
			return []string{"batch " + p.Step, p.Step}
		}
	case *pawl.CallModel:
		if p.Lens != "" {
			return []string{p.Role, p.Role + " " + p.Lens, p.Step, p.Step + " " + p.Lens}
		}
	}
	return []string{p.Step}
}

// onBase reports whether a gate looks at the base: lines that mean this say base.
func onBase(f *pawl.Effect) bool {
	do, ok := f.Do.(*pawl.RunGate)
	return ok && do.OnBase
}

func (s *script) rule(f *pawl.Effect) *rule {
	for i := range s.rules {
		r := &s.rules[i]
		fits := r.left != 0 && slices.Contains(subjects(f), r.subject) &&
			(r.iteration == f.Place.Iteration || r.iteration < 0 && !onBase(f)) &&
			(r.attempt == 0 || r.attempt == f.Place.Attempt) && (r.turn == 0 || r.turn == f.Place.Turn) &&
			(r.round == 0 || r.round == f.Place.Round) && (r.task == "" || r.task == f.Place.Task || r.task == "-" && f.Place.Task == "")
		if fits {
			if r.left > 0 {
				r.left--
			}
			return r
		}
	}
	return &rule{}
}

// happens says what performing an effect gives, and how long it takes.
func (s *script) happens(f *pawl.Effect) (pawl.Answer, time.Duration) {
	r := s.rule(f)
	answer, takes := s.answer(f, r)
	if r.takes > 0 {
		takes = r.takes
	}
	if r.says("hangs") {
		takes = 1000 * time.Hour
	}
	return answer, takes
}

func (r *rule) says(word string) bool { return slices.Contains(r.what, word) }

// value is what follows NAME= in a rule.
func (r *rule) value(name string) string {
	for _, w := range r.what {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return ""
}

func (s *script) answer(f *pawl.Effect, r *rule) (pawl.Answer, time.Duration) {
	if r.says("breaks") {
		code := pawl.FailMachine
		if len(r.what) > 1 {
			code = pawl.FailureCode(r.what[1])
		}
		return failed(f, code, "the world says no"), time.Second
	}
	switch do := f.Do.(type) {
	case *pawl.OpenWorkspace:
		return &pawl.WorkspaceOpened{Effect: f.ID}, time.Second
	case *pawl.InspectWorkspace:
		return &pawl.WorkspaceInspected{Effect: f.ID}, time.Second
	case *pawl.ResetWorkspace:
		b := &pawl.WorkspaceReset{Effect: f.ID, Salvage: do.Salvage}
		if do.Diff {
			b.Diff = blobOf("what was removed")
		}
		return b, time.Second
	case *pawl.CloseWorkspace:
		return &pawl.WorkspaceClosed{Effect: f.ID}, time.Second
	case *pawl.Commit:
		return s.committed(f, r), time.Second
	case *pawl.AssemblePrompt:
		return prompted(f, 3000), time.Second
	case *pawl.CallModel:
		return s.replied(f, r), 5 * time.Second
	case *pawl.CallTool:
		return &pawl.ToolReturned{Effect: f.ID, Output: blobOf(do.Tool), Bytes: 600, Conflict: r.says("conflict"), IsError: r.says("nothing") || r.says("fails")}, time.Second
	case *pawl.RunGate:
		return s.judged(f, r), 10 * time.Second
	case *pawl.Examine:
		return s.examined(f, do, r), time.Second
	case *pawl.WeighGoals:
		return s.weighed(f, do, r), time.Second
	case *pawl.Prepare:
		b := &pawl.Prepared{Effect: f.ID, Key: r.value("key"), Duration: 20 * time.Second}
		if b.Key == "" {
			b.Key = "key"
		}
		if r.says("fails") {
			b.Said = r.value("said")
			b.Failed, b.Evidence = `prepare "npm ci" failed (exit 1)`, blobOf("npm")
		}
		return b, 20 * time.Second
	case *pawl.Wait:
		return &pawl.WaitEnded{Effect: f.ID}, do.For
	case *pawl.ReadTasks:
		return s.tasksRead(f, do), time.Second
	case *pawl.Merge:
		return s.merged(f, r), time.Second
	case *pawl.AdvanceBranch:
		return &pawl.BranchAdvanced{Effect: f.ID}, time.Second
	case *pawl.Publish:
		return &pawl.Published{Effect: f.ID}, time.Second
	case *pawl.ProbeConflicts:
		return s.probedWith(f, do, r), time.Second
	case *pawl.Notify, *pawl.Announce:
		return &pawl.Notified{Effect: f.ID, Status: 200}, time.Second
	}
	b := s.batchAnswer(f)
	if b == nil {
		s.w.t.Fatalf("nobody can perform %s", f.Do.Verb())
	}
	return b, time.Second
}

// examined is what a look at a candidate gives: runs ON:GATE… at the first look, and what it finds.
func (s *script) examined(f *pawl.Effect, do *pawl.Examine, r *rule) *pawl.Examined {
	b := &pawl.Examined{Effect: f.ID}
	finds, looked := false, len(do.Further) > 0
	for _, word := range r.what {
		kind, path, ok := strings.Cut(word, ":")
		switch {
		case word == "finds":
			finds = true
		case strings.HasPrefix(word, "remark="):
			b.Remarks = append(b.Remarks, r.value("remark"))
		case ok && finds:
			found := pawl.Finding{Kind: pawl.FindingKind(kind), Path: path, Text: "it changed", Print: brief.Fingerprint(word)}
			if at, tests, named := strings.Cut(path, "#"); named {
				found.Path, found.Tests = at, strings.Split(tests, "+")
			}
			b.Found = append(b.Found, found)
		case ok && !looked:
			b.Runs = append(b.Runs, pawl.FurtherRun{On: pawl.Tree(kind), Commit: do.Commit + "-" + pawl.CommitHash(kind), Gates: []string{path}, Reason: "tests changed"})
		}
	}
	if len(b.Runs) > 0 {
		return &pawl.Examined{Effect: f.ID, Runs: b.Runs}
	}
	b.Evidence = blobOf("evidence of " + string(do.Commit))
	return b
}

// weighed is what a look at goal tests gives: how many there are (count=N), which the candidate has red
// (red=A+B, weak=C+D), gates that have to run once more at the first look (again=GATE) or after the
// examination (later=GATE), and whether more is known after an examination (unsure).
func (s *script) weighed(f *pawl.Effect, do *pawl.WeighGoals, r *rule) *pawl.GoalsWeighed {
	b := &pawl.GoalsWeighed{Effect: f.ID, Commit: do.Commit}
	names := func(key string) []string {
		return strings.FieldsFunc(r.value(key), func(c rune) bool { return c == '+' })
	}
	red, weak := names("red"), names("weak")
	b.Red, b.RedWeak, b.Failing = len(red), len(weak), slices.Concat(red, weak)
	b.Count, b.Weak = len(b.Failing), len(weak)
	if v := r.value("count"); v != "" {
		b.Count = atoi(s.w.t, v)
	}
	if b.Count > 0 {
		b.Goals = blobOf(fmt.Sprint("goals ", b.Count, b.Failing))
		b.Picked = []pawl.GoalTest{{Gate: "tests", Name: "TestGoal", Why: pawl.GoalAsked}}
	}
	if v := r.value("again"); v != "" && len(do.Again) == 0 && do.Commit != "" {
		b.Again = []string{v}
	}
	if v := r.value("later"); v != "" && !do.Evidence.IsZero() && !slices.ContainsFunc(do.Again, func(e pawl.GateEvidence) bool { return e.Gate == v }) {
		b.Again = []string{v}
	}
	b.Unsure = r.says("unsure") && do.Evidence.IsZero()
	return b
}

func (s *script) committed(f *pawl.Effect, r *rule) *pawl.Committed {
	b := &pawl.Committed{Effect: f.ID, Files: 1, Total: 1, FileSet: brief.Fingerprint(fmt.Sprintf("file-%d", f.ID)), Paths: blobOf("paths")}
	for i, word := range r.what {
		switch word {
		case "files":
			b.Files, b.FileSet = len(r.what)-i-1, brief.Fingerprint(strings.Join(r.what[i+1:], " "))
		case "tree":
			b.Tree = pawl.TreeHash(r.what[i+1])
		case "patch":
			b.PatchID = r.what[i+1]
		case "kept":
			b.Kept = 1
		case "lacks":
			b.LeftOut = []pawl.LimitMet{{Limit: pawl.LimitGitName, Files: 2}, {Limit: pawl.LimitFile, Max: 50, Files: 1}}
			b.Report = blobOf("report")
		case "nothing":
			b.Files, b.Total, b.FileSet, b.Paths = 0, 0, 0, pawl.Hash{}
		}
	}
	return b
}

// judged is a gate's verdict as a rule has it.
func (s *script) judged(f *pawl.Effect, r *rule) *pawl.GateJudged {
	b := &pawl.GateJudged{Effect: f.ID, Verdict: pawl.VerdictPass, Reason: "fine", Passed: 3, Total: 3, Evidence: blobOf(fmt.Sprint("evidence-", f.ID))}
	if do, ok := f.Do.(*pawl.RunGate); ok {
		b.Again = !do.Doubt.IsZero()
		if !do.OnBase && do.On == "" && !slices.Contains(r.what, "fail") && r.value("kept") == "" {
			b.Kept = 3
		}
	}
	if v := r.value("kept"); v != "" {
		b.Kept = atoi(s.w.t, v)
	}
	if len(r.what) == 0 {
		return b
	}
	if v := r.value("broke"); v != "" {
		b.Broke = strings.Split(v, "+")
	}
	if v := r.value("mended"); v != "" {
		b.Mended, b.Evidence = strings.Split(v, "+"), blobOf("evidence")
	}
	if v := r.value("passed"); v != "" {
		b.Passed = atoi(s.w.t, v)
		b.Total = max(b.Total, b.Passed)
	}
	if v := r.value("total"); v != "" {
		b.Total = atoi(s.w.t, v)
	}
	if v := r.value("took"); v != "" {
		b.Duration = duration(s.w.t, v)
	}
	b.Missing, b.Lacks = r.value("missing"), r.value("lacks")
	rest := slices.DeleteFunc(slices.Clone(r.what[1:]), func(w string) bool { return strings.Contains(w, "=") })
	b.Verdict, b.Reason = pawl.Verdict(r.what[0]), strings.Join(rest, " ")
	b.Error = brief.Fingerprint(r.value("error"))
	b.Partial, b.RedAtBase = r.says("partial"), r.says("red")
	b.WasGreen = r.says("was=green") || len(b.Broke) > 0
	switch r.what[0] {
	case "fail":
		slices.Sort(rest)
		b.Failing = brief.Fingerprint(strings.Join(rest, " "))
	case "finds":
		b.Found, b.Verdict = brief.Fingerprint(rest[1]), pawl.VerdictFail
		switch rest[0] {
		case "critical":
			b.Critical, b.Verdict = 1, pawl.VerdictHalt
		case "medium":
			b.Medium = 1
		case "low":
			b.Low, b.Verdict = 1, pawl.VerdictPass
		}
	}
	return b
}

// replied is what a model says: its session's result, if no rule has it otherwise.
func (s *script) replied(f *pawl.Effect, r *rule) pawl.Answer {
	if r.says("error") {
		out := failed(f, pawl.FailureCode(r.what[1]), "the provider says no")
		if v := r.value("wait"); v != "" {
			out.Failure.Wait = duration(s.w.t, v)
		}
		return out
	}
	id := fmt.Sprintf("reply-%d", f.ID)
	b := &pawl.ModelReplied{Effect: f.ID, Message: blobOf(id), Bytes: 900, Stop: pawl.StopToolUse, Model: "scripted",
		Usage: pawl.Usage{Input: 1000, Output: 400}}
	if r.says("cut") {
		b.Stop = pawl.StopMaxOutput
	}
	if v := r.value("output"); v != "" {
		b.Usage.Output = int64(atoi(s.w.t, v))
	}
	switch {
	case r.says("says"):
		b.Text = blobOf(id + "-text")
		if b.Stop != pawl.StopMaxOutput {
			b.Stop = pawl.StopEnd
		}
	case r.says("calls"):
		for i, tool := range r.what[slices.Index(r.what, "calls")+1:] {
			if tool != "cut" {
				b.Calls = append(b.Calls, s.use(f, tool, fmt.Sprintf("%s-%d", id, i)))
			}
		}
	default:
		use := s.submits(f, r, id)
		if use.Tool == "submit_" { // the session owes nothing
			b.Text, b.Stop = blobOf(id+"-text"), pawl.StopEnd
			break
		}
		b.Calls = []pawl.ToolUse{use}
	}
	if isTurn(f) {
		b.Agent = &pawl.AgentTurned{Stop: pawl.AgentEnded, Session: sessionOf(f), Worth: 300_000, Changed: r.says("changes")}
		if r.says("fails") || r.says("runs") {
			b.Agent.Commands, b.Agent.CommandFailed = 1, r.says("fails")
		}
		if r.says("capped") {
			b.Agent.Stop = pawl.AgentCapped
		}
		for i := range b.Calls {
			b.Calls[i].Told = b.Calls[i].Tool != "blackboard" && b.Calls[i].Class == 0
		}
	}
	return b
}

// use is one tool call: submit hands in the result, nosuch is no tool, broken
// has bad arguments.
func (s *script) use(f *pawl.Effect, tool, id string) pawl.ToolUse {
	if use, is := s.harness(tool, id); is {
		return use
	}
	use := pawl.ToolUse{Tool: tool, Args: blobOf(id)}
	switch tool {
	case "read", "list", "glob", "grep":
		use.Class = pawl.CrashRepeat
	case "write", "edit":
		use.Class = pawl.CrashProbe
	case "run":
		use.Class = pawl.CrashOnce
	case "submit":
		return s.submits(f, &rule{}, id)
	case "broken":
		use.Tool, use.Class, use.Problem = "write", pawl.CrashProbe, "path: a string is wanted"
	}
	return use
}

func (s *script) submits(f *pawl.Effect, r *rule, id string) pawl.ToolUse {
	l := s.w.state.Loop(f.Loop)
	output, _ := (&draft{}).owed(l, l.sessionByN(f.Session))
	use := pawl.ToolUse{Tool: "submit_" + output, Submit: true, Args: blobOf(id)}
	if r.says("badly") {
		use.Problem = "summary: a string is wanted"
		return use
	}
	if r.says("long") {
		use.Problem, use.Trimmed = "620 tokens, 500 at most", blobOf(id+"-trimmed")
		return use
	}
	if output == "tasks" || output == "plan" || strings.HasPrefix(output, "create_") {
		use.Args = blobOf(s.handsIn(l.sessionByN(f.Session), r))
	}
	facts := map[string]string{
		"assessment": "files=2 lines=60 new_dependencies=0 type=implementation",
		"verdict":    "decision=pass met=2 total=2",
		"proposal":   "confidence=50",
		"ballot":     "rank=A rank=B rank=C rank=D rank=E",
		"tasks":      "decision=PANDORA_LOOP",
		"next":       map[bool]string{true: "decision=EXECUTE", false: "decision=COMPLETE"}[f.Place.Round == 1],
	}[output]
	if output == "batch" {
		use.Facts = s.batchReview(f, r)
		return use
	}
	given := slices.DeleteFunc(slices.Clone(r.what), func(w string) bool {
		return !strings.Contains(w, "=") || strings.HasPrefix(w, "list=") || strings.HasPrefix(w, "output=")
	})
	if len(given) > 0 {
		facts = strings.Join(given, " ")
	}
	for _, word := range strings.Fields(facts) {
		name, value, _ := strings.Cut(word, "=")
		if output == "learnings" && isMemory(name) || name == "decision-text" {
			value = s.text(value)
		}
		if name == "blocker" || name == "reason" { // which are sentences
			value = strings.ReplaceAll(value, "_", " ")
		}
		use.Facts = append(use.Facts, pawl.Fact{Name: name, Value: value})
	}
	return use
}
