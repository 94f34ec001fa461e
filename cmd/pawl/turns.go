package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/delegate/acp"
	"pawl/internal/delegate/answers"
	"pawl/internal/delegate/claude"
	"pawl/internal/delegate/codex"
	"pawl/internal/delegate/login"
	"pawl/internal/delegate/toolserver"
	"pawl/internal/driver"
	"pawl/internal/evidence/class"
	"pawl/internal/runner"
)

// tokenSecret is what the tokens of this process's gateways are made of.
var tokenSecret = func() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return secret
}()

// roomToken returns what an agent of a run uses in place of its key. It is the same for all its rooms.
func roomToken(of runOf, account pawl.Account) string {
	sum := hmac.New(sha256.New, tokenSecret)
	fmt.Fprintf(sum, "%q", []string{of.project, string(of.run), account.Provider, account.Address, account.Key})
	return "pawl-" + hex.EncodeToString(sum.Sum(nil))[:40]
}

// delegate returns the coding agent that a run has chosen.
func (m *models) delegate(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (runner.Delegate, error) {
	of, _ := ctx.Value(runKey{}).(runOf)
	app := &cli.App{Environ: m.environs.get(of)}
	cfg, err := m.environs.providers(of)
	if err != nil {
		return runner.Delegate{}, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: err.Error(), Unsent: true}
	}
	d, purse, problem := payer(app, &cfg, choice)
	if problem != nil {
		return runner.Delegate{}, &pawl.ModelError{Kind: pawl.ModelAuth, Message: problem.Error(), Fix: problem.Hint, Unsent: true}
	}
	return m.paid(of, job.Workspace, app, &d, purse, choice.Name), nil
}

// paid returns a coding agent for a worktree of a run, given what pays for its turns and its model.
func (m *models) paid(of runOf, workspace string, app *cli.App, d *config.Delegate, purse config.Purse, model string) runner.Delegate {
	program, token := resolved(app.Program(d.Command[0])), roomToken(of, purse.Account)
	setup := d.SetupFor(purse.Kind, config.Filling{Gateway: "{gateway}", Token: token, Model: model, Home: "{home}"})
	out := runner.Delegate{Model: setup.Model, Room: pawl.DelegateSpec{
		Agent: strings.TrimSuffix(d.Name+"."+purse.Account.Key, "."), Hide: d.Hide, Hides: class.ConfiguresAgents, Programs: programFolders(program), Environ: setup.Environ,
	}}
	for _, f := range setup.Files {
		out.Room.Home = append(out.Room.Home, pawl.RoomFile{Path: f.Path, Data: []byte(f.Text)})
	}
	at := turnOf{of, workspace, out.Room.Agent}
	if purse.Kind == config.PurseLogin {
		m.withLogin(&out, d, purse)
	} else {
		out.Room.Gateway = &pawl.Gateway{Address: purse.Address, Token: token, Answered: func(a pawl.GatewayAnswer) {
			if w, ok := m.turns.Load(at); ok {
				w.(*answers.Watch).Answered(a)
			}
		}, Key: func(ctx context.Context) (string, error) {
			key, err := m.keys.Key(ctx, purse.Key, app.Environ)
			m.environs.know(key)
			return cmp.Or(key, "none"), err
		}}
	}
	out.In = func(room pawl.DelegateRoom) pawl.Agent {
		agent := agentIn(room, d, &setup, program)
		if out.Room.Gateway == nil {
			return agent
		}
		return m.watched(agent, at, purse.Address)
	}
	return out
}

// watched returns an agent whose failures are what the gateway saw of them.
func (m *models) watched(agent pawl.Agent, at turnOf, address string) pawl.Agent {
	w := &answers.Watch{}
	if u, err := url.Parse(address); err == nil {
		w.Host = u.Host
	}
	m.turns.Store(at, w)
	return &answers.Agent{Agent: agent, Watch: w, Done: func() { m.turns.CompareAndDelete(at, w) }}
}

// agentIn returns an agent for an open room.
func agentIn(room pawl.DelegateRoom, d *config.Delegate, setup *config.Setup, program string) pawl.Agent {
	fill := func(list []string) []string {
		out := slices.Clone(list)
		for i := range out {
			out[i] = strings.ReplaceAll(out[i], "{gateway}", room.Gateway())
		}
		return out
	}
	argv := slices.Concat([]string{program}, d.Command[1:], fill(setup.Args))
	switch d.Protocol {
	case config.ProtocolClaude:
		return &claude.Agent{Argv: argv}
	case config.ProtocolCodex:
		return &codex.Agent{Argv: argv, Settings: fill(setup.Settings)}
	}
	return &acp.Agent{Argv: argv, Login: setup.Method, Meta: d.Meta, Modes: d.Modes}
}

// resolved returns the file that a program is, whatever links lead to it.
func resolved(program string) string {
	if file, err := filepath.EvalSymlinks(program); err == nil {
		return file
	}
	return program
}

// programFolders returns the folders that a program needs, given its file: its own, or that of all
// packages that npm installed it with.
func programFolders(file string) []string {
	const packages = "/node_modules/"
	if i := strings.Index(file, packages); i >= 0 {
		return []string{file[:i+len(packages)-1]}
	}
	return []string{filepath.Dir(file)}
}

// withLogin gives an agent's room the user's login, and takes it back after each turn.
func (m *models) withLogin(out *runner.Delegate, d *config.Delegate, purse config.Purse) {
	l := login.Login{File: purse.File, Within: d.Login.File, Identify: d.Login.Identify, Folder: m.logins}
	var taken []byte
	out.Room.Egress = d.Login.Hosts
	out.Room.Fill = func(ctx context.Context, home string) ([]pawl.RoomFile, error) {
		// A process that died may have left a login there that the agent has refreshed.
		if _, err := l.Return(ctx, home, nil); err != nil {
			return nil, err
		}
		var err error
		if taken, err = l.Take(ctx); err != nil {
			return nil, &pawl.ModelError{Kind: pawl.ModelAuth, Message: err.Error(), Fix: "start " + filepath.Base(d.Command[0]) + " and log in", Unsent: true}
		}
		for _, secret := range d.Login.Secrets(taken) {
			m.environs.know(secret)
		}
		return []pawl.RoomFile{{Path: d.Login.File, Data: taken}}, nil
	}
	out.Done = func(ctx context.Context, room pawl.DelegateRoom, spoke error) (said string, err error) {
		ctx, cancel := context.WithTimeout(ctx, loginGrace)
		defer cancel()
		home, err := room.Home()
		if err == nil {
			said, err = l.Return(ctx, home, taken)
		}
		refused, ok := errors.AsType[*pawl.ModelError](spoke)
		if err == nil && ok && refused.Kind == pawl.ModelAuth && taken != nil && l.Changed(taken) {
			again := *refused
			again.Kind, again.Message = pawl.ModelOverloaded, "the login was refreshed by another session: "+refused.Message
			return said, &again
		}
		if err != nil {
			said = strings.TrimSpace(said + " the login could not be written back: " + err.Error())
		}
		return said, spoke
	}
}

// loginGrace is how long a login may take to be written back after the end of a turn.
const loginGrace = 10 * time.Second

// serveTools offers tools to a coding agent over MCP.
func (m *models) serveTools(ctx context.Context, l net.Listener, tools []pawl.ToolSpec, call runner.ToolCall) error {
	return (&toolserver.Server{Tools: tools, Call: call, Version: m.version}).Serve(ctx, l)
}
