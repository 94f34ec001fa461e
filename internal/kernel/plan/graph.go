package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Graph is the part of a plan that does not change: its tasks, what they depend on, and the order
// in which ready tasks start. Tasks are named by their position in Entries. Plans share graphs:
// [Plan.Hold] replaces the graph instead of changing it.
type Graph struct {
	Entries []pawl.TaskEntry
	Deps    [][]int32 // by task, the tasks it depends on directly
	behind  [][]int32 // by task, the tasks that depend on it directly
	ranked  []int32   // all tasks, in the order in which they start
	rank    []int32   // by task, its index in ranked
}

// Bounds of a plan.
const (
	MaxTasks = 20_000 // tasks of a plan
	maxDeps  = 60     // dependencies of a task
	MaxID    = 60     // bytes of a task's id
)

// NewGraph returns the graph of a list of tasks. Order says which of several ready tasks starts
// first: "priority", "score" or, for any other word, the first in the list.
//
// NewGraph fails if the list is empty or too long, if an id is missing, too long or given twice,
// or if a task depends on too many others, on an unknown one or, directly or not, on itself.
func NewGraph(entries []pawl.TaskEntry, order string) (*Graph, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("the list has no tasks")
	}
	if len(entries) > MaxTasks {
		return nil, fmt.Errorf("%d tasks: want at most %d", len(entries), MaxTasks)
	}
	g := &Graph{Entries: entries, Deps: make([][]int32, len(entries)), behind: make([][]int32, len(entries))}
	at := make(map[string]int32, len(entries)) // looked up, never ranged over
	for i := range entries {
		e := &entries[i]
		if e.ID == "" || len(e.ID) > MaxID {
			return nil, fmt.Errorf("task %d has the id %q: want 1 to %d bytes", i+1, brief.Cut(e.ID, MaxID), MaxID)
		}
		if j, twice := at[e.ID]; twice {
			return nil, fmt.Errorf("the id %s is given twice, to tasks %d and %d", e.ID, j+1, i+1)
		}
		at[e.ID] = int32(i)
	}
	for i := range entries {
		e := &entries[i]
		if len(e.DependsOn) > maxDeps {
			return nil, fmt.Errorf("task %s depends on %d others: want at most %d", e.ID, len(e.DependsOn), maxDeps)
		}
		for _, id := range e.DependsOn {
			j, known := at[id]
			switch {
			case !known:
				return nil, fmt.Errorf("task %s depends on %s, which is not in the list", e.ID, brief.Cut(id, MaxID))
			case j == int32(i):
				return nil, fmt.Errorf("task %s depends on itself", e.ID)
			case slices.Contains(g.Deps[i], j): // said twice
				continue
			}
			g.Deps[i] = append(g.Deps[i], j)
			g.behind[j] = append(g.behind[j], int32(i))
		}
	}
	chain, err := g.chains()
	if err != nil {
		return nil, err
	}
	g.order(order, chain)
	return g, nil
}

// chains returns for each task the length of the longest chain of tasks that begins with it and in
// which each task depends on the one before. It sorts the graph topologically, beginning with the
// tasks that no other depends on (Kahn 1962, from the end). If tasks are left over, they contain
// a cycle.
func (g *Graph) chains() ([]int, error) {
	n := len(g.Entries)
	chain, left := make([]int, n), make([]int, n)
	var todo []int32
	for i := range n {
		if left[i] = len(g.behind[i]); left[i] == 0 {
			todo = append(todo, int32(i))
		}
	}
	for k := 0; k < len(todo); k++ {
		i := todo[k]
		chain[i]++
		for _, j := range g.Deps[i] {
			chain[j] = max(chain[j], chain[i])
			if left[j]--; left[j] == 0 {
				todo = append(todo, j)
			}
		}
	}
	if len(todo) == n {
		return chain, nil
	}
	return nil, fmt.Errorf("tasks depend on each other in a circle: %s", strings.Join(g.cycle(left), " → "))
}

// cycle returns the ids of the tasks of one cycle, the first again at the end, or the first eight
// and an ellipsis. Left says by task how many tasks behind it chains has not visited.
func (g *Graph) cycle(left []int) []string {
	i := int32(slices.IndexFunc(left, func(n int) bool { return n > 0 }))
	var path []int32
	for !slices.Contains(path, i) {
		path = append(path, i)
		i = g.behind[i][slices.IndexFunc(g.behind[i], func(j int32) bool { return left[j] > 0 })]
	}
	path = append(path[slices.Index(path, i):], i)
	const most = 8
	var names []string
	for k, j := range slices.Backward(path) { // from a task to what it depends on
		if len(path)-1-k == most {
			return append(names, "…")
		}
		names = append(names, g.Entries[j].ID)
	}
	return names
}

// lastPriority is the priority of a task that gives none. Lower numbers start first.
const lastPriority = 99

// order ranks the tasks: by "priority"; by "score", which is the longest chain first, then the
// priority; or in list order, which also breaks ties.
func (g *Graph) order(by string, chain []int) {
	g.ranked, g.rank = make([]int32, len(g.Entries)), make([]int32, len(g.Entries))
	for i := range g.ranked {
		g.ranked[i] = int32(i)
	}
	priority := func(i int32) int {
		if p := g.Entries[i].Priority; p > 0 {
			return p
		}
		return lastPriority
	}
	switch by {
	case "priority":
		slices.SortStableFunc(g.ranked, func(a, b int32) int { return cmp.Compare(priority(a), priority(b)) })
	case "score":
		slices.SortStableFunc(g.ranked, func(a, b int32) int {
			return cmp.Or(cmp.Compare(chain[b], chain[a]), cmp.Compare(priority(a), priority(b)))
		})
	}
	for r, i := range g.ranked {
		g.rank[i] = int32(r)
	}
}

// Reached returns, in list order, the tasks that depend on a task, directly or through other
// tasks that it returns. Tasks that want reports false for are left out.
func (g *Graph) Reached(from int, want func(int) bool) []int {
	todo := []int{from}
	seen := make([]bool, len(g.Entries))
	var out []int
	for k := 0; k < len(todo); k++ {
		for _, j := range g.behind[todo[k]] {
			if i := int(j); !seen[i] && want(i) {
				seen[i] = true
				todo = append(todo, i)
				out = append(out, i)
			}
		}
	}
	slices.Sort(out)
	return out
}
