package kernel

import (
	"cmp"
	"fmt"

	"pawl"
	"pawl/internal/kernel/brief"
)

// Two checks of the harness: whether an artifact can be read as the list that it must be, and
// whether the command that a loop's task names passes.

// The names of checks of the harness in recipes.
const (
	wellFormed        = "well_formed"
	toolResults       = "tool_results"
	validationCommand = "validation_command"
)

// readable judges whether the iteration's artifact can be read as a list.
func (l *Loop) readable(b *pawl.GateJudged) {
	if why := l.judgeList(); why != "" {
		b.Verdict, b.Reason, b.Error = pawl.VerdictFail, brief.Cut(why, 300), brief.Fingerprint(why)
		return
	}
	b.Reason = fmt.Sprintf("it lists %d", len(l.gen.read.Entries))
}

// noArtifact returns the reason of the verdict on an iteration that left no artifact.
func (l *Loop) noArtifact() string {
	name := l.Kind.Name
	return brief.Capital(name) + " has no output artifact"
}

// validates reports whether a stage runs the command that the loop's own task names.
func validates(st *pawl.Stage) bool { return st.Builtin == validationCommand }

// validate runs the command that the loop's own task names, and reports whether it has judged. An
// agent wrote the command, so its passing proves nothing.
func (d *draft) validate(l *Loop, stage int) bool {
	st := l.stage(stage)
	switch {
	case l.result(st.Name) != nil:
		return true
	case !l.task.Validated:
		d.emit(l.Ref, &pawl.GateJudged{Gate: st.Name, Kind: pawl.GateValidation, Verdict: pawl.VerdictSkip, Reason: "its task has no validation command"})
		return true
	}
	d.runGate(l, ownGate(stage), pawl.RunGate{Gate: st.Name, Commit: l.gateCommit(), Start: l.Base, Task: l.task.Spec})
	return false
}

// ownGate returns the number, among the gates that a loop runs, of the stage that runs its task's
// command. It is negative, because the gates of the settings are numbered from 0.
func ownGate(stage int) int { return -1 - stage }

// noGate is the number of a gate that does not exist.
const noGate = -1 << 30

// gateOf returns the number of a gate that a loop runs, or noGate.
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

// gateSpec returns the gate that a loop runs under this number.
func (s *State) gateSpec(l *Loop, gate int) *pawl.GateSpec {
	if gate >= 0 {
		return &s.Settings.Gates[gate]
	}
	st := l.stage(ownGate(gate))
	return &pawl.GateSpec{Name: st.Name, Kind: pawl.GateValidation, Timeout: cmp.Or(st.Timeout, defaultGateTimeout)}
}
