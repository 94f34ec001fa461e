package taskfolder

import (
	"strings"

	"pawl/internal/plain"
)

// line is a text on one line that does not begin a heading, a list or a quote, and
// hides nothing behind it, cut to so many columns.
func line(text string, columns int) string {
	text = strings.ReplaceAll(plain.Line(text, columns), "<!--", `\<!--`)
	if text != "" && strings.IndexByte("#>=|`~-+*<", text[0]) >= 0 {
		return `\` + text
	}
	return text
}

// cell is a line for a table or a list that | divides.
func cell(text string, columns int) string {
	return strings.ReplaceAll(line(text, columns), "|", `\|`)
}

// paragraphs is a longer text: what a blank line divides stays divided.
func paragraphs(text string, columns int) string {
	var out []string
	for _, p := range strings.Split(plain.Text(text), "\n\n") {
		if p = line(p, columns); p != "" {
			out = append(out, p)
		}
		if columns -= len(p); columns <= 0 {
			break
		}
	}
	return strings.Join(out, "\n\n")
}

// firstLines is the beginning of a text.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = append(lines[:n-1], "…")
	}
	return strings.Join(lines, "\n") + "\n"
}

// orNone is what stands where there is nothing.
func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// page is a file that is being written.
type page struct{ strings.Builder }

// say writes lines.
func (p *page) say(lines ...string) {
	for _, l := range lines {
		p.WriteString(l + "\n")
	}
}

// section writes a heading and what stands below it; nothing when that is empty.
func (p *page) section(name, text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		p.say("", "## "+name, "", text)
	}
}

// lines are texts on a line each, without those that say nothing.
func lines(entries []string, columns int) (out []string) {
	for _, e := range entries {
		if e = line(e, columns); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// items is a list of lines.
func items(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("- " + l + "\n")
	}
	return b.String()
}

func bullets(entries []string, columns int) string { return items(lines(entries, columns)) }
