package ops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"troupe/actors/fleet"
)

// drainPath is where an operator sees how a drain goes, begins one and cancels it.
const drainPath = "/debug/drain"

// Drainer is a host that can be drained. Methods may be called from any goroutine.
type Drainer interface {
	// StartDrain begins a drain; a negative grace is the configured one.
	StartDrain(grace time.Duration)
	// CancelDrain is fleet.ErrNotDraining or fleet.ErrDrainTooLate if it cannot be.
	CancelDrain(ctx context.Context) error
	Drains() DrainState
}

// DrainState says what a drain waits for, and how long it may take.
type DrainState struct {
	Draining     bool    `json:"draining"`
	GameSessions int64   `json:"game_sessions"` // that have not ended
	Players      int64   `json:"players"`       // in them, the detached included
	Detached     int64   `json:"detached"`
	GraceSeconds float64 `json:"grace_seconds"` // until what is left is ended
}

// registerDrain serves the state with GET, a drain with POST, which takes the query
// parameter grace, a duration, and its end with DELETE. Each answers with the state.
// Who may call is for whoever guards /debug/. A web page of another origin may not,
// even where everybody on this machine may.
func registerDrain(mux *http.ServeMux, d Drainer) {
	sameOrigin := http.NewCrossOriginProtection()
	mux.HandleFunc("GET "+drainPath, func(w http.ResponseWriter, _ *http.Request) { answerState(w, d) })
	mux.Handle("POST "+drainPath, sameOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grace := time.Duration(-1)
		if text := r.URL.Query().Get("grace"); text != "" {
			var err error
			if grace, err = time.ParseDuration(text); err != nil || grace < 0 {
				answer(w, http.StatusBadRequest, "grace must be a duration that is not negative, for example 30s")
				return
			}
		}
		d.StartDrain(grace)
		answerState(w, d)
	})))
	mux.Handle("DELETE "+drainPath, sameOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch err := d.CancelDrain(r.Context()); {
		case errors.Is(err, fleet.ErrNotDraining), errors.Is(err, fleet.ErrDrainTooLate):
			answer(w, http.StatusConflict, err.Error())
		case err != nil:
			answer(w, http.StatusServiceUnavailable, err.Error())
		default:
			answerState(w, d)
		}
	})))
}

func answerState(w http.ResponseWriter, d Drainer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(d.Drains())
}
