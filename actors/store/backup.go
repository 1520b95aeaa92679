package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	tempSuffix = ".part"
	// ReplacedSuffix is behind the name of a store that Restore has replaced, with a number
	// behind it, the highest for the last.
	ReplacedSuffix = ".replaced."
)

// Summary describes a checked backup.
type Summary struct {
	Version int          // of the schema
	Records map[Kind]int // how many of each kind
	Bytes   int64        // of the file
	Damaged []Damage     // records that a store had damaged already, and its Backup has, too
	// Replaced is where Restore has left the store that was there; empty if there was none.
	Replaced string
}

// Backup writes a copy of the store at path to a file that is not there yet: its state at
// one moment of the call, checked after it was written: Summary.Damaged names the records
// that are damaged, in the store and so in the copy. The store may be open, also in
// another process, which goes on as ever. Until the copy is whole and checked it has
// another name. A cancelled context leaves nothing behind.
func Backup(ctx context.Context, path, to string) (sum Summary, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store: backup: %w", err)
		}
	}()
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
	temp := to + tempSuffix
	if err := removeStore(temp); err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, removeStore(temp)) }()
	if err := snapshot(ctx, path, temp); err != nil {
		return sum, fmt.Errorf("%s: %w", path, explain(err))
	}
	if sum, err = verify(ctx, temp); err != nil {
		return sum, err
	}
	return sum, publish(temp, to)
}

// snapshot writes the state of a store into a single file without a log.
func snapshot(ctx context.Context, path, to string) error {
	// The log of a store that is open changes while it is read, and was checked.
	switch unlock, err := lock(path + lockSuffix); {
	case err == nil:
		defer unlock()
		if err := checkLog(path + logSuffix); err != nil {
			return err
		}
	case !errors.Is(err, errTaken):
		return err
	}
	if err := createEmpty(to); err != nil { // SQLite would let others read it
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

// verify reads all of a file that nobody writes: that it is a store that this program can
// open, that SQLite finds nothing wrong, and which records are not what was written.
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
	if sum.Version, err = version(db); err != nil {
		return sum, err
	}
	if err := known(sum.Version, len(migrations)); err != nil {
		return sum, err
	}
	all, err := kinds(ctx, db)
	if err != nil {
		return sum, err
	}
	for _, kind := range all {
		damaged, err := load(ctx, db, path, kind, func(string, []byte) error { sum.Records[kind]++; return nil })
		if err != nil {
			return sum, err
		}
		sum.Damaged = append(sum.Damaged, damaged...)
	}
	return sum, nil
}

func kinds(ctx context.Context, db *sql.DB) ([]Kind, error) { return kindsIn(ctx, db, "") }

// kindsIn returns the kinds of the records for which a condition holds.
func kindsIn(ctx context.Context, db *sql.DB, where string, args ...any) (all []Kind, err error) {
	rows, err := db.QueryContext(ctx, "SELECT DISTINCT kind FROM records "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind Kind
		if err := rows.Scan(&kind); err != nil {
			return nil, err
		}
		all = append(all, kind)
	}
	return all, rows.Err()
}

// Restore puts a backup in the place of the store at path, which nobody may have open.
// The backup is checked before: one with damaged records is refused. The store that was there is kept beside it, under its
// name with ReplacedSuffix and a number; so are those that were kept before. A process
// that dies on the way leaves the old store or the new one, whole.
func Restore(ctx context.Context, path, from string) (sum Summary, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store: restore: %w", err)
		}
	}()
	if _, err := os.Stat(from + logSuffix); err == nil {
		return sum, fmt.Errorf("%s is a store with a log, and no backup", from)
	}
	if err := identify(from); errors.Is(err, fs.ErrNotExist) {
		return sum, err
	} else if err != nil {
		return sum, fmt.Errorf("%s cannot be used: %w", from, err)
	}
	path, unlock, err := claim(path, isFile) // a damaged store is replaced, too
	if err != nil {
		return sum, err
	}
	defer unlock()
	temp := path + tempSuffix
	if err := removeStore(temp); err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, removeStore(temp)) }()
	if err := copyFile(from, temp); err != nil {
		return sum, err
	}
	if sum, err = verify(ctx, temp); err != nil { // the copy: it is what will be opened
		return sum, fmt.Errorf("%s cannot be used: %w", from, err)
	}
	if n := len(sum.Damaged); n > 0 { // nothing is replaced by less than it may be
		return sum, fmt.Errorf("%s cannot be used: %d of its records are damaged, the first is %v: use another backup; if there is none, copy the file to %s by hand: a host starts without them",
			from, n, sum.Damaged[0], path)
	}
	if sum.Replaced, err = setAside(path, ReplacedSuffix); err != nil {
		return sum, err
	}
	return sum, publish(temp, path)
}

// setAside gives the store at path, if there is one, a second name, which it returns, and
// leaves no log at the first, which would be taken for the next store's.
func setAside(path, suffix string) (kept string, err error) {
	if kept, err = unused(path + suffix); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", moveLog(path, kept)
	}
	if db, err := openFile(path); err == nil { // one that is damaged keeps its log
		if err := db.Close(); err != nil { // it is in the database now
			return "", err
		}
	}
	if err := moveLog(path, kept); err != nil {
		return "", err
	}
	return kept, os.Link(path, kept)
}

// unused returns a name with a number behind it that is higher than those in use: what was
// kept before may be all that is left of it.
func unused(name string) (string, error) {
	names, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	last := 0
	for _, other := range names {
		if tail, ok := strings.CutPrefix(other.Name(), filepath.Base(name)); ok {
			digits, _, _ := strings.Cut(tail, "-") // of a log, too
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
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
