package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"pawl"
)

var _ pawl.Keeper = (*Log)(nil)

// keptFolder has a file for each run of which a state is kept, named by the run's number.
const keptFolder = "snapshots"

// keptVersion is the version of the files. One of another version is of no use.
const keptVersion = 1

// maxKept is the size of the largest state that is kept, and of the largest file of one, in bytes.
// A state of 500 loops takes 900 kB.
const maxKept = 64 << 20

// stateFile is the content of such a file. A checksum is at its end.
type stateFile struct {
	pawl.Kept
	run pawl.RunID
	// units are those with the events up to Seq, oldest first.
	units []int64
}

// errOther is the error of a state that does not follow from the events before it.
var errOther = pawl.Errorf(pawl.CodeConflict, "the state that is kept does not follow from the log")

// sumAfter returns the checksum of a run's events up to a unit, from that of the events before it.
func sumAfter(sum uint32, u *unit) uint32 {
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), binary.LittleEndian.AppendUint32(nil, u.sum))
}

// Keep implements [pawl.Keeper]. The file is not synced: a checksum tells whether all of it
// has reached the disk.
func (l *Log) Keep(ctx context.Context, id pawl.RunID, k pawl.Kept) error {
	doing := fmt.Sprintf("keep the state of run %s after event %d", id, k.Seq)
	if l.queue == nil {
		return pawl.Errorf(pawl.CodeState, "%s: the log is open for reading only", doing)
	}
	if len(k.State) > maxKept {
		return pawl.Errorf(pawl.CodeInvalid, "%s: it has %d bytes, and at most %d are kept", doing, len(k.State), maxKept)
	}
	s, err := l.living(ctx, id)
	if err != nil {
		return err
	}
	next, from := stateFile{Kept: k, run: id}, pawl.Seq(0)
	next.Sum = 0
	if earlier, ok := l.files.readState(s.num); ok && earlier.run == id && earlier.Seq <= k.Seq {
		next.units, next.Sum, from = earlier.units, earlier.Sum, earlier.Seq
	}
	if err = l.extend(ctx, s, from, &next); err == nil {
		err = l.files.writeState(s.num, next, l.pack)
	}
	if _, gone := l.living(ctx, id); err == nil && gone != nil { // it was deleted meanwhile
		err = l.files.dropState(s.num)
	}
	if err != nil {
		return l.files.explain(doing, err)
	}
	return nil
}

// living returns the end of a run. That the run was deleted is an error.
func (l *Log) living(ctx context.Context, id pawl.RunID) (snapshot, error) {
	s, err := l.snapshot(ctx, id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.index.stones[id] != nil {
		err = pawl.Errorf(pawl.CodeNotFound, "run %s was deleted", id)
	}
	return s, err
}

// extend adds the units up to the state's event to those with the events up to another one.
func (l *Log) extend(ctx context.Context, s snapshot, from pawl.Seq, k *stateFile) error {
	last := from
	if last == k.Seq && last > 0 {
		return nil
	}
	err := l.walkTo(ctx, s, k.run, span{after: last, bare: allBare}, func(u *unit) (bool, error) {
		last = u.last()
		if last <= k.Seq {
			k.units, k.Sum = append(k.units, u.id), sumAfter(k.Sum, u)
		}
		return last < k.Seq, nil
	})
	if err == nil && (last != k.Seq || last == 0) {
		err = pawl.Errorf(pawl.CodeInvalid, "event %d is not the last one of a unit", k.Seq)
	}
	return err
}

// Kept implements [pawl.Keeper].
func (l *Log) Kept(ctx context.Context, id pawl.RunID) (pawl.Kept, error) {
	s, err := l.snapshot(ctx, id)
	if err != nil {
		return pawl.Kept{}, err
	}
	k, ok := l.files.readState(s.num)
	if !ok || k.run != id || k.Seq > s.seq {
		return pawl.Kept{}, nil
	}
	var header zstd.Header
	if err := header.Decode(k.State); err != nil || !header.HasFCS || header.FrameContentSize > maxKept {
		return pawl.Kept{}, nil //nolint:nilerr // what cannot be read is not kept
	}
	if k.State, err = l.pack.dec.DecodeAll(k.State, nil); err != nil {
		return pawl.Kept{}, nil //nolint:nilerr // as above
	}
	return k.Kept, nil
}

// Since implements [pawl.Keeper].
func (l *Log) Since(ctx context.Context, id pawl.RunID, k pawl.Kept) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		stopped := false
		learn := l.learner(id, 0)
		defer learn.end()
		var sum uint32
		var seen pawl.Seq
		err := l.walk(ctx, id, span{bare: k.Seq}, func(u *unit) (bool, error) {
			learn.from(u)
			if u.last() <= k.Seq {
				sum, seen = sumAfter(sum, u), u.last()
				return true, nil
			}
			if seen != k.Seq || sum != k.Sum {
				return false, errOther
			}
			return u.events(id, k.Seq, func(e pawl.Event) bool {
				stopped = !yield(e, nil)
				return !stopped
			})
		})
		if err == nil && (seen != k.Seq || sum != k.Sum) {
			err = errOther
		}
		if errors.Is(err, errOther) {
			l.dropKept(id)
		}
		if err != nil && !stopped {
			yield(pawl.Event{}, err)
		}
	}
}

// dropKept removes what is kept of a run, or the next state would be kept as one that follows on it.
func (l *Log) dropKept(id pawl.RunID) {
	l.mu.Lock()
	r := l.index.byID[id]
	l.mu.Unlock()
	if r != nil && !l.readOnly {
		_ = l.files.dropState(r.num) // or the next reader does
	}
}

// keptIDs returns the ids of the run's units, oldest first: as far as they are kept, then by
// the chain. It returns nil if none are kept.
func (l *Log) keptIDs(ctx context.Context, end end, after pawl.Seq) []int64 {
	if after > 0 {
		return nil
	}
	k, ok := l.files.readState(end.num)
	if !ok || len(k.units) == 0 {
		return nil
	}
	if k.Seq == end.seq {
		return k.units
	}
	rest, oldest, err := l.listIDs(ctx, l.queries.chain, end.head, int64(k.Seq))
	if err != nil || len(rest) == 0 || oldest != k.Seq+1 {
		return nil
	}
	slices.Reverse(rest)
	return append(k.units, rest...)
}

func keptName(num int64) string { return keptFolder + "/" + strconv.FormatInt(num, 10) }

// keptSize returns the size of what is kept of a run in bytes; 0 if nothing is.
func (f fileSystem) keptSize(num int64) int64 {
	info, err := os.Lstat(f.path(keptName(num)))
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// dropState removes what is kept of a run.
func (f fileSystem) dropState(num int64) error {
	err := f.disk.RemoveAll(f.path(keptName(num)))
	if errors.Is(err, syscall.ENOTDIR) { // something else has the folder's name
		return nil
	}
	return err
}

// writeState writes what is kept of a run.
func (f fileSystem) writeState(num int64, k stateFile, p *packer) error {
	data := []byte{keptVersion}
	for _, part := range [][]byte{[]byte(k.run), []byte(k.Form), p.enc.EncodeAll(k.State, nil)} {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	data = binary.AppendUvarint(data, uint64(k.Seq))
	data = binary.LittleEndian.AppendUint32(data, k.Sum)
	last := int64(0)
	for _, id := range k.units {
		data = binary.AppendUvarint(data, uint64(id-last)) //nolint:gosec // they ascend
		last = id
	}
	data = binary.LittleEndian.AppendUint32(data, keptSum(data))
	name := f.path(keptName(num))
	for _, dir := range []string{filepath.Dir(name), f.path(tempFolder)} {
		if err := f.disk.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	temp, err := f.disk.CreateTemp(f.path(tempFolder), "")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = f.disk.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = f.disk.Remove(temp.Name())
	}
	return err
}

func keptSum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// readState reads what is kept of a run, its state still compressed. It reports false where that
// cannot be read whole.
func (f fileSystem) readState(num int64) (k stateFile, ok bool) {
	path := f.path(keptName(num))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKept {
		return stateFile{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 9 || data[0] != keptVersion {
		return stateFile{}, false
	}
	data, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if keptSum(data) != sum {
		return stateFile{}, false
	}
	r := reader{data: data[1:], ok: true}
	k.run, k.Form, k.State = pawl.RunID(r.bytes(r.number())), string(r.bytes(r.number())), r.bytes(r.number())
	k.Seq = pawl.Seq(r.number())
	if four := r.bytes(4); r.ok {
		k.Sum = binary.LittleEndian.Uint32(four)
	}
	for last := int64(0); r.ok && len(r.data) > 0; {
		last += int64(r.number()) //nolint:gosec // as writeState wrote it
		k.units = append(k.units, last)
	}
	return k, r.ok
}

// reader reads a file from its beginning. Behind its end it returns zero values, and ok is false.
type reader struct {
	data []byte
	ok   bool
}

func (r *reader) number() uint64 {
	n, width := binary.Uvarint(r.data)
	if width <= 0 {
		r.data, r.ok = nil, false
		return 0
	}
	r.data = r.data[width:]
	return n
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.data, r.ok = nil, false
		return nil
	}
	part := r.data[:n]
	r.data = r.data[n:]
	return part
}
