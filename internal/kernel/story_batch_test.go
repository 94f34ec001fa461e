package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
)

// What stories say of batches that are judged as a whole. Further subjects are
// batch-review (its turns), checkpoint, rollback, show and records. A review's WHAT:
// changes TASK… [because=TEXT], and all others are approved; TASK=WHY gives a reason in short and
// no text, TASK= gives none; forgets TASK…; picks=TASK, where the best lands. A gate's WHAT may have broke=TEST+TEST, passed=N and total=N besides, and
// when it is asked in doubt, a line of doubted GATE counts. Of a merge: hunks=A+B.
//
// Further commands:
//
//	rollback [N] [because=TEXT], continue [because=TEXT]
//	batches                      what is kept of the batches

// batchAnswer is what an effect of judged batches gives; nil when it is another one.
func (s *script) batchAnswer(f *pawl.Effect) pawl.Answer {
	switch do := f.Do.(type) {
	case *pawl.MarkCheckpoint:
		return &pawl.CheckpointMarked{Effect: f.ID}
	case *pawl.Restore:
		s.text("never do " + strings.Join(do.Tasks, "+") + " that way: " + do.Reason)
		return &pawl.Restored{Effect: f.ID, Text: blobOf("never do " + strings.Join(do.Tasks, "+") + " that way: " + do.Reason)}
	case *pawl.WriteRecords:
		return &pawl.Recorded{Effect: f.ID}
	}
	return nil
}

// batchReview is what a reviewer of a batch hands in.
func (s *script) batchReview(f *pawl.Effect, r *rule) (facts pawl.Facts) {
	l := s.w.state.Loop(f.Loop)
	i := slices.Index(r.what, "changes")
	j := slices.Index(r.what, "forgets")
	best := r.value("picks")
	for n, k := range s.w.state.candidates(l) {
		id := l.taskID(l.gen.batch.Members[k].Task)
		if l.gen.batch.Land == pawl.LandBest {
			name := "changes"
			if id == best || best == "" && n == 0 {
				name = "approved"
			}
			facts = append(facts, pawl.Fact{Name: name, Value: id})
			continue
		}
		at := slices.IndexFunc(r.what, func(word string) bool { return word == id || strings.HasPrefix(word, id+"=") })
		switch {
		case at >= 0 && r.what[at] != id:
			facts = append(facts, pawl.Fact{Name: "changes", Value: id})
			if why := strings.TrimPrefix(r.what[at], id+"="); why != "" {
				facts = append(facts, pawl.Fact{Name: "why", Value: why})
			}
		case at >= 0 && j >= 0 && at > j:
		case at >= 0 && at > i && i >= 0:
			facts = append(facts, pawl.Fact{Name: "changes", Value: id}, pawl.Fact{Name: "because", Value: s.text("change " + id + r.value("because"))})
		default:
			facts = append(facts, pawl.Fact{Name: "approved", Value: id})
		}
	}
	if v := r.value("anti-pattern"); v != "" {
		facts = append(facts, pawl.Fact{Name: "anti-pattern", Value: s.text(v)})
	}
	return facts
}

// batchHeadline tells the events of batches.
func (s *story) batchHeadline(e pawl.Event) string {
	ids := func(positions ...int) string { return named(s.planAt(e), positions) }
	switch b := e.Body.(type) {
	case *pawl.BatchStarted:
		what := "batch"
		if b.Scaffold {
			what = "scaffold batch"
		}
		return fmt.Sprintf("══ %s %d: %s", what, b.N, ids(b.Tasks...))
	case *pawl.TaskJudged:
		return fmt.Sprintf("%s says %s to %s%s", b.By, b.Verdict, ids(b.Task), because(b.Reason))
	case *pawl.BatchEnded:
		return fmt.Sprintf("══ batch %d: %d of %d approved", b.N, b.Approved, b.Attempted)
	case *pawl.HealthJudged:
		text := fmt.Sprintf("%s: %s", b.Health, b.Reason)
		if len(b.Recoveries) > 0 {
			text += fmt.Sprintf(" → %v", b.Recoveries)
		}
		if b.Try > 0 {
			text += fmt.Sprintf(" (%d of %d)", b.Try, b.Max)
		}
		return text
	case *pawl.HealthOverridden:
		return fmt.Sprintf("it goes on although it is %s%s", b.Health, because(b.Reason))
	case *pawl.RollbackCalled:
		if s.w.state.Loop(e.Loop).ratchets() {
			return fmt.Sprintf("back to attempt %d: %s%s", b.To, b.Reason, by(b.By))
		}
		return fmt.Sprintf("back to checkpoint %d: %s%s", b.To, b.Reason, by(b.By))
	case *pawl.RolledBack:
		if s.w.state.Loop(e.Loop).ratchets() {
			return fmt.Sprintf("is back at attempt %d with %s", b.To, b.Commit)
		}
		return fmt.Sprintf("is back at checkpoint %d with %s; open again: [%s]", b.To, b.Commit, ids(b.Reopen...))
	case *pawl.TaskHeld:
		return fmt.Sprintf("%s waits for %s%s", ids(b.Task), ids(b.Behind), because(b.Reason))
	case *pawl.CheckpointMarked:
		for _, o := range s.w.log {
			if r, ok := o.Body.(*pawl.EffectRequested); ok && r.Effect.ID == b.Effect {
				k := r.Effect.Do.(*pawl.MarkCheckpoint)
				return fmt.Sprintf("checkpoint %d (%s) at %s: good %t, %d approved, %d tests", k.N, k.Label, k.Commit, k.Good, k.Approved, k.Passing)
			}
		}
	case *pawl.Recorded:
		return "the records are in " + string(b.Commit)
	}
	return ""
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + who
}

// steersBatches makes a command of a user about batches; nil when it is another one.
func steersBatches(t *testing.T, td *datadriven.TestData) *pawl.Steering {
	out := &pawl.Steering{Verb: pawl.SteerVerb(td.Cmd), By: "me"}
	out.Reason, _ = argText(td, "because")
	switch td.Cmd {
	case "continue":
		return out
	case "override":
		out.Gate, out.Terminal, out.By = td.CmdArgs[0].Key, !td.HasArg("elsewhere"), "ann"
		return out
	case "rollback":
		if len(td.CmdArgs) > 0 && len(td.CmdArgs[0].Vals) == 0 {
			out.Checkpoint = atoi(t, td.CmdArgs[0].Key)
		}
		return out
	}
	return nil
}

// batches tells what is kept of the batches.
func (s *story) batches() string {
	g := s.w.state.Loop(1).gen
	var b strings.Builder
	fmt.Fprintf(&b, "%d batches, %s", g.batches, g.Health)
	for _, r := range g.Recoveries {
		fmt.Fprintf(&b, ", %s %d times", r.Health, r.N)
	}
	b.WriteString("\n")
	for _, k := range g.Checkpoints {
		fmt.Fprintf(&b, "checkpoint %d at %s: %s, good %t\n", k.N, k.Commit, k.Label, k.Good)
	}
	return b.String()
}
