package unit

import (
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
)

// label is what launchd calls the service.
const label = "pawl.serve"

// launchd starts the agents of a user on macOS.
type launchd struct{ Service }

func (m launchd) file() string {
	return filepath.Join(m.Home, "Library", "LaunchAgents", label+".plist")
}

// text is the agent, see launchd.plist(5).
func (m launchd) text() string {
	var b strings.Builder
	item := func(indent, tag, value string) {
		fmt.Fprintf(&b, "%s<%s>", indent, tag)
		_ = xml.EscapeText(&b, []byte(value)) // a Builder takes all
		fmt.Fprintf(&b, "</%s>\n", tag)
	}
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	fmt.Fprintf(&b, "<!-- %s -->\n<plist version=\"1.0\">\n<dict>\n", mark)
	item("  ", "key", "Label")
	item("  ", "string", label)
	item("  ", "key", "ProgramArguments")
	b.WriteString("  <array>\n")
	for _, word := range m.Command {
		item("    ", "string", word)
	}
	b.WriteString("  </array>\n")
	item("  ", "key", "EnvironmentVariables")
	b.WriteString("  <dict>\n")
	for _, kv := range m.Env {
		name, value, _ := strings.Cut(kv, "=")
		item("    ", "key", name)
		item("    ", "string", value)
	}
	b.WriteString("  </dict>\n  <key>WorkingDirectory</key>\n  <string>/</string>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n" +
		"  <key>ExitTimeOut</key>\n  <integer>30</integer>\n</dict>\n</plist>\n")
	return b.String()
}

func (m launchd) domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

func (m launchd) check(ctx context.Context) error {
	if _, err := run(ctx, "launchctl", "print", m.domain()); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "launchd does not answer: %w", err).
			WithHint("install it from a session on the screen, not over ssh")
	}
	return nil
}

// load does nothing when the service is not to start now: launchd reads the file at the
// next login.
func (m launchd) load(ctx context.Context, start bool) error {
	if !start {
		return nil
	}
	_ = m.unload(ctx) // of an earlier file; it may not be loaded
	if _, err := run(ctx, "launchctl", "bootstrap", m.domain(), m.file()); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "%w", err).WithHint("nothing was installed")
	}
	return nil
}

// unload ends the service too: launchd keeps none that it has forgotten.
func (m launchd) unload(ctx context.Context) error {
	if _, err := run(ctx, "launchctl", "print", m.domain()+"/"+label); err != nil {
		return nil //nolint:nilerr // it is not loaded
	}
	if _, err := run(ctx, "launchctl", "bootout", m.domain()+"/"+label); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "%w", err)
	}
	return nil
}

func (m launchd) note(context.Context) string { return "it starts when you log in" }
