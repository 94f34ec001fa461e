package sqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pawl"
)

// run is what is known of a run without reading its units.
type run struct {
	id   pawl.RunID
	num  int64
	head int64    // the id of its newest unit
	seq  pawl.Seq // the number of its newest event
	info []byte   // its line as JSON; nil when it has none
	// quarantine is why the run is quarantined; empty when it is not. It lasts
	// when the file is damaged; when only this Pawl cannot read the run, because
	// a newer one wrote it, the next Open looks again.
	quarantine string
	lasts      bool
	told       pawl.Seq // the number of its newest event as its slot says; 0 = it has none
	behind     bool     // its row in heads is out of date

	line *pawl.RunInfo // info, decoded when it is first listed; never changed
	json []byte        // line as JSON, which is info unless another version of Pawl wrote that

	// blobs are those of the events up to indexed.
	blobs   map[pawl.Hash]place
	indexed pawl.Seq
}

// index holds every run of the log. Its user provides the locking.
type index struct {
	byID  map[pawl.RunID]*run
	byNum map[int64]*run
	order []*run // oldest first
	last  int64  // the newest unit
	// flushed is the newest unit that heads knew when the log was opened.
	flushed int64
	next    int64 // the number of the next run
	hole    int64 // the first unit of the last hole that the present scan met; 0 = none
	// indexed counts the blobs in all runs' maps.
	indexed int
	// stones are the tombstones of deleted runs. Those of runs that are not erased are
	// among the runs above, too.
	stones map[pawl.RunID]*stone
}

func newIndex() *index {
	return &index{byID: map[pawl.RunID]*run{}, byNum: map[int64]*run{}, next: 1, stones: map[pawl.RunID]*stone{}}
}

// maxRunNumber is above every number that is given; a larger one is damage.
const maxRunNumber = 1 << 40

func (x *index) insert(r *run) {
	if x.byID[r.id] != nil {
		r.quarantine = fmt.Sprintf("a second run is called %s", r.id)
		r.id = pawl.RunID(fmt.Sprintf("%s#%d", r.id, r.num))
	}
	x.byID[r.id], x.byNum[r.num] = r, r
	x.order = append(x.order, r)
	if r.num < maxRunNumber {
		x.next = max(x.next, r.num+1)
	}
}

// scanned takes in a unit that was found after the last one that is known. A
// unit that does not fit quarantines the run that it belongs to.
func (x *index) scanned(u *unit) {
	x.last = u.id
	if !u.intact() {
		x.scannedDamaged(u)
		return
	}
	r := x.byNum[u.run]
	switch {
	case r == nil && u.prev == 0 && u.seq == 1:
		r = &run{id: pawl.RunID(u.name), num: u.run}
		x.insert(r)
	case r == nil:
		r = x.nameless(u)
		r.isolate("the unit with its first events is missing")
	case u.prev != r.head || u.seq != r.seq+1:
		r.isolate(fmt.Sprintf("unit %d does not follow unit %d: one between them is missing or damaged", u.id, r.head))
	}
	x.advance(r, u)
}

// scannedDamaged takes in a damaged unit and quarantines its run.
func (x *index) scannedDamaged(u *unit) {
	owner := x.ownerOf(u)
	if owner == nil {
		owner = x.nameless(u)
	}
	owner.isolate(fmt.Sprintf("unit %d is damaged", u.id))
	owner.head, owner.behind = u.id, true
}

// ownerOf is the run of a damaged unit. If only its place is damaged, the
// checksum tells its place: the one with which it is right. If its place is not
// damaged, that says it. The result is nil when the run's name is lost.
func (x *index) ownerOf(u *unit) *run {
	at := func(num, prev int64, seq pawl.Seq) bool {
		v := unit{run: num, prev: prev, seq: seq, count: u.count, content: u.content}
		return v.seal() == u.sum
	}
	for _, r := range x.order {
		if at(r.num, r.head, r.seq+1) {
			return r
		}
	}
	for _, num := range []int64{u.run, x.next} {
		if x.byNum[num] == nil && at(num, 0, 1) {
			r := &run{id: pawl.RunID(u.name), num: num}
			x.insert(r)
			return r
		}
	}
	return x.byNum[u.run]
}

// nameless adds the run of a unit whose name is lost.
func (x *index) nameless(u *unit) *run {
	r := &run{id: pawl.RunID(fmt.Sprintf("%s%d", namelessPrefix, u.id)), num: u.run}
	x.insert(r)
	return r
}

const namelessPrefix = "damaged-"

// rename gives a run whose name is lost the one that its slot has.
func (x *index) rename(r *run, id pawl.RunID) {
	if id == r.id || x.byID[id] != nil || !strings.HasPrefix(string(r.id), namelessPrefix) {
		return
	}
	delete(x.byID, r.id)
	r.id, r.line, r.json, r.behind = id, nil, nil, true
	x.byID[id] = r
}

// pass passes over units that cannot be read, from first up to next; 0 = to the
// end of the file.
func (x *index) pass(first, next int64) {
	x.hole = first
	if next > 0 {
		x.last = next - 1
	}
}

// settle ends a scan. The newest events of any run that has not ended and goes
// on nowhere behind the last hole may be in it.
func (x *index) settle() {
	if x.hole == 0 {
		return
	}
	for _, r := range x.order {
		if r.head < x.hole && decodeLine(r.id, r.info).Status != pawl.StatusEnded {
			r.isolate(fmt.Sprintf("the file cannot be read at unit %d, where newer events of the run may be", x.hole))
		}
	}
	x.hole = 0
}

// advance moves a run's end to u.
func (x *index) advance(r *run, u *unit) {
	x.last = u.id
	r.head, r.seq, r.behind = u.id, u.last(), true
	if u.info != nil {
		r.info, r.line, r.json = u.info, nil, nil
	}
}

// isolate quarantines a run whose data is damaged. The first reason stands.
func (r *run) isolate(why string) {
	if !r.lasts {
		r.quarantine, r.lasts, r.behind = why, true, true
	}
}

// decodeLine reads a run's line. A line that cannot be read is no damage: it is
// a projection, and whoever made it can make it again.
func decodeLine(id pawl.RunID, info []byte) *pawl.RunInfo {
	line := &pawl.RunInfo{}
	if info != nil {
		if err := json.Unmarshal(info, line); err != nil {
			line = &pawl.RunInfo{Reason: fmt.Sprintf("its line cannot be read: %v", err)}
		}
	}
	line.ID = id
	return line
}

// lineJSON returns a line as JSON. What is stored is kept if it is the same, as it is unless
// another version of Pawl wrote it or it cannot be read.
func lineJSON(line *pawl.RunInfo, stored []byte) []byte {
	data, err := json.Marshal(line)
	if err != nil {
		return nil // whoever needs the JSON meets the error
	}
	if bytes.Equal(data, stored) {
		return stored
	}
	return data
}

// taskOf returns the task number at the beginning of a run's name, or 0 if there is none. It
// lets a run be found by its number although its line is lost.
func taskOf(id pawl.RunID) int {
	digits, _, ok := strings.Cut(string(id), "-")
	if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 {
		return n
	}
	return 0
}

// maxIndexed bounds the blobs whose places are kept in memory, about 100 bytes
// each. Above it, what is known of every other run is dropped and found again
// when it is asked for.
const maxIndexed = 1 << 20

// learn adds the places of a run's blobs in the events after from up to to.
func (x *index) learn(r *run, places []place, from, to pawl.Seq) {
	if r.blobs == nil {
		r.blobs = make(map[pawl.Hash]place, len(places))
	}
	before := len(r.blobs)
	for _, p := range places {
		if _, ok := r.blobs[p.hash]; !ok { // units that were queued together may both bring it
			r.blobs[p.hash] = p
		}
	}
	x.indexed += len(r.blobs) - before
	if from <= r.indexed {
		r.indexed = max(r.indexed, to)
	}
	if x.indexed <= maxIndexed {
		return
	}
	for _, other := range x.order {
		if other != r {
			other.blobs, other.indexed = nil, 0
		}
	}
	x.indexed = len(r.blobs)
}
