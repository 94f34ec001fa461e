package source

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// goFile reads the syntax tree of a Go file.
type goFile struct {
	*file
	base int // what the position of the first byte is
	docs []*ast.CommentGroup
}

// findGo finds the functions and tests of a Go file. What does not parse is read as far as it does.
func findGo(f *file) {
	set := token.NewFileSet()
	tree, _ := parser.ParseFile(set, f.path, f.src, parser.ParseComments|parser.SkipObjectResolution)
	f.composites = map[int]bool{}
	if tree == nil || set.File(tree.FileStart) == nil {
		return
	}
	g := &goFile{file: f, base: set.File(tree.FileStart).Base(), docs: tree.Comments}
	for _, c := range tree.Comments {
		for _, line := range c.List {
			if line.Pos() < tree.Package && !built(line.Text) {
				f.marks = append(f.marks, mark{text: line.Text})
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && lit.Rbrace.IsValid() {
			f.composites[g.token(lit.Lbrace)] = true
		}
		return true
	})
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			g.tables(d)
		case *ast.FuncDecl:
			if d.Body != nil && d.Body.Rbrace.IsValid() && len(f.units) < maxUnits {
				f.units = append(f.units, g.function(d))
			}
		}
	}
}

// built reports whether a comment lets a file be built, on Linux and without tags.
func built(comment string) bool {
	if !constraint.IsGoBuild(comment) {
		return true
	}
	x, err := constraint.Parse(comment)
	return err != nil || x.Eval(func(tag string) bool {
		return tag == "linux" || tag == "unix" || tag == "amd64" || tag == "arm64" || tag == "cgo" || tag == "gc" || strings.HasPrefix(tag, "go1.")
	})
}

// token returns the index of the token at a position.
func (g *goFile) token(p token.Pos) int {
	i, _ := slices.BinarySearchFunc(g.toks, int(p)-g.base, func(t lexeme, at int) int { return t.pos - at })
	return i
}

// span returns the tokens of a node.
func (g *goFile) span(n ast.Node) span { return span{g.token(n.Pos()), g.token(n.End())} }

// goListType reports whether the composite literal at a brace is one of a slice, an array or a map.
func (f *file) goListType(i int) bool {
	for j := i - 1; j >= 0 && j > i-200; j-- {
		t := &f.toks[j]
		switch {
		case t.is("]"):
			return true
		case t.is("}") && t.mate >= 0: // []struct{ … }{ … }
			j = t.mate
		case t.kind == word || t.is(".") || t.is("*"):
		default:
			return false
		}
	}
	return false
}

// tables notes the names of a declaration that are composite literals.
func (g *goFile) tables(d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range v.Names {
			if i < len(v.Values) {
				if lit, ok := v.Values[i].(*ast.CompositeLit); ok {
					g.file.tables[name.Name] = g.span(lit)
				}
			}
		}
	}
}

// function returns the unit of a function.
func (g *goFile) function(d *ast.FuncDecl) *unit {
	name := d.Name.Name
	u := &unit{file: g.file, name: name, line: g.at(g.token(d.Name.Pos())).line, body: span{g.token(d.Body.Lbrace) + 1, g.token(d.Body.Rbrace)}}
	u.end = g.at(u.body.to).line
	if d.Recv != nil && len(d.Recv.List) == 1 {
		u.suite, u.method = strings.TrimPrefix(g.code(g.span(d.Recv.List[0].Type)), "*"), true
	}
	testing := g.testingParameter(d.Type)
	inTest := strings.HasSuffix(g.path, "_test.go")
	params := len(d.Type.Params.List)
	suite := d.Recv != nil && params == 0 && (strings.HasSuffix(u.suite, "Suite") || strings.Contains(u.suite, "Test"))
	u.test = inTest && (goName(name, "Test") && (d.Recv == nil && testing == "T" || suite) || d.Recv == nil && (goName(name, "Fuzz") && testing == "F" || goName(name, "Example") && params == 0))
	u.helper = inTest || testing != ""
	w := &goWalk{goFile: g, unit: u, seen: map[ast.Node]bool{}}
	w.walk(d.Body)
	w.top(d.Body)
	if u.test && goName(name, "Example") {
		g.output(u, d)
	}
	g.muteRowNames(d.Body, w.messages)
	return u
}

// goName reports whether a name is a prefix alone or one that a capital follows.
func goName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || !(rest[0] >= 'a' && rest[0] <= 'z'))
}

// testingParameter returns the type of package testing that a function has a parameter of.
func (g *goFile) testingParameter(t *ast.FuncType) string {
	for _, p := range t.Params.List {
		typ := p.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if sel, ok := typ.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "testing" {
				return sel.Sel.Name
			}
		}
	}
	return ""
}

// output adds the check of an example that says what it prints.
func (g *goFile) output(u *unit, d *ast.FuncDecl) {
	from, _ := slices.BinarySearchFunc(g.docs, d.Body.Lbrace, func(c *ast.CommentGroup, p token.Pos) int { return int(c.Pos() - p) })
	for _, c := range g.docs[from:] {
		if c.Pos() > d.Body.Rbrace {
			return
		}
		said := strings.TrimSpace(c.Text())
		lower := strings.ToLower(said)
		o, n := opEqual, len("output:")
		if strings.HasPrefix(lower, "unordered output:") {
			o, n = opContains, len("unordered output:")
		} else if !strings.HasPrefix(lower, "output:") {
			continue
		}
		lit := literal{text: string('0'+text) + strings.TrimSpace(said[n:]), list: -1}
		at := span{u.body.to, u.body.to + 1}
		u.checks = append(u.checks, check{span: at, line: g.line(c.Pos()), op: o, weight: 1, sides: [2][]literal{{lit}}, said: lit.text})
	}
}

func (g *goFile) line(p token.Pos) int { return g.at(g.token(p)).line }

// muteRowNames mutes the names of the rows of a table, which are those that t.Run is given.
func (g *goFile) muteRowNames(body *ast.BlockStmt, messages []span) {
	field, uses := "", map[string]int{}
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			at := g.token(sel.Sel.Pos())
			if !slices.ContainsFunc(messages, func(m span) bool { return m.has(at) }) {
				uses[sel.Sel.Name]++
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" && len(call.Args) == 2 {
			if name, ok := call.Args[0].(*ast.SelectorExpr); ok {
				field = name.Sel.Name
			}
			if name, ok := call.Args[0].(*ast.BasicLit); ok {
				g.mute(g.span(name))
			}
		}
		return true
	})
	if field == "" || uses[field] > 1 { // what is used elsewhere too is more than a name
		return
	}
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		at := fieldIndex(lit.Type, field)
		for _, e := range lit.Elts {
			row, ok := e.(*ast.CompositeLit)
			if !ok {
				continue
			}
			for i, v := range row.Elts {
				if kv, ok := v.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
						g.mute(g.span(kv.Value))
					}
				} else if i == at {
					g.mute(g.span(v))
				}
			}
		}
		return true
	})
}

// fieldIndex returns which field of the rows of a table has a name, or -1.
func fieldIndex(t ast.Expr, name string) int {
	array, ok := t.(*ast.ArrayType)
	if !ok {
		return -1
	}
	s, ok := array.Elt.(*ast.StructType)
	if !ok {
		return -1
	}
	i := 0
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if n.Name == name {
				return i
			}
			i++
		}
	}
	return -1
}

// goWalk finds the checks of one function.
type goWalk struct {
	*goFile
	unit *unit
	seen map[ast.Node]bool // conditions whose checks are there
	// messages are the arguments of what fails or logs.
	messages []span
}

// walk visits a node and all in it, each with the nodes around it.
func (w *goWalk) walk(n ast.Node) {
	var stack []ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		if len(w.unit.checks) < maxFacts {
			w.node(n, stack)
		}
		return true
	})
}

func (w *goWalk) node(n ast.Node, stack []ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		w.call(n, stack)
	case *ast.BlockStmt:
		w.block(n.List)
	case *ast.CaseClause:
		w.block(n.Body)
	case *ast.CommClause:
		w.block(n.Body)
	case *ast.IfStmt:
		if id, ok := n.Cond.(*ast.Ident); ok && id.Name == "false" {
			w.unit.dead = append(w.unit.dead, w.span(n.Body))
		}
		if id, ok := n.Cond.(*ast.Ident); ok && id.Name == "true" && n.Else != nil {
			w.unit.dead = append(w.unit.dead, w.span(n.Else))
		}
	case *ast.ForStmt:
		if id, ok := n.Cond.(*ast.Ident); ok && id.Name == "false" {
			w.unit.dead = append(w.unit.dead, w.span(n.Body))
		}
	case *ast.RangeStmt:
		if lit, ok := n.X.(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
			w.unit.dead = append(w.unit.dead, w.span(n.Body))
		}
	case *ast.AssignStmt:
		for _, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok && id.Name == "_" {
				w.unit.blanks++
			}
		}
	case *ast.DeferStmt:
		w.recovered(n)
	}
}

// block marks what stands behind a return or an exit as dead.
func (w *goWalk) block(list []ast.Stmt) {
	for i, s := range list {
		if i+1 == len(list) {
			return
		}
		_, leaves := s.(*ast.ReturnStmt)
		if e, ok := s.(*ast.ExprStmt); ok {
			if call, ok := e.X.(*ast.CallExpr); ok {
				name := w.code(w.span(call.Fun))
				leaves = name == "os.Exit" || name == "runtime.Goexit"
			}
		}
		if leaves {
			w.unit.dead = append(w.unit.dead, span{w.token(list[i+1].Pos()), w.token(list[len(list)-1].End())})
			return
		}
	}
}

// recovered marks the whole function as dead if it swallows every panic: what comes after one is
// never reached.
func (w *goWalk) recovered(d *ast.DeferStmt) {
	s := w.span(d)
	if w.contains(s, "recover") && !w.contains(s, "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow", "panic", "nil", "Equal", "NotNil") && !w.comparesRecovered(s) {
		w.unit.dead = append(w.unit.dead, w.unit.body)
	}
}

// comparesRecovered reports whether what recover returns is assigned to something that is used.
func (w *goWalk) comparesRecovered(s span) bool {
	for i := s.from; i < s.to; i++ {
		if w.at(i).is("recover") && (w.at(i-1).is("=") || w.at(i-1).is(":=")) && w.at(i-2).text != "_" {
			name := w.at(i - 2).text
			uses := 0
			for j := s.from; j < s.to; j++ {
				if w.at(j).is(name) {
					uses++
				}
			}
			return uses > 2
		}
	}
	return false
}

// top adds marks for conditions at the top of a test that only return.
func (w *goWalk) top(body *ast.BlockStmt) {
	for i, s := range body.List {
		n, ok := s.(*ast.IfStmt)
		if !ok || i+1 == len(body.List) || len(n.Body.List) != 1 || n.Else != nil {
			continue
		}
		if _, ok := n.Body.List[0].(*ast.ReturnStmt); ok {
			w.unit.marks = append(w.unit.marks, mark{text: "return if " + w.code(w.span(n.Cond))})
		}
	}
}

// call reads a call: of an assertion, of what fails or skips a test, or of a helper.
func (w *goWalk) call(c *ast.CallExpr, stack []ast.Node) {
	name, on := "", ""
	switch fun := c.Fun.(type) {
	case *ast.Ident:
		name = fun.Name
	case *ast.SelectorExpr:
		name = fun.Sel.Name
		switch x := fun.X.(type) {
		case *ast.Ident:
			on = x.Name
		case *ast.CallExpr:
			on = "()"
			w.matcher(c, fun, x)
		case *ast.SelectorExpr:
			on = x.Sel.Name
		}
	}
	switch {
	case name == "":
	case (name == "Skip" || name == "Skipf" || name == "SkipNow") && on != "":
		w.mute(w.arguments(c))
		w.unit.marks = append(w.unit.marks, mark{text: w.cond(stack) + "t." + name})
	case strings.HasPrefix(strings.ToLower(name), "skip") && len(c.Args) > 0 && on == "":
		w.unit.marks = append(w.unit.marks, mark{text: w.cond(stack) + w.code(w.span(c))})
	case failing(name) && on != "" && !slices.Contains([]string{"fmt", "errors", "log", "xerrors", "slog", "logger", "err"}, on) && (name != "Error" || len(c.Args) > 0 || slices.Contains([]string{"t", "tb", "b", "f"}, on)):
		w.message(c)
		w.failure(c, stack)
	case on == "assert" || on == "require" || on == "is" || on == "must" || on == "check" || on == "qt":
		w.assertion(c, name)
	case on == "f" && name == "Add" && strings.HasPrefix(w.unit.name, "Fuzz"):
		w.unit.heads = append(w.unit.heads, w.arguments(c))
	case name == "Log" || name == "Logf" || on == "fmt" && strings.HasPrefix(name, "Print") || on == "log":
		w.message(c)
	case on == "" || w.takesTesting(c):
		k := check{span: w.span(c), line: w.line(c.Pos()), op: opOther, weight: 1, callee: name, dotted: on != "", group: w.token(c.Pos())}
		for _, a := range c.Args {
			k.sides[0] = append(k.sides[0], w.literals(w.span(a))...)
		}
		w.unit.checks = append(w.unit.checks, k)
	}
}

func (w *goWalk) message(c *ast.CallExpr) {
	s := w.arguments(c)
	w.mute(s)
	if len(w.messages) < maxFacts {
		w.messages = append(w.messages, s)
	}
}

func failing(name string) bool {
	switch name {
	case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow":
		return true
	}
	return false
}

func (w *goWalk) arguments(c *ast.CallExpr) span {
	return span{w.token(c.Lparen) + 1, w.token(c.Rparen)}
}

// takesTesting reports whether a call hands on the test.
func (w *goWalk) takesTesting(c *ast.CallExpr) bool {
	if len(c.Args) == 0 {
		return false
	}
	id, ok := c.Args[0].(*ast.Ident)
	return ok && (id.Name == "t" || id.Name == "tb" || id.Name == "b" || id.Name == "f")
}

// cond returns the innermost condition around a node.
func (w *goWalk) cond(stack []ast.Node) string {
	for i := len(stack) - 1; i >= 0; i-- {
		if n, ok := stack[i].(*ast.IfStmt); ok {
			return "if " + w.code(w.span(n.Cond)) + " "
		}
	}
	return ""
}

// failure adds the checks of a call that fails the test: the opposite of the condition around it.
func (w *goWalk) failure(c *ast.CallExpr, stack []ast.Node) {
	for i := len(stack) - 1; i > 0; i-- {
		switch n := stack[i-1].(type) {
		case *ast.IfStmt:
			if stack[i] == n.Body || stack[i] == n.Else {
				w.branch(n, stack[i])
				return
			}
		case *ast.CaseClause:
			if w.seen[n] {
				return
			}
			w.seen[n] = true
			for _, x := range n.List {
				w.atoms(x, nil, true)
			}
			if len(n.List) > 0 {
				return
			}
		case *ast.FuncLit:
			i = 0
		}
	}
	w.unit.checks = append(w.unit.checks, check{span: w.span(c), line: w.line(c.Pos()), op: opFail, weight: 1})
}

// branch adds the checks of an if one branch of which fails, once for each.
func (w *goWalk) branch(n *ast.IfStmt, branch ast.Node) {
	if w.seen[branch] {
		return
	}
	w.seen[branch] = true
	w.atoms(n.Cond, n.Init, branch == n.Body)
}

// atoms adds a check for each part of a condition.
func (w *goWalk) atoms(x ast.Expr, init ast.Stmt, negated bool) {
	op := token.LOR
	if !negated {
		op = token.LAND
	}
	var parts []ast.Expr
	for {
		b, ok := x.(*ast.BinaryExpr)
		if !ok || b.Op != op {
			break
		}
		parts = append(parts, b.Y)
		x = b.X
	}
	parts = append(parts, x)
	slices.Reverse(parts)
	group := w.token(x.Pos())
	var checks []check
	value := len(parts) - 1 // the part that is about what the init calls
	for i, p := range parts {
		s := w.span(p)
		k := w.condition(s, negated)
		k.group = group
		if k.op == opNull && s.to-s.from == 3 && strings.Contains(strings.ToLower(w.at(s.from).text), "err") {
			k.op, k.weak = opNoError, true
		} else {
			value = i
		}
		checks = append(checks, k)
	}
	// It is mostly the last one that is not about the error: "err != nil || got != 5", "got != 5 || err != nil".
	if init != nil {
		k := &checks[value]
		k.sides[0] = append(w.literals(w.span(init)), k.sides[0]...)
		k.span.from = w.token(init.Pos())
	}
	w.unit.checks = append(w.unit.checks, checks...)
}

// assertion adds the check of a call such as assert.Equal(t, want, got).
func (w *goWalk) assertion(c *ast.CallExpr, name string) {
	if len(c.Args) == 0 || name == "New" {
		return
	}
	var args []span
	for i, a := range c.Args {
		if i > 0 || !w.takesTesting(c) {
			args = append(args, w.span(a))
		}
	}
	if name == "Error" || name == "Errorf" {
		name = "Throws"
	}
	s := w.span(c)
	w.file.call(w.unit, s.from, s.to, []string{name}, args)
}

// matcher adds the check of Expect(a).To(Equal(b)).
func (w *goWalk) matcher(c *ast.CallExpr, fun *ast.SelectorExpr, x *ast.CallExpr) {
	id, ok := x.Fun.(*ast.Ident)
	if !ok || !(id.Name == "Expect" || id.Name == "Eventually" || id.Name == "Ω" || id.Name == "Consistently") || len(c.Args) == 0 || len(x.Args) == 0 {
		return
	}
	m, ok := c.Args[0].(*ast.CallExpr)
	if !ok {
		return
	}
	args := []span{w.span(x.Args[0])}
	for _, a := range m.Args {
		args = append(args, w.span(a))
	}
	words := []string{w.at(w.span(m.Fun).to - 1).text}
	if strings.Contains(fun.Sel.Name, "Not") {
		words = append([]string{"not"}, words...)
	}
	s := w.span(c)
	w.file.call(w.unit, s.from, s.to, words, args)
}
