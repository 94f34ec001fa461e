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
	users    map[string][]string // the packages that import one, with or without tests
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

// watchers are the packages whose tests can see a package, in groups: the nearest
// first, and the program last, as its tests take longest.
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

// mutant is a change of one piece of a file.
type mutant struct {
	pkg, file string
	callee    string // the package that is called
	from, to  int    // bytes of the file that are replaced
	with      string
	place     string // where it stands, and what stands there
	what      string // what is changed
}

func (x mutant) String() string { return x.place + ": " + x.what }

// mutants lists every mutant that find finds, in the order of the source.
func (m *module) mutants(only *regexp.Regexp, find func(w *walker, n ast.Node, stack []ast.Node)) []mutant {
	var out []mutant
	slices.SortFunc(m.packages, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	for _, p := range m.packages {
		if !only.MatchString(p.PkgPath) || isTool(p.PkgPath) {
			continue
		}
		for _, f := range p.Syntax {
			w := &walker{module: m, p: p, file: p.Fset.File(f.Pos())}
			ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
				find(w, n, stack)
				return true
			})
			out = append(out, w.found...)
		}
	}
	return out
}

// isTool reports whether a package is part of no run: it tests, measures or mutates.
func isTool(path string) bool {
	name := path[strings.LastIndex(path, "/")+1:]
	return strings.HasSuffix(name, "test") || name == "bench" || strings.HasPrefix(path, "pawl/tools/")
}

type walker struct {
	*module
	p     *packages.Package
	file  *token.File
	found []mutant
}

// crosses reports whether a call is one of another package of ours. Of the root
// only its contracts count: the rest of it is words that everybody uses, as are
// the packages that lay out text.
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

// add adds a mutant of what stands at a node.
func (w *walker) add(at ast.Node, callee, stands string, from, to token.Pos, with, what string) {
	pos := w.p.Fset.Position(at.Pos())
	name, err := filepath.Rel(w.root, pos.Filename)
	if err != nil {
		name = pos.Filename
	}
	w.found = append(w.found, mutant{pkg: w.p.PkgPath, callee: callee, file: pos.Filename, from: w.file.Offset(from), to: w.file.Offset(to), with: with,
		place: fmt.Sprintf("%s:%d:%d %s", name, pos.Line, pos.Column, stands), what: what})
}

func (w *walker) addCall(call *ast.CallExpr, from, to token.Pos, with, what string) {
	f := w.callee(call)
	w.add(call, f.Pkg().Path(), f.Pkg().Name()+"."+f.Name(), from, to, with, what)
}

// seams adds the mutants of a call of another package.
func (w *walker) seams(n ast.Node, stack []ast.Node) {
	if call, ok := n.(*ast.CallExpr); ok && w.crosses(call) {
		w.mutate(call, stack)
	}
}

// opposite and boundary are what gremlins makes of an operator elsewhere.
var (
	opposite = map[token.Token]string{token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">", token.LAND: "||", token.LOR: "&&"}
	boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
)

// conditions adds the mutants of an operator in the condition of a case clause.
func (w *walker) conditions(n ast.Node, stack []ast.Node) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || !inCondition(b, stack) {
		return
	}
	for _, with := range []string{opposite[b.Op], boundary[b.Op]} {
		if with != "" {
			stands := strings.Join(strings.Fields(w.text(b)), " ")
			what := fmt.Sprintf("%s is %s", b.Op, with)
			w.add(b, w.p.PkgPath, stands, b.OpPos, b.OpPos+token.Pos(len(b.Op.String())), with, what)
		}
	}
}

// inCondition reports whether an expression is part of a case clause's condition, and
// not of a function in it, whose lines are covered as others are.
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

// mutate adds the mutants of one call: it is dropped, its answer is turned or
// ignored, an argument is another's, none, or one more.
func (w *walker) mutate(call *ast.CallExpr, stack []ast.Node) {
	parent := stack[len(stack)-1]
	switch s := parent.(type) {
	case *ast.ExprStmt, *ast.DeferStmt:
		w.addCall(call, parent.Pos(), parent.End(), "", "dropped")
	case *ast.AssignStmt:
		w.ignoreError(call, s, stack)
	}
	if t, ok := w.p.TypesInfo.TypeOf(call).(*types.Basic); ok && t.Kind() == types.Bool {
		w.addCall(call, call.Pos(), call.Pos(), "!", "negated")
	}
	w.arguments(call)
}

// ignoreError lets a test of the call's error be false.
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
			w.addCall(call, test.Cond.End(), test.Cond.End(), " && false", "its error is ignored")
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
			w.addCall(call, a.Pos(), b.End(), w.text(b)+", "+w.text(a), fmt.Sprintf("arguments %d and %d change places", i+1, i+2))
		}
		if with := zero(t); with != "" && with != w.text(a) {
			w.addCall(call, a.Pos(), a.End(), with, fmt.Sprintf("argument %d is %s", i+1, with))
		}
		if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
			w.addCall(call, a.End(), a.End(), "+1", fmt.Sprintf("argument %d is one more", i+1))
		}
	}
}

func isContext(t types.Type) bool { return t.String() == "context.Context" }

// zero is a type's zero value as it is written anywhere; empty = there is none.
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
	source, err := os.ReadFile(w.file.Name())
	if err != nil {
		return ""
	}
	return string(source[w.file.Offset(n.Pos()):w.file.Offset(n.End())])
}
