package server

import (
	"context"
	"net/http"
)

// API is the service API of a running host, for callers of many operations at once. Its methods may be called from any goroutine.
type API struct{ api }

// API returns one that keeps up to conns connections.
func (p *Process) API(conns int) *API {
	a := p.api()
	a.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}}
	return &API{a}
}

// Call does one operation, AWS JSON 1.1 without signature.
func (a *API) Call(ctx context.Context, operation string, in, out any) error {
	return a.call(ctx, operation, in, out)
}

// Close closes its idle connections.
func (a *API) Close() { a.client.CloseIdleConnections() }
