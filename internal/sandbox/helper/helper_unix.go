//go:build unix && !linux

package helper

// Run runs the helper that args, those of the process, name, and returns its exit
// code. ok is false when they name none. There is only the relay but on Linux.
func Run(args []string) (code int, ok bool) {
	if len(args) < 2 || args[1] != RelayWord {
		return 0, false
	}
	return Relay(args[2:]), true
}
