package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/parser"

	"pawl/internal/kernel/brief"
)

// Bounds of what is read of the artifacts a result names. A file beyond them is
// there and not empty, and nothing more is said about it.
const (
	maxArtifacts = 40
	maxJSON      = 4 << 20  // bytes of a file that is parsed
	maxParsed    = 16 << 20 // bytes of all
	maxYAML      = 32 << 10 // the YAML parser's work grows with the square of what is nested
	maxYAMLs     = 128 << 10
	maxOpened    = 2000 // brackets and the like in a YAML file
)

// checkArtifacts says what is wrong with the files a result says it left: one
// that is not there, is empty, is outside the worktree, or is not what its name
// says. Empty means nothing is.
func checkArtifacts(dir string, args []byte) string {
	var result struct{ Artifacts []string }
	if err := json.Unmarshal(args, &result); err != nil {
		return fmt.Sprintf("the result does not fit: %v", err)
	}
	switch n := len(result.Artifacts); {
	case n == 0:
		return ""
	case n > maxArtifacts:
		return fmt.Sprintf("there are %d artifacts: name at most %d", n, maxArtifacts)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "artifacts cannot be named here: there is no worktree"
	}
	defer root.Close()
	look := artifacts{root: root, json: maxParsed, yaml: maxYAMLs}
	var wrong []string
	for _, path := range result.Artifacts {
		if problem := look.at(path); problem != "" {
			wrong = append(wrong, fmt.Sprintf("%q %s", brief.Cut(path, 80), problem))
		}
	}
	const most = 5
	if more := len(wrong) - most; more > 0 {
		wrong = append(wrong[:most], fmt.Sprintf("and %d more", more))
	}
	if wrong == nil {
		return ""
	}
	return "artifacts: " + strings.Join(wrong, "; ")
}

// artifacts looks at files of a worktree. json and yaml are the bytes that may
// still be parsed.
type artifacts struct {
	root       *os.Root
	json, yaml int
}

// at says what is wrong with one file. A FIFO is not waited for, a device not
// read, and no link leads out of the worktree.
func (l *artifacts) at(path string) string {
	if !filepath.IsLocal(path) || strings.ContainsRune(path, 0) {
		return "is not a path in the worktree: name files relative to it"
	}
	f, err := l.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "does not exist"
	case err != nil:
		return "cannot be opened as a file of the worktree"
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !info.IsDir() && !info.Mode().IsRegular():
		return "is not a regular file"
	case info.IsDir():
		return "is a folder: name the files"
	case info.Size() == 0:
		return "is empty"
	}
	return l.parse(f, info.Size(), strings.ToLower(filepath.Ext(path)))
}

func (l *artifacts) parse(f io.Reader, size int64, ext string) string {
	var left *int
	var most int64
	switch ext {
	case ".json":
		left, most = &l.json, maxJSON
	case ".yaml", ".yml":
		left, most = &l.yaml, maxYAML
	default:
		return ""
	}
	if size > min(most, int64(*left)) {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, size))
	*left -= len(data)
	if err != nil {
		return "cannot be read"
	}
	if ext == ".json" {
		if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
			return fmt.Sprintf("is not valid JSON: %v", err)
		}
		return ""
	}
	return yamlProblem(data)
}

// yamlProblem says what makes a text no YAML. The parser is not ours and the text
// is a stranger's, so a panic is a problem too.
func yamlProblem(data []byte) (problem string) {
	defer func() {
		if recover() != nil {
			problem = "is not valid YAML"
		}
	}()
	opened := 0
	for _, c := range data {
		if strings.IndexByte("[{&*?", c) >= 0 {
			opened++
		}
	}
	if opened > maxOpened {
		return ""
	}
	if _, err := parser.ParseBytes(data, 0); err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return "is not valid YAML: " + brief.Cut(line, 120)
	}
	return ""
}
