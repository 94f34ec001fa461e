package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"pawl"
)

// Blob implements [pawl.Log]. A damaged blob is [pawl.CodeDamaged]. It quarantines a run that
// has ended, so that lists do not call it complete; one that has not goes on, since it may
// never need the blob. A blob that the run does not have is [pawl.CodeNotFound].
func (l *Log) Blob(ctx context.Context, id pawl.RunID, hash pawl.Hash) ([]byte, error) {
	p, err := l.find(ctx, id, hash)
	if err != nil {
		return nil, err
	}
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	content, err := l.content(ctx, p)
	if err != nil {
		l.foundBlob(id, hash, err)
		return nil, l.files.explain(fmt.Sprintf("read blob %s of run %s", hash, id), err)
	}
	return content, nil
}

// foundBlob quarantines a run that has ended when a blob of it was found damaged.
func (l *Log) foundBlob(id pawl.RunID, hash pawl.Hash, err error) {
	if !isDamage(err) {
		return
	}
	l.mu.Lock()
	r := l.index.byID[id]
	ended := r != nil && !r.lasts && decodeLine(r.id, r.info).Status == pawl.StatusEnded
	l.mu.Unlock()
	if ended {
		l.quarantine(id, fmt.Errorf("blob %s: %w", hash, say(err)), true)
	}
}

// content reads a blob whose place is known.
func (l *Log) content(ctx context.Context, p place) ([]byte, error) {
	stored, err := l.stored(ctx, p)
	if err != nil {
		return nil, err
	}
	content, err := l.pack.unpack(p.ref, stored)
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeDamaged, "%w", err)
	}
	return content, nil
}

// find says where a blob is, searching the units that were not looked at yet.
func (l *Log) find(ctx context.Context, id pawl.RunID, hash pawl.Hash) (place, error) {
	if _, err := l.snapshot(ctx, id); err != nil {
		return place{}, err
	}
	if p, ok := l.known(id, hash); ok {
		return p, nil
	}
	err := l.indexBlobs(ctx, id)
	// Damage behind the blob does not matter.
	if p, ok := l.known(id, hash); ok {
		return p, nil
	}
	if err != nil {
		return place{}, err
	}
	return place{}, pawl.Errorf(pawl.CodeNotFound, "run %s has no blob %s", id, hash)
}

// known says where a blob is as far as units were looked at. An unknown run has none.
func (l *Log) known(id pawl.RunID, hash pawl.Hash) (place, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byID[id]
	if r == nil {
		return place{}, false
	}
	p, ok := r.blobs[hash]
	return p, ok
}

// indexBlobs finds the places of all of a run's blobs. An unknown run has none.
func (l *Log) indexBlobs(ctx context.Context, id pawl.RunID) error {
	l.mu.Lock()
	r := l.index.byID[id]
	if r == nil || r.indexed >= r.seq {
		l.mu.Unlock()
		return nil
	}
	from := r.indexed
	l.mu.Unlock()
	to := from
	var found []place
	err := l.walk(ctx, id, span{after: from, bare: allBare}, func(u *unit) (bool, error) {
		places, err := u.places()
		if err != nil {
			return false, pawl.Errorf(pawl.CodeDamaged, "unit %d: %w", u.id, err)
		}
		found, to = append(found, places...), u.last()
		return true, nil
	})
	l.mu.Lock()
	l.index.learn(r, found, from, to)
	l.mu.Unlock()
	return err
}

// learner learns the places of blobs from units that are read for their events. Its
// zero value learns nothing.
type learner struct {
	log       *Log
	run       *run
	first, to pawl.Seq
	found     []place
}

// learner is one for a reader of the events after a number.
func (l *Log) learner(id pawl.RunID, after pawl.Seq) *learner {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.index.byID[id]
	if r == nil || after > r.indexed || r.indexed >= r.seq || decodeLine(r.id, r.info).Status == pawl.StatusEnded {
		return &learner{}
	}
	return &learner{log: l, run: r, first: after, to: after}
}

// from learns from the next unit, up to one whose places cannot be read: whoever asks
// for a blob behind it is told.
func (b *learner) from(u *unit) {
	if b.log == nil || u.seq > b.to+1 {
		return
	}
	if places, err := u.places(); err == nil {
		b.found, b.to = append(b.found, places...), u.last()
	}
}

// end keeps what was learned.
func (b *learner) end() {
	if b.log == nil {
		return
	}
	b.log.mu.Lock()
	defer b.log.mu.Unlock()
	b.log.index.learn(b.run, b.found, b.first, b.to)
}

// stored reads the bytes that are stored of a blob.
func (l *Log) stored(ctx context.Context, p place) ([]byte, error) {
	if p.form&inFile != 0 {
		return readBlobFile(l.files, p.ref)
	}
	var stored []byte
	err := l.queries.blob.QueryRowContext(ctx, p.offset+1, p.stored, p.unit).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, pawl.Errorf(pawl.CodeDamaged, "unit %d is missing", p.unit)
	}
	return stored, err
}
