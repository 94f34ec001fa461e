//go:build unix

package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/cli"
)

// oddWords are phrases that make readers stop, and what is said instead.
var oddWords = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\b(go|goes|going|gone|went) on\b`): "continue",
	regexp.MustCompile(`(?i)\bunder way\b`):                    "in progress, active",
	regexp.MustCompile(`(?i)\bcomes? to be\b`):                 "create",
	regexp.MustCompile(`(?i)\banew\b`):                         "again; start over",
	regexp.MustCompile(`(?i)\ball the same\b`):                 "anyway",
	regexp.MustCompile(`(?i)\bin spite of\b`):                  "despite",
	regexp.MustCompile(`(?i)\b(is|are|be|was|were) at work\b`): "active",
	regexp.MustCompile(`(?i)\bto and fro\b`):                   "alternate",
	regexp.MustCompile(`(?i)\blearnt\b`):                       "learned",
	regexp.MustCompile(`(?i)\b(is|are) told of\b`):             "receives",
	regexp.MustCompile(`(?i)\bit need not be said\b`):          "may be left out",
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
var quoted = regexp.MustCompile("`[^`]*`")

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

func TestOdd(t *testing.T) {
	for text, want := range map[string]int{"The run goes on, what is under way ends": 2, "Pawl continues": 0, "a catalogue of items": 0} {
		if got := odd(text); len(got) != want {
			t.Errorf("%q has %q, want %d phrases", text, got, want)
		}
	}
}
