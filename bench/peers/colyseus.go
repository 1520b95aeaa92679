package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"troupe/bench/loadgen"
)

// Protocol bytes of Colyseus 0.18 (packages/shared-types, Protocol).
const (
	colyseusJoinRoom = 10
	colyseusError    = 11
	colyseusBytes    = 17 // ROOM_DATA_BYTES: followed by the message type and raw bytes
)

// colyseusType is the message type "m" as @colyseus/schema encodes strings.
const colyseusType = "\xa1m"

const (
	colyseusConns      = 64          // idle connections for seat reservations
	colyseusIdle       = time.Second // below the five seconds after which Node.js closes an idle connection
	colyseusAnswerMax  = 64 << 10
	colyseusAnswerText = 200 // maximum length of an error text
)

// colyseus maps room numbers to Colyseus room ids. The first player of a room creates it. The others join by its id.
type colyseus struct {
	http *http.Client

	mu    sync.Mutex // guards rooms
	rooms map[int]*colyseusRoom
}

// colyseusRoom is a room that its first player creates. The other players wait for its id.
type colyseusRoom struct {
	once  sync.Once
	first seat
	err   error
}

// seat holds the required fields of the matchmaker's answer.
type seat struct {
	SessionID string `json:"sessionId"`
	RoomID    string `json:"roomId"`
	ProcessID string `json:"processId"`
}

func newColyseus() loadgen.Protocol {
	return &colyseus{
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: colyseusConns, IdleConnTimeout: colyseusIdle}},
		rooms: make(map[int]*colyseusRoom),
	}
}

// Path asks the matchmaker to reserve a seat.
func (c *colyseus) Path(ctx context.Context, addr string, login loadgen.Login) (string, error) {
	c.mu.Lock()
	room := c.rooms[login.Room]
	if room == nil {
		room = new(colyseusRoom)
		c.rooms[login.Room] = room
	}
	c.mu.Unlock()
	first := false
	room.once.Do(func() {
		first = true
		room.first, room.err = c.reserve(ctx, addr, "create/relay")
	})
	s, err := room.first, room.err
	if err == nil && !first {
		s, err = c.reserve(ctx, addr, "joinById/"+url.PathEscape(s.RoomID))
	}
	if err != nil {
		return "", err
	}
	return "/" + s.ProcessID + "/" + s.RoomID + "?sessionId=" + url.QueryEscape(s.SessionID), nil
}

func (c *colyseus) reserve(ctx context.Context, addr, what string) (s seat, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/matchmake/"+what, bytes.NewReader([]byte("{}")))
	if err != nil {
		return s, err
	}
	req.Header.Set("Content-Type", "application/json")
	// Setting this key lets net/http retry the request if the server has closed the idle connection. A retry is safe,
	// because an unused seat expires.
	req.Header["X-Idempotency-Key"] = nil
	res, err := c.http.Do(req)
	if err != nil {
		return s, fmt.Errorf("matchmake: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, colyseusAnswerMax))
	if err != nil {
		return s, fmt.Errorf("matchmake: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return s, fmt.Errorf("matchmake: %s: %.*s", res.Status, colyseusAnswerText, text)
	}
	return parseSeat(text)
}

func parseSeat(text []byte) (s seat, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("matchmake: %w", err)
	}
	if s.RoomID == "" || s.SessionID == "" || s.ProcessID == "" {
		return s, fmt.Errorf("matchmake: no seat in the answer %.*s", colyseusAnswerText, text)
	}
	return s, nil
}

// Hello returns nil, because the room sends first.
func (*colyseus) Hello(loadgen.Login) []byte { return nil }

// Joining waits for JOIN_ROOM and confirms it.
func (*colyseus) Joining(_ loadgen.Login, message []byte) (answers [][]byte, joined bool, err error) {
	switch {
	case len(message) == 0:
		return nil, false, errors.New("an empty message")
	case message[0] == colyseusError:
		return nil, false, fmt.Errorf("the room refuses: %.*q", colyseusAnswerText, message[1:])
	case message[0] != colyseusJoinRoom:
		return nil, false, nil
	}
	return [][]byte{{colyseusJoinRoom}}, true, nil
}

// Message implements loadgen.Protocol.
func (*colyseus) Message(payload []byte) []byte {
	return append(append([]byte{colyseusBytes}, colyseusType...), payload...)
}

// Next returns the whole message, because Colyseus puts only one part into each.
func (*colyseus) Next(message []byte) (part loadgen.Part, rest []byte, err error) {
	if len(message) > len(colyseusType) && message[0] == colyseusBytes && string(message[1:1+len(colyseusType)]) == colyseusType {
		part.Payload = message[1+len(colyseusType):]
	}
	return part, nil, nil
}
