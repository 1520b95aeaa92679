package awswire

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// Options configures a Server. Every field is required unless its comment says otherwise.
type Options struct {
	Operations []Operation // operations of the service, with unique names
	// Fault translates an error of a handler to one of the errors that its operation declares. If it returns
	// nil, the response is an internal fault. A nil Fault translates no error.
	Fault func(declared string, err error) *Fault
	// Authenticator identifies callers. Default: Anyone.
	Authenticator Authenticator
	// WithReplayKey returns a handler's context with the replay key added. All attempts of one call have the
	// same key. Nil means that no handler uses the key.
	WithReplayKey func(ctx context.Context, key string) context.Context
	Log           zerolog.Logger   // gets a debug line for each request and an error line for each internal fault
	Now           func() time.Time // clock of Date headers and of the stored responses; default time.Now
	// Requests counts all requests, and Errors the requests that were answered with an error.
	Requests, Errors *atomic.Int64
	// Called is called after each response, with the operation ("" if unknown), the duration, and the type of
	// the error ("" on success).
	Called func(operation string, took time.Duration, fault string)
}

// Server is an http.Handler that serves the operations. It is safe for concurrent use and needs no closing.
type Server struct {
	options Options
	table   map[string]*Operation
	replays replays
	bodies  atomic.Int64 // announced bytes of all bodies that are being read
}

// New returns a Server with its defaults filled in.
func New(o Options) *Server {
	if o.Authenticator == nil {
		o.Authenticator = Anyone
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, table: make(map[string]*Operation, len(o.Operations)), replays: newReplays(o.Now)}
	for i := range o.Operations {
		s.table[o.Operations[i].Name] = &o.Operations[i]
	}
	return s
}

const writeTimeout = 30 * time.Second // maximum time for a caller to read a response

type answer struct {
	codec codec
	body  []byte
	fault *Fault // nil on success
}

// ServeHTTP answers one call. Every response has a request id and the server's time. If a handler panics, the
// panic is logged and the response is an internal fault.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.options.Now()
	id := uuid.NewString()
	sel := detect(r)
	s.options.Requests.Add(1)

	a := s.answer(r, &sel, id)
	status := http.StatusOK
	if a.fault != nil {
		status = a.fault.Status
		s.options.Errors.Add(1)
		if a.fault.Cause != nil {
			s.options.Log.Error().Err(a.fault.Cause).Str("request_id", id).Str("operation", Clip(sel.operation)).
				Msg("api request failed")
		}
	}
	took := s.options.Now().Sub(start)
	s.called(&sel, took, a.fault)
	s.options.Log.Debug().Str("request_id", id).Str("operation", Clip(sel.operation)).Str("key", sel.caller.shortKey()).Int("status", status).
		Dur("took_ms", took).Msg("api request")
	a.write(w, id, start) // last: when the caller has the response, the log line and the counters must be complete
}

// called reports a request to Options.Called. It leaves out unknown operation names, because callers could
// create any number of them.
func (s *Server) called(sel *selected, took time.Duration, fault *Fault) {
	operation, kind := "", ""
	if op := s.table[sel.operation]; op != nil {
		operation = op.Name
	}
	if fault != nil {
		kind = fault.Code
	}
	s.options.Called(operation, took, kind)
}

// answer performs the steps that the package comment lists.
func (s *Server) answer(r *http.Request, sel *selected, id string) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Log.Error().Str("request_id", id).Str("operation", Clip(sel.operation)).
				Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("api handler panicked")
			a = answer{codec: sel.codec, fault: Internal(fmt.Errorf("panic: %v", p))}
		}
	}()
	body, declared, err := s.serve(r, sel)
	if err != nil {
		return answer{codec: sel.codec, fault: s.fault(declared, err)}
	}
	return answer{codec: sel.codec, body: body}
}

// serve returns the body of a successful response, and the errors that the operation declares.
func (s *Server) serve(r *http.Request, sel *selected) (out []byte, declared string, err error) {
	if r.Method != http.MethodPost {
		return nil, "", &Fault{Status: http.StatusMethodNotAllowed, Code: unknownOperation, Text: "the service API takes POST only"}
	}
	op, known := s.table[sel.operation]
	most := int64(bodyMax)
	if known {
		most = op.BodyMax
	}
	body, caller, err := s.received(r, most)
	if err != nil {
		return nil, "", err
	}
	sel.caller = caller
	switch {
	case sel.operation == "":
		return nil, "", BadRequest(unknownOperation, "the request names no operation: it needs the header X-Amz-Target, "+
			"or smithy-protocol and a path that ends with service/GameLift/operation/ and the name")
	case !known:
		return nil, "", BadRequest(unknownOperation, "the service has no operation "+strconv.Quote(Clip(sel.operation)))
	}
	if err := caller.admit(op.Name, s.options.Now()); err != nil {
		return nil, "", err
	}
	r = r.WithContext(context.WithValue(r.Context(), callerOf{}, caller))
	out, err = s.once(r, op, sel.codec, caller, body)
	return out, op.Declared, err
}

// received authenticates the caller and reads the body. If the headers are refused, no memory is used for the
// body.
func (s *Server) received(r *http.Request, most int64) ([]byte, Caller, error) {
	if r.ContentLength > most {
		return nil, Caller{}, tooLarge(r, most)
	}
	proof, err := s.options.Authenticator(r)
	if err != nil {
		drain(r)
		return nil, Caller{}, err
	}
	size := most // assume the maximum if the length is unknown
	if r.ContentLength >= 0 {
		size = r.ContentLength
	}
	if size <= bodySmall {
		size = 0
	}
	if s.bodies.Add(size) > bodiesMax {
		s.bodies.Add(-size)
		drain(r)
		return nil, Caller{}, Throttled("the host reads as many request bodies as it can")
	}
	body, err := readBody(r, most)
	s.bodies.Add(-size)
	if err != nil {
		return nil, Caller{}, err
	}
	caller, err := proof(body)
	if err != nil {
		return nil, Caller{}, err
	}
	return body, caller, nil
}

func (a answer) write(w http.ResponseWriter, id string, now time.Time) {
	status, body := http.StatusOK, a.body
	h := w.Header()
	if a.fault != nil {
		status, body = a.fault.Status, a.codec.encodeError(a.fault.Code, a.fault.Text)
		h.Set("X-Amzn-Errortype", a.fault.Code)
		if status == http.StatusMethodNotAllowed {
			h.Set("Allow", http.MethodPost)
		}
	}
	if a.codec == (cborCodec{}) { // without this header, the Go client reports a different error
		h.Set(headerProtocol, cborProtocol)
	}
	h.Set("Content-Type", a.codec.contentType())
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Amzn-Requestid", id)
	h.Set("Date", now.UTC().Format(http.TimeFormat)) // clients correct their clocks with it
	h.Set("Cache-Control", "no-store")
	control := http.NewResponseController(w) // errors of the controller are ignored
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the caller has disconnected
	_ = control.Flush()
	_ = control.SetWriteDeadline(time.Time{}) // the next response on this connection may be a page that takes longer
}
