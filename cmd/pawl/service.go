package main

import (
	"context"

	"pawl"
	"pawl/internal/cli"
	"pawl/internal/config"
	"pawl/internal/model/script"
)

// service is a project's runs, with those marked that should be at work and
// that no process drives.
type service struct {
	pawl.Service
	driven func(pawl.RunID) bool
}

// Nobody drives what is read from the store of a project without an owner; of
// one whose owner does not answer it is not known.
func nobody(pawl.RunID) bool    { return false }
func everybody(pawl.RunID) bool { return true }

// Runs implements [pawl.Service].
func (s service) Runs(ctx context.Context) ([]pawl.RunInfo, error) {
	runs, err := s.Service.Runs(ctx)
	for i := range runs {
		r := &runs[i]
		if (r.Status == pawl.StatusRunning || r.Status == pawl.StatusStopping) && !s.driven(r.ID) {
			r.Status = cli.StatusInterrupted
		}
	}
	return runs, err
}

// owned is the service of a project's owner. What a run would only fail on at
// its first model call is refused at its start.
type owned struct {
	service
	models *models
	// unconfined is why commands cannot be confined here; nil when they can.
	unconfined error
}

// Start implements [pawl.Service].
func (o owned) Start(ctx context.Context, req pawl.StartRequest) (pawl.RunInfo, error) {
	if o.unconfined != nil && !req.Unsandboxed {
		return pawl.RunInfo{}, pawl.Errorf(pawl.CodeUnavailable, "commands cannot be confined here: %w", o.unconfined).
			WithHint("install bubblewrap, or accept that commands run with your rights: --unsandboxed")
	}
	if err := o.models.check(req); err != nil {
		return pawl.RunInfo{}, err
	}
	return o.service.Start(ctx, req)
}

// check looks for the key of every provider, and reads the script.
func (m *models) check(req pawl.StartRequest) error {
	cfg, err := config.Load(config.Sources{UserFile: m.app.UserConfig(), Env: m.app.Environ})
	if err != nil {
		return err
	}
	for _, choice := range req.Settings.Models {
		if choice.Provider == "script" {
			if _, err := script.Parse("the scripted model's file", []byte(req.Script)); err != nil {
				return pawl.Errorf(pawl.CodeInvalid, "%w", err)
			}
			continue
		}
		p := cfg.Provider(choice.Provider)
		if p.BaseURL != "" && choice.Provider != "anthropic" {
			continue // a compatible server may need no key
		}
		if key := p.KeyEnv; key != "" && m.app.Getenv(key) == "" {
			return pawl.Errorf(pawl.CodeUnavailable, "there is no key for %s/%s: %s is not set", choice.Provider, choice.Name, key).
				WithHint("export %s=…, choose another model with --model PROVIDER/NAME, or see it work without one: pawl demo", key)
		}
	}
	return nil
}
