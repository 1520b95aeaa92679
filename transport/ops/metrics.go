package ops

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"time"
)

// metricsLife is how long an answer to /metrics is good: gathering takes milliseconds of a core, and anybody may ask.
const metricsLife = time.Second

// metricsPage answers with what was gathered last, and gathers once per metricsLife and once at a time: others wait for that.
type metricsPage struct {
	gather http.Handler

	turn   chan struct{} // held by who reads or writes what follows
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
		plain.Header, plain.URL = make(http.Header), &url.URL{Path: r.URL.Path} // one format for all, and no choice of metrics
		p.gather.ServeHTTP(page, plain)
		p.at, p.header, p.status, p.body = time.Now(), page.header, page.status, page.Bytes()
	}
	return p.header, p.status, p.body
}

// gathered is a ResponseWriter that keeps the answer.
type gathered struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (g *gathered) Header() http.Header { return g.header }

// WriteHeader implements http.ResponseWriter.
func (g *gathered) WriteHeader(status int) { g.status = status }
