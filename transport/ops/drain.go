package ops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"troupe/actors/fleet"
)

// drainPath is the path where an operator starts a drain, cancels it and sees its progress.
const drainPath = "/debug/drain"

// Drainer is a host that can be drained. Methods may be called from any goroutine.
type Drainer interface {
	// StartDrain starts a drain; a negative grace means the configured one.
	StartDrain(grace time.Duration)
	// CancelDrain returns fleet.ErrNotDraining or fleet.ErrDrainTooLate if it cannot cancel.
	CancelDrain(ctx context.Context) error
	Drains() DrainState
}

// DrainState is the progress of a drain.
type DrainState struct {
	Draining     bool    `json:"draining"`
	GameSessions int64   `json:"game_sessions"` // game sessions that have not ended
	Players      int64   `json:"players"`       // their players, the detached ones included
	Detached     int64   `json:"detached"`
	GraceSeconds float64 `json:"grace_seconds"` // time until the remaining game sessions are terminated
}

// registerDrain serves drainPath: GET returns the state, POST starts a drain (query parameter
// grace, a duration), DELETE cancels it. Each answers with the state. The host guards
// /debug/. In addition, requests from web pages of other origins are refused, even if every
// request from this machine is allowed.
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
