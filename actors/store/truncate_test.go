package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"troupe/actors/actorstest/assert"
)

// If SQLite does not report how many pages of a log are committed, the log must not be truncated, because all of the
// pages may contain acknowledged commits.
func TestLogOfUnknownLengthIsNotCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := assert.Value(sql.Open("sqlite", path))(t) // there is no log, so the count is -1
	defer db.Close()
	conn, err := db.Conn(context.Background())
	assert.NoError(t, err)
	defer conn.Close()
	assert.OK(conn.ExecContext(context.Background(), "CREATE TABLE t (x)"))(t)
	const size = 5000
	assert.NoError(t, os.WriteFile(path+logSuffix, make([]byte, size), 0o600))
	s := &SQLite{path: path, writer: writer{conn: conn}}
	err = s.truncateLog(context.Background())
	if info, bad := os.Stat(path + logSuffix); bad != nil || info.Size() != size {
		t.Errorf("it was cut: %+v, %v", info, bad)
	}
	if err == nil {
		t.Error("no error")
	}
}
