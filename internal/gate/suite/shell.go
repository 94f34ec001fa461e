package suite

import (
	"errors"
	"fmt"
	"strings"

	"pawl/internal/plain"
)

// word is one word of a shell line.
type word struct {
	raw   string // as it stands there
	value string // without quotes
	// known reports that value is what the program gets: nothing in it is for the shell to
	// replace.
	known bool
}

// literal is a word that means exactly s.
func literal(s string) word { return word{raw: plain.Word(s), value: s, known: true} }

// simple is a simple command and where it stands in its line.
type simple struct {
	words    []word
	from, to int    // of its words
	redirect string // "2>&1", if that ends it
}

// maxLine bounds the commands that are read, in bytes.
const maxLine = 20_000

// split parts a line into its simple commands.
func split(line string) ([]simple, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("it has more than %d bytes", maxLine)
	}
	var all []simple
	current := simple{from: -1}
	flush := func() {
		if len(current.words) > 0 {
			all = append(all, current)
		}
		current = simple{from: -1}
	}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || strings.HasPrefix(line[i:], "\\\n"):
			i++
			if c == '\\' {
				i++
			}
		case c == '\n' || c == ';' && !strings.HasPrefix(line[i:], ";;"):
			flush()
			i++
		case strings.HasPrefix(line[i:], "&&"):
			flush()
			i += 2
		case strings.HasPrefix(line[i:], "2>&1"):
			current.redirect = "2>&1"
			i += 4
		case strings.IndexByte("|&;()<>#{}!`", c) >= 0:
			return nil, fmt.Errorf("it uses %q of the shell", string(c))
		default:
			w, n, err := readWord(line[i:])
			switch {
			case err != nil:
				return nil, err
			case current.redirect != "":
				return nil, errors.New(`it has words behind "2>&1"`)
			case len(current.words) == 0 && reserved[w.raw]:
				return nil, fmt.Errorf("it uses %q of the shell", w.raw)
			}
			if current.from < 0 {
				current.from = i
			}
			i += n
			current.to = i
			current.words = append(current.words, w)
		}
	}
	flush()
	return all, nil
}

// reserved are the words that make a line more than simple commands. What changes what later
// words mean, such as alias and eval, is among them.
var reserved = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "for": true, "while": true, "until": true, "do": true,
	"done": true, "case": true, "esac": true, "function": true, "alias": true, "eval": true, "trap": true, "exit": true,
}

// readWord reads the word that s begins with and returns how long it is.
func readWord(s string) (word, int, error) {
	var value strings.Builder
	w := word{known: true}
	i := 0
loop:
	for i < len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\n', ';', '&', '|', '(', ')', '<', '>':
			break loop
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return w, 0, errors.New("a quote in it is not closed")
			}
			value.WriteString(s[i+1 : i+1+end])
			i += end + 2
		case '"':
			n, err := doubleQuoted(s[i:], &value, &w)
			if err != nil {
				return w, 0, err
			}
			i += n
		case '\\':
			if i+1 == len(s) || s[i+1] == '\n' {
				return w, 0, errors.New("it ends in the middle of a word")
			}
			value.WriteByte(s[i+1])
			i += 2
		case '`':
			return w, 0, errors.New("it runs a command to make a word")
		case '$', '*', '?', '[', '~':
			if strings.HasPrefix(s[i:], "$(") {
				return w, 0, errors.New("it runs a command to make a word")
			}
			if c != '~' || i == 0 {
				w.known = false
			}
			fallthrough
		default:
			value.WriteByte(c)
			i++
		}
	}
	w.raw, w.value = s[:i], value.String()
	return w, i, nil
}

// doubleQuoted reads a part of a word in double quotes and returns how long it is.
func doubleQuoted(s string, value *strings.Builder, w *word) (int, error) {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return i + 1, nil
		case '\\':
			if i+1 < len(s) && strings.IndexByte("\"\\$`", s[i+1]) >= 0 {
				i++
				value.WriteByte(s[i])
				continue
			}
			value.WriteByte(c)
		case '`':
			return 0, errors.New("it runs a command to make a word")
		case '$':
			if strings.HasPrefix(s[i:], "$(") {
				return 0, errors.New("it runs a command to make a word")
			}
			w.known = false
			value.WriteByte(c)
		default:
			value.WriteByte(c)
		}
	}
	return 0, errors.New("a quote in it is not closed")
}

// assigned returns the name of the variable that a word sets; empty = it is no assignment.
func assigned(w word) string {
	name, _, found := strings.Cut(w.raw, "=")
	if !found || name == "" || name[0] >= '0' && name[0] <= '9' {
		return ""
	}
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z') {
			return ""
		}
	}
	return name
}
