package anthropic

import (
	"encoding/json"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"pawl"
	"pawl/internal/model/wire"
)

// newParams turns a request into the API's. The system prompt, the last tool
// and the last block of the last message are marked for the prompt cache: what
// comes before each mark does not change from turn to turn.
func newParams(req pawl.ModelRequest) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{
		Model:     req.Model,
		MaxTokens: int64(req.MaxOutput),
	}
	if req.System != "" {
		params.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range req.Tools {
		if !json.Valid(t.Schema) {
			return params, badRequest("the schema of the tool %q is not JSON", t.Name)
		}
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		params.Tools = append(params.Tools, sdk.ToolUnionParam{OfTool: tool})
	}
	if n := len(params.Tools); n > 0 {
		params.Tools[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	for i, m := range req.Messages {
		blocks, err := newBlocks(m)
		if err != nil {
			return params, badRequest("message %d: %v", i+1, err)
		}
		if len(blocks) > 0 {
			params.Messages = append(params.Messages, sdk.MessageParam{Role: sdk.MessageParamRole(m.Role), Content: blocks})
		}
	}
	if n := len(params.Messages); n > 0 {
		blocks := params.Messages[n-1].Content
		markCached(blocks[len(blocks)-1])
	}
	return params, nil
}

func newBlocks(m pawl.Message) ([]sdk.ContentBlockParamUnion, error) {
	sendable, err := wire.Blocks(m, Provider)
	if err != nil {
		return nil, err
	}
	var blocks []sdk.ContentBlockParamUnion
	for _, b := range sendable {
		switch b.Kind {
		case pawl.BlockText:
			blocks = append(blocks, sdk.NewTextBlock(b.Text))
		case pawl.BlockToolUse:
			blocks = append(blocks, sdk.NewToolUseBlock(b.CallID, wire.ObjectArgs(b.Args), b.Tool))
		case pawl.BlockToolResult:
			blocks = append(blocks, newResult(b))
		case pawl.BlockOpaque:
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](b.Opaque))
		}
	}
	return blocks, nil
}

// newResult leaves an empty text out, which the API would refuse.
func newResult(b pawl.Block) sdk.ContentBlockParamUnion {
	result := &sdk.ToolResultBlockParam{ToolUseID: b.CallID}
	if b.Text != "" {
		result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: b.Text}}}
	}
	if b.IsError {
		result.IsError = sdk.Bool(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: result}
}

func markCached(block sdk.ContentBlockParamUnion) {
	switch {
	case block.OfText != nil:
		block.OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
	case block.OfToolResult != nil:
		block.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
}

func badRequest(format string, args ...any) error {
	return &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: wire.Clean(fmt.Sprintf(format, args...), "")}
}
