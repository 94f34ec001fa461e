package lines_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl"
)

// A plan can be begun by another recipe, and with the flags of a run. F-51
func TestCreatePlanWithFlags(t *testing.T) {
	b := newBed(t)
	c := b.connect()
	for params, want := range map[string]pawl.StartRequest{
		`{"description":"Add OAuth"}`: {Goal: "Add OAuth", Recipe: "loopr", Dir: "/shop", Unattended: true},
		`{"description":"Add OAuth","recipe":"mine","flags":{"budget":2.5,"max_iterations":3,"gate":["tests=make"]},"allow_prepare":"` + pawl.HashOf(nil).String() + `"}`: {
			Goal: "Add OAuth", Recipe: "mine", Dir: "/shop", Unattended: true, AllowPrepare: pawl.HashOf(nil),
			Flags: pawl.StartFlags{Budget: new(pawl.Quantity("2.5")), MaxIterations: new(3), Gate: []string{"tests=make"}}},
	} {
		c.ok("loop.create_plan", params)
		if d := cmp.Diff(&want, b.daemon.asked.Load()); d != "" {
			t.Errorf("%s, -want +asked:\n%s", params, d)
		}
	}
	c.refused(1005, "no key for openai/gpt-5", "loop.create_plan", `{"description":"x","flags":{"model":["openai/gpt-5"]}}`)
	c.refused(1002, "you have not allowed the commands", "loop.create_plan", `{"description":"x","flags":{"egress":["example.org:443"]}}`)
	c.refused(-32602, `flags.max_iterations: got "three", want a whole number`, "loop.create_plan", `{"description":"x","flags":{"max_iterations":"three"}}`)
	c.refused(-32602, "flags.gates: there is no such field", "loop.create_plan", `{"description":"x","flags":{"gates":[]}}`)
	l := c.call("loop.create_plan", `{"description":"x","flags":{"budget":true}}`)
	var more struct{ Field, Hint string }
	if l.Error == nil || json.Unmarshal(l.Error.Data, &more) != nil || more.Field != "flags.budget" {
		t.Errorf("the error is %+v", l.Error)
	}
}

// A version that nobody here speaks is refused with those that are known, and so is none; a folder that is
// no repository's has a code of its own. F-51
func TestConnectRefused(t *testing.T) {
	b := newBed(t)
	c := b.dial()
	for _, params := range []string{`{"version":"99","dir":"/shop"}`, `{"version":"","dir":"/shop"}`, `{"dir":"/shop"}`, `{"version":"1.0"}`} {
		l := c.call("connect", params)
		var more struct {
			Field    string
			Versions []string
		}
		if l.Error == nil || l.Error.Code != 1006 || !strings.Contains(l.Error.Message, "is not known: want 1") || json.Unmarshal(l.Error.Data, &more) != nil ||
			more.Field != "version" || !cmp.Equal(more.Versions, []string{"1"}) {
			t.Errorf("%s: %+v %s", params, l.Error, l.Result)
		}
	}
	c.refused(-32602, "version: got 1, want a text", "connect", `{"version":1}`)
	c.refused(1003, "connect first", "loop.list", `{}`)
	c.refused(1004, "/elsewhere is in no repository", "connect", `{"version":"1","dir":"/elsewhere"}`)
	c.refused(1004, `dir "shop"`, "connect", `{"version":"1","dir":"shop"}`)
	c.ok("connect", `{"version":"1","dir":"/shop"}`)
}

// F-77: what a client hands over when it connects, or with a request, reaches the runs that it starts and resumes, and
// nothing else; what is none is refused without being quoted.
func TestHandOver(t *testing.T) {
	b := newBed(t)
	c := b.dial()
	c.refused(-32602, "environ[1]: want NAME=value", "connect", `{"version":"1","dir":"/shop","environ":["A=1","sk-secret"]}`)
	if l := c.call("connect", `{"version":"1","environ":["sk-secret"]}`); l.Error == nil || strings.Contains(l.Error.Message+string(l.Error.Data), "sk-secret") {
		t.Errorf("the error is %+v", l.Error)
	}
	c.refused(-32602, "want at most", "connect", `{"version":"1","environ":["A=`+strings.Repeat("x", 50_000)+`"]}`)
	handed := func(want string) {
		t.Helper()
		if got := strings.Join(*b.daemon.handed.Swap(new([]string)), " "); got != want {
			t.Errorf("handed over %q, want %q", got, want)
		}
	}
	c.ok("connect", `{"version":"1","dir":"/shop","environ":["KEY=1"]}`)
	handed("KEY=1")
	c.ok("loop.list", `{}`)
	handed("")
	c.ok("loop.create_plan", `{"description":"Add OAuth"}`)
	handed("KEY=1")
	c.ok("loop.create_plan", `{"description":"Add OAuth","environ":["KEY=2"]}`)
	handed("KEY=2")
	p := c.plan()
	handed("KEY=1")
	c.ok("loop.pause", `{"id":"`+p.ID+`"}`)
	handed("")
	c.ok("loop.resume", `{"id":"`+p.ID+`","environ":["KEY=3"]}`)
	handed("KEY=3")
	c.ok("loop.pause", `{"id":"`+p.ID+`"}`)
	c.ok("loop.resume", `{"id":"`+p.ID+`"}`)
	handed("KEY=1")
}
