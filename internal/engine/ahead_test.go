package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
	"pawl/internal/driver/drivertest"
	"pawl/internal/engine"
	"pawl/internal/store/mem"
	"pawl/internal/store/sqlite"
)

// whole is a log that reports each run whose events were read from the first one.
type whole struct {
	pawl.Log
	read chan pawl.RunID
}

func (l whole) Events(ctx context.Context, id pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		l.Log.Events(ctx, id, after)(yield)
		if after == 0 {
			l.read <- id
		}
	}
}

// A run that is to be adopted is folded before its engine is there, and not once more. One that has
// gone on meanwhile goes on from where it is, and one that could not be folded says why.
func TestFoldAhead(t *testing.T) {
	log := mem.New()
	world, begun := at(pawl.VerbCallModel)
	before := engine.New(engineConfig(log, world))
	adopted, driven, refused := mustStart(t, before), mustStart(t, before), mustStart(t, before)
	for range 3 {
		<-begun
	}
	before.Close()

	watched := whole{log, make(chan pawl.RunID, 64)}
	const unknown = "999-unknown"
	ahead := engine.FoldAhead(t.Context(), watched, []pawl.RunID{adopted, driven, refused, unknown})
	defer ahead.End()
	for range 4 {
		<-watched.read
	}
	world, begun = at(pawl.VerbCallModel)
	between := engine.New(engineConfig(log, world)) // has a run to itself for a while
	if err := between.Adopt(t.Context(), driven, nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	between.Close()

	c := engineConfig(watched, &drivertest.World{})
	c.Ahead = ahead
	after := engine.New(c)
	defer after.Close()
	for _, run := range []pawl.RunID{adopted, driven} {
		if err := after.Adopt(t.Context(), run, nil); err != nil {
			t.Errorf("adopt %s: %v", run, err)
		}
	}
	no := pawl.Errorf(pawl.CodeKey, "it has no key")
	if err := after.Adopt(t.Context(), refused, func(*pawl.Settings) error { return no }); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	if n := len(watched.read); n > 0 {
		t.Errorf("%d runs were folded again", n)
	}
	if err := after.Adopt(t.Context(), unknown, nil); pawl.CodeOf(err) != pawl.CodeNotFound {
		t.Errorf("an unknown run: %v", err)
	}
	if err := after.Adopt(t.Context(), refused, nil); err != nil {
		t.Errorf("adopt %s later: %v", refused, err)
	}
	for _, run := range []pawl.RunID{adopted, driven, refused} {
		if info := mustWatch(t, after, run); info.Outcome != pawl.OutcomeComplete {
			t.Errorf("run %s ended %s: %s", run, info.Outcome, info.Reason)
		}
	}
}

// Adopting a run that was found damaged while it was folded ahead says so, although the run is quarantined by then.
func TestFoldAheadOfADamagedRun(t *testing.T) {
	dir := t.TempDir()
	mustOpen := func() *sqlite.Log {
		log, err := sqlite.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	log := mustOpen()
	world, begun := at(pawl.VerbCallModel)
	before := engine.New(engineConfig(log, world))
	run := mustStart(t, before)
	<-begun
	before.Close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "pawl.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE units SET data = x'00' WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	log = mustOpen()
	defer log.Close()
	watched := whole{log, make(chan pawl.RunID, 64)}
	ahead := engine.FoldAhead(t.Context(), watched, []pawl.RunID{run})
	defer ahead.End()
	<-watched.read
	c := engineConfig(log, &drivertest.World{})
	c.Ahead = ahead
	after := engine.New(c)
	defer after.Close()
	if err := after.Adopt(t.Context(), run, nil); pawl.CodeOf(err) != pawl.CodeDamaged || !strings.Contains(err.Error(), "unit 2") {
		t.Errorf("got %v", err)
	}
	if err := after.Adopt(t.Context(), run, nil); err != nil {
		t.Errorf("a run that is quarantined: %v", err)
	}
}
