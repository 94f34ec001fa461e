package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"pawl"
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
