//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/model/modeltest"
	"pawl/internal/view"
)

// A run's first model call fails, and its second is refused for good. What the first one cost is
// told as spent, as lost or not at all, over the real protocol and by each command. F-38
func TestMoneyOfFailedCalls(t *testing.T) {
	t.Parallel()
	bin := pawlProgram(t)
	status := func(code int, body string) modeltest.Fault {
		return modeltest.Fault{Kind: modeltest.FaultStatus, Status: code, Header: http.Header{"Retry-After-Ms": {"1"}}, Body: body}
	}
	const none, used, lost = "none", "used", "lost"
	for name, tt := range map[string]struct {
		fault modeltest.Fault
		want  string
	}{
		"RateLimit":      {status(429, ""), none},
		"Overloaded":     {status(529, ""), none},
		"BadGateway":     {status(502, "<html>Bad gateway</html>"), none},
		"GatewayTimeout": {status(504, "<html>Gateway timeout</html>"), lost},
		"Page":           {modeltest.Fault{Kind: modeltest.FaultHTML}, none},
		"NoAnswer":       {modeltest.Fault{Kind: modeltest.FaultCut}, lost},
		"CutAtOnce":      {modeltest.Fault{Kind: modeltest.FaultCut, At: modeltest.AtStart}, lost},
		"CutInTheText":   {modeltest.Fault{Kind: modeltest.FaultCut, At: modeltest.AtText}, used},
		"CutInACall":     {modeltest.Fault{Kind: modeltest.FaultCut, At: modeltest.AtArguments}, used},
		"TimeIsUp":       {modeltest.Fault{Kind: modeltest.FaultHang, At: modeltest.AtText}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := modeltest.NewServer(modeltest.Anthropic, func(pawl.ModelRequest) modeltest.Reply {
				if calls++; calls > 1 {
					return modeltest.Reply{Fault: modeltest.Fault{Kind: modeltest.FaultStatus, Status: 401}}
				}
				r := call("submit_assessment", `{"files":1}`)
				r.Usage, r.Fault = pawl.Usage{Input: 100_000, Output: 1}, tt.fault
				return r
			})
			defer server.Close()
			v := newVictim(t, bin, killScript, map[string]string{"README": "a repository\n"})
			v.env = append(v.env, "ANTHROPIC_BASE_URL="+server.BaseURL, "ANTHROPIC_API_KEY=key")
			mustWrite(t, filepath.Join(v.home, "config", "pawl", "config.yaml"), `
retry: {first_ms: 1, cap_ms: 1}
timeouts_ms: {assess: 5000}
`)
			pawl := func(code int, args ...string) string {
				t.Helper()
				cmd := exec.Command(bin, args...)
				cmd.Dir, cmd.Env = v.repo, v.env
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
					t.Fatalf("%q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			said := pawl(13, "run", "say hello", "--recipe", "taskloop", "--unsandboxed", "--model", "anthropic/m", "--criteria", "hello")
			var s view.Summary
			if err := json.Unmarshal([]byte(pawl(0, "show", "1", "--json")), &s); err != nil {
				t.Fatal(err)
			}
			m := s.Figures()
			ok := m.Held == 0 && m.HeldTokens == 0 && s.Cost == m.Spent+m.Lost && s.Tokens == m.SpentTokens+m.LostTokens
			texts := said + pawl(0, "show", "1") + pawl(0, "why", "1") + pawl(0, "list") + pawl(0, "logs", "1")
			switch tt.want {
			case none:
				ok = ok && m.Spent == 0 && m.SpentTokens == 0 && m.Lost == 0 && m.LostTokens == 0 && !strings.Contains(strings.ToLower(texts), "lost")
			case used:
				ok = ok && m.Lost == 0 && m.LostTokens == 0 && m.Spent > 3_000_000 && m.Spent < 3_010_000 && m.SpentTokens > 100_000 &&
					strings.Contains(texts, "($3.00 spent, as estimated)") && !strings.Contains(texts, "lost")
			case lost:
				ok = ok && m.Spent == 0 && m.SpentTokens == 0 && m.Lost > 0 && m.Lost < 3_000_000 && m.LostTokens > 0 &&
					strings.Contains(texts, "Spent      $0.00 + "+m.Lost.String()+" lost of ") && strings.Contains(texts, "Spent: $0.00 + ") && strings.Contains(texts, " LOST ")
			}
			if !ok {
				t.Errorf("cost %s, %+v, want %s\n%s", s.Cost, m, tt.want, texts)
			}
			if out := pawl(0, "replay", "1"); strings.Contains(out, "DIFFERS") {
				t.Errorf("%s", out)
			}
		})
	}
}
