package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/credential"
	"pawl/internal/daemon"
	"pawl/internal/driver"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/inventory"
	"pawl/internal/model/openai"
	"pawl/internal/model/script"
	"pawl/internal/pattern"
)

// models makes the model of each provider once for a run, with what the run has of
// its user's environment, and the scripted one from the file that was frozen with it.
type models struct {
	environs *environs
	keys     credential.Reader
	logins   string // the folder in which logins of coding agents are kept that could not be written back
	version  string

	mu   sync.Mutex // guards made
	made map[modelOf]pawl.Model

	// turns has a *answers.Watch for each turn of an agent with a key, by turnOf. The gateway of a room
	// is the same for many turns.
	turns sync.Map
}

// turnOf says where an agent makes a turn. It makes one turn at a time there.
type turnOf struct {
	run              runOf
	workspace, agent string
}

type modelOf struct {
	run     runOf // zero for a script, which may be that of many
	account pawl.Account
	script  pawl.Hash
}

// model returns the model that a run has chosen.
func (m *models) model(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (pawl.Model, error) {
	of, _ := ctx.Value(runKey{}).(runOf)
	key := modelOf{run: of, account: choice.Account()}
	if choice.Provider == "script" {
		key = modelOf{account: pawl.Account{Provider: "script"}, script: job.Started.Script}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made, ok := m.made[key]; ok {
		return made, nil
	}
	made, err := m.make(ctx, job, choice)
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = make(map[modelOf]pawl.Model)
	}
	m.made[key] = made
	return made, nil
}

// forget drops the models of a run: what it has of the environment changes.
func (m *models) forget(r runOf) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.made, func(key modelOf, _ pawl.Model) bool { return key.run == r })
}

func (m *models) make(ctx context.Context, job driver.Job, choice pawl.ModelChoice) (pawl.Model, error) {
	if choice.Provider == "script" {
		data, err := job.Blob(ctx, job.Started.Script)
		if err != nil {
			return nil, fmt.Errorf("read the run's script: %w", err)
		}
		return script.Parse("script of run "+string(job.Run), data)
	}
	if choice.Agent {
		return nil, pawl.Errorf(pawl.CodeInternal, "%s is a coding agent and answers no model calls", choice.Provider)
	}
	of, _ := ctx.Value(runKey{}).(runOf)
	app := &cli.App{Environ: m.environs.get(of)}
	cfg, err := m.environs.providers(of)
	if err != nil {
		return nil, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: err.Error(), Unsent: true}
	}
	p, server, err := m.as(ctx, choice.Account(), app, cfg.Provider(choice.Provider))
	if err != nil { // the run was resumed with another account while this call waited: the next one has that
		return nil, &pawl.ModelError{Kind: pawl.ModelNetwork, Message: err.Error(), Unsent: true}
	}
	with := func(key string) pawl.Model {
		server := server
		server.Key = key
		switch p.Protocol {
		case config.Anthropic:
			return server.Explain(anthropic.New(anthropic.Config{BaseURL: p.BaseURL, APIKey: key}))
		case config.Responses:
			return server.Explain(openai.NewResponses(openai.Config{BaseURL: p.BaseURL, APIKey: key}))
		default:
			return server.Explain(openai.NewChat(openai.Config{BaseURL: chatAddress(p), APIKey: key}))
		}
	}
	switch {
	case p.Protocol == "":
		return nil, &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: "unknown provider " + choice.Provider}
	case !p.Key().Stored() || server.Key == "":
		return with(server.Key), nil
	}
	again := func(ctx context.Context, refused string) (string, error) {
		key, err := m.keys.Again(ctx, p.Key(), app.Environ, refused)
		m.environs.know(key)
		return key, err
	}
	return &rekeyed{with: with, again: again, key: server.Key, model: with(server.Key)}, nil
}

// rekeyed asks for its key again when the provider refuses it, and then sends the call once
// more if that is another one: keys are replaced while runs are at work.
type rekeyed struct {
	with  func(key string) pawl.Model
	again func(ctx context.Context, refused string) (string, error)

	mu    sync.Mutex // guards what follows
	key   string
	model pawl.Model
}

// Call implements [pawl.Model].
func (r *rekeyed) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	r.mu.Lock()
	model, key := r.model, r.key
	r.mu.Unlock()
	reply, err := model.Call(ctx, req, sink)
	if refused, ok := errors.AsType[*pawl.ModelError](err); !ok || refused.Kind != pawl.ModelAuth {
		return reply, err
	}
	another, why := r.again(ctx, key)
	if why != nil || another == key {
		return reply, err
	}
	r.mu.Lock()
	if r.key == key {
		r.key, r.model = another, r.with(another)
	}
	model = r.model
	r.mu.Unlock()
	return model.Call(ctx, req, sink)
}

// as returns the server of a provider as a run calls it: at the address and with the key of the
// account that is frozen with it. An environment that has another key has none for the run.
// F-14
func (m *models) as(ctx context.Context, a pawl.Account, app *cli.App, p config.Provider) (config.Provider, inventory.Server, error) {
	from := p.Key()
	if a.Address != "" { // otherwise it was started before that was recorded
		if p.BaseURL = a.Address; p.BaseURL == p.Home {
			p.BaseURL = ""
		}
		if a.Key == "" {
			from = config.KeySource{}
		}
	}
	key, err := m.keys.Key(ctx, from, app.Environ)
	switch {
	case err != nil:
		return p, inventory.Server{}, err
	case a.Address != "" && a.Key != "" && key == "":
		return p, inventory.Server{}, pawl.Errorf(pawl.CodeUnavailable, "%s is not set", from)
	case a.Address != "" && a.Key != from.Identity(app.Environ):
		return p, inventory.Server{}, pawl.Errorf(pawl.CodeUnavailable, "the run has account %s, and %s holds another key", a, from)
	}
	m.environs.know(key)
	server := modelServer(p)
	server.Key = key
	return p, server, nil
}

// chatAddress returns the address that the adapter for Chat Completions is given for a
// provider. It is empty for OpenAI itself, which the adapter knows.
func chatAddress(p config.Provider) string {
	if p.Name == openai.ChatProvider {
		return p.BaseURL
	}
	return p.Address()
}

// modelServer returns the server of a provider, without its key.
func modelServer(p config.Provider) inventory.Server {
	s := inventory.Server{
		BaseURL: p.Address(), BaseURLKey: "providers." + p.Name + ".base_url", Anthropic: p.Protocol == config.Anthropic,
		KeyEnv: p.KeyEnv, KeyPath: p.KeyPath, Local: p.Local, Start: p.Start, Fetch: p.Fetch,
	}
	if from := p.Key(); from.Stored() {
		s.KeyEnv, s.KeyFrom = "", from.String()
	}
	return s
}

// providersOf says where providers are. That is the user's business: the repository's
// file is not asked.
func providersOf(app *cli.App) (config.Config, error) {
	return config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ})
}

// supplied looks for the key of every provider that is to be called with an environment, at the
// addresses that are frozen with a run.
func (m *models) supplied(ctx context.Context, app *cli.App, choices []pawl.ModelChoice) *pawl.Error {
	cfg, err := m.environs.configs.get(app.Environ)
	if err != nil {
		return pawl.Errorf(pawl.CodeOf(err), "%w", err)
	}
	for _, choice := range choices {
		if choice.Agent {
			if _, _, err := payer(app, &cfg, choice); err != nil {
				return err
			}
			continue
		}
		p, server, err := m.as(ctx, choice.Account(), app, cfg.Provider(choice.Provider))
		if err == nil && p.NeedsKey() && server.Key == "" {
			err = pawl.Errorf(pawl.CodeUnavailable, "%s is not set", p.KeyEnv)
		}
		switch {
		case err != nil && p.Key().Stored():
			return pawl.Errorf(pawl.CodeKey, "there is no key for %s/%s: %w", choice.Provider, choice.Name, err).
				WithHint("pawl config shows where it should come from; pawl doctor tries it")
		case err != nil:
			return pawl.Errorf(pawl.CodeKey, "there is no key for %s/%s: %w", choice.Provider, choice.Name, err).
				WithHint("export %s=…, choose another model with --model PROVIDER/NAME (pawl doctor looks for a local server), or see it work without one: pawl demo", p.KeyEnv)
		}
	}
	return nil
}

// answering asks the servers on this machine and in its network whether they have the models that a run
// calls. A tier of which no model can be called is an error, and any other model that cannot be called is
// a warning. A server elsewhere is not asked, because that takes time and it is seldom down for long.
func (m *models) answering(ctx context.Context, app *cli.App, s *pawl.Settings) (warnings []string, err error) {
	refused, err := m.refusals(ctx, app, s.AllModels())
	if err != nil {
		return nil, err
	}
	for tier := range len(s.Models) {
		names := s.Tier(tier + 1)
		if !slices.ContainsFunc(names, func(name string) bool { return refused[name] == nil }) {
			return nil, refused[names[0]]
		}
		for _, name := range names {
			e := refused[name]
			if e == nil {
				continue
			}
			w := e.Error() + "; another model of its tier takes its place"
			if e.Hint != "" {
				w += " (" + e.Hint + ")"
			}
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings, ctx.Err()
}

// refusals returns why models of servers on this machine and in its network cannot be called, by
// PROVIDER/NAME. What is not certain to fail is left out.
func (m *models) refusals(ctx context.Context, app *cli.App, choices []pawl.ModelChoice) (map[string]*pawl.Error, error) {
	cfg, err := m.environs.configs.get(app.Environ)
	if err != nil {
		return nil, err
	}
	out := map[string]*pawl.Error{}
	for provider, names := range config.ByProvider(choices) {
		i := slices.IndexFunc(choices, func(m pawl.ModelChoice) bool { return m.Provider == provider })
		if choices[i].Agent { // to ask it costs a turn
			continue
		}
		p, server, err := m.as(ctx, choices[i].Account(), app, cfg.Provider(provider))
		if err != nil {
			return nil, err
		}
		if p.Protocol == "" || !p.Near() {
			continue
		}
		problems := server.CheckEach(ctx, names)
		if first := problems[0]; first != nil && first.Refused && p.Key().Stored() { // it may have been replaced since it was read
			if key, err := m.keys.Again(ctx, p.Key(), app.Environ, server.Key); err == nil && key != server.Key {
				m.environs.know(key)
				server.Key = key
				problems = server.CheckEach(ctx, names)
			}
		}
		for i, problem := range problems {
			if problem == nil || problem.Severity != inventory.Broken {
				continue
			}
			refusal := pawl.Errorf(pawl.CodeUnavailable, "%s/%s cannot be called: %s", provider, names[i], problem.Text)
			if problem.Fix != "" {
				refusal = refusal.WithHint("%s", problem.Fix)
			}
			out[provider+"/"+names[i]] = refusal
		}
	}
	return out, nil
}

// accounts returns those that whoever starts, resumes or forks a run has with the providers of
// its models; none when they have handed over no environment and the run goes on as it was. The
// run's id is empty when it is started or forked.
func (m *machine) accounts(ctx context.Context, r runOf, choices []pawl.ModelChoice) ([]pawl.Account, error) {
	if daemon.Environ(ctx) == nil && !m.alone && r.run != "" {
		return nil, nil
	}
	app := &cli.App{Environ: m.environs.asked(ctx, r)}
	cfg, err := m.environs.configs.get(app.Environ)
	if err != nil {
		return nil, err
	}
	var out []pawl.Account
	for provider := range config.ByProvider(choices) {
		if d, ok := cfg.Delegate(provider); ok {
			i := slices.IndexFunc(choices, func(m pawl.ModelChoice) bool { return m.Provider == provider })
			if purse, err := d.PurseFor(choices[i].Plan, app.Getenv("HOME"), app.Getenv); err == nil { // supplied reports others
				out = append(out, purse.Account)
			}
			continue
		}
		if p := cfg.Provider(provider); p.Protocol != "" {
			out = append(out, pawl.Account{Provider: provider, Address: p.Address(), Key: p.Key().Identity(app.Environ)})
		}
	}
	return out, nil
}

// harmless matches names of models that a user can put into a shell as they are.
var harmless = pattern.Of(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$`)

// localModels returns one model, as PROVIDER/NAME, of each local server that answers.
func localModels(ctx context.Context, app *cli.App) []string {
	cfg, err := providersOf(app)
	if err != nil {
		return nil
	}
	local := cfg.Local()
	found := make([]string, len(local))
	var wait sync.WaitGroup
	for i, p := range local {
		wait.Go(func() {
			server := modelServer(p)
			server.Key = app.Getenv(server.KeyEnv)
			models, _ := server.Models(ctx) // whoever cannot say is not proposed
			for _, name := range models {
				embeds := strings.Contains(strings.ToLower(name), "embed") // it makes vectors, not replies
				if !embeds && harmless.MatchString(name) {
					found[i] = p.Name + "/" + name
					return
				}
			}
		})
	}
	wait.Wait()
	return slices.DeleteFunc(found, func(model string) bool { return model == "" })
}
