package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"pawl"
)

// Log implements [pawl.Log] on a folder. Make one with [Open] or [OpenReadOnly].
type Log struct {
	files fileSystem
	pack  *packer

	read    *sql.DB // a small pool of read-only connections
	queries queries

	// queue holds the units that wait for the committer; nil when read-only.
	queue chan *request
	// nudge asks the committer to write heads.
	nudge chan struct{}
	// chores are what the committer is asked to do between two groups.
	chores    chan chore
	committed chan error // the committer's last word

	copyAfter int // the constant of this name; tests lower it to get more checkpoints

	readOnly bool
	// problems are what is wrong with files beside the database.
	problems []string

	// forgetful reports a file from before there was a memory, stoneless one from before
	// runs could be deleted.
	forgetful, stoneless bool

	// appending is held for reading by every Append, from before it writes files until its
	// unit is stored or refused; see [Log.Sweep].
	appending sync.RWMutex

	mu     sync.Mutex
	index  *index
	closed bool
	using  sync.WaitGroup // calls that use the log
}

var _ pawl.Log = (*Log)(nil)

// maxQueued is how many units may wait for the committer before Append blocks.
const maxQueued = 1024

// Open opens the log in a folder for appending, making both when they are not
// there and bringing the schema up to date. A log that a newer Pawl wrote is
// refused with [pawl.CodeState] and left as it is. Only one process may have a
// folder open so; the caller sees to that.
func Open(dir string) (*Log, error) { return openOn(osDisk{}, dir) }

// openOn is Open on a disk of the caller's choice.
func openOn(d disk, dir string) (*Log, error) {
	l, err := newLog(d, dir)
	if err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// OpenReadOnly opens the log in a folder for reading, while another process
// appends to it or while none does. It writes nothing but what SQLite needs to
// read a file in WAL mode (an empty -wal and a -shm). Append fails with
// [pawl.CodeState]; a folder without a log is [pawl.CodeNotFound].
func OpenReadOnly(dir string) (*Log, error) {
	l, err := newLog(osDisk{}, dir)
	if err != nil {
		return nil, err
	}
	if err := l.openReadOnly(); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

func newLog(d disk, dir string) (*Log, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	pack, err := newPacker()
	if err != nil {
		return nil, err
	}
	return &Log{files: fileSystem{dir, d}, pack: pack, index: newIndex(), copyAfter: copyAfter}, nil
}

func (l *Log) open() error {
	ctx := context.Background()
	if err := l.files.prepare(); err != nil {
		return l.files.explain("open log "+l.files.dir, err)
	}
	slots, damaged, err := l.files.readSlots()
	if err != nil {
		return l.files.explain("read "+l.files.path(slotsName), err)
	}
	version, err := l.schema(ctx)
	if err != nil {
		return l.files.unreadable(slots, err)
	}
	if version > schemaVersion {
		return l.tooNew(version)
	}
	if version > 0 { // else writing would fill with zeros what is missing
		if err := l.checkLength(ctx); err != nil {
			return err
		}
	}
	if version == 0 && len(slots) > 0 { // what was in it is lost, and making it anew overwrites the WAL
		if err := l.files.setAside(); err != nil {
			return l.files.explain("keep a copy of a damaged WAL", err)
		}
	}
	w := &writer{log: l, copied: make(chan struct{}, 1)}
	if err := w.open(ctx); err != nil {
		return l.files.explain("open log "+l.files.path(fileName), err)
	}
	if version < schemaVersion {
		if err := migrate(ctx, w.db); err != nil {
			return errors.Join(l.files.explain("bring "+l.files.path(fileName)+" up to date", err), w.close())
		}
	}
	if err := errors.Join(w.prepare(ctx), l.load(ctx)); err != nil {
		return errors.Join(l.files.explain("open log "+l.files.path(fileName), err), w.close())
	}
	err = l.heed(slots, damaged)
	if err == nil {
		w.slots, err = os.OpenFile(l.files.path(slotsName), os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return errors.Join(l.files.explain("open log "+l.files.path(fileName), err), w.close())
	}
	w.last, w.behind = l.index.last, int(l.index.last-l.index.flushed)
	if newest, err := w.newest(ctx); err == nil {
		w.last = max(w.last, newest) // there may be units that cannot be read
		w.stored = newest
	}
	w.openMemory(ctx)
	l.queue = make(chan *request, maxQueued)
	l.chores = make(chan chore)
	l.nudge = make(chan struct{}, 1)
	l.committed = make(chan error, 1)
	go func() { l.committed <- w.run() }()
	return nil
}

func (l *Log) openReadOnly() error {
	l.readOnly = true
	name := l.files.path(fileName)
	slots, damaged, err := l.files.readSlots()
	if err != nil {
		return l.files.explain("read "+l.files.path(slotsName), err)
	}
	if _, err := os.Stat(name); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			if err := l.files.lostWhole(slots); err != nil {
				return err
			}
			return pawl.Errorf(pawl.CodeNotFound, "there is no log at %s", name)
		}
		return l.files.explain("open log", err)
	}
	version, err := l.schema(context.Background())
	if err != nil {
		return l.files.unreadable(slots, err)
	}
	switch {
	case version > schemaVersion:
		return l.tooNew(version)
	case version == 0 && len(slots) > 0:
		return l.files.lostWhole(slots)
	case version == 0: // whoever began to make it did not get far
		return pawl.Errorf(pawl.CodeNotFound, "there is no log at %s yet", name)
	case version < oldestReadable:
		return pawl.Errorf(pawl.CodeState, "%s has schema %d; this pawl reads schema %d", name, version, schemaVersion).
			WithHint("start pawl once for writing; it brings the schema up to date")
	}
	l.forgetful, l.stoneless = version < memorySchema, version < deletedSchema
	if err := l.load(context.Background()); err != nil {
		return l.files.explain("open log "+name, err)
	}
	return l.heed(slots, damaged)
}

// load makes the pool of readers and finds every run.
func (l *Log) load(ctx context.Context) error {
	if err := l.openReaders(ctx); err != nil {
		return err
	}
	l.loadHeads(ctx)
	if err := l.scan(ctx); err != nil {
		return err
	}
	return l.loadDeleted(ctx)
}

// enter counts a call in, unless the log is closed.
func (l *Log) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return pawl.Errorf(pawl.CodeUnavailable, "the log is closed")
	}
	l.using.Add(1)
	return nil
}

func (l *Log) leave() { l.using.Done() }

// Close implements [pawl.Log]. It waits for the calls that are under way; those
// that come later fail with [pawl.CodeUnavailable]. Closing again does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.using.Wait()
	// The writer is the last to go: it empties the WAL and removes it.
	err := l.release()
	if l.queue != nil {
		close(l.queue)
		err = errors.Join(err, <-l.committed)
	}
	if err != nil {
		return l.files.explain("close log", err)
	}
	return nil
}

// release lets go of everything but the writer.
func (l *Log) release() error {
	err := l.pack.enc.Close()
	l.pack.dec.Close()
	if l.read != nil {
		err = errors.Join(err, l.read.Close())
	}
	return err
}

// Runs implements [pawl.Log].
func (l *Log) Runs(ctx context.Context) ([]pawl.RunInfo, error) { return pawl.NewestRuns(ctx, l, 0) }

// NewestLines implements [pawl.LineLister].
func (l *Log) NewestLines(ctx context.Context, most int) ([]pawl.RunLine, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	order := l.index.listed()
	if most > 0 && len(order) > most {
		order = order[len(order)-most:]
	}
	lines := make([]pawl.RunLine, len(order))
	var unread []int
	var fresh []run
	for i, r := range order {
		if r.line == nil {
			unread = append(unread, i)
			fresh = append(fresh, run{id: r.id, num: r.num, info: r.info, quarantine: r.quarantine})
			continue
		}
		lines[i] = shownLine(r)
	}
	l.mu.Unlock()
	for n, i := range unread {
		r := &fresh[n]
		r.line = decodeLine(r.id, r.info)
		r.json = lineJSON(r.line, r.info)
		l.keepLine(r)
		lines[i] = shownLine(r)
	}
	return lines, nil
}

// shownLine is a run's line as it is listed.
func shownLine(r *run) pawl.RunLine {
	line := pawl.RunLine{Info: r.line, JSON: r.json}
	if r.quarantine == "" {
		return line
	}
	return line.With(func(info *pawl.RunInfo) {
		info.Status, info.Reason = pawl.StatusQuarantined, r.quarantine
		info.Task = cmp.Or(info.Task, taskOf(r.id))
	})
}

// keepLine saves the next caller of Runs from decoding the same line.
func (l *Log) keepLine(seen *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byNum[seen.num]
	unchanged := r != nil && r.line == nil && len(r.info) == len(seen.info) && (len(r.info) == 0 || &r.info[0] == &seen.info[0])
	if unchanged {
		r.line, r.json = seen.line, seen.json
	}
}

// quarantine isolates a run whose data is damaged, or cannot be read by this
// Pawl, in which case it does not last.
func (l *Log) quarantine(id pawl.RunID, damage error, lasts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byID[id]
	if r == nil {
		return // it was erased while it was read
	}
	if !lasts {
		if r.quarantine == "" {
			r.quarantine = damage.Error()
		}
		return
	}
	r.isolate(damage.Error())
	if l.readOnly {
		_ = l.files.mark(*r) // or the next reader finds it
		return
	}
	if l.nudge == nil {
		return
	}
	select {
	case l.nudge <- struct{}{}:
	default: // it is asked already
	}
}
