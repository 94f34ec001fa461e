package secret

import (
	"bytes"
	"regexp"
	"sync"
)

// Bounds of a private key in PEM.
const (
	minFirst = 40       // letters of base64 without a break that a key begins with
	minLine  = 16       // the same, of what follows
	maxGap   = 120      // bytes between two of them: the end of a line, its number, quotes, a header
	maxPEM   = 64 << 10 // bytes of a key
)

var pem = sync.OnceValue(func() (p struct{ begin, end, line *regexp.Regexp }) {
	p.begin = regexp.MustCompile(`(?i)\A-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----`)
	p.end = regexp.MustCompile(`(?i)-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----`)
	p.line = regexp.MustCompile(`[A-Za-z0-9+/=]+`)
	return p
})

// findKey returns the place of a private key that begins or ends here, as far as it is there; from and to are the same if
// there is none.
func findKey(text []byte, at, since int) (from, to int) {
	if to = findPEM(text, at); to > 0 {
		return at, to
	}
	end := pem().end.FindIndex(text[at:min(len(text), at+maxKey+len("-----END"))])
	if end == nil || end[0] != 0 || !bytes.Contains(bytes.ToUpper(text[at:at+end[1]]), []byte("PRIVATE")) {
		return at, at
	}
	if from = findPEMBefore(text, at, since); from == at {
		return at, at
	}
	return from, at + end[1]
}

// findPEM returns where a private key ends that begins here; 0 if none does. Of gitleaks' rule it has the
// beginning only: a text about keys names BEGIN and END with other things between them, and of a file that was
// cut only a part of the key is there.
func findPEM(text []byte, at int) int {
	text = text[:min(len(text), at+maxPEM)]
	begin := pem().begin.FindIndex(text[at:])
	if begin == nil {
		return 0
	}
	end, first := at+begin[1], true
	if next := bytes.Index(text[end:], []byte("-----BEGIN")); next >= 0 {
		text = text[:end+next]
	}
	for {
		window := text[end:min(len(text), end+maxGap)]
		mark := pem().end.FindIndex(text[end:min(len(text), end+2*maxGap)])
		next := nextLine(window, text[end:], first)
		switch {
		case mark != nil && (next == nil || mark[0] <= next[0]):
			if first {
				return 0
			}
			return end + mark[1]
		case next == nil:
			if first {
				return 0
			}
			return end
		}
		end, first = end+next[1], false
	}
}

// findPEMBefore returns where the part of a private key begins that ends here with its END line, after place since: the
// end of a file or of an output is often all that is shown of it. It returns at if there is none.
func findPEMBefore(text []byte, at, since int) int {
	from, found := at, false
	for floor := max(since, at-maxPEM); ; {
		window := text[max(floor, from-maxGap):from]
		runs := pem().line.FindAllIndex(window, -1)
		i := len(runs) - 1
		for ; i >= 0; i-- {
			run := window[runs[i][0]:runs[i][1]]
			if runs[i][0] == 0 || len(run) >= minFirst && isMixed(run) || found && len(run) >= minLine {
				break
			}
		}
		if i < 0 {
			return from
		}
		begin := from - len(window) + runs[i][0]
		for begin > floor && pem().line.Match(text[begin-1:begin]) { // it begins before the window
			begin--
		}
		run := text[begin : from-len(window)+runs[i][1]]
		if len(run) < minLine || !found && (len(run) < minFirst || !isMixed(run)) {
			return from
		}
		from, found = begin, true
	}
}

// nextLine returns the place of the next line of a key that begins in the window.
func nextLine(window, text []byte, first bool) []int {
	least := minLine
	if first {
		least = minFirst
	}
	for _, place := range pem().line.FindAllIndex(window, -1) {
		if place[1] == len(window) { // it may continue behind the window
			place[1] = place[0] + len(pem().line.Find(text[place[0]:]))
		}
		run := text[place[0]:place[1]]
		if len(run) >= least && (!first || isMixed(run)) {
			return place
		}
	}
	return nil
}

// isMixed reports whether a run has upper and lower case letters and digits, as keys have and names rarely do.
func isMixed(run []byte) bool {
	return bytes.ContainsAny(run, "0123456789") && bytes.ContainsAny(run, "abcdefghijklmnopqrstuvwxyz") && bytes.ContainsAny(run, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
