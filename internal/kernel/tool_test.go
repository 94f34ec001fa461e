package kernel

import (
	"testing"

	"pawl"
	"pawl/internal/kernel/session"
)

// F-32: a command that the death of the driver cut off has not failed. What the one before led to
// still counts.
func TestInterruptedCommandIsNoFailure(t *testing.T) {
	for _, failedBefore := range []bool{false, true} {
		l := newLoop(1, &pawl.LoopKind{})
		l.left.RunFailed = failedBefore
		x := session.Start(&pawl.SessionStarted{Session: 1, Purpose: pawl.ForStep}, 0)
		x.Reply(&pawl.ModelReplied{Calls: []pawl.ToolUse{{Tool: runTool}, {Tool: runTool}}})
		call := func(n int) *pawl.Effect { return &pawl.Effect{Do: &pawl.CallTool{Tool: runTool, Call: n}} }
		l.toolReturned(x, call(0), &pawl.ToolReturned{IsError: true, Interrupted: true})
		if l.left.RunFailed != failedBefore {
			t.Errorf("after an interrupted command, the last one failed: %v; want %v", l.left.RunFailed, failedBefore)
		}
		if l.toolReturned(x, call(1), &pawl.ToolReturned{IsError: !failedBefore}); l.left.RunFailed == failedBefore {
			t.Errorf("after another one, the last one failed: %v", l.left.RunFailed)
		}
	}
}

// What the last command led to is not known after a turn of an agent that hides its calls, until
// another command is seen.
func TestHiddenCommands(t *testing.T) {
	for name, row := range map[string]struct {
		next   func(*Loop, *session.Session)
		hidden bool
	}{
		"NoCommand": {func(l *Loop, x *session.Session) { l.turned(x, 2, false, &pawl.AgentTurned{}) }, true},
		"Command":   {func(l *Loop, x *session.Session) { l.turned(x, 2, false, &pawl.AgentTurned{Commands: 1}) }, false},
		"Hidden":    {func(l *Loop, x *session.Session) { l.turned(x, 2, true, &pawl.AgentTurned{Commands: 1}) }, true},
		"Model": {func(l *Loop, x *session.Session) {
			l.toolReturned(x, &pawl.Effect{Do: &pawl.CallTool{Tool: runTool}}, &pawl.ToolReturned{})
		}, false},
	} {
		l := newLoop(1, &pawl.LoopKind{})
		x := session.Start(&pawl.SessionStarted{Session: 1, Purpose: pawl.ForStep}, 0)
		x.Reply(&pawl.ModelReplied{Calls: []pawl.ToolUse{{Tool: runTool}}})
		l.turned(x, 1, true, &pawl.AgentTurned{})
		if row.next(l, x); l.left.RunHidden != row.hidden {
			t.Errorf("%s: commands are hidden: %t", name, l.left.RunHidden)
		}
	}
}
