package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"pawl"
)

// CheckFile checks every page of the database, as SQLite does.
func (l *Log) CheckFile(ctx context.Context) error {
	if err := l.checkLength(ctx); err != nil {
		return err
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	var first string
	if err := l.read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&first); err != nil {
		return l.files.explain("check "+l.files.path(fileName), err)
	}
	if first != "ok" {
		return pawl.Errorf(pawl.CodeDamaged, "%s is damaged: %s", l.files.path(fileName), first)
	}
	return nil
}

// checkLength finds a database that is cut off: it lacks pages that are not in the WAL either.
// SQLite does not miss them before it needs them, and fills them with zeros when it copies the
// WAL into the file.
func (l *Log) checkLength(ctx context.Context) error {
	db, err := l.files.connect("ro")
	if err != nil {
		return err
	}
	defer db.Close()
	var pages, size int64
	if err = db.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA page_size").Scan(&size)
	}
	if err != nil {
		return l.files.explain("look at the length of "+l.files.path(fileName), err)
	}
	// The WAL is read first: what is copied from it meanwhile is in the file afterwards.
	inWAL, err := l.files.pagesInWAL(size)
	if err != nil {
		return l.files.explain("read "+l.files.path(fileName+"-wal"), err)
	}
	info, err := os.Stat(l.files.path(fileName))
	if err != nil {
		return l.files.explain("look at the length of the database", err)
	}
	for page := info.Size()/size + 1; page <= pages; page++ {
		if !inWAL[page] {
			return pawl.Errorf(pawl.CodeDamaged, "%s is cut off: it has %d of its %d bytes", l.files.path(fileName), info.Size(), pages*size).
				WithHint("%s", l.files.anew())
		}
	}
	return nil
}

// pagesInWAL are the pages that the WAL has, committed or not.
func (f fileSystem) pagesInWAL(size int64) (map[int64]bool, error) {
	const head, frameHead = 32, 24 // bytes
	pages := map[int64]bool{}
	wal, err := os.Open(f.path(fileName + "-wal"))
	if errors.Is(err, fs.ErrNotExist) {
		return pages, nil
	}
	if err != nil {
		return nil, err
	}
	defer wal.Close()
	start, frame := make([]byte, head), make([]byte, frameHead)
	if _, err := wal.ReadAt(start, 0); err != nil {
		return pages, ignoreEnd(err)
	}
	for at := int64(head); ; at += frameHead + size {
		if _, err := wal.ReadAt(frame, at); err != nil {
			return pages, ignoreEnd(err)
		}
		if [8]byte(frame[8:16]) != [8]byte(start[16:24]) { // left over from before the WAL began anew
			return pages, nil
		}
		pages[int64(binary.BigEndian.Uint32(frame))] = true
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Examine reads all that is stored of a run, its blobs included. The error says how many of its
// events can be read, and why not all, or names the first blob that is damaged.
func (l *Log) Examine(ctx context.Context, id pawl.RunID) error {
	s, err := l.snapshot(ctx, id)
	if err != nil {
		return err
	}
	var read pawl.Seq
	var blob string // what is wrong with the first damaged one
	err = l.walkTo(ctx, s, id, span{}, func(u *unit) (bool, error) {
		if _, err := u.events(id, 0, func(e pawl.Event) bool { read = e.Seq; return true }); err != nil {
			return false, err
		}
		places, err := u.places()
		if err != nil {
			return false, pawl.Errorf(pawl.CodeDamaged, "unit %d: %w", u.id, err)
		}
		for _, p := range places {
			if blob != "" {
				break
			}
			if blob, err = l.damaged(ctx, id, p); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil && !isDamage(err) {
		return l.files.explain(fmt.Sprintf("read run %s", id), err)
	}
	l.mu.Lock()
	r := l.index.byID[id]
	if r == nil { // it was erased meanwhile
		l.mu.Unlock()
		return nil
	}
	quarantine, of := r.quarantine, max(r.told, r.seq)
	l.mu.Unlock()
	why := ""
	switch {
	case err == nil:
	case strings.HasPrefix(quarantine, countPrefix):
		why = quarantine
	case read < of:
		why = fmt.Sprintf("%s: %v", counted(read, of), say(err))
	case blob == "":
		why = quarantine
	}
	if blob != "" {
		why = strings.TrimPrefix(why+"; "+blob, "; ")
	}
	if why == "" {
		return nil
	}
	return pawl.Errorf(pawl.CodeDamaged, "%s", why)
}

const countPrefix = "the log has "

// counted says how many of a run's events the log has.
func counted(has, of pawl.Seq) string {
	return fmt.Sprintf("%s%d of its %d events", countPrefix, has, of)
}

// damaged reads a blob of a run and returns what is wrong with it; empty when nothing is.
func (l *Log) damaged(ctx context.Context, id pawl.RunID, p place) (damage string, err error) {
	_, err = l.content(ctx, p)
	if !isDamage(err) {
		return "", err
	}
	l.foundBlob(id, p.hash, err)
	return fmt.Sprintf("blob %s: %v", p.hash, say(err)), nil
}

// Unslotted returns the runs that have no slot, so that nobody knows whether the log has their
// ends, and reports whether the file of slots exists. A slot is written after the commit that it
// records: a run that has just begun may not have one yet.
func (l *Log) Unslotted() (runs []pawl.RunID, file bool, err error) {
	switch _, err := os.Stat(l.files.path(slotsName)); {
	case err == nil:
		file = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, l.files.explain("read "+l.files.path(slotsName), err)
	}
	slots, damaged, err := l.files.readSlots()
	if err != nil {
		return nil, false, l.files.explain("read "+l.files.path(slotsName), err)
	}
	known := map[int64]bool{}
	for _, s := range slots {
		known[s.num] = true
	}
	for _, num := range damaged { // they are among the problems
		known[num] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.index.order {
		if !known[r.num] {
			runs = append(runs, r.id)
		}
	}
	return runs, file, nil
}
