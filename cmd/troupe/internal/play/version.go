package play

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/aws/smithy-go/encoding/cbor"
)

// answerMax bounds what is looked at of an answer.
const answerMax = 4 << 20

// versions takes from the answers of a host which version of its script a game session runs:
// a member that the original's shapes do not have, so the SDK skips it. On other hosts there
// is none.
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
		return r, nil // the SDK sees it as well
	}
	if answer, err := cbor.Decode(body); err == nil {
		v.learn(answer)
	}
	return r, nil
}

// learn takes an answer with GameSession or GameSessions.
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

// shown is " (version V of the script)", or nothing if that is not known.
func (v *versions) shown(game string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if version := v.of[game]; version != "" {
		return " (version " + version + " of the script)"
	}
	return ""
}
