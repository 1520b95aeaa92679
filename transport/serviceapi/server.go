package serviceapi

import (
	"context"
	"net/http"

	"troupe/messages"
	"troupe/transport/awswire"
)

// Server is the service API as an http.Handler. Create it with New. It is safe for concurrent use and needs
// no closing.
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

// do sends a request to the Backend. If err, the error of converting the input, is not nil, it only returns
// err.
func do[A any](ctx context.Context, s *Server, err error, q messages.RequestOf[A]) (answer A, _ error) {
	if err != nil {
		return answer, err
	}
	return messages.Do(ctx, s.options.Backend, q)
}

// ask is do with the answer converted by show.
func ask[A, S any](ctx context.Context, s *Server, err error, q messages.RequestOf[A], show func(A) *S) (*S, error) {
	answer, err := do(ctx, s, err, q)
	if err != nil {
		return nil, err
	}
	return show(answer), nil
}

// run is do for a request that has no answer.
func (s *Server) run(ctx context.Context, err error, q messages.RequestOf[messages.None]) error {
	_, err = do(ctx, s, err, q)
	return err
}
