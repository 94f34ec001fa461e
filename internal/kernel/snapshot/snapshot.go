// Package snapshot encodes a value with everything that it points to, so that the same program
// can go on with it later.
//
// All fields are encoded, those that are not exported as well, in their order and without
// names: only a program with exactly these types can decode the result, and whoever keeps it
// has to know which program that was. Two equal pointers are equal pointers again. A nil
// slice stays nil, and an empty one empty. What is not supported is a map, a channel, a
// function, an interface, and a pointer into the middle of another value, which becomes a
// pointer to a copy.
package snapshot

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"
)

// Special says how values of one type are encoded that are not encoded field by field.
type Special struct {
	of     reflect.Type
	append func(to []byte, v reflect.Value) []byte
	decode func(data []byte, v reflect.Value) error
}

// For returns the special form of a type: add appends it, and decode sets a value from what
// add appended.
func For[T any](add func(to []byte, p *T) []byte, decode func(data []byte, p *T) error) Special {
	return Special{
		of:     reflect.TypeFor[T](),
		append: func(to []byte, v reflect.Value) []byte { return add(to, v.Addr().Interface().(*T)) },
		decode: func(data []byte, v reflect.Value) error { return decode(data, v.Addr().Interface().(*T)) },
	}
}

// Append appends the encoded form of what p points to. Where a pointer is equal to one of
// shared, only that is encoded, and not what it points to. It panics if a type is not supported.
func Append(to []byte, p any, special []Special, shared ...any) []byte {
	e := encoder{to: to, special: special, known: map[pointer]uint64{}}
	for _, s := range append([]any{p}, shared...) {
		e.meet(reflect.ValueOf(s))
	}
	e.value(reflect.ValueOf(p).Elem())
	return e.to
}

// Decode sets what p points to. Special and shared have as many elements as in [Append], in
// the same order. What p points to is of no use after an error.
func Decode(data []byte, p any, special []Special, shared ...any) error {
	d := decoder{data: data, special: special}
	for _, s := range append([]any{p}, shared...) {
		d.known = append(d.known, reflect.ValueOf(s))
	}
	if err := d.value(reflect.ValueOf(p).Elem()); err != nil {
		return err
	}
	if len(d.data) > 0 {
		return fmt.Errorf("%d bytes are left over", len(d.data))
	}
	return nil
}

// pointer is a pointer and its type: a struct and its first field have the same address.
type pointer struct {
	to uintptr
	of reflect.Type
}

// encoder encodes one value. It counts the pointers that it meets.
type encoder struct {
	to      []byte
	special []Special
	known   map[pointer]uint64
}

// meet returns the number of a pointer, and whether it was met before. Numbers begin at 1.
func (e *encoder) meet(v reflect.Value) (n uint64, met bool) {
	p := pointer{v.Pointer(), v.Type()}
	if n, met = e.known[p]; !met {
		n = uint64(len(e.known)) + 1
		e.known[p] = n
	}
	return n, met
}

func (e *encoder) number(n uint64) { e.to = binary.AppendUvarint(e.to, n) }

// value encodes a value, which is addressable.
func (e *encoder) value(v reflect.Value) {
	t := v.Type()
	if s := find(e.special, t); s != nil {
		form := s.append(nil, v)
		e.number(uint64(len(form)))
		e.to = append(e.to, form...)
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		var n uint64
		if v.Bool() {
			n = 1
		}
		e.number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.to = binary.AppendVarint(e.to, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.number(v.Uint())
	case reflect.String:
		e.number(uint64(v.Len()))
		e.to = append(e.to, v.String()...)
	case reflect.Array:
		e.elements(v)
	case reflect.Slice:
		if v.IsNil() {
			e.number(0)
			return
		}
		e.number(uint64(v.Len()) + 1)
		e.elements(v)
	case reflect.Pointer:
		if v.IsNil() {
			e.number(0)
			return
		}
		n, met := e.meet(v)
		if e.number(n); !met {
			e.value(v.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			e.value(fieldOf(v, i))
		}
	default:
		panic(fmt.Sprintf("snapshot: %s is not supported", t))
	}
}

func (e *encoder) elements(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		e.to = append(e.to, v.Bytes()...)
		return
	}
	for i := range v.Len() {
		e.value(v.Index(i))
	}
}

// decoder decodes one value. It has the pointers that it met, by their number less 1.
type decoder struct {
	data    []byte
	special []Special
	known   []reflect.Value
}

func (d *decoder) number() (uint64, error) {
	n, width := binary.Uvarint(d.data)
	if width <= 0 {
		return 0, tooShort{}
	}
	d.data = d.data[width:]
	return n, nil
}

// length reads how many elements follow, each of at least so many bytes.
func (d *decoder) length(each uint64) (int, error) {
	n, err := d.number()
	if err == nil && n*each > uint64(len(d.data)) {
		err = tooShort{}
	}
	return int(n), err //nolint:gosec // it is at most the length of the data
}

func (d *decoder) bytes(n int) ([]byte, error) {
	if n > len(d.data) {
		return nil, tooShort{}
	}
	part := d.data[:n]
	d.data = d.data[n:]
	return part, nil
}

// value decodes into a value, which is addressable.
func (d *decoder) value(v reflect.Value) error {
	t := v.Type()
	if s := find(d.special, t); s != nil {
		n, err := d.length(1)
		if err != nil {
			return err
		}
		form, err := d.bytes(n)
		if err != nil {
			return err
		}
		return s.decode(form, v)
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, width := binary.Varint(d.data)
		if width <= 0 || v.OverflowInt(n) {
			return tooShort{}
		}
		d.data = d.data[width:]
		v.SetInt(n)
		return nil
	case reflect.Bool, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := d.number()
		switch {
		case t.Kind() == reflect.Bool:
			v.SetBool(n != 0)
		case v.OverflowUint(n):
			return tooShort{}
		default:
			v.SetUint(n)
		}
		return err
	case reflect.String:
		n, err := d.length(1)
		if err != nil {
			return err
		}
		text, err := d.bytes(n)
		v.SetString(string(text))
		return err
	case reflect.Array:
		return d.elements(v)
	case reflect.Slice:
		return d.slice(v)
	case reflect.Pointer:
		return d.pointer(v)
	case reflect.Struct:
		for i := range t.NumField() {
			if err := d.value(fieldOf(v, i)); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("%s is not supported", t)
	}
}

func (d *decoder) slice(v reflect.Value) error {
	n, err := d.number()
	if err != nil || n == 0 {
		v.SetZero()
		return err
	}
	if n--; n > uint64(len(d.data)) && v.Type().Elem().Size() > 0 {
		return tooShort{}
	}
	v.Set(reflect.MakeSlice(v.Type(), int(n), int(n))) //nolint:gosec // it is at most the length of the data
	return d.elements(v)
}

func (d *decoder) elements(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		part, err := d.bytes(v.Len())
		copy(v.Bytes(), part)
		return err
	}
	for i := range v.Len() {
		if err := d.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) pointer(v reflect.Value) error {
	n, err := d.number()
	switch met := uint64(len(d.known)); {
	case err != nil || n == 0:
		v.SetZero()
		return err
	case n > met+1:
		return fmt.Errorf("pointer %d of %d", n, met)
	case n <= met:
		p := d.known[n-1]
		if p.Type() != v.Type() {
			return fmt.Errorf("pointer %d is a %s, want a %s", n, p.Type(), v.Type())
		}
		v.Set(p)
		return nil
	}
	p := reflect.New(v.Type().Elem())
	d.known = append(d.known, p)
	v.Set(p)
	return d.value(p.Elem())
}

// fieldOf returns a field that can be read and set although it may not be exported.
func fieldOf(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

func find(special []Special, t reflect.Type) *Special {
	for i := range special {
		if special[i].of == t {
			return &special[i]
		}
	}
	return nil
}

// Time is the special form of a [time.Time]: the seconds and nanoseconds since 1970, without
// its zone, which becomes UTC.
func Time() Special {
	return For(func(to []byte, t *time.Time) []byte {
		return binary.AppendVarint(binary.AppendVarint(to, t.Unix()), int64(t.Nanosecond()))
	}, func(data []byte, t *time.Time) error {
		seconds, n := binary.Varint(data)
		nanoseconds, m := binary.Varint(data[max(n, 0):])
		if n <= 0 || m <= 0 {
			return tooShort{}
		}
		*t = time.Unix(seconds, nanoseconds).UTC()
		return nil
	})
}

// tooShort is the error of data that ends too early, or does not fit the types.
type tooShort struct{}

func (tooShort) Error() string { return "the data is cut short" }
