package secret

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patchOf returns what git prints of the change from one file to another one, with so many lines of context.
func patchOf(t testing.TB, path, old, now, context string) []byte {
	t.Helper()
	dir := t.TempDir()
	for side, text := range map[string]string{"a": old, "b": now} {
		if text == "" {
			continue
		}
		name := filepath.Join(dir, side, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	was, is := "a/"+path, "b/"+path
	if old == "" {
		was = os.DevNull
	}
	if now == "" {
		is = os.DevNull
	}
	cmd := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--no-color", "--no-prefix", "-U"+context, "--", was, is)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, _ := cmd.Output() // it exits with 1 where there is a difference
	return out
}

func lines(n int, each string) string { return strings.Repeat(each+"\n", n) }

// F-107: a patch is without the secrets that are found in its files, whether what makes them one is in its hunks
// or not, and each line keeps its sign.
func TestPatch(t *testing.T) {
	t.Parallel()
	section := "[client]\nuser=anna\n" + lines(8, "color=blue")
	key := strings.Split(strings.TrimSuffix(pemKey, "\n"), "\n")
	longer := strings.Join(append(append([]string{}, key[:6]...), key[5:]...), "\n") + "\n"
	for name, c := range map[string]struct {
		path, old, now string
		want, not      []string
	}{
		"Added":       {"a.txt", "one\n", "one\nid = " + awsKey + "\n", []string{"\n one\n+id = [redacted:aws-access-token]\n"}, []string{awsKey}},
		"Removed":     {"a.txt", "one\nid = " + awsKey + "\n", "one\n", []string{"\n one\n-id = [redacted:aws-access-token]\n"}, []string{awsKey}},
		"Context":     {"a.txt", "id = " + awsKey + "\n", "id = " + awsKey + "\ntwo\n", []string{"\n id = [redacted:aws-access-token]\n+two\n"}, []string{awsKey}},
		"NewFile":     {"my file", "", "t: " + githubKey + "\n", []string{"\n+t: [redacted:github-pat]\n"}, []string{githubKey}},
		"Known":       {"a.txt", "one\n", "say " + envValue + "\n", []string{"\n+say [redacted:MINE]\n"}, []string{envValue}},
		"Key":         {"k.pem", "", pemKey, []string{"\n" + lines(len(key), "+[redacted:private-key]")}, key},
		"LineOfKey":   {"k.pem", pemKey, longer, []string{"\n+[redacted:private-key]\n"}, key},
		"FarSection":  {"my.cnf", section + "a=1\n", section + "password=" + word + "\na=1\n", []string{"\n color=blue\n+password=[redacted:ini-password]\n a=1\n"}, []string{word}},
		"QuotedInAt":  {"my.cnf", "[client]\npassword=" + word + "\n" + lines(8, " color=blue") + "a=1\n", "[client]\npassword=" + word + "\n" + lines(8, " color=blue") + "a=2\n", []string{" @@ password=[redacted:ini-password]\n", "\n-a=1\n+a=2\n"}, []string{word}},
		"WholeFile":   {"home/.git-credentials", "https://a@example.org\n", "https://a@example.org\nhttps://" + word + "@example.org\n", []string{"\n [redacted:git-credentials]\n+[redacted:git-credentials]\n"}, []string{word}},
		"ByName":      {".env", "A=1\n", "A=1\nDB_PASSWORD=" + word + "\n", []string{"\n A=1\n+DB_PASSWORD=[redacted:env-password]\n"}, []string{word}},
		"OneSide":     {"my.cnf", "[client]\npassword=" + word + "\n", "password=" + word + "\n", []string{"\n-[client]\n password=[redacted:ini-password]\n"}, []string{word}},
		"LikeGits":    {"a.txt", "one\n", "one\ndiff --git a/x b/x\n++ b/.env\n@@ -1 +1 @@\n" + awsKey + "\n", []string{"\n+diff --git a/x b/x\n+++ b/.env\n+@@ -1 +1 @@\n+[redacted:aws-access-token]\n"}, []string{awsKey}},
		"NoEnd":       {"a.txt", "one\n", "one\n" + awsKey, []string{"\n+[redacted:aws-access-token]\n\\ No newline at end of file\n"}, []string{awsKey}},
		"QuotedPath":  {"ä\"b/.pgpass", "", "db:1:shop:anna:" + word + "\n", []string{"\n+[redacted:pgpass]\n"}, []string{word}},
		"Placeholder": {".env", "A=1\n", "A=1\nDB_PASSWORD=${PW}\n", []string{"\n A=1\n+DB_PASSWORD=${PW}\n"}, nil},
		"LockFile":    {"go.sum", "", "a v1 h1:YW55dGhpbmdhbnl0aGluZ2FueXRoaW5nYW55dGhpbmc=\n", []string{"\n+a v1 h1:YW55"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redactor(map[string]string{"MINE": envValue}, "MINE")
			patch := patchOf(t, c.path, c.old, c.now, "3")
			got, marked := r.Patch(patch, patchOf(t, c.path, c.old, c.now, "1000000"))
			for _, want := range c.want {
				if !strings.Contains(string(got), want) {
					t.Errorf("it has no %q:\n%s", want, got)
				}
			}
			for _, not := range c.not {
				if strings.Contains(string(got), not) {
					t.Errorf("it has %q:\n%s", not, got)
				}
			}
			if (marked > 0) != (len(c.not) > 0) || bytes.Count(got, []byte("\n")) != bytes.Count(patch, []byte("\n")) {
				t.Errorf("%d marks, of\n%s\nit makes\n%s", marked, patch, got)
			}
			if again, n := r.Patch(got, nil); n != 0 {
				t.Errorf("again it puts %d marks:\n%s", n, again)
			}
		})
	}
}

// Whatever is given as a patch, it ends, keeps its lines, and holds no known value.
func TestPatchAnything(t *testing.T) {
	parts := []string{"diff --git a/a b/a\n", "--- a/a\n", "+++ b/.env\n", "@@ -1,2 +1,3 @@ x\n", "@@ -1 +1,99999999999999999999 @@\n", "@@ -0,0 +1 @@\n", "+", "-", " ", "\n", "\\ No newline\n", awsKey, envValue, pemKey, "password=" + word, "\"\\303\"", "é"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 14).Draw(t, name), "")
		}
		patch := draw("patch") + "\n"
		got, _ := redactor(map[string]string{"MINE": envValue}, "MINE").Patch([]byte(patch), []byte(draw("whole")))
		if strings.Contains(string(got), envValue) || strings.Count(string(got), "\n") != strings.Count(patch, "\n") {
			t.Fatalf("of %q it makes %q", patch, got)
		}
	})
}
