package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/driver"
	"pawl/internal/model/anthropic"
	"pawl/internal/model/inventory"
	"pawl/internal/model/openai"
	"pawl/internal/model/script"
)

// models makes the model of each provider once for a run, with what the run has of
// its user's environment, and the scripted one from the file that was frozen with it.
type models struct {
	environs *environs

	mu   sync.Mutex // guards made
	made map[modelOf]pawl.Model
}

type modelOf struct {
	run      runOf // zero for a script, which may be that of many
	provider string
	script   pawl.Hash
}

func (m *models) forTier(ctx context.Context, job driver.Job, tier int) (pawl.Model, error) {
	choice := job.Settings.Models[tier-1]
	of, _ := ctx.Value(runKey{}).(runOf)
	key := modelOf{run: of, provider: choice.Provider}
	if choice.Provider == "script" {
		key = modelOf{provider: "script", script: job.Started.Script}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if made, ok := m.made[key]; ok {
		return made, nil
	}
	made, err := m.make(ctx, job, choice.Provider)
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
	for key := range m.made {
		if key.run == r {
			delete(m.made, key)
		}
	}
}

func (m *models) make(ctx context.Context, job driver.Job, provider string) (pawl.Model, error) {
	if provider == "script" {
		data, err := job.Blob(ctx, job.Started.Script)
		if err != nil {
			return nil, fmt.Errorf("read the run's script: %w", err)
		}
		return script.Parse("script of run "+string(job.Run), data)
	}
	app := &cli.App{Environ: m.environs.environ(ctx)}
	cfg, err := providersOf(app)
	if err != nil {
		return nil, err
	}
	p := cfg.Provider(provider)
	server := modelServer(app, p)
	var made pawl.Model
	switch p.Protocol {
	case config.Anthropic:
		made = anthropic.New(anthropic.Config{BaseURL: p.BaseURL, APIKey: server.Key})
	case config.Responses:
		made = openai.NewResponses(openai.Config{BaseURL: p.BaseURL, APIKey: server.Key})
	case config.Chat:
		made = openai.NewChat(openai.Config{BaseURL: chatAddress(p), APIKey: server.Key})
	default:
		return nil, &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: "unknown provider " + provider}
	}
	return server.Explain(made), nil
}

// chatAddress returns the address that the adapter for Chat Completions is given for a
// provider. It is empty for OpenAI itself, which the adapter knows.
func chatAddress(p config.Provider) string {
	if p.Name == openai.ChatProvider {
		return p.BaseURL
	}
	return p.Address()
}

// modelServer returns the server of a provider, with the key that an environment has for it.
func modelServer(app *cli.App, p config.Provider) inventory.Server {
	return inventory.Server{
		BaseURL: p.Address(), BaseURLKey: "providers." + p.Name + ".base_url", Anthropic: p.Protocol == config.Anthropic,
		Key: app.Getenv(p.KeyEnv), KeyEnv: p.KeyEnv, KeyPath: p.KeyPath, Local: p.Local, Start: p.Start, Fetch: p.Fetch,
	}
}

// providersOf says where providers are. That is the user's business: the repository's
// file is not asked.
func providersOf(app *cli.App) (config.Config, error) {
	return config.Load(config.Sources{UserFile: app.UserConfig(), Env: app.Environ})
}

// keys looks for the key of every provider that is to be called with an environment.
func keys(app *cli.App, choices [3]pawl.ModelChoice) *pawl.Error {
	cfg, err := providersOf(app)
	if err != nil {
		return pawl.Errorf(pawl.CodeOf(err), "%w", err)
	}
	if m, key := cfg.MissingKey(choices, app.Getenv); key != "" {
		return pawl.Errorf(pawl.CodeUnavailable, "there is no key for %s/%s: %s is not set", m.Provider, m.Name, key).
			WithHint("export %s=…, choose another model with --model PROVIDER/NAME (pawl doctor looks for a local server), or see it work without one: pawl demo", key)
	}
	return nil
}

// answering asks the servers on this machine and in its network whether they have the
// models that are to be called. What is certain to fail is an error; a server elsewhere is
// not asked, because that takes time and it is seldom down for long.
func answering(ctx context.Context, app *cli.App, choices [3]pawl.ModelChoice) error {
	cfg, err := providersOf(app)
	if err != nil {
		return err
	}
	for provider, names := range config.ByProvider(choices) {
		p := cfg.Provider(provider)
		if p.Protocol == "" || !p.Near() {
			continue
		}
		_, problem := modelServer(app, p).Check(ctx, names)
		if problem == nil || problem.Severity != inventory.Broken {
			continue
		}
		err := pawl.Errorf(pawl.CodeUnavailable, "%s/%s cannot be called: %s", provider, names[0], problem.Text)
		if problem.Fix != "" {
			err = err.WithHint("%s", problem.Fix)
		}
		return err
	}
	return ctx.Err()
}

// harmless matches names of models that a user can put into a shell as they are.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$`)

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
			models, _ := modelServer(app, p).Models(ctx) // whoever cannot say is not proposed
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
