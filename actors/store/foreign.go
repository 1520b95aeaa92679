package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// errForeign says that the tables of a file are not those of this program. Such a file must not be read, because
// reading it could run SQL that somebody else has put there.
var errForeign = errors.New("is no store of this program, or was changed")

// schema maps the type and name of each database object to its SQL.
type schema map[string]string

// ownSchemas returns the schemas that this program creates, indexed by version.
var ownSchemas = sync.OnceValues(func() (all []schema, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have its own in-memory database
	for _, step := range append([]string{versionsTable}, migrations...) {
		if _, err := db.Exec(step); err != nil {
			return nil, err
		}
		s, err := schemaOf(db)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

func schemaOf(db *sql.DB) (schema, error) {
	// ANALYZE creates the excluded tables
	const all = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')"
	s := make(schema)
	err := eachRow(context.Background(), db, all, func(rows *sql.Rows) error {
		var name, text string
		err := rows.Scan(&name, &text)
		if _, twice := s[name]; twice { // SQLite does not create such a file
			name += " twice"
		}
		s[name] = text
		return err
	})
	return s, err
}

// checkSchema returns an error if a database does not have exactly the tables of its version. A foreign trigger or view
// would run the SQL of whoever put it there. If the only problem is additional objects, the error wraps errBroken,
// because the records can still be copied.
func checkSchema(db *sql.DB) error {
	own, err := ownSchemas()
	if err != nil {
		return err
	}
	have, err := schemaOf(db)
	if err != nil {
		return err
	}
	const versions = "table versions"
	if have[versions] != own[0][versions] {
		return fmt.Errorf("%w: %s is not as this program makes it; restore a backup", errForeign, versions)
	}
	n, err := version(db)
	if err != nil {
		return err
	}
	if err := checkVersion(n, len(migrations)); err != nil {
		return err
	}
	want := own[max(n, 0)]
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have[name] != want[name] {
			return fmt.Errorf("%w: %s is not as this program makes it; restore a backup", errForeign, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%w: it has a %s, which this program has not made; restore another backup, or copy the records with troupe serve --skip-damaged", errBroken, name)
		}
	}
	return nil
}
