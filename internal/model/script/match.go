package script

import (
	"fmt"
	"slices"
	"strings"

	"pawl"
)

// How the tool calls of the turn before ended. Empty means that there were none.
const (
	lastOK          = "ok"
	lastError       = "error"
	lastInterrupted = "interrupted"
)

// interruptedMark begins the result of a call that a crash interrupted.
const interruptedMark = "interrupted:"

// when is what must hold for an answer to speak. An empty list holds always.
type when struct {
	Role      oneOf[string] `yaml:"role"`
	Step      oneOf[string] `yaml:"step"`
	Loop      oneOf[string] `yaml:"loop"`
	Lens      oneOf[string] `yaml:"lens"`
	Iteration oneOf[int]    `yaml:"iteration"`
	Attempt   oneOf[int]    `yaml:"attempt"`
	Task      oneOf[string] `yaml:"task"`
	Round     oneOf[int]    `yaml:"round"`
	Tier      oneOf[int]    `yaml:"tier"`
	Turn      oneOf[int]    `yaml:"turn"`
	Last      oneOf[string] `yaml:"last"`
}

// oneOf is a value or a list of values.
type oneOf[T comparable] []T

// UnmarshalYAML reads a list, or else a single value.
func (o *oneOf[T]) UnmarshalYAML(decode func(any) error) error {
	var list []T
	if decode(&list) == nil {
		*o = list
		return nil
	}
	var one T
	if err := decode(&one); err != nil {
		return err
	}
	*o = []T{one}
	return nil
}

func (o oneOf[T]) holds(v T) bool { return len(o) == 0 || slices.Contains(o, v) }

// scene is what a request looks like to a script.
type scene struct {
	place pawl.Place
	// turn and last are those of the transcript without interrupted turns.
	turn int
	last string
	// interrupted reports that the latest turn was interrupted.
	interrupted bool
	// replies is the number of replies in the whole transcript.
	replies int
}

// newScene reads a request.
func newScene(req pawl.ModelRequest) scene {
	s := scene{place: req.Place}
	lost := 0
	for i, m := range req.Messages {
		if m.Role == pawl.RoleAssistant {
			s.replies++
			continue
		}
		ended := lastOf(m)
		s.interrupted = ended == lastInterrupted && i > 0
		if s.interrupted {
			lost++
		} else {
			s.last = ended
		}
	}
	s.turn = s.replies + 1 - lost
	if req.Place.Turn > 0 {
		s.turn = req.Place.Turn - lost
	}
	return s
}

// lastOf is how the calls that a message of the user answers ended.
func lastOf(m pawl.Message) string {
	last := ""
	for _, b := range m.Blocks {
		switch {
		case b.Kind != pawl.BlockToolResult:
		case strings.HasPrefix(b.Text, interruptedMark):
			return lastInterrupted
		case b.IsError:
			last = lastError
		case last == "":
			last = lastOK
		}
	}
	return last
}

// differs lists the keys of when that do not hold.
func (w when) differs(s scene) []string {
	var keys []string
	note := func(key string, holds bool) {
		if !holds {
			keys = append(keys, key)
		}
	}
	note("role", w.Role.holds(s.place.Role))
	note("step", w.Step.holds(s.place.Step))
	note("loop", w.Loop.holds(s.place.Loop))
	note("lens", w.Lens.holds(s.place.Lens))
	note("iteration", w.Iteration.holds(s.place.Iteration))
	note("attempt", w.Attempt.holds(s.place.Attempt))
	note("task", w.Task.holds(s.place.Task))
	note("round", w.Round.holds(s.place.Round))
	note("tier", w.Tier.holds(s.place.Tier))
	note("turn", w.Turn.holds(s.turn))
	note("last", w.Last.holds(s.last))
	return keys
}

// String says where the scene is, for people who look for the missing answer.
func (s scene) String() string {
	p := s.place
	var parts []string
	for _, word := range [][2]string{{"role", p.Role}, {"loop", p.Loop}, {"task", p.Task}, {"step", p.Step}, {"lens", p.Lens}} {
		if word[1] != "" {
			parts = append(parts, word[0]+" "+word[1])
		}
	}
	parts = append(parts, fmt.Sprintf("iteration %d, attempt %d, tier %d, turn %d", p.Iteration, p.Attempt, p.Tier, s.turn))
	if p.Round > 0 {
		parts = append(parts, fmt.Sprintf("round %d", p.Round))
	}
	if s.last != "" {
		parts = append(parts, "last "+s.last)
	}
	return strings.Join(parts, ", ")
}

// nearest says which answers come closest to a scene, and what keeps them back.
func nearest(answers []answer, s scene) string {
	type distance struct {
		line int
		keys []string
	}
	var all []distance
	for _, a := range answers {
		if keys := a.when.differs(s); len(keys) > 0 {
			all = append(all, distance{a.line, keys})
		}
	}
	slices.SortStableFunc(all, func(a, b distance) int { return len(a.keys) - len(b.keys) })
	var parts []string
	for _, d := range all[:min(3, len(all))] {
		parts = append(parts, fmt.Sprintf("line %d (not its %s)", d.line, strings.Join(d.keys, ", ")))
	}
	if len(parts) == 0 {
		return "there is no other answer"
	}
	return "nearest: " + strings.Join(parts, "; ")
}
