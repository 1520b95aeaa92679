package ops

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
)

// RuntimeFigures is the response of /debug/runtime. It is read for each request, so the difference of two
// responses covers the time between them.
type RuntimeFigures struct {
	Process ProcessFigures `json:"process"`
	// values of runtime/metrics by name; a histogram has NAME#p50, NAME#p99 and NAME#max
	Runtime map[string]float64 `json:"runtime"`
}

// ProcessFigures are figures of this process. Times are counted from its start.
type ProcessFigures struct {
	PID           int     `json:"pid"`
	Go            string  `json:"go"`
	Processors    int     `json:"processors"`               // GOMAXPROCS
	UserSeconds   float64 `json:"user_seconds,omitempty"`   // absent if unknown, like the next field
	SystemSeconds float64 `json:"system_seconds,omitempty"` //
	ResidentBytes int64   `json:"resident_bytes,omitempty"` // Linux only
}

func readRuntime() RuntimeFigures {
	all := metrics.All()
	samples := make([]metrics.Sample, len(all))
	for i := range all {
		samples[i].Name = all[i].Name
	}
	metrics.Read(samples)
	f := RuntimeFigures{Runtime: make(map[string]float64, len(samples))}
	for _, s := range samples {
		switch s.Value.Kind() {
		case metrics.KindUint64:
			f.Runtime[s.Name] = float64(s.Value.Uint64())
		case metrics.KindFloat64:
			f.Runtime[s.Name] = s.Value.Float64()
		case metrics.KindFloat64Histogram:
			h := s.Value.Float64Histogram()
			for _, q := range []struct {
				name string
				at   float64
			}{{"#p50", 0.5}, {"#p99", 0.99}, {"#max", 1}} {
				f.Runtime[s.Name+q.name] = quantile(h, q.at)
			}
		}
	}
	f.Process = ReadProcess()
	return f
}

// quantile returns the upper end of the bucket that contains the quantile share, for example 0.99. If the
// bucket has no upper end, it returns the lower end. It returns 0 for an empty histogram.
func quantile(h *metrics.Float64Histogram, share float64) float64 {
	var total uint64
	for _, n := range h.Counts {
		total += n
	}
	if total == 0 {
		return 0
	}
	want, seen := uint64(math.Ceil(share*float64(total))), uint64(0)
	for i, n := range h.Counts {
		if seen += n; seen >= want {
			if end := h.Buckets[i+1]; !math.IsInf(end, 1) {
				return end
			}
			return h.Buckets[i]
		}
	}
	return 0
}

// ReadProcess returns the current figures of this process. It is safe for concurrent use.
func ReadProcess() ProcessFigures {
	f := ProcessFigures{PID: os.Getpid(), Go: runtime.Version(), Processors: runtime.GOMAXPROCS(0)}
	f.read()
	return f
}
