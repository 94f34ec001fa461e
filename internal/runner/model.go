package runner

import (
	"context"

	"pawl"
	"pawl/internal/driver"
)

func (r *Runner) callModel(ctx context.Context, job driver.Job, do *pawl.CallModel, a *answer) (pawl.Answer, error) {
	choice := job.Settings.Model(do.Tier, do.Choice)
	if choice == nil {
		err := pawl.Errorf(pawl.CodeInvalid, "a call of model %d of tier %d, which does not exist", do.Choice, do.Tier)
		return nil, &ownError{error: err, unsent: true}
	}
	if do.Agent != nil {
		return r.turn(ctx, job, do, choice, a)
	}
	model, err := r.Model(ctx, job, *choice)
	if err != nil {
		return nil, &ownError{error: err, unsent: true}
	}
	req, err := modelRequest(ctx, job, do, choice)
	if err != nil {
		return nil, &ownError{error: err, unsent: true}
	}
	reply, err := model.Call(ctx, req, func(d pawl.ModelDelta) {
		if job.Heard != nil {
			job.Heard()
		}
		switch {
		case d.Text != "":
			job.Live(d.Text)
		case d.Tool != "":
			job.Live("\n[" + d.Tool + "]\n")
		}
	})
	if err != nil {
		return nil, err
	}
	out, err := r.replied(ctx, job, req.Tools, reply, a)
	if err != nil {
		return nil, &ownError{error: err, used: reply.Usage}
	}
	return out, nil
}

// modelRequest reads everything a call sends.
func modelRequest(ctx context.Context, job driver.Job, do *pawl.CallModel, choice *pawl.ModelChoice) (pawl.ModelRequest, error) {
	req := pawl.ModelRequest{Model: choice.Name, MaxOutput: do.MaxOutput, Idle: choice.Idle, Place: job.Effect.Place}
	req.Place.Run = job.Run
	if !do.System.IsZero() {
		system, err := read(ctx, job, "the system prompt", do.System)
		if err != nil {
			return req, err
		}
		req.System = string(system)
	}
	if !do.Tools.IsZero() {
		if err := decode(ctx, job, "the tools", do.Tools, &req.Tools); err != nil {
			return req, err
		}
	}
	var err error
	req.Messages, err = messages(ctx, job, do.Foreign)
	return req, err
}
