package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/engine"
)

// Delete implements [pawl.Deleter].
func (l *log) Delete(ctx context.Context, t pawl.Tombstone) error {
	return l.Log.(pawl.Deleter).Delete(ctx, t)
}

// Deleted implements [pawl.Deleter].
func (l *log) Deleted(ctx context.Context) ([]pawl.Tombstone, error) {
	return l.Log.(pawl.Deleter).Deleted(ctx)
}

// Erase implements [pawl.Deleter].
func (l *log) Erase(ctx context.Context, run pawl.RunID) error {
	return l.Log.(pawl.Deleter).Erase(ctx, run)
}

// remains is what there is of runs, made up. It remembers what was asked, and fails as it is
// told.
type remains struct {
	mu     sync.Mutex
	asked  []string
	fails  map[string]error
	survey engine.Survey
}

func (m *remains) ask(format string, args ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	m.asked = append(m.asked, text)
	word, _, _ := strings.Cut(text, " ")
	return m.fails[word]
}

// take returns what was asked since it was called last.
func (m *remains) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.asked
	m.asked = nil
	return all
}

func (m *remains) fail(word string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = map[string]error{word: err}
}

func removal(r engine.Removal) string {
	return fmt.Sprintf("%s, which made %d commits, partial %t, force %t", r.Run, len(r.Made), r.Partial, r.Force)
}

func (m *remains) Look(_ context.Context, r engine.Removal) error {
	return m.ask("look %s", removal(r))
}

func (m *remains) Remove(_ context.Context, r engine.Removal) (pawl.Deletion, error) {
	err := m.ask("remove %s", removal(r))
	return pawl.Deletion{Branches: []pawl.DeletedBranch{{Name: "pawl/" + string(r.Run), Head: "head"}}, Refs: 2, Worktrees: []string{}, Kept: []string{"refs/pawl/salvage/x"}}, err
}

func (m *remains) Erase(_ context.Context, run pawl.RunID) error { return m.ask("erase %s", run) }

func (m *remains) Survey(context.Context) (engine.Survey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.survey, m.fails["survey"]
}

func (m *remains) CloseWorktree(_ context.Context, name string, run pawl.RunID) error {
	return m.ask("close %s of %s", name, run)
}
func (m *remains) SweepBlobs(context.Context) (int64, error) { return 3, m.ask("sweep") }
func (m *remains) CompactLog(context.Context) (int64, error) { return 0, m.ask("compact") }
func (m *remains) PruneCache(context.Context) (int64, error) { return 5, m.ask("prune") }

func (b *bed) deletions() pawl.Deletions {
	b.t.Helper()
	d, ok := b.Service.(pawl.Deletions)
	if !ok {
		b.t.Fatalf("%T deletes no runs", b.Service)
	}
	return d
}

func (b *bed) mustDelete(run pawl.RunID, req pawl.DeleteRequest) pawl.Deletion {
	b.t.Helper()
	d, err := b.deletions().DeleteRun(b.t.Context(), run, req)
	if err != nil {
		b.t.Fatalf("delete %s: %v", run, err)
	}
	return d
}

func (b *bed) mustStones() []pawl.Tombstone {
	b.t.Helper()
	stones, err := b.deletions().DeletedRuns(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return stones
}

// mustListed checks which runs are listed.
func (b *bed) mustListed(want ...pawl.RunID) {
	b.t.Helper()
	var got []pawl.RunID
	for _, r := range b.mustRuns() {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		b.t.Fatalf("listed are %v, want %v", got, want)
	}
}

func (s *suite) delete(t *testing.T) {
	t.Run("AnEndedRun", s.deleteEnded)
	t.Run("Now", s.deleteNow)
	t.Run("Refused", s.deleteRefused)
	t.Run("Interrupted", s.deleteInterrupted)
	t.Run("ForksFirst", s.deleteForked)
	t.Run("ADamagedRun", s.deleteDamaged)
	t.Run("CutOff", s.deleteCutOff)
}

// A deleted run no longer exists, and its log is. Its numbers stay used. F-31
func (s *suite) deleteEnded(t *testing.T) {
	b := s.bed(t)
	b.mustRest(b.mustStart("do it").ID)
	run := b.mustStart("write it").ID
	before := b.mustRest(run)
	events := b.mustEvents(run, 0)
	d := b.mustDelete(run, pawl.DeleteRequest{By: "ada"})
	if d.Run != run || d.Deleted.IsZero() || !d.Until.Equal(d.Deleted.Add(14*24*time.Hour)) || d.Refs != 2 || len(d.Branches) != 1 || len(d.Kept) != 1 {
		t.Errorf("it says %+v", d)
	}
	if d := cmp.Diff([]string{"look 002-write-it, which made 1 commits, partial false, force false", "remove 002-write-it, which made 1 commits, partial false, force false"}, b.remains.take()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !slices.Contains(b.cleaned, run) {
		t.Errorf("cleaned are %v", b.cleaned)
	}
	b.mustListed("001-do-it")
	stones := b.mustStones()
	if len(stones) != 1 || stones[0].Run.ID != run || stones[0].Run.Outcome != before.Outcome || stones[0].By != "ada" || stones[0].Erased || !stones[0].Deleted.Equal(d.Deleted) {
		t.Errorf("tombstones: %+v", stones)
	}
	if d := cmp.Diff(events, b.mustEvents(run, 0)); d != "" {
		t.Errorf("its events changed (-want +got):\n%s", d)
	}
	for _, verb := range []pawl.SteerVerb{pawl.SteerResume, pawl.SteerArchive, pawl.SteerCancel} {
		b.mustBe(b.Steer(t.Context(), run, pawl.Steering{Verb: verb}), pawl.CodeState, true)
	}
	_, err := b.Fork(t.Context(), run, 5)
	b.mustBe(err, pawl.CodeState, true)
	if next := b.mustStart("next"); next.ID != "003-next" {
		t.Errorf("the next run is %s", next.ID)
	}
	req := request("again")
	req.Task = "002-write-it"
	again, err := b.begin(t.Context(), req)
	if err != nil || again.ID != "002-write-it-r2" {
		t.Errorf("the next run of its task is %s, %v", again.ID, err)
	}
	b.mustRest("003-next")
	b.mustRest(again.ID)
	// Once more, it is deleted already.
	if again := b.mustDelete(run, pawl.DeleteRequest{}); !again.Deleted.Equal(d.Deleted) || len(b.mustStones()) != 1 {
		t.Errorf("again: %+v", again)
	}
}

// F-31
func (s *suite) deleteNow(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	d := b.mustDelete(run, pawl.DeleteRequest{Now: true, Force: true})
	if !d.Until.IsZero() || len(d.Kept) != 0 {
		t.Errorf("it says %+v", d)
	}
	want := []string{"look 001-do-it, which made 1 commits, partial false, force true", "remove 001-do-it, which made 1 commits, partial false, force true", "erase 001-do-it", "sweep"}
	if d := cmp.Diff(want, b.remains.take()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	b.mustListed()
	for _, err := range b.Events(t.Context(), run, 0) {
		b.mustBe(err, pawl.CodeNotFound, false)
	}
	b.mustBe(b.Steer(t.Context(), run, pawl.Steering{Verb: pawl.SteerResume}), pawl.CodeNotFound, false)
	if stones := b.mustStones(); len(stones) != 1 || !stones[0].Erased {
		t.Errorf("tombstones: %+v", stones)
	}
	if next := b.mustStart("next"); next.ID != "002-next" {
		t.Errorf("the next run is %s", next.ID)
	}
	b.mustRest("002-next")
	if d := b.mustDelete(run, pawl.DeleteRequest{}); !d.Until.IsZero() {
		t.Errorf("again: %+v", d)
	}
}

// What may not be deleted stays as it is, and the error says what to do. F-31
func (s *suite) deleteRefused(t *testing.T) {
	b := s.bed(t)
	refused := func(run pawl.RunID, code pawl.Code, why string) {
		t.Helper()
		before := len(b.mustRuns())
		_, err := b.deletions().DeleteRun(t.Context(), run, pawl.DeleteRequest{Now: true, Force: true})
		b.mustBe(err, code, code == pawl.CodeState)
		if !strings.Contains(err.Error(), why) {
			t.Errorf("got %v, want %q", err, why)
		}
		for _, asked := range b.remains.take() {
			if !strings.HasPrefix(asked, "look ") {
				t.Errorf("it was asked to %s", asked)
			}
		}
		if len(b.mustRuns()) != before || len(b.mustStones()) != 0 {
			t.Error("something was deleted")
		}
	}
	refused("009-none", pawl.CodeNotFound, "there is no run 009-none")
	begun, letGo := b.holding(pawl.VerbCallModel)
	run := b.mustStart("do it").ID
	<-begun
	refused(run, pawl.CodeState, "run 001-do-it is running: only a run that has ended can be deleted")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerPause})
	letGo()
	b.mustSee(run, func(e pawl.Event) bool { _, ok := e.Body.(*pawl.RunPaused); return ok })
	refused(run, pawl.CodeState, "run 001-do-it is paused: only a run that has ended can be deleted")
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow})
	b.mustRest(run)
	b.remains.fail("look", pawl.Errorf(pawl.CodeState, "its branch is checked out").WithHint("switch"))
	refused(run, pawl.CodeState, "its branch is checked out")
	b.remains.fail("look", nil)
	b.mustDelete(run, pawl.DeleteRequest{})
}

// A run that was interrupted has not ended, though nobody drives it. F-31
func (s *suite) deleteInterrupted(t *testing.T) {
	b, run := s.cut(t)
	_, err := b.deletions().DeleteRun(t.Context(), run, pawl.DeleteRequest{})
	b.mustBe(err, pawl.CodeState, true)
	if !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("got %v", err)
	}
	b.mustListed(run)
	b.mustSteer(run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow})
	b.mustRest(run)
	b.mustDelete(run, pawl.DeleteRequest{})
	b.mustListed()
}

// F-31
func (s *suite) deleteForked(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	last := b.mustRest(run).Seq
	other, err := b.Fork(t.Context(), run, last)
	if err != nil {
		t.Fatal(err)
	}
	b.mustRest(other.ID)
	_, err = b.deletions().DeleteRun(t.Context(), run, pawl.DeleteRequest{})
	b.mustBe(err, pawl.CodeState, true)
	if !strings.Contains(err.Error(), "run 001-do-it was forked") || !strings.Contains(err.Error(), "001-do-it-r2") {
		t.Errorf("got %v", err)
	}
	b.mustListed(run, other.ID)
	b.mustDelete(other.ID, pawl.DeleteRequest{})
	b.mustDelete(run, pawl.DeleteRequest{})
	b.mustListed()
}

// A damaged run may have made more commits than its log says. F-31
func (s *suite) deleteDamaged(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	b.log.damage(run, 2)
	b.mustDelete(run, pawl.DeleteRequest{})
	if got := b.remains.take(); len(got) != 2 || got[1] != "remove 001-do-it, which made 0 commits, partial true, force false" {
		t.Errorf("asked: %q", got)
	}
	b.mustListed()
}

// What was cut off is done by whoever asks again. F-31
func (s *suite) deleteCutOff(t *testing.T) {
	b := s.bed(t)
	run := b.mustStart("do it").ID
	b.mustRest(run)
	for _, step := range []string{"remove", "erase"} {
		b.remains.fail(step, pawl.Errorf(pawl.CodeUnavailable, "the disk is full").WithHint("free some space"))
		_, err := b.deletions().DeleteRun(t.Context(), run, pawl.DeleteRequest{Now: true})
		b.mustBe(err, pawl.CodeUnavailable, true)
		if want := "run 001-do-it is deleted, and not all that there is of it could be removed: the disk is full"; err.Error() != want {
			t.Errorf("%s: got %v, want %s", step, err, want)
		}
		b.mustListed()
		b.mustEvents(run, 0)
	}
	b.remains.fail("", nil)
	if d := b.mustDelete(run, pawl.DeleteRequest{Now: true}); !d.Until.IsZero() {
		t.Errorf("%+v", d)
	}
	if stones := b.mustStones(); len(stones) != 1 || !stones[0].Erased {
		t.Errorf("tombstones: %+v", stones)
	}
}

// What nobody needs is listed, and removed only when it is asked for. F-31
func (s *suite) garbage(t *testing.T) {
	b := s.bed(t)
	old, young, cut := b.mustStart("old").ID, b.mustStart("young").ID, b.mustStart("cut off").ID
	for _, run := range []pawl.RunID{old, young, cut} {
		b.mustRest(run)
	}
	b.mustDelete(old, pawl.DeleteRequest{})
	b.mustDelete(cut, pawl.DeleteRequest{Now: true})
	b.later.Store(int64(pawl.KeepDeleted))
	b.mustDelete(young, pawl.DeleteRequest{})
	begun, letGo := b.holding(pawl.VerbCallModel)
	live := b.mustStart("live").ID
	<-begun
	b.remains.mu.Lock()
	b.remains.survey = engine.Survey{
		Runs:      map[pawl.RunID]engine.RunRemains{old: {Log: 100, Aside: 10}, young: {Log: 200}, cut: {Refs: 2}, live: {Log: 1000, Refs: 7}},
		Worktrees: []engine.Worktree{{Name: "a", Run: old, Size: 50}, {Name: "b", Run: live, Size: 60}, {Name: "c", Run: "900-unknown", Size: 70, Partial: true}},
		Rooms:     []pawl.KeptRoom{{Run: live, Size: 5}, {Run: "900-unknown", Name: "x", Size: 6}, {Run: "900-unknown", Name: "y", Size: 7}},
		Blobs:     1, BlobsSize: 8, CacheOver: 9, LogFree: 11,
		Use: []pawl.DiskUse{{Name: "log", Size: 10}, {Name: "worktrees", Size: 200}, {Name: "none"}},
	}
	b.remains.mu.Unlock()
	b.remains.take()
	g, err := b.deletions().Garbage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range g.Items {
		got = append(got, fmt.Sprintf("%s %s %d %t %s", i.Kind, i.Run, i.Size, i.Partial, i.Name))
	}
	want := []string{
		"run 001-old 110 false deleted on " + b.mustStones()[0].Deleted.Format(time.DateOnly),
		"refs 003-cut-off 0 false what its deletion left in the repository: 2 refs",
		"worktree 001-old 50 false a",
		"worktree 900-unknown 70 true c",
		"room 900-unknown 13 false what its rooms keep",
		"blobs  8 false 1 file that no run names",
		"cache  9 false layers of the trusted cache above its limit",
		"log  11 false space in the log's file that nothing uses",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(g.Waiting) != 1 || g.Waiting[0].Run != young || g.Waiting[0].Size != 200 || g.Freed != 271 || g.Used != 210 {
		t.Errorf("%+v", g)
	}
	if d := cmp.Diff([]pawl.DiskUse{{Name: "worktrees", Size: 200}, {Name: "log", Size: 10}}, g.Use); d != "" {
		t.Errorf("use (-want +got):\n%s", d)
	}
	if asked := b.remains.take(); len(asked) > 0 {
		t.Errorf("looking asked for %q", asked)
	}

	b.remains.fail("close", pawl.Errorf(pawl.CodeState, "somebody is in it"))
	if g, err = b.deletions().CollectGarbage(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantAsked := []string{"erase 001-old", "sweep", "remove 003-cut-off, which made 0 commits, partial true, force false", "close a of 001-old",
		"close c of 900-unknown", "sweep", "prune", "compact", "compact"}
	if d := cmp.Diff(wantAsked, b.remains.take()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if g.Items[2].Problem != "somebody is in it" || g.Items[2].Size != 0 || g.Items[0].Problem != "" || g.Freed != 110+13+3+5 {
		t.Errorf("%+v", g)
	}
	if stones := b.mustStones(); !stones[0].Erased || !stones[1].Erased || stones[2].Erased {
		t.Errorf("tombstones: %+v", stones)
	}
	letGo()
	b.mustRest(live)
}
