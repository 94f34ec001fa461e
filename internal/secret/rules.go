package secret

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

//go:embed rules.json
var rulesFile []byte

// rules returns gitleaks' default rules, read when they are first needed. Their expressions are
// compiled one by one, each when a keyword of its rule is first met.
var rules = sync.OnceValue(load)

func load() *ruleset {
	var set ruleset
	if err := json.Unmarshal(rulesFile, &set); err != nil {
		panic(fmt.Sprintf("secret: rules.json is damaged: %v", err)) // it is part of the program
	}
	for _, r := range ownRules() {
		r.own = true
		set.Rules = append(set.Rules, r)
	}
	set.index()
	return &set
}

// ruleset is all rules, as rules.json has them.
type ruleset struct {
	Allow []*allow `json:"allow"`
	Rules []*rule  `json:"rules"`

	keywords keywords
}

// rule describes one kind of secret.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Path     string   `json:"path"`    // the files that it is about; empty = all
	Group    int      `json:"group"`   // the group of the expression that is the secret; 0 = the first that is not empty
	Entropy  float64  `json:"entropy"` // what a secret must have more of, in bits a character; 0 = any
	Keywords []string `json:"keywords"`
	Allow    []*allow `json:"allow"`

	own bool // it is none of gitleaks'

	once  sync.Once // guards what follows
	path  *regexp.Regexp
	at    anchor
	leads []string // what a match begins with, or the keyword in it
	expr  *regexp.Regexp
	span  int // bytes that a match may have at most; 0 = any number
}

// anchor says where a match lies relative to a keyword of its rule.
type anchor int

const (
	around     anchor = iota // the keyword may be anywhere in it
	beginning                // it begins with the keyword
	boundary                 // the same, at the beginning or the end of a word
	assignment               // it begins with a name, of which the keyword is a part
)

// allow describes what is no secret although a rule matches it.
type allow struct {
	Target  string   `json:"target"` // what Regexes look at: "match", "line" or, if empty, the secret
	Regexes []string `json:"regexes"`
	Paths   []string `json:"paths"`
	Words   []string `json:"words"` // in lower case; a secret that contains one is none

	once    sync.Once // guards what follows
	regexes *regexp.Regexp
	paths   *regexp.Regexp
}

// pemRule is the one rule whose matching is not its expression; see findPEM.
const pemRule = "private-key"

// pemEnd is a keyword of that rule beside gitleaks' own: what is left of a key may have an end only.
const pemEnd = "-----end"

// genericRule is the rule for what has no shape of its own and is called a key. Any other rule
// that matches the same text has the better name.
const genericRule = "generic-api-key"

// namePrefix is how the expression of a rule begins that looks for an assignment: any name that
// contains the keyword.
const namePrefix = `[\w.-]{0,50}?`

// maxLeads is how many texts a match may begin with for its rule to be tried only there.
const maxLeads = 64

// maxName is how many bytes of a name before the keyword are part of a match.
const maxName = 50

func (r *rule) compile() {
	r.once.Do(func() {
		if r.Path != "" {
			r.path = regexp.MustCompile(r.Path)
		}
		if r.Regex == "" {
			return
		}
		text, parsed := r.Regex, parse(r.Regex)
		r.span = longest(parsed)
		rest, named := afterName(text)
		if named = named && parsed.Op == syntax.OpConcat; named { // else it begins one of several alternatives
			parsed = parse(rest)
		}
		r.leads, _ = leads(parsed)
		anchored := !slices.ContainsFunc(r.leads, func(lead string) bool {
			return !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.HasPrefix(strings.ToLower(lead), k) })
		})
		if anchored {
			r.at = beginning
			switch cut, bounded := strings.CutPrefix(text, `\b`); {
			case named:
				r.at, text = assignment, rest
			case bounded:
				r.at, text = boundary, cut
			}
			text = `\A(?:` + text + `)`
		}
		r.expr = regexp.MustCompile(text)
	})
}

// afterName returns an expression without its beginning that stands for the name before the keyword.
func afterName(expr string) (rest string, named bool) {
	if rest, named = strings.CutPrefix(expr, "(?i)"+namePrefix); named {
		return "(?i)" + rest, true
	}
	if rest, named = strings.CutPrefix(expr, namePrefix+"(?i:"+namePrefix); named {
		return "(?i:" + rest, true
	}
	return expr, false
}

func parse(expr string) *syntax.Regexp {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(fmt.Sprintf("secret: the expression %q: %v", expr, err)) // it is part of the program
	}
	return parsed
}

// leads returns what a match of an expression can begin with, as far as that is a few fixed texts;
// in lower case where the expression does not look at the case.
func leads(re *syntax.Regexp) (texts []string, whole bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginText:
		return []string{""}, true
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 {
			text = strings.ToLower(text)
		}
		return []string{text}, true
	case syntax.OpCapture:
		return leads(re.Sub[0])
	case syntax.OpQuest:
		texts, whole = leads(re.Sub[0])
		return append(texts, ""), whole
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if texts = append(texts, string(c)); len(texts) > maxLeads {
					return []string{""}, false
				}
			}
		}
		return texts, true
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			more, all := leads(sub)
			texts, whole = append(texts, more...), whole && all
		}
		return texts, whole
	case syntax.OpConcat:
		texts, whole = []string{""}, true
		for _, sub := range re.Sub {
			next, all := leads(sub)
			if len(texts)*len(next) > maxLeads {
				return texts, false
			}
			var longer []string
			for _, a := range texts {
				for _, b := range next {
					longer = append(longer, a+b)
				}
			}
			if texts, whole = longer, all; !whole {
				break
			}
		}
		return texts, whole
	}
	return []string{""}, false
}

// longest returns how many bytes a match may have at most; 0 if there is no such number.
func longest(re *syntax.Regexp) int {
	sum := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune)) + len(re.Rune) // a letter of another case may be longer
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 4
	case syntax.OpStar, syntax.OpPlus:
		return 0
	case syntax.OpRepeat:
		if n := longest(re.Sub[0]); n > 0 && re.Max > 0 {
			return n * re.Max
		}
		return 0
	case syntax.OpCapture, syntax.OpQuest:
		return longest(re.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		for _, sub := range re.Sub {
			n := longest(sub)
			if n == 0 && !empty(sub) {
				return 0
			}
			if re.Op == syntax.OpAlternate {
				sum = max(sum, n)
			} else {
				sum += n
			}
		}
		return sum
	}
	return 0
}

// empty reports whether an expression matches nothing but a place.
func empty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return false
}

func (a *allow) compile() {
	a.once.Do(func() {
		if len(a.Regexes) > 0 {
			a.regexes = regexp.MustCompile("(?:" + strings.Join(a.Regexes, "|") + ")")
		}
		if len(a.Paths) > 0 {
			a.paths = regexp.MustCompile("(?:" + strings.Join(a.Paths, "|") + ")")
		}
	})
}

// allowsPath reports whether nothing in a file is a secret.
func (a *allow) allowsPath(path string) bool {
	a.compile()
	return path != "" && a.paths != nil && a.paths.MatchString(path)
}

// allows reports whether a match is no secret.
func (a *allow) allows(secret, match, line string) bool {
	a.compile()
	target := secret
	switch a.Target {
	case "match":
		target = match
	case "line":
		target = line
	}
	if a.regexes != nil && a.regexes.MatchString(target) {
		return true
	}
	lower := strings.ToLower(secret)
	return slices.ContainsFunc(a.Words, func(w string) bool { return strings.Contains(lower, w) })
}

// keywords finds the rules' keywords in a text, in one pass and in any case.
type keywords struct {
	pairs [1 << 16]uint8 // of two bytes, in lower case: the bucket of keywords that begin with them; 0 = none
	words [][]keyword    // the buckets
	lower [256]byte
}

type keyword struct {
	text string
	rule *rule
}

func (set *ruleset) index() {
	k := &set.keywords
	k.words = make([][]keyword, 1)
	for c := range k.lower {
		k.lower[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			k.lower[c] += 'a' - 'A'
		}
	}
	for _, r := range set.Rules {
		words := r.Keywords
		if r.ID == pemRule {
			words = append(words, pemEnd)
		}
		for _, word := range words {
			pair := int(word[0])<<8 | int(word[1])
			if k.pairs[pair] == 0 {
				k.pairs[pair] = uint8(len(k.words))
				k.words = append(k.words, nil)
			}
			bucket := &k.words[k.pairs[pair]]
			*bucket = append(*bucket, keyword{word, r})
		}
	}
}

// each calls found with every place at which a keyword begins, in order.
func (k *keywords) each(text []byte, found func(at int, word keyword)) {
	if len(text) == 0 {
		return
	}
	last := k.lower[text[0]]
	for i := 1; i < len(text); i++ {
		c := k.lower[text[i]]
		bucket := k.pairs[int(last)<<8|int(c)]
		last = c
		if bucket == 0 {
			continue
		}
		for _, word := range k.words[bucket] {
			if k.is(text[i-1:], word.text) {
				found(i-1, word)
			}
		}
	}
}

func (k *keywords) is(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := 2; i < len(word); i++ {
		if k.lower[text[i]] != word[i] {
			return false
		}
	}
	return true
}
