package pawl

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fill sets every field of v, nested ones included, to something that is not zero.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(0, rapid.Int64Range(1, 1<<60).Draw(t, "time")).UTC()))
		return
	case Hash:
		v.Set(reflect.ValueOf(HashOf([]byte(rapid.String().Draw(t, "hash")))))
		return
	case JSON:
		v.Set(reflect.ValueOf(JSON(`{"a":1}`)))
		return
	}
	switch v.Kind() {
	case reflect.Interface: // Do
		v.Set(reflect.ValueOf(newDo(Verb(rapid.IntRange(1, len(verbs)-1).Draw(t, "verb")))))
		fill(t, v.Elem().Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type() == reflect.TypeFor[Effect]() && (name == "ID" || name == "Loop" || name == "Transcript") {
				continue // not part of the event: they follow from its number and from the state
			}
			if v.Type() == reflect.TypeFor[Place]() && name == "Run" {
				continue
			}
			if v.Type() == reflect.TypeFor[TasksRead]() && name == "Entries" {
				continue // they are in events of their own
			}
			if v.Type() == reflect.TypeFor[Examined]() && (name == "Found" || name == "Remarks") {
				continue // the same
			}
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(1, 3).Draw(t, "len")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(rapid.StringN(1, 20, -1).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(rapid.IntRange(1, 4).Draw(t, "byte")))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(1, 1<<40).Draw(t, "int"))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64Range(1, 1<<63).Draw(t, "uint"))
	default:
		t.Fatalf("no way to fill a %s", v.Type())
	}
}

// Every field of every body survives both encodings: a field that is added to
// a struct and forgotten in its codec fails here.
func TestEveryFieldSurvives(t *testing.T) {
	for kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				body := newBody(kind)
				fill(t, reflect.ValueOf(body).Elem())
				e := Event{Run: "001-x", Seq: 7, Loop: 3, Time: time.Unix(12, 34).UTC(), Body: body}
				if r, ok := body.(*EffectRequested); ok {
					r.Effect.ID, r.Effect.Loop = e.Seq, e.Loop
				}

				stored, err := DecodeEvent(e.Run, e.Seq, AppendEvent(nil, e))
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(e, stored); d != "" {
					t.Fatalf("stored form: %s", d)
				}

				text, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				var read Event
				if err := json.Unmarshal(text, &read); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if d := cmp.Diff(e, read); d != "" {
					t.Fatalf("JSON form: %s", d)
				}
			})
		})
	}
}

func TestZeroBodiesSurvive(t *testing.T) {
	for kind := range kinds {
		if kind == KindEffectRequested {
			continue // never without its effect
		}
		e := Event{Run: "r", Seq: 1, Time: time.Unix(0, 0).UTC(), Body: newBody(kind)}
		got, err := DecodeEvent("r", 1, AppendEvent(nil, e))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if d := cmp.Diff(e, got); d != "" {
			t.Fatalf("%s: %s", kind, d)
		}
	}
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	data := AppendEvent(nil, Event{Time: time.Unix(0, 0), Body: &RunPaused{Reason: "lunch"}})
	c := coder{buf: data}
	c.writeKey(90, wireVarint)
	c.buf = append(c.buf, 2)
	c.writeKey(91, wireBytes)
	c.buf = append(c.buf, 3, 'n', 'e', 'w')
	got, err := DecodeEvent("r", 1, c.buf)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&RunPaused{Reason: "lunch"}, got.Body); d != "" {
		t.Fatal(d)
	}
}

// Whatever is in the store, decoding answers with an event or with an error that says it is damaged.
func FuzzDecodeEvent(f *testing.F) {
	f.Add(AppendEvent(nil, Event{Time: time.Unix(1, 0), Body: &RunEnded{Outcome: OutcomeComplete}}))
	f.Add(AppendEvent(nil, Event{Time: time.Unix(1, 0), Body: &EffectRequested{Effect: Effect{Do: &Wait{For: 1}}}}))
	f.Add([]byte{eventVersion + 1, 1})
	f.Add([]byte{eventVersion, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := DecodeEvent("r", 1, data); err != nil && CodeOf(err) != CodeDamaged {
			t.Fatalf("%v is %s", err, CodeOf(err))
		}
	})
}

func BenchmarkDecodeEvent(b *testing.B) {
	data := AppendEvent(nil, Event{Time: time.Unix(1, 0), Loop: 1, Body: &ModelReplied{
		Effect: 12, Message: HashOf([]byte("m")), Text: HashOf([]byte("t")), Bytes: 900, Stop: StopToolUse, Model: "m",
		Usage: Usage{Input: 1000, Output: 200}, Calls: []ToolUse{{Tool: "write", Args: HashOf([]byte("a")), Class: CrashProbe}},
	}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeEvent("r", 1, data); err != nil {
			b.Fatal(err)
		}
	}
}

var wordBoundary = regexp.MustCompile(`([a-z])([A-Z])`)

// F-63: each kind of event is named after its body's type in snake case, so that the test
// notices a rename. L-B22
func TestKindsAreNamedAfterTheirBodies(t *testing.T) {
	for k := range Kind(255) {
		body := newBody(k)
		if body == nil {
			if kinds[k].name != "" {
				t.Errorf("kind %d is named %s but has no body", uint8(k), k)
			}
			continue
		}
		typ := reflect.TypeOf(body).Elem().Name()
		if want := strings.ToLower(wordBoundary.ReplaceAllString(typ, "${1}_$2")); k.String() != want {
			t.Errorf("kind %d of %s is named %s, want %s", uint8(k), typ, k, want)
		}
		if body.EventKind() != k || kindNamed(k.String()) != k {
			t.Errorf("%s has kind %s, and its name belongs to kind %s, want %d", typ, body.EventKind(), kindNamed(k.String()), uint8(k))
		}
	}
}
