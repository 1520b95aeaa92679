package host

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/store"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/awswire"
	"troupe/transport/ops"
	"troupe/transport/serviceapi"
)

// startAPI serves the service API and the operator's pages on one address.
func (h *Host) startAPI(o Options) error {
	c := &o.Config
	if err := h.reloads.loadSecrets(c); err != nil {
		return err
	}
	auth := awswire.Authenticator(h.reloads.authenticate)
	proxies, err := transport.ParseProxies(c.API.Proxies)
	if err != nil {
		return fmt.Errorf("host: api.proxies: %w", err)
	}
	conns := newAPIConns(h.api, proxies)
	h.api = conns
	scheme := "http"
	if c.API.TLS {
		scheme, h.api = "https", tls.NewListener(h.api, h.listeners.certs.ServerConfig())
	}
	h.addrs.APIURL = scheme + "://" + h.api.Addr().String()
	public, err := c.reachable(h.api.Addr())
	if err != nil {
		return err
	}
	logs := ops.NewLogs(h.logs, scheme+"://"+public, time.Now)
	if n := h.node; n != nil {
		key, err := n.secret(logsSecret)
		if err != nil {
			return fmt.Errorf("host: service API: %w", err)
		}
		logs.Share(key, n.logElsewhere)
	}
	pages, err := h.pageKey(o.Log)
	if err != nil {
		return fmt.Errorf("host: service API: %w", err)
	}
	if err := h.startServerSDK(o, scheme, public, proxies); err != nil {
		return err
	}
	builds, token := h.uploads(c, pages, o.Log)
	api, err := serviceapi.New(serviceapi.Options{
		Backend: h.Doer(), Region: c.Region, Account: c.Account, Log: o.Log, Counters: h.count, LogURL: logs.URL, Authenticator: auth, PageKey: pages,
		ServerSDK: h.addrs.ServerSDK, UploadToken: token,
	})
	if err != nil {
		return fmt.Errorf("host: service API: %w", err)
	}
	stream := c.guard(auth).events(h.reloads.streamToken, c.API.TrustLoopback, h.events)
	options := ops.Options{
		Counters: h.count, System: h.system, Version: o.Version, Logs: logs, Events: stream, Drains: h,
		Acted:  func(r *http.Request, action, target, result string) { h.console.Report(r, action, target, result) },
		Queued: h.queued.Figures, StoreBytes: c.Store.size(),
	}
	if h.listeners.certs != nil {
		options.CertificateEnds = h.listeners.certs.Ends
	}
	if h.node != nil {
		options.Cluster = h.node.self
	}
	h.ops = ops.New(options)
	h.console = h.newConsole(o, auth, proxies, logs)
	h.http = newAPIServer(conns.handler(h.serverSDKPages(builds(c.guard(auth).debugPages(h.console.Mux(h.ops.Mux(h.webPages(&o, c.guard(auth), api))))))))
	h.http.ConnContext = rememberConn
	h.http.ErrorLog = listenerLog(o.Log, "api")
	return nil
}

func listenerLog(l zerolog.Logger, name string) *log.Logger {
	return log.New(httpLog{l.With().Str("listener", name).Logger()}, "", 0)
}

// httpLog logs the messages of net/http. Failed TLS handshakes are logged at info level, because any stranger
// can cause them.
type httpLog struct{ zerolog.Logger }

// Write implements io.Writer.
func (l httpLog) Write(line []byte) (int, error) {
	level := zerolog.WarnLevel
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = zerolog.InfoLevel
	}
	l.WithLevel(level).Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// pageKey returns the key that signs page tokens: that of the cluster, or the host's own.
func (h *Host) pageKey(log zerolog.Logger) ([]byte, error) {
	if n := h.node; n != nil {
		return n.secret(pagesSecret)
	}
	return pageKey(h.store, log, h.count)
}

// pageKey returns the host's own key that signs page tokens. It is stored, so page tokens stay valid across restarts of
// the host.
func pageKey(s store.Store, log zerolog.Logger, count *counters.Set) ([]byte, error) {
	const id, size = "page-tokens", 32
	var key []byte
	damaged, err := s.Load(store.Secret, func(name string, value []byte) error {
		if name == id {
			key = slices.Clone(value)
		}
		return nil
	})
	if key != nil && len(key) != size {
		damaged = append(damaged, store.Damage{Kind: store.Secret, ID: id, Err: fmt.Errorf("has %d bytes, and must have %d", len(key), size)})
	}
	actors.ReportDamaged(log, count, damaged)
	if err != nil || len(key) == size {
		return key, err
	}
	key = make([]byte, size)
	_, _ = rand.Read(key) // never fails
	s.Commit([]store.Change{{Kind: store.Secret, ID: id, Value: key}}, nil)
	return key, nil
}

// newAPIServer returns a server that limits the time and the header bytes of each request.
func newAPIServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 60 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}
