package sandbox

import (
	"strconv"
	"strings"

	"pawl/internal/room"
)

// seatbelt is a room's description as a profile of macOS's sandbox-exec. Commands see
// the machine's programs and libraries, and of the user's files only what the room
// has. They write only there.
//
// The profile language is not documented by Apple; the operations used here are those
// that the profiles in /System/Library/Sandbox/Profiles have.
func seatbelt(d *room.Description) string {
	var p strings.Builder
	line := func(s ...string) { p.WriteString(strings.Join(s, "") + "\n") }
	line("(version 1)")
	line("(deny default)")
	line("(allow process-fork)")
	line("(allow process-exec)")
	line("(allow signal (target same-sandbox))")
	line("(allow process-info* (target same-sandbox))")
	line("(allow sysctl-read)")
	line("(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.system.logger\"))")
	line("(allow ipc-posix-sem)")
	line("(allow ipc-posix-shm)")
	line("(allow file-read-metadata)")
	line("(allow file-read* (literal \"/\"))")
	for _, path := range append(seatbeltSystem[:], d.Readable...) {
		line("(allow file-read* (subpath ", quoted(path), "))")
	}
	for _, path := range d.Writable {
		line("(allow file-read* file-write* (subpath ", quoted(path), "))")
	}
	for _, path := range d.Protected { // the last rule that fits holds
		line("(deny file-write* (subpath ", quoted(path), "))")
	}
	for _, device := range seatbeltDevices {
		line("(allow file-read* file-write* file-ioctl (literal ", quoted(device), "))")
	}
	if d.Sockets != "" {
		line("(allow network-outbound (remote unix-socket (subpath ", quoted(d.Sockets), ")))")
	}
	line("(allow network-bind network-inbound (local ip \"localhost:*\"))")
	reachable := "*"
	if d.ProxyPort != 0 { // of what this machine serves nothing but the proxy
		reachable = strconv.Itoa(d.ProxyPort)
	}
	line("(allow network-outbound (remote ip ", quoted("localhost:"+reachable), "))")
	return p.String()
}

// seatbeltSystem are the folders of macOS that hold programs and libraries for everyone.
var seatbeltSystem = [...]string{
	"/usr", "/bin", "/sbin", "/System", "/Library/Developer", "/Library/Apple", "/Library/Java",
	"/Applications/Xcode.app", "/opt", "/private/etc/ssl", "/private/var/db/timezone", "/private/var/select",
	"/private/var/db/dyld", "/dev/fd",
}

// seatbeltDevices are those that every command may use.
var seatbeltDevices = [...]string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// quoted is a string of the profile language.
func quoted(s string) string { return strconv.Quote(s) }
