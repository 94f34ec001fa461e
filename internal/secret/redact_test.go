package secret

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func redactor(env map[string]string, names ...string) *Redactor {
	return NewRedactor(func(name string) string { return env[name] }, names...)
}

func TestRedactor(t *testing.T) {
	env := map[string]string{
		"KEY":    "sk-ant-0123456789",
		"LONGER": "sk-ant-0123456789-more",
		"SHORT":  "secret",
		"QUOTED": `pass"word\1<&>`,
		"LINES":  "-----BEGIN KEY-----\nabc\n-----END KEY-----\n",
		"SAME":   "sk-ant-0123456789",
		"LEFT":   "abcdefgh12",
		"RIGHT":  "gh12345678",
		"RUNS":   "aaaaaaaa",
	}
	r := redactor(env, "KEY", "LONGER", "SHORT", "QUOTED", "LINES", "SAME", "LEFT", "RIGHT", "RUNS", "UNSET")
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "an innocent text with a secret", "an innocent text with a secret"},
		{"one", "x-api-key: sk-ant-0123456789!", "x-api-key: [redacted:KEY]!"},
		{"twice", "sk-ant-0123456789 sk-ant-0123456789", "[redacted:KEY] [redacted:KEY]"},
		{"the longer of two wins", "sk-ant-0123456789-more", "[redacted:LONGER]"},
		{"in JSON", `{"a":"pass\"word\\1<&>"}`, `{"a":"[redacted:QUOTED]"}`},
		{"in JSON for HTML", `{"a":"pass\"word\\1\u003c\u0026\u003e"}`, `{"a":"[redacted:QUOTED]"}`},
		{"of several lines", "-----BEGIN KEY-----\nabc\n-----END KEY-----", "[redacted:LINES]"},
		{"overlapping", "<abcdefgh12345678>", "<[redacted:LEFT][redacted:RIGHT]>"},
		{"overlapping itself", "<aaaaaaaaaaa>", "<[redacted:RUNS]>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.Text(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for size := 1; size < 12; size++ {
				if got := inPieces(r, c.in, size); got != c.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

func TestRedactorThatKnowsNothing(t *testing.T) {
	var none *Redactor
	if got := none.Text("a"); got != "a" {
		t.Errorf("got %q", got)
	}
	doc := []byte("abc")
	if got := redactor(nil, "KEY").Bytes(doc); &got[0] != &doc[0] {
		t.Error("a document without secrets was copied")
	}
	if got := inPieces(none, "abc", 1); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// However a document is cut into pieces and encoded, no secret is left in it.
func TestNoSecretIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune(`ab"<`)), 8, 12, -1)
		env := map[string]string{"A": letters.Draw(t, "a"), "B": letters.Draw(t, "b")}
		r := redactor(env, "A", "B")
		var doc strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			doc.WriteString(rapid.OneOf(rapid.Just(env["A"]), rapid.Just(env["B"]), rapid.StringOf(rapid.SampledFrom([]rune(`ab"<`)))).Draw(t, "part"))
		}
		encoded, err := json.Marshal(doc.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{doc.String(), string(encoded)} {
			whole := r.Text(in)
			for _, form := range r.known {
				if strings.Contains(whole, string(form.text)) {
					t.Fatalf("%q of %q still holds %q", whole, in, form.text)
				}
			}
			if got := inPieces(r, in, rapid.IntRange(1, 9).Draw(t, "size")); got != whole {
				t.Fatalf("in pieces %q, whole %q", got, whole)
			}
		}
	})
}

// inPieces shows a text that comes in pieces as it is shown live.
func inPieces(r *Redactor, s string, size int) string {
	var out, held string
	for len(s) > 0 {
		n := min(size, len(s))
		held, s = held+s[:n], s[n:]
		cut := r.Undecided([]byte(held))
		out += r.Text(held[:cut])
		held = held[cut:]
	}
	return out + r.Text(held)
}
