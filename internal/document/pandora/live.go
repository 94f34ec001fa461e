package pandora

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/plain"
	"pawl/internal/view"
)

// Live returns what Pandora's documents show at an event, as a run goes: the planner's decision, a heading for each
// task, its rounds and how it was judged, what it taught, and the message at the end. It is empty for most events. The
// run has had the event applied. All of it together is [Trace], and at the end [CompletionMessage]; a heading stands
// again where tasks are worked on side by side.
func Live(e pawl.Event, r *view.Run, blobs view.Blobs) string {
	var t page
	switch b := e.Body.(type) {
	case *pawl.SessionEnded:
		liveDecision(&t, e, r, b)
	case *pawl.PlanAccepted:
		if e.Loop != 1 {
			break
		}
		p := r.Plan()
		if decision, _ := decidedPlan(r, p, blobs); p.Made == nil {
			t.line("Decision: %s", decision)
		}
		t.line("Tasks: %d identified", len(p.Tasks))
		t.line("")
		t.line("[%s Loop Starts]", capital(r.Recipe.Name))
	case *pawl.RunEnded:
		if r.Plan() == nil {
			break
		}
		if message, err := CompletionMessage(r, blobs); err == nil {
			t.WriteString("\n" + ending(r) + "\n" + message)
		}
	default:
		liveTask(&t, e, r, blobs)
	}
	return t.String()
}

// liveDecision tells what the planner decided, where that made no list: a list is told with its plan.
func liveDecision(t *page, e pawl.Event, r *view.Run, b *pawl.SessionEnded) {
	if e.Loop != 1 || b.Result != pawl.SessionDone {
		return
	}
	l := r.Loops[0]
	k := r.Recipe.Kind(l.Kind)
	if k == nil || k.Children == nil {
		return
	}
	for _, s := range l.Sessions() {
		if s.Session == b.Session && s.Purpose == pawl.ForStep && s.Place.Step == k.Children.From && b.Facts.Get("decision") != "" {
			t.line("Decision: %s", b.Facts.Get("decision"))
		}
	}
}

// liveTask tells of an event of a loop that works on a task of the root's.
func liveTask(t *page, e pawl.Event, r *view.Run, blobs view.Blobs) {
	all := begun(r)
	i := slices.IndexFunc(all, func(l *view.Loop) bool { return l.Ref == e.Loop })
	if i < 0 || len(all[i].Iterations) == 0 && !isKind[*pawl.LoopStarted](e) {
		return
	}
	l := all[i]
	var below page
	switch b := e.Body.(type) {
	case *pawl.LoopStarted:
		t.line("")
		heading(t, r, i+1, l, blobs)
		return
	case *pawl.IterationStarted:
		if b.N > 1 {
			below.line("  [Attempt %d on %s]", b.N, r.Recipe.Tier(b.Tier))
		}
	case *pawl.Rerouted, *pawl.IterationEnded:
		traceLast(&below, r, l, l.Iterations[len(l.Iterations)-1], isKind[*pawl.Rerouted](e), blobs)
	case *pawl.LoopEnded:
		traceEnd(&below, r, l, blobs)
	}
	if below.Len() > 0 && i < len(all)-1 { // another task was begun since
		heading(t, r, i+1, l, blobs)
	}
	t.WriteString(below.String())
}

func isKind[T pawl.Body](e pawl.Event) bool { _, ok := e.Body.(T); return ok }

// traceLast tells of an iteration what came since a verdict sent it back, or, if one just did, what came before.
func traceLast(t *page, r *view.Run, l *view.Loop, it *view.Iteration, sentBack bool, blobs view.Blobs) {
	ways := it.Routes
	switch n := len(ways); {
	case sentBack && n == 0:
	case sentBack && n == 1:
		tracePass(t, r, l, it, ways[0].Gates, 0, ways[0].Seq, blobs)
	case sentBack:
		tracePass(t, r, l, it, ways[n-1].Gates, ways[n-2].Seq, ways[n-1].Seq, blobs)
	case n == 0:
		tracePass(t, r, l, it, it.Gates, 0, never, blobs)
	default:
		tracePass(t, r, l, it, it.Gates, ways[n-1].Seq, never, blobs)
	}
}

// heading is the line above what is told of a task.
func heading(t *page, r *view.Run, n int, l *view.Loop, blobs view.Blobs) {
	title := l.Task
	if x := r.Plan().Task(l.Task); x != nil {
		title = x.FullTitle(blobs)
	}
	t.line("=== Iteration %d: %s (%s) ===", n, l.Task, title)
}

// ending says how the run ended, or that it has not.
func ending(r *view.Run) string {
	name, state := capital(r.Recipe.Name)+" Loop", strings.ToUpper(string(r.Outcome))
	how := "In Progress"
	if r.Outcome != "" {
		how = capital(string(r.Outcome))
	}
	if r.Outcome == pawl.OutcomeComplete {
		state = "SUCCESS"
	}
	p := r.Plan()
	return plain.Line(fmt.Sprintf("[%s %s]", name, how), 0) + "\n" +
		plain.Line(fmt.Sprintf("Status: %s (%d/%d tasks passed)", dashed(state), p.Count(pawl.TaskPassed), len(p.Tasks)), 0) + "\n"
}
