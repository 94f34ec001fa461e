package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"pawl"
)

// maxFound is how many paths glob shows.
const maxFound = 1000

//go:embed glob.md
var globText string

// Glob finds files by a pattern.
type Glob struct{}

type globArgs struct {
	Pattern string `json:"pattern"`
}

// Spec implements [pawl.Tool].
func (Glob) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "glob", Description: strings.TrimSpace(globText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The pattern, relative to the worktree, such as src/**/*.ts."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Glob) Class() pawl.CrashClass { return pawl.CrashRepeat }

// Call implements [pawl.Tool].
func (Glob) Call(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	text, err := globFiles(ctx, env, raw)
	return answer("glob", text, err)
}

func globFiles(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (string, error) {
	args, err := decode[globArgs](raw)
	if err != nil {
		return "", err
	}
	if args.Pattern == "" || !doublestar.ValidatePattern(args.Pattern) {
		return "", refuse("the pattern %q is not well-formed", args.Pattern)
	}
	w, err := openWorktree(env)
	if err != nil {
		return "", err
	}
	defer w.close()
	// Only the folder before the first special character is looked through.
	base, rest := doublestar.SplitPattern(args.Pattern)
	if base, err = w.relative(base); err != nil {
		return "", err
	}
	pattern := path.Join(base, rest)
	var found []string
	size, full := 0, false
	search := walk{tree: w, visit: func(name string, _ fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(pattern, name) {
			return nil
		}
		if full = len(found) == maxFound || size > outputLimit; full {
			return errEnough
		}
		found = append(found, printable(name))
		size += len(name) + 1
		return nil
	}}
	if _, err := w.stat(base); err == nil {
		if err := search.everything(ctx, base); err != nil {
			return "", err
		}
	}
	switch {
	case full:
		found = append(found, fmt.Sprintf("[the first %d; there are more, narrow the pattern down]", len(found)))
	case len(found) == 0 && !strings.Contains(pattern, "/"):
		found = append(found, "(no file matches; to look in folders too, begin with **/)")
	case len(found) == 0:
		found = append(found, "(no file matches)")
	}
	if search.partial != "" {
		found = append(found, "["+search.partial+"]")
	}
	return strings.Join(found, "\n") + "\n", nil
}
