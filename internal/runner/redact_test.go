package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/prompt"
	"pawl/internal/runner"
	secrets "pawl/internal/secret"
	"pawl/internal/tool"
)

const hidden = "sk-hunter2-hunter2-hunter2"

// MustSecretWorld is a world that knows a secret; that it is in no blob and no
// event is checked of every answer.
func MustSecretWorld(tb testing.TB, secret string) *world {
	tb.Helper()
	w := MustWorld(tb, nil)
	w.keepSecret(secret)
	return w
}

func (w *world) keepSecret(secret string) {
	w.secret = secret
	known := secrets.NewRedactor(func(string) string { return secret }, "API_KEY")
	w.r.Redact, w.r.Undecided = known.Bytes, known.Undecided
}

const redacted = "[redacted:API_KEY]"

// A secret reaches neither a blob nor an event, from wherever it comes.
func TestSecretsAreNotKept(t *testing.T) {
	w := MustSecretWorld(t, hidden)
	w.MustOpen(t)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "echo key " + hidden + "; exit 3"})
	t.Run("Tool", func(t *testing.T) {
		MustWrite(t, w.dir(".env"), "API_KEY="+hidden+"\n")
		got := must[*pawl.ToolReturned](t, w, w.call(t, "run", map[string]any{"command": "cat .env"}))
		if text := w.MustBlob(t, got.Output); !strings.Contains(text, "API_KEY="+redacted) || got.Bytes != int64(len(text)) {
			t.Errorf("%d bytes: %s", got.Bytes, text)
		}
	})
	t.Run("Model", func(t *testing.T) {
		reply := replies(pawl.StopToolUse, say("The key is "+hidden), pawl.Block{Kind: pawl.BlockOpaque, Provider: "x", Opaque: json.RawMessage(`{"thought": "` + hidden + `"}`)},
			use("1", "write", `{"path": "k", "content": "`+hidden+`"}`), use("2", "write", `{"path": "k", "mode": "`+hidden+`"}`), use("3", hidden, `"`+hidden+`"`),
			use("4", "submit_verdict", `{"criteria": [{"id": "AC-001", "status": "pass", "evidence": ["README"]}, {"id": "AC-002", "status": "fail", "evidence": [], "gap": "`+hidden+`"}], "summary": "`+hidden+`"}`))
		w.shows(t, w.base)
		got := must[*pawl.ModelReplied](t, w, w.asks(t, reply, "write", "submit_verdict"))
		if text := w.MustBlob(t, got.Text); text != "The key is "+redacted {
			t.Errorf("the text is %q", text)
		}
		if args := w.MustBlob(t, got.Calls[0].Args); args != `{"path": "k", "content": "`+redacted+`"}` {
			t.Errorf("the arguments are %s", args)
		}
		if m := w.message(t, got); compact(m.Blocks[2].Args) != compact(json.RawMessage(w.MustBlob(t, got.Calls[0].Args))) {
			t.Errorf("the message has %s", m.Blocks[2].Args)
		}
		if reason := got.Calls[3].Facts.Get("reason"); !strings.Contains(reason, redacted) {
			t.Errorf("the reason is %q", reason)
		}
	})
	t.Run("Gate", func(t *testing.T) {
		got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
		if rep := w.report(t, got); !strings.Contains(rep.Output, redacted) || !strings.Contains(got.Reason, redacted) {
			t.Errorf("judged %+v with %+v", got, rep)
		}
	})
	t.Run("Prepare", func(t *testing.T) {
		w.job.Settings.Prepare = []string{"echo " + hidden + "; exit 1"}
		defer func() { w.job.Settings.Prepare = nil }()
		if got := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base}); !strings.Contains(got.Reason, redacted) {
			t.Errorf("judged %+v", got)
		}
	})
	t.Run("Prompt", func(t *testing.T) {
		w.r.Prompts = &prompt.Assembler{}
		from := func(j *driver.Job) {
			started := *j.Started
			started.Prompts = []pawl.Input{{Name: "x.md", Blob: w.MustKeep(t, "Key "+hidden+"\n---user---\n{{.Goal}}")}}
			j.Started = &started
		}
		got := must[*pawl.PromptAssembled](t, w, &pawl.AssemblePrompt{Template: "x.md", Goal: w.MustKeep(t, "use "+hidden), Tools: []string{"read"}}, from)
		if system, user := w.MustBlob(t, got.System), w.MustBlob(t, got.Prompt); !strings.Contains(system, redacted) || !strings.Contains(user, redacted) {
			t.Errorf("got %q and %q", system, user)
		}
		w.r.Prompts = promptsFunc(func() (runner.Prompt, error) { return runner.Prompt{User: "x", Cut: []string{hidden}}, nil })
		must[*pawl.PromptAssembled](t, w, &pawl.AssemblePrompt{})
	})
	t.Run("Paths", func(t *testing.T) {
		MustWrite(t, w.dir(hidden), "x")
		w.MustCandidate(t)
	})
	t.Run("Failure", func(t *testing.T) {
		w.r.Tools = tool.New(&saying{err: errors.New(strings.Repeat("x", 280) + hidden)})
		if f := w.fails(t, w.call(t, "read", `{}`)); strings.Contains(f.Message, hidden[:6]) {
			t.Errorf("half of it is left: %s", f.Message)
		}
	})
	t.Run("Live", func(t *testing.T) {
		if said := strings.Join(w.said, ""); strings.Contains(said, hidden) || !strings.Contains(said, redacted) {
			t.Errorf("who watches hears %q", said)
		}
	})
}

// A secret is taken out before a text is cut: no half of it is left.
func TestNoHalfSecretIsKept(t *testing.T) {
	w := MustSecretWorld(t, hidden)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "true"})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Repeat("x", rapid.IntRange(0, 420).Draw(rt, "before")) + hidden
		w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
			return pawl.GateReport{Verdict: pawl.VerdictFail, Reason: text}, nil
		})
		half := func(where, s string) {
			if strings.Contains(s, hidden[:4]) {
				rt.Fatalf("half of it is left in the %s: %s", where, s)
			}
		}
		half("verdict", must[*pawl.GateJudged](rt, w, &pawl.RunGate{Gate: "tests", Commit: w.base}).Reason)
		got := must[*pawl.ModelReplied](rt, w, w.asks(rt, replies(pawl.StopToolUse, use("1", text, `{}`), use("2", "read", quoted(map[string]any{"path": 1, text: 1}))), "read"))
		half("tool", got.Calls[0].Tool)
		half("problem", got.Calls[1].Problem)
	})
}

// Whatever a secret looks like, what is kept is still what it has to be.
func TestOddSecrets(t *testing.T) {
	w := MustWorld(t, nil)
	w.gates(pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "true"})
	for name, secret := range map[string]string{
		"JSON":      `{"type": "service_account", "private_key": "xyz"}`,
		"Quotes":    `pass"word"with"quotes`,
		"Backslash": `C:\secrets\new\token`,
		"HTML":      `a<b>&c<d>&e`,
		"Lines":     "line one\nline two\nline three",
		"Unicode":   "pässwörter-sind-lang",
	} {
		t.Run(name, func(t *testing.T) {
			w.keepSecret(secret)
			blocks := []pawl.Block{say("It is " + secret), use("1", "write", quoted(map[string]any{"path": "k", "content": secret}))}
			if json.Valid([]byte(secret)) {
				blocks = append(blocks, use("2", "write", secret), pawl.Block{Kind: pawl.BlockOpaque, Opaque: json.RawMessage(`{"x": ` + secret + `}`)})
			}
			got := must[*pawl.ModelReplied](t, w, w.asks(t, replies(pawl.StopToolUse, blocks...), "write"))
			if m := w.message(t, got); len(m.Blocks) != len(blocks) || !strings.Contains(m.Blocks[0].Text, redacted) {
				t.Errorf("the message is %+v", m)
			}
			if got.Calls[0].Problem != "" {
				t.Errorf("the call is %+v", got.Calls[0])
			}
			if len(got.Calls) > 1 && !strings.Contains(got.Calls[1].Problem, "must be a JSON object") {
				t.Errorf("what was the secret itself is %+v", got.Calls[1])
			}
			w.r.Gate = gateFunc(func(context.Context, pawl.GateRequest) (pawl.GateReport, error) {
				return pawl.GateReport{Verdict: pawl.VerdictFail, Reason: "it says " + secret, Output: secret, Error: secret,
					Tests: []pawl.TestResult{{Name: secret, Status: pawl.TestFail, Output: secret}}}, nil
			})
			judged := must[*pawl.GateJudged](t, w, &pawl.RunGate{Gate: "tests", Commit: w.base})
			if judged.Reason != "it says "+redacted || w.report(t, judged).Output != redacted || judged.Failing == 0 {
				t.Errorf("judged %+v", judged)
			}
		})
	}
	t.Run("MarksOfJSON", func(t *testing.T) { // nothing that could be read would be left: it fails closed
		w.keepSecret(`"tests":[{`)
		if f := w.fails(t, &pawl.RunGate{Gate: "tests", Commit: w.base}); f.Code != pawl.FailDefect || !strings.Contains(f.Message, "secret") {
			t.Errorf("failed with %+v", f)
		}
	})
}
