package delegates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
)

// bed is a machine with some agents.
type bed struct {
	app   *cli.App
	out   bytes.Buffer
	world World
	bin   string
	asked []string // agents that were probed
}

func newBed(t *testing.T, environ ...string) *bed {
	t.Helper()
	b := &bed{bin: t.TempDir()}
	for _, name := range []string{"claude", "codex", "gemini"} {
		mustWrite(t, filepath.Join(b.bin, name), "#!/bin/sh\n", 0o755)
	}
	home := t.TempDir()
	mustWrite(t, filepath.Join(home, ".claude", ".credentials.json"), `{"claudeAiOauth": {"accessToken": "secret-token"}}`, 0o600)
	b.app = &cli.App{Out: &b.out, Err: &b.out, Environ: append([]string{"HOME=" + home, "PATH=relative:" + b.bin, "OPENAI_API_KEY=secret-key"}, environ...)}
	b.world.Version = func(_ context.Context, d config.Delegate, program string) (string, error) {
		if program != filepath.Join(b.bin, d.Command[0]) {
			t.Errorf("the program of %s is %s", d.Name, program)
		}
		switch d.Name {
		case "claude-code":
			return "2.1.330", nil
		case "codex":
			return "1.0.0", nil
		}
		return "", errors.New("it does not start")
	}
	return b
}

func mustWrite(tb testing.TB, name, text string, mode os.FileMode) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		tb.Fatal(err)
	}
}

// run runs the command and returns what it prints, with BIN for the folder of programs, and its exit
// code.
func (b *bed) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	b.out.Reset()
	c := New(b.app, b.world)
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	code := b.app.Report(c.ExecuteContext(t.Context()))
	text := strings.ReplaceAll(b.out.String(), b.bin, "BIN")
	if strings.Contains(text, "secret-") {
		t.Errorf("a key or a login is shown:\n%s", text)
	}
	return text, code
}

func TestTable(t *testing.T) {
	got, code := newBed(t).run(t)
	want := `NAME             VERSION   PURSE                   INSTALLED
claude-code      2.1.330   login                   BIN/claude
codex            1.0.0*    key in $OPENAI_API_KEY  BIN/codex
opencode         –         key in $OPENAI_API_KEY  –
gemini           unknown*  none                    BIN/gemini
copilot          –         key in $OPENAI_API_KEY  –
qwen             –         key in $OPENAI_API_KEY  –
kimi             –         none                    –
goose            –         key in $OPENAI_API_KEY  –
cursor           –         none                    –
agy              –         none                    –
claude-code-acp  –         login                   –
codex-acp        –         key in $OPENAI_API_KEY  –

* Pawl was not tested with this version.
`
	if d := cmp.Diff(want, got); d != "" || code != 0 {
		t.Errorf("exit code %d (-want +got)\n%s", code, d)
	}
}

func TestOne(t *testing.T) {
	b := newBed(t)
	got, code := b.run(t, "gemini")
	want := `name       gemini
title      Gemini CLI
program    BIN/gemini
version    unknown (Pawl was not tested with it)
purse      nothing pays for Gemini CLI: ~/.gemini/oauth_creds.json does not exist, and GEMINI_API_KEY is not set
           start gemini and log in, or export GEMINI_API_KEY=…
models     gemini/default
`
	if d := cmp.Diff(want, got); d != "" || code != 0 {
		t.Errorf("exit code %d (-want +got)\n%s", code, d)
	}
	if got, _ := b.run(t, "claude-code"); !strings.Contains(got, "models     claude-code/haiku, claude-code/sonnet, claude-code/opus\n") {
		t.Errorf("got %s", got)
	}
	if got, code := b.run(t, "clippy"); code != cli.ExitNotFound || !strings.Contains(got, `there is no coding agent "clippy"`) {
		t.Errorf("exit code %d: %s", code, got)
	}
}

func TestJSON(t *testing.T) {
	b := newBed(t)
	b.app.JSON = true
	got, code := b.run(t)
	var list []Status
	if err := json.Unmarshal([]byte(got), &list); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v\n%s", code, err, got)
	}
	first := list[0]
	if first.Name != "claude-code" || first.Program != "BIN/claude" || first.Version != "2.1.330" || !first.KnownVersion || first.Purse != config.PurseLogin || first.Agent.Command[0] != "claude" {
		t.Errorf("got %+v", first)
	}
	if list[3].Problem == "" || list[3].Purse != "" || list[1].KnownVersion {
		t.Errorf("got %+v and %+v", list[3], list[1])
	}
}

func TestProbe(t *testing.T) {
	b := newBed(t)
	if got, code := b.run(t, "--probe"); code != cli.ExitUnavailable || !strings.Contains(got, "--probe is not available") {
		t.Errorf("exit code %d: %s", code, got)
	}
	var mu sync.Mutex
	b.world.Probe = func(_ context.Context, d config.Delegate, model string) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		b.asked = append(b.asked, d.Name+"/"+model)
		if d.Name == "codex" {
			return Answer{Model: "default", Took: time.Second}, pawl.Errorf(pawl.CodeUnavailable, "access is refused").WithHint("check the key")
		}
		return Answer{Model: "haiku", Took: 1230 * time.Millisecond, Cost: 3100}, nil
	}
	got, code := b.run(t, "--probe")
	for _, want := range []string{
		"pawl: asking for one answer of claude-code (login), codex (key in $OPENAI_API_KEY); each is stopped at 100000 tokens, with a key at $0.0500, or after 2m0s\n",
		"pawl: codex: no\n", "pawl: claude-code: yes, haiku in 1.2 s for $0.0031\n",
		"login                   yes, haiku in 1.2 s for $0.0031\n", "key in $OPENAI_API_KEY  no\n", "none                    not asked: nothing pays\n",
		"\ncodex did not answer: access is refused\n  check the key\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q:\n%s", want, got)
		}
	}
	slices.Sort(b.asked)
	if d := cmp.Diff([]string{"claude-code/", "codex/"}, b.asked); d != "" || code != cli.ExitUnavailable {
		t.Errorf("exit code %d, asked (-want +got)\n%s", code, d)
	}
	b.asked = nil
	if got, code := b.run(t, "claude-code/opus", "--probe"); code != 0 || !strings.Contains(got, "answer     yes, haiku in 1.2 s for $0.0031\n") || b.asked[0] != "claude-code/opus" {
		t.Errorf("exit code %d, asked %v: %s", code, b.asked, got)
	}
	b.app.JSON = true
	b.app.Err = io.Discard // where the progress is
	got, _ = b.run(t, "--probe")
	var list []Status
	if err := json.Unmarshal([]byte(got), &list); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if s := list[0]; !s.Answers || s.AnswerModel != "haiku" || s.AnswerMS != 1230 || s.AnswerCost != 3100 {
		t.Errorf("got %+v", s)
	}
	if s := list[1]; s.Answers || s.AnswerProblem != "access is refused" || s.AnswerHint != "check the key" {
		t.Errorf("got %+v", s)
	}
}

func TestModelWithoutProbe(t *testing.T) {
	b := newBed(t)
	for arg, want := range map[string]string{"codex/x": "a model is only used with --probe", "codex/": "names no model"} {
		if got, code := b.run(t, arg); code != cli.ExitInvalid || !strings.Contains(got, want) {
			t.Errorf("exit code %d: %s", code, got)
		}
	}
}

// What the user's own file says is wrong is reported.
func TestMistake(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "pawl", "config.yaml"), "delegates: {codex: {purse: plan}}\n", 0o600)
	if got, code := newBed(t, "XDG_CONFIG_HOME="+dir).run(t); code != cli.ExitInvalid || !strings.Contains(got, "delegates.codex.purse: want one of auto, login, key") {
		t.Errorf("exit code %d: %s", code, got)
	}
}
