package strictyaml_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/strictyaml"
)

// everything is a language with every kind of value.
type everything struct {
	Text   string
	Name   string
	Word   string
	Flag   bool
	Count  int
	Wait   time.Duration
	Money  pawl.Micros
	Texts  []string
	Words  []string
	Ints   []int
	Times  map[string]time.Duration
	Inner  int
	Either string
	Size   int64
	Most   int64
	Share  int
	Sub    *part
	List   []part
	Named  []part
}

type part struct {
	Name string
	N    int
}

func readPart(m *strictyaml.Map, p *part) { m.Key("n", "A number.").Int(&p.N, 0, 100) }

func (e *everything) fields(m *strictyaml.Map) {
	m.Key("text", "Text.").Text(&e.Text)
	m.Key("name", "A name.").Name(&e.Name)
	m.Key("word", "A word.").Word(&e.Word, "yes", "no")
	m.Key("flag", "A flag.").Bool(&e.Flag)
	m.Key("count", "A count.").Int(&e.Count, -5, 5)
	m.Key("wait_ms", "A wait.").Time(&e.Wait, time.Millisecond, 1000)
	m.Key("money_usd", "Money.").Dollars(&e.Money, 100)
	m.Key("texts", "Texts.").Texts(&e.Texts)
	m.Key("words", "Words.").Words(&e.Words, "red", "green")
	m.Key("ints", "Numbers.").Ints(&e.Ints, 1, 3)
	m.Key("times_ms", "Times.").Times(&e.Times, time.Millisecond, 1000)
	m.Key("inner", "Inner.").Map(func(m *strictyaml.Map) { m.Key("n", "A number.").Int(&e.Inner, 0, 9) })
	m.Key("either", "Text or a mapping.").TextOr(func(text string) error { e.Either = text; return nil },
		func(m *strictyaml.Map) { m.Key("text", "Text.").Text(&e.Either) })
	m.Key("size", "A size.").Size(&e.Size, 1000, 1<<40)
	m.Key("share", "A size or a percentage.").SizeOrPercent(&e.Most, &e.Share, 1000, 1<<40)
	strictyaml.Sub(m.Key("sub", "A part."), "part", &e.Sub, readPart)
	strictyaml.List(m.Key("list", "Parts."), "part", &e.List, readPart)
	strictyaml.Named(m.Key("named", "Parts by name."), "part", &e.Named, func(p *part) *string { return &p.Name }, readPart)
}

func TestRead(t *testing.T) {
	var got everything
	where, err := strictyaml.Read("x.yaml", []byte(`# A comment.
text: |
  two
  lines
name: fix-it
word: "yes"
flag: true
count: -5
wait_ms: 250
money_usd: 2.000001
texts: [a b, 'c']
words:
  - red
  - green
ints: [1, 3]
times_ms: {work: 5}
inner: {n: 3}
either: {text: x}
sub: {n: 1}
size: 2GiB
share: 80%
list: [{n: 2}, {n: 3}]
named:
  b: {n: 4}
  a: {}
`), got.fields)
	if err != nil {
		t.Fatal(err)
	}
	want := everything{
		Text: "two\nlines", Name: "fix-it", Word: "yes", Flag: true, Count: -5, Wait: 250 * time.Millisecond, Money: 2_000_001,
		Texts: []string{"a b", "c"}, Words: []string{"red", "green"}, Ints: []int{1, 3},
		Times: map[string]time.Duration{"work": 5 * time.Millisecond}, Inner: 3, Either: "x", Size: 2 << 30, Share: 80,
		Sub: &part{N: 1}, List: []part{{N: 2}, {N: 3}}, Named: []part{{Name: "b", N: 4}, {Name: "a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for path, want := range map[string]string{
		"text": "x.yaml:2:7", "words[1]": "x.yaml:14:5", "list[1].n": "x.yaml:22:20", "named.b": "x.yaml:24:3",
		"named.b.other.more": "x.yaml:24:3", "nothing": "x.yaml:2:1",
	} {
		if at := where.Find(path).String(); at != want {
			t.Errorf("%s is at %s, want %s", path, at, want)
		}
	}

	// A second file changes what it names and leaves the rest.
	later, err := strictyaml.Read("y.yaml", []byte("count: 1\nlist: [{n: 9}]\nsub: {}\nnamed: {a: {n: 5}, c: {}}\n"), got.fields)
	if err != nil {
		t.Fatal(err)
	}
	want.Count, want.List, want.Named = 1, []part{{N: 9}}, []part{{Name: "b", N: 4}, {Name: "a", N: 5}, {Name: "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	where.Add(later)
	for path, want := range map[string]string{"text": "x.yaml:2:7", "count": "y.yaml:1:8", "list[1].n": "y.yaml:2:1", "words[1]": "x.yaml:14:5"} {
		if at := where.Find(path).String(); at != want {
			t.Errorf("%s is at %s, want %s", path, at, want)
		}
	}
}

// A colon without a blank behind it is part of a text, in lists in braces too.
func TestColonInText(t *testing.T) {
	for text, want := range map[string][]string{
		"sub: {texts: [a/b, c/d:8b]}":      {"a/b", "c/d:8b"},
		"sub: {texts: [c/d:8]}":            {"c/d:8"},
		"sub: {texts: [c/d:8b-q4, a/b]}":   {"c/d:8b-q4", "a/b"},
		"sub: {texts: [\"c/d:8b\"]}":       {"c/d:8b"},
		"sub: {texts: [c/d: 8b]}":          nil,
		"sub: {texts: [{c/d:8b}]}":         nil,
		"sub: {texts: [\"c/d\":8b, true]}": nil,
	} {
		var got []string
		_, err := strictyaml.Read("x.yaml", []byte(text), func(m *strictyaml.Map) {
			m.Key("sub", "A mapping.").Map(func(m *strictyaml.Map) { m.Key("texts", "Texts.").Texts(&got) })
		})
		if diff := cmp.Diff(want, got); (err == nil) != (want != nil) || want != nil && diff != "" {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestReadNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# only a comment\n", "---\n", "{}", "\ufeff{}\n"} {
		if _, err := strictyaml.Read("x.yaml", []byte(text), new(everything).fields); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReadPairs(t *testing.T) {
	var got everything
	where, err := strictyaml.ReadPairs([]strictyaml.Pair{
		{Path: "count", Value: "3", Origin: "$COUNT"}, {Path: "count", Value: "4", Origin: "--count"},
		{Path: "flag", Value: "true", Origin: "--flag"}, {Path: "words", Value: "red, green", Origin: "--words"},
		{Path: "texts", Value: "one, not two", Origin: "--text"}, {Path: "times_ms.work", Value: "7", Origin: "--time"},
		{Path: "either", Value: "y", Origin: "--either"}, {Path: "money_usd", Value: "1.5", Origin: "--money"},
	}, got.fields)
	if err != nil {
		t.Fatal(err)
	}
	want := everything{Count: 4, Flag: true, Words: []string{"red", "green"}, Texts: []string{"one, not two"},
		Times: map[string]time.Duration{"work": 7 * time.Millisecond}, Either: "y", Money: 1_500_000}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if at := where["count"].String(); at != "--count" {
		t.Errorf("count is at %s", at)
	}
	_, err = strictyaml.ReadPairs([]strictyaml.Pair{{Path: "list", Value: "x", Origin: "$LIST"}}, got.fields)
	if err == nil || err.Error() != `$LIST: list: want a mapping, got "x"` {
		t.Errorf("got %v", err)
	}
}

// A value and a part of it can both be set, in either order.
func TestReadPairsOfOneKey(t *testing.T) {
	whole := strictyaml.Pair{Path: "either", Value: "whole", Origin: "$EITHER"}
	part := strictyaml.Pair{Path: "either.n", Value: "3", Origin: "$EITHER_N"}
	for _, pairs := range [][]strictyaml.Pair{{whole, part}, {part, whole}} {
		var text string
		var n int
		where, err := strictyaml.ReadPairs(pairs, func(m *strictyaml.Map) {
			m.Key("either", "Text or a mapping.").TextOr(func(s string) error { text = s; return nil },
				func(m *strictyaml.Map) { m.Key("n", "A number.").Int(&n, 0, 9) })
		})
		if err != nil || text != "whole" || n != 3 {
			t.Errorf("%v: got %q and %d, error %v", pairs, text, n, err)
		}
		if where["either"].Origin != "$EITHER" || where["either.n"].Origin != "$EITHER_N" {
			t.Errorf("%v: they are at %v", pairs, where)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"1000": 1000, "1000B": 1000, "1kB": 1000, "1KiB": 1024, "50MB": 50_000_000, "3MiB": 3 << 20, "7GB": 7_000_000_000,
		"10GiB": 10 << 30, "1TB": 1_000_000_000_000, "1TiB": 1 << 40,
	} {
		var got everything
		if _, err := strictyaml.Read("x.yaml", []byte("size: "+text), got.fields); err != nil || got.Size != want {
			t.Errorf("size: %s gives %d, error %v", text, got.Size, err)
		}
		if text != "1000" && text != "1000B" && strictyaml.FormatSize(want) != text {
			t.Errorf("%d is written as %s", want, strictyaml.FormatSize(want))
		}
	}
	for _, text := range []string{"999", "2TiB", "9223372036854775807TiB", "99999999999999999999", "-5GB", "+5GB", "1.5GB", "5 GB", "5gb", "5KB", "GB", "80%", "true", "[1GB]", "{}"} {
		_, err := strictyaml.Read("x.yaml", []byte("size: "+text), new(everything).fields)
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:1:") || !strings.Contains(err.Error(), "size: want a size from 1kB to 1TiB, such as 500MB or 2GiB, got ") {
			t.Errorf("size: %s gives the error %v", text, err)
		}
	}
	for text, want := range map[string]everything{"1%": {Share: 1}, "100%": {Share: 100}, "2GiB": {Most: 2 << 30}} {
		for _, got := range []everything{{}, {Most: 5}, {Share: 5}} { // a weaker layer's
			if _, err := strictyaml.Read("x.yaml", []byte("share: "+text), got.fields); err != nil || !cmp.Equal(got, want) {
				t.Errorf("share: %s gives %+v, error %v", text, got, err)
			}
		}
	}
	for _, text := range []string{"0%", "101%", "8.5%", "%", "-1%", "999", "all"} {
		_, err := strictyaml.Read("x.yaml", []byte(`share: "`+text+`"`), new(everything).fields)
		want := "x.yaml:1:8: share: want a size from 1kB to 1TiB, such as 500MB or 2GiB, or a percentage such as 80%, got \"" + text + "\""
		if err == nil || err.Error() != want {
			t.Errorf("share: %s gives the error %v", text, err)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"steps", "gates", "children", "iterations"}
	for word, want := range map[string]string{"step": "steps", "Gates": "gates", "gats": "gates", "childern": "children", "itertions": "iterations",
		"ladder": "", "x": "", "": ""} {
		if got := strictyaml.Nearest(word, known); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

// A file that is no file does no harm.
func TestOddFiles(t *testing.T) {
	for text, want := range map[string]string{
		"a: \"\\e[31m\"":                 "x.yaml:1:4: a: holds the control character U+001B",
		"\"k\\e\": 1":                    `x.yaml:1:1: "k\x1b" cannot be a key`,
		strings.Repeat("x", 101) + ": 1": `x.yaml:1:1: "` + strings.Repeat("x", 40) + `"… cannot be a key`,
		"\x00:":                          "x.yaml:1:1: \"\\x00\" cannot be a key",
		"a: .nan":                        `x.yaml:1:4: a: ".nan" is not allowed here`,
		"just text":                      `x.yaml:1:1: want a mapping (key: value), got "just text"`,
	} {
		_, err := strictyaml.Read("x.yaml", []byte(text), new(everything).fields)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestIsName(t *testing.T) {
	pattern := regexp.MustCompile(strictyaml.NamePattern)
	for _, text := range []string{"a", "fix-login", "a_1", "9", "", "-a", "_a", "A", "a b", "a.b", "ä", strings.Repeat("x", 64), strings.Repeat("x", 65)} {
		if got := strictyaml.IsName(text); got != pattern.MatchString(text) {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestReadFile(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "folder", "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []struct{ to, name string }{{outside, "out"}, {filepath.Join(outside, "secret"), "folder/link"}} {
		if err := os.Symlink(link.to, filepath.Join(dir, link.name)); err != nil {
			t.Skip("symbolic links cannot be made here: ", err)
		}
	}
	for name, want := range map[string]string{
		"folder/file": "", "folder": "folder is not a regular file", "folder/link": "folder/link is a symbolic link, which is not followed here",
		"out/secret": "out is a symbolic link, which is not followed here",
	} {
		text, err := strictyaml.ReadFile(os.DirFS(dir), name)
		if want == "" && (err != nil || string(text) != "text") || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
	if _, err := strictyaml.ReadFile(os.DirFS(dir), "none/at/all"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A file that replaces some of another one's values need not give what that one has, but for what
// is in a list. F-42
func TestReadOver(t *testing.T) {
	type limit struct{ a, b int }
	var mapping limit
	var list []limit
	fields := func(m *strictyaml.Map) {
		read := func(m *strictyaml.Map, l *limit) {
			m.Need("a", "One.").Int(&l.a, 0, 9)
			m.Need("b", "Another.").Int(&l.b, 0, 9)
		}
		p := &mapping
		strictyaml.Sub(m.Key("one", "A mapping."), "limit", &p, read)
		strictyaml.List(m.Key("many", "A list."), "limit", &list, read)
	}
	under, err := strictyaml.Read("base", []byte("one: {a: 1, b: 2}\nmany: [{a: 3, b: 4}]\n"), fields)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strictyaml.ReadOver("over", []byte("one: {b: 5}\n"), under, fields); err != nil || mapping != (limit{1, 5}) {
		t.Errorf("got %+v, %v", mapping, err)
	}
	for text, want := range map[string]string{
		"many: [{b: 5}]\n":        "over:1:9: many[0].a: is missing",
		"one: {b: 10}\n":          "over:1:10: one.b: want a whole number from 0 to 9, got 10",
		"one: {a: null, b: 10}\n": "over:1:10: one.a: has no value\nover:1:19: one.b: want a whole number from 0 to 9, got 10",
	} {
		if _, err := strictyaml.ReadOver("over", []byte(text), under, fields); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if _, err := strictyaml.Read("alone", []byte("one: {b: 5}\n"), fields); err == nil || err.Error() != "alone:1:7: one.a: is missing" {
		t.Errorf("got %v", err)
	}
	schema := string(strictyaml.SchemaOver("Over", fields))
	if whole := string(strictyaml.Schema("Whole", fields)); !strings.Contains(whole, `"required"`) || !strings.Contains(schema, `"required"`) {
		t.Errorf("what is in lists is always given whole: %s", schema) // the definition of both is that of the list
	}
}

func TestIntOr(t *testing.T) {
	n := 7
	fields := func(m *strictyaml.Map) { m.Key("n", "A number.").IntOr(&n, 1, 9, "all", -1) }
	for text, want := range map[string]int{"": 7, "n: 3": 3, "n: all": -1} {
		n = 7
		if _, err := strictyaml.Read("x", []byte(text), fields); err != nil || n != want {
			t.Errorf("%q: got %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"n: 10", "n: some", `n: "3"`, "n: [1]"} {
		if _, err := strictyaml.Read("x", []byte(text), fields); err == nil || !strings.Contains(err.Error(), "n: want a whole number from 1 to 9, or all, got ") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestGone(t *testing.T) {
	fields := func(m *strictyaml.Map) {
		m.Key("new", "A number.").Int(new(int), 0, 9)
		m.Gone("old", "say new")
	}
	if _, err := strictyaml.Read("x", []byte("new: 1\nold: 2\n"), fields); err == nil || err.Error() != "x:2:1: old: there is no such key any more: say new" {
		t.Errorf("got %v", err)
	}
	if schema := string(strictyaml.Schema("X", fields)); strings.Contains(schema, "old") {
		t.Errorf("the schema has it: %s", schema)
	}
}
