package daemon

import (
	"context"
	"iter"

	"pawl"
)

// service is a project's runs. The project is open for as long as something of it is
// asked for.
type service struct{ h *held }

var (
	_ pawl.Service   = service{}
	_ pawl.Caches    = service{}
	_ pawl.Deletions = service{}
)

// Start implements [pawl.Service].
func (s service) Start(ctx context.Context, req pawl.StartRequest) (info pawl.RunInfo, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { info, err = p.Start(ctx, req); return err })
	return info, err
}

// Preview implements [pawl.Service].
func (s service) Preview(ctx context.Context, req pawl.StartRequest) (preview pawl.StartPreview, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { preview, err = p.Preview(ctx, req); return err })
	return preview, err
}

// Steer implements [pawl.Service]. To resume a run that goes on since the project was
// opened for it is no mistake.
func (s service) Steer(ctx context.Context, run pawl.RunID, c pawl.Steering) error {
	return s.with(ctx, func(p pawl.Service) error {
		err := p.Steer(ctx, run, c)
		if c.Verb == pawl.SteerResume && c.Limits == nil && pawl.CodeOf(err) == pawl.CodeState && s.h.justMended(run) {
			return nil
		}
		return err
	})
}

// Fork implements [pawl.Service].
func (s service) Fork(ctx context.Context, run pawl.RunID, at pawl.Seq) (info pawl.RunInfo, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { info, err = p.Fork(ctx, run, at); return err })
	return info, err
}

// Runs implements [pawl.Service].
func (s service) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return pawl.NewestRuns(ctx, s, 0) }

// NewestLines implements [pawl.LineLister].
func (s service) NewestLines(ctx context.Context, most int) (lines []pawl.RunLine, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { lines, err = pawl.NewestLines(ctx, p, most); return err })
	s.h.needs(lines)
	return lines, err
}

// Cache implements [pawl.Caches].
func (s service) Cache(ctx context.Context) (info pawl.CacheInfo, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { info, err = pawl.ListCache(ctx, p); return err })
	return info, err
}

// PruneCache implements [pawl.Caches].
func (s service) PruneCache(ctx context.Context, req pawl.PruneRequest) (result pawl.PruneResult, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { result, err = pawl.PruneCache(ctx, p, req); return err })
	return result, err
}

// DeleteRun implements [pawl.Deletions].
func (s service) DeleteRun(ctx context.Context, run pawl.RunID, req pawl.DeleteRequest) (d pawl.Deletion, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { d, err = pawl.DeleteRun(ctx, p, run, req); return err })
	return d, err
}

// DeletedRuns implements [pawl.Deletions].
func (s service) DeletedRuns(ctx context.Context) (all []pawl.Tombstone, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { all, err = pawl.DeletedRuns(ctx, p); return err })
	return all, err
}

// Garbage implements [pawl.Deletions].
func (s service) Garbage(ctx context.Context) (g pawl.Garbage, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { g, err = pawl.FindGarbage(ctx, p); return err })
	return g, err
}

// CollectGarbage implements [pawl.Deletions].
func (s service) CollectGarbage(ctx context.Context) (g pawl.Garbage, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { g, err = pawl.CollectGarbage(ctx, p); return err })
	return g, err
}

// Recall implements [pawl.Service].
func (s service) Recall(ctx context.Context, q pawl.MemoryQuery) (found []pawl.MemoryEntry, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { found, err = p.Recall(ctx, q); return err })
	return found, err
}

// Blob implements [pawl.Service].
func (s service) Blob(ctx context.Context, run pawl.RunID, h pawl.Hash) (data []byte, err error) {
	err = s.with(ctx, func(p pawl.Service) (err error) { data, err = p.Blob(ctx, run, h); return err })
	return data, err
}

// Events implements [pawl.Service].
func (s service) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return stream(ctx, s, func(p pawl.Service) iter.Seq2[pawl.Event, error] { return p.Events(ctx, run, after) })
}

// Watch implements [pawl.Service].
func (s service) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return stream(ctx, s, func(p pawl.Service) iter.Seq2[pawl.Update, error] { return p.Watch(ctx, run, after) })
}

func (s service) with(ctx context.Context, do func(pawl.Service) error) error {
	p, done, err := s.h.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	return do(p)
}

func stream[T any](ctx context.Context, s service, of func(pawl.Service) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p, done, err := s.h.use(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer done()
		for t, err := range of(p) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// away is a project that another process has: what would change it is refused, and
// the refusal says which process that is.
type away struct {
	pawl.Service
	h *held
}

func (a away) refuse(ctx context.Context) error {
	holder, held, err := a.h.p.Holder(ctx)
	if err != nil || !held {
		return pawl.Errorf(pawl.CodeConflict, "another process has just had this project").WithHint("try again")
	}
	return pawl.Errorf(pawl.CodeConflict, "process %d has this project: from here it can be read and not steered", holder.Pid).
		WithHint("steer it with pawl in %s, or wait until that process has ended", a.h.p.Repo.Root)
}

// Start implements [pawl.Service].
func (a away) Start(ctx context.Context, _ pawl.StartRequest) (pawl.RunInfo, error) {
	return pawl.RunInfo{}, a.refuse(ctx)
}

// Preview implements [pawl.Service].
func (a away) Preview(ctx context.Context, _ pawl.StartRequest) (pawl.StartPreview, error) {
	return pawl.StartPreview{}, a.refuse(ctx)
}

// Cache implements [pawl.Caches].
func (a away) Cache(ctx context.Context) (pawl.CacheInfo, error) {
	return pawl.ListCache(ctx, a.Service)
}

// PruneCache implements [pawl.Caches].
func (a away) PruneCache(ctx context.Context, _ pawl.PruneRequest) (pawl.PruneResult, error) {
	return pawl.PruneResult{}, a.refuse(ctx)
}

// DeleteRun implements [pawl.Deletions].
func (a away) DeleteRun(ctx context.Context, _ pawl.RunID, _ pawl.DeleteRequest) (pawl.Deletion, error) {
	return pawl.Deletion{}, a.refuse(ctx)
}

// DeletedRuns implements [pawl.Deletions].
func (a away) DeletedRuns(ctx context.Context) ([]pawl.Tombstone, error) {
	return pawl.DeletedRuns(ctx, a.Service)
}

// Garbage implements [pawl.Deletions].
func (a away) Garbage(ctx context.Context) (pawl.Garbage, error) {
	return pawl.Garbage{}, a.refuse(ctx)
}

// CollectGarbage implements [pawl.Deletions].
func (a away) CollectGarbage(ctx context.Context) (pawl.Garbage, error) {
	return pawl.Garbage{}, a.refuse(ctx)
}

// Steer implements [pawl.Service].
func (a away) Steer(ctx context.Context, _ pawl.RunID, _ pawl.Steering) error { return a.refuse(ctx) }

// Fork implements [pawl.Service].
func (a away) Fork(ctx context.Context, _ pawl.RunID, _ pawl.Seq) (pawl.RunInfo, error) {
	return pawl.RunInfo{}, a.refuse(ctx)
}
