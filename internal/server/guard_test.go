package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
)

// mustTCP is a daemon that listens for browsers too.
func mustTCP(t *testing.T) (b *daemonBed, address, token string) {
	t.Helper()
	file := filepath.Join(mustTemp(t), "token")
	b = newDaemonBed(t, func(d *Daemon) { d.TCP, d.Token = "127.0.0.1:0", file })
	var about pawl.DaemonInfo
	b.mustAsk(http.MethodGet, "/v1/daemon", "", &about)
	mustBe(t, file, 0o600)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b, about.Address, strings.TrimSpace(string(data))
}

// raw sends a request as it is written and reads the head of the answer.
func raw(t *testing.T, network, address, text string) *http.Response {
	t.Helper()
	conn := mustDial(t, network, address)
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// Over TCP nothing is answered to who has no token, names another host or comes from
// another site; streams are no exception. TRUST rows 24, 25, 27
func TestTCP(t *testing.T) {
	b, address, token := mustTCP(t)
	_, port, _ := net.SplitHostPort(address)
	bearer := "Authorization: Bearer " + token + "\r\n"
	for _, test := range []struct {
		name, request string
		status        int
	}{
		{"Token", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n" + bearer, 200},
		{"Localhost", "GET /v1/daemon HTTP/1.1\r\nHost: localhost:PORT\r\n" + bearer, 200},
		{"IPv6", "GET /v1/daemon HTTP/1.1\r\nHost: [::1]:PORT\r\n" + bearer, 200},
		{"OwnOrigin", "GET /v1/daemon HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: http://localhost:PORT\r\n" + bearer, 200},
		{"NoToken", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n", 401},
		{"NoTokenForAStream", "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n", 401},
		{"NoTokenForWhatIsNotThere", "GET /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n", 401},
		{"OtherToken", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer " + token[1:] + "x\r\n", 401},
		{"EmptyToken", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer \r\n", 401},
		{"TokenInTheAddress", "GET /v1/daemon?token=" + token + " HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n", 401},
		{"TokenAsACookie", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: pawl_session=" + token + "\r\n", 401},
		{"OtherHost", "GET /v1/daemon HTTP/1.1\r\nHost: evil.test\r\n" + bearer, 421},
		{"OtherPort", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:1\r\n" + bearer, 421},
		{"NoPort", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1\r\n" + bearer, 421},
		{"HostOfTheSocket", "GET /v1/daemon HTTP/1.1\r\nHost: pawl\r\n" + bearer, 421},
		{"OtherHostInTheAddress", "GET http://evil.test/v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n" + bearer, 421},
		{"OtherOrigin", "POST /v1/projects HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://evil.test\r\n" + bearer, 403},
		{"OtherOriginOfAStream", "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://evil.test\r\n" + bearer, 403},
		{"OtherNameOfThisMachine", "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://localhost:PORT\r\n" + bearer, 403},
		{"CrossSiteStream", "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSec-Fetch-Site: cross-site\r\n" + bearer, 403},
		{"HandoverIsOfTheSocket", "POST /v1/handover HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n" + bearer, 404},
		{"LargeHeader", "GET /v1/daemon HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + strings.Repeat("x", MaxHeader+8<<10) + "\r\n" + bearer, 431},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp := raw(t, "tcp", address, strings.ReplaceAll(test.request, "PORT", port)+"\r\n")
			if resp.StatusCode != test.status {
				t.Errorf("status %s", resp.Status)
			}
			if origin := resp.Header.Get("Access-Control-Allow-Origin"); origin != "" {
				t.Errorf("pages of %s may read it", origin)
			}
		})
	}
	if b.handed != 0 {
		t.Error("it made room")
	}
	t.Run("OnlyThisMachine", func(t *testing.T) {
		for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.test:80", "127.0.0.1"} {
			if _, err := listenTCP(t.Context(), address, filepath.Join(mustTemp(t), "token")); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%s: %v", address, err)
			}
		}
	})
}

// A link begins a session of a browser once; then a cookie does, which no page can
// read and no other site sends.
func TestSessions(t *testing.T) {
	b, address, token := mustTCP(t)
	var link Link
	b.mustAsk(http.MethodPost, "/v1/session", "{}", &link)
	path, ok := strings.CutPrefix(link.URL, "http://"+address)
	if !ok || strings.Contains(link.URL, token) {
		t.Fatalf("the link is %s", link.URL)
	}
	get := func(path, more string) *http.Response {
		return raw(t, "tcp", address, "GET "+path+" HTTP/1.1\r\nHost: "+address+"\r\n"+more+"\r\n")
	}
	if resp := get("/v1/session?code=guess", ""); resp.StatusCode != 401 {
		t.Errorf("a guess: %s", resp.Status)
	}
	resp := get(path, "")
	cookies := resp.Cookies()
	if resp.StatusCode != 303 || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%s with %v", resp.Status, cookies)
	}
	cookie := "Cookie: " + cookies[0].Name + "=" + cookies[0].Value + "\r\n"
	if resp := get("/v1/daemon", cookie); resp.StatusCode != 200 {
		t.Errorf("with the cookie: %s", resp.Status)
	}
	if resp := get("/v1/daemon", cookie+"Origin: http://evil.test\r\n"); resp.StatusCode != 403 {
		t.Errorf("with the cookie, from another site: %s", resp.Status)
	}
	if resp := get(path, ""); resp.StatusCode != 401 || len(resp.Cookies()) > 0 {
		t.Errorf("the link once more: %s", resp.Status)
	}
	t.Run("OldLink", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for age, status := range map[time.Duration]int{LinkTime: 303, LinkTime + 1: 401} {
				a := &access{origin: "http://x"}
				_, code, _ := strings.Cut(a.link().URL, "?")
				time.Sleep(age) //nolint:forbidigo // fake time
				if w := recorded(a, code); w.StatusCode != status {
					t.Errorf("a link %s old: %s", age, w.Status)
				}
			}
		})
	})
}

func recorded(a *access, query string) *http.Response {
	r, _ := http.NewRequest(http.MethodGet, "http://x"+sessionPath+"?"+query, nil)
	w := httptest.NewRecorder()
	a.begin(w, r)
	return w.Result()
}

// The token's file is this user's alone, or nothing is served.
func TestToken(t *testing.T) {
	file := filepath.Join(mustTemp(t), "token")
	token, err := readToken(file)
	if err != nil || len(token) < 43 {
		t.Fatalf("%q, %v", token, err)
	}
	if again, err := readToken(file); err != nil || again != token {
		t.Errorf("it is %q now, %v", again, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(file); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("others can read it: %v", err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "guess!", "Z3Vlc3M", token[1:], token + "!"} {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readToken(file); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("a token file with %q: %v", text, err)
		}
	}
	if err := os.WriteFile(file, []byte(" "+token+"\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readToken(file); err != nil || got != token {
		t.Errorf("a token between spaces is read as %q, %v", got, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(file); pawl.CodeOf(err) != pawl.CodeUnavailable {
		t.Errorf("a folder as the token file: %v", err)
	}
	if _, err := readToken(filepath.Join(file, "no", "token")); err == nil {
		t.Error("a token is created below a folder that cannot exist")
	}
}

// On the socket of a daemon, absolute addresses and other hosts are refused as on
// that of a project; handover is answered here.
func TestDaemonSocket(t *testing.T) {
	b := newDaemonBed(t, nil)
	if resp := raw(t, "unix", b.socket, "GET http://evil/v1/daemon HTTP/1.1\r\nHost: pawl\r\n\r\n"); resp.StatusCode != 421 {
		t.Errorf("another host in the address: %s", resp.Status)
	}
	if status, _, _ := b.ask(http.MethodGet, "/v1/events", "", "Origin: http://evil.test"); status != 403 {
		t.Errorf("another site reads the stream: %d", status)
	}
	if status, _, _ := b.ask(http.MethodPost, "/v1/handover", "{}"); status != 200 || b.handed != 1 {
		t.Errorf("handover: %d", status)
	}
	if status, _, _ := b.ask(http.MethodPost, "/v1/session", "{}"); status != 503 {
		t.Errorf("a link where there is no TCP: %d", status)
	}
}

// Half a request, or half a first byte, is given a few seconds; others are answered
// meanwhile.
func TestSlowRequests(t *testing.T) {
	for name, text := range map[string]string{
		"Nothing": "", "HalfAHeader": "GET /v1/daemon HTTP/1.1\r\nHost: pa", "HalfABody": "POST /v1/projects HTTP/1.1\r\nHost: pawl\r\nContent-Length: 100\r\n\r\n{",
		"HalfABodyNobodyWants": "POST /v1/nothing HTTP/1.1\r\nHost: pawl\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				d := Daemon{Projects: one{}, About: func() pawl.DaemonInfo { return pawl.DaemonInfo{} }}
				h := newHandler(nil, &d, nil)
				ctx := t.Context()
				stopped := make(chan error, 1)
				fork := newFork(ctx, p, nil)
				go func() { stopped <- serve(ctx, &served{fork, h.face(faceSocket, socketHosts)}) }()
				conn, err := p.dial(ctx, "", "")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, text); err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				answer, _ := io.ReadAll(conn)
				if took := time.Since(begin); took > BodyTimeout || took < HeaderTimeout-time.Second {
					t.Errorf("it was closed after %s", took)
				}
				if name == "HalfABody" && !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
					t.Errorf("it was answered %.60q", answer)
				}
				_ = fork.Close()
				if err := <-stopped; err == nil {
					t.Error("it serves on")
				}
			})
		})
	}
}

// steered is a service that keeps the commands that it is given.
type steered struct {
	pawl.Service
	all chan pawl.Steering
}

func (s steered) Steer(_ context.Context, _ pawl.RunID, in pawl.Steering) error {
	s.all <- in
	return nil
}

// Whoever has the token may be a program: that a person gives a command at a terminal is believed
// over the socket alone, so that no token overrules the halt of a review. D-62
func TestTerminalOverTheSocketAlone(t *testing.T) {
	said := make(chan pawl.Steering, 1)
	file := filepath.Join(mustTemp(t), "token")
	b := newDaemonBed(t, func(d *Daemon) { d.Projects, d.TCP, d.Token = one{steered{all: said}}, "127.0.0.1:0", file })
	const path, body = "/v1/projects/shop/runs/007-add/steer", `{"verb":"override","gate":"safety","reason":"a false alarm","by":"ann","terminal":true}`
	var done Done
	b.mustAsk(http.MethodPost, path, body, &done)
	if in := <-said; !in.Terminal || in.Gate != "safety" || in.Verb != pawl.SteerOverride {
		t.Errorf("over the socket: %+v", in)
	}
	var about pawl.DaemonInfo
	b.mustAsk(http.MethodGet, "/v1/daemon", "", &about)
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(about.Address)
	resp := raw(t, "tcp", about.Address, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, port, strings.TrimSpace(string(token)), len(body), body))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("over TCP: status %d", resp.StatusCode)
	}
	if in := <-said; in.Terminal || in.Reason != "a false alarm" {
		t.Errorf("over TCP: %+v", in)
	}
}
