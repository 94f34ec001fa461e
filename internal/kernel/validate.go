package kernel

import (
	"cmp"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// The checks of the harness that have a file of their own: whether an artifact can be
// read as the list it must be, and the command that a loop's task names.

// The names of these checks in recipes.
const (
	wellFormed        = "well_formed"
	validationCommand = "validation_command"
)

// readable judges the artifact that the iteration must leave.
func (l *Loop) readable(b *pawl.GateJudged) {
	if why := l.judgeList(); why != "" {
		b.Verdict, b.Reason, b.Error = pawl.VerdictFail, brief.Cut(why, 300), brief.Fingerprint(why)
		return
	}
	b.Reason = fmt.Sprintf("it lists %d", len(l.gen.read.Entries))
}

// noArtifact says that the iteration has left none.
func (l *Loop) noArtifact() string {
	name := l.Kind.Name
	return strings.ToUpper(name[:1]) + name[1:] + " has no output artifact"
}

// validates reports whether a stage runs the command that the loop's own task names.
func validates(st *pawl.Stage) bool { return st.Builtin == validationCommand }

// validate runs the command that the loop's own task names, and reports whether it has
// judged. An agent wrote it: that it passes proves nothing.
func (d *draft) validate(l *Loop, stage int) bool {
	st := l.stage(stage)
	switch {
	case l.result(st.Name) != nil:
		return true
	case !l.task.Validated:
		d.emit(l.Ref, &pawl.GateJudged{Gate: st.Name, Kind: pawl.GateValidation, Verdict: pawl.VerdictSkip, Reason: "its task names no validation command"})
		return true
	}
	d.runGate(l, ownGate(stage), pawl.RunGate{Gate: st.Name, Commit: l.judged(), Start: l.Base, Task: l.task.Spec})
	return false
}

// ownGate is the number, among the gates a loop runs, of one that runs the command of
// its task: those of the settings have theirs from 0.
func ownGate(stage int) int { return -1 - stage }

// noGate is the number of a gate that there is not.
const noGate = -1 << 30

// gateOf is the number of a gate that a loop runs.
func (s *State) gateOf(l *Loop, name string) int {
	if i := s.gateIndex(name); i >= 0 {
		return i
	}
	for i := range l.stages() {
		if st := l.stage(i); validates(st) && st.Name == name {
			return ownGate(i)
		}
	}
	return noGate
}

// gateSpec is a gate that a loop runs.
func (s *State) gateSpec(l *Loop, gate int) *pawl.GateSpec {
	if gate >= 0 {
		return &s.Settings.Gates[gate]
	}
	st := l.stage(ownGate(gate))
	return &pawl.GateSpec{Name: st.Name, Kind: pawl.GateValidation, Timeout: cmp.Or(st.Timeout, defaultGateTimeout)}
}
