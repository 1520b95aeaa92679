package slow

import (
	"slices"
	"time"

	"github.com/rs/zerolog"
)

const (
	writesMax    = 100         // maximum number of writes in a measurement
	measuringMax = time.Second // maximum duration of a measurement; a disk that needs longer for writesMax writes is too slow
)

// Measure calls write up to a hundred times, for a second at most. It returns the 99th percentile of the times that
// write takes.
func Measure(write func() error) (p99 time.Duration, err error) {
	var took []time.Duration
	for begin := time.Now(); len(took) < writesMax && time.Since(begin) < measuringMax; {
		start := time.Now()
		if err := write(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[(len(took)*99+99)/100-1], nil
}

// Warn logs a warning if the 99th percentile of some writes is more than the limit.
func Warn(log zerolog.Logger, what string, p99, limit time.Duration) {
	if p99 > limit {
		log.Warn().Int64("limit_ms", limit.Milliseconds()).
			Msgf("this disk is too slow for etcd: p99 %d ms for %s: use an SSD that nothing else writes to", p99.Milliseconds(), what)
	}
}
