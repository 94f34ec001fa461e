package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustWrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Messages, help and documents are drawn from; code, SQL, tests and blocks are not.
func TestCollect(t *testing.T) {
	root := t.TempDir()
	mustWrite(t, filepath.Join(root, "a", "a.go"), "package a\n\nimport _ \"fmt of some kind\"\n\ntype t struct {\n\tA int `json:\"a b c d\"`\n}\n\nvar x = []string{\"there is no run\", \"one two\", \"SELECT all of it\", `First paragraph of it.\n\nSecond paragraph of it.`}\n")
	mustWrite(t, filepath.Join(root, "a", "a_test.go"), "package a\n\nvar y = \"a test says this\"\n")
	mustWrite(t, filepath.Join(root, "tools", "x.go"), "package x\n\nvar y = \"a tool says this\"\n")
	mustWrite(t, filepath.Join(root, "README.md"), "# A title of it\n\nOne sentence is here. Another one\nis here.\n\n- a list entry here\n- another list entry here\n\n```sh\nrun this and that\n```\n\n| a cell of it | short |\n|---|---|\n")
	texts, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range texts {
		got = append(got, x.at+" "+x.words)
	}
	want := []string{
		"README.md:1 A title of it", "README.md:3 One sentence is here.", "README.md:3 Another one is here.", "README.md:6 a list entry here", "README.md:7 another list entry here", "README.md:13 a cell of it",
		"a/a.go:9 there is no run", "a/a.go:9 First paragraph of it.", "a/a.go:9 Second paragraph of it.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The same seed draws the same texts, another seed others.
func TestSeed(t *testing.T) {
	draw := func(args ...string) string {
		var out strings.Builder
		if err := run(&out, "../..", args); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one := draw("-seed", "1", "-n", "5")
	if strings.Count(one, "\n") != 5 || one != draw("-seed", "1", "-n", "5") || one == draw("-seed", "2", "-n", "5") {
		t.Errorf("seed 1 draws\n%s", one)
	}
}
