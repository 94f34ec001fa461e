package artifact

import (
	"fmt"
	"strings"

	"pawl/internal/plain"
)

// Markdown implements [Artifact]: plan.md.
func (p *Plan) Markdown() string {
	d := document{}
	d.heading(1, "Plan: "+oneLine(p.Title))
	d.section("Overview", p.Overview)
	d.heading(2, "Phases")
	d.numbered(p.Outline())
	d.heading(2, "Specs")
	for _, s := range p.Specs {
		d.entry(s.Name, s.Title, s.Description, after(s.Dependencies))
	}
	d.criteria(p.SuccessCriteria, "Every spec is complete.")
	d.list("Non-Goals", p.NonGoals)
	d.list("Risks", p.Risks)
	return d.String()
}

// Outline tells the order of the work in a few words each.
func (p *Plan) Outline() []string {
	if len(p.Phases) > 0 {
		return p.Phases
	}
	var out []string
	for _, s := range p.Specs {
		out = append(out, s.Title)
	}
	return out
}

// Markdown implements [Artifact]: spec.md.
func (s *Spec) Markdown() string {
	d := document{}
	d.heading(1, "Spec: "+oneLine(s.Title))
	d.section("Parent Plan", s.ParentPlan)
	d.section("Overview", s.Overview)
	d.heading(2, "Phases")
	for i, t := range s.Tasks("") {
		d.entry(t.ID, s.Phases[i].Title, s.Phases[i].Description, after(t.DependsOn))
	}
	d.criteria(s.SuccessCriteria, "Every phase is complete.")
	d.list("Risks", s.Risks)
	return d.String()
}

// Markdown implements [Artifact]: phase.md.
func (p *Phase) Markdown() string {
	d := document{}
	d.heading(1, "Phase: "+oneLine(p.Title))
	d.section("Task", p.Task)
	d.heading(2, "Specific Work")
	var work strings.Builder
	for i, w := range p.Work {
		fmt.Fprintf(&work, "%d. %s %s: %s\n", i+1, oneLine(string(w.Action)), code(w.File), oneLine(w.Description))
	}
	d.paragraph(work.String())
	d.criteria(p.SuccessCriteria, "")
	d.heading(2, "Validation")
	d.paragraph("Command: " + code(p.ValidationCommand))
	if p.Notes != "" {
		d.section("Notes", p.Notes)
	}
	return d.String()
}

// document is Markdown whose headings are ours alone. What a text says stands either
// on one line behind something of ours, or as a paragraph; a text with a line that
// would begin a heading, a fence, a rule or HTML is quoted as a whole: such a block
// ends with the quotation, whatever it holds.
type document struct {
	b strings.Builder
}

func (d *document) String() string { return d.b.String() }

func (d *document) paragraph(text string) {
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	d.b.WriteString(strings.TrimRight(text, "\n") + "\n")
}

func (d *document) heading(level int, text string) {
	d.paragraph(strings.Repeat("#", level) + " " + text)
}

// section is a heading of ours and a text below it.
func (d *document) section(name, text string) {
	d.heading(2, name)
	d.paragraph(body(text))
}

func (d *document) list(name string, entries []string) {
	if len(entries) == 0 {
		return
	}
	d.heading(2, name)
	var b strings.Builder
	for _, e := range entries {
		b.WriteString("- " + inline(e) + "\n")
	}
	d.paragraph(b.String())
}

func (d *document) numbered(entries []string) {
	var b strings.Builder
	for i, e := range entries {
		fmt.Fprintf(&b, "%d. %s\n", i+1, inline(e))
	}
	d.paragraph(b.String())
}

// criteria say when the work is done; otherwise stands for none.
func (d *document) criteria(list []string, otherwise string) {
	if len(list) == 0 {
		list = []string{otherwise}
	}
	d.list("Success Criteria", list)
}

// entry is a spec or a phase in its parent's document.
func (d *document) entry(name, title, description, after string) {
	d.heading(3, oneLine(name)+": "+oneLine(title))
	d.paragraph(body(description))
	if after != "" {
		d.paragraph(after)
	}
}

func after(names []string) string {
	if len(names) == 0 {
		return ""
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = oneLine(name)
	}
	return "After: " + strings.Join(out, ", ")
}

// oneLine is a text on one line, without what a terminal would obey.
func oneLine(text string) string { return plain.Line(text, 0) }

// inline is a text behind a list's mark: it begins nothing of its own there.
func inline(text string) string {
	line := oneLine(text)
	if begins(line) {
		return `\` + line
	}
	return line
}

// body is a text as paragraphs of its own.
func body(text string) string {
	lines := strings.Split(strings.Trim(plain.Text(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)), "\n"), "\n")
	quote := false
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
		quote = quote || begins(line)
	}
	if !quote {
		return strings.Join(lines, "\n")
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+line, " ")
	}
	return strings.Join(lines, "\n")
}

// begins reports whether a line begins what Markdown does not take for a paragraph's
// text and what may reach beyond its line: a heading, a fence, HTML, or what makes a
// heading or a rule together with the line above.
func begins(line string) bool {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"#", "<", "```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return true
		}
	}
	return line != "" && strings.Trim(line, "=") == "" || len(line) > 0 && strings.Trim(line, "- ") == ""
}

// code is a text as a span of code that nothing in it ends.
func code(text string) string {
	line := oneLine(text)
	run, longest := 0, 0
	for i := range len(line) {
		if run++; line[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return fence + line + fence
}
