package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Reader reads a store for Check. It never writes and refuses commits. Another process may have the store open. Reader
// implements Store.
type Reader struct {
	path   string
	db     *sql.DB
	unlock func()
	log    error // damage of the log; checked only if no other process has the store open
	schema error // damage of the schema
}

var _ Store = (*Reader)(nil)

// Report describes the contents of a store and their damage.
type Report struct {
	Summary
	Broken []string // damage of the file found by SQLite, and damage of the log
}

const brokenMax = 20

// OpenReader opens the store at a path. It returns an error if the file is not a store.
func OpenReader(path string) (r *Reader, err error) {
	defer about("store", &err)
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := identify(path); err != nil {
		return nil, err
	}
	r = &Reader{path: path, unlock: func() {}}
	query := "mode=ro&_pragma=busy_timeout(5000)&_pragma=cell_size_check(1)"
	switch _, err := os.Stat(path + logSuffix); {
	case errors.Is(err, fs.ErrNotExist):
		query += "&immutable=1" // otherwise SQLite would create a log
	case err != nil:
		return nil, err
	default:
		if unlock, err := lock(path + lockSuffix); err == nil { // the log of an open store changes, so it is not checked
			r.unlock, r.log = unlock, checkLog(path+logSuffix)
		} else if !errors.Is(err, errLocked) {
			return nil, err
		}
	}
	if r.db, err = sql.Open("sqlite", fileURL(path, query)); err == nil {
		if r.schema = checkSchema(r.db); errors.Is(r.schema, errForeign) {
			err = errors.Join(fmt.Errorf("%s: %w", path, r.schema), r.db.Close())
		}
	}
	if err != nil {
		r.unlock()
		return nil, err
	}
	return r, nil
}

// Check reads the whole store. It reports damage in the Report, not as an error.
func (r *Reader) Check(ctx context.Context) (*Report, error) {
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	report := &Report{Summary: Summary{Records: make(map[Kind]int), Bytes: info.Size()}}
	broken := func(err error) {
		if err != nil {
			report.Broken = append(report.Broken, err.Error())
		}
	}
	broken(r.log)
	broken(r.schema)
	found, err := quickCheck(ctx, r.db, brokenMax)
	report.Broken = append(report.Broken, found...)
	broken(err)
	report.Version, err = version(r.db)
	broken(err)
	for _, err := range report.count(ctx, r.db, r.path) {
		broken(err)
	}
	return report, ctx.Err()
}

// quickCheck returns the faults that SQLite finds in a file. most limits their number.
func quickCheck(ctx context.Context, db *sql.DB, most int) (found []string, err error) {
	err = eachRow(ctx, db, fmt.Sprintf("PRAGMA quick_check(%d)", most), func(rows *sql.Rows) error {
		var result string
		err := rows.Scan(&result)
		if err == nil && result != "ok" {
			found = append(found, result)
		}
		return err
	})
	return found, err
}

// Load implements Store.
func (r *Reader) Load(kind Kind, f func(id string, value []byte) error) ([]Damage, error) {
	return load(context.Background(), r.db, r.path, kind, f)
}

// Commit implements Store. It always refuses.
func (r *Reader) Commit(_ []Change, done func(error)) {
	if done != nil {
		done(ErrClosed)
	}
}

// Flush implements Store.
func (r *Reader) Flush() {}

// Close implements Store.
func (r *Reader) Close() error {
	defer r.unlock()
	return r.db.Close()
}
