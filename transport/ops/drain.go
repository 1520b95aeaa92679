package ops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"troupe/actors/fleet"
)

// drainPath is the path at which an operator starts a drain, cancels it and reads its progress.
const drainPath = "/debug/drain"

// Drainer is a host that can be drained. It is safe for concurrent use.
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
	GameSessions int64   `json:"game_sessions"` // number of game sessions that have not ended
	Players      int64   `json:"players"`       // number of their players, including detached ones
	Detached     int64   `json:"detached"`
	GraceSeconds float64 `json:"grace_seconds"` // time until the remaining game sessions are terminated
	// ConfiguredGraceSeconds is the grace of a drain that is started without one.
	ConfiguredGraceSeconds float64 `json:"configured_grace_seconds"`
}

// graceMax is the maximum grace that an operator may set for a drain.
const graceMax = 7 * 24 * time.Hour

// ParseGrace parses the grace of a drain, for example 30s. For an empty text it returns -1, which means the
// configured grace. The error is a sentence for the operator.
func ParseGrace(text string) (time.Duration, error) {
	if text == "" {
		return -1, nil
	}
	grace, err := time.ParseDuration(text)
	if err != nil || grace < 0 || grace > graceMax {
		return 0, fmt.Errorf("grace must be a duration from 0s to %v, for example 30s or 20m", graceMax)
	}
	return grace, nil
}

// Acted is called after an operator's action. r is the operator's request, target may be empty, and result is
// "done" or the code of the error.
type Acted func(r *http.Request, action, target, result string)

// registerDrain serves drainPath: GET returns the state, POST starts a drain (query parameter grace, a
// duration), and DELETE cancels it. Each responds with the state. The host guards /debug/. In addition,
// requests of web pages of other origins are refused, even from this machine.
func registerDrain(mux *http.ServeMux, d Drainer, acted Acted) {
	sameOrigin := http.NewCrossOriginProtection()
	mux.HandleFunc("GET "+drainPath, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, d.Drains()) })
	mux.Handle("POST "+drainPath, sameOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Query().Get("grace")
		grace, err := ParseGrace(text)
		if err != nil {
			acted(r, "drain", text, "BadRequest")
			answer(w, http.StatusBadRequest, err.Error())
			return
		}
		d.StartDrain(grace)
		acted(r, "drain", text, "done")
		answerJSON(w, d.Drains())
	})))
	mux.Handle("DELETE "+drainPath, sameOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := d.CancelDrain(r.Context())
		if err == nil {
			acted(r, "cancel drain", "", "done")
			answerJSON(w, d.Drains())
			return
		}
		code, result := http.StatusServiceUnavailable, "Unavailable"
		if errors.Is(err, fleet.ErrNotDraining) || errors.Is(err, fleet.ErrDrainTooLate) {
			code, result = http.StatusConflict, "Conflict"
		}
		acted(r, "cancel drain", "", result)
		answer(w, code, err.Error())
	})))
}
