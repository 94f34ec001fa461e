package local

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"pawl"
	"pawl/internal/driver"
	"pawl/internal/kernel"
)

// perform brings one effect to its answer, and queues that.
func (r *run) perform(ctx context.Context, fl *flight, job driver.Job) {
	answer, blobs := r.withSpace(ctx, fl, job)
	if answer == nil || ctx.Err() != nil && !hasTranscript(answer) {
		return // not wanted any more
	}
	select {
	case r.inbox <- item{in: kernel.Input{Answer: answer}, blobs: blobs}:
	case <-r.ctx.Done():
	}
}

// hasTranscript reports whether an answer tells what a coding agent did, which is kept even if the
// turn was withdrawn.
func hasTranscript(a pawl.Answer) bool {
	switch b := a.(type) {
	case *pawl.EffectFailed:
		return !b.Transcript.IsZero()
	case *pawl.ModelReplied:
		return b.Agent != nil && !b.Agent.Transcript.IsZero()
	}
	return false
}

// withSpace performs an effect, and again, as after a crash, while a disk has no space for it.
// An effect that must not run twice fails instead, and so does a model call, which costs money.
func (r *run) withSpace(ctx context.Context, fl *flight, job driver.Job) (answer pawl.Answer, blobs []pawl.Blob) {
	var waits *waiter
	defer func() {
		if waits != nil {
			waits.end()
		}
	}()
	for {
		answer, blobs = r.placed(ctx, fl, job)
		lacks, is := answer.(*pawl.EffectFailed)
		if !is || lacks.Failure.Code != pawl.FailSpace {
			return answer, blobs
		}
		if job.Effect.Class == pawl.CrashOnce || job.Effect.Do.Verb() == pawl.VerbCallModel {
			lacks.Failure.Code = pawl.FailMachine
			return answer, blobs
		}
		r.d.logger().Warn("no disk space for an effect; trying again", "run", r.id, "effect", job.Effect.ID, "error", lacks.Failure.Message)
		r.d.land(fl)
		if waits == nil {
			waits = r.d.waits(job, r.d.now(), lacks.Failure.Message)
		}
		if !rest(ctx, r.d.spaceRetry()) {
			return nil, nil
		}
		job.Again = true
	}
}

// placed performs an effect when it has its places. It gives no answer when the effect
// is not wanted any more, or must not begin.
func (r *run) placed(ctx context.Context, fl *flight, job driver.Job) (answer pawl.Answer, blobs []pawl.Blob) {
	id := job.Effect.ID
	defer func() { // a defect of whoever performs it is an answer too
		if p := recover(); p != nil {
			r.d.logger().Error("an effect panicked", "run", r.id, "effect", id, "panic", p, "stack", string(debug.Stack()))
			answer, blobs = failed(id, pawl.FailDefect, fmt.Sprint(p)), nil
		}
	}()
	if r.d.Places != nil && job.Effect.Do.Verb() != pawl.VerbWait {
		asked := r.d.now()
		give, err := func() (func(pawl.Answer), error) {
			defer r.d.waits(job, asked, "").end()
			return r.d.Places.Take(ctx, job)
		}()
		if err != nil {
			return refused(job.Effect, err), nil
		}
		defer func() { give(answer) }()
		waited := r.d.now().Sub(asked)
		defer func() { note(answer, waited) }()
	}
	if do, ok := job.Effect.Do.(*pawl.Wait); ok && do.Account != (pawl.Account{}) {
		defer r.d.waits(job, r.d.now(), "").end()
	}
	if ctx.Err() != nil || !r.d.depart(fl) {
		return nil, nil
	}
	return r.timed(ctx, job)
}

// timed performs an effect within its time.
func (r *run) timed(ctx context.Context, job driver.Job) (answer pawl.Answer, blobs []pawl.Blob) {
	f := job.Effect
	ctx, cancel := context.WithTimeout(ctx, timeout(f))
	defer cancel()
	if w, ok := f.Do.(*pawl.Wait); ok {
		return wait(ctx, f.ID, w.For), nil
	}
	if do, ok := f.Do.(*pawl.CallModel); ok {
		w := r.d.listens(job, do)
		defer w.end()
		job.Heard = w.heard
	}
	answer, blobs = r.d.Performer.Perform(ctx, job)
	failure, isFailure := answer.(*pawl.EffectFailed)
	switch {
	case answer != nil && !isFailure:
	case errors.Is(ctx.Err(), context.DeadlineExceeded): // its time was up, whatever the performer made of it
		late := failed(f.ID, pawl.FailTimeout, fmt.Sprintf("it took longer than %s", pawl.Span(f.Timeout)))
		if !isFailure {
			return late, nil
		}
		why := &failure.Failure // what it cost is known
		late.Failure.Unsent, late.Failure.Free, late.Failure.Used, late.Failure.Estimated = why.Unsent, why.Free, why.Used, why.Estimated
		if failure.Transcript.IsZero() {
			return late, nil
		}
		late.Transcript = failure.Transcript
		return late, blobs
	case answer == nil:
		return failed(f.ID, pawl.FailDefect, "there is no answer"), nil
	}
	return answer, blobs
}

func wait(ctx context.Context, id pawl.Seq, d time.Duration) pawl.Answer {
	rest(ctx, d)
	return &pawl.WaitEnded{Effect: id}
}

// rest waits for d. It reports false if ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refused is the answer of an effect that gets no places: why a model call is not worth
// sending. An effect that is not wanted any more has none, but that is seen elsewhere.
func refused(f *pawl.Effect, err error) pawl.Answer {
	a := failed(f.ID, pawl.FailMachine, err.Error())
	if e, ok := errors.AsType[*pawl.ModelError](err); ok {
		a = failed(f.ID, pawl.FailureCode(e.Kind), e.Message)
		a.Failure.Wait, a.Failure.Fix = e.Wait, e.Fix
	}
	a.Failure.Unsent = f.Do.Verb() == pawl.VerbCallModel
	return a
}

// leastWait is how long an effect must have waited for its places to say so.
const leastWait = 10 * time.Millisecond

// note puts into the answer of a session's effect how long it waited for its places.
func note(answer pawl.Answer, waited time.Duration) {
	if waited < leastWait {
		return
	}
	waited = waited.Round(time.Millisecond)
	switch a := answer.(type) {
	case *pawl.ModelReplied:
		a.Waited = waited
	case *pawl.ToolReturned:
		a.Waited = waited
	case *pawl.EffectFailed:
		a.Waited = waited
	}
}

func failed(id pawl.Seq, code pawl.FailureCode, message string) *pawl.EffectFailed {
	if len(message) > 300 {
		message = message[:300]
	}
	return &pawl.EffectFailed{Effect: id, Failure: pawl.Failure{Code: code, Message: message}}
}
