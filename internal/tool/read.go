package tool

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"pawl"
)

// Limits of files that tools look into.
const (
	maxFile    = 64 << 20 // bytes of a file to read or edit
	maxLine    = 4000     // bytes shown of one line
	sniffBytes = 8000     // a NUL byte in the first of them makes a file binary
)

//go:embed read.md
var readText string

// Read shows a file.
type Read struct{}

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// Spec implements [pawl.Tool].
func (Read) Spec() pawl.ToolSpec {
	return pawl.ToolSpec{Name: "read", Description: strings.TrimSpace(readText), Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the worktree."},
    "offset": {"type": "integer", "minimum": 1, "description": "The first line to show. Default 1."},
    "limit": {"type": "integer", "minimum": 1, "description": "How many lines to show. Default: as many as fit."}
  },
  "required": ["path"],
  "additionalProperties": false
}`)}
}

// Class implements [pawl.Tool].
func (Read) Class() pawl.CrashClass { return pawl.CrashRepeat }

// Call implements [pawl.Tool].
func (Read) Call(ctx context.Context, env pawl.ToolEnv, args json.RawMessage) (pawl.ToolResult, error) {
	text, err := readFile(ctx, env, args)
	return answer("read", text, err)
}

func readFile(ctx context.Context, env pawl.ToolEnv, raw json.RawMessage) (string, error) {
	args, err := decode[readArgs](raw)
	if err != nil {
		return "", err
	}
	if args.Path == "" {
		return "", refuse("the path is empty")
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
	f, info, err := w.open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return "", tooLarge(rel, info.Size())
	}
	binary, err := isBinary(f)
	if err != nil {
		return "", err
	}
	if binary {
		return "", refuse("%s is a binary file of %d bytes", printable(rel), info.Size())
	}
	if info.Size() == 0 {
		return "(the file is empty)", nil
	}
	from := io.Reader(f)
	if env.Redact != nil && info.Size() <= maxSearchFile { // a part of a secret would not be known for one
		content, err := io.ReadAll(io.LimitReader(f, maxSearchFile))
		if err != nil {
			return "", err
		}
		from = bytes.NewReader(env.Redact(content))
	}
	return numbered(ctx, from, max(args.Offset, 1), args.Limit)
}

// numbered shows lines from first on, at most limit when that is positive, with
// their numbers.
func numbered(ctx context.Context, from io.Reader, first, limit int) (string, error) {
	lines := bufio.NewReaderSize(from, 64<<10)
	var out strings.Builder
	number, last, full := 0, 0, false
	for {
		if number%10_000 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		line, cut, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		number++
		if number < first || full {
			continue
		}
		text := fmt.Sprintf("%6d\t%s", number, line)
		if cut > 0 {
			text += fmt.Sprintf(" [… %d bytes cut …]", cut)
		}
		full = out.Len()+len(text)+1 > outputLimit || limit > 0 && number >= first+limit
		if !full {
			out.WriteString(text + "\n")
			last = number
		}
	}
	switch {
	case first > number:
		return "", refuse("the file has %d lines; there is no line %d", number, first)
	case last < number:
		fmt.Fprintf(&out, "[lines %d to %d of %d; read on with offset %d]\n", first, last, number, last+1)
	}
	return out.String(), nil
}

// readLine returns the next line without its end, and how many bytes of it are
// not shown. At the end of the file the error is io.EOF.
func readLine(from *bufio.Reader) (line []byte, cut int, err error) {
	for {
		part, err := from.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && (!errors.Is(err, io.EOF) || len(part)+len(line) == 0) {
			return nil, 0, err
		}
		text, ended := bytes.CutSuffix(part, []byte("\n"))
		kept := min(len(text), maxLine-len(line))
		line = append(line, text[:kept]...)
		cut += len(text) - kept
		if ended || errors.Is(err, io.EOF) {
			break
		}
	}
	if cut > 0 {
		whole := len(line)
		line = trimRune(line)
		return line, cut + whole - len(line), nil
	}
	return bytes.TrimSuffix(line, []byte("\r")), 0, nil
}

// trimRune takes away a rune that was cut in two at the end.
func trimRune(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// isBinary looks at the beginning of a file and leaves its position alone.
func isBinary(f *os.File) (bool, error) {
	start := make([]byte, sniffBytes)
	n, err := f.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.IndexByte(start[:n], 0) >= 0, nil
}

func tooLarge(rel string, size int64) error {
	return refuse("%s has %d bytes; files of up to %d can be opened. Look at parts of it with the run tool", printable(rel), size, maxFile)
}
