package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/evidence"
)

// Delegate is a coding agent that the user has installed, as a run uses it.
type Delegate struct {
	// Room describes the agent's room. Its AgentRoom and ReadOnly are filled in for each turn.
	Room pawl.DelegateSpec
	// In returns the agent for an open room.
	In func(pawl.DelegateRoom) pawl.Agent
	// Model is the agent's name of the model; empty = the agent chooses.
	Model string
	// Done is called after each turn with its error, and returns the error that counts, and what
	// people should know; nil = there is nothing to do.
	Done func(ctx context.Context, room pawl.DelegateRoom, err error) (said string, counts error)
}

// ToolCall answers a call of one of our tools during an agent's turn.
type ToolCall func(ctx context.Context, tool string, args json.RawMessage) (text string, isError bool)

// hiddenNote tells an agent why some files are not as git has them.
const hiddenNote = "Files that coding agents take instructions and settings from, such as AGENTS.md and .claude, are empty in your checkout and cannot be changed, " +
	"unless the request is about them. Leave them as they are: what the project's instructions say is in your prompt."

// agentsOwn are the tools that a coding agent has itself, in a form of its own.
var agentsOwn = []string{"read", "write", "edit", "list", "glob", "grep", "run"}

// toolServer is the name of our MCP server, as the agent knows it.
const toolServer = "pawl"

// turn has a coding agent make a turn.
func (r *Runner) turn(ctx context.Context, job driver.Job, do *pawl.CallModel, choice *pawl.ModelChoice, a *answer) (pawl.Answer, error) {
	unsent := func(err error) (pawl.Answer, error) { return nil, &ownError{error: err, unsent: true} }
	if r.Delegate == nil {
		return unsent(pawl.Errorf(pawl.CodeInvalid, "a turn of a coding agent: none can be run here"))
	}
	delegate, err := r.Delegate(ctx, job, *choice)
	if err != nil {
		return unsent(err)
	}
	t := &turn{r: r, job: job, do: do, choice: choice, a: a}
	if err := t.read(ctx); err != nil {
		return unsent(err)
	}
	room, err := r.delegateRoom(ctx, job, delegate, t.access)
	if err != nil {
		return unsent(err)
	}
	out, err := t.work(ctx, delegate, room)
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		a.transcript = t.log.String()
	}
	return out, err
}

// work makes the turn in an open room, and closes the room.
func (t *turn) work(ctx context.Context, delegate Delegate, room pawl.DelegateRoom) (pawl.Answer, error) {
	before, _ := room.Traffic()
	reply, spoke := t.speak(ctx, delegate, room)
	if delegate.Done != nil {
		var said string
		if said, spoke = delegate.Done(context.WithoutCancel(ctx), room, spoke); said != "" {
			t.note(said)
		}
	}
	if after, all := room.Traffic(); spoke != nil && all {
		sent, received := passed(after)
		sentBefore, receivedBefore := passed(before)
		spoke = &billed{spoke, sent - sentBefore, received - receivedBefore}
	}
	if err := room.Close(); err != nil && spoke == nil {
		spoke = &ownError{error: err, used: reply.Usage}
	}
	if spoke == nil && reply.Stop == pawl.AgentRefused {
		spoke = &pawl.ModelError{Kind: pawl.ModelRefused, Used: reply.Usage, Message: cmp.Or(reply.Text, "the agent's model refused")}
	}
	if spoke != nil {
		return nil, spoke
	}
	out, err := t.ended(ctx, reply)
	if err != nil {
		return nil, &ownError{error: err, used: reply.Usage}
	}
	return out, nil
}

// passed returns the bytes that got out of a room and that came back.
func passed(traffic []pawl.Contact) (sent, received int64) {
	for _, c := range traffic {
		if c.Refused == "" {
			sent, received = sent+c.Sent, received+c.Received
		}
	}
	return sent, received
}

// delegateRoom opens the room of a turn.
func (r *Runner) delegateRoom(ctx context.Context, job driver.Job, d Delegate, access pawl.AgentAccess) (pawl.DelegateRoom, error) {
	at, err := r.Spaces.Locate(ctx, job.Workspace)
	if err != nil {
		return nil, err
	}
	spec := d.Room
	spec.AgentRoom = pawl.AgentRoom{Run: job.Run, Name: job.Workspace, Tree: at.Dir, Prepared: at.Furniture.Key, Limits: job.Settings.Room}
	spec.ReadOnly = access == pawl.AgentReads
	if spec.Hides != nil && access == pawl.AgentWrites {
		if spec.Shows, err = r.askedFor(ctx, job); err != nil {
			return nil, err
		}
	}
	return r.Rooms.Delegate(ctx, spec)
}

// askedFor returns what reports whether the user asks for the change of a file, or allows it: a goal may be about
// what agents take from the repository.
func (r *Runner) askedFor(ctx context.Context, job driver.Job) (func(name string) bool, error) {
	asked, err := textOf(ctx, job, "what was asked for", job.Started.Goal, job.Started.Criteria)
	return func(name string) bool {
		allowed := func(at string) bool {
			return name == at || strings.HasPrefix(name, at+"/") || strings.HasPrefix(at, name+"/")
		}
		return slices.ContainsFunc(job.Settings.AllowPaths, allowed) || evidence.Names(asked, name) || strings.Contains(asked, name+"/")
	}, err
}

// turn is a turn of a coding agent that is being made.
type turn struct {
	r   *Runner
	job driver.Job
	do  *pawl.CallModel
	a   *answer
	// choice is the model, with its prices, that do calls.
	choice *pawl.ModelChoice

	system, prompt string
	tools          []pawl.ToolSpec // ours, that the agent is offered
	access         pawl.AgentAccess

	progress pawl.AgentProgressed // as last told; only used by hear

	mu      sync.Mutex   // guards what follows: tools are called from other goroutines
	calls   []pawl.Block // of our tools, in order
	log     transcriptLog
	failure error // of a call that could not be looked at
}

// read reads everything that the turn sends.
func (t *turn) read(ctx context.Context) error {
	req, err := modelRequest(ctx, t.job, t.do, t.choice)
	if err != nil {
		return err
	}
	t.system, t.access = req.System, pawl.AgentReads
	for _, s := range req.Tools {
		tool, ok := t.r.Tools.Lookup(s.Name)
		switch {
		case !slices.Contains(agentsOwn, s.Name):
			t.tools = append(t.tools, s)
		case ok && tool.Class() != pawl.CrashRepeat:
			t.access = pawl.AgentWrites
		}
	}
	t.prompt, err = t.words(ctx)
	return err
}

// speak makes the turn in an open room.
func (t *turn) speak(ctx context.Context, d Delegate, room pawl.DelegateRoom) (pawl.AgentReply, error) {
	limits := t.job.Settings.Session.Filled()
	turn := pawl.AgentTurn{
		Model: d.Model, System: t.system, Prompt: t.prompt,
		Session: t.do.Agent.Session, Used: t.do.Agent.Used, Spent: t.do.Agent.Spent,
		Access: t.access, Confined: t.r.Rooms.Confined(),
		Limits: pawl.AgentLimits{
			Money: t.do.Reserved, Tokens: t.do.ReservedTokens, Price: t.choice.Price,
			Silence: limits.Silence, ToolTime: limits.ToolTime,
		},
	}
	if d.Room.Hides != nil && t.r.Rooms.Confined() {
		turn.System = strings.TrimSpace(turn.System + "\n\n" + hiddenNote)
	}
	if len(t.tools) > 0 {
		server, end, err := t.offer(ctx, room)
		if err != nil {
			return pawl.AgentReply{}, &ownError{error: err, unsent: true}
		}
		defer end()
		turn.Servers = []pawl.AgentServer{server}
	}
	var end func()
	turn.Info, end = t.inform(ctx)
	reply, err := d.In(room).Turn(ctx, room, turn, t.hear)
	end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.failure != nil {
		err = &ownError{error: t.failure, used: reply.Usage}
	}
	return reply, err
}

// inform passes on what people tell the agent, and notes it in the transcript, until end is called.
func (t *turn) inform(ctx context.Context) (infos <-chan string, end func()) {
	if t.job.Infos == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan string)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case text := <-t.job.Infos:
				select {
				case out <- text:
					t.note("a person says: " + text)
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return out, func() {
		cancel()
		wg.Wait()
	}
}

// offer starts the MCP server with our tools. End stops it.
func (t *turn) offer(ctx context.Context, room pawl.DelegateRoom) (server pawl.AgentServer, end func(), err error) {
	l, relay, err := room.Listen(fmt.Sprintf("tools-%d", t.job.Effect.ID))
	if err != nil {
		return server, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := t.r.ServeTools(ctx, l, t.tools, t.call); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			t.note("the MCP server ended: " + err.Error())
		}
	})
	server = pawl.AgentServer{Name: toolServer, Argv: relay}
	for _, s := range t.tools {
		server.Tools = append(server.Tools, s.Name)
	}
	return server, func() {
		cancel()
		_ = l.Close() // the server may have closed it
		wg.Wait()
	}, nil
}

// What the agent hears of a call of ours before its turn is over.
const (
	textReceived = "Received. End your turn now. If something is missing you will be told."
	textNoted    = "Noted."
	textLater    = "This is done when you end your turn. You are then told the result, and can continue. End your turn now."
	textTooMany  = "There were too many calls in this turn. End your turn now."
)

// call answers a call of one of our tools. What is wrong with it is said at once; everything else is
// decided when the turn is over.
func (t *turn) call(ctx context.Context, tool string, args json.RawMessage) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) >= maxCalls {
		return textTooMany, true
	}
	b := pawl.Block{Kind: pawl.BlockToolUse, CallID: fmt.Sprintf("own_%d", len(t.calls)+1), Tool: tool, Args: t.a.cleanJSON(args)}
	use, err := t.r.use(ctx, t.job, t.tools, b, &answer{redact: t.a.redact})
	if err != nil {
		t.failure = err
		return "The tool could not work: " + err.Error(), true
	}
	t.calls = append(t.calls, b)
	switch {
	case use.Problem != "":
		return use.Problem, true
	case use.Submit:
		return textReceived, false
	case tool == toolRemember:
		return textNoted, false
	}
	return textLater, false
}

// isTold reports whether the agent needs no further answer to a call, if that is no error.
func isTold(use *pawl.ToolUse) bool {
	return use.Submit || use.Problem != "" || use.Tool == toolRemember
}

// ended returns the answer for a turn that has ended.
func (t *turn) ended(ctx context.Context, reply pawl.AgentReply) (pawl.Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := pawl.Message{Role: pawl.RoleAssistant}
	if reply.Text != "" {
		m.Blocks = append(m.Blocks, pawl.Block{Kind: pawl.BlockText, Text: reply.Text})
	}
	t.fallBack(ctx, reply.Text)
	m.Blocks = append(m.Blocks, t.calls...)
	out, err := t.r.replied(ctx, t.job, t.tools, pawl.ModelReply{
		Message: m, Stop: pawl.StopEnd, Usage: reply.Usage, Model: cmp.Or(reply.Model, t.choice.Name),
	}, t.a)
	if err != nil {
		return nil, err
	}
	for i := range out.Calls {
		out.Calls[i].Told = isTold(&out.Calls[i])
	}
	recording, err := t.r.Spaces.Tree(ctx, t.job.Workspace)
	if err != nil {
		return nil, fmt.Errorf("record the worktree after the turn: %w", err)
	}
	log, _ := t.a.text(t.log.String())
	out.Agent = &pawl.AgentTurned{
		Stop: reply.Stop, Session: reply.Session, Transcript: log, Tree: recording.Tree, LeftOut: met(recording.LeftOut),
		Changed: t.access == pawl.AgentReads && recording.Tree != t.do.Agent.Before,
		Version: t.a.clean(reply.Version), Tools: t.log.tools, Failed: t.log.failed,
		Commands: t.log.commands, CommandFailed: t.log.commandFailed, Heard: max(reply.Heard, 0),
	}
	if len(out.Agent.Session) > pawl.MaxAgentSession {
		out.Agent.Session = ""
	}
	if reply.Priced {
		out.Agent.Worth = max(reply.Cost, 0)
	}
	return out, nil
}

// fallBack takes the last message for the result that the session owes, if the agent handed in none
// and the message is one, whole or in a fenced block at its end.
func (t *turn) fallBack(ctx context.Context, text string) {
	i := slices.IndexFunc(t.tools, func(s pawl.ToolSpec) bool {
		_, submits := pawl.SubmittedBy(s.Name)
		return submits
	})
	if i < 0 || slices.ContainsFunc(t.calls, func(b pawl.Block) bool { return b.Tool == t.tools[i].Name }) {
		return
	}
	args := jsonIn(text)
	if args == nil {
		return
	}
	b := pawl.Block{Kind: pawl.BlockToolUse, CallID: "own_text", Tool: t.tools[i].Name, Args: t.a.cleanJSON(args)}
	use, err := t.r.use(ctx, t.job, t.tools, b, &answer{redact: t.a.redact})
	if err == nil && use.Problem == "" {
		t.calls = append(t.calls, b)
	}
}

// jsonIn returns the JSON object that a text is, or that is in its last fenced block; nil if there is
// none.
func jsonIn(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutSuffix(text, "```"); ok {
		if i := strings.LastIndex(rest, "```"); i >= 0 {
			text = strings.TrimSpace(strings.TrimPrefix(rest[i+3:], "json"))
		}
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return nil
}

// hear takes in an update of the agent.
func (t *turn) hear(u pawl.AgentUpdate) {
	if t.job.Heard != nil {
		t.job.Heard()
	}
	if u.Kind == pawl.UpdateSession || u.Kind == pawl.UpdateUsage {
		t.progressed(&u)
	}
	if shown := shownOf(u); shown != "" {
		t.job.Live(shown)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.add(u)
}

// progressed tells the run of the agent's session, of the first usage, and of each further step of the
// reservation that is used. A turn that is lost before it has told any usage is charged its reservation.
func (t *turn) progressed(u *pawl.AgentUpdate) {
	if t.job.Progressed == nil {
		return
	}
	now := t.progress
	now.Effect = t.job.Effect.ID
	switch {
	case u.Kind == pawl.UpdateUsage:
		now.Used, now.Worth = usageOf(u.Usage), max(u.Cost, 0)
		if now.Worth == 0 {
			now.Worth = t.choice.Price.Cost(now.Used)
		}
		first := now.Used != (pawl.Usage{}) && t.progress.Used == (pawl.Usage{})
		if !first && t.steps(&now) == t.steps(&t.progress) {
			return
		}
	case u.Text == now.Session || len(u.Text) > pawl.MaxAgentSession:
		return
	default:
		now.Session = u.Text
	}
	t.progress = now
	t.job.Progressed(&now)
}

// steps returns how many steps of the turn's reservation have been used.
func (t *turn) steps(b *pawl.AgentProgressed) int64 {
	var n int64
	if step := t.do.ReservedTokens / pawl.ProgressSteps; step > 0 {
		n = b.Used.Total() / step
	}
	if step := t.do.Reserved / pawl.ProgressSteps; step > 0 {
		n = max(n, int64(b.Worth/step))
	}
	return n
}

func (t *turn) note(text string) {
	t.hear(pawl.AgentUpdate{Kind: pawl.UpdateNote, Text: text})
}

// shownOf returns what people who watch see of an update.
func shownOf(u pawl.AgentUpdate) string {
	switch u.Kind {
	case pawl.UpdateText, pawl.UpdateThought:
		if u.Partial {
			return u.Text
		}
		return "\n"
	case pawl.UpdateCall:
		return "\n[" + strings.TrimSpace(u.Tool+" "+u.Title) + "]\n"
	case pawl.UpdatePermission:
		if u.Failed {
			return "\n[" + strings.TrimSpace("refused: "+u.Tool+" "+u.Title) + "]\n"
		}
	case pawl.UpdateNote:
		return "\n(" + u.Text + ")\n"
	}
	return ""
}
