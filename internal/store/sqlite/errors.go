package sqlite

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"pawl"
)

// resultOf is SQLite's primary result code of an error; 0 when it has none.
func resultOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// explain gives an error of SQLite or of the file system its code and hint.
// Only what SQLite calls corrupt is damage.
func explain(doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		wrapped := pawl.Errorf(e.Code, "%s: %w", doing, err)
		wrapped.Hint = e.Hint
		return wrapped
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if errno == syscall.ENOSPC || errno == syscall.EDQUOT {
			return fullDisk(doing, err)
		}
		return denied(doing, err)
	}
	switch resultOf(err) {
	case sqlite3.SQLITE_FULL:
		return fullDisk(doing, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return pawl.Errorf(pawl.CodeDamaged, "%s: %w", doing, err).
			WithHint("keep a copy of %s and of its -wal, then try: sqlite3 %s .recover", fileName, fileName)
	case sqlite3.SQLITE_IOERR:
		return pawl.Errorf(pawl.CodeUnavailable, "%s: %w", doing, err).
			WithHint("check the disk; nothing that was acknowledged is lost")
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return pawl.Errorf(pawl.CodeUnavailable, "%s: %w", doing, err).
			WithHint("another program holds %s locked; end it", fileName)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY:
		return denied(doing, err)
	case sqlite3.SQLITE_INTERRUPT: // only a context that ended interrupts
		return fmt.Errorf("%s: %w", doing, context.Canceled)
	case sqlite3.SQLITE_TOOBIG:
		return pawl.Errorf(pawl.CodeInvalid, "%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func fullDisk(doing string, err error) error {
	return pawl.Errorf(pawl.CodeUnavailable, "%s: %w", doing, err).
		WithHint("free disk space; nothing that was acknowledged is lost")
}

func denied(doing string, err error) error {
	return pawl.Errorf(pawl.CodeUnavailable, "%s: %w", doing, err).
		WithHint("check the disk, the owner and mode of the folder, and the limits on open files and memory")
}

// spoiled reports whether a connection that returned err must not be used again.
func spoiled(err error) bool {
	switch resultOf(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_BUSY:
		return false
	}
	return true
}

func isDamage(err error) bool {
	if e, ok := errors.AsType[*pawl.Error](err); ok {
		return e.Code == pawl.CodeDamaged
	}
	switch resultOf(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}
