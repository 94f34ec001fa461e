package plain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// shortestSecret is the least length of a value worth looking for. A shorter
// one would be found in innocent text, and protects nothing.
const shortestSecret = 8

// Redactor writes [redacted:NAME] for the values of secrets. A nil Redactor
// knows none. It may be used by many goroutines.
type Redactor struct {
	secrets []secret
}

type secret struct {
	value []byte
	name  string
}

// NewRedactor knows the values that lookup gives for these names of environment
// variables, each as it is and as it looks inside a JSON document. Values
// shorter than eight bytes are left out.
func NewRedactor(lookup func(name string) string, names ...string) *Redactor {
	r := &Redactor{}
	for _, name := range names {
		value := strings.TrimSpace(lookup(name))
		if len(value) < shortestSecret {
			continue
		}
		for _, form := range forms(value) {
			known := func(s secret) bool { return bytes.Equal(s.value, form) }
			if !slices.ContainsFunc(r.secrets, known) {
				r.secrets = append(r.secrets, secret{form, name})
			}
		}
	}
	return r
}

// And is a Redactor that knows what both know.
func (r *Redactor) And(other *Redactor) *Redactor {
	both := &Redactor{}
	for _, from := range []*Redactor{r, other} {
		if from == nil {
			continue
		}
		for _, s := range from.secrets {
			if !slices.ContainsFunc(both.secrets, func(t secret) bool { return bytes.Equal(t.value, s.value) }) {
				both.secrets = append(both.secrets, s)
			}
		}
	}
	return both
}

// forms are the ways a value is written: as it is, and in JSON with and without
// the escapes for HTML.
func forms(value string) [][]byte {
	out := [][]byte{[]byte(value)}
	for _, html := range []bool{false, true} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) != nil {
			continue // a string always encodes
		}
		quoted := bytes.TrimSpace(b.Bytes())
		out = append(out, quoted[1:len(quoted)-1])
	}
	return out
}

// Bytes returns the document without the secrets; the document itself when it
// holds none. It does not change what it is given.
func (r *Redactor) Bytes(doc []byte) []byte {
	found := r.find(doc)
	if len(found) == 0 {
		return doc
	}
	out := make([]byte, 0, len(doc))
	at := 0
	for _, f := range found {
		out = append(out, doc[at:f.from]...)
		for _, name := range f.names {
			out = append(out, "[redacted:"+name+"]"...)
		}
		at = f.to
	}
	return append(out, doc[at:]...)
}

// Text is [Redactor.Bytes] for a string.
func (r *Redactor) Text(s string) string {
	if r == nil || len(r.secrets) == 0 {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// found is a stretch of a document that holds one secret, or several that overlap.
type found struct {
	from, to int
	names    []string
}

// find returns the stretches in order; no two of them touch the same byte.
func (r *Redactor) find(doc []byte) []found {
	if r == nil {
		return nil
	}
	var all []found
	for _, s := range r.secrets {
		for at := 0; ; {
			i := bytes.Index(doc[at:], s.value)
			if i < 0 {
				break
			}
			all = append(all, found{at + i, at + i + len(s.value), []string{s.name}})
			at += i + 1
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	var out []found
	for _, f := range all {
		if n := len(out); n > 0 && f.from < out[n-1].to {
			last := &out[n-1]
			if f.to > last.to && !slices.Contains(last.names, f.names[0]) {
				last.names = append(last.names, f.names[0])
			}
			last.to = max(last.to, f.to)
			continue
		}
		out = append(out, f)
	}
	return out
}

// Writer returns a writer that redacts what passes through it to w, also a
// secret that arrives in pieces: the end of a piece is held back for as long as
// it may be the beginning of a secret. Close writes what is held back and does
// not close w. It is for one goroutine.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

type writer struct {
	r    *Redactor
	w    io.Writer
	held []byte
}

func (w *writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	cut := w.r.undecided(w.held)
	if err := w.flush(cut); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error { return w.flush(len(w.held)) }

func (w *writer) flush(n int) error {
	if n == 0 {
		return nil
	}
	_, err := w.w.Write(w.r.Bytes(w.held[:n]))
	w.held = append([]byte(nil), w.held[n:]...)
	return err
}

// undecided is where the end of the document begins that may turn out to be a
// secret when more comes. It never lies inside a secret that is there already.
func (r *Redactor) undecided(doc []byte) int {
	cut := len(doc)
	if r == nil {
		return cut
	}
	for _, s := range r.secrets {
		for n := min(len(s.value)-1, len(doc)); n > len(doc)-cut; n-- {
			if bytes.HasSuffix(doc, s.value[:n]) {
				cut = len(doc) - n
				break
			}
		}
	}
	for _, f := range slices.Backward(r.find(doc)) {
		if f.from < cut && cut < f.to {
			cut = f.from
		}
	}
	return cut
}
