package pawl

// CrashClass says what recovery does with an effect that was requested and not
// answered when the process died. Every effect has one.
type CrashClass uint8

// The crash classes.
const (
	// CrashRepeat is run again: reads, prompt assembly, gates, timers.
	CrashRepeat CrashClass = iota + 1
	// CrashProbe looks whether it happened (writes, edits, commits, worktrees,
	// refs): done, redo, or conflict.
	CrashProbe
	// CrashCharge is run again, and the lost attempt is paid for at its
	// reservation: model calls.
	CrashCharge
	// CrashOnce is never run again: shell commands. It is answered "interrupted".
	CrashOnce
)

var crashClasses = [...]string{CrashRepeat: "repeat", CrashProbe: "probe", CrashCharge: "charge", CrashOnce: "once"}

func (c CrashClass) String() string {
	if int(c) < len(crashClasses) && crashClasses[c] != "" {
		return crashClasses[c]
	}
	return "unknown"
}

// MarshalText writes the class as its word.
func (c CrashClass) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
