package secret

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
)

// Limits of [Find].
const (
	MaxSize  = 8 << 20 // bytes of a text that are looked at, from its beginning
	MaxFound = 200     // secrets that are returned of one text
)

const (
	// near is how many bytes before and after a keyword a rule is tried that need not begin with it.
	near = 1 << 10
	// maxSpan is how many bytes a match has at most whose expression has no limit.
	maxSpan = 8 << 10
)

// Found is a secret in a text.
type Found struct {
	Rule   string // gitleaks' name of what it is, such as aws-access-token, or the name of a known value
	Secret string // empty if the file as a whole is one, such as a PKCS #12 container
	Line   int    // where it begins, from 1
	// Start and End are its place in the text: text[Start:End]. Both are 0 if the file as a whole is one.
	Start, End int
}

// Find returns the secrets that gitleaks' default rules find in a text, in order; none overlaps another one. The
// path decides which rules hold, and which files are left out, such as lock files; it may be empty. Texts that are
// known to be examples are none. A line's comment that asks scanners to leave it out is not honored: whoever writes a
// secret would write it too.
func Find(path string, text []byte) []Found { return (*Redactor)(nil).Find(path, text) }

// Find is [Find] for the rules and the values that the Redactor knows.
func (r *Redactor) Find(path string, text []byte) []Found {
	text = text[:min(len(text), MaxSize)]
	var out []Found
	for _, rule := range rules().Rules { // what a file is by its name
		if rule.compile(); rule.Regex == "" && rule.path.MatchString(path) {
			out = append(out, Found{Rule: rule.ID, Line: 1})
		}
	}
	line, at := 1, 0
	for _, s := range r.stretches(path, text) {
		if len(out) == MaxFound {
			break
		}
		if s.names[0] == pemRule && !s.known && !pem().begin.Match(text[s.from:s.to]) {
			continue // the end of a key alone, which a Redactor does not show, opens nothing
		}
		line, at = line+bytes.Count(text[at:s.from], []byte("\n")), s.from
		out = append(out, Found{Rule: s.names[0], Secret: string(text[s.from:s.to]), Line: line, Start: s.from, End: s.to})
	}
	return out
}

// stretch is a piece of a text that holds one secret, or several that overlap.
type stretch struct {
	from, to int
	names    []string
	known    bool // it holds a known value
	found    bool // it holds what a rule found
}

// match returns what the rules find in a text without escapes, unordered.
func match(path string, text []byte) []stretch {
	set := rules()
	if slices.ContainsFunc(set.Allow, func(a *allow) bool { return a.allowsPath(path) }) {
		return nil
	}
	var out []stretch
	done := map[*rule]int{} // up to where a rule has matched or need not be tried again
	set.keywords.each(text, func(at int, word keyword) {
		r := word.rule
		if at < done[r] {
			return
		}
		r.compile()
		if r.Regex == "" || r.path != nil && !r.path.MatchString(path) || r.ID != pemRule && !r.mayBegin(text[at:]) {
			return
		}
		if slices.ContainsFunc(r.Allow, func(a *allow) bool { return a.allowsPath(path) }) {
			return
		}
		found, end := r.try(text, at, done[r])
		out = append(out, found...)
		done[r] = max(done[r], end)
	})
	return append(out, digests(text)...)
}

// mayBegin reports, at little cost, whether a match may begin where a keyword is.
func (r *rule) mayBegin(text []byte) bool {
	switch r.at {
	case around:
		return true
	case assignment:
		return assigns(text, r.ID == genericRule)
	}
	return slices.ContainsFunc(r.leads, func(lead string) bool {
		return len(text) >= len(lead) && (string(text[:len(lead)]) == lead || strings.EqualFold(string(text[:len(lead)]), lead) && lead == strings.ToLower(lead))
	})
}

// assigns reports whether a name is followed by what every rule for assignments wants: a sign and a value that is long
// enough. For the generic rule, which is tried most, it looks at the letters of the value too.
func assigns(text []byte, generic bool) bool {
	const maxWord, maxQuotes, maxSign, least, leastGeneric = 60, 3, 8, 6, 10
	i := skip(text, skip(text, 0, maxWord, " \t.-", true), maxQuotes, "'\" \t\r\n\f", false)
	if i == len(text) || strings.IndexByte("=>:|?,", text[i]) < 0 {
		return false
	}
	i = skip(text, i, maxSign, "=>:|?,`'\" \t\r\n\f", false)
	end := i
	for ; end < len(text) && strings.IndexByte("`'\" \t\r\n\f;\\", text[end]) < 0; end++ {
		if generic && !isWord(text[end]) && strings.IndexByte(".=-+/", text[end]) < 0 {
			return false
		}
		if !generic && end-i >= least {
			return true
		}
	}
	return end-i >= least && (!generic || end-i >= leastGeneric)
}

// skip returns the place behind bytes of a class, at most so many; words says whether letters, digits and _ are of it too.
func skip(text []byte, from, most int, class string, words bool) int {
	to := min(len(text), from+most)
	for from < to && (words && isWord(text[from]) || strings.IndexByte(class, text[from]) >= 0) {
		from++
	}
	return from
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// try looks for matches of a rule at a keyword, none before since, and returns the secrets and up to where
// the rule need not be tried again.
func (r *rule) try(text []byte, at, since int) (out []stretch, end int) {
	if r.ID == pemRule {
		from, to := findKey(text, at, since)
		if from == to {
			return nil, 0
		}
		return []stretch{{from: from, to: to, names: []string{r.ID}, found: true}}, to
	}
	if r.at == boundary && at > 0 && isWord(text[at-1]) == isWord(text[at]) {
		return nil, 0
	}
	from, span := at, cmp.Or(r.span, maxSpan)
	if r.at == around {
		from = max(since, at-span-near)
	}
	to := min(len(text), at+span+near)
	for from < to {
		place := r.expr.FindSubmatchIndex(text[from:to])
		if place == nil {
			break
		}
		for i := range place {
			if place[i] >= 0 {
				place[i] += from
			}
		}
		if place[1] == to && to < len(text) { // it may be longer, or end elsewhere
			break
		}
		if s, ok := r.judge(text, place, since); ok {
			out = append(out, s)
		}
		if end, from = place[1], max(place[1], from+1); r.at != around {
			return out, end
		}
	}
	if r.at == around {
		end = max(end, at+near)
	}
	return out, end
}

// judge returns the secret of a match, unless it is none.
func (r *rule) judge(text []byte, place []int, since int) (stretch, bool) {
	begin := place[0]
	if r.at == assignment { // the name is part of the match
		for begin > since && place[0]-begin < maxName && (isWord(text[begin-1]) || text[begin-1] == '.' || text[begin-1] == '-') {
			begin--
		}
	}
	match := strings.Trim(string(text[begin:place[1]]), "\n")
	from, to := begin, begin+len(match)
	for g := 2; g+1 < len(place); g += 2 {
		if r.Group > 0 && g != 2*r.Group || place[g] < 0 || place[g] == place[g+1] {
			continue
		}
		from, to = place[g], place[g+1]
		break
	}
	value := string(text[from:to])
	if r.Entropy > 0 && entropy(value) <= r.Entropy || isChecksum(r.ID, text[begin:from]) || isCounted(r.ID, value) || r.own && isPlaceholder(string(text[begin:from]), value) {
		return stretch{}, false
	}
	line := text[bytes.LastIndexByte(text[:begin], '\n')+1:]
	if i := bytes.IndexByte(line[min(len(line), len(match)):], '\n'); i >= 0 {
		line = line[:min(len(line), len(match))+i]
	}
	allowed := func(a *allow) bool { return a.allows(value, match, string(line)) }
	if slices.ContainsFunc(rules().Allow, allowed) || slices.ContainsFunc(r.Allow, allowed) {
		return stretch{}, false
	}
	return stretch{from: from, to: to, names: []string{r.ID}, found: true}, true
}

// isChecksum reports whether what precedes a value says that it is the hash of a public module, as in a go.sum
// that is shown without its name.
func isChecksum(rule string, before []byte) bool {
	return rule == genericRule && (bytes.HasSuffix(before, []byte(" h1:")) || bytes.HasSuffix(before, []byte("/go.mod h1:")))
}

// isCounted reports whether a value that only its name makes a key counts to ten, which no key does that
// was made at random: it stands for one in a test or an example.
func isCounted(rule, value string) bool {
	return rule == genericRule && (strings.Contains(value, "0123456789") || strings.Contains(value, "1234567890"))
}

// entropy returns how many bits of information a character of a text has.
func entropy(text string) float64 {
	counts := map[rune]int{}
	for _, c := range text {
		counts[c]++
	}
	var sum float64
	for _, n := range counts {
		p := float64(n) / float64(len(text))
		sum -= p * math.Log2(p)
	}
	return sum
}

// unescape replaces the escapes of a JSON string by what they stand for, and the colors of a terminal by blanks, in as
// many bytes: rules know nothing of either, and what a model or a tool says is written down as JSON.
func unescape(text []byte) []byte {
	i := bytes.IndexAny(text, "\\\x1b")
	if i < 0 {
		return text
	}
	out := bytes.Clone(text)
	for ; i < len(out); i++ {
		switch {
		case out[i] == 0x1b:
			blank(out[i:], 1)
		case out[i] != '\\' || i+1 == len(out):
		case bytes.HasPrefix(out[i:], []byte(`\u001b`)):
			blank(out[i:], len(`\u001b`))
		case out[i+1] == '"' || out[i+1] == '\\':
			out[i] = ' '
		case out[i+1] == 'n' || out[i+1] == 'r' || out[i+1] == 't':
			out[i], out[i+1] = ' ', '\n'
		}
	}
	return out
}

// blank writes blanks over a control sequence that sets colors, whose escape character takes n bytes.
func blank(text []byte, n int) {
	const parameters = "0123456789;:"
	end := n
	if end < len(text) && text[end] == '[' {
		for end++; end < len(text) && strings.IndexByte(parameters, text[end]) >= 0; end++ {
		}
		end = min(end+1, len(text))
	}
	for i := range end {
		text[i] = ' '
	}
}
