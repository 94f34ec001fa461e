package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/cli/delegates"
	"pawl/internal/config"
	"pawl/internal/egress"
	"pawl/internal/project"
	"pawl/internal/room"
	"pawl/internal/sandbox"
)

// What a probe asks, and the word that the answer must contain. An agent may report an error of its
// provider as its answer.
const (
	probePrompt = "Answer with the single word OK. Do not use any tools."
	probeWord   = "OK"
)

// probeRun is the run that rooms of probes belong to.
const probeRun = "000-probe"

// prober asks coding agents for one answer.
type prober struct {
	app *cli.App
	box func() (*sandbox.Box, error)
}

func newProber(app *cli.App) *prober {
	return &prober{app: app, box: sync.OnceValues(func() (*sandbox.Box, error) {
		cfg := machineConfig(app)
		return sandbox.New(context.Background(), sandboxOptions(cfg.Sandbox()))
	})}
}

// probe has an agent answer once, in a room over an empty folder that it cannot write to.
func (p *prober) probe(ctx context.Context, d config.Delegate, model string) (answer delegates.Answer, err error) {
	app := p.app
	cfg, choice, err := probedModel(app, &d, model)
	if err != nil {
		return answer, err
	}
	answer.Model = choice.Name
	d, purse, refusal := payer(app, &cfg, choice)
	switch {
	case refusal != nil && model == "" && choice.Name == config.DefaultModel && purse.Kind != "":
		return answer, pawl.Errorf(refusal.Code, "it does not choose a model itself if a key pays").
			WithHint("name one: pawl delegates %s/MODEL --probe", d.Name)
	case refusal != nil:
		return answer, refusal
	}
	box, err := p.box()
	if err != nil {
		return answer, pawl.Errorf(pawl.CodeUnavailable, "agents cannot be confined here: %w", err).WithHint("pawl doctor says what is missing")
	}
	dir, err := os.MkdirTemp("", "pawl-ask-")
	if err != nil {
		return answer, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, project.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return answer, err
	}
	m := &models{environs: newEnvirons(app.Environ), logins: filepath.Join(app.StateHome, "pawl", "logins"), version: app.Version}
	rooms := room.New(room.Options{
		State: filepath.Join(dir, "state"), Enforcer: box, Visible: func(string) []string { return nil },
		Host: func(context.Context) room.Host { return room.NewHost(app.Environ, "") },
		Proxy: func(_ context.Context, out room.WayOut) (room.Proxy, error) {
			return egress.New(egress.Options{Rules: out.Rules, Gateway: out.Gateway, Environ: app.Environ, Refused: out.Refused})
		},
	})
	defer func() { err = errors.Join(err, rooms.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, delegates.ProbeTime)
	defer cancel()
	before := time.Now()
	reply, err := m.ask(ctx, rooms, runOf{run: probeRun}, tree, app, &d, purse, choice)
	answer.Took = time.Since(before)
	switch {
	case choice.Plan:
	case reply.Priced:
		answer.Cost = reply.Cost
	default:
		answer.Cost, answer.CostGuess = choice.Price.Cost(reply.Usage), choice.PriceGuess
	}
	return answer, m.probed(&d, purse, reply, err)
}

// probedModel returns the configuration and the model of an agent to ask: the named one, or the cheapest
// of the agent's that the user has chosen, or its model for tier 1.
func probedModel(app *cli.App, d *config.Delegate, model string) (cfg config.Config, choice pawl.ModelChoice, err error) {
	if model == "" {
		own, err := providersOf(app)
		if err != nil {
			return cfg, choice, err
		}
		set, err := own.Settings()
		if err != nil {
			return cfg, choice, err
		}
		for _, m := range set.AllModels() {
			if m.Provider == d.Name && model == "" {
				model = m.Name
			}
		}
	}
	model = cmp.Or(model, d.Tiers[0], config.DefaultModel)
	cfg, err = config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ, Flags: []config.Flag{{Name: "NAME/MODEL", Key: "model", Value: d.Name + "/" + model}}})
	if err != nil {
		return cfg, choice, err
	}
	set, err := cfg.Settings()
	return cfg, set.Models[0], err
}

// ask has an agent make the turn of a probe.
func (m *models) ask(ctx context.Context, rooms pawl.Rooms, of runOf, tree string, app *cli.App, d *config.Delegate, purse config.Purse, choice pawl.ModelChoice) (reply pawl.AgentReply, err error) {
	agent := m.paid(of, "", app, d, purse, choice.Name)
	spec := agent.Room
	spec.AgentRoom, spec.ReadOnly = pawl.AgentRoom{Run: of.run, Name: d.Name, Tree: tree}, true
	in, err := rooms.Delegate(ctx, spec)
	if err != nil {
		return reply, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	turn := pawl.AgentTurn{
		Model: agent.Model, Prompt: probePrompt, Access: pawl.AgentReads, Confined: true,
		Limits: pawl.AgentLimits{Tokens: delegates.ProbeTokens, Price: choice.Price, Silence: delegates.ProbeTime, ToolTime: delegates.ProbeTime},
	}
	if !choice.Plan {
		turn.Limits.Money = delegates.ProbeMoney
	}
	reply, err = agent.In(in).Turn(ctx, in, turn, func(pawl.AgentUpdate) {})
	if agent.Done != nil {
		var said string
		if said, err = agent.Done(ctx, in, err); said != "" {
			app.Notef("%s: %s", d.Name, said)
		}
	}
	return reply, err
}

// probed returns why a probe failed, with what to do about it; nil if the agent answered.
func (m *models) probed(d *config.Delegate, purse config.Purse, reply pawl.AgentReply, err error) error {
	text := string(m.environs.redact([]byte(strings.TrimSpace(reply.Text))))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return pawl.Errorf(pawl.CodeUnavailable, "it did not answer within %s", delegates.ProbeTime).
			WithHint("%s", startAlone(d))
	case err != nil:
		return m.unanswered(d, purse, err)
	case strings.Contains(strings.ToUpper(text), probeWord):
		return nil
	case reply.Stop == pawl.AgentCapped:
		return pawl.Errorf(pawl.CodeUnavailable, "it reached the limit of a probe, %s or %d tokens, before it answered", delegates.ProbeMoney, delegates.ProbeTokens).
			WithHint("try a cheaper model: pawl delegates %s/MODEL --probe", d.Name)
	case reply.Stop == pawl.AgentRefused:
		return pawl.Errorf(pawl.CodeUnavailable, "its model refuses to answer").WithHint("try another model: pawl delegates %s/MODEL --probe", d.Name)
	case text == "":
		return pawl.Errorf(pawl.CodeUnavailable, "it ended its turn without an answer").WithHint("%s", startAlone(d))
	}
	return pawl.Errorf(pawl.CodeUnavailable, "it was asked for the word %s and answered %.200q", probeWord, text).
		WithHint("%s", startAlone(d))
}

// unanswered returns the failure of a turn in plain words.
func (m *models) unanswered(d *config.Delegate, purse config.Purse, err error) error {
	why, ok := errors.AsType[*pawl.ModelError](err)
	if !ok {
		return err
	}
	message := why.Message
	if why.Status != 0 {
		message = strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", why.Status, message), ": ")
	}
	text := pawl.Failure{Code: pawl.FailureCode(why.Kind), Message: string(m.environs.redact([]byte(message)))}.Text()
	return pawl.Errorf(pawl.CodeUnavailable, "%s", text).WithHint("%s", cmp.Or(why.Fix, probeFix(d, purse, why.Kind)))
}

// probeFix returns what can be done about a failure.
func probeFix(d *config.Delegate, purse config.Purse, kind pawl.ModelErrorKind) string {
	switch kind {
	case pawl.ModelAuth:
		if purse.Kind == config.PurseLogin {
			return "start " + filepath.Base(d.Command[0]) + " and log in again"
		}
		return "check the " + purse.String()
	case pawl.ModelQuota, pawl.ModelRateLimit:
		return "wait, or use another agent or account"
	case pawl.ModelUnknown:
		return fmt.Sprintf("name a model that it has: pawl delegates %s/MODEL --probe", d.Name)
	case pawl.ModelNetwork, pawl.ModelNoServer, pawl.ModelNoStart, pawl.ModelOverloaded:
		if purse.Kind == config.PurseKey {
			return "check that " + purse.Address + " can be reached"
		}
		return "check that the provider can be reached: " + startAlone(d)
	}
	return startAlone(d)
}

// startAlone proposes to try an agent without Pawl.
func startAlone(d *config.Delegate) string {
	return fmt.Sprintf("start %s by itself and see whether it answers there", filepath.Base(d.Command[0]))
}
