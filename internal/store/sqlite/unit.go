package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"pawl"
)

// unit is one row of units without its blobs.
type unit struct {
	id    int64
	run   int64
	seq   pawl.Seq
	count int
	prev  int64
	sum   uint32
	name  string
	info  []byte
	refs  []byte
	data  []byte
	// content is the checksum of name, info, refs and data.
	content uint32
	// odd is set when a column held a value of another type.
	odd bool
}

// unitColumns are the columns of a unit in the order of [unit.fields].
const unitColumns = "id, run, seq, count, prev, sum, name, info, refs, data"

// last is the number of the unit's last event; 0 for no unit.
func (u *unit) last() pawl.Seq {
	if u.id == 0 {
		return 0
	}
	return u.seq + pawl.Seq(u.count) - 1
}

// contentSum is the first half of the checksum: what the caller knows. The
// lengths are part of it, so that bytes cannot move between columns.
func (u *unit) contentSum() uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	var length [8]byte
	for _, part := range [...][]byte{[]byte(u.name), u.info, u.refs, u.data} {
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		sum = crc32.Update(sum, table, length[:])
		sum = crc32.Update(sum, table, part)
	}
	return sum
}

// seal is the second half: where the committer puts the unit.
func (u *unit) seal() uint32 {
	var place [32]byte
	binary.LittleEndian.PutUint64(place[0:], uint64(u.run))
	binary.LittleEndian.PutUint64(place[8:], uint64(u.seq))
	binary.LittleEndian.PutUint64(place[16:], uint64(u.count))
	binary.LittleEndian.PutUint64(place[24:], uint64(u.prev))
	return crc32.Update(u.content, crc32.MakeTable(crc32.Castagnoli), place[:])
}

// intact reports whether the unit is what was written.
func (u *unit) intact() bool { return !u.odd && u.count > 0 && u.seal() == u.sum }

// appendEvents appends each event's length and stored form.
func appendEvents(data []byte, events []pawl.Event) []byte {
	var form []byte
	for _, e := range events {
		form = pawl.AppendEvent(form[:0], e)
		data = binary.AppendUvarint(data, uint64(len(form)))
		data = append(data, form...)
	}
	return data
}

// events decodes the unit's events after a number, calling yield for each. It
// reports whether yield wants more.
func (u *unit) events(id pawl.RunID, after pawl.Seq, yield func(pawl.Event) bool) (more bool, err error) {
	rest := u.data
	for i := range u.count {
		seq := u.seq + pawl.Seq(i)
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return false, pawl.Errorf(pawl.CodeDamaged, "event %d of run %s: cut short", seq, id)
		}
		form := rest[n : n+int(size)]
		rest = rest[n+int(size):]
		if seq <= after {
			continue
		}
		e, err := pawl.DecodeEvent(id, seq, form)
		if err != nil {
			return false, err
		}
		if !yield(e) {
			return false, nil
		}
	}
	if len(rest) > 0 {
		return false, pawl.Errorf(pawl.CodeDamaged, "run %s: %d bytes left over after event %d", id, len(rest), u.last())
	}
	return true, nil
}
