package runner

import (
	"context"

	"pawl"
	"pawl/internal/driver"
)

// messages turns a transcript into messages: what the model does not say itself
// (the prompt, tool results, notes) is the user's, and what stands together is
// one message, so that speakers alternate. A reply without anything in it is
// left out. The first foreign items, whose replies another model wrote, are told as one text.
func messages(ctx context.Context, job driver.Job, foreign int) ([]pawl.Message, error) {
	var t transcript
	for i, item := range job.Effect.Transcript {
		if err := t.add(ctx, job, item); err != nil {
			return nil, err
		}
		if i == 0 && item.Kind != pawl.ItemUser {
			return nil, pawl.Errorf(pawl.CodeDamaged, "read the transcript: it does not begin with the prompt")
		}
		if i+1 == foreign {
			t = retold(t.messages)
		}
	}
	return t.messages, nil
}

// retold returns a transcript that tells all of another one as the text of a prompt.
func retold(messages []pawl.Message) (t transcript) {
	t.user(pawl.Block{Kind: pawl.BlockText, Text: wholeTranscript(messages)})
	return t
}

type transcript struct {
	messages []pawl.Message
	uses     []pawl.Block // the tool calls of the last reply
}

func (t *transcript) add(ctx context.Context, job driver.Job, item pawl.Item) error {
	if item.Kind == pawl.ItemAssistant {
		var m pawl.Message
		if err := decode(ctx, job, "a reply of the transcript", item.Blob, &m); err != nil {
			return err
		}
		if t.uses = toolUses(m); len(m.Blocks) > 0 {
			t.messages = append(t.messages, m)
		}
		return nil
	}
	text := item.Text
	if !item.Blob.IsZero() {
		data, err := read(ctx, job, "the transcript", item.Blob)
		if err != nil {
			return err
		}
		if text = string(data); item.Kind == pawl.ItemNote {
			text += item.Text
		}
	}
	switch item.Kind {
	case pawl.ItemCutOff:
		t.messages = append(t.messages, pawl.Message{Role: pawl.RoleAssistant, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: cutOffTurn(text)}}})
	case pawl.ItemUser, pawl.ItemNote:
		t.user(pawl.Block{Kind: pawl.BlockText, Text: text})
	case pawl.ItemResult:
		if int(item.Call) >= len(t.uses) {
			return pawl.Errorf(pawl.CodeDamaged, "read the transcript: a result for call %d of %d", item.Call+1, len(t.uses))
		}
		use := t.uses[item.Call]
		t.user(pawl.Block{Kind: pawl.BlockToolResult, CallID: use.CallID, Tool: use.Tool, Text: text, IsError: item.IsError})
	default:
		return pawl.Errorf(pawl.CodeDamaged, "read the transcript: an item of kind %d", item.Kind)
	}
	return nil
}

// user adds to what the user says, in the message that is being made.
func (t *transcript) user(b pawl.Block) {
	if n := len(t.messages); n == 0 || t.messages[n-1].Role != pawl.RoleUser {
		t.messages = append(t.messages, pawl.Message{Role: pawl.RoleUser})
	}
	last := &t.messages[len(t.messages)-1]
	last.Blocks = append(last.Blocks, b)
}

func toolUses(m pawl.Message) []pawl.Block {
	var out []pawl.Block
	for _, b := range m.Blocks {
		if b.Kind == pawl.BlockToolUse {
			out = append(out, b)
		}
	}
	return out
}
