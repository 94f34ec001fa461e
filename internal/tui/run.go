package tui

import (
	"strings"
	"time"

	"pawl"
	"pawl/internal/view"
)

// The limits on what is kept of a run that is shown.
const (
	// maxLog is how many lines of its log.
	maxLog = 5000
	// maxHeard is how many bytes of what one speaker says live.
	maxHeard = 8 << 10
)

// shown is a run that is watched: its fold, its log, and what is heard of it.
type shown struct {
	key key
	run *view.Run
	log []entry
	cut int // lines of the log that are not kept any more
	// doing are the effects under way that may say something, heard what they say.
	doing map[pawl.Seq]pawl.LoopRef
	heard map[pawl.LoopRef]*heard
	watch *watch // nil when nobody watches it
	err   error  // why not, unless it is at rest
	since int    // how often the list had been read when watching began
	read  bool   // what there was has been read
	rev   int    // goes up with every change
	used  int    // when it was looked at last, to let go of the oldest
}

// entry is a line of a run's log.
type entry struct {
	loop  pawl.LoopRef
	time  time.Time
	level view.Level
	ink   ink
	text  string
	lead  int // how much of it only says which loop it is about
}

// heard is what somebody says who has not finished.
type heard struct {
	effect pawl.Seq
	text   string
}

func newShown(k key) *shown {
	return &shown{key: k, run: view.New(), doing: map[pawl.Seq]pawl.LoopRef{}, heard: map[pawl.LoopRef]*heard{}}
}

// apply folds an event into everything.
func (s *shown) apply(e pawl.Event, blobs view.Blobs) {
	if e.Seq <= s.run.Seq {
		return
	}
	s.run.Apply(e)
	s.rev++
	switch b := e.Body.(type) {
	case *pawl.EffectRequested:
		s.doing[e.Seq] = e.Loop
	case *pawl.EffectLost:
		s.over(b.Effect)
	case *pawl.EffectWithdrawn:
		s.over(b.Effect)
	case pawl.Answer:
		s.over(b.Answers())
	}
	line := entry{loop: e.Loop, time: e.Time, level: s.run.Look(e).Level, ink: inkOf(e), text: view.Line(e, s.run, blobs)}
	if l := s.loop(e.Loop); l != nil && l.Task != "" && strings.HasPrefix(line.text, "[") {
		line.lead = strings.Index(line.text, "] ") + len("] ")
	}
	s.log = append(s.log, line)
	if over := len(s.log) - maxLog; over > maxLog/10 { // in steps, so that it is not moved each time
		s.log = append([]entry{}, s.log[over:]...)
		s.cut += over
	}
}

// over notes that an effect says no more.
func (s *shown) over(effect pawl.Seq) {
	loop := s.doing[effect]
	delete(s.doing, effect)
	if h := s.heard[loop]; h != nil && h.effect == effect {
		delete(s.heard, loop)
	}
}

// hear keeps the end of what is said live.
func (s *shown) hear(l pawl.Live) {
	loop, ok := s.doing[l.Effect]
	if !ok {
		return
	}
	if l.Waiting != nil {
		s.run.Hear(l.Waiting)
		s.rev++
		return
	}
	h := s.heard[loop]
	if h == nil || h.effect != l.Effect {
		h = &heard{effect: l.Effect}
		s.heard[loop] = h
	}
	h.text += l.Text
	if over := len(h.text) - maxHeard; over > 0 {
		h.text = h.text[over:]
		if i := strings.IndexByte(h.text, '\n'); i >= 0 { // from a whole line on
			h.text = h.text[i+1:]
		}
	}
	s.rev++
}

// inkOf returns the colour of an event's line: that of its tone, except where the screens differ
// from the log.
func inkOf(e pawl.Event) ink {
	look := view.LookOf(e)
	switch b := e.Body.(type) {
	case *pawl.LoopEnded:
		return toneInk(view.StateOf(b.Outcome).Tone)
	case *pawl.PlanRefused:
		return red
	case *pawl.SignalSent:
		return yellow
	case *pawl.Prepared, *pawl.Merged, *pawl.TaskJudged, *pawl.HealthJudged, *pawl.HealthOverridden, *pawl.RollbackCalled,
		*pawl.RolledBack, *pawl.TaskHeld, *pawl.TaskRetried:
		if look.Level < view.Important {
			return dim
		}
		return normal
	}
	return toneInk(look.Tone)
}

// toneInk returns the ink of a tone.
func toneInk(t view.Tone) ink {
	return [...]ink{view.TonePlain: normal, view.ToneQuiet: dim, view.ToneGood: green, view.ToneWarning: yellow, view.ToneBad: red, view.ToneActive: cyan}[t]
}

func verdictInk(v pawl.Verdict) ink {
	switch v {
	case pawl.VerdictPass:
		return green
	case pawl.VerdictSkip, "":
		return dim
	}
	return red
}

// loop finds a loop of the run, or nil.
func (s *shown) loop(ref pawl.LoopRef) *view.Loop {
	if i := int(ref) - 1; i >= 0 && i < len(s.run.Loops) && s.run.Loops[i].Ref == ref {
		return s.run.Loops[i] // as they are numbered
	}
	for _, l := range s.run.Loops {
		if l.Ref == ref {
			return l
		}
	}
	return nil
}

// root is the run's first loop, or nil.
func (s *shown) root() *view.Loop {
	if len(s.run.Loops) == 0 {
		return nil
	}
	return s.run.Loops[0]
}

// newest is the loop's newest iteration, or nil.
func newest(l *view.Loop) *view.Iteration {
	if l == nil || len(l.Iterations) == 0 {
		return nil
	}
	return l.Iterations[len(l.Iterations)-1]
}
