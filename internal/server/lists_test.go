package server

import (
	"net/http"
	"strings"
	"testing"

	"pawl/internal/view"
)

// A list has what its records have, each of them whole, and one of nothing is a list. F-51
func TestListsAreWhole(t *testing.T) {
	b := newDaemonBed(t, nil)
	p := b.mustPlan()
	at := "/v1/projects/shop/runs/" + string(p.Run)
	var one view.Record
	b.mustAsk(http.MethodGet, at+"/loops/"+p.Loop, "", &one)
	var all []view.Record
	b.mustAsk(http.MethodGet, at+"/loops", "", &all)
	if len(all) != 1 || string(all[0].Context) != `{"goal":"Add OAuth"}` || string(all[0].Context) != string(one.Context) || all[0].ValidationCommand != one.ValidationCommand {
		t.Errorf("the list is %+v, one is %+v", all, one)
	}
	var done Decided
	b.mustAsk(http.MethodPost, at+"/plans/"+p.Loop+"/iterate", decision(p.About, `,"text":"smaller"`), &done)
	if b.mustAsk(http.MethodGet, at+"/loops", "", &all); !strings.Contains(all[0].Progress, "smaller") {
		t.Errorf("the list is %+v", all)
	}
	doc := b.mustDescribe()
	for path, methods := range doc.Paths {
		for _, o := range methods {
			schema, _ := o.Responses["200"].Content["application/json"].Schema.(map[string]any)
			if schema["items"] != nil && schema["type"] != "array" {
				t.Errorf("%s %s: the list may be %v", o.OperationID, path, schema["type"])
			}
		}
	}
	for _, path := range []string{at + "/signals", "/v1/projects/shop/plans"} {
		if _, answer, _ := b.ask(http.MethodGet, path, ""); !strings.HasPrefix(string(answer), "[") {
			t.Errorf("%s: %s", path, answer)
		}
	}
}
