package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"pawl"
)

// slotsName is the file that tells where each run ended when it was last appended to.
const slotsName = "pawl.slots"

// A record of the file is at the number of its run. Records of this size do not cross the
// sectors of a disk, so that a power cut leaves the old one or the new one.
const (
	slotSize = 128
	slotName = slotSize - 14 // the longest name that fits; a longer one is cut
	slotMark = 1             // the flag of a run whose data was found damaged when it was read
)

// slot says of a run what must be in the log. It is written after the commit that it tells of,
// and never synced: it may be behind the log, and is never ahead of it.
type slot struct {
	num    int64
	id     pawl.RunID
	seq    pawl.Seq // of the newest event
	marked bool
}

// encode returns the record: the event, the flags, the name and a checksum that the run's
// number is part of.
func (s slot) encode() []byte {
	record := make([]byte, slotSize)
	binary.LittleEndian.PutUint64(record, uint64(s.seq))
	if s.marked {
		record[8] = slotMark
	}
	record[9] = byte(copy(record[10:10+slotName], s.id))
	binary.LittleEndian.PutUint32(record[slotSize-4:], slotSum(s.num, record))
	return record
}

func slotSum(num int64, record []byte) uint32 {
	place := binary.LittleEndian.AppendUint64(nil, uint64(num))
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(place, table), table, record[:slotSize-4])
}

// decodeSlot reads the record of a run. A record of zeros is of no run that was appended to,
// and has no name.
func decodeSlot(num int64, record []byte) (s slot, ok bool) {
	if [slotSize]byte(record) == [slotSize]byte{} {
		return slot{num: num}, true
	}
	size := int(record[9])
	if size > slotName || record[8] > slotMark || binary.LittleEndian.Uint32(record[slotSize-4:]) != slotSum(num, record) {
		return slot{num: num}, false
	}
	return slot{num: num, id: pawl.RunID(record[10 : 10+size]), seq: pawl.Seq(binary.LittleEndian.Uint64(record)), marked: record[8] == slotMark}, true
}

// readSlots reads the file; a folder that never had one has no slots. damaged are the numbers
// of the runs whose slots cannot be read: nothing is known of where these runs ended.
func (f fileSystem) readSlots() (slots []slot, damaged []int64, err error) {
	data, err := os.ReadFile(f.path(slotsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for at := 0; at < len(data); at += slotSize {
		num := int64(at/slotSize) + 1
		if at+slotSize > len(data) { // cut off
			damaged = append(damaged, num)
			break
		}
		switch s, ok := decodeSlot(num, data[at:at+slotSize]); {
		case !ok:
			damaged = append(damaged, num)
		case s.id != "":
			slots = append(slots, s)
		}
	}
	return slots, damaged, nil
}

// writeSlots writes records into the file, making it when it is not there, and clears those
// of erased runs.
func (f fileSystem) writeSlots(slots []slot, erased ...int64) (err error) {
	file, err := os.OpenFile(f.path(slotsName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, num := range erased {
		if err := clearSlot(file, num); err != nil {
			return err
		}
	}
	return writeSlots(file, slots)
}

// clearSlot makes the slot of an erased run that of no run.
func clearSlot(to io.WriterAt, num int64) error {
	if _, err := to.WriteAt(make([]byte, slotSize), (num-1)*slotSize); err != nil {
		return fmt.Errorf("clear the slot of an erased run: %w", err)
	}
	return nil
}

func writeSlots(to io.WriterAt, slots []slot) error {
	for _, s := range slots {
		if _, err := to.WriteAt(s.encode(), (s.num-1)*slotSize); err != nil {
			return fmt.Errorf("write the slot of run %s: %w", s.id, err)
		}
	}
	return nil
}

// compare quarantines the runs of the index that have less than their slots say. It reports
// how many of them nobody knew of, and returns the runs whose slots must be written: those that have none,
// a damaged one, or one that is behind. Slots are read before the log is scanned, as another
// process may append meanwhile.
func (x *index) compare(slots []slot) (lost int, stale []slot) {
	known := make(map[int64]slot, len(slots))
	for _, s := range slots {
		known[s.num] = s
		r := x.byNum[s.num]
		if r == nil {
			r = &run{id: s.id, num: s.num}
			x.insert(r)
		}
		x.rename(r, s.id)
		r.told = s.seq
		switch {
		case r.seq < s.seq:
			if !r.lasts { // or it is known
				lost++
			}
			r.isolate(counted(r.seq, s.seq) + ": the others are lost")
		case s.marked:
			r.isolate("it was found damaged when it was read")
		}
	}
	for _, r := range x.order {
		if s, ok := known[r.num]; !r.lasts && (!ok || s.seq < r.seq) {
			stale = append(stale, slot{r.num, r.id, r.seq, s.marked})
		}
	}
	return lost, stale
}

// lostWhole is the error of a folder whose database has no runs and should have some.
func (f fileSystem) lostWhole(slots []slot) error {
	if len(slots) == 0 {
		return nil
	}
	return pawl.Errorf(pawl.CodeDamaged, "%s has lost all that was stored in it: %s", f.path(fileName), names(slots)).
		WithHint("put back a copy of the folder; the branches of the runs are not affected. pawl run starts a new log and keeps what is left of the old one")
}

// unreadable is the error of a folder whose database cannot be read at all.
func (f fileSystem) unreadable(slots []slot, err error) error {
	if !isDamage(err) {
		return err
	}
	if len(slots) == 0 {
		return pawl.Errorf(pawl.CodeDamaged, "%w", err).WithHint("%s", f.anew())
	}
	return pawl.Errorf(pawl.CodeDamaged, "%w. In it were %s", err, names(slots)).WithHint("%s", f.anew())
}

// anew is what to do about a database that is damaged beyond single runs.
func (f fileSystem) anew() string {
	return fmt.Sprintf("pawl doctor says what is left. Put back a copy of the folder, or start over: move %s away. Commits are on the branches of the runs", f.dir)
}

// names lists the first few runs, each with the number of its events.
func names(slots []slot) string {
	out := ""
	for i, s := range slots {
		if i == 3 {
			out += fmt.Sprintf(" and %d more", len(slots)-i)
			break
		}
		out += fmt.Sprintf(", run %s of %d events", s.id, s.seq)
	}
	return out[2:]
}

// setAside keeps a copy of the WAL of a damaged log, which the next commit may overwrite.
func (f fileSystem) setAside() error {
	data, err := os.ReadFile(f.path(fileName + "-wal"))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(data) == 0 {
		return nil // there is nothing to keep
	}
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		file, err := os.OpenFile(fmt.Sprintf("%s.%d", f.path(fileName+"-wal.damaged"), n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return errors.Join(err, file.Sync(), file.Close())
	}
}

// mark lets everybody know of a run that was found damaged when it was read. Whoever reads
// cannot write it into the database.
func (f fileSystem) mark(r run) error {
	slots, _, err := f.readSlots()
	if err != nil {
		return err
	}
	s := slot{r.num, r.id, r.seq, true}
	for _, known := range slots {
		if known.num == r.num {
			s.seq = max(s.seq, known.seq)
		}
	}
	return f.writeSlots([]slot{s})
}

// Problems tells what is wrong with the log's own files and is no damage of a run that is known.
func (l *Log) Problems() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.problems)
}

// heed compares the runs with their slots, and makes the slots anew that are out of date when
// the log is open for appending.
func (l *Log) heed(slots []slot, damaged []int64) error {
	var cleared []int64
	_, erased := l.index.buried()
	slots = slices.DeleteFunc(slots, func(s slot) bool {
		if erased[s.num] {
			cleared = append(cleared, s.num)
		}
		return erased[s.num]
	})
	lost, stale := l.index.compare(slots)
	for _, num := range damaged {
		name := fmt.Sprintf("number %d", num)
		if r := l.index.byNum[num]; r != nil {
			name = string(r.id)
		}
		l.problems = append(l.problems, fmt.Sprintf("the record of run %s in %s is damaged: whether the log has its end is not known", name, slotsName))
	}
	if l.readOnly {
		return nil
	}
	if lost > 0 {
		if err := l.files.setAside(); err != nil {
			return fmt.Errorf("keep a copy of a damaged WAL: %w", err)
		}
	}
	return l.files.writeSlots(stale, cleared...)
}
