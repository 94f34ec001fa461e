package tool

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pawl"
)

// linesNamed is how many lines a message about occurrences names.
const linesNamed = 10

//go:embed edit.md
var editText string

// Edit replaces text in a file.
type Edit struct{}

var _ pawl.Replayer = Edit{}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

// Spec implements [pawl.Tool].
func (Edit) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "edit", Description: strings.TrimSpace(editText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the worktree."},
    "old": {"type": "string", "minLength": 1, "description": "The text to replace."},
    "new": {"type": "string", "description": "What takes its place."},
    "all": {"type": "boolean", "description": "Replace every occurrence. Default false."}
  },
  "required": ["path", "old", "new"],
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Edit) Class() pawl.CrashClass { return pawl.CrashProbe }

// Call implements [pawl.Tool].
func (Edit) Call(_ context.Context, env pawl.ToolEnv, raw json.RawMessage) (pawl.ToolResult, error) {
	path, text, err := editFile(env, raw)
	result, err := answer("edit", text, err)
	if err == nil && !result.IsError {
		result.Wrote = []string{path}
	}
	return result, err
}

func editFile(env pawl.ToolEnv, raw json.RawMessage) (path, text string, err error) {
	args, err := decode[editArgs](raw)
	if err != nil {
		return "", "", err
	}
	w, err := openWorktree(env)
	if err != nil {
		return "", "", err
	}
	defer w.close()
	p, err := w.place(args.Path, false)
	if err != nil {
		return "", "", err
	}
	defer p.close()
	if p.info == nil {
		return "", "", refuse("%s does not exist; write makes new files", printable(p.path))
	}
	before, err := p.read()
	if err != nil {
		return "", "", err
	}
	after, found, err := args.replace(p.path, before)
	if err != nil {
		return "", "", err
	}
	if err := p.put(env.Temp, string(after)); err != nil {
		return "", "", err
	}
	return p.path, fmt.Sprintf("edited %s at %s", printable(p.path), found), nil
}

// Effect implements [pawl.Replayer].
func (Edit) Effect(raw json.RawMessage, before func(string) []byte) (path string, after []byte, ok bool) {
	args, err := decode[editArgs](raw)
	if err != nil {
		return "", nil, false
	}
	if path, err = writePath(args.Path); err != nil {
		return "", nil, false
	}
	content := before(path)
	if content == nil {
		return "", nil, false
	}
	after, _, err = args.replace(path, content)
	return path, after, err == nil
}

// replace returns the content afterwards and where it was changed.
func (a editArgs) replace(path string, content []byte) ([]byte, lines, error) {
	old := []byte(a.Old)
	switch {
	case len(old) == 0:
		return nil, lines{}, refuse("old is empty; write makes whole files")
	case a.Old == a.New:
		return nil, lines{}, refuse("old and new are the same")
	case bytes.IndexByte(content[:min(len(content), sniffBytes)], 0) >= 0:
		return nil, lines{}, refuse("%s is a binary file", printable(path))
	}
	found := occurrences(content, old)
	switch {
	case found.count == 0:
		return nil, found, refuse("old is not in %s%s", printable(path), cmp.Or(hiddenSecret(a.Old), nearMiss(content, a.Old)))
	case found.count > 1 && !a.All:
		return nil, found, refuse("old is in %s %d times, at %s: take more of the surroundings of the one you mean, or set all",
			printable(path), found.count, found)
	}
	after := bytes.ReplaceAll(content, old, []byte(a.New))
	if err := keepSecrets(path, content, after); err != nil {
		return nil, found, err
	}
	return after, found, nil
}

// lines are where something is: how often, and the first few of the lines.
type lines struct {
	count int
	first []int
}

func (l lines) String() string {
	if l.count == 1 {
		return "line " + strconv.Itoa(l.first[0])
	}
	var names []string
	for _, n := range l.first {
		names = append(names, strconv.Itoa(n))
	}
	text := "lines " + strings.Join(names, ", ")
	if more := l.count - len(l.first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// occurrences finds the lines on which old begins, overlapping ones included:
// text that could be meant twice is not unique.
func occurrences(content, old []byte) lines {
	var found lines
	line := 1
	for at := 0; ; {
		i := bytes.Index(content[at:], old)
		if i < 0 {
			return found
		}
		line += bytes.Count(content[at:at+i], []byte("\n"))
		if found.count++; found.count <= linesNamed {
			found.first = append(found.first, line)
		}
		if content[at+i] == '\n' {
			line++
		}
		at += i + 1
	}
}

// nearMiss says why text that looks as if it were there is not.
func nearMiss(content []byte, old string) string {
	text := string(content)
	if strings.Contains(text, "\r\n") && strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), old) {
		return ": its lines end in \\r\\n; give old and new with these line ends"
	}
	wanted := strings.Fields(old)
	if len(wanted) == 0 {
		return ""
	}
	all := strings.Split(text, "\n")
	for i, line := range all {
		if !strings.Contains(strings.Join(strings.Fields(line), " "), strings.Join(strings.Fields(firstLine(old)), " ")) {
			continue
		}
		rest := strings.Fields(strings.Join(all[i:min(len(all), i+strings.Count(old, "\n")+2)], "\n"))
		if strings.Contains(" "+strings.Join(rest, " ")+" ", " "+strings.Join(wanted, " ")+" ") {
			return fmt.Sprintf(": at line %d there is the same text with other blanks or line ends; read it again", i+1)
		}
	}
	return "; read the file again to see what is there"
}

// firstLine is the first line of a text that is not blank.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
