package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// Pos is where a value was written: a place in a file, or the name of a
// variable or flag, which has no line. The zero Pos means nowhere.
type Pos struct {
	Origin       string // the file, variable or flag
	Line, Column int    // from 1; zero when Origin is not a file
}

// IsZero reports whether the value was written nowhere.
func (p Pos) IsZero() bool { return p == Pos{} }

// String is the place as compilers print it, such as "recipe.yaml:3:5".
func (p Pos) String() string {
	if p.Line == 0 {
		return p.Origin
	}
	return fmt.Sprintf("%s:%d:%d", p.Origin, p.Line, p.Column)
}

// Where tells where each value was written, by its key path, such as
// "kinds.task.steps[1].turns".
type Where map[string]Pos

// Find is the place of the value at the path, or else of the nearest value
// around it.
func (w Where) Find(path string) Pos {
	for path != "" {
		if pos, ok := w[path]; ok {
			return pos
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return w[""]
}

// Add lets later places replace earlier ones. A list read again forgets the
// entries it had, but not if only a part of a value was read that may be a list.
func (w Where) Add(later Where) {
	parts := map[string]bool{} // the paths of mappings of which a part was read
	for path := range later {
		if end := strings.LastIndexByte(path, '.'); end > 0 {
			parts[path[:end]] = true
		}
	}
	for path := range w {
		if list, _, found := strings.Cut(path, "["); found {
			if _, replaced := later[list]; replaced && !parts[list] {
				delete(w, path)
			}
		}
	}
	for path, pos := range later {
		w[path] = pos
	}
}

// Problem is one thing that is wrong.
type Problem struct {
	Pos     Pos
	Path    string // the key's path; empty when the problem is the file's
	Message string
}

func (p Problem) String() string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if !p.Pos.IsZero() {
		s = p.Pos.String() + ": " + s
	}
	return s
}

// Problems collects what is wrong. The zero value has none.
type Problems struct {
	list []Problem
}

// Add adds a problem.
func (p *Problems) Add(pos Pos, path, format string, args ...any) {
	if len(p.list) < 10*MaxProblems { // the rest would only be counted
		p.list = append(p.list, Problem{pos, path, fmt.Sprintf(format, args...)})
	}
}

// Err is nil when there is no problem, else a [pawl.CodeInvalid] error with a
// line for each of the first [MaxProblems], in the order of the file.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := slices.Clone(p.list)
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	var lines []string
	for _, q := range list[:min(len(list), MaxProblems)] {
		lines = append(lines, q.String())
	}
	if more := len(list) - MaxProblems; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return pawl.Errorf(pawl.CodeInvalid, "%s", strings.Join(lines, "\n"))
}

// Nearest is the known word a misspelt one was probably meant to be, or the
// empty string.
func Nearest(word string, known []string) string {
	best, least := "", 1+len(word)/4
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// meant is " (did you mean x?)" when a known word is near.
func meant(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// distance is how many letters must be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// quote shows text from a file, cut and with everything odd escaped.
func quote(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
