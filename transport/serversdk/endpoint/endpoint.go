package endpoint

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/internal/rfc6455"
	"troupe/transport/serversdk"
)

// Backend has the processes. Call answers a call of a process: reply is called exactly once, from any goroutine. Do
// answers requests of the service API. Any goroutine may call both.
type Backend interface {
	messages.Doer
	Call(c messages.ProcessCall, reply func(answer any, err error))
}

// Options configure an Endpoint. They must not change.
type Options struct {
	Backend Backend
	// URL is the endpoint's URL for processes, which RefreshConnection names.
	URL string
	// HostURL is the same for the processes that this host has started.
	HostURL string
	// Account and Region are those of the ARNs of matchmaking configurations.
	Account, Region string
	// Secret returns the secret of an access key of the service API, and its session token. ok is false if there is none,
	// or if the key may not connect processes.
	Secret func(accessKey string) (secret, sessionToken string, ok bool)
	// Counters has the counters of the host. Refusals of the Backend are its own to count.
	Counters *counters.Set
	// Taken is called when a connection is no longer one of the HTTP server. It may be nil.
	Taken func(r *http.Request)
	Log   zerolog.Logger
}

const (
	// connectionsMax limits the open connections. A process has two while one of them is being replaced.
	connectionsMax = 60_000
	// processConnectionsMax is the number of connections of one process above which a superseded one ends at once.
	processConnectionsMax = 4
	// handshakeTime limits the Backend's answer to a handshake. SDKs give up after two seconds.
	handshakeTime = 1500 * time.Millisecond
	// requestTime limits the answer to a request. SDKs give up after 20 seconds.
	requestTime = 15 * time.Second
	// endTime limits the answers to the requests that run when the host ends.
	endTime = 2 * time.Second
)

// Endpoint accepts connections. It is safe for concurrent use.
type Endpoint struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	memory memory

	mu      sync.Mutex
	closing bool
	of      map[messages.ProcessID]*peer // processes with a connection, or with answers that may be asked for again
	conns   map[*conn]bool               // also superseded ones
	empty   chan struct{}                // closed when there is no connection; nil until Close waits for that
}

// peer is a process as the endpoint knows it. Endpoint.mu guards the fields but replays.
type peer struct {
	replays replays
	open    int        // connections
	since   time.Time  // when the last one ended
	all     []*conn    // those whose handshake was accepted, oldest first; the Backend has the last one as current
	opening sync.Mutex // held while one is appended to all and the Backend is told, which keeps that order
}

// New returns an Endpoint. Close ends it. Of many log lines at a time it writes some.
func New(o Options) *Endpoint {
	o.Log = o.Log.Sample(&zerolog.BurstSampler{Burst: 100, Period: time.Second, NextSampler: zerolog.RandomSampler(100)})
	e := &Endpoint{o: o, of: make(map[messages.ProcessID]*peer), conns: make(map[*conn]bool)}
	e.memory.large = make(chan struct{}, largeMax)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Drain refuses further handshakes with 503.
func (e *Endpoint) Drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
}

// Close drops each connection without a close frame once the requests that run on it are answered, but after endTime at the
// latest, so that the processes connect again (server-sdk.md 12.4). It returns when their goroutines have ended. Meanwhile
// handshakes are refused with 503.
func (e *Endpoint) Close() {
	e.Drain()
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.conns))
	empty := make(chan struct{})
	e.empty = empty
	e.tellEmpty()
	e.mu.Unlock()
	for _, c := range all {
		c.finish()
	}
	limit := time.NewTimer(endTime)
	defer limit.Stop()
	select {
	case <-empty:
	case <-limit.C:
	}
	e.mu.Lock()
	e.cancel() // nothing begins in the background from now on
	e.mu.Unlock()
	for _, c := range all {
		c.drop()
	}
	e.work.Wait()
}

// tellEmpty tells Close that no connection is left. The caller holds mu.
func (e *Endpoint) tellEmpty() {
	if e.empty != nil && len(e.conns) == 0 {
		close(e.empty)
		e.empty = nil
	}
}

// ServeHTTP implements http.Handler: the handshake (server-sdk.md 5.1).
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, text := checkUpgrade(r); status != 0 {
		e.count(counters.ServerMalformed)
		w.Header().Set("Sec-WebSocket-Version", "13")
		refuse(w, status, text)
		return
	}
	h, refused := serversdk.ParseHandshake(r.URL.RawQuery)
	if refused != nil {
		e.count(counters.ServerMalformed)
		refuse(w, refused.Status, refused.Text)
		return
	}
	c, reason, why := e.admit(&h)
	if why != nil {
		e.count(reason)
		e.refused(w, &h, why)
		return
	}
	q := e.credentials(&h)
	if err := e.authorize(r.Context(), c, q); err != nil {
		e.forget(c)
		e.refused(w, &h, err)
		return
	}
	if err := c.upgrade(w, r); err != nil {
		c.drop()
		e.forget(c)
		e.o.Log.Debug().Err(err).Str("process", c.id.String()).Msg("handshake failed")
		return
	}
	if e.o.Taken != nil {
		e.o.Taken(r)
	}
	e.o.Log.Info().Str("process", c.id.String()).Str("remote", r.RemoteAddr).Str("sdk", h.SDKLanguage+" "+h.SDKVersion).Msg("server process connected")
	c.start(q)
}

func (e *Endpoint) count(why counters.ServerRefusal) { e.o.Counters.ServerRefused.Add(why, 1) }

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Connection", "close")
	http.Error(w, text, status)
}

// refused answers a handshake that is refused. The log never has the query, which has the token.
func (e *Endpoint) refused(w http.ResponseWriter, h *serversdk.Handshake, err error) {
	status, text := http.StatusServiceUnavailable, "The host cannot answer now."
	var why *messages.ProcessRefusal
	if errors.As(err, &why) {
		status, text = why.Status, why.Text
	}
	e.o.Log.Info().Str("fleet_id", h.FleetID).Str("compute", h.ComputeID).Str("process", h.ProcessID).Int("status", status).Str("reason", text).Msg("handshake of a server process refused")
	refuse(w, status, text)
}

// admit makes the connection of a handshake, which is counted from now on.
func (e *Endpoint) admit(h *serversdk.Handshake) (*conn, counters.ServerRefusal, error) {
	c := &conn{e: e, golang: h.Go(), id: messages.ProcessID{FleetID: messages.FleetID(h.FleetID), Compute: h.ComputeID, Name: h.ProcessID}}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		return nil, counters.ServerDraining, messages.RefuseProcess(http.StatusServiceUnavailable, "The host is shutting down.")
	case len(e.conns) >= connectionsMax:
		return nil, counters.ServerHostFull, messages.RefuseProcess(http.StatusServiceUnavailable, "There are %d connections already.", connectionsMax)
	}
	e.conns[c] = true
	p := e.of[c.id]
	if p == nil {
		e.sweep()
		p = new(peer)
		e.of[c.id] = p
	}
	p.open++
	c.peer = p
	return c, 0, nil
}

// credentials returns what the Backend decides a handshake on.
func (e *Endpoint) credentials(h *serversdk.Handshake) messages.OpenProcess {
	q := messages.OpenProcess{Language: h.SDKLanguage}
	if h.SigV4 == nil {
		sum := sha256.Sum256([]byte(h.Token))
		q.TokenSHA256 = hex.EncodeToString(sum[:])
		return q
	}
	q.Signature = h.SigV4.Signature
	secret, session, ok := e.o.Secret(h.SigV4.AccessKey())
	q.Signed = ok && session == h.SigV4.SecurityToken && h.Verify(secret, e.o.Region, time.Now())
	return q
}

// authorize asks the Backend whether the handshake may be accepted. An answer that comes too late changes nothing.
func (e *Endpoint) authorize(ctx context.Context, c *conn, q messages.OpenProcess) error {
	if q.TokenSHA256 == "" && !q.Signed && q.Signature == "" {
		e.count(counters.ServerSignature)
		return messages.RefuseProcess(http.StatusForbidden, "The signature is not valid.")
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	done := make(chan error, 1)
	q.Asks = true
	c.call(q, func(_ any, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		e.count(counters.ServerLate)
		return ctx.Err()
	}
}

// accept tells the Backend of a connection whose handshake is accepted.
func (e *Endpoint) accept(c *conn, q messages.OpenProcess) {
	p := c.peer
	p.opening.Lock()
	defer p.opening.Unlock()
	e.mu.Lock()
	p.all = append(p.all, c)
	e.mu.Unlock()
	c.call(q, func(_ any, err error) {
		if err != nil { // decided otherwise since it was asked
			c.drop()
		}
	})
}

// forget stops counting a connection. If it was the newest one of its process, former is the one before, if that is open.
func (e *Endpoint) forget(c *conn) (former *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.conns[c] {
		return nil
	}
	delete(e.conns, c)
	e.tellEmpty()
	p := c.peer
	p.since = time.Now()
	if p.open--; p.open == 0 && p.replays.empty() {
		delete(e.of, c.id)
	}
	i := slices.Index(p.all, c)
	if i < 0 {
		return nil
	}
	p.all = slices.Delete(p.all, i, i+1)
	if i == 0 || i < len(p.all) {
		return nil
	}
	return p.all[i-1]
}

// forgetAnswers forgets the answers that the process of c may ask for again: there is no such process any more. A client that
// connects with ever new ids leaves nothing here.
func (e *Endpoint) forgetAnswers(c *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[c.id] == c.peer && c.peer.open == 0 {
		delete(e.of, c.id)
	}
}

// crowded reports whether a process connects again and again.
func (e *Endpoint) crowded(p *peer) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return p.open > processConnectionsMax
}

// sweep forgets processes that have had no connection for replayTime. It looks at a few of them for each new process, so
// there are never many. The caller holds mu.
func (e *Endpoint) sweep() {
	n, now := 0, time.Now()
	for id, p := range e.of {
		if p.open == 0 && now.Sub(p.since) > replayTime {
			delete(e.of, id)
		}
		if n++; n == 8 {
			return
		}
	}
}

// checkUpgrade checks a request by RFC 6455 section 4.2.1. Status 0 means that it is valid.
func checkUpgrade(r *http.Request) (status int, text string) {
	switch {
	case !hasToken(r.Header.Values("Upgrade"), "websocket") || !hasToken(r.Header.Values("Connection"), "upgrade"), r.Header.Get("Sec-WebSocket-Version") != "13", !r.ProtoAtLeast(1, 1), r.ProtoMajor != 1:
		return http.StatusUpgradeRequired, "This is the WebSocket endpoint of the GameLift Server SDK."
	case r.Method != http.MethodGet || r.ContentLength != 0:
		return http.StatusBadRequest, "A handshake is a GET without a body."
	case len(r.Header.Get("Sec-WebSocket-Key")) != 24:
		return http.StatusBadRequest, "Sec-WebSocket-Key is not 16 bytes in base64."
	}
	return 0, ""
}

// hasToken reports whether a comma-separated header contains a token.
func hasToken(values []string, token string) bool {
	for t := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.EqualFold(strings.TrimSpace(t), token) {
			return true
		}
	}
	return false
}

// upgrade takes the connection from the HTTP server and accepts the handshake. The large buffers of the HTTP server are
// left to it, because there may be very many connections.
func (c *conn) upgrade(w http.ResponseWriter, r *http.Request) error {
	if c.hasEnded() {
		refuse(w, http.StatusServiceUnavailable, "The host is shutting down.")
		return net.ErrClosed
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		refuse(w, http.StatusHTTPVersionNotSupported, "The endpoint needs HTTP/1.1.")
		return errors.New("the connection cannot be taken over")
	}
	nc, buffered, err := hijacker.Hijack()
	if err != nil {
		return err
	}
	_ = nc.SetDeadline(time.Time{})
	early := make([]byte, buffered.Reader.Buffered())
	_, _ = buffered.Reader.Read(early)
	_ = nc.SetWriteDeadline(time.Now().Add(writeTime))
	_, err = nc.Write(rfc6455.AppendAccepted(nil, []byte(r.Header.Get("Sec-WebSocket-Key"))))
	_ = nc.SetWriteDeadline(time.Time{})
	c.mu.Lock()
	c.nc = nc
	ended := c.ended
	c.mu.Unlock()
	if err != nil || ended {
		_ = nc.Close()
		return errors.Join(err, net.ErrClosed)
	}
	c.in = bufio.NewReaderSize(&ahead{early, nc}, readBuffer)
	return nil
}

// ahead reads the bytes that came with the handshake before those of the connection.
type ahead struct {
	first []byte
	net.Conn
}

// Read implements io.Reader.
func (e *ahead) Read(b []byte) (int, error) {
	if len(e.first) > 0 {
		n := copy(b, e.first)
		if e.first = e.first[n:]; len(e.first) == 0 {
			e.first = nil
		}
		return n, nil
	}
	return e.Conn.Read(b)
}
