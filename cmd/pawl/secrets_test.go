//go:build unix

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/model/modeltest"
)

// Keys of a repository's files, made up, and put together here so that no scanner of this repository finds one in it.
var (
	madeUpAWS    = "AKIA" + "Z7QK5WXPN3RTUV2B"
	madeUpGitHub = "gh" + "p_" + "x7Gq2LmZ9vBnR4tYw8KdPf3HsJ6cAe1UoI5S"
	madeUpClaude = "sk-" + "ant-api03-" + strings.Repeat("q7Zx2Lm-9vBn", 8)[:93] + "AA"
	madeUpOwn    = "gh" + "p_" + "Q2wE4rT6yU8iO0pA1sD3fG5hJ7kL9zX2cV4b"
	madeUpURL    = "k3Jw8" + "Rt5Yh"
	madeUpKnown  = "hunter2-of-the-shop"
)

func madeUpPEM() string {
	var b strings.Builder
	for i := range 10 {
		b.WriteString(base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%02d made-up bytes of a key that opens nothing %02d", i*7, i)))[:64] + "\n")
	}
	return "-----BEGIN RSA PRIVATE KEY-----\n" + b.String() + "-----END RSA PRIVATE KEY-----\n"
}

// Keys in files that the agent reads, prints, quotes and writes, and one that the user's environment has, reach neither
// the provider nor anything that is stored or shown. In the files and in the commits they stay what they are, and
// what the agent was shown in their place cannot be written over them. F-07
func TestSecretsOfARepository(t *testing.T) {
	t.Parallel()
	pem := madeUpPEM()
	env := "PORT=1\nAWS_ACCESS_KEY_ID=" + madeUpAWS + "\nGITHUB_TOKEN=" + madeUpGitHub + "\nANTHROPIC_API_KEY=" + madeUpClaude + "\nSHOP=" + madeUpKnown + "\n"
	told := map[int]string{} // by turn: the result of the call before it
	server := modeltest.NewServer(modeltest.Anthropic, func(req pawl.ModelRequest) modeltest.Reply {
		tools, turn := asked(req)
		switch {
		case tools["submit_assessment"]:
			return call("submit_assessment", `{"files":1,"lines":1,"new_dependencies":0,"type":"implementation","risks":[],"why":"one line"}`)
		case tools["submit_verdict"]:
			return call("submit_verdict", `{"criteria":[{"id":"AC-001","status":"pass","evidence":[".env:1"]}],"summary":"it has `+madeUpGitHub+`"}`)
		}
		last := req.Messages[len(req.Messages)-1]
		told[turn] = last.Blocks[0].Text
		switch turn {
		case 0:
			return call("run", `{"command":"cat .env id_rsa; grep -n . id_rsa .env"}`)
		case 1:
			return call("read", `{"path":"id_rsa","offset":3,"limit":4}`)
		case 2:
			return call("write", `{"path":".env","content":"PORT=2\nAWS_ACCESS_KEY_ID=[redacted:aws-access-token]\n"}`)
		case 3:
			return call("write", `{"path":"fixture.txt","content":"token: `+madeUpOwn+`\n"}`)
		case 4:
			return call("edit", `{"path":".env","old":"PORT=1\n","new":"PORT=2\n"}`)
		case 5: // F-107
			return call("run", `{"command":"echo postgres://shop:`+madeUpURL+`@db.example.org/shop; echo `+madeUpGitHub+`; cp .env copy.txt; tail -n 5 id_rsa > end.txt"}`)
		case 6:
			return call("grep", `{"pattern":"`+madeUpGitHub+`"}`)
		}
		return call("submit_result", `{"summary":"the port is 2, the key is `+madeUpAWS+` as before"}`)
	})
	defer server.Close()
	v := newVictim(t, pawlProgram(t), killScript, map[string]string{".env": env, "id_rsa": pem, "README": "a repository\n", "AGENTS.md": "Use the token " + madeUpGitHub + " for releases.\n"})
	v.env = append(v.env, "ANTHROPIC_BASE_URL="+server.BaseURL, "ANTHROPIC_API_KEY=sk-test-0123456789abcdef", "SHOP_PASSWORD="+madeUpKnown)
	out, err := v.pawl("run", "set the port to 2", "--recipe", "taskloop", "--unsandboxed", "--complexity", "2", "--allow-path", ".env", "--allow-path", "*.txt", "--model", "anthropic/claude-test",
		"--require-green", "--gate", `tests=cat id_rsa; grep -rh _ .; grep -rq PORT=2 . && echo "ok 1" && echo 1..1`, "--criteria", "the port is 2")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	places := map[string]string{"the output of the run": out, "what is stored": v.everything(t)}
	var sent strings.Builder
	for _, r := range server.Received() {
		sent.Write(r.Body)
	}
	places["what the provider got"] = sent.String()
	for _, args := range [][]string{{"show", "--report"}, {"show", "--json"}, {"show", "--transcript=1/implement"}, {"logs", "1", "--full", "--lines", "0"}, {"events", "--json"}, {"why", "--json"}, {"diff"}, {"diff", "--json"}, {"diff", "--stat"}} {
		if places["pawl "+strings.Join(args, " ")], err = v.pawl(args...); err != nil {
			t.Errorf("pawl %v: %v\n%s", args, err, places["pawl "+strings.Join(args, " ")])
		}
	}
	branch := strings.TrimSpace(v.git(t, "for-each-ref", "--format=%(refname)", "refs/heads/pawl"))
	from, to := pawl.CommitHash(strings.TrimSpace(v.git(t, "rev-parse", "HEAD"))), pawl.CommitHash(strings.TrimSpace(v.git(t, "rev-parse", branch)))
	patch, err := difference(&cli.App{Environ: v.env, StateHome: t.TempDir()})(t.Context(), v.repo, from, to)
	if places["the diff in pawl tui"] = string(patch); err != nil || !strings.Contains(string(patch), "[redacted:SHOP_PASSWORD]") {
		t.Errorf("the diff in pawl tui: %v\n%s", err, patch)
	}
	raw, err := v.pawl("diff", "--raw")
	for _, secret := range []string{madeUpAWS, madeUpKnown} {
		if err != nil || !strings.Contains(raw, secret) || !strings.Contains(places["pawl diff"], "\n+SHOP=[redacted:SHOP_PASSWORD]\n") {
			t.Errorf("pawl diff and pawl diff --raw: %v\n%s\n%s", err, places["pawl diff"], raw)
		}
	}
	exported := filepath.Join(v.home, "exported")
	if said, err := v.pawl("export", "--dir", exported); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	places["what is exported"] = everyFile(t, exported)
	secrets := append(strings.Split(strings.TrimSpace(pem), "\n")[1:11], madeUpAWS, madeUpGitHub, madeUpClaude, madeUpOwn, madeUpKnown, madeUpURL)
	for place, text := range places {
		if text == "" {
			t.Errorf("%s is empty", place)
		}
		for _, secret := range secrets {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has %q: …%s", place, secret, text[max(0, i-200):i+len(secret)])
			}
		}
	}
	for _, mark := range []string{"aws-access-token", "github-pat", "anthropic-api-key", "private-key", "SHOP_PASSWORD"} {
		if !strings.Contains(sent.String(), "[redacted:"+mark+"]") {
			t.Errorf("the provider did not get [redacted:%s]", mark)
		}
	}
	for turn, want := range map[int]string{3: ".env is not written: the text has [redacted:aws-access-token]", 4: "fixture.txt is not written: the text has [redacted:github-pat]", 5: "edited .env at line 1",
		6: "note: there was a secret in the command. A secret is never passed on, so the text [redacted:url-password] stood in its place", 7: "note: there was a secret in the pattern."} {
		if !strings.HasPrefix(told[turn], want) {
			t.Errorf("in turn %d the agent was told %q, want %q", turn, told[turn], want)
		}
	}
	if got := v.git(t, "show", branch+":.env"); got != strings.TrimSpace(strings.Replace(env, "PORT=1", "PORT=2", 1)) {
		t.Errorf("the commit has\n%s", got)
	}
}

// everything returns all that the victim's log holds: events, and the texts that they name.
func (v *victim) everything(t *testing.T) string {
	t.Helper()
	log := v.log(t)
	defer log.Close()
	runs, err := log.Runs(t.Context())
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	var all strings.Builder
	hashes := regexp.MustCompile(`[0-9a-f]{64}`)
	blobs := 0
	for _, run := range runs {
		for e, err := range log.Events(t.Context(), run.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			event, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(event)
			for _, text := range hashes.FindAllString(string(event), -1) {
				var hash pawl.Hash
				if err := hash.UnmarshalText([]byte(text)); err != nil {
					t.Fatal(err)
				}
				if blob, err := log.Blob(t.Context(), run.ID, hash); err == nil { // else it is the hash of something else
					blobs++
					all.Write(blob)
				}
			}
		}
	}
	if blobs < 20 {
		t.Errorf("only %d texts are stored", blobs)
	}
	return all.String()
}

// everyFile returns the content of all files below a folder.
func everyFile(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
