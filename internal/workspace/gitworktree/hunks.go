package gitworktree

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/git"
)

// Bounds of what is shown of conflicts, in bytes but for the first.
const (
	around    = 3 // lines shown before and after a conflict
	maxLabel  = 80
	maxLine   = 1000   // a longer line is not shown: a part of it could be half a secret
	maxHunks  = 24_000 // of everything
	leastHunk = 600    // a path's share; paths beyond are counted
)

// labels name the two sides of a merge where git puts their hashes.
type labels struct {
	ours, theirs           string // hashes
	oursLabel, theirsLabel string
	begin, end             []byte // what the markers of the two sides begin with
}

func newLabels(spec pawl.MergeSpec) labels {
	return labels{
		ours: string(spec.Ours), theirs: string(spec.Theirs),
		oursLabel: label(spec.OursLabel, "ours"), theirsLabel: label(spec.TheirsLabel, "theirs"),
		begin: []byte("<<<<<<< " + spec.Ours), end: []byte(">>>>>>> " + spec.Theirs),
	}
}

// label is a text as a label: short, and one line.
func label(text, otherwise string) string {
	text = strings.Join(strings.Fields(plain(text, otherwise)), " ")
	for len(text) > maxLabel {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// apply puts the labels into the conflict markers of a file.
func (l labels) apply(data []byte) []byte {
	if !bytes.Contains(data, l.begin) {
		return data
	}
	out := make([]byte, 0, len(data))
	for line := range bytes.Lines(data) {
		out = append(out, l.line(line)...)
	}
	return out
}

// line is a line with the label instead of the hash, if it is a marker.
func (l labels) line(line []byte) []byte {
	if rest, found := bytes.CutPrefix(line, l.begin); found {
		return append([]byte("<<<<<<< "+l.oursLabel), rest...)
	}
	if rest, found := bytes.CutPrefix(line, l.end); found {
		return append([]byte(">>>>>>> "+l.theirsLabel), rest...)
	}
	return line
}

// words is what git says, with the labels and on one line. A hash that is part
// of a path stays.
func (l labels) words(text string) string {
	text = strings.TrimPrefix(text, "warning: ")
	text = strings.NewReplacer("~"+l.ours, "~"+l.ours, "~"+l.theirs, "~"+l.theirs, l.ours, l.oursLabel, l.theirs, l.theirsLabel).Replace(text)
	return strings.Join(strings.Fields(plain(text, "")), " ")
}

// hunks shows what conflicts, path by path. Paths share the room there is.
func (l labels) hunks(m git.Merging, paths []string, files map[string]file) string {
	var b strings.Builder
	for i, path := range paths {
		room := maxHunks - b.Len() - 40 // for the line below
		if room < leastHunk {
			fmt.Fprintf(&b, "and %d more paths\n", len(paths)-i)
			break
		}
		b.WriteString(l.section(m, path, files[path], max(leastHunk, room/(len(paths)-i))))
	}
	return b.String()
}

// section shows what conflicts at a path in at most so many bytes.
func (l labels) section(m git.Merging, path string, f file, room int) string {
	const end = "(there is more)\n\n"
	regions := l.regions(f.data)
	text := shown(path) + "\n"
	for _, line := range append(l.reasons(m, path, f, len(regions) > 0), regions...) {
		if len(text)+len(line)+1+len(end) > room {
			return text + end
		}
		text += line + "\n"
	}
	return text + "\n"
}

// reasons say in words why a path is in conflict, where no lines do.
func (l labels) reasons(m git.Merging, path string, f file, lines bool) []string {
	var special, general []string
	for _, message := range m.Messages {
		if !strings.HasPrefix(message.Kind, "CONFLICT") || !slices.Contains(message.Paths, path) {
			continue
		}
		words := shorten(l.words(message.Text))
		switch message.Kind {
		case "CONFLICT (contents)":
			general = append(general, words)
		case "CONFLICT (binary)":
			special = append(special, words, "the file is as in "+l.oursLabel)
		default:
			special = append(special, words)
		}
	}
	if f.entry.Hash != "" && f.data == nil {
		special = append(special, "the file is too large to be shown")
	}
	if len(special) == 0 && !lines {
		return general
	}
	return special
}

// regions are the lines of a file's conflicts with some around them, as far as
// all of them have room, and before each region which lines these are.
func (l labels) regions(data []byte) []string {
	all := slices.Collect(bytes.Lines(data))
	var out []string
	size, done := 0, 0 // lines up to done are shown
	for i := 0; i < len(all) && size < maxHunks; {
		if !bytes.HasPrefix(all[i], l.begin) {
			i++
			continue
		}
		from, to := max(done, i-around), l.regionEnd(all, i)
		out = append(out, fmt.Sprintf("lines %d to %d:", from+1, to))
		for _, line := range all[from:to] {
			text := shorten(strings.ToValidUTF8(string(bytes.TrimRight(l.line(line), "\r\n")), "\uFFFD"))
			out = append(out, text)
			size += len(text) + 1
		}
		i, done = to, to
	}
	return out
}

// regionEnd is the line behind the conflict that begins at a line, the lines
// around it, and further conflicts whose lines around would touch these.
func (l labels) regionEnd(all [][]byte, i int) int {
	last := i
	for ; i < len(all) && i <= last+2*around; i++ {
		if !bytes.HasPrefix(all[i], l.begin) {
			continue
		}
		for i < len(all)-1 && !bytes.HasPrefix(all[i], l.end) {
			i++
		}
		last = i
	}
	return min(len(all), last+1+around)
}

// shorten is a line that may be shown.
func shorten(line string) string {
	if len(line) > maxLine {
		return fmt.Sprintf("(a line of %d bytes)", len(line))
	}
	return line
}

// shown is a path on one line.
func shown(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path)
	}
	return shorten(path)
}
