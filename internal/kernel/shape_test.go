package kernel

import (
	"go/ast"
	"go/types"
	"testing"
)

// The bounds of what a reader must hold in mind at once.
const (
	maxFields = 45 // of a struct, those of embedded ones included
	maxLength = 80 // lines of a function
)

// No struct and no function of the kernel is larger than a head can hold. F-52
func TestShape(t *testing.T) {
	for _, of := range parsed(t) {
		fset, files, pkg := of.fset, of.files, of.pkg
		for _, name := range pkg.Scope().Names() {
			v := pkg.Scope().Lookup(name)
			if s, ok := v.Type().Underlying().(*types.Struct); ok && fieldsOf(s) > maxFields {
				t.Errorf("%s: %s has %d fields: want at most %d", fset.Position(v.Pos()), name, fieldsOf(s), maxFields)
			}
		}
		for _, f := range files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxLength {
					t.Errorf("%s: %s has %d lines: want at most %d", fset.Position(fn.Pos()), fn.Name.Name, n, maxLength)
				}
			}
		}
	}
}

// fieldsOf counts the fields of a struct and of all that is embedded in it.
func fieldsOf(s *types.Struct) int {
	n := 0
	for f := range s.Fields() {
		of := f.Type()
		if p, ok := of.Underlying().(*types.Pointer); ok {
			of = p.Elem()
		}
		if e, ok := of.Underlying().(*types.Struct); ok && f.Embedded() {
			n += fieldsOf(e)
		} else {
			n++
		}
	}
	return n
}

// A condition of a case only looks: what emits events is a statement of its own, so that a reader of
// a switch sees what is decided without knowing what is done. F-58
func TestCasesHaveNoEffect(t *testing.T) {
	for _, of := range parsed(t) {
		acts := actsOf(of.files)
		for _, f := range of.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, cond := range c.List {
						for name := range callsOn("d", cond) {
							if acts[name] {
								t.Errorf("%s: the condition calls %s, which emits events", of.fset.Position(cond.Pos()), name)
							}
						}
					}
				}
				return true
			})
		}
	}
}

// actsOf returns the methods of draft that emit events, themselves or through another one.
func actsOf(files []*ast.File) map[string]bool {
	calls := map[string]map[string]bool{}
	for _, f := range files {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && len(fn.Recv.List[0].Names) > 0 && fn.Recv.List[0].Names[0].Name == "d" {
				calls[fn.Name.Name] = callsOn("d", fn)
			}
		}
	}
	acts := map[string]bool{"emit": true}
	for grew := true; grew; {
		grew = false
		for name, all := range calls {
			for callee := range all {
				if acts[callee] && !acts[name] {
					acts[name], grew = true, true
				}
			}
		}
	}
	return acts
}

// callsOn returns the names of the methods of a variable that are called below a node.
func callsOn(name string, below ast.Node) map[string]bool {
	out := map[string]bool{}
	ast.Inspect(below, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
					out[sel.Sel.Name] = true
				}
			}
		}
		return true
	})
	return out
}
