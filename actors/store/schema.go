package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite" // registers itself as the driver
)

// appID is the application id in the header of the database file. It marks the file as a store of this program
// ("TRPE").
const appID = 0x54525045

const (
	logSuffix  = "-wal"
	lockSuffix = ".lock"
	tempSuffix = ".part"
)

// versionsTable creates the only table that a new store has before its first migration.
const versionsTable = `CREATE TABLE versions (version INTEGER PRIMARY KEY, at TEXT NOT NULL) STRICT`

// migrations create the schema. The first migration leads to version 1, and so on. A released migration must never be
// changed; new ones are appended.
var migrations = []string{
	// The checksum covers kind, id and value, because SQLite does not detect a changed value.
	`CREATE TABLE records (kind TEXT NOT NULL, id TEXT NOT NULL, value BLOB NOT NULL, sum INTEGER NOT NULL,
		PRIMARY KEY (kind, id)) WITHOUT ROWID, STRICT`,
}

const (
	putRecord    = `INSERT INTO records (kind, id, value, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, sum = excluded.sum`
	deleteRecord = `DELETE FROM records WHERE kind = ? AND id = ?`
	someRecords  = `SELECT id, value, sum FROM records WHERE kind = ? ORDER BY id`
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(kind Kind, id string, value []byte) int64 {
	var lengths [8]byte
	binary.LittleEndian.PutUint32(lengths[:4], uint32(len(kind)))
	binary.LittleEndian.PutUint32(lengths[4:], uint32(len(id)))
	n := crc32.Update(0, castagnoli, lengths[:])
	n = crc32.Update(n, castagnoli, []byte(kind))
	n = crc32.Update(n, castagnoli, []byte(id))
	return int64(crc32.Update(n, castagnoli, value))
}

// identify returns an error if a file is not a store. It only reads the file and is called before anything else, so
// that a mistyped path does not damage a file.
func identify(path string) error {
	if err := isFile(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var header [100]byte // sqlite.org/fileformat2.html#the_database_header
	switch _, err := io.ReadFull(f, header[:]); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the file is empty, which a store never is: restore a backup, or remove the file to start anew", path)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case string(header[:16]) != "SQLite format 3\x00":
		return fmt.Errorf("%s: is no store, or damaged: the file is not a database; restore a backup", path)
	case binary.BigEndian.Uint32(header[68:]) != appID:
		return fmt.Errorf("%s: is a database, but no store of this program", path)
	}
	return nil
}

func isFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file that could be a store", path)
	}
	return nil
}

// claim creates the folder of a path and locks the store for this process. It first calls check and returns its error,
// except for fs.ErrNotExist.
func claim(path string, check func(path string) error) (abs string, unlock func(), err error) {
	if path == "" {
		return "", nil, errors.New("store: no path")
	}
	if abs, err = filepath.Abs(path); err == nil {
		if err = check(abs); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(filepath.Dir(abs), 0o700)
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("store: %w", err)
	}
	if unlock, err = lock(abs + lockSuffix); err != nil {
		return "", nil, fmt.Errorf("store: %s: %w", abs, err)
	}
	return abs, unlock, nil
}

// openFile opens the database at a path that has been claimed. It creates the database if it does not exist, checks it,
// and migrates it to the newest version.
func openFile(path string) (*sql.DB, error) {
	switch err := identify(path); {
	case errors.Is(err, fs.ErrNotExist):
		if err := create(path); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := checkLog(path + logSuffix); err != nil {
		return nil, err
	}
	db, err := connect(path)
	if err == nil {
		if err = check(db); err == nil {
			err = migrate(db, migrations)
		}
		if err == nil {
			return db, nil
		}
		db.Close()
	}
	return nil, fmt.Errorf("store: %s: %w", path, explain(err))
}

// create creates an empty store under a temporary name and then renames it, so that an incomplete store is never
// visible under the name path.
func create(path string) (err error) {
	defer about("store: make "+path, &err)
	if _, err := os.Stat(path + logSuffix); err == nil {
		return fmt.Errorf("its log %s is there, and it is not: restore a backup, or remove the log to start anew", path+logSuffix)
	}
	return replace(path, func(temp string) error {
		if err := writeNew(temp, strings.NewReader("")); err != nil {
			return err
		}
		db, err := connect(temp)
		if err != nil {
			return err
		}
		_, err = db.Exec(fmt.Sprintf("PRAGMA application_id = %d; ", appID) + versionsTable)
		if err == nil {
			err = migrate(db, migrations)
		}
		return errors.Join(err, db.Close())
	})
}

// about prefixes an error with what. It must be deferred.
func about(what string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// writeNew copies in to a new file that only its owner can read.
func writeNew(path string, in io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// replace durably replaces the store at path. finish writes the new store to a temporary file. No other file is left.
func replace(path string, finish func(temp string) error) (err error) {
	temp := path + tempSuffix
	if err := removeStore(temp); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeStore(temp)) }()
	if err := finish(temp); err != nil {
		return err
	}
	f, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// removeStore removes a database that is not in use, including its log and journal.
func removeStore(path string) error {
	for _, suffix := range []string{logSuffix, "-shm", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// connect returns a connection pool for an existing database file. The file is opened at the first use.
func connect(path string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)",
		"wal_autocheckpoint(0)", "journal_size_limit(16777216)", "cell_size_check(1)", "trusted_schema(0)", "cache_size(-8192)",
	}}
	return sql.Open("sqlite", fileURL(path, query.Encode()))
}

// fileURL returns the driver's URL for an absolute file path.
func fileURL(path, query string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // the path starts with a drive letter
	}
	return "file://" + (&url.URL{Path: slashed}).EscapedPath() + "?" + query
}

// explain adds an explanation to SQLite errors that indicate damage.
func explain(err error) error {
	const corrupt, notDB = 11, 26
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff { // the primary result code
		case corrupt:
			return fmt.Errorf("%w: %w; restore a backup, or see troupe store check and troupe serve --skip-damaged", errBroken, err)
		case notDB:
			return fmt.Errorf("is no store, or damaged: %w; restore a backup", err)
		}
	}
	return err
}

// check returns an error if a database is not a store or is damaged, or if its file system does not support SQLite's
// write-ahead log.
func check(db *sql.DB) error {
	if err := checkContent(db); err != nil {
		return err
	}
	var mode string
	var page int64
	if err := errors.Join(db.QueryRow("PRAGMA journal_mode").Scan(&mode), db.QueryRow("PRAGMA page_size").Scan(&page)); err != nil {
		return err
	}
	if mode != "wal" || page != pageSize {
		return fmt.Errorf("has journal mode %s and pages of %d bytes, and must have wal and %d: is the file system a local one?", mode, page, pageSize)
	}
	return nil
}

func checkContent(db *sql.DB) error {
	var id int64
	if err := db.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if id != appID {
		return errors.New("is a database, but no store of this program")
	}
	if err := checkSchema(db); err != nil {
		return err
	}
	found, err := quickCheck(context.Background(), db, 1)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%w: %s; restore a backup, or see troupe store check and troupe serve --skip-damaged", errBroken, strings.ReplaceAll(found[0], "\n", " "))
	}
	return err
}

func version(db *sql.DB) (n int, err error) {
	err = db.QueryRow("SELECT coalesce(max(version), 0) FROM versions").Scan(&n)
	return n, err
}

// checkVersion returns an error if this program does not know the schema version.
func checkVersion(have, newest int) error {
	if have > newest {
		return fmt.Errorf("has schema version %d, and this program knows none above %d: use a newer one", have, newest)
	}
	return nil
}

// migrate migrates the schema to the version of the last step. Each step is a separate transaction.
func migrate(db *sql.DB, steps []string) error {
	have, err := version(db)
	if err != nil {
		return err
	}
	if err := checkVersion(have, len(steps)); err != nil {
		return err
	}
	for n := have + 1; n <= len(steps); n++ {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		_, err = tx.Exec(steps[n-1])
		if err == nil {
			_, err = tx.Exec("INSERT INTO versions (version, at) VALUES (?, strftime('%Y-%m-%dT%H:%M:%SZ'))", n)
		}
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("schema version %d: %w", n, err), tx.Rollback())
		}
	}
	return nil
}

// eachRow calls f with each row of a query's result and stops at the first error.
func eachRow(ctx context.Context, db *sql.DB, query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// load calls f with each intact record of a kind and returns the damaged records.
func load(ctx context.Context, db *sql.DB, path string, kind Kind, f func(id string, value []byte) error) (damaged []Damage, err error) {
	var refused error // error returned by f
	err = eachRow(ctx, db, someRecords, func(rows *sql.Rows) error {
		var id string
		var value sql.RawBytes
		var want int64
		if err := rows.Scan(&id, &value, &want); err != nil {
			return err
		}
		if sum(kind, id, value) != want {
			damaged = append(damaged, Damage{kind, id, ErrChanged})
			return nil
		}
		refused = f(id, value)
		return refused
	}, string(kind))
	switch {
	case refused != nil:
		return nil, refused
	case err != nil:
		return nil, fmt.Errorf("store: %s: %w", path, explain(err))
	}
	return damaged, nil
}
