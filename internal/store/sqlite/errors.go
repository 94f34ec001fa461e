package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
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

// inWords is an error of SQLite with a plain message in place of SQLite's own. It unwraps to
// the original error.
type inWords struct {
	says string
	err  error
}

func (e *inWords) Error() string { return e.says }
func (e *inWords) Unwrap() error { return e.err }

// words returns a plain message for a result code of SQLite, or "" if there is none.
func words(code int) string {
	switch code {
	case sqlite3.SQLITE_CORRUPT:
		return "the database is damaged"
	case sqlite3.SQLITE_NOTADB:
		return "the file is not a database, or its beginning is damaged"
	case sqlite3.SQLITE_FULL:
		return "the disk is full"
	case sqlite3.SQLITE_IOERR:
		return "the disk cannot be read or written"
	case sqlite3.SQLITE_CANTOPEN:
		return "the file cannot be opened"
	case sqlite3.SQLITE_READONLY:
		return "the file cannot be written"
	case sqlite3.SQLITE_PERM:
		return "the file may not be opened"
	case sqlite3.SQLITE_NOMEM:
		return "there is not enough memory"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return "another program has locked it"
	}
	return ""
}

// say replaces the message of SQLite in an error with a plain one, if there is one.
func say(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	if _, said := errors.AsType[*inWords](err); said {
		return err
	}
	text := words(resultOf(err))
	if text == "" {
		return err
	}
	return &inWords{strings.Replace(err.Error(), e.Error(), text, 1), err}
}

// explain gives an error of SQLite or of the file system its code and hint.
// Only what SQLite calls corrupt is damage.
func explain(doing string, err error) error {
	err = say(err)
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

// lowSpace is so little that SQLite's other errors, such as that it cannot make its -shm,
// come from it.
const lowSpace = 64 << 10

// explain is [explain] for an error of the disk: with the folder, what is missing there and
// what to do.
func (f fileSystem) explain(doing string, err error) error {
	err = say(err)
	if _, ok := errors.AsType[*pawl.Error](err); ok || errors.Is(err, fs.ErrNotExist) {
		return explain(doing, err)
	}
	code := resultOf(err)
	full := code == sqlite3.SQLITE_FULL || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	denied := code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_PERM || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
	fails := code == sqlite3.SQLITE_IOERR || errors.Is(err, syscall.EIO)
	free, known := FreeSpace(f.dir)
	switch {
	case full, known && free < lowSpace && (fails || code == sqlite3.SQLITE_CANTOPEN):
		has := ""
		if known {
			has = fmt.Sprintf(", which has %s free", free)
		}
		return pawl.Errorf(pawl.CodeUnavailable, "%s: there is no space in %s%s: %w", doing, f.dir, has, err).
			WithHint("free disk space there; runs that wait for it continue by themselves, and nothing that was acknowledged is lost")
	case denied, code == sqlite3.SQLITE_CANTOPEN && !writable(f.dir):
		return pawl.Errorf(pawl.CodeUnavailable, "%s: %s cannot be written, which reading it needs as well: %w", doing, f.dir, err).
			WithHint("look at its owner, its mode and whether its file system is mounted for reading only; " +
				"runs that wait for it continue by themselves, and nothing that was acknowledged is lost")
	case fails:
		return pawl.Errorf(pawl.CodeUnavailable, "%s: the disk of %s fails: %w", doing, f.dir, err).
			WithHint("check the disk; runs that wait for it continue by themselves, and nothing that was acknowledged is lost")
	}
	return explain(doing, err)
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
