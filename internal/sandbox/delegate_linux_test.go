package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
)

// gatewayProxy is an egress proxy that only answers requests to itself, with the gateway's address.
type gatewayProxy struct {
	*http.Server
}

func (gatewayProxy) Traffic() []pawl.Contact { return nil }

// Serve implements [room.Proxy].
func (p gatewayProxy) Serve(l net.Listener) error {
	if err := p.Server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Close implements [room.Proxy]. The listener may have ended with the room.
func (p gatewayProxy) Close() error {
	if err := p.Server.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// agents are the rooms of a new project with a worktree.
type agents struct {
	*estate
	outs []room.WayOut // what proxies were made with
}

// MustAgents opens the rooms of a new project whose proxies are gateways only.
func MustAgents(tb testing.TB, box *sandbox.Box) *agents {
	tb.Helper()
	folder := MustFolder(tb, box)
	a := &agents{estate: &estate{folder: folder, dir: filepath.Join(folder, "dir")}}
	a.Rooms = room.New(room.Options{
		State: filepath.Join(folder, "state"), Enforcer: box,
		Visible: func(string) []string { return nil },
		Host: func(context.Context) room.Host {
			return room.NewHost([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(folder, "user")}, "")
		},
		Proxy: func(_ context.Context, out room.WayOut) (room.Proxy, error) {
			a.outs = append(a.outs, out)
			return gatewayProxy{&http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%s of %s\n", r.URL.Path, out.Gateway.Address)
			})}}, nil
		},
	})
	tb.Cleanup(func() {
		if err := errors.Join(a.Close(), a.Remove("001")); err != nil {
			tb.Error(err)
		}
	})
	return a
}

// spec describes the room of an agent called claude.
func (a *agents) spec() pawl.DelegateSpec {
	return pawl.DelegateSpec{AgentRoom: pawl.AgentRoom{Run: "001", Name: "001", Tree: a.dir}, Agent: "claude"}
}

func mustDelegate(tb testing.TB, rooms *room.Rooms, spec pawl.DelegateSpec) pawl.DelegateRoom {
	tb.Helper()
	r, err := rooms.Delegate(tb.Context(), spec)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// delegate runs a shell line in the room of an agent.
func (a *agents) delegate(tb testing.TB, spec pawl.DelegateSpec, shell string) string {
	tb.Helper()
	return a.says(tb, mustDelegate(tb, a.Rooms, spec), nil, shell)
}

// What an agent keeps in its home is there the next time, and no other agent or room sees it.
func TestDelegateHome(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		a := MustAgents(t, box)
		other := a.spec()
		other.Agent = "codex"
		a.delegate(t, a.spec(), `echo session > "$HOME/kept"; echo file > file`)
		if got := a.delegate(t, other, `cat file; ls -A "$HOME"`); got != "file" {
			t.Errorf("another agent sees %q", got)
		}
		if got := a.agent(t, "001", `cat file; ls -A "$HOME"`); got != "file" {
			t.Errorf("a tool sees %q", got)
		}
		r := mustDelegate(t, a.Rooms, a.spec())
		home, err := r.Home()
		if content, err2 := os.ReadFile(filepath.Join(home, "kept")); err != nil || err2 != nil || string(content) != "session\n" {
			t.Errorf("the home %s has %q, %v, %v", home, content, err, err2)
		}
		if got := a.says(t, r, nil, `cat "$HOME/kept" file`); got != "session\nfile" {
			t.Errorf("the agent sees %q", got)
		}
		if err := a.Leave("001", "001"); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(a.folder, "state", "rooms", "agents", "001", "*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		if got := a.delegate(t, a.spec(), `ls -A "$HOME"`); got != "" {
			t.Errorf("after Leave the home has %q", got)
		}
	})
}

// Files of the home are written anew each time, for the agent's user alone, and nothing that the
// agent made in their place leads out of its home.
func TestDelegateHomeFiles(t *testing.T) {
	mechanisms(t, func(t *testing.T, box *sandbox.Box) {
		a := MustAgents(t, box)
		outside := filepath.Join(a.folder, "outside")
		MustMkdir(t, outside)
		MustWrite(t, filepath.Join(outside, "settings"), "untouched")
		spec := a.spec()
		spec.Home = []pawl.RoomFile{
			{Path: ".agent/settings", Data: []byte("ours")}, {Path: ".agent/bin/key", Data: []byte("#!/bin/sh\necho key\n"), Executable: true},
			{Path: "top", Data: []byte("top")},
		}
		const look = `cd "$HOME"; stat -c '%a %n' .agent/settings .agent/bin/key top; cat .agent/settings top; .agent/bin/key; echo more >> .agent/settings`
		const want = "600 .agent/settings\n700 .agent/bin/key\n600 top\nourstopkey"
		if got := a.delegate(t, spec, look); got != want {
			t.Errorf("the agent sees\n%s, want\n%s", got, want)
		}
		for what, shell := range map[string]string{
			"changed":           `rm "$HOME/top"; chmod 000 "$HOME/.agent/bin"`,
			"links to files":    `cd "$HOME" && rm top && ln -s "$OUTSIDE/settings" top && ln -sf "$OUTSIDE/settings" .agent/settings && ln -s "$OUTSIDE/settings" top.pawl-new`,
			"links to folders":  `cd "$HOME" && rm -r .agent && ln -s "$OUTSIDE" .agent`,
			"relative links":    `cd "$HOME" && rm -r .agent && ln -s ../../../../../../outside .agent`,
			"folders for files": `cd "$HOME" && rm top && mkdir -p top/x top.pawl-new/y`,
			"files for folders": `cd "$HOME" && rm -r .agent && touch .agent`,
			"pipes":             `cd "$HOME" && rm top && mkfifo top top.pawl-new`,
			"a locked home":     `chmod 000 "$HOME"`,
		} {
			if got := a.delegate(t, spec, "OUTSIDE="+outside+"; "+shell+" && echo done"); got != "done" {
				t.Fatalf("%s: %s", what, got)
			}
			if got := a.delegate(t, spec, look); got != want {
				t.Errorf("%s: the agent sees\n%s, want\n%s", what, got, want)
			}
			found, err := os.ReadDir(outside)
			content, err2 := os.ReadFile(filepath.Join(outside, "settings"))
			if err != nil || err2 != nil || len(found) != 1 || string(content) != "untouched" {
				t.Errorf("%s: outside are %v, %q, %v, %v", what, found, content, err, err2)
			}
		}
		for _, path := range []string{"../x", "/x", "", ".", "x/", "x/../y"} {
			spec.Home = []pawl.RoomFile{{Path: path}}
			if _, err := a.Delegate(t.Context(), spec); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: the error is %v", path, err)
			}
		}
	})
}

// A read-only worktree can be read and not written to, and can be written to afterwards.
func TestDelegateReadOnly(t *testing.T) {
	test := func(t *testing.T, a *agents) {
		spec := a.spec()
		if got := a.delegate(t, spec, "echo one > file && cat file"); got != "one" {
			t.Fatalf("a room that can write says %q", got)
		}
		spec.ReadOnly = true
		got := a.delegate(t, spec, `cat file; for c in "touch new" "rm file" "mkdir folder" "sh -c 'echo two > file'"; do eval "$c" 2>/dev/null && echo "$c"; done; touch "$HOME/x" "$TMPDIR/x" && echo home`)
		if got != "one\nhome" {
			t.Errorf("a room that cannot says %q", got)
		}
		if got := a.agent(t, "001", "echo three > file && cat file"); got != "three" {
			t.Errorf("afterwards, a tool says %q", got)
		}
		if got := a.delegate(t, spec, "cat file"); got != "three" {
			t.Errorf("afterwards, the agent sees %q", got)
		}
	}
	t.Run("Plain", func(t *testing.T) { test(t, MustAgents(t, MustConfined(t))) })
	t.Run("Joined", func(t *testing.T) {
		j := MustJoin(t)
		j.dir = filepath.Join(j.folder, "tree", "files")
		MustWrite(t, j.reach(t, "ours"), "ours\n")
		test(t, &agents{estate: j.estate})
		if content, err := os.ReadFile(j.reach(t, "file")); err != nil || string(content) != "three\n" {
			t.Errorf("the worktree has %q, %v", content, err)
		}
		if out, err := j.run(t.Context(), "cat below ours", ""); out != "below\nours\n" || err != nil {
			t.Errorf("a program of ours sees %q, %v", out, err)
		}
		if err := j.Leave("001", "001"); err != nil {
			t.Error(err)
		}
	})
}

// The folders of an agent's program are shown and cannot be written to; those that hold secrets are
// refused.
func TestDelegatePrograms(t *testing.T) {
	a := MustAgents(t, MustConfined(t))
	programs := filepath.Join(a.folder, "programs")
	MustMkdir(t, programs)
	MustMkdir(t, filepath.Join(programs, "bin"))
	MustWrite(t, filepath.Join(programs, "bin", "agent"), "#!/bin/sh\necho agent $1 $NAME\n")
	if err := os.Chmod(filepath.Join(programs, "bin", "agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := a.spec()
	spec.Programs, spec.Environ = []string{programs, "/usr/bin"}, []string{"NAME=value", "TERM=agent"}
	got := a.delegate(t, spec, fmt.Sprintf("cd %s && bin/agent works; touch x 2>/dev/null || echo read-only; echo $TERM", programs))
	if got != "agent works value\nread-only\nagent" {
		t.Errorf("the agent says %q", got)
	}
	if got := a.agent(t, "001", "ls "+programs+" 2>&1 >/dev/null | wc -l"); got != "1" {
		t.Errorf("a tool sees the program: %q", got)
	}
	user := filepath.Join(a.folder, "user")
	for _, dir := range []string{user, filepath.Join(user, ".claude"), filepath.Join(user, ".claude", "local"), filepath.Join(user, "tools")} {
		MustMkdir(t, dir)
	}
	if err := os.Symlink(filepath.Join(user, ".claude"), filepath.Join(user, "tools", "link")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{
		user, a.folder, "/", filepath.Join(user, ".claude", "local"), filepath.Join(user, "tools", "link"), filepath.Join(a.folder, "state"),
		filepath.Join(a.folder, "state", "rooms"), "/etc", "/proc", "/home", "relative", filepath.Join(programs, "bin", "agent"),
		programs + "/../programs", filepath.Join(a.folder, "missing"),
	} {
		spec.Programs = []string{folder}
		if _, err := a.Delegate(t.Context(), spec); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%s: the error is %v", folder, err)
		}
	}
	spec.Programs = nil
	if got := a.delegate(t, spec, "echo open"); got != "open" {
		t.Errorf("afterwards, the agent says %q", got)
	}
}

// An agent reaches the gateway and nothing else, and is told of a proxy only if there are rules.
func TestDelegateGateway(t *testing.T) {
	both(t, func(t *testing.T, box *sandbox.Box) {
		a := MustAgents(t, box)
		spec := a.spec()
		spec.Gateway = &pawl.Gateway{Address: "https://models.test/v1", Token: "token"}
		ask := func(spec pawl.DelegateSpec) string {
			r := mustDelegate(t, a.Rooms, spec)
			defer r.Close()
			port, ok := strings.CutPrefix(r.Gateway(), "http://127.0.0.1:")
			if !ok {
				t.Fatalf("the gateway is at %q", r.Gateway())
			}
			const request = `exec 3<>/dev/tcp/127.0.0.1/%s && printf 'GET /messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3 && cat <&3; env | grep -i _proxy= | sort`
			return string(MustRun(t, r, pawl.Command{Argv: []string{MustBash(t), "-c", fmt.Sprintf(request, port)}}).Output)
		}
		if got := ask(spec); !strings.Contains(got, "/messages of https://models.test/v1") || strings.Contains(strings.ToLower(got), "_proxy") {
			t.Errorf("the agent sees\n%s", got)
		}
		spec.Egress = []string{"npm.test:443"}
		got := ask(spec)
		proxied := strings.Contains(got, "\nhttps_proxy=http://127.0.0.1:3128\n") && strings.Contains(got, "\nno_proxy=localhost,127.0.0.1,::1\n")
		if !strings.Contains(got, "/messages of https://models.test/v1") || proxied != box.Confined() {
			t.Errorf("with rules the agent sees\n%s", got)
		}
		rules := slices.Clone(spec.Egress)
		if !box.Confined() {
			rules = nil
		}
		if len(a.outs) != 2 || a.outs[0].Rules != nil || !slices.Equal(a.outs[1].Rules, rules) || a.outs[1].Gateway != spec.Gateway {
			t.Errorf("the proxies were made with %+v", a.outs)
		}
		r := mustDelegate(t, a.Rooms, a.spec())
		if r.Gateway() != "" {
			t.Errorf("without a gateway there is %s", r.Gateway())
		}
		if box.Confined() {
			if got := a.says(t, r, nil, "grep -c : /proc/net/dev; env | grep 3128"); got != "1" {
				t.Errorf("without a gateway the agent sees\n%s", got)
			}
		}
		r.Close()
	})
}

// The gateway also works where the worktree is joined, and after the process that holds it died.
func TestDelegateGatewayJoined(t *testing.T) {
	box := MustConfined(t)
	a := MustAgents(t, box)
	MustCheckout(t, box, a.folder)
	j := mustJoinIn(t, box, a.estate)
	spec := a.spec()
	spec.Tree = filepath.Join(j.folder, "tree", "files")
	spec.Gateway = &pawl.Gateway{Address: "https://models.test/v1", Token: "token"}
	const request = `exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET /messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3 && cat <&3`
	ask := func(r pawl.Room) {
		t.Helper()
		if got := MustRun(t, r, pawl.Command{Argv: []string{MustBash(t), "-c", request}}); !strings.Contains(string(got.Output), "/messages of https://models.test/v1") {
			t.Errorf("the agent sees %s", got.Output)
		}
	}
	r := mustDelegate(t, a.Rooms, spec)
	ask(r)
	holder := holderOf(t, r)
	unix.Kill(holder, unix.SIGKILL)
	waitGone(t, []int{holder})
	ask(r)
	if err := errors.Join(r.Close(), a.Part(j.folder)); err != nil {
		t.Error(err)
	}
}

// echo answers each connection to a listener with what it receives, in upper case, when the client
// has sent everything.
func echo(l net.Listener, done chan<- error) {
	conn, err := l.Accept()
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(conn); err == nil {
			_, err = io.WriteString(conn, strings.ToUpper(string(text)))
		}
		err = errors.Join(err, conn.Close())
	}
	done <- err
}

// A command in the room reaches a socket of ours through the relay.
func TestDelegateSocket(t *testing.T) {
	both(t, func(t *testing.T, box *sandbox.Box) {
		a := MustAgents(t, box)
		r := mustDelegate(t, a.Rooms, a.spec())
		defer r.Close()
		done := make(chan error, 1)
		say := func(relay []string, input string) string {
			t.Helper()
			result := MustRun(t, r, pawl.Command{Argv: relay, Input: io.NopCloser(strings.NewReader(input))})
			if result.ExitCode != 0 {
				t.Errorf("the relay ended with %d: %s", result.ExitCode, result.Output)
			}
			return string(result.Output)
		}
		earlier, relay, err := r.Listen("tools.sock")
		if err != nil {
			t.Fatal(err)
		}
		go echo(earlier, done)
		large := strings.Repeat("hello ", 10_000)
		if got := say(relay, large); got != strings.ToUpper(large) {
			t.Errorf("the command receives %d bytes, want %d", len(got), len(large))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		l, relay, err := r.Listen("tools.sock")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := earlier.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the earlier socket says %v", err)
		}
		if err := earlier.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closing the earlier socket says %v", err)
		}
		go echo(l, done)
		if got := say(relay, "again"); got != "AGAIN" {
			t.Errorf("the command receives %q", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		// The relay ends with the connection although its standard input goes on.
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, err = io.WriteString(conn, "bye")
				err = errors.Join(err, conn.Close())
			}
			done <- err
		}()
		input, endless := io.Pipe()
		defer endless.Close()
		if result := MustRun(t, r, pawl.Command{Argv: relay, Input: input}); string(result.Output) != "bye" || result.ExitCode != 0 {
			t.Errorf("the relay ended with %d: %q", result.ExitCode, result.Output)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, name := range []string{"", ".", "..", "a/b", strings.Repeat("x", 200)} {
			if _, _, err := r.Listen(name); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("%q: the error is %v", name, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close the socket says %v", err)
		}
		if _, _, err := r.Listen("tools.sock"); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("after Close the error is %v", err)
		}
		next := mustDelegate(t, a.Rooms, a.spec())
		defer next.Close()
		if result := MustRun(t, next, pawl.Command{Argv: relay}); result.ExitCode != 1 || !strings.Contains(string(result.Output), "connect to") {
			t.Errorf("after Close the relay ends with %d: %s", result.ExitCode, result.Output)
		}
	})
}

// Commands other than the relay can connect to a socket as well.
func TestDelegateSocketIsOrdinary(t *testing.T) {
	a := MustAgents(t, MustConfined(t))
	r := mustDelegate(t, a.Rooms, a.spec())
	defer r.Close()
	if MustRun(t, r, pawl.Command{Shell: "command -v python3"}).ExitCode != 0 {
		t.Skip("python3 is not installed")
	}
	l, relay, err := r.Listen("tools.sock")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go echo(l, done)
	const client = `import socket,sys
s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"hi"); s.shutdown(1); print(s.recv(9).decode())`
	result := MustRun(t, r, pawl.Command{Argv: []string{"python3", "-c", client, relay[len(relay)-1]}})
	if string(result.Output) != "HI\n" {
		t.Errorf("the client says %s", result.Output)
	}
	l.Close()
	if err := <-done; result.ExitCode == 0 && err != nil {
		t.Error(err)
	}
}

// One room is shared by those who describe it alike. Another one, and that of the tools, waits until
// all have closed it.
func TestDelegateRoomsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		MustMkdir(t, filepath.Join(folder, "dir"))
		a := &agents{estate: &estate{Rooms: newRooms(sandbox.Unconfined(), folder), dir: filepath.Join(folder, "dir")}}
		defer a.Close()
		spec := a.spec()
		spec.Home = []pawl.RoomFile{{Path: "file", Data: []byte("one")}}
		first := mustDelegate(t, a.Rooms, spec)
		home, _ := first.Home()
		MustWrite(t, filepath.Join(home, "file"), "mine")
		alike := spec
		alike.Home = []pawl.RoomFile{{Path: "file", Data: []byte("one")}}
		alike.Refused = func(pawl.Contact) {}
		second := mustDelegate(t, a.Rooms, alike)
		if content, err := os.ReadFile(filepath.Join(home, "file")); err != nil || string(content) != "mine" {
			t.Errorf("while it is in use, the home has %q, %v", content, err)
		}

		other := spec
		other.ReadOnly = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Delegate(ctx, other); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if _, err := a.Agent(ctx, spec.AgentRoom); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}

		opened := make(chan pawl.DelegateRoom)
		go func() {
			r, err := a.Delegate(t.Context(), other)
			if err != nil {
				t.Error(err)
			}
			opened <- r
		}()
		synctest.Wait()
		if err := errors.Join(first.Close(), first.Close()); err != nil { // the second time is no use
			t.Error(err)
		}
		synctest.Wait()
		select {
		case <-opened:
			t.Error("another room was opened while one is in use")
		default:
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		third := <-opened
		if _, err := second.Run(t.Context(), pawl.Command{Shell: "true"}); pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("a closed room says %v", err)
		}
		if content, err := os.ReadFile(filepath.Join(home, "file")); err != nil || string(content) != "one" {
			t.Errorf("opened anew, the home has %q, %v", content, err)
		}

		// Leave does not let anybody wait for ever.
		tools := make(chan error)
		go func() {
			_, err := a.Agent(t.Context(), spec.AgentRoom)
			tools <- err
		}()
		synctest.Wait()
		if err := a.Leave("001", "001"); err != nil {
			t.Error(err)
		}
		if err := <-tools; pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("after Leave the error is %v", err)
		}
		if err := third.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The room of the tools and that of an agent are opened in turn; whoever keeps one that was closed
// does not get into the other.
func TestDelegateReplacesTools(t *testing.T) {
	j := MustJoin(t)
	j.dir = filepath.Join(j.folder, "tree", "files")
	a := &agents{estate: j.estate}
	tools := j.agent(t)
	if got := a.says(t, tools, nil, "echo tool > by; echo $HOME"); got != "/home/pawl" {
		t.Errorf("a tool says %q", got)
	}
	spec := a.spec()
	spec.Environ = []string{"SECRET=secret"}
	r := mustDelegate(t, a.Rooms, spec)
	if got := string(MustRun(t, r, pawl.Command{Shell: "cat by; echo $SECRET"}).Output); got != "tool\nsecret\n" {
		t.Errorf("the agent says %q", got)
	}
	if result, err := tools.Run(t.Context(), pawl.Command{Shell: "echo $SECRET"}); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("a closed room says %q, %v", result.Output, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if got := a.says(t, j.agent(t), nil, "cat by; echo $SECRET"); got != "tool" {
		t.Errorf("a tool says %q", got)
	}
	if err := j.Leave("001", "001"); err != nil {
		t.Error(err)
	}
}

// Close ends what runs.
func TestDelegateCloseEndsCommands(t *testing.T) {
	both(t, func(t *testing.T, box *sandbox.Box) {
		a := MustAgents(t, box)
		r := mustDelegate(t, a.Rooms, a.spec())
		token := newToken(t)
		begun, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := r.Run(t.Context(), pawl.Command{Shell: "echo begun; sleep " + token, Progress: onLine("begun", func() { close(begun) })})
			ended <- err
		}()
		<-begun
		closed := make(chan error)
		go func() { closed <- r.Close() }()
		if err := <-ended; pawl.CodeOf(err) != pawl.CodeState {
			t.Errorf("the command ended with %v", err)
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

func TestDelegateNames(t *testing.T) {
	a := MustAgents(t, sandbox.Unconfined())
	for _, agent := range []string{"", "../x", "a/b", `a\b`, "a b", strings.Repeat("a", 51)} {
		spec := a.spec()
		spec.Agent = agent
		if _, err := a.Delegate(t.Context(), spec); pawl.CodeOf(err) != pawl.CodeInvalid {
			t.Errorf("%q: the error is %v", agent, err)
		}
	}
	spec := a.spec()
	spec.Environ = []string{"=hush"}
	if _, err := a.Delegate(t.Context(), spec); pawl.CodeOf(err) != pawl.CodeInvalid || strings.Contains(err.Error(), "hush") {
		t.Errorf("the error is %v", err)
	}
}

// What an agent would use of the repository is not in its room, and is still in the worktree.
func TestDelegateHides(t *testing.T) {
	hides := func(spec pawl.DelegateSpec, names ...string) pawl.DelegateSpec {
		spec.Hide = names
		return spec
	}
	test := func(t *testing.T, a *agents) {
		spec := a.spec()
		a.agent(t, "001", "mkdir .plugins && echo evil > .plugins/x.js && echo evil > settings && ln -s settings link")
		got := a.delegate(t, hides(spec, ".plugins", "settings", "absent"), `ls -A .plugins; cat settings; touch .plugins/y settings 2>/dev/null; cat link; ls absent 2>/dev/null; echo end`)
		if got != "end" {
			t.Errorf("the agent sees %q", got)
		}
		if got := a.agent(t, "001", "cat .plugins/x.js settings; ls .plugins"); got != "evil\nevil\nx.js" {
			t.Errorf("afterwards, a tool sees %q", got)
		}
		for _, name := range []string{"link", "../x", ".", "/etc"} {
			if _, err := a.Delegate(t.Context(), hides(spec, name)); err == nil {
				t.Errorf("%s can be hidden", name)
			}
		}
	}
	t.Run("Plain", func(t *testing.T) { test(t, MustAgents(t, MustConfined(t))) })
	t.Run("Joined", func(t *testing.T) {
		j := MustJoin(t)
		j.dir = filepath.Join(j.folder, "tree", "files")
		test(t, &agents{estate: j.estate})
		if err := j.Leave("001", "001"); err != nil {
			t.Error(err)
		}
	})
	t.Run("Unconfined", func(t *testing.T) {
		a := MustAgents(t, sandbox.Unconfined())
		a.agent(t, "001", "mkdir .plugins")
		if _, err := a.Delegate(t.Context(), hides(a.spec(), ".plugins")); pawl.CodeOf(err) != pawl.CodeUnavailable {
			t.Errorf("the error is %v", err)
		}
		if got := a.delegate(t, hides(a.spec(), "absent"), "echo ok"); got != "ok" {
			t.Errorf("without anything to hide, the agent says %q", got)
		}
	})
}

// What agents take from a repository is hidden as the worktree has it when a turn begins, at any depth and behind links,
// and no recording sees it. What the user asks for is shown. F-125
func TestDelegateHidesSettings(t *testing.T) {
	spec := func(a *agents) pawl.DelegateSpec {
		s := a.spec()
		s.Hides = func(path string, isFolder bool) bool {
			return filepath.Base(path) == ".agent" && isFolder || strings.HasPrefix(path, ".agent/") || filepath.Base(path) == "RULES.md" && !isFolder
		}
		return s
	}
	test := func(t *testing.T, a *agents) {
		a.agent(t, "001", `mkdir -p .agent/skills deep/er plain node_modules && echo evil >.agent/skills/x && echo evil >.agent/kept && echo evil >deep/er/RULES.md &&
			echo text >notes && ln -s notes RULES.md && echo text >plain/file && ln -s ../plain deep/.agent && ln -s ../../plain deep/er/.agent && ln -s /etc/hostname plain/RULES.md &&
			mkdir odd && ln -s /etc odd/out && ln -s out/hostname odd/RULES.md && mkdir odd/a odd/b && ln -s RULES.md odd/a/RULES.md && ln -s ../RULES.md/x odd/b/RULES.md`)
		const look = `ls -A .agent; cat RULES.md deep/er/RULES.md notes 2>&1; touch .agent/y RULES.md 2>/dev/null; ls plain 2>&1; echo end`
		if got := a.delegate(t, spec(a), look); got != "end" {
			t.Errorf("the agent sees %q", got)
		}
		asked := spec(a)
		asked.Shows = func(path string) bool {
			return path == ".agent" || path == ".agent/kept" || path == "notes" || path == "plain"
		}
		if got := a.delegate(t, asked, `cat .agent/kept notes plain/file; ls .agent/skills; echo more >>.agent/kept`); got != "evil\ntext\ntext" {
			t.Errorf("where it is asked for, the agent sees %q", got)
		}
		a.agent(t, "001", "mkdir new && echo evil >new/RULES.md")
		if got := a.delegate(t, spec(a), "cat new/RULES.md; echo end"); got != "end" {
			t.Errorf("of what came later, the agent sees %q", got)
		}
		if got := a.agent(t, "001", "cat .agent/skills/x .agent/kept deep/er/RULES.md notes plain/file; find . -name y"); got != "evil\nevil\nmore\nevil\ntext\ntext" {
			t.Errorf("afterwards, the worktree has %q", got)
		}
		a.agent(t, "001", "ln -s .. deep/er/up && rm deep/er/.agent && ln -s . deep/er/.agent")
		if _, err := a.Delegate(t.Context(), spec(a)); pawl.CodeOf(err) != pawl.CodeState || !strings.Contains(err.Error(), "deep/er/.agent of the repository is a link to a folder that it is in") {
			t.Errorf("the error is %v", err)
		}
	}
	t.Run("Plain", func(t *testing.T) { test(t, MustAgents(t, MustConfined(t))) })
	t.Run("Joined", func(t *testing.T) {
		j := MustJoin(t)
		j.dir = filepath.Join(j.folder, "tree", "files")
		test(t, &agents{estate: j.estate})
		if err := j.Leave("001", "001"); err != nil {
			t.Error(err)
		}
	})
	t.Run("Unconfined", func(t *testing.T) {
		a := MustAgents(t, sandbox.Unconfined())
		a.agent(t, "001", "echo text >RULES.md")
		if got := a.delegate(t, spec(a), "cat RULES.md"); got != "text" {
			t.Errorf("where nothing can be hidden, the agent sees %q", got)
		}
	})
}
