package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/artifact"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/message"
	"pawl/internal/store/mem"
	"pawl/internal/view"
)

const planText = `{"title":"Add OAuth","overview":"OAuth 2.0 with token refresh.","specs":[` +
	`{"name":"db-schema","title":"Schema","description":"Tables for OAuth"},` +
	`{"name":"endpoints","title":"Endpoints","description":"OAuth API endpoints"}]}`

// planner plans as above; what follows a plan thinks for ever.
type planner struct{ drivertest.World }

func (p *planner) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	id := job.Effect.ID
	switch do := job.Effect.Do.(type) {
	case *pawl.CallModel:
		if job.Effect.Loop > 1 {
			<-ctx.Done()
			return nil, nil
		}
		b := pawl.NewBlob([]byte(planText))
		return &pawl.ModelReplied{Effect: id, Message: b.Hash(), Bytes: 1, Stop: pawl.StopToolUse, Model: "none",
			Calls: []pawl.ToolUse{{Tool: "create_plan", Args: b.Hash(), Submit: true}}}, []pawl.Blob{b}
	case *pawl.ReadTasks:
		data, err := job.Blob(ctx, do.List)
		if err != nil {
			return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
		}
		a, err := artifact.Read(artifact.KindPlan, data)
		if err != nil {
			return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
		}
		out, blobs := &pawl.TasksRead{Effect: id}, []pawl.Blob(nil)
		for _, t := range a.Tasks("") {
			spec, err := json.Marshal(t)
			if err != nil {
				return &pawl.TasksRead{Effect: id, Problem: err.Error()}, nil
			}
			b := pawl.NewBlob(spec)
			out.Entries, blobs = append(out.Entries, pawl.TaskEntry{ID: t.ID, Title: t.Title, Spec: b.Hash()}), append(blobs, b)
		}
		out.Count = len(out.Entries)
		return out, blobs
	}
	return p.World.Perform(ctx, job)
}

func planning() pawl.Recipe {
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

func startRequest(goal string) pawl.StartRequest { return pawl.StartRequest{Goal: goal} }

// resolve makes a run with a plan, for the goal of a request. Some flags lead to the errors that resolving
// a request has.
func resolve(_ context.Context, req pawl.StartRequest) (pawl.RunSpec, error) {
	m := pawl.ModelChoice{Provider: "none", Name: "none", MaxOutput: 1000}
	switch {
	case req.Recipe != "":
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeNotFound, "there is no recipe %s", req.Recipe).WithField("recipe")
	case req.Flags.Budget != nil:
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeInvalid, "--budget: want dollars, got %q", *req.Flags.Budget).WithField("flags.budget")
	case len(req.Flags.Model) > 0:
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeKey, "there is no key for %s", req.Flags.Model[0]).WithHint("export it")
	case req.Dir != "":
		return pawl.RunSpec{}, pawl.Errorf(pawl.CodeFolder, "there is no folder %s", req.Dir).WithField("dir")
	}
	return pawl.RunSpec{Goal: req.Goal, Recipe: planning(), Origin: pawl.RecipeOrigin{Name: "loopr"}, Prompts: map[string]string{"p": "p"}, Criteria: []pawl.Criterion{}, Settings: pawl.Settings{
		Limits: pawl.DefaultLimits, Models: [3]pawl.ModelChoice{m, m, m}, Retry: pawl.DefaultRetry, OutputFloor: 100}}, nil
}

type box struct{}

func (box) Confined() bool   { return true }
func (box) Describe() string { return "a box" }
func (box) Run(context.Context, pawl.Command) (pawl.CommandResult, error) {
	return pawl.CommandResult{}, errors.New("no command is run here")
}

// one is a daemon's projects: the shop.
type one struct{ pawl.Service }

func (o one) Open(_ context.Context, dir string) (pawl.ProjectInfo, error) {
	if dir != "/shop" {
		return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeFolder, "%s is in no repository", dir).WithField("dir")
	}
	return pawl.ProjectInfo{ID: "shop", Root: "/shop"}, nil
}

func (o one) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "shop", Root: "/shop", Live: 1}}, nil
}

func (o one) Project(_ context.Context, id string) (pawl.Service, error) {
	if id != "shop" {
		return nil, pawl.Errorf(pawl.CodeNotFound, "no project %q is open", id)
	}
	return cached(o), nil
}

// cached is a service that has a cache of two layers, the older one in use.
type cached struct{ pawl.Service }

func (cached) Cache(context.Context) (pawl.CacheInfo, error) {
	return pawl.CacheInfo{Limit: 100, Size: 30, Layers: []pawl.CacheLayer{{Name: "2", Size: 10}, {Name: "1", Size: 20, InUse: true}},
		Rooms: []pawl.KeptRoom{{Kind: pawl.RoomAgent, Run: "001-a", Name: "001-a", Size: 5, Partial: true}}}, nil
}

func (cached) PruneCache(_ context.Context, req pawl.PruneRequest) (pawl.PruneResult, error) {
	if req.Size == nil {
		return pawl.PruneResult{Removed: []pawl.CacheLayer{}, Size: 30, Target: 100}, nil
	}
	return pawl.PruneResult{Removed: []pawl.CacheLayer{{Name: "2"}}, Freed: 10, Size: 20, Target: *req.Size}, nil
}

// DeleteRun deletes nothing, and says what it would of another run.
func (c cached) DeleteRun(ctx context.Context, run pawl.RunID, req pawl.DeleteRequest) (pawl.Deletion, error) {
	for _, err := range c.Events(ctx, run, 0) {
		if err != nil {
			return pawl.Deletion{}, err
		}
	}
	at := time.Unix(1, 0).UTC()
	return pawl.Deletion{Run: run, Deleted: at, Until: at.Add(time.Hour), Branches: []pawl.DeletedBranch{{Name: "pawl/" + string(run), Head: "c"}}, Refs: 1,
		Worktrees: []string{"w"}, Kept: []string{"refs/pawl/salvage/x"}, Foreign: []pawl.ForeignCommit{{Commit: "d", Subject: req.By}}}, nil
}

func (cached) DeletedRuns(context.Context) ([]pawl.Tombstone, error) {
	return []pawl.Tombstone{{Run: pawl.RunInfo{ID: "000-z"}, Deleted: time.Unix(1, 0).UTC(), By: "ada", Learnings: 1, Erased: true}}, nil
}

func (cached) Garbage(context.Context) (pawl.Garbage, error) {
	return pawl.Garbage{Items: []pawl.GarbageItem{{Kind: pawl.GarbageRun, Run: "000-z", Name: "n", Size: 1, Partial: true}}, Freed: 1,
		Waiting: []pawl.DeletedRun{{Run: "000-y", Size: 2}}, Use: []pawl.DiskUse{{Name: "log", Size: 3}}, Used: 3}, nil
}

func (c cached) CollectGarbage(ctx context.Context) (pawl.Garbage, error) {
	g, err := c.Garbage(ctx)
	g.Items[0].Problem = "it is busy"
	return g, err
}

func (o one) Load(context.Context) (pawl.Load, error) {
	return pawl.Load{Pools: []pawl.PoolLoad{{Name: "machine", Slots: 4}}, Runs: []pawl.RunLoad{}}, nil
}

// served is a daemon with a real engine on a real socket.
type daemonBed struct {
	t      *testing.T
	socket string
	e      *engine.Engine
	client *http.Client
	d      Daemon
	handed int // how often it was asked to make room
}

func newDaemonBed(t *testing.T, change func(*Daemon)) *daemonBed {
	t.Helper()
	e := engine.New(engine.Config{Log: mem.New(), Performer: &planner{}, Version: "test", Sandbox: box{}, Resolve: resolve,
		Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
		Numbers: func(context.Context) (int, error) { return 0, nil }})
	b := &daemonBed{t: t, e: e, socket: filepath.Join(mustTemp(t), "s", "daemon.sock")}
	b.d = Daemon{Projects: one{e}, About: func() pawl.DaemonInfo { return pawl.DaemonInfo{Version: "test", PID: 7, Socket: b.socket} },
		Handover: func(context.Context) error { b.handed++; return nil }}
	b.d.Feed = message.NewFeed(b.d.Projects)
	if change != nil {
		change(&b.d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- ServeDaemon(ctx, b.socket, b.d, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	b.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", b.socket)
	}}}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		e.Close()
	})
	return b
}

// ask sends a request; headers are "Name: value".
func (b *daemonBed) ask(method, path, body string, headers ...string) (status int, answer []byte, head http.Header) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://pawl"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, answer, resp.Header
}

// mustAsk asks for what must be answered with 200 and reads it into out.
func (b *daemonBed) mustAsk(method, path, body string, out any) {
	b.t.Helper()
	status, answer, _ := b.ask(method, path, body)
	if status != http.StatusOK {
		b.t.Fatalf("%s %s: status %d, %s", method, path, status, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		b.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
	}
}

// mustPlan starts a run and waits until its plan waits for a person.
func (b *daemonBed) mustPlan() Plan {
	b.t.Helper()
	body, err := json.Marshal(startRequest("Add OAuth"))
	if err != nil {
		b.t.Fatal(err)
	}
	var info pawl.RunInfo
	b.mustAsk(http.MethodPost, "/v1/projects/shop/runs", string(body), &info)
	for u, err := range b.e.Watch(b.t.Context(), info.ID, 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		if u.Event != nil {
			if _, ok := u.Event.Body.(*pawl.QuestionAsked); ok {
				break
			}
		}
	}
	var plans []Plan
	b.mustAsk(http.MethodGet, "/v1/projects/shop/plans", "", &plans)
	if len(plans) == 0 || plans[len(plans)-1].Run != info.ID {
		b.t.Fatalf("the plans that wait are %+v", plans)
	}
	return plans[len(plans)-1]
}

func decision(about pawl.Hash, more string) string {
	return fmt.Sprintf(`{"about":"%s"%s}`, about, more)
}

// R-52, R-B26: a client that connects later finds the plan that waits, with what it
// needs to decide, and a decision names what was looked at.
func TestPlansOverHTTP(t *testing.T) {
	b := newDaemonBed(t, nil)
	p := b.mustPlan()
	if p.Approval != pawl.ApprovalAwaiting || !strings.Contains(p.Content, "# Plan: Add OAuth") || len(p.Specs) != 2 ||
		p.Specs[0].Name != "db-schema" || p.Specs[0].Description != "Tables for OAuth" || p.About != pawl.HashOf([]byte(planText)) {
		t.Errorf("the plan is %+v", p)
	}
	at := "/v1/projects/shop/runs/" + string(p.Run) + "/plans/" + p.Loop
	var again Plan
	if b.mustAsk(http.MethodGet, at, "", &again); again.Content != p.Content || again.About != p.About {
		t.Errorf("the same plan is %+v", again)
	}
	for _, refused := range []struct {
		name, body string
		status     int
	}{
		{"NoHash", `{}`, 422},
		{"OtherHash", decision(pawl.HashOf([]byte("another plan")), ""), 409},
		{"NoHashAtAll", `{"about":"7"}`, 400},
	} {
		for _, verb := range []string{"approve", "reject", "iterate"} {
			if status, answer, _ := b.ask(http.MethodPost, at+"/"+verb, refused.body); status != refused.status {
				t.Errorf("%s to %s: status %d, %s", refused.name, verb, status, answer)
			}
		}
	}
	if status, _, _ := b.ask(http.MethodPost, "/v1/projects/shop/runs/"+string(p.Run)+"/plans/nobody/approve", decision(p.About, "")); status != 404 {
		t.Errorf("a loop nobody knows: status %d", status)
	}
	if status, answer, _ := b.ask(http.MethodPost, at+"/iterate", decision(p.About, "")); status != 422 {
		t.Errorf("iterate without feedback: status %d, %s", status, answer)
	}
	var done Decided
	b.mustAsk(http.MethodPost, at+"/iterate", decision(p.About, `,"text":"smaller","by":"ada"`), &done)
	if done != (Decided{Loop: p.Loop, Approval: pawl.ApprovalIterating}) {
		t.Errorf("the decision is %+v", done)
	}
	second := b.mustPlan()
	b.mustAsk(http.MethodPost, "/v1/projects/shop/runs/"+string(second.Run)+"/plans/"+second.Loop+"/approve", decision(second.About, ""), &done)
	if done != (Decided{Loop: second.Loop, Approval: pawl.ApprovalApproved, Specs: 2}) {
		t.Errorf("the decision is %+v", done)
	}
}

// R-53, R-B03: of fifty who decide at once one does, and the others are told.
func TestOneApprover(t *testing.T) {
	const approvers = 50
	b := newDaemonBed(t, nil)
	p := b.mustPlan()
	at := "/v1/projects/shop/runs/" + string(p.Run) + "/plans/" + p.Loop
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for i := range approvers {
		all.Go(func() {
			verb := [...]string{"approve", "reject"}[i%2]
			status, _, _ := b.ask(http.MethodPost, at+"/"+verb, decision(p.About, fmt.Sprintf(`,"by":"person %d"`, i)))
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	all.Wait()
	if got[200] != 1 || got[409] != approvers-1 {
		t.Errorf("statuses %v", got)
	}
	var after Plan
	if b.mustAsk(http.MethodGet, at, "", &after); after.Approval != pawl.ApprovalApproved && after.Approval != pawl.ApprovalRejected {
		t.Errorf("the plan is %s", after.Approval)
	}
	answered := 0
	for e, err := range b.e.Events(t.Context(), p.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(*pawl.QuestionAnswered); ok {
			answered++
		}
	}
	if answered != 1 {
		t.Errorf("it was answered %d times", answered)
	}
}

// A request that comes again with its key is answered as before, and does nothing.
func TestIdempotencyKeys(t *testing.T) {
	b := newDaemonBed(t, nil)
	body, err := json.Marshal(startRequest("Add OAuth"))
	if err != nil {
		t.Fatal(err)
	}
	const runs = "/v1/projects/shop/runs"
	var all sync.WaitGroup
	answers := make([]string, 20)
	for i := range answers {
		all.Go(func() {
			status, answer, _ := b.ask(http.MethodPost, runs, string(body), "Idempotency-Key: monday")
			answers[i] = fmt.Sprintf("%d %s", status, answer)
		})
	}
	all.Wait()
	for _, a := range answers {
		if a != answers[0] || !strings.HasPrefix(a, "200 ") {
			t.Errorf("one was answered %s, another %s", answers[0], a)
		}
	}
	var infos []pawl.RunInfo
	if b.mustAsk(http.MethodGet, runs, "", &infos); len(infos) != 1 {
		t.Errorf("%d runs were started", len(infos))
	}
	if status, answer, _ := b.ask(http.MethodPost, runs, `{"goal":"another"}`, "Idempotency-Key: monday"); status != 422 {
		t.Errorf("another request with the key: status %d, %s", status, answer)
	}
	if status, _, _ := b.ask(http.MethodPost, runs, string(body), "Idempotency-Key: "+strings.Repeat("x", MaxKey+1)); status != 400 {
		t.Errorf("a key that is too long: status %d", status)
	}
	status, answer, head := b.ask(http.MethodPost, runs+"/nobody/steer", `{"verb":"pause"}`, "Idempotency-Key: tuesday")
	again, same, replayed := b.ask(http.MethodPost, runs+"/nobody/steer", `{"verb":"pause"}`, "Idempotency-Key: tuesday")
	if status != 404 || again != 404 || !bytes.Equal(answer, same) || head.Get("Idempotency-Replayed") != "" || replayed.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a refusal: %d %s, then %d %s", status, answer, again, same)
	}
}

// What is remembered of keys is bounded in number.
func TestKeysAreBounded(t *testing.T) {
	full := 0
	o := &once{full: func() { full++ }}
	for i := range MaxKeys + 10 {
		if _, first := o.enter(fmt.Sprint(i), [32]byte{}); !first {
			t.Fatalf("key %d was there", i)
		}
	}
	if len(o.keys) != MaxKeys || len(o.order) != MaxKeys || full != 10 {
		t.Errorf("%d keys are remembered, %d were forgotten", len(o.keys), full)
	}
	if _, first := o.enter("0", [32]byte{}); !first {
		t.Error("the oldest is remembered")
	}
}

// R-B26, R-78: the wide stream tells what happens, and goes on from any of its cursors
// without loss or repeat, in another process too.
func TestWideStream(t *testing.T) {
	b := newDaemonBed(t, nil)
	all := b.mustWide("/v1/events")
	first := b.mustPlan()
	var want []string
	var ids []string
	for want == nil || !strings.Contains(want[len(want)-1], message.PlanAwaiting) {
		name, id, data := all.event()
		want, ids = append(want, name+" "+data), append(ids, id)
	}
	for i := range ids {
		r := b.mustWide("/v1/projects/shop/events", "Last-Event-ID: "+ids[i])
		for _, w := range want[i+1:] {
			name, _, data := r.event()
			if name+" "+data != w {
				t.Fatalf("after message %d comes %s, want %s", i, name+" "+data, w)
			}
		}
		r.close()
	}
	// What has begun while nobody was there is told too.
	all.close()
	second := b.mustPlan()
	r := b.mustWide("/v1/events", "Last-Event-ID: "+ids[len(ids)-1])
	defer r.close()
	created := map[pawl.RunID]int{}
	for created[second.Run] == 0 {
		name, _, data := r.event()
		var m struct{ Run pawl.RunID }
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		if name == message.LoopCreated {
			created[m.Run]++
		}
	}
	if created[first.Run] != 0 {
		t.Errorf("what was told is told again: %v", created)
	}
	if status, _, _ := b.ask(http.MethodGet, "/v1/events?after=nonsense", ""); status != 400 {
		t.Errorf("no cursor: status %d", status)
	}
}

// withAttic is a daemon that has closed one of its projects.
type withAttic struct {
	one
	opened chan string
}

func (p withAttic) Projects(ctx context.Context) ([]pawl.ProjectInfo, error) {
	all, err := p.one.Projects(ctx)
	return append(all, pawl.ProjectInfo{ID: "attic", Closed: true}), err
}

func (p withAttic) Project(ctx context.Context, id string) (pawl.Service, error) {
	if id == "attic" {
		p.opened <- id
	}
	return p.one.Project(ctx, id)
}

// Who wants to know what happens from now on has no project opened for that; who comes
// back may have missed something of one that was closed since.
func TestClosedProjectsStayClosed(t *testing.T) {
	opened := make(chan string, 10)
	b := newDaemonBed(t, func(d *Daemon) {
		d.Projects = withAttic{d.Projects.(one), opened}
		d.Feed = message.NewFeed(d.Projects)
	})
	r := b.mustWide("/v1/events")
	defer r.close()
	b.mustPlan()
	_, id, _ := r.event()
	if len(opened) > 0 {
		t.Error("a closed project is opened for a new reader")
	}
	back := b.mustWide("/v1/events", "Last-Event-ID: "+id)
	defer back.close()
	if len(opened) == 0 {
		t.Error("what happened in a project before it was closed is not looked for")
	}
}

// A cursor that has become long leaves out what was at rest some time ago, and only that.
func TestLongCursors(t *testing.T) {
	now := time.Now()
	m := runs(100)
	at := wideCursor{Seen: message.Cursor{}, Since: now.Add(-time.Hour)}
	for i := range m.runs {
		m.runs[i].Updated = now.Add(-time.Minute)
		at.Seen[runKey("", m.runs[i].ID)] = 7
	}
	m.runs[1].Status = pawl.StatusPaused
	m.runs[2].Updated = now
	m.events = []pawl.Event{{Run: m.runs[0].ID, Seq: 8, Time: now, Body: &pawl.RunPaused{}}}
	h := newHandler(m, nil, nil)
	s := &wideStream{h: h, c: &call{Request: httptest.NewRequest(http.MethodGet, "/v1/events", nil)}, at: at}
	s.shorten(t.Context(), message.Message{Run: m.runs[0].ID, Seq: 8})
	want := message.Cursor{runKey("", m.runs[1].ID): 7, runKey("", m.runs[2].ID): 7}
	if !maps.Equal(s.at.Seen, want) || !s.at.Since.Equal(now.Add(-WideMargin)) {
		t.Errorf("it is %+v", s.at)
	}
}

// wideReader reads the wide stream.
type wideReader struct {
	reader
}

func (b *daemonBed) mustWide(path string, headers ...string) *wideReader {
	b.t.Helper()
	r := mustRead(b.t, mustDial(b.t, "unix", b.socket), path, headers...)
	return &wideReader{*r}
}

func (r *wideReader) event() (name, id, data string) {
	r.t.Helper()
	for {
		text := r.next()
		if strings.HasPrefix(text, ":") {
			continue
		}
		for line := range strings.SplitSeq(text, "|") {
			switch field, value, _ := strings.Cut(line, ": "); field {
			case "event":
				name = value
			case "id":
				id = value
			case "data":
				data = value
			}
		}
		if name == "" {
			r.t.Fatalf("the stream has %q", text)
		}
		return name, id, data
	}
}

// The first byte of a connection says what it speaks; one that says nothing holds up
// nobody.
func TestTwoProtocolsOnOneSocket(t *testing.T) {
	b := newDaemonBed(t, func(d *Daemon) {
		d.Lines = func(_ context.Context, conn net.Conn) {
			data := make([]byte, 64)
			n, _ := io.ReadAtLeast(conn, data, 9)
			_, _ = fmt.Fprintf(conn, "heard %s", data[:n])
		}
	})
	silent, err := net.Dial("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for range 3 {
		conn, err := net.Dial("unix", b.socket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, `{"id": 1}`); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); err != nil || string(got) != `heard {"id": 1}` {
			t.Errorf("it was answered %q, %v", got, err)
		}
		_ = conn.Close()
		var about pawl.DaemonInfo
		if b.mustAsk(http.MethodGet, "/v1/daemon", "", &about); about.PID != 7 {
			t.Errorf("it is %+v", about)
		}
	}
}

// The records of loops have Loopr's fields. R-69
func TestLoopsOverHTTP(t *testing.T) {
	b := newDaemonBed(t, nil)
	p := b.mustPlan()
	var loops []view.Record
	b.mustAsk(http.MethodGet, "/v1/projects/shop/runs/"+string(p.Run)+"/loops", "", &loops)
	if len(loops) != 1 || loops[0].ID != p.Loop || loops[0].LoopType != "plan" || loops[0].Status != pawl.LoopComplete {
		t.Errorf("the loops are %+v", loops)
	}
	var record view.Record
	if b.mustAsk(http.MethodGet, "/v1/projects/shop/runs/"+string(p.Run)+"/loops/"+p.Loop, "", &record); record.ID != p.Loop {
		t.Errorf("the loop is %+v", record)
	}
	if status, _, _ := b.ask(http.MethodPost, "/v1/projects/shop/runs/"+string(p.Run)+"/signals", `{"signal":"info","to":"nobody","text":"hm"}`); status != 404 {
		t.Errorf("a signal to nobody: status %d", status)
	}
	var done Done
	b.mustAsk(http.MethodPost, "/v1/projects/shop/runs/"+string(p.Run)+"/signals", `{"signal":"info","to":"type:plan","text":"hm","by":"ada"}`, &done)
	var signals []view.SignalRecord
	b.mustAsk(http.MethodGet, "/v1/projects/shop/runs/"+string(p.Run)+"/signals", "", &signals)
	if len(signals) != 1 || signals[0].TargetLoop != p.Loop || signals[0].SignalType != pawl.SignalInfo {
		t.Errorf("the signals are %+v", signals)
	}
}
