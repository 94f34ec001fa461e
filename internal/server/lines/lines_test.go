package lines_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/message"
	"pawl/internal/server/lines"
	"pawl/internal/store/mem"
)

const plan = `{"title":"Add OAuth","overview":"OAuth 2.0 with token refresh.","specs":[` +
	`{"name":"db-schema","title":"Schema","description":"Tables for OAuth"},` +
	`{"name":"endpoints","title":"Endpoints","description":"OAuth API endpoints"},` +
	`{"name":"middleware","title":"Middleware","description":"Token validation"}]}`

// world plans as above; spec loops think for ever.
type world struct{ drivertest.World }

func (w *world) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	id := job.Effect.ID
	switch do := job.Effect.Do.(type) {
	case *pawl.CallModel:
		if job.Effect.Loop > 1 {
			<-ctx.Done()
			return nil, nil
		}
		b := pawl.NewBlob([]byte(plan))
		return &pawl.ModelReplied{Effect: id, Message: b.Hash(), Bytes: 1, Stop: pawl.StopToolUse, Model: "none",
			Calls: []pawl.ToolUse{{Tool: "create_plan", Args: b.Hash(), Submit: true}}}, []pawl.Blob{b}
	case *pawl.ReadTasks:
		data, err := job.Blob(ctx, do.List)
		if err != nil {
			return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
		}
		p, err := artifact.Read(artifact.KindPlan, data)
		if err != nil {
			return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
		}
		out, blobs := &pawl.TasksRead{Effect: id}, []pawl.Blob(nil)
		for _, t := range p.Tasks("") {
			spec, err := json.Marshal(t)
			if err != nil {
				return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
			}
			b := pawl.NewBlob(spec)
			out.Entries, blobs = append(out.Entries, pawl.TaskEntry{ID: t.ID, Title: t.Title, Spec: b.Hash(), DependsOn: t.DependsOn}), append(blobs, b)
		}
		out.Count = len(out.Entries)
		return out, blobs
	}
	return w.World.Perform(ctx, job)
}

func loopr() pawl.Recipe {
	r := drivertest.Recipe()
	r.Name, r.Start = "loopr", "plan"
	spec := r.Kinds[0]
	spec.Name = "spec"
	r.Kinds = []pawl.LoopKind{{
		Name: "plan", Iterations: 3, Approval: &pawl.Approval{By: "human"}, Ladder: pawl.Ladder{Then: "fail"},
		Steps:    []pawl.Step{{Name: "plan", Role: "planner", Prompt: "p", Output: "create_plan", Required: true}},
		Children: &pawl.Children{From: "plan", Kind: "spec", Order: "score", Parallel: 3, Admit: pawl.AdmitEager, OnFailure: pawl.FailRestartParent},
	}, spec}
	return r
}

// daemon has one project.
type daemon struct {
	pawl.Service
	feed  *message.Feed
	asked atomic.Pointer[pawl.StartRequest] // the last request for a run
	// handed is what was handed over with the last request that could.
	handed atomic.Pointer[[]string]
}

var errNone = pawl.Errorf(pawl.CodeNotFound, "no such project")

func (d *daemon) Open(_ context.Context, dir string) (pawl.ProjectInfo, error) {
	if dir != "/shop" {
		return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeFolder, "%s is in no repository", dir)
	}
	return pawl.ProjectInfo{ID: "shop", Root: "/shop"}, nil
}

func (d *daemon) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "shop", Root: "/shop"}}, nil
}

func (d *daemon) Project(_ context.Context, id string) (pawl.Service, error) {
	if id != "shop" {
		return nil, errNone
	}
	return steered{d.Service, d.feed}, nil
}

// steered is a project that tells when a command may have let a run go on.
type steered struct {
	pawl.Service
	feed *message.Feed
}

// Runs has one besides that cannot be read, which keeps nobody from the others.
func (s steered) Runs(ctx context.Context) ([]pawl.RunInfo, error) {
	runs, err := s.Service.Runs(ctx)
	return append(runs, pawl.RunInfo{ID: "999-torn", Status: pawl.StatusEnded}), err
}

func (s steered) Steer(ctx context.Context, run pawl.RunID, in pawl.Steering) error {
	defer s.feed.Notify("shop", run)
	return s.Service.Steer(ctx, run, in)
}

func (d *daemon) Load(context.Context) (pawl.Load, error) { return pawl.Load{}, nil }

// begin starts a run that no connection is told of.
func (d *daemon) begin(ctx context.Context, description string) (pawl.RunInfo, error) {
	return d.Start(ctx, pawl.StartRequest{Goal: description})
}

// resolve remembers a request, and makes a plan of it. A model is refused, because nobody has a key for
// it, and so is a way out for prepare commands, which nobody has allowed.
func (d *daemon) resolve(_ context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	d.asked.Store(&req)
	if len(req.Flags.Model) > 0 {
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeKey, "there is no key for %s", req.Flags.Model[0]).WithHint("export it")
	}
	if len(req.Flags.Egress) > 0 {
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeConsent, "you have not allowed the commands").WithField("allow_prepare")
	}
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	return pawl.RunSpec{Goal: req.Goal, Recipe: loopr(), Settings: pawl.Settings{
		Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100}}, nil
}

type box struct{}

func (box) Confined() bool   { return true }
func (box) Describe() string { return "a box" }
func (box) Run(context.Context, pawl.Command) (pawl.CommandResult, error) {
	return pawl.CommandResult{}, errors.New("no command is run here")
}

// bed is a daemon that speaks the protocol on a real socket.
type bed struct {
	t      *testing.T
	path   string
	daemon *daemon
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{}
	d.handed.Store(new([]string))
	e := engine.New(engine.Config{Log: mem.New(), Performer: &world{}, Version: "test", Sandbox: box{}, Resolve: d.resolve,
		Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
		Numbers: func(context.Context) (int, error) { return 0, nil }})
	t.Cleanup(e.Close)
	d.Service = e
	d.feed = message.NewFeed(d)
	return d
}

func newBed(t *testing.T) *bed {
	t.Helper()
	d := newDaemon(t)
	b := &bed{t, t.TempDir() + "/s", d}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", b.path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				lines.Serve(ctx, conn, lines.Config{Projects: d, Feed: d.feed, PlanRecipe: "loopr", Types: []string{"elsewhere"}, Version: "test", Equip: func(ctx context.Context, environ []string) context.Context {
					d.handed.Store(&environ)
					return ctx
				}})
			})
		}
	})
	return b
}

// client is one connection.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	next int
	told []line
}

type line struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

func (b *bed) dial() *client {
	b.t.Helper()
	conn, err := new(net.Dialer).DialContext(b.t.Context(), "unix", b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return &client{t: b.t, conn: conn, in: bufio.NewReader(conn)}
}

// connect is a client that has connected.
func (b *bed) connect() *client {
	c := b.dial()
	c.ok("connect", `{"version":"1","dir":"/shop"}`)
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(text + "\n")); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read() line {
	c.t.Helper()
	text, err := c.in.ReadBytes('\n')
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return l
}

// call sends a request and returns its answer; events on the way are kept.
func (c *client) call(method, params string) line {
	c.t.Helper()
	c.next++
	c.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s}`, c.next, method, params))
	for {
		l := c.read()
		if l.Event != "" {
			c.told = append(c.told, l)
			continue
		}
		if string(l.ID) != fmt.Sprint(c.next) {
			c.t.Fatalf("answer to %s while %d was asked", l.ID, c.next)
		}
		return l
	}
}

func (c *client) ok(method, params string) json.RawMessage {
	c.t.Helper()
	l := c.call(method, params)
	if l.Error != nil {
		c.t.Fatalf("%s: %d %s", method, l.Error.Code, l.Error.Message)
	}
	return l.Result
}

func (c *client) refused(code int, saying, method, params string) {
	c.t.Helper()
	l := c.call(method, params)
	if l.Error == nil || l.Error.Code != code || !strings.Contains(l.Error.Message, saying) {
		c.t.Fatalf("%s %s: want %d %q, got %+v %s", method, params, code, saying, l.Error, l.Result)
	}
}

// event waits for an event of a name.
func (c *client) event(name string) json.RawMessage {
	c.t.Helper()
	if i := slices.IndexFunc(c.told, func(l line) bool { return l.Event == name }); i >= 0 {
		data := c.told[i].Data
		c.told = slices.Delete(c.told, i, i+1)
		return data
	}
	for {
		if l := c.read(); l.Event == name {
			return l.Data
		} else {
			c.told = append(c.told, l)
		}
	}
}

type awaiting struct {
	ID      string `json:"id"`
	About   string `json:"about"`
	Content string `json:"content"`
	Specs   []struct{ Name, Description string }
}

// plan lets a client begin a plan and waits until it may be decided about.
func (c *client) plan() awaiting {
	c.t.Helper()
	c.ok("loop.create_plan", `{"description":"Add OAuth"}`)
	var p awaiting
	if err := json.Unmarshal(c.event("plan.awaiting_approval"), &p); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// R-B04: the plan is told whole, and approving it says how many
// loops it leads to.
func TestApprove(t *testing.T) {
	c := newBed(t).connect()
	p := c.plan()
	if !strings.Contains(p.Content, "## Overview") || len(p.Specs) != 3 || p.Specs[0].Name != "db-schema" || p.Specs[0].Description != "Tables for OAuth" {
		t.Fatalf("the plan that is told: %+v", p)
	}
	for params, want := range map[string]bool{`{"status":"complete"}`: true, `{"status":"running"}`: false, `{"loop_type":"plan"}`: true, `{"loop_type":"spec"}`: false, `{"loop_type":"elsewhere"}`: false} { // R-76
		if got := string(c.ok("loop.list", params)); strings.Contains(got, p.ID) != want {
			t.Errorf("loop.list %s: %s", params, got)
		}
	}
	// F-79: a status that there is not is an error, and not a list of nothing. So are a type and a parent.
	if got := string(c.ok("loop.list", `{"parent_id":"`+p.ID+`"}`)); got != `{"loops":[]}` {
		t.Errorf("the children of a loop that has none: %s", got)
	}
	c.refused(-32602, `no loop has the loop_type "specs": it is one of elsewhere, plan, spec`, "loop.list", `{"loop_type":"specs"}`)
	c.refused(1001, "there is no loop 1-ffff", "loop.list", `{"parent_id":"1-ffff"}`)
	c.refused(1001, "there is no loop 1-ffff", "loop.list", `{"status":"running","loop_type":"spec","parent_id":"1-ffff"}`)
	c.refused(-32602, `no loop has the status "runing": it is one of pending, running, paused, rebasing, complete, failed, invalidated`, "loop.list", `{"status":"runing"}`)
	if got := string(c.ok("plan.approve", `{"id":"`+p.ID+`"}`)); got != `{"specs_spawned":3}` {
		t.Fatalf("approved: %s", got)
	}
	var approved struct {
		ID    string
		Specs int `json:"specs_spawned"`
	}
	if err := json.Unmarshal(c.event("plan.approved"), &approved); err != nil || approved.ID != p.ID || approved.Specs != 3 {
		t.Fatalf("told: %+v %v", approved, err)
	}
	c.event("loop.updated")
	var list struct {
		Loops []struct {
			Type   string `json:"loop_type"`
			Index  int    `json:"index"`
			Parent string `json:"parent_id"`
		}
	}
	if err := json.Unmarshal(c.ok("loop.list", `{"loop_type":"spec"}`), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Loops) != 3 || list.Loops[0].Index != 1 || list.Loops[0].Parent != p.ID {
		t.Fatalf("loops: %+v", list)
	}
}

// R-B03, R-53: of many that approve at once one does; the others are told the state.
func TestApproversRace(t *testing.T) {
	b := newBed(t)
	first := b.connect()
	p := first.plan()
	const n = 50
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = b.connect()
	}
	codes := make(chan int, n)
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			l := c.call("plan.approve", `{"id":"`+p.ID+`"}`)
			if l.Error != nil {
				codes <- l.Error.Code
				return
			}
			codes <- 0
		})
	}
	wg.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[0] != 1 || count[1002] != n-1 {
		t.Fatalf("answers by code: %v", count)
	}
	first.refused(1002, "approved already", "plan.reject", `{"id":"`+p.ID+`","reason":"late"}`)
}

// R-52, R-B26: who connects later, or went and came back, is shown the plan that waits,
// and what they were not shown nobody can approve.
func TestLate(t *testing.T) {
	b := newBed(t)
	early := b.connect()
	p := early.plan()
	_ = early.conn.Close()
	late := b.dial()
	var got struct{ State struct{ Plans []awaiting } }
	if err := json.Unmarshal(late.ok("connect", `{"version":"1"}`), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.State.Plans) != 1 || got.State.Plans[0].ID != p.ID || got.State.Plans[0].Content != p.Content {
		t.Fatalf("state: %+v", got)
	}
	late.ok("plan.iterate", `{"id":"`+p.ID+`","feedback":"smaller specs"}`) // R-48, R-B05
	var again awaiting
	if err := json.Unmarshal(late.event("plan.awaiting_approval"), &again); err != nil {
		t.Fatal(err)
	}
	late.ok("plan.reject", `{"id":"`+p.ID+`","reason":"not now"}`)
	if got := string(late.event("plan.rejected")); !strings.Contains(got, "not now") {
		t.Fatalf("rejected: %s", got)
	}
	late.refused(1002, "not in Complete state", "plan.approve", `{"id":"`+p.ID+`"}`)
}

// Who says which plan they mean approves no other one, whatever was sent to them since
// and is not read yet. R-53
func TestApproveNamesThePlan(t *testing.T) {
	c := newBed(t).connect()
	p := c.plan()
	stale := strings.Repeat("ab", len(p.About)/2)
	c.refused(1002, "look at it again", "plan.approve", `{"id":"`+p.ID+`","about":"`+stale+`"}`)
	c.refused(-32602, "about: got \"ab\", want a hash", "plan.approve", `{"id":"`+p.ID+`","about":"ab"}`)
	if got := string(c.ok("plan.approve", `{"id":"`+p.ID+`","about":"`+p.About+`"}`)); got != `{"specs_spawned":3}` {
		t.Fatalf("approved: %s", got)
	}
}

// A plan that a connection was told nothing of, since its run began elsewhere, is not
// approved by its id: neither a list of loops nor a loop shows it. R-51
func TestUnseenPlan(t *testing.T) {
	b := newBed(t)
	c := b.connect()
	info, err := b.daemon.begin(t.Context(), "Add OAuth")
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range b.daemon.Watch(t.Context(), info.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event != nil && u.Event.Body.EventKind() == pawl.KindQuestionAsked {
			break
		}
	}
	var list struct{ Loops []struct{ ID string } }
	if err := json.Unmarshal(c.ok("loop.list", `{}`), &list); err != nil || len(list.Loops) != 1 {
		t.Fatalf("%+v: %v", list, err)
	}
	id := `{"id":"` + list.Loops[0].ID + `"}`
	c.ok("loop.get", id)
	c.refused(1002, "see it with plan.get_preview", "plan.approve", id)
	c.ok("plan.get_preview", id)
	c.refused(-32602, "what should be different", "plan.iterate", id)
	c.ok("plan.approve", id)
}

// a plan that was rejected is decided on anew when it is started again, and gets
// another iteration.
func TestFailedLoopGoesOn(t *testing.T) {
	c := newBed(t).connect()
	p := c.plan()
	c.ok("plan.reject", `{"id":"`+p.ID+`","reason":"not so"}`)
	c.event("plan.rejected")
	for line := ""; !strings.Contains(line, `"ended"`); line = string(c.event("run.updated")) {
		continue
	}
	c.ok("loop.start", `{"id":"`+p.ID+`"}`)
	c.event("plan.awaiting_approval")
	c.ok("plan.iterate", `{"id":"`+p.ID+`","feedback":"smaller specs"}`)
	var again awaiting
	if err := json.Unmarshal(c.event("plan.awaiting_approval"), &again); err != nil || again.ID != p.ID {
		t.Fatalf("it awaits %+v, %v", again, err)
	}
	var got struct {
		Loop struct {
			Iteration int
			Progress  string
			Status    pawl.LoopStatus
		}
	}
	if err := json.Unmarshal(c.ok("loop.get", `{"id":"`+p.ID+`"}`), &got); err != nil || got.Loop.Iteration != 2 || got.Loop.Status != pawl.LoopComplete || !strings.Contains(got.Loop.Progress, "not so") {
		t.Fatalf("it is %+v, %v", got.Loop, err)
	}
}

// and the codes of the protocol.
func TestRefused(t *testing.T) {
	b := newBed(t)
	c := b.dial()
	if got := string(c.ok("ping", `{}`)); got != `{"pong":true}` {
		t.Fatal(got)
	}
	c.refused(1003, "connect first", "loop.list", `{}`)
	c.refused(1004, "in no repository", "connect", `{"version":"1","dir":"/elsewhere"}`)
	c.ok("connect", `{"version":"1","dir":"/shop"}`)
	c.refused(-32601, "no chat", "chat.send", `{"text":"hi"}`)
	c.refused(-32601, "no method", "loop.explode", `{}`)
	c.refused(-32602, "more: there is no such field", "loop.get", `{"id":"x","more":1}`)
	c.refused(1001, "no loop", "loop.get", `{"id":"1-ffff"}`)
	p := c.plan()
	c.refused(1002, "cannot be started", "loop.start", `{"id":"`+p.ID+`"}`)
	c.ok("plan.approve", `{"id":"`+p.ID+`"}`)
	var list struct{ Loops []struct{ ID string } }
	if err := json.Unmarshal(c.ok("loop.list", `{"loop_type":"spec"}`), &list); err != nil {
		t.Fatal(err)
	}
	c.refused(1002, "is not a Plan", "plan.approve", `{"id":"`+list.Loops[0].ID+`"}`)
	c.refused(1002, "Plan has no output artifact", "plan.get_preview", `{"id":"`+list.Loops[0].ID+`"}`)
	for _, bad := range []struct {
		text string
		code int
	}{{`{"id":1,`, -32700}, {`[]`, -32600}, {`{"method":"ping"}`, -32600}, {`{"id":{},"method":"ping"}`, -32600}, {`{"id":7}`, -32600}} {
		c.send(bad.text)
		l := c.read()
		for l.Event != "" {
			l = c.read()
		}
		if l.Error == nil || l.Error.Code != bad.code {
			t.Errorf("%s: %+v", bad.text, l)
		}
	}
	c.ok("metrics.get", `{}`)
	c.ok("disconnect", `{}`)
	if _, err := io.ReadAll(c.in); err != nil { // what was told on the way, then the end
		t.Fatal(err)
	}
}

// A run is cancelled and then put out of the way: nothing of it is removed.
func TestCancelAndArchive(t *testing.T) {
	c := newBed(t).connect()
	p := c.plan()
	c.refused(1002, "", "loop.delete", `{"id":"`+p.ID+`"}`) // it is at work
	c.ok("loop.cancel", `{"id":"`+p.ID+`"}`)
	c.event("loop.failed")
	c.ok("loop.delete", `{"id":"`+p.ID+`"}`)
	if got := string(c.ok("loop.list", `{}`)); got != `{"loops":[]}` {
		t.Fatalf("listed: %s", got)
	}
}

// A request that is too long ends the connection with a reason.
func TestLongLine(t *testing.T) {
	c := newBed(t).dial()
	go func() { _, _ = c.conn.Write([]byte(strings.Repeat("x", lines.MaxLine+8192))) }()
	if l := c.read(); l.Error == nil || l.Error.Code != -32600 {
		t.Fatalf("%+v", l)
	}
}

// A client that reads slowly does not keep a server from closing. The server finishes
// the line it is sending and sends no other. F-65
func TestSlowReaderOfClosingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemon(t)
		conn, far := net.Pipe()
		defer conn.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			lines.Serve(ctx, far, lines.Config{Projects: d, Feed: d.feed, PlanRecipe: "loopr", Version: "test"})
		}()
		c := &client{t: t, conn: conn, in: bufio.NewReader(conn)}
		c.ok("connect", `{"version":"1","dir":"/shop"}`)
		info, err := d.begin(t.Context(), "Add OAuth")
		if err != nil {
			t.Fatal(err)
		}
		d.feed.Notify("shop", info.ID)
		synctest.Wait() // several messages are waiting to be sent
		begin := time.Now()
		cancel()
		sent := 0
		for range time.Tick(lines.WriteTimeout - time.Second) {
			if _, err := c.in.ReadBytes('\n'); err != nil {
				break
			}
			sent++
		}
		<-done
		if sent != 1 {
			t.Errorf("%d lines were sent in %s after the server began to close, want 1", sent, time.Since(begin))
		}
	})
}
