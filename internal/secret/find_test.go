package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// Made-up secrets, put together here so that no scanner of this repository finds one in it.
var (
	awsKey    = "AKIA" + "Z7QK5WXPN3RTUV2B"
	githubKey = "gh" + "p_" + "x7Gq2LmZ9vBnR4tYw8KdPf3HsJ6cAe1UoI5S"
	claudeKey = "sk-" + "ant-api03-" + strings.Repeat("q7Zx2Lm-9vBn", 8)[:93] + "AA"
	openaiKey = "sk-" + "proj-" + strings.Repeat("k3Jw8Rt_5Yh", 8)[:74] + "T3Blbk" + "FJ" + strings.Repeat("p6Vd1Ns-4Xc", 8)[3:77]
	slackKey  = "xox" + "b-" + "123456789012-123456789012-" + "a1B2c3D4e5F6g7H8i9J0kLmN"
	googleKey = "AI" + "za" + "SyB7qW3zXk9vLp2nRt5mYc8hJd4fGs6aEuQ"
	jwt       = "eyJ" + "hbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + "." + "eyJ" + "zdWIiOiI5OTg3NiIsIm5hbWUiOiJKYW5lIn0" + "." + "q3Zx7LmP9vBnR4tYw8KdPf3HsJ6cAe1UoI5SgT2yWbE"
	pemKey    = pemOf("RSA PRIVATE KEY", 12)
	envValue  = "zX9" + "qL2mV7" + "bN4tR8wK"
)

// pemOf returns a made-up key of so many lines.
func pemOf(kind string, lines int) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for i := range lines {
		b.WriteString(base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%02d made-up bytes of a key that opens nothing %02d", i*7%90, i)))[:64] + "\n")
	}
	return b.String() + "-----END " + kind + "-----\n"
}

// What gitleaks finds in texts made of its own rules is found here, with the same names: testdata/recorded.json is
// what its own program said of them.
func TestRecorded(t *testing.T) {
	type one struct {
		Rule string
		What []byte
		Line int
	}
	var samples []struct {
		Path  string
		Text  []byte
		Found []one
	}
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for i, s := range samples {
		got := match(s.Path, unescape(s.Text))
		has := func(rule string, secret []byte) bool {
			return slices.ContainsFunc(got, func(g stretch) bool {
				// A group may end with an escape, which is a line's end here.
				return g.names[0] == rule && strings.HasPrefix(string(secret), strings.TrimRight(string(s.Text[g.from:g.to]), `\nr`))
			})
		}
		for _, want := range s.Found {
			rules[want.Rule] = true
			if want.Rule != pemRule && !has(want.Rule, want.What) { // what stands between BEGIN and END there is no key
				t.Errorf("sample %d: %s %q is not found in %q", i, want.Rule, want.What, s.Text)
			}
		}
		for _, g := range got { // gitleaks itself drops what another rule names better
			if found := s.Text[g.from:g.to]; g.names[0] != genericRule && !isOwn()[g.names[0]] &&
				!slices.ContainsFunc(s.Found, func(f one) bool { return f.Rule == g.names[0] && strings.Contains(string(f.What), string(found)) }) {
				t.Errorf("sample %d: %s %q is found in %q, and gitleaks does not find it", i, g.names[0], found, s.Text)
			}
		}
	}
	if len(rules) < 215 {
		t.Errorf("the samples are of %d rules only", len(rules))
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct{ name, path, text, rule, secret string }{
		{"AWS", "a.go", "const id = \"" + awsKey + "\"\n", "aws-access-token", awsKey},
		{"GitHub", "a.go", "git clone https://" + githubKey + "@github.com/a/b\n", "github-pat", githubKey},
		{"Anthropic", ".env", "ANTHROPIC_API_KEY=" + claudeKey + "\n", "anthropic-api-key", claudeKey},
		{"OpenAI", ".env", "OPENAI_API_KEY='" + openaiKey + "'\n", "openai-api-key", openaiKey},
		{"Slack", "a.yaml", "slack:\n  bot: " + slackKey + "\n", "slack-bot-token", slackKey},
		{"Google", "a.js", "init({key: '" + googleKey + "'})\n", "gcp-api-key", googleKey},
		{"JWT", "a.http", "Authorization: Bearer " + jwt + "\n", "jwt", jwt},
		{"PEM", "id_rsa", pemKey, "private-key", strings.TrimSuffix(pemKey, "\n")},
		{"OpenSSH", "id_ed25519", pemOf("OPENSSH PRIVATE KEY", 5), "private-key", strings.TrimSuffix(pemOf("OPENSSH PRIVATE KEY", 5), "\n")},
		{"Env", ".env", "PORT=8080\nDB_PASSWORD=" + envValue + "\nDEBUG=true\n", "env-password", envValue},
		{"EnvJSON", "a.json", "{\"password\": \"" + envValue + "\"}", "generic-api-key", envValue},
		{"PKCS12", "cert/a.p12", "\x00\x01", "pkcs12-file", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Find(c.path, []byte(c.text))
			if len(got) != 1 || got[0].Rule != c.rule || got[0].Secret != c.secret || c.text[got[0].Start:got[0].End] != c.secret {
				t.Fatalf("found %+v, want %s %q", got, c.rule, c.secret)
			}
			if want := 1 + strings.Count(c.text[:got[0].Start], "\n"); got[0].Line != want {
				t.Errorf("it is in line %d, want %d", got[0].Line, want)
			}
		})
	}
}

// What only looks like a secret in a file is none there.
func TestFindNone(t *testing.T) {
	lines := strings.Split(pemKey, "\n")
	for name, text := range map[string]string{
		"InPieces": "func TestPartsOfSecrets() {\n\tkey := \"-----BEGIN \" + \"EC PRIVATE KEY-----\\n" + strings.Join(lines[1:], "\\n") + "\"\n",
		"EndOfKey": "x := \"" + strings.Join(lines[6:], "\\n") + "\"\n",
		"Counted":  "API_KEY=sk-test-0123456789abcdef\npassword = \"hunter-1234567890\"\n",
	} {
		if got := Find("a_test.go", []byte(text)); len(got) > 0 {
			t.Errorf("%s: found %+v", name, got)
		}
	}
	if got := Find("a.env", []byte("API_KEY=sk-test-"+"0183456729abcdef\n")); len(got) != 1 {
		t.Errorf("found %+v, want one key", got)
	}
}

// A part of a key is one too: tools cut what they show, and number its lines.
func TestFindPartOfKey(t *testing.T) {
	lines := strings.Split(pemKey, "\n")
	numbered, added := "", ""
	for i, l := range lines[:8] {
		numbered += fmt.Sprintf("%6d\t%s\n", i+1, l)
		added += "+" + l + "\n"
	}
	for name, text := range map[string]string{
		"Beginning": strings.Join(lines[:5], "\n") + "\n… 9 more lines\n",
		"End":       strings.Join(lines[6:], "\n"),
		"EndInJSON": strings.Join(lines[6:], `\n`),
		"EndNumber": "  7\t" + strings.Join(lines[6:], "\n 11\t") + "\nFAIL\n",
		"Numbered":  numbered,
		"Diff":      added,
		"Go":        "var key = \"" + strings.Join(lines, "\\n\" +\n\t\"") + "\"\n",
		"Header":    lines[0] + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n" + strings.Join(lines[1:], "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			got := (*Redactor)(nil).Text(text)
			for _, line := range lines[1:8] {
				if len(line) == 64 && strings.Contains(got, line) {
					t.Fatalf("%q is left in %q", line, got)
				}
			}
		})
	}
}

// What is no secret, and looks a little like one.
func TestFindNothing(t *testing.T) {
	hash := "4f2d8c1b9e7a6035d4c2b1a09f8e7d6c5b4a3928"
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x89PNG\r\n\x1a\n not an image at all \x00\x01", 400)))
	for _, c := range []struct{ name, path, text string }{
		{"UUID", "a.json", `{"id": "0b6f1c2e-8d4a-4f57-9a3b-2c7e5d1f8a90", "request": "3d8e7f90-1a2b-4c3d-8e4f-5a6b7c8d9e0f"}`},
		{"Git", "", "commit " + hash + "\nMerge: 4f2d8c1b 9e7a6035\n    Revert " + hash + "\nindex 4f2d8c1b9e..7a6035d4c2 100644\n"},
		{"GoSum", "go.sum", "golang.org/x/oauth2 v0.30.0 h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOf4MLCM9zb1BOHI=\n"},
		{"GoSumUnnamed", "", "golang.org/x/oauth2 v0.30.0 h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOf4MLCM9zb1BOHI=\ngolang.org/x/oauth2 v0.30.0/go.mod h1:B++QgG3ZKulg6sRPGD/mqlHQs5rB3Ml9erfeDY7xKlU=\n"},
		{"PackageLock", "web/package-lock.json", `"node_modules/js-tokens": {"version": "4.0.0", "resolved": "https://registry.npmjs.org/js-tokens/-/js-tokens-4.0.0.tgz", "integrity": "sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ=="}`},
		{"PackageLockUnnamed", "", "\"node_modules/js-tokens\": {\n  \"version\": \"4.0.0\",\n  \"integrity\": \"sha512-RdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW/PKQ==\"\n}"},
		{"CargoLock", "Cargo.lock", "[[package]]\nname = \"secret-key-auth\"\nversion = \"0.10.5\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"9f8e7d6c5b4a39284f2d8c1b9e7a6035d4c2b1a09f8e7d6c5b4a39284f2d8c1b\"\n"},
		{"Image", "a.css", "background: url(data:image/png;base64," + image + ")"},
		{"Minified", "app.min.js", strings.Repeat(`!function(e,t){var n=e.key,r=t.token;n.access=function(e){return r[e]||(r[e]=new o(e,{auth:t,api:n}))},i.exports=a}(window,{password:document.getElementById("password"),secret:!0});`, 50)},
		{"ExampleKey", "README.md", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7" + "EXAMPLE\n"},
		{"Placeholders", ".env.example", "PASSWORD=changeme\nAPI_KEY=${API_KEY}\nTOKEN=<your token>\nSECRET_KEY=xxxxxxxxxxxxxxxxxxxx\nAUTH_TOKEN=your-token-goes-here\n"},
		{"OneLetter", "", "use gh" + "p_" + strings.Repeat("ab", 18) + " here"},
		{"PublicKey", "a.pub", "-----BEGIN PUBLIC KEY-----\n" + image[:64] + "\n-----END PUBLIC KEY-----\n"},
		{"TextAboutPEM", "doc.md", "A file begins with `-----BEGIN RSA PRIVATE KEY-----`.\n" + strings.Repeat("Then there are lines of base64, and whatever readKeyFromTheFileOfTheUser does.\n", 3) + "It ends with `-----END RSA PRIVATE KEY-----`.\n"},
		{"Signature", "", `{"thinking":"","signature":"EqQBCkYIChgCKkBRdJUflcE3cUzKiMqQgsCu06FPu9UdIJO0beYbPhHN4k6apgJtifcoCtT9bcxOpYBtpD2kCM6Sbzg4CausW==","type":"thinking"}`},
		{"Encrypted", "", `{"id":"rs_68c1f0","type":"reasoning","encrypted_content":"gAAAAABowf` + image[:300] + `"}`},
		{"Usage", "", `{"input_tokens": 1234567890123, "cache_read_input_tokens": 0, "token": 3.14159265358979, "key": null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Find(c.path, []byte(c.text)); len(got) > 0 {
				t.Errorf("found %+v", got)
			}
		})
	}
}

// The lock files and hashes of this repository are none, with and without their names.
func TestFindNothingHere(t *testing.T) {
	for _, name := range []string{"go.sum", "go.mod", "tools/golangci-lint/go.sum", "tools/gitleaks/go.sum"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{name, ""} {
			if got := Find(path, text); len(got) > 0 {
				t.Errorf("%s as %q: %+v", name, path, got[:min(3, len(got))])
			}
		}
	}
}

func TestFindLimits(t *testing.T) {
	many := strings.Repeat("id = "+awsKey+"\n", MaxFound+10)
	if got := Find("a", []byte(many)); len(got) != MaxFound || got[MaxFound-1].Line != MaxFound {
		t.Errorf("found %d", len(got))
	}
	late := strings.Repeat(".", MaxSize-10) + "\n" + awsKey
	if got := Find("a", []byte(late)); len(got) != 0 {
		t.Errorf("found %+v behind the limit", got)
	}
	if got := (*Redactor)(nil).Text(late); strings.Contains(got, awsKey) {
		t.Error("redaction has no limit, and left a key behind it")
	}
}

// A known value is found too, by the name of its variable.
func TestFindKnown(t *testing.T) {
	r := redactor(map[string]string{"SHOP_TOKEN": "hunter2-hunter2"}, "SHOP_TOKEN")
	got := r.Find("src/a.go", []byte("package a\n\nconst x = `hunter2-hunter2`\n"))
	if len(got) != 1 || got[0].Rule != "SHOP_TOKEN" || got[0].Secret != "hunter2-hunter2" || got[0].Line != 3 {
		t.Errorf("found %+v", got)
	}
}
