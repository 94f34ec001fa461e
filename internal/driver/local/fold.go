package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"sync"

	"pawl"
	"pawl/internal/kernel"
)

// defaultKeepEvery is the default of [Driver.KeepEvery].
const defaultKeepEvery = 1000

// Fold reads a run's state from its log. It begins with the state that the log keeps, if this
// program wrote it and it follows from the events. A state of many events that were not in it
// is kept in its turn, where the log can be written to.
func Fold(ctx context.Context, log pawl.Log, id pawl.RunID) (*kernel.State, error) {
	keeper, _ := log.(pawl.Keeper)
	return fold(ctx, log, keeper, id)
}

func fold(ctx context.Context, log pawl.Log, keeper pawl.Keeper, id pawl.RunID) (*kernel.State, error) {
	s, from := foldKept(ctx, keeper, id)
	if s == nil {
		s = &kernel.State{}
		if err := apply(s, log.Events(ctx, id, 0)); err != nil {
			return nil, fmt.Errorf("fold run %s: %w", id, err)
		}
	}
	if keeper != nil && s.Seq-from >= defaultKeepEvery && form() != "" {
		_ = keeper.Keep(ctx, id, toKeep(s)) // or the next one folds them again
	}
	return s, nil
}

// Follow applies to a run's state the events that its log has after it.
func Follow(ctx context.Context, log pawl.Log, id pawl.RunID, s *kernel.State) error {
	return apply(s, log.Events(ctx, id, s.Seq))
}

func apply(s *kernel.State, events iter.Seq2[pawl.Event, error]) error {
	for e, err := range events {
		if err == nil {
			err = kernel.Apply(s, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldKept folds the events after the state that is kept, and returns the number of that state's
// event too. It returns nil if no state is kept, if the state is of no use, and after any error: an
// error in the events occurs again when all of them are folded.
func foldKept(ctx context.Context, keeper pawl.Keeper, id pawl.RunID) (s *kernel.State, from pawl.Seq) {
	mine := form() // before the program's file may be replaced
	if keeper == nil || mine == "" {
		return nil, 0
	}
	k, err := keeper.Kept(ctx, id)
	if err != nil || k.Seq == 0 || k.Form != mine {
		return nil, 0
	}
	s, err = kernel.Restore(id, k.State)
	if err != nil || s.Seq != k.Seq || apply(s, keeper.Since(ctx, id, k)) != nil {
		return nil, 0
	}
	return s, k.Seq
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
	return toKeep(r.state)
}

func toKeep(s *kernel.State) pawl.Kept {
	return pawl.Kept{Seq: s.Seq, Form: form(), State: s.Snapshot()}
}

// keep keeps a state. The caller holds r.keeping.
func (r *run) keep(k pawl.Kept) {
	defer r.keeping.Unlock()
	if err := r.d.Keeper.Keep(context.WithoutCancel(r.ctx), r.id, k); err != nil {
		r.d.logger().Debug("the state of a run is not kept; all of its events will be folded", "run", r.id, "error", err)
	}
}

// form is the form of the states that this program keeps: its build ID, since a state has the
// fields that its types have, and means what its code makes of it. It is empty if the program has
// no build ID or its file cannot be read: then nothing is kept.
var form = sync.OnceValue(func() string {
	file, err := programFile()
	if err != nil {
		return ""
	}
	defer file.Close()
	return formOf(file)
})

// headSize is how much of a program's file is searched for its build ID, in bytes. The linker
// puts it at the beginning.
const headSize = 64 << 10

// formOf returns the form of a program by the beginning of its file.
func formOf(program io.Reader) string {
	head, err := io.ReadAll(io.LimitReader(program, headSize))
	if err != nil || !hasBuildID(head) {
		return ""
	}
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:])
}

// hasBuildID reports whether the beginning of a program's file has the ID that Go's linker writes,
// as a note in files of the format ELF (type 4, name "Go") and as a text in others. A program that
// was linked with -buildid= has none.
func hasBuildID(head []byte) bool {
	return bytes.Contains(head, []byte("\x04\x00\x00\x00Go\x00\x00")) || bytes.Contains(head, []byte("\x00\x00\x00\x04Go\x00\x00")) ||
		bytes.Contains(head, []byte("\xff Go build ID: \""))
}

// programFile opens the file of this program. On Linux that is the one that is being run, also if
// another one has taken its name since, as an update does.
func programFile() (*os.File, error) {
	if runtime.GOOS == "linux" {
		return os.Open("/proc/self/exe")
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}
