package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel/brief"
)

// Bounds of what one reply may ask for: its event has to stay small. The kernel
// adds a few bytes of its own to the event and keeps the facts once more in the
// session's end.
const (
	maxEvent    = 1900 // bytes of the whole event
	maxCalls    = 24   // tool calls of one reply
	maxProblems = 600  // bytes for saying what is wrong with them, together
	maxProblem  = 400  // bytes for one
	maxUnknown  = 40   // bytes of the name of a tool that there is not
	maxModel    = 100  // bytes of the name a model gives itself
	maxUsage    = 1 << 30
	maxTurned   = 500 // bytes for how a coding agent's turn ended
)

// replied makes the fact of a reply: its message as a blob, and of each call
// what decisions need. Calls beyond what one event holds are not made; they are
// taken out of the message, which then says so: what is not in the transcript
// needs no result.
func (r *Runner) replied(ctx context.Context, job driver.Job, tools []pawl.ToolSpec, reply pawl.ModelReply, a *answer) (*pawl.ModelReplied, error) {
	m := a.message(reply.Message)
	calls := toolUses(m)
	out := &pawl.ModelReplied{
		Effect: job.Effect.ID, Stop: stopOf(reply.Stop, calls),
		Model: brief.Cut(a.clean(reply.Model), maxModel), Usage: usageOf(reply.Usage),
	}
	for _, b := range calls[:min(len(calls), maxCalls)] {
		use, err := r.use(ctx, job, tools, b, a)
		if err != nil {
			return nil, err
		}
		out.Calls = append(out.Calls, use)
	}
	settleProblems(out.Calls)
	out.Message, out.Text = pawl.Hash{1}, pawl.Hash{1} // as large as the real ones
	most := maxEvent
	if job.Effect.Do.(*pawl.CallModel).Agent != nil {
		most -= maxTurned
	}
	for len(out.Calls) > 0 && eventSize(out) > most {
		out.Calls = out.Calls[:len(out.Calls)-1]
	}
	for _, b := range calls[:len(out.Calls)] {
		a.keep(b.Args)
	}
	out.Text, _ = a.text(said(m))
	message, err := a.document(firstCalls(m, len(out.Calls), len(calls)))
	if err != nil {
		return nil, fmt.Errorf("keep the reply: %w", err)
	}
	out.Message, out.Bytes = message.Hash(), int64(len(message.Data()))
	return out, nil
}

func eventSize(b pawl.Body) int {
	return len(pawl.AppendEvent(nil, pawl.Event{Loop: 1, Time: time.Unix(1<<31, 0), Body: b}))
}

// message is a reply as it may become durable: without secrets, and without what
// is no part of a reply or says nothing.
func (a *answer) message(m pawl.Message) pawl.Message {
	out := pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{}}
	for _, b := range m.Blocks {
		switch b.Kind {
		case pawl.BlockText:
			if b.Text = a.clean(b.Text); strings.TrimSpace(b.Text) == "" {
				continue
			}
		case pawl.BlockToolUse:
			b.Tool = a.clean(b.Tool)
			b.Args = a.cleanJSON(b.Args)
		case pawl.BlockOpaque:
			if len(b.Opaque) == 0 {
				continue
			}
			b.Opaque = a.cleanJSON(b.Opaque)
		default:
			continue
		}
		out.Blocks = append(out.Blocks, b)
	}
	return out
}

// said is a reply's text.
func said(m pawl.Message) string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Kind == pawl.BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// firstCalls is the message with the first n of its calls, and a sentence
// before them when there were more.
func firstCalls(m pawl.Message, n, all int) pawl.Message {
	if n == all {
		return m
	}
	var out []pawl.Block
	seen := 0
	for _, b := range m.Blocks {
		if b.Kind == pawl.BlockToolUse {
			if seen++; seen == 1 {
				out = append(out, pawl.Block{Kind: pawl.BlockText, Text: fmt.Sprintf("(%d calls at once: only the first %d are made.)", all, n)})
			}
			if seen > n {
				continue
			}
		}
		out = append(out, b)
	}
	m.Blocks = out
	return m
}

func stopOf(said pawl.StopReason, calls []pawl.Block) pawl.StopReason {
	switch {
	case slices.Contains([]pawl.StopReason{pawl.StopEnd, pawl.StopToolUse, pawl.StopMaxOutput}, said):
		return said
	case len(calls) > 0:
		return pawl.StopToolUse
	}
	return pawl.StopEnd
}

// usageOf keeps what a provider counts from being no count: it becomes money.
func usageOf(u pawl.Usage) pawl.Usage {
	count := func(n int64) int64 { return min(max(n, 0), maxUsage) }
	return pawl.Usage{Input: count(u.Input), CacheRead: count(u.CacheRead), CacheWrite: count(u.CacheWrite), Output: count(u.Output)}
}

// use looks at one call: is there such a tool, are its arguments right, does it
// hand in the session's result or ask for what the harness answers.
func (r *Runner) use(ctx context.Context, job driver.Job, allowed []pawl.ToolSpec, b pawl.Block, a *answer) (pawl.ToolUse, error) {
	use := pawl.ToolUse{Tool: b.Tool, Args: pawl.HashOf(b.Args)}
	i := slices.IndexFunc(allowed, func(s pawl.ToolSpec) bool { return s.Name == b.Tool })
	if i < 0 {
		use.Tool = brief.Cut(b.Tool, maxUnknown)
		return use, nil // the kernel says that there is no such tool
	}
	var name string
	name, use.Submit = pawl.SubmittedBy(b.Tool)
	use.Harness = b.Tool == toolRemember || b.Tool == toolBlackboard
	args := b.Args
	var surplus, read []string
	if use.Submit {
		args, surplus, read = r.Tools.Prune(allowed[i], b.Args)
	}
	use.Problem = r.Tools.Check(allowed[i], args)
	switch {
	case use.Problem != "":
	case use.Submit:
		var err error
		if use.Facts, use.Problem, err = r.submitted(ctx, job, name, args, surplus, read, a); err != nil {
			return use, err
		}
		switch {
		case use.Problem != "":
			use.Trimmed = r.trimmed(name, args, a)
		case len(surplus)+len(read) > 0:
			use.Trimmed = a.keep(args).Hash()
		}
	case use.Harness:
		use.Facts, use.Problem = a.asked(b.Tool, b.Args)
	default:
		if t, ok := r.Tools.Lookup(b.Tool); ok {
			use.Class = t.Class()
		}
	}
	use.Problem = a.clean(use.Problem)
	return use, nil
}

// criteria are the loop's: those of its task, or the run's.
func criteria(ctx context.Context, job driver.Job) (criteria []pawl.Criterion, err error) {
	if job.Task.IsZero() {
		err = decode(ctx, job, "the criteria", job.Started.Criteria, &criteria)
		return criteria, err
	}
	var task pawl.TaskSpec
	err = decode(ctx, job, "the task", job.Task, &task)
	return task.CriteriaList(), err
}

// submitted are the facts of a result that is handed in, or what is wrong with it. Surplus are fields
// that it came with and that it does not have, read what was read in another form than it came in.
func (r *Runner) submitted(ctx context.Context, job driver.Job, name string, args []byte, surplus, read []string, a *answer) (pawl.Facts, string, error) {
	facts, problem, err := r.factsOf(ctx, job, name, args, a)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	for _, field := range surplus {
		facts = append(facts, pawl.Fact{Name: pawl.FactSurplus, Value: a.clean("field " + field)})
	}
	for _, what := range read {
		facts = append(facts, pawl.Fact{Name: pawl.FactRead, Value: a.clean(what)})
	}
	return boundNotes(boundNotes(facts, pawl.FactSurplus), pawl.FactRead), "", nil
}

// factsOf are the facts of a result, or what is wrong with it.
func (r *Runner) factsOf(ctx context.Context, job driver.Job, name string, args []byte, a *answer) (pawl.Facts, string, error) {
	criteria, err := criteria(ctx, job)
	if err != nil {
		return nil, "", err
	}
	about := pawl.Submission{Criteria: criteria}
	var cited *sources
	if name == resultVerdict {
		if cited, err = r.sourcesOf(ctx, job); err != nil {
			return nil, "", err
		}
		if job.Settings.Evidence != "" { // a run of an earlier version goes on as it began
			about.Sources = cited
		}
		if about.Goal, about.Findings, err = cited.asked(); err != nil {
			return nil, "", err
		}
	}
	if name == resultAssessment {
		if about.Red, err = r.redTests(ctx, job); err != nil {
			return nil, "", err
		}
	}
	facts, problem := r.Submits.Facts(name, args, about)
	switch {
	case cited != nil && cited.err != nil:
		return nil, "", cited.err
	case problem != "":
		return nil, problem, nil
	case name == resultLearnings:
		return a.keepTexts(facts), "", nil
	case texts[name] != nil:
		return a.keepNamed(facts, texts[name]), "", nil
	case name == resultResult:
		at, err := r.Spaces.Locate(ctx, job.Workspace)
		if err != nil {
			return nil, "", err
		}
		if problem := checkArtifacts(at.Reach, args); problem != "" {
			return nil, problem, nil
		}
	}
	for i := range facts {
		facts[i].Value = a.clean(facts[i].Value)
	}
	return append(boundFacts(answersTo(facts, false)), boundAnswers(answersTo(facts, true))...), "", nil
}

// trimmed is a result that is only too long, cut to its size and kept; the zero
// Hash when something else is wrong with it.
func (r *Runner) trimmed(name string, args []byte, a *answer) pawl.Hash {
	results, ok := r.Submits.(Trimmer)
	if !ok {
		return pawl.Hash{}
	}
	cut, ok := results.Trim(name, args)
	if !ok {
		return pawl.Hash{}
	}
	return a.keep(a.cleanJSON(cut)).Hash()
}

// settleProblems lets only one call hand in the result, and shortens what is
// said about the calls.
func settleProblems(calls []pawl.ToolUse) {
	wrong, submitted := 0, false
	for i := range calls {
		c := &calls[i]
		if c.Submit && c.Problem == "" {
			if submitted {
				c.Problem = "a result was handed in with this reply already"
			}
			submitted = true
		}
		if c.Problem != "" {
			c.Facts = nil
			wrong++
		}
	}
	for i := range calls {
		c := &calls[i]
		c.Problem = brief.Cut(strings.ToValidUTF8(c.Problem, "\uFFFD"), max(min(maxProblem, maxProblems/max(wrong, 1)), 20))
	}
}
