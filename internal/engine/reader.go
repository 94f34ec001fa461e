package engine

import (
	"context"
	"iter"
	"slices"
	"strings"

	"pawl"
)

// Reader shows the runs of a log and changes nothing. It implements
// [pawl.Service] for projects that nobody owns at the moment.
type Reader struct{ Log pawl.Log }

var _ pawl.Service = Reader{}

// Runs implements [pawl.Service].
func (r Reader) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return r.Log.Runs(ctx) }

// NewestLines implements [pawl.LineLister].
func (r Reader) NewestLines(ctx context.Context, most int) ([]pawl.RunLine, error) {
	return pawl.NewestLines(ctx, r.Log, most)
}

// Events implements [pawl.Service].
func (r Reader) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return r.Log.Events(ctx, run, after)
}

// Watch implements [pawl.Service]: nobody drives the run, so it is at rest.
func (r Reader) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		for e, err := range r.Log.Events(ctx, run, after) {
			if !yield(pawl.Update{Event: &e}, err) || err != nil {
				return
			}
		}
	}
}

// Blob implements [pawl.Service].
func (r Reader) Blob(ctx context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	return r.Log.Blob(ctx, run, h)
}

// Recall implements [pawl.Service], over a log that has a memory.
func (r Reader) Recall(ctx context.Context, q pawl.MemoryQuery) ([]pawl.MemoryEntry, error) {
	m, ok := r.Log.(pawl.Memories)
	if !ok {
		return nil, pawl.Errorf(pawl.CodeUnavailable, "this log has no memory")
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(pawl.MemoryKinds, kind) {
			return nil, pawl.Errorf(pawl.CodeInvalid, "nothing remembered is of the kind %.40q", kind).WithField("kinds").WithHint("the kinds are %s", words(pawl.MemoryKinds))
		}
	}
	if q.Limit < 0 {
		return nil, pawl.Errorf(pawl.CodeInvalid, "limit %d: want 1 or more, or 0 for the usual one", q.Limit).WithField("limit")
	}
	return m.Recall(ctx, q)
}

func words(kinds []pawl.MemoryKind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// Start implements [pawl.Service].
func (Reader) Start(context.Context, pawl.StartRequest) (pawl.RunInfo, error) {
	return pawl.RunInfo{}, errReadOnly()
}

// Preview implements [pawl.Service].
func (Reader) Preview(context.Context, pawl.StartRequest) (pawl.StartPreview, error) {
	return pawl.StartPreview{}, errReadOnly()
}

// Steer implements [pawl.Service].
func (Reader) Steer(context.Context, pawl.RunID, pawl.Steering) error { return errReadOnly() }

// Fork implements [pawl.Service].
func (Reader) Fork(context.Context, pawl.RunID, pawl.Seq) (pawl.RunInfo, error) {
	return pawl.RunInfo{}, errReadOnly()
}

func errReadOnly() error {
	return pawl.Errorf(pawl.CodeUnavailable, "the project is open for reading only")
}

// info is one run's line.
func (r Reader) info(ctx context.Context, id pawl.RunID) (pawl.RunInfo, error) {
	runs, err := r.Log.Runs(ctx)
	if err != nil {
		return pawl.RunInfo{}, err
	}
	for _, x := range runs {
		if x.ID == id {
			return x, nil
		}
	}
	return pawl.RunInfo{}, pawl.Errorf(pawl.CodeNotFound, "there is no run %s", id)
}
