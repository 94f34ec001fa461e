package engine

import (
	"cmp"
	"strings"
	"unicode"

	"pawl"
)

// titleSize is how long a title may be, in bytes.
const titleSize = 120

// title is the goal's first line, short enough for lists.
func title(goal string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(goal), "\n")
	line = strings.TrimSpace(strings.ToValidUTF8(line, "\uFFFD"))
	if len(line) <= titleSize {
		return line
	}
	return cut(line, titleSize-len("…")) + "…"
}

// cut is the beginning of a text, at most n bytes and no part of a letter.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// A slug has at most so many words and bytes, so that branches can be read and typed.
const (
	slugWords = 5
	slugSize  = 32
)

// slug names a task by the first words of its goal: lower-case letters and
// digits of ASCII, joined by dashes; "task" when there are none. A word in
// another script is left out.
func slug(goal string) string {
	var out string
	words := 0
	for _, w := range strings.FieldsFunc(latin.Replace(strings.ToLower(title(goal))), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		if strings.ContainsFunc(w, func(r rune) bool { return r > unicode.MaxASCII }) {
			continue
		}
		switch {
		case out == "":
			out = cut(w, slugSize)
		case len(out)+1+len(w) > slugSize:
			return ownName(out)
		default:
			out += "-" + w
		}
		if words++; words == slugWords {
			break
		}
	}
	return ownName(out)
}

// ownName is a slug that does not look like that of a later run: -r2 and the like
// at its end goes. One without anything left is "task".
func ownName(slug string) string {
	for {
		of, n := pawl.RunID("0-" + slug).Task()
		if n == 1 {
			break
		}
		slug = strings.TrimPrefix(of, "0-")
	}
	return cmp.Or(slug, "task")
}

// latin writes letters of Latin scripts as they are typed without them.
var latin = strings.NewReplacer(
	"'", "", "’", "", "ä", "ae", "æ", "ae", "ö", "oe", "œ", "oe", "ü", "ue", "ß", "ss",
	"à", "a", "á", "a", "â", "a", "ã", "a", "å", "a", "ą", "a", "ç", "c", "ć", "c", "č", "c", "è", "e", "é", "e", "ê", "e",
	"ë", "e", "ę", "e", "ě", "e", "ì", "i", "í", "i", "î", "i", "ï", "i", "ł", "l", "ñ", "n", "ń", "n", "ň", "n", "ò", "o",
	"ó", "o", "ô", "o", "õ", "o", "ø", "o", "ř", "r", "ś", "s", "š", "s", "ù", "u", "ú", "u", "û", "u", "ů", "u", "ý", "y",
	"ź", "z", "ż", "z", "ž", "z",
)
