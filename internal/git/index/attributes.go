package index

import "strings"

// maxAttributes is how many bytes a .gitattributes file may have to be read.
const maxAttributes = 1 << 20

// effect is what a .gitattributes file may change about what is stored.
type effect int

const (
	effectNone effect = iota
	effectText        // the ends of lines: contents without a carriage return are as they are
	effectAny
)

// attributes is what is known of a .gitattributes file.
type attributes struct {
	effect effect
	stat   stat
	racy   bool
}

// effectOf finds the largest effect of the attributes that a file names, whatever the paths
// and values. The macro binary only takes attributes away.
func effectOf(content []byte) effect {
	most := effectNone
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t\uFEFF"), "[attr]") {
			return effectAny
		}
		// A pattern may be quoted and have spaces: its parts are read as attributes too.
		for _, word := range strings.Fields(line) {
			name, _, _ := strings.Cut(strings.TrimLeft(word, "-!"), "=")
			switch strings.Trim(name, `"`) {
			case "text", "eol", "crlf":
				most = max(most, effectText)
			case "filter", "ident", "working-tree-encoding", "encoding":
				return effectAny
			}
		}
	}
	return most
}
