package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"troupe/actors"
	"troupe/messages"
)

const (
	devJoinPath    = "/dev/join"
	devJoinBodyMax = 8 << 10
	devJoinTimeout = 15 * time.Second
	devPlayersMax  = 8 // player slots of a game session that a join creates, if the request has no maxPlayers
)

// devJoin reserves player sessions for web pages in development. Such a page has no backend that could call
// the service API.
type devJoin struct {
	system *actors.System
	guard  guard
	fleet  messages.FleetID
	secure bool          // whether game sessions of the fleet announce the secured listener
	url    string        // wss:// address of the host, at which players of every fleet can log in; empty if there is none
	turn   chan struct{} // a mutex (capacity 1), so that two concurrent joins do not create two game sessions
}

// devJoinRequest is the body of POST /dev/join. Every field, and the body itself, is optional.
type devJoinRequest struct {
	PlayerID   string `json:"playerId"` // default: a generated id
	PlayerData string `json:"playerData"`
	MaxPlayers int    `json:"maxPlayers"` // if a game session is created: its maximum of players, 1 to 200, default 8
	Secure     bool   `json:"secure"`     // asks for the wss:// address as well
}

// devJoinAnswer has what a client needs to log in.
type devJoinAnswer struct {
	URL             string `json:"url"`
	SecureURL       string `json:"secureUrl,omitempty"` // wss:// address, if the request asked for it or the page was loaded over https
	PlayerSessionID string `json:"playerSessionId"`
	PlayerID        string `json:"playerId"`
	GameSessionID   string `json:"gameSessionId"`
}

// allowed rejects requests from other machines and from pages of other sites. It reports whether the request
// is allowed.
func (j *devJoin) allowed(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Vary", "Origin")
	w.Header().Set("Cache-Control", "no-store")
	origin := r.Header.Get("Origin")
	if !j.guard.trusts(r) || origin != "" && !isLoopbackOrigin(origin) {
		http.Error(w, "seats for development are for pages and programs of this machine, by localhost or a loopback address", http.StatusForbidden)
		return false
	}
	if origin != "" {
		w.Header().Set("Access-Control-Allow-Origin", origin)
	}
	return true
}

// preflight answers the CORS preflight request of a browser.
func (j *devJoin) preflight(w http.ResponseWriter, r *http.Request) {
	if !j.allowed(w, r) {
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
	w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

func (j *devJoin) serve(w http.ResponseWriter, r *http.Request) {
	if !j.allowed(w, r) {
		return
	}
	req, err := readDevJoin(http.MaxBytesReader(w, r.Body, devJoinBodyMax))
	if err != nil {
		http.Error(w, "the body must be a JSON object with playerId, playerData, maxPlayers and secure, or empty: "+err.Error(), http.StatusBadRequest)
		return
	}
	if req.Secure && j.url == "" {
		http.Error(w, "this host has no wss:// address: set wss.addr", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), devJoinTimeout)
	defer cancel()
	answer, err := j.join(ctx, req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if req.Secure || strings.HasPrefix(r.Header.Get("Origin"), "https://") {
		answer.SecureURL = j.url
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // an error means that the caller has disconnected
}

func readDevJoin(body io.Reader) (devJoinRequest, error) {
	req := devJoinRequest{MaxPlayers: devPlayersMax}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	switch err := d.Decode(&req); {
	case errors.Is(err, io.EOF): // no body
	case err != nil:
		return req, err
	case d.More():
		return req, errors.New("there is something behind the object")
	}
	switch {
	case req.MaxPlayers < 1 || req.MaxPlayers > 200:
		return req, errors.New("maxPlayers must be 1 to 200")
	case len(req.PlayerID) > 1024 || len(req.PlayerData) > 2048:
		return req, errors.New("playerId has at most 1024 bytes, playerData 2048")
	}
	if req.PlayerID == "" {
		req.PlayerID = "player-" + strings.ToLower(rand.Text()[:8])
	}
	return req, nil
}

// join reserves a player session in the oldest game session with a free slot, or in a new game session.
func (j *devJoin) join(ctx context.Context, req devJoinRequest) (*devJoinAnswer, error) {
	select {
	case j.turn <- struct{}{}:
		defer func() { <-j.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	active, err := messages.Do(ctx, j.system, messages.FindGameSessions{FleetID: j.fleet, Status: messages.GameSessionActive})
	if err != nil {
		return nil, err
	}
	for _, game := range active.GameSessions {
		if !game.AcceptsPlayers || game.CurrentPlayers >= game.MaxPlayers {
			continue
		}
		answer, err := j.reserve(ctx, game.ID, req)
		if err == nil || !errors.Is(err, &messages.Error{Code: messages.GameSessionFull}) && !errors.Is(err, &messages.Error{Code: messages.InvalidGameSessionStatus}) {
			return answer, err
		}
	}
	id, err := j.create(ctx, req.MaxPlayers)
	if err != nil {
		return nil, err
	}
	return j.reserve(ctx, id, req)
}

// create creates a game session and waits until it is ACTIVE.
func (j *devJoin) create(ctx context.Context, players int) (messages.GameSessionID, error) {
	game, err := messages.Do(ctx, j.system, messages.CreateGameSession{FleetID: j.fleet, Name: "dev", MaxPlayers: players})
	if err != nil {
		return "", err
	}
	wait := time.NewTicker(10 * time.Millisecond)
	defer wait.Stop()
	for game.Status == messages.GameSessionActivating {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if game, err = messages.Do(ctx, j.system, messages.GameSessionQuery{ID: game.ID}); err != nil {
			return "", err
		}
	}
	if game.Status != messages.GameSessionActive {
		return "", errors.New("the new game session has ended: " + cmp.Or(game.EndText, game.Status.String()))
	}
	return game.ID, nil
}

func (j *devJoin) reserve(ctx context.Context, id messages.GameSessionID, req devJoinRequest) (*devJoinAnswer, error) {
	seats, err := messages.Do(ctx, j.system, messages.CreatePlayerSessions{
		GameSessionID: id, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(req.PlayerID), PlayerData: req.PlayerData}},
	})
	if err != nil {
		return nil, err
	}
	s := seats[0]
	url := "ws://" + net.JoinHostPort(s.IPAddress, strconv.Itoa(s.Port))
	if j.secure {
		url = "wss://" + net.JoinHostPort(cmp.Or(s.DNSName, s.IPAddress), strconv.Itoa(s.Port))
	}
	return &devJoinAnswer{URL: url, PlayerSessionID: string(s.ID), PlayerID: string(s.PlayerID), GameSessionID: string(s.GameSessionID)}, nil
}
