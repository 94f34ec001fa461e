package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// MaxContext is how long a [Context] may be when it is written down, in tokens of
// four bytes.
const MaxContext = 500

// Phases of a task.
const (
	PhaseScaffold = "SCAFFOLD" // a subtask that lays the ground is open
	PhaseExecute  = "EXECUTE"
)

// Context is what a session that works on a task must know, in few words.
type Context struct {
	Phase        string   `json:"phase"` // PhaseScaffold or PhaseExecute
	CurrentState []string `json:"current_state"`
	Patterns     []string `json:"patterns"`
	Decisions    []string `json:"decisions"`
	AntiPatterns []string `json:"anti_patterns"`
}

// lists are the context's lists in the order in which they give way when it is
// too long.
func (c *Context) lists() []*[]string {
	return []*[]string{&c.CurrentState, &c.Patterns, &c.Decisions, &c.AntiPatterns}
}

// Markdown is the context as it is written down, and as its length is counted.
func (c *Context) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Phase:** %s\n", c.Phase)
	for _, s := range []struct {
		name    string
		entries []string
	}{{"Key Decisions", c.Decisions}, {"Anti-Patterns", c.AntiPatterns}, {"Relevant Patterns", c.Patterns}, {"Current State", c.CurrentState}} {
		fmt.Fprintf(&b, "\n## %s\n\n", s.name)
		for _, e := range s.entries {
			fmt.Fprintf(&b, "- %s\n", oneLine(e))
		}
		if len(s.entries) == 0 {
			b.WriteString("none\n")
		}
	}
	return b.String()
}

// tokens is how long the context is.
func (c *Context) tokens() int { return (len(c.Markdown()) + 3) / 4 }

func (c Context) facts() (pawl.Facts, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if n := c.tokens(); n > MaxContext {
		return nil, fmt.Errorf("%d tokens, %d at most: say it shorter or leave something out, of the current state first, "+
			"then of patterns, then of decisions, of anti-patterns last", n, MaxContext)
	}
	return nil, nil
}

// check says what is wrong with a context besides its length.
func (c *Context) check() error {
	if c.Phase != PhaseScaffold && c.Phase != PhaseExecute {
		return fmt.Errorf("phase %q is none of %s, %s", c.Phase, PhaseScaffold, PhaseExecute)
	}
	for _, list := range c.lists() {
		if slices.ContainsFunc(*list, blank) {
			return errors.New("an entry is empty")
		}
	}
	return nil
}

// trim cuts a context that is too long: of each list the last entries, the lists
// in their order. The last cut is made within an entry.
func (c *Context) trim() {
	const least = 40 // bytes of an entry that still say something
	for _, list := range c.lists() {
		for c.tokens() > MaxContext && len(*list) > 0 {
			last := len(*list) - 1
			over := len(c.Markdown()) - 4*MaxContext
			if text := oneLine((*list)[last]); len(text)-over >= least {
				(*list)[last] = short(text, len(text)-over)
				continue
			}
			*list = (*list)[:last]
		}
		*list = append([]string{}, *list...) // none is not null
	}
}

// Trim is a result cut to its length, when nothing else is wrong with it: a
// [Context] of more than [MaxContext] tokens. False means that there is nothing to cut.
func (Results) Trim(name string, args json.RawMessage) (json.RawMessage, bool) {
	if result(name) != "context" {
		return nil, false
	}
	c, err := Decode[Context](args)
	if err != nil || c.check() != nil || c.tokens() <= MaxContext {
		return nil, false
	}
	c.trim()
	cut, err := json.Marshal(c)
	return cut, err == nil
}
