package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
)

// Args are the arguments of a tool call as a reply carries them, given the
// text the model wrote. Nothing and null become {}. A text that is not valid
// JSON becomes {} when the reply was cut off, and otherwise a JSON string that
// holds it, so that whoever runs the call can tell the model what was wrong.
// Any other JSON is kept: arguments that are no object are for the caller to refuse.
func Args(text string, cut bool) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "" || trimmed == "null":
		return json.RawMessage("{}")
	case json.Valid([]byte(trimmed)):
		return json.RawMessage(strings.ToValidUTF8(trimmed, "\uFFFD"))
	case cut:
		return json.RawMessage("{}")
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage("{}") // a string always marshals
	}
	return quoted
}

// ObjectArgs are a call's arguments as providers accept them in a transcript:
// an object. What is none goes below "invalid_arguments".
func ObjectArgs(args json.RawMessage) json.RawMessage {
	args = bytes.TrimSpace(args)
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case args[0] == '{' && json.Valid(args):
		return args
	}
	var value any = string(args)
	if json.Valid(args) {
		value = args
	}
	wrapped, err := json.Marshal(map[string]any{"invalid_arguments": value})
	if err != nil {
		return json.RawMessage("{}") // strings and valid JSON always marshal
	}
	return wrapped
}

// Blocks are the blocks of a transcript's message that are sent to a provider:
// tool results first, as they must follow the calls directly, the rest in
// order; no empty text; of the opaque blocks the provider's own, and none at
// the end of a message, because reasoning that led to nothing (a reply cut off
// while thinking) is refused. The error names an unknown role or kind.
func Blocks(m pawl.Message, provider string) ([]pawl.Block, error) {
	if m.Role != pawl.RoleUser && m.Role != pawl.RoleAssistant {
		return nil, fmt.Errorf("unknown role %q", m.Role)
	}
	var results, rest []pawl.Block
	for _, b := range m.Blocks {
		switch b.Kind {
		case pawl.BlockToolResult:
			results = append(results, b)
		case pawl.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				rest = append(rest, b)
			}
		case pawl.BlockOpaque:
			if b.Provider == provider {
				rest = append(rest, b)
			}
		case pawl.BlockToolUse:
			rest = append(rest, b)
		default:
			return nil, fmt.Errorf("unknown kind of block %q", b.Kind)
		}
	}
	for len(rest) > 0 && rest[len(rest)-1].Kind == pawl.BlockOpaque {
		rest = rest[:len(rest)-1]
	}
	return append(results, rest...), nil
}

// Stop is the reason a reply ended, given what the provider said: a reply with
// calls waits for their results whatever the provider called it, and one
// without does not.
func Stop(said pawl.StopReason, blocks []pawl.Block) pawl.StopReason {
	if said == pawl.StopMaxOutput {
		return said
	}
	for _, b := range blocks {
		if b.Kind == pawl.BlockToolUse {
			return pawl.StopToolUse
		}
	}
	return pawl.StopEnd
}

// Estimate is the usage of a call whose provider did not tell it: a token per
// four bytes, rounded up. Unknown usage must not count as none.
func Estimate(req pawl.ModelRequest, reply pawl.Message) pawl.Usage {
	input := len(req.System)
	for _, t := range req.Tools {
		input += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		input += size(m)
	}
	return pawl.Usage{Input: int64(input+3) / 4, Output: int64(size(reply)+3) / 4}
}

func size(m pawl.Message) int {
	n := 0
	for _, b := range m.Blocks {
		n += len(b.Text) + len(b.Tool) + len(b.Args) + len(b.Opaque)
	}
	return n
}
