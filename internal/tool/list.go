package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"pawl"
)

// maxListed is how many entries list shows.
const maxListed = 1000

//go:embed list.md
var listText string

// List shows what is in a folder.
type List struct{}

type listArgs struct {
	Path string `json:"path"`
}

// Spec implements [pawl.Tool].
func (List) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "list", Description: strings.TrimSpace(listText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder, relative to the worktree. Default: the worktree itself."}
  },
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (List) Class() pawl.CrashClass { return pawl.CrashRepeat }

// Call implements [pawl.Tool].
func (List) Call(_ context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	text, err := listFolder(env, raw)
	return answer("list", text, err)
}

func listFolder(env pawl.ToolEnv, raw json.RawMessage) (string, error) {
	args, err := decode[listArgs](raw)
	if err != nil {
		return "", err
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
	info, err := w.stat(rel)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", refuse("%s is not a folder", printable(rel))
	}
	entries, more, err := w.entries(rel, maxFolder)
	if err != nil {
		return "", lookError(rel, err)
	}
	var out strings.Builder
	shown := 0
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if shown == maxListed || out.Len() > outputLimit {
			fmt.Fprintf(&out, "[the first %d of %d entries; narrow it down with glob]\n", shown, len(entries))
			break
		}
		shown++
		out.WriteString(entryLine(w, rel, e) + "\n")
	}
	switch {
	case more:
		fmt.Fprintf(&out, "[there are more than %d entries; these are some of them]\n", maxFolder)
	case shown == 0:
		out.WriteString("(the folder is empty)\n")
	}
	return out.String(), nil
}

func entryLine(w *worktree, folder string, e fs.DirEntry) string {
	line := printable(e.Name())
	switch {
	case e.IsDir():
		line += "/"
	case e.Type()&fs.ModeSymlink != 0:
		if target, err := w.root.Readlink(path.Join(folder, e.Name())); err == nil {
			line += " -> " + printable(target)
		}
	case !e.Type().IsRegular():
		line += " (not a regular file)"
	}
	return line
}
