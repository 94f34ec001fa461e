package sandbox

import (
	"bytes"
	"fmt"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pawl"
)

// What is kept never exceeds the limit, is the head and the tail of what came,
// and is valid UTF-8, however the output was cut into pieces.
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(1, 60).Draw(t, "keep")
		pieces := rapid.SliceOf(rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40),
			rapid.Map(rapid.StringN(0, 20, 40), func(s string) []byte { return []byte(s) }),
		)).Draw(t, "pieces")
		c := newCapture(&pawl.Command{Keep: keep})
		for _, p := range pieces {
			stream{c, true}.Write(p)
			if held := len(c.head) + len(c.tail); held > keep/2+2*(keep-keep/2) {
				t.Fatalf("%d bytes are held for a limit of %d", held, keep)
			}
		}
		all := bytes.Join(pieces, nil)
		output, stdout, dropped := c.result()
		if !utf8.Valid(output) {
			t.Fatalf("output %q is not valid UTF-8", output)
		}
		if !bytes.Equal(stdout, all) {
			t.Fatalf("standard output is %q, want %q", stdout, all)
		}
		if len(all) <= keep {
			if want := replaceInvalid(bytes.Clone(all)); dropped != 0 || !bytes.Equal(output, want) {
				t.Fatalf("output %q, dropped %d, want all of %q", output, dropped, want)
			}
			return
		}
		head, tail, ok := bytes.Cut(output, fmt.Appendf(nil, "\n[… %d bytes cut …]\n", dropped))
		if !ok || len(head)+len(tail)+int(dropped) != len(all) || len(head)+len(tail) > keep {
			t.Fatalf("output %q does not account for %d bytes with a limit of %d", output, len(all), keep)
		}
		if len(head)+len(tail) < keep-2*(utf8.UTFMax-1) {
			t.Fatalf("output %q keeps less than a limit of %d allows", output, keep)
		}
		want := append(bytes.Clone(all[:len(head)]), all[len(all)-len(tail):]...)
		if !bytes.Equal(replaceInvalid(append(bytes.Clone(head), tail...)), append(replaceInvalid(want[:len(head)]), replaceInvalid(want[len(head):])...)) {
			t.Fatalf("output %q is not head and tail of %q", output, all)
		}
	})
}
