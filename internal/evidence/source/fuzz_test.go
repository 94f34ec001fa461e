package source

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/evidence/corpus"
)

// paths has a file of every language.
var paths = []string{"a_test.go", "a.test.ts", "test_a.py", "tests/a.rs", "ATest.java", "ATest.kt", "ATests.cs", "ATest.php", "a_test.rb", "a.bats"}

// seeds returns sources of the corpus, none of an entry that is held out.
func seeds(tb testing.TB) []string {
	entries, err := corpus.Load()
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.HeldOut {
			continue
		}
		for path, data := range e.Base {
			if languageOf(path) != nil {
				all = append(all, string(data))
			}
		}
	}
	slices.Sort(all)
	return all
}

// Whatever a source says, reading it ends without a panic, and comparing it with itself finds nothing.
func FuzzCompare(f *testing.F) {
	for i, s := range seeds(f) {
		f.Add(s, s[len(s)/3:], i%len(paths))
	}
	for i := range paths {
		f.Add("\"\"\"'`${`${'", "test('a', () => {", i)
		f.Add("#[test]\nfn a() { r#\"", "@test \"a\" {\n", i)
		f.Add("func TestA(t *testing.T) { if", "def test_a(:\n  assert (", i)
		f.Add("expect(", "assert", i)
		f.Add("<<A\n<<B\n<<CC", ")]}([{", i)
	}
	f.Fuzz(func(t *testing.T, a, b string, n int) {
		if n < 0 || n >= len(paths) {
			return
		}
		base, candidate := []File{{paths[n], []byte(a)}}, []File{{paths[n], []byte(b)}}
		Compare(base, candidate)
		Added(base, candidate)
		if c := Compare(base, base); len(c) > 0 {
			t.Errorf("%s: a change of nothing: %+v", paths[n], c)
		}
		tests, ok := Tests(base[0])
		if !ok {
			t.Errorf("%s was not read", paths[n])
		}
		lines := strings.Count(a, "\n") + 1
		for _, u := range tests {
			if u.Line < 1 || u.Line > lines || u.Assertions < 0 {
				t.Errorf("%s: test %q on line %d of %d with %d assertions", paths[n], u.Name, u.Line, lines, u.Assertions)
			}
		}
	})
}

// Every prefix and suffix of real sources can be read.
func TestCutOff(t *testing.T) {
	for i, s := range seeds(t) {
		path := paths[i%len(paths)]
		for at := 0; at < len(s); at += 97 {
			Compare([]File{{path, []byte(s)}}, []File{{path, []byte(s[:at])}})
			Compare([]File{{path, []byte(s[at:])}}, []File{{path, []byte(s)}})
		}
	}
}
