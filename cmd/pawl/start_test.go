//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pawl"
	"pawl/internal/model/modeltest"
	"pawl/internal/server"
)

// stranger is a client that is not this program: it knows the API alone.
type stranger struct {
	t    *testing.T
	http *http.Client
	at   string // what comes before a path
}

func (y *yard) stranger() *stranger {
	socket := y.status().Socket
	return &stranger{y.t, &http.Client{Timeout: deadline, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}, "http://localhost"}
}

// post sends a request and reads its answer, which must have a status.
func (s *stranger) post(path, body string, status int, out any) {
	s.t.Helper()
	resp, err := s.http.Post(s.at+path, "application/json", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || json.Unmarshal(data, out) != nil {
		s.t.Fatalf("POST %s %s: status %d, want %d: %v %s", path, body, resp.StatusCode, status, err, data)
	}
}

// refused checks what a request is refused with.
func (s *stranger) refused(path, body string, status int, code pawl.Code, field, saying string) {
	s.t.Helper()
	var p server.Problem
	s.post(path, body, status, &p)
	if p.Code != code || p.Field != field || !strings.Contains(p.Detail, saying) || strings.Contains(p.Detail, "fork/exec") {
		s.t.Errorf("POST %s %s: %+v", path, body, p)
	}
}

// A client that is not this program opens a project and starts a run by a recipe's name, a goal and flags,
// over HTTP and line by line; folders and keys that are not there have codes of their own. F-51
func TestStartOverTheAPI(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	dir, other, model := y.repo("shop"), y.repo("other"), y.script("s.yaml", quickScript)
	mustWrite(t, filepath.Join(dir, ".pawl/recipes/taskloop.yaml"), "extends: taskloop\n")
	mustWrite(t, filepath.Join(dir, ".pawl/config.yaml"), "gates: [{name: tests, kind: tests, command: test -e README}]\n")
	y.serve()
	api := y.stranger()

	api.refused("/v1/projects", `{"dir":"/no/such/folder"}`, 422, pawl.CodeFolder, "dir", "there is no folder /no/such/folder")
	api.refused("/v1/projects", `{"dir":"`+y.home+`"}`, 422, pawl.CodeFolder, "dir", "is not in a git repository")
	api.refused("/v1/projects", `{"dir":"`+filepath.Join(dir, "README")+`"}`, 422, pawl.CodeFolder, "dir", "there is no folder")
	api.refused("/v1/projects", `{"dir":"`+filepath.Join(dir, ".git")+`"}`, 422, pawl.CodeFolder, "dir", "inside a git folder")
	var p pawl.ProjectInfo
	api.post("/v1/projects", `{"dir":"`+dir+`"}`, 200, &p)
	runs := "/v1/projects/" + p.ID + "/runs"

	flags := `"flags":{"model":["` + model + `"],"unsandboxed":true,"complexity":2,"budget":2.5}`
	api.refused(runs, `{"goal":"x","recipe":"nope",`+flags+`}`, 404, pawl.CodeNotFound, "recipe", "there is no recipe nope")
	api.refused(runs, `{"goal":"x","dir":"`+other+`",`+flags+`}`, 422, pawl.CodeFolder, "dir", "is of another repository")
	api.refused(runs, `{"goal":"x","dir":"/no/such/folder",`+flags+`}`, 422, pawl.CodeFolder, "dir", "there is no folder")
	api.refused(runs, `{"goal":"x","dir":"shop",`+flags+`}`, 422, pawl.CodeFolder, "dir", "want the absolute path")
	api.refused(runs, `{"goal":"x","flags":{"model":["openai/gpt-5"],"unsandboxed":true}}`, 503, pawl.CodeKey, "", "there is no key for openai/gpt-5: OPENAI_API_KEY is not set")
	api.refused(runs, `{"goal":"x","flags":{"budget":"abc"}}`, 400, pawl.CodeInvalid, "flags.budget", `got "abc"`)

	var preview pawl.StartPreview
	api.post(runs+"/preview", `{"goal":"Add a till","recipe":"taskloop",`+flags+`}`, 200, &preview)
	if len(preview.Gates) != 1 || preview.Gates[0].NeverRun != "" || preview.Limits.Money != 2_500_000 || strings.Join(preview.Recipe.Replaces, "") != "taskloop" { // F-12
		t.Errorf("the preview is %+v", preview)
	}
	var run pawl.RunInfo
	api.post(runs, `{"goal":"Add a till","recipe":"taskloop",`+flags+`}`, 200, &run)
	if run.ID != "001-add-a-till" || run.Recipe != "taskloop" {
		t.Errorf("the run is %+v", run)
	}
	if out := y.must(dir, "logs", "1", "-f"); !strings.Contains(out, "COMPLETE: every gate passed") {
		t.Errorf("it says\n%s", out)
	}

	lines := y.lines()
	lines.answers(`"connect","params":{"version":"99","dir":"`+dir+`"}`, `"code":1006`, `"versions":["1"]`)
	lines.answers(`"connect","params":{"version":"1","dir":"/no/such/folder"}`, `"code":1004`, "there is no folder /no/such/folder")
	lines.answers(`"connect","params":{"version":"1","dir":"`+y.home+`"}`, `"code":1004`, "is not in a git repository")
	lines.answers(`"connect","params":{"version":"1","dir":"`+dir+`"}`, `"result"`, `\"goal\":\"Add a till\"`, `"validation_command":"`)
	lines.answers(`"loop.create_plan","params":{"description":"x","flags":{"model":["openai/gpt-5"],"unsandboxed":true}}`, `"code":1005`, "there is no key for openai/gpt-5")
	lines.answers(`"loop.create_plan","params":{"description":"x","flags":{"max_iterations":"three"}}`, `"code":-32602`, "flags.max_iterations", "want a whole number")
	lines.answers(`"loop.create_plan","params":{"description":"Add a door","recipe":"taskloop",`+flags+`}`, `"run":"002-add-a-door"`)
	y.must(dir, "logs", "2", "-f")
	if got := y.outcomes(dir); len(got) != 2 || got[0] != "ended complete" || got[1] != "ended complete" {
		t.Errorf("the runs are %q", got)
	}
}

// F-77: a client of Loopr's protocol hands over a key, as one over HTTP does. What was handed over for a run
// that has ended is not there any more.
func TestKeysLineByLine(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	const key = "sk-test-0123456789abcdef"
	var refuses atomic.Bool
	refuses.Store(true)
	model := modeltest.NewServer(modeltest.Anthropic, func(req pawl.ModelRequest) modeltest.Reply {
		if refuses.Load() {
			return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: 403}}
		}
		return steady(req)
	})
	model.Key = key
	defer model.Close()
	mustWrite(t, filepath.Join(y.home, "config", "pawl", "config.yaml"), "providers: {anthropic: {base_url: "+model.BaseURL+"}}\n")
	dir := y.repo("shop")
	y.serve()
	flags := `"recipe":"taskloop","flags":{"model":["anthropic/claude-test"],"unsandboxed":true,"complexity":2,"gate":["tests=true"]}`

	without := y.lines()
	without.answers(`"connect","params":{"version":"1","dir":"`+dir+`"}`, `"result"`)
	without.answers(`"loop.create_plan","params":{"description":"do it",`+flags+`}`, `"code":1005`, "there is no key for anthropic/claude-test")
	with := y.lines()
	with.answers(`"connect","params":{"version":"1","dir":"`+dir+`","environ":["ANTHROPIC_API_KEY=`+key+`"]}`, `"result"`)
	with.answers(`"loop.create_plan","params":{"description":"do it",`+flags+`}`, `"run":"001-do-it"`)
	if out, err := y.pawl(dir, "logs", "1", "-f").CombinedOutput(); !strings.Contains(string(out), "HALTED") {
		t.Fatalf("%v\n%s", err, out)
	}
	var loops []struct{ ID string }
	if err := json.Unmarshal([]byte(y.must(dir, "loops", "1", "--json")), &loops); err != nil || len(loops) != 1 {
		t.Fatalf("%v: %+v", err, loops)
	}
	refuses.Store(false)
	without.answers(`"loop.resume","params":{"id":"`+loops[0].ID+`"}`, `"code":1005`)
	without.answers(`"loop.resume","params":{"id":"`+loops[0].ID+`","environ":["ANTHROPIC_API_KEY=`+key+`"]}`, `"result"`)
	if out := y.must(dir, "logs", "1", "-f"); !strings.Contains(out, "COMPLETE: every gate passed") {
		t.Errorf("it says\n%s", out)
	}
}

// speaker speaks line by line.
type speaker struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (y *yard) lines() *speaker {
	y.t.Helper()
	conn, err := new(net.Dialer).DialContext(y.t.Context(), "unix", y.status().Socket)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		y.t.Fatal(err)
	}
	return &speaker{y.t, conn, bufio.NewReader(conn)}
}

// answers sends a request and checks what its answer says.
func (s *speaker) answers(request string, saying ...string) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.conn, `{"id":7,"method":%s}`+"\n", request); err != nil {
		s.t.Fatal(err)
	}
	for {
		answer, err := s.in.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("%s: %v", request, err)
		}
		if !bytes.HasPrefix(answer, []byte(`{"id":7,`)) {
			continue // an event
		}
		for _, want := range saying {
			if !bytes.Contains(answer, []byte(want)) && !bytes.Contains(answer, []byte(strings.ReplaceAll(want, `\"`, `"`))) {
				s.t.Errorf("%s is answered with %s, want %s", request, answer, want)
			}
		}
		return
	}
}

// A run is resolved by the process that has the project, with the settings of the shell that asks: its
// variables, its own file and its flags, and nobody else's. F-51
func TestSettingsOfTheShell(t *testing.T) {
	t.Parallel()
	y := newYard(t, pawlProgram(t))
	dir, model := y.repo("shop"), y.script("s.yaml", quickScript)
	of := func(environ ...string) *yard { // another shell of the user's
		z := *y
		z.env = append(append([]string{}, y.env...), environ...)
		return &z
	}
	daemon := of("PAWL_LIMITS_MONEY_USD=1", "PAWL_LIMITS_TOKENS=1000", "PAWL_MODEL="+model)
	daemon.serve()
	mustWrite(t, filepath.Join(y.home, "mine", "pawl", "config.yaml"), "sandbox: off\nlimits: {time_minutes: 77}\n")
	shell := of("PAWL_LIMITS_MONEY_USD=3", "PAWL_MODEL=script:s.yaml", "XDG_CONFIG_HOME="+filepath.Join(y.home, "mine"))
	out := shell.must(y.home, "-C", dir, "run", "do it", "--max-iterations", "4", "--gate", "tests=true", "--model", model)
	if want := "limits   $3.00, 5,000,000 tokens, 1h17m, 4 iterations"; !strings.Contains(out, want) {
		t.Errorf("it does not say %q:\n%s", want, out)
	}
	mustWrite(t, filepath.Join(dir, "s.yaml"), quickScript)
	out = shell.must(dir, "run", "do more", "--gate", "tests=true") // the file is found where the shell is
	if !strings.Contains(out, "models   script/script") {
		t.Errorf("it says\n%s", out)
	}
	if out, err := of("PAWL_LIMITS_MONEY_USD=much").pawl(dir, "run", "do it", "--model", model).CombinedOutput(); err == nil || !strings.Contains(string(out), "$PAWL_LIMITS_MONEY_USD: limits.money_usd: want dollars") {
		t.Errorf("%v\n%s", err, out)
	}
	var p pawl.ProjectInfo
	api := y.stranger()
	api.post("/v1/projects", `{"dir":"`+dir+`"}`, 200, &p)
	var preview pawl.StartPreview
	api.post("/v1/projects/"+p.ID+"/runs/preview", `{"goal":"do it","flags":{"gate":["tests=true"],"unsandboxed":true}}`, 200, &preview)
	if preview.Limits.Money != pawl.Dollars || preview.Limits.Tokens != 1000 { // who hands over nothing has the daemon's
		t.Errorf("the preview is %+v", preview)
	}
}
