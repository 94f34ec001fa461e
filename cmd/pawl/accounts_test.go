//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/daemon"
	"pawl/internal/driver"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/governor"
	"pawl/internal/model/modeltest"
	"pawl/internal/store/mem"
	"pawl/internal/testsize"
)

// counter is a model server that records which effect of which run came with which key.
type counter struct {
	modeltest.Handler
	address string
}

func newCounter(t *testing.T) *counter {
	c := &counter{Handler: modeltest.Handler{
		Wire: modeltest.Chat, Models: []string{"m"},
		Answer: func(pawl.ModelRequest) modeltest.Reply { return modeltest.Text("done") },
	}}
	s := httptest.NewServer(&c.Handler)
	t.Cleanup(s.Close)
	c.address = s.URL + "/v1"
	return c
}

// caller performs effects without a world, but for its model calls: those go over the wire to
// the server of the run's account.
type caller struct {
	models *models
	world  *drivertest.World
	name   string        // of the project
	step   chan struct{} // a tool call ends when it receives; closed = at once
}

func (c caller) Perform(ctx context.Context, job driver.Job) (pawl.Answer, []pawl.Blob) {
	failed := func(f pawl.Failure) (pawl.Answer, []pawl.Blob) {
		return &pawl.EffectFailed{Effect: job.Effect.ID, Failure: f}, nil
	}
	switch do := job.Effect.Do.(type) {
	case *pawl.CallTool:
		select {
		case <-c.step:
		case <-ctx.Done():
		}
	case *pawl.CallModel:
		m, err := c.models.model(ctx, job, *job.Settings.Model(do.Tier, do.Choice))
		if err == nil {
			_, err = m.Call(ctx, pawl.ModelRequest{
				Model: "m", System: fmt.Sprint(c.name, " ", job.Run, " ", job.Effect.ID), MaxOutput: 100,
				Messages: []pawl.Message{{Role: pawl.RoleUser, Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: "go on"}}}},
			}, nil)
		}
		if typed, ok := errors.AsType[*pawl.ModelError](err); ok {
			return failed(pawl.Failure{Code: pawl.FailureCode(typed.Kind), Message: typed.Message, Unsent: typed.Unsent, Wait: typed.Wait})
		} else if err != nil {
			return failed(pawl.Failure{Code: pawl.FailDefect, Message: err.Error()})
		}
	}
	return c.world.Perform(ctx, job)
}

// walls stands for a sandbox, consent and what else a project's engine is given.
type walls struct{}

func (walls) Confined() bool                             { return true }
func (walls) Describe() string                           { return "nothing is run" }
func (walls) PrepareAllowed(pawl.Hash) (bool, error)     { return true, nil }
func (walls) AllowPrepare(_ pawl.Hash, _ []string) error { return nil }

// shell is an environment that commands are given in.
type shell struct {
	environ []string
	account pawl.Account
}

// interleaving is two runs whose owners share a machine, and what is done to them.
type interleaving struct {
	t      *testing.T
	r      *rand.Rand
	shells []shell
	logs   map[string]*mem.Log
	past   map[string]*mem.Log // and those of interleavings before: a server may hear late of a call that was given up
	step   chan struct{}
	asked  []string // what was done, for whoever reads a failure

	machine  *machine
	projects map[string]owned
}

// boot starts a daemon over the logs there are.
func (x *interleaving) boot() {
	m := &machine{environs: newEnvirons([]string{"XDG_CONFIG_HOME=/nonexistent"}), probed: make(chan struct{})}
	m.models = &models{environs: m.environs}
	m.governor = governor.New(governor.Limits{Machine: 8, Calls: 4, NoNet: 4, Net: 4, Heavy: 4}, nil)
	x.machine, x.projects = m, map[string]owned{}
	for name, log := range x.logs {
		world := &drivertest.World{Calls: 2, GateVerdict: func(iteration int, _ string) pawl.Verdict {
			if iteration < 4 {
				return pawl.VerdictFail
			}
			return pawl.VerdictPass
		}}
		e := engine.New(m.ofProject(name, engine.Config{
			Log: log, Performer: caller{m.models, world, name, x.step}, Places: m.governor.Places(name), Version: "test", Sandbox: walls{}, Consent: walls{}, Resolve: x.resolve,
			Inspect: func(context.Context, string) (pawl.Repository, error) { return pawl.Repository{Head: "base"}, nil },
			Known:   func(context.Context, string) (engine.Known, error) { return engine.Known{}, nil },
			Numbers: func(context.Context) (int, error) { return 0, nil },
		}))
		x.projects[name] = owned{service{e, e.Driven}, m, e, name}
	}
}

func (x *interleaving) end() {
	for _, p := range x.projects {
		p.engine.Close()
	}
}

// in is the context of a request from a shell.
func (x *interleaving) in(s shell) context.Context {
	return daemon.WithEnviron(x.t.Context(), s.environ)
}

// mayFail passes over the errors that what is done to a run at a bad moment has.
func (x *interleaving) mayFail(what string, err error) {
	x.asked = append(x.asked, fmt.Sprintf("%s: %v", what, err))
	if err == nil {
		return
	}
	switch pawl.CodeOf(err) {
	case pawl.CodeState, pawl.CodeConflict, pawl.CodeNotFound, pawl.CodeUnavailable, pawl.CodeKey, pawl.CodeInvalid:
	default:
		x.t.Fatalf("%s: %v", what, err)
	}
}

// act does one thing to a run from a shell.
func (x *interleaving) act(name string, run pawl.RunID) {
	n := x.r.IntN(len(x.shells))
	s, p := x.shells[n], x.projects[name]
	steer := func(c pawl.Steering) {
		x.mayFail(fmt.Sprintf("%s %s %s from shell %d", c.Verb, name, run, n), p.Steer(x.in(s), run, c))
	}
	switch x.r.IntN(9) {
	case 0, 1:
		steer(pawl.Steering{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: 1, Choice: []string{"retry", "continue", "stop"}[x.r.IntN(3)], By: "ada"}})
	case 2:
		steer(pawl.Steering{Verb: pawl.SteerLimits, Limits: &pawl.DefaultLimits})
	case 3:
		steer(pawl.Steering{Verb: pawl.SteerPause})
	case 4, 5:
		steer(pawl.Steering{Verb: pawl.SteerResume})
	case 6:
		steer(pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: "type:task", Text: "look"}})
	case 7: // the daemon dies, and another shell opens the project of the next one
		x.end()
		x.boot()
		for _, name := range slices.Sorted(maps.Keys(x.projects)) {
			p := x.projects[name]
			for _, r := range x.runs(name) {
				x.mayFail(fmt.Sprintf("boot %s %s", name, r.ID), p.Adopt(x.t.Context(), r.ID))
				x.mayFail(fmt.Sprintf("open %s %s from shell %d", name, r.ID, n), p.Adopt(x.in(s), r.ID))
			}
		}
	case 8:
		events := x.events(name, run)
		_, err := p.Fork(x.in(s), run, events[len(events)-1].Seq)
		x.mayFail(fmt.Sprintf("fork %s %s from shell %d", name, run, n), err)
	}
	select {
	case x.step <- struct{}{}:
	default:
	}
}

func (x *interleaving) runs(name string) []pawl.RunInfo {
	runs, err := x.projects[name].Runs(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	return runs
}

func (x *interleaving) events(name string, run pawl.RunID) (out []pawl.Event) {
	for e, err := range x.past[name].Events(x.t.Context(), run, 0) {
		if err != nil {
			x.t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// accountAt returns the account of a run as its log has it at one of its events, and those it
// had later.
func (x *interleaving) accountAt(name string, run pawl.RunID, at pawl.Seq) (out []pawl.Account) {
	for _, e := range x.events(name, run) {
		switch b := e.Body.(type) {
		case *pawl.RunStarted:
			var s pawl.Settings
			if err := json.Unmarshal(b.Settings, &s); err != nil {
				x.t.Fatal(err)
			}
			out = []pawl.Account{s.Models[0].Account()}
		case *pawl.AccountChanged:
			if e.Seq <= at {
				out = nil
			}
			out = append(out, b.To)
		}
	}
	return out
}

// Two runs have accounts of their own. Whatever is done to them from shells with other
// accounts, in whatever order, and whoever starts the daemon anew: each request goes to the
// address and with the key that the log of its run says.
// F-14, F-15
func TestAccountsStayApart(t *testing.T) {
	t.Parallel()
	servers := []*counter{newCounter(t), newCounter(t)}
	var shells []shell
	for i := range 4 {
		at, key := servers[i%2].address, fmt.Sprintf("key-of-shell-%d", i)
		shells = append(shells, shell{
			environ: []string{"XDG_CONFIG_HOME=/nonexistent", "OPENAI_BASE_URL=" + at, "OPENAI_API_KEY=" + key},
			account: pawl.Account{Provider: "openai-chat", Address: at, Key: pawl.KeyOf(key)},
		})
	}
	var n, sent, changed int
	past := map[string]*mem.Log{}
	for seed := range 1000 {
		if !testsize.Case(seed, 25) {
			continue
		}
		n++
		x := &interleaving{
			t: t, r: rand.New(rand.NewPCG(uint64(seed), 14)), shells: shells, step: make(chan struct{}, 16),
			logs: map[string]*mem.Log{fmt.Sprintf("p%d", seed): mem.New(), fmt.Sprintf("q%d", seed): mem.New()},
			past: past,
		}
		maps.Copy(past, x.logs)
		x.play()
		for name := range x.logs {
			for _, r := range x.runs(name) {
				for _, e := range x.events(name, r.ID) {
					if _, ok := e.Body.(*pawl.AccountChanged); ok {
						changed++
					}
				}
			}
		}
		sent += x.check(servers)
		x.end()
		if t.Failed() {
			t.Fatalf("with seed %d:\n%s", seed, strings.Join(x.asked, "\n"))
		}
	}
	if sent < 4*n || changed < n/10 {
		t.Errorf("%d interleavings led to %d requests and %d changes of accounts", n, sent, changed)
	}
	t.Logf("%d interleavings: %d requests, %d changes of accounts", n, sent, changed)
}

// resolve makes a run that asks a person when its ladder is used up.
func (x *interleaving) resolve(ctx context.Context, asked pawl.StartRequest) (pawl.RunSpec, error) {
	began := drivertest.Asking()
	req := pawl.RunSpec{Goal: asked.Goal, Prompts: map[string]string{"p": "Work."}}
	if err := errors.Join(json.Unmarshal(began.Recipe, &req.Recipe), json.Unmarshal(began.Settings, &req.Settings)); err != nil {
		x.t.Fatal(err)
	}
	req.Settings.Retry.First = time.Millisecond
	for i := range req.Settings.Models {
		req.Settings.Models[i] = pawl.ModelChoice{Provider: "openai-chat", Name: "m", MaxOutput: 100}
	}
	err := x.machine.admit(ctx, &req)
	for i := range req.Settings.Models { // what a spec says of an account is not used
		req.Settings.Models[i].Address, req.Settings.Models[i].Key = "http://127.0.0.1:1/v1", "0123"
	}
	return req, err
}

// play starts a run in each project, or both in one, does things to them, and lets them go on
// to their rest.
func (x *interleaving) play() {
	x.boot()
	names := slices.Sorted(maps.Keys(x.logs))
	type started struct {
		name string
		run  pawl.RunID
	}
	var runs []started
	for i := range 2 {
		name, n := names[x.r.IntN(2)], x.r.IntN(len(x.shells))
		info, err := x.projects[name].Start(x.in(x.shells[n]), pawl.StartRequest{Goal: fmt.Sprintf("thing %d", i)})
		if err != nil {
			x.t.Fatal(err)
		}
		x.asked = append(x.asked, fmt.Sprintf("start %s %s from shell %d", name, info.ID, n))
		if got := x.accountAt(name, info.ID, 1)[0]; got != x.shells[n].account {
			x.t.Errorf("run %s began with account %+v, want that of shell %d", info.ID, got, n)
		}
		runs = append(runs, started{name, info.ID})
	}
	for range 4 + x.r.IntN(8) {
		r := runs[x.r.IntN(len(runs))]
		x.act(r.name, r.run)
	}
	close(x.step)
}

// check holds every request that the servers have received against the logs. Runs may still
// send some: each is checked as what its run's log says of it, whenever it comes.
func (x *interleaving) check(servers []*counter) (sent int) {
	for name, p := range x.projects {
		for _, r := range x.runs(name) {
			_ = p.Steer(x.t.Context(), r.ID, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}) // it may have ended
		}
		p.engine.Close()
	}
	for _, s := range servers {
		for _, got := range s.Forget() {
			var name string
			var run pawl.RunID
			var effect pawl.Seq
			if _, err := fmt.Sscan(got.Request.System, &name, &run, &effect); err != nil {
				x.t.Fatalf("%q: %v", got.Request.System, err)
			}
			sent++
			have := pawl.Account{Provider: "openai-chat", Address: s.address, Key: pawl.KeyOf(strings.TrimPrefix(got.Header.Get("Authorization"), "Bearer "))}
			ok := false
			want := x.accountAt(name, run, effect)
			for _, a := range want {
				ok = ok || a == have
			}
			if !ok {
				x.t.Errorf("effect %d of run %s of %s went to %+v, want one of %+v", effect, run, name, have, want)
			}
		}
	}
	return sent
}

// Of all that a person can do to a run, only resuming and forking it hand over an environment,
// and only if that is not refused.
// F-14
func TestWhoHandsOver(t *testing.T) {
	t.Parallel()
	server := newCounter(t)
	var shells []shell
	for i := range 2 {
		shells = append(shells, shell{environ: []string{
			"XDG_CONFIG_HOME=/nonexistent", "OPENAI_BASE_URL=" + server.address, fmt.Sprintf("OPENAI_API_KEY=key-of-shell-%d", i),
		}})
	}
	x := &interleaving{t: t, shells: shells, step: make(chan struct{}, 16), logs: map[string]*mem.Log{"p": mem.New()}}
	x.past = x.logs
	x.boot()
	defer x.end()
	info, err := x.projects["p"].Start(x.in(shells[0]), pawl.StartRequest{Goal: "a small thing"})
	if err != nil {
		t.Fatal(err)
	}
	steer := func(c pawl.Steering) error { return x.projects["p"].Steer(x.in(shells[1]), info.ID, c) }
	has := func(n int, after string) {
		t.Helper()
		if environ := x.machine.environs.get(runOf{"p", info.ID}); !slices.Contains(environ, fmt.Sprintf("OPENAI_API_KEY=key-of-shell-%d", n)) {
			t.Errorf("after %s the run has %q, want what shell %d has", after, environ, n)
		}
	}
	has(0, "its start")
	for _, c := range []pawl.Steering{
		{Verb: pawl.SteerLimits, Limits: &pawl.DefaultLimits},
		{Verb: pawl.SteerAnswer, Answer: &pawl.Reply{Question: 1, Choice: "retry"}},
		{Verb: pawl.SteerResume}, // it is running: refused
		{Verb: pawl.SteerPause},
		{Verb: pawl.SteerLimits, Limits: &pawl.DefaultLimits},
	} {
		err := steer(c)
		has(0, fmt.Sprintf("%s (%v)", c.Verb, err))
	}
	if err := steer(pawl.Steering{Verb: pawl.SteerResume}); err != nil {
		t.Fatal(err)
	}
	has(1, "its resumption")
	if err := steer(pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}); err != nil {
		t.Fatal(err)
	}
}
