package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the descriptions of the API anew")

// The descriptions that are checked in are those of what is served.
func TestOpenAPIFile(t *testing.T) {
	for file, daemon := range map[string]bool{"openapi/daemon.json": true, "../../docs/openapi.json": true, "openapi/project.json": false} {
		got, err := describe(daemon)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is served: go test ./internal/server -run OpenAPIFile -update", file)
		}
	}
}

// document is the description as a client reads it.
type document struct {
	Paths map[string]map[string]struct {
		OperationID string   `json:"operationId"`
		Tags        []string `json:"tags"`
		Parameters  []struct{ Name, In string }
		RequestBody *struct{} `json:"requestBody"`
		Responses   map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema any }
		}
	}
	schemas *jsonschema.Compiler
}

// mustDescribe reads the description that is served. Answers may have no fields but
// those described, although later versions may have more.
func (b *daemonBed) mustDescribe() *document {
	b.t.Helper()
	var doc document
	b.mustAsk(http.MethodGet, "/v1/openapi.json", "", &doc)
	_, text, _ := b.ask(http.MethodGet, "/v1/openapi.json", "")
	all, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range all.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		if s := s.(map[string]any); s["properties"] != nil && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
	}
	doc.schemas = jsonschema.NewCompiler()
	doc.schemas.DefaultDraft(jsonschema.Draft2020)
	doc.schemas.AssertFormat()
	if err := doc.schemas.AddResource("api.json", all); err != nil {
		b.t.Fatal(err)
	}
	return &doc
}

// check holds an answer against what its operation says of it.
func (d *document) check(t *testing.T, path, method string, status int, media string, body []byte) {
	t.Helper()
	o := d.Paths[path][method]
	at := fmt.Sprint(status)
	if _, ok := o.Responses[at]; !ok {
		if status < 400 {
			t.Errorf("%s %s: status %d is not described", method, path, status)
			return
		}
		at = "default"
	}
	r := o.Responses[at]
	pointer := "#/paths/" + escape(path) + "/" + method + "/responses/" + at
	content := r.Content
	if r.Ref != "" {
		pointer, content = r.Ref, nil
		if media != problemType {
			t.Errorf("%s %s: status %d with %s", method, path, status, media)
		}
	} else if _, ok := content[media]; !ok && len(content) > 0 {
		t.Errorf("%s %s: %s is not described", method, path, media)
	}
	if r.Ref == "" && (content[media].Schema == nil) {
		return
	}
	schema, err := d.schemas.Compile("api.json" + pointer + "/content/" + escape(media) + "/schema")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values(t, media, body) {
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s %s: status %d: %v\n%s", method, path, status, err, body)
		}
	}
}

func escape(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1") }

// values are the JSON values of an answer: its events as one list, its lines one by one.
func values(t *testing.T, media string, body []byte) (out []any) {
	t.Helper()
	read := func(text []byte) any {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%v in %q", err, text)
		}
		return v
	}
	switch media {
	case "text/event-stream":
		events := []any{}
		for _, block := range strings.Split(string(body), "\n\n") {
			e := map[string]any{}
			for line := range strings.SplitSeq(block, "\n") {
				switch name, value, _ := strings.Cut(line, ": "); name {
				case "event", "id":
					e[name] = value
				case "data":
					e[name] = read([]byte(value))
				}
			}
			if len(e) > 0 {
				events = append(events, e)
			}
		}
		return append(out, events)
	case "application/x-ndjson":
		for line := range bytes.Lines(body) {
			out = append(out, read(line))
		}
		return out
	}
	return append(out, read(body))
}

// Every operation that is described answers as described, with success and with
// errors, and none is served that is not.
func TestDescribedOperations(t *testing.T) {
	b, address, token := mustTCP(t)
	doc := b.mustDescribe()
	p := b.mustPlan()
	second, third, fourth := b.mustPlan(), b.mustPlan(), b.mustPlan()
	start, err := json.Marshal(startRequest("Something else"))
	if err != nil {
		t.Fatal(err)
	}
	var link Link
	b.mustAsk(http.MethodPost, "/v1/session", "{}", &link)
	_, code, _ := strings.Cut(link.URL, "?")
	// What each operation is asked, besides what is wrong on purpose: the path's
	// parameters, a query and a body.
	type question struct {
		query, body string
		run         Plan
	}
	ask := map[string]question{
		"startRun": {body: string(start)}, "previewRun": {body: string(start)}, "steerRun": {body: `{"verb":"pause"}`, run: fourth}, "forkRun": {body: `{"at":5}`, run: p},
		"recall": {body: `{"text":"login"}`}, "pruneCache": {body: `{"size":20}`}, "deleteRun": {body: `{"now":true,"by":"ada"}`}, "collectGarbage": {body: `{}`}, "sendSignal": {body: `{"signal":"info","to":"type:plan","text":"hm"}`},
		"approvePlan": {body: decision(p.About, ""), run: p}, "iteratePlan": {body: decision(p.About, `,"text":"smaller"`), run: second},
		"rejectPlan":  {body: decision(p.About, `,"text":"no"`), run: third},
		"openProject": {body: `{"dir":"/shop"}`}, "handover": {body: `{}`}, "linkSession": {body: `{}`}, "beginSession": {query: "?" + code},
	}
	asked := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, o := range doc.Paths[path] {
			asked[o.OperationID] = true
			q := ask[o.OperationID]
			if q.run.Run == "" {
				q.run = p
			}
			fill := func(project, run, loop, hash string) string {
				return strings.NewReplacer("{project}", project, "{run}", run, "{loop}", loop, "{hash}", hash).Replace(path) + q.query
			}
			whole := fill("shop", string(q.run.Run), q.run.Loop, p.About.String())
			send := func(target string, status int, body string, headers ...string) {
				t.Helper()
				got, media, answer := b.answer(address, token, o.Tags[0], method, target, body, headers...)
				if status != 0 && got != status {
					t.Errorf("%s %s: status %d, want %d: %s", method, target, got, status, answer)
				}
				doc.check(t, path, method, got, media, answer)
			}
			send(whole, 421, q.body, "Host: evil.test")
			send(whole, 403, q.body, "Sec-Fetch-Site: cross-site")
			if strings.Contains(path, "{project}") {
				send(fill("nobody", string(q.run.Run), q.run.Loop, p.About.String()), 404, q.body)
			}
			if strings.Contains(path, "{run}") && !strings.Contains(path, "{hash}") {
				send(fill("shop", "nobody", q.run.Loop, p.About.String()), 404, q.body)
			}
			if strings.Contains(path, "{loop}") {
				send(fill("shop", string(q.run.Run), "nobody", p.About.String()), 404, q.body)
			}
			if o.RequestBody != nil {
				send(whole, 400, `{"surprise":1}`)
				send(whole, 413, strings.Repeat(" ", MaxRequest+1))
			}
			want := 200
			switch o.OperationID {
			case "beginSession":
				want = 303
			case "forkRun": // it is not at rest
				want = 409
			}
			send(whole, want, q.body)
		}
		for _, method := range []string{"get", "post", "put", "delete", "patch"} {
			if _, ok := doc.Paths[path][method]; !ok {
				target := strings.NewReplacer("{project}", "shop", "{run}", string(p.Run), "{loop}", p.Loop, "{hash}", p.About.String()).Replace(path)
				if status, _, _ := b.ask(strings.ToUpper(method), target, ""); status != http.StatusMethodNotAllowed && path != sessionPath {
					t.Errorf("%s %s is served and not described: %d", method, path, status)
				}
			}
		}
	}
	for _, o := range operations() {
		if !asked[o.id] {
			t.Errorf("%s is served and not described", o.id)
		}
		if _, ok := doc.Paths[o.address(true)][strings.ToLower(o.method)]; !ok {
			t.Errorf("%s %s is served and not described", o.method, o.address(true))
		}
	}
}

// answer sends a request where its operation is served. Of a stream that goes on it
// reads what comes first.
func (b *daemonBed) answer(address, token, tag, method, target, body string, headers ...string) (status int, media string, answer []byte) {
	b.t.Helper()
	network, at, host := "unix", b.socket, "pawl"
	if tag == "browser" {
		network, at, host = "tcp", address, address
		headers = append(headers, "Authorization: Bearer "+token)
	}
	conn := mustDial(b.t, network, at)
	defer conn.Close()
	text := strings.ToUpper(method) + " " + target + " HTTP/1.1\r\n"
	if len(headers) == 0 || !strings.HasPrefix(headers[0], "Host: ") {
		text += "Host: " + host + "\r\n"
	}
	if method == "post" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	go func() { _, _ = io.WriteString(conn, text+strings.Join(append(headers, ""), "\r\n")+"\r\n"+body) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	media = resp.Header.Get("Content-Type")
	if media != "text/event-stream" {
		if answer, err = io.ReadAll(resp.Body); err != nil {
			b.t.Fatal(err)
		}
		return resp.StatusCode, media, answer
	}
	if strings.HasSuffix(target, "/events") { // something has to happen
		go b.startAnother()
	}
	in := bufio.NewReader(resp.Body)
	for events := 0; events < 8; {
		line, err := in.ReadString('\n')
		if err != nil {
			b.t.Fatalf("%s: %v after %s", target, err, answer)
		}
		answer = append(answer, line...)
		if strings.HasPrefix(line, "data: ") {
			events++
		}
	}
	_ = conn.Close() // closing the body would read the stream to its end
	return resp.StatusCode, media, append(answer, '\n')
}

func (b *daemonBed) startAnother() {
	if _, err := b.e.Start(b.t.Context(), startRequest("Another")); err == nil {
		runs, _ := b.e.Runs(b.t.Context())
		b.d.Feed.Notify("shop", runs[len(runs)-1].ID)
	}
}

// A process that has one project describes what it serves itself.
func TestDescriptionOfAProject(t *testing.T) {
	w := request(&fake{}, "GET", "/v1/openapi.json", "")
	var doc document
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if _, ok := doc.Paths["/v1/runs/{run}/watch"]; !ok || doc.Paths["/v1/projects"] != nil {
		t.Errorf("it describes %v", slices.Sorted(maps.Keys(doc.Paths)))
	}
}
