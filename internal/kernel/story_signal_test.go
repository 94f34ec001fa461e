package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
	"pawl/internal/kernel/signal"
)

// What stories say of signals. Further commands:
//
//	signal KIND TO [text=TEXT] [because=TEXT] [by=NAME]  TO names a loop by its task, the root by root, alone or in a selector
//	archive [TO] [because=TEXT] [by=NAME]
//
// A line about wait may say which: WHERE is signal for the time that loops below one have to end.

func (s *story) signals(t *testing.T, td *datadriven.TestData) pawl.Steering {
	out := pawl.Steering{Verb: pawl.SteerVerb(td.Cmd)}
	out.Reason, _ = argText(td, "because")
	out.By, _ = argText(td, "by")
	var words []string
	for _, a := range td.CmdArgs {
		if len(a.Vals) == 0 && a.Key != "hold" && a.Key != "show" {
			words = append(words, a.Key)
		}
	}
	words = append(words, "", "")
	if td.Cmd == "archive" {
		out.Loop = s.loopIn(words[0])
		return out
	}
	out.Signal = &pawl.Signaling{Signal: pawl.SignalKind(words[0]), To: s.loopIn(words[1])}
	out.Signal.Text, _ = argText(td, "text")
	return out
}

// loopIn is a text with the id of the newest loop of the task it names.
func (s *story) loopIn(to string) string {
	form, name, is := strings.Cut(to, ":")
	if !is {
		form, name = "", to
	} else if form != "descendants" && form != "children" {
		return to
	}
	for _, l := range s.w.state.Loops() {
		if l.task.ID == name && l.Ref > 1 || name == "root" && l.Ref == 1 {
			to = l.ID
			if is {
				to = form + ":" + l.ID
			}
		}
	}
	return to
}

// signalHeadline tells the events of trees.
func (s *story) signalHeadline(e pawl.Event) string {
	name := func(ref pawl.LoopRef) string {
		if ref == 1 {
			return "the root"
		}
		return s.w.state.Loop(ref).task.ID
	}
	switch b := e.Body.(type) {
	case *pawl.SignalSent:
		from := b.By
		if from == "" {
			from = "a person"
		}
		if b.Source != 0 {
			from = name(b.Source)
		}
		text := fmt.Sprintf("signal %d from %s: %s", b.N, from, b.Signal)
		if form, id, is := strings.Cut(b.Selector, ":"); is && s.w.state.loopNamed(id) != nil {
			text += fmt.Sprintf(" (%s:%s)", form, name(s.w.state.loopNamed(id).Ref))
		} else if is {
			text += fmt.Sprintf(" (%s)", b.Selector)
		}
		return text + because(b.Reason)
	case *pawl.SignalAcknowledged:
		if b.Expired {
			return fmt.Sprintf("signal %d is acknowledged too late", b.N)
		}
		return fmt.Sprintf("signal %d is acknowledged", b.N)
	case *pawl.GenerationStarted:
		text := fmt.Sprintf("generation %d on %s from %s", b.N, b.Branch, b.Base)
		if b.Supersedes {
			text += ", which stays"
		}
		return text + because(b.Reason)
	case *pawl.Invalidated:
		return fmt.Sprintf("does not count any more: %s began anew, generation %d is over%s", name(b.By), b.Generation, because(b.Reason))
	case *pawl.Archived:
		return "is archived" + because(b.Reason)
	case *pawl.TaskRetried:
		return fmt.Sprintf("task %d runs once more%s", b.Task, because(b.Reason))
	case *pawl.LoopAdmitted:
		return fmt.Sprintf("is admitted at %s%s", b.Base, because(b.Waited))
	}
	return ""
}

// signalBook keeps what holds of signals in every run.
type signalBook struct {
	sent   int
	unseen map[int]pawl.LoopRef
	over   []pawl.LoopRef // loops that have acknowledged their end
	void   []pawl.LoopRef // loops that do not count any more
}

// keep checks an event: signals are numbered from 1, each is acknowledged once, by the
// loop that is told and before that loop has ended; who has acknowledged its end begins
// nothing; and nothing happens to a loop that does not count any more. R-61, R-B09, R-B10
func (b *signalBook) keep(t testing.TB, s *State, e pawl.Event) {
	if b.unseen == nil {
		b.unseen = map[int]pawl.LoopRef{}
	}
	if _, archived := e.Body.(*pawl.Archived); !archived && slices.Contains(b.void, e.Loop) {
		t.Fatalf("event %d, %s, is of a loop that does not count any more", e.Seq, e.Body.EventKind())
	}
	switch body := e.Body.(type) {
	case *pawl.Forked:
		*b = signalBook{sent: b.sent}
	case *pawl.SignalSent:
		if b.sent++; body.N != b.sent {
			t.Fatalf("event %d is signal %d after signal %d", e.Seq, body.N, b.sent-1)
		}
		b.unseen[body.N] = e.Loop
	case *pawl.SignalAcknowledged:
		if b.unseen[body.N] != e.Loop {
			t.Fatalf("event %d: loop %d acknowledges signal %d, which it was not told or has seen", e.Seq, e.Loop, body.N)
		}
		delete(b.unseen, body.N)
		if g := s.Loop(e.Loop).inbox.Signals; slices.ContainsFunc(g, func(g signal.Signal) bool { return g.N == body.N && g.Ends() }) {
			if b.over = append(b.over, e.Loop); s.Loop(e.Loop).inFlight() && !body.Expired {
				t.Fatalf("event %d: loop %d has something in flight", e.Seq, e.Loop)
			}
		}
	case *pawl.LoopEnded:
		for n, ref := range b.unseen {
			if ref == e.Loop {
				t.Fatalf("event %d: loop %d has ended and not seen signal %d", e.Seq, ref, n)
			}
		}
	case *pawl.EffectRequested:
		switch body.Effect.Do.(type) {
		case *pawl.Commit, *pawl.CloseWorkspace, *pawl.InspectWorkspace:
		default:
			if slices.Contains(b.over, e.Loop) {
				t.Fatalf("event %d: loop %d begins %s and has acknowledged its end", e.Seq, e.Loop, body.Effect.Do.Verb())
			}
		}
	case *pawl.Invalidated:
		b.void = append(b.void, e.Loop)
	}
}

// What a loop may be told before it comes to it takes little room beside its work.
func TestSizeOfSignals(t *testing.T) {
	long := strings.Repeat("x", 1000)
	l := newLoop(2, nil)
	l.Parent = 1
	s := &State{loops: []*Loop{newLoop(1, nil), l}}
	for range signal.MaxUnseen {
		for _, kind := range []pawl.SignalKind{pawl.SignalStop, pawl.SignalInfo} {
			b := &pawl.SignalSent{N: s.signals + 1, Signal: kind, Reason: strings.Clone(long), By: "ann", Payload: blobOf(fmt.Sprint(s.signals))}
			if err := s.signaled(l, b); err != nil {
				t.Fatal(err)
			}
			if kind == pawl.SignalInfo { // acknowledged at once
				if err := s.acknowledged(l, &pawl.SignalAcknowledged{N: b.N}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := sizeOf(l); n > 1024 {
		t.Errorf("%d signals and %d infos have %d bytes", len(l.inbox.Signals), len(l.inbox.Infos), n)
	}
}
