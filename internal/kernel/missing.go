package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// A gate whose program the machine lacks can never pass. The base shows that before anything is
// paid for: the run then asks whether to continue without the gate, or ends if it is unattended.

// choiceWithout lets a run continue without the gates that cannot run; choiceStop ends it.
const choiceWithout = "without"

// requireGates reports whether every gate of the run has its program, as far as the base shows, or
// is left out. Only the root checks this, because no other loop begins before it has.
func (d *draft) requireGates(l *Loop) bool {
	missing := d.s.missingGates(l)
	if l.Parent != 0 || len(missing) == 0 {
		return true
	}
	var cannot, gates, programs []string
	for _, i := range missing {
		name := d.s.Settings.Gates[i].Name
		if slices.Contains(d.s.Settings.AllowMissingGates, name) {
			d.leaveOut(l, i, "")
		} else {
			cannot = append(cannot, fmt.Sprintf("gate %s cannot run: %s is not installed", name, l.base[i].missing))
			gates, programs = append(gates, name), append(programs, l.base[i].missing)
		}
	}
	text := strings.Join(cannot, "; ")
	switch r := l.lastAnswerTo(pawl.AskMissing); {
	case len(cannot) == 0:
		return true
	case l.person.question != nil:
	case r != nil && r.choice == choiceWithout:
		for _, i := range d.s.missingGates(l) {
			d.leaveOut(l, i, cmp.Or(r.by, "a person"))
		}
		return true
	case r != nil:
		d.stop(pawl.OutcomeRefused, cmp.Or(r.by, "a person")+" stopped it: "+text)
	case d.s.Settings.Unattended:
		d.stop(pawl.OutcomeRefused, text+"; install what is missing, or continue without it: "+d.s.allowing(l))
	default:
		them, checks := "them", "they check"
		if len(cannot) == 1 {
			them, checks = "it", "it checks"
		}
		d.ask(l, pawl.AskMissing, brief.Capital(text)+". Continue without "+them+"? The report will say what was left out.", pawl.Hash{},
			option{choiceWithout, fmt.Sprintf("the run continues without %s; what %s stays unchecked", some(gates), checks)},
			option{choiceStop, fmt.Sprintf("the run ends; install %s, then resume it", some(slices.Compact(programs)))})
	}
	return false
}

// missingGates returns the gates that cannot run and are not left out. Optional gates are not among
// them, because they are skipped, and neither are those that could run when the run began.
func (s *State) missingGates(l *Loop) []int {
	var out []int
	for i := range l.base {
		if l.base[i].missing != "" && !l.base[i].cut && !s.Settings.Gates[i].Optional && !s.isLeftOut(i) {
			out = append(out, i)
		}
	}
	return out
}

// allowing returns the flags that let the run begin without the missing gates.
func (s *State) allowing(l *Loop) string {
	var flags []string
	for _, i := range s.missingGates(l) {
		flags = append(flags, "--allow-missing-gate "+s.Settings.Gates[i].Name)
	}
	return strings.Join(flags, " ")
}

// leaveOut leaves a gate out of the run.
func (d *draft) leaveOut(l *Loop, gate int, by string) {
	d.emit(l.Ref, &pawl.GateLeftOut{Gate: d.s.Settings.Gates[gate].Name, Missing: l.base[gate].missing, By: by})
}

// isLeftOut reports whether a gate of the settings was left out of this run.
func (s *State) isLeftOut(gate int) bool { return slices.Contains(s.gates.leftOut, gate) }

func (s *State) gateLeftOut(b *pawl.GateLeftOut) error {
	i := s.gateIndex(b.Gate)
	if i < 0 || s.isLeftOut(i) {
		return fmt.Errorf("gate %q is none of the run's", b.Gate)
	}
	s.gates.leftOut = append(slices.Clip(s.gates.leftOut), i)
	return nil
}

// lookAgain lets the gates that could not run judge the base again, because what was missing may
// have been installed in the meantime.
func (l *Loop) lookAgain() {
	l.base = slices.Clone(l.base)
	for i := range l.base {
		if l.base[i].missing != "" {
			l.base[i] = baseline{}
		}
	}
}
