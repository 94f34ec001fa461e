package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl"
	"pawl/internal/message"
	"pawl/internal/view"
)

// describe makes the description of what a daemon serves, or of what a process serves that
// has one project, of the list of operations and of the Go types they take and give.
func describe(daemon bool) ([]byte, error) {
	d := &description{huma.NewMapRegistry("#/components/schemas/", schemaName)}
	d.types.RegisterTypeAlias(reflect.TypeFor[pawl.Event](), reflect.TypeFor[eventForm]())
	d.types.RegisterTypeAlias(reflect.TypeFor[pawl.JSON](), reflect.TypeFor[any]())
	d.types.RegisterTypeAlias(reflect.TypeFor[pawl.Quantity](), reflect.TypeFor[quantityForm]())
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Pawl", Version: "1",
			Description: "Runs of loops of agents: start, steer, watch. See docs/api.md."},
		Components: &huma.Components{Schemas: d.types, Responses: map[string]*huma.Response{
			"Problem": {Description: "An error", Content: map[string]*huma.MediaType{problemType: {Schema: d.types.Schema(reflect.TypeFor[Problem](), true, "")}}},
		}, SecuritySchemes: map[string]*huma.SecurityScheme{
			"token":   {Type: "http", Scheme: "bearer", Description: "Over TCP. The socket needs none: the kernel says who connects."},
			"session": {Type: "apiKey", In: "cookie", Name: sessionCookie, Description: "Over TCP, for browsers."},
		}},
		Security: []map[string][]string{{}, {"token": {}}, {"session": {}}},
		Tags: []*huma.Tag{{Name: "runs"}, {Name: "loops"}, {Name: "cache"}, {Name: "garbage"}, {Name: "daemon"},
			{Name: "socket", Description: "Over the socket alone."}, {Name: "browser", Description: "Over TCP alone."}},
	}
	for _, o := range operations() {
		if daemon || o.served(faceProject) {
			doc.AddOperation(d.operation(o, o.address(daemon)))
		}
	}
	d.open(doc)
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// schemaName is what a type is called: those of messages may have names that others
// have too.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	switch {
	case strings.HasSuffix(t.PkgPath(), "internal/message"):
		return "Message" + name
	case t == reflect.TypeFor[view.Link](): // the other one is to a page
		return "Why"
	}
	return name
}

// eventForm is the JSON form of a [pawl.Event].
type eventForm struct {
	Run  pawl.RunID     `json:"run"`
	Seq  pawl.Seq       `json:"seq"`
	Loop pawl.LoopRef   `json:"loop,omitempty" doc:"the loop's ordinal in the run; missing = the run itself"`
	Time time.Time      `json:"time"`
	Kind string         `json:"kind" doc:"which kind of event it is, and so what its body has"`
	Body map[string]any `json:"body"`
}

// quantityForm is the JSON form of a [pawl.Quantity].
type quantityForm struct{}

// Schema implements [huma.SchemaProvider].
func (quantityForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeNumber}}}
}

type description struct{ types huma.Registry }

// pathParameters are the parameters in a path.
func pathParameters(path string) (out []*huma.Param) {
	texts := map[string]string{"project": "the project's id", "run": "the run's id", "hash": "the blob's hash, hexadecimal",
		"loop": "the loop's id, its task, or the end of its id"}
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			out = append(out, parameter("path", name, texts[name]))
		}
	}
	return out
}

func (d *description) operation(o operation, path string) *huma.Operation {
	out := &huma.Operation{Method: o.method, Path: path, OperationID: o.id, Summary: o.summary, Tags: []string{tag(o)}, Parameters: pathParameters(path),
		Responses: map[string]*huma.Response{"default": problemResponse("An error")}}
	params := o.params
	if o.changes {
		params = append(params, param{"header", keyHeader, fmt.Sprintf(
			"a key of your choice, %d bytes at most: the same request with the same key is answered as before for %s, and nothing is done twice", MaxKey, KeyTime)})
	}
	for _, p := range params {
		out.Parameters = append(out.Parameters, parameter(p.in, p.name, p.text))
	}
	codes := append([]int{http.StatusForbidden, http.StatusMisdirectedRequest}, o.codes...)
	if o.out != nil || o.media != "" {
		out.Responses["200"] = d.success(o)
	} else {
		out.Responses["303"] = &huma.Response{Description: "The session has begun: go to the first page"}
		codes = append(codes, http.StatusUnauthorized)
	}
	if o.in != nil {
		out.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json": {Schema: d.types.Schema(o.in, true, o.id+"Request")}}}
		codes = append(codes, http.StatusBadRequest, http.StatusRequestEntityTooLarge)
	}
	if strings.Contains(path, "{") {
		codes = append(codes, http.StatusNotFound)
	}
	if o.changes {
		codes = append(codes, http.StatusUnprocessableEntity)
	}
	for _, c := range codes {
		out.Responses[strconv.Itoa(c)] = problemResponse(http.StatusText(c))
	}
	return out
}

func tag(o operation) string {
	switch o.of {
	case ofDaemon:
		return "daemon"
	case ofSocket:
		return "socket"
	case ofBrowser:
		return "browser"
	}
	for _, name := range []string{"cache", "garbage"} {
		if strings.HasPrefix(o.path, "/"+name) {
			return name
		}
	}
	if strings.Contains(o.path, "loops") || strings.Contains(o.path, "plans") || strings.Contains(o.path, "signals") {
		return "loops"
	}
	return "runs"
}

func parameter(in, name, text string) *huma.Param {
	return &huma.Param{In: in, Name: name, Description: text, Required: in == "path", Schema: &huma.Schema{Type: huma.TypeString}}
}

func problemResponse(text string) *huma.Response {
	return &huma.Response{Ref: "#/components/responses/Problem", Description: text}
}

// named puts a schema under a name of its own.
func (d *description) named(name string, s *huma.Schema) *huma.Schema {
	d.types.Map()[name] = s
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// open lets what is answered have more fields than are described: later versions may
// add some. What is asked may not: a field nobody knows is refused.
func (d *description) open(doc *huma.OpenAPI) {
	asked := map[string]bool{}
	var visit func(s *huma.Schema)
	visit = func(s *huma.Schema) {
		if s == nil {
			return
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok && !asked[name] {
			asked[name] = true
			visit(d.types.Map()[name])
		}
		for _, p := range s.Properties {
			visit(p)
		}
		visit(s.Items)
		if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
			visit(more)
		}
	}
	for _, path := range doc.Paths {
		if path.Post != nil && path.Post.RequestBody != nil {
			visit(path.Post.RequestBody.Content["application/json"].Schema)
		}
	}
	for name, s := range d.types.Map() {
		if closed, ok := s.AdditionalProperties.(bool); ok && !closed && !asked[name] {
			s.AdditionalProperties = nil
		}
	}
}

func (d *description) success(o operation) *huma.Response {
	out := &huma.Response{Description: "OK"}
	var s *huma.Schema
	switch {
	case o.media == "":
		o.media, s = "application/json", d.types.Schema(o.out, true, o.id+"Answer")
		s.Nullable = false // a list of nothing is empty: see listed
	case o.media == "application/octet-stream":
	case o.id == "describe":
		s = &huma.Schema{Type: huma.TypeObject}
	case o.id == "readTranscript":
		s = &huma.Schema{Description: "One a line.", OneOf: []*huma.Schema{d.types.Schema(reflect.TypeFor[view.TranscriptEntry](), true, "")}}
	case o.media == "application/x-ndjson":
		s = &huma.Schema{Description: "One a line. A last line that is an error says why there are no more.", OneOf: []*huma.Schema{
			d.types.Schema(reflect.TypeFor[pawl.Event](), true, ""), d.types.Schema(reflect.TypeFor[failure](), true, "")}}
	case strings.HasSuffix(o.path, "/watch"):
		s = d.named("Watch", d.stream(map[string]*huma.Schema{
			"event": d.types.Schema(reflect.TypeFor[pawl.Event](), true, ""), "live": d.types.Schema(reflect.TypeFor[pawl.Live](), true, ""),
			"end": {Type: huma.TypeObject}, "error": d.types.Schema(reflect.TypeFor[Problem](), true, "")}))
	default:
		s = d.named("Messages", d.wide())
	}
	out.Content = map[string]*huma.MediaType{o.media: {Schema: s}}
	return out
}

// stream is a stream of server-sent events, by their names.
func (d *description) stream(events map[string]*huma.Schema) *huma.Schema {
	var forms []*huma.Schema
	for name, data := range events {
		forms = append(forms, &huma.Schema{Type: huma.TypeObject, Title: name, Required: []string{"event", "data"}, Properties: map[string]*huma.Schema{
			"event": {Type: huma.TypeString, Enum: []any{name}}, "id": {Type: huma.TypeString}, "data": data}})
	}
	slices.SortFunc(forms, func(a, b *huma.Schema) int { return cmp.Compare(a.Title, b.Title) })
	return &huma.Schema{Type: huma.TypeArray, Title: "Server-sent events", Description: "The fields of each, with data read as JSON.",
		Items: &huma.Schema{OneOf: forms}}
}

// wide is the wide stream.
func (d *description) wide() *huma.Schema {
	events := map[string]*huma.Schema{"stream.error": d.types.Schema(reflect.TypeFor[Problem](), true, "")}
	for name, data := range messageTypes() {
		events[name] = &huma.Schema{Type: huma.TypeObject, Required: []string{"project", "run", "seq", "data"}, Properties: map[string]*huma.Schema{
			"project": {Type: huma.TypeString}, "run": {Type: huma.TypeString}, "seq": {Type: huma.TypeInteger},
			"data": d.types.Schema(data, true, "")}}
	}
	return d.stream(events)
}

// messageTypes are the names of messages and what they tell.
func messageTypes() map[string]reflect.Type {
	record, status, iteration := reflect.TypeFor[view.Record](), reflect.TypeFor[message.Status](), reflect.TypeFor[message.Iteration]()
	work, signal := reflect.TypeFor[message.Work](), reflect.TypeFor[view.SignalRecord]()
	return map[string]reflect.Type{
		message.LoopCreated: record, message.LoopUpdated: record,
		message.LoopStarted: status, message.LoopStatusChange: status, message.LoopComplete: status,
		message.LoopFailed: status, message.LoopInvalidated: status,
		message.LoopIteration: iteration, message.LoopIterationEnd: iteration,
		message.LoopArtifact:  reflect.TypeFor[message.Artifact](),
		message.LoopRecovered: reflect.TypeFor[message.Recovered](),
		message.PlanAwaiting:  reflect.TypeFor[message.Plan](),
		message.PlanApproved:  reflect.TypeFor[message.Approved](),
		message.PlanRejected:  reflect.TypeFor[message.Rejected](),
		message.ToolStarted:   work, message.ToolCompleted: work, message.ValidationStarted: work, message.ValidationDone: work,
		message.MergeStarted: work, message.MergeCompleted: work, message.MergeConflict: work,
		message.SignalSent: signal, message.SignalAcked: signal,
		message.MetricsUpdate: reflect.TypeFor[message.Metrics](),
		message.RunUpdated:    reflect.TypeFor[message.RunLine](),
		message.Error:         reflect.TypeFor[message.Problem](),
	}
}
