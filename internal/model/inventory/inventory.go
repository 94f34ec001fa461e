// Package inventory asks the servers of models which models they have. The answer
// shows whether a server is there, is the right one and accepts the key. Nothing that
// is asked costs anything.
package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/model/wire"
	"pawl/internal/pattern"
)

// Limits on an answer.
const (
	DefaultLimit = 5 * time.Second // how long a server has for it
	maxList      = 16 << 20        // bytes
)

// Server is a server to ask.
type Server struct {
	// BaseURL is its address with its version, but without one if it speaks
	// Anthropic's protocol.
	BaseURL   string
	Anthropic bool
	// Key is sent if there is one. It comes from the variable KeyEnv, or from where KeyFrom
	// says, in words. KeyPath is a path below the address that only a valid key can get;
	// empty where the list of models is one.
	Key, KeyEnv, KeyFrom, KeyPath string
	// BaseURLKey is the setting that says where the server is.
	BaseURLKey string
	// Local reports a server that its user runs and whose list is complete.
	Local bool
	// Start is the command that starts it and Fetch the one that gives it a model; NAME
	// in them stands for the model. Both may be empty.
	Start, Fetch string
	// HTTPClient sends the requests; nil means one with its own connection pool.
	HTTPClient *http.Client
	// Limit is how long the server has for each answer; zero means DefaultLimit.
	Limit time.Duration
}

// Models returns the names of the server's models. Every error is a *[pawl.ModelError] or the
// context's own.
func (s Server) Models(ctx context.Context) ([]string, error) {
	if s.KeyPath != "" {
		if _, err := s.get(ctx, s.KeyPath); err != nil {
			return nil, err
		}
	}
	path := "models"
	if s.Anthropic {
		path = "v1/models?limit=1000" // it gives them in pages
	}
	doc, err := s.get(ctx, path)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	var list []struct {
		ID string `json:"id"`
	}
	err = json.Unmarshal(doc, &fields)
	data, ok := fields["data"] // null where there is no model yet
	if err != nil || !ok || json.Unmarshal(data, &list) != nil {
		return nil, noList("something")
	}
	var names []string
	for _, m := range list {
		if m.ID != "" {
			names = append(names, wire.Clean(m.ID, s.Key))
		}
	}
	return names, nil
}

func noList(what string) error {
	return &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: "it answers with " + what + " that is not a list of models"}
}

// get returns the JSON document at a path below the server's address.
func (s Server) get(ctx context.Context, path string) ([]byte, error) {
	if err := wire.CheckBaseURL(s.BaseURL); err != nil {
		return nil, err
	}
	limit := s.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	// One clock for the whole answer: what comes in drops comes too slowly.
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	watched, exchange := wire.Open(timed, 0, s.Key)
	defer exchange.Close()
	doc, err := s.fetch(watched, exchange, path)
	switch {
	case err == nil:
		return doc, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil:
		return nil, exchange.Error(pawl.ModelTimeout, fmt.Sprintf("it gives no answer within %s", pawl.Span(limit)))
	}
	return nil, exchange.Err(err)
}

func (s Server) fetch(ctx context.Context, exchange *wire.Exchange, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.BaseURL, "/")+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Anthropic:
		req.Header.Set("X-Api-Key", s.Key)
		req.Header.Set("Anthropic-Version", "2023-06-01")
	case s.Key != "":
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	client := wire.HTTPClient(s.HTTPClient)
	if s.HTTPClient == nil {
		defer client.CloseIdleConnections()
	}
	res, err := exchange.Send(req, client.Do)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil && strings.HasPrefix(kind, "text/html") {
		return nil, noList(kind)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxList))
}

// Severity says what a problem means for model calls.
type Severity int

// The severities.
const (
	Unclear Severity = iota // they may work: the server answers and has not said
	Passing                 // they do not work now
	Broken                  // they will not work before somebody mends it
)

// Problem is what is wrong with a server.
type Problem struct {
	Severity Severity
	Text     string // what happened
	Fix      string // what to do about it; may be empty
	Refused  bool   // the server refuses the key
}

// Check asks the server and looks for models by their names. found says what it is
// like when nothing is wrong.
func (s Server) Check(ctx context.Context, names []string) (found string, problem *Problem) {
	for _, problem := range s.CheckEach(ctx, names) {
		if problem != nil {
			return "", problem
		}
	}
	key := "accepts the key"
	if s.Key == "" {
		key = "needs no key"
	}
	return fmt.Sprintf("%s answers, %s and has %s", s.host(), key, sentence(names, len(names))), nil
}

// CheckEach asks the server once and returns what is wrong with each of the models, in the order of their
// names; nil = nothing.
func (s Server) CheckEach(ctx context.Context, names []string) []*Problem {
	problems := make([]*Problem, len(names))
	models, err := s.Models(ctx)
	for i, name := range names {
		switch {
		case err != nil:
			problems[i] = s.problem(err, name)
		case !Has(models, name):
			text, fix := s.lacks(models, name)
			severity := Unclear // it may know models that it does not list
			if s.Local {
				severity = Broken
			}
			problems[i] = &Problem{Severity: severity, Text: text, Fix: fix}
		}
	}
	return problems
}

// problem returns what an error of Models means for calls to a model.
func (s Server) problem(err error, name string) *Problem {
	e, ok := errors.AsType[*pawl.ModelError](err)
	if !ok {
		return &Problem{Severity: Passing, Text: err.Error()}
	}
	host := s.host()
	look := "is the address right? " + s.BaseURLKey + " says " + s.BaseURL
	said := e.Message
	if e.Status != 0 {
		said = fmt.Sprintf("HTTP %d: %s", e.Status, e.Message)
	}
	revive := look
	if start := s.start(cmp.Or(name, "NAME")); start != "" {
		revive = start + ", or say where it is: " + s.BaseURLKey
	}
	switch {
	case e.Kind == pawl.ModelNoServer:
		return &Problem{Severity: Broken, Text: e.Message, Fix: revive}
	case e.Unsent:
		return &Problem{Severity: Broken, Text: host + " cannot be reached: " + e.Message, Fix: revive}
	case e.Kind == pawl.ModelAuth && s.Key == "":
		return &Problem{Severity: Broken, Text: fmt.Sprintf("%s wants a key and is given none (%s)", host, said), Fix: s.newKey()}
	case e.Kind == pawl.ModelAuth:
		return &Problem{Severity: Broken, Text: fmt.Sprintf("%s answers and %s (%s)", host, s.refuses(), said), Fix: s.newKey(), Refused: true}
	case e.Kind.Retryable():
		return &Problem{Severity: Passing, Text: fmt.Sprintf("%s cannot be asked now: %s", host, said), Fix: look}
	case s.Local:
		return &Problem{Severity: Broken, Text: fmt.Sprintf("%s is not a model server: %s", host, said), Fix: look}
	}
	return &Problem{Severity: Unclear, Text: fmt.Sprintf("%s answers and has no list of models: %s", host, said), Fix: look}
}

// refuses says which key the server refuses.
func (s Server) refuses() string {
	if s.KeyFrom != "" {
		return "refuses the key that " + s.KeyFrom + " has"
	}
	if s.KeyEnv == "" {
		return "refuses the key"
	}
	return "refuses the key in " + s.KeyEnv
}

// newKey says where a key that the server accepts goes.
func (s Server) newKey() string {
	switch {
	case s.KeyFrom != "":
		return "replace the key that " + s.KeyFrom + " has with one that is valid at " + s.host()
	case s.KeyEnv != "":
		return "set " + s.KeyEnv + " to a key that is valid at " + s.host()
	}
	return strings.TrimSuffix(s.BaseURLKey, "base_url") + "key_env names the variable that holds a key for " + s.host()
}

// start returns how to start the server; empty when that is not known.
func (s Server) start(name string) string {
	if s.Start == "" {
		return ""
	}
	return "start it with `" + strings.ReplaceAll(s.Start, "NAME", name) + "`"
}

// lacks returns an error text and a fix for a model that the server does not have.
func (s Server) lacks(models []string, name string) (text, fix string) {
	text = fmt.Sprintf("%s has no model %s; it lists %s", s.host(), name, sentence(models, maxNames))
	if s.Fetch == "" {
		return text, "choose one that it lists"
	}
	return text, "get it with `" + strings.ReplaceAll(s.Fetch, "NAME", name) + "`, or choose one that it lists"
}

func (s Server) host() string {
	if u, err := url.Parse(s.BaseURL); err == nil && u.Host != "" {
		return u.Host
	}
	return s.BaseURL
}

// Has reports whether a model is in a list. A tag "latest" and the date of a snapshot may
// be left out of its name.
func Has(models []string, name string) bool {
	return slices.ContainsFunc(models, func(m string) bool {
		return m == name || m == name+":latest" || snapshot.ReplaceAllString(m, "") == name
	})
}

var snapshot = pattern.Of(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// maxNames is how many models an error names.
const maxNames = 5

// sentence joins names as in a sentence. Of many it names only the first few.
func sentence(names []string, most int) string {
	if len(names) == 0 {
		return "none"
	}
	shown := slices.Clone(names)
	if n := len(names) - most; n > 0 {
		shown = append(shown[:most], fmt.Sprintf("%d more", n))
	}
	last := len(shown) - 1
	if last == 0 {
		return shown[0]
	}
	return strings.Join(shown[:last], ", ") + " and " + shown[last]
}

// Explain wraps a model of the server so that its errors say what to do about them.
func (s Server) Explain(m pawl.Model) pawl.Model { return explained{m, s} }

type explained struct {
	pawl.Model
	server Server
}

// Call implements [pawl.Model].
func (x explained) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	reply, err := x.Model.Call(ctx, req, sink)
	e, ok := errors.AsType[*pawl.ModelError](err)
	if !ok {
		return reply, err
	}
	switch {
	case e.Kind == pawl.ModelNoServer:
		told := *e
		told.Fix = x.server.start(req.Model)
		return reply, &told
	case e.Kind == pawl.ModelAuth:
		told := *e
		told.Fix = wire.Clean(x.server.newKey(), x.server.Key)
		if x.server.Key != "" {
			told.Message = fmt.Sprintf("%s %s: %s", x.server.host(), x.server.refuses(), e.Message)
		}
		return reply, &told
	case e.Kind == pawl.ModelUnknown, e.Kind == pawl.ModelBadRequest && e.Status == http.StatusNotFound:
		models, asking := x.server.Models(ctx)
		if asking != nil || Has(models, req.Model) {
			return reply, err
		}
		told := *e
		told.Kind = pawl.ModelUnknown
		text, fix := x.server.lacks(models, req.Model)
		told.Message, told.Fix = wire.Clean(text, x.server.Key), wire.Clean(fix, x.server.Key)
		return reply, &told
	}
	return reply, err
}
