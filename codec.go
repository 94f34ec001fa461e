package pawl

import (
	"encoding/binary"
	"fmt"
	"time"
)

// The log's encoding. Every body names its fields once, in [coder] calls that
// both write and read, so the two cannot drift apart; there is no reflection.
// A field is a key (tag and wire kind) and a value; a zero field is left out,
// and a field the reader does not know is passed over, so fields can be added
// without a new version. Tags in one body rise and are never used again.

// eventVersion is the version of the encoding written now.
const eventVersion = 1

const (
	wireVarint = 0 // a zigzag varint
	wireBytes  = 1 // a length and that many bytes
)

type coder struct {
	buf     []byte // written so far, or what is left to read
	reading bool
	key     uint64 // the key at the head of buf when reading; 0 = not looked at yet
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.buf = nil
}

func (c *coder) uvarint() uint64 {
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail("cut short in a number")
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

func (c *coder) chunk() []byte {
	n := c.uvarint()
	if n > uint64(len(c.buf)) {
		c.fail("cut short: a field of %d bytes with %d left", n, len(c.buf))
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

// at reports whether the next field to read has this tag, passing over unknown
// lower ones. Writing, it is never called.
func (c *coder) at(tag, wire uint64) bool {
	for c.err == nil {
		if c.key == 0 {
			if len(c.buf) == 0 {
				return false
			}
			c.key = c.uvarint() + 1
		}
		key := c.key - 1
		switch t := key >> 1; {
		case t > tag:
			return false
		case t == tag && key&1 == wire:
			c.key = 0
			return true
		case t == tag:
			c.fail("field %d has the wrong wire kind", tag)
			return false
		}
		c.key = 0
		if key&1 == wireBytes {
			c.chunk()
		} else {
			c.uvarint()
		}
	}
	return false
}

func (c *coder) writeKey(tag, wire uint64) { c.buf = binary.AppendUvarint(c.buf, tag<<1|wire) }

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

type integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func num[T integer](c *coder, tag uint64, v *T) {
	if c.reading {
		if c.at(tag, wireVarint) {
			*v = T(unzigzag(c.uvarint()))
		}
		return
	}
	if *v != 0 {
		c.writeKey(tag, wireVarint)
		c.buf = binary.AppendUvarint(c.buf, zigzag(int64(*v)))
	}
}

func flag(c *coder, tag uint64, v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	num(c, tag, &n)
	if c.reading { // what is written may be read elsewhere
		*v = n != 0
	}
}

func str[T ~string](c *coder, tag uint64, v *T) {
	if c.reading {
		if c.at(tag, wireBytes) {
			*v = T(c.chunk())
		}
		return
	}
	if *v != "" {
		c.writeKey(tag, wireBytes)
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		c.buf = append(c.buf, *v...)
	}
}

func raw[T ~[]byte](c *coder, tag uint64, v *T) {
	if c.reading {
		if c.at(tag, wireBytes) {
			*v = append(T(nil), c.chunk()...)
		}
		return
	}
	if len(*v) > 0 {
		c.writeKey(tag, wireBytes)
		c.buf = binary.AppendUvarint(c.buf, uint64(len(*v)))
		c.buf = append(c.buf, *v...)
	}
}

func sum(c *coder, tag uint64, v *Hash) {
	if c.reading {
		if c.at(tag, wireBytes) {
			if b := c.chunk(); len(b) == len(v) {
				copy(v[:], b)
			} else {
				c.fail("field %d: a hash of %d bytes", tag, len(b))
			}
		}
		return
	}
	if !v.IsZero() {
		c.writeKey(tag, wireBytes)
		c.buf = append(c.buf, byte(len(v)))
		c.buf = append(c.buf, v[:]...)
	}
}

func instant(c *coder, tag uint64, v *time.Time) {
	var n int64
	if !v.IsZero() {
		n = v.UnixNano()
	}
	num(c, tag, &n)
	if c.reading && n != 0 {
		*v = time.Unix(0, n).UTC()
	}
}

// sub reads or writes one nested group of fields.
func sub(c *coder, tag uint64, fields func(*coder)) {
	if c.reading {
		if c.at(tag, wireBytes) {
			in := coder{buf: c.chunk(), reading: true}
			fields(&in)
			if in.err != nil {
				c.fail("field %d: %w", tag, in.err)
			}
		}
		return
	}
	var out coder
	fields(&out)
	if len(out.buf) > 0 {
		c.writeKey(tag, wireBytes)
		c.buf = binary.AppendUvarint(c.buf, uint64(len(out.buf)))
		c.buf = append(c.buf, out.buf...)
	}
}

// list reads or writes a list, one field per item; item must write something
// even for a zero value, so that the count survives: it gets a coder of its own.
func list[T any](c *coder, tag uint64, v *[]T, item func(*coder, *T)) {
	if c.reading {
		for c.at(tag, wireBytes) {
			in := coder{buf: c.chunk(), reading: true}
			var t T
			item(&in, &t)
			if in.err != nil {
				c.fail("field %d: %w", tag, in.err)
				return
			}
			*v = append(*v, t)
		}
		return
	}
	for i := range *v {
		var out coder
		item(&out, &(*v)[i])
		c.writeKey(tag, wireBytes)
		c.buf = binary.AppendUvarint(c.buf, uint64(len(out.buf)))
		c.buf = append(c.buf, out.buf...)
	}
}

// ints reads or writes a list of small numbers as one field.
func ints[T integer](c *coder, tag uint64, v *[]T) {
	sub(c, tag, func(c *coder) {
		if !c.reading {
			for _, n := range *v {
				c.buf = binary.AppendUvarint(c.buf, zigzag(int64(n)))
			}
			return
		}
		for len(c.buf) > 0 { // nothing is left after an error
			*v = append(*v, T(unzigzag(c.uvarint())))
		}
	})
}

// sums reads or writes a list of hashes.
func sums(c *coder, tag uint64, v *[]Hash) {
	list(c, tag, v, func(c *coder, h *Hash) { sum(c, 1, h) })
}

func words[T ~string](c *coder, tag uint64, v *[]T) {
	list(c, tag, v, func(c *coder, s *T) { str(c, 1, s) })
}

// AppendEvent appends the event's stored form, without its run and number.
// It is the inverse of [DecodeEvent].
func AppendEvent(buf []byte, e Event) []byte {
	c := coder{buf: append(buf, eventVersion, byte(e.Body.EventKind()))}
	c.buf = binary.AppendUvarint(c.buf, uint64(e.Loop))
	c.buf = binary.AppendUvarint(c.buf, zigzag(e.Time.UnixNano()))
	e.Body.fields(&c)
	return c.buf
}

// DecodeEvent reads what [AppendEvent] wrote. It fails with [CodeDamaged] for
// anything it cannot read whole, an event of a newer version included.
func DecodeEvent(run RunID, seq Seq, data []byte) (Event, error) {
	damaged := func(format string, args ...any) (Event, error) {
		return Event{}, Errorf(CodeDamaged, "event %d of run %s: %w", seq, run, fmt.Errorf(format, args...))
	}
	if len(data) < 2 {
		return damaged("cut short")
	}
	if data[0] != eventVersion {
		return damaged("encoding version %d; this pawl reads version %d", data[0], eventVersion)
	}
	body := newBody(Kind(data[1]))
	if body == nil {
		return damaged("unknown kind %d; a newer pawl may have written it", data[1])
	}
	c := coder{buf: data[2:], reading: true}
	loop := c.uvarint()
	at := unzigzag(c.uvarint())
	body.fields(&c)
	if c.err != nil {
		return damaged("%s: %w", body.EventKind(), c.err)
	}
	if r, ok := body.(*EffectRequested); ok {
		r.Effect.ID, r.Effect.Loop = seq, LoopRef(loop)
	}
	return Event{Run: run, Seq: seq, Loop: LoopRef(loop), Time: time.Unix(0, at).UTC(), Body: body}, nil
}
