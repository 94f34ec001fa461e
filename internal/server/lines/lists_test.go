package lines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// record is a loop with what lists once left out.
type record struct {
	ID         string          `json:"id"`
	Progress   string          `json:"progress"`
	Context    json.RawMessage `json:"context"`
	Validation string          `json:"validation_command"`
	Artifacts  []string        `json:"output_artifacts"`
}

// A list has whole records: loop.list, what connect tells and what commands answer are as loop.get. F-51
func TestListsAreWhole(t *testing.T) {
	b := newBed(t)
	c := b.connect()
	p := c.plan()
	c.ok("plan.iterate", `{"id":"`+p.ID+`","feedback":"make it smaller"}`)
	if err := json.Unmarshal(c.event("plan.awaiting_approval"), &p); err != nil {
		t.Fatal(err)
	}
	c.ok("plan.approve", `{"id":"`+p.ID+`"}`)
	var whole struct{ Loop record }
	var list struct{ Loops []record }
	var late struct {
		State struct{ Loops []record }
	}
	for _, ask := range []struct {
		answer json.RawMessage
		into   any
	}{{c.ok("loop.list", `{}`), &list}, {b.dial().ok("connect", `{"version":"1","dir":"/shop"}`), &late}} {
		if err := json.Unmarshal(ask.answer, ask.into); err != nil {
			t.Fatal(err)
		}
	}
	if len(list.Loops) != 4 || len(late.State.Loops) != 4 {
		t.Fatalf("the loops are %+v and %+v", list, late)
	}
	for i, l := range list.Loops {
		if err := json.Unmarshal(c.ok("loop.get", `{"id":"`+l.ID+`"}`), &whole); err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]record{"loop.list": l, "connect": late.State.Loops[i]} {
			if d := cmp.Diff(whole.Loop, got); d != "" {
				t.Errorf("%s, -one +listed:\n%s", what, d)
			}
		}
		if len(l.Context) < 3 || string(l.Context) == "null" || l.Artifacts == nil {
			t.Errorf("the record is %+v", l)
		}
	}
	if !strings.Contains(list.Loops[0].Progress, "make it smaller") || list.Loops[1].Validation == "" {
		t.Errorf("the records are %+v", list.Loops)
	}
}
