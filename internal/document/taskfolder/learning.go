package taskfolder

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/plain"
	"pawl/internal/tried"
)

// Bounds of a learning.
const (
	maxLines = 29 // of its file: fewer than 30
	maxTitle = 120
)

// Undone is what a way back to a checkpoint leaves behind.
type Undone struct {
	Loop   pawl.LoopRef // that goes back
	Label  string       // of the checkpoint
	Reason string
	Tasks  []string // ids of the tasks that were approved since or are being worked on
	Story  *tried.Story
	Read   tried.Blobs
}

// AntiPattern is what a way back to a checkpoint leaves to be remembered: what was tried, what was
// objected to it, and what must not be tried again.
func AntiPattern(u Undone) string {
	wrong := []string{sentence(u.Reason)}
	var undone, left, avoid, answers []string
	for _, id := range slices.Compact(slices.Sorted(slices.Values(append(u.Story.Open(u.Loop), u.Tasks...)))) {
		sides := tried.Sides(u.Story.Of(u.Loop, id), u.Read)
		open := len(sides) > 0 && sides[len(sides)-1].Said != ""
		switch among := slices.Contains(u.Tasks, id); {
		case among && len(sides) > 0 && !open:
			undone = append(undone, id)
		case among:
			left = append(left, id)
		}
		var ways []string
		for k := range sides {
			x := &sides[k]
			ways = append(ways, x.Where()+" "+x.Changed())
			if x.Said != "" {
				wrong = append(wrong, sentence(fmt.Sprintf("%s in %s: %s", id, x.Where(), x.Said)))
				answers = append(answers, x.Said)
			}
		}
		if len(ways) > 0 {
			of := id + " as it was tried: "
			if !open && slices.Contains(u.Tasks, id) {
				of = "the work of " + id + " that is undone: "
			}
			avoid = append(avoid, of+strings.Join(ways, "; "))
		}
	}
	where := []string{"rollback to checkpoint " + line(u.Label, 60) + "."}
	if len(undone) > 0 {
		where = append(where, "Undone and open again: "+ids(undone)+".")
	} else {
		where = append(where, "Nothing that was approved is undone.")
	}
	if len(left) > 0 {
		where = append(where, "Broken off: "+ids(left)+".")
	}
	instead := "find out first what caused it, then take another way, in smaller steps, and keep what passed passing."
	switch {
	case len(answers) > 1:
		instead = "answer all of these objections at once, and where they contradict each other, say so and ask; " + instead
	case len(answers) == 1:
		instead = "answer that objection before anything else; " + instead
	}
	return antiPattern(u.Reason, time.Time{}, strings.Join(where, " "), strings.Join(wrong, " "), orNone(strings.Join(avoid, ". ")), instead)
}

func antiPattern(title string, at time.Time, context, wrong, avoid, instead string) string {
	var p page
	p.say("# Anti-Pattern: "+orNone(line(firstSentence(title), maxTitle)), "Status: ANTI-PATTERN")
	if !at.IsZero() {
		p.say("Date: " + date(at, time.DateOnly))
	}
	for _, s := range []struct{ name, text string }{{"Context", context}, {"What went wrong", wrong}, {"Avoid", avoid}, {"Do instead", instead}} {
		if text := line(s.text, 2000); text != "" {
			p.say("", "**"+s.name+":** "+sentence(text))
		}
	}
	return p.String()
}

// sentence ends a text as one ends, so that another can follow on the same line.
func sentence(text string) string {
	if strings.ContainsAny(text[len(text)-1:], ".!?") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}

// learningFiles adds the files of what was learned. One that is there is never
// written again: its number says what it is.
func (r *renderer) learningFiles(files map[string][]byte) {
	delete(files, learnings) // a file in the folder's place
	taken := map[int]bool{}
	for name := range files {
		taken[number(name)] = true
	}
	for _, l := range r.learnings {
		if taken[l.Learning] || len(files) >= maxFiles {
			continue
		}
		taken[l.Learning] = true
		text := plain.Text(r.text(l.Text))
		name, content := learned(&l, text)
		files[fmt.Sprintf("%s/%03d-%s.md", learnings, l.Learning, name)] = []byte(firstLines(content, maxLines))
	}
}

// number is that of a learning's file; 0 = it is none.
func number(name string) int {
	base, ok := strings.CutPrefix(name, learnings+"/")
	digits, _, _ := strings.Cut(base, "-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || len(digits) < 3 || n < 1 || !strings.HasSuffix(base, ".md") || strings.Contains(base, "/") {
		return 0
	}
	return n
}

// learned is the file of one learning: what its name says, and its content.
func learned(l *learning, text string) (name, content string) {
	title, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	switch {
	case l.Kind == pawl.MemoryAntiPattern && strings.HasPrefix(title, "# Anti-Pattern:"):
		says := sectionsOf(rest)
		return "anti-pattern", antiPattern(strings.TrimPrefix(title, "# Anti-Pattern:"), l.at, says["Context"], says["What went wrong"], says["Avoid"], says["Do instead"])
	case l.Kind == pawl.MemoryAntiPattern:
		return "anti-pattern", antiPattern(title, l.at, "found in "+where(l)+".", text, "doing it again.", "")
	}
	kind, says := "Decision", recordOf(rest)
	switch {
	case l.Kind != pawl.MemoryDecision:
		kind, title = "Learning", firstSentence(text)
	case says.text["Choice"] == "": // one text, not a record
		title, says = firstSentence(text), record{text: map[string]string{"Context": where(l), "Choice": text}}
	}
	if asked := says.text["Context"]; strings.HasPrefix(asked, pawl.AskedOf) && l.Place.Step != pawl.PersonStep { // nobody did
		says.text["Context"] = "It says: " + asked
	}
	title = line(strings.TrimLeft(title, "# "), maxTitle)
	var p page
	p.say(fmt.Sprintf("# %s %03d: %s", kind, l.Learning, title), "", "Date: "+date(l.at, time.DateOnly), "Status: "+strings.ToUpper(kind))
	if l.Kind == pawl.MemoryDecision {
		says.write(&p)
	} else {
		p.say("", "**Context:** "+where(l), "", "**Learning:** "+line(text, 2000))
	}
	return cmp.Or(slug(title), strings.ToLower(kind)), p.String()
}

// where says at what something was learned.
func where(l *learning) string {
	if l.Task == "" {
		return "the run"
	}
	return "task " + line(l.Task, 60)
}

// record is a decision that says its reasons.
type record struct {
	text     map[string]string // by the sections' names
	rejected []string
}

// The sections of a record, in their order, and what stands in one that must be there.
var sections = []struct{ name, without string }{
	{"Context", "not recorded"}, {"Choice", "not recorded"}, {alternatives, "none are recorded"}, {"Depends On", "none"},
	{"Invalidated If", "not recorded"}, {"Consequences", ""}, {"Notes", ""},
}

const alternatives = "Alternatives Rejected"

// recordOf reads a record's sections.
func recordOf(text string) record {
	r := record{text: sectionsOf(text)}
	if all := r.text[alternatives]; strings.HasPrefix(all, "- ") {
		r.rejected = strings.Split(strings.TrimPrefix(all, "- "), "\n- ")
	}
	return r
}

// sectionName matches a section's name as the memory and as a file has it.
var sectionName = pattern.Of(`^\*\*([A-Z][A-Za-z ]{2,30})(?::\*\*|\*\*:)`)

// sectionsOf are the texts behind names such as "**Context:**" at the beginning of a line,
// the first of each name. What is in none is left out.
func sectionsOf(text string) map[string]string {
	out := map[string]string{}
	in := ""
	for _, l := range strings.Split(text, "\n") {
		if m := sectionName.FindStringSubmatch(l); m != nil && out[m[1]] == "" {
			in, l = m[1], l[len(m[0]):]
		}
		if in != "" {
			out[in] = strings.TrimSpace(out[in] + "\n" + l)
		}
	}
	return out
}

func (r record) write(p *page) {
	const most = 8 // alternatives; with all sections the file has fewer than 30 lines
	for _, s := range sections {
		text := line(r.text[s.name], 1200)
		if s.name == alternatives && len(r.rejected) > 0 {
			p.say("", "**"+s.name+"**:", strings.TrimSuffix(items(named(lines(r.rejected[:min(len(r.rejected), most)], 600))), "\n"))
			continue
		}
		if text == "" {
			text = s.without
		}
		if text != "" {
			p.say("", "**"+s.name+"**: "+text)
		}
	}
}

// named sets the names of alternatives, which stand before their reasons, in bold.
func named(all []string) []string {
	for i, s := range all {
		if name, reason, ok := strings.Cut(s, ": "); ok && !strings.Contains(name, "*") {
			all[i] = "**" + name + "**: " + reason
		}
	}
	return all
}

// decisionList names the decisions that have a file, or as long as there are none
// those of the plan.
func (r *renderer) decisionList() string {
	var b strings.Builder
	for _, l := range r.learnings {
		if l.Kind == pawl.MemoryDecision {
			title, _, _ := strings.Cut(strings.TrimSpace(r.text(l.Text)), "\n")
			fmt.Fprintf(&b, "- Decision %03d: %s\n", l.Learning, line(strings.TrimLeft(title, "# "), maxTitle))
		}
	}
	if b.Len() == 0 {
		for _, d := range r.plan.Decisions {
			b.WriteString("- " + line(d.Title, maxTitle) + "\n")
		}
	}
	return b.String()
}

// firstSentence is a text up to its first full stop.
func firstSentence(text string) string {
	text = plain.Line(text, 0)
	if head, _, ok := strings.Cut(text, ". "); ok {
		return head
	}
	return strings.TrimSuffix(text, ".")
}

// dull are words that a name can do without.
var dull = map[string]bool{"a": true, "an": true, "the": true, "of": true, "to": true, "for": true, "and": true, "or": true,
	"in": true, "on": true, "with": true, "is": true, "are": true, "be": true, "as": true, "by": true, "use": true}

// slug is a name of at most four words, and 40 characters; empty when there is no
// word for it.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	var out []string
	for _, w := range words {
		if !dull[w] && len(out) < 4 && len(strings.Join(append(out[:len(out):len(out)], w), "-")) <= 40 {
			out = append(out, w)
		}
	}
	return strings.Join(out, "-")
}
