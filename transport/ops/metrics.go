package ops

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// metricsLife is how long a response of /metrics is cached. Gathering metrics takes milliseconds of CPU time,
// and anybody may request them.
const metricsLife = time.Second

// metricsPage responds with cached metrics. It gathers at most once per metricsLife. Concurrent requests wait
// for the one that gathers.
type metricsPage struct {
	gather http.Handler

	turn   chan struct{} // mutex for the fields below
	at     time.Time
	header http.Header
	status int
	body   []byte
}

func newMetricsPage(gather http.Handler) *metricsPage {
	return &metricsPage{gather: gather, turn: make(chan struct{}, 1)}
}

// ServeHTTP implements http.Handler.
func (p *metricsPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header, status, body := p.current(r)
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (p *metricsPage) current(r *http.Request) (http.Header, int, []byte) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.header == nil || time.Since(p.at) >= metricsLife {
		page := &gathered{header: make(http.Header), status: http.StatusOK}
		plain := r.Clone(r.Context())
		// the cached response has one format for all clients, and contains all metrics
		plain.Header, plain.URL = make(http.Header), &url.URL{Path: r.URL.Path}
		p.gather.ServeHTTP(page, plain)
		p.at, p.header, p.status, p.body = time.Now(), page.header, page.status, page.Bytes()
	}
	return p.header, p.status, p.body
}

// gathered is a ResponseWriter that stores the response.
type gathered struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (g *gathered) Header() http.Header { return g.header }

// WriteHeader implements http.ResponseWriter.
func (g *gathered) WriteHeader(status int) { g.status = status }
