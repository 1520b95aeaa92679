package barerelay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
)

// stats is the answer to /stats: totals since the start.
type stats struct {
	Mallocs    uint64 `json:"mallocs"`
	Inbound    uint64 `json:"inbound"`
	Delivered  uint64 `json:"delivered"`
	Goroutines int    `json:"goroutines"`
}

// writeStats writes the HTTP response to a request for /stats.
func writeStats(w io.Writer, s stats) error {
	body, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode stats: %w", err)
	}
	res := http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
	if err := res.Write(w); err != nil {
		return fmt.Errorf("write stats: %w", err)
	}
	return nil
}

// memoryStats reads the memory statistics. This stops the world for some microseconds, so call it rarely.
func memoryStats() stats {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return stats{Mallocs: mem.Mallocs, Goroutines: runtime.NumGoroutine()}
}

// totals returns the memory statistics and the counters of all rooms.
func (r *relay) totals() stats {
	s := memoryStats()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rm := range r.rooms {
		s.add(&rm.counts)
	}
	return s
}

// counts holds the message counters of one room.
type counts struct {
	mu        sync.Mutex // guards the counters and the room's members
	inbound   uint64
	delivered uint64
}

func (s *stats) add(c *counts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Inbound += c.inbound
	s.Delivered += c.delivered
}
