package kernel

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mayImport is what a package without a clock, randomness and I/O may need.
var mayImport = []string{"cmp", "encoding/binary", "encoding/hex", "encoding/json", "fmt", "hash/fnv", "math/bits", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8", "pawl"}

// The kernel decides the same from the same log, on every machine and at every time: it has no
// clock, no goroutine and no variable of its own, it does not range over a map, whose order is
// random, and it does not calculate in floating point. It reads no file: its caller passes
// what it must know of a project. V-15 V-57 L-41 L-B18
func TestPure(t *testing.T) {
	for _, s := range parsed(t) {
		pure(t, s)
	}
}

func pure(t *testing.T, s source) {
	fset, info := s.fset, s.info
	imports := mayImport
	if s.pkg.Name() == "snapshot" { // it reads and makes values of all types
		imports = append(slices.Clone(imports), "reflect")
	}
	for _, f := range s.files {
		for _, imp := range f.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); !slices.Contains(imports, path) && !strings.HasPrefix(path, "pawl/internal/kernel/") {
				t.Errorf("%s: imports %s", fset.Position(imp.Pos()), path)
			}
		}
		for _, d := range f.Decls {
			if v, ok := d.(*ast.GenDecl); ok && v.Tok == token.VAR && v.Specs[0].(*ast.ValueSpec).Names[0].Name != "phases" {
				t.Errorf("%s: a variable of the package", fset.Position(v.Pos()))
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if n != nil {
				if what := impure(n, info); what != "" {
					t.Errorf("%s: %s", fset.Position(n.Pos()), what)
				}
			}
			return true
		})
	}
}

// source is a package's source, with its types.
type source struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

// parsed returns the kernel and the packages below it, which are parsed once. The types of what they
// import come from the compiler's export data.
func parsed(t *testing.T) []source {
	t.Helper()
	all, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parseAll = sync.OnceValues(func() (out []source, err error) {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	folders := []string{"."}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" {
			folders = append(folders, e.Name())
		}
	}
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".").Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{} // the compiled packages by their paths
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		exports[path] = file
	}
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	for _, of := range folders {
		s := source{fset: fset, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
		if s.files, err = sources(fset, of); err != nil {
			return nil, err
		}
		if s.pkg, err = conf.Check("pawl/internal/kernel/"+of, fset, s.files, s.info); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
})

func sources(fset *token.FileSet, of string) (out []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(of, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func impure(n ast.Node, info *types.Info) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
		return "uses a channel"
	case *ast.RangeStmt:
		if _, isMap := info.TypeOf(n.X).Underlying().(*types.Map); isMap {
			return "goes over a map"
		}
	case *ast.Ident:
		obj := info.Uses[n]
		if f, ok := obj.(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == "time" &&
			slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, f.Name()) &&
			f.Type().(*types.Signature).Recv() == nil {
			return "asks the clock: time." + f.Name()
		}
	}
	if e, ok := n.(ast.Expr); ok {
		if b, ok := info.TypeOf(e).(*types.Basic); ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
			return "counts in floating point"
		}
	}
	return ""
}
