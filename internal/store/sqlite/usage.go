package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pawl"
)

// CompactFrom is how many bytes of the database nothing must use for [Usage] to count them:
// making the file smaller writes all of it once.
const CompactFrom = 1 << 20

// Usage says what a log takes on disk and what of it nobody needs, in bytes.
type Usage struct {
	// Runs is what erasing each run frees, those that are deleted included: its rows, its
	// state, and the files of blobs that no other run has.
	Runs map[pawl.RunID]int64
	// Unnamed counts the files of blobs that no run names, and UnnamedSize is what they take.
	Unnamed     int
	UnnamedSize int64
	// Free is what of the database file nothing uses; 0 = less than [CompactFrom].
	Free int64
}

// Usage measures the log. What erasing a run frees of the database file is free for other
// runs at once, and for other programs when the log is compacted.
func (l *Log) Usage(ctx context.Context) (Usage, error) {
	out := Usage{Runs: map[pawl.RunID]int64{}}
	if err := l.enter(); err != nil {
		return out, err
	}
	defer l.leave()
	ids := map[int64]pawl.RunID{}
	l.mu.Lock()
	for _, r := range l.index.order {
		ids[r.num], out.Runs[r.id] = r.id, l.files.keptSize(r.num)
	}
	l.mu.Unlock()
	const shared = -1
	owners := map[string]int64{} // of files
	if _, err := l.eachNamed(ctx, 0, func(run, rows int64, files []string) {
		out.Runs[ids[run]] += rows
		for _, name := range files {
			owner, known := owners[name]
			if known && owner != run {
				owner = shared
			} else {
				owner = run
			}
			owners[name] = owner
		}
	}); err != nil {
		return out, l.files.explain("measure the log", err)
	}
	delete(out.Runs, "")
	err := l.files.eachBlob(func(name string, size int64) error {
		switch owner, named := owners[name]; {
		case !named:
			out.Unnamed++
			out.UnnamedSize += size
		case ids[owner] != "":
			out.Runs[ids[owner]] += size
		}
		return nil
	})
	if err == nil {
		out.Free, err = freePages(ctx, l.read)
	}
	if err != nil {
		return out, l.files.explain("measure the log", err)
	}
	if out.Free < CompactFrom {
		out.Free = 0
	}
	return out, nil
}

// eachNamed visits the units after one: the run of each, how many bytes its row takes, and
// the files of blobs that it names. It returns the last unit. A unit that cannot be read is an
// error: nobody knows what it names.
func (l *Log) eachNamed(ctx context.Context, after int64, visit func(run, rows int64, files []string)) (last int64, err error) {
	rows, err := l.read.QueryContext(ctx, `SELECT id, run, refs,
		length(data) + coalesce(length(info), 0) + coalesce(length(refs), 0) + coalesce(length(blobs), 0)
		FROM units WHERE id > ? ORDER BY id`, after)
	if err != nil {
		return after, err
	}
	defer rows.Close()
	last = after
	for rows.Next() {
		var u unit
		var size int64
		if err := rows.Scan(&u.id, &u.run, &u.refs, &size); err != nil {
			return last, pawl.Errorf(pawl.CodeDamaged, "a unit after unit %d cannot be read: %w", last, err)
		}
		places, err := u.places()
		if err != nil {
			return last, pawl.Errorf(pawl.CodeDamaged, "unit %d: %w", u.id, err)
		}
		var files []string
		for _, p := range places {
			if p.form&inFile != 0 {
				files = append(files, blobFile(p.ref))
			}
		}
		last = u.id
		visit(u.run, size, files)
	}
	return last, rows.Err()
}

// eachBlob visits the files of blobs, by their names below the log's folder.
func (f fileSystem) eachBlob(visit func(name string, size int64) error) error {
	folders, err := os.ReadDir(f.path(blobFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 { // what is being written is elsewhere
			continue
		}
		files, err := os.ReadDir(filepath.Join(f.path(blobFolder), folder.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			info, err := file.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				err = visit(blobFolder+"/"+folder.Name()+"/"+file.Name(), info.Size())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func freePages(ctx context.Context, db querier) (bytes int64, err error) {
	var pages, size int64
	if err = db.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&pages); err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	}
	return pages * size, err
}

// Sweep removes the files of blobs that no unit names, and returns how many bytes that
// freed: those of erased runs, and of appends that were given up. Appends wait while the
// files are removed, since a unit's files are there before it is.
func (l *Log) Sweep(ctx context.Context) (freed int64, err error) {
	if l.queue == nil {
		return 0, pawl.Errorf(pawl.CodeState, "remove files of blobs: the log is open for reading only")
	}
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.leave()
	named := map[string]bool{}
	note := func(_, _ int64, files []string) {
		for _, name := range files {
			named[name] = true
		}
	}
	last, err := l.eachNamed(ctx, 0, note) // most of them, without holding up anybody
	if err == nil {
		l.appending.Lock()
		defer l.appending.Unlock()
		_, err = l.eachNamed(ctx, last, note)
	}
	if err == nil {
		err = l.files.eachBlob(func(name string, size int64) error {
			if named[name] {
				return nil
			}
			if err := l.files.disk.Remove(l.files.path(name)); err != nil {
				return err
			}
			freed += size
			return nil
		})
	}
	if err != nil {
		return freed, l.files.explain("remove files of blobs that nothing names", err)
	}
	return freed, nil
}

// Compact gives back what of the database file nothing uses, and returns how many bytes
// that is. Appends wait meanwhile; the disk needs room for the database once more.
func (l *Log) Compact(ctx context.Context) (freed int64, err error) {
	err = l.chore(ctx, "compact "+l.files.path(fileName), func(w *writer) (err error) {
		freed, err = w.compact(context.WithoutCancel(ctx))
		return err
	})
	return freed, err
}

func (w *writer) compact(ctx context.Context) (freed int64, err error) {
	if err := w.mend(ctx); err != nil {
		return 0, err
	}
	if w.copying {
		<-w.copied
		w.copying = false
	}
	if freed, err = freePages(ctx, w.conn); err != nil || freed < CompactFrom {
		return 0, err
	}
	// The new file is made on disk first: it may be larger than the memory.
	_, err = w.conn.ExecContext(ctx, "PRAGMA temp_store = file")
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "VACUUM")
		_, _ = w.conn.ExecContext(ctx, "PRAGMA temp_store = memory")
	}
	if err != nil {
		if spoiled(err) {
			w.broken = err
		}
		return 0, err
	}
	w.empty()
	left, err := freePages(ctx, w.conn)
	return freed - left, err
}
