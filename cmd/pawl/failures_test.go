//go:build unix

package main

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/model/modeltest"
)

// refusing is an engineer whose provider refuses, for good, what refuses returns true for.
func refusing(t *testing.T, status int, kind, message string, refuses func(req pawl.ModelRequest, turn int) bool) *modeltest.Server {
	server := modeltest.NewServer(modeltest.Anthropic, func(req pawl.ModelRequest) modeltest.Reply {
		tools, turn := asked(req)
		switch {
		case refuses(req, turn):
			return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: status,
				Body: `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`}}
		case tools["submit_assessment"]:
			return call("submit_assessment", `{"files":1,"lines":1,"new_dependencies":0,"type":"documentation","risks":[],"why":"one line"}`)
		case tools["submit_verdict"]:
			return call("submit_verdict", `{"criteria":[{"id":"AC-001","status":"pass","evidence":["hello.txt:1"]}],"summary":"it says hello"}`)
		case turn == 0:
			return call("write", `{"path":"hello.txt","content":"goodbye\n"}`)
		}
		return call("submit_result", `{"summary":"written"}`)
	})
	t.Cleanup(server.Close)
	return server
}

// halts runs pawl to a halt and returns what it printed; each face says message once and ends with
// the step that the report ends with.
func halts(t *testing.T, server *modeltest.Server, message, report, next string) string {
	t.Helper()
	v := newVictim(t, pawlProgram(t), killScript, map[string]string{"README": "a repository\n"})
	v.env = append(v.env, "ANTHROPIC_BASE_URL="+server.BaseURL, "ANTHROPIC_API_KEY=sk-test-0123456789abcdef")
	command := func(args ...string) (string, int) {
		cmd := exec.Command(v.bin, args...)
		cmd.Dir, cmd.Env = v.repo, v.env
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := command("run", "say hello in hello.txt", "--recipe", "taskloop", "--unsandboxed", "--complexity", "2", "--model", "anthropic/claude-test",
		"--require-green", "--gate", "tests=grep -q hello hello.txt", "--criteria", "hello.txt says hello")
	log, _, found := strings.Cut(out, " - HALTED") // iterations have frames too
	if code != 13 || !found || strings.Count(log, message) != 1 || strings.Count(out, message) != 2 || !strings.HasSuffix(out, "\n"+report) {
		t.Errorf("exit code %d; the failure is in the log %d times, and in all %d times; want a report that ends with\n%s\n%s",
			code, strings.Count(log, message), strings.Count(out, message), report, out)
	}
	for _, face := range []string{"why", "show"} {
		if text, code := command(face); code != 0 || strings.Count(text, message) != 1 || !strings.HasSuffix(text, "\nNext: "+next+"\n") {
			t.Errorf("pawl %s: exit code %d, want %q\n%s", face, code, next, text)
		}
	}
	return log
}

// A key that is refused in the middle of a run is said once, and the report, show and why end with
// which variable to set. F-49
func TestRefusedKeyEndsWithWhatToSet(t *testing.T) {
	t.Parallel()
	server := refusing(t, http.StatusUnauthorized, "authentication_error", "invalid x-api-key", func(_ pawl.ModelRequest, turn int) bool { return turn > 0 })
	host := strings.TrimPrefix(server.BaseURL, "http://")
	const run = "pawl resume 001-say-hello-in-hello-txt"
	fix := "set ANTHROPIC_API_KEY to a key that is valid at " + host
	halts(t, server, "access is refused (HTTP 401: "+host+" refuses the key in ANTHROPIC_API_KEY: invalid x-api-key)", "Fix:     "+fix+"\nResume:  "+run+"\n", fix+", then "+run)
}

// The five members of a council whose calls are refused alike are one failure. F-49
func TestCouncilFailsOnce(t *testing.T) {
	t.Parallel()
	const why = "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens"
	server := refusing(t, http.StatusBadRequest, "invalid_request_error", why, func(req pawl.ModelRequest, _ int) bool {
		tools, _ := asked(req)
		return tools["submit_proposal"]
	})
	const run = "pawl resume 001-say-hello-in-hello-txt"
	log := halts(t, server, "the provider refuses the request (HTTP 400: "+why+")", "Resume:  "+run+"\n", run)
	_, after, ok := strings.Cut(log, "Council: 5 members convene")
	if after, _, _ = strings.Cut(after, "\n\n"); !ok || strings.Count(after, "\n") > 5 { // the report follows
		t.Errorf("the council's end takes more than three lines:\n%s", after)
	}
}
