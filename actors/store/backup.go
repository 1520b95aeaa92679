package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReplacedSuffix, followed by a number, ends the name of a store that Restore has replaced. The store that was replaced
// last has the highest number.
const ReplacedSuffix = ".replaced."

// Summary describes a checked backup.
type Summary struct {
	Version  int          // version of the schema
	Records  map[Kind]int // number of records of each kind
	Bytes    int64        // size of the file
	Damaged  []Damage     // damaged records in the backup, which were already damaged in the store
	Replaced string       // new name of the previous store, to which Restore has renamed it; empty if there was none
}

// Backup writes a copy of the store at path to a new file, which must not exist. The copy is a consistent snapshot.
// Backup then checks the copy: Summary.Damaged lists the records that are damaged in the store and thus in the copy.
// Another process may have the store open and may write to it. The copy has a temporary name until it is complete and
// checked. If the context is cancelled, no file is left.
func Backup(ctx context.Context, path, to string) (sum Summary, err error) {
	defer about("store: backup", &err)
	if path, err = filepath.Abs(path); err != nil {
		return sum, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return sum, err
	}
	if err := identify(path); err != nil {
		return sum, err
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return sum, fmt.Errorf("%s is there already", to)
	}
	err = replace(to, func(temp string) (err error) {
		if err := snapshot(ctx, path, temp); err != nil {
			return fmt.Errorf("%s: %w", path, explain(err))
		}
		sum, err = verify(ctx, temp)
		return err
	})
	return sum, err
}

// snapshot writes the contents of a store to a single file without a log.
func snapshot(ctx context.Context, path, to string) error {
	// Check the log only if no other process has the store open. The log of an open store was checked when the store
	// was opened, and it changes while it is being read.
	switch unlock, err := lock(path + lockSuffix); {
	case err == nil:
		defer unlock()
		if err := checkLog(path + logSuffix); err != nil {
			return err
		}
	case !errors.Is(err, errLocked):
		return err
	}
	if err := writeNew(to, strings.NewReader("")); err != nil { // with permissions that SQLite would not set
		return err
	}
	db, err := connect(path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := check(db); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// verify reads a whole file to which nobody writes. It returns an error if the file is not a store of a known version
// or if SQLite finds it damaged.
func verify(ctx context.Context, path string) (sum Summary, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return sum, err
	}
	db, err := sql.Open("sqlite", fileURL(path, "mode=ro&immutable=1"))
	if err != nil {
		return sum, err
	}
	defer db.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, explain(err))
		}
	}()
	if err := checkContent(db); err != nil {
		return sum, err
	}
	sum = Summary{Records: make(map[Kind]int), Bytes: info.Size()}
	if sum.Version, err = version(db); err != nil { // checkContent has already checked the version
		return sum, err
	}
	return sum, errors.Join(sum.count(ctx, db, path)...)
}

// count counts the records of a database and lists the damaged ones. It returns an error for each kind that cannot be
// read.
func (sum *Summary) count(ctx context.Context, db *sql.DB, path string) (failed []error) {
	all, err := kinds(ctx, db)
	if err != nil {
		return []error{err}
	}
	for _, kind := range all {
		damaged, err := load(ctx, db, path, kind, func(string, []byte) error { sum.Records[kind]++; return nil })
		if sum.Damaged = append(sum.Damaged, damaged...); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// kinds returns the kinds of the stored records, sorted. It reads only one record of each kind.
func kinds(ctx context.Context, db *sql.DB) (all []Kind, err error) {
	err = eachRow(ctx, db, `WITH RECURSIVE found (kind) AS (SELECT min(kind) FROM records UNION ALL
		SELECT (SELECT min(kind) FROM records WHERE kind > found.kind) FROM found WHERE kind IS NOT NULL) SELECT kind FROM found WHERE kind IS NOT NULL`,
		func(rows *sql.Rows) error {
			var kind Kind
			err := rows.Scan(&kind)
			all = append(all, kind)
			return err
		})
	return all, err
}

// Restore replaces the store at path with a backup. No process may have the store open. Restore refuses a backup with
// damaged records. It renames the previous store with ReplacedSuffix and a number. If the process dies during Restore,
// path holds either the complete old store or the complete new one.
func Restore(ctx context.Context, path, from string) (sum Summary, err error) {
	defer about("store: restore", &err)
	if _, err := os.Stat(from + logSuffix); err == nil {
		return sum, fmt.Errorf("%s is a store with a log, and no backup", from)
	}
	if err := identify(from); errors.Is(err, fs.ErrNotExist) {
		return sum, err
	} else if err != nil {
		return sum, fmt.Errorf("%s cannot be used: %w", from, err)
	}
	path, unlock, err := claim(path, isFile) // accepts a damaged store
	if err != nil {
		return sum, err
	}
	defer unlock()
	err = replace(path, func(temp string) (err error) {
		if err := copyFile(from, temp); err != nil {
			return err
		}
		if sum, err = verify(ctx, temp); err != nil { // verify the copy, because it is the file that will be opened
			return fmt.Errorf("%s cannot be used: %w", from, err)
		}
		if n := len(sum.Damaged); n > 0 {
			return fmt.Errorf("%s cannot be used: %d of its records are damaged, the first is %v: use another backup; if there is none, copy the file to %s by hand: a host starts without them",
				from, n, sum.Damaged[0], path)
		}
		sum.Replaced, err = setAside(path, ReplacedSuffix)
		return err
	})
	return sum, err
}

// setAside links the store at path, if there is one, to a second name. It also moves the store's log away, because
// SQLite would otherwise apply it to the next store.
func setAside(path, suffix string) (kept string, err error) {
	if kept, err = unused(path + suffix); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", moveLog(path, kept)
	}
	if db, err := openFile(path); err == nil { // a damaged store keeps its log
		if err := db.Close(); err != nil { // checkpoints the log into the database
			return "", err
		}
	}
	if err := moveLog(path, kept); err != nil {
		return "", err
	}
	return kept, os.Link(path, kept)
}

// unused returns name with a number appended that is higher than all numbers in use. It must not reuse a number,
// because the earlier file may be the only copy of its data.
func unused(name string) (string, error) {
	names, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	last := 0
	for _, other := range names {
		if tail, ok := strings.CutPrefix(other.Name(), filepath.Base(name)); ok {
			digits, _, _ := strings.Cut(tail, "-") // the name of a log ends with -wal
			if n, err := strconv.Atoi(digits); err == nil {
				last = max(last, n)
			}
		}
	}
	return name + strconv.Itoa(last+1), nil
}

func moveLog(path, kept string) error {
	err := os.Rename(path+logSuffix, kept+logSuffix)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.Remove(path + "-shm")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeNew(to, in)
}
