//go:build unix

package unit

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// office is a home, and a service manager that writes down what it is asked for and fails when
// the file "fail" has a word of that in it.
type office struct {
	*testing.T
	home, calls, fail string
}

func newOffice(t *testing.T) office {
	o := office{t, t.TempDir(), filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "fail")}
	tools := t.TempDir()
	script := "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> " + o.calls + "\n" +
		"if test -e " + o.fail + " && echo \"$*\" | grep -q -f " + o.fail + "; then echo 'it is broken' >&2; exit 1; fi\n" +
		"case \"$0\" in */loginctl) cat " + o.home + "/linger 2>/dev/null ;; esac\nexit 0\n"
	for _, name := range []string{"systemctl", "loginctl", "launchctl"} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	return o
}

func (o office) write(name, text string) {
	o.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		o.Fatal(err)
	}
}

func (o office) read(name string) string {
	data, _ := os.ReadFile(name)
	return string(data)
}

// asked are the requests since it was asked last.
func (o office) asked() string {
	calls := o.read(o.calls)
	_ = os.Remove(o.calls)
	return calls
}

func (o office) service() Service {
	return Service{
		Command: []string{"/opt/my tools/pawl", "serve", "--detached"}, Env: []string{`PATH=/a b:/50%:/"q"\`, "HOME=/h$x"},
		Home: o.home, Config: filepath.Join(o.home, ".config"),
	}
}

// A reboot: the daemon is started with its user's session, after it was installed. F-29
func TestInstall(t *testing.T) {
	for name, of := range map[string]func(Service) manager{
		"Systemd": func(s Service) manager { return systemd{s} },
		"Launchd": func(s Service) manager { return launchd{s} },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			m := of(o.service())
			in, err := install(t.Context(), m, true)
			if err != nil || in.File != m.file() || !in.Started || in.Note == "" {
				t.Fatalf("%+v, %v", in, err)
			}
			first, text := o.asked(), o.read(m.file())
			if text != m.text() {
				t.Errorf("the file:\n%s", text)
			}
			if again, err := install(t.Context(), m, true); err != nil || again != in || o.read(m.file()) != text {
				t.Errorf("again: %+v, %v", again, err)
			}
			o.asked()

			// What fails leaves what was there.
			changed := o.service()
			changed.Command = append(changed.Command, "--listen=127.0.0.1:1")
			o.write(o.fail, "start pawl\nbootstrap\n")
			if _, err := install(t.Context(), of(changed), true); pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "it is broken") || o.read(m.file()) != text {
				t.Errorf("failed: %v\n%s", err, o.read(m.file()))
			}
			if file, err := uninstall(t.Context(), m); err != nil || file != m.file() || o.read(m.file()) != "" {
				t.Errorf("uninstalled %q, %v", file, err)
			}
			if file, err := uninstall(t.Context(), m); err != nil || file != "" {
				t.Errorf("uninstalled again %q, %v", file, err)
			}
			if _, err := install(t.Context(), m, true); err == nil || o.read(m.file()) != "" {
				t.Errorf("failed at first: %v\n%s", err, o.read(m.file()))
			}
			o.asked()
			o.write(o.fail, "show\nprint\n") // there is no manager
			if _, err := install(t.Context(), m, true); pawl.CodeOf(err) != pawl.CodeUnavailable || o.read(m.file()) != "" || strings.Count(o.asked(), "\n") != 1 {
				t.Errorf("without a manager: %v", err)
			}
			if err := os.Remove(o.fail); err != nil {
				t.Fatal(err)
			}

			if _, err := install(t.Context(), m, false); err != nil || o.read(m.file()) != text {
				t.Errorf("for later: %v", err)
			}
			if calls := o.asked(); strings.Contains(calls, "start pawl") || strings.Contains(calls, "bootstrap") {
				t.Errorf("it is started:\n%s", calls)
			}
			o.write(m.file(), "somebody's\n")
			for _, err := range []error{
				func() error { _, err := install(t.Context(), m, true); return err }(),
				func() error { _, err := uninstall(t.Context(), m); return err }(),
			} {
				if pawl.CodeOf(err) != pawl.CodeConflict || o.read(m.file()) != "somebody's\n" {
					t.Errorf("somebody else's file: %v", err)
				}
			}
			want := "systemctl --user show --property=Version\nsystemctl --user daemon-reload\nsystemctl --user enable pawl.service\nsystemctl --user start pawl.service\nloginctl show-user"
			if name == "Launchd" {
				want = "launchctl print gui/"
			}
			if !strings.HasPrefix(first, want) {
				t.Errorf("asked for\n%s", first)
			}
		})
	}
}

// Lingering users need no login.
func TestLingering(t *testing.T) {
	o := newOffice(t)
	if note := (systemd{o.service()}).note(t.Context()); !strings.Contains(note, "loginctl enable-linger") {
		t.Errorf("%q", note)
	}
	o.write(filepath.Join(o.home, "linger"), "yes\n")
	if note := (systemd{o.service()}).note(t.Context()); note != "" {
		t.Errorf("%q", note)
	}
}

// Words reach the program as they are, whatever systemd reads into them.
func TestSystemdText(t *testing.T) {
	m := systemd{Service{Command: []string{"/opt/my tools/pawl", "a$b", `c%d"\`}, Env: []string{`PATH=/a b:/50%:/"q"\`}, Config: t.TempDir()}}
	text := m.text()
	for _, want := range []string{
		`ExecStart="/opt/my tools/pawl" "a$$b" "c%%d\"\\"` + "\n",
		`Environment="PATH=/a b:/50%%:/\"q\"\\"` + "\n",
		"\nRestart=on-failure\n", "\nRestartPreventExitStatus=2 4\n", "\nWantedBy=default.target\n", // F-29
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err == nil {
		file := filepath.Join(t.TempDir(), unitName)
		if err := os.WriteFile(file, []byte(strings.Replace(text, "/opt/my tools/pawl", "/bin/true", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "--user", "verify", file).CombinedOutput(); err != nil && strings.Contains(string(out), unitName+":") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestLaunchdText(t *testing.T) {
	m := launchd{Service{Command: []string{"/opt/a&b/pawl", "<serve>"}, Env: []string{"PATH=/a=b"}, Home: "/h"}}
	var plist struct {
		Keys []string `xml:"dict>key"`
		Args []string `xml:"dict>array>string"`
		Env  []string `xml:"dict>dict>string"`
	}
	if err := xml.Unmarshal([]byte(m.text()), &plist); err != nil {
		t.Fatalf("%v\n%s", err, m.text())
	}
	if !slices.Equal(plist.Args, []string{"/opt/a&b/pawl", "<serve>"}) || !slices.Equal(plist.Env, []string{"/a=b"}) || !slices.Contains(plist.Keys, "RunAtLoad") {
		t.Errorf("%+v", plist)
	}
}

// A line break in a variable would be a line of the unit.
func TestControlCharacters(t *testing.T) {
	s := newOffice(t).service()
	s.Env = append(s.Env, "PATH=/a\nExecStartPre=/bin/evil")
	if _, err := s.Install(t.Context()); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Error(err)
	}
}
