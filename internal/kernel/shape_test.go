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
