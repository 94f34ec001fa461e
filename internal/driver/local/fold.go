package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"pawl"
	"pawl/internal/kernel"
)

// defaultKeepEvery is that of [Driver.KeepEvery].
const defaultKeepEvery = 1000

// Fold reads a run's state from its log. It begins with the state that the log keeps, if this
// program wrote it and it follows from the events.
func Fold(ctx context.Context, log pawl.Log, id pawl.RunID) (*kernel.State, error) {
	keeper, _ := log.(pawl.Keeper)
	return fold(ctx, log, keeper, id)
}

func fold(ctx context.Context, log pawl.Log, keeper pawl.Keeper, id pawl.RunID) (*kernel.State, error) {
	s, err := foldKept(ctx, keeper, id)
	if s == nil && err == nil {
		s = &kernel.State{}
		for e, err := range log.Events(ctx, id, 0) {
			if err == nil {
				err = kernel.Apply(s, e)
			}
			if err != nil {
				return nil, fmt.Errorf("fold run %s: %w", id, err)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fold run %s: %w", id, err)
	}
	return s, nil
}

// foldKept is Fold beginning with a state that was kept; nil if that is of no use.
func foldKept(ctx context.Context, keeper pawl.Keeper, id pawl.RunID) (*kernel.State, error) {
	if keeper == nil {
		return nil, nil
	}
	k, err := keeper.Kept(ctx, id)
	if err != nil || k.Seq == 0 || k.Form == "" || k.Form != form() {
		return nil, err
	}
	s, err := kernel.Restore(id, k.State)
	if err != nil || s.Seq != k.Seq || s.Run != id {
		return nil, nil //nolint:nilerr // the events say the same
	}
	for e, err := range keeper.Since(ctx, id, k) {
		if err == nil {
			err = kernel.Apply(s, e)
		}
		if s.Seq == k.Seq && pawl.CodeOf(err) == pawl.CodeConflict {
			return nil, nil // it is of another log
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// keepSome keeps the state if that was not done for long. It does not wait for it.
func (r *run) keepSome() {
	if r.isWorthKeeping(cmp.Or(r.d.KeepEvery, defaultKeepEvery)) && r.keeping.TryLock() {
		k := r.toKeep()
		r.d.wg.Go(func() { r.keep(k) })
	}
}

// keepLast keeps the state of a run that is not driven any more.
func (r *run) keepLast() {
	if r.isWorthKeeping(cmp.Or(r.d.KeepEvery, defaultKeepEvery) / 10) {
		r.keeping.Lock()
		r.keep(r.toKeep())
	}
}

// isWorthKeeping reports whether the state can be kept and so many events have followed on the
// one that was kept last.
func (r *run) isWorthKeeping(events int) bool {
	return r.d.Keeper != nil && int(r.state.Seq-r.kept) >= max(events, 1) && form() != ""
}

func (r *run) toKeep() pawl.Kept {
	r.kept = r.state.Seq
	return pawl.Kept{Seq: r.state.Seq, Form: form(), State: r.state.Snapshot()}
}

// keep keeps a state. The caller holds r.keeping.
func (r *run) keep(k pawl.Kept) {
	defer r.keeping.Unlock()
	if err := r.d.Keeper.Keep(context.WithoutCancel(r.ctx), r.id, k); err != nil {
		r.d.logger().Debug("the state of a run is not kept; all of its events will be folded", "run", r.id, "error", err)
	}
}

// form is that of the states that this program keeps: the program itself, since a state has the
// fields that its types have, and means what its code makes of it. It is empty if the program's
// file cannot be read. The beginning of the file has its build ID; for those that were built
// without one its size and time are part of the form.
var form = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, min(info.Size(), 64<<10)); err != nil {
		return ""
	}
	_, _ = fmt.Fprint(sum, info.Size(), info.ModTime().UnixNano()) // a hash takes everything
	return hex.EncodeToString(sum.Sum(nil))
})
