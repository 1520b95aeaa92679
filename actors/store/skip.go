package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// DamagedSuffix is appended to the name of a store to get the name of the file for damaged records. That file contains
// lines of JSON: the records that SkipDamaged has removed, and damaged records that were overwritten. With a number
// appended, it is instead the name of a broken store that was replaced because only a part of it could be read.
const DamagedSuffix = ".damaged"

var errBroken = errors.New("is damaged") // says that SQLite finds the file itself damaged, not only some records in it

// damagedRecord is one line of the file for damaged records.
type damagedRecord struct {
	Kind  Kind   `json:"kind"`
	ID    string `json:"id"`
	Sum   int64  `json:"sum"`
	Value []byte `json:"value"`
}

// skipDamaged moves the damaged records of an open store to a file next to it. It syncs that file before it deletes the
// records.
func (s *SQLite) skipDamaged() error {
	all, err := damagedRows(s.db)
	if err != nil || len(all) == 0 {
		return err
	}
	file := s.path + DamagedSuffix
	if err := appendLines(file, all); err != nil {
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	for _, t := range all {
		if _, err := tx.Exec(deleteRecord, string(t.Kind), t.ID); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.count.StoreDamaged.Add(int64(len(all)))
	for _, t := range all {
		s.log.Error().Str("record", Damage{Kind: t.Kind, ID: t.ID}.Name()).Msg("a stored record has a wrong checksum: it is taken out of the store")
	}
	s.log.Error().Int("records", len(all)).Str("path", s.path).Str("kept", file).Msg("damaged records were taken out of the store")
	return nil
}

func damagedRows(db *sql.DB) (all []damagedRecord, err error) {
	err = eachRow(context.Background(), db, "SELECT kind, id, value, sum FROM records", func(rows *sql.Rows) error {
		var t damagedRecord
		err := rows.Scan(&t.Kind, &t.ID, &t.Value, &t.Sum)
		if err == nil && sum(t.Kind, t.ID, t.Value) != t.Sum {
			all = append(all, t)
		}
		return err
	})
	return all, err
}

func appendLines(file string, all []damagedRecord) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(f)
	for _, t := range all {
		if err := lines.Encode(t); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(f.Sync(), f.Close())
}

// salvage replaces a broken store by a new one with all records that can still be read. It keeps the broken file next
// to the store.
func (s *SQLite) salvage(why error) (db *sql.DB, err error) {
	broken, err := connect(s.path)
	if err != nil {
		return nil, err
	}
	defer broken.Close()
	if n, err := version(broken); err != nil || n != len(migrations) {
		return nil, errors.Join(why, fmt.Errorf("and nothing of it can be saved: schema version %d, %w", n, err))
	}
	var copied int
	var kept string
	err = replace(s.path, func(temp string) (err error) {
		if err := create(temp); err != nil {
			return err
		}
		if copied, err = copyReadable(broken, temp); err != nil {
			return errors.Join(why, err)
		}
		if err := broken.Close(); err != nil {
			s.log.Warn().Err(err).Str("path", s.path).Msg("the damaged store could not be closed")
		}
		kept, err = setAside(s.path, DamagedSuffix+".")
		return err
	})
	if err != nil {
		return nil, err
	}
	s.count.StoreDamaged.Add(1) // at least one; the number of lost records is unknown
	s.log.Error().Err(why).Int("records", copied).Str("kept", kept).Msg("the store is damaged: the host goes on with the records that could be read")
	return openFile(s.path)
}

// copyReadable copies records, starting from both ends of the file, until it reaches records that cannot be read.
func copyReadable(from *sql.DB, to string) (copied int, err error) {
	db, err := connect(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	for _, order := range []string{"ASC", "DESC"} {
		n, whole, err := copyInOrder(from, tx, order)
		if copied += n; err != nil {
			return 0, err
		}
		if whole {
			break
		}
	}
	return copied, tx.Commit()
}

// copyInOrder copies records until one cannot be read. whole is true if all records could be read.
func copyInOrder(from *sql.DB, to *sql.Tx, order string) (copied int, whole bool, err error) {
	rows, err := from.QueryContext(context.Background(), "SELECT kind, id, value, sum FROM records ORDER BY kind "+order+", id "+order)
	if err != nil {
		return 0, false, nil // no record can be read from this end
	}
	defer rows.Close()
	for rows.Next() {
		var t damagedRecord
		if rows.Scan(&t.Kind, &t.ID, &t.Value, &t.Sum) != nil {
			continue
		}
		done, err := to.Exec("INSERT INTO records (kind, id, value, sum) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", string(t.Kind), t.ID, t.Value, t.Sum)
		if err != nil {
			return copied, false, err
		}
		n, _ := done.RowsAffected()
		copied += int(n)
	}
	return copied, rows.Err() == nil, nil
}
