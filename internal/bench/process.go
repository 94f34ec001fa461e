package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pawl/internal/client"
	"pawl/internal/pattern"
	"pawl/internal/project"
)

// user is a user of the program that is measured, with folders of their own.
type user struct {
	program string
	dir     string
	model   string   // the base address of the model they call; empty = there is none
	environ []string // what else their programs have in their environment
}

// newUser makes a user with empty folders below dir.
func newUser(program, dir string) (*user, error) {
	dir, err := os.MkdirTemp(dir, "u")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	return &user{program: program, dir: dir}, nil
}

// remove removes the user's folders.
func (u *user) remove() { _ = os.RemoveAll(u.dir) }

func (u *user) state() string { return filepath.Join(u.dir, "state") }

func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), u.program, args...) // whoever starts it ends it
	cmd.Dir = u.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(u.dir, "home"),
		"XDG_STATE_HOME=" + u.state(), "XDG_CONFIG_HOME=" + filepath.Join(u.dir, "config"), "TMPDIR=" + os.TempDir()}
	cmd.Env = append(cmd.Env, u.environ...)
	if u.model != "" {
		cmd.Env = append(cmd.Env, "PAWL_PROVIDERS_OPENAI_CHAT_BASE_URL="+u.model, "OPENAI_API_KEY=none")
	}
	return cmd
}

// daemon is a daemon as a process of its own.
type daemon struct {
	*client.Daemon
	cmd   *exec.Cmd
	began time.Time // when it was about to be executed
	said  bytes.Buffer
}

// daemonPatience is how long a daemon may take to be ready: one that takes longer hangs.
const daemonPatience = time.Minute

// serve starts the user's daemon and returns when clients can connect.
func (u *user) serve() (*daemon, error) {
	told, ready, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer told.Close()
	d := &daemon{cmd: u.command("serve"), Daemon: client.NewDaemon(project.HomeAt(u.state()).Socket())}
	d.cmd.Env = append(d.cmd.Env, "PAWL_DAEMON_READY=3")
	d.cmd.ExtraFiles = []*os.File{ready}
	d.cmd.Stdout, d.cmd.Stderr = &d.said, &d.said
	d.began = time.Now()
	err = d.cmd.Start()
	_ = ready.Close()
	if err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	_ = told.SetReadDeadline(time.Now().Add(daemonPatience))
	if line, err := io.ReadAll(told); err != nil || string(line) != "ready\n" {
		d.kill()
		return nil, fmt.Errorf("the daemon did not begin to serve: %w: %s%s", err, line, d.said.Bytes())
	}
	return d, nil
}

// kill ends it as kill -9 does. What it said can be read then.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	d.Close()
}

// end ends it in order.
func (d *daemon) end() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	err := d.cmd.Wait()
	d.Close()
	if err != nil {
		return fmt.Errorf("the daemon: %w: %s", err, d.said.Bytes())
	}
	return nil
}

// modelServer is a model's server: it is asked and never answers, or lets every run
// call a tool.
type modelServer struct {
	http *http.Server
	url  string

	mu    sync.Mutex // guards what follows
	asked map[string]time.Time
	more  chan struct{} // closed when somebody has asked, and made anew
	reply []byte        // what is answered; nil = nothing is, ever
}

// sayCommand is an answer that calls the tool run with a command that takes long.
const sayCommand = `data: {"id":"1","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"run","arguments":"{\"command\":\"sleep 1000\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}

data: [DONE]

`

func newModelServer(ctx context.Context) (*modelServer, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as a model's server: %w", err)
	}
	m := &modelServer{url: "http://" + l.Addr().String() + "/v1"}
	m.expect(nil)
	m.http = &http.Server{Handler: m, ReadHeaderTimeout: daemonPatience}
	go func() { _ = m.http.Serve(l) }()
	return m, nil
}

func (m *modelServer) close() { _ = m.http.Close() }

// expect forgets who has asked, and says what is answered from now on.
func (m *modelServer) expect(reply []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.more, m.reply = map[string]time.Time{}, make(chan struct{}), reply
}

// goal finds the run in a prompt.
var goal = pattern.Of(`bench goal [0-9]+`)

// ServeHTTP implements [http.Handler].
func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	if r.Method == http.MethodGet { // whoever starts a run asks a local server what it has
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	if who := string(goal.Find(body)); m.asked[who].IsZero() {
		m.asked[who] = at
	}
	close(m.more)
	m.more = make(chan struct{})
	reply := m.reply
	m.mu.Unlock()
	if reply == nil {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(reply) // who asked may be gone
}

// heard waits until so many runs have asked, and returns when the last of them did.
func (m *modelServer) heard(ctx context.Context, runs int) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, daemonPatience)
	defer cancel()
	for {
		m.mu.Lock()
		n, more := len(m.asked), m.more
		for _, at := range m.asked {
			if at.After(last) {
				last = at
			}
		}
		m.mu.Unlock()
		if n >= runs {
			return last, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return last, errors.Join(fmt.Errorf("%d of %d runs called a model", n, runs), ctx.Err())
		}
	}
}
