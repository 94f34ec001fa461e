package sandbox_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pawl"
	"pawl/internal/egress"
	"pawl/internal/room"
)

// MustPrepare opens a room that is made to prepare a checkout.
func MustPrepare(tb testing.TB, folderOf func() (pawl.Rooms, string), egress ...string) pawl.PrepareRoom {
	tb.Helper()
	rooms, tree := folderOf()
	r, err := rooms.Prepare(tb.Context(), pawl.PrepareSpec{Run: "001", Commit: "c0", Tree: tree, Key: key(1), Egress: egress})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

// counting is a server on this machine that counts who reaches it.
func counting(tb testing.TB) (port int, visits *atomic.Int32) {
	tb.Helper()
	visits = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		fmt.Fprintf(w, "package %s of %s\n", r.URL.Path, r.Host)
	}))
	tb.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).Port, visits
}

// F-02: a room with a way out reaches what is named and nothing else, and no other room
// reaches anything.
func TestConfinedEgress(t *testing.T) {
	box := MustConfined(t)
	t.Setenv("PATH", "/usr/bin:/bin:"+os.Getenv("PATH")) // the system's Python starts sooner than one of a version manager
	named, reached := counting(t)
	other, trespassed := counting(t)
	rules := []string{fmt.Sprintf("npm.test:%d=127.0.0.1", named)}
	newRoom := func(t *testing.T, egress ...string) pawl.PrepareRoom {
		return MustPrepare(t, func() (pawl.Rooms, string) {
			folder := MustFolder(t, box)
			rooms := newRooms(box, folder)
			t.Cleanup(func() { rooms.Close() })
			return rooms, MustCheckout(t, box, folder)
		}, egress...)
	}
	// get is an HTTP client of two lines, so that no program need be installed.
	get := func(t *testing.T, r pawl.Room, via int, line string, headers ...string) string {
		request := strings.Join(append([]string{line}, headers...), `\r\n`) + `\r\n\r\n`
		result := MustRun(t, r, pawl.Command{Argv: []string{MustBash(t), "-c",
			fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%d && printf '%s' >&3 && cat <&3`, via, request)}})
		return string(result.Output)
	}
	r := newRoom(t, rules...)
	t.Run("Named", func(t *testing.T) {
		out := get(t, r, 3128, fmt.Sprintf("GET http://npm.test:%d/left-pad HTTP/1.1", named), "Host: x", "Connection: close")
		if !strings.Contains(out, "200 OK") || !strings.Contains(out, fmt.Sprintf("package /left-pad of npm.test:%d", named)) || reached.Load() != 1 {
			t.Errorf("%d visits, and the client saw\n%s", reached.Load(), out)
		}
	})
	t.Run("Tunnel", func(t *testing.T) {
		before := reached.Load()
		out := get(t, r, 3128, fmt.Sprintf(`CONNECT npm.test:%d HTTP/1.1\r\nHost: x\r\n\r\nGET /is-odd HTTP/1.1`, named), "Host: y", "Connection: close")
		if !strings.Contains(out, "200 Connection established") || !strings.Contains(out, "package /is-odd of y") || reached.Load() != before+1 {
			t.Errorf("%d visits, and the client saw\n%s", reached.Load()-before, out)
		}
	})
	t.Run("NotNamed", func(t *testing.T) {
		for _, line := range []string{
			fmt.Sprintf("GET http://127.0.0.1:%d/ HTTP/1.1", other), fmt.Sprintf("CONNECT localhost:%d HTTP/1.1", other),
			fmt.Sprintf("CONNECT npm.test:%d HTTP/1.1", other),
		} {
			out := get(t, r, 3128, line, "Host: x")
			status, _, _ := strings.Cut(out, "\r\n")
			if !strings.HasPrefix(status, "HTTP/1.1 403 ") || !strings.Contains(status, "is not named") {
				t.Errorf("%s: the client saw %s", line, out)
			}
		}
	})
	t.Run("Past", func(t *testing.T) {
		for what, shell := range map[string]string{
			"a port of this machine": fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3", other),
			"a public address":       "exec 3<>/dev/tcp/192.0.2.1/80",
			"a name":                 "exec 3<>/dev/tcp/npm.test/80",
			"UDP to a resolver":      "exec 3<>/dev/udp/192.0.2.53/53 && echo x >&3",
			"the host's interfaces":  "test $(grep -c : /proc/net/dev) != 1",
			"the host's names":       "test -s /etc/resolv.conf",
			"a second listener":      "exec 3<>/dev/tcp/127.0.0.1/3129",
		} {
			if result := MustRun(t, r, pawl.Command{Argv: []string{MustBash(t), "-c", shell}}); result.ExitCode == 0 {
				t.Errorf("it reaches %s: %s", what, result.Output)
			}
		}
	})
	t.Run("AbstractSocket", func(t *testing.T) {
		name := fmt.Sprintf("@pawl-test-%d", os.Getpid())
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		result := MustRun(t, r, pawl.Command{Shell: "cat /proc/net/unix"})
		if strings.Contains(string(result.Output), name) || result.ExitCode != 0 {
			t.Errorf("a socket of this machine is seen:\n%s", result.Output)
		}
	})
	t.Run("Variables", func(t *testing.T) {
		out := string(MustRun(t, r, pawl.Command{Shell: "env"}).Output)
		for _, want := range []string{
			"\nhttp_proxy=http://127.0.0.1:3128\n", "\nHTTPS_PROXY=http://127.0.0.1:3128\n", "\nNO_PROXY=localhost,127.0.0.1,::1\n",
			"\nnpm_config_https_proxy=http://127.0.0.1:3128\n", "\nMAVEN_OPTS=-Dmaven.repo.local=/cache/maven -Dhttp.proxyHost=127.0.0.1 ",
		} {
			if !strings.Contains("\n"+out, want) {
				t.Errorf("the environment has no %q:\n%s", want, out)
			}
		}
	})
	t.Run("Client", func(t *testing.T) {
		const python = `import sys,urllib.request as u
try: print(u.urlopen(sys.argv[1]).read().decode())
except Exception as e: print(e)`
		probe := MustRun(t, r, pawl.Command{Shell: "command -v python3"})
		if probe.ExitCode != 0 {
			t.Skip("python3 is not installed")
		}
		for url, want := range map[string]string{
			fmt.Sprintf("http://npm.test:%d/p", named): "package /p of",
			"http://evil.test/":                        "evil.test:80 is not named",
			"https://evil.test/":                       "evil.test:443 is not named",
		} {
			out := string(MustRun(t, r, pawl.Command{Argv: []string{"python3", "-c", python, url}}).Output)
			if !strings.Contains(out, want) {
				t.Errorf("%s: the client says %q, want %q", url, out, want)
			}
		}
	})
	t.Run("Contacts", func(t *testing.T) {
		contacts := r.Contacts()
		if len(contacts) == 0 || contacts[0].Host != fmt.Sprintf("npm.test:%d", named) || contacts[0].Refused != "" ||
			contacts[0].Requests < 2 || contacts[0].Sent == 0 || contacts[0].Received == 0 {
			t.Errorf("the contacts are %+v", contacts)
		}
		refused := 0
		for _, c := range contacts[1:] {
			if c.Refused != "" {
				refused++
			}
		}
		if refused < 3 {
			t.Errorf("%d hosts were refused, want 3 or more: %+v", refused, contacts)
		}
	})
	t.Run("WithoutRules", func(t *testing.T) {
		bare := newRoom(t)
		if out := get(t, bare, 3128, "GET http://npm.test/ HTTP/1.1"); !strings.Contains(out, "refused") {
			t.Errorf("something answers: %s", out)
		}
		if out := string(MustRun(t, bare, pawl.Command{Shell: "env"}).Output); strings.Contains(out, "3128") {
			t.Errorf("the environment names a proxy:\n%s", out)
		}
	})
	if n := trespassed.Load(); n != 0 {
		t.Errorf("what is not named was reached %d times", n)
	}
}

// The certificates that the user's clients trust are shown to commands, without a key
// that is in the same file; what is no such file is left out.
func TestConfinedCertificates(t *testing.T) {
	box := MustConfined(t)
	home := t.TempDir()
	block := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte("content of " + kind)}))
	}
	MustWrite(t, filepath.Join(home, "both.pem"), block("PRIVATE KEY")+block("CERTIFICATE"))
	MustWrite(t, filepath.Join(home, "key.pem"), block("PRIVATE KEY"))
	MustWrite(t, filepath.Join(home, "large.pem"), strings.Repeat(block("CERTIFICATE"), 60_000))
	MustWrite(t, filepath.Join(home, ".npmrc"), "//npm.corp/:_authToken=hush\ncafile = ${CERTS}/both.pem\n")
	host := room.NewHost([]string{"PATH=/usr/bin:/bin", "CERTS=" + home, "SSL_CERT_FILE=" + home + "/both.pem", "PIP_CERT=" + home + "/key.pem",
		"CURL_CA_BUNDLE=" + home + "/large.pem", "REQUESTS_CA_BUNDLE=" + home, "CARGO_HTTP_CAINFO=" + home + "/missing"}, home)
	folder := MustFolder(t, box)
	rooms := room.New(room.Options{
		State: filepath.Join(folder, "state"), Enforcer: box, Visible: func(string) []string { return nil },
		Host: func(context.Context) room.Host { return host },
		Proxy: func(_ context.Context, out room.WayOut) (room.Proxy, error) {
			return egress.New(egress.Options{Rules: out.Rules})
		},
	})
	defer rooms.Close()
	r := MustPrepare(t, func() (pawl.Rooms, string) { return rooms, MustCheckout(t, box, folder) }, "npm.test:443")
	out := string(MustRun(t, r, pawl.Command{Shell: `env | grep -E '^(SSL_CERT_FILE|PIP_CERT|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|CARGO_HTTP_CAINFO|npm_config_cafile)=' | sort
cat "$SSL_CERT_FILE" "$npm_config_cafile"; ! touch "$SSL_CERT_FILE" 2>/dev/null && echo read-only; grep -r hush /run/pawl`}).Output)
	want := "SSL_CERT_FILE=/run/pawl/SSL_CERT_FILE.pem\nnpm_config_cafile=/run/pawl/npm_config_cafile.pem\n" +
		block("CERTIFICATE") + block("CERTIFICATE") + "read-only\n"
	if out != want {
		t.Errorf("a command sees\n%s, want\n%s", out, want)
	}
}
