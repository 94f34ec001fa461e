package class

import (
	"path"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// shellCommand is a simple command of a shell text.
type shellCommand struct {
	words  []string // without quotes; NUL stands for an expansion
	inputs []string // those of the words that are files it is given by <
	looked look     // at what it prints

	captured bool // what it prints is a part of a word

	to    int // the command that reads what it prints, as an index; -1 = none
	depth int // of subshells
}

// readShell returns the simple commands of a shell text with how it is looked at what they print.
func readShell(text string) []shellCommand { return readLoaded(text, nil) }

// readLoaded is readShell for a text that others load, which look at what some of its functions print.
func readLoaded(text string, calls map[string]look) []shellCommand {
	r := shellReader{funcs: map[string][2]int{}}
	r.read(withValues(text), 0)
	for name, how := range calls {
		body, ok := r.funcs[name]
		if !ok || how == notLooked {
			continue
		}
		for i := body[0]; i <= body[1]; i++ {
			r.all[i].looked = max(r.all[i].looked, how)
		}
	}
	r.look()
	return r.all
}

var (
	shellValue  = pattern.Of(`(?m)(?:^|[;&|({]|\bexport|\breadonly|\blocal)[ \t]*([A-Za-z_]\w*)=("[^"$\x60\n]{1,200}"|'[^'\n]{1,200}'|[\w./:@-]{1,200})[ \t]*(?:$|[;&|#\r])`)
	shellSet    = pattern.Of(`\b([A-Za-z_]\w*)\+?=|\bfor[ \t]+([A-Za-z_]\w*)\b|\bread[ \t]+(?:-\w+[ \t]+)*([A-Za-z_]\w*)`)
	shellGetter = pattern.Of(`\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})`)
)

// maxValues is how many bytes longer a text becomes by its variables at most.
const maxValues = 16 << 10

// withValues returns a shell text with the values of those variables that are set once, to plain words.
func withValues(text string) string {
	if !strings.Contains(text, "=") {
		return text
	}
	values := map[string]string{}
	for _, m := range shellValue.FindAllStringSubmatch(text, 200) {
		values[m[1]] = strings.Trim(m[2], `"'`)
	}
	if len(values) == 0 {
		return text
	}
	times := map[string]int{}
	for _, m := range shellSet.FindAllStringSubmatch(text, -1) {
		times[m[1]+m[2]+m[3]]++
	}
	more := 0
	return shellGetter.ReplaceAllStringFunc(text, func(use string) string {
		name := strings.Trim(use, "${}")
		value, ok := values[name]
		if more += len(value); !ok || times[name] != 1 || more > maxValues {
			return use
		}
		return value
	})
}

// shellReader reads a shell text.
type shellReader struct {
	all   []shellCommand
	funcs map[string][2]int // the commands of functions, from and to
}

// span is what is open in a text: a subshell, a loop or another group.
type span struct {
	from int
	name string // of a function
}

// simple is the command that is being read.
type simple struct {
	words  []string
	inputs []string
	from   bool // the next word is a file that it is given
	in     bool // it is given input
	out    bool // what it prints goes to a file
}

// read adds the commands of a text. The commands of $(…) and `…` come as commands of their own. A text that
// is no shell's gives words too.
func (r *shellReader) read(text string, depth int) {
	if depth > maxShells {
		return
	}
	var (
		now    simple
		word   strings.Builder
		inWord bool
		parens []int  // where subshells begin
		groups []span // that keywords begin
		group  = -1   // where the subshell begins that has just ended
		pipes  []int  // the commands whose output the next one reads
		name   string // of a function whose body is to come
	)
	endWord := func() {
		if inWord {
			now.words = append(now.words, word.String())
			if now.from {
				now.inputs = append(now.inputs, word.String())
			}
			now.from = false
		}
		word.Reset()
		inWord = false
	}
	endCommand := func(pipe bool) {
		endWord()
		from, at := -1, len(r.all)
		if len(now.words) > 0 {
			for _, i := range pipes {
				r.all[i].to = at
			}
			pipes = nil
			r.all = append(r.all, shellCommand{words: now.words, inputs: now.inputs, to: -1, depth: depth + len(parens)})
			from = r.grouped(&groups, &name, at)
		}
		switch {
		case group >= 0:
			from = group
		case from < 0:
			from = at
		}
		for i := from; i < len(r.all); i++ {
			if now.in {
				r.all[i].looked = lookedClosely
			} else if now.out {
				r.all[i].looked = max(r.all[i].looked, looked)
			}
			if pipe && r.all[i].to < 0 {
				pipes = append(pipes, i)
			}
		}
		now, group = simple{}, -1
	}
	captured := func(inner string, how look) {
		from := len(r.all)
		r.read(inner, depth+1)
		for i := from; i < len(r.all); i++ {
			r.all[i].looked = max(r.all[i].looked, how)
			r.all[i].captured = true
		}
	}
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			if text[i] != '\n' {
				inWord = true
				word.WriteByte(text[i])
			}
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote != '\'' && (c == '$' || c == '`'):
			inner, length := expansion(text[i:])
			captured(inner, looked)
			word.WriteByte(0)
			inWord = true
			i += length - 1
		case quote != 0:
			word.WriteByte(c)
		case c == '#' && !inWord:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == ' ' || c == '\t' || c == '\r':
			endWord()
		case c == '|':
			pipe := i+1 == len(text) || text[i+1] != '|'
			if !pipe {
				i++
			}
			endCommand(pipe)
		case c == '(':
			endWord()
			if rest := strings.TrimLeft(text[i+1:min(len(text), i+20)], " "); strings.HasPrefix(rest, ")") && len(now.words) > 0 {
				name = now.words[len(now.words)-1]
				now = simple{}
			} else {
				endCommand(false)
			}
			parens = append(parens, len(r.all))
		case c == ')':
			endCommand(false)
			if n := len(parens) - 1; n >= 0 {
				group, parens = parens[n], parens[:n]
			}
		case c == '\n' || c == ';' || c == '&':
			endCommand(false)
		case c == '<':
			endWord()
			if i+1 < len(text) && text[i+1] == '(' { // what a command prints, as a file
				inner, length := expansion("$" + text[i+1:min(len(text), i+maxExpansion)])
				captured(inner, lookedClosely)
				now.words = append(now.words, "\x00")
				i += length - 1
				break
			}
			now.in = now.in || isGivenBy(text[i+1:])
			now.from = i+1 < len(text) && text[i+1] != '<' && text[i+1] != '&' && text[i-min(i, 1)] != '<'
		case c == '>':
			fd := strings.Trim(word.String(), "0123456789") == ""
			stderr := fd && word.String() == "2"
			if fd {
				word.Reset()
				inWord = false
			}
			endWord()
			now.words = append(now.words, ">")
			dup := false
			for i+1 < len(text) && (text[i+1] == '>' || text[i+1] == '&' || text[i+1] == '|') {
				i++
				dup = dup || text[i] == '&'
			}
			now.out = now.out || !stderr && !dup && isKept(text[i+1:])
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	endCommand(false)
}

// keywords are words of the shell before a command.
var keywords = []string{"if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"}

// openers are the words of the shell that begin a group.
var openers = []string{"for", "while", "until", "if", "case", "select", "{"}

// closers are the words of the shell that end a group.
var closers = []string{"done", "fi", "esac", "}"}

// grouped takes the words of the shell into account that a command begins with, and returns where the group
// begins that it ends; -1 = it ends none.
func (r *shellReader) grouped(groups *[]span, function *string, at int) int {
	for i, w := range r.all[at].words {
		switch {
		case slices.Contains(openers, w):
			s := span{from: at}
			if w == "{" && i == 0 {
				s.name, *function = *function, ""
			}
			*groups = append(*groups, s)
		case slices.Contains(closers, w):
			n := len(*groups) - 1
			if n < 0 {
				return -1
			}
			s := (*groups)[n]
			*groups = (*groups)[:n]
			if s.name != "" && len(r.funcs) < maxNames {
				r.funcs[s.name] = [2]int{s.from, at}
			}
			return s.from
		case !slices.Contains(keywords, w):
			return -1
		}
	}
	return -1
}

// isGivenBy reports whether a redirection, after its first <, gives a command anything.
func isGivenBy(rest string) bool {
	rest = strings.TrimLeft(strings.TrimLeft(rest, "<-"), " \t")
	return !strings.HasPrefix(rest, "/dev/null") && !strings.HasPrefix(rest, "&")
}

// isKept reports whether what a command writes, after its >, is for a further look and no log.
func isKept(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	end := strings.IndexAny(rest, " \t\r\n;|&)")
	if end < 0 {
		end = len(rest)
	}
	target := strings.Trim(rest[:end], `"'`)
	return !strings.HasPrefix(target, "/dev/") && !slices.Contains([]string{".log", ".xml"}, path.Ext(target))
}

// look finds out how it is looked at what commands print, by the pipes they are in, by the files that are
// compared, and by the functions that they are in.
func (r *shellReader) look() {
	compared := map[string]bool{}
	for i := range r.all {
		if slices.Contains([]string{"diff", "cmp", "comm"}, r.all[i].program()) {
			for _, w := range r.all[i].words {
				compared[w] = compared[w] || looksLikeFile(w)
			}
		}
	}
	for i := range r.all {
		c := &r.all[i]
		if c.to >= 0 && slices.Contains(printers, c.program()) {
			r.all[c.to].looked = lookedClosely
		}
		for to, steps := c.to, 0; to >= 0 && steps < maxShells; to, steps = r.all[to].to, steps+1 {
			switch next := r.all[to].program(); {
			case slices.Contains(comparers, next):
				c.looked = lookedClosely
			case !slices.Contains(passers, next):
				c.looked = max(c.looked, looked)
			}
		}
		if slices.ContainsFunc(c.words, func(w string) bool {
			_, value, joined := strings.Cut(w, "=")
			return compared[w] || joined && compared[value]
		}) && !slices.Contains(comparers, c.program()) {
			c.looked = max(c.looked, looked)
		}
	}
	for range maxShells { // a function may call another one
		for i := range r.all {
			body, ok := r.funcs[r.all[i].called()]
			if !ok || r.all[i].looked == notLooked {
				continue
			}
			for k := body[0]; k <= body[1]; k++ {
				r.all[k].looked = max(r.all[k].looked, r.all[i].looked)
			}
		}
	}
}

// called returns the first word of a command that is none of the shell's own.
func (c *shellCommand) called() string {
	for _, w := range c.words {
		if !slices.Contains(keywords, w) && !assignment.MatchString(w) {
			return w
		}
	}
	return ""
}

// program returns the word that is the program of a command.
func (c *shellCommand) program() string {
	for _, w := range c.words {
		if !slices.Contains(wrappers, w) && !assignment.MatchString(w) && !isNumber(w) && !strings.HasPrefix(w, "-") {
			return path.Base(w)
		}
	}
	return ""
}

// expansion returns the commands in the expansion that a text begins with, and its length.
func expansion(text string) (inner string, length int) {
	closing := byte(')')
	switch {
	case text[0] == '`':
		if end := strings.IndexByte(text[1:min(len(text), maxExpansion)], '`'); end >= 0 {
			return text[1 : 1+end], end + 2
		}
		return "", 1
	case len(text) > 1 && text[1] == '(':
	case len(text) > 1 && text[1] == '{':
		closing = '}'
	default:
		length = 1
		for length < len(text) && (text[length] == '_' || text[length]|0x20 >= 'a' && text[length]|0x20 <= 'z' || text[length] >= '0' && text[length] <= '9') {
			length++
		}
		if length == 1 && len(text) > 1 && strings.IndexByte("@*#?$!-", text[1]) >= 0 {
			length = 2
		}
		return "", length
	}
	depth := 0
	for i := 1; i < min(len(text), maxExpansion); i++ {
		switch text[i] {
		case text[1]:
			depth++
		case closing:
			if depth--; depth == 0 {
				if closing == ')' {
					return text[2:i], i + 1
				}
				return "", i + 1
			}
		}
	}
	return "", 1
}
