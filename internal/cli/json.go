package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"pawl"
	"pawl/internal/view"
)

// Encode writes v to Out as an indented JSON document.
func (a *App) Encode(v any) error { return encode(a.Out, v, "  ") }

// EncodeLine writes v to Out as JSON on one line.
func (a *App) EncodeLine(v any) error { return encode(a.Out, v, "") }

// EncodeEvent writes an event with its name as JSON on one line. The run has had
// it applied.
func (a *App) EncodeEvent(e pawl.Event, r *view.Run, blobs view.Blobs) error {
	d, err := view.Document(e, r, blobs)
	if err != nil {
		return err
	}
	return a.EncodeLine(d)
}

func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	if _, err := w.Write(escape(b.Bytes())); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// escape writes the characters of a JSON document that a terminal would obey,
// or a reader would not see, as \u escapes. It means the same document: such
// characters stand within strings only.
func escape(doc []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if r >= 0x7f && !unicode.IsPrint(r) {
			out = append(out, doc[from:i]...)
			if r > 0xffff { // beyond one escape: as its surrogates
				r -= 0x10000
				out = fmt.Appendf(out, `\u%04x`, 0xd800+r>>10)
				r = 0xdc00 + r&0x3ff
			}
			out = fmt.Appendf(out, `\u%04x`, r)
			from = i + n
		}
		i += n
	}
	if out == nil {
		return doc
	}
	return append(out, doc[from:]...)
}
