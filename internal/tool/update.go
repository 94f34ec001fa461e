package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl"
)

//go:embed update.md
var updateText string

// Update brings lock files up to date and puts the dependencies in place.
type Update struct{}

type updateArgs struct {
	Folder string `json:"folder"`
}

// Spec implements [pawl.Tool].
func (Update) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "update_dependencies", Description: strings.TrimSpace(updateText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "folder": {"type": "string", "description": "The folder of the manifest, relative to the worktree. Default: every folder that has one."}
  },
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Update) Class() pawl.CrashClass { return pawl.CrashOnce }

// Call implements [pawl.Tool].
func (Update) Call(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	args, err := decode[updateArgs](raw)
	if err == nil && env.Dependencies == nil {
		err = refuse("this run has no commands that prepare dependencies (prepare), so none can be added")
	}
	if err != nil {
		return answer("update_dependencies", "", err)
	}
	found, err := env.Dependencies.Update(ctx, args.Folder)
	if err != nil {
		return pawl.ToolResult{}, fmt.Errorf("update_dependencies: %w", err)
	}
	said := found.Text
	if found.Failed {
		return pawl.ToolResult{Text: said, IsError: true}, nil
	}
	names := slices.Sorted(maps.Keys(found.Files))
	for i, name := range names {
		if err := putFile(env, name, found.Files[name]); err != nil {
			result, err := answer("update_dependencies", "", err)
			if !result.IsError {
				return result, err
			}
			if result.Wrote = names[:i]; i > 0 {
				said += "changed: " + words(names[:i]) + "\n"
			}
			result.Text = said + "the lock file " + printable(name) + " could not be put into the worktree: " + result.Text +
				"\nremove what is there and call update_dependencies again\n"
			return result, nil
		}
	}
	if len(names) > 0 {
		said += "changed: " + words(names) + "\n"
	} else {
		said += "no lock file changed\n"
	}
	made, err := env.Dependencies.Prepare(ctx)
	if err != nil {
		return pawl.ToolResult{}, fmt.Errorf("update_dependencies: %w", err)
	}
	return pawl.ToolResult{Text: said + made.Text, IsError: made.Failed, Prepared: made.Key, Wrote: names}, nil
}

func putFile(env pawl.ToolEnv, name string, content []byte) error {
	w, err := openWorktree(env)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := w.place(name, true)
	if err != nil {
		return err
	}
	defer p.close()
	return p.put(env.Temp, string(content))
}
