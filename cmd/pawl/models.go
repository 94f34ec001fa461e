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

// models makes the model of each provider once, and the scripted one of each
// run from the file that was frozen with it.
type models struct {
	app *cli.App

	mu   sync.Mutex // guards made
	made map[string]pawl.Model
}

func (m *models) forTier(ctx context.Context, job driver.Job, tier int) (pawl.Model, error) {
	choice := job.Settings.Models[tier-1]
	key := choice.Provider
	if choice.Provider == "script" {
		key += "/" + job.Started.Script.String()
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
		m.made = make(map[string]pawl.Model)
	}
	m.made[key] = made
	return made, nil
}

func (m *models) make(ctx context.Context, job driver.Job, provider string) (pawl.Model, error) {
	if provider == "script" {
		data, err := job.Blob(ctx, job.Started.Script)
		if err != nil {
			return nil, fmt.Errorf("read the run's script: %w", err)
		}
		return script.Parse("script of run "+string(job.Run), data)
	}
	// Where providers are is the user's business: the repository's file is not asked.
	cfg, err := config.Load(config.Sources{UserFile: m.app.UserConfig(), Env: m.app.Environ})
	if err != nil {
		return nil, err
	}
	c := cfg.Provider(provider)
	key := m.app.Getenv(c.KeyEnv)
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
