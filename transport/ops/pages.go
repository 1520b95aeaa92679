package ops

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/actors"
	"troupe/actors/cluster"
	"troupe/messages/counters"
)

// Options configures Pages.
type Options struct {
	Counters *counters.Set
	System   *actors.System
	Logs     *Logs        // nil: logs of game sessions are not served
	Events   http.Handler // serves GET /events; nil: it is not served
	Drains   Drainer      // drains the host at /debug/drain; nil: the page is not served
	Acted    Acted        // called after an operator's action at /debug/drain; required with Drains
	// Queued returns the bytes in the queues of all players, and their limit. Nil: there is no such metric.
	Queued func() (used, most int64)
	// StoreBytes returns the size of the store's files. Nil: the store has no files.
	StoreBytes func() (int64, error)
	// CertificateEnds returns when the served certificate expires, and when the certificate expires that only
	// the operator can replace. Nil: the host has no certificate.
	CertificateEnds func() (served, operator time.Time)
	Cluster         *cluster.Node // nil: the host is no node of a cluster
	Version         string        // value of a label of troupe_build_info
}

// Pages are the operator's pages. They are safe for concurrent use.
type Pages struct {
	ready   atomic.Bool
	o       Options
	metrics http.Handler
}

// New returns the pages of a host. At first, /readyz reports that the host is not ready.
func New(o Options) *Pages {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newCollector(o),
	)
	return &Pages{o: o, metrics: newMetricsPage(promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))}
}

// SetReady sets whether the host accepts players.
func (p *Pages) SetReady(ready bool) { p.ready.Store(ready) }

// Mux returns a handler that serves the pages. It passes all other requests to next.
func (p *Pages) Mux(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !p.ready.Load():
			answer(w, http.StatusServiceUnavailable, "draining")
		case p.o.Counters.StoreFailing.Load() != 0:
			answer(w, http.StatusServiceUnavailable, "the store cannot write")
		case p.o.Cluster != nil && p.o.Cluster.CutOff():
			answer(w, http.StatusServiceUnavailable, "this host does not reach etcd, and another one does")
		default:
			answer(w, http.StatusOK, "ready")
		}
	})
	mux.Handle("GET /metrics", p.metrics)
	if p.o.Logs != nil {
		mux.HandleFunc("GET "+logPath, p.o.Logs.serveSigned)
		mux.HandleFunc("GET "+debugLogPath, p.o.Logs.serveDebug)
	}
	if p.o.Events != nil {
		mux.Handle("GET /events", p.o.Events)
	}
	if p.o.Drains != nil {
		registerDrain(mux, p.o.Drains, p.o.Acted)
	}
	registerProfiles(mux)
	mux.Handle("/", next)
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write([]byte(text + "\n"))
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}
