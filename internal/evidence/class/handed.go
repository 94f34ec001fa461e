package class

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// What a command reads to print it is not what a gate judges by, but what a loop, a program or a comparison is
// handed may be: the cases of a test, as in `cat cases | while read`.

// handed are the files whose text scripts hand on.
type handed struct {
	texts map[string]bool // by path
	parts []string        // patterns
}

func newHanded() handed { return handed{texts: map[string]bool{}} }

// textReaders print a file, or a part of it.
var textReaders = []string{"cat", "tac", "nl", "head", "tail", "sort", "uniq", "shuf", "cut", "tr", "paste", "grep", "egrep", "fgrep", "sed", "awk", "jq"}

// wholeReaders print a file as it is. What others take out of a file is what they look for.
var wholeReaders = []string{"cat", "tac", "head", "tail"}

// loopReaders read lines.
var loopReaders = []string{"read", "mapfile", "readarray", "xargs", "parallel"}

// hands records what the i-th of the commands of a text hands on.
func (u *uses) hands(at place, all []shellCommand, i int) {
	c := &all[i]
	name := c.program()
	for _, w := range c.inputs {
		if !slices.Contains(readers, name) || feeds(all, i) {
			u.hand(at, w)
		}
	}
	if slices.Contains(textReaders, name) && (feeds(all, i) || c.captured && slices.Contains(wholeReaders, name)) {
		for _, w := range c.words {
			if w != name && !strings.HasPrefix(w, "-") {
				u.hand(at, w)
			}
		}
	}
}

// feeds reports whether what a command prints goes to a loop or to a program of the tree.
func feeds(all []shellCommand, i int) bool {
	for steps := 0; steps < maxShells; steps++ {
		if i = all[i].to; i < 0 {
			return false
		}
		c := &all[i]
		first := c.called()
		switch name := c.program(); {
		case slices.Contains(loopReaders, name) || slices.ContainsFunc(c.words, func(w string) bool { return slices.Contains(loopReaders, w) }):
			return true
		case slices.Contains(interpreters, first) || looksLikeFile(first):
			return true
		case !slices.Contains(textReaders, name) && !slices.Contains(passers, name):
			return false
		}
	}
	return false
}

// hand adds a name, as written at a place. One that a variable ends stands for all files of its folder.
func (u *uses) hand(at place, w string) {
	w = strings.TrimLeft(w, "\x00/")
	if before, _, ok := strings.Cut(w, "\x00"); ok {
		i := strings.LastIndexByte(before, '/')
		if i < 0 {
			return
		}
		w = before[:i] + "/*"
	}
	if w == "" || len(u.texts) >= maxNames || len(u.parts) >= maxGlobs {
		return
	}
	for _, folder := range []string{at.folder, ""} {
		full := path.Join(folder, w)
		switch {
		case strings.HasPrefix(full, "..") || folder != at.folder && !at.script:
		case !strings.ContainsAny(full, "*?["):
			u.texts[full] = true
		case strings.Count(full, "*") <= 6 && doublestar.ValidatePattern(full) && strings.Trim(full, "*/.") != "":
			u.parts = append(u.parts, full)
		}
	}
}

// IsHanded reports whether gates, by their commands and scripts, hand on the text of a file as what they judge by.
func (c *Classes) IsHanded(name string) bool {
	h := &c.uses.handed
	return h.texts[name] || slices.ContainsFunc(h.parts, func(g string) bool { return doublestar.MatchUnvalidated(g, name) })
}
