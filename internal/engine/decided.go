package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pawl"
)

// Bounds of what a run is told of earlier answers, and of the questions that an answer is to.
const (
	maxDecided      = 24
	maxDecidedBytes = 16 << 10 // of all
	maxAsked        = 10
	maxAskedBytes   = 400 // of each
)

// decided returns what people answered in earlier runs, as a JSON list of texts, the oldest first; no data if
// they answered nothing. A new run is told, so that nobody is asked again. The memory has what was answered
// here, the folders of tasks also what was answered elsewhere. What was forgotten is left out.
func (e *Engine) decided(ctx context.Context) (pawl.Blob, error) {
	var entries []pawl.MemoryEntry
	if m, ok := e.c.Log.(pawl.Memories); ok {
		var err error
		if entries, err = m.Recall(ctx, pawl.MemoryQuery{Kinds: []pawl.MemoryKind{pawl.MemoryDecision}, Forgotten: true, Limit: 5000}); err != nil {
			return pawl.Blob{}, fmt.Errorf("what people answered: %w", err)
		}
	}
	var all []string
	known := map[string]bool{}
	for i := range entries {
		if m := &entries[i]; m.Answered() && m.Scope == pawl.ScopeProject {
			if !m.Forgotten && !known[gist(m.Text)] {
				all = append(all, m.Text)
			}
			known[gist(m.Text)] = true
		}
	}
	if e.c.Answered != nil {
		texts, err := e.c.Answered(ctx)
		if err != nil {
			return pawl.Blob{}, fmt.Errorf("what people answered: %w", err)
		}
		elsewhere := slices.DeleteFunc(texts, func(text string) bool { return known[gist(text)] })
		all = append(elsewhere, all...)
	}
	all = all[max(0, len(all)-maxDecided):]
	size := 0
	for i := range slices.Backward(all) {
		if size += len(all[i]); size > maxDecidedBytes {
			all = all[i+1:]
			break
		}
	}
	if len(all) == 0 {
		return pawl.Blob{}, nil
	}
	data, err := json.Marshal(all)
	return pawl.NewBlob(data), err
}

// gist returns the letters and digits of a decision's context and choice, which are the same in the memory and
// in a file.
func gist(text string) string {
	if _, after, ok := strings.Cut(text, "**Context:**"); ok {
		text = after
	}
	text, _, _ = strings.Cut(text, "**Alternatives Rejected:**")
	text, _, _ = strings.Cut(text, "**Depends On:**")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// answers returns a command with the secrets taken out of what a person says, as that becomes durable, and
// with the questions that an answer is to.
func (e *Engine) answers(ctx context.Context, run pawl.RunID, s pawl.Steering) pawl.Steering {
	clean := func(text string) string {
		if e.c.Redact == nil || text == "" {
			return text
		}
		return string(e.c.Redact([]byte(text)))
	}
	s.Reason = clean(s.Reason)
	if s.Answer == nil {
		return s
	}
	r := *s.Answer
	r.Text, r.Asked = clean(r.Text), ""
	s.Answer = &r
	if r.About.IsZero() {
		return s
	}
	var about struct {
		Questions []string `json:"questions"`
	}
	data, err := e.c.Log.Blob(ctx, run, r.About)
	if err != nil || json.Unmarshal(data, &about) != nil { // the kernel says whether it is about what is asked
		return s
	}
	var asked []string
	for _, q := range about.Questions[:min(len(about.Questions), maxAsked)] {
		if q = strings.Join(strings.Fields(q), " "); len(q) > maxAskedBytes {
			q = strings.ToValidUTF8(q[:maxAskedBytes], "") + "…"
		}
		asked = append(asked, q)
	}
	r.Asked = strings.Join(asked, "\n")
	return s
}
