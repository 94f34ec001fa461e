package secret

import (
	"bytes"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Patch returns a patch, as git prints it, without the secrets in it, and in how many of its lines it put marks. Whole is
// the patch between the same two trees with whole files as context; nil if there is none. What a line is follows from
// the lines around it and from the file's name: a line of a key, a password in a section of settings, all of a .pgpass.
// So each side of each file is looked at as a file that is scanned is. The signs at the beginnings of lines stay, and so
// do the numbers of lines.
func (r *Redactor) Patch(patch, whole []byte) (clean []byte, marked int) {
	shown, files := readPatch(patch), readPatch(whole)
	for i, f := range shown {
		old, now := r.side(f, true), r.side(f, false)
		if len(files) == len(shown) { // what is found in whole files counts before what is found in the patch alone
			maps.Copy(old, r.side(files[i], true))
			maps.Copy(now, r.side(files[i], false))
		}
		for _, l := range f.lines {
			text := l.text
			switch {
			case l.now == 0 && l.old == 0:
				text = r.gitsOwn(text, old)
			case now[l.now].is(text):
				text = append(text[:1:1], now[l.now].clean...)
			case old[l.old].is(text):
				text = append(text[:1:1], old[l.old].clean...)
			}
			if !bytes.Equal(text, l.text) {
				marked++
			}
			clean = append(append(clean, text...), '\n')
		}
	}
	if marked == 0 {
		return patch, 0
	}
	return clean, marked
}

// side returns the lines of one side of a file that hold secrets, by their numbers.
func (r *Redactor) side(f *patchFile, old bool) map[int]*lineOf {
	path := f.now
	if old {
		path = f.old
	}
	var text []byte
	var numbers []int
	for _, l := range f.lines {
		n := l.now
		if old {
			n = l.old
		}
		if n == 0 {
			continue
		}
		if k := len(numbers); k > 0 && numbers[k-1] != n-1 { // another hunk: what is between them is not known
			text, numbers = append(text, '\n'), append(numbers, 0)
		}
		text, numbers = append(append(text, l.text[min(1, len(l.text)):]...), '\n'), append(numbers, n)
	}
	out := map[int]*lineOf{}
	clean := r.lines(path, text)
	if bytes.Equal(clean, text) {
		return out
	}
	lines := bytes.Split(clean, []byte("\n"))
	for i, line := range bytes.Split(text, []byte("\n")) {
		if i < len(numbers) && !bytes.Equal(line, lines[i]) {
			out[numbers[i]] = &lineOf{line, lines[i]}
		}
	}
	return out
}

// lineOf is a line that holds a secret, as it is and as it may be shown.
type lineOf struct{ text, clean []byte }

// is reports whether a line of a patch, with its sign, is this one.
func (l *lineOf) is(text []byte) bool {
	return l != nil && len(text) > 0 && bytes.Equal(text[1:], l.text)
}

// lines returns a file's text without secrets, with as many lines as before.
func (r *Redactor) lines(path string, text []byte) []byte {
	for _, rule := range rules().Rules {
		if rule.compile(); rule.Regex == "" && rule.path.MatchString(path) { // the file as a whole is one
			var out []byte
			for line := range bytes.Lines(text) {
				if len(bytes.TrimSpace(line)) > 0 && !isMarks(line) {
					line = []byte(markBegin + rule.ID + markEnd + "\n")
				}
				out = append(out, line...)
			}
			return out
		}
	}
	return r.clean(path, text, true)
}

// isMarks reports whether a line is a mark and nothing else.
func isMarks(line []byte) bool { return len(bytes.TrimSpace(mark().ReplaceAll(line, nil))) == 0 }

// gitsOwn returns a line of git's own without secrets. The first line of a hunk quotes the beginning of a line before it.
func (r *Redactor) gitsOwn(text []byte, old map[int]*lineOf) []byte {
	if begin := hunkBegin().Find(text); begin != nil && len(text) > len(begin) {
		for _, l := range old {
			if bytes.HasPrefix(l.text, text[len(begin):]) {
				return append(begin[:len(begin):len(begin)], l.clean...)
			}
		}
	}
	return r.Bytes(text)
}

// patchFile is what a patch says of one file.
type patchFile struct {
	old, now string // its paths; empty where there is no file
	lines    []patchLine
}

// patchLine is a line of a patch. Old and now are its numbers in the file, 0 on a side that does not have it; both are 0
// for a line of git's own.
type patchLine struct {
	text     []byte
	old, now int
}

var hunkBegin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?`)
})

// readPatch takes a patch apart. The numbers of lines that a hunk's first line gives say where it ends, so no content
// of a file is taken for a line of git's.
func readPatch(patch []byte) (files []*patchFile) {
	var f *patchFile
	var old, now, oldLeft, nowLeft int
	for text := range bytes.Lines(patch) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		line := patchLine{text: text}
		if len(text) > 0 && strings.IndexByte(" +-\\", text[0]) < 0 { // no line of a hunk
			oldLeft, nowLeft = 0, 0
		}
		if oldLeft <= 0 && nowLeft <= 0 {
			if f == nil || bytes.HasPrefix(text, []byte("diff --git ")) {
				f = &patchFile{}
				files = append(files, f)
			}
			if m := hunkBegin().FindSubmatch(text); m != nil {
				old, oldLeft, now, nowLeft = count(m[1]), count(m[2]), count(m[3]), count(m[4])
			} else if name, ok := bytes.CutPrefix(text, []byte("--- ")); ok {
				f.old = patchPath(name, "a/")
			} else if name, ok := bytes.CutPrefix(text, []byte("+++ ")); ok {
				f.now = patchPath(name, "b/")
			}
			f.lines = append(f.lines, line)
			continue
		}
		if len(text) == 0 || text[0] != '+' && text[0] != '\\' {
			line.old = old
			old, oldLeft = old+1, oldLeft-1
		}
		if len(text) == 0 || text[0] != '-' && text[0] != '\\' {
			line.now = now
			now, nowLeft = now+1, nowLeft-1
		}
		f.lines = append(f.lines, line)
	}
	return files
}

// count is a number in the first line of a hunk, which is 1 where git leaves it out.
func count(digits []byte) int {
	if len(digits) == 0 {
		return 1
	}
	n, _ := strconv.Atoi(string(digits)) // of digits; one that is too large ends nowhere
	return n
}

// patchPath is a path as git writes it in a patch: perhaps quoted, and with a tab behind it if it has blanks.
func patchPath(name []byte, prefix string) string {
	path := strings.TrimSuffix(string(name), "\t")
	if unquoted, err := strconv.Unquote(path); err == nil && strings.HasPrefix(path, `"`) {
		path = unquoted
	}
	if path == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(path, prefix)
}
