package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// module is Pawl's source with its types.
type module struct {
	root     string
	packages []*packages.Package
	users    map[string][]string // importers by package, including those of test files only
}

func load() (*module, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	all, err := packages.Load(&packages.Config{Mode: mode, Dir: root, Tests: true}, "./...")
	if err != nil {
		return nil, fmt.Errorf("load the module: %w", err)
	}
	if packages.PrintErrors(all) > 0 {
		return nil, fmt.Errorf("the module does not compile")
	}
	m := &module{root: root, users: map[string][]string{}}
	for _, p := range all {
		path := strings.TrimSuffix(p.PkgPath, "_test")
		if p.ID == p.PkgPath && !strings.HasSuffix(p.PkgPath, "_test") && !strings.HasSuffix(p.PkgPath, ".test") {
			m.packages = append(m.packages, p)
		}
		for imported := range p.Imports {
			if ours(imported) && imported != path && !strings.HasSuffix(path, ".test") && !slices.Contains(m.users[imported], path) {
				m.users[imported] = append(m.users[imported], path)
			}
		}
	}
	return m, nil
}

func ours(path string) bool { return path == "pawl" || strings.HasPrefix(path, "pawl/") }

// watchers lists the packages whose tests can notice a change of pkg, in groups:
// the nearest first, and cmd/pawl last because its tests take longest.
func (m *module) watchers(pkg string) [][]string {
	const program = "pawl/cmd/pawl"
	groups, seen := [][]string{{pkg}}, map[string]bool{pkg: true, program: true}
	for {
		var next []string
		for _, p := range groups[len(groups)-1] {
			for _, u := range m.users[p] {
				if !seen[u] {
					seen[u] = true
					next = append(next, u)
				}
			}
		}
		if len(next) == 0 {
			break
		}
		slices.Sort(next)
		groups = append(groups, next)
	}
	if pkg != program {
		groups = append(groups, []string{program})
	}
	return groups
}

// mutant is one replacement in one source file.
type mutant struct {
	pkg, file string
	callee    string // the package of the called function
	from, to  int    // the replaced bytes of the file
	with      string
	place     string // position and original code
	what      string // the change, in words
}

func (x mutant) String() string { return x.place + ": " + x.what }

// mutants returns every mutant that find adds, in source order.
func (m *module) mutants(only *regexp.Regexp, find func(w *walker, n ast.Node, stack []ast.Node)) ([]mutant, error) {
	var out []mutant
	slices.SortFunc(m.packages, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	for _, p := range m.packages {
		if !only.MatchString(p.PkgPath) || isTool(p.PkgPath) {
			continue
		}
		for _, f := range p.Syntax {
			file := p.Fset.File(f.Pos())
			source, err := os.ReadFile(file.Name())
			if err != nil {
				return nil, err
			}
			w := &walker{module: m, p: p, file: file, source: source}
			ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
				find(w, n, stack)
				return true
			})
			out = append(out, w.found...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-in: no package that %q matches has anything to mutate", only)
	}
	return out, nil
}

// isTool reports whether a package only tests, measures or mutates Pawl.
func isTool(path string) bool {
	name := path[strings.LastIndex(path, "/")+1:]
	return strings.HasSuffix(name, "test") || name == "bench" || strings.HasPrefix(path, "pawl/tools/")
}

type walker struct {
	*module
	p      *packages.Package
	file   *token.File
	source []byte // the content of file
	found  []mutant
}

// crosses reports whether call calls another package of Pawl. In the root package
// only interface methods count, because its other functions are vocabulary that
// every package uses. Packages that only format text do not count.
func (w *walker) crosses(call *ast.CallExpr) bool {
	f := w.callee(call)
	if f == nil || f.Pkg() == nil || !ours(f.Pkg().Path()) || f.Pkg().Path() == w.p.PkgPath {
		return false
	}
	if f.Pkg().Path() == "pawl/internal/cli" || f.Pkg().Path() == "pawl/internal/plain" {
		return false
	}
	recv := f.Signature().Recv()
	return f.Pkg().Path() != "pawl" || recv != nil && types.IsInterface(recv.Type())
}

func (w *walker) callee(call *ast.CallExpr) *types.Func {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		fn, _ := w.p.TypesInfo.Uses[f.Sel].(*types.Func)
		return fn
	case *ast.Ident:
		fn, _ := w.p.TypesInfo.Uses[f].(*types.Func)
		return fn
	}
	return nil
}

// add records the mutant that replaces the code from from to to. original is the code
// that the report shows.
func (w *walker) add(at ast.Node, callee, original string, from, to token.Pos, with, what string) {
	pos := w.p.Fset.Position(at.Pos())
	name, err := filepath.Rel(w.root, pos.Filename)
	if err != nil {
		name = pos.Filename
	}
	w.found = append(w.found, mutant{pkg: w.p.PkgPath, callee: callee, file: pos.Filename, from: w.file.Offset(from), to: w.file.Offset(to), with: with,
		place: fmt.Sprintf("%s:%d:%d %s", name, pos.Line, pos.Column, original), what: what})
}

func (w *walker) addCall(call *ast.CallExpr, from, to token.Pos, with, what string) {
	f := w.callee(call)
	w.add(call, f.Pkg().Path(), f.Pkg().Name()+"."+f.Name(), from, to, with, what)
}

// seams adds the mutants of a call to another package.
func (w *walker) seams(n ast.Node, stack []ast.Node) {
	if call, ok := n.(*ast.CallExpr); ok && w.crosses(call) {
		w.mutate(call, stack)
	}
}

// opposite and boundary are the replacements that gremlins uses for operators.
var (
	opposite = map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">", token.LAND: "||", token.LOR: "&&"}
	boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
)

// conditions adds the mutants of an operator in a case condition.
func (w *walker) conditions(n ast.Node, stack []ast.Node) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || !inCondition(b, stack) {
		return
	}
	for _, with := range []string{opposite[b.Op], boundary[b.Op]} {
		if with != "" {
			original := strings.Join(strings.Fields(w.text(b)), " ")
			what := fmt.Sprintf("%s becomes %s", b.Op, with)
			w.add(b, w.p.PkgPath, original, b.OpPos, b.OpPos+token.Pos(len(b.Op.String())), with, what)
		}
	}
}

// inCondition reports whether n is part of a case condition. A function literal inside
// the condition is excluded: coverage counts its statements.
func inCondition(n ast.Node, stack []ast.Node) bool {
	for _, up := range slices.Backward(stack) {
		switch up := up.(type) {
		case *ast.CaseClause:
			return slices.ContainsFunc(up.List, func(e ast.Expr) bool { return e.Pos() <= n.Pos() && n.End() <= e.End() })
		case *ast.FuncLit, *ast.BlockStmt:
			return false
		}
	}
	return false
}

// mutate adds the mutants of one call: the call is removed, its result negated, its
// error ignored, or an argument exchanged, zeroed or incremented.
func (w *walker) mutate(call *ast.CallExpr, stack []ast.Node) {
	parent := stack[len(stack)-1]
	switch s := parent.(type) {
	case *ast.ExprStmt, *ast.DeferStmt:
		w.addCall(call, parent.Pos(), parent.End(), "", "call removed")
	case *ast.AssignStmt:
		w.ignoreError(call, s, stack)
	}
	if t, ok := w.p.TypesInfo.TypeOf(call).(*types.Basic); ok && t.Kind() == types.Bool {
		w.addCall(call, call.Pos(), call.Pos(), "!", "negated")
	}
	w.arguments(call)
}

// ignoreError adds a mutant that makes the check of the call's error always false.
func (w *walker) ignoreError(call *ast.CallExpr, s *ast.AssignStmt, stack []ast.Node) {
	var test *ast.IfStmt
	switch up := stack[len(stack)-2].(type) {
	case *ast.IfStmt:
		if up.Init == s {
			test = up
		}
	case *ast.BlockStmt:
		if i := slices.Index(up.List, ast.Stmt(s)); i >= 0 && i+1 < len(up.List) {
			test, _ = up.List[i+1].(*ast.IfStmt)
		}
	}
	if test == nil || test.Init != nil && test.Init != s {
		return
	}
	if b, ok := test.Cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ {
		if x, ok := b.X.(*ast.Ident); ok && x.Name == "err" {
			w.addCall(call, test.Cond.End(), test.Cond.End(), " && false", "error ignored")
		}
	}
}

func (w *walker) arguments(call *ast.CallExpr) {
	for i, a := range call.Args {
		t := w.p.TypesInfo.TypeOf(a)
		if t == nil || call.Ellipsis.IsValid() || isContext(t) {
			continue
		}
		if i+1 < len(call.Args) && types.Identical(t, w.p.TypesInfo.TypeOf(call.Args[i+1])) {
			b := call.Args[i+1]
			w.addCall(call, a.Pos(), b.End(), w.text(b)+", "+w.text(a), fmt.Sprintf("arguments %d and %d are exchanged", i+1, i+2))
		}
		if with := zero(t); with != "" && with != w.text(a) {
			w.addCall(call, a.Pos(), a.End(), with, fmt.Sprintf("argument %d becomes %s", i+1, with))
		}
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
			w.addCall(call, a.End(), a.End(), "+1", fmt.Sprintf("argument %d is incremented", i+1))
		}
	}
}

func isContext(t types.Type) bool { return t.String() == "context.Context" }

// zero returns the literal of t's zero value, or "" if it has none that is valid in
// every package.
func zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		case u.Info()&types.IsBoolean != 0:
			return "false"
		}
	case *types.Pointer, *types.Slice, *types.Map, *types.Signature, *types.Interface, *types.Chan:
		return "nil"
	}
	return ""
}

func (w *walker) text(n ast.Node) string {
	return string(w.source[w.file.Offset(n.Pos()):w.file.Offset(n.End())])
}
