package delegate_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/config"
	"pawl/internal/delegate/claude"
	"pawl/internal/delegate/delegatetest"
	"pawl/internal/delegate/login"
)

// What a model call of the fake agent uses, in tokens.
const (
	callInput  = 1000
	callOutput = 100
	callTotal  = callInput + callOutput
)

// spend plays Claude Code with a login that asks its model until it is ended. PROVIDER is the address of
// its provider, and SESSION its name there.
func spend() {
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // the prompt
	file := filepath.Join(os.Getenv("HOME"), ".claude", ".credentials.json")
	data, err := os.ReadFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	token := strings.Split(string(data), `"`)[5]
	fmt.Printf(`{"type":"system","subtype":"init","session_id":"%s","model":"fake"}`+"\n", os.Getenv("SESSION"))
	for {
		res, err := http.Get(os.Getenv("PROVIDER") + "/call?session=" + os.Getenv("SESSION") + "&token=" + token)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if res.StatusCode != http.StatusOK {
			fmt.Println(`{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"the token is not valid","session_id":"s","total_cost_usd":0}`)
			return
		}
		if next := res.Header.Get("Token"); next != "" {
			token = next
			if err := os.WriteFile(file, loginOf(token), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		fmt.Printf(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"fake","role":"assistant","usage":{"input_tokens":%d}}},"session_id":"s"}`+"\n", callInput)
		_, _ = io.Copy(io.Discard, res.Body) // the end of the stream
		_ = res.Body.Close()
		fmt.Printf(`{"type":"stream_event","event":{"type":"message_delta","delta":{},"usage":{"output_tokens":%d}},"session_id":"s"}`+"\n", callOutput)
		fmt.Println(`{"type":"stream_event","event":{"type":"message_stop"},"session_id":"s"}`)
	}
}

func loginOf(token string) []byte {
	return fmt.Appendf(nil, `{"claudeAiOauth": {"accessToken": "%s", "accountUuid": "u"}}`, token)
}

// meter is a provider that meters what sessions use. It begins to answer a call, and ends an answer, when
// Pawl has heard of everything that the session has used so far, and does neither for a session that has
// reached its cap: both take a model longer than it takes to end a program.
type meter struct {
	mu      sync.Mutex
	changed *sync.Cond
	token   string
	refused int
	calls   int
	used    map[string]int64 // tokens
	heard   map[string]int64 // tokens
	caps    map[string]int64
}

// rotateAt is the number of calls after which the token is replaced again.
const rotateAt = 40

func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, token := r.FormValue("session"), r.FormValue("token")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case token == "token-0" && m.token == token: // it has expired, and can be refreshed once
		m.token = "token-1"
		w.Header().Set("Token", m.token)
	case token == "token-0":
		m.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	defer context.AfterFunc(r.Context(), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})()
	goesOn := func() bool {
		for r.Context().Err() == nil && (m.heard[name] < m.used[name] || m.heard[name] >= m.caps[name]) {
			m.changed.Wait()
		}
		return r.Context().Err() == nil
	}
	if !goesOn() {
		return
	}
	if m.calls++; m.calls == rotateAt {
		m.token = "token-2"
		w.Header().Set("Token", m.token)
	}
	m.used[name] += callInput
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if goesOn() {
		m.used[name] += callOutput
	}
}

func (m *meter) hear(name string, tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard[name] = max(m.heard[name], tokens)
	m.changed.Broadcast()
}

// await returns when is reports true, which it is asked when something has changed.
func (m *meter) await(is func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !is() {
		m.changed.Wait()
	}
}

// Each of 32 sessions at once with one login, whose token is replaced meanwhile, exceeds its limit by one
// model call at most.
func TestCapsOfManySessions(t *testing.T) {
	const sessions = 32
	m := &meter{token: "token-0", used: map[string]int64{}, heard: map[string]int64{}, caps: map[string]int64{}}
	m.changed = sync.NewCond(&m.mu)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	cfg, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := cfg.Delegate("claude-code")
	dir := t.TempDir()
	l := &login.Login{File: filepath.Join(dir, "login.json"), Within: d.Login.File, Identify: d.Login.Identify, Folder: filepath.Join(dir, "kept")}
	if err := os.WriteFile(l.File, loginOf("token-0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range sessions {
		m.caps[fmt.Sprint(i)] = 2*callTotal + int64(i)*137
	}
	for i := range sessions {
		all.Go(func() { m.session(t, l, server.URL, fmt.Sprint(i), filepath.Join(dir, "home", fmt.Sprint(i))) })
	}
	all.Wait()
	over := int64(0)
	for name, limit := range m.caps {
		used := m.used[name]
		over += max(used-limit, 0)
		if used < limit || used-limit > callTotal {
			t.Errorf("session %s has used %d tokens, and may use %d", name, used, limit)
		}
	}
	text, err := os.ReadFile(l.File)
	if err != nil || string(text) != string(loginOf("token-2")) {
		t.Errorf("the user's login is %s, %v", text, err)
	}
	t.Logf("%d sessions made %d calls and exceeded their limits by %d tokens together, %.2f calls each; %d calls had an old token", sessions, m.calls, over, float64(over)/callTotal/sessions, m.refused)
}

// session runs a session until its limit ends it. One that is refused begins again when another has
// refreshed the login.
func (m *meter) session(t *testing.T, l *login.Login, provider, name, home string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, m.changed.Broadcast)()
	file := filepath.Join(home, filepath.FromSlash(l.Within))
	agent := &claude.Agent{Argv: delegatetest.Play(t, "spends"), Env: []string{"HOME=" + home, "PROVIDER=" + provider, "SESSION=" + name}}
	room := delegatetest.Room(t)
	for {
		taken, err := l.Take(ctx)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700)); err != nil {
			t.Error(err)
			return
		}
		if err := os.WriteFile(file, taken, 0o600); err != nil {
			t.Error(err)
			return
		}
		turn := pawl.AgentTurn{Prompt: "spend", Access: pawl.AgentWrites, Confined: true, Limits: pawl.AgentLimits{Tokens: m.caps[name], Silence: time.Minute, ToolTime: time.Minute}}
		reply, err := agent.Turn(ctx, room, turn, func(u pawl.AgentUpdate) {
			if u.Kind == pawl.UpdateUsage {
				m.hear(name, u.Usage.Total())
			}
		})
		if _, bad := l.Return(ctx, home, taken); bad != nil {
			t.Error(bad)
			return
		}
		m.hear(name, 0) // a session that was refused may wait for the login
		if refused, ok := errors.AsType[*pawl.ModelError](err); ok && refused.Kind == pawl.ModelAuth && ctx.Err() == nil {
			m.await(func() bool { return ctx.Err() != nil || l.Changed(taken) })
			continue
		}
		if used := reply.Usage.Total(); err != nil || reply.Stop != pawl.AgentCapped || used < m.caps[name] || used-m.caps[name] > callTotal {
			t.Errorf("session %s used %d of %d tokens and ended %q, %v", name, used, m.caps[name], reply.Stop, err)
		}
		return
	}
}
