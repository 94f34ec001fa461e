package source

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"pawl"
)

// change is a base and a candidate with the kinds of what is found, each with its test.
type change struct {
	name, base, candidate string
	want                  []string // KIND TEST
}

// files returns the one file of a side, or those of an archive.
func files(path, source string) []File {
	if !strings.HasPrefix(source, "-- ") {
		return []File{{path, []byte(source)}}
	}
	var all []File
	for _, f := range txtar.Parse([]byte(source)).Files {
		all = append(all, File{f.Name, f.Data})
	}
	return all
}

// runChanges compares the sides of changes. A change is honest when nothing is wanted.
func runChanges(t *testing.T, path string, changes []change) {
	t.Helper()
	for _, tt := range changes {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			found := Compare(files(path, tt.base), files(path, tt.candidate))
			for _, c := range found {
				got = append(got, strings.TrimSpace(string(c.Kind)+" "+c.Test))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q\n%+v", got, tt.want, found)
			}
			if again := Compare(files(path, tt.candidate), files(path, tt.candidate)); len(again) > 0 {
				t.Errorf("a change of nothing: %+v", again)
			}
		})
	}
}

func goTests(body ...string) string {
	return "package a\n\nimport \"testing\"\n\n" + strings.Join(body, "\n\n") + "\n"
}

// Tests of one name in the files of a package of Go are the same test, however much of it is in helpers now.
func TestMovedIntoHelpers(t *testing.T) {
	const old = "func TestClean(t *testing.T) {\n\tdir := t.TempDir()\n\tif err := run(dir); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif left := list(dir); len(left) > 0 {\n\t\tt.Error(left)\n\t}\n}"
	const now = "func nothingLeft(t *testing.T, dir string) {\n\tif left := list(dir); len(left) > 0 {\n\t\tt.Error(left)\n\t}\n}\n\nfunc TestClean(t *testing.T) {\n\tnothingLeft(t, ran(t))\n}"
	base := []File{{"a/one_test.go", []byte(goTests(old))}}
	for name, want := range map[string]int{"a/two_test.go": 0, "b/two_test.go": 1} {
		n := 0
		for _, c := range Compare(base, []File{{name, []byte(goTests(now))}}) {
			if c.Kind == pawl.FindRemovedTest {
				n++
			}
		}
		if n != want {
			t.Errorf("moved to %s, %d tests are gone, want %d", name, n, want)
		}
	}
}

// What a change of a test in Go takes away is found, and what only looks like it is not.
func TestGo(t *testing.T) {
	const (
		parse = `func TestParse(t *testing.T) {
	got, err := Parse("1h")
	if err != nil {
		t.Fatal(err)
	}
	if got != 60 {
		t.Errorf("got %d, want 60", got)
	}
	if got.String() != "1h" {
		t.Errorf("got %s", got)
	}
}`
		table = `func TestUnit(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int
	}{
		{"1h", 60},
		{"2h", 120},
		{"3m", 3},
	} {
		if got := Unit(tt.in); got != tt.want {
			t.Errorf("Unit(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}`
	)
	edit := func(s string, pairs ...string) string { return goTests(strings.NewReplacer(pairs...).Replace(s)) }
	runChanges(t, "a_test.go", []change{
		{"expected value", goTests(parse), edit(parse, "got != 60", "got != 61"), []string{"expectation TestParse"}},
		{"expected value with other lines", goTests(parse), edit(parse, "got != 60", "got != 61", "if got.String", "t.Log(got)\n\tif got.String"), []string{"expectation TestParse"}},
		{"operator", goTests(parse), edit(parse, "got != 60", "got < 60"), []string{"expectation TestParse"}},
		{"any but one", goTests(parse), edit(parse, "got != 60", "got == 60"), []string{"expectation TestParse"}},
		{"contains", goTests(parse), edit(parse, `got.String() != "1h"`, `!strings.Contains(got.String(), "1h")`), []string{"expectation TestParse"}},
		{"error wanted before", goTests(`func TestBad(t *testing.T) { if _, err := Parse("x"); err == nil { t.Error("no error") } }`),
			goTests(`func TestBad(t *testing.T) { if _, err := Parse("x"); err != nil { t.Error(err) } }`), []string{"expectation TestBad"}},
		{"fewer", goTests(parse), edit(parse, "\tif got.String() != \"1h\" {\n\t\tt.Errorf(\"got %s\", got)\n\t}\n", ""), []string{"fewer_assertions TestParse"}},
		{"fewer in a condition", goTests(`func TestA(t *testing.T) { if a, b := F(1); a != 2 || b != 3 { t.Error("no") } }`),
			goTests(`func TestA(t *testing.T) { if a, _ := F(1); a != 2 { t.Error("no") } }`), []string{"fewer_assertions TestA"}},
		{"other condition", goTests(`func TestA(t *testing.T) { if a := F(1); !a.Until.IsZero() || a.Why != "no" { t.Error("no") } }`),
			goTests(`func TestA(t *testing.T) { if a := F(1); len(a.Accounts) != 0 { t.Error("no") } }`), []string{"expectation TestA"}},
		{"logged", goTests(parse), edit(parse, "t.Errorf", "t.Logf", "t.Fatal", "t.Log"), []string{"emptied_test TestParse"}},
		{"commented out", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\t/* got, err", "got)\n\t}\n}", "got)\n\t} */\n}"), []string{"emptied_test TestParse"}},
		{"return first", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\treturn\n\tgot, err"), []string{"emptied_test TestParse"}},
		{"return in the middle", goTests(parse), edit(parse, "\tif got.String", "\treturn\n\tif got.String"), []string{"fewer_assertions TestParse"}},
		{"if false", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tif false {\n\tgot, err", "got)\n\t}\n}", "got)\n\t}\n}\n}"), []string{"emptied_test TestParse"}},
		{"itself", goTests(parse), edit(parse, "got != 60", "got != got", `"1h" {`, `got.String() {`), []string{"emptied_test TestParse"}},
		{"recover", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tdefer func() { recover() }()\n\tgot, err"), []string{"emptied_test TestParse"}},
		{"empty table", goTests(table), edit(table, "\t\t{\"1h\", 60},\n\t\t{\"2h\", 120},\n\t\t{\"3m\", 3},\n", ""), []string{"emptied_test TestUnit"}},
		{"row gone", goTests(table), edit(table, "\t\t{\"3m\", 3},\n", ""), []string{"fewer_assertions TestUnit"}},
		{"row exchanged", goTests(table), edit(table, "{\"3m\", 3},\n", "{\"9h\", 540},\n\t\t{\"8h\", 480},\n"), []string{"fewer_assertions TestUnit"}},
		{"row changed", goTests(table), edit(table, "{\"3m\", 3},", "{\"3m\", 180},\n\t\t{\"4m\", 240},"), []string{"expectation TestUnit"}},
		{"skip", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tt.Skip(\"later\")\n\tgot, err"), []string{"skipped_test TestParse"}},
		{"short", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n\tgot, err"), []string{"skipped_test TestParse"}},
		{"guard", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tif os.Getenv(\"CI\") != \"\" {\n\t\treturn\n\t}\n\tgot, err"), []string{"skipped_test TestParse"}},
		{"build tag", goTests(parse), "//go:build ignore\n\n" + goTests(parse), []string{"skipped_test TestParse"}},
		{"error thrown away", goTests(`func TestA(t *testing.T) { got, err := F(1); if err != nil { t.Fatal(err) }; if got != 2 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { got, _ := F(1); if got != 2 { t.Error(got) } }`), []string{"fewer_assertions TestA"}},
		{"longer list", goTests(`func TestA(t *testing.T) { if got := F(1); !slices.Equal(got, []string{"a", "b"}) { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { G(); if got := F(1); !slices.Equal(got, []string{"a", "b", "c"}) { t.Error(got) } }`), []string{"expectation TestA"}},
		{"another of its shape", goTests(`func TestA(t *testing.T) { if F() != G() { t.Error("no") } }`), goTests(`func TestB(t *testing.T) { if H() != I() { t.Error("no") } }`), []string{"removed_test TestA"}},
		{"row of a named table gone", goTests(strings.NewReplacer("for _, tt := range []", "tests := []", "3},\n\t} {", "3},\n\t}\n\tfor _, tt := range tests {").Replace(table)),
			goTests(strings.NewReplacer("for _, tt := range []", "tests := []", "\t\t{\"3m\", 3},\n\t} {", "\t}\n\tfor _, tt := range tests {").Replace(table)), []string{"fewer_assertions TestUnit"}},
		{"another in its place", goTests(`func TestA(t *testing.T) { s := Load("a.txt"); if s.Len() != s.Cap() { t.Error("no") } }`),
			goTests(`func TestB(t *testing.T) { p := New(); defer p.Close(); for range p.All() { p.Read("a.txt") }; if p.Err() == nil || p.Done() { t.Error("no") } }`), []string{"removed_test TestA"}},
		{"another of its name", "-- a_test.go --\n" + goTests(`func TestA(t *testing.T) { s := Load(); if s.Len() != s.Cap() { t.Error("no") } }`),
			"-- b/b_test.go --\n" + goTests(`func TestA(t *testing.T) { for _, x := range []int{1, 2, 3} { go func() { done <- x }() }; select { case <-done: case <-time.After(time.Second): t.Fatal("late") } }`), []string{"removed_test TestA"}},
		{"gone", goTests(parse, table), goTests(table), []string{"removed_test TestParse"}},
		{"no test any more", goTests(parse), edit(parse, "TestParse", "testParse"), []string{"removed_test TestParse"}},
		{"platform", "-- a_test.go --\n" + goTests(parse), "-- a_plan9_test.go --\n" + goTests(parse), []string{"removed_test TestParse"}},
		{"other name", "-- a_test.go --\n" + goTests(parse), "-- a_tests.go --\n" + goTests(parse), []string{"removed_test TestParse"}},
		{"ignored folder", "-- a_test.go --\n" + goTests(parse), "-- _old/a_test.go --\n" + goTests(parse), []string{"removed_test TestParse"}},
		{"emptied helper", goTests(`func TestA(t *testing.T) { same(t, F(), 1) }`, `func same(t *testing.T, a, b int) { if a != b { t.Error(a) } }`),
			goTests(`func TestA(t *testing.T) { same(t, F(), 1) }`, `func same(t *testing.T, a, b int) { t.Log(a, b) }`), []string{"emptied_test"}},
		{"weaker helper", goTests(`func TestA(t *testing.T) { same(t, F(), "x") }`, `func same(t *testing.T, a, b string) { if a != b { t.Error(a) } }`),
			goTests(`func TestA(t *testing.T) { same(t, F(), "x") }`, `func same(t *testing.T, a, b string) { if !strings.Contains(a, b) { t.Error(a) } }`), []string{"expectation"}},
		{"example", goTests("func ExampleA() {\n\tfmt.Println(A())\n\t// Output: 1\n}"), goTests("func ExampleA() {\n\tfmt.Println(A())\n\t// Output: 2\n}"), []string{"expectation ExampleA"}},
		{"example without output", goTests("func ExampleA() {\n\tfmt.Println(A())\n\t// Output: 1\n}"), goTests("func ExampleA() {\n\tfmt.Println(A())\n}"), []string{"emptied_test ExampleA"}},
		{"seed", goTests(`func FuzzA(f *testing.F) { f.Add("a-b"); f.Add("c-d"); f.Fuzz(func(t *testing.T, s string) { if A(s) == "" { t.Error(s) } }) }`),
			goTests(`func FuzzA(f *testing.F) { f.Add("a-b"); f.Fuzz(func(t *testing.T, s string) { if A(s) == "" { t.Error(s) } }) }`), []string{"fewer_assertions FuzzA"}},
		{"testify weaker", goTests(`func TestA(t *testing.T) { assert.Equal(t, "abc", F()) }`), goTests(`func TestA(t *testing.T) { assert.NotEmpty(t, F()) }`), []string{"expectation TestA"}},
		{"testify tolerance", goTests(`func TestA(t *testing.T) { assert.InDelta(t, 1.5, F(), 0.01) }`), goTests(`func TestA(t *testing.T) { assert.InDelta(t, 1.5, F(), 5) }`), []string{"expectation TestA"}},

		{"renamed", goTests(parse, table), edit(parse+"\n"+table, "TestParse", "TestReads", "Parse(", "Read("), nil},
		{"moved", "-- a_test.go --\n" + goTests(parse, table), "-- b/b_test.go --\n" + goTests(table) + "-- a_test.go --\n" + goTests(parse), nil},
		{"moved and renamed", "-- a_test.go --\n" + goTests(parse, table), "-- b/b_test.go --\n" + edit(parse, "TestParse", "TestIt", "Parse(", "b.Parse(") + "-- a_test.go --\n" + goTests(table), nil},
		{"signature", goTests(parse), edit(parse, `Parse("1h")`, `Parse(ctx, "1h")`, "{\n\tgot, err", "{\n\tctx := context.Background()\n\tgot, err"), nil},
		{"signature, and an assertion less", goTests(`func TestA(t *testing.T) { if Sum(2, 2) != 4 { t.Error() }; if Sum(0, 0) != 0 { t.Error() } }`),
			goTests(`func TestA(t *testing.T) { if Sum(0, 2, 2) != 4 { t.Error() } }`), []string{"fewer_assertions TestA"}},
		{"the same assertion once less", goTests(`func TestA(t *testing.T) { if F(2, 3) != 5 { t.Error() }; if F(2, 3) != 5 { t.Error() } }`),
			goTests(`func TestA(t *testing.T) { if F(2, 3) != 5 { t.Error() } }`), []string{"fewer_assertions TestA"}},
		{"no error any more", goTests(parse), edit(parse, "got, err := Parse", "got := Parse", "\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n", ""), nil},
		{"error behind the value", goTests(`func TestA(t *testing.T) { if got := F("a", "b"); got != 330 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { if got, err := F("a", "b"); got != 330 || err != nil { t.Error(got, err) } }`), nil},
		{"error before the condition", goTests(`func TestA(t *testing.T) { if got := p.F("a", "b"); got != 330 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { got, err := p.F("a", "b"); if err != nil { t.Fatal(err) }; if got != 330 { t.Error(got) } }`), nil},
		{"value of a nested call", goTests(`func TestA(t *testing.T) { if got := p.G(p.F("a")); got != "b" { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { x, err := p.F("a"); if err != nil { t.Fatal(err) }; if got := p.G(x); got != "b" { t.Error(got) } }`), nil},
		{"other value with an error", goTests(`func TestA(t *testing.T) { if got := F("a", "b"); got != 330 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { if got, err := F("a", "b"); got != 331 || err != nil { t.Error(got, err) } }`), []string{"expectation TestA"}},
		{"other value with an error before the condition", goTests(`func TestA(t *testing.T) { if got := p.F("a", "b"); got != 330 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { got, err := p.F("a", "b"); if err != nil { t.Fatal(err) }; if got != 331 { t.Error(got) } }`), []string{"expectation TestA"}},
		{"other input with an error before the condition", goTests(`func TestA(t *testing.T) { if got := p.F("a", "b"); got != 330 { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { got, err := p.F("a", "c"); if err != nil { t.Fatal(err) }; if got != 330 { t.Error(got) } }`), []string{"expectation TestA"}},
		{"more rows", goTests(table), edit(table, "{\"3m\", 3},", "{\"3m\", 3},\n\t\t{\"4m\", 4},"), nil},
		{"rows with names", goTests(table), edit(table, "in   string", "name, in string", "{\"1h\"", "{\"hour\", \"1h\"", "{\"2h\"", "{\"hours\", \"2h\"", "{\"3m\"", "{\"minutes\", \"3m\""), nil},
		{"in a condition", goTests(`func TestA(t *testing.T) { a, b := F(1); if a != 2 { t.Error("a") }; if b != 3 { t.Error("b") } }`),
			goTests(`func TestA(t *testing.T) { if a, b := F(1); a != 2 || b != 3 { t.Error("no") } }`), nil},
		{"made a table", goTests(`func TestA(t *testing.T) {
	if got := F("a-b"); got != "ab" {
		t.Errorf("got %s", got)
	}
	if got := F("c-d"); got != "cd" {
		t.Errorf("got %s", got)
	}
}`), goTests(`func TestA(t *testing.T) {
	for in, want := range map[string]string{"a-b": "ab", "c-d": "cd"} {
		if got := F(in); got != want {
			t.Errorf("got %s", got)
		}
	}
}`), nil},
		{"tests made a table", goTests(`func TestOne(t *testing.T) { if got := F("a-b"); got != "ab" { t.Error(got) } }`, `func TestTwo(t *testing.T) { if got := F("c-d"); got != "cd" { t.Error(got) } }`),
			goTests(`func TestAll(t *testing.T) {
	for in, want := range map[string]string{"a-b": "ab", "c-d": "cd"} {
		if got := F(in); got != want {
			t.Errorf("got %s", got)
		}
	}
}`), nil},
		{"helper", goTests(`func TestA(t *testing.T) { if got := F("a-b"); got != "ab" { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { same(t, "a-b", "ab") }`, `func same(t *testing.T, in, want string) { t.Helper(); if got := F(in); got != want { t.Error(got) } }`), nil},
		{"inlined helper", goTests(`func TestA(t *testing.T) { same(t, "a-b", "ab") }`, `func same(t *testing.T, in, want string) { t.Helper(); if got := F(in); got != want { t.Error(got) } }`),
			goTests(`func TestA(t *testing.T) { if got := F("a-b"); got != "ab" { t.Error(got) } }`), nil},
		{"message", goTests(parse), edit(parse, "got %d, want 60", "Parse: %d instead of 60"), nil},
		{"subtests", goTests(table), edit(table, "if got := Unit(tt.in); got", "t.Run(tt.in, func(t *testing.T) { if got := Unit(tt.in); got", "tt.want)\n\t\t}", "tt.want)\n\t\t} })"), nil},
		{"added", goTests(parse), goTests(parse, table), nil},
		{"skipped before", edit(parse, "{\n\tgot, err", "{\n\tt.Skip(\"later\")\n\tgot, err"), edit(parse, "{\n\tgot, err", "{\n\tt.Skip(\"see #7\")\n\tgot, err"), nil},
		{"enabled", edit(parse, "{\n\tgot, err", "{\n\tt.Skip(\"later\")\n\tgot, err"), goTests(parse), nil},
		{"recover that fails", goTests(parse), edit(parse, "{\n\tgot, err", "{\n\tdefer func() { if r := recover(); r != nil { t.Fatal(r) } }()\n\tgot, err"), nil},
		{"moved and longer", "-- a_test.go --\n" + goTests(`func TestA(t *testing.T) { if F() != G() { t.Error("no") } }`),
			"-- b/b_test.go --\n" + goTests(`func TestA(t *testing.T) { s := New(t); if s.F() != s.G() { t.Error("no") }; for _, x := range s.All() { if x.H() != s.H() { t.Error(x) } } }`), nil},
		{"renamed without literals", goTests(`func TestA(t *testing.T) { if F() != G() { t.Error("no") } }`), goTests(`func TestB(t *testing.T) { if F() != G() { t.Error("no") } }`), nil},
		{"renamed and set up, without literals", goTests(`func TestA(t *testing.T) { a := F(); b := G(); if a.Len() != b.Len() { t.Error("no") } }`), goTests(`func TestB(t *testing.T) { setUp(t); a := F(); b := G(); if a.Len() != b.Len() { t.Error("no") } }`), nil},
		{"no error of a library", goTests(`func TestA(t *testing.T) { got, err := F(1); require.NoError(t, err); require.Equal(t, 2, got) }`), goTests(`func TestA(t *testing.T) { got := F(1); require.Equal(t, 2, got) }`), nil},
		{"other path", goTests(`func TestA(t *testing.T) { if F("testdata/in.txt") != 3 { t.Error("no") } }`), goTests(`func TestA(t *testing.T) { if F("../testdata/in.txt") != 3 { t.Error("no") } }`), nil},
		{"set up otherwise", goTests(`func TestA(t *testing.T) { s.all = []pair{{"abc", 1}, {"def", 2}}; if F(s) != 3 { t.Error("no") } }`), goTests(`func TestA(t *testing.T) { s := newState(); if F(s) != 3 { t.Error("no") } }`), nil},
		{"built everywhere", goTests(parse), "//go:build !windows && (amd64 || arm64)\n\n" + goTests(parse), nil},
		{"built-in function", goTests(`func TestA(t *testing.T) { l := append(F(), "x"); if len(l) != 2 { t.Error(l) } }`, `func (l *log) append(t *testing.T, s string) { if s == "" { t.Error("empty") } }`),
			goTests(`func TestA(t *testing.T) { l := F("x"); if len(l) != 2 { t.Error(l) } }`, `func (l *log) append(t *testing.T, s string) { if s == "" { t.Error("empty") } }`), nil},
		{"other set", goTests(`var tools = []string{"git", "sed", "awk"}`, `func TestA(t *testing.T) { for _, l := range tools { link(l) }; if F() != 3 { t.Error("no") } }`),
			goTests(`var tools = []string{"git"}`, `func TestA(t *testing.T) { for _, l := range tools { link(l) }; if F() != 3 { t.Error("no") } }`), nil},
		{"skip in words", goTests(parse), goTests("// Do not write t.Skip( here.\n" + parse), nil},
	})
}

func TestPython(t *testing.T) {
	const base = "import unittest\n\nimport pytest\n\n\ndef test_total():\n    cart = Cart([3, 4])\n    assert cart.total() == 7\n    assert cart.name == \"mine\"\n    assert cart\n"
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	const params = "import pytest\n\n\n@pytest.mark.parametrize(\"text, want\", [(\"1h\", 60), (\"2h\", 120), (\"3m\", 3)])\ndef test_unit(text, want):\n    assert unit(text) == want\n"
	const class = "class CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total(3, 4), 7)\n        self.assertIn(\"x\", names())\n"
	runChanges(t, "tests/test_a.py", []change{
		{"assigned first", "def test_a():\n    assert f(\"a\", \"b\") == 330\n", "def test_a():\n    got, err = f(\"a\", \"b\")\n    assert err is None\n    assert got == 330\n", nil},
		{"assigned first with another value", "def test_a():\n    assert f(\"a\", \"b\") == 330\n", "def test_a():\n    got, err = f(\"a\", \"b\")\n    assert err is None\n    assert got == 331\n", []string{"expectation test_a"}},
		{"expected value", base, edit("== 7", "== 8"), []string{"expectation test_total"}},
		{"operator", base, edit("== 7", ">= 7"), []string{"expectation test_total"}},
		{"is not None", base, edit("== \"mine\"", "is not None"), []string{"expectation test_total"}},
		{"approximately", base, edit("== 7", "== pytest.approx(7)"), []string{"expectation test_total"}},
		{"tolerance", edit("== 7", "== pytest.approx(7, abs=1)"), edit("== 7", "== pytest.approx(7, abs=10)"), []string{"expectation test_total"}},
		{"or", base, edit("== 7", "== 7 or True"), []string{"fewer_assertions test_total"}},
		{"fewer", base, edit("    assert cart.name == \"mine\"\n", ""), []string{"fewer_assertions test_total"}},
		{"printed", base, edit("    assert cart.total() == 7\n", "    print(cart.total())\n", "    assert cart.name == \"mine\"\n    assert cart\n", ""), []string{"emptied_test test_total"}},
		{"true", base, edit("cart.total() == 7", "True", "cart.name == \"mine\"", "1 == 1", "assert cart\n", "assert True\n"), []string{"emptied_test test_total"}},
		{"tuple", base, edit("assert cart.name == \"mine\"", "assert (cart.name == \"mine\", \"name\")"), []string{"fewer_assertions test_total"}},
		{"return", base, edit("    assert cart.total", "    return\n    assert cart.total"), []string{"emptied_test test_total"}},
		{"if false", base, edit("    assert cart.total() == 7\n", "    if False:\n        assert cart.total() == 7\n"), []string{"fewer_assertions test_total"}},
		{"swallowed", base, edit("    assert cart.total() == 7\n", "    try:\n        assert cart.total() == 7\n    except AssertionError:\n        pass\n"), []string{"fewer_assertions test_total"}},
		{"suppressed", base, edit("    assert cart.total() == 7\n", "    with contextlib.suppress(Exception):\n        assert cart.total() == 7\n"), []string{"fewer_assertions test_total"}},
		{"never called", base, edit("    assert cart.total() == 7\n", "    def later():\n        assert cart.total() == 7\n"), []string{"fewer_assertions test_total"}},
		{"skip", base, edit("def test_total", "@pytest.mark.skip(reason=\"later\")\ndef test_total"), []string{"skipped_test test_total"}},
		{"skipif", base, edit("def test_total", "@pytest.mark.skipif(sys.platform == \"linux\", reason=\"flaky\")\ndef test_total"), []string{"skipped_test test_total"}},
		{"xfail", base, edit("def test_total", "@pytest.mark.xfail\ndef test_total"), []string{"skipped_test test_total"}},
		{"call", base, edit("    cart =", "    pytest.skip(\"later\")\n    cart ="), []string{"skipped_test test_total"}},
		{"call under a condition", base, edit("    cart =", "    if os.environ.get(\"CI\"):\n        pytest.skip(\"later\")\n    cart ="), []string{"skipped_test test_total"}},
		{"return under a condition", base, edit("    cart =", "    if os.environ.get(\"CI\"):\n        return\n    cart ="), []string{"skipped_test test_total"}},
		{"importorskip", base, edit("import pytest\n", "import pytest\n\npytest.importorskip(\"cffi\")\n"), []string{"skipped_test test_total"}},
		{"class mark", class, strings.Replace(class, "    def test", "    pytestmark = pytest.mark.skip\n\n    def test", 1), []string{"skipped_test test_total"}},
		{"module", base, edit("import pytest\n", "import pytest\n\npytestmark = pytest.mark.skip\n"), []string{"skipped_test test_total"}},
		{"class", class, "@unittest.skip(\"later\")\n" + class, []string{"skipped_test test_total"}},
		{"unittest call", class, strings.Replace(class, "        self.assertEqual", "        self.skipTest(\"later\")\n        self.assertEqual", 1), []string{"skipped_test test_total"}},
		{"expected failure", class, strings.Replace(class, "    def test", "    @unittest.expectedFailure\n    def test", 1), []string{"skipped_test test_total"}},
		{"case", params, strings.Replace(params, "(\"2h\", 120)", "pytest.param(\"2h\", 120, id=\"two\", marks=pytest.mark.xfail)", 1), []string{"skipped_test test_unit[two]"}},
		{"case changed", params, strings.Replace(params, "(\"3m\", 3)", "(\"3m\", 180), (\"4m\", 240)", 1), []string{"expectation test_unit"}},
		{"case gone", params, strings.Replace(params, ", (\"3m\", 3)", "", 1), []string{"fewer_assertions test_unit"}},
		{"assertTrue", class, strings.Replace(class, "assertEqual(total(3, 4), 7)", "assertTrue(total(3, 4))", 1), []string{"expectation test_total"}},
		{"no test any more", base, edit("def test_total", "def total_test"), []string{"removed_test test_total"}},
		{"class no test any more", "class TestA:\n    def test_b(self):\n        assert f() == 1\n", "class A:\n    def test_b(self):\n        assert f() == 1\n", []string{"removed_test test_b"}},
		{"shadowed", base + "\n\ndef test_b():\n    assert f() == \"b\"\n", base + "\n\ndef test_b():\n    assert f() == \"b\"\n\n\ndef test_total():\n    assert cart\n", []string{"fewer_assertions test_total"}},
		{"file", "-- tests/test_a.py --\n" + base, "-- tests/a_checks.py --\n" + base, []string{"removed_test test_total"}},
		{"raises less", "def test_a():\n    with pytest.raises(ValueError, match=\"no unit\"):\n        f(\"1\")\n", "def test_a():\n    with pytest.raises(ValueError):\n        f(\"1\")\n", []string{"expectation test_a"}},
		{"doctest", "def f():\n    \"\"\"Adds.\n\n    >>> f(1)\n    2\n    \"\"\"\n", "def f():\n    \"\"\"Adds.\n\n    >>> f(1)\n    3\n    \"\"\"\n", []string{"expectation f"}},
		{"doctest skipped", "def f():\n    \"\"\"Adds.\n\n    >>> f(1)\n    2\n    \"\"\"\n", "def f():\n    \"\"\"Adds.\n\n    >>> f(1)  # doctest: +SKIP\n    2\n    \"\"\"\n", []string{"skipped_test f"}},
		{"helper emptied", "from h import same\n\n\ndef test_a():\n    same(f(), 1)\n\n\ndef same(a, b):\n    assert a == b\n", "from h import same\n\n\ndef test_a():\n    same(f(), 1)\n\n\ndef same(a, b):\n    print(a == b)\n", []string{"emptied_test"}},

		{"renamed", base, edit("test_total", "test_sum", "cart", "basket", "Cart", "Basket"), nil},
		{"reformatted", base, edit("\"mine\"", "'mine'", "Cart([3, 4])", "Cart(\n        [\n            3,\n            4,\n        ]\n    )"), nil},
		{"keyword", base, edit("Cart([3, 4])", "Cart(items=[3, 4])"), nil},
		{"async", base, edit("def test", "async def test", "cart.total()", "await cart.total()"), nil},
		{"one condition", base, edit("    assert cart.total() == 7\n    assert cart.name == \"mine\"\n", "    assert cart.total() == 7 and cart.name == \"mine\"\n"), nil},
		{"parametrised", "def test_a():\n    assert f(\"a-b\") == \"ab\"\n\n\ndef test_b():\n    assert f(\"c-d\") == \"cd\"\n",
			"@pytest.mark.parametrize(\"text, want\", [(\"a-b\", \"ab\"), (\"c-d\", \"cd\")])\ndef test_all(text, want):\n    assert f(text) == want\n", nil},
		{"ids", params, strings.Replace(params, "(\"2h\", 120)", "pytest.param(\"2h\", 120, id=\"two\")", 1), nil},
		{"names of parameters", params, strings.NewReplacer("text, want\"", "text, expected\"", "want)", "expected)", "== want", "== expected").Replace(params), nil},
		{"cases above", params, "import pytest\n\nCASES = [(\"1h\", 60), (\"2h\", 120), (\"3m\", 3)]\n\n\n@pytest.mark.parametrize(\"text, want\", CASES)\ndef test_unit(text, want):\n    assert unit(text) == want\n", nil},
		{"unittest to pytest", class, "def test_total():\n    assert total(3, 4) == 7\n    assert \"x\" in names()\n", nil},
		{"message", base, edit("== 7", "== 7, \"wrong total\""), nil},
		{"setUp", class, strings.Replace(class, "    def test", "    def setUp(self):\n        self.cart = Cart()\n\n    def test", 1), nil},
		{"comment", base, edit("    assert cart.total", "    # pytest.skip(\"no\")\n    assert cart.total"), nil},
		{"helper elsewhere", base, edit("    assert cart.total() == 7\n    assert cart.name == \"mine\"\n", "    assert_cart(cart)\n"), nil},
		{"other errors", base, edit("    cart = Cart([3, 4])\n", "    try:\n        cart = Cart([3, 4])\n    except KeyError:\n        raise\n"), nil},
		{"parameters", base, edit("test_total()", "test_total(skip, fixture)"), nil},
		{"example gone", "def f():\n    \"\"\"Adds.\n\n    >>> f(1)\n    2\n    \"\"\"\n", "def f():\n    \"\"\"Adds.\"\"\"\n", nil},
	})
}

func TestJavaScript(t *testing.T) {
	const base = "import { expect, it, describe } from 'vitest';\n\ndescribe('cart', () => {\n  it('adds', () => {\n    const cart = new Cart([3, 4]);\n    expect(cart.total()).toBe(7);\n    expect(cart.name).toEqual('mine');\n  });\n});\n"
	const node = "test('parses', () => {\n  assert.equal(parse('1h'), 60);\n  assert.deepEqual(parse('2h'), { hours: 2 });\n});\n"
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	runChanges(t, "test/a.test.ts", []change{
		{"expected value", base, edit("toBe(7)", "toBe(8)"), []string{"expectation adds"}},
		{"defined", base, edit("toBe(7)", "toBeDefined()"), []string{"expectation adds"}},
		{"at least", base, edit("toBe(7)", "toBeGreaterThanOrEqual(7)"), []string{"expectation adds"}},
		{"contains", base, edit("toEqual('mine')", "toContain('mine')"), []string{"expectation adds"}},
		{"not", base, edit("toBe(7)", "not.toBe(7)"), []string{"expectation adds"}},
		{"ok", node, strings.Replace(node, "equal(parse('1h'), 60)", "ok(parse('1h'))", 1), []string{"expectation parses"}},
		{"pattern", node, strings.Replace(node, "equal(parse('1h'), 60)", "match(parse('1h'), /6/)", 1), []string{"expectation parses"}},
		{"fewer", base, edit("    expect(cart.total()).toBe(7);\n", ""), []string{"fewer_assertions adds"}},
		{"logged", base, edit("expect(cart.total()).toBe(7);", "console.log(cart.total(), 7);", "expect(cart.name).toEqual('mine');", ""), []string{"emptied_test adds"}},
		{"true", base, edit("expect(cart.total()).toBe(7)", "expect(true).toBe(true)", "expect(cart.name).toEqual('mine')", "expect(1).toEqual(1)"), []string{"emptied_test adds"}},
		{"no matcher", base, edit("expect(cart.total()).toBe(7)", "expect(cart.total())"), []string{"fewer_assertions adds"}},
		{"matcher that is not called", base, edit("toBe(7)", "toBe"), []string{"fewer_assertions adds"}},
		{"return", base, edit("    const cart", "    return;\n    const cart"), []string{"emptied_test adds"}},
		{"if false", base, edit("    expect(cart.total())", "    if (false) expect(cart.total())"), []string{"fewer_assertions adds"}},
		{"swallowed", base, edit("    const cart", "    try {\n    const cart", "'mine');\n", "'mine');\n    } catch (e) {\n      console.warn(e);\n    }\n"), []string{"emptied_test adds"}},
		{"caught", "test('a', async () => {\n  await load().then((v) => assert.equal(v, 'x'));\n});\n", "test('a', async () => {\n  await load().then((v) => assert.equal(v, 'x')).catch(() => {});\n});\n", []string{"emptied_test a"}},
		{"not awaited", "test('a', async () => {\n  await assert.rejects(load(), /gone/);\n});\n", "test('a', async () => {\n  assert.rejects(load(), /gone/);\n});\n", []string{"emptied_test a"}},
		{"skip", base, edit("it('adds'", "it.skip('adds'"), []string{"skipped_test adds"}},
		{"xit", base, edit("it('adds'", "xit('adds'"), []string{"skipped_test adds"}},
		{"todo", node, "test.todo('parses');\n", []string{"skipped_test parses"}},
		{"option", node, strings.Replace(node, "'parses', ", "'parses', { skip: true }, ", 1), []string{"skipped_test parses"}},
		{"called", node, strings.Replace(node, "() => {", "(t) => {\n  t.skip('later');", 1), []string{"skipped_test parses"}},
		{"suite", base, edit("describe('cart'", "describe.skip('cart'"), []string{"skipped_test adds"}},
		{"skipIf", base, edit("it('adds'", "it.skipIf(process.env.CI)('adds'"), []string{"skipped_test adds"}},
		{"only", base, edit("});\n});\n", "});\n  it.only('new', () => expect(f()).toBe(1));\n});\n"), []string{"skipped_test adds"}},
		{"failing", base, edit("it('adds'", "it.fails('adds'"), []string{"expectation adds"}},
		{"gone", base + node, base, []string{"removed_test parses"}},
		{"file", "-- test/a.test.ts --\n" + base, "-- src/a.ts --\n" + base, []string{"removed_test adds"}},
		{"after a regexp", "test('a', () => {\n  const re = /['({]/;\n  expect(f(re)).toBe(1);\n  expect(g()).toBe('x');\n});\n", "test('a', () => {\n  const re = /['({]/;\n  expect(f(re)).toBe(1);\n});\n", []string{"fewer_assertions a"}},
		{"between regexps", "test('a', () => {\n  expect(f(/'/)).toBe(1); expect(g(/'/)).toBe(2);\n});\n", "test('a', () => {\n  expect(g(/'/)).toBe(2);\n});\n", []string{"fewer_assertions a"}},
		{"inline snapshot", "test('a', () => expect(f()).toMatchInlineSnapshot(`\n  <p>hi ${x}</p>\n`));\n", "test('a', () => expect(f()).toMatchInlineSnapshot(`\n  <p>ho ${x}</p>\n`));\n", []string{"expectation a"}},
		{"each gone", "test.each([['1h', 60], ['2h', 120], ['3h', 180]])('%s', (a, b) => expect(f(a)).toBe(b));\n", "test.each([['1h', 60], ['2h', 120]])('%s', (a, b) => expect(f(a)).toBe(b));\n", []string{"fewer_assertions %s"}},
		{"each changed", "test.each([['1h', 60], ['2h', 120]])('%s', (a, b) => expect(f(a)).toBe(b));\n", "test.each([['1h', 60], ['2h', 121], ['3h', 180]])('%s', (a, b) => expect(f(a)).toBe(b));\n", []string{"expectation %s"}},
		{"loop changed", "for (const [a, b] of [['1h', 60], ['2h', 120]]) {\n  test(`f ${a}`, () => assert.equal(f(a), b));\n}\n", "for (const [a, b] of [['1h', 60], ['2h', 121], ['3h', 180]]) {\n  test(`f ${a}`, () => assert.equal(f(a), b));\n}\n", []string{"expectation f ${}"}},
		{"helper emptied", "const same = (a, b) => { expect(a).toBe(b); };\ntest('a', () => { same(f(), 1); });\n", "const same = (a, b) => { console.log(a, b); };\ntest('a', () => { same(f(), 1); });\n", []string{"emptied_test"}},

		{"renamed", base, edit("'adds'", "'sums up'", "cart", "basket", "Cart", "Basket"), nil},
		{"regrouped", base, "import { expect, it } from 'vitest';\n\nit('adds', () => {\n  const cart = new Cart([3, 4]);\n  expect(cart.total()).toBe(7);\n  expect(cart.name).toEqual('mine');\n});\n", nil},
		{"reformatted", base, edit("'mine'", "\"mine\"", "[3, 4]", "[\n      3,\n      4,\n    ]", ";\n", "\n"), nil},
		{"async", base, edit("() => {\n    const", "async () => {\n    const", "cart.total()", "await cart.total()"), nil},
		{"awaited", "test('a', () => assert.throws(() => f('x'), /gone/));\n", "test('a', async () => { await assert.rejects(f('x'), /gone/); });\n", nil},
		{"made each", "test('a', () => { expect(f('1h')).toBe(60); expect(f('2h')).toBe(120); });\n", "test.each([['1h', 60], ['2h', 120]])('a', (a, b) => { expect(f(a)).toBe(b); });\n", nil},
		{"helper", base, edit("    expect(cart.total()).toBe(7);\n    expect(cart.name).toEqual('mine');\n", "    same(cart, 7, 'mine');\n") + "function same(cart, total, name) {\n  expect(cart.total()).toBe(total);\n  expect(cart.name).toEqual(name);\n}\n", nil},
		{"comment", base, "// it.skip( and it.only( are not welcome\n" + base, nil},
		{"jsx", "test('a', () => { render(<p>don't</p>); expect(screen.getByText('x')).toBe('y'); });\n", "test('b', () => { render(<p>don't</p>); expect(screen.getByText('x')).toBe('y'); });\n", nil},
		{"regexp", "test('a', () => { const re = /[/'\"]/; expect(re.test('x')).toBe(false); });\n", "test('a', () => { const re = /[/'\"]/; expect(re.test('x')).toBe(false); expect(1 / 2).toBe(0.5); });\n", nil},
		{"catch that fails", base, edit("    const cart", "    try {\n    const cart", "'mine');\n", "'mine');\n    } catch (e) {\n      throw e;\n    }\n"), nil},
	})
}

func TestRust(t *testing.T) {
	const base = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        let cart = Cart::new(&[3, 4]);\n        assert_eq!(cart.total(), 7);\n        assert_eq!(cart.name(), \"mine\");\n    }\n}\n"
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(base) }
	runChanges(t, "src/a.rs", []change{
		{"expected value", base, edit("(), 7", "(), 8"), []string{"expectation adds"}},
		{"not equal", base, edit("assert_eq!(cart.total(), 7)", "assert_ne!(cart.total(), 7)"), []string{"expectation adds"}},
		{"at least", base, edit("assert_eq!(cart.total(), 7)", "assert!(cart.total() >= 7)"), []string{"expectation adds"}},
		{"contains", base, edit("assert_eq!(cart.name(), \"mine\")", "assert!(cart.name().contains(\"mine\"))"), []string{"expectation adds"}},
		{"fewer", base, edit("        assert_eq!(cart.total(), 7);\n", ""), []string{"fewer_assertions adds"}},
		{"printed", base, edit("assert_eq!(cart.total(), 7);", "println!(\"{}\", cart.total());", "assert_eq!(cart.name(), \"mine\");", ""), []string{"emptied_test adds"}},
		{"true", base, edit("assert_eq!(cart.total(), 7)", "assert!(true)"), []string{"fewer_assertions adds"}},
		{"itself", base, edit("(cart.total(), 7)", "(cart.total(), cart.total())"), []string{"fewer_assertions adds"}},
		{"return", base, edit("        let cart", "        return;\n        let cart"), []string{"emptied_test adds"}},
		{"if false", base, edit("assert_eq!(cart.total(), 7);", "if false { assert_eq!(cart.total(), 7); }"), []string{"fewer_assertions adds"}},
		{"ignore", base, edit("#[test]", "#[test]\n    #[ignore = \"later\"]"), []string{"skipped_test adds"}},
		{"cfg", base, edit("#[test]", "#[cfg(windows)]\n    #[test]"), []string{"skipped_test adds"}},
		{"module", base, edit("#[cfg(test)]", "#[cfg(all(test, feature = \"slow\"))]"), []string{"skipped_test adds"}},
		{"file", base, "#![cfg(feature = \"slow\")]\n" + base, []string{"skipped_test adds"}},
		{"should_panic", base, edit("#[test]", "#[test]\n    #[should_panic]"), []string{"expectation adds"}},
		{"lost attribute", base, edit("    #[test]\n", ""), []string{"removed_test adds"}},
		{"caught", base, edit("assert_eq!(cart.total(), 7);", "let _ = std::panic::catch_unwind(|| { assert_eq!(cart.total(), 7); });"), []string{"fewer_assertions adds"}},
		{"documentation ignored", "/// ```\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", "/// ```ignore\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", []string{"skipped_test f"}},
		{"documentation text", "/// ```\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", "/// ```text\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", []string{"removed_test f"}},
		{"documentation changed", "/// ```\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", "/// ```\n/// assert_eq!(a::f(), 2);\n/// ```\npub fn f() {}\n", []string{"expectation f"}},
		{"documentation panics", "/// ```\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", "/// ```should_panic\n/// assert_eq!(a::f(), 1);\n/// ```\npub fn f() {}\n", []string{"expectation f"}},
		{"rstest", "#[rstest]\n#[case(\"1h\", 60)]\n#[case(\"2h\", 120)]\nfn unit(#[case] a: &str, #[case] b: i32) { assert_eq!(f(a), b); }\n", "#[rstest]\n#[case(\"1h\", 60)]\nfn unit(#[case] a: &str, #[case] b: i32) { assert_eq!(f(a), b); }\n", []string{"fewer_assertions unit"}},
		{"row", "#[test]\nfn unit() {\n    for (a, b) in [(\"1h\", 60), (\"2h\", 120)] {\n        assert_eq!(f(a), b);\n    }\n}\n", "#[test]\nfn unit() {\n    for (a, b) in [(\"1h\", 60), (\"2h\", 121), (\"3h\", 180)] {\n        assert_eq!(f(a), b);\n    }\n}\n", []string{"expectation unit"}},

		{"renamed", base, edit("adds", "sums_up", "cart", "basket", "Cart", "Basket"), nil},
		{"moved", "-- src/a.rs --\n" + base, "-- tests/a.rs --\nuse a::Cart;\n\n#[test]\nfn adds() {\n    let cart = Cart::new(&[3, 4]);\n    assert_eq!(cart.total(), 7);\n    assert_eq!(cart.name(), \"mine\");\n}\n-- src/a.rs --\n", nil},
		{"result", base, edit("Cart::new(&[3, 4])", "Cart::new(&[3, 4]).unwrap()"), nil},
		{"true by itself", "#[test]\nfn a() { assert_eq!(f('x'), true); }\n", "#[test]\nfn a() { assert!(f('x')); }\n", nil},
		{"message", base, edit("(), 7)", "(), 7, \"total of {cart:?}\")"), nil},
		{"lifetimes", "#[test]\nfn a() { let x: &'static str = f::<'a>('b', '\\'', b\"c\", r#\"d\"e\"#); assert_eq!(x, \"y\"); }\n", "#[test]\nfn b() { let z: &'static str = f::<'a>('b', '\\'', b\"c\", r#\"d\"e\"#); assert_eq!(z, \"y\"); }\n", nil},
		{"code", "pub fn f(n: u8) {\n    assert!(n > 0, \"none\");\n    assert!(n < 9);\n}\n", "pub fn f(n: u8) {\n    assert!(n > 0, \"none\");\n}\n", nil},
		{"documented", "pub fn f() {}\n", "/// ```should_panic\n/// a::f();\n/// ```\npub fn f() {}\n", nil},
	})
}

// The languages with a plainer reader.
func TestOthers(t *testing.T) {
	const java = "class CartTest {\n    @Test\n    void adds() {\n        Cart cart = new Cart(3, 4);\n        assertEquals(7, cart.total());\n        assertThat(cart.name()).isEqualTo(\"mine\");\n    }\n}\n"
	const kotlin = "class CartTest {\n    @Test\n    fun `adds up`() {\n        val cart = Cart(3, 4)\n        assertEquals(7, cart.total())\n        cart.name shouldBe \"mine\"\n    }\n}\n"
	const ruby = "class CartTest < Minitest::Test\n  def test_adds\n    cart = Cart.new(3, 4)\n    assert_equal 7, cart.total\n    assert_includes cart.names, \"mine\"\n  end\nend\n"
	const rspec = "RSpec.describe Cart do\n  it \"adds\" do\n    expect(Cart.new(3).total).to eq(7)\n    expect { f(\"x\") }.to raise_error(ArgumentError)\n  end\nend\n"
	const php = "<?php\nfinal class CartTest extends TestCase\n{\n    public function testAdds(): void\n    {\n        $cart = new Cart(3, 4);\n        $this->assertSame(7, $cart->total());\n        self::assertEquals('mine', $cart->name());\n    }\n}\n"
	const cs = "public class CartTests\n{\n    [Fact]\n    public void Adds()\n    {\n        var cart = new Cart(3, 4);\n        Assert.Equal(7, cart.Total());\n        cart.Name.Should().Be(\"mine\");\n    }\n}\n"
	const bats = "@test \"adds\" {\n  run add 3 4\n  [ \"$status\" -eq 0 ]\n  [ \"$output\" = \"7\" ]\n}\n"
	for _, l := range []struct {
		path, base, test                           string
		value, fewer, skip, gone, renamed, emptied []string
	}{
		{"src/test/java/CartTest.java", java, "adds", []string{"(7,", "(8,"}, []string{"        assertEquals(7, cart.total());\n", ""}, []string{"@Test", "@Disabled(\"later\") @Test"},
			[]string{"    @Test\n", ""}, []string{"adds", "sumsUp", "cart", "basket"}, []string{"assertEquals(7, cart.total())", "assertTrue(true)", "assertThat(cart.name()).isEqualTo(\"mine\")", "System.out.println(cart)"}},
		{"src/test/kotlin/CartTest.kt", kotlin, "adds up", []string{"(7,", "(8,"}, []string{"        cart.name shouldBe \"mine\"\n", ""}, []string{"@Test", "@Ignore @Test"},
			[]string{"    @Test\n", ""}, []string{"adds up", "sums", "cart", "basket"}, []string{"assertEquals(7, cart.total())", "println(7)", "cart.name shouldBe \"mine\"", ""}},
		{"test/cart_test.rb", ruby, "test_adds", []string{" 7,", " 8,"}, []string{"    assert_equal 7, cart.total\n", ""}, []string{"    cart =", "    skip \"later\"\n    cart ="},
			[]string{"def test_adds", "def adds"}, []string{"test_adds", "test_sum", "cart", "basket"}, []string{"assert_equal 7, cart.total", "assert true", "assert_includes cart.names, \"mine\"", "puts cart"}},
		{"spec/cart_spec.rb", rspec, "adds", []string{"eq(7)", "eq(8)"}, []string{"    expect { f(\"x\") }.to raise_error(ArgumentError)\n", ""}, []string{"it \"", "xit \""},
			[]string{"  it \"adds\" do", "  helper \"adds\" do"}, []string{"\"adds\"", "\"sums\"", "total", "sum"}, []string{"expect(Cart.new(3).total).to eq(7)", "expect(Cart.new(3).total)", "    expect { f(\"x\") }.to raise_error(ArgumentError)\n", ""}},
		{"tests/CartTest.php", php, "testAdds", []string{"(7,", "(8,"}, []string{"        $this->assertSame(7, $cart->total());\n", ""}, []string{"        $cart =", "        $this->markTestSkipped('later');\n        $cart ="},
			[]string{"testAdds", "adds"}, []string{"testAdds", "testSums", "$cart", "$basket"}, []string{"assertSame(7, $cart->total())", "assertTrue(true)", "self::assertEquals('mine', $cart->name());", ""}},
		{"tests/CartTests.cs", cs, "Adds", []string{"(7,", "(8,"}, []string{"        Assert.Equal(7, cart.Total());\n", ""}, []string{"[Fact]", "[Fact(Skip = \"later\")]"},
			[]string{"    [Fact]\n", ""}, []string{"Adds", "Sums", "cart", "basket"}, []string{"Assert.Equal(7, cart.Total())", "Assert.True(true)", "cart.Name.Should().Be(\"mine\");", ""}},
		{"test/add.bats", bats, "adds", []string{"\"7\"", "\"8\""}, []string{"  [ \"$output\" = \"7\" ]\n", ""}, []string{"  run", "  skip \"later\"\n  run"},
			[]string{"@test \"adds\"", "adds()"}, []string{"\"adds\"", "\"sums\""}, []string{"-eq 0 ]", "-eq 0 ] || true", "[ \"$output\" = \"7\" ]", "echo \"$output\""}},
	} {
		edit := func(pairs []string) string { return strings.NewReplacer(pairs...).Replace(l.base) }
		t.Run(l.path, func(t *testing.T) {
			runChanges(t, l.path, []change{
				{"expected value", l.base, edit(l.value), []string{"expectation " + l.test}},
				{"fewer", l.base, edit(l.fewer), []string{"fewer_assertions " + l.test}},
				{"skip", l.base, edit(l.skip), []string{"skipped_test " + l.test}},
				{"gone", l.base, edit(l.gone), []string{"removed_test " + l.test}},
				{"emptied", l.base, edit(l.emptied), []string{"emptied_test " + l.test}},
				{"renamed", l.base, edit(l.renamed), nil},
				{"same", l.base, l.base, nil},
			})
		})
	}
}

func TestTests(t *testing.T) {
	tests, ok := Tests(File{"a_test.go", []byte(goTests("func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n\tif got := F(\"x\"); got != 3 {\n\t\tt.Error(got)\n\t}\n\tsame(t)\n}", "func same(t *testing.T) {\n\tif G() {\n\t\tt.Error(1)\n\t}\n}"))})
	if !ok || len(tests) != 1 {
		t.Fatalf("tests %+v, %v", tests, ok)
	}
	got := tests[0]
	if got.Name != "TestA" || got.Line != 5 || got.End != 11 || !got.Skipped || got.Assertions != 2 || !slices.Equal(got.Literals, []string{"x", "3"}) {
		t.Errorf("test %+v", got)
	}
	for _, f := range []File{{"a.txt", nil}, {"a_test.go", make([]byte, maxBytes+1)}} {
		if _, ok := Tests(f); ok {
			t.Errorf("%s of %d bytes was read", f.Path, len(f.Data))
		}
	}
}

func TestAdded(t *testing.T) {
	const a = "test('a', () => { expect(f('x')).toBe(1); });\n"
	const b = "test('b', () => { expect(f('y')).toBe(2); });\n"
	names := func(base, candidate string) (names []string) {
		for _, u := range Added(files("a.test.js", base), files("a.test.js", candidate)) {
			names = append(names, u.Name)
		}
		return names
	}
	if got := names(a, a+b); !slices.Equal(got, []string{"b"}) {
		t.Errorf("added %q", got)
	}
	if got := names(a+b, strings.ReplaceAll(a, "'a'", "'c'")+strings.ReplaceAll(b, "f(", "g(")); got != nil {
		t.Errorf("renamed tests are added: %q", got)
	}
	if got := names(a+b, a+strings.ReplaceAll(b, "2", "3")); !slices.Equal(got, []string{"b"}) {
		t.Errorf("changed %q", got)
	}
	if got := names("", a); !slices.Equal(got, []string{"a"}) {
		t.Errorf("new %q", got)
	}
}

func TestDetail(t *testing.T) {
	c := Compare(files("a.test.js", "test('a', () => {\n  expect(f('x')).toBe(1);\n});\n"), files("a.test.js", "test('a', () => {\n  expect(f('x')).toBe(2);\n});\n"))
	if len(c) != 1 || c[0].Kind != pawl.FindExpectation || c[0].Path != "a.test.js" || c[0].Detail != "- expect(f('x')).toBe(1);\n+ expect(f('x')).toBe(2);\n" {
		t.Errorf("changes %+v", c)
	}
}
