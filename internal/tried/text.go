package tried

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// Blobs reads a blob of the run; nil = it cannot be read.
type Blobs func(pawl.Hash) []byte

// Bounds of what is told.
const (
	maxSaid    = 300 // columns of one objection
	maxPaths   = 4   // of one try
	maxPassed  = 4   // gates of one try
	maxAsked   = 160 // columns of a question that was answered
	maxTries   = 6   // lines about one task, the last ones
	maxTasks   = 6
	maxBacks   = 3
	maxAnswers = 4
)

// Side is one or several tries that are told together.
type Side struct {
	Said  string // "refused by review: …", what else failed, or empty: nobody objected
	fate  string // what became of it if nobody objected
	tries []Try
	paths []string
}

// Sides returns what was tried in the order in which it first was. Tries with the same tree are one
// side, so that work that goes to and fro has two. Otherwise tries are told together that change the
// same files and meet the same words.
func Sides(tries []Try, read Blobs) []Side {
	tries = slices.DeleteFunc(slices.Clone(tries), func(t Try) bool { return !t.tells() })
	returns := map[pawl.TreeHash]bool{}
	for i := range tries {
		for k := range i {
			returns[tries[i].Tree] = returns[tries[i].Tree] || tries[k].Tree == tries[i].Tree && slices.ContainsFunc(tries[k:i], func(t Try) bool { return t.Tree != tries[i].Tree })
		}
	}
	delete(returns, "")
	var out []Side
	for _, t := range tries {
		x := Side{tries: []Try{t}, paths: paths(read(t.Paths)), Said: t.objected(read), fate: t.fate()}
		at := slices.IndexFunc(out, func(o Side) bool {
			if before := o.tries[0].Tree; returns[t.Tree] || returns[before] {
				return t.Tree == before
			}
			return o.Said == x.Said && (o.Said != "" || o.fate == x.fate) && slices.Equal(o.paths, x.paths)
		})
		if at < 0 {
			out = append(out, x)
			continue
		}
		out[at].tries = append(out[at].tries, t)
		out[at].fate = x.fate
		if !strings.Contains(out[at].Said, x.Said) {
			out[at].Said = strings.TrimPrefix(out[at].Said+"; then "+x.Said, "; then ")
		}
	}
	return out
}

// objected returns what was said against a try, empty if nothing was.
func (t *Try) objected(read Blobs) string {
	var all, none []string
	for i := range t.Said {
		o := &t.Said[i]
		if o.Partial {
			why, _, _ := strings.Cut(o.Words(read), "; ") // what follows says more of the same
			why = strings.TrimPrefix(strings.TrimPrefix(why, "inconclusive: "), "it gave no verdict: ")
			none = append(none, strings.TrimSuffix(plain.Line(o.By, 60)+" ("+why+")", " ()"))
		} else {
			all = append(all, plain.Line(o.By, 60)+because(o.Words(read)))
		}
	}
	said := ""
	if len(all) > 0 {
		said = "refused by " + strings.Join(all, "; by ")
	}
	switch {
	case len(none) > 0:
		return strings.TrimPrefix(said+", without a verdict of "+list(none), ", ")
	case said == "" && t.wrong != "":
		return "which failed" + because(plain.Line(t.wrong, maxSaid))
	}
	return said
}

// fate returns what became of a try to which nobody objected.
func (t *Try) fate() string {
	passed := "passed " + Some(t.Passed, maxPassed)
	switch {
	case t.blocked:
		return "then reported itself blocked"
	case len(t.Passed) == 0:
		return "not judged yet"
	case t.open == 1:
		return passed + "; 1 finding is open"
	case t.open > 1:
		return fmt.Sprintf("%s; %d findings are open", passed, t.open)
	}
	return passed + "; no objection"
}

// Words returns an objection in the words of who made it, one safe line.
func (o *Objection) Words(read Blobs) string {
	text := string(read(o.Evidence))
	if trimmed := strings.TrimSpace(text); o.By != "review" || trimmed == "" || trimmed[0] == '{' {
		text = o.Reason // which says of a report or a verdict what counts
	}
	return plain.Line(text, maxSaid)
}

// text returns a side: "2.1 in batches 2 and 4 changed a.go (+3 −1 lines), refused by …".
func (x *Side) text(task string) string {
	s := x.Changed() + ", " + cmp.Or(x.Said, x.fate)
	switch {
	case task == "":
		return x.Where() + " " + s
	case x.tries[0].unit == "try":
		return plain.Line(task, 60) + ", " + x.Where() + ": " + s
	}
	return plain.Line(task, 60) + " in " + x.Where() + " " + s
}

// Where returns in which batches, attempts or tries it was tried: "batches 2 and 4".
func (x *Side) Where() string {
	var all []int
	for _, t := range x.tries {
		all = append(all, t.number)
	}
	unit := x.tries[0].unit
	if len(all) > 1 {
		unit = map[string]string{"batch": "batches", "attempt": "attempts", "try": "tries"}[unit]
	}
	return unit + " " + Numbers(slices.Compact(slices.Sorted(slices.Values(all))))
}

// Numbers returns rising numbers in words: "1, 3 to 5 and 8".
func Numbers(all []int) string {
	var out []string
	for i := 0; i < len(all); {
		k := i
		for k+1 < len(all) && all[k+1] == all[k]+1 {
			k++
		}
		if k-i < 2 {
			k = i
			out = append(out, fmt.Sprint(all[i]))
		} else {
			out = append(out, fmt.Sprintf("%d to %d", all[i], all[k]))
		}
		i = k + 1
	}
	return list(out)
}

// Changed returns what it changed: paths, and how many lines.
func (x *Side) Changed() string {
	t := x.tries[len(x.tries)-1]
	switch {
	case t.Tree == "":
		return "made no commit"
	case t.Files == 0 && len(x.paths) == 0:
		return "changed nothing"
	}
	s := "changed " + Some(x.paths, maxPaths)
	if len(x.paths) == 0 {
		s = fmt.Sprintf("changed %d files", t.Files)
		if t.Files == 1 {
			s = "changed 1 file"
		}
	}
	if t.Added+t.Removed > 0 {
		s += fmt.Sprintf(" (+%d −%d lines)", t.Added, t.Removed)
	}
	return s
}

// Tried returns what was tried of a task and what was said of that, a line each, the last ones.
func Tried(task string, tries []Try, read Blobs) []string {
	all := Sides(tries, read)
	var out []string
	if n := len(all) - maxTries; n > 0 {
		out, all = append(out, strings.TrimSpace(fmt.Sprintf("%s was tried in %d other ways before", plain.Line(task, 60), n))), all[n:]
	}
	for i := range all {
		out = append(out, all[i].text(task))
	}
	return out
}

// Open returns the ids of the tasks of a loop's plan whose last try met an objection, in the plan's order.
func (s *Story) Open(parent pawl.LoopRef) []string {
	l := s.loops[parent]
	if l == nil {
		return nil
	}
	var out []string
	for i := range l.plan {
		tries := s.Of(parent, l.plan[i].ID)
		if n := len(tries); n > 0 && (len(tries[n-1].Said) > 0 || tries[n-1].wrong != "" || !tries[n-1].judged() && n > 1) {
			out = append(out, l.plan[i].ID)
		}
	}
	return out
}

// Led returns what led to a question, a line each: what was tried of the tasks that it is about, when
// the run went back and what that undid, and what people said before.
func (s *Story) Led(n int, read Blobs) []string {
	q, ok := s.asked[n]
	l := s.loops[q.loop]
	if !ok || l == nil {
		return nil
	}
	var out []string
	course := q.loop // whose batches and checkpoints it is about
	switch {
	case q.kind == pawl.AskPlan || q.kind == pawl.AskStart || q.kind == pawl.AskMissing: // nothing was tried of it yet
	case s.aboutTasks(q):
		open := s.Open(q.loop)
		if q.kind == pawl.AskVerdict {
			open = s.inBatch(q.loop)
		}
		for _, task := range open[:min(len(open), maxTasks)] {
			out = append(out, Tried(task, s.Of(q.loop, task), read)...)
		}
		if more := len(open) - maxTasks; more > 0 {
			out = append(out, fmt.Sprintf("and %d more tasks are open", more))
		}
	default:
		tries := s.Of(l.parent, l.task)
		if len(l.plan) > 0 { // its children change something, not it
			tries = slices.DeleteFunc(tries, func(t Try) bool { return len(t.Said) == 0 && t.wrong == "" })
		}
		out = append(out, Tried(l.task, tries, read)...)
	}
	if q.kind == pawl.AskVotes {
		slices.SortStableFunc(l.votes, func(a, b vote) int { return a.n - b.n })
		for _, v := range l.votes {
			out = append(out, fmt.Sprintf("reviewer %d says %s%s", v.n, plain.Line(v.decision, 60), because(plain.Line(v.reason, maxSaid))))
		}
	}
	if !s.aboutTasks(q) && l.parent > 0 {
		course = l.parent
	}
	if c := s.loops[course]; c != nil {
		for _, b := range c.backs[max(0, len(c.backs)-maxBacks):] {
			out = append(out, c.backText(&b))
		}
	}
	return append(out, s.said(n, q.loop, course)...)
}

// inBatch returns the ids of the tasks that the batch of a loop under way has work of.
func (s *Story) inBatch(parent pawl.LoopRef) []string {
	l := s.loops[parent]
	var out []string
	for i := range l.plan {
		if tries := s.Of(parent, l.plan[i].ID); len(tries) > 0 && tries[len(tries)-1].Batch == l.batch {
			out = append(out, l.plan[i].ID)
		}
	}
	return out
}

// aboutTasks reports whether a question is about the tasks of the loop that asks, not about the loop's own work.
func (s *Story) aboutTasks(q question) bool {
	switch q.kind {
	case pawl.AskHealth, pawl.AskReplan:
		return true
	case pawl.AskVerdict:
		return s.loops[q.loop].batch > 0
	}
	return false
}

// backText returns a way back: to what, why, and what it undid.
func (l *loop) backText(b *back) string {
	to := fmt.Sprintf("checkpoint %d", b.To)
	switch label := l.marks[b.To]; {
	case len(l.marks) == 0:
		to = fmt.Sprintf("attempt %d", b.To)
	case label != "":
		to += " (" + plain.Line(pawl.CheckpointAfter(label), 60) + ")"
	}
	s := "the branch went back to " + to
	switch h := b.health; {
	case b.By != "":
		s = plain.Line(b.By, 60) + " took the branch back to " + to + because(plain.Line(b.Reason, maxSaid))
	case h == nil:
		s += because(plain.Line(b.Reason, maxSaid))
	case len(l.marks) == 0:
		s = fmt.Sprintf("after attempt %d (%s) %s", h.Batch, h.Health, s)
	default:
		s = fmt.Sprintf("after batch %d (%s) %s", h.Batch, h.Health, s)
	}
	undid := "nothing approved was undone"
	switch {
	case len(l.marks) == 0:
		undid = "the work after it stays in the history"
	case len(b.undone) > 0:
		undid = "undone and open again: " + Some(b.undone, 12)
	}
	return s + "; " + undid
}

// said returns what people answered earlier, to the loop that asks or to the one whose course it is about.
func (s *Story) said(n int, loops ...pawl.LoopRef) []string {
	var out []string
	for _, a := range s.answers {
		if a.N == n || !slices.Contains(loops, a.loop) {
			continue
		}
		by := plain.Line(a.By, 60)
		if by == "" {
			by = "a person"
		}
		asked, _, _ := strings.Cut(a.question.text, ". ")
		out = append(out, fmt.Sprintf("question %d was “%s”; %s answered “%s”%s", a.N, strings.TrimSuffix(plain.Line(asked, maxAsked), "."), by, plain.Line(a.Choice, 60), because(plain.Line(a.Text, maxSaid))))
	}
	return out[max(0, len(out)-maxAnswers):]
}

// paths are the lines of a list of paths.
func paths(data []byte) []string {
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// Some names the first of many.
func Some(all []string, most int) string {
	var out []string
	for _, p := range all[:min(len(all), most)] {
		out = append(out, plain.Line(p, 100))
	}
	if n := len(all) - most; n > 0 {
		return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", n)
	}
	return list(out)
}

// list joins words as a sentence does.
func list(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
