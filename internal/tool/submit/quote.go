package submit

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// alike writes a text so that two texts compare equal that differ only in case, in white
// space, in the form of quotes and dashes, and in how Unicode composes characters.
func alike(text string) string {
	text = strings.ToLower(norm.NFKC.String(text))
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Pi, unicode.Pf), strings.ContainsRune("\"`´‚„′″", r):
			return '\''
		case unicode.In(r, unicode.Pd):
			return '-'
		case unicode.Is(unicode.Cf, r): // soft hyphens, marks of direction
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
