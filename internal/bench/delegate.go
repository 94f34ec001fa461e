package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/engine"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
)

// Delegates is what a session of a coding agent in a run costs beyond what the agent's program takes by
// itself.
type Delegates struct {
	// Skipped says why nothing was measured; empty if something was.
	Skipped string     `json:"skipped,omitempty"`
	Agents  []Delegate `json:"agents"`
}

// Delegate is what sessions of one agent take. The times are from when the run requests the turn to when
// its answer is stored, and alone from the start of the program to its end.
type Delegate struct {
	Agent string `json:"agent"`
	Times int    `json:"times"`
	// First is a session that opens the agent's room, with a new home; Next is one in the room that is
	// open. FirstAlone and NextAlone are the same prompt and options for the program by itself.
	First      Percentiles `json:"first"`
	FirstAlone Percentiles `json:"first_alone"`
	Next       Percentiles `json:"next"`
	NextAlone  Percentiles `json:"next_alone"`
	// FirstOver and NextOver are the differences of the medians.
	FirstOver time.Duration `json:"first_overhead_ns"`
	NextOver  time.Duration `json:"next_overhead_ns"`
	// Helpers is the memory of the processes that Pawl adds, and Growth by how much Pawl itself grows
	// during a run; medians of the peaks, in bytes. -1 = it cannot be measured here.
	Helpers int64 `json:"helpers_bytes"`
	Growth  int64 `json:"growth_bytes"`
}

// Delegation is how turns of coding agents are made, as cmd/pawl joins it.
type Delegation struct {
	Delegate func(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (runner.Delegate, error)
	Serve    func(ctx context.Context, l net.Listener, tools []pawl.ToolSpec, call runner.ToolCall) error
}

// claudeProgram is the name of Claude Code's program, and claudeAgent what it is called as a provider.
const (
	claudeProgram = "claude"
	claudeAgent   = "claude-code"
)

// instant is a program that answers a prompt at once, as Claude Code prints it.
const instant = `#!/bin/sh
read -r prompt
echo '{"type":"system","subtype":"init","session_id":"s","model":"bench"}'
echo '{"type":"assistant","message":{"id":"m","model":"bench","role":"assistant","content":[{"type":"text","text":"OK"}]},"session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"OK","stop_reason":"end_turn","session_id":"s","total_cost_usd":0}'
cat >/dev/null
`

// MeasureDelegates measures sessions of a program that answers at once and, if it is installed and
// realTimes is not 0, of Claude Code, which asks a server of ours.
func MeasureDelegates(ctx context.Context, o Options, times, realTimes int) (d Delegates, err error) {
	box, err := sandbox.Probe(ctx)
	switch {
	case pawl.CodeOf(err) == pawl.CodeUnavailable:
		d.Skipped = err.Error()
		return d, nil
	case err != nil:
		return d, err
	case o.Delegation == nil:
		return d, pawl.Errorf(pawl.CodeInternal, "the benchmark is given no agents")
	}
	dir, err := os.MkdirTemp(o.Dir, "delegate-")
	if err != nil {
		return d, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return d, err
	}
	if err := os.WriteFile(filepath.Join(bin, claudeProgram), []byte(instant), 0o755); err != nil { //nolint:gosec // it is a program
		return d, err
	}
	path := os.Getenv("PATH")
	measure := func(name, path string, times int) error {
		o.Progress(fmt.Sprintf("%s, %d times in each way, in turn", name, times))
		one, err := measureDelegate(ctx, o, box, dir, path, times)
		one.Agent = name
		d.Agents = append(d.Agents, one)
		return err
	}
	if err := measure("a program that answers at once", bin+string(os.PathListSeparator)+path, times); err != nil {
		return d, err
	}
	program, err := exec.LookPath(claudeProgram)
	if err != nil || realTimes < 1 {
		return d, nil // it is not installed, or not wanted
	}
	version, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return d, fmt.Errorf("%s --version: %w", program, err)
	}
	return d, measure(strings.TrimSpace(string(version)), path, realTimes)
}

// delegateBed is what sessions are measured on.
type delegateBed struct {
	dir, path, server string
	engine            *engine.Engine
	made              made
}

// measureDelegate measures sessions of the agent on a PATH.
func measureDelegate(ctx context.Context, o Options, box *sandbox.Box, dir, path string, times int) (out Delegate, err error) {
	out.Times = times
	dir, err = os.MkdirTemp(dir, "agent-")
	if err != nil {
		return out, fmt.Errorf("make a folder: %w", err)
	}
	server, err := newMessages(ctx)
	if err != nil {
		return out, err
	}
	defer server.close()
	repo := filepath.Join(dir, "repo")
	if err := layRepository(ctx, repo, delegateFiles, 0); err != nil {
		return out, err
	}
	b := &delegateBed{dir: dir, path: path, server: server.url}
	with := o.Delegation(b.environ(filepath.Join(dir, "home")))
	e, stop, err := newEngine(ctx, box, repo, filepath.Join(dir, "state"), nil, twoSessions(), func(r *runner.Runner) {
		r.Delegate, r.ServeTools = b.made.watch(with.Delegate), with.Serve
	})
	if err != nil {
		return out, err
	}
	defer stop()
	b.engine = e
	if err := b.times(ctx, &out); err != nil {
		return out, err
	}
	return out, b.memory(ctx, &out)
}

// environ returns the environment of a user who has a key for the server.
func (b *delegateBed) environ(home string) []string {
	return []string{"PATH=" + b.path, "HOME=" + home, "ANTHROPIC_API_KEY=bench", "ANTHROPIC_BASE_URL=" + b.server}
}

// twoSessions is a run of two sessions in the same worktree.
func twoSessions() pawl.RunSpec {
	m := pawl.ModelChoice{Provider: claudeAgent, Name: "haiku", MaxOutput: 4000, Agent: true}
	step := func(name string) pawl.Step {
		return pawl.Step{Name: name, Role: "implementation", Prompt: "p.md", Tools: []string{"read", "write", "edit", "run"}, Output: "result"}
	}
	return pawl.RunSpec{
		Recipe: pawl.Recipe{Name: "bench", Start: "task", Kinds: []pawl.LoopKind{{
			Name: "task", Steps: []pawl.Step{step("first"), step("next")}, Iterations: 1,
		}}},
		Prompts:  map[string]string{"p.md": "Answer with the single word OK.\n---user---\n{{.Goal}}\n"},
		Settings: pawl.Settings{Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100},
	}
}

// times measures how long sessions take, in turn with the program by itself.
func (b *delegateBed) times(ctx context.Context, out *Delegate) error {
	if _, _, err := b.run(ctx); err != nil { // caches are cold at first
		return err
	}
	var took [4][]time.Duration
	for range out.Times {
		first, next, err := b.run(ctx)
		if err != nil {
			return err
		}
		home, err := os.MkdirTemp(b.dir, "alone-")
		if err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		firstAlone, err := b.alone(ctx, home)
		if err != nil {
			return err
		}
		nextAlone, err := b.alone(ctx, home)
		if err != nil {
			return err
		}
		for i, t := range []time.Duration{first, firstAlone, next, nextAlone} {
			took[i] = append(took[i], t)
		}
	}
	out.First, out.FirstAlone, out.Next, out.NextAlone = percentiles(took[0]), percentiles(took[1]), percentiles(took[2]), percentiles(took[3])
	out.FirstOver, out.NextOver = out.First.Median-out.FirstAlone.Median, out.Next.Median-out.NextAlone.Median
	return nil
}

// run makes a run, and returns how long its two turns took.
func (b *delegateBed) run(ctx context.Context) (first, next time.Duration, err error) {
	info, err := b.engine.Start(ctx, pawl.StartRequest{Goal: "bench"})
	if err != nil {
		return 0, 0, err
	}
	var took []time.Duration
	var requested time.Time
	for u, err := range b.engine.Watch(ctx, info.ID, 0) {
		if err != nil {
			return 0, 0, err
		}
		if u.Event == nil {
			continue
		}
		switch body := u.Event.Body.(type) {
		case *pawl.EffectRequested:
			if _, is := body.Effect.Do.(*pawl.CallModel); is {
				requested = u.Event.Time
			}
		case *pawl.ModelReplied:
			took = append(took, u.Event.Time.Sub(requested))
		case *pawl.RunEnded:
			if body.Outcome != pawl.OutcomeUnverified || len(took) != 2 {
				return 0, 0, fmt.Errorf("the bench's run ended %s after %d turns: %s", body.Outcome, len(took), body.Reason)
			}
		}
	}
	if len(took) != 2 {
		return 0, 0, fmt.Errorf("the bench's run had %d turns", len(took))
	}
	return took[0], took[1], nil
}

// alone runs the agent's program by itself, with the prompt and the options of the last turn but for
// those that name Pawl's MCP server, and returns how long that took.
func (b *delegateBed) alone(ctx context.Context, home string) (took time.Duration, err error) {
	argv, environ, prompt, files := b.made.last()
	fill := strings.NewReplacer("{gateway}", b.server, "{home}", home)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // it is the agent that is measured
	cmd.Dir = filepath.Join(b.dir, "repo")
	cmd.Env = []string{"PATH=" + b.path, "HOME=" + home}
	for _, v := range environ {
		cmd.Env = append(cmd.Env, fill.Replace(v))
	}
	for _, f := range files {
		name := filepath.Join(home, filepath.FromSlash(f.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(fill.Replace(string(f.Data))), 0o600)); err != nil {
			return 0, err
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": prompt}})
	if err != nil {
		return 0, err
	}
	from := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, wrote := in.Write(append(line, '\n'))
	answered := false
	for lines := bufio.NewReader(stdout); ; {
		text, err := lines.ReadString('\n')
		if strings.Contains(text, `"type":"result"`) {
			answered = strings.Contains(text, `"is_error":false`)
			_ = in.Close() // it is to end now
		}
		if err != nil {
			break
		}
	}
	_ = in.Close() // it may be closed
	if err := errors.Join(wrote, cmd.Wait()); err != nil || !answered {
		return 0, fmt.Errorf("%s by itself did not answer: %w: %s", argv[0], err, said.Bytes())
	}
	return time.Since(from), nil
}

// memory measures what Pawl adds to the memory of an agent.
func (b *delegateBed) memory(ctx context.Context, out *Delegate) error {
	var helpers, growth []int64
	for range memoryRuns {
		end := watchMemory()
		_, _, err := b.run(ctx)
		h, g := end()
		if err != nil {
			return err
		}
		helpers, growth = append(helpers, h), append(growth, g)
	}
	slices.Sort(helpers)
	slices.Sort(growth)
	out.Helpers, out.Growth = helpers[len(helpers)/2], growth[len(growth)/2]
	return nil
}

// made is how the last turn was made.
type made struct {
	mu      sync.Mutex // guards what follows
	argv    []string
	environ []string
	prompt  string
	files   []pawl.RoomFile
}

// watch returns delegates that record how turns are made.
func (m *made) watch(make func(context.Context, driver.Job, pawl.ModelChoice) (runner.Delegate, error)) func(context.Context, driver.Job, pawl.ModelChoice) (runner.Delegate, error) {
	return func(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (runner.Delegate, error) {
		d, err := make(ctx, job, choice)
		if err != nil {
			return d, err
		}
		in, spec := d.In, d.Room
		d.In = func(room pawl.DelegateRoom) pawl.Agent { return recordedAgent{in(room), m, spec} }
		return d, nil
	}
}

// last returns the command of the last turn without Pawl's MCP server, and what it had.
func (m *made) last() (argv, environ []string, prompt string, files []pawl.RoomFile) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i < len(m.argv); i++ {
		if a := m.argv[i]; a == "--mcp-config" || a == "--allowedTools" {
			i++
			continue
		}
		argv = append(argv, m.argv[i])
	}
	return argv, m.environ, m.prompt, m.files
}

// recordedAgent records how its turns are made.
type recordedAgent struct {
	pawl.Agent
	made *made
	spec pawl.DelegateSpec
}

// Turn implements [pawl.Agent].
func (a recordedAgent) Turn(ctx context.Context, room pawl.Room, turn pawl.AgentTurn, tell func(pawl.AgentUpdate)) (pawl.AgentReply, error) {
	a.made.mu.Lock()
	a.made.prompt = turn.Prompt
	a.made.mu.Unlock()
	return a.Agent.Turn(ctx, recordedRoom{room, a}, turn, tell)
}

type recordedRoom struct {
	pawl.Room
	of recordedAgent
}

// Run implements [pawl.Room].
func (r recordedRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	m := r.of.made
	m.mu.Lock()
	m.argv, m.environ, m.files = cmd.Argv, slices.Concat(r.of.spec.Environ, cmd.Env), r.of.spec.Home
	m.mu.Unlock()
	return r.Room.Run(ctx, cmd)
}

// sayOK is an answer in the protocol Anthropic Messages.
const sayOK = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"OK"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`

// newMessages starts a server that answers every message at once.
func newMessages(ctx context.Context) (*modelServer, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen as a model's server: %w", err)
	}
	m := &modelServer{url: "http://" + l.Addr().String()}
	m.http = &http.Server{ReadHeaderTimeout: daemonPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // who asks may be gone
		if !strings.HasSuffix(r.URL.Path, "/messages") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sayOK) // who asked may be gone
	})}
	go func() { _ = m.http.Serve(l) }()
	return m, nil
}

func (d *Delegates) print(p printer) {
	if d.Skipped != "" {
		p("\ndelegate: not measured: %s", d.Skipped)
		return
	}
	for _, a := range d.Agents {
		p("\na session of %s, %d times in each way, in turn", a.Agent, a.Times)
		p("  %-38s %s", "the program alone, with a new home", a.FirstAlone)
		p("  %-38s %s", "a session that opens the room", a.First)
		p("  %-38s %s", "the program alone, again", a.NextAlone)
		p("  %-38s %s", "a session in the room that is open", a.Next)
		p("  Pawl adds %s with the room, %s in the open room, and %s", ms(a.FirstOver), ms(a.NextOver), memoryText(a.Helpers, a.Growth))
	}
}

func memoryText(helpers, growth int64) string {
	if helpers < 0 {
		return "memory that cannot be measured here"
	}
	return fmt.Sprintf("%.1f MB: %.1f in processes around the agent, and %.1f by which it grows itself", mb(helpers+growth), mb(helpers), mb(growth))
}

func mb(n int64) float64 { return float64(n) / 1e6 }
