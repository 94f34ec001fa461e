// Package resolve finds out which known task a message means, from words alone: no
// model, no clock, no memory of what was said before.
//
// A message is looked at only when it hints at going on with something: it begins
// with continue, resume, keep working on and the like, or has the full id of a
// known task in it. Everything else is new work. What it means is then asked of,
// in this order: full ids, numbers, the words of slugs, the words of goals. The
// first that gives an answer gives it. A full id that is not known is never taken for
// a similar one.
//
// Of several that words mean, one that has nothing to continue is not meant, nor of tasks with one goal those that
// are done.
//
// Words give an answer when one task has all the hits or at least twice as many as
// the next one, and when they are at least half of what the message says: a goal
// that happens to begin with one of these verbs has much more to say.
package resolve

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"pawl"
	"pawl/internal/pattern"
)

// Task is a task that is known.
type Task struct {
	ID   string // NNN-slug
	Goal string
	// Last is the number of its last run, as in NNN-slug-r2; 0 = it is not known.
	Last int
	// Empty reports that nothing of it was planned or made; Done that nothing of it is left to do.
	Empty, Done bool
}

// Outcome is what a message was found to mean.
type Outcome string

// The outcomes.
const (
	New       Outcome = "new"       // new work
	Found     Outcome = "found"     // one known task
	Ambiguous Outcome = "ambiguous" // one of several
	None      Outcome = "none"      // a task, but none that is known
)

// Answer says what a message means.
type Answer struct {
	Outcome Outcome
	Task    Task // when it was found
	// By says what decided: id, number, slug, goal or work.
	By string
	// Candidates are those it may be, the likeliest first; of none all tasks.
	Candidates []Task
}

// Resolve says which of the tasks a message means. Their ids are different.
func Resolve(message string, tasks []Task) Answer {
	rest, hints := hint(message)
	if len(tasks) == 0 {
		return Answer{Outcome: New}
	}
	if ids := named(message, tasks); len(ids) > 0 {
		return among(ids, "id")
	}
	if !hints {
		return Answer{Outcome: New}
	}
	if id := fullID.FindString(strings.ToLower(message)); id != "" {
		if near := Near(id, tasks); len(near) > 0 {
			return Answer{Outcome: Ambiguous, Candidates: near}
		}
		return Answer{Outcome: None, Candidates: tasks}
	}
	if n, sure := number(message, rest); n > 0 {
		same := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return numberOf(t.ID) != n })
		if len(same) > 0 {
			return among(same, "number")
		}
		if sure {
			return Answer{Outcome: None, Candidates: tasks}
		}
	}
	said := reference(message, rest)
	var likely []Task
	for _, by := range []struct {
		name  string
		words func(Task) []string
	}{
		{"slug", func(t Task) []string { return content(words(slugOf(t.ID))) }},
		{"goal", func(t Task) []string { return content(words(slugOf(t.ID) + " " + t.Goal)) }},
	} {
		best, hits := rank(said, tasks, by.words)
		if ahead(hits) && 2*hits[0] >= len(said) {
			return Answer{Outcome: Found, Task: best[0], By: by.name}
		}
		if alike := slices.IndexFunc(append(hits, 0), func(n int) bool { return n < hits[0] }); ahead(append(hits[:1:1], hits[max(0, alike):]...)) && 2*hits[0] >= len(said) {
			if t, ok := settle(best[:alike]); ok {
				return Answer{Outcome: Found, Task: t, By: "work"}
			}
		}
		if n := slices.Index(append(hits, 0), 0); n > 0 {
			likely = best[:n]
		}
	}
	if len(likely) == 0 {
		return Answer{Outcome: None, Candidates: tasks}
	}
	return Answer{Outcome: Ambiguous, Candidates: likely}
}

// settle picks one of tasks that words mean alike. Where only one has anything that could be continued, it is that
// one; of tasks with one goal, as when something was tried again, it is the one that has something left to do.
func settle(tasks []Task) (Task, bool) {
	left := slices.DeleteFunc(slices.Clone(tasks), func(t Task) bool { return t.Empty })
	if len(left) > 1 && !slices.ContainsFunc(left, func(t Task) bool { return !sameGoal(t, left[0]) }) {
		left = slices.DeleteFunc(left, func(t Task) bool { return t.Done })
	}
	if len(left) != 1 {
		return Task{}, false
	}
	return left[0], true
}

func sameGoal(a, b Task) bool { return slices.Equal(words(a.Goal), words(b.Goal)) }

// Hints reports whether a message may mean a known task: it hints at going on with
// something, or has what looks like a full id in it. Nothing needs to be known to
// say so.
func Hints(message string) bool {
	_, ok := hint(message)
	return ok || fullID.MatchString(strings.ToLower(message))
}

// Lists reports whether a message asks for the list of tasks and for nothing else, as "show all tasks"
// does and "list tasks in the sidebar" does not. V-24
func Lists(message string) bool {
	said := slices.DeleteFunc(words(message), func(w string) bool { return polite()[w] || fillers()[w] })
	return len(said) == 2 && listing()[said[0]] && said[1] == "tasks"
}

var (
	listing = wordSet("list show display print")
	fillers = wordSet("me us all the my our known existing of every")
)

// among is the answer where each of these is meant as much as the others.
func among(tasks []Task, by string) Answer {
	if len(tasks) == 1 {
		return Answer{Outcome: Found, Task: tasks[0], By: by}
	}
	return Answer{Outcome: Ambiguous, Candidates: tasks}
}

// ahead reports whether the first of hits, which are sorted, is the one that is
// meant: the others have none, or at most half as many.
func ahead(hits []int) bool {
	return hits[0] > 0 && (len(hits) == 1 || hits[0] >= 2*hits[1])
}

// rank sorts the tasks by how many of the words that were said each of them has.
func rank(said []string, tasks []Task, of func(Task) []string) (sorted []Task, hits []int) {
	type ranked struct {
		task Task
		hits int
	}
	all := make([]ranked, len(tasks))
	for i, t := range tasks {
		has := of(t)
		n := 0
		for _, w := range said {
			if slices.ContainsFunc(has, func(h string) bool { return alike(w, h) }) {
				n++
			}
		}
		all[i] = ranked{t, n}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return b.hits - a.hits })
	for _, r := range all {
		sorted, hits = append(sorted, r.task), append(hits, r.hits)
	}
	return sorted, hits
}

// hints are the ways to say that something goes on, as the words they begin with.
var hints = [][]string{
	{"continue"}, {"resume"}, {"finish"}, {"pick", "up"}, {"pick", "back", "up"}, {"keep", "working"}, {"keep", "going"}, {"keep", "on"},
	{"go", "on", "with"}, {"carry", "on"}, {"get", "on", "with"}, {"proceed", "with"}, {"get", "back", "to"}, {"go", "back", "to"},
	{"back", "to"}, {"return", "to"}, {"continuing"}, {"resuming"}, {"finishing"},
}

// polite are words that may come before a hint.
var polite = wordSet("please now ok okay hey hi then and so just let us lets s d can could would will you we should i want to like need pawl")

// hint reports whether a message hints at going on with something, and gives the
// words that say with what.
func hint(message string) (rest []string, ok bool) {
	rest = words(message)
	for len(rest) > 0 && polite()[rest[0]] {
		rest = rest[1:]
	}
	for _, h := range hints {
		if len(rest) >= len(h) && slices.Equal(rest[:len(h)], h) {
			return rest[len(h):], true
		}
	}
	return rest, len(rest) == 2 && rest[0] == "go" && rest[1] == "on"
}

// reference are the words that say which task is meant: those before the word task
// or its like, as in "the auth task with a logout", else those before the first
// stop, as in "the auth pages: add a logout", else all.
func reference(message string, rest []string) []string {
	for i, w := range rest {
		if before := content(rest[:i]); calls()[w] && len(before) > 0 {
			return before
		}
	}
	if at := strings.IndexAny(message, ":;,.!?\n"); at > 0 {
		if head, ok := hint(message[:at]); ok && len(content(head)) > 0 {
			return content(head)
		}
	}
	return content(rest)
}

// calls are words for a task.
var calls = wordSet("task job work thing stuff run")

var fullID = pattern.Of(`[0-9]{3,9}-[a-z0-9]+(?:-[a-z0-9]+)*`)

// Near returns the tasks that may have been meant by a full id which is not known: those
// with its number, then those with words of its slug, the likeliest first.
func Near(id string, tasks []Task) []Task {
	task, _ := pawl.RunID(id).Task()
	said := content(words(slugOf(task)))
	sorted, hits := rank(said, tasks, func(t Task) []string { return content(words(slugOf(t.ID))) })
	var same, alike []Task
	for i, t := range sorted {
		switch {
		case numberOf(t.ID) == numberOf(id):
			same = append(same, t)
		case hits[i] > 0:
			alike = append(alike, t)
		}
	}
	return append(same, alike...)
}

// named are the known tasks, and those of the known runs, whose full ids are in
// the message.
func named(message string, tasks []Task) (out []Task) {
	for _, text := range fullID.FindAllString(strings.ToLower(message), -1) {
		task, n := pawl.RunID(text).Task()
		for _, t := range tasks {
			isRun := t.ID == task && (t.Last == 0 || n <= t.Last)
			if (t.ID == text || isRun) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

var (
	numbered = pattern.Of(`(?i)(?:\btask\s+(?:no\.?\s+|nr\.?\s+|number\s+)?#?|#)([0-9]{1,9})\b`)
	padded   = pattern.Of(`(?:^|\s)([0-9]{3,9})(?:[\s,.;:!?]|$)`)
)

// number is the number of the task that a message names, as in "task 2", "#2" and
// "002", or as all it says; 0 when it names none. It is sure when it cannot be a
// number of something else.
func number(message string, rest []string) (n int, sure bool) {
	if m := numbered.FindStringSubmatch(message); m != nil {
		n, _ = strconv.Atoi(m[1])
		return n, true
	}
	if len(rest) == 1 {
		if n, err := strconv.Atoi(rest[0]); err == nil {
			return n, true
		}
	}
	if m := padded.FindStringSubmatch(message); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	return n, false
}

func numberOf(id string) int {
	digits, _, _ := strings.Cut(id, "-")
	n, _ := strconv.Atoi(digits)
	return n
}

func slugOf(id string) string {
	_, slug, _ := strings.Cut(id, "-")
	return slug
}

// words are the words of a text, in small letters.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// content are the words that say something, each once.
func content(words []string) (out []string) {
	for _, w := range words {
		if !empty()[w] && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// empty are words that say nothing about which task is meant.
var empty = wordSet(`a an the this that these those it its my our your their his her of to on in at by for from with without into and or
	but as is are was were be been being do does did done doing have has had i we you they he she me us them s t d ll re ve
	task tasks work working works job thing things stuff one ones run runs please again still where left off up out
	last previous earlier old current open unfinished started begun yesterday today before now where there so then just also
	continue continuing resume keep going go finish finishing rest remaining number no nr some more further`)

// wordSet returns a function that returns the set of these words, which it makes at its first call.
func wordSet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			out[w] = true
		}
		return out
	})
}

// least is how many letters two words must have in common at their beginning.
const least = 4

// alike reports whether two words are the same but for their endings: "auth" and
// "authentication", "upload" and "uploads".
func alike(a, b string) bool {
	if a == b {
		return true
	}
	a, b = stem(a), stem(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= least && strings.HasPrefix(b, a)
}

// stem is a word without its ending.
func stem(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, end); ok && len(short) >= least {
			return short
		}
	}
	return word
}
