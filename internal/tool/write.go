package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/secret"
)

//go:embed write.md
var writeText string

// Write writes a whole file.
type Write struct{}

var _ pawl.Replayer = Write{}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Spec implements [pawl.Tool].
func (Write) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "write", Description: strings.TrimSpace(writeText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the worktree."},
    "content": {"type": "string", "description": "All that the file shall hold."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Write) Class() pawl.CrashClass { return pawl.CrashProbe }

// Call implements [pawl.Tool].
func (Write) Call(_ context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	path, text, err := writeFile(env, raw)
	result, err := answer("write", text, err)
	if err == nil && !result.IsError {
		result.Wrote = []string{path}
	}
	return result, err
}

func writeFile(env pawl.ToolEnv, raw json.RawMessage) (path, text string, err error) {
	args, err := decode[writeArgs](raw)
	if err != nil {
		return "", "", err
	}
	w, err := openWorktree(env)
	if err != nil {
		return "", "", err
	}
	defer w.close()
	p, err := w.place(args.Path, true)
	if err != nil {
		return "", "", err
	}
	defer p.close()
	done := "made"
	var before []byte
	if p.info != nil {
		done = "replaced"
		before, _ = p.read() // one that cannot be read has nothing to keep
	}
	if err := keepSecrets(p.path, before, []byte(args.Content)); err != nil {
		return "", "", err
	}
	if err := p.put(env.Temp, args.Content); err != nil {
		return "", "", err
	}
	return p.path, fmt.Sprintf("%s %s, %d bytes", done, printable(p.path), len(args.Content)), nil
}

// Effect implements [pawl.Replayer].
func (Write) Effect(raw json.RawMessage, before func(string) []byte) (path string, after []byte, ok bool) {
	args, err := decode[writeArgs](raw)
	if err != nil {
		return "", nil, false
	}
	after = append([]byte{}, args.Content...)
	if path, err = writePath(args.Path); err == nil && secret.Marks(after) > 0 {
		err = keepSecrets(path, before(path), after)
	}
	return path, after, err == nil
}
