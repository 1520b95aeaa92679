package member

import (
	"errors"
	"os"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"troupe/transport/etcd/slow"
)

const (
	syncsMax  = 100                   // number of writes for which a measurement reserves space
	syncSize  = 2300                  // size of a write in bytes, as in etcd's advice for measuring a disk
	syncLimit = 10 * time.Millisecond // maximum 99th percentile of the write times, from the same advice
)

// measure logs a warning if the disk of a directory is too slow for etcd.
func measure(dir string, log zerolog.Logger) error {
	p99, err := syncTime(dir, fileutil.Fdatasync)
	if err == nil {
		slow.Warn(log.With().Str("dir", dir).Logger(), "a small write", p99, syncLimit)
	}
	return err
}

// syncTime measures how long small writes take until they are on disk, and returns the 99th percentile.
func syncTime(dir string, sync func(*os.File) error) (p99 time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".measure-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := fileutil.Preallocate(f, syncsMax*syncSize, true); err != nil {
		return 0, err
	}
	return slow.Measure(func() error {
		if _, err := f.Write(make([]byte, syncSize)); err != nil {
			return err
		}
		return sync(f)
	})
}
