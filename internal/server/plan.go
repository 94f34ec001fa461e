package server

import (
	"net/http"
	"strings"

	"pawl"
	"pawl/internal/message"
	"pawl/internal/view"
)

// Plan is what a loop handed in as its plan, for whoever decides about it.
type Plan struct {
	Run  pawl.RunID `json:"run"`
	Loop string     `json:"loop"`
	message.Preview
}

// Decision is what a person makes of a plan.
type Decision struct {
	// About is the hash of the artifact that was looked at. One that is missing or is
	// no longer the newest decides nothing.
	About pawl.Hash `json:"about,omitzero"`
	Text  string    `json:"text,omitempty"` // a reason, or what the next plan is to be like
	By    string    `json:"by,omitempty"`   // who decides
}

// Decided is what became of a plan.
type Decided struct {
	Loop     string             `json:"loop"`
	Approval pawl.ApprovalState `json:"approval"`
	// Specs is how many loops an approved plan leads to.
	Specs int `json:"specs"`
}

// SignalRequest is a signal to loops of a run.
type SignalRequest struct {
	pawl.Signaling
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"` // who sends it
}

// loopOperations are those of trees of loops.
func loopOperations() []operation {
	const run = "/runs/{run}"
	ops := []operation{
		asks(http.MethodGet, "/plans", "listPlans", "The plans of all runs that wait for a person", (*handler).plans),
		asks(http.MethodGet, run+"/loops", "listLoops", "The run's loops, the root first", func(_ *handler, c *call) ([]view.Record, error) {
			rs, err := records(c, c.run())
			if err != nil {
				return nil, err
			}
			return rs.FullLoops(blobs(c, c.run())), nil
		}),
		asks(http.MethodGet, run+"/loops/{loop}", "readLoop", "A loop with its progress and context", func(_ *handler, c *call) (view.Record, error) {
			rs, r, err := loop(c)
			if err != nil {
				return view.Record{}, err
			}
			return rs.Full(r, blobs(c, c.run())), nil
		}),
		asks(http.MethodGet, run+"/signals", "listSignals", "The signals between the run's loops", func(_ *handler, c *call) (out []view.SignalRecord, err error) {
			rs, err := records(c, c.run())
			if err != nil {
				return nil, err
			}
			for _, s := range rs.Signals {
				out = append(out, rs.FullSignal(s, blobs(c, c.run())))
			}
			return out, nil
		}),
		takes(run+"/signals", "sendSignal", "Tell loops of a run something", func(_ *handler, c *call, in SignalRequest) (Done, error) {
			return Done{}, c.s.Steer(c.Context(), c.run(), pawl.Steering{Verb: pawl.SteerSignal, Signal: &in.Signaling, Reason: in.Reason, By: in.By})
		}).changing(http.StatusConflict),
		asks(http.MethodGet, run+"/plans/{loop}", "readPlan", "A loop's newest plan, and what became of it", func(_ *handler, c *call) (Plan, error) {
			_, r, err := loop(c)
			if err != nil {
				return Plan{}, err
			}
			return plan(c, r)
		}),
	}
	for choice, summary := range map[string]string{"approve": "Approve a plan: its loops are spawned",
		"reject": "Reject a plan: its loop fails", "iterate": "Have a plan made again with feedback"} {
		ops = append(ops, takes(run+"/plans/{loop}/"+choice, choice+"Plan", summary, func(_ *handler, c *call, in Decision) (Decided, error) {
			return decide(c, choice, in)
		}).changing(http.StatusConflict, http.StatusUnprocessableEntity))
	}
	return ops
}

// records are the loops of a run.
func records(c *call, run pawl.RunID) (*view.Records, error) {
	rs := &view.Records{}
	for e, err := range c.s.Events(c.Context(), run, 0) {
		if err != nil {
			return rs, err
		}
		rs.Add(e)
	}
	return rs, nil
}

func loop(c *call) (*view.Records, *view.Record, error) {
	rs, err := records(c, c.run())
	if err != nil {
		return nil, nil, err
	}
	r, err := rs.Find(c.PathValue("loop"))
	return rs, r, err
}

func blobs(c *call, run pawl.RunID) view.Blobs {
	return func(h pawl.Hash) ([]byte, error) { return c.s.Blob(c.Context(), run, h) }
}

// plans are those that wait for a person. Whoever connects later finds them here.
func (h *handler) plans(c *call) ([]Plan, error) {
	runs, err := c.s.Runs(c.Context())
	if err != nil {
		return nil, err
	}
	var out []Plan
	for _, info := range runs {
		if info.Questions == 0 || info.Archived {
			continue
		}
		rs, err := records(c, info.ID)
		switch {
		case c.Context().Err() != nil:
			return nil, c.Context().Err()
		case err != nil:
			continue // it is damaged: its own commands say so
		}
		for _, r := range rs.Awaiting() {
			if p, err := plan(c, r); err == nil {
				out = append(out, p)
			}
		}
	}
	return out, nil
}

// plan is what a loop handed in last.
func plan(c *call, r *view.Record) (Plan, error) {
	p, err := message.PreviewOf(r, blobs(c, r.Run))
	return Plan{r.Run, r.ID, p}, err
}

// decide answers the question about a loop's plan. The first decision counts: that
// nobody was faster, and that the plan is the one that was looked at, is checked once
// more where the answer is appended.
func decide(c *call, choice string, in Decision) (Decided, error) {
	if in.About.IsZero() {
		return Decided{}, withStatus(http.StatusUnprocessableEntity, pawl.Errorf(pawl.CodeInvalid, "a decision names the hash of the plan that was looked at, in about").
			WithHint("GET the plan: its about is the hash"))
	}
	_, r, err := loop(c)
	if err != nil {
		return Decided{}, err
	}
	p, err := plan(c, r)
	if err != nil {
		return Decided{}, err
	}
	switch r.Approval {
	case pawl.ApprovalAwaiting:
	case pawl.ApprovalApproved, pawl.ApprovalRejected, pawl.ApprovalIterating:
		return Decided{}, pawl.Errorf(pawl.CodeConflict, "the plan of loop %s is decided already: %s", r.ID, r.Approval)
	default:
		return Decided{}, pawl.Errorf(pawl.CodeState, "loop %s has no plan that waits for a person", r.ID)
	}
	if in.About != r.About {
		return Decided{}, pawl.Errorf(pawl.CodeConflict, "the plan of loop %s is not the one that was looked at: it is %s now", r.ID, r.About.Short()).
			WithHint("look at it again before deciding")
	}
	if choice == "iterate" && strings.TrimSpace(in.Text) == "" {
		return Decided{}, withStatus(http.StatusUnprocessableEntity, pawl.Errorf(pawl.CodeInvalid, "say in text what should be different"))
	}
	reply := &pawl.Reply{Question: p.Question, Choice: choice, Text: in.Text, By: in.By, About: in.About}
	if err := c.s.Steer(c.Context(), c.run(), pawl.Steering{Verb: pawl.SteerAnswer, Answer: reply}); err != nil {
		return Decided{}, err
	}
	out := Decided{Loop: r.ID, Approval: map[string]pawl.ApprovalState{"approve": pawl.ApprovalApproved, "reject": pawl.ApprovalRejected, "iterate": pawl.ApprovalIterating}[choice]}
	if choice == "approve" {
		out.Specs = len(p.Specs)
	}
	return out, nil
}
