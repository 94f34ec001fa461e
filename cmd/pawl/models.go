package main

import (
	"context"
	"fmt"
	"sync"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/driver"
	"pawl/internal/model/anthropic"
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
	c := cfg.Provider(provider)
	key := app.Getenv(c.KeyEnv)
	switch provider {
	case "anthropic":
		return anthropic.New(anthropic.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	case "openai":
		return openai.NewResponses(openai.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	case "openai-chat":
		return openai.NewChat(openai.Config{BaseURL: c.BaseURL, APIKey: key}), nil
	}
	return nil, &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: "unknown provider " + provider}
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
	for _, choice := range choices {
		p := cfg.Provider(choice.Provider)
		if choice.Provider == "script" || p.BaseURL != "" && choice.Provider != "anthropic" {
			continue // a compatible server may need no key
		}
		if key := p.KeyEnv; key != "" && app.Getenv(key) == "" {
			return pawl.Errorf(pawl.CodeUnavailable, "there is no key for %s/%s: %s is not set", choice.Provider, choice.Name, key).
				WithHint("export %s=…, choose another model with --model PROVIDER/NAME, or see it work without one: pawl demo", key)
		}
	}
	return nil
}
