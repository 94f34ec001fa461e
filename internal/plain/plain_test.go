package plain

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Each attack is something a model, a tool, a file name or a commit message can
// say to a terminal or a reader.
var attacks = []struct{ name, in, want string }{
	{"colour", "\x1b[31mred\x1b[0m", "red"},
	{"cursor to the top left", "a\x1b[Hb", "ab"},
	{"clear the screen", "a\x1b[2Jb", "ab"},
	{"clear the scroll-back", "a\x1b[3Jb", "ab"},
	{"rewrite the line above", "fail\x1b[1A\x1b[2Kpass", "failpass"},
	{"alternate screen", "\x1b[?1049hx\x1b[?1049l", "x"},
	{"ask where the cursor is", "x\x1b[6n", "x"},
	{"ask what the terminal is", "x\x1b[c", "x"},
	{"ask for the title", "x\x1b[21t", "x"},
	{"bracketed paste off", "x\x1b[?2004l", "x"},
	{"mouse reports on", "x\x1b[?1003h", "x"},
	{"blink and hide", "\x1b[8mhidden\x1b[28m", "hidden"},
	{"colours by colon", "\x1b[38:2::1:2:3mx", "x"},
	{"window title", "\x1b]0;owned\ax", "x"},
	{"title ended by ST", "\x1b]2;owned\x1b\\x", "x"},
	{"write the clipboard", "\x1b]52;c;cm0gLXJmIH4=\ax", "x"},
	{"link to elsewhere", "\x1b]8;;http://evil.example\x1b\\safe\x1b]8;;\x1b\\", "safe"},
	{"file transfer of one terminal", "\x1b]1337;File=name=eA==:AAAA\ax", "x"},
	{"notification", "\x1b]9;hello\ax", "x"},
	{"change the palette", "\x1b]4;0;rgb:0/0/0\ax", "x"},
	{"title never ended takes only its line", "\x1b]0;owned\nkept", "\nkept"},
	{"title broken off by CAN", "\x1b]0;owned\x18kept", "kept"},
	{"title broken off by another sequence", "\x1b]0;owned\x1b[1mkept", "kept"},
	{"device control over lines", "\x1bPq#0;2;0\n#1~~\x1b\\x", "x"},
	{"ask for a setting", "\x1bP$qm\x1b\\x", "x"},
	{"application command", "\x1b_Gf=100;AAAA\x1b\\x", "x"},
	{"privacy message", "\x1b^secret\x1b\\x", "x"},
	{"start of string", "\x1bXsecret\x1b\\x", "x"},
	{"full reset", "a\x1bcb", "ab"},
	{"save and restore the cursor", "\x1b7a\x1b8", "a"},
	{"line drawing characters", "\x1b(0lqqk\x1b(B", "lqqk"},
	{"screen alignment test", "\x1b#8x", "x"},
	{"a lone escape at the end", "x\x1b", "x"},
	{"escape before a newline", "a\x1b\nb", "a\nb"},
	{"a sequence that breaks off", "a\x1b[31\nb", "a\nb"},
	{"escape inside escape", "\x1b\x1b[31mx", "x"},
	{"control sequence by C1", "\u009b31mred", "red"},
	{"title by C1", "\u009d0;owned\u009cx", "x"},
	{"device control by C1", "\u0090q\u009cx", "x"},
	{"other C1 controls", "a\u0085b\u008dc", "abc"},
	{"a raw C1 byte is not UTF-8", "a\x9b31mb", "a\ufffd31mb"},
	{"carriage return hides what was there", "evil\rgood", "evilgood"},
	{"lines of another system", "a\r\nb\r\n", "a\nb\n"},
	{"backspaces", "rm -rf\b\b\b\b\b\bls", "rm -rfls"},
	{"bell", "a\ab", "ab"},
	{"null", "a\x00b", "ab"},
	{"delete", "a\x7fb", "ab"},
	{"shift out", "a\x0eb\x0f", "ab"},
	{"vertical tab and form feed", "a\vb\fc", "abc"},
	{"enquiry", "a\x05b", "ab"},
	{"right-to-left override", "a\u202egnp.exe", "agnp.exe"},
	{"bidi isolates", "a\u2066b\u2069c\u2067d", "abcd"},
	{"bidi marks", "a\u200eb\u200fc\u061cd", "abcd"},
	{"tag characters carry a hidden text", "hi\U000e0068\U000e0069", "hi"},
	{"zero width spaces and joiners", "pa\u200bss\u200cwo\u200drd\ufeff\u2060", "password"},
	{"soft hyphen", "pass\u00adword", "password"},
	{"variation selectors carry a hidden text", "a\ufe01b\U000e0100c", "abc"},
	{"an emoji style on a letter", "a\ufe0fb", "ab"},
	{"an emoji style on a sign of money", "$\ufe0fb", "$b"},
	{"invisible letters", "a\u3164b\u115fc\uffa0d\u2800", "abcd"},
	{"an unknown joiner", "a\u034fb", "ab"},
	{"annotation", "a\ufff9b\ufffac\ufffb", "abc"},
	{"line and paragraph separators", "a\u2028b\u2029c", "a\nb\nc"},
	{"spaces that are none", "a\u00a0b\u3000c\u2009d", "a b c d"},
	{"marks piled up", "a" + strings.Repeat("\u0301", 50), "a" + strings.Repeat("\u0301", maxStacked)},
	{"half a surrogate pair", "a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
	{"not UTF-8", "a\xff\xfeb", "a\ufffd\ufffdb"},
	{"private characters", "a\ue0b0b\U000f0000", "a\ufffdb\ufffd"},
	{"a noncharacter", "a\uffffb", "a\ufffdb"},
}

func TestAttacks(t *testing.T) {
	if len(attacks) < 30 {
		t.Fatalf("only %d attacks", len(attacks))
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			if got := Text(a.in); got != a.want {
				t.Errorf("Text(%q) = %q, want %q", a.in, got, a.want)
			}
			mustBeSafe(t, a.in)
		})
	}
}

func TestHonestTextStays(t *testing.T) {
	for _, s := range []string{
		"", "plain text\n\twith tabs", "Grüße, мир, 世界, العربية, ไทย", "café", "┌─┐ ═══ → ✓",
		"family 👨‍👩‍👧, flag 🏳️‍🌈, astronaut 👩🏽‍🚀, heart ❤️, burning ❤️‍🔥, key 1️⃣, 🇩🇪",
		"func f() { return `a`[0] ^ ~b }",
	} {
		if got := Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, in string
		width    int
		want     string
	}{
		{"no limit", "  a \n\t b\r\nc  ", 0, "a b c"},
		{"fits", "abc", 3, "abc"},
		{"cut", "abcdef", 4, "abc…"},
		{"one column", "abc", 1, "…"},
		{"wide letters count twice", "世界世界", 5, "世界…"},
		{"half a wide letter does not fit", "世界世界", 4, "世…"},
		{"an emoji of many runes is not cut apart", "👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"},
		{"a forged line", "ok\n10:00:00 run complete", 0, "ok 10:00:00 run complete"},
		{"controls take no width", "\x1b[31mabc\x1b[0m", 3, "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Line(c.in, c.width); got != c.want {
				t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, a := range attacks {
		f.Add(a.in)
	}
	f.Add("++++++\ufe0fb") // one reader counts the last sign as two columns
	f.Fuzz(mustBeSafe)
}

// mustBeSafe checks what holds for every text.
func mustBeSafe(t *testing.T, in string) {
	out := Text(in)
	if !utf8.ValidString(out) {
		t.Fatalf("Text(%q) = %q is not UTF-8", in, out)
	}
	for _, r := range out {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			t.Fatalf("Text(%q) = %q keeps the control %U", in, out, r)
		}
		if unicode.Is(unicode.Cf, r) && r != zwj {
			t.Fatalf("Text(%q) = %q keeps the format character %U", in, out, r)
		}
		if unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Cs, r) || unicode.Is(unicode.Co, r) {
			t.Fatalf("Text(%q) = %q keeps %U", in, out, r)
		}
	}
	if again := Text(out); again != out {
		t.Fatalf("Text(%q) = %q, and of that %q", in, out, again)
	}
	if stripped := ansi.Strip(out); stripped != out {
		t.Fatalf("Text(%q) = %q, in which another reader sees sequences: %q", in, out, stripped)
	}
	for _, width := range []int{1, 7, 80} {
		l := Line(in, width)
		if w := ansi.StringWidth(l); w > width {
			t.Fatalf("Line(%q, %d) = %q is %d wide", in, width, l, w)
		}
		if strings.ContainsAny(l, "\n\t") {
			t.Fatalf("Line(%q, %d) = %q is not one line", in, width, l)
		}
	}
}

// A text of introducers without ends must not be searched to its end for each.
func TestLongTextOfOpenStrings(t *testing.T) {
	for _, introducer := range []string{"\x1b]", "\u009d", "\x1b]\u0085", "\u0090\n"} {
		if got := strings.TrimSpace(Text(strings.Repeat(introducer, 1<<20))); got != "" {
			t.Errorf("%q leaves %d bytes", introducer, len(got))
		}
	}
}

// A word for sh is read back by it as it was, whatever is in it.
func TestWord(t *testing.T) {
	for s, want := range map[string]string{"": "''", "tests=TestA/one": "tests=TestA/one", "a b": "'a b'", "it's $HOME": `'it'\''s $HOME'`, "é": "'é'", "a\nb": "'a\nb'", "~/x": "'~/x'"} {
		if got := Word(s); got != want {
			t.Errorf("%q becomes %s, want %s", s, got, want)
		}
	}
}
