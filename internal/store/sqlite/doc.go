// Package sqlite keeps the log of many runs in one SQLite file.
//
// # Files
//
// A folder (mode 0700) with pawl.db (mode 0600), its -wal and -shm while it is
// in use, pawl.slots with the end of each run, blobs/ab/<hash>[.zst] for blobs
// above 64 KiB, and snapshots/<number> with a state of each run. Before the first
// write to a new pawl.db, its folder and every folder above are synced.
//
// # Appending
//
// A unit is one row of a table that is only appended to and has no index, its
// blobs included: two rows with the blobs in a table of their own would write
// twice as many pages. Callers encode, hash and compress; one committer
// goroutine takes every unit that waits, checks each against the end of its run
// in memory, inserts them in one transaction and answers all callers after one
// fsync (WAL, synchronous=FULL). Blobs in files are on disk, folder included,
// before their unit's transaction begins.
//
// Checkpoints run on a second connection. The committer finishes each one
// itself between two groups, because only a WAL that is copied to its last page
// starts again at its beginning, and overwriting is much cheaper than growing.
//
// # Finding
//
// Each unit points to its run's previous one. The newest unit of every run is
// kept in memory and, behind the commits, in the table heads; opening reads
// heads and then only the units after the last one that heads knows. A run
// costs what its own units cost, however many runs there are.
//
// # What is remembered
//
// The memory is a table with a full-text index, written in the transaction of
// the units it follows from. It is no part of the schema: when it is missing,
// damaged, of another version or behind, the owner makes another one from the
// units beside it (memory_2 after memory_1), when it opens the file or is asked.
// A memory that cannot be written stops no run.
//
// # After a crash
//
// What was acknowledged is in the WAL or in the file: SQLite replays the WAL
// when the file is next opened, up to the last whole transaction. A WAL that
// lost its end (which fsync excludes unless the disk lies) loses whole units
// from the end, never half of one, and nothing from before the last checkpoint.
//
// # States
//
// snapshots/N has a state of the run with the number N after one of its events, the checksum of
// the events up to it, and a list of their units. It is no part of the log: it is written beside
// the commits and not synced. Where it is damaged, missing, too large, of another program or of another
// log, the run is read as if there were none. With it no event before the state is decoded, and the
// units are found without following the chain, which took two thirds of the time. Each is checked
// as before: damage is found where it was found without a state.
//
// # Failing disks
//
// A transaction that fails is undone and each of its units is tried alone.
// After an I/O error, a failed fsync above all, the connection is closed, a new
// one is opened, and it must show everything acknowledged so far before it is
// used; whatever it shows beyond that is removed, because its callers have been
// or will be told that it failed. If the process dies before that, such a unit
// can be there at the next start, whole. A full disk fails units until there is
// space again and needs no restart.
//
// # The end of each run
//
// pawl.slots has a record for each run with the number of its newest event. It
// is written after the commit and before the callers are answered, and never
// synced: it may be behind the log and is never ahead of it. A log that has less
// than its slots say has lost its end; SQLite itself passes over a WAL from the
// first damaged frame on, as if it ended there. Whoever opens the log compares
// them, and the owner keeps a copy of the WAL beside it. A folder without slots,
// of an older Pawl, gets them when it is opened for appending.
//
// When a run comes to rest, the WAL is copied into the file and cut off: damage
// to the WAL can only take events of runs that are at work.
//
// # Damage
//
// Every unit has a checksum, a chain and gapless numbers; every blob has its
// hash. A unit that fails any of them quarantines its run, and only that; a
// reader, which cannot write that into the database, marks the run's slot. A
// damaged blob is reported when it is read, and quarantines a run that has ended.
// Being out of files, memory or disk is never taken for damage.
//
// A file that lacks pages at its end, which are not in the WAL either, can be
// read as far as it goes and is never written to: SQLite would put zeros where
// they were.
package sqlite
