package report

import "strings"

// outline knows the titles that indented lines stand under, as in
//
//	sum
//	  small numbers
//	    ✓ adds
type outline struct {
	indents []int
	titles  []string
}

// open puts a title at an indentation; what was at the same or deeper is closed.
func (o *outline) open(indent int, title string) {
	o.close(indent)
	if len(o.titles) < maxDepth {
		o.indents = append(o.indents, indent)
		o.titles = append(o.titles, title)
	}
}

// close forgets the titles at an indentation and deeper.
func (o *outline) close(indent int) {
	n := len(o.indents)
	for n > 0 && o.indents[n-1] >= indent {
		n--
	}
	o.indents, o.titles = o.indents[:n], o.titles[:n]
}

// path is a title with all it stands under.
func (o *outline) path(sep, title string) string {
	return strings.Join(append(o.titles[:len(o.titles):len(o.titles)], title), sep)
}

func (o *outline) reset() { o.indents, o.titles = nil, nil }
