package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
	"troupe/messages/tracing"
)

const (
	queueMax = 2048 // spans that wait
	batchMax = 512  // spans of one request
	textMax  = 512  // bytes of a string
	every    = time.Second
	// patience is how long a collector may take for a request.
	patience = 5 * time.Second
	// closeMax is how long the end of the host waits for the collector.
	closeMax = time.Second
)

// Options configure an Exporter.
type Options struct {
	// Endpoint is the collector's URL, to which /v1/traces is added (see Check), unless it is Whole.
	Endpoint string
	Whole    bool
	// Headers are sent with each request. Their values are secrets.
	Headers []Header
	// Resource are further attributes of the host, which override its own service.name and service.version.
	Resource []tracing.Attribute
	Version  string // of the host
	// DialContext opens connections to the collector; nil: the operating system's, through a proxy of the environment.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	Log         zerolog.Logger
	Counters    *counters.Set
}

// Check returns why an endpoint cannot be one.
func Check(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("must be a URL like http://127.0.0.1:4318")
	}
	return err
}

// Exporter sends spans to a collector from a goroutine of its own, until Close.
type Exporter struct {
	o        Options
	url      string
	resource []tracing.Attribute
	client   http.Client
	queue    chan *tracing.Span
	closing  chan struct{}
	closed   sync.Once
	over     chan struct{} // closed when the goroutine has ended
	ctx      context.Context
	cut      context.CancelFunc

	failing bool // owned by the goroutine: the last request has failed
}

// New starts an Exporter. It does not wait for the collector.
func New(o Options) (*Exporter, error) {
	if err := Check(o.Endpoint); err != nil {
		return nil, fmt.Errorf("otlp: %w", err)
	}
	for _, h := range o.Headers {
		if err := h.Check(); err != nil {
			return nil, fmt.Errorf("otlp: a header: %w", err)
		}
	}
	pool := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1}
	if o.DialContext != nil {
		pool.Proxy, pool.DialContext = nil, o.DialContext
	}
	e := &Exporter{
		o: o, url: o.Endpoint, resource: attributesOf(o.Version, o.Resource),
		client: http.Client{Timeout: patience, CheckRedirect: stay, Transport: pool},
		queue:  make(chan *tracing.Span, queueMax), closing: make(chan struct{}), over: make(chan struct{}),
	}
	if !o.Whole {
		e.url = strings.TrimSuffix(o.Endpoint, "/") + "/v1/traces"
	}
	e.ctx, e.cut = context.WithCancel(context.Background())
	go e.run()
	return e, nil
}

// stay refuses redirects to another server: it would get the headers with their secrets.
func stay(to *http.Request, via []*http.Request) error {
	if to.URL.Scheme != via[0].URL.Scheme || to.URL.Host != via[0].URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Record takes a span, and never blocks. Any goroutine may call it, also after Close.
func (e *Exporter) Record(s *tracing.Span) {
	select {
	case e.queue <- s:
	default:
		e.o.Counters.TraceSpansDropped.Add(1)
	}
}

// Close sends what waits, for closeMax at most, and ends the Exporter. It is idempotent.
func (e *Exporter) Close() {
	e.closed.Do(func() {
		close(e.closing)
		late := time.AfterFunc(closeMax, e.cut)
		<-e.over
		late.Stop()
		e.cut()
		e.client.CloseIdleConnections()
	})
}

func (e *Exporter) run() {
	defer close(e.over)
	tick := time.NewTicker(every)
	defer tick.Stop()
	batch := make([]*tracing.Span, 0, batchMax)
	send := func() {
		if len(batch) > 0 {
			e.send(batch)
			clear(batch)
			batch = batch[:0]
		}
	}
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) == batchMax {
				send()
			}
		case <-tick.C:
			send()
		case <-e.closing:
			for more := true; more; {
				select {
				case s := <-e.queue:
					if batch = append(batch, s); len(batch) == batchMax {
						send()
					}
				default:
					more = false
				}
			}
			send()
			return
		}
	}
}

// send sends a batch once: a trace is not worth more memory and time than that.
func (e *Exporter) send(batch []*tracing.Span) {
	err := e.post(encode(e.resource, batch))
	if err == nil {
		e.o.Counters.TraceSpans.Add(int64(len(batch)))
	} else {
		e.o.Counters.TraceSpansDropped.Add(int64(len(batch)))
	}
	switch failing := err != nil; {
	case failing && !e.failing:
		e.o.Log.Warn().Err(err).Str("endpoint", e.o.Endpoint).Msg("the collector of traces takes no spans: they are dropped")
	case !failing && e.failing:
		e.o.Log.Info().Str("endpoint", e.o.Endpoint).Msg("the collector of traces takes spans again")
	}
	e.failing = err != nil
}

func (e *Exporter) post(body []byte) error {
	req, err := http.NewRequestWithContext(e.ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range e.o.Headers {
		req.Header.Set(h.Name, h.Value)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection may be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// clean makes a string what a collector takes.
func clean(s string) string {
	if len(s) > textMax {
		s = s[:textMax]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
