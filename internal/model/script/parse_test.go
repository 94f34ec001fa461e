package script_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/model/script"
)

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, tt := range map[string]struct{ yaml, want string }{
		"an unknown key":              {"answers:\n  - say: hi\n    sya: ho\n", `demo.yaml:3: unknown field "sya"`},
		"an unknown key of when":      {"answers:\n  - when:\n      rol: a\n    say: hi\n", `demo.yaml:3: unknown field "rol"`},
		"an unknown key at the top":   {"answer:\n  - say: hi\n", `demo.yaml:1: unknown field "answer"`},
		"a key twice":                 {"answers:\n  - say: hi\n    say: ho\n", `demo.yaml:3: mapping key "say" already defined`},
		"a word for a number":         {"answers:\n  - say: hi\n  - when: {turn: last}\n    say: ho\n", "demo.yaml:3: want a number, got a text"},
		"a negative number":           {"answers:\n  - say: hi\n    usage: {input: -1}\n", "demo.yaml:3: "},
		"a mapping for a text":        {"answers:\n  - say: {a: b}\n", "demo.yaml:2: want a text, got a mapping"},
		"an answer that is a word":    {"answers:\n  - hello\n", "demo.yaml:2: "},
		"answers that are no list":    {"answers: hello\n", "demo.yaml:1: "},
		"broken YAML":                 {"answers:\n  - say: [hi\n", "demo.yaml:2: "},
		"a list at the top":           {"- say: hi\n", "demo.yaml:1: "},
		"nothing":                     {"", "demo.yaml:1: the script has no answers"},
		"only comments":               {"# later\n", "demo.yaml:1: the script has no answers"},
		"no answers":                  {"answers: []\n", "demo.yaml:1: the script has no answers"},
		"two documents":               {"answers:\n  - say: hi\n---\nanswers: []\n", "demo.yaml:3: a script is one YAML document"},
		"an anchor":                   {"answers:\n  - &a\n    say: hi\n", "demo.yaml:2: anchors, aliases"},
		"an alias":                    {"answers:\n  - say: *a\n", "demo.yaml:2: anchors, aliases"},
		"a tag":                       {"answers:\n  - say: !!binary aGk=\n", "demo.yaml:2: anchors, aliases"},
		"an answer that says nothing": {"answers:\n  - when: {turn: 1}\n", "demo.yaml:2: the answer needs say, calls or error"},
		"two tools in one call":       {"answers:\n  - calls: [{read: {}, list: {}}]\n", "demo.yaml:2: call 1 of this answer: want one tool"},
		"arguments that are a list":   {"answers:\n  - calls: [{read: [a]}]\n", "demo.yaml:2: call 1 of this answer: the arguments of read are not a mapping"},
		"a number JSON cannot hold":   {"answers:\n  - calls: [{read: {n: .inf}}]\n", "demo.yaml:2: call 1 of this answer: the arguments of read"},
		"an unknown stop":             {"answers:\n  - {say: hi, stop: never}\n", "demo.yaml:2: stop is end"},
		"an unknown last":             {"answers:\n  - {say: hi, when: {last: [ok, failed]}}\n", `demo.yaml:2: last is ok, error or interrupted, not "failed"`},
		"an unknown kind of error":    {"answers:\n  - error: {kind: cosmic}\n", "demo.yaml:2: error.kind is one of"},
		"words that are never heard":  {"answers:\n  - {say: hi, error: {kind: quota}}\n", "demo.yaml:2: what it says is never heard"},
		"a delay of a day":            {"answers:\n  - {say: hi, delay_ms: 86400000}\n", "demo.yaml:2: delay_ms is 600000 at most"},
		"nesting without end":         {"answers: " + strings.Repeat("[", 1000), "demo.yaml:1: more than 50"},
		"dashes without end":          {strings.Repeat("- ", 20_000), "demo.yaml:1: more than 50"},
		"keys without end":            {"answers:\n" + strings.Repeat("  - say: hi\n", 60_000), "the script is too long"},
		"too many bytes":              {"#" + strings.Repeat("x", script.MaxBytes), "demo.yaml: a script may have 1048576 bytes at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := script.Parse("demo.yaml", []byte(tt.yaml))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Parse returned %v, want it to say %q", err, tt.want)
			}
			if pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("the code is %s", pawl.CodeOf(err))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("answers:\n  - when: {role: a, turn: [1, 2]}\n    say: hi\n    calls:\n      - write: {path: a}\n")
	f.Add("answers:\n  - error: {kind: quota, times: 1}\n")
	f.Add("? a\n: - b\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("fuzz.yaml", []byte(text))
		if (s == nil) == (err == nil) {
			t.Errorf("Parse returned %v and %v", s, err)
		}
	})
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	_, err := script.Load(path)
	if pawl.CodeOf(err) != pawl.CodeNotFound || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a missing file returned %v", err)
	}
	if err := os.WriteFile(path, []byte("answers:\n  - say: hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := script.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Call(t.Context(), pawl.ModelRequest{Model: "m"}, nil)
	if err != nil || reply.Message.Blocks[0].Text != "hi" {
		t.Errorf("Call returned %+v, %v", reply, err)
	}
	if _, err := script.Load(t.TempDir()); pawl.CodeOf(err) != pawl.CodeInvalid {
		t.Errorf("Load of a folder returned %v", err)
	}
}
