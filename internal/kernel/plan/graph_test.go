package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// entries are tasks as "ID [pPRIORITY] [after ID…]".
func entries(lines ...string) []pawl.TaskEntry {
	var out []pawl.TaskEntry
	for _, line := range lines {
		words := strings.Fields(line)
		e := pawl.TaskEntry{ID: words[0]}
		for i, word := range words[1:] {
			if word == "after" {
				e.DependsOn = words[i+2:]
				break
			}
			fmt.Sscanf(word, "p%d", &e.Priority)
		}
		out = append(out, e)
	}
	return out
}

// numbered are so many tasks that depend on nothing.
func numbered(n int) []pawl.TaskEntry {
	out := make([]pawl.TaskEntry, n)
	for i := range out {
		out[i].ID = fmt.Sprintf("T%d", i+1)
	}
	return out
}

// circular reports whether a task waits for itself, over others or not.
func circular(list []pawl.TaskEntry) bool {
	waits := map[[2]string]bool{}
	for _, t := range list {
		for _, id := range t.DependsOn {
			waits[[2]string{t.ID, id}] = true
		}
	}
	for _, by := range list { // as Warshall closes a relation
		for _, from := range list {
			for _, to := range list {
				if waits[[2]string{from.ID, by.ID}] && waits[[2]string{by.ID, to.ID}] {
					waits[[2]string{from.ID, to.ID}] = true
				}
			}
		}
	}
	return slices.ContainsFunc(list, func(t pawl.TaskEntry) bool { return waits[[2]string{t.ID, t.ID}] })
}

// What cannot be a plan is refused with the names of the tasks it is about. P-B17, L-B16
func TestGraphRefuses(t *testing.T) {
	for _, row := range []struct {
		name  string
		tasks []pawl.TaskEntry
		want  string
	}{
		{"nothing", nil, "the list has no tasks"},
		{"unknown", entries("a", "b after a nobody"), "task b depends on nobody, which is not in the list"},
		{"itself", entries("a", "b after b"), "task b depends on itself"},
		{"twice", entries("a", "b", "a"), "the id a is given twice, to tasks 1 and 3"},
		{"no id", []pawl.TaskEntry{{ID: "a"}, {}}, `task 2 has the id "": want 1 to 60 bytes`},
		{"long id", []pawl.TaskEntry{{ID: strings.Repeat("x", 61)}}, "want 1 to 60 bytes"},
		{"two in a circle", entries("a after b", "b after a"), "tasks depend on each other in a circle: a → b → a"},
		{"a circle behind others", entries("x", "a after x c", "b after a", "c after b", "y after c"), "in a circle: a → c → b → a"},
		{"too many dependencies", []pawl.TaskEntry{{ID: "a", DependsOn: make([]string, maxDeps+1)}}, "task a depends on 61 others: want at most 60"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := NewGraph(row.tasks, "list"); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	long := numbered(30)
	for i := range long {
		long[i].DependsOn = []string{long[(i+1)%len(long)].ID}
	}
	if _, err := NewGraph(long, "list"); err == nil || len(err.Error()) > 300 || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("a long circle: %v", err)
	}
	if _, err := NewGraph(numbered(MaxTasks+1), "list"); err == nil || !strings.Contains(err.Error(), "20001 tasks: want at most 20000") {
		t.Errorf("too many tasks: %v", err)
	}
}

// going lists the tasks as they go one at a time, each passing before the next.
func going(t *testing.T, order string, tasks []pawl.TaskEntry) string {
	t.Helper()
	g, err := NewGraph(tasks, order)
	if err != nil {
		t.Fatal(err)
	}
	p := New(g, 1, pawl.Hash{})
	var out []string
	for i := p.Next(); i >= 0; i = p.Next() {
		p.Set(i, pawl.TaskRunning)
		p.Set(i, pawl.TaskPassed)
		out = append(out, tasks[i].ID)
	}
	return strings.Join(out, " ")
}

// Of the tasks that are ready the one with the lowest priority number goes first; one
// without counts as 99, and ties keep the order of the list. P-67, P-70, P-72, L-72, L-73
func TestOrders(t *testing.T) {
	for _, row := range []struct {
		order, want string
		tasks       []pawl.TaskEntry
	}{
		{"list", "a b c", entries("a p3", "b p2", "c p1")},
		{"list", "b a c", entries("a after b", "b", "c after a")},
		{"priority", "c b a", entries("a p3", "b p2", "c p1")},
		{"priority", "b a c d", entries("a", "b p98", "c p99 after b", "d p100")}, // a counts as 99, c comes later in the list
		{"priority", "a c b", entries("a", "b p100", "c p99")},
		{"priority", "b d a c", entries("a p2", "b p1", "c p2", "d p1")},
		{"priority", "b a", entries("a p1 after b", "b p9")},
		{"score", "c d a b e", entries("a", "b", "c", "d after c", "e after d")}, // c is waited for longest
		{"score", "b a c d", entries("a", "b p1", "c after a", "d after b")},     // then by priority
		{"score", "a b c", entries("a p5", "b p5", "c p5")},                      // then in list order
		{"score", "x y b c d", entries("b after y", "c after b", "d after c", "x", "y after x")},
	} {
		if got := going(t, row.order, row.tasks); got != row.want {
			t.Errorf("%s of %v: got %s, want %s", row.order, row.tasks, got, row.want)
		}
	}
}

// The chain of a task counts the tasks on the longest way to one nobody waits for.
func TestChains(t *testing.T) {
	g, err := NewGraph(entries("a", "b after a", "c after a b", "d after a", "e"), "list")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := g.chains(); err != nil || !slices.Equal(got, []int{3, 2, 1, 1, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// What a dependency said twice means is what it means said once.
func TestDependencySaidTwice(t *testing.T) {
	if got := going(t, "list", entries("a", "b after a a")); got != "a b" {
		t.Errorf("got %s", got)
	}
}

// The graph refuses exactly what the obvious check refuses, and tasks go in an
// order in which each comes after what it depends on.
func TestGraphByChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for range 3000 {
		n := 1 + rng.IntN(12)
		list := numbered(n)
		for range rng.IntN(2 * n) {
			i := rng.IntN(n)
			list[i].DependsOn = append(list[i].DependsOn, list[rng.IntN(n)].ID)
		}
		list[rng.IntN(n)].Priority = rng.IntN(5)
		g, err := NewGraph(list, "score")
		if (err != nil) != circular(list) {
			t.Fatalf("got %v of %v", err, list)
		}
		if err != nil {
			refused++
			continue
		}
		done := map[string]bool{}
		for _, i := range g.ranked { // a chain is longer than that of any task behind it
			done[list[i].ID] = true
			for _, id := range list[i].DependsOn {
				if !done[id] {
					t.Fatalf("%s goes before %s: %v", list[i].ID, id, list)
				}
			}
		}
	}
	if refused < 300 || refused > 2700 {
		t.Errorf("%d of 3000 are refused", refused)
	}
}

// Blocked is what depends on a task, directly or not, and the way there leads over
// tasks that are wanted only. P-B01
func TestReached(t *testing.T) {
	g, err := NewGraph(entries("a", "b after a", "c after b", "d", "e after d c", "f after d"), "list")
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Reached(0, func(int) bool { return true }); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("got %v", got)
	}
	if got := g.Reached(0, func(i int) bool { return i != 1 }); got != nil {
		t.Errorf("got %v", got)
	}
}
