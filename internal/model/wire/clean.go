package wire

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pawl/internal/pattern"
)

// maxMessage is the most bytes of a provider's text that an error carries.
const maxMessage = 300

// minSecret is the shortest key that is treated as one: servers that need no
// key are given words such as "none", which are no secret and occur in texts.
const minSecret = 8

// keyLike matches what providers' keys look like, also half masked as some
// providers repeat them in their errors.
var keyLike = pattern.Of(`\bsk-[A-Za-z0-9_*.-]{4,}`)

// Clean makes a text from outside fit for an error: printable, on one line,
// without the key or anything that looks like one, at most 300 bytes.
func Clean(text, key string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(key) >= minSecret {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	text = keyLike.ReplaceAllString(text, "[key]")
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
