// Package store holds what the logs below it have in common. The contract is
// [pawl.Log]; sqlite keeps a log in a file and mem in memory, and storetest has
// the tests that both pass.
package store

import "pawl"

// Check refuses a unit that is not well formed, whatever the state of its run:
// one without events, or with an event or a line of another run, or with a gap
// in its numbers, or with the zero value among its blobs. The error is [pawl.CodeInvalid].
func Check(u pawl.Unit) error {
	if u.Run == "" {
		return pawl.Errorf(pawl.CodeInvalid, "append: a unit without a run")
	}
	if len(u.Events) == 0 {
		return pawl.Errorf(pawl.CodeInvalid, "append to run %s: a unit without events", u.Run)
	}
	for i, e := range u.Events {
		want := u.After + 1 + pawl.Seq(i)
		if e.Run != u.Run || e.Seq != want || e.Body == nil {
			return pawl.Errorf(pawl.CodeInvalid, "append to run %s: event %d of run %q stands where event %d of this run belongs",
				u.Run, e.Seq, e.Run, want)
		}
	}
	if u.Info != nil && u.Info.ID != u.Run {
		return pawl.Errorf(pawl.CodeInvalid, "append to run %s: the line is that of run %q", u.Run, u.Info.ID)
	}
	for i, b := range u.Blobs {
		if b.Hash() == (pawl.Hash{}) {
			return pawl.Errorf(pawl.CodeInvalid, "append to run %s: blob %d of %d was not made by NewBlob", u.Run, i+1, len(u.Blobs))
		}
	}
	return nil
}
