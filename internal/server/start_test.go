package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pawl"
)

const shopRuns = "/v1/projects/shop/runs"

// A request for a run has a recipe's name, a goal and flags. What is wrong with one is told with a code
// of its own, the field, its value and what would be right; nothing is started then. F-51
func TestStartOverHTTP(t *testing.T) {
	b := newDaemonBed(t, nil)
	for _, test := range []struct {
		path, body  string
		status      int
		code        pawl.Code
		field, says string
	}{
		{shopRuns, `{"goal":"x","recipe":"nope"}`, 404, pawl.CodeNotFound, "recipe", "there is no recipe nope"},
		{shopRuns, `{"goal":"x","flags":{"budget":"abc"}}`, 400, pawl.CodeInvalid, "flags.budget", `want dollars, got "abc"`},
		{shopRuns, `{"goal":"x","flags":{"max_iterations":"three"}}`, 400, pawl.CodeInvalid, "flags.max_iterations", `flags.max_iterations: got "three", want a whole number`},
		{shopRuns, `{"goal":"x","flags":{"gates":["tests=x"]}}`, 400, pawl.CodeInvalid, "flags.gates", "flags.gates: there is no such field"},
		{shopRuns, `{"goal":"x","settings":{"models":[]}}`, 400, pawl.CodeInvalid, "settings", "settings: there is no such field"},
		{shopRuns, `{"goal":"x","recipe":{"name":"mine"}}`, 400, pawl.CodeInvalid, "recipe", `recipe: got {"name":"mine"}, want a text`},
		{shopRuns, `{"goal":" "}`, 400, pawl.CodeInvalid, "goal", "the goal is empty"},
		{shopRuns, `{"goal":"x"`, 400, pawl.CodeInvalid, "", "the request"},
		{shopRuns, `{"goal":"x","flags":{"model":["openai/gpt-5"]}}`, 503, pawl.CodeKey, "", "there is no key for openai/gpt-5"},
		{shopRuns, `{"goal":"x","dir":"/nowhere"}`, 422, pawl.CodeFolder, "dir", "there is no folder /nowhere"},
		{"/v1/projects", `{"dir":"/nowhere"}`, 422, pawl.CodeFolder, "dir", "/nowhere is in no repository"},
		{"/v1/projects", `{"dir":"shop"}`, 422, pawl.CodeFolder, "dir", `dir "shop": want the absolute path`},
		{"/v1/projects", `{}`, 422, pawl.CodeFolder, "dir", `dir ""`},
		{"/v1/projects", `{"dir":7}`, 400, pawl.CodeInvalid, "dir", "dir: got 7, want a text"},
	} {
		paths := []string{test.path}
		if test.path == shopRuns {
			paths = append(paths, shopRuns+"/preview")
		}
		for _, path := range paths {
			status, answer, head := b.ask(http.MethodPost, path, test.body)
			var p Problem
			if err := json.Unmarshal(answer, &p); err != nil || head.Get("Content-Type") != problemType {
				t.Errorf("POST %s %s: %v in %s", path, test.body, err, answer)
				continue
			}
			if status != test.status || p.Status != status || p.Code != test.code || p.Field != test.field || !strings.Contains(p.Detail, test.says) {
				t.Errorf("POST %s %s: status %d, want %d: %+v", path, test.body, status, test.status, p)
			}
		}
	}
	var preview pawl.StartPreview
	b.mustAsk(http.MethodPost, shopRuns+"/preview", `{"goal":"Add OAuth"}`, &preview)
	if preview.Goal != "Add OAuth" || preview.Recipe.Name != "loopr" || preview.NeedsConsent {
		t.Errorf("the preview is %+v", preview)
	}
	var runs []pawl.RunInfo
	if b.mustAsk(http.MethodGet, shopRuns, "", &runs); len(runs) != 0 {
		t.Errorf("there are runs: %+v", runs)
	}
	var info pawl.RunInfo
	if b.mustAsk(http.MethodPost, shopRuns, `{"goal":"Add OAuth"}`, &info); info.Recipe != "loopr" || info.Title != "Add OAuth" {
		t.Errorf("the run is %+v", info)
	}
}
