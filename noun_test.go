package pawl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// An event's type stands with its kind, its codec and its other methods in the file of its noun,
// and so does an effect's: whoever adds one writes one file, and a line in the list of kinds. F-59
func TestEventsStandTogether(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{}           // the file of a type
	methods := map[string]map[string]string{} // the files of its methods
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						declared[s.Name.Name] = path
					}
				}
			case *ast.FuncDecl:
				if of := receiver(d); of != "" {
					if methods[of] == nil {
						methods[of] = map[string]string{}
					}
					methods[of][d.Name.Name] = path
				}
			}
		}
	}
	events, effects := 0, 0
	for of, files := range methods {
		var prefix string
		switch {
		case files["EventKind"] != "":
			events, prefix = events+1, "event_"
		case files["Verb"] != "":
			effects, prefix = effects+1, "effect"
		default:
			continue
		}
		if !strings.HasPrefix(declared[of], prefix) {
			t.Errorf("%s stands in %s, want a file %s*.go named by its noun", of, declared[of], prefix)
		}
		for name, path := range files {
			if path != declared[of] {
				t.Errorf("%s of %s stands in %s, want %s, where its type is", name, of, path, declared[of])
			}
		}
	}
	if events < 80 || effects < 20 {
		t.Errorf("there are %d events and %d effects: want all", events, effects)
	}
}

// receiver returns the name of the type that a method belongs to; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
