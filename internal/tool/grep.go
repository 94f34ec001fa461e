package tool

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"pawl"
)

// Limits of a search.
const (
	maxMatches    = 500
	maxMatchText  = 400      // bytes shown of a matching line
	maxSearchFile = 16 << 20 // larger files are left out, and named
)

//go:embed grep.md
var grepText string

// Grep searches files.
type Grep struct{}

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

// Spec implements [pawl.Tool].
func (Grep) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "grep", Description: strings.TrimSpace(grepText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The regular expression."},
    "path": {"type": "string", "description": "The file or folder to search, relative to the worktree. Default: everything."},
    "glob": {"type": "string", "description": "Only files that match this. Default: all."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Grep) Class() pawl.CrashClass { return pawl.CrashRepeat }

// Call implements [pawl.Tool].
func (Grep) Call(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	text, err := grepFiles(ctx, env, raw)
	return answer("grep", text, err)
}

func grepFiles(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (string, error) {
	args, err := decode[grepArgs](raw)
	if err != nil {
		return "", err
	}
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return "", refuse("the pattern is not a regular expression (RE2): %v", err)
	}
	if !doublestar.ValidatePattern(args.Glob) {
		return "", refuse("the glob %q is not well-formed", args.Glob)
	}
	w, err := openWorktree(env)
	if err != nil {
		return "", err
	}
	defer w.close()
	rel, err := w.relative(args.Path)
	if err != nil {
		return "", err
	}
	s := &search{tree: w, re: re, glob: args.Glob, redact: env.Redact}
	entries := walk{tree: w, visit: func(name string, e fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.visit(name, e)
	}}
	if err := entries.everything(ctx, rel); err != nil {
		return "", err
	}
	return markedNote("pattern", args.Pattern) + s.report(entries.partial), nil
}

// search collects matching lines.
type search struct {
	tree    *worktree
	re      *regexp.Regexp
	glob    string
	redact  func([]byte) []byte // may be nil
	out     strings.Builder
	matches int
	full    bool
	skipped []string // files that are too large
}

func (s *search) visit(name string, e fs.DirEntry) error {
	if !e.Type().IsRegular() || !s.wanted(name) {
		return nil
	}
	f, info, err := s.tree.open(name)
	if err != nil {
		if machineFault(err) {
			return err
		}
		return nil // it went away, or may not be read
	}
	defer f.Close()
	if info.Size() > maxSearchFile {
		s.skipped = append(s.skipped, printable(name))
		return nil
	}
	if binary, err := isBinary(f); err != nil || binary {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxSearchFile))
	if err != nil {
		return err
	}
	return s.lines(name, content)
}

// wanted applies the glob: to the name when it has no slash, else to the path.
func (s *search) wanted(name string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(s.glob, name)
}

func (s *search) lines(name string, content []byte) error {
	shown := s.withoutSecrets(content)
	number := 0
	for line := range bytes.Lines(content) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		if !s.re.Match(line) {
			continue
		}
		if s.full = s.matches == maxMatches || s.out.Len() > outputLimit-maxMatchText; s.full {
			return errEnough
		}
		s.matches++
		line = shown(number, line)
		cut := ""
		if len(line) > maxMatchText {
			cut = fmt.Sprintf(" [… %d bytes cut …]", len(line)-maxMatchText)
			line = trimRune(line[:maxMatchText])
		}
		fmt.Fprintf(&s.out, "%s:%d:%s%s\n", printable(name), number, line, cut)
	}
	return nil
}

// withoutSecrets returns what to show of a line. The whole file is looked at, once, when the first line of it is
// shown: one line of a key, or the beginning of a long line, would not be known for a secret.
func (s *search) withoutSecrets(content []byte) func(number int, line []byte) []byte {
	if s.redact == nil {
		return func(_ int, line []byte) []byte { return line }
	}
	lines := sync.OnceValue(func() [][]byte { return bytes.Split(s.redact(content), []byte("\n")) })
	return func(number int, line []byte) []byte {
		if all := lines(); len(all) == 1+bytes.Count(content, []byte("\n")) { // else there was a known value of several lines
			return bytes.TrimRight(all[number-1], "\r")
		}
		return s.redact(line)
	}
}

func (s *search) report(partial string) string {
	switch {
	case s.full:
		fmt.Fprintf(&s.out, "[the first %d matches; there are more, narrow the search down]\n", s.matches)
	case s.matches == 0:
		s.out.WriteString("(nothing matches)\n")
	}
	if n := len(s.skipped); n > 0 {
		fmt.Fprintf(&s.out, "[not searched, because of more than %d bytes: %s]\n", maxSearchFile, words(s.skipped[:min(n, 10)]))
	}
	if partial != "" {
		fmt.Fprintf(&s.out, "[%s]\n", partial)
	}
	return s.out.String()
}
