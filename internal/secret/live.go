package secret

import (
	"bytes"
	"strings"
)

const (
	// maxWord is how many bytes of an unfinished word, and of a name before it, are waited for. A longer one is no
	// secret of those that are written on one line.
	maxWord = 512
	maxKey  = 80
)

// Undecided returns where the end of a text begins that may turn out to be a part of a secret when more
// of it comes; the length of the text if there is none. What is before it can be shown, redacted. It
// never lies inside a secret that is there already.
func (r *Redactor) Undecided(text []byte) int {
	cut := beginsAt(text, min(r.unfinishedValue(text), unfinishedPEM(text), unfinishedOwn(text), unfinishedDigest(text)))
	for _, s := range r.stretches("", text) {
		if s.from < cut && cut < s.to {
			return beginsAt(text, s.from)
		}
	}
	return cut
}

// beginsAt returns where the word begins that a place is in or behind, with the name that it is assigned to.
func beginsAt(text []byte, at int) int {
	word := at - len(lastWord(text[:at]))
	if at-word > maxWord {
		return at
	}
	at = min(unfinishedAssignment(text[:at], word), unfinishedCurl(text, word))
	return at - len(lastWord(text[:at]))
}

// unfinishedValue returns where the end begins that a known value begins with.
func (r *Redactor) unfinishedValue(text []byte) int {
	cut := len(text)
	if r == nil {
		return cut
	}
	for _, v := range r.known {
		for n := min(len(v.text)-1, len(text)); n > len(text)-cut; n-- {
			if bytes.HasSuffix(text, v.text[:n]) {
				cut = len(text) - n
				break
			}
		}
	}
	return cut
}

// maxOwn is how many bytes after its beginning the rules of ours are waited for.
const maxOwn = 300

// unfinishedOwn returns where something begins at the end of a text that a rule of ours may still match: it has several
// words, as a line of .netrc, or several lines.
func unfinishedOwn(text []byte) int {
	tail := max(0, len(text)-maxOwn)
	cut := len(text)
	rules().keywords.each(text[tail:], func(at int, key keyword) {
		if key.rule.own {
			cut = min(cut, tail+at)
		}
	})
	for at := tail; at < cut; {
		if text[at] == '[' && (at == 0 || text[at-1] == '\n') { // a section of settings
			return at
		}
		line := bytes.IndexByte(text[at:], '\n')
		if line < 0 {
			break
		}
		at += line + 1
	}
	return cut
}

const blanks = " \t\r\n"

func lastWord(text []byte) []byte {
	return text[bytes.LastIndexAny(text[max(0, len(text)-2*maxWord):], blanks)+1+max(0, len(text)-2*maxWord):]
}

// unfinishedAssignment returns where a name begins that something is assigned to, or may be, at the end of a text.
func unfinishedAssignment(text []byte, word int) int {
	const behind, quotes, sign, open = 20, 3, 3, 5
	tail := max(0, len(text)-maxWord)
	cut := word
	rules().keywords.each(text[tail:], func(at int, key keyword) {
		if key.rule.compile(); key.rule.at != assignment {
			return
		}
		end := skip(text, tail+at, len(key.text)+behind, " \t.-", true)
		end = skip(text, end, quotes, "'\" \t\r\n\f", false)
		if signed := skip(text, end, sign, "=>:|?,", false); signed > end {
			end = skip(text, signed, open, "`'\" \t\r\n\f=", false)
			for end < len(text) && strings.IndexByte("`'\" \t\r\n\f;", text[end]) < 0 {
				end++
			}
		}
		if end == len(text) {
			cut = min(cut, tail+at)
		}
	})
	return cut
}

// unfinishedCurl returns where the line begins that the last word is in if it is a command with which people send
// passwords.
func unfinishedCurl(text []byte, word int) int {
	line := bytes.LastIndexByte(text[:word], '\n') + 1
	if word-line > maxWord || !bytes.Contains(text[line:], []byte("curl")) {
		return word
	}
	return line
}

// unfinishedPEM returns where a private key begins whose end has not come yet.
func unfinishedPEM(text []byte) int {
	tail := max(0, len(text)-maxPEM)
	i := bytes.LastIndex(text[tail:], []byte("-----BEGIN"))
	if i < 0 {
		return len(text)
	}
	i += tail
	begin := pem().begin.FindIndex(text[i:])
	if begin == nil {
		if line := bytes.IndexByte(text[i:], '\n'); line >= 0 || len(text)-i > maxKey {
			return len(text)
		}
		return i // the line is not complete
	}
	end := i + begin[1]
	if to := findPEM(text, i); to > 0 {
		end = to
		if pem().end.Match(text[i:to]) {
			return len(text)
		}
	}
	if len(text)-end > maxGap {
		return len(text)
	}
	return i
}
