package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"pawl"
	"pawl/internal/model/wire"
)

// chatStream gathers a reply from its chunks.
type chatStream struct {
	exchange *wire.Exchange
	req      pawl.ModelRequest
	sink     func(pawl.ModelDelta)

	text, refusal, reasoning strings.Builder
	reasoningField           string // the name the server uses
	calls                    []*chatCall
	finished                 string // the finish reason; empty until it came
	model                    string
	usage                    pawl.Usage
}

type chatCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

func (s *chatStream) take(data []byte) (done bool, err error) {
	s.sink(pawl.ModelDelta{})
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return false, err
	}
	s.model = cmp.Or(s.model, chunk.Model)
	if u := chunk.Usage; chunk.JSON.Usage.Valid() {
		s.usage = usage(u.PromptTokens, u.PromptTokensDetails.CachedTokens, cacheWrites(u.PromptTokensDetails.JSON.ExtraFields), u.CompletionTokens)
	}
	if len(chunk.Choices) == 0 {
		return false, nil
	}
	choice := chunk.Choices[0] // there is one: we never ask for more
	s.takeText(choice.Delta)
	for _, call := range choice.Delta.ToolCalls {
		s.takeCall(call)
	}
	s.finished = cmp.Or(choice.FinishReason, s.finished)
	return false, nil // usage follows the finish reason
}

func (s *chatStream) takeText(delta sdk.ChatCompletionChunkChoiceDelta) {
	if delta.Content != "" {
		s.text.WriteString(delta.Content)
		s.sink(pawl.ModelDelta{Text: delta.Content})
	}
	s.refusal.WriteString(delta.Refusal)
	for _, field := range []string{"reasoning_content", "reasoning"} {
		var piece string
		if json.Unmarshal([]byte(delta.JSON.ExtraFields[field].Raw()), &piece) == nil && piece != "" {
			s.reasoningField = field
			s.reasoning.WriteString(piece)
			s.sink(pawl.ModelDelta{Reasoning: piece})
			return // servers that fill both put the same into them
		}
	}
}

func (s *chatStream) takeCall(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	call := s.callOf(delta)
	if call == nil {
		call = &chatCall{index: delta.Index, id: delta.ID, name: delta.Function.Name}
		s.calls = append(s.calls, call)
		s.sink(pawl.ModelDelta{Tool: call.name})
	}
	call.id = cmp.Or(call.id, delta.ID)
	call.name = cmp.Or(call.name, delta.Function.Name)
	call.arguments.WriteString(delta.Function.Arguments)
}

// callOf finds the call a piece belongs to, nil when it begins one. The index
// tells, except that some servers give every call the same one: there another
// id begins a new call, and without ids a name after whole arguments does.
func (s *chatStream) callOf(delta sdk.ChatCompletionChunkChoiceDeltaToolCall) *chatCall {
	for i := len(s.calls) - 1; i >= 0; i-- {
		call := s.calls[i]
		if call.index != delta.Index {
			continue
		}
		switch {
		case delta.ID != "" && call.id != "" && delta.ID != call.id:
			return nil
		case delta.ID == "" && delta.Function.Name != "" && json.Valid([]byte(call.arguments.String())):
			return nil
		}
		return call
	}
	return nil
}

// partial is an error that ended the reply, with what it had used.
func (s *chatStream) partial(err error) error {
	arrived := s.text.Len() + s.refusal.Len() + s.reasoning.Len()
	for _, call := range s.calls {
		arrived += len(call.name) + call.arguments.Len()
	}
	return wire.Partial(err, s.req, s.usage, s.finished != "", arrived)
}

func (s *chatStream) reply() (pawl.ModelReply, error) {
	said, err := s.finish()
	if err != nil {
		return pawl.ModelReply{}, err
	}
	out := pawl.ModelReply{
		Message: pawl.Message{Role: pawl.RoleAssistant},
		Model:   cmp.Or(s.model, s.req.Model),
		Usage:   s.usage,
	}
	blocks := &out.Message.Blocks
	if s.reasoning.Len() > 0 {
		raw, err := json.Marshal(map[string]string{s.reasoningField: s.reasoning.String()})
		if err == nil { // strings always marshal
			*blocks = append(*blocks, pawl.Block{Kind: pawl.BlockOpaque, Opaque: raw, Provider: ChatProvider})
		}
	}
	if s.text.Len() > 0 {
		*blocks = append(*blocks, pawl.Block{Kind: pawl.BlockText, Text: strings.ToValidUTF8(s.text.String(), "\uFFFD")})
	}
	ids := newCallIDs(s.req.Messages)
	for _, call := range s.calls {
		*blocks = append(*blocks, pawl.Block{
			Kind:   pawl.BlockToolUse,
			CallID: ids.give(call.id),
			Tool:   call.name,
			Args:   wire.Args(call.arguments.String(), said == pawl.StopMaxOutput),
		})
	}
	out.Stop = wire.Stop(said, *blocks)
	if out.Usage.Total() == 0 {
		out.Usage = wire.Estimate(s.req, out.Message)
	}
	return out, nil
}

// finish is what the server's last word means; an error for what is no reply.
func (s *chatStream) finish() (pawl.StopReason, error) {
	switch s.finished {
	case "":
		return "", s.exchange.Cut()
	case "content_filter":
		return "", s.exchange.Error(pawl.ModelRefused, cmp.Or(s.refusal.String(), "the content filter stopped the reply"))
	case "error":
		return "", s.exchange.Error(pawl.ModelOverloaded, "the server gave the reply up")
	case "length":
		return pawl.StopMaxOutput, nil
	}
	if s.refusal.Len() > 0 {
		return "", s.exchange.Error(pawl.ModelRefused, s.refusal.String())
	}
	return pawl.StopEnd, nil
}

// callIDs gives every call of a conversation an id of its own: the server's
// where that is new, else one counted from the conversation, so that the same
// request and reply always give the same.
type callIDs struct {
	used  map[string]bool
	count int
}

func newCallIDs(messages []pawl.Message) *callIDs {
	ids := &callIDs{used: make(map[string]bool)}
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Kind == pawl.BlockToolUse {
				ids.used[b.CallID] = true
				ids.count++
			}
		}
	}
	return ids
}

func (ids *callIDs) give(id string) string {
	ids.count++
	for n := ids.count; id == "" || ids.used[id]; n++ {
		id = fmt.Sprintf("call-%d", n)
	}
	ids.used[id] = true
	return id
}
