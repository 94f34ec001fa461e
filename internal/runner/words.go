package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pawl"
	"pawl/internal/kernel/brief"
)

// textContinue begins the turn of an agent that knows the whole transcript, because an earlier turn
// was cut off.
const textContinue = "You were interrupted. Continue from where you stopped."

// words returns the prompt of a turn: what the agent does not know of the transcript.
func (t *turn) words(ctx context.Context) (string, error) {
	var all transcript
	known := 0 // messages, and blocks of the last one, that the agent knows
	blocks := 0
	for i, item := range t.job.Effect.Transcript {
		if i == t.do.Agent.From {
			known = len(all.messages)
			if known > 0 {
				blocks = len(all.messages[known-1].Blocks)
			}
		}
		if err := all.add(ctx, t.job, item); err != nil {
			return "", err
		}
	}
	if t.do.Agent.Session == "" {
		return wholeTranscript(all.messages), nil
	}
	if t.do.Agent.From >= len(t.job.Effect.Transcript) {
		return textContinue, nil
	}
	var parts []string
	for i := max(known-1, 0); i < len(all.messages); i++ {
		m := all.messages[i]
		if i == known-1 {
			m.Blocks = m.Blocks[blocks:]
		}
		if m.Role == pawl.RoleUser {
			parts = append(parts, told(m)...)
		}
	}
	if len(parts) == 0 {
		return textContinue, nil
	}
	return strings.Join(parts, "\n\n"), nil
}

// told returns what the user says in a message, as paragraphs.
func told(m pawl.Message) []string {
	var out []string
	for _, b := range m.Blocks {
		switch b.Kind {
		case pawl.BlockText:
			out = append(out, b.Text)
		case pawl.BlockToolResult:
			what := "The result of your call of " + b.Tool
			if b.IsError {
				what = "Your call of " + b.Tool + " failed"
			}
			out = append(out, what+": "+b.Text)
		}
	}
	return out
}

// wholeTranscript returns a transcript as a prompt for an agent or a model that knows nothing of it.
func wholeTranscript(messages []pawl.Message) string {
	var parts []string
	for i, m := range messages {
		if m.Role == pawl.RoleUser {
			if i > 0 {
				parts = append(parts, "--- What you were told then ---")
			}
			parts = append(parts, told(m)...)
			continue
		}
		parts = append(parts, "--- What you said ---")
		for _, b := range m.Blocks {
			switch b.Kind {
			case pawl.BlockText:
				parts = append(parts, b.Text)
			case pawl.BlockToolUse:
				parts = append(parts, fmt.Sprintf("(You called %s with %s.)", b.Tool, brief.Cut(string(b.Args), maxShownArgs)))
			}
		}
	}
	if len(messages) > 1 {
		parts = append(parts, "--- Now ---", "The session before this one is gone. The work tree has what was done in it. Continue from there.")
	}
	return strings.Join(parts, "\n\n")
}

// maxShownArgs bounds the arguments of a call in a transcript that is told as text, in bytes.
const maxShownArgs = 2000

// cutOffTurn returns what an agent said and did in a turn that failed, for another model. If it is too
// long, only the end is told.
func cutOffTurn(transcript string) string {
	var parts []string
	for line := range strings.Lines(transcript) {
		var u pawl.AgentUpdate
		if json.Unmarshal([]byte(line), &u) != nil {
			continue // a secret was a part of its syntax
		}
		switch {
		case u.Kind == pawl.UpdateText:
			parts = append(parts, brief.Cut(u.Text, maxShownArgs))
		case u.Kind == pawl.UpdateCall:
			parts = append(parts, fmt.Sprintf("(You called %s: %s.)", u.Tool, brief.Cut(cmp.Or(u.Title, string(u.Args)), maxShownArgs)))
		case u.Kind == pawl.UpdateResult && u.Failed:
			parts = append(parts, fmt.Sprintf("(That call failed: %s.)", brief.Cut(u.Text, maxShownArgs)))
		}
	}
	const end = "(This turn was cut off before its end.)"
	size, from := len(end), len(parts)
	for from > 0 && size+len(parts[from-1])+2 <= pawl.MaxCutOff {
		from--
		size += len(parts[from]) + 2
	}
	return strings.Join(append(parts[from:], end), "\n\n")
}

// Bounds of a turn's transcript.
const (
	maxUpdate = 64 << 10 // bytes of each text of an update
	maxLog    = 4 << 20  // bytes of all updates
)

// transcriptLog collects the updates of a turn as lines of JSON. Its zero value is empty.
type transcriptLog struct {
	text          strings.Builder
	piecesOf      pawl.UpdateKind // of the text that pieces begin
	pieces        []byte          // of a text that has not come in full
	dropped       int             // updates for which there was no room
	tools, failed int             // calls of the agent's own tools
	runs          map[string]bool // calls that run commands and have not ended
	commands      int             // calls that ran commands
	commandFailed bool            // the last of these failed
}

func (l *transcriptLog) add(u pawl.AgentUpdate) {
	switch u.Kind {
	case pawl.UpdateCall:
		l.tools++
		if u.Does == pawl.DoesExecute {
			if l.runs == nil {
				l.runs = map[string]bool{}
			}
			l.runs[u.Call] = true
		}
	case pawl.UpdateResult:
		if u.Failed {
			l.failed++
		}
		if l.runs[u.Call] {
			delete(l.runs, u.Call)
			l.commands++
			l.commandFailed = u.Failed
		}
	case pawl.UpdateAlive, pawl.UpdateUsage, pawl.UpdateSession:
		return
	}
	if u.Partial {
		if u.Kind != l.piecesOf {
			l.piecesOf, l.pieces = u.Kind, nil
		}
		if len(l.pieces) <= maxUpdate {
			l.pieces = append(l.pieces, u.Text...)
		}
		return
	}
	if u.Kind != pawl.UpdateNote { // which may come in the middle of a text
		l.pieces = nil
	}
	l.write(u)
}

// write adds an update that is kept, if there is room for it.
func (l *transcriptLog) write(u pawl.AgentUpdate) {
	u.Text, u.Title = brief.Cut(u.Text, maxUpdate), brief.Cut(u.Title, maxUpdate)
	if len(u.Args) > maxUpdate {
		u.Args = nil
	}
	for i := range u.Diffs {
		u.Diffs[i].Old, u.Diffs[i].New = brief.Cut(u.Diffs[i].Old, maxUpdate), brief.Cut(u.Diffs[i].New, maxUpdate)
	}
	line, err := encode(u)
	if err != nil || l.text.Len()+len(line) > maxLog {
		l.dropped++
		return
	}
	l.text.Write(line)
	l.text.WriteByte('\n')
}

// String returns the lines, and says how many updates are missing. A text that was cut off is among
// them.
func (l *transcriptLog) String() string {
	if len(l.pieces) > 0 {
		l.write(pawl.AgentUpdate{Kind: l.piecesOf, Text: string(l.pieces)})
		l.pieces = nil
	}
	if l.dropped == 0 {
		return l.text.String()
	}
	note, _ := json.Marshal(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: fmt.Sprintf("%d more updates are not kept", l.dropped)}) // it can always be encoded
	return l.text.String() + string(note) + "\n"
}
