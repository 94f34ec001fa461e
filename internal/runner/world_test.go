package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/gate/command"
	"pawl/internal/room"
	"pawl/internal/runner"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/helper"
	"pawl/internal/store/mem"
	"pawl/internal/tool"
	"pawl/internal/tool/submit"
	"pawl/internal/workspace/gitworktree"
)

// The test program also plays the supervisor of the commands it runs. It ends at
// once: under -cover, os.Exit would write a warning among a command's output.
func TestMain(m *testing.M) {
	if code, ok := helper.Run(os.Args); ok {
		syscall.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

const (
	runID  = "001-add-login"
	branch = "pawl/001-add-login"
)

// world is a run with real worktrees, tools and commands, and blobs in memory.
type world struct {
	r      *runner.Runner
	job    driver.Job // what all jobs have
	base   pawl.CommitHash
	repo   string
	log    *mem.Log
	secret string // must not become durable

	mu   sync.Mutex // guards seq, said and of log the order
	seq  pawl.Seq
	said []string // live text
}

// MustWorld makes a repository with one commit of these files, and a runner on it.
func MustWorld(tb testing.TB, files map[string]string) *world {
	tb.Helper()
	return MustWorldIn(tb, sandbox.Unconfined(), files)
}

// MustWorldIn is MustWorld with a sandbox.
func MustWorldIn(tb testing.TB, box *sandbox.Box, files map[string]string) *world {
	tb.Helper()
	top := tb.TempDir()
	w := &world{repo: filepath.Join(top, "repo"), log: mem.New()}
	for name, content := range files {
		MustWrite(tb, filepath.Join(w.repo, name), content)
	}
	MustWrite(tb, filepath.Join(w.repo, "README"), "A project.\n")
	w.git(tb, "init", "-q", "-b", "main")
	w.git(tb, "add", "-A", ".")
	w.git(tb, "commit", "-q", "-m", "Base")
	w.base = pawl.CommitHash(w.git(tb, "rev-parse", "HEAD"))

	found := pawl.Repository{Root: w.repo, GitDir: filepath.Join(w.repo, ".git"), Head: w.base, Branch: "main"}
	var rooms *room.Rooms
	spaces, err := gitworktree.New(tb.Context(), gitworktree.Options{
		Repository: found, State: filepath.Join(top, "state"), Trees: func() pawl.Trees { return rooms }, Owner: box.Owner,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(spaces.Rest)
	temp := filepath.Join(top, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		tb.Fatal(err)
	}
	rooms = room.New(room.Options{
		State: filepath.Join(top, "state"), Enforcer: box, Visible: spaces.Visible,
		Host: func(context.Context) room.Host { return room.NewHost(nil, "") },
	})
	tb.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			tb.Error(err)
		}
	})
	w.r = &runner.Runner{
		Tools: tool.New(tool.Builtin()...), Submits: submit.Results{}, Gate: command.New(), Spaces: spaces, Rooms: rooms,
		Temp: func(pawl.RunID) (string, error) { return temp, nil },
	}
	w.job = driver.Job{
		Run: runID, Started: &pawl.RunStarted{Base: w.base}, Settings: &pawl.Settings{Evidence: pawl.EvidenceReview}, Recipe: &pawl.Recipe{Name: "taskloop"},
		Workspace: runID,
		Blob:      func(ctx context.Context, h pawl.Hash) ([]byte, error) { return w.log.Blob(ctx, runID, h) },
		Live: func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, text)
		},
	}
	for i := range w.job.Settings.Models {
		w.job.Settings.Models[i] = pawl.ModelChoice{Provider: "script", Name: fmt.Sprintf("model-%d", i+1), MaxOutput: 1000}
	}
	w.job.Started.Criteria = w.MustKeep(tb, []pawl.Criterion{{ID: "AC-001", Text: "one"}, {ID: "AC-002", Text: "two"}})
	return w
}

// MustOpen opens the run's worktree and returns its tree.
func (w *world) MustOpen(tb testing.TB) pawl.TreeHash {
	tb.Helper()
	return must[*pawl.WorkspaceOpened](tb, w, &pawl.OpenWorkspace{Name: runID, Branch: branch, Base: w.base}).Tree
}

// dir is a path in the worktree.
func (w *world) dir(parts ...string) string {
	at, err := w.r.Spaces.Locate(context.Background(), runID)
	if err != nil {
		panic(err)
	}
	return filepath.Join(append([]string{at.Reach}, parts...)...)
}

func (w *world) git(tb testing.TB, args ...string) string {
	tb.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.repo
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.repo, "LC_ALL=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@localhost", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@localhost"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// MustWrite writes a file and the folders it needs.
func MustWrite(tb testing.TB, path, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// MustRead reads a file.
func MustRead(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// MustKeep stores a text, or a value as JSON, as a blob of the run.
func (w *world) MustKeep(tb rapid.TB, v any) pawl.Hash {
	tb.Helper()
	data, isBytes := v.([]byte)
	if text, ok := v.(string); ok {
		data, isBytes = []byte(text), true
	}
	if !isBytes {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			tb.Fatal(err)
		}
		data = out.Bytes()
	}
	b := pawl.NewBlob(data)
	w.store(tb, &pawl.RunPaused{}, []pawl.Blob{b})
	return b.Hash()
}

// shows stores that the sessions from now on began with a prompt of a commit and these inputs.
func (w *world) shows(tb rapid.TB, commit pawl.CommitHash, inputs ...pawl.Input) {
	tb.Helper()
	do := &pawl.AssemblePrompt{Template: "requirements.md", Output: "verdict", Commit: commit, Base: w.base, Inputs: inputs}
	w.store(tb, &pawl.EffectRequested{Effect: pawl.Effect{Class: pawl.CrashRepeat, Do: do}}, nil)
}

// store appends an event of the run with its blobs.
func (w *world) store(tb rapid.TB, body pawl.Body, blobs []pawl.Blob) {
	tb.Helper()
	w.storeOf(tb, 0, body, blobs)
}

// storeOf appends an event of a loop with its blobs.
func (w *world) storeOf(tb rapid.TB, loop pawl.LoopRef, body pawl.Body, blobs []pawl.Blob) {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	e := pawl.Event{Run: runID, Seq: w.seq + 1, Loop: loop, Time: time.Unix(1, 0), Body: body}
	if err := w.log.Append(context.Background(), pawl.Unit{Run: runID, After: w.seq, Events: []pawl.Event{e}, Blobs: blobs}); err != nil {
		tb.Fatal(err)
	}
	w.seq++
}

// MustBlob reads a blob.
func (w *world) MustBlob(tb rapid.TB, h pawl.Hash) string {
	tb.Helper()
	data, err := w.log.Blob(context.Background(), runID, h)
	if err != nil {
		tb.Fatalf("blob %s: %v", h.Short(), err)
	}
	return string(data)
}

// effect is what a test changes about a job.
type effect func(*driver.Job)

func again(j *driver.Job) { j.Again = true }
func transcript(items ...pawl.Item) effect {
	return func(j *driver.Job) { j.Effect.Transcript = items }
}
func timeout(d time.Duration) effect { return func(j *driver.Job) { j.Effect.Timeout = d } }
func (w *world) run(tb rapid.TB, do pawl.Do, more ...effect) pawl.Answer {
	tb.Helper()
	return w.runIn(context.Background(), tb, do, more...)
}

// runIn performs an effect and stores the answer, which must be fit for that.
func (w *world) runIn(ctx context.Context, tb rapid.TB, do pawl.Do, more ...effect) pawl.Answer {
	tb.Helper()
	job := w.job
	w.mu.Lock()
	job.Effect = &pawl.Effect{ID: w.seq + 1, Place: pawl.Place{Loop: "task", Iteration: 1, Attempt: 1, Step: "implement", Role: "implementation", Tier: 1, Turn: 1}, Do: do}
	w.mu.Unlock()
	job.Events = func(ctx context.Context) iter.Seq2[pawl.Event, error] { return w.log.Events(ctx, runID, 0) }
	for _, f := range more {
		f(&job)
	}
	answer, blobs := w.r.Perform(ctx, job)
	if answer.Answers() != job.Effect.ID {
		tb.Errorf("the answer is to effect %d, not to %d", answer.Answers(), job.Effect.ID)
	}
	w.fit(tb, answer, blobs)
	w.store(tb, answer, blobs)
	return answer
}

var hashes = regexp.MustCompile(`"([0-9a-f]{64})"`)

// fit checks what holds for every answer: its event is small and reads back,
// its blobs are there under their hashes, and no secret is in either.
func (w *world) fit(tb rapid.TB, answer pawl.Answer, blobs []pawl.Blob) {
	tb.Helper()
	data := pawl.AppendEvent(nil, pawl.Event{Loop: 1000, Time: time.Unix(1<<32, 0), Body: answer})
	if len(data) > 2000 {
		tb.Errorf("the event has %d bytes", len(data))
	}
	event, err := pawl.DecodeEvent(runID, 1, data)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(event)
	if err != nil {
		tb.Fatal(err)
	}
	for _, m := range hashes.FindAllStringSubmatch(string(text), -1) {
		if !slices.ContainsFunc(blobs, func(b pawl.Blob) bool { return b.Hash().String() == m[1] }) {
			tb.Errorf("there is no blob %s for %s", m[1], text)
		}
	}
	for _, b := range blobs {
		if pawl.HashOf(b.Data()) != b.Hash() {
			tb.Errorf("a blob has another hash than its content: %s", b.Data())
		}
		if w.secret != "" && strings.Contains(string(b.Data()), w.secret) {
			tb.Errorf("the secret is in a blob of %s: %s", event.Body.EventKind(), b.Data())
		}
		if string(b.Data()) != strings.ToValidUTF8(string(b.Data()), "") {
			tb.Errorf("a blob is not UTF-8: %q", b.Data())
		}
	}
	if w.secret != "" && strings.Contains(string(text), w.secret) {
		tb.Errorf("the secret is in the event %s", text)
	}
	if f, ok := answer.(*pawl.EffectFailed); ok && (len(f.Failure.Message) > 300 || f.Failure.Message == "" || f.Failure.Message != strings.ToValidUTF8(f.Failure.Message, "")) {
		tb.Errorf("the failure says in %d bytes: %q", len(f.Failure.Message), f.Failure.Message)
	}
}

// must performs an effect that gives this fact.
func must[A pawl.Answer](tb rapid.TB, w *world, do pawl.Do, more ...effect) A {
	tb.Helper()
	answer := w.run(tb, do, more...)
	fact, ok := answer.(A)
	if !ok {
		text, _ := json.Marshal(answer)
		tb.Fatalf("%s gave %s %s", do.Verb(), answer.EventKind(), text)
	}
	return fact
}

// fails performs an effect that fails.
func (w *world) fails(tb rapid.TB, do pawl.Do, more ...effect) pawl.Failure {
	tb.Helper()
	return must[*pawl.EffectFailed](tb, w, do, more...).Failure
}

// call is a tool call with these arguments.
func (w *world) call(tb rapid.TB, name string, args any) *pawl.CallTool {
	tb.Helper()
	return &pawl.CallTool{Tool: name, Args: w.MustKeep(tb, args)}
}

// spaces are worktrees some of whose methods are replaced.
type spaces struct {
	pawl.Workspaces
	tree func() (pawl.Recording, error)
	open func() (pawl.WorkspaceState, error)
	diff func() ([]byte, error)
}

func (s *spaces) Tree(ctx context.Context, name string, wrote ...string) (pawl.Recording, error) {
	if s.tree != nil {
		return s.tree()
	}
	return s.Workspaces.Tree(ctx, name, wrote...)
}

func (s *spaces) Open(ctx context.Context, spec pawl.WorkspaceSpec) (pawl.WorkspaceState, error) {
	if s.open != nil {
		return s.open()
	}
	return s.Workspaces.Open(ctx, spec)
}

func (s *spaces) Diff(ctx context.Context, from, to pawl.CommitHash) ([]byte, error) {
	if s.diff != nil {
		return s.diff()
	}
	return s.Workspaces.Diff(ctx, from, to)
}

// modelFunc is a model.
type modelFunc func(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error)

func (f modelFunc) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	return f(ctx, req, sink)
}

// asks lets this model answer, and returns a call of it with these tools.
func (w *world) asks(tb rapid.TB, model modelFunc, tools ...string) *pawl.CallModel {
	tb.Helper()
	w.r.Model = func(context.Context, driver.Job, pawl.ModelChoice) (pawl.Model, error) { return model, nil }
	specs := []pawl.ToolSpec{}
	for _, name := range tools {
		if t, ok := w.r.Tools.Lookup(name); ok {
			specs = append(specs, t.Spec())
		} else if spec, ok := w.r.Submits.Spec(name); ok {
			specs = append(specs, spec)
		}
	}
	return &pawl.CallModel{Tier: 1, MaxOutput: 1000, Tools: w.MustKeep(tb, specs)}
}

// replies is a model that says these blocks.
func replies(stop pawl.StopReason, blocks ...pawl.Block) modelFunc {
	return func(context.Context, pawl.ModelRequest, func(pawl.ModelDelta)) (pawl.ModelReply, error) {
		return pawl.ModelReply{Message: pawl.Message{Role: pawl.RoleAssistant, Blocks: blocks}, Stop: stop, Model: "model", Usage: pawl.Usage{Input: 10, Output: 5}}, nil
	}
}

func say(text string) pawl.Block { return pawl.Block{Kind: pawl.BlockText, Text: text} }

func use(id, name, args string) pawl.Block {
	return pawl.Block{Kind: pawl.BlockToolUse, CallID: id, Tool: name, Args: json.RawMessage(args)}
}

// gateFunc is a gate.
type gateFunc func(ctx context.Context, req pawl.GateRequest) (pawl.GateReport, error)

func (f gateFunc) Judge(ctx context.Context, req pawl.GateRequest) (pawl.GateReport, error) {
	return f(ctx, req)
}

// runFunc runs commands for rooms. egress are the rules of the room's proxy.
type runFunc func(ctx context.Context, cmd pawl.Command, egress []string) (pawl.CommandResult, error)

// played are rooms whose commands are played.
type played struct {
	pawl.Rooms
	run runFunc
}

// play lets a function run the world's commands from now on.
func (w *world) play(run runFunc) { w.r.Rooms = played{w.r.Rooms, run} }

func (p played) Gate(ctx context.Context, spec pawl.GateRoom) (pawl.Room, error) {
	room, err := p.Rooms.Gate(ctx, spec)
	return playedRoom{room, p.run, nil}, err
}

func (p played) Prepare(ctx context.Context, spec pawl.PrepareSpec) (pawl.PrepareRoom, error) {
	room, err := p.Rooms.Prepare(ctx, spec)
	return playedPrepare{playedRoom{room, p.run, spec.Egress}, room}, err
}

type playedRoom struct {
	pawl.Room
	run    runFunc
	egress []string
}

func (p playedRoom) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	return p.run(ctx, cmd, p.egress)
}

type playedPrepare struct {
	playedRoom
	real pawl.PrepareRoom
}

func (p playedPrepare) Contacts() []pawl.Contact { return p.real.Contacts() }

func (p playedPrepare) Keep() (pawl.PreparedLayer, error) { return p.real.Keep() }

// MustLink makes a symbolic link.
func MustLink(tb testing.TB, target, path string) {
	tb.Helper()
	if err := os.Symlink(target, path); err != nil {
		tb.Fatal(err)
	}
}
