package kernel

import (
	"fmt"
	"strings"
	"unicode"
)

// Signs returns what in a request suggests that it should be worked on as a list of tasks, one
// sentence each. It is the check many_steps of the recipe language and looks at words only:
// sequencing words, scope keywords, and more than three listed steps, in lines or in a sentence.
func Signs(goal string) []string {
	var out []string
	words := strings.FieldsFunc(strings.ToLower(goal), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := " " + strings.Join(words, " ") + " "
	has := func(phrase string) bool { return strings.Contains(text, " "+phrase+" ") }
	if has("first") && (has("then") || has("finally") || has("next") || has("afterwards")) || has("then") && has("finally") || strings.Count(text, " then ") > 1 {
		out = append(out, "it names an order: first, then, finally")
	}
	for _, phrase := range []string{"implement", "build complete", "build a complete", "add full"} {
		if has(phrase) {
			out = append(out, fmt.Sprintf("it has the words %q", phrase))
			break
		}
	}
	if n := max(listedSteps(goal), enumerated(goal)); n > maxPlainSteps {
		out = append(out, fmt.Sprintf("it lists %d steps", n))
	}
	return out
}

// maxPlainSteps bounds the steps that a request may list and still be one task.
const maxPlainSteps = 3

// listedSteps counts the lines that are entries of a list.
func listedSteps(goal string) int {
	n := 0
	for line := range strings.Lines(goal) {
		line = strings.TrimSpace(line)
		mark := strings.TrimLeftFunc(line, unicode.IsDigit)
		switch {
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "• "):
			n++
		case mark != line && (strings.HasPrefix(mark, ". ") || strings.HasPrefix(mark, ") ")):
			n++
		}
	}
	return n
}

// maxPartWords bounds the words of a part of an enumeration but the first: longer ones are clauses.
const maxPartWords = 5

// enumerated returns how many parts the longest enumeration of a line has, such as "A, B, C and D"; 0 = there is
// none.
func enumerated(goal string) int {
	most := 0
	for line := range strings.Lines(goal) {
		parts := strings.Split(strings.TrimSpace(line), ",")
		last := strings.TrimPrefix(strings.TrimSpace(parts[len(parts)-1]), "and ")
		if before, after, joined := strings.Cut(last, " and "); joined {
			parts = append(parts[:len(parts)-1], before, after)
		} else if last == strings.TrimSpace(parts[len(parts)-1]) {
			continue // a sentence with commas
		} else {
			parts[len(parts)-1] = last
		}
		short := true
		for _, part := range parts[1:] {
			n := len(strings.Fields(part))
			short = short && n > 0 && n <= maxPartWords
		}
		if short {
			most = max(most, len(parts))
		}
	}
	return most
}
