package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pawl"
	"pawl/internal/pattern"
)

// Bounds of what is said of evidence that does not exist, so that the reviewer reads
// all of it.
const (
	maxUncited  = 3  // criteria
	maxWrong    = 2  // citations of one criterion
	maxCitation = 60 // bytes of one
)

// lookUp looks up what the evidence of each criterion that passes cites. loose are the
// criteria that cite no line and no test; those that cite nothing that exists are an
// error, which says what is wrong. Without sources nothing is looked up.
func (v Verdict) lookUp(sources pawl.Sources) (loose pawl.Facts, err error) {
	if sources == nil {
		return nil, nil
	}
	var wrong []string
	var l *library
	for _, c := range v.Criteria {
		if c.Status != Pass {
			continue
		}
		if l == nil {
			l = newLibrary(sources)
		}
		switch found := l.lookUp(c.Evidence); {
		case !found.exists:
			wrong = append(wrong, c.ID+": "+l.says(found.wrong))
		case !found.precise:
			loose = append(loose, pawl.Fact{Name: "loose", Value: c.ID})
		}
	}
	if len(wrong) == 0 {
		return loose, nil
	}
	if more := len(wrong) - maxUncited; more > 0 {
		wrong = append(wrong[:maxUncited], fmt.Sprintf("and %d more", more))
	}
	return nil, errors.New(strings.Join(wrong, "; "))
}

// library is what evidence may cite, in the order in which it is looked up.
type library struct {
	pawl.Sources
	files     map[string]bool
	folders   map[string]bool
	named     map[string][]string   // files by the last part of their path
	tests     map[string][][]string // the words of tests' names by the last of them
	titles    []string              // the words of tests' titles, between spaces
	documents map[string]document
}

func newLibrary(sources pawl.Sources) *library {
	l := &library{Sources: sources, files: map[string]bool{}, folders: map[string]bool{}, named: map[string][]string{},
		tests: map[string][][]string{}, documents: map[string]document{}}
	for _, p := range sources.Paths() {
		l.files[p] = true
		l.named[path.Base(p)] = append(l.named[path.Base(p)], p)
		for dir := path.Dir(p); dir != "." && !l.folders[dir]; dir = path.Dir(dir) {
			l.folders[dir] = true
		}
	}
	for _, name := range sources.Tests() {
		if w := wordsOf(name); len(w) > 0 {
			l.tests[w[len(w)-1]] = append(l.tests[w[len(w)-1]], w)
		}
		for _, sep := range []string{" > ", " › ", "::"} {
			if i := strings.LastIndex(name, sep); i >= 0 {
				name = name[i+len(sep):]
			}
		}
		if isPhrase(name) {
			l.titles = append(l.titles, " "+strings.Join(wordsOf(name), " ")+" ")
		}
	}
	for name, text := range sources.Documents() {
		l.documents[name] = newDocument(name, text)
	}
	return l
}

// found is what evidence cites: something that exists, and whether that is a line, a test
// or an entry of a document; else what is wrong with the citations, the worst first.
type found struct {
	exists, precise bool
	wrong           []string
}

// lookUp looks up all citations of a criterion's evidence.
func (l *library) lookUp(evidence []string) found {
	var f found
	for _, e := range evidence {
		if l.inDocuments(e) {
			return found{exists: true, precise: true}
		}
		for _, t := range tokens(inColons(e)) {
			at, why := l.path(t.text)
			if at == nowhere {
				var also string
				if at, also = l.test(t); why == "" {
					why = also
				}
			}
			switch {
			case at == atLine:
				return found{exists: true, precise: true}
			case at == atFile:
				f.exists = true
			case why != "" && !slices.Contains(f.wrong, why):
				f.wrong = append(f.wrong, why)
			}
		}
	}
	return f
}

// says is what is wrong with evidence of which nothing exists.
func (l *library) says(wrong []string) string {
	if len(wrong) > 0 {
		return strings.Join(wrong[:min(len(wrong), maxWrong)], ", ")
	}
	if names := slices.Sorted(maps.Keys(l.documents)); len(names) > 0 {
		return "its evidence names no entry of " + strings.Join(names, ", ") + " and no file: name one, as it is written there"
	}
	return "its evidence names nothing that can be looked up: name a file with the line (path:12), or a test"
}

// place is how exactly a citation says where to look.
type place int

const (
	nowhere place = iota
	atFile        // a file or folder
	atLine        // a line of a file, or a test
)

// lined matches a path with a line behind it, or two lines between which to look.
var lined = pattern.Of(`^(.+?)(?::L?(\d+)(?::\d+)?(?:[-–—]L?(\d+)(?::\d+)?)?|#L(\d+)(?:C\d+)?(?:[-–—]L?(\d+)(?:C\d+)?)?|[(\[]L?(\d+)[)\]])$`)

// pathLike matches what is certainly meant as the path of a file.
var pathLike = pattern.Of(`^[\pL\pN_@.+~/() \[\]-]*(?:/[\pL\pN_)\]]|[\pL\pN_)\]]{2})\.[a-z][a-z0-9]{0,9}$`)

// path looks up a citation as a path, or says what is wrong with it.
func (l *library) path(text string) (at place, wrong string) {
	text = strings.ReplaceAll(text, `\`, "/")
	name, first, last := splitLines(text)
	files := l.matching(name, first != "")
	if len(files) == 0 {
		if head, _, cut := strings.Cut(name, ":"); cut && !strings.Contains(name, "::") && len(l.matching(head, false)) > 0 {
			return atFile, ""
		}
		if head, _, cut := strings.Cut(name, "#"); cut && len(l.matching(head, false)) > 0 {
			return atFile, ""
		}
		if pathLike.MatchString(name) || first != "" && strings.ContainsAny(name, "/.") && strings.IndexFunc(name, unicode.IsLetter) >= 0 {
			return nowhere, fmt.Sprintf("there is no file %s in the candidate or the base", short(name, maxCitation))
		}
		return nowhere, ""
	}
	if first == "" {
		return atFile, ""
	}
	lines := 0
	for _, f := range files {
		lines = max(lines, l.Lines(f))
	}
	for _, line := range []string{first, last} {
		if n, err := strconv.Atoi(line); line != "" && (err != nil || n < 1 || n > lines) {
			s := "s"
			if lines == 1 {
				s = ""
			}
			return nowhere, fmt.Sprintf("%s has %d line%s: line %s is not there", short(files[0], maxCitation), lines, s, short(line, maxCitation))
		}
	}
	return atLine, ""
}

// splitLines parts a citation into a path and the first and last line, if it has any.
func splitLines(text string) (name, first, last string) {
	m := lined.FindStringSubmatch(text)
	if m == nil {
		return text, "", ""
	}
	return m[1], m[2] + m[4] + m[6], m[3] + m[5]
}

// matching returns the files that a path names: the one with this path, also as a diff
// writes it, else those whose paths end with it. A folder is returned only without a line.
func (l *library) matching(name string, hasLine bool) []string {
	name = strings.TrimPrefix(name, "./")
	for _, p := range []string{name, strings.TrimPrefix(name, "a/"), strings.TrimPrefix(name, "b/")} {
		if l.files[p] {
			return []string{p}
		}
	}
	if dir := strings.TrimSuffix(name, "/"); !hasLine && strings.Contains(name, "/") && l.folders[dir] {
		return []string{dir}
	}
	if !hasLine && !strings.ContainsAny(name, "/.") {
		return nil
	}
	var files []string
	for _, p := range l.named[path.Base(name)] {
		if strings.HasSuffix(p, "/"+name) {
			files = append(files, p)
		}
	}
	return files
}

// testName matches the name of a test, as languages have them whose tests are functions.
var testName = pattern.Of(`^(?:(?:Test|Benchmark|Example|Fuzz)[A-Z0-9_]\w*|test_\w+|test[A-Z]\w*)$`)

// Bounds of what counts as a title or a quotation, so that a common word is none.
const (
	leastWords   = 2
	leastLetters = 8
)

// test looks up a citation as a test, or says what is wrong with it.
func (l *library) test(t token) (at place, wrong string) {
	head, _, params := strings.Cut(t.text, "[")
	if !params || head == "" {
		head = t.text
	}
	w := wordsOf(head)
	last := len(w) - 1
	if last < 0 {
		return nowhere, ""
	}
	phrase := t.quoted && isPhrase(head)
	if (phrase || isIdentifier(head) || t.whole && len(w) == 1) && l.reported(w) || t.whole && l.mentions(w) {
		return atLine, ""
	}
	file, _, inFile := strings.Cut(head, "::")
	name, _, _ := splitLines(file)
	switch {
	case inFile && pathLike.MatchString(file) && len(l.matching(file, false)) == 0:
		return nowhere, fmt.Sprintf("there is no file %s in the candidate or the base", short(file, maxCitation))
	case phrase && l.titled(head):
		return atLine, ""
	case !inFile && pathLike.MatchString(name), strings.ContainsAny(head, " \t"): // its words come by themselves
		return nowhere, ""
	}
	for i, part := range w {
		if !testName.MatchString(part) && (!inFile || i != last) {
			continue
		}
		if l.reported([]string{part}) || l.InTests(part) {
			return atLine, ""
		}
		wrong = fmt.Sprintf("there is no test %s in the reports of gates or the test files", short(part, maxCitation))
	}
	return nowhere, wrong
}

// reported reports whether the name of a test that a gate has run ends with these words.
func (l *library) reported(w []string) bool {
	return slices.ContainsFunc(l.tests[w[len(w)-1]], func(name []string) bool {
		return len(w) <= len(name) && slices.Equal(name[len(name)-len(w):], w)
	})
}

// mentions reports whether a sentence has the title of a test in it.
func (l *library) mentions(sentence []string) bool {
	text := " " + strings.Join(sentence, " ") + " "
	return slices.ContainsFunc(l.titles, func(title string) bool { return strings.Contains(text, title) })
}

// titled reports whether test files contain the title of a test, with those of the suites
// that it is in.
func (l *library) titled(title string) bool {
	for _, part := range strings.Split(strings.ReplaceAll(title, " › ", " > "), " > ") {
		if part = strings.TrimSpace(part); part == "" || !l.files[part] && !l.InTests(part) {
			return false
		}
	}
	return true
}

// isPhrase reports whether a text is long enough to be found only where it is meant.
func isPhrase(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= leastLetters && len(wordsOf(text)) >= leastWords
}

// isIdentifier reports whether a text without spaces is certainly no word of a sentence.
func isIdentifier(text string) bool {
	before := rune(0)
	inner := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			return false
		}
		inner = inner || r == '_' || r == '/' || r == ':' || r == '.' || unicode.IsUpper(r) && unicode.IsLower(before)
		before = r
	}
	return inner
}

// wordsOf are the words and identifiers of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// token is a part of evidence that may be a citation.
type token struct {
	text   string
	quoted bool // it is the whole of the evidence, or between quotes
	whole  bool // it is the whole of the evidence
}

var quotation = pattern.Of("`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?:^|[\\s(])'([^']+)'")

// tokens are the parts of evidence that may be citations: the whole, what is between quotes,
// each word, and each part of a word that brackets, commas and quotes separate.
func tokens(evidence string) []token {
	list := []token{{text: strings.TrimSpace(evidence), quoted: true, whole: true}}
	add := func(text string, quoted bool) {
		if text != "" && !slices.ContainsFunc(list, func(t token) bool { return t.text == text }) {
			list = append(list, token{text: text, quoted: quoted})
		}
	}
	for _, m := range quotation.FindAllStringSubmatch(evidence, -1) {
		add(strings.TrimSpace(m[1]+m[2]+m[3]+m[4]), true)
	}
	const around = "`'\"()[]{}<>,;!?*“”‘’„"
	for _, word := range strings.Fields(evidence) {
		add(strings.TrimRight(word, ".,:;"), false)
		add(strings.TrimRight(strings.Trim(strings.TrimRight(word, ".,:;"), around), ".,:;"), false)
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(around+"|", r) }) {
			add(strings.TrimRight(part, ".:"), false)
		}
	}
	return list
}

var (
	linesOf = pattern.Of("(?i)\\blines?\\s+(\\d{1,9})(?:\\s*(?:-|–|—|to|through|and)\\s*(\\d{1,9}))?\\s+(?:of|in|from)\\s+(?:the\\s+)?(?:file\\s+)?[`'\"]?([^\\s`'\"]*[^\\s`'\".,;:)])")
	itsLine = pattern.Of("(?i)([^\\s`'\",;:(]+)[`'\"]?[,;:]?\\s+\\(?(?:at\\s+|on\\s+)?lines?\\s+(\\d{1,9})(?:\\s*(?:-|–|—|to|through|and)\\s*(\\d{1,9}))?")
)

// inColons writes lines that are spelled out as in path:12-20.
func inColons(evidence string) string {
	evidence = linesOf.ReplaceAllStringFunc(evidence, func(s string) string {
		m := linesOf.FindStringSubmatch(s)
		return colons(m[3], m[1], m[2])
	})
	return itsLine.ReplaceAllStringFunc(evidence, func(s string) string {
		m := itsLine.FindStringSubmatch(s)
		return colons(m[1], m[2], m[3])
	})
}

func colons(path, first, last string) string {
	if last != "" {
		last = "-" + last
	}
	return path + ":" + first + last + " "
}

// document is a result that a step handed in, as far as evidence may name or quote it.
type document struct {
	entries []string // its parts, and what its entries are called, as [alike] writes them
	texts   []string // its texts, as [alike] writes them
}

// newDocument reads a document. Only of a plan can parts be named: any result has the parts
// that its schema asks for, and a name such as "summary" says nothing of what is in it.
func newDocument(name, text string) document {
	var parts map[string]any
	if json.Unmarshal([]byte(text), &parts) != nil {
		return document{texts: []string{alike(text)}}
	}
	var d document
	for key, value := range parts {
		if value != "" && value != nil {
			d.entries = append(d.entries, alike(key))
		}
	}
	d.add("", parts)
	if !pawl.IsArtifact(name) && name != "plan" && name != "tasks" {
		d.entries = nil
	}
	return d
}

// add adds what is below a key of a document.
func (d *document) add(key string, value any) {
	switch v := value.(type) {
	case string:
		d.texts = append(d.texts, alike(v))
		if words := alike(strings.Join(wordsOf(v), " ")); words != "" && (key == "name" || key == "id" || key == "title") {
			d.entries = append(d.entries, words)
		}
	case []any:
		for _, e := range v {
			d.add("", e)
		}
	case map[string]any:
		for key, e := range v {
			d.add(key, e)
		}
	}
}

// inDocuments reports whether evidence names an entry of a document, or quotes one.
func (l *library) inDocuments(evidence string) bool {
	if len(l.documents) == 0 {
		return false
	}
	words := " " + alike(strings.Join(wordsOf(evidence), " ")) + " "
	var quotes []string
	for _, m := range quotation.FindAllStringSubmatch(evidence, -1) {
		quotes = append(quotes, m[1]+m[2]+m[3]+m[4])
	}
	if name, rest, ok := strings.Cut(evidence, ":"); ok {
		if _, is := l.documents[strings.TrimSpace(name)]; is {
			quotes = append(quotes, rest)
		}
	}
	for _, d := range l.documents {
		if slices.ContainsFunc(d.entries, func(entry string) bool { return strings.Contains(words, " "+entry+" ") }) {
			return true
		}
		for _, q := range quotes {
			if isPhrase(q) && slices.ContainsFunc(d.texts, func(text string) bool { return strings.Contains(text, alike(q)) }) {
				return true
			}
		}
	}
	return false
}
