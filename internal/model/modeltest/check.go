package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"

	"pawl"
)

// checkConversation holds what every protocol demands of a conversation: it
// starts with the user, and each call is answered exactly once, in the message
// after it, before anything else is said.
func checkConversation(messages []pawl.Message) error {
	if len(messages) == 0 {
		return errors.New("there are no messages")
	}
	if messages[0].Role != pawl.RoleUser {
		return errors.New("the first message is not from the user")
	}
	open := map[string]bool{}
	for i, m := range messages {
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i+1)
		}
		if i > 0 && messages[i-1].Role == m.Role {
			return fmt.Errorf("message %d has the same role as the one before", i+1)
		}
		if err := checkBlocks(m, open); err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls have no result", len(open))
	}
	return nil
}

func checkBlocks(m pawl.Message, open map[string]bool) error {
	for _, b := range m.Blocks {
		switch {
		case b.Kind == pawl.BlockToolUse:
			if m.Role != pawl.RoleAssistant || b.CallID == "" || open[b.CallID] {
				return fmt.Errorf("the call %q is out of place", b.CallID)
			}
			if err := checkObject(b.Args); err != nil {
				return fmt.Errorf("the arguments of the call %q: %w", b.CallID, err)
			}
			open[b.CallID] = true
		case b.Kind == pawl.BlockToolResult:
			if m.Role != pawl.RoleUser || !open[b.CallID] {
				return fmt.Errorf("the result of %q answers no call", b.CallID)
			}
			delete(open, b.CallID)
		case b.Kind == pawl.BlockText && b.Text == "":
			return errors.New("a text is empty")
		case m.Role == pawl.RoleUser && len(open) > 0:
			return errors.New("something is said before every call is answered")
		}
	}
	return nil
}

func checkObject(raw json.RawMessage) error {
	var object map[string]any
	return json.Unmarshal(raw, &object)
}

func checkTools(tools []pawl.ToolSpec) error {
	for _, t := range tools {
		if t.Name == "" {
			return errors.New("a tool has no name")
		}
		if err := checkObject(t.Schema); err != nil {
			return fmt.Errorf("the schema of %q: %w", t.Name, err)
		}
	}
	return nil
}

// parts is the content of a message: in JSON a list of parts, or a string in place of a list with one
// text.
type parts []json.RawMessage

// UnmarshalJSON implements [json.Unmarshaler].
func (p *parts) UnmarshalJSON(data []byte) error {
	var text *string
	if json.Unmarshal(data, &text) == nil {
		if *p = nil; text != nil && *text != "" {
			*p = parts{json.RawMessage(mustJSON(map[string]string{"type": "text", "text": *text}))}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]json.RawMessage)(p))
}

// text returns the concatenated texts of the parts.
func (p parts) text() string {
	text := ""
	for _, raw := range p {
		var part struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &part) == nil {
			text += part.Text
		}
	}
	return text
}

// mustJSON marshals what always can be.
func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("modeltest: " + err.Error())
	}
	return string(b)
}
