package source

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"
)

// pair is a test of the base with what became of it.
type pair struct{ base, candidate *unit }

// pooled is a fact with the test that it is of.
type pooled struct {
	fact
	of *unit
}

// comparison is a base and a candidate.
type comparison struct {
	base, candidate *side
	pairs           []pair
	removed         []*unit  // tests of the base that have become no other
	added           []*unit  // tests of the candidate that were no other
	pool            []pooled // what added and changed tests check
	changes         []Change
}

// match finds for each test of the base the one that it has become: the one of its name in its
// file, the one of its name elsewhere, or the one that is most like it.
func (c *comparison) match() {
	left, right := c.base.tests, c.candidate.tests
	for _, key := range []func(*unit) string{
		func(u *unit) string { return u.file.path + "\x00" + u.suite + "\x00" + u.name },
		func(u *unit) string { return u.file.path + "\x00" + u.name },
		inPackage,
	} {
		left, right = c.matchBy(left, right, key)
	}
	left, right = c.matchNames(left, right)
	left, right = c.matchSignatures(left, right)
	c.removed, c.added = c.matchBodies(left, right)
}

// inPackage returns a key that tests of one name have in the files of a package; in languages where a name
// may occur in each file of a folder it has the file in it.
func inPackage(u *unit) string {
	if u.file.lang.name == "go" {
		return path.Dir(u.file.path) + "\x00" + u.name
	}
	return u.file.path + "\x00" + u.suite + "\x00" + u.name
}

// reachable reports whether a runner that finds the test of the base finds the one of the candidate.
func reachable(b, c *unit) bool {
	return b.file.lang.name == c.file.lang.name && (discovered(c.file.lang, c.file.path) || !discovered(b.file.lang, b.file.path))
}

// matchBy pairs tests that have the same key, in their order, and returns the others.
func (c *comparison) matchBy(left, right []*unit, key func(*unit) string) (restLeft, restRight []*unit) {
	byKey := map[string][]*unit{}
	for _, u := range right {
		byKey[key(u)] = append(byKey[key(u)], u)
	}
	taken := map[*unit]bool{}
	for _, b := range left {
		k := key(b)
		if us := byKey[k]; len(us) > 0 && reachable(b, us[0]) {
			c.pairs = append(c.pairs, pair{b, us[0]})
			taken[us[0]], byKey[k] = true, us[1:]
			continue
		}
		restLeft = append(restLeft, b)
	}
	return restLeft, slices.DeleteFunc(slices.Clone(right), func(u *unit) bool { return taken[u] })
}

const (
	// minNamesake is how much alike the bodies of tests of the same name in different files are.
	minNamesake = 0.3
	// minAlike is how much alike the bodies of a renamed test are, and minLiterals which part of
	// the literals of the old one the new one has; of its names if it has no literals.
	minAlike    = 0.6
	minLiterals = 0.6
)

// matchNames pairs tests that have the same name in different files.
func (c *comparison) matchNames(left, right []*unit) (restLeft, restRight []*unit) {
	byName := map[string][]*unit{}
	for _, u := range right {
		byName[u.name] = append(byName[u.name], u)
	}
	taken := map[*unit]bool{}
	budget := maxPairs
	for _, b := range left {
		var best *unit
		most := 0.0
		for _, u := range byName[b.name] {
			if budget--; budget < 0 {
				break
			}
			if taken[u] || !reachable(b, u) {
				continue
			}
			alike := alike(c.base.grams(b), c.candidate.grams(u))
			if path.Base(b.file.path) == path.Base(u.file.path) {
				alike += 0.01
			}
			if alike > most {
				best, most = u, alike
			}
		}
		if best == nil || most < minNamesake {
			restLeft = append(restLeft, b)
			continue
		}
		c.pairs = append(c.pairs, pair{b, best})
		taken[best] = true
	}
	return restLeft, slices.DeleteFunc(slices.Clone(right), func(u *unit) bool { return taken[u] })
}

// matchSignatures pairs tests whose bodies are the same but for names.
func (c *comparison) matchSignatures(left, right []*unit) (restLeft, restRight []*unit) {
	seed := maphash.MakeSeed()
	hash := func(s *side, u *unit) string {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, t := range s.signature(u) {
			h.WriteString(t)
			h.WriteByte(0)
		}
		if len(s.distinct(u)) == 0 { // it is only known by its names
			h.WriteString(strings.Join(s.names(u), "\x00"))
		}
		return fmt.Sprint(u.file.lang.name, h.Sum64())
	}
	prints := map[*unit]string{}
	for _, u := range left {
		prints[u] = hash(c.base, u)
	}
	for _, u := range right {
		prints[u] = hash(c.candidate, u)
	}
	return c.matchBy(left, right, func(u *unit) string { return prints[u] })
}

// matchBodies pairs the tests that are left by how much alike they are, the most alike first.
func (c *comparison) matchBodies(left, right []*unit) (restLeft, restRight []*unit) {
	type scored struct {
		pair
		alike float64
	}
	var all []scored
	budget := maxPairs
	for _, b := range left {
		known := c.base.distinct
		other := c.candidate.distinct
		if len(known(b)) == 0 {
			known, other = c.base.names, c.candidate.names
		}
		grams := c.base.grams(b)
		for _, u := range right {
			if budget--; budget < 0 {
				break
			}
			if !reachable(b, u) || share(known(b), other(u)) < minLiterals {
				continue
			}
			if n := alike(grams, c.candidate.grams(u)); n >= minAlike {
				all = append(all, scored{pair{b, u}, n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.alike, a.alike) })
	taken := map[*unit]bool{}
	for _, s := range all {
		if !taken[s.pair.base] && !taken[s.pair.candidate] {
			c.pairs = append(c.pairs, s.pair)
			taken[s.pair.base], taken[s.pair.candidate] = true, true
		}
	}
	rest := func(u *unit) bool { return taken[u] }
	return slices.DeleteFunc(slices.Clone(left), rest), slices.DeleteFunc(slices.Clone(right), rest)
}

// signature returns the tokens of a test with names replaced by when they first occur, and
// without what only a formatter cares about.
func (s *side) signature(u *unit) []string {
	names := map[string]string{}
	return s.tokens(u, func(t *lexeme) string {
		if t.kind != word || isFixed(t.text) {
			return t.text
		}
		if names[t.text] == "" {
			names[t.text] = "#" + string(rune('0'+len(names)))
		}
		return names[t.text]
	})
}

// tokens returns the tokens of a test as a function gives them.
func (s *side) tokens(u *unit, form func(*lexeme) string) []string {
	var all []string
	for _, p := range s.spans(u) {
		f := p.file
		for i := p.span.from; i < p.span.to && i < len(f.toks); i++ {
			t := &f.toks[i]
			next := f.at(i + 1)
			switch {
			case t.mute, t.is(";"), t.is("async"), t.is("await"), t.is("$"):
			case t.is(",") && next.kind == punct && (next.text == ")" || next.text == "]" || next.text == "}"):
			case t.kind == word || t.kind == punct:
				all = append(all, form(t))
			default:
				all = append(all, string('0'+t.kind)+form(t))
			}
		}
		all = append(all, "")
	}
	return all
}

// isFixed reports whether a word says by itself what a test does, so that another in its place
// is no renaming.
func isFixed(s string) bool {
	switch s {
	case "if", "else", "for", "while", "not", "in", "of", "is", "and", "or", "return", "raise", "raises", "throw", "throws", "with", "try", "except", "catch", "finally",
		"func", "fn", "def", "defer", "go", "range", "match", "switch", "case", "new", "let", "const", "var", "lambda", "function",
		"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Run", "equal", "ok", "deepEqual", "strictEqual", "deepStrictEqual", "Equal", "EqualValues",
		"param", "parametrize", "approx", "unwrap", "is_some", "is_none", "is_ok", "is_err", "Some", "Ok", "Err", "len":
		return true
	}
	return looksLikeCheck(s) || len(s) > 2 && s[:2] == "to" && s[2] >= 'A' && s[2] <= 'Z'
}

func equalTokens(a, b []string) bool { return slices.Equal(a, b) }

// grams returns the groups of three neighbouring tokens of a test, sorted. Names are all alike.
func (s *side) grams(u *unit) []string {
	if g, ok := s.gramsOf[u]; ok {
		return g
	}
	all := s.tokens(u, func(t *lexeme) string {
		if t.kind == word && !isFixed(t.text) {
			return "#"
		}
		return t.text
	})
	var grams []string
	for i := 0; i+2 < len(all) && len(grams) < maxGrams; i++ {
		grams = append(grams, strings.Join(all[i:i+3], "\x00"))
	}
	slices.Sort(grams)
	s.gramsOf[u] = grams
	return grams
}

// alike returns which part of two sorted lists is in both.
func alike(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	both, j := 0, 0
	for _, x := range a {
		for j < len(b) && b[j] < x {
			j++
		}
		if j < len(b) && b[j] == x {
			both++
			j++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}

// distinct returns the literals of a test, each once, sorted.
func (s *side) distinct(u *unit) []string {
	if l, ok := s.distinctOf[u]; ok {
		return l
	}
	var all []string
	for _, p := range s.spans(u) {
		for i := p.span.from; i < p.span.to && i < len(p.file.toks); i++ {
			if t := &p.file.toks[i]; t.literal() {
				all = append(all, string('0'+t.kind)+t.text)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	s.distinctOf[u] = all
	return all
}

// names returns the names in a test, each once, sorted.
func (s *side) names(u *unit) []string {
	names := s.tokens(u, func(t *lexeme) string {
		if t.kind != word || isFixed(t.text) {
			return ""
		}
		return t.text
	})
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// share returns which part of a sorted list is in another one.
func share(a, b []string) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); ok {
			n++
		}
	}
	return float64(n) / float64(len(a))
}
