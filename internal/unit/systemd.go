package unit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
)

// unitName is what systemd calls the service.
const unitName = "pawl.service"

// systemd is the user manager of systemd.
type systemd struct{ Service }

func (m systemd) file() string { return filepath.Join(m.Config, "systemd", "user", unitName) }

// text is the unit, see systemd.service(5). A daemon that refuses its arguments (exit code 2)
// or finds another one at work (4) is not started again: it would fail the same way. The
// processes of commands get no SIGTERM: the daemon ends them, and has 10 seconds for what is
// under way.
func (m systemd) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s; pawl serve --uninstall removes it.\n", mark)
	b.WriteString("[Unit]\nDescription=Pawl: drives the runs of all your repositories\n\n[Service]\nType=exec\nWorkingDirectory=/\n")
	for _, kv := range m.Env {
		fmt.Fprintf(&b, "Environment=%s\n", quoted(kv))
	}
	var words []string
	for _, word := range m.Command {
		words = append(words, strings.ReplaceAll(quoted(word), "$", "$$"))
	}
	fmt.Fprintf(&b, "ExecStart=%s\n", strings.Join(words, " "))
	b.WriteString("Restart=on-failure\nRestartSec=5\nRestartPreventExitStatus=2 4\nKillMode=mixed\nTimeoutStopSec=30\n\n[Install]\nWantedBy=default.target\n")
	return b.String()
}

// quoted is a word as systemd.syntax(7) and systemd.unit(5) have it.
func quoted(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word) + `"`
}

func (m systemd) check(ctx context.Context) error {
	if _, err := run(ctx, "systemctl", "--user", "show", "--property=Version"); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "systemd's user manager does not answer: %w", err).
			WithHint("start pawl serve --background when you log in")
	}
	return nil
}

func (m systemd) load(ctx context.Context, start bool) error {
	for _, args := range [][]string{{"daemon-reload"}, {"enable", unitName}, {"start", unitName}} {
		if args[0] == "start" && !start {
			continue
		}
		if _, err := run(ctx, "systemctl", append([]string{"--user"}, args...)...); err != nil {
			return pawl.Errorf(pawl.CodeUnavailable, "%w", err).WithHint("nothing was installed; systemctl --user status %s may say more", unitName)
		}
	}
	return nil
}

func (m systemd) unload(ctx context.Context) error {
	if _, err := run(ctx, "systemctl", "--user", "disable", unitName); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "%w", err)
	}
	return nil
}

// note says that the user manager begins with the first login, unless the user lingers.
func (m systemd) note(ctx context.Context) string {
	out, err := run(ctx, "loginctl", "show-user", strconv.Itoa(os.Getuid()), "--property=Linger", "--value")
	if err == nil && out == "yes" {
		return ""
	}
	return "it starts when you log in; with loginctl enable-linger it starts at boot, and stays when you log out"
}
