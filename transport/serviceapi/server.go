package serviceapi

import (
	"context"
	"net/http"

	"troupe/messages"
	"troupe/transport/awswire"
)

// Server is the service API as an http.Handler. New makes it. It is safe for concurrent use
// and needs no closing.
type Server struct {
	options Options
	wire    *awswire.Server
	pager   *pager
	arns    arns
}

// New checks the options and returns a Server.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Server{options: o, pager: newPager(o.PageKey), arns: arns{region: o.Region, account: o.Account}}
	s.wire = awswire.New(awswire.Options{
		Operations: s.operations(), Fault: fault, Authenticator: o.Authenticator, Log: o.Log, Now: o.Now,
		Requests: &o.Counters.APIRequests, Errors: &o.Counters.APIErrors, Called: o.Counters.CountCall,
		WithReplayKey: messages.WithReplayKey,
	})
	return s, nil
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.wire.ServeHTTP(w, r) }

// ask has a request answered by the Backend, and shows the answer.
func ask[A, S any](ctx context.Context, s *Server, q messages.RequestOf[A], show func(A) *S) (*S, error) {
	answer, err := messages.Do(ctx, s.options.Backend, q)
	if err != nil {
		return nil, err
	}
	return show(answer), nil
}

// run has a request carried out by the Backend.
func (s *Server) run(ctx context.Context, q messages.RequestOf[messages.None]) error {
	return messages.Run(ctx, s.options.Backend, q)
}
