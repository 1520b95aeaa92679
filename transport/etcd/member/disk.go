package member

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

const (
	syncsMax     = 100                   // maximum number of writes in a measurement
	measuringMax = time.Second           // maximum duration of a measurement; a disk that needs longer for syncsMax writes is too slow
	syncSize     = 2300                  // size of a write in bytes, as in etcd's advice for measuring a disk
	syncLimit    = 10 * time.Millisecond // maximum 99th percentile of the write times, from the same advice
)

// measure logs a warning if the disk of a directory is too slow for etcd.
func measure(dir string, log zerolog.Logger) error {
	took, err := syncTimes(dir, fileutil.Fdatasync)
	if err == nil && p99(took) > syncLimit {
		log.Warn().Str("dir", dir).Int64("limit_ms", syncLimit.Milliseconds()).
			Msgf("this disk is too slow for etcd: p99 %d ms for a small write: use an SSD that nothing else writes to", p99(took).Milliseconds())
	}
	return err
}

// syncTimes measures how long small writes take until they are on disk. It returns at least one time.
func syncTimes(dir string, sync func(*os.File) error) (took []time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".measure-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if err := fileutil.Preallocate(f, syncsMax*syncSize, true); err != nil {
		return nil, err
	}
	for begin := time.Now(); len(took) < syncsMax && time.Since(begin) < measuringMax; {
		start := time.Now()
		if _, err := f.Write(make([]byte, syncSize)); err != nil {
			return nil, err
		}
		if err := sync(f); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}

// p99 returns the 99th percentile: the time that 99 of 100 writes do not exceed.
func p99(took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*99+99)/100-1]
}
