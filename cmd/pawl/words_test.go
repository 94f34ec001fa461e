//go:build unix

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/cli"
	"pawl/internal/pattern"
)

// oddWords are phrases that make readers stop, and what is said instead.
var oddWords = map[*pattern.Pattern]string{
	pattern.Of(`(?i)\b(go|goes|going|gone|went) on\b`): "continue",
	pattern.Of(`(?i)\bunder way\b`):                    "in progress, active",
	pattern.Of(`(?i)\bcomes? to be\b`):                 "create",
	pattern.Of(`(?i)\banew\b`):                         "again; start over",
	pattern.Of(`(?i)\ball the same\b`):                 "anyway",
	pattern.Of(`(?i)\bin spite of\b`):                  "despite",
	pattern.Of(`(?i)\b(is|are|be|was|were) at work\b`): "active",
	pattern.Of(`(?i)\bto and fro\b`):                   "alternate",
	pattern.Of(`(?i)\blearnt\b`):                       "learned",
	pattern.Of(`(?i)\b(is|are) told of\b`):             "receives",
	pattern.Of(`(?i)\bit need not be said\b`):          "may be left out",
	pattern.Of(`(?i)\bin the place of\b`):              "in place of, instead of",
	pattern.Of(`(?i)\bbeforehand\b`):                   "in advance",
	pattern.Of(`(?i)\bnothing of (it|them)\b`):         "it is not",
	pattern.Of(`(?i)\bas (many|often) as it may\b`):    "as many as it may have",
}

// odd returns the odd phrases in a text and what to write instead.
func odd(text string) []string {
	var found []string
	for phrase, instead := range oddWords {
		for _, m := range phrase.FindAllString(text, -1) {
			found = append(found, m+" (write: "+instead+")")
		}
	}
	return found
}

// quoted matches what is shown in code, such as a command's name or its output.
var quoted = pattern.Of("`[^`]*`")

// Help, flags and documents are in plain English: none of the phrases that readers stop at
// is in them. Blocks and code show what the program prints.
func TestPlainWords(t *testing.T) {
	root := newRoot(&cli.App{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		texts := []string{c.Short, c.Long}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { texts = append(texts, "--"+f.Name+": "+f.Usage) })
		for _, text := range texts {
			for _, phrase := range odd(text) {
				t.Errorf("the help of %s says %s", c.CommandPath(), phrase)
			}
		}
		for _, below := range c.Commands() {
			check(below)
		}
	}
	check(root)
	for _, file := range documents(t) {
		if strings.Contains(file, "/decisions/") { // for those who work on Pawl
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			for _, phrase := range odd(quoted.ReplaceAllString(line, "")) {
				t.Errorf("%s:%d says %s", file, i+1, phrase)
			}
		}
	}
}

// The texts in the program's own code are in plain English too: what it prints, asks and
// documents. Tags of fields are not texts. F-57
func TestPlainTexts(t *testing.T) {
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				if n.Tag != nil {
					n.Tag.Value = docTag.FindString(n.Tag.Value)
				}
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				for _, phrase := range odd(n.Value) {
					t.Errorf("%s: a text says %s", files.Position(n.Pos()), phrase)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// docTag finds in a field's tag what is shown as the help of a flag.
var docTag = pattern.Of(`doc:"[^"]*"`)

func TestOdd(t *testing.T) {
	for text, want := range map[string]int{"The run goes on, what is under way ends": 2, "Pawl continues": 0, "a catalogue of items": 0} {
		if got := odd(text); len(got) != want {
			t.Errorf("%q has %q, want %d phrases", text, got, want)
		}
	}
}
