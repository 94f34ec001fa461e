package helper

import (
	"os"

	"pawl/internal/sandbox/confine"
)

// Run runs the helper that args, those of the process, name, and returns its exit
// code. ok is false when they name none: then the process is something else. A
// helper changes the whole process and is all that the process does.
func Run(args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case ProtocolWord:
		if _, err := os.Stdout.WriteString(Protocol + "\n"); err != nil {
			return 1, true
		}
		return 0, true
	case SuperviseWord:
		return Supervise(args[2:]), true
	case HoldWord:
		return Hold(), true
	case EnterWord:
		return confine.Main(args[2:]), true
	case RelayWord:
		return Relay(args[2:]), true
	}
	return 0, false
}
