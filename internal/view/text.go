package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"pawl"
	"pawl/internal/plain"
)

// line formats one safe line. What is formatted in may come from anywhere.
func line(format string, args ...any) string { return plain.Line(fmt.Sprintf(format, args...), 0) }

// because is ": reason", or nothing when there is none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// count returns a number with its noun: "0 calls", "1 call", "2 calls".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return pawl.Thousands(int64(n)) + " " + noun + "s"
}

// short returns the beginning of a commit's hash.
func short(c pawl.CommitHash) string {
	if c == "" {
		return "-"
	}
	return plain.Line(string(c[:min(len(c), 10)]), 0)
}

// either returns a verdict over several gates for people; "-" when none ran.
func either(v pawl.Verdict) string {
	if v == "" {
		return "-"
	}
	return status(v)
}

// limitText says that a limit stops something.
func limitText(b *pawl.LimitReached) string {
	if b.Limit == pawl.LimitAnswer {
		return line("nobody answered %s in %s", b.Scope, b.Limit.Amount(b.Max))
	}
	limit, value := b.Amounts()
	if at := strings.Split(b.Scope, "/"); b.Limit == pawl.LimitRoutes && len(at) > 2 { // the place, the gate and its verdict
		gate, said := at[len(at)-2], strings.ToUpper(at[len(at)-1])
		return line("gate %s says %s, and nothing is sent back for that any more: the limit on %s is %s", gate, said, b.Limit, limit)
	}
	return line("the limit on %s is reached: %s (%s: %s)", b.Limit, limit, b.Scope, value)
}

// of is "present/max", with "-" where there is no limit.
func of(n, limit int) string {
	if limit <= 0 {
		return fmt.Sprintf("%d/-", n)
	}
	return fmt.Sprintf("%d/%d", n, limit)
}

// Iterations returns the number of the present or last iteration with the limit in force, as every
// face has it below ITER: "3/10", "3/-" where there is no limit, "-" before the first.
func Iterations(n, limit int) string {
	if n <= 0 {
		return "-"
	}
	return of(n, limit)
}

// Age returns how long ago something was started, in its largest unit, as every face has it below
// AGE. How long something was active is below TIME.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/(24*time.Hour)))
}

// verdict returns a verdict as reports write it; "-" when there is none.
func verdict(v pawl.Verdict) string {
	switch v {
	case "", pawl.VerdictSkip:
		return "-"
	case pawl.VerdictPass:
		return "PASS"
	}
	return "FAIL"
}

// spending returns a receipt: "3 calls, 12,431 tokens, $0.0312", or with what was lost: "3 calls (and 1
// unanswered), 12,431 tokens + 9,041 lost, $0.0312 + $0.2500 lost".
func (r *Run) spending(s Spending) string { return r.receipt(s, s.money()) }

// spendingOf returns the receipt of an iteration, with what its calls under way hold.
func (r *Run) spendingOf(it *Iteration) string { return r.receipt(it.Spent, r.MoneyOf(it)) }

func (r *Run) receipt(s Spending, m pawl.Money) string {
	out := count(s.Calls, "call")
	if s.Failed > 0 {
		out += fmt.Sprintf(" (and %d unanswered)", s.Failed)
	}
	out += ", " + count(int(m.SpentTokens), "token") + Beside(pawl.Thousands, m.HeldTokens, m.LostTokens)
	if !r.Settings.NoCost {
		out += ", " + m.Spent.String() + Beside(pawl.Micros.String, m.Held, m.Lost)
	}
	return out
}

// Beside names what is held and what is lost, where that is something: " + $0.0410 held +
// $0.2500 lost".
func Beside[T pawl.Micros | int64](text func(T) string, held, lost T) string {
	s := ""
	if held > 0 {
		s += " + " + text(held) + " held"
	}
	if lost > 0 {
		s += " + " + text(lost) + " lost"
	}
	return s
}

// spent returns what the run has used, each beside its limit.
func (r *Run) spent() string {
	var parts []string
	add := func(used, limit string, limited bool) {
		if limited {
			used += " of " + limit
		}
		parts = append(parts, used)
	}
	m := r.Money()
	if !r.Settings.NoCost {
		add(m.Spent.String()+Beside(pawl.Micros.String, m.Held, m.Lost), r.Limits.Money.String(), r.Limits.Money > 0)
	}
	add(pawl.Thousands(m.SpentTokens)+Beside(pawl.Thousands, m.HeldTokens, m.LostTokens), pawl.Thousands(r.Limits.Tokens), r.Limits.Tokens > 0)
	parts[len(parts)-1] += " tokens"
	add(pawl.Span(r.Alive), pawl.Span(r.Limits.Time), r.Limits.Time > 0)
	return strings.Join(parts, ", ")
}

// tier returns the recipe's word for a tier.
func (r *Run) tier(n int) string { return plain.Line(r.Recipe.Tier(n), 0) }

// on returns the tier that an iteration of a loop works on, in words: " on large". It is empty if there is no
// one tier.
func (r *Run) on(l *Loop, it *Iteration) string {
	if n := r.Recipe.Kind(l.Kind).WorkTier(it.Tier); n > 0 {
		return " on " + r.tier(n)
	}
	return ""
}

// TierOf returns the name of the tier that a loop works on while its ladder is at tier n, "-" if there is no
// one tier.
func (r *Run) TierOf(l *Loop, n int) string { return r.tier(r.Recipe.Kind(l.Kind).WorkTier(n)) }

// taskID returns the task's name in reports: "TASK-001".
func (r *Run) taskID() string { return fmt.Sprintf("TASK-%03d", r.Start.Task) }

// sandbox says what confines the run's commands.
func (r *Run) sandbox() string {
	if !r.Start.Confined {
		return "none (--unsandboxed)"
	}
	return plain.Line(r.Start.Sandbox, 0)
}

// Prepare says which commands make a checkout ready, whose they are, and whether they
// have the network; empty when there are none. The commands are quoted: they cannot say
// anything about themselves.
func (r *Run) Prepare() string {
	p := r.prepare()
	if p == nil {
		return ""
	}
	var commands []string
	for _, c := range r.Settings.Prepare {
		commands = append(commands, strconv.Quote(c))
	}
	whose := map[pawl.Origin]string{pawl.FromUser: "your own commands, ", pawl.FromRepository: "the repository's commands, "}[p.From]
	network := "without a network"
	switch {
	case !r.Start.Confined:
		network = "with all rights of the user and no egress proxy (--unsandboxed)"
	case p.Network:
		network = "through the egress proxy to " + strings.Join(p.Egress, ", ")
	}
	return whose + network + ": " + strings.Join(commands, ", ")
}

// prepare returns how checkouts are made ready; nil when nothing does.
func (r *Run) prepare() *SummaryPrepare {
	s := &r.Settings
	if len(s.Prepare) == 0 {
		return nil
	}
	return &SummaryPrepare{From: s.PrepareFrom, Network: len(s.Egress) > 0 || !r.Start.Confined, Egress: lines(s.Egress), Commands: lines(s.Prepare), Preparations: r.Preparations}
}

// maxInstructions is how many instruction files a line names.
const maxInstructions = 10

// Instructions names the files in which the repository tells those who work on it how,
// and what of them agents are not shown; empty when there are none.
func (r *Run) Instructions() string {
	files, more := r.Start.Instructions, r.Start.MoreInstructions
	if len(files) > maxInstructions {
		more += len(files) - maxInstructions
		files = files[:maxInstructions]
	}
	var out []string
	for _, f := range files {
		name := plain.Line(f.Path, 100)
		switch {
		case f.Blob.IsZero():
			name += " (not shown)"
		case f.Cut > 0:
			name += fmt.Sprintf(" (cut to %s)", kilobytes(f.Cut))
		}
		out = append(out, name)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// kilobytes returns a size, rounded, for a line of text.
func kilobytes(n int64) string {
	if n < 1000 {
		return count(int(n), "byte")
	}
	return fmt.Sprintf("%d kB", (n+500)/1000)
}

func (r *Run) instructions() []SummaryInstruction {
	var out []SummaryInstruction
	for _, f := range r.Start.Instructions {
		in := SummaryInstruction{Path: plain.Line(f.Path, 0), Folder: plain.Line(f.Folder, 0), Bytes: f.Bytes, Text: f.Blob}
		switch {
		case f.Blob.IsZero():
		case f.Cut > 0:
			in.Shown = f.Cut
		default:
			in.Shown = f.Bytes
		}
		out = append(out, in)
	}
	return out
}

// redAtBase returns the gates that did not pass on the base commit, and separately those that
// were cut short there.
func (r *Run) redAtBase() (red, unknown []*Gate) {
	for _, g := range r.Base {
		switch {
		case g.Partial:
			unknown = append(unknown, g)
		case g.red():
			red = append(red, g)
		}
	}
	return red, unknown
}

// effectName says what an effect does: "model call task/3/implement/turn-7".
// A nil effect is one that nobody asked for.
func effectName(f *pawl.Effect) string {
	if f == nil {
		return "an effect"
	}
	switch do := f.Do.(type) {
	case *pawl.OpenWorkspace:
		return line("opening the worktree on %s", do.Branch)
	case *pawl.AssemblePrompt:
		return line("prompt of %s", f.Place.Words())
	case *pawl.CallModel:
		return line("model call %d of %s%s", max(1, f.Place.Turn), f.Place.Words(), again(do.Try))
	case *pawl.CallTool:
		return line("tool %s of %s", do.Tool, f.Place.Words())
	case *pawl.RunGate:
		switch {
		case do.OnBase:
			return line("gate %s on the base", do.Gate)
		case do.On != "":
			return line("gate %s on %s", do.Gate, treeWords(do.On))
		}
		return line("gate %s", do.Gate)
	case *pawl.Examine:
		return "comparing the candidate with the base"
	case *pawl.WeighGoals:
		return "looking for the tests that the goal is about"
	case *pawl.Prepare:
		return line("preparing %s", short(do.Commit))
	case *pawl.Commit:
		return "the commit"
	case *pawl.InspectWorkspace:
		return "looking at the worktree"
	case *pawl.ResetWorkspace:
		return line("resetting the worktree to %s", short(do.Commit))
	case *pawl.CloseWorkspace:
		return "closing the worktree"
	case *pawl.Wait:
		return line("wait%s", because(do.Reason))
	case *pawl.ReadTasks:
		return "reading the list of tasks"
	case *pawl.Merge:
		return line("merging %s into %s", short(do.Theirs), short(do.Ours))
	case *pawl.AdvanceBranch:
		return line("moving %s to %s", do.Branch, short(do.To))
	case *pawl.ProbeConflicts:
		return line("looking for conflicts with %s", count(len(do.Others), "sibling"))
	case *pawl.MarkCheckpoint:
		return line("keeping checkpoint %d", do.N)
	case *pawl.Restore:
		return line("going back to the tree of %s", short(do.To))
	case *pawl.Publish:
		return line("moving %s", do.Branch)
	case *pawl.WriteRecords:
		return "committing the task's records"
	case *pawl.Announce:
		return line("announcing question %d%s", do.Question, again(do.Try))
	case *pawl.Notify:
		return line("telling the callback%s", again(do.Try))
	}
	return "an effect"
}

func again(try int) string {
	if try <= 1 {
		return ""
	}
	return fmt.Sprintf(" (try %d)", try)
}

// wrapped returns a text in lines no wider than width, the first behind a lead, the others
// behind another one. Zero leaves the lines as they are.
func (t *text) wrapped(first, next, s string, width int) {
	lead := first
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		for width > 0 && ansi.StringWidth(lead+line) > width {
			at := strings.LastIndexByte(ansi.Truncate(line, max(1, width-ansi.StringWidth(lead)+1), ""), ' ')
			if at <= 0 {
				break
			}
			t.WriteString(lead + plain.Line(line[:at], 0) + "\n")
			lead, line = next, strings.TrimLeft(line[at:], " ")
		}
		t.WriteString(lead + plain.Line(line, 0) + "\n")
		lead = next
	}
}
