package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) callModel(ctx context.Context, job driver.Job, do *pawl.CallModel, a *answer) (pawl.Answer, error) {
	model, err := r.Model(ctx, job, do.Tier)
	if err != nil {
		return nil, err
	}
	req, err := r.modelRequest(ctx, job, do)
	if err != nil {
		return nil, err
	}
	reply, err := model.Call(ctx, req, func(d pawl.ModelDelta) {
		switch {
		case d.Text != "":
			job.Live(d.Text)
		case d.Tool != "":
			job.Live("\n[" + d.Tool + "]\n")
		}
	})
	if err != nil {
		return nil, err
	}
	return r.replied(ctx, job, req, reply, a)
}

// modelRequest reads everything a call sends.
func (r *Runner) modelRequest(ctx context.Context, job driver.Job, do *pawl.CallModel) (pawl.ModelRequest, error) {
	choice := job.Settings.Models[do.Tier-1]
	req := pawl.ModelRequest{Model: choice.Name, MaxOutput: do.MaxOutput, Idle: choice.Idle, Place: job.Effect.Place}
	req.Place.Run = job.Run
	if !do.System.IsZero() {
		system, err := job.Blob(ctx, do.System)
		if err != nil {
			return req, fmt.Errorf("read the system prompt: %w", err)
		}
		req.System = string(system)
	}
	if !do.Tools.IsZero() {
		data, err := job.Blob(ctx, do.Tools)
		if err != nil {
			return req, fmt.Errorf("read the tools: %w", err)
		}
		if err := json.Unmarshal(data, &req.Tools); err != nil {
			return req, fmt.Errorf("read the tools: %w", err)
		}
	}
	var err error
	req.Messages, err = messages(ctx, job)
	return req, err
}

// messages turns a transcript into messages: what the model does not say itself
// (the prompt, tool results, notes) is the user's, and what stands together is
// one message.
func messages(ctx context.Context, job driver.Job) ([]pawl.Message, error) {
	var out []pawl.Message
	var uses []pawl.Block // of the last reply
	user := func(b pawl.Block) {
		if n := len(out); n == 0 || out[n-1].Role != pawl.RoleUser {
			out = append(out, pawl.Message{Role: pawl.RoleUser})
		}
		last := &out[len(out)-1]
		last.Blocks = append(last.Blocks, b)
	}
	for _, item := range job.Effect.Transcript {
		text := item.Text
		if !item.Blob.IsZero() {
			data, err := job.Blob(ctx, item.Blob)
			if err != nil {
				return nil, fmt.Errorf("read the transcript: %w", err)
			}
			text = string(data)
		}
		switch item.Kind {
		case pawl.ItemAssistant:
			var m pawl.Message
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				return nil, fmt.Errorf("read the transcript: %w", err)
			}
			out, uses = append(out, m), toolUses(m)
		case pawl.ItemResult:
			if int(item.Call) >= len(uses) {
				return nil, fmt.Errorf("read the transcript: a result for call %d of %d", item.Call, len(uses))
			}
			user(pawl.Block{Kind: pawl.BlockToolResult, CallID: uses[item.Call].CallID, Tool: uses[item.Call].Tool, Text: text, IsError: item.IsError})
		default:
			user(pawl.Block{Kind: pawl.BlockText, Text: text})
		}
	}
	return out, nil
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

// replied makes the fact of a reply: its message as a blob, and of each call
// what decisions need.
func (r *Runner) replied(ctx context.Context, job driver.Job, req pawl.ModelRequest, reply pawl.ModelReply, a *answer) (pawl.Answer, error) {
	reply.Message.Blocks = firstCalls(reply.Message.Blocks)
	message, err := json.Marshal(reply.Message)
	if err != nil {
		return nil, fmt.Errorf("encode the reply: %w", err)
	}
	out := &pawl.ModelReplied{
		Effect: job.Effect.ID, Message: a.blob(message), Bytes: int64(len(message)),
		Stop: reply.Stop, Model: reply.Model, Usage: reply.Usage,
	}
	var said []string
	for _, b := range reply.Message.Blocks {
		switch b.Kind {
		case pawl.BlockText:
			said = append(said, b.Text)
		case pawl.BlockToolUse:
			use, err := r.use(ctx, job, req.Tools, b, a)
			if err != nil {
				return nil, err
			}
			out.Calls = append(out.Calls, use)
		}
	}
	fitProblems(out.Calls)
	out.Text = a.text(strings.TrimSpace(strings.Join(said, "\n\n")))
	return out, nil
}

// Bounds of what one reply may ask for: an event has to stay small.
const (
	maxCalls    = 24  // tool calls of one reply
	maxProblems = 600 // bytes for saying what is wrong with them, together
)

// firstCalls drops the calls of a reply beyond the first [maxCalls] and says so
// in the message itself: what is not in the transcript needs no result.
func firstCalls(blocks []pawl.Block) []pawl.Block {
	var out []pawl.Block
	n := 0
	for _, b := range blocks {
		if b.Kind == pawl.BlockToolUse {
			if n++; n > maxCalls {
				continue
			}
		}
		out = append(out, b)
	}
	if n > maxCalls {
		note := pawl.Block{Kind: pawl.BlockText, Text: fmt.Sprintf("(%d calls at once: only the first %d are made.)", n, maxCalls)}
		i := slices.IndexFunc(out, func(b pawl.Block) bool { return b.Kind == pawl.BlockToolUse })
		out = slices.Insert(out, i, note)
	}
	return out
}

// fitProblems shortens what is said about the calls, and lets only one call
// hand in the result.
func fitProblems(calls []pawl.ToolUse) {
	wrong, submitted := 0, false
	for i := range calls {
		c := &calls[i]
		if c.Submit && c.Problem == "" {
			if submitted {
				c.Problem, c.Facts = "a result was handed in with this reply already", nil
			}
			submitted = true
		}
		if c.Problem != "" {
			wrong++
		}
	}
	for i := range calls {
		calls[i].Problem = short(calls[i].Problem, max(maxProblems/max(wrong, 1), 20))
	}
}

// use looks at one call: is there such a tool, are its arguments right, does it
// hand in the session's result.
func (r *Runner) use(ctx context.Context, job driver.Job, allowed []pawl.ToolSpec, b pawl.Block, a *answer) (pawl.ToolUse, error) {
	use := pawl.ToolUse{Tool: short(b.Tool, 60), Args: a.blob(b.Args)}
	var spec *pawl.ToolSpec
	for i := range allowed {
		if allowed[i].Name == b.Tool {
			spec = &allowed[i]
		}
	}
	if spec == nil {
		return use, nil // the kernel says that there is no such tool
	}
	name, submits := strings.CutPrefix(b.Tool, "submit_")
	use.Submit = submits
	if use.Problem = short(r.Tools.Check(*spec, b.Args), 400); use.Problem != "" {
		return use, nil
	}
	if submits {
		criteria, err := criteria(ctx, job)
		if err != nil {
			return use, err
		}
		var problem string
		use.Facts, problem = r.Submits.Facts(name, b.Args, criteria)
		use.Problem = short(problem, 400)
		return use, nil
	}
	if t, ok := r.Tools.Lookup(b.Tool); ok {
		use.Class = t.Class()
	}
	return use, nil
}

func criteria(ctx context.Context, job driver.Job) ([]pawl.Criterion, error) {
	data, err := job.Blob(ctx, job.Started.Criteria)
	if err != nil {
		return nil, fmt.Errorf("read the criteria: %w", err)
	}
	var out []pawl.Criterion
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read the criteria: %w", err)
	}
	return out, nil
}
