// Words draws texts that users read, for somebody to read them aloud:
//
//	go run ./tools/words -seed 1 -n 40
//
// It draws from the string literals of the program that have at least three words, which
// are messages and help, and from the sentences of README.md and docs. The same seed
// draws the same texts from the same source.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Stdout, ".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, root string, args []string) error {
	flags := flag.NewFlagSet("words", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "seed of the draw")
	n := flags.Int("n", 40, "number of texts to draw")
	if err := flags.Parse(args); err != nil {
		return err
	}
	texts, err := collect(root)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(*seed, 0))
	rng.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	for _, t := range texts[:min(*n, len(texts))] {
		if _, err := fmt.Fprintf(out, "%s: %s\n", t.at, t.words); err != nil {
			return err
		}
	}
	return nil
}

// text is a text that users read and where it stands.
type text struct{ at, words string }

// collect returns the texts below root, in the order of their files. Each text is there
// once.
func collect(root string) ([]text, error) {
	var all []text
	seen := map[string]bool{}
	add := func(at, words string) {
		words = strings.Join(strings.Fields(words), " ")
		if isProse(words) && !seen[words] {
			seen[words] = true
			all = append(all, text{at, words})
		}
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			if rel != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "abuse" || slices.Contains([]string{"bin", "tools", "docs/decisions"}, rel)) {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case rel == "README.md" || strings.HasPrefix(rel, "docs/") && strings.HasSuffix(rel, ".md"):
			return sentences(path, rel, add)
		case strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") && !strings.Contains(filepath.Dir(rel)+"/", "test/"):
			return literals(path, rel, add)
		}
		return nil
	})
	return all, err
}

// A text is prose if it has three words of letters in a row.
var prose = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [A-Za-z]+[,;:]? [A-Za-z]+`)

// isProse reports whether a text is made of words. SQL and code are not.
func isProse(words string) bool {
	return prose.MatchString(words) && !statement.MatchString(words)
}

var statement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WITH|ALTER|DROP|BEGIN)\b`)

// literals adds the string literals of a file, and of those with several paragraphs each
// one.
func literals(path, rel string, add func(at, words string)) error {
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
				n.Tag = nil
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			words, err := strconv.Unquote(n.Value)
			if err != nil {
				return true
			}
			at := fmt.Sprintf("%s:%d", rel, files.Position(n.Pos()).Line)
			for _, paragraph := range strings.Split(words, "\n\n") {
				add(at, paragraph)
			}
		}
		return true
	})
	return nil
}

var (
	sentenceEnd = regexp.MustCompile(`[.:?!](?:\*\*)?\s`)
	listMark    = regexp.MustCompile(`^\s*([-*#]+|\d+\.)\s+`)
)

// sentences adds the sentences, list entries and table cells of a Markdown document,
// without its code blocks.
func sentences(path, rel string, add func(at, words string)) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var paragraph []string
	first, fenced := 0, false
	flush := func() {
		words := strings.Join(paragraph, " ")
		paragraph = nil
		at := fmt.Sprintf("%s:%d", rel, first)
		for words != "" {
			end := len(words)
			if i := sentenceEnd.FindStringIndex(words); i != nil {
				end = i[1]
			}
			add(at, words[:end])
			words = words[end:]
		}
	}
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			flush()
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(line, "|"):
			flush()
			for _, cell := range strings.Split(line, "|") {
				add(fmt.Sprintf("%s:%d", rel, i+1), cell)
			}
		case strings.TrimSpace(line) == "" || listMark.MatchString(line):
			flush()
			line = listMark.ReplaceAllString(line, "")
			fallthrough
		default:
			if len(paragraph) == 0 {
				first = i + 1
			}
			if line != "" && !strings.HasPrefix(line, "<!--") {
				paragraph = append(paragraph, line)
			}
		}
	}
	flush()
	return nil
}
