package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"pawl"
)

// schemaVersion is that of the newest file in migrations.
const schemaVersion = 3

// oldestReadable is the oldest schema whose units can be read without a migration. From
// memorySchema on a file has a memory, from deletedSchema on it has tombstones.
const (
	oldestReadable = 1
	memorySchema   = 2
	deletedSchema  = 3
)

//go:embed migrations/*.sql
var migrations embed.FS

// connect describes connections to the database, mode "rw" or "ro", with these
// pragmas. A connection is made when it is first used. The page size stays at
// SQLite's 4 KiB: larger pages write more for each small commit and gain nothing
// for large ones.
func (f fileSystem) connect(mode string, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"mode": {mode}, "_pragma": append(pragmas, "busy_timeout(5000)", "temp_store(memory)")}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(f.path(fileName)), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", fileName, err)
	}
	return db, nil
}

// schema is the version of the file's schema, 0 when it is new. It writes
// nothing. Each step of the migrations sets user_version beside goose's own
// record, because it is in the file's header: an older Pawl can ask for it
// without knowing any table, and no page but the first can lose it.
//
// A file that waits for a rollback is new as well: it has a rollback journal
// only until it is switched to WAL mode, before the first migration.
func (l *Log) schema(ctx context.Context) (version int64, err error) {
	db, err := l.files.connect("ro")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK {
		return 0, nil
	}
	if err != nil {
		return 0, l.files.explain("read the schema of "+l.files.path(fileName), err)
	}
	return version, nil
}

func (l *Log) tooNew(version int64) error {
	return pawl.Errorf(pawl.CodeState, "%s has schema %d; this pawl knows schemas up to %d",
		l.files.path(fileName), version, schemaVersion).WithHint("a newer pawl wrote it: use that one")
}

// migrate brings the schema to the version of this Pawl, each step in a
// transaction. It takes 5 ms for a new file.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, steps,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}
