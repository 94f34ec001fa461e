package source

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// SharesChanges reports whether tests outside of a file may see how it changed: what is not a test in it is
// another thing than before. Only of Go is it known; of all other languages it reports true.
func SharesChanges(base, candidate File) bool {
	if path.Ext(base.Path) != ".go" || len(base.Data) > maxBytes || len(candidate.Data) > maxBytes {
		return true
	}
	old, ok := sharedDecls(base)
	now, both := sharedDecls(candidate)
	return !ok || !both || !slices.Equal(old, now)
}

// sharedDecls returns the declarations of a Go file that others can use, sorted, without blanks and comments.
func sharedDecls(f File) ([]string, bool) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.Path, f.Data, parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	start := set.File(tree.FileStart).Base()
	var decls []string
	for _, d := range tree.Decls {
		if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			continue
		}
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isGoTest(fn.Name.Name) {
			continue
		}
		decls = append(decls, string(bytes.Join(bytes.Fields(f.Data[int(d.Pos())-start:int(d.End())-start]), []byte(" "))))
	}
	slices.Sort(decls)
	return decls, true
}

// isGoTest reports whether a function of this name is a test, an example, a benchmark or a fuzz test. TestMain runs
// before all of them.
func isGoTest(name string) bool {
	return name != "TestMain" && slices.ContainsFunc([]string{"Test", "Example", "Benchmark", "Fuzz"}, func(p string) bool { return strings.HasPrefix(name, p) })
}
