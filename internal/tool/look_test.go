package tool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pawl"
	secrets "pawl/internal/secret"
	"pawl/internal/tool"
)

func TestRead(t *testing.T) {
	w := MustWorld(t, map[string]string{
		"file":   "one\ntwo\r\nthree",
		"empty":  "",
		"binary": "a\x00b",
		"latin":  "caf\xe9\n",
		"long":   strings.Repeat("é", 3000) + "\nnext\n",
		"many":   strings.Repeat("0123456789\n", 20_000),
	})
	MustLink(t, "file", filepath.Join(w.env.Dir, "link"))
	read := func(path string, offset, limit int) map[string]any {
		args := map[string]any{"path": path}
		if offset > 0 {
			args["offset"] = offset
		}
		if limit > 0 {
			args["limit"] = limit
		}
		return args
	}
	t.Run("Whole", func(t *testing.T) {
		w.want(t, tool.Read{}, read("file", 0, 0), "     1\tone\n     2\ttwo\n     3\tthree\n")
		w.want(t, tool.Read{}, read("link", 0, 0), "     1\tone\n     2\ttwo\n     3\tthree\n")
		w.want(t, tool.Read{}, read(filepath.Join(w.env.Dir, "file"), 3, 0), "     3\tthree\n")
	})
	t.Run("Part", func(t *testing.T) {
		w.want(t, tool.Read{}, read("file", 2, 1), "     2\ttwo\n[lines 2 to 2 of 3; read on with offset 3]\n")
		w.want(t, tool.Read{}, read("file", 2, 2), "     2\ttwo\n     3\tthree\n")
		w.refuses(t, tool.Read{}, read("file", 4, 0), "the file has 3 lines; there is no line 4")
	})
	t.Run("Empty", func(t *testing.T) { w.want(t, tool.Read{}, read("empty", 0, 0), "(the file is empty)") })
	t.Run("Binary", func(t *testing.T) {
		w.refuses(t, tool.Read{}, read("binary", 0, 0), "binary is a binary file of 3 bytes")
	})
	t.Run("Folder", func(t *testing.T) { w.refuses(t, tool.Read{}, read(".", 0, 0), "is a folder, not a file") })
	t.Run("Missing", func(t *testing.T) {
		w.refuses(t, tool.Read{}, read("no/where", 0, 0), "no/where does not exist")
		w.refuses(t, tool.Read{}, read("file/x", 0, 0), "file/x does not exist")
	})
	t.Run("InvalidUTF8", func(t *testing.T) { w.want(t, tool.Read{}, read("latin", 0, 0), "     1\tcaf\uFFFD\n") })
	t.Run("LongLine", func(t *testing.T) {
		w.want(t, tool.Read{}, read("long", 0, 0),
			"     1\t"+strings.Repeat("é", 2000)+" [… 2000 bytes cut …]\n     2\tnext\n")
	})
	t.Run("TooMuch", func(t *testing.T) {
		got := w.call(t, tool.Read{}, read("many", 0, 0))
		if len(got.Text) > 100_000+100 || !strings.HasSuffix(got.Text, "[lines 1 to 5555 of 20000; read on with offset 5556]\n") {
			t.Errorf("%d bytes, at the end %q", len(got.Text), got.Text[len(got.Text)-60:])
		}
		got = w.call(t, tool.Read{}, read("many", 5556, 0))
		if !strings.HasPrefix(got.Text, "  5556\t0123456789\n") {
			t.Errorf("reading on begins with %.40q", got.Text)
		}
	})
}

func TestList(t *testing.T) {
	w := MustWorld(t, map[string]string{"b": "", "a/x": "", ".git/config": "", ".hidden": "", "new\nline": "", "c-d": "", "c/d": ""})
	MustLink(t, "a/x", filepath.Join(w.env.Dir, "link"))
	w.want(t, tool.List{}, map[string]any{}, ".hidden\na/\nb\nc/\nc-d\nlink -> a/x\n\"new\\nline\"\n")
	w.want(t, tool.List{}, map[string]any{"path": "a"}, "x\n")
	w.refuses(t, tool.List{}, map[string]any{"path": "b"}, "b is not a folder")
	w.refuses(t, tool.List{}, map[string]any{"path": "z"}, "z does not exist")
	for i := range 1005 {
		MustWrite(t, filepath.Join(w.env.Dir, "many", fmt.Sprintf("%04d", i)), "")
	}
	got := w.call(t, tool.List{}, map[string]any{"path": "many"})
	if !strings.HasPrefix(got.Text, "0000\n0001\n") || !strings.HasSuffix(got.Text, "0999\n[the first 1000 of 1005 entries; narrow it down with glob]\n") {
		t.Errorf("got %.60q … %q", got.Text, got.Text[len(got.Text)-80:])
	}
	if err := os.Mkdir(filepath.Join(w.env.Dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.want(t, tool.List{}, map[string]any{"path": "empty"}, "(the folder is empty)\n")
}

func TestGlob(t *testing.T) {
	w := MustWorld(t, map[string]string{
		"main.go": "", "src/a.go": "", "src/b.ts": "", "src/deep/c.go": "", ".git/d.go": "", "src/.git/e.go": "", ".github/f.go": "",
	})
	MustLink(t, "src", filepath.Join(w.env.Dir, "linked"))
	for pattern, want := range map[string]string{
		"**/*.go":             ".github/f.go\nmain.go\nsrc/a.go\nsrc/deep/c.go\n",
		"*.go":                "main.go\n",
		"*.ts":                "(no file matches; to look in folders too, begin with **/)\n",
		"src/**":              "src/a.go\nsrc/b.ts\nsrc/deep/c.go\n",
		"src/*.{go,ts}":       "src/a.go\nsrc/b.ts\n",
		"./src/a.go":          "src/a.go\n",
		"src/[ab].*":          "src/a.go\nsrc/b.ts\n",
		"nowhere/**":          "(no file matches)\n",
		"src/*/nothing":       "(no file matches)\n",
		w.env.Dir + "/s*":     "(no file matches; to look in folders too, begin with **/)\n",
		w.env.Dir + "/src/a*": "src/a.go\n",
	} {
		w.want(t, tool.Glob{}, map[string]any{"pattern": pattern}, want)
	}
	w.refuses(t, tool.Glob{}, map[string]any{"pattern": "[a"}, "is not well-formed")
	w.refuses(t, tool.Glob{}, map[string]any{"pattern": "../*"}, "leads out of the worktree")
	for i := range 1001 {
		MustWrite(t, filepath.Join(w.env.Dir, "many", fmt.Sprintf("%04d", i)), "")
	}
	got := w.call(t, tool.Glob{}, map[string]any{"pattern": "many/*"})
	if !strings.HasSuffix(got.Text, "many/0999\n[the first 1000; there are more, narrow the pattern down]\n") {
		t.Errorf("got %q at the end", got.Text[len(got.Text)-80:])
	}
}

func TestGrep(t *testing.T) {
	w := MustWorld(t, map[string]string{
		"a.go": "package a\n\nfunc A() {}\n", "sub/b.go": "package b\r\nfunc B() {}\r\n", "c.txt": "no func( here\n",
		"binary": "func\x00", ".git/x.go": "func G() {}\n", "latin": "func \xe9\n",
	})
	MustLink(t, "a.go", filepath.Join(w.env.Dir, "link.go"))
	for name, test := range map[string]struct {
		args map[string]any
		want string
	}{
		"All":        {map[string]any{"pattern": `^func`}, "a.go:3:func A() {}\nlatin:1:func \uFFFD\nsub/b.go:2:func B() {}\n"},
		"IgnoreCase": {map[string]any{"pattern": `(?i)FUNC [ab]`}, "a.go:3:func A() {}\nsub/b.go:2:func B() {}\n"},
		"LineEnd":    {map[string]any{"pattern": `\{\}$`}, "a.go:3:func A() {}\nsub/b.go:2:func B() {}\n"},
		"Folder":     {map[string]any{"pattern": "func", "path": "sub"}, "sub/b.go:2:func B() {}\n"},
		"File":       {map[string]any{"pattern": "func", "path": "c.txt"}, "c.txt:1:no func( here\n"},
		"GlobName":   {map[string]any{"pattern": "func", "glob": "*.txt"}, "c.txt:1:no func( here\n"},
		"GlobPath":   {map[string]any{"pattern": "func", "glob": "sub/**/*.go"}, "sub/b.go:2:func B() {}\n"},
		"Nothing":    {map[string]any{"pattern": "xyzzy"}, "(nothing matches)\n"},
	} {
		t.Run(name, func(t *testing.T) { w.want(t, tool.Grep{}, test.args, test.want) })
	}
	w.refuses(t, tool.Grep{}, map[string]any{"pattern": "("}, "not a regular expression")
	w.refuses(t, tool.Grep{}, map[string]any{"pattern": "x", "glob": "["}, "not well-formed")
	w.refuses(t, tool.Grep{}, map[string]any{"pattern": "x", "path": "z"}, "z does not exist")
	t.Run("Bounded", func(t *testing.T) {
		MustWrite(t, filepath.Join(w.env.Dir, "many"), strings.Repeat("match\n", 1000))
		got := w.call(t, tool.Grep{}, map[string]any{"pattern": "match"})
		if !strings.HasSuffix(got.Text, "many:500:match\n[the first 500 matches; there are more, narrow the search down]\n") {
			t.Errorf("got %q at the end", got.Text[len(got.Text)-90:])
		}
		MustWrite(t, filepath.Join(w.env.Dir, "wide"), strings.Repeat(strings.Repeat("é", 5000)+"\n", 400))
		got = w.call(t, tool.Grep{}, map[string]any{"pattern": "é"})
		if len(got.Text) > 101_000 || !utf8.ValidString(got.Text) || !strings.Contains(got.Text, "[… 9600 bytes cut …]") {
			t.Errorf("%d bytes: %.500s", len(got.Text), got.Text)
		}
	})
}

func TestSearchesEndWithTheContext(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tl := range []pawl.Tool{tool.Glob{}, tool.Grep{}} {
		if _, err := tl.Call(ctx, w.env, []byte(`{"pattern": "x"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want %v", tl.Spec().Name, err, context.Canceled)
		}
	}
}

// A folder that is made deeper and deeper does not take a search with it.
func TestDeepFolders(t *testing.T) {
	w := MustWorld(t, nil)
	deep := w.env.Dir + strings.Repeat("/d", 300)
	MustWrite(t, filepath.Join(deep, "f"), "x")
	got := w.call(t, tool.Glob{}, map[string]any{"pattern": "**/f"})
	if !strings.HasPrefix(got.Text, "(no file matches)\n[d/d/d/") || !strings.HasSuffix(got.Text, " is nested too deep]\n") {
		t.Errorf("got %q", got.Text)
	}
}

// What was installed into the worktree is looked through only where that is asked for. F-22
func TestPreparedIsLeftOut(t *testing.T) {
	w := MustWorld(t, map[string]string{"web/a.js": "left\n", "web/node_modules/left/a.js": "left\n", "node_modules.js": "left\n"})
	w.env.Prepared = []string{"web/node_modules"}
	const note = "[web/node_modules holds dependencies and is left out; give its path to look in it]\n"
	w.want(t, tool.Glob{}, map[string]any{"pattern": "**/*.js"}, "node_modules.js\nweb/a.js\n"+note)
	w.want(t, tool.Glob{}, map[string]any{"pattern": "web/node_modules/**/*.js"}, "web/node_modules/left/a.js\n")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "left"}, "node_modules.js:1:left\nweb/a.js:1:left\n"+note)
	w.want(t, tool.Grep{}, map[string]any{"pattern": "left", "path": "web/node_modules/left"}, "web/node_modules/left/a.js:1:left\n")
}

// Of a file that holds secrets no part is shown that is not known for one by itself: a line of a key, or the beginning
// of a long line. F-07
func TestPartsOfSecrets(t *testing.T) {
	key := "-----BEGIN " + "EC PRIVATE KEY-----\n" + strings.Repeat("MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY9bT", 2)[:64] + "\nz1Xc9Lm2Qp==\n-----END EC PRIVATE KEY-----\n"
	token := "gh" + "p_" + "x7Gq2LmZ9vBnR4tYw8KdPf3HsJ6cAe1UoI5S"
	known := "line one\nline two"
	w := MustWorld(t, map[string]string{"id": key + "after\n", "long": strings.Repeat("x", 380) + " " + token + "\n", "several": known + "\nafter\n"})
	w.env.Redact = secrets.NewRedactor(func(string) string { return known }, "KNOWN").Bytes
	const mark = "[redacted:private-key]"
	w.want(t, tool.Read{}, map[string]any{"path": "id", "offset": 2, "limit": 1}, "     2\t"+mark+"\n[lines 2 to 2 of 5; read on with offset 3]\n")
	w.want(t, tool.Read{}, map[string]any{"path": "id", "offset": 5}, "     5\tafter\n")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "^z1X|^after", "path": "id"}, "id:3:"+mark+"\nid:5:after\n")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "xxx", "path": "long"}, "long:1:"+strings.Repeat("x", 380)+" [redacted:github-pa [… 2 bytes cut …]\n")
	w.want(t, tool.Grep{}, map[string]any{"pattern": "after", "path": "several"}, "several:3:after\n")
}
