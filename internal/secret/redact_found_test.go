package secret

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactFound(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"AWS", "id = " + awsKey + " # mine", "id = [redacted:aws-access-token] # mine"},
		{"PEM", "key: |\n" + pemKey + "rest", "key: |\n" + strings.Repeat("[redacted:private-key]\n", 14) + "rest"},
		{"CurlUser", `curl -u "anna:` + envValue + `" https://a.example`, `curl -u "[redacted:curl-auth-user]" https://a.example`},
		{"InJSON", `{"content":"A=1\n` + awsKey + `\nB=2"}`, `{"content":"A=1\n[redacted:aws-access-token]\nB=2"}`},
		{"AssignedInJSON", `{"content":"{\"password\": \"` + envValue + `\"}"}`, `{"content":"{\"password\": \"[redacted:generic-api-key]\"}"}`},
		{"CurlInJSON", `{"command":"curl -u \"anna:` + envValue + `\" https://a.example"}`, `{"command":"curl -u \"[redacted:curl-auth-user]\" https://a.example"}`},
		{"Colored", "\x1b[31m" + awsKey + "\x1b[0m", "\x1b[31m[redacted:aws-access-token]\x1b[0m"},
		{"ColoredInJSON", `"\u001b[31m` + awsKey + `\u001b[0m"`, `"\u001b[31m[redacted:aws-access-token]\u001b[0m"`},
		{"BetterName", "GITHUB_TOKEN=" + githubKey + "\n", "GITHUB_TOKEN=[redacted:github-pat]\n"},
		{"MarkedLine", strings.Replace(pemKey, strings.Split(pemKey, "\n")[4], "[redacted:SHOP_KEY]", 1),
			strings.Repeat("[redacted:private-key]\n", 4) + "[redacted:SHOP_KEY]\n" + strings.Repeat("[redacted:private-key]\n", 9)},
		{"Number", `{"discord_client_id": 123456789012345678 }`, `{"discord_client_id": 123456789012345678 }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (*Redactor)(nil).Text(c.in)
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if again := (*Redactor)(nil).Text(got); again != got {
				t.Errorf("again: %q", again)
			}
		})
	}
}

// A value that is known and that a rule finds too has one mark, with the name of its variable.
func TestRedactKnownAndFound(t *testing.T) {
	r := redactor(map[string]string{"MY_KEY": githubKey}, "MY_KEY")
	if got := r.Text("GITHUB_TOKEN=" + githubKey + "\n"); got != "GITHUB_TOKEN=[redacted:MY_KEY]\n" {
		t.Errorf("got %q", got)
	}
}

// A key whose lines are strings of their own, in JSON or in a program, leaves the strings.
func TestRedactKeyInStrings(t *testing.T) {
	lines := strings.SplitAfter(strings.TrimSuffix(pemKey, "\n"), "\n")
	doc, err := json.Marshal(map[string]any{"cells": []any{map[string]any{"source": lines}}})
	if err != nil {
		t.Fatal(err)
	}
	got := (*Redactor)(nil).Bytes(doc)
	var back struct{ Cells []struct{ Source []string } }
	if err := json.Unmarshal(got, &back); err != nil || len(back.Cells[0].Source) != len(lines) {
		t.Fatalf("%v: %s", err, got)
	}
	for _, s := range back.Cells[0].Source {
		if s != "[redacted:private-key]\n" && s != "[redacted:private-key]" {
			t.Errorf("a line is %q", s)
		}
	}
}

// Whatever is among it, no secret is left, JSON stays JSON, redacting again changes nothing, and none
// is shown when the text comes in pieces.
func TestRedactAnything(t *testing.T) {
	secrets := []string{awsKey, githubKey, claudeKey, slackKey, googleKey, jwt, pemKey, envValue}
	parts := append([]string{" ", "\n", `"`, `'`, "\\", "\t", "key", "password = ", "token: ", "x", "curl -u a:", "mysql -p", "sshpass -p ", "DB_PASS=", " --password=", "anna:realm:939e7578ed9e3c518a452acee763bce9", "-----BEGIN RSA PRIVATE KEY-----", "\x1b[1m", "=", "[redacted:", "]", "é"}, secrets...)
	rapid.Check(t, func(t *rapid.T) {
		between := rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "between")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), between)
		r := redactor(map[string]string{"KNOWN_KEY": envValue}, "KNOWN_KEY")
		got := r.Text(text)
		if again := r.Text(got); again != got {
			t.Fatalf("%q\nredacted is %q\nand again  %q", text, got, again)
		}
		if strings.Contains(got, envValue) {
			t.Fatalf("%q is left in %q", envValue, got)
		}
		doc, err := json.Marshal([]any{text, map[string]string{text: text}})
		if err != nil {
			t.Fatal(err)
		}
		if clean := r.Bytes(doc); !json.Valid(clean) {
			t.Fatalf("%s\nis no JSON any more: %s", doc, clean)
		}
		if between == "" {
			return // what is written together may be no secret
		}
		shown := inPieces(r, text, rapid.IntRange(1, 40).Draw(t, "size"))
		for _, s := range secrets {
			if strings.Contains(shown, s) || strings.Contains(got, s) {
				t.Fatalf("%q is left in %q\nor shown in pieces in %q", s, got, shown)
			}
		}
	})
}

func TestMarks(t *testing.T) {
	r := redactor(map[string]string{"MY.KEY": "hunter2-hunter2"}, "MY.KEY")
	text := r.Text("a " + awsKey + " b hunter2-hunter2 c [redacted:] [redacted: x]")
	if n := Marks(text); n != 2 || Marks([]byte(text)) != 2 {
		t.Errorf("%d marks in %q", n, text)
	}
}

// An ordinary text of the size of a long prompt.
func BenchmarkRedact(b *testing.B) {
	prose := strings.Repeat("The session key of a run is made of its task and its attempt; see `internal/kernel/session`. Tests assert what a\nperson would notice, e.g. that access is refused (403), and api.go says why. No token is asked for twice.\n", 8000)
	output := strings.Repeat("=== RUN   TestAuthToken/Expired\n--- PASS: TestAuthToken/Expired (0.00s)\n\tauth_test.go:41: key=\"a\" token: expected 3, got 3\nok  \tpawl/internal/secret\t0.168s\tcoverage: 91.2% of statements\n", 8000)
	for name, text := range map[string]string{"Prompt": prose[:1<<20], "Output": output[:1<<20]} {
		doc := []byte(text)
		r := redactor(map[string]string{"A": "sk-ant-0123456789", "B": "hunter2-hunter2", "C": "pass-\"word\""}, "A", "B", "C")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				r.Bytes(doc)
			}
		})
		b.Run(name+"/KnownAlone", func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				r.values(doc)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load()
	}
}
