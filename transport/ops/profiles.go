package ops

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// profileMax is the maximum duration of a profile.
const profileMax = 5 * time.Minute

// Sampling rates of the two profiles that are only switched on while a request waits for them.
const (
	blockRate     = 10_000 // one sample per so many ns of blocking
	mutexFraction = 100    // one sample per so many contended unlocks
)

// registerProfiles serves pprof in the form that `go tool pprof` expects, and figures of the runtime at
// /debug/runtime. It does not serve the command line, because that may contain secrets.
func registerProfiles(mux *http.ServeMux) {
	contention := new(contentionProfiling)
	timed := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			text := r.URL.Query().Get("seconds")
			seconds, err := strconv.ParseFloat(text, 64)
			if text != "" && (err != nil || !(seconds >= 0 && seconds <= profileMax.Seconds())) {
				answer(w, http.StatusBadRequest, "seconds must be a number up to "+strconv.Itoa(int(profileMax.Seconds())))
				return
			}
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a profile may take longer than the read timeout
			next(w, r)
		}
	}
	mux.HandleFunc("GET /debug/pprof/", timed(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/profile", timed(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/trace", timed(pprof.Trace))
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	for _, name := range []string{"block", "mutex"} {
		mux.HandleFunc("GET /debug/pprof/"+name, timed(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("seconds") != "" {
				contention.begin()
				defer contention.end()
			}
			pprof.Handler(name).ServeHTTP(w, r)
		}))
	}
	mux.HandleFunc("GET /debug/runtime", func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, readRuntime()) })
}

// contentionProfiling enables sampling of blocking and of contended mutexes while a request waits for such a
// profile. It is safe for concurrent use.
type contentionProfiling struct {
	mu    sync.Mutex
	users int
}

func (c *contentionProfiling) begin() { c.change(1, blockRate, mutexFraction) }
func (c *contentionProfiling) end()   { c.change(-1, 0, 0) }

// change sets the rates when the first user arrives or the last one leaves.
func (c *contentionProfiling) change(by, block, mutex int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.users
	c.users += by
	if (before == 0) != (c.users == 0) {
		runtime.SetBlockProfileRate(block)
		runtime.SetMutexProfileFraction(mutex)
	}
}
