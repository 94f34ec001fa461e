package plan

import (
	"slices"
	"testing"

	"pawl"
)

// The user's wish comes before all else, and a failure before what may wait.
func TestCallsForAnother(t *testing.T) {
	failed := func(p *Plan) { p.Fail(1, false, false, false) }
	found := func(p *Plan) { p.Found = 2 }
	// One passed under the version before, and one under this one: with that, two have. L-63
	passed := func(p *Plan) {
		p.Pass(0, 0, true, true)
		p.Stay()
		p.Pass(2, 0, true, true)
	}
	for _, row := range []struct {
		name    string
		changes []func(*Plan)
		on      string
		every   int
		waits   bool // nothing stands in the way of what may wait
		want    pawl.ReplanCause
		reason  string
	}{
		{"nothing", nil, "failure", 3, true, "", ""},
		{"the user", []func(*Plan){failed, found, passed, func(p *Plan) { p.AskFor("I want it") }}, "failure", 2, true, pawl.ReplanUser, "I want it"},
		{"the user, without a word", []func(*Plan){func(p *Plan) { p.AskFor("") }}, "", 0, false, pawl.ReplanUser, "the user asked for it"},
		{"the user, of a settled plan", []func(*Plan){(*Plan).Settle, func(p *Plan) { p.AskFor("I want it") }}, "", 0, false, pawl.ReplanUser, "I want it"},
		{"a failure", []func(*Plan){found, passed, failed}, "failure", 2, false, pawl.ReplanFailure, "task b failed (loop 8)"},
		{"a failure behind one that is excused", []func(*Plan){func(p *Plan) { p.Fail(0, true, true, false) }, failed}, "failure", 0, false, pawl.ReplanFailure, "task b failed (loop 8)"},
		{"a failure that is excused", []func(*Plan){func(p *Plan) { p.Fail(1, true, true, false) }}, "failure", 0, false, "", ""},
		{"a failure that calls for nothing", []func(*Plan){failed}, "discovery", 0, true, "", ""},
		{"a failure of a settled plan", []func(*Plan){failed, (*Plan).Settle}, "failure", 0, true, "", ""},
		{"a critical failure", []func(*Plan){failed, func(p *Plan) { p.Fail(3, false, false, false) }}, "failure", 0, true, pawl.ReplanFailure, "task b failed (loop 8)"},
		{"a discovery", []func(*Plan){passed, found}, "discovery", 2, true, pawl.ReplanDiscovery, "2 discoveries since the plan was made"},
		{"one discovery", []func(*Plan){func(p *Plan) { p.Found = 1 }}, "discovery", 0, true, pawl.ReplanDiscovery, "1 discovery since the plan was made"}, // L-66
		{"a discovery while a person is asked", []func(*Plan){found}, "discovery", 0, false, "", ""},
		{"a discovery that calls for nothing", []func(*Plan){found}, "failure", 0, true, "", ""},
		{"as many passed", []func(*Plan){passed}, "", 2, true, pawl.ReplanSchedule, "2 of 4 tasks have passed"},
		{"as many passed, and none since", []func(*Plan){passed, (*Plan).Stay}, "", 2, true, "", ""}, // L-B08
		{"fewer passed", []func(*Plan){passed}, "", 3, true, "", ""},
		{"passed, while a person is asked", []func(*Plan){passed}, "", 2, false, "", ""},
		{"passed, and never", []func(*Plan){passed}, "", 0, true, "", ""},
		{"passed, and nothing is pending", []func(*Plan){passed, func(p *Plan) {
			p.Set(1, pawl.TaskRunning)
			p.Set(3, pawl.TaskRunning)
		}}, "", 2, true, "", ""},
	} {
		list := entries("a", "b", "c", "d")
		list[3].Critical = true
		p := planOf(t, "list", list)
		p.Edit(1).Loop = 8
		for _, change := range row.changes {
			change(p)
		}
		cause, reason := p.CallsForAnother(&pawl.Replan{On: []string{row.on}}, row.every, row.waits, func(ref pawl.LoopRef) string {
			if ref != 8 {
				t.Errorf("%s: the reason of loop %d is asked", row.name, ref)
			}
			return "loop 8"
		})
		if cause != row.want || reason != row.reason {
			t.Errorf("%s: %q, %q", row.name, cause, reason)
		}
	}
}

// What called for a new plan is forgotten when it is made, called off or refused.
func TestCallAndStay(t *testing.T) {
	replan := &pawl.Replan{On: []string{"failure", "discovery"}}
	calls := func(p *Plan) pawl.ReplanCause {
		cause, _ := p.CallsForAnother(replan, 1, true, func(pawl.LoopRef) string { return "" })
		return cause
	}
	p := planOf(t, "list", entries("a", "b", "c"))
	p.AskFor("why")
	p.Call(pawl.ReplanUser, "why")
	if p.Calling != pawl.ReplanUser || p.Why != "why" || calls(p) != "" {
		t.Errorf("it is called for: %+v", p)
	}
	if p.CallOff(); p.Calling != "" || p.Why != "" {
		t.Errorf("it is called off: %+v", p)
	}
	p.AskFor("why")
	p.Found, p.Since = 1, 1
	p.Fail(0, false, false, false)
	p.Call(pawl.ReplanFailure, "why")
	if p.Stay(); p.Calling != "" || calls(p) != "" || len(p.Dead) != 1 {
		t.Errorf("it stays, and %q calls for another: %+v", calls(p), p)
	}
	if p.Fail(1, false, false, false); calls(p) != pawl.ReplanFailure {
		t.Error("a failure after that calls for nothing")
	}
	p.AskFor("why")
	p.Found, p.Since = 1, 1
	if p.Settle(); calls(p) != "" || !p.Settled {
		t.Errorf("it is settled, and %q calls for another", calls(p))
	}
}

// Why tasks failed for good is kept for the next plan, the latest first to stay, until they pass. L-67 F-39
func TestErrors(t *testing.T) {
	said := func(from ...string) (out []pawl.Feedback) {
		for _, f := range from {
			out = append(out, pawl.Feedback{From: f, Verdict: pawl.VerdictFail})
		}
		return out
	}
	names := func(p *Plan) (out []string) {
		for _, f := range p.Errors {
			out = append(out, f.Task+"/"+f.From)
		}
		return out
	}
	entries := []pawl.TaskEntry{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	p := planOf(t, "list", entries)
	p.NoteErrors(0, said("tests", "lint", "types", "review"))
	p.NoteErrors(1, said("tests"))
	before := p.Clone()
	p.NoteErrors(0, said("steps"))
	p.NoteErrors(2, said("1", "2", "3"))
	if got, want := names(before), []string{"a/tests", "a/lint", "a/types", "b/tests"}; !slices.Equal(got, want) {
		t.Errorf("the copy has %v, want %v", got, want)
	}
	if got, want := names(p), []string{"b/tests", "a/steps", "c/1", "c/2", "c/3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p.NoteErrors(1, said("x", "y", "z"))
	if got, want := names(p), []string{"c/1", "c/2", "c/3", "b/x", "b/y", "b/z"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	n := p.Successor(planOf(t, "list", entries[1:]).Graph, pawl.Hash{})
	n.Pass(1, 0, true, true)
	if got, want := names(n), []string{"b/x", "b/y", "b/z"}; !slices.Equal(got, want) {
		t.Errorf("after the task c has passed under the next version: %v, want %v", got, want)
	}
}

// A task remains if it does not depend on one that failed for good, directly or not. F-39
func TestRemains(t *testing.T) {
	entries := []pawl.TaskEntry{{ID: "a"}, {ID: "b", DependsOn: []string{"a"}}, {ID: "c", DependsOn: []string{"b"}}, {ID: "d"}}
	for _, test := range []struct {
		void, passed, want bool
	}{{false, true, false}, {false, false, true}, {true, true, true}} {
		p := planOf(t, "list", entries)
		p.Fail(0, false, false, test.void)
		if test.passed {
			p.Pass(3, 0, true, true)
		}
		if got := p.Remains(); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}
