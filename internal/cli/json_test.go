package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What is printed as JSON means the same text and holds nothing that a terminal
// obeys or a reader does not see.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "document")
		want["odd"] = []string{"\x1b[31m\u009b2J\u202e\U000e0041\x7f\u00a0", "é 漢 😀 \u2028 <a>&\\u0041"}
		var out bytes.Buffer
		if err := (&App{Out: &out}).Encode(want); err != nil {
			t.Fatal(err)
		}
		for _, r := range out.String() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q is in %q", r, out.String())
			}
		}
		var got map[string][]string
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := json.Marshal(want); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("%s became %s", first, again)
		}
	})
}
