package strictyaml_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/strictyaml"
)

// fill repeats a pattern up to the limit on a file's size.
func fill(pattern string) string { return strings.Repeat(pattern, strictyaml.MaxBytes/len(pattern)) }

func lines(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < strictyaml.MaxBytes-20; i++ {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func deep() string {
	var b strings.Builder
	for i := 0; b.Len()+i+3 < strictyaml.MaxBytes; i++ {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// hostile are files made to cost the reader time or memory.
func hostile() map[string]string {
	return map[string]string{
		"alias bomb":        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n",
		"merge key":         "a: &a {b: 1}\nc:\n  <<: *a\n",
		"tag":               "a: !!binary aGk=\n",
		"directive":         "%YAML 1.2\n---\na: 1\n",
		"complex key":       "? [a]\n: b\n",
		"two documents":     "name: a\n---\nname: b\n",
		"deep flow lists":   fill("["),
		"deep flow maps":    fill("{a: "),
		"deep lists":        fill("- "),
		"deep keys":         fill("? "),
		"deep indentation":  deep(),
		"depth in few":      strings.Repeat("- ", 2000) + "x",
		"depth in few maps": strings.Repeat("{a: ", 1200) + "1" + strings.Repeat("}", 1200),
		"many keys":         lines("k%d: 1"),
		"as many as may be": strings.Join(strings.Split(lines("k%d: 1"), "\n")[:1660], "\n"),
		"quoted keys":       lines(`"k%d": 'v'`),
		"one key":           fill("a: 1\n"),
		"a line of keys":    fill("a: "),
		"colons":            fill(": "),
		"anchors":           fill("&a "),
		"aliases":           fill("*a "),
		"tags":              fill("!!str "),
		"at signs":          fill("@"),
		"backquotes":        fill("`"),
		"pipes":             fill("|\n"),
		"quoted words":      fill(`"a" `),
		"open quote":        `name: "` + fill("x"),
		"escapes":           `name: "` + fill(`\x41`) + `"`,
		"folded":            "name: >\n" + fill("  x\n\n"),
		"comments":          fill("# c\n"),
		"directives":        fill("%YAML 1.2\n"),
		"documents":         fill("---\n"),
		"nul":               fill("\x00"),
		"bell":              "name: \"\\a\"\n",
		"turned text":       "name: \"a\u202eb\"\n",
		"not UTF-8":         fill("\xff"),
		"carriage returns":  fill("\r"),
		"too large":         fill("x") + "xxxxx",
		"a long number":     "count: " + fill("1"),
		"a long word":       fill("x"),
		"a long key":        fill("x") + ": 1",
	}
}

// fields is a small language with every kind of value.
type fields struct {
	name  string
	count int
	flag  bool
	list  []string
	subs  []fields
}

func (f *fields) read(m *strictyaml.Map) {
	m.Key("name", "A name.").Text(&f.name)
	m.Key("count", "A count.").Int(&f.count, 1, 9)
	m.Key("flag", "A flag.").Bool(&f.flag)
	m.Key("list", "Words.").Words(&f.list, "red", "green", "blue")
	strictyaml.List(m.Key("subs", "More."), "sub", &f.subs, func(m *strictyaml.Map, f *fields) { f.read(m) })
}

// TRUST row 31: every hostile file is refused at little cost.
func TestHostileFiles(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := strictyaml.Read("x.yaml", []byte(text), new(fields).read)
			runtime.ReadMemStats(&after)
			if name != "comments" && name != "carriage returns" && pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("got %v, want it refused", err)
			}
			if err != nil && len(err.Error()) > 3000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 20<<20 {
				t.Errorf("it took %d MB of memory", spent>>20)
			}
		})
	}
}

func BenchmarkHostileFiles(b *testing.B) {
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				strictyaml.Read("x.yaml", []byte(text), new(fields).read) //nolint:errcheck // the cost is what counts
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range hostile() {
		if len(text) < 10_000 {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte("name: a\ncount: 3\nflag: true\nlist: [red]\nsubs:\n  - {name: b}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got fields
		_, err := strictyaml.Read("x.yaml", data, got.read)
		if err == nil {
			if got.count < 0 || got.count > 9 || strings.ContainsAny(got.name, "\x00\x1b") {
				t.Errorf("%q gave %+v", data, got)
			}
			return
		}
		if pawl.CodeOf(err) != pawl.CodeInvalid || strings.ContainsAny(err.Error(), "\x00\x1b\r") {
			t.Errorf("%q gave the error %q", data, err)
		}
	})
}
