package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// provider is a model provider whose refresh tokens work once.
type provider struct {
	mu       sync.Mutex
	changed  *sync.Cond
	token    string
	issued   int
	refused  int
	returned int // how often a session has returned a login
}

func newProvider(t *testing.T, token string) (*provider, string) {
	p := &provider{token: token}
	p.changed = sync.NewCond(&p.mu)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.URL.Path {
	case "/refresh":
		if r.FormValue("token") != p.token {
			p.refused++
			http.Error(w, strconv.Itoa(p.returned), http.StatusUnauthorized)
			return
		}
		p.issued++
		p.token = fmt.Sprintf("token-%d", p.issued)
		fmt.Fprint(w, p.token)
	case "/returned":
		p.returned++
		p.changed.Broadcast()
	case "/wait": // until more logins have been returned
		for strconv.Itoa(p.returned) == r.FormValue("returned") {
			p.changed.Wait()
		}
		fmt.Fprint(w, p.returned)
	}
}

func call(ctx context.Context, address string) (status int, body string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, strings.TrimSpace(string(data)), err
}

// session takes the login, refreshes it as an agent would, and returns it. A session that is refused
// takes the login again when it has changed.
func session(ctx context.Context, l *Login, provider, home string) error {
	file := filepath.Join(home, filepath.FromSlash(l.Within))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	for {
		taken, err := l.Take(ctx)
		if err != nil {
			return err
		}
		var login fields
		if err := errors.Join(json.Unmarshal(taken, &login), os.WriteFile(file, taken, 0o600)); err != nil {
			return err
		}
		status, answer, err := call(ctx, provider+"/refresh?token="+url.QueryEscape(login.Token))
		if err != nil {
			return err
		}
		if status == http.StatusOK {
			if err := os.WriteFile(file, made(login.Account, answer), 0o600); err != nil {
				return err
			}
		}
		said, err := l.Return(ctx, home, taken)
		if err != nil {
			return err
		}
		if status == http.StatusOK {
			if !strings.Contains(said, "updated") || strings.Contains(said, "previous") {
				return fmt.Errorf("Return said %q", said)
			}
			_, _, err := call(ctx, provider+"/returned")
			return err
		}
		if said != "" {
			return fmt.Errorf("after a refusal, Return said %q", said)
		}
		for !l.Changed(taken) { // whoever has refreshed it has yet to return it
			if _, answer, err = call(ctx, provider+"/wait?returned="+answer); err != nil {
				return err
			}
		}
	}
}

// sessions runs eight sessions at once, three times each.
func sessions(ctx context.Context, l *Login, provider, homes string) error {
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for range 3 {
				errs[i] = errors.Join(errs[i], session(ctx, l, provider, filepath.Join(homes, strconv.Itoa(i))))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// childEnv is set in a process that runs sessions: the provider's URL, the user's file, the folder and
// the homes, in lines.
const childEnv = "PAWL_TEST_LOGIN_SESSIONS"

func TestMain(m *testing.M) {
	if v := strings.Split(os.Getenv(childEnv), "\n"); len(v) == 4 {
		l := &Login{File: v[1], Within: within, Identify: identify, Folder: v[2]}
		if err := sessions(context.Background(), l, v[0], v[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// settled checks that the user has the login that the provider accepts, and that nothing was set aside.
func (b *bed) settled(p *provider, issued int) {
	b.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	b.user(made("ann", p.token))
	b.asideIs(displaced)
	b.asideIs(rejected)
	if p.issued != issued || p.returned != issued {
		b.t.Errorf("%d logins were refreshed and %d returned, want %d", p.issued, p.returned, issued)
	}
	b.t.Logf("%d refusals", p.refused)
}

func TestSessionsOfOneProcess(t *testing.T) {
	b := newBed(t)
	p, address := newProvider(t, "first")
	b.must(sessions(t.Context(), b.Login, address, t.TempDir()))
	b.settled(p, 24)
}

func TestSessionsOfTwoProcesses(t *testing.T) {
	b := newBed(t)
	p, address := newProvider(t, "first")
	self, err := os.Executable()
	b.must(err)
	var all sync.WaitGroup
	for range 2 {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{address, b.File, b.Folder, t.TempDir()}, "\n"))
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	b.settled(p, 48)
}
