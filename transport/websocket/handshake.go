package websocket

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/lxzan/gws"

	"troupe/messages/counters"
)

// visitorKey is the context key of the visitor a request came from.
type visitorKey struct{}

// ServeHTTP answers one opening handshake. Exported by need: net/http calls it.
func (d door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, ok := r.Context().Value(visitorKey{}).(*visitor)
	switch {
	case !ok:
		http.Error(w, "not a visitor", http.StatusInternalServerError)
		return
	case d.l.closing():
		v.refuse(counters.RefusedDraining)
		http.Error(w, "the host drains", http.StatusServiceUnavailable)
		return
	case r.URL.Path != "/websocket" && r.URL.Path != "/":
		v.refuse(counters.RefusedPath)
		http.NotFound(w, r)
		return
	}
	if status, text := checkUpgrade(r); status != 0 {
		v.refuse(counters.RefusedHandshake)
		w.Header().Set("Sec-WebSocket-Version", "13")
		http.Error(w, text, status)
		return
	}
	if err := d.upgrade(w, r, v); err != nil {
		v.refuse(counters.RefusedHandshake)
		d.l.opt.Log.Debug().Stringer("remote", addrPort(v.RemoteAddr())).Err(err).Msg("handshake failed")
	}
}

// door is the HTTP handler of a Listener.
type door struct {
	l  *Listener
	up *gws.Upgrader
}

func newDoor(l *Listener) door {
	return door{l: l, up: gws.NewUpgrader(gws.BuiltinEventHandler{}, &gws.ServerOption{
		HandshakeTimeout: l.opt.HeaderTimeout,
		ParallelGolimit:  1,
	})}
}

// checkUpgrade holds a request against RFC 6455 section 4.2.1, where gws is
// lenient or answers less than it could. A status of 0 means all is well. It
// also folds headers that came in several lines into the one line gws looks at.
func checkUpgrade(r *http.Request) (status int, text string) {
	switch {
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "method is not GET"
	case !r.ProtoAtLeast(1, 1):
		return http.StatusBadRequest, "HTTP version below 1.1"
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return http.StatusBadRequest, "request has a body"
	case !hasToken(r.Header.Values("Upgrade"), "websocket") || !hasToken(r.Header.Values("Connection"), "upgrade"):
		return http.StatusUpgradeRequired, "this is a websocket"
	case r.Header.Get("Sec-WebSocket-Version") != "13":
		return http.StatusUpgradeRequired, "websocket version is not 13"
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	if err != nil || len(key) != 16 {
		return http.StatusBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64"
	}
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "Upgrade")
	return 0, ""
}

// hasToken reports whether a comma-separated header holds a token.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for t := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// upgrade takes the socket from net/http, lets gws answer the handshake and
// starts the connection. Bytes that came behind the request are the first of its
// input. The gws connection is thrown away: see the package comment.
func (d door) upgrade(w http.ResponseWriter, r *http.Request, v *visitor) error {
	_, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("hijack: %w", err)
	}
	if _, err := d.up.UpgradeFromConn(v, rw.Reader, r); err != nil {
		return fmt.Errorf("upgrade: %w", err) // gws has answered and closed
	}
	early, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		_ = v.Close()
		return fmt.Errorf("buffered input: %w", err)
	}
	d.l.open(v, early)
	return nil
}
