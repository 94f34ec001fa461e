//go:build unix

package source

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// hostileBytes is how long the hostile files are. With maxBytes none takes more than a few seconds.
	hostileBytes = 100_000
	// maxRead is how much of the processor comparing one may take. It is a tenth of a second mostly.
	maxRead = 3 * time.Second
)

// Sources that are made to be slow to read are not.
func TestHostile(t *testing.T) {
	fill := func(s string) []byte { return []byte(strings.Repeat(s, hostileBytes/len(s))) }
	deep := strings.Repeat("(", hostileBytes/2) + strings.Repeat(")", hostileBytes/2)
	for name, data := range map[string][]byte{
		"brackets": []byte(deep), "open": fill("("), "closed": fill(")"), "mixed": fill("([{"), "quotes": fill("'\""), "escapes": fill("\\'"), "triple": fill("\"\"\""), "templates": fill("`${"),
		"slashes": fill("= /"), "heredocs": fill("<<AB\n"), "catches": fill(".catch(f)\n"), "chains": fill("expect(a).b."), "tests": fill("test('a', () => {"), "tests side by side": fill("test('a', () => expect(f('x')).toBe(1));\n"),
		"asserts": fill("assert a == b\n"), "defs": fill("def test_a():\n assert f(1) == 2\n"), "nested defs": []byte(nested()), "raises": fill("with pytest.raises("), "marks": fill("@pytest.mark.skip\n"),
		"attributes": fill("#[test]\n"), "functions": fill("#[test] fn a() { assert_eq!(f(1), 2); }\n"), "unwind": fill("catch_unwind "), "fences": fill("/// ```\n"), "go": append([]byte("package a\n"), fill("func TestA(t *testing.T) { if f(1) != 2 { t.Error() } }\n")[10:]...),
		"go calls": []byte("package a\nfunc TestA(t *testing.T) {" + strings.Repeat("f(", hostileBytes/3)), "go or": []byte("package a\nfunc TestA(t *testing.T) { if " + strings.Repeat("a||", hostileBytes/3) + "b { t.Error() } }"),
		"rows": []byte("@pytest.mark.parametrize('a', [" + strings.Repeat("(1, 2),", hostileBytes/8) + "])\ndef test_a(a):\n assert f(a) == 1\n"), "calls": fill("f(1, "), "bats": fill("@test \"a\" {\n[ a = b ]\n}\n"), "classes": fill("class A { @Test void a() { assertEquals(1, f()); } }\n"),
		"prompts": fill(">>> f(1)\n2\n"), "prompted": append(append([]byte("\"\"\"\n"), fill(">>> f(1)\n2\n")[8:]...), "\"\"\"\n"...), "if": fill("if ("), "for": fill("for (x of []) "), "try": fill("try {} catch {}"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"a_test.go", "a.test.ts", "test_a.py", "tests/a.rs", "ATest.php", "a_test.rb"} {
				start := processorTime(t)
				Compare([]File{{path, data}}, []File{{path, data[:len(data)/2]}})
				if d := processorTime(t) - start; d > maxRead {
					t.Errorf("%s takes %v", path, d)
				} else if testing.Verbose() && d > time.Second/2 {
					t.Logf("%s takes %v", path, d)
				}
			}
		})
	}
}

// nested returns functions each of which stands in the one before.
func nested() string {
	var b strings.Builder
	for i := 0; b.Len() < hostileBytes; i++ {
		b.WriteString(strings.Repeat(" ", i) + "def test_a():\n")
	}
	return b.String()
}

// processorTime returns what this process has used of the processor, which other processes do not lengthen.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}
