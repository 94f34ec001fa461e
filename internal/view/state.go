package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/plain"
)

// StateYAML returns the state file of the Task Loop: the root loop's task with every
// iteration and escalation, and below money what the run and each iteration have
// spent, hold and have lost, under the names that JSON has for it. It needs no
// blobs; it takes them as all projections do.
func StateYAML(r *Run, _ Blobs) ([]byte, error) {
	l := r.root()
	if l == nil {
		return nil, errNotStarted(r)
	}
	y := &document{}
	y.line(0, "tasks:")
	y.line(1, "%s:", r.taskID())
	y.line(2, "status: %s", taskStatus(r))
	y.line(2, "started_at: %s", quote(r.Began.UTC().Format("2006-01-02T15:04:05Z")))
	score, band := "null", "null"
	if l.Score >= 0 {
		score, band = fmt.Sprint(l.Score), word(r.band(l))
	}
	y.line(2, "complexity:")
	y.line(3, "score: %s", score)
	y.line(3, "tier: %s", band)
	model, n := "null", 0
	if n := r.Recipe.Kind(l.Kind).WorkTier(l.Tier); n > 0 {
		model = word(r.Recipe.Tier(n))
	}
	if it := l.last(); it != nil {
		n = it.N
	}
	y.line(2, "current_model: %s", model)
	y.line(2, "iteration: %d", n)
	r.history(y, l)
	r.escalations(y, l)
	r.figures(y, 2, r.Money())
	return y.Bytes(), nil
}

// history writes every iteration, the one under way too.
func (r *Run) history(y *document, l *Loop) {
	if len(l.Iterations) == 0 {
		y.line(2, "model_history: []")
		return
	}
	y.line(2, "model_history:")
	for _, it := range l.Iterations {
		y.line(3, "- iteration: %d", it.N)
		y.line(4, "model: %s", word(r.TierOf(l, it.Tier)))
		quality, requirements := "null", "null"
		if it.End != nil {
			quality, requirements = status(it.End.Quality), status(it.End.Requirements)
		}
		y.line(4, "quality_status: %s", quality)
		y.line(4, "requirements_status: %s", requirements)
		if it.End != nil && it.End.Decision != pawl.DecideComplete {
			quoted := make([]string, len(it.End.Errors))
			for i, e := range it.End.Errors {
				quoted[i] = quote(e)
			}
			y.line(4, "errors: [%s]", strings.Join(quoted, ", "))
		}
		if it.Reason != "" {
			y.line(4, "reason: %s", quote(it.Reason))
		}
		r.figures(y, 4, r.MoneyOf(it))
	}
}

// figures writes millionths of a dollar and tokens; tokens alone where reports leave money out.
func (r *Run) figures(y *document, depth int, m pawl.Money) {
	if r.Settings.NoCost {
		y.line(depth, "money: {spent_tokens: %d, held_tokens: %d, lost_tokens: %d}", m.SpentTokens, m.HeldTokens, m.LostTokens)
		return
	}
	y.line(depth, "money: {spent: %d, spent_tokens: %d, held: %d, held_tokens: %d, lost: %d, lost_tokens: %d}",
		m.Spent, m.SpentTokens, m.Held, m.HeldTokens, m.Lost, m.LostTokens)
}

func (r *Run) escalations(y *document, l *Loop) {
	if len(l.Escalations) == 0 {
		y.line(2, "escalations: []")
		return
	}
	y.line(2, "escalations:")
	for _, e := range l.Escalations {
		y.line(3, "- from: %s", word(r.Recipe.Tier(e.From)))
		y.line(4, "to: %s", word(r.Recipe.Tier(e.To)))
		y.line(4, "reason: %s", quote(e.Reason))
		y.line(4, "iteration: %d", e.Iteration)
	}
}

// taskStatus returns the run's status in the Task Loop's words, and in ours where it
// has none.
func taskStatus(r *Run) string {
	switch r.Outcome {
	case "":
		return "in_progress"
	case pawl.OutcomeComplete:
		return "completed"
	case pawl.OutcomeIncomplete, pawl.OutcomeHalted, pawl.OutcomeFailed, pawl.OutcomeRefused:
		return "failed"
	}
	return word(string(r.Outcome)) // blocked, unverified, cancelled
}

// status returns a verdict over several gates; null when none ran.
func status(v pawl.Verdict) string {
	switch v {
	case "":
		return "null"
	case pawl.VerdictPass, pawl.VerdictSkip:
		return "PASS"
	case pawl.VerdictHalt:
		return "HALT"
	}
	return "FAIL"
}

// band returns the recipe's name for the loop's complexity, such as "moderate".
func (r *Run) band(l *Loop) string {
	if kind := r.Recipe.Kind(l.Kind); kind != nil && kind.Complexity != nil {
		for _, b := range kind.Complexity.Tiers {
			if l.Score > b.Max {
				continue
			}
			if b.Name != "" {
				return b.Name
			}
			break
		}
	}
	return r.Recipe.Tier(l.Tier)
}

func errNotStarted(r *Run) error {
	return pawl.Errorf(pawl.CodeNotFound, "run %s has not begun a loop, so there is nothing to report", plain.Line(string(r.ID), 0))
}

// document is a YAML document under way. It is written by hand, because the order of its
// keys and its quotes are part of the format.
type document struct{ bytes.Buffer }

func (y *document) line(depth int, format string, args ...any) {
	y.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(y, format, args...)
	y.WriteByte('\n')
}

// word returns a string as a plain scalar, in quotes when it would not be one.
func word(s string) string {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-.", c)) {
			return quote(s)
		}
	}
	switch strings.ToLower(s) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return quote(s)
	}
	return s
}

// quote returns a string as a double-quoted scalar: JSON's quoting is YAML's too.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain.Line(s, 0)); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
