// Package tasks reads and writes lists of tasks: the tasks.json of Pandora, the
// prd.json of Ralph, and plain lists. It also says what a list must be like,
// whoever wrote it. What a file says is data: [Parse] limits its size, refuses
// what it does not know, and says where and what would have been right.
package tasks

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pawl"
)

// Bounds of a list of tasks.
const (
	MaxTasks        = 20_000 // in a list
	MaxDepends      = 60     // dependencies of one task
	maxDependsBytes = 1200   // of their ids together, 4 more each: a task has to fit into an event
	maxIDBytes      = 60
	maxProblems     = 10 // that are told at once
)

// IsID reports whether a text can be a task's id: see [pawl.TaskSpec].
func IsID(id string) bool {
	if id == "" || len(id) > maxIDBytes {
		return false
	}
	for i := range len(id) {
		c := id[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return false
		}
	}
	return true
}

// Check says what keeps a list from being worked on, in words for whoever wrote
// it: ids that are none or there twice, dependencies on tasks there are not, on
// itself, or in a circle. It is nil for an empty list.
func Check(list []pawl.TaskSpec) error {
	if len(list) > MaxTasks {
		return pawl.Errorf(pawl.CodeInvalid, "the list has %d tasks: want at most %d", len(list), MaxTasks)
	}
	at := make(map[string]int, len(list))
	var p problems
	for i := range list {
		id := list[i].ID
		if !IsID(id) {
			p.add("task %d has the id %s: want a letter or digit, then letters, digits, dots, dashes and underscores, at most %d in all", i+1, quote(id), maxIDBytes)
			continue
		}
		if first, twice := at[id]; twice {
			p.add("the id %s is there twice, for tasks %d and %d", id, first+1, i+1)
			continue
		}
		at[id] = i
	}
	if err := p.err("; "); err != nil {
		return err
	}
	for i := range list {
		checkDepends(&list[i], at, &p)
	}
	if err := p.err("; "); err != nil {
		return err
	}
	if path := cycle(list, at); path != nil {
		return pawl.Errorf(pawl.CodeInvalid, "the tasks depend on each other in a circle: %s; take one of these dependencies out", strings.Join(path, " → "))
	}
	return nil
}

func checkDepends(t *pawl.TaskSpec, at map[string]int, p *problems) {
	if len(t.DependsOn) > MaxDepends {
		p.add("task %s depends on %d others: want at most %d", t.ID, len(t.DependsOn), MaxDepends)
		return
	}
	size := 0
	for i, id := range t.DependsOn {
		_, known := at[id]
		switch {
		case id == t.ID:
			p.add("task %s depends on itself", t.ID)
		case !known:
			p.add("task %s depends on %s, which is not in the list", t.ID, quote(id))
		case slices.Contains(t.DependsOn[:i], id):
			p.add("task %s depends on %s twice", t.ID, id)
		}
		size += len(id) + 4
	}
	if size > maxDependsBytes {
		p.add("the ids task %s depends on are too long: they take %d bytes, want at most %d", t.ID, size, maxDependsBytes)
	}
}

// cycle names the tasks of one circle, from a task to what it depends on, the
// first once more at the end; nil = there is none. Tasks are taken away whose
// dependencies are all gone (Kahn 1962); what cannot be is on a circle or behind one.
func cycle(list []pawl.TaskSpec, at map[string]int) []string {
	behind, left := make([][]int, len(list)), make([]int, len(list))
	var todo []int
	for i := range list {
		left[i] = len(list[i].DependsOn)
		for _, id := range list[i].DependsOn {
			behind[at[id]] = append(behind[at[id]], i)
		}
		if left[i] == 0 {
			todo = append(todo, i)
		}
	}
	for k := 0; k < len(todo); k++ {
		for _, j := range behind[todo[k]] {
			if left[j]--; left[j] == 0 {
				todo = append(todo, j)
			}
		}
	}
	if len(todo) == len(list) {
		return nil
	}
	i := slices.IndexFunc(left, func(n int) bool { return n > 0 })
	seen := make([]int, len(list)) // place on the path, from 1
	var path []string
	for seen[i] == 0 {
		path = append(path, list[i].ID)
		seen[i] = len(path)
		next := slices.IndexFunc(list[i].DependsOn, func(id string) bool { return left[at[id]] > 0 })
		i = at[list[i].DependsOn[next]]
	}
	path = append(path[seen[i]-1:], list[i].ID)
	const most = 12
	if len(path) > most {
		path = append(slices.Clone(path[:most-1]), fmt.Sprintf("… %d more", len(path)-most), path[len(path)-1])
	}
	return path
}

// problems collects what is wrong, the first few in words.
type problems struct {
	told []string
	more int
}

// full reports whether further problems are only counted.
func (p *problems) full() bool { return len(p.told) == maxProblems }

func (p *problems) add(format string, args ...any) {
	if p.full() {
		p.more++
		return
	}
	p.told = append(p.told, fmt.Sprintf(format, args...))
}

func (p *problems) err(separator string) error {
	if len(p.told) == 0 {
		return nil
	}
	told := p.told
	if p.more > 0 {
		told = append(slices.Clone(told), fmt.Sprintf("and %d more", p.more))
	}
	return pawl.Errorf(pawl.CodeInvalid, "%s", strings.Join(told, separator))
}

// quote shows a text in a message: short, on one line.
func quote(s string) string {
	const most = 40
	r := []rune(strings.ToValidUTF8(s, "\uFFFD"))
	if len(r) > most {
		r = append(r[:most], '…')
	}
	return fmt.Sprintf("%q", string(r))
}

// Clean takes out of a text what must not reach a terminal or a prompt: controls,
// and marks that change the direction of text.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if isOdd(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func isOdd(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || unicode.Is(unicode.Bidi_Control, r)
}
