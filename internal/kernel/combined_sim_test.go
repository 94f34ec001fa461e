package kernel

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/kernel/land"
	"pawl/internal/recipe"
	"pawl/internal/testsize"
	"pawl/internal/view"
)

// The keys that say how children come home, with all they can say but for numbers.
var (
	admissions = []string{"ready", "eager"}
	groups     = []string{"1", "3", "all"}
	judges     = []string{"", ", judge: {role: judge, tier: 3, turns: 3}"}
	landings   = []string{"approved", "all", "best"}
	failures   = []string{"continue", "block", "stop", "restart_parent"}
)

// combinations are all that the five keys can say together.
func combinations() (out []string) {
	for _, admit := range admissions {
		for _, group := range groups {
			for _, judge := range judges {
				for _, landing := range landings {
					for _, failure := range failures {
						keys := fmt.Sprintf("admit: %s, group: %s%s, land: %s, on_failure: %s", admit, group, judge, landing, failure)
						if group == "1" && landing == "approved" {
							keys = fmt.Sprintf("admit: %s%s, on_failure: %s", admit, judge, failure)
						}
						out = append(out, keys)
					}
				}
			}
		}
	}
	return out
}

// threeLevels is a recipe of three levels: goals give parts, and parts give leaves.
func threeLevels(goal, part string) string {
	return "start: goal\nkinds:\n  goal:\n    iterations: 3\n    steps: [{name: plan, output: plan, required: true, turns: 4}]\n    children: {from: plan, kind: part, order: list, parallel: 2, " + goal +
		"}\n    ladder: {then: fail}\n  part:\n    iterations: 3\n    steps: [{name: divide, output: plan, required: true, turns: 4}]\n    children: {from: divide, kind: leaf, order: priority, parallel: 2, " + part +
		"}\n    ladder: {then: fail}\n  leaf:\n    iterations: 2\n    steps: [{name: work, output: result, turns: 3, tools: [read, write]}]\n    gates: [{name: commands, commands: [all]}]\n    ladder: {then: fail}\n"
}

// Every combination of the five keys, at both levels of a tree of three, runs to an end whatever
// happens, or is refused with the reason. Nothing lands that was not to land. F-53
func TestCombinations(t *testing.T) {
	reasons := []string{
		"children.judge: each child lands by itself", "children.land: each child lands by itself", "children.land: best needs someone who picks it",
		"children.on_failure: stop does not combine with land: best", "children.on_failure: restart_parent does not combine with land: best",
	}
	var runs []string
	refused := map[string]int{}
	for _, keys := range combinations() {
		_, err := recipe.Parse("x", []byte(threeLevels(keys, "group: 1")))
		if err == nil {
			runs = append(runs, keys)
			continue
		}
		i := slices.IndexFunc(reasons, func(why string) bool { return strings.Contains(err.Error(), why) })
		if i < 0 {
			t.Errorf("%s is refused: %v", keys, err)
			continue
		}
		refused[reasons[i]]++
	}
	for _, why := range reasons {
		if refused[why] == 0 {
			t.Errorf("nothing is refused with %q", why)
		}
	}
	var seeds []int
	for seed := range 25 {
		if testsize.Case(seed, 1) {
			seeds = append(seeds, seed)
		}
	}
	var mu sync.Mutex
	happened := map[string]int{}
	for i, keys := range runs {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			for _, seed := range seeds {
				other := runs[(i*7+seed*31)%len(runs)]
				for _, pair := range [][2]string{{keys, other}, {other, keys}} {
					seen := combine(t, pair, uint64(1000*i+seed))
					mu.Lock()
					for what, n := range seen {
						happened[what] += n
					}
					mu.Unlock()
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, what := range []string{"landed whole", "picked", "dropped", "blocked together", "worked on all the same", "began anew", "let in", "complete", "failed", "nested groups"} {
			// In a few worlds, what is rare may happen only once.
			if !t.Failed() && happened[what] < testsize.Of(2, 1, 3*len(seeds)) {
				t.Errorf("%q happened %d times: %v", what, happened[what], happened)
			}
		}
		t.Logf("%d combinations run, %d are refused: %v", len(runs), len(combinations())-len(runs), happened)
	})
}

// combine simulates a run with two combinations of keys and says what happened.
func combine(t *testing.T, keys [2]string, seed uint64) map[string]int {
	defer func() {
		if t.Failed() {
			t.Logf("this was seed %d of %q", seed, keys)
		}
	}()
	r, err := recipe.Parse("x", []byte(threeLevels(keys[0], keys[1])))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	c := newChance(w, 1<<34+seed)
	c.rare, c.more = 1+c.IntN(12), nil
	w.compares = 1 + 15*c.IntN(2)
	set := c.treeSettings()
	set.Approval, set.Parallel = "", c.IntN(3)*c.IntN(4)
	c.mix = &mixed{w: w, batches: map[pawl.LoopRef]*pawl.BatchStarted{}, unsure: map[pawl.LoopRef]int{}, chosen: map[pawl.LoopRef]map[int]pawl.Verdict{}, seen: map[string]int{}}
	c.keepBooks()
	w.start(&r, set)
	for range 100 + c.IntN(1500) {
		if !c.step() {
			break
		}
	}
	c.calmDown()
	if diff := cmp.Diff(Info(w.state), view.Info(w.log)); diff != "" {
		t.Errorf("(-kernel +view)\n%s", diff)
	}
	c.mix.seen[string(w.state.Outcome)]++
	return c.mix.seen
}

// mixed keeps books of what lands where children come home in any way.
type mixed struct {
	w       *world
	batches map[pawl.LoopRef]*pawl.BatchStarted // under way, by parent
	chosen  map[pawl.LoopRef]map[int]pawl.Verdict
	unsure  map[pawl.LoopRef]int // the batch whose judge came to no verdict
	resumed bool                 // after its end
	seen    map[string]int
}

func (g *mixed) fail(e pawl.Event, format string, args ...any) {
	g.w.t.Helper()
	g.w.t.Fatalf("event %d (%s of loop %d): %s", e.Seq, e.Body.EventKind(), e.Loop, fmt.Sprintf(format, args...))
}

// saw checks one event that was applied.
func (g *mixed) saw(e pawl.Event) {
	s := g.w.state
	l := s.Loop(e.Loop)
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		g.begun(e, l, b)
	case *pawl.IterationStarted:
		g.crowded(e, l)
	case *pawl.LoopAdmitted:
		g.seen["let in"]++
	case *pawl.GenerationStarted:
		g.seen["began anew"]++
		delete(g.batches, e.Loop)
	case *pawl.RunResumed:
		g.resumed = g.resumed || b.From != ""
		clear(g.batches)
	case *pawl.BatchStarted:
		g.batches[e.Loop], g.chosen[e.Loop] = b, map[int]pawl.Verdict{}
		most := l.Kind.Children.Group
		if l.Kind.Children.Land == pawl.LandApproved || l.Kind.Children.Land == "" {
			most = min(most, s.parallel(l))
		}
		if most > 0 && len(b.Tasks) > most {
			g.fail(e, "%d tasks in a group of %d at most", len(b.Tasks), most)
		}
		if l.Parent != 0 && s.Loop(l.Parent).Kind.Children.Groups() {
			g.seen["nested groups"]++
		}
	case *pawl.TaskJudged:
		if g.chosen[e.Loop] == nil {
			g.chosen[e.Loop] = map[int]pawl.Verdict{}
		}
		g.chosen[e.Loop][b.Task] = b.Verdict
		if l.Kind.Children.Land == pawl.LandBest && b.By == land.ByReview && b.Verdict == pawl.VerdictRevise {
			g.unsure[e.Loop] = b.Batch
		}
		if l.Kind.Children.Land == pawl.LandBest && b.By == "gates" && g.unsure[e.Loop] == b.Batch {
			g.fail(e, "%s is picked without the judge, who came to no verdict on its group", l.taskID(b.Task))
		}
		if b.Verdict == pawl.VerdictSkip {
			g.seen["dropped"]++
		}
	case *pawl.TasksBlocked:
		if l.Kind.Children.OnFailure == pawl.FailContinue && len(b.Tasks) > 0 && l.Kind.Children.Land != pawl.LandAll {
			g.fail(e, "%s blocks %v", b.Cause, b.Tasks)
		}
		if l.Kind.Children.Land == pawl.LandAll && len(b.Tasks) > 0 && g.batches[e.Loop] != nil {
			g.seen["blocked together"]++
		}
	case *pawl.BranchAdvanced:
		if c := l.Kind.Children; c.Groups() && l.gen.batch != nil {
			g.landed(e, l)
		}
	case *pawl.BatchEnded:
		delete(g.batches, e.Loop)
	}
}

// begun checks that a child may begin to exist.
func (g *mixed) begun(e pawl.Event, l *Loop, b *pawl.LoopStarted) {
	p := g.w.state.Loop(b.Parent)
	if p == nil {
		return
	}
	plan, c := p.gen.plan, p.Kind.Children
	if c.IsEager() != b.Pending {
		g.fail(e, "it is pending: %t", b.Pending)
	}
	failed := slices.IndexFunc(plan.Entries, func(t pawl.TaskEntry) bool { return plan.At(plan.Find(t.ID)).Status == pawl.TaskFailed })
	if c.OnFailure == pawl.FailStop && failed >= 0 && !c.IsEager() {
		g.fail(e, "it begins after %s failed", plan.Entries[failed].ID)
	}
	for _, id := range plan.Entries[b.Entry-1].DependsOn {
		switch plan.At(plan.Find(id)).Status {
		case pawl.TaskPassed, pawl.TaskDropped:
		case pawl.TaskFailed:
			if c.OnFailure != pawl.FailContinue {
				g.fail(e, "it depends on %s, which failed", id)
			}
			g.seen["worked on all the same"]++
		default:
			if !b.Pending {
				g.fail(e, "it depends on %s, which is %s", id, plan.At(plan.Find(id)).Status)
			}
		}
	}
}

// landed checks what a group brought home.
func (g *mixed) landed(e pawl.Event, l *Loop) {
	b, verdicts := g.batches[e.Loop], g.chosen[e.Loop]
	if b == nil {
		return // it began before a crash that cut the books
	}
	work := g.w.trees[l.Head].work
	var in []string
	for _, i := range b.Tasks {
		k := g.w.state.Loop(l.gen.plan.At(i).Loop)
		if k == nil || k.cand == nil || !k.merge().IsDone() {
			continue
		}
		in = append(in, l.taskID(i))
		if verdicts[i] != pawl.VerdictPass {
			g.fail(e, "%s lands, and was judged %q", l.taskID(i), verdicts[i])
		}
		for what := range g.w.trees[k.cand.Commit].work {
			if !work[what] {
				g.fail(e, "the branch lacks the work %s of %s", what, l.taskID(i))
			}
		}
	}
	switch l.Kind.Children.Land {
	case pawl.LandBest:
		if len(in) != 1 {
			g.fail(e, "%v are the best", in)
		}
		g.seen["picked"]++
	case pawl.LandAll:
		for _, i := range b.Tasks {
			t := l.gen.plan.At(i)
			if left := t.Status == pawl.TaskFailed && g.w.state.Loop(t.Loop).Outcome == pawl.OutcomeCancelled; !left && !slices.Contains(in, l.taskID(i)) {
				g.fail(e, "%v land without %s, which is %s", in, l.taskID(i), t.Status)
			}
		}
		g.seen["landed whole"]++
	}
}

// crowded checks that no more of a group work side by side than may when one more begins.
func (g *mixed) crowded(e pawl.Event, l *Loop) {
	s := g.w.state
	p := s.Loop(l.Parent)
	if p == nil || p.gen.batch == nil || g.resumed { // what waited to land is judged again by then
		return
	}
	busy := 0
	for i := range p.gen.batch.Members {
		m := &p.gen.batch.Members[i]
		if t := p.gen.plan.At(m.Task); t.Loop != l.Ref && t.Status == pawl.TaskRunning && !s.memberRests(p, m) && s.Loop(t.Loop).inIteration {
			busy++
		}
	}
	if busy >= s.parallel(p) {
		g.fail(e, "%d others of its group work side by side, and %d may", busy, s.parallel(p))
	}
}

// mixList is a list of one to five tasks.
func (c *chance) mixList(f *pawl.Effect) pawl.Hash {
	var out []pawl.TaskEntry
	for i := range 1 + c.IntN(5) {
		e := pawl.TaskEntry{ID: fmt.Sprint("t", i+1), Title: "Work", Spec: blobOf(fmt.Sprint(f.Loop, i)), Priority: c.IntN(3)}
		for j := range i {
			if c.IntN(4*i) == 0 {
				e.DependsOn = append(e.DependsOn, out[j].ID)
			}
		}
		out = append(out, e)
	}
	return c.w.listed(fmt.Sprint("mix", f.ID), c.spoil(out))
}

// mixReview judges a group, mostly as it was asked to.
func (c *chance) mixReview(l *Loop, use *pawl.ToolUse) {
	open := c.w.state.candidates(l)
	best := c.IntN(max(len(open), 1))
	for n, i := range open {
		verdict := "approved"
		if l.Kind.Children.Land == pawl.LandBest && n != best || l.Kind.Children.Land != pawl.LandBest && c.in(3) {
			verdict = "changes"
		}
		if c.in(20) {
			continue
		}
		use.Facts = append(use.Facts, pawl.Fact{Name: verdict, Value: l.taskID(l.gen.batch.Members[i].Task)})
	}
}
