package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"pawl"
	"pawl/internal/model/wire"
)

// ChatProvider names the opaque blocks that belong to the Chat adapter.
const ChatProvider = "openai-chat"

// Chat is a connection to a server that speaks Chat Completions. It is
// tolerant of what compatible servers leave out or bend; [NewChat] says how.
// It is safe for concurrent use.
type Chat struct {
	endpoint
	service       sdk.ChatCompletionService
	newLimitField bool
}

var _ pawl.Model = (*Chat)(nil)

// NewChat returns a model. What is wrong with the configuration is the error
// of every Call. Of servers it tolerates: no usage (it is estimated), calls
// without an id or with one that was used before (they get one that depends
// on the conversation alone), calls that share an index, arguments that are
// empty or an object instead of a string, "stop" as the reason of a reply with
// calls, reasoning in a field of either name (it is shown, and handed back in
// the field it came in), and no [DONE] at the end.
func NewChat(cfg Config) *Chat {
	e := newEndpoint(cfg)
	return &Chat{
		endpoint:      e,
		service:       sdk.NewChatCompletionService(e.options...),
		newLimitField: cfg.MaxCompletionTokens || cfg.BaseURL == "",
	}
}

// Call sends one request and returns the whole reply.
func (m *Chat) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	if m.setup != nil {
		return pawl.ModelReply{}, m.setup
	}
	params, err := m.newParams(req)
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
	s := &chatStream{exchange: exchange, req: req, sink: sink}
	var out pawl.ModelReply
	if err = receive(raw, exchange, s.take); err == nil {
		out, err = s.reply()
	}
	if err != nil {
		return pawl.ModelReply{}, s.partial(err)
	}
	return out, nil
}

func (m *Chat) newParams(req pawl.ModelRequest) (sdk.ChatCompletionNewParams, error) {
	params := sdk.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	limit := sdk.Int(int64(req.MaxOutput))
	if m.newLimitField {
		params.MaxCompletionTokens = limit
	} else {
		params.MaxTokens = limit
	}
	if req.System != "" {
		params.Messages = append(params.Messages, sdk.SystemMessage(req.System))
	}
	for _, t := range req.Tools {
		parameters, err := schema(t)
		if err != nil {
			return params, err
		}
		function := shared.FunctionDefinitionParam{Name: t.Name, Parameters: parameters}
		if t.Description != "" {
			function.Description = sdk.String(t.Description)
		}
		params.Tools = append(params.Tools, sdk.ChatCompletionFunctionTool(function))
	}
	for i, message := range req.Messages {
		more, err := newChatMessages(message)
		if err != nil {
			return params, badRequest("message %d: %v", i+1, err)
		}
		params.Messages = append(params.Messages, more...)
	}
	return params, nil
}

// newChatMessages are the protocol's messages for one of ours: a message per
// tool result and one for the texts of a user, one in all of an assistant.
func newChatMessages(m pawl.Message) ([]sdk.ChatCompletionMessageParamUnion, error) {
	sendable, err := wire.Blocks(m, ChatProvider)
	if err != nil {
		return nil, err
	}
	var results []sdk.ChatCompletionMessageParamUnion
	var calls []sdk.ChatCompletionMessageToolCallUnionParam
	var texts []string
	extra := map[string]any{}
	for _, b := range sendable {
		switch b.Kind {
		case pawl.BlockText:
			texts = append(texts, b.Text)
		case pawl.BlockToolUse:
			calls = append(calls, newChatCall(b))
		case pawl.BlockToolResult:
			results = append(results, sdk.ToolMessage(result(b), b.CallID))
		case pawl.BlockOpaque:
			if err := json.Unmarshal(b.Opaque, &extra); err != nil {
				return nil, fmt.Errorf("an opaque block: %w", err)
			}
		}
	}
	if len(texts) == 0 && len(calls) == 0 {
		return results, nil
	}
	if m.Role == pawl.RoleUser {
		return append(results, sdk.UserMessage(strings.Join(texts, "\n\n"))), nil
	}
	assistant := &sdk.ChatCompletionAssistantMessageParam{ToolCalls: calls}
	if len(texts) > 0 {
		assistant.Content.OfString = param.NewOpt(strings.Join(texts, "\n\n"))
	}
	if len(extra) > 0 {
		assistant.SetExtraFields(extra)
	}
	return append(results, sdk.ChatCompletionMessageParamUnion{OfAssistant: assistant}), nil
}

func newChatCall(b pawl.Block) sdk.ChatCompletionMessageToolCallUnionParam {
	return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID: b.CallID,
		Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
			Name:      b.Tool,
			Arguments: string(wire.ObjectArgs(b.Args)),
		},
	}}
}
