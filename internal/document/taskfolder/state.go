package taskfolder

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// maxContext is how many bytes context.md may have: 500 tokens of four bytes.
const maxContext = 4*500 - 1

// contextFile is what a session must know: what the harness knows of the list, and
// what was gathered. When it is too long it is cut, the current state first, then
// patterns, then decisions, anti-patterns last.
func (r *renderer) contextFile() string {
	var said struct {
		Phase        string   `json:"phase"`
		CurrentState []string `json:"current_state"`
		Patterns     []string `json:"patterns"`
		Decisions    []string `json:"decisions"`
		AntiPatterns []string `json:"anti_patterns"`
	}
	gathered := r.results[resultContext]
	r.decode(gathered.blob, &said)
	phase := "EXECUTE"
	if r.version == 0 && said.Phase == "SCAFFOLD" || r.version > 0 && r.scaffolds() {
		phase = "SCAFFOLD"
	}
	for _, list := range []*[]string{&said.CurrentState, &said.Patterns, &said.Decisions, &said.AntiPatterns} {
		*list = lines(*list, 400)
	}
	var ready []string
	for _, t := range r.ready() {
		ready = append(ready, line(t.ID+": "+t.Title, 80))
	}
	more := max(0, len(ready)-12)
	ready = ready[:len(ready)-more]
	for {
		var p page
		p.say("# Context: "+r.id, "", "**Task:** "+r.title(),
			fmt.Sprintf("**Plan Status:** %s, %d of %d done", r.status(), r.count(pawl.TaskPassed), len(r.entries)),
			"**Active Task:** "+orNone(r.active(6)), "**Phase:** "+phase, "**Updated:** "+date(gathered.at, time.RFC3339))
		list := items(ready)
		if more > 0 {
			list += fmt.Sprintf("- and %d more\n", more)
		}
		p.section("Ready Subtasks", orNone(list))
		p.section("Key Decisions", orNone(items(said.Decisions)))
		p.section("Anti-Patterns", orNone(items(said.AntiPatterns)))
		p.section("Relevant Patterns", orNone(items(said.Patterns)))
		p.section("Current State", orNone(items(said.CurrentState)))
		if p.Len() <= maxContext {
			return p.String()
		}
		if !shorten(&said.CurrentState, &said.Patterns, &said.Decisions) {
			switch {
			case len(ready) > 3:
				ready, more = ready[:len(ready)-1], more+1
			case !shorten(&said.AntiPatterns):
				return cut(p.String(), maxContext)
			}
		}
	}
}

// shorten drops the last entry of the first list that has one.
func shorten(lists ...*[]string) bool {
	for _, l := range lists {
		if n := len(*l); n > 0 {
			*l = (*l)[:n-1]
			return true
		}
	}
	return false
}

func date(t time.Time, layout string) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(layout)
}

// active names the tasks that are worked on.
func (r *renderer) active(most int) string {
	var out []string
	for _, t := range r.entries {
		if r.state[t.ID] == pawl.TaskRunning {
			out = append(out, t.ID)
		}
	}
	if more := len(out) - most; more > 0 {
		return ids(out[:most]) + fmt.Sprintf(" and %d more", more)
	}
	return ids(out)
}

// maxRows is how many batches loop-state.md tells of: all of them are in the events.
const maxRows = 20

// stateFile is how the batches went.
func (r *renderer) stateFile() string {
	var p page
	if len(r.batches) == 0 {
		p.say("# Loop State", "", "**Iteration**: 0", "**Status**: INITIALIZING", "**Current Batch**: "+r.batchLine())
		return p.String()
	}
	health := r.health
	if health == "" {
		health = pawl.HealthProgressing
	}
	p.say("# Loop State", "", fmt.Sprintf("**Iteration**: %d", r.batches[len(r.batches)-1].n), "**Status**: "+string(health),
		"**Confidence**: "+r.confidence(), "**Current Batch**: "+r.batchLine(), "", "## History", "",
		"| Iter | Attempted | Passed | Failed | Notes |", "|---|---|---|---|---|")
	for _, b := range r.batches[max(0, len(r.batches)-maxRows):] {
		p.say(fmt.Sprintf("| %d | %d | %d | %d | %s |", b.n, b.attempted, b.approved, max(0, b.attempted-b.approved), cell(strings.Join(b.notes, "; "), 200)))
	}
	p.say("", "## Pattern Detection", "", fmt.Sprintf("- Consecutive failures: %d", r.failures()),
		fmt.Sprintf("- Same-error streak: %d", r.streak()), "- Trend: "+r.trend())
	p.say("", "## Recommendation", "", r.recommendation())
	return p.String()
}

func (r *renderer) batchLine() string {
	if r.batch == nil {
		return "none"
	}
	return fmt.Sprintf("%d (%s)", r.batch.N, orNone(r.active(12)))
}

// confidence grows with the batches that the status rests upon.
func (r *renderer) confidence() string {
	return []string{"LOW", "LOW", "MEDIUM", "HIGH"}[min(len(r.batches), 3)]
}

// failures counts the last batches in a row without an approved task.
func (r *renderer) failures() (n int) {
	for _, b := range slices.Backward(r.batches) {
		if b.attempted > 0 && b.approved > 0 {
			break
		}
		if b.attempted > 0 {
			n++
		}
	}
	return n
}

// streak counts the last batches in a row that have an error in common with the last one.
func (r *renderer) streak() (n int) {
	last := r.batches[len(r.batches)-1].errors
	for _, b := range slices.Backward(r.batches) {
		if !slices.ContainsFunc(b.errors, func(e uint64) bool { return slices.Contains(last, e) }) {
			break
		}
		n++
	}
	return n
}

// trend compares the rates of the last two batches that attempted something.
func (r *renderer) trend() string {
	var last []round
	for _, b := range slices.Backward(r.batches) {
		if b.attempted > 0 && len(last) < 2 {
			last = append(last, b)
		}
	}
	if len(last) < 2 {
		return "stable"
	}
	switch now, then := last[0].approved*last[1].attempted, last[1].approved*last[0].attempted; {
	case now > then:
		return "improving"
	case now < then:
		return "declining"
	}
	return "stable"
}

func (r *renderer) recommendation() string {
	switch {
	case r.health == pawl.HealthBlocked:
		return "unblock: " + line(r.why, 200)
	case slices.Contains(r.course, pawl.RecoverRollback):
		return "rollback"
	case slices.Contains(r.course, pawl.RecoverAsk):
		return "escalate"
	case len(r.course) > 0:
		return "retry-with-change"
	}
	return "continue"
}
