package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/tool"
)

// F-68
func TestPrune(t *testing.T) {
	set := tool.New()
	for args, want := range map[string]struct{ args, surplus string }{
		`{"path":"x"}`:                                          {`{"path":"x"}`, ""},
		`{"notes":"<a>","path":"x"}`:                            {`{"path":"x"}`, "notes"},
		`{"path":"<x>","notes":1,"effort":{}}`:                  {`{"path":"<x>"}`, "effort notes"},
		`{"path":"x","lines":12345678901234567890,"notes":1}`:   {`{"lines":12345678901234567890,"path":"x"}`, "notes"},
		`{"list":[{"id":"1"},{"id":"2","why":"y"}],"path":"x"}`: {`{"list":[{"id":"1"},{"id":"2"}],"path":"x"}`, "list[1].why"},
		`{"open":{"y":1,"z":2},"path":"x"}`:                     {`{"open":{"y":1,"z":2},"path":"x"}`, ""}, // it takes others
		`{"path":"x","mroe":1}`:                                 {`{"path":"x","mroe":1}`, ""},             // it may be more
		`{"more":1,"path":"x","mroe":1}`:                        {`{"more":1,"path":"x"}`, "mroe"},
		`{"list":7,"notes":1,"path":[]}`:                        {`{"list":7,"path":[]}`, "notes"}, // what is wrong stays wrong
		`{"letters":["A","B","A","A"],"path":"x"}`:              {`{"letters":["A","B"],"path":"x"}`, "letters[2] letters[3]"},
		`{"letters":[],"path":"x","y":[]}`:                      {`{"letters":[],"path":"x"}`, "y"},
		`[{"notes":1}]`:                                         {`[{"notes":1}]`, ""},
		`{"notes":`:                                             {`{"notes":`, ""},
		`{"notes":1} {}`:                                        {`{"notes":1} {}`, ""},
	} {
		got, surplus, _ := set.Prune(checked, json.RawMessage(args))
		if string(got) != want.args || strings.Join(surplus, " ") != want.surplus {
			t.Errorf("%s: got %s without %v, want %s without %s", args, got, surplus, want.args, want.surplus)
		}
	}
	large := json.RawMessage(`{"notes": "` + strings.Repeat("x", 5<<20) + `"}`)
	if got, surplus, _ := set.Prune(checked, large); len(got) != len(large) || surplus != nil {
		t.Errorf("%d bytes became %d, without %v", len(large), len(got), surplus)
	}
	broken := pawl.ToolSpec{Name: "broken", Schema: json.RawMessage(`{"type": 5}`)}
	if got, surplus, _ := set.Prune(broken, json.RawMessage(`{"a":1}`)); string(got) != `{"a":1}` || surplus != nil {
		t.Errorf("got %s without %v", got, surplus)
	}
}
