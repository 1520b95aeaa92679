package play

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/aws/smithy-go/encoding/cbor"
)

// answerMax bounds the bytes of an answer that are read.
const answerMax = 4 << 20

// versions reads from the answers of a host which version of its script a game session
// runs. GameLift has no such member, so the SDK skips it.
type versions struct {
	next http.RoundTripper

	mu sync.Mutex
	of map[string]string // by game session
}

// RoundTrip implements http.RoundTripper.
func (v *versions) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := v.next.RoundTrip(q)
	if err != nil || r.Header.Get("Content-Type") != "application/cbor" || r.ContentLength > answerMax {
		return r, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, answerMax))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	if err != nil {
		return r, nil // the SDK meets the same error
	}
	if answer, err := cbor.Decode(body); err == nil {
		v.learn(answer)
	}
	return r, nil
}

// learn reads an answer with GameSession or GameSessions.
func (v *versions) learn(answer cbor.Value) {
	m, _ := answer.(cbor.Map)
	list, _ := m["GameSessions"].(cbor.List)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range append(list, m["GameSession"]) {
		g, _ := one.(cbor.Map)
		id, _ := g["GameSessionId"].(cbor.String)
		if version, ok := g["ScriptVersion"].(cbor.String); ok && len(v.of) < seatsMax {
			v.of[string(id)] = string(version)
		}
	}
}

// shown returns " (version V of the script)", or "" if the version is unknown.
func (v *versions) shown(game string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version := v.of[game]; version != "" {
		return " (version " + version + " of the script)"
	}
	return ""
}
