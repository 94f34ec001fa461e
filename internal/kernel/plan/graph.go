package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Graph is what does not change of one version of a plan: the tasks, what each
// depends on and what waits for it, and the order in which those that are ready go.
type Graph struct {
	Entries []pawl.TaskEntry
	Deps    [][]int32
	behind  [][]int32
	// ranked lists positions in the order of going, rank says where each stands in it.
	ranked []int32
	rank   []int32
}

// Bounds of a plan.
const (
	MaxTasks = 20_000 // in one plan
	maxDeps  = 60     // of one task
	MaxID    = 60     // bytes of a task's id
)

// NewGraph checks a list of tasks and joins it: ids must be there and unique,
// dependencies known, and none may lead back to its own task.
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

// chains counts for each task the tasks on the longest chain that begins with
// it. It goes from the tasks nobody waits for towards those that wait for nobody
// (Kahn 1962, from the end); what is left over is a cycle.
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

// cycle names the tasks of one circle among those that are left.
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

// lastPriority is that of a task without one.
const lastPriority = 99

// order ranks the tasks: in list order; by priority, then list order; or by
// score: what the longest chain waits for goes first, then priority.
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

// Reached lists, in list order, the tasks that depend on one, directly or not,
// and that want keeps; what is not kept is not looked behind.
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
