package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"pawl"
	"pawl/internal/model/wire"
)

// ResponsesProvider names the opaque blocks that belong to the Responses adapter.
const ResponsesProvider = "openai-responses"

// Responses is a connection to the Responses API. Nothing is stored on the
// server: every request carries the whole conversation, and reasoning goes
// back encrypted, as it came. It is safe for concurrent use.
type Responses struct {
	endpoint
	service responses.ResponseService
}

var _ pawl.Model = (*Responses)(nil)

// NewResponses returns a model. What is wrong with the configuration is the
// error of every Call.
func NewResponses(cfg Config) *Responses {
	e := newEndpoint(cfg)
	return &Responses{endpoint: e, service: responses.NewResponseService(e.options...)}
}

// Call sends one request and returns the whole reply.
func (m *Responses) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	if m.setup != nil {
		return pawl.ModelReply{}, m.setup
	}
	params, err := newResponseParams(req)
	if err != nil {
		return pawl.ModelReply{}, err
	}
	if sink == nil {
		sink = func(pawl.ModelDelta) {}
	}
	watched, exchange := wire.Open(ctx, req.Idle, m.key)
	defer exchange.Close()
	var raw *http.Response
	if _, err := m.service.New(watched, params, request(exchange, &raw)...); err != nil {
		return pawl.ModelReply{}, exchange.Err(err)
	}
	s := &responseStream{exchange: exchange, req: req, sink: sink}
	var out pawl.ModelReply
	switch err = receive(raw, exchange, s.take); {
	case err == nil && s.final == nil:
		err = exchange.Cut()
	case err == nil:
		out, err = s.reply()
	}
	if err != nil {
		return pawl.ModelReply{}, wire.Partial(err, req, s.usage, true, s.arrived)
	}
	return out, nil
}

func newResponseParams(req pawl.ModelRequest) (responses.ResponseNewParams, error) {
	params := responses.ResponseNewParams{
		Model:           req.Model,
		MaxOutputTokens: sdk.Int(int64(req.MaxOutput)),
		Store:           sdk.Bool(false),
	}
	if reasons(req.Model) {
		params.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if req.System != "" {
		params.Instructions = sdk.String(req.System)
	}
	for _, t := range req.Tools {
		parameters, err := schema(t)
		if err != nil {
			return params, err
		}
		tool := &responses.FunctionToolParam{Name: t.Name, Parameters: parameters, Strict: sdk.Bool(false)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: tool})
	}
	var items responses.ResponseInputParam
	for i, m := range req.Messages {
		more, err := newItems(m)
		if err != nil {
			return params, badRequest("message %d: %v", i+1, err)
		}
		items = append(items, more...)
	}
	params.Input.OfInputItemList = items
	return params, nil
}

// reasons reports whether a model may reason. The families from before
// reasoning refuse a request for encrypted reasoning.
func reasons(model string) bool {
	return !strings.HasPrefix(model, "gpt-4") && !strings.HasPrefix(model, "gpt-3") && !strings.HasPrefix(model, "chatgpt-")
}

// phase is the opaque block that says which phase the text after it belongs
// to; the API wants it back with the text.
type phase struct {
	Type  string                          `json:"type"` // "phase"
	Phase responses.EasyInputMessagePhase `json:"phase"`
}

func newItems(m pawl.Message) (responses.ResponseInputParam, error) {
	sendable, err := wire.Blocks(m, ResponsesProvider)
	if err != nil {
		return nil, err
	}
	var items responses.ResponseInputParam
	var next phase
	for _, b := range sendable {
		switch b.Kind {
		case pawl.BlockText:
			item := responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRole(m.Role))
			item.OfMessage.Phase = next.Phase
			items = append(items, item)
		case pawl.BlockToolUse:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(string(wire.ObjectArgs(b.Args)), b.CallID, b.Tool))
		case pawl.BlockToolResult:
			items = append(items, responses.ResponseInputItemParamOfFunctionCallOutput(b.CallID, result(b)))
		case pawl.BlockOpaque:
			if json.Unmarshal(b.Opaque, &next) == nil && next.Type == "phase" {
				continue
			}
			if resolvable(b.Opaque) {
				items = append(items, param.Override[responses.ResponseInputItemUnionParam](b.Opaque))
			}
		}
		next = phase{}
	}
	return items, nil
}

// resolvable reports whether an item means something to a server that stores
// nothing: reasoning does when it carries its content.
func resolvable(item json.RawMessage) bool {
	var r struct {
		Type      string            `json:"type"`
		Encrypted string            `json:"encrypted_content"`
		Content   []json.RawMessage `json:"content"`
	}
	return json.Unmarshal(item, &r) == nil && (r.Type != "reasoning" || r.Encrypted != "" || len(r.Content) > 0)
}
