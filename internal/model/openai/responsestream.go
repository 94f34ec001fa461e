package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"pawl"
	"pawl/internal/model/wire"
)

// responseStream gathers a reply from its events.
type responseStream struct {
	exchange *wire.Exchange
	req      pawl.ModelRequest
	sink     func(pawl.ModelDelta)
	items    []responses.ResponseOutputItemUnion // finished, in order
	final    *responses.Response
	usage    pawl.Usage // zero before its last event
	arrived  int        // bytes of what the model has written
}

func (s *responseStream) take(data []byte) (done bool, err error) {
	s.sink(pawl.ModelDelta{})
	var event responses.ResponseStreamEventUnion
	if err := json.Unmarshal(data, &event); err != nil {
		return false, err
	}
	if strings.HasSuffix(event.Type, ".delta") {
		s.arrived += len(event.Delta)
	}
	if u := event.Response.Usage; u.InputTokens+u.OutputTokens > 0 {
		s.usage = usage(u.InputTokens, u.InputTokensDetails.CachedTokens, cacheWrites(u.InputTokensDetails.JSON.ExtraFields), u.OutputTokens)
	}
	switch event.Type {
	case "response.output_text.delta":
		s.sink(pawl.ModelDelta{Text: event.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.sink(pawl.ModelDelta{Reasoning: event.Delta})
	case "response.output_item.added":
		if event.Item.Type == "function_call" {
			s.sink(pawl.ModelDelta{Tool: event.Item.Name})
		}
	case "response.output_item.done":
		s.items = append(s.items, event.Item)
	case "response.completed", "response.incomplete":
		s.final = &event.Response
		return true, nil
	case "response.failed", "error":
		return false, s.exchange.Failure(0, nil, data)
	}
	return false, nil
}

func (s *responseStream) reply() (pawl.ModelReply, error) {
	said := pawl.StopEnd
	if s.final.Status == responses.ResponseStatusIncomplete {
		if s.final.IncompleteDetails.Reason == "content_filter" {
			return pawl.ModelReply{}, s.exchange.Error(pawl.ModelRefused, "the content filter stopped the reply")
		}
		said = pawl.StopMaxOutput
	}
	items := s.items
	if len(items) < len(s.final.Output) {
		items = s.final.Output
	}
	out := pawl.ModelReply{
		Message: pawl.Message{Role: pawl.RoleAssistant},
		Model:   cmp.Or(s.final.Model, s.req.Model),
	}
	for _, item := range items {
		blocks, refusal := itemBlocks(item, said == pawl.StopMaxOutput)
		if refusal != "" {
			return pawl.ModelReply{}, s.exchange.Error(pawl.ModelRefused, refusal)
		}
		out.Message.Blocks = append(out.Message.Blocks, blocks...)
	}
	out.Usage = s.usage
	if out.Usage.Total() == 0 {
		out.Usage = wire.Estimate(s.req, out.Message)
	}
	out.Stop = wire.Stop(said, out.Message.Blocks)
	return out, nil
}

// itemBlocks are the blocks of one output item, or the model's refusal.
func itemBlocks(item responses.ResponseOutputItemUnion, cut bool) (blocks []pawl.Block, refusal string) {
	opaque := func(raw string) pawl.Block {
		return pawl.Block{Kind: pawl.BlockOpaque, Provider: ResponsesProvider, Opaque: json.RawMessage(strings.ToValidUTF8(raw, "\uFFFD"))}
	}
	switch item.Type {
	case "message":
		var text strings.Builder
		for _, part := range item.Content {
			if part.Type == "refusal" {
				return nil, cmp.Or(part.Refusal, "the model refused to answer")
			}
			text.WriteString(part.Text)
		}
		if item.Phase != "" {
			mark, err := json.Marshal(phase{Type: "phase", Phase: responses.EasyInputMessagePhase(item.Phase)})
			if err == nil { // two strings always marshal
				blocks = append(blocks, opaque(string(mark)))
			}
		}
		if text.Len() == 0 {
			return nil, ""
		}
		return append(blocks, pawl.Block{Kind: pawl.BlockText, Text: strings.ToValidUTF8(text.String(), "\uFFFD")}), ""
	case "function_call":
		return []pawl.Block{{Kind: pawl.BlockToolUse, CallID: item.CallID, Tool: item.Name, Args: wire.Args(item.Arguments.OfString, cut)}}, ""
	}
	return []pawl.Block{opaque(item.RawJSON())}, ""
}
