package anthropic

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"pawl"
	"pawl/internal/model/wire"
)

// receive reads the stream to its message_stop. Whatever ends it before is an error.
func receive(stream *ssestream.Stream[sdk.MessageStreamEventUnion], exchange *wire.Exchange, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	var message sdk.Message
	arguments := make(map[int64]*strings.Builder) // what the model wrote, which Accumulate drops when it is not JSON
	arrived, final := 0, false                    // bytes, and whether all of the usage was told
	partial := func(err error) error { return wire.Partial(err, req, usage(message), final, arrived) }
	for stream.Next() {
		event := stream.Current()
		sink(pawl.ModelDelta{})
		if err := message.Accumulate(event); err != nil {
			return pawl.ModelReply{}, partial(exchange.Err(err))
		}
		arrived += len(event.Delta.Text) + len(event.Delta.Thinking) + len(event.Delta.PartialJSON)
		switch event.Type {
		case "content_block_start":
			if event.ContentBlock.Type == "tool_use" {
				sink(pawl.ModelDelta{Tool: event.ContentBlock.Name})
			}
		case "content_block_delta":
			show(event.Delta, sink)
			if event.Delta.Type == "input_json_delta" {
				if arguments[event.Index] == nil {
					arguments[event.Index] = new(strings.Builder)
				}
				arguments[event.Index].WriteString(event.Delta.PartialJSON)
			}
		case "message_delta":
			final = true
		case "message_stop":
			out, err := reply(message, arguments, exchange, req)
			if err != nil {
				return out, partial(err)
			}
			return out, nil
		}
	}
	err := stream.Err()
	if inStream, ok := errors.AsType[*sdk.Error](err); ok {
		err = exchange.Failure(0, nil, []byte(inStream.RawJSON()))
	}
	if err != nil {
		return pawl.ModelReply{}, partial(exchange.Err(err))
	}
	return pawl.ModelReply{}, partial(exchange.Cut())
}

// usage is what the API told of a message so far. Its input_tokens leave cached tokens out.
func usage(message sdk.Message) pawl.Usage {
	return pawl.Usage{
		Input:      message.Usage.InputTokens,
		CacheRead:  message.Usage.CacheReadInputTokens,
		CacheWrite: message.Usage.CacheCreationInputTokens,
		Output:     message.Usage.OutputTokens,
	}
}

func show(delta sdk.MessageStreamEventUnionDelta, sink func(pawl.ModelDelta)) {
	switch {
	case delta.Type == "text_delta" && delta.Text != "":
		sink(pawl.ModelDelta{Text: delta.Text})
	case delta.Type == "thinking_delta" && delta.Thinking != "":
		sink(pawl.ModelDelta{Reasoning: delta.Thinking})
	}
}

func reply(message sdk.Message, arguments map[int64]*strings.Builder, exchange *wire.Exchange, req pawl.ModelRequest) (pawl.ModelReply, error) {
	said := pawl.StopEnd
	switch message.StopReason {
	case sdk.StopReasonRefusal:
		return pawl.ModelReply{}, exchange.Error(pawl.ModelRefused, cmp.Or(message.StopDetails.Explanation, "the model refused to answer"))
	case sdk.StopReasonModelContextWindowExceeded:
		return pawl.ModelReply{}, exchange.Error(pawl.ModelContextLong, "the conversation filled the model's context window")
	case sdk.StopReasonMaxTokens:
		said = pawl.StopMaxOutput
	}
	out := pawl.ModelReply{
		Message: pawl.Message{Role: pawl.RoleAssistant},
		Model:   cmp.Or(message.Model, req.Model),
		Usage:   usage(message),
	}
	for i, content := range message.Content {
		text := string(content.Input)
		if written := arguments[int64(i)]; written != nil && written.Len() > 0 {
			text = written.String()
		}
		if b, ok := block(content, text, said == pawl.StopMaxOutput); ok {
			out.Message.Blocks = append(out.Message.Blocks, b)
		}
	}
	out.Stop = wire.Stop(said, out.Message.Blocks)
	if out.Usage.Total() == 0 {
		out.Usage = wire.Estimate(req, out.Message)
	}
	return out, nil
}

// block is one block of a reply; everything that is neither text nor a call is
// kept as it came, to be handed back. ok is false for an empty text.
func block(content sdk.ContentBlockUnion, arguments string, cut bool) (b pawl.Block, ok bool) {
	switch content.Type {
	case "text":
		text := strings.ToValidUTF8(content.Text, "\uFFFD")
		return pawl.Block{Kind: pawl.BlockText, Text: text}, text != ""
	case "tool_use":
		return pawl.Block{Kind: pawl.BlockToolUse, CallID: content.ID, Tool: content.Name, Args: wire.Args(arguments, cut)}, true
	}
	raw := json.RawMessage(strings.ToValidUTF8(content.RawJSON(), "\uFFFD"))
	return pawl.Block{Kind: pawl.BlockOpaque, Opaque: raw, Provider: Provider}, len(raw) > 0
}
