package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxDepth is how deep a structured result is laid out; what is deeper stays JSON.
const maxDepth = 6

// readable lays out a structured result in lines "name: value", in its own
// order; anything else stays as it is.
func readable(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(trimmed)) {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(trimmed))
	dec.UseNumber()
	return strings.Join(layOut(dec, 0), "\n")
}

// layOut reads one value of a valid document and returns it in lines.
func layOut(dec *json.Decoder, depth int) []string {
	if depth > maxDepth {
		var raw json.RawMessage
		_ = dec.Decode(&raw) // the document is valid
		return []string{string(raw)}
	}
	token, _ := dec.Token()
	switch token {
	case json.Delim('{'):
		var lines []string
		for dec.More() {
			name, _ := dec.Token()
			block := named(fmt.Sprint(name), layOut(dec, depth+1))
			lines = append(lines, strings.Split(strings.TrimSuffix(block, "\n"), "\n")...)
		}
		_, _ = dec.Token()
		return lines
	case json.Delim('['):
		var lines []string
		for dec.More() {
			for i, line := range layOut(dec, depth+1) {
				mark := "  "
				if i == 0 {
					mark = "- "
				}
				lines = append(lines, mark+line)
			}
		}
		_, _ = dec.Token()
		return lines
	}
	if token == nil {
		return []string{"null"}
	}
	return strings.Split(fmt.Sprint(token), "\n")
}

// named is a value under its name: on one line if it is one and no list, else
// below it.
func named(name string, value []string) string {
	switch {
	case len(value) == 0:
		return name + ": none\n"
	case len(value) == 1 && !strings.HasPrefix(value[0], "- "):
		return name + ": " + value[0] + "\n"
	}
	return name + ":\n" + indent(strings.Join(value, "\n"))
}

// indent moves every line to the right; the result ends with a newline.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	if out := b.String(); out == "" || strings.HasSuffix(out, "\n") {
		return out
	}
	return b.String() + "\n"
}
