package git

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pjbgf/sha1cd"
)

// ErrCollision means that content was made to have the SHA-1 hash of other content. Git
// refuses it too.
var ErrCollision = errors.New("the content is part of an attack on SHA-1")

// NewObject returns an object with a hash of SHA-1, which is not stored yet.
func NewObject(kind string, data []byte) (Object, error) {
	h, ok := sha1cd.New().(sha1cd.CollisionResistantHash)
	if !ok {
		return Object{}, errors.New("sha1cd does not look for collisions")
	}
	o := Object{Type: kind, Data: data, Size: int64(len(data))}
	_, _ = h.Write(o.header())
	_, _ = h.Write(data)
	sum, collision := h.CollisionResistantSum(nil)
	if collision {
		return Object{}, ErrCollision
	}
	o.Hash = hex.EncodeToString(sum)
	return o, nil
}

func (o Object) header() []byte { return fmt.Appendf(nil, "%s %d\x00", o.Type, len(o.Data)) }

// Loose returns what the file of a loose object has.
func (o Object) Loose() ([]byte, error) {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestSpeed) // as git does
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{o.header(), o.Data} {
		if _, err := w.Write(part); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// NewTree returns a tree with entries, which are in git's order.
func NewTree(entries []Entry) (Object, error) {
	var b []byte
	for _, e := range entries {
		b = append(append(append(append(b, e.Mode...), ' '), e.Name...), 0)
		var err error
		if b, err = hex.AppendDecode(b, []byte(e.Hash)); err != nil {
			return Object{}, fmt.Errorf("tree entry %s: %w", e.Name, err)
		}
	}
	return NewObject("tree", b)
}

// NewCommit returns a commit that [Repo.WriteCommit] would store. It reports false when git
// may write the name or the address in another way.
func (r Repo) NewCommit(tree string, parents []string, message string, at time.Time) (Object, bool, error) {
	name, email := r.Command.identity()
	if crude(name) || crude(email) || mended(name+email+message) {
		return Object{}, false, nil
	}
	var b strings.Builder
	b.WriteString("tree " + tree + "\n")
	for _, parent := range parents {
		b.WriteString("parent " + parent + "\n")
	}
	for _, role := range []string{"author", "committer"} {
		fmt.Fprintf(&b, "%s %s <%s> %d +0000\n", role, name, email, at.Unix())
	}
	b.WriteString("\n" + message)
	o, err := NewObject("commit", []byte(b.String()))
	return o, true, err
}

// mended reports whether a commit's text has something that git refuses or writes in another
// way: NUL, what is no UTF-8, and the code points that are no characters.
func mended(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r == 0 || r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF
	})
}

// crude reports whether a name or an address has something that git leaves out.
func crude(text string) bool {
	return text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '<' || r == '>' || r == 0x7f || r == '\uFFFD' }) ||
		strings.Trim(text, " .,:;<>\"\\'") != text
}
