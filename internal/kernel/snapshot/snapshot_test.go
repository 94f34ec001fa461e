package snapshot_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pawl/internal/kernel/snapshot"
)

type color uint8

type node struct {
	Name  string
	next  *node
	small int8
	large int64
	count uint32
	on    bool
	color color
	hash  [4]byte
	words [2]string
	bytes []byte
	list  []leaf
	at    time.Time
	kind  *leaf
}

type leaf struct {
	n    int
	back *node
}

func whole(kinds []leaf) *node {
	n := &node{
		Name: "a", small: -128, large: 1 << 62, count: 1<<32 - 1, on: true, color: 7, hash: [4]byte{0, 0xff}, words: [2]string{"x", ""},
		bytes: []byte{0, 1}, list: []leaf{{n: -1}, {n: 2}}, at: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), kind: &kinds[1],
	}
	n.next = &node{Name: "b", bytes: []byte{}, list: []leaf{}, next: n} // a circle
	n.list[1].back = n.next
	return n
}

func encode(n *node, kinds []leaf) []byte {
	return snapshot.Append(nil, n, []snapshot.Special{snapshot.Time()}, &kinds[0], &kinds[1])
}

func decode(data []byte, kinds []leaf) (*node, error) {
	n := &node{}
	return n, snapshot.Decode(data, n, []snapshot.Special{snapshot.Time()}, &kinds[0], &kinds[1])
}

// A value comes back with what it points to, and equal pointers are equal again.
func TestRoundTrip(t *testing.T) {
	kinds, others := make([]leaf, 2), make([]leaf, 2)
	n := whole(kinds)
	got, err := decode(encode(n, kinds), others)
	if err != nil {
		t.Fatal(err)
	}
	if got.next.next != got || got.list[1].back != got.next {
		t.Errorf("the pointers are not equal any more")
	}
	if got.kind != &others[1] {
		t.Errorf("a shared pointer was not replaced by the other's")
	}
	if got.next.bytes == nil || got.next.list == nil || got.next.kind != nil {
		t.Errorf("empty and nil were mixed up: %+v", got.next)
	}
	got.kind = n.kind
	if !reflect.DeepEqual(n, got) {
		t.Errorf("got %+v, want %+v", got, n)
	}
}

// What was there before is gone.
func TestDecodeOver(t *testing.T) {
	kinds := make([]leaf, 2)
	n, over := &node{Name: "alone"}, whole(kinds)
	if err := snapshot.Decode(encode(n, kinds), over, []snapshot.Special{snapshot.Time()}, &kinds[0], &kinds[1]); err != nil {
		t.Fatal(err)
	}
	if over.at = n.at; !reflect.DeepEqual(n, over) {
		t.Errorf("got %+v, want %+v", over, n)
	}
}

// The same value has the same encoding.
func TestStable(t *testing.T) {
	kinds := make([]leaf, 2)
	if a, b := encode(whole(kinds), kinds), encode(whole(kinds), kinds); string(a) != string(b) {
		t.Error("two encodings of one value differ")
	}
}

// Data that is cut short or damaged is an error, or another value, and never ends the program.
func TestDamaged(t *testing.T) {
	kinds := make([]leaf, 2)
	data := encode(whole(kinds), kinds)
	for n := range data {
		if _, err := decode(data[:n], kinds); err == nil {
			t.Errorf("%d bytes of %d are taken for the whole", n, len(data))
		}
		for _, flip := range []byte{1, 0x80, 0xff} {
			damaged := append([]byte(nil), data...)
			damaged[n] ^= flip
			_, _ = decode(damaged, kinds)
		}
	}
	if _, err := decode(append(data, 0), kinds); err == nil || err.Error() != "1 bytes are left over" {
		t.Errorf("a byte too many: %v", err)
	}
}

// The address of a struct is that of its first field too. They are two pointers nevertheless.
func TestSameAddress(t *testing.T) {
	type inner struct{ n int }
	type outer struct{ inner inner }
	type pair struct {
		whole *outer
		part  *inner
	}
	o := &outer{inner{5}}
	p, got := pair{o, &o.inner}, pair{}
	if err := snapshot.Decode(snapshot.Append(nil, &p, nil), &got, nil); err != nil || got.whole.inner.n != 5 || got.part.n != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A type that is not supported is found when a value is encoded, and not when it is needed.
func TestUnsupported(t *testing.T) {
	for _, p := range []any{&map[string]int{}, new(func()), new(any), new(float64)} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), "is not supported") {
					t.Errorf("%T: %v", p, r)
				}
			}()
			snapshot.Append(nil, p, nil)
		}()
		if err := snapshot.Decode([]byte{1, 1, 1}, p, nil); err == nil || !strings.Contains(err.Error(), "is not supported") {
			t.Errorf("%T: %v", p, err)
		}
	}
}

// A number that does not fit its field is no number of this type.
func TestNumbersThatDoNotFit(t *testing.T) {
	type wide struct {
		n int64
		u uint64
	}
	type narrow struct {
		n int16
		u uint16
	}
	for _, row := range []struct {
		in   wide
		fits bool
	}{{wide{-1 << 15, 1<<16 - 1}, true}, {wide{1 << 15, 0}, false}, {wide{0, 1 << 16}, false}} {
		var out narrow
		err := snapshot.Decode(snapshot.Append(nil, &row.in, nil), &out, nil)
		if (err == nil) != row.fits || row.fits && (int64(out.n) != row.in.n || uint64(out.u) != row.in.u) {
			t.Errorf("%+v becomes %+v, %v", row.in, out, err)
		}
	}
}
