package kernel

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"pawl"
	"pawl/internal/kernel/flow"
)

// copyOf returns a copy of a value and of everything it reaches through types of this package,
// so that a test can continue from the middle of a run in more than one way without folding
// the log again. Equal pointers stay equal, and none may point into a struct. Values of other
// packages' types are shared: events, effects and recipes never change once they exist.
// Functions are shared too, and the caller must bind them to the copy.
func copyOf[T any](v *T) *T {
	c := copier{}
	return c.pointer(reflect.ValueOf(v)).Interface().(*T)
}

// copier maps each pointer that was copied to its copy.
type copier map[unsafe.Pointer]reflect.Value

func (c copier) pointer(p reflect.Value) reflect.Value {
	if known, ok := c[p.UnsafePointer()]; ok {
		return known
	}
	out := reflect.New(p.Type().Elem())
	c[p.UnsafePointer()] = out
	c.copy(out.Elem(), p.Elem())
	return out
}

// copy makes dst, which must be settable, a copy of src, which must be addressable.
func (c copier) copy(dst, src reflect.Value) {
	t := src.Type()
	switch t.Kind() {
	case reflect.Struct:
		dst.Set(src)
		for i := range t.NumField() {
			if f := t.Field(i).Type; !isShared(f) {
				c.copy(fieldAt(dst, i), fieldAt(src, i))
			}
		}
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(c.pointer(src))
		}
	case reflect.Slice:
		if t == reflect.TypeFor[[]pawl.Event]() {
			dst.Set(src.Slice3(0, src.Len(), src.Len())) // a log is only ever appended to
			return
		}
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(t, src.Len(), src.Len()))
		c.elements(dst, src)
	case reflect.Array:
		c.elements(dst, src)
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(t, src.Len()))
		from := reflect.New(t.Elem()).Elem()
		for it := src.MapRange(); it.Next(); {
			to := it.Value()
			if !isShared(t.Elem()) {
				from.Set(to)
				to = reflect.New(t.Elem()).Elem()
				c.copy(to, from)
			}
			dst.SetMapIndex(it.Key(), to)
		}
	}
}

func (c copier) elements(dst, src reflect.Value) {
	reflect.Copy(dst, src)
	if !isShared(src.Type().Elem()) {
		for i := range src.Len() {
			c.copy(dst.Index(i), src.Index(i))
		}
	}
}

// fieldAt returns a field that can be read and set even if it is not exported.
func fieldAt(v reflect.Value, i int) reflect.Value {
	f := v.Field(i)
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// isShared reports whether a copy and its original share values of this type.
func isShared(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return isShared(t.Elem())
	case reflect.Pointer:
		return t.Elem() == reflect.TypeFor[flow.Flow]() || isForeign(t.Elem())
	case reflect.Struct:
		return isForeign(t)
	}
	return true
}

// isForeign reports whether the type is declared in another package.
func isForeign(t reflect.Type) bool {
	pkg := t.PkgPath()
	return pkg != "" && !strings.HasPrefix(pkg, "pawl/internal/kernel")
}

// A clone of a world equals a fold of the same log, and what happens in a clone does not
// change its original.
func TestClone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of    *simulation
		seed  uint64 // of the chance
		books func(*chance)
	}{
		{&plain, 1, func(*chance) {}},
		{&trees, 1, (*chance).grow},
		{&judged, 1<<32 + 1, (*chance).sow},
		{&cascaded, 1, (*chance).plant},
	} {
		full := row.of.seeded(t, 1)
		cloned, alone := calm(full, row.seed, row.books), calm(full, row.seed, row.books)
		for n := range cloned.w.replay(full.log) {
			if n < 3 || !isTried(n, 0, 1+len(full.log)/40) {
				continue
			}
			c := cloned.clone()
			c.w.checkWhole()
			c.w.inherit()
			c.w.crash(0)
			for range 20 {
				c.step()
			}
		}
		for range alone.w.replay(full.log) {
			continue
		}
		for _, c := range []*chance{cloned, alone} {
			c.w.happens, c.w.watch, c.w.look = nil, nil, nil
			c.w.state.Started, c.w.state.Recipe, c.w.state.Settings, c.w.state.flows = nil, nil, nil, nil
		}
		if !equal(cloned, alone) {
			t.Errorf("%s=1: the clones have changed their original", row.of.env)
		}
	}
}
